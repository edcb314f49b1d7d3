/* elffile.c: see elffile.h.
 *
 * SPDX-License-Identifier: MIT */
#include "elffile.h"
#include <stdint.h>
#include <string.h>

#ifdef __has_include
#if __has_include(<libelf.h>) && __has_include(<gelf.h>)
#include <gelf.h>
#define HAVE_LIBELF
#endif
#endif

#ifdef HAVE_LIBELF

#define UNPACKED ((uint64_t) 1 << 24) /* bytes, whatever they are packed to */
#define RATIO 32u

/* How much an older compiler's section .zdebug_* makes. */
static uint64_t old_size(Elf_Scn *section)
{
    const Elf_Data *const data = elf_rawdata(section, NULL);
    const uint8_t *const from = data ? (const uint8_t *) data->d_buf : NULL;
    uint64_t size = 0;
    if (!from || data->d_size < 12 || memcmp(from, "ZLIB", 4) != 0) return 0;
    for (unsigned i = 4; i < 12; i++) size = size << 8 | from[i];
    return size;
}

static int is_bomb(Elf *elf, Elf_Scn *section, size_t names)
{
    GElf_Shdr head;
    GElf_Chdr packed;
    const char *name;
    uint64_t size = 0;
    if (!gelf_getshdr(section, &head)) return 0;
    if (head.sh_flags & SHF_COMPRESSED) {
        if (head.sh_type != SHT_PROGBITS) return 1;
        if (gelf_getchdr(section, &packed)) size = packed.ch_size;
    } else if (head.sh_type == SHT_PROGBITS) {
        name = elf_strptr(elf, names, head.sh_name);
        if (name && strncmp(name, ".zdebug", 7) == 0) size = old_size(section);
    }
    return size > UNPACKED && size / RATIO > head.sh_size;
}

/* The names of sections come first: they must not be compressed either. */
static int has_bomb(Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) || !gelf_getshdr(elf_getscn(elf, names),
                                                        &head))
        return 0; // there are none
    if (head.sh_flags & SHF_COMPRESSED) return 1;
    while ((section = elf_nextscn(elf, section)) != NULL)
        if (is_bomb(elf, section, names)) return 1;
    return 0;
}

static Elf *checked(Elf *elf)
{
    if (elf && (elf_kind(elf) != ELF_K_ELF || has_bomb(elf))) {
        elf_end(elf);
        return NULL;
    }
    return elf;
}

Elf *elffile_open(int fd)
{
    elf_version(EV_CURRENT);
    return checked(elf_begin(fd, ELF_C_READ, NULL));
}

Elf *elffile_memory(char *bytes, size_t size)
{
    elf_version(EV_CURRENT);
    return checked(elf_memory(bytes, size));
}

#endif /* HAVE_LIBELF */
