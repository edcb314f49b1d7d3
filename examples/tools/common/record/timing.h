/* timing.h: the packets of time in what a simulated processor wrote: without
 * the CYCs that a threshold suppresses, and what each of the others says.
 *
 *     used = timing_pass(&t, bytes, used, say, user);
 *
 * It has its own reading of packets: what is said here is compared with what
 * decoders find.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TIMING_H
#define TIMING_H
#include <stddef.h>
#include <stdint.h>

typedef struct timing {
    uint64_t threshold; /* cycles between two CYCs, at least */
    int all_cyc;        /* there are CYCs, and no threshold */
    uint32_t ebx, eax;  /* TSC ticks of a crystal clock: ebx / eax */
    uint8_t mtc_freq;
    uint64_t tsc;       /* when the clock is 0 */
    /* its own */
    uint64_t clock; /* of the CYC written last, suppressed or not */
    uint64_t held;  /* cycles that were suppressed */
    int known;      /* without a CYC since then, the time still is */
} timing;

/* What a packet says. */
enum {
    TIMING_BEFORE, /* it was `tsc` before this packet: MTC, TSC, or a CYC before
                      a packet that is not about flow */
    TIMING_FLOW,   /* about flow; when is not known */
    TIMING_DATED   /* about flow, at `tsc` */
};

/* Follow what was written since the last call, at the clock `now`. There has to
 * be room for TIMING_ROOM bytes more. Returns the new size. */
#define TIMING_ROOM 64
size_t timing_pass(timing *t, uint8_t *bytes, size_t size, uint64_t now,
                   void (*say)(void *user, int what, uint64_t tsc),
                   void *user);

#endif /* TIMING_H */
