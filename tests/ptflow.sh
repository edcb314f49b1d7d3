#!/bin/sh
# ptflow.sh: ptflow's options, and what it says of files that are damaged or cut.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
programs=$(cd tests/programs && pwd) || exit 2
here=$(cd tests && pwd) || exit 2
dir=$tmp
export HOME="$dir" # perf's cache of files, which ptflow looks at, is empty
CC=${CC:-cc}

finish() {
    report
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
    timeout 300 "$build/ptflow" "$@" 2>"$dir/err"
}

# wrong TEXT ARGUMENT...: the command is: exit status 2, and the message.
wrong() {
    text=$1
    shift
    flow "$@" >"$dir/out"
    [ $? -eq 2 ] && grep -q -e "$text" "$dir/err"
}

# refuses TEXT ARGUMENT...: it cannot be done: exit status 1, and the message.
refuses() {
    text=$1
    shift
    flow "$@" >"$dir/out"
    [ $? -eq 1 ] && grep -q -e "$text" "$dir/err"
}

check "no file" wrong "no file.*--help"
check "two files" wrong "more than one file" a b
check "a file that is not there" refuses "No such file" "$dir/none"
check "an unknown option" wrong "unknown option: --nothing[.].*--help" --nothing
check "an unknown field" wrong "bad argument: tid,x" --fields tid,x f
check "no thread number" wrong "bad argument: 1,a" --tid 1,a f
check "no threads" wrong "at least 1" -j 0 f
check "no time" wrong "bad argument: 5" --time 5 f
check "two kinds of lines" wrong "one of them" --insn --block f
check "help" sh -c "'$build/ptflow' --help | grep -q -- '--fields'"
echo "no trace" >"$dir/text"
check "not a perf.data" refuses "not a perf.data" "$dir/text"

id=0123456789abcdef0123456789abcdef01234567
$CC -DNUMBERS=4 -O1 -w -static -pthread -Wl,--build-id=0x$id -o "$dir/tree" \
    "$programs/tree.c" || {
    failed=1
    finish
}
cd "$dir" || exit 2
for time in none cyc; do
    case $time in cyc) cpus="--cpus 2" ;; *) cpus= ;; esac
    # shellcheck disable=SC2086 # words
    alone timeout 300 "$build/ptrecord" --quiet --perf-data $time.data -o $time \
        --time $time $cpus -- ./tree >out 2>&1 </dev/null
    if no_ptrace out; then
        echo "SKIP ptflow: no ptrace here"
        skipped=1
        finish
    fi
done

# A file without trace of PT, as perf record without -e intel_pt makes it, is not a
# success; its threads are shown nonetheless.
no_trace() {
    # shellcheck disable=SC2016 # perl
    perl -0777 -pe '
        my ($at, $size) = unpack("x40 Q Q", $_);
        for (my $end = $at + $size; $at < $end;) {
            my ($type, $left) = unpack("L x2 S", substr($_, $at, 8));
            $at += $left, next if $type != 71; # AUXTRACE, and its bytes
            $left += unpack("Q", substr($_, $at + 8, 8));
            for (my $n; $left; $at += $n, $left -= $n) {
                $n = $left < 32768 ? $left : 32768;
                substr($_, $at, 8) = pack("L S S", 1000, 0, $n);
            }
        }' none.data >plain.data
    for tool in ptflow ptprof; do
        "$build/$tool" plain.data >got 2>err
        [ $? -eq 1 ] && [ ! -s got ] && grep -q "no trace in it: perf" err ||
            return 1
    done
    flow --threads plain.data | grep -q tree
}
check "a file without trace" no_trace

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

