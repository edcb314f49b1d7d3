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
    uint32_t file;  /* whose profile it is: 1 + its index */
    image segments; /* ... at the addresses that its linker chose */
} writer;

const char *exports_option(exports_kind kind)
{
    static const char *const names[EXPORTS_KINDS] = {"--bolt", "--autofdo"};
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

/* ---- the whole ---- */

static void write_all(const writer *w)
{
    switch (w->kind) {
    case EXPORTS_BOLT: write_bolt(w); break;
    default: write_autofdo(w); break;
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
    w.file = choose_file(r, choice);
    if (!w.file) return no_file(&w);
    w.out = tool_create(name);
    if (!w.out) return cannot_write(&w, name);
    image_init(&w.segments);
    image_add_segments(&w.segments, NULL, r->files[w.file - 1].file);
    write_all(&w);
    image_free(&w.segments);
    status = tool_close(w.out);
    return status ? cannot_write(&w, name) : 0;
}
