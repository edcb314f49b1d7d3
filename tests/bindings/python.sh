#!/bin/sh
# python.sh: the wheel is built, installed into an environment of its own, and
# tested from there; with a perf.data, and how fast it is.

. "$(dirname "$0")/reference.sh"
if ! have python3 python3 || ! python3 -c 'import build, wheel' 2>/dev/null; then
    skip "python3-build, python3-wheel or python3-venv is missing"
    report
    exit
fi
unset PYTHONPATH PYTHONHOME CFLAGS
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
source=$root/examples/bindings/python

# Built in a copy: setuptools writes beside what it builds.
mkdir -p "$tmp/here/examples/bindings" "$tmp/here/examples/tools/common/perf"
cp ipt.h ipt_impl.h LICENSE "$tmp/here"
cp examples/tools/common/perf/perfdata.[ch] \
    "$tmp/here/examples/tools/common/perf"
cp -r "$source" "$tmp/here/examples/bindings"
quietly "python3 -m build" python3 -m build --no-isolation \
    --outdir "$tmp/dist" "$tmp/here/examples/bindings/python" ||
    { report; exit; }
wheel=$tmp/dist/ipt-$version-py3-none-linux_$(uname -m).whl
[ -f "$wheel" ] && pass || fail "no platform wheel: $(ls "$tmp/dist")"
tar -C "$tmp" -xzf "$tmp/dist/ipt-$version.tar.gz" &&
    cmp ipt.h "$tmp/ipt-$version/c/ipt.h" && pass || fail "source: no ipt.h"
find "$tmp/ipt-$version" -type l >"$tmp/bad"
expect_empty "links in the source package" "$tmp/bad"

quietly "venv" python3 -m venv "$tmp/venv" &&
    quietly "pip" "$tmp/venv/bin/pip" install --no-index --no-deps "$wheel"
python=$tmp/venv/bin/python
quietly "ptrecord" "${BUILD:-build}/ptrecord" --quiet --perf-data \
    "$tmp/program.data" examples/recording/program
export IPT_PERFDATA="$tmp/program.data" IPT_BITMAP="$tmp/got.map"
# -W error: a file that is left open is an error, say.
(cd "$tmp" && "$python" -W error -m unittest discover -v -s "$source/tests") \
    >"$tmp/out" 2>&1 || fail_with "unittest" "$tmp/out"
grep -E ' \.\.\. (ok|FAIL|ERROR|skipped.*)$' "$tmp/out" >"$tmp/tests"
while read -r line; do
    case $line in *ok) pass ;; *) fail "unittest: $line" ;; esac
done <"$tmp/tests"
[ "$(wc -l <"$tmp/tests")" -gt 15 ] && pass || fail_with "few tests" "$tmp/out"
cmp "$tmp/wanted.map" "$tmp/got.map" >"$tmp/bad" 2>&1
expect_empty "bitmap of C and of Python" "$tmp/bad"
decodes "Python" "$python" "$source/tests/decode.py"

# Packets by Python: those of the recording ten times more, counted.
if have valgrind valgrind; then
    cat >"$tmp/packets.py" <<'END_OF_SCRIPT'
import sys
import ipt
with open(sys.argv[1], "rb") as file:
    trace = file.read()
for _ in range(int(sys.argv[4])):
    count = sum(1 for packet in ipt.Packets(ipt.Trace(trace)))
END_OF_SCRIPT
    cost=$(PYTHONHASHSEED=0 instructions "$python" "$tmp/packets.py")
    bytes=$((20 * $(wc -c <"$recording/trace.pt")))
    echo "instructions of the host for a byte of trace, packets by Python:" \
        "$((cost / bytes))"
    limit=$(sed -n 's/.*at most \([0-9,]*\) instructions of the host.*/\1/p' \
        "$source/README.md" | tr -d ,)
    [ $((cost / bytes)) -le "${limit:-0}" ] && pass ||
        fail "packets by Python: more than README.md says"
fi
report
