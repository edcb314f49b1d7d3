/* buildid.c: see buildid.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "buildid.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file, or bytes. */
typedef struct source {
    const uint8_t *base;
    uint64_t size;
    int fd;
} source;

#define NOTES 4096 /* bytes of a note segment that are looked at */
#define SEGMENTS 256

static int fetch(const source *s, uint64_t offset, uint8_t *to, size_t size)
{
    if (offset > s->size || size > s->size - offset) return 0;
    if (s->base) {
        memcpy(to, s->base + offset, size);
        return 1;
    }
    return pread(s->fd, to, size, (off_t) offset) == (ssize_t) size;
}

static uint64_t little(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;
    while (size--) value = value << 8 | from[size];
    return value;
}

/* Names and contents of notes are padded to 4 bytes. */
static void scan_notes(const uint8_t *notes, uint64_t size, buildid *id)
{
    uint64_t at = 0;
    while (id->size == 0 && size - at >= 12) {
        const uint64_t name = little(notes + at, 4);
        const uint64_t bytes = little(notes + at + 4, 4);
        const uint64_t from = at + 12 + (name + 3) / 4 * 4;
        const uint64_t next = from + (bytes + 3) / 4 * 4;
        if (next > size) return;
        if (little(notes + at + 8, 4) == 3 && name == 4
            && memcmp(notes + at + 12, "GNU", 4) == 0
            && bytes <= BUILDID_MAX) {
            id->size = (uint8_t) bytes;
            memcpy(id->bytes, notes + from, (size_t) bytes);
        }
        at = next;
    }
}

static void scan_segments(const source *s, const uint8_t *header, int is_64,
                          buildid *id)
{
    static uint8_t notes[NOTES];
    const uint64_t table = is_64 ? little(header + 32, 8)
                                 : little(header + 28, 4);
    const uint64_t step = little(header + (is_64 ? 54 : 42), 2);
    const uint64_t count = little(header + (is_64 ? 56 : 44), 2);
    for (uint64_t i = 0; i < count && i < SEGMENTS && id->size == 0; i++) {
        uint8_t segment[56];
        uint64_t offset;
        uint64_t size;
        if (!fetch(s, table + i * step, segment, is_64 ? 56 : 32)) return;
        if (little(segment, 4) != 4) continue; // PT_NOTE
        offset = is_64 ? little(segment + 8, 8) : little(segment + 4, 4);
        size = is_64 ? little(segment + 32, 8) : little(segment + 16, 4);
        if (size > NOTES) size = NOTES;
        if (fetch(s, offset, notes, (size_t) size))
            scan_notes(notes, size, id);
    }
}

static void look(const source *s, buildid *id)
{
    uint8_t header[64];
    int is_64;
    uint64_t machine;
    memset(id, 0, sizeof *id);
    if (!fetch(s, 0, header, sizeof header)
        || memcmp(header, "\177ELF", 4) != 0 || header[5] != 1)
        return;
    is_64 = header[4] == 2;
    machine = little(header + 18, 2);
    if (machine == 62) // x86-64
        id->kind = is_64 ? BUILDID_X64 : BUILDID_X32;
    else if (machine == 3 && !is_64) // 386
        id->kind = BUILDID_IA32;
    scan_segments(s, header, is_64, id);
}

void buildid_of_file(int fd, uint64_t size, buildid *id)
{
    const source s = {NULL, size, fd};
    look(&s, id);
}

void buildid_of_bytes(const uint8_t *base, uint64_t size, buildid *id)
{
    const source s = {base, size, -1};
    look(&s, id);
}

int buildid_is(const buildid *id, const uint8_t *bytes, size_t size)
{
    return size <= id->size && memcmp(id->bytes, bytes, size) == 0;
}

void buildid_text(const uint8_t *bytes, size_t size,
                  char text[2 * BUILDID_MAX + 1])
{
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
    text[2 * size] = 0;
}
