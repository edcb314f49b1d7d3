/* pkt.c: [pkt] for all bytes, all packets, all errata.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

static void proof_set(void *to, int value, size_t size);
static void proof_copy(void *to, const void *from, size_t size);
#define IPT_MEMSET(to, value, size)                              \
    (__builtin_constant_p(size) ? (void) memset(to, value, size) \
                                : proof_set(to, value, size))
#define IPT_MEMCPY(to, from, size)                              \
    (__builtin_constant_p(size) ? (void) memcpy(to, from, size) \
                                : proof_copy(to, from, size))
#include "proof.h"

/* memset and memcpy where the size is not a constant, as the encoder calls them:
 * CBMC's are for any size. */
static void proof_set(void *to, int value, size_t size)
{
    size_t i;

    CHECK(size <= IPTI_WINDOW);
    CHECK(__CPROVER_w_ok(to, size));
    for (i = 0; i < IPTI_WINDOW; i++)
        if (i < size)
            ((uint8_t *) to)[i] = (uint8_t) value;
}

static void proof_copy(void *to, const void *from, size_t size)
{
    size_t i;

    CHECK(size <= IPTI_WINDOW);
    CHECK(__CPROVER_w_ok(to, size));
    CHECK(__CPROVER_r_ok(from, size));
    for (i = 0; i < IPTI_WINDOW; i++)
        if (i < size)
            ((uint8_t *) to)[i] = ((const uint8_t *) from)[i];
}

/* What pkt_pads proves of a run of PAD. */
uint32_t given_ipti_pkt_run(const uint8_t *p, size_t n)
{
    const uint32_t size = nondet_u32();
    size_t i;

    CHECK(n <= IPTI_WINDOW);
    __CPROVER_assume(size <= n);
    for (i = 0; i < IPTI_WINDOW; i++)
        __CPROVER_assume(i >= n || (i < size ? p[i] == IPTI_PAD
                                             : i > size || p[i] != IPTI_PAD));
    return size;
}

/* One packet from any bytes: a size that the bytes hold, or a code. */
void prove_pkt_shape(void) /* given ipti_pkt_run */
{
    proof_place place;
    ipt_packet packet;
    uint8_t type = IPT_PKT_NONE;
    int size;

    any_far_place(&place);
    size = ipti_pkt_shape(&place.cur, place.pos, &packet, &type,
                          place.bytes.at, place.n);
    CHECK(type < IPT_PKT_COUNT);
    if (size > 0 && type == IPT_PKT_UNKNOWN) {
        CHECK(size <= 255);
        CHECK((uint64_t) size <= place.seg.size
                                 - (place.pos - place.trace.offset));
    } else if (size > 0) {
        CHECK((size_t) size <= place.n);
        CHECK(type != IPT_PKT_NONE);
        packet.type = type;
        CHECK(is_packet(&packet));
    } else {
        CHECK(size == IPT_MORE || size == IPT_ERR_OPCODE
              || size == IPT_ERR_PACKET || size == IPT_ERR_CALLBACK);
        CHECK(size != IPT_MORE || type == IPT_PKT_UNKNOWN
              || place.n < IPTI_WINDOW);
    }
    REACH(size == IPTI_WINDOW && type == IPT_PKT_PSB);
    REACH(size == 1 && type == IPT_PKT_TNT_8);
    REACH(size == 10 && type == IPT_PKT_CYC);
    REACH(size == 9 && type == IPT_PKT_BIP);
    REACH(size == 255 && type == IPT_PKT_UNKNOWN);
    REACH(size == IPTI_SIZE_TMA + 1 && type == IPT_PKT_INVALID);
    REACH(size == IPT_MORE);
    REACH(size == IPT_ERR_PACKET);
    REACH(size == IPT_ERR_CALLBACK);
}

/* Packets with no reserved bit that could be 1, and of one size for their
 * fields. */
static int is_plain(uint8_t type)
{
    return (type >= IPT_PKT_TIP && type <= IPT_PKT_FUP)
           || type == IPT_PKT_TNT_8 || type == IPT_PKT_TNT_64
           || type == IPT_PKT_PSB || type == IPT_PKT_MTC || type == IPT_PKT_TSC
           || type == IPT_PKT_BIP;
}

/* What was decoded is encoded to bytes that decode to the same, and which are
 * those that were there if there is one way to write it. */
