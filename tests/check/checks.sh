#!/bin/sh
# checks.sh [TREE]: the checks check. Each fails, for the right reason, on a
# copy of the tree with one violation planted. `make check` and `make size` run
# them on the tree as it is.

. "$(dirname "$0")/plant.sh"
lines=$(awk '/^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/ {print NR - 1}
    {last = $0}' "$root/ipt_impl.h")
second=$(echo "$lines" | sed -n 2p) # where the second section begins
last=$(echo "$lines" | tail -n 1)
last_tag=$(sed -n 's/^ \* \[\([a-z]*\)\].*/\1/p' "$root/ipt_impl.h" | tail -n 1)

# caught CHECK REASON [PART]: the check, or a part of it, fails on the copy and
# its output has REASON.
caught() {
    if STOP=1 PARTS=$3 sh "$tree/tests/check/$1.sh" "$tree" >"$tmp/out" 2>&1; then
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
caught freestanding 'more than its own headers' headers
core "$second" 'int planted(void);\nint planted(void)\n{\n    return 1;\n}'
caught freestanding 'names outside'
edit examples/tools/common/perf/perfdata.c '/^static uint64_t load/i\
extern size_t strlen(const char *text);\
size_t perfdata_planted(const char *p);\
size_t perfdata_planted(const char *p) { return strlen(p); }'
caught freestanding 'perfdata.* imports'
core "$second" 'IPT_API uint64_t ipt_planted(uint64_t a, uint64_t b);
IPT_API uint64_t ipt_planted(uint64_t a, uint64_t b)\n{\n    return a / b;\n}'
caught freestanding '-m32.* imports' narrow
core "$second" 'IPT_API void ipt_planted(ipt_event *to, const ipt_event *from);
IPT_API void ipt_planted(ipt_event *to, const ipt_event *from)\n{
    *to = *from;\n}'
caught freestanding 'imports beside IPT_MEM' narrow
plant windows_scan
caught freestanding 'Windows' windows

core "$second" 'static int ipti_planted(void)\n{
    return ipt_pkt_name(0) != NULL;\n}'
caught layers 'uses a later section'
edit ipt_impl.h "s/^ \*  *  \[$last_tag\].*/ * planted/"
caught layers 'contents list'
core "$last" 'static int ipti_planted(void)\n{\n    return ipti_evt_in(0, 0);\n}'
caught layers '> .hw.: .*evt'
edit ipt_impl.h '/^ \* Uses: /s/, \[pkt\]//'
caught layers '< .sync.: .base.$'
edit tests/evt.c '1s/^/#define planted IPTI_EVENTS(X)\n/'
caught layers 'evt.c:1:.*IPTI_EVENTS'
core "$second" 'static int ipti_planted(void);'
caught layers 'prototypes'
core "$second" "static int ipti_planted(void)\n{\n$(yes ';' | head -n 90)\n}"
caught layers 'longer than 80'
core "$second" "/* $(yes planted | head -n 12 | tr '\n' ' ') */"
caught layers 'over 80 columns'
blk=$(grep -n '^ \* \[blk\]' "$root/ipt_impl.h" | cut -d: -f1)
parts=
for part in next:has_tip stamp:fresh flow:hidden prev:kind mode:now resync:has \
    tally:icnt code:index place:key out:count item:full marks:lead \
    loop:branches probe:count calls:count
do
    parts="$parts    w->${part%:*}.${part#*:} = 0;\n"
done
core $((blk - 1)) "static void ipti_planted(ipt_walk_ *w)\n{\n$parts}"
caught layers 'ipti_planted writes next'
for part in stamp flow prev mode resync tally code place out item marks \
    loop probe calls
do
    grep -q "ipti_planted writes $part\$" "$tmp/out" && pass ||
        fail "layers does not notice who writes $part"
done

core "$second" "enum {\n$(seq -f '    IPTI_PLANTED_%g,' 99)\n};"
caught layers 'base: .* lines of code, budget'
core "$second" 'static const uint8_t ipti_planted[] = {
    IPT_PKT_PSB, IPT_PKT_OVF, IPT_PKT_TIP, IPT_PKT_FUP, IPT_PKT_PIP,
    IPT_PKT_TSC, IPT_PKT_TMA, IPT_PKT_MTC, IPT_PKT_CYC, IPT_PKT_CBR};'
