/* replay.c: see replay.h.
 *
 * SPDX-License-Identifier: MIT */
#include "replay.h"
#include <stdlib.h>
#include <string.h>

#define PIECE   ((size_t) 1 << 18)
#define LARGEST ((size_t) 512) /* a block, who and another record: less */

/* Of 1000 instructions of one process: to take what others say, where blocks add up
 * and where they do not. */
enum { ADDING = 340, SHOWING = 450 };

/* What follows: threads_who, a number of blocks and one that is all of them, .. */
enum { WHO, FLOW, EVENT, LOST, DATE, OWN_DATE, APPLY };

static replay *replay_of(const session *s)
{
    return (replay *) s->slices->config.context;
}

/* ---- in a process that decodes ---- */

/* A kind and what follows, of a size that the compiler knows. */
static inline void keep(replay *r, uint8_t kind, const void *bytes, size_t size)
{
    r->bytes[r->used] = (char) kind;
    memcpy(r->bytes + r->used + 1, bytes, size);
    r->used += 1 + size;
}

static void get(const char **at, void *value, size_t size)
{
    memcpy(value, *at, size);
    *at += size;
}

static inline int is_same(const threads_who *a, const threads_who *b)
{
    return !memcmp(a, b, offsetof(threads_who, tsc)) && a->run == b->run
        && a->sure == b->sure && a->guest == b->guest;
}

static inline void end_block(replay *r)
{
    if (!r->block.blocks) return;
    memcpy(r->bytes + r->used, &r->block, sizeof r->block);
    r->used += sizeof r->block;
    r->block.blocks = r->grows = 0;
    if (r->stays) return;
    memcpy(r->bytes + r->used, &r->offset, sizeof r->offset);
    r->used += sizeof r->offset;
}

static inline void get_block(const replay *r, const char **at, ipt_block *b,
                             uint16_t *blocks)
{
    replay_block said;
    --*at;
    get(at, &said, sizeof said);
    memset(b, 0, sizeof *b);
    *blocks = said.blocks;
    b->ip = said.ip;
    b->end_ip = said.ip + (uint64_t) (int64_t) said.length;
    b->count = said.count;
    b->flags = said.flags;
    b->kind = said.kind;
    b->last_size = said.last_size;
    b->mode = said.mode;
    if (!r->stays) get(at, &b->offset, sizeof b->offset);
}

/* Write what is said, or make room for more. 0: there is no memory. */
static int make_room(replay *r)
{
    if (r->used && slices_write(&r->slices, r->bytes, r->used)) r->used = 0;
    if (r->room < r->used + PIECE + LARGEST) {
        if (!tool_grow(&r->bytes, 2 * (r->used + PIECE + LARGEST), 1)) {
            r->failed = 1;
            r->session->stop = 1;
            return 0;
        }
        r->room = 2 * (r->used + PIECE + LARGEST);
    }
    r->full = r->used + PIECE;
    return 1;
}

/* Something is about to be said, and there is room for it, and for the block before
 * what comes then. 0: it is not. */
static inline int begin(replay *r)
{
    if (r->session->threads.muted) return 0;
    if (r->skip) {
        r->skip--;
        return 0;
    }
    return r->used < r->full || make_room(r);
}

/* timed: the time that it is counts, too. */
static inline void keep_who(replay *r, const threads_who *who, int timed)
{
    if (is_same(who, &r->said) && (!timed || who->tsc == r->said.tsc)) return;
    keep(r, WHO, who, sizeof *who);
    r->said = *who;
}

static inline int is_direct(const ipt_block *b)
{
    return b->kind == IPT_INSN_JCC || b->kind == IPT_INSN_JMP;
}

static inline void begin_block(replay *r, const ipt_block *b)
{
    replay_block *const said = &r->block;
    said->ip = b->ip;
    said->length = (int32_t) (b->end_ip - b->ip);
    said->flags = b->flags;
    said->count = b->count;
    said->kind = b->kind;
    said->last_size = b->last_size;
    said->mode = b->mode;
    r->offset = b->offset;
    said->blocks = 1;
    r->grows = (uint8_t) is_direct(b);
}

/* A block that is not one with those before, where it is not known what adds up. Where
 * blocks do, nobody asks for their time. */
