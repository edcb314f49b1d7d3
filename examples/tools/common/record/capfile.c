/* capfile.c: see capfile.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // O_NOFOLLOW
#define _FILE_OFFSET_BITS 64
#include "capfile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<zstd.h>)
#include <zstd.h>
#define HAVE_ZSTD
#endif
#endif

#define HEADER  104u
#define ENTRY   (sizeof(capfile_attr) + 16)
#define CHUNK   32768u /* bytes of records that are compressed together */

typedef struct bytes {
    uint8_t *at;
    size_t used;
    size_t room;
} bytes;

struct capfile {
    int fd;
    int error; /* errno of the first failure */
    int level;
    void *zstd;
    uint64_t plain; /* bytes before compression, and after */
    uint64_t packed;
    uint64_t size;
    uint64_t data; /* where records begin */
    uint64_t end;  /* of them; 0: they go on */
    const capfile_event *events;
    size_t event_count;
    bytes index; /* where the AUXTRACE records are */
    bytes features;
    uint64_t feature_at[32];
    uint32_t feature_bits;
};

static void failed(capfile *f, int error)
{
    if (!f->error)
        f->error = error ? error : EIO;
}

/* ---- bytes ---- */

static void put_parts(capfile *f, struct iovec *parts, int count)
{
    while (count > 0 && !f->error) {
        ssize_t n = writev(f->fd, parts, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            failed(f, n ? errno : ENOSPC);
            return;
        }
        f->size += (uint64_t) n;
        while (count > 0 && (size_t) n >= parts->iov_len) {
            n -= (ssize_t) parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (uint8_t *) parts->iov_base + n;
            parts->iov_len -= (size_t) n;
        }
    }
}

static void part(struct iovec *to, const void *from, size_t size)
{
    memcpy(&to->iov_base, &from, sizeof(from)); /* it is only read */
    to->iov_len = size;
}

static void put(capfile *f, const void *from, size_t size)
{
    struct iovec one;

    part(&one, from, size);
    put_parts(f, &one, 1);
}

static void keep(capfile *f, bytes *to, const void *from, size_t size)
{
    size_t room = to->room ? to->room : 256;
    uint8_t *p;

    while (room - to->used < size)
        room *= 2;
    if (room != to->room) {
        p = (uint8_t *) realloc(to->at, room);
        if (!p) {
            failed(f, ENOMEM);
            return;
        }
        to->at = p;
        to->room = room;
    }
    if (size)
        memcpy(to->at + to->used, from, size);
    to->used += size;
}

static void keep32(capfile *f, bytes *to, uint32_t value)
{
    keep(f, to, &value, sizeof(value));
}

static void keep64(capfile *f, bytes *to, uint64_t value)
{
    keep(f, to, &value, sizeof(value));
}

static void keep_text(capfile *f, bytes *to, const char *text)
{
    static const uint8_t zeros[64];
    const size_t size = strlen(text) + 1;
    const size_t room = (size + 63) & ~(size_t) 63;

    keep32(f, to, (uint32_t) room);
    keep(f, to, text, size);
    keep(f, to, zeros, room - size);
}

/* ---- the header ---- */

static void header_words(const capfile *f, uint64_t words[13])
{
    memset(words, 0, 13 * sizeof(words[0]));
    words[0] = 0x32454c4946524550; /* PERFILE2 */
    words[1] = HEADER;
    words[2] = ENTRY;
    words[3] = f->data - f->event_count * ENTRY;
    words[4] = f->event_count * ENTRY;
    words[5] = f->data;
    words[6] = f->end ? f->end - f->data : 0;
    words[9] = f->end ? f->feature_bits : 0;
}

static int open_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
                                  | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat s;
    int error = 0;

    if (fd < 0)
        return -1;
    if (fstat(fd, &s))
        error = errno;
    else if (!S_ISREG(s.st_mode))
        error = ENOTSUP;
    else if (fchmod(fd, 0600) || ftruncate(fd, 0))
        error = errno;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

