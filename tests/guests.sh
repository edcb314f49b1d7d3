#!/bin/sh
# guests.sh: ptflow names the functions and modules of a guest's kernel by
# --guest-kallsyms and --guest-modules, and only those.

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

# flow TRACE OPTION...: to got
flow() {
    "$build/ptflow" --quiet --fields guest,ip,symoff --pt "$@" \
        --raw code:ffffffff81000000 --raw code:ffffffffc0000000 2>err |
        tr -s ' ' | sed 's/^ //; s/ $//' >got
}

packets 90 90 ff e0 >code
psb="02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01"
ran="02 23 d1 00 00 00 81 ff ff ff ff cd 00 00 00 c0 ff ff ff ff 01"
packets "$psb 02 43 01 10 00 00 00 00 $ran" >guest.pt # a PIP with NR
packets "$psb 02 43 00 10 00 00 00 00 $ran" >host.pt
cat >kallsyms <<'END'
ffffffff81000000 T first
ffffffff81000001 t second
ffffffff81000009 d data
END
cat >modules <<'END'
kvm 1000 0 - Live 0xffffffffc0000000
damaged
hidden 4096 1 kvm, Live 0x0000000000000000
END
flow guest.pt --guest-kallsyms kallsyms --guest-modules modules
cat >want <<'END'
1 ffffffff81000000 first+0x0
1 ffffffff81000001 second+0x0
1 ffffffff81000002 second+0x1
1 ffffffffc0000000 [kvm]+0x0
1 ffffffffc0000001 [kvm]+0x1
1 ffffffffc0000002 [kvm]+0x2
END
cmp -s got want && pass || {
    diff got want >>err
    fail_with "names of a guest" err
}
sed 's/^1/0/' want >host
flow host.pt --guest-kallsyms kallsyms --guest-modules modules
! grep -q 'first\|kvm' got && [ -s got ] && pass || fail_with "not the host's" got
flow guest.pt --kallsyms kallsyms
! grep -q first got && [ -s got ] && pass || fail_with "not the guest's" got
flow host.pt --kallsyms kallsyms
head -n 3 host >want
head -n 3 got | cmp -s - want && pass || fail_with "--kallsyms" got
flow guest.pt --guest-modules modules
[ "$(grep -c '\[kvm\]' got)" -eq 3 ] && pass || fail_with "modules alone" got
for option in --guest-kallsyms --guest-modules; do
    flow guest.pt $option .
    [ ! -s got ] && grep -q '[.]: cannot read it' err && pass ||
        fail_with "$option" err
done

report
