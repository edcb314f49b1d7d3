#!/bin/sh
# replay.sh: every fuzz harness over its corpus and over the inputs that once
# failed: fuzz/corpus/TAG/* and fuzz/regress/TAG/*. One test per harness.

passed=0 failed=0
for source in $(grep -l LLVMFuzzerTestOneInput fuzz/*.c); do
    tag=$(basename "$source" .c)
    [ "$tag" = standalone ] && continue
    files=$(find "fuzz/corpus/$tag" "fuzz/regress/$tag" -type f 2>/dev/null)
    # shellcheck disable=SC2086 # a list; names of corpus files have no blanks
    if [ -z "$files" ]; then
        echo "FAIL $tag: no file in fuzz/corpus/$tag"
        failed=$((failed + 1))
    elif "${BUILD:-build}/fuzz/$tag" $files; then
        passed=$((passed + 1))
    else
        echo "FAIL $tag: exit status $?"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
