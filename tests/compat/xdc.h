/* xdc.h: a program that jumps about, what it did, and its trace, as [gen]
 * writes it: what libxdc's interface has to say of it is known without a
 * decoder.
 *
 * Code is in slots, each a few instructions and a branch at its end, so that
 * the next slot is where the branch goes if it is not taken. */
#ifndef XDC_H
#define XDC_H
#include "ipt.h"
#include "../dice.h"
#include "../test.h"
#include "examples/compat/libxdc/libxdc.h"

#define PAGE 4096u
#define PAGES 4
#define SLOT 47 /* bytes: some instructions are on two pages */
#define SLOTS 260
#define OUTSIDE 0x7fff00000000u /* not traced: filters leave it out */
#define STEPS_MAX 4000
#define NOWHERE UINT64_MAX

/* ---- pairs and lists of them ---- */

typedef struct pair {
    uint64_t a;
    uint64_t b;
} pair;

typedef struct list {
    pair *pairs;
    size_t count;
    size_t room;
} list;

static inline void list_add(list *l, uint64_t a, uint64_t b)
{
    if (l->count == l->room) {
        l->room = 2 * l->room + 64;
        l->pairs = realloc(l->pairs, l->room * sizeof(*l->pairs));
        if (!l->pairs)
            abort();
    }
    l->pairs[l->count].a = a;
    l->pairs[l->count++].b = b;
}

static inline void list_clear(list *l)
{
    free(l->pairs);
    memset(l, 0, sizeof(*l));
}

