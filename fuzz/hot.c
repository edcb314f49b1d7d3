/* hot.c: fuzz [hot]. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-hot fuzz/hot.c
 *     ./fuzz-hot corpus fuzz/corpus/hot fuzz/regress/hot
 *
 * Replay: cc -g -I. -o fuzz-hot fuzz/hot.c fuzz/standalone.c
 *
 * An input is a byte each for the tables' sizes, threshold, limit and client,
 * then blocks of four bytes, or calls, where the first byte is at least 0xe0.
 * tests/hot.h says what is checked: that all is as in its model as long as no
 * table is full, and always that what is given ran. With an odd client
 * callbacks call back by chance, and only what sanitizers see counts. */
#include "tests/linked.h"
#define HOT_STREAM 4096 /* no run has more blocks */
#define MODEL_BUCKETS 1024
#include "tests/hot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hot_pair p;
static uint64_t chance;

static const ipt_asid spaces[2]
    = {{0x1000, IPT_ASID_UNKNOWN, 0}, {0x2000, 0x3000, 1}};

/* Addresses stand close together, some at the end of all. */
static uint64_t address(uint8_t byte)
{
    return byte < 0xf0 ? 0x1000 + 8 * (uint64_t) byte
                       : (uint64_t) byte * 4 - 0x3e0;
}

static void back(const ipt_hot_tag *tag)
{
    ipt_hot_tag other = *tag;
    chance = hot_mix(chance, tag->ip);
    other.ip = address((uint8_t) (chance >> 8));
    switch (chance % 6) {
    case 0: ipt_hot_delete(&p.hot, tag); break;
    case 1: ipt_hot_delete(&p.hot, &other); break;
    case 2: ipt_hot_mark_head(&p.hot, &other); break;
    case 3: ipt_hot_invalidate(&p.hot, NULL, other.ip, chance >> 60); break;
    default: break;
    }
    if (ipt_hot_break(&p.hot) != IPT_ERR_STATE) abort();
}

static int back_end(const ipt_hot_tag *tag, uint64_t next, void *context)
{
    (void) context, (void) next;
    back(tag);
    return (int) (chance >> 20) % 4;
}

static int back_trace(const ipt_hot_tag *tag, const ipt_block *blocks,
                      uint32_t count, void *context)
{
    (void) context;
    if (count == 0 || blocks[0].ip != tag->ip) abort();
    back(tag);
    return (int) (chance >> 20) % 3;
}

static void back_told(const ipt_hot_tag *tag, void *context)
{
    (void) context;
    back(tag);
}

static void feed(const uint8_t *d, int both)
{
    const ipt_asid *asid = &spaces[d[3] >> 7];
    ipt_block b;
    memset(&b, 0, sizeof b);
    b.ip = address(d[0]);
    b.end_ip = b.ip + d[1] % 16 - (d[1] == 255 ? 64 : 0);
    b.count = (uint16_t) (d[2] >> 5);
    b.kind = d[2] & 31;
    b.last_size = d[1] >> 4;
    b.flags = (uint16_t) (d[3] & 0x40 ? 1u << (d[3] & 15) : 0u);
    b.mode = d[3] & 0x20 ? IPT_MODE_32 : IPT_MODE_64;
    if (both) pair_feed(&p, &b, asid);
    else if (ipt_hot_feed(&p.hot, &b, asid) != IPT_OK) abort();
}

static void call(const uint8_t *d, int both)
{
    const ipt_hot_tag tag
        = hot_tag_of(address(d[1]), &spaces[d[3] >> 7],
                     d[3] & 0x20 ? IPT_MODE_32 : IPT_MODE_64);
    const ipt_asid *asid = d[3] & 1 ? &tag.asid : NULL;
    switch (d[0] & 3) {
    case 0: both ? pair_break(&p) : (void) ipt_hot_break(&p.hot); break;
    case 1:
        both ? pair_mark(&p, &tag) : (void) ipt_hot_mark_head(&p.hot, &tag);
        break;
    case 2:
        both ? pair_delete(&p, &tag) : (void) ipt_hot_delete(&p.hot, &tag);
        break;
    default:
        both ? pair_invalidate(&p, asid, tag.ip + d[2] % 8, d[2])
             : (void) ipt_hot_invalidate(&p.hot, asid, tag.ip, d[2]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t i;
    int both;

    if (size < 6)
        return 0;
    both = !(data[5] & 1);
    chance = data[5];
    if (pair_begin(&p, 1u + data[3] % 8, data[4] % 9, data[5] >> 1 & 1,
                   1u + data[0] * 4u, 1u + data[1], 1u + data[2] * 4u) < 0)
        abort();
    if (!both) {
        p.config.end_trace = back_end;
        p.config.trace = back_trace;
        p.config.deleted = p.config.aborted = back_told;
    }
    for (i = 6; i + 4 <= size && i < 8192; i += 4) {
        if (data[i] >= 0xe0 && data[i] < 0xf0) call(data + i, both);
        else feed(data + i, both);
        if (p.wrong[0]) {
            fprintf(stderr, "%s\n", p.wrong);
            abort();
        }
    }
    pair_finish(&p);
    return 0;
}
