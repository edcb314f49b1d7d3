/* truth.c: what ran, as recorded by qplugin.c, made into traces by ipt_gen_* in
 * every configuration, and decoded again: each instruction, its kind and mode,
 * each event and the address space must be what they were.
 *
 *     truth [-i INSTRUCTIONS] [-c CASE] [-s SEED] [-q] [-m 16|32] [-p PERF]
 *           RUN...
 *     truth -w FOLDER -c CASE [-i INSTRUCTIONS] [-s SEED] [-m 16|32]
 *           [-d BYTES] RUN
 *                                      check nothing, but write what ptrecord
 *                                      does: trace.pt, ips.u64, and, if it does
 *                                      not change, the code as image.map and
 *                                      pages.bin. And to lost.u64 of each loss
 *                                      its place, its size and its addresses.
 *                                      -d: PSBs are at most so far apart
 *
 * RUN is a DIR/N.run; DIR/code.bin is read, too. Everything is determined by
 * the recording and the seed. The trace of a user-mode program shows CPL 3
 * only; in other cases the same execution is taken for that of a kernel, with
 * interrupts, or of a guest, with VM exits to a handler at the address of the
 * guest's own code. Where QEMU does not say how far the code got before a
 * signal, the instruction it interrupted counts as not executed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define IPT_IMPLEMENTATION
#include "../../ipt.h"
#include "../hot.h"
#include "../whole.h"
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#define HAVE_ZYDIS
#include "../../zydis_glue/ipt_zydis.h"
#endif
#endif

#ifdef __has_include
#if __has_include(<intel-pt.h>)
#define HAVE_LIBIPT
#include <intel-pt.h>
#endif
#endif

#define HOST_CR3 0x11000u
#define HOST_CR3_2 0x12000u
#define GUEST_CR3 0x777000u
#define GUEST_VMCS 0x9000u
#define ISR 0xffffffff81000000u
#define LOW_ISR 0x7fff81000000u
#define NOWHERE UINT64_MAX
#define ALL_TIME (IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC)
#define MTC_PERIOD 672 /* ticks */
#define ROUNDING 128   /* ticks; a CYC may lose one, and 66 were seen */
#define NOMINAL 20     /* ticks to a bus cycle */
#define LEAST_RATIO 8  /* cycles to a bus cycle */
#define CYCLE ((NOMINAL + LEAST_RATIO - 1) / LEAST_RATIO) /* ticks, at most */

static void fatal(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "truth: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

/* Have room for one more in a growing array. */
static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 1024;
    array = realloc(array, *room * size);
    if (!array)
        fatal("out of memory");
    return array;
}

static uint64_t random_state;

static uint64_t random64(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
    return random64() % n;
}

/* ---- code ---- */

typedef struct code {
    uint64_t ip;
    uint8_t size;
    uint8_t last; /* of its translation block */
    uint8_t bytes[15];
    uint8_t kind;
    uint8_t conflict; /* its bytes are not always the same */
    uint8_t mode;
    uint8_t zero[4];
    uint64_t target; /* of a direct branch */
} code;

static code *codes;
static size_t code_count;
static uint8_t mode = IPT_MODE_64; /* of the program */

