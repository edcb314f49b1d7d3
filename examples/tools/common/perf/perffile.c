/* perffile.c: see perffile.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "perffile.h"
#include "../code/below.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<zstd.h>)
#include <zstd.h>
#define HAVE_ZSTD
#endif
#endif

/* ---- bytes ---- */

static int read_fd(int fd, uint8_t *buffer, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t n = pread(fd, buffer, size, (off_t) offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        buffer += n;
        offset += (uint64_t) n;
        size -= (size_t) n;
    }
    return 0;
}

/* The place of the file or the part that has the byte at an offset; its
 * descriptor. */
static int find_fd(const perffile *f, uint64_t offset, perfdata_place *place)
{
    uint32_t low = 0;
    uint32_t high = f->config.part_count;
    while (low < high) { // the first part beyond the offset
        const uint32_t middle = low + (high - low) / 2;
        if (f->parts[middle].offset <= offset) low = middle + 1;
        else high = middle;
    }
    if (low) {
        *place = f->parts[low - 1];
        return f->part_fds[low - 1];
    }
    place->offset = 0;
    place->size = high ? f->parts[0].offset : f->config.size;
    return f->fd;
}

static int read_at(uint8_t *buffer, size_t size, uint64_t offset,
                   void *context)
{
    const perffile *f = (const perffile *) context;
    if (offset >= f->config.size)
        return read_fd(f->kept_fd, buffer, size, offset - f->config.size);
    while (size) {
        perfdata_place place;
        const int fd = find_fd(f, offset, &place);
        const uint64_t from = offset - place.offset;
        const uint64_t there = place.size - from;
        const size_t n = size < there ? size : (size_t) there;
        if (from >= place.size || read_fd(fd, buffer, n, from)) return -1;
        buffer += n;
        offset += n;
        size -= n;
    }
    return 0;
}

int perffile_read(const perffile *f, uint64_t offset, uint8_t *buffer,
                  size_t size)
{
    return perfdata_read(f->data, offset, buffer, size) < 0 ? -1 : 0;
}

#ifdef HAVE_ZSTD

#define WINDOW_LOG 27 /* zstd -22; memory for more is not allocated */

static int unpack(uint8_t *out, size_t *out_size, const uint8_t *in,
                  size_t *in_size, void *context)
{
    perffile *f = (perffile *) context;
    ZSTD_DStream *stream = (ZSTD_DStream *) f->zstd;
    ZSTD_inBuffer from;
    ZSTD_outBuffer to;
    if (!in) {
        f->kept = 0;
        ZSTD_freeDStream(stream);
        f->zstd = stream = ZSTD_createDStream();
        return !stream
            || ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax,
                                                   WINDOW_LOG));
    }
    if (!stream) return -1;
    from.src = in;
    from.size = *in_size;
    from.pos = 0;
    to.dst = out;
    to.size = *out_size;
    to.pos = 0;
    if (ZSTD_isError(ZSTD_decompressStream(stream, &to, &from))) return -1;
    *in_size = from.pos;
    *out_size = to.pos;
    return 0;
}

static void free_zstd(perffile *f)
{
    ZSTD_freeDStream((ZSTD_DStream *) f->zstd);
}

#else

#define unpack NULL

static void free_zstd(perffile *f)
{
    (void) f;
}

#endif

/* ---- opening ---- */

static int cannot(const tool_args *args, const char *name, const char *why)
{
    fprintf(stderr, "%s: ", args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", why);
    return 1;
}

/* A file that has no name: its descriptor, or -1. */
static int nameless(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int fd;
    if (!folder || !*folder) folder = "/tmp";
    if (snprintf(path, sizeof path, "%s/ipt-perf-XXXXXX", folder)
        >= (int) sizeof path)
        return -1;
    fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    return fd;
}

/* All of it, to the end of a file. 0, or -1. */
static int write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno != EINTR) return -1;
        if (n < 0) continue;
        bytes += n;
        size -= (size_t) n;
    }
    return 0;
}

/* Copy what comes out of a pipe to a file that has no name. Returns its
 * descriptor, or -1; errno is EFBIG if the pipe does not end. */
static int spool(int from)
{
    static uint8_t block[1 << 16];
    const int to = nameless();
    uint64_t left = PERFFILE_SPOOL;
    ssize_t n = 0;
    if (to < 0) return -1;
    while ((n = read(from, block, sizeof block)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n > 0 && (uint64_t) n > left) errno = EFBIG;
        if (n < 0 || (uint64_t) n > left || write_all(to, block, (size_t) n))
            break;
        left -= (uint64_t) n;
    }
    if (n == 0) return to;
    n = errno;
    close(to);
    errno = (int) n;
    return -1;
}

