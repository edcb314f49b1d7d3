/* guests.h: virtual machines: which records of a perf.data are of one, and what
 * the functions of its kernel are called. `perf inject --guest-data` puts records
 * that perf made in a guest among the host's, with identifiers that ID_INDEX gives
 * to a machine.
 *
 *     guests_init(&g);
 *     ...                                            // guests_option
 *     if (guests_note(&g, big_endian, &record)) ...; // without memory
 *     if (guests_has(&g, &record)) ...               // pids are the guest's
 *     guests_free(&g);
 *
 * SPDX-License-Identifier: MIT */
#ifndef GUESTS_H
#define GUESTS_H
#include "../code/symbols.h"
#include "../code/tool.h"
#include "perfdata.h"

#define GUESTS_HELP                                                           \
    "  --guest-kallsyms <file>   what the functions of a guest's kernel are\n" \
    "                            called: a copy of its /proc/kallsyms.\n"     \
    "  --guest-modules <file>    ... and of its /proc/modules: its modules.\n"

typedef struct guests {
    uint64_t *ids; /* sorted */
    size_t count;
    uint64_t records; /* how many guests_has was asked about that are theirs */
    symbols kernel;   /* symbols_at: functions of its kernel */
    const char *kallsyms; /* of options; or NULL */
    const char *modules;
} guests;

void guests_init(guests *g);
void guests_free(guests *g);

/* As spaces_option. */
int guests_option(tool_args *args, guests *g, const char *word);

/* Read what the options name: 0, or the exit status with a message. */
int guests_start(guests *g, const tool_args *args);

/* Note what an ID_INDEX says; other records say nothing. 0, or -1 without
 * memory. */
int guests_note(guests *g, int big_endian, const perfdata_record *r);

/* Is it a record of a guest? */
int guests_has(guests *g, const perfdata_record *r);

#endif /* GUESTS_H */
