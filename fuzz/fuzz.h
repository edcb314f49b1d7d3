/* fuzz.h: what the harnesses and tests/hostile.c share.
 *
 * An input is FUZZ_HEAD bytes of configuration (fuzz_case), code, trace. It is
 * decoded once plainly, which is the reference, and then again in other ways
 * (while fuzzing, in one of them: see way.h) that must not matter: in pieces, a
 * piece at a time with pieces dropped after the decoder, on little fuel,
 * through a cache, by a clone, with pages that come late, with events that
 * nobody pulls. A run (run.h) writes a log of all that the decoder of a layer
 * (layers.h) said; the logs must be equal. Every call is checked by itself:
 *
 *   - the status is one that ipt.h documents for the call, and what it goes
 *     with is so: an error has its location, IPT_BUDGET means no fuel is left
 *   - a negative status leaves the output untouched
 *   - each success moves on through the trace or the code, within a bound
 *   - errors stay until synchronisation, which always moves forward
 *
 * A failed check calls FUZZ_FAIL(line, text): abort(), unless defined. With
 * FUZZ_VERBOSE in the environment the logs are printed. */
#ifndef IPT_FUZZ_H
#define IPT_FUZZ_H
#include "layers.h"

/* ---- comparing ---- */

static fuzz_log fuzz_logs[2];

/* Print where two logs differ, and fail. */
static inline int fuzz_differ(const fuzz_log *a, size_t i, const fuzz_log *b,
                              size_t k)
{
    fprintf(stderr, "%s, item %u of %u:\n", a->name, (unsigned) i,
            (unsigned) a->count);
    if (i < a->count)
        fuzz_print(&a->item[i]);
    fprintf(stderr, "%s, item %u of %u:\n", b->name, (unsigned) k,
            (unsigned) b->count);
    if (k < b->count)
        fuzz_print(&b->item[k]);
    FUZZ_FAIL(__LINE__, "two ways to decode the same differ");
    return 0;
}

/* Is what was lost the same? */
static inline int fuzz_counted(const fuzz_log *a, const fuzz_log *b)
{
    if (a->skipped == b->skipped && a->overflows == b->overflows
        && a->gaps == b->gaps && a->resyncs == b->resyncs)
        return 1;
    fprintf(stderr, "%s: skipped %u overflows %u gaps %u resyncs %u\n"
                    "%s: skipped %u overflows %u gaps %u resyncs %u\n",
            a->name, (unsigned) a->skipped, a->overflows, a->gaps, a->resyncs,
            b->name, (unsigned) b->skipped, b->overflows, b->gaps, b->resyncs);
    FUZZ_FAIL(__LINE__, "two ways to decode the same count otherwise");
    return 0;
}

/* The logs are equal, as far as they go if one was cut. `quiet`: b has no
 * events. */
static inline int fuzz_same(const fuzz_log *a, const fuzz_log *b, int quiet)
{
    size_t i = 0;
    size_t k = 0;

    for (;; i++, k++) {
        while (quiet && i < a->count && a->item[i].what == FUZZ_EVENT)
            i++;
        if (i == a->count || k == b->count)
            break;
        if (!fuzz_equal(&a->item[i], &b->item[k], sizeof(a->item[i])))
            return fuzz_differ(a, i, b, k);
    }
    if (a->cut || b->cut)
        return 1;
    if (i < a->count || k < b->count)
        return fuzz_differ(a, i, b, k);
    return fuzz_counted(a, b);
}

/* Does a block end after this kind of instruction? */
static inline int fuzz_ends(const fuzz_case *c, uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_VMPTRLD:
        return 0;
    case IPT_INSN_JMP:
        return c->config & IPT_CONFIG_END_ON_JUMP;
    case IPT_INSN_CALL:
        return c->config & IPT_CONFIG_END_ON_CALL;
    default:
        return 1;
    }
}

