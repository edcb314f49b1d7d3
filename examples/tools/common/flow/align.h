/* align.h: in which run each stretch of flow was, by what fits best as a whole.
 *
 * A stretch is the flow between two places where tracing was off. A run is the
 * time from one switch of a processor to the next, so it is that of a thread.
 * Stretches and runs are both in the order of time; by time alone a stretch can
 * be in one of several runs. A thread goes on where it stopped, or where its
 * system call begins again, or anywhere once a signal handler ends. A run may
 * have no user code. A new thread begins where the one that made it goes on.
 * All explanations of this kind are found together, over where each thread may
 * have stopped so far; what these do not agree in is not sure.
 *
 * Signals and exec make a thread go on elsewhere. Where no thread is known to
 * have stopped that is as possible for each of them. Elsewhere it takes another
 * thread's place, and costs; explanations count that have up to twice as much
 * of this as the cheapest ones, which is normally none.
 *
 * Where too many explanations would have to be told apart, less is known of
 * where the threads stopped: that makes more explanations, never fewer.
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
#define ALIGN_PLACES  120u

/* Addresses; anywhere, if there are more than ALIGN_PLACES. */
typedef struct align_places {
    uint64_t ip[ALIGN_PLACES];
    uint8_t count;
    uint8_t fresh; /* or the thread has not begun */
} align_places;

typedef struct align_stretch {
    uint64_t ip;    /* it begins here; */
    uint64_t stop[ALIGN_THREADS]; /* where a thread is to go on, by its code */
    size_t first;   /* runs that it can be in, by time: first to last */
    size_t last;
    uint16_t fits;  /* threads whose code it can be: a bit each, */
    uint16_t stops; /* ... and those for which `stop` is known */
    uint16_t news;  /* threads that can begin here */

    /* result */
    uint16_t threads; /* that it may be of */
    size_t run;       /* in the cheapest explanation */
    size_t low;       /* ... and in any, at least */
} align_stretch;

typedef struct align_run {
    uint8_t thread;      /* below ALIGN_THREADS, or no user code */
    uint8_t kept;        /* its thread is where it stopped in a run before; */
    align_places in;     /* ... or in one of these places */
    align_places out;    /* its thread goes on in one of these later */

    /* result; nothing: not known */
    align_places begins; /* where its first stretch does; */
    align_places ends;   /* where its thread is when it ends */
    uint16_t set;        /* of align.c */
} align_run;

typedef struct align align; /* memory */

/* NULL without memory. */
align *align_new(void);
void align_free(align *a);

void align_add(align_places *p, uint64_t ip);
int align_has(const align_places *p, uint64_t ip);

/* All places of another. */
void align_join(align_places *p, const align_places *more);

/* Nothing is known. */
void align_anywhere(align_places *p);

/* Find the cheapest explanations, for as many of the stretches, from the first,
 * as have any; returns their number. 0 without memory. The number of the first
 * of the runs is base, and the first stretch can be in it. The work that it
 * may take is about what it costs to tell so many of them apart, in a run. */
size_t align_find(align *a, align_stretch *stretches, size_t count,
                  align_run *runs, size_t base, size_t run_count, size_t work);

#endif /* ALIGN_H */
