/* simulate.c: executions at random, and what must hold of every decode of their
 * traces: simulate.h makes them, oracles.h checks. fuzz/simulate.c does the
 * same, driven by a fuzzer.
 *
 * TEST_SEED and TEST_COUNT in the environment pick others; a failure names its
 * seed. */
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

TEST(executions)
{
    const char *first = getenv("TEST_SEED");
    const char *count = getenv("TEST_COUNT");
    const uint64_t from = first ? strtoull(first, NULL, 0) : 0;
    const uint64_t many = count ? strtoull(count, NULL, 0) : 6000;

    for (seed_ = from; seed_ < from + many && test_.bad < 20; seed_++) {
        choice.seed = (seed_ + 1) * 0x9e3779b97f4a7c15u;
        sim_all();
    }
    if (!count)
        CHECK_EQ(reached_report(stdout), 0);
}

int main(void)
{
    RUN(executions);
    return test_report();
}
