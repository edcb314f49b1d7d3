#!/bin/sh
# ptprof.sh: call stacks of programs that leave functions in every way, against
# what is written here; call trees against stack pointers (truth/calls.c); flat
# profiles against a program's source; what ptprof's views have in common; its
# options.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
unset DEBUGINFOD_URLS
debug= # where separate debug files are
CC=${CC:-cc}
CXX=${CXX:-c++}

prof() {
    timeout 300 "$build/ptprof" --quiet "$@"
}

# says WHAT COMMAND...: passes when COMMAND does.
says() {
    what=$1
    shift
    if "$@" >"$tmp/said" 2>&1; then pass; else fail_with "$what" "$tmp/said"; fi
}

# wrong TEXT ARGUMENT...: the command is: exit status 2, and the message.
# refuses TEXT ARGUMENT...: it cannot be done: 1, and the message.
wrong() { ends 2 "$@"; }
refuses() { ends 1 "$@"; }
ends() {
    status=$1
    text=$2
    shift 2
    timeout 300 "$build/ptprof" "$@" >"$tmp/out" 2>"$tmp/err"
    if [ $? -eq "$status" ] && grep -q -e "$text" "$tmp/err"; then pass
    else fail_with "status $status, $text: $*" "$tmp/err"; fi
}

wrong "no file.*--help"
wrong "more than one file" a b
wrong "unknown option: --nothing[.].*--help" --nothing
wrong "insn or time" --by cycles f
for min in x 5x 10u 1.5 1001 .; do
    wrong "bad argument: $min" --min "$min" f
done
wrong "more than one timeline" --chrome a --perfetto b f
wrong "bad argument: 1,a" --tid 1,a f
refuses "No such file" "$tmp/none"
refuses "No such file" --pt "$tmp/none"
wrong "one of them" --pt a b
wrong "there is no --pt" --raw Makefile:0 b
says "help" sh -c "'$build/ptprof' --help | grep -q -- '--folded'"

# record NAME -- COMMAND...: a perf.data with times, without which nobody knows
# when an exec was, and where the stack was.
record() {
    name=$1
    shift
    alone "$build/ptrecord" --quiet --calls --time tsc \
        --perf-data "$tmp/$name.data" -o "$tmp/$name.d" "$@" \
        >"$tmp/recorded" 2>&1
}

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -o "$tmp/truth" tests/truth/calls.c || exit 2

# Names alone; parts are in their functions.
plain() {
    sed 's/\([^; ]\) \[[^];]*\]/\1/g; s/;[^;]*[.]cold[.0-9]* \([0-9]*\)$/ \1/'
}