capfile *capfile_create(const char *path, int level)
{
    capfile *f;

#ifndef HAVE_ZSTD
    if (level) {
        errno = ENOTSUP;
        return NULL;
    }
#endif
    f = (capfile *) calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->level = level;
    f->fd = open_file(path);
    if (f->fd >= 0)
        return f;
    free(f);
    return NULL;
}

void capfile_begin(capfile *f, const capfile_event *events, size_t count)
{
    uint64_t words[13];
    uint64_t at = HEADER;
    size_t i;

    f->events = events;
    f->event_count = count;
    f->data = HEADER + count * ENTRY;
    for (i = 0; i < count; i++)
        f->data += 8 * events[i].id_count;
    header_words(f, words);
    put(f, words, sizeof(words));
    for (i = 0; i < count; i++)
        put(f, events[i].ids, 8 * events[i].id_count);
    for (i = 0; i < count; i++) {
        const uint64_t ids[2] = {at, 8 * events[i].id_count};
        put(f, &events[i].attr, sizeof(events[i].attr));
        put(f, ids, sizeof(ids));
        at += ids[1];
    }
}

/* ---- records ---- */

#ifdef HAVE_ZSTD
/* A piece of one stream, flushed: a COMPRESSED record. */
static void compress(capfile *f, const uint8_t *from, size_t size)
{
    static uint8_t room[65528]; /* one thread at a time writes */
    ZSTD_CStream *stream = (ZSTD_CStream *) f->zstd;
    ZSTD_inBuffer in = {from, size, 0};
    ZSTD_outBuffer out = {room + 8, sizeof(room) - 8, 0};
    size_t left;

    if (!stream) {
        f->zstd = stream = ZSTD_createCStream();
        if (!stream || ZSTD_isError(ZSTD_initCStream(stream, f->level))) {
            failed(f, ENOMEM);
            return;
        }
    }
    left = ZSTD_compressStream(stream, &out, &in);
    if (!ZSTD_isError(left))
        left = ZSTD_flushStream(stream, &out);
    if (left != 0 || in.pos != size) { /* it always has room */
        failed(f, EIO);
        return;
    }
    {
        const uint32_t type = 81;
        const uint16_t misc = 0;
        const uint16_t length = (uint16_t) (8 + out.pos);
        memcpy(room, &type, 4);
        memcpy(room + 4, &misc, 2);
        memcpy(room + 6, &length, 2);
        put(f, room, length);
        f->plain += size;
        f->packed += length;
    }
}

static void end_zstd(capfile *f)
{
    ZSTD_freeCStream((ZSTD_CStream *) f->zstd);
}
#else
static void compress(capfile *f, const uint8_t *from, size_t size)
{
    put(f, from, size);
}

static void end_zstd(capfile *f)
{
    (void) f;
}
#endif

void capfile_records(capfile *f, const void *records, size_t size)
{
    const uint8_t *p = (const uint8_t *) records;

    if (!f->level) {
        capfile_plain(f, records, size);
        return;
    }
    for (; size > CHUNK && !f->error; size -= CHUNK, p += CHUNK)
        compress(f, p, CHUNK);
    if (size && !f->error)
        compress(f, p, size);
}

void capfile_plain(capfile *f, const void *records, size_t size)
{
    if (size)
        put(f, records, size);
}

void capfile_trace(capfile *f, const capfile_piece *piece)
{
    static const uint8_t zeros[8];
    const uint64_t size = piece->size[0] + piece->size[1];
    const uint64_t pad = -size & 7; /* zeros are PAD packets */
    const uint64_t words[6] = {71 | (uint64_t) 48 << 48, size + pad,
                               piece->offset, piece->reference,
                               piece->queue | (uint64_t) piece->tid << 32,
                               piece->cpu};
    struct iovec parts[4];

    if (size == 0)
        return;
    keep64(f, &f->index, f->size);
    keep64(f, &f->index, sizeof(words));
    part(&parts[0], words, sizeof(words));
    part(&parts[1], piece->bytes[0], piece->size[0]);
    part(&parts[2], piece->bytes[1], piece->size[1]);
    part(&parts[3], zeros, pad);
    put_parts(f, parts, 4);
}

