/* queue.c: functions of [evt]'s queue do what queue.h claims of them, in a
 * queue of any records, up to a full one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "queue.h"

static ipt_pending_ kept;
static ipt_evt_state_ before; /* evt, at the beginning */
static unsigned count;

static void any_queue(void)
{
    config = nondet_config();
    assume_config(&config);
    evt = nondet_evt();
    evt.clock.config_ = &config;
    followed = nondet_u8();
    __CPROVER_assume(evt.count <= IPT_PENDING_MAX_);
    __CPROVER_assume(followed < IPT_PENDING_MAX_);
    __CPROVER_assume(is_queue());
    kept = evt.pending[followed];
    count = evt.count;
    before = evt;
}

/* The first record of a type, or that waits for something. */
void prove_queue_find(void) /* unwind 17 */
{
    const uint8_t type = nondet_u8();
    const unsigned mask = nondet_u8();
    const ipt_pending_ *record;
    unsigned i;

    any_queue();
    i = ipti_evt_first(&evt, type);
    CHECK(claim_first(type, i));
    record = ipti_evt_find(&evt, type);
    CHECK((record == NULL) == (i == evt.count));
    CHECK(!record || record == &evt.pending[i]);
    REACH(i == IPT_PENDING_MAX_);
    REACH(i == IPT_PENDING_MAX_ - 1 && record);
    i = ipti_evt_waiting(&evt, mask);
    CHECK(claim_waiting(mask, i));
    REACH(i == IPT_PENDING_MAX_);
    REACH(i == IPT_PENDING_MAX_ - 1 && i < evt.count);
}

/* A record more; the first one is made the last. */
void prove_queue_insert(void) /* unwind 17 */
{
    const ipt_packet packet = nondet_packet();
    const unsigned at = nondet_u8();
    const uint8_t type = nondet_u8();
    const uint8_t waits = nondet_u8();
    ipt_pending_ *record;
    unsigned was;

    any_queue();
    was = followed;
    __CPROVER_assume(at <= count);
    __CPROVER_assume(type != IPT_EVT_OVERFLOW || waits == IPTI_WAIT_HELD);
    record = ipti_evt_insert(&evt, at, &packet, type, waits);
    CHECK(is_queue());
    if (count == IPT_PENDING_MAX_) {
        CHECK(evt.error == IPT_ERR_EVENTS);
        CHECK(record == &evt.pending[IPT_PENDING_MAX_]);
        CHECK(evt.count == count);
        before.error = IPT_ERR_EVENTS;
        CHECK(claim_rest(&before));
        return;
    }
    CHECK(record == &evt.pending[at]);
    CHECK(evt.count == count + 1);
    CHECK(claim_insert(&kept, was, at, type, waits));
    CHECK(claim_rest(&before));
    REACH(at == 0 && was == IPT_PENDING_MAX_ - 2u && was < count);
    REACH(at == IPT_PENDING_MAX_ - 1u);
}

/* The first record is made the last one. */
void prove_queue_last(void) /* unwind 17 */
{
    unsigned was;

    any_queue();
    __CPROVER_assume(followed < count);
    was = followed;
    ipti_evt_lost_last(&evt);
    CHECK(is_queue());
    CHECK(evt.count == count);
    followed = was ? was - 1 : count - 1;
    CHECK(claim_last(&kept));
    CHECK(claim_rest(&before));
    REACH(count == IPT_PENDING_MAX_);
    REACH(count == 1);
}

/* Records wait for something else. */
void prove_queue_await(void) /* unwind 17 */
{
    const uint8_t from = nondet_u8();
    const uint8_t to = nondet_u8();
    const unsigned n = nondet_u8();

    any_queue();
    __CPROVER_assume(n <= count);
    __CPROVER_assume(from != IPTI_WAIT_HELD && from != IPTI_WAIT_NOW);
    ipti_evt_await(&evt, n, from, to, nondet_u8());
    CHECK(claim_await(&kept, n, from, to));
    CHECK(claim_rest(&before));
    CHECK(is_queue());
    CHECK(evt.count == count);
    REACH(followed == IPT_PENDING_MAX_ - 1 && kept.waits == from
          && evt.pending[followed].waits == to && to != from);
    REACH(followed < count && kept.waits != from);
    REACH(followed >= n && followed < count && kept.waits == from);
}

/* Records are complete. */
void prove_queue_release(void) /* unwind 17 */
{
    const unsigned mask = nondet_u8();
    const int has_ip = nondet_u8() != 0;

    any_queue();
    ipti_evt_release(&evt, mask, nondet_u64(), has_ip);
    CHECK(claim_release(&kept, mask));
    CHECK(claim_rest(&before));
    CHECK(is_queue());
    CHECK(evt.count == count);
    REACH(followed == IPT_PENDING_MAX_ - 1 && followed < count
          && kept.waits & mask && kept.waits != IPTI_WAIT_NOW);
    REACH(followed < count && !(kept.waits & mask));
}

