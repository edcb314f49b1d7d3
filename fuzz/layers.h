/* layers.h: what each layer adds to a run: its calls, and what holds of its
 * packets, events, queries, blocks, instructions. A part of fuzz.h. */
#ifndef FUZZ_LAYERS_H
#define FUZZ_LAYERS_H
#include "run.h"

/* ---- packets ---- */

static inline int fuzz_pkt_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    (void) cache;
    return ipt_pkt_init((ipt_pkt_decoder *) decoder, config, trace);
}

static inline int fuzz_pkt_forward(void *decoder)
{
    return ipt_pkt_sync_forward((ipt_pkt_decoder *) decoder);
}

static inline int fuzz_pkt_backward(void *decoder)
{
    return ipt_pkt_sync_backward((ipt_pkt_decoder *) decoder);
}

static inline int fuzz_pkt_set(void *decoder, uint64_t offset)
{
    return ipt_pkt_sync_set((ipt_pkt_decoder *) decoder, offset);
}

static inline int fuzz_untouched(const void *item, size_t size)
{
    const uint8_t *p = (const uint8_t *) item;

    uint64_t touched = 0;
    size_t i = 0;

    for (; i + 8 <= size; i += 8)
        touched |= fuzz_word(p + i) ^ 0xa5a5a5a5a5a5a5a5u;
    for (; i < size; i++)
        touched |= (uint64_t) (p[i] ^ 0xa5);
    return touched == 0;
}

/* What was decoded can be written, and reads the same again: the bytes written
 * stand for all fields. */
static inline uint64_t fuzz_packet(fuzz_run *run, const ipt_packet *packet)
{
    uint8_t bytes[16];
    ipt_packet copy = *packet;
    int size;

    if (packet->type == IPT_PKT_UNKNOWN)
        return fuzz_hash(packet->u.unknown, sizeof(packet->u.unknown));
    if (packet->type == IPT_PKT_INVALID)
        return packet->size;
    if (packet->type == IPT_PKT_GAP)
        return packet->u.gap.lost;
    copy.size = 1; /* of a run of PAD */
    size = ipt_pkt_encode(bytes, sizeof(bytes), &copy);
    FUZZ_CHECK(run, size > 0);
    FUZZ_CHECK(run, size <= (int) packet->size);
    FUZZ_CHECK(run, size == (int) packet->size || packet->type == IPT_PKT_PAD
                        || packet->type == IPT_PKT_CYC
                        || run->config.errata & IPT_ERRATUM_SKD007);
    return run->stop ? 0 : fuzz_hash(bytes, (size_t) size);
}

/* A clock takes any packet. Returns its time. */
static inline uint64_t fuzz_tell(fuzz_run *run, const ipt_packet *packet)
{
    const ipt_clock before = run->clock;
    const int status = ipt_time_packet(&run->clock, packet);

    FUZZ_CHECK(run, status == IPT_OK || status == IPT_NO_TIME
                        || status == IPT_ERR_CONTEXT
                        || status == IPT_ERR_CONFIG
                        || status == IPT_ERR_PACKET);
    if (run->config.flags & IPT_CONFIG_MONOTONIC && before.has_tsc
        && run->clock.has_tsc)
        FUZZ_CHECK(run, run->clock.tsc >= before.tsc);
    return run->clock.tsc ^ run->clock.fcr << 1 ^ run->clock.lost_cyc;
}

/* The IP of a packet has the payload's bits, and what was before above them or,
 * with IPBytes 3, copies of bit 47. */
static inline void fuzz_last_ip(fuzz_run *run, const ipt_packet *packet)
{
    static const unsigned sent[8] = {0, 16, 32, 48, 48, 0, 64, 0};
    const uint64_t before = run->last_ip;
    const int has = ipt_pkt_last_ip(&run->last_ip, packet);
    const unsigned n = has ? sent[packet->u.ip.ipc] : 0;
    unsigned i;

    FUZZ_CHECK(run, !has || n);
    for (i = 0; has && i < 64; i++) {
        const uint64_t from = i < n ? packet->u.ip.payload >> i
                              : packet->u.ip.ipc == 3
                                  ? packet->u.ip.payload >> 47
                                  : before >> i;
        FUZZ_CHECK(run, ((run->last_ip >> i ^ from) & 1) == 0);
    }
    FUZZ_CHECK(run, has || run->last_ip == before || run->last_ip == 0);
}

