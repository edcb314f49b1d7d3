/* spaces.c: see spaces.h.
 *
 * Code of a process is in layers, of which an upper one hides what is below:
 * what the user gives (--map), what JIT compilers wrote, what was mapped. All
 * of it is in files, or in memory that looks like one, so that a copy of a
 * layer is a copy of places.
 *
 * SPDX-License-Identifier: MIT */
#include "spaces.h"
#include "../code/code.h"
#include "../code/jitdump.h"
#include "../code/kallsyms.h"
#include <stdlib.h>
#include <string.h>

/* What a recording may make grow: mappings and JIT functions of all processes;
 * changes of kernel code, in bytes; pieces of JIT code, records that are read
 * for them, files of them. */
#define SOME_SECTIONS 4096u
#define ALL_SECTIONS 2097152u
#define POKED_BYTES (1u << 26)
#define JIT_PIECES (1u << 22)
#define JIT_STEPS (1u << 26)
#define JIT_FILES 4096u

#define KERNEL_HALF ((uint64_t) 1 << 63)

static int is_kernel(uint64_t ip)
{
    return (ip & KERNEL_HALF) != 0;
}

/* ---- messages ---- */

static int complain(const spaces *s, const char *name, const char *why)
{
    fprintf(stderr, "%s: ", s->args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", why);
    return 1;
}

/* What there was no memory for is not seen. */
static int out_of_memory(spaces *s)
{
    s->losses.no_memory++;
    return 0;
}

/* ---- code and processes ---- */

void spaces_init(spaces *s, const tool_args *args)
{
    memset(s, 0, sizeof *s);
    s->args = args;
    binaries_init(&s->files);
    image_init(&s->kernel);
    image_init(&s->poked);
    s->poke_limit = SOME_SECTIONS;
}

/* After unused sections were dropped and `sections` are left: the number at
 * which to look for unused ones again. */
static size_t limit_of(size_t sections)
{
    return 2 * sections + SOME_SECTIONS;
}

static spaces_code *new_code(spaces *s)
{
    spaces_code *code = (spaces_code *) calloc(1, sizeof *code);
    if (!code) return NULL;
    image_init(&code->seen);
    image_init(&code->jit);
    image_init(&code->absent);
    filters_begin(&s->filters, code->filter);
    code->users = 1;
    code->limit = SOME_SECTIONS;
    code->number = ++s->numbers;
    return code;
}

static size_t sections_of(const spaces_code *code)
{
    return (size_t) code->seen.section_count + code->jit.section_count
         + code->absent.section_count;
}

static void free_code(spaces_code *code)
{
    image_free(&code->seen);
    image_free(&code->jit);
    image_free(&code->absent);
    free(code);
}

static void drop_code(spaces *s, spaces_code *code)
{
    if (!code || --code->users) return;
    s->sections -= sections_of(code);
    free_code(code);
}

static spaces_code *copy_code(spaces *s, const spaces_code *from)
{
    spaces_code *code = new_code(s);
    if (!code) return NULL;
    if (s->sections > ALL_SECTIONS || image_copy(&code->seen, &from->seen)
        || image_copy(&code->jit, &from->jit)
        || image_copy(&code->absent, &from->absent)) {
        free_code(code);
        return NULL;
    }
    memcpy(code->filter, from->filter, sizeof code->filter);
    s->sections += sections_of(code);
    return code;
}

/* What the user says of a process; NULL: nothing but what is for all. */
static spaces_place *place_of(const spaces *s, uint32_t pid)
{
    for (size_t i = 0; i < s->place_count; i++)
        if (s->places[i].pid == pid) return &s->places[i];
    return NULL;
}

static spaces_process *get_process(spaces *s, uint32_t pid)
{
    spaces_process *p = (spaces_process *) pids_find(&s->processes, pid);
    if (p) return p;
    p = (spaces_process *) calloc(1, sizeof *p);
    if (p) p->code = new_code(s);
    if (!p || !p->code || pids_set(&s->processes, pid, p)) {
        if (p) drop_code(s, p->code);
        free(p);
        s->losses.no_memory++;
        return NULL;
    }
    p->pid = pid;
    p->place = place_of(s, pid);
    return p;
}

/* Make the code of a process its own, with room for one more section; 0
 * without memory. */
static int own_code(spaces *s, spaces_process *p)
{
    size_t before;
    int failed = s->sections > ALL_SECTIONS;
    if (!failed && p->code->users > 1) {
        spaces_code *own = copy_code(s, p->code);
        failed = !own;
        if (own) {
            drop_code(s, p->code);
            p->code = own;
        }
    }
    before = sections_of(p->code);
    if (!failed && before >= p->code->limit) {
        failed = image_forget(&p->code->seen) || image_forget(&p->code->jit)
              || image_forget(&p->code->absent);
        s->sections -= before - sections_of(p->code);
        p->code->limit = limit_of(sections_of(p->code));
    }
    s->losses.no_memory += failed != 0;
    return !failed;
}

/* Code of [ip, ip + size) has changed. */
static int changed(spaces_change *change, uint32_t pid, uint64_t ip,
                   uint64_t size)
{
    change->pid = pid;
    change->ip = ip;
    change->size = size;
    change->is_new = 0;
    return 1;
}

/* The process has other code from now on, which has another number. */
static int replace_code(spaces *s, spaces_process *p, spaces_code *code,
                        spaces_change *change)
{
    if (!code) {
        s->losses.no_memory++;
        return 0;
    }
    changed(change, p->pid, 0, 0);
    change->is_new = sections_of(p->code) == 0;
    drop_code(s, p->code);
    p->code = code;
    p->life++;
    return 1;
}

/* Put a part of a file into a layer of a process' code. */
static const char *put_part(spaces *s, image *layer, const files_file *file,
                            uint64_t from, uint64_t size, uint64_t ip)
{
    const uint32_t before = layer->section_count;
    const uint64_t to = size > UINT64_MAX - from ? UINT64_MAX : from + size;
    const char *why = image_add_part(layer, NULL, file, from, to, ip);
    s->sections += layer->section_count - before;
    return why;
}

/* ---- mappings ---- */

/* Where files of a process are looked for; NULL: at their names. */
static const char *folder_of(const spaces *s, const spaces_process *p)
{
    const spaces_place *all;
    if (p->place && p->place->folder) return p->place->folder;
    all = place_of(s, UINT32_MAX);
    return all ? all->folder : NULL;
}

/* Does a layer show nothing in [ip, ip + size)? */
static int is_free(image *layer, uint64_t ip, uint64_t size)
{
    return image_gap(layer, &image_everywhere, ip, (size_t) size) == size;
}

/* Is all of [ip, ip + size) from this place in the file already? */
static int is_shown(image *layer, const files_file *file, uint64_t from,
                    uint64_t ip, uint64_t size)
{
    const image_range *range = image_find(layer, &image_everywhere, ip);
    const image_section *section;
    if (!range) return 0;
    section = &layer->sections[range->section - 1];
    if (from < file->size && size > file->size - from)
        size = file->size - from; // what is mapped after its end is zeros
    return section->file == file && size - 1 <= range->last - ip
        && section->from + (ip - section->base) == from;
}

static void keep_no_file(spaces *s, const char *name)
{
    for (size_t i = 0; i < SPACES_NO_FILE; i++) {
        if (!s->no_file[i]) {
            s->no_file[i] = tool_copy(name, strlen(name));
            return;
        }
        if (strcmp(s->no_file[i], name) == 0) return;
    }
}

/* Keep the first names, to be shown: each once, where it was looked for. */
static void note_no_file(spaces *s, const char *folder, const char *name)
{
    char *const path = folder && *name == '/' ? tool_join(folder, name + 1)
                                              : NULL;
    s->losses.no_file++;
    keep_no_file(s, path ? path : name);
    free(path);
}

/* What stands for a file that is not there: one that is as large as can be and
 * of which nothing is read. */
static const files_file *absent_file(spaces *s, const char *name)
{
    static const uint8_t nothing;
    char *const key = tool_join("[not there]", name);
    files_file *const file =
        key ? files_put(&s->files.disk, key, &nothing, UINT64_MAX) : NULL;
    free(key);
    if (file && !file->mapped) file->mapped = tool_copy(name, strlen(name));
    return file && file->mapped ? file : NULL;
}

/* The file of a mapping, if it is one and of the build that ran. */
static const files_file *mapped_file(spaces *s, const spaces_process *p,
                                   const perfdata_record *r)
{
    files_file *file;
    const char *name = r->u.mmap.name;
    switch (binaries_find(&s->files, folder_of(s, p), name,
                          r->u.mmap.build_id, r->u.mmap.build_id_size,
                          &file)) {
    case BINARIES_FOUND: return file;
    case BINARIES_NO_FILE:
        note_no_file(s, folder_of(s, p), name);
        return NULL;
    case BINARIES_OTHER: break;
    default: return NULL;
    }
    s->losses.other_build++;
    if (!file->was_told)
        complain(s, name, s->force ? "warning: other version of the file"
                 : "other version of the file; --force takes it");
    file->was_told = 1;
    return s->force ? file : NULL;
}

/* Where filters that name a function are, once its file is known. */
static void find_symbols(spaces *s, const char *name, const files_file *file)
{
    for (unsigned i = 0; file && s->symbol && i < s->filters.count; i++) {
        filters_item *const item = &s->filters.list[i];
        uint64_t size = 0;
        if (!item->symbol || strcmp(item->file, name) != 0) continue;
        if (!s->symbol(file, item->symbol, &item->first, &size, s->context))
            continue;
        if (!item->size) item->size = size;
        item->symbol = NULL;
    }
}

/* A file that filters may be about is mapped. */
static void apply_filters(spaces *s, spaces_process *p,
                          const perfdata_record *r, const files_file *file)
{
    const char *const name = r->u.mmap.name;
    if (!filters_name(&s->filters, name)) return;
    find_symbols(s, name, file);
    if (own_code(s, p))
        filters_map(&s->filters, p->code->filter, name, r->u.mmap.addr,
                    r->u.mmap.len, r->u.mmap.pgoff);
}

/* Memory without a file may hold code that a JIT compiler named. It stays:
 * mprotect writes such a record, too. */
static int apply_user_map(spaces *s, const perfdata_record *r,
                          spaces_change *change)
{
    const uint64_t ip = r->u.mmap.addr;
    const uint64_t size = r->u.mmap.len;
    const int is_code = r->type == PERFDATA_MMAP2
        ? (r->u.mmap.prot & 4) != 0
        : !(r->misc & PERFDATA_MISC_MMAP_DATA);
    spaces_process *p = get_process(s, r->u.mmap.pid);
    const files_file *file;
    const char *why = NULL;
    int is_new;
    if (!p || size == 0 || size - 1 > UINT64_MAX - ip) return 0;
    is_new = is_free(&p->code->seen, ip, size)
          && is_free(&p->code->jit, ip, size);
    file = is_code ? mapped_file(s, p, r) : NULL;
    if (is_code) apply_filters(s, p, r, file);
    if (file && is_shown(&p->code->seen, file, r->u.mmap.pgoff, ip, size)
        && is_free(&p->code->jit, ip, size))
        return 0;
    if (!own_code(s, p)) return 0;
    if (image_hide(&p->code->seen, ip, ip + (size - 1))
        || (binaries_is_file(r->u.mmap.name)
            && image_hide(&p->code->jit, ip, ip + (size - 1))))
        out_of_memory(s);
    if (image_hide(&p->code->absent, ip, ip + (size - 1))) out_of_memory(s);
    if (!file && is_code && binaries_is_file(r->u.mmap.name)) {
        const files_file *const absent = absent_file(s, r->u.mmap.name);
        if (!absent || put_part(s, &p->code->absent, absent, 0, size, ip))
            out_of_memory(s);
    }
    if (file)
        why = put_part(s, &p->code->seen, file, r->u.mmap.pgoff, size, ip);
    s->losses.no_file += why != NULL;
    changed(change, p->pid, ip, size);
    change->is_new = (uint8_t) is_new;
    return 1;
}

/* ---- the kernel ---- */

/* Bytes of changed code, as a file. */
static const files_file *add_poked(spaces *s, const uint8_t *bytes,
                                   size_t size, uint64_t *from)
{
    if (s->poked_count + size > POKED_BYTES) return NULL;
    if (s->poked_count + size > s->poked_max) {
        const size_t max = 2 * s->poked_max + 65536;
        if (!tool_grow(&s->poked_bytes, max, 1)) return NULL;
        s->poked_max = max;
    }
    memcpy(s->poked_bytes + s->poked_count, bytes, size);
    *from = s->poked_count;
    s->poked_count += size;
    return files_put(&s->files.disk, "[text poke]", s->poked_bytes,
                     s->poked_count);
}

/* Let an image of the kernel show what it was changed to. */
static int poke(spaces *s, image *to, uint64_t ip, const uint8_t *bytes,
                size_t size)
{
    uint64_t from;
    const files_file *file;
    if (size == 0) return 1;
    if (to->section_count >= s->poke_limit) {
        if (image_forget(to) || to->section_count > ALL_SECTIONS)
            return out_of_memory(s);
        s->poke_limit = limit_of(to->section_count);
    }
    file = add_poked(s, bytes, size, &from);
    if (!file || image_add_part(to, NULL, file, from, from + size, ip))
        return out_of_memory(s);
    return 1;
}

/* No code is known there from now on. */
static int hide_kernel(spaces *s, uint64_t ip, uint64_t size,
                       spaces_change *change)
{
    if (size == 0 || size - 1 > UINT64_MAX - ip) return 0;
    if (image_hide(&s->kernel, ip, ip + (size - 1))) out_of_memory(s);
    return changed(change, SPACES_KERNEL, ip, size);
}

static int apply_poke(spaces *s, const perfdata_record *r,
                      spaces_change *change)
{
    const uint64_t ip = r->u.text_poke.addr;
    const size_t before = r->u.text_poke.old_len;
    const size_t size = r->u.text_poke.new_len;
    const size_t all = before > size ? before : size;
    if (all == 0 || all - 1 > UINT64_MAX - ip) return 0;
    if (all > size) hide_kernel(s, ip + size, all - size, change);
    poke(s, &s->kernel, ip, r->u.text_poke.new_bytes, size);
    return changed(change, SPACES_KERNEL, ip, all);
}

/* Code that came while recording is not in the copy that was made when it
 * began, or something else is there. */
static int apply_symbol(spaces *s, const perfdata_record *r,
                        spaces_change *change)
{
    if (r->sample.time == 0 && !(r->u.ksymbol.flags & 1)) return 0;
    s->losses.kernel_gone++;
    return hide_kernel(s, r->u.ksymbol.addr, r->u.ksymbol.len, change);
}

static int apply_module(spaces *s, const perfdata_record *r,
                        spaces_change *change)
{
    if (r->sample.time == 0 || strncmp(r->u.mmap.name, "[kernel.", 8) == 0)
        return 0;
    s->losses.kernel_gone++;
    return hide_kernel(s, r->u.mmap.addr, r->u.mmap.len, change);
}

/* ---- JIT code ---- */

/* A record of a file, and when it takes effect. */
typedef struct jit_piece {
    uint64_t time;
    uint64_t offset;
} jit_piece;

/* A jitdump file that a process has. */
typedef struct spaces_jit {
    const files_file *file;
    spaces_process *process;
    uint64_t life; /* of the process: after an exec it is over */
    jit_piece *pieces; /* by time */
    size_t count;
    size_t next;   /* jit_piece */
} spaces_jit;

static int by_time(const void *a, const void *b)
{
    const jit_piece *x = (const jit_piece *) a;
    const jit_piece *y = (const jit_piece *) b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static uint64_t due(const spaces_jit *jit)
{
    return jit->pieces[jit->next].time;
}

static void swap_jits(spaces *s, size_t a, size_t b)
{
    spaces_jit *const jit = s->jits[a];
    s->jits[a] = s->jits[b];
    s->jits[b] = jit;
}

/* Files are a heap: none is due before the one in front of it, (i - 1) / 2. */
static void sink(spaces *s, size_t i)
{
    size_t child;
    while ((child = 2 * i + 1) < s->jit_count) {
        if (child + 1 < s->jit_count
            && due(s->jits[child + 1]) < due(s->jits[child]))
            child++;
        if (due(s->jits[i]) <= due(s->jits[child])) return;
        swap_jits(s, i, child);
        i = child;
    }
}

static void rise(spaces *s, size_t i)
{
    for (; i && due(s->jits[i]) < due(s->jits[(i - 1) / 2]); i = (i - 1) / 2)
        swap_jits(s, i, (i - 1) / 2);
}

static void free_jit(spaces *s, spaces_jit *jit)
{
    s->jit_pieces -= jit->count;
    free(jit->pieces);
    free(jit);
}

/* When a piece takes effect. Without the trace's clock that is at once, for
 * the first code at an address. */
static uint64_t piece_time(spaces *s, const jitdump *dump,
                           const jitdump_record *r, image *first)
{
    if (!s->has_time) return 0;
    if (dump->is_tsc)
        return perfdata_ns(s->time[0], s->time[1], s->time[2], r->time);
    if (r->type == JITDUMP_LOAD && r->size > 0
        && image_gap(first, &image_everywhere, r->addr, (size_t) r->size)
               == r->size
        && !image_add_part(first, NULL, dump->file, r->from,
                           r->from + r->size, r->addr))
        return 0;
    return r->time;
}

/* Read all records of a file. Returns 0, or -1 if there are too many. */
static int read_pieces(spaces *s, jitdump *dump, spaces_jit *jit)
{
    size_t max = 0;
    int status;
    int is_unsure = 0;
    jitdump_record r;
    image first;
    image_init(&first);
    while ((status = jitdump_next(dump, &r)) > 0) {
        jit_piece *to;
        if (++s->jit_steps > JIT_STEPS || s->jit_pieces > JIT_PIECES) break;
        if (r.type == JITDUMP_OTHER || r.size == 0) continue;
        if (jit->count == max) {
            max = 2 * max + 64;
            if (!tool_grow(&jit->pieces, max, sizeof *jit->pieces)) break;
        }
        to = &jit->pieces[jit->count++];
        to->offset = r.offset;
        to->time = piece_time(s, dump, &r, &first);
        is_unsure |= s->has_time && !dump->is_tsc && to->time;
        s->jit_pieces++;
    }
    image_free(&first);
    s->losses.jit_damaged += status < 0;
    s->losses.jit_unsure += is_unsure != 0;
    if (jit->count)
        qsort(jit->pieces, jit->count, sizeof *jit->pieces, by_time);
    return status > 0 ? -1 : 0;
}

/* The process has mapped this file already. */
static int has_jit(const spaces *s, const spaces_process *p,
                   const files_file *file)
{
    for (size_t i = 0; i < s->jit_count; i++)
        if (s->jits[i]->process == p && s->jits[i]->file == file
            && s->jits[i]->life == p->life)
            return 1;
    return 0;
}

static void add_jit(spaces *s, spaces_process *p, const files_file *file)
{
    jitdump dump;
    spaces_jit *jit;
    if (jitdump_open(&dump, file)) {
        s->losses.jit_damaged++;
        return;
    }
    jit = (spaces_jit *) calloc(1, sizeof *jit);
    if (!jit) {
        out_of_memory(s);
        return;
    }
    jit->file = file;
    jit->process = p;
    jit->life = p->life;
    if (read_pieces(s, &dump, jit)) out_of_memory(s);
    if (jit->count == 0) {
        free_jit(s, jit);
        return;
    }
    s->jits[s->jit_count] = jit;
    rise(s, s->jit_count++);
}

/* A JIT compiler maps its file, so that a record names it. */
static void see_jit(spaces *s, const perfdata_record *r)
{
    spaces_process *p;
    files_file *file;
    if (!jitdump_is_name(r->u.mmap.name)) return;
    p = get_process(s, r->u.mmap.pid);
    if (!p) return;
    if (s->jit_count == s->jit_max) {
        const size_t max = 2 * s->jit_max + 16;
        if (max > JIT_FILES || !tool_grow(&s->jits, max, sizeof *s->jits)) {
            out_of_memory(s);
            return;
        }
        s->jit_max = max;
    }
    if (binaries_find(&s->files, folder_of(s, p), r->u.mmap.name, NULL, 0,
                      &file) != BINARIES_FOUND || has_jit(s, p, file))
        return;
    add_jit(s, p, file);
}

uint64_t spaces_next(const spaces *s)
{
    return s->jit_count ? due(s->jits[0]) : UINT64_MAX;
}

/* Code that was moved is what is at its old address. What has changed is from
 * there to the new one. */
static int move_piece(spaces *s, spaces_process *p, const jitdump_record *r,
                      spaces_change *change)
{
    image *const jit = &p->code->jit;
    const image_range *at = image_find(jit, &image_everywhere, r->from);
    const uint64_t first = r->from < r->addr ? r->from : r->addr;
    const uint64_t last = (r->from > r->addr ? r->from : r->addr)
        + (r->size - 1);
    const image_section *section;
    const files_file *file;
    uint64_t from;
    if (!at || r->size - 1 > at->last - r->from) return 0;
    section = &jit->sections[at->section - 1];
    file = section->file;
    from = section->from + (r->from - section->base);
    if (image_hide(jit, r->from, r->from + (r->size - 1))
        || put_part(s, jit, file, from, r->size, r->addr))
        out_of_memory(s);
    return changed(change, p->pid, first, last - first + 1);
}

static int show_piece(spaces *s, spaces_jit *jit, spaces_change *change)
{
    spaces_process *const p = jit->process;
    jitdump_record r;
    jitdump dump;
    if (p->life != jit->life || jitdump_open(&dump, jit->file)) return 0;
    dump.next = jit->pieces[jit->next].offset;
    if (jitdump_next(&dump, &r) <= 0 || r.size - 1 > UINT64_MAX - r.addr
        || !own_code(s, p))
        return 0;
    if (r.type == JITDUMP_MOVE) return move_piece(s, p, &r, change);
    if (put_part(s, &p->code->jit, jit->file, r.from, r.size, r.addr))
        return out_of_memory(s);
    return changed(change, p->pid, r.addr, r.size);
}

int spaces_advance(spaces *s, uint64_t time, spaces_change *change)
{
    while (s->jit_count && due(s->jits[0]) <= time) {
        spaces_jit *const jit = s->jits[0];
        const int has_changed = show_piece(s, jit, change);
        if (++jit->next == jit->count || jit->process->life != jit->life) {
            free_jit(s, jit);
            s->jits[0] = s->jits[--s->jit_count];
        }
        sink(s, 0);
        if (has_changed) return 1;
    }
    return 0;
}

/* ---- records ---- */

static int apply_map(spaces *s, const perfdata_record *r,
                     spaces_change *change)
{
    int has_changed;
    switch (r->misc & PERFDATA_MISC_CPUMODE_MASK) {
    case PERFDATA_MISC_KERNEL: return apply_module(s, r, change);
    case 0:
    case PERFDATA_MISC_USER: break;
    default: return 0; // of a guest
    }
    has_changed = apply_user_map(s, r, change);
    see_jit(s, r);
    return has_changed;
}

/* A new process begins with its parent's code; of one that perf record found
 * in /proc the own mappings follow. */
static int apply_fork(spaces *s, const perfdata_record *r,
                      spaces_change *change)
{
    const int is_copy = !(r->misc & PERFDATA_MISC_FORK_EXEC);
    const spaces_process *parent;
    spaces_process *p;
    spaces_code *code = NULL;
    if (r->u.task.pid == r->u.task.ppid) return 0; // a thread
    p = get_process(s, r->u.task.pid);
    parent = (spaces_process *) pids_find(&s->processes, r->u.task.ppid);
    if (!p || (!parent && !is_copy)) return 0;
    if (parent && !place_of(s, p->pid)) p->place = parent->place;
    if (parent && is_copy && p->place == parent->place) {
        code = parent->code;
        code->users++;
    } else if (parent && is_copy) {
        code = copy_code(s, parent->code);
    } else {
        code = new_code(s);
    }
    return replace_code(s, p, code, change);
}

static int apply_comm(spaces *s, const perfdata_record *r,
                      spaces_change *change)
{
    spaces_process *p;
    if (!(r->misc & PERFDATA_MISC_COMM_EXEC)) return 0;
    p = get_process(s, r->u.comm.pid);
    return p ? replace_code(s, p, new_code(s), change) : 0;
}

int spaces_apply(spaces *s, const perfdata_record *r, spaces_change *change)
{
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: return apply_map(s, r, change);
    case PERFDATA_FORK: return apply_fork(s, r, change);
    case PERFDATA_COMM: return apply_comm(s, r, change);
    case PERFDATA_TEXT_POKE: return apply_poke(s, r, change);
    case PERFDATA_KSYMBOL: return apply_symbol(s, r, change);
    default: return 0;
    }
}

/* ---- reading ---- */

/* The layers of code at an address that a view sees, uppermost first. */
static unsigned layers_of(const spaces_view *view, const ipt_asid *asid,
                          uint64_t ip, image **layer)
{
    spaces *const s = view->all;
    const spaces_process *const p
        = (const spaces_process *) pids_find(&s->processes, view->pid);
    const spaces_place *const all = place_of(s, UINT32_MAX);
    unsigned count = 0;
    if (asid->nr && s->guest) layer[count++] = s->guest;
    if (asid->nr && !s->is_bare) return count;
    if (p && p->place && p->place->map) layer[count++] = p->place->map;
    if (all && all->map) layer[count++] = all->map;
    if (is_kernel(ip)) layer[count++] = &s->kernel;
    if (p && (s->is_bare || !is_kernel(ip))) {
        layer[count++] = &p->code->jit;
        layer[count++] = &p->code->seen;
    }
    return count;
}

#define LAYERS 6

int spaces_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                uint64_t ip, void *context)
{
    image *layer[LAYERS];
    const unsigned count = layers_of((const spaces_view *) context, asid, ip,
                                     layer);
    return image_read_layers(layer, count, buffer, size, ip);
}

