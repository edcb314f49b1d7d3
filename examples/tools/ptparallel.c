/* ptparallel: decode one Intel PT trace in many threads, or on many machines.
 *
 *     ptparallel [<options>] --raw code.bin:0x1000 --pt trace.pt
 *
 * The trace is cut at PSBs. Each part is decoded from its PSB on, by a decoder
 * that knows nothing of what was before, and beyond its end: up to where it is
 * in step with one that begins at the PSB of the next part. There the two are
 * joined. ipt.h says, under IN PARALLEL, what in step means; a part whose
 * decoder comes to no such place goes on through the next part, and what was
 * decoded of that one is not used. So what comes out is what one decoder gives
 * that reads the whole trace, whatever the trace holds.
 *
 * After an error flow is taken up at the next PSB.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "ipt.h"
#include "common/code/code.h"
#include "common/code/image.h"
#include "common/code/options.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: %s [<options>]\n"
    "\n"
    "options:\n"
    "  --help|-h                         this text.\n"
    "  --version                         the version of this tool.\n"
    "  --pt <file>[:<from>[-<to>]]       the trace; - is the standard input.\n"
    "  --elf <file>[:<base>]             code: an ELF file.\n"
    "  --raw <file>[:<from>[-<to>]]:<base>\n"
    "                                    code: a flat file.\n"
    "  --map <folder>                    code: what <folder>/image.map\n"
    "                                    lists.\n"
    "  --cpu none|f/m[/s]                the cpu that was traced, for its\n"
    "                                    errata.\n"
    "  --no-retcomp                      it was traced without return\n"
    "                                    compression.\n"
    "  -j|--threads <n>                  threads; default: processors.\n"
    "  --part <n>                        bytes of trace in a part.\n"
    "  --insn                            print instructions and events.\n"
    "  --check                           decode in one piece as well and show\n"
    "                                    the first difference.\n"
    "  --stat                            print times and parts to standard\n"
    "                                    error.\n"
    "  --index                           print the offsets of PSBs, and end.\n"
    "  --segments <a>:<b>|<a>:+<n>       decode from PSB number <a> up to\n"
    "                                    number <b>, from 0, and print the\n"
    "                                    places where it can be joined.\n"
    "  --join                            join what --segments printed, from\n"
    "                                    standard input, in order.\n"
    "  --strict                          status 1 if anything is lost.\n"
    "\n"
    "Instructions are printed as ip, mode and flags (IPT_FLOW_, hex); where\n"
    "the trace names, cr3, vmcs and VMX non-root operation follow. The last\n"
    "line is \"total\" instructions, events, errors and a hash of them all.\n"
    "Time is not printed: it depends on packets before a part.\n"
    "\n"
    "Example: ptparallel --elf program --pt trace.pt --insn\n"
    "\n"
    "With GNU parallel, on several machines that have the same files:\n"
    "\n"
    "  n=$(ptparallel --pt trace.pt --index | wc -l)\n"
    "  seq 0 100 $((n - 1)) | parallel -k -S host1,host2 --wd . \\\n"
    "      ptparallel --map code --pt trace.pt --insn --segments {}:+100 |\n"
    "      ptparallel --join\n";

/* ---- what was decoded, in numbers ---- */

/* The hash of items x1 x2 ... xn is x1 * F^(n-1) + ... + xn, so hashes of parts
 * can be put together and taken apart. */
#define FACTOR 0x9e3779b97f4a7c15u

typedef struct tally {
    uint64_t insns;
    uint64_t events;
    uint64_t errors;
    uint64_t hash;
} tally;

static uint64_t items(const tally *t)
{
    return t->insns + t->events + t->errors;
}

static uint64_t power(uint64_t n)
{
    uint64_t result = 1;
    uint64_t factor = FACTOR;
    for (; n; n >>= 1, factor *= factor)
        if (n & 1) result *= factor;
    return result;
}

/* Add to total what came between two states of a tally. */
static void tally_join(tally *total, const tally *from, const tally *to)
{
    const uint64_t scale = power(items(to) - items(from));
    total->hash = total->hash * scale + to->hash - from->hash * scale;
    total->insns += to->insns - from->insns;
    total->events += to->events - from->events;
    total->errors += to->errors - from->errors;
}

static int tally_same(const tally *a, const tally *b)
{
    return a->insns == b->insns && a->events == b->events
        && a->errors == b->errors && a->hash == b->hash;
}

