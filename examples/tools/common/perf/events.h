/* events.h: the names of a perf.data's events.
 *
 *     events_walk walk;
 *     events_event event;
 *     if (events_begin(&walk, data))
 *         while (events_next(&walk, data, &event)) ...
 *
 * SPDX-License-Identifier: MIT */
#ifndef EVENTS_H
#define EVENTS_H
#include "perfdata.h"

#define EVENTS_NAME 64u

typedef struct events_event {
    uint64_t config;
    char name[EVENTS_NAME]; /* its beginning */
} events_event;

typedef struct events_walk {
    uint64_t at;
    uint64_t end;
    uint32_t left;
    uint32_t attr; /* bytes of it */
} events_walk;

/* 1, or 0: there are none, there are no more, or they cannot be read. */
int events_begin(events_walk *w, const perfdata *p);
int events_next(events_walk *w, const perfdata *p, events_event *e);

/* The event of an attribute, by its number: 1, or 0. */
int events_get(const perfdata *p, uint32_t number, events_event *e);

#endif /* EVENTS_H */