const char *spaces_absent(const spaces_view *view, uint64_t ip,
                          uint64_t *first, uint64_t *last)
{
    const spaces_process *const p =
        (const spaces_process *) pids_find(&view->all->processes, view->pid);
    const image_range *const at =
        p ? image_find(&p->code->absent, &image_everywhere, ip) : NULL;
    if (!at) return NULL;
    *first = at->first;
    *last = at->last;
    return p->code->absent.sections[at->section - 1].file->mapped;
}

const ipt_filter *spaces_filter(const spaces *s, uint32_t pid)
{
    const spaces_process *p;
    if (!s->filters.count) return NULL;
    p = (const spaces_process *) pids_find(&s->processes, pid);
    return p ? p->code->filter : s->kernel_filter;
}

uint64_t spaces_number(const ipt_asid *asid, void *context)
{
    const spaces_view *const view = (const spaces_view *) context;
    const spaces_process *p;
    if (asid->nr) return UINT64_MAX;
    p = (const spaces_process *) pids_find(&view->all->processes, view->pid);
    return p ? p->code->number : 0;
}

int spaces_find(const spaces_view *view, const ipt_asid *asid, uint64_t ip,
                spaces_found *found)
{
    image *layer[LAYERS];
    const unsigned count = layers_of(view, asid, ip, layer);
    for (unsigned i = 0; i < count; i++) {
        const image_range *range = image_find(layer[i], &image_everywhere,
                                              ip);
        const image_section *section;
        if (!range) continue;
        section = &layer[i]->sections[range->section - 1];
        found->file = section->file;
        found->name = section->file && section->file->mapped
                          ? section->file->mapped : section->name;
        found->offset = section->from + (ip - section->base);
        found->first = range->first;
        found->last = range->last;
        return 1;
    }
    return 0;
}

