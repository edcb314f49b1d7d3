/* files.h: files that a trace's sideband names, for tools that trust nothing
 * in it.
 *
 * Only regular files are opened: no FIFO, no device, nothing that /proc or /sys
 * makes up. Contents are read a block at a time, when they are asked for, into
 * a cache that all files share, so that a file may be large and be named a
 * million times. A file that is replaced or cut meanwhile has no bytes left.
 *
 *     files disk;
 *     files_init(&disk);
 *     file = files_get(&disk, "/bin/ls");
 *     n = files_read(file, 0x1000, buffer, sizeof buffer);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FILES_H
#define FILES_H
#include "buildid.h"
#include <stddef.h>
#include <stdint.h>

#define FILES_BLOCK 65536u /* bytes */
#define FILES_BLOCKS 1024u /* the cache: 64 MiB */

typedef struct files_block {
    const struct files_file *file; /* NULL: none */
    uint64_t number;
    size_t size;
    uint8_t *bytes; /* allocated with the first use */
} files_block;

typedef struct files_file {
    struct files *in;
    struct files_file *next; /* of the same hash */
    char *name;
    char *mapped;         /* what was mapped, where that has another name; NULL.
                             Allocated */
    const char *folder;   /* that stands for the root; NULL: none does */
    const uint8_t *bytes; /* it is memory; NULL: it is a file */
    uint64_t size;
    uint64_t device;
    uint64_t inode;
    buildid id;       /* what binaries.c has found out about it, */
    uint8_t has_id;   /* ... if it has, */
    uint8_t was_told; /* ... and whether the user knows that it is another
                         build */
} files_file;

typedef struct files {
    files_file **table; /* by name */
    size_t table_size;  /* a power of two, or 0 */
    size_t count;
    /* How files_get_below opens: below_open, below_follow. Yours to set. */
    int (*open_below)(const char *folder, const char *name, uint64_t *size);
    files_block blocks[FILES_BLOCKS];
} files;

void files_init(files *disk);
void files_free(files *disk);

/* Open a regular file for reading. Returns a file descriptor and writes the
 * file's size, or returns -1. */
int files_open(const char *name, uint64_t *size);

/* Bytes [from, to) of a regular file, allocated; `to` past its end is cut.
 * *size is 0 and the result not NULL if there are none. NULL: it is not a regular
 * file or cannot be read, or (*size is 1) there is no memory. */
uint8_t *files_load(const char *name, uint64_t from, uint64_t to,
                    size_t *size);

/* The file of that name, kept until files_free; NULL if it is not a regular file
 * or there is no memory. */
files_file *files_get(files *disk, const char *name);

/* The file of that name below a folder, which stands for the root, with
 * files.open_below; the folder's name has to outlive it. */
files_file *files_get_below(files *disk, const char *folder,
                            const char *name);

/* `size` bytes of memory, which has to outlive it, as a file. If it is there
 * already, that is how much of it there is from now on, and where. */
files_file *files_put(files *disk, const char *name, const uint8_t *bytes,
                      uint64_t size);

/* Open it again for reading. Returns a file descriptor; -1: it is memory, or
 * was replaced. */
int files_reopen(const files_file *file);

/* Read at an offset. Returns how many of the bytes are there. */
size_t files_read(const files_file *file, uint64_t from, uint8_t *buffer,
                  size_t size);

#endif /* FILES_H */
