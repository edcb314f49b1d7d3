/* cover.h: edges by [insn] and by [cov], to be compared. */
#ifndef IPT_COVER_H
#define IPT_COVER_H
#include "gaps.h"
#include "kinds.h"
#include "test.h"

/* ---- lists of edges ---- */

typedef struct edge {
    uint64_t from;
    uint64_t to;
    uint8_t kind;
    uint8_t to_lost; /* an overflow hides where it went */
    uint8_t unsure;  /* tracing ended at it, or right after */
    uint8_t narrow;  /* in `want`: outside of 64-bit mode, where a TIP has more
                      * bits than an address only if it is corrupt */
} edge;

typedef struct edge_list {
    edge *edges;
    size_t count;
    size_t room;
    int status; /* that ended decoding */
    int errors; /* that came before it */
    uint64_t places; /* sums where they were, and what they were */
    uint32_t verdict;
    uint64_t hash;
    uint64_t blocks; /* sums of what block callbacks said */
    uint64_t bytes;
} edge_list;

static inline edge *edge_add(edge_list *l)
{
    if (l->count == l->room) {
        l->room = l->room * 2 + 64;
        l->edges = realloc(l->edges, l->room * sizeof *l->edges);
        if (!l->edges) abort();
    }
    memset(&l->edges[l->count], 0, sizeof *l->edges);
    return &l->edges[l->count++];
}

static inline void edge_clear(edge_list *l)
{
    free(l->edges);
    memset(l, 0, sizeof *l);
}

static inline int edge_same(const edge *want, const edge *got)
{
    const uint64_t mask = want->narrow ? UINT32_MAX : UINT64_MAX;
    return want->from == got->from && want->kind == got->kind
           && (!((want->to ^ got->to) & mask) || want->to_lost);
}

#define EDGES_UNSURE 64 /* those in doubt, at any one time */

/* Where in `got` one may be after edge e of `want`, in rising order, if one
 * may be at each of the `count` places of `at` before it. Returns how many. */
static inline size_t edges_after(const edge *e, const edge_list *got,
                                 const size_t *at, size_t count, size_t *next)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t g = at[i];
        if (e->unsure && (!n || next[n - 1] < g)) next[n++] = g;
        if (g < got->count && edge_same(e, &got->edges[g])
            && n < EDGES_UNSURE)
            next[n++] = g + 1;
        if (n >= EDGES_UNSURE - 1) break;
    }
    return n;
}

/* Is `got` what `want` lists, some of those that are unsure left out? */
static inline int edges_same(const edge_list *want, const edge_list *got)
{
    size_t at[2][EDGES_UNSURE] = {{0}};
    size_t count = 1;
    size_t w = 0;
    size_t g = 0;
    for (; w < want->count && count; w++) {
        g = at[w % 2][count - 1];
        count = edges_after(&want->edges[w], got, at[w % 2], count,
                            at[(w + 1) % 2]);
    }
    for (size_t i = 0; i < count; i++)
        if (at[w % 2][i] == got->count) return 1;
    w -= !count;
    printf("    edge %lu of %lu, [cov] has %lu: want %llx %llx, got %llx %llx\n",
           (unsigned long) w, (unsigned long) want->count,
           (unsigned long) got->count,
           w < want->count ? (unsigned long long) want->edges[w].from : 0,
           w < want->count ? (unsigned long long) want->edges[w].to : 0,
           g < got->count ? (unsigned long long) got->edges[g].from : 0,
           g < got->count ? (unsigned long long) got->edges[g].to : 0);
    return 0;
}

