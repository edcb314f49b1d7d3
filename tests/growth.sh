#!/bin/sh
# growth.sh: what many records of a kind cost ptflow, by callgrind's
# instructions less those of a file without them: at most 2.2 times for twice as
# many, and 24 times for 16 times; and at most 64 MiB and 200 bytes a record.
# make test has the memory of one kind.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}

# spent FILE: instructions.
spent() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$build/ptflow" --quiet --stack-before all --last 1 "$1" 2>&1 >"$tmp/shown" |
        awk '/Collected/ {print $NF}'
}

# memory FILE: the most that it takes, in KiB.
memory() {
    "$tmp/peak" "$tmp/size" "$build/ptflow" --quiet --stack-before all --last 1 "$1" \
        >"$tmp/shown" 2>&1 && cat "$tmp/size"
}

# grows KIND FEW: two tests. FEW are enough for most of the instructions to be of
# them.
grows() {
    row=$1 few=$2
    for n in $few $((2 * few)) $((16 * few)); do
        "$tmp/many" "$1" $n "$tmp/data" "$tmp/more" || { fail "$1: $n"; return; }
        row="$row $(spent "$tmp/more")"
    done
    echo "$row" | awk -v base="$base" '{
        for (i = 2; i <= 4; i++) $i -= base
        printf "%s: %d, %.2f times, %.1f times\n", $1, $2, $3 / $2, $4 / $2
        exit $2 <= 0 || $3 > 2.2 * $2 || $4 > 24 * $2}' >"$tmp/row" &&
        pass || fail_with "grows too fast" "$tmp/row"
    [ -z "$VERBOSE" ] || cat "$tmp/row"
    is_small "$1" $((16 * few))
}

# is_small KIND N: what N of them in $tmp/more take; with sanitizers twice as
# much.
is_small() {
    size=$(memory "$tmp/more")
    most=$((65536 + $2 * 200 / 1024))
    ! grep -q __asan_init "$build/ptflow" || most=$((2 * most))
    [ "${size:-0}" -gt 0 ] && [ "$size" -le $most ] && pass ||
        fail "$1: $2 take $size KiB"
}

# is_bounded TOOL [OPTION]: with --max-memory it says what it leaves out of $tmp/more, whose
# records take more: status 0, with --strict 1.
is_bounded() {
    tool=$1
    shift
    cd "$tmp" || exit 2
    "$build/$tool" "$@" --max-memory 8M "$tmp/more" >"$tmp/shown" 2>"$tmp/said"
    said=$?
    "$build/$tool" "$@" --max-memory 8M --strict "$tmp/more" >"$tmp/none" 2>&1
    strict=$?
    [ $said -eq 0 ] && [ $strict -eq 1 ] && [ -s "$tmp/shown" ] &&
        grep -q "records.*by --max-memory" "$tmp/said" && pass ||
        fail_with "$tool --max-memory: $said $strict" "$tmp/said"
    cd "$root" || exit 2
}

all() {
    base=$(spent "$tmp/data")
    for kind in comm process fork exit map map-down map-same poke poke-same \
        symbol symbol-goes thread bpf lost aux queue; do
        grows $kind 2500
    done
    grows switch 12000
    grows switch-new 12000
    "$tmp/many" switch-new 1000000 "$tmp/data" "$tmp/more"
    is_small switch-new 1000000
}

cd "$root" || exit 2
# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O2 -o "$tmp/many" tests/truth/many.c || exit 2
$CC -O1 -o "$tmp/peak" tests/mock/peak.c || exit 2
$CC -O1 -w -static -o "$tmp/tree" tests/programs/tree.c || exit 2
alone "$build/ptrecord" --quiet --max 20000 --time mtc --cpus 1 -o \
    "$tmp/log" --perf-data "$tmp/data" -- "$tmp/tree" >"$tmp/said" 2>&1
case $?-$(no_ptrace "$tmp/said" && echo no) in
0-)
    "$tmp/many" process 80000 "$tmp/data" "$tmp/more"
    is_small process 80000
    is_bounded ptflow --event # the program's mappings come later
    is_bounded ptprof
    is_bounded ptsplit
    ! have valgrind valgrind || rest 37 all ;;
*-no) skip "growth: no ptrace here" ;;
*) fail_with "not recorded" "$tmp/said" ;;
esac
report