/* Events that end a block even if nobody wants them. */
#define FUZZ_EVENT(type) ((uint64_t) 1 << IPT_EVT_##type)
#define FUZZ_ENDS                                                         \
    (FUZZ_EVENT(ENABLED) | FUZZ_EVENT(DISABLED)                           \
     | FUZZ_EVENT(ASYNC_DISABLED) | FUZZ_EVENT(ASYNC_BRANCH)              \
     | FUZZ_EVENT(PAGING) | FUZZ_EVENT(ASYNC_PAGING) | FUZZ_EVENT(VMCS)   \
     | FUZZ_EVENT(ASYNC_VMCS) | FUZZ_EVENT(OVERFLOW)                      \
     | FUZZ_EVENT(EXEC_MODE) | FUZZ_EVENT(TSX) | FUZZ_EVENT(STOP)         \
     | FUZZ_EVENT(GAP))

/* Does the instruction after this one, in a block, stand after it? A direct
 * branch leads elsewhere, and 16-bit code goes round. */
static inline int fuzz_goes_on(const fuzz_item *insn)
{
    return insn->kind == IPT_INSN_JMP || insn->kind == IPT_INSN_CALL
           || (uint16_t) (insn[1].ip - insn->ip) == insn->size;
}

/* Are these instructions, from `first` to `last`, the block? */
static inline int fuzz_gather(const fuzz_case *c, const fuzz_item *block,
                              const fuzz_item *first, const fuzz_item *last)
{
    const fuzz_item *insn;
    uint16_t flags = 0;

    for (insn = first; insn <= last; insn++) {
        flags |= insn->flags;
        if (insn->what != FUZZ_INSN || insn->mode != block->mode)
            return 0;
        if (insn < last && (fuzz_ends(c, insn->kind)
                            || !fuzz_goes_on(insn)
                            || fuzz_crosses(c, insn->ip, insn[1].ip)
                            || insn->flags & IPT_FLOW_TRUNCATED))
            return 0;
    }
    return block->ip == first->ip && block->end == last->ip
           && block->kind == last->kind && block->size == last->size
           && block->offset == last->offset && block->flags == flags
           && block->status == last->status;
}

/* What a missing page or missing trace keeps: a block in progress comes after
 * the status, if flow is taken up elsewhere. */
static inline size_t fuzz_held(const fuzz_log *insns, size_t i)
{
    while (i < insns->count && insns->item[i].what == FUZZ_INSN)
        i++;
    return i;
}

/* A block that a status kept: instructions of it that came before, from `held`
 * to before `end`, and those that came after it. */
static inline int fuzz_gather_held(const fuzz_case *c, const fuzz_item *block,
                                   const fuzz_item *held, const fuzz_item *end,
                                   const fuzz_item *after)
{
    static fuzz_log joined;
    const size_t before = (size_t) (end - held);
    const size_t rest = block->count - before;

    memcpy(joined.item, held, before * sizeof(*held));
    memcpy(joined.item + before, after, rest * sizeof(*after));
    return fuzz_gather(c, block, joined.item, joined.item + block->count - 1);
}

/* Blocks are the instructions, gathered, and as many as there can be. */
static inline int fuzz_gathered(const fuzz_case *c, const fuzz_log *insns,
                                const fuzz_log *blocks)
{
    const fuzz_item *held = NULL;
    const fuzz_item *held_end = NULL;
    size_t i = 0;
    size_t k;

    for (k = 0; k < blocks->count && i < insns->count; k++) {
        const fuzz_item *block = &blocks->item[k];
        const fuzz_item *insn = &insns->item[i];
        if (block->what == FUZZ_STOP
            && (block->status == IPT_NEED_PAGE || block->status == IPT_MORE)
            && insn->what == FUZZ_INSN && !held) {
            held = insn;
            i = fuzz_held(insns, i);
            insn = held_end = &insns->item[i];
        }
        if (block->what != FUZZ_BLOCK) {
            if (i == insns->count || !fuzz_equal(block, insn, sizeof(*insn)))
                return insns->cut || fuzz_differ(insns, i, blocks, k);
            i++;
            continue;
        }
        if (held) {
            const size_t before = (size_t) (held_end - held);
            if (block->count > before + (insns->count - i) && insns->cut)
                return 1;
            if (block->count < before
                || block->count > before + (insns->count - i)
                || !fuzz_gather_held(c, block, held, held_end, insn))
                return fuzz_differ(insns, i, blocks, k);
            i += block->count - before;
            held = NULL;
            continue;
        }
        if (i + block->count > insns->count && insns->cut)
            return 1;
        if (i + block->count > insns->count
            || !fuzz_gather(c, block, insn, insn + block->count - 1)
            || (k + 1 < blocks->count && block[1].what == FUZZ_BLOCK
                && !(c->unwanted & FUZZ_ENDS) /* one may stand there */
                && !fuzz_ends(c, block->kind) && block->count < UINT16_MAX
                && !fuzz_crosses(c, block->end, block[1].ip)
                && !(block->flags & IPT_FLOW_TRUNCATED)))
            return fuzz_differ(insns, i, blocks, k);
        i += block->count;
    }
    if (insns->cut || blocks->cut
        || (i == insns->count && k == blocks->count))
        return 1;
    return fuzz_differ(insns, i, blocks, k);
}

