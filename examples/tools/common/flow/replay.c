/* replay.c: see replay.h.
 *
 * SPDX-License-Identifier: MIT */
#include "replay.h"
#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t) 1 << 18)

/* What follows: threads_who, a number of blocks and one that is all of them, .. */
enum { WHO, FLOW, EVENT, LOST, DATE, APPLY };

static replay *replay_of(const session *s)
{
    return (replay *) s->slices->config.context;
}

/* ---- in a process that decodes ---- */

static inline void keep(replay *r, const void *bytes, size_t size)
{
    if (r->room - r->used < size) {
        if (!tool_grow(&r->bytes, 2 * (r->room + size), 1)) {
            r->failed = 1;
            return;
        }
        r->room = 2 * (r->room + size);
    }
    memcpy(r->bytes + r->used, bytes, size);
    r->used += size;
}

static void keep_kind(replay *r, uint8_t kind)
{
    keep(r, &kind, 1);
}

static int is_same(const threads_who *a, const threads_who *b)
{
    return a->run == b->run && a->tid == b->tid && a->queue == b->queue
        && a->sure == b->sure && a->guest == b->guest && a->pid == b->pid
        && a->cpu == b->cpu;
}

/* Fields of what is said, one after the other. */
typedef struct fields {
    char bytes[64];
    size_t used;
} fields;

static void put(fields *f, const void *value, size_t size)
{
    memcpy(f->bytes + f->used, value, size);
    f->used += size;
}

static void get(const char **at, void *value, size_t size)
{
    memcpy(value, *at, size);
    *at += size;
}

/* Blocks that have grown are one. Where they grow, nobody asks for offsets. */
static void end_block(replay *r)
{
    const ipt_block *const b = &r->block;
    const int32_t length = (int32_t) (b->end_ip - b->ip);
    fields f = {{FLOW}, 1};
    if (!r->blocks) return;
    put(&f, &r->blocks, sizeof r->blocks);
    put(&f, &b->ip, sizeof b->ip);
    put(&f, &length, sizeof length);
    put(&f, &b->count, sizeof b->count);
    put(&f, &b->flags, sizeof b->flags);
    put(&f, &b->kind, 1);
    put(&f, &b->last_size, 1);
    put(&f, &b->mode, 1);
    if (!r->stays) put(&f, &b->offset, sizeof b->offset);
    keep(r, f.bytes, f.used);
    r->blocks = 0;
}

static void get_block(const replay *r, const char **at, uint16_t *blocks,
                      ipt_block *b)
{
    int32_t length;
    memset(b, 0, sizeof *b);
    get(at, blocks, sizeof *blocks);
    get(at, &b->ip, sizeof b->ip);
    get(at, &length, sizeof length);
    b->end_ip = b->ip + (uint64_t) (int64_t) length;
    get(at, &b->count, sizeof b->count);
    get(at, &b->flags, sizeof b->flags);
    get(at, &b->kind, 1);
    get(at, &b->last_size, 1);
    get(at, &b->mode, 1);
    if (!r->stays) get(at, &b->offset, sizeof b->offset);
}

/* Something is about to be said. 0: it is not. */
static int begin(replay *r)
{
    if (r->session->threads.muted) return 0;
    if (r->skip) {
        r->skip--;
        return 0;
    }
    if (r->used >= r->full) {
        if (slices_write(&r->slices, r->bytes, r->used)) r->used = 0;
        r->full = r->used + PIECE;
    }
    r->session->stop |= r->failed;
    return 1;
}

/* timed: the time that it is counts, too. */
static void keep_who(replay *r, const threads_who *who, int timed)
{
    if (is_same(who, &r->said) && (!timed || who->tsc == r->said.tsc)) return;
    keep_kind(r, WHO);
    keep(r, who, sizeof *who);
    r->said = *who;
}

static int is_direct(const ipt_block *b)
{
    return b->kind == IPT_INSN_JCC || b->kind == IPT_INSN_JMP;
}

/* A block that is not one with those before. Where blocks add up, nobody asks for
 * their time. */
static __attribute__((noinline)) void
say_block(replay *r, session_task *task, const threads_who *who,
          const ipt_block *b)
{
    session *const s = r->session;
    end_block(r);
    if (!begin(r)) return;
    keep_who(r, who, !r->stays);
    r->block = *b;
    r->blocks = 1;
    r->task = task;
    r->changes = s->changes;
    r->grows = r->stays && is_direct(b)
            && !pids_find(&s->replaced, who->pid)
            && !pids_find(&s->replaced, SPACES_KERNEL)
            && r->stays(s, task, who, b, &r->first, &r->last)
            && b->ip >= r->first && b->end_ip <= r->last;
}

static void say_flow(session *s, session_task *task, const threads_who *who,
                     const ipt_block *b)
{
    replay *const r = replay_of(s);
    if (r->blocks && r->grows && r->task == task && b->ip >= r->first
        && b->end_ip <= r->last && r->changes == s->changes
        && r->block.count + b->count <= UINT16_MAX && is_same(who, &r->said)) {
        r->block.count = (uint16_t) (r->block.count + b->count);
        r->block.offset = b->offset;
        r->block.end_ip = b->end_ip;
        r->block.kind = b->kind;
        r->block.last_size = b->last_size;
        r->block.mode = b->mode;
        r->blocks++;
        r->grows = (uint8_t) is_direct(b);
    } else {
        say_block(r, task, who, b);
    }
}

/* What is no flow, of so many bytes. */
static void say(replay *r, const threads_who *who, uint8_t kind,
                const void *bytes, size_t size)
{
    end_block(r);
    if (!begin(r)) return;
    keep_who(r, who, !r->stays || kind != DATE);
    keep_kind(r, kind);
    keep(r, bytes, size);
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
    const uint8_t is_own = own != 0;
    fields f = {{0}, 0};
    (void) task;
    put(&f, date, sizeof *date);
    put(&f, &is_own, 1);
    say(replay_of(s), who, DATE, f.bytes, f.used);
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
    r->used = 0;
    r->full = PIECE;
    r->blocks = 0;
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
    slices_write(&r->slices, r->bytes, r->used);
}

/* ---- in the first one ---- */

/* Returns what comes after it; NULL without memory. */
static const char *say_one(replay *r, const char *at)
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
    uint8_t own;
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
        get_block(r, &at, &blocks, &u.block);
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
        get(&at, &u.date, sizeof u.date);
        get(&at, &own, 1);
        c->date(s, task, &r->who, &u.date, own);
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