static inline int fuzz_pkt_next(fuzz_run *run)
{
    ipt_where *at = fuzz_at(run);
    const uint64_t from = at->offset;
    ipt_packet packet;
    fuzz_item item;
    fuzz_item *last;
    int status;

    memset(&packet, 0xa5, sizeof(packet));
    status = ipt_pkt_next((ipt_pkt_decoder *) run->decoder, &packet);
    if (status < 0) {
        FUZZ_CHECK(run, fuzz_untouched(&packet, sizeof(packet)));
        return status;
    }
    FUZZ_CHECK(run, packet.type);
    FUZZ_CHECK(run, packet.type < IPT_PKT_COUNT);
    FUZZ_CHECK(run, packet.size > 0);
    FUZZ_CHECK(run, packet.offset >= from
                        || (packet.type == IPT_PKT_PSB && run->lost
                            && packet.offset + packet.size + 1 >= from));
    FUZZ_CHECK(run, packet.size <= 16 || packet.type == IPT_PKT_PAD
                        || packet.type == IPT_PKT_UNKNOWN
                        || packet.type == IPT_PKT_GAP);
    FUZZ_CHECK(run, packet.offset + packet.size == at->offset
                        || packet.size == UINT32_MAX); /* a large gap */
    FUZZ_CHECK(run, packet.offset == at->packet_offset);
    FUZZ_CHECK(run, packet.type == at->packet);
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_PACKET;
    item.kind = packet.type;
    item.offset = packet.offset;
    item.count = packet.size;
    item.hash = fuzz_packet(run, &packet);
    item.end = fuzz_tell(run, &packet);
    fuzz_last_ip(run, &packet);
    last = run->log->count ? &run->log->item[run->log->count - 1] : NULL;
    if (packet.type == IPT_PKT_PAD && last && last->what == FUZZ_PACKET
        && last->kind == IPT_PKT_PAD && last->offset + last->count
                                            == item.offset)
        last->count += item.count;
    else
        fuzz_put(run, &item);
    return status;
}

static const fuzz_layer fuzz_pkt
    = {"pkt", sizeof(ipt_pkt_decoder), fuzz_pkt_init, fuzz_pkt_forward,
       fuzz_pkt_backward, fuzz_pkt_set, fuzz_pkt_next, NULL, IPT_ERR_TRUNCATED,
       0, 0, NULL};

/* ---- events ---- */

static inline int fuzz_evt_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    (void) cache;
    return ipt_evt_init((ipt_evt_decoder *) decoder, config, trace);
}

static inline int fuzz_evt_forward(void *decoder)
{
    return ipt_evt_sync_forward((ipt_evt_decoder *) decoder);
}

static inline int fuzz_evt_backward(void *decoder)
{
    return ipt_evt_sync_backward((ipt_evt_decoder *) decoder);
}

static inline int fuzz_evt_set(void *decoder, uint64_t offset)
{
    return ipt_evt_sync_set((ipt_evt_decoder *) decoder, offset);
}

/* What the event's member of u holds, as a hash of its words; what says itself
 * that it is not there counts as 0. */
