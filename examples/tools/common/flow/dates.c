/* dates.c: see dates.h.
 *
 * SPDX-License-Identifier: MIT */
#include "dates.h"
#include <string.h>

#define TICK 256u

enum { ALONE, FIRST, MORE }; /* dates.same: packets of one cycle */

/* In dates.sizes: no short packet; a CYC; an MTC. */
enum { OTHER = 0, MTC = 254, CYC = 255 };

#define LONGEST 16u /* bytes of a packet */
#define SEARCHED 15u /* bytes before an error in which a PSB may begin */

/* The size of a packet whose first byte says it: PAD, TNT of up to 6 branches,
 * TIP, TIP.PGE, TIP.PGD, FUP. MTC and CYC say more. */
static uint8_t short_size(unsigned first)
{
    static const uint8_t ips[8] = {1, 3, 5, 7, 7, OTHER, 9, OTHER};
    if (first % 2 == 0) return first != 0x02;
    if (first % 4 == 3) return CYC;
    if (first == 0x59) return MTC;
    switch (first & 0x1f) {
    case 0x01:
    case 0x0d:
    case 0x11:
    case 0x1d: return ips[first >> 5];
    default: return OTHER;
    }
}

void dates_init(dates *d, const ipt_config *config, const ipt_trace *trace,
                uint32_t threshold)
{
    memset(d, 0, sizeof *d);
    d->trace = trace;
    d->threshold = threshold;
    d->nom_freq = config->nom_freq;
    for (unsigned i = 0; i < 256; i++) d->sizes[i] = short_size(i);
    d->ended = ipt_pkt_init(&d->packets, config, trace) < 0
            || ipt_time_init(&d->clock, config) < 0;
    d->at = d->due = d->packets.at.offset;
    d->release = d->packets.at.release;
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

/* Times are modulo 2^64, which is where TSC packets, of 56 bits, begin again. */
static int is_after(uint64_t a, uint64_t b)
{
    return a - b - 1 < UINT64_MAX / 2;
}

/* At both ends of what is measured it is not known to a tick, or to the
 * threshold, where they lie. */
static void take_length(dates *d)
{
    dates_cyc *const c = &d->cyc;
    const double ticks = (double) (c->exact - c->from) / TICK;
    const double cycles = (double) c->cycles, off = d->threshold;
    if (c->from == 0 || is_after(c->from, c->exact)) {
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
    const uint64_t ticks = d->clock.tsc * TICK;
    const uint64_t now = ticks ? ticks : 1; /* 0: not known */
    const uint64_t held = (uint64_t) (d->threshold * c->length * TICK);
    if (now == c->exact) return;
    if (c->length > 0
        && is_after(now, c->at + held + c->passed / 16 + 2 * TICK))
        c->from = c->at = 0;
    if (is_after(c->at, now + TICK) || c->at == 0) c->at = now;
    c->exact = now;
    take_length(d);
}

static void read_cyc(dates *d, uint64_t value)
{
    dates_cyc *const c = &d->cyc;
    const double ticks = (double) (int64_t) value * c->length * TICK;
    c->passed = ticks < 1e18 ? (uint64_t) (int64_t) ticks : 0;
    c->at += c->passed;
    if (is_after(c->exact, c->at)) c->at = c->exact;
    c->cycles += value;
    d->cycles += value;
}

/* ---- dates ---- */

static dates_date *kept(dates *d, unsigned i)
{
    return &d->list[(d->first + i) % DATES_KEPT];
}

/* The last date moves on to a packet. */
static void move(dates *d, uint64_t offset)
{
    if (d->count) kept(d, d->count - 1)->offset = offset;
}

/* Where nothing happens for long the first and the last one are enough; what
 * comes after the last one may be read already. */
static void keep(dates *d, uint64_t offset, uint64_t tsc)
{
    dates_date *to;
    if (d->count < DATES_KEPT)
        d->count++;
    else
        *kept(d, DATES_KEPT - 2) = *kept(d, DATES_KEPT - 1);
    to = kept(d, d->count - 1);
    to->offset = offset;
    to->tsc = d->tsc = tsc;
    to->cycles = d->cycles;
}

/* A packet that is not a CYC may have its own date, or that of the CYC before it,
 * or of packets before it. */
static void give_date(dates *d, uint64_t offset, int exact)
{
    if (exact || d->after_cyc) {
        keep(d, offset,
             exact ? d->clock.tsc : (d->cyc.at + TICK / 2) / TICK);
        d->same = d->threshold == 1 ? FIRST : ALONE;
    } else if (d->same == MORE && d->count) {
        move(d, offset);
    } else if (d->same != ALONE && !d->moves) {
        keep(d, offset, d->tsc);
        d->same = MORE;
    }
}

/* exact: the clock says when it was; late: it is a TNT that is not full. */
static void date_packet(dates *d, uint64_t offset, int exact, int late)
{
    const int has = d->after_cyc || d->same != ALONE;
    late = late && (has || d->moves);
    if (d->moves) move(d, offset);
    if (exact || has) give_date(d, offset, exact);
    d->moves = late;
    d->after_cyc = 0;
}

static void take_cyc(dates *d, uint64_t offset, uint64_t value)
{
    if (d->moves) move(d, offset);
    read_cyc(d, value);
    if (d->skims) return;
    d->after_cyc = d->cyc.exact != 0 && d->cyc.length > 0;
    d->moves = 0;
    d->same = ALONE;
}

/* ---- packets ---- */

/* The trace at the next packet. */
static const uint8_t *bytes_at(const dates *d, size_t *left)
{
    const ipt_trace *const t = d->trace;
    uint64_t begin = t->offset;
    for (uint32_t i = 0; i < t->count; begin += t->seg[i++].size) {
        const uint64_t passed = d->at - begin;
        if (!t->seg[i].data || passed >= t->seg[i].size) continue;
        *left = t->seg[i].size - (size_t) passed;
        return t->seg[i].data + (size_t) passed;
    }
    *left = 0;
    return NULL;
}

/* Take a short CYC: its size, or 0. What ends as an OVF may be one: SKD007. */
static unsigned short_cyc(dates *d, uint64_t offset, const uint8_t *p)
{
    const uint64_t value = p[0] >> 3;
    if (!(p[0] & 4)) {
        take_cyc(d, offset, value);
        return 1;
    }
    if (p[1] & 1 || (p[1] == 0x02 && p[2] == 0xf3)) return 0;
    take_cyc(d, offset, value | (uint64_t) (p[1] >> 1) << 5);
    return 2;
}

static void take_exact(dates *d, uint64_t offset, const ipt_packet *packet)
{
    const int exact = ipt_time_update(&d->clock, packet) == IPT_OK
                   && d->clock.has_tsc;
    if (exact) read_exact(d);
    if (!d->skims) date_packet(d, offset, exact, 0);
}

static unsigned short_mtc(dates *d, uint64_t offset, uint8_t ctc)
{
    ipt_packet packet;
    packet.type = IPT_PKT_MTC;
    packet.offset = offset;
    packet.size = 2;
    packet.u.mtc.ctc = ctc;
    take_exact(d, offset, &packet);
    return 2;
}

/* Is there a date to be given, and are others read that can be? The last one of a
 * cycle moves on with what is asked for. */
static int has_some(const dates *d)
{
    return d->count > (d->moves ? 1u : 0)
        && (d->count >= DATES_READ || d->same == MORE);
}

/* As read_cyc, of CYCs between two MTCs or TSCs. The number of bytes, up to an MTC or
 * what is no short packet. */
static size_t skim_cycles(dates *d, const uint8_t *bytes, size_t size)
{
    dates_cyc *const c = &d->cyc;
    const double length = c->length * TICK;
    const uint64_t exact = c->exact;
    uint64_t at = c->at, passed = c->passed, cycles = 0;
    size_t i = 0;
    while (i < size) {
        const unsigned first = bytes[i];
        unsigned value = first >> 3;
        double ticks;
        if ((first & 3) != 3) {
            const unsigned of = d->sizes[first];
            if (of - 1 >= MTC - 1) break;
            i += of;
            continue;
        }
        if (first & 4) {
            const unsigned more = bytes[++i];
            if (more & 1 || (more == 0x02 && bytes[i + 1] == 0xf3)) {
                i--; /* as short_cyc */
                break;
            }
            value |= more >> 1 << 5;
        }
        i++;
        ticks = (double) (int) value * length;
        passed = ticks < 1e18 ? (uint64_t) (int64_t) ticks : 0;
        at += passed;
        if (is_after(exact, at)) at = exact;
        cycles += value;
    }
    c->at = at;
    c->passed = passed;
    c->cycles += cycles;
    d->cycles += cycles;
    return i;
}

/* Read short packets up to `offset`, or with `ahead` on to some dates. */
static void read_short(dates *d, uint64_t offset, int ahead)
{
    size_t left;
    const uint8_t *const bytes = bytes_at(d, &left);
    const uint64_t begin = d->at;
    const size_t most = left > LONGEST ? left - LONGEST : 0;
    const size_t least = offset <= begin ? 0
        : offset - begin < most ? (size_t) (offset - begin) : most;
    size_t i = 0;
    while (i < least || (i < most && ahead && !has_some(d))) {
        unsigned first, size;
        if (d->skims) i += skim_cycles(d, bytes + i, least - i);
        if (d->skims && i >= least) break;
        first = bytes[i];
        size = d->sizes[first];
        if (size == CYC)
            size = short_cyc(d, begin + i, bytes + i);
        else if (size == MTC)
            size = short_mtc(d, begin + i, bytes[i + 1]);
        else if (d->after_cyc | d->moves | d->same && size && first)
            date_packet(d, begin + i, 0, first % 2 == 0 && first < 0x80);
        if (!size) break;
        i += size;
    }
    d->at = begin + i;
    d->release = d->at > d->begun + SEARCHED ? d->at - SEARCHED : d->begun;
}

static void read_packet(dates *d, const ipt_packet *packet)
{
    const uint64_t offset = d->packets.at.packet_offset;
    switch (packet->type) {
    case IPT_PKT_PAD: return;
    case IPT_PKT_CYC: take_cyc(d, offset, packet->u.cyc.value); return;
    case IPT_PKT_CBR: read_cbr(d, packet->u.cbr.ratio); break;
    case IPT_PKT_TMA: (void) ipt_time_update(&d->clock, packet); break;
    case IPT_PKT_MTC:
    case IPT_PKT_TSC: take_exact(d, offset, packet); return;
    case IPT_PKT_PSB:
        d->begun = d->packets.at.offset;
        d->quick = 0;
        break;
    case IPT_PKT_PSBEND: d->quick = 1; break;
    case IPT_PKT_GAP: /* a PSB comes next */
    case IPT_PKT_BBP: d->quick = 0; break; /* BIPs come, which look like TNTs */
    default: break;
    }
    date_packet(d, offset, 0,
                packet->type == IPT_PKT_TNT_8 && packet->u.tnt.count < 6);
}

/* Go to the next PSB. Packets were read wrong before an error, and it may begin
 * in the last of them. */
static int search(dates *d)
{
    const uint64_t from = d->at > d->begun + SEARCHED ? d->at - SEARCHED
                                                      : d->begun;
    if (d->synced) {
        const int status = ipt_pkt_sync_set(&d->packets, from);
        if (status < 0 || d->packets.at.valid & IPT_AT_SYNC) return status;
    }
    d->synced = d->quick = 0;
    return ipt_pkt_sync_forward(&d->packets);
}

/* A packet of any kind. 0: there is no more trace, now or ever. */
static int read_any(dates *d)
{
    ipt_packet packet;
    const uint64_t before = d->at;
    const int synced = d->synced;
    int status = IPT_OK;
    if (d->packets.at.offset != before)
        status = ipt_pkt_sync_set(&d->packets, before);
    if (status >= 0)
        status = synced ? ipt_pkt_next(&d->packets, &packet)
                        : ipt_pkt_sync_forward(&d->packets);
    if (status >= 0 && synced && d->packets.at.packet_offset >= before)
        read_packet(d, &packet);
    else if (status < 0 && status != IPT_MORE && status != IPT_END)
        status = search(d);
    d->at = d->packets.at.offset;
    d->release = d->packets.at.release;
    d->synced |= status >= 0;
    d->ended = status < 0 && status != IPT_MORE;
    return status >= 0;
}

static void read_to(dates *d, uint64_t offset, int ahead)
{
    while (!d->ended && (d->at < offset || (ahead && !has_some(d)))) {
        const uint64_t before = d->at;
        if (d->quick) read_short(d, offset, ahead);
        if (d->at == before && !read_any(d)) break;
    }
    d->due = d->count ? kept(d, 0)->offset : d->ended ? UINT64_MAX : d->at;
}

void dates_read(dates *d, uint64_t offset)
{
    read_to(d, offset, 0);
}

void dates_skim(dates *d, uint64_t offset)
{
    d->count = 0;
    d->after_cyc = d->moves = d->same = 0;
    d->skims = 1;
    dates_read(d, offset);
    d->skims = 0;
}

void dates_move(dates *d, const ipt_config *config, const ipt_trace *trace)
{
    d->trace = trace;
    d->count = 0;
    d->due = d->at;
    if (d->begun < trace->offset) d->begun = trace->offset;
    if (ipt_pkt_init(&d->packets, config, trace) < 0
        || ipt_pkt_sync_set(&d->packets, d->at) < 0)
        d->ended = 1;
}

/* Is the packet of the oldest date not known, or is there none? */
static int is_open(const dates *d)
{
    return d->count == 0
        || (d->count == 1 && (d->moves || d->same == MORE));
}

int dates_next(dates *d, uint64_t offset, int own, dates_date *date)
{
    const uint64_t end = offset + (own && offset < UINT64_MAX);
    if (is_open(d) && d->at <= offset)
        read_to(d, offset + (offset < UINT64_MAX), 1);
    if (d->count == 0 || d->list[d->first].offset >= end) return 0;
    *date = d->list[d->first];
    d->first = (d->first + 1) % DATES_KEPT;
    d->count--;
    if (is_open(d))
        read_to(d, 0, 1);
    else
        d->due = d->list[d->first].offset;
    return 1;
}