/* ---- text that is kept until its turn comes ---- */

typedef struct text {
    char *data;
    size_t size;
    size_t room;
} text;

static void *need(void *p)
{
    if (p) return p;
    fprintf(stderr, "ptparallel: out of memory.\n");
    exit(1);
}

static void text_add(text *t, const char *line)
{
    const size_t n = strlen(line);
    if (t->room - t->size < n) {
        t->room = 2 * t->room + n + 4096;
        t->data = need(realloc(t->data, t->room));
    }
    memcpy(t->data + t->size, line, n);
    t->size += n;
}

/* ---- one decoder's way through the trace ---- */

/* A place where two decoders can be found to be in step: after the first
 * instruction that takes trace after an event with IPT_EVENT_SEAM. */
typedef struct mark {
    uint64_t offset; // of that event
    uint64_t ip;     // of the instruction
    ipt_asid asid;
    uint8_t mode;
    uint8_t speculative;
    tally so_far;
    size_t text; // likewise
} mark;

static int in_step(const mark *a, const mark *b)
{
    return a->offset == b->offset && a->ip == b->ip && a->mode == b->mode
        && a->speculative == b->speculative && a->asid.cr3 == b->asid.cr3
        && a->asid.vmcs == b->asid.vmcs && a->asid.nr == b->asid.nr;
}

/* What threads do not share. */
typedef struct worker {
    image code; // a copy: it remembers where it looked last
    ipt_config config;
    ipt_cache cache;
    void *lines; // of the cache
} worker;

typedef struct flow {
    ipt_insn_decoder decoder;
    ipt_asid asid;       // of the next instruction
    uint64_t asid_hash;
    uint64_t last;       // offset of the last PSB+ that flow passed
    uint64_t seam;       // offset of the event, if armed
    uint8_t armed;
    uint8_t print;       // keep text
    tally done;
    text out;
    mark *marks;
    size_t count;
    size_t room;
} flow;

static void flow_free(flow *f)
{
    free(f->marks);
    free(f->out.data);
}

static void mark_here(flow *f, const ipt_insn *insn)
{
    mark *m;
    if (f->count == f->room) {
        f->room = 2 * f->room + 16;
        f->marks = need(realloc(f->marks, f->room * sizeof *f->marks));
    }
    m = &f->marks[f->count++];
    m->offset = f->seam;
    m->ip = insn->ip;
    m->asid = f->asid;
    m->mode = insn->mode;
    m->speculative = (insn->flags & IPT_FLOW_SPECULATIVE) != 0;
    m->so_far = f->done;
    m->text = f->out.size;
    f->armed = 0;
}

static void look_at_asid(flow *f)
{
    const ipt_asid *asid = &f->decoder.at.asid;
    f->asid = *asid;
    f->asid_hash = ((asid->cr3 * FACTOR ^ asid->vmcs) + asid->nr) * FACTOR;
}

/* An event or an error, in words. */
static void add_line(flow *f, const char *line)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const char *p = line; *p; p++)
        hash = (hash ^ (uint8_t) *p) * 0x100000001b3u;
    f->done.hash = f->done.hash * FACTOR + hash;
    if (f->print) text_add(&f->out, line);
}

static void add_event(flow *f, const ipt_event *e)
{
    // flags that are about time, or that say how this decoder began
    const uint8_t flags = e->flags
                        & (uint8_t) ~(IPT_EVENT_TSC | IPT_EVENT_SEAM);
    const uint64_t ip = flags & IPT_EVENT_NO_IP ? 0 : e->ip;
    char words[IPT_WORDS_MAX];
    char line[IPT_WORDS_MAX + 32];
    if (e->flags & IPT_EVENT_STATUS) {
        if (e->type == IPT_EVT_ENABLED || e->type == IPT_EVT_DISABLED) {
            f->last = e->offset;
            f->seam = e->offset;
            f->armed = (e->flags & IPT_EVENT_SEAM) != 0;
        }
        return;
    }
    (void) ipt_event_words(e, words, sizeof words);
    snprintf(line, sizeof line, "[%02x %016" PRIx64 " %s]\n", flags, ip, words);
    f->done.events++;
    add_line(f, line);
}

