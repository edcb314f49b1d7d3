/* plt.c: see plt.h.
 *
 * SPDX-License-Identifier: MIT */
#include "plt.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>

#ifdef __has_include
#if __has_include(<libelf.h>) && __has_include(<gelf.h>)
#include <gelf.h>
#define HAVE_PLT
#endif
#endif

const char plt_head[] = ".plt";

#ifdef HAVE_PLT

#define WORDS_MAX 4096u /* slots whose resolver only the image says */

/* What the file jumps through. */
typedef struct slot {
    uint64_t address;
    uint64_t target;
    uint64_t stub;    /* the one that jumps through it; 0: none yet */
    const char *name; /* NULL: what is at the target chooses */
} slot;

typedef struct plt {
    Elf *elf;
    slot *slots;      /* by address */
    size_t slot_count;
    size_t slot_max;
    plt_stub *stubs;
    size_t count;
    size_t max;
    Elf_Data *lazy;   /* relocations of the stubs with a number */
    uint64_t got;     /* what the stubs of 32 bits count from */
    unsigned words;   /* that were read */
    uint8_t is_rela;  /* ... those of `lazy` have sums */
    uint8_t is_ia32;
} plt;

/* ---- slots ---- */

/* Four bytes of the file's image. */
static uint32_t read_word(Elf *elf, uint64_t address)
{
    Elf_Scn *section = NULL;
    GElf_Shdr h;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        const Elf_Data *data;
        const uint8_t *b;
        if (!gelf_getshdr(section, &h) || h.sh_type != SHT_PROGBITS
            || !(h.sh_flags & SHF_ALLOC) || address < h.sh_addr)
            continue;
        data = elf_rawdata(section, NULL);
        if (!data || !data->d_buf || data->d_size < 4
            || address - h.sh_addr > data->d_size - 4)
            continue;
        b = (const uint8_t *) data->d_buf + (address - h.sh_addr);
        return b[0] | (uint32_t) b[1] << 8 | (uint32_t) b[2] << 16
             | (uint32_t) b[3] << 24;
    }
    return 0;
}

static void add_slot(plt *p, const slot *s)
{
    if (p->slot_count == p->slot_max) {
        const size_t max = 2 * p->slot_max + 64;
        if (max > 2 * PLT_MAX || !tool_grow(&p->slots, max, sizeof *p->slots))
            return;
        p->slot_max = max;
    }
    p->slots[p->slot_count++] = *s;
}

/* Relocation `i`: 1, or 0 after the last one. */
static int get_relocation(Elf_Data *data, int is_rela, size_t i, GElf_Rela *r)
{
    GElf_Rel short_one;
    if (i > INT32_MAX) return 0;
    if (is_rela) return gelf_getrela(data, (int) i, r) != NULL;
    if (!gelf_getrel(data, (int) i, &short_one)) return 0;
    r->r_offset = short_one.r_offset;
    r->r_info = short_one.r_info;
    r->r_addend = 0;
    return 1;
}

static const char *symbol_name(Elf *elf, size_t table, uint64_t index)
{
    Elf_Scn *const section = elf_getscn(elf, table);
    Elf_Data *const data = section ? elf_getdata(section, NULL) : NULL;
    const char *name;
    GElf_Shdr h;
    GElf_Sym s;
    if (!data || !gelf_getshdr(section, &h) || index > INT32_MAX
        || !gelf_getsym(data, (int) index, &s))
        return NULL;
    name = elf_strptr(elf, h.sh_link, s.st_name);
    return name && *name ? name : NULL;
}

/* Adds the slots that a section of relocations fills. */
static void add_slots(plt *p, Elf_Data *data, const GElf_Shdr *h)
{
    const int is_rela = h->sh_type == SHT_RELA;
    const unsigned choose = p->is_ia32 ? R_386_IRELATIVE : R_X86_64_IRELATIVE;
    GElf_Rela r;
    for (size_t i = 0; get_relocation(data, is_rela, i, &r); i++) {
        const uint64_t type = GELF_R_TYPE(r.r_info);
        slot s;
        memset(&s, 0, sizeof s);
        s.address = r.r_offset;
        if (type == choose) {
            if (!is_rela && p->words++ >= WORDS_MAX) continue;
            s.target = is_rela ? (uint64_t) r.r_addend
                               : read_word(p->elf, r.r_offset);
        } else if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
            /* their numbers are those of R_386_ */
            s.name = symbol_name(p->elf, h->sh_link, GELF_R_SYM(r.r_info));
            if (!s.name) continue;
        } else {
            continue;
        }
        add_slot(p, &s);
    }
}