static __attribute__((noinline)) void
say_block(replay *r, session_task *task, const threads_who *who,
          const ipt_block *b)
{
    session *const s = r->session;
    end_block(r);
    if (!begin(r)) return;
    keep_who(r, who, !r->stays);
    begin_block(r, b);
    r->task = task;
    r->changes = s->changes;
    r->adds = r->stays && !pids_find(&s->replaced, who->pid)
           && !pids_find(&s->replaced, SPACES_KERNEL)
           && r->stays(s, task, who, b, &r->first, &r->last);
}

/* Another one inside of a function, with its own record. */
static __attribute__((noinline)) void say_next(replay *r, const ipt_block *b)
{
    end_block(r);
    if (begin(r)) begin_block(r, b);
}

/* A task has one pid and tid. */
static inline int is_in_run(const threads_who *a, const threads_who *b)
{
    return !memcmp(&a->cpu, &b->cpu, sizeof a->cpu + sizeof a->queue)
        && a->run == b->run && !memcmp(&a->sure, &b->sure, 2);
}

static void say_flow(session *s, session_task *task, const threads_who *who,
                     const ipt_block *b)
{
    replay *const r = replay_of(s);
    if (!r->adds || r->task != task || b->ip < r->first || b->end_ip > r->last
        || r->changes != s->changes || !is_in_run(who, &r->said)) {
        say_block(r, task, who, b);
    } else if (r->grows && r->block.count + b->count <= UINT16_MAX) {
        r->block.count = (uint16_t) (r->block.count + b->count);
        r->block.length = (int32_t) (b->end_ip - r->block.ip);
        r->block.kind = b->kind;
        r->block.last_size = b->last_size;
        r->block.mode = b->mode;
        r->block.blocks++;
        r->grows = (uint8_t) is_direct(b);
    } else {
        say_next(r, b);
    }
}

/* What is no flow, of a size that the compiler knows. */
static inline void say(replay *r, const threads_who *who, uint8_t kind,
                       const void *bytes, size_t size)
{
    end_block(r);
    if (!begin(r)) return;
    keep_who(r, who, !r->stays || (kind != DATE && kind != OWN_DATE));
    keep(r, kind, bytes, size);
}

static void say_event(session *s, session_task *task, const threads_who *who,
                      const ipt_event *e)
{
    (void) task;
    say(replay_of(s), who, EVENT, e, sizeof *e);
}

typedef struct lost {
    ipt_where at;
    threads_loss loss;
} lost;

static void say_lost(session *s, session_task *task, const threads_who *who,
                     threads_loss loss, const ipt_where *at)
{
    lost l;
    (void) task;
    memset(&l, 0, sizeof l);
    l.at = *at;
    l.loss = loss;
    say(replay_of(s), who, LOST, &l, sizeof l);
}

static void say_date(session *s, session_task *task, const threads_who *who,
                     const dates_date *date, int own)
{
    (void) task;
    say(replay_of(s), who, own ? OWN_DATE : DATE, date, sizeof *date);
}

/* A record is about to be applied. */
static void say_apply(size_t row, void *context)
{
    replay *const r = replay_of((session *) context);
    say(r, &r->said, APPLY, &row, sizeof row);
}

static void begin_slice(void *context)
{
    replay *const r = (replay *) context;
    session *const s = r->session;
    const session_config *const tools = s->config;
    r->used = r->full = 0;
    r->block.blocks = r->adds = r->grows = 0;
    r->block.what = FLOW;
    r->skip = r->slices.skip;
    memset(&r->said, 0, sizeof r->said);
    if (tools == &r->saying) return;
    memset(&r->saying, 0, sizeof r->saying);
    r->saying.flow = tools->flow ? say_flow : NULL;
    r->saying.event = tools->event ? say_event : NULL;
    r->saying.lost = say_lost;
    r->saying.date = tools->date ? say_date : NULL;
    r->saying.symbols = tools->symbols;
    s->config = &r->saying;
    s->threads.config.applies = say_apply;
}

static uint64_t state_of(void *context)
{
    (void) context;
    return 0;
}

static void end_slice(void *context)
{
    replay *const r = (replay *) context;
    end_block(r);
    if (r->failed) exit(1); /* which the first process hears */
    if (r->used) slices_write(&r->slices, r->bytes, r->used);
}

/* ---- in the first one ---- */

