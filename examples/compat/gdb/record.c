/* record.c: gdb's `record btrace pt` without a processor that traces. To be
 * preloaded to gdb; it takes the place of the kernel's intel_pt events:
 *
 *     ptrecord --perf-data program.data -- ./program
 *     LD_PRELOAD=./gdb_record.so GDB_RECORD=program.data gdb ./program
 *
 * The thread that gdb traces first gets the trace of the first thread in the
 * perf.data, the next one that of the next, as if it had executed all of it.
 * So gdb has to stop the program where its recording ended, and the program
 * has to be at the same addresses: without randomisation, or static.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "examples/tools/common/code/buildid.h"
#include "examples/tools/common/perf/perfdata.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TYPE 0x69707421u /* of the events: no PMU has such a number */
#define TYPE_FILE "/sys/bus/event_source/devices/intel_pt/type"
#define EVENTS 1024u
#define PAGE 4096u

/* An event that was opened: a file without a name, so that its descriptor is
 * one that no other file has. */
static struct {
    dev_t device;
    ino_t inode;
    long pid;
    struct perf_event_mmap_page *page; /* NULL: not mapped yet */
} opened[EVENTS];
static unsigned opened_count;

/* What the program must not inherit: its loader, and so its addresses, would be
 * others than when it was recorded. gdb copies its environment after this. What
 * starts gdb (nice, a shell) passes it on; it has no libipt, and gdb has. */
__attribute__((constructor)) static void begin(void)
{
    if (!dlsym(RTLD_DEFAULT, "pt_insn_next")) return;
    (void) unsetenv("LD_PRELOAD");
    (void) unsetenv("LD_LIBRARY_PATH");
}

