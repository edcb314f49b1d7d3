/* direct.h: which functions of a file its code may call or jump to directly: the
 * instruction says where to. To all others only an indirect branch leads, which
 * has a TIP packet each time.
 *
 *     direct d = {0};
 *     is = direct_to(&d, file, offset); // 1: perhaps; 0: never
 *     direct_free(&d);
 *
 * Each byte of the file counts as the first one of an instruction, so there may
 * be a 1 too many, and never a 0.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DIRECT_H
#define DIRECT_H
#include "files.h"

typedef struct direct_table {
    const files_file *file;
    uint8_t *bits;  /* by offset; NULL: anything may be */
} direct_table;

typedef struct direct {
    direct_table *list;
    size_t count;
} direct;

int direct_to(direct *d, const files_file *file, uint64_t offset);

void direct_free(direct *d);

#endif /* DIRECT_H */
