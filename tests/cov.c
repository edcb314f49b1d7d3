/* cov.c: coverage. Its edges are those of the instructions that [insn] gives,
 * whatever the memo holds, the cut of the trace, the fuel and the bitmap. */
#ifdef COV_THREADS /* tests/share.sh */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#endif
#include <stddef.h>
#include <string.h>

static size_t *cleared; /* counts the bytes that the decoder sets, if set */
static int only_count;  /* and sets none: they are not all there */

static void *clear(void *bytes, int value, size_t size)
{
    if (cleared) *cleared += size;
    return only_count ? bytes : memset(bytes, value, size);
}

#define IPT_MEMSET clear
#define IPT_MEMCPY memcpy
#define IPT_MEMMOVE memmove
#define IPT_MEMCMP memcmp
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "walk.h"
#include "decode.h"
#include "random.h"
#include "cover.h"
#include "range.h"

/* ---- a decoder in every manner ---- */

#define MEMO_LINES 64
#define MAP_MAX 4096

#define MARKS 4096

static edge_list want, got;
static edge_list want_blocks, got_blocks;
static ipt_cov_seen seen;
static ipt_cov_mark marks[MARKS];
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

static uint8_t assumed_mode; /* config.mode */
static ipt_cache_line many_lines[4096];
static ipt_cov_line many_memo_lines[4096];
static size_t cache_size; /* of many_lines; 0: those of decode.h */

/* Set the feed up as `how` says. */
static void cov_feed(const manner *how, const chunk *code, uint32_t flags)
{
    feed_begin(&f, b.bytes, b.size, how->way);
    memory_place(&m, code, how->pages, flags);
    memory_config(&m, &f.config);
    f.config.flags = flags;
    f.config.cr3 = only_cr3;
    f.config.errata = decode_errata;
    f.config.mode = assumed_mode;
    CHECK_EQ(ipt_cache_init(&cache, cache_size ? many_lines : lines,
                            cache_size ? cache_size : LENGTH(lines)), IPT_OK);
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
    l->places = 0;
    for (;;) {
        do status = ipt_cov_run(cov_move());
        while (cov_again(status));
        if (status == IPT_END) break;
        l->errors++;
        sum_place(&l->places, &decoders[which].at, status);
        do status = ipt_cov_resync(cov_move());
        while (status < 0 && cov_again(status));
        sum_place(&l->places, &decoders[which].at, status);
        if (status < 0) break;
    }
    l->verdict = decoders[which].verdict;
    l->hash = decoders[which].hash;
    feed_end(&f);
}

/* Where a decoder stands in the end is no matter of its memo; when that was is
 * not known of what the memo passes. */
static int ends_same(const ipt_where *x, const ipt_where *y)
{
    return x->offset == y->offset && x->sync == y->sync
           && x->release == y->release && x->resyncs == y->resyncs
           && x->skip_from == y->skip_from && x->skip_to == y->skip_to
           && ((x->valid ^ y->valid) & ~(unsigned) IPT_AT_TSC) == 0
           && (x->ip == y->ip || !(x->valid & IPT_AT_IP))
           && x->asid.cr3 == y->asid.cr3 && x->asid.vmcs == y->asid.vmcs
           && x->asid.nr == y->asid.nr;
}

/* The oracle. */
static void insn_decode(const chunk *code, uint32_t flags, edge_list *l)
{
    manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    cov_feed(&plain, code, flags);
    edge_clear(l);
    edges_by_insn(l, &f.config, &f.trace, NULL, NULL);
    feed_end(&f);
    cov_feed(&plain, code, flags);
    edge_clear(&want_blocks);
    blocks_by_blk(&want_blocks, &f.config, &f.trace, NULL, NULL);
    blocks_unique(&want_blocks);
    feed_end(&f);
}

/* Blocks that are new: those of [blk], each once, and the second time none. */
static void check_seen(const char *name, const manner *how, const chunk *code,
                       uint32_t flags, const ipt_cov_config *config)
{
    ipt_cov_config cov = *config;
    edge_list again = {0};
    got_blocks.count = 0;
    cov.block = list_block;
    cov.context = &got_blocks;
    cov.seen = &seen;
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
    for (int k = 0; k < 2; k++) {
        memset(map, 0, sizeof map);
        cov_decode(how, code, flags, &cov, &again);
        if (memcmp(map, want_map, cov.bitmap_size))
            failed(name, how->text, "bitmap with seen", (uint64_t) k, 0);
        if (!blocks_same(&want_blocks, &got_blocks))
            failed(name, how->text, "blocks", (uint64_t) k, cov.memo != NULL);
    }
    CHECK_EQ(seen.count, want_blocks.count);
    CHECK_EQ(seen.lost, 0);
}

/* With no memo, the smallest, and one that loses nothing; and with
 * such caches. */
static void check_seen_sizes(const char *name, const chunk *code,
                             uint32_t flags, const ipt_cov_config *config)
{
    static const size_t sizes[] = {0, 4, LENGTH(many_memo_lines)};
    static const size_t caches[] = {0, 64, LENGTH(many_lines)};
    for (size_t i = 0; i < 9; i++) {
        const size_t size = sizes[i / 3];
        const int cached = caches[i % 3] ? TINY_CACHE : NO_CACHE;
        manner how = manner_of(WHOLE, cached, 0, 0);
        ipt_cov_config cov = *config;
        cache_size = caches[i % 3];
        cov.memo = size ? &memo : NULL;
        if (size)
            CHECK_EQ(ipt_cov_memo_init(&memo, many_memo_lines, size), IPT_OK);
        check_seen(name, &how, code, flags, &cov);
        if (size == LENGTH(many_memo_lines)) CHECK_EQ(memo.lost, 0);
    }
    cache_size = 0;
}

/* All ways to cover the trace in b, against the instructions. */
static int check_coverage(const char *name, const chunk *code, uint32_t flags)
{
    static const uint32_t sizes[] = {MAP_MAX, 1, 100, 64};
    int bad_ = test_.bad;
    uint32_t cov_flags = IPT_COV_INDIRECT;
    edge_list again = {0};
    ipt_where end;
    unsigned turn = 0;
    unsigned used;

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
        end = decoders[which].at;
        if (!edges_same(&want, &got)) failed(name, how.text, "edges", 0, 0);
        if (!how.pages && got.errors != want.errors)
            failed(name, how.text, "errors", (uint64_t) got.errors,
                   (uint64_t) want.errors);
        if (test_.bad != bad_) break;
        /* counters, with memos of any size, filled or not */
        cov.edge = NULL;
        cov.bitmap = map;
        cov.bitmap_size = sizes[turn % LENGTH(sizes)];
        cov.flags = (turn & 1 ? IPT_COV_INDIRECT : 0)
                    | (turn & 2 ? IPT_COV_SATURATE : 0)
                    | (turn & 4 ? IPT_COV_HASH : 0);
        edges_map(&got, cov.flags, want_map, cov.bitmap_size);
        used = 4u << turn % 5; /* the last lines: nothing is after them */
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines + MEMO_LINES - used, used),
                 IPT_OK);
        cov.memo = turn % 6 ? &memo : NULL;
        for (int k = 0; k < 6 && test_.bad == bad_; k++) {
            if (k == 3) { /* ways for no flags alone, and all that fits */
                cov.flags = 0;
                cov.memo = &memo;
                cov.bitmap_size = MAP_MAX;
                edges_map(&got, 0, want_map, MAP_MAX);
                CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, MEMO_LINES),
                         IPT_OK);
            }
            memset(map, 0, sizeof map);
            cov_decode(&how, code, flags, &cov, &again);
            if (memcmp(map, want_map, cov.bitmap_size))
                failed(name, how.text, "bitmap of decode", (uint64_t) k, turn);
            if (!ends_same(&decoders[which].at, &end))
                failed(name, how.text, "end of decode", (uint64_t) k, turn);
            if (cov.flags & IPT_COV_HASH && cov.flags & IPT_COV_INDIRECT
                && again.hash != got.hash)
                failed(name, how.text, "hash of decode", (uint64_t) k, turn);
            if (again.verdict != got.verdict || again.errors != got.errors)
                failed(name, how.text, "verdict", again.verdict, got.verdict);
            if (again.places != got.places)
                failed(name, how.text, "place of an error", (uint64_t) k, turn);
        }
        if (test_.bad == bad_) check_seen(name, &how, code, flags, &cov);
        if (test_.bad == bad_ && turn == 0)
            check_seen_sizes(name, code, flags, &cov);
        turn++;
    }
    return test_.bad == bad_;
}

/* ---- tables of flow.h ---- */

static void run_table(const table *t)
{
    decode_errata = t->errata;
    for (size_t i = 0; i < t->count; i++) {
        build_all(&b, t->rows[i].trace, PACKETS_MAX);
        check_coverage(t->rows[i].name, t->rows[i].code, t->rows[i].flags);
    }
    decode_errata = 0;
}

FINDINGS(TEST_TABLE)
BDM64_FINDINGS(TEST_TABLE)
RESYNC_FINDINGS(TEST_TABLE)

TEST(flow)
{
    TABLES(RUN_TABLE)
}

/* A branch further than 2 GiB from where a line of the memo begins is not part
 * of that line, and takes nothing with it: neither a frame nor a bit. */
#define LOOP JCC("\xfe") "\x0f\x85" /* six times; then far away, ... */
#define NINE TNT(6, 0x3f), TNT(3, 3)  /* ... where another branch is taken */
#define JNE_2G "\x0f\x85\xfa\xff\xff\x7f"
static const row far_rows[] = {
    {ROW "R1: a compressed return",
     {CODE(0x1000, CALL("\x0b") JCC0 JCC0 JCC0 JMP_RAX),
      CODE(0x1010, JMP_RAX), CODE(0x402000, JNE_2G),
      CODE(0x80402000, JMP("\x7e")), CODE(0x80402080, RET)},
     {ON, TIP(0x402000), TNT(5, 0x1a), TIP(0x1000), PGD(0x5000)}, {{0}}, 0, 0,
     0},
    {ROW "a frame",
     {CODE(0x1000, JMP_RAX RET),
      CODE(0x402000, "\x0f\x85\xf6\xff\xff\x7f"), /* 2 GiB less four */
      CODE(0x80401ffc, "\xe8\xff\x00\x00\x80" JCC0 JMP_RAX),
      CODE(0x402100, JMP_RAX)},
     {ON, TIP(0x402000), TNT(1, 1), TIP(0x1002), TNT(2, 2), TIP(0x402000),
      TNT(1, 1), TIP(0x1002), TNT(2, 2), PGD(0x5000), PADS(40)}, {{0}}, 0, 0,
     0},
    {ROW "a frame 2 GiB away",
     {CODE(0x1000, JMP_RAX RET), CODE(0x402000, "\x0f\x85\xf5\xff\xff\x7f"),
      CODE(0x80401ffb, "\xe8\x00\x01\x00\x80" JCC0 JMP_RAX),
      CODE(0x402100, JMP_RAX)},
     {ON, TIP(0x402000), TNT(1, 1), TIP(0x1002), TNT(2, 2), TIP(0x402000),
      TNT(1, 1), TIP(0x1002), TNT(2, 2), PGD(0x5000), PADS(40)}, {{0}}, 0, 0,
     0},
    {ROW "a frame of the second piece", /* 0.9 GiB and 1.5 GiB away */
     {CODE(0x1000, LOOP "\x00\x00\x00\x38"),
      CODE(0x38001008, "\x0f\x85\x00\x00\x00\x60"),
      CODE(0x9800100e, "\xe8\xf5\x00\x00\xa0" JCC0 JMP_RAX),
      CODE(0x38001108, JMP_RAX), CODE(0x2000, RET)},
     {ON, NINE, TIP(0x2000), TNT(2, 2), TIP(0x1000), NINE, TIP(0x2000),
      TNT(2, 2), TIP(0x1000), NINE, TIP(0x2000), TNT(2, 2), PGD(0x5000),
      PADS(40)}, {{0}}, 0, 0, 0},
    {ROW "the last branch of the second piece",
     {CODE(0x1000, LOOP "\x00\x00\x00\x38"),
      CODE(0x38001008, "\x0f\x85\x00\x00\x00\x60"),
      CODE(0x9800100e, JMP_RAX)},
     {ON, NINE, TIP(0x1000), NINE, TIP(0x1000), NINE, TIP(0x1000), NINE,
      PGD(0x5000), PADS(40)}, {{0}}, 0, 0, 0},
    {ROW "the last branch of a piece between two", /* it comes back */
     {CODE(0x1000, LOOP "\x00\x00\x00\x60"),
      CODE(0x60001008, "\x0f\x85\xf2\x00\x00\xa0"),
      CODE(0x1100, JCC0 JCC0 JCC0 JMP_RAX)},
     {ON, TNT(6, 0x3f), TNT(6, 0x3f), TNT(6, 0x2c), TNT(1, 0), TIP(0x1000),
      TNT(6, 0x3f), TNT(6, 0x3f), TNT(6, 0x2c), TNT(1, 0), TIP(0x1000),
      PADS(40)}, {{0}}, 0, 0, 0},
    {ROW "the second piece",
     {CODE(0x1000, LOOP "\x00\x00\x00\x60"),
      CODE(0x60001008, "\x0f\x85\x00\x00\x00\x38"),
      CODE(0x9800100e, JMP_RAX)},
     {ON, NINE, TIP(0x1000), NINE, TIP(0x1000), NINE, TIP(0x1000), NINE,
      PGD(0x5000), PADS(40)}, {{0}}, 0, 0, 0},
};

/* Full legs: one whose last bit is that of a return to before the leg, so that
 * its line takes all of the bits and has no end; and the least number. */
#define FULL_ZERO TNT64(47, 0), TNT(6, 0), TNT(4, 0)
#define LONG_RETURN TIP(0x1020), TNT64(47, 0x7fffffffffff), TNT(6, 0x3f),     \
    TNT(6, 0x3d), TIP(0x1000)
static const row full_rows[] = {
    {ROW "a full leg that ends with a return",
     {CODE(0x1000, CALL("\x0b") JMP_RAX), CODE(0x1010, JMP_RAX),
      CODE(0x1020, JCC("\xfe") RET)},
     {ON, LONG_RETURN, LONG_RETURN, LONG_RETURN, PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "57 bits of 0, as few as make a full leg",
     {CODE(0x1000, JCC("\x02") JMP("\xfc") JMP_RAX)},
     {ON, FULL_ZERO, TNT(2, 1), TIP(0x1000), FULL_ZERO, MTC(5), TNT64(2, 1),
      TIP(0x1000), TNT(2, 1), PGD(0x5000), PADS(60)}, {{0}}, 0, 0, 0},
};

/* A PSB+ that says nothing new empties the stack of calls, and does not come
 * between a MODE.Exec and its TIP.PGE. Each row has one error. */
static const row psb_rows[] = {
    {ROW "a psb+ between call and return",
     {CODE(0x1000, CALL("\x0b") JCC0 JMP_RAX), CODE(0x1010, JCC0 JCC0 RET)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1012), PSBEND, TNT(2, 1), TNT(1, 0),
      PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "a psb+ in the block after a call",
     {CODE(0x1000, JCC0 CALL("\x09")), CODE(0x1010, NOP NOP RET)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1011), PSBEND, TNT(1, 1), PADS(60)},
     {{0}}, 0, 0, 0},
    {ROW "a psb+ right after a call",
     {CODE(0x1000, JCC0 CALL("\x09")), CODE(0x1010, NOP NOP RET)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1010), PSBEND, TNT(1, 1), PADS(60)},
     {{0}}, 0, 0, 0},
    {ROW "a psb+ between mode and tip.pge",
     {CODE(0x1000, JCC0 JMP_RAX)},
     {ON, TNT(1, 0), PGD0, EXEC64, PSB, PSBEND, PGE(0x1000), TNT(1, 0), PGD0,
      PADS(60)}, {{0}}, 0, 0, 0},
};

/* What the memo knows from the IP of a TIP.PGD on is not what comes then. */
static const row off_rows[] = {
    {ROW "bits while tracing is disabled",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {ON, TNT(2, 1), TIP(0x1000), TNT(2, 1), PGD(0x1000), PGE(0x1000),
      TNT(2, 1), PGD(0x1000), TNT(2, 1), TIP(0x1000), TNT(2, 1), TIP(0x1000),
      PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "pads, and bits while tracing is disabled",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {ON, TNT(2, 1), TIP(0x1000), TNT(2, 1), PGD(0x1000), PGE(0x1000),
      TNT(2, 1), PGD(0x1000), PADS(3), TNT(2, 1), TIP(0x1000), TNT(2, 1),
      TIP(0x1000), PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "a tip whose ip begins as a mode does",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {ON, TNT(2, 1), TIP(0x1000), TNT(2, 1), PGD(0x1000), PGE(0x1000),
      TNT(2, 1), PGD(0x1000), IP_(TIP, 1, 0x20), PGE(0x1000), TNT(2, 1),
      TIP(0x1000), PADS(60)}, {{0}}, 0, 0, 0},
};

TEST(mutants_bits_while_off)
{
    for (size_t i = 0; i < LENGTH(off_rows); i++) {
        build_all(&b, off_rows[i].trace, PACKETS_MAX);
        check_coverage(off_rows[i].name, off_rows[i].code, 0);
        CHECK_EQ(want.errors, 1);
    }
}

TEST(mutants_psb_that_says_nothing_new)
{
    for (size_t i = 0; i < LENGTH(psb_rows); i++) {
        build_all(&b, psb_rows[i].trace, PACKETS_MAX);
        check_coverage(psb_rows[i].name, psb_rows[i].code, 0);
        CHECK_EQ(want.errors, 1);
    }
}

/* A PTW at the IP of the branch before it, where the fast path ends. */
static const row ptw_rows[] = {
    {ROW "a ptw of the branch before",
     {CODE(0x1000, JCC0 JMP_RAX JCC0 JCC0 JMP_RAX)},
     {ON, TNT(1, 0), TIP(0x1004), PTW(1, 1, 5), FUP(0x1002), TNT(2, 0),
      TIP(0x1000), PADS(60)}, {{0}}, 0, 0, 0},
};

/* After a TIP.PGE no branch is the one before, whose target may be wrong, as
 * BDM64 says: the abort is elsewhere, which is an error. */
static const row bdm64_rows[] = {
    {ROW "a tip.pge is not a branch", {CODE(0x1000, JCC0 JMP_RAX),
                                    CODE(0x3000, NOP JCC0 JMP_RAX)},
     {ON, TNT(1, 0), PGD(0x5000), PIP(0x5000, 0), PGE(0x3000), TSX(0, 1),
      FUP(0x6000), TIP(0x1000), TNT(1, 0), PGD(0x5000), PADS(60)}, {{0}}, 0, 0,
     0},
    {ROW "a tip.pge after a leg that is known",
     {CODE(0x1000, JCC0 JMP_RAX), CODE(0x3000, NOP JCC0 JMP_RAX)},
     {ON, TNT(1, 0), PGD(0x5000), PGE(0x1000), TNT(1, 0), PGD(0x5000),
      PGE(0x1000), TNT(1, 0), PGD(0x5000), PGE(0x3000), TSX(0, 1), FUP(0x6000),
      TIP(0x1000), TNT(1, 0), PGD(0x5000), PADS(60)}, {{0}}, 0, 0, 0},
};

/* Upper bits of an IP that are not those of its bit 47 come from the last IP. */
#define UP(ip) (0x00ff000000000000 | (ip))
static const row upper_rows[] = {
    {ROW "six bytes and the last ip",
     {CODE(UP(0x1000), JCC0 JMP_RAX), CODE(UP(0x10002000), JCC0 JMP_RAX)},
     {PSB, EXEC64, FUP(UP(0x1000)), PSBEND, TNT(1, 0), IP_(TIP, 4, 0x10002000),
      TNT(1, 0), IP_(TIP, 4, 0x1000), TNT(1, 0), IP_(TIP_PGD, 4, 0x5000),
      PADS(60)}, {{0}}, 0, 0, 0},
};

/* A PSB+ like the last one says something new where the address space changed
 * between the two. */
static const row again_rows[] = {
    {ROW "a psb+ names another space again",
     {CODE(0x1000, JCC0 JMP_RAX)},
     {PSB, PIP(0x5000, 0), EXEC64, PSBEND, PSB, PIP(0x5000, 0), EXEC64, PSBEND,
      PIP(0x7000, 0), PSB, PIP(0x5000, 0), EXEC64, PSBEND, PGE(0x1000),
      TNT(1, 0), PGD(0x5000), PADS(60)}, {{0}}, 0, 0, 0},
};

/* Where an error is in the bits of a TNT-64, that is where they are skipped. */
static const row skip_rows[] = {
    {ROW "a return without a call", {CODE(0x1000, JCC("\xfe") JCC0 RET)},
     {ON, TNT(2, 3), TNT64(20, 0xfffb5), TIP(0x1000), TNT(2, 2), PGD(0x5000),
      PADS(60)}, {{0}}, 0, 0, 0},
};

/* Bits of a TNT-64 and as many before it as would be one too many. */
#define MANY TNT(6, 0x3f), TNT(6, 0x3f), TNT(5, 0x1f), TNT64(47, BITS_47), \
        TIP(0x1000)
#define BITS_47 0x7ffffffffffe
static const row many_rows[] = {
    {ROW "64 bits", {CODE(0x1000, JCC("\xfe") JMP_RAX)},
     {ON, MANY, MANY, TNT(2, 2), PGD(0x5000), PADS(60)}, {{0}}, 0, 0, 0},
};

static void run_far(const row *r)
{
    build_all(&b, r->trace, PACKETS_MAX);
    check_coverage(r->name, r->code, r->flags);
    CHECK_EQ(want.errors, 0);
    CHECK(want.count > 2);
}

TEST(R1_far_branches)
{
    for (size_t i = 0; i < LENGTH(far_rows); i++) run_far(&far_rows[i]);
}

TEST(full_legs)
{
    for (size_t i = 0; i < LENGTH(full_rows); i++) run_far(&full_rows[i]);
}

TEST(mutants_event_of_the_branch_before)
{
    for (size_t i = 0; i < LENGTH(ptw_rows); i++) run_far(&ptw_rows[i]);
}

TEST(mutants_prev_after_a_pge)
{
    decode_errata = IPT_ERRATUM_BDM64;
    for (size_t i = 0; i < LENGTH(bdm64_rows); i++) {
        build_all(&b, bdm64_rows[i].trace, PACKETS_MAX);
        check_coverage(bdm64_rows[i].name, bdm64_rows[i].code, 0);
        CHECK_EQ(want.errors, 1);
    }
    decode_errata = 0;
}

TEST(mutants_upper_bits_of_an_ip)
{
    for (size_t i = 0; i < LENGTH(upper_rows); i++) run_far(&upper_rows[i]);
}

TEST(mutants_the_same_psb_again)
{
    for (size_t i = 0; i < LENGTH(again_rows); i++) {
        build_all(&b, again_rows[i].trace, PACKETS_MAX);
        check_coverage(again_rows[i].name, again_rows[i].code, 0);
        CHECK_EQ(want.errors, 0);
        CHECK_EQ(decoders[which].at.asid.cr3, 0x5000);
    }
}

TEST(mutants_bits_that_are_skipped)
{
    for (size_t i = 0; i < LENGTH(skip_rows); i++) {
        build_all(&b, skip_rows[i].trace, PACKETS_MAX);
        check_coverage(skip_rows[i].name, skip_rows[i].code, 0);
        CHECK_EQ(want.errors, 1);
    }
}

/* A TNT-64 without a stop bit has no bits, and is not a packet. */
TEST(mutants_tnt_without_bits)
{
    static const chunk code[CODES_MAX] = {CODE(0x1000, JCC0 JCC0 JMP_RAX)};
    static const ipt_packet packets[]
        = {ON, TNT(2, 1), TIP(0x1000), TNT(1, 0), TNT64(1, 0), TIP(0x1000),
           PADS(60), PKT(NONE)};
    build_all(&b, packets, LENGTH(packets));
    memset(b.bytes + b.offset[7] + 2, 0, 6);
    check_coverage("no bits", code, 0);
    CHECK(want.errors > 0);
    b.bytes[b.offset[7] + 2] = 1; /* a stop bit: it says nothing */
    b.bytes[b.offset[6]] = 0x08;  /* the two branches */
    check_coverage("a stop bit", code, 0);
    CHECK_EQ(want.errors, 0);
}

/* Nor is a TMA with a bit that has to be 0: it is not passed over while tracing
 * is disabled. */
TEST(reserved_bits_of_a_tma)
{
    static const chunk code[CODES_MAX] = {CODE(0x1000, JCC0 JCC0 JMP_RAX)};
    static const ipt_packet packets[]
        = {ON, TNT(2, 1), PGD(0x5000), TMA(1, 2), PGE(0x1000), TNT(2, 1),
           PGD(0x5000), TMA(1, 2), PGE(0x1000), TNT(2, 1), PADS(60), PKT(NONE)};
    for (unsigned broken = 0; broken < 3; broken++) {
        build_all(&b, packets, LENGTH(packets));
        if (broken) b.bytes[b.offset[10] + 2 + 2 * broken] = 2;
        check_coverage("a tma", code, 0);
        CHECK_EQ(want.errors, broken > 0);
    }
}

TEST(mutants_bits_of_a_line)
{
    for (size_t i = 0; i < LENGTH(many_rows); i++) run_far(&many_rows[i]);
}

/* What the memo knows is a run that calls `peak` deep and returns. With 65 less
 * that many calls before it that is one too many: the oldest is forgotten, as
 * by [insn]. The run begins at 1000 and ends before a RET. */
static void deep_calls(const char *name, const chunk *code,
                       const ipt_packet *run, unsigned size, unsigned peak)
{
    static const ipt_packet on[] = {ON}, off[] = {PGD(0x5000), PADS(60)},
                            back = TIP(0x1000), call = TIP(0x1800),
                            first = TIP(0x1802), one = TNT(1, 1);
    const unsigned most = 64 - peak;

    for (unsigned deep = most; deep < most + 2; deep++) {
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < 3; i++) {
            for (unsigned k = 0; k < size; k++) build_put(&b, &run[k]);
            build_put(&b, i < 2 ? &back : &call);
        }
        for (unsigned i = 1; i < deep; i++) build_put(&b, &call);
        build_put(&b, &back);
        for (unsigned k = 0; k < size; k++) build_put(&b, &run[k]);
        build_put(&b, &first);
        for (unsigned i = 1; i < deep; i++) build_put(&b, &one);
        for (unsigned k = 0; k < LENGTH(off); k++) build_put(&b, &off[k]);
        check_coverage(name, code, 0);
        CHECK_EQ(want.errors, deep - most);
    }
}

/* Four deep in two pieces. */
TEST(mutants_calls_in_two_pieces)
{
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, JCC("\xfe") CALL("\xf9") RET),
           CODE(0x1100, JCC0 JCC0 CALL("\xf7") JCC0 JCC0 JCC0 JCC0 RET),
           CODE(0x1200, CALL("\xfb") RET),
           CODE(0x1300, CALL("\x01") RET JCC0 RET), CODE(0x1800, CALL_RAX RET)};
    static const ipt_packet run[] = {TNT(6, 0x3e), TNT(6, 7), TNT(5, 1)};

    deep_calls("deep", code, run, LENGTH(run), 4);
}

