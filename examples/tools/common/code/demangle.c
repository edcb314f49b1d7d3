/* demangle.c: see demangle.h.
 *
 * SPDX-License-Identifier: MIT */
#include "demangle.h"
#include <stdlib.h>
#include <string.h>

#ifdef __has_include
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#define HAVE_DEMANGLE
#endif
#endif

#ifdef HAVE_DEMANGLE
#define MANGLED_MAX 1024u /* bytes; the names of hostile files may be longer */

char *demangle(const char *name, int much)
{
    static const int flags[] = {DMGL_NO_OPTS,
                                DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP,
                                DMGL_PARAMS | DMGL_ANSI};
    const size_t size = strcspn(name, ".@");
    char text[MANGLED_MAX + 1];
    char *found;
    char *whole;
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R')
        || size > MANGLED_MAX)
        return NULL;
    memcpy(text, name, size);
    text[size] = 0;
    found = cplus_demangle(text, flags[much]);
    whole = found ? (char *) realloc(found, strlen(found) + strlen(name + size)
                                                + 1) : NULL;
    if (!whole) {
        free(found);
        return NULL;
    }
    return strcat(whole, name + size);
}
#else
char *demangle(const char *name, int much)
{
    (void) name, (void) much;
    return NULL;
}
#endif
