#!/bin/sh
# run.sh: fuzz target.c with libFuzzer, by the coverage that its trace gives,
# until the bug is found or RUNS are over; then without coverage, which does
# not find it in many times as many. ENGINE=afl: the same with AFL++. QUICK=1:
# only what coverage says of a few inputs.
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

# afl ARGUMENTS...: AFL++ until a crash.
afl() {
    rm -rf "$dir/found"
    mkdir -p "$dir/seeds"
    printf pt12: >"$dir/seeds/one"
    AFL_BENCH_UNTIL_CRASH=1 AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 \
        AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 timeout 900 afl-fuzz -D -s 1 \
        -i "$dir/seeds" -o "$dir/found" "$@" -- "$dir/afl" >"$dir/log" 2>&1
}

afl_says() { grep -q "^$1 *: $2\$" "$dir/found/default/fuzzer_stats"; }

is_found() { grep -q 'deadly signal' "$dir/log"; }
says() { grep -q "$1" "$dir/log"; }

mkdir -p "$dir"
echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
    clang -fsanitize=fuzzer -x c -o "$dir/empty" - >"$dir/log" 2>&1 || {
    echo "SKIP examples/afl: clang has no libFuzzer (package libclang-rt-dev)"
    echo "0 passed, 0 failed, 1 skipped"
    exit
}

# -no-pie: counters are chosen by address, so each run has to have the same.
clang -std=c99 -O1 -c -o "$dir/target.o" examples/afl/target.c &&
    clang -std=c99 -O1 -I. -c -o "$dir/fuzz.o" examples/afl/fuzz.c &&
    clang -no-pie -fsanitize=fuzzer -o "$dir/fuzz" "$dir/fuzz.o" \
        "$dir/target.o" || exit 1

if [ "$ENGINE" = afl ]; then
    command -v afl-clang-fast >/dev/null || {
        echo "SKIP examples/afl: AFL++ is missing (package afl++)"
        echo "0 passed, 0 failed, 1 skipped"
        exit
    }
    afl-clang-fast -no-pie -fsanitize=fuzzer -o "$dir/afl" "$dir/fuzz.o" \
        "$dir/target.o" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    afl -E "$runs"
    expect "found by coverage" afl_says saved_crashes 1
    grep 'run_time\|execs_done' "$dir/found/default/fuzzer_stats"
    cat "$dir"/found/default/crashes/id* && echo
    export BLIND=1
    afl -E $((runs / 4))
    expect "not found without" afl_says saved_crashes 0
    grep 'run_time\|execs_done' "$dir/found/default/fuzzer_stats"
elif [ -n "$QUICK" ]; then
    inputs="hello ptx ptx:: pt1: pt2: pt66:"
    fuzz -runs=0
    # pt1: and pt2: do the same
    expect "five ways through the target" says 'INITED.* corp: 5/'
    inputs="pt67:"
    fuzz -runs=0
    expect "the bug is there" is_found
else
    inputs="pt1:"
    start=$(date +%s)
    fuzz -runs="$runs" -print_final_stats=1
    expect "found by coverage" is_found
    sed -n 's/^Base64: /found, in base64: /p
            s/^stat::number_of_executed_units: */executions: /p' "$dir/log"
    echo "seconds: $(($(date +%s) - start))"
    BLIND=1 fuzz -runs=$((10 * runs))
    expect "not found without" says "Done $((10 * runs)) runs"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
