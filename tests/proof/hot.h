/* hot.h: [hot] as the proofs see it: tables of up to HEADS heads, TRACES traces
 * and BLOCKS blocks, whatever these hold. A harness may say how many: its
 * `sizes` are these three digits.
 *
 * The invariant stands here once, in is_hot and is_rest. So does what is
 * claimed of a function, as do_...: a model of it, which may do whatever is
 * claimed. Its harness lets the function and the model go from one state, and
 * shows that the model can do what the function did; other harnesses call
 * given_..., which lets the model choose.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOT_H
#define HOT_H

#include <stddef.h>

static void proof_move(void *to, const void *from, size_t size);
static void proof_set(void *to, int value, size_t size);
#define IPT_MEMMOVE proof_move
#define IPT_MEMCPY proof_move
#define IPT_MEMSET proof_set
#include "proof.h"

#ifndef SIZES
#define SIZES 214
#endif
enum { HEADS = SIZES / 100, TRACES = SIZES / 10 % 10, BLOCKS = SIZES % 10 };

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

/* The index of that block, BLOCKS + 1 if it is none: no division. */
static uint32_t block_at(const void *block)
{
    uint32_t k;
    uint32_t at = BLOCKS + 1;

    for (k = 0; k <= BLOCKS; k++)
        if (block == (const void *) (blocks + k))
            at = k;
    return at;
}

/* memmove and memcpy of blocks, one by one; their models are by bytes. Only the
 * addresses of blocks are looked at, so all else of them may be anything. */
static void proof_move(void *to, const void *from, size_t size)
{
    const uint32_t t = block_at(to);
    const uint32_t f = block_at(from);
    uint64_t ips[BLOCKS];
    uint32_t n = BLOCKS + 1;
    uint32_t i;

    for (i = 0; i <= BLOCKS; i++)
        if (size == i * sizeof(blocks[0]))
            n = i;
    CHECK(n <= config.block_count);
    CHECK(t <= config.block_count - n);
    CHECK(f <= config.block_count - n);
    for (i = 0; i < BLOCKS; i++)
        ips[i] = blocks[i].ip;
    for (i = 0; i < BLOCKS; i++)
        if (i >= t && i - t < n) {
            blocks[i] = nondet_block();
            blocks[i].ip = ips[(i - t + f) % BLOCKS];
        }
}

/* memset, of heads and traces one by one; its model is by bytes. */
static void proof_set(void *to, int value, size_t size)
{
    static const ipt_hot_head no_head = {0};
    static const ipt_hot_trace no_trace = {0};
    size_t i;

    CHECK(value == 0);
    if (to == (void *) &hot) {
        memset(to, value, size);
    } else if (size == sizeof(no_trace) && to != (void *) heads) {
        *(ipt_hot_trace *) to = no_trace;
    } else if (size == sizeof(no_head)) {
        *(ipt_hot_head *) to = no_head;
    } else {
        CHECK(to == (void *) heads);
        CHECK(size % sizeof(no_head) == 0);
        CHECK(size / sizeof(no_head) <= config.head_count);
        for (i = 0; i < HEADS; i++)
            if (i < size / sizeof(no_head))
                heads[i] = no_head;
    }
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

/* Is trace i there, not deleted? */
static int is_live(uint32_t i)
{
    return i < hot.kept && traces[i].count;
}

/* Trace i was deleted, or its blocks are in the pool, and it has a head. */
static int is_trace(uint32_t i)
{
    const ipt_hot_trace *trace = &traces[i];
    uint32_t k;
    int good = trace->first >= hot.room_ && trace->first <= config.block_count;

    if (i >= hot.kept)
        return 1;
    if (trace->count == 0)
        return good;
    for (k = 0; k < BLOCKS; k++)
        if (trace->first == k)
            good = good && blocks[k].ip == trace->tag.ip;
    return good && trace->count <= config.block_count - trace->first
           && trace->head_ <= hot.mask_
           && !(hot.recorded_ && ipti_hot_same(&hot.tag_, &trace->tag));
}

/* Trace i and head j know each other, and have one tag; or neither knows the
 * other one. */
static int is_pair(uint32_t i, uint32_t j)
{
    if (!is_live(i) || traces[i].head_ != j)
        return heads[j].trace_ != i + 1;
    return heads[j].trace_ == i + 1 && heads[j].used
           && ipti_hot_same(&heads[j].tag, &traces[i].tag);
}

/* The trace of head j is there, if it has one; no other head has its tag. */
static int is_head(uint32_t j)
{
    uint32_t i;
    int good = heads[j].trace_ <= hot.kept;

    if (j > hot.mask_)
        return 1;
    for (i = 0; i < TRACES; i++)
        good = good && is_pair(i, j);
    for (i = 0; i < j; i++)
        good = good && !(heads[i].used && heads[j].used
                         && ipti_hot_same(&heads[i].tag, &heads[j].tag));
    return good;
}

/* Flow is in trace i, and may go on in it. */
static int is_inside(uint32_t i)
{
    const uint32_t next = traces[i].first + traces[i].count - hot.left_;
    uint32_t k;
    int good = is_live(i) && hot.left_ < traces[i].count;

    for (k = 0; k < BLOCKS; k++)
        if (hot.left_ && next == k)
            good = good && hot.next_ == &blocks[k];
    return good;
}

/* Flow is in a trace, or it is recorded, or neither. */
static int is_flow(void)
{
    uint32_t i;
    int good = hot.inside_ <= hot.kept;

    if (hot.recorded_)
        return hot.inside_ == 0 && hot.left_ == 0
               && hot.recorded_ <= hot.room_ && blocks[0].ip == hot.tag_.ip;
    if (!hot.inside_)
        return hot.left_ == 0;
    for (i = 0; i < TRACES; i++)
        if (hot.inside_ == i + 1)
            good = good && is_inside(i);
    return good;
}

/* Traces that were deleted. */
static uint32_t dead(void)
{
    uint32_t n = 0;
    uint32_t i;

    for (i = 0; i < TRACES; i++)
        n += i < hot.kept && !is_live(i);
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
        if (is_live(i)) {
            good = good && traces[i].first >= end;
            end = traces[i].first + traces[i].count;
        }
    }
    for (i = 0; i < HEADS; i++)
        good = good && is_head(i);
    return good && is_flow();
}

