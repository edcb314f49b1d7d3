#!/bin/sh
# tests.sh [TREE]: the tests notice. Test programs and their runner, hashes,
# coverage, mutate and prove each fail, for the right reason, on a copy of the
# tree with one fault planted.

. "$(dirname "$0")/plant.sh"

# What decodes otherwise than before: another event, and a place. hashes_fail
# REASON [BASE]
hashes_fail() {
    if (cd "$tree" && BUILD="$tmp/hashes" SEEDS=5 BASE="$2" \
        sh tests/check/hashes.sh) >"$tmp/out" 2>&1; then
        fail "hashes does not notice: $1"
    elif grep -qE -- "$1" "$tmp/out"; then pass
    else fail_with "hashes fails, but not for: $1" "$tmp/out"; fi
}
copy
rm -r "$tree/fuzz/corpus" # what differs, the rest shows as well
history
hashes_fail 'are those of HEAD: give BASE'
plant hashes_event
history
hashes_fail 'FAIL .* evt: items differ'
plant hashes_place
hashes_fail 'FAIL .* blk: ' "$root"

# The test runner: failing, crashing, hanging, silent and lying programs.
copy
run() {
    printf '%s\n' "$1" >"$tmp/planted.sh"
    printf 'echo "3 passed, 0 failed"\n' >"$tmp/good.sh"
    TEST_TIMEOUT=1 sh "$tree/tests/check/run.sh" "$tmp/good.sh" \
        "$tmp/planted.sh" >"$tmp/out" 2>&1
    status=$?
    if [ $status -eq "$2" ] && [ "$(tail -n 1 "$tmp/out")" = "$3" ]; then pass
    else fail_with "runner: status $status, want $2 and '$3' for: $1" \
        "$tmp/out"; fi
}
run 'echo "2 passed, 0 failed, 1 skipped"' 0 '5 passed, 0 failed, 1 skipped'
run 'echo "2 passed, 1 failed"; exit 1' 1 '5 passed, 1 failed'
run 'echo "2 passed, 1 failed"' 1 '5 passed, 2 failed'
run 'echo "4 more in make test-full"; echo "2 passed, 0 failed"' 0 \
    '5 passed, 0 failed'
grep -qx 'make test-full has 4 more tests' "$tmp/out" && pass ||
    fail_with "runner: what make test-full has" "$tmp/out"
full() {
    TEST_FULL=1 run ". $tree/tests/check/lib.sh; rest $1 pass; report" "$2" "$3"
}
full 1 0 '4 passed, 0 failed'
full 2 1 '4 passed, 1 failed' # as many as make test says
run 'echo "2 passed, 0 failed"; exit 1' 1 '5 passed, 1 failed'
run 'echo "2 passed, 0 failed"; kill -SEGV $$' 1 '3 passed, 1 failed'
run 'sleep 9; echo "2 passed, 0 failed"' 1 '3 passed, 1 failed'
run 'echo "all is well"' 1 '3 passed, 1 failed'

# The tests: a wrong check, a crash, a byte of the tables changed.
# make_fails TAG REASON [FLAGS]: `make test T=TAG` fails in the copy and says
# REASON. Without FLAGS what is compiled once and run once is not optimized.
make_test() {
    MAKEFLAGS='' make -C "$tree" run-tests T="$1" TOOLS= EXAMPLES= FUZZERS= \
        PROGRAMS= CFLAGS="${2:--O0}"
}
make_fails() {
    if make_test "$1" "$3" >"$tmp/out" 2>&1; then
        fail "make test T=$1 does not notice: $2"
    elif grep -qE -- "$2" "$tmp/out"; then pass
    else fail_with "make test T=$1 fails, but not for: $2" "$tmp/out"; fi
}
copy
printf '#include "test.h"\nTEST(a) { %s; }\nint main(void) { RUN(a);
    return test_report(); }\n' 'CHECK_EQ(1, 2)' >"$tree/tests/planted.c"
make_fails planted 'want 0x2 \(2\)'
printf '#include "test.h"\nTEST(a) { %s; }\nint main(void) { RUN(a);
    return test_report(); }\n' 'abort()' >"$tree/tests/planted.c"
