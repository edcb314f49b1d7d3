/* cover.c: coverage, as fuzzers have it: a bitmap of 64 KiB by libxdc's
 * formula, one memo for many runs. An item is a byte of trace. */
#include "bench.h"
#include <string.h>

#define CODE_LINES 4096
#define MEMO_LINES 16384 /* 1 MiB */
#define MARKS 65536

static ipt_cache_line code_lines[CODE_LINES];
static ipt_cov_line memo_lines[MEMO_LINES];
static ipt_cache code;
static ipt_cov_memo memo;
static uint8_t map[BENCH_MAP];

static ipt_config config;
static ipt_cov_config cov;
static ipt_segment piece;
static const ipt_trace trace = {&piece, 1, 0, 0};
static ipt_cov_decoder decoder;

static const bench_case *warm; /* what cache and memo hold, ... */
static uint32_t warm_flags;    /* ... config flags << 16 | coverage flags */

/* Cover a run of the case. Returns the bytes decoded. */
static uint64_t cover(const bench_case *c, size_t run)
{
    const size_t from = run ? c->ends[run - 1] : 0;
    int status;

    piece.data = c->trace + from;
    piece.size = c->ends[run] - from;
    status = ipt_cov_begin(&decoder, &trace);
    while (status >= 0 && (status = ipt_cov_run(&decoder)) != IPT_END)
        status = ipt_cov_resync(&decoder);
    if (decoder.verdict & (IPT_COV_ERROR | IPT_COV_UNFINISHED))
        bench_remark = "with errors";
    return decoder.at.offset - decoder.begin;
}

static uint64_t pass(const bench_case *c)
{
    bench_map = map;
    return cover(c, bench_run);
}

/* Begin to cover a case with nothing known. */
static int set_up(const bench_case *c, uint32_t config_flags, uint32_t flags)
{
    warm = NULL;
    memset(map, 0, sizeof(map));
    config.read = image_read;
    config.context = (void *) (uintptr_t) &c->code;
    config.flags = config_flags;
    cov.bitmap = map;
    cov.bitmap_size = BENCH_MAP;
    cov.flags = flags;
    cov.memo = &memo;
#ifndef NO_SEEN
    cov.block = NULL;
    cov.seen = NULL;
#endif
    return ipt_cache_init(&code, code_lines, CODE_LINES) >= 0
           && ipt_cov_memo_init(&memo, memo_lines, MEMO_LINES) >= 0
           && ipt_cov_init(&decoder, &config, &cov, &trace, &code) >= 0;
}

/* Runs come twice before the memo has a line for the whole of each. */
static void learn(const bench_case *c, size_t but)
{
    int i;
    size_t run;

    for (i = 0; i < 3; i++)
        for (run = 0; run < c->runs; run++)
            if (run != but)
                (void) cover(c, run);
}

/* As libxdc's users trace, without return compression, if that is so. */
static uint32_t plain_flags(const bench_case *c)
{
    static const bench_case *last;
    static uint32_t flags;

    if (last != c) {
        last = c;
        flags = IPT_CONFIG_NO_RETCOMP;
        (void) set_up(c, flags, 0);
        bench_remark = NULL;
        (void) cover(c, 0);
        if (bench_remark)
            flags = 0;
        bench_remark = NULL;
    }
    return flags;
}

/* ---- rows ---- */

static int prepare_cold(const bench_case *c)
{
    if (bench_run == 0 && !set_up(c, plain_flags(c), 0))
        return 0;
    memset(map, 0, sizeof(map));
    return 1;
}

static int prepare_warm(const bench_case *c, uint32_t config_flags,
                        uint32_t flags)
{
    const uint32_t want = config_flags << 16 | flags;

    if (warm != c || warm_flags != want) {
        if (!set_up(c, config_flags, flags))
            return 0;
        learn(c, c->runs);
        warm = c;
        warm_flags = want;
    }
    memset(map, 0, sizeof(map));
    return 1;
}

static int prepare_plain(const bench_case *c)
{
    return prepare_warm(c, plain_flags(c), 0);
}

/* What fuzzers do: inputs that were not seen, of a program that was. Each run
 * is measured by a memo that knows all others. */
static int prepare_new(const bench_case *c)
{
    if (c->runs < 2 || !set_up(c, plain_flags(c), 0))
        return 0;
    learn(c, bench_run);
    memset(map, 0, sizeof(map));
    return 1;
}

#ifndef NO_SEEN /* the ipt.h of another commit may be without */
static void new_block(uint64_t ip, uint32_t size, uint8_t mode, void *context)
{
    (void) mode;
    (void) context;
    bench_sink += ip + size;
}

/* New blocks are reported, too. */
static int prepare_blocks(const bench_case *c)
{
    static ipt_cov_mark marks[MARKS];
    static ipt_cov_seen seen;
    const uint32_t want = 1u << 31;

    if (warm != c || warm_flags != want) {
        if (!set_up(c, plain_flags(c), 0)
            || ipt_cov_seen_init(&seen, marks, MARKS) < 0)
            return 0;
        cov.block = new_block;
        cov.seen = &seen;
        learn(c, c->runs);
        warm = c;
        warm_flags = want;
    }
    memset(map, 0, sizeof(map));
    return seen.count > 0 && seen.lost == 0;
}
#endif

static int prepare_stack(const bench_case *c)
{
    return prepare_warm(c, 0, 0);
}

static int prepare_indirect(const bench_case *c)
{
    return prepare_warm(c, 0, IPT_COV_INDIRECT);
}

const bench_row bench_cover[] = {
    {"coverage", "ipt", prepare_plain, pass, 1, 0, 0},
    {"coverage cold", "ipt", prepare_cold, pass, 1, 0, 0},
    {"coverage, new", "ipt", prepare_new, pass, 1, 0, 0},
#ifndef NO_SEEN
    {"coverage, blocks", "ipt", prepare_blocks, pass, 1, 0, 0},
#endif
    {"coverage, calls", "ipt", prepare_stack, pass, 1, 0, 0},
    {"coverage, all", "ipt", prepare_indirect, pass, 1, 0, 0},
    {0},
};
