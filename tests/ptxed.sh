#!/bin/sh
# ptxed.sh: what findings changed in the output of ptxed. TEST_ONLY=S15 runs one
# of them.

. "$(dirname "$0")/check/tool.sh"

chosen() {
    case $1 in *"$TEST_ONLY"*) ;; *) return 1 ;; esac
}

# A PTW without FUP, of which libipt's tool says no IP
if chosen S5; then
bytes ptw.bin "f30faee0 90"
bytes ptw.pt "$psb 9901 7d001000000000 0223 021205000000 3d0510 01"
run 0 ptxed --no-inst --event:ip --raw ptw.bin:0x1000 --pt ptw.pt <<'END'
0000000000001000
[ptwrite: 5]
0000000000001004
[disabled, at: 0000000000001005]
END
fi

# TIP to where there is no code, TIP.PGD, TIP.PGE without one before it
if chosen S7; then
bytes jmp.bin "ffe0 90"
bytes jmp.pt "$psb 9901 7d001000000000 0223 2d0030 01 310010 2d0040 06 \
    310210 3d0310 01"
for decoder in --insn-decoder --block-decoder; do
    run 0 ptxed $decoder --resync-on-error --no-inst --raw jmp.bin:0x1000 \
        --pt jmp.pt <<'END'
0000000000001000
[1f, 3000: error: no memory mapped at this address]
[disabled]
[enabled]
0000000000001000
[26, 4000: error: no memory mapped at this address]
[disabled]
[enabled]
0000000000001002
[disabled]
END
done
fi

# A packet that makes one event is taken off the trace with that event
if chosen S15; then
bytes cr3.bin "0f22d8"
bytes cr3.pt "$psb 9901 7d001000000000 0223 0243000a00000000 0243000b00000000"
run 0 ptxed --no-inst --raw cr3.bin:0x1000 --pt cr3.pt <<'END'
0000000000001000
[paging, cr3: 000000000000a000]
[2b, 1003: error: no memory mapped at this address]
END
fi

# code at f0100, where CS begins at f0000: IPs count from there
bytes cs.bin "85c0 7401 90 ffe0"
bytes cs.pt "$psb 9900 7d000100000000 0223 04 2d0201 3d0201 01"
for decoder in --insn-decoder --block-decoder; do
    run 0 ptxed $decoder --check --raw-insn --event:ip --cs-base 0xf0000 \
        --raw cs.bin:0xf0100 --pt cs.pt <<'END'
0000000000000100 85 c0                                         test ax, ax
0000000000000102 74 01                                         jz 0x105
0000000000000104 90                                            nop
0000000000000105 ff e0                                         jmp ax
[disabled, at: 0000000000000102]
END
done
refuse 1 "ptxed: --cs-base: value too big: 0x100000000." \
    ptxed --cs-base 0x100000000

report
