# bindings.mk: bindings to other languages, packages, and their tests. Part of
# ../../Makefile.

bindings:  ## What examples/bindings has of ipt.h, again
	@PATH=/usr/bin:$$PATH CC="$(CC)" python3 examples/bindings/generate.py \
	    examples/bindings

test-bindings:  ## Rust, Python, CMake and meson decode the recording as C does
	+@$(SUB) $(BUILD)/ptrecord
	@CC="$(CC)" VERBOSE=1 $(RUN) tests/bindings/rust.sh \
	    tests/bindings/python.sh tests/bindings/packages.sh
