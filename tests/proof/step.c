/* step.c: what each packet does to each phase of [evt], with a queue that may
 * be full. What functions of the queue do is whatever queue.h claims of them,
 * which tests/proof/queue.c proves.
 *
 * The invariant stands once, in is_evt. Each packet keeps it, unless it leaves
 * an error: then events are handed out until that comes, and only a function
 * that synchronises goes on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "queue.h"

static int changed;  /* the queue is not as it was at the beginning */
static unsigned any; /* the index of a record that is checked, whichever */
static unsigned records_were; /* before a phase ended: how many records, ... */
static int error_was;         /* ... and which error waited */

/* ---- the invariant ---- */

/* After an overflow that waits in the queue: the record that is followed, or
 * the last one, if it came or was moved there. */
static int is_evt(void)
{
    return evt.phase <= IPTI_EVT_BOGUS && evt.count <= IPT_PENDING_MAX_
           && (is_lost_at(&evt, followed) || is_lost_at(&evt, evt.count - 1u));
}

/* What holds for each record is assumed where one is looked at, and of any. */
static void look(unsigned i)
{
    __CPROVER_assume(i >= IPT_PENDING_MAX_ || is_record(&evt.pending[i]));
}

/* Any state in a phase. */
static void any_state(uint8_t phase)
{
    config = nondet_config();
    evt = nondet_evt();
    evt.clock.config_ = &config;
    followed = nondet_u8();
    __CPROVER_assume(evt.phase == phase && evt.count <= IPT_PENDING_MAX_);
    evt.phase = phase; /* a constant, so that other phases are left out */
    any = nondet_u8();
    __CPROVER_assume(any < IPT_PENDING_MAX_);
    look(any);
    __CPROVER_assume(followed < IPT_PENDING_MAX_
                     && is_lost_at(&evt, followed));
    look(followed);
}

/* As ipti_evt_queue calls ipti_evt_packet. The record that is followed is the
 * first overflow, if there is one. */
static void any_evt(uint8_t phase)
{
    any_state(phase);
    __CPROVER_assume(is_ready(&evt) && is_waiting(&evt, followed));
    evt.error = 0;
}

static void save(void)
{
    records_were = evt.count;
    error_was = evt.error;
}

/* In the middle of a packet: the queue may be full and have changed, and an
 * error that a PSBEND is missing waits. */
static void any_middle(uint8_t phase)
{
    any_state(phase);
    evt.error = nondet_u8() ? 0 : IPT_ERR_CONTEXT;
    changed = 1;
    save();
}

/* ---- what is claimed of a function, for those that call it ---- */

unsigned given_ipti_evt_first(const ipt_evt_state_ *e, uint8_t type)
{
    const unsigned i = nondet_u8();

    CHECK(e == &evt);
    CHECK(evt.count <= IPT_PENDING_MAX_);
    __CPROVER_assume(claim_first(type, i));
    if (!changed && type == IPT_EVT_OVERFLOW)
        __CPROVER_assume(i == evt.count || i == followed);
    look(i);
    return i;
}

unsigned given_ipti_evt_waiting(const ipt_evt_state_ *e, unsigned mask)
{
    const unsigned i = nondet_u8();

    CHECK(e == &evt);
    CHECK(evt.count <= IPT_PENDING_MAX_);
    __CPROVER_assume(claim_waiting(mask, i));
    look(i);
    return i;
}

/* All records change, and what claim_rest names stays; returns the one
 * that is followed, as it was. */
