/* annotate.h: how often instructions of functions ran, and which way branches
 * went.
 *
 *     annotate a;                        // both all bytes 0
 *     annotate_thread t;
 *     annotate_went(&a, &t, ip);         // flow of a thread goes on there
 *     annotate_ran(&a, &t, n, &block);   // the last instruction of a block ran,
 *                                        // which is number n = annotate_add(...)
 *     annotate_break(&a, &t);            // where it goes on is not known
 *     annotate_free(&a);
 *
 * SPDX-License-Identifier: MIT */
#ifndef ANNOTATE_H
#define ANNOTATE_H
#include "../code/names.h"
#include "ipt.h"

typedef struct annotate_one {
    uint64_t offset;   /* in its function */
    uint64_t ip;       /* where it was first */
    uint64_t executed;
    uint64_t taken;    /* of them: a conditional branch */
    uint32_t function; /* 0: there is none of this number */
    uint32_t row;      /* yours */
    uint8_t kind;      /* IPT_INSN_ */
    uint8_t mode;
    uint8_t size;      /* of it, and its bytes: yours */
    uint8_t bytes[15];
} annotate_one;

typedef struct annotate {
    annotate_one *list; /* number n is list[n - 1] */
    size_t max;
    names_table keys;
} annotate;

typedef struct annotate_thread {
    uint32_t branch; /* that ran last, ... */
    uint64_t next;   /* ... and what comes after it if it is not taken */
} annotate_thread;

/* The number of an instruction; 0 without memory. */
uint32_t annotate_add(annotate *a, uint32_t function, uint64_t offset);

void annotate_ran(annotate *a, annotate_thread *t, uint32_t number,
                  const ipt_block *block);
void annotate_went(annotate *a, annotate_thread *t, uint64_t ip);
void annotate_break(annotate *a, annotate_thread *t);

/* Indices of the instructions of a function, in their order; of function 0, of all
 * conditional branches: those that went each way most often come first. NULL
 * without memory; free it. */
uint32_t *annotate_order(const annotate *a, uint32_t function, size_t *count);

/* How often a branch went the way that it took less often. */
uint64_t annotate_rarer(const annotate_one *one);

void annotate_free(annotate *a);

#endif /* ANNOTATE_H */
