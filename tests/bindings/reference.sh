# reference.sh: sourced by the scripts beside it. What C gives of the recording:
# $tmp/wanted, what is printed, and $tmp/wanted.map, the bitmap. Debian's own
# Python, cargo and rustc come before others.

. "$(dirname "$0")/../check/lib.sh"
cd "$root" || exit 2
PATH=/usr/bin:$PATH
build=${BUILD:-build}/bindings
mkdir -p "$build"
build=$(cd "$build" && pwd)
version=$(sh tests/check/installer.sh version)
recording=$root/examples/recording
unset MAKEFLAGS MAKELEVEL

# decodes WHAT COMMAND...: it prints, and writes into a file, what C does.
decodes() {
    what=$1
    shift
    rm -f "$tmp/got.map"
    quietly "$what" "$@" "$recording/trace.pt" "$recording/pages.bin" 401000 \
        "$tmp/got.map" || return
    diff "$tmp/wanted" "$tmp/quietly" >"$tmp/bad"
    expect_empty "decoded by C (<) and by $what (>)" "$tmp/bad"
    cmp "$tmp/wanted.map" "$tmp/got.map" >"$tmp/bad" 2>&1
    expect_empty "bitmap of C and of $what" "$tmp/bad"
}

# instructions COMMAND...: of the host, for 20 times the recording.
instructions() {
    for rounds in 10 30; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" \
            "$recording/trace.pt" "$recording/pages.bin" 401000 $rounds 2>&1 |
            sed -n 's/.*Collected : //p'
    done | { read -r few; read -r many; echo $((many - few)); }
}

quietly "consumer.c" "${CC:-cc}" -std=c99 -O2 -I. -o "$tmp/consumer" \
    tests/bindings/consumer.c || { report; exit; }
"$tmp/consumer" "$recording/trace.pt" "$recording/pages.bin" 401000 \
    "$tmp/wanted.map" >"$tmp/wanted"
grep -q "^$(sed -n 's/^instructions=//p' "$recording/meta") instructions" \
    "$tmp/wanted" && pass || fail_with "consumer.c decodes otherwise" "$tmp/wanted"
