# shellcheck shell=sh
# build.sh: how the programs of the bench are built. Sourced by the scripts
# here; sets build, out, CC and here.

build=${BUILD:-build}
out=$build/bench
CC=${CC:-cc}
here=tests/bench
warn="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow"
mkdir -p "$out" || exit 2
next=$build/libipt-2.1/usr/lib/$(uname -m)-linux-gnu/libipt.so.2
[ ! -e "$next" ] || export LIBIPT_NEXT="$next"

# compile PROGRAM FLAGS AND SOURCES...: with the files that all need. Valgrind
# 3.19 cannot read the DWARF 5 of clang.
compile() {
    compiled=$1
    shift
    libs=
    echo '#include <intel-pt.h>' | $CC -E - >/dev/null 2>&1 &&
        libs="-I. tests/compat/api.c -lipt -ldl"
    rm -f "$compiled.of"
    # shellcheck disable=SC2086 # flags
    $CC $warn ${CFLAGS:--O2 -g} -gdwarf-4 -o "$compiled" "$@" \
        examples/tools/common/code/image.c examples/tools/common/code/files.c \
        $libs ||
        exit 2
    echo "$CC $CFLAGS $LIBXDC" >"$compiled.of"
}

# stale PROGRAM: it has to be compiled (again).
stale() {
    [ "$(cat "$1.of" 2>/dev/null)" != "$CC $CFLAGS $LIBXDC" ] ||
        [ ! -e "$1" ] || [ -n "$(find ipt.h ipt_impl.h $here \
        examples/tools/common -name '*.[ch]' -newer "$1")" ]
}

# What libxdc needs to be compiled in: as its own Makefile leaves it, if it was
# run, or else its sources.
libxdc() {
    xdc=
    [ -n "$LIBXDC" ] || return 0
    [ -e "$LIBXDC/libxdc.h" ] || { echo "no libxdc.h in $LIBXDC"; exit 2; }
    if [ -e "$LIBXDC/libxdc.a" ]; then lib=$LIBXDC/libxdc.a
    elif [ -e "$LIBXDC/libxdc.so" ]; then lib=$LIBXDC/libxdc.so
    else
        rm -rf "$out/libxdc" && mkdir -p "$out/libxdc" || exit 2
        for c in "$LIBXDC"/src/*.c; do
            # shellcheck disable=SC2086 # flags
            $CC ${LIBXDC_CFLAGS:--O3} -w -I. -I"$LIBXDC" -I"$LIBXDC/src" -c "$c" \
                -o "$out/libxdc/$(basename "$c" .c).o" || exit 2
        done
        lib="$out/libxdc/*.o"
    fi
    xdc="-DLIBXDC -I$LIBXDC $lib -Wl,-rpath,$LIBXDC"
    echo '#include <capstone/capstone.h>' | $CC -E - >/dev/null 2>&1 &&
        xdc="$xdc -lcapstone"
}

# fetch_base: put ipt.h and ipt_impl.h of BASE, a checkout or a commit, into
# $out/base.
fetch_base() {
    mkdir -p "$out/base"
    for f in ipt.h ipt_impl.h; do
        if [ -d "$BASE" ]; then cp "$BASE/$f" "$out/base/$f"
        else git show "$BASE:$f" >"$out/base/$f"
        fi || exit 2
    done
}

# What git hash-object says of ipt_impl.h in the commit from before large
# programs were worked on.
before=1e828856796f547c1602fdba2c15f997921d07dc

# The other tree's decoder beside ours: of its names only scale_base is left.
build_base() {
    fetch_base
    base=
    old=
    grep -q space_at "$out/base/ipt.h" || old=-DNO_SPACE_AT
    [ "$(git hash-object "$out/base/ipt_impl.h")" != $before ] || base=-DGAIN
    for c in scale/side decoder; do
        # shellcheck disable=SC2086 # flags
        $CC $warn ${CFLAGS:--O2 -g} -gdwarf-4 -DSIDE=scale_base $old \
            -I"$out/base" -I. -c -o "$out/base/$(basename $c).o" \
            $here/$c.c || exit 2
    done
    ld -r -o "$out/base/all.o" "$out/base/side.o" "$out/base/decoder.o" &&
        objcopy --keep-global-symbol=scale_base "$out/base/all.o" || exit 2
    base="$base -DBASE $out/base/all.o"
}

# build_scale PROGRAM: with the decoder of BASE, if there is one.
build_scale() {
    base=
    [ -z "$BASE" ] || build_base
    if [ -n "$base" ] || stale "$1"; then
        libxdc
        # shellcheck disable=SC2086 # flags
        compile "$1" -I. $here/scale/*.c $here/decoder.c $here/libipt.c \
            $here/libxdc.c $base $xdc
    fi
    [ -z "$base" ] || rm -f "$1.of" # the next one may be without it
}
