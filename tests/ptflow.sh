#!/bin/sh
# ptflow.sh: ptflow's options, what it says of files that are damaged or cut,
# and with TRACES=dir the files of real hardware.

build=$(cd "${BUILD:-build}" && pwd) || exit 2
programs=$(cd tests/programs && pwd) || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
passed=0 failed=0 skipped=0
CC=${CC:-cc}

finish() {
    [ $skipped -gt 0 ] && tail=", $skipped skipped" || tail=
    echo "$passed passed, $failed failed$tail"
    [ $failed -eq 0 ]
    exit
}

# check NAME COMMAND...: the command succeeds.
check() {
    what=$1
    shift
    case $what in *"$TEST_ONLY"*) ;; *) return ;; esac
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        head -n 3 "$dir/err"
    fi
}

flow() {
    timeout 60 "$build/ptflow" "$@" 2>"$dir/err"
}

# refuses TEXT ARGUMENT...: exit status 1, and the message.
refuses() {
    text=$1
    shift
    flow "$@" >"$dir/out"
    [ $? -eq 1 ] && grep -q -e "$text" "$dir/err"
}

check "no file" refuses "no file"
check "two files" refuses "more than one file" a b
check "a file that is not there" refuses "No such file" "$dir/none"
check "an unknown option" refuses "unknown option: --nothing" --nothing
check "an unknown field" refuses "bad argument: tid,x" --fields tid,x f
check "no thread number" refuses "bad argument: 1,a" --tid 1,a f
check "no time" refuses "bad argument: 5" --time 5 f
check "two kinds of lines" refuses "one of them" --insn --block f
check "help" sh -c "'$build/ptflow' --help | grep -q -- '--fields'"
echo "no trace" >"$dir/text"
check "not a perf.data" refuses "not a perf.data" "$dir/text"

$CC -O1 -w -static -pthread -o "$dir/tree" "$programs/tree.c" || {
    failed=1
    finish
}
cd "$dir" || exit 2
for time in none cyc; do
    case $time in cyc) cpus="--cpus 2" ;; *) cpus= ;; esac
    # shellcheck disable=SC2086 # words
    timeout 100 "$build/ptrecord" --quiet --perf-data $time.data -o $time \
        --time $time $cpus -- ./tree >out 2>&1 </dev/null
    if [ $? -eq 77 ]; then
        echo "SKIP ptflow: no ptrace here"
        skipped=1
        finish
    fi
done

executed() {
    for list in "$1"/*.u64; do
        tid=$(basename "$list" .u64)
        od -An -v -tx8 -w8 "$list" | sed "s/^ *0*/$tid /"
    done | sort -s -n -k 1,1
}

# same FOLDER OPTION...: what the threads executed.
same() {
    folder=$1
    shift
    executed "$folder" >want
    flow --fields tid,ip "$@" "$folder.data" | sort -s -n -k 1,1 >got
    [ -s want ] && cmp -s want got
}

check "by thread, without time" same none
check "by cpu, with time" same cyc
check "--check" same none --check
check "--check says how many" grep -q "checked, 0 differ" err
check "nothing is lost" sh -c "! grep -q lost err"

executed none >want
tid=$(head -n 1 want | cut -d ' ' -f 1)
one() {
    grep "^$tid " want >want.one
    flow --quiet --fields tid,ip "$@" none.data >got.one
    [ -s want.one ] && cmp -s want.one got.one
}
check "--tid" one --tid "$tid"
tids=$(cut -d ' ' -f 1 want | uniq)
by_parts() {
    for t in $tids; do flow --quiet --fields tid,ip --tid "$t" none.data; done |
        cmp -s - want
}
check "thread by thread gives all" by_parts
last() {
    grep "^$tid " want | tail -n 7 >want.last
    flow --quiet --fields tid,ip --tid "$tid" --last 7 none.data |
        cmp -s - want.last
}
check "--last" last
cpus() {
    flow --quiet --fields cpu,ip cyc.data | grep -c '^1 ' >n.want
    flow --quiet --fields cpu,ip --cpu 1 cyc.data | wc -l >n.got
    [ "$(cat n.want)" -gt 0 ] && [ "$(cat n.want)" -eq "$(cat n.got)" ]
}
check "--cpu" cpus
comm() {
    flow --quiet --fields comm --block --comm worker none.data | sort -u >got
    [ "$(cat got)" = worker ]
}
check "--comm" comm
by_time() {
    flow --quiet --fields time,ip cyc.data | sort -n | sed -n '90000p' >at
    at=$(cut -d ' ' -f 1 at)
    flow --quiet --fields time --time "$at," cyc.data | sort -n | head -n 1 |
        cut -d ' ' -f 1 >from
    flow --quiet --fields time --time ",$at" cyc.data | sort -n | tail -n 1 |
        cut -d ' ' -f 1 >to
    [ -n "$at" ] && [ "$(cat from)" = "$at" ] && [ "$(cat to)" = "$at" ]
}
check "--time" by_time
blocks() {
    flow --quiet --block --fields count none.data |
        awk '{n += $1} END {print n}' >got
    [ "$(cat got)" -eq "$(wc -l <want)" ]
}
check "--block: as many instructions" blocks
branches() {
    flow --quiet --branch --fields tid,ip,to --tid "$tid" none.data >got
    awk -v t="$tid" '$1 == t {n++; if (p) seen[p " " $2] = 1; p = $2}
        END {for (i in seen) print i}' want | sort >edges
    cut -d ' ' -f 2,3 got | sort -u | comm -23 - edges >not
    [ -s got ] && [ ! -s not ]
}
check "--branch: from and to follow each other" branches
calls() {
    flow --quiet --call --fields kind --tid "$tid" none.data | sort -u >got
    grep -q call got && grep -q ret got && [ "$(grep -vc 'call\|ret' got)" -eq 0 ]
}
check "--call" calls
events() {
    flow --quiet --event --fields kind none.data | sort -u >got
    grep -q enabled got && grep -q disabled got
}
check "--event" events
check "a pipe" sh -c "cat none.data | '$build/ptflow' --quiet --fields tid,ip - |
    sort -s -n -k 1,1 | cmp -s - want"

# Without the program's file there is no code, and that is said.
no_code() {
    mv tree away
    flow --fields tid,ip none.data >got
    mv away tree
    grep -q "lost: no code" err && grep -q "lost: mappings without a file" err
}
check "no code" no_code
symfs() {
    mkdir -p "root$dir"
    mv tree "root$dir/tree"
    flow --symfs root --fields tid,ip none.data | sort -s -n -k 1,1 >got
    mv "root$dir/tree" tree
    cmp -s got want
}
check "--symfs" symfs

# A file that is cut anywhere ends, without a crash.
cuts() {
    size=$(wc -c <cyc.data)
    for part in 1 2 3 5 7 9 11 13 15; do
        head -c $((size * part / 16)) cyc.data >cut.data
        flow --fields tid,ip cut.data >got
        [ $? -le 1 ] || return 1
    done
}
check "cut files" cuts

if [ -n "$TRACES" ]; then
    for case in hase-control_flow hase-loopy-snapshot; do
        hardware() {
            flow --map "$TRACES/$case" --fields ip "$TRACES/$case/perf.data" |
                wc -l >got
            [ "$(cat got)" -eq "$(sed -n 's/^instructions[= ]*//p' \
                "$TRACES/$case/expected")" ]
        }
        check "$case" hardware
    done
fi
finish