/* ---- options ---- */

/* [PID:]TEXT: the place of PID, or of all others; *text is moved after it.
 * NULL without memory. */
static spaces_place *get_place(spaces *s, const char **text)
{
    const size_t digits = strspn(*text, "0123456789");
    uint32_t pid = UINT32_MAX;
    spaces_place *place;
    if (digits > 0 && digits < 10 && (*text)[digits] == ':') {
        pid = (uint32_t) strtoul(*text, NULL, 10);
        *text += digits + 1;
    }
    place = place_of(s, pid);
    if (place) return place;
    if (!tool_grow(&s->places, s->place_count + 1, sizeof *s->places))
        return NULL;
    place = &s->places[s->place_count++];
    memset(place, 0, sizeof *place);
    place->pid = pid;
    return place;
}

static image *get_image(image **to)
{
    if (!*to) {
        *to = (image *) malloc(sizeof **to);
        if (*to) image_init(*to);
    }
    return *to;
}

static int add_map(const tool_args *args, image **to, const char *folder)
{
    image *map;
    if (!tool_is_there(args, folder)) return -1;
    map = get_image(to);
    return map && code_add_map(args, map, folder) == 0 ? -1 : 1;
}

static int take_word(tool_args *args, const char *option, const char **to)
{
    *to = tool_argument(args, option);
    return *to ? -1 : args->wrong;
}

