#!/bin/sh
# readme.sh [TREE]: the README shows examples/minimal.c byte for byte, in the C
# block behind the line `<!-- examples/minimal.c -->`; that program keeps its
# limits, compiles and runs; each `make TARGET` and file that it names exists.

. "$(dirname "$0")/lib.sh"
readme=$root/README.md
program=$root/examples/minimal.c
CC=${CC:-cc}

[ -f "$readme" ] && [ -f "$program" ] || {
    fail "README.md or examples/minimal.c is missing"; report; exit; }

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
recording=$root/examples/recording
"$tmp/minimal" "$recording/trace.pt" "$recording/pages.bin" 401000 \
    >"$tmp/out" 2>&1 && pass || fail "minimal on the recording"
[ $(($(wc -l <"$tmp/out") - 1)) -eq "$(sed -n 's/^instructions=//p' \
    "$recording/meta")" ] && pass || fail "minimal: number of instructions"

# `make x`, in code spans and blocks.
grep -oE '(^|`|\$ |    )make [a-z][a-z-]*' "$readme" | sed 's/.*make //' |
    sort -u >"$tmp/targets"
cat "$root/Makefile" "$root"/tests/*/*.mk >"$tmp/make"
grep -oE '^[a-z][a-z-]*:' "$tmp/make" | tr -d : >"$tmp/known"
sed -n 's/^CHECKS *= *//p' "$tmp/make" | tr ' ' '\n' | sed 's/^/check-/' \
    >>"$tmp/known"
grep -vxF -f "$tmp/known" "$tmp/targets" >"$tmp/bad"
expect_empty "targets that do not exist" "$tmp/bad"

# `path/file.ext`, in code spans; build/ is made by make.
grep -oE '`[a-z_./-]+\.(c|h|md|sh|map|py)`|`[a-z_-]+/[a-z_./-]*`' "$readme" |
    tr -d '`' | grep -v '^build/' | sort -u >"$tmp/files"
while read -r f; do [ -e "$root/$f" ] || echo "$f"; done <"$tmp/files" \
    >"$tmp/bad"
expect_empty "files that do not exist" "$tmp/bad"

report