static uint64_t next_ip(const code *c, uint64_t displacement)
{
    const uint64_t ip = c->ip + c->size + displacement;

    return c->mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

static void classify(code *c)
{
    ipt_code info;

    if (ipt_classify(&info, c->bytes, c->size, c->mode, NULL) < 0
        || info.size != c->size) {
        c->kind = IPT_INSN_COUNT; /* QEMU cuts some at the end of a page, which
                                   * do not run */
        return;
    }
    c->kind = info.kind;
    c->target = next_ip(c, (uint64_t) info.displacement);
}

static uint8_t *load(const char *path, size_t *size)
{
    uint8_t *data = (uint8_t *) whole_file(path, size);

    if (!data)
        fatal("cannot read %s", path);
    return data;
}

static void add_code(uint64_t ip, const void *bytes, uint8_t size)
{
    code *c = &codes[code_count++];

    memset(c, 0, sizeof(*c));
    c->ip = ip;
    c->size = size;
    memcpy(c->bytes, bytes, size);
    c->mode = IPT_MODE_64; /* whatever they interrupt */
    classify(c);
}

/* The interrupt handler, and the handler of VM exits at `host`. */
enum { PUSH, PTWRITE, JE, NOP, CALL, JMP, RET, POP, IRET, ISR_COUNT };
enum { NOP2, VMPTRLD, JE2, MOV_CR3, VMRESUME, HOST_COUNT };
static size_t isr_code;
static uint64_t isr; /* where it is */
static size_t host_code;

static void load_code(const char *run)
{
    static const struct {
        uint8_t at;
        uint8_t size;
        uint8_t bytes[6];
    } handler[ISR_COUNT] = {{0, 1, {0x50}},
                        {1, 5, {0xf3, 0x48, 0x0f, 0xae, 0xe0}},
                        {6, 2, {0x74, 2}},
                        {8, 2, {0x66, 0x90}},
                        {10, 5, {0xe8, 2, 0, 0, 0}},
                        {15, 2, {0xeb, 1}},
                        {17, 1, {0xc3}},
                        {18, 1, {0x58}},
                        {19, 2, {0x48, 0xcf}}},
      host[HOST_COUNT] = {{0, 1, {0x90}},
                          {1, 3, {0x0f, 0xc7, 0x30}},
                          {4, 2, {0x74, 0}},
                          {6, 3, {0x0f, 0x22, 0xd8}},
                          {9, 3, {0x0f, 0x01, 0xc3}}};
    char path[1024];
    const char *slash = strrchr(run, '/');
    uint8_t *data;
    size_t size;
    size_t i;

    snprintf(path, sizeof(path), "%.*s/code.bin",
             slash ? (int) (slash - run) : 1, slash ? run : ".");
    data = load(path, &size);
    codes = (code *) calloc(size / 32 + ISR_COUNT + HOST_COUNT, sizeof(code));
    if (!codes)
        fatal("out of memory");
    for (code_count = 0; code_count < size / 32; code_count++) {
        code *c = &codes[code_count];
        memcpy(c, data + 32 * code_count, 25);
        c->mode = mode;
        classify(c);
    }
    free(data);
    isr_code = code_count;
    for (i = 0; i < ISR_COUNT; i++)
        add_code(ISR + handler[i].at, handler[i].bytes, handler[i].size);
    isr = ISR;
    host_code = code_count;
    for (i = 0; i < HOST_COUNT; i++)
        add_code(codes[0].ip + host[i].at, host[i].bytes, host[i].size);
}

/* ---- memory: code bytes that were seen ---- */

#define PAGE 4096u
#define PAGES (1u << 16)

typedef struct page {
    uint64_t base;
    struct page *next;
    uint8_t bytes[PAGE];
    uint8_t have[PAGE];  /* 1: a byte of an instruction; 2: not always this */
    uint32_t *used;      /* by whom last: index, plus 1 */
} page;

static page *pages[PAGES];

static page *find_page(uint64_t ip)
{
    page *p = pages[(ip / PAGE) % PAGES];

    while (p && p->base != ip / PAGE)
        p = p->next;
    return p;
}

static page *make_page(uint64_t ip)
{
    page *p = find_page(ip);

    if (!p) {
        p = (page *) calloc(1, sizeof(*p));
        if (!p)
            fatal("out of memory");
        p->base = ip / PAGE;
        p->next = pages[p->base % PAGES];
        pages[p->base % PAGES] = p;
    }
    return p;
}

static void write_code(const code *c, unsigned which)
{
    unsigned i;
    page *p;

    for (i = 0; i < c->size; i++) {
        if (!(which >> i & 1))
            continue;
        p = make_page(c->ip + i);
        p->bytes[(c->ip + i) % PAGE] = c->bytes[i];
        p->have[(c->ip + i) % PAGE] |= 1;
    }
}

static void free_pages(void)
{
    size_t i;

    for (i = 0; i < PAGES; i++) {
        while (pages[i]) {
            page *p = pages[i];
            pages[i] = p->next;
            free(p->used);
            free(p);
        }
    }
}

/* All code in memory, in the version that runs first; mark what changes. */
static void fill_memory(const uint32_t *ids, size_t count)
{
    uint8_t *seen = (uint8_t *) calloc(code_count, 1);
    size_t i;
    unsigned b;

    if (!seen)
        fatal("out of memory");
    for (i = 0; i < count; i++) {
        const code *c = &codes[ids[i]];
        if (seen[ids[i]])
            continue;
        seen[ids[i]] = 1;
        for (b = 0; b < c->size; b++) {
            page *p = make_page(c->ip + b);
            const unsigned at = (c->ip + b) % PAGE;
            if (!p->have[at]) {
                p->bytes[at] = c->bytes[b];
                p->have[at] = 1;
            } else if (p->bytes[at] != c->bytes[b]) {
                p->have[at] = 3;
            }
        }
    }
    for (i = 0; i < code_count; i++)
        for (b = 0; b < codes[i].size && seen[i]; b++)
            if (find_page(codes[i].ip + b)->have[(codes[i].ip + b) % PAGE] > 1)
                codes[i].conflict = 1;
    free(seen);
}

/* ---- the recording, cleaned ---- */

typedef struct jump { /* a signal */
    size_t index; /* of the instruction that it led to */
    uint64_t from;
    uint64_t to;
} jump;

typedef struct change { /* of code */
    size_t index; /* from here on, and before it is needed */
    uint32_t id;
    uint32_t order;
    uint16_t bytes; /* which of its bytes: a bit for each */
} change;

static struct {
    uint32_t *ids;
    size_t count, room;
    jump *jumps;
    size_t jump_count, jump_room;
    change *changes;
    size_t change_count, change_room;
} rec;

static void add_jump(uint64_t from, uint64_t to)
{
    rec.jumps = (jump *) grow(rec.jumps, rec.jump_count, &rec.jump_room,
                              sizeof(jump));
    rec.jumps[rec.jump_count].index = rec.count;
    rec.jumps[rec.jump_count].from = from;
    rec.jumps[rec.jump_count++].to = to;
}

static int is_plain(uint8_t kind) /* flow goes on after it */
{
    return kind == IPT_INSN_OTHER || kind == IPT_INSN_PTWRITE
           || kind == IPT_INSN_XBEGIN || kind == IPT_INSN_MOV_CR3
           || kind == IPT_INSN_VMPTRLD;
}

/* Instruction `id` comes next. Returns 0 if it is the last one once more. */
static int follow(uint32_t id)
{
    const code *q = &codes[id];
    const code *p;
    uint64_t next;

    if (q->kind == IPT_INSN_COUNT)
        fatal("at %" PRIx64 " %u bytes ran, ipt_classify differs", q->ip,
              q->size);
    if (rec.count == 0)
        return 1;
    if (rec.jump_count && rec.jumps[rec.jump_count - 1].index == rec.count)
        return 1;
    p = &codes[rec.ids[rec.count - 1]];
    next = next_ip(p, 0);
    if (is_plain(p->kind)) {
        if (q->ip == next)
            return 1;
        if (q->ip == p->ip) {
            rec.ids[rec.count - 1] = id;
            return 0;
        }
        if (!p->last)
            rec.count--;
        add_jump(p->last ? next : p->ip, q->ip);
    } else if (p->kind == IPT_INSN_JMP || p->kind == IPT_INSN_CALL) {
        if (q->ip != p->target)
            add_jump(p->target, q->ip);
    } else if (p->kind == IPT_INSN_JCC) {
        if (q->ip != next && q->ip != p->target) {
            rec.count--;
            add_jump(p->ip, q->ip);
        }
    }
    return 1;
}

static void load_run(const char *path, size_t max)
{
    size_t size;
    uint8_t *data = load(path, &size);
    size_t i;

    memset(&rec, 0, sizeof(rec));
    for (i = 0; i + 8 <= size && rec.count < max; i += 8) {
        uint32_t run[2];
        memcpy(run, data + i, 8);
        if (run[0] + (uint64_t) run[1] > isr_code)
            fatal("%s does not fit its code.bin", path);
        for (; run[1]; run[0]++, run[1]--) {
            if (!follow(run[0]))
                continue;
            rec.ids = (uint32_t *) grow(rec.ids, rec.count, &rec.room, 4);
            rec.ids[rec.count++] = run[0];
        }
    }
    free(data);
}

/* When code changes: as soon as the old one ran for the last time. */
static void find_changes(void)
{
    size_t i;
    unsigned b;

    fill_memory(rec.ids, rec.count);
    for (i = 0; i < rec.count; i++) {
        const code *c = &codes[rec.ids[i]];
        size_t from = 0;
        unsigned differs = 0;
        if (!c->conflict)
            continue;
        for (b = 0; b < c->size; b++) {
            page *p = find_page(c->ip + b);
            const unsigned at = (c->ip + b) % PAGE;
            if (!p->used)
                p->used = (uint32_t *) calloc(PAGE, 4);
            if (!p->used)
                fatal("out of memory");
            if (p->bytes[at] != c->bytes[b]) {
                differs |= 1u << b;
                p->bytes[at] = c->bytes[b];
                if (from < p->used[at])
                    from = p->used[at];
            }
            p->used[at] = (uint32_t) i + 1;
        }
        if (!differs)
            continue;
        rec.changes = (change *) grow(rec.changes, rec.change_count,
                                      &rec.change_room, sizeof(change));
        rec.changes[rec.change_count].index = from;
        rec.changes[rec.change_count].order = (uint32_t) rec.change_count;
        rec.changes[rec.change_count].bytes = (uint16_t) differs;
        rec.changes[rec.change_count++].id = rec.ids[i];
    }
    free_pages();
}

static int by_index(const void *a, const void *b)
{
    const change *x = (const change *) a;
    const change *y = (const change *) b;

    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- what a trace is to hold ---- */

enum { USER, KERNEL, GUEST };
#define LOSS 1
#define FILTER 2
#define STOP 4
#define TSX 8
#define EVENTS 16
#define EXACT 32 /* a cycle is a tick, and known: no error of time at all */
#define LOW 64   /* the interrupt handler is in the lower half */
#define RATIO 128 /* the core:bus ratio changes */

typedef struct model {
    const char *name;
    uint32_t flags; /* ipt_gen_config */
    uint32_t psb_period;
    uint8_t kind;
    uint8_t with;
    uint8_t quick;
} model;

typedef struct place {
    size_t index; /* instructions before it */
    uint8_t nr;   /* the world it happened in */
    ipt_event event;
} place;

typedef struct sync_point {
    size_t index;
    size_t event;
    size_t change;
    uint64_t offset;
    uint64_t cr3;
    uint8_t nr;
    uint8_t mode;
    uint8_t speculative;
} sync_point;

typedef struct edge { /* from a branch that leaves trace */
    size_t index;
    uint32_t id;
    uint8_t nr;    /* the world it is in, ... */
    uint8_t to_nr; /* ... and the one that it leads to */
    uint64_t to;
} edge;

typedef struct loss {
    size_t index; /* of the instruction, or event, that comes after it */
    size_t first; /* in out.lost: what did not make it into the trace */
    size_t count;
} loss;

typedef struct output {
    const model *model;
    ipt_gen_config config;
    ipt_gen gen;
    uint8_t *trace;
    size_t trace_room;
    uint32_t *ids; /* that a decoder is to find */
    uint8_t *nrs;  /* and in which of the two worlds */
    size_t count, room, nr_room;
    size_t proven;
    place *places;
    size_t place_count, place_room;
    change *changes;
    size_t change_count, change_room;
    sync_point *syncs;
    size_t sync_count, sync_room;
    ipt_filter filter[IPT_FILTERS];
    edge *edges;
    size_t edge_count, edge_room;
    uint32_t *lost;
    size_t lost_count, lost_room;
    loss *losses;
    size_t loss_count, loss_room;
    size_t crossings; /* of the border between host and guest */
    uint64_t ran; /* instructions, while tracing could see them */
    size_t begun; /* where the transaction in progress began, ... */
    size_t begun_changes;
    uint64_t cr3;
    uint64_t psb; /* offset of the last one */
    uint32_t only; /* IPT_CONFIG_ROOT_ONLY, _NON_ROOT_ONLY, _VMX_EVENTS */
    uint8_t nr;
    uint8_t mode;
    uint8_t iflag;
    uint8_t on;
    uint8_t stopped;
    uint8_t speculative;
    uint8_t strayed;   /* libipt's return stack differs from the processor's */
    uint8_t depth;     /* of libipt's */
    uint8_t walked_out; /* of a filter, without a branch */
} output;

static output out;

static void settle(int status, const char *what)
{
    if (status < 0)
        fatal("%s: %s", what, ipt_status_name(status));
    if (out.gen.used - out.gen.from_psb_ != out.psb) {
        out.psb = out.gen.used - out.gen.from_psb_;
        out.syncs = (sync_point *) grow(out.syncs, out.sync_count,
                                        &out.sync_room, sizeof(sync_point));
        out.syncs[out.sync_count].index = out.count;
        out.syncs[out.sync_count].event = out.place_count;
        out.syncs[out.sync_count].change = out.change_count;
        out.syncs[out.sync_count].offset = out.psb;
        out.syncs[out.sync_count].cr3 = out.cr3;
        out.syncs[out.sync_count].nr = out.nr;
        out.syncs[out.sync_count].mode = out.mode;
        out.syncs[out.sync_count++].speculative = out.speculative;
    }
    out.strayed |= out.depth != out.gen.calls_.at.count;
}

static void make_room(void)
{
    if (out.trace_room - out.gen.used >= IPT_GEN_ROOM)
        return;
    out.trace_room = out.trace_room ? 2 * out.trace_room : 1 << 20;
    out.trace = (uint8_t *) realloc(out.trace, out.trace_room);
    if (!out.trace)
        fatal("out of memory");
    out.gen.out = out.trace;
    out.gen.size = out.trace_room;
}

static ipt_event event(uint8_t type, uint64_t ip, uint64_t to)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.ip = ip;
    if (ip == NOWHERE)
        e.flags |= IPT_EVENT_NO_IP;
    if (to == NOWHERE)
        e.flags |= IPT_EVENT_NO_TO;
    else if (to)
        e.u.branch.to = to;
    return e;
}

static void gen_event(ipt_event e)
{
    make_room();
    settle(ipt_gen_event(&out.gen, &e), ipt_evt_name(e.type));
}

/* A decoder is to find this event after `index` instructions. */
static void expect(ipt_event e, size_t index)
{
    out.places = (place *) grow(out.places, out.place_count, &out.place_room,
                                sizeof(place));
    e.tsc = ipti_gen_tsc(&out.gen);
    out.places[out.place_count].index = index;
    out.places[out.place_count].nr = out.nr;
    out.places[out.place_count++].event = e;
}

static void both(ipt_event e)
{
    expect(e, out.count); /* first: a PSB+ may follow */
    gen_event(e);
    out.proven = out.count;
}

static void list(uint32_t id)
{
    out.ran++;
    out.ids = (uint32_t *) grow(out.ids, out.count, &out.room, 4);
    out.nrs = (uint8_t *) grow(out.nrs, out.count, &out.nr_room, 1);
    out.nrs[out.count] = out.nr;
    out.ids[out.count++] = id;
}

/* Does it leave trace? */
static int is_traced(uint8_t kind)
{
    return !is_plain(kind) && kind != IPT_INSN_JMP && kind != IPT_INSN_CALL;
}

/* The depth of libipt's return stack: only compressed returns pop. */
static void count_calls(const code *c, uint64_t to)
{
    const unsigned top = out.gen.calls_.at.top + IPT_RETURN_STACK_ - 1u;
    const int call = c->kind == IPT_INSN_CALL_INDIRECT
                     || (c->kind == IPT_INSN_CALL && to != next_ip(c, 0));

    if (call && out.depth < IPT_RETURN_STACK_)
        out.depth++;
    else if (c->kind == IPT_INSN_RET && out.gen.calls_.at.count > 0
             && out.gen.calls_.ip[top % IPT_RETURN_STACK_] == to)
        out.depth--;
}

static void gen_branch(const code *c, uint64_t to)
{
    if (is_plain(c->kind))
        return;
    if (is_traced(c->kind)) {
        out.edges = (edge *) grow(out.edges, out.edge_count, &out.edge_room,
                                  sizeof(edge));
        out.edges[out.edge_count].index = out.count - 1;
        out.edges[out.edge_count].id = (uint32_t) (c - codes);
        out.edges[out.edge_count].nr = out.nrs[out.count - 1];
        out.edges[out.edge_count].to_nr = out.nr;
        out.edges[out.edge_count++].to = to;
        out.proven = out.count;
    }
    make_room();
    count_calls(c, to);
    settle(ipt_gen_branch(&out.gen, c->kind, c->ip, c->size, to), "branch");
}

static void tick(void)
{
    out.gen.clock += 1 + (random64() & 3);
}

static void enable(uint64_t ip)
{
    if (out.on)
        return;
    both(event(IPT_EVT_ENABLED, ip, 0));
    out.on = 1;
}

/* ---- filters ---- */

static int inside(uint64_t ip, uint8_t kind)
{
    unsigned i;

    for (i = 0; i < IPT_FILTERS; i++)
        if (out.filter[i].kind == kind && ip >= out.filter[i].first
            && ip <= out.filter[i].last)
            return 1;
    return 0;
}

static int traced(uint64_t ip)
{
    if (!(out.model->with & (FILTER | STOP)))
        return 1;
    return !out.stopped && !inside(ip, IPT_FILTER_STOP)
           && (!(out.model->with & FILTER) || inside(ip, IPT_FILTER_TRACE));
}

static void pick_filters(void)
{
    unsigned n = 0;
    unsigned i;

    memset(out.filter, 0, sizeof(out.filter));
    for (i = 0; i < 3 && out.model->with & FILTER; i++) {
        const uint64_t ip = codes[rec.ids[below(rec.count)]].ip;
        out.filter[n].first = ip - (ip & 0xffff);
        out.filter[n].last = i == 0 ? ip | 0xffff : ip;
        out.filter[n++].kind = IPT_FILTER_TRACE;
    }
    if (out.model->with & STOP) {
        const uint64_t ip = codes[rec.ids[below(rec.count)]].ip;
        out.filter[n].first = ip - 64;
        out.filter[n].last = ip;
        out.filter[n].kind = IPT_FILTER_STOP;
    }
}

/* Flow leaves the filter, from the last instruction listed. */
static void leave(const code *c, uint64_t to)
{
    out.walked_out |= (uint8_t) is_plain(c->kind);
    both(event(IPT_EVT_DISABLED, 0, to));
    out.on = 0;
    if (inside(to, IPT_FILTER_STOP)) {
        both(event(IPT_EVT_STOP, NOWHERE, 0));
        out.stopped = 1;
    }
}

/* ---- interrupts and VM exits, before the instruction at ip ---- */

/* Mode and RFLAGS.IF from ip on, where flow goes next. */
static void set_mode(uint8_t to, uint8_t iflag, uint64_t ip)
{
    const int events = out.model->with & EVENTS;
    ipt_event e = event(IPT_EVT_EXEC_MODE, ip, 0);

    if (!events && to == out.mode)
        return;
    e.u.exec.mode = to;
    e.u.exec.iflag = events ? iflag : 0;
    gen_event(e);
    if (to != out.mode)
        expect(e, out.count);
    out.mode = to;
    e.type = IPT_EVT_IFLAGS;
    if (events && iflag != out.iflag)
        expect(e, out.count);
    out.iflag = iflag;
}

static ipt_event cfe(uint8_t type, uint8_t vector, uint64_t ip)
{
    ipt_event e = event(IPT_EVT_CFE, ip, 0);

    e.u.cfe.type = type;
    e.u.cfe.vector = vector;
    e.u.cfe.has = type == IPT_CFE_INTR ? IPT_CFE_HAS_VECTOR : 0;
    return e;
}

static void run_isr(unsigned n, uint64_t to)
{
    const code *c = &codes[isr_code + n];

    tick();
    list((uint32_t) (isr_code + n));
    gen_branch(c, to);
}

static void interrupt(uint64_t ip)
{
    ipt_event e;
    ipt_event ptw = event(IPT_EVT_PTWRITE, isr + 1, 0);
    const int taken = (int) below(2);
    const uint64_t branches = out.place_count;

    if (out.model->with & EVENTS) {
        e = cfe(IPT_CFE_INTR, (uint8_t) below(256), ip);
        expect(e, out.count);
        e.flags = IPT_EVENT_NO_IP; /* shares the FUP to come */
        gen_event(e);
    }
    e = event(IPT_EVT_ASYNC_BRANCH, ip, isr);
    expect(e, out.count);
    set_mode(IPT_MODE_64, 0, isr);
    gen_event(e);
    out.proven = out.count;
    run_isr(PUSH, 0);
    tick();
    list((uint32_t) (isr_code + PTWRITE));
    ptw.u.ptwrite.payload = random64();
    ptw.u.ptwrite.size = 8;
    if (branches & 1) {
        ptw.flags = IPT_EVENT_NO_IP;
        ptw.u.ptwrite.payload = (uint32_t) ptw.u.ptwrite.payload;
        ptw.u.ptwrite.size = 4;
    }
    both(ptw);
    run_isr(JE, taken ? isr + 10 : isr + 8);
    if (!taken)
        run_isr(NOP, 0);
    run_isr(CALL, isr + 17);
    run_isr(RET, isr + 15);
    run_isr(JMP, isr + 18);
    run_isr(POP, 0);
    tick();
    list((uint32_t) (isr_code + IRET));
    if (out.model->with & EVENTS) {
        e = cfe(IPT_CFE_IRET, 0, NOWHERE);
        both(e);
    }
    set_mode(mode, 1, ip);
    gen_branch(&codes[isr_code + IRET], ip);
}

static ipt_event paging(uint8_t type, uint64_t cr3, uint8_t nr, uint64_t ip)
{
    ipt_event e = event(type, ip, 0);

    out.crossings += out.cr3 != IPT_ASID_UNKNOWN && out.nr != nr;
    out.cr3 = e.u.paging.cr3 = cr3;
    out.nr = e.u.paging.nr = nr;
    return e;
}

static void run_host(unsigned n, uint64_t to)
{
    tick();
    list((uint32_t) (host_code + n));
    gen_branch(&codes[host_code + n], to);
}

static void vm_exit(uint64_t ip)
{
    const uint64_t host = codes[host_code].ip;
    ipt_event e;

    if (below(4) == 0) { /* to a host that is not traced, and back */
        both(event(IPT_EVT_ASYNC_DISABLED, ip, NOWHERE));
        e = event(IPT_EVT_ENABLED, ip, 0);
        e.flags = IPT_EVENT_STATUS;
        gen_event(e);
        e.flags = 0;
        expect(e, out.count); /* after its PSB+ */
        out.proven = out.count;
        return;
    }
    expect(event(IPT_EVT_ASYNC_BRANCH, ip, host), out.count);
    e = paging(IPT_EVT_ASYNC_PAGING, HOST_CR3, 0, host);
    expect(e, out.count);
    gen_event(e);
    set_mode(IPT_MODE_64, out.iflag, host);
    gen_event(event(IPT_EVT_ASYNC_BRANCH, ip, host));
    out.proven = out.count;
    run_host(NOP2, 0);
    tick();
    list((uint32_t) (host_code + VMPTRLD));
    e = event(IPT_EVT_VMCS, NOWHERE, 0);
    e.u.vmcs.base = GUEST_VMCS + 0x1000 * below(3);
    both(e);
    run_host(JE2, host + 6);
    tick();
    list((uint32_t) (host_code + MOV_CR3));
    both(paging(IPT_EVT_PAGING, HOST_CR3_2, 0, NOWHERE));
    tick();
    list((uint32_t) (host_code + VMRESUME));
    both(paging(IPT_EVT_PAGING, GUEST_CR3, 1, NOWHERE));
    set_mode(mode, out.iflag, ip);
    gen_branch(&codes[host_code + VMRESUME], ip);
}

/* ---- transactions ---- */

static void begin_transaction(size_t i)
{
    ipt_event e = event(IPT_EVT_TSX, codes[rec.ids[i]].ip, 0);

    e.u.tsx.speculative = 1;
    out.speculative = 1;
    out.begun = i;
    out.begun_changes = out.change_count;
    both(e);
}

/* A transaction commits; or it aborts, and what it did is done once more,
 * unless code changed meanwhile. Returns where the program goes on, before
 * `i`. */
static size_t end_transaction(size_t i, uint64_t ip)
{
    const int again = i > out.begun && out.change_count == out.begun_changes;
    ipt_event e = event(IPT_EVT_TSX, ip, 0);

    e.u.tsx.aborted = (uint8_t) below(2);
    out.speculative = 0;
    both(e);
    if (!e.u.tsx.aborted)
        return i;
    i = again ? out.begun : i;
    both(event(IPT_EVT_ASYNC_BRANCH, ip, again ? codes[rec.ids[i]].ip : ip));
    return i;
}

/* ---- the whole trace ---- */

/* A new core:bus ratio. Where in flow it came only the branches show. */
static void change_ratio(void)
{
    ipt_event e = event(IPT_EVT_CBR, NOWHERE, 0);

    e.u.cbr.ratio = (uint8_t) (LEAST_RATIO + below(30));
    expect(e, out.proven);
    gen_event(e);
}

/* A signal: its handler runs next. */
static void signal_jump(const jump *j)
{
    if (out.speculative)
        end_transaction(0, j->from);
    if (!out.on)
        return;
    if (out.model->kind == USER) {
        both(event(IPT_EVT_ASYNC_DISABLED, j->from, NOWHERE));
        out.on = 0;
    } else {
        both(event(IPT_EVT_ASYNC_BRANCH, j->from, j->to));
    }
}

/* Instruction i executed, and flow is at `to` now. */
static void execute(size_t i, uint64_t to)
{
    const code *c = &codes[rec.ids[i]];
    const int far = ipti_kind_far(c->kind);

    list(rec.ids[i]);
    if (out.model->kind == USER && far) {
        both(event(IPT_EVT_DISABLED, 0, NOWHERE));
        out.on = 0;
        out.stopped = 0;
    } else if (to != NOWHERE && !traced(to)) {
        leave(c, to);
    } else if (to != NOWHERE) {
        gen_branch(c, to);
    }
}

static void lose_one(uint32_t id)
{
    out.lost = (uint32_t *) grow(out.lost, out.lost_count, &out.lost_room, 4);
    out.lost[out.lost_count++] = id;
}

/* Loss: what was not proven is not there. Returns where trace goes on. */
static size_t lose(size_t i, size_t *next_jump)
{
    const size_t end = i + 1 + below(below(8) ? 200 : 20000);
    loss *l;
    size_t c;
    ipt_event e;

    out.losses = (loss *) grow(out.losses, out.loss_count, &out.loss_room,
                               sizeof(loss));
    l = &out.losses[out.loss_count++];
    l->index = out.proven;
    l->first = out.lost_count;
    for (c = out.proven; c < out.count; c++)
        lose_one(out.ids[c]);
    out.count = out.proven;
    for (c = out.change_count; c-- > 0 && out.changes[c].index > out.count;)
        out.changes[c].index = out.count;
    for (; i < end && i < rec.count; i++) {
        while (*next_jump < rec.jump_count && rec.jumps[*next_jump].index <= i)
            ++*next_jump;
        if (traced(codes[rec.ids[i]].ip)) {
            lose_one(rec.ids[i]);
            out.ran++;
        }
        out.gen.clock += 2;
    }
    l->count = out.lost_count - l->first;
    while (*next_jump < rec.jump_count && rec.jumps[*next_jump].index <= i)
        ++*next_jump;
    out.on = 0;
    e = event(IPT_EVT_OVERFLOW, NOWHERE, 0);
    if (i < rec.count && traced(codes[rec.ids[i]].ip) && below(3)) {
        e = event(IPT_EVT_OVERFLOW, codes[rec.ids[i]].ip, 0);
        out.on = 1;
    }
    both(e);
    return i;
}

static uint32_t psb_distance = UINT32_MAX; /* bytes, at most */

static void configure(const model *m)
{
    memset(&out.config, 0, sizeof(out.config));
    out.config.flags = m->flags;
    out.config.psb_period = m->psb_period < psb_distance ? m->psb_period
                                                         : psb_distance;
    out.config.tsc = 0x123456789a;
    out.config.cpuid_15_eax = 2;
    out.config.cpuid_15_ebx = 168;
    out.config.mtc_freq = 3;
    out.config.nom_freq = NOMINAL;
    out.config.cbr = m->flags & (IPT_GEN_TSC | IPT_GEN_CYC) ? 24 : 0;
    if (m->with & EXACT)
        out.config.cbr = out.config.nom_freq;
    settle(ipt_gen_init(&out.gen, &out.config, mode), "init");
}

/* The trace up to where the program begins. */
static void begin_trace(const model *m, uint64_t seed)
{
    size_t i;

    out.model = m;
    random_state = seed;
    isr = m->with & LOW ? LOW_ISR : ISR;
    for (i = isr_code; i < host_code; i++) {
        codes[i].ip = isr + (codes[i].ip & 0xff);
        write_code(&codes[i], ~0u);
    }
    out.depth = 0;
    configure(m);
    out.trace_room = 0;
    free(out.trace);
    out.trace = NULL;
    out.count = out.proven = out.place_count = out.change_count = 0;
    out.sync_count = 0;
    out.lost_count = out.loss_count = out.edge_count = 0;
    out.ran = out.crossings = 0;
    out.psb = 0; /* the first one is not a place to begin in the middle */
    out.cr3 = IPT_ASID_UNKNOWN;
    out.nr = out.on = out.stopped = out.speculative = 0;
    out.strayed = out.walked_out = 0;
    out.mode = mode;
    out.iflag = 1;
    pick_filters();
    if (m->with & EVENTS) {
        ipt_event e = event(IPT_EVT_EXEC_MODE, 0, 0);
        e.u.exec.mode = mode;
        e.u.exec.iflag = 1;
        gen_event(e);
    }
    if (m->kind == GUEST)
        both(paging(IPT_EVT_PAGING, GUEST_CR3, 1, NOWHERE));
}

/* Code that changes before instruction i. Returns the next change. */
static size_t change_code(size_t next, size_t i)
{
    while (next < rec.change_count && rec.changes[next].index <= i) {
        out.changes = (change *) grow(out.changes, out.change_count,
                                      &out.change_room, sizeof(change));
        out.changes[out.change_count] = rec.changes[next++];
        out.changes[out.change_count++].index = out.count;
    }
    return next;
}

/* What a model adds before instruction i. */
static void happen(const model *m, size_t i)
{
    const code *c = &codes[rec.ids[i]];

    if (m->kind == KERNEL)
        interrupt(c->ip);
    else if (m->kind == GUEST && below(2))
        interrupt(c->ip);
    else if (m->kind == GUEST)
        vm_exit(c->ip);
    if (m->with & TSX && !ipti_kind_far(c->kind))
        begin_transaction(i);
}

static void generate(const model *m, uint64_t seed)
{
    size_t jumps = 0;
    size_t changes = 0;
    size_t next_extra = 100;
    size_t next_loss;
    size_t i;

    begin_trace(m, seed);
    next_loss = m->with & LOSS ? 1 + below(2000) : SIZE_MAX;
    for (i = 0; i < rec.count; i++) {
        const code *c = &codes[rec.ids[i]];
        uint64_t to;

        while (jumps < rec.jump_count && rec.jumps[jumps].index == i)
            signal_jump(&rec.jumps[jumps++]);
        changes = change_code(changes, i);
        if (!traced(c->ip)) {
            if (out.stopped && ipti_kind_far(c->kind))
                out.stopped = 0;
            continue;
        }
        tick();
        if (out.speculative && (ipti_kind_far(c->kind) || below(20) == 0)) {
            const size_t next = end_transaction(i, c->ip);
            if (next < i) {
                i = next - 1;
                continue;
            }
        }
        if (i >= next_loss && !out.speculative) {
            i = lose(i, &jumps) - 1;
            next_loss = i + 1 + below(200000);
            continue;
        }
        enable(c->ip);
        if (m->with & RATIO && below(5000) == 0)
            change_ratio();
        if (i >= next_extra && !out.speculative) {
            next_extra = i + 1 + below(3000);
            happen(m, i);
        }
        to = i + 1 < rec.count ? codes[rec.ids[i + 1]].ip : NOWHERE;
        if (jumps < rec.jump_count && rec.jumps[jumps].index == i + 1)
            to = rec.jumps[jumps].from;
        execute(i, to);
        if (out.count > rec.count + (rec.count >> 1) + 100000)
            break;
    }
    make_room();
    settle(ipt_gen_flush(&out.gen), "flush");
    if (out.count + out.lost_count != out.ran)
        fatal("%zu instructions in the trace and %zu lost are not the %" PRIu64
              " that ran", out.count, out.lost_count, out.ran);
    out.count = out.proven;
}

/* ---- verification ---- */

static struct {
    size_t index;
    size_t place;
    size_t change;
    uint64_t cr3;
    ipt_cache *cache;
    uint8_t nr;
    uint8_t mode;
    uint8_t speculative;
    uint64_t error;   /* of time, the largest */
    size_t resumed;   /* losses after which an instruction came */
    unsigned gap;     /* gaps passed */
    size_t crossings; /* of the border between host and guest */
    uint8_t resync;   /* an instruction after lost trace is to come */
    uint8_t iflag;    /* 2: not known */
    char why[400];
} at;

static int bad(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(at.why, sizeof(at.why), format, args);
    va_end(args);
    return -1;
}

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const page *p = NULL;
    size_t n;

    (void) context;
    if (out.model->kind == GUEST && asid->nr == 0) {
        uint8_t host[16];
        const uint64_t from = ip - codes[host_code].ip;
        for (n = 0; n < HOST_COUNT; n++)
            memcpy(host + (codes[host_code + n].ip - codes[host_code].ip),
                   codes[host_code + n].bytes, codes[host_code + n].size);
        for (n = 0; n < size && from + n < 12; n++)
            buffer[n] = host[from + n];
        return n ? (int) n : IPT_NEED_PAGE;
    }
    for (n = 0; n < size; n++, ip++) {
        if (n == 0 || ip % PAGE == 0)
            p = find_page(ip);
        if (!p || !p->have[ip % PAGE])
            break;
        buffer[n] = p->bytes[ip % PAGE];
    }
    return n ? (int) n : IPT_NEED_PAGE;
}

