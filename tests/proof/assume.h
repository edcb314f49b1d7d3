/* assume.h: what the proofs assume of a state or of an argument, and who sees
 * to it: a harness that proves it, or a duty of the caller in ipt.h. Only what
 * is assumed of hot traces stands elsewhere, in hot.h.
 *
 * What is assumed is a predicate here, is_...; prove_assume_... reach both
 * sides of each. An invariant is assumed at the beginning of a harness and
 * shown at its end, so each harness that is named with it proves it for what
 * that one is about. How large a table is, or which packet comes, is what a
 * harness is about, and stands there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ASSUME_H
#define ASSUME_H

/* ---- trace and config ---- */

typedef struct proof_bytes {
    uint8_t at[IPTI_WINDOW];
} proof_bytes;

/* Trace bytes are hostile: nothing is assumed of them. What a window holds
 * after the end of the trace is 0. Proved: cursor_collect, cursor_pieces. */
static int is_window(const proof_bytes *bytes, size_t n)
{
    size_t i;
    int good = n >= 1 && n <= IPTI_WINDOW;

    for (i = 0; i < IPTI_WINDOW; i++)
        good = good && (i < n || bytes->at[i] == 0);
    return good;
}

/* The values of a config. Proved: assume_sides, that _init takes no others. */
static int is_config(const ipt_config *config)
{
    return ipti_config_values(config) >= 0;
}

/* Duty of the caller, at ipt_trace.offset: the trace ends below 2^64. */
static int is_short(const ipt_trace *trace, uint64_t size)
{
    return trace->offset + size >= trace->offset;
}

/* How many TNT bits come at once: the walk takes up to 63. Proved: pkt_shape,
 * queue_fill. */
static int is_tnt(unsigned count)
{
    return count <= 63;
}

/* What [pkt] reads keeps to the width of its fields. Proved: pkt_shape. */
static int is_packet(const ipt_packet *packet)
{
    switch (packet->type) {
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        return packet->u.ip.ipc <= 7;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        return is_tnt(packet->u.tnt.count);
    case IPT_PKT_CFE:
        return packet->u.cfe.type <= 31;
    default:
        return packet->type < IPT_PKT_COUNT;
    }
}

/* BBP says how long the items of a PEBS block are. Proved: pkt_block. */
static int is_block(uint8_t block)
{
    const uint8_t size = block & IPTI_BLOCK_SIZE;

    return block == 0
           || ((size == 4 || size == 8)
               && (block & ~(IPTI_BLOCK_SIZE | IPTI_BLOCK_FUP)) == 0);
}

/* ---- the cursor ----
 *
 * begins[i]: where segment i begins, or trace that has no more. Proved:
 * cursor_init makes all of it, and the other cursor_... keep it. */

/* Where it is. When the trace begins elsewhere than it did, all is looked for
 * again. */
static int is_cursor_place(const ipt_cursor_ *cur, const ipt_trace *trace,
                           const uint64_t *begins)
{
    if (cur->origin != trace->offset)
        return 1;
    if (cur->piece >= trace->count)
        return cur->seg >= trace->count;
    return cur->begin == begins[cur->piece]
           && (cur->seg == IPTI_NOWHERE
               || (cur->seg == cur->piece
                   && !ipti_seg_gap(&trace->seg[cur->piece])));
}

/* `piece` holds pos, or is the last one. */
static int is_cursor_here(const ipt_cursor_ *cur, const ipt_trace *trace,
                          const uint64_t *begins, uint64_t pos)
{
    if (cur->origin != trace->offset || pos < cur->begin)
        return 0;
    if (trace->count == 0)
        return cur->seg == IPTI_NOWHERE && cur->begin == trace->offset;
    return cur->piece < trace->count
           && (cur->piece + 1 == trace->count || pos < begins[cur->piece + 1])
           && (cur->seg == cur->piece)
                  == !ipti_seg_gap(&trace->seg[cur->piece]);
}

/* `quick` promises 16 bytes in one segment, and that nothing else is to be
 * looked at. Proved: also clock_step. */
static int is_cursor_quick(const ipt_cursor_ *cur, const ipt_trace *trace,
                           uint64_t pos)
{
    return cur->quick == 0 || cur->origin != trace->offset
           || (cur->seg < trace->count && cur->state == IPTI_CUR_SYNC
               && !cur->block
               && trace->seg[cur->seg].size >= IPTI_WINDOW
               && pos >= cur->begin
               && cur->quick - cur->begin
                      <= trace->seg[cur->seg].size - (IPTI_WINDOW - 1));
}

