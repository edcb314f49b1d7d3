#!/bin/sh
# Each function of libipt's header has a row in ipt.h's table "COMING FROM
# LIBIPT". There pt_L_x stands for pt_pkt_x, pt_evt_x, ..., pt_x_* for all that
# begin so, and _y after a name for one that shares its beginning.
cd "$(dirname "$0")/.." || exit 1
set -f # patterns are not for files
h=$(echo '#include <intel-pt.h>' | ${CC:-cc} -E - 2>/dev/null |
    sed -n 's/^# [0-9]* "\(.*intel-pt\.h\)".*/\1/p' | head -n 1)
if [ -z "$h" ]; then
    echo "SKIP libipt_calls: libipt is missing (libipt-dev)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

# The table's left column, one name a line, as patterns of `case`.
patterns=$(sed -n '/COMING FROM LIBIPT/,/COMING FROM LIBXDC/p' ipt.h |
    sed 's/^ \*   //; /^ /d; s/   .*//; s/([^)]*)//' | tr -c 'a-zA-Z0-9_*' '\n' |
    awk '/^pt_/ { last = $0; print; next }
         /^_/ { s = last
                while (sub(/_[^_]*$/, "", s)) print s $0 }' |
    awk '/^pt_L_/ { n = split("pkt evt qry insn blk", l, " ")
                    for (i = 1; i <= n; i++) {
                        s = $0; sub(/_L_/, "_" l[i] "_", s); print s }
                    next }
         1')

# What the header declares, without its comments.
calls=$(awk '{ while ((i = index($0, "/*")) > 0 && !c) {
                   j = index($0, "*/")
                   if (!j) { print substr($0, 1, i - 1); c = 1; break }
                   $0 = substr($0, 1, i - 1) substr($0, j + 2) }
               if (c) { j = index($0, "*/"); if (j) c = 0; next }
               print }' "$h" | grep -o 'pt_[a-z0-9_]* *(' | tr -d ' (' | sort -u)

passed=0
failed=0
for call in $calls; do
    found=
    for pattern in $patterns; do
        # shellcheck disable=SC2254 # it is a pattern
        case $call in $pattern) found=1 ;; esac
    done
    if [ "$found" ]; then
        passed=$((passed + 1))
    else
        echo "ipt.h does not say what $call becomes"
        failed=$((failed + 1))
    fi
done
[ $passed -gt 0 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed"
[ $failed = 0 ]
