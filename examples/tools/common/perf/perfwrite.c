/* perfwrite.c: see perfwrite.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "perfwrite.h"
#include "ipt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (256u << 10) /* bytes of trace that are written together */

#define ATTR_SIZE    128
#define ENTRY_SIZE   (ATTR_SIZE + 16)
#define EVENTS       3
#define HEADER_SIZE  104
#define DATA_AT      (HEADER_SIZE + EVENTS * (8 + ENTRY_SIZE))
#define TRACE_HEADER 48 /* of an AUXTRACE record */

enum { /* records */
       RECORD_MMAP = 1,
       RECORD_COMM = 3,
       RECORD_EXIT = 4,
       RECORD_FORK = 7,
       RECORD_MMAP2 = 10,
       RECORD_AUX = 11,
       RECORD_ITRACE_START = 12,
       RECORD_SWITCH_CPU_WIDE = 15,
       RECORD_FINISHED_ROUND = 68,
       RECORD_AUXTRACE_INFO = 70,
       RECORD_AUXTRACE = 71,
       RECORD_TIME_CONV = 79
};

enum { /* identifiers of events, in the order of the file */
       ID_PT = 1,
       ID_SWITCH = 2,
       ID_PROCESS = 3
};

#define MISC_KERNEL    1u
#define MISC_USER      2u
#define MISC_EXEC      (1u << 13) /* of COMM */
#define MISC_OUT       (1u << 13) /* of SWITCH_CPU_WIDE */
#define MISC_PREEMPTED (1u << 14)
#define MISC_BUILD_ID  (1u << 14) /* of MMAP2 */

typedef struct queue {
    perfwrite_who who;
    uint8_t *bytes; /* not yet written */
    size_t used;
    size_t room;
    uint64_t written;
    uint64_t reported; /* by AUX records */
} queue;

struct perfwrite {
    FILE *f;
    perfwrite_config config; /* its command is used in _open only */
    uint64_t size;           /* of the file */
    uint64_t *index;         /* where the AUXTRACE records are */
    size_t index_count;
    size_t index_room;
    queue *queues;
    uint32_t queue_count;
    uint64_t first; /* times of records; first > last: there are none */
    uint64_t last;
    uint8_t *features; /* of which the contents are known at the start */
    size_t feature_size;
    size_t feature_room;
    uint64_t feature_at[32]; /* in there */
    uint32_t feature_bits;
    int error; /* errno of the first failure */
};

/* ---- bytes ---- */

static void failed(perfwrite *w, int error)
{
    if (!w->error)
        w->error = error ? error : EIO;
}

static void put(perfwrite *w, const void *bytes, size_t size)
{
    if (w->error || size == 0)
        return;
    errno = 0;
    if (fwrite(bytes, 1, size, w->f) != size)
        failed(w, errno);
    w->size += size;
}

/* perf.data is written in the order of x86: the low byte comes first. */
static void put_number(perfwrite *w, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    size_t i;

    for (i = 0; i < size; i++)
        bytes[i] = (uint8_t) (value >> 8 * i);
    put(w, bytes, size);
}

static void put32(perfwrite *w, uint32_t value)
{
    put_number(w, value, 4);
}

static void put64(perfwrite *w, uint64_t value)
{
    put_number(w, value, 8);
}

static void put_zeros(perfwrite *w, size_t count)
{
    static const uint8_t zeros[64];

    for (; count > sizeof(zeros); count -= sizeof(zeros))
        put(w, zeros, sizeof(zeros));
    put(w, zeros, count);
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t) 7;
}

/* Room for `count` elements of an array, or NULL. */
static void *more(perfwrite *w, void *array, size_t *room, size_t count,
                  size_t size)
{
    size_t n = *room ? *room : 16;
    void *p;

    if (count <= *room)
        return array;
    while (n < count)
        n *= 2;
    p = realloc(array, n * size);
    if (p)
        *room = n;
    else
        failed(w, ENOMEM);
    return p;
}

/* ---- header and events ---- */

static void put_event(perfwrite *w, uint32_t type, uint64_t config,
                      uint64_t sample, uint64_t flags, unsigned id)
{
    put32(w, type);
    put32(w, ATTR_SIZE);
    put64(w, config);
    put64(w, 1); /* period */
    put64(w, sample);
    put64(w, 4); /* read_format: identifier */
    put64(w, flags);
    put_zeros(w, ATTR_SIZE - 48);
    put64(w, HEADER_SIZE + 8 * (id - 1)); /* where its identifier is, ... */
    put64(w, 8);                          /* ... one of them */
}

