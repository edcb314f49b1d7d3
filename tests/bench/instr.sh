#!/bin/sh
# instr.sh: instructions that each layer takes for an item, counted by
# callgrind, so that they are the same on any day: on real traces, and on
# programs of scale/program.c. An item is a packet, an event, an instruction, or
# a byte of trace where coverage is made.
#
# TRACES=dir  has libxdc-mruby, libxdc-qemu and libxdc-foo; CASES="..." others.
#             Without it only the programs are decoded
# LAYER="insns cold"  only this row
# BASE=dir    another checkout, or a commit: both are measured, and a row fails
#             that is WORSE=3 percent above it. PARDON="insns,insns cold" names
#             rows that may be WORSE_PARDON=8 percent above
# TSV=1       tab-separated
#
# Without BASE a row fails above its limit in instr.limits, which holds for the
# compiler and the flags that it names; under others the table is only printed.
# Loops and labels are not aligned: how many instructions that do nothing lie
# before one depends on what else the program has.
# Rows of dense streams say how many times as many instructions libipt takes, and
# fail short of their floor.
# "coverage, blocks", with the callback for new blocks, may take 5 percent more
# than coverage.

here=tests/bench
. $here/build.sh
[ -z "$TRACES" ] || [ -d "$TRACES" ] || { echo "no folder $TRACES"; exit 2; }
command -v valgrind >/dev/null || {
    echo "SKIP valgrind is missing (package valgrind)"
    echo "0 passed, 0 failed, 1 skipped"
    exit
}