static inline int by_pair(const void *x, const void *y)
{
    const pair *p = x;
    const pair *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static inline void list_sort(list *l)
{
    if (l->count)
        qsort(l->pairs, l->count, sizeof(*l->pairs), by_pair);
}

/* Sort, and leave out what is there twice. */
static inline void list_unite(list *l)
{
    size_t n = 0;
    list_sort(l);
    for (size_t i = 0; i < l->count; i++)
        if (!n || by_pair(&l->pairs[n - 1], &l->pairs[i]))
            l->pairs[n++] = l->pairs[i];
    l->count = n;
}

static inline int list_same(const list *want, const list *got)
{
    size_t i = 0;
    while (i < want->count && i < got->count
           && !by_pair(&want->pairs[i], &got->pairs[i]))
        i++;
    if (i == want->count && i == got->count)
        return 1;
    printf("    pair %zu of %zu, got %zu\n", i, want->count, got->count);
    if (i < want->count)
        printf("    want %llx %llx\n", (unsigned long long) want->pairs[i].a,
               (unsigned long long) want->pairs[i].b);
    if (i < got->count)
        printf("    got  %llx %llx\n", (unsigned long long) got->pairs[i].a,
               (unsigned long long) got->pairs[i].b);
    return 0;
}

/* ---- the program ---- */

typedef struct place {
    uint64_t branch; /* where it is */
    uint64_t target; /* of direct branches */
    uint8_t size;    /* of the branch */
    uint8_t kind;
} place;

static struct {
    uint8_t pages[PAGES][PAGE];
    uint64_t base; /* of the first page */
    uint64_t first; /* of the first slot */
    place slots[SLOTS];
} prog;

static inline uint64_t slot_ip(unsigned i)
{
    return prog.first + (uint64_t) i * SLOT;
}

static inline void put_code(uint64_t ip, const uint8_t *bytes, size_t size)
{
    memcpy(&prog.pages[0][0] + (ip - prog.base), bytes, size);
}

static inline void put_branch(place *s, uint64_t end, const uint8_t *opcode,
                              uint8_t size, uint64_t target)
{
    uint8_t bytes[6];
    const uint32_t rel = (uint32_t) (target - end);
    unsigned i;

    s->size = size;
    s->branch = end - size;
    s->target = target;
    for (i = 0; i < size; i++) {
        if (size <= 2 || i + 4 < size)
            bytes[i] = opcode[i];
        else
            bytes[i] = (uint8_t) (rel >> (8 * (i + 4 - size)));
    }
    put_code(s->branch, bytes, size);
}

static inline void fill_slot(unsigned i)
{
    static const uint8_t nop[] = {0x0f, 0x1f, 0x00};
    place *s = &prog.slots[i];
    const uint64_t end = slot_ip(i + 1);
    const uint64_t to = slot_ip(dice(SLOTS));
    const uint64_t far = dice(8) ? slot_ip(dice(SLOTS / 2) * 2)
                                 : prog.base - 0x100000; /* not traced */
    unsigned kind = dice(9);
    uint64_t ip;

    if (i + 1 == SLOTS)
        kind = 5;
    else if (i % 2 == 0 && (kind == 4 || kind == 6))
        kind = 5; /* flow never gets from one direct branch to the next */
    switch (kind) {
    default:
        s->kind = IPT_INSN_JCC;
        put_branch(s, end, (const uint8_t *) "\x0f\x85", 6, to);
        break;
    case 4:
        s->kind = IPT_INSN_JMP;
        put_branch(s, end, (const uint8_t *) "\xe9", 5, far);
        break;
    case 5:
        s->kind = IPT_INSN_JMP_INDIRECT;
        put_branch(s, end, (const uint8_t *) "\xff\xe0", 2, to);
        break;
    case 6:
        s->kind = IPT_INSN_CALL;
        put_branch(s, end, (const uint8_t *) "\xe8", 5, far);
        break;
    case 7:
        s->kind = IPT_INSN_CALL_INDIRECT;
        put_branch(s, end, (const uint8_t *) "\xff\xd0", 2, to);
        break;
    case 8:
        s->kind = IPT_INSN_RET;
        put_branch(s, end, (const uint8_t *) "\xc3", 1, to);
        break;
    }
    for (ip = slot_ip(i); ip + sizeof(nop) <= s->branch; ip += sizeof(nop))
        put_code(ip, nop, sizeof(nop));
    for (; ip < s->branch; ip++)
        put_code(ip, (const uint8_t *) "\x90", 1);
}

static inline void make_program(void)
{
    unsigned i;

    memset(&prog, 0, sizeof(prog));
    prog.base = dice(2) ? 0xffffffff80000000u + (uint64_t) dice(9999) * PAGE
                        : 0x555555554000u + (uint64_t) dice(9999) * PAGE;
    prog.first = prog.base + dice(PAGE - 8);
    for (i = 0; i < SLOTS; i++)
        fill_slot(i);
}

/* ---- what it did ---- */

#define TRACE_MAX (1u << 19)

static struct {
    list edges;  /* as trace mode has them, ~0 included */
    list cond;   /* those of conditional branches */
    list blocks; /* start, branch */
    list ips;    /* of packets, but those in PSB+; b is 0 */
    uint8_t trace[TRACE_MAX];
    size_t size;
    int lost; /* there was an overflow */
} did;

typedef struct run {
    ipt_gen gen;
    uint64_t ip;
    uint64_t last; /* IP of a packet */
    uint64_t resumed; /* tracing was off, but flow did not go elsewhere */
    unsigned calls[256];
    unsigned depth;
    int is_sure; /* the trace says that flow is at ip, and not for how long
                  * it has been in a loop */
} run;

static inline void did_clear(void)
{
    list_clear(&did.edges);
    list_clear(&did.cond);
    list_clear(&did.blocks);
    list_clear(&did.ips);
    did.size = 0;
    did.lost = 0;
}

static inline void tell_gen(run *r, uint8_t type, uint64_t ip, uint64_t to,
                            uint8_t flags)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.ip = ip;
    e.flags = flags;
    if (!(flags & IPT_EVENT_NO_TO))
        e.u.branch.to = to;
    CHECK_EQ(ipt_gen_event(&r->gen, &e), IPT_OK);
}

static inline void packet_ip(run *r, uint64_t ip)
{
    r->is_sure = 1;
    r->last = ip;
    list_add(&did.ips, ip, 0);
}

