/* dense.c: traces that are dense in one kind of packet, as those of kernels,
 * hypervisors and exact clocks are. A mix of TNT and PAD does not show how fast
 * these packets are decoded. The traces have no code. */
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 100000  /* bytes of a trace */
#define PERIOD 4096  /* from one PSB to the next */
#define LONGEST 16   /* bytes of a packet */
#define TNT IPT_PKT_TNT_8

/* What is repeated. floor: packets and events are to be so many times as fast as
 * libipt 2.0.5's packets and queries, 0 where that knows no such packets; next:
 * events as those of 2.1. */
static const struct {
    const char *name;
    double floor;
    double next;
    uint8_t packets[12];
} streams[] = {
    {"TNT", 2, 1, {TNT}},
    {"TNT-64", 2, 1, {IPT_PKT_TNT_64}},
    {"TNT CYC", 2, 1, {TNT, IPT_PKT_CYC}},
    {"MTC CYC TNT", 2, 1, {TNT, TNT, TNT, IPT_PKT_MTC, IPT_PKT_CYC}},
    {"TSC TMA TNT", 2, 1, {IPT_PKT_TSC, IPT_PKT_TMA, TNT, TNT, TNT, TNT}},
    {"FUP TIP", 2, 1, {IPT_PKT_FUP, IPT_PKT_TIP}},
    {"FUP PIP TIP", 2, 1, {IPT_PKT_FUP, IPT_PKT_PIP, IPT_PKT_TIP}},
    {"PGD PGE TNT", 2, 1, {IPT_PKT_TIP_PGD, IPT_PKT_TIP_PGE, TNT}},
    {"MODE TIP", 2, 1, {IPT_PKT_MODE_EXEC, IPT_PKT_TIP}},
    {"PTW", 2, 1, {IPT_PKT_PTW}},
    {"PTW FUP", 2, 1, {IPT_PKT_PTW, IPT_PKT_FUP}},
    {"OVF FUP TNT", 2, 1, {IPT_PKT_OVF, IPT_PKT_FUP, TNT, TNT}},
    {"MNT", 2, 1, {IPT_PKT_MNT}},
    {"CFE FUP TIP", 0, 1, {IPT_PKT_CFE, IPT_PKT_FUP, IPT_PKT_TIP}},
    {"PEBS TNT", 0, 0, {IPT_PKT_BBP, IPT_PKT_BIP, IPT_PKT_BIP, IPT_PKT_BIP,
                        IPT_PKT_BIP, IPT_PKT_BIP, IPT_PKT_BIP, IPT_PKT_BEP,
                        TNT}},
};

static uint32_t chosen; /* any numbers, always the same */

static uint32_t number(uint32_t below)
{
    chosen = chosen * 1664525u + 1013904223u;
    return (chosen >> 8) % below;
}

/* A packet, with `next` after it. Time goes on by about 1,000 ticks a round. */
static void fill(ipt_packet *p, uint8_t type, uint8_t next, uint64_t round)
{
    memset(p, 0, sizeof *p);
    p->type = type;
    switch (type) {
    case TNT:
    case IPT_PKT_TNT_64:
        p->u.tnt.count = type == TNT ? 6 : 47;
        p->u.tnt.bits = number(64) * UINT64_C(0x41041041041)
                        & ((UINT64_C(1) << p->u.tnt.count) - 1);
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        p->u.ip.ipc = 1;
        p->u.ip.payload = 0x1000 + 16 * number(256);
        break;
    case IPT_PKT_MODE_EXEC:
        p->u.exec.csl = round & 1;
        break;
    case IPT_PKT_PIP:
        p->u.pip.cr3 = 4096 * (uint64_t) (1 + number(4096));
        break;
    case IPT_PKT_TSC:
        p->u.tsc.value = 1000000 + 999 * round;
        break;
    case IPT_PKT_TMA:
        p->u.tma.ctc = (uint16_t) (10 * round);
        p->u.tma.fc = (uint16_t) number(100);
        break;
    case IPT_PKT_MTC:
        p->u.mtc.ctc = (uint8_t) round;
        break;
    case IPT_PKT_CYC:
        p->u.cyc.value = 1 + number(30);
        break;
    case IPT_PKT_MNT:
        p->u.mnt.payload = number(1u << 24);
        break;
    case IPT_PKT_PTW:
        p->u.ptw.payload = number(1u << 24);
        p->u.ptw.plc = 1;
        p->u.ptw.has_ip = next == IPT_PKT_FUP;
        break;
    case IPT_PKT_BBP:
        p->u.bbp.type = 4;
        break;
    case IPT_PKT_BIP:
        p->u.bip.payload = number(1u << 24);
        p->u.bip.id = (uint8_t) number(8);
        break;
    case IPT_PKT_CFE:
        p->u.cfe.type = IPT_CFE_INTR;
        p->u.cfe.vector = 32;
        p->u.cfe.has_ip = 1;
        break;
    default: /* PSB, PSBEND, OVF, BEP have nothing in them */
        break;
    }
}

static size_t put(uint8_t *to, const ipt_packet *p)
{
    const int n = ipt_pkt_encode(to, LONGEST, p);

    return n > 0 ? (size_t) n : 0;
}

/* Where flow is, and in which mode. */
static size_t put_psb(uint8_t *to)
{
    static const uint8_t kinds[] = {IPT_PKT_PSB, IPT_PKT_MODE_EXEC, IPT_PKT_FUP,
                                    IPT_PKT_PSBEND};
    size_t size = 0;
    size_t i;
    ipt_packet p;

    for (i = 0; i < sizeof kinds; i++) {
        fill(&p, kinds[i], 0, 1);
        if (kinds[i] == IPT_PKT_FUP) {
            p.u.ip.ipc = 3;
            p.u.ip.payload = 0x401000;
        }
        size += put(to + size, &p);
    }
    return size;
}

const char *bench_dense(bench_case *c, const char *name)
{
    const size_t n = sizeof streams / sizeof streams[0];
    size_t last = 0;
    size_t i = 0;
    size_t k;
    uint64_t round;
    ipt_packet p;

    while (i < n && strcmp(streams[i].name, name) != 0)
        i++;
    c->trace = malloc(SIZE + PERIOD);
    if (i == n || !c->trace)
        return i == n ? "there is no such stream" : "out of memory";
    c->dense = 1;
    c->floor = streams[i].floor;
    c->next = streams[i].next;
    snprintf(c->name, sizeof c->name, "dense %s", name);
    chosen = 7;
    c->size = put_psb(c->trace);
    for (round = 0; c->size < SIZE; round++) {
        if (c->size - last > PERIOD) {
            last = c->size;
            c->size += put_psb(c->trace + c->size);
        }
        for (k = 0; streams[i].packets[k]; k++) {
            fill(&p, streams[i].packets[k], streams[i].packets[k + 1], round);
            c->size += put(c->trace + c->size, &p);
        }
    }
    c->ends[c->runs++] = c->size;
    return NULL;
}

const char *bench_dense_name(size_t i)
{
    return i < sizeof streams / sizeof streams[0] ? streams[i].name : NULL;
}
