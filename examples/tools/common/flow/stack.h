/* stack.h: the call stack of a thread, from what it executed.
 *
 *     stack_init(&s, &config, user);        // one for each thread
 *     stack_flow(&s, &block);               // each block, in order
 *     stack_event(&s, &event);              // each event between them
 *     stack_break(&s);                      // where trace is missing
 *     stack_end(&s, STACK_ENDED);
 *     stack_free(&s);
 *
 * Blocks have to end at each branch: IPT_CONFIG_END_ON_CALL and _JUMP. When
 * stack_flow returns, the top frame is the function that the block belongs to.
 *
 * A trace has no stack pointer, and not each CALL has its RET. What is made of
 * the exceptions:
 *
 *   tail call            a jump to the start of a function: takes the place of
 *                        the top frame
 *   longjmp, exception   a RET or an indirect jump into a function that has a
 *                        frame: the frames above it end
 *   coroutine            RET to the start of a function: a new stack, the old
 *                        one is parked. RET or an indirect jump to where the
 *                        top frame of a parked one returns to: it goes on
 *   signal               flow goes on elsewhere than it was interrupted: a
 *                        frame of its own, until flow comes back
 *   interrupt, system    the same, where the kernel is traced
 *   call
 *   exec                 from a system call to where programs begin: a new stack.
 *                        Call stack_exec where another source says so
 *   start in the middle  frames appear when they are returned into
 *   missing code         a frame like others, for the object that it is in. It
 *                        calls where flow comes to the start of a function
 *   missing trace        all frames end. They come back if the first frame
 *                        after it returns into one of them
 *
 * Two coroutines that run the same code cannot be told apart.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STACK_H
#define STACK_H
#include "ipt.h"

/* Addresses of a function, of a part of one that the compiler has put elsewhere
 * (NAME.cold), or of code of which no function is known. */
typedef struct stack_function {
    uint64_t first;
    uint64_t last;
    uint32_t name; /* the caller's; of a part, that of its function */
    uint8_t part;  /* 1: calls do not enter here */
    uint8_t split; /* the caller's */
    uint8_t gap;   /* 1: no function is known; calls enter anywhere */
    uint8_t start; /* 1: where programs begin: after exec flow goes on here */
    uint8_t absent; /* 1: code that is not there: what it calls is seen, what it
                       executes is not */
} stack_function;

typedef enum stack_kind {
    STACK_CALL,
    STACK_UNKNOWN,   /* it was there before, or how it came is not known */
    STACK_SIGNAL,    /* a signal or a user interrupt */
    STACK_INTERRUPT, /* or an exception; the kernel is traced */
    STACK_SYSCALL    /* the kernel is traced */
} stack_kind;

/* Why a frame is entered or left. Only STACK_CALLED and STACK_TAIL are calls
 * and returns that happened at this moment. */
typedef enum stack_why {
    STACK_CALLED,   /* entered: called; left: returned */
    STACK_TAIL,     /* the next function takes its frame */
    STACK_MOVED,    /* a jump into the middle of another function did */
    STACK_FOUND,    /* entered: it was there before */
    STACK_UNWOUND,  /* left: by longjmp or an exception */
    STACK_SWITCHED, /* another stack goes on */
    STACK_LOST,     /* trace is missing; entered: it is still there */
    STACK_ENDED     /* left: nothing follows */
} stack_why;

typedef struct stack_frame {
    stack_function function;
    uint64_t back; /* where it returns to; 0: not known */
    void *user;    /* the caller's; stays when a frame is entered again */
    uint8_t kind;  /* stack_kind */
    uint8_t inner; /* a CALL to the middle of the caller's own function */
    uint8_t restorer; /* the signal's handler has returned to this code, which
                         makes the system call that ends the signal */
} stack_frame;

typedef struct stack stack;

typedef struct stack_config {
    /* The function at an address, or what stands for one: code between two
     * functions, say. */
    stack_function (*function)(uint64_t ip, void *user);
    /* A frame, the top one of s, is entered, or is about to be left. */
    void (*enter)(stack *s, stack_frame *frame, stack_why why);
    void (*leave)(stack *s, stack_frame *frame, stack_why why);
} stack_config;

typedef struct stack_frames_ {
    stack_frame *list; /* the top frame is the last one */
    size_t count;
    size_t max;
} stack_frames_;

#define STACK_PARKED 256u       /* stacks of coroutines; the oldest goes */
#define STACK_DEEP (1u << 20)   /* frames; a deeper stack begins again */

struct stack {
    const stack_config *config;
    void *user;
    stack_frames_ frames;
    /* private */
    stack_frames_ lost;    /* from before trace was missing */
    stack_frames_ *parked; /* the newest is the last one */
    size_t parked_count;
    uint64_t next;   /* after the last instruction */
    uint8_t kind;    /* of the last instruction; IPT_INSN_OTHER also where flow
                        was interrupted: before the instruction at `next` */
    uint8_t size;    /* of it */
    uint8_t going;   /* there was one */
    uint8_t aborted; /* a transaction was; flow goes on elsewhere */
    uint8_t inside;  /* flow is in missing code */
    uint8_t execs;   /* that flow showed, and stack_exec did not */
    uint8_t failed;  /* there was no memory */
};

/* config has to stay. */
void stack_init(stack *s, const stack_config *config, void *user);
void stack_free(stack *s);

/* 0, or -1: there was no memory once, and the stack is not right. */
int stack_flow(stack *s, const ipt_block *block);
int stack_event(stack *s, const ipt_event *event);

/* Trace is missing here. */
void stack_break(stack *s);

/* Flow goes on at an address whose code is missing, in what `function` says has
 * none; or, by a return, in the missing code that made the call: 0, which also
 * stands for code of which nothing is known. Returns as stack_flow does. */
int stack_missing(stack *s, uint64_t to);

/* Code is missing where flow goes on, as threads_config.lost says. -1: no memory;
 * 1: nothing is known of that code, which may be the kernel's; 0. */
int stack_no_code(stack *s, const ipt_where *at);

/* A record says that another program runs from here on: 1, a new stack; 0: flow
 * has shown it before, or its time is coarse, and it is counted for that. */
int stack_exec(stack *s);

/* All frames end. */
void stack_end(stack *s, stack_why why);

static inline void stack_ran_(stack *s, const ipt_block *block)
{
    s->kind = block->kind;
    s->size = block->last_size;
    s->next = block->end_ip + block->last_size;
    if (block->mode == IPT_MODE_32) s->next &= UINT32_MAX;
}

/* As stack_flow, only sooner, for a block at addresses of the top frame's function
 * after another such block, and nothing else between them. 0: no direct jump leads
 * there; call stack_flow. */
static inline int stack_branch(stack *s, const ipt_block *block)
{
    if (s->kind != IPT_INSN_JCC && s->kind != IPT_INSN_JMP) return 0;
    stack_ran_(s, block);
    return 1;
}

#endif /* STACK_H */
