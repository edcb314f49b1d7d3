#!/bin/sh
# bindings.sh [TREE]: what is generated from ipt.h for Rust and Python is that of
# this ipt.h, and all packages have its version.

. "$(dirname "$0")/lib.sh"
cd "$root" || exit 2
PATH=/usr/bin:$PATH

version=$(sh tests/check/installer.sh version)
packaging=examples/packaging
grep -nE '[0-9]+\.[0-9]+\.[0-9]+' examples/bindings/rust/Cargo.lock \
    $packaging/meson/ipt.wrap $packaging/vcpkg/vcpkg.json >"$tmp/versions"
grep -nE "^version|version: '" examples/bindings/*/*.toml \
    $packaging/meson/packagefiles/ipt/meson.build >>"$tmp/versions"
grep -m 1 -n '^## ' $packaging/CHANGELOG.md /dev/null >>"$tmp/versions"
[ "$(cut -d: -f1 "$tmp/versions" | sort -u | wc -l)" -eq 7 ] && pass ||
    fail_with "versions of packages: some were not found" "$tmp/versions"
grep -vF "$version" "$tmp/versions" >"$tmp/bad"
expect_empty "versions other than $version of ipt.h" "$tmp/bad"

if have bindgen bindgen && have python3 python3; then
    # What they take from the header by themselves: each constant, the statuses
    # with a type, and for cffi all that is not a macro.
    clang=$(find /usr/lib/llvm-*/lib -name 'libclang-[0-9]*.so*' | sort -V | head -n 1)
    LIBCLANG_PATH=${clang%/*} bindgen ipt.h >"$tmp/raw" 2>"$tmp/bad" || fail_with \
        "bindgen ipt.h" "$tmp/bad"
    sed -n 's/^#define \(IPT_[A-Z0-9_]*[A-Z0-9]\) ..*/\1/p' ipt.h |
        grep -vx 'IPT_API\|IPT_MEM.*' | while read -r name; do
        grep -q "pub const $name:" "$tmp/raw" || echo "$name"
    done >"$tmp/bad"
    expect_empty "constants that bindgen does not take" "$tmp/bad"
    grep -q 'pub const ipt_status_IPT_END: ipt_status = -1' "$tmp/raw" && pass ||
        fail "bindgen: statuses have no type"
    mkdir "$tmp/none" && : >"$tmp/none/stdint.h" && : >"$tmp/none/stddef.h"
    cc -E -P -nostdinc -I"$tmp/none" ipt.h >"$tmp/plain.h"
    if ! python3 -c 'import cffi' 2>/dev/null; then
        skip "cffi is missing (package python3-cffi)"
    else
        quietly "cffi" python3 -c 'if 1:
            import cffi, sys
            ffi = cffi.FFI()
            ffi.cdef(open(sys.argv[1]).read())
            assert ffi.typeof("enum ipt_status").relements["IPT_END"] == -1
            assert ffi.sizeof("ipt_insn_decoder") > 1000' "$tmp/plain.h"
    fi
    quietly "generate.py" python3 examples/bindings/generate.py "$tmp/made"
    for f in rust/src/raw.rs python/ipt/_abi.py; do
        diff "examples/bindings/$f" "$tmp/made/$f" >"$tmp/bad" 2>&1
        expect_empty "$f (<) and what make bindings makes (>)" "$tmp/bad"
    done
fi
report
