# compat.mk: a library that others are linked with, on top of ipt, and its
# tests. Part of ../../Makefile.

COMPAT = $(BUILD)/compat
LIBIPT_PARTS = $(notdir $(wildcard examples/compat/libipt/*.c))
COMPAT_TEST = tests/compat/api.c tests/compat/memory.c
COMPAT_IMAGE = examples/tools/common/code/image.c \
               examples/tools/common/code/files.c

# The same with sanitizers, in folders of their own; our library's allocations
# are renamed there, see tests/compat/memory.h.
, := ,
RENAMED = -DMEMORY_RENAMED $(foreach name,malloc calloc realloc strdup,\
          -D$(name)=memory_$(name))
COMPAT_SANITIZED = $(SUB) BUILD=$(COMPAT)/$1 SHIM_FLAGS="$(RENAMED)" \
    CFLAGS="-O0 -g -fsanitize=$2 -fno-sanitize-recover=all"

XDC = libxdc.so libxdc.a api2/libxdc.so api2/libxdc.a

# Short traces are decoded with 8 % fewer instructions than at -O2 alone.
SHIM_FLAGS = -O3 $(if $(findstring clang,$(CC)),,-flto=auto)

compat: $(COMPAT)/libipt.so.2  ## Build libipt.so.2 and libxdc.so on top of ipt
compat: $(COMPAT)/gdb_record.so $(XDC:%=$(COMPAT)/%)

$(COMPAT)/libipt/%.o: examples/compat/libipt/%.c $(HEADERS)
	$(COMPILE) $(SHIM_FLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(COMPAT)/libipt.so.2: $(LIBIPT_PARTS:%.c=$(COMPAT)/libipt/%.o) \
                       examples/compat/libipt/libipt.map
	@echo "  LD  $@" && $(CC) $(CFLAGS) $(SHIM_FLAGS) -shared -pthread \
	    -Wl,-soname,$(@F) \
	    -Wl,--version-script=examples/compat/libipt/libipt.map \
	    -o $@ $(filter %.o,$^)

$(COMPAT)/gdb_record.so: examples/compat/gdb/record.c \
                         examples/tools/common/perf/perfdata.c $(HEADERS)
	$(COMPILE) -fPIC -shared -o $@ $(filter %.c,$^) -ldl

# libxdc's interface: callbacks as its header has them, and (api2) with a mode.
$(COMPAT)/libxdc.o $(COMPAT)/api2/libxdc.o: \
    examples/compat/libxdc/libxdc.c $(HEADERS)
	$(COMPILE) $(if $(findstring api2,$@),-DLIBXDC_API_VERSION=2) \
	    -fPIC -c -o $@ $<
%/libxdc.a: %/libxdc.o
	@rm -f $@ && $(AR) rcs $@ $<
%/libxdc.so: %/libxdc.o examples/compat/libxdc/libxdc.map
	@echo "  LD  $@" && $(CC) $(CFLAGS) -shared -Wl,-soname,$(@F) \
	    -Wl,--version-script=examples/compat/libxdc/libxdc.map -o $@ $<

XDC_TEST = tests/compat/xdc.c tests/compat/api.c $(COMPAT_IMAGE)
$(COMPAT)/xdc: $(XDC_TEST) $(COMPAT)/libxdc.a $(HEADERS)
	$(COMPILE) -DWRAPPED -o $@ $(XDC_TEST) $(COMPAT)/libxdc.a -ldl \
	    -Wl,--wrap=posix_memalign -Wl,--wrap=calloc
$(COMPAT)/xdc2: $(XDC_TEST) $(COMPAT)/api2/libxdc.so $(HEADERS)
	$(COMPILE) -DLIBXDC_API_VERSION=2 -o $@ $(XDC_TEST) \
	    $(COMPAT)/api2/libxdc.so -ldl -Wl,-rpath,'$$ORIGIN/api2'

# The library's malloc is the program's: -rdynamic.
$(COMPAT)/compat: tests/compat/compat.c $(COMPAT_TEST) $(COMPAT_IMAGE) \
                  $(HEADERS)
	$(COMPILE) $(findstring -DMEMORY_RENAMED,$(SHIM_FLAGS)) -rdynamic \
	    -o $@ $(filter %.c,$^) -ldl
$(COMPAT)/faults: tests/compat/faults.c $(COMPAT_TEST) $(HEADERS)
	$(COMPILE) $(findstring -DMEMORY_RENAMED,$(SHIM_FLAGS)) -rdynamic \
	    -pthread -o $@ $(filter %.c,$^) -ldl

test-compat: compat  ## Compare it with libipt; TRACES=dir, SUITE=dir, LIBXDC=dir
	+@$(SUB) $(COMPAT)/compat $(COMPAT)/faults $(BUILD)/tests/peer_libipt \
	    $(BUILD)/ptrecord $(COMPAT)/xdc $(COMPAT)/xdc2
	+@$(call COMPAT_SANITIZED,asan,address$(,)undefined) \
	    $(addprefix $(COMPAT)/asan/compat/,libipt.so.2 compat faults)
	+@$(call COMPAT_SANITIZED,tsan,thread) \
	    $(addprefix $(COMPAT)/tsan/compat/,libipt.so.2 faults)
	@LIBIPT=$(COMPAT)/libipt.so.2 VERBOSE=1 $(RUN) \
	    "tests/compat/symbols.sh $(COMPAT)/libipt.so.2" \
	    "tests/compat/gdb.sh $(BUILD)" "tests/compat/xdc.sh $(BUILD)" \
	    "$(COMPAT)/xdc $(TRACES:%=--traces %)" $(COMPAT)/xdc2 \
	    "$(COMPAT)/faults" \
	    "env LIBIPT=$(COMPAT)/asan/compat/libipt.so.2 \
	        $(COMPAT)/asan/compat/faults" \
	    "env LIBIPT=$(COMPAT)/asan/compat/libipt.so.2 \
	        $(COMPAT)/asan/compat/compat --mutants 50" \
	    "env LIBIPT=$(COMPAT)/tsan/compat/libipt.so.2 \
	        $(COMPAT)/tsan/compat/faults threads" \
	    "$(COMPAT)/compat $(TRACES:%=--traces %) $(SUITE:%=--suite %)" \
	    "env LD_LIBRARY_PATH=$(COMPAT) $(PEER) --other yes" \
	    "$(PEER) --fuzz 0 1 --runs 20000" \
	    "env LD_LIBRARY_PATH=$(COMPAT) $(PEER) --fuzz 0 1 --runs 20000 \
	        --other yes" \
	    "tests/bench/bench.sh compat"