/* Counters of the edges, each by the formula that ipt.h gives. */
static inline void edges_map(const edge_list *l, uint32_t flags, uint8_t *map,
                             uint32_t size)
{
    const uint64_t factor = 0x7fb5d329728ea185u;
    memset(map, 0, size);
    for (size_t i = 0; i < l->count; i++) {
        const edge *e = &l->edges[i];
        uint64_t from = (e->from ^ e->from >> 31) * factor;
        uint64_t to = (e->to ^ e->to >> 31) * factor;
        uint8_t *slot = &map[(uint32_t) (to ^ from >> 1) % size];
        if (e->kind != IPT_INSN_JCC && !(flags & IPT_COV_INDIRECT)) continue;
        if (!(flags & IPT_COV_SATURATE) || *slot < 255) ++*slot;
    }
}

static inline void edges_of_kind(edge_list *l, uint32_t flags)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->edges[i].kind == IPT_INSN_JCC || flags & IPT_COV_INDIRECT)
            l->edges[n++] = l->edges[i];
    l->count = n;
}

/* ---- [insn] ---- */

static inline uint8_t trace_byte(const ipt_trace *trace, uint64_t offset)
{
    uint64_t at = trace->offset;
    for (uint32_t i = 0; i < trace->count; i++) {
        const ipt_segment *seg = &trace->seg[i];
        const uint64_t size = seg->data || !seg->size
                                  ? seg->size : gap_counts(at, seg->size);
        if (offset - at < size) return seg->data ? seg->data[offset - at] : 0;
        at += size;
    }
    return 0;
}

static inline int is_tnt(const ipt_trace *trace, uint64_t offset)
{
    uint8_t first = trace_byte(trace, offset);
    if (first == 2) return trace_byte(trace, offset + 1) == 0xa3;
    return first && !(first & 1);
}

/* Is flow skipped in the address space that the event names? */
static inline int is_skipped(const ipt_config *config, const ipt_event *event)
{
    const ipt_asid asid = {event->u.paging.cr3, 0, event->u.paging.nr};
    if (config->flags & IPT_CONFIG_CR3_ONLY && asid.cr3 != config->cr3)
        return 1;
    return config->flags & (asid.nr ? IPT_CONFIG_ROOT_ONLY
                                    : IPT_CONFIG_NON_ROOT_ONLY) ? 1 : 0;
}

/* The instruction executed: which edge is that? to: where flow went, if the
 * instruction then waited for a page that never came, and NULL otherwise. */
static inline void edge_of_insn(edge_list *l, ipt_insn_decoder *d,
                                const ipt_insn *insn, int status,
                                const uint64_t *to)
{
    edge e = {insn->ip, to ? *to : d->at.ip, insn->kind, 0, 0,
              insn->mode != IPT_MODE_64};
    const uint64_t mask = insn->mode == IPT_MODE_64 ? UINT64_MAX
                        : insn->mode == IPT_MODE_32 ? UINT32_MAX : 0xffff;
    const int hidden = !to && status >= 0 && status & IPT_IP_SUPPRESSED;
    const int astray = d->walk_.calls.at.lost > 1; /* a return, to where? */
    int moved = to != NULL; /* events came after that */
    int skipped = 0;
    int vague = 0;
    int psb = 0; /* what follows a PSB+ is not of this branch */
    ipt_event event = {.type = 0};
    while (status >= 0 && status & IPT_EVENT_PENDING) {
        status = ipt_insn_event(d, &event);
        if (status < 0 || moved || skipped || vague) continue;
        moved = 1;
        psb |= event.flags & IPT_EVENT_STATUS;
        switch (event.type) {
        case IPT_EVT_ASYNC_PAGING: /* a PSB+ may contradict what was before */
            vague = hidden && event.flags & IPT_EVENT_STATUS;
            moved = 0;
            break;
        case IPT_EVT_PAGING: /* what follows is about flow that is skipped */
            skipped = !psb && is_skipped(d->walk_.cur.config, &event);
            moved = 0;
            break;
        case IPT_EVT_ASYNC_BRANCH:
        case IPT_EVT_ASYNC_DISABLED: e.to = event.ip; break;
        case IPT_EVT_OVERFLOW: e.to_lost = 1; break;
        case IPT_EVT_TSX: /* [cov] counts what BDM64 takes back */
            e.to_lost |= d->walk_.cur.config->errata & IPT_ERRATUM_BDM64
                         && event.u.tsx.aborted;
            moved = 0;
            break;
        case IPT_EVT_DISABLED: /* a status: an overflow may follow */
            e.unsure = 1;
            moved = !(event.flags & IPT_EVENT_STATUS);
            break;
        case IPT_EVT_GAP: break; /* what comes then is not of this branch */
        default: moved = 0;
        }
    }
    if (!is_branch(insn->kind) || skipped || astray) return;
    if (hidden && !moved) {
        if (!vague) return;
        e.unsure = e.to_lost = 1;
    }
    if (insn->kind == IPT_INSN_JCC) {
        if (!is_tnt(d->walk_.cur.trace, insn->offset)) return;
        e.unsure = 0;
    }
    if ((insn->kind == IPT_INSN_RSM || insn->kind == IPT_INSN_INTO)
        && (e.to_lost || ((e.to - insn->ip - insn->size) & mask) == 0))
        e.unsure = 1;
    *edge_add(l) = e;
}

