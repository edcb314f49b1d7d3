#!/bin/sh
# cxx.sh [TREE]: the headers compile without a warning as every C and C++, with
# every macro, on every kind of target; nothing is silenced. PARTS= takes some
# of its parts: texts plus plain attributes targets samples glue.

. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 2

# Nothing may be silenced, and the core calls nothing. The patterns are split
# so that this file does not hold them.
texts() {
    find "$root" -name .git -prune -o -path "$root/build" -prune -o -type f \
        -print >files
    xargs grep -nE '^ *# *pragma|_Prag''ma' <files | # but those that are not of
        grep -vE ':#pragma (intrinsic\(|GCC (push_options|optimize\(|pop_options))' \
            >bad # warnings
    expect_empty "pragmas" bad
    xargs grep -nE -e '-W''no-' <files >bad
    expect_empty "silenced warnings" bad
    names='assert|malloc|calloc|realloc|free|abort|printf'
    grep -nE "(^|[^_a-zA-Z])($names)\(" "$root/ipt.h" \
        "$root/ipt_impl.h" "$root"/zydis_glue/*.h |
        grep -vE ':[0-9]+: *(\*|//)' >bad
    expect_empty "calls that the core must not make" bad
}

INC="-I$root"
WARN="$WARN -Werror" # whatever WERROR is

printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >impl.c
printf '#include "ipt.h"\n#include "ipt.h"\nint x(void);\n%s\n' \
    'int x(void) { return IPT_END; }' >api.c
cp impl.c impl.cc
cp api.c api.cc
printf '#define IPT_IMPLEMENTATION\n#include "zydis_glue/ipt_zydis.h"\n' >glue.c
cp glue.c glue.cc
printf '#include "ipt_impl.h"\n' >alone.c # what an editor sees
# What looks uninitialised to a compiler that follows a client into it.
cat >client.c <<'END'
#define IPT_IMPLEMENTATION
#include "ipt.h"
int client(const ipt_config *config, const ipt_trace *trace, uint64_t *sum);
int client(const ipt_config *config, const ipt_trace *trace, uint64_t *sum)
{
    ipt_insn_decoder decoder;
    ipt_event event;
    ipt_insn insn;
    int status;
    ipt_insn_init(&decoder, config, trace, NULL);
    status = ipt_insn_sync_forward(&decoder);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        while ((status = ipt_insn_event(&decoder, &event)) >= 0 && event.type)
            *sum += event.ip;
        if ((status = ipt_insn_next(&decoder, &insn)) >= 0)
            *sum += insn.ip;
    }
    return status;
}
END
printf '#include "examples/tools/common/perf/perfdata.c"\n' >perfdata.c
cp perfdata.c perfdata.cc

# What the header says to do: DO THIS and what stands at [cov], each a function.
# drawn FROM TO: the code in ipt.h's comment between two lines.
drawn() { sed -n "/$1/,/$2/s/^ \* \{5,\}//p" "$root/ipt.h"; }
{
    cat <<'END'
#include "ipt.h"
#include <string.h>
extern const uint8_t trace_bytes[];
extern size_t trace_size;
extern uint64_t fuel;
int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid, uint64_t ip,
              void *context);
void use(const ipt_insn *insn), more(ipt_trace *trace);
int run_target(ipt_segment *piece), sample(void), coverage(void);
void look_at(const uint8_t *bitmap, uint32_t verdict);
int sample(void)
{
END
    drawn 'DO THIS' 'WHICH LAYER'
    printf 'return status;\n}\nint coverage(void)\n{\n'
    drawn 'DO THIS' 'int status;' | grep -v 'insn\|lines'
    drawn '. .cov.  trace' '^ . ====='
    printf 'return status;\n}\n'
} >sample.c
cp sample.c sample.cc

# try STANDARD-AND-FLAGS COMPILER FILE...: each file without a warning. Those of
# clang are its front end's, which makes no code for them.
try() {
    flags=$1 cc=$2
    shift 2
    case $cc in clang*) flags="$flags -fsyntax-only" ;; esac
    for file; do
        # shellcheck disable=SC2086 # flags are a list
        quietly "warning" $cc $flags $WARN $INC -c "$file" -o /dev/null
    done
}

plus() {
    for cc in g++ clang++; do
        have $cc ${cc%++} || continue
        for std in c++11 c++17 c++20; do
            try "-std=$std -fsyntax-only" $cc api.cc impl.cc
        done
        try "-std=c++11 -O2" $cc impl.cc perfdata.cc
        try "-std=c++17 -O1 -DIPT_STATIC" $cc impl.cc
        try "-std=c++17 -O1 -DIPT_NO_STRINGS" $cc impl.cc
    done
}

# Other code bases define the names of attributes, as Linux does noinline.
ATTRIBUTES=$(for name in noinline always_inline unused cold hot packed aligned \
    noreturn; do printf -- "-D%s=1+ " $name; done)
attributes() {
    for cc in gcc clang; do
        have $cc $cc || continue
        for v in "" -DIPT_STATIC; do
            try "-std=c99 -fsyntax-only $v $ATTRIBUTES" $cc impl.c
        done
    done
}

VARIANTS="-DIPT_STATIC -DIPT_NO_STRINGS -DIPT_NO_CLOCK -fno-strict-aliasing"
plain() {
    for cc in gcc clang; do
        have $cc $cc || continue
        for std in c99 c11 c2x; do
            try "-std=$std -fsyntax-only" $cc api.c impl.c alone.c
        done
        for opt in -O0 -O2 -O3 -Os; do
            try "-std=c99 $opt" $cc impl.c perfdata.c
        done
        for v in $VARIANTS; do try "-std=c99 -O1 $v" $cc impl.c; done
        for v in -funsigned-char -fsigned-char -fshort-enums; do
            try "-std=c99 -fsyntax-only $v" $cc impl.c
        done
        try "-std=c99 -O1 -DIPT_STATIC -DIPT_NO_STRINGS" $cc impl.c
        try "-std=c99 -fsyntax-only -Wsign-conversion -Wcast-qual -Wcast-align
            -Wundef -Wvla -Wstrict-prototypes -Wmissing-prototypes
            -Wimplicit-fallthrough -Wdeclaration-after-statement" $cc impl.c
        for opt in -O1 -Os "-O3 -ffast-math"; do
            try "-std=c99 $opt" $cc client.c
        done
    done
}

# Other machines: 32-bit, big-endian, strict alignment, LLP64. No headers of
# theirs are needed to compile a freestanding file.
targets() {
    if have clang clang; then
        for target in i686-linux-gnu armv7m-none-eabi aarch64-linux-gnu \
            riscv32-unknown-elf s390x-linux-gnu powerpc64-linux-gnu \
            mips-linux-gnu wasm32-unknown-unknown x86_64-unknown-uefi \
            x86_64-pc-windows-msvc; do
            try "-std=c99 -ffreestanding -fsyntax-only --target=$target" clang \
                impl.c perfdata.c
        done
    fi
}

samples() {
    for cc in gcc g++ clang clang++; do
        have $cc ${cc%++} || continue
        case $cc in *++) try "-std=c++11" $cc sample.cc ;;
        *) try "-std=c99" $cc sample.c ;; esac
    done
}

glue() {
    if echo '#include <Zydis/Zydis.h>' | cc -E - >/dev/null 2>&1; then
        for cc in gcc clang; do try "-std=c99 -O1" $cc glue.c; done
        for cc in g++ clang++; do try "-std=c++17 -O1" $cc glue.cc; done
    else
        skip "zydis_glue: no Zydis (package libzydis-dev)"
    fi
}

for part in ${PARTS:-texts plus plain attributes targets samples glue}; do
    $part
done
report
