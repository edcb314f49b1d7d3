# tool.sh: sourced by tests of what the tools print: an empty folder with links
# to ptdump and ptxed in it, functions that write bytes and compare output, and
# counts in $passed, $failed and $skipped.

build=$(cd "${BUILD:-build}" && pwd) || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
cd "$dir" || exit 2
ln -s "$build/ptdump" "$build/ptxed" .
PATH=.:$PATH
passed=0 failed=0 skipped=0

# Made without Zydis ptxed has no disassembly and no --check.
./ptxed --check 2>&1 | grep -q 'without Zydis' && zydis=no || zydis=yes
disassembles() {
    [ "$1" = ptxed ] || return 1
    case " $* " in
    *" --check "*) return 0 ;;
    *" --no-inst "* | *" --quiet "* | *" -q "*) return 1 ;;
    esac
}

# bytes FILE HEX...: write a file.
bytes() {
    file=$1
    shift
    text=
    for byte in $(echo "$*" | tr -d ' ' | sed 's/../0x& /g'); do
        text=$text\\$((byte >> 6))$((byte >> 3 & 7))$((byte & 7))
    done
    # shellcheck disable=SC2059 # octal escapes
    printf "$text" >"$file"
}

# run STATUS COMMAND...: check the exit status, and standard output against
# the text on standard input; what went to standard error is left in ./err.
run() {
    want=$1
    shift
    cat >want
    if [ $zydis = no ] && [ "$want" -eq 0 ] && disassembles "$@"; then
        skipped=$((skipped + 1))
        return
    fi
    timeout 300 "$@" >out 2>err
    got=$?
    if [ $got -eq "$want" ] && diff -u want out >diff.out; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $*: exit status $got, expected $want"
        sed -n '3,30p' diff.out
        head -3 err
    fi
}

# refuse STATUS TEXT COMMAND...: it prints nothing but TEXT to standard error.
refuse() {
    text=$2
    want=$1
    shift 2
    run "$want" "$@" </dev/null
    if [ "$(cat err)" = "$text" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $*:"
        echo "     expected: $text"
        echo "     got:      $(cat err)"
    fi
}

report() {
    [ $skipped -eq 0 ] && tail= || tail=", $skipped skipped"
    [ $zydis = yes ] || echo "SKIP ptxed: no Zydis (package libzydis-dev)"
    echo "$passed passed, $failed failed$tail"
    [ $failed -eq 0 ]
}

psb=02820282028202820282028202820282
