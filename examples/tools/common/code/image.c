/* image.c: see image.h.
 *
 * SPDX-License-Identifier: MIT */
#include "image.h"
#include <limits.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "out of memory";
static const char bad_file[] = "bad file";
static const char invalid[] = "invalid argument";

const ipt_asid image_everywhere = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};

void image_init(image *im)
{
    memset(im, 0, sizeof *im);
}

void image_free(image *im)
{
    for (uint32_t i = 0; i < im->section_count; i++) {
        if (im->sections[i].borrowed) continue;
        free(im->sections[i].name);
        free(im->sections[i].data);
    }
    for (size_t i = 0; i < im->space_count; i++) {
        for (size_t k = 0; k < im->spaces[i].count; k++)
            free(im->spaces[i].blocks[k].list);
        free(im->spaces[i].blocks);
    }
    free(im->sections);
    free(im->spaces);
    image_init(im);
}

/* ---- ranges ---- */

static int match(uint64_t a, uint64_t b)
{
    return a == b || a == IPT_ASID_UNKNOWN || b == IPT_ASID_UNKNOWN;
}

static int space_matches(const image_space *space, uint64_t cr3, uint64_t vmcs)
{
    return match(space->cr3, cr3) && match(space->vmcs, vmcs);
}

/* The place of the first range that ends at or above ip. */
static image_place first_from(const image_space *space, uint64_t ip)
{
    image_place p = {0, 0};
    size_t low = 0, high = space->count;
    const image_range *list;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const image_block *const b = &space->blocks[middle];
        if (b->list[b->count - 1].last < ip) low = middle + 1;
        else high = middle;
    }
    p.block = low;
    if (low == space->count) return p;
    list = space->blocks[low].list;
    for (low = 0, high = space->blocks[p.block].count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (list[middle].last < ip) low = middle + 1;
        else high = middle;
    }
    p.at = (uint32_t) low;
    return p;
}

/* An empty block at an index, with room for so many ranges; NULL without memory. */
static image_block *new_block(image_space *space, size_t at, uint32_t room)
{
    image_range *const list = malloc(room * sizeof *list);
    image_block *more = space->blocks;
    if (list && space->count == space->room) {
        const size_t twice = 2 * space->room + 1;
        more = realloc(more, twice * sizeof *more);
        if (more) space->blocks = more;
        if (more) space->room = twice;
    }
    if (!list || !more) {
        free(list);
        return NULL;
    }
    memmove(more + at + 1, more + at, (space->count++ - at) * sizeof *more);
    more[at].list = list;
    more[at].count = 0;
    more[at].room = room;
    return &more[at];
}

/* Room in a block for one more range at a place, which may be in another block
 * then. 0, or -1 without memory. */
static int room_for_one(image_space *space, image_place *p)
{
    image_block *b, *next;
    uint32_t kept;
    if (p->block == space->count && p->block > 0) { /* after the last one */
        p->block--;
        p->at = space->blocks[p->block].count;
    }
    if (p->block == space->count)
        return new_block(space, p->block, 4) ? 0 : -1;
    b = &space->blocks[p->block];
    if (b->count < b->room) return 0;
    if (b->room < IMAGE_BLOCK) {
        image_range *const list = realloc(b->list, 2 * b->room * sizeof *list);
        if (!list) return -1;
        b->list = list;
        b->room *= 2;
        return 0;
    }
    /* In two; at the end, where most of them come in order, all of it stays. */
    kept = p->at == b->count ? b->count : b->count / 2;
    next = new_block(space, p->block + 1, IMAGE_BLOCK);
    if (!next) return -1;
    b = next - 1;
    next->count = b->count - kept;
    memcpy(next->list, b->list + kept, next->count * sizeof *next->list);
    b->count = kept;
    if (p->at < kept || (p->at == kept && next->count)) return 0;
    p->block++;
    p->at -= kept;
    return 0;
}

static int put_range(image_space *space, image_place p, const image_range *r)
{
    image_block *b;
    if (room_for_one(space, &p)) return -1;
    b = &space->blocks[p.block];
    memmove(b->list + p.at + 1, b->list + p.at,
            (b->count++ - p.at) * sizeof *b->list);
    b->list[p.at] = *r;
    return 0;
}