static void forget(uint64_t from, uint64_t to)
{
    if (at.cache && from < to)
        ipt_cache_invalidate(at.cache, NULL, from, to - from);
}

static void apply_changes(void)
{
    uint64_t from = 0; /* all that changes close together, at once */
    uint64_t to = 0;

    while (at.change < out.change_count
           && out.changes[at.change].index <= at.index) {
        const code *c = &codes[out.changes[at.change].id];
        write_code(c, out.changes[at.change++].bytes);
        if (from == to || c->ip + PAGE < to || c->ip > from + PAGE) {
            forget(from, to);
            from = c->ip;
            to = c->ip + c->size;
        }
        if (from > c->ip)
            from = c->ip;
        if (to < c->ip + c->size)
            to = c->ip + c->size;
    }
    forget(from, to);
}

/* Where flow is; NOWHERE if what was there got lost. */
static uint64_t here(void)
{
    size_t i;

    for (i = at.place;
         i < out.place_count && out.places[i].index == at.index; i++) {
        const ipt_event *e = &out.places[i].event;
        if (e->type == IPT_EVT_ASYNC_BRANCH || e->type == IPT_EVT_ASYNC_DISABLED
            || e->type == IPT_EVT_TSX)
            return e->ip;
        if (e->type == IPT_EVT_OVERFLOW || e->type == IPT_EVT_DISABLED)
            return NOWHERE;
    }
    return at.index < out.count ? codes[out.ids[at.index]].ip : NOWHERE;
}

