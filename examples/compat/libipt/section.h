/* section.h: parts of files that are mapped while somebody reads them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SECTION_H
#define SECTION_H
#include "port.h"

/* Any number of images, caches and threads share one. */
typedef struct shim_section {
    shim_lock lock; /* over users, pins and the map */
    char *name;
    uint64_t offset;
    uint64_t size;
    shim_file file; /* as it was when it was added */
    unsigned users;
    unsigned pins;
    shim_map map;
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
