/* api.c: see api.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "api.h"
#include <dlfcn.h>
#include <stdlib.h>

const char *api_open(api *a, const char *path)
{
    const char *why = NULL;
    a->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!a->handle) return dlerror();
#define API_FIND_(name)                                                      \
    *(void **) (void *) &a->name = dlsym(a->handle, #name);                  \
    if (!a->name) why = "missing: " #name;
    API_LIST(API_FIND_)
    API_LIST_2_1(API_FIND_)
    API_LIST_2_2(API_FIND_)
    return why;
}

/* By its name the system's is found only as long as no other of that name is
 * loaded. */
const char *api_open_both(api *system, api *ours, const char *path)
{
    const char *named = getenv("THEIRS");
    const char *why = api_open(system, named ? named : "libipt.so.2");
    if (!why) why = api_open(ours, path);
    if (!why && system->pt_errstr == ours->pt_errstr)
        why = "libipt.so.2 and LIBIPT are the same library";
    return why;
}
