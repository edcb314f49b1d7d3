#!/bin/sh
# attribution.sh [quick|all]: which thread was it? ptflow on what ptrecord
# records on simulated processors, against ptrecord's own log: no instruction is
# given to a wrong thread, or made up, without a mark; with CYC packets nothing
# is marked, and nowhere more than perf gets wrong. That the first can fail is
# tried with --never-mark. Prints the table of truth.md.

mode=${1:-quick}
set -- .
. "$(dirname "$0")/../check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
mkdir "$tmp/home"

finish() {
    report
    exit
}

has_perf=
if perf version >/dev/null 2>&1; then
    has_perf=1
else
    skip "attribution: perf is missing (package linux-perf)"
fi
{
    $CC -O2 -o "$tmp/attribution" tests/truth/attribution.c &&
        $CC -O1 -w -static -pthread -o "$tmp/tree" tests/programs/tree.c &&
        $CC -O1 -w -static -pthread -o "$tmp/loops" tests/programs/loops.c
} || {
    failed=1
    finish
}

# All of it: TOTAL RIGHT UNMARKED MARKED.
ours() {
    timeout 300 "$build/ptflow" --quiet --fields cpu,tid,ip,sure "$@" \
        "$tmp/x.data" | "$tmp/attribution" "$tmp/x"
}

perfs() {
    HOME=$tmp/home PERF_CONFIG=/dev/null LC_ALL=C timeout 200 perf script -f \
        -i "$tmp/x.data" --itrace=i0ns -F tid,cpu,ip 2>/dev/null |
        awk '{gsub(/[][]/, "", $2); print $2 + 0, $1, $3, 1}' |
        "$tmp/attribution" "$tmp/x"
}

# share PART WHOLE: in per cent, and 0 for nothing only.
share() {
    awk -v p="$1" -v w="$2" 'BEGIN {
        s = w ? 100 * p / w : 0
        printf p && s < 0.005 ? "<0.01" : p ? "%.2f" : "0", s}'
}

unmarkable=0
# row PROGRAM TIME CPUS GAP SEED
row() {
    rm -rf "$tmp/x" "$tmp/x.data"
    # Without an environment: it would change what runs, and when.
    env -i timeout 300 "$build/ptrecord" --quiet --perf-data "$tmp/x.data" \
        -o "$tmp/x" --time "$2" --cpus "$3" --gap "$4" --seed "$5" \
        --quantum 15000 -- "$tmp/$1" >"$tmp/out" 2>&1 </dev/null
    status=$?
    if no_ptrace "$tmp/out"; then
        skip "attribution: no ptrace here"
        finish
    fi
    [ $status -eq 0 ] || fail "ptrecord: $(tail -n 1 "$tmp/out")"
    [ "$3" -eq 1 ] && unit=cpu || unit=cpus
    # shellcheck disable=SC2046 # four numbers each
    set -- "$1, $2, $3 $unit, gap $4" $(ours) ${has_perf:+$(perfs)}
    name=$1 total=${2:-0} right=${3:-0} unmarked=${4:-1} marked=${5:-0}
    wrong=$((total - ${7:-0}))
    [ "$total" -gt 0 ] || fail "$name: nothing was recorded"
    if [ "$unmarked" -gt 0 ]; then
        fail "$name: $unmarked instructions are wrong and not marked"
    elif case $name in *cyc*) [ "$marked" -gt 0 ] ;; *) false ;; esac then
        fail "$name: $marked instructions are marked in spite of CYC"
    elif [ -n "$has_perf" ] && [ "$marked" -gt $wrong ]; then
        fail "$name: $marked instructions are marked, perf has $wrong wrong"
    else
        pass
    fi
    perf=-
    [ -z "$has_perf" ] || perf=$(share $wrong "$total")
    printf '| %-30s | %7d | %6s | %6s | %6s |\n' "$name" "$total" \
        "$(share $((total - right)) "$total")" \
        "$(share "$marked" "$total")" "$perf"
    # shellcheck disable=SC2046 # four numbers
    set -- $(ours --never-mark)
    unmarkable=$((unmarkable + ${3:-0}))
}

echo '| program, time, cpus, gap        | instrs  | wrong  | marked | perf   |'
echo '|---|---|---|---|---|'
if [ "$mode" = all ]; then
    for program in tree loops; do
        for cpus in 1 2 4; do
            row $program cyc $cpus 460 1
            row $program mtc $cpus 1300 1
            row $program mtc $cpus 460 1
            row $program tsc $cpus 460 1
        done
    done
else
    row loops cyc 2 460 1
    row loops mtc 2 460 1
    row loops tsc 2 460 1
fi

# Without marks there are wrong ones, or the rows above prove nothing. On some
# processors the program runs so that these have none, but longer gaps do.
for gap in 300 3000 1000 6000 9000; do
    [ $unmarkable -gt 0 ] || row loops tsc 2 $gap 1
done
if [ $unmarkable -gt 0 ]; then
    pass
else
    fail "with --never-mark nothing is wrong either"
fi
finish
