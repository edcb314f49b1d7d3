# compat.mk: a library that others are linked with, on top of ipt, and its
# tests. Part of ../../Makefile.

COMPAT = $(BUILD)/compat
LIBIPT_PARTS = $(notdir $(wildcard examples/compat/libipt/*.c))
COMPAT_TEST = tests/compat/api.c examples/tools/common/image.c \
              examples/tools/common/files.c

compat: $(COMPAT)/libipt.so.2  ## Build libipt.so.2 on top of ipt, and a preload
compat: $(COMPAT)/gdb_record.so

$(COMPAT)/libipt/%.o: examples/compat/libipt/%.c $(HEADERS)
	$(COMPILE) -fPIC -fvisibility=hidden -c -o $@ $<

$(COMPAT)/libipt.so.2: $(LIBIPT_PARTS:%.c=$(COMPAT)/libipt/%.o) \
                       examples/compat/libipt/libipt.map
	@echo "  LD  $@" && $(CC) $(CFLAGS) -shared -pthread -Wl,-soname,$(@F) \
	    -Wl,--version-script=examples/compat/libipt/libipt.map \
	    -o $@ $(filter %.o,$^)

$(COMPAT)/gdb_record.so: examples/compat/gdb/record.c \
                         examples/tools/common/perfdata.c $(HEADERS)
	$(COMPILE) -fPIC -shared -o $@ $(filter %.c,$^) -ldl

$(COMPAT)/compat: tests/compat/compat.c $(COMPAT_TEST) $(HEADERS)
	$(COMPILE) -o $@ $< $(COMPAT_TEST) -ldl

test-compat: compat  ## Compare it with libipt; TRACES=dir and SUITE=dir too
	@$(SUB) $(COMPAT)/compat $(BUILD)/tests/peer_libipt $(BUILD)/ptrecord
	@LIBIPT=$(COMPAT)/libipt.so.2 VERBOSE=1 $(RUN) \
	    "tests/compat/symbols.sh $(COMPAT)/libipt.so.2" \
	    "tests/compat/gdb.sh $(BUILD)" \
	    "$(COMPAT)/compat $(TRACES:%=--traces %) $(SUITE:%=--suite %)" \
	    "env LD_LIBRARY_PATH=$(COMPAT) $(PEER) --other yes"
