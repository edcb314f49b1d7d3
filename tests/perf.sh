#!/bin/sh
# perf.sh [few|quick|all]: what ptrecord --perf-data writes decodes in perf to
# exactly the instructions that each thread executed, and so it does in ptflow,
# and in ptxed after ptsplit. The lists of those are from ptrace or QEMU, not from
# the trace. Ends with a table.

mode=${1:-few}
set -- .
. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
mkdir "$tmp/home"

finish() {
    report
    exit
}

if ! perf version >/dev/null 2>&1; then
    skip "perf: perf is missing (package linux-perf)"
    finish
fi
perf=$(command -v perf)

# What our tools would find: it says that it was started.
mkdir "$tmp/bin"
echo "echo perf \"\$@\" >>'$tmp/started'; exit 1" >"$tmp/bin/perf"
sed -i '1i #!/bin/sh' "$tmp/bin/perf"
chmod +x "$tmp/bin/perf"
PATH=$tmp/bin:$PATH

# As little as possible of this machine: no configuration, no cache, no colour.
perf() {
    HOME=$tmp/home PERF_CONFIG=/dev/null LC_ALL=C timeout 300 "$perf" "$@"
}

# decoded FILE: lines TID IP of every instruction that perf finds.
decoded() {
    perf script -f -i "$1" --itrace=i0ns -F tid,ip 2>"$tmp/err" |
        awk '{print $1, $2}'
}

# executed FOLDER: the same lines from the lists, thread by thread.
executed() {
    for list in "$1"/*.u64; do
        tid=$(basename "$list" .u64)
        od -An -v -tx8 -w8 "$list" | sed "s/^ *0*/$tid /"
    done
}

# split FILE: the same lines by the commands that ptsplit prints; by cpu there
# is not a thread, and the instructions are sorted.
split() {
    rm -rf "$tmp/split"
    "$build/ptsplit" -o "$tmp/split" --ptxed "$1" 2>"$tmp/err" |
        while read -r line; do
            case $line in
            '# thread '*) tid=${line##* } ;;
            '# cpu '*) tid=cpu ;;
            *) eval "\"\$build\"/$line --no-inst" |
                sed -n "s/^0*\([0-9a-f]*\)\$/$tid \1/p" ;;
            esac
        done
}

# check_split NAME: so is what ptsplit makes of it.
check_split() {
    split "$tmp/x.data" >"$tmp/split.got"
    if grep -q '^cpu' "$tmp/split.got"; then
        sed 's/.* /cpu /' "$tmp/want" | sort >"$tmp/split.want"
        sort -o "$tmp/split.got" "$tmp/split.got"
    else
        cp "$tmp/want" "$tmp/split.want"
        sort -s -n -k 1,1 -o "$tmp/split.got" "$tmp/split.got"
    fi
    if [ -s "$tmp/split.want" ] &&
        cmp -s "$tmp/split.got" "$tmp/split.want"; then
        pass
    else
        failed=$((failed + 1))
        echo "FAIL ptsplit and ptxed: $1"
        diff "$tmp/split.want" "$tmp/split.got" | head -n 5
        tail -n 3 "$tmp/err"
    fi
}

# check_flow NAME: so is what ptflow prints.
check_flow() {
    "$build/ptflow" --fields tid,ip "$tmp/x.data" 2>"$tmp/err" |
        sort -s -n -k 1,1 >"$tmp/flow.got"
    if [ -s "$tmp/want" ] && cmp -s "$tmp/flow.got" "$tmp/want"; then
        pass
    else
        failed=$((failed + 1))
        echo "FAIL ptflow: $1"
        diff "$tmp/want" "$tmp/flow.got" | head -n 5
        tail -n 3 "$tmp/err"
    fi
}

