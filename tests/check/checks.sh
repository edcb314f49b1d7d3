#!/bin/sh
# checks.sh [TREE]: the checks check. Each fails, for the right reason, on a
# copy of the tree with one violation planted. `make check` and `make size` run
# them on the tree as it is.

. "$(dirname "$0")/lib.sh"
tree=$tmp/tree
lines=$(awk '/^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/ {print NR - 1}
    {last = $0}' "$root/ipt_impl.h")
second=$(echo "$lines" | sed -n 2p) # where the second section begins
third=$(echo "$lines" | sed -n 3p)
last_tag=$(sed -n 's/^ \* \[\([a-z]*\)\].*/\1/p' "$root/ipt_impl.h" | tail -n 1)

# A fresh copy of the tree.
copy() {
    rm -rf "$tree"
    mkdir "$tree"
    (cd "$root" && tar cf - --exclude=./.git --exclude=./build .) |
        (cd "$tree" && tar xf -)
}

# core LINE TEXT: a copy with TEXT in ipt_impl.h before LINE.
core() {
    copy
    { head -n $(($1 - 1)) "$root/ipt_impl.h"
      printf '%b\n\n' "$2"
      tail -n +"$1" "$root/ipt_impl.h"
    } >"$tree/ipt_impl.h"
}

# edit FILE SED-SCRIPT: a copy with one file changed; it has to change.
edit() {
    copy
    sed "$2" "$root/$1" >"$tree/$1"
    if cmp -s "$root/$1" "$tree/$1"; then fail "nothing planted in $1: $2"; fi
}

# caught CHECK REASON: the check fails on the copy and its output has REASON.
caught() {
    if STOP=1 sh "$tree/tests/check/$1.sh" "$tree" >"$tmp/out" 2>&1; then
        fail "$1 does not notice: $2"
    elif grep -qE -- "$2" "$tmp/out"; then pass
    else fail_with "$1 fails, but not for: $2" "$tmp/out"; fi
}

core "$second" 'extern size_t strlen(const char *text);
IPT_API int ipt_planted(const char *p);
IPT_API int ipt_planted(const char *p)\n{\n    return (int) strlen(p);\n}'
caught freestanding 'imports'
core "$second" 'int ipt_planted = 7;'
caught freestanding 'writable'
core "$second" 'extern const char *const ipt_planted[2];
const char *const ipt_planted[2] = {"planted", "here"};'
caught freestanding 'relocat'
core "$second" '#include <string.h>'
caught freestanding 'includes|headers'
core "$second" 'int planted(void);\nint planted(void)\n{\n    return 1;\n}'
caught freestanding 'names outside'
edit examples/tools/common/perfdata.c '/^static uint64_t load/i\
extern size_t strlen(const char *text);\
size_t perfdata_planted(const char *p);\
size_t perfdata_planted(const char *p) { return strlen(p); }'
caught freestanding 'perfdata.* imports'
core "$second" 'IPT_API uint64_t ipt_planted(uint64_t a, uint64_t b);
IPT_API uint64_t ipt_planted(uint64_t a, uint64_t b)\n{\n    return a / b;\n}'
caught freestanding '-m32.* imports'
edit ipt_impl.h 's/_BitScanForward64(&low, value);/_BitScanForward64(low, value);/'
caught freestanding 'Windows'

core "$third" 'static int ipti_planted(void)\n{
    return ipt_pkt_name(0) != NULL;\n}'
caught layers 'uses a later section'
edit ipt_impl.h "s/^ \*  *  \[$last_tag\].*/ * planted/"
caught layers 'contents list'
core "$second" 'static int ipti_planted(void);'
caught layers 'prototypes'
core "$second" "static int ipti_planted(void)\n{\n$(yes ';' | head -n 90)\n}"
caught layers 'longer than 80'
core "$second" "/* $(yes planted | head -n 12 | tr '\n' ' ') */"
caught layers 'over 80 columns'
blk=$(grep -n '^ \* \[blk\]' "$root/ipt_impl.h" | cut -d: -f1)
parts=
for part in next:has_tip stamp:fresh flow:hidden prev:kind mode:now resume:has \
    tally:icnt code:index place:space out:count item:full marks:lead \
    resync:state loop:limit probe:count calls:count
do
    parts="$parts    w->${part%:*}.${part#*:} = 0;\n"
