/* threads.c: see threads.h.
 *
 * SPDX-License-Identifier: MIT */
#include "threads.h"
#include "../perf/events.h"
#include "align.h"
#include "parts.h"
#include "../code/tool.h"
#include "../perf/window.h"
#include <stdlib.h>
#include <string.h>

#define LINES      16384u /* of the cache that all queues share: 1 MiB */
#define NO_TIME    UINT64_MAX
#define PLAUSIBLE  3 /* how_likely: it goes on where it stopped */
#define KERNEL     ((uint64_t) 1 << 63)
#define TURN       ((uint64_t) 1 << 56) /* ticks: what a TSC packet counts */
#define ANCESTORS  64

/* A queue is
 *
 *     ENDED    there is no more; or it was not begun: all is 0
 *     FLOWING  its thread is known: who
 *     HELD     tracing has begun at hold_ip, and it is not known yet for whom
 */
enum { ENDED, FLOWING, HELD };

/* Reads ahead of the decoder, to find the time after a place. */
typedef struct scout {
    window trace;
    ipt_pkt_decoder packets;
    ipt_clock clock;
    uint64_t offset; /* of the last packet that moved the clock */
    uint64_t tsc;    /* its time */
    uint8_t ended;
} scout;

/* A decoder, of instructions or of blocks. */
typedef union flow_decoder {
    ipt_insn_decoder insn;
    ipt_blk_decoder blk;
} flow_decoder;

#define AHEAD   512u /* stretches of flow */
#define ENOUGH  12u  /* switches, to say what is always so */
#define CLEAR   8u   /* of which so many in a row are in one run each: enough */
#define PLANNED 256u /* runs */
#define TURNS   6u   /* to find them in, if there are several queues */
#define WORK    24u  /* align_find: for each byte of trace; */
#define ONCE    (1u << 22) /* ... besides, for all the trace there is */

/* The flow to come, if it is that of a process. */
typedef struct trial {
    uint32_t pid;
    uint8_t fits;     /* trace and code */
    uint8_t has_stop; /* it stops at .. */
    uint8_t has_next; /* ... and the next begins at .. */
    uint8_t ended;    /* that was all of the trace */
    uint64_t stop;
    uint64_t ip;
    uint64_t tsc;
    uint64_t offset;
    flow_decoder after;
    uint8_t pulling;
} trial;

/* A signal handler returns there; it does not stop, as far as is known. */
enum { RETURNS = 1, NO_STOP = 2 };

/* The flow to come, in stretches, see align.h: next up to count. The end of the
 * last one may not have been looked for yet. */
typedef struct flow_plan {
    align_stretch list[AHEAD];
    uint64_t offset[AHEAD]; /* of the packet where it begins, */
    uint64_t lo[AHEAD];     /* ... and between which times */
    uint64_t hi[AHEAD];
    uint8_t differ[AHEAD];  /* what it is depends on the process */
    uint8_t vague[AHEAD];   /* where it stops is not known: RETURNS, NO_STOP */
    size_t next;
    size_t measured;        /* the end is known of so many */
    size_t count;
    size_t decided;         /* up to there the result stays */
    size_t clear;           /* in one run each, so many in a row */
    flow_decoder tail;           /* where the last one begins */
    uint8_t pulling;
    uint8_t open;           /* more can be found there */
    uint8_t whole;          /* there is no more, and all ends are known; */
    uint8_t explained;      /* ... with these runs */
    uint8_t threads;        /* that it is about: */
    uint32_t tid[ALIGN_THREADS];
    align_run runs[PLANNED]; /* base up to base + run_count */
    size_t base;
    size_t run_count;
    trial first;
    trial other;
} flow_plan;

#define VEILS 16u

/* A mapping that the thread has made, perhaps, and whose record is to come: what
 * was there before is not seen. */
typedef struct veil {
    uint64_t first;
    uint64_t last;
    size_t row;
} veil;

struct threads_queue_ {
    threads *in;
    const perfdata_queue *queue;
    ipt_config config;
    window trace;
    flow_decoder decoder;
    scout *ahead;  /* NULL: not needed so far */
    dates *dates;  /* NULL: nobody wants them */
    flow_plan *plan; /* NULL: not needed so far */
    threads_who who;
    uint64_t near;           /* the TSC, all of it, at the last time or so */
    threads_thread_ *thread; /* NULL: not known, or idle */
    size_t run;              /* of a cpu: the one in force; runs[.] up to ... */
    size_t run_end;
    size_t floor;            /* the earliest that may be in force */
    size_t aux;              /* its AUX records, up to ... */
    size_t aux_end;
    uint8_t state;
    uint8_t pulling;         /* events are pending */
    uint8_t in_order;        /* the thread goes on at a known place */
    uint8_t begun;           /* there is trace before this */
    uint8_t shown;           /* it is in the window that is asked for */
    uint8_t lost;            /* flow of any thread may be missing here */
    uint64_t trail;          /* of a slice: its last two dates, ... */
    uint64_t blocks;         /* ... and four blocks */
    uint64_t dated;          /* dates below it were said, but of the next run */
    uint8_t flowed;          /* there was flow after the last loss, ... */
    threads_loss last_loss;  /* ... or there was none so far */
    uint8_t doubtful;        /* perhaps the wrong code was decoded: calls of it
                                are on the stack up to the PSB after this: */
    uint64_t doubtful_at;
    uint64_t done;           /* bytes of it that threads.open has */
    uint64_t skip_from;      /* trace from there on is skipped; UINT64_MAX */
    uint64_t cr3;            /* that the trace named last */
    uint8_t by_cpu;
    uint8_t counted;         /* in the kernel: each switch so far was seen */
    uint64_t late;           /* ... 1 + the PSB after which packets were lost,
                                so that time may be later than it seems; 0 */
    uint8_t is_off;          /* tracing is */
    uint32_t gaps;           /* that were reported */
    uint64_t last_end;       /* after the last instruction */
    uint8_t last_kind;
    uint8_t last_mode;
    uint64_t not_before;     /* flow goes on then, or later */
    veil veils[VEILS];
    unsigned veil_count;

    /* HELD */
    uint64_t hold_ip;
    uint64_t hold_at;  /* offset of the packet */
    ipt_event begin;   /* that says so; ... */
    uint8_t has_begin; /* ... it is said once the thread is known */
    uint64_t lo;       /* it began not before, ... */
    uint64_t hi;       /* ... and not after */
    size_t first;      /* runs that it can be in: first to last; */
    size_t last;
    size_t try_;       /* the one to look at next */
    size_t best;       /* of those that were */
    int best_likely;   /* -1: none was */
    uint8_t asked;     /* the plan was made with this */
};

static const char *const loss_texts[THREADS_LOSSES] = {
    "processor overflow",
    "AUX buffer full (truncated)",
    "AUX partial",
    "AUX collision",
    "trace missing in the file",
    "trace before a snapshot",
    "AUX paused by an event, or at first",
    "sideband records lost",
    "no code",
    "trace does not fit",
    "branches, which notnt leaves out",
    "instructions of an unsure thread"
};

const ipt_trace *threads_trace(const threads *t, uint32_t queue)
{
    return queue < t->queues.queue_count && t->all && t->all[queue].in
               ? &t->all[queue].trace.trace : NULL;
}

const char *threads_text(threads_loss loss)
{
    return loss_texts[loss];
}

static void lose(threads *t, threads_queue_ *q, threads_loss loss,
                 uint64_t count, int status)
{
    static const threads_who nobody = {0, 0, UINT32_MAX, UINT32_MAX,
                                       0, 0, 0, 0, 0, 0};
    static const ipt_where nowhere;
    if (!q || q->shown) t->losses[loss] += count;
    if (q && count) q->last_loss = loss;
    if (q && count) q->flowed = 1;
    if (t->config.lost && (count || status))
        t->config.lost(q ? &q->who : &nobody, loss, status,
                       q ? &q->decoder.blk.at : &nowhere, t->config.context);
}

/* ---- records ---- */

/* Room for one more item at the end of an array. */
static int reserve(void *array, size_t item, size_t count, size_t more,
                   size_t *max)
{
    size_t want = count + more;
    if (want <= *max) return 1;
    want += want / 2 + 64;
    if (!tool_grow(array, want, item)) return 0;
    *max = want;
    return 1;
}

void threads_init(threads *t, const threads_config *config)
{
    memset(t, 0, sizeof *t);
    t->config = *config;
    if (!t->config.to) t->config.to = UINT64_MAX;
    t->lost_tsc = NO_TIME;
}

/* Whose code a record changes; 0 if it changes none. */
static int row_of(const perfdata_record *r, threads_row_ *row)
{
    row->ppid = row->maker = 0;
    row->brings = row->execs = 0;
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2:
        row->pid = r->u.mmap.pid;
        row->maker = r->u.mmap.tid;
        row->brings = 1;
        return 1;
    case PERFDATA_COMM:
        row->pid = r->u.comm.pid;
        row->execs = (r->misc & PERFDATA_MISC_COMM_EXEC) != 0;
        return 1;
    case PERFDATA_FORK:
        row->pid = r->u.task.pid;
        row->ppid = r->u.task.ppid;
        row->brings = row->pid != row->ppid; /* or it is a thread */
        return 1;
    case PERFDATA_EXIT:
        row->pid = r->u.task.pid;
        return 1;
    case PERFDATA_NAMESPACES:
        row->pid = r->u.namespaces.pid;
        return 1;
    case PERFDATA_KSYMBOL:
    case PERFDATA_BPF_EVENT:
    case PERFDATA_TEXT_POKE:
        row->pid = UINT32_MAX;
        return 1;
    default:
        return 0;
    }
}

/* The item of a thread, which is made with the first record that names it; NULL
 * without memory. */
static threads_thread_ *item_of(threads *t, uint32_t pid, uint32_t tid)
{
    const uintptr_t known = (uintptr_t) pids_find(&t->known, tid);
    threads_thread_ *thread = known ? &t->list[known - 1] : NULL;
    if (!thread) {
        if (!reserve(&t->list, sizeof *t->list, t->thread_count, 1,
                     &t->thread_max)
            || pids_set(&t->known, tid, (void *) (t->thread_count + 1)))
            return NULL;
        thread = &t->list[t->thread_count++];
        memset(thread, 0, sizeof *thread);
        thread->pid = pid;
        thread->tid = tid;
    }
    if (thread->pid == UINT32_MAX) thread->pid = pid;
    return thread;
}

static int add_thread(threads *t, uint32_t pid, uint32_t tid)
{
    return tid == 0 || tid == UINT32_MAX || item_of(t, pid, tid);
}

/* A thread that another one makes; the first record of it counts. */
static int add_fork(threads *t, const perfdata_record *r)
{
    const uint32_t tid = r->u.task.tid;
    threads_thread_ *thread;
    if (tid == 0 || tid == UINT32_MAX) return 1;
    thread = item_of(t, r->u.task.pid, tid);
    if (!thread) return 0;
    if (thread->parent || r->misc & PERFDATA_MISC_FORK_EXEC) return 1;
    thread->parent = r->u.task.ptid;
    thread->born = r->sample.time;
    return 1;
}

static int add_row(threads *t, const perfdata_record *r)
{
    threads_row_ row;
    if (!row_of(r, &row)) return 1;
    if (!reserve(&t->rows, sizeof *t->rows, t->row_count, 1, &t->row_max)
        || !reserve(&t->bytes, 1, t->byte_count, r->size, &t->byte_max))
        return 0;
    row.tsc = r->sample.time; /* ns, until threads_start */
    row.at = t->byte_count;
    row.event = r->event;
    row.size = r->size;
    row.applied = 0;
    memcpy(t->bytes + t->byte_count, r->bytes, r->size);
    t->byte_count += r->size;
    t->rows[t->row_count++] = row;
    if (r->type == PERFDATA_FORK) return add_fork(t, r);
    if (r->type == PERFDATA_COMM)
        return add_thread(t, r->u.comm.pid, r->u.comm.tid);
    return 1;
}

static int add_run(threads *t, uint64_t time, uint32_t cpu, uint32_t pid,
                   uint32_t tid, int in)
{
    threads_run_ *run;
    if (!reserve(&t->runs, sizeof *t->runs, t->run_count, 1, &t->run_max))
        return 0;
    run = &t->runs[t->run_count];
    run->tsc = run->in = time;
    run->cpu = cpu;
    run->pid = pid;
    run->tid = tid;
    run->queue = UINT32_MAX;
    run->before = run->after = SIZE_MAX;
    run->order = (uint32_t) (t->run_count++ << 1) | (uint32_t) in;
    return add_thread(t, pid, tid);
}

/* Is each thread traced for itself? Then switches are those of a thread, on
 * whichever cpu. */
static int is_of_threads(const threads *t)
{
    return t->has_pt && !t->pt[PERFDATA_PT_PER_CPU_MMAPS];
}

/* Out records say who comes; in records of the same switch, when. */
static int add_switch(threads *t, const perfdata_record *r)
{
    const int out = (r->misc & PERFDATA_MISC_SWITCH_OUT) != 0;
    const perfdata_sample *const s = &r->sample;
    const int is_own = is_of_threads(t);
    const int starts = r->type == PERFDATA_ITRACE_START;
    const uint32_t pid = starts ? r->u.thread.pid : s->pid;
    const uint32_t tid = starts ? r->u.thread.tid : s->tid;
    const uint32_t key = is_own ? tid : s->cpu;
    if (starts && !add_thread(t, pid, tid)) return 0;
    if (!is_own && !(s->has & PERFDATA_SAMPLE_CPU)) return 1;
    if (starts) return add_run(t, s->time, key, pid, tid, 0);
    if (!pids_find(&t->cpus, key)) {
        if (pids_set(&t->cpus, key, t)) return 0;
        if (out && !add_run(t, 0, key, pid, tid, 0)) return 0;
    }
    if (!out) return add_run(t, s->time, key, pid, tid, 1);
    if (!add_thread(t, pid, tid)) return 0;
    return r->type == PERFDATA_SWITCH_CPU_WIDE && !is_own
         ? add_run(t, s->time, key, r->u.thread.pid, r->u.thread.tid, 0)
         : add_run(t, s->time, key, 0, 0, 0);
}

enum { /* of a sched_switch tracepoint, what its sample has */
    SCHED_PREV = 24,
    SCHED_NEXT = 56,
    SCHED_SIZE = 64,
    TRACEPOINT = 2 /* perf_event_attr.type */
};

/* Older kernels have a tracepoint for what SWITCH says: the thread that leaves
 * the cpu is that of the sample; of the other one only the number is known.
 * 1: that is what it is; -1 without memory. */
static int add_sched_switch(threads *t, const perfdata_attr *event,
                            const perfdata_record *r)
{
    const uint8_t *const raw = r->u.event.raw;
    const int big = t->config.file->data->big_endian;
    const perfdata_sample *const s = &r->sample;
    if (t->pt[PERFDATA_PT_HAVE_SCHED_SWITCH] != 1 || !event
        || event->type != TRACEPOINT || r->u.event.raw_size < SCHED_SIZE
        || !(s->has & PERFDATA_SAMPLE_CPU) || !(s->has & PERFDATA_SAMPLE_TID)
        || (uint16_t) perfdata_u32(big, raw) != event->config
        || perfdata_u32(big, raw + SCHED_PREV) != s->tid)
        return 0;
    if (!pids_find(&t->cpus, s->cpu)
        && (pids_set(&t->cpus, s->cpu, t)
            || !add_run(t, 0, s->cpu, s->pid, s->tid, 0)))
        return -1;
    return add_thread(t, s->pid, s->tid)
                && add_run(t, s->time, s->cpu, UINT32_MAX,
                           perfdata_u32(big, raw + SCHED_NEXT), 0)
             ? 1 : -1;
}

