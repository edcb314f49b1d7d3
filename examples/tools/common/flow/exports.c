/* exports.c: see exports.h.
 *
 * SPDX-License-Identifier: MIT */
#include "exports.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One of them at work. */
typedef struct writer {
    exports_kind kind;
    FILE *out;
    const ranges *from;
    const exports_choice *choice;
    uint32_t file;  /* whose profile it is: 1 + its index; 0: all, or none */
    int failed;     /* there was no memory */
    image segments; /* ... at the addresses that its linker chose */
} writer;

const char *exports_option(exports_kind kind)
{
    static const char *const names[EXPORTS_KINDS] = {
        "--bolt", "--autofdo", "--lcov", "--drcov"};
    return names[kind];
}

/* ---- one file ---- */

/* Of the name that the kernel gives a thread, 15 bytes are kept. */
static int is_program(const session *s, const char *name)
{
    for (size_t i = 0; i < s->task_count; i++)
        if (strncmp(s->list[i]->last_comm, tool_base(name), 15) == 0) return 1;
    return 0;
}

static int is_chosen(const exports_choice *c, const char *name)
{
    if (!c->dso) return is_program(c->of, name);
    return strcmp(name, c->dso) == 0 || strcmp(tool_base(name), c->dso) == 0;
}

/* Of several, the one that executed most: 1 + its index; 0: there is none. */
static uint32_t choose_file(const ranges *r, const exports_choice *c)
{
    uint32_t best = 0;
    if (r->file_count == 1 && !c->dso) return 1;
    for (uint32_t i = 0; i < r->file_count; i++)
        if (is_chosen(c, r->files[i].name)
            && (!best || r->files[i].insns > r->files[best - 1].insns))
            best = i + 1;
    return best;
}

static int no_file(const writer *w)
{
    const tool_args *const args = w->choice->of->args;
    fprintf(stderr, "%s: %s: ", args->program, exports_option(w->kind));
    if (w->choice->dso) {
        fputs("nothing ran in ", stderr);
        tool_print(stderr, w->choice->dso);
    } else {
        fputs("no file is called as a thread is: say which with --dso", stderr);
    }
    for (uint32_t i = 0; i < w->from->file_count && i < 8; i++) {
        fputs(i ? ", " : "; files: ", stderr);
        tool_print(stderr, w->from->files[i].name);
    }
    fputs(w->from->file_count > 8 ? ", ...\n" : ".\n", stderr);
    return 1;
}

/* The address that the linker gave to what is at an offset; of a file without
 * segments, the offset. */
static uint64_t address_of(const writer *w, uint64_t offset)
{
    for (uint32_t i = 0; i < w->segments.section_count; i++) {
        const image_section *const s = &w->segments.sections[i];
        if (s->file && offset - s->from < s->size)
            return s->base + (offset - s->from);
    }
    return offset;
}

/* ---- --bolt ---- */

/* What is in another file has no address here. */
static void put_bolt_place(const writer *w, uint32_t file, uint64_t offset)
{
    if (file == w->file)
        fprintf(w->out, " %" PRIx64, address_of(w, offset));
    else
        fputs(" X:0", w->out);
}

/* F: a jump of the same file led there; f: something else did. In a run of one
 * instruction nothing falls through. */
static void write_bolt(const writer *w)
{
    static const char letters[] = "BFf";
    for (size_t i = 0; i < w->from->count; i++) {
        const ranges_one *const n = &w->from->list[i];
        if ((n->file != w->file && n->to_file != w->file)
            || (n->kind != RANGES_BRANCH && n->from == n->to))
            continue;
        fputc(letters[n->kind], w->out);
        put_bolt_place(w, n->file, n->from);
        put_bolt_place(w, n->to_file, n->to);
        fprintf(w->out, " %" PRIu64 "%s\n", n->count,
                n->kind == RANGES_BRANCH ? " 0" : "");
    }
}

/* ---- --autofdo ---- */

