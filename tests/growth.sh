#!/bin/sh
# growth.sh: what many records of a kind, many symbols, sections, lines or functions
# of a JIT compiler cost, by callgrind's instructions less those of a file without
# them: at most 2.2 times for twice as many, and 24 times for 16 times; and at most
# 64 MiB and 200 bytes a record. make test has the memory of one kind.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}

# What is measured: a tool and its options.
tool=ptflow options="--quiet -j 1 --stack-before all --last 1"

# spent FILE: instructions.
spent() {
    # shellcheck disable=SC2086 # words
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$build/$tool" $options "$1" 2>&1 >"$tmp/shown" |
        awk '/Collected/ && $NF > n {n = $NF} END {print n}'
}

# memory FILE: the most that it takes, in KiB.
memory() {
    # shellcheck disable=SC2086 # words
    "$tmp/peak" "$tmp/size" "$build/$tool" $options "$1" \
        >"$tmp/shown" 2>&1 && cat "$tmp/size"
}

# records KIND N: $tmp/more has them.
records() { "$tmp/many" "$1" "$2" "$tmp/data" "$tmp/more"; }

# grows KIND FEW [COMMAND]: two tests. FEW are enough for most of the instructions to
# be of them. COMMAND KIND N makes them.
grows() {
    row=$1 few=$2 make=${3:-records}
    for n in $few $((2 * few)) $((4 * few)) $((16 * few)); do
        $make "$1" $n || { fail "$1: $n"; return; }
        row="$row $(spent "$tmp/more")"
    done
    echo "$row" | awk -v base="$base" '{
        for (i = 2; i <= 5; i++) $i -= base
        printf "%s: %d of %d, %.2f, %.2f times, 16: %.1f times\n", $1, $2,
            base + $2, $3 / $2, $4 / $3, $5 / $2
        exit $2 <= 0 || $3 > 2.2 * $2 || $4 > 2.2 * $3 || $5 > 24 * $2}' \
        >"$tmp/row" && pass || fail_with "grows too fast" "$tmp/row"
    [ -z "$VERBOSE" ] || cat "$tmp/row"
    is_small "$1" $((16 * few))
}

# is_small KIND N: what N of them in $tmp/more take; with sanitizers twice as
# much. A queue that is read has a decoder.
is_small() {
    size=$(memory "$tmp/more")
    bytes=200
    case $1 in queue-*) bytes=6400 ;; esac
    most=$((65536 + $2 * bytes / 1024))
    ! grep -q __asan_init "$build/ptflow" || most=$((2 * most))
    [ "${size:-0}" -gt 0 ] && [ "$size" -le $most ] && pass ||
        fail "$1: $2 take $size KiB"
}

# is_bounded TOOL [OPTION]: with --max-memory it says what it leaves out of $tmp/more, whose
# records take more: status 0, with --strict 1.
is_bounded() {
    tool=$1
    shift
    cd "$tmp" || exit 2
    "$build/$tool" "$@" --max-memory 8M "$tmp/more" >"$tmp/shown" 2>"$tmp/said"
    said=$?
    "$build/$tool" "$@" --max-memory 8M --strict "$tmp/more" >"$tmp/none" 2>&1
    strict=$?
    [ $said -eq 0 ] && [ $strict -eq 1 ] && [ -s "$tmp/shown" ] &&
        grep -q "records.*by --max-memory" "$tmp/said" && pass ||
        fail_with "$tool --max-memory: $said $strict" "$tmp/said"
    cd "$root" || exit 2
}

# sources KIND N: a program with so many functions, lines of one function, or calls
# that were inlined, in assembler or C.
sources() {
    case $1 in
    symbols) awk -v n="$2" 'BEGIN {
        print ".text\n.globl _start\n_start: mov $60, %eax\nxor %edi, %edi\nsyscall"
        for (i = 0; i < n; i++)
            printf ".globl f%d\n.type f%d,@function\nf%d: nop\n.size f%d, 1\n",
                i, i, i, i}' ;;
    lines) awk -v n="$2" 'BEGIN {
        print ".file 1 \"x.c\"\n.text\n.globl _start\n_start:"
        for (i = 1; i <= n; i++) printf ".loc 1 %d\nnop\n", i
        print "mov $60, %eax\nxor %edi, %edi\nsyscall"}' ;;
    inlines) awk -v n="$2" 'BEGIN {
        print "static inline __attribute__((always_inline)) void f(void)"
        print "{__asm__ volatile(\"nop\");}"
        print "void _start(void) {"
        for (i = 0; i < n; i++) print "f();"
        print "__asm__ volatile(\"syscall\" :: \"a\"(60), \"D\"(0));}"}' ;;
    esac
}

# program KIND N: $tmp/more is a recording of it.
program() {
    kind=$1
    suffix=s
    [ "$kind" != inlines ] || suffix=c
    sources "$kind" "$2" >"$tmp/x.$suffix"
    $CC -g -O1 -w -nostdlib -static -o "$tmp/x" "$tmp/x.$suffix" &&
        alone "$build/ptrecord" --quiet --max 50 -o "$tmp/log" --perf-data \
            "$tmp/more" -- "$tmp/x" >"$tmp/said" 2>&1
}

# sections KIND N: the program of $tmp/more gets so many more.
sections() {
    [ -s "$tmp/x0" ] || { program symbols 1 && cp "$tmp/x" "$tmp/x0"; } &&
        "$tmp/many" sections "$2" "$tmp/x0" "$tmp/x"
}