/* Which tracepoints say that a thread is woken, by the names in the file. */
static void find_wakes(threads *t)
{
    static const char *const names[3] = {"sched:sched_waking",
                                         "sched:sched_wakeup",
                                         "sched:sched_wakeup_new"};
    const perfdata *const p = t->config.file->data;
    events_walk walk;
    events_event event;
    t->wakes_known = 1;
    if (!events_begin(&walk, p)) return;
    while (events_next(&walk, p, &event))
        for (unsigned k = 0; k < 3; k++) {
            if (strcmp(event.name, names[k]) != 0) continue;
            t->wake_events[k] = event.config;
            t->wakes_known |= (uint8_t) (2u << k);
        }
}

enum { WAKE_TID = 24, WAKE_SIZE = 28 }; /* of its sample */

/* 0 without memory. */
static int add_wake(threads *t, const perfdata_attr *event,
                    const perfdata_record *r)
{
    const int big = t->config.file->data->big_endian;
    const uint8_t *const raw = r->u.event.raw;
    const perfdata_sample *const s = &r->sample;
    threads_wake_ *wake;
    unsigned k = 0;
    if (!event || event->type != TRACEPOINT || r->u.event.raw_size < WAKE_SIZE
        || !(s->has & PERFDATA_SAMPLE_TID) || !(s->has & PERFDATA_SAMPLE_TIME)
        || (uint16_t) perfdata_u32(big, raw) != event->config)
        return 1;
    if (!t->wakes_known) find_wakes(t);
    while (k < 3 && !(t->wakes_known & 2u << k
                      && t->wake_events[k] == event->config))
        k++;
    if (k == 3) return 1;
    if (!reserve(&t->wakes, sizeof *t->wakes, t->wake_count, 1, &t->wake_max))
        return 0;
    wake = &t->wakes[t->wake_count++];
    wake->tsc = s->time;
    wake->tid = perfdata_u32(big, raw + WAKE_TID);
    wake->by = s->tid;
    wake->waking = k == 0;
    return 1;
}

static int add_aux(threads *t, const perfdata_record *r)
{
    threads_aux_ *aux;
    if (r->u.aux.flags & PERFDATA_AUX_OVERWRITE) return 1;
    if (!reserve(&t->aux, sizeof *t->aux, t->aux_count, 1, &t->aux_max))
        return 0;
    aux = &t->aux[t->aux_count++];
    aux->tsc = r->sample.time;
    aux->position = r->u.aux.offset + r->u.aux.size;
    aux->key = r->sample.has & PERFDATA_SAMPLE_CPU ? r->sample.cpu
                                                   : r->sample.tid;
    return 1;
}

static uint64_t to_tsc(const threads *t, uint64_t ns)
{
    return perfdata_tsc(t->pt[PERFDATA_PT_TIME_SHIFT],
                        t->pt[PERFDATA_PT_TIME_MULT],
                        t->pt[PERFDATA_PT_TIME_ZERO], ns);
}

/* The trace in a sample is a snapshot. */
static int add_snapshot(threads *t, const perfdata_record *r)
{
    const perfdata_sample *const s = &r->sample;
    const int by_cpu = (s->has & PERFDATA_SAMPLE_CPU) != 0;
    perfdata_record piece;
    if (r->u.event.aux_size == 0) return 1;
    if (perfdata_trace_at(r) == 0) {
        t->losses[THREADS_MISSING]++;
        return 1;
    }
    memset(&piece, 0, sizeof piece);
    piece.type = PERFDATA_AUXTRACE;
    piece.u.auxtrace.size = piece.u.auxtrace.left = r->u.event.aux_size;
    piece.u.auxtrace.data = perfdata_trace_at(r);
    if (s->has & PERFDATA_SAMPLE_TIME)
        piece.u.auxtrace.reference = to_tsc(t, s->time);
    piece.u.auxtrace.idx = by_cpu ? s->cpu : s->tid;
    piece.u.auxtrace.tid = s->tid;
    piece.u.auxtrace.cpu = by_cpu ? s->cpu : UINT32_MAX;
    t->queues.snapshot = 1;
    return add_thread(t, s->pid, s->tid)
        && perffile_queues_add(&t->queues, &piece) == 0;
}

int threads_add(threads *t, const perfdata_record *r)
{
    const perfdata_attr *event = NULL;
    int ok = 1;
    if (r->type < PERFDATA_USER_TYPES
        && r->event < t->config.file->data->event_count)
        event = &t->config.file->config.events[r->event];
    if (event && event->aux_action & 2 && r->type == PERFDATA_SAMPLE)
        t->losses[THREADS_PAUSED]++;
    switch (r->type) {
    case PERFDATA_AUXTRACE_INFO:
        if (r->u.info.kind == 1) {
            memcpy(t->pt, r->u.info.word, sizeof t->pt);
            t->has_pt = 1;
            t->filtered = *r->u.info.filter != 0;
        }
        break;
    case PERFDATA_LOST:
    case PERFDATA_LOST_SAMPLES:
        if (r->sample.time >= t->config.from && r->sample.time <= t->config.to)
            t->losses[THREADS_SIDEBAND] += r->u.lost.lost;
        if (r->u.lost.lost && r->sample.time < t->lost_tsc)
            t->lost_tsc = r->sample.time;
        break;
    case PERFDATA_ITRACE_START:
    case PERFDATA_SWITCH:
    case PERFDATA_SWITCH_CPU_WIDE: ok = add_switch(t, r); break;
    case PERFDATA_AUX: ok = add_aux(t, r); break;
    case PERFDATA_SAMPLE:
        ok = add_sched_switch(t, event, r);
        ok = ok < 0 ? 0 : add_snapshot(t, r) && add_wake(t, event, r);
        break;
    default: ok = add_row(t, r); break;
    }
    if (ok && r->type != PERFDATA_SAMPLE)
        ok = perffile_queues_add(&t->queues, r) == 0;
    return ok ? 0 : -1;
}

/* ---- sorting what was noted ---- */

static int sign(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_rows(const void *a, const void *b)
{
    const threads_row_ *const x = (const threads_row_ *) a;
    const threads_row_ *const y = (const threads_row_ *) b;
    return x->tsc != y->tsc ? sign(x->tsc, y->tsc) : sign(x->at, y->at);
}

static int compare_runs(const void *a, const void *b)
{
    const threads_run_ *const x = (const threads_run_ *) a;
    const threads_run_ *const y = (const threads_run_ *) b;
    if (x->cpu != y->cpu) return sign(x->cpu, y->cpu);
    return x->tsc != y->tsc ? sign(x->tsc, y->tsc) : sign(x->order, y->order);
}

static int compare_aux(const void *a, const void *b)
{
    const threads_aux_ *const x = (const threads_aux_ *) a;
    const threads_aux_ *const y = (const threads_aux_ *) b;
    return x->key != y->key ? sign(x->key, y->key) : sign(x->tsc, y->tsc);
}

static int compare_threads(const void *a, const void *b)
{
    const threads_thread_ *const x = (const threads_thread_ *) a;
    const threads_thread_ *const y = (const threads_thread_ *) b;
    return sign(x->tid, y->tid);
}

/* One run for each switch: an in record after the out record that named its
 * thread only says when. */
static void merge_runs(threads *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->run_count; i++) {
        threads_run_ *const last = n ? &t->runs[n - 1] : NULL;
        const threads_run_ *const run = &t->runs[i];
        if (last && last->cpu == run->cpu && last->tid == run->tid) {
            if (run->order & 1) last->in = run->tsc;
            continue;
        }
        t->runs[n++] = *run;
    }
    t->run_count = n;
}

static const threads_run_ *all_runs; /* of the qsort in progress */

static int compare_by_thread(const void *a, const void *b)
{
    const threads_run_ *const x = &all_runs[*(const size_t *) a];
    const threads_run_ *const y = &all_runs[*(const size_t *) b];
    if (x->tid != y->tid) return sign(x->tid, y->tid);
    return x->tsc != y->tsc ? sign(x->tsc, y->tsc) : x < y ? -1 : x > y;
}

/* Find for each run those of the same thread before and after it. */
static int link_runs(threads *t)
{
    size_t *const by = (size_t *) malloc((t->run_count + 1) * sizeof *by);
    if (!by) return 0;
    for (size_t i = 0; i < t->run_count; i++) by[i] = i;
    all_runs = t->runs;
    if (t->run_count) qsort(by, t->run_count, sizeof *by, compare_by_thread);
    for (size_t i = 0; i < t->run_count; i++)
        t->runs[by[i]].before = t->runs[by[i]].after = SIZE_MAX;
    for (size_t i = 1; i < t->run_count; i++) {
        if (t->runs[by[i - 1]].tid != t->runs[by[i]].tid) continue;
        t->runs[by[i]].before = by[i - 1];
        t->runs[by[i - 1]].after = by[i];
    }
    free(by);
    return 1;
}

static threads_thread_ *find_thread(const threads *t, uint32_t tid)
{
    size_t low = 0;
    size_t high = t->thread_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->list[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->thread_count && t->list[low].tid == tid ? &t->list[low]
                                                            : NULL;
}

/* Sort threads. None had flow so far. */
static int sort_threads(threads *t)
{
    threads_places_ *const shared = t->shared;
    for (uint32_t i = 0; i < t->queues.queue_count; i++)
        if (t->queues.queues[i].cpu == UINT32_MAX
            && !add_thread(t, UINT32_MAX, t->queues.queues[i].tid))
            return 0;
    pids_free(&t->known);
    if (t->thread_count)
        qsort(t->list, t->thread_count, sizeof *t->list, compare_threads);
    align_anywhere(&shared[THREADS_UNKNOWN_].may);
    if (!t->from_exec) align_anywhere(&shared[THREADS_UNKNOWN_].left);
    shared[THREADS_FRESH_].may.fresh = 1;
    align_anywhere(&shared[THREADS_LOST_].may);
    align_anywhere(&shared[THREADS_LOST_].left);
    for (size_t i = 0; i < t->thread_count; i++) {
        threads_thread_ *const thread = &t->list[i];
        const int fresh = thread->parent && thread->born && !t->queues.snapshot;
        if (thread->pid == UINT32_MAX) thread->pid = thread->tid;
        thread->places = &shared[fresh ? THREADS_FRESH_ : THREADS_UNKNOWN_];
        thread->shared = 1;
        if (fresh) thread->born = to_tsc(t, thread->born);
    }
    return 1;
}

/* The places of a thread that has flow are its own. NULL without memory: then
 * there is no more. */
static threads_places_ *own_places(threads *t, threads_thread_ *thread)
{
    threads_places_ *own = thread->places;
    if (!thread->shared) return own;
    own = (threads_places_ *) malloc(sizeof *own);
    if (!own) {
        t->stopped = t->no_memory = 1;
        return NULL;
    }
    *own = *thread->places;
    thread->places = own;
    thread->shared = 0;
    return own;
}

/* Flow of a thread is not known. */
static void lose_places(threads *t, threads_thread_ *thread)
{
    if (thread->shared)
        thread->places = &t->shared[THREADS_LOST_];
    else
        thread->places->may = thread->places->left =
            t->shared[THREADS_LOST_].may;
}

static int compare_wakes(const void *a, const void *b)
{
    const threads_wake_ *const x = (const threads_wake_ *) a;
    const threads_wake_ *const y = (const threads_wake_ *) b;
    return x->tid != y->tid ? sign(x->tid, y->tid) : sign(x->tsc, y->tsc);
}

static void to_ticks(threads *t)
{
    for (size_t i = 0; i < t->row_count; i++)
        t->rows[i].tsc = t->timed ? to_tsc(t, t->rows[i].tsc) : 0;
    for (size_t i = 0; i < t->run_count; i++)
        t->runs[i].tsc = t->runs[i].in = to_tsc(t, t->runs[i].tsc);
    for (size_t i = 0; i < t->aux_count; i++)
        t->aux[i].tsc = to_tsc(t, t->aux[i].tsc);
    for (size_t i = 0; i < t->wake_count; i++)
        t->wakes[i].tsc = to_tsc(t, t->wakes[i].tsc);
    if (t->wake_count)
        qsort(t->wakes, t->wake_count, sizeof *t->wakes, compare_wakes);
    if (t->lost_tsc != NO_TIME) t->lost_tsc = to_tsc(t, t->lost_tsc);
    if (t->pt[PERFDATA_PT_TIME_MULT] && t->pt[PERFDATA_PT_TIME_SHIFT] < 64)
        t->slack = 4 + 2 * (((uint64_t) 1 << t->pt[PERFDATA_PT_TIME_SHIFT])
                            / t->pt[PERFDATA_PT_TIME_MULT]);
    t->until = NO_TIME;
    if (t->windowed) {
        t->since = to_tsc(t, t->config.from);
        t->since -= t->slack < t->since ? t->slack : t->since;
        if (t->config.to != UINT64_MAX)
            t->until = to_tsc(t, t->config.to) + t->slack;
    }
    if (t->row_count)
        qsort(t->rows, t->row_count, sizeof *t->rows, compare_rows);
    if (t->run_count)
        qsort(t->runs, t->run_count, sizeof *t->runs, compare_runs);
    if (t->aux_count)
        qsort(t->aux, t->aux_count, sizeof *t->aux, compare_aux);
    merge_runs(t);
}

/* The period of MTC, in the bits of the event's config that the file names. */
static uint8_t mtc_freq(const uint64_t *pt, uint64_t bits)
{
    const uint64_t field = pt[PERFDATA_PT_MTC_FREQ_BITS];
    if (!field) return 0;
    return (uint8_t) ((bits & field) / (field & (~field + 1)) & 15);
}

/* What the file says of the processor and its trace. */
static void configure(threads *t)
{
    const perffile *const f = t->config.file;
    perfdata_record info;
    uint32_t event;
    uint64_t bits = 0;
    unsigned family;
    unsigned model;
    char text[64];
    memset(&info, 0, sizeof info);
    memcpy(info.u.info.word, t->pt, sizeof t->pt);
    info.u.info.kind = 1;
    info.u.info.count = PERFDATA_PT_WORDS;
    event = perfdata_pt_event(f->data, &info);
    if (event != PERFDATA_NO_EVENT) {
        bits = f->config.events[event].config;
        t->from_exec = t->lost_tsc == NO_TIME && !t->queues.snapshot
            && f->config.events[event].flags & PERFDATA_ATTR_ENABLE_ON_EXEC;
    }
    t->decoder.flags = t->config.flags;
    if (bits & t->pt[PERFDATA_PT_NORETCOMP_BIT])
        t->decoder.flags |= IPT_CONFIG_NO_RETCOMP;
    if (bits >> 55 & 1) t->decoder.flags |= IPT_CONFIG_NO_TNT;
    t->decoder.mtc_freq = mtc_freq(t->pt, bits);
    t->decoder.nom_freq = (uint8_t) t->pt[PERFDATA_PT_MAX_NONTURBO_RATIO];
    if (t->pt[PERFDATA_PT_TSC_CTC_N] <= UINT32_MAX
        && t->pt[PERFDATA_PT_TSC_CTC_D] <= UINT32_MAX) {
        t->decoder.cpuid_15_ebx = (uint32_t) t->pt[PERFDATA_PT_TSC_CTC_N];
        t->decoder.cpuid_15_eax = (uint32_t) t->pt[PERFDATA_PT_TSC_CTC_D];
    }
    t->cyc = (bits & t->pt[PERFDATA_PT_CYC_BIT]) != 0;
    t->mtc = (bits & t->pt[PERFDATA_PT_MTC_BIT]) != 0;
    t->cyc_threshold = (uint32_t) t->cyc << (bits >> 19 & 15);
    if (t->cyc_threshold > 1) t->cyc_threshold /= 2;
    t->timed = t->pt[PERFDATA_PT_CAP_USER_TIME_ZERO] != 0
            && t->pt[PERFDATA_PT_TIME_MULT] != 0
            && (bits & t->pt[PERFDATA_PT_TSC_BIT]) != 0;
    t->kernel = event != PERFDATA_NO_EVENT
        && !(f->config.events[event].flags & PERFDATA_ATTR_EXCLUDE_KERNEL);
    t->in_kernel = t->timed && t->config.switch_ip && t->kernel;
    t->windowed = t->timed && (t->config.from || t->config.to != UINT64_MAX);
    if (t->in_kernel) /* so that a block begins there */
        t->decoder.flags |= IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
    t->coarse = t->timed && !is_of_threads(t) && !t->cyc
             && !t->mtc;
    if (perfdata_feature_text(f->data, PERFDATA_FEATURE_CPUID, text,
                              sizeof text) == 1
        && strncmp(text, "GenuineIntel,", 13) == 0) {
        char *end;
        family = (unsigned) strtoul(text + 13, &end, 10);
        model = *end == ',' ? (unsigned) strtoul(end + 1, &end, 10) : 0;
        if (family < 256 && model < 256)
            ipt_cpu_errata(&t->decoder.errata, (uint16_t) family,
                           (uint8_t) model);
    }
    if (t->filtered) t->decoder.errata |= IPT_ERRATUM_SKL014; /* or it may be */
}

/* What is lost at the end of a queue. */
static void lose_end(threads *t, const perfdata_queue *q)
{
    if (q->gap_at_end & PERFDATA_AUX_TRUNCATED) t->losses[THREADS_TRUNCATED]++;
    if (q->gap_at_end & PERFDATA_AUX_PARTIAL) t->losses[THREADS_PARTIAL]++;
    if (q->gap_at_end & PERFDATA_AUX_COLLISION) t->losses[THREADS_COLLISION]++;
}

int threads_start(threads *t)
{
    const perffile *const f = t->config.file;
    configure(t);
    for (uint32_t i = 0; i < f->data->event_count; i++)
        t->losses[THREADS_PAUSED] += f->config.events[i].aux_action & 1;
    to_ticks(t);
    if (perffile_queues_finish(&t->queues) || !sort_threads(t)
        || !link_runs(t))
        return -1;
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        perfdata_queue *const q = &t->queues.queues[i];
        t->size += q->size;
        t->traced += q->size;
        if (!t->windowed) lose_end(t, q);
    }
    t->started = 1;
    return 0;
}