# Lines that say nothing of a time are made once for a block. They are those that
# each instruction has, which is decoded for itself where its offset is asked for.
listed() {
    flow --fields tid,ip,size,kind,sure,symoff "$1" >got
    mv err err.got
    flow --fields tid,ip,size,kind,sure,symoff,offset "$1" |
        sed 's/ [^ ]*$//' >want.lines
    cmp -s got want.lines && cmp -s err err.got && [ -s got ]
}
damaged() {
    for seed in $(seq 12); do
        perl -0777 -pe "srand $seed; "'
            substr($_, (0.2 + rand 0.6) * length, 1) = chr rand 256
                for 1 .. rand 9' cyc.data >damaged.data
        listed damaged.data || return 1
    done
}
check "lines of blocks" listed cyc.data
check "... by thread" listed none.data
check "... of damaged files" damaged
cheap() {
    cat >loop.c <<'END'
__attribute__((noinline)) static void leaf(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop; nop");
}
int main(int argc, char **argv)
{
    for (int i = 0; i < (argc > 1 ? 1000 : 12000); i++) leaf();
    return (int) (argv == 0);
}
END
    $CC -O1 -w -static -o loop loop.c || return 1
    for times in '' 1000; do # what all recordings of it cost is not counted
        # shellcheck disable=SC2086 # an argument or none
        alone timeout 300 "$build/ptrecord" --quiet --perf-data loop.data \
            -o loop.d -- ./loop $times >out 2>&1 </dev/null &&
            valgrind --tool=callgrind --callgrind-out-file=/dev/null \
                "$build/ptflow" --quiet --fields ip loop.data 2>err >got &&
            echo "$(wc -l <got) $(sed -n 's/.*Collected : *//p' err)" || return 1
    done >spent
    awk '{n = $1 - n; spent = $2 - spent}
        END {print -spent / -n; exit -n < 100000 || -spent > 90 * -n}' \
        spent >err
}
if ! grep -qE '__asan_init|__llvm_profile' "$build/ptflow" && have valgrind valgrind; then
    check "an instruction takes at most 90" cheap
fi

executed none >want
tid=$(flow --fields tid none.data | head -n 1) # of the first process
one() {
    grep "^$tid " want >want.one
    flow --quiet --fields tid,ip "$@" none.data >got.one
    [ -s want.one ] && cmp -s want.one got.one
}
check "--tid" one --tid "$tid"
# The recipe of --help, with two jobs on this machine.
by_parts() {
    flow --threads none.data | cut -d ' ' -f 1 |
        parallel --will-cite -q -k -j 2 "$build/ptflow" --quiet --fields tid,ip \
            --tid {} none.data >got 2>err && [ -s want ] && cmp -s got want
}
if parallel --version 2>/dev/null | grep -q GNU; then
    check "GNU parallel: thread by thread gives all" by_parts
else
    echo "SKIP ptflow: GNU parallel is missing (package parallel)"
    skipped=$((skipped + 1))
fi
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
    flow --quiet --fields time,ip cyc.data | sort -n | sed -n '30000p' >at
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
# What main calls is called from one depth, after jumps out of functions, signals
# and other stacks, too; recursion goes deeper by one each time, and comes back.
depths() {
    $CC -O1 -w -static -o calls.exe "$programs/calls.c" &&
        "$build/ptrecord" --quiet --perf-data calls.data ./calls.exe &&
        flow --json --call --fields sym,to_sym,kind calls.data |
        tr -d '{}"' | awk -F '[,:]' '
            $10 ~ /^call/ && $6 == "main" {main[$4] = 1; n++}
            /recursion/ {deep = deep " " $4 ($10 == "ret" ? "r" : "")}
            END {
                for (d in main) {depths++; first = d}
                want = ""
                for (i = 0; i < 4; i++) want = want " " first + i
                for (i = 3; i >= 0; i--) want = want " " first + i "r"
                exit !(depths == 1 && n >= 14 && deep == want)}'
}
check "--call: how deep" depths
targets() {
    flow --branch --fields to_sym,to_symoff,to calls.data >got &&
        flow --insn --fields sym,symoff,ip calls.data | sort -u >all &&
        grep -q '^recursion recursion+0x0 ' got &&
        sort -u got | comm -23 - all >not && [ ! -s not ]
}
check "to_sym, to_symoff" targets
events() {
    flow --quiet --event --fields kind none.data | sort -u >got
    grep -q enabled got && grep -q disabled got
}
check "--event" events
# Three threads print what one does, whatever is printed.
workers() {
    for what in --insn --block --branch --call --event "--last 1000" \
        "--func main"; do
        for n in 1 2 3; do
            # shellcheck disable=SC2086 # words
            flow $what -j $n --fields comm,tid,cpu,time,ip,to,symoff cyc.data \
                >lines.$n || return 1
            cp err err.$n
        done
        [ -s lines.1 ] && cmp -s lines.1 lines.2 && cmp -s lines.1 lines.3 &&
            cmp -s err.1 err.2 && cmp -s err.1 err.3 || return 1
    done
}
check "-j" workers

