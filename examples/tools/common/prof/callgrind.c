/* callgrind.c: --callgrind.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- --callgrind ---- */

/* Who called whom: the functions below the root, below them what they called. */
static int add_edges(const ptprof *p, calltree *edges)
{
    for (uint32_t i = 1; i < p->tree.count; i++) {
        const calltree_node *const n = &p->tree.list[i];
        const uint32_t to = calltree_child(edges, CALLTREE_ROOT, n->name);
        uint32_t edge;
        edges->list[to].own.insns += n->own.insns;
        edges->list[to].own.ns += n->own.ns;
        if (n->parent == CALLTREE_ROOT) continue;
        edge = calltree_child(
            edges, calltree_child(edges, CALLTREE_ROOT,
                                  p->tree.list[n->parent].name), n->name);
        edges->list[edge].calls += n->calls;
        edges->list[edge].total.insns += n->total.insns;
        edges->list[edge].total.ns += n->total.ns;
    }
    return edges->full;
}

static void write_costs(const ptprof *p, FILE *f, uint32_t where,
                        const calltree_cost *cost)
{
    fprintf(f, "%" PRIu32 " %" PRIu64, where, cost->insns);
    if (!p->by_insn) fprintf(f, " %" PRIu64, cost->ns);
    fputc('\n', f);
}

static void write_word(FILE *f, const char *key, uint32_t number,
                       const char *text)
{
    fprintf(f, "%s=(%" PRIu32 ") ", key, number);
    for (const char *s = text; *s; s++)
        fputc((uint8_t) *s < ' ' || *s == 127 ? '?' : *s, f);
    fputc('\n', f);
}

static const line *sort_lines; /* what qsort's indices are about */
static const site *sort_sites;
static const jump *sort_jumps;

static int by_jump(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *) a;
    const uint32_t y = *(const uint32_t *) b;
    const uint32_t f = sort_jumps[x].function;
    const uint32_t g = sort_jumps[y].function;
    return f != g ? (f < g ? -1 : 1) : x < y ? -1 : x > y;
}

int prof_by_place(const void *a, const void *b)
{
    const line *const x = &sort_lines[*(const uint32_t *) a];
    const line *const y = &sort_lines[*(const uint32_t *) b];
    return x->function != y->function ? (x->function < y->function ? -1 : 1)
         : x->source != y->source ? (x->source < y->source ? -1 : 1)
         : x->number != y->number ? (x->number < y->number ? -1 : 1) : 0;
}

static int by_call(const void *a, const void *b)
{
    const site *const x = &sort_sites[*(const uint32_t *) a];
    const site *const y = &sort_sites[*(const uint32_t *) b];
    return x->from != y->from ? (x->from < y->from ? -1 : 1)
         : x->to != y->to ? (x->to < y->to ? -1 : 1)
         : x->line != y->line ? (x->line < y->line ? -1 : 1) : 0;
}

/* A function with its file and its source file: the line where it begins, or
 * 0. */
static uint32_t write_function(writer *w, const char *const keys[3],
                               uint32_t function, uint32_t *home)
{
    ptprof *const p = w->in;
    const functions_about *const about =
        &p->session.functions.list[function - 1].about;
    const char *object = about->object ? about->object : "???";
    const char *source = about->source ? about->source : "???";
    lines_place l;
    l.line = 0;
    if (about->file && about->symbol
        && lines_find(&p->session.lines, about->file, about->first, &l))
        source = l.file;
    *home = prof_add_name(p, source);
    write_word(w->file, keys[0], prof_add_name(p, object), object);
    write_word(w->file, keys[1], *home, source);
    write_word(w->file, keys[2], function, prof_function_text(p, function));
    return (uint32_t) l.line;
}

/* Costs of a line come next, which may be in another source file, as of what was
 * inlined. Without a line it is where the function begins. */
static uint32_t write_source(writer *w, const line *l, uint32_t begin)
{
    const uint32_t source = l && l->source ? l->source : w->home;
    if (source != w->source)
        write_word(w->file, source == w->home ? "fe" : "fi", source,
                   names_text(&w->in->names, source));
    w->source = source;
    return l && l->source ? l->number : begin;
}

/* Take the cost of a line from that of its function. 0: the line has more
 * instructions. Its time is cut, as it may be more by rounding. */
static int take(calltree_cost *from, calltree_cost *what)
{
    if (what->insns > from->insns) return 0;
    if (what->ns > from->ns) what->ns = from->ns;
    from->insns -= what->insns;
    from->ns -= what->ns;
    return 1;
}

