#!/bin/sh
# test.sh: in a machine of two processors with Linux and fake_pt: ptcapture, what
# the kernel refuses it, that the remedy it names is one, and that all trace that
# was recorded is in the file. Started by machine.c, which machine.sh boots.

cd /tmp || exit
pt=/sys/module/fake_pt/parameters
kernel=/proc/sys/kernel
passed=0 failed=0
me=
user="machine user"

pass() { passed=$((passed + 1)); }
fail() {
    echo "FAIL $*"
    failed=$((failed + 1))
    sed -e 's/^/    /' -e 20q err
}

# is WHAT GOT WANTED
is() { [ "$2" = "$3" ] && pass || fail "$1: $2, not $3"; }

# set NAME VALUE, of fake_pt.
set_pt() { echo "$2" >$pt/$1; }

# says TEXT: it is in err.
says() { grep -q -- "$1" err && pass || fail "it does not say: $1"; }

# recorded NAME OPTION...: to NAME, whose trace is whole.
recorded() {
    name=$1
    shift
    set_pt made 0
    set_pt lost 0
    $me ptcapture -o "$name" "$@" >out 2>err ||
        { fail "$name: status $?"; return; }
    whole "$name"
}

# counts FILE: how many packets and gaps its trace has, the last number of each
# ring; and how many were made and lost since.
counts() {
    machine numbers "$1" >numbers 2>&1 || cat numbers
    {
        read -r last
        read -r packets gaps
    } <numbers
    read -r made <$pt/made
    read -r lost <$pt/lost
}

# whole FILE: as many packets as were made, in order.
whole() {
    counts "$1"
    [ "$gaps" -eq 0 ] && [ "$packets" -ge 60 ] &&
        [ "$packets" -eq "$made" ] && [ "$lost" -eq 0 ] && pass ||
        fail "$1: $packets packets, $gaps gaps, made $made, lost $lost"
}

# begun NAME OPTION...: a recording that goes on, $recorder; ended NAME: it does
# not, and nothing of it is missing.
begun() {
    name=$1
    shift
    set_pt made 0
    set_pt lost 0
    $me ptcapture -o "$name" "$@" >begun.out 2>begun.err &
    recorder=$!
    for i in $(seq 600); do
        read -r made <$pt/made
        [ "$made" -lt 100 ] || break
        sleep 0.1
    done
}
ended() {
    kill -INT $recorder
    wait $recorder
    cp begun.err err
    whole "$1"
}

# refused STATUS TEXT OPTION...: with the text, no file, and no command.
refused() {
    want=$1 text=$2
    shift 2
    rm -f no ran
    $me ptcapture -o no "$@" touch ran >out 2>err
    [ $? -eq $want ] && [ ! -e no ] && [ ! -e ran ] && grep -q -- "$text" err && pass ||
        fail "$*: it does not say: $text"
}

# capable NUMBER: ptcapture with that capability records more than a user may.
capable() {
    cp /bin/ptcapture capable
    machine capable $1 capable || fail "setcap"
    set_pt made 0
    $user ./capable -o caps -a -m 16M machine work 60 >out 2>err
    is "with capabilities: status" $? 0
    whole caps
}

# ---- as root ----

ptcapture --list >err 2>&1
is "--list: status" $? 0
says 'Intel PT: yes'
says '-a with the kernel  *yes'
recorded command -- machine work 60
recorded thread --per-thread machine work 60
recorded all -a machine work 60
recorded zstd -z --readers 1 -a machine work 60

# Snapshots: the newest packets, as many as a ring has room for.
recorded_snapshot() {
    set_pt made 0
    ptcapture --per-thread -o snap "$@" machine work 900 >out 2>err ||
        fail "$*: status $?"
    counts snap
}
recorded_snapshot --at-exit -m 1M
is "snapshot: gaps" $gaps 0
is "snapshot: packets" $packets "$made"
set_pt rate 100
recorded_snapshot --circular -m 4096
set_pt rate 10
is "circular: gaps" $gaps 0
is "circular: the last" "$last" "$((made - 1))"
[ $packets -gt 250 ] && [ $packets -lt 410 ] && pass ||
    fail "circular: $packets packets in 4096 bytes"

# ---- a trigger ----

# triggered WHAT OPTION... COMMAND: that was set, and hit. Trace ends there: the
# command does not wait for more.
triggered() {
    what=$1
    shift
    set_pt made 0
    $me ptcapture -o triggered "$@" >out 2>err || fail "$*: status $?"
    says "trigger: a $what, hit"
    says '1 snapshots'
}
triggered uprobe --trigger work machine work 0
triggered uprobe --per-thread --trigger work machine work 0
triggered uprobe -a --trigger work@/bin/machine machine work 0
recorded untriggered machine work 60

# ---- exclusive use ----

begun all -a
refused 1 'PT is in use: by another recording.*end those' --
refused 1 'PT is in use: by another recording.*end those' -a
ended all
recorded command -- machine work 60
begun thread machine work 999999999
refused 1 'PT is in use: by another recording.*end those' -a
ptcapture -o other --per-thread machine work 60 >out 2>err ||
    fail "other: status $?"
counts other
others=$packets
kill -INT $recorder
wait $recorder
counts thread
is "two threads: packets" $((packets + others)) "$made"
recorded all -a machine work 60
set_pt in_use 1
refused 1 'LBR or BTS events exclude it' --
set_pt in_use 0