# Each function begins where nm says; all that is in `work` is what is between
# its beginning and its end.
nm -S tree | sed -n 's/^0*\([0-9a-f]*\) 0*\([0-9a-f]*\) [Tt] /\1 \2 /p' >nm.out
symbols() {
    flow --quiet --fields ip,sym,symoff none.data |
        sed -n 's/^\([^ ]* [^ ]*\) [^ ]*+0x0$/\1/p' | sort -u >first
    cut -d ' ' -f 1,3 nm.out | sort >functions
    [ "$(wc -l <first)" -gt 50 ] && grep -q ' work$' first || return 1
    comm -23 first functions | grep -v ' __.*libc_\|@' >wrong
    [ ! -s wrong ] || { cat wrong >err; return 1; }
}
check "--fields sym, symoff" symbols
number='function number(hex,  i, n) {
    for (i = n = 0; i < length(hex); i++)
        n = 16 * n + index("123456789abcdef", substr(hex, i + 1, 1))
    return n
}'
func() {
    awk "$number"'NR == FNR {
            if ($3 == "work") { from = number($1); to = from + number($2) }
            next
        }
        number($2) >= from && number($2) < to' nm.out want >inside
    flow --quiet --func work --fields tid,ip none.data |
        sort -s -n -k 1,1 >got
    [ -s inside ] && cmp -s inside got || return 1
    flow --quiet --func work --block --fields count none.data |
        awk '{n += $1} END {print n}' >got
    [ "$(cat got)" -eq "$(wc -l <inside)" ]
}
check "--func" func
fields() {
    flow --quiet --fields tid,cpu,time,ip,size,sym,sure cyc.data >got
    [ "$(wc -l <got)" -eq "$(wc -l <cyc.want)" ] && ! grep -qvE \
        '^[0-9]+ [01] [0-9]+\.[0-9]{9} [0-9a-f]+ [1-9][0-9]? [^ ]+ [01]$' got
}
executed cyc >cyc.want
check "--fields of an instruction" fields
check "a pipe" sh -c "cat none.data | '$build/ptflow' --quiet --fields tid,ip - |
    sort -s -n -k 1,1 | cmp -s - want"

# What FINISHED_ROUND says is not believed: `none` leaves it out; `many` has one
# after each record; `late` has those of type 15, switches, at the end and the
# last one first, after the rounds that say they are earlier.
cat >rounds.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static unsigned char from[1 << 22], to[1 << 22];
static size_t size, late[1 << 16], lates;
static const unsigned char round_[8] = {68, 0, 0, 0, 0, 0, 8};
static void add(const void *bytes, size_t n)
{
    memcpy(to + size, bytes, n);
    size += n;
}
int main(int argc, char **argv)
{
    const int way = argc > 1 ? argv[1][0] : 0;
    const size_t all = fread(from, 1, sizeof from, stdin);
    uint64_t at, end, n;
    memcpy(&at, from + 40, 8);
    memcpy(&end, from + 48, 8);
    add(from, at);
    for (end += at; at < end && end <= all; at += n) {
        n = from[at + 6] | from[at + 7] << 8;
        if (from[at] == 71) { // AUXTRACE, and the trace
            uint64_t more;
            memcpy(&more, from + at + 8, 8);
            n += more;
        }
        if (from[at] == 68 && way == 'n') continue;
        if (from[at] == 15 && way == 'l') late[lates++] = at;
        else add(from + at, n);
        if (way == 'm') add(round_, 8);
    }
    for (; lates; add(from + late[lates], from[late[lates] + 6])) lates--;
    end = size;
    memcpy(&at, from + 40, 8);
    end -= at;
    memcpy(to + 48, &end, 8);
    memset(to + 72, 0, 32); // no features
    return fwrite(to, 1, size, stdout) != size;
}
END
rounds() {
    $CC -O1 -w -o rounds rounds.c || return 1
    for way in none many late; do
        ./rounds $way <cyc.data >rounds.data && ! cmp -s cyc.data rounds.data &&
            flow --fields tid,ip rounds.data | sort -s -n -k 1,1 >got &&
            cmp -s got cyc.want && ! grep -q lost err || return 1
    done
}
check "rounds" rounds

