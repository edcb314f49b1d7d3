#!/bin/sh
# tools.sh: what ptdump and ptxed print, and their exit statuses, on small
# traces whose bytes are written here. The expected lines were typed by hand.

. "$(dirname "$0")/check/tool.sh"

# ---- ptdump: lines ----

bytes small.pt "$psb 9901 7d00001000ffff 0223 000000 a6 4d0110aabb 0d 2d0210"

run 0 ptdump small.pt <<'END'
0000000000000000  psb
0000000000000010  mode.exec  cs.l
0000000000000012  fup        3: ffffffff00100000
0000000000000019  psbend
000000000000001b  pad
000000000000001c  pad
000000000000001d  pad
000000000000001e  tnt.8      .!..!!
000000000000001f  tip        2: ????????bbaa1001
0000000000000024  tip        0: ????????????????
0000000000000025  tip        1: ????????????1002
END

run 0 ptdump --no-pad --raw --lastip --exec-mode small.pt <<'END'
0000000000000000  02820282028202820282028202820282  psb
0000000000000010  9901                              mode.exec  cs.l                      em   64-bit
0000000000000012  7d00001000ffff                    fup        3: ffffffff00100000       ip   ffffffff00100000
0000000000000019  0223                              psbend
000000000000001e  a6                                tnt.8      .!..!!
000000000000001f  4d0110aabb                        tip        2: ????????bbaa1001       ip   ffffffffbbaa1001
0000000000000024  0d                                tip        0: ????????????????       ip   <suppressed>
0000000000000025  2d0210                            tip        1: ????????????1002       ip   ffffffffbbaa1002
END

run 0 ptdump --quiet small.pt </dev/null
run 0 ptdump --no-sync --no-offset small.pt:0x1e-0x25 <<'END'
tnt.8      .!..!!
tip        2: ????????bbaa1001
tip        0: ????????????????
END
run 0 ptdump --no-sync small.pt:036 <<'END'
0000000000000000  tnt.8      .!..!!
0000000000000001  tip        2: ????????bbaa1001
0000000000000006  tip        0: ????????????????
0000000000000007  tip        1: ????????????1002
END

# one packet of each kind
bytes all.pt "$psb 0223 04 02a3350000000000" \
    "31efbe 61bc9a78563492 9dbc9a78563412 cdefcdab8967452301" \
    "9900 9902 9903 9905 9904 9920 9921 9922 9923" \
    "0243014523010000 0243000000000000 02c8cdab000000" \
    "1901020304050607 02032400 02733412000801 5994 fb 07010102" \
    "02c3880100000000000080 02f3 0283" \
    "0232ffffffff00000000 0292cdab0000 0262 02e2 02c20b00000001000000" \
    "0222005f 02220871 02a20501000000 02a25004000000 02a26508000000" \
    "02a20505000000 02a20000000000" \
    "0213810e 02130300 02130510 02130cff 02131f00" \
    "0253022a00000000000000 0253040000000000000080" \
    "d960a10300 d98001" \
    "026381 0c78563412 02b3 00"

run 0 ptdump --no-offset --exec-mode all.pt <<'END'
psb
psbend
tnt.8      .
tnt.64     !.!.!
tip.pge    1: ????????????beef
tip.pgd    3: ffff923456789abc
fup        4: ????123456789abc
tip        6: 0123456789abcdef
mode.exec                           em   16-bit
mode.exec  cs.d                      em   32-bit
mode.exec  cs.d, cs.l                em   unknown
mode.exec  cs.l, if                  em   64-bit
mode.exec  if                        em   16-bit
mode.tsx
mode.tsx   intx
mode.tsx   abrt
mode.tsx   intx, abrt
pip        12345000, nr              cr3  0000000012345000
pip        0                         cr3  0000000000000000
vmcs       abcd000                   vmcs 000000000abcd000
tsc        7060504030201
cbr        24
tma        1234, 108
mtc        94
cyc        1f
cyc        80000
mnt        8000000000000001
ovf
stop
ptw        1: ffffffff
ptw        0: abcd, ip
exstop
exstop     ip
mwait      0000000b, 00000001
pwre       c6.0
pwre       c8.2, hw
pwrx       int: c1, c6
pwrx        st: c6, c1
pwrx        hw: c7, c6
pwrx       bad: c1, c6
pwrx       bad: c1, c1
cfe        1: 14, ip                 type intr
cfe        3                         type smi
cfe        5: 10                     type sipi
cfe        12: 255                   type uintr
cfe        31                        type unknown
evd        2: 2a                     type vmxr
evd        4: 8000000000000000       type unknown
trig       a1, mult, icnt: 3
trig       01, ip
bbp        1: 4-byte items
bip        1: 12345678
bep        ip
pad
END