void prove_pkt_again(void) /* given ipti_pkt_run, unwindset
    ipti_put_bytes.0:9,ipti_store_cyc.0:10,ipti_load_cyc.0:10 */
{
    proof_place place;
    ipt_packet packet;
    ipt_packet again;
    proof_bytes was;
    const size_t i = nondet_size();
    uint8_t type = IPT_PKT_NONE;
    int size;

    any_place(&place);
    was = place.bytes;
    __CPROVER_assume(place.n == IPTI_WINDOW && place.config.errata == 0);
    IPT_MEMSET(&packet, 0, sizeof(packet));
    IPT_MEMSET(&again, 0, sizeof(again));
    size = ipti_pkt_shape(&place.cur, 0, &packet, &type, place.bytes.at,
                          IPTI_WINDOW);
    if (size <= 0)
        return;
    packet.type = type;
    packet.size = (uint32_t) size;
    IPT_MEMSET(place.bytes.at, 0, IPTI_WINDOW);
    CHECK(ipt_pkt_encode(place.bytes.at, IPTI_WINDOW, &packet) > 0);
    if (type == IPT_PKT_PAD) /* 0, as what follows */
        return;
    if (is_plain(type) && i < packet.size)
        CHECK(place.bytes.at[i] == was.at[i]);
    size = ipti_pkt_shape(&place.cur, 0, &again, &type, place.bytes.at,
                          IPTI_WINDOW);
    again.type = type;
    again.size = type == IPT_PKT_CYC ? packet.size /* zeros may follow it */
                                     : (uint32_t) size;
    check_same(&packet, &again);
    REACH(type == IPT_PKT_TIP);
    REACH(type == IPT_PKT_BIP);
    REACH(type == IPT_PKT_TNT_64);
}

/* Any packet into any room: nothing outside of it is written. */
void prove_pkt_encode(void)
{
    uint8_t buffer[IPTI_WINDOW];
    ipt_packet packet = nondet_packet();
    const size_t room = nondet_size();
    int size;

    __CPROVER_assume(room <= sizeof(buffer));
    size = ipt_pkt_encode(buffer + (sizeof(buffer) - room), room, &packet);
    CHECK(size == IPT_ERR_PACKET || size == IPT_ERR_ROOM
          || (size > 0 && (size_t) size <= room));
    REACH(size == IPTI_WINDOW);
    REACH(size == IPT_ERR_PACKET);
    REACH(size == IPT_ERR_ROOM);
}

/* The quick ways are the slow one: where one takes a packet, the packet and the
 * place are those of ipti_pkt_parse. */
void prove_pkt_quick(void) /* given ipti_pkt_run */
{
    uint8_t trace[IPTI_SWALLOWED + IPTI_WINDOW];
    proof_place place;
    ipt_packet packet;
    ipt_packet slow;
    ipt_where at = {0};
    ipt_where there;

    any_place(&place);
    __CPROVER_assume(place.n == IPTI_WINDOW && place.cur.block == 0);
    place.seg.data = trace;
    place.seg.size = sizeof(trace);
    at.offset = IPTI_SWALLOWED; /* release is 0 */
    IPT_MEMCPY(trace + IPTI_SWALLOWED, place.bytes.at, IPTI_WINDOW);
    IPT_MEMSET(&packet, 0, sizeof(packet));
    IPT_MEMSET(&slow, 0, sizeof(slow));
    ipti_cur_quicken(&place.cur, &at);
    there = at;
    if (!ipti_cur_quick(&place.cur, at.offset)
        || (!ipti_pkt_quick(&place.cur, &at, &packet, trace + IPTI_SWALLOWED)
            && !ipti_pkt_plain(&at, &packet, trace + IPTI_SWALLOWED)))
        return;
    CHECK(ipti_pkt_parse(&place.cur, &there, &slow, place.bytes.at,
                         place.n) == IPT_OK);
    check_same(&packet, &slow);
    CHECK(packet.offset == slow.offset);
    CHECK(at.offset == there.offset);
    CHECK(at.packet == there.packet);
    CHECK(at.packet_offset == there.packet_offset);
    CHECK(at.sync == there.sync);
    CHECK(at.overflows == there.overflows);
    CHECK(place.cur.state == IPTI_CUR_SYNC);
    CHECK(place.cur.block == 0);
    REACH(packet.type == IPT_PKT_TNT_8);
    REACH(packet.type == IPT_PKT_PAD);
    REACH(packet.type == IPT_PKT_TIP_PGD);
    REACH(packet.type == IPT_PKT_MTC);
    REACH(packet.type == IPT_PKT_CYC && packet.size == 2);
    REACH(packet.type == IPT_PKT_OVF);
    REACH(packet.type == IPT_PKT_PTW && packet.size == 10);
    REACH(packet.type == IPT_PKT_VMCS);
    REACH(packet.type == IPT_PKT_TSC);
}

