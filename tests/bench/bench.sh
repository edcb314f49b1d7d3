#!/bin/sh
# bench.sh [run|smoke|compat|curve]: build the bench and run it; see bench.c.
#
#     run      the table, over TRACES/* and build/corpus (make corpus)
#     smoke    every row once, over a small recording of our own, and check
#              that all agree on the number of instructions; and libxdc's,
#              with what stands in for it
#     compat   the libipt.so.2 of examples/compat next to the system's: the same
#              items of each row, and instructions by callgrind
#     curve    speed of blocks by size of the cache, as tests/bench/cache.svg
#
# TRACES=dir   folders with trace.pt and image.map, of at least MIN=16384 bytes
# CASES="..."  only these of them, or random-tnt, gzip, bash-inputs, ROUNDS=5
# TSV=1        tab-separated               LAYER=blocks  only these rows
# LIBXDC=dir   coverage next to libxdc: its source tree, built or not; needs
#              capstone (package libcapstone-dev)
# LAYER=parallel  two threads next to one

mode=${1:-run}
here=tests/bench
. $here/build.sh

if [ "$mode" = smoke ]; then # speed is no matter there: compiled fast
    CFLAGS=-O0 out=$out/tiny
    mkdir -p "$out" || exit 2
fi
if stale "$out/bench"; then
    libxdc
    # shellcheck disable=SC2086 # flags
    compile "$out/bench" -I. $here/*.c $xdc
fi

# ---- cases ----

real() {
    for dir in "$TRACES"/*; do
        [ -e "$dir/trace.pt" ] || continue
        [ "$(wc -c <"$dir/trace.pt")" -ge "${MIN:-16384}" ] && echo "$dir"
    done
}

# Recordings that are always the same, of different kinds.
recorded() {
    for name in gzip-text bash python sqlite-rows objects; do
        dir=$build/corpus/$name.2000000
        [ ! -e "$dir/trace.pt" ] || echo "$dir"
    done
}

# Noise: a loop of three branches, each taken or not at random, always the same
# way; 1 MB of TNT packets and nothing else, except the end of tracing.
noise() {
    dir=$out/random-tnt
    mkdir -p "$dir"
    if [ -z "$(find "$dir/image.map" -newer $here/bench.sh 2>/dev/null)" ]; then
        { printf '\164\001\220\164\001\220\164\001\220\353\365'
          head -c 4085 /dev/zero; } >"$dir/code"
        { printf '\002\202\002\202\002\202\002\202'
          printf '\002\202\002\202\002\202\002\202\002\043'
          printf '\231\001\161\000\000\100\000\000\000'
          LC_ALL=C awk 'BEGIN {
              for (x = i = 1; i <= 1000000; i++) {
                  x = x * 16807 % 2147483647
                  printf "%c", 128 + 2 * (int(x / 65536) % 64)
              } }'
          printf '\001'; } >"$dir/trace.pt"
        echo "400000 1000 code 0" >"$dir/image.map"
    fi
    echo "$dir"
}

# What programs left on several inputs: those of the corpus, which have little
# in common; and variants of one, as fuzzers make them.
several() {
    for program in gzip bash lua python sqlite; do
        set -- "$build/corpus/$program"[.-]*2000000
        [ ! -e "$2/trace.pt" ] || echo "$program=$*" | tr ' ' +
        set -- "$build/corpus/inputs/$program"-*
        [ ! -e "$2/trace.pt" ] || echo "$program-inputs=$*" | tr ' ' +
    done
}

cases() {
    if [ -n "$CASES" ]; then
        for name in $CASES; do
            { [ ! -d "$TRACES/$name" ] || echo "$TRACES/$name"
              [ "$name" != random-tnt ] || noise
              several; echo "$build/corpus/$name"; } |
                grep -m 1 -e "^$name=" -e "/$name\$"
        done
    else
        { [ -n "$TRACES" ] && real; recorded; } | grep . ||
            echo examples/recording
        noise
        several
    fi
}

# ---- modes ----

# All rows that walk code find the same instructions.
smoke() {
    "$out/bench" -t -r 1 examples/recording >"$out/smoke"
    [ $? -le 1 ] || exit 1 # speed is no matter here
    want=$(($(wc -c <examples/recording/ips.u64) / 8))
    echo '#include <intel-pt.h>' | ${CC:-cc} -E - >/dev/null 2>&1 &&
        libipt=here || libipt=
    perf=$(command -v perf)
    awk -F'\t' -v want=$want -v libipt="$libipt" -v perf="$perf" \
        -v next_="$LIBIPT_NEXT" '
        $3 == "libipt 2.1" && next_ == "" && $9 == "left out" { next }
        $3 ~ /^libipt/ && libipt == "" && $9 == "no peer" { next }
        $3 == "perf" && perf == "" && $9 == "left out" { next }
        NR > 1 && $2 ~ /^(blocks|insns)/ {
            if ($6 == want) { passed++ } else { failed++; print "FAIL " $0 }
        }
        NR > 1 && !($4 > 0) && $9 != "no peer" { failed++; print "FAIL " $0 }
        END { printf "%d passed, %d failed\n", passed, failed
              exit failed > 0 || passed == 0 }' "$out/smoke" >"$out/rows" ||
        { cat "$out/rows"; exit 1; }
    has "" coverage "	libxdc	.*	1.50	\(FALLS SHORT\)\?$"
    has "" "coverage cold" "	libxdc	"
    has slow coverage "	1.50	$" 0
    has wrong coverage "	libxdc	.*	COUNTERS DIFFER$" 1
    has abort coverage "	left out$" 0
    has none coverage "	no peer$" 0
    sed "s/^[0-9]*/$(($(sed 's/ .*//' "$out/rows") + 6))/" "$out/rows"
}

