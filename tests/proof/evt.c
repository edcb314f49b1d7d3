/* evt.c: the step of [evt]: packets, in any state that the invariant allows, in
 * the phases that hold nothing back, where at most WAITING records wait.
 *
 * The invariant stands once, in is_evt. These packets keep it, unless they
 * leave an error: then events are handed out until that comes, and only a
 * function that synchronises goes on.
 *
 * SPDX-License-Identifier: MIT
 */
enum { WAITING = 3, QUEUE = 7 }; /* records: before, at most with new ones */

#include "queue.h"

static int is_evt(void)
{
    unsigned i;
    int lost = evt.phase < IPTI_EVT_LOST;

    for (i = 0; i < QUEUE; i++)
        lost = lost || (i < evt.count
                        && evt.pending[i].type == IPT_EVT_OVERFLOW
                        && evt.pending[i].waits == IPTI_WAIT_HELD);
    return lost && evt.phase <= IPTI_EVT_BOGUS && is_queue();
}

static void any_evt(void)
{
    config = nondet_config();
    assume_config(&config);
    evt = nondet_evt();
    evt.clock.config_ = &config;
    evt.error = 0; /* or no packet is taken */
    followed = nondet_u8();
    __CPROVER_assume(followed < QUEUE && evt.count <= WAITING);
    __CPROVER_assume(is_evt());
    if (evt.phase >= IPTI_EVT_LOST) /* that, or another one */
        __CPROVER_assume(followed < evt.count
                         && evt.pending[followed].type == IPT_EVT_OVERFLOW
                         && evt.pending[followed].waits == IPTI_WAIT_HELD);
}

/* A packet in a phase that holds nothing back; none makes more than two
 * records. */
static void step_evt(uint8_t type, uint8_t phase)
{
    ipt_packet packet = nondet_packet();
    unsigned before;

    any_evt();
    __CPROVER_assume(evt.phase == phase);
    evt.phase = phase; /* a constant, so that other phases are left out */
    before = evt.count;
    packet.type = type;
    assume_packet(&packet);
    ipti_evt_packet(&evt, &config, &packet);
    CHECK(evt.count <= before + 2);
    CHECK(evt.error || is_evt());
    CHECK(evt.clock.config_ == &config);
    CHECK(evt.error == 0 || evt.error == IPT_ERR_CONTEXT
          || evt.error == IPT_ERR_NO_IP || evt.error == IPT_ERR_PACKET);
}

void prove_evt_tip(void) /* unwind 9 */
{
    if (nondet_u8())
        step_evt(IPT_PKT_TIP, IPTI_EVT_FLOW);
    else
        step_evt(IPT_PKT_TIP, IPTI_EVT_START);
    REACH(evt.error == IPT_ERR_CONTEXT);
    REACH(evt.error == IPT_ERR_NO_IP);
    REACH(evt.count > WAITING && !evt.error);
}

void prove_evt_fup(void) /* unwind 9 */
{
    switch (nondet_u8()) {
    case 0:
        step_evt(IPT_PKT_FUP, IPTI_EVT_FLOW);
        break;
    case 1:
        step_evt(IPT_PKT_TIP_PGE, IPTI_EVT_FLOW);
        break;
    default:
        step_evt(IPT_PKT_TIP_PGD, IPTI_EVT_FLOW);
        break;
    }
    REACH(evt.error == IPT_ERR_CONTEXT);
    REACH(evt.error == IPT_ERR_NO_IP);
    REACH(evt.count > WAITING && !evt.error);
}

void prove_evt_space(void) /* unwind 9 */
{
    switch (nondet_u8()) {
    case 0:
        step_evt(IPT_PKT_PIP, IPTI_EVT_FLOW);
        break;
    case 1:
        step_evt(IPT_PKT_VMCS, IPTI_EVT_FLOW);
        break;
    case 2:
        step_evt(IPT_PKT_MODE_TSX, IPTI_EVT_FLOW);
        break;
    default:
        step_evt(IPT_PKT_MODE_EXEC, IPTI_EVT_FLOW);
        break;
    }
    REACH(evt.count == WAITING + 2);
}

void prove_evt_power(void) /* unwind 9 */
{
    switch (nondet_u8()) {
    case 0:
        step_evt(IPT_PKT_MWAIT, IPTI_EVT_FLOW);
        break;
    case 1:
        step_evt(IPT_PKT_EXSTOP, IPTI_EVT_FLOW);
        break;
    case 2:
        step_evt(IPT_PKT_PWRE, IPTI_EVT_FLOW);
        break;
    default:
        step_evt(IPT_PKT_PWRX, IPTI_EVT_FLOW);
        break;
    }
    REACH(evt.count == WAITING + 1);
}

void prove_evt_cfe(void) /* unwind 9 */
{
    switch (nondet_u8()) {
    case 0:
        step_evt(IPT_PKT_CFE, IPTI_EVT_FLOW);
        break;
    case 1:
        step_evt(IPT_PKT_EVD, IPTI_EVT_FLOW);
        break;
    default:
        step_evt(IPT_PKT_TRIG, IPTI_EVT_FLOW);
        break;
    }
    REACH(evt.error == IPT_ERR_CONTEXT);
    REACH(evt.error == IPT_ERR_PACKET);
    REACH(evt.count == WAITING + 1);
}

void prove_evt_ovf(void) /* unwind 9, slow */
{
    if (nondet_u8())
        step_evt(IPT_PKT_PSB, IPTI_EVT_FLOW);
    else
        step_evt(IPT_PKT_OVF, IPTI_EVT_FLOW);
    REACH(evt.phase == IPTI_EVT_LOST);
    REACH(evt.phase == IPTI_EVT_PSB);
}
