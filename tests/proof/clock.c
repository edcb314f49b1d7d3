/* clock.c: ipti_evt_clock, the quick way of [evt] through MTC, CYC and PAD, in
 * a segment of any size, from any state of [evt].
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_evt_state_ nondet_evt(void);
ipt_cursor_ nondet_cursor(void);
ipt_where nondet_where(void);
ipt_clock nondet_clock(void);

static ipt_config config;
static ipt_segment segment;
static proof_bytes bytes; /* what is read at a packet */
static ipt_trace trace;
static ipt_cursor_ cur;
static ipt_where at;
static ipt_evt_state_ quick; /* as ipti_evt_clock leaves it */
static ipt_evt_state_ slow;
static ipt_packet ticked; /* what the clock saw */
static ipt_clock clock; /* as it is then */
static unsigned ticks;

static int is_quick(void)
{
    return is_cursor_quick(&cur, &trace, at.offset);
}

/* The loop comes round to the state that it may begin with, so that what holds
 * for one round does for any number. */
int given_ipti_cur_quick(const ipt_cursor_ *c, uint64_t pos)
{
    static int round = 0;

    CHECK(c == &cur);
    CHECK(pos == at.offset);
    if (round++) {
        CHECK(is_quick());
        return 0;
    }
    return pos < cur.quick && cur.origin == trace.offset;
}

/* 16 bytes that the segment has. */
const uint8_t *given_ipti_cur_at(const ipt_cursor_ *c, uint64_t pos)
{
    CHECK(c == &cur);
    CHECK(cur.seg == 0);
    CHECK(pos >= cur.begin);
    CHECK(segment.size >= IPTI_WINDOW);
    CHECK(pos - cur.begin <= segment.size - IPTI_WINDOW);
    return bytes.at;
}

/* The clock goes to the same state by the same packet. */
void given_ipti_evt_tick(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    if (ticks++) {
        CHECK(evt == &slow);
        CHECK(packet->type == ticked.type);
    } else {
        CHECK(evt == &quick);
        ticked.type = packet->type;
        if (packet->type == IPT_PKT_MTC)
            ticked.u.mtc.ctc = packet->u.mtc.ctc;
        else
            ticked.u.cyc.value = packet->u.cyc.value;
    }
    evt->clock = clock;
    evt->ticked = 1;
}

static int same_record(const ipt_pending_ *a, const ipt_pending_ *b)
{
    const ipt_event *const x = &a->event;
    const ipt_event *const y = &b->event;

    return x->offset == y->offset && x->ip == y->ip && x->type == y->type
           && x->flags == y->flags && x->tsc == y->tsc && x->cbr == y->cbr
           && x->u.cfe.data[0] == y->u.cfe.data[0]
           && x->u.cfe.data[1] == y->u.cfe.data[1]
           && x->u.cfe.type == y->u.cfe.type && x->u.cfe.has == y->u.cfe.has
           && a->waits == b->waits && a->stamped == b->stamped;
}

static void check_same_evt(void)
{
    const unsigned any = nondet_u8();

    CHECK(quick.last_ip == slow.last_ip);
    CHECK(quick.psb_ip == slow.psb_ip);
    CHECK(quick.error == slow.error);
    CHECK(quick.phase == slow.phase);
    CHECK(quick.psb_fup == slow.psb_fup);
    CHECK(quick.enabled == slow.enabled);
    CHECK(quick.synced == slow.synced);
    CHECK(quick.exec == slow.exec);
    CHECK(quick.skipped == slow.skipped);
    CHECK(quick.ticked == slow.ticked);
    CHECK(quick.count == slow.count);
    CHECK(quick.clock.state_ == slow.clock.state_);
    if (any < IPT_PENDING_MAX_)
        CHECK(same_record(&quick.pending[any], &slow.pending[any]));
}

/* The bytes that a packet of this size has, of which the type is known. */
static void check_size(uint64_t size)
{
    const unsigned i = nondet_u8();

    if (at.packet == IPT_PKT_MTC) {
        CHECK(bytes.at[0] == IPTI_FIRST_MTC);
        CHECK(size == IPTI_SIZE_MTC);
    } else if (at.packet == IPT_PKT_CYC) {
        CHECK(size == (bytes.at[0] & 4 ? 2 : 1));
    } else {
        CHECK(size < IPTI_WINDOW);
        CHECK(bytes.at[size] != IPTI_PAD);
        if (i < size)
            CHECK(bytes.at[i] == IPTI_PAD);
    }
}

/* One packet: in the segment, one of the three kinds, and [evt] is as
 * ipti_evt_packet leaves it. */
void prove_clock_step(void) /* unwind 9, given ipti_cur_quick ipti_cur_at
    ipti_evt_tick */
{
    uint64_t from;
    int moved;

    config = nondet_config();
    assume_config(&config);
    segment.size = nondet_size();
    segment.data = bytes.at;
    bytes = nondet_bytes();
    trace.seg = &segment;
    trace.count = 1;
    trace.offset = nondet_u64();
    __CPROVER_assume(is_short(&trace, segment.size));
    cur = nondet_cursor();
    cur.config = &config;
    cur.trace = &trace;
    cur.begin = trace.offset;
    at = nondet_where();
    __CPROVER_assume(is_quick());
    from = at.offset;
    clock = nondet_clock();
    quick = nondet_evt();
    quick.clock.config_ = &config;
    __CPROVER_assume(is_ready(&quick));
    slow = quick;
    moved = ipti_evt_clock(&cur, &quick, &at);
    CHECK(moved == (at.offset != from));
    if (moved) {
        CHECK(at.offset > from);
        CHECK(at.offset - trace.offset <= segment.size);
        CHECK(at.packet_offset == from);
        check_size(at.offset - from);
        CHECK(at.packet == IPT_PKT_PAD || at.packet == IPT_PKT_MTC
              || at.packet == IPT_PKT_CYC);
        CHECK((at.packet != IPT_PKT_PAD) == (ticks == 1));
        switch (at.packet) { /* constants, so that other packets are left out */
        case IPT_PKT_PAD:
            ticked.type = IPT_PKT_PAD;
            ipti_evt_packet(&slow, &config, &ticked);
            break;
        case IPT_PKT_MTC:
            ticked.type = IPT_PKT_MTC;
            ipti_evt_packet(&slow, &config, &ticked);
            break;
        default:
            ticked.type = IPT_PKT_CYC;
            ipti_evt_packet(&slow, &config, &ticked);
            break;
        }
        CHECK(ticks == (at.packet == IPT_PKT_PAD ? 0 : 2));
    }
    check_same_evt();
    REACH(moved && at.packet == IPT_PKT_PAD && at.offset == from + 15);
    REACH(moved && at.packet == IPT_PKT_MTC && segment.size > 1000);
    REACH(moved && at.packet == IPT_PKT_CYC
          && at.offset - trace.offset == segment.size - 14);
    REACH(!moved && from < cur.quick);
    REACH(moved && quick.phase == IPTI_EVT_BOGUS);
}