# An event of PT that begins paused: aux_action is at 116 of the first attr.
paused() {
    flow --event none.data >got && ! grep -q paused err || return 1
    perl -0777 -pe 'substr($_, unpack("Q", substr($_, 24)) + 116, 1) = "\1"' \
        none.data >paused.data
    flow --event paused.data | cmp -s - got &&
        grep -q "lost: AUX paused by an event, or at first *1$" err
}
check "AUX paused" paused

# Without the program's file there is no code, and that is said.
no_code() {
    mv tree away
    flow --fields tid,ip none.data >got
    mv away tree
    grep -q "lost: inside .* is not there: [1-9]" err &&
        grep -q "lost: mappings without a file" err &&
        [ "$(grep -c 'not there: .*/tree; .*: --symfs <folder>$' err)" -eq 1 ] ||
        return 1
    mv tree away
    flow --quiet --errors --fields tid,ip,kind none.data >got
    mv away tree
    [ "$(sort -u got | wc -l)" -ge 6 ] && ! grep -qv ' no code$' got
}
check "no code" no_code

# Another build is taken if the user says so; perf's cache has the right one.
other_build() {
    mkdir -p cache/.build-id/01/${id#01}
    mv tree cache/.build-id/01/${id#01}/elf
    LC_ALL=C sed 's/\x89\xab\xcd\xef/\x89\xab\xcd\xee/' cache/.build-id/01/*/elf >tree
    flow --buildid-dir nowhere --fields tid,ip none.data | sort -s -n -k 1,1 >got
    cp err err.refused
    flow --buildid-dir nowhere --force --fields tid,ip none.data |
        sort -s -n -k 1,1 >got.forced
    flow --buildid-dir cache --fields tid,ip none.data |
        sort -s -n -k 1,1 >got.cache
    mv cache/.build-id/01/*/elf tree
    grep -q "other version of the file; --force" err.refused &&
        grep -q "lost: mappings of another version" err.refused &&
        ! cmp -s got want && cmp -s got.forced want && cmp -s got.cache want
}
check "--force, --buildid-dir" other_build

# Code the user gives: of one process, with the pid before the folder.
map() {
    mkdir -p map
    mv tree map/tree
    readelf -lW map/tree | awk '$1 == "LOAD" && /R E/ {
        sub(/0x/, "", $3); sub(/0x/, "", $2); sub(/0x/, "", $5)
        print $3, $5, "tree", $2 }' >map/image.map
    flow --map map --fields tid,ip none.data | sort -s -n -k 1,1 >got
    flow --map "$tid:map" --fields tid,ip none.data | sort -s -n -k 1,1 >got.one
    flow --symfs "$tid:map" --fields tid,ip none.data |
        sort -s -n -k 1,1 >got.name
    mv map/tree tree
    cmp -s got want && cmp -s got.one want && cmp -s got.name want
}
check "--map, --symfs: of a process" map

# Names with control bytes: of a thread, a file and a function.
names() {
    esc=$(printf '\033') file=$(printf 't\033\ne')
    perl -pe 's/tree\0/t\e\ne\0/g' none.data >names.data
    perl -pe 's/\0work\0/\0w\e\nk\0/g' tree >"$file"
    flow --quiet --fields comm,sym,dso names.data >got
    grep -q '^t\\x1b\\x0ae w\\x1b\\x0ak .*/t\\x1b\\x0ae$' got &&
        ! grep -q "$esc" got || return 1
    rm "$file"
    mv names.data "n$esc.data"
    flow --fields comm,dso "n$esc.data" >got
    grep -q "lost: inside .* is not there: [1-9]" err && ! grep -q "$esc" got err || return 1
    head -c 150 "n$esc.data" >"cut$esc"
    ! flow "cut$esc" >got && grep -q 'cut\\x1b: at 0x' err &&
        ! grep -q "$esc" got err
}
check "names with control bytes" names

# On a terminal it says how far it is, until lines come to the same terminal;
# elsewhere it does not.
progress() {
    for way in "--errors none.data" "--fields ip none.data >file"; do
        script -qec "'$build/ptflow' $way" /dev/null </dev/null >screen
        grep -q ' %, [0-9]* instructions' screen || return 1
    done
    flow --errors none.data
    ! grep -q ' %' err || return 1
    for n in 1 2; do
        script -qec "'$build/ptflow' -j $n --fields tid,ip none.data" /dev/null \
            </dev/null | sed 's/^.*\x1b\[K//; s/\r$//; /ptflow: /d' |
            sort -s -n -k 1,1 >got
        cmp -s got want || return 1
    done
}
if command -v script >/dev/null; then
    check "progress" progress
else
    echo "SKIP ptflow: progress: script is missing (package bsdutils)"
    skipped=$((skipped + 1))
fi
symfs() {
    mkdir -p "root$dir"
    mv tree "root$dir/tree"
    flow --symfs root --fields tid,ip none.data | sort -s -n -k 1,1 >got
    mv "root$dir/tree" tree
    cmp -s got want
}
check "--symfs" symfs

# The vdso of this machine is what ran; one that the user gives comes first.
cat >clock.c <<'END'
#include <elf.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <time.h>
int main(void)
{
    const char *vdso = (const char *) getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *e = (const Elf64_Ehdr *) vdso;
    FILE *f = fopen("vdso", "wb");
    struct timespec t;
    if (!vdso || !f) return 1;
    fwrite(vdso, 1, e->e_shoff + e->e_shnum * e->e_shentsize, f);
    for (int i = 0; i < 9; i++) clock_gettime(CLOCK_MONOTONIC, &t);
    return fclose(f) != 0;
}
END
vdso() {
    $CC -O1 -w -static -o clock clock.c && alone timeout 300 \
        "$build/ptrecord" --quiet --perf-data vdso.data -o clocks -- ./clock >out 2>&1 || return 1
    executed clocks >clock.want
    for given in "" "--vdso vdso"; do
        # shellcheck disable=SC2086 # words
        flow $given --fields tid,ip vdso.data >got
        cmp -s got clock.want && ! grep -q lost err || return 1
    done
    flow --fields dso vdso.data | grep -qF '[vdso]' || return 1
    for given in "clock.c" "none"; do
        flow --vdso $given --fields dso vdso.data >got
        grep -q "lost: no code" err && ! grep -qF '[vdso]' got || return 1
        cp err err.$given
    done
    grep -q "other version of the file; --force" err.clock.c &&
        grep -q "lost: mappings without a file" err.none &&
        grep -qF 'not there: [vdso]; say where a copy is: --vdso <file>' err.none
}
check "--vdso" vdso

# A program and its kernel, with the copy of that elsewhere; and both of them in
# a virtual machine, whose code is not what the host has there.
kernel=$dir/kernel
(cd "$here/.." && $CC -O0 -w -I. -o "$kernel" tests/mock/kernel.c \
    examples/tools/common/perf/perfwrite.c) || exit 2
kcore() {
    ./kernel "$dir/k" 20000 && mv k/kcore_dir copy && executed k >kernel.want &&
        [ "$(grep -c ' ffffffff8' kernel.want)" -gt 1000 ] || return 1
    for given in copy copy/kcore; do
        flow --kcore $given --fields tid,ip k >got
        cmp -s got kernel.want || return 1
    done
    flow --kcore copy --fields sym k | grep -q '^fault$' || return 1
    flow --fields tid,ip k >got
    grep -q "lost: no code" err && ! grep -q ' ffffffff8' got || return 1
    refuses "none: not a file" --kcore none k || return 1
    sed 's/^ffffffff81000000/ffffffff82000000/' copy/kallsyms >other
    mv other copy/kallsyms
    flow --kcore copy --fields tid,ip k >got
    grep -q "another boot of the kernel" err && ! grep -q ' ffffffff8' got
}
check "--kcore" kcore
guest() {
    for by in thread cpu; do
        rm -rf g
        ./kernel "$dir/g" 20000 guest $by && executed g >guest.want || return 1
        flow --guest-map g/guest --fields tid,ip g >got
        cmp -s got guest.want && ! grep -q lost err || return 1
        flow --guest-map g/guest --fields time g | sort -u >got
        [ "$(grep -c '[1-9]' got)" -gt 0 ] && said=1 || said=0
        [ "$(grep -c 'times in guests are by their clocks' err)" -eq $said ] ||
            return 1
        flow --guest-map g/guest --fields guest,sym,dso g | sort -u >got
        [ "$(cut -d ' ' -f 1,2 got | sort -u)" = "1 ?" ] &&
            grep -q "guest/kcore" got || return 1
        [ "$(flow --fields tid,ip g | wc -l)" -eq 0 ] || return 1
        flow --fields tid,ip g
        grep -q "lost: no code" err || return 1
    done
}
check "--guest-map" guest

# jq reads --json and finds in it what the lines say, of each kind of line, with
# a thread whose name is none.
fields=tid,pid,cpu,time,ip,to,size,count,kind,mode,comm,sym,symoff,dso
fields=$fields,queue,offset,sure,guest
json() {
    perl -0777 -pe 's/(?<!\/)worker\0/"\\\x01\xff;\t\0/g' cyc.data >odd.data
    for form in insn block branch call event; do
        flow --quiet --$form --errors --json --fields $fields --last 300 -j 2 \
            odd.data >got.json
        flow --quiet --$form --errors --fields $fields --last 300 odd.data \
            >got.text
        jq -r --arg form $form '
            def pad: tostring | "000000000"[length:] + .;
            def hex: if . == null then "-" else .[2:] end;
            def either($other): if . == null then $other else tostring end;
            if input_line_number == 1
            then select(.schema != "ptflow" or .version != 1) | "no schema"
            else ([.tid, .pid, (.cpu | either("-")),
                (.time | if . == null then "-" else
                    "\(. / 1e9 | floor).\(. % 1e9 | pad)" end),
                ((.depth // 0) * 2 | [., 128] | min | " " * . // "")
                    + (.ip | hex), (.to | hex), .size,
                .count, .kind, (.mode | either("-")),
                (if .comm == null then "-" else .comm end), (.sym | either("?")),
                (if .symoff == null then "?" else
                    "\(.sym // .dso)+\(.symoff)" end), (.dso | either("?")),
                .queue, (.offset | hex), (.sure | if . then 1 else 0 end),
                (.guest | if . then 1 else 0 end)]
                | map(tostring) | join(" ")), (select(.type != $form and .type != "lost") | "no")
            end' got.json >want.text 2>err || return 1
        # The odd name as either form has it.
        LC_ALL=C sed 's/"\\\\x01[^;]*;\\x09/NAME/' got.text >a
        LC_ALL=C sed 's/"\\ \xef\xbf\xbd; /NAME/' want.text >b
        [ -s a ] && cmp a b >err || return 1
        [ $form != call ] || grep -q NAME a || return 1
    done
}
if have jq jq; then check "--json" json; fi

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

finish