caught layers 'places, [0-9]* lines; at most'
edit ipt.h '/^ \* WHICH LAYER/s/^/ *\n *\n *\n *\n *\n *\n *\n/'
caught layers 'manual: .* lines'
edit Makefile 's/^LIBS = /x: private &/'
caught layers 'newer than 3.81'
edit Makefile 's/+@\$(SUB) tools$/@$(SUB) tools/'
caught layers '@[$][(]SUB[)] tools'
edit examples/hypervisor.md '$s/$/ The page is be''hind./'
caught layers 'The page is be''hind'
edit fuzz/way.h '$s/$/\n\/* They were planted. *\//'
caught layers 'begin with a pronoun'
edit tests/base.c '$s/$/\nTEST(planted) { CHECK(seed \&\& seed < 5); }/'
caught layers 'two comparisons'
edit tests/share.sh '$s/$/\n: >\/tm''p\/planted/'
caught layers 'names in /tmp'
edit fuzz/way.h '$s/$/\n#define PLANTED(x) \\\n    if (x) break;/'
caught layers 'hide return, goto'
edit ipt_impl.h '/^ *\/[*] .*[*]\/$/d; s/ *\/[*] .*[*]\/$//'
caught layers 'of the lines have comments'
edit ipt.h 's/^    uint64_t from_psb_;/    uint8_t planted_[1], more_, and_, one_;\n&/'
caught layers 'ipt_gen: .* members'
edit ipt.h 's/^    uint8_t hidden;  .*/&\n    uint8_t planted;/'
caught layers 'ipt_walk_: .* members and .* leaves'

# Rows that name nothing, and too much; in a list that looks nowhere for them.
list=tests/proof/equivalent
edit $list '$s/$/\n[base] planted: a < b => a > b/'
caught rows 'is not there: .base. planted'
edit $list '$s/$/\n[bass] ipti_fits32: 0 => 1/'
caught rows 'is not there: .bass.'
edit $list '$s/$/\n[base] ipti_le32: p => q/'
caught rows 'is there 5 times'
edit $list '$s/$/\n[base] ipti_le32: p[0] => p[9]/'
caught rows 'is not a mutant'
edit $list '$s/$/\n [base] ipti_le32: p[0] => p[0x1]/'
caught rows 'is not a row'
edit $list '$s/$/\nplanted [base] ipti_le32: p[0] => p[0x1]/'
caught rows 'of the other kind'
edit $list '/ IPTI_TNT_2: /p'
caught rows 'stand twice'
list=tests/proof/plants
edit $list '$s/$/\npkt_shape [base] ipti_le32: p[0] => p [0]/'
caught rows 'changes nothing'
edit $list '$s/$/\nplanted [base] ipti_le32: p[0] => p[1]/'
caught rows 'of no harness'
edit $list '/^pkt_shape .*17;/d'
caught rows 'fewer than two'
edit tests/proof/properties '/^pkt_shape/d'
caught rows 'properties .<., and'
edit Makefile '$s/$/\nFULL = yes/'
caught rows 'runs slow harnesses'
edit tests/check/plants '/^hot_loop/d'
caught rows 'planted .<., and'

# An operator is inserted before what a row names: the row is right. If the
# operator is the same, the row is stale. ALL=1: each row, not each 20th.
# inserted ROW NAME WAS BECOMES ORDINAL
inserted() {
    "$tmp/mutate" plant "$root/ipt_impl.h" "$2: $3 => planted < 1; $3 $5" \
        >"$tmp/before.h" &&
        "$tmp/mutate" plant "$tmp/before.h" "$1" >"$tmp/right.h" &&
        "$tmp/mutate" plant "$root/ipt_impl.h" \
            "$2: $3 => planted < 1;${4:+ $4} $5" |
        tr -d ' ' >"$tmp/want.h" &&
        tr -d ' ' <"$tmp/right.h" | cmp -s - "$tmp/want.h" && pass ||
        fail "with an operator before it, means another: $1"
    "$tmp/mutate" plant "$root/ipt_impl.h" "$2: $3 => $3; $3 $5" \
        >"$tmp/twice.h" &&
        ! "$tmp/mutate" plant "$tmp/twice.h" "$1" >/dev/null 2>&1 && pass ||
        fail "with the same before it, is not stale: $1"
}
cat "$root/tests/proof/equivalent" "$root/tests/proof/plants" \
    "$root/tests/check/plants" | grep '^[^# ].* =>' |
    awk -v all="$ALL" 'all || NR % 20 == 0' >"$tmp/rows"
