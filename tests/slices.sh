#!/bin/sh
# slices.sh: what ptflow, ptprof and ptcov print, in all their output and their status,
# is the same with any number of processes that decode, and they do.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}

# record OPTION...
record() {
    file=$tmp/data
    rm -rf "$tmp/log"
    alone "$build/ptrecord" --quiet -o "$tmp/log" --perf-data "$file" "$@" \
        >"$tmp/said" 2>&1
    recorded=$?
    [ $recorded -eq 0 ] || fail_with "not recorded: $*" "$tmp/said"
    return $recorded
}

# lengthen BYTES: $file, repeated.
lengthen() {
    "$tmp/long" $(($1 / $(wc -c <"$file") + 1)) "$file" "$tmp/more" ||
        fail "no long recording"
    file=$tmp/more
}

# damage PART: some bytes of $file, so many of 8 from its beginning.
damage() {
    size=$(wc -c <"$file")
    head -c 300 /dev/zero | tr '\0' '\377' | dd of="$file" bs=1 conv=notrunc \
        seek=$((size * $1 / 8)) 2>/dev/null
}

# flow OPTION...: standard output, error and status.
tool=ptflow
flow() {
    "$build/$tool" "$@" "$file" >"$tmp/lines" 2>"$tmp/errors"
    echo "status $?" | cat "$tmp/lines" "$tmp/errors" -
}

# same NAME PROCESSES OPTION...
same() {
    name=$1 counts=$2
    shift 2
    flow -j 1 "$@" >"$tmp/want"
    [ "$(wc -l <"$tmp/want")" -gt 1 ] || fail "$name: no output: $*"
    for n in $counts; do
        flow -j "$n" "$@" | cmp -s - "$tmp/want" && pass ||
            fail "$name: other output: -j $n $*"
    done
}

kinds() {
    same "$1" "2 7" --fields tid,pid,cpu,time,ip,symoff,offset,sure
    same "$1" 3 --fields tid,ip
    same "$1" 3 --block --errors
    same "$1" 7 --branch --json
    same "$1" 3 --event --errors
    same "$1" 2 --errors --strict
    same "$1" 3 --call
    same "$1" 3 --last 3
}

# views NAME: of the other tools.
views() {
    tool=ptprof
    same "$1" "2 3" --tree --min 0
    same "$1" 2 --callgrind - --strict
    same "$1" 7 --chrome -
    same "$1" 2 --before signal --last 5
    same "$1" 3 --before crash
    same "$1" 3 --hot
    same "$1" 2 --waits --flat
    same "$1" 2 --drcov - --dso tree
    tool=ptcov
    same "$1" "2 3" --edges - --indirect
    same "$1" 2 --drcov -
    tool=ptflow
}

# divides NAME PROCESSES OPTION...: they decode to the end. Half of the output is
# read, then ptflow has so many children.
divides() {
    name=$1 count=$2
    shift 2
    half=$(($(flow "$@" | wc -c) / 2))
    rm -f "$tmp/pipe"
    mkfifo "$tmp/pipe"
    "$build/ptflow" --quiet -j "$count" "$@" "$file" >"$tmp/pipe" &
    of=$!
    children=$({
        head -c $half >/dev/null
        cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) . //' |
            awk -v of=$of '$1 == of {n++} END {print n + 0}'
        cat >/dev/null
    } <"$tmp/pipe")
    wait $of
    [ "$children" -eq "$count" ] && pass ||
        fail "$name: $children processes of $count: $*"
}

# fits NAME: of ptprof, the process that would decode all if slices did not fit is
# ended before they can be joined, and nobody asks for it.
fits() {
    tool=ptprof
    flow -j 1 --chrome - >"$tmp/want"
    tool=ptflow
    rm -f "$tmp/pipe"
    mkfifo "$tmp/pipe"
    "$build/ptprof" -j 2 --chrome - "$file" >"$tmp/pipe" 2>"$tmp/errors" &
    of=$!
    {
        head -c 100000
        last=$(cat /proc/[0-9]*/stat 2>/dev/null |
            awk -v of=$of '{pid = $1; sub(/.*\) /, "")} $2 == of {print pid}' |
            sort -n | tail -n 1)
        [ -n "$last" ] && kill -KILL "$last"
        cat
    } <"$tmp/pipe" >"$tmp/lines"
    wait $of
    echo "status $?" | cat "$tmp/lines" "$tmp/errors" - |
        cmp -s - "$tmp/want" && [ -n "$last" ] && pass ||
        fail "$1: slices of ptprof do not fit"
}

