/* sourcefile.h: lines of source files, by the paths that DWARF has.
 *
 *     sourcefile *list = NULL;
 *     f = sourcefile_get(&list, path);   // f->lines[number - 1]; NULL: no memory
 *     sourcefile_free(list);
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOURCEFILE_H
#define SOURCEFILE_H
#include <stddef.h>

typedef struct sourcefile {
    struct sourcefile *next;
    const char *path; /* yours */
    char *text;
    char **lines;
    size_t count;     /* 0: it is not there, or no file */
} sourcefile;

const sourcefile *sourcefile_get(sourcefile **list, const char *path);
void sourcefile_free(sourcefile *list);

#endif /* SOURCEFILE_H */
