/* hot.c: functions of [hot] do what hot.h claims of them, and ipt_hot_... keep
 * its invariant.
 *
 * SPDX-License-Identifier: MIT
 */
#include "hot.h"

void prove_hot_init(void) /* unwind 7, sizes 426 */
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

/* A head is looked for, or made. */
void prove_hot_head(void) /* slow, unwind 6 */
{
    const ipt_hot_tag tag = nondet_tag();
    const int how = nondet_u8() % 3;
    const ipt_hot_head *head;
    uint32_t at = 0;
    uint32_t j;
    int what = how == IPTI_HOT_LOOK ? NONE : REFUSED;

    any_hot();
    save();
    head = ipti_hot_head(&hot, &tag, how);
    CHECK(is_hot());
    go_back();
    for (j = 0; j < HEADS; j++) {
        choice.heads[j].count = got.heads[j].count;
        if (head == &heads[j]) {
            at = j;
            what = has_tag(j, &tag) ? FOUND : MADE;
        }
    }
    CHECK(!head || head == &heads[at]);
    CHECK(may_head(&tag, how, at, what));
    CHECK(do_head(&tag, at, what) == head);
    check_model();
    REACH(what == FOUND && at == 1 && head->trace_);
    REACH(what == MADE && at == 1 && hot.dying_ > was.hot.dying_);
    REACH(what == REFUSED);
}

/* A recording is dropped. */
void prove_hot_stop(void) /* unwind 6, given ipti_hot_head */
{
    any_hot();
    save();
    ipti_hot_stop(&hot, nondet_int());
    CHECK(is_hot());
    CHECK(!hot.recorded_);
    CHECK(is_kept(&was.hot));
    CHECK(hot.kept == was.hot.kept);
    REACH(was.hot.recorded_ && called && hot.dying_);
    if (was.hot.recorded_)
        check_change();
    else
        CHECK(is_unchanged());
}

/* config.deleted is called, holes are closed. */
void prove_hot_tell(void) /* unwind 6,
    unwindset ipti_hot_tell.0:2,ipti_hot_tell.1:2 */
{
    uint32_t k;

    any_hot();
    __CPROVER_assume(hot.busy_ || is_open());
    save();
    ipti_hot_tell(&hot);
    if (was.hot.busy_ || !was.hot.dying_)
        CHECK(is_unchanged());
    else
        CHECK(claim_tell(&was.hot));
    for (k = 0; k < BLOCKS; k++)
        CHECK(k >= hot.room_ || blocks[k].ip == was.ips[k]);
    REACH(was.hot.busy_ && hot.dying_);
    REACH(called && !hot.kept && hot.pool_end_ < was.hot.pool_end_);
}

/* A recording is complete. */
void prove_hot_finish(void) /* slow, unwind 6,
    unwindset ipti_hot_finish.0:2,ipti_hot_weakest.0:2,
    given ipti_hot_head ipti_hot_tell */
{
    any_hot();
    __CPROVER_assume(is_rest() && hot.recorded_);
    save();
    ipti_hot_finish(&hot);
    CHECK(claim_finish(&was.hot));
    REACH(was.hot.kept == 1 && hot.kept == 1);
    REACH(!was.hot.kept && hot.kept == 1 && hot.pool_end_ == 4);
    REACH(!hot.kept);
}

/* A block is added to the recording. */
void prove_hot_record(void) /* slow, unwind 6, given ipti_hot_head
    ipti_hot_tell ipti_hot_finish */
{
    const ipt_block block = nondet_block();
    int recorded;

    any_hot();
    __CPROVER_assume(is_rest() && hot.recorded_);
    save();
    recorded = ipti_hot_record(&hot, &block, nondet_u8() & 1);
    CHECK(claim_record(&was.hot, recorded));
    REACH(recorded && hot.recorded_ == 2);
    REACH(!recorded && hot.dying_);
    REACH(recorded && hot.kept < was.hot.kept);
}

/* ---- what a caller calls, from outside of callbacks ---- */

/* A block is fed. Where flow does not go on in its trace, or in the one linked
 * to it, ipti_hot_move sees to it. */
int given_ipti_hot_move(ipt_hot *h, const ipt_block *block,
                        const ipt_asid *asid)
{
    (void) asid;
    CHECK(h == &hot);
    CHECK(__CPROVER_r_ok(block, sizeof(*block)));
    CHECK(is_rest());
    any_tables();
    __CPROVER_assume(is_rest());
    return IPT_OK;
}