bytes time.pt "$psb 02032400 5994 02c3880100000000000080 03 02733412000801"
run 0 ptdump --no-timing --no-offset time.pt <<'END'
psb
mnt        8000000000000001
END
run 0 ptdump --no-cyc --no-offset time.pt <<'END'
psb
cbr        24
mtc        94
mnt        8000000000000001
tma        1234, 108
END

# ---- ptdump: errors ----

bytes errors.pt "0505 $psb 06 05 06 $psb 0223 ad 0019 $psb 0223 4d01"
run 0 ptdump errors.pt <<'END'
0000000000000002  psb
0000000000000012  tnt.8      !
[13: error decoding packet: unknown opcode]
0000000000000015  psb
0000000000000025  psbend
[27: error decoding packet: unknown packet]
000000000000002a  psb
000000000000003a  psbend
END
run 0 ptdump --no-sync errors.pt:0-2 <<'END'
[0: error decoding packet: unknown opcode]
END
run 0 ptdump --quiet errors.pt <<'END'
[13: error decoding packet: unknown opcode]
[27: error decoding packet: unknown packet]
END
bytes none.pt "0606 0282 0282"
refuse 0 "ptdump: no PSB in the trace." ptdump none.pt
bytes cut.pt "$psb 0223 4d01"
run 0 ptdump --quiet cut.pt </dev/null
grep -q "the trace ends inside the packet at 12" err && passed=$((passed + 1)) ||
    { failed=$((failed + 1)); echo "FAIL ptdump cut.pt: $(cat err)"; }
bytes first.pt "$psb 0223 1d"
run 0 ptdump --lastip first.pt <<'END'
0000000000000000  psb
0000000000000010  psbend
[12: error tracking last-ip: no ip]
0000000000000012  fup        0: ????????????????       ip   <unavailable>
END

refuse 1 "ptdump: No processor trace file specified." ptdump
refuse 1 "ptdump: No processor trace file specified." ptdump --raw
refuse 1 "ptdump: unknown option: --bad." ptdump --bad all.pt
refuse 1 "ptdump: [<options>] <ptfile>.  Use --help or -h for help." \
    ptdump all.pt --raw
refuse 1 "ptdump: failed to open no.pt: No such file or directory." ptdump no.pt
refuse 1 "ptdump: bad offset 0x6 into none.pt." ptdump none.pt:6
refuse 1 "ptdump: bad range 0x7 in none.pt." ptdump none.pt:0-7
refuse 2 "ptdump: bad file none.pt:3-3: invalid argument." ptdump none.pt:3-3
refuse 1 "ptdump: failed to open none.pt:3-: No such file or directory." \
    ptdump none.pt:3-
refuse 1 "ptdump: --mtc-freq: missing argument." ptdump --mtc-freq
refuse 1 "ptdump: --mtc-freq: missing argument." ptdump --mtc-freq --raw x
refuse 1 "ptdump: --mtc-freq: bad argument: 3x." ptdump --mtc-freq 3x none.pt
refuse 1 "ptdump: --mtc-freq: value too big: 0x100." \
    ptdump --mtc-freq 0x100 none.pt
refuse 1 "ptdump: --cpuid-0x15.eax: value too big: 4294967296." \
    ptdump --cpuid-0x15.eax 4294967296 none.pt
refuse 1 "ptdump: cpu must be specified as f/m[/s]" ptdump --cpu 6 none.pt
refuse 1 "ptdump: cpu must be specified as f/m[/s]" ptdump --cpu 6/256 none.pt
refuse 1 "ptdump: cpu must be specified as f/m[/s]" ptdump --cpu 6/1/ none.pt
refuse 1 "ptdump: cpu must be specified as f/m[/s]" ptdump --cpu 6/1/2/3 none.pt
run 0 ptdump --cpu none none.pt </dev/null
run 0 ptdump --cpu 6/0x3d/4 none.pt </dev/null
touch empty.pt
refuse 1 "ptdump: failed to load empty.pt: it is empty." ptdump empty.pt

# ---- ptxed ----
# 1000 test eax,eax; 1002 je 1005; 1004 nop; 1005 call 100c; 100a jmp 100d;
# 100c ret; 100d jmp rax

