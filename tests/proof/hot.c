/* hot.c: parts of [hot], with tables of up to 4 heads, 2 traces and 6 blocks,
 * whatever these hold.
 *
 * The invariant stands once, in is_hot and is_rest; ipt_hot_init makes it.
 * Where a function calls another one, that is replaced by given_..., which does
 * whatever is claimed of it. hot_head proves what is claimed of ipti_hot_head.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

static void proof_move(void *to, const void *from, size_t size);
static void proof_set(void *to, int value, size_t size);
#define IPT_MEMMOVE proof_move
#define IPT_MEMCPY proof_move
#define IPT_MEMSET proof_set
#include "proof.h"

enum { HEADS = 4, TRACES = 2, BLOCKS = 6 };

ipt_hot nondet_hot(void);
ipt_hot_config nondet_hot_config(void);
ipt_hot_head nondet_head(void);
ipt_hot_trace nondet_trace(void);
ipt_hot_stats nondet_stats(void);
ipt_hot_tag nondet_tag(void);
ipt_block nondet_block(void);
ipt_asid nondet_asid(void);

static ipt_hot_head heads[HEADS];
static ipt_hot_trace traces[TRACES];
static ipt_block blocks[BLOCKS];
static ipt_hot_config config;
static ipt_hot hot;

/* memmove and memcpy of blocks, one by one; their models are by bytes. */
static void proof_move(void *to, const void *from, size_t size)
{
    const size_t n = size / sizeof(blocks[0]);
    const size_t t = (size_t) ((ipt_block *) to - config.blocks);
    const size_t f = (size_t) ((const ipt_block *) from - config.blocks);
    ipt_block copy[BLOCKS];
    size_t i;

    CHECK(size % sizeof(blocks[0]) == 0);
    CHECK(n <= config.block_count);
    CHECK(t <= config.block_count - n);
    CHECK(f <= config.block_count - n);
    for (i = 0; i < BLOCKS; i++)
        copy[i] = blocks[i];
    for (i = 0; i < BLOCKS; i++)
        if (i >= t && i - t < n)
            blocks[i] = copy[i - t + f];
}

/* memset, of heads one by one; its model is by bytes. */
static void proof_set(void *to, int value, size_t size)
{
    static const ipt_hot_head none = {0};
    const size_t n = size / sizeof(none);
    size_t i;

    if (value != 0 || to != (void *) config.heads) {
        memset(to, value, size);
        return;
    }
    CHECK(size % sizeof(none) == 0);
    CHECK(n <= config.head_count);
    for (i = 0; i < HEADS; i++)
        if (i < n)
            config.heads[i] = none;
}

/* ---- the invariant ---- */

/* What never changes after ipt_hot_init. */
static int is_made(void)
{
    return hot.config_ == &config && hot.magic_ == ipti_magic(sizeof(hot))
           && hot.mask_ < config.head_count
           && (hot.mask_ == 0 || hot.mask_ == 1 || hot.mask_ == 3)
           && hot.threshold_ && hot.room_
           && hot.room_ <= config.block_count / 2
           && hot.room_ <= hot.max_blocks_;
}

/* Trace i was deleted, or its blocks are in the pool, and it and its head know
 * each other. */
static int is_trace(uint32_t i)
{
    const ipt_hot_trace *trace = &traces[i];
    const ipt_hot_head *head = &heads[trace->head_ & 3];

    if (i >= hot.kept)
        return 1;
    if (trace->first < hot.room_ || trace->first > config.block_count)
        return 0;
    if (trace->count == 0)
        return 1;
    return trace->count <= config.block_count - trace->first
           && trace->head_ <= hot.mask_ && head->trace_ == i + 1 && head->used
           && ipti_hot_same(&head->tag, &trace->tag)
           && blocks[trace->first].ip == trace->tag.ip
           && !(hot.recorded_ && ipti_hot_same(&hot.tag_, &trace->tag));
}

/* So does head i, if it has a trace; no other head has its tag. */
static int is_head(uint32_t i)
{
    const ipt_hot_head *head = &heads[i];
    uint32_t j;

    if (i > hot.mask_)
        return 1;
    for (j = 0; j < i; j++)
        if (head->used && heads[j].used
            && ipti_hot_same(&head->tag, &heads[j].tag))
            return 0;
    return head->trace_ == 0
           || (head->used && head->trace_ <= hot.kept
               && traces[head->trace_ - 1].head_ == i
               && traces[head->trace_ - 1].count);
}

/* Flow is in a trace, or it is recorded, or neither. */
static int is_flow(void)
{
    const ipt_hot_trace *trace = &traces[hot.inside_ - 1];

    if (hot.recorded_)
        return hot.inside_ == 0 && hot.left_ == 0
               && hot.recorded_ <= hot.room_ && blocks[0].ip == hot.tag_.ip;
    if (!hot.inside_)
        return hot.left_ == 0;
    return hot.inside_ <= hot.kept && hot.left_ < trace->count
           && (!hot.left_
               || hot.next_
                  == &blocks[trace->first + trace->count - hot.left_]);
}

