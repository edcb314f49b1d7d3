/* target.c: what is fuzzed: it reads a message and has a bug. It is compiled
 * without any instrumentation: what it does is known from its trace alone.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

/* All of it lies in one section: that is what is traced. */
#define TRACED __attribute__((section("traced"), noinline))

int target(const uint8_t *data, size_t size);

TRACED static int is_number(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* "size:" in decimal. Returns how many bytes that takes; 0: it is none. */
TRACED static size_t read_size(const uint8_t *data, size_t size, unsigned *n)
{
    size_t i = 0;

    *n = 0;
    while (i < size && i < 3 && is_number(data[i]))
        *n = *n * 10 + data[i++] - '0';
    return i > 0 && i < size && data[i] == ':' ? i + 1 : 0;
}

TRACED int target(const uint8_t *data, size_t size)
{
    unsigned count;
    size_t used;

    if (size < 4 || data[0] != 'p' || data[1] != 't')
        return 0;
    used = read_size(data + 2, size - 2, &count);
    if (used == 0)
        return 0;
    if (count > 64 && count % 10 == 7)
        __builtin_trap(); /* here it would write beyond a table */
    return 1;
}
