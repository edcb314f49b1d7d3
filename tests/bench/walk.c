/* walk.c: the plainest ways through packets: lengths from a table, which knows
 * nothing of what is in them and counts each PAD by itself. "table walk" only
 * counts, in one loop: its state never leaves the registers. "walk by calls"
 * hands out each packet's offset and size by a call, as a decoder's _next does,
 * so that what is compared is the same except what the packets say. */
#include "bench.h"

static uint8_t by_first[256];  /* 0: see the second byte; 255: CYC */
static uint8_t by_second[256]; /* after 02 */

static int prepare_table(const bench_case *c)
{
    static const uint8_t ext[][2]
        = {{0x82, 16}, {0x23, 2}, {0xf3, 2}, {0x83, 2}, {0xa3, 8}, {0x43, 8},
           {0xc8, 7}, {0x03, 4}, {0x73, 7}, {0xc3, 11}, {0x62, 2}, {0xe2, 2},
           {0xc2, 10}, {0x22, 4}, {0xa2, 7}, {0x63, 3}, {0x33, 2}, {0xb3, 2},
           {0x13, 4}, {0x53, 11}, {0x12, 6}, {0x92, 6}, {0x32, 10}, {0xb2, 10}};
    static const uint8_t ip[8] = {1, 3, 5, 7, 7, 1, 9, 1};
    unsigned i;

    (void) c;
    for (i = 0; i < 256; i++) {
        by_first[i] = i % 2 && (i & 3) != 3 ? ip[i >> 5] : 1;
        if ((i & 3) == 3)
            by_first[i] = 255;
        by_second[i] = 0;
    }
    by_first[0x02] = 0;
    by_first[0x19] = 8;
    by_first[0x59] = by_first[0x99] = 2;
    by_first[0xd9] = 3;
    for (i = 0; i < sizeof ext / sizeof ext[0]; i++)
        by_second[ext[i][0]] = ext[i][1];
    return 1;
}

/* The size of a packet whose first byte does not say it. */
static unsigned size_of_other(const uint8_t *p, const uint8_t *end)
{
    unsigned size = 1;

    if (by_first[*p] == 0)
        size = p + 1 < end ? by_second[p[1]] : 1;
    else
        while (p + size < end && size < 10
               && p[size - 1] & (size == 1 ? 4 : 1))
            size++;
    return size ? size : 1;
}

static uint64_t pass_table(const bench_case *c)
{
    const uint8_t *p = c->trace;
    const uint8_t *end = c->trace + c->size;
    uint64_t count = 0;

    while (p < end) {
        const unsigned size = by_first[*p];
        p += (uint8_t) (size - 1) < 254 ? size : size_of_other(p, end);
        count++;
    }
    bench_sink += count;
    return count;
}

typedef struct walker {
    const uint8_t *begin;
    const uint8_t *p;
    const uint8_t *end;
} walker;

static int walker_next(walker *w, ipt_packet *packet)
{
    unsigned size;

    if (!w || !packet)
        return IPT_ERR_ARG;
    if (w->p >= w->end)
        return IPT_END;
    size = by_first[*w->p];
    if ((uint8_t) (size - 1) >= 254)
        size = size_of_other(w->p, w->end);
    packet->offset = (uint64_t) (w->p - w->begin);
    packet->size = size;
    packet->type = *w->p;
    w->p += size;
    return IPT_OK;
}

static int (*volatile next)(walker *w, ipt_packet *packet) = walker_next;

static uint64_t pass_calls(const bench_case *c)
{
    walker w = {c->trace, c->trace, c->trace + c->size};
    uint64_t count = 0;
    uint64_t sum = 0;
    ipt_packet packet;

    while (next(&w, &packet) >= 0) {
        count++;
        sum += packet.offset + packet.type;
    }
    bench_sink += sum;
    return count;
}

const bench_row bench_walk[] = {
    {"packets", "table walk", prepare_table, pass_table, 0, 1, 0},
    {"packets", "walk by calls", prepare_table, pass_calls, 0, 1, 0},
    {0},
};
