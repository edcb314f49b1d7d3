/* files.c: see files.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void files_init(files *disk)
{
    memset(disk, 0, sizeof *disk);
}

void files_free(files *disk)
{
    for (size_t i = 0; i < disk->table_size; i++) {
        while (disk->table[i]) {
            files_file *file = disk->table[i];
            disk->table[i] = file->next;
            free(file->name);
            free(file->mapped);
            free(file);
        }
    }
    for (size_t i = 0; i < FILES_BLOCKS; i++) free(disk->blocks[i].bytes);
    free(disk->table);
    files_init(disk);
}

/* ---- opening ---- */

/* Is it a file system of its own that is mounted there? */
static int is_mounted_at(const char *folder, dev_t device)
{
    struct stat root;
    struct stat info;
    return stat("/", &root) == 0 && stat(folder, &info) == 0
        && info.st_dev != root.st_dev && info.st_dev == device;
}

/* Names in /proc and /sys may also lead to files elsewhere. */
static int is_regular(const char *name, const struct stat *info)
{
    return S_ISREG(info->st_mode) && info->st_size >= 0
        && strncmp(name, "/proc/", 6) != 0 && strncmp(name, "/sys/", 5) != 0
        && !is_mounted_at("/proc", info->st_dev)
        && !is_mounted_at("/sys", info->st_dev);
}

/* Opening alone may have effects (a FIFO waits, a tape rewinds), so look
 * first; and look again, because the name may mean another file by then. */
static int open_file(const char *name, struct stat *info)
{
    struct stat before;
    int fd;
    if (stat(name, &before) || !is_regular(name, &before)) return -1;
    fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, info) == 0 && S_ISREG(info->st_mode)
        && info->st_dev == before.st_dev && info->st_ino == before.st_ino
        && info->st_size >= 0)
        return fd;
    close(fd);
    return -1;
}

/* As above, below a folder that stands for the root, if it is not NULL. */
static int open_in(const files *disk, const char *folder, const char *name,
                   struct stat *info)
{
    uint64_t size;
    int fd;
    if (!folder) return open_file(name, info);
    fd = disk->open_below ? disk->open_below(folder, name, &size) : -1;
    if (fd >= 0 && fstat(fd, info)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int files_open(const char *name, uint64_t *size)
{
    struct stat info;
    int fd = open_file(name, &info);
    if (fd >= 0) *size = (uint64_t) info.st_size;
    return fd;
}

/* Read up to `size` bytes at an offset; returns how many there are. */
static size_t read_at(int fd, uint64_t from, uint8_t *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, buffer + done, size - done,
                          (off_t) (from + done));
        if (n <= 0) break;
        done += (size_t) n;
    }
    return done;
}

uint8_t *files_load(const char *name, uint64_t from, uint64_t to, size_t *size)
{
    uint64_t end;
    uint8_t *data = NULL;
    int fd = files_open(name, &end);
    *size = 0;
    if (fd < 0) return NULL;
    if (to > end) to = end;
    if (from <= to && to - from < SIZE_MAX) {
        *size = (size_t) (to - from);
        data = (uint8_t *) malloc(*size + 1);
    }
    if (!data) {
        *size = 1;
    } else if (read_at(fd, from, data, *size) != *size) {
        free(data);
        data = NULL;
        *size = 0;
    }
    close(fd);
    return data;
}

/* ---- the table of names ---- */

static size_t hash_name(const char *name)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (; *name; name++) value = (value ^ (uint8_t) *name) * 0x100000001b3u;
    return (size_t) (value ^ value >> 32);
}

static int grow_table(files *disk)
{
    size_t size = disk->table_size ? 2 * disk->table_size : 64;
    files_file **table = (files_file **) calloc(size, sizeof *table);
    if (!table) return 0;
    for (size_t i = 0; i < disk->table_size; i++) {
        while (disk->table[i]) {
            files_file *file = disk->table[i];
            files_file **place = &table[hash_name(file->name) & (size - 1)];
            disk->table[i] = file->next;
            file->next = *place;
            *place = file;
        }
    }
    free(disk->table);
    disk->table = table;
    disk->table_size = size;
    return 1;
}

