/* assume.c: both sides of what the other proofs assume are reached, and those
 * that an _init checks are told apart by it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_cursor_ nondet_cursor(void);
ipt_segment nondet_segment(void);
ipt_pending_ nondet_pending(void);
ipt_evt_state_ nondet_evt(void);
ipt_event nondet_event(void);
ipt_cache nondet_cache(void);
ipt_cache_line nondet_line(void);
ipt_window_ nondet_window(void);

/* Of a cursor in one segment, or in none. */
static void cursor_sides(void)
{
    const ipt_segment segment = nondet_segment();
    const ipt_cursor_ cur = nondet_cursor();
    const uint64_t pos = nondet_u64();
    uint64_t begins[2];
    ipt_trace trace = {0};
    int place;
    int here;
    int quick;

    trace.seg = &segment;
    trace.count = nondet_u8() & 1;
    trace.offset = begins[0] = nondet_u64();
    begins[1] = ipti_seg_end(&segment, begins[0]);
    place = is_cursor_place(&cur, &trace, begins);
    here = is_cursor_here(&cur, &trace, begins, pos);
    quick = is_cursor_quick(&cur, &trace, pos);
    REACH(place && cur.piece == 0 && trace.count && cur.seg == IPTI_NOWHERE);
    REACH(!place && cur.piece == 0 && trace.count && cur.begin == begins[0]);
    REACH(here && cur.seg == 0 && pos > begins[0]);
    REACH(!here && cur.seg == 0 && pos > begins[0]);
    REACH(quick && cur.quick && cur.origin == trace.offset);
    REACH(!quick);
    REACH(is_cursor_state(&cur, pos) && cur.state == IPTI_CUR_GAP);
    REACH(!is_cursor_state(&cur, pos) && cur.state == IPTI_CUR_GAP);
}

static void queue_sides(void)
{
    const ipt_pending_ record = nondet_pending();
    const ipt_evt_state_ evt = nondet_evt();
    const ipt_event event = nondet_event();
    const unsigned i = nondet_u8() & 15;
    const int good = is_record(&record);

    REACH(good && record.event.type == IPT_EVT_OVERFLOW);
    REACH(!good && record.event.type == IPT_EVT_OVERFLOW);
    REACH(good && record.event.type == IPT_EVT_CFE
          && record.event.u.cfe.has & IPT_CFE_INFERRED);
    REACH(!good && record.event.type == IPT_EVT_CFE);
    REACH(good && record.event.type == IPT_EVT_TNT && record.event.u.tnt.count == 47);
    REACH(!good && record.event.type == IPT_EVT_TNT);
    REACH(is_ready(&evt) && evt.count == IPT_PENDING_MAX_);
    REACH(!is_ready(&evt) && evt.count == IPT_PENDING_MAX_ && !evt.error);
    REACH(is_waiting(&evt, i) && i < evt.count);
    REACH(!is_waiting(&evt, i));
    REACH(is_lost_at(&evt, i) && evt.phase == IPTI_EVT_LOST);
    REACH(!is_lost_at(&evt, i));
    REACH(is_event(&event) && event.type == IPT_EVT_CFE);
    REACH(!is_event(&event) && event.type == IPT_EVT_CFE);
    REACH(is_event(&event) && event.type == IPT_EVT_TNT);
    REACH(!is_event(&event) && event.type == IPT_EVT_TNT);
}

static void cache_sides(void)
{
    const ipt_cache cache = nondet_cache();
    const ipt_cache_line line = nondet_line();
    const ipt_window_ window = nondet_window();
    const uint32_t i = nondet_u32();

    REACH(is_line(&cache, &line) && line.next_[0] == cache.last_);
    REACH(!is_line(&cache, &line));
    REACH(is_name(&line));
    REACH(!is_name(&line) && line.key_);
    REACH(is_placed(&line, i) && is_name(&line));
    REACH(!is_placed(&line, i));
    REACH(is_code(&window));
    REACH(!is_code(&window));
}

void prove_assume_sides(void)
{
    const ipt_config config = nondet_config();
    const ipt_packet packet = nondet_packet();
    const proof_bytes bytes = nondet_bytes();
    const size_t n = nondet_size();
    const uint8_t block = nondet_u8();
    const uint64_t size = nondet_u64();
    ipt_trace trace = {0};
    ipt_pkt_decoder decoder;
    int status;

    trace.offset = nondet_u64();
    trace.count = nondet_u8() & 1;
    status = ipt_pkt_init(&decoder, &config, &trace);
    CHECK((status == IPT_OK)
          == (is_config(&config) && !trace.count));
    CHECK((decoder.magic_ == ipti_magic(sizeof(decoder)))
          == (status == IPT_OK));
    REACH(status == IPT_OK);
    REACH(status == IPT_ERR_CONFIG);
    REACH(status == IPT_ERR_ARG);
    REACH(is_window(&bytes, n) && n == 1);
    REACH(!is_window(&bytes, n) && n == 1);
    REACH(is_packet(&packet) && packet.type == IPT_PKT_TNT_64);
    REACH(!is_packet(&packet) && packet.type == IPT_PKT_TNT_64);
    REACH(!is_packet(&packet) && packet.type == IPT_PKT_CFE);
    REACH(!is_packet(&packet) && packet.type == IPT_PKT_FUP);
    REACH(is_block(block) && block);
    REACH(!is_block(block));
    REACH(is_short(&trace, size) && size);
    REACH(!is_short(&trace, size));
    cursor_sides();
    queue_sides();
    cache_sides();
}
