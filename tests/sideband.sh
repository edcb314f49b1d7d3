#!/bin/sh
# sideband.sh: the options --sb* and --pevent* of ptdump and ptxed, and what
# they print, on traces and records whose bytes are written here. The expected
# lines were typed by hand. What each record does is tested in pevent.c.

# shellcheck disable=SC2086 # options are lists
. "$(dirname "$0")/check/tool.sh"

# ---- bytes of records ----

# le SIZE NUMBER: hex, low byte first.
le() {
    n=$2 i=0
    while [ $i -lt "$1" ]; do
        printf %02x $((n & 255))
        n=$((n >> 8)) i=$((i + 1))
    done
}
u4() { for word; do le 4 "$word"; done; }
u8() { for word; do le 8 "$word"; done; }

# text WORD: with a zero, padded to 8.
text() {
    printf %s "$1" | od -An -v -tx1 | tr -d ' \n'
    le $((8 - ${#1} % 8)) 0
}

# record TYPE MISC HEX: a record with that body.
record() { le 4 "$1"; le 2 "$2"; le 2 $((8 + ${#3} / 2)); printf %s "$3"; }

# Records with the samples pid/tid and time: ... PID TIME at the end.
mapping() { # ADDR LEN PGOFF NAME PID TIME
    record 1 2 "$(u4 "$5" "$5")$(u8 "$1" "$2" "$3")$(text "$4")$(
        u4 "$5" "$5")$(u8 "$6")"
}
start() { record 12 0 "$(u4 "$1" "$1" "$1" "$1")$(u8 "$2")"; }
switch_in() { record 14 0 "$(u4 "$1" "$1")$(u8 "$2")"; }
switch_out() { record 14 $((0x2000)) "$(u4 "$1" "$1")$(u8 "$2")"; }
lost() { record 2 0 "$(u8 1 "$1")$(u4 0 0)$(u8 "$2")"; }

tsc() { printf 19; le 7 "$1"; }
taken() { printf %s "$1"; le 6 "$2"; } # an IP packet with six bytes

# ---- a trace of two processes ----

bytes code.bin "90909090 $(u8 0) 90909090"
bytes two.pt "$psb 9901 $(tsc 1) $(taken 7d 0x1000) 0223
    3d0110 01 $(tsc 4) $(taken 71 0x2000) 3d0120 01"
bytes two.sb "$(mapping 0x1000 3 0 code.bin 1 0)" \
    "$(mapping 0x2000 3 12 code.bin 2 0)" "$(start 1 0)" \
    "$(switch_out 1 2)" "$(switch_in 3 3)" "$(switch_out 3 2)" \
    "$(switch_in 2 3)"
two="--pevent:sample-type 6 --pevent:primary two.sb"

: >empty.sb
bytes less.sb 01000000000000
bytes start.sb "$(start 9 0)"
bytes code2.bin 90909090 ffe0 # jmp rax
bytes loop.pt "$psb 9901 $(tsc 1) $(taken 7d 0x1000) 0223 $(tsc 3)
    $(taken 6d 0x2000) 3d0120 01"
bytes loop.sb "$(mapping 0x1000 2 4 code2.bin 1 0)" "$(start 1 0)" \
    "$(mapping 0x2000 1 0 code2.bin 1 2)"

run 0 ptdump --sb:compact --sb:offset $two two.pt <<'END'
0000000000000000  psb
0000000000000010  mode.exec  cs.l
0000000000000000  PERF_RECORD_MMAP  1/1, 1000, 3, 0, code.bin  { 1/1 0 }
0000000000000048  PERF_RECORD_MMAP  2/2, 2000, 3, c, code.bin  { 2/2 0 }
0000000000000090  PERF_RECORD_ITRACE_START  1/1  { 1/1 0 }
0000000000000012  tsc        1
000000000000001a  fup        3: 0000000000001000
0000000000000021  psbend
0000000000000023  fup        1: ????????????1001
0000000000000026  tip.pgd    0: ????????????????
00000000000000b0  PERF_RECORD_SWITCH.OUT  { 1/1 2 }
00000000000000c8  PERF_RECORD_SWITCH.IN  { 3/3 3 }
00000000000000e0  PERF_RECORD_SWITCH.OUT  { 3/3 2 }
00000000000000f8  PERF_RECORD_SWITCH.IN  { 2/2 3 }
0000000000000027  tsc        4
000000000000002f  tip.pge    3: 0000000000002000
0000000000000036  fup        1: ????????????2001
0000000000000039  tip.pgd    0: ????????????????
END

cat >both <<'END'
0000000000000000  PERF_RECORD_MMAP  1/1, 1000, 3, 0, code.bin  { 1/1 0 }
0000000000000048  PERF_RECORD_MMAP  2/2, 2000, 3, c, code.bin  { 2/2 0 }
0000000000000090  PERF_RECORD_ITRACE_START  1/1  { 1/1 0 }
[context: pid-1]
0000000000001000
[disabled]
[enabled]
00000000000000b0  PERF_RECORD_SWITCH.OUT  { 1/1 2 }
00000000000000c8  PERF_RECORD_SWITCH.IN  { 3/3 3 }
00000000000000e0  PERF_RECORD_SWITCH.OUT  { 3/3 2 }
00000000000000f8  PERF_RECORD_SWITCH.IN  { 2/2 3 }
[context: pid-2]
0000000000002000
[disabled]
END
for decoder in insn block; do
    run 0 ptxed --$decoder-decoder --sb:compact --sb:offset --sb:switch \
        --no-inst --check --pt two.pt $two <both
    # anywhere on the command line; quiet leaves sideband alone
    run 0 ptxed $two --$decoder-decoder --quiet --sb:switch --pt two.pt <<'END'
[context: pid-1]
[context: pid-2]
END
    # code before the first switch is that of --raw, after it it is not
    run 0 ptxed --$decoder-decoder --no-inst --raw code.bin:0x1000 --pt two.pt \
        --pevent:primary empty.sb --pevent:secondary less.sb 2>&1 <<'END'
0000000000001000
[disabled]
[enabled]
[39, 2000: error: no memory mapped at this address]
END
    run 0 ptxed --$decoder-decoder --no-inst --raw code.bin:0x1000 --pt two.pt \
        --pevent:sample-type 6 --pevent:primary start.sb <<'END'
[26, 1000: error: no memory mapped at this address]
END
    # records act at events only; ticks are events, too
    run 0 ptxed --$decoder-decoder --no-inst --event:time --sb --pt loop.pt \
        --pevent:sample-type 6 --pevent:primary loop.sb <<'END'
PERF_RECORD_MMAP  1/1, 1000, 2, 4, code2.bin  { 1/1 0 }
PERF_RECORD_ITRACE_START  1/1  { 1/1 0 }
0000000000001000
[35, 2000: error: no memory mapped at this address]
END
    run 0 ptxed --$decoder-decoder --no-inst --event:tick --event:time --sb \
        --pt loop.pt --pevent:sample-type 6 --pevent:primary loop.sb <<'END'
PERF_RECORD_MMAP  1/1, 1000, 2, 4, code2.bin  { 1/1 0 }
PERF_RECORD_ITRACE_START  1/1  { 1/1 0 }
0000000000001000
[0000000000000003  tick]
PERF_RECORD_MMAP  1/1, 2000, 1, 0, code2.bin  { 1/1 2 }
0000000000002000
[0000000000000003  disabled]
END
done

# ---- ptdump: flags ----

bytes one.pt "$psb $(tsc 5) 0223"
bytes one.sb "$(lost 2 5)$(lost 3 6)"
one="--pevent:sample-type 6 --pevent:primary one.sb"
packets() {
    sed "s/^0000000000000010  tsc .*/$1&/
        s/@/\\
/g" <<'END'
0000000000000000  psb
0000000000000010  tsc        5
0000000000000018  psbend
END
    printf '%s' "$2" | tr @ '\n'
}
# shows WANT1 WANT2 OPTION...: lines in front of the TSC and at the end.
shows() {
    packets "$1" "$2" >lines
    shift 2
    run 0 ptdump "$@" one.pt <lines
}
shows '' '' $one
shows 'PERF_RECORD_LOST  1, 2  { 0\/0 5 }@' \
    'PERF_RECORD_LOST  1, 3  { 0/0 6 }@' --sb $one
shows 'PERF_RECORD_LOST  1, 2  { 0\/0 5 }@' \
    'PERF_RECORD_LOST  1, 3  { 0/0 6 }@' $one --sb:verbose --sb:compact
verbose='PERF_RECORD_LOST@  id: 1@  lost: %d@  pid: 0@  tid: 0@  time: %d@'
# shellcheck disable=SC2059 # a format
shows "$(printf "$verbose" 2 5)" "$(printf "$verbose" 3 6)" \
    --sb:compact --sb:verbose $one
shows 'one.sb  @' 'one.sb  @' --sb:filename $one
shows 'one.sb:0000000000000000  @' 'one.sb:0000000000000028  @' \
    --sb:filename --sb:offset $one
shows '0000000000000000  0000000000000005  @' \
    '0000000000000028  0000000000000006  @' --sb:time --sb:offset $one
shows '' '' --sb:warn $one # of no effect
# --quiet takes back what was asked for in front of it
run 0 ptdump --sb --sb:offset --quiet $one one.pt </dev/null
run 0 ptdump --quiet --sb $one one.pt <<'END'
PERF_RECORD_LOST  1, 2  { 0/0 5 }
PERF_RECORD_LOST  1, 3  { 0/0 6 }
END
# a part of a file: offsets count from its start, what is beyond is cut
shows 'one.sb:0000000000000000  @' '' --sb:filename --sb:offset \
    --pevent:sample-type 6 --pevent one.sb:0-0x28
shows '' 'one.sb:0000000000000000  @' --sb:filename --sb:offset \
    --pevent:sample-type 6 --pevent:secondary one.sb:0x28-0x1000
shows '' '' --sb --pevent:primary one.sb:0x50 # its end
# files in the order of the command line, each with what stands before it
shows 'one.sb  PERF_RECORD_LOST  1, 2  { 0\/0 5 }@' \
    'one.sb  PERF_RECORD_LOST  1, 3  { 0/0 6 }@' \
    --sb --sb:filename $one --pevent:sample-type 4 --pevent:time-zero 9
run 0 ptdump --quiet --sb --sb:filename --pevent:sample-type 0 \
    --pevent:primary one.sb $one one.pt <<'END'
[one.sb:0000000000000000 sideband error: decoder out of sync]
one.sb  PERF_RECORD_LOST  1, 2  { 0/0 5 }
one.sb  PERF_RECORD_LOST  1, 3  { 0/0 6 }
END
# it is not tracing that lasts: records after the end of the trace come, too,
# and without a PSB
bytes nothing.pt 00
run 0 ptdump --sb $one nothing.pt <<'END'
PERF_RECORD_LOST  1, 2  { 0/0 5 }
PERF_RECORD_LOST  1, 3  { 0/0 6 }
END
# a sideband file turns time on, and with it its errors
bytes cyc.pt "$psb 0223 1b"
run 0 ptdump cyc.pt <<'END'
0000000000000000  psb
0000000000000010  psbend
0000000000000012  cyc        3
END
run 0 ptdump $one cyc.pt <<'END'
0000000000000000  psb
0000000000000010  psbend
[12: calibration error: no timing information]
[12: error updating time: no calibration]
0000000000000012  cyc        3
END

# ---- time ----

clock() { # WANT OPTION...
    want_time=$1
    shift
    printf '%s  \n' $want_time >lines
    run 0 ptdump --quiet --sb:time --pevent:sample-type 6 "$@" \
        --pevent:primary one.sb one.pt <lines
}
clock '0000000000000005 0000000000000006'
clock '0000000000000002 0000000000000003' --pevent:time-zero 3
clock '0000000000000014 0000000000000018' --pevent:time-shift 2
clock '0000000000000002 0000000000000003' --pevent:time-mult 2
clock '0000000000000000 0000000000000001' --pevent:tsc-offset 5
clock '0000000000000006 0000000000000007' --pevent:tsc-offset -1
clock '0000000000000015 0000000000000016' --pevent:tsc-offset -0x10
clock '0000000000000003 0000000000000004' --pevent:time-zero 1 \
    --pevent:time-shift 1 --pevent:time-mult 2 --pevent:tsc-offset 2 \
    --pevent:time-zero 0x1 --pevent:time-shift 02 --pevent:time-mult 3

# ---- samples by identifier ----

bytes ids.sb "$(record 14 0 "$(u4 5 6)$(u8 0x77)")" \
    "$(record 14 0 "$(u8 9)$(u8 0x78)")" "$(record 14 0 "$(u4 1 2)")" \
    "$(record 14 0 "$(u8 0x79)")"
run 0 ptdump --quiet --sb --pevent:sample-type 2 \
    --pevent:sample-config 0x77:0x10002 --pevent:sample-config 0x78:0x10004 \
    --pevent:sample-config 0x79:2 --pevent:primary ids.sb one.pt <<'END'
PERF_RECORD_SWITCH.IN  { 5/6 77 }
PERF_RECORD_SWITCH.IN  { 9 78 }
PERF_RECORD_SWITCH.IN  { 1/2 }
[ids.sb:0000000000000040 sideband error: bad configuration]
END

# ---- what a context shows ----

# sees WANT OPTION...: the instructions and messages of a trace of pid 1 that
# runs one instruction at 1000, with the records of x.sb.
bytes short.pt "$psb 9901 $(tsc 1) $(taken 7d 0x1000) 0223 3d0110 01"
sees() {
    printf '%s' "$1" | tr @ '\n' >lines
    shift
    run 0 ptxed --no-inst "$@" --pevent:sample-type 6 --pevent:primary x.sb \
        --pt short.pt <lines
}
here='0000000000001000@[disabled]@'
nowhere='[26, 1000: error: no memory mapped at this address]@'

bytes x.sb "$(mapping 0x1000 9 0 code.bin 1 0)" "$(start 1 0)"
sees "$here"
mkdir -p root/sub
cp code.bin root/sub/other.bin
bytes x.sb "$(mapping 0x1000 9 0 /sub/other.bin 1 0)" "$(start 1 0)"
sees "[x.sb:0000000000000000 sideband error: bad file]@$nowhere"
sees "$here" --pevent:sysroot root
sees "$here" --pevent:sysroot root/
bytes x.sb "$(mapping 0x1000 9 0 sub/other.bin 1 0)" "$(start 1 0)"
sees "$here" --pevent:sysroot root
bytes x.sb "$(mapping 0x1000 9 16 code.bin 1 0)" "$(start 1 0)"
sees "[x.sb:0000000000000000 sideband error: invalid argument]@$nowhere"

# no FIFO is waited for, nothing of /dev, /proc or /sys is opened
mkfifo fifo
for name in fifo /dev/zero /proc/self/exe /proc/self/maps /sys/kernel/notes \
    . ""; do
    bytes x.sb "$(mapping 0x1000 9 0 "$name" 1 0)" "$(start 1 0)"
    sees "[x.sb:0000000000000000 sideband error: bad file]@$nowhere"
done

# pseudo files: a warning, if it is asked for
bytes x.sb "$(mapping 0x1000 9 0 //anon 1 0)" "$(lost 1 0)" "$(start 1 0)"
sees "$nowhere"
sees "[x.sb:0000000000000000 sideband warning: image section lost]@[x.sb:\
0000000000000040 sideband warning: sideband lost]@$nowhere" --sb:warn
sees "[x.sb:0000000000000000 sideband warning: image section lost]@[x.sb:\
0000000000000040 sideband warning: sideband lost]@$nowhere" --sb:warn --quiet

# names with control bytes
bytes x.sb "$(mapping 0x1000 9 0 "$(printf 'a\033[1m\nb')" 1 0)" "$(start 1 0)"
sees "PERF_RECORD_MMAP  1/1, 1000, 9, 0, a\\x1b[1m\\x0ab  { 1/1 0 }@[x.sb:\
0000000000000000 sideband error: bad file]@\
PERF_RECORD_ITRACE_START  1/1  { 1/1 0 }@$nowhere" --sb

# vdso: of the kind of the first ELF file
elf() { # CLASS MACHINE: an ELF file, 64 bytes of header, then 16 NOPs
    printf '7f454c46%s0101%s0200%s00' "$1" "$(le 9 0)" "$2"
    le 44 0
    printf '90%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
}
for kind in x64:02:3e x32:01:3e ia32:01:03; do
    bytes prog.elf "$(elf "$(echo $kind | cut -d: -f2)" "${kind##*:}")"
    bytes x.sb "$(mapping 0x5000 16 0 prog.elf 1 0)" \
        "$(mapping 0x1000 16 0 '[vdso]' 1 0)" "$(start 1 0)"
    sees "$here" "--pevent:vdso-${kind%%:*}" code.bin
    sees "[x.sb:0000000000000048 sideband error: bad configuration]@$nowhere"
    sees "[x.sb:0000000000000048 sideband error: bad file]@$nowhere" \
        "--pevent:vdso-${kind%%:*}" --missing
done

# the kernel's code is part of each context
{
    printf '7f454c4602010100%s0400%s' "$(u8 0)" 3e00
    u4 1
    u8 0 64 0
    printf '%s4000380001000000000000' "$(u4 0)"
    printf 00
    u4 1 5
    u8 120 0x1000 0 4 4 4096
    printf 90909090
} >hex
bytes kcore "$(cat hex)"
bytes x.sb "$(start 1 0)"
sees "$here" --pevent:kcore kcore
sees "$here" --pevent:kcore kcore:0x1000
sees "$nowhere" --pevent:kcore kcore:0x2000
sees "kcore: offset=0x78 size=0x4 vaddr=0x1000.@$here" -v --pevent:kcore kcore
run 0 ptxed --no-inst --pevent:sample-type 6 --pevent:primary x.sb \
    --pt short.pt --pevent:kcore kcore <<'END'
0000000000001000
[disabled]
END
refuse 1 "ptxed: warning: failed to open none: No such file or directory." \
    ptxed --pevent:kcore none --pt short.pt

# a switch in user code waits; --pevent:kernel-start says what is none
bytes x.sb "$(mapping 0x1000 2 4 code2.bin 1 0)" "$(start 1 0)" \
    "$(mapping 0x2000 1 0 code2.bin 2 0)" "$(switch_in 2 2)"
switches() {
    run 0 ptxed --no-inst --event:tick --sb:switch --pt loop.pt "$@" \
        --pevent:sample-type 6 --pevent:primary x.sb
}
switches <<'END'
[context: pid-1]
0000000000001000
[tick]
[35, 2000: error: no memory mapped at this address]
END
switches --pevent:kernel-start 0x1000 <<'END'
[context: pid-1]
0000000000001000
[tick]
[context: pid-2]
0000000000002000
[disabled]
END

# ---- command lines that are refused, or not ----

for tool in ptdump ptxed; do
    [ $tool = ptdump ] && pt='' || pt=--pt
    refuse 1 "$tool: error loading none: bad file." \
        $tool --pevent:primary none $pt one.pt
    refuse 1 "$tool: error loading --none: bad file." \
        $tool --pevent:secondary --none $pt one.pt
    refuse 1 "$tool: error loading fifo: bad file." \
        $tool --pevent:primary fifo $pt one.pt
    refuse 1 "$tool: error loading one.sb: out of memory." \
        $tool --pevent:primary one.sb:0x51 $pt one.pt
    refuse 1 "$tool: bad file one.sb:2-1: invalid argument." \
        $tool --pevent:primary one.sb:2-1 $pt one.pt
    for word in primary secondary sysroot kcore vdso-x64 vdso-x32 vdso-ia32 \
        sample-config sample-type time-zero time-shift time-mult tsc-offset \
        kernel-start; do
        refuse 1 "$tool: --pevent:$word: missing argument." \
            $tool --pevent:$word
    done
    for word in sample-type time-zero time-shift time-mult tsc-offset \
        kernel-start; do
        refuse 1 "$tool: --pevent:$word: missing argument." \
            $tool --pevent:$word --sb $pt one.pt
        refuse 1 "$tool: --pevent:$word: bad argument: 1x." \
            $tool --pevent:$word 1x $pt one.pt
    done
    refuse 1 "$tool: --pevent:time-shift: value too big: 0x10000." \
        $tool --pevent:time-shift 0x10000 $pt one.pt
    refuse 1 "$tool: --pevent:time-mult: value too big: 0x100000000." \
        $tool --pevent:time-mult 0x100000000 $pt one.pt
    for word in 1 1: :1 1:x 1:1x x:1 --sb; do
        [ $tool = ptdump ] && name=--pevent:sample-config || name=$word
        refuse 1 "$tool: bad sample config $name: invalid argument." \
            $tool --pevent:sample-config $word $pt one.pt
    done
    for word in --sb:none --sbx --sb: --pevent: --pevent:x --pevents; do
        refuse 1 "$tool: unknown option: $word." $tool $word $pt one.pt
    done
done
refuse 1 "ptdump: unknown option: --sb:switch." ptdump --sb:switch one.pt
refuse 1 "ptxed: unknown option: --pevent." ptxed --pevent one.sb --pt one.pt
# ptdump has no use for these: any word will do
run 0 ptdump --quiet --pevent:sysroot --x --pevent:kcore none \
    --pevent:vdso-x64 --x --pevent:vdso-x32 --x --pevent:vdso-ia32 --x \
    --pevent:kernel-start 5 --sb:warn one.pt </dev/null

# ---- hostile files, by the tools themselves ----

# survives COMMAND...: whatever it prints, it ends with status 0.
survives() {
    timeout 300 "$@" >out 2>err
    got=$?
    if [ $got -eq 0 ]; then passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $*: exit status $got"
    fi
}
size=$(wc -c <two.sb)
n=1
while [ $n -lt "$size" ]; do
    head -c $n two.sb >cut.sb
    survives ptdump --sb --pevent:sample-type 6 --pevent cut.sb two.pt
    survives ptxed --sb:verbose --sb:warn --event:tick --pt two.pt \
        --pevent:sample-type 6 --pevent:primary cut.sb
    n=$((n + 13))
done

# ---- what ptrecord records and ptsplit cuts up is what executed ----

cat >tasks.c <<'END'
/* Processes that fork, exec and wait for each other, without a libc. */
static long call(long number, long a, long b, long c)
{
    __asm__ volatile("syscall" : "+a"(number)
                     : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return number;
}
static volatile int sum;
static void work(int rounds, int n)
{
    for (int i = 0; i < rounds; i++, call(24, 0, 0, 0)) // sched_yield
        for (int k = 0; k < n; k++) sum += i * k;
}
__attribute__((used)) static void run(long *stack)
{
    char *again[] = {(char *) stack[1], (char *) stack[1], 0};
    if (stack[0] > 1) {
        work(15, 30);
        call(231, 0, 0, 0); // exit_group
    }
    for (int k = 0; k < 2; k++) {
        if (call(57, 0, 0, 0)) continue; // fork
        work(9, 20 + k);
        if (k) call(59, stack[1], (long) again, 0); // execve
        call(231, 0, 0, 0);
    }
    work(20, 10);
    for (int k = 0; k < 2; k++) call(61, -1, 0, 0); // wait4
    call(231, 0, 0, 0);
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n call run\n");
END

# executed OPTION...: by process, as recorded and as decoded.
executed() {
    rm -rf task task.data split got-* want-*
    timeout 200 "$build/ptrecord" --quiet --perf-data task.data -o task \
        "$@" -- ./tasks >out 2>err
    got=$?
    if grep -q '^ptrecord: ptrace is not permitted here: ' err; then
        echo "SKIP tasks: ptrecord needs ptrace and Linux on x86-64"
        skipped=$((skipped + 1))
        return
    fi
    "$build/ptsplit" -o split --ptxed task.data >commands 2>>err
    grep '^ptxed' commands | while read -r command; do
        eval "$command --no-inst --sb:switch" 2>>err
    done | awk '/^\[context: pid-/ {pid = substr($2, 5); sub(/\]/, "", pid)}
        /^[0-9a-f]*$/ {print >("got-" pid)}'
    for file in task/*.u64; do
        name=$(printf %x "$(basename "$file" .u64)")
        od -An -v -w8 -tx8 "$file" | tr -d ' ' >"want-$name"
        # two cpus are decoded one after the other
        case $* in *'--cpus 2'*) for text in "want-$name" "got-$name"; do
            sort "$text" -o "$text"
        done ;; esac
    done
    differ=0
    for file in want-*; do
        cmp -s "$file" "got-${file#want-}" || differ=$((differ + 1))
    done
    if [ "$(echo want-* got-* | wc -w)" -eq 6 ] && [ $differ -eq 0 ] &&
        [ "$(cat want-* | wc -l)" -gt 4000 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL tasks $*: ptrecord's exit status $got, $differ processes" \
            "differ: $(wc -l want-* got-* | tr '\n' ' ')"
        tail -n 3 err
    fi
}
if ${CC:-cc} -O1 -static -nostdlib -fno-stack-protector -o tasks tasks.c \
    2>err; then
    executed
    executed --time cyc --cpus 1
    executed --time mtc --cpus 2
else
    echo "SKIP tasks: they are for Linux on x86-64"
    skipped=$((skipped + 1))
fi

# ---- from source to instructions, with pttc ----

if command -v yasm >/dev/null; then
    cat >all.ptt <<'END'
org 0x1000
bits 64
    ; @pt p1: psb()
    ; @sb primary(pevent)
    ; @sb pevent-sample_type(tid, time)
    ; @sb r1: pevent-mmap-section(code, 1, 1, 1, 1, 0)
    ; @sb r2: pevent-itrace-start(1, 1, 1, 1, 0)
    ; @sb secondary(pevent)
    ; @sb pevent-sample_type(time)
    ; @sb r3: pevent-mmap-section(more, 1, 1, 2)
    ; @pt mode.exec(64bit)
    ; @pt p2: tsc(1)
    ; @pt p3: fup(3: %l1)
    ; @pt psbend()
section code start=0x1000 vstart=0x1000
l1: nop
l2: call rax
l3: nop
l4: hlt
section more start=0x1100 vstart=0xa000
l5: ret
    ; @pt tsc(3)
    ; @pt tip(1: %l5)
    ; @pt tnt(t)
    ; @pt fup(1: %l4)
    ; @pt tip.pgd(0: 0)
    ; @pt .exp(ptxed)
    ;%0r1  PERF_RECORD_MMAP  1/1, 1000, 5, 0, all.bin  { 1/1 0 }
    ;%0r2  PERF_RECORD_ITRACE_START  1/1  { 1/1 0 }
    ;[context: pid-1]
    ;%0l1
    ;%0l2
    ;[tick]
    ;%0r3  PERF_RECORD_MMAP  1/1, a000, 1, 100, all.bin  { 2 }
    ;%0l5
    ;%0l3
    ;[disabled]
END
    "$build/pttc" all.ptt >names 2>err || cat err
    set --
    for name in $(cat names); do
        case $name in
        *.sb)
            side=${name##*pevent-}
            side=${side%%,*}
            for option in $(echo "${name%.sb}" | tr , '\n' | sed 1d |
                tr = ' ' | sed 's/ /=/'); do
                set -- "$@" "--pevent:${option%=*}" "${option#*=}"
            done
            set -- "$@" "--pevent:$side" "$name" ;;
        esac
    done
    for decoder in insn block; do
        run 0 ptxed --$decoder-decoder --event:tick --sb:compact --sb:offset \
            --sb:switch --no-inst --check --pt all.pt "$@" <all-ptxed.exp
    done
else
    echo "SKIP pttc: yasm is missing (package yasm)"
    skipped=$((skipped + 1))
fi

report
