/* load DRIVER: load a Windows driver into this process, as far as ours needs it
 * (sections, relocations, DbgPrint), and call its entry. Linux on x86-64.
 *
 * SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LOADED 0x100000u /* at most this large, in memory and in the file */
#define WINDOWS __attribute__((ms_abi))

static uint8_t file[LOADED];
static uint8_t *memory;

static uint32_t get(const uint8_t *from, size_t size)
{
    uint32_t value = 0;

    memcpy(&value, from, size);
    return value;
}

static WINDOWS uint32_t debug_print(const char *format, const char *text)
{
    printf(format, text);
    return 0;
}

static int fail(const char *why, const char *name)
{
    fprintf(stderr, "load: %s%s\n", why, name);
    return 1;
}

/* Add what memory is above the address that the driver was linked for. */
static void relocate(const uint8_t *block, uint32_t size, uint64_t delta)
{
    const uint8_t *end = block + size;
    uint32_t i;

    for (; block < end; block += get(block + 4, 4))
        for (i = 8; i < get(block + 4, 4); i += 2) {
            uint32_t entry = get(block + i, 2);
            uint8_t *at = memory + get(block, 4) + (entry & 0xfff);
            uint64_t value;
            if (entry >> 12 != 10) /* IMAGE_REL_BASED_DIR64 */
                continue;
            memcpy(&value, at, 8);
            value += delta;
            memcpy(at, &value, 8);
        }
}

/* Give it the one function that it imports. */
static int import(const uint8_t *table)
{
    WINDOWS uint32_t (*print)(const char *, const char *) = debug_print;
    uint8_t *slot;

    for (; get(table + 12, 4); table += 20) {
        const char *dll = (const char *) memory + get(table + 12, 4);
        if (strcmp(dll, "ntoskrnl.exe") != 0)
            return fail("it imports ", dll);
        for (slot = memory + get(table + 16, 4); get(slot, 4); slot += 8) {
            const char *name = (const char *) memory + get(slot, 4) + 2;
            if (strcmp(name, "DbgPrint") != 0)
                return fail("it imports ", name);
            memcpy(slot, &print, 8);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t driver[336]; /* sizeof(DRIVER_OBJECT) */
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size = f ? fread(file, 1, sizeof(file), f) : 0;
    const uint8_t *head = file + get(file + 0x3c, 4);
    const uint8_t *optional = head + 24;
    const uint8_t *section = optional + get(head + 20, 2);
    WINDOWS int32_t (*entry)(void *, void *);
    uint64_t base;
    uint8_t *at;
    uint32_t i;

    if (size == 0)
        return fail("cannot read the driver", "");
    fclose(f);
    if (memcmp(head, "PE\0", 4) != 0 || get(optional, 2) != 0x20b)
        return fail("not a 64-bit PE file", "");
    if (get(optional + 68, 2) != 1)
        return fail("its subsystem is not native", "");
    if (get(optional + 56, 4) > LOADED)
        return fail("too large", "");
    memory = (uint8_t *) mmap(NULL, LOADED, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return fail("no memory", "");
    for (i = 0; i < get(head + 6, 2); i++, section += 40)
        memcpy(memory + get(section + 12, 4), file + get(section + 20, 4),
               get(section + 16, 4));

    memcpy(&base, optional + 24, 8);
    relocate(memory + get(optional + 152, 4), get(optional + 156, 4),
             (uint64_t) (uintptr_t) memory - base);
    if (import(memory + get(optional + 120, 4)))
        return 1;
    at = memory + get(optional + 16, 4);
    memcpy(&entry, &at, sizeof(entry));
    return entry(driver, NULL) < 0;
}
