/* machine.h: a machine whose processors trace with Intel PT, for recorders that
 * know what each thread of a program executes, and in which order.
 *
 *     machine_init(&m, &config);
 *     machine_add(&m, &main_thread, NULL);
 *     while ((t = machine_next(&m)) != NULL)
 *         ... find out what t does next, and say it:
 *         machine_executed(&m, t, &insn, next_ip, mode);
 *     machine_end(&m);
 *
 * The machine has processors that threads share, or one for each thread. It
 * decides which thread comes next, so that the clocks of the processors stay
 * together, takes a processor away from a thread that had it for long, and lets
 * threads migrate. It makes the trace of each processor, and the list of what
 * each thread executed, which is not made from the trace. With config.out, the
 * records that Linux would write go there as well.
 *
 * Only user mode is traced. Each entry to the kernel disables tracing; the next
 * instruction of the thread enables it again, wherever the thread is then.
 *
 * A thread is READY (it can run), RUNNING (it has a processor), WAITING (in the
 * kernel) or ENDED:
 *
 *     READY   -> RUNNING           machine_next
 *     RUNNING -> READY             machine_next: another thread's turn
 *     RUNNING -> WAITING           machine_wait
 *     WAITING -> READY             machine_ready
 *     READY, RUNNING, WAITING -> ENDED   machine_exit
 *
 * What a thread does is said while it is RUNNING.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MACHINE_H
#define MACHINE_H
#include "ipt.h"
#include "../perf/perfwrite.h"
#include "timing.h"
#include <stdio.h>

typedef struct machine_config {
    ipt_gen_config gen;
    uint32_t cpus;      /* 0: one for each thread */
    uint32_t quantum;   /* cycles that a thread has its processor for, about */
    uint32_t gap;       /* cycles from the record of a switch to user code */
    uint64_t seed;      /* of what is random */
    uint32_t threshold; /* of CYC packets, cycles */
    uint8_t unkind;     /* instructions differ in what they cost: see machine.c */
    uint64_t time_zero; /* see perfwrite_config */
    uint32_t time_mult;
    uint16_t time_shift;
    perfwrite *out; /* NULL: trace goes to `trace`, and there are no records */
    FILE *trace;
    FILE *log; /* NULL, or where runs of threads are listed: see ptrecord.c */
    void (*fail)(const char *format, ...); /* does not return */
} machine_config;

enum { /* machine_thread.state */
       MACHINE_READY,
       MACHINE_RUNNING,
       MACHINE_WAITING,
       MACHINE_ENDED
};

typedef struct machine_cpu machine_cpu;

typedef struct machine_thread {
    /* set before machine_add */
    uint32_t pid;
    uint32_t tid;
    uint8_t mode; /* IPT_MODE_ */
    uint64_t ip;  /* of the next instruction; kept up by you */
    FILE *list;   /* of addresses, 8 bytes little-endian; NULL: none is kept */
    FILE *costs;  /* of them, in cycles, 4 bytes; NULL */
    FILE *dates;  /* what packets say of time: see ptrecord.c; NULL */

    /* to be read only */
    uint8_t state;
    uint8_t on;       /* tracing is enabled */
    uint64_t count;   /* instructions listed */
    machine_cpu *cpu; /* where it runs, or ran last */

    /* the machine's own */
    uint64_t *ips; /* addresses not yet in `list`, and their costs */
    uint32_t *cycles;
    size_t kept;
    size_t room;
    size_t flow;        /* index in ips: what follows has left no trace yet */
    uint64_t ready;     /* the cycle from which on it can run */
    uint64_t kernel;    /* cycles that it still spends in the kernel */
    uint64_t left;      /* the cycle when it left its processor */
    uint64_t proven;    /* instructions that packets have shown */
    char change[48];    /* a line for `dates`, after the packet about it */
    uint8_t changed;    /* that was written */
    uint64_t run_from;  /* where its run began: instructions, ... */
    uint64_t run_clock; /* ... and cycles */
} machine_thread;

struct machine_cpu {
    ipt_gen gen; /* its clock is the processor's */
    timing timing;
    uint8_t bytes[1 << 16];
    machine_thread *thread; /* NULL: idle */
    uint64_t until;         /* when its thread has had its share */
    uint32_t number;
    uint8_t mode;    /* as the trace has it */
    uint8_t started; /* PT was */
};

typedef struct machine {
    machine_config config;
    machine_cpu **cpus;
    uint32_t cpu_count;
    uint32_t queues;          /* processors that there were */
    uint64_t latest;          /* the highest clock of those that are gone */
    machine_thread **threads; /* that have not ended */
    size_t thread_count;
    uint64_t random;
    uint64_t instructions; /* of all threads */
    uint64_t trace_bytes;  /* written */
    uint64_t newest;       /* time of a record, cycles */
    uint64_t round_at;     /* size of the file when the last round ended */
    uint8_t stopped;       /* what becomes of threads is not recorded */
} machine;

/* An instruction. */
typedef struct machine_insn {
    uint64_t ip;
    int32_t displacement; /* of direct branches */
    uint8_t size;
    uint8_t kind; /* IPT_INSN_ */
    uint32_t times; /* of REP: how often it went round */
} machine_insn;

void machine_init(machine *m, const machine_config *config);

/* A thread begins, READY; `parent`: which is RUNNING or WAITING, or NULL. The
 * thread stays yours, and must stay where it is until it has ended. */
void machine_add(machine *m, machine_thread *t, const machine_thread *parent);

/* The thread whose turn it is; NULL if none is READY or RUNNING. */
machine_thread *machine_next(machine *m);

/* Can the instruction lead to this address? */
int machine_leads(const machine_thread *t, const machine_insn *insn,
                  uint64_t to);

/* The instruction executed and led to `to`, in `mode`. One that enters the
 * kernel leads to where that will return to, as far as is known; it does not
 * count. Calls config.fail for a branch that cannot lead there. */
void machine_executed(machine *m, machine_thread *t, const machine_insn *insn,
                      uint64_t to, uint8_t mode);

/* Flow is at ip, where an instruction is about to execute or to fault. */
void machine_arrived(machine *m, machine_thread *t, uint64_t ip);

/* An interrupt, fault or signal before the instruction at ip. */
void machine_interrupted(machine *m, machine_thread *t, uint64_t ip);

/* While tracing of the thread is disabled the kernel changed its mode. */
void machine_mode(machine_thread *t, uint8_t mode);

/* In the kernel: the thread waits; it can go on, `later` cycles from now; it
 * or another one of its process has a new mapping or name. */
void machine_wait(machine *m, machine_thread *t);
void machine_ready(machine *m, machine_thread *t, uint64_t later);
void machine_exit(machine *m, machine_thread *t);
void machine_map(machine *m, const machine_thread *t, const perfwrite_map *map);

/* ... has code that is about to run, and was there before. */
void machine_code(machine *m, const machine_thread *t,
                  const perfwrite_map *map);
void machine_comm(machine *m, const machine_thread *t, const char *name,
                  int exec);

/* Write out what is kept, when all threads have ended. */
void machine_end(machine *m);

/* Trace made so far, bytes. */
uint64_t machine_trace_size(const machine *m);

#endif /* MACHINE_H */
