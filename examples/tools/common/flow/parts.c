/* parts.c: see parts.h.
 *
 * SPDX-License-Identifier: MIT */
#include "parts.h"
#include "../code/tool.h"
#include <string.h>

#define NO_TIME UINT64_MAX
#define TICKS   4096u /* longer than a packet of time takes to come */
#define TRIES   16u   /* PSBs */
#define APART   48u   /* PSBs in a slice, at least */

/* Follows the packets of a part. */
typedef struct reading {
    const threads *in;
    size_t run;
    size_t run_end;
    ipt_clock clock;
    uint64_t near;
    uint64_t lo;    /* flow began not before that; ... */
    uint8_t pends;  /* ... the next time is not known yet */
    uint8_t header; /* in a PSB+ after which flow is taken up */
    uint8_t lost;   /* there is none before the next FUP, or PSB */
} reading;

/* The last run that began before a time, surely, or the first one. */
static size_t run_before(const reading *r, uint64_t tsc)
{
    const threads_run_ *const runs = r->in->runs;
    size_t low = r->run, high = r->run_end;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (runs[middle].tsc + r->in->slack < tsc)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* May flow that began between two times be in one run only? As find_range. */
static int is_in_one(const reading *r, uint64_t lo, uint64_t hi)
{
    const threads_run_ *const runs = r->in->runs;
    size_t first = run_before(r, lo);
    const size_t next = first + 1;
    if (next >= r->run_end) return 1;
    if (hi != NO_TIME && runs[next].in > hi + r->in->slack) return 1;
    if (runs[first].tid) return 0;
    first = next; /* nobody's, and the next one */
    return first + 1 == r->run_end
        || (hi != NO_TIME && runs[first + 1].in > hi + r->in->slack);
}

/* Flow begins. Where no time lies between two of these, the first one may be
 * earlier. */
static void pend(reading *r)
{
    r->lost = 0;
    if (r->pends || !r->clock.has_tsc) return;
    r->pends = 1;
    r->lo = psbs_whole(r->clock.tsc, r->near);
}

/* 0: whose flow it is, is not clear. */
static int follow_packet(reading *r, const ipt_packet *packet)
{
    const uint64_t before = r->clock.tsc;
    uint64_t now;
    ipt_time_packet(&r->clock, packet);
    switch (packet->type) {
    case IPT_PKT_PSB:
        r->header = r->lost;
        r->lost = 0;
        break;
    case IPT_PKT_PSBEND: r->header = 0; break;
    case IPT_PKT_OVF: r->lost = 1; break;
    case IPT_PKT_FUP:
        if (r->header || r->lost) pend(r);
        break;
    case IPT_PKT_TIP_PGE: pend(r); break;
    default: break;
    }
    if (!r->pends || (!r->in->cyc && r->clock.tsc == before)) return 1;
    r->pends = 0;
    now = psbs_whole(r->clock.tsc, r->near);
    if (r->in->cyc) now = r->lo + r->in->slack + 16;
    return is_in_one(r, r->lo, now);
}

/* Is it clear, for all flow of a part, in which run it is? */
static int is_clear(const psbs *p, reading *r, const window_span *part)
{
    psbs_packets k;
    ipt_packet packet;
    int clear = ipt_time_init(&r->clock, p->config) >= 0;
    if (psbs_open(&k, p, part->from, part->to)) return -1;
    while (clear && psbs_packet(&k, &packet)) {
        r->lost |= k.lost;
        clear = follow_packet(r, &packet);
    }
    if (clear && r->pends && part->to == UINT64_MAX)
        clear = is_in_one(r, r->lo, NO_TIME);
    psbs_close(&k);
    return clear;
}

/* Where the kernel is traced: has one thread the cpu where a part begins, and is
 * that known there? */
static int begins_clear(const reading *r, uint64_t lo)
{
    const threads_run_ *const runs = r->in->runs;
    const size_t run = run_before(r, lo);
    return (runs[run].tsc == 0
            || (runs[run].in > runs[run].tsc && runs[run].in <= lo))
        && (run + 1 == r->run_end
            || runs[run + 1].tsc > lo + 2 * r->in->slack + TICKS);
}

/* Go back to where that is so. 0: there is no such place near by. */
static int find_clear(const reading *r, psbs *p, window_span *part)
{
    uint64_t tsc;
    for (unsigned n = 0; n < TRIES && part->from; n++) {
        if (psbs_next(p, part->from, part->from + 1, &tsc) != PSBS_NONE
            && begins_clear(r, tsc))
            return 1;
        part->from = psbs_back(p, part->from, 1);
    }
    return part->from == 0;
}

/* Is the length of a cycle measured in a part, by its MTCs? Then all before it does
 * not count. An interval that the clock refuses measures nothing. */
static int is_measured(psbs *p, uint64_t from, uint64_t to)
{
    int found = 0;
    psbs_packets k;
    ipt_packet packet;
    ipt_clock clock;
    if (ipt_time_init(&clock, p->config) < 0 || psbs_open(&k, p, from, to)) {
        p->failed = 1;
        return 1;
    }
    while (!found && psbs_packet(&k, &packet)) {
        const uint64_t other = clock.fcr ? clock.fcr ^ 1 : 0;
        const int may = packet.type == IPT_PKT_MTC && clock.fcr;
        if (may) clock.fcr = other;
        (void) ipt_time_calibrate(&clock, &packet);
        found = may && clock.fcr != other;
        if (may) clock.fcr ^= 1;
    }
    psbs_close(&k);
    return found;
}

static void find_part(const threads *t, psbs *p, uint64_t since,
                      window_span *part)
{
    uint64_t at;
    if (t->until != NO_TIME) {
        at = psbs_before(p, t->until);
        part->to = psbs_on(p, at == PSBS_NONE ? 0 : at, 1 + PARTS_LEAD);
    }
    if (since == 0 || t->config.lead == UINT32_MAX) return;
    at = psbs_before(p, since);
    if (at == PSBS_NONE) return;
    part->from = psbs_back(p, at, PARTS_LEAD + t->config.lead);
    for (unsigned n = PARTS_LEAD; t->cyc && t->mtc && part->from
         && !is_measured(p, part->from, psbs_back(p, at, 1)); n *= 2)
        part->from = psbs_back(p, part->from, n);
}

static void begin_part(const threads *t, psbs *p, uint32_t queue, uint64_t near)
{
    memset(p, 0, sizeof *p);
    p->file = t->config.file;
    p->queues = &t->queues;
    p->config = &t->decoder;
    p->queue = queue;
    p->near = near;
    psbs_init(p);
}

uint64_t parts_end(const threads *t, uint32_t queue, uint64_t near,
                   uint64_t bytes)
{
    uint64_t tsc;
    psbs p;
    begin_part(t, &p, queue, near);
    if (t->queues.snapshot || p.size <= bytes) return 0;
    return psbs_next(&p, p.size - bytes, PSBS_NONE, &tsc) == PSBS_NONE ? 0
                                                                        : tsc;
}

int parts_find(const threads *t, uint32_t queue, uint64_t near, uint64_t since,
               size_t run, size_t run_end, window_span *part)
{
    const int by_cpu = t->queues.queues[queue].cpu != UINT32_MAX;
    const int shared = by_cpu && run_end - run > 1;
    reading r;
    psbs p;
    part->from = 0;
    part->to = UINT64_MAX;
    if (t->queues.snapshot) return 1;
    memset(&r, 0, sizeof r);
    begin_part(t, &p, queue, r.near = near);
    find_part(t, &p, since, part);
    if (!part->from || !shared) return p.failed ? -1 : 1;
    if (t->coarse || (t->kernel && !t->in_kernel && !t->cyc)) return 0;
    r.in = t;
    r.run = run;
    r.run_end = run_end;
    return t->in_kernel ? find_clear(&r, &p, part) : is_clear(&p, &r, part);
}

int parts_slice(const threads *t, uint32_t queue, uint64_t near, uint64_t since,
                window_span *part)
{
    psbs p;
    part->from = 0;
    part->to = UINT64_MAX;
    begin_part(t, &p, queue, near);
    find_part(t, &p, since, part);
    return p.failed ? -1 : 0;
}

int parts_cuts(const threads *t, uint32_t queue, uint64_t near, uint64_t bytes,
               uint64_t **list, size_t *count)
{
    uint64_t at = 0, tsc;
    psbs p;
    begin_part(t, &p, queue, near);
    for (;;) {
        const uint64_t first = psbs_next(&p, at, PSBS_NONE, &tsc);
        const uint64_t next = first == PSBS_NONE
            ? first : psbs_next(&p, first + 1, PSBS_NONE, &tsc);
        if (next == PSBS_NONE) break;
        if (at) {
            if (!tool_grow(list, *count + 1, sizeof **list)) return -1;
            (*list)[(*count)++] = tsc;
        }
        at = next - first < bytes / APART ? next + bytes
                                          : next + APART * (next - first);
    }
    return p.failed ? -1 : 0;
}
