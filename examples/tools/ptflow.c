/* ptflow: what each thread of a perf.data with Intel PT executed.
 *
 *     ptflow [<options>] <file>
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include "common/pids.h"
#include "common/spaces.h"
#include "common/symbols.h"
#include "common/threads.h"
#include "common/tool.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#include "zydis_glue/ipt_zydis.h"
#define HAVE_ZYDIS
#endif
#endif

static const char help[] =
    "usage: %s [<options>] <file>\n"
    "\n"
    "Prints what each thread of a perf.data (a file, a folder that has one, or\n"
    "- for the standard input) with Intel PT executed: the lines of a thread\n"
    "are in order. What is lost, and why, is said at the end, to standard\n"
    "error.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  --insn                    print instructions; the default.\n"
    "  --block                   print blocks: straight runs of them.\n"
    "  --branch                  print branches: from, and to.\n"
    "  --call                    print calls and returns, indented.\n"
    "  --event                   print events: interrupts, switches, ...\n"
    "  --errors                  print what is lost where it is.\n"
    "  --fields <field>,...      what a line has, in this order: pid, tid, cpu,\n"
    "                            time, ip, to, size, count, kind, mode, comm,\n"
    "                            sym, symoff, dso, queue, offset, sure. sym is\n"
    "                            the function, ? if there is none; symoff the\n"
    "                            place in it, or in the file; sure is 0 if it\n"
    "                            may have been another thread.\n"
    "  --tid <n>,...             these threads only.\n"
    "  --pid <n>,...             these processes only.\n"
    "  --comm <name>             threads with this name only.\n"
    "  --cpu <n>,...             these cpus only.\n"
    "  --time <a>,<b>            from a to b, seconds as printed; either may\n"
    "                            be missing.\n"
    "  --func <name>             instructions of this function only.\n"
    "  --last <n>                the last n lines of each thread only.\n"
    "  -j <n>                    use n threads: one decodes, the others put\n"
    "                            lines into words.\n"
    "  --check                   compare each instruction with what Zydis says\n"
    "                            of it.\n"
    "  --never-mark              sure is always 1. For tests.\n"
    "  --threads                 print the threads, TID PID NAME, and end.\n"
    "  --quiet                   no progress, nothing about losses.\n"
    SPACES_HELP
    "\n"
    "With GNU parallel, on several machines that have the same files:\n"
    "\n"
    "  ptflow --threads perf.data | cut -d ' ' -f 1 |\n"
    "      parallel -k -S host1,host2 --wd . ptflow --tid {} perf.data\n";

enum { INSN = 1, BLOCK = 2, BRANCH = 4, CALL = 8, EVENT = 16, ERRORS = 32 };

typedef enum field {
    F_PID, F_TID, F_CPU, F_TIME, F_IP, F_TO, F_SIZE, F_COUNT, F_KIND, F_MODE,
    F_COMM, F_SYM, F_SYMOFF, F_DSO, F_QUEUE, F_OFFSET, F_SURE, FIELDS
} field;

static const char *const field_names[FIELDS] = {
    "pid",  "tid",  "cpu", "time", "ip",    "to",     "size", "count", "kind",
    "mode", "comm", "sym", "symoff", "dso", "queue", "offset", "sure"
};

/* Numbers of --tid, --pid or --cpu. */
typedef struct numbers {
    uint32_t *list;
    size_t count;
} numbers;

typedef struct options {
    const char *file;
    unsigned show; /* INSN, ... */
    uint8_t fields[64];
    unsigned field_count;
    numbers tids;
    numbers pids;
    numbers cpus;
    const char *comm;
    const char *func;
    uint64_t from; /* ns */
    uint64_t to;
    uint64_t last; /* 0: all */
    uint64_t threads; /* -j */
    uint8_t check;
    uint8_t never_mark;
    uint8_t list_threads;
    uint8_t symbols; /* names of functions or files are needed */
    uint8_t quiet;
} options;

/* A name that a thread had. */
typedef struct comm_name {
    struct comm_name *next;
    char text[16];
} comm_name;

/* A line to come, in numbers; what it points to stays to the end. */
typedef struct line {
    threads_who who;
    uint64_t ip;
    uint64_t to;
    uint64_t offset;
    uint64_t place;   /* of ip in the function, or in the file */
    const char *comm;
    const char *func; /* NULL: not known */
    const char *dso;  /* NULL: not known */
    uint32_t count;
    uint16_t depth;
    uint8_t size;
    uint8_t kind;
    uint8_t mode;
    uint8_t what; /* INSN, ... */
    uint8_t has_to;
} line;

/* What is kept of a thread. */
typedef struct task {
    uint32_t tid;
    uint32_t pid;
    const char *comm;
    char last_comm[16];  /* in the file */
    uint8_t wanted;      /* by --tid, --pid and --comm */
    uint8_t has_from;
    line from;           /* a branch whose target comes next */
    uint16_t depth;      /* of calls */
    line *ring;          /* --last */
    uint64_t put;        /* lines so far */
} task;