static inline uint64_t fuzz_event_data(const ipt_event *event)
{
    ipt_event e = *event;
    char words[IPT_WORDS_MAX];

    if (e.type == IPT_EVT_TNT)
        return e.u.tnt.bits; /* as queries give them */
    if (e.flags & IPT_EVENT_NO_TO)
        e.u.branch.to = 0;
    if (e.type == IPT_EVT_TRIG && !e.u.trig.icntv)
        e.u.trig.icnt = 0;
    if (e.type == IPT_EVT_CFE) {
        if (!(e.u.cfe.has & (IPT_CFE_HAS_CR2 | IPT_CFE_HAS_VMXQ)))
            e.u.cfe.data[0] = 0;
        if (!(e.u.cfe.has & IPT_CFE_HAS_VMXR))
            e.u.cfe.data[1] = 0;
        if (!(e.u.cfe.has & IPT_CFE_HAS_VECTOR))
            e.u.cfe.vector = 0;
    }
    return fuzz_hash(words, (size_t) ipt_event_words(&e, words, sizeof(words)));
}

static inline void fuzz_event(fuzz_run *run, const ipt_event *event)
{
    const uint64_t begin = fuzz_begin(run->c);
    fuzz_item item;

    FUZZ_CHECK(run, event->type);
    FUZZ_CHECK(run, event->type < IPT_EVT_COUNT);
    FUZZ_CHECK(run, event->offset >= begin);
    FUZZ_CHECK(run, event->offset < fuzz_at(run)->offset);
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_EVENT;
    item.kind = event->type;
    item.flags = event->flags;
    item.offset = event->offset;
    item.ip = event->flags & IPT_EVENT_NO_IP ? 0 : event->ip;
    item.end = event->tsc;
    item.count = event->lost_mtc * 65537 + event->lost_cyc;
    item.size = event->cbr;
    FUZZ_CHECK(run, !(run->c->high & IPT_CONFIG_NO_TIME)
                        || !(item.end || item.count || item.size
                             || item.flags & IPT_EVENT_TSC));
    item.hash = fuzz_event_data(event);
    if (event->type == IPT_EVT_TNT)
        item.mode = event->u.tnt.count;
    run->before.what = 0;
    run->told = FUZZ_TOLD_NONE;
    run->path = 0;
    fuzz_put(run, &item);
}

static inline int fuzz_evt_next(fuzz_run *run)
{
    ipt_event event;
    int status;

    memset(&event, 0xa5, sizeof(event));
    status = ipt_evt_next((ipt_evt_decoder *) run->decoder, &event);
    if (status < 0)
        FUZZ_CHECK(run, fuzz_untouched(&event, sizeof(event)));
    else
        fuzz_event(run, &event);
    /* each packet is an event, and adds one of its PSB+ or its FUP at most */
    FUZZ_CHECK(run, run->log->events <= 2 * run->given + 4);
    return status;
}

static inline int fuzz_evt_start(void *decoder, const ipt_start *start)
{
    return ipt_evt_start((ipt_evt_decoder *) decoder, start);
}

static const fuzz_layer fuzz_evt
    = {"evt", sizeof(ipt_evt_decoder), fuzz_evt_init, fuzz_evt_forward,
       fuzz_evt_backward, fuzz_evt_set, fuzz_evt_next, NULL, IPT_ERR_EVENTS,
       0, 0, fuzz_evt_start};

/* ---- queries ---- */

static inline int fuzz_qry_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    (void) cache;
    return ipt_qry_init((ipt_qry_decoder *) decoder, config, trace);
}

static inline int fuzz_qry_forward(void *decoder)
{
    uint64_t ip;
    const int status
        = ipt_qry_sync_forward((ipt_qry_decoder *) decoder, &ip);

    if (status >= 0 && !(status & IPT_IP_SUPPRESSED))
        fuzz_sink += ip;
    return status;
}

static inline int fuzz_qry_backward(void *decoder)
{
    uint64_t ip;

    return ipt_qry_sync_backward((ipt_qry_decoder *) decoder, &ip);
}

static inline int fuzz_qry_set(void *decoder, uint64_t offset)
{
    uint64_t ip;

    return ipt_qry_sync_set((ipt_qry_decoder *) decoder, offset, &ip);
}

/* A TNT bit or a TIP. */
static inline void fuzz_branch(fuzz_run *run, uint8_t type, uint64_t ip)
{
    fuzz_item item;

    memset(&item, 0, sizeof(item));
    item.what = FUZZ_EVENT;
    item.kind = type;
    item.ip = ip;
    fuzz_put(run, &item);
}