/* PSB+ repeats the state. */
static int check_status(const ipt_event *e)
{
    const uint8_t no_ip = e->flags & IPT_EVENT_NO_IP;

    switch (e->type) {
    case IPT_EVT_EXEC_MODE:
        if (e->u.exec.mode != at.mode)
            return bad("PSB+ has mode %u", e->u.exec.mode);
        break;
    case IPT_EVT_ASYNC_PAGING:
        if (e->u.paging.cr3 != at.cr3 || e->u.paging.nr != at.nr)
            return bad("PSB+ has cr3 %" PRIx64 ".%u, not %" PRIx64,
                       e->u.paging.cr3, e->u.paging.nr, at.cr3);
        break;
    case IPT_EVT_TSX:
        if (e->u.tsx.speculative != at.speculative)
            return bad("PSB+ has a transaction");
        break;
    default:
        break;
    }
    if (e->type == IPT_EVT_ENABLED && !no_ip && !out.only && here() != NOWHERE
        && e->ip != here())
        return bad("PSB+ has IP %" PRIx64 ", flow is at %" PRIx64, e->ip,
                   here());
    return 0;
}

static int same_data(const ipt_event *e, const ipt_event *w)
{
    switch (e->type) {
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_BRANCH:
        return ((e->flags ^ w->flags) & IPT_EVENT_NO_TO) == 0
               && (w->flags & IPT_EVENT_NO_TO
                   || e->u.branch.to == w->u.branch.to);
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        return e->u.paging.cr3 == w->u.paging.cr3
               && e->u.paging.nr == w->u.paging.nr;
    case IPT_EVT_VMCS:
        return e->u.vmcs.base == w->u.vmcs.base;
    case IPT_EVT_TSX:
        return e->u.tsx.speculative == w->u.tsx.speculative
               && e->u.tsx.aborted == w->u.tsx.aborted;
    case IPT_EVT_PTWRITE:
        return e->u.ptwrite.payload == w->u.ptwrite.payload
               && e->u.ptwrite.size == w->u.ptwrite.size;
    case IPT_EVT_CFE:
        return e->u.cfe.type == w->u.cfe.type && e->u.cfe.has == w->u.cfe.has
               && (!(w->u.cfe.has & IPT_CFE_HAS_VECTOR)
                   || e->u.cfe.vector == w->u.cfe.vector);
    case IPT_EVT_EXEC_MODE:
        return e->u.exec.mode == w->u.exec.mode;
    case IPT_EVT_IFLAGS:
        return e->u.exec.iflag == w->u.exec.iflag;
    case IPT_EVT_CBR:
        return e->u.cbr.ratio == w->u.cbr.ratio;
    default:
        return 1;
    }
}