# has HOW LAYER TEXT [STATUS]: what is said next to what stands in for libxdc,
# and the exit status.
has() {
    [ "$1" = none ] && dir='' || dir=$here/standin
    STANDIN=$1 LIBXDC=$dir LIBXDC_CFLAGS=-O0 CFLAGS=-O0 BUILD=$out/standin \
        TSV=1 LAYER=$2 CASES=recording TRACES=examples ROUNDS=1 \
        sh $here/bench.sh >"$out/standin.log" 2>&1
    status=$?
    grep -q "$3" "$out/standin.log" && [ $status -eq "${4:-$status}" ] && return
    echo "FAIL $* $status"
    cat "$out/standin.log"
    echo "0 passed, 1 failed"
    exit 1
}

# The library of `make compat` next to the system's: both in one process, then
# the bench linked with either. All find the same items, and theirs takes at
# least as many instructions, twice as many for blocks with a callback, as
# callgrind counts them. No trace has flow that only one of them follows; three
# are short: PADs, MTCs and CYCs, and hardly any flow. Where a callback is asked
# for fewer than 1,000 instructions, most of the work is events: three quarters
# of the original's on lldb-multi-file, whose queries alone are 1.1 times as
# fast. Blocks cannot be twice as fast there; with a callback such rows may cost
# 7 % more: events of three versions, and times of their own.
compat() {
    command -v valgrind >/dev/null || {
        echo "SKIP valgrind is missing (package valgrind)"
        echo "0 passed, 0 failed, 1 skipped"
        exit
    }
    unset LIBIPT
    set -- examples/recording
    for name in libxdc-foo dynamorio-hello hase-control_flow lldb-multi-file; do
        [ ! -e "$TRACES/$name" ] || set -- "$@" "$TRACES/$name"
    done
    rm -f "$out"/compat.*
    LIBIPT=$build/compat/libipt.so.2 valgrind --tool=callgrind \
        --callgrind-out-file="$out/compat.callgrind" \
        --toggle-collect=bench_once --dump-after=bench_once \
        "$out/bench" -a -l compat "$@" >"$out/compat.rows" 2>"$out/compat.log"
    i=0
    while read -r row; do
        i=$((i + 1))
        printf '%s\t%s\n' "$row" \
            "$(sed -n 's/^summary: //p' "$out/compat.callgrind.$i")"
    done <"$out/compat.rows" >"$out/compat.counted"
    # With a library that is linked, as others' programs are.
    for path in "" "$build/compat"; do
        LD_LIBRARY_PATH=$path "$out/bench" -a "$@" | grep -E "	libipt( [a-z]+)?	"
    done >"$out/compat.linked"
    awk -F'\t' '
        function judge(good, what) {
            if (good) passed++; else failed++
            print good ? "ok  " : "FAIL", what
        }
        { key = $1 "\t" $2 "\t" $3 }
        NF == 4 {
            if (key in linked) judge($4 == linked[key] && $4 > 0, $0)
            else linked[key] = $4
            next
        }
        $3 == "on ipt" { items[$1, $2] = $4; ours[$1, $2] = $5; next }
        {
            floor = $2 == "compat blk call" ? 2 : 1
            if ($4 < 1000 && $2 ~ /call/) floor = 0.93
            ratio = ours[$1, $2] ? $5 / ours[$1, $2] : 0
            judge($4 == items[$1, $2] && $4 > 0 && ratio >= floor,
                $1 " " $2 ": " $4 " items, " sprintf("%.2f", ratio) " of " floor)
        }
        END {
            printf "%d passed, %d failed\n", passed, failed
            exit failed > 0 || passed < 14
        }' "$out/compat.counted" "$out/compat.linked"
}

case $mode in
smoke)
    smoke
    ;;
compat)
    compat
    ;;
curve)
    # shellcheck disable=SC2046 # one word a folder
    "$out/bench" -k -r "${ROUNDS:-5}" $(cases | grep -v =) \
        >"$out/cache.data" &&
        gnuplot -e "data='$out/cache.data'" $here/cache.gp >$here/cache.svg
    ;;
run)
    [ -n "$LIBXDC" ] ||
        echo "SKIP coverage next to libxdc: give LIBXDC=dir, its source tree" \
            "(package libcapstone-dev)"
    echo 0,0,0 >"$out/counts"
    # shellcheck disable=SC2046
    [ "${LAYER:-parallel}" != parallel ] || COUNTS=$out/counts \
        sh $here/parallel.sh $(cases | grep -v =)
    [ -e "$build/compat/libipt.so.2" ] &&
        export LIBIPT="${LIBIPT-$build/compat/libipt.so.2}"
    # shellcheck disable=SC2046
    "$out/bench" ${TSV:+-t} ${LAYER:+-l "$LAYER"} -r "${ROUNDS:-5}" \
        -c "$(cat "$out/counts")" $(cases)
    ;;
*)
    sed -n 's/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