static ipt_pending_ change(const ipt_evt_state_ *e)
{
    const ipt_evt_state_ now = evt;
    const ipt_pending_ kept = evt.pending[followed];

    CHECK(e == &evt);
    CHECK(evt.count <= IPT_PENDING_MAX_);
    CHECK(is_record(&evt.pending[any]));
    changed = 1;
    evt = nondet_evt();
    evt.clock.config_ = now.clock.config_;
    evt.last_ip = now.last_ip;
    evt.psb_ip = now.psb_ip;
    evt.error = now.error;
    evt.phase = now.phase;
    evt.psb_fup = now.psb_fup;
    evt.enabled = now.enabled;
    evt.was_enabled = now.was_enabled;
    evt.synced = now.synced;
    evt.exec = now.exec;
    evt.skipped = now.skipped;
    evt.vmx = now.vmx;
    evt.cfe = now.cfe;
    evt.ticked = now.ticked;
    evt.count = now.count;
    look(any);
    return kept;
}

ipt_pending_ *given_ipti_evt_insert(ipt_evt_state_ *e, unsigned at,
                                    const ipt_packet *packet, uint8_t type,
                                    uint8_t waits)
{
    const unsigned was = followed;
    ipt_pending_ kept;

    CHECK(at <= evt.count);
    CHECK(type != IPT_EVT_OVERFLOW || waits == IPTI_WAIT_HELD);
    (void) packet;
    kept = change(e);
    if (evt.count >= IPT_PENDING_MAX_) {
        evt.error = IPT_ERR_EVENTS;
        __CPROVER_assume(claim_waits(&kept, kept.waits));
        return &evt.pending[IPT_PENDING_MAX_];
    }
    evt.count++;
    if (was + 1 < evt.count && was >= at)
        followed = was + 1;
    __CPROVER_assume(claim_insert(&kept, was, at, type, waits));
    return &evt.pending[at];
}

void given_ipti_evt_lost_last(ipt_evt_state_ *e)
{
    const unsigned was = followed;
    const ipt_pending_ kept = change(e);

    CHECK(evt.count > 0);
    if (was >= evt.count)
        return;
    followed = was ? was - 1 : evt.count - 1u;
    __CPROVER_assume(claim_last(&kept));
}

void given_ipti_evt_await(ipt_evt_state_ *e, unsigned count, uint8_t from,
                          uint8_t to, uint8_t flags)
{
    const ipt_pending_ kept = change(e);

    CHECK(count <= evt.count);
    CHECK(from != IPTI_WAIT_HELD);
    CHECK(from != IPTI_WAIT_NOW);
    (void) flags;
    __CPROVER_assume(claim_await(&kept, count, from, to));
}

void given_ipti_evt_release(ipt_evt_state_ *e, unsigned mask, uint64_t ip,
                            int has_ip)
{
    const ipt_pending_ kept = change(e);

    (void) ip, (void) has_ip;
    __CPROVER_assume(claim_release(&kept, mask));
}

void given_ipti_evt_sort(ipt_evt_state_ *e)
{
    (void) change(e);
}

void given_ipti_evt_drop(ipt_evt_state_ *e, unsigned mask)
{
    const uint8_t count = evt.count;
    const ipt_pending_ kept = change(e);

    evt.count = nondet_u8();
    __CPROVER_assume(evt.count <= count);
    if (followed >= count || kept.waits & mask)
        return;
    followed = nondet_u8();
    __CPROVER_assume(claim_drop(&kept, count));
}

void given_ipti_evt_lost_place(ipt_evt_state_ *e, uint64_t ip, unsigned count)
{
    const ipt_pending_ kept = change(e);

    CHECK(count <= evt.count);
    (void) ip;
    __CPROVER_assume(claim_overflow(&kept));
}

void given_ipti_evt_psb_end(ipt_evt_state_ *e, const ipt_packet *packet,
                            uint8_t off)
{
    const ipt_pending_ kept = change(e);

    CHECK(off == IPT_EVT_DISABLED || off == IPT_EVT_NONE);
    (void) packet;
    __CPROVER_assume(claim_overflow(&kept));
}

/* ---- the end of a phase: what is claimed, and what may be done ---- */

/* Of ipti_evt_phase and ipti_evt_lost, unless the first one leaves all as it
 * was. */
