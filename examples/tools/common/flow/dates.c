/* dates.c: see dates.h.
 *
 * SPDX-License-Identifier: MIT */
#include "dates.h"
#include <string.h>

#define TICK 256u

enum { ALONE, FIRST, MORE }; /* dates.same: packets of one cycle */

void dates_init(dates *d, const ipt_config *config, const ipt_trace *trace,
                uint32_t threshold)
{
    memset(d, 0, sizeof *d);
    d->threshold = threshold;
    d->nom_freq = config->nom_freq;
    d->ended = ipt_pkt_init(&d->packets, config, trace) < 0
            || ipt_time_init(&d->clock, config) < 0;
}

/* ---- cycles ---- */

static void read_cbr(dates *d, uint8_t ratio)
{
    dates_cyc *const c = &d->cyc;
    if (ratio == c->ratio || ratio == 0) return;
    if (d->nom_freq)
        c->length = (double) d->nom_freq / ratio;
    else
        c->length *= (double) c->ratio / ratio;
    c->ratio = ratio;
    c->from = 0;
}

/* At both ends of what is measured it is not known to a tick, or to the
 * threshold, where they lie. */
static void take_length(dates *d)
{
    dates_cyc *const c = &d->cyc;
    const double ticks = (double) (c->exact - c->from) / TICK;
    const double cycles = (double) c->cycles, off = d->threshold;
    if (c->from == 0 || c->exact < c->from) {
        c->from = c->exact;
        c->cycles = 0;
    } else if (cycles > 2 * off) {
        const double least = (ticks - 2) / (cycles + off);
        const double most = (ticks + 2) / (cycles - off);
        if (c->length == 0) c->length = ticks / cycles;
        if (c->length < least) c->length = least;
        if (c->length > most) c->length = most;
    }
}

static void read_exact(dates *d)
{
    dates_cyc *const c = &d->cyc;
    const uint64_t now = d->clock.tsc * TICK;
    const uint64_t held = (uint64_t) (d->threshold * c->length * TICK);
    if (now == c->exact) return;
    if (c->length > 0 && now > c->at + held + c->passed / 16 + 2 * TICK)
        c->from = c->at = 0;
    if (c->at > now + TICK || c->at == 0) c->at = now;
    c->exact = now;
    take_length(d);
}

static void read_cyc(dates *d, uint64_t value)
{
    dates_cyc *const c = &d->cyc;
    const double ticks = (double) value * c->length * TICK;
    c->passed = ticks < 1e18 ? (uint64_t) ticks : 0;
    c->at += c->passed;
    if (c->at < c->exact) c->at = c->exact;
    c->cycles += value;
    d->cycles += value;
}

/* ---- dates ---- */

/* Where nothing happens for long the first and the last one are enough. */
static void keep(dates *d, uint64_t tsc)
{
    dates_date *to = &d->list[d->count];
    if (d->count == DATES_KEPT)
        to--;
    else
        d->count++;
    to->offset = d->packets.at.packet_offset;
    to->tsc = d->tsc = tsc;
    to->cycles = d->cycles;
}

/* A packet that is no CYC may have its own date, or that of the CYC before it,
 * or of packets before it. */
static void give_date(dates *d, int exact)
{
    const uint64_t offset = d->packets.at.packet_offset;
    if (exact || d->after_cyc) {
        keep(d, exact ? d->clock.tsc : (d->cyc.at + TICK / 2) / TICK);
        d->same = d->threshold == 1 ? FIRST : ALONE;
    } else if (d->same == MORE && d->count) {
        d->list[d->count - 1].offset = offset;
    } else if (d->same != ALONE && !d->moves) {
        keep(d, d->tsc);
        d->same = MORE;
    }
}

static void read_packet(dates *d, const ipt_packet *packet)
{
    int exact = 0;
    switch (packet->type) {
    case IPT_PKT_PAD: return;
    case IPT_PKT_CBR: read_cbr(d, packet->u.cbr.ratio); break;
    case IPT_PKT_TMA: (void) ipt_time_update(&d->clock, packet); break;
    case IPT_PKT_MTC:
    case IPT_PKT_TSC:
        exact = ipt_time_update(&d->clock, packet) == IPT_OK
             && d->clock.has_tsc;
        if (exact) read_exact(d);
        break;
    default: break;
    }
    if (d->moves && d->count)
        d->list[d->count - 1].offset = d->packets.at.packet_offset;
    if (packet->type == IPT_PKT_CYC) {
        read_cyc(d, packet->u.cyc.value);
        d->after_cyc = d->cyc.exact != 0 && d->cyc.length > 0;
        d->moves = 0;
        d->same = ALONE;
        return;
    }
    if (exact || d->after_cyc || d->same != ALONE) give_date(d, exact);
    d->moves = packet->type == IPT_PKT_TNT_8 && packet->u.tnt.count < 6
            && (d->after_cyc || d->moves || d->same != ALONE);
    d->after_cyc = 0;
}

void dates_read(dates *d, uint64_t offset)
{
    ipt_packet packet;
    while (!d->ended && d->packets.at.offset < offset) {
        const uint64_t before = d->packets.at.offset;
        const int synced = d->packets.at.valid & IPT_AT_SYNC;
        int status = synced ? ipt_pkt_next(&d->packets, &packet)
                            : ipt_pkt_sync_forward(&d->packets);
        if (status == IPT_MORE) return;
        if (status == IPT_END) {
            d->ended = 1;
        } else if (status < 0) {
            status = ipt_pkt_sync_forward(&d->packets);
            if (status == IPT_MORE) return;
            d->ended = status < 0;
        } else if (synced && d->packets.at.packet_offset >= before) {
            read_packet(d, &packet);
        }
    }
}

int dates_next(dates *d, uint64_t offset, int own, uint64_t until,
               dates_date *date)
{
    const uint64_t end = offset + (own && offset < UINT64_MAX);
    if (d->packets.at.offset <= offset)
        dates_read(d, offset + (offset < UINT64_MAX));
    if (d->count == 0 || d->list[0].offset >= end || d->list[0].tsc > until)
        return 0;
    *date = d->list[0];
    if (--d->count)
        memmove(d->list, d->list + 1, d->count * sizeof *d->list);
    return 1;
}
