/* recording.h: a small perf.data whose every field is a number here, and trace,
 * packet by packet. The code that ran is an ELF file of elfbuild.h. */
#ifndef RECORDING_H
#define RECORDING_H
#include "elfbuild.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDING_WORDS 17u /* of AUXTRACE_INFO; filter and one word follow */
#define RECORDING_EVENTS 3u /* PT 1, switches 2, mappings 3 */

typedef struct recording_attr {
    uint64_t type; /* 32 bits */
    uint64_t config;
    uint64_t period;
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t flags;
    uint64_t aux_action;
    uint64_t id;
    uint64_t more[2]; /* ids; 0: none */
} recording_attr;

/* What a file says besides its records. */
typedef struct recording {
    uint64_t info_kind;
    uint64_t info[RECORDING_WORDS];
    char filter[2048];
    uint64_t event_trace;
    recording_attr attr[RECORDING_EVENTS];
    char cpuid[64];
    char release[64];
    uint64_t pmu_type;
    char pmu[64];
    char cores[64];       /* of topology, */
    char event_name[64];  /* ... event types, */
    uint64_t wall_clock;  /* ... and clock data */
} recording;

typedef struct bytes {
    uint8_t *at;
    size_t size;
    size_t max;
} bytes;

static uint32_t record_pid = 10; /* whose records are written */
static bytes records; /* of the file in progress */
static bytes trace;   /* packets in progress */

/* ---- numbers ---- */

static inline void add(bytes *to, const void *from, size_t size)
{
    if (to->size + size > to->max) {
        to->max = 2 * to->max + size + 4096;
        to->at = (uint8_t *) realloc(to->at, to->max);
        if (!to->at) exit(2);
    }
    memcpy(to->at + to->size, from, size);
    to->size += size;
}

static inline void add_n(bytes *to, uint64_t value, unsigned size)
{
    uint8_t out[8];
    for (unsigned i = 0; i < size; i++) out[i] = (uint8_t) (value >> 8 * i);
    add(to, out, size);
}

static inline void add_text(bytes *to, const char *text, size_t unit)
{
    const size_t size = strlen(text) + 1;
    add(to, text, size);
    while (unit && to->size % unit) add_n(to, 0, 1);
}

static inline void clear(void)
{
    records.size = trace.size = 0;
}

/* ---- packets ---- */

static inline void p_bytes(const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned byte;
        if (sscanf(hex, "%2x", &byte) != 1) exit(2);
        add_n(&trace, byte, 1);
    }
}

static inline void p_tsc(uint64_t tsc)
{
    add_n(&trace, 0x19, 1);
    add_n(&trace, tsc, 7);
}

static inline void p_ip(unsigned packet, uint64_t ip)
{
    add_n(&trace, packet | 0x60, 1); /* six bytes */
    add_n(&trace, ip, 6);
}

#define P_TIP 0x0du
#define P_PGE 0x11u
#define P_PGD 0x01u
#define P_FUP 0x1du

/* TIP.PGD without IP. */
static inline void p_off(void)
{
    add_n(&trace, P_PGD, 1);
}

/* Below 32 cycles. */
static inline void p_cyc(unsigned cycles)
{
    add_n(&trace, 3 | cycles << 3, 1);
}

/* The oldest first. */
static inline void p_tnt(const char *bits)
{
    unsigned value = 1;
    for (; *bits; bits++) value = value << 1 | (*bits == '1');
    add_n(&trace, value << 1, 1);
}

/* A PSB+ at a time, with TMA if that is not 0, CBR and MODE.Exec for 64 bits;
 * ip: where flow is, or 0. */
static inline void p_psb(uint64_t tsc, uint64_t tma, uint64_t ip)
{
    p_bytes("02820282028202820282028202820282");
    p_tsc(tsc);
    if (tma) {
        p_bytes("0273");
        add_n(&trace, tma, 2);
        p_bytes("000000");
    }
    p_bytes("02031e009901");
    if (ip) p_ip(P_FUP, ip);
    p_bytes("0223");
}

/* ---- records ---- */

