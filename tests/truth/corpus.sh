#!/bin/sh
# corpus.sh record|few|quick|all: record real programs under QEMU into
# build/corpus (what is there already stays), and check the traces made of them.
#
#     record   only record       few      only record those of quick
#     quick    a few programs, under a minute
#     all      every program, case, cache and classifier
#
# Those in build/corpus/inputs are for the bench alone.
#
# CORPUS_INSNS=2000000: how many instructions of each program. Each folder also
# has the trace of a user's program by the first thread, as ptrecord writes it.

mode=${1:-quick}
build=${BUILD:-build}
here=tests/truth
corpus=$build/corpus
CC=${CC:-cc}
CXX=${CXX:-c++}
case $mode in
quick | few) few=1 default=200000 ;;
*) few='' default=2000000 ;;
esac
max=${CORPUS_INSNS:-$default}

qemu-x86_64 --help 2>&1 | grep -q plugin || {
    echo "SKIP truth: no qemu-x86_64 with plugins (Debian 12's qemu-user)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
mkdir -p "$corpus/bin" || exit 2
bin=$corpus/bin
failed=0 passed=0 skipped=0

fail() { echo "FAIL $*"; failed=$((failed + 1)); }
skip() { echo "SKIP $*"; skipped=$((skipped + 1)); }

finish() {
    [ $skipped -gt 0 ] && tail=", $skipped skipped" || tail=
    echo "$passed passed, $failed failed$tail"
    [ $failed -eq 0 ]
    exit
}

# ---- programs ----

# The peers, as far as they are here.
warn="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow"
libs=
has() { echo "#include <$1>" | $CC -E - >/dev/null 2>&1; }
if has Zydis/Zydis.h; then libs="-lZydis -lZycore"; else
    skip "Zydis as classifier is missing (package libzydis-dev)"
fi
if has intel-pt.h; then libs="$libs -lipt"; else
    skip "libipt as referee is missing (package libipt-dev)"
fi
peers=
if perf version >/dev/null 2>&1; then peers="-p perf"; else
    skip "perf as referee is missing (package linux-perf)"
fi

# build FILE COMMAND...: unless this made it, and it is newer than all sources.
build() {
    to=$1
    shift
    if [ -e "$to" ] && echo "$*" | cmp -s - "$to.made" &&
        [ -z "$(find ipt.h ipt_impl.h zydis_glue $here tests/perf.h tests/hot.h \
            -newer "$to" -type f |
            head -n 1)" ]; then return; fi
    echo "$*" >"$to.made"
    "$@" >"$corpus/log" 2>&1 || { fail "cannot build $to"; head "$corpus/log"; }
}

# Another test may want the same recordings at the same time.
exec 9>"$corpus/lock"
! command -v flock >/dev/null || flock 9

# shellcheck disable=SC2086 # flags
build "$bin/truth" $CC $warn -O2 -g -I. -o "$bin/truth" $here/truth.c $libs
# shellcheck disable=SC2086
build "$bin/qplugin.so" $CC $warn -O2 -shared -fPIC -o "$bin/qplugin.so" \
    $here/qplugin.c
[ $failed -eq 0 ] || finish

# ---- recording ----

package() {
    case $1 in
    */python3) echo python3-minimal ;;
    *) basename "$1" ;;
    esac
}

# bits RECORDING: its mode as an option of truth.
bits() {
    case $1 in
    *-32.*) echo "-m 32" ;;
    *-16.*) echo "-m 16" ;;
    esac
}

# record NAME EMULATOR SKIP COMMAND...
record() {
    name=$1 emulator=$2 skip=$3
    shift 3
    to=$corpus/$name.$max
    if [ -e "$to/trace.pt" ]; then return; fi
    if ! command -v "$1" >/dev/null; then
        skip "$name: $1 is missing (package $(package "$1"))"
        return
    fi
    rm -rf "$to"
    mkdir -p "$to"
    program=$(command -v "$1")
    shift
    env -i LC_ALL=C PATH=/usr/bin:/bin PYTHONHASHSEED=0 \
        timeout 120 "$emulator" -seed 1 -plugin \
        "$bin/qplugin.so,out=$to,skip=$skip,max=$max" "$program" "$@" \
        </dev/null >"$to/output" 2>&1
    # shellcheck disable=SC2046 # an option or none
    if [ ! -s "$to/code.bin" ] || ! "$bin/truth" $(bits "$name.") -c $model \
        -w "$to" "$to/0.run" >/dev/null; then
        fail "cannot record $name"
        cat "$to/output"
    fi
    rm -f "$to/ips.u64" "$to/lost.u64" # large, and 0.run has it all
}

model=user
. $here/programs.sh
if [ -z "$few" ]; then
    # Variants of one input, as a fuzzer makes them, for the bench.
    all=$max max=$((max / 4)) model=noretc
    for i in 1 2 3 4 5 6 7 8; do
        sed "${i}0,${i}9s/[aeiou]/x/" "$text" >"$bin/text-$i"
        record "inputs/gzip-$i" qemu-x86_64 200000 gzip -c "$bin/text-$i"
        sed "s/7/$i/" "$bin/loop.sh" >"$bin/loop-$i.sh"
        record "inputs/bash-$i" qemu-x86_64 500000 /bin/bash "$bin/loop-$i.sh"
    done
    max=$all
fi
case $mode in record | few)
    du -sh "$corpus"
    passed=1
    finish
    ;;
esac
exec 9>&-

# ---- checks ----

# One log for each recording, as many at a time as there are processors.
far=$([ -n "$TEST_FULL" ] && echo 100000 || echo 50000)
[ "$mode" = quick ] && flags="-q -i $far $peers" || flags=$peers
for dir in "$corpus"/*."$max"; do
    echo "$bin/truth $flags $(bits "$dir") $(echo "$dir"/*.run) >$dir/log \
        2>&1 || :"
done | xargs -P "$(nproc)" -I '{}' sh -c '{}'
for dir in "$corpus"/*."$max"; do
    grep -v 'passed, ' "$dir/log"
    # shellcheck disable=SC2046 # two numbers
    set -- $(tail -n 1 "$dir/log" |
        sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    if [ $# -eq 2 ]; then
        passed=$((passed + $1))
        failed=$((failed + $2))
    else
        fail "truth on $dir"
    fi
done
finish