static int claim_phase(unsigned before)
{
    return (evt.error || is_evt()) && evt.phase <= IPTI_EVT_BOGUS
           && evt.phase != IPTI_EVT_PSB && evt.count <= before
           && (evt.error == 0 || evt.error == IPT_ERR_CONTEXT
               || evt.error == IPT_ERR_NO_IP);
}

/* Of ipti_evt_psb_done. */
static int claim_psb_done(void)
{
    return (evt.phase == IPTI_EVT_FLOW || evt.phase == IPTI_EVT_HELD
            || evt.phase == IPTI_EVT_LOST)
           && is_lost_at(&evt, followed);
}

/* All changes but the error and the number of records: what is claimed of
 * functions that end a phase, which says little. */
static void middle(const ipt_evt_state_ *e)
{
    const int error = evt.error;
    const uint8_t count = evt.count;

    CHECK(e == &evt);
    CHECK(count <= IPT_PENDING_MAX_);
    CHECK(evt.clock.config_ == &config);
    CHECK(is_record(&evt.pending[any]));
    changed = 1;
    evt = nondet_evt();
    evt.clock.config_ = &config;
    evt.error = error;
    evt.count = count;
    followed = nondet_u8();
    __CPROVER_assume(followed < IPT_PENDING_MAX_);
    look(any);
}

void given_ipti_evt_psb_done(ipt_evt_state_ *e, const ipt_packet *packet)
{
    CHECK(evt.phase == IPTI_EVT_PSB);
    CHECK(!changed);
    CHECK(is_waiting(&evt, followed));
    (void) packet;
    middle(e);
    __CPROVER_assume(claim_psb_done());
}

void given_ipti_evt_bdm70(ipt_evt_state_ *e)
{
    CHECK(evt.phase == IPTI_EVT_HELD);
    middle(e);
    evt.phase = IPTI_EVT_HELD;
}

void given_ipti_evt_held_done(ipt_evt_state_ *e)
{
    CHECK(evt.phase == IPTI_EVT_HELD);
    middle(e);
    evt.phase = IPTI_EVT_FLOW;
}

void given_ipti_evt_lost_off(ipt_evt_state_ *e)
{
    CHECK(evt.phase >= IPTI_EVT_LOST);
    middle(e);
    evt.phase = IPTI_EVT_FLOW;
}

void given_ipti_evt_lost_on(ipt_evt_state_ *e, uint64_t ip)
{
    CHECK(evt.phase >= IPTI_EVT_LOST);
    (void) ip;
    middle(e);
    evt.phase = IPTI_EVT_FLOW;
}

int given_ipti_evt_lost(ipt_evt_state_ *e, uint32_t errata,
                        const ipt_packet *packet)
{
    const unsigned before = evt.count;

    CHECK(evt.phase == IPTI_EVT_LOST);
    CHECK(is_lost_at(&evt, followed));
    (void) errata, (void) packet;
    middle(e);
    evt.error = nondet_int();
    evt.count = nondet_u8();
    __CPROVER_assume(claim_phase(before));
    return nondet_u8() & 1;
}

void given_ipti_evt_bogus(ipt_evt_state_ *e, const ipt_packet *packet)
{
    CHECK(evt.phase == IPTI_EVT_BOGUS);
    (void) packet;
    if (nondet_u8())
        return;
    middle(e);
    evt.phase = IPTI_EVT_FLOW;
}

/* ---- the end of a phase: proofs ---- */

/* Now it is this phase; the rest is what `middle` leaves as it was. */
static void ended(uint8_t phase)
{
    CHECK(evt.phase == phase);
    CHECK(evt.count == records_were);
    CHECK(evt.error == error_was);
    CHECK(evt.clock.config_ == &config);
    CHECK(is_record(&evt.pending[any]));
}

