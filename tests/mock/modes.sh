#!/bin/sh
# modes.sh [FOLDER]: perf record makes a file in each of its modes, on a machine
# that seems to have Intel PT (pmu.c), and the trace in it is what was played:
# byte by byte, as ptsplit finds it, and in instructions, as perf decodes it; and
# so it is in the file as a machine of the other byte order had written it.
# The files stay in FOLDER (build/modes) as MODE.data; beside them are the trace
# that was played, thread.pt or 0.pt, and its instructions, TID.u64.

build=$(cd "${BUILD:-build}" && pwd) || exit 2
to=${1:-$build/modes}
here=$(cd "$(dirname "$0")" && pwd) || exit 2
CC=${CC:-cc}
passed=0 failed=0
export LC_ALL=C PERF_CONFIG=/dev/null

skip() {
    echo "SKIP modes: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

fail() {
    echo "FAIL $*"
    failed=$((failed + 1))
}

perf version >/dev/null 2>&1 || skip "perf is missing (package linux-perf)"
[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
    skip "a mount namespace needs root"
rm -rf "$to"
mkdir -p "$to/home" "$to/timed" "$to/big" && cd "$to" || exit 2
to=$(pwd)
HOME=$to/home perf record -q -o try.data -e dummy:u true 2>/dev/null ||
    skip "perf_event_open is not permitted"

# ---- the program, and its trace with and without time ----

# With an argument it goes on until there is such a file, perf has ended or a
# minute is over. It maps code to say that perf knows all of its own by now, and
# sleeps now and then, so that it has the processor for a time with an end.
cat >spin.c <<'END'
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static volatile long n;
static int add(int i) { return (int) n + i; }
static int take(int i) { return (int) n - i; }
static int (*volatile const ways[])(int) = {add, take, add, take};
static long ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
int main(int argc, char **argv)
{
    const long start = ms();
    int perf;
    for (unsigned i = 1, x = 1; i < 2000; i++) { /* nothing comes twice */
        x = x * 1103515245 + 12345;
        n += ways[x >> 16 & 3](i);
    }
    if (argc < 2) return 0;
    perf = getppid();
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("spin.c", O_RDONLY), 0);
    while (access(argv[1], F_OK) && getppid() == perf && ms() - start < 60000) {
        for (long end = ms() + 20; ms() < end;) ;
        usleep(1000);
    }
    return 0;
}
END
plain="setarch -R" # addresses are always the same
traced() {
    env -i setarch -R "$build/ptrecord" --quiet "$@" ./spin
}
{
    $CC -O1 -w -static -o spin spin.c &&
        $CC -O1 -w -shared -fPIC -o pmu.so "$here/pmu.c" -ldl &&
        $CC -O1 -w -o turn "$here/turn.c" &&
        (cd "$here/../.." && $CC -O1 -w -I. -o "$to/kernel" \
            tests/mock/kernel.c examples/tools/common/perf/perfwrite.c) &&
        traced -o untimed &&
        traced -o dense --psb-period 300 &&
        traced --time cyc --perf-data timed.data -o timed &&
        "$build/ptsplit" -o split timed.data
} >out 2>&1 || {
    cat out
    echo "0 passed, 1 failed"
    exit 1
}
cp untimed/trace.pt thread.pt
cp dense/trace.pt dense/thread.pt
cp split/timed.data-aux-idx0.bin 0.pt

# instructions LIST: one a line, in hex.
instructions() {
    od -An -v -tx8 -w8 "$1" | sed 's/^ *0*//'
}
instructions untimed/ips.u64 >thread.want
instructions timed/*.u64 >0.want
instructions dense/ips.u64 >dense.want

# ---- checks ----

hex() {
    od -An -v -tx1 "$1" | tr -d ' \n'
}

# trimmed FILE: in hex, without the zeros (PAD packets) around it.
trimmed() {
    hex "$1" | sed 's/^\(00\)*//; s/0*$//'
}