/* Three deep in the first piece, and two in the second. */
#ifndef OTHER_LEGS
TEST(deepest_in_the_first_piece)
{
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, CALL("\xfb") JCC("\xfe") CALL("\x04") RET),
           CODE(0x1100, CALL("\x01") RET CALL("\x01") RET RET),
           CODE(0x1010, CALL("\x01") RET RET), CODE(0x1800, CALL_RAX RET)};
    static const ipt_packet run[] = {TNT(6, 0x3f), TNT(4, 0xb)};

    deep_calls("deepest first", code, run, LENGTH(run), 3);
}
#endif

/* ---- deferred TIPs ----
 *
 * Without compressed returns a TIP may come after TNT bits of branches after
 * its own, if they are of the packet in progress. What the memo knows by the
 * time of `end` are `round`s; after `end` come two more of them. */

#define JX JCC("\x01") NOP /* each of its ways is another edge */
#define RSM "\x0f\xaa"
#define JMPABS "\xd5\x00\xa1\x30\x10\0\0\0\0\0\0" /* to 1030 */

typedef struct deferred {
    const char *name;
    chunk code[CODES_MAX];
    ipt_packet round[12];
    ipt_packet end[10];
    int wrong; /* there, the trace does not fit the code */
} deferred;

#define TWO {CODE(0x1000, JX JMP_RAX), CODE(0x1010, JX JMP_RAX)}, \
            {TNT(2, 1), TIP(0x1010), TIP(0x1000)}

static const deferred deferred_rows[] = {
    {"two jumps", TWO, {TNT(2, 2), TIP(0x1010), TIP(0x1000)}, 0},
    {"three TIPs", TWO, {TNT(3, 5), TIP(0x1000), TIP(0x1010), TIP(0x1000)}, 0},
    {"bits, but no TIP was deferred", TWO,
     {TNT(1, 1), TIP(0x1010), TNT(1, 0), TIP(0x1000)}, 0},
    {"a TIP before its bits are there", TWO,
     {TNT(2, 2), MTC(1), CYC(5), PADS(3), TIP(0x1010), PADS(1), CYC(0x333),
      TIP(0x1000)}, 0},
    {"a bit before the other packet",
     {CODE(0x1000, JX JX JMP_RAX), CODE(0x1010, JX JMP_RAX)},
     {TNT(1, 1), MTC(7), TNT(2, 1), TIP(0x1010), TIP(0x1000)},
     {TNT(3, 2), TIP(0x1010), TIP(0x1000)}, 0},
    {"bits of two packets are left",
     {CODE(0x1000, JX JX JMP_RAX), CODE(0x1010, JX JMP_RAX)},
     {TNT(3, 1), TIP(0x1010), TIP(0x1000)},
     {TNT(1, 0), TNT(1, 0), TNT(1, 1), TIP(0x1010), TNT(3, 1), TNT(1, 1),
      TIP(0x1010), TNT(1, 1), TIP(0x1000)}, 1},
    {"as many bits are left, but of two packets",
     {CODE(0x1000, JX JMP_RAX), CODE(0x1010, JX JX JMP_RAX)},
     {TNT(1, 1), TNT(2, 1), TIP(0x1010), TIP(0x1000)},
     {TNT(2, 1), TNT(1, 1), TIP(0x1010), TIP(0x1000)}, 1},
    {"as many bits are left, of two TNT-64",
     {CODE(0x1000, JX JMP_RAX), CODE(0x1010, JX JX JMP_RAX)},
     {TNT64(3, 1), TIP(0x1010), TIP(0x1000)},
     {TNT64(2, 2), TNT64(1, 1), TIP(0x1010), TIP(0x1000)}, 1},
    {"a held bit, and bits after the TIP",
     {CODE(0x1000, JX JMP_RAX), CODE(0x1010, JX JX JMP_RAX)},
     {TNT(2, 1), TIP(0x1010), TNT(1, 1), TIP(0x1000)},
     {TNT(3, 1), TIP(0x1010), TIP(0x1000), TNT(2, 1), TIP(0x1010), TNT(2, 1),
      TIP(0x1000), TIP(0x1000)}, 0},
    {"a TIP after a TIP",
     {CODE(0x1000, JX JMP_RAX), CODE(0x1010, JMP_RAX),
      CODE(0x1020, JX JMP_RAX)},
     {TNT(2, 1), TIP(0x1010), TIP(0x1020), TIP(0x1000)},
     {TNT(2, 1), TIP(0x1010), TNT(1, 1), TIP(0x1020), TIP(0x1000)}, 1},
    {"a TNT-64", {CODE(0x1000, JCC("\xfe") JMP_RAX),
                  CODE(0x1010, JCC("\xfe") JMP_RAX)},
     {TNT64(20, 0xfff7e), TIP(0x1010), TIP(0x1000)},
     {TNT64(20, 0xbfffe), TIP(0x1010), TIP(0x1000)}, 0},
    {"more bits are left than a piece has",
     {CODE(0x1000, JCC("\xfe") JMP_RAX), CODE(0x1010, JCC("\xfe") JMP_RAX)},
     {TNT64(20, 0xbfffe), TIP(0x1010), TIP(0x1000)},
     {TNT64(20, 0x7fffe), TNT(1, 0), TIP(0x1010), TIP(0x1000)}, 1},
    {"a leg that is full",
     {CODE(0x1000, JCC("\xfe") JMP_RAX), CODE(0x1010, JCC("\xfe") JMP_RAX)},
     {TNT64(47, 0x7fffffffffff), TNT64(47, 0x7fffffffffd4), TIP(0x1010),
      TIP(0x1000), TIP(0x1010), TIP(0x1000)},
     {TNT64(47, 0x7fffffffffff), TNT64(47, 0x7fffffffffd4), TIP(0x1010),
      TIP(0x1000), TIP(0x1010), TIP(0x1000)}, 0},
    {"calls and returns",
     {CODE(0x1000, JX CALL_RAX JX JMP_RAX), CODE(0x1010, JX RET),
      CODE(0x1020, JX JMPABS), CODE(0x1030, JX JMP_RAX)},
     {TNT(5, 11), TIP(0x1010), TIP(0x1005), TIP(0x1020), TIP(0x1030),
      TIP(0x1000)},
     {TNT(3, 5), TIP(0x1010), TIP(0x1010), TIP(0x1005), TIP(0x1000)}, 1},
    {"an RSM with a bit left", /* it takes no TIP */
     {CODE(0x1000, JX RSM JMP_RAX), CODE(0x1010, JX JMP_RAX)},
     {TNT(2, 1), TIP(0x1010), TIP(0x1000)},
     {TNT(1, 1), TIP(0x1010), TNT(1, 1), TIP(0x1000)}, 0}, /* its TIP */
    {"an RSM before a branch",
     {CODE(0x1000, JX RSM JX JMP_RAX), CODE(0x1010, RSM JX RSM JMP_RAX)},
     {TNT(4, 5), TIP(0x1010), TIP(0x1000), TIP(0x1010), TNT(1, 0),
      TIP(0x1000)},
     {TNT(4, 10), TIP(0x1010), TIP(0x1010), TIP(0x1000)}, 0},
    {"a far branch", {CODE(0x1000, JX SYSCALL), CODE(0x1010, JX JMP_RAX)},
     {TNT(2, 1), TIP(0x1010), TIP(0x1000)},
     {TNT(1, 1), TNT(2, 1), TIP(0x1010), TIP(0x1000)}, 0},
    {"disabled", TWO, {TNT(2, 1), PGD(0x5000), PGE(0x1000)}, 1},
    {"disabled, no IP", TWO, {TNT(2, 1), PGD0, PGE(0x1000)}, 1},
    {"disabled after the TIP", TWO,
     {TNT(2, 1), TIP(0x1010), PGD(0x5000), PGE(0x1000)}, 0},
    {"a PSB+ before the TIP", TWO,
     {TNT(2, 1), PSB, EXEC64, FUP(0x1003), PSBEND, TIP(0x1010), TIP(0x1000)},
     1},
    {"a PSB+ after the TIP", TWO,
     {TNT(2, 1), TIP(0x1010), PSB, EXEC64, FUP(0x1013), PSBEND, TIP(0x1000)},
     0},
    {"a PSB+ elsewhere after the TIP", TWO,
     {TNT(2, 1), TIP(0x1010), PSB, EXEC64, FUP(0x1003), PSBEND, TIP(0x1000)},
     1},
    {"an overflow before the TIP", TWO, {TNT(2, 1), OVF, FUP(0x1000)}, 0},
    {"an overflow after the TIP", TWO,
     {TNT(2, 1), TIP(0x1010), OVF, FUP(0x1000)}, 0},
    {"an interrupt before the TIP", TWO,
     {TNT(2, 1), FUP(0x1003), TIP(0x1000)}, 1},
    {"an interrupt after the TIP", TWO,
     {TNT(2, 1), TIP(0x1010), FUP(0x1013), TIP(0x1000)}, 0},
    {"a PTW after the TIP", TWO,
     {TNT(2, 1), TIP(0x1010), PTW(1, 1, 5), FUP(0x1003), TIP(0x1000)}, 1},
    {"a TIP without an IP", TWO, {TNT(2, 1), TIP0, TIP(0x1000)}, 1},
    {"a TMA before the TIP", TWO,
     {TNT(2, 1), TSC(7), TMA(5, 6), TIP(0x1010), CBR(8), TIP(0x1000)}, 0},
    {"a CBR before the TIP", TWO,
     {TNT(2, 1), CBR(7), TIP(0x1010), TNT(1, 1), TIP(0x1000)}, 0},
    {"no TIP, but more bits", TWO,
     {TNT(2, 1), TNT(2, 1), TNT(2, 1), TIP(0x1000)}, 1},
};

/* In 32-bit code an INTO is as an RSM. */
static const deferred into_row
    = {"an INTO with a bit left",
       {CODE(0x1000, JX INTO JMP_RAX), CODE(0x1010, JX JMP_RAX)},
       {TNT(2, 1), TIP(0x1010), TIP(0x1000)},
       {TNT(1, 1), TIP(0x1010), TNT(1, 1), TIP(0x1000)}, 0};

static void put_packets(const ipt_packet *packets, size_t max)
{
    for (size_t i = 0; i < max && packets[i].type != IPT_PKT_NONE; i++)
        build_put(&b, &packets[i]);
}

/* `cut`: the trace ends after `end`. */
static void run_deferred(const deferred *r, const ipt_packet *on,
                         uint32_t flags, int cut)
{
    static const ipt_packet pads = PADS(60);
    build_all(&b, on, 4);
    for (unsigned i = 0; i < 4; i++) put_packets(r->round, LENGTH(r->round));
    put_packets(r->end, LENGTH(r->end));
    for (unsigned i = 0; i < 2 && !cut; i++)
        put_packets(r->round, LENGTH(r->round));
    if (!cut) build_put(&b, &pads);
    check_coverage(r->name, r->code, flags);
    if (flags & IPT_CONFIG_NO_RETCOMP && !CHECK_EQ(want.errors > 0, r->wrong))
        printf("    %s\n", r->name);
}

TEST(deferred_tips)
{
    static const ipt_packet on[] = {ON}, on32[] = {ON32};
    for (size_t i = 0; i < LENGTH(deferred_rows); i++)
        for (int cut = 0; cut < 2; cut++) {
            run_deferred(&deferred_rows[i], on, IPT_CONFIG_NO_RETCOMP, cut);
            run_deferred(&deferred_rows[i], on, 0, cut);
        }
    run_deferred(&into_row, on32, IPT_CONFIG_NO_RETCOMP, 0);
    run_deferred(&into_row, on32, IPT_CONFIG_NO_RETCOMP, 1);
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
                            : dice(IPT_ERRATUM_ALL_ + 1);
    flow_sections = dice(3) ? 0 : 1 + dice(3);
    const int fine = check_coverage(name, code, flags);
    only_cr3 = ONLY_CR3;
    decode_errata = 0;
    flow_sections = 0;
    return fine;
}

TEST(random)
{
    many(600, check_random);
}

/* ---- runs of one program on different inputs ---- */

#define BLOCKS 60
#define BLOCK 16 /* bytes */
#define BASE the.base
#define LOW 0x400000u
#define HIGH 0xffffffff80400000u
#define INPUT 4096

#define EXIT_IP 0xffffffff81000000u
#define HOST_CR3 0x9000u

static uint8_t program[BLOCKS * BLOCK];
static uint8_t kinds[BLOCKS];
static unsigned targets[BLOCKS];

/* A host that runs the program as its guest: je, call, vmlaunch; je, ret. */
static const char host[] = "\x74\x00\xe8\x03\x00\x00\x00\x0f\x01\xc2"
                           "\x74\x00\xc3";

/* What write_run wrote: edges as they executed, and where. */
static struct {
    edge e;
    uint64_t cr3[2]; /* there, and where it leads */
} ran[INPUT * 8];
static size_t ran_count;
static struct {
    uint64_t base;    /* where the program is */
    uint64_t missing; /* a page that is not in the image; 0 */
    uint8_t mode;     /* IPT_MODE_ of the program */
    uint8_t vmx;      /* it is a guest ... */
    uint8_t spaces;   /* ... under so many CR3 */
} the;

static void aim_at(uint8_t *p, uint64_t next, unsigned block)
{
    const uint32_t to = (uint32_t) (BASE + BLOCK * block - next);
    for (int i = 0; i < 4; i++) p[i] = (uint8_t) (to >> 8 * i);
}

/* Each block begins with a branch. After one that comes back, or is not taken,
 * NOPs lead to a JMP to the next block, which follows it. With an odd seed
 * nearly all branches are conditional. */
static void write_program(void)
{
    static const uint8_t some[] = {IPT_INSN_JCC, IPT_INSN_JCC, IPT_INSN_JCC,
                                   IPT_INSN_JCC, IPT_INSN_JMP_INDIRECT,
                                   IPT_INSN_CALL, IPT_INSN_RET};
    const int few = seed & 1;
    memset(program, 0x90, sizeof program);
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint8_t *p = &program[BLOCK * i];
        const uint64_t ip = BASE + BLOCK * i;
        kinds[i] = some[dice(few && dice(60) ? 1 : LENGTH(some))];
        targets[i] = dice(BLOCKS);
        if (kinds[i] == IPT_INSN_JCC) {
            p[0] = 0x0f;
            p[1] = 0x84;
            aim_at(p + 2, ip + 6, targets[i]);
            p += 6;
        } else if (kinds[i] == IPT_INSN_CALL) {
            p[0] = 0xe8;
            aim_at(p + 1, ip + 5, targets[i]);
            p += 5;
        } else if (kinds[i] == IPT_INSN_RET) {
            p[0] = 0xc3;
        } else {
            p[0] = 0xff;
            p[1] = 0xe0;
        }
        if (p == &program[BLOCK * i]) continue;
        p = &program[BLOCK * i + BLOCK - 5];
        p[0] = 0xe9;
        aim_at(p + 1, ip + BLOCK, (i + 1) % BLOCKS);
    }
}

static int program_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                        uint64_t ip, void *context)
{
    const void *code = NULL;
    size_t n = 0;
    (void) asid;
    (void) context;
    if (ip >= BASE && ip - BASE < sizeof program) {
        n = sizeof program - (size_t) (ip - BASE);
        code = &program[ip - BASE];
    } else if (ip >= EXIT_IP && ip - EXIT_IP < sizeof host) {
        n = sizeof host - (size_t) (ip - EXIT_IP);
        code = &host[ip - EXIT_IP];
    }
    if (ip < the.missing && the.missing - ip < n)
        n = (size_t) (the.missing - ip);
    if (n == 0 || ip - the.missing < BLOCK) return IPT_NEED_PAGE;
    if (n > size) n = size;
    memcpy(buffer, code, n);
    return (int) n;
}

static void happen(ipt_gen *gen, uint8_t type, uint64_t ip)
{
    ipt_event event;
    memset(&event, 0, sizeof event);
    event.type = type;
    event.ip = ip;
    event.flags = type == IPT_EVT_DISABLED ? IPT_EVENT_NO_IP : 0;
    event.u.branch.to = ip;
    CHECK_EQ(ipt_gen_event(gen, &event), IPT_OK);
}

/* A branch executed, under a CR3 and to one. */
static void branch(ipt_gen *gen, uint8_t kind, uint64_t ip, uint8_t size,
                   uint64_t to, uint64_t cr3, uint64_t to_cr3)
{
    edge e = {.from = ip, .to = to, .kind = kind};
    CHECK_EQ(ipt_gen_branch(gen, kind, ip, size, to), IPT_OK);
    gen->clock += 1 + dice(30);
    if (!is_branch(kind) || !CHECK(ran_count < LENGTH(ran))) return;
    ran[ran_count].e = e;
    ran[ran_count].cr3[0] = cr3;
    ran[ran_count++].cr3[1] = to_cr3;
}

static void change_world(ipt_gen *gen, uint8_t type, uint64_t ip, uint64_t cr3,
                         uint8_t mode)
{
    ipt_event event;
    memset(&event, 0, sizeof event);
    event.type = type;
    event.ip = ip;
    event.u.paging.cr3 = cr3;
    event.u.paging.nr = cr3 != HOST_CR3;
    CHECK_EQ(ipt_gen_event(gen, &event), IPT_OK);
    if (mode == IPT_MODE_64) return;
    event.type = IPT_EVT_EXEC_MODE;
    event.u.exec.mode = event.u.paging.nr ? mode : IPT_MODE_64;
    CHECK_EQ(ipt_gen_event(gen, &event), IPT_OK);
}

/* A VM exit before ip executes, and back under the CR3 that is returned. */
static uint64_t exit_guest(ipt_gen *gen, uint64_t ip)
{
    const uint64_t next = ONLY_CR3 + 0x10000u * dice(the.spaces);
    ipt_event event;
    memset(&event, 0, sizeof event);
    change_world(gen, IPT_EVT_ASYNC_PAGING, ip, HOST_CR3, the.mode);
    event.type = IPT_EVT_ASYNC_BRANCH;
    event.ip = ip;
    event.u.branch.to = EXIT_IP;
    CHECK_EQ(ipt_gen_event(gen, &event), IPT_OK);
    branch(gen, IPT_INSN_JCC, EXIT_IP, 2, EXIT_IP + 2, HOST_CR3, HOST_CR3);
    branch(gen, IPT_INSN_CALL, EXIT_IP + 2, 5, EXIT_IP + 10, HOST_CR3,
           HOST_CR3);
    branch(gen, IPT_INSN_JCC, EXIT_IP + 10, 2, EXIT_IP + 12, HOST_CR3,
           HOST_CR3);
    branch(gen, IPT_INSN_RET, EXIT_IP + 12, 1, EXIT_IP + 7, HOST_CR3, HOST_CR3);
    change_world(gen, IPT_EVT_PAGING, 0, next, the.mode);
    branch(gen, IPT_INSN_VMENTRY, EXIT_IP + 7, 3, ip, HOST_CR3, next);
    return next;
}

/* Timing packets, long TNTs, TIPs that wait. */
static void gen_begin(ipt_gen *gen, uint32_t flags, uint8_t *out)
{
    ipt_gen_config config = {0};
    config.flags = flags;
    config.psb_period = dice(3) ? 0 : 300;
    if (flags & IPT_GEN_MTC) {
        config.cpuid_15_eax = 1;
        config.cpuid_15_ebx = 2;
        config.mtc_freq = 3;
        config.nom_freq = 10;
        config.cbr = 12;
    }
    CHECK_EQ(ipt_gen_init(gen, &config, the.mode), IPT_OK);
    gen->out = out;
    gen->size = INPUT;
    ran_count = 0;
}

/* What a run on an input leaves: decisions repeat more or less. */
static size_t write_run(uint8_t *out, uint32_t flags)
{
    static ipt_gen gen;
    uint64_t stack[40];
    uint64_t ways = 0x9e3779b97f4a7c15u * (1 + dice(5));
    uint64_t cr3 = the.vmx ? ONLY_CR3 : IPT_ASID_UNKNOWN;
    const unsigned noise = dice(4) ? 2 : 30;
    const unsigned most = 100 + dice(900);
    unsigned depth = 0;
    unsigned at = dice(3);
    gen_begin(&gen, flags, out);
    if (the.vmx) change_world(&gen, IPT_EVT_PAGING, 0, cr3, IPT_MODE_64);
    happen(&gen, IPT_EVT_ENABLED, BASE + BLOCK * at);
    for (unsigned i = 0; i < most && gen.size - gen.used > 900; i++) {
        const uint64_t ip = BASE + BLOCK * at;
        const int taken = ways >> i % 17 & 1;
        uint64_t to = BASE + BLOCK * targets[at];
        uint8_t size = 2;
        if (dice(100) < noise) ways = ways * 5 + i;
        if (kinds[at] == IPT_INSN_JCC) {
            size = 6;
            if (!taken) to = ip + 6;
        } else if (kinds[at] == IPT_INSN_CALL) {
            size = 5;
            if (depth == LENGTH(stack)) depth = 0; /* never to return */
            stack[depth++] = ip + 5;
        } else if (kinds[at] == IPT_INSN_RET) {
            size = 1;
            to = depth ? stack[--depth]
                       : BASE + BLOCK * (uint64_t) dice(BLOCKS);
        } else if (taken) {
            to = BASE + BLOCK * (uint64_t) dice(BLOCKS);
        }
        branch(&gen, kinds[at], ip, size, to, cr3, cr3);
        if (the.vmx && dice(30) == 0) cr3 = exit_guest(&gen, to);
        at = (unsigned) (to - BASE) / BLOCK;
        if (to % BLOCK) at = (at + 1) % BLOCKS; /* the JMP there */
        if (dice(400) == 0) {
            happen(&gen, IPT_EVT_OVERFLOW, BASE + BLOCK * at);
            depth = 0;
        }
    }
    CHECK_EQ(ipt_gen_flush(&gen), IPT_OK);
    happen(&gen, IPT_EVT_ASYNC_DISABLED, BASE + BLOCK * at);
    return gen.used;
}

