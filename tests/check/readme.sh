#!/bin/sh
# readme.sh [TREE]: the README shows examples/minimal.c byte for byte, in the C
# block after the line `<!-- examples/minimal.c -->`; that program keeps its
# limits, compiles and runs. In the README and in all other pages each
# `make TARGET`, file and link exists, and each `sh` block runs, from the root
# of the source; where a `text` block follows, that is what it prints last. No
# `text` block stands anywhere else. The programs at the top of ipt.h run, too.
# No page has too many words. proved.md names the harnesses that only
# `make prove FULL=1` runs. PARTS= takes some of its parts: manual minimal pages
# commands.

. "$(dirname "$0")/lib.sh"
readme=$root/README.md
program=$root/examples/minimal.c
CC=${CC:-cc}

[ -f "$readme" ] && [ -f "$program" ] || {
    fail "README.md or examples/minimal.c is missing"; report; exit; }

recording=$root/examples/recording

(cd "$root" && find . -name build -prune -o -name '*.md' -print) |
    sed 's/^..//' | sort >"$tmp/pages"
(cd "$root" && xargs cat) <"$tmp/pages" >"$tmp/all.md"

# The two programs at the top of ipt.h, on the recording: at once; as a stream,
# in pieces and on little fuel; and that with a byte changed, which has to end.
manual() {
    awk -v dir="$tmp" '/^ \* WHICH LAYER/ {exit}
        / To decode a/ {n++}
        /^ \*       / {print substr($0, 9) >dir "/manual" n ".c"}' "$root/ipt.h"
    cat >"$tmp/manual.c" <<END
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include <stdio.h>
static uint8_t trace_bytes[4096], code[1 << 16];
static size_t trace_size, code_size, offered;
static int used;
static void use(const ipt_insn *insn) { used += insn->size > 0; }
static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    size_t n = 0;
    for (; n < size && ip - 0x401000 < code_size - n; n++)
        buffer[n] = code[ip - 0x401000 + n];
    return (void) asid, (void) context, (int) n;
}
static ipt_segment pieces[64];
static void more(ipt_trace *trace)
{
    ipt_segment next = {trace_bytes + offered, trace_size - offered};
    if (next.size > 100) next.size = 100;
    if (!next.size) trace->open = 0;
    else pieces[trace->count++] = next;
    offered += next.size;
}
int main(int argc, char **argv)
{
    FILE *t = fopen(argv[1], "rb"), *c = fopen(argv[2], "rb");
    uint64_t fuel = 1;
    int bad;
    if (argc < 3 || !t || !c) return 2;
    trace_size = fread(trace_bytes, 1, sizeof trace_bytes, t);
    code_size = fread(code, 1, sizeof code, c);
$(cat "$tmp/manual1.c")
    printf("%d %d\n", used, status);
    config.fuel = &fuel;
    for (bad = 0; bad < 2; bad++) {
        used = 0, offered = 0, fuel = 1;
        trace.seg = pieces, trace.count = 0, trace.open = 1;
        trace_bytes[700] ^= (uint8_t) (bad ? 0xff : 0);
        ipt_insn_init(&decoder, &config, &trace, &cache);
{
$(cat "$tmp/manual2.c")
}
        if (!bad) printf("%d %d\n", used, status);
    }
    return 0;
}
END
    n=$(sed -n 's/^instructions=//p' "$recording/meta")
    printf '%s -1\n%s -1\n' "$n" "$n" >"$tmp/wanted"
    quietly "programs of ipt.h" "$CC" -std=c99 $WARN -I"$root" "$tmp/manual.c" \
        -o "$tmp/manual" && {
        timeout 300 "$tmp/manual" "$recording/trace.pt" "$recording/pages.bin" \
            >"$tmp/out" && pass || fail "the second program of ipt.h does not end"
        diff "$tmp/wanted" "$tmp/out" >"$tmp/bad"
        expect_empty "what the programs of ipt.h should give (<) and give (>)" \
            "$tmp/bad"
    }
}

