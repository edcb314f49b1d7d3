/* align.h: in which run each stretch of flow was, by what fits best as a whole.
 *
 * A stretch is the flow between two places where tracing was off. A run is the
 * time from one switch of a processor to the next, so it is that of a thread.
 * Stretches and runs are both in the order of time; by time alone a stretch can
 * be in one of several runs. A thread goes on where it stopped when its run
 * before this one ended. What has to be assumed besides, such as a signal, is
 * the cost of an explanation of all stretches; the cheapest ones are found
 * together, over where each thread may have stopped so far. What these do not
 * agree in is not sure.
 *
 * Threads migrate: in which places a thread may be when a run begins, or has to
 * be when it ends, is given if another processor knows it, and is said for the
 * others. Processors are done in turns until nothing changes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ALIGN_H
#define ALIGN_H
#include <stddef.h>
#include <stdint.h>

#define ALIGN_THREADS 16u
#define ALIGN_PLACES  24u

/* Addresses; anywhere, if there are more than ALIGN_PLACES. */
typedef struct align_places {
    uint64_t ip[ALIGN_PLACES];
    uint8_t count;
} align_places;

typedef struct align_stretch {
    uint64_t ip;    /* it begins here; */
    uint64_t stop[ALIGN_THREADS]; /* where a thread is to go on, by its code */
    size_t first;   /* runs that it can be in, by time: first to last */
    size_t last;
    uint16_t fits;  /* threads whose code it can be: a bit each, */
    uint16_t stops; /* ... and those for which `stop` is known */
    uint16_t news;  /* threads that can begin here, */
    uint16_t backs; /* ... and those that were here before all this */

    /* result */
    uint16_t threads; /* that it may be of */
    size_t run;       /* in the cheapest explanation */
    size_t low;       /* ... and in any, at least */
} align_stretch;

enum {
    ALIGN_KEPT, /* its thread is where it stopped in a run before */
    ALIGN_NEW,  /* its thread begins */
    ALIGN_IN    /* its thread is in one of the places `in` */
};

typedef struct align_run {
    uint8_t state;
    uint8_t thread;      /* below ALIGN_THREADS, or no user code */
    align_places in;     /* with ALIGN_IN */
    align_places out;    /* its thread goes on in one of these later */

    /* result, for a run that has stretches */
    align_places begins; /* where its first one does; */
    align_places ends;   /* where its last one stops */
} align_run;

typedef struct align align; /* memory */

/* NULL without memory. */
align *align_new(void);
void align_free(align *a);

void align_add(align_places *p, uint64_t ip);

/* Find the cheapest explanations, for as many of the stretches, from the first,
 * as have any; returns their number. 0 without memory. The number of the first
 * of the runs is base, and the first stretch can be in it. */
size_t align_find(align *a, align_stretch *stretches, size_t count,
                  align_run *runs, size_t base, size_t run_count);

#endif /* ALIGN_H */
