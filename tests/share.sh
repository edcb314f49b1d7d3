#!/bin/sh
# share.sh: a warmed memo that threads share, under ThreadSanitizer.

. "$(dirname "$0")/check/lib.sh"
cc=${CC:-cc}
cd "$root" || exit 2
echo 'int main(void) { return 0; }' >"$tmp/c.c"
if ! $cc -fsanitize=thread "$tmp/c.c" -o "$tmp/c" -pthread 2>"$tmp/why" ||
    ! "$tmp/c" 2>>"$tmp/why"; then
    skip "ThreadSanitizer does not work here ($cc)"
else
    # shellcheck disable=SC2086 # flags
    quietly "built" $cc -std=c99 $WARN -O0 -g -fsanitize=thread -pthread \
        -DCOV_THREADS -I. tests/cov.c -o "$tmp/cov" &&
        TEST_ONLY=shared quietly "shared by threads" "$tmp/cov"
fi
report