# same NAME: all instructions of each thread are in the stack that the stack
# pointer says. It knows no signals: what is below a handler is left out.
same() {
    threads=0
    for calls in "$tmp/$1.d"/*.calls; do
        tid=$(basename "$calls" .calls)
        "$build/ptflow" --quiet --tid "$tid" --insn --fields ip,sym,dso \
            --no-demangle "$tmp/$1.data" | "$tmp/truth" "$calls" >"$tmp/want"
        prof --folded --by insn --no-demangle --tid "$tid" "$tmp/$1.data" |
            sed 's/^[^;]*;//' | plain >"$tmp/got"
        says "$1: thread $tid" awk '
            /;(on_signal|__restore_rt)/ {next}
            {n = $NF; sub(/ [0-9]+$/, "")}
            NR == FNR {want[$0] = n; all += n; next}
            {other += n; got[$0] += n}
            END {
                for (s in got)
                    same += got[s] < want[s] ? got[s] : want[s]
                printf "%d of %d instructions in the same stack\n", same, all
                exit !(all > 0 && other == all && same == all)
            }' "$tmp/want" "$tmp/got"
        threads=$((threads + 1))
    done
    says "$1: threads" [ $threads -gt 0 ]
}

# A long program, in make test-full, which has nothing else of this.
long() {
    record ls -- /bin/ls -l /
    if no_ptrace "$tmp/recorded"; then skip "programs cannot be recorded here"
    else same ls; fi
}
rest 2 long
[ -z "$TEST_FULL" ] || { report; exit; }

# ---- stacks, by hand ----

option=
# has NAME PATH...: stacks that are there; a first ! : that are not. Paths begin
# with main, or with the function that a coroutine began with.
has() {
    # shellcheck disable=SC2086 # an option or none
    prof --folded --by insn $option "$tmp/$1.data" |
        sed 's/ [0-9]*$//; s/^[^;]*;//; s/.*;main/main/' >"$tmp/stacks"
    shift
    for path; do
        case $path in
        !*) if grep -qxF "${path#!}" "$tmp/stacks"; then
                fail_with "there is a stack ${path#!}" "$tmp/stacks"
            else pass; fi ;;
        *) if grep -qxF "$path" "$tmp/stacks"; then pass
            else fail_with "no stack $path" "$tmp/stacks"; fi ;;
        esac
    done
}

$CC -O1 -w -static -o "$tmp/calls" tests/programs/calls.c || exit 2
record calls -- "$tmp/calls"
if no_ptrace "$tmp/recorded"; then
    skip "programs cannot be recorded here"
    report
    exit
fi
has calls "main;tail_target;leaf" "!main;tail_caller;tail_target" \
    "main;catches;calls_jumps;jumps" "main;catches;after_longjmp;leaf" \
    "main;faults;handler;leaf" "main;faults;leaf" \
    "main;faults_and_jumps;jumping_handler" \
    "main;faults_and_jumps;after_longjmp;leaf" \
    "coroutine;leaf" "coroutine;switches" "main;resumes;leaf" \
    "!main;resumes;coroutine" \
    "jumped;leaf" "jumped;jump_pauses" "jumped;jump_pauses;jump_switch" \
    "main;jump_resumes;leaf" "!jump_resumes;leaf" "!jump_pauses" \
    "main;recursion;recursion;recursion;recursion" \
    "!main;recursion;recursion;recursion;recursion;recursion" \
    "main;last;leaf"

# One block is in three functions.
prof --folded --by insn "$tmp/calls.data" |
    sed -n 's/.*;main;\(runs_[a-z]* \)/\1/p' | sort >"$tmp/stacks"
says "each function has its part of a block" sh -c \
    "printf '%s\n' 'runs_further 1' 'runs_on 2' 'runs_out 3' |
     diff - '$tmp/stacks'"

# ---- before a signal or an event ----

# Two signals come; the first one is a breakpoint of `faults`.
prof --last 3 --before signal "$tmp/calls.data" >"$tmp/before"
says "--before signal" awk '
    /^[^ ].*, before signal at [0-9]*[.][0-9]*$/ {if (n++ == 1) at = last}
    {if ($0 != "") last = $0}
    / [<>] / {lines++}
    END {
        print n, "signals,", lines, "lines; before the first:", at
        exit n != 2 || lines != 6 || at !~ /> faults$/
    }' "$tmp/before"
events=$("$build/ptflow" --quiet --event --fields kind "$tmp/calls.data" |
    grep -cx disabled)
says "--before an event" sh -c "[ $events -gt 0 ] && [ $events -eq \
    \"\$('$build/ptprof' --quiet --last 1 --before disabled \
        '$tmp/calls.data' | grep -c ', before disabled at ')\" ]"
refuses "there is none" --last 1 --before paging "$tmp/calls.data"
wrong "there is no --last" --before signal "$tmp/calls.data"
wrong "bad argument: nothing" --last 1 --before nothing "$tmp/calls.data"

# ---- a trace with its code ----

"$build/ptsplit" -o "$tmp/split" "$tmp/calls.data" >/dev/null || exit 2
prof --folded --by insn "$tmp/calls.data" | sed 's/^[^;]*;//' >"$tmp/want"
prof --folded --by insn --elf "$tmp/calls" --pt "$tmp/split"/*-aux-idx0.bin |
    sed 's/^[^;]*;//' >"$tmp/got"
says "--pt and --elf give the stacks of the perf.data" sh -c \
    "[ -s '$tmp/want' ] && diff '$tmp/want' '$tmp/got'"
for code in "--raw examples/recording/pages.bin:0x401000" \
    "--map examples/recording"; do
    # shellcheck disable=SC2086 # two words
    says "--pt and $code" sh -c "'$build/ptprof' --quiet \
        --pt examples/recording/trace.pt $code | grep -q ': 9254 instructions'"
done

# ---- exceptions ----

if have "$CXX" g++; then
    $CXX -O1 -w -static-libstdc++ -static-libgcc -o "$tmp/throws" tests/programs/throws.cc || exit 2
    record throws -- "$tmp/throws"
    if echo '#include <libiberty/demangle.h>' | $CC -E - >/dev/null 2>&1; then
        has throws "main;catcher;thrower;thrower;thrower;thrower" \
            "main;catcher;landed" "main;landed"
    else
        skip "names of C++: libiberty is missing (package libiberty-dev)"
    fi
    option=--no-demangle
    has throws "main;_Z7catcherv;_Z7throweri;_Z7throweri;_Z7throweri;_Z7throweri" \
        "main;_Z7catcherv;_Z6landedv" "main;_Z6landedv"
    option=
fi

# ---- against stack pointers ----

record cat -- /bin/cat LICENSE
same cat
$CC -DNUMBERS=6 -O1 -gdwarf-4 -w -static -pthread -Wl,--build-id \
    -o "$tmp/tree" "$root/tests/programs/tree.c" || exit 2
record tree -- "$tmp/tree"
same tree

# ---- lines ----

# addr2line_says: in $tmp/lines, what it says of each instruction of tree.data.
addr2line_says() {
    "$build/ptflow" --quiet --insn --fields ip "$tmp/tree.data" |
        sort | uniq -c >"$tmp/counts"
    awk '{print $2}' "$tmp/counts" | addr2line -a -f -i -e "$tmp/tree" | awk '
        NR == FNR {count[NR] = $1; next}
        /^0x/ {n++; line = 0; next}
        {line++}
        line == 1 {function_ = $1}
        line == 2 && !/:[0?]/ {
            sub(/ .*/, ""); sub(/.*\//, "")
            cost[$0 " " function_] += count[n]
        }
        END {for (l in cost) print l, cost[l]}' "$tmp/counts" - |
        sort >"$tmp/lines"
}

