#!/bin/sh
# capture.sh: ptcapture on a machine that seems to have Intel PT (pmu.c), next to
# perf record on the same: their files have the same events, the same words of
# AUXTRACE_INFO and the same trace, and both perf and ptflow find in ptcapture's
# the instructions that were played. Then what perf has nothing of: refusals and
# their remedies, rights, and files of a recorder that was killed.
# CAPTURE=FILE is another ptcapture, one that was built with sanitizers.
#
# What is different in the files, and not compared: read_format (LOST is new in
# Linux 6.0), identifiers, ID_INDEX, THREAD_MAP, CPU_MAP and FINISHED_INIT (only
# perf writes them; no decoder of PT needs them), AUXTRACE's tid of a command (-1
# here, its pid there), its reference, where a stream is cut into AUXTRACE
# records, FINISHED_ROUND (one, at the end), the name before exec (ptcapture,
# perf-exec), features (no caches, topologies, build ids), KSYMBOL and TEXT_POKE
# records, which have a CPU here.

build=$(cd "${BUILD:-build}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=$(cd "$here/../.." && pwd) || exit 2
CC=${CC:-cc}
capture=$(realpath "${CAPTURE:-$build/ptcapture}") || exit 2
# The mock comes before the sanitizer's library; leaks are for the kernel to free.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
passed=0 failed=0
export LC_ALL=C PERF_CONFIG=/dev/null

skip() {
    echo "SKIP capture: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

pass() { passed=$((passed + 1)); }

fail() {
    echo "FAIL $*"
    failed=$((failed + 1))
    [ ! -s err ] || head -n 5 err | sed 's/^/    /'
}

perf version >/dev/null 2>&1 || skip "perf is missing (package linux-perf)"
[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
    skip "a mount namespace needs root"
to=$(mktemp -d) && chmod 755 "$to" && cd "$to" || exit 2
trap 'rm -rf "$to"' EXIT
trap 'exit 2' HUP INT TERM
mkdir home dense
HOME=$to/home
export HOME
perf record -q -o try.data -e dummy:u true 2>/dev/null ||
    skip "perf_event_open is not permitted"

# ---- the program, and its trace with and without time ----

cat >spin.c <<'E'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile long n;
static int add(int i) { return (int) n + i; }
static int take(int i) { return (int) n - i; }
static int (*volatile const ways[])(int) = {add, take, add, take};
int main(int argc, char **argv)
{
    const pid_t parent = getppid(); /* it is not outlived */
    struct timespec a, b;
    for (int i = 1; i < 2000; i++) n += ways[i * 7 % 4](i);
    clock_gettime(CLOCK_MONOTONIC, &a);
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while (argc > 1 && getppid() == parent
           && (b.tv_sec - a.tv_sec) * 1000
                      + (b.tv_nsec - a.tv_nsec) / 1000000 < atoi(argv[1]));
    return argc > 2 ? atoi(argv[2]) : 0;
}
E
plain="setarch -R" # addresses are always the same
{
    $CC -O1 -static -o spin spin.c &&
        $CC -O1 -w -shared -fPIC -o pmu.so "$here/pmu.c" -ldl &&
        $plain "$build/ptrecord" --quiet -o untimed ./spin &&
        $plain "$build/ptrecord" --quiet -o dense.rec --psb-period 300 ./spin &&
        $plain "$build/ptrecord" --quiet --time cyc --perf-data timed.data \
            -o timed ./spin &&
        "$build/ptsplit" -o split timed.data
} >out 2>&1 || {
    cat out
    echo "0 passed, 1 failed"
    exit 1
}
cp untimed/trace.pt thread.pt
cp dense.rec/trace.pt dense/thread.pt
cp split/timed.data-aux-idx0.bin 0.pt

# instructions LIST: one a line, in hex.
instructions() {
    od -An -v -tx8 -w8 "$1" | sed 's/^ *0*//'
}
instructions untimed/ips.u64 >thread.want
instructions timed/*.u64 >0.want
instructions dense.rec/ips.u64 >dense.want

# ---- recording ----

mock="$plain sh $here/pmu.sh $to/pmu.so"
export PMU_TRACE="$to" PMU_SLICE=1000000 # all at once

# ours NAME OPTION...: to NAME.o, and what the mock says of rings to NAME.o.log.
ours() {
    name=$1
    shift
    PMU_LOG=$to/$name.o.log timeout 300 $mock "$capture" -q -o "$name.o" \
        "$@" >out 2>err || { fail "$name: ptcapture: status $?"; return 1; }
}

# theirs NAME OPTION...: perf record, to NAME.p.
theirs() {
    name=$1
    shift
    PMU_LOG=$to/$name.p.log timeout 300 $mock perf record -q -N -B \
        --no-bpf-event -o "$name.p" "$@" >out 2>err ||
        { fail "$name: perf record: status $?"; return 1; }
}

# ---- comparing ----

# raw FILE: what perf says of each record.
raw() {
    perf report -D -i "$1" 2>/dev/null
}

# described FILE: the PT event, what samples of the others have, AUXTRACE_INFO.
# Its time zero is another one in each run.
described() {
    perf script --header-only -i "$1" 2>/dev/null | sed -n -E \
        '/^# event : name = intel_pt/ {
            s/, read_format = [A-Z|]*//
            s/^.* type = /PT: type = /
            p
        }
        /^# event : name = dummy/ s/.*(sample_type = [A-Z|]*).*/dummy: \1/p' |
        sort -u | { [ -z "$2" ] && cat || grep -v 'IP|TID|TIME|IDENTIFIER'; }
    raw "$1" | sed -n '/AUXTRACE_INFO type/,/^$/p' |
        sed -e 's/^.*\(AUXTRACE_INFO\)/\1/' -e '/Time Zero/d'
}

# rings LOG: how large they are for trace.
rings() {
    sed -n 's/^event [0-9]*: AUX area/AUX area/p' "$1"
}

# hex_of FILE: a line, without the zeros around it.
hex_of() {
    od -An -v -tx1 "$1" | tr -d ' \n' | sed 's/^\(00\)*//; s/0*$//'
    echo
}

# trace FILE: each queue's bytes, in hex.
trace() {
    rm -rf split
    "$build/ptsplit" -o split "$1" >split.out 2>&1
    for queue in split/*-aux-idx*; do
        [ -e "$queue" ] || break
        printf '%s ' "${queue##*-aux-}"
        hex_of "$queue"
    done
}

# same NAME [KERNEL]: the two files are, as the comment at the top says.
same() {
    described "$1.p" "$2" >p.desc
    described "$1.o" "$2" >o.desc
    [ -s p.desc ] && cmp -s p.desc o.desc && pass || {
        diff p.desc o.desc >err
        fail "$1: another description (perf <, ptcapture >)"
    }
    rings "$1.p.log" >p.rings
    rings "$1.o.log" >o.rings
    [ -s p.rings ] && cmp -s p.rings o.rings && pass || {
        diff p.rings o.rings >err
        fail "$1: other rings"
    }
    trace "$1.p" >p.trace
    trace "$1.o" >o.trace
    [ -s p.trace ] && cmp -s p.trace o.trace && pass ||
        fail "$1: another trace: $(wc -c <p.trace), $(wc -c <o.trace)"
}

# window FILE: the middle of the longest time that spin was on cpu 0 for.
window() {
    raw "$1" | awk '
        function end(t) {
            if (on && t - start > best) { best = t - start; from = start }
            on = 0
        }
        $1 != 0 || $2 !~ /^[0-9]+$/ { next }
        /PERF_RECORD_COMM exec: spin:/ {
            pid = $0; sub(/.*spin:/, "", pid); sub(/\/.*/, "", pid)
            on = 1; start = $2
        }
        /PERF_RECORD_MMAP2/ && on && index($0, " " pid "/") { start = $2 }
        /PERF_RECORD_SWITCH_CPU_WIDE OUT/ && pid {
            end($2)
            next_one = $0; sub(/.*pid\/tid: */, "", next_one)
            sub(/\/.*/, "", next_one)
            if (next_one == pid) { on = 1; start = $2 }
        }
        /PERF_RECORD_EXIT\(/ && index($0, "(" pid ":") { end($2) }
        END { if (best > 400000) printf "%.0f\n", from + best / 4 }'
}