/* Returns what comes after it; NULL without memory. */
static inline const char *say_one(replay *r, const char *at)
{
    session *const s = r->session;
    const session_config *const c = s->config;
    const uint8_t kind = (uint8_t) *at++;
    session_task *task = r->task;
    union {
        ipt_block block;
        ipt_event event;
        lost lost;
        dates_date date;
        size_t row;
    } u;
    uint16_t blocks = 1;
    if (kind == WHO) {
        get(&at, &r->who, sizeof r->who);
        return at;
    }
    if (kind != APPLY && (!task || task->tid != r->who.tid)) {
        task = r->task = session_task_at(s, r->who.pid, r->who.tid);
        if (!task) return NULL;
    }
    switch (kind) {
    case FLOW:
        get_block(r, &at, &u.block, &blocks);
        c->flow(s, task, &r->who, &u.block);
        break;
    case EVENT:
        get(&at, &u.event, sizeof u.event);
        c->event(s, task, &r->who, &u.event);
        break;
    case LOST:
        get(&at, &u.lost, sizeof u.lost);
        if (c->lost) c->lost(s, task, &r->who, u.lost.loss, &u.lost.at);
        break;
    case DATE:
    case OWN_DATE:
        get(&at, &u.date, sizeof u.date);
        c->date(s, task, &r->who, &u.date, kind == OWN_DATE);
        break;
    default:
        get(&at, &u.row, sizeof u.row);
        threads_apply(&s->threads, u.row);
        break;
    }
    r->taken += blocks;
    return at;
}

static void take(const void *bytes, size_t size, void *context)
{
    replay *const r = (replay *) context;
    const char *at = (const char *) bytes;
    const char *const end = at + size;
    while (at && at < end) at = say_one(r, at);
    if (!at) r->session->no_memory = 1;
}

/* ---- ... which decodes, too ---- */

/* Something is said at once. 0: it is not. */
static int says(replay *r)
{
    const int does = !r->session->threads.muted;
    r->taken += (uint64_t) does;
    return does;
}

static void tell_flow(session *s, session_task *task, const threads_who *who,
                      const ipt_block *b)
{
    replay *const r = replay_of(s);
    if (says(r)) r->tools->flow(s, task, who, b);
}

static void tell_event(session *s, session_task *task, const threads_who *who,
                       const ipt_event *e)
{
    replay *const r = replay_of(s);
    if (says(r)) r->tools->event(s, task, who, e);
}

static void tell_lost(session *s, session_task *task, const threads_who *who,
                      threads_loss loss, const ipt_where *at)
{
    replay *const r = replay_of(s);
    if (says(r) && r->tools->lost) r->tools->lost(s, task, who, loss, at);
}

static void tell_date(session *s, session_task *task, const threads_who *who,
                      const dates_date *date, int own)
{
    replay *const r = replay_of(s);
    if (says(r)) r->tools->date(s, task, who, date, own);
}

static void tell_apply(size_t row, void *context)
{
    (void) row;
    (void) says(replay_of((session *) context));
}

static void own_slice(int begins, void *context)
{
    replay *const r = (replay *) context;
    session *const s = r->session;
    if (!begins) {
        s->config = r->tools;
        return;
    }
    r->tools = s->config;
    r->telling = *s->config;
    if (r->tools->flow) r->telling.flow = tell_flow;
    if (r->tools->event) r->telling.event = tell_event;
    if (r->tools->date) r->telling.date = tell_date;
    r->telling.lost = tell_lost;
    s->config = &r->telling;
    s->threads.config.applies = tell_apply;
}

void replay_init(replay *r, session *s, uint64_t processes,
                 replay_stays *stays)
{
    slices_config config;
    memset(&config, 0, sizeof config);
    memset(r, 0, sizeof *r);
    r->session = s;
    r->stays = stays;
    config.session = s;
    config.processes = processes;
    config.begin = begin_slice;
    config.state = state_of;
    config.end = end_slice;
    config.take = take;
    config.own = own_slice;
    config.share = stays ? ADDING : SHOWING;
    config.taken = &r->taken;
    config.context = r;
    slices_init(&r->slices, &config);
}

int replay_run(replay *r)
{
    const int status =
        r->slices.processes < 2 ? -1 : slices_run(&r->slices);
    return status < 0 ? session_run(r->session) : status;
}