/* What is at an address. */
typedef struct found {
    uint64_t ip;
    uint64_t life; /* changes of code + 1 */
    uint64_t place;
    const char *func;
    const char *dso;
    uint32_t pid;
} found;

#define FOUND 16384u /* a power of two */

/* Text, and where it goes. */
typedef struct text {
    char *bytes;
    size_t used;
    size_t room;
    uint64_t tsc;      /* the last time that was printed, .. */
    char time[40];     /* ... and what it is */
    uint8_t is_stdout; /* it is written when it is full; else it grows */
    uint8_t failed;
} text;

/* Lines that are put into words by one thread. */
typedef struct batch {
    line lines[1024];
    unsigned count;
    enum { EMPTY, FULL, TAKEN, DONE } state;
    text text;
} batch;

typedef struct ptflow {
    const tool_args *args;
    options opt;
    perffile file;
    spaces spaces;
    spaces_view view;
    symbols symbols;
    threads threads;
    threads_config config;
    pids tasks;
    task **list;
    size_t task_count;
    size_t task_max;
    comm_name *names;
    found *found;       /* FOUND places that were looked up */
    uint64_t changes;   /* of code */
    uint64_t checked;
    uint64_t differ;
    text out;
    double shown;
    uint8_t is_screen;
    uint8_t failed;

    /* -j: batches are filled, taken and written in turn. */
    pthread_mutex_t lock; /* for states, `take` and `ended` */
    pthread_cond_t moved;
    pthread_t *workers;
    unsigned worker_count;
    batch *batches;
    unsigned batch_count;
    unsigned fill; /* the one that is being filled */
    unsigned take; /* the next that a worker takes */
    uint8_t ended;
} ptflow;

#define ROOM (1u << 16)

/* ---- output ---- */

static void out_of_memory(const ptflow *p)
{
    fprintf(stderr, "%s: out of memory.\n", p->args->program);
    exit(1);
}

static void flush(text *t)
{
    if (t->used && fwrite(t->bytes, 1, t->used, stdout) != t->used)
        t->failed = 1;
    t->used = 0;
}

#define FIELD 20000u /* bytes of a field, at most */

/* Room for a field. */
static void make_room(const ptflow *p, text *t)
{
    if (t->room - t->used >= FIELD) return;
    if (t->is_stdout && t->used) {
        flush(t);
        return;
    }
    if (!tool_grow(&t->bytes, 2 * t->room + ROOM, 1)) out_of_memory(p);
    t->room = 2 * t->room + ROOM;
}

static void put_char(text *t, char c)
{
    t->bytes[t->used++] = c;
}

/* Names may be hostile: control bytes are printed as \xNN. */
static void put_text(text *t, const char *s)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned n = 0; *s && n < 4096; s++, n++) {
        const uint8_t c = (uint8_t) *s;
        if (c >= ' ' && c != 127) {
            put_char(t, *s);
            continue;
        }
        put_char(t, '\\');
        put_char(t, 'x');
        put_char(t, digits[c >> 4]);
        put_char(t, digits[c & 15]);
    }
}

static void put_hex(text *t, uint64_t n)
{
    static const char digits[] = "0123456789abcdef";
    int shift = 60;
    while (shift && !(n >> shift)) shift -= 4;
    for (; shift >= 0; shift -= 4) put_char(t, digits[n >> shift & 15]);
}

static void put_number(text *t, uint64_t n)
{
    char digits[24];
    unsigned i = sizeof digits;
    do
        digits[--i] = (char) ('0' + n % 10);
    while (n /= 10);
    while (i < sizeof digits) put_char(t, digits[i++]);
}

static uint64_t to_ns(const ptflow *p, uint64_t tsc)
{
    const uint64_t *const pt = p->threads.pt;
    return perfdata_ns(pt[PERFDATA_PT_TIME_SHIFT], pt[PERFDATA_PT_TIME_MULT],
                       pt[PERFDATA_PT_TIME_ZERO], tsc);
}

/* ---- threads ---- */

static int is_one_of(const numbers *n, uint32_t number)
{
    if (n->count == 0) return 1;
    for (size_t i = 0; i < n->count; i++)
        if (n->list[i] == number) return 1;
    return 0;
}

static void choose_task(const ptflow *p, task *t)
{
    t->wanted = is_one_of(&p->opt.tids, t->tid)
             && is_one_of(&p->opt.pids, t->pid)
             && (!p->opt.comm || strcmp(t->comm, p->opt.comm) == 0);
}

