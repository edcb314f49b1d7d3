#!/bin/sh
# cov.sh: R12, how many TNT bits make a leg of [cov] full. Fewer than the walk
# can hold do not compile. Without that check they decode as well: a leg is
# not taken twice that was full of bits which the walk held.

. "$(dirname "$0")/check/lib.sh"
cc=${CC:-cc}

# with BITS SCRIPT FILE FLAG...: compiles FILE where so many bits are full.
with() {
    bits=$1 script=$2 file=$3
    shift 3
    mkdir -p "$tmp/tests" && cp "$root"/tests/*.[ch] "$tmp/tests" &&
        cp "$root/ipt.h" "$tmp" &&
        sed "s/^\(#define IPTI_COV_FULL .* << \)57/\1$bits/; $script" \
            "$root/ipt_impl.h" >"$tmp/ipt_impl.h" &&
        $cc -std=c99 -DOTHER_LEGS -I"$tmp" "$@" "$tmp/$file" \
            >"$tmp/why" 2>&1
}

# legs BITS: the tests pass with legs of so many bits.
legs() {
    if with "$1" '/^IPTI_STATIC_ASSERT(cov_held/d' tests/cov.c -O1 \
        -o "$tmp/cov"; then
        TEST_ONLY='' TEST_FULL='' TEST_COUNT=20 quietly "R12: legs of $1 bits" \
            "$tmp/cov"
    else
        fail_with "R12: legs of $1 bits do not compile" "$tmp/why"
    fi
}

other_legs() {
    legs 6
    legs 40
}

case R12 in
*"$TEST_ONLY"*)
    rest 2 other_legs
    [ -z "$TEST_FULL" ] || { report; exit; }
    printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >"$tmp/core.c"
    with 47 '' core.c -fsyntax-only && fail "R12: a leg of 47 bits compiles" || pass
    with 48 '' core.c -fsyntax-only && pass ||
        fail "R12: a leg of 48 bits does not compile"
    ;;
esac
report
