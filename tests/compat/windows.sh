#!/bin/sh
# windows.sh BUILD: the DLLs of make compat-windows export what the libraries of
# make compat do, need nothing but Windows' own, and say under Wine what those
# say here.
build=$1
set -- .
. "$(dirname "$0")/../check/lib.sh"
PATH=$PATH:/usr/lib/wine
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
if ! have wine64 wine64; then
    report
    exit
fi

# Wine's own: its files in a folder that goes, no menus, nothing to install.
export WINEPREFIX="$tmp/wine" WINEDEBUG=-all
export WINEDLLOVERRIDES="winemenubuilder.exe,mscoree,mshtml="
trap 'wineserver -k; rm -rf "$tmp"' EXIT

# runs API FOLDER: one program, here and under Wine, with the libxdc in FOLDER.
runs() {
    source=tests/compat/windows.c
    flags="-std=c99 $WARN -O1 -I. -DLIBXDC_API_VERSION=$1"
    mkdir -p "$tmp/$1/scratch"
    # shellcheck disable=SC2086 # flags
    quietly "here, $1" ${CC:-cc} $flags -o "$tmp/$1/here" $source \
        "$build/compat/libipt.so.2" "$build/compat/$2/libxdc.so" -pthread
    cp "$build/compat/windows/libipt.dll" \
        "$build/compat/windows/$2/libxdc.dll" "$tmp/$1"
    # shellcheck disable=SC2086
    quietly "for Windows, $1" x86_64-w64-mingw32-gcc $flags \
        -I"$build/compat/windows" -o "$tmp/$1/there.exe" $source \
        "$tmp/$1/libipt.dll" "$tmp/$1/libxdc.dll"
    LD_LIBRARY_PATH=$build/compat/$2:$build/compat "$tmp/$1/here" \
        examples/recording "$tmp/$1/scratch" "$tmp/plain/trace.pt" \
        >"$tmp/here" || fail "here, $1: status $?"
    timeout 300 wine64 "$tmp/$1/there.exe" examples/recording \
        "$tmp/$1/scratch" "$tmp/plain/trace.pt" 2>"$tmp/errors" |
        tr -d '\r' >"$tmp/there"
    quietly "under Wine, $1" diff "$tmp/here" "$tmp/there"
    [ "$(wc -l <"$tmp/here")" -gt 10000 ] &&
        grep -q '^xdc [0-9a-f]* decode 0 .* decode 0 ' "$tmp/here" && pass ||
        fail_with "next to nothing is said, $1" "$tmp/here"
}

quietly "record" "$build/ptrecord" --quiet --no-retcomp -o "$tmp/plain" \
    examples/recording/program
runs 1 .
runs 2 api2
report
