/* ptwrites.c: see ptwrites.h.
 *
 * SPDX-License-Identifier: MIT */
#include "ptwrites.h"
#include <stdlib.h>
#include <string.h>

#define PLACES 4096u /* a power of two */
#define BEFORE 64u   /* bytes from a mark to the first branch, at most */

void ptwrites_free(ptwrites *p)
{
    free(p->places);
    p->places = NULL;
}

/* Is the branch at `at`, of `size` bytes, to the next instruction? */
static int leads_on(const uint8_t *at, unsigned size)
{
    static const uint8_t zeros[4];
    return size == 2 ? at[1] == 0
         : size == 6 ? memcmp(at + 2, zeros, 4) == 0 : 0;
}

/* Where the last mark in the code before `size` leads, counted from its end; 0:
 * there is none. */
static size_t find_mark(const uint8_t *code, size_t size)
{
    static const char mark[] = "\xeb\x10\x0f\x0bperf,ptwrite  ";
    const size_t length = sizeof mark - 1;
    for (size_t after = 1; after + length <= size; after++)
        if (memcmp(code + size - after - length, mark, length) == 0)
            return after;
    return 0;
}

static void look_at(ptwrites_place *place, session *s, const ipt_block *b)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, place->guest};
    uint8_t code[BEFORE + 18 + 8];
    const unsigned before = BEFORE + 18;
    size_t after;
    place->ip = b->end_ip;
    place->mark = 0;
    place->is_branch = 0;
    if (spaces_read(code + before, b->last_size, &asid, b->end_ip,
                    &s->view) != b->last_size
        || !leads_on(code + before, b->last_size))
        return;
    place->is_branch = 1;
    memset(code, 0, before);
    for (unsigned n = before; n > 18; n--) /* less where a mapping begins */
        if (spaces_read(code + before - n, n, &asid, b->end_ip - n, &s->view)
            == (int) n)
            break;
    after = find_mark(code, before);
    for (size_t i = before - after; i + 2 <= before; i++)
        if (after && code[i] >> 4 == 7 && code[i + 1] == 0)
            return; /* not the first after it */
    if (after) place->mark = b->end_ip - after;
}

static const ptwrites_place *find_place(ptwrites *p, session *s,
                                        const threads_who *who,
                                        const ipt_block *b)
{
    const uint64_t hash = (b->end_ip ^ (uint64_t) who->pid << 32)
                        * 0x9e3779b97f4a7c15u;
    const uint32_t life = (uint32_t) s->changes + 1;
    ptwrites_place *place;
    if (!p->places)
        p->places = (ptwrites_place *) calloc(PLACES, sizeof *p->places);
    if (!p->places) return NULL;
    place = &p->places[hash >> 48 & (PLACES - 1)];
    if (place->ip == b->end_ip && place->pid == who->pid
        && place->guest == who->guest && place->life == life)
        return place;
    place->pid = who->pid;
    place->guest = who->guest;
    place->life = life;
    s->view.pid = who->pid;
    look_at(place, s, b);
    return place;
}

/* The bits of the packet at an offset; 0 if there is none. */
static int read_bits(ptwrites_state *state, const ipt_trace *trace,
                     uint64_t offset)
{
    static const ipt_config config;
    ipt_pkt_decoder d;
    ipt_packet packet;
    if (!trace || offset < trace->offset || ipt_pkt_init(&d, &config, trace) < 0
        || ipt_pkt_sync_set(&d, offset) < 0 || ipt_pkt_next(&d, &packet) < 0
        || (packet.type != IPT_PKT_TNT_8 && packet.type != IPT_PKT_TNT_64))
        return 0;
    state->offset = offset;
    state->bits = packet.u.tnt.bits;
    state->count = packet.u.tnt.count;
    state->here = 0;
    return 1;
}

/* The branches of a packet are of the value: its last ones, as more follow. If the
 * value began before it, that is all of them. */
static int take_bits(ptwrites_state *state)
{
    const uint64_t mask = ((uint64_t) 1 << state->here) - 1;
    state->value = state->value << state->here | (state->bits & mask);
    return state->here == state->count
        || (state->here == state->total && state->here < state->count);
}

int ptwrites_flow(ptwrites *p, ptwrites_state *state, session *s,
                  const threads_who *who, const ipt_block *b)
{
    const ptwrites_place *place;
    if (b->kind == IPT_INSN_OTHER) return 0; /* a block goes on */
    if (b->kind != IPT_INSN_JCC) {
        state->total = 0;
        return 0;
    }
    place = find_place(p, s, who, b);
    if (!place) return -1;
    if (place->mark) {
        memset(state, 0, sizeof *state);
        state->ip = place->mark;
        state->next = b->end_ip;
    } else if (!state->total || !place->is_branch
               || b->end_ip - state->next >= 16) {
        state->total = 0;
        return 0;
    }
    state->next = b->end_ip + b->last_size;
    if (!state->total || b->offset != state->offset) {
        if ((state->total && !take_bits(state))
            || !read_bits(state, threads_trace(&s->threads, who->queue),
                          b->offset)) {
            state->total = 0;
            return 0;
        }
    }
    state->here++;
    if (++state->total < 64) return 0;
    state->total = 0;
    if (state->here > state->count) return 0;
    state->value = state->value << state->here
                 | state->bits >> (state->count - state->here);
    return 1;
}
