/* lockstep.h: decode a long trace in two ways at once, and compare all that is
 * said of it: items, flags, offsets, events, errors. fuzz/fuzz.h has the ways
 * and checks each call; here logs are queues, so that no trace is too long. */
#ifndef IPT_TESTS_LOCKSTEP_H
#define IPT_TESTS_LOCKSTEP_H
#include "test.h"

static char lockstep_what[160]; /* what is running */

static inline int lockstep_fail(int line, const char *text)
{
    if (test_fail_("fuzz/fuzz.h", line, text))
        printf("    %s\n", lockstep_what);
    return 0;
}

#define FUZZ_FAIL(line, text) lockstep_fail(line, text)
#define FUZZ_LOG 65536 /* one step pulls all events while tracing is disabled */
#include "fuzz/fuzz.h"

static const fuzz_layer *const lockstep_layers[]
    = {&fuzz_pkt, &fuzz_evt, &fuzz_qry, &fuzz_blk, &fuzz_insn};
#define LOCKSTEP_LAYERS 5

/* Drop the first n items of a log. */
static inline void lockstep_drop(fuzz_log *log, size_t n)
{
    log->count -= n;
    memmove(log->item, log->item + n, log->count * sizeof(log->item[0]));
}

/* Compare what both logs have, but not the last item of a run that goes on: it
 * may be a PAD that grows. quiet: b has no events. */
static inline int lockstep_compare(fuzz_log *a, fuzz_log *b, int over,
                                   int quiet)
{
    const size_t keep = over ? 0 : 1;
    size_t i = 0;
    size_t k = 0;

    for (;; i++, k++) {
        while (quiet && i + keep < a->count && a->item[i].what == FUZZ_EVENT)
            i++;
        if (i + keep >= a->count || k + keep >= b->count)
            break;
        if (memcmp(&a->item[i], &b->item[k], sizeof(a->item[0])))
            return fuzz_differ(a, i, b, k);
    }
    if (over && (i < a->count || k < b->count))
        return fuzz_differ(a, i, b, k);
    lockstep_drop(a, i);
    lockstep_drop(b, k);
    return !over || fuzz_counted(a, b);
}

/* Decode plainly and in one of the ways: the same. */
static inline void lockstep(const fuzz_layer *layer, const fuzz_case *c,
                              int way)
{
    fuzz_run a;
    fuzz_run b;
    const char *name = fuzz_plan_way(&b, layer, c, way);
    int same = 1;
    int more = 1;

    snprintf(lockstep_what, sizeof(lockstep_what),
             "[%s], %s, cut %u, fuel %u, clone %u, halves %u", layer->name,
             name, c->cut, c->fuel, c->clone, (unsigned) c->halves);
    fuzz_plan(&a, layer, c);
    a.log = &fuzz_logs[0];
    b.log = &fuzz_logs[1];
    fuzz_open(&a, layer->name);
    fuzz_open(&b, name);
    while (more && same) {
        more = 0;
        while (a.log->count < 1024 && fuzz_step(&a))
            more = 1;
        while (b.log->count < 1024 && fuzz_step(&b))
            more = 1;
        same = lockstep_compare(a.log, b.log, 0, b.quiet);
    }
    fuzz_close(&a);
    fuzz_close(&b);
    if (!CHECK(!a.log->cut) || !CHECK(!b.log->cut))
        printf("    %s: an item that is too long\n", lockstep_what);
    else if (same)
        lockstep_compare(a.log, b.log, 1, b.quiet);
}

/* A trace and its code in all ways, with `turn` to choose how. */
static inline void lockstep_ways(fuzz_case *c, unsigned turn)
{
    unsigned layer;
    int way;

    for (layer = 0; layer < LOCKSTEP_LAYERS; layer++) {
        for (way = 0; way < FUZZ_RUN_COUNT; way++) {
            if (!fuzz_useful(lockstep_layers[layer], way))
                continue;
            (void) dice_24(&turn);
            c->cut = (uint8_t) (turn >> 24);
            c->fuel = (uint8_t) (turn >> 8 & turn >> 16 & 63);
            c->clone = (uint8_t) (turn >> 16 & 0xfe); /* qry: no odd questions */
            c->piece = turn >> 12 & 1 ? 4099 : 0;
            if (turn >> 13 & 1)
                c->flags ^= FUZZ_GROW;
            lockstep(lockstep_layers[layer], c, way);
        }
    }
    c->piece = 0;
}

/* In bytes one by one, and in two pieces that meet at `count` places: both at
 * hand or one after the other, in turn; each, if the trace is small. */
static inline void lockstep_cuts(fuzz_case *c, size_t count, unsigned turn)
{
    unsigned layer;
    size_t i;

    for (layer = 0; layer < LOCKSTEP_LAYERS; layer++) {
        const fuzz_layer *const l = lockstep_layers[layer];
        c->cut = c->clone = 0;
        lockstep(l, c, FUZZ_RUN_PIECES);
        lockstep(l, c, FUZZ_RUN_FEED);
        for (i = 1; i < c->trace_size && i <= count; i++) {
            (void) dice_24(&turn);
            c->halves = count >= c->trace_size
                            ? i
                            : 1 + (turn >> 4) % (c->trace_size - 1);
            lockstep(l, c, i & 1 ? FUZZ_RUN_PIECES : FUZZ_RUN_FEED);
            if (c->trace_size < 1000 && count >= c->trace_size)
                lockstep(l, c, i & 1 ? FUZZ_RUN_FEED : FUZZ_RUN_PIECES);
        }
        c->halves = 0;
    }
}

#endif /* IPT_TESTS_LOCKSTEP_H */