# The first program of the README.
minimal() {
    awk '/^<!-- examples\/minimal.c -->$/ {armed = 1; next}
        /^```/ && copy {exit}
        /^```c$/ && armed {copy = 1; next}
        copy' "$readme" >"$tmp/shown.c"
    diff "$tmp/shown.c" "$program" >"$tmp/bad" 2>&1
    expect_empty "README (<) and examples/minimal.c (>) differ" "$tmp/bad"

    [ "$(wc -l <"$program")" -le 40 ] && pass || fail "minimal.c: over 40 lines"
    awk 'length($0) > 80 {print FNR ": " length($0) " columns"}' "$program" \
        >"$tmp/bad"
    expect_empty "minimal.c: lines over 80 columns" "$tmp/bad"
    sed -n 's/^ *# *include *//p' "$program" |
        grep -vxE '<stdio\.h>|<stdint\.h>|"(\.\./)?ipt\.h"' >"$tmp/bad"
    expect_empty "minimal.c: other includes" "$tmp/bad"

    for opt in -O0 -O2 -O3; do
        quietly "minimal.c" "$CC" -std=c99 $WARN $opt -I"$root" "$program" \
            -o "$tmp/minimal" || continue
        "$tmp/minimal" >"$tmp/out" 2>&1 </dev/null
        status=$?
        if [ $status -gt 0 ] && [ $status -lt 126 ] && [ -s "$tmp/out" ]; then pass
        else fail "minimal without arguments: no usage, status $status"; fi
    done

    # On the recording, as the README runs it.
    "$tmp/minimal" "$recording/trace.pt" "$recording/pages.bin" 401000 \
        >"$tmp/out" 2>&1 && pass || fail "minimal on the recording"
    [ $(($(wc -l <"$tmp/out") - 1)) -eq "$(sed -n 's/^instructions=//p' \
        "$recording/meta")" ] && pass || fail "minimal: number of instructions"
    n=$(sed -n 's/^instructions=//p' "$recording/meta")
    for said in "last two of $n instructions" \
        "\`$(sed -n 's/.*\(IPT_END at byte 0x[0-9a-f]*,\).*/\1/p' "$tmp/out") ...\`"
    do
        grep -qF "$said" "$readme" && pass || fail "the README does not say: $said"
    done

    # A file that does not fit its buffers is refused, not cut: trace, code.
    cp "$recording/trace.pt" "$tmp/big" && truncate -s 17M "$tmp/big"
    for files in "$tmp/big $recording/pages.bin" "$recording/trace.pt $tmp/big"; do
        # shellcheck disable=SC2086 # two files
        "$tmp/minimal" $files 401000 >"$tmp/out" 2>&1
        [ $? -eq 2 ] && [ "$(wc -l <"$tmp/out")" -eq 1 ] && pass ||
            fail_with "minimal: a file of 17 MiB" "$tmp/out"
    done
}

pages() {
    # Words, tables and code counted.
    while read -r page; do
        case $page in
        README.md) most=2600 ;;
        */perf.md) most=2500 ;;
        *) most=1500 ;;
        esac
        words=$(wc -w <"$root/$page")
        [ "$words" -le $most ] || echo "$page: $words words, at most $most"
    done <"$tmp/pages" >"$tmp/bad"
    expect_empty "pages that are too long" "$tmp/bad"

    # `make x`, in code spans and blocks; not `make build/x`, which is a file.
    grep -oE '(^|`|\$ |    )make [a-z][a-z-]*/?' "$tmp/all.md" |
        sed '/\/$/d; s/.*make //' | sort -u >"$tmp/targets"
    cat "$root/Makefile" "$root"/tests/*/*.mk >"$tmp/make"
    grep -oE '^[a-z][a-z-]*:' "$tmp/make" | tr -d : >"$tmp/known"
    sed -n 's/^CHECKS *+*= *//p' "$tmp/make" | tr ' ' '\n' | sed 's/^/check-/' \
        >>"$tmp/known"
    grep -vxF -f "$tmp/known" "$tmp/targets" >"$tmp/bad"
    expect_empty "targets that do not exist" "$tmp/bad"

    # `path/file.ext`, in code spans, from the root or from where the page is; build/
    # is made by make.
    while read -r page; do
        grep -oE '`[a-z_./-]+\.(c|h|md|sh|map|py)`|`[a-z_-]+/[a-z_./-]*`' \
            "$root/$page" | tr -d '`' | grep -v '^build/' | sort -u |
            while read -r f; do
                [ -e "$root/$f" ] || [ -e "$root/$(dirname "$page")/$f" ] ||
                    echo "$page: $f"
            done
    done <"$tmp/pages" >"$tmp/bad"
    expect_empty "files that do not exist" "$tmp/bad"

    # [text](path), from where the page is, [text](#heading), or both in one.
    while read -r page; do
        grep -oE '\]\([^):]+\)' "$root/$page" | sed 's/^](//; s/)$//' |
            while read -r to; do
                file=${to%%#*}
                file=$root/${file:+$(dirname "$page")/}${file:-$page}
                [ -e "$file" ] && case $to in
                *\#*) sed -n 's/^##* //p' "$file" | tr -cd 'A-Za-z0-9_ \n-' |
                    tr 'A-Z ' 'a-z-' |
                    grep -qxF -e "${to#*#}" ;;
                esac || echo "$page: $to"
            done
    done <"$tmp/pages" >"$tmp/bad"
    expect_empty "links that lead nowhere" "$tmp/bad"

    # Harnesses that are marked slow, and those that proved.md says are.
    for file in "$root"/tests/proof/*.c; do
        sed -n '/slow/s/^void prove_\([a-z_]*\)(void).*/\1/p' "$file"
    done | sort >"$tmp/slow"
    sed -n '/^There are [0-9]* harnesses/,/^$/p' "$root/tests/proof/proved.md" |
        grep -o '`[a-z]*_[a-z_]*`' | tr -d '`' | sort | diff "$tmp/slow" - >"$tmp/bad"
    expect_empty "harnesses marked slow (<), and those in proved.md (>)" "$tmp/bad"
}