static int is_listed(const writer *w, const ranges_one *n, int branches)
{
    return (n->kind == RANGES_BRANCH) == branches
        && (n->file == w->file || n->to_file == w->file);
}

/* A number of lines, then the lines; what is in another file is at 0. */
static void put_autofdo_list(const writer *w, int branches)
{
    size_t count = 0;
    for (size_t i = 0; i < w->from->count; i++)
        count += (size_t) is_listed(w, &w->from->list[i], branches);
    fprintf(w->out, "%zu\n", count);
    for (size_t i = 0; i < w->from->count; i++) {
        const ranges_one *const n = &w->from->list[i];
        if (!is_listed(w, n, branches)) continue;
        fprintf(w->out, "%" PRIx64 "%s%" PRIx64 ":%" PRIu64 "\n",
                n->file == w->file ? address_of(w, n->from) : 0,
                branches ? "->" : "-",
                n->to_file == w->file ? address_of(w, n->to) : 0, n->count);
    }
}

/* Between ranges and branches it has samples of addresses: there are none. */
static void write_autofdo(const writer *w)
{
    put_autofdo_list(w, 0);
    fputs("0\n", w->out);
    put_autofdo_list(w, 1);
}

/* ---- --drcov ---- */

/* A piece of a file of which all was executed. */
typedef struct piece {
    uint64_t from;
    uint64_t to; /* after it */
} piece;

