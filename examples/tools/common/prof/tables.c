/* tables.c: --tree, --folded, --flat, --callers, --waits, --lines, --hot,
 * --histogram.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- --tree and --folded ---- */

static void print_head(const ptprof *p)
{
    printf("  total    own      calls      min   median      max  %s",
           p->opt.ipc ? "  IPC  " : "");
    prof_print_name(p->by_insn ? "function (costs are instructions)" : "function",
                    prof_room_after(p, 54 + prof_ipc_width(p)));
    putchar('\n');
}

static void print_node(ptprof *p, const calltree *tree,
                       const calltree_node *n, uint64_t all, unsigned depth)
{
    char costs[3][16] = {"-", "-", "-"};
    const double share = all ? 100.0 / (double) all : 0;
    const double total = share * (double) prof_total_of(p, n);
    const int colour = p->columns && total >= 10;
    const int width = 54 + prof_ipc_width(p);
    char own[16], text[24], calls[24];
    int used;
    (void) tree;
    snprintf(own, sizeof own, "%.1f%%", share * (double) prof_own_of(p, n));
    if (n->whole) {
        prof_put_cost(p, costs[0], n->min);
        prof_put_cost(p, costs[1], calltree_quantile(n, 500));
        prof_put_cost(p, costs[2], n->max);
    }
    printf("%s%6.1f%% %6s %10s %8s %8s %8s  ",
           colour ? "\033[1m" : "", total, prof_marked(p, text, own, &n->own),
           prof_put_calls(p, calls, n->calls, 0), costs[0], costs[1], costs[2]);
    prof_print_ipc(p, &n->total);
    used = width + prof_indent(p, width, depth);
    prof_print_name(prof_function_text(p, n->name), prof_room_after(p, used));
    puts(colour ? "\033[0m" : "");
}

/* What --min asks for of a cost. */
uint64_t prof_least_of(const ptprof *p, uint64_t all)
{
    if (p->opt.least_is) return p->opt.least;
    return all / 1000 * p->opt.min + all % 1000 * p->opt.min / 1000;
}

/* What is below a node, without what costs too little. */
static void print_below(ptprof *p, const calltree *tree, uint32_t top)
{
    const uint64_t all = prof_total_of(p, &tree->list[top]);
    const uint64_t least = prof_least_of(p, all);
    unsigned depth = 0;
    uint32_t node = tree->list[top].child;
    while (node) {
        const calltree_node *const n = &tree->list[node];
        const int shown = prof_total_of(p, n) >= least;
        if (shown) print_node(p, tree, n, all, depth);
        if (shown && n->child) {
            depth++;
            node = n->child;
            continue;
        }
        while (node != top && !tree->list[node].sibling) {
            node = tree->list[node].parent;
            depth--;
        }
        node = node == top ? 0 : tree->list[node].sibling;
    }
}

void prof_print_tree(ptprof *p)
{
    const calltree *const tree = &p->tree;
    char cost[16];
    for (uint32_t t = tree->list[0].child; t; t = tree->list[t].sibling) {
        const calltree_node *const n = &tree->list[t];
        if (prof_total_of(p, n) == 0) continue; /* nothing but events */
        if (t != tree->list[0].child) putchar('\n');
        prof_print_name(prof_function_text(p, n->name), 0);
        printf(": %" PRIu64 " instructions", n->total.insns);
        prof_put_cost(p, cost, n->total.ns);
        if (!p->by_insn) printf(", %s", cost);
        putchar('\n');
        print_head(p);
        print_below(p, tree, t);
    }
    if (tree->full)
        fprintf(stderr, "%s: more than %u ways of calls: deeper ones count "
                "for their callers\n", p->args->program, CALLTREE_NODES);
}

/* Names must not have what separates them, nor a number as their last word:
 * flamegraph.pl takes it for another cost. */
static void print_folded_name(ptprof *p, uint32_t name)
{
    const char *const text = prof_function_text(p, name);
    const char *const word = strrchr(text, ' ');
    const int number = word && word[1 + strspn(word + 1, "0123456789.")] == 0;
    for (const char *s = text; *s; s++)
        putchar((uint8_t) *s < ' ' || *s == 127 ? '?' : *s == ';' ? ','
                : number && s == word ? '-' : *s);
}