static void print_insn(flow *f, const ipt_insn *insn)
{
    static const char modes[][3] = {"??", "16", "32", "64"};
    const ipt_asid *asid = &f->asid;
    char line[120];
    int n = snprintf(line, sizeof line, "%016" PRIx64 " %s %03x", insn->ip,
                     modes[insn->mode], insn->flags);
    if (asid->cr3 != IPT_ASID_UNKNOWN || asid->vmcs != IPT_ASID_UNKNOWN)
        n += snprintf(line + n, sizeof line - (size_t) n,
                      " %" PRIx64 " %" PRIx64 " %u", asid->cr3, asid->vmcs,
                      asid->nr);
    snprintf(line + n, sizeof line - (size_t) n, "\n");
    text_add(&f->out, line);
}

static void add_insn(flow *f, const ipt_insn *insn)
{
    const uint64_t rest = (uint64_t) insn->flags << 24
                        | (uint64_t) insn->kind << 16
                        | (uint64_t) insn->size << 8 | insn->mode;
    f->done.insns++;
    f->done.hash = f->done.hash * FACTOR
                 + (insn->ip ^ rest << 20 ^ f->asid_hash) * 0xff51afd7ed558ccdu;
    if (f->print) print_insn(f, insn);
}

/* Pull all events that are pending. */
static void pull(flow *f)
{
    ipt_event event;
    int status;
    do {
        status = ipt_insn_event(&f->decoder, &event);
        if (status >= 0) add_event(f, &event);
    } while (status >= 0 && status & IPT_EVENT_PENDING);
    look_at_asid(f);
}

/* A synchronisation ended with status. */
static int synced(flow *f, int status)
{
    if (status < 0) return status;
    f->last = f->decoder.at.sync;
    f->armed = 0;
    if (status & IPT_EVENT_PENDING) pull(f);
    look_at_asid(f);
    return status;
}

static void error(flow *f, int status)
{
    const ipt_where *at = &f->decoder.at;
    char line[80];
    snprintf(line, sizeof line, "[%s %016" PRIx64 "]\n",
             ipt_status_name(status), at->valid & IPT_AT_IP ? at->ip : 0);
    f->done.errors++;
    add_line(f, line);
}

/* Go on at the next PSB that flow has not passed. */
static int recover(flow *f, int status)
{
    const uint64_t sync = f->decoder.at.sync;
    error(f, status);
    return synced(f, sync > f->last ? ipt_insn_sync_set(&f->decoder, sync)
                                    : ipt_insn_sync_forward(&f->decoder));
}

static int flow_begin(flow *f, const worker *w, const ipt_trace *trace,
                      uint64_t psb, int print)
{
    int status = ipt_insn_init(&f->decoder, &w->config, trace,
                               (ipt_cache *) &w->cache);
    f->print = (uint8_t) print;
    f->count = f->out.size = 0;
    memset(&f->done, 0, sizeof f->done);
    if (status < 0) return status;
    return synced(f, ipt_insn_sync_set(&f->decoder, psb));
}

static int takes_trace(uint8_t kind)
{
    return kind == IPT_INSN_JCC || kind == IPT_INSN_RET
        || kind == IPT_INSN_JMP_INDIRECT || kind == IPT_INSN_CALL_INDIRECT;
}

/* Decode up to after the next mark, which it returns; NULL: the trace ends. */
static const mark *flow_run(flow *f)
{
    const size_t marks = f->count;
    ipt_insn insn;
    int status;
    while (f->count == marks) {
        status = ipt_insn_next(&f->decoder, &insn);
        if (status >= 0) {
            add_insn(f, &insn);
            if (f->armed && takes_trace(insn.kind)) mark_here(f, &insn);
        }
        if (status >= 0 ? status & IPT_EVENT_PENDING
                        : status == IPT_EVENT_FIRST)
            pull(f);
        else if (status < 0
                 && (status == IPT_END || recover(f, status) < 0))
            return NULL;
    }
    return &f->marks[f->count - 1];
}

/* ---- parts ---- */

enum { PART_WAITS, PART_DONE, PART_LEFT };

typedef struct part {
    uint64_t psb;
    flow *flow;
    size_t next;      // the part that goes on where this one ends
    uint8_t ends;     // with the trace
    uint8_t state;    // PART_: nobody is done with it, decoded, left half way
    uint8_t unwanted; // another one goes through it
} part;

typedef struct options {
    uint64_t threads;
    uint64_t part;
    const char *segments;
    uint8_t insn;
    uint8_t check;
    uint8_t stat;
    uint8_t index;
    uint8_t join;
    uint8_t no_retcomp;
    uint8_t strict;
    tool_cpu cpu;
} options;