void prove_step_psb_done(void) /* given ipti_evt_first ipti_evt_psb_end
    ipti_evt_held_done, arrays whole */
{
    const ipt_packet packet = nondet_packet();

    any_evt(IPTI_EVT_PSB);
    evt.error = nondet_u8() ? 0 : IPT_ERR_CONTEXT;
    save();
    ipti_evt_psb_done(&evt, &packet);
    CHECK(claim_psb_done());
    ended(evt.phase);
    REACH(evt.phase == IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_HELD);
    REACH(evt.phase == IPTI_EVT_LOST && records_were == IPT_PENDING_MAX_);
}

void prove_step_undo(void) /* given ipti_evt_first ipti_evt_await
    ipti_evt_release, arrays whole */
{
    any_middle(IPTI_EVT_HELD);
    ipti_evt_bdm70(&evt);
    ended(IPTI_EVT_HELD);
    REACH(records_were == IPT_PENDING_MAX_);
}

void prove_step_held_done(void) /* slow, given ipti_evt_first
    ipti_evt_lost_place ipti_evt_await ipti_evt_release
    ipti_evt_sort, arrays whole */
{
    any_middle(IPTI_EVT_HELD);
    ipti_evt_held_done(&evt);
    ended(IPTI_EVT_FLOW);
    REACH(evt.psb_fup);
    REACH(!evt.psb_fup);
}

void prove_step_lost_off(void) /* given ipti_evt_await ipti_evt_release
    ipti_evt_sort, arrays whole */
{
    any_middle(nondet_u8() ? IPTI_EVT_LOST : IPTI_EVT_BOGUS);
    ipti_evt_lost_off(&evt);
    ended(IPTI_EVT_FLOW);
    REACH(records_were == IPT_PENDING_MAX_);
}

void prove_step_lost_on(void) /* given ipti_evt_release ipti_evt_sort, arrays
    whole */
{
    any_middle(nondet_u8() ? IPTI_EVT_LOST : IPTI_EVT_BOGUS);
    ipti_evt_lost_on(&evt, nondet_u64());
    ended(IPTI_EVT_FLOW);
    REACH(records_were == IPT_PENDING_MAX_);
}

/* A packet after an OVF. */
void prove_step_after(void) /* slow, given ipti_evt_first ipti_evt_await
    ipti_evt_release ipti_evt_drop ipti_evt_lost_place ipti_evt_lost_last
    ipti_evt_lost_off ipti_evt_lost_on, arrays whole */
{
    ipt_packet packet = nondet_packet();
    int all;

    any_middle(IPTI_EVT_LOST);
    assume_packet(&packet);
    all = ipti_evt_lost(&evt, nondet_u32(), &packet);
    CHECK(all == 0 || all == 1);
    CHECK(claim_phase(records_were));
    CHECK(evt.clock.config_ == &config);
    CHECK(is_record(&evt.pending[any]));
    REACH(evt.phase == IPTI_EVT_BOGUS);
    REACH(evt.phase == IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_LOST && evt.skipped && !evt.error);
    REACH(evt.error == IPT_ERR_NO_IP);
}

/* A packet after an OVF and a FUP that APL12 may have made up. */
void prove_step_doubt(void) /* given ipti_evt_lost_off ipti_evt_lost_on, arrays
    whole */
{
    ipt_packet packet = nondet_packet();

    any_middle(IPTI_EVT_BOGUS);
    assume_packet(&packet);
    ipti_evt_bogus(&evt, &packet);
    if (evt.phase == IPTI_EVT_BOGUS)
        CHECK(is_lost_at(&evt, followed));
    ended(evt.phase == IPTI_EVT_BOGUS ? IPTI_EVT_BOGUS : IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_BOGUS);
    REACH(evt.phase == IPTI_EVT_FLOW);
}