/* The edges that a decoder with these flags and CR3 is to find. */
static void ran_edges(edge_list *l, uint32_t config_flags, uint32_t flags)
{
    l->count = 0;
    for (size_t i = 0; i < ran_count; i++) {
        const uint64_t from = ran[i].cr3[0];
        const uint64_t to = ran[i].cr3[1];
        if ((config_flags & IPT_CONFIG_ROOT_ONLY
             && (from != HOST_CR3 || to != HOST_CR3))
            || (config_flags & IPT_CONFIG_NON_ROOT_ONLY
                && (from == HOST_CR3 || to == HOST_CR3))
            || (config_flags & IPT_CONFIG_CR3_ONLY
                && (from != ONLY_CR3 || to != ONLY_CR3)))
            continue;
        *edge_add(l) = ran[i].e;
    }
    edges_of_kind(l, flags);
}

/* One way to cover many runs. */
typedef struct loop {
    ipt_config config;
    ipt_cov_config cov;
    ipt_cov_decoder decoder;
    ipt_cache cache;
    ipt_cov_memo memo;
    ipt_cov_line lines[4096];
    ipt_cache_line code[256];
    uint8_t map[MAP_MAX];
    uint64_t edges;
    uint64_t places; /* of errors */
    uint64_t fuel;
    unsigned most;  /* fuel of a call, at random; 0: no matter */
    unsigned piece; /* size of a piece, at random; 0: there is one */
    int bare;       /* no code cache */
    int stir;       /* forget code between calls, supply a missing page */
    ipt_segment pieces[INPUT + 64];
} loop;

static void count_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    (void) from;
    (void) to;
    (void) kind;
    ++*(uint64_t *) context;
}

static void loop_init(loop *l, uint32_t config_flags, uint32_t flags,
                      size_t count)
{
    memset(l, 0, sizeof *l);
    l->config.read = program_read;
    l->config.flags = config_flags;
    l->cov.flags = flags;
    l->cov.bitmap = l->map;
    l->cov.bitmap_size = MAP_MAX;
    l->cov.memo = count ? &l->memo : NULL;
    (void) ipt_cache_init(&l->cache, l->code, LENGTH(l->code));
    if (count) (void) ipt_cov_memo_init(&l->memo, l->lines, count);
}

/* More trace, as another piece. */
static void loop_grow(loop *l, ipt_trace *trace, const uint8_t *bytes,
                      size_t size)
{
    ipt_segment *const last = &l->pieces[trace->count++];
    last->data = trace->count > 1 ? last[-1].data + last[-1].size : bytes;
    last->size = (size_t) (bytes + size - last->data);
    if (!l->piece || last->size <= 1 + dice(l->piece)) trace->open = 0;
    else last->size = 1 + dice((unsigned) last->size < l->piece
                                   ? (unsigned) last->size : l->piece);
}

/* Cover a run; `first`: as a fresh decoder. Returns 1 if it was complete. */
static int loop_run(loop *l, const uint8_t *bytes, size_t size, int first)
{
    ipt_trace trace = {l->pieces, 0, 1, 0};
    loop_grow(l, &trace, bytes, size);
    int status = first ? ipt_cov_init(&l->decoder, &l->config, &l->cov, &trace,
                                      l->bare ? NULL : &l->cache)
                       : ipt_cov_begin(&l->decoder, &trace);
    memset(l->map, 0, sizeof l->map);
    l->config.fuel = l->most ? &l->fuel : NULL;
    int lost = 0; /* what comes next is a _resync */
    l->places = 0;
    while (status >= 0) {
        status = lost ? ipt_cov_resync(&l->decoder) : ipt_cov_run(&l->decoder);
        if (status <= IPT_ERR_ARG)
            sum_place(&l->places, &l->decoder.at, status);
        lost = lost && status < 0;
        if (status == IPT_END
            || (lost && status != IPT_BUDGET && status != IPT_MORE)) break;
        if (l->most) l->fuel = 1 + dice(l->most);
        if (status == IPT_MORE) loop_grow(l, &trace, bytes, size);
        if (l->stir && dice(4) == 0)
            CHECK_EQ(ipt_cov_invalidate(&l->decoder, NULL, BASE + dice(900),
                                        dice(100)), IPT_OK);
        if (l->stir && status == IPT_NEED_PAGE) the.missing = 0;
        else if (status < 0 && status != IPT_BUDGET && status != IPT_MORE)
            lost = 1;
        status = IPT_OK;
    }
    return status == IPT_END && !(l->decoder.verdict & ~IPT_COV_OVERFLOW);
}

static int loop_same(const loop *x, const loop *y)
{
    return memcmp(x->map, y->map, sizeof x->map) == 0
           && x->decoder.hash == y->decoder.hash
           && x->decoder.verdict == y->decoder.verdict;
}

/* Lines of the memo that are not as _init left them. */
static unsigned lines_used(const loop *l)
{
    static const ipt_cov_line none;
    unsigned n = 0;
    for (size_t i = 0; i < LENGTH(l->lines); i++)
        n += memcmp(&l->lines[i], &none, sizeof none) != 0;
    return n;
}

static loop fresh, kept, tiny, both;

/* Is the bitmap that of the edges which executed? */
static int loop_is_true(const loop *l)
{
    ran_edges(&want, l->config.flags, l->cov.flags);
    edges_map(&want, l->cov.flags, want_map, MAP_MAX);
    return memcmp(l->map, want_map, MAP_MAX) == 0;
}

/* Run N's bitmap is that of a fresh decoder, and of what executed, for a
 * thousand inputs, in all kinds of trace. */
TEST(thousand_inputs)
{
    static uint8_t bytes[INPUT];
    static const uint32_t flags[]
        = {0, IPT_COV_INDIRECT, IPT_COV_HASH | IPT_COV_INDIRECT,
           IPT_COV_SATURATE};
    static const uint32_t gens[]
        = {0, IPT_GEN_TNT_64, IPT_GEN_DEFER, IPT_GEN_TSC | IPT_GEN_CYC,
           IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC | IPT_GEN_TNT_64
               | IPT_GEN_DEFER};
    for (unsigned turn = 0; turn < 8; turn++) {
        const uint32_t config = turn & 1 ? IPT_CONFIG_NO_RETCOMP : 0;
        seed = turn / 2 + 1;
        the.mode = turn / 4 ? IPT_MODE_32 : IPT_MODE_64;
        the.base = turn == 1 ? HIGH : LOW;
        write_program();
        loop_init(&kept, config, flags[turn / 2], 4096);
        loop_init(&tiny, config, flags[turn / 2], 8);
        tiny.most = 100;
        loop_init(&both, config, flags[turn / 2], 0);
        both.cov.edge = count_edge; /* walks, with all outputs at once */
        both.cov.context = &both.edges;
        for (unsigned n = 0; n < 125; n++) {
            const size_t size
                = write_run(bytes, config | gens[n % LENGTH(gens)]);
            loop_init(&fresh, config, flags[turn / 2], 0);
            CHECK(loop_run(&fresh, bytes, size, 1));
            CHECK(loop_run(&kept, bytes, size, n == 0));
            CHECK(loop_run(&tiny, bytes, size, n == 0));
            CHECK(loop_run(&both, bytes, size, n == 0));
            if (!CHECK(loop_is_true(&fresh))
                || !CHECK(loop_same(&kept, &fresh))
                || !CHECK(loop_same(&tiny, &fresh))
                || !CHECK(loop_same(&both, &fresh)))
                return;
        }
        CHECK(both.edges > 1000);
    }
    the.mode = IPT_MODE_64;
}

/* Fuel ends inside long TNT packets, with as many bits left as can be. */
TEST(long_tnts)
{
    static uint8_t bytes[INPUT];
    static ipt_gen gen;
    write_program();
    for (unsigned i = 0; i < BLOCKS; i++) { /* je to the next one but one */
        program[BLOCK * i] = 0x0f, program[BLOCK * i + 1] = 0x84;
        aim_at(&program[BLOCK * i + 2], BASE + BLOCK * i + 6, (i + 2) % BLOCKS);
        program[BLOCK * i + 6] = 0xe9;
        aim_at(&program[BLOCK * i + 7], BASE + BLOCK * i + 11,
               (i + 1) % BLOCKS);
    }
    for (unsigned n = 0; n < 1000; n++) {
        unsigned at = 0;
        seed = n;
        gen_begin(&gen, IPT_GEN_TNT_64, bytes);
        happen(&gen, IPT_EVT_ENABLED, BASE);
        for (unsigned k = 47 * (1 + n % 5) + n % 7; k > 0; k--) {
            const uint64_t ip = BASE + BLOCK * at;
            const unsigned taken = dice(2);
            at = (at + 1 + taken) % BLOCKS;
            branch(&gen, IPT_INSN_JCC, ip, 6,
                   taken ? BASE + BLOCK * at : ip + 6, 0, 0);
        }
        CHECK_EQ(ipt_gen_flush(&gen), IPT_OK);
        happen(&gen, IPT_EVT_ASYNC_DISABLED, BASE + BLOCK * at);
        memset(bytes + gen.used, 0, 64); /* PAD: what is last is walked */
        loop_init(&kept, 0, 0, 64);
        kept.most = 4 + n % 400;
        CHECK(loop_run(&kept, bytes, gen.used + 64, 1));
        if (!CHECK(loop_is_true(&kept))) return;
    }
}

/* ---- hosts and guests ---- */

static int worlds(uint32_t gen, uint32_t config_flags, unsigned runs)
{
    static uint8_t bytes[INPUT];
    size_t edges = 0;
    write_program();
    loop_init(&kept, config_flags, IPT_COV_INDIRECT, 4096);
    loop_init(&tiny, config_flags, IPT_COV_INDIRECT, 4);
    loop_init(&both, config_flags, IPT_COV_INDIRECT, 0);
    kept.config.cr3 = tiny.config.cr3 = both.config.cr3 = ONLY_CR3;
    both.cov.edge = list_edge;
    both.cov.context = &got;
    for (unsigned n = 0; n < runs; n++) {
        const size_t size = write_run(bytes, gen);
        got.count = 0;
        CHECK(loop_run(&both, bytes, size, n == 0));
        CHECK(loop_run(&kept, bytes, size, n == 0));
        CHECK(loop_run(&tiny, bytes, size, n == 0));
        CHECK(loop_is_true(&both));
        CHECK(loop_is_true(&kept));
        CHECK(loop_is_true(&tiny)); /* fills `want` */
        if (!CHECK(edges_same(&want, &got))) return 0;
        edges += got.count;
    }
    return CHECK(edges > 100);
}

/* A guest in 64-bit and 32-bit mode under several CR3, its host, and each
 * alone. */
TEST(worlds)
{
    static const uint32_t only[]
        = {0, IPT_CONFIG_ROOT_ONLY, IPT_CONFIG_NON_ROOT_ONLY,
           IPT_CONFIG_CR3_ONLY, IPT_CONFIG_CR3_ONLY | IPT_CONFIG_NON_ROOT_ONLY};
    the.vmx = 1;
    for (unsigned i = 0; i < 4 * LENGTH(only); i++) {
        /* calls and returns do not keep to a CR3 */
        const uint32_t flags = i & 1 || only[i / 4] & IPT_CONFIG_CR3_ONLY
                                   ? IPT_CONFIG_NO_RETCOMP : 0;
        seed = 1000 + i;
        the.mode = i & 2 ? IPT_MODE_32 : IPT_MODE_64;
        if (!worlds(flags | (i & 3 ? 0 : IPT_GEN_TNT_64),
                    flags | only[i / 4], 12))
            printf("    %s, flags %x\n", i & 2 ? "32 bit" : "64 bit",
                   flags | only[i / 4]);
    }
    the.vmx = 0;
    the.mode = IPT_MODE_64;
}

/* ---- all of that at random ---- */

/* What was learned is frozen, and another memo begun. */
static void share_memo(loop *l)
{
    both.memo = l->memo;
    memcpy(both.lines, l->lines, sizeof both.lines);
    both.memo.lines_ = both.lines;
    l->cov.shared = &both.memo;
    (void) ipt_cov_memo_init(&l->memo, l->lines, 4u << dice(11));
}

static int check_loop(uint64_t start)
{
    static uint8_t bytes[INPUT + 32];
    static const uint32_t only[]
        = {0, 0, IPT_CONFIG_ROOT_ONLY, IPT_CONFIG_NON_ROOT_ONLY,
           IPT_CONFIG_CR3_ONLY};
    const int bad_ = test_.bad;
    seed = start * 0x9e3779b97f4a7c15u;
    the.vmx = dice(3) == 0;
    the.spaces = dice(2) ? 3 : 60;
    the.mode = dice(3) ? IPT_MODE_64 : IPT_MODE_32;
    write_program();
    uint32_t config = the.vmx ? only[dice(LENGTH(only))] : 0;
    if (dice(2) || config & IPT_CONFIG_CR3_ONLY)
        config |= IPT_CONFIG_NO_RETCOMP;
    loop_init(&kept, config, dice(IPT_COV_FLAGS_ + 1), 4u << dice(11));
    kept.config.cr3 = ONLY_CR3;
    kept.cov.bitmap_size = dice(3) ? MAP_MAX : 1 + dice(300);
    (void) ipt_cache_init(&kept.cache, kept.code, dice(2) ? 64 : 256);
    kept.bare = dice(4) == 0;
    for (unsigned n = 0; n < 5; n++) {
        uint32_t gen = config & IPT_CONFIG_NO_RETCOMP;
        gen |= dice(2) ? IPT_GEN_TNT_64 : 0;
        gen |= dice(2) ? IPT_GEN_DEFER : 0;
        gen |= dice(3) ? 0 : IPT_GEN_TSC | IPT_GEN_CYC;
        gen |= gen & IPT_GEN_TSC && dice(2) ? IPT_GEN_MTC : 0;
        const size_t size = write_run(bytes, gen);
        memset(bytes + size, 0, 32); /* PAD */
        for (unsigned k = 0; k < 3 && test_.bad == bad_; k++) {
            kept.most = dice(3) ? 0 : 1 + dice(400);
            kept.piece = dice(3) ? 0 : 1 + dice(600);
            kept.stir = dice(3) == 0;
            if (kept.stir) the.missing = BASE + dice(sizeof program);
            if (n + k && dice(20) == 0) share_memo(&kept);
            CHECK(loop_run(&kept, bytes, size + dice(33), n + k == 0));
            ran_edges(&want, config, kept.cov.flags);
            memset(want_map, 0, sizeof want_map);
            edges_map(&want, kept.cov.flags, want_map, kept.cov.bitmap_size);
            CHECK(!memcmp(kept.map, want_map, MAP_MAX));
            loop_init(&fresh, config, kept.cov.flags, 0);
            fresh.config.cr3 = ONLY_CR3;
            the.missing = 0;
            CHECK(loop_run(&fresh, bytes, size, 1));
            CHECK_EQ(kept.decoder.hash, fresh.decoder.hash);
        }
    }
    the.missing = 0;
    the.vmx = 0;
    the.spaces = 3;
    the.mode = IPT_MODE_64;
    if (test_.bad != bad_)
        printf("    seed %llu\n", (unsigned long long) start);
    return test_.bad == bad_;
}

TEST(loops_at_random)
{
    many(100, check_loop);
}

/* ---- all that lines have to be told apart by ----
 *
 * A program of places of 32 bytes, with other branches in each address space
 * and in each mode, and a trace of it in which all of that changes on the way:
 * by MOV CR3, while tracing is disabled, in a PSB+ in the middle of a block.
 * Between two packets flow only goes up, so that it is clear where an event
 * is. */

#define WORLD_LOW 0x3fff40u /* the upper bits of addresses change, too */
#define WORLD_HIGH 0xfffffffeffffff40u
#define PLACES 12
#define PLACE 32
#define PLANS 3 /* address spaces */

static uint8_t plan[PLANS][PLACES * PLACE];

/* The trace in the making, and where its flow is. */
static struct {
    uint8_t *out;
    size_t size;
    uint64_t last_ip;
    uint64_t ip;
    uint64_t bits;
    uint64_t stack[8];
    uint64_t ways; /* which branches are taken, by and by */
    uint64_t tips[6]; /* what waits for the TNT packet in progress */
    unsigned count, depth, space, turn, most, waiting;
    uint8_t mode, nr, kept; /* kept: returns are not compressed */
    uint8_t defers;         /* TIPs wait */
    uint64_t vmcs;
} act;

static uint64_t act_cr3(unsigned space)
{
    return 0x7000u + 0x1000u * space;
}

static int plan_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const unsigned space = (unsigned) (asid->cr3 - act_cr3(0)) >> 12;
    (void) context;
    return range_read(buffer, size, ip, BASE, plan[space < PLANS ? space : 0],
                      sizeof plan[0]);
}

/* Where a place has other sections than the one before. */
static uint64_t plan_section(const ipt_asid *asid, uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    return (ip - BASE) / (4 * PLACE);
}

static void plan_aim(uint8_t *p, size_t at, unsigned size, size_t to)
{
    const uint32_t by = (uint32_t) (to - at - size);
    for (unsigned i = 0; i < 4; i++) p[size - 4 + i] = (uint8_t) (by >> 8 * i);
}

/* One place: NOPs, MOV CR3 or, if `rsm`, an RSM that is not traced; in a third
 * of them an instruction that ends with a JMP EAX in 32-bit mode; a branch,
 * NOPs, and a JMP to the next one. */
static void plan_place(uint8_t *code, unsigned i, int moves, int rsm)
{
    static const uint8_t some[][3] = {{0xff, 0xe0, 0x90}, {0xff, 0xd0, 0x90},
                                      {0xc3, 0x90, 0x90}, {0x0f, 0x01, 0xc2}};
    size_t at = (size_t) i * PLACE;
    uint8_t *p = code + at;
    memset(p, 0x90, PLACE);
    if (moves) p[4] = 0x0f, p[5] = 0x22, p[6] = 0xd8;
    else if (rsm) p[4] = 0x0f, p[5] = 0xaa;
    at += 7;
    p = code + at;
    if (dice(3) == 0) {
        memset(p, 0, 6);
        p[0] = 0x48, p[1] = 0xb8, p[6] = 0xff, p[7] = 0xe0;
        at += 10;
    } else {
        at += dice(6);
    }
    p = code + at;
    switch (dice(10)) {
    case 0: case 1: case 2: memcpy(p, some[dice(4)], 3); break;
    case 3:
    case 4: /* it comes back */
        if (i + 4 >= PLACES) break;
        p[0] = 0xe8;
        plan_aim(p, at, 5, (i + 1 + dice(3)) * PLACE + dice(4));
        break;
    case 5:
        if (i + 1 < PLACES) break;
        /* fall through */
    default:
        p[0] = 0x0f, p[1] = (uint8_t) (0x80 + dice(16));
        plan_aim(p, at, 6, dice(PLACES) * PLACE + dice(4));
    }
    p = code + i * PLACE + PLACE - 5;
    p[0] = 0xe9;
    plan_aim(p, i * PLACE + PLACE - 5, 5, (i + 1) % PLACES * PLACE);
    if (i + 1 == PLACES && code[at] != 0x0f)
        memcpy(code + at, some[0], 2); /* nothing goes round without trace */
}

static void plan_all(int rsm)
{
    for (unsigned i = 0; i < PLACES; i++) {
        const int moves = dice(4) == 0;
        for (unsigned space = 0; space < PLANS; space++)
            plan_place(plan[space], i, moves, rsm);
    }
}

static void act_put(const ipt_packet *packet)
{
    const int n = ipt_pkt_encode(act.out + act.size, INPUT - act.size, packet);
    CHECK(n > 0);
    act.size += n > 0 ? (size_t) n : 0;
}

/* Time and padding. */
static void act_time(void)
{
    const ipt_packet some[] = {MTC(7), TSC(0x12345), CYC(5), CYC(0x3333),
                               PADS(1), PADS(9)};
    act_put(&some[dice(LENGTH(some))]);
}

/* A packet with an IP, as short as may be or longer. */
static void act_ip(uint8_t type, uint64_t ip)
{
    ipt_packet packet = TIP(0);
    const uint64_t differ = ip ^ act.last_ip;
    static const uint8_t longer[] = {2, 4, 3, 6, 6, 6, 6};
    uint8_t ipc = differ >> 48 ? 3 : differ >> 32 ? 4 : differ >> 16 ? 2 : 1;
    while (dice(3) == 0) ipc = longer[ipc];
    packet.type = type;
    packet.u.ip.ipc = ipc;
    packet.u.ip.payload
        = ipc == 6 ? ip : ip & (((uint64_t) 1 << (ipc < 3 ? 16 * ipc : 48)) - 1);
    act_put(&packet);
    act.last_ip = ip;
}

static void act_bits(void)
{
    ipt_packet tnt = TNT(1, 0);
    tnt.type = act.count > 6 ? IPT_PKT_TNT_64 : IPT_PKT_TNT_8;
    tnt.u.tnt.count = (uint8_t) act.count;
    tnt.u.tnt.bits = act.bits;
    if (act.count) act_put(&tnt);
    act.count = 0;
    act.bits = 0;
    for (unsigned i = 0; i < act.waiting; i++) {
        if (dice(20) == 0) act_time();
        act_ip(IPT_PKT_TIP, act.tips[i]);
    }
    act.waiting = 0;
}

static void act_bit(int bit)
{
    act.bits = act.bits << 1 | (uint64_t) bit;
    if (++act.count >= act.most) act_bits();
}

/* Flow goes to act.ip by a near branch. */
static void act_tip(void)
{
    if (act.count == 0 || !act.defers || dice(8) == 0) act_bits();
    if (act.count) act.tips[act.waiting++] = act.ip;
    else act_ip(IPT_PKT_TIP, act.ip);
    if (act.waiting == LENGTH(act.tips)) act_bits();
}

static void act_says(unsigned what)
{
    const ipt_packet vmcs = VMCS(act.vmcs), l = EXEC64, s = EXEC32,
                     pip = PIP(act_cr3(act.space), act.nr);
    if (what == 0) act_put(&pip);
    else if (what == 1) act_put(&vmcs);
    else act_put(act.mode == IPT_MODE_64 ? &l : &s);
}

static void act_psb(int enabled)
{
    static const ipt_packet psb = PSB, end = PSBEND, cbr = CBR(9),
                            tma = TMA(5, 6), none = TSX(0, 0);
    act_bits();
    act_put(&psb);
    act.last_ip = 0;
    act.depth = 0;
    if (dice(2)) act_time();
    if (dice(3) == 0) act_put(&tma);
    if (dice(3) == 0) act_put(&cbr);
    for (unsigned what = 0; what < 3; what++)
        if (what == 2 || ran_count == 0 || dice(2)) act_says(what);
    if (dice(3) == 0) act_put(&none);
    if (enabled) act_ip(IPT_PKT_FUP, act.ip);
    if (dice(3) == 0) act_time();
    act_put(&end);
}

static uint64_t act_place(void)
{
    return BASE + (act.ways >> 7 & 15) % PLACES * PLACE + (act.ways >> 3 & 3);
}

/* Tracing is off; it goes on somewhere, maybe in another space and mode. */
static void act_off(void)
{
    const unsigned mode = act.mode;
    act.depth = 0;
    for (unsigned n = dice(4); n > 0; n--)
        switch (dice(4)) {
        case 0:
            act.space = dice(PLANS);
            act.nr = (uint8_t) dice(2);
            act_says(0);
            break;
        case 1:
            act.vmcs = 0x5000u + 0x1000u * dice(2);
            act_says(1);
            break;
        case 2: act_psb(0); break;
        default: act_time();
        }
    if (dice(3) == 0 && BASE == WORLD_LOW)
        act.mode = dice(2) ? IPT_MODE_64 : IPT_MODE_32;
    if (act.mode != mode || dice(4) == 0) act_says(2);
    act.ip = act_place();
    act_ip(IPT_PKT_TIP_PGE, act.ip);
}

