/* buildid.h: which build an ELF file is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BUILDID_H
#define BUILDID_H
#include <stddef.h>
#include <stdint.h>

#define BUILDID_MAX 20

typedef enum buildid_kind {
    BUILDID_OTHER, /* not ELF, or for another processor */
    BUILDID_X64,
    BUILDID_X32,
    BUILDID_IA32
} buildid_kind;

typedef struct buildid {
    uint8_t size; /* 0: it has none */
    uint8_t bytes[BUILDID_MAX];
    buildid_kind kind;
} buildid;

/* Look into a file of `size` bytes at base, or, if base is NULL, of an open
 * file. */
void buildid_of_file(int fd, uint64_t size, buildid *id);
void buildid_of_bytes(const uint8_t *base, uint64_t size, buildid *id);

/* Is `id` the one of which `size` bytes are known? */
int buildid_is(const buildid *id, const uint8_t *bytes, size_t size);

/* In hex, with a zero. */
void buildid_text(const uint8_t *bytes, size_t size,
                  char text[2 * BUILDID_MAX + 1]);

#endif /* BUILDID_H */
