/* pevent.h: perf sideband as libipt's tools follow it: records in the order of
 * their time, printed, and applied to the code that the trace runs in.
 *
 *     pevent session;
 *     pevent_init(&session, stdout, &code);
 *     why = pevent_add(&session, &range, 1, &config);
 *     pevent_start(&session);
 *     config.read = pevent_read, config.context = &session;
 *     for each event:
 *         if (pevent_event(&session, &event)) invalidate the code cache;
 *
 * A sideband file is a sequence of the kernel's perf records without a file
 * header, as libipt's scripts cut them out of a perf.data. A primary one is of
 * the cpu or thread that was traced: it says which process runs. A secondary
 * one only says what processes have mapped.
 *
 * There is one context, that is code, for each process. A record is due at the
 * first event whose time is not before its own. A switch of context then waits
 * for an event in the kernel or at its border, as far as ips say: perf notes
 * it while the kernel runs.
 *
 * Files are hostile: a record that cannot be read ends its file with a message,
 * one that cannot be applied gives a message. Both name the record's offset.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PEVENT_H
#define PEVENT_H
#include "../code/files.h"
#include "../code/image.h"
#include "ipt.h"
#include "perfdata.h"
#include "../flow/pids.h"
#include "../code/tool.h"
#include <stdio.h>

/* pevent.flags: what is printed. */
enum {
    PEVENT_COMPACT = 1,   /* records, one a line; not with PEVENT_VERBOSE */
    PEVENT_VERBOSE = 2,   /* records, a line for each field */
    PEVENT_FILENAME = 4,  /* in front of a record: its file, */
    PEVENT_OFFSET = 8,    /* its offset, */
    PEVENT_TIME = 16,     /* its time in TSC ticks */
    PEVENT_SWITCH = 32,   /* switches of context */
    PEVENT_WARN = 64      /* warnings */
};

/* Which of a process' three vdsos. */
enum {
    PEVENT_ABI_UNKNOWN,
    PEVENT_ABI_X64,
    PEVENT_ABI_X32,
    PEVENT_ABI_IA32,
    PEVENT_ABIS
};

/* How to read the files added with it. Zeros, time_mult = 1 and kernel_start =
 * UINT64_MAX are the defaults. */
typedef struct pevent_config {
    uint64_t sample_type;  /* PERFDATA_SAMPLE_: samples of each record, but */
    const struct pevent_sample *samples; /* ... those with one of these */
    size_t sample_count;                 /* identifiers; the last counts */
    uint64_t time_zero;    /* as in perf_event_mmap_page */
    uint16_t time_shift;
    uint32_t time_mult;
    int64_t tsc_offset;    /* taken off the time of records, in TSC ticks */
    uint64_t kernel_start; /* the lowest address of the kernel */
    const char *sysroot;   /* stands in front of names of files; or NULL */
    const char *vdso[PEVENT_ABIS]; /* files; or NULL */
} pevent_config;

typedef struct pevent_sample {
    uint64_t identifier;
    uint64_t sample_type;
} pevent_sample;

typedef struct pevent_context {
    uint32_t pid;
    uint32_t users; /* how many pointers there are to it */
    uint8_t abi;    /* PEVENT_ABI_, of the first ELF file */
    image code;     /* except the kernel's, which all have */
} pevent_context;

typedef struct pevent_file {
    struct pevent_file *next;  /* as on the command line */
    struct pevent_file *later; /* in the order of time */
    char *name;
    uint8_t *data;
    size_t size;
    size_t at; /* the record at hand */
    perfdata_record record;
    uint64_t tsc; /* when it is due */
    pevent_config config;
    pevent_sample *samples; /* its own copy */
    pevent_context *pending; /* a switch that waits; or NULL */
    uint8_t primary;
    uint8_t place; /* where the last event was */
} pevent_file;

typedef struct pevent {
    FILE *out;
    unsigned flags;          /* PEVENT_, yours to change */
    image kernel;            /* yours to fill, before the first event */
    image *initial;          /* code before the first switch */
    pevent_context *current; /* NULL: initial */
    pids contexts;
    size_t sections;   /* of all contexts */
    pevent_file *first;
    pevent_file *due; /* those with a record at hand, by time */
    int changed;      /* the code that is seen has changed */
    files disk;
} pevent;

/* `initial` is what is seen until the first switch. */
void pevent_init(pevent *p, FILE *out, image *initial);
void pevent_free(pevent *p);

/* Add a file, or size bytes at data, which were allocated and become p's even
 * on failure. config is copied; the texts in it have to stay.
 * returns  NULL, or why not */
const char *pevent_add(pevent *p, const tool_range *range, int primary,
                       const pevent_config *config);
const char *pevent_add_bytes(pevent *p, const char *name, uint8_t *data,
                             size_t size, int primary,
                             const pevent_config *config);

/* Read the first record of each file. */
void pevent_start(pevent *p);

/* Print the records up to a time, and forget them. */
void pevent_dump(pevent *p, uint64_t tsc);

/* Print and apply the records that are due at an event, in the order in which
 * the decoder gives events. Returns 1 if code has changed. */
int pevent_event(pevent *p, const ipt_event *e);

/* An ipt_config.read: the code of the current context; context is p. */
int pevent_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                uint64_t ip, void *context);

#endif /* PEVENT_H */
