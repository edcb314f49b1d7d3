/* counts.c: see counts.h.
 *
 * SPDX-License-Identifier: MIT */
#include "counts.h"
#include <stdlib.h>
#include <string.h>

static counts_entry *find(const counts *c, uint64_t a, uint64_t b)
{
    const uint64_t hash =
        (a * 0x9e3779b97f4a7c15u ^ b) * 0xd6e8feb86659fd93u;
    size_t i = (size_t) (hash >> 32) & (c->slots - 1);
    while (c->entries[i].count
           && (c->entries[i].a != a || c->entries[i].b != b))
        i = (i + 1) & (c->slots - 1);
    return &c->entries[i];
}

static int grow(counts *c)
{
    counts bigger = {NULL, c->slots ? 2 * c->slots : 4096, c->used, 0};
    bigger.entries =
        (counts_entry *) calloc(bigger.slots, sizeof *bigger.entries);
    if (!bigger.entries) {
        c->failed = 1;
        return 0;
    }
    for (size_t i = 0; i < c->slots; i++)
        if (c->entries[i].count)
            *find(&bigger, c->entries[i].a, c->entries[i].b) = c->entries[i];
    free(c->entries);
    *c = bigger;
    return 1;
}

void counts_add(counts *c, uint64_t a, uint64_t b, uint64_t count)
{
    counts_entry *e;
    if (2 * c->used >= c->slots && !grow(c)) return;
    e = find(c, a, b);
    c->used += e->count == 0;
    e->a = a;
    e->b = b;
    e->count += count;
}

static int by_key(const void *x, const void *y)
{
    const counts_entry *const a = (const counts_entry *) x;
    const counts_entry *const b = (const counts_entry *) y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

void counts_sort(counts *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->slots; i++)
        if (c->entries[i].count) c->entries[n++] = c->entries[i];
    if (n) qsort(c->entries, n, sizeof *c->entries, by_key);
}

void counts_clear(counts *c)
{
    if (c->slots) memset(c->entries, 0, c->slots * sizeof *c->entries);
    c->used = 0;
}

void counts_free(counts *c)
{
    free(c->entries);
    memset(c, 0, sizeof *c);
}
