/* proof.h: what all harnesses of `make prove` take as given.
 *
 * A harness is a function prove_<section>_<what>. CBMC runs it with every value
 * that nondet_...() may return, and shows that no check of memory or arithmetic
 * can fail, that no loop goes round more often than it is unwound, and that
 * what CHECK claims is true. REACH marks a place that must be reached: without
 * it a harness whose assumptions contradict each other would prove anything.
 *
 * Assumptions stand in assume.h and nowhere else, each with who sees to it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROOF_H
#define PROOF_H

#include <string.h> /* CBMC has models of memcpy and the like, by bytes */
#define IPTI_COPY(to, from) ((void) (*(to) = *(from)))
#ifndef IPT_MEMCPY
#define IPT_MEMCPY memcpy
#endif
#ifndef IPT_MEMMOVE
#define IPT_MEMMOVE memmove
#endif
#ifndef IPT_MEMSET
#define IPT_MEMSET memset
#endif
#define IPT_MEMCMP memcmp
#define IPT_IMPLEMENTATION
#include "../../ipt.h"

/* In the run that looks for what can be reached, claims are not looked at. */
#ifdef COVER
#define CHECK(claim) (void) (claim)
#define REACH(what) __CPROVER_cover(what)
#else
#define CHECK(claim) __CPROVER_assert(claim, #claim)
#define REACH(what) (void) (what)
#endif

uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
size_t nondet_size(void);
int nondet_int(void);

#include "assume.h"

proof_bytes nondet_bytes(void);

static void assume_window(proof_bytes *bytes, size_t n)
{
    size_t i;

    for (i = 0; i < IPTI_WINDOW; i++)
        if (i >= n)
            bytes->at[i] = 0;
    __CPROVER_assume(is_window(bytes, n));
}

static void assume_config(const ipt_config *config)
{
    __CPROVER_assume(is_config(config));
}

/* config.unknown may answer and write whatever it likes. */
static int any_unknown(ipt_packet *packet, const uint8_t *bytes, size_t size,
                       void *context)
{
    (void) context;
    CHECK(size == 0 || __CPROVER_r_ok(bytes, size));
    packet->u.unknown[0] = nondet_u64();
    packet->u.unknown[1] = nondet_u64();
    return nondet_int();
}

/* ---- the cursor: in one piece of trace, at a packet ---- */

typedef struct proof_place {
    ipt_config config;
    ipt_segment seg;
    ipt_trace trace;
    ipt_cursor_ cur;
    uint64_t fuel;
    proof_bytes bytes; /* what a read at pos finds, ... */
    size_t n;          /* ... and how much of it belongs to the trace */
    uint64_t pos;
} proof_place;

ipt_config nondet_config(void);
ipt_packet nondet_packet(void);

static void assume_packet(const ipt_packet *packet)
{
    __CPROVER_assume(is_packet(packet));
}

static void assume_block(uint8_t block)
{
    __CPROVER_assume(is_block(block));
}

/* A cursor that finds n bytes at pos, which is 0. */
static void any_place(proof_place *place)
{
    ipt_cursor_ *cur = &place->cur;

    place->config = nondet_config();
    assume_config(&place->config);
    place->config.unknown = NULL;
    place->config.fuel = NULL;
    place->bytes = nondet_bytes();
    place->n = nondet_size();
    assume_window(&place->bytes, place->n);

    place->seg.data = place->bytes.at;
    place->seg.size = place->n;
    place->trace.seg = &place->seg;
    place->trace.count = 1;
    place->trace.offset = 0;
    place->trace.open = nondet_u8() != 0;
    place->pos = 0;

    IPT_MEMSET(cur, 0, sizeof(*cur));
    cur->config = &place->config;
    cur->trace = &place->trace;
    cur->limit = nondet_u64();
    cur->state = IPTI_CUR_SYNC;
    cur->block = nondet_u8();
    assume_block(cur->block);
}

/* As above, at any offset, with fuel and config.unknown or without. */
static void any_far_place(proof_place *place)
{
    const uint64_t before = nondet_u64();

    any_place(place);
    place->config.unknown = nondet_u8() ? any_unknown : NULL;
    place->fuel = nondet_u64();
    place->config.fuel = nondet_u8() ? &place->fuel : NULL;
    place->seg.size = nondet_size();
    place->trace.offset = nondet_u64();
    __CPROVER_assume(is_short(&place->trace, place->seg.size));
    __CPROVER_assume(before <= place->seg.size
                     && place->seg.size - before >= place->n);
    __CPROVER_assume(place->n == IPTI_WINDOW
                     || place->seg.size - before == place->n);
    place->pos = place->trace.offset + before;
    place->cur.origin = place->cur.begin = place->trace.offset;
}

/* Packets are equal in what they say. */
static void check_same(const ipt_packet *a, const ipt_packet *b)
{
    CHECK(a->type == b->type);
    CHECK(a->size == b->size);
    CHECK(a->u.unknown[0] == b->u.unknown[0]);
    CHECK(a->u.unknown[1] == b->u.unknown[1]);
}

#endif
