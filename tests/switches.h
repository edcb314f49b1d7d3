/* switches.h: a perf.data by hand for threads.h: its records and the trace of
 * its queues in memory, and code that is the same in each process except two
 * branches. For tests/threads.c and fuzz/threads.c. */
#ifndef SWITCHES_H
#define SWITCHES_H
#include "linked.h"
#include "examples/tools/common/flow/align.c"
#include "examples/tools/common/flow/dates.c"
#include "examples/tools/common/perf/events.c"
#include "examples/tools/common/perf/perfdata.c"
#include "examples/tools/common/flow/pids.c"
#include "examples/tools/common/flow/threads.c"
#include "examples/tools/common/code/tool.c"
#include "examples/tools/common/perf/window.c"
#include "examples/tools/common/flow/parts.c"
#include "examples/tools/common/perf/psbs.c"

#define SWITCHES_TRACE 65536u

static uint8_t sw_trace[SWITCHES_TRACE];
static uint64_t sw_size; /* of it */
static perfdata_attr sw_events[2];
static perfdata sw_data;
static perffile sw_file;

/* ---- instead of perffile.c ---- */

int perffile_read(const perffile *f, uint64_t offset, uint8_t *buffer,
                  size_t size)
{
    (void) f;
    if (offset > sw_size || size > sw_size - offset) return -1;
    memcpy(buffer, sw_trace + offset, size);
    return 0;
}

int perffile_queues_add(perfdata_queues *q, const perfdata_record *record)
{
    while (perfdata_queues_add(q, record) == PERFDATA_ERR_MEMORY) {
        q->piece_max += 64;
        q->loss_max += 64;
        if (!tool_grow(&q->pieces, q->piece_max, sizeof *q->pieces)
            || !tool_grow(&q->losses, q->loss_max, sizeof *q->losses))
            return -1;
    }
    return 0;
}

int perffile_queues_finish(perfdata_queues *q)
{
    q->piece_max += q->loss_count + 1;
    q->queue_max = q->piece_count + 1;
    return tool_grow(&q->pieces, q->piece_max, sizeof *q->pieces)
        && tool_grow(&q->queues, q->queue_max, sizeof *q->queues)
         ? perfdata_queues_finish(q) : -1;
}

void perffile_queues_free(perfdata_queues *q)
{
    free(q->pieces);
    free(q->losses);
    free(q->queues);
    memset(q, 0, sizeof *q);
}

/* ---- records ---- */

/* A TSC tick is a ns. bits: attr.config of PT. by_cpu: it is one of cpus. */
static void sw_begin(threads *t, const threads_config *config, uint64_t bits,
                     int by_cpu)
{
    threads_config own = *config;
    perfdata_record r;
    memset(&sw_file, 0, sizeof sw_file);
    memset(&sw_data, 0, sizeof sw_data);
    memset(sw_events, 0, sizeof sw_events);
    sw_events->type = 8;
    sw_events->config = bits;
    sw_events->sample_type = PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_TIME
                           | PERFDATA_SAMPLE_CPU;
    sw_events->flags = (uint64_t) 1 << 18; /* sample_id_all */
    sw_events[1] = sw_events[0];
    sw_events[1].type = 2; /* a tracepoint */
    sw_events[1].config = 316;
    sw_events[1].sample_type |= PERFDATA_SAMPLE_RAW;
    sw_file.data = &sw_data;
    sw_file.config.events = sw_events;
    sw_file.config.event_max = 2;
    sw_data.config = &sw_file.config;
    sw_data.event_count = 2;
    own.file = &sw_file;
    threads_init(t, &own);
    memset(&r, 0, sizeof r);
    r.type = PERFDATA_AUXTRACE_INFO;
    r.u.info.kind = 1;
    r.u.info.filter = "";
    r.u.info.count = PERFDATA_PT_WORDS;
    r.u.info.word[PERFDATA_PT_PMU_TYPE] = 8;
    r.u.info.word[PERFDATA_PT_TIME_MULT] = 1;
    r.u.info.word[PERFDATA_PT_TSC_BIT] = 0x400;
    r.u.info.word[PERFDATA_PT_NORETCOMP_BIT] = 0x800;
    r.u.info.word[PERFDATA_PT_MTC_BIT] = 0x200;
    r.u.info.word[PERFDATA_PT_MTC_FREQ_BITS] = 0x3c000;
    r.u.info.word[PERFDATA_PT_CYC_BIT] = 2;
    r.u.info.word[PERFDATA_PT_CAP_USER_TIME_ZERO] = 1;
    r.u.info.word[PERFDATA_PT_PER_CPU_MMAPS] = by_cpu != 0;
    r.u.info.word[PERFDATA_PT_TSC_CTC_N] = 4;
    r.u.info.word[PERFDATA_PT_TSC_CTC_D] = 1;
    threads_add(t, &r);
}

/* Whom a record is about, and when it was written. */
typedef struct sw_who {
    uint32_t pid, tid, cpu;
    uint64_t time;
} sw_who;

/* A number as the file has it: low byte first. */
static void sw_put(uint8_t *to, uint32_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++) to[i] = (uint8_t) (number >> 8 * i);
}

