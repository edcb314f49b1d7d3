#!/bin/sh
# truth.sh: a bounded part of `make test-corpus`: see truth/corpus.sh.
exec sh tests/truth/corpus.sh quick
