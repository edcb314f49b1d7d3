/* names.c: see names.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "names.h"
#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const char *text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (; *text; text++) h = (h ^ (uint8_t) *text) * 1099511628211u;
    return (uint32_t) (h ^ h >> 32);
}

/* Where a text is, or would be. At least half of the slots are free. */
static uint32_t *slot_of(const names_table *n, const char *text)
{
    uint32_t i = hash_of(text) & (n->size - 1);
    while (n->slots[i] && strcmp(n->list[n->slots[i] - 1], text) != 0)
        i = (i + 1) & (n->size - 1);
    return &n->slots[i];
}

static int grow(names_table *n)
{
    const uint32_t max = n->max ? 2 * n->max : 64;
    uint32_t *const slots = (uint32_t *) calloc(2 * (size_t) max,
                                                sizeof *slots);
    char **const list = max > UINT32_MAX / 4 ? NULL : (char **) realloc(
        n->list, max * sizeof *list);
    if (list) n->list = list;
    if (!list || !slots) {
        free(slots);
        return 0;
    }
    free(n->slots);
    n->slots = slots;
    n->size = 2 * max;
    n->max = max;
    for (uint32_t i = 0; i < n->count; i++)
        *slot_of(n, n->list[i]) = i + 1;
    return 1;
}

uint32_t names_add(names_table *n, const char *text)
{
    uint32_t *slot;
    if (n->count == n->max && !grow(n)) return 0;
    slot = slot_of(n, text);
    if (!*slot && (n->list[n->count] = strdup(text)) != NULL)
        *slot = ++n->count;
    return *slot;
}

const char *names_text(const names_table *n, uint32_t number)
{
    return number ? n->list[number - 1] : "?";
}

void names_free(names_table *n)
{
    for (uint32_t i = 0; i < n->count; i++) free(n->list[i]);
    free(n->list);
    free(n->slots);
    memset(n, 0, sizeof *n);
}
