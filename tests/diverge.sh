#!/bin/sh
# diverge.sh: ptflow --diverge and ptprof --diff: two runs of a program, under
# address space randomization.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
cd "$root" || exit 2

# diverge STATUS ARGUMENT...
diverge() {
    want=$1
    shift
    timeout 300 "$build/ptflow" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    [ $status -eq "$want" ] || fail_with "ptflow $*: status $status" "$tmp/err"
}

# ---- a short program ----

record() {
    alone "$build/ptrecord" --quiet --perf-data "$@" >"$tmp/recorded" 2>&1
    if [ $? -eq 77 ]; then
        skip "programs cannot be recorded here"
        report
        exit
    fi
}
record "$tmp/a.data" examples/recording/program
record "$tmp/b.data" --max 9000 examples/recording/program
diverge 0 --diverge "$tmp/a.data" "$tmp/a.data"
if [ ! -s "$tmp/out" ] && grep -q '1 pair of threads, 0 went' "$tmp/err"
then pass; else fail_with "a program and itself" "$tmp/out"; fi
diverge 0 --diverge "$tmp/a.data" "$tmp/b.data"
if grep -q 'b.data: ends before it$' "$tmp/out" &&
    grep -q '^  in   .* < run < _start$' "$tmp/out"; then pass
else fail_with "a run that ends early" "$tmp/out"; fi
diverge 2 --diverge "$tmp/a.data" --insn "$tmp/a.data"
grep -q 'two files, and no other output' "$tmp/err" && pass ||
    fail_with "--diverge and --insn" "$tmp/err"
diverge 2 --dso program "$tmp/a.data"
grep -q 'there is no --diverge' "$tmp/err" && pass || fail_with "--dso" "$tmp/err"
diverge 1 --diverge "$tmp/none" "$tmp/a.data"
grep -q 'none: No such file' "$tmp/err" && pass || fail_with "no file" "$tmp/err"

# ---- functions ----

prof() {
    timeout 300 "$build/ptprof" --quiet "$@"
}

# told FILE: FUNCTION INSTRUCTIONS CALLS, as other views have them.
told() {
    prof --folded --by insn "$1" | awk '{
            n = $NF; sub(/ [0-9]*$/, ""); sub(/.*;/, ""); gsub(/ /, "_")
            sum[$0] += n}
        END {for (f in sum) print f, sum[f], 0}'
    prof --flat --min 0 --by insn "$1" |
        awk 'NR > 1 {calls = $4; $1 = $2 = $3 = $4 = ""; sub(/^ */, "")
            gsub(/ /, "_"); print $0, 0, calls}'
}

# changes WHAT BEFORE AFTER OPTION...: of each function, next to these views.
changes() {
    what=$1 old=$2 new=$3
    shift 3
    { told "$old" | sed 's/^/0 /'; told "$new" | sed 's/^/1 /'; } | awk '
        {sign = $1 ? 1 : -1; insns[$2] += sign * $3; calls[$2] += sign * $4}
        END {for (f in insns) {
            if (insns[f] || calls[f]) printf "%s %+d %+d\n", f, insns[f], calls[f]
            i += insns[f]; c += calls[f]}
            printf "all %+d %+d\n", i, c}' | sed 's/ +0/ 0/g' | sort >"$tmp/want"
    prof --diff "$old" --min 0 "$@" "$new" >"$tmp/diff"
    awk 'NR > 1 {i = $4; c = $5; $1 = $2 = $3 = $4 = $5 = ""; sub(/^ */, "")
        gsub(/ /, "_"); if (i != 0 || c != 0 || $0 == "all") print $0, i, c
        }' "$tmp/diff" | sort >"$tmp/got"
    if diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
    else fail_with "$what" "$tmp/why"; fi
}
changes "a run that ends early" "$tmp/a.data" "$tmp/b.data"
[ "$(wc -l <"$tmp/want")" -gt 1 ] && pass || fail "nothing changed"
# The largest change comes first; it is the change of instructions.
if awk 'NR == 1 || $NF == "all" {next}
    $1 != $4 || (NR > 2 && $1 * $1 > last * last) {exit 1}
    {last = $1}' "$tmp/diff"; then pass
