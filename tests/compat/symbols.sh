#!/bin/sh
# symbols.sh LIBRARY: it exports what the system's libipt.so.2 does, and what 2.2
# does, under the same name and without versions, and neither needs nor opens
# that.
ours=$1
set -- .
. "$(dirname "$0")/../check/lib.sh"

theirs=$(ls /usr/lib/*/libipt.so.2 /usr/lib/libipt.so.2 2>/dev/null | head -n 1)
[ -e "$ours" ] || fail "no $ours"
[ -n "$theirs" ] || fail "no libipt.so.2 in the system (package libipt-dev)"

# Names with their versions, if there are any, and types.
symbols() { nm -D --defined-only "$1" | awk '{ print $2, $3 }' | sort; }

symbols "$ours" >"$tmp/ours"
symbols "$theirs" >"$tmp/system"
comm -23 "$tmp/system" "$tmp/ours" >"$tmp/left"
expect_empty "the system's symbols that ours has not" "$tmp/left"
[ "$(wc -l <"$tmp/ours")" -eq 87 ] && pass || fail "87 symbols"
newest=$(ls build/libipt-2.2/usr/lib/*/libipt.so.2 2>/dev/null)
if [ -n "$newest" ]; then
    symbols "$newest" >"$tmp/newest"
    quietly "the symbols of 2.2" diff "$tmp/newest" "$tmp/ours"
fi
cp "$tmp/ours" "$tmp/theirs"

dynamic() { LC_ALL=C readelf -d "$1"; }
soname() { dynamic "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
[ "$(soname "$ours")" = "$(soname "$theirs")" ] && pass || fail SONAME
dynamic "$ours" | grep NEEDED | grep ipt >"$tmp/needed"
expect_empty "it needs libipt" "$tmp/needed"
nm -D --undefined-only "$ours" | grep -E 'dlopen|dlsym|dlmopen| pt_' \
    >"$tmp/opens"
expect_empty "it opens libraries" "$tmp/opens"

# What the test calls is all that there is.
grep -o 'X(pt_[a-z_]*)' tests/compat/api.h | sed 's/X(\(.*\))/T \1/' | sort \
    >"$tmp/listed"
quietly "each symbol is in api.h" diff "$tmp/theirs" "$tmp/listed"

# ... and each is called where what it returns is compared with what the other
# library returns, or, with nothing to return, is called: see memory.h for what
# comes of it.
cat tests/compat/calls.h tests/compat/compat.c tests/compat/lockstep.h \
    tests/compat/faults.c | tr '\n' ' ' >"$tmp/tests"
{ grep -oE '(SAME|BOTH|EACH|STATUS|OBJECT|CALL|CHECK_EQ|CHECK)\([^;]*;' \
      "$tmp/tests"
  grep -oE 'by->pt_(([a-z]*_)?free(_decoder|_encoder)?)\(' "$tmp/tests"
} | grep -oE '[>.]pt_[a-z_]+ ?\(' | sed 's/^./T /; s/ *($//' | sort -u \
    >"$tmp/called"
quietly "each symbol is called" diff "$tmp/theirs" "$tmp/called"

# What libipt does otherwise is listed, and the list only gets shorter.
[ "$(grep -c '^ *X([A-Z_]*,' tests/compat/differences.h)" -le 15 ] && pass ||
    fail "more than 15 differences in tests/compat/differences.h"
report
