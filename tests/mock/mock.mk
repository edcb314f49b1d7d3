# mock.mk: targets with perf as referee, and the mock of PT for its record. Part
# of ../../Makefile.

test-perf:  ## perf finds what executed in our perf.data; PERF=quick TRACES=dir
	+@$(SUB) tools
	@CC="$(CC)" VERBOSE=1 $(RUN) "tests/perf.sh $(or $(PERF),all)" \
	    tests/mock/modes.sh "tests/mock/memory.sh $(or $(PERF),all)" \
	    "tests/truth/attribution.sh $(or $(PERF),all)" tests/truth/stacks.sh \
	    $(TRACES:%="tests/truth/hardware.sh %")

test-profile: tools  ## Whose time it is, in programs of a million instructions
	@CC="$(CC)" TEST_TIMEOUT=7200 VERBOSE=1 $(RUN) "tests/profile.sh long"

test-capture:  ## ptcapture next to perf record, on a mock of PT
	+@$(SUB) tools
	+@$(SUB) $(BUILD)/ipt.a
	+@$(SUB) $(SANITIZED) $(BUILD)/sanitize/ptcapture
	@CC="$(CC)" VERBOSE=1 CAPTURE=$(BUILD)/sanitize/ptcapture $(RUN) \
	    tests/mock/capture.sh tests/mock/selftest.sh \
	    tests/mock/trigger.sh
