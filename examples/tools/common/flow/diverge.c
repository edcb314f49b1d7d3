/* diverge.c: see diverge.h.
 *
 * SPDX-License-Identifier: MIT */
#include "diverge.h"
#include "stack.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STEP 1024u /* branches in a sum */
#define TEXT 1024u /* bytes of a place, at most */

/* A branch. */
typedef struct branch {
    uint64_t file;    /* a hash of the file's name; 0: it is in none */
    uint64_t from;
    uint64_t to_file;
    uint64_t to;
    char *texts[2];   /* from, to: allocated, where they are asked for */
} branch;

/* A thread of a recording. */
typedef struct way {
    char comm[16];
    uint32_t tid;
    uint32_t pair;   /* 1 + the index of the other one; 0: none */
    uint64_t count;  /* branches */
    uint64_t hash;   /* of all so far */
    uint64_t *sums;  /* after each STEP of them */
    size_t sum_count;
    size_t sum_max;
    uint8_t lost;    /* what comes after a loss does not count */
    uint8_t differs;
    uint64_t begin;  /* the branches from here on may differ, STEP of them: */
    branch *window;  /* of the second recording all, of the first one the one */
    size_t kept;     /* ... that differs; so many are there */
    uint64_t alike;  /* branches before that */
    char *calls;     /* ... and the stack there; allocated */
    /* flow */
    uint8_t open;    /* there was an instruction: */
    uint64_t last;   /* its address, */
    uint64_t next;   /* and that after it */
    uint64_t at_file; /* where `last` is */
    uint64_t at;
    stack stack;
} way;

/* One of the two. */
typedef struct side {
    way *list;
    size_t count;
} side;

typedef struct diverge {
    const diverge_config *config;
    side sides[2];
    unsigned which;
    int sums;         /* this pass makes sums */
    session *s;
    uint64_t dso;     /* as in branch.file; 0: all */
    size_t open;      /* pairs for which this pass has not found all it has to */
    uint8_t failed;
    /* where an address is */
    uint64_t first;
    uint64_t end;
    uint64_t offset;
    uint64_t file;
    uint64_t changes;
    uint32_t pid;
    uint8_t guest;
} diverge;

static uint64_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (uint8_t) *text) * 1099511628211u;
    return h | 1;
}

static uint64_t mix(uint64_t h, uint64_t n)
{
    h = (h ^ n) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* ---- where it is ---- */

static void find_mapping(diverge *d, uint64_t ip)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, d->guest};
    spaces_found at;
    d->s->view.pid = d->pid;
    d->changes = d->s->changes + 1;
    d->first = d->end = ip;
    d->file = d->offset = 0;
    if (!spaces_find(&d->s->view, &asid, ip, &at)) return;
    d->first = at.first;
    d->end = at.last;
    if (at.name) d->file = hash_text(tool_base(at.name));
    d->offset = at.file ? at.offset - (ip - at.first) : 0;
}

/* A place that does not depend on where files were mapped. */
static uint64_t place_of(diverge *d, uint64_t ip, uint64_t *file)
{
    if (ip < d->first || ip > d->end || d->changes != d->s->changes + 1)
        find_mapping(d, ip);
    *file = d->file;
    return d->file ? d->offset + (ip - d->first) : 0;
}

/* f+0x12 (file.c:17), allocated; NULL without memory. */
static char *describe(diverge *d, uint64_t ip)
{
    char text[TEXT], clean[TEXT], line[TEXT / 2] = "";
    session_place at;
    lines_place source;
    session_find(d->s, d->pid, d->guest, ip, &at);
    if (at.in && lines_find(&d->s->lines, at.in, at.in_offset, &source))
        snprintf(line, sizeof line, " (%.480s:%d)", tool_base(source.file),
                 source.line);
    snprintf(text, sizeof text, "%.400s+0x%" PRIx64 "%s",
             at.name ? at.name : at.file ? tool_base(at.file) : "?", at.offset,
             line);
    tool_clean(clean, sizeof clean, text, 0);
    return tool_copy(clean, strlen(clean));
}

/* ---- threads ---- */

static way *way_of(diverge *d, const session_task *t)
{
    side *const side_ = &d->sides[d->which];
    way *w = NULL;
    for (size_t i = 0; i < side_->count && !w; i++)
        if (side_->list[i].tid == t->tid) w = &side_->list[i];
    return w;
}