uint64_t capfile_size(const capfile *f)
{
    return f->size;
}

int capfile_error(const capfile *f)
{
    return f->error;
}

/* ---- features ---- */

static void begin_feature(capfile *f, unsigned bit)
{
    f->feature_at[bit] = f->features.used;
    f->feature_bits |= 1u << bit;
}

static void text_feature(capfile *f, unsigned bit, const char *text)
{
    begin_feature(f, bit);
    keep_text(f, &f->features, text);
}

static void describe_events(capfile *f)
{
    bytes *to = &f->features;
    size_t i;

    begin_feature(f, 12);
    keep32(f, to, (uint32_t) f->event_count);
    keep32(f, to, (uint32_t) sizeof(capfile_attr));
    for (i = 0; i < f->event_count; i++) {
        keep(f, to, &f->events[i].attr, sizeof(capfile_attr));
        keep32(f, to, (uint32_t) f->events[i].id_count);
        keep_text(f, to, f->events[i].name);
        keep(f, to, f->events[i].ids, 8 * f->events[i].id_count);
    }
}

static void keep_features(capfile *f, const capfile_about *about)
{
    bytes *to = &f->features;
    struct utsname system;
    uint32_t n = 0;

    if (uname(&system) == 0) {
        if (!about->nameless)
            text_feature(f, 3, system.nodename);
        text_feature(f, 4, system.release);
    }
    text_feature(f, 6, "x86_64");
    begin_feature(f, 7);
    keep32(f, to, about->cpus);
    keep32(f, to, about->cpus);
    if (about->cpuid)
        text_feature(f, 9, about->cpuid);
    begin_feature(f, 11);
    while (about->command[n])
        n++;
    keep32(f, to, n);
    for (n = 0; about->command[n]; n++)
        keep_text(f, to, about->command[n]);
    describe_events(f);
    begin_feature(f, 16);
    keep32(f, to, 2);
    keep32(f, to, about->pmu);
    keep_text(f, to, "intel_pt");
    keep32(f, to, 1);
    keep_text(f, to, "software");
    begin_feature(f, 18);
    keep64(f, to, f->index.used / 16);
    keep(f, to, f->index.at, f->index.used);
    if (about->folder) {
        begin_feature(f, 24);
        keep64(f, to, 0);
    }
    if (f->level) {
        begin_feature(f, 27);
        keep32(f, to, 1);
        keep32(f, to, 1);
        keep32(f, to, (uint32_t) f->level);
        keep32(f, to, f->packed ? (uint32_t) (f->plain / f->packed) : 1);
        keep32(f, to, (uint32_t) about->ring);
    }
}

void capfile_features(capfile *f, const capfile_about *about)
{
    uint64_t sizes[32] = {0};
    uint64_t count = 0;
    uint64_t end;
    unsigned bit;

    f->end = f->size;
    keep_features(f, about);
    end = f->features.used;
    for (bit = 32; bit-- > 0;) {
        if (!(f->feature_bits >> bit & 1))
            continue;
        sizes[bit] = end - f->feature_at[bit];
        end = f->feature_at[bit];
        count++;
    }
    for (bit = 0; bit < 32; bit++) {
        uint64_t place[2];
        if (!(f->feature_bits >> bit & 1))
            continue;
        place[0] = f->end + 16 * count + f->feature_at[bit];
        place[1] = sizes[bit];
        put(f, place, sizeof(place));
    }
    put(f, f->features.at, f->features.used);
}

int capfile_close(capfile *f)
{
    uint64_t words[13];
    int error;

    if (f->end) {
        header_words(f, words);
        if (pwrite(f->fd, words, sizeof(words), 0) != sizeof(words))
            failed(f, errno);
    }
    if (close(f->fd))
        failed(f, errno);
    error = f->error;
    end_zstd(f);
    free(f->index.at);
    free(f->features.at);
    free(f);
    errno = error;
    return error ? -1 : 0;
}