static inline int fuzz_qry_cond(fuzz_run *run)
{
    int taken = -7;
    const int status
        = ipt_qry_cond_branch((ipt_qry_decoder *) run->decoder, &taken);

    FUZZ_CHECK(run, status < 0 ? taken == -7 : taken == 0 || taken == 1);
    if (status >= 0)
        fuzz_branch(run, IPT_EVT_TNT, (uint64_t) taken);
    return status;
}

static inline int fuzz_qry_indirect(fuzz_run *run)
{
    const uint64_t before = 0xa5a5a5a5a5a5a5a5u;
    uint64_t ip = before;
    const int status
        = ipt_qry_indirect_branch((ipt_qry_decoder *) run->decoder, &ip);

    FUZZ_CHECK(run, status >= 0 || ip == before);
    if (status >= 0) /* suppressed: by it, or after it */
        fuzz_branch(run, IPT_EVT_TIP, ip == before ? 0 : ip);
    return status;
}

static inline int fuzz_qry_event(fuzz_run *run)
{
    ipt_event event;
    int status;

    memset(&event, 0xa5, sizeof(event));
    status = ipt_qry_event((ipt_qry_decoder *) run->decoder, &event);
    if (status < 0)
        FUZZ_CHECK(run, fuzz_untouched(&event, sizeof(event)));
    else
        fuzz_event(run, &event);
    return status;
}

/* Does it ask for branches in any order? */
static inline int fuzz_wild(const fuzz_case *c)
{
    return c->clone & 1;
}

/* Ask for what the trace has, in this order or that. */
static inline int fuzz_qry_next(fuzz_run *run)
{
    const int wild = fuzz_wild(run->c) && run->log->total % 3 == 0;
    int status = IPT_ERR_QUERY;

    if (fuzz_wild(run->c) && run->log->total % 3 == 1)
        status = fuzz_qry_event(run);
    if (status == IPT_ERR_QUERY)
        status = wild ? fuzz_qry_indirect(run) : fuzz_qry_cond(run);
    if (status == IPT_ERR_QUERY)
        status = wild ? fuzz_qry_cond(run) : fuzz_qry_indirect(run);
    if (status == IPT_ERR_QUERY)
        status = fuzz_qry_event(run);
    return status;
}

static const fuzz_layer fuzz_qry
    = {"qry", sizeof(ipt_qry_decoder), fuzz_qry_init, fuzz_qry_forward,
       fuzz_qry_backward, fuzz_qry_set, fuzz_qry_next, NULL, IPT_ERR_EVENTS,
       0, 3, NULL};

/* ---- flow: blocks and instructions ---- */

/* Pull what is pending. */
static inline const ipt_walk_ *fuzz_walk(const fuzz_run *run);

/* IPT_LAST: an item or an event (told: FUZZ_TOLD_EVENT) came with `status`. The
 * one before was not the last one, unless this one is unproven. */
static inline void fuzz_told(fuzz_run *run, int status, int told)
{
    FUZZ_CHECK(run, run->told != FUZZ_TOLD_LAST
                        || (told != FUZZ_TOLD_EVENT
                            && status & IPT_UNPROVEN));
    FUZZ_CHECK(run, !(status & IPT_LAST) || !(status & IPT_EVENT_PENDING));
    FUZZ_CHECK(run, !(status & IPT_LAST) || !run->trace.open);
    FUZZ_CHECK(run, !(status & IPT_UNPROVEN) || status & IPT_LAST
                        || status & IPT_EVENT_PENDING);
    if (run->told == FUZZ_TOLD_NONE) /* it may have waited for a _sync */
        told = FUZZ_TOLD_EVENT;
    run->told = status & IPT_LAST ? FUZZ_TOLD_LAST : told;
}

/* at.mode, as it was before the call, is that of the code at at.ip, unless an
 * event comes first. Flow may be past an item that was held back and, if its
 * last instruction jumps, back where the item began: a JMP to itself, too. */