/* All threads that the records name, in their order. */
static int add_ways(diverge *d)
{
    side *const to = &d->sides[d->which];
    to->list = (way *) calloc(d->s->task_count + 1, sizeof *to->list);
    if (!to->list) return 0;
    for (size_t i = 0; i < d->s->task_count; i++) {
        way *const w = &to->list[to->count++];
        w->tid = d->s->list[i]->tid;
        snprintf(w->comm, sizeof w->comm, "%s", d->s->list[i]->last_comm);
    }
    return 1;
}

/* Threads with flow belong together in their order, first those that have one
 * name. */
static void pair_ways(diverge *d)
{
    const side *const a = &d->sides[0];
    const side *const b = &d->sides[1];
    for (unsigned named = 2; named-- > 0;)
        for (size_t i = 0; i < a->count; i++)
            for (size_t k = 0; k < b->count && !a->list[i].pair; k++) {
                way *const x = &a->list[i];
                way *const y = &b->list[k];
                if (!x->count || !y->count || y->pair
                    || (named && strcmp(x->comm, y->comm) != 0))
                    continue;
                x->pair = (uint32_t) k + 1;
                y->pair = (uint32_t) i + 1;
            }
}

/* The first sums that differ. */
static void find_window(diverge *d, way *x, way *y)
{
    size_t n = 0;
    if (x->count == y->count && x->hash == y->hash) return;
    while (n < x->sum_count && n < y->sum_count && x->sums[n] == y->sums[n])
        n++;
    x->begin = y->begin = (uint64_t) n * STEP;
    x->differs = y->differs = 1;
    x->window = (branch *) calloc(1, sizeof *x->window);
    y->window = (branch *) calloc(STEP, sizeof *y->window);
    if (!x->window || !y->window) d->failed = 1;
}

/* ---- flow ---- */

static int is_same(const branch *a, const branch *b)
{
    return a->file == b->file && a->from == b->from && a->to_file == b->to_file
        && a->to == b->to;
}

static char *name_frames(diverge *d, const stack *s)
{
    char text[TEXT] = "", clean[TEXT];
    size_t n = 0;
    for (size_t i = s->frames.count; i > 0 && n < TEXT - 80; i--)
        n += (size_t) snprintf(
            text + n, sizeof text - n, "%s%.70s", n ? " < " : "",
            functions_text(&d->s->functions,
                           s->frames.list[i - 1].function.name));
    tool_clean(clean, sizeof clean, text, 0);
    return tool_copy(clean, strlen(clean));
}

/* Keep a branch, and what its places are called. */
static void keep_branch(diverge *d, way *w, const branch *b, uint64_t from,
                        uint64_t to)
{
    branch *const n = &w->window[w->kept++];
    *n = *b;
    n->texts[0] = describe(d, from);
    n->texts[1] = describe(d, to);
    if (!n->texts[0] || !n->texts[1]) d->failed = 1;
}

static void close_window(diverge *d)
{
    if (--d->open == 0) d->s->stop = 1;
}

/* Of the second recording branches are kept, then the first one is compared. */
static void find_difference(diverge *d, way *w, const branch *b, uint64_t from,
                            uint64_t to)
{
    const way *other;
    uint64_t at;
    if (!w->differs || w->count < w->begin || w->kept == STEP) return;
    at = w->count - w->begin;
    if (d->which == 1) {
        keep_branch(d, w, b, from, to);
        if (w->kept == STEP) close_window(d);
        return;
    }
    other = &d->sides[1].list[w->pair - 1];
    if (w->kept || (at < other->kept && is_same(b, &other->window[at]))) return;
    keep_branch(d, w, b, from, to);
    w->alike = w->count;
    w->calls = name_frames(d, &w->stack);
    if (!w->calls) d->failed = 1;
    close_window(d);
}

static void take_branch(diverge *d, way *w, uint64_t from, uint64_t to)
{
    branch b;
    memset(&b, 0, sizeof b);
    b.file = w->at_file;
    b.from = w->at;
    b.to = place_of(d, to, &b.to_file);
    if (d->dso && (b.file != d->dso || b.to_file != d->dso)) return;
    if (!d->sums) find_difference(d, w, &b, from, to);
    w->count++;
    w->hash = mix(mix(mix(mix(w->hash, b.file), b.from), b.to_file), b.to);
    if (!d->sums || w->count % STEP) return;
    if (w->sum_count == w->sum_max) {
        const size_t max = 2 * w->sum_max + 64;
        if (!tool_grow(&w->sums, max, sizeof *w->sums)) {
            d->failed = 1;
            return;
        }
        w->sum_max = max;
    }
    w->sums[w->sum_count++] = w->hash;
}

