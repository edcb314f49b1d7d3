/* section.c: see section.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "section.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int fill(shim_section *s, uint64_t offset, uint64_t size)
{
    struct stat st;
    if (stat(s->name, &st) < 0)
        return shim_client_now(SHIM_UNKNOWN) == SHIM_2_1 ? -pte_bad_file
                                                         : -pte_invalid;
    if (offset >= (uint64_t) st.st_size) return -pte_invalid;
    s->offset = offset;
    s->size = (uint64_t) st.st_size - offset;
    if (size < s->size) s->size = size;
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->file_size = st.st_size;
    s->changed = st.st_mtim;
    return 0;
}

int shim_section_make(shim_section **section, const char *name,
                      uint64_t offset, uint64_t size)
{
    shim_section *s = calloc(1, sizeof *s);
    int status = -pte_nomem;
    if (!s) return status;
    s->name = strdup(name);
    if (s->name) status = fill(s, offset, size);
    if (status == 0 && pthread_mutex_init(&s->lock, NULL) != 0)
        status = -pte_bad_lock;
    if (status < 0) {
        free(s->name);
        free(s);
        return status;
    }
    s->users = 1;
    *section = s;
    return 0;
}

void shim_section_use(shim_section *s)
{
    pthread_mutex_lock(&s->lock);
    s->users++;
    pthread_mutex_unlock(&s->lock);
}

static void unmap(shim_section *s)
{
    if (!s->map) return;
    munmap(s->map, s->map_size);
    s->map = NULL;
    s->bytes = NULL;
}

void shim_section_drop(shim_section *s)
{
    unsigned users;
    pthread_mutex_lock(&s->lock);
    users = --s->users;
    pthread_mutex_unlock(&s->lock);
    if (users) return;
    unmap(s);
    pthread_mutex_destroy(&s->lock);
    free(s->name);
    free(s);
}

static int is_same(const shim_section *s, const struct stat *st)
{
    return st->st_dev == s->device && st->st_ino == s->inode
        && st->st_size == s->file_size
        && st->st_mtim.tv_sec == s->changed.tv_sec
        && st->st_mtim.tv_nsec == s->changed.tv_nsec;
}

static void map(shim_section *s)
{
    const uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    const uint64_t skip = s->offset % page;
    const int fd = open(s->name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *at = MAP_FAILED;
    if (fd < 0) return;
    s->map_size = (size_t) (skip + s->size);
    if (fstat(fd, &st) == 0 && is_same(s, &st))
        at = mmap(NULL, s->map_size, PROT_READ, MAP_SHARED, fd,
                  (off_t) (s->offset - skip));
    close(fd);
    if (at == MAP_FAILED) return;
    s->map = at;
    s->bytes = s->map + skip;
}

const uint8_t *shim_section_pin(shim_section *s)
{
    const uint8_t *bytes;
    pthread_mutex_lock(&s->lock);
    if (!s->map) map(s);
    bytes = s->bytes;
    if (bytes) s->pins++;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

void shim_section_unpin(shim_section *s)
{
    pthread_mutex_lock(&s->lock);
    s->pins--;
    if (!s->pins) unmap(s);
    pthread_mutex_unlock(&s->lock);
}