static void put_events(perfwrite *w)
{
    /* TID, IDENTIFIER; TIME; CPU. And of PT: IP, ADDR */
    const uint64_t sample =
        0x10002 | (w->config.timed ? 4u : 0) | (w->config.by_cpu ? 0x80u : 0);
    unsigned id;

    for (id = ID_PT; id <= ID_PROCESS; id++)
        put64(w, id);
    /* disabled, inherit, exclude_kernel, exclude_hv, enable_on_exec,
     * sample_id_all; a thread's event cannot be inherited */
    put_event(w, PERFWRITE_PMU, w->config.pt, sample | 9,
              0x41041 | (w->config.by_cpu ? 2u : 0)
                  | (w->config.kernel ? 0 : 0x20u), ID_PT);
    /* dummy events: context_switch; mmap, mmap2, comm, comm_exec, task */
    put_event(w, 1, 9, sample, 0x4040062, ID_SWITCH);
    put_event(w, 1, 9, sample, 0x1843363, ID_PROCESS);
}

static void put_header(perfwrite *w, uint64_t data_size)
{
    put64(w, 0x32454c4946524550); /* PERFILE2 */
    put64(w, HEADER_SIZE);
    put64(w, ENTRY_SIZE);
    put64(w, HEADER_SIZE + 8 * EVENTS);
    put64(w, ENTRY_SIZE * EVENTS);
    put64(w, DATA_AT);
    put64(w, data_size);
    put_zeros(w, 16);
    put64(w, w->feature_bits);
    put_zeros(w, 24);
}

/* ---- features: kept until the end of the file ---- */

static void keep(perfwrite *w, const void *bytes, size_t size)
{
    uint8_t *p = (uint8_t *) more(w, w->features, &w->feature_room,
                                  w->feature_size + size, 1);

    if (!p)
        return;
    w->features = p;
    memcpy(p + w->feature_size, bytes, size);
    w->feature_size += size;
}

static void keep32(perfwrite *w, uint32_t value)
{
    uint8_t bytes[4];
    unsigned i;

    for (i = 0; i < 4; i++)
        bytes[i] = (uint8_t) (value >> 8 * i);
    keep(w, bytes, 4);
}

static void keep64(perfwrite *w, uint64_t value)
{
    keep32(w, (uint32_t) value);
    keep32(w, (uint32_t) (value >> 32));
}

/* Features are begun in the order of their bits. */
static void begin_feature(perfwrite *w, unsigned bit)
{
    w->feature_at[bit] = w->feature_size;
    w->feature_bits |= 1u << bit;
}

static void keep_text(perfwrite *w, const char *text)
{
    static const uint8_t zeros[64];
    const size_t size = strlen(text) + 1;
    const size_t room = (size + 63) & ~(size_t) 63;

    keep32(w, (uint32_t) room);
    keep(w, text, size);
    keep(w, zeros, room - size);
}

static void first_features(perfwrite *w)
{
    const perfwrite_config *config = &w->config;
    uint32_t count = 0;
    char text[64];

    begin_feature(w, 6); /* architecture */
    keep_text(w, "x86_64");
    if (config->cpus) {
        begin_feature(w, 7);
        keep32(w, config->cpus);
        keep32(w, config->cpus);
    }
    if (config->family) {
        begin_feature(w, 9);
        snprintf(text, sizeof(text), "GenuineIntel,%u,%u,%u", config->family,
                 config->model, config->stepping);
        keep_text(w, text);
    }
    if (config->command) {
        begin_feature(w, 11);
        while (config->command[count])
            count++;
        keep32(w, count);
        for (count = 0; config->command[count]; count++)
            keep_text(w, config->command[count]);
    }
    begin_feature(w, 16); /* types of events */
    keep32(w, 1);
    keep32(w, PERFWRITE_PMU);
    keep_text(w, "intel_pt");
}

static void last_features(perfwrite *w)
{
    size_t i;

    begin_feature(w, 18); /* where the AUXTRACE records are */
    keep64(w, w->index_count);
    for (i = 0; i < w->index_count; i++) {
        keep64(w, w->index[i]);
        keep64(w, TRACE_HEADER);
    }
    if (w->first <= w->last) {
        begin_feature(w, 21);
        keep64(w, w->first);
        keep64(w, w->last);
    }
    if (w->config.kernel) {
        begin_feature(w, 24); /* a folder, with one file of records */
        keep64(w, 0);
    }
}

