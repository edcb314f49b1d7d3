#!/bin/sh
# ptparallel.sh: what ptparallel gives in any number of threads, and joined from
# jobs that each decode a part, is what one decoder gives: recorded programs
# with and without return compression, all sorts of generated traces of real
# programs (make corpus), loss, and events that have begun before a PSB.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
tool=$build/ptparallel

# same NAME FOLDER TRACE [OPTIONS...]: in all ways of cutting.
same() {
    name=$1 folder=$2 trace=$3
    shift 3
    want=$("$tool" --map "$folder" --pt "$trace" --threads 1 "$@") ||
        { fail "$name: exit status $?"; return; }
    for threads in 1 2 3 7; do
        for part in 1 500 ""; do
            # shellcheck disable=SC2086 # an option or none
            "$tool" --map "$folder" --pt "$trace" --threads $threads \
                ${part:+--part $part} --check "$@" >"$tmp/out" 2>&1
            if [ "$(cat "$tmp/out")" = "$want
same in one piece" ]; then pass
            else fail_with "$name in $threads threads, ${part:-no} part" \
                "$tmp/out"; fi
        done
    done
}

# jobs NAME FOLDER TRACE [OPTIONS...]: the text of one run, of threads, and of
# jobs of three PSBs each that are joined.
jobs() {
    name=$1 folder=$2 trace=$3
    shift 3
    n=$("$tool" --pt "$trace" --index | wc -l)
    "$tool" --map "$folder" --pt "$trace" --threads 1 --insn "$@" >"$tmp/one"
    "$tool" --map "$folder" --pt "$trace" --threads 3 --part 1 --insn "$@" |
        cmp - "$tmp/one" >"$tmp/out" 2>&1 && pass ||
        fail_with "$name: text of threads" "$tmp/out"
    for i in $(seq 0 3 $((n - 1))); do
        "$tool" --map "$folder" --pt "$trace" --threads $((i % 2 + 1)) \
            --part 1 --insn --segments $i:+3 "$@"
    done >"$tmp/jobs"
    "$tool" --join <"$tmp/jobs" 2>&1 | cmp - "$tmp/one" >"$tmp/out" 2>&1 &&
        pass || fail_with "$name: text of jobs" "$tmp/out"
}

# ---- generated from recordings: loss, interrupts, guests, transactions ----

truth=$build/corpus/bin/truth

# generated CASE...: of truth.c, 14 tests each.
generated() {
    for case; do
        psbs=0
        # What a filter leaves of the beginning depends on the processor.
        for most in 15000 30000 60000; do
            [ "$psbs" -le 3 ] || break
            rm -rf "$tmp/c"
            mkdir "$tmp/c" &&
                "$truth" -i $most -d 100 -c $case -w "$tmp/c" "$run" >"$tmp/out" ||
                fail_with "truth -c $case" "$tmp/out"
            psbs=$("$tool" --pt "$tmp/c/trace.pt" --index | wc -l)
        done
        [ "$psbs" -gt 3 ] || fail "truth -c $case: few PSBs"
        case $case in *noretc*) flag=--no-retcomp ;; *) flag= ;; esac
        # shellcheck disable=SC2086 # an option or none
        same $case "$tmp/c" "$tmp/c/trace.pt" $flag
        # shellcheck disable=SC2086
        jobs $case "$tmp/c" "$tmp/c/trace.pt" $flag
        rm -rf "$tmp/c"
    done
}

if ! qemu-x86_64 --help 2>&1 | grep -q plugin; then
    skip "no qemu-x86_64 with plugins (Debian 12's qemu-user)"
else
    sh tests/truth/corpus.sh few >"$tmp/out" 2>&1 ||
        fail_with "cannot record" "$tmp/out"
    run=$(ls "$build"/corpus/bash.*/0.run | head -n 1)
    rest 98 generated user noretc-defer loss-defer filter stop kernel-events \
        kernel-noretc
    [ -n "$TEST_FULL" ] || generated noretc tnt64-defer loss filter-loss \
        stop-filter tsx kernel-loss guest-all
fi
[ -z "$TEST_FULL" ] || { report; exit; }

# ---- recorded programs ----

# recorded NAME FOLDER [OPTIONS...]: and they are the instructions that ran.
recorded() {
    name=$1 folder=$2
    shift 2
    same "$name" "$folder" "$folder/trace.pt" "$@"
    jobs "$name" "$folder" "$folder/trace.pt" "$@"
    od -An -v -tx8 -w8 "$folder/ips.u64" | tr -d ' ' >"$tmp/want"
    grep '^[0-9a-f]\{16\} ' "$tmp/one" | cut -c1-16 | cmp - "$tmp/want" \
        >"$tmp/out" 2>&1 && pass ||
        fail_with "$name: what was decoded and what ran" "$tmp/out"
}

recorded "the recording" examples/recording
for flag in "" --no-retcomp; do
    # shellcheck disable=SC2086 # an option or none
    alone "$build/ptrecord" --quiet $flag --psb-period 400 --max 60000 \
        -o "$tmp/rec" -- ls -l / >"$tmp/out" 2>&1
    case $?-$(no_ptrace "$tmp/out" && echo no) in
    0-) recorded "ls $flag" "$tmp/rec" $flag ;;
    *-no) skip "cannot record with ptrace here" ;;
    *) fail_with "ptrecord $flag" "$tmp/out" ;;
    esac
    rm -rf "$tmp/rec"
