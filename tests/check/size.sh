#!/bin/sh
# size.sh [TREE]: how large each section of ipt_impl.h is: lines (layers.sh has
# their limits), bytes of code at -Os and -O2; the sizes of the public structs;
# what is left of it for those who use one layer only. Fails above the limits of
# examples/speed.md. Unwind tables (.eh_frame), which no code here reads, count nowhere;
# one row says what they add where a compiler makes them.

. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 2
CC=${CC:-cc}
impl=$root/ipt_impl.h
bare=-fno-asynchronous-unwind-tables

# text FILE: its bytes of code and constants.
text() { size "$1" | awk 'NR == 2 {print $1}'; }

printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >impl.c
for opt in -Os -O2; do
    $CC -std=c99 $opt -ffreestanding -I"$root" $bare -c impl.c -o impl.o &&
        $CC -std=c99 $opt -ffreestanding -I"$root" -fasynchronous-unwind-tables \
            -c impl.c -o unwound.o &&
        { nm -S impl.o | sed "s/^/$opt /"
          echo "$opt text $(text impl.o)"
          echo "$opt tables $(($(text unwound.o) - $(text impl.o)))"; }
done >symbols

# A symbol belongs to the section in which a line that begins in column 1
# holds its name first. What has no name there (jump tables, texts) is "other".
awk -v hex=0123456789abcdef '
function number(text,    i, n) {
    n = 0
    for (i = 1; i <= length(text); i++)
        n = n * 16 + index(hex, substr(text, i, 1)) - 1
    return n
}
FILENAME == "symbols" && $2 == "text" {total[$1] = $3; next}
FILENAME == "symbols" && $2 == "tables" {tables[$1] = $3; next}
FILENAME == "symbols" {
    if (NF == 5) {sub(/[.].*/, "", $5); bytes[$1, $5] += number($3); name[$5]}
    next }
/^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/ {
    tag = $2; gsub(/[][]/, "", tag); order[++count] = tag; n[tag] = 1 }
{last = $0; if (tag) n[tag]++}
/^[a-zA-Z]/ && match($0, /ipti?_[a-z0-9_]+( *[[(]|$)/) {
    id = substr($0, RSTART, RLENGTH); sub(/[^a-z0-9_].*/, "", id)
    if ((id in name) && !(id in home)) {
        home[id] = 1
        small[tag] += bytes["-Os", id]; fast[tag] += bytes["-O2", id] } }
function row(tag, lines, s, f) {
    printf "%-10s %6s %8d %8d\n", tag, lines, s, f }
END {
    printf "%-10s %6s %8s %8s\n", "section", "lines", "-Os", "-O2"
    for (i = 1; i <= count; i++) {
        tag = order[i]
        row(tag, n[tag], small[tag], fast[tag])
        s += small[tag]; f += fast[tag] }
    row("other", "", total["-Os"] - s, total["-O2"] - f)
    row("all", FNR, total["-Os"], total["-O2"])
    row("and tables", "", tables["-Os"], tables["-O2"]) }
' symbols "$impl"
echo

# What sizes hold for: the machine and the compiler that the page names.
printf 'int main(void) { return sizeof(void *) == 8 ? 0 : 1; }\n' >lp64.c
$CC lp64.c -o lp64 && ./lp64 && lp64=1 || lp64=
$CC -dM -E - </dev/null | grep -q __x86_64__ && ! $CC --version |
    grep -q clang && measured=1 || measured=

sed -n 's/^typedef struct \(ipt_[a-z_]*[a-z]\) {/\1/p
    s/^struct \(ipt_[a-z_]*\) {/\1/p' "$root/ipt.h" >names
{ printf '#include <stdio.h>\n#include "ipt.h"\nint main(void)\n{\n'
  sed 's/.*/    printf("%-20s %6zu bytes\\n", "&", sizeof(&));/' names
  printf '    return 0;\n}\n'
} >structs.c
quietly "structs" $CC -std=c99 -I"$root" structs.c -o structs &&
    ./structs | tee structs.txt
echo

# bytes_of TEXT: "8 KiB", "256 B" as a number.
bytes_of() {
    case $1 in
    *KiB) echo $((${1% KiB} * 1024)) ;;
    *B) echo "${1% B}" ;;
    esac
}

# The table there: | only | code | state | a loop | with LTO |.
sed '/^| only | code/,/^$/!d; s/^| *//; s/ *| */|/g' "$root/examples/speed.md" |
    grep -E '^[a-z]+[|][0-9]' >limits
[ -s limits ] && pass || fail "no table of limits in examples/speed.md"

# The functions that a layer's users call; their addresses are taken, so that
# the compiler keeps them.
sed -n 's/^IPT_API [^(]*[ *]\(ipt_[a-z0-9_]*\)(.*/\1/p' "$root/ipt.h" |
    grep -vE '_(name|words)$|^ipt_status_' >functions
# one_loop LAYER: a program that is one loop over a layer.
one_loop() {
    case $1 in
    pkt | evt) first="ipt_$1_init(&d, &c, &t) + ipt_$1_sync_forward(&d)" ;;
    insn) first="ipt_insn_init(&d, &c, &t, NULL) + ipt_insn_sync_forward(&d)" ;;
    cov) first="ipt_cov_init(&d, &c, &item, &t, NULL)
        + ipt_cov_begin(&d, &t)" ;;
    esac
    case $1 in
    pkt) item=ipt_packet ;;
    evt) item=ipt_event ;;
    insn) item=ipt_insn ;;
    cov) item=ipt_cov_config ;;
    esac
    [ "$1" = cov ] && next='ipt_cov_run(&d)' || next="ipt_$1_next(&d, &item)"
    printf '#include "ipt.h"\nipt_config c;\nipt_trace t;\nvolatile int status;