void threads_free(threads *t)
{
    perffile_queues_free(&t->queues);
    free(t->runs);
    free(t->rows);
    free(t->bytes);
    free(t->cuts);
    free(t->starts);
    free(t->cache_memory);
    free(t->aux);
    for (size_t i = 0; t->started && i < t->thread_count; i++)
        if (!t->list[i].shared) free(t->list[i].places);
    free(t->wakes);
    free(t->list);
    pids_free(&t->known);
    pids_free(&t->cpus);
    memset(t, 0, sizeof *t);
}

/* ---- records are applied ---- */

/* The decoder knows where its process is traced. */
static void set_filter(threads_queue_ *q)
{
    const threads_config *const c = &q->in->config;
    const ipt_filter *const filter =
        q->in->filtered && c->filter ? c->filter(q->who.pid, c->context)
                                     : NULL;
    if (filter) memcpy(q->config.filter, filter, sizeof q->config.filter);
}

static int parse_row(const threads *t, const threads_row_ *row,
                     perfdata_record *record)
{
    const perffile *const f = t->config.file;
    const perfdata_attr *const attr =
        row->event < f->data->event_count ? &f->config.events[row->event]
                                          : NULL;
    return perfdata_parse(attr, f->data->big_endian, t->bytes + row->at,
                          row->size, record) >= 0;
}

#define MIX UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * MIX;
    return hash ^ hash >> 29;
}

static void apply(threads *t, threads_row_ *row)
{
    perfdata_record record;
    row->applied = 1;
    t->applied += mix(1, (uint64_t) (row - t->rows));
    if (t->config.applies)
        t->config.applies((size_t) (row - t->rows), t->config.context);
    if (!parse_row(t, row, &record)) return;
    record.event = row->event;
    t->config.apply(&record, t->config.context);
    for (uint32_t i = 0; t->filtered && i < t->queues.queue_count; i++)
        if (t->all[i].in) set_filter(&t->all[i]);
}

static int is_about(const threads_row_ *row, uint32_t pid)
{
    return !row->applied && (row->pid == pid || row->ppid == pid);
}

/* Apply what comes before row `end` and is about a process. */
static void apply_before(threads *t, uint32_t pid, size_t end)
{
    for (size_t i = t->row_next; i < end; i++)
        if (is_about(&t->rows[i], pid)) apply(t, &t->rows[i]);
}

/* The next record about a process, not later than `hi`; SIZE_MAX if there is
 * none. */
static size_t next_row(threads *t, uint32_t pid, uint64_t hi)
{
    while (t->row_next < t->row_count && t->rows[t->row_next].applied)
        t->row_next++;
    for (size_t i = t->row_next; i < t->row_count && t->rows[i].tsc <= hi; i++)
        if (is_about(&t->rows[i], pid)) return i;
    return SIZE_MAX;
}

/* Is there code of a process that comes with a record, not later than `hi`? */
static int has_code_to_come(const threads *t, uint32_t pid, uint64_t hi)
{
    for (size_t i = t->row_next; i < t->row_count && t->rows[i].tsc <= hi; i++)
        if (!t->rows[i].applied && t->rows[i].brings && t->rows[i].pid == pid)
            return 1;
    return 0;
}

/* Apply it early, and before it what its parents did. 0 if there is none. */
static int apply_early(threads *t, uint32_t pid, uint64_t hi)
{
    uint32_t parents[ANCESTORS];
    size_t at[ANCESTORS];
    unsigned n = 0;
    const size_t row = next_row(t, pid, hi);
    size_t i = row;
    if (row == SIZE_MAX) return 0;
    while (n < ANCESTORS && t->rows[i].ppid && t->rows[i].pid == pid
           && t->rows[i].ppid != pid) {
        const size_t end = i;
        parents[n] = pid = t->rows[i].ppid;
        at[n++] = end;
        i = next_row(t, pid, hi);
        if (i >= end) break;
    }
    while (n--) apply_before(t, parents[n], at[n]);
    if (!t->rows[row].applied) apply(t, &t->rows[row]);
    return 1;
}

/* ---- decoders of blocks and of instructions ---- */

static const ipt_where *where(const threads_queue_ *q)
{
    return q->in->config.insn ? &q->decoder.insn.at : &q->decoder.blk.at;
}

/* An instruction as a block. */
static int next_insn(threads_queue_ *q, ipt_block *block)
{
    ipt_insn insn;
    const int status = ipt_insn_next(&q->decoder.insn, &insn);
    if (status < 0) return status;
    block->offset = insn.offset;
    block->ip = block->end_ip = insn.ip;
    block->count = 1;
    block->flags = insn.flags;
    block->kind = insn.kind;
    block->last_size = insn.size;
    block->mode = insn.mode;
    return status;
}

static int next_block(threads_queue_ *q, ipt_block *block)
{
    return q->in->config.insn ? next_insn(q, block)
                              : ipt_blk_next(&q->decoder.blk, block);
}

static int next_event(threads_queue_ *q, ipt_event *event)
{
    const int status = q->in->config.insn
                         ? ipt_insn_event(&q->decoder.insn, event)
                         : ipt_blk_event(&q->decoder.blk, event);
    if (status >= 0) event->tsc = psbs_whole(event->tsc, q->near);
    return status;
}

static int report(threads *t)
{
    if (!t->config.progress) return 0;
    t->stopped |= t->config.progress(t->done + t->open, t->size,
                                     t->config.context) != 0;
    return t->stopped;
}

/* Of what is decoded, so much was read. */
static void note_done(threads_queue_ *q)
{
    q->in->open += q->trace.done - q->done;
    q->done = q->trace.done;
}

/* Trace goes on; what nobody needs any more goes. */
static void read_on(threads_queue_ *q)
{
    const uint64_t release = where(q)->release;
    const dates *const d = q->dates;
    if (d) dates_read(q->dates, release);
    window_more(&q->trace, d && d->release < release ? d->release : release);
    note_done(q);
    report(q->in);
}

enum { SYNC, RESYNC };

/* Synchronise, with as much trace as that takes. */
static int sync_queue(threads_queue_ *q, int how)
{
    const int insn = q->in->config.insn;
    int status;
    for (;;) {
        if (how == SYNC)
            status = insn ? ipt_insn_sync_forward(&q->decoder.insn)
                          : ipt_blk_sync_forward(&q->decoder.blk);
        else
            status = insn ? ipt_insn_resync(&q->decoder.insn)
                          : ipt_blk_resync(&q->decoder.blk);
        if (status != IPT_MORE) return status;
        read_on(q);
    }
}

/* Address spaces have the numbers of processes, unless the trace has better
 * ones; those of guests it always has. */
static void set_space(threads_queue_ *q)
{
    const ipt_asid *const now = &where(q)->asid;
    ipt_asid asid;
    asid.cr3 = (uint64_t) q->who.pid << 12;
    asid.vmcs = IPT_ASID_UNKNOWN;
    asid.nr = 0;
    set_filter(q);
    if (now->nr) return;
    if (now->cr3 != IPT_ASID_UNKNOWN && now->cr3 > (uint64_t) UINT32_MAX << 12)
        return;
    if (now->cr3 == asid.cr3) return;
    if (q->in->config.insn)
        ipt_insn_set_asid(&q->decoder.insn, &asid);
    else
        ipt_blk_set_asid(&q->decoder.blk, &asid);
}

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    threads_queue_ *const q = (threads_queue_ *) context;
    const int is_seen = !asid->nr || q->in->config.is_bare; // mappings are
    for (unsigned i = 0; i < q->veil_count && is_seen; i++) {
        const veil *const v = &q->veils[i];
        const threads_row_ *const row = &q->in->rows[v->row];
        if (row->applied || ip > v->last) continue;
        if (ip < v->first) {
            if (size > v->first - ip) size = (size_t) (v->first - ip);
            continue;
        }
        q->not_before = row->tsc;
        return IPT_NEED_PAGE;
    }
    return q->in->config.code(buffer, size, q->who.pid, asid, ip,
                              q->in->config.context);
}

/* ---- the time after a place ---- */

static void scout_close(threads_queue_ *q)
{
    if (q->ahead) window_close(&q->ahead->trace);
    free(q->ahead);
    q->ahead = NULL;
}

static void only_part(const threads *t, uint32_t queue, window *w)
{
    const window_span *const part = t->parts ? &t->parts[queue] : NULL;
    if (part && (part->from || part->to != UINT64_MAX)) window_only(w, part, 1);
}

static scout *scout_open(threads_queue_ *q)
{
    const uint32_t number = (uint32_t) (q->queue - q->in->queues.queues);
    scout *const s = (scout *) malloc(sizeof *s);
    if (!s || window_open(&s->trace, q->in->config.file, &q->in->queues, number)) {
        free(s);
        return NULL;
    }
    only_part(q->in, number, &s->trace);
    s->ended = ipt_pkt_init(&s->packets, &q->config, &s->trace.trace) < 0
            || ipt_time_init(&s->clock, &q->config) < 0;
    window_more(&s->trace, 0);
    s->offset = s->tsc = 0;
    return s;
}

/* The time of the first packet after `offset` that has one; NO_TIME. */
static uint64_t time_after(threads_queue_ *q, uint64_t offset)
{
    ipt_packet packet;
    scout *s;
    if (!q->ahead) q->ahead = scout_open(q);
    s = q->ahead;
    if (!s) return NO_TIME;
    while (!s->ended && s->offset <= offset) {
        const int synced = s->packets.at.valid & IPT_AT_SYNC;
        int status = synced ? ipt_pkt_next(&s->packets, &packet)
                            : ipt_pkt_sync_forward(&s->packets);
        if (status == IPT_MORE) {
            window_more(&s->trace, s->packets.at.release);
        } else if (status == IPT_END) {
            s->ended = 1;
        } else if (status < 0) {
            status = ipt_pkt_sync_forward(&s->packets);
            while (status == IPT_MORE) {
                window_more(&s->trace, s->packets.at.release);
                status = ipt_pkt_sync_forward(&s->packets);
            }
            s->ended = status < 0;
        } else if (synced) {
            const uint64_t before = s->clock.tsc;
            ipt_time_packet(&s->clock, &packet);
            if (s->clock.has_tsc && s->clock.tsc != before) {
                s->offset = s->packets.at.packet_offset;
                s->tsc = psbs_whole(s->clock.tsc, q->near);
            }
        }
    }
    return s->offset > offset ? s->tsc : NO_TIME;
}

/* What AUX records say of a place: [lo, hi] is narrowed. */
static void bound_by_aux(threads_queue_ *q, uint64_t offset, uint64_t *lo,
                         uint64_t *hi)
{
    const uint64_t position = window_position(&q->trace, offset);
    const threads *const t = q->in;
    size_t low = q->aux;
    size_t high = q->aux_end;
    if (position == UINT64_MAX || t->queues.snapshot) return;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->aux[middle].position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > q->aux && t->aux[low - 1].tsc > *lo) *lo = t->aux[low - 1].tsc;
    if (low < q->aux_end && t->aux[low].tsc < *hi) *hi = t->aux[low].tsc;
}

/* ---- whose flow it is ---- */

static threads_thread_ *thread_of(const threads_queue_ *q, size_t run)
{
    return find_thread(q->in, q->in->runs[run].tid);
}

static int has_code(const threads_queue_ *q, uint32_t pid, uint64_t ip,
                    uint8_t *bytes, size_t size)
{
    const threads *const t = q->in;
    ipt_asid asid;
    asid.cr3 = asid.vmcs = IPT_ASID_UNKNOWN;
    asid.nr = where(q)->asid.nr;
    return t->config.code(bytes, size, pid, &asid, ip, t->config.context)
        == (int) size;
}

/* The number of the system call before an address, if that is set just before
 * it; 0 for others. *old: it is one of 32 bits. */
static unsigned call_before(const threads_queue_ *q, uint32_t pid, uint64_t ip,
                            int *old)
{
    uint8_t code[7]; /* mov $NUMBER,%eax (or the end of another form); call */
    *old = 0;
    if (!has_code(q, pid, ip - 7, code, sizeof code)) return 0;
    *old = code[5] == 0xcd && code[6] == 0x80;
    if (!*old && (code[5] != 0x0f || code[6] != 0x05)) return 0;
    if (code[0] != 0xb8 && (*old || code[0] != 0xc0)) return 0;
    return code[3] || code[4] ? 0 : code[1] | (unsigned) code[2] << 8;
}

/* Is it after the system call that ends a signal handler? That goes back to
 * where the signal came. */
static int is_return(const threads_queue_ *q, uint32_t pid, uint64_t ip)
{
    int old;
    const unsigned n = call_before(q, pid, ip, &old);
    return old ? n == 119 || n == 173 : n == 15;
}

/* ... or that makes a mapping? mmap, mprotect, shmat, pkey_mprotect */
static int is_mapping(const threads_queue_ *q, uint32_t pid, uint64_t ip)
{
    int old;
    const unsigned n = call_before(q, pid, ip, &old);
    return old ? n == 90 || n == 125 || n == 192 || n == 380
               : n == 9 || n == 10 || n == 30 || n == 329;
}

/* Did the thread stop here, as one of its last stops? */
static int was_at(const threads_thread_ *thread, uint64_t ip, unsigned last)
{
    for (unsigned i = 0; i < last && i < thread->stop_count; i++)
        if (thread->places->stops[i] == ip) return 1;
    return 0;
}

static unsigned call_bit(uint64_t ip)
{
    return (unsigned) (ip * 0x9e3779b97f4a7c15u >> 54);
}