/* Where lines of a function begin. */
size_t prof_first_line(const writer *w, uint32_t function)
{
    size_t low = 0, high = w->in->line_max;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (w->in->lines[w->lines[middle]].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What a function cost itself: its lines, then what is left. */
static void write_own(writer *w, const calltree_node *n, uint32_t begin)
{
    const line *const list = w->in->lines;
    calltree_cost left = n->own;
    for (size_t i = prof_first_line(w, n->name); i < w->in->line_max; i++) {
        const line *const l = &list[w->lines[i]];
        calltree_cost cost = l->cost;
        if (l->function != n->name) break;
        if (!l->source || !take(&left, &cost)) continue;
        write_costs(w->in, w->file, write_source(w, l, begin), &cost);
    }
    if (!left.insns && !left.ns && (n->own.insns || n->own.ns)) return;
    write_costs(w->in, w->file, write_source(w, NULL, begin), &left);
}

/* Jumps of a function between lines of one source file. */
static void write_jumps(writer *w, uint32_t function, uint32_t begin)
{
    const ptprof *const p = w->in;
    size_t low = 0, high = p->jump_max;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->jumps[w->jumps[middle]].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->jump_max; low++) {
        const jump *const j = &p->jumps[w->jumps[low]];
        const line *from;
        uint32_t number;
        if (j->function != function) break;
        from = &p->lines[j->from - 1];
        if (!from->source || p->lines[j->to - 1].source != from->source)
            continue;
        number = write_source(w, from, begin);
        fprintf(w->file, "%s=%" PRIu64, j->cond ? "jcnd" : "jump", j->taken);
        if (j->cond) fprintf(w->file, "/%" PRIu64, j->executed);
        fprintf(w->file, " %" PRIu32 "\n%" PRIu32 "\n",
                p->lines[j->to - 1].number, number);
    }
}

/* Where sites of a caller and a callee begin. */
static size_t first_site(const writer *w, uint32_t from, uint32_t to)
{
    const site *const list = w->in->sites;
    size_t low = 0, high = w->in->site_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const site *const s = &list[w->sites[middle]];
        if (s->from < from || (s->from == from && s->to < to))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Calls of one function by another one: those of each line, the last of which
 * have what is left. */
static void write_calls(writer *w, const calltree_node *n,
                        const calltree_node *call, uint32_t begin)
{
    static const char *const callees[] = {"cob", "cfi", "cfn"};
    const ptprof *const p = w->in;
    calltree_cost left = call->total;
    uint64_t calls = call->calls ? call->calls : 1;
    size_t at = first_site(w, n->name, call->name);
    const site *s = NULL;
    do {
        const site *const next =
            at < p->site_count ? &p->sites[w->sites[at]] : NULL;
        const int more = next && next->from == n->name
                      && next->to == call->name;
        /* `s` is the site before: the last one if there is no other. */
        if (s || !more) {
            const line *const l = s && s->line ? &p->lines[s->line - 1] : NULL;
            const uint64_t count = more && s && s->calls < calls ? s->calls
                                                                 : calls;
            const uint32_t where = write_source(w, l, begin);
            calltree_cost cost = left;
            uint32_t to, home;
            if (more && s) cost = s->total;
            if (!take(&left, &cost)) memset(&cost, 0, sizeof cost);
            calls -= count;
            to = write_function(w, callees, call->name, &home);
            fprintf(w->file, "calls=%" PRIu64 " %" PRIu32 "\n", count, to);
            write_costs(p, w->file, where, &cost);
        }
        s = more ? next : NULL;
        at++;
    } while (s);
}

uint32_t *prof_make_order(ptprof *p, size_t count,
                          int (*compare)(const void *, const void *))
{
    uint32_t *const list = (uint32_t *) malloc((count + 1) * sizeof *list);
    if (!list) prof_out_of_memory(p);
    for (size_t i = 0; i < count; i++) list[i] = (uint32_t) i;
    sort_lines = p->lines;
    sort_sites = p->sites;
    sort_jumps = p->jumps;
    qsort(list, count, sizeof *list, compare);
    return list;
}
int prof_write_callgrind(ptprof *p)
{
    static const char *const callers[] = {"ob", "fl", "fn"};
    writer w;
    calltree edges;
    int failed;
    memset(&w, 0, sizeof w);
    w.in = p;
    w.file = tool_create(p->opt.callgrind);
    if (!w.file) return -1;
    if (calltree_init(&edges)) prof_out_of_memory(p);
    failed = add_edges(p, &edges);
    fprintf(w.file, "# callgrind format\nversion: 1\ncreator: ptprof\n"
            "positions: line\nevents: Instructions%s\n",
            p->by_insn ? "" : " Nanoseconds");
    w.lines = prof_make_order(p, p->line_max, prof_by_place);
    w.sites = prof_make_order(p, p->site_count, by_call);
    w.jumps = prof_make_order(p, p->jump_max, by_jump);
    for (uint32_t i = edges.list[0].child; i; i = edges.list[i].sibling) {
        const calltree_node *const n = &edges.list[i];
        uint32_t begin;
        fputc('\n', w.file);
        begin = write_function(&w, callers, n->name, &w.home);
        w.source = w.home;
        write_own(&w, n, begin);
        write_jumps(&w, n->name, begin);
        for (uint32_t c = n->child; c; c = edges.list[c].sibling)
            write_calls(&w, n, &edges.list[c], begin);
    }
    fputs("\ntotals:", w.file);
    fprintf(w.file, " %" PRIu64, p->tree.list[0].total.insns);
    if (!p->by_insn) fprintf(w.file, " %" PRIu64, p->tree.list[0].total.ns);
    fputc('\n', w.file);
    calltree_free(&edges);
    free(w.lines);
    free(w.sites);
    free(w.jumps);
    return tool_close(w.file) || failed ? -1 : 0;
}
