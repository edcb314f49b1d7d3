#!/bin/sh
# hottest.sh: examples/hot.c prints what is hot in the recording: the blocks of
# the first trace ran as often, one after the other, as it says.

. "$(dirname "$0")/check/lib.sh"
hot=${BUILD:-build}/examples/hot
recording=examples/recording

"$hot" "$recording/trace.pt" "$recording/pages.bin" 401000 >"$tmp/out" \
    2>"$tmp/err" && pass || fail_with "hot" "$tmp/err"
grep -qE '^[0-9]+ of 9254 instructions in [1-9][0-9]* traces$' "$tmp/err" &&
    pass || fail_with "not all instructions of the recording" "$tmp/err"
sed '/^the hottest/,$d' "$tmp/out" | awk '
    $1 != $3 || $2 > last && NR > 1 {exit 1}
    {last = $2}' && pass || fail_with "no tag, or not in order" "$tmp/out"

# The hottest trace's instructions are there, in this order, after each other.
sed '1,/^the hottest/d' "$tmp/out" | awk '{print $1}' >"$tmp/path"
od -An -v -tx8 -w8 "$recording/ips.u64" | sed 's/^ *0*//' >"$tmp/ips"
runs=$(sed -n '1s/^[^ ]* \([0-9]*\) .*/\1/p' "$tmp/out")
found=$(awk 'NR == FNR {path[NR] = $1; n = NR; next}
    {at = $1 == path[at + 1] ? at + 1 : $1 == path[1]
     if (at == n) {count++; at = 0}} END {print count + 0}' \
    "$tmp/path" "$tmp/ips")
[ -s "$tmp/path" ] && [ "$found" -gt 0 ] && [ "$runs" -gt 0 ] && pass ||
    fail "the hottest trace ran $found times"

# A file that does not fit is refused, not cut, before anything is printed: by
# the other examples, too (cover: ptcov.sh).
truncate -s 17M "$tmp/big"
for files in "$tmp/big $recording/pages.bin" "$recording/trace.pt $tmp/big"; do
    for example in hot minimal; do
        # shellcheck disable=SC2086 # two names
        "${hot%hot}$example" $files 401000 >"$tmp/out" 2>"$tmp/err"
        [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -q '16 MiB' "$tmp/err" &&
            pass || fail_with "$example: a file of 17 MiB" "$tmp/err"
    done
done

"$hot" /dev/null /dev/null 0 >"$tmp/out" 2>&1 && fail "a trace without a PSB" ||
    pass
report
