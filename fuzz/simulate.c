/* simulate.c: fuzz executions. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-simulate fuzz/simulate.c
 *     ./fuzz-simulate corpus fuzz/corpus/simulate fuzz/regress/simulate
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-simulate \
 *            fuzz/simulate.c
 * Replay: cc -g -I. -o fuzz-simulate fuzz/simulate.c fuzz/standalone.c
 *
 * An input is the choices that tests/simulate.h makes: the program, what
 * happens to it, the packets that are changed, the flags and the ways to
 * decode. Where it ends, a generator that begins with all of its bytes goes on.
 * tests/oracles.h says what is checked. With FUZZ_REACHED in the environment it
 * prints at the end what was reached. */
#include "tests/walk.h"
#include "fuzz.h"
#include "tests/oracles.h"

static void print_reached(void)
{
    (void) reached_report(stderr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;

    if (!begun && getenv("FUZZ_REACHED"))
        (void) atexit(print_reached);
    begun = 1;
    choice.bytes = data;
    choice.left = size;
    choice.seed = fuzz_hash(data, size);
    sim_all();
    return 0;
}
