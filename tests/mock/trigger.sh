#!/bin/sh
# trigger.sh: ptcapture --trigger on a machine that seems to have Intel PT
# (pmu.c). On its clock the snapshot ends within 100 instructions after the
# trigger, whether the kernel can pause trace or not. Uprobes and breakpoints of
# this kernel are hit. The file has a record of it, which perf and ptflow read.
# CAPTURE=FILE is another ptcapture, one that was built with sanitizers.

build=$(cd "${BUILD:-build}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
CC=${CC:-cc}
capture=$(realpath "${CAPTURE:-$build/ptcapture}") || exit 2
# The mock comes before the sanitizer's library; leaks are for the kernel to free.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
passed=0 failed=0 skipped=
export LC_ALL=C PERF_CONFIG=/dev/null

skip() {
    echo "SKIP trigger: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

pass() { passed=$((passed + 1)); }

fail() {
    echo "FAIL $*"
    failed=$((failed + 1))
    [ ! -s err ] || head -n 5 err | sed 's/^/    /'
}

says() { grep -q -- "$1" err && pass || fail "it does not say: $1"; }

[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
    skip "a mount namespace needs root"
to=$(mktemp -d) && chmod 755 "$to" && cd "$to" || exit 2
trap 'rm -rf "$to"' EXIT
trap 'exit 2' HUP INT TERM
: >err

# A program that calls a function when so many milliseconds are over, and once
# more later.
cat >spin.c <<'END'
#include <stdlib.h>
#include <time.h>
static volatile long n;
static long ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
__attribute__((noinline)) static void slow(void) { n = n / 2; }
__attribute__((noinline)) static void never(void) { n = n / 3; }
static int add(int i) { return (int) n + i; }
static int take(int i) { return (int) n - i; }
static int (*volatile const ways[])(int) = {add, take, add, take};
int main(int argc, char **argv)
{
    const long time = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 1; i < 2000; i++)
        n += ways[i * 7 % 4](i);
    for (long end = ms() + time; ms() < end;) ;
    slow();
    for (long end = ms() + time; ms() < end;) ;
    slow();
    if (n == 42) never();
    return 0;
}
END
plain="setarch -R" # addresses are always the same
{
    $CC -O1 -static -o spin spin.c && $CC -O1 -pie -fPIE -o moves spin.c &&
        $CC -O1 -w -shared -fPIC -o pmu.so "$here/pmu.c" -ldl &&
        $plain "$build/ptrecord" --quiet -o rec ./spin &&
        mkdir trace && cp rec/trace.pt trace/thread.pt
} >out 2>&1 || {
    cat out
    echo "0 passed, 1 failed"
    exit 1
}
od -An -v -tx8 -w8 rec/ips.u64 | sed 's/^ *0*//' >want

mock="$plain sh $here/pmu.sh $to/pmu.so"
no_time="--pt tsc=0,mtc=0"

# captured OPTION...: to t.o, of ./spin or what $run says.
captured() {
    rm -f t.o log
    # shellcheck disable=SC2086
    PMU_LOG=$to/log timeout 100 $mock "$capture" -o t.o --per-thread $no_time \
        "$@" >out 2>err || fail "$*: status $?"
}

# marked: one record of the trigger is in the file, and perf has it.
marked() {
    perf script -f -F comm,event,ip -i t.o 2>perf.err | grep -c 'trigger:u' >got
    [ "$(cat got)" -ge 1 ] && pass || fail "no mark: $(head -n 1 perf.err)"
}

# ---- on the mock's clock ----

# bytes instructions: how far flow is known at some places of the trace.
"$build/ptflow" --quiet --fields offset --pt trace/thread.pt \
    --map rec >offsets 2>err || fail "ptflow"
[ "$(wc -l <offsets)" -eq "$(wc -l <want)" ] && pass || fail "offsets"

# packets BYTES: where a packet of flow begins after so many bytes, where the next
# one does, and how many instructions come before the first one.
packets() {
    awk -v bytes="$1" '
        function hex(s,   i, v) {
            for (i = 1; i <= length(s); i++)
                v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1
            return v
        }
        hex($1) >= bytes && !first {first = hex($1); n = NR - 1}
        first && hex($1) > first {print first, hex($1), n; exit}' offsets
}

# ends BYTES: the trigger is there. The processor goes on for a packet until it is
# stopped. The snapshot ends there or less than 100 instructions later.
ends() {
    read -r first next at <<END
$(packets "$1")
END
    PMU_TRACE=$to/trace PMU_SLICE=$((next - first)) PMU_TRIGGER=$first captured \
        --trigger slow ./spin 3000
    says 'trigger: a uprobe, hit'
    says '1 snapshots'
    cp err said
    marked
    "$build/ptflow" --comm spin --fields ip t.o >got 2>err
    n=$(wc -l <got)
    head -n "$n" want | cmp -s got - && [ "$n" -ge "$at" ] &&
        [ "$n" -le $((at + 100)) ] && pass ||
        fail "after $1 bytes: $n instructions, the trigger was at $at"
    echo "trigger: after instruction $at; the snapshot ends at $n"
}
ends 1600
ends 2000
[ "$n" -gt "$at" ] && pass || fail "the processor did not go on"
grep -q 'this kernel cannot stop trace at once' said && pass || fail "at once"
PMU_PAUSE=1 ends 1600
[ "$n" -eq "$at" ] && pass || fail "it is not paused at once"
grep -q 'trigger .*, pauses' log && pass || fail "it does not pause"
grep -q 'cannot stop trace' said && fail "it says that it cannot pause" || pass

# ---- on this kernel ----

# The function is called after a second, and trace is played before that.
export PMU_TRACE="$to/trace" PMU_SLICE=1000000
captured --trigger slow ./spin 300
if ! grep -q 'a uprobe, hit' err; then
    fail "uprobe"
fi
says '1 snapshots'
marked
"$build/ptflow" --comm spin --fields ip t.o >got 2>err
cmp -s got want && pass || fail "uprobe: $(wc -l <got) instructions"
"$build/ptflow" --errors t.o >out 2>err || fail "ptflow reads it"
captured --trigger never ./spin 20
says 'a uprobe, not hit'
says '0 snapshots'
captured --trigger never --at-exit ./spin 20
says '1 snapshots'
captured --trigger slow@./moves ./moves 100
says 'a uprobe, hit'

# Of all processors, and of what runs already.
$mock "$capture" -o all.o -a --trigger slow@./spin ./spin 100 >out 2>err ||
    fail "-a: status $?"
says 'a uprobe, hit'
# shellcheck disable=SC2086
$mock "$capture" -o all.o --trigger slow ./spin 100 >out 2>err ||
    fail "command: status $?"
says 'a uprobe, hit'

# Without rights: a breakpoint. The debug registers of a virtual machine may do
# nothing for a while, which a program finds that counts its own hits.
cat >stops.c <<'END'
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) static void stop(void) { __asm__ volatile(""); }
int main(void)
{
    struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof(a)};
    long long n = 0;
    int fd;
    a.bp_type = HW_BREAKPOINT_X;
    a.bp_addr = (unsigned long) stop;
    a.bp_len = sizeof(long);
    a.exclude_kernel = a.exclude_hv = 1;
    fd = (int) syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    for (int i = 0; i < 100; i++) stop();
    return fd >= 0 && read(fd, &n, sizeof(n)) == sizeof(n) && n < 100;
}
END
$CC -O1 -o stops stops.c || fail "stops.c"
./stops && works=1 || works=
passed_before=$passed failed_before=$failed
export PMU_REFUSE="uprobe,13"
captured --trigger slow ./spin 100
says 'a breakpoint, hit'
says '1 snapshots'
marked
./moves 3000 &
moves=$!
sleep 0.2
captured --trigger slow -p $moves
says 'a breakpoint, hit'
wait $moves
unset PMU_REFUSE
if [ $failed -gt $failed_before ] && { [ -z "$works" ] || ! ./stops; }; then
    echo "SKIP trigger: this machine does not stop at breakpoints"
    passed=$passed_before failed=$failed_before skipped=1