static task *find_task(ptflow *p, uint32_t pid, uint32_t tid)
{
    task *t = (task *) pids_find(&p->tasks, tid);
    if (!t) {
        t = (task *) calloc(1, sizeof *t);
        if (t && p->opt.last)
            t->ring = (line *) calloc((size_t) p->opt.last, sizeof *t->ring);
        if (!t || (p->opt.last && !t->ring) || pids_set(&p->tasks, tid, t)
            || (p->task_count == p->task_max
                && !tool_grow(&p->list, 2 * p->task_max + 16,
                                  sizeof *p->list))) {
            out_of_memory(p);
        }
        if (p->task_count == p->task_max) p->task_max = 2 * p->task_max + 16;
        p->list[p->task_count++] = t;
        t->tid = tid;
        t->pid = pid;
        t->comm = "";
        choose_task(p, t);
    }
    return t;
}

static void set_comm(char comm[16], const char *name)
{
    size_t n = 0;
    while (n < 15 && name[n]) n++;
    memmove(comm, name, n);
    memset(comm + n, 0, 16 - n);
}

static void name_task(ptflow *p, uint32_t pid, uint32_t tid, const char *comm)
{
    task *const t = find_task(p, pid, tid);
    comm_name *kept;
    if (strncmp(t->comm, comm, 15) != 0) {
        kept = (comm_name *) malloc(sizeof *kept);
        if (!kept) out_of_memory(p);
        set_comm(kept->text, comm);
        kept->next = p->names;
        p->names = kept;
        t->comm = kept->text;
    }
    t->pid = pid;
    choose_task(p, t);
}

/* The name that a thread has in the end. */
static void note_comm(ptflow *p, const perfdata_record *r)
{
    const task *parent;
    if (r->type == PERFDATA_COMM) {
        set_comm(find_task(p, r->u.comm.pid, r->u.comm.tid)->last_comm,
                 r->u.comm.name);
    } else if (r->type == PERFDATA_FORK) {
        parent = (const task *) pids_find(&p->tasks, r->u.task.ptid);
        if (parent)
            set_comm(find_task(p, r->u.task.pid, r->u.task.tid)->last_comm,
                     parent->last_comm);
    }
}

/* Without time threads have their last names. */
static void use_last_comms(ptflow *p)
{
    for (size_t i = 0; i < p->task_count && !p->threads.timed; i++) {
        task *const t = p->list[i];
        name_task(p, t->pid, t->tid, t->last_comm);
    }
}

/* ---- what is at an address ---- */

static void look_up(ptflow *p, const line *l, found *f)
{
    static const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    const symbol *func = NULL;
    spaces_found at;
    f->ip = l->ip;
    f->pid = l->who.pid;
    f->life = p->changes + 1;
    f->func = f->dso = NULL;
    f->place = l->ip;
    p->view.pid = l->who.pid;
    if (!spaces_find(&p->view, &asid, l->ip, &at)) return;
    f->dso = at.name;
    f->place = at.offset;
    if (l->ip >> 63)
        func = symbols_at(&p->symbols, l->ip);
    if (func)
        f->place = l->ip - func->first;
    else if (at.file && (func = symbols_find(&p->symbols, at.file, at.offset)))
        f->place = at.offset - func->first;
    if (func) f->func = func->name;
}

static void name_line(ptflow *p, line *l)
{
    const uint64_t hash = (l->ip ^ (uint64_t) l->who.pid << 32)
                        * 0x9e3779b97f4a7c15u;
    found *const f = &p->found[hash >> 50 & (FOUND - 1)];
    if (f->ip != l->ip || f->pid != l->who.pid || f->life != p->changes + 1)
        look_up(p, l, f);
    l->func = f->func;
    l->dso = f->dso;
    l->place = f->place;
}

/* ---- lines ---- */

static void put_place(text *t, const line *l)
{
    put_text(t, l->func ? l->func : l->dso ? l->dso : "?");
    if (!l->func && !l->dso) return;
    put_char(t, '+');
    put_char(t, '0');
    put_char(t, 'x');
    put_hex(t, l->place);
}

static void put_time(const ptflow *p, text *t, uint64_t tsc)
{
    uint64_t ns;
    unsigned i = 9;
    char digits[10];
    if (!tsc) {
        put_char(t, '-');
    } else if (tsc == t->tsc) {
        put_text(t, t->time);
    } else {
        const size_t begin = t->used;
        ns = to_ns(p, tsc);
        put_number(t, ns / 1000000000);
        put_char(t, '.');
        digits[9] = 0;
        for (ns %= 1000000000; i; ns /= 10) digits[--i] = (char) ('0' + ns % 10);
        put_text(t, digits);
        t->tsc = tsc;
        memcpy(t->time, t->bytes + begin, t->used - begin);
        t->time[t->used - begin] = 0;
    }
}

static const char *mode_name(uint8_t mode)
{
    static const char *const names[IPT_MODE_COUNT] = {"-", "16", "32", "64"};
    return mode < IPT_MODE_COUNT ? names[mode] : "-";
}

static const char *kind_name(const line *l)
{
    if (l->what == EVENT) return ipt_evt_name(l->kind);
    if (l->what == ERRORS) return threads_text((threads_loss) l->kind);
    return ipt_insn_name(l->kind);
}

