/* sourcefile.c: see sourcefile.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "sourcefile.h"
#include "below.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_source(sourcefile *f)
{
    uint64_t size = 0;
    size_t used = 0, n = 0;
    const int fd = below_open("/", f->path, &size);
    if (fd < 0) return 0;
    if (size > 1u << 24) size = 1u << 24;
    f->text = (char *) malloc((size_t) size + 1);
    while (f->text && used < size) {
        const ssize_t got = read(fd, f->text + used, (size_t) size - used);
        if (got <= 0) break;
        used += (size_t) got;
    }
    close(fd);
    if (!f->text) return -1;
    f->text[used] = 0;
    for (size_t at = 0; at < used; at++) n += f->text[at] == '\n';
    f->lines = (char **) malloc((n + 1) * sizeof *f->lines);
    if (!f->lines) return -1;
    for (size_t at = 0; at < used; at++) {
        f->lines[f->count++] = f->text + at;
        while (at < used && f->text[at] != '\n') at++;
        f->text[at] = 0;
    }
    return 0;
}

const sourcefile *sourcefile_get(sourcefile **list, const char *path)
{
    sourcefile *f = *list;
    while (f && strcmp(f->path, path) != 0) f = f->next;
    if (f) return f;
    f = (sourcefile *) calloc(1, sizeof *f);
    if (!f) return NULL;
    f->path = path;
    f->next = *list;
    *list = f;
    return read_source(f) ? NULL : f;
}

void sourcefile_free(sourcefile *list)
{
    for (sourcefile *f = list, *next; f; f = next) {
        next = f->next;
        free(f->lines);
        free(f->text);
        free(f);
    }
}
