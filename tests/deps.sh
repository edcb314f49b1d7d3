#!/bin/sh
# deps.sh: what make deps does where something is missing; that tools and
# examples are made without the headers that are optional; and what make compiles
# when something has changed.

here=$(cd "$(dirname "$0")/.." && pwd)
set -- "$here"
. "$here/tests/check/lib.sh"
cd "$tmp" || exit 2

# A machine: what is in ./bin, whose apt-get and sudo write down what they do.
mkdir bin
for c in sh grep mktemp rm tail env cat ls; do
    ln -s "$(command -v $c)" bin/$c
done
# has COMMAND SCRIPT
has() {
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}
has cc :
# shellcheck disable=SC2016 # for that script
has id 'echo $user'
# shellcheck disable=SC2016
has dpkg-query 'case $absent in *" $4 "*) exit 1 ;; esac; echo installed'
# shellcheck disable=SC2016
has apt-get 'echo "apt-get $*" >>did; exit $broken'

# said TEXT FILE: it is there; an empty text: nothing is.
said() {
    if [ -n "$1" ]; then grep -q -e "$1" "$2"; else [ ! -s "$2" ]; fi
}

# deps STATUS DID SAYS: it ends so, has called this, and prints lines with that.
deps() {
    rm -f did && : >did
    PATH=$tmp/bin CC=cc absent=" $absent " user=$user broken=$broken \
        DEPS=$deps sh "$here/tests/check/deps.sh" base >out 2>&1
    got=$?
    if [ $got -eq "$1" ] && said "$2" did && said "$3" out; then pass
    else
        cat did >>out
        fail_with "deps of user $user, absent '$absent', DEPS=$deps: $got" out
    fi
}
broken=0 deps='' user=1000 absent=''
deps 0 '' ''
absent=libzydis-dev
deps 1 '' 'as root: apt-get install -y libzydis-dev'
deps 1 '' 'go on without them, with DEPS=no'
deps=no
deps 0 '' 'missing (not installed, DEPS=no): libzydis-dev'
user=0
deps 0 '' 'missing (not installed, DEPS=no): libzydis-dev'
deps=
deps 0 'apt-get install .* libzydis-dev$' 'installing.*: libzydis-dev'
broken=1
deps 1 'apt-get update' 'could not install: libzydis-dev'
user=1000 broken=0
# shellcheck disable=SC2016
has sudo 'echo "sudo $*" >>did; exec "$@"'
deps 0 'sudo .*apt-get install .* libzydis-dev$' 'installing'
rm bin/dpkg-query
deps 0 '' 'no Debian packages here; needed are: .*libzydis-dev'
absent='' user=1000
rm bin/cc
# shellcheck disable=SC2016
has dpkg-query 'case $absent in *" $4 "*) exit 1 ;; esac; echo installed'
absent=gcc deps=no
deps 0 '' 'missing .*: gcc$' # no compiler is there

# Headers of this machine, without those of libraries.
CC=${CC:-cc}
mkdir include
for h in /usr/include/* /usr/include/"$($CC -print-multiarch 2>/dev/null)"/*; do
    case ${h##*/} in
    Zydis | Zycore | libelf.h | gelf.h | elfutils | zstd*.h | libiberty | \
        ncurses.h | intel-pt.h) ;;
    *) [ -e "include/${h##*/}" ] || ln -s "$h" include/ ;;
    esac
done
own=$($CC -print-file-name=include)
bare="$CC -nostdinc -isystem $own -isystem include"
echo '#include <stdio.h>
#include <stddef.h>' >one.c
if ! $bare -fsyntax-only one.c >/dev/null 2>&1; then
    skip "without libraries: other headers than here are needed"
else
    echo '#include <Zydis/Zydis.h>' >two.c
    ! $bare -fsyntax-only two.c >/dev/null 2>&1 && pass || fail "Zydis is there"
    for source in "$here"/examples/*.c "$here"/examples/tools/*.c \
        "$here"/examples/tools/common/*/*.c; do
        # shellcheck disable=SC2086 # words
        $bare -std=c99 $WARN -I"$here" -fsyntax-only "$source" >out 2>&1 &&
            pass || fail_with "without libraries: ${source#"$here/"}" out
    done
fi

# With -j the inner make takes part in the outer one's jobs. -n shows what it
# would do, and that it is called at all.
for goal in demo test; do
    (
        unset MAKEFLAGS MAKELEVEL
        cd "$here" && make -n -j2 "$goal" BUILD="$tmp/none" CC="${CC:-cc}"
    ) >jobs 2>&1
    ! grep -q jobserver jobs && grep -q "CC  $tmp/none/examples/tools/" jobs && pass ||
        fail_with "make -j2 $goal" jobs
done

# A small tree with our Makefile, in a folder with a blank.
unset MAKEFLAGS MAKELEVEL WERROR T
tree="$tmp/a tree"
mkdir -p "$tree/fuzz" "$tree/tests" "$tree/examples/tools/common/code" \
    "$tree/examples/tools/common/flow"