/* Something happens before the instruction at act.ip. */
static void act_happen(void)
{
    static const ipt_packet ovf = OVF, pgd0 = PGD0;
    act_bits();
    switch (dice(12)) {
    case 0:
        act_put(&ovf);
        act.depth = 0;
        act.last_ip = 0;
        act.ip = act_place();
        act_ip(IPT_PKT_FUP, act.ip);
        break;
    case 1:
        act_ip(IPT_PKT_FUP, act.ip);
        act_put(&pgd0);
        act_off();
        break;
    case 2:
    case 3:
        act_ip(IPT_PKT_FUP, act.ip);
        act.ip = act_place();
        act_ip(IPT_PKT_TIP, act.ip);
        break;
    case 4: case 5: case 6: case 7: act_psb(1); break;
    default: act_time();
    }
}

static void act_edge(uint8_t kind, uint64_t from)
{
    const edge e = {.from = from, .to = act.ip, .kind = kind};
    if (CHECK(ran_count < LENGTH(ran))) ran[ran_count++].e = e;
}

/* A VM entry, which may lead to another space and mode. */
static void act_enter(void)
{
    act.depth = 0;
    if (dice(2)) {
        act.space = dice(PLANS);
        act.nr = (uint8_t) dice(2);
        act_says(0);
    }
    if (dice(2) && BASE == WORLD_LOW) {
        act.mode = dice(2) ? IPT_MODE_64 : IPT_MODE_32;
        act_says(2);
    }
}

/* A branch of that kind at `from`; its direct target, and what follows it. */
static void act_branch(uint8_t kind, uint64_t from, uint64_t to, uint64_t next)
{
    static const ipt_packet pgd0 = PGD0;
    const int taken = act.ways >> act.turn++ % 17 & 1;
    const int direct = kind == IPT_INSN_JCC;
    int ends = dice(25) == 0 && (!direct || !taken || to > from);
    if (kind == IPT_INSN_CALL || kind == IPT_INSN_CALL_INDIRECT) {
        if (act.depth == LENGTH(act.stack)) act.depth = 0;
        act.stack[act.depth++] = next;
    }
    act.ip = direct ? (taken ? to : next)
           : kind == IPT_INSN_CALL ? to : act_place();
    if (kind == IPT_INSN_CALL) return;
    if (kind == IPT_INSN_RET && act.depth && !act.kept) {
        act.ip = act.stack[--act.depth];
        act_bit(1);
    } else if (ends) {
        act_bits();
        if (!direct && dice(2)) act_put(&pgd0);
        else act_ip(IPT_PKT_TIP_PGD, direct ? act.ip : BASE + 0x5000);
        act_off();
        return;
    } else if (direct) {
        act_bit(taken);
    } else if (kind == IPT_INSN_VMENTRY) {
        act_bits();
        act_enter();
        act_ip(IPT_PKT_TIP, act.ip);
    } else {
        act_tip();
    }
    act_edge(kind, from);
}

/* The instruction at act.ip executes. */
static void act_step(void)
{
    const uint64_t from = act.ip;
    const uint8_t *p = &plan[act.space][from - BASE];
    const int jcc = p[0] == 0x0f && p[1] >> 4 == 8;
    const unsigned size = jcc ? 6 : 5;
    const uint64_t by = p[size - 4] | (uint64_t) p[size - 3] << 8;
    const uint64_t to = BASE + (uint16_t) (from - BASE + size + by);
    if (p[0] == 0x0f && p[1] == 0x22) {
        act_bits();
        act.space = dice(PLANS);
        act.depth = 0; /* other code is where it came from */
        act_says(0);
        act.ip += 3;
    } else if (p[0] == 0x0f && p[1] == 0xaa) {
        act.ip += 2;
    } else if (p[0] == 0x48) {
        act.ip += act.mode == IPT_MODE_64 ? 10 : 6;
    } else if (p[0] == 0xe9) {
        act.ip = to;
    } else if (p[0] == 0xe8) {
        act_branch(IPT_INSN_CALL, from, to, from + 5);
    } else if (jcc) {
        act_branch(IPT_INSN_JCC, from, to, from + 6);
    } else if (p[0] == 0xff) {
        act_branch(p[1] == 0xe0 ? IPT_INSN_JMP_INDIRECT
                                : IPT_INSN_CALL_INDIRECT, from, 0, from + 2);
    } else if (p[0] == 0x0f && p[1] == 0x01) {
        act_branch(IPT_INSN_VMENTRY, from, 0, from + 3);
    } else if (p[0] == 0xc3) {
        act_branch(IPT_INSN_RET, from, 0, from + 1);
    } else {
        act.ip++;
    }
}

/* A trace of so many instructions, and its edges in `ran`. */
static size_t act_run(uint8_t *out, unsigned steps, int kept_)
{
    const unsigned noise = dice(3) ? 3 : 40, events = dice(2) ? 15 : 80;
    memset(&act, 0, sizeof act);
    act.out = out;
    act.kept = (uint8_t) kept_;
    act.defers = kept_ && dice(2);
    act.most = dice(2) ? 6 : 1 + dice(47);
    act.mode = IPT_MODE_64;
    if (dice(3) == 0 && BASE == WORLD_LOW) act.mode = IPT_MODE_32;
    act.space = dice(PLANS);
    act.ways = 0x9e3779b97f4a7c15u * (1 + dice(5));
    act.vmcs = 0x5000;
    act.ip = act_place();
    ran_count = 0;
    act_psb(1);
    for (unsigned i = 0; i < steps && act.size < INPUT - 300; i++) {
        if (dice(100) < noise) act.ways = act.ways * 5 + i;
        if (dice(events) == 0) act_happen();
        act_step();
    }
    act_bits();
    return act.size;
}

/* Of `ran` those that count. */
static void act_edges(edge_list *l, const ipt_cov_config *cov)
{
    const ipt_filter *only = cov->filter;
    size_t n = 0;
    ran_edges(l, 0, cov->flags);
    for (size_t i = 0; i < l->count; i++) {
        const uint64_t from = l->edges[i].from;
        const int in = only && from >= only->first && from <= only->last;
        if (!only || in == (only->kind == IPT_FILTER_TRACE))
            l->edges[n++] = l->edges[i];
    }
    l->count = n;
}

static ipt_filter world_filter[IPT_FILTERS];
static edge_list world_blocks;

/* One thing that a memo depends on is another. */
static void world_changes(unsigned what)
{
    ipt_cov_config *cov = &kept.cov;
    switch (what) {
    case 0: cov->flags = dice(IPT_COV_FLAGS_ + 1); break;
    case 1: cov->bitmap_size = dice(3) ? MAP_MAX : 1 + dice(300); break;
    case 2: kept.config.section = dice(2) ? plan_section : NULL; break;
    default:
        world_filter[0].kind = dice(2) ? IPT_FILTER_TRACE : IPT_FILTER_STOP;
        world_filter[0].first = BASE + dice(PLACES) * PLACE;
        world_filter[0].last
            = world_filter[0].first + dice(PLACES * PLACE / 2);
        cov->filter = dice(3) ? world_filter : NULL;
    }
}

/* `kept` covers the trace thrice, as `fresh` did, in whatever manner. */
static void world_covers(const uint8_t *bytes, size_t size, int first,
                         int complete)
{
    for (unsigned k = 0; k < 3 && !test_.bad; k++) {
        kept.most = dice(3) ? 0 : 1 + dice(dice(2) ? 4 : 400);
        kept.piece = dice(3) ? 0 : 1 + dice(dice(2) ? 4 : 600);
        kept.stir = complete && dice(4) == 0;
        if (!first && dice(20) == 0) share_memo(&kept);
        CHECK_EQ(loop_run(&kept, bytes, size, first), complete);
        CHECK(!memcmp(kept.map, want_map, MAP_MAX));
        CHECK_EQ(kept.decoder.hash, fresh.decoder.hash);
        CHECK_EQ(kept.decoder.verdict, fresh.decoder.verdict);
        CHECK_EQ(kept.places, fresh.places);
        if (complete)
            CHECK(ends_same(&kept.decoder.at, &fresh.decoder.at));
        if (complete && kept.cov.seen)
            CHECK(blocks_same(&world_blocks, &got_blocks));
        first = 0;
    }
}

/* The blocks that [blk] finds are those that may be seen from now on. */
static void world_sees(const uint8_t *bytes, size_t size)
{
    const ipt_segment piece = {bytes, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    edge_clear(&want_blocks);
    blocks_by_blk(&want_blocks, &fresh.config, &trace, NULL, NULL);
    for (size_t i = 0; i < want_blocks.count; i++)
        *edge_add(&world_blocks) = want_blocks.edges[i];
    blocks_unique(&world_blocks);
}

/* A trace, its last one damaged: edges are those that executed, if it is whole
 * and no RSM takes a TIP, and those of the walk. */
static void world_runs(int first, int damaged, int returns, int rsm)
{
    static uint8_t bytes[INPUT + 64];
    size_t size = act_run(bytes, 100 + dice(500), returns);
    for (unsigned i = dice(3); damaged && i < 3; i++)
        bytes[16 + dice((unsigned) size - 16)] ^= (uint8_t) (1u << dice(8));
    memset(bytes + size, 0, 64);
    size += dice(65);
    loop_init(&fresh, kept.config.flags, kept.cov.flags, 0);
    fresh.config = kept.config;
    fresh.config.fuel = NULL;
    fresh.cov.filter = kept.cov.filter;
    fresh.cov.edge = list_edge;
    fresh.cov.context = &got;
    got.count = 0;
    const int complete = loop_run(&fresh, bytes, size, 1);
    edges_of_kind(&got, kept.cov.flags);
    if (!damaged && !rsm) {
        CHECK(complete);
        act_edges(&want, &fresh.cov);
        CHECK(edges_same(&want, &got));
    }
    if (kept.cov.seen) world_sees(bytes, size);
    memset(want_map, 0, sizeof want_map);
    edges_map(&got, kept.cov.flags, want_map, kept.cov.bitmap_size);
    world_covers(bytes, size, first, complete);
}

static void check_world(uint64_t start)
{
    static const uint32_t world_flags[]
        = {IPT_CONFIG_IFLAGS, IPT_CONFIG_TICKS, IPT_CONFIG_VMX_EVENTS};
    seed = (start + 1) * 0x9e3779b97f4a7c15u;
    the.base = dice(4) ? WORLD_LOW : WORLD_HIGH;
    const int rsm = dice(4) == 0;
    plan_all(rsm);
    const int returns = (int) dice(2);
    loop_init(&kept, returns ? IPT_CONFIG_NO_RETCOMP : 0,
              dice(IPT_COV_FLAGS_ + 1), dice(2) ? 4096 : 4u << dice(11));
    for (unsigned i = 0; i < LENGTH(world_flags); i++)
        if (dice(3) == 0) kept.config.flags |= world_flags[i];
    kept.config.read = plan_read;
    kept.bare = dice(4) == 0;
    got_blocks.count = world_blocks.count = 0;
    if (dice(3) == 0) {
        CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
        kept.cov.seen = &seen;
        kept.cov.block = list_block;
        kept.cov.context = &got_blocks;
    }
    for (unsigned what = 0; what < 4; what++)
        if (dice(3) == 0) world_changes(what);
    for (unsigned n = 0; n < 4 && !test_.bad; n++) {
        const int changes = n == 0 || dice(2);
        if (n && changes) {
            kept.cov.shared = NULL;
            world_changes(dice(7)); /* most often the filter */
        }
        world_runs(changes, n == 3 && dice(3), returns, rsm);
    }
    the.base = LOW;
    if (test_.bad) printf("    seed %llu\n", (unsigned long long) start);
}

TEST(worlds_at_random)
{
    const char *first = getenv("TEST_SEED");
    const uint64_t from = first ? strtoull(first, NULL, 0) : 0;
    for (uint64_t i = from; i < from + 1000 && !test_.bad; i++) check_world(i);
}

/* A program and a run of it for `kept`, which differ by turn. Returns the size
 * of the trace. */
static size_t known_begin(uint8_t *bytes, unsigned turn)
{
    const uint32_t config = turn & 1 ? IPT_CONFIG_NO_RETCOMP : 0;
    seed = turn + 1;
    the.base = turn & 32 ? HIGH : LOW;
    write_program();
    loop_init(&kept, config, turn / 2 % (IPT_COV_FLAGS_ + 1), 4096);
    const size_t size
        = write_run(bytes, config | (turn & 16 ? IPT_GEN_TNT_64 : 0));
    memset(bytes + size, 0, 64); /* PAD: what is last is walked */
    return size + 64;
}

/* What was passed before is walked no more: a unit pays for 16 bytes of trace,
 * and some for where it begins and ends. */
TEST(what_is_known_costs_its_trace)
{
    static uint8_t bytes[INPUT + 64];
    for (unsigned turn = 0; turn < 64; turn++) {
        uint64_t units = 1000000;
        const size_t size = known_begin(bytes, turn);
        for (unsigned n = 0; n < 3; n++)
            CHECK(loop_run(&kept, bytes, size, n == 0));
        const ipt_segment piece = {bytes, size};
        const ipt_trace trace = {&piece, 1, 0, 0};
        kept.config.fuel = &units;
        CHECK_EQ(ipt_cov_begin(&kept.decoder, &trace), IPT_OK);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK(1000000 - units <= size / 16 + 10);
        CHECK(1000000 - units >= size / 16);
    }
}

/* The second time whole legs are learned, where that pays; from the third on
 * nothing is, and the same lines are found. Whoever shares that memo finds
 * them, too, and learns nothing. */
TEST(what_is_known_stays_so)
{
    static uint8_t bytes[INPUT + 64];
    for (unsigned turn = 0; turn < 64; turn++) {
        uint64_t hits = 0;
        const size_t size = known_begin(bytes, turn);
        for (unsigned n = 0; n < 6; n++) {
            CHECK(loop_run(&kept, bytes, size, n == 0));
            if (n > 1) CHECK_EQ(kept.decoder.misses, 0);
            if (n > 2) CHECK_EQ(kept.decoder.hits, hits);
            hits = kept.decoder.hits;
        }
        CHECK_EQ(kept.memo.lost, 0);
        share_memo(&kept);
        CHECK(loop_run(&kept, bytes, size, 0));
        CHECK_EQ(kept.decoder.misses, 0);
        CHECK_EQ(kept.decoder.hits, hits);
    }
}

/* ---- outputs ---- */

typedef struct outputs {
    edge_list edges;
    edge_list blocks; /* from: address, to: its end, kind: mode */
    uint8_t map[MAP_MAX];
    uint64_t hash;
} outputs;

static void on_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    list_edge(from, to, kind, &((outputs *) context)->edges);
}

static void on_block(uint64_t ip, uint32_t size, uint8_t mode, void *context)
{
    CHECK(size > 0);
    list_edge(ip, ip + size, mode, &((outputs *) context)->blocks);
}

enum { MAP = 1, EDGES = 2, BLOCKS_ = 4, HASH = 8, MEMO = 16, ALL = 32 };

/* Ways that are asked for. */
static void ask(outputs *o, unsigned what, uint32_t flags, const uint8_t *bytes,
                size_t size)
{
    loop_init(&fresh, 0, flags | (what & HASH ? IPT_COV_HASH : 0),
              what & MEMO ? 64 : 0);
    if (!(what & MAP)) fresh.cov.bitmap = NULL;
    if (what & EDGES) fresh.cov.edge = on_edge;
    if (what & BLOCKS_) fresh.cov.block = on_block;
    fresh.cov.context = o;
    for (int i = 0; i < 3; i++) { /* the memo knows it */
        o->edges.count = o->blocks.count = 0;
        CHECK(loop_run(&fresh, bytes, size, i == 0));
    }
    memcpy(o->map, fresh.map, MAP_MAX);
    o->hash = fresh.decoder.hash;
}

static int list_same(const edge_list *x, const edge_list *y)
{
    return x->count == y->count
           && (x->count == 0
               || !memcmp(x->edges, y->edges, x->count * sizeof *x->edges));
}

/* Blocks hold each instruction as often as it executed. */
static void check_blocks(const edge_list *blocks, const uint8_t *bytes,
                         size_t size)
{
    static uint32_t times[2][sizeof program];
    static uint8_t ends[sizeof program + 16]; /* a branch does, here */
    const ipt_segment piece = {bytes, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    static ipt_insn_decoder d;
    ipt_insn insn;
    int status = ipt_insn_init(&d, &fresh.config, &trace, NULL);
    memset(times, 0, sizeof times);
    memset(ends, 0, sizeof ends);
    if (status >= 0) status = ipt_insn_sync_forward(&d);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        status = ipt_insn_next(&d, &insn);
        for (unsigned i = 0; status >= 0 && i < insn.size; i++)
            if (insn.ip - BASE < sizeof program) times[0][insn.ip - BASE + i]++;
        if (status >= 0 && insn.ip - BASE < sizeof program)
            ends[insn.ip - BASE + insn.size]
                |= is_branch(insn.kind) || insn.kind == IPT_INSN_JMP
                   || insn.kind == IPT_INSN_CALL;
    }
    for (size_t k = 0; k < blocks->count; k++) {
        const edge *e = &blocks->edges[k];
        for (uint64_t ip = e->from; ip < e->to; ip++)
            if (ip - BASE < sizeof program) {
                times[1][ip - BASE]++;
                CHECK(ip == e->from || !ends[ip - BASE]);
            }
    }
    CHECK(memcmp(times[0], times[1], sizeof times[0]) == 0);
}

/* Each output is the same, whatever else is asked for, memo or not. */
TEST(outputs)
{
    static uint8_t bytes[INPUT];
    static outputs alone, some;
    static const uint8_t zeros[MAP_MAX];
    for (unsigned turn = 0; turn < 8; turn++) {
        seed = 300 + turn;
        the.vmx = turn & 1;
        write_program();
        const uint32_t flags = turn / 2;
        const size_t size = write_run(bytes, 0);
        for (unsigned what = MAP; what <= HASH; what *= 2) {
            ask(&some, what, flags, bytes, size);
            if (what == MAP) memcpy(alone.map, some.map, MAP_MAX);
            if (what == HASH) alone.hash = some.hash;
            edge_list *const to = what == EDGES ? &alone.edges : &alone.blocks;
            if (what != EDGES && what != BLOCKS_) continue;
            edge_list *const from = what == EDGES ? &some.edges : &some.blocks;
            to->count = 0;
            for (size_t i = 0; i < from->count; i++)
                *edge_add(to) = from->edges[i];
        }
        ran_edges(&want, 0, flags);
        CHECK(edges_same(&want, &alone.edges));
        check_blocks(&alone.blocks, bytes, size);
        CHECK(alone.hash != 0);
        CHECK(alone.blocks.count > alone.edges.count / 2);
        for (unsigned what = 0; what < ALL; what++) {
            ask(&some, what, flags, bytes, size);
            CHECK(!memcmp(some.map, what & MAP ? alone.map : zeros, MAP_MAX));
            CHECK_EQ(some.hash, what & HASH ? alone.hash : 0);
            if (what & EDGES) CHECK(list_same(&some.edges, &alone.edges));
            else CHECK_EQ(some.edges.count, 0);
            if (what & BLOCKS_) CHECK(list_same(&some.blocks, &alone.blocks));
            else CHECK_EQ(some.blocks.count, 0);
        }
    }
    the.vmx = 0;
    edge_clear(&alone.edges), edge_clear(&alone.blocks);
    edge_clear(&some.edges), edge_clear(&some.blocks);
}

/* Run the fresh loop with a table; blocks that come go to got_blocks. */
static void run_seen(ipt_cov_seen *one, const uint8_t *bytes, size_t size)
{
    fresh.cov.block = list_block;
    fresh.cov.context = &got_blocks;
    fresh.cov.seen = one;
    got_blocks.count = 0;
    CHECK(loop_run(&fresh, bytes, size, 0));
}

/* A table that is full takes blocks for new ones, and counts them; one that was
 * emptied, and another one, have all of them told again, whatever the memo
 * knows. Lines of a shared memo are of blocks that were seen. */
TEST(seen)
{
    static uint8_t bytes[INPUT];
    static ipt_cov_mark few[64], others[MARKS];
    const ipt_trace trace = {0};
    ipt_cov_seen small, other;
    size_t size;
    CHECK_EQ(ipt_cov_seen_init(NULL, marks, MARKS), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_seen_init(&seen, NULL, MARKS), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, 63), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_seen_init(&small, few, LENGTH(few)), IPT_OK);
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS - 1), IPT_OK);
    CHECK_EQ(ipt_cov_seen_init(&other, others, MARKS), IPT_OK);
    seed = 7;
    write_program();
    size = write_run(bytes, 0);
    loop_init(&fresh, 0, 0, 4096);
    CHECK(loop_run(&fresh, bytes, size, 1));
    run_seen(&seen, bytes, size); /* the memo knows all of it */
    const uint64_t count = seen.count;
    CHECK(count > LENGTH(few));
    CHECK_EQ(got_blocks.count, count);
    run_seen(&seen, bytes, size);
    CHECK_EQ(got_blocks.count, 0);
    run_seen(&other, bytes, size);
    CHECK_EQ(got_blocks.count, count);
    run_seen(&seen, bytes, size);
    CHECK_EQ(got_blocks.count, 0);
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
    run_seen(&seen, bytes, size);
    CHECK_EQ(got_blocks.count, count);
    CHECK_EQ(seen.count, count);
    CHECK_EQ(seen.lost, 0);
    run_seen(&small, bytes, size);
    CHECK(got_blocks.count >= count);
    CHECK_EQ(got_blocks.count, small.count + small.lost);
    CHECK(small.count <= LENGTH(few));
    CHECK(small.lost >= count - LENGTH(few));
    blocks_unique(&got_blocks);
    CHECK_EQ(got_blocks.count, count);
    run_seen(&seen, bytes, size); /* lines of `seen` again */
    fresh.cov.block = NULL;       /* which may only count */
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
    CHECK(loop_run(&fresh, bytes, size, 0));
    CHECK_EQ(seen.count, count);
    /* a memo that was frozen */
    CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, MEMO_LINES), IPT_OK);
    fresh.cov.shared = fresh.cov.memo;
    fresh.cov.memo = &memo;
    run_seen(&other, bytes, size);
    CHECK_EQ(got_blocks.count, 0);
    fresh.cov.seen = NULL; /* it was filled with a table */
    fresh.cov.block = NULL;
    CHECK_EQ(ipt_cov_begin(&fresh.decoder, &trace), IPT_ERR_CONFIG);
    fresh.cov.shared = NULL;
    fresh.cov.seen = &other;
    other.magic_++;
    CHECK_EQ(ipt_cov_begin(&fresh.decoder, &trace), IPT_ERR_STATE);
}

/* The table of a memo is emptied within a run: begin again. */
TEST(seen_changes_within_a_run)
{
    static uint8_t bytes[INPUT];
    ipt_segment piece = {bytes, 0};
    ipt_trace trace = {&piece, 1, 1, 0};
    size_t size;
    seed = 8;
    write_program();
    size = write_run(bytes, 0);
    loop_init(&fresh, 0, 0, 4096);
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
    CHECK(loop_run(&fresh, bytes, size, 1));
    run_seen(&seen, bytes, size);
    piece.size = size / 2;
    CHECK_EQ(ipt_cov_begin(&fresh.decoder, &trace), IPT_OK);
    CHECK_EQ(ipt_cov_run(&fresh.decoder), IPT_MORE);
    CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
    piece.size = size;
    CHECK_EQ(ipt_cov_run(&fresh.decoder), IPT_ERR_CONFIG);
    trace.open = 0;
    CHECK_EQ(ipt_cov_begin(&fresh.decoder, &trace), IPT_OK);
    CHECK_EQ(ipt_cov_run(&fresh.decoder), IPT_END);
    CHECK(seen.count > 0);
}

static unsigned long code_reads;

static int counted_read(uint8_t *to, size_t size, const ipt_asid *asid,
                        uint64_t ip, void *context)
{
    code_reads++;
    return program_read(to, size, asid, ip, context);
}

/* What the memo knows is counted, what it has to learn, and what others take
 * the place of: all of it if there are few lines, nothing if there are many. */
