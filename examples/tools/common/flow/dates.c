/* dates.c: see dates.h.
 *
 * SPDX-License-Identifier: MIT */
#include "dates.h"
#include <string.h>

void dates_init(dates *d, const ipt_config *config, const ipt_trace *trace,
                int all_cyc)
{
    memset(d, 0, sizeof *d);
    d->all_cyc = all_cyc != 0;
    d->ended = ipt_pkt_init(&d->packets, config, trace) < 0
            || ipt_time_init(&d->clock, config) < 0;
}

/* Where nothing happens for long the first and the last one are enough. */
static void keep(dates *d)
{
    dates_date *to = &d->list[d->count];
    if (d->count == DATES_KEPT)
        to--;
    else
        d->count++;
    to->offset = d->packets.at.packet_offset;
    to->tsc = d->clock.tsc;
    to->cycles = d->cycles;
}

static void read_packet(dates *d, const ipt_packet *packet)
{
    const int used = ipt_time_packet(&d->clock, packet) == IPT_OK;
    if (packet->type == IPT_PKT_PAD) return;
    if (d->moves && d->count)
        d->list[d->count - 1].offset = d->packets.at.packet_offset;
    d->moves = (uint8_t) (packet->type == IPT_PKT_TNT_8
                          && packet->u.tnt.count < 6
                          && (d->moves || d->after_cyc));
    if (packet->type == IPT_PKT_CYC) {
        d->cycles += packet->u.cyc.value;
        d->after_cyc = (uint8_t) used;
        d->moves = 0;
        return;
    }
    if (d->clock.has_tsc
        && (d->after_cyc || (used && (packet->type == IPT_PKT_MTC
                                      || packet->type == IPT_PKT_TSC))))
        keep(d);
    if (d->all_cyc) d->moves = 1;
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

int dates_next(dates *d, uint64_t offset, int own, dates_date *date)
{
    const uint64_t end = offset + (own && offset < UINT64_MAX);
    if (d->packets.at.offset <= offset) dates_read(d, offset + (offset < UINT64_MAX));
    if (d->count == 0 || d->list[0].offset >= end) return 0;
    *date = d->list[0];
    d->count--;
    memmove(d->list, d->list + 1, d->count * sizeof *d->list);
    return 1;
}
