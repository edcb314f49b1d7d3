/* selftest.c: see selftest.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "selftest.h"

#if defined __linux__ && defined __x86_64__

#include "../flow/session.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL    500u /* instructions that a snapshot has, at least */
#define LATE    4u   /* ... that may follow where trace is to stop */
#define THREADS (2 * SPECIMEN_RUNS)

/* What was found of a thread. */
typedef struct found {
    uint32_t tid;
    specimen_list ips;
    specimen_list
        at; /* the offset of each in the trace, and the queue: PLACE */
} found;

#define PLACE(queue, offset) ((uint64_t) (queue) << 48 | (offset))

/* A queue of trace, as it is in the file. */
typedef struct stream {
    uint8_t *bytes;
    uint64_t size;
} stream;

typedef struct check {
    const selftest_row *row;
    const specimen_run *want;
    const specimen_report *report;
    selftest_result *result;
    session session;
    specimen_places places;
    found list[THREADS];
    size_t count;
    stream *streams;
    size_t stream_count;
    uint64_t calls[2][2]; /* of the system calls that read the clock: the TSC
                             before and after it */
    unsigned call_count;
    int in_call;
    char loss[128]; /* the first one; "": none */
    uint64_t loss_at;
    int failed; /* result->why says it */
} check;

/* The first thing that is wrong counts. */
__attribute__((format(printf, 2, 3))) static void wrong(check *c,
                                                        const char *format, ...)
{
    va_list args;

    if (c->failed)
        return;
    c->failed = 1;
    va_start(args, format);
    vsnprintf(c->result->why, sizeof(c->result->why), format, args);
    va_end(args);
}

/* ... and the bytes of trace around it. */
static void add_bytes(check *c, uint64_t place)
{
    const uint64_t queue = place >> 48;
    const uint64_t offset = place & 0xffffffffffffu;
    char *to = c->result->why;
    size_t n = strlen(to);
    uint64_t i = offset > 12 ? offset - 12 : 0;

    if (queue >= c->stream_count)
        return;
    n +=
        (size_t) snprintf(to + n, sizeof(c->result->why) - n,
                          "; trace %" PRIu64 " from %" PRIx64 " on:", queue, i);
    for (; i < offset + 12 && i < c->streams[queue].size; i++)
        if (n + 5 < sizeof(c->result->why))
            n += (size_t) snprintf(to + n, sizeof(c->result->why) - n,
                                   i == offset ? " [%02x]" : " %02x",
                                   c->streams[queue].bytes[i]);
}

static void wrong_at(check *c, uint64_t place, const char *what)
{
    if (c->failed)
        return;
    wrong(c, "%s", what);
    add_bytes(c, place);
}

/* ---- what the decoder says ---- */

static found *find(check *c, uint32_t tid)
{
    size_t i;

    for (i = 0; i < c->count; i++)
        if (c->list[i].tid == tid)
            return &c->list[i];
    if (c->count == THREADS) {
        wrong(c, "flow of more than %u threads", THREADS);
        return NULL;
    }
    c->list[c->count].tid = tid;
    return &c->list[c->count++];
}

static void on_flow(session *s, session_task *task, const threads_who *who,
                    const ipt_block *b)
{
    check *const c = (check *) s->context;
    found *const f = find(c, task->tid);

    if (!f)
        return;
    if (specimen_add(&f->ips, b->ip) ||
        specimen_add(&f->at, PLACE(who->queue, b->offset)))
        wrong(c, "out of memory");
    c->in_call = b->ip == c->places.clock;
}

static void on_event(session *s, session_task *task, const threads_who *who,
                     const ipt_event *e)
{
    check *const c = (check *) s->context;

    (void) task;
    if (e->flags & IPT_EVENT_STATUS || !c->in_call || c->call_count == 2)
        return;
    if (e->type == IPT_EVT_DISABLED) {
        c->calls[c->call_count][0] = who->tsc;
    } else if (e->type == IPT_EVT_ENABLED) {
        c->calls[c->call_count++][1] = who->tsc;
        c->in_call = 0;
    }
}

