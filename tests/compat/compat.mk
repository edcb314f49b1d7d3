# compat.mk: a library that others are linked with, on top of ipt, and its
# tests. Part of ../../Makefile.

COMPAT = $(BUILD)/compat
LIBIPT_PARTS = $(notdir $(wildcard examples/compat/libipt/*.c))
COMPAT_TEST = tests/compat/api.o tests/compat/memory.o
COMPAT_IMAGE = $(COMMON_DIR)/code/image.o $(COMMON_DIR)/code/files.o

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

# Both for Windows, with an intel-pt.h that stands alone, by mingw's gcc or, as
# WINDOWS_CC="clang -target x86_64-w64-mingw32", by clang with its libraries.
WINDOWS_CC = x86_64-w64-mingw32-gcc
WINDOWS_LIB = -L"$$(dirname "$$(x86_64-w64-mingw32-gcc \
                  -print-libgcc-file-name)")"
WINDOWS = $(COMPAT)/windows
WINDOWS_FLAGS = -std=c99 -O2 $(WARN) -I. -I$(WINDOWS)
compat-windows: $(WINDOWS)/libipt.dll $(WINDOWS)/libxdc.dll  ## The same as DLLs
compat-windows: $(WINDOWS)/api2/libxdc.dll
$(WINDOWS)/intel-pt.h:
	@mkdir -p $(@D)
	@echo '#include <intel-pt.h>' | $(CC) -E - | \
	    sed -n 's/^# [0-9]* "\(.*\/intel-pt.h\)".*/\1/p' | head -n 1 | \
	    xargs -I{} cp {} $@
CORE = ipt.h ipt_impl.h
$(WINDOWS)/libipt/%.o: examples/compat/libipt/%.c $(WINDOWS)/intel-pt.h \
    $(wildcard examples/compat/libipt/*.h) $(CORE)
	@mkdir -p $(@D)
	@echo "  CC  $@"
	@$(WINDOWS_CC) $(WINDOWS_FLAGS) -c -o $@ $<
$(WINDOWS)/libipt.dll: $(LIBIPT_PARTS:%.c=$(WINDOWS)/libipt/%.o)
	@echo "  LD  $@"
	@{ echo EXPORTS; x86_64-w64-mingw32-nm -g $^ | \
	    sed -n 's/.* T \(pt_.*\)/\1/p'; } >$(@:dll=def)
	@$(WINDOWS_CC) -shared -static-libgcc $(WINDOWS_LIB) -o $@ $^ $(@:dll=def)
$(WINDOWS)/libxdc.dll $(WINDOWS)/api2/libxdc.dll: \
    examples/compat/libxdc/libxdc.c examples/compat/libxdc/libxdc.h $(CORE)
	@mkdir -p $(@D)
	@echo "  LD  $@"
	@grep -o '\<libxdc_[a-z_]*(' $(<:.c=.h) | tr -d '(' | sort -u | \
	    { echo EXPORTS; cat; } >$(@:dll=def)
	@$(WINDOWS_CC) $(WINDOWS_FLAGS) -shared -static-libgcc $(WINDOWS_LIB) \
	    $(if $(findstring api2,$@),-DLIBXDC_API_VERSION=2) -o $@ $< $(@:dll=def)

# Objects, in a folder for each set of flags. libxdc's interface: callbacks as
# its header has them, and (api2) with a mode.
$(COMPAT)/libipt/%.o: examples/compat/libipt/%.c $(BUILD)/flags
	$(COMPILE) $(SHIM_FLAGS) -fPIC -fvisibility=hidden
$(COMPAT)/pic/%.o: %.c $(BUILD)/flags
	$(COMPILE) -fPIC
$(COMPAT)/api2/%.o: %.c $(BUILD)/flags
	$(COMPILE) -DLIBXDC_API_VERSION=2 -fPIC
$(COMPAT)/wrapped/%.o: %.c $(BUILD)/flags
	$(COMPILE) -DWRAPPED
$(COMPAT)/plain/%.o: %.c $(BUILD)/flags
	$(COMPILE) $(findstring -DMEMORY_RENAMED,$(SHIM_FLAGS))

$(COMPAT)/libipt.so.2: $(LIBIPT_PARTS:%.c=$(COMPAT)/libipt/%.o) \
                       examples/compat/libipt/libipt.map
	$(LINK) $(SHIM_FLAGS) -shared -pthread -Wl,-soname,$(@F) \
	    -Wl,--version-script=examples/compat/libipt/libipt.map

$(COMPAT)/gdb_record.so: $(addprefix $(COMPAT)/pic/,\
    examples/compat/gdb/record.o $(COMMON_DIR)/perf/perfdata.o \
    $(COMMON_DIR)/code/buildid.o)
	$(LINK) -shared

$(COMPAT)/libxdc.a: $(COMPAT)/pic/examples/compat/libxdc/libxdc.o
$(COMPAT)/libxdc.so: $(COMPAT)/pic/examples/compat/libxdc/libxdc.o
$(COMPAT)/api2/libxdc.a: $(COMPAT)/api2/examples/compat/libxdc/libxdc.o
$(COMPAT)/api2/libxdc.so: $(COMPAT)/api2/examples/compat/libxdc/libxdc.o
%/libxdc.so: examples/compat/libxdc/libxdc.map
	$(LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^)

XDC_TEST = tests/compat/xdc.o tests/compat/api.o $(COMPAT_IMAGE)
$(COMPAT)/xdc: $(XDC_TEST:%=$(COMPAT)/wrapped/%) $(COMPAT)/libxdc.a
	$(LINK) -Wl,--wrap=posix_memalign -Wl,--wrap=calloc
$(COMPAT)/xdc2: $(XDC_TEST:%=$(COMPAT)/api2/%) $(COMPAT)/api2/libxdc.so
	$(LINK) $(COMPAT)/api2/libxdc.so -Wl,-rpath,'$$ORIGIN/api2'

# Against the headers of other versions, which make deps-full unpacks.
VERSIONS = $(patsubst build/libipt-%/usr/include/intel-pt.h,%,\
             $(wildcard build/libipt-*/usr/include/intel-pt.h))
define COMPAT_VERSION
$(COMPAT)/$1/%.o: %.c $(BUILD)/flags
	$$(COMPILE) -isystem build/libipt-$1/usr/include
$(COMPAT)/compat-$1: $(addprefix $(COMPAT)/$1/,tests/compat/compat.o \
                     $(COMPAT_TEST) $(COMPAT_IMAGE))
	$$(LINK) -rdynamic
endef
$(foreach version,$(VERSIONS),$(eval $(call COMPAT_VERSION,$(version))))

# The library's malloc is the program's: -rdynamic.
$(COMPAT)/compat: $(addprefix $(COMPAT)/plain/,tests/compat/compat.o \
                  $(COMPAT_TEST) $(COMPAT_IMAGE))
	$(LINK) -rdynamic
$(COMPAT)/faults: $(addprefix $(COMPAT)/plain/,tests/compat/faults.o \
                  $(COMPAT_TEST))
	$(LINK) -rdynamic -pthread

COMPAT_INSTALLER = BUILD="$(BUILD)" DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" \
                   LIBDIR="$(LIBDIR)" sh examples/packaging/compat.sh
install-compat: compat  ## Both libraries to LIBDIR/ipt-compat, and ipt-run
	@$(COMPAT_INSTALLER) install
uninstall-compat:  ## Remove them again
	@$(COMPAT_INSTALLER) uninstall
deb-compat: compat  ## A Debian package of them, in build/deb
	@$(COMPAT_INSTALLER) deb

# LIBIPT: a built tree of libipt, whose tools run on both libraries.
test-compat: compat  ## Compare it with libipt; TRACES=, SUITE=, LIBXDC=, LIBIPT=
	+@$(SUB) $(COMPAT)/compat $(COMPAT)/faults $(BUILD)/tests/peer_libipt \
	    $(BUILD)/ptrecord $(COMPAT)/xdc $(COMPAT)/xdc2 \
	    $(VERSIONS:%=$(COMPAT)/compat-%)
	+@$(call COMPAT_SANITIZED,asan,address$(,)undefined) \
	    $(addprefix $(COMPAT)/asan/compat/,libipt.so.2 compat faults)
	+@$(call COMPAT_SANITIZED,tsan,thread) \
	    $(addprefix $(COMPAT)/tsan/compat/,libipt.so.2 faults)
	+@! command -v $(WINDOWS_CC) >/dev/null || $(SUB) compat-windows
	@LIBIPT=$(COMPAT)/libipt.so.2 VERBOSE=1 $(RUN) \
	    "tests/compat/symbols.sh $(COMPAT)/libipt.so.2" \
	    "sh tests/compat/windows.sh $(BUILD)" \
	    "tests/compat/gdb.sh $(BUILD)" "tests/compat/xdc.sh $(BUILD)" \
	    "sh tests/compat/products.sh $(BUILD)" \
	    $(if $(LIBIPT),"bash tests/compat/tools.sh $(BUILD) $(LIBIPT) $(SUITE)") \
	    "sh tests/compat/plants.sh $(BUILD)" \
	    "$(COMPAT)/xdc $(TRACES:%=--traces %)" $(COMPAT)/xdc2 \
	    "$(COMPAT)/faults" \
	    "env LIBIPT=$(COMPAT)/asan/compat/libipt.so.2 \
	        $(COMPAT)/asan/compat/faults" \
	    "env LIBIPT=$(COMPAT)/asan/compat/libipt.so.2 \
	        $(COMPAT)/asan/compat/compat --mutants 50" \
	    "env LIBIPT=$(COMPAT)/tsan/compat/libipt.so.2 \
	        $(COMPAT)/tsan/compat/faults threads" \
	    "$(COMPAT)/compat $(TRACES:%=--traces %) $(SUITE:%=--suite %)" \
	    "sh tests/compat/versions.sh $(BUILD) --windows 5 \
	        $(TRACES:%=--traces %) $(SUITE:%=--suite %)" \
	    "env LD_LIBRARY_PATH=$(COMPAT) $(PEER) --other yes" \
	    "$(PEER) --fuzz 0 1 --runs 20000" \
	    "env LD_LIBRARY_PATH=$(COMPAT) $(PEER) --fuzz 0 1 --runs 20000 \
	        --other yes" \
	    "tests/bench/bench.sh compat"
