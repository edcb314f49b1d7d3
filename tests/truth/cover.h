/* cover.h: [cov] against the truth: the edges, one by one, and the counters,
 * with memos of any size. Not for code that changes: whoever only gets edges
 * cannot tell when. */
#define MAP_SIZE 65536u
#define MEMO_LINES 16384u

static uint8_t cov_map[MAP_SIZE], cov_want[MAP_SIZE];
static ipt_cov_line memo_lines[MEMO_LINES];

static void on_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    const edge *e = &out.edges[at.index];

    (void) context;
    if (at.why[0])
        return;
    if (at.index == out.edge_count)
        bad("edge %" PRIx64 " %" PRIx64 ", none is left", from, to);
    else if (from != codes[e->id].ip || to != e->to
             || kind != codes[e->id].kind)
        bad("edge %" PRIx64 " %" PRIx64 " kind %u, not %" PRIx64 " %" PRIx64,
            from, to, kind, codes[e->id].ip, e->to);
    else
        at.index++;
}

static int run_cover(const ipt_cov_config *cov, uint32_t cache_lines)
{
    static ipt_cov_decoder decoder;
    static ipt_cache cache;
    ipt_trace trace;
    ipt_config config;
    uint32_t verdict = out.loss_count ? IPT_COV_OVERFLOW : 0;
    int status = 0;

    decoder_config(&config);
    decoder_trace(&trace);
    if (cache_lines)
        status = ipt_cache_init(&cache, lines, cache_lines);
    if (status >= 0)
        status = ipt_cov_init(&decoder, &config, cov, &trace,
                              cache_lines ? &cache : NULL);
    if (status >= 0)
        status = ipt_cov_run(&decoder);
    if (at.why[0])
        return -1;
    if (status != IPT_END || decoder.verdict != verdict)
        return bad("%s at %" PRIx64 ", verdict %x", ipt_status_name(status),
                   decoder.at.ip, decoder.verdict);
    return 0;
}

/* The counters, by the formula in ipt.h. */
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

/* `memo` lines; 0: with a call for each edge. */
static int cover(uint32_t memo, uint32_t size, uint32_t cache_lines)
{
    static ipt_cov_memo memory;
    ipt_cov_config cov;

    memset(&at, 0, sizeof(at));
    memset(&cov, 0, sizeof(cov));
    cov.flags = IPT_COV_INDIRECT;
    cov.bitmap = cov_map;
    cov.bitmap_size = size;
    if (!memo)
        cov.edge = on_edge;
    else if (ipt_cov_memo_init(&memory, memo_lines, memo) < 0)
        return bad("ipt_cov_memo_init");
    else
        cov.memo = &memory;
    memset(cov_map, 0, sizeof(cov_map));
    if (run_cover(&cov, cache_lines) < 0)
        return -1;
    if (!memo && at.index != out.edge_count)
        return bad("%zu of %zu edges", at.index, out.edge_count);
    count_edges(size);
    if (memcmp(cov_map, cov_want, sizeof(cov_map)) != 0)
        return bad("counters, %u of them, %u lines of memo", size, memo);
    return 0;
}