static void on_lost(session *s, session_task *task, const threads_who *who,
                    threads_loss loss, const ipt_where *at)
{
    check *const c = (check *) s->context;

    (void) task;
    if (c->loss[0] || loss == THREADS_UNSURE || loss == THREADS_SIDEBAND ||
        (loss == THREADS_SNAPSHOT && c->row->check == SELFTEST_SNAPSHOT))
        return;
    snprintf(c->loss, sizeof(c->loss), "lost: %s", threads_text(loss));
    c->loss_at = PLACE(who->queue, at->offset);
}

/* ---- flow ---- */

static int is_inside(const check *c, uint64_t ip)
{
    return ip >= c->row->first && ip <= c->row->last;
}

/* What is demanded of a thread: its list; for a filter the part of it. */
static int demand(check *c, const specimen_list *all, specimen_list *to)
{
    const int filter = c->row->check == SELFTEST_FILTER;
    size_t i;

    memset(to, 0, sizeof(*to));
    for (i = 0; i < all->count; i++)
        if ((!filter || is_inside(c, all->ips[i])) &&
            specimen_add(to, all->ips[i])) {
            wrong(c, "out of memory");
            return -1;
        }
    return 0;
}

static size_t same(const specimen_list *a, const specimen_list *b)
{
    size_t n = 0;

    while (n < a->count && n < b->count && a->ips[n] == b->ips[n])
        n++;
    return n;
}

/* The list and what was found differ at these places. */
static void differ(check *c, size_t thread, const specimen_list *want, size_t i,
                   const found *f, size_t k)
{
    char wanted[32] = "the end";
    char got[32] = "the end";
    uint64_t place = 0;

    if (c->failed)
        return;
    if (i < want->count)
        snprintf(wanted, sizeof(wanted), "%" PRIx64, want->ips[i]);
    if (k < f->ips.count)
        snprintf(got, sizeof(got), "%" PRIx64, f->ips.ips[k]);
    if (f->at.count)
        place = f->at.ips[k < f->at.count ? k : f->at.count - 1];
    wrong(c, "thread %zu, instruction %zu: %s instead of %s%s%s", thread, i,
          got, wanted, c->loss[0] ? "; " : "", c->loss);
    add_bytes(c, place);
}

static void check_thread(check *c, size_t thread, const specimen_list *want,
                         const found *f)
{
    const specimen_list *got = &f->ips;
    size_t n;
    size_t end;

    switch (c->row->check) {
    case SELFTEST_SNAPSHOT:
        for (n = 0; n < got->count && n < want->count; n++)
            if (got->ips[got->count - 1 - n] != want->ips[want->count - 1 - n])
                break;
        if (n < got->count)
            differ(c, thread, want, want->count - 1 - n, f, got->count - 1 - n);
        else if (n < TAIL)
            wrong(c, "a snapshot of %zu instructions", n);
        break;
    case SELFTEST_STOP:
        for (end = 0; end < want->count && !is_inside(c, want->ips[end]);)
            end++;
        n = same(want, got);
        if (n < got->count || n < end)
            differ(c, thread, want, n, f, n);
        else if (n > end + LATE) {
            wrong(c, "it goes on for %zu instructions", n - end);
            add_bytes(c, f->at.ips[end]);
        }
        break;
    default:
        n = same(want, got);
        if (n < want->count || n < got->count)
            differ(c, thread, want, n, f, n);
        break;
    }
}

/* Calls, as the program counted them. */
static void check_calls(check *c, size_t thread, const found *f)
{
    static const char *const names[] = {"add",  "take", "call", "jump",
                                        "leaf", "deep", "say"};
    size_t k;
    size_t i;

    for (k = 0; k < SPECIMEN_COUNTED; k++) {
        uint64_t n = 0;
        for (i = 0; i < f->ips.count; i++)
            n += f->ips.ips[i] == c->places.function[k];
        if (n != c->report->calls[thread][k])
            wrong(c, "thread %zu: %" PRIu64 " calls of %s, it counted %" PRIu64,
                  thread, n, names[k], c->report->calls[thread][k]);
    }
}

