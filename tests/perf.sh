#!/bin/sh
# perf.sh [quick|all]: what ptrecord --perf-data writes decodes in perf to
# exactly the instructions that each thread executed, and so it does in ptflow,
# and in ptxed after ptsplit. The lists of those are from ptrace or QEMU, not from the trace.
# Ends with a table.

mode=${1:-quick}
build=$(cd "${BUILD:-build}" && pwd) || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
CC=${CC:-cc}
passed=0 failed=0 skipped=0
mkdir "$dir/home"

finish() {
    [ $skipped -gt 0 ] && tail=", $skipped skipped" || tail=
    echo "$passed passed, $failed failed$tail"
    [ $failed -eq 0 ]
    exit
}

skip() {
    echo "SKIP perf: $1"
    skipped=$((skipped + 1))
    finish
}

perf version >/dev/null 2>&1 || skip "perf is missing (package linux-perf)"

# As little as possible of this machine: no configuration, no cache, no colour.
perf() {
    HOME=$dir/home PERF_CONFIG=/dev/null LC_ALL=C timeout 300 perf "$@"
}

# decoded FILE: lines TID IP of every instruction that perf finds.
decoded() {
    perf script -f -i "$1" --itrace=i0ns -F tid,ip 2>"$dir/err" |
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
# is no thread, and the instructions are sorted.
split() {
    rm -rf "$dir/split"
    "$build/ptsplit" -o "$dir/split" --ptxed "$1" 2>"$dir/err" |
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
    split "$dir/x.data" >"$dir/split.got"
    if grep -q '^cpu' "$dir/split.got"; then
        sed 's/.* /cpu /' "$dir/want" | sort >"$dir/split.want"
        sort -o "$dir/split.got" "$dir/split.got"
    else
        cp "$dir/want" "$dir/split.want"
        sort -s -n -k 1,1 -o "$dir/split.got" "$dir/split.got"
    fi
    if [ -s "$dir/split.want" ] &&
        cmp -s "$dir/split.got" "$dir/split.want"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL ptsplit and ptxed: $1"
        diff "$dir/split.want" "$dir/split.got" | head -n 5
        tail -n 3 "$dir/err"
    fi
}

# check_flow NAME: so is what ptflow prints.
check_flow() {
    "$build/ptflow" --fields tid,ip "$dir/x.data" 2>"$dir/err" |
        sort -s -n -k 1,1 >"$dir/flow.got"
    if [ -s "$dir/want" ] && cmp -s "$dir/flow.got" "$dir/want"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL ptflow: $1"
        diff "$dir/want" "$dir/flow.got" | head -n 5
        tail -n 3 "$dir/err"
    fi
}

# check NAME: $dir/x.data is what $dir/x says.
check() {
    decoded "$dir/x.data" | sort -s -n -k 1,1 >"$dir/got"
    executed "$dir/x" | sort -s -n -k 1,1 >"$dir/want"
    threads=$(cut -d ' ' -f 1 "$dir/want" | uniq | wc -l)
    count=$(wc -l <"$dir/want")
    if [ "$count" -gt 0 ] && cmp -s "$dir/got" "$dir/want" &&
        [ "$threads" -ge "${least:-1}" ]; then
        passed=$((passed + 1))
        result=same
    else
        failed=$((failed + 1))
        result=FAIL
        diff "$dir/want" "$dir/got" | head -n 5
        tail -n 3 "$dir/err"
    fi
    printf '%-6s %-24s %9d instructions, %2d threads, %8d bytes\n' $result \
        "$1" "$count" "$threads" "$(wc -c <"$dir/x.data")"
    check_split "$1"
    check_flow "$1"
}

# record NAME OPTION... -- COMMAND...
record() {
    name=$1
    shift
    rm -rf "$dir/x" "$dir/x.data"
    timeout 300 "$build/ptrecord" --quiet --perf-data "$dir/x.data" \
        -o "$dir/x" "$@" >"$dir/out" 2>&1 </dev/null
    status=$?
    if [ $status -eq 77 ]; then
        skip "ptrecord needs ptrace and Linux on x86-64"
    elif [ $status -ne 0 ]; then
        failed=$((failed + 1))
        echo "FAIL $name: ptrecord: exit status $status"
        tail -n 3 "$dir/out"
    else
        check "$name"
    fi
}

# programs: four programs under QEMU, recorded into $dir/q.
programs() {
    command -v qemu-x86_64 >/dev/null || return 1
    truth=tests/truth
    $CC -O2 -shared -fPIC -o "$dir/qplugin.so" $truth/qplugin.c &&
        $CC -O1 -w -pthread -o "$dir/threads" $truth/programs/threads.c &&
        $CC -O1 -w -o "$dir/signals" $truth/programs/signals.c || return 1
    emulate threads 50000 200000 "$dir/threads"
    emulate signals 100000 "$insns" "$dir/signals"
    emulate gzip 150000 "$insns" /bin/gzip -c /bin/bash
    emulate bash 300000 "$insns" /bin/bash -c \
        'for ((i = 0; i < 9999; i++)); do a=${a#?}$((i * 7)); done; echo $a'
}

# emulate NAME SKIP MAX COMMAND...
emulate() {
    plugin="$dir/qplugin.so,out=$dir/q/$1,skip=$2,max=$3"
    mkdir -p "$dir/q/$1"
    shift 3
    env -i LC_ALL=C PATH=/usr/bin:/bin timeout 120 qemu-x86_64 -seed 1 \
        -plugin "$plugin" "$@" >/dev/null 2>&1 </dev/null
}

# replay NAME OPTION...: all four.
replay() {
    name=$1
    shift
    record "$name" "$@" --qemu "$dir"/q/*
}

$CC -O1 -w -static -pthread -o "$dir/tree" tests/programs/tree.c || {
    failed=1
    finish
}

least=1
record "true" -- /bin/true
least=6
record "tree" -- "$dir/tree"
record "tree, cyc, 2 CPUs" --time cyc --cpus 2 --quantum 5000 -- "$dir/tree"
if [ "$mode" = all ]; then
    record "tree, tsc" --time tsc --no-retcomp -- "$dir/tree"
    record "tree, mtc" --time mtc --psb-period 300 -- "$dir/tree"
    record "tree, cyc" --time cyc -- "$dir/tree"
    record "tree, mtc, 2 CPUs" --time mtc --cpus 2 -- "$dir/tree"
    record "tree, cyc, 1 CPU" --time cyc --cpus 1 --gap 400 -- "$dir/tree"
    record "tree, cyc, 4 CPUs" --time cyc --cpus 4 --seed 2 -- "$dir/tree"
    least=3
    record "pipe, cyc" --time cyc -- sh -c '/bin/true | /bin/true; exec true'
fi

# flow FOLDER: the same lines by ptflow.
flow() {
    "$build/ptflow" --quiet --fields tid,ip "$1" 2>"$dir/err"
}

# both DECODER NAME FOLDER: a program and the kernel, both traced, are what is in
# the folder's list.
both() {
    executed "$3" >"$dir/want"
    "$1" "$3" >"$dir/got"
    count=$(grep -c ' ffffffff81' "$dir/want")
    if [ "$count" -gt 0 ] && cmp -s "$dir/got" "$dir/want"; then
        passed=$((passed + 1))
        result=same
    else
        failed=$((failed + 1))
        result=FAIL
        diff "$dir/want" "$dir/got" | head -n 5
        tail -n 3 "$dir/err"
    fi
    printf '%-6s %-24s %9d instructions, %8d of the kernel\n' $result "$2" \
        "$(wc -l <"$dir/want")" "$count"
}

[ "$mode" = all ] && insns=2000000 || insns=100000
$CC -O1 -w -I. -o "$dir/kernel" tests/mock/kernel.c \
    examples/tools/common/perfwrite.c &&
    "$dir/kernel" "$dir/k" $insns && "$dir/kernel" "$dir/c" $insns cpu || {
    failed=$((failed + 1))
    finish
}
both decoded "user and kcore, perf" "$dir/k"
both flow "user and kcore, ptflow" "$dir/k"
both flow "user and kcore, 1 CPU" "$dir/c"

[ "$mode" = all ] && insns=600000 || insns=60000
least=8
if programs; then
    replay "4 programs"
    replay "4 programs, mtc, 2 CPUs" --time mtc --cpus 2
    if [ "$mode" = all ]; then
        replay "4 programs, tsc" --time tsc --no-retcomp
        replay "4 programs, cyc" --time cyc --psb-period 500
        replay "4 programs, cyc, 1 CPU" --time cyc --cpus 1 --gap 300
        replay "4 programs, cyc, 2 CPUs" --time cyc --cpus 2 --quantum 5000
        replay "4 programs, cyc, 4 CPUs" --time cyc --cpus 4 --no-retcomp
    fi
else
    echo "SKIP perf: qemu-x86_64 is missing (package qemu-user)"
    skipped=$((skipped + 1))
fi
finish
