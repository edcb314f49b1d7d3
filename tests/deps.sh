#!/bin/sh
# deps.sh: what make deps does where something is missing; and that tools and
# examples are made without the headers that are optional.

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
        intel-pt.h) ;;
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
    ! grep -q jobserver jobs && grep -q "CC  $tmp/none/ptdump" jobs && pass ||
        fail_with "make -j2 $goal" jobs
done

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
