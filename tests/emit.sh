#!/bin/sh
# emit.sh: examples/emit.c traces what it runs, and a decoder finds that.

. "$(dirname "$0")/check/lib.sh"

quietly "a toy processor" "${BUILD:-build}/examples/emit"
tail -n 1 "$tmp/quietly" >"$tmp/last"
quietly "its trace" grep -q '^35 instructions, 31 bytes of trace, IPT_END' \
    "$tmp/last"
report