static void put_field(const ptflow *p, text *t, const line *l, uint8_t what)
{
    switch (what) {
    case F_PID: put_number(t, l->who.pid); break;
    case F_TID: put_number(t, l->who.tid); break;
    case F_CPU:
        if (l->who.cpu == UINT32_MAX)
            put_char(t, '-');
        else
            put_number(t, l->who.cpu);
        break;
    case F_TIME: put_time(p, t, l->who.tsc); break;
    case F_IP:
        for (unsigned i = 0; l->what == CALL && i < l->depth && i < 64; i++)
            put_text(t, "  ");
        put_hex(t, l->ip);
        break;
    case F_TO:
        if (l->has_to)
            put_hex(t, l->to);
        else
            put_char(t, '-');
        break;
    case F_SIZE: put_number(t, l->size); break;
    case F_COUNT: put_number(t, l->count); break;
    case F_KIND: put_text(t, kind_name(l)); break;
    case F_MODE: put_text(t, mode_name(l->mode)); break;
    case F_COMM: put_text(t, *l->comm ? l->comm : "-"); break;
    case F_SYM: put_text(t, l->func ? l->func : "?"); break;
    case F_SYMOFF: put_place(t, l); break;
    case F_DSO: put_text(t, l->dso ? l->dso : "?"); break;
    case F_QUEUE: put_number(t, l->who.queue); break;
    case F_OFFSET: put_hex(t, l->offset); break;
    default: put_char(t, (char) ('0' + l->who.sure)); break;
    }
}

static void put_words(const ptflow *p, text *t, const line *l)
{
    for (unsigned i = 0; i < p->opt.field_count; i++) {
        make_room(p, t);
        if (i) put_char(t, ' ');
        put_field(p, t, l, p->opt.fields[i]);
    }
    put_char(t, '\n');
}

/* ---- -j: lines in batches ---- */

