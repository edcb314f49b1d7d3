#!/bin/sh
# windows.sh BUILD: the DLLs of make compat-windows export what the libraries of
# make compat do, and need nothing but Windows' own.
build=$1
set -- .
. "$(dirname "$0")/../check/lib.sh"
if ! have x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64; then
    report
    exit
fi

# same DLL LIBRARY
same() {
    x86_64-w64-mingw32-objdump -p "$build/compat/windows/$1" >"$tmp/dll"
    sed -n 's/^[[:space:]]*\[ *[0-9]*\].* \(\(pt\|libxdc\)_[a-z_]*\)$/\1/p' \
        "$tmp/dll" | sort >"$tmp/exported"
    nm -D --defined-only "$build/compat/$2" | awk '{ print $3 }' | sort \
        >"$tmp/wanted"
    [ -s "$tmp/wanted" ] && quietly "$1: exported" \
        diff "$tmp/wanted" "$tmp/exported"
    sed -n 's/.*DLL Name: //p' "$tmp/dll" | grep -viE '^(kernel32|msvcrt)' \
        >"$tmp/needed"
    expect_empty "$1 needs" "$tmp/needed"
}

same libipt.dll libipt.so.2
same libxdc.dll libxdc.so
same api2/libxdc.dll api2/libxdc.so
report
