#!/bin/sh
# run.sh: fuzz target.c with libFuzzer, by the coverage that its trace gives,
# until the bug is found or RUNS are over; then without coverage, which does
# not find it in many times as many. QUICK=1: only what coverage says of four
# inputs.
#
# SPDX-License-Identifier: MIT

cd "$(dirname "$0")/../.." || exit 2
dir=${BUILD:-build}/afl
runs=${RUNS:-200000}
limits="-seed=1 -max_len=5 -len_control=0 -only_ascii=1 -timeout=10"
passed=0 failed=0

if ! command -v clang >/dev/null || [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "SKIP examples/afl: needs clang (package clang), Linux on x86-64"
    echo "0 passed, 0 failed, 1 skipped"
    exit
fi

# expect WHAT COMMAND...
expect() {
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        tail -n 20 "$dir/log"
    fi
}

# fuzz ARGUMENTS...: from a corpus of what QUICK says; the output is in the log.
fuzz() {
    rm -rf "$dir/corpus"
    mkdir -p "$dir/corpus"
    for text in $inputs; do
        printf '%s' "$text" >"$dir/corpus/$text"
    done
    # shellcheck disable=SC2086 # a list
    timeout 600 "$dir/fuzz" $limits -artifact_prefix="$dir/" "$@" \
        "$dir/corpus" >"$dir/log" 2>&1
}

is_found() { grep -q 'deadly signal' "$dir/log"; }
says() { grep -q "$1" "$dir/log"; }

mkdir -p "$dir"
clang -std=c99 -O1 -c -o "$dir/target.o" examples/afl/target.c &&
    clang -std=c99 -O1 -I. -c -o "$dir/fuzz.o" examples/afl/fuzz.c &&
    clang -fsanitize=fuzzer -o "$dir/fuzz" "$dir/fuzz.o" "$dir/target.o" ||
    exit 1

if [ -n "$QUICK" ]; then
    inputs="hello ptx ptx:: pt1: pt2: pt66:"
    fuzz -runs=0
    # pt1: and pt2: do the same
    expect "five ways through the target" says 'INITED.* corp: 5/'
    inputs="pt67:"
    fuzz -runs=0
    expect "the bug is there" is_found
else
    inputs="pt1:"
    fuzz -runs="$runs"
    expect "found by coverage" is_found
    grep -a '^#' "$dir/log" | tail -n 1
    sed -n 's/^Base64: /found, in base64: /p' "$dir/log"
    BLIND=1 fuzz -runs=$((10 * runs))
    expect "not found without" says "Done $((10 * runs)) runs"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
