# net.mk: targets that measure how much the tests notice. Part of ../../Makefile.

# These scripts build what they run themselves, in flags of their own, ...
OWN = afl bench cov deps macros scale share
# ... and these run programs for minutes, which takes no less time under
# sanitizers, and takes no branch that others do not: SLOW= runs them, too.
SLOW = names perf profile ptparallel ptprof truth views
# ... and these mostly step through them.
STEPS = help missing
# What these run is compiled by themselves, and not counted.
UNCOUNTED = cov scale share
# $(call scripts_but,NAMES): all scripts but these.
scripts_but = SCRIPTS="$(filter-out $(patsubst %,tests/%.sh,$1),$(SCRIPTS))"
SANITIZED = BUILD=$(BUILD)/sanitize CFLAGS="-O1 -g \
    -fsanitize=address,undefined -fno-sanitize-recover=all"
sanitize:  ## Run the tests under AddressSanitizer and UBSan
	+@$(SUB) run-tests $(SANITIZED) \
	    $(call scripts_but,$(OWN) $(SLOW) $(STEPS))


# Those in which the core meets the most states, and those of times and threads in
# tools; none calls a library whose memory is not followed.
INITIALISED = compounds evt hot simulate time trueclock align dates kernel threads
memory:  ## Run some tests under MemorySanitizer, which clang has
	+@$(SUB) run-tests BUILD=$(BUILD)/memory CC=clang CFLAGS="-O1 -g \
	    -fsanitize=memory -fno-sanitize-recover=all" SCRIPTS= REPLAY= \
	    TESTS="$(INITIALISED)" NEEDED="$(INITIALISED:%=$(BUILD)/memory/tests/%)"

FUZZ_EACH = $(FUZZERS:%='$(CHECK_DIR)/fuzz.sh libfuzzer $(FUZZ_SECONDS) %')
FUZZ = BUILD=$(BUILD) sh $(CHECK_DIR)/fuzz.sh
fuzz:  ## Fuzz every harness with libFuzzer, FUZZ_SECONDS=60 each; SEED=text
	@$(FUZZ) libfuzzer $(FUZZ_SECONDS)
	@SEED='$(SEED)' VERBOSE=1 TEST_TIMEOUT=$$((2 * $(FUZZ_SECONDS) + 600)) \
	    $(RUN) $(FUZZ_EACH)
fuzz-report:  ## Fuzz, say how fast, and how often in all runs of this machine
	@$(FUZZ) report $(FUZZ_SECONDS) $(FUZZERS)
fuzz-afl:  ## The same with AFL++
	@$(FUZZ) afl $(FUZZ_SECONDS) $(FUZZERS)

hashes: $(BUILD)/flags  ## Does all decode as in BASE=commit (HEAD)? TRACES=dir adds real traces
	@BUILD=$(BUILD) CC="$(CC)" BASE=$(BASE) LIBS="$(LIBS)" sh $(CHECK_DIR)/hashes.sh $(TRACES)

coverage:  ## Branches of ipt_impl.h that run-tests takes; fails below limits
	@BUILD=$(BUILD) $(call scripts_but,$(SLOW) $(UNCOUNTED)) \
	    sh $(CHECK_DIR)/coverage.sh

check-rows:  ## Rows that name code (mutate, prove, planted faults) find it
check-tests:  ## Tests, hashes, coverage, ... fail on a planted fault

SECTIONS = pkt sync time evt bind walk blk cov hot cache
mutate:  ## Faults that tests notice; SECTIONS=..., COUNT=250 each (0: all)
	@BUILD=$(BUILD) CC="$(CC)" COUNT=$(COUNT) SEED=$(SEED) JOBS=$(JOBS) \
	    ONLY='$(ONLY)' LISTED=$(LISTED) sh $(CHECK_DIR)/mutate.sh $(SECTIONS)

PROOFS = $(shell FULL=$(FULL) sh tests/proof/prove.sh --list)
prove:  ## Let CBMC prove a sixteenth of tests/proof, by the commit; FULL=1: all
	@BUILD=$(BUILD) TEST_TIMEOUT=14400 sh $(CHECK_DIR)/run.sh \
	    $(PROOFS:%='tests/proof/prove.sh %')