/* An MTC is exact, and CYCs add to it, rounded down: time is late. It is early
 * where the length of a cycle was measured between two MTCs: each stands at the
 * first cycle after its moment, so that there may be one more cycle between
 * them, and time gains at most one cycle by the next MTC.
 *
 * From OVF to the next measure a cycle has no length, and time stands still,
 * unless the config says that it keeps its length. Then, and with cycles of
 * one tick, there is no error. */
static int check_time(const ipt_event *e, uint64_t tsc)
{
    const int exact = (out.model->with & EXACT) != 0;
    const uint64_t late = e->tsc < tsc ? tsc - e->tsc : 0;
    const uint64_t early = e->tsc > tsc ? e->tsc - tsc : 0;
    uint64_t most = exact ? 0 : ROUNDING;

    if (!exact && out.model->with & LOSS)
        most += MTC_PERIOD;
    if (at.error < late)
        at.error = late;
    if (late > most || early > (exact ? 0 : CYCLE))
        return bad("event %s at tsc %" PRIx64 ", was at %" PRIx64,
                   ipt_evt_name(e->type), e->tsc, tsc);
    return 0;
}

/* ---- trace that is missing ---- */

#define GAPS 4

static struct {
    struct {
        uint64_t from; /* offsets in the trace */
        uint64_t to;
        size_t index;           /* what is proven before it */
        const sync_point *sync; /* where flow is taken up, NULL: nowhere */
    } gap[GAPS];
    unsigned count;
    uint64_t size; /* of the trace, 0: the whole */
    ipt_segment piece[2 * GAPS + 1];
} cut;

static void decoder_trace(ipt_trace *trace)
{
    uint64_t from = 0;
    unsigned i;

    memset(trace, 0, sizeof(*trace));
    memset(cut.piece, 0, sizeof(cut.piece));
    for (i = 0; i < cut.count && !cut.size; i++) {
        cut.piece[2 * i].data = out.trace + from;
        cut.piece[2 * i].size = cut.gap[i].from - from;
        from = cut.gap[i].to;
        cut.piece[2 * i + 1].size = from - cut.gap[i].from;
    }
    cut.piece[2 * i].data = out.trace + from;
    cut.piece[2 * i].size = (cut.size ? cut.size : out.gen.used) - from;
    trace->seg = cut.piece;
    trace->count = 2 * i + 1;
}

/* Go on at a PSB+. */
static void place_at(const sync_point *s)
{
    at.iflag = 2;
    at.index = s->index;
    at.place = s->event;
    at.cr3 = s->cr3;
    at.nr = s->nr;
    at.mode = s->mode;
    at.speculative = s->speculative;
}

static int check_gap(const ipt_event *e)
{
    const uint64_t size = cut.gap[at.gap % GAPS].to
                          - cut.gap[at.gap % GAPS].from;

    if (at.gap == cut.count)
        return bad("a gap of %" PRIu64 " bytes", e->u.gap.lost);
    if (e->u.gap.lost < size || e->u.gap.lost >= size + 16)
        return bad("a gap of %" PRIu64 " bytes, not %" PRIu64, e->u.gap.lost,
                   size);
    if (at.index != cut.gap[at.gap].index)
        return bad("a gap after %zu, not %zu", at.index,
                   cut.gap[at.gap].index);
    at.resync = 1;
    if (cut.gap[at.gap].sync) {
        place_at(cut.gap[at.gap].sync);
        apply_changes();
    } else {
        at.index = out.count;
        at.place = out.place_count;
    }
    at.gap++;
    return 0;
}

/* An OVF at the end of a piece: where its FUP is, or would be, is missing. */
static int is_cut_off(const ipt_event *e)
{
    const uint64_t end = cut.size              ? cut.size
                         : at.gap < cut.count ? cut.gap[at.gap].from
                                              : UINT64_MAX;

    return e->type == IPT_EVT_OVERFLOW && e->flags & IPT_EVENT_NO_IP
           && e->offset < end && end - e->offset < 64;
}

static int check_event(const ipt_event *e)
{
    const ipt_event *w;
    uint8_t mask = IPT_EVENT_NO_IP;

    if (e->type == IPT_EVT_GAP)
        return check_gap(e);
    if (e->flags & IPT_EVENT_STATUS)
        return check_status(e);
    if (e->type == IPT_EVT_CFE && e->u.cfe.has & IPT_CFE_INFERRED) {
        at.crossings++;
        if (e->u.cfe.type
            != (at.crossings & 1 ? IPT_CFE_VMEXIT : IPT_CFE_VMENTRY))
            return bad("CFE %u at border crossing %zu", e->u.cfe.type,
                       at.crossings);
        return 0;
    }
    if (e->type == IPT_EVT_EXEC_MODE && e->u.exec.mode == at.mode)
        return 0; /* after an OVF it need not be news */
    if (e->type == IPT_EVT_CBR && e->u.cbr.ratio == out.config.cbr
        && at.index == 0)
        return 0;
    if (e->type == IPT_EVT_IFLAGS
        && (at.iflag == 2 || e->u.exec.iflag == at.iflag)
        && !(at.place < out.place_count
             && out.places[at.place].index == at.index
             && out.places[at.place].event.type == IPT_EVT_IFLAGS))
        return 0;
    if (at.place == out.place_count)
        return bad("no event %s is left", ipt_evt_name(e->type));
    w = &out.places[at.place].event;
    if (e->type == w->type && at.gap < cut.count
        && at.index == cut.gap[at.gap].index
        && at.index + 1 == out.places[at.place].index && same_data(e, w)) {
        at.place++; /* of an instruction whose proof is in the gap */
        return 0;
    }
    if (w->type == IPT_EVT_DISABLED || w->type == IPT_EVT_IFLAGS
        || is_cut_off(e))
        mask = 0;
    if (w->type == IPT_EVT_PTWRITE && !(e->flags & IPT_EVENT_NO_IP)
        && e->ip == w->ip)
        mask = 0; /* the decoder has found its instruction */
    if (e->type != w->type || out.places[at.place].index != at.index
        || ((e->flags ^ w->flags) & mask)
        || (mask && !(w->flags & mask) && e->ip != w->ip) || !same_data(e, w))
        return bad("event %s ip %" PRIx64 " flags %x data %" PRIx64 " after "
                   "%zu, expected %s ip %" PRIx64 " flags %x data %" PRIx64
                   " after %zu",
                   ipt_evt_name(e->type), e->ip, e->flags, e->u.branch.to,
                   at.index, ipt_evt_name(w->type), w->ip, w->flags,
                   w->u.branch.to, out.places[at.place].index);
    if (e->type == IPT_EVT_PAGING || e->type == IPT_EVT_ASYNC_PAGING) {
        at.cr3 = w->u.paging.cr3;
        at.nr = w->u.paging.nr;
    }
    if (e->type == IPT_EVT_OVERFLOW)
        at.resync = 1;
    if ((out.config.flags & ALL_TIME) == ALL_TIME && e->flags & IPT_EVENT_TSC
        && check_time(e, w->tsc) < 0)
        return -1;
    if (e->type == IPT_EVT_IFLAGS) {
        at.iflag = w->u.exec.iflag;
    } else if (e->type == IPT_EVT_EXEC_MODE) {
        at.mode = w->u.exec.mode;
    } else if (e->type == IPT_EVT_TSX) {
        at.speculative = w->u.tsx.speculative;
    }
    at.place++;
    return 0;
}

