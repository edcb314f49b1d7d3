/* program.c: programs of any number of functions, all different, that are
 * executed at random, and the trace of that by ipt_gen.
 *
 * A function is 8 to 22 blocks: branches that skip some, loops, direct calls
 * and calls of one of four functions, each with a branch around it that keeps
 * the depth below DEPTH_MAX, and a return. Most branches nearly always go one
 * way, as in real programs. main calls functions through a pointer. What is
 * called is picked as scale_want.zipf has it. With a kernel the second half of
 * the functions is that. */
#include "scale.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_AT 0x400000u
#define DEPTH_MAX 40
#define SWITCH 3000 /* instructions */
#define PSB_PERIOD 4096
#define CALLEES 4 /* of an indirect call */
#define BLOCKS_MAX 22
#define BYTES_MAX 72 /* of a block */
#define PAGE 4096

enum { JCC, GUARD, LOOP, JMP, CALL, CALL_ANY, RET, CR3, MAIN, AGAIN, SYSCALL };

/* Instructions without a branch, and one that branches. */
typedef struct block {
    uint32_t at;    /* offset of its first byte */
    uint32_t to;    /* the block, for CALL the function, where it branches to */
    uint8_t last;   /* offset of the branch from `at` */
    uint8_t size;   /* of the branch */
    uint8_t count;  /* instructions */
    uint8_t kind;
    uint8_t chance; /* in 256, that it is taken; LOOP: times */
} block;

typedef struct program {
    uint32_t functions;
    uint8_t zipf;
    uint8_t has_kernel;
    uint32_t kernel; /* its offset */
    uint8_t *code;
    size_t size;
    block *blocks;
    uint32_t count;
    uint32_t *first;  /* block of each function; main's is 0 */
    uint32_t *ranked; /* functions, those used most first */
    double *sums;     /* of how often they are used, by rank */
    struct program *next;
} program;

/* ---- chance ---- */

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t) ((seed * 0x2545f4914f6cdd1du >> 32) * n >> 32);
}