(cd "$here" && tar cf - Makefile tests/*/*.mk tests/check/run.sh \
    tests/check/libs.in) | (cd "$tree" && tar xf -)
cd "$tree" || exit 2
passes='int puts(const char *);
int main(void) { return puts("1 passed, 0 failed") < 0; }'
echo "#include \"one.h\"
$passes" >tests/one.c
echo "#include \"examples/tools/common/code/code.c\"
$passes" >tests/two.c
echo "/* IPT_IMPLEMENTATION */ $passes" >tests/six.c
# shellcheck disable=SC2016 # for that script
echo '"${BUILD:-build}/examples/three" && "${BUILD:-build}/ptthree"' >tests/three.sh
for program in tests/three examples/three examples/tools/ptthree \
    examples/tools/ptfour fuzz/standalone; do echo "$passes" >$program.c; done
echo 'void LLVMFuzzerTestOneInput(void); void LLVMFuzzerTestOneInput(void) {}' \
    >fuzz/five.c
echo '#include "code.h"' >examples/tools/common/code/code.c
echo 'int in_code(void);' | tee tests/one.h >examples/tools/common/code/code.h
echo 'extern int ipt; int ipt;' >examples/tools/common/flow/ipt.c
find . | sort >"$tmp/files"

# compiles OBJECTS ARGUMENT...: make with these compiles that, and no more.
compiles() {
    want=$1
    shift
    make -j2 CC="$CC" CFLAGS= "$@" >"$tmp/out" 2>&1 || want="to succeed"
    got=$(sed -n 's/^  CC  .*\(tests\|examples\|common\|fuzz\)\//\1\//p' \
        "$tmp/out" | sed 's/\.o$//' | sort | xargs)
    if [ "$got" = "$want" ]; then pass
    else fail_with "make $*: wanted: $want; compiled: $got" "$tmp/out"; fi
}
common="common/code/code common/flow/ipt"
compiles "common/flow/ipt tests/one" run-tests T=one BUILD="$tmp/away"
find . | sort | diff "$tmp/files" - >"$tmp/bad"
expect_empty "written beside BUILD" "$tmp/bad"
compiles tests/six run-tests T=six
compiles "common/flow/ipt tests/one" run-tests T=one
compiles "common/code/code examples/three examples/tools/ptthree tests/three" \
    run-tests T=three
grep -qx '2 passed, 0 failed' "$tmp/out" && pass ||
    fail_with "not all of T=three" "$tmp/out"
compiles "examples/tools/ptfour fuzz/five fuzz/standalone tests/two" all
compiles "" all
grep -q '  LD' "$tmp/out" && fail_with "linked again" "$tmp/out" || pass
touch tests/one.h
compiles tests/one all
touch examples/tools/common/code/code.h
compiles "common/code/code tests/two" all
rm tests/one.h
echo "$passes" >tests/one.c
compiles tests/one all # it is not missed
compiles "$common tests/two" build/tests/two CFLAGS=-DFLAG
compiles "$common tests/two" build/tests/two CFLAGS=-DFLAG CC="$CC -DCC"
compiles "" build/tests/two CFLAGS=-DFLAG CC="$CC -DCC"
echo "/* IPT_IMPLEMENTATION */ static int unused; $passes" >tests/six.c
compiles tests/six run-tests T=six BUILD=warn
grep -q 'warning:.*unused' "$tmp/out" && pass || fail "no warning"
! make CC="$CC" CFLAGS= build/tests/six WERROR=1 >"$tmp/out" 2>&1 &&
    grep -q 'error:.*unused' "$tmp/out" && pass || fail "WERROR=1"

# A library that deps installs is there for what is made in the same call.
cd "$tmp" || exit 2
has sudo 'exec "$@"'
has apt-get "mkdir -p '$tmp/new/Zydis' && : >'$tmp/new/Zydis/Zydis.h'"
(
    cd "$here" && PATH=$tmp/bin:$PATH absent=" libzydis-dev " user=0 broken=0 \
        make -j2 deps "$tmp/late/flags" BUILD="$tmp/late" DEPS= \
        CC="$CC -nostdinc -isystem $tmp/new"
) >out 2>&1
[ "$(tail -n 1 late/flags 2>&1)" = "-Wl,--as-needed -lZydis -lZycore -ldl" ] &&
    pass || fail_with "linked with: $(cat late/flags)" out

# BUILD may be a path from the root, so nothing stands before it.
find "$here/tests" "$here/examples" "$here/fuzz" -name '*.sh' -exec \
    grep -nE '/[$][{]?BUILD' {} + >bad
expect_empty "what puts a folder before BUILD" bad

# GNU make 3.81 has no `private`, and takes the first pattern that fits a file.
cat "$here/Makefile" "$here"/tests/*/*.mk >makefiles
grep -nw private makefiles >bad
awk '/^\$\(BUILD\)\/%:/ {last = 1; next}
    last && /^\$\(BUILD\)\/.*%.*:/ {print}' makefiles >>bad
expect_empty "what make 3.81 takes otherwise" bad
report