static files_file *new_file(files *disk, const char *folder,
                            const char *name, const struct stat *info)
{
    files_file *file = (files_file *) calloc(1, sizeof *file);
    char *copy = file ? (char *) malloc(strlen(name) + 1) : NULL;
    if (!copy) {
        free(file);
        return NULL;
    }
    strcpy(copy, name);
    file->in = disk;
    file->name = copy;
    file->folder = folder;
    file->size = (uint64_t) info->st_size;
    file->device = (uint64_t) info->st_dev;
    file->inode = (uint64_t) info->st_ino;
    return file;
}

static int same_folder(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The pointer to a file that is known, or to the NULL where it belongs; NULL
 * without memory. */
static files_file **find_file(files *disk, const char *folder,
                              const char *name, int is_memory)
{
    files_file **place;
    if (disk->count >= disk->table_size && !grow_table(disk)) return NULL;
    place = &disk->table[hash_name(name) & (disk->table_size - 1)];
    while (*place && (strcmp((*place)->name, name) != 0
                      || !same_folder((*place)->folder, folder)
                      || ((*place)->bytes != NULL) != is_memory))
        place = &(*place)->next;
    return place;
}

/* Put a new file at the end of those with its hash. */
static files_file *append_file(files *disk, files_file **place,
                               files_file *file)
{
    if (!file) return NULL;
    file->next = NULL;
    *place = file;
    disk->count++;
    return file;
}

files_file *files_get_below(files *disk, const char *folder, const char *name)
{
    struct stat info;
    files_file **place = find_file(disk, folder, name, 0);
    int fd;
    if (!place || *place) return place ? *place : NULL;
    fd = open_in(disk, folder, name, &info);
    if (fd < 0) return NULL;
    close(fd);
    return append_file(disk, place, new_file(disk, folder, name, &info));
}

files_file *files_get(files *disk, const char *name)
{
    return files_get_below(disk, NULL, name);
}

files_file *files_put(files *disk, const char *name, const uint8_t *bytes,
                      uint64_t size)
{
    struct stat none;
    files_file **place = find_file(disk, NULL, name, 1);
    files_file *file;
    memset(&none, 0, sizeof none);
    if (!place) return NULL;
    file = *place ? *place
                  : append_file(disk, place,
                                new_file(disk, NULL, name, &none));
    if (!file) return NULL;
    file->bytes = bytes;
    file->size = size;
    return file;
}

int files_reopen(const files_file *file)
{
    struct stat info;
    int fd = file->bytes ? -1 : open_in(file->in, file->folder,
                                           file->name, &info);
    if (fd < 0) return -1;
    if ((uint64_t) info.st_dev == file->device
        && (uint64_t) info.st_ino == file->inode)
        return fd;
    close(fd);
    return -1;
}

/* ---- blocks ---- */

/* Fill a block of the cache; it is empty if the file is not what it was. */
static void load_block(files_block *block, const files_file *file,
                       uint64_t number)
{
    int fd;
    block->file = NULL;
    if (!block->bytes) block->bytes = (uint8_t *) malloc(FILES_BLOCK);
    if (!block->bytes) return;
    block->file = file;
    block->number = number;
    block->size = 0;
    fd = files_reopen(file);
    if (fd < 0) return;
    block->size = read_at(fd, number * FILES_BLOCK, block->bytes, FILES_BLOCK);
    close(fd);
}

size_t files_read(const files_file *file, uint64_t from, uint8_t *buffer,
                  size_t size)
{
    size_t done = 0;
    if (from >= file->size) return 0;
    if (size > file->size - from) size = (size_t) (file->size - from);
    if (file->bytes) {
        memcpy(buffer, file->bytes + from, size);
        return size;
    }
    while (done < size) {
        const uint64_t number = (from + done) / FILES_BLOCK;
        const size_t at = (size_t) ((from + done) % FILES_BLOCK);
        const size_t slot = ((uintptr_t) file / sizeof *file + (size_t) number)
            % FILES_BLOCKS;
        files_block *block = &file->in->blocks[slot];
        size_t n = size - done;
        if (block->file != file || block->number != number)
            load_block(block, file, number);
        if (block->file != file || at >= block->size) break;
        if (n > block->size - at) n = block->size - at;
        memcpy(buffer + done, block->bytes + at, n);
        done += n;
    }
    return done;
}