done
core $((blk - 1)) "static void ipti_planted(ipt_walk_ *w)\n{\n$parts}"
caught layers 'ipti_planted writes next'
for part in stamp flow prev mode resume tally code place out item marks \
    resync loop probe calls
do
    grep -q "ipti_planted writes $part\$" "$tmp/out" && pass ||
        fail "layers does not notice who writes $part"
done

core "$second" "enum {\n$(seq -f '    IPTI_PLANTED_%g,' 99)\n};"
caught layers 'base: .* lines of code, budget'
edit ipt.h '/^ \* WHICH LAYER/s/^/ *\n *\n *\n *\n *\n *\n *\n/'
caught layers 'manual: .* lines'
edit Makefile 's/^LIBS := /x: private &/'
caught layers 'newer than 3.81'
edit Makefile 's/+@\$(SUB) tools$/@$(SUB) tools/'
caught layers '@[$][(]SUB[)] tools'
edit examples/hypervisor.md '$s/$/ The page is be''hind./'
caught layers 'The page is be''hind'
edit ipt_impl.h '/^ *\/[*] .*[*]\/$/d; s/ *\/[*] .*[*]\/$//'
caught layers 'of the lines have comments'
edit ipt.h 's/^    uint64_t from_psb_;/    uint8_t planted_[1], more_, and_, one_;\n&/'
caught layers 'ipt_gen: .* members'

core "$second" 'IPT_API int ipt_planted(void *p);
IPT_API int ipt_planted(void *p)\n{\n    uint8_t *q = p;\n    return *q;\n}'
caught cxx 'invalid conversion|cannot initialize'
core "$second" '#pragma GCC diagnostic ignored "-Wall"'
caught cxx 'pragmas'
edit Makefile 's/-Wextra/& -W''no-shadow/'
caught cxx 'silenced'
core "$second" 'IPT_API int ipt_planted(const ipt_trace *t);
IPT_API int ipt_planted(const ipt_trace *t)\n{\n    int n = t->offset;
    return n;\n}'
caught cxx 'conversion|loses|narrow'
core "$second" 'IPT_API int ipt_planted(void) __attribute__((noinline));
IPT_API int ipt_planted(void)\n{\n    return 1;\n}'
caught cxx 'Dnoinline='

core "$second" 'IPT_API int ipt_planted(int n)\n{
    volatile char b[1100];\n    b[n] = 1;\n    return b[0];\n}'
caught stack 'deepest chain'
core "$second" 'IPT_API int ipt_planted(int n)\n{
    return n ? n + ipt_planted(n - 1) : 0;\n}'
caught stack 'recursion'
core "$second" 'IPT_API int ipt_planted(int n)\n{
    volatile char b[n];\n    b[0] = 1;\n    return b[0];\n}'
caught stack 'dynamic'
core "$second" 'IPT_API int ipt_planted(int (*f)(void))\n{\n    return f();\n}'
caught stack 'indirect call'

edit README.md 's/at most 25,000 host/at most 5,000 host/'
caught fuel 'over 5000'

edit ipt.h 's/^\( \* *\)find = NULL;/\1;/'
caught readme 'programs of ipt.h should give'
edit README.md '/^```c/,/^```$/s/return/retrun/'
caught readme 'differ'
edit README.md '$s/$/\n\n    make planted/'
caught readme 'planted'
edit README.md 's/^cc -I. -o minimal/false &/'
caught readme 'README.md, block 1'
edit README.md 's/^   1.7%   1.7%          3/   1.7%   1.7%          4/'
caught readme 'README.md .<. and what block 2'
edit README.md 's/^```text$/\n&/'
caught readme 'follows no commands'
edit examples/hypervisor.md 's/(tools\/capture/(capture/'
caught readme 'lead nowhere'

edit examples/packaging/debian/control 's/^Maintainer: .*/Maintainer: ipt/'
caught deb 'E: ipt source: '

edit README.md 's/^| packets | 12 KiB/| packets | 1 KiB/'
caught size 'bytes of code, limit'
edit README.md 's/^| packets | 12 KiB | 256/| packets | 12 KiB | 128/'
caught size 'bytes of state, limit'
edit README.md 's/^\(| packets .*\) 9 KiB |$/\1 4 KiB |/'
caught size 'a loop over packets'

