#!/bin/sh
# calls.sh [quick|all]: ptprof's stacks of real programs, instruction by
# instruction, against those that the stack pointer says (calls.c).
#
#     quick    a few programs, not far
#     all      those of the corpus, CALLS_INSNS=400000 instructions of each
#
# Of the corpus there is no narrow: QEMU runs it, whose recordings have no stack
# pointers. rewrite changes code that has been read, which ptrecord refuses, and
# so does the compiler of LuaJIT, which does without it here.
#
# depth.c, a view of the walk, gives the same calls and returns.

mode=${1:-quick}
set -- .
. "$(dirname "$0")/../check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
CXX=${CXX:-c++}
here=tests/truth
bin=$tmp
few=
max=${CALLS_INSNS:-400000}
[ "$mode" = all ] || few=1 max=${CALLS_INSNS:-60000}

# build FILE COMMAND...
build() {
    shift
    quietly "build" "$@"
}

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -o "$tmp/truth" $here/calls.c || exit 2
# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -I. -o "$tmp/depth" $here/depth.c "$build/common.a" \
    $(tail -n 1 "$build/flags") || exit 2

# Names alone; parts are in their functions.
plain() {
    sed 's/\([^; ]\) \[[^];]*\]/\1/g; s/;[^;]*[.]cold[.0-9]* \([0-9]*\)$/ \1/'
}

# same NAME: all instructions of each thread are in the stack that the stack
# pointer says. It knows no signals: what is below a handler is left out.
same() {
    threads=0
    for calls in "$tmp/x.d"/*.calls; do
        tid=$(basename "$calls" .calls)
        "$build/ptflow" --quiet --tid "$tid" --insn --fields ip,sym,dso \
            --no-demangle "$tmp/x.data" | "$tmp/truth" "$calls" >"$tmp/want"
        timeout 300 "$build/ptprof" --quiet --folded --by insn --no-demangle \
            --tid "$tid" "$tmp/x.data" | sed 's/^[^;]*;//' | plain >"$tmp/got"
        if awk '
            /;(on_(alarm|fault|signal|user)|__restore_rt)/ {next}
            {n = $NF; sub(/ [0-9]+$/, "")}
            NR == FNR {want[$0] = n; all += n; next}
            {other += n; got[$0] += n}
            END {
                for (s in got) {
                    if (want[s] != got[s]) print got[s], "not", want[s] + 0, s
                    same += got[s] < want[s] ? got[s] : want[s]
                }
                printf "%d of %d instructions in the same stack\n", same, all
                exit !(all > 0 && other == all && same == all)
            }' "$tmp/want" "$tmp/got" >"$tmp/compared"; then pass
        else
            sed -n '$p' "$tmp/compared" >"$tmp/why"
            sed '$d' "$tmp/compared" >>"$tmp/why"
            fail_with "$1: thread $tid" "$tmp/why"
        fi
        printf '%-12s %s\n' "$1" "$(tail -n 1 "$tmp/compared")" >>"$tmp/table"
        threads=$((threads + 1))
    done
    [ $threads -gt 0 ] || fail "$1: no thread"
}

# depth COMMAND...: depth.c gives the calls and returns of its first thread.
depth() {
    rm -rf "$tmp/x.d"
    if env -i LC_ALL=C PATH=/usr/bin:/bin PYTHONHASHSEED=0 "$build/ptrecord" \
        --quiet --calls --max "$max" -o "$tmp/x.d" -- "$@" >"$tmp/why" 2>&1 &&
        "$tmp/depth" "$tmp/x.d" >"$tmp/why" 2>&1; then pass
    else
        fail_with "$name: depth" "$tmp/why"
    fi
    printf '%-12s %s\n' "$name" "$(tail -n 1 "$tmp/why")" >>"$tmp/table"
}

# record NAME EMULATOR SKIP COMMAND...: what programs.sh has, and compare.
record() {
    name=$1
    shift 3
    case $name in
    narrow-* | rewrite) return ;;
    luajit-*)
        shift
        set -- luajit -joff "$@"
        ;;
    esac
    if ! command -v "$1" >/dev/null; then
        skip "$name: $1 is missing"
        return
    fi
    rm -rf "$tmp/x.d" "$tmp/x.data"
    env -i LC_ALL=C PATH=/usr/bin:/bin PYTHONHASHSEED=0 \
        "$build/ptrecord" --quiet --calls --time tsc --max "$max" \
        --perf-data "$tmp/x.data" -o "$tmp/x.d" -- "$@" >"$tmp/recorded" 2>&1
    case $?-$(no_ptrace "$tmp/recorded" && echo no) in
    0-)
        same "$name"
        depth "$@"
        ;;
    *-no) skip "$name: it cannot be recorded here" ;;
    *) fail_with "$name: ptrecord" "$tmp/recorded" ;;
    esac
}

: >"$tmp/table"
. $here/programs.sh
if [ -z "$few" ] && [ $skipped -eq 0 ]; then
    $CC -O1 -w -static -pthread -o "$tmp/tree" tests/programs/tree.c || exit 2
    record ls - 0 /bin/ls -l /
    record tree - 0 "$tmp/tree"
fi
cat "$tmp/table"
report
