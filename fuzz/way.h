/* way.h: for harnesses. A fuzzer calls LLVMFuzzerInitialize before the first
 * input, standalone.c does not: so each input draws one way by its byte
 * FUZZ_AT_WAY while fuzzing, and takes all of them when it is replayed, or with
 * FUZZ_ALL_WAYS in the environment. At the end the draws, the decodes and the
 * time of the processor are printed as libFuzzer prints its statistics. */
#ifndef IPT_FUZZ_WAY_H
#define IPT_FUZZ_WAY_H
#include "fuzz.h"
#include <time.h>

static void fuzz_print_ways(void)
{
    static const char *const names[FUZZ_RUN_COUNT + 1]
        = {"pieces", "feed", "fuel", "clone", "cache",
           "lazy",   "quiet", "all", "layer"};
    int way;

    for (way = 0; way <= FUZZ_RUN_COUNT; way++)
        if (fuzz_drawn[way])
            fprintf(stderr, "stat::way_%s: %lu\n", names[way],
                    fuzz_drawn[way]);
    fprintf(stderr, "stat::decodes: %lu\nstat::cpu_milliseconds: %lu\n",
            fuzz_decodes, (unsigned long) (clock() / (CLOCKS_PER_SEC / 1000)));
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc, (void) argv;
    fuzz_drawing = !getenv("FUZZ_ALL_WAYS");
    return atexit(fuzz_print_ways);
}

#endif /* IPT_FUZZ_WAY_H */