/* Traces lie in the pool without holes. */
static int is_packed(void)
{
    uint32_t end = hot.room_;
    uint32_t i;
    int good = 1;

    for (i = 0; i < TRACES; i++)
        if (i < hot.kept) {
            good = good && traces[i].first == end;
            end += traces[i].count;
        }
    return good && end == hot.pool_end_;
}

/* What holds outside of callbacks: config.deleted is still to be called for
 * each trace that was deleted, and only these leave holes; the pool ends after
 * all others; links lead to traces. */
static int is_open(void)
{
    uint32_t i;
    int good = !hot.busy_ && hot.dying_ == dead()
               && (hot.dying_ || is_packed());

    for (i = 0; i < TRACES; i++)
        if (is_live(i))
            good = good && traces[i].first + traces[i].count <= hot.pool_end_
                   && traces[i].link_ <= hot.kept;
    return good && is_hot();
}

/* What holds between two calls: there are no holes. */
static int is_rest(void)
{
    return !hot.dying_ && is_open();
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

/* ---- what was before ---- */

static struct {
    ipt_hot hot;
    ipt_hot_head heads[HEADS];
    ipt_hot_trace traces[TRACES];
    uint64_t ips[BLOCKS];
} was, got;

static void save(void)
{
    uint32_t i;

    was.hot = hot;
    for (i = 0; i < HEADS; i++)
        was.heads[i] = heads[i];
    for (i = 0; i < TRACES; i++)
        was.traces[i] = traces[i];
    for (i = 0; i < BLOCKS; i++)
        was.ips[i] = blocks[i].ip;
}

/* Keep in `got` what is now, and go back to what was. */
static void go_back(void)
{
    uint32_t i;

    got.hot = hot;
    hot = was.hot;
    for (i = 0; i < HEADS; i++) {
        got.heads[i] = heads[i];
        heads[i] = was.heads[i];
    }
    for (i = 0; i < TRACES; i++) {
        got.traces[i] = traces[i];
        traces[i] = was.traces[i];
    }
}

static int is_same_head(const ipt_hot_head *a, const ipt_hot_head *b)
{
    return a->used == b->used && a->trace_ == b->trace_
           && a->count == b->count && ipti_hot_same(&a->tag, &b->tag);
}

static int is_same_trace(const ipt_hot_trace *a, const ipt_hot_trace *b)
{
    return a->first == b->first && a->count == b->count
           && a->head_ == b->head_ && a->link_ == b->link_
           && ipti_hot_same(&a->tag, &b->tag);
}

/* What only ipt_hot_feed changes did not. */
static int is_kept(const ipt_hot *a)
{
    return hot.config_ == a->config_ && hot.magic_ == a->magic_
           && hot.room_ == a->room_ && hot.mask_ == a->mask_
           && hot.max_blocks_ == a->max_blocks_
           && hot.threshold_ == a->threshold_ && hot.kind_ == a->kind_
           && hot.cut_off_ == a->cut_off_ && hot.busy_ == a->busy_
           && ipti_hot_same(&hot.now_, &a->now_)
           && ipti_hot_same(&hot.tag_, &a->tag_);
}

/* Nor did heads and traces, nor flow. */
static int is_unchanged(void)
{
    uint32_t i;
    int good = hot.kept == was.hot.kept && hot.dying_ == was.hot.dying_
               && hot.pool_end_ == was.hot.pool_end_
               && hot.recorded_ == was.hot.recorded_
               && hot.inside_ == was.hot.inside_ && hot.left_ == was.hot.left_
               && hot.next_ == was.hot.next_;

    for (i = 0; i < HEADS; i++)
        good = good && is_same_head(&heads[i], &was.heads[i]);
    for (i = 0; i < TRACES; i++)
        good = good && is_same_trace(&traces[i], &was.traces[i]);
    return good;
}

/* What the model did, from what was, is what was got. */
static void check_model(void)
{
    uint32_t i;

    CHECK(is_kept(&got.hot));
    CHECK(hot.kept == got.hot.kept);
    CHECK(hot.dying_ == got.hot.dying_);
    CHECK(hot.pool_end_ == got.hot.pool_end_);
    CHECK(hot.recorded_ == got.hot.recorded_);
    CHECK(hot.inside_ == got.hot.inside_);
    CHECK(hot.left_ == got.hot.left_);
    CHECK(hot.next_ == got.hot.next_);
    for (i = 0; i < HEADS; i++)
        CHECK(is_same_head(&heads[i], &got.heads[i]));
    for (i = 0; i < TRACES; i++)
        CHECK(is_same_trace(&traces[i], &got.traces[i]));
    for (i = 0; i < BLOCKS; i++)
        CHECK(blocks[i].ip == was.ips[i]);
}

/* ---- callbacks ---- */

static struct {
    ipt_hot_head heads[HEADS];
    uint8_t died[TRACES];
    uint8_t stopped;
} choice;

/* Trace i is deleted. */
static void do_doom(uint32_t i)
{
    traces[i].count = 0;
    hot.dying_++;
    if (hot.inside_ == i + 1)
        hot.inside_ = hot.left_ = 0;
}

/* What ipt_hot_mark_head, _delete and _invalidate may do in a callback, any
 * number of times: delete traces, end the recording, change heads. */
static void do_change(void)
{
    uint32_t i;

    for (i = 0; i < TRACES; i++)
        if (is_live(i) && choice.died[i])
            do_doom(i);
    if (choice.stopped)
        hot.recorded_ = 0;
    for (i = 0; i < HEADS; i++)
        heads[i] = choice.heads[i];
}

static void given_change(void)
{
    uint32_t i;

    for (i = 0; i < TRACES; i++)
        choice.died[i] = nondet_u8();
    for (i = 0; i < HEADS; i++)
        choice.heads[i] = nondet_head();
    choice.stopped = nondet_u8();
    do_change();
    hot.stats = nondet_stats();
    __CPROVER_assume(is_hot());
}

/* Of ipti_hot_stop: it does nothing else where there is a recording, and ends
 * that. */
void given_ipti_hot_stop(ipt_hot *h, int aborted)
{
    CHECK(h == &hot);
    CHECK(is_hot());
    (void) aborted;
    if (!hot.recorded_)
        return;
    given_change();
    __CPROVER_assume(!hot.recorded_);
}

/* What was got is such a change of what was. */
static void check_change(void)
{
    uint32_t i;

    go_back();
    for (i = 0; i < TRACES; i++)
        choice.died[i] = got.traces[i].count == 0;
    for (i = 0; i < HEADS; i++)
        choice.heads[i] = got.heads[i];
    choice.stopped = got.hot.recorded_ == 0;
    do_change();
    check_model();
}

static int called; /* a callback was */

static void call(void *context)
{
    CHECK(context == config.context);
    CHECK(hot.busy_);
    CHECK(is_hot());
    called = 1;
    given_change();
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

/* config.deleted or config.aborted. */
static void any_told(const ipt_hot_tag *tag, void *context)
{
    CHECK(__CPROVER_r_ok(tag, sizeof(*tag)));
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
    config.deleted = nondet_u8() ? any_told : NULL;
    config.aborted = nondet_u8() ? any_told : NULL;
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

enum { FOUND, NONE, REFUSED, MADE }; /* what became of a head */

static int has_tag(uint32_t i, const ipt_hot_tag *tag)
{
    return i <= hot.mask_ && heads[i].used
           && ipti_hot_same(&heads[i].tag, tag);
}

/* ipti_hot_head may do this with head `at`: there is one with that tag, or
 * not. */
static int may_head(const ipt_hot_tag *tag, int how, uint32_t at, int what)
{
    uint32_t i;
    int found = 0;
    int good = at <= hot.mask_;

    for (i = 0; i < HEADS; i++) {
        found |= has_tag(i, tag);
        if (what == FOUND && i == at)
            good = good && has_tag(i, tag);
    }
    if (what == FOUND)
        return good;
    return good && !found
           && (what == NONE ? how == IPTI_HOT_LOOK
               : what == REFUSED ? how == IPTI_HOT_TRY : how != IPTI_HOT_LOOK);
}

/* What it does then: nothing if there was one. A new one takes the place of
 * another one, whose trace goes with it. */
static ipt_hot_head *do_head(const ipt_hot_tag *tag, uint32_t at, int what)
{
    ipt_hot_head *head = heads;
    uint32_t i;
    uint32_t j;

    for (j = 0; j < HEADS; j++) {
        if (what == REFUSED)
            heads[j].count = choice.heads[j].count;
        if (j != at)
            continue;
        head = &heads[j];
        for (i = 0; i < TRACES; i++)
            if (what == MADE && heads[j].trace_ == i + 1)
                do_doom(i);
        if (what == MADE) {
            heads[j].tag = *tag;
            heads[j].count = heads[j].trace_ = 0;
            heads[j].used = 1;
        }
    }
    return what == FOUND || what == MADE ? head : NULL;
}

ipt_hot_head *given_ipti_hot_head(ipt_hot *h, const ipt_hot_tag *tag, int how)
{
    const uint32_t at = nondet_u8();
    const int what = nondet_u8();
    uint32_t j;

    CHECK(h == &hot);
    CHECK(is_hot());
    __CPROVER_assume(what <= MADE);
    __CPROVER_assume(may_head(tag, how, at, what));
    for (j = 0; j < HEADS; j++)
        choice.heads[j].count = nondet_u32();
    hot.stats = nondet_stats();
    return do_head(tag, at, what);
}

/* Of ipti_hot_tell, where `before` was the state: traces that were deleted are
 * gone. In a callback, or if there are none, nothing changes. */
static int claim_tell(const ipt_hot *before)
{
    return is_rest() && is_kept(before) && hot.kept < before->kept
           && (!hot.recorded_ || hot.recorded_ == before->recorded_)
           && (before->inside_ || !hot.inside_);
}

/* Any heads, traces, recording and flow. */
static void any_tables(void)
{
    any_heads();
    any_traces();
    any_blocks();
    hot.stats = nondet_stats();
    hot.kept = nondet_u32();
    hot.pool_end_ = nondet_u32();
    hot.dying_ = nondet_u32();
    hot.recorded_ = nondet_u32();
    hot.inside_ = nondet_u32();
    hot.left_ = nondet_u32();
    hot.next_ = &blocks[nondet_u8() % BLOCKS];
}

void given_ipti_hot_tell(ipt_hot *h)
{
    const ipt_hot before = hot;

    CHECK(h == &hot);
    CHECK(hot.busy_ ? is_hot() : is_open());
    if (hot.busy_ || !hot.dying_)
        return;
    any_tables();
    __CPROVER_assume(claim_tell(&before));
}

/* Of ipti_hot_finish: there is no recording any more. */
static int claim_finish(const ipt_hot *before)
{
    return is_open() && is_kept(before) && !hot.recorded_ && !hot.inside_;
}

void given_ipti_hot_finish(ipt_hot *h)
{
    const ipt_hot before = hot;

    CHECK(h == &hot);
    CHECK(is_rest());
    CHECK(hot.recorded_);
    any_tables();
    __CPROVER_assume(claim_finish(&before));
}

/* Of ipti_hot_record, where flow is in no trace, as it is after it: if the
 * recording goes on, no trace is left that was deleted. */
static int claim_record(const ipt_hot *before, int recorded)
{
    return is_open() && is_kept(before) && !hot.inside_
           && (hot.recorded_ ? recorded == 1 && !hot.dying_ : !recorded);
}

int given_ipti_hot_record(ipt_hot *h, const ipt_block *block, int reached)
{
    const ipt_hot before = hot;
    const int recorded = nondet_u8() & 1;

    (void) reached;
    CHECK(h == &hot);
    CHECK(__CPROVER_r_ok(block, sizeof(*block)));
    CHECK(is_rest());
    CHECK(hot.recorded_);
    any_tables();
    __CPROVER_assume(claim_record(&before, recorded));
    return recorded;
}

#endif
