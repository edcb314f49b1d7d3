/* port.c: see port.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "port.h"
#include <stdlib.h>
#include <string.h>

char *shim_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

#ifdef _WIN32

int shim_lock_init(shim_lock *lock)
{
    InitializeSRWLock(lock);
    return 0;
}

void shim_lock_end(shim_lock *lock)
{
    (void) lock;
}

void shim_lock_take(shim_lock *lock)
{
    AcquireSRWLockExclusive(lock);
}

void shim_lock_give(shim_lock *lock)
{
    ReleaseSRWLockExclusive(lock);
}

static HANDLE open_file(const char *name)
{
    return CreateFileA(name, GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
}

static uint64_t joined(DWORD high, DWORD low)
{
    return (uint64_t) high << 32 | low;
}

static int about(HANDLE handle, shim_file *file)
{
    BY_HANDLE_FILE_INFORMATION i;
    if (!GetFileInformationByHandle(handle, &i)) return -1;
    file->size = joined(i.nFileSizeHigh, i.nFileSizeLow);
    file->place[0] = i.dwVolumeSerialNumber;
    file->place[1] = joined(i.nFileIndexHigh, i.nFileIndexLow);
    file->changed[0] = joined(i.ftLastWriteTime.dwHighDateTime,
                              i.ftLastWriteTime.dwLowDateTime);
    file->changed[1] = 0;
    return 0;
}

int shim_file_about(const char *name, shim_file *file)
{
    HANDLE handle = open_file(name);
    int status;
    if (handle == INVALID_HANDLE_VALUE) return -1;
    status = about(handle, file);
    CloseHandle(handle);
    return status;
}

/* Where a map may begin. */
static uint64_t unit(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwAllocationGranularity;
}

static void *map_file(const char *name, const shim_file *file, uint64_t from,
                      size_t size)
{
    HANDLE handle = open_file(name);
    HANDLE section = NULL;
    shim_file now;
    void *at = NULL;
    if (handle == INVALID_HANDLE_VALUE) return NULL;
    if (about(handle, &now) == 0 && memcmp(&now, file, sizeof now) == 0)
        section = CreateFileMappingA(handle, NULL, PAGE_READONLY, 0, 0, NULL);
    if (section)
        at = MapViewOfFile(section, FILE_MAP_READ, (DWORD) (from >> 32),
                           (DWORD) from, size);
    if (section) CloseHandle(section);
    CloseHandle(handle);
    return at;
}

void shim_map_drop(shim_map *map)
{
    if (map->at) UnmapViewOfFile(map->at);
    memset(map, 0, sizeof *map);
}

#else

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int shim_lock_init(shim_lock *lock)
{
    return pthread_mutex_init(lock, NULL);
}

void shim_lock_end(shim_lock *lock)
{
    pthread_mutex_destroy(lock);
}

void shim_lock_take(shim_lock *lock)
{
    pthread_mutex_lock(lock);
}

void shim_lock_give(shim_lock *lock)
{
    pthread_mutex_unlock(lock);
}

static int about(const struct stat *st, shim_file *file)
{
    file->size = (uint64_t) st->st_size;
    file->place[0] = (uint64_t) st->st_dev;
    file->place[1] = (uint64_t) st->st_ino;
    file->changed[0] = (uint64_t) st->st_mtim.tv_sec;
    file->changed[1] = (uint64_t) st->st_mtim.tv_nsec;
    return 0;
}

int shim_file_about(const char *name, shim_file *file)
{
    struct stat st;
    return stat(name, &st) < 0 ? -1 : about(&st, file);
}

static uint64_t unit(void)
{
    return (uint64_t) sysconf(_SC_PAGESIZE);
}

static void *map_file(const char *name, const shim_file *file, uint64_t from,
                      size_t size)
{
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    shim_file now;
    void *at = MAP_FAILED;
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && about(&st, &now) == 0
        && memcmp(&now, file, sizeof now) == 0)
        at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t) from);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

void shim_map_drop(shim_map *map)
{
    if (map->at) munmap(map->at, map->size);
    memset(map, 0, sizeof *map);
}

#endif

void shim_map_part(shim_map *map, const char *name, const shim_file *file,
                   uint64_t offset, uint64_t size)
{
    const uint64_t skip = offset % unit();
    map->size = (size_t) (skip + size);
    map->at = map_file(name, file, offset - skip, map->size);
    map->bytes = map->at ? (const uint8_t *) map->at + skip : NULL;
}