bytes code.bin "85c0 7401 90 e802000000 eb01 c3 ffe0"
# PSB+ at 1000, je not taken, ret compressed, TIP to 1004, off at 1005
bytes run.pt "$psb 9901 7d001000000000 0223 0a 2d0410 3d0510 01"
# a TIP where the je needs a TNT
bytes tip.pt "$psb 9901 7d001000000000 0223 2d0410"

for decoder in --insn-decoder --block-decoder; do
    run 0 ptxed $decoder --raw code.bin:0x1000 --event:ip --pt run.pt <<'END'
0000000000001000  test eax, eax
0000000000001002  jz 0x1005
0000000000001004  nop
0000000000001005  call 0x100c
000000000000100c  ret
000000000000100a  jmp 0x100d
000000000000100d  jmp rax
0000000000001004  nop
[disabled, at: 0000000000001005]
END
    run 0 ptxed $decoder --stat:insn --quiet --raw code.bin:0x1000 \
        --pt run.pt <<'END'
insn: 8.
END
    # the TIP is cut: what follows the return is not proven
    run 0 ptxed $decoder --no-inst --raw code.bin:0x1000 \
        --pt run.pt:0-0x1d <<'END'
0000000000001000
0000000000001002
0000000000001004
0000000000001005
000000000000100c
[end of trace]
END
    # only the first four bytes of code are there
    run 0 ptxed $decoder --no-inst --raw code.bin:0-4:0x1000 --pt run.pt <<'END'
0000000000001000
0000000000001002
[1c, 1004: error: no memory mapped at this address]
END
    # a later --raw is seen instead of an earlier one
    run 0 ptxed $decoder --raw code.bin:0x1000 --raw code.bin:13:0x1002 \
        --pt run.pt:0-0x1c <<'END'
0000000000001000  test eax, eax
[end of trace]
END
    run 0 ptxed $decoder --raw code.bin:0x1000 --pt tip.pt <<'END'
0000000000001000  test eax, eax
0000000000001002  jz 0x1005
[1b, 1002: error: trace stream does not match query]
END
done

run 0 ptxed --insn-decoder --raw code.bin:0x1000 --raw-insn --att \
    --pt run.pt:0-0x1c <<'END'
0000000000001000 85 c0                                         test %eax, %eax
0000000000001002 74 01                                         jz 0x1005
0000000000001004 90                                            nop
0000000000001005 e8 02 00 00 00                                call 0x100c
000000000000100c c3                                            ret
[end of trace]
END
run 0 ptxed --raw code.bin:0x1000 --pt run.pt:0-0x1b <<'END'
[end of trace]
END
run 0 ptxed --raw code.bin:0x1000 --pt run.pt:0-0xf </dev/null
bytes bad.pt "$psb 9901 7d001000000000 0223 05 $psb 9901 7d0c1000000000 0223 06"
run 0 ptxed --insn-decoder --no-inst --raw code.bin:0x1000 --pt bad.pt <<'END'
[1b, 0: error: unknown opcode]
000000000000100c
[38, 100d: error: compressed return without call]
END

code="--raw code.bin:0x1000"
# --check says nothing where Zydis agrees, also when quiet, and something where
# it does not: it does not know REX2
bytes apx.bin "90 d50090 90 ffe0"
bytes apx.pt "$psb 9901 7d001000000000 0223 2d0010 2d0010 01"
for decoder in --insn-decoder --block-decoder; do
    run 0 ptxed $decoder --check --quiet --raw code.bin:0x1000 \
        --pt run.pt </dev/null
    run 0 ptxed $decoder --check --quiet --raw apx.bin:0x1000 \
        --pt apx.pt:0-0x1f <<'END'
[1b, 1001: zydis error: invalid instruction]
END
    run 0 ptxed $decoder --check --no-inst --raw apx.bin:0x1000 \
        --pt apx.pt:0-0x1f <<'END'
0000000000001000
0000000000001001
[1b, 1001: zydis error: invalid instruction]
0000000000001004
0000000000001005
[end of trace]
END
done

# where the decoder stands: after TNTs, at what makes the event
run 0 ptxed --insn-decoder --no-inst --offset --event:ip \
    --raw code.bin:0x1000 --pt run.pt <<'END'
