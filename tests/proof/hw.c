/* hw.c: [hw] with any registers, and tables that hold anything.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_topa nondet_topa(void);
ipt_msrs nondet_msrs(void);
ipt_region nondet_region(void);

static uint8_t physical[8];

/* An entry, or a region; what an entry holds may differ each time. */
static const uint8_t *any_map(uint64_t address, uint64_t size, void *context)
{
    proof_bytes bytes = nondet_bytes();

    (void) address, (void) context;
    CHECK(size > 0);
    memcpy(physical, bytes.at, sizeof(physical));
    return nondet_u8() ? &physical[0] : NULL;
}

/* The room is at most 3 segments: the claim is about that many. */
void prove_hw_topa(void) /* unwind 6 */
{
    enum { ROOM = 3 };
    ipt_segment segments[ROOM];
    ipt_topa topa = nondet_topa();
    const uint32_t room = nondet_u32();
    int n;

    __CPROVER_assume(room <= ROOM);
    topa.map = any_map;
    n = ipt_segments_from_topa(segments + (ROOM - room), room, &topa);
    CHECK(n <= (int) room);
    CHECK(n >= 0 || n == IPT_ERR_ROOM || n == IPT_ERR_CALLBACK
          || n == IPT_ERR_ARG);
    if (n > 0) {
        CHECK(segments[ROOM - room].data);
        CHECK(segments[ROOM - room].size);
    }
    REACH(n == ROOM);
    REACH(n == 0);
    REACH(n == IPT_ERR_ROOM);
    REACH(n == IPT_ERR_CALLBACK);
    REACH(n == IPT_ERR_ARG);
}

void prove_hw_msrs(void)
{
    ipt_config config = nondet_config();
    ipt_msrs msrs = nondet_msrs();
    int status;

    assume_config(&config);
    status = ipt_config_from_msrs(&config, &msrs);
    CHECK(status == IPT_OK || status == IPT_ERR_ARG);
    CHECK(ipti_config_values(&config) >= 0);
    REACH(status == IPT_OK && config.errata != 0);
    REACH(status == IPT_ERR_ARG);
}

/* Regions into a table: each entry is one that the processor takes, the last
 * one is the link, and none is written after the room. */
void prove_hw_regions(void) /* unwind 18 */
{
    enum { ROOM = 3, REGIONS = 2 };
    uint8_t table[ROOM * 8];
    ipt_region regions[REGIONS];
    const uint64_t next = nondet_u64();
    const uint32_t room = nondet_u32();
    const uint32_t count = nondet_u32();
    const uint32_t i = nondet_u32();
    uint8_t *begin;
    int n;

    __CPROVER_assume(room <= ROOM && count <= REGIONS);
    regions[0] = nondet_region();
    regions[1] = nondet_region();
    begin = table + (ROOM - room) * 8;
    n = ipt_topa_from_regions(begin, room, next, regions, count);
    CHECK(n == IPT_ERR_ARG || n == IPT_ERR_ROOM || (n >= 2 && n <= (int) room));
    if (n > 0 && i < (uint32_t) n) {
        const uint64_t entry = ipti_le64(begin + i * 8);
        const uint64_t size = (uint64_t) 4096
                              << (entry >> IPTI_TOPA_SIZE & 15);

        CHECK((entry & IPTI_TOPA_END) == (i + 1 == (uint32_t) n));
        if (entry & IPTI_TOPA_END)
            CHECK(entry == (next | IPTI_TOPA_END));
        else
            CHECK(((entry & IPTI_TOPA_ADDRESS) & (size - 1)) == 0);
    }
    REACH(n == ROOM);
    REACH(n == IPT_ERR_ROOM);
    REACH(n == IPT_ERR_ARG);
}
