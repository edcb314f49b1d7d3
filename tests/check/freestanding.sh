#!/bin/sh
# freestanding.sh [TREE]: the core, and perfdata.c of the tools, need nothing but
# a C compiler. No libc, no heap, no globals, no relocation in read-only data,
# few imports, clean names. PARTS= takes some of its parts: headers objects
# narrow windows.

. "$(dirname "$0")/lib.sh"
FREE="-std=c99 $WARN -ffreestanding -nostdlib -fPIC -I$root"
OWN="-DIPT_MEMCPY=my_cpy -DIPT_MEMMOVE=my_move -DIPT_MEMSET=my_set
    -DIPT_MEMCMP=my_cmp -include mem.h"
PERFDATA=examples/tools/common/perf/perfdata.c # is to be copied, too
cd "$tmp" || exit 2

printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >impl.c
{ echo '#define IPT_STATIC'; cat impl.c; } >static.c
# Two more files of one program, and the four functions it may import. The
# volatile keeps the compiler from making them out of calls to themselves.
printf '#include "ipt.h"\nint other(void);\nint other(void) { return %s; }\n' \
    'ipt_pkt_init(0, 0, 0)' >other.c
printf 'void *my_%s(void *, const void *, %s n);\n' cpy '__SIZE_TYPE__' \
    move '__SIZE_TYPE__' >mem.h
printf 'void *my_set(void *, int, %s);\nint my_cmp(const void *, %s);\n' \
    __SIZE_TYPE__ 'const void *, __SIZE_TYPE__' >>mem.h
cat >start.c <<'END'
#include "ipt.h"
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int other(void);
void _start(void);
void *memcpy(void *to, const void *from, size_t n)
{
    return memmove(to, from, n);
}
void *memmove(void *to, const void *from, size_t n)
{
    volatile uint8_t *t = (uint8_t *)to;
    const uint8_t *f = (const uint8_t *)from;
    if (t < f) for (size_t i = 0; i < n; i++) t[i] = f[i];
    else while (n--) t[n] = f[n];
    return to;
}
void *memset(void *to, int byte, size_t n)
{
    volatile uint8_t *t = (uint8_t *)to;
    while (n--) t[n] = (uint8_t)byte;
    return to;
}
int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
    for (size_t i = 0; i < n; i++) if (x[i] != y[i]) return x[i] - y[i];
    return 0;
}
void _start(void)
{
    for (;;) other();
}
END

# object LABEL FILE PUBLIC PRIVATE: what an object may hold. Constants without
# relocation, code, and no writable section: names of sections are in column 2,
# sizes in 3 (hex). PUBLIC and PRIVATE are patterns of its names.
object() {
    nm -u "$2" | awk '{print $2}' |
        grep -vxE 'memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_' >bad
    expect_empty "$1 imports" bad
    objdump -h "$2" | awk '$1 ~ /^[0-9]+$/ && $3 !~ /^0+$/ {print $2, $3}' |
        grep -E '^\.(data|bss|tdata|tbss|init_array|ctors)' >bad
    expect_empty "$1 has writable or relocated data" bad
    # Jump tables hold distances (PC-relative), which only the linker sees.
    objdump -r "$2" | awk '/^RELOCATION RECORDS FOR/ {section = $4}
        section ~ /data/ && /^[0-9a-f]+ / && $2 !~ /PC|PREL|REL32/ {
            print section, $0 }' >bad
    expect_empty "$1 has relocations in data" bad
    # A dot: the compiler's own, or a name inside a function.
    nm "$2" | awk -v out="$3" -v inside="$4" '
        NF == 3 && $2 ~ /[A-Z]/ && $3 !~ out {print $3}
        NF == 3 && $2 ~ /[a-z]/ && $3 !~ inside {print $3}' >bad
    expect_empty "$1 has names outside of $3 and $4" bad
}

headers() {
    for cc in gcc clang; do # also what these include
        have $cc $cc || continue
        $cc -std=c99 -ffreestanding -I"$root" -M impl.c | tr ' \\' '\n\n' |
            grep '/' | grep -vxF -e "$root/ipt.h" -e "$root/ipt_impl.h" |
            grep -vE '/(stddef|stdint|stdint-gcc|__stddef_.*)\.h$' >bad
        expect_empty "$cc: includes more than its own headers" bad
    done
    grep -nE '^ *# *include' "$root/ipt.h" "$root/ipt_impl.h" \
        "$root/$PERFDATA" "$root/${PERFDATA%c}h" |
        grep -vE '(<std(def|int)\.h>|"(ipt(_impl)?|perfdata)\.h")' >bad
    expect_empty "includes" bad
}

