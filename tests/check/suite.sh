#!/bin/bash
# suite.sh SUITE: run ptdump and ptxed of $BUILD over the rows of
# SUITE/index.tsv and compare what they print, but for the amount of white
# space, and their exit status. Rows that need perf sideband are left out.

suite=$1
bin=$(cd "${BUILD:-build}" && pwd) || exit 2
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
passed=0 failed=0 left=0

[ -f "$suite/index.tsv" ] || { echo "no $suite/index.tsv"; exit 2; }
cd "$suite" || exit 2
while IFS=$'\t' read -r test kind _ tool expected _ args status _; do
    [ "$test" = test ] && continue
    [ "$kind" = core ] || { left=$((left + 1)); continue; }
    read -r -a argv <<<"$args"
    (cd "tests/$test" && timeout 20 "$bin/$tool" "${argv[@]}") \
        >"$out" 2>/dev/null </dev/null
    rc=$?
    if [ $rc -eq "$status" ] && diff -qb "tests/$test/$expected" "$out" \
        >/dev/null; then
        passed=$((passed + 1))
        continue
    fi
    failed=$((failed + 1))
    echo "FAIL $test: $tool $args (exit status $rc, want $status)"
    diff -b "tests/$test/$expected" "$out" | head -n 12
done <index.tsv
echo "left out: $left rows that need perf sideband"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
