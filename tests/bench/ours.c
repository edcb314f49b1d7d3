/* ours.c: our layers, through their public functions. Errors of flow are
 * passed as libipt's users do it, by synchronising forward. */
#include "bench.h"
#include <stdlib.h>

volatile uint64_t bench_sink;
size_t bench_lines = 1 << 14; /* 1 MiB */

static ipt_cache_line lines[BENCH_LINES_MAX];
static ipt_cache cache;
static const bench_case *warm; /* what the cache holds */
static size_t warm_lines;

static ipt_config config_of(const bench_case *c)
{
    ipt_config config = {0};

    config.read = image_read;
    config.context = (void *) (uintptr_t) &c->code;
    return config;
}

static uint64_t pass_packets(const bench_case *c)
{
    const ipt_segment piece = {c->trace, c->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    const ipt_config config = config_of(c);
    ipt_pkt_decoder decoder;
    ipt_packet packet;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = ipt_pkt_init(&decoder, &config, &trace);

    if (status >= 0)
        status = ipt_pkt_sync_forward(&decoder);
    while (status >= 0) {
        while ((status = ipt_pkt_next(&decoder, &packet)) >= 0) {
            count++;
            sum += packet.offset + packet.type;
            if (packet.type >= IPT_PKT_TNT_8)
                sum += packet.u.ip.payload;
        }
        if (status != IPT_END)
            status = ipt_pkt_sync_forward(&decoder);
    }
    bench_sink += sum;
    return count;
}

static uint64_t pass_events(const bench_case *c)
{
    const ipt_segment piece = {c->trace, c->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    const ipt_config config = config_of(c);
    static ipt_evt_decoder decoder;
    ipt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = ipt_evt_init(&decoder, &config, &trace);

    if (status >= 0)
        status = ipt_evt_sync_forward(&decoder);
    while (status >= 0) {
        while ((status = ipt_evt_next(&decoder, &event)) >= 0) {
            count++;
            sum += event.type;
            sum += event.type == IPT_EVT_TNT ? event.u.tnt.bits : event.ip;
        }
        if (status != IPT_END)
            status = ipt_evt_sync_forward(&decoder);
    }
    bench_sink += sum;
    return count;
}

static uint64_t walk_blocks(const bench_case *c, ipt_cache *with)
{
    const ipt_segment piece = {c->trace, c->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    const ipt_config config = config_of(c);
    static ipt_blk_decoder decoder;
    ipt_block block;
    ipt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = ipt_blk_init(&decoder, &config, &trace, with);

    if (status >= 0)
        status = ipt_blk_sync_forward(&decoder);
    while (status >= 0) {
        while ((status = ipt_blk_next(&decoder, &block)) >= 0) {
            count += block.count;
            sum += block.ip + block.end_ip;
            while (status >= 0 && status & IPT_EVENT_PENDING)
                status = ipt_blk_event(&decoder, &event);
        }
        if (status != IPT_END && status != IPT_EVENT_FIRST)
            status = ipt_blk_sync_forward(&decoder);
        else if (status == IPT_EVENT_FIRST)
            status = IPT_OK;
    }
    bench_sink += sum;
    return count;
}

static uint64_t walk_insns(const bench_case *c, ipt_cache *with)
{
    const ipt_segment piece = {c->trace, c->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    const ipt_config config = config_of(c);
    static ipt_insn_decoder decoder;
    ipt_insn insn;
    ipt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = ipt_insn_init(&decoder, &config, &trace, with);

    if (status >= 0)
        status = ipt_insn_sync_forward(&decoder);
    while (status >= 0) {
        while ((status = ipt_insn_next(&decoder, &insn)) >= 0) {
            count++;
            sum += insn.ip + insn.kind;
            while (status >= 0 && status & IPT_EVENT_PENDING)
                status = ipt_insn_event(&decoder, &event);
        }
        if (status != IPT_END && status != IPT_EVENT_FIRST)
            status = ipt_insn_sync_forward(&decoder);
        else if (status == IPT_EVENT_FIRST)
            status = IPT_OK;
    }
    bench_sink += sum;
    return count;
}

static int prepare_empty(const bench_case *c)
{
    warm = NULL;
    (void) c;
    return ipt_cache_init(&cache, lines, bench_lines) >= 0;
}

/* Have in the cache what one pass leaves there. */
static int prepare_warm(const bench_case *c)
{
    if (warm != c || warm_lines != bench_lines) {
        (void) prepare_empty(c);
        (void) walk_blocks(c, &cache);
        warm = c;
        warm_lines = bench_lines;
    }
    return 1;
}

static uint64_t pass_blocks(const bench_case *c)
{
    return walk_blocks(c, &cache);
}

static ipt_hot hot;

/* Blocks with hot traces built of them, in a loop of its own so that the row of
 * blocks does not pay for it. */
static uint64_t pass_hot(const bench_case *c)
{
    const ipt_segment piece = {c->trace, c->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    const ipt_config config = config_of(c);
    static ipt_blk_decoder decoder;
    ipt_asid asid;
    ipt_block block;
    ipt_event event;
    uint64_t count = 0;
    int status = ipt_blk_init(&decoder, &config, &trace, &cache);

    if (status >= 0)
        status = ipt_blk_sync_forward(&decoder);
    while (status >= 0) {
        asid = decoder.at.asid;
        while ((status = ipt_blk_next(&decoder, &block)) >= 0) {
            count += block.count;
            ipt_hot_feed(&hot, &block, &asid);
            if (!(status & IPT_EVENT_PENDING))
                continue;
            while (status >= 0 && status & IPT_EVENT_PENDING)
                status = ipt_blk_event(&decoder, &event);
            asid = decoder.at.asid;
        }
        if (status != IPT_EVENT_FIRST)
            ipt_hot_break(&hot);
        if (status != IPT_END && status != IPT_EVENT_FIRST)
            status = ipt_blk_sync_forward(&decoder);
        else if (status == IPT_EVENT_FIRST)
            status = IPT_OK;
    }
    bench_sink += hot.stats.inside;
    return count;
}

/* Know the hot traces of one pass. */
static int prepare_hot(const bench_case *c)
{
    static ipt_hot_head heads[4096];
    static ipt_hot_trace traces[1024];
    static ipt_block blocks[16384];
    static ipt_hot_config config;

    config.heads = heads;
    config.head_count = 4096;
    config.traces = traces;
    config.trace_count = 1024;
    config.blocks = blocks;
    config.block_count = 16384;
    if (!prepare_warm(c) || ipt_hot_init(&hot, &config) < 0)
        return 0;
    return pass_hot(c) > 0;
}

static uint64_t pass_insns(const bench_case *c)
{
    return walk_insns(c, &cache);
}

static uint64_t pass_insns_bare(const bench_case *c)
{
    return walk_insns(c, NULL);
}

const bench_row bench_ours[] = {
    {"packets", "ipt", NULL, pass_packets, 0, 0, 0},
    {"events", "ipt", NULL, pass_events, 0, 0, 0},
    {"blocks", "ipt", prepare_warm, pass_blocks, 1, 0, 0},
    {"hot", "ipt", prepare_hot, pass_hot, 1, 0, 0},
    {"hot", "ipt, blocks alone", prepare_warm, pass_blocks, 1, 1, 0},
    {"perf.data", "ipt, blocks", prepare_warm, pass_blocks, 1, 1, 0.9},
    {"insns", "ipt", prepare_warm, pass_insns, 1, 0, 0},
    {"blocks cold", "ipt", prepare_empty, pass_blocks, 1, 0, 0},
    {"insns cold", "ipt", prepare_empty, pass_insns, 1, 0, 0},
    {"insns, no cache", "ipt", NULL, pass_insns_bare, 1, 0, 0},
    {0},
};

uint64_t bench_once(const bench_case *c, const bench_row *row)
{
    return row->pass(c);
}
