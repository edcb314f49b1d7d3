/* test.h: the test harness. One program per file:
 *
 *     TEST(sum) { CHECK_EQ(1 + 1, 2); }
 *     int main(void) { RUN(sum); return test_report(); }
 *
 * A failed CHECK is printed and the test goes on, unless TEST_STOP=1 is in the
 * environment. TEST_ONLY=text there runs only tests whose name contains text;
 * TEST_VERBOSE=1 prints each name first; the last is the one that crashed.
 *
 * make test-full sets TEST_FULL=1. RUN_FULL(sum) runs a test only there,
 * RUN_BOTH(sum) there, too, where it looks at test_full() and does more. */
#ifndef IPT_TEST_H
#define IPT_TEST_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST(name) static void t_##name(void)
#define RUN(name) test_run_(#name, t_##name, 1)
#define RUN_FULL(name) test_run_(#name, t_##name, 2)
#define RUN_BOTH(name) test_run_(#name, t_##name, 3)
#define CHECK(expr) test_check_(!!(expr), __FILE__, __LINE__, #expr)
#define CHECK_EQ(got, want) test_equal_((uint64_t)(got), (uint64_t)(want), \
    __FILE__, __LINE__, #got " == " #want)
static struct {
    const char *name; /* of the running test, as are bad and skip */
    int bad, skip, passed, failed, skipped;
    int more; /* tests of make test-full */
} test_;

/* Count a failed check; 0: past twenty in a test they are not printed. */
static inline int test_fail_(const char *file, int line, const char *expr)
{
    if (++test_.bad > 20) return 0;
    printf("%s:%d: %s: CHECK failed: %s\n", file, line, test_.name, expr);
    return getenv("TEST_STOP") ? exit(1), 0 : 1;
}

static inline int test_check_(int ok, const char *file, int line, const char *e)
{
    if (!ok) test_fail_(file, line, e);
    return ok;
}

static inline int test_equal_(uint64_t got, uint64_t want, const char *file,
                              int line, const char *expr)
{
    if (got != want && test_fail_(file, line, expr))
        printf("    got  0x%llx (%lld)\n    want 0x%llx (%lld)\n",
               (unsigned long long)got, (long long)(int64_t)got,
               (unsigned long long)want, (long long)(int64_t)want);
    return got == want;
}

/* Mark the running test as skipped; why names the package that cures it. */
static inline void test_skip(const char *why)
{
    test_.skip = 1;
    printf("SKIP %s: %s\n", test_.name, why);
}

/* Is this make test-full? */
static inline int test_full(void)
{
    return getenv("TEST_FULL") && *getenv("TEST_FULL");
}

/* when: 1 in make test, 2 in make test-full, 3 in both. */
static inline void test_run_(const char *name, void (*body)(void), int when)
{
    if (getenv("TEST_ONLY") && !strstr(name, getenv("TEST_ONLY"))) return;
    test_.more += when > 1 && !test_full();
    if (!(when & (test_full() ? 2 : 1))) return;
    if (getenv("TEST_VERBOSE")) printf("run %s\n", name);
    fflush(stdout);
    test_.name = name;
    test_.bad = test_.skip = 0;
    body();
    if (test_.bad) printf("FAIL %s: %d failed checks\n", name, test_.bad);
    test_.failed += test_.bad != 0;
    test_.skipped += !test_.bad && test_.skip;
    test_.passed += !test_.bad && !test_.skip;
    fflush(stdout);
}

/* Print the total, the last line of every program; returns main's status. */
static inline int test_report(void)
{
    if (test_.more) printf("%d more in make test-full\n", test_.more);
    printf("%d passed, %d failed", test_.passed, test_.failed);
    if (test_.skipped) printf(", %d skipped", test_.skipped);
    printf("\n");
    return test_.failed != 0;
}
#endif /* IPT_TEST_H */
