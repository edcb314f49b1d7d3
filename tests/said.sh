#!/bin/sh
# said.sh: ptflow --event prints what events say: PTWRITE, CBR, a PEBS record that
# the processor wrote into the trace.

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

packets 90 ff e0 >code
packets 02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01 02 23 \
    02 03 1e 00 71 00 10 00 00 00 00 02 32 2a 00 00 00 00 00 00 00 \
    02 63 04 04 00 10 00 00 00 00 00 00 0c 03 00 00 00 00 00 00 00 \
    02 63 01 14 07 00 00 00 00 00 00 00 \
    02 63 1e 04 05 00 00 00 00 00 00 00 02 33 01 >trace
"$build/ptflow" --event --quiet --fields kind,values --pt trace --raw code:1000 \
    2>err >got
cat >want <<'END'
cbr ratio=1e
enabled -
ptwrite payload=2a size=8
pebs_begin group=basic
pebs_item ip=1000
pebs_item counters=3
pebs_begin group=registers
pebs_item rax=7
pebs_begin id=1e size=8
pebs_item payload=5 id=0 size=8
pebs_end -
END
sed 's/^ *//; s/  */ /g; s/ $//' got >s
grep -v '^disabled' s | cmp -s - want && pass || {
    diff s want >>err
    fail_with "events" err
}
"$build/ptflow" --event --quiet --json --fields kind,values --pt trace \
    --raw code:1000 2>err >got
grep -qx '{"type":"event","kind":"ptwrite","values":"payload=2a size=8"}' got &&
    grep -qx '{"type":"event","kind":"enabled","values":null}' got && pass ||
    fail_with "--json" got
"$build/ptflow" --event --quiet --pt trace --raw code:1000 2>err >got
[ "$(grep -c 'ptwrite *payload=2a size=8 *$' got)" -eq 1 ] && pass ||
    fail_with "the usual fields" got

report