/* Which thread of the program it is: the one that has most in common. */
static size_t which(const check *c, const specimen_list *lists, const found *f)
{
    size_t best = 0;
    size_t i;

    for (i = 1; !c->row->one_thread && i < c->want->count; i++)
        if (same(&lists[i], &f->ips) > same(&lists[best], &f->ips))
            best = i;
    return best;
}

static void check_flow(check *c)
{
    const size_t count = c->row->one_thread ? 1 : c->want->count;
    const int is_whole = c->row->check != SELFTEST_SNAPSHOT &&
                         c->row->check != SELFTEST_FILTER &&
                         c->row->check != SELFTEST_STOP;
    specimen_list lists[SPECIMEN_RUNS];
    const found *of[SPECIMEN_RUNS] = {NULL};
    size_t i;

    memset(lists, 0, sizeof(lists));
    for (i = 0; i < count && !c->failed; i++)
        demand(c, &c->want->list[i], &lists[i]);
    for (i = 0; i < c->count && !c->failed; i++) {
        const size_t k = which(c, lists, &c->list[i]);
        if (of[k]) {
            differ(c, k, &lists[k], same(&lists[k], &c->list[i].ips),
                   &c->list[i], same(&lists[k], &c->list[i].ips));
            break;
        }
        of[k] = &c->list[i];
        check_thread(c, k, &lists[k], of[k]);
        if (is_whole)
            check_calls(c, k, of[k]);
        c->result->instructions += of[k]->ips.count;
    }
    for (i = 0; i < count; i++)
        if (!of[i])
            wrong(c, "nothing of thread %zu", i);
    for (i = 0; i < count; i++)
        free(lists[i].ips);
}

/* ---- time ---- */

static uint64_t ticks_of_mtc(const check *c, uint64_t n)
{
    const ipt_config *d = &c->session.threads.decoder;

    return d->cpuid_15_eax ? ((uint64_t) d->cpuid_15_ebx << n) / d->cpuid_15_eax
                           : 0;
}

/* The clock was read between two times of the trace. */
static void check_time(check *c)
{
    const uint64_t *a = c->calls[0];
    const uint64_t *b = c->calls[1];
    const ipt_config *d = &c->session.threads.decoder;
    int64_t clock;
    int64_t least;
    int64_t most;
    int64_t room;

    if (c->call_count < 2 || !a[0] || !a[1] || !b[0] || !b[1]) {
        wrong(c, "the trace does not say when the clock was read");
        return;
    }
    clock = (int64_t) (c->report->clock[1][0] - c->report->clock[0][0]) *
                1000000000 +
            (int64_t) (c->report->clock[1][1] - c->report->clock[0][1]);
    least = (int64_t) (session_ns(&c->session, b[0]) -
                       session_ns(&c->session, a[1]));
    most = (int64_t) (session_ns(&c->session, b[1]) -
                      session_ns(&c->session, a[0]));
    room = 100 + most / 1000 +
           2 * (int64_t) (session_ns(&c->session,
                                     a[0] + ticks_of_mtc(c, d->mtc_freq)) -
                          session_ns(&c->session, a[0]));
    if (clock < least - room || clock > most + room)
        wrong(c,
              "the clock says %" PRId64 " ns, the trace %" PRId64
              " to %" PRId64,
              clock, least, most);
}

/* ---- packets ---- */

/* A queue of trace, packet by packet. */
typedef struct walk {
    check *c;
    uint64_t queue;
    ipt_packet p;
    uint64_t psb;  /* offset of the last PSB; UINT64_MAX: there was none */
    uint64_t from; /* ... of the one before */
    uint8_t in_psb;
    uint8_t has_fup; /* this PSB is where tracing was on */

    uint64_t tsc; /* of the PSB before, 0: none; and of this one */
    uint64_t next_tsc;
    uint64_t steps; /* periods of MTC since then */
    uint8_t ctc;
    uint8_t has_ctc;

    uint64_t cycles; /* since an MTC, without a pause; */
    uint8_t steady;
    uint64_t span_cycles; /* ... of all such times, and their number */
    uint64_t span_count;
    uint8_t ratio;

    uint64_t done; /* what was counted */
    uint64_t few;
    uint64_t tips;
    uint8_t want_fup;
} walk;