/* Can it be that a new thread begins at an address, by code and time? After a
 * system call, unless the file does not say how it began. */
static int may_begin(threads_queue_ *q, const threads_thread_ *thread,
                     uint64_t ip, uint64_t hi)
{
    const threads_thread_ *const parent = find_thread(q->in, thread->parent);
    uint8_t code[2];
    if (!has_code(q, thread->pid, ip - 2, code, 2)
        && (!parent || !has_code(q, parent->pid, ip - 2, code, 2)))
        return 0;
    if (!thread->parent) return 1;
    if (hi != NO_TIME && thread->born > hi + q->in->slack) return 0;
    return code[0] == 0x0f && code[1] == 0x05;
}

/* Is there in a plan, or may there be after it, the system call that comes back
 * to an address and made a thread at a time? */
static int is_planned(const flow_plan *p, uint64_t ip, uint64_t born)
{
    if (!p || !p->count || p->lo[p->count - 1] < born) return 1;
    for (size_t k = 0; k < p->measured; k++)
        for (unsigned i = 0; i < p->threads; i++)
            if ((p->list[k].stops >> i & 1) && p->list[k].stop[i] == ip)
                return 1;
    return 0;
}

/* ... and by what is known of the flow before that, of any thread? */
static int was_made(const threads_queue_ *q, const threads_thread_ *thread,
                    uint64_t ip)
{
    const threads *const t = q->in;
    const unsigned bit = call_bit(ip);
    if (!thread->parent || (t->calls[bit >> 6] >> (bit & 63) & 1)) return 1;
    for (uint32_t i = 0; i < t->queues.queue_count; i++)
        if (t->all[i].in && t->all[i].by_cpu && t->all[i].state != ENDED
            && is_planned(t->all[i].plan, ip, thread->born))
            return 1;
    return 0;
}

/* How likely is it that a thread goes on at an address? 3: there it stopped;
 * 2: a system call begins again, a signal handler returns, a new thread begins;
 * 1: there is code, or may be; 0: there is none. */
static int how_likely(threads_queue_ *q, const threads_thread_ *thread,
                      uint64_t ip)
{
    uint8_t code;
    if (thread->known && thread->places->stops[0] == ip) return PLAUSIBLE;
    if (thread->known && thread->in_call
        && (thread->places->stops[0] - 2 == ip || was_at(thread, ip, 8)))
        return 2;
    if (!thread->seen && may_begin(q, thread, ip, q->hi)
        && was_made(q, thread, ip))
        return 2;
    return has_code(q, thread->pid, ip, &code, 1)
        || has_code_to_come(q->in, thread->pid, q->hi);
}

/* Which runs can flow be in that began between two times, and in `first` or
 * later? */
static void find_range(const threads_queue_ *q, uint64_t lo, uint64_t hi,
                       size_t *first, size_t *last)
{
    const threads_run_ *const runs = q->in->runs;
    const uint64_t slack = q->in->slack;
    while (*first + 1 < q->run_end && runs[*first + 1].tsc + slack < lo)
        ++*first;
    *last = *first;
    while (*last + 1 < q->run_end
           && (hi == NO_TIME || runs[*last + 1].in <= hi + slack)
           && !(q->in->in_time && runs[*last + 1].tsc > lo))
        ++*last;
    while (*first < *last && runs[*first].tid == 0) ++*first;
}

/* Between which times did it begin, at a packet after which `tsc` is known? */
static void find_times(threads_queue_ *q, uint64_t offset, uint64_t tsc,
                       uint64_t *lo, uint64_t *hi)
{
    const threads *const t = q->in;
    *lo = tsc;
    *hi = NO_TIME;
    if (!t->timed) return;
    if (t->cyc && *lo)
        *hi = *lo + t->slack + 16;
    else if (q->by_cpu)
        *hi = time_after(q, offset);
    bound_by_aux(q, offset, lo, hi);
}

/* The place in the plan where flow begins at a packet; its count: none. What is
 * before that is done with. */
static size_t find_planned(const threads_queue_ *q, uint64_t offset)
{
    flow_plan *const p = q->plan;
    while (p->next < p->count && p->offset[p->next] < offset) p->next++;
    if (p->next < p->count && p->offset[p->next] == offset) return p->next;
    p->next = p->measured = p->count = p->decided = p->run_count = 0;
    return p->count;
}

/* Tracing begins at ip. */
static void hold(threads_queue_ *q, uint64_t ip, uint64_t offset, uint64_t tsc)
{
    size_t known = SIZE_MAX;
    q->hold_ip = ip;
    q->hold_at = offset;
    q->state = HELD;
    q->asked = 0;
    if (!(where(q)->valid & IPT_AT_TSC)) tsc = 0;
    if (q->plan && find_planned(q, offset) < q->plan->count)
        known = q->plan->next;
    if (known < SIZE_MAX) {
        q->lo = q->plan->lo[known];
        q->hi = q->plan->hi[known];
    } else {
        find_times(q, offset, q->in->timed ? tsc : 0, &q->lo, &q->hi);
    }
    if (!q->in->timed || !q->by_cpu || q->run == q->run_end) return;
    q->try_ = q->run;
    if (q->in->in_kernel) return;
    q->first = q->floor;
    find_range(q, q->lo, q->hi, &q->first, &q->last);
    for (size_t i = q->floor; q->lost && i <= q->last; i++) {
        threads_thread_ *const thread = thread_of(q, i);
        if (thread) lose_places(q->in, thread);
    }
    q->lost = 0;
    q->try_ = q->best = q->first;
    q->best_likely = -1;
    if (known < SIZE_MAX && known < q->plan->decided)
        q->try_ = q->plan->list[known].run;
}

static void set_thread(threads_queue_ *q, threads_thread_ *thread)
{
    q->thread = thread;
    q->who.pid = thread ? thread->pid : 0;
    q->who.tid = thread ? thread->tid : 0;
    set_space(q);
}

/* Whoever wants dates hears of the run, too: what comes now is in that in force. */
static void say_run(threads_queue_ *q)
{
    if (q->dates) q->who.run = q->run < q->run_end ? q->run + 1 : 0;
}

/* Are there dates below an offset? */
static int is_dated(threads_queue_ *q, uint64_t offset)
{
    say_run(q);
    return q->dates && q->dates->due < offset;
}

/* Is the oldest date, of what is below an offset, later than a time? */
static int is_later(threads_queue_ *q, uint64_t offset, uint64_t time)
{
    dates_read(q->dates, offset + (offset < UINT64_MAX));
    return q->dates->count
        && psbs_whole(q->dates->list[q->dates->first].tsc, q->near) > time;
}

static void tell_date(threads_queue_ *q, dates_date *date, uint64_t offset)
{
    const threads_config *const c = &q->in->config;
    date->tsc = psbs_whole(date->tsc, q->near);
    q->trail = q->trail << 32 ^ mix(date->offset ^ date->cycles, date->tsc);
    c->date(&q->who, date, date->offset == offset, c->context);
}

/* What packets up to an offset say of the time: the first and the last of them,
 * and for a window all that dates.h has. While tracing is off, what is later
 * than the run in force is of the thread that comes next. */
static void tell_dates(threads_queue_ *q, uint64_t offset, int own)
{
    const threads *const t = q->in;
    const uint64_t until = q->by_cpu && q->is_off && q->run + 1 < q->run_end
                             ? t->runs[q->run + 1].tsc : NO_TIME;
    dates_date date;
    unsigned count = 0;
    while (q->dates->due < offset + (uint64_t) own
           && !(until < NO_TIME && is_later(q, offset, until))
           && dates_next(q->dates, offset, own, &date))
        if (count++ == 0 || t->windowed) tell_date(q, &date, offset);
    if (count > 1 && !t->windowed) tell_date(q, &date, offset);
    q->dated = offset;
}

/* The time that is said: the thread's times do not go back. Before the slice they may
 * have been later: the state says so of those after its beginning. */
static uint64_t said_time(const threads_queue_ *q, uint64_t tsc)
{
    threads_thread_ *const thread = q->thread;
    if (!thread || tsc == 0 || q->in->config.raw_times) return tsc;
    if (tsc > thread->told) thread->told = tsc;
    if (thread->told < q->in->least) threads_unclear(q->in);
    return thread->told;
}

/* Is a time in the window that is asked for? */
static void show(threads_queue_ *q, uint64_t tsc)
{
    const threads *const t = q->in;
    uint64_t ns;
    if (!t->windowed) return;
    ns = perfdata_ns(t->pt[PERFDATA_PT_TIME_SHIFT],
                     t->pt[PERFDATA_PT_TIME_MULT],
                     t->pt[PERFDATA_PT_TIME_ZERO], tsc);
    q->shown = tsc && ns >= t->config.from && ns <= t->config.to;
}

static void tell_event(threads_queue_ *q, const ipt_event *event)
{
    const threads_config *const c = &q->in->config;
    const uint64_t now = q->who.tsc;
    q->who.guest = where(q)->asid.nr;
    if (is_dated(q, event->offset + 1)) tell_dates(q, event->offset, 1);
    q->who.tsc = said_time(q, now);
    if (c->event) c->event(&q->who, event, c->context);
    q->who.tsc = now;
}

static void forget_code(const threads_queue_ *q)
{
    for (unsigned i = 0; i < q->veil_count; i++)
        threads_changed(q->in, q->veils[i].first,
                        q->veils[i].last - q->veils[i].first + 1);
}

/* A mapping that its record says is made by a thread; 0: it is none. */
static int read_mapping(const threads *t, const threads_row_ *row,
                        uint32_t tid, veil *v)
{
    perfdata_record r;
    if (row->applied || row->maker != tid || !parse_row(t, row, &r)
        || r.u.mmap.len == 0 || r.u.mmap.len - 1 > UINT64_MAX - r.u.mmap.addr)
        return 0;
    v->first = r.u.mmap.addr;
    v->last = r.u.mmap.addr + (r.u.mmap.len - 1);
    return 1;
}

void threads_unclear(threads *t)
{
    t->stopped = t->muted = 1;
}

/* A thread goes on in a slice, and did nothing in it so far. Is something of what
 * it may have done before to come? */
static int has_row_to_come(threads_queue_ *q, const threads_thread_ *thread)
{
    const threads *const t = q->in;
    const uint64_t hi = time_after(q, q->hold_at);
    size_t i = t->row_next;
    while (i < t->row_count && t->rows[i].tsc <= hi
           && (t->rows[i].applied || (t->rows[i].pid != thread->pid
                                      && t->rows[i].maker != thread->tid)))
        i++;
    return i < t->row_count && t->rows[i].tsc <= hi;
}

/* The thread goes on after a system call that may have made a mapping. Records
 * of that before the next time of the trace: where flow comes to one of them it
 * is as late as that says. Of two mappings at one place, the first. */
static void put_veils(threads_queue_ *q, const threads_thread_ *thread)
{
    threads *const t = q->in;
    uint64_t hi;
    if (t->slice > 1 && thread && !thread->seen && has_row_to_come(q, thread))
        threads_unclear(t);
    if (!t->timed || !thread || !thread->known || !thread->in_call
        || !is_mapping(q, thread->pid, thread->places->stops[0]))
        return;
    hi = time_after(q, q->hold_at);
    q->veil_count = 0;
    for (size_t i = t->row_next; i < t->row_count && t->rows[i].tsc <= hi
         && q->veil_count < VEILS; i++) {
        veil *const v = &q->veils[q->veil_count];
        unsigned n = 0;
        if (t->rows[i].execs && t->rows[i].pid == thread->pid) break;
        if (!read_mapping(t, &t->rows[i], thread->tid, v)) continue;
        v->row = i;
        while (n < q->veil_count && (v->first > q->veils[n].last
                                     || v->last < q->veils[n].first))
            n++;
        q->veil_count += n == q->veil_count;
    }
    forget_code(q);
}

/* A thread that is traced for itself goes on: after which of its switches? All
 * that were by then; where it was off, and there was none, the next one, if it
 * may have been. */
static void pass_switches(threads_queue_ *q, const threads_thread_ *thread)
{
    const threads *const t = q->in;
    size_t run = q->run;
    int passed = !thread || !thread->seen;
    while (++run < q->run_end) {
        if (t->runs[run].tid != q->queue->tid) continue;
        if (t->runs[run].in > q->lo
            && (passed || t->runs[run].in > time_after(q, q->hold_at)))
            break;
        passed = 1;
        q->run = run;
        if (t->runs[run].in > q->lo) break;
    }
}

/* The thread runs; what was known of it is used up. */
static void begin_flow(threads_queue_ *q, threads_thread_ *thread)
{
    set_thread(q, thread);
    put_veils(q, thread);
    if (!q->by_cpu && q->in->timed) pass_switches(q, thread);
    q->state = FLOWING;
    q->is_off = 0;
    if (q->has_begin) tell_event(q, &q->begin);
    q->has_begin = 0;
    if (thread) thread->seen = 1;
}

/* The thread is known to be here: where else it may have been, others are. */
static void leave_group(threads *t, threads_thread_ *thread)
{
    const uint32_t group = thread->group;
    thread->group = 0;
    for (size_t i = 0; group && i < t->thread_count; i++) {
        threads_places_ *places;
        if (t->list[i].group != group) continue;
        places = own_places(t, &t->list[i]);
        if (places) align_join(&places->may, &thread->places->may);
        break;
    }
}

/* Threads with the number of this one are in group `to` from here on. */
static void regroup(threads *t, threads_thread_ *thread, uint32_t to)
{
    const uint32_t from = thread->group;
    thread->group = to;
    for (size_t i = 0; from && i < t->thread_count; i++)
        if (t->list[i].group == from) t->list[i].group = to;
}

#define TRIAL_BLOCKS 1000000u

/* Follow an event; 0: this is the end of the flow. The kernel is not entered by
 * a near branch: then the trace does not fit, or a filter is left. */
static int try_event(const threads *t, trial *r, const ipt_event *e,
                     const ipt_block *last)
{
    const int is_near = !t->filtered && last->kind >= IPT_INSN_JCC
                     && last->kind <= IPT_INSN_JMPABS;
    if (e->flags & IPT_EVENT_STATUS) return 1;
    switch (e->type) {
    case IPT_EVT_ENABLED:
        r->has_next = r->has_stop;
        r->ip = e->ip;
        r->tsc = e->tsc;
        r->offset = e->offset;
        return 0;
    case IPT_EVT_DISABLED:
        r->stop = e->u.branch.to;
        if (e->flags & IPT_EVENT_NO_TO) {
            r->stop = last->end_ip + last->last_size;
            r->fits = !is_near;
        }
        r->has_stop = 1;
        return r->fits;
    case IPT_EVT_ASYNC_DISABLED:
        r->stop = e->ip;
        r->has_stop = 1;
        return 1;
    default: return e->type != IPT_EVT_OVERFLOW && e->type != IPT_EVT_GAP;
    }
}

/* Decode a stretch of the plan with the code of a process; the decoder of the
 * queue stays where it is. */
static void try_flow(threads_queue_ *q, uint32_t pid, trial *r)
{
    const uint32_t old_pid = q->who.pid;
    const unsigned veil_count = q->veil_count;
    const flow_decoder old = q->decoder;
    int pulling = q->plan->pulling;
    int more = 1;
    ipt_block block;
    ipt_block last;
    ipt_event event;
    memset(r, 0, sizeof *r);
    memset(&last, 0, sizeof last);
    last.end_ip = q->last_end;
    last.kind = q->last_kind;
    r->pid = q->who.pid = pid;
    r->fits = 1;
    q->decoder = q->plan->tail;
    q->veil_count = 0;
    set_space(q);
    for (unsigned n = 0; more && n < TRIAL_BLOCKS; n++) {
        int status = pulling ? next_event(q, &event) : next_block(q, &block);
        if (status == IPT_MORE && window_grow(&q->trace)) continue;
        if (status < 0 && status != IPT_EVENT_FIRST) {
            r->fits = status == IPT_MORE || status == IPT_END;
            r->ended = status == IPT_END;
            break;
        }
        if (pulling) more = try_event(q->in, r, &event, &last);
        if (!pulling && status >= 0) last = block;
        pulling = status == IPT_EVENT_FIRST || (status & IPT_EVENT_PENDING);
    }
    if (r->has_next && !(where(q)->valid & IPT_AT_TSC)) r->tsc = 0;
    r->after = q->decoder;
    r->pulling = (uint8_t) pulling;
    q->decoder = old;
    q->who.pid = old_pid;
    set_filter(q);
    q->veil_count = veil_count;
}

