#!/bin/bash
# tools.sh BUILD TREE [SUITE]: ptdump and ptxed of a built tree of libipt, on
# their own library and on the libipt.so.2 of make compat. What both print on the
# recording of examples/, and on each row of SUITE/index.tsv, is the same, or a
# difference of differences.h explains it.
ours=$(cd "$1/compat" && pwd)/libipt.so.2 || exit 2
tree=$(cd "$2" && pwd) || exit 2
suite=${3:+$(cd "$3" && pwd)} || exit 2
set -- .
. "$(dirname "$0")/../check/lib.sh"
declare -A why_count

# found NAME: it, somewhere in the tree.
found() {
    find -L "$tree" -name "$1" -type f -print -quit
}
theirs=$(realpath "$(found 'libipt.so.2*')") || exit 2

# says LIBRARY TOOL ARGUMENT...: what the tool prints with it, and its status.
says() {
    LD_PRELOAD=$1 timeout 60 "${@:2}" 2>/dev/null </dev/null
    echo "status $?"
}

# flow FILE: without events that the tools have no name for, and those of power.
flow() {
    grep -vE '^\[\]$|^\[(mwait|pwre|exstop)' "$1" | sort
}

# is_early: theirs is ours up to an error that both have.
is_early() {
    error=$(sed -n 's/.*: \(error: .*\)\]$/\1/p' "$tmp/theirs" | tail -n 1)
    [ -n "$error" ] && grep -qF "$error" "$tmp/ours" || return 1
    sed -e '/^\[.*error: /,$d' "$tmp/theirs" >"$tmp/before"
    head -n "$(wc -l <"$tmp/before")" "$tmp/ours" | cmp -s - "$tmp/before"
}

# why CODE: the name of the difference between what they have printed; nothing:
# there is none.
why() {
    unknown=$(cat "$tmp/theirs" "$tmp/ours" | grep -c 'unknown \(cpu\|opcode\)')
    common=$(comm -12 <(sort "$tmp/theirs") <(sort "$tmp/ours") |
        grep -c 'unknown \(cpu\|opcode\)')
    if [ "$unknown" -gt $((2 * common)) ]; then echo NEW
    elif cmp -s <(flow "$tmp/theirs") <(flow "$tmp/ours"); then echo ORDER
    elif LC_ALL=C grep -qaP '\xd5\x00?\xa1' "$1" 2>/dev/null; then echo INSN
    elif is_early; then echo EARLY
    fi
}

# same CODE TOOL ARGUMENT...: a tool prints the same with both.
same() {
    code=$1
    shift
    says "$theirs" "$@" >"$tmp/theirs"
    says "$ours" "$@" >"$tmp/ours"
    cmp -s "$tmp/theirs" "$tmp/ours" && pass && return
    name=$(why "$code")
    if [ -n "$name" ]; then
        why_count[$name]=$((why_count[$name] + 1))
        pass
    else
        diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff"
        fail_with "$PWD: $*" "$tmp/diff"
    fi
}

for tool in ptdump ptxed; do
    at=$(found $tool)
    [ -z "$at" ] || at=$(realpath "$at")
    [ -x "$at" ] || { skip "$tree has no $tool"; continue; }
    cd "$root/examples/recording" || exit 2
    before=$passed
    if [ $tool = ptdump ]; then
        same - "$at" trace.pt
        same - "$at" --no-pad --lastip trace.pt
    else
        for layer in insn block; do
            same - "$at" --$layer-decoder --raw pages.bin:0x401000 --check \
                --no-inst --pt trace.pt
        done
    fi
    [ "$passed" -gt "$before" ] && [ "$(wc -l <"$tmp/theirs")" -gt 500 ] && pass ||
        fail "$tool prints next to nothing"
    [ -n "$suite" ] || continue
    while IFS=$'\t' read -r test _ _ of _ _ arguments _; do
        [ "$of" = $tool ] || continue
        cd "$suite/tests/$test" || exit 2
        read -r -a list <<<"$arguments"
        same "$test.bin" "$at" "${list[@]}"
    done <"$suite/index.tsv"
done
for name in "${!why_count[@]}"; do echo "$name: ${why_count[$name]}"; done
report