done

# ---- typed here ----

psb='\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\202'
plus="$psb\\231\\001\\175\\000\\020\\000\\000\\000\\000\\002\\043" # 64, 1000
taken='\376'                                # TNT: six taken
pwre='\002\042\000\020' pwrx='\002\242\001\000\000\000\000'
mwait='\002\302\007\000\000\000\000\000\000\000' exstop='\002\142'
ovf='\002\363\175\000\020\000\000\000\000'  # FUP 1000
pgd='\001' pge='\161\000\020\000\000\000\000' # at 1000
printf '1000 2 loop.bin 0\n' >"$tmp/image.map"
printf '\165\376' >"$tmp/loop.bin"          # jne to itself

# typed NAME PARTS USED TRACE: how many of the parts were of use.
typed() {
    # shellcheck disable=SC2059 # the bytes are the format
    printf "$4" >"$tmp/typed.pt"
    same "$1" "$tmp" "$tmp/typed.pt"
    "$tool" --map "$tmp" --pt "$tmp/typed.pt" --threads 2 --part 1 --stat \
        2>&1 >/dev/null | sed 's/.*threads, //' >"$tmp/out"
    [ "$(cat "$tmp/out")" = "$2 parts, $3 used" ] && pass ||
        fail_with "$1: want $2 parts, $3 used" "$tmp/out"
    jobs "$1" "$tmp" "$tmp/typed.pt"
}

typed plain 3 3 "$plus$taken$plus$taken$plus$taken"
typed "PWRE before a PSB, PWRX after" 3 2 \
    "$plus$taken$pwre$plus$taken$pwrx$taken$plus$taken"
typed "the same, OVF instead of PWRX" 3 2 \
    "$plus$taken$pwre$plus$taken$ovf$taken$plus$taken"
typed "MWAIT before two PSBs" 4 2 \
    "$plus$taken$mwait$plus$taken$plus$taken$exstop$taken$plus$taken"
typed "OVF right before a PSB" 2 2 "$plus$taken$ovf$plus$taken"
typed "disabled and resumed across a PSB" 3 3 \
    "$plus$taken$pgd$psb\\231\\001\\002\\043$pge$taken$plus$taken"
typed "a job whose first part ends where the job before it did" 5 4 \
    "$plus$taken$plus$taken$plus$taken$pgd$psb\\231\\001\\002\\043$plus$pge$taken"
typed "disabled, and no mode comes" 3 2 \
    "$plus$taken$pgd$psb\\002\\043$pge$taken$plus$taken"
typed "an error, and flow after it" 4 3 \
    "$plus$taken\\015\\000\\060$taken$plus$taken$plus\\002\\377$plus$taken"
typed "a PSB+ that contradicts" 3 3 \
    "$plus$taken$pgd$plus$taken$plus$taken"

# ---- GNU parallel: the recipe of --help, with two jobs on this machine ----

if have parallel parallel && parallel --version 2>/dev/null | grep -q GNU; then
    # shellcheck disable=SC2059 # the bytes are the format
    for i in 1 2 3 4 5; do
        printf "$plus$taken$taken$pwre$plus$taken$pwrx$plus$taken$taken"
    done >"$tmp/many.pt"
    n=$("$tool" --pt "$tmp/many.pt" --index | wc -l)
    "$tool" --map "$tmp" --pt "$tmp/many.pt" --threads 1 --insn >"$tmp/one"
    seq 0 4 $((n - 1)) |
        parallel --will-cite -q -k -j 2 "$tool" --map "$tmp" \
            --pt "$tmp/many.pt" --insn --segments {}:+4 |
        "$tool" --join 2>&1 | cmp - "$tmp/one" >"$tmp/out" 2>&1 && pass ||
        fail_with "GNU parallel" "$tmp/out"
fi

# ---- what must be refused ----

# refuse STATUS TEXT ARGUMENTS...: exit status and these words.
refuse() {
    want=$1
    words=$2
    shift 2
    "$tool" "$@" <"$tmp/in" >/dev/null 2>"$tmp/out"
    status=$?
    [ $status -eq "$want" ] && grep -q "$words" "$tmp/out" && pass ||
        fail_with "ptparallel $*: status $status, want $want and: $words" \
            "$tmp/out"
}

: >"$tmp/in"
refuse 2 "no --pt"
refuse 2 "unknown option" --what
refuse 2 "bad argument: 0" --threads 0
refuse 1 "no such range" --pt "$tmp/typed.pt" --segments 9:10
refuse 1 "no such range" --pt "$tmp/typed.pt" --segments 1:1
refuse 1 "no PSB" --map "$tmp" --pt "$tmp/loop.bin"
refuse 1 "no end" --join
"$tool" --map "$tmp" --pt "$tmp/typed.pt" --segments 0:1 >"$tmp/in"
"$tool" --map "$tmp" --pt "$tmp/typed.pt" --segments 2: >>"$tmp/in"
refuse 1 "nothing goes on at" --join
"$tool" --map "$tmp" --pt "$tmp/typed.pt" --segments 0:1 | grep -v ^end \
    >"$tmp/in"
refuse 1 "no end" --join

report
