/* stack.c: see stack.h.
 *
 * SPDX-License-Identifier: MIT */
#include "stack.h"
#include <stdlib.h>
#include <string.h>

#define SEARCH 16384u /* frames that are looked at for a return address */
#define NONE SIZE_MAX

void stack_init(stack *s, const stack_config *config, void *user)
{
    memset(s, 0, sizeof *s);
    s->config = config;
    s->user = user;
}

void stack_free(stack *s)
{
    for (size_t i = 0; i < s->parked_count; i++) free(s->parked[i].list);
    free(s->parked);
    free(s->frames.list);
    free(s->lost.list);
    memset(s, 0, sizeof *s);
}

static stack_frame *top_of(const stack_frames_ *f)
{
    return &f->list[f->count - 1];
}

static int holds(const stack_function *f, uint64_t ip)
{
    return ip >= f->first && ip <= f->last;
}

static stack_function function_at(const stack *s, uint64_t ip)
{
    stack_function f = s->config->function(ip, s->user);
    if (!holds(&f, ip)) f.first = f.last = ip;
    return f;
}

/* Is an address, in f, where calls enter? */
static int is_entry(const stack_function *f, uint64_t ip)
{
    return ip == f->first && !f->part;
}

/* Does an address, in f, belong to the function of a frame? */
static int is_of(const stack_frame *frame, const stack_function *f,
                 uint64_t ip)
{
    return holds(&frame->function, ip)
        || (f->part && f->name == frame->function.name);
}

static int is_kernel(uint64_t ip)
{
    return (int) (ip >> 63);
}

/* ---- frames ---- */

static void leave(stack *s, stack_why why)
{
    s->config->leave(s, top_of(&s->frames), why);
    s->frames.count--;
}

/* Leave frames until `count` are left. */
static void leave_to(stack *s, size_t count, stack_why why)
{
    while (s->frames.count > count) leave(s, why);
}

static void enter(stack *s, const stack_frame *frame, stack_why why)
{
    stack_frames_ *const f = &s->frames;
    if (f->count == STACK_DEEP) leave_to(s, 0, STACK_LOST);
    if (f->count == f->max) {
        const size_t max = f->max ? 2 * f->max : 64;
        stack_frame *const list =
            (stack_frame *) realloc(f->list, max * sizeof *list);
        if (!list) {
            s->failed = 1;
            return;
        }
        f->list = list;
        f->max = max;
    }
    f->list[f->count++] = *frame;
    s->config->enter(s, top_of(f), why);
}

static void push(stack *s, stack_kind kind, uint64_t to, uint64_t back,
                 stack_why why)
{
    stack_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.function = function_at(s, to);
    frame.back = back;
    frame.kind = (uint8_t) kind;
    frame.inner = kind == STACK_CALL && s->frames.count
               && !is_entry(&frame.function, to)
               && is_of(top_of(&s->frames), &frame.function, to);
    enter(s, &frame, why);
}

/* Another function takes the top frame. */
static void replace(stack *s, const stack_function *function, stack_why why)
{
    stack_frame *const top = top_of(&s->frames);
    s->config->leave(s, top, why);
    top->function = *function;
    top->inner = 0;
    s->config->enter(s, top, why);
}

/* The nearest frame of a kind that returns to an address, or NONE. */
static size_t find_back(const stack_frames_ *f, stack_kind kind, uint64_t back)
{
    size_t i = f->count;
    for (size_t n = 0; i > 0 && n < SEARCH; n++)
        if (f->list[--i].back == back && f->list[i].kind == kind) return i;
    return NONE;
}

/* The nearest frame of the function of an address, or NONE. */
static size_t find_function(const stack_frames_ *f,
                            const stack_function *function, uint64_t ip)
{
    size_t i = f->count;
    for (size_t n = 0; i > 0 && n < SEARCH; n++)
        if (is_of(&f->list[--i], function, ip)) return i;
    return NONE;
}

/* ---- more than one stack ---- */

/* Copy frames [from, ...) of the current stack to the end of the parked ones,
 * instead of the oldest where there is no more room, and leave them. */
static void park(stack *s, size_t from)
{
    const size_t count = s->frames.count - from;
    stack_frames_ kept;
    if (!s->parked)
        s->parked = (stack_frames_ *) calloc(STACK_PARKED, sizeof *s->parked);
    kept.list = (stack_frame *) malloc((count ? count : 1)
                                       * sizeof *kept.list);
    kept.count = kept.max = count;
    if (!s->parked || !kept.list) {
        free(kept.list);
        s->failed = 1;
    } else {
        memcpy(kept.list, s->frames.list + from, count * sizeof *kept.list);
        if (from) kept.list[0].back = 0; /* it begins a stack of its own */
        if (s->parked_count == STACK_PARKED) {
            free(s->parked[0].list);
            s->parked_count--;
            memmove(s->parked, s->parked + 1,
                    s->parked_count * sizeof *s->parked);
        }
        s->parked[s->parked_count++] = kept;
    }
    leave_to(s, from, STACK_SWITCHED);
}

