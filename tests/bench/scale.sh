#!/bin/sh
# scale.sh [run|smoke]: speed on programs of 1,000, 10,000 and 100,000 functions
# and on everything else that the other benches leave out; see scale/scale.c.
#
#     run     the table; each row with a floor passes, fails, or is skipped
#             because its peer is not here
#     smoke   every row once, over tiny programs, with what stands in for libxdc
#             and without; all have to give what the programs executed
#
# BASE=dir    another checkout, or a commit: its rows are measured in the same
#             run. A row fails where ours is slower than that; next to the
#             commit from before large programs were worked on, coverage with a
#             memo of 1 MiB has to gain what GAIN in scale/scale.c says
# LIBXDC=dir  coverage next to libxdc: see bench.sh
# GROUP=text  only groups whose title has this  ROUNDS=5
# TSV=1       tab-separated

mode=${1:-run}
here=tests/bench
. $here/build.sh

if [ "$mode" = smoke ]; then
    BASE=. LIBXDC=$here/standin LIBXDC_CFLAGS=-O0 CFLAGS=-O0
    out=$out/tiny
    mkdir -p "$out" || exit 2
fi
program=$out/scale

# ---- invalidation ----

# Instructions of one ipt_cache_invalidate of a page.
cost() {
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind.$$" \
        --toggle-collect=side_invalidate "$program" -i "$@" 2>&1 |
        sed -n 's/.*Collected : //p'
    rm -f "$out/callgrind.$$"
}

# The rows of them: instructions, and how they grow with the cache.
invalidations() {
    command -v valgrind >/dev/null || {
        echo "SKIP valgrind is missing (package valgrind)"
        echo 0 0 4 >>"$out/counts"
        return
    }
    [ -n "$TSV" ] || printf '\n%s\n%-28s %12s %8s %7s %7s\n' \
        "one page invalidated, by callgrind" row instructions ratio floor goal
    for who in '' ${BASE:+base}; do
        for asid in one any; do
            # shellcheck disable=SC2086 # a word or none
            small=$(cost 262144 $asid $who)
            # shellcheck disable=SC2086
            large=$(cost 67108864 $asid $who)
            echo "$small ${large:-0} $asid $who"
        done
    done | awk -v tsv="$TSV" -v counts="$out/counts" '
        { # what the base takes is only printed
            ours = $4 == ""
            for (i = 1; i <= 2; i++) {
                name = "a cache of " (i == 1 ? "256 KiB" : "64 MiB") \
                    ($3 == "any" ? ", no asid" : "") (ours ? "" : ", base")
                ratio = i == 2 && $1 ? $2 / $1 : 0
                bad = !$i || $i > 20000 || ratio > 2
                if (ours) { if (bad) failed++; else passed++ }
                printf tsv ? "invalidate\t%s\t%d\t\t%.2f\t%s\t%s\t\t\t\t\t\t%s\n" \
                    : "%-28s %12d %8.2f %7s %7s %s\n", name, $i, ratio,
                    i == 1 ? "20,000" : "2", i == 1 ? "4,000" : "1.2",
                    ours && bad ? "FALLS SHORT" : ""
            }
        }
        END { print passed + 0, failed + 0, 0 >>counts }'
}

# ---- modes ----

run() {
    # shellcheck disable=SC2086 # options
    "$program" ${TSV:+-t} $1 -r "${ROUNDS:-5}" ${GROUP:+-g "$GROUP"} \
        2>"$out/counts"
    status=$?
    [ $status -le 1 ]
}

total() {
    awk '{ passed += $1; failed += $2; skipped += $3 }
        END {
            printf "%d passed, %d failed", passed, failed
            if (skipped) printf ", %d skipped", skipped
            print ""
            exit failed > 0
        }' "$out/counts"
}

# The last line, if there is one, and the status.
finish() {
    if [ -n "$TSV" ]; then total >/dev/null; else echo; total; fi
}

passed=0 failed=0

# expect WHAT COMMAND...: counts whether the command succeeds.
expect() {
    what=$1
    shift
    if "$@" >/dev/null; then passed=$((passed + 1))
    else failed=$((failed + 1)); echo "FAIL $what"; fi
}

fails() { ! "$@"; }

# rows AWK-CONDITION: which of all rows must have, and at least one.
rows() {
    awk -F'\t' "NR > 1 && !($1) { bad++; print \"FAIL \" \$0 >\"/dev/stderr\" }
        END { exit bad > 0 || NR < 2 }" "$out/rows"
}

# some AWK-CONDITION: which at least one row must have.
some() {
    awk -F'\t' "NR > 1 && $1 { n++ } END { exit !n }" "$out/rows"
}

# tiny HOW GROUP: every row of some groups over tiny programs, next to what
# stands in for libxdc. Sets status.
tiny() {
    STANDIN=$1 GROUP=$2 ROUNDS=1 TSV=1 run -s >"$out/rows"
}

smoke() {
    tiny "" "" || { cat "$out/counts"; exit $status; }
    without='0' # libipt is measured where it is
    echo '#include <intel-pt.h>' | ${CC:-cc} -E - >/dev/null 2>&1 ||
        without='$2 ~ /^libipt / && $13 == "no peer"'
    expect "rows" rows '$3 > 0 && $13 ~ /^(FALLS SHORT)?$/ || '"$without"
    expect "libxdc" some '$2 == "libxdc"'
    expect "memo like libxdc" \
        some '$2 == "libxdc" && $10 >= 1024 && $10 == memo || (memo = $10) * 0'
    expect "base" some '$2 == "  base" && $5 > 0'
    tiny "" nosuch
    expect "no such group" [ $status -eq 2 ]
    tiny wrong noise
    expect "wrong counters" some '$2 == "libxdc" && $13 == "COUNTERS DIFFER"'
    expect "status of wrong counters" [ $status -eq 1 ]
    tiny slow noise
    expect "a floor held" some '$2 == "libxdc" && $6 > 0 && $13 == ""'
    tiny abort noise
    expect "libxdc dies" some '$2 == "libxdc" && $13 == "left out"'
    expect "and is skipped" grep -q '^[0-9]* [0-9]* 1$' "$out/counts"
    for asid in one any; do
        expect "invalidate $asid" "$program" -i 262144 $asid
    done
    for TSV in "" 1; do
        echo 2 0 1 >"$out/counts"
        expect "status of rows that hold" finish
        echo 1 1 0 >>"$out/counts"
        expect "status of one that falls short" fails finish
    done
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
}

case $mode in
smoke)
    build_scale "$program"
    smoke
    ;;
run)
    build_scale "$program"
    [ -n "$LIBXDC" ] ||
        echo "SKIP coverage next to libxdc: give LIBXDC=dir, its source tree" \
            "(package libcapstone-dev)"
    run || { cat "$out/counts"; exit $status; }
    case $GROUP in
    '' | *invalidated*) invalidations ;;
    esac
    finish
    ;;
*)
    sed -n 's/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