/* What it is up to. A search knows where what it met begins. */
static int is_cursor_state(const ipt_cursor_ *cur, uint64_t pos)
{
    return cur->state <= IPTI_CUR_GAP && cur->run <= 18
           && ((cur->state != IPTI_CUR_FORWARD && cur->state != IPTI_CUR_GAP)
               || cur->limit + ipti_psb_kept(cur->run) == pos);
}

/* ---- the queue of [evt] ---- */

/* A record: an overflow waits for the end of its phase or for nothing, and so
 * does a CFE that a PIP was found to mean, which enters or leaves a guest; TNT
 * bits are as many as a packet has. Proved: queue_... and step_... keep it. */
static int is_record(const ipt_pending_ *record)
{
    const int loose = record->waits == IPTI_WAIT_HELD
                      || record->waits == IPTI_WAIT_NOW;
    const ipt_event *const event = &record->event;

    switch (event->type) {
    case IPT_EVT_OVERFLOW:
        return loose;
    case IPT_EVT_CFE:
        return !(event->u.cfe.has & IPT_CFE_INFERRED)
               || (loose && (event->u.cfe.type == IPT_CFE_VMENTRY
                             || event->u.cfe.type == IPT_CFE_VMEXIT));
    case IPT_EVT_TNT:
        return is_tnt(event->u.tnt.count);
    default:
        return 1;
    }
}

/* As ipti_evt_queue calls ipti_evt_packet: no error waits, and in a phase there
 * is room for two records. Proved: step_likely. */
static int is_ready(const ipt_evt_state_ *evt)
{
    return evt->error == 0 && evt->phase <= IPTI_EVT_BOGUS
           && evt->count <= (evt->phase < IPTI_EVT_HELD ? IPT_PENDING_MAX_
                                                        : IPTI_EVT_FULL);
}

/* Nor could record i be handed out. Proved: step_likely. */
static int is_waiting(const ipt_evt_state_ *evt, unsigned i)
{
    return i >= evt->count || !(evt->pending[i].waits & IPTI_WAIT_NOW);
}

/* After an OVF that is not decided, record i is its overflow, and waits. Which
 * one it is is not assumed. Proved: step_... keep it, ipti_evt_reset makes
 * phase FLOW. */
static int is_lost_at(const ipt_evt_state_ *evt, unsigned i)
{
    return evt->phase < IPTI_EVT_LOST
           || (i < evt->count && evt->pending[i].event.type == IPT_EVT_OVERFLOW
               && evt->pending[i].waits == IPTI_WAIT_HELD);
}

/* What [evt] hands out. Proved: queue_fill, queue_pop. */
static int is_event(const ipt_event *event)
{
    switch (event->type) {
    case IPT_EVT_CFE:
        return !(event->u.cfe.has & IPT_CFE_INFERRED)
               || event->u.cfe.type == IPT_CFE_VMENTRY
               || event->u.cfe.type == IPT_CFE_VMEXIT;
    case IPT_EVT_TNT:
        return is_tnt(event->u.tnt.count);
    default:
        return 1;
    }
}

/* ---- [cache] ----
 *
 * Proved: cache_put, cache_follow, cache_name and cache_bytes keep it, and a
 * line of zeros, as ipt_cache_init makes them, is one. */

/* Links lead to lines. */
static int is_line(const ipt_cache *cache, const ipt_cache_line *line)
{
    return line->next_[0] <= cache->last_ && line->next_[1] <= cache->last_;
}

/* Lines that name address spaces have no space in their key, ... */
static int is_name(const ipt_cache_line *line)
{
    return line->key_ && line->key_ >> IPTI_MODE_BITS == 0;
}

/* ... and only the first two lines of a group are names. */
static int is_placed(const ipt_cache_line *line, uint32_t i)
{
    return !is_name(line) || i % IPTI_GROUP < 2;
}

/* A window of code has as many bytes as are asked for at most. By reading, and
 * not proved: ipti_code_ask refuses a config.read that returns more. */
static int is_code(const ipt_window_ *window)
{
    return window->size <= IPTI_ASK;
}

/* ---- [hot] ----
 *
 * tests/proof/hot.h says what its tables may hold: hot_init makes that. */

#endif