/* The parked stack whose top frame returns to an address, or NONE. */
static size_t find_parked(const stack *s, uint64_t back)
{
    size_t i = s->parked_count;
    while (i > 0)
        if (top_of(&s->parked[--i])->back == back) return i;
    return NONE;
}

/* A parked stack goes on after the call of what parked it. */
static void go_on(stack *s, size_t index)
{
    const stack_frames_ next = s->parked[index];
    s->parked_count--;
    memmove(s->parked + index, s->parked + index + 1,
            (s->parked_count - index) * sizeof *s->parked);
    park(s, 0);
    for (size_t i = 0; i + 1 < next.count; i++)
        enter(s, &next.list[i], STACK_SWITCHED);
    free(next.list);
}

/* The only frame, of which nothing is known, returns to an address: into a
 * frame from before trace was missing? 1, and those are back. */
static int find_lost(stack *s, uint64_t to)
{
    const size_t count = find_back(&s->lost, STACK_CALL, to);
    if (s->frames.count != 1 || s->frames.list[0].kind != STACK_UNKNOWN
        || count == NONE)
        return 0;
    leave(s, STACK_CALLED);
    for (size_t i = 0; i < count; i++)
        enter(s, &s->lost.list[i], STACK_LOST);
    s->lost.count = 0;
    return 1;
}

/* ---- how flow goes on ---- */

/* Nothing is known of the frames below. */
static void begin(stack *s, uint64_t to)
{
    push(s, STACK_UNKNOWN, to, 0, STACK_FOUND);
}

static void jump(stack *s, uint64_t to, int indirect)
{
    const stack_function *const here = &top_of(&s->frames)->function;
    stack_function f;
    size_t i;
    if (holds(here, to)) return;
    if (indirect) {
        i = find_back(&s->frames, STACK_CALL, to);
        if (i != NONE && i + 1 == s->frames.count) {
            leave(s, STACK_CALLED);
            return;
        }
        if (i != NONE) {
            park(s, i);
            return;
        }
        i = find_parked(s, to);
        if (i != NONE) {
            go_on(s, i);
            return;
        }
    }
    f = function_at(s, to);
    if (is_of(top_of(&s->frames), &f, to)) return;
    i = indirect && !is_entry(&f, to) && !f.gap
            ? find_function(&s->frames, &f, to) : NONE;
    if (i != NONE)
        leave_to(s, i + 1, STACK_UNWOUND);
    else
        replace(s, &f, is_entry(&f, to) || f.gap ? STACK_TAIL : STACK_MOVED);
}

/* Flow goes on after what was called. That may be in the next function: the CALL
 * or SYSCALL may have been the last instruction of its own. */
static void straight_on(stack *s, uint64_t to)
{
    if (s->frames.count) jump(s, to, 0);
}

/* RET to an address that no frame returns to. */
static void ret_elsewhere(stack *s, uint64_t to)
{
    const stack_frame top = *top_of(&s->frames);
    const stack_function f = function_at(s, to);
    const size_t parked = find_parked(s, to);
    size_t i;
    if (parked != NONE) {
        go_on(s, parked);
    } else if (find_lost(s, to)) {
        return;
    } else if (top.kind == STACK_SIGNAL) {
        replace(s, &f, STACK_TAIL);
        top_of(&s->frames)->restorer = 1;
    } else if (is_entry(&f, to) && top.inner) { /* retpoline */
        leave(s, STACK_CALLED);
        replace(s, &f, STACK_TAIL);
    } else if (is_entry(&f, to) && s->size > 1) { /* RET n: an indirect jump */
        replace(s, &f, STACK_TAIL);
    } else if (is_entry(&f, to)) {
        park(s, 0);
        push(s, STACK_CALL, to, 0, STACK_CALLED);
    } else if ((i = find_function(&s->frames, &f, to)) != NONE) {
        leave_to(s, i + 1, STACK_UNWOUND);
    } else {
        leave_to(s, 0, STACK_CALLED);
        begin(s, to);
    }
}

