#!/bin/sh
# profile.sh: whose time it is. Programs are recorded with a clock that
# is not flat, and with each kind of time in the trace. What ptprof says of each
# function is compared with the recorder's log (spread.c), and what its views say
# with each other. `profile.sh long`: five programs of a million instructions.

form=$1
set -- .
. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
CXX=${CXX:-c++}
cd "$root" || exit 2

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O2 -o "$tmp/spread" tests/truth/spread.c || exit 2
$CC -std=gnu99 -O1 -w -static -pthread -o "$tmp/plain" \
    tests/truth/programs/time.c || exit 2

# says WHAT COMMAND...: passes when COMMAND does, and shows its last line.
says() {
    what=$1
    shift
    if "$@" >"$tmp/said" 2>&1; then
        pass
        [ -z "$VERBOSE" ] || echo "$what: $(tail -n 1 "$tmp/said")"
    else
        fail_with "$what" "$tmp/said"
    fi
}

prof() {
    timeout 300 "$build/ptprof" --quiet --no-demangle "$@" "$tmp/data"
}

# symbols FILE: its functions with their sizes, and where stubs are.
symbols() {
    nm -S "$1"
    readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] *\([.]plt\)/\1/p' |
        while read -r _ _ at _ size _; do
            echo "$at T [plt]"
            printf '%016x T [end]\n' $((0x$at + 0x$size))
        done
}

# folded: stacks; stubs are one function, and code that was made has the name of
# its file.
folded() {
    prof --folded | sed -e 's/\(.*;\)[^;]*@plt[^;]* \([0-9]*\)$/\1[plt] \2/' \
        -e 's/\[jit_\([a-z]*\)\] \([0-9]*\)$/\1 \2/'
}

# record OPTION... -- PROGRAM...: without an environment, which the program would
# read.
record() {
    rm -rf "$tmp/log"
    env -i "$build/ptrecord" --quiet --unkind --costs -o "$tmp/log" \
        --perf-data "$tmp/data" "$@" >/dev/null 2>"$tmp/recorded"
}