/* Flow of the kernel is between that of threads. */
static void on_flow(session *s, session_task *t, const threads_who *who,
                    const ipt_block *b)
{
    diverge *const d = (diverge *) s->context;
    way *w = (way *) t->user;
    if (!w) t->user = w = way_of(d, t);
    if (!w || w->lost || b->ip >> 63 || !session_wants(s, t, who)) return;
    if (d->pid != t->pid || d->guest != who->guest) {
        d->pid = t->pid;
        d->guest = who->guest;
        d->changes = 0;
    }
    if (w->open && b->ip != w->next) {
        w->at = place_of(d, w->last, &w->at_file);
        take_branch(d, w, w->last, b->ip);
    }
    w->open = 1;
    w->last = b->end_ip;
    w->next = b->end_ip + b->last_size;
    if (!d->sums && d->which == 0 && stack_flow(&w->stack, b)) d->failed = 1;
    if (d->failed) s->stop = 1;
}

static void on_event(session *s, session_task *t, const threads_who *who,
                     const ipt_event *e)
{
    diverge *const d = (diverge *) s->context;
    way *const w = (way *) t->user;
    if (!w || d->sums || d->which || e->flags & IPT_EVENT_STATUS
        || !session_wants(s, t, who))
        return;
    if (stack_event(&w->stack, e)) d->failed = 1;
}

static void on_lost(session *s, session_task *t, const threads_who *who,
                    threads_loss loss, const ipt_where *at)
{
    way *const w = (way *) t->user;
    (void) s, (void) who, (void) at;
    if (!w || loss == THREADS_UNSURE) return;
    if (loss == THREADS_NO_CODE)
        w->open = 0;
    else
        w->lost = 1;
}

/* ---- functions, for the stack ---- */

static stack_function function_of(uint64_t ip, void *user)
{
    diverge *const d = (diverge *) user;
    stack_function f;
    session_place at;
    memset(&f, 0, sizeof f);
    if (!session_find(d->s, d->pid, d->guest, ip, &at))
        at.function = at.whole = functions_label(&d->s->functions, "[unknown]");
    if (!at.function) d->failed = 1;
    f.first = at.first;
    f.last = at.last;
    f.gap = !at.name;
    f.absent = at.is_absent;
    f.part = at.is_part;
    f.name = at.is_part ? at.whole : at.function;
    f.start = at.name && strcmp(at.name, "_start") == 0;
    return f;
}

static void pass_by(stack *s, stack_frame *frame, stack_why why)
{
    (void) s, (void) frame, (void) why;
}

static const stack_config frames_only = {function_of, pass_by, pass_by};

/* ---- passes ---- */

static int decode(diverge *d, unsigned which, int sums)
{
    static const session_config config = {
        on_flow, on_event, on_lost, NULL, NULL, NULL,
        IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP, 0, 1, 0, 0};
    side *const side_ = &d->sides[which];
    session_config own = config;
    session s;
    int status;
    d->which = which;
    d->sums = sums;
    d->s = &s;
    d->changes = 0;
    status = d->config->start(&s, &own, which, d->config->context);
    if (status == 0) {
        s.context = d;
        if (sums && !add_ways(d)) d->failed = 1;
        for (size_t i = 0; i < side_->count; i++) {
            way *const w = &side_->list[i];
            w->count = w->hash = 0;
            w->open = w->lost = 0;
            stack_init(&w->stack, &frames_only, d);
        }
        status = session_run(&s);
        s.quiet |= (uint8_t) !sums; /* it was said */
        status = session_end(&s, status);
        for (size_t i = 0; i < side_->count; i++)
            stack_free(&side_->list[i].stack);
    }
    session_free(&s);
    return status;
}

/* ---- what is printed ---- */

static void print_place(const char *words, const char *place)
{
    printf("%s%s\n", words, place);
}

