/* symbols.c: see symbols.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "symbols.h"
#include "jitdump.h"
#include "tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<libelf.h>) && __has_include(<gelf.h>)
#include <fcntl.h>
#include <gelf.h>
#define HAVE_LIBELF
#endif
#endif

#define SYMBOLS_MAX ((size_t) 1 << 23) /* of a file */
#define NAME_BYTES  4096u /* of what a JIT compiler wrote */
#define NAMES_BYTES ((size_t) 1 << 28)
#define TEXT_MAX ((uint64_t) 1 << 28) /* of a file of lines */
#define UPS 64 /* symbols around one */

/* Of a rank: */
enum { GLOBAL = 1, STRONG = 2, SIZED = 4 };

void symbols_init(symbols *s)
{
    memset(s, 0, sizeof *s);
    s->debug = SYMBOLS_DEBUG;
    s->map = "/tmp";
}

static void free_table(symbols_table *t)
{
#ifdef HAVE_LIBELF
    for (unsigned i = 0; i < 2; i++)
        if (t->elf[i]) elf_end((Elf *) t->elf[i]);
#endif
    free(t->memory);
    free(t->list);
}

static void free_tables(symbols_table *t)
{
    while (t) {
        symbols_table *const next = t->next;
        free_table(t);
        free(t);
        t = next;
    }
}

void symbols_free(symbols *s)
{
    free_tables(s->tables);
    free_tables(s->maps);
    free_table(&s->kernel);
    symbols_init(s);
}

/* ---- a table ---- */

static void add(symbols_table *t, const char *name, uint64_t first,
                uint64_t size, unsigned rank)
{
    symbol *to;
    if (size && size - 1 > UINT64_MAX - first) return;
    if (t->count == t->max) {
        const size_t max = 2 * t->max + 64;
        if (max > SYMBOLS_MAX || !tool_grow(&t->list, max, sizeof *t->list))
            return;
        t->max = max;
    }
    to = &t->list[t->count++];
    to->name = name;
    to->first = first;
    to->last = size ? first + (size - 1) : first;
    to->up = 0;
    to->rank = (uint8_t) (rank | (size ? SIZED : 0));
}

static unsigned underscores(const char *name)
{
    unsigned n = 0;
    while (name[n] == '_') n++;
    return n;
}

static int order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* By place; the best of each first. */
static int compare(const void *a, const void *b)
{
    const symbol *const x = (const symbol *) a;
    const symbol *const y = (const symbol *) b;
    int n = order(x->first, y->first);
    if (n == 0) n = order(y->rank, x->rank);
    if (n == 0) n = order(underscores(x->name), underscores(y->name));
    if (n == 0) n = order(strlen(y->name), strlen(x->name));
    return n ? n : strcmp(x->name, y->name);
}

/* Sort them, and keep one of each place: none without a size that is inside of
 * one with a size. */
static size_t choose(symbols_table *t)
{
    uint64_t end = 0; /* of those with a size, the furthest, exclusive */
    size_t n = 0;
    if (t->count) qsort(t->list, t->count, sizeof *t->list, compare);
    for (size_t i = 0; i < t->count; i++) {
        const symbol s = t->list[i];
        if (n && t->list[n - 1].first == s.first) continue;
        if (!(s.rank & SIZED) && s.first < end) continue;
        if (s.rank & SIZED && s.last >= end) end = s.last + 1;
        t->list[n++] = s;
    }
    return n;
}

/* All were added; the last one ends before `end`. */
static void finish(symbols_table *t, uint64_t end)
{
    const size_t n = choose(t);
    t->count = n;
    for (size_t i = 0; i < n; i++) {
        symbol *const s = &t->list[i];
        const uint64_t next = i + 1 < n ? t->list[i + 1].first : end;
        size_t up = i;
        if (!(s->rank & SIZED) && next > s->first) s->last = next - 1;
        for (unsigned k = 0; up && t->list[up - 1].last < s->first; k++)
            up = k < UPS ? t->list[up - 1].up : 0;
        s->up = (uint32_t) up;
    }
}