int spaces_option(tool_args *args, spaces *s, const char *word)
{
    const int is_symfs = strcmp(word, "--symfs") == 0;
    const char *text;
    spaces_place *place;
    if (strcmp(word, "--buildid-dir") == 0)
        return take_word(args, word, &s->files.cache);
    if (strcmp(word, "--vdso") == 0)
        return take_word(args, word, &s->files.vdso);
    if (strcmp(word, "--kcore") == 0) return take_word(args, word, &s->kcore);
    if (strcmp(word, "--kallsyms") == 0)
        return take_word(args, word, &s->kallsyms);
    if (strcmp(word, "--force") == 0) {
        s->force = 1;
        return -1;
    }
    if (strcmp(word, "--guest-map") == 0)
        return take_word(args, word, &text) < 0
            ? add_map(args, &s->guest, text) : args->wrong;
    if (!is_symfs && strcmp(word, "--map") != 0) return 0;
    if (take_word(args, word, &text) > 0) return args->wrong;
    place = get_place(s, &text);
    if (!place) return complain(s, text, "out of memory");
    if (!is_symfs && place->pid == UINT32_MAX) s->map = text;
    if (!is_symfs) return add_map(args, &place->map, text);
    place->folder = text;
    return -1;
}

const char *spaces_folder(const spaces *s)
{
    const spaces_place *const all = place_of(s, UINT32_MAX);
    return all ? all->folder : NULL;
}