000000000000001c  0000000000001000
000000000000001c  0000000000001002
000000000000001c  0000000000001004
000000000000001c  0000000000001005
000000000000001c  000000000000100c
000000000000001c  000000000000100a
000000000000001c  000000000000100d
0000000000000022  0000000000001004
[0000000000000022  disabled, at: 0000000000001005]
END
# begin at 1000, abort at 1001 to 1003, CBR; CYC after a TNT
bytes tsx.bin "90 90 90 7400 90"
bytes tsx.pt "$psb 9901 7d001000000000 0223 9921 3d0010 9922 3d0110 2d0310 \
    02032400 04 23 3d0510 01"
run 0 ptxed --no-inst --offset --event:ip --raw tsx.bin:0x1000 \
    --pt tsx.pt <<'END'
[000000000000001d  begin transaction, ip: 0000000000001000]
0000000000000022  ? 0000000000001000
[0000000000000022  aborted, ip: 0000000000001001]
[0000000000000025  interrupt, from: 0000000000001001, to: 0000000000001003]
[0000000000000028  cbr: 24]
000000000000002e  0000000000001003
[0000000000000031  disabled, at: 0000000000001005]
END

# an ELF file: its segment, 15 bytes at 1000, is that code
bytes code.elf "7f454c46 02010100 0000000000000000 0200 3e00 01000000 \
    0010000000000000 4000000000000000 0000000000000000 00000000 4000 3800 \
    0100 0000 0000 0000 01000000 05000000 7800000000000000 0010000000000000 \
    0010000000000000 0f00000000000000 0f00000000000000 0100000000000000 \
    85c0 7401 90 e802000000 eb01 c3 ffe0"
for option in --verbose -v; do
    run 0 ptxed $option --elf code.elf --stat --pt run.pt -q <<'END'
code.elf: offset=0x78 size=0xf vaddr=0x1000.
insn: 8.
blocks:	4.
END
done
run 0 ptxed --elf code.elf:0x2000 --pt run.pt <<'END'
[1c, 1000: error: no memory mapped at this address]
END
mkdir map
cp code.bin map
echo "1000 f code.bin 0" >map/image.map
run 0 ptxed --map map --quiet --stat:blocks --iscache-limit 99 \
    --pt run.pt <<'END'
blocks:	4.
END

run 0 ptxed --block:show-blocks --block:end-on-call --no-inst \
    --raw code.bin:0x1000 --pt run.pt:0-0x1c <<'END'
[block]
0000000000001000
0000000000001002
[block]
0000000000001004
0000000000001005
[block]
000000000000100c
[end of trace]
END
run 0 ptxed --block:show-blocks --block:end-on-jump --stat --no-inst \
    --raw code.bin:0x1000 --pt run.pt <<'END'
[block 1]
0000000000001000
0000000000001002
[block 2]
0000000000001004
0000000000001005
000000000000100c
[block 3]
000000000000100a
[block 4]
000000000000100d
[block 5]
0000000000001004
[disabled]
insn: 8.
blocks:	5.
END

# far pointers as XED prints them
bytes far.bin "ff18"
run 0 ptxed --raw far.bin:0x1000 --pt apx.pt <<'END'
0000000000001000  call far ptr [rax]
0000000000001000  call far ptr [rax]
0000000000001000  call far ptr [rax]
[disabled]
END

refuse 1 "ptxed: no pt file." ptxed
# shellcheck disable=SC2086 # two words
refuse 1 "ptxed: no pt file." ptxed $code
refuse 1 "ptxed: unknown option: --bad." ptxed --bad
refuse 1 "ptxed: --pt: missing argument." ptxed --pt
refuse 1 "ptxed: --raw: missing argument." ptxed --raw
refuse 1 "ptxed: --elf: missing argument." ptxed --elf
refuse 1 "ptxed: --cpu: missing argument." ptxed --cpu
refuse 1 "ptxed: --mtc-freq: missing argument." ptxed --mtc-freq
refuse 1 "ptxed: duplicate pt sources: run.pt." ptxed --pt run.pt --pt run.pt
refuse 1 "ptxed: failed to open no.pt: No such file or directory." \
    ptxed --pt no.pt
refuse 1 "ptxed: bad file run.pt:4-3: invalid argument." ptxed --pt run.pt:4-3
refuse 1 "ptxed: failed to parse base address from 'code.bin'.
ptxed: --raw: failed to load 'code.bin'." ptxed --raw code.bin
refuse 1 "ptxed: failed to add no.bin at 0x1000: bad file.
ptxed: --raw: failed to load 'no.bin:0x1000'." ptxed --raw no.bin:0x1000
refuse 1 "ptxed: failed to add code.bin at 0x1000: invalid argument.
ptxed: --raw: failed to load 'code.bin:99:0x1000'." \
    ptxed --raw code.bin:99:0x1000