# lined WHAT OPTION...: the lines that --lines shows of tree.data cost that,
# inlined functions included.
lined() {
    what=$1
    shift
    prof --lines --by insn --min 0 "$@" "$tmp/tree.data" 2>"$tmp/err" |
        sed -n 's/^ *[0-9.]*%  *\([0-9.kMG]*\)  .*\/\([^/ ]*:[0-9]* [^ ]*\)$/\2 \1/p' |
        sort >"$tmp/got"
    says "$what" awk '
        function number(text) {
            return text * (text ~ /k/ ? 1e3 : text ~ /M/ ? 1e6 : 1)
        }
        NR == FNR {want[$1 " " $2] = $3; next}
        {
            key = $1 " " $2; n = number($3); wrong = want[key] - n
            if (wrong < 0) wrong = -wrong
            if (wrong > n * 0.006) print key, "costs", want[key], "not", n
            if (wrong > n * 0.006) bad = 1
            all += n
            delete want[key]
        }
        END {
            for (l in want) {print l, "is missing"; bad = 1}
            print all, "instructions have lines"
            exit bad || all < 5000
        }' "$tmp/lines" "$tmp/got"
}

if echo '#include <elfutils/libdw.h>' | $CC -E - >/dev/null 2>&1; then
    addr2line_says
    lined "lines"
    id=$(readelf -n "$tmp/tree" | sed -n 's/.*Build ID: //p')
    debug=$tmp/other/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)
    mkdir -p "$debug" "$tmp/other$tmp"
    objcopy --only-keep-debug "$tmp/tree" \
        "$debug/$(echo "$id" | cut -c 3-).debug"
    objcopy --strip-all "$tmp/tree" "$tmp/other$tmp/tree"
    lined "lines of a separate debug file" --symfs "$tmp/other"
    file=$debug/$(echo "$id" | cut -c 3-).debug
    cp "$file" "$tmp/whole.debug"
    # DWARF is hostile. (libdw itself leaks where lines cannot be read.)
    for i in 1 2 3 4 5 6 7 8 9 10; do
        cp "$tmp/whole.debug" "$file"
        readelf -SW "$file" | sed -n 's/.* \.debug_[a-z]* *//p' |
            awk '{print $3, $4}' >"$tmp/places"
        while read -r at size; do
            printf '\377' | dd of="$file" bs=1 conv=notrunc status=none \
                seek=$((0x$at + 0x$size * i / 11))
        done <"$tmp/places"
        says "lines of a damaged debug file, $i" \
            env ASAN_OPTIONS=detect_leaks=0 timeout 300 "$build/ptprof" --quiet \
            --lines --symfs "$tmp/other" "$tmp/tree.data"
    done
    # libdwfl would, libdw alone does not.
    rm "$file"
    says "debuginfod is not asked for a debug file that is missing" sh -c "
        DEBUGINFOD_URLS=http://127.0.0.1:1/ LD_DEBUG=files '$build/ptprof' \
            --quiet --lines --symfs '$tmp/other' '$tmp/tree.data' 2>&1 |
            awk '/libdw/ {dw = 1} /debuginfod/ {bad = 1}
                END {exit !dw || bad}'"
    # A .gnu_debuglink names a debug file: beside the file, in .debug, or below
    # the folder of debug files; by checksum where there is no build id.
    for has in with without; do
        cp "$tmp/tree" "$tmp/linked"
        force=
        [ $has = with ] || {
            objcopy --remove-section=.note.gnu.build-id "$tmp/linked"
            force=--force
        }
        objcopy --only-keep-debug "$tmp/linked" "$tmp/linked.debug"
        objcopy --strip-all --add-gnu-debuglink="$tmp/linked.debug" \
            "$tmp/linked" "$tmp/other$tmp/tree"
        places='/.debug'
        [ $has = without ] || places="/. $places"
        for place in $places; do
            mkdir -p "$tmp/other$tmp$place"
            mv "$tmp/linked.debug" "$tmp/other$tmp$place"
            lined "lines of the debug file that a link names, $has id: $place" \
                --symfs "$tmp/other" $force
            mv "$tmp/other$tmp$place/linked.debug" "$tmp"
        done
        mkdir -p "$tmp/other/usr/lib/debug$tmp"
        mv "$tmp/linked.debug" "$tmp/other/usr/lib/debug$tmp"
        lined "... in the folder of them" --symfs "$tmp/other" \
            $force
        says "... and names of functions" sh -c "'$build/ptprof' --quiet \
            --flat --min 0 $force --symfs '$tmp/other' '$tmp/tree.data' |
            grep -q ' work$'"
    done
    echo >>"$tmp/other/usr/lib/debug$tmp/linked.debug"
    says "the debug file of another build" sh -c "! '$build/ptprof' --quiet \
        --lines --force --symfs '$tmp/other' '$tmp/tree.data' |
        grep 'tree.c:'"
    rm "$tmp/other/usr/lib/debug$tmp/linked.debug"
    objcopy --strip-all "$tmp/tree" "$tmp/other$tmp/tree"
