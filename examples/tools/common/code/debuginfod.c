/* debuginfod.c: see debuginfod.h.
 *
 * SPDX-License-Identifier: MIT */
#include "debuginfod.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What elfutils/debuginfod.h declares. */
typedef void *begin_function(void);
typedef int find_function(void *client, const unsigned char *id, int size,
                          char **path);

static void *client;
static find_function *find;

const char *debuginfod_start(void)
{
    const char *const urls = getenv("DEBUGINFOD_URLS");
    void *const library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    void *const begin_at = library ? dlsym(library, "debuginfod_begin") : NULL;
    void *const find_at = library ? dlsym(library, "debuginfod_find_debuginfo")
                                  : NULL;
    begin_function *begin;
    if (!urls || !*urls) return "DEBUGINFOD_URLS is not set";
    if (!begin_at || !find_at) return "libdebuginfod is missing (package libdebuginfod1)";
    memcpy(&begin, &begin_at, sizeof begin); /* C has no cast for that */
    memcpy(&find, &find_at, sizeof find);
    client = begin();
    return client ? NULL : "libdebuginfod does not start";
}

int debuginfod_fetch(const buildid *id)
{
    const int fd = client ? find(client, id->bytes, id->size, NULL) : -1;
    return fd < 0 ? -1 : fd;
}
