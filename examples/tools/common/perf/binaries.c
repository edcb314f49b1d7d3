/* binaries.c: see binaries.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "binaries.h"
#include "../code/below.h"
#include "../code/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

void binaries_init(binaries *b)
{
    memset(b, 0, sizeof *b);
    files_init(&b->disk);
    b->disk.open_below = below_follow;
}

void binaries_free(binaries *b)
{
    for (size_t i = 0; i < b->id_count; i++) free(b->ids[i].name);
    free(b->ids);
    files_free(&b->disk);
    memset(b, 0, sizeof *b);
}

/* ---- what the recording says ---- */

int binaries_note(binaries *b, const char *name, const uint8_t *id,
                  size_t size)
{
    binaries_id *to;
    if (size > BUILDID_MAX) return 0;
    if (b->id_count == b->id_max) {
        const size_t max = b->id_max + b->id_max / 2 + 16;
        if (!tool_grow(&b->ids, max, sizeof *b->ids)) return -1;
        b->id_max = max;
    }
    to = &b->ids[b->id_count];
    to->name = tool_copy(name, strlen(name));
    if (!to->name) return -1;
    to->size = (uint8_t) size;
    memcpy(to->id, id, size);
    b->id_count++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const binaries_id *) a)->name,
                  ((const binaries_id *) b)->name);
}

void binaries_sort(binaries *b)
{
    if (b->id_count) qsort(b->ids, b->id_count, sizeof *b->ids, by_name);
}

/* Build ids that perf has looked up itself, up to the first damaged one. */
static int note_ids(binaries *b, const perfdata *p)
{
    perfdata_place place;
    uint64_t at = 0;
    if (perfdata_feature(p, PERFDATA_FEATURE_BUILD_ID, &place) != 1)
        return 0;
    while (place.size - at >= 8) {
        uint8_t bytes[1 << 12];
        perfdata_record r;
        const uint64_t left = place.size - at;
        const size_t size = left < sizeof bytes ? (size_t) left : sizeof bytes;
        if (perfdata_read(p, place.offset + at, bytes, size) < 0
            || perfdata_parse_build_id(p->big_endian, bytes, size, &r)
                   < 0)
            return 0;
        at += r.size;
        if ((r.misc & PERFDATA_MISC_CPUMODE_MASK) == PERFDATA_MISC_USER
            && binaries_note(b, r.u.build_id.name, r.u.build_id.id,
                             r.u.build_id.size))
            return -1;
    }
    return 0;
}

int binaries_open(binaries *b, const perfdata *p)
{
    struct utsname own;
    char host[256];
    char release[256];
    const int has_host = perfdata_feature_text(
        p, PERFDATA_FEATURE_HOSTNAME, host, sizeof host) == 1;
    const int has_release = perfdata_feature_text(
        p, PERFDATA_FEATURE_OSRELEASE, release, sizeof release) == 1;
    b->other_host = uname(&own) != 0
        || (has_host && strcmp(host, own.nodename) != 0)
        || (has_release && strcmp(release, own.release) != 0);
    b->same_host = !b->other_host && (has_host || has_release);
    return note_ids(b, p);
}

/* ---- finding ---- */

int binaries_is_file(const char *name)
{
    static const char *const memory[] = {"//", "/dev/zero", "/SYSV", "/memfd:",
                                      "/anon_hugepage", "/[", "/dev/shm/"};
    static const char gone[] = " (deleted)";
    const size_t length = strlen(name);
    if (name[0] != '/' && (!name[0] || name[0] == '[' || strstr(name, ":[")))
        return 0; // [stack], anon_inode:[perf_event]
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (strncmp(name, memory[i], strlen(memory[i])) == 0) return 0;
    return length < sizeof gone
        || strcmp(name + length - (sizeof gone - 1), gone) != 0;
}

