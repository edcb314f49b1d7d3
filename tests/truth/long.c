/* long.c: a long recording: long TIMES IN OUT. IN, by ptrecord with times, goes
 * on so often, each time later: the trace of each queue, and the switches. The
 * programs of IN do not end. */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include "../whole.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT = 4, SWITCH = 14, SWITCH_CPU_WIDE = 15, INFO = 70, AUXTRACE = 71 };

static uint8_t *in;
static FILE *out;
static uint64_t written;

static void fail(const char *why)
{
    fprintf(stderr, "long: %s\n", why);
    exit(2);
}

static uint64_t get(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;
    while (size--) value = value << 8 | from[size];
    return value;
}

static void set(uint8_t *to, uint64_t value, unsigned size)
{
    for (; size; size--, value >>= 8) *to++ = (uint8_t) value;
}

static void put(const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, out) != size) fail("cannot write");
    written += size;
}

/* Trace, so much later. */
static void move(uint8_t *trace, size_t size, uint64_t ticks)
{
    ipt_segment piece;
    ipt_trace all;
    ipt_config config;
    ipt_pkt_decoder d;
    ipt_packet p;
    memset(&all, 0, sizeof all);
    memset(&config, 0, sizeof config);
    piece.data = trace;
    piece.size = size;
    all.seg = &piece;
    all.count = 1;
    if (ipt_pkt_init(&d, &config, &all) < 0 || ipt_pkt_sync_forward(&d) < 0)
        fail("no PSB");
    while (ipt_pkt_next(&d, &p) >= 0)
        if (p.type == IPT_PKT_TSC)
            set(trace + d.at.packet_offset + 1, p.u.tsc.value + ticks, 7);
}

int main(int argc, char **argv)
{
    size_t size, data, end, trailer = 0;
    uint64_t times, ticks = 0, ns = 0;
    if (argc < 4) fail("long TIMES IN OUT");
    times = strtoull(argv[1], NULL, 10);
    in = (uint8_t *) whole_file(argv[2], &size);
    out = fopen(argv[3], "wb");
    if (!in || !out) fail("cannot open");
    data = (size_t) get(in + 40, 8);
    end = data + (size_t) get(in + 48, 8);
    memset(in + 72, 0, 32); /* no features */
    put(in, data);
    for (uint64_t n = 0; n < times; n++)
        for (size_t at = data, more; at < end; at += more) {
            uint8_t *const r = in + at;
            const unsigned type = (unsigned) get(r, 4);
            const size_t own = (size_t) get(r + 6, 2);
            more = own + (type == AUXTRACE ? (size_t) get(r + 8, 8) : 0);
            if (own < 8 || more > end - at) fail("a record is cut");
            if (type == INFO && n == 0) { /* what is a whole number of ns, and */
                const unsigned shift = (unsigned) get(r + 24, 8); /* .. of MTC's */
                const uint64_t per = get(r + 16 + 8 * 12, 8);     /* counter */
                ticks = ((uint64_t) 1 << (shift > 16 ? shift : 16))
                      * (per ? per : 1);
                ns = (ticks >> shift) * get(r + 32, 8);
            }
            if (type == AUXTRACE) {
                if (n) move(r + own, more - own, ticks);
                put(r, more);
                set(r + 16, get(r + 16, 8) + (more - own), 8);
                if (get(r + 24, 8)) set(r + 24, get(r + 24, 8) + ticks, 8);
            } else if (type == SWITCH || type == SWITCH_CPU_WIDE) {
                trailer = type == SWITCH ? 8 : 16;
                put(r, more);
                set(r + trailer + 8, get(r + trailer + 8, 8) + ns, 8);
            } else if (n == 0 && type != EXIT) {
                put(r, more);
            }
        }
    set(in + 48, written - data, 8);
    rewind(out);
    if (fwrite(in, 1, 104, out) != 104 || fclose(out)) fail("cannot write");
    free(in);
    return 0;
}