/* The next `count` instructions are these. */
static int check_insns(uint64_t ip, uint64_t end_ip, unsigned count,
                       uint8_t kind, uint8_t last_size, uint8_t insn_mode,
                       uint16_t flags)
{
    unsigned i;
    const code *c;

    if (at.index + count > out.count)
        return bad("%u instructions at %" PRIx64 ", %zu are left", count, ip,
                   out.count - at.index);
    for (i = 0; i + 1 < count; i++)
        if (is_traced(codes[out.ids[at.index + i]].kind))
            return bad("block at %" PRIx64 " goes past %" PRIx64, ip,
                       codes[out.ids[at.index + i]].ip);
    if (ip != codes[out.ids[at.index]].ip)
        return bad("%" PRIx64 " instead of %" PRIx64, ip,
                   codes[out.ids[at.index]].ip);
    c = &codes[out.ids[at.index + count - 1]];
    if (end_ip != c->ip)
        return bad("block %" PRIx64 " ends at %" PRIx64 ", not %" PRIx64, ip,
                   end_ip, c->ip);
    if (kind != c->kind || (last_size && last_size != c->size)
        || insn_mode != c->mode)
        return bad("kind %u size %u mode %u at %" PRIx64
                   ", not kind %u size %u mode %u",
                   kind, last_size, insn_mode, end_ip, c->kind, c->size,
                   c->mode);
    if (at.place < out.place_count
        && out.places[at.place].index < at.index + count)
        return bad("event %s after %zu is missing",
                   ipt_evt_name(out.places[at.place].event.type),
                   out.places[at.place].index);
    if (!!(flags & IPT_FLOW_SPECULATIVE) != at.speculative)
        return bad("%" PRIx64 " is %sspeculative", ip,
                   at.speculative ? "" : "not ");
    if (!!(flags & IPT_FLOW_RESYNCED) != at.resync)
        return bad("%" PRIx64 " is %safter a loss", ip,
                   at.resync ? "" : "not ");
    at.resumed += at.resync;
    at.resync = 0;
    at.index += count;
    apply_changes();
    return 0;
}

/* Before an instruction: is the address space right? */
static int check_asid(const ipt_where *where)
{
    if (where->asid.cr3 != at.cr3 || where->asid.nr != at.nr)
        return bad("cr3 %" PRIx64 ".%u, not %" PRIx64 ".%u", where->asid.cr3,
                   where->asid.nr, at.cr3, at.nr);
    return 0;
}

/* How often something comes after a loss. */
static size_t resumptions(void)
{
    size_t n = 0;
    size_t i;

    for (i = 0; i < out.loss_count; i++) /* two may stand at one place */
        n += out.losses[i].index < out.count
             && (i == 0 || out.losses[i - 1].index < out.losses[i].index);
    return n;
}

typedef struct variant {
    uint8_t blocks;
    uint8_t zydis;
    uint32_t lines;
} variant;

static ipt_cache_line lines[1 << 16];

static void decoder_config(ipt_config *config)
{
    memset(config, 0, sizeof(*config));
    config->read = read_code;
    config->flags = out.config.flags & IPT_CONFIG_NO_RETCOMP;
    if (out.model->with & EVENTS)
        config->flags |= IPT_CONFIG_IFLAGS;
    if (out.model->with & EXACT)
        config->flags |= IPT_CONFIG_KEEP_TCAL;
    config->flags |= out.only;
    config->cpuid_15_eax = out.config.cpuid_15_eax;
    config->cpuid_15_ebx = out.config.cpuid_15_ebx;
    config->mtc_freq = out.config.mtc_freq;
    config->nom_freq = out.config.nom_freq;
}

static ipt_insn_decoder insns;
static ipt_blk_decoder blocks;
static hot_pair *hot; /* hot traces are built of blocks, too; NULL: not now */

/* Make a decoder, and begin at a PSB. */
static int begin_decode(const variant *v, const sync_point *from)
{
    static ipt_cache cache;
    static ipt_config config;
    static ipt_trace trace;
    int status;

    decoder_config(&config);
    decoder_trace(&trace);
#ifdef HAVE_ZYDIS
    if (v->zydis)
        config.classify = ipt_zydis_classify;
#endif
    memset(&at, 0, sizeof(at));
    at.cr3 = IPT_ASID_UNKNOWN;
    if (v->lines) {
        status = ipt_cache_init(&cache, lines, v->lines);
        if (status < 0)
            return status;
        at.cache = &cache;
    }
    at.iflag = 1;
    at.mode = mode;
    if (from)
        place_at(from);
    apply_changes();
    status = v->blocks ? ipt_blk_init(&blocks, &config, &trace, at.cache)
                       : ipt_insn_init(&insns, &config, &trace, at.cache);
    if (status < 0)
        return status;
    if (v->blocks)
        return from ? ipt_blk_sync_set(&blocks, from->offset)
                    : ipt_blk_sync_forward(&blocks);
    return from ? ipt_insn_sync_set(&insns, from->offset)
                : ipt_insn_sync_forward(&insns);
}

/* What comes next is right. Returns the decoder's status; *good is 0 if it is
 * not. */
static int decode_next(const variant *v, int *good)
{
    int status;

    if (v->blocks) {
        const ipt_asid asid = blocks.at.asid;
        ipt_block b;
        status = ipt_blk_next(&blocks, &b);
        if (status >= 0 && hot)
            pair_feed(hot, &b, &asid);
        if (status >= 0)
            *good = check_insns(b.ip, b.end_ip, b.count, b.kind, b.last_size,
                                b.mode, b.flags) >= 0;
    } else {
        ipt_insn n;
        status = ipt_insn_next(&insns, &n);
        if (status >= 0)
            *good = check_insns(n.ip, n.ip, 1, n.kind, n.size, n.mode,
                                n.flags) >= 0;
    }
    return status == IPT_EVENT_FIRST ? (int) IPT_EVENT_PENDING : status;
}

/* Is all there, after the last instruction? */
static int check_end(const sync_point *from)
{
    if (out.only == IPT_CONFIG_VMX_EVENTS && at.crossings != out.crossings)
        return bad("%zu VM exits and entries, not %zu", at.crossings,
                   out.crossings);
    if (at.gap != cut.count)
        return bad("%u gaps, not %u", at.gap, cut.count);
    if (!from && !cut.count && at.resumed != resumptions())
        return bad("%zu resumptions, not %zu", at.resumed, resumptions());
    if (at.index != out.count || at.place != out.place_count)
        return bad("the end after %zu of %zu instructions, %zu of %zu events",
                   at.index, out.count, at.place, out.place_count);
    return 0;
}

/* Decode from a PSB up to `end` instructions. */
static int decode(const variant *v, const sync_point *from, size_t end)
{
    const ipt_where *where = v->blocks ? &blocks.at : &insns.at;
    int status = begin_decode(v, from);
    int good = 1;
    ipt_event e;

    while (status >= 0) {
        while (status > 0 && status & IPT_EVENT_PENDING) {
            status = v->blocks ? ipt_blk_event(&blocks, &e)
                               : ipt_insn_event(&insns, &e);
            if (status < 0)
                return bad("_event: %s", ipt_status_name(status));
            if (check_event(&e) < 0)
                return -1;
        }
        if (at.index >= end && end < out.count)
            return 0;
        if (check_asid(where) < 0 && at.index < out.count)
            return -1;
        status = decode_next(v, &good);
        if (!good)
            return -1;
    }
    if (cut.size && (status == IPT_ERR_TRUNCATED || status == IPT_END))
        return 0;
    if (status != IPT_END)
        return bad("%s at %" PRIx64, ipt_status_name(status), where->ip);
    return check_end(from);
}

#ifdef HAVE_LIBIPT
#include "libipt.h"
#endif

static void *room_for(size_t count, size_t size)
{
    void *p = malloc((count + 1) * size);

    if (!p)
        fatal("out of memory");
    return p;
}

#include "cover.h"
#include "perf.h"

/* ---- host and guest apart ---- */

/* Decoders that step over a world give these of its events nevertheless. */
static int is_always(uint8_t type)
{
    switch (type) {
    case IPT_EVT_ENABLED:
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
    case IPT_EVT_VMCS:
    case IPT_EVT_OVERFLOW:
    case IPT_EVT_EXEC_MODE:
    case IPT_EVT_CBR:
    case IPT_EVT_STOP:
    case IPT_EVT_CFE: /* VM exits are such */
        return 1;
    default:
        return 0;
    }
}