/* Is all flow of a run decoded? */
static int is_done(const threads *t, size_t run)
{
    const threads_queue_ *q;
    if (t->runs[run].queue == UINT32_MAX) return 0; /* not traced */
    q = &t->all[t->runs[run].queue];
    return q->state == ENDED || q->floor > run
        || (q->floor == run && q->state == HELD && q->try_ > run);
}

/* Is what a thread did before a run known? */
static int is_current(const threads_queue_ *q, size_t run)
{
    const threads *const t = q->in;
    const size_t before = t->runs[run].before;
    return before == SIZE_MAX || t->runs[before].queue == q->who.queue
        || is_done(t, before);
}

/* The threads that it may be. */
typedef struct choice {
    threads_thread_ *thread[ALIGN_THREADS];
    unsigned count;
    uint8_t differ; /* what would be decoded */
    size_t low;     /* the earliest run that it may be in */
} choice;

/* The process whose code a thread has: if its own is not known yet, that of its
 * parent. */
static uint32_t code_of(const threads_queue_ *q, const threads_thread_ *thread,
                        uint64_t ip)
{
    const threads_thread_ *const parent = find_thread(q->in, thread->parent);
    uint8_t code;
    return thread->seen || !parent || has_code(q, thread->pid, ip, &code, 1)
             ? thread->pid : parent->pid;
}

/* ---- plans ---- */

/* The number of a thread in a plan; ALIGN_THREADS if there are too many. */
static unsigned number_of(flow_plan *p, uint32_t tid)
{
    unsigned i = 0;
    while (i < p->threads && p->tid[i] != tid) i++;
    if (i == p->threads && i < ALIGN_THREADS) p->tid[p->threads++] = tid;
    return i;
}

/* What the end of stretch k says of one thread. */
static void note_trial(threads_queue_ *q, size_t k, unsigned bit,
                       const trial *r, const trial *first)
{
    align_stretch *const s = &q->plan->list[k];
    const int returns = r->has_stop && is_return(q, r->pid, r->stop);
    if (!r->fits) {
        q->plan->vague[k] |= NO_STOP;
        if (has_code_to_come(q->in, r->pid, q->plan->hi[k]))
            s->fits |= (uint16_t) (1u << bit);
        return;
    }
    s->fits |= (uint16_t) (1u << bit);
    if (r->has_next && !returns) s->stops |= (uint16_t) (1u << bit);
    if (!r->has_stop || q->in->filtered) q->plan->vague[k] |= NO_STOP;
    if (returns) q->plan->vague[k] |= RETURNS;
    s->stop[bit] = r->stop;
    if (r->stop != first->stop || r->offset != first->offset)
        q->plan->differ[k] = 1;
}

/* What is known of a thread that may go on with stretch k. */
static void note_thread(threads_queue_ *q, size_t k, unsigned bit,
                        const threads_thread_ *thread)
{
    align_stretch *const s = &q->plan->list[k];
    if (may_begin(q, thread, s->ip, q->plan->hi[k]))
        s->news |= (uint16_t) (1u << bit);
}

/* Decode the last stretch of the plan, for each thread that it may be of. 0:
 * there are too many threads. */
static int measure(threads_queue_ *q)
{
    flow_plan *const p = q->plan;
    trial *const first = &p->first;
    const size_t k = p->measured;
    align_stretch *const s = &p->list[k];
    uint16_t done = 0;
    first->fits = 0;
    for (size_t run = s->first; run <= s->last; run++) {
        const threads_thread_ *const thread = thread_of(q, run);
        uint32_t pid;
        unsigned bit;
        trial *r = first;
        if (!thread) continue;
        bit = number_of(p, thread->tid);
        if (bit == ALIGN_THREADS) return 0;
        if (done >> bit & 1) continue;
        done |= (uint16_t) (1u << bit);
        note_thread(q, k, bit, thread);
        pid = code_of(q, thread, s->ip);
        if (first->fits && first->pid != pid) r = &p->other;
        if (!first->fits || r != first) try_flow(q, pid, r);
        note_trial(q, k, bit, r, first);
        if (r->fits && r->offset != first->offset) p->open = 0;
    }
    if (!s->fits) s->fits = done;
    if (!first->fits || !first->has_next) p->open = 0;
    p->whole = first->fits && first->ended && !p->differ[k];
    p->measured++;
    return 1;
}

/* One more stretch. */
static void extend(threads_queue_ *q, uint64_t ip, uint64_t offset,
                   uint64_t tsc, size_t first)
{
    flow_plan *const p = q->plan;
    const size_t k = p->count++;
    align_stretch *const s = &p->list[k];
    memset(s, 0, sizeof *s);
    s->ip = ip;
    s->first = first;
    p->offset[k] = offset;
    p->differ[k] = p->vague[k] = 0;
    find_times(q, offset, tsc, &p->lo[k], &p->hi[k]);
    find_range(q, p->lo[k], p->hi[k], &s->first, &s->last);
    p->clear = s->first == s->last ? p->clear + 1 : 0;
}

/* Begin a plan where the queue is. */
static void begin_plan(threads_queue_ *q)
{
    flow_plan *const p = q->plan;
    p->next = p->measured = p->count = p->decided = 0;
    p->threads = 0;
    p->open = 1;
    p->whole = 0;
    p->tail = q->decoder;
    p->pulling = q->pulling;
    if (q->state == HELD) {
        extend(q, q->hold_ip, q->hold_at, q->lo, q->first);
        p->lo[0] = q->lo;
        p->hi[0] = q->hi;
    } else {
        extend(q, 0, where(q)->offset, q->who.tsc, q->floor);
    }
}

/* What is done with goes. */
static void shift_plan(flow_plan *p)
{
    const size_t n = p->next;
    const size_t left = p->count - n;
    memmove(p->list, p->list + n, left * sizeof *p->list);
    memmove(p->offset, p->offset + n, left * sizeof *p->offset);
    memmove(p->lo, p->lo + n, left * sizeof *p->lo);
    memmove(p->hi, p->hi + n, left * sizeof *p->hi);
    memmove(p->differ, p->differ + n, left);
    memmove(p->vague, p->vague + n, left);
    p->next = 0;
    p->measured -= n < p->measured ? n : p->measured;
    p->decided -= n < p->decided ? n : p->decided;
    p->count = left;
}

/* Look ahead, from where the plan ends. 0 without memory. */
static int look_ahead(threads_queue_ *q)
{
    const size_t clear = q->in->in_time || q->in->early ? CLEAR : AHEAD;
    flow_plan *p = q->plan;
    if (!p) p = q->plan = (flow_plan *) calloc(1, sizeof *p);
    if (!p) return 0;
    shift_plan(p);
    if (p->count == 0) begin_plan(q);
    p->clear = p->run_count = 0;
    p->list->first = q->state == HELD ? q->first : q->floor;
    p->list->last = q->state == HELD ? q->last : q->run;
    while (p->open && p->measured < p->count && p->clear < clear) {
        const size_t k = p->measured;
        if (p->list[k].last - p->list->first >= PLANNED || !measure(q)) {
            p->open = 0;
            p->count--;
        } else if (p->open) {
            p->tail = p->first.after;
            p->pulling = p->first.pulling;
            if (p->count == AHEAD) break;
            extend(q, p->first.ip, p->first.offset, p->first.tsc,
                   p->list[k].first);
        }
    }
    return 1;
}

/* Where a thread stopped, as far as is known. */
static void find_stops(const threads *t, const threads_thread_ *thread,
                       align_places *places)
{
    *places = thread->places->may;
    for (size_t i = 0; thread->group && i < t->thread_count; i++)
        if (t->list[i].group == thread->group)
            align_join(places, &t->list[i].places->may);
}

/* The run in the plan of its queue; NULL if there is none. */
static const align_run *in_plan(const threads *t, size_t run)
{
    const uint32_t queue = t->runs[run].queue;
    const flow_plan *const p = queue == UINT32_MAX ? NULL : t->all[queue].plan;
    return p && run - p->base < p->run_count ? &p->runs[run - p->base] : NULL;
}

/* Which threads can have begun where stretches do? Now the plans of all queues
 * are there. */
static void find_news(threads_queue_ *q)
{
    flow_plan *const p = q->plan;
    for (unsigned i = 0; i < p->threads; i++) {
        const threads_thread_ *const thread = find_thread(q->in, p->tid[i]);
        for (size_t k = 0; k < p->measured; k++)
            if ((p->list[k].news >> i & 1)
                && !(thread->places->may.fresh
                     && was_made(q, thread, p->list[k].ip)))
                p->list[k].news &= (uint16_t) ~(1u << i);
    }
}

/* Are all stretches that can be in a run in the plan of its queue? */
static int is_covered(const threads *t, size_t run)
{
    const uint32_t queue = t->runs[run].queue;
    const flow_plan *const p = queue == UINT32_MAX ? NULL : t->all[queue].plan;
    return p && p->measured
        && (p->whole || p->list[p->measured - 1].first > run);
}

/* The latest run of a thread before another one that is of a queue and is not
 * done with; SIZE_MAX if there is none. */
static size_t last_on(const threads *t, size_t run, uint32_t queue)
{
    do
        run = t->runs[run].before;
    while (run != SIZE_MAX && !is_done(t, run) && t->runs[run].queue != queue);
    return run == SIZE_MAX || is_done(t, run) ? SIZE_MAX : run;
}

/* Add where a signal handler may return to, also one that forked. */
static void add_left(const threads *t, const threads_thread_ *thread,
                     align_places *places)
{
    for (unsigned n = 0; thread && n < ANCESTORS; n++) {
        align_join(places, &thread->places->left);
        thread = find_thread(t, thread->parent);
    }
}

/* Add where a thread stops in stretches that can be in run `last` or before. */
static void add_stops(const threads *t, const flow_plan *p,
                      const threads_thread_ *thread, size_t last,
                      align_places *places)
{
    unsigned i = 0;
    while (i < p->threads && p->tid[i] != thread->tid) i++;
    if (i == p->threads) return;
    for (size_t k = 0; k < p->measured && p->list[k].first <= last; k++) {
        if (!(p->list[k].fits >> i & 1)) continue;
        if (p->vague[k] & NO_STOP) align_anywhere(places);
        if (p->vague[k] & RETURNS) add_left(t, thread, places);
        align_add(places, p->list[k].stop[i]);
    }
}

/* Where a thread may be when a run begins, whatever it did before that, on any
 * processor. */
static void find_places(const threads_queue_ *q, size_t run,
                        align_places *places)
{
    const threads *const t = q->in;
    const threads_thread_ *const thread = thread_of(q, run);
    find_stops(t, thread, places);
    for (size_t i = t->runs[run].before; i != SIZE_MAX && !is_done(t, i);
         i = t->runs[i].before)
        if (t->runs[i].queue != q->who.queue && !is_covered(t, i))
            align_anywhere(places);
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        const size_t last = last_on(t, run, i);
        if (places->count > ALIGN_PLACES) return;
        if (last != SIZE_MAX && t->all[i].plan)
            add_stops(t, t->all[i].plan, thread, last, places);
    }
}

/* What is known of a run before the stretches are looked at. */
static void begin_run(threads_queue_ *q, align_run *a, size_t run)
{
    const threads *const t = q->in;
    flow_plan *const p = q->plan;
    const threads_thread_ *const thread = thread_of(q, run);
    const size_t before = t->runs[run].before;
    const size_t after = t->runs[run].after;
    const align_run *other;
    memset(a, 0, sizeof *a);
    a->thread = ALIGN_THREADS;
    align_anywhere(&a->out);
    if (!thread) return;
    a->thread = (uint8_t) number_of(p, thread->tid);
    if (after != SIZE_MAX && t->runs[after].queue != q->who.queue
        && (other = in_plan(t, after)) != NULL && other->begins.count)
        a->out = other->begins;
    if (run <= q->run && q->state == FLOWING) {
        align_anywhere(&a->in);
    } else if (before != SIZE_MAX && t->runs[before].queue == q->who.queue
               && before >= p->base) {
        a->kept = 1;
    } else if (before != SIZE_MAX && !is_current(q, run)) {
        other = in_plan(t, before);
        if (other && (other->ends.count || other->ends.fresh)
            && other->ends.count <= ALIGN_PLACES)
            a->in = other->ends;
        else
            find_places(q, run, &a->in);
    } else {
        find_stops(t, thread, &a->in);
    }
}

static int is_same(const align_run *a, const align_run *b)
{
    return a->thread == b->thread && a->kept == b->kept
        && !memcmp(&a->in, &b->in, sizeof a->in)
        && !memcmp(&a->out, &b->out, sizeof a->out);
}

/* How much work explanations may take: by how much trace they are about, so that it
 * is the same wherever plans begin. */
static size_t work_of(const threads_queue_ *q)
{
    const flow_plan *const p = q->plan;
    const uint64_t size = p->offset[p->measured - 1] - *p->offset + 1;
    const uint64_t work = size * WORK + ONCE * size / (q->in->traced + 1);
    return work < SIZE_MAX ? (size_t) work : SIZE_MAX;
}

/* Find the explanations for a queue, with what is known of others. Where there was
 * no room for more, what is to come may still say something about the second
 * half. 0: that was so last time, too. */
static int explain(threads_queue_ *q)
{
    flow_plan *const p = q->plan;
    size_t done;
    int news = !p->explained;
    p->base = p->list->first;
    p->run_count = 1;
    for (size_t k = 0; k < p->measured; k++)
        while (p->run_count < PLANNED
               && p->base + p->run_count <= p->list[k].last)
            p->run_count++;
    for (size_t i = 0; i < p->run_count; i++) {
        align_run run;
        begin_run(q, &run, p->base + i);
        if (!news && is_same(&run, &p->runs[i])) continue;
        p->runs[i] = run;
        news = 1;
    }
    if (!news) return 0;
    p->explained = 1;
    done = align_find(q->in->aligner, p->list, p->measured, p->runs, p->base,
                      p->run_count, work_of(q));
    p->decided = p->count == AHEAD && done > AHEAD / 2 ? AHEAD / 2 : done;
    return 1;
}

/* Explain all queues, each with what is known of the others, until that stays. */
static void explain_all(threads *t)
{
    int news = 1;
    for (unsigned turn = 0; turn < TURNS && news; turn++) {
        news = 0;
        for (uint32_t i = 0; i < t->queues.queue_count; i++) {
            const flow_plan *const p = t->all[i].plan;
            if (p && p->measured && t->all[i].state != ENDED)
                news |= explain(&t->all[i]);
        }
    }
}

/* Is the time that is known where a run begins always later than its record?
 * Says 1 as soon as it is found out. */
static int learn(threads *t)
{
    unsigned late = 0;
    if (t->in_time || t->early) return 0;
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        const flow_plan *const p = t->all[i].plan;
        for (size_t k = 1; p && k < p->decided; k++) {
            const uint16_t now = p->list[k].threads;
            const uint16_t old = p->list[k - 1].threads;
            if (now & (now - 1) || old & (old - 1) || now == old) continue;
            if (p->lo[k] < t->runs[p->list[k].run].tsc)
                t->early = 1;
            else
                late++;
        }
    }
    t->in_time = !t->early && late >= ENOUGH;
    return t->in_time;
}

