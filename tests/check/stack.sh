#!/bin/sh
# stack.sh [TREE]: the deepest chain of calls from any public function stays
# below 1 KiB of stack at gcc -O2 and -Os on x86-64 (without red zone), and
# nothing recurses. From gcc's own call graph and frame sizes. A function that only
# jumps to another one as its last act has left the stack by then. The caller's
# callbacks and the four memory functions count 0; every indirect call is listed.

. "$(dirname "$0")/lib.sh"
LIMIT=1024
cd "$tmp" || exit 2

have gcc gcc || { report; exit; }
if ! gcc -dumpmachine | grep -q '^x86_64'; then
    skip "the limit is for x86-64"
    report
    exit
fi

# Members of structs in ipt.h that are pointers to functions: the callbacks.
callbacks=$(sed -n '/^ \*/!s/^ .*(\*\([a-z_]*\))(.*/\1/p' "$root/ipt.h" |
    sort -u | tr '\n' ' ')
printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >impl.c

for opt in -O0 -Os -O2; do # -O0: for recursion that -O2 makes a loop of
    gcc -std=c99 $opt -ffreestanding -mno-red-zone -fcallgraph-info=su,da \
        -I"$root" -S impl.c -o impl.s 2>bad || echo "no call graph" >>bad
    expect_empty "compile $opt" bad
    [ $opt = -O0 ] && limit=0 || limit=$LIMIT
    awk -F'"' -v limit=$limit -v callbacks="$callbacks" '
    FILENAME == "impl.s" {
        if (/^[a-z_0-9.]+:/) {at = $0; sub(/:.*/, "", at)}
        else if (sub(/^\tcall\t/, "")) called[at, $0] = 1
        else if (sub(/^\tj[a-z]*\t/, "")) jumped[at, $0] = 1
        next
    }
    /^node:/ {
        name[$2] = $2
        sub(/.*:/, "", name[$2])
        split($4, part, "\\\\n")
        if ($0 !~ /shape : ellipse/) {
            known[$2] = 1
            frame[$2] = part[3] + 0
            if (limit && part[3] !~ /\((static|dynamic,bounded)\)/)
                print "BAD " name[$2] ": " part[3]
        }
    }
    /^edge:/ {
        if ($4 == "__indirect_call") indirect($2, $6)
        else if (!(($2, $4) in seen)) {
            seen[$2, $4] = 1
            calls[$2] = calls[$2] "\n" $4
        }
    }
    END {
        for (f in known) if (depth(f) > depth(deepest)) deepest = f
        if (!limit) exit
        printf "DEEPEST %d\n", depth(deepest)
        for (f = deepest; f; f = next_[f])
            printf "    %5d %s\n", frame[f], name[f]
        if (depth(deepest) >= limit)
            print "BAD deepest chain: " depth(deepest) " bytes, limit " limit
        printf "CALLBACKS%s\n", found
    }
    # The stack that f and its callees need; next_[f] is the deepest callee.
    function depth(f,    list, n, i, d, best, own) {
        if (f in done) return done[f]
        if (!(f in known)) {
            if (f != "" && f !~ /^mem(cpy|move|set|cmp)$/ && !(f in strange)) {
                strange[f] = 1
                print "BAD calls " f ", of unknown depth"
            }
            return 0
        }
        if (busy[f]) { print "BAD recursion through " name[f]; return 0 }
        busy[f] = 1
        n = split(substr(calls[f], 2), list, "\n")
        best = frame[f]
        for (i = 1; i <= n; i++) {
            own = (name[f] SUBSEP name[list[i]]) in jumped \
                && !((name[f] SUBSEP name[list[i]]) in called) ? 0 : frame[f]
            d = depth(list[i]) + own
            if (d > best || !next_[f] && list[i] in known) {
                best = d; next_[f] = list[i]
            }
        }
        busy[f] = 0
        return done[f] = best
    }
    # An indirect call is fine if its line names a callback of ipt.h.
    function indirect(f, place,    p, i, n, c, text) {
        split(place, p, ":")
        for (i = 1; i <= p[2]; i++) if ((getline text < p[1]) <= 0) break
        close(p[1])
        n = split(callbacks, c, " ")
        for (i = 1; i <= n; i++)
            if (text ~ "(->|[.])" c[i] "\\(") {
                if (!((f, c[i]) in listed))
                    found = found " " name[f] ":" c[i]
                listed[f, c[i]] = 1
                return
            }
        print "BAD indirect call that is not a callback, line " p[2] ": " text
    }' impl.s impl.ci >out
    grep '^BAD' out | sed 's/^BAD //' >bad
    expect_empty "stack at $opt" bad
done
sed -n 's/^DEEPEST/deepest chain, bytes:/p; /^    /p
    s/^CALLBACKS/callbacks, counted as 0:/p' out

report