/* What is left of the truth for one who sees only one world. */
static void see_only(uint8_t nr)
{
    const output all = out;
    size_t *before = (size_t *) room_for(all.count, sizeof(size_t));
    size_t i;

    out.only = nr ? IPT_CONFIG_NON_ROOT_ONLY : IPT_CONFIG_ROOT_ONLY;
    out.ids = (uint32_t *) room_for(all.count, 4);
    out.places = (place *) room_for(all.place_count, sizeof(place));
    out.changes = (change *) room_for(all.change_count, sizeof(change));
    out.losses = (loss *) room_for(all.loss_count, sizeof(loss));
    out.edges = (edge *) room_for(all.edge_count, sizeof(edge));
    out.count = out.place_count = out.edge_count = 0;
    for (i = 0; i < all.count; i++) {
        before[i] = out.count;
        if (all.nrs[i] == nr)
            out.ids[out.count++] = all.ids[i];
    }
    before[i] = out.count;
    for (i = 0; i < all.place_count; i++) {
        place p = all.places[i];
        p.index = before[p.index];
        if (p.nr == nr || is_always(p.event.type))
            out.places[out.place_count++] = p;
    }
    for (i = 0; i < all.change_count; i++) {
        out.changes[i] = all.changes[i];
        out.changes[i].index = before[all.changes[i].index];
    }
    for (i = 0; i < all.loss_count; i++) {
        out.losses[i] = all.losses[i];
        out.losses[i].index = before[all.losses[i].index];
    }
    for (i = 0; i < all.edge_count; i++)
        if (all.edges[i].nr == nr && all.edges[i].to_nr == nr)
            out.edges[out.edge_count++] = all.edges[i];
    free(before);
}

static void see_all(const output *all)
{
    free(out.ids);
    free(out.places);
    free(out.changes);
    free(out.losses);
    free(out.edges);
    out = *all;
}

/* ---- cases ---- */

static const model models[] = {
    {"user", 0, 4096, USER, 0, 1},
    {"noretc", IPT_CONFIG_NO_RETCOMP, 4096, USER, 0, 0},
    {"tnt64-defer", IPT_GEN_TNT_64 | IPT_GEN_DEFER, 2048, USER, 0, 1},
    {"noretc-defer", IPT_CONFIG_NO_RETCOMP | IPT_GEN_TNT_64 | IPT_GEN_DEFER,
     1024, USER, 0, 1},
    {"one-psb", IPT_GEN_TNT_64, 0, USER, 0, 0},
    {"time", ALL_TIME, 2048, USER, RATIO, 1},
    {"mtc", IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_DEFER, 512, USER, RATIO, 0},
    {"loss", IPT_GEN_TSC, 2048, USER, LOSS, 1},
    {"loss-defer", ALL_TIME | IPT_GEN_DEFER | IPT_GEN_TNT_64, 4096, USER,
     LOSS | EXACT, 0},
    {"filter", 0, 1024, USER, FILTER, 1},
    {"filter-loss", ALL_TIME | IPT_GEN_DEFER, 1024, USER, FILTER | LOSS, 0},
    {"stop", IPT_GEN_TSC, 1024, USER, STOP, 1},
    {"stop-filter", IPT_GEN_TNT_64, 1024, USER, STOP | FILTER | LOSS, 0},
    {"filter-noretc", IPT_CONFIG_NO_RETCOMP, 1024, USER, STOP | FILTER | LOSS,
     0},
    {"tsx", 0, 2048, USER, TSX, 1},
    {"tsx-defer", ALL_TIME | IPT_GEN_TNT_64 | IPT_GEN_DEFER, 512, USER,
     TSX | EXACT, 0},
    {"kernel", 0, 2048, KERNEL, LOW, 0},
    {"kernel-events", ALL_TIME, 1024, KERNEL, EVENTS | LOW, 1},
    {"kernel-loss", IPT_GEN_TNT_64 | IPT_GEN_DEFER, 2048, KERNEL,
     EVENTS | LOSS, 0},
    {"guest", 0, 2048, GUEST, 0, 1},
    {"guest-all", ALL_TIME | IPT_GEN_TNT_64 | IPT_GEN_DEFER, 1024, GUEST,
     EVENTS | LOSS | TSX | EXACT, 1},
    {"kernel-noretc", IPT_CONFIG_NO_RETCOMP | IPT_GEN_TSC, 1024, KERNEL, LOSS,
     0},
    {"guest-libipt", IPT_CONFIG_NO_RETCOMP | IPT_GEN_TNT_64 | IPT_GEN_TSC, 2048,
     GUEST, LOSS | TSX, 1},
    {"guest-noretc", IPT_CONFIG_NO_RETCOMP | IPT_GEN_DEFER, 700, GUEST,
     LOSS | TSX, 0}};

static const variant variants[] = {
    {0, 0, 1 << 16}, {1, 0, 1 << 16}, {0, 0, 64}, {1, 0, 64}, {0, 0, 0},
    {1, 0, 0},       {0, 1, 1 << 16}, {1, 1, 1 << 16}, {0, 1, 64},
    {1, 1, 64},      {0, 1, 0},       {1, 1, 0}};

static const char *perf; /* the command; NULL: do not */
static const char *dir;  /* of the recording */
static uint64_t passed, failed, total;
static double gen_seconds, decode_seconds;
static uint64_t decoded;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* The code as it is in the beginning. */
static void first_memory(void)
{
    size_t i;

    free_pages();
    fill_memory(rec.ids, rec.count);
    for (i = isr_code; i < host_code; i++)
        write_code(&codes[i], ~0u);
}

/* Decode with the code as it was at a PSB+. */
static int decode_from(const variant *v, const sync_point *from, size_t end)
{
    size_t i;

    if (rec.change_count) {
        first_memory();
        for (i = 0; from && i < from->change; i++)
            write_code(&codes[out.changes[i].id], out.changes[i].bytes);
    }
    return decode(v, from, end);
}

static void check(const char *name, const variant *v, const sync_point *from,
                  size_t end)
{
    const double start = now();
    const int ok = decode_from(v, from, end) >= 0;

    decode_seconds += now() - start;
    if (!cut.count) {
        decoded += at.index - (from ? from->index : 0);
        total += at.index - (from ? from->index : 0);
    }
    passed += (uint64_t) ok;
    failed += (uint64_t) !ok;
    if (!ok)
        printf("FAIL %s %s %s %s %u lines from %s%" PRIx64
               "%s%s: instruction %zu: %s\n",
               name, out.model->name, v->blocks ? "blk" : "insn",
               v->zydis ? "zydis" : "built-in", v->lines,
               from ? "PSB " : "", from ? from->offset : 0,
               cut.count ? ", with gaps" : "",
               out.only ? ", one world" : "", at.index, at.why);
}

/* Take pieces out of the trace. What comes before a gap is what a trace that
 * ends there gives. Returns 0 if it is too small. */
static int make_gaps(void)
{
    size_t before = 0; /* a PSB+ that stays */
    size_t i = 0;

    memset(&cut, 0, sizeof(cut));
    while (cut.count < GAPS && i < out.sync_count) {
        const uint64_t from = out.syncs[before].offset + 300 + below(3000);
        const uint64_t to = from + 1 + below(6000);
        if (to >= out.gen.used)
            break;
        while (i < out.sync_count && out.syncs[i].offset + 300 < from)
            before = i++;
        cut.size = from;
        cut.gap[cut.count].index = SIZE_MAX; /* a failure will show there */
        if (decode_from(&variants[0], &out.syncs[before], SIZE_MAX) >= 0)
            cut.gap[cut.count].index = at.index;
        cut.size = 0;
        while (i < out.sync_count && out.syncs[i].offset < to)
            i++;
        cut.gap[cut.count].from = from;
        cut.gap[cut.count].to = to;
        cut.gap[cut.count].sync = i < out.sync_count ? &out.syncs[i] : NULL;
        cut.count++;
        before = i += below(3);
    }
    return cut.count > 0;
}

static void referee(const char *name, const char *who, int status)
{
    passed += status >= 0;
    failed += status < 0;
    if (status < 0)
        printf("FAIL %s %s %s: instruction %zu: %s\n", name, out.model->name,
               who, at.index, at.why);
}

/* Coverage, with memos and caches of all sizes. */
static void run_cover(const char *name, uint64_t seed, int quick)
{
    const uint32_t memo = 4u << seed % 13;
    const uint32_t size = 1 + (uint32_t) seed * 997 % MAP_SIZE;
    const uint32_t cache = seed % 11 ? 32u << seed % 11 : 0;
    const cover_case plain = {0, MAP_SIZE, 1 << 16, 0, 0};
    const cover_case memos = {MEMO_LINES, MAP_SIZE, 64, 0, 0};
    const cover_case sizes = {memo, size, cache, 0, 0};
    const cover_case pieces = {memo, MAP_SIZE, 64, 700, 0};
    const cover_case fuel = {memo, MAP_SIZE, cache, 200, 10};
    const cover_case bare = {0, 100, 0, 90, 3};
    const cover_case changing = {0, MAP_SIZE, 64, 0, 1};
    const cover_case changing_bare = {0, MAP_SIZE, 0, 0, 1};

    if (rec.change_count && out.model->with & (FILTER | STOP | LOSS))
        return; /* code may change where there are no edges */
    if (rec.change_count) {
        referee(name, "cov, code changes", cover(&changing));
        first_memory();
        referee(name, "cov, code changes, no cache", cover(&changing_bare));
        return;
    }
    referee(name, "cov, edges", cover(&plain));
    referee(name, "cov, memo", cover(&memos));
    referee(name, "cov, another memo", cover(&sizes));
    referee(name, "cov, pieces", cover(&pieces));
    referee(name, "cov, fuel", cover(&fuel));
    if (!quick)
        referee(name, "cov, no cache", cover(&bare));
}

