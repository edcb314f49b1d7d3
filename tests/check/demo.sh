#!/bin/sh
# demo.sh BUILD RECORDING COMMAND...: record a command with BUILD/ptrecord and
# decode the trace; where nothing can be recorded, decode RECORDING instead.
# Options of ptrecord are in DEMO_FLAGS.

build=$1 recording=$2
shift 2
# shellcheck disable=SC2086 # a list of options
"$build/ptrecord" $DEMO_FLAGS -o "$build/demo" -- "$@"
status=$?
if [ $status -eq 77 ]; then
    echo "cannot record here; decoding $recording instead"
elif [ $status -ne 0 ]; then exit $status
else recording=$build/demo
fi
exec "$build/ptdemo" "$recording"
