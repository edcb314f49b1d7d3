/* side.c: our decoders on a trace, in all ways that scale_how knows. Compiled
 * for this tree and, with the ipt.h of BASE, for another; SIDE is the name that
 * is kept of it then. The image is that of this tree: ipt_asid has to be the
 * same in both. */
#include "scale.h"
#include <stdlib.h>
#include <string.h>

#ifndef SIDE
#define SIDE scale_now
#endif

typedef struct side {
    const scale_trace *t;
    scale_layer layer;
    scale_how how;
    size_t run; /* the one that is decoded */
    ipt_config config;
    ipt_cache cache;
    ipt_cache_line *lines;
    ipt_cov_memo memo;
    ipt_cov_line *memo_lines;
    ipt_cov_config cov;
    ipt_cov_decoder *cover;
    uint64_t fuel;
    uint64_t metered; /* fuel that was given: that of how, or without end */
    uint64_t reads;
    ipt_segment *pieces;
    size_t piece_count;
    size_t piece_next; /* to be handed out */
    ipt_trace trace;
    uint8_t map[BENCH_MAP];
} side;

/* ---- callbacks ---- */

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    side *s = context;

    s->reads++;
    return image_read(buffer, size, asid, ip,
                      (void *) (uintptr_t) &s->t->c.code);
}

static uint64_t one_space(const ipt_asid *asid, void *context)
{
    (void) asid;
    (void) context;
    return 1;
}

#ifndef NO_SPACE_AT
static uint64_t shared_kernel(const ipt_asid *asid, uint64_t ip,
                              uint64_t *first, uint64_t *last, void *context)
{
    const uint64_t kernel = ((const side *) context)->t->kernel;

    *first = ip < kernel ? 0 : kernel;
    *last = ip < kernel ? kernel - 1 : UINT64_MAX;
    return ip < kernel ? asid->cr3 : 1;
}
#endif

/* ---- trace and fuel ---- */

/* Have the trace of a run, or its first piece. */
static void begin(side *s, size_t run)
{
    const bench_case *c = &s->t->c;
    const size_t from = run ? c->ends[run - 1] : 0;
    const size_t size = c->ends[run] - from;
    const size_t piece = s->how.piece ? s->how.piece : size;
    size_t at;

    s->run = run;
    s->piece_count = 0;
    for (at = 0; at < size; at += piece) {
        ipt_segment *one = &s->pieces[s->piece_count++];
        one->data = c->trace + from + at;
        one->size = piece < size - at ? piece : size - at;
    }
    s->piece_next = 1;
    s->trace.seg = s->pieces;
    s->trace.count = 1;
    s->trace.open = s->piece_count > 1;
    s->trace.offset = 0;
}

/* A page that never held code. */
static void invalidate(side *s)
{
    const uint64_t page = 0x7f0000000000;

    if (s->layer == SCALE_COVERAGE)
        (void) ipt_cov_invalidate(s->cover, NULL, page, 4096);
    else
        (void) ipt_cache_invalidate(&s->cache, NULL, page, 4096);
}

static void add_piece(side *s, uint64_t release)
{
    ipt_trace *t = &s->trace;

    if (s->how.invalidate && s->layer == SCALE_COVERAGE)
        invalidate(s);
    if (s->piece_next == s->piece_count) {
        t->open = 0;
        return;
    }
    while (t->count > 1 && t->offset + t->seg->size <= release) {
        t->offset += t->seg->size;
        t->seg++;
        t->count--;
    }
    t->count++;
    s->piece_next++;
}

/* Supply what a call asks for. Returns whether it did ask. */
static int supply(side *s, int status, const ipt_where *at)
{
    if (status == IPT_BUDGET) {
        s->fuel = s->how.fuel;
        s->metered += s->fuel;
    } else if (status == IPT_MORE) {
        add_piece(s, at->release);
    } else if (status != IPT_END && status != IPT_EVENT_FIRST) {
        bench_remark = "with errors";
        return 0;
    }
    return 1;
}

/* ---- passes ---- */

static uint64_t pass_packets(side *s)
{
    static ipt_pkt_decoder decoder;
    ipt_packet packet;
    uint64_t count = 0;
    uint64_t sum = 0;
    int synced = 0;
    int status = ipt_pkt_init(&decoder, &s->config, &s->trace);

    while (status != IPT_END) {
        if (!synced)
            synced = (status = ipt_pkt_sync_forward(&decoder)) >= 0;
        while (synced && (status = ipt_pkt_next(&decoder, &packet)) >= 0) {
            count++;
            sum += packet.offset + packet.type;
        }
        synced = supply(s, status, &decoder.at) && synced;
    }
    bench_sink += sum;
    return count;
}