/* Take ranges of a block away: from p.at to before `to`. */
static void take_ranges(image_space *space, image_place p, uint32_t to)
{
    image_block *const b = &space->blocks[p.block];
    memmove(b->list + p.at, b->list + to, (b->count - to) * sizeof *b->list);
    b->count -= to - p.at;
    if (b->count) return;
    free(b->list);
    memmove(b, b + 1, (--space->count - p.block) * sizeof *b);
}

/* Take whatever is at [place->first, place->last] away; put place there if it
 * belongs to a section. */
static int cut(image_space *space, const image_range *place)
{
    image_place p = first_from(space, place->first);
    image_range *r = image_range_at(space, p);
    image_range rest;
    if (r && r->first < place->first) {
        rest = *r;
        r->last = place->first - 1;
        p = image_after(space, p);
        if (rest.last > place->last) {
            rest.first = place->last + 1;
            if (put_range(space, p, &rest)) return -1;
            p = first_from(space, place->first);
        }
    }
    while ((r = image_range_at(space, p)) && r->first <= place->last) {
        uint32_t to = p.at;
        const image_block *const b = &space->blocks[p.block];
        while (to < b->count && b->list[to].last <= place->last) to++;
        if (to == p.at) {
            r->first = place->last + 1;
            break;
        }
        take_ranges(space, p, to);
        p = first_from(space, place->first);
    }
    return place->section ? put_range(space, p, place) : 0;
}

/* The index of an address space, made if need be; SIZE_MAX without memory. */
static size_t get_space(image *im, uint64_t cr3, uint64_t vmcs)
{
    image_space *space = im->spaces;
    size_t n = im->space_count;
    for (size_t i = 0; i < n; i++)
        if (space[i].cr3 == cr3 && space[i].vmcs == vmcs) return i;
    space = realloc(space, (n + 1) * sizeof *space);
    if (!space) return SIZE_MAX;
    memset(space + n, 0, sizeof *space);
    space[n].cr3 = cr3;
    space[n].vmcs = vmcs;
    im->spaces = space;
    im->space_count = n + 1;
    return n;
}

static void forget_hit(image *im)
{
    memset(&im->hit, 0, sizeof im->hit);
    im->hit_space = 0;
}

/* Let [place->first, place->last] be seen in an address space. */
static int show(image *im, const ipt_asid *asid, const image_range *place)
{
    uint64_t cr3 = asid ? asid->cr3 : IPT_ASID_UNKNOWN;
    uint64_t vmcs = asid ? asid->vmcs : IPT_ASID_UNKNOWN;
    size_t own = get_space(im, cr3, vmcs);
    if (own == SIZE_MAX) return -1;
    forget_hit(im);
    for (size_t i = 0; i < im->space_count; i++) {
        image_range range = *place;
        if (!space_matches(&im->spaces[i], cr3, vmcs)) continue;
        if (i != own) range.section = 0;
        if (cut(&im->spaces[i], &range)) return -1;
    }
    return 0;
}

/* ---- sections ---- */

/* One more section, of zeros; NULL without memory. The room doubles when it is
 * used up. */
static image_section *new_section(image *im)
{
    const size_t n = im->section_count;
    if (n == UINT32_MAX) return NULL;
    if ((n & (n - 1)) == 0) {
        image_section *more = realloc(im->sections,
                                      (n ? 2 * n : 1) * sizeof *more);
        if (!more) return NULL;
        im->sections = more;
    }
    im->section_count++;
    memset(&im->sections[n], 0, sizeof *im->sections);
    return &im->sections[n];
}

/* Show the section added last where it belongs. */
static const char *show_section(image *im, const ipt_asid *asid)
{
    const image_section *s = &im->sections[im->section_count - 1];
    image_range place;
    if (s->size == 0 || s->base + (s->size - 1) < s->base) return invalid;
    place.first = s->base;
    place.last = s->base + (s->size - 1);
    place.section = im->section_count;
    return show(im, asid, &place) ? no_memory : NULL;
}

