#!/bin/sh
# fuzz.sh libfuzzer|afl SECONDS TAG...: fuzz each harness for SECONDS from the
# checked-in corpus. libFuzzer has two builds of it: a fast one, whose checks
# trap, and in which each input draws one way; then, on the corpus that the first
# one found, ASan and UBSan for a quarter of the time, with every way. Findings
# are left in BUILD/fuzz-*/TAG; add a fixed one to fuzz/regress/TAG. Without a
# TAG only the decoder that harnesses share is compiled, so that they can run
# side by side afterwards.
#
# fuzz.sh report SECONDS TAG...: libfuzzer, and then what came of it: fails
# if an input of the fast build costs more than an eighth of one of the other, or
# if a way is drawn by less than 5 % of them; one test per harness that has ways.
# SEED=text makes libFuzzer's choices repeatable: the same text, the same inputs.
# Both add a line for each build and harness to the file HISTORY, which is not
# part of the tree: date, commit, harness, build, executions, decodes, CPU ms.

engine=$1 seconds=$2
shift 2
build=${BUILD:-build}
report=
[ "$engine" != report ] || { report=1 engine=libfuzzer; }
dir=$build/fuzz-$engine
HISTORY=${HISTORY:-${XDG_STATE_HOME:-$HOME/.local/state}/ipt/fuzz}
commit=$(git rev-parse --short HEAD 2>/dev/null || echo none)
seed=0 # libFuzzer's: another one each time
[ -z "$SEED" ] || seed=$(printf %s "$SEED" | cksum | cut -d' ' -f1)
passed=0 failed=0

flags="-std=c99 -I. -g -fno-omit-frame-pointer"
! echo '#include <libelf.h>' | cc -E - >/dev/null 2>&1 || libs=-lelf
case $engine in
libfuzzer)
    need=clang
    cc="clang -O1 -fsanitize=fuzzer,address,undefined
        -fno-sanitize-recover=all"
    # Comparisons and indirect calls are not traced: that costs more than to
    # decode. Undefined behaviour of the harness itself is left to the other build.
    mkdir -p "$dir"
    printf '[undefined]\nsrc:fuzz/*\nsrc:./tests/[a-z]*\n' >"$dir/harness"
    fast="clang -O2 -fsanitize=fuzzer,undefined -fsanitize-trap=undefined
        -fsanitize-ignorelist=$dir/harness
        -fno-sanitize-coverage=trace-cmp,indirect-calls" ;;
afl) need=afl++ cc="afl-clang-fast -O1 -fsanitize=fuzzer" ;;
esac
# shellcheck disable=SC2086 # cc is a command with arguments
command -v ${cc%% *} >/dev/null || {
    [ $# -gt 0 ] || exit 0
    echo "SKIP fuzz: ${cc%% *} is missing (package $need)"
    echo "0 passed, 0 failed, $# skipped"
    exit
}

export AFL_USE_ASAN=1 AFL_USE_UBSAN=1 AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 \
    AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_QUIET=1

# stat LOG NAME: a figure of libFuzzer's statistics, or of way.h.
stat() { sed -n "s/^stat::$2: *//p" "$1"; }

# libfuzzer TAG NAME SECONDS DIR...: fuzz with the build NAME.
libfuzzer() {
    tag=$1 name=$2 time=$3
    log=$dir/$1/$2.log
    shift 3
    "$dir/$tag/$name" -max_total_time="$time" -timeout=10 -entropic=0 \
        -seed="$seed" \
        -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$dir/$tag/found/" "$@" >"$log" 2>&1 || {
        tail -n 40 "$log"; return 1; }
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(date +%F)" "$commit" "$tag" \
        "$name" "$(stat "$log" number_of_executed_units)" \
        "$(stat "$log" decodes)" "$(stat "$log" cpu_milliseconds)" >>"$HISTORY"
    echo "$tag: $name, $(stat "$log" number_of_executed_units) executions"
}

# decoder COMMAND...: the archive with the decoder in that build, made once.
# Harnesses that need only what is public are linked with it: tests/linked.h.
decoder() {
    archive=$dir/$(echo "$*" | cksum | tr -d ' ').a
    [ "$archive" -nt ipt_impl.h ] && [ "$archive" -nt ipt.h ] || {
        "$@" -c -o "$archive.o" examples/tools/common/flow/ipt.c &&
            ar rcs "$archive" "$archive.o"
    } || return 1
    echo "-DIPT_LINKED $archive"
}