static uint64_t pass_events(side *s)
{
    static ipt_evt_decoder decoder;
    ipt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int synced = 0;
    int status = ipt_evt_init(&decoder, &s->config, &s->trace);

    while (status != IPT_END) {
        if (!synced)
            synced = (status = ipt_evt_sync_forward(&decoder)) >= 0;
        while (synced && (status = ipt_evt_next(&decoder, &event)) >= 0) {
            count++;
            sum += event.type;
            sum += event.type == IPT_EVT_TNT ? event.u.tnt.bits : event.ip;
        }
        synced = supply(s, status, &decoder.at) && synced;
    }
    bench_sink += sum;
    return count;
}

/* What comes next is found by asking for each of the three. */
static uint64_t pass_queries(side *s)
{
    static ipt_qry_decoder decoder;
    ipt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t ip = 0;
    int taken = 0;
    int pending = 0;
    int synced = 0;
    int status = ipt_qry_init(&decoder, &s->config, &s->trace);

    while (status != IPT_END) {
        if (!synced) {
            synced = (status = ipt_qry_sync_forward(&decoder, &ip)) >= 0;
            pending = synced ? status & IPT_EVENT_PENDING : 0;
        }
        while (synced) {
            status = pending ? ipt_qry_event(&decoder, &event)
                             : ipt_qry_cond_branch(&decoder, &taken);
            if (status == IPT_ERR_QUERY)
                status = ipt_qry_indirect_branch(&decoder, &ip);
            if (status == IPT_ERR_QUERY)
                status = ipt_qry_event(&decoder, &event);
            if (status < 0)
                break;
            pending = status & IPT_EVENT_PENDING;
            count++;
            sum += ip + (uint64_t) taken;
        }
        synced = supply(s, status, &decoder.at) && synced;
    }
    bench_sink += sum;
    return count;
}

static uint64_t pass_blocks(side *s)
{
    static ipt_blk_decoder decoder;
    ipt_block block;
    ipt_event event;
    const uint32_t every = s->how.invalidate;
    uint32_t left = every;
    uint64_t count = 0;
    uint64_t sum = 0;
    int synced = 0;
    int status = ipt_blk_init(&decoder, &s->config, &s->trace, &s->cache);

    while (status != IPT_END) {
        if (!synced)
            synced = (status = ipt_blk_sync_forward(&decoder)) >= 0;
        while (synced && (status = ipt_blk_next(&decoder, &block)) >= 0) {
            count += block.count;
            sum += block.ip + block.end_ip;
            while (status >= 0 && status & IPT_EVENT_PENDING)
                status = ipt_blk_event(&decoder, &event);
            if (every && --left == 0) {
                invalidate(s);
                left = every;
            }
        }
        synced = supply(s, status, &decoder.at) && synced;
    }
    bench_sink += sum;
    return count;
}

static uint64_t pass_insns(side *s)
{
    static ipt_insn_decoder decoder;
    ipt_insn insn;
    ipt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int synced = 0;
    int status = ipt_insn_init(&decoder, &s->config, &s->trace, &s->cache);

    while (status != IPT_END) {
        if (!synced)
            synced = (status = ipt_insn_sync_forward(&decoder)) >= 0;
        while (synced && (status = ipt_insn_next(&decoder, &insn)) >= 0) {
            count++;
            sum += insn.ip + insn.kind;
            while (status >= 0 && status & IPT_EVENT_PENDING)
                status = ipt_insn_event(&decoder, &event);
        }
        synced = supply(s, status, &decoder.at) && synced;
    }
    bench_sink += sum;
    return count;
}

static uint64_t pass_coverage(side *s)
{
    int status = ipt_cov_begin(s->cover, &s->trace);
    int lost = 0;

    while (status != IPT_END) {
        status = lost ? ipt_cov_resync(s->cover) : ipt_cov_run(s->cover);
        if (status >= 0)
            lost = 0;
        else if (!supply(s, status, &s->cover->at))
            lost = 1;
    }
    bench_map = s->map;
    return s->cover->at.offset - s->cover->begin;
}