# ---- the commands ----

# They run in a folder that looks like the source and takes what they write.
# What make does there is done once: demo, test and deps are steps of their own.
commands() {
    site=$tmp/site
    build=${BUILD:-build}
    mkdir -p "$site" "$tmp/bin" "$build"
    build=$(cd "$build" && pwd)
    for f in "$root"/*; do
        [ "$f" = "$root/build" ] || ln -s "$f" "$site"
    done
    ln -s "$build" "$site/build"
    # One make at a time; gcc -flto calls another one inside it.
    cat >"$tmp/bin/make" <<END
#!/bin/sh
case \$1 in demo | test | deps*) exit 0 ;; esac
[ -z "\$README_LOCKED" ] || exec "$(command -v make)" "\$@"
export README_LOCKED=1
exec flock "$build" "$(command -v make)" DEPS=no "\$@"
END
    chmod +x "$tmp/bin/make"

    # cut_blocks PAGE: $tmp/N.sh and, where text follows at once, $tmp/N.text, for
    # N = 1, 2, ... Prints how many there are.
    cut_blocks() {
        rm -f "$tmp"/[0-9]*.sh "$tmp"/[0-9]*.text
        awk -v dir="$tmp" '
            /^```sh$/ {to = dir "/" ++n ".sh"; next}
            /^```text$/ && after {to = dir "/" n ".text"; next}
            /^```$/ && to {after = to ~ /sh$/; to = ""; next}
            to {print >to; next}
            {after = 0}
            END {print n + 0}' "$root/$1"
    }

    while read -r page; do
        blocks=$(cut_blocks "$page")
        find "$tmp" -maxdepth 1 -name '[0-9]*.text' >"$tmp/texts"
        [ "$(wc -l <"$tmp/texts")" -eq "$(grep -c '^```text$' "$root/$page")" ] &&
            pass || fail "$page: a text that follows no commands"
        n=0
        while [ $n -lt "$blocks" ]; do
            n=$((n + 1))
            if ! (cd "$site" && unset MAKEFLAGS MAKELEVEL BUILD &&
                PATH=$tmp/bin:$PATH sh -e "$tmp/$n.sh") >"$tmp/out" \
                2>"$tmp/log" </dev/null
            then
                cat "$tmp/out" >>"$tmp/log"
                fail_with "$page, block $n: $(head -n 1 "$tmp/$n.sh")" "$tmp/log"
                continue
            fi
            pass
            [ -f "$tmp/$n.text" ] || continue
            tail -n "$(wc -l <"$tmp/$n.text")" "$tmp/out" |
                diff "$tmp/$n.text" - >"$tmp/bad"
            expect_empty "$page (<) and what block $n prints (>)" "$tmp/bad"
        done
    done <"$tmp/pages"
}

for part in ${PARTS:-manual minimal pages commands}; do $part; done
report