/* What any packet does to a phase. */
static void step(uint8_t phase)
{
    ipt_packet packet = nondet_packet();
    unsigned before;
    int all;

    any_evt(phase);
    before = evt.count;
    __CPROVER_assume(packet.type < IPT_PKT_COUNT);
    assume_packet(&packet);
    all = ipti_evt_phase(&evt, &config, &packet);
    CHECK(all == 0 || all == 1);
    CHECK(evt.clock.config_ == &config);
    if (evt.phase == IPTI_EVT_PSB) {
        CHECK(phase == IPTI_EVT_PSB);
        CHECK(!changed);
        CHECK(!evt.error);
    } else {
        CHECK(claim_phase(before));
    }
    CHECK(is_record(&evt.pending[any]));
}

void prove_step_start(void) /* given ipti_evt_first ipti_evt_psb_done
    ipti_evt_bdm70 ipti_evt_held_done ipti_evt_lost ipti_evt_bogus, arrays
    whole */
{
    if (nondet_u8())
        step(IPTI_EVT_START);
    else
        step(IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_FLOW);
    REACH(evt.error == IPT_ERR_NO_IP);
}

void prove_step_psb(void) /* slow, given ipti_evt_first ipti_evt_psb_done
    ipti_evt_bdm70 ipti_evt_held_done ipti_evt_lost ipti_evt_bogus, arrays
    whole */
{
    step(IPTI_EVT_PSB);
    REACH(evt.phase == IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_LOST);
    REACH(evt.error == IPT_ERR_CONTEXT);
}

void prove_step_held(void) /* slow, given ipti_evt_first ipti_evt_psb_done
    ipti_evt_bdm70 ipti_evt_held_done ipti_evt_lost ipti_evt_bogus, arrays
    whole */
{
    step(IPTI_EVT_HELD);
    REACH(evt.phase == IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_HELD);
}

void prove_step_lost(void) /* slow, given ipti_evt_first ipti_evt_psb_done
    ipti_evt_bdm70 ipti_evt_held_done ipti_evt_lost ipti_evt_bogus, arrays
    whole */
{
    step(IPTI_EVT_LOST);
    REACH(evt.phase == IPTI_EVT_BOGUS);
    REACH(evt.phase == IPTI_EVT_FLOW);
    REACH(evt.skipped);
}

void prove_step_bogus(void) /* slow, given ipti_evt_first ipti_evt_psb_done
    ipti_evt_bdm70 ipti_evt_held_done ipti_evt_lost ipti_evt_bogus, arrays
    whole */
{
    step(IPTI_EVT_BOGUS);
    REACH(evt.phase == IPTI_EVT_BOGUS);
    REACH(evt.phase == IPTI_EVT_FLOW);
}

/* ---- a packet, one type at a time ---- */

int given_ipti_evt_phase(ipt_evt_state_ *e, const ipt_config *c,
                         const ipt_packet *packet)
{
    const unsigned before = evt.count;

    CHECK(c == &config);
    CHECK(evt.error == 0);
    (void) packet;
    if (nondet_u8())
        return 0;
    (void) change(e);
    evt = nondet_evt();
    evt.clock.config_ = &config;
    followed = nondet_u8();
    __CPROVER_assume(followed < IPT_PENDING_MAX_);
    __CPROVER_assume(is_lost_at(&evt, followed));
    __CPROVER_assume(claim_phase(before));
    look(any);
    return nondet_u8() & 1;
}

/* prove_time_update is about the clock. */
void given_ipti_evt_tick(ipt_evt_state_ *e, const ipt_packet *packet)
{
    CHECK(e == &evt);
    (void) packet;
    evt.clock = nondet_evt().clock;
    evt.clock.config_ = &config;
    evt.ticked = nondet_u8();
}

/* A packet of this type, in any phase and in a queue that may be full. Two
 * records come at most, so that there is room for it where 13 wait. */