# check NAME: $tmp/x.data is what $tmp/x says.
check() {
    decoded "$tmp/x.data" | sort -s -n -k 1,1 >"$tmp/got"
    executed "$tmp/x" | sort -s -n -k 1,1 >"$tmp/want"
    threads=$(cut -d ' ' -f 1 "$tmp/want" | uniq | wc -l)
    count=$(wc -l <"$tmp/want")
    if [ "$count" -gt 0 ] && cmp -s "$tmp/got" "$tmp/want" &&
        [ "$threads" -ge "${least:-1}" ]; then
        pass
        result=same
    else
        failed=$((failed + 1))
        result=FAIL
        diff "$tmp/want" "$tmp/got" | head -n 5
        tail -n 3 "$tmp/err"
    fi
    printf '%-6s %-24s %9d instructions, %2d threads, %8d bytes\n' $result \
        "$1" "$count" "$threads" "$(wc -c <"$tmp/x.data")"
    check_split "$1"
    check_flow "$1"
}

# record NAME OPTION... -- COMMAND...
record() {
    name=$1
    shift
    rm -rf "$tmp/x" "$tmp/x.data"
    alone timeout 300 "$build/ptrecord" --quiet --perf-data "$tmp/x.data" \
        -o "$tmp/x" "$@" >"$tmp/out" 2>&1 </dev/null
    status=$?
    if no_ptrace "$tmp/out"; then
        skip "perf: ptrecord needs ptrace and Linux on x86-64"
        finish
    elif [ $status -ne 0 ]; then
        failed=$((failed + 1))
        echo "FAIL $name: ptrecord: exit status $status"
        tail -n 3 "$tmp/out"
    else
        check "$name"
    fi
}

# programs: four programs under QEMU, recorded into $tmp/q.
programs() {
    qemu-x86_64 --help 2>&1 | grep -q plugin || return 1
    truth=tests/truth
    $CC -O2 -shared -fPIC -o "$tmp/qplugin.so" $truth/qplugin.c &&
        $CC -O1 -w -pthread -o "$tmp/threads" $truth/programs/threads.c &&
        $CC -O1 -w -o "$tmp/signals" $truth/programs/signals.c || return 1
    emulate threads 50000 "$each" "$tmp/threads"
    emulate signals 100000 "$insns" "$tmp/signals"
    emulate gzip 150000 "$insns" /bin/gzip -c /bin/bash
    emulate bash 300000 "$insns" /bin/bash -c \
        'for ((i = 0; i < 9999; i++)); do a=${a#?}$((i * 7)); done; echo $a'
}

# emulate NAME SKIP MAX COMMAND...
emulate() {
    plugin="$tmp/qplugin.so,out=$tmp/q/$1,skip=$2,max=$3"
    mkdir -p "$tmp/q/$1"
    shift 3
    env -i LC_ALL=C PATH=/usr/bin:/bin timeout 120 qemu-x86_64 -seed 1 \
        -plugin "$plugin" "$@" >/dev/null 2>&1 </dev/null
}

