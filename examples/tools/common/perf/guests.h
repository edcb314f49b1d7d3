/* guests.h: virtual machines: which records of a perf.data are of one, which of its
 * threads runs when, and what the functions of its kernel are called. `perf inject
 * --guest-data` puts records that perf made in a guest among the host's, with
 * identifiers that ID_INDEX gives to a machine, to one of its processors, and to the
 * thread of the host which that is.
 *
 *     guests_init(&g);
 *     ...                                            // guests_option
 *     if (guests_note(&g, big_endian, &record)) ...; // without memory
 *     if (guests_has(&g, &record)) {                 // pids are the guest's
 *         if (guests_add(&g, &record)) ...;          // without memory
 *     }
 *     guests_sort(&g);
 *     if (guests_find(&g, tid, ns, &now)) ...        // now.pid, now.tid, now.comm
 *     guests_free(&g);
 *
 * SPDX-License-Identifier: MIT */
#ifndef GUESTS_H
#define GUESTS_H
#include "../code/names.h"
#include "../code/symbols.h"
#include "../code/tool.h"
#include "perfdata.h"

#define GUESTS_HELP                                                           \
    "  --guest-kallsyms <file>   what the functions of a guest's kernel are\n" \
    "                            called: a copy of its /proc/kallsyms.\n"     \
    "  --guest-modules <file>    ... and of its /proc/modules: its modules.\n"

/* An identifier, and whose records have it. */
typedef struct guests_id {
    uint64_t id;
    uint32_t machine; /* the host's process that it is */
    uint32_t vcpu;    /* UINT32_MAX: not said */
    uint32_t tid;     /* ... and the host's thread which that is; 0: not said */
} guests_id;

/* From a time on a processor of a guest has a thread, or is about to leave it. */
typedef struct guests_switch {
    uint64_t time; /* ns */
    uint32_t tid_of_host;
    uint32_t pid;
    uint32_t tid;
    uint32_t machine;
    uint32_t vcpu;
    uint32_t order;
    uint8_t out;
} guests_switch;

/* From a time on a thread of a guest has a name. */
typedef struct guests_name {
    uint64_t time;
    uint32_t machine;
    uint32_t tid;
    uint32_t parent; /* its name then; 0: not that of another thread, but */
    uint32_t name;   /* ... this one of guests.names */
    uint32_t order;
} guests_name;

/* What runs on a processor of a guest. */
typedef struct guests_now {
    uint64_t from; /* ns: it does so until `to`, exclusive */
    uint64_t to;
    uint32_t machine;
    uint32_t vcpu;
    uint32_t pid;
    uint32_t tid;
    uint32_t thread;  /* a number for (machine, tid), from 1 */
    const char *comm; /* "": not known */
    uint8_t sure;     /* 0: the switch to the next thread has begun */
} guests_now;

typedef struct guests {
    guests_id *ids; /* sorted */
    size_t count;
    uint64_t records; /* how many guests_has was asked about that are theirs */
    guests_switch *switches; /* sorted by tid_of_host, time, order */
    size_t switch_count, switch_max;
    guests_name *comms; /* sorted by machine, tid, time, order */
    size_t comm_count, comm_max;
    uint64_t *threads;  /* machine << 32 | tid: sorted */
    size_t thread_count;
    names_table names;
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

/* Keep what such a record says of threads. 0, or -1 without memory. */
int guests_add(guests *g, const perfdata_record *r);

/* All records were added. 0, or -1 without memory. */
int guests_sort(guests *g);

/* The thread of a guest that runs at a time, in ns, on the processor that is a
 * thread of the host: 1, or 0 if that is not known. */
int guests_find(const guests *g, uint32_t tid, uint64_t time, guests_now *now);

#endif /* GUESTS_H */
