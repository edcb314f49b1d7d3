/* blk.c: fuzz [blk]. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-blk fuzz/blk.c
 *     ./fuzz-blk corpus fuzz/corpus/blk fuzz/regress/blk
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-blk fuzz/blk.c
 * Replay: cc -g -I. -o fuzz-blk fuzz/blk.c fuzz/standalone.c
 *
 * fuzz.h says what an input is and what is checked. */
#include "tests/walk.h"
#include "fuzz.h"
#include "way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_input(&fuzz_blk, data, size);
}