# build OUT TAG COMMAND...
build() {
    out=$1 tag=$2
    shift 2
    linked=$(decoder "$@") || return 1
    # shellcheck disable=SC2086 # lists
    "$@" ${linked% *} -o "$out" "fuzz/$tag.c" ${linked#* } $libs
}

# fuzz TAG: 0 when nothing was found.
fuzz() {
    seeds="$dir/$1/seeds" found="$dir/$1/found" corpus="$dir/$1/corpus"
    rm -rf "$found" "$dir/$1/merged"
    mkdir -p "$seeds" "$found" "$corpus"
    find "fuzz/corpus/$1" "fuzz/regress/$1" -type f \
        -exec cp {} "$seeds" \; 2>/dev/null
    [ -n "$(ls "$seeds")" ] || printf '\2\202' >"$seeds/psb"
    if [ "$engine" = libfuzzer ]; then
        mkdir -p "$(dirname "$HISTORY")" "$dir/$1/merged"
        # shellcheck disable=SC2086 # commands with arguments
        build "$dir/$1/sanitized" "$1" $cc $flags &&
            build "$dir/$1/fast" "$1" $fast $flags || return 1
        libfuzzer "$1" fast "$seconds" "$corpus" "$seeds" || return 1
        "$dir/$1/fast" -merge=1 "$dir/$1/merged" "$corpus" "$seeds" \
            >"$dir/$1/merge.log" 2>&1 || return 1
        rm -rf "$corpus"
        mv "$dir/$1/merged" "$corpus"
        FUZZ_ALL_WAYS=1 libfuzzer "$1" sanitized $((seconds / 4 + 1)) "$corpus"
    else
        # shellcheck disable=SC2086
        build "$dir/$1/fuzz" "$1" $cc $flags || return 1
        afl-fuzz -V "$seconds" -t 10000 -i "$seeds" -o "$found" -- \
            "$dir/$1/fuzz" >"$dir/$1/log" 2>&1 || {
            tail -n 40 "$dir/$1/log"; return 1; }
        sed -n "s/^execs_done *: */$1: executions /p" \
            "$found/default/fuzzer_stats"
        [ -z "$(find "$found/default/crashes" "$found/default/hangs" \
            -name 'id:*')" ] && ! grep -q 'results in a crash' "$dir/$1/log"
    fi
}

# compare TAG: inputs a CPU second, fast and sanitized, and the rarest way.
compare() {
    for name in fast sanitized; do
        printf '%s %s %s\n' $name \
            "$(stat "$dir/$1/$name.log" number_of_executed_units)" \
            "$(stat "$dir/$1/$name.log" cpu_milliseconds)"
    done | cat - "$dir/$1/fast.log" | awk -v tag="$1" '
        NR <= 2 {rate[$1] = $3 ? 1000 * $2 / $3 : 0}
        /^stat::way_/ {n++; sum += $2; if (n == 1 || $2 < least) least = $2}
        END {
            times = rate["sanitized"] ? rate["fast"] / rate["sanitized"] : 0
            share = sum ? 100 * least / sum : 0
            ok = times >= 8 && share >= 5
            printf "%s %-5s %6.0f inputs a CPU second, sanitized in all ways " \
                "%5.0f: %4.1f times (limit 8); the rarest of %d ways %4.1f " \
                "%% (limit 5)\n", ok ? "ok  " : "FAIL", tag, rate["fast"],
                rate["sanitized"], times, n, share
            exit !ok}'
}

if [ $# -eq 0 ]; then
    # shellcheck disable=SC2086 # commands with arguments
    decoder $cc $flags >/dev/null && decoder $fast $flags >/dev/null
    exit
fi
for tag; do
    if fuzz "$tag"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL fuzz $tag: see $dir/$tag"
    fi
done
if [ -n "$report" ]; then
    for tag; do
        grep -q '^stat::way_' "$dir/$tag/fast.log" || continue
        if compare "$tag"; then passed=$((passed + 1))
        else failed=$((failed + 1)); fi
    done
    echo "all runs in $HISTORY:"
    awk -F'\t' '{n[$3] += $5; d[$3] += $6; ms[$3] += $7}
        END {for (tag in n) printf "%-10s %14.0f executions %14.0f decodes " \
            "%9.1f CPU hours\n", tag, n[tag], d[tag], ms[tag] / 3.6e6}' \
        "$HISTORY" | sort
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