TEST(memo_counts)
{
    static uint8_t bytes[INPUT];
    for (unsigned turn = 0; turn < 6; turn++) {
        const int large = turn & 1;
        const size_t count = large ? 4096 : 8;
        uint64_t first;
        seed = 40 + turn;
        write_program();
        const size_t size = write_run(bytes, 0);
        loop_init(&kept, 0, turn & 2 ? IPT_COV_HASH : 0, count);
        CHECK(loop_run(&kept, bytes, size, 1));
        first = kept.decoder.misses;
        CHECK(first > 8);
        for (unsigned n = 0; n < 2; n++)
            CHECK(loop_run(&kept, bytes, size, 0));
        const unsigned used = lines_used(&kept);
        if (large) {
            CHECK_EQ(kept.decoder.misses, 0);
            CHECK(kept.decoder.hits > 8);
            CHECK_EQ(kept.memo.lost, 0);
            CHECK(used > first);
        } else {
            CHECK(kept.decoder.misses > 0);
            CHECK(kept.memo.lost > first);
            CHECK_EQ(used, count);
        }
        loop_init(&fresh, 0, 0, 0);
        CHECK(loop_run(&fresh, bytes, size, 1));
        CHECK_EQ(fresh.decoder.hits + fresh.decoder.misses, 0);
    }
}

/* Code that the memo knows is not read again, in any address space and mode,
 * nor because another input came between. A line more or less that is lost in
 * between is a matter of which ones are replaced. */
TEST(memo_saves_reading)
{
    static uint8_t bytes[2][INPUT];
    unsigned long cold = 0, warm = 0;
    for (unsigned turn = 0; turn < 8; turn++) {
        const uint32_t gen = turn & 4 ? IPT_GEN_TNT_64 | IPT_GEN_DEFER : 0;
        unsigned long reads[6] = {0};
        size_t sizes[2];
        seed = 900 + turn;
        the.mode = turn & 1 ? IPT_MODE_32 : IPT_MODE_64;
        the.vmx = turn >> 1 & 1;
        the.base = (turn & 5) == 4 ? HIGH : LOW;
        write_program();
        for (unsigned i = 0; i < 2; i++) sizes[i] = write_run(bytes[i], gen);
        loop_init(&kept, 0, 0, 4096);
        kept.config.read = counted_read;
        kept.bare = 1;
        for (unsigned n = 0; n < 6; n++) {
            code_reads = 0;
            CHECK(loop_run(&kept, bytes[n & 1], sizes[n & 1], n == 0));
            reads[n] = code_reads;
        }
        CHECK(reads[2] * 2 < reads[0]);
        CHECK(reads[3] * 2 < reads[1]);
        CHECK(reads[4] <= reads[2] + reads[2] / 16);
        CHECK(reads[5] <= reads[3] + reads[3] / 16);
        cold += reads[0] + reads[1];
        warm += reads[2] + reads[3];
    }
    CHECK(warm * 8 < cold);
    the.base = LOW;
    the.mode = IPT_MODE_64;
    the.vmx = 0;
}

/* Bitmaps up to 64 MiB have a memo; larger ones are counted without. */
TEST(largest_bitmap)
{
    static const uint32_t sizes[] = {(1u << 26) - 1, 1u << 26, (1u << 26) + 1,
                                     1u << 27, (1u << 28) + 12345};
    static uint8_t bytes[INPUT];
    seed = 77;
    write_program();
    const size_t size = write_run(bytes, 0);
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        uint8_t *maps[2] = {calloc(1, sizes[i]), calloc(1, sizes[i])};
        if (!CHECK(maps[0]) || !CHECK(maps[1])) return;
        loop_init(&kept, 0, 0, 4096);
        kept.cov.bitmap = maps[0];
        kept.cov.bitmap_size = sizes[i];
        CHECK(loop_run(&kept, bytes, size, 1));
        CHECK_EQ(!kept.decoder.misses, sizes[i] > 1u << 26);
        ran_edges(&want, 0, 0);
        edges_map(&want, 0, maps[1], sizes[i]);
        CHECK(memcmp(maps[0], maps[1], sizes[i]) == 0);
        free(maps[0]);
        free(maps[1]);
    }
}

/* A memo is emptied where what counts is another: size, formula, filter. */
TEST(another_formula)
{
    static uint8_t bytes[INPUT];
    static const uint32_t sizes[] = {MAP_MAX, 64, 1000, 1};
    ipt_filter filter[IPT_FILTERS];
    seed = 77;
    write_program();
    loop_init(&kept, 0, 0, 4096);
    for (unsigned n = 0; n < 60; n++) {
        const size_t size = write_run(bytes, 0);
        memset(filter, 0, sizeof filter);
        for (unsigned i = 0; i < dice(4); i++) {
            filter[i].kind = (uint8_t) (1 + dice(2)); /* TRACE or STOP */
            filter[i].first = BASE + BLOCK * (uint64_t) dice(BLOCKS);
            filter[i].last = filter[i].first + BLOCK * (uint64_t) dice(20);
        }
        kept.cov.filter = dice(2) ? filter : NULL;
        kept.cov.bitmap_size = sizes[dice(LENGTH(sizes))];
        kept.cov.flags = dice(IPT_COV_FLAGS_ + 1);
        for (int k = 0; k < 3; k++)
            CHECK(loop_run(&kept, bytes, size, n + (unsigned) k == 0));
        ran_edges(&want, 0, kept.cov.flags);
        size_t left = 0;
        for (size_t i = 0; i < want.count; i++) {
            const uint64_t from = want.edges[i].from;
            unsigned traces = 0, hit = 0, stopped = 0;
            for (unsigned j = 0; kept.cov.filter && j < IPT_FILTERS; j++) {
                const unsigned in
                    = from >= filter[j].first && from <= filter[j].last;
                traces += filter[j].kind == IPT_FILTER_TRACE;
                hit += in && filter[j].kind == IPT_FILTER_TRACE;
                stopped += in && filter[j].kind == IPT_FILTER_STOP;
            }
            if (!stopped && (hit || !traces))
                want.edges[left++] = want.edges[i];
        }
        want.count = left;
        memset(want_map, 0, sizeof want_map);
        edges_map(&want, kept.cov.flags, want_map, kept.cov.bitmap_size);
        if (!CHECK(!memcmp(kept.map, want_map, MAP_MAX))) return;
    }
}

/* Filters of the same range that differ in kind alone, whatever the range. */
TEST(filters_of_two_kinds)
{
    static uint8_t bytes[INPUT];
    ipt_filter filter[IPT_FILTERS] = {{0}};
    seed = 78;
    write_program();
    const size_t size = write_run(bytes, 0);
    for (unsigned i = 0; i < 16; i++) {
        filter[0].kind = IPT_FILTER_TRACE;
        filter[0].first = BASE + BLOCK * (uint64_t) i;
        filter[0].last = filter[0].first + BLOCK * (uint64_t) (BLOCKS / 2) + i;
        loop_init(&kept, 0, 0, 4096);
        kept.cov.filter = filter;
        CHECK(loop_run(&kept, bytes, size, 1));
        filter[0].kind = IPT_FILTER_STOP;
        loop_init(&fresh, 0, 0, 4096);
        fresh.cov.filter = filter;
        CHECK(loop_run(&fresh, bytes, size, 1));
        CHECK(loop_run(&kept, bytes, size, 0));
        CHECK(!memcmp(kept.map, fresh.map, MAP_MAX));
    }
}

static uint64_t one_section(const ipt_asid *asid, uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    return ip >> 12;
}

/* A memo that others share is refused where what counts is another. */
TEST(R11_shared_formulas)
{
    static const uint32_t sizes[] = {0, 2, 3, 4, 5, 6}; /* 0: no bitmap */
    static const ipt_trace nothing = {NULL, 0, 0, 0};
    static ipt_filter filters[IPT_FILTERS];
    enum { FORMULAS = 4 * 2 * 6 * 3 };
    filters[1].kind = IPT_FILTER_TRACE;
    for (unsigned i = 0; i < FORMULAS * FORMULAS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            loop *l = k ? &kept : &both;
            unsigned n = k ? i % FORMULAS : i / FORMULAS;
            memset(&l->config, 0, sizeof l->config);
            memset(&l->cov, 0, sizeof l->cov);
            l->config.read = program_read;
            l->cov.flags = n % 2 * IPT_COV_INDIRECT + n / 2 % 2 * IPT_COV_HASH;
            n /= 4;
            l->config.section = n % 2 ? one_section : NULL;
            n /= 2;
            l->cov.filter = n % 3 == 1 ? filters : NULL;
            if (n % 3 == 2) l->config.filter[1] = filters[1];
            l->cov.bitmap_size = sizes[n / 3];
            l->cov.bitmap = l->cov.bitmap_size ? l->map : NULL;
            if (k) l->cov.shared = &both.memo;
            else l->cov.memo = &both.memo;
            if (!k) CHECK_EQ(ipt_cov_memo_init(&both.memo, both.lines, 4),
                             IPT_OK);
            CHECK_EQ(ipt_cov_init(&l->decoder, &l->config, &l->cov, &nothing,
                                  NULL),
                     k && i % FORMULAS != i / FORMULAS ? IPT_ERR_CONFIG
                                                       : IPT_OK);
        }
    }
}

/* ---- the verdict says what is not whole ---- */

/* Cover `count` pieces to the end. Returns the errors. */
static int cover_pieces(loop *l, const ipt_segment *pieces, uint32_t count)
{
    const ipt_trace trace = {pieces, count, 0, 0};
    int errors = 0;
    int status = ipt_cov_begin(&l->decoder, &trace);
    CHECK_EQ(l->decoder.verdict, IPT_COV_UNFINISHED);
    memset(l->map, 0, sizeof l->map);
    while (status >= 0 && (status = ipt_cov_run(&l->decoder)) != IPT_END) {
        CHECK(l->decoder.verdict & IPT_COV_UNFINISHED);
        errors++;
        status = ipt_cov_resync(&l->decoder);
    }
    return errors;
}

static uint64_t decoded(const loop *l)
{
    return l->decoder.at.offset - l->decoder.begin;
}

/* Does a packet begin, or the trace end, at this offset? */
static int is_between(const uint8_t *bytes, size_t size, size_t offset)
{
    const ipt_segment piece = {bytes, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    static const ipt_config config;
    static ipt_pkt_decoder d;
    ipt_packet packet;
    int status = ipt_pkt_init(&d, &config, &trace);
    if (status >= 0) status = ipt_pkt_sync_forward(&d);
    while (status >= 0 && (status = ipt_pkt_next(&d, &packet)) >= 0)
        if (packet.offset == offset) return 1;
    return offset == size;
}

/* A run that ends anywhere, overflows, has a gap, or begins with something
 * else. */
TEST(verdicts)
{
    static uint8_t bytes[INPUT];
    static const uint8_t before[7] = {0};
    for (unsigned turn = 0; turn < 6; turn++) {
        seed = 500 + turn;
        write_program();
        loop_init(&kept, 0, 0, turn % 2 ? 64 : 0);
        const size_t size = write_run(bytes, turn % 3 ? 0 : IPT_GEN_TNT_64);
        ipt_segment pieces[3] = {{bytes, size}, {NULL, 0}, {NULL, 0}};
        CHECK(loop_run(&kept, bytes, size, 1));
        CHECK_EQ(decoded(&kept), size);
        const uint32_t all = kept.decoder.verdict; /* maybe an overflow */
        for (size_t cut = 16; cut < size; cut += cut < 60 ? 1 : 13) {
            const int between = is_between(bytes, size, cut);
            pieces[0].size = cut;
            CHECK_EQ(cover_pieces(&kept, pieces, 1), !between);
            CHECK_EQ(kept.decoder.verdict & ~all,
                     between ? 0 : IPT_COV_TRUNCATED);
            CHECK(between ? decoded(&kept) == cut : decoded(&kept) < cut);
        }
        /* in the gap are all bytes of the middle */
        pieces[0].size = size / 3;
        pieces[1].size = size / 3;
        pieces[2].data = bytes + size / 3 * 2;
        pieces[2].size = size - size / 3 * 2;
        (void) cover_pieces(&kept, pieces, 3);
        CHECK(kept.decoder.verdict & IPT_COV_GAP);
        CHECK(!(kept.decoder.verdict
                & (IPT_COV_UNFINISHED | IPT_COV_TRUNCATED | IPT_COV_NO_PAGE)));
        CHECK_EQ(decoded(&kept), size);
        pieces[0].data = before;
        pieces[0].size = sizeof before;
        pieces[1].data = bytes;
        pieces[1].size = size;
        CHECK_EQ(cover_pieces(&kept, pieces, 2), 0);
        CHECK_EQ(kept.decoder.verdict, all | IPT_COV_SKIPPED);
        CHECK_EQ(kept.decoder.begin, sizeof before);
        CHECK_EQ(decoded(&kept), size);
        CHECK_EQ(cover_pieces(&kept, pieces, 1), 0); /* no PSB */
        CHECK_EQ(kept.decoder.verdict, IPT_COV_SKIPPED);
        CHECK_EQ(decoded(&kept), 0);
        CHECK_EQ(cover_pieces(&kept, pieces, 0), 0); /* nothing at all */
        CHECK_EQ(kept.decoder.verdict, 0);
    }
}

TEST(overflows_and_errors)
{
    static uint8_t bytes[INPUT];
    unsigned overflows = 0;
    unsigned errors = 0;
    for (unsigned n = 0; n < 60; n++) {
        unsigned has = 0;
        seed = 600 + n;
        write_program();
        loop_init(&kept, 0, 0, 64);
        const size_t size = write_run(bytes, 0);
        for (size_t i = 16; i + 1 < size; i++)
            if (bytes[i] == 2 && bytes[i + 1] == 0xf3
                && is_between(bytes, size, i))
                has = IPT_COV_OVERFLOW;
        CHECK(loop_run(&kept, bytes, size, 1));
        CHECK_EQ(kept.decoder.verdict, has);
        overflows += has != 0;
        /* another program's: the verdict says so if it cannot be this one's */
        ran_edges(&want, 0, 0);
        edges_map(&want, 0, want_map, MAP_MAX);
        write_program();
        loop_init(&kept, 0, 0, 64);
        if (!loop_run(&kept, bytes, size, 1))
            CHECK_EQ(kept.decoder.verdict & ~(IPT_COV_OVERFLOW
                                              | IPT_COV_NO_PAGE),
                     IPT_COV_ERROR);
        errors += (kept.decoder.verdict & IPT_COV_ERROR) != 0;
    }
    CHECK(overflows > 10);
    CHECK(errors > 50);
}

/* A missing page is asked for; at each stop the outputs hold so far, and
 * with it they are whole. Given up, they are not, and the verdict says so. */
TEST(missing_page)
{
    static uint8_t bytes[INPUT];
    unsigned stops = 0;
    for (unsigned n = 0; n < 2 * BLOCKS; n++) {
        seed = 700 + n / 10;
        write_program();
        const size_t size = write_run(bytes, 0);
        const ipt_segment piece = {bytes, size};
        const ipt_trace trace = {&piece, 1, 0, 0};
        loop_init(&fresh, 0, 0, 0);
        CHECK(loop_run(&fresh, bytes, size, 1));
        the.missing = BASE + BLOCK * (uint64_t) (n % BLOCKS);
        loop_init(&kept, 0, 0, n % 2 ? 4096 : 0);
        CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov, &trace,
                              &kept.cache), IPT_OK);
        int status = ipt_cov_run(&kept.decoder);
        if (status == IPT_NEED_PAGE) {
            stops++;
            CHECK(kept.decoder.at.missing - the.missing < BLOCK);
            CHECK_EQ(kept.decoder.verdict & ~IPT_COV_OVERFLOW,
                     IPT_COV_UNFINISHED | IPT_COV_NO_PAGE);
            CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_NEED_PAGE);
            CHECK(decoded(&kept) < size);
            the.missing = 0;
            status = ipt_cov_run(&kept.decoder);
        }
        CHECK_EQ(status, IPT_END);
        CHECK(loop_same(&kept, &fresh));
        the.missing = BASE + BLOCK * (uint64_t) (n % BLOCKS);
        loop_init(&kept, 0, 0, n % 2 ? 4096 : 0);
        if (!loop_run(&kept, bytes, size, 1)) {
            CHECK(kept.decoder.verdict & IPT_COV_NO_PAGE);
            CHECK(!(kept.decoder.verdict & IPT_COV_UNFINISHED));
        } else {
            CHECK(loop_same(&kept, &fresh));
        }
        the.missing = 0;
    }
    CHECK(stops > BLOCKS);
}

/* ---- a warmed memo that several share ---- */

#define SHARERS 4
#define RUNS 40

static loop sharers[SHARERS];
static uint8_t runs[RUNS][INPUT];
static size_t run_sizes[RUNS];
static uint8_t run_maps[RUNS][MAP_MAX];

static void *share(void *context)
{
    loop *l = context;
    for (unsigned n = 0; n < RUNS; n++) {
        if (!loop_run(l, runs[n], run_sizes[n], n == 0)
            || memcmp(l->map, run_maps[n], MAP_MAX) != 0)
            return NULL;
    }
    return l;
}

TEST(shared)
{
    void *ok[SHARERS];
    seed = 7;
    write_program();
    loop_init(&kept, 0, 0, 4096);
    for (unsigned n = 0; n < RUNS; n++) {
        run_sizes[n] = write_run(runs[n], 0);
        CHECK(loop_run(&kept, runs[n], run_sizes[n], n == 0));
        memcpy(run_maps[n], kept.map, MAP_MAX);
        if (n == RUNS / 2) { /* it knows half of them */
            fresh.memo = kept.memo;
            memcpy(fresh.lines, kept.lines, sizeof fresh.lines);
            fresh.memo.lines_ = fresh.lines;
        }
    }
    for (unsigned i = 0; i < SHARERS; i++) {
        loop_init(&sharers[i], 0, 0, 16);
        sharers[i].cov.shared = &fresh.memo;
    }
#ifdef COV_THREADS
    pthread_t threads[SHARERS];
    for (unsigned i = 0; i < SHARERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, share, &sharers[i]), 0);
    for (unsigned i = 0; i < SHARERS; i++)
        CHECK_EQ(pthread_join(threads[i], &ok[i]), 0);
#else
    for (unsigned i = 0; i < SHARERS; i++) ok[i] = share(&sharers[i]);
#endif
    for (unsigned i = 0; i < SHARERS; i++) CHECK(ok[i] != NULL);
    sharers[0].config.flags = IPT_CONFIG_NO_RETCOMP; /* filled without */
    CHECK(!loop_run(&sharers[0], runs[0], run_sizes[0], 1));
}

/* ---- code that changes ---- */

/* A decoder that keeps nothing has nothing to forget. */
TEST(nothing_to_forget)
{
    static uint8_t bytes[INPUT];
    seed = 3;
    write_program();
    const size_t size = write_run(bytes, 0);
    loop_init(&fresh, 0, 0, 0);
    fresh.bare = 1;
    for (unsigned n = 0; n < 2; n++) {
        CHECK(loop_run(&fresh, bytes, size, n == 0));
        CHECK(loop_is_true(&fresh));
        CHECK_EQ(ipt_cov_invalidate(&fresh.decoder, NULL, 0, 0), IPT_OK);
    }
}

/* What was learned of a range is forgotten with it, and nothing else is. */
TEST(invalidate)
{
    static uint8_t bytes[INPUT];
    for (unsigned n = 0; n < 40; n++) {
        const unsigned changes = n % BLOCKS;
        seed = 100 + n / 8;
        write_program();
        seed += n;
        if (n % 8 == 0) loop_init(&kept, 0, 0, 4096);
        if (n % 8) { /* another target, or no branch at all */
            if (kinds[changes] == IPT_INSN_JCC) {
                targets[changes] = dice(BLOCKS);
                aim_at(&program[BLOCK * changes + 2],
                       BASE + BLOCK * changes + 6, targets[changes]);
            }
            CHECK_EQ(ipt_cov_invalidate(&kept.decoder, NULL, BASE,
                                        sizeof program), IPT_OK);
        }
        const size_t size = write_run(bytes, 0);
        loop_init(&fresh, 0, 0, 0);
        CHECK(loop_run(&fresh, bytes, size, 1));
        for (int k = 0; k < 3; k++) {
            (void) loop_run(&kept, bytes, size, n % 8 == 0 && k == 0);
            if (!CHECK(loop_same(&kept, &fresh))) return;
        }
    }
}

/* ---- runs that cannot begin, or go on ---- */

/* After a _begin that failed there is no run, until one succeeds. */
TEST(R8_begin_fails)
{
    static uint8_t bytes[INPUT];
    seed = 8;
    write_program();
    const size_t size = write_run(bytes, 0);
    const ipt_segment piece = {bytes, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    for (int how = 0; how < 5; how++) {
        loop_init(&kept, 0, 0, 64);
        CHECK(loop_run(&kept, bytes, size, 1));
        if (how == 0) kept.config.mtc_freq = 99;
        if (how == 1) kept.cov.bitmap_size = 0;
        if (how == 2) kept.cov.flags = 0x80;
        if (how == 3) kept.memo.magic_ = 0;
        CHECK(ipt_cov_begin(&kept.decoder, how == 4 ? NULL : &trace) < 0);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_ERR_STATE);
        CHECK_EQ(kept.decoder.at.error, IPT_ERR_STATE);
        CHECK_EQ(ipt_cov_resync(&kept.decoder), IPT_ERR_STATE);
        CHECK_EQ(ipt_cov_invalidate(&kept.decoder, NULL, 0, 0), IPT_OK);
        kept.config.mtc_freq = 0;
        kept.cov.bitmap_size = MAP_MAX;
        kept.cov.flags = 0;
        (void) ipt_cov_memo_init(&kept.memo, kept.lines, 64);
        CHECK(loop_run(&kept, bytes, size, 0));
        CHECK(loop_is_true(&kept));
    }
}

/* A decoder with a smaller bitmap takes the memo: the one before does not count
 * into its own bitmap what lines of the other say. */
TEST(R11_two_sizes)
{
    static uint8_t bytes[INPUT];
    seed = 11;
    write_program();
    const size_t size = write_run(bytes, 0);
    ipt_segment piece[2] = {{bytes, size / 2}, {bytes, size}};
    ipt_trace trace[2] = {{&piece[0], 1, 1, 0}, {&piece[1], 1, 0, 0}};
    for (int shared = 0; shared < 2; shared++) {
        loop_init(&kept, 0, 0, 4096);
        loop_init(&tiny, 0, 0, 64);
        tiny.cov.bitmap_size = 64;
        tiny.cov.memo = &kept.memo;
        if (shared) {
            loop_init(&both, 0, 0, 4096);
            CHECK(loop_run(&both, bytes, size, 1));
            kept.cov.shared = &both.memo;
            tiny.cov.memo = &both.memo;
        }
        piece[0].size = size / 2;
        trace[0].open = 1;
        CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov, &trace[0],
                              &kept.cache), IPT_OK);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_MORE);
        CHECK_EQ(ipt_cov_init(&tiny.decoder, &tiny.config, &tiny.cov, &trace[1],
                              &tiny.cache), IPT_OK);
        piece[0].size = size;
        trace[0].open = 0;
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_ERR_CONFIG);
        CHECK_EQ(ipt_cov_resync(&kept.decoder), IPT_ERR_CONFIG);
        CHECK_EQ(kept.decoder.at.error, IPT_ERR_CONFIG);
        CHECK_EQ(ipt_cov_run(&tiny.decoder), IPT_END);
        for (size_t i = 64; i < MAP_MAX; i++) CHECK_EQ(tiny.map[i], 0);
        if (shared) continue;
        CHECK(loop_run(&kept, bytes, size, 0));
        CHECK(loop_is_true(&kept));
        CHECK_EQ(ipt_cov_run(&tiny.decoder), IPT_ERR_CONFIG);
    }
}

/* ---- hand-made traces of two conditional branches ---- */

static const char spaces_code[] = NOP JCC0 JCC0 JMP_RAX;

static int spaces_alternate;

/* At 1000 there is the NOP only in spaces that come after 65,535 others; or in
 * each second one. */
static int spaces_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    const uint64_t n = asid->cr3 >> 12;
    const int early = spaces_alternate ? n % 2 : n <= 65535;
    const uint64_t first = early ? 0xfff : 0x1000;
    (void) context;
    return range_read(buffer, size, ip, first, spaces_code,
                      sizeof spaces_code - 1);
}

#define SPACES 65735 /* 200 more than a memo has, four times a cache */
#define SPACE_BYTES 64

