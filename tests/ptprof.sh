#!/bin/sh
# ptprof.sh: call stacks of programs that leave functions in every way, against
# what is written here; call trees against stack pointers (truth/calls.c); what
# ptprof's views have in common; its options.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root/${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
CXX=${CXX:-c++}

prof() {
    timeout 60 "$build/ptprof" --quiet "$@"
}

# says WHAT COMMAND...: passes when COMMAND does.
says() {
    what=$1
    shift
    if "$@" >"$tmp/said" 2>&1; then pass; else fail_with "$what" "$tmp/said"; fi
}

# refuses TEXT ARGUMENT...: exit status 1, and the message.
refuses() {
    text=$1
    shift
    timeout 60 "$build/ptprof" "$@" >"$tmp/out" 2>"$tmp/err"
    if [ $? -eq 1 ] && grep -q -e "$text" "$tmp/err"; then pass
    else fail_with "refuses $*" "$tmp/err"; fi
}

refuses "no file"
refuses "more than one file" a b
refuses "unknown option: --nothing" --nothing
refuses "insn or time" --by cycles f
refuses "more than one timeline" --chrome a --perfetto b f
refuses "bad argument: 1,a" --tid 1,a f
refuses "No such file" "$tmp/none"
says "help" sh -c "'$build/ptprof' --help | grep -q -- '--folded'"

# record NAME -- COMMAND...: a perf.data with times, without which nobody knows
# when an exec was, and where the stack was.
record() {
    name=$1
    shift
    "$build/ptrecord" --quiet --calls --time tsc --perf-data "$tmp/$name.data" \
        -o "$tmp/$name.d" "$@" >"$tmp/recorded" 2>&1
}

# ---- stacks, by hand ----

# has NAME PATH...: stacks that are there; a first ! : that are not. Paths begin
# with main, or with the function that a coroutine began with.
has() {
    prof --folded --by insn "$tmp/$1.data" |
        sed 's/ [0-9]*$//; s/^[^;]*;//; s/.*;main/main/' >"$tmp/stacks"
    shift
    for path; do
        case $path in
        !*) if grep -qxF "${path#!}" "$tmp/stacks"; then
                fail_with "there is a stack ${path#!}" "$tmp/stacks"
            else pass; fi ;;
        *) if grep -qxF "$path" "$tmp/stacks"; then pass
            else fail_with "no stack $path" "$tmp/stacks"; fi ;;
        esac
    done
}

$CC -O1 -w -static -o "$tmp/calls" tests/programs/calls.c || exit 2
record calls -- "$tmp/calls"
status=$?
if [ $status -eq 77 ]; then
    skip "programs cannot be recorded here"
    report
    exit
fi
has calls "main;tail_target;leaf" "!main;tail_caller;tail_target" \
    "main;catches;calls_jumps;jumps" "main;catches;after_longjmp;leaf" \
    "main;faults;handler;leaf" "main;faults;leaf" \
    "main;faults_and_jumps;jumping_handler" \
    "main;faults_and_jumps;after_longjmp;leaf" \
    "coroutine;leaf" "coroutine;switches" "main;resumes;leaf" \
    "!main;resumes;coroutine" \
    "main;recursion;recursion;recursion;recursion" \
    "!main;recursion;recursion;recursion;recursion;recursion" \
    "main;last;leaf"

if have "$CXX" g++; then
    $CXX -O1 -w -o "$tmp/throws" tests/programs/throws.cc || exit 2
    record throws -- "$tmp/throws"
    has throws "main;_Z7catcherv;_Z7throweri;_Z7throweri;_Z7throweri;_Z7throweri" \
        "main;_Z7catcherv;_Z6landedv" "main;_Z6landedv"
fi

# ---- against stack pointers ----

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -o "$tmp/truth" tests/truth/calls.c || exit 2

# same NAME: all instructions of each thread are in the stack that the stack
# pointer says. It knows no signals: what is below a handler is left out.
same() {
    threads=0
    for calls in "$tmp/$1.d"/*.calls; do
        tid=$(basename "$calls" .calls)
        "$build/ptflow" --quiet --tid "$tid" --insn --fields ip,sym,dso \
            "$tmp/$1.data" | "$tmp/truth" "$calls" >"$tmp/want"
        prof --folded --by insn --tid "$tid" "$tmp/$1.data" |
            sed 's/^[^;]*;//' >"$tmp/got"
        says "$1: thread $tid" awk '
            /;(on_signal|__restore_rt)/ {next}
            {n = $NF; sub(/ [0-9]+$/, "")}
            NR == FNR {want[$0] = n; all += n; next}
            {other += n; same += $0 in want ? (want[$0] < n ? want[$0] : n) : 0}
            END {
                printf "%d of %d instructions in the same stack\n", same, all
                exit !(all > 0 && other == all && same == all)
            }' "$tmp/want" "$tmp/got"
        threads=$((threads + 1))
    done
    says "$1: threads" [ $threads -gt 0 ]
}

record ls -- /bin/ls -l /
same ls
$CC -O1 -w -static -pthread -o "$tmp/tree" tests/programs/tree.c || exit 2
record tree -- "$tmp/tree"
same tree

# ---- views ----

for by in insn time; do
    # shellcheck disable=SC2016 # awk
    sum=$(prof --folded --by $by "$tmp/ls.data" |
        awk '{n += $NF} END {printf "%d", n}')
    column=$([ $by = insn ] && echo 1 || echo 2)
    prof --callgrind "$tmp/callgrind" --by $by "$tmp/ls.data"
    says "callgrind's total is that of the stacks, by $by" \
        awk -v sum="$sum" -v column="$column" '
        /^totals:/ {total = $(column + 1)}
        END {print total, sum; exit !(sum > 0 && total == sum)}' "$tmp/callgrind"
done
says "own costs add up in callgrind's file" awk '
    /^calls=/ {getline; next}
    /^0 / {own += $2}
    /^totals:/ {total = $2}
    END {print own, total; exit !(own > 0 && own == total)}' "$tmp/callgrind"
says "--last" sh -c "'$build/ptprof' --quiet --last 7 '$tmp/ls.data' |
    awk '/ [<>] /{n++} END {exit n != 7}'"
says "--histogram" sh -c "'$build/ptprof' --quiet --histogram malloc \
    '$tmp/ls.data' | grep -q 'the slowest'"
refuses "no whole call of none" --histogram none "$tmp/ls.data"
"$build/ptrecord" --quiet --perf-data "$tmp/timeless.data" -- "$tmp/calls"
refuses "the file has no times" --by time "$tmp/timeless.data"
report
