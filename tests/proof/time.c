/* time.c: [time] from any clock, with any config, by any packet.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_clock nondet_clock(void);

/* Any state at all, so no invariant is needed. */
static void any_clock(ipt_clock *clock, ipt_config *config)
{
    *config = nondet_config();
    assume_config(config);
    *clock = nondet_clock();
    clock->config_ = config;
}

static void check_time(const ipt_clock *clock, const ipt_clock *before,
                       const ipt_config *config, int status)
{
    CHECK(status == IPT_OK || status == IPT_NO_TIME || status == IPT_ERR_CONTEXT
          || status == IPT_ERR_CONFIG || status == IPT_ERR_PACKET);
    CHECK(clock->config_ == config);
    CHECK(clock->magic_ == before->magic_);
    CHECK(clock->lost_mtc == 0 || clock->lost_mtc >= before->lost_mtc);
    CHECK(clock->lost_cyc == 0 || clock->lost_cyc >= before->lost_cyc);
    /* A clock that is not to go back: not by a TSC's 56 bits. */
    if (config->flags & IPT_CONFIG_MONOTONIC && before->has_tsc)
        CHECK(clock->tsc - before->tsc < (uint64_t) 1 << 55);
}

void prove_time_update(void)
{
    ipt_config config;
    ipt_clock clock;
    ipt_clock before;
    ipt_packet packet = nondet_packet();
    int status;

    any_clock(&clock, &config);
    __CPROVER_assume(packet.type != IPT_PKT_CYC && packet.type != IPT_PKT_MTC);
    before = clock;
    status = ipti_time_update(&clock, &packet);
    check_time(&clock, &before, &config, status);
    REACH(packet.type == IPT_PKT_TSC && clock.tsc != before.tsc);
    REACH(packet.type == IPT_PKT_TMA && status == IPT_OK);
    REACH(status == IPT_ERR_CONTEXT);
}

void prove_time_mtc(void)
{
    ipt_config config;
    ipt_clock clock;
    ipt_clock before;
    ipt_packet packet = nondet_packet();
    int status;

    any_clock(&clock, &config);
    packet.type = IPT_PKT_MTC;
    before = clock;
    status = ipti_time_update(&clock, &packet);
    check_time(&clock, &before, &config, status);
    REACH(status == IPT_OK && clock.tsc != before.tsc);
    REACH(status == IPT_ERR_CONFIG);
}

void prove_time_cyc(void)
{
    ipt_config config;
    ipt_clock clock;
    ipt_clock before;
    ipt_packet packet = nondet_packet();
    int status;

    any_clock(&clock, &config);
    packet.type = IPT_PKT_CYC;
    before = clock;
    status = ipti_time_update(&clock, &packet);
    check_time(&clock, &before, &config, status);
    REACH(status == IPT_OK && clock.tsc != before.tsc);
    REACH(status == IPT_NO_TIME);
    REACH(status == IPT_ERR_PACKET);
}

void prove_time_calibrate(void)
{
    ipt_config config;
    ipt_clock clock;
    ipt_clock before;
    ipt_packet packet = nondet_packet();
    int status;

    any_clock(&clock, &config);
    before = clock;
    status = ipti_time_calibrate(&clock, &packet);
    check_time(&clock, &before, &config, status);
    CHECK(clock.tsc == before.tsc); /* it does not move time */
    REACH(status == IPT_OK && clock.fcr != before.fcr);
    REACH(status == IPT_ERR_CONFIG);
}