static void put_features(perfwrite *w)
{
    uint64_t count = 0;
    uint64_t end = w->feature_size;
    uint64_t sizes[32] = {0};
    uint64_t base;
    unsigned bit;

    for (bit = 32; bit-- > 0;) {
        if (!(w->feature_bits >> bit & 1))
            continue;
        sizes[bit] = end - w->feature_at[bit];
        end = w->feature_at[bit];
        count++;
    }
    base = w->size + 16 * count;
    for (bit = 0; bit < 32; bit++) {
        if (!(w->feature_bits >> bit & 1))
            continue;
        put64(w, base + w->feature_at[bit]);
        put64(w, sizes[bit]);
    }
    put(w, w->features, w->feature_size);
}

/* ---- records ---- */

static size_t trailer_size(const perfwrite *w)
{
    return 16 + (w->config.timed ? 8u : 0) + (w->config.by_cpu ? 8u : 0);
}

/* The header of a record of the kernel with `size` bytes before the trailer. */
static void begin_record(perfwrite *w, unsigned type, unsigned misc,
                         size_t size)
{
    put32(w, type);
    put_number(w, misc, 2);
    put_number(w, 8 + size + trailer_size(w), 2);
}

static void put_ids(perfwrite *w, uint32_t pid, uint32_t tid)
{
    put32(w, pid);
    put32(w, tid);
}

static void end_record(perfwrite *w, const perfwrite_who *who, unsigned id)
{
    put_ids(w, who->pid, who->tid);
    if (w->config.timed)
        put64(w, who->time);
    if (w->config.by_cpu)
        put64(w, who->cpu);
    put64(w, id);
    if (w->config.timed && who->time) {
        if (who->time < w->first)
            w->first = who->time;
        if (who->time > w->last)
            w->last = who->time;
    }
}

/* A text with its zeros; too long a one is cut, as a record has 64 KiB. */
static void put_text(perfwrite *w, const char *text, size_t room)
{
    const size_t length = strlen(text) < room ? strlen(text) : room - 1;

    put(w, text, length);
    put_zeros(w, room - length);
}

void perfwrite_comm(perfwrite *w, const perfwrite_who *who, const char *name,
                    int exec)
{
    const size_t length = strlen(name);
    const unsigned size = length < 8 ? 8 : 16; // of the name, as Linux has it
    begin_record(w, RECORD_COMM, exec ? MISC_EXEC : 0, 8 + size);
    put_ids(w, who->pid, who->tid);
    put_text(w, name, size);
    end_record(w, who, ID_PROCESS);
}

void perfwrite_mmap(perfwrite *w, const perfwrite_who *who,
                    const perfwrite_map *map)
{
    const size_t length = strlen(map->name) + 1;
    const size_t room = padded(length < 4096 ? length : 4096);
    const int by_id = map->build_id_size > 0 && map->build_id_size <= 20;

    begin_record(w, RECORD_MMAP2, by_id ? MISC_USER | MISC_BUILD_ID : MISC_USER,
                 64 + room);
    put_ids(w, who->pid, who->tid);
    put64(w, map->base);
    put64(w, map->size);
    put64(w, map->offset);
    if (by_id) {
        put32(w, map->build_id_size);
        put(w, map->build_id, map->build_id_size);
        put_zeros(w, 20u - map->build_id_size);
    } else {
        put32(w, map->major);
        put32(w, map->minor);
        put64(w, map->inode);
        put64(w, 0); /* its generation */
    }
    put32(w, map->prot);
    put32(w, map->flags);
    put_text(w, map->name, room);
    end_record(w, who, ID_PROCESS);
}

void perfwrite_kernel(perfwrite *w, uint64_t base, uint64_t size)
{
    static const char name[] = "[kernel.kallsyms]_text";
    const size_t room = padded(sizeof(name));
    perfwrite_who nobody;

    memset(&nobody, 0, sizeof(nobody));
    begin_record(w, RECORD_MMAP, MISC_KERNEL, 32 + room);
    put_ids(w, UINT32_MAX, 0);
    put64(w, base);
    put64(w, size);
    put64(w, base); /* the address of the symbol */
    put_text(w, name, room);
    end_record(w, &nobody, ID_PROCESS);
}