# retime FILE: the trace, which begins at TSC 1 << 40, is from when spin was on
# its processor: the clock in the file is set so.
retime() {
    at=$(window "$1")
    [ -n "$at" ] || return 1
    zero=$((at - 512 * 672770566))
    raw "$1" | sed -n -E \
        -e 's/^.*(0x[0-9a-f]+) \[.*PERF_RECORD_TIME_CONV.*/\1 24/p' \
        -e 's/^.*(0x[0-9a-f]+) \[.*PERF_RECORD_AUXTRACE_INFO type.*/\1 40/p' \
        >places
    while read -r place offset; do
        for i in 0 8 16 24 32 40 48 56; do
            # shellcheck disable=SC2059 # an octal escape
            printf "\\$(printf %03o $((zero >> i & 255)))"
        done | dd of="$1" bs=1 seek=$((place + offset)) conv=notrunc 2>/dev/null
    done <places
    [ "$(wc -l <places)" -eq 2 ]
}

# decodes NAME WANT: perf and ptflow find those instructions in ptcapture's file,
# and perf finds them in its own.
decodes() {
    for f in "$1.p" "$1.o"; do
        [ -e "$f" ] || continue
        HOME=$to/home timeout 300 perf script -f -i "$f" --itrace=i0ns \
            -F comm,event,ip 2>err |
            awk '$1 == "spin" && $2 ~ /^instructions/ {print $3}' >got
        cmp -s got "$2.want" && pass ||
            fail "$f: perf: $(wc -l <got) of $(wc -l <"$2.want") instructions"
    done
    flows "$1" "$2"
}