/* Traces that were deleted. */
static uint32_t dead(void)
{
    uint32_t n = 0;
    uint32_t i;

    for (i = 0; i < TRACES; i++)
        n += i < hot.kept && !traces[i].count;
    return n;
}

/* What holds in a callback, too: the pool is in the order of traces. */
static int is_hot(void)
{
    uint32_t end = 0;
    uint32_t i;
    int good = is_made() && hot.kept <= config.trace_count
               && hot.pool_end_ >= hot.room_
               && hot.pool_end_ <= config.block_count
               && hot.busy_ + (hot.recorded_ != 0) <= 2
               && hot.dying_ <= dead();

    for (i = 0; i < TRACES; i++) {
        good = good && is_trace(i);
        if (good && i < hot.kept && traces[i].count) {
            good = traces[i].first >= end;
            end = traces[i].first + traces[i].count;
        }
    }
    for (i = 0; i < HEADS; i++)
        good = good && is_head(i);
    return good && is_flow();
}

/* What holds outside of callbacks: config.deleted is still to be called for
 * each trace that was deleted; the pool ends after all others; links lead to
 * traces. */
static int is_open(void)
{
    uint32_t i;
    int good = is_hot() && !hot.busy_ && hot.dying_ == dead();

    for (i = 0; i < TRACES; i++)
        if (good && i < hot.kept && traces[i].count)
            good = traces[i].first + traces[i].count <= hot.pool_end_
                   && traces[i].link_ <= hot.kept;
    return good;
}

/* What holds between two calls: there are no holes. */
static int is_rest(void)
{
    uint32_t end = hot.room_;
    uint32_t i;
    int good = is_open() && !hot.dying_;

    for (i = 0; i < TRACES; i++)
        if (good && i < hot.kept) {
            good = traces[i].first == end;
            end = traces[i].first + traces[i].count;
        }
    return good && end == hot.pool_end_;
}

/* ---- any state of it ---- */

static void any_heads(void)
{
    uint32_t i;

    for (i = 0; i < HEADS; i++)
        heads[i] = nondet_head();
}

static void any_traces(void)
{
    uint32_t i;

    for (i = 0; i < TRACES; i++)
        traces[i] = nondet_trace();
}

static void any_blocks(void)
{
    uint32_t i;

    for (i = 0; i < BLOCKS; i++)
        blocks[i] = nondet_block();
}

/* ---- callbacks ---- */

/* What ipt_hot_mark_head, _delete and _invalidate may do in a callback, any
 * number of times: delete traces, end the recording, change heads. */
static void change(void)
{
    uint32_t i;

    for (i = 0; i < TRACES; i++)
        if (i < hot.kept && traces[i].count && nondet_u8()) {
            traces[i].count = 0;
            hot.dying_++;
            if (hot.inside_ == i + 1)
                hot.inside_ = hot.left_ = 0;
        }
    if (nondet_u8())
        hot.recorded_ = 0;
    any_heads();
    hot.stats = nondet_stats();
    __CPROVER_assume(is_hot());
}

static int called; /* a callback was */

static void call(void *context)
{
    CHECK(context == config.context);
    CHECK(hot.busy_);
    CHECK(is_hot());
    called = 1;
    change();
}

static int any_end(const ipt_hot_tag *tag, uint64_t next, void *context)
{
    (void) next;
    CHECK(tag == &hot.tag_);
    call(context);
    return nondet_int();
}

static int any_trace(const ipt_hot_tag *tag, const ipt_block *first,
                     uint32_t count, void *context)
{
    CHECK(tag == &hot.tag_);
    CHECK(first == config.blocks);
    CHECK(count == hot.recorded_);
    call(context);
    return nondet_int();
}

static void any_deleted(const ipt_hot_tag *tag, void *context)
{
    CHECK(__CPROVER_r_ok(tag, sizeof(*tag)));
    call(context);
}

static void any_aborted(const ipt_hot_tag *tag, void *context)
{
    CHECK(tag == &hot.tag_);
    call(context);
}

/* The caller's duty: tables have as many entries as their counts say. */
static void any_config(void)
{
    config = nondet_hot_config();
    config.heads = heads;
    config.traces = traces;
    config.blocks = blocks;
    config.end_trace = nondet_u8() ? any_end : NULL;
    config.trace = nondet_u8() ? any_trace : NULL;
    config.deleted = nondet_u8() ? any_deleted : NULL;
    config.aborted = nondet_u8() ? any_aborted : NULL;
    __CPROVER_assume(config.head_count >= 1 && config.head_count <= HEADS);
    __CPROVER_assume(config.trace_count >= 1 && config.trace_count <= TRACES);
    __CPROVER_assume(config.block_count >= 2 && config.block_count <= BLOCKS);
}

static void any_hot(void)
{
    any_config();
    hot = nondet_hot();
    hot.config_ = &config;
    any_heads();
    any_traces();
    any_blocks();
    __CPROVER_assume(is_hot());
}

