/* cov.c: fuzz [cov]. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-cov fuzz/cov.c
 *     ./fuzz-cov corpus fuzz/corpus/cov fuzz/regress/cov
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-cov fuzz/cov.c
 * Replay: cc -g -I. -o fuzz-cov fuzz/cov.c fuzz/standalone.c
 *
 * fuzz.h says what an input is, cov.h what is checked. */
#include "tests/walk.h"
#include "cov.h"
#include "way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned counted = 1u << FUZZ_RUN_ALL;
    unsigned ways = 0;
    fuzz_case c;
    unsigned way;

    if (!fuzz_parse(&c, data, size))
        return 0;
    for (way = 0; way < FUZZ_RUN_COUNT; way++) {
        ways |= (unsigned) fuzz_draws(&fuzz_cov, &c, (int) way) << way;
        counted |= (unsigned) ((way + c.cut) % 3 == 0) << way;
    }
    cov_all(&c, ways, counted, 0);
    return 0;
}