/* Replace the descriptor of a pipe by that of a file. A device is none of
 * both. */
static const char *make_seekable(perffile *f)
{
    struct stat info;
    int fd;
    if (fstat(f->fd, &info)) return strerror(errno);
    if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) {
        fd = spool(f->fd);
        if (fd < 0) return strerror(errno);
        close(f->fd);
        f->fd = fd;
        if (fstat(fd, &info)) return strerror(errno);
    }
    if (!S_ISREG(info.st_mode)) return "not a file";
    f->config.size = (uint64_t) info.st_size;
    return NULL;
}

/* Find the file: what `name` says, or in the folder of that name. */
static const char *find_file(perffile *f, const char *name)
{
    static const char *const inside[] = {"data", "perf.data", "trace.json"};
    struct stat info;
    if (strcmp(name, "-") == 0) {
        f->name = tool_copy(name, 1);
        f->fd = dup(0);
        return f->name && f->fd >= 0 ? NULL : strerror(errno);
    }
    f->name = tool_copy(name, strlen(name));
    if (!f->name || stat(name, &info)) return strerror(errno);
    if (S_ISDIR(info.st_mode)) {
        f->folder = tool_copy(name, strlen(name));
        if (!f->folder) return strerror(errno);
        for (int i = 0; i < 3; i++) {
            free(f->name);
            f->name = tool_join(name, inside[i]);
            if (!f->name) return strerror(errno);
            if (stat(f->name, &info) == 0 && S_ISREG(info.st_mode)) break;
        }
    }
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        return "not a file";
    f->fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return f->fd < 0 ? strerror(errno) : NULL;
}

/* Enlarge an array, to more than the last call needed. */
static int enlarge_to(void *array, size_t item, uint32_t need, uint32_t *max)
{
    const size_t more = (size_t) need + need / 2;
    if (need <= *max) return 1;
    if (more > UINT32_MAX || !tool_grow(array, more, item)) return 0;
    *max = (uint32_t) more;
    return 1;
}

static int enlarge(perffile *f)
{
    perfdata_config *const c = &f->config;
    return enlarge_to(&c->events, sizeof *c->events, f->data->event_need,
                      &c->event_max)
        && enlarge_to(&c->ids, sizeof *c->ids, f->data->id_need, &c->id_max);
}

static int open_data(perffile *f)
{
    int status;
    f->data = (perfdata *) malloc(sizeof *f->data);
    if (!f->data) return PERFDATA_ERR_MEMORY;
    do {
        status = perfdata_open(f->data, &f->config);
    } while (status == PERFDATA_ERR_MEMORY && enlarge(f));
    return status;
}

#define PARTS 4096 /* threads of perf record */

/* data.0 and so on, if the file says that the folder has them. They follow it:
 * offsets go on where those of the last end. */
static const char *open_parts(perffile *f)
{
    perfdata_config *const c = &f->config;
    perfdata_place place;
    uint8_t bytes[8] = {0};
    if (!f->folder || perfdata_feature(f->data, PERFDATA_FEATURE_DIR_FORMAT,
                                       &place) != 1
        || place.size < 8 || perffile_read(f, place.offset, bytes, 8)
        || perfdata_u64(f->data->big_endian, bytes) != 1)
        return NULL;
    for (uint32_t n = 0; n < PARTS; n++) {
        char name[16];
        uint64_t size;
        int fd;
        snprintf(name, sizeof name, "data.%u", (unsigned) n);
        fd = below_open(f->folder, name, &size);
        if (fd < 0) return errno == ENOENT ? NULL : strerror(errno);
        if (size > INT64_MAX - c->size
            || !tool_grow(&f->parts, n + 1, sizeof *f->parts)
            || !tool_grow(&f->part_fds, n + 1, sizeof *f->part_fds)) {
            close(fd);
            return strerror(ENOMEM);
        }
        f->parts[n].offset = c->size;
        f->parts[n].size = size;
        f->part_fds[n] = fd;
        c->parts = f->parts;
        c->part_count = n + 1;
        c->size += size;
    }
    return "more files than perf record has threads";
}

/* What it is, if it is not perf.data; NULL: that is not known. */
static const char *other_kind(const perffile *f)
{
    static uint8_t bytes[1 << 16];
    const uint64_t all = f->config.size;
    const size_t size = all < sizeof bytes ? (size_t) all : sizeof bytes;
    const char *what;
    if (read_fd(f->fd, bytes, size, 0)) return NULL;
    (void) tool_kind_of(bytes, size, &what);
    return what;
}

