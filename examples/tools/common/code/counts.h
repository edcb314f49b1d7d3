/* counts.h: how often each pair of numbers came.
 *
 *     counts c;                      // all bytes 0
 *     counts_add(&c, from, to, 1);
 *     counts_sort(&c);               // c.entries[0] to c.entries[c.used - 1]
 *     counts_free(&c);
 *
 * SPDX-License-Identifier: MIT */
#ifndef COUNTS_H
#define COUNTS_H
#include <stddef.h>
#include <stdint.h>

typedef struct counts_entry {
    uint64_t a;
    uint64_t b;
    uint64_t count; /* 0: free */
} counts_entry;

typedef struct counts {
    counts_entry *entries; /* a table by hash */
    size_t slots;          /* a power of two, or 0 */
    size_t used;
    int failed;            /* there was no memory */
} counts;

void counts_add(counts *c, uint64_t a, uint64_t b, uint64_t count);

/* No more is added: the first c->used entries are all there are, sorted. */
void counts_sort(counts *c);

/* There are none again. */
void counts_clear(counts *c);
void counts_free(counts *c);

#endif /* COUNTS_H */
