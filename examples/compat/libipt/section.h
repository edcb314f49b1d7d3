/* section.h: parts of files that are mapped while somebody reads them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SECTION_H
#define SECTION_H
#include "shim.h"
#include <pthread.h>
#include <sys/types.h>

/* Any number of images, caches and threads share one. */
typedef struct shim_section {
    pthread_mutex_t lock; /* over all below `size` */
    char *name;
    uint64_t offset;
    uint64_t size;
    dev_t device; /* what the file was when it was added */
    ino_t inode;
    off_t file_size;
    struct timespec changed;
    unsigned users;
    unsigned pins;
    uint8_t *map; /* NULL: not mapped */
    size_t map_size;
    const uint8_t *bytes; /* in it */
} shim_section;

/* A part of a file; it is cut to what the file has. 0, or a negative error. */
HIDDEN int shim_section_make(shim_section **section, const char *name,
                             uint64_t offset, uint64_t size);
HIDDEN void shim_section_use(shim_section *s);
HIDDEN void shim_section_drop(shim_section *s);

/* A section's bytes, which stay until they are unpinned; NULL: the file is
 * gone, or is not the one it was. */
HIDDEN const uint8_t *shim_section_pin(shim_section *s);

HIDDEN void shim_section_unpin(shim_section *s);

#endif /* SECTION_H */