# check MODE TRACE: all of it is in the file.
check() {
    rm -rf split
    "$build/ptsplit" -o split "$1.data" >out 2>&1
    bytes=$(cat split/*aux-idx0*.bin 2>/dev/null | wc -c)
    if [ "$(trimmed "split/$1.data-aux-idx0.bin" 2>/dev/null)" != \
        "$(trimmed "$2.pt")" ]; then
        fail "$1: the trace is not what was played ($bytes bytes)"
        tail -n 3 out
        return
    fi
    flow "$1" <"$2.want"
    decode "$1" && cmp -s got "$2.want" || {
        fail "$1: $(wc -l <got) of $(wc -l <"$2.want") instructions"
        tail -n 3 err
        return
    }
    row "$1"
    case $1 in compressed | kcore | sched) ;; *) turned "$1" ;; esac
}

# turned MODE: ptsplit and perf find no less in the other byte order.
turned() {
    cp got little
    rm -rf big.split
    if ./turn "$1.data" "big/$1.data" 2>out &&
        "$build/ptsplit" -o big.split "big/$1.data" >out 2>&1 &&
        for f in split/*-aux-* split/*-sideband-*; do
            cmp "$f" "big.$f" >out || break
        done && [ ! -s out ] && decode "big/$1" && cmp got little >out; then
        row "$1, turned"
    else
        fail "$1, in the other byte order"
        tail -n 3 out
    fi
}

# decode MODE: the instructions of the program, to ./got. perf wants a pipe for
# what was one, and the size that a killed perf record did not write.
decode() {
    input=$1.data
    case $1 in
    *pipe) input=- ;;
    *killed) finish_file killed.data && input=finished.data ;;
    esac
    [ "$1" != big/killed ] || { ./turn finished.data f && mv f finished.data; }
    # shellcheck disable=SC2002
    cat "$1.data" 2>/dev/null | HOME=$to/home timeout 300 perf script -f -i "$input" \
        --itrace=i0ns -F comm,event,ip 2>err |
        awk '$1 == "spin" && $2 ~ /^instructions/ {print $3}' >got
    [ -s got ]
}

# finish_file FILE: to finished.data, with the size of the data and no features.
finish_file() {
    at=$(od -An -v -t u8 -j 40 -N 8 "$1" | tr -d ' ')
    {
        head -c 48 "$1"
        size=$(($(wc -c <"$1") - at))
        for i in 0 8 16 24 32 40 48 56; do
            # shellcheck disable=SC2059 # an octal escape
            printf "\\$(printf %03o $((size >> i & 255)))"
        done
        head -c 72 "$1" | tail -c 16
        head -c 32 /dev/zero
        tail -c +105 "$1"
    } >finished.data
}

# in_order ALL SOME: some of all, in their order?
in_order() {
    awk 'BEGIN {i = 0}
        NR == FNR {want[n++] = $1; next}
        {while (i < n && want[i] != $1) i++; if (i++ >= n) exit 1}' "$1" "$2"
}

# flow MODE: so says ptflow; the instructions are the standard input.
flow() {
    "$build/ptflow" --comm spin --fields ip "$1.data" >flow.got 2>err
    flow_count=$(wc -l <flow.got)
    cmp -s flow.got - || {
        fail "$1: ptflow: $flow_count instructions"
        tail -n 5 err
    }
}

# flow_parts MODE TRACE [TENTHS]: of the instructions of the trace at least so
# many are in the file, in their order; parts: and perf has some of them. Without
# time a piece that comes twice looks like one that is there twice.
flow_parts() {
    "$build/ptflow" --comm spin --fields ip "$1.data" >flow.got 2>err
    flow_count=$(wc -l <flow.got)
    [ $((10 * flow_count)) -ge $((${3:-9} * $(wc -l <"$2.want"))) ] &&
        in_order "$2.want" flow.got ||
        fail "$1: ptflow: $flow_count instructions"
}

parts() {
    flow_parts "$@"
    decode "$1" && in_order "$2.want" got
}

row() {
    passed=$((passed + 1))
    printf 'same   %-16s %7s bytes, %7d instructions in perf, %7d in ptflow\n' \
        "$1" "$bytes" "$(wc -l <got)" "$flow_count"
}

# ---- recording ----

played=$to # where the traces are
export PMU_SLICE=1000000 # all at once: perf does not join packets that are cut

# machine COMMAND...: on one with PT; spin goes on until its trace was played.
export PMU_AFTER=/spin.c PMU_DONE=$to/done
machine() {
    rm -f done
    PMU_TRACE=$played HOME=$to/home timeout 200 $plain sh "$here/pmu.sh" \
        "$to/pmu.so" "$@" >out 2>err2
}

# record MODE OPTION... COMMAND...
record() {
    name=$1
    shift
    machine perf record -q -o "$name.data" "$@" || {
        fail "$name: perf record"
        tail -n 3 err2
    }
}

# whole MODE OPTION... COMMAND...: up to ten times, until no record is lost:
# under load perf may be too late to read all switches of a cpu, or the record
# after which the trace is played.
whole() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        record "$@"
        "$build/ptflow" --errors "$1.data" >out 2>&1
        grep -qE 'sideband records lost|there is no trace' out || return 0
    done
    return 1
}

untimed=intel_pt/tsc=0,mtc=0/u
record thread --per-thread -e $untimed ./spin done
check thread thread
record compressed -z --per-thread -e $untimed ./spin done
check compressed thread # turn knows no zstd, folders, tracepoints

# The kernel's code is copied as well: that of a kernel made here.
export PMU_PROC=$to/machine/kcore_dir
./kernel "$to/machine" 1 &&
    record kcore --kcore --per-thread -e $untimed ./spin done
for f in kcore kallsyms modules; do
    [ $f = kcore ] && headers=4096 || headers=0
    cmp -i $headers kcore.data/kcore_dir/$f "$PMU_PROC/$f" >out 2>&1 ||
        fail "kcore: $(cat out)"
done
unset PMU_PROC
check kcore thread
record pipe --per-thread -e $untimed -o - ./spin done
mv out pipe.data
check pipe thread

# With time: that when the program had the processor.
export PMU_MOVED=$to/moved.pt
cp 0.want moved.want
if taskset -c 0 true 2>/dev/null; then
    whole command -e intel_pt//u taskset -c 0 ./spin done
    check command moved
    whole all -a -m 4M -e intel_pt//u taskset -c 0 ./spin done
    check all moved
    # As kernels without SWITCH records have it: by a tracepoint.
    if HOME=$to/home perf record -q -a -o try.data -e sched:sched_switch true \
        2>out; then
        export PMU_NO_SWITCH=1
        # All switches of the machine: under load the kernel loses some of them,
        # and with them what cannot be known.
        whole sched -a -m 4M -e intel_pt//u -e sched:sched_switch \
            taskset -c 0 ./spin done
        unset PMU_NO_SWITCH
        if grep -q 'sideband records lost' out; then
            echo "sched: the kernel loses records here"
        else
            check sched moved
        fi
    else
        echo "sched: tracepoints are not permitted here"
    fi
else
    echo "command, all: taskset is not permitted here"
fi
unset PMU_MOVED

# Killed when it has written the trace, but no end.
machine sh -c "perf record -q -o killed.data --per-thread -e $untimed \
        ./spin never &
    for i in \$(seq 1200); do
        [ -e done ] && break
        sleep 0.05
    done
    kill -9 \$!"
check killed thread

# is_played: what ptsplit finds, to split, are parts of what was played; none is
# there twice. Sets bytes and streams.
is_played() {
    rm -rf split
    "$build/ptsplit" -o split "$1.data" >out 2>&1
    whole=$(hex dense/thread.pt) bytes=0 streams=0
    for piece in split/*-aux-idx*.bin; do
        [ -e "$piece" ] || break
        part=$(trimmed "$piece")
        bytes=$((bytes + ${#part} / 2)) streams=$((streams + 1))
        case $whole in
        *"$part"*) whole=${whole%%"$part"*}-${whole#*"$part"} ;;
        *) return 1 ;;
        esac
    done
    [ $bytes -gt 0 ]
}

# Snapshots of a ring, one overlapping the other: together a stream that is
# larger than the ring. perf is a few instructions off where some of them meet.
played=$to/dense
export PMU_SLICE=900
PMU_SNAPSHOT=1 record snapshot -S4096 --per-thread -e $untimed ./spin done
export PMU_SLICE=1000000
snapshots=$(HOME=$to/home perf script -f -D -i snapshot.data 2>/dev/null |
    grep -c 'PERF_RECORD_AUXTRACE size')
if is_played snapshot && [ "$streams" -lt "$snapshots" ] &&
    [ $bytes -gt 4096 ] && decode snapshot &&
    [ $((10 * $(wc -l <got))) -ge $((9 * $(wc -l <dense.want))) ]; then
    flow_parts snapshot dense
    row snapshot
    turned snapshot
else
    fail "snapshot: $bytes bytes of $snapshots snapshots in $streams streams"
fi

# Samples with the trace before them; each from a PSB to a PSB.
record sample --aux-sample=1024 --per-thread \
    -e "{$untimed,cpu-clock:u}" -c 1000000 ./spin done
if is_played sample && parts sample dense; then
    row sample
    turned sample
else
    fail "sample: $bytes bytes, not what was played"
fi

# Compressed samples, whose trace has no place in the file. With no room to keep
# it, that is said.
record sample-z -z --aux-sample=1024 --per-thread \
    -e "{$untimed,cpu-clock:u}" -c 1000000 ./spin done
if is_played sample-z; then
    flow_parts sample-z dense
    : >got # perf does not decode these
    row sample-z
else
    fail "sample-z: $bytes bytes, not what was played"
fi
TMPDIR=$to/none "$build/ptflow" --comm spin --fields ip sample-z.data \
    >flow.got 2>err
if [ ! -s flow.got ] && grep -q "lost: trace missing in the file" err; then
    passed=$((passed + 1))
else
    fail "sample-z: $(wc -l <flow.got) instructions"
fi

# Lost between two PSBs: the rest is there, in two pieces.
psbs=$(LC_ALL=C grep -obUaP '\x02\x82(\x02\x82){7}' dense/thread.pt |
    cut -d: -f1)
# shellcheck disable=SC2086 # numbers
set -- $psbs
export PMU_LOSE=$4,$(($7 - $4))
record lost --per-thread -e $untimed ./spin done
unset PMU_LOSE
{ head -c "$4" dense/thread.pt; tail -c +$(($7 + 1)) dense/thread.pt; } >rest.pt
rm -rf split
"$build/ptsplit" -o split lost.data >out 2>&1
bytes=$(cat split/*aux-idx0*.bin | wc -c)
if [ "$(trimmed split/lost.data-aux-idx0.bin)" = "$(trimmed rest.pt)" ] &&
    grep -q '1 gap:' out && parts lost dense 5 &&
    [ "$(wc -l <got)" -lt "$(wc -l <dense.want)" ]; then
    row lost
    turned lost
else
    fail "lost: $bytes bytes, not what was played but for what was lost"
    tail -n 3 out
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
