#!/bin/sh
# bench.sh: every row of the bench, once, over a small recording of our own.
exec sh tests/bench/bench.sh smoke