void perfwrite_fork(perfwrite *w, const perfwrite_who *who, uint32_t pid,
                    uint32_t tid)
{
    begin_record(w, RECORD_FORK, 0, 24);
    put_ids(w, pid, who->pid);
    put_ids(w, tid, who->tid);
    put64(w, who->time);
    end_record(w, who, ID_PROCESS);
}

void perfwrite_exit(perfwrite *w, const perfwrite_who *who)
{
    begin_record(w, RECORD_EXIT, 0, 24);
    put_ids(w, who->pid, who->pid);
    put_ids(w, who->tid, who->tid);
    put64(w, who->time);
    end_record(w, who, ID_PROCESS);
}

void perfwrite_start(perfwrite *w, const perfwrite_who *who)
{
    begin_record(w, RECORD_ITRACE_START, 0, 8);
    put_ids(w, who->pid, who->tid);
    end_record(w, who, ID_PT);
}

void perfwrite_switch(perfwrite *w, const perfwrite_who *who, int out,
                      int preempted, uint32_t next_pid, uint32_t next_tid)
{
    begin_record(w, RECORD_SWITCH_CPU_WIDE,
                 (out ? MISC_OUT : 0) | (preempted ? MISC_PREEMPTED : 0), 8);
    put_ids(w, next_pid, next_tid);
    end_record(w, who, ID_SWITCH);
}

void perfwrite_round(perfwrite *w)
{
    put64(w, RECORD_FINISHED_ROUND | (uint64_t) 8 << 48);
}

/* What a decoder has to know about PT. */
static void put_info(perfwrite *w)
{
    const perfwrite_config *c = &w->config;
    const uint64_t timed = c->timed;
    const uint64_t words[17] = {PERFWRITE_PMU,
                                timed * c->time_shift,
                                timed * c->time_mult,
                                timed * c->time_zero,
                                timed, /* those three are known */
                                0x400, /* the bit of TSC */
                                0x800, /* of DisRETC */
                                c->switches ? 3 : 0,
                                0, /* no snapshots */
                                c->by_cpu,
                                0x200,   /* of MTC */
                                0x3c000, /* of its period */
                                c->cpuid_15_ebx,
                                c->cpuid_15_eax,
                                2, /* of CYC */
                                c->max_ratio,
                                0}; /* length of the filter */
    size_t i;

    put64(w, RECORD_AUXTRACE_INFO | (uint64_t) (16 + sizeof(words)) << 48);
    put64(w, 1); /* PT */
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        put64(w, words[i]);
    if (!timed)
        return;
    put64(w, RECORD_TIME_CONV | (uint64_t) 56 << 48);
    put64(w, c->time_shift);
    put64(w, c->time_mult);
    put64(w, c->time_zero);
    put64(w, 0); /* cycles and mask: of short counters */
    put64(w, 0);
    put64(w, 1); /* time_zero holds */
}

/* ---- trace ---- */

static queue *find_queue(perfwrite *w, uint32_t number)
{
    queue *q;

    if (number < w->queue_count)
        return &w->queues[number];
    q = (queue *) realloc(w->queues, (number + 1) * sizeof(*q));
    if (!q) {
        failed(w, ENOMEM);
        return NULL;
    }
    memset(q + w->queue_count, 0, (number + 1 - w->queue_count) * sizeof(*q));
    w->queues = q;
    w->queue_count = number + 1;
    return &q[number];
}

/* How many of the bytes kept can be written: up to the last PSB, or without one
 * up to the last whole packet; if there are none, all. */
static size_t find_cut(const queue *q)
{
    ipt_segment piece = {q->bytes, q->used};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    ipt_pkt_decoder decoder;
    ipt_packet packet;
    size_t cut = 0;

    memset(&config, 0, sizeof(config));
    if (ipt_pkt_init(&decoder, &config, &trace) < 0)
        return q->used;
    if (ipt_pkt_sync_set(&decoder, q->used) >= 0
        && ipt_pkt_sync_backward(&decoder) >= 0 && decoder.at.sync > 0)
        return (size_t) decoder.at.sync;
    if (ipt_pkt_sync_set(&decoder, 0) < 0)
        return q->used;
    while (ipt_pkt_next(&decoder, &packet) >= 0)
        if (decoder.at.offset <= q->used)
            cut = (size_t) decoder.at.offset;
    return cut ? cut : q->used;
}