static void turned(unsigned before)
{
    CHECK(evt.error || is_evt());
    CHECK(evt.phase <= IPTI_EVT_BOGUS);
    CHECK(evt.count <= before + 2);
    CHECK(evt.count <= IPT_PENDING_MAX_);
    CHECK(evt.clock.config_ == &config);
    CHECK(evt.error == 0 || evt.error == IPT_ERR_CONTEXT
          || evt.error == IPT_ERR_NO_IP || evt.error == IPT_ERR_PACKET
          || evt.error == IPT_ERR_STATUS
          || (evt.error == IPT_ERR_EVENTS && before > IPTI_EVT_FULL));
    CHECK(is_record(&evt.pending[any]));
    REACH(evt.count == IPT_PENDING_MAX_ && !evt.error);
}

static void turn(uint8_t type)
{
    ipt_packet packet = nondet_packet();
    unsigned before;

    any_evt(nondet_u8());
    before = evt.count;
    packet.type = type;
    assume_packet(&packet);
    ipti_evt_packet(&evt, &config, &packet);
    turned(before);
}

void prove_step_tip(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    if (nondet_u8())
        turn(IPT_PKT_TIP);
    else
        turn(IPT_PKT_TIP_PGE);
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_CONTEXT);
    REACH(evt.error == IPT_ERR_NO_IP);
}

void prove_step_fup(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    switch (nondet_u8()) {
    case 0:
        turn(IPT_PKT_FUP);
        break;
    case 1:
        turn(IPT_PKT_TIP_PGD);
        break;
    case 2:
        turn(IPT_PKT_TNT_8);
        break;
    default:
        turn(IPT_PKT_TNT_64);
        break;
    }
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_CONTEXT);
    REACH(evt.error == IPT_ERR_NO_IP);
}

void prove_step_mode(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    if (nondet_u8())
        turn(IPT_PKT_MODE_EXEC);
    else
        turn(IPT_PKT_MODE_TSX);
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_STATUS);
}

void prove_step_space(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    if (nondet_u8())
        turn(IPT_PKT_PIP);
    else
        turn(IPT_PKT_VMCS);
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_EVENTS);
}

void prove_step_power(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    switch (nondet_u8()) {
    case 0:
        turn(IPT_PKT_MWAIT);
        break;
    case 1:
        turn(IPT_PKT_EXSTOP);
        break;
    case 2:
        turn(IPT_PKT_PWRE);
        break;
    default:
        turn(IPT_PKT_PWRX);
        break;
    }
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_EVENTS);
}

void prove_step_cfe(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    switch (nondet_u8()) {
    case 0:
        turn(IPT_PKT_CFE);
        break;
    case 1:
        turn(IPT_PKT_EVD);
        break;
    default:
        turn(IPT_PKT_TRIG);
        break;
    }
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_PACKET);
}

void prove_step_header(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    if (nondet_u8())
        turn(IPT_PKT_PSB);
    else
        turn(IPT_PKT_PSBEND);
    REACH(evt.phase == IPTI_EVT_PSB);
}

void prove_step_ovf(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    turn(IPT_PKT_OVF);
    REACH(evt.phase == IPTI_EVT_LOST);
}

void prove_step_gap(void) /* slow, given ipti_evt_phase ipti_evt_tick
    ipti_evt_first ipti_evt_waiting ipti_evt_await ipti_evt_release
    ipti_evt_sort ipti_evt_drop ipti_evt_lost_place
    ipti_evt_psb_end ipti_evt_insert ipti_evt_lost_last, arrays whole */
{
    turn(IPT_PKT_GAP);
    REACH(evt.count == 1);
}

/* All other packets come to ipti_evt_rest. */
void prove_step_rest(void) /* slow, given ipti_evt_first ipti_evt_waiting
    ipti_evt_await ipti_evt_insert, arrays whole */
{
    ipt_packet packet = nondet_packet();
    unsigned before;

    any_evt(nondet_u8());
    before = evt.count;
    assume_packet(&packet);
    ipti_evt_rest(&evt, &packet);
    turned(before);
    REACH(evt.phase >= IPTI_EVT_LOST && !evt.error);
    REACH(evt.error == IPT_ERR_EVENTS);
}

