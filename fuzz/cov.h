/* cov.h: what fuzz/cov.c and the simulation check of [cov].
 *
 * The edges must be those of the instructions that [insn] gives; counters, hash
 * and verdict must follow from them whatever the memo holds, however the trace
 * is cut, and with any fuel. */
#ifndef IPT_FUZZ_COV_H
#define IPT_FUZZ_COV_H
#include "fuzz.h"
#include "tests/cover.h"

#define MEMO_LINES 65536
#define MAP_SIZE 256
#define MARKS 16384
#define EDGES_MAX 200000 /* a long way without trace: not compared */

static edge_list want, got;
static edge_list want_blocks, walked_blocks, got_blocks;
static ipt_cov_mark marks[MARKS];
static ipt_cov_seen seen;
static uint8_t map[MAP_SIZE], want_map[MAP_SIZE];
static ipt_cov_line memo_lines[MEMO_LINES], small_lines[4];
static ipt_cov_memo memo, small_memo;
static ipt_cache_line code_lines[FUZZ_LINES];
static ipt_cache code_cache;

/* ---- a decoder in the way that a run says ---- */

static int cov_next(fuzz_run *run)
{
    ipt_cov_decoder *d = (ipt_cov_decoder *) run->decoder;
    const int status = ipt_cov_run(d);

    FUZZ_CHECK(run, status < 0);
    FUZZ_CHECK(run, status != IPT_EVENT_FIRST);
    FUZZ_CHECK(run, status == IPT_END || d->verdict & IPT_COV_UNFINISHED);
    FUZZ_CHECK(run, status != IPT_END || !(d->verdict & IPT_COV_UNFINISHED));
    FUZZ_CHECK(run, status != IPT_NEED_PAGE || d->verdict & IPT_COV_NO_PAGE);
    FUZZ_CHECK(run, d->begin >= fuzz_begin(run->c));
    return status;
}

static int cov_resync(void *decoder)
{
    return ipt_cov_resync((ipt_cov_decoder *) decoder);
}

static int cov_start(void *decoder, const ipt_start *start)
{
    return ipt_cov_start((ipt_cov_decoder *) decoder, start);
}

static const fuzz_layer fuzz_cov
    = {"cov", sizeof(ipt_cov_decoder), NULL, NULL, NULL, NULL, cov_next,
       cov_resync, IPT_ERR_MODE, 1, 0, cov_start};

/* Give the trace again, in pieces of the way. */
static void open_run(fuzz_run *run, const fuzz_case *c, int way)
{
    void *const decoder = run->decoder;

    (void) fuzz_plan_way(run, &fuzz_cov, c, way);
    run->log = &fuzz_logs[0];
    run->log->cut = 0;
    run->decoder = decoder;
    fuzz_setup(run);
}

static void close_run(fuzz_run *run)
{
    fuzz_drop(run, UINT64_MAX);
    free(run->seg);
}

/* Cover the trace of an open run. Returns 0 if it was cut short. */
static int cover_run(fuzz_run *run, edge_list *l)
{
    const ipt_start *start = fuzz_state(run->c);
    const ipt_cov_decoder *d;
    int status;

    if (start)
        FUZZ_CHECK(run, cov_start(run->decoder, start) >= 0);
    status = fuzz_call(run, FUZZ_DO_NEXT);
    l->errors = 0;
    while (status != IPT_END && !run->stop) {
        l->errors++;
        FUZZ_CHECK(run, ++run->resyncs <= 4 * run->given + 64);
        if (run->cached && l->errors % 2 && fuzz_whole(run->c))
            FUZZ_CHECK(run, ipt_cov_invalidate(
                                (ipt_cov_decoder *) run->decoder, NULL,
                                fuzz_base(run->c) + (unsigned) l->errors,
                                (unsigned) l->errors % 32)
                                >= 0);
        status = fuzz_call(run, FUZZ_DO_RESYNC);
        if (status >= 0)
            status = fuzz_call(run, FUZZ_DO_NEXT);
    }
    d = (const ipt_cov_decoder *) run->decoder;
    l->status = status;
    l->verdict = d->verdict & ~(run->lazy ? IPT_COV_NO_PAGE : 0);
    l->hash = d->hash;
    return !run->log->cut;
}

/* ---- the checks ---- */

/* The oracle. Returns 0 if it found more than can be listed. */
static int list_insns(fuzz_run *run, const fuzz_case *c)
{
    open_run(run, c, FUZZ_RUN_QUIET);
    run->fuel = 4 * FUZZ_WORK;
    edge_clear(&want);
    run->config.unwanted = 0; /* some say where an edge leads */
    edges_by_insn(&want, &run->config, &run->trace, NULL, fuzz_state(c));
    close_run(run);
    open_run(run, c, FUZZ_RUN_QUIET);
    run->fuel = 4 * FUZZ_WORK;
    edge_clear(&want_blocks);
    run->config.unwanted = 0; /* some end a block */
    blocks_by_blk(&want_blocks, &run->config, &run->trace, NULL,
                  fuzz_state(c));
    blocks_unique(&want_blocks);
    close_run(run);
    return want.status == IPT_END && want.count < EDGES_MAX;
}

static void walked_block(uint64_t ip, uint32_t size, uint8_t mode,
                         void *context)
{
    (void) context;
    list_block(ip, size, mode, &walked_blocks);
}

