/* cover.h: [cov] against the truth: the edges, one by one, and the counters,
 * with memos of any size, the trace in pieces, little fuel. Where code changes,
 * it does as soon as edges show that the old one is not needed any more. */
#define MAP_SIZE 65536u
#define MEMO_LINES 16384u

typedef struct cover_case {
    uint32_t memo;   /* lines; 0: with a call for each edge */
    uint32_t size;   /* of the bitmap */
    uint32_t cache;  /* lines, or 0 */
    uint32_t pieces; /* largest; 0: the trace is one */
    uint32_t fuel;   /* of each call; 0: unbounded */
} cover_case;

static uint8_t cov_map[MAP_SIZE], cov_want[MAP_SIZE];
static ipt_cov_line memo_lines[MEMO_LINES];

static void on_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    const edge *e = &out.edges[at.place];

    (void) context;
    if (at.why[0])
        return;
    at.index = e->index + 1;
    if (at.place == out.edge_count)
        bad("edge %" PRIx64 " %" PRIx64 ", none is left", from, to);
    else if (from != codes[e->id].ip || to != e->to
             || kind != codes[e->id].kind)
        bad("edge %" PRIx64 " %" PRIx64 " kind %u, not %" PRIx64 " %" PRIx64,
            from, to, kind, codes[e->id].ip, e->to);
    else
        at.place++;
    apply_changes();
}

/* ---- decoding ---- */

static ipt_cov_decoder cov_decoder;

/* Give the next piece, the first at count 0. */
static void grow_trace(ipt_trace *trace, ipt_segment *all, uint32_t most)
{
    ipt_segment *last = &all[trace->count];
    const uint8_t *from = trace->count ? last[-1].data + last[-1].size
                                       : out.trace;
    const size_t left = (size_t) (out.trace + out.gen.used - from);

    last->data = from;
    last->size = 1 + (trace->count * 7919u + out.gen.used) % most;
    if (last->size >= left) {
        last->size = left;
        trace->open = 0;
    }
    trace->seg = all;
    trace->count++;
}

static int cover_all(const cover_case *c, ipt_config *config, ipt_trace *trace,
                     ipt_segment *all)
{
    uint64_t fuel = c->fuel;
    int status;

    if (c->fuel)
        config->fuel = &fuel;
    do {
        const size_t changes = at.change;
        status = ipt_cov_run(&cov_decoder);
        if (at.change != changes)
            (void) ipt_cov_invalidate(&cov_decoder, NULL, 0, UINT64_MAX);
        if (status == IPT_MORE && trace->open)
            grow_trace(trace, all, c->pieces);
        fuel = c->fuel;
    } while (status == IPT_BUDGET || status == IPT_MORE);
    return status;
}

static int run_decoder(const ipt_cov_config *cov, const cover_case *c)
{
    static ipt_cache cache;
    const uint32_t verdict = out.loss_count ? IPT_COV_OVERFLOW : 0;
    ipt_segment *all = NULL;
    ipt_trace trace;
    ipt_config config;
    int status = 0;

    decoder_config(&config);
    decoder_trace(&trace);
    if (c->pieces) {
        all = (ipt_segment *) room_for(out.gen.used, sizeof(ipt_segment));
        memset(&trace, 0, sizeof(trace));
        trace.open = 1;
        grow_trace(&trace, all, c->pieces);
    }
    if (c->cache)
        status = ipt_cache_init(&cache, lines, c->cache);
    if (status >= 0)
        status = ipt_cov_init(&cov_decoder, &config, cov, &trace,
                              c->cache ? &cache : NULL);
    if (status >= 0)
        status = cover_all(c, &config, &trace, all);
    free(all);
    if (at.why[0])
        return -1;
    if (status != IPT_END || cov_decoder.verdict != verdict)
        return bad("%s at %" PRIx64 ", verdict %x", ipt_status_name(status),
                   cov_decoder.at.ip, cov_decoder.verdict);
    return 0;
}

/* ---- the counters, by the formula in ipt.h ---- */

static void count_edges(uint32_t size)
{
    const uint64_t factor = 0x7fb5d329728ea185u;
    size_t i;

    memset(cov_want, 0, sizeof(cov_want));
    for (i = 0; i < out.edge_count; i++) {
        const uint64_t ip = codes[out.edges[i].id].ip;
        const uint64_t from = (ip ^ ip >> 31) * factor;
        const uint64_t end = out.edges[i].to;
        const uint64_t to = (end ^ end >> 31) * factor;
        cov_want[(uint32_t) (to ^ from >> 1) % size]++;
    }
}

static int cover(const cover_case *c)
{
    static ipt_cov_memo memory;
    ipt_cov_config cov;

    memset(&at, 0, sizeof(at));
    memset(&cov, 0, sizeof(cov));
    cov.flags = IPT_COV_INDIRECT;
    cov.bitmap = cov_map;
    cov.bitmap_size = c->size;
    if (!c->memo)
        cov.edge = on_edge;
    else if (ipt_cov_memo_init(&memory, memo_lines, c->memo) < 0)
        return bad("ipt_cov_memo_init");
    else
        cov.memo = &memory;
    apply_changes();
    memset(cov_map, 0, sizeof(cov_map));
    if (run_decoder(&cov, c) < 0)
        return -1;
    if (!c->memo && at.place != out.edge_count)
        return bad("%zu of %zu edges", at.place, out.edge_count);
    count_edges(c->size);
    if (memcmp(cov_map, cov_want, sizeof(cov_map)) != 0)
        return bad("counters, %u of them, %u lines of memo", c->size, c->memo);
    return 0;
}
