/* scratch.h: files that a test makes, in a folder of its own. Include after
 * _GNU_SOURCE is defined. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tmp.h"

static char top[256]; /* everything is below it */

static void scratch_begin(void)
{
    if (!mkdtemp(tmp_name(top, sizeof top, "test"))) {
        perror(top);
        exit(2);
    }
}

static int scratch_forget(const char *path, const struct stat *info, int type,
                          struct FTW *walk)
{
    (void) info, (void) type, (void) walk;
    return remove(path);
}

static void scratch_end(void)
{
    nftw(top, scratch_forget, 16, FTW_DEPTH | FTW_PHYS);
}

/* top/name; the last 64 stay. */
static char *at_top(const char *name)
{
    static char path[64][512];
    static unsigned next;
    char *to = path[next++ % 64];
    snprintf(to, sizeof path[0], "%s/%s", top, name);
    return to;
}

static void save(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(at_top(name), "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) {
        perror(name);
        exit(2);
    }
}

#endif
