#!/bin/sh
# fuzz.sh libfuzzer|afl BUILD SECONDS TAG...: build each harness under the
# sanitizers and fuzz it for SECONDS from the checked-in corpus. Findings are
# left in BUILD/fuzz-*/TAG; add a fixed one to fuzz/regress/TAG.

engine=$1 build=$2 seconds=$3
shift 3
dir=$build/fuzz-$engine
passed=0 failed=0

flags="-std=c99 -I. -O1 -g -fno-omit-frame-pointer"
case $engine in
libfuzzer) need=clang cc="clang -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=all" ;;
afl) need=afl++ cc="afl-clang-fast -fsanitize=fuzzer" ;;
esac
# shellcheck disable=SC2086 # cc is a command with arguments
command -v ${cc%% *} >/dev/null || {
    echo "SKIP fuzz: ${cc%% *} is missing (package $need)"
    echo "0 passed, 0 failed, $# skipped"
    exit
}

export AFL_USE_ASAN=1 AFL_USE_UBSAN=1 AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 \
    AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_QUIET=1

# fuzz TAG: 0 when nothing was found.
fuzz() {
    seeds="$dir/$1/seeds" found="$dir/$1/found"
    rm -rf "$found"
    mkdir -p "$seeds" "$found" "$dir/$1/corpus"
    find "fuzz/corpus/$1" "fuzz/regress/$1" -type f \
        -exec cp {} "$seeds" \; 2>/dev/null
    [ -n "$(ls "$seeds")" ] || printf '\2\202' >"$seeds/psb"
    $cc $flags -o "$dir/$1/fuzz" "fuzz/$1.c" || return 1
    if [ "$engine" = libfuzzer ]; then
        "$dir/$1/fuzz" -max_total_time="$seconds" -timeout=10 \
            -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -verbosity=0 \
            -artifact_prefix="$found/" "$dir/$1/corpus" "$seeds" \
            >"$dir/$1/log" 2>&1 || { tail -n 40 "$dir/$1/log"; return 1; }
        sed -n "s/^stat::number_of_executed_units: */$1: executions /p" \
            "$dir/$1/log"
    else
        afl-fuzz -V "$seconds" -t 10000 -i "$seeds" -o "$found" -- \
            "$dir/$1/fuzz" >"$dir/$1/log" 2>&1 || {
            tail -n 40 "$dir/$1/log"; return 1; }
        sed -n "s/^execs_done *: */$1: executions /p" \
            "$found/default/fuzzer_stats"
        [ -z "$(find "$found/default/crashes" "$found/default/hangs" \
            -name 'id:*')" ] && ! grep -q 'results in a crash' "$dir/$1/log"
    fi
}

for tag; do
    if fuzz "$tag"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL fuzz $tag: see $dir/$tag"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