static int compare_slots(const void *a, const void *b)
{
    const slot *const x = (const slot *) a;
    const slot *const y = (const slot *) b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static slot *find_slot(const plt *p, uint64_t address)
{
    slot key;
    if (!p->slot_count) return NULL;
    memset(&key, 0, sizeof key);
    key.address = address;
    return (slot *) bsearch(&key, p->slots, p->slot_count, sizeof key,
                            compare_slots);
}

/* ---- stubs ---- */

static void add_stub(plt *p, const slot *s, uint64_t address, uint64_t size,
                     uint64_t whole)
{
    plt_stub *to;
    if (p->count == p->max) {
        const size_t max = 2 * p->max + 64;
        if (max > PLT_MAX || !tool_grow(&p->stubs, max, sizeof *p->stubs))
            return;
        p->max = max;
    }
    to = &p->stubs[p->count++];
    to->name = s ? s->name : plt_head;
    to->target = s ? s->target : 0;
    to->address = address;
    to->size = size;
    to->whole = whole;
}

static uint32_t word_at(const uint8_t *b)
{
    return b[0] | (uint32_t) b[1] << 8 | (uint32_t) b[2] << 16
         | (uint32_t) b[3] << 24;
}

/* Bytes before the instruction that counts: ENDBR, a number in r11d, BND. */
static unsigned prefix_of(const uint8_t *b)
{
    unsigned n = 0;
    if (b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e) n = 4;
    if (n == 4 && b[4] == 0x41 && b[5] == 0xbb) n += 6;
    return b[n] == 0xf2 ? n + 1 : n;
}

/* A PUSH of a number, that of a relocation: the second half of a stub which is
 * elsewhere, or a stub of a slot that no other one jumps through. */
static void add_numbered(plt *p, uint64_t address, uint32_t number)
{
    GElf_Rela r;
    slot *s = NULL;
    if (p->lazy && get_relocation(p->lazy, p->is_rela,
                                  p->is_ia32 ? number / 8 : number, &r))
        s = find_slot(p, r.r_offset);
    if (s) add_stub(p, s, address, 16, s->stub ? s->stub : address);
}

/* What begins at an address; 24 bytes can be read. Returns its size. With
 * `second` only stubs with a number count, else only those without. */
static unsigned add_at(plt *p, uint64_t address, const uint8_t *b, int second)
{
    const unsigned n = prefix_of(b);
    const uint64_t disp = (uint64_t) (int64_t) (int32_t) word_at(b + n + 2);
    const int is_short = n < 2 && (b[n + 6] == 0x90 || (b[n + 6] == 0x66
                                                        && b[n + 7] == 0x90));
    slot *s;
    if (b[n] == 0x68) {
        if (second) add_numbered(p, address, word_at(b + n + 1));
        return 16;
    }
    if (b[n] == 0xff && (b[n + 1] == 0x35 || b[n + 1] == 0xb3)) {
        if (second) add_stub(p, NULL, address, 16, address);
        return 16;
    }
    if (b[n] != 0xff || (b[n + 1] != 0x25 && b[n + 1] != 0xa3)) return 8;
    s = find_slot(p, b[n + 1] == 0xa3 ? (p->got + disp) & UINT32_MAX
                     : p->is_ia32 ? disp & UINT32_MAX
                                  : address + n + 6 + disp);
    if (s && !second) {
        add_stub(p, s, address, is_short ? 8 : 16, address);
        if (!s->stub) s->stub = address;
    }
    return is_short ? 8 : 16;
}

static void scan(plt *p, Elf_Scn *section, const GElf_Shdr *h, int second)
{
    const Elf_Data *const data = elf_rawdata(section, NULL);
    uint8_t bytes[24];
    size_t at = 0;
    if (!data || !data->d_buf) return;
    while (at + 8 <= data->d_size) {
        const size_t left = data->d_size - at;
        const size_t n = left < sizeof bytes ? left : sizeof bytes;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, (const uint8_t *) data->d_buf + at, n);
        at += add_at(p, h->sh_addr + at, bytes, second);
    }
}

/* ---- the whole ---- */

/* Each section: what relocations fill, then (first and second) the stubs. */
static void read_sections(plt *p, size_t strings, unsigned pass)
{
    Elf_Scn *section = NULL;
    GElf_Shdr h;
    while ((section = elf_nextscn(p->elf, section)) != NULL) {
        const char *const name = gelf_getshdr(section, &h)
            ? elf_strptr(p->elf, strings, h.sh_name) : NULL;
        if (!name || !(h.sh_flags & SHF_ALLOC)) continue;
        if (pass == 0 && (h.sh_type == SHT_RELA || h.sh_type == SHT_REL)) {
            Elf_Data *const data = elf_getdata(section, NULL);
            if (!data) continue;
            if (strcmp(name, ".rela.plt") == 0
                || strcmp(name, ".rel.plt") == 0) {
                p->lazy = data;
                p->is_rela = h.sh_type == SHT_RELA;
            }
            add_slots(p, data, &h);
        } else if (pass == 0 && strncmp(name, ".got", 4) == 0) {
            if (!p->got || strcmp(name, ".got.plt") == 0) p->got = h.sh_addr;
        } else if (pass && h.sh_flags & SHF_EXECINSTR
                   && h.sh_type == SHT_PROGBITS
                   && (strncmp(name, ".plt", 4) == 0
                       || strcmp(name, ".iplt") == 0)) {
            scan(p, section, &h, pass == 2);
        }
    }
}

plt_stub *plt_read(void *elf, size_t *count)
{
    GElf_Ehdr head;
    size_t strings;
    plt p;
    memset(&p, 0, sizeof p);
    p.elf = (Elf *) elf;
    *count = 0;
    if (!gelf_getehdr(p.elf, &head) || elf_getshdrstrndx(p.elf, &strings)
        || (head.e_machine != EM_386 && head.e_machine != EM_X86_64))
        return NULL;
    p.is_ia32 = head.e_machine == EM_386;
    for (unsigned pass = 0; pass < 3; pass++) {
        read_sections(&p, strings, pass);
        if (pass == 0 && p.slot_count)
            qsort(p.slots, p.slot_count, sizeof *p.slots, compare_slots);
    }
    free(p.slots);
    *count = p.count;
    return p.stubs;
}

#else

plt_stub *plt_read(void *elf, size_t *count)
{
    (void) elf;
    *count = 0;
    return NULL;
}
#endif
