/* lines.c: see lines.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "lines.h"
#include "elffile.h"
#include "tool.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<elfutils/libdw.h>) && __has_include(<gelf.h>)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#define HAVE_LIBDW
#endif
#endif

void lines_init(lines *l)
{
    l->list = NULL;
    l->debug = SYMBOLS_DEBUG;
    l->fetch = NULL;
}

#ifdef HAVE_LIBDW

#define RANGES_MAX ((size_t) 1 << 22) /* of a file */
#define SEGMENTS 64u

/* Addresses of a unit. */
typedef struct range {
    uint64_t first;
    uint64_t last; /* inclusive */
    Dwarf_Die unit;
} range;

/* What a file's segment has at which address. */
typedef struct segment {
    uint64_t offset;
    uint64_t size;
    uint64_t address;
} segment;

struct lines_of {
    const files_file *file;
    struct lines_of *next;
    Elf *elf;     /* the one with the DWARF */
    Dwarf *dwarf; /* NULL: there is none */
    range *list;  /* by address */
    size_t count;
    size_t max;
    segment segments[SEGMENTS];
    unsigned segment_count;
};

static void close_dwarf(struct lines_of *f)
{
    if (f->dwarf) dwarf_end(f->dwarf);
    if (f->elf) elf_end(f->elf);
    f->dwarf = NULL;
    f->elf = NULL;
}

void lines_free(lines *l)
{
    while (l->list) {
        struct lines_of *const f = l->list;
        l->list = f->next;
        close_dwarf(f);
        free(f->list);
        free(f);
    }
    lines_init(l);
}

/* ---- reading a file ---- */

static void add_segments(struct lines_of *f)
{
    size_t count = 0;
    GElf_Phdr p;
    if (elf_getphdrnum(f->elf, &count)) return;
    for (size_t i = 0; i < count && f->segment_count < SEGMENTS; i++)
        if (gelf_getphdr(f->elf, (int) i, &p) && p.p_type == PT_LOAD) {
            segment *const to = &f->segments[f->segment_count++];
            to->offset = p.p_offset;
            to->size = p.p_filesz;
            to->address = p.p_vaddr;
        }
}

/* libdw itself opens the file that a .gnu_debugaltlink names: not for files
 * below a folder, which it might lead out of. */
static int leads_out(const struct lines_of *f)
{
    const char *name;
    const void *id;
    return f->file->folder
        && dwelf_dwarf_gnu_debugaltlink(f->dwarf, &name, &id) != 0;
}

/* All of the DWARF is in memory after this. */
static void open_dwarf(struct lines_of *f, int fd)
{
    f->elf = elffile_open(fd);
    if (f->elf && f->segment_count == 0) add_segments(f);
    if (f->elf) f->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
    if (f->dwarf && leads_out(f)) close_dwarf(f);
    if (!f->dwarf) close_dwarf(f);
    if (f->elf) elf_cntl(f->elf, ELF_C_FDDONE);
}

static void add_ranges(struct lines_of *f, Dwarf_Die *unit)
{
    Dwarf_Addr base, first, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(unit, at, &base, &first, &end)) > 0) {
        if (end <= first) continue;
        if (f->count == f->max) {
            const size_t max = 2 * f->max + 64;
            if (max > RANGES_MAX || !tool_grow(&f->list, max, sizeof *f->list))
                return;
            f->max = max;
        }
        f->list[f->count].first = first;
        f->list[f->count].last = end - 1;
        f->list[f->count++].unit = *unit;
    }
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = ((const range *) a)->first;
    const uint64_t y = ((const range *) b)->first;
    return x < y ? -1 : x > y;
}

