#!/bin/sh
# size.sh [TREE]: how large each section of ipt_impl.h is: lines against its
# budget, bytes of code at -Os and -O2; and the sizes of the public structs.

. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 2
CC=${CC:-cc}
impl=$root/ipt_impl.h

# Lines per section that the design allows.
cat >budget <<'END'
base 350
pkt 1100
sync 250
time 500
evt 1500
qry 250
classify 700
cache 500
blk 1200
insn 350
cov 800
hot 300
gen 800
strings 200
END
printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >impl.c
for opt in -Os -O2; do
    $CC -std=c99 $opt -ffreestanding -I"$root" -c impl.c -o impl.o &&
        { nm -S impl.o | sed "s/^/$opt /"
          size impl.o | awk -v opt=$opt 'NR == 2 {print opt, "text", $1}'; }
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
FILENAME == "budget" {budget[$1] = $2; next}
FILENAME == "symbols" && $2 == "text" {total[$1] = $3; next}
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
function row(tag, lines, most, s, f) {
    printf "%-10s %6s %6s %8d %8d\n", tag, lines, most, s, f }
END {
    printf "%-10s %6s %6s %8s %8s\n", "section", "lines", "budget", "-Os", "-O2"
    for (i = 1; i <= count; i++) {
        tag = order[i]
        row(tag, n[tag], budget[tag], small[tag], fast[tag])
        most += budget[tag]; s += small[tag]; f += fast[tag] }
    row("other", "", "", total["-Os"] - s, total["-O2"] - f)
    row("all", FNR, most, total["-Os"], total["-O2"]) }
' budget symbols "$impl"
echo

printf '#include <stdio.h>\n#include "ipt.h"\nint main(void)\n{\n' >structs.c
sed -n 's/^typedef struct \(ipt_[a-z_]*[a-z]\) {/\1/p
    s/^struct \(ipt_[a-z_]*\) {/\1/p' "$root/ipt.h" | while read -r s; do
    printf '    printf("%%-20s %%6zu bytes\\n", "%s", sizeof(%s));\n' "$s" "$s"
done >>structs.c
printf '    return 0;\n}\n' >>structs.c
$CC -std=c99 -I"$root" structs.c -o structs && ./structs
