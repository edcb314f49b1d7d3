/* port.h: what differs by system: files that are mapped, and locks. On Windows
 * `compat` is built with mingw; everywhere else there is POSIX.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PORT_H
#define PORT_H
#include "shim.h"
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
typedef SRWLOCK shim_lock;
#else
#include <pthread.h>
typedef pthread_mutex_t shim_lock;
#endif

/* 0, or another value: there is none. */
HIDDEN int shim_lock_init(shim_lock *lock);
HIDDEN void shim_lock_end(shim_lock *lock);
HIDDEN void shim_lock_take(shim_lock *lock);
HIDDEN void shim_lock_give(shim_lock *lock);

/* Which file it is, and as it is now. */
typedef struct shim_file {
    uint64_t size;
    uint64_t place[2];   /* device and number */
    uint64_t changed[2]; /* when: s, ns, or one number */
} shim_file;

/* 0, or a negative number: there is none. */
HIDDEN int shim_file_about(const char *name, shim_file *file);

/* A part of a file, mapped for reading. */
typedef struct shim_map {
    void *at; /* NULL: it is not */
    size_t size;
    const uint8_t *bytes; /* of the part */
} shim_map;

/* Map it, if the file is still the same; it is in the file. */
HIDDEN void shim_map_part(shim_map *map, const char *name,
                          const shim_file *file, uint64_t offset,
                          uint64_t size);
HIDDEN void shim_map_drop(shim_map *map);

HIDDEN char *shim_text(const char *text); /* a copy; NULL: no memory */

#endif /* PORT_H */
