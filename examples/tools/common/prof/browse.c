/* browse.c: --top.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include "../code/sourcefile.h"
#include "../flow/top.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- --top ---- */

/* What top.h shows, as --flat, --callers and --lines do. */
typedef struct viewer {
    writer order;      /* of lines */
    char heads[TOP_PANES][SYMBOL];
    sourcefile *sources;
} viewer;

static top_row *add_row(viewer *v, top_list *list, const char *name)
{
    top_row *row;
    if ((list->count & (list->count - 1)) == 0
        && !tool_grow(&list->rows, 2 * list->count + 64, sizeof *list->rows))
        prof_out_of_memory(v->order.in);
    row = &list->rows[list->count++];
    memset(row, 0, sizeof *row);
    row->name = name;
    return row;
}

static void show_functions(viewer *v, unsigned pane, uint32_t function,
                           top_list *list)
{
    ptprof *const p = v->order.in;
    const unsigned is_callees = pane == TOP_CALLEES;
    entry *const entries = prof_add_up(p, pane == TOP_CALLERS ? function : 0,
                                       is_callees ? function : 0);
    uint64_t all = 0;
    if (pane == TOP_FUNCTIONS)
        snprintf(v->heads[pane], SYMBOL, "%sfunction", prof_flat_head(p));
    else
        snprintf(v->heads[pane], SYMBOL,
                 "  share     cost      calls  %s of %.2048s",
                 is_callees ? "callees" : "callers",
                 prof_function_text(p, function));
    for (const entry *s = entries; s->name; s++) all += s->cost;
    for (const entry *s = entries; s->name; s++) {
        top_row *const row = add_row(v, list, prof_function_text(p, s->name));
        if (pane == TOP_FUNCTIONS)
            prof_put_flat(p, row->text, s);
        else
            prof_put_caller(p, row->text, s, all, is_callees ? s->name : 0);
        row->function = s->name;
        row->keys[TOP_OWN] = s->cost;
        row->keys[TOP_TOTAL] = s->total;
        row->keys[TOP_CALLS] = s->calls;
    }
    free(entries);
}

/* Lines of one source file, `count` of them, with those between them. */
static void show_file(viewer *v, const uint32_t *order, size_t count,
                      top_list *list)
{
    ptprof *const p = v->order.in;
    const uint64_t all = prof_total_of(p, &p->tree.list[CALLTREE_ROOT]);
    const sourcefile *const file = sourcefile_get(
        &v->sources, names_text(&p->names, p->lines[order[0]].source));
    const uint32_t first = p->lines[order[0]].number;
    const uint32_t last = p->lines[order[count - 1]].number;
    uint64_t number = first > 3 ? first - 3 : 1;
    if (!file) prof_out_of_memory(p);
    for (size_t i = 0; number <= last; number++) {
        const int is_there = number <= file->count;
        uint64_t cost = 0;
        char text[16] = "", share[16] = "";
        top_row *row;
        for (; i < count && p->lines[order[i]].number <= number; i++)
            cost += prof_line_cost(p, &p->lines[order[i]]);
        if (!is_there && !cost) { /* on to the next one that has a cost */
            number = i < count ? p->lines[order[i]].number - 1 : last;
            continue;
        }
        row = add_row(v, list, is_there ? file->lines[number - 1] : "");
        if (cost) prof_put_cost(p, text, cost);
        if (cost && all)
            snprintf(share, sizeof share, "%.1f%%",
                     100.0 * (double) cost / (double) all);
        snprintf(row->text, sizeof row->text, "%7s %8s %6" PRIu64 "  ", share,
                 text, number);
        row->keys[TOP_OWN] = cost;
        row->hot = cost && cost >= all / 100;
    }
}

static void show_source(viewer *v, uint32_t function, top_list *list)
{
    ptprof *const p = v->order.in;
    const uint32_t *const order = v->order.lines;
    size_t i = prof_first_line(&v->order, function);
    char *const head = v->heads[TOP_SOURCE];
    snprintf(head, SYMBOL, "    own     cost   line  no source is known");
    while (i < p->line_max && p->lines[order[i]].function == function) {
        const uint32_t source = p->lines[order[i]].source;
        const size_t from = i;
        while (i < p->line_max && p->lines[order[i]].function == function
               && p->lines[order[i]].source == source)
            i++;
        if (!source) continue;
        if (list->count == 0)
            snprintf(head, SYMBOL, "    own     cost   line  %.2048s",
                     names_text(&p->names, source));
        else
            add_row(v, list, names_text(&p->names, source));
        show_file(v, order + from, i - from, list);
    }
}

static void fill_pane(unsigned pane, uint32_t function, top_list *list,
                      void *context)
{
    viewer *const v = (viewer *) context;
    list->count = 0;
    list->head = v->heads[pane];
    if (pane == TOP_SOURCE)
        show_source(v, function, list);
    else
        show_functions(v, pane, function, list);
}

int prof_show_top(ptprof *p)
{
    viewer *const v = (viewer *) calloc(1, sizeof *v);
    char cost[16], title[96];
    top_config config = {title, fill_pane, v};
    const char *why;
    if (!v) prof_out_of_memory(p);
    v->order.in = p;
    v->order.lines = prof_make_order(p, p->line_max, prof_by_place);
    prof_put_cost(p, cost, prof_total_of(p, &p->tree.list[CALLTREE_ROOT]));
    snprintf(title, sizeof title, "ptprof: %s%s, %zu threads", cost,
             p->by_insn ? " instructions" : "", p->thread_count);
    why = top_run(&config);
    if (why) fprintf(stderr, "%s: --top: %s.\n", p->args->program, why);
    free(v->order.lines);
    sourcefile_free(v->sources);
    free(v);
    return why != NULL;
}