/* perf's ns of a TSC. */
static inline uint64_t ns_of(const recording *r, uint64_t tsc)
{
    const uint64_t shift = r->info[1];
    const uint64_t low = tsc & (((uint64_t) 1 << shift) - 1);
    return r->info[3] + (tsc >> shift) * r->info[2]
         + (low * r->info[2] >> shift);
}

static inline size_t begin_record(unsigned type, unsigned misc)
{
    const size_t at = records.size;
    add_n(&records, type, 4);
    add_n(&records, misc, 2);
    add_n(&records, 0, 2);
    return at;
}

/* The samples that an event wants, and the size. tsc 0: before everything. */
static inline void end_record(const recording *r, size_t at, unsigned event,
                       uint32_t tid, uint64_t tsc, uint32_t cpu)
{
    const uint64_t type = r->attr[event].sample_type;
    size_t size;
    if (type & 2) add_n(&records, (uint64_t) tid << 32 | record_pid, 8);
    if (type & 4) add_n(&records, tsc ? ns_of(r, tsc) : 0, 8);
    if (type & 0x40) add_n(&records, r->attr[event].id, 8);
    if (type & 0x80) add_n(&records, cpu, 8);
    if (type & 0x10000) add_n(&records, r->attr[event].id, 8);
    size = records.size - at;
    records.at[at + 6] = (uint8_t) size;
    records.at[at + 7] = (uint8_t) (size >> 8);
}

static inline void r_comm(const recording *r, uint32_t pid, uint32_t tid,
                   const char *name, int exec, uint64_t tsc)
{
    const size_t at = begin_record(3, exec ? 0x2000 : 0);
    add_n(&records, pid, 4);
    add_n(&records, tid, 4);
    add_text(&records, name, 8);
    end_record(r, at, 2, tid, tsc, 0);
}

/* The file's code, 4 KiB of it, from `offset` on at ip. */
static inline void r_map(const recording *r, uint32_t pid, uint64_t ip,
                  uint64_t offset, const char *file, uint64_t tsc)
{
    const size_t at = begin_record(10, 2);
    add_n(&records, pid, 4);
    add_n(&records, pid, 4);
    add_n(&records, ip, 8);
    add_n(&records, 4096, 8);
    add_n(&records, offset, 8);
    for (int i = 0; i < 3; i++) add_n(&records, 0, 8); /* device, inode */
    add_n(&records, 5, 4);
    add_n(&records, 2, 4);
    add_text(&records, file, 8);
    end_record(r, at, 2, pid, tsc, 0);
}

static inline void r_fork(const recording *r, uint32_t ppid, uint32_t pid,
                   uint64_t tsc)
{
    const size_t at = begin_record(7, 0);
    add_n(&records, (uint64_t) ppid << 32 | pid, 8);
    add_n(&records, (uint64_t) ppid << 32 | pid, 8);
    add_n(&records, ns_of(r, tsc), 8);
    end_record(r, at, 2, pid, tsc, 0);
}

/* A thread of process pid gets the cpu from nobody, or leaves it to nobody. */
static inline void r_switch(const recording *r, int out, uint32_t tid, uint64_t tsc,
                     uint32_t cpu)
{
    const size_t at = begin_record(15, out ? 0x2000 : 0);
    add_n(&records, 0, 8);
    end_record(r, at, 1, tid, tsc, cpu);
}

static inline void r_aux(const recording *r, uint64_t offset, uint64_t size,
                  uint64_t flags, uint32_t tid, uint64_t tsc, uint32_t cpu)
{
    const size_t at = begin_record(11, 0);
    add_n(&records, offset, 8);
    add_n(&records, size, 8);
    add_n(&records, flags, 8);
    end_record(r, at, 0, tid, tsc, cpu);
}

typedef struct recording_trace {
    uint64_t offset;
    uint64_t reference;
    uint64_t idx;
    uint64_t tid;
    uint64_t cpu;
} recording_trace;

