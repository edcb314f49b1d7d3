#!/bin/sh
# run.sh PROGRAM...: run test programs and checks, each of which ends with a
# line `N passed, N failed[, N skipped]`, and print one such line for all.
# Arguments of a program are in the same word: run.sh 'build/tests/x --all'.
# A program that crashes, hangs, lies or prints no total counts as a failure.
# As many run in parallel as the machine has processors (JOBS=1: one by one).
# With VERBOSE=1 the output of programs that pass is shown too. A line
# `N more in make test-full` of a program is added up, too. The seconds are of
# processor time, not of the clock.

# bad TEXT: one more failure that the program itself did not count.
bad() { echo "      $1"; failed=$((failed + 1)); verdict=FAIL; }

# judge PROGRAM [ARGUMENT...]: runs one, prints what there is to say, and adds
# its numbers to $dir/totals.
judge() {
    name=$(basename "${1%.sh}")${2:+ $2}
    out=$dir/out.$$
    case $1 in *.sh) set -- sh "$@" ;; esac
    timeout "${TEST_TIMEOUT:-2400}" "$@" >"$out" 2>&1 </dev/null
    status=$?
    # shellcheck disable=SC2046 # two or three numbers
    set -- $(tail -n 1 "$out" | LC_ALL=C sed -n -E \
        's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p')
    verdict=ok passed=${1:-0} failed=${2:-0} skipped=${3:-0}
    tests=$((passed + failed))
    [ "${2:-1}" -eq 0 ] || verdict=FAIL
    if [ $status -eq 124 ]; then
        bad "$name: stopped after ${TEST_TIMEOUT:-2400} s"
    elif [ $status -gt 1 ]; then
        bad "$name: exit status $status"
    elif [ $# -lt 2 ]; then
        bad "$name: no line 'N passed, N failed' at its end"
    elif [ $status -eq 1 ] && [ "$2" -eq 0 ]; then
        bad "$name: exit status 1 without a failed test"
    elif [ $status -eq 0 ] && [ "$2" -ne 0 ]; then
        bad "$name: exit status 0 with failed tests"
    fi
    if [ $verdict = FAIL ] || [ -n "$VERBOSE" ]; then
        sed '/^[0-9]* more in make test-full$/d; $!b
            /^[0-9]* passed/d' "$out" | tail -n 60 | sed 's/^/      /'
    else
        grep '^ *SKIP ' "$out" | sed 's/^ */      /'
    fi
    times >"$out.times" # of this shell, then of what it waited for
    tenths=$(tr ms '  ' <"$out.times" | LC_ALL=C awk 'NR == 2 {
        print int(600 * ($1 + $3) + 10 * ($2 + $4))}')
    printf '%-5s %-16s %5d tests %4d.%d s\n' $verdict "$name" $tests \
        $((tenths / 10)) $((tenths % 10))
    more=$(sed -n 's/^\([0-9]*\) more in make test-full$/\1/p' "$out")
    echo "$passed $failed $skipped ${more:-0} $tenths" >>"$dir/totals"
}

if [ "$1" = --judge ]; then # what xargs runs: run.sh --judge DIR PROGRAM
    dir=$2
    # shellcheck disable=SC2086 # a program and its arguments
    judge $3 >"$dir/said.$$" 2>&1
    cat "$dir/said.$$" # whole, whatever runs beside it
    rm -f "$dir/said.$$" "$dir/out.$$" "$dir/out.$$.times"
    exit 0
fi

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
: >"$dir/totals"
[ $# -eq 0 ] || printf '%s\0' "$@" |
    xargs -0 -n 1 -P "${JOBS:-$(nproc)}" sh "$0" --judge "$dir"
passed=0 failed=0 skipped=0 more=0 judged=0 tenths=0
while read -r p f s m t; do
    more=$((more + m)) tenths=$((tenths + t))
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    judged=$((judged + 1))
done <"$dir/totals"
[ $judged -eq $# ] || bad "$(($# - judged)) programs were not judged"
[ $((passed + failed + skipped)) -gt 0 ] || bad "no test was run"
[ $more -eq 0 ] || echo "make test-full has $more more tests"
[ $judged -lt 2 ] || echo "$((tenths / 10)) s of processor time"
[ $skipped -eq 0 ] && tail= || tail=", $skipped skipped"
echo "$passed passed, $failed failed$tail"
[ $failed -eq 0 ]
