/* symbols.c: see symbols.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "symbols.h"
#include "elffile.h"
#include "jitdump.h"
#include "plt.h"
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
#define TABLES 8u /* of symbols in a file */
#define UPS 64 /* symbols around one */

#define SOURCES_MAX ((size_t) 1 << 20)

/* Of a rank: the version's, the binding's, and whether there is a size. */
enum { OLD, UNVERSIONED, DEFAULT, LOCAL = 0, WEAK = 4, GLOBAL = 8, SIZED = 16 };

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
    free(t->parts);
    free(t->sources);
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

/* NULL: it cannot be. */
static symbol *add(symbols_table *t, const char *name, uint64_t first,
                   uint64_t size, unsigned rank)
{
    symbol *to;
    if (size && size - 1 > UINT64_MAX - first) return NULL;
    if (t->count == t->max) {
        const size_t max = 2 * t->max + 64;
        if (max > SYMBOLS_MAX || !tool_grow(&t->list, max, sizeof *t->list))
            return NULL;
        t->max = max;
    }
    to = &t->list[t->count++];
    memset(to, 0, sizeof *to);
    to->name = name;
    to->first = first;
    to->last = size ? first + (size - 1) : UINT64_MAX;
    to->rank = (rank | (size ? SIZED : 0)) & 0x1f;
    return to;
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

/* ---- parts ---- */

/* How much of a name is that of the function that it is a part of: 0: it is
 * none. */
static size_t whole_size(const char *name, unsigned *kind)
{
    const char *found = NULL;
    for (const char *at = name; (at = strchr(at, '.')) != NULL; at++) {
        const int is_cold = strncmp(at, ".cold", 5) == 0
                         && (at[5] == 0 || at[5] == '.' || at[5] == '@');
        if (at == name || (!is_cold && strncmp(at, ".part.", 6) != 0))
            continue;
        found = at;
        *kind = is_cold ? SYMBOL_PART : SYMBOL_SPLIT;
    }
    return found ? (size_t) (found - name) : 0;
}

/* A part whose function is looked for. */
typedef struct seeker {
    const char *name;
    size_t size;     /* of the function's name */
    uint64_t first;  /* of the part */
    uint64_t local;  /* the function, of the same source file, */
    uint64_t global; /* ... or of any; UINT64_MAX: not found */
    uint32_t source; /* UINT32_MAX: any */
} seeker;

static int by_name(const seeker *x, const seeker *y)
{
    const size_t size = x->size < y->size ? x->size : y->size;
    const int n = memcmp(x->name, y->name, size);
    return n ? n : order(x->size, y->size);
}

static int compare_seekers(const void *a, const void *b)
{
    const seeker *const x = (const seeker *) a;
    const seeker *const y = (const seeker *) b;
    const int n = by_name(x, y);
    return n ? n : order(x->source, y->source);
}

/* The first of those who look for a name, or for that of a source file. */
static seeker *first_seeker(seeker *list, size_t count, const seeker *key,
                            int (*compared)(const void *a, const void *b))
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compared(&list[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && compared(&list[low], key) == 0 ? &list[low] : NULL;
}

static int compare_names(const void *a, const void *b)
{
    return by_name((const seeker *) a, (const seeker *) b);
}

/* Is this symbol the function that some look for? */
static void offer(seeker *list, size_t count, const symbol *s, size_t size)
{
    seeker key;
    seeker *found;
    memset(&key, 0, sizeof key);
    key.name = s->name;
    key.size = size;
    key.source = s->source;
    found = first_seeker(list, count, &key, compare_seekers);
    if (found && found->local == UINT64_MAX) found->local = s->first;
    if ((s->rank & (GLOBAL | WEAK)) == 0) return;
    found = first_seeker(list, count, &key, compare_names);
    if (found && found->global == UINT64_MAX) found->global = s->first;
}

static void add_part(symbols_table *t, uint64_t first, uint64_t whole)
{
    if (!tool_grow(&t->parts, t->part_count + 1, sizeof *t->parts)) return;
    t->parts[t->part_count].first = first;
    t->parts[t->part_count++].whole = whole;
}

/* Sorted, those who look for the same have one answer, that of the first. */
static void keep_parts(symbols_table *t, const seeker *list, size_t count)
{
    const seeker *name = list;
    const seeker *same = list;
    for (size_t i = 0; i < count; i++) {
        const seeker *const s = &list[i];
        if (by_name(s, name)) name = s;
        if (compare_seekers(s, same)) same = s;
        if (same->local != UINT64_MAX)
            add_part(t, s->first, same->local);
        else if (name->global != UINT64_MAX)
            add_part(t, s->first, name->global);
    }
}

#define MARKS 4096u /* bits */

/* Where names of a size are marked, most of which nobody looks for. */
static unsigned mark_of(const char *name, size_t size)
{
    return ((unsigned) size * 61u + (uint8_t) name[0] * 7u
            + (uint8_t) name[size / 2] * 257u
            + (uint8_t) name[size - 1] * 31u) % MARKS;
}

/* Which function each part is of. */
static void find_parts(symbols_table *t)
{
    uint8_t marks[MARKS / 8] = {0};
    seeker *list = NULL;
    size_t count = 0;
    size_t max = 0;
    for (size_t i = 0; i < t->count; i++) {
        symbol *const s = &t->list[i];
        unsigned kind = 0;
        const size_t size = s->kind ? 0 : whole_size(s->name, &kind);
        if (!size) continue;
        if (count == max) {
            max = 2 * max + 64;
            if (!tool_grow(&list, max, sizeof *list)) break;
        }
        s->kind = kind & 7;
        list[count].name = s->name;
        list[count].size = size;
        marks[mark_of(s->name, size) / 8] |=
            (uint8_t) (1u << mark_of(s->name, size) % 8);
        list[count].first = s->first;
        list[count].local = list[count].global = UINT64_MAX;
        list[count++].source = s->source;
    }
    if (count) qsort(list, count, sizeof *list, compare_seekers);
    for (size_t i = 0; count && i < t->count; i++) {
        const symbol *const s = &t->list[i];
        const size_t size = 1 + strcspn(s->name + 1, "@");
        const unsigned mark = mark_of(s->name, size);
        if (!(s->kind & SYMBOL_STUB) && marks[mark / 8] >> mark % 8 & 1)
            offer(list, count, s, size);
    }
    keep_parts(t, list, count);
    free(list);
}

static int compare_parts(const void *a, const void *b)
{
    return order(((const symbols_part *) a)->first,
                 ((const symbols_part *) b)->first);
}

/* All were added; the last one ends before `end`. */
static void finish(symbols_table *t, uint64_t end)
{
    size_t n;
    find_parts(t);
    if (t->part_count)
        qsort(t->parts, t->part_count, sizeof *t->parts, compare_parts);
    t->count = n = choose(t);
    for (size_t i = 0; i < n; i++) {
        symbol *const s = &t->list[i];
        const uint64_t next = i + 1 < n ? t->list[i + 1].first : end;
        size_t up = i;
        if (!(s->rank & SIZED) && s->last >= next)
            s->last = next > s->first ? next - 1 : s->first;
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

/* Open a path, in the folder that stands for the root, if there is one. */
static int open_beside(const files_file *file, const char *path, uint64_t *size)
{
    return file->folder && file->in->open_below
             ? file->in->open_below(file->folder, path, size)
             : files_open(path, size);
}

#ifdef HAVE_LIBELF
/* The checksum of a file as .gnu_debuglink has it; 0 if it cannot be read. */
static uint32_t checksum(int fd)
{
    uint32_t table[256];
    uint32_t sum = UINT32_MAX;
    uint8_t bytes[4096];
    off_t at = 0;
    ssize_t n;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (unsigned bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            sum = table[(sum ^ bytes[i]) & 255] ^ sum >> 8;
        at += n;
    }
    return n < 0 ? 0 : ~sum;
}

/* What a file's .gnu_debuglink says: the name of its debug file, without a
 * folder, and that file's checksum. */
static int read_link(const files_file *file, char name[128], uint32_t *sum)
{
    const int fd = files_reopen(file);
    Elf *elf;
    Elf_Scn *section = NULL;
    size_t names = 0;
    int found = 0;
    if (fd < 0) return 0;
    elf = elffile_open(fd);
    if (elf && elf_getshdrstrndx(elf, &names) == 0)
        while (!found && (section = elf_nextscn(elf, section)) != NULL) {
            GElf_Shdr head;
            const Elf_Data *data;
            const char *is = gelf_getshdr(section, &head)
                               ? elf_strptr(elf, names, head.sh_name) : NULL;
            const uint8_t *from;
            size_t n;
            if (!is || strcmp(is, ".gnu_debuglink") != 0) continue;
            data = elf_rawdata(section, NULL);
            if (!data || !data->d_buf || data->d_size < 8) break;
            n = strnlen((const char *) data->d_buf, 128);
            if (n == 0 || n == 128 || (n + 4) / 4 * 4 + 4 > data->d_size) break;
            memcpy(name, data->d_buf, n + 1);
            from = (const uint8_t *) data->d_buf + (n + 4) / 4 * 4;
            *sum = from[0] | (uint32_t) from[1] << 8
                 | (uint32_t) from[2] << 16 | (uint32_t) from[3] << 24;
            found = !strchr(name, '/');
        }
    if (elf) elf_end(elf);
    close(fd);
    return found;
}

/* The debug file that a file names, where gdb looks for it: beside the file, in
 * .debug there, and in its folder below that of debug files. */
static int open_linked(const char *folder, const files_file *file,
                       const buildid *id)
{
    static const char *const folders[] = {"/", "/.debug/", "/"};
    const char *const places[] = {file->name, file->mapped};
    char name[128], path[4096];
    uint32_t sum;
    if (!read_link(file, name, &sum)) return -1;
    for (unsigned i = 0; i < 6; i++) {
        const char *const place = places[i / 3];
        const char *const end = place ? strrchr(place, '/') : NULL;
        const int n = !end ? -1 : snprintf(
            path, sizeof path, "%s%.*s%s%s", i % 3 < 2 ? "" : folder,
            (int) (end - place), place, folders[i % 3], name);
        uint64_t size;
        buildid found;
        int fd;
        if (n < 0 || (size_t) n >= sizeof path) continue;
        fd = open_beside(file, path, &size);
        if (fd < 0) continue;
        buildid_of_file(fd, size, &found);
        if (id->size && found.size ? buildid_is(&found, id->bytes, id->size)
                                   : checksum(fd) == sum)
            return fd;
        close(fd);
    }
    return -1;
}
#else
static int open_linked(const char *folder, const files_file *file,
                       const buildid *id)
{
    (void) folder, (void) file, (void) id;
    return -1;
}
#endif

/* The debug file of that build id. */
static int open_build(const char *folder, symbols_fetch *ask,
                      const files_file *file, const buildid *id)
{
    char path[256];
    char text[2 * BUILDID_MAX + 1];
    uint64_t size;
    buildid found;
    int fd;
    if (id->size < 2) return -1;
    buildid_text(id->bytes, id->size, text);
    snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, text,
             text + 2);
    fd = open_beside(file, path, &size);
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

int symbols_open_debug(const char *folder, symbols_fetch *ask,
                       const files_file *file, const buildid *id)
{
    int fd;
    if (!folder || strlen(folder) > 128) return -1;
    fd = open_build(folder, NULL, file, id);
    if (fd < 0) fd = open_linked(folder, file, id);
    return fd < 0 && ask ? open_build(folder, ask, file, id) : fd;
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

/* How good a symbol is: its binding, and its version. */
static unsigned rank_of(const GElf_Sym *s, const char *name,
                        Elf_Data *versions, int i)
{
    const int bind = GELF_ST_BIND(s->st_info);
    const char *const at = strchr(name + 1, '@');
    const unsigned rank = bind == STB_LOCAL ? LOCAL
                        : bind == STB_WEAK ? WEAK : GLOBAL;
    GElf_Versym v;
    if (versions && gelf_getversym(versions, i, &v))
        return rank + (v & 0x8000 ? OLD : v > 1 ? DEFAULT : UNVERSIONED);
    return rank + (!at ? UNVERSIONED : at[1] == '@' ? DEFAULT : OLD);
}

/* Which versions the symbols of a section have; NULL: none. */
static Elf_Data *versions_of(Elf *elf, const Elf_Scn *of)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)) != NULL)
        if (gelf_getshdr(section, &header)
            && header.sh_type == SHT_GNU_versym
            && header.sh_link == elf_ndxscn((Elf_Scn *) (uintptr_t) of))
            return elf_getdata(section, NULL);
    return NULL;
}

/* A source file, the next symbols that only it sees are of: its number, or 0:
 * the linker made them. */
static unsigned add_source(symbols_table *t, const char *name)
{
    if (!*name || t->source_count == SOURCES_MAX
        || !tool_grow(&t->sources, t->source_count + 1, sizeof *t->sources))
        return 0;
    t->sources[t->source_count++] = name;
    return (unsigned) t->source_count;
}

/* A symbol's size, or else what is left of its section, in the file. */
static void add_symbol(symbols_table *t, Elf *elf, Elf *code,
                       const GElf_Sym *s, const char *name, unsigned rank,
                       unsigned origin)
{
    uint64_t end;
    const uint64_t offset = offset_of(code, s->st_value, &end);
    Elf_Scn *const section = elf_getscn(elf, s->st_shndx);
    GElf_Shdr h;
    symbol *to;
    if (offset == UINT64_MAX) return;
    to = add(t, name, offset, s->st_size < end - offset ? s->st_size
                                                        : end - offset, rank);
    if (!to) return;
    if ((rank & (GLOBAL | WEAK)) == 0) to->source = origin & 0xffffff;
    if (s->st_size) return;
    if (section && gelf_getshdr(section, &h) && s->st_value >= h.sh_addr
        && s->st_value - h.sh_addr < h.sh_size
        && h.sh_size - (s->st_value - h.sh_addr) < end - offset)
        end = offset + (h.sh_size - (s->st_value - h.sh_addr));
    to->last = end - 1;
}

/* Functions of a section of symbols; where they are is in another file. */
static void add_section(symbols_table *t, Elf *elf, Elf_Scn *section,
                        size_t names, Elf *code)
{
    Elf_Data *const data = elf_getdata(section, NULL);
    Elf_Data *const versions = versions_of(elf, section);
    unsigned origin = 0;
    GElf_Sym s;
    for (int i = 0; data && gelf_getsym(data, i, &s) && t->count < SYMBOLS_MAX;
         i++) {
        const char *const name = elf_strptr(elf, names, s.st_name);
        if (!name) continue;
        if (GELF_ST_TYPE(s.st_info) == STT_FILE)
            origin = add_source(t, name);
        else if (*name && is_code(elf, &s))
            add_symbol(t, elf, code, &s, name,
                       rank_of(&s, name, versions, i), origin);
    }
}

/* The names that were asked for stay in memory. 1: it is not stripped. */
static int add_sections(symbols_table *t, Elf *elf, Elf *code)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    unsigned tables = 0;
    int whole = 0;
    while ((section = elf_nextscn(elf, section)) != NULL && tables < TABLES) {
        if (!gelf_getshdr(section, &header)
            || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        whole |= header.sh_type == SHT_SYMTAB;
        tables++;
        add_section(t, elf, section, header.sh_link, code);
    }
    return whole;
}

/* Where resolvers are, and how they are called. */
typedef struct resolver {
    uint64_t place;
    const symbol *best; /* NULL: not known */
} resolver;

static int compare_resolvers(const void *a, const void *b)
{
    return order(((const resolver *) a)->place, ((const resolver *) b)->place);
}

static resolver *find_resolver(resolver *list, size_t count, uint64_t place)
{
    resolver key;
    key.place = place;
    key.best = NULL;
    return (resolver *) bsearch(&key, list, count, sizeof key,
                                compare_resolvers);
}

/* Names of the stubs whose functions are chosen when the program starts. */
static void name_stubs(const symbols_table *t, Elf *elf, plt_stub *stubs,
                       size_t count)
{
    resolver *const list = (resolver *) malloc((count + 1) * sizeof *list);
    uint64_t end;
    size_t n = 0;
    for (size_t i = 0; list && i < count; i++) {
        if (stubs[i].name) continue;
        list[n].place = offset_of(elf, stubs[i].target, &end);
        list[n++].best = NULL;
    }
    if (n) qsort(list, n, sizeof *list, compare_resolvers);
    for (size_t i = 0; n && i < t->count; i++) {
        const symbol *const s = &t->list[i];
        resolver *const at = find_resolver(list, n, s->first);
        if (at && (!at->best || compare(s, at->best) < 0)) at->best = s;
    }
    for (size_t i = 0; i < count; i++) {
        const resolver *const at = stubs[i].name || !n ? NULL
            : find_resolver(list, n, offset_of(elf, stubs[i].target, &end));
        if (!stubs[i].name)
            stubs[i].name = at && at->best ? at->best->name : "*ABS*";
    }
    free(list);
}

/* The stubs, which have no symbols. */
static void add_stubs(symbols_table *t, Elf *elf)
{
    size_t count;
    plt_stub *const stubs = plt_read(elf, &count);
    if (count) name_stubs(t, elf, stubs, count);
    for (size_t i = 0; i < count; i++) {
        const plt_stub *const from = &stubs[i];
        uint64_t end;
        const uint64_t at = offset_of(elf, from->address, &end);
        symbol *const s = at == UINT64_MAX
            ? NULL : add(t, from->name, at, from->size, GLOBAL | DEFAULT);
        if (!s) continue;
        s->kind = from->name == plt_head ? 0 : SYMBOL_STUB;
        if (from->whole == from->address) continue;
        s->kind |= SYMBOL_PART;
        add_part(t, at, offset_of(elf, from->whole, &end));
    }
    free(stubs);
}

/* An ELF file in memory is copied: libelf wants to write. */
static Elf *open_memory(symbols_table *t, const files_file *file)
{
    if (file->size > SIZE_MAX - 1) return NULL;
    t->memory = (uint8_t *) malloc((size_t) file->size + 1);
    if (!t->memory) return NULL;
    memcpy(t->memory, file->bytes, (size_t) file->size);
    return elffile_memory((char *) t->memory, (size_t) file->size);
}

static void read_elf(const symbols *s, symbols_table *t)
{
    const int fd = files_reopen(t->file);
    buildid id;
    Elf *elf;
    Elf *debug = NULL;
    int other = -1;
    memset(&id, 0, sizeof id);
    if (t->file->bytes) {
        elf = open_memory(t, t->file);
    } else {
        elf = fd >= 0 ? elffile_open(fd) : NULL;
        if (elf) buildid_of_file(fd, t->file->size, &id);
    }
    if (elf) {
        const int whole = add_sections(t, elf, elf);
        other = symbols_open_debug(s->debug, whole ? NULL : s->fetch, t->file,
                                   &id);
        debug = other >= 0 ? elffile_open(other) : NULL;
        if (debug) add_sections(t, debug, elf);
        add_stubs(t, elf);
    }
    t->elf[0] = elf; // the names stay there
    t->elf[1] = debug;
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
                    add(t, (const char *) name, r.from, r.size, GLOBAL);
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
        add(t, name, at, 0, *kind == 'T' ? GLOBAL
                            : *kind == 't' ? LOCAL : WEAK);
}

/* A line is START SIZE NAME. */
static void read_map_line(symbols_table *t, char *line)
{
    char *rest;
    const uint64_t at = strtoull(line, &rest, 16);
    const uint64_t size = strtoull(rest, &rest, 16);
    char *const name = name_of(rest, "\r");
    if (size && name) add(t, name, at, size, GLOBAL);
}

/* The newest of two at an address first: names are in the order of the lines. */
static int compare_age(const void *a, const void *b)
{
    const symbol *const x = (const symbol *) a;
    const symbol *const y = (const symbol *) b;
    if (x->first != y->first) return order(x->first, y->first);
    return x->name > y->name ? -1 : x->name < y->name;
}

/* Which of two at an address was there when, perf-PID.map does not say. */
static void doubt(symbol *a, symbol *b)
{
    if (strcmp(a->name, b->name) != 0) a->source = b->source = 1;
}

/* An address that was used again is called by its last line, after ~. */
static void mark_reused(symbols_table *t)
{
    symbol *const list = t->list;
    size_t n = 0, widest = 0;
    if (t->count) qsort(list, t->count, sizeof *list, compare_age);
    for (size_t i = 0; i < t->count; i++) {
        symbol s = list[i];
        if (n && s.first <= list[widest].last) doubt(&list[widest], &s);
        if (n && list[n - 1].first == s.first) {
            doubt(&list[n - 1], &s);
            if (s.last > list[n - 1].last) list[n - 1].last = s.last;
        } else {
            list[n++] = s;
        }
        if (list[n - 1].last > list[widest].last) widest = n - 1;
    }
    t->count = n;
    for (size_t i = 0; i < n; i++) {
        const size_t at =
            (size_t) (list[i].name - (const char *) t->memory) - 1;
        if (!list[i].source) continue;
        list[i].source = 0;
        t->memory[at] = '~'; /* instead of a space */
        list[i].name--;
    }
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
    if (read_line == read_map_line) mark_reused(t);
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

const symbol *symbols_named(symbols *s, const files_file *file,
                            const char *name)
{
    const symbols_table *const t = get_table(s, file);
    for (size_t i = 0; t && i < t->count; i++)
        if (strcmp(t->list[i].name, name) == 0) return &t->list[i];
    return NULL;
}

const char *symbols_source(symbols *s, const files_file *file,
                           const symbol *of)
{
    const symbols_table *const t = file ? get_table(s, file) : NULL;
    return t && of->source ? t->sources[of->source - 1] : NULL;
}

const symbol *symbols_whole(symbols *s, const files_file *file,
                            const symbol *part)
{
    const symbols_table *const t = file ? get_table(s, file) : &s->kernel;
    const symbols_part *found;
    const symbol *whole;
    symbols_part key;
    if (!part->kind || !t || !t->part_count) return part;
    key.first = part->first;
    found = (const symbols_part *) bsearch(&key, t->parts, t->part_count,
                                           sizeof key, compare_parts);
    whole = found ? find_in(t, found->whole) : NULL;
    return whole ? whole : part;
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