/* The TSC at a time. perf, which takes the high byte of all TSCs from it, uses
 * no TSC packet if it is 0. */
static uint64_t reference(const perfwrite *w, uint64_t time)
{
    const perfwrite_config *c = &w->config;
    const uint64_t t = time - c->time_zero;

    if (!c->timed || c->time_mult == 0)
        return 0;
    return (t / c->time_mult << c->time_shift)
           + (t % c->time_mult << c->time_shift) / c->time_mult;
}

/* Write the first `size` bytes that are kept. */
static void put_trace(perfwrite *w, uint32_t number, size_t size)
{
    queue *q = &w->queues[number];
    uint64_t *p;

    if (size == 0)
        return;
    p = (uint64_t *) more(w, w->index, &w->index_room, w->index_count + 1,
                          sizeof(*p));
    if (!p)
        return;
    w->index = p;
    p[w->index_count++] = w->size;
    put64(w, RECORD_AUXTRACE | (uint64_t) TRACE_HEADER << 48);
    put64(w, padded(size)); /* with zeros, which are PAD packets */
    put64(w, q->written);
    put64(w, reference(w, q->who.time));
    put32(w, number);
    put32(w, w->config.by_cpu ? UINT32_MAX : q->who.tid);
    put32(w, w->config.by_cpu ? number : UINT32_MAX);
    put32(w, 0);
    put(w, q->bytes, size);
    put_zeros(w, padded(size) - size);
    q->used -= size;
    memmove(q->bytes, q->bytes + size, q->used);
    q->written += size;
}

void perfwrite_trace(perfwrite *w, uint32_t number, const perfwrite_who *who,
                     const uint8_t *bytes, size_t size)
{
    queue *q = find_queue(w, number);
    uint8_t *p;

    if (!q || size == 0)
        return;
    p = (uint8_t *) more(w, q->bytes, &q->room, q->used + size, 1);
    if (!p)
        return;
    q->bytes = p;
    memcpy(p + q->used, bytes, size);
    q->used += size;
    q->who = *who;
    if (q->used >= PIECE)
        put_trace(w, number, find_cut(q));
}

void perfwrite_aux(perfwrite *w, uint32_t number, const perfwrite_who *who,
                   unsigned flags)
{
    queue *q = find_queue(w, number);
    uint64_t end;

    if (!q)
        return;
    end = q->written + q->used;
    if (end == q->reported && !flags)
        return;
    begin_record(w, RECORD_AUX, 0, 24);
    put64(w, q->reported);
    put64(w, end - q->reported);
    put64(w, flags);
    end_record(w, who, ID_PT);
    q->reported = end;
    if (flags)
        put_trace(w, number, q->used);
}

/* ---- the file ---- */

perfwrite *perfwrite_open(const char *path, const perfwrite_config *config)
{
    perfwrite *w = (perfwrite *) calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->config = *config;
    w->first = UINT64_MAX;
    w->f = fopen(path, "wb");
    if (!w->f) {
        free(w);
        return NULL;
    }
    put_header(w, 0); /* size 0: read it up to its end */
    put_events(w);
    first_features(w);
    put_info(w);
    return w;
}

uint64_t perfwrite_size(const perfwrite *w)
{
    uint64_t size = w->size;
    uint32_t i;

    for (i = 0; i < w->queue_count; i++)
        size += w->queues[i].used;
    return size;
}

int perfwrite_close(perfwrite *w)
{
    uint32_t i;
    uint64_t end;
    int error;

    if (!w)
        return 0;
    for (i = 0; i < w->queue_count; i++)
        put_trace(w, i, w->queues[i].used);
    perfwrite_round(w);
    end = w->size;
    last_features(w);
    put_features(w);
    errno = 0;
    if (!w->error && fseek(w->f, 0, SEEK_SET) != 0)
        failed(w, errno);
    put_header(w, end - DATA_AT);
    errno = 0;
    if (fclose(w->f) != 0)
        failed(w, errno);
    error = w->error;
    for (i = 0; i < w->queue_count; i++)
        free(w->queues[i].bytes);
    free(w->queues);
    free(w->index);
    free(w->features);
    free(w);
    errno = error;
    return error ? -1 : 0;
}