static inline void fuzz_mode(fuzz_run *run, int status, const fuzz_item *item,
                             const ipt_where *was)
{
    if (run->calm && was->ip == item->ip && was->valid & IPT_AT_IP
        && (run->first
            || (!is_branch(item->kind) && item->kind != IPT_INSN_JMP
                && item->kind != IPT_INSN_CALL)))
        FUZZ_CHECK(run, item->mode == was->mode);
    run->calm = !run->c->unwanted
                && !(status & (IPT_EVENT_PENDING | IPT_IP_SUPPRESSED));
}

/* Nothing came. Where the trace ends, that was said before, unless flow is
 * stepped over, something is left that leads no further, or an event could not
 * look ahead, as in the middle of a _resync. */
static inline void fuzz_told_end(fuzz_run *run, int status)
{
    const ipt_walk_ *w = fuzz_walk(run);
    const int left = w->next.tnt << 1 != 0 /* bits, after which a 1 stands */
                     || w->next.has_tip || w->next.has_event || w->out.count
                     || w->flow.hidden || w->resync.state || run->c->unwanted;

    if (run->told == FUZZ_TOLD_LAST && !run->trace.open)
        FUZZ_CHECK(run, status == IPT_END
                            || run->config.flags & IPT_CONFIG_WALK_ON);
    if (status == IPT_END && run->told == FUZZ_TOLD_NOT && !run->quiet)
        FUZZ_CHECK(run, left);
    if (status == IPT_END && run->told == FUZZ_TOLD_EVENT && run->first
        && fuzz_reads(run->c) != FUZZ_HOLES)
        FUZZ_CHECK(run, left);
}

static inline int fuzz_pull(fuzz_run *run, int status,
                            int (*pull)(fuzz_run *run, ipt_event *event))
{
    ipt_event event;
    int n = 0;
    int again = status;

    while (!run->quiet && !run->stop && n++ < 4 + 2 * (int) run->given) {
        memset(&event, 0xa5, sizeof(event));
        again = pull(run, &event);
        if (again < 0)
            break;
        FUZZ_CHECK(run, status == IPT_EVENT_FIRST
                            || (status >= 0 && status & IPT_EVENT_PENDING));
        fuzz_told(run, again, FUZZ_TOLD_EVENT);
        run->calm = 0;
        fuzz_event(run, &event);
        if (!(again & IPT_EVENT_PENDING)) {
            memset(&event, 0xa5, sizeof(event));
            again = pull(run, &event);
            break;
        }
    }
    if (!run->quiet && !run->stop) {
        FUZZ_CHECK(run, again == IPT_END || again == IPT_ERR_NOSYNC);
        /* a held block comes, or waits for its page, although a search since
         * then has failed */
        FUZZ_CHECK(run, again == IPT_END || status == again || status >= 0
                            || status == IPT_NEED_PAGE);
        FUZZ_CHECK(run, fuzz_untouched(&event, sizeof(event)));
        FUZZ_CHECK(run, status == IPT_EVENT_FIRST || n == 1
                            || (status >= 0 && status & IPT_EVENT_PENDING));
    }
    return status;
}

/* Flow that uses no trace comes to an end: no address repeats forever. A TRIG
 * at hand may count any number of instructions. */
static inline void fuzz_path(fuzz_run *run, uint8_t kind)
{
    const ipt_walk_ *w = fuzz_walk(run);

    if (w->next.has_event && w->next.event.type == IPT_EVT_TRIG)
        run->path = 0;
    else if (is_branch(kind) && kind != IPT_INSN_RSM && kind != IPT_INSN_INTO)
        run->path = 0;
    else
        run->path++;
    if (fuzz_pure(run->c) && fuzz_reads(run->c) != FUZZ_MIRROR
        && !run->c->image)
        FUZZ_CHECK(run, run->path <= 8 * run->c->code_size + 160);
}

static inline int fuzz_blk_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    return ipt_blk_init((ipt_blk_decoder *) decoder, config, trace, cache);
}