/* The packets since the last call, or the clear. */
static inline void r_trace(const recording_trace *of)
{
    const size_t at = begin_record(71, 0);
    while (trace.size % 8) add_n(&trace, 0, 1);
    add_n(&records, trace.size, 8);
    add_n(&records, of->offset, 8);
    add_n(&records, of->reference, 8);
    add_n(&records, of->idx, 4);
    add_n(&records, of->tid, 4);
    add_n(&records, of->cpu, 8);
    records.at[at + 6] = 48;
    add(&records, trace.at, trace.size);
    trace.size = 0;
}

/* ---- the file ---- */

/* A processor of 3 GHz by 100 MHz, one tick of the TSC a ns, threads on cpus. */
static inline recording recording_of(const char *filter)
{
    recording r;
    const uint64_t info[RECORDING_WORDS] = {
        8, 31, (uint64_t) 1 << 31, 0, 1, 0x400, 0x800, 3, 0, 1, 0x200,
        0x3c000, 168, 2, 2, 30, 0};
    memset(&r, 0, sizeof r);
    r.info_kind = 1;
    memcpy(r.info, info, sizeof info);
    snprintf(r.filter, sizeof r.filter, "%s", filter);
    r.info[16] = strlen(r.filter);
    for (unsigned i = 0; i < RECORDING_EVENTS; i++) {
        r.attr[i].type = i ? 1 : 8;
        r.attr[i].config = i ? 9 : 0x300e601;
        r.attr[i].period = 1;
        r.attr[i].read_format = 4;
        r.attr[i].sample_type = 0x10086 | (i ? 0 : 1);
        r.attr[i].id = i + 1;
    }
    r.attr[0].flags = 0x41063;
    r.attr[1].flags = 0x4040062;
    r.attr[2].flags = 0x1843363;
    snprintf(r.cpuid, sizeof r.cpuid, "GenuineIntel,6,158,10");
    snprintf(r.release, sizeof r.release, "6.1.0-test");
    r.pmu_type = 8;
    snprintf(r.pmu, sizeof r.pmu, "intel_pt");
    snprintf(r.cores, sizeof r.cores, "0");
    snprintf(r.event_name, sizeof r.event_name, "intel_pt//");
    r.wall_clock = (uint64_t) 1600000000 * 1000000000;
    return r;
}

#define RECORDING_IDS 3u

static inline unsigned count_ids(const recording_attr *a)
{
    return a->more[1] ? 3 : a->more[0] ? 2 : 1;
}

static inline void add_ids(bytes *to, const recording_attr *a)
{
    add_n(to, a->id, 8);
    add_n(to, a->more[0], 8);
    add_n(to, a->more[1], 8);
}

static inline void add_attr(bytes *to, const recording_attr *a, uint64_t ids)
{
    const size_t end = to->size + 128;
    add_n(to, a->type, 4);
    add_n(to, 128, 4);
    add_n(to, a->config, 8);
    add_n(to, a->period, 8);
    add_n(to, a->sample_type, 8);
    add_n(to, a->read_format, 8);
    add_n(to, a->flags, 8);
    while (to->size < end - 12) add_n(to, 0, 4);
    add_n(to, a->aux_action, 4);
    while (to->size < end) add_n(to, 0, 4);
    add_n(to, ids, 8);
    add_n(to, 8 * count_ids(a), 8);
}

static inline void add_string(bytes *to, const char *text)
{
    add_n(to, 64, 4);
    add_text(to, text, 0);
    for (size_t n = strlen(text) + 1; n < 64; n++) add_n(to, 0, 1);
}

static inline void add_info(bytes *to, const recording *r)
{
    const size_t at = to->size;
    size_t size;
    add_n(to, 70, 8);
    add_n(to, r->info_kind, 8);
    for (unsigned i = 0; i < RECORDING_WORDS; i++) add_n(to, r->info[i], 8);
    if (r->filter[0]) {
        add(to, r->filter, strlen(r->filter));
        do
            add_n(to, 0, 1);
        while ((to->size - at) % 8);
    }
    add_n(to, r->event_trace, 8);
    size = to->size - at;
    to->at[at + 6] = (uint8_t) size;
    to->at[at + 7] = (uint8_t) (size >> 8);
}

static inline uint64_t features_of(const unsigned *bits, unsigned count)
{
    uint64_t all = 0;
    while (count) all |= (uint64_t) 1 << bits[--count];
    return all;
}

