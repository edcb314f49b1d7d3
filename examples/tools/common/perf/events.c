/* events.c: see events.h.
 *
 * SPDX-License-Identifier: MIT */
#include "events.h"
#include <string.h>

#define EVENTS 1024u /* that are looked at */
#define IDS    4096u /* ... of each */

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
    uint64_t size;
    if (!w->left || w->end - w->at <= w->attr
        || perfdata_read(p, w->at, bytes, 16) < 0)
        return 0;
    w->left--;
    e->config = perfdata_u64(p->big_endian, bytes + 8);
    w->at += w->attr;
    if (w->end - w->at < 8 || perfdata_read(p, w->at, bytes, 8) < 0) return 0;
    e->count = perfdata_u32(p->big_endian, bytes);
    size = perfdata_u32(p->big_endian, bytes + 4);
    w->at += 8;
    if (w->end - w->at < size + 8 * (uint64_t) e->count) return 0;
    memset(e->name, 0, sizeof e->name);
    if (perfdata_read(p, w->at, (uint8_t *) e->name,
                      size < sizeof e->name ? (size_t) size : sizeof e->name - 1)
        < 0)
        return 0;
    e->ids = w->at + size;
    w->at = e->ids + 8 * (uint64_t) e->count;
    return 1;
}

int events_find(const perfdata *p, uint64_t id, events_event *e)
{
    events_walk w;
    uint8_t bytes[8];
    if (!events_begin(&w, p)) return 0;
    while (events_next(&w, p, e))
        for (uint32_t i = 0; i < e->count && i < IDS; i++) {
            if (perfdata_read(p, e->ids + 8 * (uint64_t) i, bytes, 8) < 0) return 0;
            if (perfdata_u64(p->big_endian, bytes) == id) return 1;
        }
    return 0;
}
