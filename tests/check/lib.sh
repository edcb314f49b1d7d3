# lib.sh: sourced by every check. Sets $root (the tree under test, the first
# argument of the check, default: here) and $tmp (removed at exit), and counts.

root=$(cd "${1:-.}" && pwd) || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM
passed=0 failed=0 skipped=0 more=0

WARN="-Wall -Wextra -Wpedantic -Wconversion -Wshadow"
[ "$WERROR" != 1 ] || WARN="$WARN -Werror"

pass() { passed=$((passed + 1)); }
skip() { skipped=$((skipped + 1)); echo "SKIP $*"; }

# no_ptrace FILE: ptrecord, whose messages are in FILE, may not use ptrace here.
no_ptrace() { grep -q '^ptrecord: ptrace is not permitted here: ' "$1"; }

# fail_with WHAT FILE: fails, and shows the beginning of FILE.
fail_with() {
    echo "FAIL $1"
    sed -e 's/^/    /' -e 20q "$2"
    failed=$((failed + 1))
    [ -z "$STOP" ] || { report; exit; } # STOP=1: the first failure will do
}

fail() { fail_with "$*" /dev/null; }

# expect_empty WHAT FILE: passes when FILE is empty.
expect_empty() {
    if [ -s "$2" ]; then fail_with "$1" "$2"; else pass; fi
}

# quietly WHAT COMMAND...: passes when COMMAND succeeds.
quietly() {
    what=$1
    shift
    if "$@" >"$tmp/quietly" 2>&1; then pass
    else fail_with "$what: $*" "$tmp/quietly"; return 1; fi
}

# have COMMAND PACKAGE: is it there? If not, counts a skip.
have() {
    command -v "$1" >/dev/null && return 0
    skip "$1 is missing (package $2)"
    return 1
}

# rest N COMMAND...: N tests of make test-full (TEST_FULL=1), which the command
# is. In make test they are only counted.
rest() {
    rest=$1
    shift
    if [ -z "$TEST_FULL" ]; then
        more=$((more + rest))
        return
    fi
    before=$((passed + failed)) skipped_before=$skipped
    "$@"
    [ $skipped -gt $skipped_before ] ||
        [ $((passed + failed - before)) -eq "$rest" ] ||
        fail "$((passed + failed - before)) tests are more, not $rest: $*"
}

# alone COMMAND...: with little of this environment: what a program looks at
# first is each of its variables, and ptrecord steps through that.
alone() {
    env -i PATH="$PATH" LC_ALL=C ${TMPDIR:+"TMPDIR=$TMPDIR"} \
        ${LLVM_PROFILE_FILE:+"LLVM_PROFILE_FILE=$LLVM_PROFILE_FILE"} "$@"
}

# The last line of every check; its status is the check's.
report() {
    [ $more -eq 0 ] || echo "$more more in make test-full"
    if [ $skipped -gt 0 ]; then tail=", $skipped skipped"; else tail=; fi
    echo "$passed passed, $failed failed$tail"
    [ $failed -eq 0 ]
}
