#!/bin/sh
# rust.sh: the crate with Debian's cargo and rustc, nothing but them, and no
# network: its tests, its package, its examples, and how fast it is.

. "$(dirname "$0")/reference.sh"
if ! have cargo cargo || ! have rustc rustc; then
    report
    exit
fi
export CARGO_HOME="$tmp/cargo" CARGO_TARGET_DIR="$build/rust" CARGO_NET_OFFLINE=true
export RUSTFLAGS="-D warnings"
unset RUSTC RUSTUP_TOOLCHAIN
export CFLAGS=-O0 # of the decoder: it is compiled often here
mkdir "$CARGO_HOME"
crate=$root/examples/bindings/rust

# Each of its tests counts.
(cd "$crate" && cargo test --offline --locked) >"$tmp/out" 2>&1 ||
    fail_with "cargo test" "$tmp/out"
sed -n 's/^test \(.*\) \.\.\. \(ok\|FAILED\)$/\2 \1/p' "$tmp/out" >"$tmp/tests"
while read -r verdict name; do
    [ "$verdict" = ok ] && pass || fail "cargo test: $name"
done <"$tmp/tests"
[ "$(wc -l <"$tmp/tests")" -gt 10 ] && pass || fail_with "few tests" "$tmp/out"

# The package has the headers themselves, and is built from them alone.
rm -rf "$build/rust/package"
(cd "$crate" && cargo package --offline --locked --allow-dirty) >"$tmp/out" \
    2>&1 && pass || fail_with "cargo package" "$tmp/out"
tar -C "$tmp" -xzf "$build/rust/package/ipt-$version.crate" &&
    for f in ipt.h ipt_impl.h zydis_glue/ipt_zydis.h; do
        cmp "$f" "$tmp/ipt-$version/c/${f##*/}"
    done >"$tmp/bad" 2>&1 && pass || fail_with "headers in the crate" "$tmp/bad"
find "$tmp/ipt-$version" -type l >"$tmp/bad"
expect_empty "links in the crate" "$tmp/bad"
quietly "the packed crate" env CARGO_TARGET_DIR="$tmp/packed" \
    cargo test --offline --manifest-path "$tmp/ipt-$version/Cargo.toml" \
    --test recording
ls "$CARGO_HOME" | grep -v '^\.' >"$tmp/bad"
expect_empty "cargo has fetched something" "$tmp/bad"

quietly "examples" env -u CFLAGS cargo build --offline --locked --release --examples \
    --manifest-path "$crate/Cargo.toml"
if pkg-config --exists zydis 2>/dev/null || [ -e /usr/include/Zydis/Zydis.h ]
then
    quietly "with features" cargo build --offline --locked \
        --features zydis,std --examples --manifest-path "$crate/Cargo.toml"
else skip "Zydis is missing (package libzydis-dev)"; fi
decodes "the crate" "$build/rust/release/examples/decode"
quietly observer "$build/rust/release/examples/observer" \
    "$recording/trace.pt" "$recording/pages.bin" 401000 3 && {
    new=$(od -An -v -tu1 -w1 "$tmp/wanted.map" | grep -cv ' 0$')
    printf 'pt: %s counters, %s new\n' "$new" "$new" "$new" 0 "$new" 0 |
        diff - "$tmp/quietly" >"$tmp/bad"
    expect_empty "observer: wanted (<) and printed (>)" "$tmp/bad"
}

# As C that calls the same functions in another object.
if have valgrind valgrind; then
    sed 's/^#define IPT_IMPLEMENTATION//' tests/bindings/consumer.c \
        >"$tmp/calls.c"
    quietly "consumer.c with an object" "${CC:-cc}" -std=c99 -O2 -I. \
        -o "$tmp/calls" "$tmp/calls.c" "$crate/c/ipt.c" && {
        c=$(instructions "$tmp/calls")
        rust=$(instructions "$build/rust/release/examples/decode")
        bytes=$((20 * $(wc -c <"$recording/trace.pt")))
        echo "instructions of the host for a byte of trace: C $((c / bytes))," \
            "Rust $((rust / bytes)), $((100 * c / rust)) % of C's speed"
        [ $((100 * c / rust)) -ge 95 ] && pass ||
            fail "Rust's iterator over instructions: below 95 % of C's speed"
    }
fi
report
