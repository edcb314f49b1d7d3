# ipt: nothing here is needed to use ipt.h. Copy ipt.h and ipt_impl.h.
# These targets build the tools and examples and prove the promises.

CC ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BUILD = build

DEMO_CMD = ls -l /
DEMO_RECORDING = examples/recording
FUZZ_SECONDS = 60

WARN = -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
       $(if $(filter 1,$(WERROR)),-Werror)
# An object, and in deps/ what it includes. For IPT_LINKED see tests/linked.h.
COMPILE = @mkdir -p $(@D) $(BUILD)/deps && echo "  CC  $@" && \
          $(CC) $(WARN) $(CFLAGS) -I. -DIPT_LINKED -MMD -MP -MT $@ \
          -MF $(BUILD)/deps/$(subst /,-,$@) -c -o $@ $<
LINK = @mkdir -p $(@D) && echo "  LD  $@" && \
       $(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
LIBS = $$(tail -n 1 $(BUILD)/flags)
CHECK_DIR = tests/check
RUN = BUILD=$(BUILD) sh $(CHECK_DIR)/run.sh
SUB = $(MAKE) --no-print-directory \
      $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# Programs are found by their folder: one .c file, one program.
T = *
TESTS = $(filter-out traces suite,\
          $(basename $(notdir $(wildcard tests/$(T).c))))
SCRIPTS = $(wildcard tests/$(T).sh)
TOOLS = $(basename $(notdir $(wildcard examples/tools/*.c)))
COMMON_DIR = examples/tools/common
COMMON = $(wildcard $(COMMON_DIR)/*/*.c)
EXAMPLES = $(basename $(notdir $(wildcard examples/*.c)))
PROGRAMS = $(wildcard tests/programs/*.c)
FUZZERS = $(filter-out standalone seed,$(basename $(notdir \
            $(shell grep -ls LLVMFuzzerTestOneInput fuzz/*.c))))

all: tools examples tests fuzzers  ## Build tools, examples, tests, replayers

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | \
	    awk -F'|' '{printf "  make %-20s %s\n", $$1, $$2}'
	@echo "Variables: CC CFLAGS WERROR=1 PREFIX DESTDIR BUILD DEPS=no"

# ---- what it needs ----

deps:  ## Install what demo and test need (DEPS=no: only name it)
	@CC="$(CC)" DEPS=$(DEPS) sh $(CHECK_DIR)/deps.sh base

deps-full:  ## Install what all checks need
	@CC="$(CC)" DEPS=$(DEPS) sh $(CHECK_DIR)/deps.sh full

# ---- programs ----

tools: $(TOOLS:%=$(BUILD)/%)  ## Build the tools: ptdump, ptxed, ptrecord, ...
examples: $(EXAMPLES:%=$(BUILD)/examples/%)  ## Build the example programs
tests: $(TESTS:%=$(BUILD)/tests/%) $(PROGRAMS:%.c=$(BUILD)/%)
fuzzers: $(FUZZERS:%=$(BUILD)/fuzz/%)  # the harnesses, replaying files
tools examples tests fuzzers:
	@:

# Everything is rebuilt when the flags or the libraries found change.
$(BUILD)/flags: FORCE $(patsubst test,deps,$(patsubst demo,deps,\
                $(filter test demo deps deps-full,$(MAKECMDGOALS))))
	@mkdir -p $(@D)
	@new=$$(echo '$(CC) $(WARN) $(CFLAGS)' && $(CC) $(CFLAGS) -E -P -x c \
	    $(CHECK_DIR)/libs.in | xargs echo) && \
	    echo "$$new" | cmp -s - $@ || echo "$$new" >$@

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(COMPILE)

# Archives: a program links only what it uses of one.
$(BUILD)/ipt.a: $(BUILD)/$(COMMON_DIR)/flow/ipt.o
$(BUILD)/common.a: $(COMMON:%.c=$(BUILD)/%.o)
$(BUILD)/%.a:
	@rm -f $@ && $(AR) rcs $@ $^

$(TOOLS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/examples/tools/%.o \
                       $(BUILD)/common.a
	$(LINK) $(if $(filter ptparallel ptflow ptcapture,$(@F)),-pthread)

# Examples, tests and harnesses. Those that do not implement ipt.h themselves
# are linked with one decoder, and those that name tools/common with that.
$(BUILD)/%: $(BUILD)/%.o
	$(LINK)
$(FUZZERS:%=$(BUILD)/fuzz/%): $(BUILD)/fuzz/standalone.o
linked = $(patsubst %.c,$(BUILD)/%,$(shell grep $1 tests/*.c fuzz/*.c))
$(call linked,-lsE 'common/|switches[.]h'): $(BUILD)/common.a
$(call linked,-LsE 'common/|switches[.]h|IPT_IMPLEMENTATION'): $(BUILD)/ipt.a

.SECONDARY:  # objects stay
# ---- tests ----

test: deps  ## Run the tests; T=pkt runs one, TEST_ONLY=text filters inside it
	+@$(SUB) run-tests

LONGER = TESTS="$(basename $(notdir \
    $(shell grep -lsE 'RUN_(FULL|BOTH)' tests/$(T).c)))" \
    SCRIPTS="$(shell grep -lsE '^ *rest [0-9]' tests/$(T).sh)" REPLAY=
test-full: deps  ## The rest: longer programs, all random cases; T=, TEST_ONLY=
	+@TEST_FULL=1 $(SUB) run-tests $(LONGER)

# With T only what these tests need: tools and examples that their text names.
ifeq ($(T),*)
REPLAY = $(if $(FUZZERS),$(CHECK_DIR)/replay.sh)
NEEDED = tools examples tests $(if $(REPLAY),fuzzers)
else
NEEDED = $(patsubst %,$(BUILD)/%,$(TESTS:%=tests/%) $(filter $(TOOLS) \
         $(EXAMPLES:%=examples/%),$(shell grep -ohwsE \
         'pt[a-z]+|examples/[a-z]+' $(SCRIPTS) $(TESTS:%=tests/%.c))))
endif

run-tests: $(NEEDED)
	@$(RUN) $(SCRIPTS) $(REPLAY) $(TESTS:%=$(BUILD)/tests/%)

test-traces:  ## Test with real hardware traces: TRACES=dir
	+@$(SUB) tools $(BUILD)/tests/traces $(BUILD)/tests/peer_zydis \
	    $(BUILD)/tests/perfdata
	@test -n "$(TRACES)" || { echo "make test-traces TRACES=dir"; exit 2; }
	@TRACES=$(TRACES) VERBOSE=1 $(RUN) $(BUILD)/tests/traces \
	    "$(BUILD)/tests/peer_zydis --vectors $(TRACES)/vectors" \
	    $(BUILD)/tests/perfdata "tests/truth/hardware.sh $(TRACES)"

test-suite:  ## Reproduce the output of libipt's tools: SUITE=dir
	+@$(SUB) tools
	@test -n "$(SUITE)" || { echo "make test-suite SUITE=dir"; exit 2; }
	@BUILD=$(BUILD) bash $(CHECK_DIR)/suite.sh $(SUITE)

PEER = $(BUILD)/tests/peer_libipt $(TRACES:%=--traces %) \
       $(SUITE:%=--suite %) --record $(DEMO_RECORDING)
test-peer:  ## Compare with libipt, with TRACES=dir and SUITE=dir as well
	+@$(SUB) $(BUILD)/tests/peer_libipt
	@$(PEER)

fuzz-peer:  ## The same for FUZZ_SECONDS on changed traces, of SUITE=dir too
	+@$(SUB) $(BUILD)/tests/peer_libipt
	@$(PEER) --fuzz $(FUZZ_SECONDS) $(or $(FUZZ_FIRST),1)

corpus:  ## Record the programs of the corpus (needs qemu-user)
	@BUILD=$(BUILD) sh tests/truth/corpus.sh record

test-corpus: tools  ## Traces of real programs, and the call stacks in them
	@CC="$(CC)" TEST_TIMEOUT=3600 VERBOSE=1 $(RUN) \
	    "tests/truth/corpus.sh all" "tests/truth/calls.sh all"

include tests/compat/compat.mk  # compat, test-compat
include tests/mock/mock.mk  # test-perf, test-capture
include tests/bindings/bindings.mk  # bindings, test-bindings
include tests/bench/bench.mk  # bench, bench-...
include $(CHECK_DIR)/net.mk  # sanitize, fuzz, hashes, coverage, mutate
include $(CHECK_DIR)/checks.mk  # check, check-..., size
include $(CHECK_DIR)/views.mk  # demo, test-views, picture

fuzz-example:  ## Find a bug by coverage from trace; ENGINE=afl for AFL++
	@BUILD=$(BUILD) sh examples/afl/run.sh

# ---- installation ----

INSTALLER = BUILD="$(BUILD)" DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" \
            sh $(CHECK_DIR)/installer.sh
install: tools  ## Headers, tools, man pages, ipt.pc, ... to DESTDIR PREFIX
	@$(INSTALLER) install

uninstall:  ## Remove them again
	@$(INSTALLER) uninstall

deb:  ## Debian packages of headers and tools, in build/deb
	@sh examples/packaging/deb.sh $(BUILD)/deb

clean:  ## Remove build/
	rm -rf $(BUILD)

.PHONY: FORCE $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(MAKEFILE_LIST))
-include $(wildcard $(BUILD)/deps/*)