/* A visit to each of `count` spaces, where nothing but the CR3 changes. */
static size_t spaces_trace(uint8_t *out, unsigned count,
                           const ipt_packet *tnt)
{
    static const ipt_packet head[] = {PSB, EXEC64, PSBEND, PKT(NONE)};
    size_t n;
    build_all(&b, head, LENGTH(head));
    memcpy(out, b.bytes, b.size);
    n = b.size;
    for (unsigned i = 0; i < count; i++) {
        const ipt_packet visit[] = {PIP(((uint64_t) i + 1) << 12, 0),
                                    PGE(0x1000), *tnt, TIP(0x1000), *tnt,
                                    TIP(0x1000), *tnt, PGD(0x5000)};
        for (unsigned k = 0; k < LENGTH(visit); k++)
            n += (size_t) ipt_pkt_encode(out + n, 16, &visit[k]);
    }
    return n;
}

/* Code at 1000 that is another in each of two address spaces, and may change. */
#define HAND_CR3 0x7000u
static uint8_t hand_code[2][16];

static int hand_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint8_t *code = hand_code[asid->cr3 == HAND_CR3];
    (void) context;
    return range_read(buffer, size, ip, 0x1000, code, sizeof hand_code[0]);
}

/* A conditional branch to `to`, where a JMP_RAX stands, as elsewhere. */
static void hand_write(int space, uint8_t to)
{
    for (unsigned i = 0; i < 16; i += 2)
        memcpy(&hand_code[space][i], JMP_RAX, 2);
    hand_code[space][0] = 0x75;
    hand_code[space][1] = (uint8_t) (to - 2);
}

/* `rounds` of a taken branch and a jump back, after a PSB+ of space `cr3`. */
static size_t hand_trace(uint8_t *out, uint64_t cr3, unsigned rounds)
{
    const ipt_packet some[] = {PSB, PIP(cr3, 0), EXEC64, FUP(0x1000), PSBEND,
                               TNT(1, 1), TIP(0x1000)};
    size_t n = 0;
    for (unsigned i = 0; i < 5; i++)
        n += (size_t) ipt_pkt_encode(out + n, 16, &some[i]);
    for (unsigned i = 0; i < 2 * rounds; i++)
        n += (size_t) ipt_pkt_encode(out + n, 16, &some[5 + i % 2]);
    return n;
}

static uint8_t hand_slot(uint64_t from, uint64_t to)
{
    edge e = {.from = from, .to = to, .kind = IPT_INSN_JCC};
    edge_list one = {0};
    one.edges = &e;
    one.count = 1;
    edges_map(&one, 0, want_map, MAP_MAX);
    for (size_t i = 0; i < MAP_MAX; i++)
        if (want_map[i]) return kept.map[i];
    return 0;
}

static void hand_init(loop *l, const ipt_trace *trace)
{
    l->config.read = hand_read;
    CHECK_EQ(ipt_cov_init(&l->decoder, &l->config, &l->cov, trace,
                          l->bare ? NULL : &l->cache), IPT_OK);
}

/* Code changes in the middle of a run: neither its memo nor the one that it
 * shares is asked for what it was. */
TEST(mutants_code_changes_in_a_run)
{
    static uint8_t bytes[TRACE_BYTES];
    for (int how = 0; how < 6; how++) { /* a memo, shared, by the cache */
        const size_t size = hand_trace(bytes, HAND_CR3, 100);
        ipt_segment piece = {bytes, size};
        ipt_trace trace = {&piece, 1, 0, 0};
        hand_write(1, 4);
        loop_init(&both, 0, 0, 64);
        hand_init(&both, &trace);
        CHECK_EQ(ipt_cov_run(&both.decoder), IPT_END);
        loop_init(&kept, 0, 0, 64);
        if (how & 1) kept.cov.shared = &both.memo;
        kept.bare = how >= 4; /* there is no cache */
        trace.open = 1;
        piece.size = size / 2;
        hand_init(&kept, &trace);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_MORE);
        const unsigned before = hand_slot(0x1000, 0x1004);
        CHECK(before > 30);
        hand_write(1, 8);
        if (how & 2)
            CHECK_EQ(ipt_cache_invalidate(&kept.cache, NULL, 0x1000, 16),
                     IPT_OK);
        else CHECK_EQ(ipt_cov_invalidate(&kept.decoder, NULL, 0x1000, 16),
                      IPT_OK);
        piece.size = size;
        trace.open = 0;
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK(hand_slot(0x1000, 0x1004) <= before + 1); /* one in flight */
        CHECK_EQ(hand_slot(0x1000, 0x1004) + hand_slot(0x1000, 0x1008), 100);
    }
}

/* A page of which no code is known leaves the memo as it is. One that is known
 * to a shared memo alone does not: the cache never saw it. */
TEST(pages_without_code)
{
    static uint8_t bytes[TRACE_BYTES];
    const size_t size = hand_trace(bytes, HAND_CR3, 100);
    ipt_segment piece = {bytes, size};
    ipt_trace trace = {&piece, 1, 0, 0};
    uint64_t epoch = 0;
    hand_write(1, 4);
    loop_init(&both, 0, 0, 64);
    for (int n = 0; n < 5; n++) { /* the first ever may be of any page */
        hand_init(&both, &trace);
        CHECK_EQ(ipt_cov_run(&both.decoder), IPT_END);
        if (n == 2 || n == 3) CHECK_EQ(both.memo.epoch_, epoch);
        if (n == 4) CHECK(both.memo.epoch_ != epoch);
        epoch = both.memo.epoch_;
        CHECK_EQ(ipt_cov_invalidate(&both.decoder, NULL,
                                    n == 3 ? 0x1000 : 0x4000, 4096), IPT_OK);
    }
    loop_init(&kept, 0, 0, 64);
    kept.cov.shared = &both.memo;
    hand_init(&kept, &trace);
    CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
    CHECK_EQ(kept.decoder.misses, 0); /* all is known */
    for (int n = 0; n < 3; n++) {
        const uint32_t version = kept.cache.version_;
        CHECK_EQ(ipt_cov_begin(&kept.decoder, &trace), IPT_OK);
        CHECK_EQ(ipt_cov_invalidate(&kept.decoder, NULL, 0x1000, 4096), IPT_OK);
        CHECK(kept.cache.version_ != version);
    }
    /* the same memo, and another cache as old as that one */
    kept.cov.shared = NULL;
    kept.cov.memo = &both.memo;
    kept.cache.version_ = both.cache.version_;
    hand_init(&both, &trace);
    CHECK_EQ(ipt_cov_run(&both.decoder), IPT_END);
    hand_write(1, 8);
    hand_init(&kept, &trace);
    CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
    CHECK_EQ(hand_slot(0x1000, 0x1008), 100);
}

/* The cache is initialised again, and again as young as it was: the memo stays,
 * but what it knows is of code from before. */
TEST(cache_made_anew)
{
    static uint8_t bytes[TRACE_BYTES];
    const size_t size = hand_trace(bytes, HAND_CR3, 100);
    ipt_segment piece = {bytes, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    loop_init(&kept, 0, 0, 64);
    for (int n = 0; n < 6; n++) {
        hand_write(1, n % 2 ? 8 : 4);
        CHECK_EQ(ipt_cache_init(&kept.cache, kept.code, LENGTH(kept.code)),
                 IPT_OK);
        memset(kept.map, 0, sizeof kept.map);
        hand_init(&kept, &trace);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK_EQ(hand_slot(0x1000, 0x1004), n % 2 ? 0 : 100);
        CHECK_EQ(hand_slot(0x1000, 0x1008), n % 2 ? 100 : 0);
    }
}

/* A decoder is in a space while another one uses up the numbers of spaces, of
 * the code cache or of the memo: none is given to two spaces. */
TEST(mutants_numbers_begin_anew)
{
    static uint8_t bytes[TRACE_BYTES];
    uint8_t *far_ = malloc(SPACES * SPACE_BYTES);
    const size_t size = hand_trace(bytes, HAND_CR3, 100);
    ipt_segment piece = {bytes, size / 2};
    ipt_trace trace = {&piece, 1, 1, 0};
    if (!CHECK(far_ != NULL)) return;
    static const ipt_packet taken = TNT(1, 1);
    for (int how = 0; how < 4; how++) {
        const int memo_ = how == 1; /* 2: of the cache, and has a memo */
        /* a cache has 16,383: the decoder's is that of one of the last */
        const ipt_segment visits
            = {far_, spaces_trace(far_, memo_ ? SPACES : 16382 + 3, &taken)};
        const ipt_trace others = {&visits, 1, 0, 0};
        hand_write(1, 4);
        hand_write(0, 8);
        loop_init(&kept, 0, 0, memo_ || how == 2 ? 4096 : 0);
        kept.bare = memo_;
        loop_init(&both, 0, 0, 0);
        piece.size = size / 2;
        trace.open = 1;
        hand_init(&kept, &trace);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_MORE);
        if (how == 3) /* and code is forgotten before */
            CHECK_EQ(ipt_cache_invalidate(&kept.cache, NULL, 0x1000, 1),
                     IPT_OK);
        /* the other one has the same code cache and memo */
        both.config.read = hand_read;
        both.cov.memo = memo_ ? kept.cov.memo : NULL;
        CHECK_EQ(ipt_cov_init(&both.decoder, &both.config, &both.cov, &others,
                              memo_ ? NULL : &kept.cache), IPT_OK);
        CHECK_EQ(ipt_cov_run(&both.decoder), IPT_END);
        piece.size = size;
        trace.open = 0;
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK_EQ(hand_slot(0x1000, 0x1004), 100);
        CHECK_EQ(hand_slot(0x1000, 0x1008), 0);
    }
    free(far_);
}

/* After a gap the address space is not known, and code is that of none. */
TEST(mutants_gap_forgets_the_space)
{
    static uint8_t bytes[TRACE_BYTES];
    static ipt_cache_line some[64];
    static const ipt_packet again[] = {PSB, EXEC64, FUP(0x1000), PSBEND,
                                       TNT(1, 1), TIP(0x1000), TNT(1, 1)};
    ipt_config config = {0};
    ipt_cache code;
    size_t size = hand_trace(bytes, HAND_CR3, 3);
    const size_t first = size;
    for (unsigned i = 0; i < LENGTH(again); i++)
        size += (size_t) ipt_pkt_encode(bytes + size, 16, &again[i]);
    const ipt_segment pieces[] = {{bytes, first}, {NULL, 5},
                                  {bytes + first, size - first}};
    const ipt_trace trace = {pieces, 3, 0, 0};
    hand_write(1, 4);
    hand_write(0, 8);
    config.read = hand_read;
    for (int cached = 0; cached < 2; cached++) {
        edge_list l;
        CHECK_EQ(ipt_cache_init(&code, some, LENGTH(some)), IPT_OK);
        edges_by_insn(&l, &config, &trace, cached ? &code : NULL, NULL);
        CHECK_EQ(l.status, IPT_END);
        unsigned there = 0;
        for (size_t i = 0; i < l.count; i++)
            there += l.edges[i].from == 0x1000 && l.edges[i].to == 0x1008;
        CHECK_EQ(there, 2);
        edge_clear(&l);
    }
}

/* The address space changes while tracing is disabled: what is learned then is
 * the code of the new one, though the cache has that of the old one, where all
 * up to there is known, and so has a memo that is shared. */
TEST(mutants_space_of_what_is_learned)
{
    static uint8_t bytes[TRACE_BYTES], first[TRACE_BYTES];
    static const ipt_packet other[] = {TNT(1, 1), PGD(0x5000), PGE(0x1000),
                                       TNT(1, 1), TIP(0x1006), TIP(0x1000),
                                       TNT(1, 1), PGD(0x5000), PIP(0x9000, 0),
                                       PGE(0x1000), PKT(NONE)},
                            back[] = {TNT(1, 1), TIP(0x1000)};
    size_t size = hand_trace(bytes, HAND_CR3, 3);
    build_all(&b, other, LENGTH(other));
    memcpy(bytes + size, b.bytes, b.size);
    size += b.size;
    for (unsigned i = 0; i < 8; i++)
        size += (size_t) ipt_pkt_encode(bytes + size, 16, &back[i % 2]);
    memset(bytes + size, 0, 64);
    ipt_segment piece = {bytes, size + 64};
    const ipt_trace trace = {&piece, 1, 0, 0};
    hand_write(1, 4);
    hand_write(0, 8);
    loop_init(&both, 0, 0, 64); /* knows the first space alone */
    piece.size = hand_trace(first, HAND_CR3, 50);
    piece.data = first;
    hand_init(&both, &trace);
    CHECK_EQ(ipt_cov_run(&both.decoder), IPT_END);
    piece.data = bytes;
    piece.size = size + 64;
    for (int shared = 0; shared < 2; shared++) {
        loop_init(&kept, 0, 0, 64);
        kept.cov.shared = shared ? &both.memo : NULL;
        hand_init(&kept, &trace);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK_EQ(hand_slot(0x1000, 0x1004), 6);
        CHECK_EQ(hand_slot(0x1000, 0x1008), 4);
    }
}

/* A PSB+ says that flow is in another space, in the middle of a block: a trace
 * that contradicts itself. What began in the one space is not walked again in
 * the other, where it has another branch. */
TEST(space_within_a_block)
{
    static const ipt_packet packets[]
        = {PSB, PIP(HAND_CR3, 0), EXEC64, FUP(0x1000), PSBEND,
           PSB, PIP(0x9000, 0), EXEC64, FUP(0x1004), PSBEND, TNT(1, 1),
           TIP(0x1006), TNT(1, 1), TIP(0x1006), TNT(1, 1), PADS(60),
           PKT(NONE)};
    static const uint8_t nops[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    build_all(&b, packets, LENGTH(packets));
    const ipt_segment piece = {b.bytes, b.size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    hand_write(1, 4);
    memcpy(hand_code[1], nops, sizeof nops);
    hand_write(0, 8);
    memcpy(&hand_code[0][4], nops, 2);
    memcpy(&hand_code[0][6], "\x75\x02", 2); /* and a JMP_RAX at 100a */
    for (int memo_ = 0; memo_ < 2; memo_++) {
        loop_init(&kept, 0, 0, memo_ ? 64 : 0);
        CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
        kept.cov.seen = &seen;
        hand_init(&kept, &trace);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK_EQ(hand_slot(0x1006, 0x100a), 3);
        CHECK_EQ(hand_slot(0x1000, 0x1008), 0);
    }
}

/* Between two runs the memo is made again, and with it its numbers of spaces:
 * the decoder does not go on with the one it had. */
TEST(mutants_memo_made_anew)
{
    static uint8_t bytes[TRACE_BYTES];
    static const ipt_packet other[] = {TNT(1, 1), PGD(0x5000), PIP(0x9000, 0),
                                       PGE(0x1000), PKT(NONE)},
                            back[] = {TNT(1, 1), TIP(0x1000)};
    const size_t first = hand_trace(bytes, HAND_CR3, 4);
    size_t size = first;
    build_all(&b, other, LENGTH(other));
    memcpy(bytes + size, b.bytes, b.size);
    size += b.size;
    for (unsigned i = 0; i < 8; i++)
        size += (size_t) ipt_pkt_encode(bytes + size, 16, &back[i % 2]);
    memset(bytes + size, 0, 64);
    ipt_segment piece = {bytes, first};
    const ipt_trace trace = {&piece, 1, 0, 0};
    hand_write(1, 4);
    hand_write(0, 8);
    loop_init(&kept, 0, 0, 64);
    kept.bare = 1;
    hand_init(&kept, &trace);
    CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
    CHECK_EQ(ipt_cov_memo_init(&kept.memo, kept.lines, 64), IPT_OK);
    memset(kept.map, 0, sizeof kept.map);
    piece.size = size + 64;
    CHECK_EQ(ipt_cov_begin(&kept.decoder, &trace), IPT_OK);
    CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
    CHECK_EQ(hand_slot(0x1000, 0x1004), 5);
    CHECK_EQ(hand_slot(0x1000, 0x1008), 4);
}

/* What the memo knows costs a unit of fuel for 16 bytes of trace: no call goes
 * much further than its fuel, none after the end, and nothing is walked. */
TEST(fuel_of_what_is_known)
{
    enum { ROUNDS = 3000, UNITS = 500 };
    static uint8_t bytes[ROUNDS * 4 + 64];
    static const size_t ahead[] = {UNITS, UNITS * 15 + 100, UNITS * 16 - 8,
                                   UNITS * 16 + 40, UNITS * 17 - 250};
    static const ipt_packet some[] = {TNT(1, 1), IP_(TIP, 1, 0x1000)};
    const size_t begin = hand_trace(bytes, HAND_CR3, 1);
    size_t size = begin;
    uint64_t units = 0;
    for (unsigned i = 0; i < 2 * ROUNDS - 2; i++)
        size += (size_t) ipt_pkt_encode(bytes + size, 16, &some[i % 2]);
    if (!CHECK(size > ahead[LENGTH(ahead) - 1] + 1000)) return;
    hand_write(1, 4);
    loop_init(&kept, 0, 0, 64);
    for (unsigned i = 0; i < LENGTH(ahead); i++) {
        ipt_segment piece = {bytes, begin + 100};
        ipt_trace trace = {&piece, 1, 1, 0};
        kept.config.fuel = NULL;
        hand_init(&kept, &trace);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_MORE);
        const uint64_t from = kept.decoder.at.offset;
        piece.size = (size_t) from + ahead[i];
        kept.config.fuel = &units;
        units = UNITS;
        const int status = ipt_cov_run(&kept.decoder);
        const uint64_t passed = kept.decoder.at.offset - from;
        CHECK(status == IPT_BUDGET || status == IPT_MORE);
        CHECK(passed <= ahead[i]);
        CHECK(passed <= UNITS * 16 + 32);
        CHECK(passed + 64 >= (ahead[i] < UNITS * 16 ? ahead[i] : UNITS * 16));
    }
}

static void legs_begin(loop *l, size_t count)
{
    memset(b.bytes + b.size, 0, 64); /* PAD: what is last is walked */
    loop_init(l, 0, 0, count);
    l->config.read = spaces_read;
}

/* The kernel of all, from 8000 on, jumps to code that each process has for
 * itself: the second one begins with a NOP. */
static int kernel_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    static const uint8_t kernel[] = JCC0 "\xe9\xf9\x8f\xff\xff" /* to 1000 */,
                         user[] = NOP JCC0 JMP_RAX;
    const unsigned skip = asid->cr3 == 0x5000;
    (void) context;
    if (ip >> 12 == 8)
        return range_read(buffer, size, ip, 0x8000, kernel, sizeof kernel - 1);
    return range_read(buffer, size, ip, 0x1000, user + skip,
                      sizeof user - 1 - skip);
}

static uint64_t kernel_at(const ipt_asid *asid, uint64_t ip, uint64_t *first,
                          uint64_t *last, void *context)
{
    const int kernel = ip >= 0x8000;
    (void) context;
    *first = kernel ? 0x8000 : 0;
    *last = kernel ? UINT64_MAX : 0x7fff;
    return kernel ? 1 : asid->cr3;
}

TEST(kernel_is_shared)
{
    static const ipt_packet some[] = {
        PSB, PIP(0x5000, 0), EXEC64, FUP(0x8000), PSBEND, TNT(2, 0),
        TIP(0x8000), TNT(2, 2), PGD(0x5000), PIP(0x9000, 0),
        PGE(0x8000), TNT(2, 0), TIP(0x8000), TNT(2, 2), TIP(0x8000)};
    build_all(&b, some, LENGTH(some));
    loop_init(&fresh, 0, 0, 0);
    fresh.bare = 1;
    fresh.config.read = kernel_read;
    legs_begin(&kept, 64);
    kept.config.read = kernel_read;
    kept.config.space_at = kernel_at;
    CHECK(loop_run(&fresh, b.bytes, b.size + 64, 1));
    for (unsigned n = 0; n < 3; n++) {
        CHECK(loop_run(&kept, b.bytes, b.size + 64, n == 0));
        CHECK(loop_same(&kept, &fresh));
    }
}

static unsigned spaces_asked;

static uint64_t counted_space(const ipt_asid *asid, void *context)
{
    (void) context;
    spaces_asked++;
    return asid->cr3;
}

/* config.space is asked once for each change of the address space. */
TEST(spaces_are_asked_once)
{
    static uint8_t bytes[TRACE_BYTES];
    const size_t size = hand_trace(bytes, HAND_CR3, 400);
    hand_write(1, 4);
    loop_init(&kept, 0, 0, 64);
    kept.config.read = hand_read;
    kept.config.space = counted_space;
    kept.bare = 1;
    kept.most = 3;
    for (unsigned i = 0; i < 3; i++) {
        spaces_asked = 0;
        CHECK(loop_run(&kept, bytes, size, i == 0));
        CHECK_EQ(spaces_asked, 1);
    }
}

/* A PSB+ that ends nowhere, or with what is not a packet, says nothing yet: in
 * at stands what the walk alone has found. */
TEST(R7_broken_psb)
{
    static const ipt_packet packets[]
        = {ON, TNT(1, 0), TNT(1, 0), PGD(0x5000), PSB, PIP(0xabc000, 0),
           VMCS(0x7000), PSBEND, PADS(32), PKT(NONE)};
    static uint8_t bytes[TRACE_BYTES];
    build_all(&b, packets, LENGTH(packets));
    for (size_t cut = b.offset[7]; cut <= b.offset[10] + 2; cut++)
        for (int broken = 0; broken < 2; broken++) {
            ipt_segment piece = {bytes, broken ? b.size : cut};
            const ipt_trace trace = {&piece, 1, 0, 0};
            ipt_where at[2];
            memcpy(bytes, b.bytes, b.size);
            bytes[cut] = 0x05;
            for (int k = 0; k < 2; k++) {
                loop_init(&kept, 0, 0, k ? 64 : 0);
                kept.config.read = spaces_read;
                CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov,
                                      &trace, &kept.cache), IPT_OK);
                (void) ipt_cov_run(&kept.decoder);
                at[k] = kept.decoder.at;
            }
            CHECK_EQ(at[1].asid.cr3, at[0].asid.cr3);
            CHECK_EQ(at[1].asid.vmcs, at[0].asid.vmcs);
            CHECK_EQ(at[1].offset, at[0].offset);
            CHECK_EQ(at[1].error, at[0].error);
        }
}

/* Where a run without a PSB stands in the end is not a matter of pieces, fuel or
 * how the trace grew. */
TEST(R9_nowhere_to_begin)
{
    static const uint8_t zeros[64] = {0};
    ipt_segment pieces[64];
    for (int open = 0; open < 2; open++)
        for (uint64_t unit = 0; unit < 3; unit++)
            for (size_t part = 1; part <= 64; part += 21) {
                ipt_trace trace = {pieces, 0, (uint8_t) open, 100};
                uint64_t fuel = 0;
                int status;
                for (size_t i = 0; i < 64; i += part) {
                    pieces[trace.count].data = zeros + i;
                    pieces[trace.count++].size = 64 - i < part ? 64 - i : part;
                }
                loop_init(&kept, 0, 0, 64);
                kept.config.fuel = unit ? &fuel : NULL;
                CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov,
                                      &trace, &kept.cache), IPT_OK);
                while ((status = ipt_cov_run(&kept.decoder)) != IPT_END) {
                    CHECK(status == IPT_BUDGET || status == IPT_MORE);
                    if (status == IPT_MORE) trace.open = 0;
                    fuel = unit;
                }
                CHECK_EQ(kept.decoder.begin, 164);
                CHECK_EQ(kept.decoder.at.offset, 164);
                CHECK_EQ(kept.decoder.verdict, IPT_COV_SKIPPED);
            }
}

/* ---- where a PSB+ is missing, or says no mode ---- */

static const chunk start_code[] = {CODE(0x1000, JCC0 JMP_RAX),
                                   CODE(0x5000, JCC0 JMP_RAX),
                                   CODE(0x6000, JCC0 JCC0), {0}};
#define START_FLOW TNT(1, 1), TIP(0x5000), TNT(1, 0), TIP(0x6000), TNT(1, 1)

