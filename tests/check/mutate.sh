#!/bin/sh
# mutate.sh [SECTION...]: do the tests notice small faults in ipt_impl.h? Each
# mutant (see mutate.c) is compiled with the tests of its section, first plainly
# and then under ASan and UBSan, until one fails. If none does it is alive; it is
# not judged if it compiles to the same object, nor if tests/proof/equivalent says
# why it means the same. Fails below the limits. One test per section.
#
#     COUNT=250  mutants judged in each section; 0: all
#     SEED       picks them; default: the commit
#     JOBS       in parallel; default: one for each processor
#
# build/mutate/results has a line for each: verdict, section, line, what did it,
# key. With less than 200 judged a limit gives way by three standard errors.

build=${BUILD:-build}
dir=$build/mutate
list=tests/proof/equivalent
COUNT=${COUNT:-250}
SEED=${SEED:-$(git rev-parse HEAD 2>/dev/null || echo none)}
JOBS=${JOBS:-$(nproc)}
[ $# -gt 0 ] || set -- pkt sync time evt bind walk blk cov cache

for need in clang gcc; do
    command -v $need >/dev/null || {
        echo "SKIP mutate: $need is missing (package $need)"
        echo "0 passed, 0 failed, $# skipped"
        exit
    }
done

# Tests that look at a section, those first that notice most in least time. A
# number after a colon is TEST_COUNT; with a ! they are too slow for sanitizers.
tests_of() {
    case $1 in
    base) echo base! pkt sync fuzz/pkt evt fuzz/insn ;;
    pkt) echo pkt base! sync fuzz/pkt fuzz/evt evt ;;
    sync) echo sync base! fuzz/pkt fuzz/evt pkt evt insn! ;;
    time) echo time clocks fuzz/pkt evt fuzz/evt ;;
    evt) echo evt fuzz/evt qry time fuzz/insn hazards insn! ;;
    qry) echo qry fuzz/qry ;;
    classify) echo classify fuzz/insn insn! ;;
    cache) echo cache fuzz/insn insn! blk:20 ;;
    insn) echo fuzz/insn insn! blk:20 simulate:20 ;;
    bind | walk | blk) echo fuzz/insn hazards insn! fuzz/blk blk:20 cache \
        simulate:20 fuzz/cov ;;
    cov) echo cov:20 fuzz/cov ;;
    *) echo "$1" ;;
    esac
}

limit_of() {
    case $1 in
    pkt | sync | time | evt) echo 95 ;;
    *) echo 92 ;;
    esac
}

mkdir -p "$dir" || exit 2
rm -rf "$dir"/[0-9]* "$dir"/base "$dir"/results
${CC:-cc} -std=c99 -O1 -o "$dir/mutate" tests/check/mutate.c || exit 2
: >"$dir/results"

# tree NAME: what the tests include, to be mutated.
tree() {
    mkdir -p "$dir/$1" && tar cf - ipt.h ipt_impl.h tests/*.[ch] fuzz/*.[ch] \
        zydis_glue examples/tools/common | (cd "$dir/$1" && tar xf -)
}

# object TREE SECTION: the sections up to this one, with all their functions,
# then all sections: two objects. Prints their sums.
object() {
    awk -v tag="$2" '/^\/\* ====/ {
            getline next_line
            if (seen && next_line ~ /^ \* \[/) {print "#endif"; exit}
            seen = seen || next_line ~ "^ \\* \\[" tag "\\]"
            print; print next_line; next}
        {print}' "$dir/$1/ipt_impl.h" >"$dir/$1/prefix.c"
    printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >"$dir/$1/whole.c"
    for f in "prefix -fkeep-static-functions" whole; do
        # shellcheck disable=SC2086 # a name and perhaps a flag
        set -- "$1" $f
        # shellcheck disable=SC2086
        gcc -std=c99 -w -O2 $3 -I"$dir/$1" -c "$dir/$1/$2.c" \
            -o "$dir/$1/$2.o" 2>/dev/null
        objcopy -O binary -j '.text*' -j '.rodata*' "$dir/$1/$2.o" \
            "$dir/$1/$2.bin" && sha256sum <"$dir/$1/$2.bin"
    done
}

# run TREE TEST FLAGS...: 0: it passes, 1: it fails, 2: it does not compile.
run() {
    tree=$1 name=${2%[:!]*} test=$2
    shift 2
    program=$dir/$tree/program
    case $name in
    fuzz/*)
        source="$dir/$tree/$name.c $dir/$tree/fuzz/standalone.c"
        inputs=$(find "fuzz/corpus/${name#*/}" "fuzz/regress/${name#*/}" \
            -type f 2>/dev/null) ;;
    *) source=$dir/$tree/tests/$name.c inputs= ;;
    esac
    # shellcheck disable=SC2086 # lists
    clang -std=c99 -w -O0 "$@" -I"$dir/$tree" -o "$program" $source \
        2>/dev/null || return 2
    count='' seconds=4
    case $test in
    *:*) count="TEST_COUNT=${test#*:}" seconds=10 ;;
    *!) seconds=20 ;;
    esac
    [ $# -eq 1 ] || seconds=$((seconds * 5)) # sanitizers
    # shellcheck disable=SC2086,SC3045 # a list; every Linux shell has ulimit -t
    (ulimit -t $seconds
     ulimit -c 0
     exec env $count TEST_STOP=1 ASAN_OPTIONS=detect_leaks=0 \
         timeout 300 "$program" $inputs) >/dev/null 2>&1 || return 1
}

