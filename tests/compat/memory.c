/* memory.c: see memory.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int memory_counting;
unsigned long memory_asked;
unsigned long memory_fail_at;
int memory_fail_on;
long memory_living;

static int refused(void)
{
    if (!memory_counting) return 0;
    memory_asked++;
    if (!memory_fail_at || memory_asked < memory_fail_at
        || (memory_asked > memory_fail_at && !memory_fail_on))
        return 0;
    errno = ENOMEM;
    return 1;
}

#ifdef MEMORY_RENAMED
void *memory_malloc(size_t size);
void *memory_calloc(size_t count, size_t size);
void *memory_realloc(void *old, size_t size);
char *memory_strdup(const char *text);

void *memory_malloc(size_t size)
{
    return refused() ? NULL : malloc(size);
}

void *memory_calloc(size_t count, size_t size)
{
    return refused() ? NULL : calloc(count, size);
}

void *memory_realloc(void *old, size_t size)
{
    return refused() ? NULL : realloc(old, size);
}

char *memory_strdup(const char *text)
{
    return refused() ? NULL : strdup(text);
}
#else
/* glibc's own, under the names that it exports for this. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *block);

static void *count_in(void *block)
{
    if (memory_counting && block) memory_living++;
    return block;
}

void *malloc(size_t size)
{
    return refused() ? NULL : count_in(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : count_in(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    void *block;
    if (refused()) return NULL;
    block = __libc_realloc(old, size);
    return old ? block : count_in(block);
}

void free(void *block)
{
    if (memory_counting && block) memory_living--;
    __libc_free(block);
}
#endif