static void ret(stack *s, uint64_t to)
{
    const size_t i = find_back(&s->frames, STACK_CALL, to);
    if (i == NONE) {
        ret_elsewhere(s, to);
        return;
    }
    leave_to(s, i + 1, STACK_UNWOUND);
    leave(s, STACK_CALLED);
    straight_on(s, to);
}

/* Flow was at `from` and goes on at `to`, by no branch. */
static void interrupted(stack *s, uint64_t from, uint64_t to)
{
    const stack_function f = function_at(s, to);
    if (to == from) return;
    if (f.start && is_entry(&f, to)) {
        leave_to(s, 0, STACK_ENDED);
        if (s->execs < UINT8_MAX) s->execs++;
    } else {
        push(s, is_kernel(to) ? STACK_INTERRUPT : STACK_SIGNAL, to, from,
             STACK_CALLED);
    }
}

/* After a system call whose kernel part is not traced: a signal may have come,
 * or ended. A system call that is begun again has its own two bytes back. */
static void after_call(stack *s, uint64_t to)
{
    const size_t i = find_back(&s->frames, STACK_SIGNAL, to);
    const stack_frame top = *top_of(&s->frames);
    stack_function f;
    uint64_t from = s->next;
    if (i != NONE) {
        leave_to(s, i + 1, STACK_UNWOUND);
        leave(s, STACK_CALLED);
        straight_on(s, to);
        return;
    }
    if (top.kind == STACK_SIGNAL && top.restorer) {
        from = top.back;
        leave(s, STACK_CALLED);
        if (s->frames.count == 0) begin(s, from);
        if (from - to == s->size) return;
        f = function_at(s, to);
        if (is_of(top_of(&s->frames), &f, to) && !is_entry(&f, to))
            return; /* the handler has changed where flow goes on */
    }
    interrupted(s, from, to);
}

static void system_call(stack *s, uint64_t to)
{
    if (to == s->next)
        straight_on(s, to);
    else if (!is_kernel(to))
        after_call(s, to);
    else
        push(s, is_kernel(s->next) ? STACK_INTERRUPT : STACK_SYSCALL, to,
             s->next, STACK_CALLED);
}

/* IRET, SYSRET: the nearest interrupt or system call ends. */
static void system_ret(stack *s, uint64_t to)
{
    size_t i = s->frames.count;
    uint64_t back;
    while (i > 0 && s->frames.list[i - 1].kind != STACK_INTERRUPT
           && s->frames.list[i - 1].kind != STACK_SYSCALL)
        i--;
    if (i == 0) {
        i = find_back(&s->frames, STACK_SIGNAL, to); /* UIRET */
        leave_to(s, i == NONE ? 0 : i, STACK_CALLED);
    } else {
        back = s->frames.list[i - 1].back;
        leave_to(s, i, STACK_UNWOUND);
        leave(s, STACK_CALLED);
        if (to == back || back - to == 2) { /* 2: SYSCALL again */
            straight_on(s, to);
        } else if (s->frames.count) {
            i = find_back(&s->frames, STACK_SIGNAL, to);
            if (i != NONE)
                leave_to(s, i, STACK_CALLED);
            else
                interrupted(s, back, to);
        }
    }
}

/* Flow goes on as the last instruction and its kind say. There is a frame. */
static void go(stack *s, uint64_t to)
{
    switch (s->kind) {
    case IPT_INSN_JCC:
    case IPT_INSN_JMP:
    case IPT_INSN_JMPABS:
    case IPT_INSN_FAR_JMP: jump(s, to, 0); break;
    case IPT_INSN_JMP_INDIRECT: jump(s, to, 1); break;
    case IPT_INSN_CALL:
    case IPT_INSN_CALL_INDIRECT: /* to the next one: it only reads its ip */
        if (to != s->next) push(s, STACK_CALL, to, s->next, STACK_CALLED);
        break;
    case IPT_INSN_RET:
    case IPT_INSN_FAR_RET: ret(s, to); break;
    case IPT_INSN_FAR_CALL:
    case IPT_INSN_INT:
    case IPT_INSN_INTO:
    case IPT_INSN_SYSCALL: system_call(s, to); break;
    case IPT_INSN_UIRET:
    case IPT_INSN_RSM:
    case IPT_INSN_IRET: system_ret(s, to); break;
    default: /* straight on, perhaps into the next function */
        if (to == s->next)
            jump(s, to, 0);
        else
            interrupted(s, s->next, to);
        break;
    }
}