static ipt_%s_decoder d;\nstatic %s item;\nvoid _start(void);
void _start(void)\n{\n    status = %s + %s;\n}\n' "$1" "$item" "$first" "$next"
}
{ printf '#define IPT_NO_STRINGS\n'; cat impl.c; } >core.c
# What it imports; never called.
cat >memory.c <<'END'
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n) { return n ? to : (void *) from; }
void *memmove(void *to, const void *from, size_t n) { return n ? to : (void *) from; }
void *memset(void *to, int c, size_t n) { return n && c ? to : NULL; }
int memcmp(const void *a, const void *b, size_t n) { return n && a == b; }
END
# linked FLAG...: bytes of the program of loop.c, with what it needs of ipt.
linked() {
    $CC -std=c99 -Os -ffreestanding -fno-builtin $bare -nostdlib -static \
        -I"$root" "$@" -Wl,--gc-sections memory.c core.c loop.c -o loop \
        2>linked.err && text loop
}

printf '%-14s %8s %8s %8s %8s\n' only code state loop lto
while IFS='|' read -r only code state loop lto _; do
    case $only in
    packets) layer=pkt ;;
    events) layer=evt ;;
    instructions) layer=insn ;;
    coverage) layer=cov ;;
    hot) layer=hot ;;
    all) layer= ;;
    *) fail "speed.md: unknown layer $only"; continue ;;
    esac
    case $layer in
    '') wanted='^ipt_' ;;
    pkt | evt | hot) wanted="^ipt_${layer}_" ;;
    *) wanted="^ipt_(${layer}|cache)_" ;;
    esac
    grep -qE "^ipt_${layer:-[a-z]*}_" functions || continue # not there yet
    { printf '#define IPT_STATIC\n#define IPT_NO_STRINGS\n'
      cat impl.c
      printf 'extern void (*volatile use)(void);\nvoid uses(void);\n'
      printf 'void uses(void)\n{\n'
      grep -E "$wanted" functions | sed 's/.*/    use = (void (*)(void)) &;/'
      printf '}\n'
    } >only.c
    quietly "$only" $CC -std=c99 -Os -ffreestanding $bare -I"$root" \
        -c only.c || continue
    is=$(text only.o)
    struct=$(sed -n "s/^ipt_${layer:-none}_decoder  *\([0-9]*\) bytes/\1/p" \
        structs.txt)
    looped='' optimised=''
    if [ -n "$loop" ] && [ -n "$measured" ]; then
        one_loop "$layer" >loop.c
        looped=$(linked -ffunction-sections -fdata-sections)
        optimised=$(linked -flto)
        [ "${looped:-999999}" -le "$(bytes_of "$loop")" ] &&
            [ "${optimised:-999999}" -le "$(bytes_of "$lto")" ] && pass ||
            fail_with "a loop over $only: $looped bytes, limit $loop; \
with LTO $optimised, limit $lto" linked.err
    fi
    printf '%-14s %8d %8s %8s %8s\n' "$only" "$is" "$struct" "$looped" \
        "$optimised"
    [ -z "$measured" ] || [ "$is" -le "$(bytes_of "$code")" ] && pass ||
        fail "$only: $is bytes of code, limit $code"
    [ -z "$lp64" ] || [ -z "$struct" ] ||
        [ "$struct" -le "$(bytes_of "$state")" ] && pass ||
        fail "$only: $struct bytes of state, limit $state"
done <limits
report