/* Queries give what events are, a TNT bit at a time. */
static inline int fuzz_asked(const fuzz_log *events, const fuzz_log *queries)
{
    size_t i;
    size_t k = 0;
    uint8_t bit;

    for (i = 0; i < events->count && k < queries->count; i++) {
        const fuzz_item *event = &events->item[i];
        const fuzz_item *query = &queries->item[k];
        if (event->what != FUZZ_EVENT
            || (event->kind != IPT_EVT_TNT && event->kind != IPT_EVT_TIP)) {
            if (!fuzz_equal(event, query, sizeof(*event)))
                return fuzz_differ(events, i, queries, k);
            k++;
            continue;
        }
        if (event->kind == IPT_EVT_TIP) {
            if (query->kind != IPT_EVT_TIP
                || query->ip != (event->flags & IPT_EVENT_NO_IP ? 0
                                                                : event->ip))
                return fuzz_differ(events, i, queries, k);
            k++;
            continue;
        }
        for (bit = event->mode; bit-- && k < queries->count; k++) {
            query = &queries->item[k];
            if (query->what != FUZZ_EVENT || query->kind != IPT_EVT_TNT
                || query->ip != (event->hash >> bit & 1))
                return fuzz_differ(events, i, queries, k);
        }
    }
    if (events->cut || queries->cut
        || (i == events->count && k == queries->count))
        return 1;
    return fuzz_differ(events, i, queries, k);
}

/* ---- all of it ---- */

enum { /* ways to decode that must not matter */
    FUZZ_RUN_PIECES,
    FUZZ_RUN_FEED,
    FUZZ_RUN_FUEL,
    FUZZ_RUN_CLONE,
    FUZZ_RUN_CACHE,
    FUZZ_RUN_LAZY,
    FUZZ_RUN_QUIET,
    FUZZ_RUN_ALL, /* together */
    FUZZ_RUN_COUNT,
    FUZZ_RUN_AGAIN = FUZZ_RUN_COUNT /* by a decoder that was used before */
};

static inline void fuzz_plan(fuzz_run *run, const fuzz_layer *layer,
                             const fuzz_case *c)
{
    memset(run, 0, sizeof(*run));
    run->layer = layer;
    run->c = c;
}

static inline void fuzz_reference(const fuzz_layer *layer, const fuzz_case *c,
                                  fuzz_log *log)
{
    fuzz_run run;

    fuzz_plan(&run, layer, c);
    run.log = log;
    run.first = 1;
    fuzz_decode(&run, layer->name);
}

/* Plan to decode in one of the ways. Returns its name. */
static inline const char *fuzz_plan_way(fuzz_run *run, const fuzz_layer *layer,
                                        const fuzz_case *c, int way)
{
    static const char *const names[] = {"pieces", "feed", "fuel", "clone",
                                        "cache", "lazy", "quiet", "all",
                                        "again"};
    const int all = way == FUZZ_RUN_ALL;

    fuzz_plan(run, layer, c);
    run->way = way == FUZZ_RUN_PIECES        ? FUZZ_PIECES
               : way == FUZZ_RUN_FEED || all ? FUZZ_FEED
                                             : FUZZ_WHOLE;
    run->fueled = way == FUZZ_RUN_FUEL || all;
    run->cloned = way == FUZZ_RUN_CLONE || all;
    run->cached = way == FUZZ_RUN_CACHE || all;
    run->lazy = (way == FUZZ_RUN_LAZY || all)
                && !(c->errata & (IPT_ERRATUM_BDM64 | IPT_ERRATUM_SKD022))
                && (fuzz_reads(c) == FUZZ_HONEST
                    || fuzz_reads(c) == FUZZ_HOLES);
    run->quiet = way == FUZZ_RUN_QUIET;
    run->again = way == FUZZ_RUN_AGAIN;
    return names[way];
}