else
    skip "lines: libdw is missing (package libdw-dev)"
fi

# ---- losses ----

tools=$root/examples/tools
{
    sed -n '/loss_texts\[/,/}/s/^ *"\(.*\)",*$/\1/p' \
        "$tools/common/flow/threads.c"
    sed -n 's/.*print_loss(s, "\([^"]*\)".*/\1/p' "$tools/common/flow/session.c"
} >"$tmp/losses"
while read -r loss; do
    says "perf.md says what helps: $loss" grep -qF "| $loss |" "$tools/perf.md"
done <"$tmp/losses"
says "kinds of losses" [ "$(wc -l <"$tmp/losses")" -eq 20 ]

# ---- debuginfod ----

# A server that says on which port, notes what it is asked, and has one file.
cat >"$tmp/server.js" <<'END'
const fs = require('fs');
const [port, log, file] = process.argv.slice(2);
setTimeout(process.exit, 300000);
require('http').createServer((ask, answer) => {
    fs.appendFileSync(log, ask.url + '\n');
    answer.end(fs.readFileSync(file));
}).listen(0, '127.0.0.1', function () {
    fs.writeFileSync(port, this.address().port + '\n');
});
END
refuses "DEBUGINFOD_URLS is not set" --debuginfod "$tmp/calls.data"
DEBUGINFOD_URLS=http://127.0.0.1:1/ "$build/ptprof" --debuginfod "$tmp/none" \
    >"$tmp/said" 2>&1
if grep -q "libdebuginfod is missing" "$tmp/said"; then
    skip "debuginfod: libdebuginfod is missing (package libdebuginfod-dev)"
