#!/bin/sh
# versions.sh BUILD [OPTION...]: the libipt.so.2 of make compat next to those of
# libipt 2.1 and 2.2, by programs built against their headers. `make deps-full`
# unpacks the packages into build/libipt-2.1 and build/libipt-2.2; see compat.c
# for the options.
build=$1
shift
passed=0 failed=0 skipped=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

# said SIDE: all fields of the recording as text, but how far it has read, the
# time, and where 2.1 ends its blocks.
said() {
    THEIRS=$lib "$build/compat/compat-$version" --mutants 0 --print "$1" \
        --only examples/recording |
        if [ "$version" = 2.1 ]; then grep -vE '^(at|block|cr3)'
        else grep -v '^at'; fi
}

for version in 2.1 2.2; do
    lib=$(ls build/libipt-$version/usr/lib/*/libipt.so.2 2>/dev/null)
    if [ -z "$lib" ]; then
        skipped=$((skipped + 1))
        log=build/libipt-$version/log
        echo "SKIP libipt $version is missing: $(sed -n 's/^E: //p' "$log" \
            2>/dev/null | grep . || echo "make deps-full unpacks it")" | head -n 1
        continue
    fi
    echo "== libipt $version"
    out=$(THEIRS=$lib "$build/compat/compat-$version" "$@")
    echo "$out"
    total=$(echo "$out" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    passed=$((passed + ${total% *}))
    failed=$((failed + ${total#* }))
    said theirs >"$tmp/theirs"
    said ours >"$tmp/ours"
    if [ "$(wc -l <"$tmp/ours")" -gt 20000 ] &&
        diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff"; then
        passed=$((passed + 1))
    else
        echo "FAIL libipt $version prints otherwise"
        head -n 20 "$tmp/diff"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