/* The function that is found after this one. */
static void next_of(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

/* ---- the recording ---- */

static int read_at(uint8_t *buffer, size_t size, uint64_t offset,
                   void *context)
{
    const int *fd = context;
    while (size > 0) {
        const ssize_t n = pread(*fd, buffer, size, (off_t) offset);
        if (n <= 0) return -1;
        buffer += n;
        offset += (uint64_t) n;
        size -= (size_t) n;
    }
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Is a file of that name mapped there by a process? Opens it: *fd, or -1. */
static int is_mapped(long pid, uint64_t addr, const char *name, int *fd)
{
    char path[64];
    char line[PATH_MAX + 100];
    FILE *maps;
    int found = 0;
    *fd = -1;
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    maps = fopen(path, "r");
    if (!maps) return 1; /* it cannot be said */
    while (!found && fgets(line, sizeof line, maps)) {
        const char *file = strchr(line, '/');
        line[strcspn(line, "\n")] = 0;
        found = file && strtoull(line, NULL, 16) == addr
             && strcmp(base_name(file), base_name(name)) == 0;
        if (found) *fd = open(file, O_RDONLY | O_CLOEXEC);
    }
    fclose(maps);
    return found;
}

#define RECORDING getenv("GDB_RECORD")

/* ---- is it a recording of this run? ---- */

#define ARGUMENTS 65536u

/* The arguments of a process, or of a recording's command, one string after
 * the other. Returns how many bytes they are; 0: they cannot be said. */
static size_t arguments_of(long pid, char *to)
{
    char path[64];
    FILE *f;
    size_t n;
    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    f = fopen(path, "r");
    if (!f) return 0;
    n = fread(to, 1, ARGUMENTS, f);
    fclose(f);
    return n < ARGUMENTS ? n : 0;
}

static size_t arguments_recorded(const perfdata *file, char *to)
{
    perfdata_place at;
    uint8_t number[4];
    size_t n = 0;
    uint32_t count;
    if (perfdata_feature(file, PERFDATA_FEATURE_CMDLINE, &at) != 1
        || perfdata_read(file, at.offset, number, 4) < 0)
        return 0;
    count = perfdata_u32(file->big_endian, number);
    for (at.offset += 4; count > 0; count--) { /* each has its size */
        uint32_t size;
        if (perfdata_read(file, at.offset, number, 4) < 0) return 0;
        size = perfdata_u32(file->big_endian, number);
        if (size == 0 || size >= ARGUMENTS - n
            || perfdata_read(file, at.offset + 4, (uint8_t *) to + n, size) < 0)
            return 0;
        to[n + size - 1] = 0;
        at.offset += 4 + (uint64_t) size;
        n += strlen(to + n) + 1;
    }
    return n;
}

/* The command ends with the name of the process, in whatever folder, and its
 * arguments. Before them may stand what has recorded it. */
static int is_called_so(const perfdata *file, long pid)
{
    static char now[ARGUMENTS];
    static char then[ARGUMENTS];
    const size_t n = arguments_of(pid, now);
    const size_t m = arguments_recorded(file, then);
    size_t at = 0;
    size_t size; /* of the arguments */
    if (!n || !m) return 1;
    size = n - (strlen(now) + 1);
    if (m <= size || memcmp(now + n - size, then + m - size, size) != 0)
        return 0;
    while (at + strlen(then + at) + 1 < m - size)
        at += strlen(then + at) + 1;
    return at + strlen(then + at) + 1 == m - size
        && strcmp(base_name(now), base_name(then + at)) == 0;
}

static int not_of_this_run(const char *format, const char *name, uint64_t at)
{
    fprintf(stderr, "gdb_record: %s is not of this run: ", RECORDING);
    fprintf(stderr, format, name, (unsigned long long) at);
    return 0;
}

/* Is an open file, which it closes, of the build that was recorded? */
static int is_build(int fd, const perfdata_record *r)
{
    struct stat st;
    buildid id;
    memset(&id, 0, sizeof id);
    if (fd < 0) return 1; /* it cannot be said */
    if (fstat(fd, &st) == 0) buildid_of_file(fd, (uint64_t) st.st_size, &id);
    close(fd);
    return !id.size || !r->u.mmap.build_id_size
        || buildid_is(&id, r->u.mmap.build_id, r->u.mmap.build_id_size);
}

/* Is the first code that a recording has, which is the program's, where this
 * process has it? Are it and what else is where it was of the same builds? */
static int is_of(perfdata *file, long pid)
{
    perfdata_record r;
    int first = 1;
    if (!is_called_so(file, pid))
        return not_of_this_run("it is of other arguments\n", "", 0);
    while (perfdata_next(file, &r) >= 0) {
        int fd;
        if ((r.type != PERFDATA_MMAP && r.type != PERFDATA_MMAP2)
            || r.u.mmap.name[0] != '/')
            continue;
        if (r.type == PERFDATA_MMAP2 && !(r.u.mmap.prot & PROT_EXEC)) continue;
        if (!is_mapped(pid, r.u.mmap.addr, r.u.mmap.name, &fd) && first)
            return not_of_this_run("it has %s at 0x%llx\n", r.u.mmap.name,
                                   r.u.mmap.addr);
        if (!is_build(fd, &r))
            return not_of_this_run("it has another build of %s\n",
                                   r.u.mmap.name, 0);
        first = 0;
    }
    return 1;
}

/* ---- its trace ---- */

/* Put the trace of a thread into a ring, as the processor does. Returns how
 * many bytes that were. */
static uint64_t fill(int fd, uint32_t thread, long pid, uint8_t *ring,
                     size_t size)
{
    static perfdata file;
    static perfdata_attr events[64];
    static perfdata_id ids[1 << 16];
    perfdata_config config;
    perfdata_record r;
    struct stat st;
    uint64_t head = 0;
    if (fstat(fd, &st) != 0) return 0;
    memset(&config, 0, sizeof config);
    config.read = read_at;
    config.context = &fd;
    config.size = (uint64_t) st.st_size;
    config.events = events;
    config.event_max = sizeof events / sizeof events[0];
    config.ids = ids;
    config.id_max = sizeof ids / sizeof ids[0];
    if (perfdata_open(&file, &config) < 0 || !is_of(&file, pid)
        || perfdata_open(&file, &config) < 0)
        return 0;
    while (perfdata_next(&file, &r) >= 0) {
        uint64_t at = r.u.auxtrace.data;
        uint64_t left = r.u.auxtrace.left;
        if (r.type != PERFDATA_AUXTRACE || r.u.auxtrace.idx != thread) continue;
        while (left > 0) {
            const uint64_t room = size - head % size;
            const uint64_t n = left < room ? left : room;
            if (perfdata_read(&file, at, ring + head % size, (size_t) n) < 0)
                return head;
            head += n;
            at += n;
            left -= n;
        }
    }
    if (!head)
        fprintf(stderr, "gdb_record: %s has no trace of thread %u\n",
                RECORDING, thread + 1);
    return head;
}

/* ---- what gdb calls ---- */

typedef FILE *fopen_function(const char *, const char *);
typedef long syscall_function(long, ...);
typedef void *mmap_function(void *, size_t, int, int, int, off_t);

static FILE *open_file(const char *name, const char *path, const char *mode)
{
    static char type[32];
    fopen_function *real;
    if (strcmp(path, TYPE_FILE) == 0) {
        const int n = snprintf(type, sizeof type, "%u\n", TYPE);
        return fmemopen(type, (size_t) n, "r");
    }
    next_of(&real, name);
    return real(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return open_file("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return open_file("fopen64", path, mode);
}

static long open_event(long pid)
{
    struct stat st;
    const int fd = memfd_create("intel_pt", MFD_CLOEXEC);
    if (fd < 0 || opened_count == EVENTS || fstat(fd, &st) != 0) {
        if (fd >= 0) close(fd);
        errno = EMFILE;
        return -1;
    }
    opened[opened_count].device = st.st_dev;
    opened[opened_count].inode = st.st_ino;
    opened[opened_count].pid = pid;
    opened_count++;
    return fd;
}

long syscall(long number, ...)
{
    syscall_function *real;
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_perf_event_open) {
        const struct perf_event_attr *attr;
        memcpy(&attr, &a[0], sizeof attr);
        if (attr->type == TYPE) return open_event(a[1]);
    }
    next_of(&real, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Which event a descriptor is; EVENTS: none. */
static unsigned event_of(int fd)
{
    struct stat st;
    unsigned i = 0;
    if (fd < 0 || opened_count == 0 || fstat(fd, &st) != 0) return EVENTS;
    while (i < opened_count
           && (opened[i].device != st.st_dev || opened[i].inode != st.st_ino))
        i++;
    return i < opened_count ? i : EVENTS;
}

/* First the page that says how much there is, with the records of perf, of
 * which there are none; then the trace. */
static void *map_event(unsigned event, size_t size, int is_trace)
{
    struct perf_event_mmap_page *page = opened[event].page;
    uint8_t *at;
    int fd;
    if (is_trace && !page) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
    if (at == MAP_FAILED) return at;
    if (!is_trace) {
        page = (void *) at;
        page->data_offset = PAGE;
        page->data_size = size - PAGE;
        opened[event].page = page;
        return at;
    }
    fd = open(RECORDING, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        const int why = errno;
        munmap(at, size);
        errno = why;
        return MAP_FAILED;
    }
    page->aux_head = fill(fd, event, opened[event].pid, at, size);
    close(fd);
    return at;
}

static void *map(const char *name, void *at, size_t size, int protection,
                 int flags, int fd, off_t offset)
{
    mmap_function *real;
    const unsigned event = event_of(fd);
    if (event != EVENTS && size >= PAGE)
        return map_event(event, size, offset != 0);
    next_of(&real, name);
    return real(at, size, protection, flags, fd, offset);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd,
           off_t offset)
{
    return map("mmap", at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd,
             off64_t offset)
{
    return map("mmap64", at, size, protection, flags, fd, offset);
}
