/* assume.c: both sides of what the other proofs assume are reached, and those
 * that an _init checks are told apart by it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

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
          == (ipti_config_values(&config) >= 0 && !trace.count));
    CHECK((decoder.magic_ == ipti_magic(sizeof(decoder)))
          == (status == IPT_OK));
    REACH(status == IPT_OK);
    REACH(status == IPT_ERR_CONFIG);
    REACH(status == IPT_ERR_ARG);
    REACH(is_window(&bytes, n) && n == 1);
    REACH(!is_window(&bytes, n) && n == 1);
    REACH(is_packet(&packet));
    REACH(!is_packet(&packet) && packet.type == IPT_PKT_CFE);
    REACH(!is_packet(&packet) && packet.type == IPT_PKT_FUP);
    REACH(is_block(block) && block);
    REACH(!is_block(block));
    REACH(is_short(&trace, size) && size);
    REACH(!is_short(&trace, size));
}
