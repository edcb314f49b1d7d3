/* lines.h: from which line of its source code comes, and of which inlined
 * function, as its DWARF says.
 *
 *     lines l;
 *     lines_init(&l);
 *     if (lines_find(&l, file, offset, &place)) ... // a files_file
 *     lines_free(&l);
 *
 * A file's DWARF is read when it is asked for the first time: that of the file,
 * or of its separate debug file, by build id (symbols.h). Without libdw no line
 * is found.
 *
 * All these files are hostile. No line is found for what cannot be read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LINES_H
#define LINES_H
#include "symbols.h"

typedef struct lines_place {
    const char *file;     /* until lines_free */
    const char *function; /* the innermost one, inlined or not; or NULL */
    int line;
} lines_place;

typedef struct lines {
    struct lines_of *list; /* a file each */
    const char *debug;     /* both as in symbols.h; yours to set */
    symbols_fetch *fetch;
} lines;

void lines_init(lines *l);
void lines_free(lines *l);

/* The line of the code at an offset of a file: 1, or 0. */
int lines_find(lines *l, const files_file *file, uint64_t offset,
               lines_place *place);

/* The functions that were inlined there, the innermost first, each with the line
 * that calls it: at most `max`, those around them are left out. How many. */
size_t lines_inlined(lines *l, const files_file *file, uint64_t offset,
                     lines_place *list, size_t max);

/* A place where the code of a statement begins. */
typedef struct lines_row {
    const char *file; /* until lines_free */
    uint64_t offset;
    int line;
} lines_row;

/* All of those of a file. */
typedef void lines_row_found(const lines_row *row, void *context);
void lines_rows(lines *l, const files_file *file, lines_row_found *found,
                void *context);

/* Code that was copied by inlining: the number of the copy that is there, or of
 * the function. 0: none is known. */
uint64_t lines_copy(lines *l, const files_file *file, uint64_t offset);

#endif /* LINES_H */