flows() {
    "$build/ptflow" --comm spin --fields ip "$1.o" >got 2>err
    cmp -s got "$2.want" && pass ||
        fail "$1: ptflow: $(wc -l <got) of $(wc -l <"$2.want") instructions"
}

# until_played LOG: the mock has; until_there FILE; until_larger FILE SIZE.
until_played() {
    for i in $(seq 100); do
        ! grep -q 'bytes played' "$1" 2>/dev/null || return
        sleep 0.1
    done
}
until_there() {
    for i in $(seq 600); do
        [ ! -e "$1" ] || return
        sleep 0.1
    done
}
until_larger() {
    for i in $(seq 100); do
        [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ] && return
        sleep 0.1
    done
}

# stopped NAME OPTION...: ptcapture of what runs already, until Ctrl-C.
stopped() {
    name=$1
    shift
    PMU_LOG=$to/$name.log $mock "$capture" -o "$name" "$@" >out 2>err &
    outer=$!
    until_played "$name.log"
    sleep 0.2
    kill -INT "$(sed -n 's/^process //p' "$name.log" | head -n 1)"
    wait $outer
}

# ---- in every mode ----

untimed=intel_pt/tsc=0,mtc=0/u
no_time="--pt tsc=0,mtc=0"

theirs thread --per-thread -e $untimed ./spin 200
# shellcheck disable=SC2086 # words
ours thread --per-thread $no_time ./spin 200
same thread
decodes thread thread

theirs zstd -z --per-thread -e $untimed ./spin 200
# shellcheck disable=SC2086
ours zstd -z --per-thread $no_time ./spin 200
same zstd
decodes zstd thread

# A ring that wraps: 8 KiB for more trace than that.
PMU_TRACE=$to/dense PMU_SLICE=900
theirs wraps --per-thread -m 16,2 -e $untimed ./spin 300
# shellcheck disable=SC2086
ours wraps --per-thread --data 64K -m 8K $no_time ./spin 300
same wraps
flows wraps dense # perf joins no packets that are cut
PMU_TRACE=$to PMU_SLICE=1000000

# timed NAME: both recordings are whole, and spin ran alone for a while.
timed() {
    retime "$1.p" && retime "$1.o" &&
        ! raw "$1.p" | grep -q PERF_RECORD_LOST &&
        ! raw "$1.o" | grep -q PERF_RECORD_LOST
}

# On a busy machine a recording of all processors has many records, and spin
# hardly runs alone: there is room for them, and up to ten tries.
pinned="taskset -c 0 ./spin"
for mode in command all cpu; do
    case $mode in
    command) p='' o='' ;;
    all) p='-a -m 4096' o='-a --data 16M' ;;
    cpu) p='-C 0 -m 4096' o='-C 0 --data 16M' ;;
    esac
    for try in 1 2 3 4 5 6 7 8 9 10; do
        # shellcheck disable=SC2086
        theirs $mode $p -e intel_pt//u $pinned 400
        # shellcheck disable=SC2086
        ours $mode $o $pinned 400
        ! timed $mode || break
        [ "$try" -lt 10 ] || fail "$mode: spin was never alone"
    done
    same $mode
    decodes $mode 0
done

