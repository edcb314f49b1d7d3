/* names.h: texts that occur again and again, by number.
 *
 * All zeros is an empty table. Numbers begin at 1 and do not change; a text
 * holds until names_free.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NAMES_H
#define NAMES_H
#include <stddef.h>
#include <stdint.h>

typedef struct names_table {
    char **list;     /* number n is list[n - 1] */
    uint32_t count;
    uint32_t max;
    uint32_t *slots; /* a hash table of numbers; 0: free */
    uint32_t size;   /* a power of two, or 0 */
} names_table;

/* The number of a text; 0 without memory. */
uint32_t names_add(names_table *n, const char *text);

/* The text of a number that names_add returned; "?" for 0. */
const char *names_text(const names_table *n, uint32_t number);

void names_free(names_table *n);

#endif /* NAMES_H */
