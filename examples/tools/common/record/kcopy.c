/* kcopy.c: see kcopy.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // O_NOFOLLOW
#define _FILE_OFFSET_BITS 64
#include "kcopy.h"
#include "../code/tool.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE  4096u
#define PARTS 2 /* the kernel, its modules */

typedef struct part {
    uint64_t from;
    uint64_t end;
} part;

static int open_one(const char *root, const char *name)
{
    char *path = tool_join(root, name);
    int fd;

    if (!path) {
        errno = ENOMEM;
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    return fd;
}

int kcopy_open(kcopy *k, const char *root)
{
    k->kallsyms = k->modules = -1;
    k->kcore = open_one(root, "proc/kcore");
    if (k->kcore >= 0)
        k->kallsyms = open_one(root, "proc/kallsyms");
    if (k->kallsyms >= 0)
        k->modules = open_one(root, "proc/modules");
    return k->modules < 0 ? -1 : 0;
}

static int create(const char *folder, const char *name)
{
    char *path = tool_join(folder, name);
    int fd = -1;

    if (path)
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  0600);
    free(path);
    return fd;
}

static int write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *p = (const uint8_t *) bytes;

    while (size > 0) {
        const ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        size -= (size_t) n;
    }
    return 0;
}

char *kcopy_text(int fd)
{
    char *text = NULL;
    size_t size = 0;
    size_t room = 0;

    for (;;) {
        ssize_t n;
        if (room - size < 65536) {
            char *p = (char *) realloc(text, 2 * room + 131072);
            if (!p)
                break;
            text = p;
            room = 2 * room + 131072;
        }
        n = read(fd, text + size, room - size - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        if (n == 0) {
            text[size] = 0;
            return text;
        }
        size += (size_t) n;
    }
    free(text);
    return NULL;
}

static int write_text(const char *folder, const char *name, const char *text)
{
    const int fd = create(folder, name);
    int status;

    if (fd < 0)
        return -1;
    status = write_all(fd, text, strlen(text));
    return close(fd) || status ? -1 : 0;
}

/* Does a line of kallsyms end with that name? */
static int is_named(const char *line, size_t size, const char *name)
{
    const size_t n = strlen(name);

    return size > n && line[size - n - 1] == ' '
           && memcmp(line + size - n, name, n) == 0;
}

/* Code of the kernel itself: [_stext, _etext). sscanf looks for the text's end
 * at each call, which is far away. */
static void find_kernel(const char *kallsyms, part *to)
{
    const char *p;

    for (p = kallsyms; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const size_t size = strcspn(p, "\n");
        if (!to->from && is_named(p, size, "_stext"))
            to->from = strtoull(p, NULL, 16);
        if (!to->end && is_named(p, size, "_etext"))
            to->end = strtoull(p, NULL, 16);
        if (to->from && to->end)
            return;
    }
}

/* From the first module to the last. */
static void find_modules(const char *modules, part *to)
{
    const char *p;

    for (p = modules; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        uint64_t at;
        uint64_t size;
        if (sscanf(p, "%*s %" SCNu64 " %*s %*s %*s %" SCNx64, &size, &at) != 2
            || !at)
            continue;
        if (!to->from || at < to->from)
            to->from = at;
        if (at + size > to->end)
            to->end = at + size;
    }
}

static int copy_bytes(int from, uint64_t at, int to, uint64_t size)
{
    static uint8_t bytes[65536];

    while (size > 0) {
        const size_t want = size < sizeof(bytes) ? (size_t) size
                                                 : sizeof(bytes);
        ssize_t n = pread(from, bytes, want, (off_t) at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* what cannot be read is zero */
            n = (ssize_t) (want < PAGE ? want : PAGE - at % PAGE);
            memset(bytes, 0, (size_t) n);
        }
        if (write_all(to, bytes, (size_t) n))
            return -1;
        at += (uint64_t) n;
        size -= (uint64_t) n;
    }
    return 0;
}

/* The parts that a segment has, as an ELF core of their own. */
static int copy_kcore(int from, int to, const part *parts)
{
    Elf64_Ehdr head;
    Elf64_Phdr out[PARTS];
    uint64_t at[PARTS];
    unsigned count = 0;
    unsigned i, k;
    uint64_t place = PAGE;
    static const uint8_t zeros[PAGE];

    if (pread(from, &head, sizeof(head), 0) != sizeof(head)
        || memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_phnum > 4096
        || head.e_phentsize != sizeof(Elf64_Phdr)) {
        errno = ENOEXEC;
        return -1;
    }
    for (k = 0; k < PARTS; k++) {
        for (i = 0; i < head.e_phnum && parts[k].from < parts[k].end; i++) {
            Elf64_Phdr p;
            uint64_t first = parts[k].from & ~(uint64_t) (PAGE - 1);
            uint64_t end = (parts[k].end + PAGE - 1) & ~(uint64_t) (PAGE - 1);
            if (pread(from, &p, sizeof(p),
                      (off_t) (head.e_phoff + i * sizeof(p)))
                != sizeof(p))
                return -1;
            if (p.p_type != PT_LOAD || first < p.p_vaddr
                || first >= p.p_vaddr + p.p_memsz)
                continue;
            if (end > p.p_vaddr + p.p_memsz)
                end = p.p_vaddr + p.p_memsz;
            at[count] = p.p_offset + (first - p.p_vaddr);
            out[count] = p;
            out[count].p_flags = PF_R | PF_W | PF_X;
            out[count].p_vaddr = first;
            out[count].p_paddr = 0;
            out[count].p_offset = place;
            out[count].p_filesz = out[count].p_memsz = end - first;
            out[count].p_align = PAGE;
            place += end - first;
            count++;
            break;
        }
    }
    if (count == 0) {
        errno = ENXIO;
        return -1;
    }
    head.e_phoff = sizeof(head);
    head.e_phnum = (Elf64_Half) count;
    head.e_shoff = 0;
    head.e_shnum = head.e_shstrndx = 0;
    if (write_all(to, &head, sizeof(head))
        || write_all(to, out, count * sizeof(out[0]))
        || write_all(to, zeros, PAGE - sizeof(head) - count * sizeof(out[0])))
        return -1;
    for (i = 0; i < count; i++)
        if (copy_bytes(from, at[i], to, out[i].p_filesz))
            return -1;
    return 0;
}

static int write_kcore(const kcopy *k, const char *folder, const part *parts)
{
    const int fd = create(folder, "kcore");
    int status;
    int error;

    if (fd < 0)
        return -1;
    status = copy_kcore(k->kcore, fd, parts);
    error = errno;
    if (close(fd)) {
        status = -1;
        error = errno;
    }
    errno = error;
    return status;
}

int kcopy_write(kcopy *k, const char *folder)
{
    char *kallsyms = kcopy_text(k->kallsyms);
    char *modules = kcopy_text(k->modules);
    part parts[PARTS] = {{0, 0}, {0, 0}};
    int status = -1;
    int error;

    if (kallsyms && modules) {
        find_kernel(kallsyms, &parts[0]);
        find_modules(modules, &parts[1]);
        status = write_text(folder, "kallsyms", kallsyms)
                         || write_text(folder, "modules", modules)
                         || write_kcore(k, folder, parts)
                     ? -1
                     : 0;
    }
    error = errno;
    free(kallsyms);
    free(modules);
    close(k->kcore);
    close(k->kallsyms);
    close(k->modules);
    errno = error;
    return status;
}
