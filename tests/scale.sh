#!/bin/sh
# scale.sh: every row of the bench of large programs, once, over tiny ones.
exec sh tests/bench/scale.sh smoke
