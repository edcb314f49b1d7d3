/* events.c: see events.h.
 *
 * SPDX-License-Identifier: MIT */
#include "events.h"
#include <string.h>

#define EVENTS 1024u /* that are looked at */

int events_begin(events_walk *w, const perfdata *p)
{
    perfdata_place place;
    uint8_t bytes[8];
    if (perfdata_feature(p, PERFDATA_FEATURE_EVENT_DESC, &place) != 1
        || place.size < 8 || perfdata_read(p, place.offset, bytes, 8) < 0)
        return 0;
    w->left = perfdata_u32(p->big_endian, bytes);
    if (w->left > EVENTS) w->left = EVENTS;
    w->attr = perfdata_u32(p->big_endian, bytes + 4);
    w->at = place.offset + 8;
    w->end = place.offset + place.size;
    return 1;
}

int events_next(events_walk *w, const perfdata *p, events_event *e)
{
    uint8_t bytes[16];
    uint64_t size, ids;
    if (!w->left || w->end - w->at <= w->attr
        || perfdata_read(p, w->at, bytes, 16) < 0)
        return 0;
    w->left--;
    e->config = perfdata_u64(p->big_endian, bytes + 8);
    w->at += w->attr;
    if (w->end - w->at < 8 || perfdata_read(p, w->at, bytes, 8) < 0) return 0;
    ids = perfdata_u32(p->big_endian, bytes);
    size = perfdata_u32(p->big_endian, bytes + 4);
    w->at += 8;
    if (w->end - w->at < size + 8 * ids) return 0;
    memset(e->name, 0, sizeof e->name);
    if (perfdata_read(p, w->at, (uint8_t *) e->name,
                      size < sizeof e->name ? (size_t) size : sizeof e->name - 1)
        < 0)
        return 0;
    w->at += size + 8 * ids;
    return 1;
}

int events_get(const perfdata *p, uint32_t number, events_event *e)
{
    events_walk w;
    if (!events_begin(&w, p)) return 0;
    do
        if (!events_next(&w, p, e)) return 0;
    while (number--);
    return 1;
}
