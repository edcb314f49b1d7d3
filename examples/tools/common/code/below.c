/* below.c: see below.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // O_PATH, syscall
#include "below.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAME_SIZE 256 /* of a component, with its zero */

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Take the next component off a path: 1, 0 at its end, or -1 if there cannot
 * be such a file. */
static int next_name(const char **path, char *name)
{
    size_t length;
    do {
        *path += strspn(*path, "/");
        length = strcspn(*path, "/");
        if (length >= NAME_SIZE) return fail(ENAMETOOLONG);
        memcpy(name, *path, length);
        name[length] = 0;
        *path += length;
    } while (strcmp(name, ".") == 0);
    if (strcmp(name, "..") == 0) return fail(EINVAL);
    return length != 0;
}

static int is_last(const char *path)
{
    return path[strspn(path, "/")] == 0;
}

/* Close `folder` and return `fd`; errno stays. */
static int instead_of(int folder, int fd)
{
    const int error = errno;
    close(folder);
    errno = error;
    return fd;
}

/* ---- writing ---- */

int below_create(int folder, const char *path)
{
    char name[NAME_SIZE];
    int at = dup(folder);
    int status;
    while (at >= 0 && (status = next_name(&path, name)) != 0) {
        int fd = -1;
        if (status > 0 && is_last(path))
            return instead_of(at, openat(at, name, O_WRONLY | O_CREAT | O_EXCL
                                         | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (status > 0 && (mkdirat(at, name, 0777) == 0 || errno == EEXIST))
            fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW
                        | O_CLOEXEC);
        at = instead_of(at, fd);
    }
    if (at < 0) return -1;
    close(at);
    return fail(EINVAL); // no name at all
}

/* ---- reading ---- */

/* struct open_how of linux/openat2.h, which older headers do not have. */
typedef struct how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
} how;

#define SYS_OPENAT2 437 /* the same on every processor */
#define NO_MAGICLINKS 2
#define IN_ROOT 0x10

/* Without links, for kernels before 5.6. */
static int find_without_links(int folder, const char *path)
{
    char name[NAME_SIZE];
    int at = dup(folder);
    int status;
    while (at >= 0 && (status = next_name(&path, name)) != 0) {
        int fd = -1;
        if (status > 0)
            fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        at = instead_of(at, fd);
    }
    return at;
}

/* What the path means, without opening it for reading: that alone can have
 * effects. */
static int find(const char *folder, const char *path)
{
    const how way = {O_PATH | O_CLOEXEC, 0, IN_ROOT | NO_MAGICLINKS};
    int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    long fd;
    if (root < 0) return -1;
    fd = syscall(SYS_OPENAT2, root, path, &way, sizeof way);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = find_without_links(root, path);
    return instead_of(root, (int) fd);
}

/* Follow links out of the folder, where the path itself has no "..". */
static int find_outside(const char *folder, const char *path)
{
    char name[NAME_SIZE];
    const how way = {O_PATH | O_CLOEXEC, 0, NO_MAGICLINKS};
    const char *const relative = path + strspn(path, "/");
    int root;
    long fd;
    int status;
    while ((status = next_name(&path, name)) > 0) continue;
    if (status < 0) return -1;
    root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return -1;
    fd = syscall(SYS_OPENAT2, root, relative, &way, sizeof way);
    return instead_of(root, (int) fd);
}

/* Open what was found, if it is a file. */
static int open_found(int fd, uint64_t *size)
{
    char name[64];
    struct stat info;
    struct statfs system;
    if (fd < 0) return -1;
    if (fstat(fd, &info) || fstatfs(fd, &system)) return instead_of(fd, -1);
    if (!S_ISREG(info.st_mode) || info.st_size < 0
        || system.f_type == PROC_SUPER_MAGIC
        || system.f_type == SYSFS_MAGIC) {
        close(fd);
        return fail(EINVAL);
    }
    *size = (uint64_t) info.st_size;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return instead_of(fd, open(name, O_RDONLY | O_CLOEXEC));
}

int below_open(const char *folder, const char *path, uint64_t *size)
{
    return open_found(find(folder, path), size);
}

int below_follow(const char *folder, const char *path, uint64_t *size)
{
    const int fd = below_open(folder, path, size);
    return fd >= 0 ? fd : open_found(find_outside(folder, path), size);
}
