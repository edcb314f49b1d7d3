/* slices.h: a perf.data decoded by several processes, a slice of time each, whose
 * output is that of one.
 *
 *     slices_init(&s, &config);             // after session_open
 *     status = slices_run(&s);              // in other processes
 *     if (status < 0) ...                   // decode all here, without the first
 *                                           // s.written bytes of output
 *
 * Each process decodes slice after slice. Output is kept until the slice before is
 * done: by the process, or with `take` by the first one. Then it is compared whether
 * the one ended as the other began: threads.h. If not, nobody's output counts any
 * more.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SLICES_H
#define SLICES_H
#include "session.h"
#include <sys/types.h>

#define SLICES_MAX 8u

typedef struct slices_config {
    session *session;
    uint64_t processes; /* at most; 0: as many as there are processors */
    /* In another process: a slice is to be decoded, nothing is known of threads. */
    void (*begin)(void *context);
    /* At a cut: what decides about output to come, besides
     * what threads.h knows. */
    uint64_t (*state)(void *context);
    /* The slice is done: write what is kept, by slices_write. */
    void (*end)(void *context);
    /* In the first process: what others have written, piece by piece, in order, in
     * place of standard output. May be NULL. */
    void (*take)(const void *bytes, size_t size, void *context);
    /* The first process is about to decode a slice itself, what the session says is
     * to be told at once, but while threads.muted; it has. NULL: it only takes. */
    void (*own)(int begins, void *context);
    unsigned share;     /* ... of 1000: what taking costs, of what decoding does */
    /* What was taken stays, and this is how much it was: if slices do not do, another
     * process decodes all and leaves out so much. NULL: see slices_run. */
    const uint64_t *taken;
    uint64_t *counts;   /* of the tool: what slices add to them is added up */
    size_t count;       /* at most SLICES_MAX */
    void *context;
} slices_config;

typedef struct slices_process {
    pid_t pid;
    int to;   /* pipes */
    int from;
    char *bytes; /* what came from it, [at, used) */
    size_t at, used, room;
    unsigned queued; /* slices that it is to decode, or has */
    uint8_t ended;
} slices_process;

typedef struct slices slices;

struct slices {
    slices_config config;
    slices_process list[SLICES_MAX + 1]; /* the last one decodes all, if need be */
    unsigned processes; /* 0 or 1: there is nothing to be divided */
    uint64_t written;   /* bytes of output */
    /* private */
    unsigned count;     /* in the list */
    uint8_t decodes;    /* the first one does, too */
    uint8_t *owner;     /* of each slice: 1 + its number in the list; 0: it is own */
    uint64_t next;      /* slice that nobody has, */
    uint64_t others;    /* ... and so many before it that are not its own */
    size_t row;         /* the first record that is not before the slice before */
    unsigned calls;     /* of progress */
    /* in another process: */
    int from;
    int to;
    uint64_t skip;      /* what is left out: all was taken */
    uint8_t is_process;
    uint8_t may_write;  /* it is its turn */
    uint8_t failed;     /* output cannot be written */
    uint64_t begin;     /* states */
    uint64_t end;
    uint8_t begun;
};

/* The session is open. */
void slices_init(slices *s, const slices_config *config);

/* Decode. The exit status; -1: not all, or nothing, was. */
int slices_run(slices *s);

/* In another process: write so much, for `take` or to standard output. 0: it is not
 * its turn, and there is room to keep more. */
int slices_write(slices *s, const void *bytes, size_t size);

#endif /* SLICES_H */