fi

# refused WHAT TEXT OPTION... COMMAND; wrong: the command line is.
refused() { ends 1 "$@"; }
wrong() { ends 2 none "$@"; }
ends() {
    status=$1 what=$2 text=$3
    shift 3
    rm -f no.o
    PMU_REFUSE=$what timeout 100 $mock "$capture" -o no.o "$@" >out 2>err
    [ $? -eq "$status" ] && [ ! -e no.o ] && pass || fail "$what is not refused"
    says "$text"
}
refused 'uprobe,13' 'the trigger cannot be set: uprobes need rights, .* -no-pie' \
    --trigger slow ./moves
refused 'uprobe,2' 'uprobes are not in this kernel, .* CONFIG_UPROBE_EVENTS' \
    --trigger slow ./moves
refused 'uprobe,13 break,28' 'debug registers are in use: end debuggers' \
    --trigger slow ./spin
refused 'uprobe,13 break,13' 'kernel.perf_event_paranoid' --trigger slow ./spin
refused 'uprobe,22 break,22' 'no instruction that the kernel can stop at' \
    --trigger slow ./spin
refused none 'has no function nowhere' --trigger nowhere ./spin
wrong 'not in the kernel' --trigger do_exit@kernel ./spin
wrong 'one of them' --trigger slow --circular ./spin
wrong 'an address has to be <offset>' --trigger 0x1000/5 ./spin

echo "$passed passed, $failed failed${skipped:+, $skipped skipped}"
[ $failed -eq 0 ]