else fail_with "--diff" "$tmp/diff"; fi
changes "a file and itself" "$tmp/a.data" "$tmp/a.data"
[ "$(wc -l <"$tmp/diff")" -eq 2 ] && pass || fail_with "--diff: same" "$tmp/diff"
prof --diff "$tmp/a.data" --by time "$tmp/b.data" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'has no times' "$tmp/err" && pass ||
    fail_with "--diff by time, of files without" "$tmp/err"

# ---- a branch of one of three threads ----

# Each letter of its input is a round of a thread: 8, 8 and 16 of them.
cat >"$tmp/letters.c" <<'END2'
#include <pthread.h>
#include <unistd.h>
static volatile int sink;
#define APART __attribute__((noinline))
APART static void even(int x) {sink += x;}
APART static void odd(int x) {sink -= x;}
APART static void step(int c, int i)
{
    sink ^= i;
    if (c == '7') /* planted */
        odd(i);
    else
        even(i);
}
APART static void rounds(const char *text, int n)
{
    for (int i = 0; i < n; i++)
        step(text[i], i);
}
APART static void first(const char *text) {rounds(text, 8); sink++;}
APART static void second(const char *text) {rounds(text, 8); sink++;}
static char input[64];
static void *work(void *from)
{
    if (from == input) first(from);
    else second(from);
    return from;
}
int main(void)
{
    pthread_t t[2];
    if (read(0, input, 32) != 32) return 1;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, input + 8 * i);
    rounds(input + 16, 16);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
END2

# letters NAME INPUT
letters() {
    printf %s "$2" >"$tmp/input"
    alone "$build/ptrecord" --quiet --time cyc --cpus 2 --perf-data \
        "$tmp/$1.data" -- "$tmp/letters" <"$tmp/input" >"$tmp/recorded" 2>&1
}

ten_pairs() {
    $CC -O1 -g -pie -fPIE -pthread -w -o "$tmp/letters" "$tmp/letters.c" || exit 2
    line=$(sed -n '/planted/=' "$tmp/letters.c")
    same=$(printf '%32s' | tr ' ' a)
    letters 0 "$same"
    letters same "$same"
    diverge 0 --dso letters --diverge "$tmp/0.data" "$tmp/same.data"
    if [ ! -s "$tmp/out" ] && grep -q '3 pairs of threads, 0 went' "$tmp/err"
    then pass; else fail_with "equal runs" "$tmp/out"; fi
    # Where they were mapped differs.
    for f in 0 same; do
        "$build/ptflow" --quiet --func main --fields ip "$tmp/$f.data" | head -n 1
    done >"$tmp/starts"
    [ "$(sort -u "$tmp/starts" | wc -l)" -eq 2 ] && pass ||
        fail_with "addresses are not random here" "$tmp/starts"

    # The more letters are before it, the more branches are alike.
    at=0 last=0
    for place in 0 3 7 8 11 15 16 17 24 31; do
        at=$((at + 1))
        letters $at "$(printf '%*s7%*s' $place '' $((31 - place)) '' | tr ' ' a)"
        diverge 0 --dso letters --diverge "$tmp/0.data" "$tmp/$at.data"
        case $place in
        [0-7]) way='step < rounds < first < work < ' ;;
        8 | 11 | 15) way='step < rounds < second < work < ' ;;
        *) way='step < rounds < main < ' ;;
        esac
        alike=$(sed -n 's/^letters [0-9]*, letters [0-9]*: \([0-9]*\) branches alike, then$/\1/p' "$tmp/out")
        case $place in 0 | 8 | 16) last=0 ;; esac
        if [ "$(grep -c '^  at ' "$tmp/out")" -eq 1 ] &&
            grep -q "^  at   step+0x[0-9a-f]* (letters.c:$line)$" "$tmp/out" &&
            grep -q "^  in   $way" "$tmp/out" && [ "$alike" -gt "$last" ] &&
            grep -q '3 pairs of threads, 1 went different ways' "$tmp/err"
        then pass; else fail_with "a branch at letter $place" "$tmp/out"; fi
        last=$alike
    done
    changes "by time: equal runs" "$tmp/0.data" "$tmp/same.data"
    changes "by time: another letter" "$tmp/0.data" "$tmp/5.data" --by time
    if awk '$NF == "odd" || $NF == "even" {print $NF, $4, $5}' "$tmp/diff" |
        sort | tr '\n' ' ' | grep -q '^even -[0-9]* -1 odd +[0-9]* +1 $'; then pass
    else fail_with "--diff: a letter" "$tmp/diff"; fi
}
rest 15 ten_pairs
report
