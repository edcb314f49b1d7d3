#!/bin/sh
# stacks.sh: ptprof's stack of each instruction is the call chain that perf
# makes of the same perf.data. perf knows calls and returns only: after a jump
# out of a function, or to another stack, and after what the kernel did, a
# signal or an exec, the two differ, sometimes up to the end of the thread. Such
# instructions are counted apart; in real programs without all that there are
# none. Ends with a table.

. "$(dirname "$0")/../check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
CXX=${CXX:-c++}
if ! perf version >/dev/null 2>&1; then
    skip "perf is missing (package linux-perf)"
    report
    exit
fi

# As little as possible of this machine: no configuration, no cache, no colour.
mkdir "$tmp/home"
perf() {
    HOME=$tmp/home PERF_CONFIG=/dev/null LC_ALL=C timeout 300 perf "$@"
}

# compare TID: lines of stacks.awk.
compare() {
    "$build/ptprof" --quiet --by insn --no-demangle --tid "$1" \
        --chrome "$tmp/x.json" "$tmp/x.data"
    "$build/ptflow" --quiet --tid "$1" --insn --fields kind,sym --no-demangle \
        "$tmp/x.data" >"$tmp/flow"
    perf script --no-inline --no-demangle -f -i "$tmp/x.data" --tid "$1" \
        --itrace=i1ig512 -F ip,sym,symoff 2>"$tmp/err" | awk -v RS= '
        {
            chain = ""
            for (i = 2; i <= NF; i += 2) chain = chain (i > 2 ? ";" : "") $i
            print chain
        }' | paste -d ' ' "$tmp/flow" - |
        awk -v show=1 -f tests/truth/stacks.awk "$tmp/x.json" -
}

# check NAME EXCEPT COMMAND...: EXCEPT 1: it jumps out of functions.
check() {
    name=$1 except=$2 threads=0
    shift 2
    rm -rf "$tmp/x.d" "$tmp/x.data"
    "$build/ptrecord" --quiet --calls --time tsc --perf-data "$tmp/x.data" \
        -o "$tmp/x.d" -- "$@" >"$tmp/recorded" 2>&1
    if no_ptrace "$tmp/recorded"; then
        skip "$name: it cannot be recorded here"
        return
    fi
    for calls in "$tmp/x.d"/*.calls; do
        compare "$(basename "$calls" .calls)" >"$tmp/compared"
        threads=$((threads + 1))
        if awk -v name="$name" -v except="$except" '
            / after / {next}
            {last = $1; all = $2; n[$1] = $2}
            END {
                jump = n["jmp"] + n["jcc"] + n["jmp_indirect"]
                kernel = n["syscall"] + n["int"]
                apart = except ? jump + n["ret"] + kernel : 0
                share = all > apart ? 100 * last / (all - apart) : 0
                printf "%-8s %9d %9d %9d %9d %9.3f\n", name, all, jump,
                       n["ret"], kernel, share
                exit all < 100 || share < 99.9
            }' "$tmp/compared" >>"$tmp/table"; then pass
        else fail_with "$name: less than 99.9 % are perf's" "$tmp/compared"; fi
    done
    [ $threads -gt 0 ] || fail "$name: no thread"
}

$CC -O1 -w -static -o "$tmp/calls" tests/programs/calls.c || exit 2
check ls 0 /bin/ls -l /
check sort 0 /usr/bin/sort tests/programs/calls.c
check awk 0 /usr/bin/awk '{n += length($0)} END {print n}' tests/programs/tree.c
check calls 1 "$tmp/calls"
if have "$CXX" g++; then
    $CXX -O1 -w -o "$tmp/throws" tests/programs/throws.cc || exit 2
    check throws 1 "$tmp/throws"
fi
echo "Instructions; those in other stacks after a jump, a return elsewhere, a
signal or exec; per cent of the others that are in perf's stack:"
[ ! -s "$tmp/table" ] || cat "$tmp/table"
report