const char *image_add(image *im, const ipt_asid *asid, const char *name,
                      uint64_t from, uint8_t *data, uint64_t size,
                      uint64_t base)
{
    image_section *section = NULL;
    size_t length = strlen(name) + 1;
    char *copy = malloc(length);
    if (copy) section = new_section(im);
    if (!section) {
        free(copy);
        free(data);
        return no_memory;
    }
    memcpy(copy, name, length);
    section->name = copy;
    section->from = from;
    section->size = size;
    section->base = base;
    section->data = data;
    return show_section(im, asid);
}

const char *image_add_part(image *im, const ipt_asid *asid,
                           const files_file *file, uint64_t from, uint64_t to,
                           uint64_t base)
{
    image_section *section;
    if (to > file->size) to = file->size;
    if (from >= to || base + (to - from - 1) < base) return invalid;
    section = new_section(im);
    if (!section) return no_memory;
    section->name = file->name;
    section->from = from;
    section->size = to - from;
    section->base = base;
    section->file = file;
    section->borrowed = 1;
    return show_section(im, asid);
}

/* Which sections are shown, by identifier; or other identifiers take the place of
 * those. */
static void each_section(image *im, uint32_t *list, int renames)
{
    for (size_t i = 0; i < im->space_count; i++) {
        const image_space *const space = &im->spaces[i];
        image_place p = {0, 0};
        image_range *r;
        for (; (r = image_range_at(space, p)); p = image_after(space, p))
            if (renames) r->section = list[r->section];
            else list[r->section] = 1;
    }
}

const char *image_forget(image *im)
{
    uint32_t *const moved = calloc((size_t) im->section_count + 1,
                                   sizeof *moved);
    uint32_t count = 0;
    if (!moved) return no_memory;
    each_section(im, moved, 0);
    for (uint32_t i = 0; i < im->section_count; i++) {
        if (moved[i + 1]) {
            im->sections[count] = im->sections[i];
            moved[i + 1] = ++count;
        } else if (!im->sections[i].borrowed) {
            free(im->sections[i].name);
            free(im->sections[i].data);
        }
    }
    each_section(im, moved, 1);
    im->section_count = count;
    free(moved);
    return NULL;
}

const char *image_hide(image *im, uint64_t first, uint64_t last)
{
    const image_range nothing = {first, last, 0};
    forget_hit(im);
    for (size_t i = 0; i < im->space_count; i++)
        if (cut(&im->spaces[i], &nothing)) return no_memory;
    return NULL;
}

/* Append a space with the ranges of another one, each with a section of its
 * own. */
static int copy_space(image *im, const image *from, const image_space *space)
{
    const size_t at = get_space(im, space->cr3, space->vmcs);
    image_place p = {0, 0};
    const image_range *r;
    if (at == SIZE_MAX) return -1;
    for (; (r = image_range_at(space, p)); p = image_after(space, p)) {
        const image_place end = {im->spaces[at].count, 0};
        image_range range = *r;
        image_section *section = new_section(im);
        if (!section) return -1;
        *section = from->sections[range.section - 1];
        section->borrowed = 1;
        range.section = im->section_count;
        if (put_range(&im->spaces[at], end, &range)) return -1;
    }
    return 0;
}

const char *image_copy(image *im, const image *from)
{
    for (size_t i = 0; i < from->space_count; i++)
        if (copy_space(im, from, &from->spaces[i])) return no_memory;
    return NULL;
}

/* Read up to size bytes of an open file into memory of their own. */
static const char *read_bytes(FILE *f, uint64_t from, uint64_t size,
                              uint8_t **data)
{
    if (from > LONG_MAX || size > SIZE_MAX) return invalid;
    *data = malloc((size_t) size);
    if (!*data) return no_memory;
    if (fseek(f, (long) from, SEEK_SET) == 0
        && fread(*data, 1, (size_t) size, f) == size)
        return NULL;
    free(*data);
    return bad_file;
}

/* The size of an open file; 0 if it has none. */
static uint64_t size_of(FILE *f)
{
    long size = fseek(f, 0, SEEK_END) ? 0 : ftell(f);
    return size < 0 || size == LONG_MAX ? 0 : (uint64_t) size;
}

