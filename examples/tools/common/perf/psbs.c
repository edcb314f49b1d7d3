/* psbs.c: see psbs.h.
 *
 * SPDX-License-Identifier: MIT */
#include "psbs.h"
#include <string.h>

#define TURN ((uint64_t) 1 << 56) /* ticks: what a TSC packet counts */
#define PLUS 1024u                /* bytes of a PSB+, or more */
#define NEAR 4096u                /* bytes; from here on every PSB is looked at */
#define STEP 65536u

void psbs_init(psbs *p)
{
    const perfdata_queue *const q = &p->queues->queues[p->queue];
    p->size = q->size;
    for (uint32_t i = 1; i < q->count; i++)
        p->size += p->queues->pieces[q->first + i].gap != 0;
}

uint64_t psbs_whole(uint64_t tsc, uint64_t near)
{
    const uint64_t low = (tsc - (near - TURN / 2)) & (TURN - 1);
    if (tsc == 0) return 0;
    return near - TURN / 2 + low;
}

/* As psbs_open; `most` bytes are read in one go. */
static int open_packets(psbs_packets *k, const psbs *p, uint64_t from,
                        uint64_t to, size_t most)
{
    k->synced = k->lost = k->ended = 0;
    if (window_open(&k->trace, p->file, p->queues, p->queue)) return -1;
    k->part.from = from;
    k->part.to = to;
    window_only(&k->trace, &k->part, 1);
    k->trace.most = most;
    k->ended = ipt_pkt_init(&k->decoder, p->config, &k->trace.trace) < 0;
    window_more(&k->trace, 0);
    return 0;
}

int psbs_open(psbs_packets *k, const psbs *p, uint64_t from, uint64_t to)
{
    return open_packets(k, p, from, to, WINDOW_SIZE);
}

int psbs_packet(psbs_packets *k, ipt_packet *packet)
{
    k->lost = !k->synced;
    while (!k->ended) {
        const int status = k->synced ? ipt_pkt_next(&k->decoder, packet)
                                     : ipt_pkt_sync_forward(&k->decoder);
        if (status == IPT_MORE) {
            window_more(&k->trace, k->decoder.at.release);
        } else if (status == IPT_END) {
            k->ended = 1;
        } else if (status < 0 || !k->synced) {
            k->synced = status >= 0;
            k->lost = 1;
        } else {
            return 1;
        }
    }
    return 0;
}

void psbs_close(psbs_packets *k)
{
    window_close(&k->trace);
}

/* The first PSB that has a time. */
static uint64_t find(psbs *p, psbs_packets *k, uint64_t *tsc)
{
    uint64_t at = PSBS_NONE;
    ipt_packet packet;
    while (psbs_packet(k, &packet)) {
        if (k->lost) at = PSBS_NONE;
        if (packet.type == IPT_PKT_PSB) {
            at = k->decoder.at.packet_offset;
        } else if (packet.type == IPT_PKT_TSC && at != PSBS_NONE
                   && packet.u.tsc.value) {
            *tsc = psbs_whole(packet.u.tsc.value, p->near);
            return at;
        } else if (at == PSBS_NONE || packet.type == IPT_PKT_PSBEND
                   || packet.type == IPT_PKT_OVF) {
            k->synced = 0;
        }
    }
    return PSBS_NONE;
}

uint64_t psbs_next(psbs *p, uint64_t from, uint64_t to, uint64_t *tsc)
{
    psbs_packets k;
    uint64_t at;
    if (open_packets(&k, p, from, to < UINT64_MAX - PLUS ? to + PLUS : to,
                     NEAR)) {
        p->failed = 1;
        return PSBS_NONE;
    }
    at = find(p, &k, tsc);
    psbs_close(&k);
    return at < to ? at : PSBS_NONE;
}

uint64_t psbs_before(psbs *p, uint64_t tsc)
{
    uint64_t best = PSBS_NONE, low = 0, high = p->size, time;
    while (high - low > NEAR) { /* one that is later begins before `high`, or none */
        const uint64_t middle = low + (high - low) / 2;
        const uint64_t at = psbs_next(p, middle, high, &time);
        if (at == PSBS_NONE || time > tsc)
            high = middle;
        else
            low = best = at;
    }
    for (; low < p->size; low++) {
        low = psbs_next(p, low, p->size, &time);
        if (low == PSBS_NONE || time > tsc) break;
        best = low;
    }
    return best;
}

uint64_t psbs_back(psbs *p, uint64_t offset, unsigned count)
{
    for (uint64_t step = STEP;; step *= 4) {
        const uint64_t begin = offset > step ? offset - step : 0;
        unsigned found = 0;
        uint64_t time, at;
        for (at = begin; at < offset; at++, found++) {
            at = psbs_next(p, at, offset, &time);
            if (at == PSBS_NONE) break;
        }
        if (found < count && begin) continue;
        if (found < count) return 0;
        at = psbs_next(p, begin, offset, &time);
        for (; found > count; found--)
            at = psbs_next(p, at + 1, offset, &time);
        return at;
    }
}

uint64_t psbs_on(psbs *p, uint64_t offset, unsigned count)
{
    uint64_t time;
    while (count-- && offset != PSBS_NONE)
        offset = psbs_next(p, offset + 1, PSBS_NONE, &time);
    return offset;
}