make_fails planted 'exit status 134'
# A golden byte; a field in the table that encoder and decoder share.
quietly "on the tree as it is" make_test pkt
edit tests/pkt.c 's/{"02 a3 35 12 /{"02 a3 35 13 /'
make_fails pkt 'CHECK failed'
plant pkt_field
make_fails pkt 'CHECK failed'
# Rules of hot traces: one run too late, a loop of one block, a deletion after
# which the head does not count from nothing.
quietly "on the tree as it is" make_test hot
export TEST_ONLY=like_the_model
plant hot_threshold
make_fails hot 'FAIL like_the_model'
plant hot_loop
make_fails hot 'FAIL like_the_model'
plant hot_deleted
make_fails hot 'FAIL like_the_model'
unset TEST_ONLY
# Packets between those of a compound: they delay it, or are delayed, or end it.
compounds_fail() {
    quietly "build compounds" "${CC:-cc}" -std=c99 -O0 -I"$tree" \
        -o "$tmp/compounds" "$tree/tests/compounds.c" || return
    TEST_COUNT=20 "$tmp/compounds" >"$tmp/out" 2>&1
    grep -q '^FAIL each_boundary' "$tmp/out" && pass ||
        fail_with "compounds does not notice a plant" "$tmp/out"
}
plant compounds_delay
compounds_fail
plant compounds_mnt
compounds_fail
plant compounds_aside
compounds_fail
plant compounds_pwrx
compounds_fail
plant compounds_space
compounds_fail
plant compounds_vmcs
compounds_fail
plant compounds_fup
compounds_fail
plant compounds_mwait
compounds_fail
plant compounds_cfe
compounds_fail
plant compounds_ovf
compounds_fail
plant compounds_left
compounds_fail
plant compounds_psb
compounds_fail
# States of the walk that are not legal: tests/walk.h looks after every call.
plant walk_hidden
make_fails insn 'after insn_.* flow: enabled and hidden'
plant walk_bind
make_fails insn 'after insn_.* next: bind is not'

# A branch that no test takes, and a test that notices no fault: of one section.
# net PASSES SCRIPT REASON [SETTING...]: the script passes or not, and says why.
net() {
    passes=$1 script=$2 reason=$3
    shift 3
    rm -rf "$tmp/net" # whatever is newer there
    if (cd "$tree" && env BUILD="$tmp/net" "$@" sh "tests/check/$script.sh" \
        strings) >"$tmp/out" 2>&1; then status=yes; else status=no; fi
    if [ $status = "$passes" ] && grep -qE -- "$reason" "$tmp/out"; then pass
    else fail_with "$script: passes: $status; not for: $reason" "$tmp/out"; fi
}
one="T=strings TOOLS= EXAMPLES= FUZZERS= PROGRAMS="
plant coverage_branch
net no coverage '^FAIL strings +[0-9]+ of' MAKEFLAGS="$one"
grep -q 'ipti_status_text: status == 12345: true' "$tmp/out" && pass ||
    fail_with "coverage does not name the branch" "$tmp/out"
copy
net no coverage '^ok   strings' MAKEFLAGS="$one" # the others have no tests here
net yes mutate '^2 passed, 0 failed' COUNT=3 SEED=1
echo '[strings] planted: it => is not there' >>"$tree/tests/proof/equivalent"
net no mutate 'is not there: .strings. planted' COUNT=3 SEED=1
printf '#define IPT_IMPLEMENTATION\n#include "../ipt.h"\n#include "test.h"
TEST(a) { CHECK(1); }\nint main(void) { RUN(a); return test_report(); }\n' \
    >"$tree/tests/strings.c"
net no mutate '^FAIL together  *0.0 %' COUNT=2 SEED=1

# A packet without its offset, which a time depends on.
plant memory_offset
if MAKEFLAGS='' make -C "$tree" memory INITIALISED=evt >"$tmp/out" 2>&1; then
    fail "make memory notices nothing"
elif grep -q 'use-of-uninitialized-value' "$tmp/out"; then pass
else fail_with "make memory fails for another reason" "$tmp/out"; fi

# Executions at random, and faults that they found: a return that lies too far
# away for a line of the memo, and an instruction of before a resync.
TEST_COUNT=2500 TEST_ONLY=executions
export TEST_COUNT TEST_ONLY
copy
quietly "on the tree as it is" make_test simulate -O1
plant simulate_far
make_fails simulate 'replay: TEST_SEED=' -O1
plant simulate_taken
make_fails simulate 'replay: TEST_SEED=' -O1
unset TEST_COUNT TEST_ONLY

# A proof without its claim, or with assumptions that nothing fulfils.
# proof REASON: that of one harness fails, and says why.
proof() {
    for cbmc in "$root/build/cbmc/cbmc" cbmc; do
        command -v "$cbmc" >/dev/null && break
    done
    command -v "$cbmc" >/dev/null ||
        { skip "prove: CBMC is missing (package cbmc)"; return; }
    if (cd "$tree" && CBMC=$cbmc BUILD=$tmp/proof sh tests/proof/prove.sh \
        pkt_block) >"$tmp/out" 2>&1; then fail "prove passes; not: $1"
    elif grep -qE -- "$1" "$tmp/out"; then pass
    else fail_with "prove fails, but not for: $1" "$tmp/out"; fi
}
edit tests/proof/pkt.c 's/announced ? size : 0/cur.block/'
proof 'does not notice'
edit tests/proof/pkt.c 's/__CPROVER_assume(cur.block || /__CPROVER_assume(0 \&\& /'
proof 'may be empty'

report
