/* cover.c: coverage, as fuzzers have it: a bitmap of 64 KiB by libxdc's formula,
 * one memo for many runs. An item is a byte of trace. */
#include "bench.h"
#include <string.h>

#define MAP_SIZE 65536
#define CODE_LINES 4096
#define MEMO_LINES 16384 /* 1 MiB */

static ipt_cache_line code_lines[CODE_LINES];
static ipt_cov_line memo_lines[MEMO_LINES];
static ipt_cache code;
static ipt_cov_memo memo;
static uint8_t map[MAP_SIZE];
static const bench_case *warm; /* what cache and memo hold, ... */
static uint32_t warm_flags;    /* ... config flags << 16 | coverage flags */

/* Cover a part of the trace. Returns the bytes decoded. */
static uint64_t run_part(const bench_case *c, uint32_t config_flags,
                         uint32_t flags, size_t from, size_t to)
{
    static ipt_cov_decoder decoder;
    const ipt_segment piece = {c->trace + from, to - from};
    const ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_cov_config cov = {0};
    int status;

    config.read = image_read;
    config.context = (void *) (uintptr_t) &c->code;
    config.flags = config_flags;
    cov.bitmap = map;
    cov.bitmap_size = MAP_SIZE;
    cov.flags = flags;
    cov.memo = &memo;
    status = ipt_cov_init(&decoder, &config, &cov, &trace, &code);
    while (status >= 0 && (status = ipt_cov_run(&decoder)) != IPT_END)
        status = ipt_cov_resync(&decoder);
    return decoder.at.offset - decoder.begin;
}

static uint64_t run(const bench_case *c, uint32_t config_flags, uint32_t flags)
{
    return run_part(c, config_flags, flags, 0, c->size);
}

static int prepare_cold(const bench_case *c)
{
    (void) c;
    warm = NULL;
    memset(map, 0, sizeof map);
    return ipt_cache_init(&code, code_lines, CODE_LINES) >= 0
           && ipt_cov_memo_init(&memo, memo_lines, MEMO_LINES) >= 0;
}

/* Runs come twice before the memo has a line for the whole of each. */
static int prepare_warm(const bench_case *c, uint32_t config_flags,
                        uint32_t flags)
{
    const uint32_t want = config_flags << 16 | flags;
    int i;

    if (warm != c || warm_flags != want) {
        (void) prepare_cold(c);
        for (i = 0; i < 3; i++)
            (void) run(c, config_flags, flags);
        warm = c;
        warm_flags = want;
    }
    memset(map, 0, sizeof map);
    return 1;
}

/* As libxdc's users trace: without return compression. */
static int prepare_plain(const bench_case *c)
{
    return prepare_warm(c, IPT_CONFIG_NO_RETCOMP, 0);
}

static uint64_t pass_plain(const bench_case *c)
{
    return run(c, IPT_CONFIG_NO_RETCOMP, 0);
}

/* What fuzzers do: an input that was not seen, of a program that was. The memo
 * knows the first half of the trace, and the second is measured: what stands in
 * M items/s is the speed. */
static int prepare_new(const bench_case *c)
{
    int i;

    (void) prepare_cold(c);
    for (i = 0; i < 3; i++)
        (void) run_part(c, IPT_CONFIG_NO_RETCOMP, 0, 0, c->size / 2);
    return 1;
}

static uint64_t pass_new(const bench_case *c)
{
    return run_part(c, IPT_CONFIG_NO_RETCOMP, 0, c->size / 2, c->size);
}

static int prepare_stack(const bench_case *c)
{
    return prepare_warm(c, 0, 0);
}

static uint64_t pass_stack(const bench_case *c)
{
    return run(c, 0, 0);
}

static int prepare_indirect(const bench_case *c)
{
    return prepare_warm(c, 0, IPT_COV_INDIRECT);
}

static uint64_t pass_indirect(const bench_case *c)
{
    return run(c, 0, IPT_COV_INDIRECT);
}

const bench_row bench_cover[] = {
    {"coverage", "ipt", prepare_plain, pass_plain, 1, 0, 0},
    {"coverage cold", "ipt", prepare_cold, pass_plain, 1, 0, 0},
    {"coverage, new", "ipt", prepare_new, pass_new, 1, 0, 0},
    {"coverage, calls", "ipt", prepare_stack, pass_stack, 1, 0, 0},
    {"coverage, all", "ipt", prepare_indirect, pass_indirect, 1, 0, 0},
    {0},
};