static uint64_t decode(side *s, size_t run)
{
    begin(s, run);
    s->reads = 0;
    s->fuel = s->metered = s->how.fuel;
    switch (s->layer) {
    case SCALE_PACKETS:
        return pass_packets(s);
    case SCALE_EVENTS:
        return pass_events(s);
    case SCALE_QUERIES:
        return pass_queries(s);
    case SCALE_BLOCKS:
        return pass_blocks(s);
    case SCALE_INSNS:
        return pass_insns(s);
    default:
        return pass_coverage(s);
    }
}

/* ---- for scale.c ---- */

static size_t lines_of(size_t bytes, size_t line, size_t least)
{
    return bytes / line > least ? bytes / line : least;
}

/* A memo has a line for all of it when it has met a leg twice. */
static void side_learn(void *state)
{
    side *s = state;
    int times = s->layer == SCALE_COVERAGE ? 3 : s->layer >= SCALE_BLOCKS;

    (void) ipt_cache_init(&s->cache, s->lines,
                          lines_of(s->how.cache, sizeof(*s->lines), 64));
    (void) ipt_cov_memo_init(&s->memo, s->memo_lines,
                             lines_of(s->how.memo, sizeof(*s->memo_lines), 4));
    begin(s, 0);
    (void) ipt_cov_init(s->cover, &s->config, &s->cov, &s->trace, &s->cache);
    while (times--)
        (void) decode(s, 0);
}

static void side_close(void *state)
{
    side *s = state;

    if (s) {
        free(s->lines);
        free(s->memo_lines);
        free(s->cover);
        free(s->pieces);
    }
    free(s);
}

static void *side_open(const scale_trace *t, scale_layer layer,
                       const scale_how *how)
{
    const bench_case *c = &t->c;
    side *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->t = t;
    s->layer = layer;
    s->how = *how;
    s->lines = malloc(lines_of(how->cache, sizeof(*s->lines), 64)
                      * sizeof(*s->lines));
    s->memo_lines = malloc(lines_of(how->memo, sizeof(*s->memo_lines), 4)
                           * sizeof(*s->memo_lines));
    s->cover = calloc(1, sizeof(*s->cover));
    s->pieces = malloc((how->piece ? c->size / how->piece + 1 : 1)
                       * sizeof(*s->pieces));
    if (!s->lines || !s->memo_lines || !s->cover || !s->pieces) {
        side_close(s);
        return NULL;
    }
    s->config.context = s;
    s->config.read = read_code;
    s->config.space = how->flags & SCALE_ONE_SPACE ? one_space : NULL;
    s->config.fuel = how->fuel ? &s->fuel : NULL;
    s->config.flags = t->want.gen_flags & IPT_CONFIG_NO_RETCOMP;
#ifndef NO_SPACE_AT
    if (how->flags & SCALE_SPACE_AT)
        s->config.space_at = shared_kernel;
#endif
#ifdef IPT_CONFIG_NO_TIME
    if (how->flags & SCALE_NO_TIME)
        s->config.flags |= IPT_CONFIG_NO_TIME;
#endif
    s->config.cpuid_15_eax = c->cpuid_15_eax;
    s->config.cpuid_15_ebx = c->cpuid_15_ebx;
    s->config.mtc_freq = c->mtc_freq;
    s->config.nom_freq = c->nom_freq;
    s->cov.bitmap = s->map;
    s->cov.bitmap_size = BENCH_MAP;
    s->cov.memo = &s->memo;
    side_learn(s);
    return s;
}

static uint64_t side_pass(void *state)
{
    side *s = state;

    memset(s->map, 0, sizeof(s->map));
    return decode(s, s->t->c.runs - 1);
}

static uint64_t side_reads(const void *state)
{
    return ((const side *) state)->reads;
}

static uint64_t side_walked(void *state)
{
    side *s = state;
    const scale_how how = s->how;
    uint64_t items;
    uint64_t used;

    s->how.fuel = UINT64_MAX / 2;
    s->config.fuel = &s->fuel;
    items = side_pass(s);
    used = s->metered - s->fuel;
    s->how = how;
    s->config.fuel = how.fuel ? &s->fuel : NULL;
    return used > items / 16 ? used - items / 16 : 0;
}

static void side_invalidate(void *state, int any)
{
    side *s = state;
    const ipt_asid asid = {0x1000, IPT_ASID_UNKNOWN, 0};

    (void) ipt_cache_invalidate(&s->cache, any ? NULL : &asid, 0x401000, 4096);
}

const scale_side SIDE = {side_open,  side_close,  side_learn,     side_pass,
                         side_reads, side_walked, side_invalidate};