/* How many symbols begin at a place or before it. */
static size_t count_up_to(const symbols_table *t, uint64_t place)
{
    size_t low = 0;
    size_t high = t->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->list[middle].first <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const symbol *find_in(const symbols_table *t, uint64_t place)
{
    size_t n = count_up_to(t, place);
    for (unsigned i = 0; n && i < UPS; i++) {
        const symbol *const s = &t->list[n - 1];
        if (place <= s->last) return s;
        n = s->up;
    }
    return NULL;
}

/* ---- ELF files ---- */

int symbols_open_debug(const char *folder, symbols_fetch *ask,
                       const files_file *file, const buildid *id)
{
    char path[256];
    char text[2 * BUILDID_MAX + 1];
    uint64_t size;
    buildid found;
    int fd;
    if (id->size < 2 || !folder || strlen(folder) > 128) return -1;
    buildid_text(id->bytes, id->size, text);
    snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, text,
             text + 2);
    fd = file->folder && file->in->open_below
             ? file->in->open_below(file->folder, path, &size)
             : files_open(path, &size);
    if (fd < 0 && ask) {
        struct stat s;
        fd = ask(id);
        size = fd >= 0 && fstat(fd, &s) == 0 ? (uint64_t) s.st_size : 0;
    }
    if (fd < 0) return -1;
    buildid_of_file(fd, size, &found);
    if (buildid_is(&found, id->bytes, id->size)) return fd;
    close(fd);
    return -1;
}

#ifdef HAVE_LIBELF
/* Where an address that the file asks for is in the file: *end is where that
 * segment ends. UINT64_MAX: not in it. */
static uint64_t offset_of(Elf *elf, uint64_t address, uint64_t *end)
{
    size_t count = 0;
    GElf_Phdr p;
    if (elf_getphdrnum(elf, &count)) return UINT64_MAX;
    for (size_t i = 0; i < count && i < 256; i++)
        if (gelf_getphdr(elf, (int) i, &p) && p.p_type == PT_LOAD
            && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz
            && p.p_offset <= UINT64_MAX - p.p_filesz) {
            *end = p.p_offset + p.p_filesz;
            return p.p_offset + (address - p.p_vaddr);
        }
    return UINT64_MAX;
}

/* A function, or a label in code. */
static int is_code(Elf *elf, const GElf_Sym *s)
{
    const int type = GELF_ST_TYPE(s->st_info);
    Elf_Scn *section;
    GElf_Shdr header;
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE) return 0;
    if (type == STT_FUNC || type == STT_GNU_IFUNC) return 1;
    section = elf_getscn(elf, s->st_shndx);
    return type == STT_NOTYPE && section && gelf_getshdr(section, &header)
        && header.sh_flags & SHF_EXECINSTR;
}

/* Functions of a section of symbols; where they are is in another file. */
static void add_section(symbols_table *t, Elf *elf, Elf_Scn *section,
                        size_t names, Elf *code)
{
    Elf_Data *const data = elf_getdata(section, NULL);
    GElf_Sym s;
    for (int i = 0; data && gelf_getsym(data, i, &s) && t->count < SYMBOLS_MAX;
         i++) {
        const int bind = GELF_ST_BIND(s.st_info);
        const char *const name = elf_strptr(elf, names, s.st_name);
        uint64_t end;
        uint64_t offset;
        if (!name || !*name || !is_code(elf, &s)) continue;
        offset = offset_of(code, s.st_value, &end);
        if (offset == UINT64_MAX) continue;
        add(t, name, offset, s.st_size < end - offset ? s.st_size
                                                      : end - offset,
            (unsigned) (bind != STB_WEAK) * STRONG
                | (unsigned) (bind != STB_LOCAL) * GLOBAL);
    }
}