static void bad(walk *w, const char *what)
{
    wrong_at(w->c, PLACE(w->queue, w->p.offset), what);
}

static void psb_is_over(walk *w)
{
    const uint64_t period = (uint64_t) 2048 << w->c->row->number;
    const uint64_t distance = w->psb - w->from;

    if (w->from == UINT64_MAX)
        return;
    if (distance > 2 * period + 512)
        bad(w, "it is far from the PSB before this one");
    else if (w->has_fup && distance < period / 2)
        bad(w, "the PSB before this one is too near");
    w->done++;
}

static void see_psb(walk *w)
{
    if (w->p.type == IPT_PKT_PSB) {
        w->from = w->psb;
        w->psb = w->p.offset;
        w->in_psb = 1;
        w->has_fup = 0;
    } else if (w->in_psb && w->p.type == IPT_PKT_FUP) {
        w->has_fup = 1;
    } else if (w->p.type == IPT_PKT_PSBEND) {
        w->in_psb = 0;
        psb_is_over(w);
    }
}

/* Periods between two TSCs: those of PSBs while tracing was on. */
static void see_mtc(walk *w)
{
    const uint64_t period = ticks_of_mtc(w->c, w->c->row->number);

    if (w->p.type == IPT_PKT_MTC) {
        if (w->has_ctc)
            w->steps += (uint8_t) (w->p.u.mtc.ctc - w->ctc);
        w->ctc = w->p.u.mtc.ctc;
        w->has_ctc = 1;
    } else if (w->p.type == IPT_PKT_PSB) {
        w->in_psb = 1;
        w->has_fup = 0;
        w->next_tsc = 0;
    } else if (w->in_psb && w->p.type == IPT_PKT_FUP) {
        w->has_fup = 1;
    } else if (w->in_psb && w->p.type == IPT_PKT_TSC) {
        w->next_tsc = w->p.u.tsc.value;
    } else if (w->p.type == IPT_PKT_PSBEND) {
        const uint64_t most = (w->steps + 3) * period;
        const uint64_t least = w->steps > 3 ? (w->steps - 3) * period : 0;
        w->in_psb = 0;
        if (w->has_fup && w->tsc && w->next_tsc) {
            w->done++;
            if (w->next_tsc - w->tsc > most || w->next_tsc - w->tsc < least)
                bad(w, "MTCs and TSCs since the PSB before do not fit");
        }
        w->tsc = w->next_tsc;
        w->steps = 0;
    }
}

static void see_cyc(walk *w)
{
    if (w->p.type != IPT_PKT_CYC)
        return;
    w->done++;
    w->few += w->p.u.cyc.value < ((uint64_t) 1 << w->c->row->number >> 1);
}

/* Cycles from an MTC to the next, in code that is traced. */
static void see_ratio(walk *w)
{
    switch (w->p.type) {
    case IPT_PKT_CBR:
        if (w->ratio && w->ratio != w->p.u.cbr.ratio)
            w->steady = 0;
        w->ratio = w->p.u.cbr.ratio;
        break;
    case IPT_PKT_CYC: w->cycles += w->p.u.cyc.value; break;
    case IPT_PKT_MTC:
        if (w->steady && (uint8_t) (w->p.u.mtc.ctc - w->ctc) == 1) {
            w->span_cycles += w->cycles;
            w->span_count++;
        }
        w->ctc = w->p.u.mtc.ctc;
        w->cycles = 0;
        w->steady = 1;
        break;
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_PSB:
    case IPT_PKT_OVF: w->steady = 0; break;
    default: break;
    }
}

static void ratio_is_known(walk *w)
{
    check *c = w->c;
    const uint64_t ticks = ticks_of_mtc(c, c->session.threads.decoder.mtc_freq);
    const uint64_t nominal = c->session.threads.decoder.nom_freq;
    const uint64_t all = w->span_count * ticks;
    const uint64_t measured = all ? w->span_cycles * nominal / all : 0;

    if (w->span_count >= 8 && nominal &&
        (4 * (uint64_t) w->ratio > 5 * measured + 8 ||
         5 * (uint64_t) w->ratio + 8 < 4 * measured))
        wrong(c, "CBR says %u, in %" PRIu64 " periods of MTC it was %" PRIu64,
              w->ratio, w->span_count, measured);
    w->done += w->span_count;
}