void prof_print_folded(ptprof *p)
{
    const calltree *const tree = &p->tree;
    uint32_t *const way = (uint32_t *) malloc(tree->count * sizeof *way);
    if (!way) prof_out_of_memory(p);
    for (uint32_t i = calltree_next(tree, 0); i; i = calltree_next(tree, i)) {
        uint32_t n = 0;
        const uint64_t own = prof_own_of(p, &tree->list[i]);
        if (own == 0) continue;
        for (uint32_t at = i; at; at = tree->list[at].parent) way[n++] = at;
        while (n > 0) {
            print_folded_name(p, tree->list[way[--n]].name);
            putchar(n ? ';' : ' ');
        }
        printf("%" PRIu64 "\n", own);
    }
    free(way);
}

/* ---- --flat and --callers ---- */

/* Highest costs first; what has no name is last. */
static int by_cost(const void *a, const void *b)
{
    const entry *const x = (const entry *) a;
    const entry *const y = (const entry *) b;
    if (!x->name != !y->name) return x->name ? -1 : 1;
    if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
    if (x->total != y->total) return x->total < y->total ? 1 : -1;
    if (x->calls != y->calls) return x->calls < y->calls ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* Adds a node to what is known of its function or, if there is a callee, a call
 * of that to what is known of its caller; if there is a caller, a call by it. */
static void add_node(const ptprof *p, entry *entries, const calltree_node *n,
                     uint32_t callee, uint32_t caller)
{
    const int is_thread = n->parent == CALLTREE_ROOT;
    const uint32_t from = is_thread ? 0 : p->tree.list[n->parent].name;
    const uint32_t name = callee ? from : n->name;
    const uint64_t total = entries[n->name - 1].open++ ? 0 : prof_total_of(p, n);
    const uint64_t cost = callee || caller ? total : prof_own_of(p, n);
    entry *to;
    if (is_thread && (callee || caller || !cost)) return;
    if ((callee && n->name != callee) || (caller && from != caller)) return;
    to = &entries[name - 1];
    to->name = name;
    to->cost += cost;
    to->total += total;
    to->calls += n->calls;
    calltree_add(&to->own, &n->own);
}

/* An entry for each name that has one, sorted, then one without a name. */
entry *prof_add_up(const ptprof *p, uint32_t callee, uint32_t caller)
{
    const calltree_node *const list = p->tree.list;
    const size_t count = (size_t) p->session.functions.count + 1;
    entry *const entries = (entry *) calloc(count, sizeof *entries);
    uint32_t at = list[CALLTREE_ROOT].child;
    if (!entries) prof_out_of_memory(p);
    while (at) {
        add_node(p, entries, &list[at], callee, caller);
        if (list[at].child) {
            at = list[at].child;
            continue;
        }
        for (; at; at = list[at].parent) {
            entries[list[at].name - 1].open--;
            if (list[at].sibling) break;
        }
        at = list[at].sibling;
    }
    qsort(entries, count, sizeof *entries, by_cost);
    return entries;
}

/* The head of --flat, without what stands above names. */
const char *prof_flat_head(const ptprof *p)
{
    return p->opt.ipc ? "  total    own      cost      calls    IPC  "
                      : "  total    own      cost      calls  ";
}

void prof_put_flat(ptprof *p, char text[64], const entry *s)
{
    const uint64_t all = prof_total_of(p, &p->tree.list[CALLTREE_ROOT]);
    const double share = all ? 100.0 / (double) all : 0;
    char cost[16], with[24], calls[24], ipc[24];
    prof_put_cost(p, cost, s->cost);
    snprintf(text, 64, "%6.1f%% %5.1f%%  %8s %10s  %s",
             share * (double) s->total, share * (double) s->cost,
             prof_marked(p, with, cost, &s->own),
             prof_put_calls(p, calls, s->calls, s->name),
             prof_ipc_text(p, ipc, &s->own));
}

void prof_print_flat(ptprof *p)
{
    const uint64_t least =
        prof_least_of(p, prof_total_of(p, &p->tree.list[CALLTREE_ROOT]));
    entry *const entries = prof_add_up(p, 0, 0);
    char text[64];
    if (entries->name)
        printf("%sfunction%s\n", prof_flat_head(p),
               p->by_insn ? " (costs are instructions)" : "");
    for (const entry *s = entries; s->name && s->cost >= least; s++) {
        prof_put_flat(p, text, s);
        fputs(text, stdout);
        prof_print_name(prof_function_text(p, s->name),
                        prof_room_after(p, 37 + prof_ipc_width(p)));
        putchar('\n');
    }
    free(entries);
}

void prof_put_caller(ptprof *p, char text[64], const entry *s, uint64_t all,
                     uint32_t callee)
{
    char cost[16], calls[24];
    prof_put_cost(p, cost, s->cost);
    snprintf(text, 64, "%6.1f%% %8s %10s  ",
             all ? 100.0 * (double) s->cost / (double) all : 0, cost,
             prof_put_calls(p, calls, s->calls, callee));
}

static void print_caller(ptprof *p, const entry *s, uint64_t all,
                         uint32_t callee, const char *name)
{
    char text[64];
    prof_put_caller(p, text, s, all, callee);
    fputs(text, stdout);
    prof_print_name(name, prof_room_after(p, 29));
    putchar('\n');
}

/* Who called one function: 1, or 0: nobody was seen to. */
static int print_callers_of(ptprof *p, uint32_t callee)
{
    entry *const entries = prof_add_up(p, callee, 0);
    const int some = entries->name != 0;
    entry all;
    memset(&all, 0, sizeof all);
    for (const entry *s = entries; s->name; s++) {
        all.cost += s->cost;
        all.calls += s->calls;
    }
    if (some) {
        printf("  share     cost      calls  caller%s\n",
               p->by_insn ? " (costs are instructions)" : "");
        for (const entry *s = entries; s->name; s++)
            print_caller(p, s, all.cost, 0, prof_function_text(p, s->name));
        print_caller(p, &all, all.cost, callee, "all");
    }
    free(entries);
    return some;
}

/* Functions that were called, of those that are called so. */
int prof_print_callers(ptprof *p)
{
    const uint32_t count = p->session.functions.count;
    uint8_t *const called = (uint8_t *) calloc((size_t) count + 1, 1);
    unsigned some = 0;
    unsigned shown = 0;
    if (!called) prof_out_of_memory(p);
    if (!session_chosen(&p->session, "--callers", &p->callees)) {
        free(called);
        return 1;
    }
    for (uint32_t i = 1; i < p->tree.count; i++) {
        const calltree_node *const n = &p->tree.list[i];
        if (n->parent == CALLTREE_ROOT || called[n->name]
            || !prof_is_chosen(p, &p->callees, n->name))
            continue;
        called[n->name] = 1;
        some++;
    }
    for (uint32_t n = 1; n <= count; n++) {
        if (!called[n]) continue;
        if (shown++) putchar('\n');
        if (some > 1) {
            prof_print_name(prof_function_text(p, n), 0);
            puts(":");
        }
        print_callers_of(p, n);
    }
    free(called);
    if (some) return 0;
    fprintf(stderr, "%s: --callers: no call of ", p->args->program);
    tool_print(stderr, p->opt.callers);
    fprintf(stderr, ".\n");
    return 1;
}

/* ---- --waits ---- */

/* Who waited where: the gap, and what is around it. */
static void print_way(ptprof *p, uint32_t node)
{
    const calltree_node *const list = p->tree.list;
    char text[4 * SYMBOL];
    size_t n = 0;
    for (; list[node].parent != CALLTREE_ROOT && n < sizeof text - SYMBOL;
         node = list[node].parent)
        n += (size_t) snprintf(text + n, SYMBOL, "%s%.2048s", n ? " < " : "",
                               prof_function_text(p, list[node].name));
    while (list[node].parent != CALLTREE_ROOT) node = list[node].parent;
    snprintf(text + n, sizeof text - n, ", %.64s",
             prof_function_text(p, list[node].name));
    prof_print_name(text, prof_room_after(p, 41));
    putchar('\n');
}

static void print_turn(const ptprof *p, const calltree_node *n, int woke)
{
    const session_task *const task = session_task_of(&p->session, n->name);
    const char *const comm = n->name == 0 ? "nobody"
                           : task && *task->last_comm ? task->last_comm : "-";
    char cost[16] = "", text[96];
    if (!woke) prof_put_cost(p, cost, n->total.ns);
    printf("%9s %10" PRIu64 " %8s %8s    ", cost, n->calls, "", "");
    snprintf(text, sizeof text, "%s %.64s %" PRIu32,
             woke ? "woken by" : "meanwhile", comm, n->name);
    prof_print_name(text, prof_room_after(p, 43));
    putchar('\n');
}

/* Costs of a gap are those of the tree. What of it is nobody's turn is its
 * own. */
void prof_print_waits(ptprof *p)
{
    const calltree *const w = &p->waits;
    const calltree *const wakers = &p->wakers;
    char cost[16], median[16], most[16], text[24];
    uint64_t all = 0;
    uint32_t at;
    for (uint32_t i = w->list[0].child; i; i = w->list[i].sibling) {
        calltree_node *const n = &w->list[i];
        n->own = p->tree.list[n->name].own;
        all += n->own.ns;
        for (uint32_t k = n->child; k; k = w->list[k].sibling)
            n->own.ns -= w->list[k].own.ns < n->own.ns ? w->list[k].own.ns
                                                       : n->own.ns;
    }
    calltree_sum(&p->waits);
    calltree_sort(&p->waits, 0);
    puts("     cost      times   median      max  where, and who");
    for (uint32_t i = w->list[0].child; i; i = w->list[i].sibling) {
        const calltree_node *const n = &w->list[i];
        if (n->total.ns < prof_least_of(p, all)) break;
        prof_put_cost(p, cost, n->total.ns);
        prof_put_cost(p, median, calltree_quantile(n, 500));
        prof_put_cost(p, most, n->max);
        printf("%9s %10" PRIu64 " %8s %8s  ",
               prof_marked(p, text, cost, &p->tree.list[n->name].own), n->whole,
               median, most);
        print_way(p, n->name);
        for (uint32_t k = n->child; k; k = w->list[k].sibling)
            print_turn(p, &w->list[k], 0);
        if (wakers->count == 1) continue;
        at = calltree_child(&p->wakers, CALLTREE_ROOT, n->name);
        for (uint32_t k = at ? wakers->list[at].child : 0; k;
             k = wakers->list[k].sibling)
            print_turn(p, &wakers->list[k], 1);
    }
}

/* ---- --lines ---- */

uint64_t prof_line_cost(const ptprof *p, const line *l)
{
    return p->by_insn ? l->cost.insns : l->cost.ns;
}

static int by_insns(const void *a, const void *b)
{
    const uint64_t x = ((const line *) a)->cost.insns;
    const uint64_t y = ((const line *) b)->cost.insns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static int by_ns(const void *a, const void *b)
{
    const uint64_t x = ((const line *) a)->cost.ns;
    const uint64_t y = ((const line *) b)->cost.ns;
    return x < y ? 1 : x > y ? -1 : by_insns(a, b);
}

/* Make one line of those that --lines shows as one: the same source line, in
 * several functions. */
static void join_lines(ptprof *p)
{
    const size_t count = p->line_max;
    line *const list = (line *) calloc(count + 1, sizeof *list);
    if (!list) prof_out_of_memory(p);
    for (size_t i = 0; i < count; i++) {
        const line *const from = &p->lines[i];
        line *const to = &list[from->shown ? from->shown - 1 : i];
        if (!from->function) continue;
        calltree_add(&to->cost, &from->cost);
        to->shown = from->shown;
        to->function = from->function;
    }
    free(p->lines);
    p->lines = list;
    qsort(list, count, sizeof *list, p->by_insn ? by_insns : by_ns);
}

void prof_print_lines(ptprof *p)
{
    uint64_t all = 0;
    char text[16], with[24];
    for (size_t i = 0; i < p->line_max; i++) all += prof_line_cost(p, &p->lines[i]);
    join_lines(p);
    if (all)
        printf("    own     cost  %sline%s\n", p->opt.ipc ? "  IPC  " : "",
               p->by_insn ? " (costs are instructions)" : "");
    for (size_t i = 0; i < p->line_max; i++) {
        const line *const l = &p->lines[i];
        const uint64_t cost = prof_line_cost(p, l);
        if (!cost || cost < prof_least_of(p, all)) break;
        prof_put_cost(p, text, cost);
        printf("%6.1f%% %8s  ", 100.0 * (double) cost / (double) all,
               prof_marked(p, with, text, &l->cost));
        prof_print_ipc(p, &l->cost);
        prof_print_name(l->shown ? names_text(&p->names, l->shown)
                                 : prof_function_text(p, l->function),
                        prof_room_after(p, 18 + prof_ipc_width(p)));
        putchar('\n');
    }
}

/* ---- what --hot prints ---- */

/* By thread, then the hottest first. */
static int by_heat(const void *a, const void *b)
{
    const path *const x = (const path *) a;
    const path *const y = (const path *) b;
    if (x->root != y->root) return x->root < y->root ? -1 : 1;
    return x->insns < y->insns ? 1 : x->insns > y->insns ? -1
         : x->ips[0] < y->ips[0] ? -1 : x->ips[0] > y->ips[0];
}

void prof_print_hot(ptprof *p)
{
    if (p->path_count)
        qsort(p->paths, p->path_count, sizeof *p->paths, by_heat);
    for (size_t i = 0, end; i < p->path_count; i = end) {
        const calltree_node *const n = &p->tree.list[p->paths[i].root];
        const double share = 100.0 / (double) n->total.insns;
        uint64_t sum = 0;
        size_t count = 0;
        char text[2 * SYMBOL];
        for (end = i; end < p->path_count; end++) {
            if (p->paths[end].root != p->paths[i].root) break;
            sum += p->paths[end].insns;
            count += p->paths[end].runs != 0;
        }
        if (i) putchar('\n');
        prof_print_name(prof_function_text(p, n->name), 0);
        printf(": %" PRIu64 " of %" PRIu64 " instructions in %zu traces\n"
               "  share       runs blocks  trace\n", sum, n->total.insns,
               count);
        for (; i < end; i++) {
            const path *const at = &p->paths[i];
            if (!at->runs || at->insns < prof_least_of(p, n->total.insns)) continue;
            printf("%6.1f%% %10" PRIu64 " %6" PRIu32 "  ",
                   share * (double) at->insns, at->runs, at->blocks);
            prof_path_text(p, at, text);
            prof_print_name(text, prof_room_after(p, 28));
            putchar('\n');
        }
    }
}

/* ---- --histogram ---- */

/* Calls whose costs are below 1, 2, 4, ... */
static void print_bars(const ptprof *p, const calltree_node *n)
{
    uint64_t counts[65] = {0};
    const int room = prof_room_after(p, 33);
    const double widest = room && room < 50 ? room : 50;
    uint64_t most = 0;
    unsigned first = 65, last = 0;
    for (uint32_t i = 0; i < n->spread.size; i++) {
        const uint64_t cost = calltree_cost_of(n->spread.first + i);
        unsigned bits = 0;
        while (bits < 64 && cost >> bits) bits++;
        counts[bits] += n->spread.counts[i];
    }
    for (unsigned i = 0; i < 65; i++) {
        if (!counts[i]) continue;
        if (first == 65) first = i;
        last = i;
        if (counts[i] > most) most = counts[i];
    }
    for (unsigned i = first; i <= last; i++) {
        char low[16], high[16];
        const int bar = (int) (widest * (double) counts[i] / (double) most + .5);
        prof_put_cost(p, low, i ? (uint64_t) 1 << (i - 1) : 0);
        prof_put_cost(p, high, i ? ((uint64_t) 1 << (i - 1)) * 2 - 1 : 0);
        printf("%8s .. %8s %10" PRIu64 " ", low, high, counts[i]);
        for (int j = 0; j < bar; j++) putchar('#');
        putchar('\n');
    }
}

int prof_print_histogram(ptprof *p)
{
    const calltree_node *const n = &p->every.list[0];
    char text[16];
    static const unsigned shares[] = {0, 500, 900, 990, 1000};
    static const char *const labels[] = {"min", "median", "90 %", "99 %",
                                         "max"};
    if (!session_chosen(&p->session, "--histogram", &p->wanted)) return 1;
    if (n->whole == 0) {
        fprintf(stderr, "%s: --histogram: no whole call of ", p->args->program);
        tool_print(stderr, p->opt.histogram);
        fprintf(stderr, ".\n");
        return 1;
    }
    printf("%" PRIu64 " call%s:", n->whole, TOOL_S(n->whole));
    for (unsigned i = 0; i < 5; i++) {
        prof_put_cost(p, text, i == 0 ? n->min : i == 4 ? n->max
                                         : calltree_quantile(n, shares[i]));
        printf(" %s %s%c", labels[i], text, i < 4 ? ',' : '\n');
    }
    print_bars(p, n);
    printf("\nthe slowest, of thread %" PRIu32, p->slowest_tid);
    if (!p->by_insn)
        printf(", ended at %" PRIu64 ".%09" PRIu64,
               p->slowest_at / 1000000000, p->slowest_at % 1000000000);
    puts(":");
    print_head(p);
    calltree_sum(&p->slowest);
    calltree_sort(&p->slowest, p->by_insn);
    print_below(p, &p->slowest, CALLTREE_ROOT);
    return 0;
}