elif [ -n "$debug" ] && have node nodejs; then
    : >"$tmp/asked"
    cp "$tmp/whole.debug" "$tmp/served"
    node "$tmp/server.js" "$tmp/port" "$tmp/asked" "$tmp/served" &
    server=$!
    n=0
    while [ ! -s "$tmp/port" ] && [ $n -lt 300 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    export DEBUGINFOD_URLS="http://127.0.0.1:$(cat "$tmp/port")/"
    export DEBUGINFOD_CACHE_PATH="$tmp/cache" no_proxy='*'
    prof --folded --by insn --symfs "$tmp/other" "$tmp/tree.data" >"$tmp/none"
    says "nobody asks a server without --debuginfod" sh -c \
        "[ ! -s '$tmp/asked' ] && ! grep -q ';main;' '$tmp/none'"
    cp "$build/ptprof" "$tmp/served" # of another build
    prof --folded --by insn --symfs "$tmp/other" --debuginfod \
        "$tmp/tree.data" >"$tmp/got"
    says "a debug file of another build is asked for, and not taken" sh -c \
        "grep -qx '/buildid/$id/debuginfo' '$tmp/asked' &&
         cmp '$tmp/none' '$tmp/got'"
    rm -rf "$tmp/cache"
    cp "$tmp/whole.debug" "$tmp/served"
    prof --folded --by insn --symfs "$tmp/other" --debuginfod \
        "$tmp/tree.data" >"$tmp/got"
    says "a server's names" grep -q ';main;' "$tmp/got"
    lined "a server's lines" --symfs "$tmp/other" --debuginfod
    kill $server
    unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH no_proxy
fi

# ---- views ----

for by in insn time; do
    # shellcheck disable=SC2016 # awk
    sum=$(prof --folded --by $by "$tmp/cat.data" |
        awk '{n += $NF} END {printf "%d", n}')
    column=$([ $by = insn ] && echo 1 || echo 2)
    prof --callgrind "$tmp/callgrind" --by $by "$tmp/cat.data"
    says "callgrind's total is that of the stacks, by $by" \
        awk -v sum="$sum" -v column="$column" '
        /^totals:/ {total = $(column + 1)}
        END {print total, sum; exit !(sum > 0 && total == sum)}' "$tmp/callgrind"
done
says "own costs add up in callgrind's file" awk '
    /^calls=/ {getline; next}
    /^[0-9]+ / {own += $2}
    /^totals:/ {total = $2}
    END {print own, total; exit !(own > 0 && own == total)}' "$tmp/callgrind"
for by in insn time; do
    for name in cat tree; do
        prof --tree --min 0 --by $by "$tmp/$name.data" >"$tmp/trees"
        says "$name: siblings never exceed their parent, by $by" \
            awk -f tests/tree.awk "$tmp/trees"
    done
done
awk '!n && / [0-9.]+%/ && / main$/ {n = sub(/[0-9.]+%/, "0.1%")} {print}' \
    "$tmp/trees" >"$tmp/wrong"
says "... and one that does is found" sh -c \
    "! awk -f tests/tree.awk '$tmp/wrong' >/dev/null"

# --min with a unit is a cost, for time lines, too.
refuses "costs are times" --min 1k "$tmp/cat.data"
refuses "costs are instructions" --min 10us --by insn "$tmp/cat.data"
prof --flat --by insn --min 1k "$tmp/cat.data" >"$tmp/some"
prof --flat --by insn --min 0 "$tmp/cat.data" >"$tmp/all"
says "--min 1k" awk '
    function number(text) {
        return text * (text ~ /k/ ? 1e3 : text ~ /M/ ? 1e6 : 1)
    }
    FNR == 1 {next}
    NR != FNR {want += number($3) >= 1000; next}
    {n++; if (number($3) < 1000) bad = 1}
    END {print n, "of", want; exit bad || !n || n != want}' "$tmp/some" "$tmp/all"
for least in 0k 0.05k 1k; do
    prof --speedscope "$tmp/line.$least" --by insn --min $least "$tmp/cat.data"
done
says "--min of a time line" awk '
    FNR == 1 {file++}
    /"type":"[OC]"/ {
        time = $0; sub(/.*"at":/, "", time); time += 0
        if (/"O"/) since[file, depth[file]++] = time
        else {
            took = time - since[file, --depth[file]]
            count[file]++
            if (file == 1) {for (i in least) n[i] += took >= least[i]}
            else if (took < least[file]) bad = 1
        }
    }
    BEGIN {least[2] = 50; least[3] = 1000}
    END {
        print count[1], count[2], count[3]
        exit bad || count[2] != n[2] || count[3] != n[3] || n[3] < 10 ||
            n[2] == n[3]
    }' "$tmp/line.0k" "$tmp/line.0.05k" "$tmp/line.1k"

# ---- each function once ----

# The recorded program: calls follow from its source, own costs from the list of
# what it executed, totals from who calls whom.
recording=examples/recording
seed=1
numbers=
while [ "$(echo "$numbers" | wc -w)" -lt 24 ]; do
    seed=$(((seed * 1103515245 + 12345) & 4294967295))
    numbers="$numbers $((seed >> 16 & 1023))"
done
od -An -v -tx8 -w8 $recording/ips.u64 >"$tmp/ips"
nm -n $recording/program | awk '
    FILENAME == "-" && $2 ~ /[tT]/ {
        at[n] = substr($1, length($1) - 15); name[n++] = $3
    }
    FILENAME == "-" {next}
    {for (i = n - 1; at[i] > $1;) i--; own[name[i]]++; all++}
    END {for (f in own) print f, own[f], all}' - "$tmp/ips" >"$tmp/own"
echo "$numbers" | awk '
    function sort(sign, i, j, t) {
        for (i = 2; i <= NF; i++)
            for (j = i; j > 1 && ++count && sign * ($j - $(j - 1)) < 0; j--) {
                t = $j; $j = $(j - 1); $(j - 1) = t
            }
        t = count; count = 0
        return t
    }
    function fibonacci(n) {
        return n < 2 ? 1 : 1 + fibonacci(n - 1) + fibonacci(n - 2)
    }
    FILENAME == "-" {
        calls["ascending"] = sort(1); calls["descending"] = sort(-1)
        calls["sort"] = 2; calls["print"] = 3; calls["run"] = 1
        calls["fibonacci"] = fibonacci(9)
        next
    }
    {own[$1] = $2; all = $3}
    END {
        for (f in own) total[f] = own[f]
        total["sort"] += own["ascending"] + own["descending"]
        total["_start"] = all
        total["run"] = all - own["_start"]
        for (f in own)
            printf "%d %.1f%% %.1f%% %d %s\n", own[f], 100 * own[f] / all,
                   100 * total[f] / all, calls[f], f
        }' - "$tmp/own" | sort -rn | sed 's/^[0-9]* //' >"$tmp/want"
set -- --pt $recording/trace.pt --elf $recording/program
prof --flat --min 0 "$@" | awk 'NR > 1 {print $2, $1, $4, $5}' >"$tmp/got"
says "--flat: the recorded program" sh -c \
    "[ \$(wc -l <'$tmp/want') -eq 7 ] && diff '$tmp/want' '$tmp/got'"
prof --flat --min 20 "$@" | awk 'NR > 1 {print $2, $1, $4, $5}' >"$tmp/got"
says "--flat --min" sh -c "head -n 5 '$tmp/want' | diff - '$tmp/got'"
prof --callers fibonacci "$@" >"$tmp/got"
says "--callers: the recorded program" awk '
    FILENAME ~ /own$/ && $1 == "fibonacci" {
        cost = sprintf("%.2fk", $2 / 1000); next
    }
    FILENAME ~ /want$/ && $4 == "fibonacci" {calls = $3}
    FILENAME ~ /got$/ {got = got $1 " " $2 " " $3 " " $4 "\n"}
    END {
        want = "share cost calls caller\n100.0% " cost " 1 run\n0.0% 0 " \
            calls - 1 " fibonacci\n100.0% " cost " " calls " all\n"
        print got
        exit got != want
    }' "$tmp/own" "$tmp/want" "$tmp/got"
refuses "--callers none: nothing called so ran" --callers none "$@"

# A name is one word: NAME [FILE] is NAME[FILE], which --callers takes, too.
one_word() {
    sed 's/\([^; ]\) \[/\1[/g'
}

# Both against the call tree, which has the calls, and stacks, which have costs.
# tree.calls: CALLER CALLEE CALLS, all ways to a function added up.
tree_calls() {
    awk '
        /^[ 0-9]+[.][0-9]% / {
            name = substr($0, 55); depth = match(name, /[^ ]/)
            way[depth] = name = substr(name, depth)
            calls[way[depth - 2] " " name] += $3
            next
        }
        !/ function/ && NF {way[-1] = "-"}
        END {for (c in calls) print c, calls[c]}'
}
number='function number(text) { # ns, or instructions
    if (text ~ /(k|us)$/) return text * 1e3
    if (text ~ /(M|ms)$/) return text * 1e6
    return text * (text ~ /ks$/ ? 1e12 : text ~ /(G|[0-9]s)$/ ? 1e9 : 1)
}
function differ(a, b) {return a - b > a * 0.006 || b - a > a * 0.006}'
for by in insn time; do
    for name in calls cat tree; do
        data=$tmp/$name.data
        prof --tree --min 0 --by $by "$data" | one_word | tree_calls \
            >"$tmp/calls.$by"
        prof --folded --by $by "$data" | sed 's/^[^;]*;*//' | one_word \
            >"$tmp/stacks"
        prof --flat --min 0 --by $by "$data" | one_word >"$tmp/flat"
        says "--flat adds up the tree of $name, by $by" awk "$number"'
            FILENAME ~ /calls/ {calls[$2] += $3; next}
            FILENAME ~ /stacks/ {
                all += $NF
                n = split($1, way, ";")
                if (NF < 2) next
                own[way[n]] += $NF
                split("", seen)
                for (i = 1; i <= n; i++)
                    if (!seen[way[i]]++) total[way[i]] += $NF
                next
            }
            {sub(/~/, "")}
            FNR == 1 || $5 ~ / / || NF > 5 {next} # time of no function
            number($3) > last && last != "" {print "order:", $0; bad = 1}
            {last = number($3) * 1.006}
            differ(own[$5], number($3)) || calls[$5] != $4 ||
                $1 + 0 - 100 * total[$5] / all > 0.06 ||
                $1 + 0 - 100 * total[$5] / all < -0.06 {
                print $0, "is", own[$5] + 0, total[$5] + 0, calls[$5]; bad = 1
            }
            {rows++; delete calls[$5]}
            END {
                for (f in calls) {print f, "is missing"; bad = 1}
                print rows, "functions"
                exit bad || rows < 9
            }' "$tmp/calls.$by" "$tmp/stacks" "$tmp/flat"
        # Functions with the most callers, and one that calls itself.
        { awk '{n[$2]++} END {for (f in n) print n[f], f}' "$tmp/calls.$by" |
            sort -k 1,1rn -k 2 | head -n 8 | sed 's/.* //'
            awk '$1 == $2 {print $1}' "$tmp/calls.$by" | sort | head -n 1
        } | sort -u >"$tmp/functions"
        while read -r f; do
            prof --callers "$f" --by $by "$data" | one_word >"$tmp/callers"
            # Between two dates of one time a function may have none.
            says "--callers $f of $name, by $by" awk -v f="$f" -v unit=$by \
                "$number"'
                FILENAME ~ /calls[.]/ {
                    if ($2 == f) {calls[$1] = $3; want += $3}
                    next
                }
                FILENAME ~ /stacks/ {
                    n = split($1, way, ";")
                    for (i = 1; i <= n && way[i] != f;) i++
                    if (i > n || NF < 2) next
                    cost[i > 1 ? way[i - 1] : "-"] += $NF; sum += $NF
                    next
                }
                FNR == 1 {next}
                {print; by = NF > 4 ? "-" : $4} # a thread has a number
                by == "all" {
                    ends = $3 == want && !differ(sum, number($2)); next
                }
                by == "-" {
                    unknown += number($2); unknown_calls += $3; next
                }
                ends || $3 != calls[by] || differ(cost[by], number($2)) {
                    print "is", cost[by] + 0, calls[by]; bad = 1
                }
                {delete calls[by]}
                END {
                    if (differ(cost["-"] + 0, unknown) ||
                        unknown_calls + 0 != calls["-"] + 0) bad = 1
                    delete calls["-"]
                    for (c in calls) {print c, "is missing"; bad = 1}
                    exit bad || !ends || (unit == "insn" && sum <= 0)
                }' "$tmp/calls.$by" "$tmp/stacks" "$tmp/callers"
        done <"$tmp/functions"
        says "--callers of $name: functions" [ -s "$tmp/functions" ]
    done