static inline int fuzz_blk_forward(void *decoder)
{
    return ipt_blk_sync_forward((ipt_blk_decoder *) decoder);
}

static inline int fuzz_blk_backward(void *decoder)
{
    return ipt_blk_sync_backward((ipt_blk_decoder *) decoder);
}

static inline int fuzz_blk_set(void *decoder, uint64_t offset)
{
    return ipt_blk_sync_set((ipt_blk_decoder *) decoder, offset);
}

static inline int fuzz_blk_resync(void *decoder)
{
    return ipt_blk_resync((ipt_blk_decoder *) decoder);
}

static inline int fuzz_blk_event(fuzz_run *run, ipt_event *event)
{
    return ipt_blk_event((ipt_blk_decoder *) run->decoder, event);
}

static inline int fuzz_blk_next(fuzz_run *run)
{
    ipt_block block;
    fuzz_item item;
    ipt_where was;
    int status;

    if (run->log->count
        && run->log->item[run->log->count - 1].what == FUZZ_SYNC
        && !run->quiet) /* events may be there before the first block */
        (void) fuzz_pull(run, IPT_EVENT_PENDING, fuzz_blk_event);
    was = *fuzz_at(run);
    memset(&block, 0xa5, sizeof(block));
    status = ipt_blk_next((ipt_blk_decoder *) run->decoder, &block);
    if (status >= 0) {
        FUZZ_CHECK(run, block.count > 0);
        FUZZ_CHECK(run, block.kind < IPT_INSN_COUNT);
        FUZZ_CHECK(run, block.last_size > 0);
        FUZZ_CHECK(run, block.last_size <= 15);
        FUZZ_CHECK(run, block.mode);
        FUZZ_CHECK(run, block.mode < IPT_MODE_COUNT);
        memset(&item, 0, sizeof(item));
        item.what = FUZZ_BLOCK;
        item.offset = block.offset;
        item.ip = block.ip;
        item.end = block.end_ip;
        item.count = block.count;
        item.flags = block.flags;
        item.status = status & IPT_UNPROVEN;
        item.kind = block.kind;
        item.size = block.last_size;
        item.mode = block.mode;
        fuzz_mode(run, status, &item, &was);
        fuzz_told(run, status, FUZZ_TOLD_NOT);
        fuzz_put(run, &item);
        fuzz_path(run, block.kind);
    } else {
        run->calm &= status > IPT_EVENT_FIRST;
        fuzz_told_end(run, status);
        FUZZ_CHECK(run, fuzz_untouched(&block, sizeof(block)));
        FUZZ_CHECK(run, fuzz_at(run)->error == status);
    }
    return fuzz_pull(run, status, fuzz_blk_event);
}

static inline int fuzz_blk_start(void *decoder, const ipt_start *start)
{
    return ipt_blk_start((ipt_blk_decoder *) decoder, start);
}

static const fuzz_layer fuzz_blk
    = {"blk", sizeof(ipt_blk_decoder), fuzz_blk_init, fuzz_blk_forward,
       fuzz_blk_backward, fuzz_blk_set, fuzz_blk_next, fuzz_blk_resync,
       IPT_ERR_MODE, 1, 15, fuzz_blk_start};

static inline int fuzz_insn_init(void *decoder, const ipt_config *config,
                                 const ipt_trace *trace, ipt_cache *cache)
{
    return ipt_insn_init((ipt_insn_decoder *) decoder, config, trace, cache);
}

static inline int fuzz_insn_forward(void *decoder)
{
    return ipt_insn_sync_forward((ipt_insn_decoder *) decoder);
}

static inline int fuzz_insn_backward(void *decoder)
{
    return ipt_insn_sync_backward((ipt_insn_decoder *) decoder);
}

static inline int fuzz_insn_set(void *decoder, uint64_t offset)
{
    return ipt_insn_sync_set((ipt_insn_decoder *) decoder, offset);
}

static inline int fuzz_insn_resync(void *decoder)
{
    return ipt_insn_resync((ipt_insn_decoder *) decoder);
}