/* A record of the kernel, with so many 32-bit words. */
static inline int sw_record(threads *t, uint32_t type, uint16_t misc,
                     const sw_who *who, const uint32_t *word, size_t words)
{
    static uint8_t bytes[256];
    perfdata_record r;
    const uint32_t tail[6] = {who->pid, who->tid, (uint32_t) who->time,
                              (uint32_t) (who->time >> 32), who->cpu, 0};
    const uint16_t size = (uint16_t) (8 + 4 * words + sizeof tail);
    sw_put(bytes, type, 4);
    sw_put(bytes + 4, misc, 2);
    sw_put(bytes + 6, size, 2);
    for (size_t i = 0; i < words; i++) sw_put(bytes + 8 + 4 * i, word[i], 4);
    for (size_t i = 0; i < 6; i++)
        sw_put(bytes + 8 + 4 * (words + i), tail[i], 4);
    if (perfdata_parse(sw_events, 0, bytes, size, &r) < 0) return -1;
    r.event = 0;
    return threads_add(t, &r);
}

/* `who` leaves its cpu to a thread, or (in) comes after it. */
static inline int sw_switch(threads *t, const sw_who *who, int out, uint32_t pid,
                     uint32_t tid)
{
    const uint32_t word[2] = {pid, tid};
    return sw_record(t, PERFDATA_SWITCH_CPU_WIDE,
                     out ? PERFDATA_MISC_SWITCH_OUT : 0, who, word, 2);
}

/* A switch in a recording of threads. */
static inline int sw_own_switch(threads *t, const sw_who *who, int out)
{
    return sw_record(t, PERFDATA_SWITCH, out ? PERFDATA_MISC_SWITCH_OUT : 0,
                     who, NULL, 0);
}

/* A switch, said by tracepoint 316 or another one. */
static inline int sw_sched(threads *t, const sw_who *who, uint32_t number,
                    uint32_t next)
{
    static uint8_t bytes[8 + 24 + 4 + 68];
    const uint32_t word[6] = {who->pid, who->tid, (uint32_t) who->time,
                              (uint32_t) (who->time >> 32), who->cpu, 0};
    perfdata_record r;
    memset(bytes, 0, sizeof bytes);
    sw_put(bytes, PERFDATA_SAMPLE, 4);
    sw_put(bytes + 6, sizeof bytes, 2);
    for (size_t i = 0; i < 6; i++) sw_put(bytes + 8 + 4 * i, word[i], 4);
    sw_put(bytes + 32, 68, 4);
    sw_put(bytes + 36, number, 2);
    sw_put(bytes + 40, who->tid, 4);
    sw_put(bytes + 36 + 24, who->tid, 4);
    sw_put(bytes + 36 + 56, next, 4);
    if (perfdata_parse(&sw_events[1], 0, bytes, sizeof bytes, &r) < 0)
        return -1;
    r.event = 1;
    return threads_add(t, &r);
}

static inline int sw_fork(threads *t, const sw_who *parent, uint32_t pid,
                   uint32_t tid)
{
    const uint32_t word[6] = {pid, parent->pid, tid, parent->tid,
                              (uint32_t) parent->time,
                              (uint32_t) (parent->time >> 32)};
    return sw_record(t, PERFDATA_FORK, 0, parent, word, 6);
}

/* `who` maps a page of a file. */
static inline int sw_map(threads *t, const sw_who *who)
{
    const uint32_t word[18] = {who->pid, who->tid, 0x4000, 0, 4096, 0,
                               0, 0, 0, 0, 0, 0, 0, 0, 5, 2, 'f', 0};
    return sw_record(t, PERFDATA_MMAP2, 0, who, word, 18);
}

/* `who` runs another program, t. */
static inline int sw_exec(threads *t, const sw_who *who)
{
    const uint32_t word[4] = {who->pid, who->tid, 't', 0};
    return sw_record(t, PERFDATA_COMM, PERFDATA_MISC_COMM_EXEC, who, word, 4);
}

static inline int sw_aux(threads *t, const sw_who *who, uint64_t offset,
                  uint64_t size, uint32_t flags)
{
    const uint32_t word[6] = {(uint32_t) offset, (uint32_t) (offset >> 32),
                              (uint32_t) size, (uint32_t) (size >> 32), flags,
                              0};
    return sw_record(t, PERFDATA_AUX, 0, who, word, 6);
}

/* Trace of a cpu, or if that is UINT32_MAX of a thread. */
static inline int sw_piece(threads *t, uint32_t cpu, uint32_t tid, uint64_t data,
                    uint64_t size, uint64_t position)
{
    perfdata_record r;
    memset(&r, 0, sizeof r);
    r.type = PERFDATA_AUXTRACE;
    r.u.auxtrace.size = r.u.auxtrace.left = size;
    r.u.auxtrace.data = data;
    r.u.auxtrace.offset = position;
    r.u.auxtrace.idx = cpu == UINT32_MAX ? tid : cpu;
    r.u.auxtrace.tid = tid;
    r.u.auxtrace.cpu = cpu;
    return threads_add(t, &r);
}

/* ---- code ---- */

/* Each 64 bytes: NOPs, at 32 a JNE to 48 (in even processes), at 62 SYSCALL (in
 * processes without bit 3) or RET. */
static inline int sw_code(uint8_t *buffer, size_t size, uint32_t pid, uint64_t ip)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned at = (unsigned) (ip + i) & 63;
        buffer[i] = at == 32 && !(pid & 1)   ? 0x75
                  : at == 33 && !(pid & 1) ? 0x0e
                  : at == 62 && pid & 8      ? 0xc3
                  : at == 62                 ? 0x0f
                  : at == 63                 ? 0x05
                                             : 0x90;
    }
    return (int) size;
}
#endif