# The kernel, too: only what was asked for is to be compared.
theirs kernel -e intel_pt// ./spin 50
ours kernel --user --kernel ./spin 50
same kernel kernel
theirs only -a -e intel_pt//k ./spin 50
ours only -a --kernel ./spin 50
same only kernel
[ "$(raw only.p | grep -c 'MMAP -1/0:.*kernel.kallsyms')" = \
    "$(raw only.o | grep -c 'MMAP -1/0:.*kernel.kallsyms')" ] &&
    pass || fail "the kernel's place"
# Configurations.
export PMU_CAPS="ptwrite=1 event_trace=1"
terms() {
    theirs terms --per-thread -e "intel_pt/$1/u" ./spin 20
    ours terms --per-thread --pt "$1" ./spin 20
    same terms
}
terms cyc,cyc_thresh=4,mtc_period=6,psb_period=5
terms noretcomp,ptw,fup_on_ptw
terms mtc=0,event
unset PMU_CAPS

# Filters by function; the length of the text is a word of AUXTRACE_INFO.
theirs filter --per-thread -e $untimed \
    --filter 'filter main @ ./spin , tracestop take @ ./spin' ./spin 20
# shellcheck disable=SC2086
ours filter --per-thread $no_time --filter main --stop take@./spin ./spin 20
same filter
texts() { sed -n 's/^event [0-9]*: filter //p' "$1"; }
[ -n "$(texts filter.o.log)" ] &&
    [ "$(texts filter.o.log)" = "$(texts filter.p.log)" ] && pass ||
    fail "filter: $(texts filter.o.log), perf: $(texts filter.p.log)"

# What runs already: its maps come from /proc.
$plain ./spin 60000 &
spin=$!
sleep 0.3
for mode in attach thread-attach; do
    case $mode in attach) o='' e=intel_pt//u t='' ;;
    *) o=--per-thread e=$untimed t=$no_time ;; esac
    # shellcheck disable=SC2086
    theirs $mode $o -e $e -p $spin -- sleep 0.3
    # shellcheck disable=SC2086
    stopped $mode.o $o $t -p $spin
    same $mode
done
decodes thread-attach thread
# shellcheck disable=SC2086
stopped tid.o --per-thread $no_time -t $spin
flows tid thread
kill $spin

# ---- snapshots ----

# snapped NAME HOW RECORDER...: two snapshots, one after the other.
snapped() {
    name=$1 how=$2
    shift 2
    PMU_LOG=$to/$name.log
    export PMU_LOG
    $mock "$@" >out 2>err &
    outer=$!
    until_played "$PMU_LOG"
    pid=$(sed -n 's/^process //p' "$PMU_LOG" | head -n 1)
    before=$(stat -c %s "$name")
    for k in 1 2; do
        case $how in
        signal) kill -USR2 "$pid" ;;
        fifo) echo snapshot >fifo ;;
        esac
        [ $k = 2 ] || until_larger "$name" "$before"
        sleep 0.3
    done
    wait $outer
    unset PMU_LOG
}

mkfifo fifo
PMU_TRACE=$to/dense
for size in 4096 65536; do
    m=snap$size
    snapped $m.p signal perf record -q -N -B --no-bpf-event -o $m.p -S$size \
        --per-thread -e $untimed ./spin 3000
    # shellcheck disable=SC2086
    snapped $m.o signal "$capture" -q -o $m.o -S -m $size --per-thread \
        $no_time ./spin 3000
    same $m
done
# shellcheck disable=SC2086
snapped fifo.o fifo "$capture" -q -o fifo.o -S -m 4096 --per-thread \
    --control fifo $no_time ./spin 3000
trace fifo.o >o.trace
trace snap4096.o >p.trace
cmp -s o.trace p.trace && pass || fail "snapshots by --control"
for how in --at-exit --circular; do
    # shellcheck disable=SC2086
    ours exit $how -m 64K --per-thread $no_time ./spin 300
    flows exit dense
done
PMU_TRACE=$to

# ---- losses ----

# says TEXT: it is in err.
says() {
    grep -q -- "$1" err && pass || fail "it does not say: $1"
}

lossy() {
    # shellcheck disable=SC2086
    timeout 300 $mock "$capture" -o loss.o --per-thread $no_time \
        ./spin 50 >out 2>err
}
PMU_LOSE=500,100 lossy
says 'lost: trace, 1 time, when a ring was full: try a larger --size'
PMU_FLAGS=4 lossy
says 'lost: trace, 1 time, while a hypervisor used the processor'
PMU_FLAGS=8 lossy
says 'lost: trace, perhaps, 1 time, when something else used PT'

