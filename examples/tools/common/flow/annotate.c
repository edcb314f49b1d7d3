/* annotate.c: see annotate.h.
 *
 * SPDX-License-Identifier: MIT */
#include "annotate.h"
#include "../code/tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t annotate_add(annotate *a, uint32_t function, uint64_t offset)
{
    char text[64];
    uint32_t number;
    snprintf(text, sizeof text, "%" PRIu32 " %" PRIx64, function, offset);
    number = names_add(&a->keys, text);
    if (number > a->max) {
        const size_t max = 2 * (size_t) number + 64;
        if (!tool_grow(&a->list, max, sizeof *a->list)) return 0;
        memset(a->list + a->max, 0, (max - a->max) * sizeof *a->list);
        a->max = max;
    }
    if (number) {
        a->list[number - 1].function = function;
        a->list[number - 1].offset = offset;
    }
    return number;
}

void annotate_ran(annotate *a, annotate_thread *t, uint32_t number,
                  const ipt_block *block)
{
    annotate_one *const one = &a->list[number - 1];
    one->kind = block->kind;
    one->mode = block->mode;
    one->executed++;
    if (block->kind != IPT_INSN_JCC) return;
    t->branch = number;
    t->next = block->end_ip + block->last_size;
    if (block->mode == IPT_MODE_32) t->next &= UINT32_MAX;
}

void annotate_went(annotate *a, annotate_thread *t, uint64_t ip)
{
    if (!t->branch) return;
    a->list[t->branch - 1].taken += ip != t->next;
    t->branch = 0;
}

void annotate_break(annotate *a, annotate_thread *t)
{
    if (t->branch) a->list[t->branch - 1].executed--;
    t->branch = 0;
}

uint64_t annotate_rarer(const annotate_one *one)
{
    const uint64_t other = one->executed - one->taken;
    return one->taken < other ? one->taken : other;
}

/* What is sorted. */
typedef struct annotate_item {
    uint64_t keys[3]; /* the lowest first */
    uint32_t index;
} annotate_item;

static int by_keys(const void *a, const void *b)
{
    const annotate_item *const x = (const annotate_item *) a;
    const annotate_item *const y = (const annotate_item *) b;
    for (unsigned i = 0; i < 3; i++)
        if (x->keys[i] != y->keys[i]) return x->keys[i] < y->keys[i] ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

uint32_t *annotate_order(const annotate *a, uint32_t function, size_t *count)
{
    annotate_item *const items =
        (annotate_item *) malloc((a->max + 1) * sizeof *items);
    uint32_t *const order = (uint32_t *) malloc((a->max + 1) * sizeof *order);
    *count = 0;
    for (size_t i = 0; items && order && i < a->max; i++) {
        const annotate_one *const one = &a->list[i];
        annotate_item *const to = &items[*count];
        if (!one->function || (function && one->function != function)
            || (!function && (one->kind != IPT_INSN_JCC || !one->executed)))
            continue;
        to->index = (uint32_t) i;
        to->keys[0] = function ? one->offset : UINT64_MAX - annotate_rarer(one);
        to->keys[1] = function ? 0 : UINT64_MAX - one->executed;
        to->keys[2] = function ? 0 : one->offset;
        ++*count;
    }
    if (items && order) {
        qsort(items, *count, sizeof *items, by_keys);
        for (size_t i = 0; i < *count; i++) order[i] = items[i].index;
    }
    free(items);
    if (items && order) return order;
    free(order);
    return NULL;
}

void annotate_free(annotate *a)
{
    free(a->list);
    names_free(&a->keys);
    memset(a, 0, sizeof *a);
}