static void look_up_id(files_file *file)
{
    int fd;
    if (file->has_id) return;
    fd = files_reopen(file);
    if (file->bytes) buildid_of_bytes(file->bytes, file->size, &file->id);
    if (fd >= 0) {
        buildid_of_file(fd, file->size, &file->id);
        close(fd);
    }
    file->has_id = 1;
}

/* What perf keeps of a build, of what was mapped: CACHE/.build-id/xx/yyyy/NAME.
 */
static files_file *find_cached(binaries *b, const uint8_t *id, size_t size,
                               const char *name, const char *mapped)
{
    char hex[2 * BUILDID_MAX + 1];
    char *path;
    size_t room;
    files_file *file = NULL;
    if (!b->cache || size < 2) return NULL;
    buildid_text(id, size, hex);
    room = strlen(b->cache) + sizeof hex + 32;
    path = (char *) malloc(room);
    if (path) {
        snprintf(path, room, "%s/.build-id/%.2s/%s/%s", b->cache, hex, hex + 2,
                 name);
        file = files_get(&b->disk, path);
    }
    free(path);
    if (file && !file->mapped)
        file->mapped = tool_copy(mapped, strlen(mapped));
    return file;
}

/* Below the folder by its path, then by the last part of it. */
static files_file *find_below(binaries *b, const char *folder,
                                    const char *name)
{
    files_file *file = files_get_below(&b->disk, folder, name);
    const char *last = strrchr(name, '/');
    return file || !last ? file
                         : files_get_below(&b->disk, folder, last + 1);
}

/* The vdso of this process, up to the end of its section table. */
static files_file *own_vdso(binaries *b)
{
    const uint8_t *base = (const uint8_t *) getauxval(AT_SYSINFO_EHDR);
    uint64_t table;
    uint16_t number[2]; // e_shentsize, e_shnum
    if (!base || base[4] != 2) return NULL; // 64 bits
    memcpy(&table, base + 40, 8);
    memcpy(number, base + 58, 4);
    return files_put(&b->disk, "[vdso]", base,
                     table + (uint64_t) number[0] * number[1]);
}

static int is_build(files_file *file, const uint8_t *id, size_t size)
{
    if (size == 0) return 1;
    look_up_id(file);
    return buildid_is(&file->id, id, size);
}

static binaries_status find_vdso(binaries *b, const uint8_t *id, size_t size,
                                 files_file **file)
{
    if (b->vdso) {
        *file = files_get(&b->disk, b->vdso);
        if (!*file) return BINARIES_NO_FILE;
        return is_build(*file, id, size) ? BINARIES_FOUND : BINARIES_OTHER;
    }
    *file = find_cached(b, id, size, "vdso", "[vdso]");
    if (*file) return BINARIES_FOUND;
    *file = own_vdso(b);
    if (*file && is_build(*file, id, size) && (size || !b->other_host))
        return BINARIES_FOUND;
    *file = NULL;
    return BINARIES_NO_FILE;
}

binaries_status binaries_find(binaries *b, const char *folder,
                              const char *name, const uint8_t *id, size_t size,
                              files_file **file)
{
    *file = NULL;
    if (size == 0 && b->id_count) {
        binaries_id key;
        const binaries_id *found;
        memset(&key, 0, sizeof key);
        key.name = (char *) (uintptr_t) name;
        found = (const binaries_id *) bsearch(&key, b->ids, b->id_count,
                                              sizeof *b->ids, by_name);
        if (found) {
            id = found->id;
            size = found->size;
        }
    }
    if (strcmp(name, "[vdso]") == 0) return find_vdso(b, id, size, file);
    *file = find_cached(b, id, size, "elf", name);
    if (*file) return BINARIES_FOUND;
    if (!binaries_is_file(name)) return BINARIES_NONE;
    *file = folder ? find_below(b, folder, name)
                   : files_get(&b->disk, name);
    if (!*file) return BINARIES_NO_FILE;
    return is_build(*file, id, size) ? BINARIES_FOUND : BINARIES_OTHER;
}