/* Edges of the instructions of a closed trace, from the first PSB or from
 * `start`; after errors it goes on, to the end or until there is no fuel left.
 */
static inline void edges_by_insn(edge_list *l, const ipt_config *config,
                                 const ipt_trace *trace, ipt_cache *code,
                                 const ipt_start *start)
{
    static ipt_insn_decoder d;
    ipt_insn insn;
    uint64_t to = 0;
    int waits = 0;
    int status = ipt_insn_init(&d, config, trace, code);
    memset(l, 0, sizeof *l);
    if (status >= 0)
        status = start ? ipt_insn_start(&d, start) : ipt_insn_sync_forward(&d);
    while (status != IPT_END && status != IPT_BUDGET) {
        status = ipt_insn_next(&d, &insn);
        if (status >= 0) edge_of_insn(l, &d, &insn, status, waits ? &to : NULL);
        waits = status == IPT_NEED_PAGE && d.walk_.item.full;
        if (status >= 0 || status == IPT_EVENT_FIRST || status == IPT_END)
            continue;
        to = d.at.ip;
        l->errors++;
        status = ipt_insn_resync(&d);
        if (status < 0 && status != IPT_END) status = ipt_insn_sync_forward(&d);
    }
    l->status = status;
}

/* ---- blocks, in an edge_list: from is the address, to the size, kind the mode
 * ---- */

static inline void list_block(uint64_t ip, uint32_t size, uint8_t mode,
                              void *context)
{
    edge *e = edge_add(context);
    e->from = ip;
    e->to = size;
    e->kind = mode;
}