/* ---- what is claimed of a function, for those that call it ---- */

/* Of ipti_hot_head: the head with that tag; nothing changes if there was one.
 * If it is made, another head may go, and its trace with it. */
static int claim_head(const ipt_hot_head *head, const ipt_hot_tag *tag)
{
    return head->used && ipti_hot_same(&head->tag, tag);
}

ipt_hot_head *given_ipti_hot_head(ipt_hot *h, const ipt_hot_tag *tag, int how)
{
    const uint32_t at = nondet_u8() & 3;
    ipt_hot_head *head = &heads[at];
    uint32_t i;

    CHECK(h == &hot);
    CHECK(is_hot());
    __CPROVER_assume(at <= hot.mask_);
    if (claim_head(head, tag))
        return head;
    for (i = 0; i < HEADS; i++)
        __CPROVER_assume(i > hot.mask_ || !claim_head(&heads[i], tag));
    if (how == IPTI_HOT_LOOK)
        return NULL;
    hot.stats = nondet_stats();
    if (how == IPTI_HOT_TRY && head->used && nondet_u8()) {
        head->count = nondet_u32();
        return NULL;
    }
    if (head->trace_)
        ipti_hot_doom(&hot, head->trace_ - 1, 1);
    head->tag = *tag;
    head->count = 0;
    head->trace_ = 0;
    head->used = 1;
    return head;
}

/* ---- proofs ---- */

void prove_hot_init(void) /* unwind 7 */
{
    int status;

    any_config();
    any_heads();
    status = ipt_hot_init(&hot, &config);
    CHECK(status == IPT_OK);
    CHECK(is_rest());
    REACH(hot.mask_ == 3);
    REACH(hot.mask_ == 1 && config.head_count == 3);
    REACH(hot.room_ == 3 && config.max_blocks == IPT_HOT_NO_LIMIT);
    REACH(hot.room_ == 1 && config.block_count == 6);
}

/* A head is looked for, or made. Of the others, head h and trace t, whichever,
 * are looked at: nothing changes if there was a head or none is made, and no
 * trace goes but that of a head that loses its place. */
void prove_hot_head(void) /* slow, unwind 7 */
{
    const ipt_hot_tag tag = nondet_tag();
    const int how = nondet_u8() % 3;
    const uint32_t h = nondet_u8() % HEADS;
    const uint32_t t = nondet_u8() % TRACES;
    ipt_hot_head head_was;
    ipt_hot_trace trace_was;
    int was = 0;
    uint8_t recorded;
    uint8_t busy;
    const ipt_hot_head *head;
    uint32_t kept;
    uint32_t died;
    uint32_t i;

    any_hot();
    recorded = (uint8_t) hot.recorded_;
    busy = hot.busy_;
    kept = hot.kept;
    died = dead() - hot.dying_;
    head_was = heads[h];
    trace_was = traces[t];
    for (i = 0; i < HEADS; i++)
        was |= i <= hot.mask_ && claim_head(&heads[i], &tag);
    head = ipti_hot_head(&hot, &tag, how);
    CHECK(head || how != IPTI_HOT_FORCE);
    CHECK(is_hot());
    CHECK(!head || (head >= heads && head <= heads + hot.mask_));
    CHECK(!head || claim_head(head, &tag));
    CHECK(hot.recorded_ == recorded);
    CHECK(hot.busy_ == busy);
    CHECK(hot.kept == kept);
    CHECK(died == dead() - hot.dying_);
    CHECK(!was || head);
    if (was || how == IPTI_HOT_LOOK) {
        CHECK(heads[h].used == head_was.used);
        CHECK(heads[h].trace_ == head_was.trace_);
        CHECK(heads[h].count == head_was.count);
        CHECK(ipti_hot_same(&heads[h].tag, &head_was.tag));
        CHECK(traces[t].count == trace_was.count);
    }
    CHECK(traces[t].first == trace_was.first);
    CHECK(traces[t].count == trace_was.count || traces[t].count == 0);
    CHECK(t >= kept || traces[t].count == trace_was.count
          || head == &heads[trace_was.head_]);
    for (i = 0; i < HEADS; i++)
        CHECK(head || i > hot.mask_ || !claim_head(&heads[i], &tag));
    REACH(head == heads + 3 && head->trace_);
    REACH(head == heads + 3 && how == IPTI_HOT_FORCE && died < dead());
    REACH(!head && how == IPTI_HOT_TRY);
}

/* A recording is dropped. */
void prove_hot_stop(void) /* slow, unwind 7, given ipti_hot_head */
{
    uint32_t kept;
    uint32_t recorded;

    any_hot();
    kept = hot.kept;
    recorded = hot.recorded_;
    ipti_hot_stop(&hot, nondet_int());
    CHECK(is_hot());
    CHECK(!hot.recorded_);
    CHECK(hot.kept == kept);
    REACH(recorded && called && hot.dying_ == 2);
}
