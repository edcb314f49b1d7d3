#!/bin/sh
# debug.sh: what somebody asks who looks for a fault: lines, bytes and words of
# instructions as objdump and addr2line have them.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
export HOME="$tmp"
cd "$tmp" || exit 2
CC=${CC:-cc}

# record NAME OPTION...: compile NAME.c, and record it as NAME.data.
record() {
    name=$1
    shift
    $CC -O0 -g -w -no-pie -pthread "$@" -o "$name" "$name.c" ||
        { fail "$name.c"; return 1; }
    timeout 300 "$build/ptrecord" --quiet --perf-data "$name.data" --time cyc \
        -- "./$name" >out 2>err </dev/null
    ! no_ptrace err || { echo "SKIP debug: no ptrace here"; skipped=1; report; exit; }
    [ -s "$name.data" ] || { fail_with "$name.data" err; return 1; }
}

tool() {
    timeout 300 "$build/$@" 2>err
}

# ---- ptflow's srcline, bytes, disasm ----

cat >lines.c <<'END'
static volatile double half = 0.5;
static int add(int n, const char *text)
{
    for (int i = 0; text[i]; i++)
        n += text[i] ^ i;
    return n;
}
#line 70 "od\033d \\x\n.c"
static int odd(int n)
{
    half *= n;
    return n < 0 ? -n : n % 10;
}
int main(void)
{
    return odd(add(3, "lines")) == 77;
}
END
record lines -static || { report; exit; }
for what in add odd main; do
    tool ptflow --quiet --fields ip,bytes,srcline --func $what lines.data
done | sort -u >got
cut -d ' ' -f 1 got >ips
dump() {
    objdump -d -w --start-address="0x$(head -n 1 ips)" \
        --stop-address=$((0x$(tail -n 1 ips) + 1)) "$@" lines
}
dump --insn-width=15 | awk -F '\t' 'NF >= 2 {
    gsub(/[ :]/, "", $1); gsub(/ /, "", $2); print $1, $2}' >bytes
# One name has an escape and the end of a line in it.
sed 's/^/0x/' ips | xargs addr2line -e lines | perl -0777 -pe \
    's/od\033d (\S+)\n/od\\x1bd $1\\x0a/g; s/ [(]dis.*//mg' >rows
awk 'NR == FNR {b[$1] = $2; next} {getline row <"rows"; print $1, b[$1], row}' \
    bytes ips >want
[ "$(wc -l <ips)" -gt 40 ] && grep -q 'x0a.c:7[0-9]$' got && cmp -s got want &&
    pass || {
    diff got want >bad
    fail_with "bytes and lines (<), and those of objdump and addr2line (>)" bad
}
tool ptflow --quiet --json -j 2 --fields ip,bytes,srcline lines.data | grep 'od ' |
    sed 's/.*"ip":"0x//; s/","[a-z]*":"/ /g; s/"}//' | sort -u >json
grep 'x1b' got | sed 's/\\x1b/ /; s/ \\x\\x0a/ \\\\x /' >want
grep -q 'od d ' json && cmp -s json want && pass || {
    diff json want >bad
    fail_with "--json (<), and the text (>)" bad
}
tail -n 1 "$build/flags" | grep -q -e -lZydis && {
    for what in add odd main; do
        tool ptflow --quiet --fields ip,disasm --func $what lines.data
    done | sort -u | sed 's/[ ]//2g; s/0x//g; s/ \(j\|jn\|set\|setn\)z/ \1e/' >got
    dump -M intel | awk -F '\t' 'NR == FNR {on[$1] = 1; next}
        {gsub(/[ :]/, "", $1); sub(/ *[<#].*/, "", $3); gsub(/0x/, "", $3)
         gsub(/ /, "", $3); $3 = tolower($3)} $1 in on {print $1, $3}' \
        ips - | sort -u >want
    cmp -s got want && pass || {
        diff got want >bad
        fail_with "disasm (<), and objdump (>)" bad
    }
}
report
