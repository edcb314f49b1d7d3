/* charge.h: whose time it is. What a thread did, in its order and with the
 * times that are known, goes in; the same comes out with the time that each
 * part of it took.
 *
 *     charge_init(&c, &config, user);
 *     charge_date(&c, ns, cycles, 0);       // it was so late by now
 *     charge_run(&c, insns, line);          // instructions executed
 *     charge_note(&c, what, number, value, 0); // yours, kept in order
 *     charge_stop(&c, CHARGE_SYSCALL);      // and none from here on ...
 *     charge_go(&c);                        // ... to here
 *     charge_end(&c);
 *     charge_free(&c);
 *
 * Between two dates time is spread evenly over the instructions, or it is that
 * of the gap where there were none. Where there were instructions and a gap, and
 * no date at its edge, the instructions get their number times the median time
 * of an instruction, of the last CHARGE_RATES intervals of the thread that have
 * no gap; the rest is the gap's; and all that is a guess. So is what comes after
 * the last date.
 *
 * It is held back until the next date. Times are ns times CHARGE_FINE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CHARGE_H
#define CHARGE_H
#include "calltree.h"

#define CHARGE_FINE  256u
#define CHARGE_RATES 255u
#define CHARGE_HELD  (1u << 20) /* parts that are held back, at most; 64 << n */

/* Why there are no instructions. */
typedef enum charge_gap {
    CHARGE_NO_GAP,
    CHARGE_SYSCALL,
    CHARGE_FAULT,     /* a page fault */
    CHARGE_INTERRUPT, /* an interrupt or any exception */
    CHARGE_OFF_CPU,
    CHARGE_FILTERED,
    CHARGE_LOST,
    CHARGE_UNKNOWN,
    CHARGE_GAPS
} charge_gap;

/* A note of the caller's. */
typedef struct charge_part {
    uint64_t value;
    uint64_t ns; /* a time of its own; 0: its place says it */
    uint32_t number;
    uint16_t what;
    /* private */
    uint8_t kind;
    uint32_t line;
    uint64_t insns; /* of that line, before it */
} charge_part;

typedef struct charge_config {
    /* Instructions, or a part of a gap, took so much. */
    void (*spend)(const calltree_cost *cost, uint32_t line, void *user);
    void (*note)(const charge_part *note, void *user);
    /* A gap begins; it ends. */
    void (*stop)(charge_gap why, void *user);
    void (*go)(void *user);
} charge_config;

/* The time then, and cycles of the processor so far. */
typedef struct charge_date_ {
    uint64_t ns;
    uint64_t cycles;
} charge_date_;

typedef struct charge {
    const charge_config *config;
    void *user;
    uint8_t timed;   /* 0: nothing is held back but instructions until something
                        else comes; times are 0. Set it before these */
    uint8_t failed;  /* there was no memory */
    uint64_t ns;     /* of what was given out */
    /* private */
    charge_part *parts;
    size_t count, max;
    uint64_t insns;  /* in them, and ... */
    uint64_t run;    /* ... after them, */
    uint32_t line;   /* ... which are of this line */
    uint32_t gaps;   /* in them, with one that they begin in */
    uint64_t off;    /* time in them without a processor: charge_off_once */
    uint8_t edge;    /* the date that waits is that of the gap's end */
    uint8_t gap;     /* charge_gap: they end in it; ... */
    uint8_t given;   /* ... it was given out */
    uint8_t begun;   /* there were instructions, or are from here on */
    uint8_t dated;   /* there was a date: */
    charge_date_ last;
    unsigned waiting; /* dates in this gap, for its end: the first and last */
    charge_date_ wait[2];
    uint64_t rates[CHARGE_RATES]; /* of intervals: time an instruction * 256 */
    uint64_t rate_count;
} charge;

void charge_init(charge *c, const charge_config *config, void *user);
void charge_free(charge *c);

/* Dates that are not later than the one before are ignored. cycles: of the
 * processor so far, or CHARGE_NO_CYCLES. edge: a gap ends then. */
#define CHARGE_NO_CYCLES UINT64_MAX
void charge_date(charge *c, uint64_t ns, uint64_t cycles, int edge);

void charge_run(charge *c, uint64_t insns, uint32_t line);

/* More of the same line, after charge_run; dates and notes may be between. */
static inline void charge_more(charge *c, uint64_t insns)
{
    c->run += insns;
    c->insns += insns;
}

void charge_note(charge *c, uint16_t what, uint32_t number, uint64_t value,
                 uint64_t ns);
void charge_stop(charge *c, charge_gap why);

/* A gap ends, or what was before the first instruction. */
void charge_go(charge *c);

/* The thread did not have a processor from .. to; it was in a gap, or a gap
 * begins and ends here. */
void charge_off(charge *c, uint64_t from, uint64_t to);

/* Nor did it here, or at an earlier one of its stops: the interval goes on after
 * that, without the time between. */
void charge_off_once(charge *c, uint64_t from, uint64_t to);

/* A gap that did not end has time up to a date with `edge`, when the thread left
 * its last processor, if the kernel has it then. Else it has none. */
void charge_end(charge *c);

#endif /* CHARGE_H */
