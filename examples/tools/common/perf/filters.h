/* filters.h: the address filters of a recording, which AUXTRACE_INFO has.
 *
 * In the words of perf record --filter, with blanks or commas between them:
 *
 *     filter 0x1000/0x200@/bin/ls, tracestop main@/bin/ls, filter ADDR/SIZE
 *
 * Addresses are offsets into the file, or without one those of the kernel. Each
 * filter is a pair of registers, which the kernel sets for each process to where
 * the file is mapped; before it is, nothing is in that range.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FILTERS_H
#define FILTERS_H
#include "ipt.h"

typedef struct filters_item {
    const char *file;   /* NULL: of the kernel */
    const char *symbol; /* it begins there; NULL: at `first` */
    uint64_t first;
    uint64_t size;      /* 0: that of the symbol */
    uint8_t kind;       /* IPT_FILTER_ */
} filters_item;

typedef struct filters {
    filters_item list[IPT_FILTERS];
    unsigned count; /* 0: all is traced */
    char *text;     /* allocated */
} filters;

typedef enum filters_status {
    FILTERS_OK,
    FILTERS_UNKNOWN,  /* these are not filters that PT has */
    FILTERS_NO_MEMORY
} filters_status;

/* Read the text, which may be anything. If the status is not FILTERS_OK there
 * are none. */
filters_status filters_parse(filters *f, const char *text);
void filters_free(filters *f);

/* The registers of a process without mappings. */
void filters_begin(const filters *f, ipt_filter range[IPT_FILTERS]);

/* A file is mapped: `size` bytes from `offset` on at `ip`. Symbols have to be
 * known by then. */
void filters_map(const filters *f, ipt_filter range[IPT_FILTERS],
                 const char *file, uint64_t ip, uint64_t size,
                 uint64_t offset);

/* Is one of them about a file? */
int filters_name(const filters *f, const char *file);

#endif /* FILTERS_H */