/* Tracing begins at ip. */
static inline void begin_at(run *r, uint64_t ip)
{
    tell_gen(r, IPT_EVT_ENABLED, ip, 0, IPT_EVENT_NO_TO);
    packet_ip(r, ip);
    list_add(&did.edges, NOWHERE, ip);
    r->ip = ip;
}

static inline int is_direct(const place *s)
{
    return s->kind == IPT_INSN_JMP || s->kind == IPT_INSN_CALL;
}

/* Flow leaves what is traced, and comes back. */
static inline void leave(run *r, const place *s)
{
    const uint64_t to = is_direct(s) ? s->target : OUTSIDE + dice(1000);
    const int has_to = is_direct(s) || dice(4);

    tell_gen(r, IPT_EVT_DISABLED, s->branch, to,
             has_to ? 0 : IPT_EVENT_NO_TO);
    if (has_to)
        packet_ip(r, to);
    list_add(&did.edges, s->branch, r->last);
    list_add(&did.edges, r->last, NOWHERE);
    begin_at(r, slot_ip(dice(SLOTS)));
}

/* Something comes in between, after the first instruction of a slot. */
static inline void interrupt(run *r, unsigned at)
{
    const uint64_t ip = slot_ip(at) + 3;
    const uint64_t to = slot_ip(dice(SLOTS));

    list_add(&did.blocks, r->ip, prog.slots[at].branch);
    packet_ip(r, ip);
    switch (dice(3)) {
    case 0:
        tell_gen(r, IPT_EVT_ASYNC_BRANCH, ip, to, 0);
        packet_ip(r, to);
        r->ip = to;
        break;
    case 1: /* as a VM exit does */
        tell_gen(r, IPT_EVT_ASYNC_DISABLED, ip, 0, IPT_EVENT_NO_TO);
        list_add(&did.edges, ip, NOWHERE);
        begin_at(r, ip);
        r->resumed = ip;
        break;
    default:
        tell_gen(r, IPT_EVT_ASYNC_DISABLED, ip, OUTSIDE, 0);
        packet_ip(r, OUTSIDE);
        list_add(&did.edges, OUTSIDE, NOWHERE);
        begin_at(r, ip);
        r->resumed = ip;
    }
}

static inline void overflow(run *r)
{
    if (did.edges.pairs[did.edges.count - 1].a != NOWHERE)
        did.edges.count--; /* it may have led elsewhere */
    r->ip = slot_ip(dice(SLOTS));
    tell_gen(r, IPT_EVT_OVERFLOW, r->ip, 0, IPT_EVENT_NO_TO);
    packet_ip(r, r->ip);
    did.lost = 1;
}

static inline uint64_t choose(run *r, const place *s, unsigned at)
{
    switch (s->kind) {
    case IPT_INSN_JCC: return dice(3) ? s->target : slot_ip(at + 1);
    case IPT_INSN_JMP: return s->target;
    case IPT_INSN_CALL:
    case IPT_INSN_CALL_INDIRECT:
        r->calls[r->depth++ % 256] = at + 1;
        return s->kind == IPT_INSN_CALL ? s->target : slot_ip(dice(4) * 5);
    case IPT_INSN_RET:
        return r->depth ? slot_ip(r->calls[--r->depth % 256])
                        : slot_ip(dice(SLOTS));
    default: return slot_ip(dice(4) * 7);
    }
}

/* A slot is executed from r->ip on, which is in it. */
static inline void step(run *r, unsigned events)
{
    const unsigned at = (unsigned) ((r->ip - prog.first) / SLOT);
    const place *s = &prog.slots[at];
    uint64_t to;

    if (r->ip == slot_ip(at) && r->is_sure && dice(50) < events) {
        interrupt(r, at);
        return;
    }
    if (r->ip != r->resumed) /* else it is the block from before */
        list_add(&did.blocks, r->ip, s->branch);
    r->resumed = 0;
    if (is_direct(s) ? s->target < prog.base
                     : s->kind != IPT_INSN_JCC && dice(20) < events) {
        leave(r, s);
        return;
    }
    to = choose(r, s, at);
    CHECK_EQ(ipt_gen_branch(&r->gen, s->kind, s->branch, s->size, to), IPT_OK);
    list_add(&did.edges, s->branch, to);
    if (s->kind == IPT_INSN_JCC)
        list_add(&did.cond, s->branch, to);
    else if (!is_direct(s))
        packet_ip(r, to);
    r->is_sure = !is_direct(s);
    r->ip = to;
}