/* The names that were asked for stay in memory. 1: it is not stripped. */
static int add_sections(symbols_table *t, Elf *elf, Elf *code)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    int whole = 0;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (!gelf_getshdr(section, &header)
            || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        whole |= header.sh_type == SHT_SYMTAB;
        add_section(t, elf, section, header.sh_link, code);
    }
    return whole;
}

/* An ELF file in one of a table's places; its names stay there. */
static Elf *open_elf(symbols_table *t, unsigned place, int fd)
{
    Elf *elf;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        elf = NULL;
    }
    t->elf[place] = elf;
    return elf;
}

/* An ELF file in memory is copied: libelf wants to write. */
static Elf *open_memory(symbols_table *t, const files_file *file)
{
    Elf *elf;
    if (file->size > SIZE_MAX - 1) return NULL;
    t->memory = (uint8_t *) malloc((size_t) file->size + 1);
    if (!t->memory) return NULL;
    memcpy(t->memory, file->bytes, (size_t) file->size);
    elf_version(EV_CURRENT);
    elf = elf_memory((char *) t->memory, (size_t) file->size);
    if (elf && elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        elf = NULL;
    }
    t->elf[0] = elf;
    return elf;
}

static void read_elf(const symbols *s, symbols_table *t)
{
    const int fd = files_reopen(t->file);
    buildid id;
    Elf *elf;
    Elf *debug;
    int other = -1;
    memset(&id, 0, sizeof id);
    if (t->file->bytes) {
        elf = open_memory(t, t->file);
    } else {
        elf = fd >= 0 ? open_elf(t, 0, fd) : NULL;
        if (elf) buildid_of_file(fd, t->file->size, &id);
    }
    if (elf) {
        const int whole = add_sections(t, elf, elf);
        other = symbols_open_debug(s->debug, whole ? NULL : s->fetch, t->file,
                                   &id);
        debug = other >= 0 ? open_elf(t, 1, other) : NULL;
        if (debug) add_sections(t, debug, elf);
    }
    for (unsigned i = 0; i < 2; i++)
        if (t->elf[i]) elf_cntl((Elf *) t->elf[i], ELF_C_FDDONE);
    if (other >= 0) close(other);
    if (fd >= 0) close(fd);
}
#else
static void read_elf(const symbols *s, symbols_table *t)
{
    (void) s;
    (void) t;
}
#endif

/* ---- what JIT compilers wrote ---- */

/* Names come one after the other, with their zeros. */
static int read_jit(symbols_table *t)
{
    jitdump dump;
    jitdump_record r;
    size_t used = 0;
    size_t max = 0;
    if (jitdump_open(&dump, t->file)) return 0;
    for (int pass = 0; pass < 2; pass++) { /* sizes, then names */
        if (jitdump_open(&dump, t->file)) break;
        if (pass) t->memory = (uint8_t *) malloc(max + 1);
        if (pass && !t->memory) break;
        while (jitdump_next(&dump, &r) > 0) {
            const uint64_t size = r.from - r.name;
            uint8_t *const name = pass ? t->memory + used : NULL;
            if (r.type != JITDUMP_LOAD || r.size == 0) continue;
            if (size > NAME_BYTES || max > NAMES_BYTES) continue;
            if (!pass) {
                max += (size_t) size;
            } else if (size <= max - used
                       && files_read(t->file, r.name, name, (size_t) size)
                              == size) {
                name[size - 1] = 0;
                if (*name)
                    add(t, (const char *) name, r.from, r.size, STRONG);
                used += (size_t) size;
            }
        }
    }
    return 1;
}

/* ---- the kernel, and perf-PID.map: lines of text ---- */

/* The name at the end of a line: NULL if there is none. */
static char *name_of(char *at, const char *end)
{
    at += strspn(at, " \t");
    at[strcspn(at, end)] = 0;
    return *at ? at : NULL;
}

