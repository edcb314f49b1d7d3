#!/bin/sh
# afl.sh: libFuzzer sees that inputs of examples/afl/target.c differ by their
# trace.

QUICK=1 exec sh "$(dirname "$0")/../examples/afl/run.sh"
