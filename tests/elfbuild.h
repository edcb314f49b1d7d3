/* elfbuild.h: an ELF file with symbols, for tests. */
#ifndef ELFBUILD_H
#define ELFBUILD_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct elf_symbol {
    const char *name;
    uint64_t address;
    uint64_t size;
    uint8_t type; /* 0 none, 1 object, 2 function, 10 indirect function */
    uint8_t bind; /* 0 local, 1 global, 2 weak */
    uint8_t section; /* 0 undefined, 1 code */
} elf_symbol;

#define ELF_BASE 0x400000u /* of the code: ELF_CODE bytes from ELF_AT on */
#define ELF_AT   0x180u
#define ELF_CODE 0x80u
#define ELF_TOP  0x200u /* where symbols begin */

static void elf_store(uint8_t *to, uint64_t value, unsigned size)
{
    for (; size; size--, value >>= 8) *to++ = (uint8_t) value;
}

/* Section `number`: type, flags, address, offset, size, link, size of items. */
static void elf_section(uint8_t *elf, size_t table, unsigned number,
                        const uint64_t words[7])
{
    uint8_t *const to = elf + table + 64 * number;
    elf_store(to + 4, words[0], 4);
    for (unsigned i = 1; i < 5; i++) elf_store(to + 8 * i, words[i], 8);
    elf_store(to + 40, words[5], 4);
    elf_store(to + 56, words[6], 8);
}

/* Write it to `elf`, `count` symbols and a build id of two bytes, if it is not
 * NULL; its size. */
static size_t elf_build(uint8_t *elf, const elf_symbol *list, size_t count,
                        const char *id)
{
    const size_t names = ELF_TOP + 24 * (count + 1);
    size_t end = names + 1;
    memset(elf, 0, names + 1);
    memcpy(elf, "\177ELF\2\1\1", 7);
    elf_store(elf + 16, 2, 2);
    elf_store(elf + 18, 62, 2);
    elf_store(elf + 20, 1, 4);
    elf_store(elf + 32, 64, 8);
    elf_store(elf + 52, 64, 2);
    elf_store(elf + 54, 56, 2);
    elf_store(elf + 56, 2, 2);
    elf_store(elf + 64, 1, 4); /* PT_LOAD */
    elf_store(elf + 64 + 8, ELF_AT, 8);
    elf_store(elf + 64 + 16, ELF_BASE + ELF_AT, 8);
    elf_store(elf + 64 + 32, ELF_CODE, 8);
    elf_store(elf + 64 + 40, ELF_CODE, 8);
    elf_store(elf + 120, id ? 4 : 0, 4); /* PT_NOTE */
    elf_store(elf + 120 + 8, 0x100, 8);
    elf_store(elf + 120 + 32, 20, 8);
    elf_store(elf + 0x100, 4, 4);
    elf_store(elf + 0x104, 2, 4);
    elf_store(elf + 0x108, 3, 4);
    memcpy(elf + 0x10c, "GNU", 4);
    if (id) memcpy(elf + 0x110, id, 2);
    memset(elf + ELF_AT, 0x90, ELF_CODE);
    for (size_t i = 0; i < count; i++) {
        uint8_t *const to = elf + ELF_TOP + 24 * (i + 1);
        const size_t size = strlen(list[i].name) + 1;
        elf_store(to, end - names, 4);
        to[4] = (uint8_t) (list[i].bind << 4 | list[i].type);
        elf_store(to + 6, list[i].section, 2);
        elf_store(to + 8, list[i].address, 8);
        elf_store(to + 16, list[i].size, 8);
        memcpy(elf + end, list[i].name, size);
        end += size;
    }
    {
        const uint64_t sections[4][7] = {
            {0, 0, 0, 0, 0, 0, 0},
            {1, 6, ELF_BASE + ELF_AT, ELF_AT, ELF_CODE, 0, 0},
            {2, 0, 0, ELF_TOP, names - ELF_TOP, 3, 24},
            {3, 0, 0, names, end - names, 0, 0}};
        const size_t table = (end + 7) & ~(size_t) 7;
        memset(elf + end, 0, table + 4 * 64 - end);
        elf_store(elf + 40, table, 8);
        elf_store(elf + 58, 64, 2);
        elf_store(elf + 60, 4, 2);
        for (unsigned i = 0; i < 4; i++)
            elf_section(elf, table, i, sections[i]);
        return table + 4 * 64;
    }
}
#endif /* ELFBUILD_H */
