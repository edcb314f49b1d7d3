/* calltree.c: see calltree.h.
 *
 * SPDX-License-Identifier: MIT */
#include "calltree.h"
#include <stdlib.h>
#include <string.h>

#define STEPS 32u /* ranges for each power of two */

int calltree_init(calltree *t)
{
    memset(t, 0, sizeof *t);
    t->size = 256;
    t->max = 128;
    t->list = (calltree_node *) calloc(t->max, sizeof *t->list);
    t->slots = (uint32_t *) calloc(t->size, sizeof *t->slots);
    if (!t->list || !t->slots) {
        calltree_free(t);
        return -1;
    }
    t->count = 1; /* the root */
    return 0;
}

void calltree_free(calltree *t)
{
    for (uint32_t i = 0; i < t->count; i++) free(t->list[i].spread.counts);
    free(t->list);
    free(t->slots);
    memset(t, 0, sizeof *t);
}

void calltree_clear(calltree *t)
{
    for (uint32_t i = 0; i < t->count; i++) free(t->list[i].spread.counts);
    memset(t->list, 0, sizeof *t->list);
    memset(t->slots, 0, t->size * sizeof *t->slots);
    t->count = 1;
    t->full = 0;
}

/* ---- nodes ---- */

/* Where the child of that name is in the table, or would be. */
static uint32_t *slot_of(const calltree *t, uint32_t parent, uint32_t name)
{
    const uint64_t key = (uint64_t) parent << 32 | name;
    uint64_t i = (key * 0x9e3779b97f4a7c15u) >> 32;
    for (;; i++) {
        uint32_t *const slot = &t->slots[i & (t->size - 1)];
        const calltree_node *const n = &t->list[*slot];
        if (*slot == 0 || (n->parent == parent && n->name == name))
            return slot;
    }
}

static int grow(calltree *t)
{
    const uint32_t max = 2 * t->max;
    uint32_t *const slots =
        (uint32_t *) calloc(2 * (size_t) max, sizeof *slots);
    calltree_node *const list =
        slots ? (calltree_node *) realloc(t->list, max * sizeof *list) : NULL;
    if (!list) {
        free(slots);
        return 0;
    }
    t->list = list;
    free(t->slots);
    t->slots = slots;
    t->size = 2 * max;
    t->max = max;
    for (uint32_t i = 1; i < t->count; i++)
        *slot_of(t, list[i].parent, list[i].name) = i;
    return 1;
}

uint32_t calltree_child(calltree *t, uint32_t parent, uint32_t name)
{
    const uint32_t last = t->list[parent].last;
    uint32_t *slot;
    calltree_node *n;
    if (last && t->list[last].name == name) return last;
    slot = slot_of(t, parent, name);
    if (*slot) return t->list[parent].last = *slot;
    if (t->count == CALLTREE_NODES || (t->count == t->max && !grow(t))) {
        t->full = 1;
        return parent;
    }
    slot = slot_of(t, parent, name);
    n = &t->list[t->count];
    memset(n, 0, sizeof *n);
    n->parent = parent;
    n->name = name;
    n->sibling = t->list[parent].child;
    t->list[parent].child = t->count;
    *slot = t->count;
    return t->count++;
}

uint32_t calltree_next(const calltree *t, uint32_t node)
{
    if (t->list[node].child) return t->list[node].child;
    while (node != CALLTREE_ROOT && !t->list[node].sibling)
        node = t->list[node].parent;
    return t->list[node].sibling;
}

/* ---- how costs are spread ---- */

/* The range that a cost is in: below STEPS each has its own. */
static uint32_t range_of(uint64_t cost)
{
    uint32_t shift = 0;
    while (cost >> shift >= 2 * STEPS) shift++;
    return shift * STEPS + (uint32_t) (cost >> shift);
}