static inline int fuzz_insn_event(fuzz_run *run, ipt_event *event)
{
    return ipt_insn_event((ipt_insn_decoder *) run->decoder, event);
}

/* Where the code segment of ip begins. */
static inline uint64_t fuzz_segment(const fuzz_run *run, uint8_t mode,
                                    uint64_t ip)
{
    const ipt_config *config = &run->config;

    if (mode == IPT_MODE_64 || !config->cs_base)
        return 0;
    return config->cs_base(&fuzz_at(run)->asid, (uint32_t) ip, mode,
                           config->context);
}

/* Copy the code at ip, of however many mappings, where it goes round at 4 GiB
 * in 16 and 32-bit modes. Returns how many bytes. */
static inline int fuzz_code(const fuzz_run *run, uint8_t *bytes, size_t size,
                            uint8_t mode, uint64_t ip, const ipt_asid *asid)
{
    uint64_t base = 0;
    size_t n;
    int got;

    if (run->c->image && run->config.flags & IPT_CONFIG_RELATIVE_IP)
        base = fuzz_segment(run, mode, ip);
    for (n = 0; n < size; n += (size_t) got) {
        uint64_t at = base + ip + n;
        size_t most = size - n;
        if (mode != IPT_MODE_64) {
            at = (uint32_t) at;
            if (most > (uint64_t) UINT32_MAX + 1 - at)
                most = (size_t) ((uint64_t) UINT32_MAX + 1 - at);
        }
        got = fuzz_copy(run->c, bytes + n, most, asid, at);
        if (got == 0)
            break;
    }
    return (int) n;
}

/* Are the bytes that the cache gives those that stand there? `asid` is where
 * the instruction executed. */
static inline void fuzz_bytes(fuzz_run *run, const fuzz_item *item,
                              const ipt_asid *asid)
{
    const int answer = run->answer;
    const uint32_t calls = run->calls;
    ipt_config config = run->config;
    uint8_t bytes[15];
    uint8_t got[15];
    uint64_t ip = item->ip;
    int n;

    if (item->mode != IPT_MODE_64)
        ip = (uint32_t) ip;
    config.fuel = NULL;
    n = ipt_cache_code(&run->cache, &config, asid, item->mode, ip, got,
                       item->size);
    FUZZ_CHECK(run, n == IPT_OK || n == IPT_NEED_PAGE || n == IPT_ERR_IMAGE
                        || n == IPT_BUDGET);
    if (n == IPT_OK) {
        n = fuzz_code(run, bytes, item->size, item->mode, ip, asid);
        FUZZ_CHECK(run, n == item->size);
        FUZZ_CHECK(run, fuzz_equal(bytes, got, item->size));
    }
    run->answer = answer;
    run->calls = calls;
}

/* Is it the instruction that stands there, and does it follow the last? */
static inline void fuzz_insn_check(fuzz_run *run, const fuzz_item *item)
{
    const fuzz_case *c = run->c;
    const fuzz_item *before = &run->before;
    const uint64_t next = before->ip + before->size;
    const ipt_config *config = &run->config;
    const int relative = (config->flags & IPT_CONFIG_RELATIVE_IP) != 0;
    uint64_t got = item->ip;
    uint8_t bytes[15];
    ipt_code code;
    int status;

    if (!fuzz_pure(c) || c->flags & FUZZ_ASID)
        return;
    if (item->mode != IPT_MODE_64)
        got = (uint32_t) got;
    status = fuzz_code(run, bytes, sizeof(bytes), item->mode, got,
                       &fuzz_at(run)->asid);
    status = ipt_classify(&code, bytes, (size_t) status, item->mode, NULL);
    FUZZ_CHECK(run, status == IPT_OK || fuzz_base(c) >= 0xffffffe0);
    if (status == IPT_OK && fuzz_base(c) < 0xffffffe0) {
        FUZZ_CHECK(run, code.size == item->size);
        FUZZ_CHECK(run, code.kind == item->kind);
    }
    if (before->what && before->mode == item->mode && !run->quiet
        && !c->unwanted) { /* else events say where flow went */
        const uint64_t base = relative || !config->cs_base
                                  ? 0
                                  : fuzz_segment(run, item->mode, before->ip);
        uint64_t to = next + before->hash;
        if (before->zero[0] && (relative || config->cs_base))
            to = base + ((to - base) & 0xffff);
        to = item->mode == IPT_MODE_64 ? to : (uint32_t) to;
        if (before->kind == IPT_INSN_OTHER)
            FUZZ_CHECK(run, got == (item->mode == IPT_MODE_64
                                        ? next
                                        : (uint32_t) next));
        if (before->kind == IPT_INSN_JMP || before->kind == IPT_INSN_CALL)
            FUZZ_CHECK(run, got == to);
    }
    run->before = *item;
    run->before.hash = (uint64_t) code.displacement;
    run->before.zero[0] = code.ip16;
    if (status != IPT_OK)
        run->before.what = 0;
}

