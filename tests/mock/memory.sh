#!/bin/sh
# memory.sh [quick|all]: how much memory ptflow and ptsplit take does not depend
# on how much trace there is: ten times as much with the same records takes at
# most 1.1 times the memory. all: 100 MB and 1 GB, by thread and by cpu; quick:
# 10 and 100 MB, by cpu.
#
# ptsplit takes 2 MB, most of it pages of libraries. How many of those count
# depends on where they are, and on what the machine's cache has of them: two runs
# on one file differ by 400 KiB if addresses are random, and hardly if they are
# not. So they are not, and the least of some runs counts.

small=15 ways=cpu # million instructions
[ "${1:-quick}" = all ] && small=150 ways='thread cpu'
build=$(cd "${BUILD:-build}" && pwd) || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
CC=${CC:-cc}
passed=0 failed=0
fixed= slack=512
! setarch -R true 2>/dev/null || fixed="setarch -R" slack=0

$CC -O1 -o "$dir/peak" tests/mock/peak.c &&
    $CC -O2 -w -I. -o "$dir/kernel" tests/mock/kernel.c \
        examples/tools/common/perf/perfwrite.c || {
    echo "0 passed, 1 failed"
    exit 1
}

# least SIZE COMMAND...: the least memory for $dir/SIZE so far is in
# $dir/least.SIZE.
least() {
    size=$1
    shift
    rm -rf "$dir/out"
    timeout 900 $fixed "$dir/peak" "$dir/peak.kib" "$@" "$dir/$size" \
        >"$dir/lines" 2>"$dir/err" && [ -s "$dir/lines" ] || return
    cat "$dir/peak.kib" >>"$dir/all.$size"
    sort -n "$dir/all.$size" | head -n 1 >"$dir/least.$size"
}

# compare NAME COMMAND...: on $dir/1 and on $dir/10.
compare() {
    name=$1
    shift
    rm -f "$dir"/all.*
    for try in 1 2 3 4 5; do
        for size in 1 1 10; do
            least $size "$@" && continue
            failed=$((failed + 1))
            echo "FAIL $name"
            tail -n 3 "$dir/err"
            return
        done
        a=$(cat "$dir/least.1") b=$(cat "$dir/least.10")
        [ "$b" -gt $((a * 11 / 10 + slack)) ] || break
    done
    if [ "$a" -gt 0 ] && [ "$b" -le $((a * 11 / 10 + slack)) ]; then
        passed=$((passed + 1))
        result=ok
    else
        failed=$((failed + 1))
        result=FAIL
    fi
    printf '%-4s %-22s %6s KiB for %4d MB, %6s KiB for %4d MB of trace\n' \
        $result "$name" "$a" $(($(wc -c <"$dir/1/data") / 1000000)) \
        "$b" $(($(wc -c <"$dir/10/data") / 1000000))
}

for by in $ways; do
    rm -rf "$dir/1" "$dir/10"
    "$dir/kernel" "$dir/1" ${small}000000 large "$by" &&
        "$dir/kernel" "$dir/10" ${small}0000000 large "$by" || {
        failed=$((failed + 1))
        break
    }
    compare "ptflow, by $by" "$build/ptflow" --quiet --event
    compare "ptsplit, by $by" "$build/ptsplit" -o "$dir/out"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