/* The middle of the range. */
uint64_t calltree_cost_of(uint32_t range)
{
    const uint32_t shift = range < 2 * STEPS ? 0 : range / STEPS - 1;
    const uint64_t first = (uint64_t) (range - shift * STEPS) << shift;
    return first + (((uint64_t) 1 << shift) >> 1);
}

/* Let counts begin with range `first`, and have `size` of them. */
static int widen(calltree_spread *s, uint32_t first, uint32_t size)
{
    uint32_t *const counts = (uint32_t *) calloc(size, sizeof *counts);
    if (!counts) return 0;
    if (s->size)
        memcpy(counts + (s->first - first), s->counts,
               s->size * sizeof *counts);
    free(s->counts);
    s->counts = counts;
    s->first = first;
    s->size = size;
    return 1;
}

static void add_to_spread(calltree_spread *s, uint64_t cost)
{
    const uint32_t range = range_of(cost);
    if (s->size == 0 && !widen(s, range, 4)) return;
    if (range < s->first
        && !widen(s, range, s->first + s->size - range))
        return;
    if (range >= s->first + s->size
        && !widen(s, s->first, range - s->first + s->size / 2 + 1))
        return;
    if (s->counts[range - s->first] < UINT32_MAX)
        s->counts[range - s->first]++;
}

void calltree_ended(calltree *t, uint32_t node, uint64_t cost)
{
    calltree_node *const n = &t->list[node];
    if (n->whole == 0 || cost < n->min) n->min = cost;
    if (cost > n->max) n->max = cost;
    n->whole++;
    add_to_spread(&n->spread, cost);
}

uint64_t calltree_quantile(const calltree_node *n, unsigned share)
{
    const uint64_t want = n->whole / 1000 * share
                        + (n->whole % 1000 * share + 999) / 1000;
    uint64_t sum = 0;
    uint64_t cost = n->max;
    for (uint32_t i = 0; i < n->spread.size; i++) {
        sum += n->spread.counts[i];
        if (sum < want || sum == 0) continue;
        cost = calltree_cost_of(n->spread.first + i);
        break;
    }
    if (cost < n->min) return n->min;
    return cost > n->max ? n->max : cost;
}

/* ---- totals ---- */

void calltree_add(calltree_cost *to, const calltree_cost *cost)
{
    to->insns += cost->insns;
    to->ns += cost->ns;
    to->cycles += cost->cycles;
    to->guess += cost->guess;
}

void calltree_settle(calltree *t, uint32_t parts)
{
    uint64_t rest = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        calltree_cost *const own = &t->list[i].own;
        rest += own->ns;
        own->ns = rest / parts;
        own->guess /= parts;
        rest %= parts;
    }
}

void calltree_sum(calltree *t)
{
    for (uint32_t i = 0; i < t->count; i++) t->list[i].total = t->list[i].own;
    for (uint32_t i = t->count; --i > 0;) { /* children come after parents */
        calltree_node *const parent = &t->list[t->list[i].parent];
        calltree_add(&parent->total, &t->list[i].total);
    }
}

typedef struct rank {
    uint64_t cost;
    uint32_t node;
    uint32_t name;
} rank;

static int compare(const void *a, const void *b)
{
    const rank *const x = (const rank *) a;
    const rank *const y = (const rank *) b;
    if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

void calltree_sort(calltree *t, int by_insn)
{
    rank *const ranks = (rank *) malloc(t->count * sizeof *ranks);
    if (!ranks) return; /* they stay in the order in which they came */
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t n = 0;
        uint32_t *link = &t->list[i].child;
        for (uint32_t c = *link; c; c = t->list[c].sibling, n++) {
            ranks[n].cost = by_insn ? t->list[c].total.insns
                                    : t->list[c].total.ns;
            ranks[n].node = c;
            ranks[n].name = t->list[c].name;
        }
        qsort(ranks, n, sizeof *ranks, compare);
        for (uint32_t j = 0; j < n; j++) {
            *link = ranks[j].node;
            link = &t->list[*link].sibling;
        }
        *link = 0;
    }
    free(ranks);
}