done

says "--last" sh -c "'$build/ptprof' --quiet --last 7 '$tmp/cat.data' |
    awk '/ [<>] /{n++} END {exit n != 7}'"
# The calls of a function in the timeline, which views.sh has read back.
prof --by insn --chrome "$tmp/x.json" --histogram recursion "$tmp/calls.data" \
    >"$tmp/histogram"
says "--histogram" awk '
    FNR == NR && /"ph":"[BE]"/ {
        at = $0; sub(/.*"ts":/, "", at); at = int((at + 0) * 1000 + 0.5)
        name = $0; sub(/.*"name":"/, "", name); sub(/".*/, "", name)
        if (/"ph":"B"/) {begin[++depth] = at; next}
        cost = at - begin[depth--]
        if (name != "recursion") next
        if (!calls++ || cost < min) min = cost
        if (cost > max) max = cost
    }
    FNR == NR {next}
    FNR == 1 {
        got = $1 " " $4 " " $NF; sub(/,/, "", got)
        want = calls " " min " " max
    }
    / recursion$/ {deep++; if ($3 != 1) bad = 1} # all calls are in the slowest
    END {
        print got, "not", want ",", deep, "deep"
        exit got != want || calls < 2 || deep != calls || bad
    }' "$tmp/x.json" "$tmp/histogram"