/* Make plans for all queues together, or carry them on. */
static void make_plans(threads *t)
{
    t->plans++;
    if (t->slice) { /* plans need to know where each thread was before */
        threads_unclear(t);
        return;
    }
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        threads_queue_ *const q = &t->all[i];
        if (q->plan) q->plan->run_count = q->plan->explained = 0;
        if (q->state != HELD && q->state != FLOWING) continue;
        if (!q->in || !q->by_cpu || q->run == q->run_end) continue;
        if (!look_ahead(q)) return;
    }
    for (uint32_t i = 0; i < t->queues.queue_count; i++)
        if (t->all[i].plan && t->all[i].plan->measured) find_news(&t->all[i]);
    explain_all(t);
    if (!learn(t)) return;
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        flow_plan *const p = t->all[i].plan;
        if (p) p->explained = 0;
        for (size_t k = 0; p && k < p->count; k++)
            find_range(&t->all[i], p->lo[k], p->hi[k], &p->list[k].first,
                       &p->list[k].last);
    }
    explain_all(t);
}

static void doubt(threads_queue_ *q)
{
    q->doubtful = 1;
    q->doubtful_at = where(q)->sync;
}

/* Is it in the part of the plan that stays? */
static int is_decided(const threads_queue_ *q)
{
    const flow_plan *const p = q->plan;
    return p && p->next < p->decided && p->offset[p->next] == q->hold_at;
}

/* The threads that it may be. */
static void find_choices(const threads_queue_ *q, choice *c)
{
    const flow_plan *const p = q->plan;
    const align_stretch *const s = p ? &p->list[p->next] : NULL;
    memset(c, 0, sizeof *c);
    c->low = q->best;
    if (is_decided(q)) {
        c->low = s->low < s->run ? s->low : s->run;
        c->differ = p->differ[p->next];
        for (unsigned i = 0; i < p->threads; i++)
            if (s->threads >> i & 1)
                c->thread[c->count++] = find_thread(q->in, p->tid[i]);
        return;
    }
    for (size_t i = q->first; i <= q->last && c->count < ALIGN_THREADS; i++) {
        threads_thread_ *const thread = thread_of(q, i);
        unsigned n = 0;
        while (n < c->count && c->thread[n] != thread) n++;
        if (!thread || n < c->count) continue;
        c->thread[c->count++] = thread;
        c->differ = 1;
        if (i < c->low) c->low = i;
    }
}

/* A thread goes on at hold_ip, or may. If it did not stop there a signal found
 * it where it did, and it comes back to that. */
static void note_signal(const threads_queue_ *q, threads_thread_ *thread)
{
    align_places places;
    threads_places_ *own;
    find_stops(q->in, thread, &places);
    if (align_has(&places, q->hold_ip) || align_has(&places, q->hold_ip + 2))
        return;
    own = own_places(q->in, thread);
    if (own) align_join(&own->left, &places);
}

/* The thread is that of run `best`, or of another one. If several are left,
 * nobody knows from here on where these stopped. */
static void decide(threads_queue_ *q)
{
    threads *const t = q->in;
    threads_thread_ *const thread = thread_of(q, q->best);
    choice c;
    find_choices(q, &c);
    q->run = q->best;
    q->floor = c.low;
    if (where(q)->sync != q->doubtful_at) q->doubtful = 0;
    q->who.sure = c.count == 1 && q->lo < t->lost_tsc && !q->doubtful;
    for (unsigned i = 0; i < c.count; i++) note_signal(q, c.thread[i]);
    if (c.count == 1) leave_group(t, c.thread[0]);
    if (c.count > 1) regroup(t, c.thread[0], ++t->groups);
    for (unsigned i = 1; i < c.count; i++)
        regroup(t, c.thread[i], c.thread[0]->group);
    if (c.count > 1 && c.differ) doubt(q);
    if (t->config.never_mark) q->who.sure = 1;
    begin_flow(q, thread);
}

/* Look at a run. Where its thread does not go on here, the next is looked at,
 * but later: others may have to decode what it does before. */
static void try_run(threads_queue_ *q)
{
    const threads_run_ *const runs = q->in->runs;
    const threads_thread_ *const thread = thread_of(q, q->try_);
    int likely;
    if (!is_decided(q) && q->first < q->last && !q->asked) {
        q->asked = 1;
        make_plans(q->in);
        return;
    }
    if (is_decided(q)) {
        q->best = q->plan->list[q->plan->next].run;
        if (q->try_ == q->best) decide(q);
        q->try_ = q->best;
        return;
    }
    likely = thread ? how_likely(q, thread, q->hold_ip) : 0;
    if (likely > q->best_likely
        || (likely == q->best_likely && likely < PLAUSIBLE
            && runs[q->try_].tsc <= q->lo)) {
        q->best = q->try_;
        q->best_likely = likely;
    }
    if (likely == PLAUSIBLE || q->try_ == q->last
        || (likely == 2 && !thread->seen))
        decide(q);
    else
        q->try_++;
}

/* Whose a queue is, of a thread, or of a cpu without switches. */
static uint32_t alone(const threads_queue_ *q)
{
    const threads_config *const c = &q->in->config;
    return q->by_cpu && c->process ? c->process(q->cr3, c->context)
                                   : q->queue->tid;
}

/* A queue of a thread, or of a cpu without switches. */
static void decide_alone(threads_queue_ *q)
{
    threads *const t = q->in;
    threads_thread_ *const thread = find_thread(t, alone(q));
    uint64_t hi = NO_TIME;
    uint8_t code;
    q->who.sure = !q->by_cpu || t->config.process || t->config.never_mark;
    begin_flow(q, thread);
    if (!thread || !thread->in_call || thread->places->stops[0] == q->hold_ip)
        return;
    while (!has_code(q, thread->pid, q->hold_ip, &code, 1)) {
        if (t->timed && hi == NO_TIME) hi = time_after(q, q->hold_at);
        if (!apply_early(t, thread->pid, hi)) break;
    }
}

/* ---- the kernel is traced ---- */

/* When the thread of a run has the cpu: its own record says that, or the next
 * one of another thread. */
static uint64_t surely_by(const threads_queue_ *q, size_t run)
{
    const threads_run_ *const r = &q->in->runs[run];
    if (r->in > r->tsc) return r->in;
    return run + 1 < q->run_end ? r[1].tsc : NO_TIME;
}

/* Go on to a run. */
static void take_run(threads_queue_ *q, size_t run, int sure, uint64_t now)
{
    const threads *const t = q->in;
    q->counted = sure && where(q)->sync + 1 != q->late;
    q->who.sure = t->config.never_mark || (q->counted && now < t->lost_tsc);
    q->run = q->floor = run;
    set_thread(q, thread_of(q, run));
    q->who.tsc = said_time(q, now);
    say_run(q);
}

/* Runs that began without flow into __switch_to: trace was lost there. The one
 * that is in force at a time. */
static size_t pass_runs(const threads_queue_ *q, uint64_t now)
{
    size_t run = q->run;
    while (run + 1 < q->run_end
           && surely_by(q, run + 1) < now - (now < q->in->slack
                                                 ? now : q->in->slack))
        run++;
    return run;
}

/* Flow enters __switch_to, not before a time: the thread is that of the next
 * record. Where trace was lost before, there has to be one only. */
static void enter_switch(threads_queue_ *q, uint64_t offset, uint64_t now)
{
    const threads_run_ *const runs = q->in->runs;
    const size_t run = pass_runs(q, now);
    uint64_t hi = time_after(q, offset);
    size_t last = run;
    if (hi < NO_TIME) hi += q->in->slack;
    while (last + 1 < q->run_end && runs[last + 1].tsc <= hi) last++;
    take_run(q, last > run ? run + 1 : run,
             last == run + 1 || (last > run && run == q->run && q->counted),
             now);
}

/* Has the thread of a run the cpu, and no other one, between two times? */
static int is_alone(const threads_queue_ *q, size_t run, uint64_t lo,
                    uint64_t hi)
{
    const threads_run_ *const r = &q->in->runs[run];
    return (r->tsc == 0 || (r->in > r->tsc && r->in <= lo))
        && (run + 1 == q->run_end || r[1].tsc > hi);
}

/* Flow is at a time. Where trace is missing before, a thread may have the cpu
 * though flow did not enter __switch_to. It is sure in the kernel only: user code
 * may have been that of another one. */
static void catch_up(threads_queue_ *q, const ipt_block *block, uint64_t now)
{
    const size_t run = pass_runs(q, now);
    if (run == q->run && (q->counted || !(block->ip & KERNEL))) return;
    take_run(q, run, block->ip & KERNEL
                     && is_alone(q, run, now, time_after(q, block->offset)),
             now);
}

/* Tracing begins. Unless trace is missing it is the thread with which it
 * ended. */
static void decide_in_kernel(threads_queue_ *q)
{
    const size_t run = pass_runs(q, q->lo);
    take_run(q, run, (q->counted && run == q->run)
                     || is_alone(q, run, q->lo, q->hi), q->lo);
    begin_flow(q, thread_of(q, run));
}

/* Trace is missing, and perhaps a switch. */
static void lose_count(threads_queue_ *q)
{
    q->counted = 0;
    if (q->by_cpu && q->in->in_kernel && !q->in->config.never_mark)
        q->who.sure = 0;
}

/* ---- decoding ---- */

/* The thread stops; it is to go on at ip. Where there are filters it may have
 * left them: then it comes back elsewhere. */
static void stop(threads_queue_ *q, uint64_t ip, int in_call)
{
    threads_thread_ *const thread = q->thread;
    threads_places_ *const places = thread ? own_places(q->in, thread) : NULL;
    if (!places) return;
    memmove(places->stops + 1, places->stops,
            (THREADS_STOPS_ - 1) * sizeof *places->stops);
    places->stops[0] = ip;
    if (!thread->group) places->may.count = places->may.fresh = 0;
    if (q->doubtful || q->in->filtered)
        lose_places(q->in, thread);
    else if (in_call && is_return(q, thread->pid, ip))
        align_anywhere(&places->may);
    else
        align_add(&places->may, ip);
    if (thread->stop_count < THREADS_STOPS_) thread->stop_count++;
    thread->known = !q->in->filtered;
    thread->in_call = (uint8_t) in_call;
    if (in_call)
        q->in->calls[call_bit(ip) >> 6] |= (uint64_t) 1 << (call_bit(ip) & 63);
}

/* Flow is missing. Where the thread goes on is not known, nor where those do
 * that may have had the cpu until there is flow again. */
static void forget(threads_queue_ *q)
{
    q->lost = 1;
    lose_count(q);
    if (!q->thread) return;
    q->thread->known = 0;
    lose_places(q->in, q->thread);
}

static void report_gap(threads_queue_ *q)
{
    const uint32_t why = window_gap(&q->trace, q->gaps++);
    const struct {
        uint32_t bit;
        threads_loss loss;
    } kinds[] = {{PERFDATA_AUX_TRUNCATED, THREADS_TRUNCATED},
                 {PERFDATA_AUX_PARTIAL, THREADS_PARTIAL},
                 {PERFDATA_AUX_COLLISION, THREADS_COLLISION},
                 {PERFDATA_GAP_MISSING, THREADS_MISSING},
                 {PERFDATA_GAP_SNAPSHOT, THREADS_SNAPSHOT}};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (why & kinds[i].bit) lose(q->in, q, kinds[i].loss, 1, 0);
}

/* A synchronisation ended with status. Where flow is taken up without an event
 * it is still that of the thread. */
static void synced(threads_queue_ *q, int status)
{
    if (status == IPT_END) {
        q->state = ENDED;
    } else if (status >= 0) {
        q->pulling = (status & IPT_EVENT_PENDING) != 0;
        set_space(q);
    }
}

/* Does trace say all that is needed to go on there, without a PSB? Tracing was
 * off, and a TIP.PGE has a whole IP. */
static int starts_at(const threads_queue_ *q, uint64_t offset)
{
    ipt_pkt_decoder d;
    ipt_packet p;
    if (offset < q->trace.trace.offset
        || ipt_pkt_init(&d, &q->config, &q->trace.trace) < 0
        || ipt_pkt_sync_set(&d, offset) < 0)
        return 0;
    while (ipt_pkt_next(&d, &p) >= 0)
        switch (p.type) {
        case IPT_PKT_TIP_PGE:
            return p.u.ip.ipc == 3 || p.u.ip.ipc == 6;
        case IPT_PKT_PAD:
        case IPT_PKT_TSC:
        case IPT_PKT_TMA:
        case IPT_PKT_MTC:
        case IPT_PKT_CYC:
        case IPT_PKT_CBR:
        case IPT_PKT_PIP:
        case IPT_PKT_VMCS:
        case IPT_PKT_MODE_EXEC: break;
        default: return 0;
        }
    return 0;
}

/* The buffer was full: the driver stops tracing, and lets it go on later, without
 * a PSB. Take trace up after the gap, if it says where flow is. What is not taken
 * up is counted. */
static int take_up(threads_queue_ *q, const ipt_event *gap)
{
    const uint64_t offset = gap->offset + gap->u.gap.lost;
    ipt_start start;
    int status;
    if (!starts_at(q, offset)) {
        q->skip_from = offset;
        return 0;
    }
    memset(&start, 0, sizeof start);
    start.offset = offset;
    start.mode = q->last_mode ? q->last_mode : IPT_MODE_64;
    status = q->in->config.insn ? ipt_insn_start(&q->decoder.insn, &start)
                                : ipt_blk_start(&q->decoder.blk, &start);
    synced(q, status);
    return status >= 0;
}

/* Trace that was not taken up ends there: a PSB, or the end. */
static void end_skip(threads_queue_ *q, uint64_t offset)
{
    if (q->skip_from >= offset) return;
    if (q->shown) q->in->skipped += offset - q->skip_from;
    q->skip_from = UINT64_MAX;
}

/* What an event does to the flow of threads. */
static void see_event(threads_queue_ *q, const ipt_event *e)
{
    const int status = e->flags & IPT_EVENT_STATUS;
    switch (e->type) {
    case IPT_EVT_ENABLED:
        if (!status || !q->in_order) {
            if (!q->in_order && q->begun) forget(q);
            q->in_order = q->begun = 1;
            hold(q, e->ip, e->offset, e->tsc);
        }
        break;
    case IPT_EVT_DISABLED:
        if (status) break;
        q->is_off = 1;
        stop(q, e->flags & IPT_EVENT_NO_TO ? q->last_end : e->u.branch.to,
             q->last_kind == IPT_INSN_SYSCALL || q->last_kind == IPT_INSN_INT);
        break;
    case IPT_EVT_ASYNC_DISABLED:
        if (status) break;
        q->is_off = 1;
        stop(q, e->ip, 0);
        break;
    case IPT_EVT_OVERFLOW:
        lose(q->in, q, THREADS_OVERFLOW, 1, 0);
        forget(q);
        q->in_order = 1;
        if (!(e->flags & IPT_EVENT_NO_IP)) hold(q, e->ip, e->offset, e->tsc);
        break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        q->cr3 = e->u.paging.cr3;
        if (q->by_cpu && q->in->config.process && !where(q)->asid.nr)
            set_thread(q, find_thread(q->in, alone(q)));
        break;
    case IPT_EVT_GAP:
        while (q->gaps < q->trace.gaps && q->gaps < where(q)->gaps)
            report_gap(q);
        forget(q);
        q->in_order = 0;
        break;
    default: break;
    }
}