# clocks: what times are made of, as each of them is.
clocks() {
    for how in "tsc 0" "mtc 0" "cyc 0" "cyc 2" "cyc 16" "cyc 64" "cyc 256" \
        "cyc 4096"; do
        for cpus in 0 2 3; do
            for kind in "--seed 2" --unkind; do
                name="${how% *}, threshold ${how#* }, $cpus cpus, $kind"
                # shellcheck disable=SC2086 # words
                record --psb-period 200 --cpus $cpus --time ${how% *} \
                    --cyc-threshold ${how#* } $kind -- "$tmp/tree"
                lengthen 60000
                same "$name" 2 --fields tid,cpu,time,ip,sure
                tool=ptprof
                same "$name" 3 --tree --min 0
                same "$name" 2 --chrome -
                tool=ptflow
            done
        done
    done
}

# programs: code that a JIT compiler writes, and programs that become others; as
# they are, and on and on.
programs() {
    $CC -O1 -w -static -o "$tmp/jit" tests/programs/jit.c || exit 2
    for program in jit tree; do
        for time in "cyc 0" "mtc 0" "cyc 2"; do
            cd "$tmp" || exit 2
            record --psb-period 100 --time "${time% *}" --cpus "${time#* }" -- \
                "$tmp/$program"
            cd "$root" || exit 2
            tool=ptprof
            if [ $program = jit ]; then
                flow --flat --min 0 | grep -q ' jit .*[.]dump' && pass ||
                    fail "no code of a compiler: $time"
            fi
            tool=ptflow
            for n in 1 2; do
                same "$program, $time" "2 7" --fields tid,ip,symoff,comm
                tool=ptprof
                same "$program, $time" 3 --tree --min 0
                tool=ptflow
                [ "$n" -eq 2 ] || lengthen 60000
            done
        done
    done
}

# few: a thread that most slices have nothing of.
few() {
    $CC -O1 -w -static -pthread -o "$tmp/long-tree" tests/programs/tree.c || exit 2
    record --psb-period 100 --time cyc --cpus 0 -- "$tmp/long-tree"
    tool=ptprof
    for tid in $("$build/ptflow" --quiet --fields tid "$file" | sort -u); do
        last=$tid
    done
    same "in few slices" "2 3" --tid "$last" --tree --min 0
    tool=ptflow
}

# instructions PROCESSES: of ptprof's longest process, by callgrind; the first one
# joins and shows, too.
instructions() {
    rm -f "$tmp"/calls.*
    valgrind --tool=callgrind --callgrind-out-file="$tmp/calls.%p" \
        "$build/ptprof" -j "$1" --tree "$file" >"$tmp/lines" 2>"$tmp/errors"
    sed -n 's/^totals: //p' "$tmp"/calls.* | sort -n | tail -n 1
}

# halves NAME: two processes do it in so much less. Which of them takes a slice
# depends on how fast they are, so the floor is well below what is reached where
# both have a processor: 1.7 times.
halves() {
    if ! have valgrind; then
        skip "slices: no valgrind"
        return
    fi
    one=$(instructions 1)
    two=$(instructions 2)
    echo "$1: $one instructions, $two of the longer one of two" >"$tmp/row"
    [ -z "$VERBOSE" ] || cat "$tmp/row"
    echo "$one $two" | awk '{exit !($2 > 0 && $1 >= 1.3 * $2)}' && pass ||
        fail_with "two processes are no faster" "$tmp/row"
}

all() {
    # shellcheck disable=SC2086 # flags
    $CC -std=c99 $WARN -O1 -I. -o "$tmp/long" tests/truth/long.c || exit 2
    for cpus in 0 1 2; do
        record --psb-period 100 --time cyc --cpus $cpus -- "$tmp/tree"
        lengthen 2000000
        fits "$cpus cpus, longer"
    done
    for cpus in 1 2; do
        record --time cyc --cpus $cpus -- "$tmp/tree"
        lengthen 4000000
        halves "$cpus cpus"
    done
    few
    programs
    clocks
    for how in "tsc 2" "mtc 0" "mtc 2" "cyc 0" "cyc 2 --cyc-threshold 64" \
        "none 0" "cyc 3 --unkind"; do
        # shellcheck disable=SC2086 # words
        record --psb-period 200 --cpus ${how#* } --time ${how%% *} -- "$tmp/tree"
        lengthen 60000
        kinds "$how cpus"
        views "$how cpus"
        for part in 3 4 6; do damage $part; done
        kinds "$how cpus, damaged"
        views "$how cpus, damaged"
    done
}

cd "$root" || exit 2
$CC -DNUMBERS=4 -O1 -w -static -pthread -o "$tmp/tree" \
    tests/programs/tree.c || exit 2
if record --psb-period 100 --time cyc --cpus 2 -- "$tmp/tree"; then
    divides "2 cpus" 2 --json
    same "2 cpus" "2 7" --block --errors
    fits "2 cpus"
    tool=ptprof
    same "2 cpus" 2 --tree --min 0
    tool=ptcov
    same "2 cpus" 2 --edges - --drcov /dev/null
    tool=ptflow
    damage 5
    same "2 cpus, damaged" 2 --event --errors
fi
rest 484 all
report