/* Complete records go before those that wait, where there are no more
 * than 4. */
void prove_queue_sort(void) /* unwind 17, arrays whole, slow */
{
    any_queue();
    __CPROVER_assume(count <= 4);
    followed = 0; /* none is */
    ipti_evt_sort(&evt);
    CHECK(is_queue());
    CHECK(claim_rest(&before));
    CHECK(evt.count == count);
    REACH(count == 4 && evt.pending[3].waits == IPTI_WAIT_NOW);
}

/* What the loops of ipti_evt_drop and ipti_evt_pop look for. The second round
 * finds the queue as the first one may, so that what holds after one holds
 * after any number; and each leaves fewer records. */
unsigned given_ipti_evt_waiting(const ipt_evt_state_ *e, unsigned mask)
{
    static int round = 0;
    unsigned i = nondet_u8();

    CHECK(e == &evt);
    if (round++) {
        CHECK(evt.count < count);
        i = evt.count;
    }
    __CPROVER_assume(claim_waiting(mask, i));
    return i;
}

/* Records are dropped. */
void prove_queue_drop(void) /* unwind 17, given ipti_evt_waiting, arrays
    whole */
{
    const unsigned mask = nondet_u8();

    any_queue();
    __CPROVER_assume(followed < count && !(kept.waits & mask));
    ipti_evt_drop(&evt, mask);
    CHECK(claim_drop(&kept, count));
    CHECK(claim_rest(&before));
    CHECK(is_queue());
    REACH(count == IPT_PENDING_MAX_ && evt.count == count - 1
          && followed == evt.count - 1u);
    REACH(count == 1 && evt.count == 1);
}

ipt_event nondet_event(void);

/* A record is made an event. */
void prove_queue_fill(void)
{
    ipt_pending_ record = nondet_pending();
    ipt_event event = nondet_event();

    evt = nondet_evt();
    __CPROVER_assume(is_record(&record));
    ipti_evt_fill(&evt, &record, &event);
    CHECK(is_event(&event));
    CHECK(event.type == record.event.type);
    CHECK(event.offset == record.event.offset);
    REACH(event.type == IPT_EVT_CFE && event.u.cfe.has & IPT_CFE_INFERRED);
    REACH(event.type == IPT_EVT_TNT && event.u.tnt.count == 47);
    REACH(event.type == IPT_EVT_OVERFLOW && event.lost_mtc);
}

void given_ipti_evt_fill(const ipt_evt_state_ *e,
                         const ipt_pending_ *record, ipt_event *out)
{
    CHECK(e == &evt);
    CHECK(is_record(record));
    *out = nondet_event();
    __CPROVER_assume(is_event(out));
}

/* A record is handed out, or none is complete. */
void prove_queue_pop(void) /* slow, unwind 17, given ipti_evt_waiting
    ipti_evt_fill, arrays whole */
{
    ipt_event event;
    int any;

    any_queue();
    any = ipti_evt_pop(&evt, &event);
    CHECK(any == 0 || any == 1);
    CHECK(is_queue());
    CHECK(any ? evt.count < count : evt.count <= count);
    CHECK(any ? is_event(&event) : is_waiting(&evt, followed));
    REACH(any && count == 1);
    REACH(!any && count == IPT_PENDING_MAX_ && evt.count == count - 1);
    REACH(!any && count == IPT_PENDING_MAX_ && evt.count == count);
}

/* Where tracing goes on after an overflow; a PSB+ ends. */
void prove_queue_lost(void) /* unwind 17, slow */
{
    static const uint8_t ends[2] = {IPT_EVT_DISABLED, IPT_EVT_NONE};
    const unsigned n = nondet_u8();
    ipt_packet packet = nondet_packet();

    any_queue();
    __CPROVER_assume(n <= count);
    if (nondet_u8())
        ipti_evt_lost_place(&evt, nondet_u64(), n);
    else
        ipti_evt_psb_end(&evt, &packet, ends[nondet_u8() & 1]);
    CHECK(claim_overflow(&kept));
    CHECK(claim_rest(&before));
    CHECK(is_queue());
    CHECK(evt.count == count);
    REACH(kept.event.type == IPT_EVT_OVERFLOW
          && followed == IPT_PENDING_MAX_ - 1);
    REACH(kept.event.type == IPT_EVT_PAGING
          && evt.pending[followed].event.type == IPT_EVT_ASYNC_PAGING);
}