static inline int fuzz_insn_next(fuzz_run *run)
{
    ipt_insn insn;
    fuzz_item item;
    ipt_where was;
    int status;

    if (run->log->count
        && run->log->item[run->log->count - 1].what == FUZZ_SYNC
        && !run->quiet)
        (void) fuzz_pull(run, IPT_EVENT_PENDING, fuzz_insn_event);
    was = *fuzz_at(run);
    memset(&insn, 0xa5, sizeof(insn));
    status = ipt_insn_next((ipt_insn_decoder *) run->decoder, &insn);
    if (status >= 0) {
        FUZZ_CHECK(run, insn.kind < IPT_INSN_COUNT);
        FUZZ_CHECK(run, insn.size > 0);
        FUZZ_CHECK(run, insn.size <= 15);
        FUZZ_CHECK(run, insn.mode);
        FUZZ_CHECK(run, insn.mode < IPT_MODE_COUNT);
        memset(&item, 0, sizeof(item));
        item.what = FUZZ_INSN;
        item.end = fuzz_at(run)->tsc;
        item.offset = insn.offset;
        item.ip = insn.ip;
        item.flags = insn.flags;
        if (fuzz_tears(run->c))
            item.flags &= (uint16_t) ~IPT_FLOW_TRUNCATED;
        item.status = status & IPT_UNPROVEN;
        item.kind = insn.kind;
        item.size = insn.size;
        item.mode = insn.mode;
        fuzz_mode(run, status, &item, &was);
        fuzz_insn_check(run, &item);
        if (run->cached && run->c->clone % 4 == 0 && fuzz_pure(run->c))
            fuzz_bytes(run, &item, &was.asid);
        fuzz_told(run, status, FUZZ_TOLD_NOT);
        fuzz_put(run, &item);
        fuzz_path(run, insn.kind);
    } else {
        run->calm &= status > IPT_EVENT_FIRST;
        fuzz_told_end(run, status);
        FUZZ_CHECK(run, fuzz_untouched(&insn, sizeof(insn)));
        FUZZ_CHECK(run, fuzz_at(run)->error == status);
    }
    return fuzz_pull(run, status, fuzz_insn_event);
}

static inline int fuzz_insn_start(void *decoder, const ipt_start *start)
{
    return ipt_insn_start((ipt_insn_decoder *) decoder, start);
}

static const fuzz_layer fuzz_insn
    = {"insn", sizeof(ipt_insn_decoder), fuzz_insn_init, fuzz_insn_forward,
       fuzz_insn_backward, fuzz_insn_set, fuzz_insn_next, fuzz_insn_resync,
       IPT_ERR_MODE, 1, 15, fuzz_insn_start};

static inline const ipt_walk_ *fuzz_walk(const fuzz_run *run)
{
    return run->layer == &fuzz_blk
               ? &((const ipt_blk_decoder *) run->decoder)->walk_
               : &((const ipt_insn_decoder *) run->decoder)->walk_;
}
#endif /* FUZZ_LAYERS_H */
