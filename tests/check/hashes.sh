#!/bin/sh
# hashes.sh [DIR...]: does this tree decode as BASE does, a commit or a
# directory that has another ipt.h and ipt_impl.h? Without BASE: as HEAD does, from
# which these files then have to differ. Each case is decoded by both, layer by
# layer, and what comes out is compared as hashes (see hashes.c); of events, of
# their words, so that BASE has to have ipt_event_words: the recording,
# the corpus of the fuzzers, SEEDS=5000 executions that are generated, and each
# DIR/*/trace.pt. The base is compiled at -O1, so that the optimizer is compared,
# too.
#
# One test per case and layer; build/hashes/new has a line for each.

build=${BUILD:-build}
dir=$build/hashes
CC=${CC:-cc}
passed=0 failed=0

if [ -z "$BASE" ]; then
    BASE=HEAD
    [ -e .git ] && git diff --quiet $BASE -- ipt.h ipt_impl.h && {
        echo "hashes: ipt.h and ipt_impl.h are those of HEAD: give BASE=commit"
        exit 2
    }
fi
rm -rf "$dir"
mkdir -p "$dir/base" || exit 2
for f in ipt.h ipt_impl.h; do
    if [ -d "$BASE" ]; then
        cp "$BASE/$f" "$dir/base/$f" || exit 2
    else
        git show "$BASE:$f" >"$dir/base/$f" || exit 2
    fi
done

# compile NAME FLAGS...: today's harness on the ipt.h that FLAGS find first.
# shellcheck disable=SC2086 # LIBS is a list
compile() {
    name=$1
    shift
    $CC -std=c99 -w "$@" -I. -o "$dir/$name.bin" tests/check/hashes.c \
        examples/tools/common/code/image.c examples/tools/common/code/files.c \
        ${LIBS--lelf}
}
compile new -O2 -g && compile base -O1 -g -I"$dir/base" || {
    echo "hashes: the harness does not compile; does ipt.h of $BASE have all" \
        "that fuzz/fuzz.h uses?"
    exit 2
}

{ for d in examples/recording fuzz/corpus/*/* fuzz/regress/*/*; do
      case $d in */perfdata/* | */pevent/* | */simulate/*) ;; *) echo "$d" ;; esac
  done
  seq -f seed:%g 1 "${SEEDS:-5000}"
} >"$dir/cases"
for d; do
    n=$(find "$d"/*/ -maxdepth 1 -name trace.pt | sed 's|/trace.pt$||' | sort |
        tee -a "$dir/cases" | wc -l)
    [ "$n" -gt 0 ] || { echo "FAIL no */trace.pt in $d"; failed=1; }
done

xargs -n 8 "$dir/base.bin" <"$dir/cases" >"$dir/base.txt" &
xargs -n 8 "$dir/new.bin" <"$dir/cases" >"$dir/new.txt" || failed=1
wait $! || failed=1

# One hash for each kind of case and layer.
awk '{kind = "traces"}
    /^fuzz/ {kind = "corpus"}
    /^examples/ {kind = "recording"}
    /^seed:/ {kind = "generated"}
    {print kind, $0}' \
    "$dir/new.txt" | sort -s -k1,1 -k3,3 >"$dir/kinds"
cut -d' ' -f1,3 "$dir/kinds" | uniq | while read -r kind layer; do
    printf '%-10s %-5s %6d cases  %.16s\n' "$kind" "$layer" \
        "$(grep -c "^$kind [^ ]* $layer " "$dir/kinds")" \
        "$(grep "^$kind [^ ]* $layer " "$dir/kinds" | sha256sum)"
done

# Lines that differ, and lines that only one of the two has.
awk -v base="$BASE" '
    {key = $1 " " $2}
    FNR == 1 {second = NR > 1}
    !second {was[key] = $0; next}
    was[key] == $0 && $0 !~ /check failed/ {passed++; delete was[key]; next}
    {failed++; split(was[key], old, " "); delete was[key]
     if ($0 ~ /check failed/) what = "a check of fuzz.h fails"
     else what = old[3] == $3 ? "places differ" : "items differ"
     if (failed <= 40) print "FAIL " key ": " what " from those of " base}
    END {for (key in was) {failed++; print "FAIL " key ": not decoded"}
         print passed + 0, failed + 0 >"/dev/stderr"}' \
    "$dir/base.txt" "$dir/new.txt" 2>"$dir/count"
read -r passed more <"$dir/count"
failed=$((failed + more))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
