/* perffile.h: a perf.data of a file, a folder or a pipe, for the tools.
 *
 * perfdata.h reads; this gives it the bytes, the memory and zstd. What comes
 * out of a pipe is put into a file without a name first, so that trace can be
 * read when it is wanted; so is trace in samples that were compressed. Of a
 * folder, as perf record --kcore or --threads makes it, the files in it are
 * read.
 *
 *     if (perffile_open(&args, "perf.data", &f)) return 1;
 *     while ((status = perffile_next(&f, &record)) >= 0) use(&record);
 *     perffile_close(&f);
 *
 * SPDX-License-Identifier: MIT */
#ifndef PERFFILE_H
#define PERFFILE_H
#include "perfdata.h"
#include "../code/tool.h"

#ifndef PERFFILE_SPOOL /* bytes that a file without a name has at most */
#define PERFFILE_SPOOL ((uint64_t) 1 << 36)
#endif

typedef struct perffile {
    perfdata *data;    /* see perfdata.h; allocated */
    char *name;        /* of the file; allocated */
    char *folder;      /* what it was given as, if that is a folder, or NULL */
    perfdata_config config;
    int fd;
    int *part_fds;     /* of data.0 and so on, as config.parts has them */
    perfdata_place *parts;
    void *zstd;
    int kept_fd;       /* trace of compressed samples, ... */
    uint64_t kept;     /* ... since perfdata_rewind */
    uint8_t kept_full; /* no more could be kept */
} perffile;

/* Open FILE, or a folder that has one, or - for the standard input. Prints
 * what is wrong and returns the exit status; 0 is success. */
int perffile_open(const tool_args *args, const char *name, perffile *f);
void perffile_close(perffile *f);

/* The next record, as perfdata_next. */
int perffile_next(perffile *f, perfdata_record *record);

/* Read trace. 0, or -1. */
int perffile_read(const perffile *f, uint64_t offset, uint8_t *buffer,
                  size_t size);

/* Print a status of perffile_next, and where in the file. */
void perffile_complain(const tool_args *args, const perffile *f, int status,
                       uint64_t offset);

/* The queues of trace among the records; `add` may be given any record. Both
 * return 0, or -1 without memory. */
int perffile_queues_add(perfdata_queues *q, const perfdata_record *record);
int perffile_queues_finish(perfdata_queues *q);

/* Take from each snapshot what it repeats. Returns 0, or the exit status with
 * a message. */
int perffile_queues_trim(const tool_args *args, const perffile *f,
                         perfdata_queues *q);
void perffile_queues_free(perfdata_queues *q);

#endif /* PERFFILE_H */