/* Pull events, up to one after which the thread has to be found. */
static void pull(threads_queue_ *q)
{
    const uint32_t gaps = q->gaps;
    ipt_event event;
    int status;
    end_skip(q, where(q)->sync);
    do {
        status = next_event(q, &event);
        if (status < 0) break;
        q->who.tsc = where(q)->valid & IPT_AT_TSC ? event.tsc : 0;
        show(q, q->who.tsc);
        if (q->who.tsc) q->near = q->who.tsc;
        if (event.type != IPT_EVT_ENABLED) tell_event(q, &event);
        see_event(q, &event);
        if (event.type == IPT_EVT_GAP && q->gaps == gaps + 1
            && window_gap(&q->trace, gaps) & PERFDATA_AUX_TRUNCATED
            && take_up(q, &event))
            return;
        if (event.type == IPT_EVT_ENABLED && q->state == HELD) {
            q->begin = event;
            q->has_begin = 1;
        } else if (event.type == IPT_EVT_ENABLED) {
            tell_event(q, &event);
        }
    } while (status & IPT_EVENT_PENDING && q->state == FLOWING);
    q->pulling = status >= 0 && (status & IPT_EVENT_PENDING);
}

/* Code is missing; does a record have it that was not applied yet? */
static int need_code(threads_queue_ *q)
{
    threads *const t = q->in;
    uint64_t hi = NO_TIME;
    if (!q->thread || (where(q)->asid.nr && !t->config.is_bare)) return 0;
    if (t->timed) hi = time_after(q, where(q)->offset);
    return apply_early(t, q->who.pid, hi);
}

/* Decoding ended with a status. Flow into code that is missing counts as one loss
 * up to where there is flow again. That a return goes to before a loss is part
 * of that one; after missing code it leads there once more. */
static void lose_flow(threads_queue_ *q, int status)
{
    threads *const t = q->in;
    const int returns = status == IPT_ERR_RETURN_LOST;
    const int unclear = returns && t->slice > 1 && !t->muted
                     && q->last_loss == THREADS_LOSSES;
    const threads_loss loss =
        status == IPT_NEED_PAGE ? THREADS_NO_CODE
        : status == IPT_ERR_NO_TNT ? THREADS_NO_TNT
        : returns && q->last_loss != THREADS_LOSSES ? q->last_loss
                                                    : THREADS_ERROR;
    const int again = loss == THREADS_NO_CODE
                        ? q->last_loss == loss && !q->flowed : returns;
    if (unclear) threads_unclear(t);
    lose(t, q, loss, !again, status);
    q->flowed = 0;
}

static void give_up(threads_queue_ *q, int status)
{
    threads *const t = q->in;
    const uint32_t group = q->thread ? q->thread->group : 0;
    for (size_t i = 0; group && i < t->thread_count; i++)
        if (t->list[i].group == group) {
            t->list[i].known = 0;
            lose_places(t, &t->list[i]);
        }
    if (q->by_cpu && !q->who.sure) doubt(q);
    if (is_dated(q, where(q)->offset)) tell_dates(q, where(q)->offset, 0);
    lose_flow(q, status);
    lose_count(q);
    q->late = where(q)->sync + 1;
    status = sync_queue(q, RESYNC);
    if (status < 0 && status != IPT_END) {
        forget(q);
        q->in_order = 0;
        do
            status = sync_queue(q, SYNC);
        while (status < 0 && status != IPT_END
               && where(q)->offset < UINT64_MAX && !q->trace.failed
               && status != IPT_ERR_ARG && status != IPT_ERR_STATE);
        if (status < 0) status = IPT_END;
    }
    synced(q, status);
}

/* With the kernel traced a switch is inside it, and time is all there is. */
static void switch_in_kernel(threads_queue_ *q, uint64_t now)
{
    const threads *const t = q->in;
    size_t run = q->run;
    if (!now || q->who.guest || t->in_kernel) return;
    while (run + 1 < q->run_end && t->runs[run + 1].tsc <= now) run++;
    if (run == q->run) return;
    q->run = q->floor = run;
    q->who.sure = t->cyc || t->config.never_mark;
    set_thread(q, thread_of(q, run));
    q->who.tsc = said_time(q, now);
    say_run(q);
}

static uint64_t time_now(threads_queue_ *q)
{
    const ipt_where *const at = where(q);
    if (!(at->valid & IPT_AT_TSC) || at->tsc == 0) return 0;
    return q->near = psbs_whole(at->tsc, q->near);
}

/* Is it before a time, less than half a turn away? NO_TIME: always. */
static int is_before(const ipt_where *at, uint64_t limit)
{
    return limit == NO_TIME || !(at->valid & IPT_AT_TSC)
        || ((at->tsc - limit) & (TURN - 1)) >= TURN / 2;
}

/* A block of a thread, whose time and run are said already. */
static void on_block(threads_queue_ *q, const ipt_block *block, uint64_t now)
{
    threads *const t = q->in;
    if (q->by_cpu && t->in_kernel && now && !q->who.guest) {
        if (block->ip == t->config.switch_ip)
            enter_switch(q, block->offset, now);
        else
            catch_up(q, block, now);
    }
    if (q->shown) t->instructions += block->count;
    if (!q->who.sure && q->shown) t->losses[THREADS_UNSURE] += block->count;
    if (q->dates && q->dates->due < block->offset)
        tell_dates(q, block->offset, 0);
    if (t->config.flow) t->config.flow(&q->who, block, t->config.context);
    if (q->by_cpu && block->end_ip & KERNEL) switch_in_kernel(q, now);
}

/* Blocks that nobody looks at, up to a time or until something else comes: the
 * status. Adds their instructions. Most time of a quiet tool is spent here. */
static int skip_blocks(ipt_blk_decoder *d, uint64_t limit, ipt_block *block,
                       uint64_t *count)
{
    int status;
    do {
        status = ipt_blk_next(d, block);
        if (status < 0) break;
        *count += block->count;
    } while (!(status & IPT_EVENT_PENDING)
             && is_before(&d->at, limit));
    return status;
}

/* As skip_blocks, for a caller who wants to know of each block, or decodes
 * instructions. Many blocks have one time. */
static int tell_blocks(threads_queue_ *q, uint64_t limit, ipt_block *block,
                       uint64_t *count)
{
    const ipt_where *const at = where(q);
    const int insn = q->in->config.insn, sliced = q->in->slice != 0;
    uint64_t last = NO_TIME, now = 0, trail = q->blocks;
    int status, goes_on = 1;
    say_run(q);
    do {
        uint64_t tsc;
        status = insn ? next_insn(q, block)
                      : ipt_blk_next(&q->decoder.blk, block);
        if (status < 0) break;
        *count += block->count;
        tsc = at->valid & IPT_AT_TSC ? at->tsc : 0;
        if (tsc != last) {
            last = tsc;
            now = time_now(q);
            goes_on = is_before(at, limit);
            q->who.tsc = said_time(q, now);
            show(q, q->who.tsc);
        }
        if (sliced)
            trail = trail << 16 ^ (block->offset ^ block->ip ^ q->who.tsc) * MIX;
        q->who.guest = at->asid.nr;
        q->in->guest_times |= at->asid.nr && tsc;
        on_block(q, block, now);
    } while (!(status & IPT_EVENT_PENDING) && goes_on);
    q->blocks = trail;
    return status;
}

/* Decode up to a time, or until something else than flow comes: its status. */
static int flow_on(threads_queue_ *q, uint64_t limit)
{
    threads *const t = q->in;
    const int told = t->config.flow || t->config.insn || q->by_cpu
                  || !q->who.sure || t->windowed || t->slice;
    const uint64_t until =
        limit > q->near && limit - q->near >= TURN / 2 ? NO_TIME : limit;
    uint64_t count = 0;
    ipt_block block;
    const int status = told
        ? tell_blocks(q, until, &block, &count)
        : skip_blocks(&q->decoder.blk, until, &block, &count);
    if (count) {
        if (!told) t->instructions += count;
        q->flowed = 1;
        q->who.tsc = time_now(q);
        q->last_end = block.end_ip + block.last_size;
        q->last_kind = block.kind;
        q->last_mode = block.mode;
    }
    q->pulling = status >= 0 && (status & IPT_EVENT_PENDING);
    return status;
}

/* Decode up to the next place where the thread has to be found, or to a time.*/
static void advance(threads_queue_ *q, uint64_t limit)
{
    while (q->state == FLOWING && q->not_before < limit && !q->in->stopped) {
        int status;
        if (q->pulling) {
            pull(q);
            continue;
        }
        status = flow_on(q, limit);
        if (status >= 0) {
            if (q->who.tsc >= limit && q->who.tsc) break;
        } else if (status == IPT_EVENT_FIRST) {
            q->pulling = 1;
        } else if (status == IPT_MORE) {
            read_on(q);
        } else if (status == IPT_END) {
            q->state = ENDED;
        } else if (status != IPT_NEED_PAGE
                   || (q->not_before < limit && !need_code(q))) {
            give_up(q, status);
        }
    }
}

/* ---- all queues ---- */

/* The first run of a cpu, or of a thread, or of a later one. */
static size_t first_run(const threads *t, uint64_t key)
{
    size_t low = 0;
    size_t high = t->run_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->runs[middle].cpu < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first AUX record of a cpu, or of a thread, or of a later one. */
static size_t first_aux(const threads *t, uint64_t key)
{
    size_t low = 0;
    size_t high = t->aux_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->aux[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_runs(threads_queue_ *q)
{
    const threads *const t = q->in;
    const uint32_t key = q->by_cpu ? q->queue->cpu : q->queue->tid;
    if (q->by_cpu != is_of_threads(t)) {
        q->run = q->floor = first_run(t, key);
        q->run_end = first_run(t, (uint64_t) key + 1);
    }
    if (q->by_cpu) {
        for (size_t i = q->run; i < q->run_end; i++)
            t->runs[i].queue = q->who.queue;
        if (q->run < q->run_end) t->runs[q->run].tsc = t->runs[q->run].in = 0;
    }
    q->aux = first_aux(t, key);
    q->aux_end = first_aux(t, (uint64_t) key + 1);
}

/* When a queue was recorded, more or less: the trace's record says it, or any
 * other one does. */
static uint64_t first_time(const threads *t, const perfdata_queue *queue)
{
    uint64_t time = 0;
    for (uint32_t i = 0; i < queue->count && !time; i++)
        time = t->queues.pieces[queue->first + i].reference;
    for (size_t i = 0; i < t->row_count && !time; i++) time = t->rows[i].tsc;
    for (size_t i = 0; i < t->run_count && !time; i++) time = t->runs[i].tsc;
    for (size_t i = 0; i < t->aux_count && !time; i++) time = t->aux[i].tsc;
    return time;
}

static void queue_begin(threads *t, threads_queue_ *q, uint32_t number)
{
    memset(q, 0, sizeof *q);
    q->last_loss = THREADS_LOSSES;
    q->in = t;
    q->queue = &t->queues.queues[number];
    q->by_cpu = q->queue->cpu != UINT32_MAX;
    q->config = t->decoder;
    q->config.read = read_code;
    q->config.context = q;
    q->who.queue = number;
    q->who.cpu = q->queue->cpu;
    q->who.sure = !q->by_cpu || t->config.never_mark;
    q->cr3 = IPT_ASID_UNKNOWN;
    q->skip_from = UINT64_MAX;
    q->near = first_time(t, q->queue);
    q->shown = !t->windowed && !t->muted;
    q->state = ENDED;
    find_runs(q);
}

#define EXACT 4096u /* bytes of which dates are read, though nobody wants them */

/* What is known of dates before a slice of a queue; NULL: nobody wants them, or
 * there is no memory. */
static dates *starts_of(const threads_queue_ *q)
{
    threads *const t = q->in;
    if (!t->slice || !q->dates) return NULL;
    if (!t->starts)
        t->starts = (dates *) calloc(t->queues.queue_count, 2 * sizeof *t->starts);
    return t->starts ? &t->starts[2 * (size_t) q->who.queue] : NULL;
}

/* Read packets up to an offset. */
static void read_dates(dates *d, window *w, uint64_t to,
                       void (*read)(dates *, uint64_t))
{
    for (read(d, to); d->at < to && !d->ended; read(d, to))
        window_more(w, d->release);
}

/* Where a slice begins dates are those that reading all before it gives: times
 * and lengths of cycles depend on it. The last slice of this process has read
 * part of it. 0, or -1 without memory. */
static int move_dates(threads_queue_ *q)
{
    threads *const t = q->in;
    const uint32_t queue = q->who.queue;
    const uint64_t from = t->slice > 1 ? t->parts[queue].from : 0;
    window_span before = {0, UINT64_MAX};
    dates *start;
    window w;
    if (!from) return 0;
    start = starts_of(q);
    if (!start || window_open(&w, t->config.file, &t->queues, queue)) return -1;
    if (start[1].at && start[1].at <= from) start[0] = start[1];
    if (start->at <= from) before.from = start->at;
    window_only(&w, &before, 1);
    window_more(&w, 0);
    if (before.from)
        dates_move(start, &t->decoder, &w.trace);
    else
        dates_init(start, &t->decoder, &w.trace, t->cyc_threshold);
    if (from > EXACT) read_dates(start, &w, from - EXACT, dates_skim);
    read_dates(start, &w, from, dates_read);
    window_close(&w);
    *q->dates = *start;
    dates_move(q->dates, &t->decoder, &q->trace.trace);
    return 0;
}

/* A slice has ended. */
static void keep_dates(const threads_queue_ *q)
{
    dates *const start = starts_of(q);
    if (start && !q->dates->ended) start[1] = *q->dates;
}

static int queue_open(threads_queue_ *q)
{
    threads *const t = q->in;
    const uint32_t number = q->who.queue;
    int status;
    if (window_open(&q->trace, t->config.file, &t->queues, number)) return -1;
    only_part(t, number, &q->trace);
    status = t->config.insn ? ipt_insn_init(&q->decoder.insn, &q->config,
                                            &q->trace.trace, &t->cache)
                            : ipt_blk_init(&q->decoder.blk, &q->config,
                                           &q->trace.trace, &t->cache);
    if (t->config.date && t->timed) {
        q->dates = (dates *) malloc(sizeof *q->dates);
        if (!q->dates) return -1;
        dates_init(q->dates, &t->decoder, &q->trace.trace,
                   t->cyc_threshold);
    }
    window_more(&q->trace, 0);
    if (q->dates && move_dates(q)) return -1;
    if (status >= 0) status = sync_queue(q, SYNC);
    q->begun = where(q)->sync != 0;
    q->is_off = 1;
    q->state = FLOWING;
    if (!q->by_cpu) set_thread(q, find_thread(t, q->queue->tid));
    if (status < 0 && status != IPT_END)
        give_up(q, status);
    else
        synced(q, status);
    return 0;
}

/* How much of a queue is decoded. */
static uint64_t part_size(const threads *t, uint32_t queue)
{
    const uint64_t size = t->queues.queues[queue].size;
    const window_span *const part = t->parts ? &t->parts[queue] : NULL;
    if (!part) return size;
    return (part->to < size ? part->to : size)
         - (part->from < size ? part->from : size);
}

static void queue_close(threads_queue_ *q)
{
    threads *const t = q->in;
    t->open -= q->done;
    q->done = 0;
    t->done += part_size(t, q->who.queue);
    if (t->windowed && q->shown && !q->trace.trace.open
        && window_end(&q->trace) >= q->queue->size)
        lose_end(t, q->queue);
    end_skip(q, window_end(&q->trace));
    scout_close(q);
    keep_dates(q);
    if (is_dated(q, UINT64_MAX)) tell_dates(q, UINT64_MAX, 0);
    free(q->dates);
    q->dates = NULL;
    free(q->plan);
    q->plan = NULL;
    window_close(&q->trace);
    q->state = ENDED;
}

/* When a queue that is held or flows goes on, as far as is known. */
static uint64_t time_of(const threads_queue_ *q)
{
    uint64_t time = q->state == HELD ? q->lo : q->who.tsc;
    if (q->state == FLOWING && q->not_before > time) time = q->not_before;
    if (q->state == HELD && q->by_cpu && q->run < q->run_end
        && q->in->runs[q->try_].tsc > time)
        time = q->in->runs[q->try_].tsc;
    return time;
}

/* In which order queues go on: a run that began earlier is done with first. */
static uint64_t turn_of(const threads_queue_ *q)
{
    if (!q->by_cpu || q->run == q->run_end) return time_of(q);
    return q->in->runs[q->state == HELD ? q->try_ : q->run].tsc;
}

static void step(threads_queue_ *q, uint64_t limit)
{
    if (q->veil_count) forget_code(q);
    if (q->state == HELD) {
        if (q->by_cpu && q->run < q->run_end && q->in->in_kernel)
            decide_in_kernel(q);
        else if (q->by_cpu && q->run < q->run_end)
            try_run(q);
        else
            decide_alone(q);
    }
    advance(q, limit);
}

/* Turns are a tree: the least of two are in the one above them, down to turns[1];
 * those of the queues come last. */
static void note_turn(threads *t, uint32_t i)
{
    const threads_queue_ *const q = &t->all[i];
    threads_turn_ *const all = t->turns;
    size_t at = t->leaf + i;
    all[at].time = q->state == ENDED ? NO_TIME : time_of(q);
    all[at].turn = q->state == ENDED ? NO_TIME : turn_of(q);
    for (at /= 2; at; at /= 2) {
        const threads_turn_ *const two = &all[2 * at];
        all[at].time = two[0].time < two[1].time ? two[0].time : two[1].time;
        all[at].turn = two[0].turn < two[1].turn ? two[0].turn : two[1].turn;
    }
}

/* The queue whose turn it is, the first one of several; SIZE_MAX if none can go on
 * before a time. There may be thousands. */
static size_t choose(const threads *t, uint64_t limit)
{
    size_t best = SIZE_MAX, at = 1;
    uint64_t turn = NO_TIME;
    while (at) {
        const threads_turn_ *const here = &t->turns[at];
        const int wanted = here->time < limit
                        && (best == SIZE_MAX || here->turn < turn);
        if (wanted && at < t->leaf) {
            at *= 2;
            continue;
        }
        if (wanted) {
            best = at - t->leaf;
            turn = here->turn;
        }
        while (at & 1) at /= 2; /* the next one that is not below this */
        at += at != 0;
    }
    return best;
}

/* Queues of threads that are empty are left out: there may be many, and none
 * of the memory that each has is used. */
static int is_wanted(threads *t, uint32_t number)
{
    const perfdata_queue *const queue = &t->queues.queues[number];
    const threads_thread_ *const thread = find_thread(t, queue->tid);
    const int wanted = queue->cpu != UINT32_MAX
                    || (queue->size && (!thread || !t->config.wanted
                                        || t->config.wanted(thread->pid,
                                                            thread->tid,
                                                            t->config.context)));
    if (!wanted && !t->windowed) t->done += queue->size;
    return wanted;
}

/* The end of each thread, or for those that share cpus that of all, is asked for. */
static int find_ends(threads *t)
{
    pids coded;
    memset(&coded, 0, sizeof coded);
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        const threads_queue_ *const q = &t->all[i];
        threads_thread_ *const thread = find_thread(t, q->queue ? q->queue->tid
                                                                : 0);
        uint64_t since;
        if (!q->in || (q->by_cpu && t->kernel)) continue;
        since = parts_end(t, i, q->near, t->config.ends);
        if (q->by_cpu && since > t->since) t->since = since;
        if (!q->by_cpu && thread) thread->since = since;
        if (!q->by_cpu && thread) thread->cut = since != 0;
    }
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].brings && pids_set(&coded, t->rows[i].pid, t)) return -1;
    for (size_t i = 0; i < t->run_count; i++) {
        threads_thread_ *const thread = find_thread(t, t->runs[i].tid);
        if (thread && t->runs[i].tsc < t->since
            && pids_find(&coded, thread->pid))
            thread->cut = 1;
    }
    pids_free(&coded);
    return 0;
}