# What decodes otherwise than before: another event, and a place.
hashes_fail() {
    if (cd "$tree" && BUILD="$tmp/hashes" SEEDS=5 BASE="$root" \
        sh tests/check/hashes.sh) >"$tmp/out" 2>&1; then
        fail "hashes does not notice: $1"
    elif grep -qE -- "$1" "$tmp/out"; then pass
    else fail_with "hashes fails, but not for: $1" "$tmp/out"; fi
}
edit ipt_impl.h 's/evt->psb_lost_cyc = evt->clock.lost_cyc;/;/'
hashes_fail 'FAIL .* evt: items differ'
edit ipt_impl.h 's/^    at->ip = w->flow.ip;$/    ;/'
hashes_fail 'FAIL .* blk: '

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
run 'echo "2 passed, 0 failed"; exit 1' 1 '5 passed, 1 failed'
run 'echo "2 passed, 0 failed"; kill -SEGV $$' 1 '3 passed, 1 failed'
run 'sleep 9; echo "2 passed, 0 failed"' 1 '3 passed, 1 failed'
run 'echo "all is well"' 1 '3 passed, 1 failed'

# The tests: a wrong check, a crash, a byte of the tables changed.
# make_fails TAG REASON: `make test T=TAG` fails in the copy and says REASON.
make_test() {
    MAKEFLAGS='' make -C "$tree" run-tests T="$1" TOOLS= EXAMPLES= FUZZERS= \
        PROGRAMS=
}
make_fails() {
    if make_test "$1" >"$tmp/out" 2>&1; then
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
edit ipt_impl.h 's/tma\.fc, 5, 0, 9, /tma.fc, 5, 0, 8, /'
make_fails pkt 'CHECK failed'
# Rules of hot traces: one run too late, a loop of one block, a deletion after
# which the head does not count from nothing.
quietly "on the tree as it is" make_test hot
export TEST_ONLY=like_the_model
edit ipt_impl.h 's/++head->count >= h->threshold_/head->count++ >= h->threshold_/'
make_fails hot 'FAIL like_the_model'
edit ipt_impl.h 's/block->ip <= h->now_.ip/block->ip < h->now_.ip/'
make_fails hot 'FAIL like_the_model'
edit ipt_impl.h '/heads\[trace->head_\].count = 0;/d'
make_fails hot 'FAIL like_the_model'
unset TEST_ONLY
# States of the walk that are not legal: tests/walk.h looks after every call.
edit ipt_impl.h 's/    flow->hidden = (uint8_t) hidden;/    flow->hidden = (uint8_t) (hidden | 1);/'
make_fails insn 'after insn_.* flow: enabled and hidden'
edit ipt_impl.h 's/    ipti_bind_event(&next->bind, &next->event);/    ;/'
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
edit ipt_impl.h \
    's/^    return status >= 0 ? good/    if (status == 12345) return good;\n&/'
net no coverage '^FAIL strings .* 1[0-9] of' MAKEFLAGS="$one"
grep -q 'ipti_status_text: status == 12345: true' "$tmp/out" && pass ||
    fail_with "coverage does not name the branch" "$tmp/out"
copy
net no coverage '^ok   strings' MAKEFLAGS="$one" # the others have no tests here
net yes mutate '^2 passed, 0 failed' COUNT=3 SEED=1
echo '[strings] planted: it => is not there' >>"$tree/tests/proof/equivalent"
net no mutate 'names what is not there' COUNT=3 SEED=1
printf '#define IPT_IMPLEMENTATION\n#include "../ipt.h"\n#include "test.h"
TEST(a) { CHECK(1); }\nint main(void) { RUN(a); return test_report(); }\n' \
    >"$tree/tests/strings.c"
net no mutate '^FAIL together  *0.0 %' COUNT=3 SEED=1

# Executions at random, and faults that they found: a return that lies too far
# away for a line of the memo, and an instruction of before a resync.
TEST_COUNT=2500
export TEST_COUNT
copy
quietly "on the tree as it is" make_test simulate
edit ipt_impl.h 's/if (!ipti_line_reaches(&decoder->learn_.line, from)$/if (0/'
make_fails simulate 'replay: TEST_SEED='
edit ipt_impl.h 's/prev->taken = IPTI_TAKEN_ALL;/prev->taken = 0;/'
make_fails simulate 'replay: TEST_SEED='
unset TEST_COUNT

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
