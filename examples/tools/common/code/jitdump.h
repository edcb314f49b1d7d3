/* jitdump.h: code that a JIT compiler wrote down: files jit-PID.dump.
 *
 * The format is that of jitdump-specification.txt in Linux's tools/perf, little
 * endian. Files are hostile.
 *
 *     if (jitdump_open(&dump, file) == 0)
 *         while (jitdump_next(&dump, &record) > 0) use(&record);
 *
 * SPDX-License-Identifier: MIT */
#ifndef JITDUMP_H
#define JITDUMP_H
#include "files.h"
#include <stddef.h>
#include <stdint.h>

typedef enum jitdump_type {
    JITDUMP_LOAD,  /* there is code */
    JITDUMP_MOVE,  /* code is somewhere else now */
    JITDUMP_OTHER  /* says nothing about code: lines, unwinding */
} jitdump_type;

typedef struct jitdump {
    const files_file *file;
    uint64_t next;  /* offset of the next record */
    uint8_t is_tsc; /* times are TSC ticks; else ns of CLOCK_MONOTONIC */
} jitdump;

typedef struct jitdump_record {
    jitdump_type type;
    uint64_t offset; /* of the record in the file */
    uint64_t time;
    uint64_t addr;   /* of the code */
    uint64_t size;
    uint64_t from;   /* LOAD: where the code is in the file; MOVE: its address
                        until now */
    uint64_t name;   /* LOAD: where the function's name is in the file; it ends
                        with a zero before the code */
} jitdump_record;

/* 0, or -1: it is not a jitdump file for x86. */
int jitdump_open(jitdump *dump, const files_file *file);

/* The next record: 1; 0: there are no more; -1: the rest is damaged. */
int jitdump_next(jitdump *dump, jitdump_record *record);

/* Is this the name of such a file? */
int jitdump_is_name(const char *path);

#endif /* JITDUMP_H */