typedef struct parallel {
    options opt;
    image code;
    tool_file file;
    ipt_segment piece;
    ipt_trace trace;
    uint64_t *psbs; // all of them, for --index and --segments
    size_t psb_count;
    part *parts; // one more than part_count if the range has a part after it
    size_t part_count;
    size_t start_count;
    pthread_mutex_t lock; // for all below
    pthread_cond_t moved;
    size_t taken;  // parts
    size_t joined; // up to this part
} parallel;

#define CACHE_LINES 32768

static void worker_begin(worker *w, const parallel *p)
{
    const options *o = &p->opt;
    memset(w, 0, sizeof *w);
    w->code = p->code;
    w->config.read = image_read;
    w->config.context = &w->code;
    if (o->no_retcomp) w->config.flags |= IPT_CONFIG_NO_RETCOMP;
    if (o->cpu.known)
        ipt_cpu_errata(&w->config.errata, o->cpu.family, o->cpu.model);
    ipt_cache_init(&w->cache, need(tool_lines(CACHE_LINES, &w->lines)),
                   CACHE_LINES);
}

static int is_unwanted(parallel *p, size_t k)
{
    int unwanted;
    pthread_mutex_lock(&p->lock);
    unwanted = p->parts[k].unwanted;
    pthread_mutex_unlock(&p->lock);
    return unwanted;
}

/* A part was passed without coming in step with it. If it should be needed
 * after all, it will be decoded again. */
static void pass(parallel *p, size_t k)
{
    pthread_mutex_lock(&p->lock);
    p->parts[k].unwanted = 1;
    pthread_mutex_unlock(&p->lock);
}

/* Have a decoder from the PSB of part `next` come up to a mark of another one:
 * are they in step there? */
static int meets(const worker *w, parallel *p, flow *probe, size_t next,
                 size_t *begun, const mark *m)
{
    const mark *other = NULL;
    if (*begun != next) {
        *begun = next;
        if (flow_begin(probe, w, &p->trace, p->parts[next].psb, 0) < 0)
            return 0;
    }
    if (probe->count) other = &probe->marks[probe->count - 1];
    while (!other || other->offset < m->offset) {
        other = flow_run(probe);
        if (!other) return 0;
    }
    return in_step(other, m);
}

/* Decode a part. Returns 0 if it turned out to be of no use. */
static int decode_part(const worker *w, parallel *p, size_t k, int needed)
{
    part *self = &p->parts[k];
    flow *f = self->flow = need(calloc(1, sizeof *f));
    flow probe;
    size_t next = k + 1;
    size_t begun = k;
    const mark *m = NULL;
    int met = 0;
    memset(&probe, 0, sizeof probe);
    if (flow_begin(f, w, &p->trace, self->psb, p->opt.insn) >= 0)
        while (!met && (m = flow_run(f)) != NULL) {
            if (!needed && is_unwanted(p, k)) break;
            for (; next + 1 < p->start_count
                   && m->offset > p->parts[next + 1].psb; next++)
                pass(p, next);
            met = next < p->start_count && m->offset > p->parts[next].psb
               && meets(w, p, &probe, next, &begun, m);
        }
    flow_free(&probe);
    self->next = next;
    self->ends = m == NULL;
    return met || self->ends;
}

static void *work(void *context)
{
    parallel *p = context;
    worker w;
    worker_begin(&w, p);
    pthread_mutex_lock(&p->lock);
    while (p->taken < p->part_count) {
        const size_t k = p->taken;
        if (k >= p->joined + 4 * p->opt.threads) { // keep memory in bounds
            pthread_cond_wait(&p->moved, &p->lock);
            continue;
        }
        p->taken++;
        pthread_mutex_unlock(&p->lock);
        const int state = decode_part(&w, p, k, 0) ? PART_DONE : PART_LEFT;
        pthread_mutex_lock(&p->lock);
        p->parts[k].state = (uint8_t) state;
        pthread_cond_broadcast(&p->moved);
    }
    pthread_mutex_unlock(&p->lock);
    free(w.lines);
    return NULL;
}

/* ---- joining ---- */

/* What comes out of a part: from one mark to another. */
typedef struct piece {
    size_t part;
    mark from;
    mark to;
    uint8_t begins; // with the part: there is no mark `from`
    uint8_t ends;   // with the trace
    tally total;    // after it
} piece;

