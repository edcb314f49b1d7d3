/* msr TRACE [REGIONS [LATE [list]]]: what a driver does around tracing, on a
 * model of a processor that plays TRACE again and again. From what is wanted,
 * and what the processor can do, to IA32_RTIT_CTL; from regions of memory to a
 * Table of Physical Addresses; from the interrupt of a full region, which comes
 * LATE bytes after it, to what is new, and to packets. STOP moves ahead of
 * output, so that nothing is overwritten before it was looked at. With `list`
 * it prints the packets, then those of what memory still holds at the end, and
 * of what came since the interrupt before the last. Output is never to a single
 * range: errata TGL052, ADL037 and RPL017 allow no more than 4 KiB of one. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "processor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rtit_ctl;
static ipt_region regions[MOST];
static uint32_t count = 4;
static uint8_t carry[2 * PAGE]; /* what the decoder still needs */
static ipt_segment pieces[MOST + 2];
static ipt_trace trace = {pieces, 0, 1, 0}; /* open: more will come */
static ipt_pkt_decoder decoder;
static ipt_topa topa;
static ipt_topa before; /* what was new at the last interrupt */
static unsigned long long packets, looked, interrupts, stops, list;

/* The table, with STOP after the region before the one that output stands in.
 * Tracing is off meanwhile. */
static int lay_table(void)
{
    uint32_t here = (uint32_t) (output_mask_ptrs >> 7 & 0x1ffffff);
    for (uint32_t i = 0; i < count; i++)
        regions[i].flags = (i + 1) % count == here
            ? IPT_TOPA_INT | IPT_TOPA_STOP : IPT_TOPA_INT;
    return ipt_topa_from_regions(memory, PAGE / 8, 0, regions, count);
}

/* What the decoder still needs goes out of the way of output. */
static void keep(void)
{
    uint64_t begin = trace.offset, release = decoder.at.release;
    size_t kept = 0;
    for (uint32_t i = 0; i < trace.count; begin += pieces[i++].size)
        for (size_t k = 0; k < pieces[i].size; k++)
            if (begin + k >= release && kept < sizeof(carry))
                carry[kept++] = pieces[i].data[k];
    trace.offset = begin - kept;
    trace.count = 1;
    pieces[0].data = carry;
    pieces[0].size = kept;
}

static void show(const char *reading, const ipt_packet *packet)
{
    if (list)
        printf("%s %llx %u %s\n", reading, (unsigned long long) packet->offset,
               (unsigned) packet->size, ipt_pkt_name(packet->type));
}

/* The interrupt: decode what is new since the last one. */
static int look(void)
{
    ipt_packet packet;
    int n, status;
    topa.rtit_ctl = rtit_ctl;
    topa.output_base = output_base;
    topa.output_mask_ptrs = output_mask_ptrs;
    topa.wrapped = stopped && topa.since_mask_ptrs == output_mask_ptrs;
    n = ipt_segments_from_topa(pieces + 1, MOST + 1, &topa);
    if (n < 0)
        return n;
    before = topa;
    topa.since_base = output_base;
    topa.since_mask_ptrs = output_mask_ptrs;
    for (int i = 1; i <= n; i++)
        looked += pieces[i].size;
    trace.count = (uint32_t) n + 1;
    status = packets ? IPT_OK : ipt_pkt_sync_forward(&decoder);
    while (status >= 0 && (status = ipt_pkt_next(&decoder, &packet)) >= 0) {
        packets++;
        show("first", &packet);
    }
    keep();
    interrupts++;
    stops += stopped != 0;
    stopped = interrupt = 0;
    return status == IPT_MORE ? lay_table() : status;
}

/* Another reading of what memory still holds, from its first PSB on. */
static int read_again(const char *reading, const ipt_topa *from)
{
    static const ipt_config config;
    ipt_trace all = {pieces, 0, 0, looked};
    ipt_packet packet;
    int n = ipt_segments_from_topa(pieces, MOST + 1, from);
    for (int i = 0; i < n; i++)
        all.offset -= pieces[i].size;
    all.count = n > 0 ? (uint32_t) n : 0;
    printf("%s: %llu bytes\n", reading,
           (unsigned long long) (looked - all.offset));
    int status = n < 0 ? n : ipt_pkt_init(&decoder, &config, &all);
    status = status < 0 ? status : ipt_pkt_sync_forward(&decoder);
    while (status >= 0 && (status = ipt_pkt_next(&decoder, &packet)) >= 0)
        show(reading, &packet);
    return status == IPT_END ? IPT_OK : status;
}

int main(int argc, char **argv)
{
    static const ipt_config config;
    static const ipt_cpuid_14 skylake = {0xf, 7, 0x2490002, 0x3f3fff};
    static uint8_t played[1 << 16];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(played, 1, sizeof(played), file) : 0;
    unsigned long late = argc > 3 ? strtoul(argv[3], NULL, 0) : 0, due = 0;
    uint64_t wanted = IPT_RTIT_OS | IPT_RTIT_USER | IPT_RTIT_BRANCH_EN
        | IPT_RTIT_TSC_EN | IPT_RTIT_MTC_EN | IPT_RTIT_MTC_FREQ(3)
        | IPT_RTIT_PTW_EN | IPT_RTIT_TOPA, written = 0;
    list = argc > 4;
    count = argc > 2 ? (uint32_t) strtoul(argv[2], NULL, 0) : count;
    if (!size || !count || count > MOST)
        return fprintf(stderr, "usage: msr TRACE [REGIONS [LATE [list]]]\n"), 2;
    rtit_ctl = wanted & ~ipt_rtit_ctl_missing(wanted, &skylake);
    if (!(rtit_ctl & IPT_RTIT_TOPA))
        return fprintf(stderr, "msr: this processor has no ToPA\n"), 2;
    printf("rtit_ctl %llx of %llx\n", (unsigned long long) rtit_ctl,
           (unsigned long long) wanted);
    for (uint32_t i = 0; i < count; i++)
        regions[i] = (ipt_region){REGION_AT(i), PAGE, 0};
    int status = lay_table();
    for (uint32_t i = 0; i <= count; i++)
        printf("entry %llx\n", (unsigned long long) entry_at(8 * i));
    topa.map = map;
    topa.since_mask_ptrs = output_mask_ptrs;
    rtit_status = 0; /* PacketByteCnt, too: trace begins with a PSB */
    written = start_tracing();
    ipt_pkt_init(&decoder, &config, &trace);
    while (status > 0 && written < size * (PAGE * (2 * count + 3) / size + 1)) {
        put_out(played[written++ % size]);
        due = interrupt ? due + 1 : 0;
        if (stopped || due > late) /* what is traced waits if it stopped */
            status = look();
    }
    status = status > 0 ? look() : status;
    topa.since_mask_ptrs = 0; /* from the start; output wrapped since */
    topa.wrapped = 1;
    if (status > 0 && list && (status = read_again("all", &topa)) >= 0)
        status = read_again("new", &before);
    printf("%llu bytes in %u regions, %llu looked at, %llu interrupts, %llu "
           "stops, %llu packets\n", (unsigned long long) written, count, looked,
           interrupts, stops, packets);
    return status < 0 || looked != written;
}