const char *spaces_bare(spaces *s)
{
    spaces_place *const all = place_of(s, UINT32_MAX);
    const char *const folder = spaces_folder(s);
    s->is_bare = 1;
    if (all) all->folder = NULL;
    return folder;
}

/* ---- the kernel before it was changed ---- */

/* Of code that is changed several times the first change says what was there
 * before. Where there was none, the image has zeros from no file. */
static void index_poke(spaces *s, const perfdata_record *r)
{
    const uint64_t ip = r->u.text_poke.addr;
    const size_t before = r->u.text_poke.old_len;
    const size_t size = before ? before : r->u.text_poke.new_len;
    size_t at = 0;
    if (size == 0 || size - 1 > UINT64_MAX - ip) return;
    while (at < size) {
        const size_t gap = image_gap(&s->poked, &image_everywhere, ip + at,
                                     size - at);
        const image_range *range;
        if (gap == 0) {
            range = image_find(&s->poked, &image_everywhere, ip + at);
            if (range->last - ip >= size - 1) return;
            at = (size_t) (range->last - ip) + 1;
        } else if (before) {
            if (!poke(s, &s->poked, ip + at, r->u.text_poke.old_bytes + at,
                      gap))
                return;
            at += gap;
        } else {
            if (image_add(&s->poked, NULL, "none", 0, NULL, gap, ip + at))
                out_of_memory(s);
            at += gap;
        }
    }
}

