/* kallsyms.c: see kallsyms.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "kallsyms.h"
#include "files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line is ADDRESS KIND NAME, and more for a module. */
static int is_symbol(const char *rest, const char *symbol)
{
    const char *name = rest + strspn(rest, " \t");
    name += *name != 0;
    name += strspn(name, " \t");
    return strncmp(name, symbol, strlen(symbol)) == 0
        && strchr("\n\t ", name[strlen(symbol)]) != NULL;
}

uint64_t kallsyms_find(const char *path, const char *symbol)
{
    char line[512];
    char *rest;
    uint64_t size;
    uint64_t value = 0;
    const int fd = files_open(path, &size);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!f) {
        if (fd >= 0) close(fd);
        return 0;
    }
    while (value == 0 && fgets(line, sizeof line, f)) {
        const uint64_t at = strtoull(line, &rest, 16);
        if (is_symbol(rest, symbol)) value = at;
    }
    fclose(f);
    return value;
}
