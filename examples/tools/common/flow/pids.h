/* pids.h: a table of pointers by number: of a process or of a thread.
 *
 * All zeros is an empty table. It grows with what is in it; numbers are
 * hostile, so that a look-up may take longer than one step, but no more than
 * there are numbers with one hash.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PIDS_H
#define PIDS_H
#include <stddef.h>
#include <stdint.h>

typedef struct pids_slot {
    void *item; /* NULL: free */
    uint32_t pid;
} pids_slot;

typedef struct pids {
    pids_slot *slots;
    size_t size;  /* a power of two, or 0 */
    size_t count; /* slots in use: at most half of them */
} pids;

/* The item of a number; NULL if there is none. */
void *pids_find(const pids *table, uint32_t pid);

/* Set the item, which is not NULL, of a number. Returns 0, or -1 without
 * memory. */
int pids_set(pids *table, uint32_t pid, void *item);

/* Free the table, not the items. */
void pids_free(pids *table);

#endif /* PIDS_H */