# replay NAME OPTION...: all four.
replay() {
    name=$1
    shift
    record "$name" "$@" --qemu "$tmp"/q/*
}

[ "$mode" = all ] && numbers=60 || numbers=4
$CC -DNUMBERS=$numbers -O1 -w -static -pthread -o "$tmp/tree" \
    tests/programs/tree.c || {
    failed=1
    finish
}

least=1
[ "$mode" = few ] || record "true" -- /bin/true
least=6
record "tree" -- "$tmp/tree"
record "tree, cyc, 2 CPUs" --time cyc --cpus 2 --quantum 5000 -- "$tmp/tree"
if [ "$mode" = all ]; then
    record "tree, tsc" --time tsc --no-retcomp -- "$tmp/tree"
    record "tree, mtc" --time mtc --psb-period 300 -- "$tmp/tree"
    record "tree, cyc" --time cyc -- "$tmp/tree"
    record "tree, mtc, 2 CPUs" --time mtc --cpus 2 -- "$tmp/tree"
    record "tree, cyc, 1 CPU" --time cyc --cpus 1 --gap 400 -- "$tmp/tree"
    record "tree, cyc, 4 CPUs" --time cyc --cpus 4 --seed 2 -- "$tmp/tree"
    least=3
    record "pipe, cyc" --time cyc -- sh -c '/bin/true | /bin/true; exec true'
fi

# flow FOLDER: the same lines by ptflow.
flow() {
    "$build/ptflow" --quiet --fields tid,ip "$1" 2>"$tmp/err"
}

# both DECODER NAME FOLDER: a program and the kernel, both traced, are what is in
# the folder's list.
both() {
    executed "$3" >"$tmp/want"
    "$1" "$3" >"$tmp/got"
    count=$(grep -c ' ffffffff81' "$tmp/want")
    if [ "$count" -gt 0 ] && cmp -s "$tmp/got" "$tmp/want"; then
        pass
        result=same
    else
        failed=$((failed + 1))
        result=FAIL
        diff "$tmp/want" "$tmp/got" | head -n 5
        tail -n 3 "$tmp/err"
    fi
    printf '%-6s %-24s %9d instructions, %8d of the kernel\n' $result "$2" \
        "$(wc -l <"$tmp/want")" "$count"
}

[ "$mode" = all ] && insns=2000000 || insns=50000
$CC -O0 -w -I. -o "$tmp/kernel" tests/mock/kernel.c \
    examples/tools/common/perf/perfwrite.c &&
    "$tmp/kernel" "$tmp/k" $insns && "$tmp/kernel" "$tmp/c" $insns cpu || {
    failed=$((failed + 1))
    finish
}
both decoded "user and kcore, perf" "$tmp/k"
both flow "user and kcore, ptflow" "$tmp/k"
both flow "user and kcore, 1 CPU" "$tmp/c"

# Events, PEBS records among them: each as perf says it, and in its order among those
# of its kind.
$CC -O0 -w -I. -o "$tmp/events" tests/mock/events.c || fail "events.c"
[ "$mode" = all ] && last=40 || last=4
number=0
while [ $number -lt $last ]; do
    number=$((number + 1))
    "$tmp/events" "$tmp/e.data" "$tmp/e.code" $number || fail "events $number"
    perf script -f -i "$tmp/e.data" --itrace=pwo --ns -F synth:event,time,ip,synth \
        -F hw:event,time,ip,iregs,addr,weight,ins_lat,brstack 2>"$tmp/err" |
        awk -f tests/events.awk | sort -s -k 1,1 >"$tmp/want"
    "$build/ptflow" --event --fields kind,time,values "$tmp/e.data" 2>>"$tmp/err" |
        awk -f tests/events.awk | sort -s -k 1,1 >"$tmp/got"
    kinds=$(cut -d ' ' -f 1 "$tmp/want" | uniq | tr '\n' ' ')
    [ "$kinds" = "cbr exstop mwait pebs ptwrite pwre pwrx " ] &&
        cmp -s "$tmp/got" "$tmp/want" && pass || {
        diff "$tmp/want" "$tmp/got" >>"$tmp/err"
        fail_with "events $number: perf (<), ptflow (>)" "$tmp/err"
        continue
    }
    printf 'same   %-24s %9d\n' "events $number" "$(wc -l <"$tmp/got")"
done

[ "$mode" = all ] && insns=600000 each=200000 || insns=30000 each=60000
least=8
if programs; then
    replay "4 programs"
    [ "$mode" = few ] ||
        replay "4 programs, mtc, 2 CPUs" --time mtc --cpus 2
    if [ "$mode" = all ]; then
        replay "4 programs, tsc" --time tsc --no-retcomp
        replay "4 programs, cyc" --time cyc --psb-period 500
        replay "4 programs, cyc, 1 CPU" --time cyc --cpus 1 --gap 300
        replay "4 programs, cyc, 2 CPUs" --time cyc --cpus 2 --quantum 5000
        replay "4 programs, cyc, 4 CPUs" --time cyc --cpus 4 --no-retcomp
    fi
else
    skip "perf: no qemu-x86_64 with plugins (Debian 12's qemu-user)"
fi

# No tool of ours starts perf; those that read could not start anything.
touch "$tmp/started"
for tool in ptflow ptprof ptsplit ptxed ptdump; do
    nm -D -u "$build/$tool" >"$tmp/imports" || fail "nm $tool"
    grep -E ' (f?exec|popen|system|posix_spawn)' "$tmp/imports" |
        sed "s/^ */$tool: /" >>"$tmp/started"
done
expect_empty "programs that our tools start" "$tmp/started"
finish