/* Is that the IP, as far as the packet has it? */
static int is_ip(const ipt_packet *p, uint64_t ip)
{
    const unsigned bits = p->u.ip.ipc == 1 ? 16 : p->u.ip.ipc == 2 ? 32 : 48;
    const uint64_t mask = ((uint64_t) 1 << bits) - 1;

    return p->u.ip.ipc != 0 && (p->u.ip.payload & mask) == (ip & mask);
}

static void see_ptwrite(walk *w)
{
    const int fups = w->c->row->check == SELFTEST_FUP;

    if (w->want_fup && w->p.type != IPT_PKT_CYC) {
        w->want_fup = 0;
        if (w->p.type != IPT_PKT_FUP || !is_ip(&w->p, w->c->places.ptwrite))
            bad(w, "not a FUP with the address of a PTWRITE");
    }
    if (w->p.type != IPT_PKT_PTW)
        return;
    if (w->p.u.ptw.payload != SPECIMEN_PTW + ++w->done)
        bad(w, "a PTW with another operand");
    if (w->p.u.ptw.has_ip != fups)
        bad(w, fups ? "a PTW without a FUP" : "a PTW with a FUP");
    w->want_fup = w->p.u.ptw.has_ip;
}

static void see_kernel(walk *w)
{
    if (w->p.type != IPT_PKT_TIP_PGE)
        return;
    if (w->done++ == 0 /* later ones may leave out bits */
        && (w->p.u.ip.ipc < 3 || !(w->p.u.ip.payload >> 47 & 1)))
        bad(w, "not an address of the kernel");
}

static void see(walk *w)
{
    switch (w->c->row->check) {
    case SELFTEST_PSB: see_psb(w); break;
    case SELFTEST_MTC: see_mtc(w); break;
    case SELFTEST_CYC: see_cyc(w); break;
    case SELFTEST_RATIO: see_ratio(w); break;
    case SELFTEST_PTWRITE:
    case SELFTEST_FUP: see_ptwrite(w); break;
    case SELFTEST_KERNEL: see_kernel(w); break;
    default: w->done += w->p.type == IPT_PKT_TIP; break;
    }
}

static uint64_t walk_queue(check *c, size_t queue)
{
    const ipt_segment segment = {c->streams[queue].bytes,
                                 (size_t) c->streams[queue].size};
    ipt_config config;
    ipt_trace trace;
    ipt_pkt_decoder d;
    walk w;
    int status;

    memset(&config, 0, sizeof(config));
    memset(&trace, 0, sizeof(trace));
    memset(&w, 0, sizeof(w));
    trace.seg = &segment;
    trace.count = 1;
    w.c = c;
    w.queue = queue;
    w.psb = w.from = UINT64_MAX;
    status = ipt_pkt_init(&d, &config, &trace);
    if (status == IPT_OK)
        status = ipt_pkt_sync_forward(&d);
    while (status == IPT_OK && (status = ipt_pkt_next(&d, &w.p)) == IPT_OK)
        see(&w);
    if (status != IPT_END)
        bad(&w, ipt_status_name(status));
    if (c->row->check == SELFTEST_RATIO)
        ratio_is_known(&w);
    if (c->row->check == SELFTEST_PSB && w.psb != UINT64_MAX &&
        c->streams[queue].size - w.psb >
            2 * ((uint64_t) 2048 << c->row->number) + 512)
        bad(&w, "a PSB is missing before the end");
    if (c->row->check == SELFTEST_CYC && 20 * w.few > w.done)
        wrong(c, "%" PRIu64 " of %" PRIu64 " CYCs are below the threshold",
              w.few, w.done);
    return w.done;
}

