#!/bin/sh
# commits.sh [TREE]: the subject of each commit, which is all up to the first
# blank line, is `section: what changes` in at most 72 characters. One test per
# commit after SINCE, when the rule was made (.ci/run reads it here). Merges may
# say what git says.

. "$(dirname "$0")/lib.sh"
SINCE=${SINCE:-7d841aa29c}
cd "$root" || exit 2

if [ ! -e .git ] || ! git cat-file -e "$SINCE^{commit}" 2>"$tmp/why"; then
    skip "no commits here since $SINCE: this is not a clone with its history"
    report
    exit
fi

# Characters, not bytes: each has one byte in UTF-8 that is not in 80 to bf.
git log --no-merges --format='%h %s' "$SINCE..HEAD" >"$tmp/subjects" || exit 2
while read -r commit subject; do
    length=$(printf %s "$subject" | LC_ALL=C tr -d '\200-\277' | wc -c)
    if [ "$length" -gt 72 ]; then
        fail "$commit: $length characters, at most 72: $subject"
    elif ! echo "$subject" |
        grep -qE '^[^ :,]+(, [^ :,]+)*: [^ ].*[^ .]$'; then
        fail "$commit: not \`section: what changes\`: $subject"
    else pass; fi
done <"$tmp/subjects"
pass # that it could be looked at
report
