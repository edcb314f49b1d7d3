# bindings.mk: bindings to other languages, packages, and their tests. Part of
# ../../Makefile.

bindings:  ## What examples/bindings has of ipt.h, anew
	@PATH=/usr/bin:$$PATH CC="$(CC)" python3 examples/bindings/generate.py \
	    examples/bindings

test-bindings:  ## Rust, CMake and meson decode the recording as C does
	@CC="$(CC)" VERBOSE=1 $(RUN) tests/bindings/rust.sh \
	    tests/bindings/packages.sh