refuse 1 "--insn-decoder: please specify ptxed before the pt source file." \
    ptxed --pt run.pt --insn-decoder
refuse 1 "ptxed: please specify cpu before the pt source file." \
    ptxed --pt run.pt --cpu 6/1
refuse 1 "ptxed: please specify --filter:addr3_a before --pt." \
    ptxed --pt run.pt --filter:addr3_a 1
refuse 1 "ptxed: unknown option: --filter:addr4_a." ptxed --filter:addr4_a 1

# --option=value, which libipt's tools refuse; and what they refuse stays so
run 0 ptdump --cpu=6/94 --mtc-freq=3 --pevent:primary=small.pt --pevent:tsc-offset=-1 \
    --no-offset --quiet small.pt </dev/null
run 0 ptxed --insn-decoder --no-inst --raw=code.bin:0x1000 --filter:addr0_cfg=0 \
    --pt=run.pt:0-0x1c <<'END'
0000000000001000
0000000000001002
0000000000001004
0000000000001005
000000000000100c
[end of trace]
END
refuse 1 "ptdump: --mtc-freq: bad argument: x." ptdump --mtc-freq=x small.pt
refuse 1 "ptdump: --cpu: missing argument." ptdump --cpu= small.pt
refuse 1 "ptdump: unknown option: --bad=1." ptdump --bad=1 small.pt
refuse 1 "ptdump: unknown option: --quiet=1." ptdump --quiet=1 small.pt
refuse 1 "ptdump: unknown option: --help=1." ptdump --help=1
refuse 1 "ptxed: unknown option: --version=." ptxed --version=
refuse 1 "ptxed: unknown option: --no-inst=1." ptxed --no-inst=1 --pt run.pt
refuse 1 "ptxed: --filter:addr3_cfg: value too big: 16." \
    ptxed --filter:addr3_cfg=16

for tool in ptdump ptxed; do
    for option in --help -h; do
        if $tool $option | head -3 | tr '\n' '|' |
            grep -q "^usage: $tool \[<options>\].*||options:|"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $tool $option"
        fi
    done
done

# ---- what cannot be written is not a success ----

full() {
    timeout 300 "$@" >/dev/full 2>err
    status=$?
    if [ $status -ne 0 ] && [ $status -lt 124 ] && [ -s err ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $* >/dev/full: exit status $status: $(cat err)"
    fi
}

if [ -c /dev/full ]; then
    for tool in ptdump ptxed ptseg ptcov ptparallel pttc; do
        full "$build/$tool" --help
        full "$build/$tool" --version
    done
    full ptdump small.pt
    full ptxed --map map --pt run.pt
    full "$build/ptseg" small.pt
    full "$build/ptcov" --map map --edges - run.pt
    full "$build/ptparallel" --map map --pt run.pt
    full "$build/ptparallel" --pt run.pt --index
    full "$build/ptrecord" --help
    full "$build/ptrecord" --version
    full "$build/ptdemo" --help
    full "$build/ptdemo" --version
fi

# Nothing is recorded into a folder without a name, which would be /.
refuse_record() {
    "$build/ptrecord" "$@" >out 2>err
    if [ $? -eq 2 ] && grep -q "ptrecord: [a-z-]" err; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL ptrecord $*: $(head -2 err)"
    fi
}
if "$build/ptrecord" --help >/dev/null; then # it is for this processor
    refuse_record -o ""
    refuse_record -o x
    refuse_record -- true
    refuse_record --bad
    refuse_record --max x
fi

# With standard error closed, messages do not go into the trace: the recorder
# has put something else there.
cat >closed.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char link[32], name[64];
    snprintf(link, sizeof link, "/proc/%d/fd/2", (int) getppid());
    long n = readlink(link, name, sizeof name);
    return n < 0 || write(1, name, n) != n;
}
END
${CC:-cc} -O1 -w -static -o to_closed closed.c || failed=$((failed + 1))
"$build/ptrecord" --quiet -o closed ./to_closed >out 2>&-
status=$?
case "$status $(cat out)" in
"0 /dev/null" | 77*) passed=$((passed + 1)) ;;
*) failed=$((failed + 1)); echo "FAIL ptrecord 2>&-: $status: $(cat out)" ;;
esac

report
