# mock.mk: targets with perf as referee, and the mock of PT for its record. Part
# of ../../Makefile.

test-perf:  ## perf finds what executed in the perf.data we write; PERF=quick
	@$(SUB) tools
	@CC="$(CC)" VERBOSE=1 $(RUN) "tests/perf.sh $(or $(PERF),all)" \
	    tests/mock/modes.sh "tests/mock/memory.sh $(or $(PERF),all)" \
	    "tests/truth/attribution.sh $(or $(PERF),all)" tests/truth/stacks.sh

test-capture:  ## ptcapture next to perf record, on a mock of PT
	@$(SUB) tools
	@CC="$(CC)" VERBOSE=1 $(RUN) tests/mock/capture.sh