# ---- rings that are full ----

set_pt rate 500 # more than a ring has room for
set_pt made 0
set_pt lost 0
ptcapture -o full --per-thread -m 4096 machine work 1500 >out 2>err
says 'lost: trace, [0-9]* times, when a ring was full: try a larger --size'
counts full
is "full: packets" $packets "$made"
times=$(sed -n 's/.*lost: trace, \([0-9]*\) times.*/\1/p' err)
[ "$lost" -gt 0 ] && [ $gaps -gt 0 ] && [ $gaps -le "$times" ] &&
    pass || fail "full: $gaps gaps, said $times"
set_pt rate 10
recorded large --per-thread -m 1M machine work 60

# ---- filters ----

# A shell cannot calculate with the highest bit.
grep -E -A 1 ' do_exit$|[[:space:]]toy[[:space:]]' /proc/kallsyms >symbols
at=$(sed -n '1s/^ffff\([^ ]*\) .*/\1/p' symbols)
after=$(sed -n '2s/^ffff\([^ ]*\) .*/\1/p' symbols)
toy=$(sed -n 's/^ffff\([^ ]*\) . toy.*/\1/p' symbols)
recorded kfilter --kernel --user -a --filter do_exit@kernel --stop toy@kernel \
    machine work 60
IFS=' ,' read -r action from size stop where length <$pt/filters
is "filter of the kernel" "$action $from" "filter ffff$at"
is "filter of the kernel: end" "$((0x$at + 0x$size))" "$((0x$after))"
is "stop in the kernel" "$stop $where" "stop ffff$toy"
recorded ufilter --filter work -- /bin/machine work 60
read -r action from size <$pt/filters
is "filter of a program" "$action $from $size" "filter $WORK"
refused 1 'no filter of that kind.*record without it' -a --filter work@/bin/machine
refused 2 'only with --kernel' --filter do_exit@kernel
refused 1 'can filter 2 ranges, not 3' --kernel --filter 1/1@kernel \
    --filter 2/1@kernel --stop 3/1@kernel
set_pt ranges 1
refused 1 'no filter of that kind.*record without it' --filter 0x1000/16 \
    --stop 0x2000/16
set_pt ranges 2
refused 1 'refuses the filter: it has to be a range' --kernel \
    --filter 0x1000/16@kernel
refused 1 'refuses the filter: it has to be a range' --filter 0x1000/16@/tmp
recorded unfiltered machine work 60

# ---- the kernel's code ----

set_pt toy 1
ptcapture -o kcore --kcore --per-thread machine work 60 >out 2>err ||
    fail "--kcore: status $?"
ptflow --fields ip kcore 2>err | head -n 5 >got
for offset in 0 1 3 6 7; do printf 'ffff%x\n' $((0x$toy + offset)); done >want
cmp -s got want && pass || { cat got >>err; fail "--kcore: not toy()"; }
is "--kcore: rights" "$(stat -c %a kcore kcore/data kcore/kcore_dir/kcore |
    sort -u | tr '\n' ' ')" "600 700 "
set_pt toy 0

# ---- rights ----

me=$user
echo 3 >$kernel/perf_event_paranoid # Debian's
refused 1 'perf_event_paranoid is 3 (Debian.*sysctl kernel.perf_event_paranoid=2' --
echo 2 >$kernel/perf_event_paranoid
recorded user machine work 60
triggered breakpoint --trigger work machine work 0
refused 1 'uprobes need rights, and for a breakpoint.*setcap cap_perfmon' \
    --trigger 0x2000@/bin/cat --
refused 1 'perf_event_paranoid is 2: only your own threads.*paranoid=1, or' --kernel
refused 1 'perf_event_paranoid=0, or setcap cap_perfmon,cap_ipc_lock=ep' -a
capable 38 # cap_perfmon
echo 1 >$kernel/perf_event_paranoid
recorded user --kernel machine work 60
echo 2 >$kernel/kptr_restrict
refused 1 'no addresses: as root: sysctl kernel.kptr_restrict=0' --kernel \
    --filter do_exit@kernel
echo 0 >$kernel/kptr_restrict
recorded user --kernel --user --filter do_exit@kernel machine work 60
echo 0 >$kernel/perf_event_paranoid
recorded user -a machine work 60
refused 1 '/proc/kcore needs root' --kcore
echo 3 >$kernel/perf_event_paranoid
refused 1 'paranoid is 3.*paranoid=0, or setcap cap_sys_admin,cap_ipc_lock=ep' -a
capable 21 # cap_sys_admin

# ---- limits ----

echo 2 >$kernel/perf_event_paranoid
ulimit -l 64
begun user machine work 999999999
refused 1 'a user can lock 516 KiB for each processor.*and 64 KiB.*smaller --size' \
    -m 16M
refused 1 'ring for records.*use a smaller --size or --data' --data 16M
ended user
recorded user -m 64K --data 64K machine work 60
echo 40000 >$kernel/perf_event_mlock_kb
recorded user -m 16M machine work 60
me="machine files 8"
refused 1 'too many open files: raise ulimit -n' --

# ---- lockdown ----

me=
echo confidentiality >/sys/kernel/security/lockdown
refused 1 'code cannot be read: the kernel is locked down' --kcore
recorded locked machine work 60

echo "machine: $passed passed, $failed failed"
