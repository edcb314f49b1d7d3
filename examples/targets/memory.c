/* memory.c: the four functions that a compiler may call on its own, for systems
 * that have none. The volatile keeps it from making the loops here into calls
 * to themselves.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *to, const void *from, size_t n)
{
    return memmove(to, from, n);
}

void *memmove(void *to, const void *from, size_t n)
{
    volatile unsigned char *t = (volatile unsigned char *) to;
    const unsigned char *f = (const unsigned char *) from;
    size_t i;

    if ((size_t) to < (size_t) from)
        for (i = 0; i < n; i++)
            t[i] = f[i];
    else
        while (n--)
            t[n] = f[n];
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    volatile unsigned char *t = (volatile unsigned char *) to;

    while (n--)
        t[n] = (unsigned char) byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = (const unsigned char *) a;
    const unsigned char *y = (const unsigned char *) b;
    size_t i;

    for (i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}