static inline int block_order(const void *left, const void *right)
{
    const edge *x = left, *y = right;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Each once. */
static inline void blocks_unique(edge_list *l)
{
    size_t n = 0;
    if (l->count) qsort(l->edges, l->count, sizeof *l->edges, block_order);
    for (size_t i = 0; i < l->count; i++)
        if (!n || block_order(&l->edges[n - 1], &l->edges[i]))
            l->edges[n++] = l->edges[i];
    l->count = n;
}

/* Are they the same, and each there once? want: unique. */
static inline int blocks_same(const edge_list *want_blocks, edge_list *l)
{
    const size_t count = l->count;
    blocks_unique(l);
    for (size_t i = 0; i < l->count || i < want_blocks->count; i++)
        if (i == l->count || i == want_blocks->count
            || block_order(&l->edges[i], &want_blocks->edges[i])) {
            if (i < want_blocks->count)
                printf("    want %llx size %u\n",
                       (unsigned long long) want_blocks->edges[i].from,
                       (unsigned) want_blocks->edges[i].to);
            if (i < l->count)
                printf("    got %llx size %u\n",
                       (unsigned long long) l->edges[i].from,
                       (unsigned) l->edges[i].to);
            return 0;
        }
    return count == l->count;
}

/* Add a block of [blk], to the one before if that goes on with it: an event cut
 * them. Returns whether more of it may follow. */
static inline int blocks_add(edge_list *l, int more, const ipt_block *block)
{
    const uint64_t mask
        = block->mode == IPT_MODE_64 ? UINT64_MAX : UINT32_MAX;
    const uint64_t size
        = ((block->end_ip - block->ip) & mask) + block->last_size;
    edge *last = more ? &l->edges[l->count - 1] : NULL;
    if (last && last->kind == block->mode
        && ((last->from + last->to - block->ip) & mask) == 0)
        last->to += size;
    else
        list_block(block->ip & mask, (uint32_t) size, block->mode, l);
    return !is_branch(block->kind) && block->kind != IPT_INSN_JMP
           && block->kind != IPT_INSN_CALL;
}

/* The blocks of [blk], contiguous, in their order, as edges_by_insn. One may
 * wait until the end: that of a page that is missing. */
static inline void blocks_by_blk(edge_list *l, const ipt_config *config,
                                 const ipt_trace *trace, ipt_cache *code,
                                 const ipt_start *start)
{
    static ipt_blk_decoder d;
    ipt_config own = *config;
    ipt_block block;
    int more = 0;
    int status;
    own.flags |= IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
    status = ipt_blk_init(&d, &own, trace, code);
    memset(l, 0, sizeof *l);
    if (status >= 0)
        status = start ? ipt_blk_start(&d, start) : ipt_blk_sync_forward(&d);
    while (status != IPT_END && status != IPT_BUDGET) {
        status = ipt_blk_next(&d, &block);
        if (status >= 0) more = blocks_add(l, more, &block);
        if (more && config->section
            && config->section(&d.at.asid, block.end_ip, config->context)
                   != config->section(&d.at.asid, block.end_ip + block.last_size,
                                      config->context))
            more = 0;
        if (status >= 0 || status == IPT_EVENT_FIRST || status == IPT_END)
            continue;
        l->errors++;
        status = ipt_blk_resync(&d);
        if (status < 0 && status != IPT_END) status = ipt_blk_sync_forward(&d);
    }
    l->status = status;
    if (ipt_blk_next(&d, &block) >= 0) (void) blocks_add(l, more, &block);
}

/* ---- [cov] ---- */

static inline void list_edge(uint64_t from, uint64_t to, uint8_t kind,
                             void *context)
{
    edge *e = edge_add(context);
    e->from = from;
    e->to = to;
    e->kind = kind;
}

static inline void sum_block(uint64_t ip, uint32_t size, uint8_t mode,
                              void *context)
{
    edge_list *l = context;
    l->blocks = (l->blocks ^ ip ^ mode) * 0x100000001b3u + size;
    l->bytes += size;
}

/* An error: where flow is and what was read so far. */
static inline void sum_place(uint64_t *sum, const ipt_where *at, int status)
{
    const uint64_t ip = at->valid & IPT_AT_IP ? at->ip : 0;
    *sum = (*sum ^ at->offset ^ ip << 20) * 0x100000001b3u
           + (uint64_t) status;
}

/* Run to the end of a closed trace. more: called for the notes; 0: give up. */
static inline void cover(edge_list *l, ipt_cov_decoder *d,
                         int (*more)(ipt_cov_decoder *d, int status,
                                     void *context),
                         void *context)
{
    int status;
    l->errors = 0;
    while ((status = ipt_cov_run(d)) != IPT_END) {
        if (more && more(d, status, context)) continue;
        l->errors++;
        do status = ipt_cov_resync(d);
        while (more && (status == IPT_MORE || status == IPT_BUDGET)
               && more(d, status, context));
        if (status < 0) break;
    }
    l->status = status == IPT_END ? ipt_cov_run(d) : status;
    l->verdict = d->verdict;
    l->hash = d->hash;
}
#endif /* IPT_COVER_H */