static void add_units(struct lines_of *f)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (dwarf_get_units(f->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (type == DW_UT_compile) add_ranges(f, &die);
    if (f->count) qsort(f->list, f->count, sizeof *f->list, compare);
}

static void read_file(const lines *l, struct lines_of *f)
{
    const int fd = files_reopen(f->file);
    int other = -1;
    buildid id;
    if (fd < 0) return;
    open_dwarf(f, fd);
    if (!f->dwarf) {
        buildid_of_file(fd, f->file->size, &id);
        other = symbols_open_debug(l->debug, l->fetch, f->file, &id);
    }
    if (other >= 0) open_dwarf(f, other);
    if (f->dwarf) add_units(f);
    if (other >= 0) close(other);
    close(fd);
}

static struct lines_of *get_file(lines *l, const files_file *file)
{
    struct lines_of **at = &l->list;
    struct lines_of *f;
    while (*at && (*at)->file != file) at = &(*at)->next;
    f = *at;
    if (!f) {
        f = (struct lines_of *) calloc(1, sizeof *f);
        if (!f) return NULL;
        f->file = file;
        read_file(l, f);
    } else {
        *at = f->next;
    }
    f->next = l->list; /* the one asked last is the first */
    l->list = f;
    return f;
}

/* ---- looking up ---- */

/* 0: there is none, which is also where no code is. */
static uint64_t address_of(const struct lines_of *f, uint64_t offset)
{
    for (unsigned i = 0; i < f->segment_count; i++) {
        const segment *const s = &f->segments[i];
        if (offset >= s->offset && offset - s->offset < s->size)
            return s->address + (offset - s->offset);
    }
    return 0;
}

static Dwarf_Die *unit_at(struct lines_of *f, uint64_t address)
{
    size_t low = 0;
    size_t high = f->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (f->list[middle].first <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address <= f->list[low - 1].last ? &f->list[low - 1].unit
                                                   : NULL;
}

static const char *function_at(Dwarf_Die *unit, uint64_t address)
{
    const char *name = NULL;
    Dwarf_Die *scopes = NULL;
    const int count = dwarf_getscopes(unit, address, &scopes);
    for (int i = 0; i < count && !name; i++) {
        const int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
            name = dwarf_diename(&scopes[i]);
    }
    free(scopes);
    return name;
}

int lines_find(lines *l, const files_file *file, uint64_t offset,
               lines_place *place)
{
    struct lines_of *const f = get_file(l, file);
    const uint64_t address = f ? address_of(f, offset) : 0;
    Dwarf_Die *const unit = address ? unit_at(f, address) : NULL;
    Dwarf_Line *const line = unit ? dwarf_getsrc_die(unit, address) : NULL;
    memset(place, 0, sizeof *place);
    if (!line) return 0;
    place->file = dwarf_linesrc(line, NULL, NULL);
    if (!place->file || dwarf_lineno(line, &place->line) || place->line <= 0) {
        memset(place, 0, sizeof *place); /* line 0 is none */
        return 0;
    }
    place->function = function_at(unit, address);
    return 1;
}

/* The line that calls an inlined function, if it is known. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *inlined, lines_place *place)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *sources;
    Dwarf_Word file, row;
    size_t count;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file)
        || dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &row)
        || row == 0 || row > INT_MAX || dwarf_getsrcfiles(unit, &sources, &count)
        || file >= count)
        return;
    place->file = dwarf_filesrc(sources, (size_t) file, NULL, NULL);
    place->line = (int) row;
}

size_t lines_inlined(lines *l, const files_file *file, uint64_t offset,
                     lines_place *list, size_t max)
{
    struct lines_of *const f = get_file(l, file);
    const uint64_t address = f ? address_of(f, offset) : 0;
    Dwarf_Die *const unit = address ? unit_at(f, address) : NULL;
    Dwarf_Die *inner = NULL;
    Dwarf_Die *scopes = NULL;
    int count = unit ? dwarf_getscopes(unit, address, &inner) : 0;
    size_t n = 0;
    /* Around what is inlined these are where it was defined, not where it is. */
    if (count > 0) count = dwarf_getscopes_die(inner, &scopes);
    free(inner);
    for (int i = 0; i < count && n < max; i++) {
        const int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_subprogram) break;
        if (tag != DW_TAG_inlined_subroutine) continue;
        memset(&list[n], 0, sizeof list[n]);
        list[n].function = dwarf_diename(&scopes[i]);
        if (!list[n].function) list[n].function = "?";
        find_call(unit, &scopes[i], &list[n++]);
    }
    free(scopes);
    return n;
}

/* ---- all lines ---- */

/* 0: no byte of the file is at that address. */
static int offset_at(const struct lines_of *f, uint64_t address,
                     uint64_t *offset)
{
    for (unsigned i = 0; i < f->segment_count; i++) {
        const segment *const s = &f->segments[i];
        if (address < s->address || address - s->address >= s->size) continue;
        *offset = s->offset + (address - s->address);
        return 1;
    }
    return 0;
}

static void find_rows(const struct lines_of *f, Dwarf_Die *unit,
                      lines_row_found *found, void *context)
{
    Dwarf_Lines *list;
    size_t count;
    lines_row row;
    if (dwarf_getsrclines(unit, &list, &count)) return;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *const line = dwarf_onesrcline(list, i);
        Dwarf_Addr address;
        bool begins, ends;
        if (!line || dwarf_linebeginstatement(line, &begins) || !begins
            || dwarf_lineendsequence(line, &ends) || ends
            || dwarf_lineaddr(line, &address) || dwarf_lineno(line, &row.line)
            || row.line <= 0)
            continue;
        row.file = dwarf_linesrc(line, NULL, NULL);
        if (row.file && offset_at(f, address, &row.offset))
            found(&row, context);
    }
}

void lines_rows(lines *l, const files_file *file, lines_row_found *found,
                void *context)
{
    struct lines_of *const f = get_file(l, file);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    if (!f || !f->dwarf) return;
    while (dwarf_get_units(f->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (type == DW_UT_compile) find_rows(f, &die, found, context);
}

uint64_t lines_copy(lines *l, const files_file *file, uint64_t offset)
{
    struct lines_of *const f = get_file(l, file);
    const uint64_t address = f ? address_of(f, offset) : 0;
    Dwarf_Die *const unit = address ? unit_at(f, address) : NULL;
    Dwarf_Die *scopes = NULL;
    const int count = unit ? dwarf_getscopes(unit, address, &scopes) : 0;
    uint64_t copy = 0;
    for (int i = 0; i < count && !copy; i++) {
        const int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
            copy = dwarf_dieoffset(&scopes[i]);
    }
    free(scopes);
    return copy;
}

#else

void lines_free(lines *l)
{
    (void) l;
}

void lines_rows(lines *l, const files_file *file, lines_row_found *found,
                void *context)
{
    (void) l, (void) file, (void) found, (void) context;
}

uint64_t lines_copy(lines *l, const files_file *file, uint64_t offset)
{
    (void) l, (void) file, (void) offset;
    return 0;
}

int lines_find(lines *l, const files_file *file, uint64_t offset,
               lines_place *place)
{
    (void) l, (void) file, (void) offset;
    memset(place, 0, sizeof *place);
    return 0;
}

size_t lines_inlined(lines *l, const files_file *file, uint64_t offset,
                     lines_place *list, size_t max)
{
    (void) l, (void) file, (void) offset, (void) list, (void) max;
    return 0;
}
#endif