void prove_hot_move(void) /* slow, unwind 6, given ipti_hot_head ipti_hot_tell
    ipti_hot_stop ipti_hot_record */
{
    const ipt_block block = nondet_block();
    const ipt_asid asid = nondet_asid();
    int status;

    any_hot();
    __CPROVER_assume(is_rest());
    save();
    status = ipti_hot_move(&hot, &block, nondet_u8() ? &asid : NULL);
    CHECK(status == IPT_OK);
    CHECK(is_rest());
    REACH(was.hot.inside_ && hot.inside_ && traces[was.hot.inside_ - 1].link_);
    REACH(!was.hot.recorded_ && hot.recorded_);
    REACH(was.hot.recorded_ == 1 && hot.recorded_ == 2);
    REACH(hot.kept < was.hot.kept);
}

/* What was called keeps the invariant. In a callback it does nothing. */
static void check_outside(int status)
{
    if (was.hot.busy_) {
        CHECK(status == IPT_ERR_STATE);
        CHECK(is_unchanged());
        return;
    }
    CHECK(status == IPT_OK);
    CHECK(is_rest());
}

void prove_hot_feed(void) /* unwind 6, given ipti_hot_move */
{
    const ipt_block block = nondet_block();
    const ipt_asid asid = nondet_asid();

    any_hot();
    __CPROVER_assume(hot.busy_ || is_rest());
    save();
    check_outside(ipt_hot_feed(&hot, &block, &asid));
    REACH(!was.hot.busy_ && was.hot.left_ && hot.left_ == was.hot.left_ - 1);
    REACH(!was.hot.busy_ && hot.inside_ && !was.hot.left_ && hot.left_);
}

void prove_hot_break(void) /* unwind 6, given ipti_hot_stop ipti_hot_tell */
{
    any_hot();
    __CPROVER_assume(hot.busy_ || is_rest());
    save();
    check_outside(ipt_hot_break(&hot));
    REACH(!was.hot.busy_ && was.hot.recorded_ && hot.kept < was.hot.kept);
}

/* ---- what callbacks may call, too ---- */

/* What was called keeps the invariant. In a callback it did no more than the
 * proofs let a callback do. */
static void check_call(void)
{
    if (!was.hot.busy_) {
        CHECK(is_rest());
        return;
    }
    CHECK(is_hot());
    check_change();
}

void prove_hot_mark(void) /* unwind 6, given ipti_hot_head ipti_hot_tell */
{
    const ipt_hot_tag tag = nondet_tag();

    any_hot();
    __CPROVER_assume(hot.busy_ || is_rest());
    save();
    CHECK(ipt_hot_mark_head(&hot, &tag) == IPT_OK);
    check_call();
    REACH(was.hot.busy_ && hot.dying_ > was.hot.dying_);
    REACH(!was.hot.busy_ && hot.kept < was.hot.kept);
}

void prove_hot_delete(void) /* unwind 6, given ipti_hot_head ipti_hot_stop
    ipti_hot_tell */
{
    const ipt_hot_tag tag = nondet_tag();
    int status;

    any_hot();
    __CPROVER_assume(hot.busy_ || is_rest());
    save();
    status = ipt_hot_delete(&hot, &tag);
    CHECK(status == 0 || status == 1);
    check_call();
    REACH(status && was.hot.busy_ && got.hot.dying_ == was.hot.dying_ + 1);
    REACH(status && was.hot.recorded_ && !hot.recorded_);
    REACH(status && !was.hot.busy_ && hot.kept < was.hot.kept);
}

void prove_hot_invalidate(void) /* slow, unwind 6,
    unwindset ipt_hot_invalidate.0:2,ipti_hot_touches.0:4,
    given ipti_hot_stop ipti_hot_tell */
{
    const ipt_asid asid = nondet_asid();
    int status;

    any_hot();
    __CPROVER_assume(hot.busy_ || is_rest());
    save();
    status = ipt_hot_invalidate(&hot, nondet_u8() ? &asid : NULL, nondet_u64(),
                                nondet_u64());
    CHECK(status == IPT_OK);
    check_call();
    REACH(was.hot.busy_ && got.hot.dying_ == was.hot.dying_ + 1);
    REACH(was.hot.recorded_ && !hot.recorded_);
    REACH(!was.hot.busy_ && hot.kept < was.hot.kept);
}