# try TREE SECTION: all tests, plainly and with sanitizers. Says what noticed,
# or that it does not compile.
try() {
    for flags in -g0 "-fsanitize=address,undefined -fsanitize-trap=undefined"
    do
        for check in $(tests_of "$2"); do
            case $flags,$check in *sanitize*!) continue ;; esac
            # shellcheck disable=SC2086 # one or two flags
            run "$1" "$check" $flags
            case $? in
            1) echo "killed $check"; return ;;
            2) echo "left compiler"; return ;;
            esac
        done
    done
    echo "alive -"
}

# judge TREE NUMBER SECTION LINE OPERATOR KEY: adds its line to the results.
judge() {
    "$dir/mutate" apply "$dir/base/ipt_impl.h" "$2" >"$dir/$1/ipt_impl.h"
    verdict=$(try "$1" "$3")
    by=${verdict#* } verdict=${verdict% *}
    if [ "$verdict" = alive ] && object "$1" "$3" >"$dir/$1/sums" &&
        grep -qFf "$dir/$1/sums" "$dir/base/$3"; then
        verdict=left by=identical
    fi
    if grep -qxF "[$3] $6" $list; then
        case $verdict in
        alive) verdict=equivalent by=listed ;;
        killed) verdict=wrong ;;
        esac
    fi
    printf '%s %s %s %s %s\n' "$verdict" "$3" "$4" "$by" "$6" >>"$dir/results"
}

# A worker takes every JOBS-th mutant until its section has enough.
worker() {
    awk -v n="$JOBS" -v me="$1" 'NR % n == me' "$dir/todo" |
        while read -r number section line operator key; do
            [ "$(grep -cE "^(killed|alive|wrong) $section " "$dir/results")" \
                -lt "$COUNT" ] || [ "$COUNT" -eq 0 ] || continue
            judge "$1" "$number" "$section" "$line" "$operator" "$key"
        done
}

tree base # as it is now: it may be worked on meanwhile
"$dir/mutate" list "$dir/base/ipt_impl.h" "$SEED" >"$dir/all" || exit 2
for section; do
    object base "$section" >"$dir/base/$section"
    [ "$(try base "$section")" = "alive -" ] || {
        echo "mutate: without a mutant, [$section]: $(try base "$section")"
        exit 2
    }
done
for section; do
    grep "^[0-9]* $section " "$dir/all"
done >"$dir/todo"

trap 'kill $pids 2>/dev/null' HUP INT TERM
pids=
i=0
while [ $i -lt "$JOBS" ]; do
    cp -r "$dir/base" "$dir/$i"
    worker $i 2>/dev/null & # the shell names each program that crashes
    pids="$pids $!"
    i=$((i + 1))
done
# shellcheck disable=SC2086 # a list
wait $pids

grep -E '^(alive|wrong)' "$dir/results" | sort -k2,2 -k3,3n
for section; do
    awk -v section="$section" -v limit="$(limit_of "$section")" \
        -v all="$COUNT" '
        $2 == section {n[$1]++; by[$1, $4]++}
        END {
            judged = n["killed"] + n["alive"] + n["wrong"]
            rate = judged ? 100 * n["killed"] / judged : 0
            share = n["equivalent"] \
                ? 100 * n["equivalent"] / (judged + n["equivalent"]) : 0
            p = limit / 100
            small = all && judged && judged < 200
            slack = small ? 300 * sqrt(p * (1 - p) / judged) : 0
            ok = judged && rate >= limit - slack && !n["wrong"] \
                && (share < 6 || (judged < 100 && n["equivalent"] < 6))
            printf "%s %-8s %5.1f %% of %d killed (limit %d), %d alive, " \
                "%d equivalent (%.1f %%), left out: %d do not compile, " \
                "%d identical\n", ok ? "ok  " : "FAIL", section, rate, judged,
                limit, n["alive"], n["equivalent"], share,
                by["left", "compiler"], by["left", "identical"]
            exit !ok }' "$dir/results"
    echo $? >>"$dir/base/status"
done
passed=$(grep -c '^0' "$dir/base/status")
failed=$(grep -vc '^0' "$dir/base/status")
sed -n 's/^\[/[/p' $list | while read -r entry; do
    case " $* " in *" $(echo "$entry" | sed 's/^\[\([a-z]*\)\].*/\1/') "*) ;; *)
        continue ;; esac
    awk '{$1 = "[" $2 "]"; $2 = $3 = $4 = ""; sub(/ +/, " "); print}' \
        "$dir/all" | grep -qxF "$entry" || echo "$entry"
done >"$dir/stale"
[ ! -s "$dir/stale" ] || {
    echo "FAIL $list names what is not there:"
    cat "$dir/stale"
    failed=$((failed + 1))
}
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
