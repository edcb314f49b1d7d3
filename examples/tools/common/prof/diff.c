/* diff.c: --diff.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- --diff ---- */

/* A function in two recordings. */
typedef struct change {
    calltree_cost own[2];
    uint64_t calls[2];
    uint64_t by;      /* how much its cost differs */
    uint32_t name[2]; /* its number in each; 0: it did not run there */
} change;

/* What a function is called in all recordings of a program: by its symbol, the
 * source file that alone can call it, and its file. */
static uint32_t key_of(ptprof *p, names_table *keys, uint32_t function)
{
    const functions_about *const f =
        &p->session.functions.list[function - 1].about;
    char text[3 * SYMBOL];
    uint32_t key;
    snprintf(text, sizeof text, "%.4000s\n%.4000s\n%.4000s",
             f->symbol ? f->symbol : prof_function_text(p, function),
             f->source ? f->source : "", f->object ? tool_base(f->object) : "");
    key = names_add(keys, text);
    if (!key) prof_out_of_memory(p);
    return key;
}

static uint64_t cost_in(const ptprof *p, const calltree_cost *c)
{
    return p->by_insn ? c->insns : c->ns;
}

/* Adds one of the two recordings; `max` rows are there. */
static change *add_changes(ptprof *p, unsigned which, names_table *keys,
                           change *rows, size_t *max)
{
    entry *const entries = prof_add_up(p, 0, 0);
    for (const entry *e = entries; e->name; e++) {
        const uint32_t key = key_of(p, keys, e->name);
        if (key > *max) {
            const size_t more = 2 * (size_t) key;
            if (!tool_grow(&rows, more, sizeof *rows)) prof_out_of_memory(p);
            memset(rows + *max, 0, (more - *max) * sizeof *rows);
            *max = more;
        }
        calltree_add(&rows[key - 1].own[which], &e->own);
        rows[key - 1].calls[which] += e->calls;
        rows[key - 1].name[which] = e->name;
    }
    free(entries);
    return rows;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

static int by_change(const void *a, const void *b)
{
    const change *const x = (const change *) a;
    const change *const y = (const change *) b;
    const uint64_t m = distance(x->own[0].insns, x->own[1].insns);
    const uint64_t n = distance(y->own[0].insns, y->own[1].insns);
    if (x->by != y->by) return x->by < y->by ? 1 : -1;
    if (m != n) return m < n ? 1 : -1;
    if (x->name[1] != y->name[1]) return x->name[1] < y->name[1] ? -1 : 1;
    return x->name[0] < y->name[0] ? -1 : x->name[0] > y->name[0];
}

static void print_difference(int width, uint64_t before, uint64_t after)
{
    char text[24];
    snprintf(text, sizeof text, "%s%" PRIu64,
             after < before ? "-" : after > before ? "+" : "",
             distance(before, after));
    printf("%*s", width, text);
}

static void print_change(ptprof *p, const change *c, const char *name)
{
    const uint64_t before = cost_in(p, &c->own[0]);
    const uint64_t after = cost_in(p, &c->own[1]);
    char text[3][16], by[20];
    prof_put_cost(p, text[0], before);
    prof_put_cost(p, text[1], after);
    prof_put_cost(p, text[2], c->by);
    snprintf(by, sizeof by, "%s%s",
             after < before ? "-" : after > before ? "+" : "", text[2]);
    printf("%9s %8s %8s", by, text[0], text[1]);
    print_difference(14, c->own[0].insns, c->own[1].insns);
    print_difference(12, c->calls[0], c->calls[1]);
    fputs("  ", stdout);
    prof_print_name(name, prof_room_after(p, 55));
    putchar('\n');
}

/* Both have run. */
void prof_print_diff(ptprof *before, ptprof *p)
{
    names_table keys;
    size_t max = 0;
    uint64_t least;
    change *rows, all;
    memset(&keys, 0, sizeof keys);
    memset(&all, 0, sizeof all);
    rows = add_changes(before, 0, &keys, NULL, &max);
    rows = add_changes(p, 1, &keys, rows, &max);
    for (size_t i = 0; i < max; i++) {
        change *const c = &rows[i];
        c->by = distance(cost_in(p, &c->own[0]), cost_in(p, &c->own[1]));
        for (unsigned k = 0; k < 2; k++) {
            calltree_add(&all.own[k], &c->own[k]);
            all.calls[k] += c->calls[k];
        }
    }
    all.by = distance(cost_in(p, &all.own[0]), cost_in(p, &all.own[1]));
    least = cost_in(p, &all.own[cost_in(p, &all.own[1])
                                > cost_in(p, &all.own[0])]);
    least = prof_least_of(p, least);
    if (max) qsort(rows, max, sizeof *rows, by_change);
    printf("   change   before    after  instructions       calls  function%s\n",
           p->by_insn ? " (costs are instructions)" : "");
    for (size_t i = 0; i < max; i++) {
        const change *const c = &rows[i];
        if ((!c->by && c->own[0].insns == c->own[1].insns
             && c->calls[0] == c->calls[1]) || c->by < least)
            continue;
        print_change(p, c, c->name[1] ? prof_function_text(p, c->name[1])
                                      : prof_function_text(before, c->name[0]));
    }
    print_change(p, &all, "all");
    names_free(&keys);
    free(rows);
}