/* How many returns, or system calls, a thread executed. */
static uint64_t count(const specimen_list *list, uint8_t kind)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < list->count; i++) {
        size_t left;
        const uint8_t *bytes = specimen_code(list->ips[i], &left);
        ipt_code code;
        n += bytes &&
             ipt_classify(&code, bytes, left, IPT_MODE_64, NULL) >= 0 &&
             code.kind == kind;
    }
    return n;
}

static void check_packets(check *c)
{
    const specimen_list *first = &c->want->list[0];
    uint64_t done = 0;
    uint64_t least = 1;
    size_t i;

    for (i = 0; i < c->stream_count && !c->failed; i++)
        done += walk_queue(c, i);
    switch (c->row->check) {
    case SELFTEST_RETURNS: least = count(first, IPT_INSN_RET); break;
    case SELFTEST_KERNEL: least = count(first, IPT_INSN_SYSCALL); break;
    case SELFTEST_PTWRITE:
    case SELFTEST_FUP: least = c->report->calls[0][SPECIMEN_SAY]; break;
    case SELFTEST_PSB: /* there may be no second one */
    case SELFTEST_RATIO: least = 0; break;
    case SELFTEST_MTC:
    case SELFTEST_CYC: break;
    default: return;
    }
    if (done < least)
        wrong(c, "%" PRIu64 " packets of at least %" PRIu64, done, least);
}

/* ---- the whole ---- */

static void load(check *c)
{
    const perfdata_queues *q = &c->session.threads.queues;
    uint32_t i, k;

    c->streams = (stream *) calloc(q->queue_count + 1u, sizeof(*c->streams));
    for (i = 0; c->streams && i < q->queue_count; i++) {
        const perfdata_queue *of = &q->queues[i];
        stream *to = &c->streams[c->stream_count++];
        to->bytes = (uint8_t *) malloc((size_t) of->size + 1);
        for (k = 0; to->bytes && k < of->count; k++) {
            const perfdata_piece *piece = &q->pieces[of->first + k];
            if (perffile_read(&c->session.file, piece->data,
                              to->bytes + to->size, (size_t) piece->size))
                wrong(c, "the file cannot be read");
            to->size += piece->size;
        }
        if (!to->bytes)
            wrong(c, "out of memory");
        c->result->bytes += to->size;
    }
    if (!c->streams)
        wrong(c, "out of memory");
    if (!c->failed && !c->result->bytes)
        wrong(c, "there is no trace");
}

static void run(check *c, const char *file)
{
    char *none[] = {NULL};
    const tool_args args = {"ptcapture", none, NULL, 1};
    session_config config;

    memset(&config, 0, sizeof(config));
    config.flow = on_flow;
    config.event = on_event;
    config.lost = on_lost;
    config.insn = 1;
    session_init(&c->session, &args, &config, c);
    c->session.quiet = 1;
    if (session_open(&c->session, file))
        wrong(c, "the file cannot be read");
    else
        load(c);
    if (!c->failed)
        check_packets(c);
    if (!c->failed && c->row->check != SELFTEST_KERNEL) {
        if (session_run(&c->session))
            wrong(c, "it cannot be decoded");
        check_flow(c);
        if (c->loss[0])
            wrong_at(c, c->loss_at, c->loss);
    }
    if (c->row->check == SELFTEST_TIME && !c->failed)
        check_time(c);
    session_free(&c->session);
}

void selftest_check(const selftest_row *row, const char *file,
                    const specimen_run *want, const specimen_report *report,
                    selftest_result *result)
{
    check *c = (check *) calloc(1, sizeof(*c));
    size_t i;

    memset(result, 0, sizeof(*result));
    if (!c) {
        snprintf(result->why, sizeof(result->why), "out of memory");
        return;
    }
    c->row = row;
    c->want = want;
    c->report = report;
    c->result = result;
    specimen_places_get(&c->places);
    run(c, file);
    result->passed = !c->failed;
    for (i = 0; i < c->stream_count; i++)
        free(c->streams[i].bytes);
    free(c->streams);
    for (i = 0; i < c->count; i++) {
        free(c->list[i].ips.ips);
        free(c->list[i].at.ips);
    }
    free(c);
}

#else

typedef int selftest_unused; /* C wants something in a file */

#endif