# Rows without names. The program has fixed addresses: where two heads meet in a
# full set of the table, one is forgotten, which the rules do not know.
says "--hot: as DynamoRIO's rules say" sh -c "
    '$build/ptflow' --quiet --insn --event --fields ip,count,kind \
        '$tmp/calls.data' | awk -f tests/hot.awk | sort -rn >'$tmp/want'
    '$build/ptprof' --quiet --hot --min 0 '$tmp/calls.data' | awk '
        NR == 1 {print \$3, \$5, \$8} NR > 2 {print \$2, \$3}' |
        sort -rn >'$tmp/got'
    [ -s '$tmp/got' ] && diff '$tmp/want' '$tmp/got'"
wrong "one of them" --hot --lines "$tmp/cat.data"
refuses "none: nothing called so ran" --histogram none "$tmp/cat.data"
alone "$build/ptrecord" --quiet --perf-data "$tmp/timeless.data" -- "$tmp/calls"
refuses "the file has no times" --by time "$tmp/timeless.data"
refuses "--waits: the file has no times" --waits "$tmp/timeless.data"
refuses "without --by insn" --waits --by insn "$tmp/cat.data"
"$build/ptprof" "$tmp/timeless.data" >"$tmp/out" 2>"$tmp/err"
says "without time it says what costs are" sh -c "
    grep -q 'no times: costs are instructions' '$tmp/err' &&
    grep -q '(costs are instructions)' '$tmp/out'"