void stack_break(stack *s)
{
    stack_frames_ *const from = &s->frames;
    stack_frame *const list = (stack_frame *) malloc(
        (from->count ? from->count : 1) * sizeof *list);
    free(s->lost.list);
    s->lost.list = list;
    s->lost.count = s->lost.max = list ? from->count : 0;
    if (s->lost.count)
        memcpy(list, from->list, from->count * sizeof *list);
    leave_to(s, 0, STACK_LOST);
    s->going = s->aborted = s->inside = 0;
}

/* Flow comes out of missing code: by a return, by a call, or by a jump over it,
 * as longjmp and exceptions make them. */
static void come_out(stack *s, uint64_t to)
{
    const stack_function f = function_at(s, to);
    size_t i = find_back(&s->frames, STACK_CALL, to);
    s->inside = 0;
    if (i != NONE) {
        leave_to(s, i + 1, STACK_UNWOUND);
        leave(s, STACK_CALLED);
        straight_on(s, to);
    } else if (is_entry(&f, to)) {
        push(s, STACK_CALL, to, 0, STACK_CALLED);
    } else if ((i = find_function(&s->frames, &f, to)) != NONE) {
        leave_to(s, i + 1, STACK_UNWOUND);
    } else {
        stack_break(s);
    }
}

/* Missing code of which nothing is known calls, too. */
static void first_frame(stack *s, uint64_t to)
{
    const stack_function f = function_at(s, to);
    if (s->inside && is_entry(&f, to) && !f.absent)
        push(s, STACK_CALL, to, 0, STACK_CALLED);
    else
        begin(s, to);
}

/* Flow has come to an address. */
static void arrive(stack *s, uint64_t to)
{
    if (s->inside && s->frames.count) come_out(s, to);
    if (s->going && s->frames.count) {
        if (s->aborted)
            jump(s, to, 1);
        else
            go(s, to);
    }
    if (s->frames.count == 0) first_frame(s, to);
    s->inside = s->aborted = 0;
}

int stack_flow(stack *s, const ipt_block *block)
{
    arrive(s, block->ip);
    stack_ran_(s, block);
    s->going = 1;
    return s->failed ? -1 : 0;
}

int stack_event(stack *s, const ipt_event *event)
{
    const int has_ip = !(event->flags & IPT_EVENT_NO_IP);
    if (event->type == IPT_EVT_TSX && event->u.tsx.aborted) s->aborted = 1;
    if (has_ip && s->going && (event->type == IPT_EVT_ASYNC_BRANCH
                               || event->type == IPT_EVT_ASYNC_DISABLED)) {
        const uint8_t aborted = s->aborted;
        s->aborted = 0; /* not the way to event->ip, but the one from there */
        arrive(s, event->ip);
        s->aborted = aborted;
        s->kind = IPT_INSN_OTHER;
        s->next = event->ip;
        s->size = 0;
    }
    return s->failed ? -1 : 0;
}

/* Flow returns into missing code: 1, or 0 if no such code has made a call. */
static int return_inside(stack *s)
{
    const size_t count = s->frames.count;
    if (count < 2 || !s->frames.list[count - 2].function.absent) return 0;
    leave(s, STACK_CALLED);
    return 1;
}

int stack_missing(stack *s, uint64_t to)
{
    const int returns = s->kind == IPT_INSN_RET && s->going;
    if (s->inside && s->frames.count) return s->failed ? -1 : 0;
    if (returns && return_inside(s)) {
        const stack_function f = function_at(s, to);
        if (to && !is_of(top_of(&s->frames), &f, to))
            replace(s, &f, STACK_MOVED);
    } else if (to) {
        arrive(s, to);
    } else if (s->frames.count) {
        stack_break(s);
    }
    s->going = s->aborted = 0;
    s->inside = 1;
    return s->failed ? -1 : 0;
}

int stack_no_code(stack *s, const ipt_where *at)
{
    const int returns = at->error == IPT_ERR_RETURN_LOST;
    if (returns) return stack_missing(s, 0);
    if (at->valid & IPT_AT_IP && function_at(s, at->ip).absent)
        return stack_missing(s, at->ip);
    stack_break(s);
    if (at->valid & IPT_AT_IP && !(at->ip >> 63)) return stack_missing(s, 0);
    return 1; /* flow comes back where it was interrupted */
}

void stack_end(stack *s, stack_why why)
{
    leave_to(s, 0, why);
    while (s->parked_count) free(s->parked[--s->parked_count].list);
    s->lost.count = 0;
    s->going = s->aborted = s->inside = 0;
}

int stack_exec(stack *s)
{
    const int is_new = s->execs == 0;
    if (is_new) stack_end(s, STACK_ENDED);
    s->execs = 0;
    return is_new;
}