static void show_unpoked(spaces *s)
{
    const image_space *const all = s->poked.spaces;
    image_place p = {0, 0};
    const image_range *range;
    for (; s->poked.space_count && (range = image_range_at(all, p));
         p = image_after(all, p)) {
        const image_section *section = &s->poked.sections[range->section - 1];
        const uint64_t from = section->from + (range->first - section->base);
        const uint64_t to = from + (range->last - range->first) + 1;
        const char *why = section->file
            ? image_add_part(&s->kernel, NULL, section->file, from, to,
                             range->first)
            : image_hide(&s->kernel, range->first, range->last);
        if (why) out_of_memory(s);
    }
    image_free(&s->poked);
}

/* The record of the kernel's own mapping: [kernel.kallsyms]_text, whose pgoff
 * is the address of that symbol. */
static void index_kernel(spaces *s, const perfdata_record *r)
{
    static const char name[] = "[kernel.kallsyms]";
    const char *symbol = r->u.mmap.name + sizeof name - 1;
    if ((r->misc & PERFDATA_MISC_CPUMODE_MASK) != PERFDATA_MISC_KERNEL
        || strncmp(r->u.mmap.name, name, sizeof name - 1) != 0)
        return;
    s->is_stext = strcmp(symbol, "_stext") == 0;
    if (s->is_stext || strcmp(symbol, "_text") == 0)
        s->kernel_symbol = r->u.mmap.pgoff;
}