# ---- on a terminal ----

# screen COLUMNS ARGUMENT...: what ptprof shows on a terminal.
screen() {
    columns=$1
    shift
    timeout 300 script -qec "stty cols $columns; '$build/ptprof' $*" /dev/null \
        </dev/null | tr -d '\r'
}
esc=$(printf '\033')
text="$esc\\[[01]*m" # bold, and its end
if have script bsdutils; then
    screen 80 "'$tmp/timeless.data'" >"$tmp/terminal"
    says "progress on a terminal, which goes" grep -q \
        "ptprof: *[0-9]* %, [0-9]* instructions$esc\[K[^ ]* [0-9]*: [0-9]* ins" \
        "$tmp/terminal"
    screen 80 "--quiet '$tmp/timeless.data'" >"$tmp/terminal"
    says "... but not with --quiet" sh -c "! grep ' %, ' '$tmp/terminal'"
    "$build/ptprof" "$tmp/timeless.data" >"$tmp/out" 2>&1
    says "... nor to a file" sh -c "! grep -e ' %, ' -e '$esc' '$tmp/out'"
    screen 80 "--quiet --min 0 '$tmp/calls.data'" >"$tmp/terminal"
    says "bold on a terminal" grep -q "^$text *[0-9.]*% .* _start$text\$" \
        "$tmp/terminal"
    # What goes to a file is whole; on the terminal names are cut, and what is
    # deep has its depth in front.
    sed "s/$text//g" "$tmp/terminal" >"$tmp/plain"
    prof --min 0 "$tmp/calls.data" >"$tmp/out"
    says "80 columns are respected" awk '
        FNR == NR && length($0) > 80 {print; bad = 1}
        / [0-9]+> / {deep++}
        /[^.][.][.][^.]/ {cut++}
        FNR == NR {n++}
        FNR != NR && (/> / || /[^.][.][.][^.]/) {print "in a file:", $0; bad = 1}
        FNR != NR {n--}
        END {
            print n, "lines too many;", deep, "deep,", cut, "cut"
            exit bad || n || !deep || !cut
        }' "$tmp/plain" "$tmp/out"
fi
report
