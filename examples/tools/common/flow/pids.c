/* pids.c: see pids.h.
 *
 * SPDX-License-Identifier: MIT */
#include "pids.h"
#include <stdlib.h>
#include <string.h>

/* The slot of a number, or the free one where it belongs. There is one. */
static pids_slot *slot_of(const pids *table, uint32_t pid)
{
    size_t i = (size_t) (pid * (uint64_t) 0x9e3779b97f4a7c15u >> 32);
    for (;; i++) {
        pids_slot *slot = &table->slots[i & (table->size - 1)];
        if (!slot->item || slot->pid == pid) return slot;
    }
}

static int grow(pids *table)
{
    pids larger;
    larger.size = table->size ? 2 * table->size : 64;
    larger.count = table->count;
    larger.slots = (pids_slot *) calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t i = 0; i < table->size; i++)
        if (table->slots[i].item)
            *slot_of(&larger, table->slots[i].pid) = table->slots[i];
    free(table->slots);
    *table = larger;
    return 0;
}

void *pids_find(const pids *table, uint32_t pid)
{
    return table->size ? slot_of(table, pid)->item : NULL;
}

int pids_set(pids *table, uint32_t pid, void *item)
{
    pids_slot *slot;
    if (2 * table->count >= table->size && grow(table)) return -1;
    slot = slot_of(table, pid);
    table->count += !slot->item;
    slot->item = item;
    slot->pid = pid;
    return 0;
}

void pids_free(pids *table)
{
    free(table->slots);
    memset(table, 0, sizeof *table);
}
