#!/bin/sh
# windows.sh: what ptflow shows of a window in time is what it shows of the whole,
# filtered, though it decodes little else.

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
    [ $recorded -eq 0 ] || [ $recorded -eq 77 ] ||
        fail_with "not recorded: $*" "$tmp/said"
    return $recorded
}

# lines WINDOW OPTION...: of $file, thread by thread; with the table of losses.
lines() {
    "$build/ptflow" "$@" "$file" 2>"$tmp/losses" >"$tmp/lines"
    sed 's/"depth":[^,]*,//' "$tmp/lines" | sort -s -n -k 1,1
    sed 's/[0-9]* queue.*//' "$tmp/losses"
}

# window NAME FROM PART OPTION...: of all lines the one where it begins, and which
# part of them it has, in thousandths.
window() {
    name=$1 from=$2 part=$3
    shift 3
    at=$(awk -v from="$from" -v part="$part" '{all[NR] = $1}
        END {print all[int(NR * from / 1000) + 1] "," \
            all[int(NR * (from + part) / 1000) + 1]}' "$tmp/times")
    lines --time "$at" "$@" >"$tmp/got"
    lines --time "$at" --stack-before all "$@" >"$tmp/want"
    diff "$tmp/want" "$tmp/got" >"$tmp/differ" && [ -s "$tmp/got" ] && pass ||
        fail_with "$name: $at $*" "$tmp/differ"
}

list_times() {
    "$build/ptflow" --quiet --fields time "$file" | sort -u >"$tmp/times"
}

INSN=tid,pid,cpu,time,ip,size,kind,comm,symoff,queue,offset,sure

# The lines of a window are those of all, whose time is in it.
filtered() {
    window whole 500 20 --fields "$INSN"
    "$build/ptflow" --quiet --fields "$INSN" "$file" |
        awk -v from="${at%,*}" -v to="${at#*,}" '$4 >= from && $4 <= to' |
        sort -s -n -k 1,1 >"$tmp/want"
    "$build/ptflow" --quiet --fields "$INSN" --time "$at" "$file" |
        sort -s -n -k 1,1 | cmp -s - "$tmp/want" && pass ||
        fail "of all lines, those of $at"
}

# A window in the middle: nobody knows who called. At the end another program runs,
# and its callers are known.
middle() {
    window middle 550 20 --call --json --fields tid,time,ip,to,kind
    "$build/ptflow" --quiet --call --json --time "$at" "$file" |
        grep -q '"depth":null' && pass || fail "callers are known"
    "$build/ptflow" --quiet --call --json --stack-before all --time "$at" \
        "$file" | grep -q '"depth":null' && fail "callers are not known" || pass
    "$build/ptflow" --quiet --call --fields ip --time "$at" "$file" |
        grep -qv '^? *[0-9a-f]*$' && fail "depths are shown" || pass
}

some() {
    for from in 13 333 635 967; do
        window "$1" $from 5 --fields "$INSN"
        window "$1" $from 9 --block --fields tid,pid,cpu,time,ip,count,sure,offset
        window "$1" $from 7 --branch --fields tid,cpu,time,ip,to,kind,offset
        window "$1" $from 20 --event --fields tid,cpu,time,ip,to,kind,offset
        window "$1" $from 20 --call --json --fields tid,cpu,time,ip,to,kind
    done
}

all() {
    for clock in tsc mtc cyc "cyc --cyc-threshold 64"; do
        for cpus in 0 1 2; do
            # shellcheck disable=SC2086 # words
            record --psb-period 200 --time $clock --cpus $cpus -- "$tmp/tree"
            list_times
            some "$clock, $cpus cpus"
        done
    done
}

# seconds COMMAND...: of the processor.
seconds() {
    bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0" 2>&1' "$tmp/out" "$@" 2>&1 |
        awk '{print $1 + $2}'
}

# lengthen BYTES: $file, repeated.
lengthen() {
    size=$(wc -c <"$file")
    # shellcheck disable=SC2086 # flags
    $CC -std=c99 $WARN -O2 -I. -o "$tmp/long" tests/truth/long.c &&
        "$tmp/long" $(($1 / size + 1)) "$file" "$tmp/big" ||
        fail "no long recording"
    file=$tmp/big
}

# The last lines of each thread, of which some need more than others.
lasts() {
    for cpus in 0 2; do
        record --psb-period 300 --time cyc --cpus $cpus -- "$tmp/tree"
        lengthen 1500000
        for what in "--last 5" "--last 4000 --block" "--last 70 --branch" \
            "--last 9 --call --json" "--last 20 --event" "--last 3 --func main"; do
            # shellcheck disable=SC2086 # words
            {
                lines $what --fields tid,cpu,time,ip,sure,offset >"$tmp/got"
                lines $what --fields tid,cpu,time,ip,sure,offset \
                    --stack-before all >"$tmp/want"
            }
            diff "$tmp/want" "$tmp/got" | grep '^[<>]' |
                grep -v ' instructions, ' >"$tmp/differ"
            [ -s "$tmp/got" ] || echo "there are none" >"$tmp/differ"
            expect_empty "$cpus cpus, $what" "$tmp/differ"
        done
        "$build/ptflow" --last 5 "$file" 2>&1 >"$tmp/lines" |
            grep -q "in the end only" && pass || fail "--last needs all"
    done
}

# is_short NAME: a part takes less than 1/50 of the whole.
is_short() {
    echo "$1: $part s; all: $whole s" >"$tmp/row"
    echo "$part $whole" | awk '{exit !($1 * 50 < $2)}' && pass ||
        fail_with "takes too long" "$tmp/row"
    [ -z "$VERBOSE" ] || cat "$tmp/row"
}

# least COMMAND...: the least seconds of three runs; other work on the machine makes
# a short one seem long.
least() { for i in 1 2 3; do seconds "$@"; done | sort -n | head -n 1; }

# A microsecond of 200 MB, and the last lines.
long() {
    record --time cyc --max 500000 -- ls -l /usr/lib
    list_times
    lengthen 200000000
    from=$(awk '{all[NR] = $1} END {print all[int(NR / 2)]}' "$tmp/times")
    from=${from%???}
    part=$(least "$build/ptflow" --time "${from}000,${from}999" "$file")
    grep -q " $from" "$tmp/out" || fail "nothing in 1 us"
    whole=$(seconds "$build/ptflow" --errors "$file")
    is_short "1 us"
    part=$(least "$build/ptflow" --last 5 "$file")
    [ "$(grep -c '^ls ' "$tmp/out")" -eq 5 ] || fail "--last 5 shows other lines"
    is_short "--last 5"
}

cd "$root" || exit 2
$CC -DNUMBERS=4 -O1 -w -static -pthread -o "$tmp/tree" \
    tests/programs/tree.c || exit 2
if record --psb-period 200 --time cyc --cpus 2 -- "$tmp/tree"; then
    list_times
    filtered
    middle
    rest 240 all
    rest 14 lasts
    rest 2 long
elif [ $recorded -eq 77 ]; then
    skip "windows: no ptrace here"
fi
report
