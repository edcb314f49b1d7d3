/* cov.c: coverage. Its edges are those of the instructions that [insn] gives,
 * whatever the memo holds, the cut of the trace, the fuel and the bitmap. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "decode.h"
#include "random.h"
#include "cover.h"

/* ---- a decoder in every manner ---- */

#define MEMO_LINES 64
#define MAP_MAX 4096

static edge_list want, got;
static ipt_cov_decoder decoders[2];
static unsigned which;
static ipt_cov_memo memo;
static ipt_cov_line memo_lines[MEMO_LINES];
static uint8_t map[MAP_MAX], want_map[MAP_MAX];
static uint64_t only_cr3 = ONLY_CR3;

static ipt_cov_decoder *cov_move(void)
{
    unsigned from = which;
    if (f.way == CLONE) which ^= 1;
    return feed_move(&f, &decoders[from], &decoders[which], sizeof *decoders);
}

static int cov_again(int status)
{
    const ipt_where *at = &decoders[which].at;
    feed_drop(&f, at);
    CHECK(status < 0);
    CHECK_EQ(at->error, status);
    if (status != IPT_END) CHECK(decoders[which].verdict & IPT_COV_UNFINISHED);
    if (status == IPT_NEED_PAGE)
        CHECK(decoders[which].verdict & IPT_COV_NO_PAGE);
    if (status == IPT_NEED_PAGE && memory_supply(&m, at->missing)) return 1;
    return feed_again(&f, status, b.size);
}

/* Set the feed up as `how` says. */
static void cov_feed(const manner *how, const chunk *code, uint32_t flags)
{
    feed_begin(&f, b.bytes, b.size, how->way);
    memory_place(&m, code, how->pages, flags);
    memory_config(&m, &f.config);
    f.config.flags = flags;
    f.config.cr3 = only_cr3;
    f.config.errata = decode_errata;
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
}

static void cov_decode(const manner *how, const chunk *code, uint32_t flags,
                       const ipt_cov_config *cov, edge_list *l)
{
    int status;
    cov_feed(how, code, flags);
    memset(decoders, 0xa5, sizeof decoders);
    CHECK_EQ(ipt_cov_init(&decoders[which], &f.config, cov, &f.trace,
                          how->cache ? &cache : NULL), IPT_OK);
    CHECK_EQ(decoders[which].verdict, IPT_COV_UNFINISHED);
    l->errors = 0;
    for (;;) {
        do status = ipt_cov_run(cov_move());
        while (cov_again(status));
        if (status == IPT_END) break;
        l->errors++;
        do status = ipt_cov_resync(cov_move());
        while (status < 0 && cov_again(status));
        if (status < 0) break;
    }
    l->verdict = decoders[which].verdict;
    l->hash = decoders[which].hash;
    feed_end(&f);
}

/* The oracle. */
static void insn_decode(const chunk *code, uint32_t flags, edge_list *l)
{
    manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    cov_feed(&plain, code, flags);
    edge_clear(l);
    edges_by_insn(l, &f.config, &f.trace, NULL);
    feed_end(&f);
}

/* All ways to cover the trace in b, against the instructions. */
static int check_coverage(const char *name, const chunk *code, uint32_t flags)
{
    static const uint32_t sizes[] = {MAP_MAX, 1, 100, 64};
    int bad_ = test_.bad;
    uint32_t cov_flags = IPT_COV_INDIRECT;
    edge_list again = {0};
    unsigned turn = 0;

    insn_decode(code, flags, &want);
    if (want.count > 100000) return 0; /* a long way without trace */
    FOR_ALL_MANNERS(how)
    if (!how.silent) {
        ipt_cov_config cov = {0};
        cov.flags = cov_flags | IPT_COV_HASH;
        cov.edge = list_edge;
        cov.context = &got;
        got.count = 0;
        cov_decode(&how, code, flags, &cov, &got);
        if (!edges_same(&want, &got)) failed(name, how.text, "edges", 0, 0);
        if (!how.pages && got.errors != want.errors)
            failed(name, how.text, "errors", (uint64_t) got.errors,
                   (uint64_t) want.errors);
        if (test_.bad != bad_) break;
        /* counters, with memos of any size, filled or not */
        cov.edge = NULL;
        cov.bitmap = map;
        cov.bitmap_size = sizes[turn % LENGTH(sizes)];
        cov.flags = IPT_COV_HASH | (turn & 1 ? IPT_COV_INDIRECT : 0)
                    | (turn & 2 ? IPT_COV_SATURATE : 0);
        edges_map(&got, cov.flags, want_map, cov.bitmap_size);
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, 4u << turn % 5), IPT_OK);
        cov.memo = turn % 6 ? &memo : NULL;
        for (int k = 0; k < 3 && test_.bad == bad_; k++) {
            memset(map, 0, sizeof map);
            cov_decode(&how, code, flags, &cov, &again);
            if (memcmp(map, want_map, cov.bitmap_size))
                failed(name, how.text, "bitmap of decode", (uint64_t) k, turn);
            if (cov.flags & IPT_COV_INDIRECT && again.hash != got.hash)
                failed(name, how.text, "hash of decode", (uint64_t) k, turn);
            if (again.verdict != got.verdict || again.errors != got.errors)
                failed(name, how.text, "verdict", again.verdict, got.verdict);
        }
        turn++;
    }
    return test_.bad == bad_;
}

/* ---- tables of flow.h ---- */

static void run_table(const table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        build_all(&b, t->rows[i].trace, PACKETS_MAX);
        check_coverage(t->rows[i].name, t->rows[i].code, t->rows[i].flags);
    }
}

TEST(flow)
{
    for (size_t i = 0; i < LENGTH(tables); i++) run_table(&tables[i]);
}

/* ---- at random ---- */

static int check_random(uint64_t start)
{
    static char bytes[300];
    static chunk code[CODES_MAX];
    char name[32];
    uint32_t flags;
    seed = start * 0x9e3779b97f4a7c15u;
    snprintf(name, sizeof name, "random %llu", (unsigned long long) start);
    random_trace(code, bytes);
    flags = dice(4) ? 0 : IPT_CONFIG_NO_RETCOMP;
    flags |= dice(4) ? 0 : IPT_CONFIG_WALK_ON;
    flags |= dice(4) ? 0 : IPT_CONFIG_TICKS;
    flags |= dice(4) ? 0 : IPT_CONFIG_CR3_ONLY;
    flags |= dice(4) ? 0 : dice(2) ? IPT_CONFIG_ROOT_ONLY
                                   : IPT_CONFIG_NON_ROOT_ONLY;
    only_cr3 = dice(2) ? 0x8000 : ONLY_CR3; /* that of random_packet's PIP */
    decode_errata = dice(3) ? 0
                            : dice(IPT_ERRATUM_ALL_ + 1)
                                  & ~(unsigned) IPT_ERRATUM_BDM64;
    return check_coverage(name, code, flags);
}

TEST(random)
{
    many(600, check_random);
}

int main(void)
{
    RUN(flow);
    RUN(random);
    return test_report();
}