/* Begun at the packet after a PSB+, with what that says: the same run. */
TEST(C2_start)
{
    static const ipt_packet packets[] = {ON, START_FLOW, {0}};
    ipt_start from = {0};
    uint64_t hash = 0;
    build_all(&b, packets, PACKETS_MAX);
    insn_decode(start_code, 0, &want);
    CHECK(want.count > 3);
    from.offset = b.offset[4];
    from.ip = 0x1000;
    from.enabled = 1;
    for (int turn = 0; turn < 12; turn++) {
        manner how = manner_of(WHOLE, turn & 1 ? TINY_CACHE : NO_CACHE, 0, 0);
        ipt_cov_config cov = {0};
        ipt_cov_decoder *d = &decoders[0];
        from.mode = IPT_MODE_64;
        if (turn / 4 == 1) from.mode = IPT_MODE_UNKNOWN;
        assumed_mode = IPT_MODE_UNKNOWN;
        if (turn / 4 == 1) assumed_mode = IPT_MODE_64;
        if (turn / 4 == 2) assumed_mode = IPT_MODE_16;
        cov_feed(&how, start_code, 0);
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, 64), IPT_OK);
        cov.flags = IPT_COV_INDIRECT | IPT_COV_HASH;
        if (turn & 2)
            cov.memo = &memo;
        else
            cov.edge = list_edge;
        cov.context = &got;
        CHECK_EQ(ipt_cov_init(d, &f.config, &cov, &f.trace,
                              how.cache ? &cache : NULL), IPT_OK);
        for (int again = 0; again < 3; again++) {
            got.count = 0;
            CHECK_EQ(ipt_cov_start(d, &from), IPT_OK);
            CHECK_EQ(d->begin, from.offset);
            CHECK_EQ(d->at.mode, IPT_MODE_64);
            CHECK_EQ(ipt_cov_run(d), IPT_END);
            CHECK_EQ(d->verdict, 0);
            CHECK_EQ(d->at.valid & IPT_AT_SYNC, 0);
            CHECK(d->hash);
            if (hash) CHECK_EQ(d->hash, hash);
            hash = d->hash;
            if (!cov.memo) CHECK(edges_same(&want, &got));
            CHECK_EQ(ipt_cov_begin(d, &f.trace), IPT_OK);
        }
        from.mode = f.config.mode = IPT_MODE_UNKNOWN;
        CHECK_EQ(ipt_cov_start(d, &from), IPT_OK);
        CHECK_EQ(ipt_cov_run(d), IPT_ERR_MODE);
        CHECK_EQ(d->at.mode, IPT_MODE_UNKNOWN);
        CHECK_EQ(ipt_cov_start(d, NULL), IPT_ERR_ARG);
        CHECK_EQ(ipt_cov_start(NULL, &from), IPT_ERR_ARG);
        feed_end(&f);
    }
    assumed_mode = 0;
}

/* A run begun without a PSB, and an error that only a PSB helps against, before
 * the first one or after it: `begin` and verdict are as they were, and what
 * passed a PSB+ says so, memo or not. */
TEST(C2_start_and_an_error)
{
    static const ipt_packet leg[] = {TNT(2, 2), TIP(0x1000)},
                            psb[] = {PSB, FUP(0x1000), PSBEND};
    ipt_start from = {0};
    from.ip = 0x1000;
    from.mode = IPT_MODE_64;
    from.enabled = 1;
    for (int way = 0; way < 4; way++) {
        ipt_where at[2];
        for (int memo_ = 0; memo_ < 2; memo_++) {
            build_all(&b, leg, LENGTH(leg));
            for (int part = 0; part < 4; part++) {
                if (part == 3) { /* there is no such packet */
                    b.bytes[b.size++] = 0x02;
                    b.bytes[b.size++] = 0xff;
                    build_put(&b, &leg[0]); /* is lost */
                }
                if (part == 3 || part & way)
                    for (size_t i = 0; i < LENGTH(psb); i++)
                        build_put(&b, &psb[i]);
                for (size_t i = 0; i < 20 * LENGTH(leg); i++)
                    build_put(&b, &leg[i % LENGTH(leg)]);
            }
            const ipt_segment piece = {b.bytes, b.size};
            const ipt_trace trace = {&piece, 1, 0, 0};
            loop_init(&kept, 0, 0, memo_ ? 64 : 0);
            kept.config.read = spaces_read;
            kept.config.mode = IPT_MODE_64;
            CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov,
                                  &trace, NULL), IPT_OK);
            CHECK_EQ(ipt_cov_start(&kept.decoder, &from), IPT_OK);
            CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_ERR_OPCODE);
            CHECK_EQ(kept.decoder.at.valid & IPT_AT_SYNC,
                     way ? IPT_AT_SYNC : 0);
            CHECK_EQ(ipt_cov_resync(&kept.decoder), IPT_OK);
            CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
            CHECK_EQ(kept.decoder.verdict, IPT_COV_ERROR);
            CHECK_EQ(kept.decoder.begin, 0);
            CHECK_EQ(kept.decoder.misses + kept.decoder.hits > 0, memo_);
            at[memo_] = kept.decoder.at;
        }
        CHECK(ends_same(&at[0], &at[1]));
    }
}

/* A PSB+ without MODE.Exec: with a mode assumed, the run of one that has it,
 * and a MODE.Exec that says otherwise later is not a contradiction. */
TEST(C2_assumed_mode)
{
    static const ipt_packet whole[] = {
        ON, START_FLOW, PSB, EXEC64, FUP(0x6002), PSBEND, TNT(1, 1), {0}};
    static const ipt_packet less[] = {
        PSB, FUP(0x1000), PSBEND, START_FLOW, PSB, EXEC64, FUP(0x6002), PSBEND,
        TNT(1, 1), {0}};
    static const uint8_t modes[] = {IPT_MODE_64, IPT_MODE_32};
    edge_list full = {0};
    build_all(&b, whole, PACKETS_MAX);
    insn_decode(start_code, 0, &full);
    build_all(&b, less, PACKETS_MAX);
    for (size_t i = 0; i < LENGTH(modes); i++) {
        assumed_mode = modes[i];
        insn_decode(start_code, 0, &want);
        CHECK_EQ(want.errors, 0);
        CHECK(edges_same(&full, &want));
        check_coverage("assumed", start_code, 0);
    }
    assumed_mode = 0;
    insn_decode(start_code, 0, &want);
    CHECK(want.errors > 0 || want.count < full.count);
    cov_feed(&(manner){0}, start_code, 0);
    f.config.mode = IPT_MODE_COUNT;
    CHECK_EQ(ipt_cov_init(&decoders[0], &f.config, &(ipt_cov_config){0},
                          &f.trace, NULL), IPT_ERR_CONFIG);
    edge_clear(&full);
    feed_end(&f);
}

/* A line goes where one is free, if only one of its set is: two legs, the half
 * of a leg that the walk leaves at first, and the address space fill a memo of
 * four lines. The third leg is one too many. */
TEST(memo_fills_up)
{
    static const ipt_packet on[] = {ON}, tip = TIP(0x1000);
    for (unsigned turn = 0; turn < 12; turn++) {
        const unsigned n = 1 + turn / 4, from = turn % 4;
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < 8; i++) {
            const ipt_packet bits = TNT(2, (from + i % n) % 4);
            build_put(&b, &bits);
            build_put(&b, &tip);
        }
        legs_begin(&kept, 4);
        for (int again = 0; again < 3; again++) {
            const uint64_t lost = kept.memo.lost;
            CHECK(loop_run(&kept, b.bytes, b.size + 64, again == 0));
            const uint64_t misses = kept.decoder.misses;
            CHECK_EQ(misses + kept.decoder.hits, 8);
            if (n < 3) CHECK_EQ(misses, again ? 0 : n + 1);
            else CHECK(misses > 0);
            CHECK_EQ(kept.memo.lost - lost, n < 3 ? 0
                                            : again ? misses : misses - 3);
        }
        CHECK_EQ(lines_used(&kept), n < 2 ? 3 : 4);
        legs_begin(&fresh, 0);
        CHECK(loop_run(&fresh, b.bytes, b.size + 64, 1));
        CHECK(loop_same(&kept, &fresh));
    }
}

/* Names of spaces keep their places: two of them, and a line of each, are what
 * the smallest memo holds. */
TEST(names_keep_their_places)
{
    static uint8_t bytes[TRACE_BYTES];
    static const ipt_packet head[] = {PSB, PIP(0x9000, 0), EXEC64, PSBEND,
                                        PKT(NONE)};
    build_all(&b, head, LENGTH(head));
    size_t size = b.size;
    memcpy(bytes, b.bytes, size);
    for (unsigned i = 0; i < 20; i++) {
        const ipt_packet visit[] = {PIP(i & 1 ? HAND_CR3 : 0x9000, 0),
                                    PGE(0x1000), TNT(1, 1), PGD(0x5000)};
        for (unsigned k = 0; k < LENGTH(visit); k++)
            size += (size_t) ipt_pkt_encode(bytes + size, 16, &visit[k]);
    }
    memset(bytes + size, 0, 64);
    hand_write(1, 4);
    hand_write(0, 8);
    loop_init(&kept, 0, 0, 4);
    kept.config.read = hand_read;
    for (unsigned n = 0; n < 3; n++) {
        CHECK(loop_run(&kept, bytes, size + 64, n == 0));
        if (n) CHECK_EQ(kept.decoder.misses, 0);
        CHECK_EQ(hand_slot(0x1000, 0x1004), 10);
        CHECK_EQ(hand_slot(0x1000, 0x1008), 10);
    }
}

/* ---- more address spaces than there are numbers ---- */

/* The memo is emptied when that happens, but not in one go. What it had of the
 * first spaces is not the code of the last ones, which have their numbers. */
TEST(R5_memo_is_emptied_in_parts)
{
    const size_t count = (size_t) 1 << 18;
    ipt_cov_line *many = malloc(count * sizeof *many);
    uint8_t *bytes = malloc(SPACES * SPACE_BYTES);
    ipt_cov_config cov = {0};
    uint64_t fuel = 0;
    size_t bytes_set = 0, worst = 0, all = 0;
    int status = IPT_BUDGET;
    if (!CHECK(many) || !CHECK(bytes)) return;
    static const ipt_packet two = TNT(2, 2);
    const ipt_segment piece = {bytes, spaces_trace(bytes, SPACES, &two)};
    const ipt_trace trace = {&piece, 1, 0, 0};
    loop_init(&kept, 0, 0, 64);
    kept.config.read = spaces_read;
    kept.config.fuel = &fuel;
    memset(many, 0xa5, count * sizeof *many);
    cleared = &bytes_set;
    CHECK_EQ(ipt_cov_memo_init(&kept.memo, many, count), IPT_OK);
    CHECK(bytes_set >= count * sizeof *many);
    cov = kept.cov;
    CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &cov, &trace,
                          &kept.cache), IPT_OK);
    while (status == IPT_BUDGET) {
        fuel = 1;
        bytes_set = 0;
        status = ipt_cov_run(&kept.decoder);
        all += bytes_set;
        if (bytes_set > worst) worst = bytes_set;
    }
    cleared = NULL;
    CHECK_EQ(status, IPT_END);
    CHECK(all >= count * sizeof *many);
    if (!CHECK(worst <= 131072)) printf("    %zu bytes in a call\n", worst);
    CHECK_EQ(kept.decoder.verdict, 0);
    for (uint64_t ip = 0x1000; ip < 0x1004; ip += 2) {
        CHECK_EQ(hand_slot(ip, ip + 2), 3 * 65535 % 256);
        CHECK_EQ(hand_slot(ip + 1, ip + 3), 3 * (SPACES - 65535) % 256);
    }
    /* without fuel, and all lines in one go: it is learned as before */
    loop_init(&kept, 0, 0, 1024);
    kept.config.read = spaces_read;
    spaces_alternate = 1;
    CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov, &trace,
                          &kept.cache), IPT_OK);
    CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
    spaces_alternate = 0;
    for (uint64_t ip = 0x1000; ip < 0x1004; ip += 2) {
        CHECK_EQ(hand_slot(ip, ip + 2), 3 * (SPACES / 2 + 1) % 256);
        CHECK_EQ(hand_slot(ip + 1, ip + 3), 3 * (SPACES / 2) % 256);
    }
    /* one leg is walked where the numbers begin again */
    CHECK_EQ(kept.decoder.hits + kept.decoder.misses, 3 * SPACES - 1);
    free(bytes);
    free(many);
}

/* Learning costs the fuel of the instructions that it looks at: about as much
 * as the walk. */
TEST(fuel_of_what_is_learned)
{
    static uint8_t bytes[INPUT + 64];
    uint64_t units[2] = {0}; /* without a memo, with one */
    for (unsigned turn = 0; turn < 16; turn++) {
        uint64_t left = 1000000;
        seed = turn / 2 + 1;
        write_program();
        const size_t size = write_run(bytes, 0);
        const ipt_segment piece = {bytes, size};
        const ipt_trace trace = {&piece, 1, 0, 0};
        loop_init(&kept, 0, 0, turn % 2 ? 4096 : 0);
        kept.config.fuel = &left;
        CHECK_EQ(ipt_cov_init(&kept.decoder, &kept.config, &kept.cov, &trace,
                              &kept.cache), IPT_OK);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        units[turn % 2] += 1000000 - left;
    }
    CHECK(units[1] * 8 >= units[0] * 7);
    CHECK(units[1] <= units[0]);
}

static const char ring_code[] = JCC0 JCC0 JCC0 JCC("\xf8") JMP_RAX;

static int ring_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    return range_read(buffer, size, ip, 0x1000, ring_code,
                      sizeof ring_code - 1);
}

/* The hash is that of all of a path, not only of its end. */
TEST(hash_of_a_long_path)
{
    static const ipt_packet on[] = {ON}, once[] = {TNT(4, 0), TIP(0x1000)},
                            round = TNT(4, 1);
    uint64_t hashes[4];
    for (unsigned first = 0; first < LENGTH(hashes); first++) {
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < first; i++) build_put(&b, &round);
        for (unsigned i = 0; i < 400; i++) build_put(&b, &once[i % 2]);
        memset(b.bytes + b.size, 0, 64);
        loop_init(&kept, 0, IPT_COV_HASH, 64);
        kept.config.read = ring_read;
        CHECK(loop_run(&kept, b.bytes, b.size + 64, 1));
        hashes[first] = kept.decoder.hash;
        for (unsigned i = 0; i < first; i++) CHECK(hashes[i] != hashes[first]);
    }
}

/* So many legs of four bits `rounds` times, of which the last says whether
 * it goes round; those before are `bits`, or at random if that is 0. */
static void ring_trace(unsigned count, unsigned rounds, uint64_t bits)
{
    static const ipt_packet on[] = {ON}, tip = TIP(0x1000);
    ipt_packet tnt = TNT(6, 0);
    build_all(&b, on, LENGTH(on));
    for (unsigned i = 0; i < count; i++) {
        uint64_t all = bits;
        for (unsigned k = 0; !bits && k < 4 * rounds; k++)
            all = all << 1 | (k % 4 == 3 ? k + 1 < 4 * rounds : dice(2));
        for (unsigned left = 4 * rounds; left > 0; left -= tnt.u.tnt.count) {
            tnt.u.tnt.count = (uint8_t) (left < 6 ? left : 6);
            tnt.u.tnt.bits = all >> (left - tnt.u.tnt.count)
                             & ((1u << tnt.u.tnt.count) - 1);
            build_put(&b, &tnt);
        }
        if (!(all & 1)) build_put(&b, &tip);
    }
    memset(b.bytes + b.size, 0, 64); /* PAD: what is last is walked */
}

/* A memo that is full of legs that do not come again learns legs that do, in
 * pieces: each once, or a few times if it is in the way of another. */
TEST(noise)
{
    static const uint64_t bits[] = {0x9b5f7e, 0x9b5f7d};
    for (unsigned turn = 0; turn < 4; turn++) {
        uint64_t misses, hits;
        seed = turn + 1;
        ring_trace(200, 6, 0);
        loop_init(&kept, 0, 0, 64);
        kept.config.read = ring_read;
        for (unsigned n = 0; n < 4; n++)
            CHECK(loop_run(&kept, b.bytes, b.size + 64, n == 0));
        CHECK(kept.decoder.misses > 100);
        ring_trace(200, 6, bits[turn % 2]);
        CHECK(loop_run(&kept, b.bytes, b.size + 64, 0));
        misses = kept.decoder.misses;
        hits = kept.decoder.hits;
        if (turn % 2) { /* legs have no end, and are cut where they are full */
            CHECK(misses < 60);
            CHECK(hits + misses > 550); /* pieces: 600 are to be taken */
            CHECK(hits + misses < 650);
        } else {
            CHECK(misses < 20);
        }
        loop_init(&fresh, 0, 0, 0);
        fresh.config.read = ring_read;
        CHECK(loop_run(&fresh, b.bytes, b.size + 64, 1));
        CHECK(loop_same(&kept, &fresh));
    }
}

#ifndef OTHER_LEGS
/* Full legs that are always new soon get no lines, though the memo has room.
 * When they come again they get lines, one by one. */
TEST(full_legs_that_are_new)
{
    static const ipt_packet on[] = {ON};
    ipt_packet tnt = TNT(6, 0);
    loop_init(&kept, 0, 0, LENGTH(kept.lines));
    kept.config.read = ring_read;
    for (unsigned turn = 0; turn < 10; turn++) {
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < 900; i++) { /* ways round the ring */
            tnt.u.tnt.bits = dice(64) | (i % 2 ? 0x11 : 0x04);
            build_put(&b, &tnt);
        }
        memset(b.bytes + b.size, 0, 64);
        CHECK(loop_run(&kept, b.bytes, b.size + 64, turn == 0));
        CHECK(kept.decoder.hits > 600); /* nearly all in pieces of 8 bits */
    }
    CHECK(lines_used(&kept) < 400); /* one for each of 900 legs, and pieces */
    for (unsigned turn = 0; turn < 60; turn++)
        CHECK(loop_run(&kept, b.bytes, b.size + 64, 0));
    CHECK(kept.decoder.hits < 120);
    CHECK_EQ(kept.decoder.misses, 0);
    loop_init(&fresh, 0, 0, 0);
    fresh.config.read = ring_read;
    CHECK(loop_run(&fresh, b.bytes, b.size + 64, 1));
    CHECK(loop_same(&kept, &fresh));
}
#endif

/* Memos have lines up to a number, and so has what is cleared of them. */
TEST(largest_memo)
{
    static const uint32_t most = (uint32_t) 1 << 24;
    static const uint32_t counts[][2] = {{4, 4}, {7, 4}, {100, 64},
                                         {(1u << 23) + 1, 1u << 23},
                                         {(1u << 24) - 1, 1u << 23},
                                         {1u << 24, most}, {1u << 25, most}};
    size_t bytes_set;
    for (unsigned i = 0; i < LENGTH(counts); i++) {
        bytes_set = 0;
        cleared = &bytes_set;
        only_count = 1;
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, counts[i][0]), IPT_OK);
        only_count = 0;
        cleared = NULL;
        CHECK_EQ(bytes_set, sizeof memo
                            + sizeof memo_lines[0] * (size_t) counts[i][1]);
    }
}

/* ---- arguments ---- */

#define V3_CASE(status, change)                                            \
    do {                                                                   \
        memset(&cov, 0, sizeof cov);                                       \
        change;                                                            \
        CHECK_EQ(ipt_cov_init(&d, &config, &cov, &nothing, NULL), status); \
    } while (0)

