/* queue.h: the queue of [evt] as the proofs see it: QUEUE records, of which
 * one, whichever, is followed wherever it goes.
 *
 * What is claimed of a function of the queue stands here once, as claim_...:
 * tests/proof/queue.c proves it, and tests/proof/step.c calls given_..., which
 * does whatever is claimed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef QUEUE_H
#define QUEUE_H

#include <stddef.h>

enum { QUEUE = 16 }; /* records */

static void proof_move(void *to, const void *from, size_t size);
static void proof_set(void *to, int value, size_t size);
#define IPT_MEMMOVE proof_move
#define IPT_MEMSET proof_set
#include "proof.h"

ipt_pending_ nondet_pending(void);
ipt_evt_state_ nondet_evt(void);

static ipt_evt_state_ evt;
static ipt_config config;
static unsigned followed; /* the index of one record, whichever */

/* What holds for each record but the last one, which nobody reads. */
static int is_queue(void)
{
    unsigned i;
    int good = 1;

    for (i = 0; i < IPT_PENDING_MAX_; i++)
        good = good && is_record(&evt.pending[i]);
    return good;
}

/* All records may be anything, but for what holds for each. */
static void any_records(void)
{
    unsigned i;

    for (i = 0; i < QUEUE; i++)
        evt.pending[i] = nondet_pending();
    __CPROVER_assume(is_queue());
}

/* memmove, of what the proofs use: what lies in the queue is a copy of what lay
 * there, so what holds for each record still does; and the record that is
 * followed is where it was moved to. If it was overwritten, a caller that has a
 * copy puts it before what was moved, or it is gone. All else may be anything
 * after it, but for the place that nobody reads, if it is not written. */
static void proof_move(void *to, const void *from, size_t size)
{
    const unsigned n = (unsigned) (size / sizeof(ipt_pending_));
    const unsigned t = (unsigned) ((ipt_pending_ *) to - evt.pending);
    const unsigned f = (unsigned) ((const ipt_pending_ *) from - evt.pending);
    const ipt_pending_ kept = evt.pending[followed];
    const ipt_pending_ spare = evt.pending[IPT_PENDING_MAX_];

    CHECK(size % sizeof(ipt_pending_) == 0);
    CHECK(n <= QUEUE);
    CHECK(t <= QUEUE - n);
    CHECK(f <= IPT_PENDING_MAX_ - n);
    CHECK(is_queue());
    any_records();
    if (t + n <= IPT_PENDING_MAX_)
        evt.pending[IPT_PENDING_MAX_] = spare;
    if (followed >= f && followed < f + n) {
        followed = followed - f + t;
    } else if (followed >= t && followed < t + n) {
        followed = t ? t - 1 : 0;
        return;
    }
    evt.pending[followed] = kept;
}

/* memset, by records or events where it is one; its model is by bytes. */
static void proof_set(void *to, int value, size_t size)
{
    static const ipt_pending_ none = {0};
    static const ipt_event no_event = {0};

    if (size == sizeof(none) && value == 0)
        *(ipt_pending_ *) to = none;
    else if (size == sizeof(no_event) && value == 0)
        *(ipt_event *) to = no_event;
    else
        memset(to, value, size);
}

/* ---- what is claimed of a function: `kept` is the record that is followed, as
 * it was before ---- */

/* Of all that follow: what is not the queue stays as it was, but for the clock
 * and its counters. */
static int claim_rest(const ipt_evt_state_ *was)
{
    return evt.clock.config_ == was->clock.config_
           && evt.last_ip == was->last_ip && evt.psb_ip == was->psb_ip
           && evt.error == was->error && evt.phase == was->phase
           && evt.psb_fup == was->psb_fup && evt.enabled == was->enabled
           && evt.was_enabled == was->was_enabled
           && evt.synced == was->synced && evt.exec == was->exec
           && evt.skipped == was->skipped && evt.vmx == was->vmx
           && evt.cfe == was->cfe && evt.ticked == was->ticked;
}

/* Of ipti_evt_first: i is the first record of that type. */
static int claim_first(uint8_t type, unsigned i)
{
    return i <= evt.count
           && (i == evt.count || evt.pending[i].event.type == type)
           && !(followed < i && evt.pending[followed].event.type == type);
}

/* Of ipti_evt_waiting. */
static int claim_waiting(unsigned mask, unsigned i)
{
    return i <= evt.count
           && (i == evt.count || evt.pending[i].waits & mask)
           && !(followed < i && evt.pending[followed].waits & mask);
}

/* The record that is followed has the type that it had, and waits for that. */
static int claim_waits(const ipt_pending_ *kept, uint8_t waits)
{
    return evt.pending[followed].event.type == kept->event.type
           && evt.pending[followed].waits == waits;
}

/* Of ipti_evt_await. */
static int claim_await(const ipt_pending_ *kept, unsigned count, uint8_t from,
                       uint8_t to)
{
    return claim_waits(kept, followed < count && kept->waits == from
                                 ? to : kept->waits);
}

/* Of ipti_evt_release. */
static int claim_release(const ipt_pending_ *kept, unsigned mask)
{
    return claim_waits(kept, followed < evt.count && kept->waits & mask
                                 ? (uint8_t) IPTI_WAIT_NOW : kept->waits);
}

/* Of ipti_evt_drop, where the record was in the queue and does not wait for
 * one of `mask`. Of ipti_evt_sort only is_queue is claimed. */
static int claim_drop(const ipt_pending_ *kept, unsigned count)
{
    return evt.count <= count && followed < evt.count
           && claim_waits(kept, kept->waits);
}

/* Of ipti_evt_insert, where there is room, and the record was at `was`. */
static int claim_insert(const ipt_pending_ *kept, unsigned was, unsigned at,
                        uint8_t type, uint8_t waits)
{
    return at < evt.count && evt.count <= IPT_PENDING_MAX_
           && evt.pending[at].event.type == type
           && evt.pending[at].waits == waits
           && evt.pending[at].event.u.cfe.has == 0
           && (was + 1 >= evt.count
               || (followed == was + (was >= at)
                   && claim_waits(kept, kept->waits)));
}

/* Of ipti_evt_lost_last, where the record was in the queue. */
static int claim_last(const ipt_pending_ *kept)
{
    return claim_waits(kept, kept->waits);
}

/* Of ipti_evt_lost_place and ipti_evt_psb_end: in the queue an overflow stays one and waits as it did, and nothing else becomes one. */
static int claim_overflow(const ipt_pending_ *kept)
{
    const ipt_pending_ *now = &evt.pending[followed];

    if (followed >= evt.count)
        return 1;
    if (kept->event.type != IPT_EVT_OVERFLOW)
        return now->event.type != IPT_EVT_OVERFLOW;
    return claim_waits(kept, kept->waits);
}

#endif