/* Add bytes [from, to) of an open file. */
static const char *add_open(image *im, const ipt_asid *asid, const char *name,
                            FILE *f, uint64_t from, uint64_t to, uint64_t base)
{
    uint64_t end = size_of(f);
    uint8_t *data;
    const char *why;
    if (to > end) to = end;
    if (from >= to) return invalid;
    why = read_bytes(f, from, to - from, &data);
    return why ? why : image_add(im, asid, name, from, data, to - from, base);
}

const char *image_add_file(image *im, const ipt_asid *asid, const char *name,
                           uint64_t from, uint64_t to, uint64_t base)
{
    FILE *f = fopen(name, "rb");
    const char *why;
    if (!f) return bad_file;
    why = add_open(im, asid, name, f, from, to, base);
    fclose(f);
    return why;
}

/* ---- ELF ---- */

/* What an ELF file says of its segments. */
typedef struct elf_table {
    uint8_t *bytes; /* program headers, allocated */
    size_t count;
    size_t entry; /* bytes each */
    int wide;     /* ELF64 */
} elf_table;

typedef struct elf_segment {
    uint32_t type;
    uint64_t offset;
    uint64_t vaddr;
    uint64_t size; /* in the file */
    int executes;
} elf_segment;

static uint64_t le(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    while (n--) value = value << 8 | bytes[n];
    return value;
}

/* Where the program headers are: `from` in the file. */
static const char *elf_head(const uint8_t *head, elf_table *table,
                            uint64_t *from)
{
    if (memcmp(head, "\177ELF", 4)) return "not an ELF file";
    table->wide = head[4] == 2;
    if ((head[4] != 1 && head[4] != 2) || head[5] != 1)
        return "not a little-endian ELF32 or ELF64 file";
    *from = table->wide ? le(head + 32, 8) : le(head + 28, 4);
    table->entry = (size_t) le(head + (table->wide ? 54 : 42), 2);
    table->count = (size_t) le(head + (table->wide ? 56 : 44), 2);
    if (table->entry < (table->wide ? 56u : 32u) || table->count == 0)
        return "no program headers";
    return NULL;
}

static const char *elf_open(FILE *f, elf_table *table)
{
    uint8_t head[64] = {0};
    uint64_t from;
    const char *why;
    if (fread(head, 1, sizeof head, f) < 52) return bad_file;
    why = elf_head(head, table, &from);
    return why ? why : read_bytes(f, from, table->entry * table->count,
                                  &table->bytes);
}

static elf_segment elf_get(const elf_table *table, size_t index)
{
    const uint8_t *p = table->bytes + index * table->entry;
    elf_segment segment;
    segment.type = (uint32_t) le(p, 4);
    segment.offset = table->wide ? le(p + 8, 8) : le(p + 4, 4);
    segment.vaddr = table->wide ? le(p + 16, 8) : le(p + 8, 4);
    segment.size = table->wide ? le(p + 32, 8) : le(p + 16, 4);
    segment.executes = p[table->wide ? 4 : 24] & 1;
    return segment;
}

static int elf_loads(const elf_segment *segment)
{
    return segment->type == 1 && segment->size > 0; // PT_LOAD
}

/* The lowest address that a segment asks for. */
static uint64_t elf_lowest(const elf_table *table)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < table->count; i++) {
        elf_segment segment = elf_get(table, i);
        if (segment.type == 1 && segment.vaddr < lowest) lowest = segment.vaddr;
    }
    return lowest;
}

static const char *elf_add(image *im, const ipt_asid *asid, const char *name,
                           FILE *f, const elf_table *table, uint64_t base,
                           FILE *log)
{
    uint64_t move = base ? base - elf_lowest(table) : 0;
    const char *why = "no segments to load";
    for (size_t i = 0; i < table->count; i++) {
        elf_segment s = elf_get(table, i);
        if (!elf_loads(&s)) continue;
        if (s.size > UINT64_MAX - s.offset) return invalid;
        why = add_open(im, asid, name, f, s.offset, s.offset + s.size,
                       s.vaddr + move);
        if (why) return why;
        if (log)
            fprintf(log, "%s: offset=0x%" PRIx64 " size=0x%" PRIx64
                    " vaddr=0x%" PRIx64 ".\n", name, s.offset, s.size, s.vaddr);
    }
    return why;
}