/* Decode in one of the ways, and compare with the reference. */
static inline void fuzz_way(const fuzz_layer *layer, const fuzz_case *c,
                            const fuzz_log *reference, int way)
{
    fuzz_log *log = &fuzz_logs[1];
    fuzz_run run;
    const char *name = fuzz_plan_way(&run, layer, c, way);

    run.log = log;
    fuzz_decode(&run, name);
    if (run.again) { /* these count from its first use on */
        log->skipped = reference->skipped;
        log->overflows = reference->overflows;
        log->gaps = reference->gaps;
        log->resyncs = reference->resyncs;
    }
    if (fuzz_pure(c) && (!fuzz_tears(c) || layer != &fuzz_blk)
        && fuzz_same(reference, log, run.quiet) && run.quiet
        && !reference->errors && !reference->cut && !log->cut)
        FUZZ_CHECK(&run, log->dropped == reference->events);
}

/* Is this way of any use for the layer? */
static inline int fuzz_useful(const fuzz_layer *layer, int way)
{
    return layer->flow || (way != FUZZ_RUN_CACHE && way != FUZZ_RUN_LAZY
                           && way != FUZZ_RUN_QUIET);
}

static int fuzz_drawing; /* does each input draw one way? */
static unsigned long fuzz_drawn[FUZZ_RUN_COUNT + 1]; /* how many drew each */

/* Is it this one's turn? FUZZ_RUN_COUNT: to compare with another layer. */
static inline int fuzz_draws(const fuzz_layer *layer, const fuzz_case *c,
                             int way)
{
    int ways[FUZZ_RUN_COUNT + 1];
    unsigned n = 0;
    int i;

    if (!fuzz_drawing)
        return 1;
    for (i = 0; i < FUZZ_RUN_COUNT; i++)
        if (fuzz_useful(layer, i))
            ways[n++] = i;
    if (layer == &fuzz_blk || layer == &fuzz_qry)
        ways[n++] = FUZZ_RUN_COUNT;
    if (ways[c->way % n] != way)
        return 0;
    fuzz_drawn[way]++;
    return 1;
}

static inline void fuzz_all(const fuzz_layer *layer, const fuzz_case *c)
{
    fuzz_log *log = &fuzz_logs[0];
    int way;

    fuzz_reference(layer, c, log);
    if (layer == &fuzz_blk && fuzz_draws(layer, c, FUZZ_RUN_COUNT)
        && fuzz_pure(c) && !fuzz_tears(c)) {
        fuzz_reference(&fuzz_insn, c, &fuzz_logs[1]);
        fuzz_gathered(c, &fuzz_logs[1], log);
    }
    if (layer == &fuzz_qry && fuzz_draws(layer, c, FUZZ_RUN_COUNT)
        && !fuzz_wild(c) && !(c->wide & FUZZ_WIDE_START)) {
        fuzz_reference(&fuzz_evt, c, &fuzz_logs[1]);
        fuzz_asked(&fuzz_logs[1], log);
    }
    for (way = 0; way < FUZZ_RUN_COUNT; way++)
        if (fuzz_useful(layer, way) && fuzz_draws(layer, c, way))
            fuzz_way(layer, c, log, way);
}

/* What LLVMFuzzerTestOneInput does. */
static inline int fuzz_input(const fuzz_layer *layer, const uint8_t *data,
                             size_t size)
{
    fuzz_case c;

    if (fuzz_parse(&c, data, size))
        fuzz_all(layer, &c);
    return 0;
}

#endif /* IPT_FUZZ_H */
