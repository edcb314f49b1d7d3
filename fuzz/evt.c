/* evt.c: fuzz [evt]. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-evt fuzz/evt.c
 *     ./fuzz-evt corpus fuzz/corpus/evt fuzz/regress/evt
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-evt fuzz/evt.c
 * Replay: cc -g -I. -o fuzz-evt fuzz/evt.c fuzz/standalone.c
 *
 * fuzz.h says what an input is and what is checked. */
#include "fuzz.h"
#include "way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_input(&fuzz_evt, data, size);
}