compiler="$($CC --version | sed -n '1s/^[^ ]* //p') ${CFLAGS:--O2 -g}"
align="-fno-align-loops -fno-align-jumps -fno-align-labels"
echo 'int x;' | $CC -Werror $align -x c -c -o /dev/null - 2>/dev/null || align=
CFLAGS="${CFLAGS:--O2 -g} $align"
LIBXDC=
if stale "$out/bench"; then compile "$out/bench" -I. $here/*.c; fi
build_scale "$out/instr" # with that of BASE, too
[ -z "$BASE" ] ||
    compile "$out/bench.base" -DNO_SEEN -I"$out/base" -I. $here/*.c

# count SIDE CASE ROW FUNCTION COMMAND...: case, row, bytes, items, instructions
# of that function.
count() {
    to=$out/$1 name=$2 row=$3 toggle=$4
    shift 4
    if valgrind --tool=callgrind --callgrind-out-file="$to.callgrind" \
        --toggle-collect="$toggle" "$@" >"$to.row" 2>"$to.log"
    then
        printf '%s\t%s\t%s\t%s\n' "$name" "$row" "$(cat "$to.row")" \
            "$(sed -n 's/.*Collected : //p' "$to.log")"
    else
        printf '%s\t%s\t0\t0\t0\n' "$name" "$row"
    fi
    rm -f "$to.callgrind"
}

# real CASE ROW, made CASE ROW: of this tree and, next to it, of BASE.
real() {
    [ -z "$BASE" ] || count before "$1" "$2" bench_once \
        "$out/bench.base" -1 "$2" "$TRACES/$1" >"$out/before" &
    count after "$1" "$2" bench_once "$out/bench" -1 "$2" "$TRACES/$1" \
        >"$out/after"
    wait
}

made() {
    [ -z "$BASE" ] || count before "$1" "$2" side_pass \
        "$out/instr" -1 "$1" "$2" base >"$out/before" &
    count after "$1" "$2" side_pass "$out/instr" -1 "$1" "$2" >"$out/after"
    wait
}

# dense SIDE PROGRAM: packets and events of streams that are dense in one kind of
# packet, and for each how many times as many instructions the peers take.
dense() {
    for layer in packets events; do
        rm -f "$out/dense.$1".*
        valgrind --tool=callgrind --callgrind-out-file="$out/dense.$1" \
            --toggle-collect=bench_once --dump-after=bench_once \
            "$2" -a -l $layer dense >"$out/$1.row" 2>"$out/$1.log"
        n=0
        while read -r row; do
            n=$((n + 1))
            printf '%s\t%s\n' "$row" \
                "$(sed -n 's/^summary: //p' "$out/dense.$1.$n")"
        done <"$out/$1.row"
    done | awk -F'\t' '
        function flush() {
            sub(/,$/, "", peers)
            if (own) print own "\t" peers
            peers = ""
        }
        $6 == 0 && $3 == "ipt" {
            flush(); at = $7
            own = $1 "\t" $2 "\t" $5 "\t" $4 "\t" $7; next
        }
        $6 > 0 { peers = peers sprintf(" %.2f %s%s,", $7 / at, $3,
            $7 / at < $6 ? sprintf(" (short of %g)", $6) : "") }
        END { flush() }'
    rm -f "$out/dense.$1".*
}

# each HOW CASE ROW...: call it for each row that is asked for.
each() {
    measure=$1 case=$2
    shift 2
    for layer; do
        [ "${LAYER:-$layer}" = "$layer" ] || continue
        $measure "$case" "$layer"
        if [ -n "$BASE" ]; then paste "$out/after" "$out/before"
        else cat "$out/after"; fi
    done
}

rows() {
    if [ -n "$TRACES" ]; then
        for name in ${CASES:-libxdc-mruby libxdc-qemu libxdc-foo}; do
            each real "$name" packets events blocks hot insns coverage \
                "blocks cold" "insns cold" "coverage cold"
            [ -n "$BASE" ] || each real "$name" "coverage, blocks"
        done
    fi
    [ -z "$CASES" ] || return
    if [ -z "$LAYER" ]; then
        dense after "$out/bench" >"$out/after"
        [ -z "$BASE" ] || dense before "$out/bench.base" | cut -f 1-5 >"$out/before"
        if [ -n "$BASE" ]; then cut -f 1-5 "$out/after" | paste - "$out/before"
        else cat "$out/after"; fi
    fi
    each made unif-1000 blocks insns coverage "coverage, no retcomp" \
        "coverage, deferred" "coverage, CYC"
    each made unif-1000 "events, CYC" "events, no time" "blocks, CYC" \
        "blocks, no time" "insns, CYC" "insns, no time"
    each made unif-10000 blocks coverage "coverage, no retcomp"
    each made noise "coverage, fresh"
}

rows | awk -F'\t' -v base="$BASE" -v tsv="$TSV" -v compiler="$compiler" \
    -v worse="${WORSE:-3}" -v pardon="$PARDON" \
    -v worse_pardon="${WORSE_PARDON:-8}" -v limits=$here/instr.limits '
    function print_line(a, b, c, d, e, f, g) {
        printf tsv ? "%s\t%s\t%s\t%s\t%s\t%s\t%s\n" \
            : "%-18s %-14s %12s %10s %10s %8s %s\n", a, b, c, d, e, f, g
        fflush()
    }
    BEGIN {
        while ((getline line < limits) > 0) {
            split(line, field, "\t")
            if (field[1] == "compiler") known = field[2]
            else limit[field[1], field[2]] = field[3]
        }
        n = split(pardon, list, ",")
        for (i = 1; i <= n; i++) pardoned[list[i]] = 1
        if (base)
            print_line("case", "row", "instructions", "before", "after",
                "ratio", "verdict")
        else
            print_line("case", "row", "instructions", "per item", "per byte",
                "limit", "verdict")
    }
    # Items are those of its own side: an item more is not an item dearer.
    {
        item = $2 ~ /^coverage/ ? $3 : $4
        each = item ? $5 / item : 0
        verdict = ""
        if (base) {
            was = $2 ~ /^coverage/ ? $8 : $9
            was = was ? $10 / was : 0
            allowed = 1 + ($2 in pardoned ? worse_pardon : worse) / 100
            if (!was || !each) verdict = "NOT MEASURED"
            else if (each / was > allowed) verdict = "SLOWER"
            if (verdict) failed++; else passed++
            print_line($1, $2, $5, sprintf("%.2f", was), sprintf("%.2f", each),
                was ? sprintf("%.3f", each / was) : "-", verdict)
            next
        }
        byte = $3 ? $5 / $3 : 0
        allowed = limit[$1, $2]
        if (!each) { verdict = "NOT MEASURED"; failed++ }
        else if ($2 == "coverage") plain[$1] = each
        if ($2 == "coverage, blocks" && plain[$1]) {
            allowed = sprintf("%.2f", 1.05 * plain[$1])
            if (each > 1.05 * plain[$1]) {
                verdict = "ABOVE ITS LIMIT"; failed++
            } else if (each) passed++
        } else if (each && compiler == known && allowed) {
            if (byte > allowed) { verdict = "ABOVE ITS LIMIT"; failed++ }
            else if ($6 ~ /short of/) failed++
            else passed++
        }
        print_line($1, $2, $5, sprintf("%.2f", each), sprintf("%.2f", byte),
            allowed ? allowed : "-", verdict ? verdict : $6)
    }
    END {
        if (!base && compiler != known)
            print "The limits are for " known "; this is " compiler
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0
    }'