/* A line is ADDRESS KIND NAME, and more for a module. */
static void read_kernel_line(symbols_table *t, char *line)
{
    char *rest;
    const uint64_t at = strtoull(line, &rest, 16);
    char *const kind = rest + strspn(rest, " ");
    char *const name = *kind ? name_of(kind + 1, " \t\r") : NULL;
    if (at && name && strchr("tTwW", *kind))
        add(t, name, at, 0, *kind == 'T' ? GLOBAL | STRONG
                                         : *kind == 't' ? STRONG : 0);
}

/* A line is START SIZE NAME. */
static void read_map_line(symbols_table *t, char *line)
{
    char *rest;
    const uint64_t at = strtoull(line, &rest, 16);
    const uint64_t size = strtoull(rest, &rest, 16);
    char *const name = name_of(rest, "\r");
    if (size && name) add(t, name, at, size, STRONG);
}

/* Lines of a text, which stays in memory. */
static void read_text(symbols_table *t, char *text,
                      void (*read_line)(symbols_table *t, char *line))
{
    t->memory = (uint8_t *) text;
    for (char *line = text; *line;) {
        char *const end = line + strcspn(line, "\n");
        const int more = *end != 0;
        *end = 0;
        read_line(t, line);
        line = end + more;
    }
    finish(t, UINT64_MAX);
}

/* Symbols of a file: 0, or -1 if it is not there. */
static int read_lines(symbols_table *t, const char *path,
                      void (*read_line)(symbols_table *t, char *line))
{
    size_t size;
    char *const text = (char *) files_load(path, 0, TEXT_MAX, &size);
    if (!text) return -1;
    text[size] = 0;
    read_text(t, text, read_line);
    return 0;
}

static void forget_kernel(symbols *s)
{
    free_table(&s->kernel);
    memset(&s->kernel, 0, sizeof s->kernel);
}

int symbols_kernel(symbols *s, const char *path)
{
    forget_kernel(s);
    return read_lines(&s->kernel, path, read_kernel_line);
}

void symbols_kernel_text(symbols *s, char *text)
{
    forget_kernel(s);
    read_text(&s->kernel, text, read_kernel_line);
}

const symbol *symbols_mapped(symbols *s, uint32_t pid, uint64_t ip)
{
    symbols_table *t = s->maps;
    char path[256];
    while (t && t->pid != pid) t = t->next;
    if (!t) {
        t = (symbols_table *) calloc(1, sizeof *t);
        if (!t) return NULL;
        t->pid = pid;
        t->next = s->maps;
        s->maps = t;
        snprintf(path, sizeof path, "%.200s/perf-%" PRIu32 ".map", s->map, pid);
        read_lines(t, path, read_map_line);
    }
    return find_in(t, ip);
}

const symbol *symbols_at(const symbols *s, uint64_t ip)
{
    return find_in(&s->kernel, ip);
}

/* ---- all files ---- */

static symbols_table *get_table(symbols *s, const files_file *file)
{
    symbols_table *t = s->last;
    if (t && t->file == file) return t;
    for (t = s->tables; t && t->file != file;) t = t->next;
    if (!t) {
        t = (symbols_table *) calloc(1, sizeof *t);
        if (!t) return NULL;
        t->file = file;
        t->next = s->tables;
        s->tables = t;
        if (!read_jit(t)) read_elf(s, t);
        finish(t, file->size);
    }
    s->last = t;
    return t;
}

const symbol *symbols_find(symbols *s, const files_file *file,
                           uint64_t offset)
{
    symbols_table *const t = get_table(s, file);
    return t ? find_in(t, offset) : NULL;
}

void symbols_gap(symbols *s, const files_file *file, uint64_t offset,
                 uint64_t *first, uint64_t *last)
{
    const symbols_table *const t = get_table(s, file);
    const size_t next = t ? count_up_to(t, offset) : 0;
    size_t n = next;
    *first = 0;
    *last = t && next < t->count ? t->list[next].first - 1 : UINT64_MAX;
    for (unsigned i = 0; n && i < UPS; i++) {
        const symbol *const before = &t->list[n - 1];
        if (before->last < offset && before->last >= *first)
            *first = before->last + 1;
        n = before->up;
    }
}
