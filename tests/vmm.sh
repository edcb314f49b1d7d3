#!/bin/sh
# vmm.sh: examples/vmm.c sees every instruction of its guest's eight runs, though
# output goes round and waits, and a return that leads elsewhere than after its
# call.

. "$(dirname "$0")/check/lib.sh"
vmm=${BUILD:-build}/examples/vmm

# bytes FILE HEX
bytes() {
    # shellcheck disable=SC2059 # octal escapes
    printf "$(printf '%s' "$2" | sed 's/../& /g' | tr ' ' '\n' |
        sed '/^$/d' | while read -r byte; do
            printf '\\%03o' "0x$byte"; done)" >"$1"
}

# ---- the recording ----

n=$(($(wc -c <examples/recording/ips.u64) / 8))
"$vmm" examples/recording >"$tmp/out" && pass || fail_with "vmm" "$tmp/out"
grep -q "^exit [0-9]*: cr3 is 5000, after $n instructions\$" "$tmp/out" &&
    grep -q "^exit [0-9]*: cr3 is b000, after $((7 * n)) instr" "$tmp/out" &&
    grep -qE "^[0-9]+ exits, $((8 * n)) instructions, 7 overflows; [1-9][0-9]* \
returns checked, 0 astray; IPT_END\$" "$tmp/out" && pass ||
    fail_with "not all of eight runs" "$tmp/out"
size=$(($(wc -c <examples/recording/trace.pt) * 8 + 70))
[ $size -gt 8192 ] && # more than the regions
    grep -qx "$size bytes in 2 regions, waited [1-9][0-9]* times for room" \
        "$tmp/out" && pass || fail_with "output" "$tmp/out"

# ---- an attack ----

# 400000: call 400010; jmp 400000      400010: nop; ret      400020: jmp rax
echo "400000 30 pages.bin 0" >"$tmp/image.map"
bytes "$tmp/pages.bin" \
    e80b000000ebf990909090909090909090c39090909090909090909090909090ffe0

psb=02820282028202820282028202820282

# tips FOUND HEX: the TIPs of each of the eight runs, and what is found.
tips() {
    want=$1
    bytes "$tmp/trace.pt" "${psb}99017d0000400000000223$2"
    "$vmm" "$tmp" >"$tmp/out"
    status=$?
    tail -n 1 "$tmp/out" | sed "s/.*overflows; /$status: /" >"$tmp/got"
    [ "$(cat "$tmp/got")" = "$want" ] && pass || fail_with "$want" "$tmp/got"
}
tips "0: 15 returns checked, 0 astray; IPT_END" 2d05002d0500
tips "1: 16 returns checked, 8 astray; IPT_END" 2d05002d20002d0000

# ---- trace that is lost ----

# 400000: call 400020      400010: nop; ret      400020: jmp rax
# In the call flow comes to 400010, where a packet is none. After that comes a
# PSB+ in another call, which returns to 400020: the one before is not
# that one's. Then there is a call again, and its return.
bytes "$tmp/pages.bin" \
    e81b00000090909090909090909090909090c39090909090909090909090909090ffe0
tips "0: 8 returns checked, 0 astray; IPT_END" \
    "2d100002ff${psb}99017d11004000000002232d20002d00002d10002d05002d0500"

report