static void *work(void *context)
{
    ptflow *const p = (ptflow *) context;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        batch *const b = &p->batches[p->take];
        if (b->state == FULL) {
            b->state = TAKEN;
            p->take = (p->take + 1) % p->batch_count;
            pthread_mutex_unlock(&p->lock);
            for (unsigned i = 0; i < b->count; i++)
                put_words(p, &b->text, &b->lines[i]);
            pthread_mutex_lock(&p->lock);
            b->state = DONE;
            pthread_cond_broadcast(&p->moved);
        } else if (p->ended) {
            break;
        } else {
            pthread_cond_wait(&p->moved, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Write what a batch has, as soon as it is put into words; then it is empty. */
static void write_batch(ptflow *p, batch *b)
{
    pthread_mutex_lock(&p->lock);
    while (b->state == FULL || b->state == TAKEN)
        pthread_cond_wait(&p->moved, &p->lock);
    b->state = EMPTY;
    pthread_mutex_unlock(&p->lock);
    flush(&b->text);
    p->failed |= b->text.failed;
    b->count = 0;
}

/* The batch is full, or was the last one. */
static void end_batch(ptflow *p)
{
    pthread_mutex_lock(&p->lock);
    p->batches[p->fill].state = FULL;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    p->fill = (p->fill + 1) % p->batch_count;
    write_batch(p, &p->batches[p->fill]);
}

static void start_workers(ptflow *p)
{
    const unsigned want = (unsigned) p->opt.threads - 1;
    if (want == 0) return;
    p->batch_count = 2 * want + 2;
    p->batches = (batch *) calloc(p->batch_count, sizeof *p->batches);
    p->workers = (pthread_t *) calloc(want, sizeof *p->workers);
    if (!p->batches || !p->workers) out_of_memory(p);
    while (p->worker_count < want
           && pthread_create(&p->workers[p->worker_count], NULL, work, p) == 0)
        p->worker_count++;
}

static void end_workers(ptflow *p)
{
    for (unsigned i = 0; p->worker_count && i < p->batch_count; i++)
        end_batch(p);
    pthread_mutex_lock(&p->lock);
    p->ended = 1;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    while (p->worker_count)
        pthread_join(p->workers[--p->worker_count], NULL);
    for (unsigned i = 0; i < p->batch_count; i++)
        free(p->batches[i].text.bytes);
    free(p->batches);
    free(p->workers);
}

static void print_line(ptflow *p, const line *l)
{
    batch *b;
    if (!p->worker_count) {
        put_words(p, &p->out, l);
        return;
    }
    b = &p->batches[p->fill];
    b->lines[b->count++] = *l;
    if (b->count == sizeof b->lines / sizeof b->lines[0]) end_batch(p);
}

/* ---- which lines ---- */

/* Is a place in the part that is asked for? */
static int is_wanted(ptflow *p, const task *t, const line *l)
{
    const options *const o = &p->opt;
    uint64_t ns;
    if (!t->wanted || !is_one_of(&o->cpus, l->who.cpu)) return 0;
    if (o->func && (!l->func || strcmp(l->func, o->func) != 0)) return 0;
    if (o->from == 0 && o->to == UINT64_MAX) return 1;
    ns = to_ns(p, l->who.tsc);
    return l->who.tsc && ns >= o->from && ns <= o->to;
}

static void put_line(ptflow *p, task *t, line *l)
{
    if (p->opt.symbols) name_line(p, l);
    if (!is_wanted(p, t, l)) return;
    l->comm = t->comm;
    if (p->opt.last)
        t->ring[t->put++ % p->opt.last] = *l;
    else
        print_line(p, l);
}

/* ---- what threads.h finds ---- */

static int read_trace_code(uint8_t *buffer, size_t size, uint32_t pid,
                           const ipt_asid *asid, uint64_t ip, void *context)
{
    ptflow *const p = (ptflow *) context;
    p->view.pid = pid;
    return spaces_read(buffer, size, asid, ip, &p->view);
}

static void changed(ptflow *p, const spaces_change *change)
{
    p->changes++;
    threads_changed(&p->threads, change->ip, change->size);
}

static void apply_record(const perfdata_record *r, void *context)
{
    ptflow *const p = (ptflow *) context;
    spaces_change change;
    if (spaces_apply(&p->spaces, r, &change)) changed(p, &change);
    while (p->threads.timed && spaces_next(&p->spaces) <= r->sample.time
           && spaces_advance(&p->spaces, r->sample.time, &change))
        changed(p, &change);
    if (!p->threads.timed) return;
    if (r->type == PERFDATA_COMM) {
        name_task(p, r->u.comm.pid, r->u.comm.tid, r->u.comm.name);
    } else if (r->type == PERFDATA_FORK) {
        const task *const parent = (task *) pids_find(&p->tasks,
                                                      r->u.task.ptid);
        if (parent) name_task(p, r->u.task.pid, r->u.task.tid, parent->comm);
    }
}

#ifdef HAVE_ZYDIS
static void check(ptflow *p, const threads_who *who, const ipt_block *b)
{
    static const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    uint8_t bytes[15];
    size_t size = sizeof bytes;
    ipt_code code;
    int n = 0;
    p->view.pid = who->pid;
    while (size && (n = spaces_read(bytes, size, &asid, b->ip, &p->view)) <= 0)
        size--;
    p->checked++;
    memset(&code, 0, sizeof code);
    if (n > 0
        && ipt_zydis_classify(&code, bytes, (size_t) n, b->mode, NULL) >= 0
        && code.size == b->last_size && code.kind == b->kind)
        return;
    if (p->differ++ < 10)
        fprintf(stderr, "%s: %" PRIx64 ": Zydis says otherwise.\n",
                p->args->program, b->ip);
}
#endif

/* The branch before has led here. */
static void end_branch(ptflow *p, task *t, uint64_t to)
{
    if (!t->has_from) return;
    t->has_from = 0;
    t->from.to = to;
    t->from.has_to = 1;
    put_line(p, t, &t->from);
}

static void show_calls(task *t, line *l)
{
    const int call = l->kind == IPT_INSN_CALL
                  || l->kind == IPT_INSN_CALL_INDIRECT;
    if (call || l->kind == IPT_INSN_RET) {
        l->what = CALL;
        if (!call && t->depth) t->depth--;
        l->depth = t->depth;
        if (call && t->depth < UINT16_MAX) t->depth++;
        t->from = *l;
        t->has_from = 1;
    }
}

static void on_flow(const threads_who *who, const ipt_block *b, void *context)
{
    ptflow *const p = (ptflow *) context;
    const unsigned show = p->opt.show;
    task *const t = find_task(p, who->pid, who->tid);
    line l;
    memset(&l, 0, sizeof l);
    l.who = *who;
    l.ip = b->ip;
    l.offset = b->offset;
    l.count = b->count;
    l.size = b->last_size;
    l.kind = b->kind;
    l.mode = b->mode;
#ifdef HAVE_ZYDIS
    if (p->opt.check) check(p, who, b);
#endif
    if (show & (BRANCH | CALL)) end_branch(p, t, b->ip);
    l.what = show & INSN ? INSN : BLOCK;
    if (show & (INSN | BLOCK)) put_line(p, t, &l);
    l.ip = b->end_ip;
    l.count = 1;
    if (show & CALL) {
        show_calls(t, &l);
    } else if (show & BRANCH && b->kind != IPT_INSN_OTHER) {
        l.what = BRANCH;
        t->from = l;
        t->has_from = 1;
    }
}

static void on_event(const threads_who *who, const ipt_event *e, void *context)
{
    ptflow *const p = (ptflow *) context;
    task *const t = find_task(p, who->pid, who->tid);
    line l;
    if (e->flags & IPT_EVENT_STATUS || !(p->opt.show & EVENT)) return;
    memset(&l, 0, sizeof l);
    l.who = *who;
    l.what = EVENT;
    l.kind = e->type;
    l.offset = e->offset;
    l.ip = e->flags & IPT_EVENT_NO_IP ? 0 : e->ip;
    if (e->type == IPT_EVT_ASYNC_BRANCH || e->type == IPT_EVT_DISABLED
        || e->type == IPT_EVT_ASYNC_DISABLED) {
        l.has_to = !(e->flags & IPT_EVENT_NO_TO);
        l.to = e->u.branch.to;
    }
    put_line(p, t, &l);
}

static void on_lost(const threads_who *who, threads_loss loss, int status,
                    const ipt_where *at, void *context)
{
    ptflow *const p = (ptflow *) context;
    task *const t = find_task(p, who->pid, who->tid);
    line l;
    (void) status;
    t->has_from = 0;
    t->depth = 0;
    if (!(p->opt.show & ERRORS)) return;
    memset(&l, 0, sizeof l);
    l.who = *who;
    l.what = ERRORS;
    l.kind = (uint8_t) loss;
    l.offset = at->offset;
    l.ip = at->valid & IPT_AT_IP ? at->ip : 0;
    put_line(p, t, &l);
}

static int want_thread(uint32_t pid, uint32_t tid, void *context)
{
    const ptflow *const p = (const ptflow *) context;
    return is_one_of(&p->opt.tids, tid) && is_one_of(&p->opt.pids, pid);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static int on_progress(uint64_t done, uint64_t size, void *context)
{
    ptflow *const p = (ptflow *) context;
    const double now = p->is_screen ? seconds() : 0;
    if (p->failed || p->out.failed) return 1;
    if (!p->is_screen || now - p->shown < 0.2) return 0;
    p->shown = now;
    fprintf(stderr, "\r%s: %3.0f %%, %" PRIu64 " instructions",
            p->args->program,
            size ? 100.0 * (double) done / (double) size : 100.0,
            p->threads.instructions);
    return 0;
}

/* ---- the command line ---- */

static int complain(const tool_args *args, const char *option,
                    const char *value)
{
    fprintf(stderr, "%s: %s: bad argument: ", args->program, option);
    tool_print(stderr, value);
    fprintf(stderr, ".\n");
    return 1;
}

static int parse_numbers(const tool_args *args, const char *option,
                         const char *value, numbers *n)
{
    const char *s = value;
    uint64_t number;
    do {
        if (!tool_scan(&s, &number) || number > UINT32_MAX
            || (*s && *s != ','))
            return complain(args, option, value);
        if (!tool_grow(&n->list, n->count + 1, sizeof *n->list)) {
            fprintf(stderr, "%s: out of memory.\n", args->program);
            return 1;
        }
        n->list[n->count++] = (uint32_t) number;
    } while (*s++ == ',');
    return -1;
}

static int parse_fields(const tool_args *args, const char *value, options *o)
{
    const char *s = value;
    o->field_count = 0;
    for (;;) {
        const size_t n = strcspn(s, ",");
        uint8_t f = 0;
        while (f < FIELDS && (strlen(field_names[f]) != n
                              || strncmp(field_names[f], s, n) != 0))
            f++;
        if (f == FIELDS || o->field_count == sizeof o->fields)
            return complain(args, "--fields", value);
        o->fields[o->field_count++] = f;
        if (!s[n]) return -1;
        s += n + 1;
    }
}

/* SECONDS[.FRACTION] at *s, to ns; 0 if there is none. */
static int parse_seconds(const char **s, uint64_t *ns)
{
    uint64_t unit = 1000000000;
    uint64_t n = 0;
    const char *const begin = *s;
    for (; **s >= '0' && **s <= '9'; ++*s) {
        if (n > UINT64_MAX / unit / 20) return 0;
        n = 10 * n + (uint64_t) (**s - '0');
    }
    *ns = n * unit;
    if (**s == '.')
        for (++*s; **s >= '0' && **s <= '9' && unit; ++*s)
            *ns += (uint64_t) (**s - '0') * (unit /= 10);
    return *s != begin;
}

static int parse_time(const tool_args *args, const char *value, options *o)
{
    const char *s = value;
    int ok = *s == ',' || parse_seconds(&s, &o->from);
    ok = ok && *s++ == ',' && (!*s || parse_seconds(&s, &o->to)) && !*s;
    return ok ? -1 : complain(args, "--time", value);
}

/* Options with an argument; 0: not one of them. */
static int parse_argument(tool_args *args, options *o, const char *word)
{
    static const char *const names[] = {"--fields", "--tid",  "--pid", "--cpu",
                                        "--time",   "--comm", "--func"};
    const unsigned count = sizeof names / sizeof names[0];
    const char *value;
    unsigned i = 0;
    if (strcmp(word, "--last") == 0)
        return tool_number(args, word, 24, &o->last) ? 1 : -1;
    if (strcmp(word, "-j") == 0)
        return tool_number(args, word, 8, &o->threads) ? 1 : -1;
    while (i < count && strcmp(word, names[i]) != 0) i++;
    if (i == count) return 0;
    value = tool_argument(args, word);
    if (!value) return 1;
    switch (i) {
    case 0: return parse_fields(args, value, o);
    case 1: return parse_numbers(args, word, value, &o->tids);
    case 2: return parse_numbers(args, word, value, &o->pids);
    case 3: return parse_numbers(args, word, value, &o->cpus);
    case 4: return parse_time(args, value, o);
    case 5: o->comm = value; return -1;
    default: o->func = value; return -1;
    }
}

static int parse_option(tool_args *args, ptflow *p, const char *word)
{
    static const char *const shows[] = {"--insn", "--block", "--branch",
                                        "--call", "--event", "--errors"};
    const struct {
        const char *name;
        uint8_t *value;
    } flags[] = {{"--check", &p->opt.check},
                 {"--never-mark", &p->opt.never_mark},
                 {"--threads", &p->opt.list_threads},
                 {"--quiet", &p->opt.quiet}};
    int status;
    for (unsigned i = 0; i < sizeof shows / sizeof shows[0]; i++)
        if (strcmp(word, shows[i]) == 0) {
            p->opt.show |= 1u << i;
            return -1;
        }
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].value = 1;
            return -1;
        }
    status = parse_argument(args, &p->opt, word);
    if (status == 0) status = spaces_option(args, &p->spaces, word);
    if (status == 0) {
        fprintf(stderr, "%s: unknown option: %s.\n", args->program, word);
        return 1;
    }
    return status;
}

static int parse(tool_args *args, ptflow *p)
{
    int status = -1;
    while (status < 0 && *args->next) {
        const char *const word = *args->next++;
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return tool_help(args, help);
        if (strcmp(word, "--version") == 0) return tool_version(args);
        if (word[0] == '-' && word[1]) {
            status = parse_option(args, p, word);
        } else if (p->opt.file) {
            fprintf(stderr, "%s: more than one file.\n", args->program);
            return 1;
        } else {
            p->opt.file = word;
        }
    }
    if (status >= 0) return status;
    if (!p->opt.file) {
        fprintf(stderr, "%s: no file.\n", args->program);
        return 1;
    }
    return -1;
}

static int check_options(const tool_args *args, options *o)
{
    if (!(o->show & ~(unsigned) (EVENT | ERRORS))
        && (!o->show || o->check))
        o->show |= INSN;
    if (o->show & INSN && o->show & BLOCK) {
        fprintf(stderr, "%s: --insn and --block: one of them.\n",
                args->program);
        return 1;
    }
    if (o->show & CALL && o->show & BRANCH) {
        fprintf(stderr, "%s: --branch and --call: one of them.\n",
                args->program);
        return 1;
    }
#ifndef HAVE_ZYDIS
    if (o->check) {
        fprintf(stderr, "%s: --check: made without Zydis (package "
                "libzydis-dev).\n", args->program);
        return 1;
    }
#endif
    if (!o->field_count) {
        const char *fields = "comm,tid,cpu,time,ip,symoff";
        if (o->show & (BRANCH | CALL)) fields = "comm,tid,cpu,time,ip,to,kind";
        if (o->show & BLOCK) fields = "comm,tid,cpu,time,ip,count,symoff";
        if (o->show & (EVENT | ERRORS)) fields = "comm,tid,cpu,time,ip,kind";
        parse_fields(args, fields, o);
    }
    if (o->threads == 0) {
        fprintf(stderr, "%s: -j: at least 1.\n", args->program);
        return 1;
    }
    o->symbols = o->func != NULL;
    for (unsigned i = 0; i < o->field_count; i++)
        o->symbols |= o->fields[i] == F_SYM || o->fields[i] == F_SYMOFF
                   || o->fields[i] == F_DSO;
    return -1;
}

/* ---- the whole ---- */

static int read_records(const tool_args *args, ptflow *p)
{
    perfdata_record r;
    int status;
    while ((status = perffile_next(&p->file, &r)) != PERFDATA_END) {
        if (status < 0) {
            perffile_complain(args, &p->file, status, r.offset);
            if (status == PERFDATA_ERR_FIELDS || status == PERFDATA_ERR_STRING)
                continue;
            break;
        }
        spaces_index(&p->spaces, &r);
        note_comm(p, &r);
        if (threads_add(&p->threads, &r)) {
            fprintf(stderr, "%s: out of memory.\n", args->program);
            return 1;
        }
    }
    if (status == PERFDATA_ERR_CUT || status == PERFDATA_END) return 0;
    return 1;
}

static void print_loss(const ptflow *p, const char *what, uint64_t count)
{
    if (count)
        fprintf(stderr, "%s: lost: %-36s %" PRIu64 "\n", p->args->program,
                what, count);
}

static void print_losses(const ptflow *p)
{
    const spaces_losses *const s = &p->spaces.losses;
    fprintf(stderr, "%s%s: %" PRIu64 " instructions, %" PRIu32 " queues\n",
            p->is_screen ? "\r" : "", p->args->program,
            p->threads.instructions, p->threads.queues.queue_count);
    for (unsigned i = 0; i < THREADS_LOSSES; i++)
        print_loss(p, threads_text((threads_loss) i), p->threads.losses[i]);
    print_loss(p, "mappings without a file", s->no_file);
    print_loss(p, "mappings of another version", s->other_build);
    print_loss(p, "jitdump files damaged", s->jit_damaged);
    print_loss(p, "jitdump files of another clock", s->jit_unsure);
    print_loss(p, "kernel code not in the copy", s->kernel_gone);
    if (p->opt.check)
        fprintf(stderr, "%s: %" PRIu64 " instructions checked, %" PRIu64
                " differ\n", p->args->program, p->checked, p->differ);
}

static void print_lasts(ptflow *p)
{
    for (size_t i = 0; i < p->task_count; i++) {
        task *const t = p->list[i];
        uint64_t n = t->put > p->opt.last ? t->put - p->opt.last : 0;
        for (; n < t->put; n++) print_line(p, &t->ring[n % p->opt.last]);
    }
}

static void configure(ptflow *p)
{
    threads_config *const c = &p->config;
    c->code = read_trace_code;
    c->apply = apply_record;
    if (p->opt.show & ~(unsigned) (EVENT | ERRORS) || p->opt.check)
        c->flow = on_flow;
    c->event = on_event;
    c->lost = on_lost;
    c->progress = on_progress;
    c->wanted = want_thread;
    c->context = p;
    c->file = &p->file;
    c->insn = (p->opt.show & INSN) != 0;
    c->never_mark = p->opt.never_mark;
    if (p->opt.show & CALL) c->flags |= IPT_CONFIG_END_ON_CALL;
    if (p->opt.show & BRANCH || p->opt.func)
        c->flags |= IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
}

static int print_threads(const ptflow *p)
{
    const threads *const t = &p->threads;
    for (size_t i = 0; i < t->thread_count; i++) {
        const task *const named =
            (const task *) pids_find(&p->tasks, t->list[i].tid);
        printf("%" PRIu32 " %" PRIu32 " ", t->list[i].tid, t->list[i].pid);
        if (named) tool_print(stdout, named->last_comm);
        putchar('\n');
    }
    return 0;
}

static void start_symbols(ptflow *p)
{
    char *const path = spaces_kallsyms(&p->spaces);
    p->found = (found *) calloc(FOUND, sizeof *p->found);
    if (!p->found) out_of_memory(p);
    if (path) symbols_kernel(&p->symbols, path);
    free(path);
}

static int run(const tool_args *args, ptflow *p)
{
    int status = perffile_open(args, p->opt.file, &p->file);
    if (status) return status;
    configure(p);
    threads_init(&p->threads, &p->config);
    spaces_open(&p->spaces, p->file.data, p->file.folder);
    status = read_records(args, p);
    if (status == 0) status = spaces_start(&p->spaces);
    if (status == 0 && threads_start(&p->threads)) {
        fprintf(stderr, "%s: out of memory.\n", args->program);
        status = 1;
    }
    use_last_comms(p);
    if (status == 0 && p->opt.symbols) start_symbols(p);
    if (status == 0 && p->opt.list_threads) {
        status = print_threads(p);
    } else if (status == 0) {
        start_workers(p);
        status = threads_run(&p->threads) < 0;
        if (status) fprintf(stderr, "%s: out of memory.\n", args->program);
        if (p->opt.last) print_lasts(p);
        end_workers(p);
        flush(&p->out);
        if (!p->opt.quiet) print_losses(p);
        if (p->differ) status = 1;
    }
    threads_free(&p->threads);
    perffile_close(&p->file);
    return status;
}

int main(int argc, char **argv)
{
    static ptflow p;
    tool_args args;
    int status;
    args.program = argc > 0 ? argv[0] : "ptflow";
    args.next = argc > 0 ? argv + 1 : argv;
    p.args = &args;
    p.out.is_stdout = 1;
    p.opt.to = UINT64_MAX;
    p.opt.threads = 1;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.moved, NULL);
    symbols_init(&p.symbols);
    spaces_init(&p.spaces, &args);
    p.view.all = &p.spaces;
    status = parse(&args, &p);
    if (status < 0) status = check_options(&args, &p.opt);
    p.is_screen = (uint8_t) (isatty(2) && !p.opt.quiet);
    if (status < 0) status = run(&args, &p);
    for (size_t i = 0; i < p.task_count; i++) {
        free(p.list[i]->ring);
        free(p.list[i]);
    }
    free(p.list);
    pids_free(&p.tasks);
    free(p.opt.tids.list);
    free(p.opt.pids.list);
    free(p.opt.cpus.list);
    while (p.names) {
        comm_name *const next = p.names->next;
        free(p.names);
        p.names = next;
    }
    free(p.found);
    free(p.out.bytes);
    symbols_free(&p.symbols);
    spaces_free(&p.spaces);
    return tool_end(&args, status);
}