# jitted KIND N: the jitdump of $tmp/more.
jitted() { "$tmp/many" "$1" "$2" "$tmp/dump" "$jitdump"; }

# mapped KIND N: its perf-PID.map, where perf and we look for it.
mapped() {
    awk -v n="$2" 'BEGIN {for (i = 0; i < n; i++)
        printf "%x 40 f%d\n", 4294967296 + 64 * i, i}' >"$map"
}

# is_cheap KIND INSTRUCTIONS: so many at most for each byte of $tmp/more.
is_cheap() {
    n=$(($(spent "$tmp/more") / $(wc -c <"$tmp/more")))
    [ $n -gt 0 ] && [ $n -le "$2" ] && pass || fail "$1: $n instructions a byte"
}

# repeated KIND N: the recording $tmp/short, as often.
repeated() { "$tmp/long" "$2" "$tmp/short" "$tmp/more"; }

# based KIND FEW COMMAND: as grows, less what a file with one costs.
based() {
    "$3" "$1" 1 || { fail "$1: 1"; fail "$1: 1"; return; }
    base=$(spent "$tmp/more")
    grows "$@"
}

# Code, and trace: what a file names, and what it has most of.
files() {
    tool=ptprof options="--quiet --flat --force"
    based symbols 2500 program
    sections sections 1
    based sections 2500 sections
    if "$build/ptprof" --lines "$tmp/more" 2>&1 | grep -q libdw; then
        skip "growth: no libdw"
    else
        options="--quiet --lines"
        based lines 10000 program
        options="--quiet --flat --inlined"
        based inlines 1000 program
    fi
    $CC -O1 -w -static -o "$tmp/jit" tests/programs/jit.c || exit 2
    cd "$tmp" || exit 2
    alone "$build/ptrecord" --quiet -o "$tmp/log" --perf-data \
        "$tmp/more" --time mtc -- "$tmp/jit" >"$tmp/said" 2>&1
    cd "$root" || exit 2
    jitdump=$(echo "$tmp"/jit-*.dump)
    cp "$jitdump" "$tmp/dump"
    tool=ptflow options="--quiet --last 1"
    based dump-load 2500 jitted
    based dump-move 2500 jitted
    rm "$jitdump"
    program symbols 1 && strip "$tmp/x"
    folder=/tmp # as perf has it
    map=$folder/perf-$("$build/ptflow" --quiet --last 1 --fields pid "$tmp/more").map
    tool=ptprof options="--quiet --flat --force"
    based perf-map 2500 mapped
    rm -f "$map"
    tool=ptflow options="--quiet --errors -j 1"
    # shellcheck disable=SC2086 # flags
    $CC -std=c99 $WARN -O2 -I. -o "$tmp/long" tests/truth/long.c || exit 2
    for how in "psb --max 20000 --time cyc --psb-period 64" \
        "coarse --max 3000 --time tsc --cpus 1 --quantum 300"; do
        # shellcheck disable=SC2086 # words
        alone "$build/ptrecord" --quiet -o "$tmp/log" --perf-data \
            "$tmp/short" ${how#* } -- "$tmp/tree" >"$tmp/said" 2>&1
        based "${how%% *}" 16 repeated
    done
    # Threads whose times are too coarse for the switches between them.
    $CC -DNUMBERS=4 -O1 -w -static -pthread -o "$tmp/tree" tests/programs/tree.c ||
        exit 2
    for cpus in 1 2; do
        alone "$build/ptrecord" --quiet -o "$tmp/log" --perf-data \
            "$tmp/short" --max 40000 --time tsc --cpus $cpus --quantum 300 \
            -- "$tmp/tree" >"$tmp/said" 2>&1
        repeated threads 2
        is_cheap "threads-$cpus" $((20000 * cpus))
    done
}

all() {
    tool=ptflow
    base=$(spent "$tmp/data")
    for kind in comm process fork exit map map-down map-same poke poke-same \
        symbol symbol-goes thread bpf lost aux queue queue-psb \
        queue-cpu snapshot; do
        grows $kind 2500
    done
    grows map-any 10000
    grows sample 12000
    grows gap 12000
    grows switch 12000
    grows switch-new 12000
    "$tmp/many" switch-new 1000000 "$tmp/data" "$tmp/more"
    is_small switch-new 1000000
    files
}

cd "$root" || exit 2
# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O2 -o "$tmp/many" tests/truth/many.c || exit 2
$CC -O1 -o "$tmp/peak" tests/mock/peak.c || exit 2
$CC -O1 -w -static -o "$tmp/tree" tests/programs/tree.c || exit 2
alone "$build/ptrecord" --quiet --max 20000 --time mtc --cpus 1 -o \
    "$tmp/log" --perf-data "$tmp/data" -- "$tmp/tree" >"$tmp/said" 2>&1
case $?-$(no_ptrace "$tmp/said" && echo no) in
0-)
    "$tmp/many" process 80000 "$tmp/data" "$tmp/more"
    is_small process 80000
    is_bounded ptflow --event # the program's mappings come later
    is_bounded ptprof
    is_bounded ptsplit
    ! have valgrind valgrind || rest 69 all ;;
*-no) skip "growth: no ptrace here" ;;
*) fail_with "not recorded" "$tmp/said" ;;
esac
report