/* Edges as they come, and new blocks. Returns 0 if the run was cut short. */
static int list_edges(fuzz_run *run, const fuzz_case *c, int way)
{
    ipt_cov_config cov;
    int done;

    memset(&cov, 0, sizeof(cov));
    cov.flags = IPT_COV_INDIRECT | IPT_COV_HASH;
    cov.edge = list_edge;
    cov.context = &got;
    cov.seen = &seen;
    cov.block = walked_block;
    walked_blocks.count = got.count = 0;
    FUZZ_CHECK(run, ipt_cov_seen_init(&seen, marks, MARKS) == IPT_OK);
    open_run(run, c, way);
    FUZZ_CHECK(run, ipt_cache_init(&code_cache, code_lines, FUZZ_LINES) >= 0);
    FUZZ_CHECK(run, ipt_cov_init((ipt_cov_decoder *) run->decoder,
                                 &run->config, &cov, &run->trace,
                                 run->cached ? &code_cache : NULL)
                        == IPT_OK);
    done = cover_run(run, &got);
    close_run(run);
    if (seen.lost == 0)
        FUZZ_CHECK(run, walked_blocks.count == seen.count);
    blocks_unique(&walked_blocks);
    if (seen.lost == 0)
        FUZZ_CHECK(run, walked_blocks.count == seen.count);
    return done;
}

/* What the memo holds in a fuzzing loop must not matter. `turn` picks sizes of
 * memo and bitmap, and what counts. */
static void count_edges(fuzz_run *run, const fuzz_case *c, int way,
                        unsigned turn, size_t lines)
{
    static const uint32_t sizes[] = {MAP_SIZE, 1, 100, 64};
    ipt_cov_config cov;
    edge_list again = {0};
    unsigned k;

    memset(&cov, 0, sizeof(cov));
    cov.bitmap = map;
    cov.bitmap_size = sizes[turn % 4];
    cov.flags = (turn & 4 ? IPT_COV_HASH : 0u)
                | (turn & 1 ? IPT_COV_INDIRECT : 0u)
                | (turn & 2 ? IPT_COV_SATURATE : 0u);
    cov.memo = &memo;
    if (c->clone & 2) {
        cov.seen = &seen;
        cov.block = list_block;
        cov.context = &got_blocks;
        got_blocks.count = 0;
        FUZZ_CHECK(run, ipt_cov_seen_init(&seen, marks, MARKS) == IPT_OK);
    }
    edges_map(&got, cov.flags, want_map, cov.bitmap_size);
    FUZZ_CHECK(run, ipt_cov_memo_init(&memo, memo_lines, lines) == IPT_OK);
    FUZZ_CHECK(run, ipt_cov_memo_init(&small_memo, small_lines, 4) == IPT_OK);
    FUZZ_CHECK(run, ipt_cache_init(&code_cache, code_lines, FUZZ_LINES) >= 0);
    for (k = 0; k < 4; k++) {
        open_run(run, c, way);
        if (k == 3) { /* the memo is frozen */
            cov.shared = &memo;
            cov.memo = &small_memo;
        }
        FUZZ_CHECK(run, (k == 1 ? ipt_cov_begin(
                                      (ipt_cov_decoder *) run->decoder,
                                      &run->trace)
                                : ipt_cov_init(
                                      (ipt_cov_decoder *) run->decoder,
                                      &run->config, &cov, &run->trace,
                                      run->cached ? &code_cache : NULL))
                            == IPT_OK);
        memset(map, 0, sizeof(map));
        if (cover_run(run, &again) && fuzz_pure(c)) {
            FUZZ_CHECK(run, !memcmp(map, want_map, cov.bitmap_size));
            FUZZ_CHECK(run, again.errors == got.errors);
            FUZZ_CHECK(run, again.verdict == got.verdict);
            if (cov.flags & IPT_COV_HASH && cov.flags & IPT_COV_INDIRECT)
                FUZZ_CHECK(run, again.hash == got.hash);
            if (cov.seen && seen.lost == 0) {
                const int same = blocks_same(&walked_blocks, &got_blocks);
                fflush(stdout);
                FUZZ_CHECK(run, same);
            }
        }
        close_run(run);
    }
}

/* A case without end has no oracle. The ways to decode are bits of `ways`, those
 * to count with a memo of `lines` lines (0: some number) are also bits of
 * `counted`. */
static void cov_all(const fuzz_case *given, unsigned ways, unsigned counted,
                    size_t lines)
{
    fuzz_case c = *given;
    fuzz_run run;
    uint64_t hash = 0;
    int known;
    int way;

    c.flags &= (uint8_t) ~FUZZ_OPEN;
    memset(&run, 0, sizeof(run));
    known = list_insns(&run, &c) && fuzz_pure(&c);
    run.decoder = malloc(sizeof(ipt_cov_decoder));
    memset(run.decoder, 0x5a, sizeof(ipt_cov_decoder));
    for (way = 0; way < FUZZ_RUN_COUNT; way++) {
        const unsigned turn = c.cut + (unsigned) way;
        const int done = ways >> way & 1 && list_edges(&run, &c, way);
        if (known && done) {
            const int same = edges_same(&want, &got);
            fflush(stdout);
            FUZZ_CHECK(&run, same);
            /* The oracle wants all events. A _resync that has many of them to
             * hand out is done in several calls, and an error that it meets in
             * a further one comes from there. Unwanted ones do not stop it. */
            FUZZ_CHECK(&run, got.errors <= want.errors);
            FUZZ_CHECK(&run, c.unwanted || got.errors == want.errors);
            if (want_blocks.status == IPT_END && seen.lost == 0) {
                const int alike = blocks_same(&want_blocks, &walked_blocks);
                fflush(stdout);
                FUZZ_CHECK(&run, alike);
            }
            FUZZ_CHECK(&run, !hash || hash == got.hash);
            hash = got.hash;
        }
        if (done && counted >> way & 1)
            count_edges(&run, &c, way, turn,
                        lines ? lines : (size_t) 4 << turn % 5);
    }
    free(run.decoder);
}

#endif /* IPT_FUZZ_COV_H */
