#!/bin/sh
# afl.sh: libFuzzer tells inputs of examples/afl/target.c apart by their trace.

QUICK=1 exec sh "$(dirname "$0")/../examples/afl/run.sh"
