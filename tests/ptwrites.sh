#!/bin/sh
# ptwrites.sh: values that a program writes by 64 branches after a mark, as perf's
# manual has it, are events of ptflow: at each place in a packet, in short and long
# ones, and only where all of it is there.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
cd "$tmp" || exit 2

# packets HEX...: bytes.
packets() {
    # shellcheck disable=SC2059 # octal escapes
    printf "$(echo "$*" | awk '{for (i = 1; i <= NF; i++) {
        n = 16 * index("123456789abcdef", substr($i, 1, 1)) \
            + index("123456789abcdef", substr($i, 2, 1))
        printf "\\%d%d%d", n / 64, n / 8 % 8, n % 8 }}')"
}

# tnt SIZE BEFORE VALUE AFTER: packets of SIZE bits, the value's between others.
tnt() {
    echo "$@" | awk '{
        size = $1; bits = $2 == "-" ? "" : $2
        for (i = 1; i <= length($3); i++) {
            n = index("123456789abcdef", substr($3, i, 1))
            for (k = 8; k; k = int(k / 2)) bits = bits (int(n / k) % 2)
        }
        if ($4 != "-") bits = bits $4
        for (; bits != ""; bits = substr(bits, size + 1)) {
            n = "1" substr(bits, 1, size)
            if (size == 6) {
                for (i = v = 0; i < length(n); i++)
                    v = 2 * v + substr(n, i + 1, 1)
                printf "%02x ", 2 * v
                continue
            }
            while (length(n) < 48) n = "0" n
            printf "02 a3 "
            for (byte = 5; byte >= 0; byte--) {
                for (i = v = 0; i < 8; i++)
                    v = 2 * v + substr(n, 8 * byte + i + 1, 1)
                printf "%02x ", v
            }
        }
    }'
}

# Branches to the next instruction before it, the mark, 64 of them, and more.
cat >code.s <<'END'
    .rept 6
    jz 1f
1:
    .endr
    jmp 1f
    .byte 0x0f, 0x0b
    .ascii "perf,ptwrite  "
1:  mov %rdi, %rax
    .rept SHIFTS
    shl %rax
    jc 1f
1:
    .endr
    .rept GAP
    nop
    .endr
    .rept 6
    jz 1f
1:
    .endr
    jmp *%rax
END
for n in 63 64; do
    sed "s/SHIFTS/$n/; s/GAP/$((64 * (64 - n)))/" code.s >code$n.s
    ${CC:-cc} -c -o code.o code$n.s &&
        ${OBJCOPY:-objcopy} -O binary -j .text code.o code.$n ||
        fail "code.s"
done
psb="02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01 02 23"

# flow CODE BEFORE-BITS TNT: to got; flow begins so many branches before the mark.
flow() {
    begin=$(printf %02x $((12 - 2 * $2)))
    packets "$psb 71 $begin 10 00 00 00 00 $3 61 00 20 00 00 00 00" >trace
    "$build/ptflow" --event --quiet --fields kind,ip,values --pt trace \
        --raw "$1:1000" 2>err | tr -s ' ' |
        sed -n 's/^ *\(ptwrite .*[^ ]\) *$/\1/p' >got
}

for value in 1234567890abcdef fedcba0987654321 8000000000000001; do
    short=$(echo "$value" | sed 's/^0*\(.\)/\1/')
    for size in 6 47; do
        for before in 0 1 5; do
            bits=$(echo 010110 | cut -c "$((7 - before))"-)
            flow code.64 $before "$(tnt $size "${bits:--}" $value 101001)"
            [ "$(cat got)" = "ptwrite 101e payload=$short size=8" ] && pass || {
                cat got >>err
                fail_with "$value, $before bits before it, $size a packet" err
            }
        done
    done
done
flow code.64 5 "$(tnt 6 10110 0000000000000000 1)"
[ "$(cat got)" = "ptwrite 101e payload=0 size=8" ] && pass || fail_with "0" got
# With a bit less, or a branch less, there is none.
flow code.64 0 "$(tnt 6 - 1234567890abcde 110)"
[ ! -s got ] && pass || fail_with "63 bits" got
flow code.63 0 "$(tnt 6 - 1234567890abcdef 10101)"
[ ! -s got ] && pass || fail_with "63 branches" got

# So says perf, of a perf.data made of that trace.
if ! perf version >/dev/null 2>&1; then
    skip "ptwrites: perf is missing (package linux-perf)"
    report
    exit
fi
# shellcheck disable=SC2046 # flags are lists
(cd "$root" && $(head -n 1 "$build/flags") -w -I. -o "$tmp/bare" tests/mock/bare.c \
    "$build/common.a" $(tail -n 1 "$build/flags")) 2>err &&
    ${CC:-cc} -nostdlib -static -w -Wl,-e,0x1000,-Ttext=0x1000,-N -o elf.64 code64.s \
        2>err || fail_with "bare.c" err
for value in 1234567890abcdef fedcba0987654321; do
    for bits in 0 10110; do
        flow code.64 ${#bits} "$(tnt 6 $bits $value 101001)"
        sed 's/ size=8//; s/payload=/0x/' got >want
        ./bare x.data --pt trace --elf elf.64 2>err &&
            perf script -f -i x.data --itrace=w -F synth:event,synth,ip 2>>err |
            sed 's/^ *ptwrite: *IP: 0 payload: \(0x[^ ]*\) *\([^ ]*\)/ptwrite \2 \1/;
                s/ *$//' >got
        [ -s want ] && cmp -s got want && pass || {
            cat got want >>err
            fail_with "perf: $value, ${#bits} bits before it" err
        }
    done
done

report
