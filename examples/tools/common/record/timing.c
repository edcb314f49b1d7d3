/* timing.c: see timing.h.
 *
 * SPDX-License-Identifier: MIT */
#include "timing.h"
#include <string.h>

enum { FLOW, MTC, TSC, CYC, REST };

/* The size of a packet that ipt_gen_ wrote, and what it is. */
static size_t size_of(const uint8_t *p, int *what)
{
    static const uint8_t ips[8] = {1, 3, 5, 7, 7, 1, 9, 1};
    static const struct {
        uint8_t second, size;
    } longer[] = {{0x82, 16}, {0x23, 2}, {0x03, 4}, {0x73, 7}, {0x43, 8},
                  {0xf3, 2},  {0xc8, 7}, {0x83, 2}, {0xc3, 11}};
    size_t n = 1;
    size_t i;

    *what = REST;
    if ((p[0] & 3) == 3) {
        *what = CYC;
        if (p[0] & 4)
            while (p[n++] & 1)
                ;
        return n;
    }
    if (p[0] == 0x59 || p[0] == 0x19) {
        *what = p[0] == 0x59 ? MTC : TSC;
        return p[0] == 0x59 ? 2 : 8;
    }
    if (p[0] == 0x99)
        return 2;
    if (p[0] == 0x02 && p[1] == 0xa3) {
        *what = FLOW;
        return 8;
    }
    for (i = 0; p[0] == 0x02 && i < sizeof(longer) / sizeof(longer[0]); i++)
        if (p[1] == longer[i].second)
            return longer[i].size;
    if (p[0] == 0x02) /* of those that are left, PTWRITE is the longest */
        return (p[1] & 0x1f) == 0x12 ? (p[1] & 0x60 ? 10 : 6) : 2;
    if (p[0] == 0)
        return 1;
    *what = FLOW;
    return p[0] & 1 ? ips[p[0] >> 5] : 1;
}

static uint64_t cyc_value(const uint8_t *p, size_t size)
{
    uint64_t value = p[0] >> 3;
    size_t i;

    for (i = 1; i < size; i++)
        value |= (uint64_t) (p[i] >> 1) << (5 + 7 * (i - 1));
    return value;
}

static size_t put_cyc(uint8_t *p, uint64_t value)
{
    size_t n = 1;

    p[0] = (uint8_t) ((value & 31) << 3 | 3 | (value >> 5 ? 4 : 0));
    for (value >>= 5; value; value >>= 7, n++)
        p[n] = (uint8_t) ((value & 127) << 1 | (value >> 7 ? 1 : 0));
    return n;
}

/* The time of the last MTC before the clock `now` that has these bits. */
static uint64_t mtc_time(const timing *t, uint8_t bits, uint64_t now)
{
    uint64_t period = (t->tsc + now) / t->ebx * t->eax;

    period += (t->tsc + now) % t->ebx * t->eax / t->ebx;
    period >>= t->mtc_freq;
    while ((period & 0xff) != bits)
        period--;
    period <<= t->mtc_freq;
    return period / t->eax * t->ebx + period % t->eax * t->ebx / t->eax;
}

size_t timing_pass(timing *t, uint8_t *bytes, size_t size, uint64_t now,
                   void (*say)(void *user, int what, uint64_t tsc), void *user)
{
    size_t at = 0;
    int dated = 0; /* a CYC is directly before */

    while (at < size) {
        int what;
        size_t n = size_of(bytes + at, &what);
        uint64_t tsc = t->tsc + t->clock;
        if (what == CYC) {
            const uint64_t value = cyc_value(bytes + at, n);
            uint8_t cyc[16];
            size_t m = 0;
            t->clock += value;
            t->held += value;
            if (t->held >= t->threshold) {
                m = put_cyc(cyc, t->held);
                t->held = 0;
                dated = 1;
            }
            t->known = 0;
            memmove(bytes + at + m, bytes + at + n, size - at - n);
            memcpy(bytes + at, cyc, m);
            size = size - n + m;
            at += m;
            continue;
        }
        if (what == MTC && !dated)
            tsc = mtc_time(t, bytes[at + 1], now);
        if (what == TSC) {
            size_t i;
            for (tsc = 0, i = 7; i > 0; i--)
                tsc = tsc << 8 | bytes[at + i];
            t->clock = tsc - t->tsc;
        }
        if (dated || what == TSC)
            t->known = t->all_cyc;
        if (what == FLOW)
            say(user, dated || t->known ? TIMING_DATED : TIMING_FLOW, tsc);
        else if (what != REST || dated)
            say(user, TIMING_BEFORE, tsc);
        dated = 0;
        at += n;
    }
    return size;
}