int perffile_open(const tool_args *args, const char *name, perffile *f)
{
    const char *why;
    int status;
    memset(f, 0, sizeof *f);
    f->fd = f->kept_fd = -1;
    why = find_file(f, name);
    if (!why) why = make_seekable(f);
    if (why) {
        cannot(args, name, why);
        perffile_close(f);
        return 1;
    }
    f->config.read = read_at;
    f->config.inflate = unpack;
    f->config.context = f;
    status = open_data(f);
    if (status == PERFDATA_ERR_MAGIC) why = other_kind(f);
    if (why) {
        fprintf(stderr, "%s: ", args->program);
        tool_print(stderr, f->name);
        fprintf(stderr, " %s.\n", why);
        perffile_close(f);
        return 1;
    }
    if (status < 0) {
        perffile_complain(args, f, status, f->data ? f->data->offset : 0);
        perffile_close(f);
        return 1;
    }
    why = open_parts(f);
    if (why) {
        cannot(args, name, why);
        perffile_close(f);
        return 1;
    }
    return 0;
}

void perffile_close(perffile *f)
{
    if (f->fd >= 0) close(f->fd);
    if (f->kept_fd >= 0) close(f->kept_fd);
    for (uint32_t i = 0; i < f->config.part_count; i++) close(f->part_fds[i]);
    free(f->part_fds);
    free(f->parts);
    free_zstd(f);
    free(f->config.events);
    free(f->config.ids);
    free(f->data);
    free(f->name);
    free(f->folder);
    memset(f, 0, sizeof *f);
    f->fd = f->kept_fd = -1;
}

/* ---- records ---- */

/* Trace in a sample that was compressed goes to the end of what is kept, unless
 * it is there since the records were read before. zstd makes much of a small
 * file. */
static void keep(perffile *f, perfdata_record *r)
{
    const size_t size = r->u.event.aux_size;
    perfdata_config *const c = &f->config;
    if (f->kept_fd < 0) f->kept_fd = nameless();
    f->kept_full |= f->kept_fd < 0 || f->kept + size > PERFFILE_SPOOL
                 || c->size > INT64_MAX - PERFFILE_SPOOL;
    if (!f->kept_full && f->kept == c->kept) {
        f->kept_full = write_all(f->kept_fd, r->u.event.aux, size) != 0;
        if (!f->kept_full) c->kept += size;
    }
    if (f->kept_full) return;
    r->u.event.kept = c->size + f->kept;
    f->kept += size;
}

int perffile_next(perffile *f, perfdata_record *record)
{
    int status;
    do {
        status = perfdata_next(f->data, record);
    } while (status == PERFDATA_ERR_MEMORY && enlarge(f));
    if (status >= 0 && record->packed && record->type == PERFDATA_SAMPLE
        && record->u.event.aux_size)
        keep(f, record);
    return status;
}

void perffile_complain(const tool_args *args, const perffile *f, int status,
                       uint64_t offset)
{
    char where[32];
    fprintf(stderr, "%s: ", args->program);
    tool_print(stderr, f->name);
    snprintf(where, sizeof where, "0x%" PRIx64, offset);
    fprintf(stderr, ": at %s: %s%s.\n", where, perfdata_text(status),
            status == PERFDATA_ERR_ZSTD ? " (package libzstd-dev)" : "");
}

/* ---- queues ---- */

int perffile_queues_add(perfdata_queues *q, const perfdata_record *record)
{
    while (perfdata_queues_add(q, record) == PERFDATA_ERR_MEMORY)
        if (!enlarge_to(&q->pieces, sizeof *q->pieces, q->piece_count + 64,
                        &q->piece_max)
            || !enlarge_to(&q->losses, sizeof *q->losses, q->loss_count + 64,
                           &q->loss_max))
            return -1;
    return 0;
}

int perffile_queues_finish(perfdata_queues *q)
{
    if (q->piece_count > UINT32_MAX / 4 || q->loss_count > UINT32_MAX / 4
        || !enlarge_to(&q->pieces, sizeof *q->pieces,
                       q->piece_count + q->loss_count, &q->piece_max)
        || !enlarge_to(&q->queues, sizeof *q->queues, q->piece_count,
                       &q->queue_max))
        return -1;
    return perfdata_queues_finish(q);
}

int perffile_queues_trim(const tool_args *args, const perffile *f,
                         perfdata_queues *q)
{
    const int status = perfdata_queues_trim(q, f->data);
    if (status < 0) perffile_complain(args, f, status, 0);
    return status < 0;
}

void perffile_queues_free(perfdata_queues *q)
{
    free(q->pieces);
    free(q->losses);
    free(q->queues);
    memset(q, 0, sizeof *q);
}
