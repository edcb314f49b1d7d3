#!/bin/sh
# prove.sh HARNESS: let CBMC prove what prove_HARNESS in tests/proof claims.
# prove.sh --list: the harnesses; without FULL=1 a sixteenth of them, by the
# commit's hash, without those marked slow.
#
# A harness is judged three times: all its properties hold, and are at most 5 %
# fewer than in tests/proof/properties; each place marked REACH is reached; and
# it fails with each fault of tests/proof/plants in ipt_impl.h.
#
# BUILD=build  where CBMC and logs are   CBMC=command   CBMC_SECONDS=3600

here=tests/proof
if [ "$1" = --list ]; then
    hash=$(git rev-parse HEAD 2>/dev/null | tr -d '0-7\n' | wc -c)
    sed -n "$([ -n "$FULL" ] || echo '/slow/d;')
        s/^void prove_\([a-z_]*\)(void).*/\1/p" $here/*.c |
        awk -v full="$FULL" -v turn="$hash" 'full || (NR + turn) % 16 == 0'
    exit
fi

harness=$1
build=${BUILD:-build}
out=$build/prove/$harness
file=$here/${harness%%_*}.c
passed=0 failed=0
finish() { echo "$passed passed, $failed failed$1"; [ $failed -eq 0 ]; exit; }
good() { passed=$((passed + 1)); echo "ok    $harness: $*"; }
bad() { failed=$((failed + 1)); echo "FAIL  $harness: $*"; }

for cbmc in "$CBMC" "$build/cbmc/cbmc" build/cbmc/cbmc cbmc; do
    tools=$(command -v "$cbmc") && tools=${tools%/*} &&
        [ -x "$tools/goto-cc" ] && break
done
[ -x "$tools/goto-cc" ] || {
    echo "SKIP prove: CBMC is missing (package cbmc, or make deps-full)"
    finish ", 1 skipped"
}
mkdir -p "$out/plant/tests" || exit 2
# shellcheck disable=SC3045 # dash has it
ulimit -v 8000000 # KiB

# says WORD CLASS: what stands after it in the comment on the harness.
says() {
    sed -n "/^void prove_$harness(void) \/\*/{:more
        /\*\//!{N;b more
        }
        s/\n *\*\{0,1\}/ /g
        s/.* $1 \($2\).*/\1/p
        q
    }" "$file"
}
# A loop goes round 42 times at most, or as often as that says.
rounds=$(says unwind '[0-9][0-9]*')
sets=$(says unwindset '[a-z_0-9.:,]*[0-9]')
# Functions that are replaced by what is claimed of them: given_...
given=$(says given '[a-z_0-9 ]*')
calls=$(echo "$given" | sed 's/[a-z_0-9]\{1,\}/&:given_&/g')
# Arrays that are one value, not one for each element.
whole=$(says arrays whole)
# Sizes of tables, for the harnesses that have a choice.
sizes=$(says sizes '[0-9]*')

# judge LOG ROOT FLAGS...
judge() {
    log=$out/$1 program=$2/$file define=-DPROVE
    shift 2
    [ "$1" = -DCOVER ] && define=$1
    : >"$log"
    if [ -n "$given" ]; then
        "$tools/goto-cc" -w "$define" ${sizes:+-DSIZES=$sizes} \
            --function "prove_$harness" -o "$out/given" "$program" \
            >>"$log" 2>&1 || return
        program=$out/given
        # shellcheck disable=SC2046,SC2086 # words
        "$tools/goto-instrument" $(printf -- '--replace-calls %s ' $calls) \
            "$program" "$program" >>"$log" 2>&1 || return
    fi
    timeout "${CBMC_SECONDS:-3600}" "$cbmc" "$program" \
        --function "prove_$harness" --unwind "${rounds:-42}" \
        ${sets:+--unwindset "$sets"} ${whole:+--no-array-field-sensitivity} \
        ${sizes:+-DSIZES=$sizes} --drop-unused-functions "$@" \
        >>"$log" 2>&1
}
all="--unwinding-assertions --bounds-check --pointer-check
    --pointer-overflow-check --signed-overflow-check --undefined-shift-check
    --div-by-zero-check"

# shellcheck disable=SC2086 # flags
judge log . $all
least=$(sed -n "s/^$harness //p" $here/properties)
least=$((${least:-0} * 95 / 100))
n=$(sed -n 's/^\*\* 0 of \([0-9]*\) failed.*/\1/p' "$out/log")
if ! grep -q '^VERIFICATION SUCCESSFUL' "$out/log"; then
    bad "not proved"
    grep -E 'FAILURE|error|ERROR' "$out/log" | head -n 5
elif [ "$least" -eq 0 ] || [ "$n" -lt "$least" ]; then
    bad "$n properties, at least $least by $here/properties"
else
    good "$n properties"
fi
judge cover . -DCOVER --cover cover
if grep -Eq '^\*\* ([1-9][0-9]*) of \1 covered' "$out/cover"; then
    good "each place is reached"
else
    bad "what it claims may be empty"
    grep -E ': FAILED|error|ERROR' "$out/cover" | head -n 5
fi

# A plant: a row of mutate.c, which begins with the harness.
${CC:-cc} -std=c99 -O1 -o "$out/mutate" tests/check/mutate.c || exit 2
cp ipt.h "$out/plant/" && rm -rf "$out/plant/$here" &&
    cp -r $here "$out/plant/tests/" || exit 2
grep "^$harness " $here/plants >"$out/plants"
while read -r row; do
    "$out/mutate" plant ipt_impl.h "$row" >"$out/plant/ipt_impl.h" || {
        bad "stale: $row"
        continue
    }
    # shellcheck disable=SC2086
    judge plant.log "$out/plant" $all --stop-on-fail
    row=${row#"$harness "}
    if grep -q '^VERIFICATION FAILED' "$out/plant.log"; then
        good "notices $row"
    elif grep -q '^VERIFICATION SUCCESSFUL' "$out/plant.log"; then
        bad "does not notice $row"
    else
        bad "no verdict in ${CBMC_SECONDS:-3600} s or 8 GB on $row"
    fi
done <"$out/plants"
[ "$(wc -l <"$out/plants")" -ge 2 ] || bad "fewer than two plants"
finish
