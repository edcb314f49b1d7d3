/* walk.c: parts of a step of [walk]: the TNT bits at hand, the stack of calls,
 * what comes next, and the search for endless loops.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_calls_ nondet_calls(void);
ipt_next_ nondet_next(void);
ipt_loop_ nondet_loop(void);

/* TNT bits, as many as a packet can have and more, are taken one by one, the
 * oldest first; what is left is as it was. Bits that do not count are none. */
void prove_walk_tnt(void)
{
    const unsigned count = nondet_u8();
    const uint64_t bits = nondet_u64();
    const unsigned before = nondet_u8();
    ipt_next_ next = nondet_next();
    uint64_t tnt;

    __CPROVER_assume(is_tnt(count) && before <= count);
    tnt = ipti_tnt_hold(bits, count);
    CHECK((tnt == IPTI_TNT_NONE) == (count == 0));
    CHECK(ipti_tnt_held(tnt)
          == ((bits & (((uint64_t) 1 << count) - 1)) | (uint64_t) 1 << count));
    ipti_next_bits(&next, nondet_u64(), tnt << before);
    CHECK(ipti_next_tnt(&next) == (before < count));
    CHECK(ipti_next_two(&next) == (before + 1 < count));
    if (before < count) {
        CHECK(ipti_next_taken(&next)
              == (int) (bits >> (count - before - 1) & 1));
        ipti_next_take(&next);
        CHECK(next.tnt == tnt << (before + 1));
        CHECK(ipti_next_tnt(&next) == (before + 1 < count));
    }
    REACH(count == 63 && before == 62);
    REACH(count == 1 && before == 1);
}

/* What is at hand is there until it is dropped, and nothing else is. */
void prove_walk_next(void)
{
    const unsigned what = nondet_u8();
    const uint64_t ip = nondet_u64();
    const ipt_next_ was = nondet_next();
    ipt_next_ next = was;

    ipti_next_drop(&next, what);
    CHECK(!(what & IPTI_NEXT_TNT) || !ipti_next_tnt(&next));
    CHECK(what & IPTI_NEXT_TNT || next.tnt == was.tnt);
    CHECK(next.has_tip == (what & IPTI_NEXT_TIP ? 0 : was.has_tip));
    CHECK(next.has_event == (what & IPTI_NEXT_EVENT ? 0 : was.has_event));
    CHECK((what & IPTI_NEXT_ALL) != IPTI_NEXT_ALL || !ipti_next_any(&next));
    REACH(!ipti_next_any(&next) && what == 0);
    ipti_next_target(&next, nondet_u64(), ip);
    CHECK(ipti_next_flow(&next));
    CHECK(next.has_tip);
    CHECK(next.tip == ip);
    REACH(ipti_next_tnt(&next));
}

/* The event at hand binds in one of the ways of the table of [bind]. */
void prove_walk_bind(void)
{
    const unsigned taken = nondet_u8();
    const uint8_t kind = nondet_u8() & 31;
    ipt_next_ next = nondet_next();
    const ipt_bind_ *bind = &next.bind;

    __CPROVER_assume(is_event(&next.event));
    ipti_next_bind(&next);
    CHECK(next.has_event == 1);
    CHECK(bind->how <= IPTI_BIND_COUNT);
    CHECK((bind->once & (bind->once - 1)) == 0);
    CHECK(bind->how == IPTI_BIND_HERE || bind->how == IPTI_BIND_AT
          || bind->how == IPTI_BIND_COUNT || bind->kinds);
    CHECK(bind->how != IPTI_BIND_COUNT || (!bind->kinds && !bind->once));
    CHECK(bind->how != IPTI_BIND_AFTER || bind->once);
    CHECK(bind->how != IPTI_BIND_CAUSED || bind->once);
    CHECK(bind->how != IPTI_BIND_BEFORE || !bind->once);
    CHECK(bind->how == IPTI_BIND_COUNT || bind->count == 0);
    if (ipti_bind_of(bind, kind, taken)) {
        CHECK(bind->kinds >> kind & 1);
        CHECK(bind->once & ~taken);
    }
    REACH(bind->how == IPTI_BIND_AFTER);
    REACH(bind->how == IPTI_BIND_BEFORE);
    REACH(bind->how == IPTI_BIND_COUNT && bind->count);
    REACH(ipti_bind_of(bind, kind, taken) && bind->how == IPTI_BIND_AT);
}

/* A stack of calls, full or not: what was pushed last is popped first, and no
 * frame but the oldest is overwritten. */
void prove_walk_calls(void)
{
    const uint64_t ip = nondet_u64();
    const unsigned more = nondet_u8();
    const unsigned down = nondet_u8(); /* a frame, counted from the top */
    const ipt_calls_ was = nondet_calls();
    ipt_calls_ calls = was;
    uint64_t popped = 0;
    unsigned at;

    __CPROVER_assume(is_calls(&was));
    __CPROVER_assume(down < IPT_RETURN_STACK_ - 1u && down < was.count);
    at = (was.top + 2u * IPT_RETURN_STACK_ - 1 - down) % IPT_RETURN_STACK_;
    ipti_calls_push(&calls, ip);
    CHECK(is_calls(&calls));
    CHECK(calls.count == was.count + (was.count < IPT_RETURN_STACK_));
    CHECK(calls.ip[at] == was.ip[at]);
    CHECK(ipti_calls_pop(&calls, &popped));
    CHECK(popped == ip);
    CHECK(calls.top == was.top);
    CHECK(ipti_calls_pop(&calls, &popped));
    CHECK(popped == was.ip[(was.top + IPT_RETURN_STACK_ - 1u)
                           % IPT_RETURN_STACK_]);
    __CPROVER_assume(more <= IPT_RETURN_STACK_);
    ipti_calls_keep(&calls, more);
    CHECK(calls.count + more <= IPT_RETURN_STACK_ || calls.count == 0);
    CHECK(calls.count <= was.count);
    REACH(was.count == IPT_RETURN_STACK_ && was.top == 0);
    CHECK(is_calls(&calls));
    ipti_calls_clear(&calls, 0);
    CHECK(!ipti_calls_pop(&calls, &popped));
    CHECK(is_calls(&calls));
}

/* A branch of a path without trace keeps the state of the search, or ends it;
 * an address that was passed is found. */
void prove_walk_loop(void)
{
    const int ends = nondet_u8() & 1;
    const uint64_t target = nondet_u64();
    const ipt_loop_ was = nondet_loop();
    ipt_loop_ loop = was;

    __CPROVER_assume(is_loop(&was));
    ipti_loop_branch(&loop, target, ends);
    CHECK(ipti_loop_stuck(&loop) || is_loop(&loop));
    CHECK(ends || !was.limit || target != was.ip || ipti_loop_stuck(&loop));
    CHECK(!ends || loop.limit == 0);
    CHECK(loop.total > was.total);
    REACH(loop.limit == 2 * was.limit && was.limit);
    REACH(ipti_loop_stuck(&loop) && loop.total == IPTI_PATH_MAX);
    ipti_loop_end(&loop);
    CHECK(is_loop(&loop));
    CHECK(!ipti_loop_stuck(&loop));
    loop = was;
    loop.total++; /* a run without a branch */
    CHECK(ipti_loop_stuck(&loop) || is_loop(&loop));
}