TEST(V3_arguments)
{
    static ipt_cov_decoder d, none;
    static const ipt_trace nothing = {NULL, 0, 0, 0};
    static const ipt_filter beyond = {0, 0, IPT_FILTER_STOP + 1};
    ipt_filter filters[IPT_FILTERS];
    ipt_config config;
    ipt_cov_memo unset;
    ipt_cov_config cov;

    memset(&config, 0, sizeof config);
    memset(&unset, 0, sizeof unset);
    memset(filters, 0, sizeof filters);
    config.read = memory_read;
    CHECK_EQ(ipt_cov_memo_init(NULL, memo_lines, MEMO_LINES), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_memo_init(&memo, NULL, MEMO_LINES), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, 3), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, 4), IPT_OK);
    memset(&cov, 0, sizeof cov);
    CHECK_EQ(ipt_cov_init(NULL, &config, &cov, &nothing, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_init(&d, &config, NULL, &nothing, NULL), IPT_ERR_ARG);
    V3_CASE(IPT_OK, (void) 0);
    V3_CASE(IPT_ERR_CONFIG, cov.shared = &memo); /* no run has filled it */
    V3_CASE(IPT_OK, cov.memo = &memo);
    V3_CASE(IPT_OK, cov.filter = filters);
    V3_CASE(IPT_ERR_CONFIG, cov.flags = 0x80000000u);
    V3_CASE(IPT_ERR_CONFIG, cov.bitmap = map);
    for (unsigned i = 0; i < IPT_FILTERS; i++) {
        memset(filters, 0, sizeof filters);
        V3_CASE(IPT_ERR_CONFIG, filters[i] = beyond; cov.filter = filters);
    }
    V3_CASE(IPT_ERR_STATE, cov.memo = &unset);
    V3_CASE(IPT_ERR_STATE, cov.shared = &unset);
    CHECK_EQ(ipt_cov_begin(NULL, &nothing), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_begin(&none, &nothing), IPT_ERR_STATE);
    CHECK_EQ(ipt_cov_run(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_run(&none), IPT_ERR_STATE);
    CHECK_EQ(ipt_cov_resync(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_resync(&none), IPT_ERR_STATE);
    CHECK_EQ(ipt_cov_invalidate(NULL, NULL, 0, 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_cov_invalidate(&none, NULL, 0, 1), IPT_ERR_STATE);
}

/* ---- PSB+s in every shape ---- */

/* An address space again, and others, while tracing is enabled and while it is
 * not: what [cov] passes over must have said nothing. */
#define V3_CODE {CODE(0x1000, JCC0 JCC0 JMP_RAX)}
#define V3_LEG TNT(2, 1), TIP(0x1000)
#define V3_END TNT(2, 2), TIP(0x1000), TNT(2, 3), PGD(0x5000), PADS(60)
#define V3_PSB(...) PSB, __VA_ARGS__, FUP(0x1000), PSBEND
static const row shape_rows[] = {
    {ROW "off to here and there", V3_CODE,
     {ON, TNT(2, 1), PGD(0x5000), PGE(0x1000), TNT(2, 1), PGD(0x6000),
      PGE(0x1000), TNT(2, 1), PGD(0x5000), PGE(0x1000), V3_END}, {{0}}, 0, 0,
     0},
    {ROW "off before a call and after it",
     {CODE(0x1000, JCC0 CALL("\x09") JCC0 JMP_RAX), CODE(0x1010, RET)},
     {ON, TNT(1, 0), PGD(0x1002), PGE(0x1000), TNT(1, 0), PGD(0x1010),
      PGE(0x1010), TNT(2, 2), TIP(0x1000), TNT(1, 0), PGD(0x1002), PGE(0x1000),
      TNT(1, 0), PGD(0x1010), PGE(0x1010), TNT(2, 2), PADS(60)}, {{0}}, 0, 0,
     0},
    {ROW "off, again", V3_CODE,
     {ON, TNT(2, 1), PGD(0x5000), PSB, PSBEND, PSB, PSBEND, PGE(0x1000),
      V3_END}, {{0}}, 0, 0, 0},
    {ROW "off, again later", V3_CODE,
     {ON, TNT(2, 1), PGD(0x5000), PSB, PSBEND, PGE(0x1000), TNT(2, 1),
      PGD(0x5000), PSB, PSBEND, PGE(0x1000), V3_END}, {{0}}, 0, 0, 0},
    {ROW "on, again",
     V3_CODE, {ON, V3_LEG, ON, V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "clock", V3_CODE,
     {ON, V3_LEG, V3_PSB(TSC(5), TMA(1, 2), CBR(3), EXEC64, MTC(3), CYC(1)),
      V3_END}, {{0}}, 0, 0, 0},
    {ROW "address space", V3_CODE,
     {V3_PSB(PIP(0x5000, 0), VMCS(0x6000), EXEC64), V3_LEG,
      V3_PSB(PIP(0x5000, 0), VMCS(0x6000), EXEC64), V3_END}, {{0}}, 0, 0, 0},
    {ROW "off to a guest", V3_CODE,
     {V3_PSB(PIP(0x5000, 0), EXEC64), V3_LEG, TNT(2, 1), PGD(0x5000),
      PIP(0x5000, 1), VMCS(0x7000), PGE(0x1000), V3_END}, {{0}}, 0, 0, 0},
    {ROW "no transaction", V3_CODE,
     {V3_PSB(EXEC64, TSX(0, 0)), V3_LEG, V3_PSB(EXEC64, TSX(0, 0)), V3_LEG,
      V3_END}, {{0}}, 0, 0, 0},
    {ROW "a transaction", V3_CODE,
     {ON, V3_LEG, V3_PSB(EXEC64, TSX(1, 0)), V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "aborted", V3_CODE,
     {ON, V3_LEG, V3_PSB(EXEC64, TSX(0, 1)), V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "another mode", V3_CODE,
     {ON, V3_LEG, V3_PSB(EXEC32), V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "another place", V3_CODE,
     {ON, V3_LEG, PSB, EXEC64, FUP(0x1002), PSBEND, V3_LEG, V3_END}, {{0}}, 0,
     0, 0},
    {ROW "no mode", V3_CODE,
     {ON, V3_LEG, PSB, FUP(0x1000), PSBEND, V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "off, though it was on", V3_CODE,
     {ON, V3_LEG, PSB, PSBEND, PGE(0x1000), V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "shorter ips", V3_CODE,
     {ON, V3_LEG, PSB, EXEC64, IP_(FUP, 2, 0x1000), PSBEND, TNT(2, 1),
      IP_(TIP, 2, 0x1000), TNT(2, 1), IP_(TIP, 4, 0x1000), TNT(2, 1),
      IP_(TIP, 1, 0x1000), TNT(2, 3), PGD(0x5000), PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "something else in it", V3_CODE,
     {ON, V3_LEG, V3_PSB(EXEC64, MNT(5)), V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "a branch in it", V3_CODE,
     {ON, V3_LEG, V3_PSB(EXEC64, TNT(1, 1)), V3_LEG, V3_END}, {{0}}, 0, 0, 0},
    {ROW "off, as it was on", V3_CODE,
     {ON, TNT(2, 1), PGD(0x5000), PSB, PSBEND, PGE(0x1000), ON, TNT(2, 1),
      PGD(0x5000), ON, PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "off, on nowhere", V3_CODE,
     {ON, V3_LEG, TNT(2, 1), PGD(0x5000), IP_(TIP_PGE, 0, 0), V3_LEG, V3_END},
     {{0}}, 0, 0, 0},
    {ROW "nowhere", {CODE(0x0, JCC0 JCC0 JMP_RAX)},
     {PSB, EXEC64, FUP(0x0), PSBEND, TNT(2, 1), TIP(0x0), PSB, EXEC64,
      IP_(FUP, 0, 0), PSBEND, TNT(2, 1), TIP(0x0), TNT(2, 1), TIP(0x0),
      TNT(2, 1), TIP(0x0), PADS(60)}, {{0}}, 0, 0, 0},
    {ROW "off, again in another mode", /* where 48 is an instruction */
     {CODE(0x1000, "\x48" JCC0 JCC0 JMP_RAX)},
     {ON, V3_LEG, TNT(2, 1), PGD(0x5000), PSB, EXEC64, PSBEND, PSB, EXEC32,
      PSBEND, PGE(0x1000), V3_LEG, PADS(60)}, {{0}}, 0, 0, 0},
};

TEST(V3_shapes_of_psb)
{
    for (size_t i = 0; i < LENGTH(shape_rows); i++) {
        build_all(&b, shape_rows[i].trace, PACKETS_MAX);
        check_coverage(shape_rows[i].name, shape_rows[i].code, 0);
        CHECK(want.count > 2);
    }
}

static const char free_code[] = JCC0 JCC0 JMP_RAX JCC("\xfe") JMP_RAX;

static int free_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    code_reads++;
    return range_read(buffer, size, ip, 0x1000, free_code,
                      sizeof free_code - 1);
}

/* Legs of two pieces are learned in pieces, then found in pieces, then as a
 * whole. */
TEST(pieces_are_counted)
{
    static const ipt_packet leg[] = {TNT(6, 0x3f), TNT(4, 0xe), TIP(0x1006)},
                            on[] = {ON, TNT(2, 0), TIP(0x1006)};
    for (unsigned turn = 2; turn < 12; turn++) {
        const unsigned n = turn / 2;
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; k < LENGTH(leg); k++) build_put(&b, &leg[k]);
        legs_begin(&kept, 64);
        CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
        if (turn & 1) kept.cov.seen = &seen;
        kept.config.read = free_read;
        CHECK(loop_run(&kept, b.bytes, b.size + 64, 1));
        CHECK_EQ(kept.decoder.misses, 1 + 2);
        CHECK_EQ(kept.decoder.hits, n == 1 ? 0 : 2 + n - 2);
        CHECK_EQ(kept.memo.lost, 0);
        CHECK(loop_run(&kept, b.bytes, b.size + 64, 0));
        CHECK_EQ(kept.decoder.misses, 0);
        CHECK_EQ(kept.decoder.hits, 1 + (n == 1 ? 2 : n));
    }
}

/* What the memo knows is passed without a look at code, and not learned again,
 * however often it comes: bits, time, and PSB+s that say nothing new or while
 * tracing is disabled. What is learned is cleared first. */
#define FREE_HEAD V3_PSB(PIP(0x5000, 0), VMCS(0x6000), EXEC64)
#define FREE_MAX 16
static const struct {
    const char *name;
    ipt_packet trace[FREE_MAX];
} free_rows[] = {
    {ROW "legs", {TNT(2, 2), TIP(0x1000)}},
    {ROW "a leg of two lines",
     {TNT(2, 1), TIP(0x1002), TNT(1, 0), TIP(0x1000)}},
    {ROW "no bit", {TNT(2, 1), TIP(0x1004), TIP(0x1000)}},
    {ROW "shorter ips", {TNT(2, 1), IP_(TIP, 1, 0x1004), IP_(TIP, 2, 0x1000)}},
    {ROW "sign-extended, 48 bits", {V3_LEG, TNT(2, 2), IP_(TIP, 3, 0x1000),
                                TNT(2, 0), IP_(TIP, 4, 0x1000)}},
    {ROW "time in a leg", {TNT(1, 0), MTC(5), TSC(0x1234), TNT(1, 1), CYC(7),
                       CYC(0x7777), TIP(0x1000), TSC(7), TNT(2, 1), MTC(9),
                       TIP(0x1000)}},
    {ROW "a cyc that begins as an ovf does",
     {TNT(2, 1), CYC(0x25), TIP(0x1000)}},
    {ROW "a long tnt", {TNT64(2, 1), TIP(0x1000), TNT(1, 1), TNT64(1, 0),
                    TIP(0x1000)}},
    {ROW "more bits than a piece", {TNT(2, 1), TIP(0x1006), TNT(6, 0x3f),
                                TNT(6, 0x3e), TIP(0x1000)}},
    {ROW "more than a leg", {TNT(2, 1), TIP(0x1006), TNT64(47, 0x7fffffffffff),
                         TNT(6, 0x3f), TNT(6, 0x3f), TNT(6, 0x3e),
                         TIP(0x1000)}},
    {ROW "pads",
     {PADS(3), TNT(1, 1), PADS(20), TNT(1, 0), PADS(1), TIP(0x1000)}},
    {ROW "psb+", {ON, V3_LEG}},
    {ROW "with all that is known", {FREE_HEAD, V3_LEG}},
    {ROW "with time",
     {V3_PSB(TSC(5), TMA(1, 2), CBR(3), EXEC64, MTC(3)), V3_LEG}},
    {ROW "with a transaction that is none",
     {V3_PSB(EXEC64, TSX(0, 0)), V3_LEG}},
    {ROW "with pads",
     {PSB, PADS(5), EXEC64, PADS(1), FUP(0x1000), PADS(9), PSBEND,
                   PADS(2), V3_LEG}},
    {ROW "with a shorter ip",
     {PSB, EXEC64, IP_(FUP, 2, 0x1000), PSBEND, V3_LEG}},
    {ROW "elsewhere", {TNT(1, 0), PSB, EXEC64, FUP(0x1002), PSBEND, TNT(1, 1),
                   TIP(0x1000)}},
    {ROW "before a tip",
     {TNT(2, 0), PSB, EXEC64, FUP(0x1004), PSBEND, TIP(0x1000)}},
    {ROW "before a pgd",
     {TNT(2, 0), PSB, EXEC64, FUP(0x1004), PSBEND, PGD(0x5000), PGE(0x1000)}},
    {ROW "off", {TNT(2, 1), PGD(0x5000), PGE(0x1000)}},
    {ROW "off, no ip", {TNT(2, 1), PGD0, PGE(0x1000)}},
    {ROW "off on the way", {TNT(1, 1), PGD(0x1002), PGE(0x1000)}},
    {ROW "off and pads", {TNT(2, 1), PGD(0x5000), PADS(11), PGE(0x1000)}},
    {ROW "off and time",
     {TNT(2, 1), PGD(0x5000), TSC(9), CBR(7), TMA(3, 4), MTC(8),
                      PGE(0x1000)}},
    {ROW "off and mode", {TNT(2, 1), PGD0, EXEC64, PGE(0x1000)}},
    {ROW "off and psb+",
     {TNT(2, 1), PGD(0x5000), PSB, EXEC64, PSBEND, PGE(0x1000)}},
    {ROW "off and two of them",
     {TNT(2, 1), PGD(0x5000), PSB, PSBEND, PSB, PSBEND,
                             PGE(0x1000)}},
    {ROW "off and another space", {TNT(2, 1), PGD(0x5000), PIP(0x9000, 0),
                               PGE(0x1000), TNT(2, 2), PGD(0x5000),
                               PIP(0x5000, 0), PGE(0x1000)}},
    {ROW "off and another guest", {TNT(2, 1), PGD(0x5000), VMCS(0x8000),
                               PGE(0x1000), TNT(2, 2), PGD(0x5000),
                               VMCS(0x6000), PGE(0x1000)}},
};

TEST(what_is_known_is_not_looked_at)
{
    static const ipt_packet head[] = {FREE_HEAD, PKT(NONE)},
                            tail[] = {TNT(2, 3), TIP(0x1000), PGD(0x5000)};
    for (size_t i = 0; i < LENGTH(free_rows); i++) {
        unsigned long reads[2];
        size_t bytes_set = 0, set[2];
        for (unsigned turn = 0; turn < 2; turn++) {
            build_all(&b, head, LENGTH(head));
            for (unsigned n = 0; n < (turn ? 20 : 2); n++)
                for (unsigned k = 0; k < FREE_MAX; k++)
                    if (free_rows[i].trace[k].type != IPT_PKT_NONE)
                        build_put(&b, &free_rows[i].trace[k]);
            for (unsigned k = 0; k < LENGTH(tail); k++) build_put(&b, &tail[k]);
            memset(b.bytes + b.size, 0, 64); /* PAD: what is last is walked */
            loop_init(&kept, 0, 0, 256);
            kept.config.read = free_read;
            kept.bare = 1;
            cleared = &bytes_set;
            for (unsigned n = 0; n < 3; n++) {
                code_reads = 0;
                bytes_set = 0;
                CHECK(loop_run(&kept, b.bytes, b.size + 64, n == 0));
            }
            cleared = NULL;
            reads[turn] = code_reads;
            set[turn] = bytes_set;
        }
        if (!CHECK_EQ(reads[1], reads[0]) || !CHECK_EQ(set[1], set[0]))
            printf("    %s\n", free_rows[i].name);
    }
}

/* There is an end to what may wait in a PSB+: no memo knows better. */
TEST(full_psb)
{
    static const chunk code[] = V3_CODE;
    static const ipt_packet one[] = {CBR(3), EXEC64, TSX(0, 0), PIP(0x5000, 0)};
    static const ipt_packet on[] = {V3_PSB(PIP(0x5000, 0), EXEC64), V3_LEG},
        off[] = {PGD(0x5000)}, psb = PSB, fup = FUP(0x1000), psbend = PSBEND,
        pge = PGE(0x1000), end[] = {V3_END};
    int errors[2] = {0};

    for (unsigned i = 0; i < LENGTH(one); i++)
        for (unsigned n = 1; n < 18; n += n < 13 ? 4 : 1)
            for (unsigned way = 0; way < 4; way++) {
                build_all(&b, on, LENGTH(on));
                if (way & 1) build_put(&b, off);
                build_put(&b, &psb);
                for (unsigned k = 0; k < n; k++) build_put(&b, &one[i]);
                if (!(way & 1)) build_put(&b, &fup);
                build_put(&b, &psbend);
                if (way & 1) build_put(&b, &pge);
                for (unsigned k = 0; k < LENGTH(end); k++)
                    build_put(&b, &end[k]);
                check_coverage("full psb", code,
                               way & 2 ? IPT_CONFIG_IFLAGS : 0);
                errors[want.errors != 0]++;
            }
    CHECK(errors[0]);
    CHECK(errors[1]);
}

static int page_is_there;

static int page_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    if (ip >> 12 == 9) return IPT_ERR_IMAGE;
    if (ip >> 12 == 2 && !page_is_there) return IPT_NEED_PAGE;
    return spaces_read(buffer, size, asid, ip >> 12 == 2 ? ip - 0x1000 : ip,
                       context);
}

/* The verdict has no page that is there in the end, whatever was given up
 * before: an error, or, in the run before, this page. */
TEST(a_page_after_an_error)
{
    static const ipt_packet packets[]
        = {ON, TNT(2, 0), TIP(0x9000), TIP(0x1000), TNT(2, 0), TIP(0x2000),
           TNT(2, 0), TIP(0x1000), PADS(60), PKT(NONE)};
    build_all(&b, packets, LENGTH(packets));
    const ipt_segment piece = {b.bytes, b.size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    loop_init(&kept, 0, 0, 64);
    kept.config.read = page_read;
    for (unsigned turn = 0; turn < 4; turn++) {
        const int gives_up = turn & 1;
        CHECK_EQ(turn ? ipt_cov_begin(&kept.decoder, &trace)
                      : ipt_cov_init(&kept.decoder, &kept.config, &kept.cov,
                                     &trace, NULL), IPT_OK);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_ERR_IMAGE);
        CHECK_EQ(ipt_cov_resync(&kept.decoder), IPT_OK);
        page_is_there = 0;
        CHECK_EQ(ipt_cov_invalidate(&kept.decoder, NULL, 0, 1), IPT_OK);
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_NEED_PAGE);
        CHECK(kept.decoder.verdict & IPT_COV_NO_PAGE);
        if (gives_up) CHECK_EQ(ipt_cov_resync(&kept.decoder), IPT_OK);
        page_is_there = 1;
        CHECK_EQ(ipt_cov_run(&kept.decoder), IPT_END);
        CHECK_EQ(kept.decoder.verdict,
                 IPT_COV_ERROR | (gives_up ? IPT_COV_NO_PAGE : 0));
    }
}

/* With a table of blocks, too, the memo learns once what a PSB+ in the middle
 * of a block is, where the block has NOPs so far. */
TEST(blocks_that_a_psb_cuts)
{
    static const chunk code[CODES_MAX] = {CODE(0x1000, NOP NOP JCC0 JMP_RAX)};
    static const ipt_packet on[] = {ON}, some[] = {PSB, EXEC64, FUP(0x1001),
                                                   PSBEND, TNT(1, 1),
                                                   TIP(0x1000)};
    const manner how = manner_of(WHOLE, TINY_CACHE, 0, 0);
    edge_list again = {0};
    ipt_cov_config cov = {0};
    cov.bitmap = map;
    cov.bitmap_size = MAP_MAX;
    cov.memo = &memo;
    cov.seen = &seen;
    for (unsigned turns = 2; turns < 20; turns += 17) {
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < turns; i++)
            for (unsigned k = 0; k < LENGTH(some); k++) build_put(&b, &some[k]);
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, MEMO_LINES), IPT_OK);
        CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
        for (unsigned n = 0; n < 2; n++) {
            cov_decode(&how, code, 0, &cov, &again);
            CHECK_EQ(again.errors, 0);
            CHECK(decoders[which].misses < 5);
        }
        CHECK_EQ(seen.count, 2);
    }
}

/* While tracing is disabled the address space becomes one that is not wanted,
 * or a transaction begins. */
static const row unwanted_rows[] = {
    {ROW "another cr3 while tracing is disabled",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {PSB, PIP(ONLY_CR3, 0), EXEC64, FUP(0x1000), PSBEND, V3_LEG, TNT(2, 1),
      PGD(0x5000), PIP(0x9000, 0), PGE(0x1000), V3_LEG, TNT(2, 2), PGD(0x5000),
      PADS(60)}, {{0}}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "a guest while tracing is disabled",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {PSB, PIP(0x5000, 0), EXEC64, FUP(0x1000), PSBEND, V3_LEG, TNT(2, 1),
      PGD(0x5000), PIP(0x9000, 1), PGE(0x1000), V3_LEG, TNT(2, 2), PGD(0x5000),
      PADS(60)}, {{0}}, 0, 0, IPT_CONFIG_ROOT_ONLY},
    {ROW "the host while tracing is disabled",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {PSB, PIP(0x5000, 1), EXEC64, FUP(0x1000), PSBEND, V3_LEG, TNT(2, 1),
      PGD(0x5000), PIP(0x9000, 0), PGE(0x1000), V3_LEG, TNT(2, 2), PGD(0x5000),
      PADS(60)}, {{0}}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "a transaction while tracing is disabled",
     {CODE(0x1000, JCC0 JCC0 JMP_RAX)},
     {ON, V3_LEG, TNT(2, 1), PGD(0x5000), TSX(1, 0), PGE(0x1000), V3_LEG,
      TNT(2, 2), PGD(0x5000), PADS(60)}, {{0}}, 0, 0, 0},
};

TEST(unwanted_while_off)
{
    for (size_t i = 0; i < LENGTH(unwanted_rows); i++)
        run_far(&unwanted_rows[i]);
}

/* In the middle of a block: a PSB+ with a CYC, and a CBR, both for the walk. */
static const row cut_rows[] = {
    {ROW "a psb+ and a cbr in a block",
     {CODE(0x1000, NOP NOP JCC0 JMP_RAX)},
     {ON, TNT(1, 0), TIP(0x1000), PSB, EXEC64, CYC(1), FUP(0x1001), PSBEND,
      CBR(3), TNT(1, 0), TIP(0x1000), TNT(1, 0), PADS(60)}, {{0}}, 0, 0, 0},
};

TEST(walked_within_a_block)
{
    for (size_t i = 0; i < LENGTH(cut_rows); i++) run_far(&cut_rows[i]);
}

/* A trigger that counts instructions from the IP of a PSB+ in the middle of a
 * block: the branch comes before the sixth. Whoever begins the block again
 * counts too few. */
static const row after_psb_rows[] = {
    {ROW "a trigger that comes too late",
     {CODE(0x1000, NOP NOP NOP NOP NOP JCC0 JMP_RAX)},
     {ON, TNT(1, 0), TIP(0x1000), PSB, EXEC64, FUP(0x1003), PSBEND,
      TRIG(1, 0, 1, 5, 0), TNT(1, 0), TIP(0x1000), TNT(1, 0), PADS(60)}, {{0}},
     0, 0, 0},
    {ROW "a trigger in time",
     {CODE(0x1000, NOP NOP NOP NOP NOP JCC0 JMP_RAX)},
     {ON, TNT(1, 0), TIP(0x1000), PSB, EXEC64, FUP(0x1003), PSBEND,
      TRIG(1, 0, 1, 2, 0), TNT(1, 0), TIP(0x1000), TNT(1, 0), PADS(60)}, {{0}},
     0, 0, 0},
};

TEST(what_follows_a_psb)
{
    for (size_t i = 0; i < LENGTH(after_psb_rows); i++) {
        build_all(&b, after_psb_rows[i].trace, PACKETS_MAX);
        check_coverage(after_psb_rows[i].name, after_psb_rows[i].code, 0);
        CHECK_EQ(want.errors, i == 0);
    }
}

/* A target after a PSB+ that is none: flow stands where the PSB+ says, whether
 * the memo knows it or not, and also in the middle of a block that is seen. */
TEST(no_target_after_a_psb)
{
    static const chunk code[CODES_MAX] = {CODE(0x1000, NOP NOP JCC0 JMP_RAX)};
    static const ipt_packet some[] = {ON, PSB, EXEC64, FUP(0x1001), PSBEND,
                                      TNT(1, 1), TIP(0x1000), PSB, EXEC64,
                                      FUP(0x1001), PSBEND};
    static const uint8_t bad[] = {0xad, 0xed, 0x0d, 0xa1, 0xe1}; /* IPBytes */
    const manner how = manner_of(WHOLE, TINY_CACHE, 0, 0);
    edge_list walked = {0}, again = {0};
    ipt_cov_config cov = {0};
    cov.bitmap = map;
    cov.bitmap_size = MAP_MAX;
    for (size_t i = 0; i < 2 * LENGTH(bad); i++) {
        cov.seen = i % 2 ? &seen : NULL;
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, MEMO_LINES), IPT_OK);
        CHECK_EQ(ipt_cov_seen_init(&seen, marks, MARKS), IPT_OK);
        build_all(&b, some, LENGTH(some));
        b.bytes[b.size++] = bad[i / 2];
        memset(b.bytes + b.size, 0, 64);
        b.size += 64;
        cov.memo = NULL;
        cov_decode(&how, code, 0, &cov, &walked);
        CHECK_EQ(walked.errors, 1);
        cov.memo = &memo;
        for (unsigned n = 0; n < 3; n++) {
            cov_decode(&how, code, 0, &cov, &again);
            CHECK_EQ(again.errors, 1);
            CHECK_EQ(again.places, walked.places);
        }
    }
}

int main(void)
{
    the.base = LOW;
    the.mode = IPT_MODE_64;
    the.spaces = 3;
    FINDINGS(RUN_TEST)
    BDM64_FINDINGS(RUN_TEST)
    RESYNC_FINDINGS(RUN_TEST)
    RUN(flow);
    RUN(R1_far_branches);
    RUN_BOTH(random);
    RUN(thousand_inputs);
    RUN(long_tnts);
    RUN(worlds);
    RUN_BOTH(loops_at_random);
    RUN(worlds_at_random);
    RUN(what_is_known_costs_its_trace);
    RUN(what_is_known_stays_so);
    RUN(outputs);
    RUN(seen);
    RUN(seen_changes_within_a_run);
    RUN(memo_counts);
    RUN(memo_fills_up);
    RUN(hash_of_a_long_path);
#ifndef OTHER_LEGS /* of cov.sh: they are cut elsewhere */
    RUN(pieces_are_counted);
    RUN(noise);
    RUN(full_legs_that_are_new);
#endif
    RUN(largest_bitmap);
    RUN(memo_saves_reading);
    RUN(another_formula);
    RUN(filters_of_two_kinds);
    RUN(R11_shared_formulas);
    RUN(verdicts);
    RUN(overflows_and_errors);
    RUN(missing_page);
    RUN(shared);
    RUN(pages_without_code);
    RUN(cache_made_anew);
    RUN(nothing_to_forget);
    RUN(invalidate);
    RUN(R8_begin_fails);
    RUN(R11_two_sizes);
    RUN(mutants_psb_that_says_nothing_new);
    RUN(mutants_bits_while_off);
    RUN(full_legs);
    RUN(mutants_event_of_the_branch_before);
    RUN(mutants_bits_of_a_line);
    RUN(mutants_prev_after_a_pge);
    RUN(mutants_upper_bits_of_an_ip);
    RUN(mutants_the_same_psb_again);
    RUN(mutants_bits_that_are_skipped);
    RUN(mutants_tnt_without_bits);
    RUN(reserved_bits_of_a_tma);
    RUN(mutants_calls_in_two_pieces);
#ifndef OTHER_LEGS /* of 6 bits: the gap after an error begins elsewhere */
    RUN(deepest_in_the_first_piece);
#endif
    RUN(mutants_space_of_what_is_learned);
    RUN(space_within_a_block);
    RUN(mutants_memo_made_anew);
    RUN(fuel_of_what_is_known);
    RUN(kernel_is_shared);
    RUN(spaces_are_asked_once);
    RUN(fuel_of_what_is_learned);
    RUN(largest_memo);
    RUN(mutants_code_changes_in_a_run);
    RUN(mutants_numbers_begin_anew);
    RUN(mutants_gap_forgets_the_space);
    RUN(R7_broken_psb);
    RUN(R9_nowhere_to_begin);
    RUN(C2_start);
    RUN(C2_assumed_mode);
    RUN(C2_start_and_an_error);
    RUN(R5_memo_is_emptied_in_parts);
    RUN(names_keep_their_places);
    RUN(V3_arguments);
    RUN(V3_shapes_of_psb);
    RUN(what_is_known_is_not_looked_at);
    RUN(full_psb);
    RUN(a_page_after_an_error);
    RUN(unwanted_while_off);
    RUN(walked_within_a_block);
    RUN(what_follows_a_psb);
    RUN(blocks_that_a_psb_cuts);
    RUN(deferred_tips);
    RUN(no_target_after_a_psb);
    return test_report();
}