static int by_from(const void *a, const void *b)
{
    const piece *const x = (const piece *) a;
    const piece *const y = (const piece *) b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* The runs of a file, sorted; where some lie over each other, without that. */
static piece *pieces_of(writer *w, uint32_t file, size_t *count)
{
    piece *const list = (piece *) malloc((w->from->count + 1) * sizeof *list);
    size_t n = 0, kept = 0;
    uint64_t end = 0;
    *count = 0;
    if (!list) {
        w->failed = 1;
        return NULL;
    }
    for (size_t i = 0; i < w->from->count; i++) {
        const ranges_one *const one = &w->from->list[i];
        if (one->file != file || one->kind == RANGES_BRANCH) continue;
        list[n].from = one->from;
        list[n++].to = one->from + one->length;
    }
    qsort(list, n, sizeof *list, by_from);
    for (size_t i = 0; i < n; i++) {
        const piece p = {list[i].from > end ? list[i].from : end, list[i].to};
        if (p.to <= p.from) continue;
        list[kept++] = p;
        end = p.to;
    }
    *count = kept;
    return list;
}

static void put_number(FILE *out, uint64_t value, unsigned bytes)
{
    for (; bytes > 0; bytes--, value >>= 8) fputc((int) (value & 0xff), out);
}

/* Is a file among those that are wanted? */
static int takes(const writer *w, uint32_t file)
{
    return !w->file || w->file == file;
}

#define DRCOV_SIZE 0xffffu /* of a block, at most */

/* The blocks of a module; with no `out` only how many they are. */
static size_t put_blocks(writer *w, FILE *out, uint32_t file, unsigned module,
                         uint64_t base)
{
    size_t pieces = 0, blocks = 0;
    piece *const list = pieces_of(w, file, &pieces);
    for (size_t i = 0; i < pieces; i++)
        for (uint64_t at = list[i].from; at < list[i].to; blocks++) {
            const uint64_t rest = list[i].to - at;
            const uint64_t size = rest < DRCOV_SIZE ? rest : DRCOV_SIZE;
            if (out) {
                put_number(out, address_of(w, at) - base, 4);
                put_number(out, size, 2);
                put_number(out, module, 2);
            }
            at += size;
        }
    free(list);
    return blocks;
}

/* A file's segments, and its first and last address. */
static void take_segments(writer *w, uint32_t file, uint64_t *base,
                          uint64_t *end)
{
    image_free(&w->segments);
    image_init(&w->segments);
    image_add_segments(&w->segments, NULL, w->from->files[file - 1].file);
    *base = UINT64_MAX;
    *end = 0;
    for (uint32_t i = 0; i < w->segments.section_count; i++) {
        const image_section *const s = &w->segments.sections[i];
        if (s->base < *base) *base = s->base;
        if (s->base + s->size > *end) *end = s->base + s->size;
    }
    if (*base > *end) {
        *base = 0;
        *end = w->from->files[file - 1].file->size;
    }
}

/* A module is a file, at the addresses that the linker chose. */
static void write_drcov(writer *w)
{
    const uint32_t count = w->from->file_count;
    size_t blocks = 0;
    uint64_t base, end;
    unsigned modules = 0;
    for (uint32_t n = 1; n <= count; n++) modules += (unsigned) takes(w, n);
    fprintf(w->out, "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\n"
                    "Module Table: version 2, count %u\n"
                    "Columns: id, base, end, entry, checksum, timestamp, path\n",
            modules);
    modules = 0;
    for (uint32_t n = 1; n <= count; n++) {
        if (!takes(w, n)) continue;
        take_segments(w, n, &base, &end);
        blocks += put_blocks(w, NULL, n, modules, base);
        fprintf(w->out, "%u, 0x%016" PRIx64 ", 0x%016" PRIx64
                        ", 0x0, 0x0, 0x0, ", modules++, base, end);
        tool_print(w->out, w->from->files[n - 1].name);
        fputc('\n', w->out);
    }
    fprintf(w->out, "BB Table: %zu bbs\n", blocks);
    modules = 0;
    for (uint32_t n = 1; n <= count; n++) {
        if (!takes(w, n)) continue;
        take_segments(w, n, &base, &end);
        put_blocks(w, w->out, n, modules++, base);
    }
}

/* ---- --lcov ---- */

/* What is known of a line: at a place where its code begins, ... */
typedef struct hit {
    uint32_t source; /* its file's text */
    uint32_t line;
    uint64_t copy;   /* ... of the code as it was inlined somewhere, */
    uint64_t count;  /* ... how often that was executed */
} hit;

/* From an offset on instructions were executed so much more often. */
typedef struct edge {
    uint64_t at;
    uint64_t more;
} edge;

/* Lines as they are found. */
typedef struct coverage {
    writer *w;
    const files_file *file;
    uint32_t number;
    edge *edges;
    size_t edge_count;
    hit *hits;
    size_t hit_count;
    size_t hit_max;
    names_table sources;
} coverage;

static int by_offset(const void *a, const void *b)
{
    const edge *const x = (const edge *) a;
    const edge *const y = (const edge *) b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* How often each place of a file was executed: sums of all edges up to it. */
static void find_edges(coverage *c)
{
    const ranges *const r = c->w->from;
    uint64_t sum = 0;
    free(c->edges);
    c->edge_count = 0;
    c->edges = (edge *) malloc((2 * r->count + 1) * sizeof *c->edges);
    if (!c->edges) {
        c->w->failed = 1;
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        const ranges_one *const n = &r->list[i];
        const edge begin = {n->from, n->count};
        const edge end = {n->from + n->length, 0 - n->count};
        if (n->file != c->number || n->kind == RANGES_BRANCH) continue;
        c->edges[c->edge_count++] = begin;
        c->edges[c->edge_count++] = end;
    }
    qsort(c->edges, c->edge_count, sizeof *c->edges, by_offset);
    for (size_t i = 0; i < c->edge_count; i++)
        c->edges[i].more = sum += c->edges[i].more;
}

static uint64_t executed(const coverage *c, uint64_t offset)
{
    size_t low = 0, high = c->edge_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->edges[middle].at <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? c->edges[low - 1].more : 0;
}

static void on_row(const lines_row *row, void *context)
{
    coverage *const c = (coverage *) context;
    hit *h;
    if (c->hit_count == c->hit_max) {
        const size_t max = 2 * c->hit_max + 256;
        if (!tool_grow(&c->hits, max, sizeof *c->hits)) {
            c->w->failed = 1;
            return;
        }
        c->hit_max = max;
    }
    h = &c->hits[c->hit_count];
    h->source = names_add(&c->sources, row->file);
    h->line = (uint32_t) row->line;
    h->count = executed(c, row->offset);
    h->copy = h->count ? lines_copy(&c->w->choice->of->lines, c->file,
                                    row->offset) : 0;
    h->copy |= (uint64_t) c->number << 48; /* another file, another copy */
    if (h->source) c->hit_count++;
    else c->w->failed = 1;
}

/* The highest count of a copy comes first. */
static int by_line(const void *a, const void *b)
{
    const hit *const x = (const hit *) a;
    const hit *const y = (const hit *) b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->copy != y->copy) return x->copy < y->copy ? -1 : 1;
    return x->count > y->count ? -1 : x->count < y->count;
}

/* A line has as many statements as one copy of it begins most often, and that of
 * each copy is added. */
static uint64_t line_hits(const coverage *c, size_t *at)
{
    const hit *const first = &c->hits[*at];
    uint64_t sum = 0, copy = UINT64_MAX;
    for (; *at < c->hit_count && c->hits[*at].source == first->source
           && c->hits[*at].line == first->line; ++*at) {
        if (c->hits[*at].copy != copy) sum += c->hits[*at].count;
        copy = c->hits[*at].copy;
    }
    return sum;
}

static void write_lines(coverage *c)
{
    FILE *const out = c->w->out;
    qsort(c->hits, c->hit_count, sizeof *c->hits, by_line);
    for (size_t i = 0; i < c->hit_count;) {
        const uint32_t source = c->hits[i].source;
        unsigned found = 0, hits = 0;
        fputs("TN:\nSF:", out);
        tool_print(out, names_text(&c->sources, source));
        fputc('\n', out);
        while (i < c->hit_count && c->hits[i].source == source) {
            const uint32_t line = c->hits[i].line;
            const uint64_t count = line_hits(c, &i);
            fprintf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", line, count);
            found++;
            hits += count != 0;
        }
        fprintf(out, "LF:%u\nLH:%u\nend_of_record\n", found, hits);
    }
}

static void write_lcov(writer *w)
{
    coverage c;
    memset(&c, 0, sizeof c);
    c.w = w;
    for (uint32_t n = 1; n <= w->from->file_count; n++) {
        if (!takes(w, n)) continue;
        c.file = w->from->files[n - 1].file;
        c.number = n;
        find_edges(&c);
        lines_rows(&w->choice->of->lines, c.file, on_row, &c);
    }
    write_lines(&c);
    names_free(&c.sources);
    free(c.edges);
    free(c.hits);
}

/* ---- the whole ---- */

static void write_all(writer *w)
{
    switch (w->kind) {
    case EXPORTS_BOLT: write_bolt(w); break;
    case EXPORTS_AUTOFDO: write_autofdo(w); break;
    case EXPORTS_LCOV: write_lcov(w); break;
    default: write_drcov(w); break;
    }
}

static int cannot_write(const writer *w, const char *name)
{
    fprintf(stderr, "%s: cannot write ", w->choice->of->args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", strerror(errno));
    return 1;
}

int exports_write(exports_kind kind, const char *name, const ranges *r,
                  const exports_choice *choice)
{
    writer w;
    int status;
    memset(&w, 0, sizeof w);
    w.kind = kind;
    w.from = r;
    w.choice = choice;
    if (choice->dso || kind == EXPORTS_BOLT || kind == EXPORTS_AUTOFDO) {
        w.file = choose_file(r, choice);
        if (!w.file) return no_file(&w);
    }
    w.out = tool_create(name);
    if (!w.out) return cannot_write(&w, name);
    image_init(&w.segments);
    if (w.file)
        image_add_segments(&w.segments, NULL, r->files[w.file - 1].file);
    write_all(&w);
    image_free(&w.segments);
    status = tool_close(w.out);
    if (w.failed)
        fprintf(stderr, "%s: out of memory.\n", choice->of->args->program);
    return w.failed ? 1 : status ? cannot_write(&w, name) : 0;
}