const char *image_add_elf(image *im, const ipt_asid *asid, const char *name,
                          uint64_t base, FILE *log)
{
    elf_table table;
    FILE *f = fopen(name, "rb");
    const char *why;
    if (!f) return bad_file;
    why = elf_open(f, &table);
    if (!why) {
        why = elf_add(im, asid, name, f, &table, base, log);
        free(table.bytes);
    }
    fclose(f);
    return why;
}

/* The program headers of a file that is read when needed. */
static const char *elf_read(const files_file *file, elf_table *table)
{
    uint8_t head[64] = {0};
    uint64_t from;
    size_t size;
    const char *why;
    if (files_read(file, 0, head, sizeof head) < 52) return bad_file;
    why = elf_head(head, table, &from);
    if (why) return why;
    size = table->entry * table->count;
    if (from > file->size || size > file->size - from) return bad_file;
    table->bytes = malloc(size);
    if (!table->bytes) return no_memory;
    if (files_read(file, from, table->bytes, size) == size) return NULL;
    free(table->bytes);
    return bad_file;
}

const char *image_add_segments(image *im, const ipt_asid *asid,
                               const files_file *file)
{
    elf_table table;
    const char *why = elf_read(file, &table);
    if (why) return why;
    why = "no segments to load";
    for (size_t i = 0; i < table.count; i++) {
        elf_segment s = elf_get(&table, i);
        if (!elf_loads(&s)) continue;
        if (s.size > UINT64_MAX - s.offset) why = invalid;
        else why = image_add_part(im, asid, file, s.offset,
                                  s.offset + s.size, s.vaddr);
        if (why) break;
    }
    free(table.bytes);
    return why;
}

int image_has_one_code(const files_file *file)
{
    elf_table table;
    unsigned count = 0;
    if (elf_read(file, &table)) return 0;
    for (size_t i = 0; i < table.count; i++) {
        const elf_segment s = elf_get(&table, i);
        count += elf_loads(&s) && s.executes;
    }
    free(table.bytes);
    return count == 1;
}

/* ---- image.map ---- */

/* folder/name, allocated. */
static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static const char *map_line(image *im, const ipt_asid *asid, const char *folder,
                            const char *line)
{
    uint64_t base;
    uint64_t length;
    uint64_t from;
    char name[512];
    char *path;
    const char *why;
    if (sscanf(line, "%" SCNx64 " %" SCNx64 " %511s %" SCNx64, &base, &length,
               name, &from) != 4
        || length == 0 || length > UINT64_MAX - from)
        return "bad line in image.map";
    if (strcmp(name, "-") == 0)
        return image_add(im, asid, name, from, NULL, length, base);
    path = join(folder, name);
    if (!path) return no_memory;
    why = image_add_file(im, asid, path, from, from + length, base);
    free(path);
    if (why != bad_file) return why;
    snprintf(im->why, sizeof im->why, "%s, which image.map lists, cannot be read",
             name);
    return im->why;
}

const char *image_add_map(image *im, const ipt_asid *asid, const char *folder)
{
    char line[1024];
    char *path = join(folder, "image.map");
    const char *why = NULL;
    FILE *f;
    if (!path) return no_memory;
    f = fopen(path, "r");
    free(path);
    if (!f) return "there is no image.map in it";
    while (!why && fgets(line, sizeof line, f))
        why = map_line(im, asid, folder, line);
    fclose(f);
    return why;
}

/* ---- libxdc's page cache ---- */

/* PREFIX.addr has the addresses; the first of equal ones counts, so they are
 * added from the end. */
static const char *add_listed(image *im, const ipt_asid *asid, FILE *addr,
                              const char *dump)
{
    const char *why = NULL;
    long slot = fseek(addr, 0, SEEK_END) ? -1 : ftell(addr) / 8;
    if (slot < 0) return bad_file;
    while (!why && slot-- > 0) {
        uint8_t bytes[8];
        uint64_t page;
        if (fseek(addr, 8 * slot, SEEK_SET) || fread(bytes, 8, 1, addr) != 1)
            return bad_file;
        page = le(bytes, 8);
        if (page % 4096 == 0)
            why = image_add_file(im, asid, dump, 4096 * (uint64_t) slot,
                                 4096 * (uint64_t) slot + 4096, page);
    }
    return why;
}