/* Since when a queue is asked for. */
static uint64_t asked_since(const threads *t, const threads_queue_ *q)
{
    const threads_thread_ *const thread =
        q->by_cpu ? NULL : find_thread(t, q->queue->tid);
    return t->windowed || !thread ? t->since : thread->since;
}

uint64_t threads_since(const threads *t, uint32_t tid, int *cut)
{
    const threads_thread_ *const thread = find_thread(t, tid);
    *cut = 0;
    if (t->windowed) return 0;
    if (thread && thread->since) {
        *cut = thread->cut;
        return thread->since;
    }
    *cut = t->since && thread && thread->cut;
    return t->since;
}

/* What of the queues is decoded. Where it is not clear in a part whose flow it is,
 * what came before may say it. 0, or -1 without memory. */
static int find_parts(threads *t)
{
    const uint32_t count = t->queues.queue_count;
    int clear = 1;
    if (!t->windowed && (!t->config.ends || t->config.lead == UINT32_MAX))
        return 0;
    if (!t->windowed && find_ends(t)) return -1;
    t->parts = (window_span *) calloc((size_t) count + 1, sizeof *t->parts);
    if (!t->parts) return -1;
    for (uint32_t i = 0; i < count; i++) {
        const threads_queue_ *const q = &t->all[i];
        const int found = !q->in ? 1
            : parts_find(t, i, q->near, asked_since(t, q), q->run, q->run_end,
                         &t->parts[i]);
        if (found < 0) return -1;
        clear &= found;
    }
    t->size = 0;
    if (!clear && !t->windowed) t->since = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!clear && t->all[i].by_cpu) t->parts[i].from = 0;
        if (!t->all[i].in) continue;
        t->skips |= t->parts[i].from != 0;
        t->size += part_size(t, i);
    }
    return 0;
}

/* Where a slice begins, what is decoded of the queues; threads have done nothing so
 * far. 0, or -1 without memory. */
static int begin_slice(threads *t)
{
    const uint32_t count = t->queues.queue_count;
    t->parts = (window_span *) calloc((size_t) count + 1, sizeof *t->parts);
    if (!t->parts) return -1;
    for (uint32_t i = 0; i < count; i++)
        if (t->all[i].in
            && parts_slice(t, i, t->all[i].near, t->cuts[t->slice - 2],
                           &t->parts[i]))
            return -1;
    for (size_t i = 0; i < t->thread_count; i++) {
        threads_thread_ *const thread = &t->list[i];
        thread->known = thread->in_call = thread->seen = 0;
        thread->told = 0;
        lose_places(t, thread);
    }
    return 0;
}

/* All of a queue that what comes depends on. */
static uint64_t state_of_queue(const threads_queue_ *q)
{
    const ipt_where *const at = where(q);
    const uint64_t values[] = {
        q->state, at->offset, at->packet_offset, at->ip, at->tsc, at->asid.cr3,
        at->asid.vmcs, at->asid.nr, at->lost_mtc, at->lost_cyc, at->cbr,
        at->valid, at->mode, q->who.pid, q->who.tid, q->who.tsc, q->who.sure,
        q->who.guest, q->trail, q->blocks, q->floor, q->by_cpu ? q->run : 0,
        q->pulling, q->in_order, q->begun, q->flowed,
        q->flowed ? 0u : (unsigned) q->last_loss, q->doubtful,
        q->doubtful ? q->doubtful_at : 0, q->skip_from,
        q->in->config.process ? q->cr3 : 0, q->counted, q->late == at->sync + 1,
        q->is_off, q->last_end, q->last_kind, q->last_mode, q->not_before,
        q->veil_count,
        q->dates && q->dates->due < q->dated ? q->dates->due : 0
    };
    const uint64_t held[] = {
        q->hold_ip, q->hold_at, q->lo, q->hi, q->first, q->last, q->try_,
        q->best, (uint64_t) q->best_likely, q->has_begin, q->asked
    };
    uint64_t hash = 0;
    if (q->state == ENDED) return 1;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
        hash = mix(hash, values[i]);
    for (unsigned i = 0; q->state == HELD && i < sizeof held / sizeof held[0]; i++)
        hash = mix(hash, held[i]);
    return hash;
}

/* All have come to a cut: 1, and that is the end of the slice. */
static int reach_cut(threads *t, size_t cut)
{
    const int ends = cut + 1 == t->slice;
    uint64_t all = t->applied;
    if (!t->slice) return 0;
    for (size_t i = 0; i < t->thread_count; i++)
        if (t->list[i].told > t->cuts[cut]) all = mix(all ^ i, t->list[i].told);
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        t->all[i].shown = !ends;
        all = mix(all, t->all[i].in ? state_of_queue(&t->all[i]) : 0);
    }
    t->muted = (uint8_t) ends;
    t->least = ends ? 0 : t->cuts[cut];
    if (t->config.cut) t->config.cut(all, t->config.context);
    return ends;
}

/* Let queue `i` go on. If that made plans, the turns of all queues are noted
 * again: plans may move them. */
static void take_turn(threads *t, uint32_t i, uint64_t limit)
{
    const uint64_t plans = t->plans;
    step(&t->all[i], limit);
    note_done(&t->all[i]);
    if (t->all[i].state == ENDED) queue_close(&t->all[i]);
    note_turn(t, i);
    for (i = 0; plans != t->plans && i < t->queues.queue_count; i++)
        note_turn(t, i);
}

/* All queues together, in the order of time. */
static int run_timed(threads *t)
{
    unsigned steps = 0;
    size_t cut = t->slice > 1 ? t->slice - 2 : 0;
    t->muted = t->slice > 1;
    t->least = 0;
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        if (is_wanted(t, i)) queue_begin(t, &t->all[i], i);
    }
    if (t->slice > 1 ? begin_slice(t) : find_parts(t)) return -1;
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        if (t->all[i].in && queue_open(&t->all[i])) return -1;
        note_turn(t, i);
    }
    while (!t->stopped) {
        size_t next;
        uint64_t limit = NO_TIME;
        int cuts;
        while (t->row_next < t->row_count && t->rows[t->row_next].applied)
            t->row_next++;
        if (t->row_next < t->row_count) limit = t->rows[t->row_next].tsc;
        cuts = cut < t->cut_count && t->cuts[cut] < limit;
        if (cuts) limit = t->cuts[cut];
        next = choose(t, limit);
        if (next != SIZE_MAX) {
            take_turn(t, (uint32_t) next, limit);
            if (++steps % 64 == 0 && report(t)) break;
        } else if (cuts) {
            if (reach_cut(t, cut++)) break;
        } else if (limit != NO_TIME) {
            apply(t, &t->rows[t->row_next++]);
        } else {
            break;
        }
    }
    return 0;
}

/* One queue after the other; records are applied when they are needed. */
static int run_timeless(threads *t)
{
    for (uint32_t i = 0; i < t->queues.queue_count && !t->stopped; i++) {
        threads_queue_ *const q = &t->all[i];
        if (!is_wanted(t, i)) continue;
        queue_begin(t, q, i);
        if (queue_open(q)) return -1;
        while (q->state != ENDED && !t->stopped) {
            step(q, NO_TIME);
            report(t);
        }
        queue_close(q);
    }
    return 0;
}

int threads_off(const threads *t, uint64_t *run, uint64_t after,
                uint64_t *from, uint64_t *to)
{
    const threads_run_ *const runs = t->runs;
    const uint64_t before = *run;
    size_t next;
    *run = after;
    if (after > t->run_count || before >= t->run_count) return 0;
    *to = after ? runs[after - 1].in : NO_TIME;
    *from = *to;
    if (before == 0) return after && *to != 0;
    if (runs[before - 1].tid == 0 || runs[before - 1].cpu != runs[before].cpu)
        return 0;
    *from = runs[before].tsc;
    next = runs[before - 1].after;
    if (next != SIZE_MAX && runs[next].in < *to) {
        *run = next + 1;
        *to = runs[next].in;
    }
    return *to >= *from;
}

uint64_t threads_next(const threads *t, uint64_t run, uint32_t *tid,
                      uint64_t *from, uint64_t *to)
{
    const threads_run_ *const runs = t->runs;
    if (run == 0 || run >= t->run_count || runs[run].cpu != runs[run - 1].cpu)
        return 0;
    *tid = runs[run].tid;
    *from = runs[run].tsc;
    *to = run + 1 < t->run_count && runs[run + 1].cpu == runs[run].cpu
            ? runs[run + 1].tsc : NO_TIME;
    return run + 1;
}

int threads_woken(const threads *t, uint32_t tid, uint64_t from, uint64_t to,
                  uint32_t *by)
{
    size_t low = 0, high = t->wake_count;
    int found = 0;
    while (low < high) { /* the first one after `to` */
        const size_t middle = low + (high - low) / 2;
        const threads_wake_ *const w = &t->wakes[middle];
        if (w->tid < tid || (w->tid == tid && w->tsc <= to))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low > 0; low--) {
        const threads_wake_ *const w = &t->wakes[low - 1];
        if (w->tid != tid || w->tsc < from) break;
        if (found && !w->waking) continue;
        *by = w->by;
        if (w->waking) return 1;
        found = 1;
    }
    return found;
}

void threads_changed(threads *t, uint64_t ip, uint64_t size)
{
    ipt_cache_invalidate(&t->cache, NULL, ip, size);
}

int threads_run(threads *t)
{
    int status = -1;
    if (!t->cache_memory) {
        ipt_cache_line *const lines = tool_lines(LINES, &t->cache_memory);
        if (!lines || ipt_cache_init(&t->cache, lines, LINES) < 0) return -1;
    }
    t->aligner = align_new();
    t->all = (threads_queue_ *) calloc((size_t) t->queues.queue_count + 1,
                                       sizeof *t->all);
    for (t->leaf = 1; t->leaf < t->queues.queue_count;) t->leaf *= 2;
    t->turns = (threads_turn_ *) malloc(2 * t->leaf * sizeof *t->turns);
    for (size_t i = 0; t->turns && i < 2 * t->leaf; i++)
        t->turns[i].time = t->turns[i].turn = NO_TIME;
    if (t->all && t->turns && t->aligner)
        status = t->timed ? run_timed(t) : run_timeless(t);
    for (uint32_t i = 0; t->all && i < t->queues.queue_count; i++)
        if (t->all[i].trace.bytes) queue_close(&t->all[i]);
    free(t->all);
    free(t->turns);
    free(t->parts);
    align_free(t->aligner);
    t->all = NULL;
    t->turns = NULL;
    t->parts = NULL;
    return status < 0 || t->no_memory ? -1 : t->stopped;
}

static int compare_times(const void *a, const void *b)
{
    return sign(*(const uint64_t *) a, *(const uint64_t *) b);
}

int threads_cut(threads *t, uint64_t bytes)
{
    size_t count = 0, cuts = 0;
    uint32_t queues = 0;
    if (!t->timed || t->windowed || t->config.ends || t->queues.snapshot
        || t->filtered)
        return 0;
    for (uint32_t i = 0; i < t->queues.queue_count; i++) {
        const size_t before = count;
        if (parts_cuts(t, i, first_time(t, &t->queues.queues[i]), bytes,
                       &t->cuts, &count))
            return -1;
        queues += count > before;
    }
    if (count) qsort(t->cuts, count, sizeof *t->cuts, compare_times);
    for (size_t i = queues; i < count; i += queues)
        if (!cuts || t->cuts[i] > t->cuts[cuts - 1]) t->cuts[cuts++] = t->cuts[i];
    t->cut_count = cuts;
    return 0;
}

void threads_slice(threads *t, size_t slice)
{
    t->slice = slice;
}

void threads_apply(threads *t, size_t row)
{
    if (row < t->row_count && !t->rows[row].applied) apply(t, &t->rows[row]);
}

void threads_finish(threads *t)
{
    for (; t->row_next < t->row_count; t->row_next++)
        threads_apply(t, t->row_next);
}
