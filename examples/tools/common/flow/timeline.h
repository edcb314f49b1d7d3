/* timeline.h: calls as pictures over time, in the formats that viewers read.
 *
 *     timeline_open(&t, TIMELINE_PERFETTO, "out.pftrace", 0);
 *     thread = timeline_thread(&t, pid, tid, "ls");
 *     timeline_enter(&t, thread, name, "main", time);
 *     timeline_leave(&t, thread, name, "main", time);
 *     timeline_close(&t);
 *
 * Times are instructions, or 256ths of a ns, which Chrome's and speedscope's
 * files have to the ps and Perfetto's to the ns, rounded down. Those of a thread
 * never go back, and what was entered last is left first.
 * Memory does not grow with the number of calls, except for names and threads.
 * How many calls of a thread were left out is a value beside it; in speedscope's
 * files it stands in the thread's name.
 * Names may be hostile: what is not UTF-8 is replaced, and what is control
 * characters becomes a space.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TIMELINE_H
#define TIMELINE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum timeline_format {
    TIMELINE_CHROME,    /* JSON: chrome://tracing, Perfetto, speedscope */
    TIMELINE_PERFETTO,  /* protobuf, track events: ui.perfetto.dev */
    TIMELINE_SPEEDSCOPE /* JSON: speedscope.app */
} timeline_format;

#define TIMELINE_FINE 256u

typedef struct timeline_track_ timeline_track_;

typedef struct timeline {
    timeline_format format;
    FILE *file;
    int by_insn;      /* the unit is instructions, not ns */
    uint64_t least;   /* calls that take less are left out, and counted; yours
                         to set after timeline_open */
    int failed;
    /* private */
    FILE *spool;      /* SPEEDSCOPE: events of each thread, in chunks */
    uint64_t spooled;
    timeline_track_ *tracks;
    uint32_t count;
    uint32_t max;
    uint8_t *seen;    /* PERFETTO: names that were interned, a bit each */
    uint32_t seen_size;
    uint32_t names;   /* SPEEDSCOPE: the highest one */
    const char *separator;
} timeline;

/* 0, or -1: the file, or one for what does not fit into memory, cannot be
 * made; errno says why. by_insn: times are instructions. */
int timeline_open(timeline *t, timeline_format format, const char *path,
                  int by_insn);

/* A track for a thread, or one of the thread's, its parent, for a value (a
 * counter) or for moments. UINT32_MAX without memory. */
uint32_t timeline_thread(timeline *t, uint32_t pid, uint32_t tid,
                         const char *name);
uint32_t timeline_value(timeline *t, uint32_t parent, const char *name);
uint32_t timeline_moments(timeline *t, uint32_t parent, const char *name);

/* name: from 1 on, always the same for a text; numbers are dense. */
void timeline_enter(timeline *t, uint32_t track, uint32_t name,
                    const char *text, uint64_t time);
void timeline_leave(timeline *t, uint32_t track, uint32_t name,
                    const char *text, uint64_t time);

/* A moment: a loss, say. Not in SPEEDSCOPE. */
void timeline_mark(timeline *t, uint32_t track, const char *text,
                   uint64_t time);

/* From now on a value is ... Not in SPEEDSCOPE. */
void timeline_set(timeline *t, uint32_t track, uint64_t value, uint64_t time);

/* text_of: the text of a name; context is for it. 0, or -1: it was not
 * written as a whole. */
int timeline_close(timeline *t, const char *(*text_of)(uint32_t name,
                                                       void *context),
                   void *context);

#endif /* TIMELINE_H */