# Records: more mappings, while ptcapture is stopped, than its ring has room for.
# The kernel says how many it left out as soon as there is room again.
cat >flood.c <<'E'
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
/* Whether all threads of a process have stopped: a signal takes its time. */
static int stopped(int pid)
{
    char name[400], text[400];
    struct dirent *thread;
    int all = 1;
    DIR *threads;
    sprintf(name, "/proc/%d/task", pid);
    threads = opendir(name);
    while (threads && (thread = readdir(threads))) {
        FILE *file;
        sprintf(name, "/proc/%d/task/%s/stat", pid, thread->d_name);
        file = thread->d_name[0] == '.' ? 0 : fopen(name, "r");
        if (!file)
            continue;
        if (fgets(text, sizeof text, file) && !strstr(text, ") T "))
            all = 0;
        fclose(file);
    }
    if (threads)
        closedir(threads);
    return all;
}
static void map_code(int times)
{
    while (times--)
        munmap(mmap(0, 4096, PROT_READ | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}
int main(void)
{
    const struct timespec time = {0, 20000000}, shortly = {0, 1000000};
    kill(getppid(), SIGSTOP);
    for (int i = 0; i < 5000 && !stopped(getppid()); i++)
        nanosleep(&shortly, 0);
    map_code(1000);
    kill(getppid(), SIGCONT);
    for (int i = 0; i < 50; i++) {
        nanosleep(&time, 0);
        map_code(1);
    }
    return 0;
}
E
$CC -O1 -static -w -o flood flood.c
# shellcheck disable=SC2086
timeout 300 $mock "$capture" -o flood.o --per-thread --data 8K $no_time \
    ./flood >out 2>err
said=$(sed -n 's/.*lost: \([0-9]*\) records of processes.*larger --data$/\1/p' err)
perf report -D -i flood.o 2>/dev/null >flood.raw
there=$(grep -c 'PERF_RECORD_MMAP2.* //anon$' flood.raw)
lost=$(sed -n 's/.*PERF_RECORD_LOST.* lost:\([0-9]*\)$/\1/p' flood.raw)
[ -n "$said" ] && [ "$said" -gt 500 ] && [ "$said" = "$lost" ] &&
    [ $((said + there)) -eq 1050 ] && pass ||
    fail "$said of 1050 records lost, the file says $lost, $there are there"
"$build/ptflow" --event flood.o >out 2>err
says "lost: sideband records lost  *$said\$"

# ---- refusals ----

# refused WHAT,ERRNO TEXT OPTION...: status 1, no file, the command did not run.
refused() {
    rm -f ran no.o
    PMU_REFUSE=$1 timeout 300 $mock "$capture" -o no.o $3 $4 $5 \
        touch ran >out 2>err
    [ $? -eq 1 ] && [ ! -e no.o ] && [ ! -e ran ] && grep -q "$2" err && pass ||
        fail "$1: it does not say: $2"
}
refused open,2 'not one of Intel\|has no PT\|does not offer it\|too old'
refused open,16 'PT is in use: by another recording'
refused open,38 "a container's seccomp profile forbids it"
refused open,24 'too many open files: raise ulimit -n'
refused open,22 'does not take this configuration: try without --pt'
refused open,3 'a thread has ended'
refused open,13 'sysctl kernel.perf_event_paranoid=2, or setcap cap_'
refused open,13 'kernel.perf_event_paranoid=0' -a
refused open,1 'kernel.perf_event_paranoid=1' --kernel
refused side,13 'records of processes cannot be had: .*perf_event_paranoid'
refused side,24 'records of processes cannot be had: .*raise ulimit -n'
refused data,22 'a ring for records cannot be mapped: .*try without --pt'
refused data,1 'kernel.perf_event_mlock_kb.*use a smaller --size'
refused aux,1 'ring for trace.*kernel.perf_event_mlock_kb.*smaller --size'
refused aux,12 'there is not as much memory: use a smaller --size'
refused aux,22 'topa_multiple_entries takes at most 4M' -S
refused filter,22 'refuses the filter: it has to be a range' --filter 0x1000/16
refused filter,13 'refuses the filter: kernel addresses need --kernel' \
    --filter 0x1000/16
refused filter,95 'has no filter of that kind' --filter 0x1000/16

# bad TEXT OPTION..., wrong TEXT OPTION...: refused before anything is opened, as
# it cannot be recorded, or as the command line is wrong.
bad() { ends 1 "$@"; }
wrong() { ends 2 "$@"; }
ends() {
    status=$1 text=$2
    shift 2
    timeout 300 $mock "$capture" -o no.o "$@" >out 2>err
    [ $? -eq "$status" ] && [ ! -e no.o ] && grep -q -- "$text" err && pass ||
        fail "$*: it does not say, with status $status: $text"
}
bad 'has no function nowhere' --filter nowhere ./spin
wrong 'only with --kernel' --filter do_exit@kernel ./spin
wrong 'has to be <offset>/<size>' --filter 0x1000 ./spin
bad 'No such file' --filter main@./none ./spin
wrong 'in which file' --filter main -a
bad 'can filter 2 ranges, not 3' --filter 1/1 --filter 2/1 --stop 3/1 ./spin
bad 'no such program' --filter main ./none
bad 'cannot do mtc_period=1' --pt mtc_period=1 ./spin
bad 'has no nonsense' --pt nonsense ./spin
bad 'cannot do ptw=1' --pt ptw ./spin
wrong 'value too big' --pt tsc=2 ./spin
wrong 'not a power of two' --size 5000 ./spin
wrong 'one of them' -a -p 1
wrong 'nothing to record' -q
bad 'there is no process 999999999' -p 999999999
bad 'there is no thread 999999999' -t 999999999
wrong '--per-thread is for' -a --per-thread
bad './none: no such program' ./none

# What --list says of machines that are files.
machine() {
    rm -rf root
    mkdir -p root/proc/sys/kernel root/proc/self root/sys/kernel/security
    printf 'vendor_id\t: %s\nflags\t\t: fpu %s\n' "$1" "$2" >root/proc/cpuinfo
    echo "$3" >root/proc/sys/kernel/osrelease
    PTCAPTURE_ROOT=$to/root "$capture" --list >err 2>&1
    [ $? -eq 1 ] || fail "--list: its status is not 1"
    says "$4"
}
machine AuthenticAMD "" 6.1.0 "is not one of Intel's"
machine GenuineIntel hypervisor 6.1.0 'virtual machine has no PT.*pt_mode=1'
machine GenuineIntel avx 6.1.0 'no PT (none in CPUID): Broadwell'
machine GenuineIntel intel_pt 3.16.0 'too old: PT needs Linux 4.1'
machine GenuineIntel intel_pt 6.1.0 'the kernel does not offer it'
$mock cp -rL /sys/bus/event_source/devices/intel_pt . 2>/dev/null
mkdir -p root/sys/bus/event_source/devices
mv intel_pt root/sys/bus/event_source/devices
# listed TEXT: so it says if the kernel answers EACCES.
listed() {
    PTCAPTURE_ROOT=$to/root PMU_REFUSE=open,13 PMU_TYPE=200 \
        LD_PRELOAD=$to/pmu.so "$capture" --list >err 2>&1
    says "$1"
}
# ranged RELEASE FAMILY MODEL SINGLE ANSWER: of a ring in a single range.
ranged() {
    echo "$1" >root/proc/sys/kernel/osrelease
    printf 'cpu family\t: %s\nmodel\t\t: %s\nmodel name\t: Intel\n' \
        "$2" "$3" >root/proc/cpuinfo
    echo "$4" >root/sys/bus/event_source/devices/intel_pt/caps/single_range_output
    listed "snapshots of up to 4M  *$5"
}
for model in 140 141 151 154 183 186 191; do
    ranged 5.10.0-28-amd64 6 $model 1 'no: .*use --size 8M'
done
ranged 5.5.0 6 151 1 no
ranged 6.0.12 6 151 1 no
ranged 5.4.0 6 151 1 yes
ranged 4.19.0 6 151 1 yes
ranged 6.1.0 6 151 1 yes
ranged 6.10.0 6 151 1 yes
ranged 7.0.0 6 151 1 yes
ranged 5.10.0 6 151 0 yes
ranged 5.10.0 6 94 1 yes
ranged 5.10.0 15 151 1 yes
# snaps SIZE DAMAGED OPTION...: on such a processor, with a ring of that size.
snaps() {
    size=$1 damaged=$2
    shift 2
    PMU_LOG=$to/snaps.log PTCAPTURE_ROOT=$to/root timeout 300 $mock \
        "$capture" -q -o snaps.o --per-thread $no_time "$@" ./spin >out 2>err
    [ "$(grep -c 'trace may be damaged.*use --size 8M' err)" -eq "$damaged" ] &&
        rings snaps.log | grep -q "area of $size bytes" && pass ||
        fail "$*: $(rings snaps.log)"
}
ranged 5.10.0 6 183 1 no
snaps 8388608 0 -S
snaps 8388608 0 --circular
snaps 4194304 1 -S -m 4M
snaps 8192 1 --circular -m 8K
snaps 4096 0 -S -m 4K
snaps 4194304 0
ranged 6.1.0 6 183 1 yes
snaps 4194304 0 -S
for level in -1 0 1 2 3 4; do
    echo $level >root/proc/sys/kernel/perf_event_paranoid
    listed "kernel.perf_event_paranoid is $level"
done
listed 'Debian and Ubuntu have such values'
echo 100 >root/proc/sys/kernel/perf_event_mlock_kb
listed 'a user can lock 100 KiB for each processor'
echo 'Seccomp:	2' >root/proc/self/status
listed 'a seccomp filter forbids it'
echo 'none integrity [confidentiality]' >root/sys/kernel/security/lockdown
listed 'the kernel is locked down (confidentiality)'
# Without the kernel's addresses there is no filter by its functions.
echo '0000000000000000 T do_exit' >root/proc/kallsyms
PTCAPTURE_ROOT=$to/root "$capture" -o no.o -a --kernel --filter do_exit@kernel \
    >out 2>err
[ $? -eq 1 ] && [ ! -e no.o ] && pass || fail "kallsyms without addresses"
says 'shows no addresses: as root: sysctl kernel.kptr_restrict=0 kernel.perf_'
"$capture" --help >err && says '--filter <where>'
"$capture" --version >err && says '/ ipt-'

# ---- ends ----

# The command's status; Ctrl-C, after which the file is whole.
$mock "$capture" -q -o s.o --per-thread ./spin 20 7 >out 2>err
[ $? -eq 7 ] && pass || fail "the command's status"
# shellcheck disable=SC2086
stopped int.o --per-thread $no_time ./spin 100000
says 'int.o: [0-9]* bytes'
flows int thread
perf script --header-only -i int.o 2>/dev/null | grep -q '^# cmdline' && pass ||
    fail "after Ctrl-C the file has no features"

# What the file was is kept, as perf record keeps it. A recording that is refused
# leaves both as they are.
kept() {
    # shellcheck disable=SC2086
    timeout 300 $mock "$capture" -q -o kept.o --per-thread $no_time \
        ./spin 20 >out 2>err
}
echo first >kept.o
kept && [ "$(cat kept.o.old)" = first ] &&
    [ "$(head -c 8 kept.o)" = PERFILE2 ] && pass || fail "kept.o.old"
cp kept.o second
kept && cmp -s kept.o.old second && pass || fail "kept.o.old replaced"
cp kept.o third
! PMU_REFUSE=open,16 kept && cmp -s kept.o third && cmp -s kept.o.old second &&
    pass || fail "a refused recording renames"
rm kept.o.old && mkdir kept.o.old
! kept && cmp -s kept.o third && pass || fail "kept.o.old is a folder"
says 'cannot rename kept.o to kept.o.old: '
: >empty.o && ln -s second kept.link
# shellcheck disable=SC2086
for name in empty.o kept.link; do
    timeout 300 $mock "$capture" -q -o $name --per-thread $no_time \
        ./spin 20 >out 2>err || fail "$name"
done
[ ! -e empty.o.old ] && pass || fail "an empty file is kept"
[ "$(readlink kept.link.old)" = second ] && [ -f kept.link ] &&
    [ ! -L kept.link ] && pass || fail "a link is kept"

# Killed when so many bytes are played and taken: they are in the file. The
# program goes on until then.
whole=$(wc -l <dense.want)
mkdir cut
for z in '' -z; do
    for bytes in 1500 4500 7500; do
        rm -f killed.o k.log played
        head -c $bytes dense/thread.pt >cut/thread.pt
        # shellcheck disable=SC2086
        PMU_TRACE=$to/cut PMU_SLICE=1500 PMU_AFTER=/spin PMU_DONE=$to/played \
            PMU_LOG=$to/k.log $mock "$capture" -q -o killed.o $z \
            --per-thread $no_time ./spin 60000 >out 2>err &
        outer=$!
        until_there played
        pid=$(sed -n 's/^process //p' k.log | head -n 1)
        kill -9 "$pid"
        wait $outer
        trace killed.o >got.trace
        hex_of cut/thread.pt >want.trace
        "$build/ptflow" --comm spin --fields ip killed.o >got 2>err
        n=$(wc -l <got)
        [ "$(cut -d ' ' -f 2 got.trace)" = "$(cat want.trace)" ] &&
            head -n "$n" dense.want | cmp -s got - && [ "$n" -gt 0 ] &&
            [ "$n" -lt "$whole" ] && pass ||
            fail "killed $z after $bytes: $(wc -c <got.trace), $n instructions"
    done
done

# ---- rights ----

# The output: new, only for its owner, and nothing through a link.
[ "$(stat -c %a thread.o)" = 600 ] && pass || fail "mode of the output"
ln -s target link.o
bad 'cannot create link.o' -o link.o ./spin
[ ! -e target ] && pass || fail "a link was followed"

# rights_of COMMAND...: of a process that COMMAND starts, and what it has open.
cat >rights <<'E'
#!/bin/sh
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Sig(Blk|Ign|Cgt))' /proc/self/status
ls /proc/self/fd
E
chmod 755 rights spin
user=65534
mkdir -m 777 free
setpriv --reuid $user --regid $user --init-groups ./rights >want </dev/null
SUDO_UID=$user SUDO_GID=$user $mock "$capture" -q -o free/sudo.o \
    ./rights >got 2>err </dev/null
cmp -s want got && pass || { diff want got >err; fail "rights after sudo"; }
[ "$(stat -c %u:%a free/sudo.o)" = $user:600 ] && pass ||
    fail "owner of the output after sudo"
mkdir -m 755 roots
SUDO_UID=$user SUDO_GID=$user
export SUDO_UID SUDO_GID
bad 'cannot create roots/x.o: Permission denied' -o roots/x.o ./spin
unset SUDO_UID SUDO_GID

# With capabilities of the file: then no library can be preloaded, so this one
# is linked with the mock.
cat >setcap.c <<'E'
#include <linux/capability.h>
#include <sys/xattr.h>
int main(int argc, char **argv) /* cap_perfmon, cap_ipc_lock = ep */
{
    const struct vfs_cap_data data = {
        VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
        {{1u << CAP_IPC_LOCK, 0}, {1u << (CAP_PERFMON - 32), 0}}};
    return argc < 2 || setxattr(argv[1], "security.capability", &data,
                                sizeof(data), 0) != 0;
}
E
(cd "$top" && $CC -O1 -w -D_GNU_SOURCE -I. -o "$to/linked" \
    examples/tools/ptcapture.c "$build/common.a" "$to/pmu.so" \
    -Wl,-rpath,"$to" $(tail -n 1 "$build/flags") -pthread) >err 2>&1 &&
    $CC -o setcap setcap.c 2>>err || fail "ptcapture, linked with the mock"
cp linked capable
as_user="setpriv --reuid $user --regid $user --init-groups"
if ./setcap capable 2>/dev/null &&
    $as_user ./capable --version >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    $mock $as_user ./capable -q -a -m 8M -o free/caps.o ./rights >got 2>err </dev/null
    cmp -s want got && pass || {
        diff want got >>err
        fail "rights of a command of a file with capabilities"
    }
    [ "$(stat -c %u:%a free/caps.o)" = $user:600 ] && pass ||
        fail "owner of the output of a file with capabilities"
else
    echo "capture: no capabilities of files here"
fi

# It starts no program but the command: so say the kernel's own records.
perf record -q -N -B -o self.data -e dummy:u -- $plain sh "$here/pmu.sh" none.so \
    ./linked -q -z -o linked.o -a ./spin 50 >out 2>err
perf script --show-task-events -i self.data 2>/dev/null >tasks
pid=$(sed -n 's/.*COMM exec: linked:\([0-9]*\)\/.*/\1/p' tasks)
children=$(grep -c "PERF_RECORD_FORK([0-9]*:[0-9]*):($pid:" tasks)
threads=$(grep -c "PERF_RECORD_FORK($pid:[0-9]*):($pid:" tasks)
[ -n "$pid" ] && [ $((children - threads)) -eq 1 ] &&
    [ "$(grep -c 'COMM exec: spin:' tasks)" -eq 1 ] && pass ||
    fail "ptcapture started $((children - threads)) programs"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