threads() {
    for file in "$tmp/log"/*.u64; do echo "${file%.u64}"; done
}

# timed WHAT KIND N: one program, with each clock in $clocks.
timed() {
    what=$1 program=$2 kind=$3 n=$4
    symbols "$program" | sort >"$tmp/symbols"
    echo "$clocks" | while read -r clock; do
        # shellcheck disable=SC2086 # options
        (cd "$tmp" && record --time $clock -- "$program" "$kind" "$n") ||
            { echo "FAIL $what $clock: not recorded"; continue; }
        folded >"$tmp/folded"
        case $clock in tsc*cpus*) coarse=-t ;; *) coarse= ;; esac
        # shellcheck disable=SC2046,SC2086 # threads, an option or none
        "$tmp/spread" $coarse "$tmp/symbols" "$tmp/folded" $(threads) \
            >"$tmp/said" && echo "ok" || echo "FAIL"
        echo "$what, $clock: $(tail -n 5 "$tmp/said")"
    done >"$tmp/results"
    passed=$((passed + $(grep -c '^ok' "$tmp/results")))
    failed=$((failed + $(grep -c '^FAIL' "$tmp/results")))
    if [ -n "$VERBOSE" ] || grep -q '^FAIL' "$tmp/results"; then
        cat "$tmp/results"
    fi
}

# ---- what views say ----

# The last recording. Lines of a program without any are its functions.
number='function number(text) {
    sub(/^~/, "", text)
    return text * (text ~ /us$/ ? 1e3 : text ~ /ms$/ ? 1e6 : 1)
}'
views() {
    prof --folded >"$tmp/stacks"
    prof --flat --min 0 >"$tmp/flat"
    prof --lines --min 0 >"$tmp/lines"
    prof --callgrind "$tmp/callgrind"
    prof --speedscope "$tmp/speedscope"
    says "$1: --flat, --lines and --folded agree" awk "$number"'
        FILENAME ~ /stacks$/ {
            n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); own[$0] += n; next
        }
        FNR == 1 {next}
        FILENAME ~ /flat$/ {
            name = $0; n = number($3)
            sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "", name)
        }
        FILENAME ~ /lines$/ {
            name = $0; n = number($2); sub(/^ *[^ ]+ +[^ ]+ +/, "", name)
        }
        {
            d = own[name] - n
            if (d < 0) d = -d
            if (d > 0.006 * n + 3) {print FILENAME, $0, own[name]; bad = 1}
            rows++
        }
        END {print rows, "rows"; exit bad || rows < 20}' \
        "$tmp/stacks" "$tmp/flat" "$tmp/lines"
    says "$1: the total is that of callgrind" awk '
        FILENAME ~ /stacks$/ {all += $NF; next}
        /^totals:/ {total = $3}
        END {print all, total; exit all != total || all == 0}' \
        "$tmp/stacks" "$tmp/callgrind"
    says "$1: the time line has the times of the stacks" awk '
        FILENAME ~ /stacks$/ {
            n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); own[$0] += n
            stacks[$0]++
            all += n
            next
        }
        {split("", at)}
        /"type":"[OC]"/ {
            kind = $0 ~ /"O"/
            frame = $0; sub(/.*"frame":/, "", frame); frame += 0
            time = $0; sub(/.*"at":/, "", time); time += 0
            if (depth) took[way[depth]] += time - last
            if (kind) way[++depth] = frame; else depth--
            last = time
            events++
            next
        }
        /"frames"/ {names = 1}
        names && match($0, /"name":"[^"]*"/) {
            name[count++] = substr($0, RSTART + 8, RLENGTH - 9)
        }
        END {
            for (f in took) {
                d = took[f] - own[name[f]]; sum += took[f]
                if (d < 0) d = -d
                if (d > stacks[name[f]] + 0.001 * events) {
                    print name[f], took[f], "not", own[name[f]]; bad = 1
                }
            }
            print events, "events,", sum, "of", all, "ns"
            exit bad || events < 100 || sum < all - 1 || sum > all + 1
        }' "$tmp/stacks" "$tmp/speedscope"
    prof --on-cpu --folded | sort >"$tmp/on"
    grep -v ';\[\(syscall\|interrupt\|off cpu\|unknown\)\] [0-9]*$' \
        "$tmp/stacks" | sort >"$tmp/off"
    says "$1: --on-cpu leaves out gaps, and nothing else" awk '
        {n = $NF; sub(/ [0-9]+$/, "")}
        FILENAME ~ /off$/ {ns[$0] = n; next}
        {d = ns[$0] - n; if (d > 1 || d < -1) {print; bad = 1}}
        {rows++; delete ns[$0]}
        END {
            for (f in ns) if (ns[f] > 1) {print f, "is missing"; bad = 1}
            exit bad || rows < 20
        }' "$tmp/off" "$tmp/on"
}

# Cycles of the simulation are ticks of the TSC, 3.192 in a ns.
ipc() {
    prof --by insn --flat --min 0 >"$tmp/insns"
    prof --ipc --flat --min 0 >"$tmp/ipc"
    says "--ipc" awk "$number"'
        FNR == 1 {header = $0; next}
        FILENAME ~ /insns$/ {
            insns[$5] = $3 * ($3 ~ /k/ ? 1e3 : $3 ~ /M/ ? 1e6 : 1); next
        }
        number($3) < 500 || $6 ~ /^\[/ {next}
        {
            right = insns[$6] / (number($3) * 3.192)
            if ($5 > 1.03 * right + .01 || $5 < .97 * right - .01) {
                print $0, "not", right; bad = 1
            }
            n++
        }
        END {print n, "functions"; exit bad || n < 3 || header !~ /IPC/}' \
        "$tmp/insns" "$tmp/ipc"
}

echo "int main(void) {return 0;}" | $CC -static -x c -o "$tmp/none" - || exit 2
(cd "$tmp" && record --time tsc -- "$tmp/none")
if no_ptrace "$tmp/recorded"; then
    skip "programs cannot be recorded here"
    report
    exit
fi
# exceptions N: a program in C++.
exceptions() {
    have "$CXX" g++ || return
    $CXX -O1 -w -static -Wl,-z,muldefs,--eh-frame-hdr -o "$tmp/cc" \
        tests/truth/programs/time.cc || exit 2
    timed "C++" "$tmp/cc" x "$1"
}

# A million instructions each, with all clocks.
long() {
    clocks=$all_clocks
    timed "threads" "$tmp/plain" threads 180
    timed "plain" "$tmp/plain" plain 8
    timed "recursion" "$tmp/plain" recursion 400
    timed "made code" "$tmp/plain" jit 30
    exceptions 40
}

all_clocks="tsc --cpus 2
mtc --cpus 2
cyc
cyc --cyc-threshold 64
mtc
tsc
cyc --cyc-threshold 1024 --cpus 2
cyc --cpus 2"
other_clocks() {
    clocks="mtc --cpus 2
cyc --cyc-threshold 64
tsc
cyc --cyc-threshold 1024 --cpus 2"
    timed "threads" "$tmp/plain" threads 5
}
rest 4 other_clocks
[ -z "$TEST_FULL" ] || { report; exit; }
clocks="tsc --cpus 2
cyc
mtc
cyc --cpus 2"
timed "threads" "$tmp/plain" threads 5
views "cyc by cpu"
ipc
clocks=cyc
exceptions 2
clocks="tsc
mtc"
timed "made code" "$tmp/plain" jit 3
views "mtc"
[ "$form" != long ] || long
report
