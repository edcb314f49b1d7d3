/* direct.c: see direct.h.
 *
 * SPDX-License-Identifier: MIT */
#include "direct.h"
#include "image.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>

#define LARGEST (1u << 28) /* bytes of a file, read as a whole */

/* How far a direct branch leads from its end: its size, or 0 for others. */
static unsigned branch_at(const uint8_t *p, size_t left, int64_t *distance)
{
    const unsigned head = p[0] == 0x0f ? 2 : 1;
    uint32_t value = 0;
    if (left >= head + 4
        && (head == 2 ? (p[1] & 0xf0) == 0x80 : (p[0] & 0xfe) == 0xe8)) {
        for (unsigned i = 4; i > 0; i--) value = value << 8 | p[head + i - 1];
        *distance = (int32_t) value;
        return head + 4;
    }
    if (left < 2 || ((p[0] & 0xf0) != 0x70 && (p[0] & 0xfc) != 0xe0
                     && p[0] != 0xeb))
        return 0;
    *distance = (int8_t) p[1];
    return 2;
}

/* A bit for each offset that a branch leads to. */
static uint8_t *find_all(const uint8_t *bytes, size_t size)
{
    uint8_t *const bits = (uint8_t *) calloc(size / 8 + 1, 1);
    for (size_t i = 0; bits && i < size; i++) {
        int64_t distance = 0;
        const unsigned length = branch_at(bytes + i, size - i, &distance);
        const uint64_t to = i + length + (uint64_t) distance;
        if (length && to < size) bits[to / 8] |= (uint8_t) (1u << to % 8);
    }
    return bits;
}

static uint8_t *read_all(const files_file *file)
{
    uint8_t *bits = NULL;
    uint8_t *bytes;
    const size_t size = (size_t) file->size;
    if (file->size > LARGEST || !image_has_one_code(file)) return NULL;
    bytes = (uint8_t *) malloc(size + 1);
    if (bytes && files_read(file, 0, bytes, size) == size)
        bits = find_all(bytes, size);
    free(bytes);
    return bits;
}

int direct_to(direct *d, const files_file *file, uint64_t offset)
{
    size_t i = 0;
    while (i < d->count && d->list[i].file != file) i++;
    if (i == d->count) {
        if (!tool_grow(&d->list, i + 1, sizeof *d->list)) return 1;
        d->list[i].file = file;
        d->list[i].bits = read_all(file);
        d->count++;
    }
    if (!d->list[i].bits || offset >= file->size) return 1;
    return d->list[i].bits[offset / 8] >> offset % 8 & 1;
}

void direct_free(direct *d)
{
    while (d->count) free(d->list[--d->count].bits);
    free(d->list);
    memset(d, 0, sizeof *d);
}