/* 0 .. count - 1, where sums[i] is how often one up to i comes. */
static uint32_t zipf(const double *sums, uint32_t count)
{
    const double x = dice(1u << 31) / (double) (1u << 31) * sums[count - 1];
    uint32_t low = 0;
    uint32_t high = count - 1;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sums[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static double *zipf_sums(uint32_t count)
{
    double *sums = malloc(count * sizeof(*sums));
    uint32_t i;

    for (i = 0; sums && i < count; i++)
        sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (i + 1);
    return sums;
}

/* A function to call, never main. */
static uint32_t pick(const program *p)
{
    const uint32_t i = p->zipf ? zipf(p->sums, p->functions)
                               : dice(p->functions);

    return p->ranked[i];
}

/* A function of the kernel, or of the rest: it, or what stands for it there. */
static uint32_t half(const program *p, int kernel, uint32_t function)
{
    const uint32_t user = p->functions / 2;

    if (!p->has_kernel || (function > user) == kernel)
        return function;
    return kernel ? function + user : function - user;
}

/* ---- making a program ---- */

/* Instructions that do not branch. The bytes of displacements and immediate
 * operands are random, so all are different. */
static void add_plain(program *p, block *b)
{
    static const struct { uint8_t size, opcode, bytes[3]; } shapes[] = {
        {1, 1, {0x90}},           {2, 2, {0x31, 0xc0}},
        {3, 3, {0x48, 0x89, 0xe5}}, {3, 2, {0x83, 0xc0}},
        {4, 3, {0x48, 0x8b, 0x45}}, {5, 1, {0xb8}},
        {7, 3, {0x48, 0x8d, 0x05}}, {6, 2, {0x8b, 0x80}}};
    const unsigned i = dice(sizeof(shapes) / sizeof(shapes[0]));
    unsigned n;

    for (n = 0; n < shapes[i].size; n++)
        p->code[p->size++] = n < shapes[i].opcode ? shapes[i].bytes[n]
                                                  : (uint8_t) dice(256);
    b->last = (uint8_t) (b->last + shapes[i].size);
    b->count++;
}

/* The bytes of the branch, except its target. */
static void add_branch(program *p, block *b)
{
    static const struct { uint8_t size, bytes[3]; } branches[] = {
        [JCC] = {6, {0x0f, 0x84}},       [GUARD] = {6, {0x0f, 0x85}},
        [LOOP] = {6, {0x0f, 0x85}},      [JMP] = {5, {0xe9}},
        [CALL] = {5, {0xe8}},            [CALL_ANY] = {2, {0xff, 0xd0}},
        [RET] = {1, {0xc3}},             [CR3] = {3, {0x0f, 0x22, 0xd8}},
        [MAIN] = {2, {0xff, 0xd0}},      [AGAIN] = {6, {0x0f, 0x85}},
        [SYSCALL] = {2, {0x0f, 0x05}}};

    b->size = branches[b->kind].size;
    memcpy(p->code + p->size, branches[b->kind].bytes, 3);
    p->size += b->size;
    b->count++;
}

static uint32_t add_block(program *p, uint8_t kind, uint32_t plain)
{
    block *b = &p->blocks[p->count];

    memset(b, 0, sizeof(*b));
    b->at = (uint32_t) p->size;
    b->kind = kind;
    while (plain--)
        add_plain(p, b);
    add_branch(p, b);
    return p->count++;
}

/* main: call any function, again and again, in one address space or another. */
static void add_main(program *p)
{
    p->blocks[add_block(p, GUARD, 2)].to = 2; /* around the switch */
    add_block(p, CR3, 1);
    add_block(p, MAIN, 2);
    p->blocks[add_block(p, AGAIN, 1)].to = 0;
    add_block(p, SYSCALL, 0);
}

static uint8_t bias(void)
{
    const uint32_t i = dice(16);
    const uint32_t rare = i < 11 ? 4 : i < 14 ? 32 : 128;

    return (uint8_t) (dice(2) ? rare : 256 - rare);
}

static void add_call(program *p, int kernel)
{
    const uint32_t i = dice(10);
    const uint32_t guard = add_block(p, GUARD, 1 + dice(4));

    p->blocks[guard].to = guard + 2;
    p->blocks[guard].chance = i < 6 ? 250 : i < 9 ? 30 : 128;
    if (dice(4)) {
        const uint32_t call = add_block(p, CALL, 1 + dice(4));
        p->blocks[call].to = half(p, kernel, pick(p));
    } else {
        add_block(p, CALL_ANY, 1 + dice(4));
        p->blocks[guard + 1].to = dice(UINT32_MAX); /* picks the callees */
    }
}

/* Where a branch may go instead of to a block: not past the return, and not to
 * a call, but to the branch around it. */
static uint32_t legal(const program *p, uint32_t to)
{
    if (to >= p->count)
        to = p->count - 1;
    return to - (p->blocks[to].kind == CALL || p->blocks[to].kind == CALL_ANY);
}

static void add_function(program *p, int kernel)
{
    const uint32_t first = p->count;
    const uint32_t end = first + 7 + dice(BLOCKS_MAX - 9);
    uint32_t b;

    while (p->count < end) {
        const uint32_t what = dice(20);
        if (what < 12) {
            b = add_block(p, JCC, 1 + dice(7));
            p->blocks[b].chance = bias();
            p->blocks[b].to = b + 1 + 1 + dice(2);
        } else if (what < 14) {
            b = add_block(p, LOOP, 2 + dice(6));
            p->blocks[b].chance = (uint8_t) (1 + dice(6));
            p->blocks[b].to = b;
        } else if (what < 15) {
            b = add_block(p, JMP, 1 + dice(4));
            p->blocks[b].to = b + 1;
            p->size += dice(16); /* bytes that do not execute */
        } else {
            add_call(p, kernel);
        }
    }
    b = add_block(p, RET, 1 + dice(4));
    while (b-- > first)
        if (p->blocks[b].kind == JCC)
            p->blocks[b].to = legal(p, p->blocks[b].to);
}

/* The kernel begins on a page of its own. Returns its offset. */
static uint32_t add_kernel(program *p)
{
    p->size = (p->size + PAGE - 1) / PAGE * PAGE;
    return (uint32_t) p->size;
}

/* Write the displacement of each direct branch. */
static void link_program(program *p)
{
    uint32_t i;

    for (i = 0; i < p->count; i++) {
        const block *b = &p->blocks[i];
        const uint32_t end = b->at + b->last + b->size;
        uint32_t to;
        unsigned n;
        if (b->kind > CALL && b->kind != AGAIN)
            continue;
        to = p->blocks[b->kind == CALL ? p->first[b->to] : b->to].at - end;
        for (n = 0; n < 4; n++)
            p->code[end - 4 + n] = (uint8_t) (to >> 8 * n);
    }
}

static int allocate(program *p)
{
    const size_t blocks = (size_t) (p->functions + 1) * BLOCKS_MAX;
    uint32_t i;

    p->code = calloc(blocks, BYTES_MAX);
    p->blocks = malloc(blocks * sizeof(*p->blocks));
    p->first = malloc((p->functions + 1) * sizeof(*p->first));
    p->ranked = malloc(p->functions * sizeof(*p->ranked));
    p->sums = zipf_sums(p->functions);
    if (!p->code || !p->blocks || !p->first || !p->ranked || !p->sums)
        return 0;
    for (i = 0; i < p->functions; i++) {
        const uint32_t k = dice(i + 1);
        p->ranked[i] = p->ranked[k];
        p->ranked[k] = i + 1;
    }
    return 1;
}

static const program *program_of(uint32_t functions, uint8_t by_zipf,
                                 uint8_t kernel)
{
    static program *all;
    program *p;
    uint32_t i;

    for (p = all; p; p = p->next)
        if (p->functions == functions && p->zipf == by_zipf
            && p->has_kernel == kernel)
            return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    seed = 0x9e3779b97f4a7c15u + functions;
    p->functions = functions;
    p->zipf = by_zipf;
    p->has_kernel = kernel;
    if (!allocate(p))
        return NULL;
    add_main(p);
    p->first[0] = 0;
    for (i = 1; i <= functions; i++) {
        if (kernel && i == functions / 2 + 1)
            p->kernel = add_kernel(p);
        p->first[i] = p->count;
        add_function(p, p->kernel > 0);
    }
    link_program(p);
    p->next = all;
    all = p;
    return p;
}

/* ---- writing a trace ---- */

typedef struct writer {
    ipt_gen gen;
    scale_trace *t;
    size_t room;
    int failed;
} writer;

/* Have room for one more call. */
static void make_room(writer *w)
{
    uint8_t *more;

    if (w->gen.size - w->gen.used >= IPT_GEN_ROOM || w->failed)
        return;
    w->room = 2 * w->room + (1 << 16);
    more = realloc(w->t->c.trace, w->room);
    w->failed = more == NULL;
    if (more) {
        w->gen.out = w->t->c.trace = more;
        w->gen.size = w->room;
    }
}

static void report(writer *w, uint8_t type, uint64_t ip, uint64_t cr3)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.ip = ip;
    if (type == IPT_EVT_DISABLED)
        e.flags = IPT_EVENT_NO_TO;
    if (type == IPT_EVT_PAGING)
        e.u.paging.cr3 = cr3;
    make_room(w);
    w->failed |= w->failed || ipt_gen_event(&w->gen, &e) < 0;
}

static uint64_t mix(uint64_t v)
{
    return (v ^ v >> 31) * 0x7fb5d329728ea185u;
}

static void branch(writer *w, uint8_t kind, uint64_t ip, uint8_t size,
                   uint64_t to)
{
    make_room(w);
    w->failed |= w->failed
                 || ipt_gen_branch(&w->gen, kind, ip, size, to) < 0;
    if (kind == IPT_INSN_JCC)
        w->t->truth[(mix(to) ^ mix(ip) >> 1) % BENCH_MAP]++;
}

/* Begin a run of a trace, after those that it has. */
static int begin(writer *w, scale_trace *t)
{
    ipt_gen_config config;

    memset(w, 0, sizeof(*w));
    memset(&config, 0, sizeof(config));
    config.flags = t->want.gen_flags;
    config.psb_period = PSB_PERIOD;
    config.cpuid_15_eax = t->c.cpuid_15_eax;
    config.cpuid_15_ebx = t->c.cpuid_15_ebx;
    config.mtc_freq = t->c.mtc_freq;
    config.nom_freq = t->c.nom_freq;
    config.cbr = t->c.nom_freq;
    if (ipt_gen_init(&w->gen, &config, IPT_MODE_64) < 0)
        return 0;
    w->t = t;
    w->gen.out = t->c.trace;
    w->gen.used = w->gen.size = w->room = t->c.size;
    t->insns = 0;
    memset(t->truth, 0, sizeof(t->truth));
    report(w, IPT_EVT_ENABLED, CODE_AT, 0);
    return 1;
}

/* End it with the SYSCALL at an address. */
static int end(writer *w, uint64_t ip)
{
    report(w, IPT_EVT_DISABLED, ip, 0);
    w->t->c.size = w->gen.used;
    w->t->c.ends[w->t->c.runs++] = w->gen.used;
    return !w->failed;
}

/* ---- executing a program ---- */

typedef struct machine {
    const program *p;
    writer w;
    uint8_t *touched; /* blocks, those of one address space after the other */
    const double *spaces;
    uint32_t space;
    uint64_t switched; /* instructions when the address space was */
    uint32_t depth;
    uint32_t stack[DEPTH_MAX + 2]; /* blocks */
    uint32_t left;                 /* times that a loop goes on */
} machine;

static uint64_t ip_of(const machine *m, uint32_t b)
{
    return CODE_AT + m->p->blocks[b].at;
}

/* The block called. */
static uint32_t callee(const machine *m, const block *b)
{
    uint32_t to = b->to;

    if (b->kind == MAIN)
        to = pick(m->p);
    else if (b->kind == CALL_ANY)
        to = half(m->p, b->at >= m->p->kernel,
                  1 + (to + dice(CALLEES) * 0x9e3779b9u) % m->p->functions);
    return m->p->first[to];
}

static int taken(machine *m, uint32_t i, const block *b)
{
    const scale_trace *t = m->w.t;

    if (i == 0)
        return !m->spaces || t->insns < m->switched + SWITCH;
    if (b->kind == LOOP) {
        if (!m->left)
            m->left = b->chance;
        return --m->left > 0;
    }
    return (b->kind == GUARD && m->depth >= DEPTH_MAX) || dice(256) < b->chance;
}

/* Execute a block. Returns the next one. */
static uint32_t execute(machine *m, uint32_t i, int more)
{
    const block *b = &m->p->blocks[i];
    const uint64_t ip = ip_of(m, i) + b->last;
    uint32_t to = i + 1;

    m->touched[m->space * m->p->count + i] = 1;
    m->w.t->insns += b->count;
    m->w.gen.clock += b->count;
    switch (b->kind) {
    case JMP:
        return b->to;
    case CR3:
        m->space = m->w.t->want.zipf ? zipf(m->spaces, m->w.t->want.spaces)
                                     : dice(m->w.t->want.spaces);
        m->switched = m->w.t->insns;
        report(&m->w, IPT_EVT_PAGING, ip, (uint64_t) (m->space + 1) << 12);
        return to;
    case CALL:
    case CALL_ANY:
    case MAIN:
        m->stack[m->depth++] = to;
        to = callee(m, b);
        branch(&m->w, b->kind == CALL ? IPT_INSN_CALL : IPT_INSN_CALL_INDIRECT,
               ip, b->size, ip_of(m, to));
        return to;
    case RET:
        to = m->stack[--m->depth];
        branch(&m->w, IPT_INSN_RET, ip, b->size, ip_of(m, to));
        return to;
    default:
        if (b->kind == AGAIN ? more : taken(m, i, b))
            to = b->to;
        branch(&m->w, IPT_INSN_JCC, ip, b->size,
               to == i + 1 ? ip + b->size : ip_of(m, to));
        return to;
    }
}

static int run_program(machine *m, scale_trace *t)
{
    uint32_t at = 0;
    uint32_t n;

    if (!begin(&m->w, t))
        return 0;
    m->switched = 0;
    m->space = 0;
    if (m->spaces)
        m->switched = (uint64_t) 0 - SWITCH;
    for (n = 0; m->p->blocks[at].kind != SYSCALL; n++)
        at = execute(m, at, n < t->want.blocks);
    t->insns++;
    return end(&m->w, ip_of(m, at));
}

static int run_all(scale_trace *t)
{
    machine m;
    const size_t spaces = t->want.spaces ? t->want.spaces : 1;
    size_t i;
    int ok = 1;
    uint8_t *code;

    memset(&m, 0, sizeof(m));
    m.p = program_of(t->want.functions, t->want.zipf, t->want.kernel);
    m.touched = m.p ? calloc(spaces, m.p->count) : NULL;
    m.spaces = t->want.spaces ? zipf_sums(t->want.spaces) : NULL;
    code = m.touched ? malloc(m.p->size) : NULL;
    if (!code)
        return 0;
    memcpy(code, m.p->code, m.p->size);
    ok = !image_add(&t->c.code, NULL, "program", 0, code, m.p->size, CODE_AT);
    t->c.filter[1] = CODE_AT + m.p->size;
    if (m.p->has_kernel)
        t->kernel = CODE_AT + m.p->kernel;
    for (i = 0; ok && i < t->want.runs; i++) {
        seed = 0x853c49e6748fea9bu + i;
        ok = run_program(&m, t);
    }
    for (i = 0; i < spaces * m.p->count; i++)
        t->touched += m.touched[i];
    free(m.touched);
    return ok;
}

/* ---- noise ---- */

/* 00 jz 03, 02 nop, 03 jz 06, 05 nop, 06 jz 09, 08 nop, 09 jnz 00, 0b syscall
 */
static int run_noise(scale_trace *t)
{
    static const uint8_t bytes[] = {0x74, 1, 0x90, 0x74, 1,    0x90, 0x74,
                                    1, 0x90, 0x75, 0xf5, 0x0f, 0x05};
    uint8_t *code = malloc(sizeof(bytes));
    writer w;
    unsigned i;
    int ok = code != NULL;

    if (code)
        memcpy(code, bytes, sizeof(bytes));
    ok = ok && !image_add(&t->c.code, NULL, "noise", 0, code, sizeof(bytes),
                          CODE_AT);
    t->c.filter[1] = CODE_AT + sizeof(bytes);
    t->touched = 8;
    for (i = 0; ok && i < t->want.runs; i++) {
        uint32_t n;
        uint32_t at;
        seed = 0x853c49e6748fea9bu + i;
        ok = begin(&w, t);
        for (n = 0; ok && n < t->want.blocks; n += 4) {
            for (at = CODE_AT; at < CODE_AT + 9; at += 3) {
                const uint32_t jump = dice(2);
                branch(&w, IPT_INSN_JCC, at, 2, at + 2 + jump);
                t->insns += 2 - jump;
            }
            branch(&w, IPT_INSN_JCC, at, 2,
                   n + 4 < t->want.blocks ? CODE_AT : at + 2);
            t->insns++;
        }
        t->insns++;
        ok = ok && end(&w, CODE_AT + 11);
    }
    return ok;
}

/* ---- traces ---- */

static void name(scale_trace *t)
{
    const uint32_t flags = t->want.gen_flags;
    char spaces[16] = "";

    if (t->want.spaces)
        snprintf(spaces, sizeof(spaces), "/%uas", t->want.spaces);
    if (t->want.functions)
        snprintf(t->c.name, sizeof(t->c.name), "%s-%u%s%s%s%s%s",
                 t->want.zipf ? "zipf" : "unif", t->want.functions,
                 flags & IPT_CONFIG_NO_RETCOMP ? "/noret" : "",
                 flags & IPT_GEN_DEFER ? "/defer" : "",
                 flags & IPT_GEN_CYC ? "/time" : "",
                 t->want.kernel ? "/kernel" : "", spaces);
    else
        snprintf(t->c.name, sizeof(t->c.name), "noise");
}

static int same(const scale_want *a, const scale_want *b)
{
    return a->functions == b->functions && a->zipf == b->zipf
           && a->spaces == b->spaces && a->gen_flags == b->gen_flags
           && a->blocks == b->blocks && a->runs == b->runs
           && a->kernel == b->kernel;
}

const scale_trace *scale_trace_of(const scale_want *want)
{
    static scale_trace *all[64];
    static size_t count;
    scale_trace *t;
    size_t i;

    for (i = 0; i < count; i++)
        if (same(&all[i]->want, want))
            return all[i];
    t = count < sizeof(all) / sizeof(all[0]) ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    t->want = *want;
    image_init(&t->c.code);
    t->c.has_code = 1;
    t->c.filter[0] = CODE_AT;
    if (want->gen_flags & (IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC)) {
        t->c.cpuid_15_eax = 2;
        t->c.cpuid_15_ebx = 168;
        t->c.mtc_freq = 6;
        t->c.nom_freq = 20;
    }
    name(t);
    if (!(want->functions ? run_all(t) : run_noise(t)))
        return NULL;
    all[count++] = t;
    return t;
}