static void print_place(const char *what, const mark *m, const tally *t)
{
    if (m)
        printf("%s %" PRIx64 " %" PRIx64 " %u %u %" PRIx64 " %" PRIx64 " %u",
               what, m->offset, m->ip, m->mode, m->speculative, m->asid.cr3,
               m->asid.vmcs, m->asid.nr);
    else
        printf("%s -", what);
    printf(" : %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", t->insns,
           t->events, t->errors, t->hash);
}

static void print_total(const tally *t)
{
    printf("total %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n",
           t->insns, t->events, t->errors, t->hash);
}

static void print_text(const flow *f, size_t from, size_t to)
{
    if (to > from) fwrite(f->out.data + from, 1, to - from, stdout);
}

/* Print a piece, with its marks if it may be joined to others, at any of them:
 * the one before it may end where this one does. */
static void print_piece(const piece *x, const flow *f, const tally *before,
                        int marks)
{
    size_t from = x->from.text;
    for (size_t i = 0; marks && i < f->count; i++) {
        const mark *m = &f->marks[i];
        tally t = *before;
        if (m->offset <= x->from.offset && !x->begins) continue;
        tally_join(&t, &x->from.so_far, &m->so_far);
        print_text(f, from, m->text);
        from = m->text;
        print_place("seam", m, &t);
    }
    print_text(f, from, x->to.text);
}

/* Wait for a part. One that was left half way is decoded here. */
static part *await(parallel *p, worker *w, size_t k)
{
    part *self = &p->parts[k];
    int left;
    pthread_mutex_lock(&p->lock);
    p->joined = k;
    pthread_cond_broadcast(&p->moved);
    while (self->state == PART_WAITS) pthread_cond_wait(&p->moved, &p->lock);
    left = self->state == PART_LEFT;
    pthread_mutex_unlock(&p->lock);
    if (left) {
        flow_free(self->flow);
        free(self->flow);
        if (!w->lines) worker_begin(w, p);
        decode_part(w, p, k, 1);
    }
    return self;
}

/* The piece of part k that begins where the one before ended; 0 if there is
 * none, which should not be. */
static int piece_of(piece *x, const part *self, const piece *before, size_t k)
{
    const flow *f = self->flow;
    size_t i = 0;
    memset(x, 0, sizeof *x);
    x->part = k;
    x->begins = before == NULL;
    x->ends = self->ends;
    if (before) {
        while (i < f->count && !in_step(&f->marks[i], &before->to)) i++;
        if (i == f->count) return 0;
        x->from = f->marks[i];
    }
    if (x->ends) {
        x->to.text = f->out.size;
        x->to.so_far = f->done;
    } else {
        x->to = f->marks[f->count - 1];
    }
    return 1;
}

/* Join the parts in order and print them. Returns the number of pieces, which
 * are allocated; 0 if something is wrong. */
static size_t join_parts(parallel *p, piece **pieces)
{
    tally total = {0, 0, 0, 0};
    worker w;
    size_t n = 0;
    size_t k = 0;
    memset(&w, 0, sizeof w);
    *pieces = need(calloc(p->part_count, sizeof **pieces));
    do {
        part *self = await(p, &w, k);
        piece *x = &(*pieces)[n];
        if (!piece_of(x, self, n ? x - 1 : NULL, k)) {
            fprintf(stderr, "ptparallel: a part changed its mind.\n");
            n = 0;
            break;
        }
        n++;
        print_piece(x, self->flow, &total, p->opt.segments != NULL);
        tally_join(&total, &x->from.so_far, &x->to.so_far);
        x->total = total;
        flow_free(self->flow);
        memset(self->flow, 0, sizeof *self->flow);
        k = self->ends ? p->part_count : self->next;
    } while (k < p->part_count);
    if (n && p->opt.segments)
        print_place("end", p->parts[(*pieces)[n - 1].part].ends
                    ? NULL : &(*pieces)[n - 1].to, &total);
    else if (n)
        print_total(&total);
    pthread_mutex_lock(&p->lock);
    for (k = 0; k < p->part_count; k++) p->parts[k].unwanted = 1;
    p->taken = p->part_count;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    free(w.lines);
    return n;
}