static inline void add_feature(bytes *to, const recording *r, unsigned bit)
{
    switch (bit) {
    case 4: add_string(to, r->release); break;
    case 9: add_string(to, r->cpuid); break;
    case 12: /* events, with their ids */
        add_n(to, RECORDING_EVENTS, 4);
        add_n(to, 128, 4);
        for (unsigned i = 0; i < RECORDING_EVENTS; i++) {
            add_attr(to, &r->attr[i], 0);
            to->size -= 16;
            add_n(to, count_ids(&r->attr[i]), 4);
            add_string(to, i ? "dummy:u" : r->event_name);
            add_ids(to, &r->attr[i]);
            to->size -= 8 * (RECORDING_IDS - count_ids(&r->attr[i]));
        }
        break;
    case 13: /* topology: packages, threads; then a cpu's core and package */
        for (unsigned i = 0; i < 2; i++) {
            add_n(to, 1, 4);
            add_string(to, r->cores);
        }
        add_n(to, (uint64_t) atoi(r->cores), 8);
        break;
    case 16:
        add_n(to, 1, 4);
        add_n(to, r->pmu_type, 4);
        add_string(to, r->pmu);
        break;
    case 29: /* clock: version, id, wall clock, perf's clock at that moment */
        add_n(to, 1, 4);
        add_n(to, 1, 4);
        add_n(to, r->wall_clock, 8);
        add_n(to, 1000000, 8);
        break;
    default: break;
    }
}

/* Write what was put together. */
static inline void recording_write(const recording *r, const char *name)
{
    static bytes file, data, tail;
    const uint64_t at = 104 + 8 * RECORDING_IDS * RECORDING_EVENTS;
    const uint64_t start = at + 144 * RECORDING_EVENTS;
    static const unsigned bits[] = {4, 9, 12, 13, 16, 29};
    const uint64_t header[] = {104, 144, at, 144 * RECORDING_EVENTS, start, 0,
                               0, 0, features_of(bits, 6), 0, 0, 0};
    FILE *f = fopen(name, "wb");
    uint64_t end;
    file.size = data.size = tail.size = 0;
    add_info(&data, r);
    add(&data, records.at, records.size);
    add(&file, "PERFILE2", 8);
    for (unsigned i = 0; i < 12; i++)
        add_n(&file, i == 5 ? data.size : header[i], 8);
    for (unsigned i = 0; i < RECORDING_EVENTS; i++)
        add_ids(&file, &r->attr[i]);
    for (unsigned i = 0; i < RECORDING_EVENTS; i++)
        add_attr(&file, &r->attr[i], 104 + 8 * RECORDING_IDS * i);
    add(&file, data.at, data.size);
    end = file.size + 16 * 6;
    for (unsigned i = 0; i < 6; i++) {
        const size_t before = tail.size;
        add_feature(&tail, r, bits[i]);
        add_n(&file, end + before, 8);
        add_n(&file, tail.size - before, 8);
    }
    add(&file, tail.at, tail.size);
    if (!f || fwrite(file.at, 1, file.size, f) != file.size || fclose(f)) {
        perror(name);
        exit(2);
    }
}

/* ---- the code ---- */

/* The program: 80 bytes from offset ELF_AT on; `main` 0x20 bytes from 0 on, `out`
 * from 0x40 on. Calls and jumps are those of the test's code. */
static inline void recording_program(const char *name, const uint8_t *code,
                              size_t size)
{
    static const elf_symbol symbols[] = {
        {"main", ELF_BASE + ELF_AT, 0x20, 2, 1, 1},
        {"second", ELF_BASE + ELF_AT + 0x20, 0x20, 2, 1, 1},
        {"out", ELF_BASE + ELF_AT + 0x40, 0x40, 2, 1, 1}};
    static uint8_t elf[8192];
    const size_t all = elf_build(elf, symbols, 3, NULL);
    FILE *f = fopen(name, "wb");
    memcpy(elf + ELF_AT, code, size);
    if (!f || fwrite(elf, 1, all, f) != all || fclose(f)) {
        perror(name);
        exit(2);
    }
}

#endif /* RECORDING_H */
