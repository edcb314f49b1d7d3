/* pebs.h: PEBS records that a processor writes into the trace. A record is blocks
 * of items, each an event; in words it is one:
 *
 *     ip=401136 counters=1 events=cycles time=12.000000340 rax=7
 *
 *     if (pebs_event(&p, &event, &about) > 0) ... // p.text
 *     if (pebs_cut(&p)) ...                       // trace is missing in it
 *     pebs_free(&p);
 *
 * SPDX-License-Identifier: MIT */
#ifndef PEBS_H
#define PEBS_H
#include "ipt.h"
#include <stddef.h>

#define PEBS_MAX 4096u /* bytes of words, with their 0; what is too long for that
                          ends with ... */

/* Of a thread; zeros at first. */
typedef struct pebs {
    char *text;    /* words of the record: whole when the functions below say so,
                      and then until the next event */
    uint8_t open;  /* it has begun */
    /* private */
    uint8_t ended;
    uint8_t full;
    uint8_t group; /* of the items that come */
    size_t used;
    size_t room;
} pebs;

/* What items are about. */
typedef struct pebs_about {
    const char *const *counters; /* the events of 64 counters; NULL or "": not
                                    known */
    const uint64_t *pt; /* PERFDATA_PT_ words, for times; NULL: ticks are all that
                           is known */
} pebs_about;

void pebs_free(pebs *p);

/* An event of the thread: 1 if a record ends with it; 0; -1 without memory. */
int pebs_event(pebs *p, const ipt_event *e, const pebs_about *about);

/* What comes next is not known: 1 if that is in a record, whose words so far end
 * with `cut`; 0; -1 without memory. */
int pebs_cut(pebs *p);

/* A number for the words so far. */
uint64_t pebs_hash(const pebs *p);

#endif /* PEBS_H */