/* Decode all parts in threads; the rest as join_parts. */
static size_t decode(parallel *p, piece **pieces)
{
    pthread_t *threads = need(calloc((size_t) p->opt.threads,
                                     sizeof *threads));
    size_t started = 0;
    size_t n = 0;
    while (started < p->opt.threads
           && pthread_create(&threads[started], NULL, work, p) == 0)
        started++;
    if (started) n = join_parts(p, pieces);
    else fprintf(stderr, "ptparallel: no thread could be started.\n");
    while (started) pthread_join(threads[--started], NULL);
    free(threads);
    return n;
}

/* ---- joining what --segments printed ---- */

static int read_tally(const char *line, tally *t)
{
    const char *colon = strstr(line, " : ");
    return colon && sscanf(colon + 3, "%" SCNu64 " %" SCNu64 " %" SCNu64
                           " %" SCNx64, &t->insns, &t->events, &t->errors,
                           &t->hash) == 4;
}

/* Is it the same place? Both end at " : ". */
static int same_place(const char *a, const char *b)
{
    const size_t n = strcspn(a, ":");
    return n == strcspn(b, ":") && memcmp(a, b, n) == 0;
}

/* The offset of a place; the end of the trace is after all others. */
static uint64_t offset_of(const char *place)
{
    return *place == '-' ? UINT64_MAX : strtoull(place, NULL, 16);
}

static int join_lines(void)
{
    char line[256];
    char want[256] = "";
    tally total = {0, 0, 0, 0};
    tally base = {0, 0, 0, 0};
    tally t;
    int active = 1; // this job's lines are to be printed
    int inside = 0; // a job's end has not been seen yet
    while (fgets(line, sizeof line, stdin)) {
        const int seam = strncmp(line, "seam ", 5) == 0;
        const int end = strncmp(line, "end ", 4) == 0;
        const char *place = line + (seam ? 5 : 4);
        inside = !end;
        if (!seam && !end) {
            if (active) fputs(line, stdout);
            continue;
        }
        if (!read_tally(line, &t)) break;
        if (seam && !active && same_place(place, want)) {
            active = 1;
            base = t;
        } else if (end && active) {
            tally_join(&total, &base, &t);
            strcpy(want, place);
            active = 0;
        } else if (end && offset_of(place) > offset_of(want)) {
            fprintf(stderr, "ptparallel: nothing goes on at %s", want);
            return 1;
        }
    }
    if (inside || !*want || ferror(stdin)) {
        fprintf(stderr, "ptparallel: a job has no end.\n");
        return 1;
    }
    print_total(&total);
    return 0;
}

/* ---- comparing ---- */

/* Decode what a piece holds, as text, with a decoder that begins at `psb`. */
static void replay(const worker *w, parallel *p, uint64_t psb, const piece *x,
                   text *out)
{
    flow f;
    const mark *m;
    memset(&f, 0, sizeof f);
    flow_begin(&f, w, &p->trace, psb, x->begins);
    while ((m = flow_run(&f)) != NULL) {
        if (!x->begins && m->offset == x->from.offset) f.print = 1;
    }
    *out = f.out;
    free(f.marks);
    text_add(out, "");
}

/* Print the first lines in which two texts differ. */
static void print_difference(const text *one, const text *other)
{
    size_t begin = 0;
    size_t i = 0;
    while (i < one->size && i < other->size && one->data[i] == other->data[i])
        if (one->data[i++] == '\n') begin = i;
    printf("in one piece: %.*s\n", (int) (one->size > begin
           ? strcspn(one->data + begin, "\n") : 0), one->data + begin);
    printf("in parts:     %.*s\n", (int) (other->size > begin
           ? strcspn(other->data + begin, "\n") : 0), other->data + begin);
}

/* Decode in one piece, too, and compare. */
static int check(parallel *p, const piece *pieces, size_t n)
{
    static worker w;
    static flow f;
    const mark *m = NULL;
    worker_begin(&w, p);
    flow_begin(&f, &w, &p->trace, p->parts[0].psb, 0);
    for (size_t i = 0; i < n; i++) {
        const piece *x = &pieces[i];
        text one, other;
        do
            m = flow_run(&f);
        while (m && (x->ends || m->offset < x->to.offset));
        if (x->ends ? !m && tally_same(&f.done, &x->total)
                    : m && in_step(m, &x->to)
                          && tally_same(&m->so_far, &x->total))
            continue;
        printf("part at %" PRIx64 " differs:\n", p->parts[x->part].psb);
        replay(&w, p, p->parts[0].psb, x, &one);
        replay(&w, p, p->parts[x->part].psb, x, &other);
        print_difference(&one, &other);
        return 1;
    }
    flow_free(&f);
    free(w.lines);
    printf("same in one piece\n");
    return 0;
}

