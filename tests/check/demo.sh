#!/bin/sh
# demo.sh BUILD RECORDING COMMAND...: record a command with BUILD/ptrecord and
# decode the trace; where nothing can be recorded, decode RECORDING instead. Then
# make pictures of where its time went.
# Options of ptrecord are in DEMO_FLAGS.

build=$1 recording=$2
shift 2
rm -rf "$build/demo"
# shellcheck disable=SC2086 # a list of options
"$build/ptrecord" $DEMO_FLAGS -o "$build/demo" -- "$@" 2>"$build/demo.said"
status=$?
cat "$build/demo.said" >&2
if grep -q '^ptrecord: ptrace is not permitted here: ' "$build/demo.said"; then
    echo "cannot record here; decoding $recording instead"
elif [ $status -ne 0 ]; then exit $status
else recording=$build/demo
fi
"$build/ptdemo" "$recording" || exit
[ $status -eq 0 ] || exit 0

# ---- pictures ----

"$build/ptrecord" --time cyc --perf-data "$build/demo.data" -- "$@" \
    >"$build/demo.log" &&
    "$build/ptprof" --quiet --speedscope "$build/demo.speedscope.json" \
        --folded "$build/demo.data" >"$build/demo.folded" || exit
page=
if [ -f "$build/viewer.html" ]; then
    page="$build/demo.html"
    "$build/ptprof" --quiet --html "$page" "$build/demo.data" || exit
fi
printf '\nThe same, recorded as a perf.data with times:\n'
printf '    %-30s %s\n' \
    "$build/demo.speedscope.json" "how functions called each other: open it in" \
    "" "speedscope (speedscope.app, or from npm)" \
    ${page:+"$page" "all functions and that picture, in a browser"} \
    "$build/demo.folded" "stacks, for flame graphs" \
    "$build/ptprof $build/demo.data" "prints a call tree"
