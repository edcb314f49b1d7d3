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
    quietly "generate.py" python3 examples/bindings/generate.py "$tmp/made"
    for f in rust/src/raw.rs python/ipt/_abi.py; do
        diff "examples/bindings/$f" "$tmp/made/$f" >"$tmp/bad" 2>&1
        expect_empty "$f (<) and what make bindings makes (>)" "$tmp/bad"
    done
fi
report
