#!/bin/sh
# rows.sh [TREE]: lists that name code of ipt_impl.h. A row names one place of the
# code as it is, or is stale (mutate.c); no row of a list is left out silently.

. "$(dirname "$0")/lib.sh"
cd "$root" || exit 2
proof=tests/proof
${CC:-cc} -std=c99 -O1 -o "$tmp/mutate" tests/check/mutate.c || exit 2

"$tmp/mutate" stale ipt_impl.h $proof/equivalent $proof/plants \
    tests/check/plants >"$tmp/bad" 2>&1
expect_empty "stale rows" "$tmp/bad"
for list in $proof/equivalent $proof/plants tests/check/plants; do
    grep -v '^[# ]' "$list" | grep . | sort | uniq -d
done >"$tmp/bad"
expect_empty "rows that stand twice" "$tmp/bad"

grep -n '^\[' $proof/plants tests/check/plants >"$tmp/bad"
grep -n '^[^[# ]' $proof/equivalent >>"$tmp/bad"
expect_empty "rows of the other kind" "$tmp/bad"

# names_of LIST: the first words of its rows.
names_of() { sed -n 's/^\([a-z_]*\) .*/\1/p' "$1"; }

FULL=1 sh $proof/prove.sh --list | sort >"$tmp/harnesses"
names_of $proof/plants | sort >"$tmp/plants"
names_of $proof/properties | sort | diff - "$tmp/harnesses" >"$tmp/bad"
expect_empty "harnesses: in $proof/properties (<), and there are (>)" "$tmp/bad"
sort -u "$tmp/plants" | comm -23 - "$tmp/harnesses" >"$tmp/bad"
expect_empty "$proof/plants: of no harness" "$tmp/bad"
uniq -d "$tmp/plants" | comm -13 - "$tmp/harnesses" >"$tmp/bad"
expect_empty "harnesses with fewer than two plants" "$tmp/bad"
make -n prove 2>&1 | grep -o 'prove[.]sh [a-z_]*' | sed 's/.* //' | sort \
    >"$tmp/chosen"
grep -h '^void prove_.*slow' $proof/*.c | sed 's/^void prove_//; s/(.*//' |
    sort | comm -12 - "$tmp/chosen" >"$tmp/bad"
expect_empty "make prove without FULL=1 runs slow harnesses" "$tmp/bad"
sort -u "$tmp/chosen" "$tmp/harnesses" | diff - "$tmp/harnesses" >"$tmp/bad"
[ -s "$tmp/chosen" ] || echo none >>"$tmp/bad"
expect_empty "make prove runs harnesses" "$tmp/bad"

names_of tests/check/plants | sort >"$tmp/plants"
sed -n 's/^plant \([a-z_]*\)$/\1/p' tests/check/*.sh | sort |
    diff - "$tmp/plants" >"$tmp/bad"
expect_empty "planted (<), and in tests/check/plants (>)" "$tmp/bad"

report
