#!/bin/bash -eu
# Builds each harness of fuzz/ with its corpus. OSS-Fuzz calls it in the source
# with CC, CFLAGS, LIB_FUZZING_ENGINE and OUT; FUZZERS="pkt evt": only these.
# The one of symbols is left out: libelf, which it needs, is not part of what runs
# there.

$CC $CFLAGS -std=c99 -I. -c examples/tools/common/flow/ipt.c -o "$OUT/ipt.o"
for harness in $(grep -l LLVMFuzzerTestOneInput fuzz/*.c); do
    name=$(basename "$harness" .c)
    case $name in standalone | seed | symbols) continue ;; esac
    [[ " ${FUZZERS:-$name} " == *" $name "* ]] || continue
    $CC $CFLAGS -std=c99 -I. -DIPT_LINKED "$harness" "$OUT/ipt.o" \
        $LIB_FUZZING_ENGINE -o "$OUT/$name"
    mkdir "$OUT/corpus.$name"
    find "fuzz/corpus/$name" "fuzz/regress/$name" -type f \
        -exec cp {} "$OUT/corpus.$name" \; 2>/dev/null || true
    (cd "$OUT/corpus.$name" && zip -q -r "../${name}_seed_corpus.zip" .)
    rm -r "$OUT/corpus.$name"
done
rm "$OUT/ipt.o"