while read -r row; do
    where=[${row#*\[} was=${row#*: } ordinal= becomes=
    becomes=${was#* =>} was=${was%%" =>"*}
    case $becomes in *\([0-9]*\ of\ [0-9]*\)) ordinal="(${becomes##*\(}"
        becomes=${becomes%"$ordinal"} ;; esac
    inserted "$row" "${where%%: *}" "$was" "${becomes# }" "$ordinal"
done <"$tmp/rows"

core "$second" 'IPT_API int ipt_planted(void *p);
IPT_API int ipt_planted(void *p)\n{\n    uint8_t *q = p;\n    return *q;\n}'
caught cxx 'invalid conversion|cannot initialize' plus
core "$second" '#pragma GCC diagnostic ignored "-Wall"'
caught cxx 'pragmas' texts
edit Makefile 's/-Wextra/& -W''no-shadow/'
caught cxx 'silenced' texts
core "$second" 'IPT_API int ipt_planted(const ipt_trace *t);
IPT_API int ipt_planted(const ipt_trace *t)\n{\n    int n = t->offset;
    return n;\n}'
caught cxx 'conversion|loses|narrow' plain
core "$second" 'IPT_API int ipt_planted(void) __attribute__((noinline));
IPT_API int ipt_planted(void)\n{\n    return 1;\n}'
caught cxx 'Dnoinline=' attributes
edit ipt.h 's/static ipt_cov_config cov; .*/ipt_cov_config cov = {0};/'
caught cxx 'missing initializer' samples

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
caught fuel 'over 5000' 8

edit ipt.h 's/^\( \* *\)find = NULL;/\1;/'
caught readme 'programs of ipt.h should give' manual
edit README.md '/^```c/,/^```$/s/return/retrun/'
caught readme 'differ' minimal
edit README.md 's/`make demo`/`make planted`/'
caught readme 'planted' pages
edit README.md 's/^cc -I. -o minimal/false &/'
caught readme 'README.md, block 1' commands
edit README.md 's/^  99.9%   2.6%          1/  99.9%   2.6%          2/'
caught readme 'README.md .<. and what block 2' commands
edit README.md 's/^```text$/\n&/'
caught readme 'follows no commands' commands
edit examples/hypervisor.md 's/(tools\/capture/(capture/'
caught readme 'lead nowhere' pages
edit examples/emulator.md 's/ / a a a a a a a /g'
caught readme 'emulator.md: [0-9]* words, at most 1500' pages
edit README.md 's/^### In place of libxdc/&s/'
caught readme 'README.md: #in-place-of-libxdc' pages

copy
history
export SINCE="$(git -C "$tree" rev-parse HEAD)"
commit "planted: $(yes more | head -n 13 | tr '\n' ' ')"
caught commits '73 characters, at most 72'
copy
history
commit 'This was planted'
SINCE=$(git -C "$tree" rev-parse HEAD^)
caught commits 'not .section: what changes'
unset SINCE

edit examples/packaging/debian/control 's/^Maintainer: .*/Maintainer: ipt/'
caught deb 'E: ipt source: '

edit ipt.h 's/uint32_t errata; /uint64_t errata; /'
caught bindings 'raw.rs .<. and what make bindings makes'
edit examples/bindings/python/ipt/_abi.py 's/("offset", c_uint64)/("offset", c_int)/'
caught bindings '_abi.py .<. and what make bindings makes'
edit examples/bindings/python/pyproject.toml 's/^version = "./&9/'
caught bindings 'versions other than'
edit ipt.h 's/^enum ipt_status/enum/'
caught bindings 'statuses have no type'
edit ipt.h 's/^#define IPT_RTIT_DIS_TNT .*/#define IPT_RTIT_DIS_TNT ((uint64_t) 1 << 55)/'
caught bindings 'constants that bindgen does not take'

edit examples/speed.md 's/^| packets | 11 KiB/| packets | 1 KiB/'
caught size 'bytes of code, limit'
edit examples/speed.md 's/^| packets | 11 KiB | 216/| packets | 11 KiB | 128/'
caught size 'bytes of state, limit'
edit examples/speed.md 's/^\(| packets .*\) 8 KiB |$/\1 4 KiB |/'
caught size 'a loop over packets'

# A system that is pretended: a folder of this one, and a tree that is not more
# than a Makefile. pretend COMMAND: what its make test does.
mkdir "$tmp/bin"
echo 'mkdir -p "$3/root" "$3/etc/apt/apt.conf.d"' >"$tmp/bin/debootstrap"
echo 'echo mirror' >"$tmp/bin/apt-get"
echo 'echo 0' >"$tmp/bin/id"
echo true >"$tmp/bin/mount"
cat >"$tmp/bin/unshare" <<'END'
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
END
cat >"$tmp/bin/chroot" <<'END'
case $* in *apt-get*) exit ;; esac
cd "$1" && shift && exec "$@"
END
sed -i '1i#!/bin/sh' "$tmp/bin"/* && chmod +x "$tmp/bin"/*
pretend() {
    copy
    printf 'demo:\ntest:\n\t@%s\n' "$1" >"$tree/Makefile"
    (cd "$tree" && git init -q && git add Makefile &&
        git -c user.name=ipt -c user.email=ipt commit -qm planted)
}
# systems RESULT REASON: on one of them check-distros passes or not, and says why.
systems() {
    SYSTEMS=bookworm-gcc QUICK='' PATH=$tmp/bin:$PATH \
        sh "$tree/tests/check/distros.sh" "$tree" >"$tmp/out" 2>&1
    if [ $? -eq "$1" ] && grep -qE -- "$2" "$tmp/out"; then pass
    else fail_with "distros: status not $1, or not for: $2" "$tmp/out"; fi
}
pretend 'echo 3 passed, 0 failed'
systems 0 '^bookworm-gcc: make test: 3 passed, 0 failed, '
systems 0 '^8 passed, 0 failed$'
pretend 'echo a.c:1:2: warning: planted; echo 3 passed, 0 failed'
systems 1 'bookworm-gcc: make test: warnings'
pretend 'echo 3 passed, 1 failed; false'
systems 1 'bookworm-gcc: make test: status 2'
echo 'echo E: no such release >&2; exit 1' >>"$tmp/bin/debootstrap"
pretend 'false'
rm -r "$tree/build/distros" # the base system that was fetched
systems 0 '^SKIP distros: bookworm-gcc: E: no such release'

report