/* ---- where to cut ---- */

/* The first PSB at or after an offset; UINT64_MAX: none. */
static uint64_t psb_from(const parallel *p, const ipt_config *config,
                         uint64_t offset)
{
    ipt_pkt_decoder d;
    uint64_t psb = UINT64_MAX;
    if (ipt_pkt_init(&d, config, &p->trace) >= 0
        && ipt_pkt_sync_set(&d, offset) >= 0
        && (d.at.valid & IPT_AT_SYNC || ipt_pkt_sync_forward(&d) >= 0))
        psb = d.at.sync;
    return psb;
}

static void find_psbs(parallel *p)
{
    static ipt_config config;
    size_t room = 0;
    uint64_t psb = psb_from(p, &config, 0);
    while (psb != UINT64_MAX) {
        if (p->psb_count == room) {
            room = 2 * room + 256;
            p->psbs = need(realloc(p->psbs, room * sizeof *p->psbs));
        }
        p->psbs[p->psb_count++] = psb;
        psb = psb_from(p, &config, psb + 16);
    }
}

/* A:B or A:+N: numbers of PSBs to offsets; 0 if there is no such range. */
static int find_range(parallel *p, uint64_t *from, uint64_t *to)
{
    const char *s = p->opt.segments;
    uint64_t a = 0;
    uint64_t b = UINT64_MAX;
    int more = 0;
    if (!tool_scan(&s, &a) || *s++ != ':') return 0;
    if (*s == '+') more = *s++ == '+';
    if (*s && (!tool_scan(&s, &b) || *s)) return 0;
    if (more && b <= UINT64_MAX - a) b += a;
    if (b <= a || a >= p->psb_count) return 0;
    *from = p->psbs[a];
    *to = b < p->psb_count ? p->psbs[b] : UINT64_MAX;
    return 1;
}

/* Cut [from, to) into parts. */
static void cut(parallel *p, uint64_t from, uint64_t to)
{
    static ipt_config config;
    const uint64_t end = to < p->file.size ? to : p->file.size;
    uint64_t size = p->opt.part;
    uint64_t offset = from;
    if (!size) {
        size = (end - from) / (p->opt.threads * 16);
        if (size < 16384) size = 16384;
    }
    if (p->opt.threads == 1 && !p->opt.part) size = end - from;
    if (size < 16) size = 16; // of a PSB
    p->parts = need(calloc((size_t) ((end - from) / size) + 2,
                           sizeof *p->parts));
    while (offset < end) {
        const uint64_t psb = psb_from(p, &config, offset);
        if (psb >= end) break;
        p->parts[p->part_count++].psb = psb;
        offset = psb + size;
    }
    p->start_count = p->part_count;
    if (to != UINT64_MAX) p->parts[p->start_count++].psb = to;
}

/* ---- the command line ---- */

static int parse_pt(tool_args *args, parallel *p)
{
    const char *name = tool_argument(args, "--pt");
    int status;
    if (!name) return args->wrong;
    if (p->file.data) {
        fprintf(stderr, "%s: more than one trace.\n", args->program);
        return args->wrong;
    }
    status = tool_load_argument(args, name, args->wrong, &p->file);
    if (status) return status;
    p->piece.data = p->file.data;
    p->piece.size = p->file.size;
    p->trace.seg = &p->piece;
    p->trace.count = 1;
    return -1;
}

/* Options with an argument; 0: not one of them. */
static int parse_argument(tool_args *args, parallel *p, const char *word)
{
    const char *names[] = {"--raw", "--elf", "--map", "--cpu", "--segments"};
    const char *value;
    unsigned i = 0;
    int status = 0;
    if (strcmp(word, "--threads") == 0) {
        if (tool_number(args, word, 16, &p->opt.threads)) return args->wrong;
        return p->opt.threads ? -1 : tool_bad_argument(args, word, "0");
    }
    if (strcmp(word, "--part") == 0)
        return tool_number(args, word, 48, &p->opt.part) ? args->wrong : -1;
    if (strcmp(word, "--pt") == 0) return parse_pt(args, p);
    while (i < 5 && strcmp(word, names[i]) != 0) i++;
    if (i == 5) return 0;
    value = tool_argument(args, word);
    if (!value) return args->wrong;
    switch (i) {
    case 0: status = code_add_raw(args, &p->code, value); break;
    case 1: status = code_add_elf(args, &p->code, value, NULL); break;
    case 2: status = code_add_map(args, &p->code, value); break;
    case 3: status = tool_parse_cpu(args, value, &p->opt.cpu, ""); break;
    default: p->opt.segments = value; break;
    }
    return status ? status : -1;
}