const char *image_add_pages(image *im, const ipt_asid *asid, const char *prefix)
{
    const size_t length = strlen(prefix);
    char *name = malloc(length + 6);
    const char *why = bad_file;
    FILE *addr;
    if (!name) return no_memory;
    memcpy(name, prefix, length);
    memcpy(name + length, ".addr", 6);
    addr = fopen(name, "rb");
    memcpy(name + length, ".dump", 6);
    if (addr) {
        why = add_listed(im, asid, addr, name);
        fclose(addr);
    }
    free(name);
    return why;
}

/* ---- reading ---- */

/* The range at a place of space `at` if it has the byte at ip, and is remembered. */
static const image_range *is_at(image *im, size_t at, image_place p,
                                const ipt_asid *asid, uint64_t ip)
{
    const image_space *const space = &im->spaces[at];
    const image_range *const r = image_range_at(space, p);
    if (!r || ip < r->first || ip > r->last
        || !space_matches(space, asid->cr3, asid->vmcs))
        return NULL;
    im->hit_space = at;
    im->hit = p;
    return r;
}

const image_range *image_find(image *im, const ipt_asid *asid, uint64_t ip)
{
    const image_range *found = im->space_count == 0 ? NULL
        : is_at(im, im->hit_space, im->hit, asid, ip);
    for (size_t i = 0; i < im->space_count && !found; i++)
        found = is_at(im, i, first_from(&im->spaces[i], ip), asid, ip);
    return found;
}

/* Bytes of a section; returns how many are there. */
static size_t read_section(const image_section *section, uint64_t at,
                           uint8_t *buffer, size_t size)
{
    if (section->data) {
        memcpy(buffer, section->data + at, size);
    } else if (section->file) {
        return files_read(section->file, section->from + at, buffer, size);
    } else {
        memset(buffer, 0, size);
    }
    return size;
}

int image_read(uint8_t *buffer, size_t size, const ipt_asid *asid, uint64_t ip,
               void *context)
{
    image *im = context;
    size_t done = 0;
    if (size > INT_MAX) size = INT_MAX;
    while (done < size) {
        uint64_t at = ip + done;
        const image_range *range = at >= ip ? image_find(im, asid, at) : NULL;
        const image_section *section;
        size_t n = size - done;
        size_t got;
        if (!range) break;
        section = &im->sections[range->section - 1];
        if (n - 1 > range->last - at) n = (size_t) (range->last - at) + 1;
        got = read_section(section, at - section->base, buffer + done, n);
        done += got;
        if (got < n) break;
    }
    return done ? (int) done : IPT_NEED_PAGE;
}

int image_read_layers(image *const *layers, unsigned count, uint8_t *buffer,
                      size_t size, uint64_t ip)
{
    size_t done = 0;
    while (done < size && ip + done >= ip) {
        size_t n = size - done;
        size_t gap = n;
        unsigned i;
        int got;
        for (i = 0; i < count; i++) {
            if (layers[i])
                gap = image_gap(layers[i], &image_everywhere, ip + done, n);
            if (gap == 0) break;
            n = gap;
        }
        if (i == count) break;
        got = image_read(buffer + done, n, &image_everywhere, ip + done,
                         layers[i]);
        if (got < 0) break;
        done += (size_t) got;
        if ((size_t) got < n && image_gap(layers[i], &image_everywhere,
                                          ip + done, 1) == 0)
            break; // its file has fewer bytes than it had
    }
    return done ? (int) done : IPT_NEED_PAGE;
}

size_t image_gap(image *im, const ipt_asid *asid, uint64_t ip, size_t size)
{
    for (size_t i = 0; i < im->space_count && size; i++) {
        const image_space *space = &im->spaces[i];
        const image_range *next;
        if (!space_matches(space, asid->cr3, asid->vmcs)) continue;
        next = image_range_at(space, first_from(space, ip));
        if (!next) continue;
        if (next->first <= ip) return 0;
        if (size > next->first - ip) size = (size_t) (next->first - ip);
    }
    return size;
}

uint32_t image_section_at(image *im, const ipt_asid *asid, uint64_t ip)
{
    const image_range *range = image_find(im, asid, ip);
    return range ? range->section : 0;
}
