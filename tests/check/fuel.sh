#!/bin/sh
# fuel.sh [TREE]: a unit of fuel is at most as many host instructions as the
# README says, whatever trace and code hold. Counted by callgrind at gcc -O2 on
# x86-64, over the seas of tests/check/fuel.c, callbacks included. PARTS=8 takes
# so many of them.

. "$(dirname "$0")/lib.sh"

limit=$(tr -d , <"$root/README.md" |
    sed -n 's/.*at most \([0-9]*\) host instructions.*/\1/p' | head -n 1)
[ -n "$limit" ] && pass || { fail "README.md names no limit"; limit=0; }
have gcc gcc && have valgrind valgrind || { report; exit; }
if ! gcc -dumpmachine | grep -q '^x86_64'; then
    skip "the limit is for x86-64"
    report
    exit
fi

quietly "build" gcc -O2 -std=c99 $WARN -I"$root" "$root/tests/check/fuel.c" \
    -o "$tmp/fuel" &&
    quietly "run" valgrind --tool=callgrind --collect-atstart=no \
        --callgrind-out-file="$tmp/count" "$tmp/fuel" $PARTS

# One dump for each row: `desc: Trigger: ... : LAYER, ROW: UNITS`.
for dump in "$tmp"/count.*; do
    awk '/^desc: Trigger: Client Request: / {
            sub(/^desc: Trigger: Client Request: /, "")
            units = $NF; sub(/: [0-9]*$/, ""); row = $0 }
        /^(totals|summary): / {spent = $2}
        END {if (row) printf "%d %d %s\n", units ? spent / units : 1e9, units,
            row}' "$dump"
done | sort -rn >"$tmp/rows"
printf '%10s %8s  %s\n' per-unit units row
head -n 5 "$tmp/rows" | while read -r per units row; do
    printf '%10d %8d  %s\n' "$per" "$units" "$row"
done
echo "$(wc -l <"$tmp/rows") rows; limit $limit"
[ "$(wc -l <"$tmp/rows")" -ge $((${PARTS:-75} * 4)) ] && pass || fail "too few rows"
awk -v limit="$limit" '$1 > limit' "$tmp/rows" >"$tmp/bad"
expect_empty "host instructions per unit of fuel, over $limit" "$tmp/bad"

# What the page for hypervisors says of half of them.
half=$(tr -d , <"$root/examples/hypervisor.md" | tr '\n' ' ' |
    sed -n 's/.*Half of the kinds .* take less than \([0-9]*\)\..*/\1/p')
awk -v half="${half:-0}" '$1 >= half {n++} END {exit 2 * n > NR}' \
    "$tmp/rows" && pass || fail "hypervisor.md: half take less than $half?"

report