objects() {
    for cc in gcc clang; do
        have $cc $cc || continue
        for opt in -O0 -Og -O2 -Os; do
            quietly "compile" $cc $FREE $opt -c impl.c || continue
            object "$cc $opt:" impl.o '^ipt_' '^ipti_|[.]'
            quietly "compile" $cc $FREE $opt -c "$root/$PERFDATA" \
                -o perfdata.o &&
                object "perfdata, $cc $opt:" perfdata.o '^perfdata_' .
            quietly "static: unused functions" $cc $FREE $opt -c static.c
            nm static.o | awk 'NF == 3 && $2 ~ /[A-Z]/ {print $3}' >bad
            expect_empty "$cc $opt: IPT_STATIC exports" bad
            quietly "second file" $cc $FREE $opt -c other.c start.c &&
                quietly "link without libc" $cc -nostdlib -static \
                    impl.o other.o start.o -o program
        done
        # Four memory functions of the user's own, not the compiler's names.
        quietly "IPT_MEM*" $cc $FREE -O2 $OWN -c impl.c
        nm -u impl.o | awk '{print $2}' |
            grep -vE '^(my_|_GLOBAL_OFFSET_TABLE_$)' >bad
        expect_empty "$cc imports beside IPT_MEM*" bad
    done
}

# Processors of 32 bits have no division of 64 bits but their compiler's.
narrow() {
    for cc in "gcc -m32" "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb" \
        "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb" \
        "clang --target=i386-linux-gnu" \
        "clang --target=i686-pc-windows-msvc" \
        "clang --target=armv6m-none-eabi"
    do
        package=${cc%% *}
        [ $package != arm-none-eabi-gcc ] || package=gcc-arm-none-eabi
        have "${cc%% *}" $package || continue
        for opt in -O0 -Os; do
            quietly "compile for 32 bits" $cc -std=c99 $WARN \
                -ffreestanding $opt -fno-pic -I"$root" -c impl.c || continue
            nm -u impl.o | awk '{print $2}' | # [8]: in Arm's names, alignment
                grep -vxE '(_|__aeabi_)?(memcpy|memmove|memset|memclr|memcmp)8?' \
                >bad
            expect_empty "$cc $opt imports" bad
            quietly "IPT_MEM* for 32 bits" $cc -std=c99 -ffreestanding $opt \
                -fno-pic $OWN -I"$root" -c impl.c || continue
            nm -u impl.o | awk '{print $2}' | grep -v '^_*my_' >bad
            expect_empty "$cc $opt imports beside IPT_MEM*" bad
        done
    done
}

# What Microsoft's compiler sees: its intrinsic, no warning.
windows() {
    have clang clang && for cpu in x86_64 i686 aarch64; do
        for opt in "-xc -std=c99" "-xc -std=c99 -DIPT_STATIC" "-xc++"; do
            quietly "$cpu Windows" clang --target=$cpu-pc-windows-msvc \
                $opt $WARN -ffreestanding -fsyntax-only -I"$root" impl.c
        done
    done
}

# ... and that it is used right: a stand-in for it, which does as it does.
intrinsics() {
    cat >intrinsics.c <<'END'
#include <stddef.h>
#include <stdint.h>
#undef __GNUC__
#define _MSC_VER 1920
#define _M_X64 100
#define __forceinline inline
#define __declspec(x)
#define IPT_IMPLEMENTATION
#include "ipt.h"
static int used;
unsigned char _BitScanReverse64(unsigned long *index, uint64_t value)
{
    for (*index = 63; !(value >> *index & 1); --*index)
        ;
    return (unsigned char) (used = 1);
}
int main(void)
{
    uint64_t bit = 1;
    for (unsigned i = 0; i < 64; i++, bit <<= 1)
        if (ipti_top(bit | (bit - 1) / 3) != i || ipti_low(bit | bit << 1) != i)
            return 1;
    return used ? 0 : 2;
}
END
    quietly "intrinsics, stand-in" cc -std=c99 -O1 -I"$root" intrinsics.c \
        -o intrinsics && quietly "intrinsics, their results" ./intrinsics
}

for part in ${PARTS:-headers objects narrow windows intrinsics}; do $part; done
report
