/* jitdump.c: see jitdump.h.
 *
 * SPDX-License-Identifier: MIT */
#include "jitdump.h"
#include <string.h>

#define FILE_HEADER 40 /* bytes, at least */
#define RECORD_HEADER 16
#define LOAD_FIELDS 40
#define MOVE_FIELDS 48

static uint64_t get(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;
    while (size--) value = value << 8 | bytes[size];
    return value;
}

int jitdump_open(jitdump *dump, const files_file *file)
{
    uint8_t head[FILE_HEADER];
    uint64_t machine;
    dump->file = file;
    if (files_read(file, 0, head, sizeof head) != sizeof head
        || get(head, 4) != 0x4a695444 || get(head + 4, 4) != 1)
        return -1;
    machine = get(head + 12, 4);
    dump->next = get(head + 8, 4);
    dump->is_tsc = head[32] & 1;
    return dump->next >= FILE_HEADER && (machine == 62 || machine == 3) ? 0
                                                                        : -1;
}

/* Where the name at [from, to) of the file ends, its zero included; 0 if it
 * does not. */
static uint64_t end_of_name(const files_file *file, uint64_t from, uint64_t to)
{
    uint8_t bytes[256];
    while (from < to) {
        const size_t size = to - from < sizeof bytes ? (size_t) (to - from)
                                                     : sizeof bytes;
        const size_t got = files_read(file, from, bytes, size);
        const uint8_t *zero = (const uint8_t *) memchr(bytes, 0, got);
        if (zero) return from + (uint64_t) (zero - bytes) + 1;
        if (got < size) break;
        from += size;
    }
    return 0;
}

/* Fields that both types have at the same place: pid, tid, vma. */
static int read_load(const jitdump *dump, uint64_t end, jitdump_record *r)
{
    uint8_t field[LOAD_FIELDS];
    r->name = r->offset + RECORD_HEADER + sizeof field;
    if (r->name > end
        || files_read(dump->file, r->offset + RECORD_HEADER, field,
                      sizeof field) != sizeof field)
        return -1;
    r->addr = get(field + 16, 8);
    r->size = get(field + 24, 8);
    r->from = end_of_name(dump->file, r->name, end);
    return r->from && r->size <= end - r->from ? 1 : -1;
}

static int read_move(const jitdump *dump, uint64_t end, jitdump_record *r)
{
    uint8_t field[MOVE_FIELDS];
    if (r->offset + RECORD_HEADER + sizeof field > end
        || files_read(dump->file, r->offset + RECORD_HEADER, field,
                      sizeof field) != sizeof field)
        return -1;
    r->from = get(field + 16, 8);
    r->addr = get(field + 24, 8);
    r->size = get(field + 32, 8);
    return 1;
}

int jitdump_next(jitdump *dump, jitdump_record *r)
{
    uint8_t head[RECORD_HEADER];
    uint64_t size;
    memset(r, 0, sizeof *r);
    r->offset = dump->next;
    if (dump->next >= dump->file->size) return 0;
    if (files_read(dump->file, dump->next, head, sizeof head) != sizeof head)
        return -1;
    size = get(head + 4, 4);
    if (size < RECORD_HEADER || size > dump->file->size - dump->next)
        return -1;
    dump->next += size;
    r->time = get(head + 8, 8);
    r->type = JITDUMP_OTHER;
    switch (get(head, 4)) {
    case 0: r->type = JITDUMP_LOAD; return read_load(dump, dump->next, r);
    case 1: r->type = JITDUMP_MOVE; return read_move(dump, dump->next, r);
    default: return 1;
    }
}

int jitdump_is_name(const char *path)
{
    const char *name = strrchr(path, '/');
    size_t digits;
    name = name ? name + 1 : path;
    if (strncmp(name, "jit-", 4) != 0) return 0;
    digits = strspn(name + 4, "0123456789");
    return digits > 0 && strcmp(name + 4 + digits, ".dump") == 0;
}
