/* capfile.h: a perf.data of records as the kernel wrote them, and of trace.
 *
 *     capfile *f = capfile_create("perf.data", 0);
 *     capfile_begin(f, events, count);
 *     capfile_records(f, records, size);
 *     capfile_trace(f, &piece);
 *     capfile_features(f, &about);
 *     if (capfile_close(f)) perror("perf.data");
 *
 * The file can be read at any time up to where it has been written. What cannot
 * be written is remembered: capfile_close says it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CAPFILE_H
#define CAPFILE_H
#include <stddef.h>
#include <stdint.h>

/* struct perf_event_attr as of Linux 5.13, whatever the headers here have. */
typedef struct capfile_attr {
    uint32_t type;
    uint32_t size;
    uint64_t config;
    uint64_t period;
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t flags;
    uint64_t unused[7];
    uint32_t aux_watermark;
    uint16_t max_stack;
    uint16_t reserved;
    uint64_t last[2];
} capfile_attr;

typedef struct capfile_event {
    capfile_attr attr;
    const char *name;
    uint64_t *ids;
    size_t id_count;
} capfile_event;

/* Trace of a queue, from one or two places. */
typedef struct capfile_piece {
    const uint8_t *bytes[2];
    size_t size[2];
    uint64_t offset;    /* in the stream */
    uint64_t reference; /* the TSC, more or less */
    uint32_t queue;
    uint32_t tid; /* UINT32_MAX: many */
    uint32_t cpu; /* UINT32_MAX: any */
} capfile_piece;

typedef struct capfile_about {
    char *const *command;
    const char *cpuid; /* GenuineIntel,6,94,3 */
    uint32_t cpus;
    uint32_t pmu; /* the type of intel_pt */
    uint64_t ring; /* bytes of DATA */
    int folder;    /* the file is `data` in one */
    int nameless;  /* not the name of this machine */
} capfile_about;

typedef struct capfile capfile;

/* A new file that only its owner can read; one that is there is emptied, but no
 * symbolic link is followed. level: of zstd, for records; 0: none. NULL, with
 * errno; ENOTSUP: built without zstd. */
capfile *capfile_create(const char *path, int level);

void capfile_begin(capfile *f, const capfile_event *events, size_t count);

/* Whole records with types below 64; they may be compressed. */
void capfile_records(capfile *f, const void *records, size_t size);

/* Records of perf's own. */
void capfile_plain(capfile *f, const void *records, size_t size);

void capfile_trace(capfile *f, const capfile_piece *piece);

uint64_t capfile_size(const capfile *f);

/* The error so far: errno, or 0. */
int capfile_error(const capfile *f);

/* After all records, once. */
void capfile_features(capfile *f, const capfile_about *about);

/* Returns 0; -1, with errno, if anything could not be written. */
int capfile_close(capfile *f);

#endif /* CAPFILE_H */