/* events: 0: none but the first and the last; else how many. An overflow, if
 * wanted, in the middle. */
static inline void execute(unsigned steps, unsigned events, int is_lossy,
                           uint32_t psb_period)
{
    static run r;
    ipt_gen_config config;
    unsigned i;

    memset(&config, 0, sizeof(config));
    memset(&r, 0, sizeof(r));
    did_clear();
    config.flags = IPT_CONFIG_NO_RETCOMP;
    config.psb_period = psb_period;
    CHECK_EQ(ipt_gen_init(&r.gen, &config, IPT_MODE_64), IPT_OK);
    r.gen.out = did.trace;
    r.gen.size = sizeof(did.trace);
    begin_at(&r, slot_ip(dice(SLOTS)));
    for (i = 0; i < steps || !r.is_sure; i++) {
        if (is_lossy && i >= steps / 2 && r.is_sure) {
            overflow(&r);
            is_lossy = 0;
        }
        step(&r, events);
    }
    tell_gen(&r, IPT_EVT_ASYNC_DISABLED, r.ip, OUTSIDE, 0);
    packet_ip(&r, r.ip);
    packet_ip(&r, OUTSIDE);
    list_add(&did.edges, OUTSIDE, NOWHERE);
    CHECK_EQ(ipt_gen_flush(&r.gen), IPT_OK);
    did.size = r.gen.used;
    list_unite(&did.blocks);
}

/* The counter of an edge, by the formula of the reference. */
static inline uint8_t *counter_of(uint8_t *map, size_t size, uint64_t a,
                                  uint64_t b)
{
    const uint64_t factor = 0x7fb5d329728ea185u;
    const uint64_t from = (a ^ a >> 31) * factor;
    const uint64_t to = (b ^ b >> 31) * factor;
    return &map[(uint32_t) (to ^ from >> 1) & (size - 1)];
}

static inline void map_of(const list *edges, uint8_t *map, size_t size)
{
    size_t i;

    memset(map, 0, size);
    for (i = 0; i < edges->count; i++)
        ++*counter_of(map, size, edges->pairs[i].a, edges->pairs[i].b);
}

static inline uint64_t rotated(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

static inline uint64_t scattered(uint64_t v)
{
    v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
    v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53u;
    return v ^ v >> 33;
}

/* MurmurHash3 for x64, its first 64 bits; each word is used as it comes. */
static inline uint64_t murmur(const uint8_t *map, size_t size)
{
    static const uint64_t factor[2] = {0x87c37b91114253d5u,
                                       0x4cf5ad432745937fu};
    static const unsigned turn[2][2] = {{31, 27}, {33, 31}};
    static const uint32_t plus[2] = {0x52dce729, 0x38495ab5};
    uint64_t h[2] = {0xaaaaaaaau, 0xaaaaaaaau};
    size_t at;
    unsigned i;

    for (at = 0; at < size; at += 8) {
        const unsigned n = at / 8 % 2;
        uint64_t word = 0;
        for (i = 0; i < 8 && at + i < size; i++)
            word += (uint64_t) map[at + i] << 8 * i;
        h[n] ^= rotated(word * factor[n], turn[n][0]) * factor[1 - n];
        if (size >= 16)
            h[n] = (rotated(h[n], turn[n][1]) + h[1 - n]) * 5 + plus[n];
    }
    h[0] ^= size;
    h[1] ^= size;
    h[0] += h[1];
    h[1] += h[0];
    return scattered(h[0]) + scattered(h[1]);
}
#endif /* XDC_H */
