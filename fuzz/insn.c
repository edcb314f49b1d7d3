/* insn.c: fuzz [insn]. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-insn fuzz/insn.c
 *     ./fuzz-insn corpus fuzz/corpus/insn fuzz/regress/insn
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-insn fuzz/insn.c
 * Replay: cc -g -I. -o fuzz-insn fuzz/insn.c fuzz/standalone.c
 *
 * fuzz.h says what an input is and what is checked. */
#include "tests/walk.h"
#include "fuzz.h"
#include "way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_input(&fuzz_insn, data, size);
}