static int follow(tool_args *args, const char *word, void *context)
{
    parallel *const p = (parallel *) context;
    const struct {
        const char *name;
        uint8_t *value;
    } flags[] = {
        {"--insn", &p->opt.insn},   {"--check", &p->opt.check},
        {"--stat", &p->opt.stat},   {"--index", &p->opt.index},
        {"--join", &p->opt.join},   {"--no-retcomp", &p->opt.no_retcomp},
        {"--strict", &p->opt.strict}
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].value = 1;
            return -1;
        }
    return parse_argument(args, p, word);
}

static int parse(tool_args *args, parallel *p)
{
    static const char *const texts[] = {help, CODE_FILES_HELP,
                                        OPTIONS_STATUS_HELP, NULL};
    const char *why = NULL;
    const int status = options_parse(args, texts, 0, follow, p);
    if (status >= 0) return status;
    if (*args->next) why = "the trace is the argument of --pt";
    else if (!p->file.data && !p->opt.join) why = "no --pt";
    if (!why) return -1;
    fprintf(stderr, "%s: %s.  Use --help or -h for help.\n", args->program,
            why);
    return OPTIONS_WRONG;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static void print_stat(const parallel *p, size_t used, double time)
{
    fprintf(stderr, "%.6f seconds, %" PRIu64 " thread%s, %zu part%s, %zu used\n",
            time, p->opt.threads, TOOL_S(p->opt.threads), p->part_count,
            TOOL_S(p->part_count), used);
}

/* The exit status of what was decoded. */
static int judge(const tool_args *args, const parallel *p, const tally *total)
{
    if (!total->insns && !p->opt.segments) {
        fprintf(stderr, "%s: no instruction was decoded, %" PRIu64 " errors: "
                "is it the code of this trace?\n", args->program,
                total->errors);
        return OPTIONS_NOTHING;
    }
    return p->opt.strict && total->errors ? OPTIONS_NOTHING : OPTIONS_DONE;
}

static int run(const tool_args *args, parallel *p)
{
    uint64_t from = 0;
    uint64_t to = UINT64_MAX;
    piece *pieces = NULL;
    double start;
    size_t n;
    int status = 0;
    if (p->opt.index || p->opt.segments) find_psbs(p);
    if (p->opt.index) {
        for (size_t i = 0; i < p->psb_count; i++)
            printf("%016" PRIx64 "\n", p->psbs[i]);
        return 0;
    }
    if (p->opt.segments && !find_range(p, &from, &to)) {
        fprintf(stderr, "%s: --segments: no such range: %s.\n", args->program,
                p->opt.segments);
        return 1;
    }
    start = seconds();
    cut(p, from, to);
    if (!p->part_count) {
        fprintf(stderr, "%s: no PSB in the trace.\n", args->program);
        return 1;
    }
    n = decode(p, &pieces);
    if (n && p->opt.stat) print_stat(p, n, seconds() - start);
    if (!n) status = 1;
    else status = judge(args, p, &pieces[n - 1].total);
    if (n && p->opt.check) status |= check(p, pieces, n);
    free(pieces);
    return status;
}

int main(int argc, char **argv)
{
    static parallel p;
    tool_args args = tool_begin(argc, argv, "ptparallel");
    int status;
    image_init(&p.code);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.moved, NULL);
    status = parse(&args, &p);
    if (!p.opt.threads) {
        const long n = sysconf(_SC_NPROCESSORS_ONLN);
        p.opt.threads = n > 0 ? (uint64_t) n : 1;
    }
    if (status < 0) status = p.opt.join ? join_lines() : run(&args, &p);
    for (size_t i = 0; i < p.part_count; i++) {
        if (p.parts[i].flow) flow_free(p.parts[i].flow);
        free(p.parts[i].flow);
    }
    free(p.parts);
    free(p.psbs);
    image_free(&p.code);
    free(p.file.data);
    return tool_end(&args, status);
}
