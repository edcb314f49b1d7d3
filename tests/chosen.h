/* chosen.h: TEST_COUNT=n in the environment, for slow machines: of 1000 changed
 * inputs about n are tried, spread over all of them. In make test a quarter is,
 * in make test-full all. */
#ifndef IPT_CHOSEN_H
#define IPT_CHOSEN_H
#include "dice.h"
#include "test.h"

/* Is the next changed input one to try? */
static int chosen(void)
{
    static unsigned long per_1000 = 0;

    if (!per_1000) {
        const char *count = getenv("TEST_COUNT");
        per_1000 = count ? strtoul(count, NULL, 0) : test_full() ? 1000 : 250;
    }
    return dice(1000) < per_1000;
}
#endif /* IPT_CHOSEN_H */
