#!/bin/sh
# xdc.sh BUILD: the libraries with libxdc's interface export what their header
# declares, and need nothing but the C library; the same answers as libxdc, if
# LIBXDC names its source tree, at 1.5 times its speed or more; and what stands
# in for it shows that this can fail. TRACES=dir as well.
build=$1
set -- .
. "$(dirname "$0")/../check/lib.sh"
cc=${CC:-cc}
xdc=$build/compat/xdc
here=tests/compat

# ---- symbols ----

grep -o 'libxdc_[a-z_]*(' examples/compat/libxdc/libxdc.h | tr -d '(' |
    sort -u >"$tmp/declared"
[ "$(wc -l <"$tmp/declared")" -eq 13 ] && pass || fail "13 functions"
for lib in libxdc.so api2/libxdc.so; do
    nm -D --defined-only "$build/compat/$lib" | awk '{ print $3 }' | sort \
        >"$tmp/exported"
    quietly "$lib: the functions of the header" \
        diff "$tmp/declared" "$tmp/exported"
    LC_ALL=C readelf -d "$build/compat/$lib" >"$tmp/dynamic"
    grep -q 'SONAME.*\[libxdc\.so\]' "$tmp/dynamic" && pass ||
        fail "$lib: SONAME"
    grep NEEDED "$tmp/dynamic" | grep -iE 'xdc|capstone|ipt' >"$tmp/needed"
    expect_empty "$lib needs another library" "$tmp/needed"
    nm -D --undefined-only "$build/compat/$lib" |
        grep -E 'dlopen|dlsym|dlmopen|cs_|libxdc_' >"$tmp/opens"
    expect_empty "$lib opens libraries" "$tmp/opens"
done
for lib in libxdc.a api2/libxdc.a; do
    nm -g --defined-only "$build/compat/$lib" 2>/dev/null |
        awk '$2 == "T" { print $3 }' | sort >"$tmp/exported"
    quietly "$lib: the functions of the header" \
        diff "$tmp/declared" "$tmp/exported"
done

# A program sees them from C and from C++.
printf '#include <libxdc.h>\nint main(void) { return libxdc_init%s }\n' \
    '(NULL, NULL, NULL, NULL, 0) != NULL; ' >"$tmp/user.c"
cp "$tmp/user.c" "$tmp/user.cc"
flags="-Wall -Wextra -Wpedantic -Werror $CFLAGS -Iexamples/compat/libxdc"
# shellcheck disable=SC2086 # flags
quietly "from C" $cc -std=c99 $flags -o "$tmp/user" "$tmp/user.c" \
    "$build/compat/libxdc.a" && quietly "from C, run" "$tmp/user"
# shellcheck disable=SC2086
quietly "from C++" $cc -std=c++11 $flags -c -o "$tmp/user.o" "$tmp/user.cc"
nm -u "$tmp/user.o" >"$tmp/wants"
quietly "from C++, the name" grep -qw libxdc_init "$tmp/wants"

# ---- another libxdc ----

# peer DIR FILE: as FILE; from what its Makefile left, if it was run.
peer() {
    if [ -e "$1/libxdc.so" ]; then
        cp "$1/libxdc.so" "$2"
        return
    fi
    caps=
    echo '#include <capstone/capstone.h>' | $cc -E - >/dev/null 2>&1 &&
        caps=-lcapstone
    # shellcheck disable=SC2086 # flags
    quietly "build $1" $cc ${LIBXDC_CFLAGS:--O3} -w -shared -fPIC \
        -D_GNU_SOURCE -I. -I"$1" -I"$1/src" -Wl,-Bsymbolic -o "$2" \
        "$1"/src/*.c $caps
}

# next_to FILE: the rows next to it, into $tmp/rows.
next_to() {
    TEST_ONLY=next_to_peer "$xdc" --peer "$1" ${TRACES:+--traces "$TRACES"} \
        >"$tmp/rows" 2>&1
}

if [ -n "$LIBXDC" ]; then
    peer "$LIBXDC" "$tmp/libxdc.so"
    if next_to "$tmp/libxdc.so"; then pass; else fail "next to $LIBXDC"; fi
    cat "$tmp/rows"
else
    echo "libxdc: no peer (LIBXDC=dir, its source tree, and package" \
        "libcapstone-dev)"
fi

# stands_in HOW TEXT: what is said next to what stands in for it.
stands_in() {
    STANDIN=$1 next_to "$tmp/standin.so"
    if grep -q "$2" "$tmp/rows"; then pass; else
        fail "STANDIN=$1: not '$2'"
        cat "$tmp/rows"
    fi
}

TRACES=
LIBXDC_CFLAGS=-O1
peer $here/standin "$tmp/standin.so"
stands_in slow '^1 passed, 0 failed$'
stands_in slow ', at least 1.50$'
stands_in fast 'FALLS SHORT'
stands_in fast '^0 passed, 1 failed$'
stands_in counter '^0 passed, 1 failed$'
stands_in result '^0 passed, 1 failed$'
STANDIN=abort next_to "$tmp/standin.so" && fail "STANDIN=abort" || pass
report
