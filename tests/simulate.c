/* simulate.c: executions at random, and what must hold of every decode of their
 * traces: simulate.h makes them, oracles.h checks. fuzz/simulate.c does the
 * same, driven by a fuzzer.
 *
 * make test tries a quarter. TEST_SEED and TEST_COUNT in the environment pick
 * others; a failure names its seed. */
#include "test.h"

static uint64_t seed_;
static int sim_fail(int line, const char *text);
#define FUZZ_FAIL(line, text) sim_fail(line, text)
#include "walk.h"
#include "oracles.h"

static int sim_fail(int line, const char *text)
{
    if (test_fail_("fuzz/fuzz.h or tests/oracles.h", line, text))
        printf("    replay: TEST_SEED=%llu TEST_COUNT=1\n",
               (unsigned long long) seed_);
    fflush(stdout);
    return 0;
}

/* `many` seeds from `from` on, unless the environment says others. */
static void try_seeds(uint64_t from, uint64_t many)
{
    const char *first = getenv("TEST_SEED");
    const char *count = getenv("TEST_COUNT");

    if (first)
        from = strtoull(first, NULL, 0);
    if (count)
        many = strtoull(count, NULL, 0);
    for (seed_ = from; seed_ < from + many && test_.bad < 20; seed_++) {
        choice.seed = (seed_ + 1) * 0x9e3779b97f4a7c15u;
        sim_all();
    }
}

TEST(executions)
{
    try_seeds(0, test_full() ? 6000 : 1500);
    if (!getenv("TEST_COUNT"))
        CHECK_EQ(reached_report(stdout), 0);
}

/* Traces of which little is as it was. 1071914: flow was stepped over where the
 * fast path of [cov] took it up. */
TEST(much_changed)
{
    sim_heavy = 1;
    try_seeds(1000000, test_full() ? 3000 : 750);
    try_seeds(1071914, 1);
    sim_heavy = 0;
}

/* A packet that binds to nothing stands inside of what hardware says with
 * several: it changes nothing. */
TEST(between_packets_of_a_compound)
{
    const uint64_t least = test_full() ? 20 : 7;

    sim_between_on = 1;
    try_seeds(2000000, test_full() ? 3000 : 1200);
    try_seeds(2855, 1); /* five events between a JCC and its abort's branch */
    try_seeds(27610, 1); /* NLIP: the next IP wraps at 4 GiB */
    try_seeds(111384, 1); /* a TSC right after a CYC, in the short way */
    try_seeds(65150, 1); /* five events, one of them a TICK */
    sim_between_on = 0;
    if (getenv("TEST_COUNT"))
        return;
    CHECK(between_report(stdout, 1) > 100);
    for (unsigned what = PART_NONE + 1; what < PARTS; what++)
        for (unsigned kind = 0; kind < BETWEENS; kind++)
            CHECK(between_sum(what, kind) > least);
}

/* What TIP and FUP prove is given, and only that. */
TEST(without_tnt)
{
    sim_no_tnt_on = 1;
    try_seeds(3000000, test_full() ? 3000 : 500);
    sim_no_tnt_on = 0;
    if (!getenv("TEST_COUNT"))
        CHECK(sim_proofs > 5000);
}

int main(void)
{
    RUN_BOTH(executions);
    RUN_BOTH(without_tnt);
    RUN_BOTH(between_packets_of_a_compound);
    RUN_BOTH(much_changed);
    return test_report();
}
