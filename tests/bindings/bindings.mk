# bindings.mk: bindings to other languages, packages, and their tests. Part of
# ../../Makefile.

test-bindings:  ## Packages: CMake and meson decode the recording as C does
	@CC="$(CC)" VERBOSE=1 $(RUN) tests/bindings/packages.sh