/* Both went on from one place; where the first of their branches is, they part. */
static void print_parting(const diverge *d, const branch *a, const branch *b)
{
    const char *const *names = d->config->names;
    const int one = a && b && a->file == b->file && a->from == b->from;
    const int is_a = a && (!b || one || a->file != b->file || a->from < b->from);
    print_place("  at   ", is_a ? a->texts[0] : b->texts[0]);
    for (unsigned i = 0; i < 2; i++) {
        const branch *const n = i ? b : a;
        fputs("  ", stdout);
        tool_print(stdout, names[i]);
        if (!n)
            puts(": ends before it");
        else if (one || is_a == !i)
            print_place(": to ", n->texts[1]);
        else
            print_place(": goes on, and next leaves ", n->texts[0]);
    }
}

/* 1: this pair went different ways. */
static int print_pair(const diverge *d, const way *x)
{
    const way *const y = &d->sides[1].list[x->pair - 1];
    const branch *a = x->kept ? x->window : NULL;
    const branch *b = NULL;
    const uint64_t alike = x->kept ? x->alike : x->count;
    if (!x->differs) return 0;
    if (alike - x->begin < y->kept) b = &y->window[alike - x->begin];
    if ((!a && x->lost) || (!b && y->lost) || (!a && !b)) return 0;
    tool_print(stdout, x->comm);
    printf(" %" PRIu32 ", ", x->tid);
    tool_print(stdout, y->comm);
    printf(" %" PRIu32 ": %" PRIu64 " branch%s alike, then\n", y->tid, alike,
           alike == 1 ? "" : "es");
    print_parting(d, a, b);
    if (x->calls) print_place("  in   ", x->calls);
    return 1;
}

static void print_all(const diverge *d)
{
    const char *const program = d->config->args->program;
    size_t pairs = 0, apart = 0;
    for (unsigned which = 0; which < 2; which++)
        for (size_t i = 0; i < d->sides[which].count; i++) {
            const way *const w = &d->sides[which].list[i];
            if (!w->count || w->pair) continue;
            tool_print(stdout, w->comm);
            printf(" %" PRIu32 ": only in ", w->tid);
            tool_print(stdout, d->config->names[which]);
            putchar('\n');
        }
    for (size_t i = 0; i < d->sides[0].count; i++) {
        if (!d->sides[0].list[i].pair) continue;
        pairs++;
        apart += (size_t) print_pair(d, &d->sides[0].list[i]);
    }
    for (size_t i = 0; i < d->sides[0].count; i++) {
        const way *const x = &d->sides[0].list[i];
        if (x->pair && (x->lost || d->sides[1].list[x->pair - 1].lost))
            fprintf(stderr, "%s: thread %" PRIu32 " was compared up to where "
                            "flow is lost.\n", program, x->tid);
    }
    fprintf(stderr, "%s: %zu pair%s of threads, %zu went different ways\n",
            program, pairs, TOOL_S(pairs), apart);
}

static void free_side(side *of)
{
    for (size_t i = 0; i < of->count; i++) {
        way *const w = &of->list[i];
        for (size_t k = 0; k < w->kept; k++) {
            free(w->window[k].texts[0]);
            free(w->window[k].texts[1]);
        }
        free(w->window);
        free(w->sums);
        free(w->calls);
    }
    free(of->list);
}

static int compare_all(diverge *d)
{
    int status = decode(d, 0, 1);
    if (status == 0) status = decode(d, 1, 1);
    if (status || d->failed) return status;
    pair_ways(d);
    for (size_t i = 0; i < d->sides[0].count; i++) {
        way *const x = &d->sides[0].list[i];
        if (!x->pair) continue;
        find_window(d, x, &d->sides[1].list[x->pair - 1]);
        d->open += x->differs;
    }
    for (unsigned which = 2; which-- > 0 && !d->failed && !status;) {
        const size_t open = d->open;
        if (open) status = decode(d, which, 0);
        d->open = open;
    }
    if (!status && !d->failed) print_all(d);
    return status;
}

int diverge_run(const diverge_config *config)
{
    diverge d;
    int status;
    memset(&d, 0, sizeof d);
    d.config = config;
    if (config->dso) d.dso = hash_text(tool_base(config->dso));
    status = compare_all(&d);
    if (d.failed) {
        fprintf(stderr, "%s: out of memory.\n", config->args->program);
        status = OPTIONS_NOTHING;
    }
    free_side(&d.sides[0]);
    free_side(&d.sides[1]);
    return status;
}
