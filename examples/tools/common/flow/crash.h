/* crash.h: how threads ended, and where.
 *
 *     crash_end end;                     // all bytes 0, one for each thread
 *     crash_flow(&end, &who, &block);    // each block, each event, each loss
 *     crash_event(&end, &who, &event);
 *     crash_lost(&end, &who, loss, &at);
 *     crash_exec(&end, &stack);          // before stack_exec
 *     crash_last(&end, &stack);          // no more comes
 *     ...
 *     crash_judge(ends, count, s, core); // all threads of session s
 *     crash_print(ends[i], s, core);
 *     crash_free(&end);
 *
 * A trace says where flow ended, and nothing of signals. A thread seems to have died
 * of one if a record says that it ended, and it is known of each thread of its
 * process that it ended in an exception, an interrupt or a system call other than
 * exit_group. A core file says more.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRASH_H
#define CRASH_H
#include "../code/corefile.h"
#include "session.h"

typedef enum crash_kind {
    CRASH_NONE,    /* nothing ran */
    CRASH_RUNS,    /* after an instruction */
    CRASH_FAULT,   /* in an exception or an interrupt */
    CRASH_SYSCALL, /* in a system call */
    CRASH_EXEC,    /* in one that began to load another program */
    CRASH_OFF,     /* tracing was switched off, by a filter, say */
    CRASH_LOST     /* flow is not known from there on */
} crash_kind;

/* Threads of the lowest come first. */
typedef enum crash_verdict {
    CRASH_SIGNAL,   /* a core file says so */
    CRASH_SEEMS,    /* it seems to have died of a signal, */
    CRASH_UNKNOWN,  /* it ended, how is not known */
    CRASH_WITH,     /* ... and this one because its process did */
    CRASH_THERE,    /* it was there when the recording ended */
    CRASH_LEFT      /* it ended by itself */
} crash_verdict;

#define CRASH_BLOCKS 8u

typedef struct crash_end {
    const session_task *task;
    crash_kind kind;
    crash_verdict verdict;
    uint64_t ip;      /* the last instruction; CRASH_FAULT: the next one */
    uint64_t tsc;
    uint64_t address; /* that an event says was accessed */
    uint64_t written; /* the last PTWRITE, ... */
    uint64_t writer;  /* ... and where that was; 0: not known */
    stack_frame *frames; /* at the end, the top frame is the last one */
    size_t count;
    int call;         /* number of the system call; -1: not known */
    uint8_t loss;     /* threads_loss */
    uint8_t last;     /* IPT_INSN_ of the last instruction */
    uint8_t mode;
    uint8_t guest;
    uint8_t has;      /* CRASH_HAS_ */
    uint8_t vector;
    uint8_t old;      /* frames are of the program before an exec */
    uint8_t put;      /* blocks so far, up to CRASH_BLOCKS, */
    uint8_t next;     /* ... and where the next one goes */
    struct crash_block {
        uint64_t ip;
        uint64_t end;
    } blocks[CRASH_BLOCKS];
} crash_end;

enum { CRASH_HAS_ADDRESS = 1, CRASH_HAS_VECTOR = 2, CRASH_HAS_WRITTEN = 4 };

void crash_flow(crash_end *c, const threads_who *who, const ipt_block *block);
void crash_event(crash_end *c, const threads_who *who, const ipt_event *event);
void crash_lost(crash_end *c, const threads_who *who, threads_loss loss,
                const ipt_where *at);

/* 0, or -1: no memory. */
int crash_exec(crash_end *c, const stack *s);
int crash_last(crash_end *c, const stack *s, session *of);

/* What became of each, with a core file or NULL; sorts them. */
void crash_judge(crash_end **list, size_t count, const corefile *core);

/* How it ended, and its stack. */
void crash_print(const crash_end *c, session *s, const corefile *core);

/* A frame at an address, 0: not known, as a line: #NUMBER FUNCTION (FILE:LINE),
 * after one for each function that is inlined there. Of the thread `task`, `guest`
 * and `old` count, of the function `name`, if the code is still there. Returns the
 * number of the next frame. */
size_t crash_frame(const crash_end *c, session *s, size_t number, uint64_t ip,
                   const stack_function *f);

void crash_free(crash_end *c);

#endif /* CRASH_H */
