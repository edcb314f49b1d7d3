#!/bin/sh
# cov.sh: R12, how many TNT bits make a leg of [cov] full. Fewer than the walk
# can hold do not compile. Without that check they decode as well: a leg is
# not taken twice that was full of bits which the walk held.

. "$(dirname "$0")/check/lib.sh"
cc=${CC:-cc}

# with BITS SCRIPT: a copy of the tree in which so many are full.
with() {
    mkdir -p "$tmp/tests" && cp "$root"/tests/*.[ch] "$tmp/tests" &&
        cp "$root/ipt.h" "$tmp" &&
        sed "s/^\(#define IPTI_COV_FULL .* << \)57/\1$1/; $2" \
            "$root/ipt_impl.h" >"$tmp/ipt_impl.h" &&
        $cc -std=c99 -O1 -DOTHER_LEGS -I"$tmp" "$tmp/tests/cov.c" \
            -o "$tmp/cov" >"$tmp/why" 2>&1
}

case R12 in
*"$TEST_ONLY"*)
    with 47 '' && fail "R12: a leg of 47 bits compiles" || pass
    with 48 '' && pass || fail "R12: a leg of 48 bits does not compile"
    for bits in 6 40; do
        if with $bits '/^IPTI_STATIC_ASSERT(cov_held/d'; then
            TEST_ONLY='' quietly "R12: legs of $bits bits" "$tmp/cov"
        else
            fail_with "R12: legs of $bits bits do not compile" "$tmp/why"
        fi
    done
    ;;
esac
report