char *spaces_kallsyms(const spaces *s)
{
    const char *const folder = s->kcore ? s->kcore
                             : s->own_kcore ? s->own_kcore : s->map;
    if (s->kallsyms) return tool_copy(s->kallsyms, strlen(s->kallsyms));
    return folder ? tool_join(folder, "kallsyms") : NULL;
}

const files_file *spaces_vmlinux(spaces *s)
{
    char *const path = s->map ? tool_join(s->map, "vmlinux") : NULL;
    const files_file *const file = path ? files_get(&s->files.disk, path)
                                        : NULL;
    free(path);
    return file;
}

int spaces_kernel(spaces *s, const char *name, uint64_t base)
{
    const files_file *const file = files_get(&s->files.disk, name);
    const char *why = file ? NULL : "cannot open it";
    image asked; /* at the addresses that the file asks for */
    image_init(&asked);
    if (!why) why = image_add_segments(&asked, NULL, file);
    for (uint32_t i = 0; i < asked.section_count && !why; i++) {
        const image_section *const part = &asked.sections[i];
        if (!is_kernel(part->base)) continue; /* data of cpus */
        why = image_add_part(&s->kernel, NULL, file, part->from,
                             part->from + part->size,
                             part->base - asked.sections->base + base);
    }
    image_free(&asked);
    s->kernel_file = file;
    return why ? complain(s, name, why) : 0;
}