/* ---- the branches that cannot be taken ---- */

ipt_cursor_ nondet_cursor(void);
ipt_where nondet_where(void);

/* A loop comes round to the state that it may begin with: once is any number
 * of times. */
static void round_again(void)
{
    static int round = 0;

    CHECK(evt.phase <= IPTI_EVT_BOGUS);
    CHECK(evt.count <= IPT_PENDING_MAX_);
    __CPROVER_assume(round++ == 0);
}

/* Each caller sees to it that the phase is HELD or one after it. */
void given_ipti_evt_likely(ipt_evt_state_ *e)
{
    CHECK(e == &evt);
    CHECK(evt.phase == IPTI_EVT_HELD || evt.phase == IPTI_EVT_LOST
          || evt.phase == IPTI_EVT_BOGUS);
    REACH(evt.phase == IPTI_EVT_HELD);
    REACH(evt.phase == IPTI_EVT_LOST);
    REACH(evt.phase == IPTI_EVT_BOGUS);
    evt.phase = IPTI_EVT_FLOW;
    round_again();
}

int given_ipti_evt_pop(ipt_evt_state_ *e, ipt_event *out)
{
    const uint8_t before = evt.count;

    CHECK(e == &evt);
    (void) out;
    evt.count = nondet_u8();
    __CPROVER_assume(evt.count <= before);
    if (nondet_u8())
        return 1;
    __CPROVER_assume(is_waiting(&evt, followed));
    return 0;
}

int given_ipti_evt_ticks(const ipt_cursor_ *cur, uint64_t pos)
{
    (void) cur, (void) pos;
    return nondet_u8() & 1;
}

int given_ipti_evt_clock(const ipt_cursor_ *cur, ipt_evt_state_ *e,
                         ipt_where *at)
{
    (void) cur, (void) e, (void) at;
    if (nondet_u8())
        return 0;
    round_again();
    return 1;
}

int given_ipti_pkt_any(ipt_cursor_ *cur, ipt_where *at, ipt_packet *out)
{
    (void) cur, (void) at;
    *out = nondet_packet();
    return nondet_int();
}

void given_ipti_evt_packet(ipt_evt_state_ *e, const ipt_config *c,
                           const ipt_packet *packet)
{
    CHECK(e == &evt);
    CHECK(is_ready(&evt));
    CHECK(is_waiting(&evt, followed));
    (void) c, (void) packet;
    REACH(evt.phase == IPTI_EVT_BOGUS && evt.count == IPTI_EVT_FULL);
    REACH(evt.phase == IPTI_EVT_PSB && evt.count == IPT_PENDING_MAX_);
    evt = nondet_evt();
    __CPROVER_assume(evt.phase <= IPTI_EVT_BOGUS);
    __CPROVER_assume(evt.count <= IPT_PENDING_MAX_);
    round_again();
}

/* Whoever calls ipti_evt_likely or ipti_evt_packet, in any state. */
void prove_step_likely(void) /* unwind 3, given ipti_evt_first
    ipti_evt_likely ipti_evt_pop ipti_evt_ticks ipti_evt_clock ipti_pkt_any
    ipti_evt_packet, arrays whole */
{
    ipt_cursor_ cur = nondet_cursor();
    ipt_where at = nondet_where();
    ipt_event event;

    evt = nondet_evt();
    followed = nondet_u8();
    __CPROVER_assume(followed < QUEUE);
    cur.config = &config;
    __CPROVER_assume(evt.phase <= IPTI_EVT_BOGUS);
    __CPROVER_assume(evt.count <= IPT_PENDING_MAX_);
    changed = 1;
    if (nondet_u8())
        (void) ipti_evt_end(&evt);
    else
        (void) ipti_evt_queue(&cur, &evt, &at, &event);
    CHECK(evt.phase <= IPTI_EVT_BOGUS);
}
