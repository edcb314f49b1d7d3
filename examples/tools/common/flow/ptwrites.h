/* ptwrites.h: values that a program writes into the trace without the instruction
 * PTWRITE, as perf's manual has it: after a mark in the code, 64 branches to the
 * next instruction are its bits, of which the highest is the first.
 *
 *     jmp +16; ud2; "perf,ptwrite  "; mov x, %rax
 *     shl %rax; jc +0                                   // 64 times
 *
 * Where such a branch leads does not say whether it was taken, so that the bits are
 * read from the packets of the trace.
 *
 *     if (ptwrites_flow(&p, &state, &s, &who, &block)) ... // state.value, .ip
 *     ptwrites_free(&p);
 *
 * SPDX-License-Identifier: MIT */
#ifndef PTWRITES_H
#define PTWRITES_H
#include "session.h"

/* What was found at the end of a block. */
typedef struct ptwrites_place {
    uint64_t ip;
    uint64_t mark;     /* where the jump of a mark leads that this is the first
                          branch after; 0: it is not */
    uint32_t pid;
    uint32_t life;     /* changes of code + 1 */
    uint8_t guest;
    uint8_t is_branch; /* to the next instruction */
} ptwrites_place;

typedef struct ptwrites {
    ptwrites_place *places; /* of blocks; NULL at first */
} ptwrites;

/* Of a thread; zeros at first. */
typedef struct ptwrites_state {
    uint64_t value;
    uint64_t ip;     /* after the mark */
    uint8_t total;   /* bits so far; 0: there is no value in progress */
    /* private */
    uint64_t next;   /* after the last branch */
    uint64_t offset; /* of its packet, .. */
    uint64_t bits;   /* ... whose bits these are, */
    uint8_t count;   /* so many, */
    uint8_t here;    /* ... of which so many are branches of the value */
} ptwrites_state;

void ptwrites_free(ptwrites *p);

/* Flow of a thread, block by block. 1: a value ends with it; 0; -1 without
 * memory. */
int ptwrites_flow(ptwrites *p, ptwrites_state *state, session *s,
                  const threads_who *who, const ipt_block *b);

#endif /* PTWRITES_H */