uint64_t spaces_in_kernel(const spaces *s, uint64_t offset)
{
    for (uint32_t i = 0; i < s->kernel.section_count; i++) {
        const image_section *const part = &s->kernel.sections[i];
        if (part->file == s->kernel_file && offset >= part->from
            && offset - part->from < part->size)
            return part->base + (offset - part->from);
    }
    return 0;
}

/* Was the kernel at these addresses when the copy was made? */
static int is_same_boot(spaces *s, const char *folder)
{
    char *path = tool_join(folder, "kallsyms");
    const uint64_t at = path && s->kernel_symbol
        ? kallsyms_find(path, s->is_stext ? "_stext" : "_text") : 0;
    const int is_same = at == 0 || at == s->kernel_symbol;
    if (!is_same) {
        s->losses.other_build++;
        complain(s, path, s->force ? "warning: of another boot of the kernel"
                 : "of another boot of the kernel; --force takes it");
    }
    free(path);
    return is_same || s->force;
}

/* A folder with kcore, or that file. */
static int add_kcore(spaces *s)
{
    const char *name = s->kcore ? s->kcore : s->own_kcore;
    const files_file *file = NULL;
    const char *why = "not a file";
    char *path;
    if (!name || (s->kcore && !tool_is_there(s->args, name))) return 0;
    path = tool_join(name, "kcore");
    if (path) file = files_get(&s->files.disk, path);
    free(path);
    if (file && !is_same_boot(s, name)) return 0;
    if (!file) file = files_get(&s->files.disk, name);
    if (file) why = image_add_segments(&s->kernel, NULL, file);
    if (why && (file || s->kcore)) return complain(s, name, why);
    return 0;
}

/* ---- beginning and end ---- */

/* Where it was traced. */
static void index_filters(spaces *s, const char *text)
{
    filters_free(&s->filters);
    switch (filters_parse(&s->filters, text)) {
    case FILTERS_OK: break;
    case FILTERS_NO_MEMORY: out_of_memory(s); break;
    default:
        complain(s, text, "warning: these filters are not understood; flow may "
                          "not end where they do");
    }
    filters_begin(&s->filters, s->kernel_filter);
}

void spaces_index(spaces *s, const perfdata_record *r)
{
    if (r->type == PERFDATA_AUXTRACE_INFO && r->u.info.kind == 1) {
        const uint64_t *const word = r->u.info.word;
        index_filters(s, r->u.info.filter);
        memcpy(s->time, &word[PERFDATA_PT_TIME_SHIFT], sizeof s->time);
        s->has_time = word[PERFDATA_PT_CAP_USER_TIME_ZERO] != 0;
    } else if (r->type == PERFDATA_BUILD_ID
               && (r->misc & PERFDATA_MISC_CPUMODE_MASK)
                      == PERFDATA_MISC_USER) {
        if (binaries_note(&s->files, r->u.build_id.name, r->u.build_id.id,
                          r->u.build_id.size))
            out_of_memory(s);
    } else if (r->type == PERFDATA_TEXT_POKE) {
        index_poke(s, r);
    } else if (r->type == PERFDATA_MMAP) {
        index_kernel(s, r);
    }
}

void spaces_open(spaces *s, const perfdata *file, const char *folder)
{
    const char *home = getenv("HOME");
    if (binaries_open(&s->files, file)) out_of_memory(s);
    if (!s->files.cache && home) {
        s->own_cache = tool_join(home, ".debug");
        s->files.cache = s->own_cache;
    }
    if (!s->kcore && folder) s->own_kcore = tool_join(folder, "kcore_dir");
}

int spaces_start(spaces *s)
{
    if (s->kallsyms) tool_is_there(s->args, s->kallsyms);
    if (s->files.vdso) tool_is_there(s->args, s->files.vdso);
    binaries_sort(&s->files);
    for (size_t i = 0; i < s->place_count; i++)
        if (s->places[i].pid != UINT32_MAX) get_process(s, s->places[i].pid);
    if (add_kcore(s)) return 1;
    show_unpoked(s);
    return 0;
}

static void free_map(image *map)
{
    if (map) image_free(map);
    free(map);
}

void spaces_free(spaces *s)
{
    for (size_t i = 0; i < s->jit_count; i++) free_jit(s, s->jits[i]);
    for (size_t i = 0; i < SPACES_NO_FILE; i++) free(s->no_file[i]);
    for (size_t i = 0; i < s->processes.size; i++) {
        spaces_process *p = (spaces_process *) s->processes.slots[i].item;
        if (p) drop_code(s, p->code);
        free(p);
    }
    for (size_t i = 0; i < s->place_count; i++) free_map(s->places[i].map);
    free_map(s->guest);
    pids_free(&s->processes);
    image_free(&s->kernel);
    image_free(&s->poked);
    binaries_free(&s->files);
    filters_free(&s->filters);
    free(s->jits);
    free(s->places);
    free(s->poked_bytes);
    free(s->own_cache);
    free(s->own_kcore);
    memset(s, 0, sizeof *s);
}