/* BBP, BIP, BEP and whatever ends a block: what assume_block says. */
void prove_pkt_block(void)
{
    ipt_cursor_ cur = {0};
    ipt_packet packet = nondet_packet();
    uint8_t size;
    int announced;

    cur.block = nondet_u8();
    size = cur.block & IPTI_BLOCK_SIZE;
    announced = (cur.block & IPTI_BLOCK_FUP) != 0;
    assume_block(cur.block);
    __CPROVER_assume(cur.block || packet.type == IPT_PKT_BBP); /* _note asks */
    __CPROVER_assume(packet.type < IPT_PKT_COUNT); /* see pkt_shape */
    ipti_pkt_block(&cur, &packet);
    CHECK(cur.block == 0 || (cur.block & IPTI_BLOCK_SIZE) == 4
          || (cur.block & IPTI_BLOCK_SIZE) == 8);
    CHECK((cur.block & ~(IPTI_BLOCK_SIZE | IPTI_BLOCK_FUP)) == 0);
    if (packet.type == IPT_PKT_FUP)
        CHECK(cur.block == (announced ? size : 0));
    else if (cur.block && packet.type != IPT_PKT_BBP)
        CHECK((cur.block & IPTI_BLOCK_SIZE) == size);
    REACH(cur.block == (4 | IPTI_BLOCK_FUP));
    REACH(cur.block == 8);
    REACH(cur.block == 0);
}

/* A run of PAD: as many as there are, and no byte after n is read. */
void prove_pkt_pads(void)
{
    enum { ROOM = 40 };
    uint8_t bytes[ROOM];
    const size_t n = nondet_size();
    const size_t i = nondet_size();
    const uint8_t *p;
    uint32_t size;

    __CPROVER_assume(n <= ROOM);
    p = bytes + (ROOM - n);
    size = ipti_pkt_run(p, n);
    CHECK(size <= n);
    if (i < size)
        CHECK(p[i] == IPTI_PAD);
    if (size < n)
        CHECK(p[size] != IPTI_PAD);
    REACH(size == ROOM);
    REACH(size == 9 && n > 20);
}

/* Eight pairs, and then something else. */
static int ends_psb(const uint8_t *p)
{
    unsigned i;

    for (i = 0; i < IPTI_SIZE_PSB; i++)
        if (p[i] != (i & 1 ? IPTI_SECOND_PSB : IPTI_FIRST_PSB))
            return 0;
    return p[IPTI_SIZE_PSB] != IPTI_FIRST_PSB;
}

/* A search for PSB: it stops after a run of at least eight pairs, and knows the
 * length of what it met. */
void prove_pkt_psb(void)
{
    enum { ROOM = 40 };
    uint8_t bytes[ROOM];
    const size_t n = nondet_size();
    const size_t i = nondet_size();
    const uint8_t *p;
    uint32_t run = nondet_u32();
    const uint32_t before = run;
    size_t used;

    __CPROVER_assume(n <= ROOM && run <= 18);
    p = bytes + (ROOM - n);
    used = ipti_psb_scan(p, n, &run);
    CHECK(used <= n);
    CHECK(run <= 18);
    CHECK(used == n || run >= IPTI_SIZE_PSB);
    CHECK(ipti_psb_kept(run) <= ipti_psb_kept(before) + used);
    if (used >= IPTI_SIZE_PSB + 1 && i <= used - (IPTI_SIZE_PSB + 1))
        CHECK(!ends_psb(p + i)); /* none is passed */
    if (used >= 18 && i < ipti_psb_kept(run))
        CHECK(p[used - 1 - i]
              == ((run - i) % 2 ? IPTI_FIRST_PSB : IPTI_SECOND_PSB));
    REACH(before == 0 && used == 17 && run == IPTI_SIZE_PSB && used < n);
    REACH(before == 3 && used == 13 && run == IPTI_SIZE_PSB && used < n);
    REACH(run == 18);
}

/* What is passed by each 16th byte begins no PSB. */
void prove_pkt_none(void)
{
    enum { ROOM = 40 };
    uint8_t bytes[ROOM];
    const size_t n = nondet_size();
    const size_t i = nondet_size();
    const uint8_t *p;
    size_t used;

    __CPROVER_assume(n <= ROOM);
    p = bytes + (ROOM - n);
    used = ipti_psb_none(p, n);
    CHECK(used <= n);
    if (i < used && n - i >= IPTI_SIZE_PSB)
        CHECK(!ipti_is_psb(p + i, IPTI_SIZE_PSB));
    if (i < used) /* nor does one go on after the n bytes */
        CHECK(!(n - i < IPTI_SIZE_PSB && ipti_is_psb(p + i, n - i)));
    REACH(used == 32 && n == 32);
    REACH(used == 16 && n == ROOM);
}