/* Other decoders, and coverage. */
static void run_peers(const char *name, uint64_t seed, int quick)
{
#ifdef HAVE_LIBIPT
    if (libipt_can()) {
        first_memory();
        referee(name, "libipt", decode_libipt());
    }
#endif
    first_memory();
    run_cover(name, seed, quick);
    if (perf && rec.change_count == 0 && perf_can())
        referee(name, "perf", decode_perf(perf, dir));
}

/* A guest's trace: who crosses the border, and each side alone. */
static void run_worlds(const char *name)
{
    unsigned i;

    if (!(out.model->with & (EVENTS | LOSS))) {
        out.only = IPT_CONFIG_VMX_EVENTS;
        check(name, &variants[0], NULL, out.count);
        out.only = 0;
    }
    for (i = 0; i < 4; i++) {
        const output all = out;
        see_only((uint8_t) (i & 1));
        check(name, &variants[i % 3], NULL, out.count);
        if (rec.change_count == 0) {
            const cover_case one
                = {i > 1 ? MEMO_LINES : 0, MAP_SIZE, 1 << 16, 0, 0};
            referee(name, "cov, one world", cover(&one));
        }
        see_all(&all);
    }
}

/* Do 16 traces have enough of what those of the model have? Half of it, give or
 * take a path; or, in a program of which too much is hot, three quarters of what
 * the best 16 of the model's have, as is known afterwards. */
static int hot_enough(hot_pair *pair)
{
    const uint64_t inside = pair->hot.stats.inside;

    return 2 * inside + 128 >= pair->model.covered
           || 4 * inside >= 3 * model_best(&pair->model, 16);
}

/* Hot traces are those of the model, for each threshold and limit, and enough
 * of them with little memory. */
static void run_hot(const char *name, int quick)
{
    static const uint32_t thresholds[] = {2, 50, 1000};
    static const uint32_t limits[] = {1, 2, 128, 0};
    static const variant v = {1, 0, 4096};
    static hot_pair pair;
    unsigned i;

    hot = &pair;
    for (i = 0; i < 13; i++) {
        const int small = i == 12;
        const uint32_t large = quick ? 1 << 17 : 1 << 20;
        int good = 0;
        if (quick && !small && i % 5)
            continue;
        if (pair_begin(hot, small ? 50 : thresholds[i % 3],
                       small ? 128 : limits[i / 3], HOT_PLAIN,
                       small ? 64 : large, small ? 16 : large,
                       small ? 2048 : 1 << 21) < 0)
            fatal("ipt_hot_init");
        if (decode_from(&v, NULL, out.count) < 0)
            referee(name, "hot, blocks", -1);
        if (hot->wrong[0])
            bad("hot: %s", hot->wrong);
        else if (!small && pair_lost(hot))
            bad("hot: a table was full");
        else if (small && !hot_enough(hot))
            bad("hot: %" PRIu64 " instructions of %" PRIu64 " are too few",
                hot->hot.stats.inside, hot->model.covered);
        else
            good = 1;
        referee(name, "hot", good ? 0 : -1);
        pair_finish(hot);
    }
    hot = NULL;
}

/* A seed gives the same trace each time. */
static void generate_again(const char *name, const model *m, uint64_t seed)
{
    const size_t size = out.gen.used;
    uint8_t *first = out.trace;
    int same;

    out.trace = NULL;
    generate(m, seed);
    same = out.gen.used == size && memcmp(first, out.trace, size) == 0;
    free(first);
    bad("the same seed does not give the same trace");
    referee(name, "gen", same ? 0 : -1);
}

static void run_case(const char *name, const model *m, uint64_t seed,
                     int quick)
{
    const double start = now();
    size_t i;

    generate(m, seed);
    gen_seconds = now() - start;
    decode_seconds = 0;
    decoded = 0;
    generate_again(name, m, seed);
    for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
#ifndef HAVE_ZYDIS
        if (variants[i].zydis)
            continue;
#endif
        if (!quick || i < 3 || i == 7 || i == 5)
            check(name, &variants[i], NULL, out.count);
    }
    run_peers(name, seed, quick);
    run_hot(name, quick);
    for (i = 0; i < 2 && !quick; i++) { /* another cache for each case */
        const variant v = {(uint8_t) i, (uint8_t) (seed & 1),
                           64u << (seed + 5 * i) % 11};
        check(name, &v, NULL, out.count);
    }
    for (i = 0; i < 8 && out.sync_count; i++) { /* begin in the middle */
        const sync_point *s = &out.syncs[below(out.sync_count)];
        check(name, &variants[i % 4], s, s->index + 20000);
    }
    for (i = 0; i < 2 && make_gaps(); i++)
        check(name, &variants[i + 1], NULL, out.count);
    cut.count = 0;
    if (m->kind == GUEST)
        run_worlds(name);
    printf("%-14s %-13s %9zu insns %9zu bytes %7zu events %5zu "
           "losses, %9zu lost; gen %5.1f M/s decode %5.1f M/s\n",
           name, m->name, out.count, out.gen.used, out.place_count,
           out.loss_count, out.lost_count,
           1e-6 * (double) rec.count / gen_seconds,
           1e-6 * (double) decoded / decode_seconds);
    fflush(stdout);
}

static FILE *create(const char *folder, const char *name)
{
    char path[1100];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f)
        fatal("cannot write %s", path);
    return f;
}

static void write_ips(FILE *f, const uint32_t *ids, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        fwrite(&codes[ids[i]].ip, 8, 1, f);
}

static void write_code_map(const char *to)
{
    FILE *bin = create(to, "pages.bin");
    FILE *map = create(to, "image.map");
    unsigned n = 0;
    size_t i;
    const page *p;

    first_memory();
    for (i = 0; i < PAGES; i++) {
        for (p = pages[i]; p; p = p->next, n++) {
            fwrite(p->bytes, 1, PAGE, bin);
            fprintf(map, "%" PRIx64 " %x pages.bin %x\n", p->base * PAGE,
                    PAGE, n * PAGE);
        }
    }
    if (fclose(bin) | fclose(map))
        fatal("cannot write to %s", to);
}

static void write_files(const char *to)
{
    FILE *pt = create(to, "trace.pt");
    FILE *ip = create(to, "ips.u64");
    FILE *lost = create(to, "lost.u64");
    size_t i;

    fwrite(out.trace, 1, out.gen.used, pt);
    write_ips(ip, out.ids, out.count);
    for (i = 0; i < out.loss_count; i++) {
        const uint64_t head[2] = {out.losses[i].index, out.losses[i].count};
        fwrite(head, 8, 2, lost);
        write_ips(lost, out.lost + out.losses[i].first, out.losses[i].count);
    }
    if (fclose(pt) | fclose(ip) | fclose(lost))
        fatal("cannot write to %s", to);
    if (!rec.change_count)
        write_code_map(to);
}

/* The folder of a file, as perf wants it: from the root on. */
static const char *folder(const char *path)
{
    static char full[PATH_MAX];

    if (!realpath(path, full))
        fatal("cannot find %s", path);
    *strrchr(full, '/') = 0;
    return full;
}

static void run_file(const char *path, const char *only, const char *write_to,
                     uint64_t seed, size_t max, int quick)
{
    const char *name = path;
    const char *p;
    size_t i;

    for (p = path; *p; p++)
        if (*p == '/' && strchr(p + 1, '/'))
            name = p + 1;
    dir = folder(path);
    load_code(path);
    load_run(path, max);
    find_changes();
    if (rec.change_count)
        qsort(rec.changes, rec.change_count, sizeof(change), by_index);
    first_memory();
    printf("%s: %zu instructions, %zu of code, %zu signals, %zu changes of "
           "code\n",
           name, rec.count, isr_code, rec.jump_count, rec.change_count);
    for (i = 0; rec.count > 0 && i < sizeof(models) / sizeof(models[0]); i++) {
        if (only ? strcmp(only, models[i].name) != 0
                 : quick && !models[i].quick)
            continue;
        if (write_to) {
            generate(&models[i], seed + i);
            write_files(write_to);
        } else {
            run_case(name, &models[i], seed + i, quick);
        }
    }
    free_pages();
    free(codes);
    free(rec.ids);
    free(rec.jumps);
    free(rec.changes);
}

static uint8_t mode_of(const char *bits)
{
    if (!strcmp(bits, "16"))
        return IPT_MODE_16;
    return !strcmp(bits, "32") ? IPT_MODE_32 : IPT_MODE_64;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    const char *write_to = NULL;
    size_t max = SIZE_MAX;
    uint64_t seed = 1;
    int quick = 0;
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (argv[i][1] == 'q')
            quick = 1;
        else if (i + 1 == argc)
            fatal("%s needs an argument", argv[i]);
        else if (argv[i][1] == 'i')
            max = strtoull(argv[++i], NULL, 0);
        else if (argv[i][1] == 's')
            seed = strtoull(argv[++i], NULL, 0);
        else if (argv[i][1] == 'c')
            only = argv[++i];
        else if (argv[i][1] == 'w')
            write_to = argv[++i];
        else if (argv[i][1] == 'd')
            psb_distance = (uint32_t) strtoul(argv[++i], NULL, 0);
        else if (argv[i][1] == 'p')
            perf = argv[++i];
        else if (argv[i][1] == 'm')
            mode = mode_of(argv[++i]);
        else
            fatal("usage: truth [-q] [-m 16|32] [-i INSTRUCTIONS] [-s SEED] "
                  "[-c CASE] [-d BYTES] [-p PERF] [-w FOLDER] RUN...");
    }
    for (; i < argc; i++)
        run_file(argv[i], only, write_to, seed, max, quick);
    printf("%" PRIu64 " instructions compared\n", total);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed != 0;
}
