/* cursor.c: steps of the cursor over trace, from any state that the invariant
 * allows: up to three segments of any size, of which any may be a gap; more may
 * come or not; fuel or none.
 *
 * The invariant stands in assume.h: is_place says where the cursor is among
 * segments, is_cursor also what it is up to. ipti_cur_init makes it, and the
 * functions proved here keep it, whatever they return. Where a function calls
 * another one, that is replaced by given_..., which does whatever is claimed of
 * it. tests/proof/proved.md says which of these claims are proved themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

enum { MOST = 18, MANY = 128, SEGMENTS = 3 };

ipt_where nondet_where(void);
ipt_cursor_ nondet_cursor(void);

typedef struct piece {
    uint8_t at[MOST];
} piece;

piece nondet_piece(void);

static piece pieces[SEGMENTS];
static ipt_segment segments[SEGMENTS];
static uint64_t begins[SEGMENTS + 1]; /* where each begins; the end of trace */
static ipt_trace trace;
static ipt_config config;
static uint64_t fuel;
static ipt_pkt_decoder decoder;
static ipt_cursor_ *const cur = &decoder.cur_;
static ipt_where *const at = &decoder.at;

/* ---- trace ---- */

/* The caller's duties: segments are there, and offsets are 64-bit numbers. */
static void assume_trace(void)
{
    uint32_t i;

    trace.seg = segments;
    trace.count = nondet_u32();
    trace.offset = begins[0] = nondet_u64();
    trace.open = nondet_u8() != 0;
    __CPROVER_assume(trace.count <= SEGMENTS);
    for (i = 0; i < SEGMENTS; i++) {
        begins[i + 1] = begins[i];
        if (i < trace.count)
            begins[i + 1] = ipti_seg_end(&segments[i], begins[i]);
        __CPROVER_assume(begins[i] <= begins[i + 1]);
    }
}

/* Segments of any size. Their bytes are not looked at. */
static void any_sizes(void)
{
    uint32_t i;

    for (i = 0; i < SEGMENTS; i++) {
        segments[i].size = nondet_size();
        segments[i].data = nondet_u8() ? pieces[i].at : NULL;
    }
    assume_trace();
}

/* ---- the invariant ---- */

static int is_place(void)
{
    return cur->config == &config && cur->trace == &trace
           && is_cursor_place(cur, &trace, begins);
}

static int is_here(uint64_t pos)
{
    return is_cursor_here(cur, &trace, begins, pos);
}

/* What holds between any two calls. */
static int is_cursor(void)
{
    return is_place() && is_cursor_quick(cur, &trace, at->offset)
           && is_cursor_state(cur, at->offset);
}

/* What a search from `before` leaves, which had `kept` bytes of a PSB. */
static int is_search(int status, uint64_t before, uint32_t kept, uint64_t pos,
                     uint32_t run)
{
    return (status == IPT_OK || status == 1 || status == IPT_END
            || status == IPT_MORE || status == IPT_BUDGET
            || status == IPT_ERR_GONE)
           && pos >= before && run <= 18
           && (status != IPT_OK || run >= IPTI_SIZE_PSB)
           && ipti_psb_kept(run) <= kept + (pos - before);
}

static int is_gap(int status, uint64_t pos, uint64_t gap)
{
    return status != 1 || (gap > pos && (gap == begins[1] || gap == begins[2]
                                         || gap == begins[3]));
}

/* `quick` does not hold. */
static int is_slow(void)
{
    return cur->quick == 0 || cur->origin != trace.offset;
}

static void any_cursor(void)
{
    config = nondet_config();
    assume_config(&config);
    config.unknown = nondet_u8() ? any_unknown : NULL;
    fuel = nondet_u64();
    config.fuel = nondet_u8() ? &fuel : NULL;
    decoder.at = nondet_where();
    decoder.cur_ = nondet_cursor();
    decoder.magic_ = ipti_magic(sizeof(decoder));
    cur->config = &config;
    cur->trace = &trace;
    assume_block(cur->block);
    __CPROVER_assume(is_cursor());
}

/* ---- what is claimed of a function, for those that call it ---- */

static void less_fuel(void)
{
    const uint64_t left = nondet_u64();

    __CPROVER_assume(left <= fuel);
    fuel = left;
}

/* A loop that comes round has got on, and is in a state that it may begin with:
 * so once is any number of times. */
static enum { NO_LOOP, FORWARD, BACKWARD } loop;
static int rounds = 1; /* that are looked at */
static int round;
static uint64_t round_pos;
static uint32_t run; /* of a search */

static void round_again(uint64_t pos)
{
    if (round) {
        CHECK(is_place());
        CHECK(loop == FORWARD ? pos > round_pos : pos < round_pos);
        CHECK(loop == FORWARD || pos >= trace.offset);
        CHECK(run <= 18);
    }
    __CPROVER_assume(round++ < rounds);
    round_pos = pos;
}

/* Some other place. */
static void move(void)
{
    cur->origin = nondet_u64();
    cur->begin = nondet_u64();
    cur->piece = nondet_u32();
    cur->seg = nondet_u32();
    less_fuel();
    __CPROVER_assume(is_place());
}

int given_ipti_cur_seek(ipt_cursor_ *c, uint64_t pos)
{
    CHECK(c == cur);
    CHECK(is_place());
    if (loop == BACKWARD)
        round_again(pos);
    cur->quick = 0;
    if (pos < trace.offset) {
        cur->seg = IPTI_NOWHERE;
        return IPT_ERR_GONE;
    }
    move();
    __CPROVER_assume(cur->origin == trace.offset);
    if (nondet_u8()) {
        __CPROVER_assume(config.fuel && fuel == 0);
        __CPROVER_assume(cur->seg == IPTI_NOWHERE);
        return IPT_BUDGET;
    }
    __CPROVER_assume(is_here(pos));
    return IPT_OK;
}

/* How many bytes lie together from pos on, in whatever segments. */
static uint64_t together(uint64_t pos)
{
    uint64_t end = pos;
    uint32_t i;

    for (i = 0; i < SEGMENTS; i++)
        if (i < trace.count && !ipti_seg_gap(&segments[i]) && begins[i] <= end
            && end < begins[i + 1])
            end = begins[i + 1];
    return end - pos;
}

/* Of ipti_cur_bytes: n bytes at p, of those that lie together. */
static int claim_bytes(int status, uint64_t pos, const uint8_t *window,
                       const uint8_t *p, size_t n)
{
    const uint64_t most = together(pos);

    if (status != IPT_OK)
        return (status == IPT_BUDGET || status == IPT_ERR_GONE) && n == 0
               && p == window;
    return is_here(pos)
           && (n >= IPTI_WINDOW ? n <= most : n == most && p == window);
}

/* Of ipti_cur_here, if it finds n bytes. */
static int claim_here(uint64_t pos, size_t n)
{
    return cur->origin == trace.offset && cur->seg < trace.count
           && n >= IPTI_WINDOW && pos >= cur->begin
           && pos - cur->begin <= segments[cur->seg].size
           && n == segments[cur->seg].size - (pos - cur->begin);
}

/* n bytes that may be others each time. Only the last 18 are looked at. */
static const uint8_t *found(size_t n)
{
    static piece bytes;
    static uint8_t more[MANY];

    if (n > MOST)
        return more + (MANY - n);
    bytes = nondet_piece();
    return bytes.at + (MOST - n);
}

static size_t longest = MOST;

int given_ipti_cur_bytes(ipt_cursor_ *c, uint64_t pos, uint8_t *window,
                         const uint8_t **p, size_t *n)
{
    const piece bytes = nondet_piece();
    const uint64_t most = together(pos);
    int status = IPT_OK;
    unsigned i;

    CHECK(c == cur);
    CHECK(is_place());
    if (loop == FORWARD)
        round_again(pos);
    if (cur->origin != trace.offset || cur->seg >= trace.count || nondet_u8())
        status = given_ipti_cur_seek(c, pos);
    if (status == IPT_OK && most == 0 && nondet_u8())
        status = IPT_ERR_GONE;
    *n = status == IPT_OK ? (size_t) most : 0;
    *p = window;
    for (i = 0; i < IPTI_WINDOW; i++)
        window[i] = i < *n || *n == 0 ? bytes.at[i] : 0;
    if (*n >= IPTI_WINDOW) { /* all, or what one segment has */
        *n = nondet_size();
        __CPROVER_assume(*n >= IPTI_WINDOW && *n <= longest);
        *p = found(*n);
    }
    __CPROVER_assume(claim_bytes(status, pos, window, *p, *n));
    return status;
}

/* Of ipti_psb_scan, which had `kept` bytes of a PSB; see prove_pkt_psb. */
static int claim_scan(size_t n, uint32_t kept, size_t used, uint32_t m)
{
    return used <= n && m <= 18 && (used == n || m >= IPTI_SIZE_PSB)
           && ipti_psb_kept(m) <= kept + used;
}

/* Of ipti_pkt_pairs. */
static int claim_pairs(int status, uint64_t before)
{
    return (status == IPT_OK || status == IPT_MORE || status == IPT_BUDGET
            || status == IPT_ERR_GONE)
           && cur->state == (status ? IPTI_CUR_PSB : IPTI_CUR_SYNC)
           && at->offset >= before
           && (at->offset == before || at->offset <= begins[SEGMENTS]);
}

/* A packet was read up to where the cursor is. */
static int is_packet_here(const ipt_packet *packet)
{
    return packet->type < IPT_PKT_COUNT && packet->type != IPT_PKT_NONE
           && packet->offset < at->offset && at->offset <= begins[SEGMENTS]
           && (packet->type == IPT_PKT_GAP
               || packet->offset + packet->size == at->offset);
}

/* Of the ways to read a packet that is common: its size, or 0. */
static int claim_common(uint64_t size, const ipt_packet *packet)
{
    return size <= IPTI_WINDOW
           && (size == 0 || (packet->type < IPT_PKT_COUNT
                             && packet->type != IPT_PKT_NONE
                             && packet->type != IPT_PKT_GAP));
}

/* Of ipti_pkt_quick, if it finds a packet. */
static int claim_quick(const ipt_packet *packet)
{
    return is_cursor() && is_packet_here(packet);
}

/* Of what reads a packet at `before`. */
static int claim_step(int status, uint64_t before, const ipt_packet *packet)
{
    return status <= 0 && is_cursor() && is_block(cur->block)
           && (status == IPT_OK ? is_packet_here(packet)
                                : at->offset == before);
}

/* Of ipti_pkt_ready: it gets to a packet, or 1: a gap is one. */
static int claim_ready(int status, const ipt_packet *packet)
{
    return status <= 1 && is_cursor() && is_block(cur->block)
           && (status != IPT_OK
               || (cur->state == IPTI_CUR_SYNC && is_slow()))
           && (status != 1 || is_packet_here(packet));
}

/* Of ipti_sync_limit. */
static int claim_limit(int status, uint64_t limit)
{
    return status == IPT_ERR_GONE || status == IPT_BUDGET
           || (status == IPT_OK && limit <= begins[SEGMENTS]);
}

int given_ipti_psb_search(ipt_cursor_ *c, uint64_t *pos, uint32_t *m,
                          uint64_t *gap)
{
    const uint64_t before = *pos;
    const uint32_t kept = ipti_psb_kept(*m);
    const int status = nondet_int();

    CHECK(c == cur);
    CHECK(is_place());
    CHECK(is_slow());
    CHECK(*m <= 18);
    move();
    cur->quick = 0;
    *pos = nondet_u64();
    *m = nondet_u32();
    *gap = nondet_u64();
    __CPROVER_assume(is_search(status, before, kept, *pos, *m));
    __CPROVER_assume(is_gap(status, *pos, *gap));
    return status;
}

int given_ipti_sync_here(ipt_cursor_ *c, uint64_t pos)
{
    const int status = nondet_int();

    CHECK(c == cur);
    CHECK(is_place());
    CHECK(is_slow());
    (void) pos;
    move();
    cur->quick = 0;
    __CPROVER_assume(status >= 0 && status <= 2);
    return status;
}

/* ---- proofs ---- */

/* The decoder is made, at the beginning of the trace. */
void prove_cursor_init(void) /* unwind 5 */
{
    int status;

    any_sizes();
    config = nondet_config();
    decoder.cur_ = nondet_cursor();
    status = ipt_pkt_init(&decoder, &config, &trace);
    if (status < 0) {
        CHECK(status == IPT_ERR_CONFIG);
        CHECK(decoder.magic_ == 0);
        return;
    }
    CHECK(is_cursor());
    CHECK(cur->state == IPTI_CUR_NOSYNC);
    CHECK(cur->block == 0);
    CHECK(ipti_config_values(&config) >= 0);
    REACH(trace.count == SEGMENTS);
}

/* The segment that holds an offset, among any, from any other place. */
void prove_cursor_seek(void) /* unwind 5 */
{
    const uint64_t pos = nondet_u64();
    int status;

    any_sizes();
    any_cursor();
    status = ipti_cur_seek(cur, pos);
    CHECK(is_cursor());
    CHECK(cur->quick == 0);
    if (status == IPT_OK) {
        CHECK(is_here(pos));
    } else if (status == IPT_BUDGET) {
        CHECK(config.fuel);
        CHECK(fuel == 0);
        CHECK(cur->seg == IPTI_NOWHERE);
        CHECK(cur->origin == trace.offset);
    } else {
        CHECK(status == IPT_ERR_GONE);
        CHECK(pos < trace.offset);
    }
    REACH(status == IPT_OK && cur->piece == 2 && pos == begins[3]);
    REACH(status == IPT_OK && cur->seg == 1);
    REACH(status == IPT_ERR_GONE);
}

/* After a gap. */
void prove_cursor_resync(void) /* unwind 5, given ipti_psb_search */
{
    ipt_packet packet = {0};
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(cur->state == IPTI_CUR_GAP);
    status = ipti_pkt_resync(cur, at, &packet);
    CHECK(is_cursor());
    CHECK(status <= 1);
    CHECK(status != 1 || packet.type == IPT_PKT_GAP);
    CHECK(status != 1 || at->offset == packet.offset + packet.u.gap.lost);
    CHECK(cur->state == (status ? IPTI_CUR_GAP : IPTI_CUR_SYNC));
    REACH(status == IPT_OK);
    REACH(status == 1);
    REACH(status == IPT_MORE && cur->run == 17);
}

/* Forward to a PSB, through gaps. */
void prove_cursor_forward(void) /* unwind 5, given ipti_psb_search */
{
    int status;

    any_sizes();
    any_cursor();
    status = ipt_pkt_sync_forward(&decoder);
    CHECK(is_cursor());
    CHECK(status <= 0);
    CHECK(status != IPT_OK || cur->state == IPTI_CUR_SYNC);
    REACH(status == IPT_OK);
    REACH(status == IPT_MORE && cur->run == 18);
    REACH(status == IPT_BUDGET);
}

/* Is there a PSB here? */
void prove_cursor_here(void) /* unwind 17, given ipti_cur_bytes */
{
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(is_slow());
    status = ipti_sync_here(cur, nondet_u64());
    CHECK(is_place());
    CHECK(cur->quick == 0);
    CHECK(status >= 0);
    CHECK(status <= 2);
    REACH(status == 0);
    REACH(status == 1);
    REACH(status == 2);
}

/* To any offset. */
void prove_cursor_set(void) /* unwind 5, given ipti_cur_seek ipti_sync_here */
{
    const uint64_t offset = nondet_u64();
    int status;

    any_sizes();
    any_cursor();
    status = ipt_pkt_sync_set(&decoder, offset);
    CHECK(is_cursor());
    CHECK(status <= 0);
    CHECK(status != IPT_OK
          || (cur->state == IPTI_CUR_SYNC && at->offset == offset
              && offset >= begins[0] && offset <= begins[SEGMENTS]));
    REACH(status == IPT_OK);
    REACH(status == IPT_ERR_ARG);
    REACH(status == IPT_BUDGET);
}

/* ---- bytes ---- */

/* Segments of up to MANY bytes, whatever these are, and gaps of any size. */
static void any_bytes(void)
{
    static uint8_t bytes[SEGMENTS][MANY];
    uint32_t i;

    for (i = 0; i < SEGMENTS; i++) {
        segments[i].size = nondet_size();
        segments[i].data = nondet_u8() ? bytes[i] : NULL;
        __CPROVER_assume(segments[i].size <= MANY || !segments[i].data);
    }
    assume_trace();
}

size_t given_ipti_cur_collect(const ipt_cursor_ *c, uint64_t pos,
                              uint8_t *window)
{
    const piece found = nondet_piece();
    const uint64_t most = together(pos);

    CHECK(c == cur);
    CHECK(is_place());
    CHECK(cur->seg < trace.count);
    CHECK(pos >= cur->begin);
    CHECK(pos - cur->begin <= segments[cur->seg].size);
    IPT_MEMCPY(window, found.at, IPTI_WINDOW);
    return most < IPTI_WINDOW ? (size_t) most : IPTI_WINDOW;
}

/* Where the bytes at an offset are, and how many. */
void prove_cursor_bytes(void) /* slow, unwind 17, given ipti_cur_seek
    ipti_cur_collect */
{
    const uint64_t pos = nondet_u64();
    uint8_t window[IPTI_WINDOW];
    const uint8_t *p = NULL;
    size_t n = 0;
    size_t m = 0;
    int status;

    any_bytes();
    any_cursor();
    if (ipti_cur_quick(cur, at->offset))
        CHECK(__CPROVER_r_ok(ipti_cur_at(cur, at->offset), IPTI_WINDOW));
    CHECK(!ipti_cur_here(cur, pos, &m) || claim_here(pos, m));
    status = ipti_cur_bytes(cur, pos, window, &p, &n);
    CHECK(is_cursor());
    CHECK(claim_bytes(status, pos, window, p, n));
    CHECK(p == window
          || p == segments[cur->seg].data + (size_t) (pos - cur->begin));
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    CHECK(p == window || __CPROVER_r_ok(p, n));
    REACH(status == IPT_OK && p != window && cur->seg == 2 && n > 100);
    REACH(status == IPT_OK && p == window && n == IPTI_WINDOW);
    REACH(status == IPT_OK && n == 3);
    REACH(status == IPT_OK && n == 0);
    REACH(status == IPT_ERR_GONE && pos > begins[SEGMENTS]);
    REACH(status == IPT_BUDGET);
}

enum { COLLECT = 2 }; /* segments that are looked at */

/* The loop of ipti_cur_collect asks this of each segment. Where it would come
 * to a third one, it is told to stop, which shows what it has by then: the
 * second one it finds with any number of bytes, as any other one after it. So
 * what holds for two holds for any number. */
int given_ipti_seg_gap(const ipt_segment *seg)
{
    CHECK(seg == &segments[cur->seg + (unsigned) round]);
    return round++ == COLLECT || (!seg->data && seg->size);
}

/* Bytes from segments of any size, which are as many as there may be. */
void prove_cursor_collect(void) /* slow, unwind 18, given ipti_seg_gap */
{
    const uint64_t pos = nondet_u64();
    const unsigned k = nondet_u8();
    uint8_t window[IPTI_WINDOW];
    uint64_t skip;
    uint64_t left;
    uint64_t most;
    size_t n;
    unsigned i;

    cur->trace = &trace;
    trace.seg = segments;
    trace.count = nondet_u32();
    cur->seg = 0;
    cur->begin = nondet_u64();
    __CPROVER_assume(trace.count && trace.count <= SEGMENTS);
    for (i = 0; i < SEGMENTS; i++) {
        segments[i].size = nondet_size();
        segments[i].data = NULL;
        __CPROVER_assume(segments[i].size < (size_t) 1 << 48);
        if (i < COLLECT && (i == 0 || nondet_u8()))
            segments[i].data = __CPROVER_allocate(segments[i].size, 0);
    }
    skip = pos - cur->begin;
    __CPROVER_assume(pos >= cur->begin && skip <= segments[0].size);
    most = left = segments[0].size - skip;
    if (trace.count > 1 && segments[1].data)
        most += segments[1].size;
    n = ipti_cur_collect(cur, pos, window);
    CHECK(n == (most < IPTI_WINDOW ? most : IPTI_WINDOW));
    if (k < n)
        CHECK(window[k] == (k < left ? segments[0].data[skip + k]
                                     : segments[1].data[k - left]));
    else if (k < IPTI_WINDOW)
        CHECK(window[k] == 0);
    REACH(round == COLLECT + 1 && n == 15 && left == 7);
    REACH(n == IPTI_WINDOW && left == 3 && k == 15);
    REACH(n == 0 && trace.count == 1);
}

/* Two pieces, and an offset in the first one or at its end. The second one may
 * be a gap, which is as long as may be. */
static void read_pieces(size_t first, size_t second, size_t skip, int gap)
{
    static uint8_t window[IPTI_WINDOW];
    static const uint8_t *p;
    static size_t n;
    const size_t left = first - skip;
    size_t most = left + second;
    size_t k;
    int good = 1;

    segments[0].data = pieces[0].at;
    segments[0].size = first;
    segments[1].data = gap ? NULL : pieces[1].at;
    segments[1].size = gap ? SIZE_MAX : second;
    if (left >= IPTI_WINDOW)
        most = left;
    else if (left && most > IPTI_WINDOW)
        most = IPTI_WINDOW;
    cur->seg = cur->piece = IPTI_NOWHERE;
    CHECK(ipti_cur_bytes(cur, trace.offset + skip, window, &p, &n) == IPT_OK);
    CHECK(n == most);
    for (k = 0; k < n; k++)
        good = good && p[k] == (k < left ? pieces[0].at[skip + k]
                                         : pieces[1].at[k - left]);
    for (; n && k < IPTI_WINDOW; k++)
        good = good && p[k] == 0;
    CHECK(good);
}

/* The bytes of pieces that are shorter than a packet, as long, and longer; and
 * from each offset in the longest. */
void prove_cursor_pieces(void) /* unwind 20 */
{
    static const uint8_t sizes[] = {0, 1, 2, 15, 16, 17, 18};
    unsigned first;
    unsigned second;
    size_t skip;

    pieces[0] = nondet_piece();
    pieces[1] = nondet_piece();
    cur->config = &config;
    cur->trace = &trace;
    trace.seg = segments;
    trace.count = 2;
    for (first = 0; first < sizeof(sizes); first++) {
        for (second = 0; second < sizeof(sizes); second++)
            read_pieces(sizes[first], sizes[second], 0, 0);
        read_pieces(sizes[first], 0, 0, 1);
    }
    for (skip = 1; skip <= MOST; skip++) {
        read_pieces(MOST, 2, skip, 0);
        read_pieces(MOST, MOST, skip, 0);
        read_pieces(MOST, 0, skip, 1);
    }
    REACH(pieces[0].at[0] == IPTI_FIRST_PSB);
}

/* ---- the step of a packet ---- */

size_t given_ipti_psb_none(const uint8_t *p, size_t n)
{
    const size_t used = nondet_size();

    CHECK(__CPROVER_r_ok(p, n));
    __CPROVER_assume(used <= n);
    return used;
}

size_t given_ipti_psb_scan(const uint8_t *p, size_t n, uint32_t *m)
{
    const uint32_t kept = ipti_psb_kept(*m);
    const size_t used = nondet_size();

    CHECK(n == 0 || __CPROVER_r_ok(p, n));
    CHECK(*m <= 18);
    *m = nondet_u32();
    __CPROVER_assume(claim_scan(n, kept, used, *m));
    return used;
}

/* Forward to a PSB or to a gap. */
void prove_cursor_search(void) /* unwind 17, given ipti_cur_bytes ipti_psb_none
    ipti_psb_scan */
{
    const uint64_t before = nondet_u64();
    uint64_t pos = before;
    uint64_t gap = 0;
    uint32_t kept;
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(is_slow());
    run = nondet_u32();
    __CPROVER_assume(run <= 18);
    kept = ipti_psb_kept(run);
    loop = FORWARD;
    longest = MANY;
    status = ipti_psb_search(cur, &pos, &run, &gap);
    CHECK(is_place());
    CHECK(cur->quick == 0);
    CHECK(is_search(status, before, kept, pos, run));
    CHECK(is_gap(status, pos, gap));
    REACH(status == IPT_OK && pos == before + 70);
    REACH(status == 1);
    REACH(status == IPT_MORE);
    REACH(status == IPT_BUDGET);
    REACH(status == IPT_END);
}

/* Pairs after a PSB. */
void prove_cursor_pairs(void) /* unwind 17, given ipti_cur_bytes */
{
    uint64_t before;
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(cur->state == IPTI_CUR_PSB);
    before = at->offset;
    loop = FORWARD;
    rounds = 2;
    status = ipti_pkt_pairs(cur, at);
    CHECK(is_cursor());
    CHECK(is_slow());
    CHECK(claim_pairs(status, before));
    REACH(status == IPT_OK && at->offset == before);
    REACH(status == IPT_OK && at->offset == before + 2);
    REACH(status == IPT_MORE);
    REACH(status == IPT_BUDGET);
}

int given_ipti_pkt_pairs(ipt_cursor_ *c, ipt_where *w)
{
    const uint64_t before = at->offset;
    const int status = nondet_int();

    CHECK(c == cur);
    CHECK(w == at);
    CHECK(is_cursor());
    CHECK(cur->state == IPTI_CUR_PSB);
    at->offset = nondet_u64();
    cur->state = nondet_u8();
    move();
    cur->quick = nondet_u64();
    __CPROVER_assume(is_slow());
    __CPROVER_assume(claim_pairs(status, before));
    return status;
}

const uint8_t *given_ipti_cur_at(const ipt_cursor_ *c, uint64_t pos)
{
    uint64_t left;

    CHECK(c == cur);
    CHECK(cur->seg < trace.count);
    CHECK(pos >= cur->begin);
    CHECK(segments[cur->seg].size > pos - cur->begin);
    left = segments[cur->seg].size - (pos - cur->begin);
    CHECK(left >= IPTI_WINDOW);
    return found(left < MOST ? (size_t) left : MOST);
}

const uint8_t *given_ipti_cur_here(const ipt_cursor_ *c, uint64_t pos,
                                   size_t *n)
{
    CHECK(c == cur);
    if (nondet_u8())
        return NULL;
    *n = nondet_size();
    __CPROVER_assume(claim_here(pos, *n));
    return found(MOST);
}

/* See prove_pkt_shape; and prove_pkt_pads, as only a run of PAD is longer than
 * 16 bytes. */
int given_ipti_pkt_shape(const ipt_cursor_ *c, uint64_t pos, ipt_packet *out,
                         uint8_t *type, const uint8_t *p, size_t n)
{
    const int size = nondet_int();

    CHECK(c == cur);
    CHECK(n > 0);
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    *out = nondet_packet();
    *type = nondet_u8();
    less_fuel();
    __CPROVER_assume(*type < IPT_PKT_COUNT);
    if (size > 0 && *type == IPT_PKT_UNKNOWN)
        __CPROVER_assume(size <= 255 && (uint64_t) size <= together(pos));
    else if (size > 0)
        __CPROVER_assume((size_t) size <= n && *type != IPT_PKT_NONE);
    else
        __CPROVER_assume(size == IPT_ERR_OPCODE || size == IPT_ERR_PACKET
                         || size == IPT_ERR_CALLBACK
                         || (size == IPT_MORE && (*type == IPT_PKT_UNKNOWN
                                                  || n < IPTI_WINDOW)));
    return size;
}

/* A packet is read where n bytes are at p. */
static void check_step(const uint8_t *p, size_t n)
{
    CHECK(is_cursor());
    CHECK(is_here(at->offset));
    CHECK(cur->state == IPTI_CUR_SYNC);
    CHECK(n > 0);
    CHECK(n <= together(at->offset));
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    CHECK(n < MOST || __CPROVER_r_ok(p, MOST));
}

/* The cursor does something else, in the same place. */
static int go_on(ipt_packet *out)
{
    const uint64_t before = at->offset;
    const int status = nondet_int();

    *out = nondet_packet();
    decoder.at = nondet_where();
    cur->quick = nondet_u64();
    cur->limit = nondet_u64();
    cur->state = nondet_u8();
    cur->block = nondet_u8();
    cur->run = nondet_u8();
    less_fuel();
    __CPROVER_assume(claim_step(status, before, out));
    return status;
}

int given_ipti_pkt_parse(ipt_cursor_ *c, ipt_where *w, ipt_packet *out,
                         const uint8_t *p, size_t n)
{
    CHECK(c == cur);
    CHECK(w == at);
    check_step(p, n);
    return go_on(out);
}

int given_ipti_pkt_read(ipt_cursor_ *c, ipt_where *w, ipt_packet *out)
{
    CHECK(c == cur);
    CHECK(w == at);
    CHECK(is_cursor());
    CHECK(cur->state == IPTI_CUR_SYNC);
    CHECK(!ipti_cur_quick(cur, at->offset));
    move();
    return go_on(out);
}

int given_ipti_pkt_ready(ipt_cursor_ *c, ipt_where *w, ipt_packet *out)
{
    int status;

    CHECK(c == cur);
    CHECK(w == at);
    CHECK(is_cursor());
    CHECK(cur->state != IPTI_CUR_SYNC);
    *out = nondet_packet();
    decoder.at = nondet_where();
    status = nondet_int();
    cur->quick = nondet_u64();
    cur->limit = nondet_u64();
    cur->state = nondet_u8();
    cur->run = nondet_u8();
    move();
    __CPROVER_assume(claim_ready(status, out));
    return status;
}

void given_ipti_cur_quicken(ipt_cursor_ *c, const ipt_where *w)
{
    CHECK(c == cur);
    CHECK(w == at);
    CHECK(is_cursor());
    cur->quick = nondet_u64();
    __CPROVER_assume(is_cursor());
}

/* Of a packet at p, if `quick` holds. */
static int step_quick(ipt_where *w, ipt_packet *out, const uint8_t *p)
{
    CHECK(w == at);
    CHECK(is_cursor());
    CHECK(ipti_cur_quick(cur, w->offset));
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    *out = nondet_packet();
    if (nondet_u8())
        return 0;
    decoder.at = nondet_where();
    __CPROVER_assume(claim_quick(out));
    return 1;
}

int given_ipti_pkt_quick(const ipt_cursor_ *c, ipt_where *w, ipt_packet *out,
                         const uint8_t *p)
{
    CHECK(c == cur);
    return step_quick(w, out, p);
}

int given_ipti_pkt_plain(ipt_where *w, ipt_packet *out, const uint8_t *p)
{
    return step_quick(w, out, p);
}

/* What the next packets need not look at. */
void prove_cursor_quicken(void) /* unwind 5, given ipti_cur_here */
{
    any_sizes();
    any_cursor();
    ipti_cur_quicken(cur, at);
    CHECK(is_cursor());
    REACH(cur->quick > at->offset && cur->seg == 2);
    REACH(cur->quick > at->offset && config.fuel && fuel == 1);
    REACH(cur->quick == 0);
}

/* The kinds of packet that are common, from any bytes. */
void prove_cursor_common(void) /* unwind 17 */
{
    const proof_bytes bytes = nondet_bytes();
    ipt_packet packet = nondet_packet();
    const uint64_t tnt = ipti_pkt_tnt(&packet, bytes.at);
    const uint64_t pad_ip = tnt ? 0 : ipti_pkt_pad_ip(&packet, bytes.at);
    const uint64_t clock = tnt || pad_ip
                               ? 0 : ipti_pkt_clock(&packet, bytes.at,
                                                    nondet_u32());

    CHECK(claim_common(tnt, &packet));
    CHECK(claim_common(pad_ip, &packet));
    CHECK(claim_common(clock, &packet));
    REACH(tnt == 1);
    REACH(pad_ip == IPTI_WINDOW - 1);
    REACH(clock == 2 && packet.type == IPT_PKT_MTC);
}

static uint64_t common(ipt_packet *out)
{
    const uint64_t size = nondet_u64();

    *out = nondet_packet();
    __CPROVER_assume(claim_common(size, out));
    return size;
}

uint64_t given_ipti_pkt_tnt(ipt_packet *out, const uint8_t *p)
{
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    return common(out) ? 1 : 0;
}

uint64_t given_ipti_pkt_pad_ip(ipt_packet *out, const uint8_t *p)
{
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    return common(out);
}

uint64_t given_ipti_pkt_clock(ipt_packet *out, const uint8_t *p,
                              uint32_t errata)
{
    CHECK(__CPROVER_r_ok(p, IPTI_WINDOW));
    (void) errata;
    return common(out);
}

/* A packet where nothing else is to be looked at, such as other segments. */
static void any_quick(void)
{
    any_sizes();
    any_cursor();
    __CPROVER_assume(trace.count <= 1);
    __CPROVER_assume(ipti_cur_quick(cur, at->offset));
}

void prove_cursor_quick(void) /* unwind 5, given ipti_cur_at ipti_pkt_tnt
    ipti_pkt_pad_ip ipti_pkt_clock */
{
    ipt_packet packet = nondet_packet();
    int done;

    any_quick();
    done = ipti_pkt_quick(cur, at, &packet, ipti_cur_at(cur, at->offset));
    CHECK(is_cursor());
    CHECK(!done || is_packet_here(&packet));
    REACH(done && at->offset == begins[1]);
    REACH(!done);
}

void prove_cursor_plain(void) /* unwind 11, given ipti_cur_at */
{
    ipt_packet packet = nondet_packet();
    int done;

    any_quick();
    done = ipti_pkt_plain(at, &packet, ipti_cur_at(cur, at->offset));
    CHECK(is_cursor());
    CHECK(!done || is_packet_here(&packet));
    REACH(done && packet.type == IPT_PKT_MNT);
    REACH(done && packet.type == IPT_PKT_OVF);
    REACH(!done);
}

/* Bytes to a packet, or to a part of one. */
void prove_cursor_parse(void) /* slow, unwind 17, given ipti_pkt_shape */
{
    ipt_packet packet;
    const uint8_t *p;
    uint64_t before;
    size_t n = nondet_size();
    int status;

    any_sizes();
    any_cursor();
    before = at->offset;
    __CPROVER_assume(is_here(before) && cur->state == IPTI_CUR_SYNC);
    __CPROVER_assume(n > 0 && n <= together(before));
    p = found(n < IPTI_WINDOW ? IPTI_WINDOW : n < MOST ? n : MOST);
    check_step(p, n);
    status = ipti_pkt_parse(cur, at, &packet, p, n);
    CHECK(claim_step(status, before, &packet));
    REACH(status == IPT_OK && cur->state == IPTI_CUR_PSB);
    REACH(status == IPT_OK && cur->state == IPTI_CUR_GAP);
    REACH(status == IPT_OK && cur->quick > at->offset && cur->seg == 2);
    REACH(status == IPT_MORE);
    REACH(status == IPT_ERR_TRUNCATED);
}

/* The bytes, and what may be read after them without looking. */
void prove_cursor_read(void) /* unwind 17, given ipti_cur_quicken ipti_cur_bytes
    ipti_pkt_parse */
{
    ipt_packet packet;
    uint64_t before;
    int status;

    any_sizes();
    any_cursor();
    before = at->offset;
    __CPROVER_assume(cur->state == IPTI_CUR_SYNC);
    __CPROVER_assume(!ipti_cur_quick(cur, before));
    status = ipti_pkt_read(cur, at, &packet);
    CHECK(claim_step(status, before, &packet));
    REACH(status == IPT_OK && cur->quick > at->offset && cur->seg == 2);
    REACH(status == IPT_OK && cur->state == IPTI_CUR_GAP);
    REACH(status == IPT_END);
    REACH(status == IPT_MORE);
    REACH(status == IPT_BUDGET);
}

/* What comes before a packet. */
void prove_cursor_ready(void) /* unwind 17, given ipti_psb_search
    ipti_pkt_pairs */
{
    ipt_packet packet;
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(cur->state != IPTI_CUR_SYNC);
    status = ipti_pkt_ready(cur, at, &packet);
    CHECK(claim_ready(status, &packet));
    REACH(status == IPT_OK);
    REACH(status == 1);
    REACH(status == IPT_ERR_NOSYNC);
    REACH(status == IPT_MORE && cur->state == IPTI_CUR_PSB);
}

int given_ipti_pkt_any(ipt_cursor_ *c, ipt_where *w, ipt_packet *out)
{
    CHECK(c == cur);
    CHECK(w == at);
    CHECK(is_cursor());
    move();
    at->offset = nondet_u64();
    return go_on(out);
}

/* Whichever of these ways is taken: as `quick` holds, ... */
void prove_cursor_held(void) /* slow, unwind 5, given ipti_cur_at ipti_pkt_parse
    ipti_pkt_plain ipti_pkt_read ipti_pkt_ready */
{
    ipt_packet packet;
    uint64_t before;

    any_sizes();
    any_cursor();
    before = at->offset;
    __CPROVER_assume(ipti_cur_quick(cur, before));
    __CPROVER_assume(trace.count <= 1);
    CHECK(claim_step(ipti_pkt_any(cur, at, &packet), before, &packet));
    REACH(packet.type == IPT_PKT_TIP);
    REACH(at->offset == begins[1]);
}

/* ... and as it does not. */
void prove_cursor_any(void) /* unwind 5, given ipti_cur_at ipti_pkt_parse
    ipti_pkt_plain ipti_pkt_read ipti_pkt_ready */
{
    ipt_packet packet;
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(!ipti_cur_quick(cur, at->offset));
    status = ipti_pkt_any(cur, at, &packet);
    CHECK(claim_step(status, at->offset, &packet));
    REACH(status == IPT_OK && packet.type == IPT_PKT_GAP);
    REACH(status == IPT_OK && cur->quick);
    REACH(status == IPT_ERR_NOSYNC);
}

/* The next packet, in any state. */
void prove_cursor_next(void) /* unwind 5, given ipti_cur_at ipti_pkt_quick
    ipti_pkt_plain ipti_pkt_any */
{
    ipt_packet packet;
    int status;

    any_sizes();
    any_cursor();
    status = ipt_pkt_next(&decoder, &packet);
    CHECK(is_cursor());
    CHECK(is_block(cur->block));
    CHECK(status <= 0);
    CHECK(status != IPT_OK || is_packet_here(&packet));
    REACH(status == IPT_OK && cur->quick > at->offset && cur->seg == 2);
    REACH(status == IPT_OK && packet.type == IPT_PKT_GAP);
    REACH(status == IPT_MORE);
    REACH(status == IPT_ERR_NOSYNC);
}

/* ---- backward ---- */

static uint64_t backward; /* from where on */

int given_ipti_sync_limit(ipt_cursor_ *c, uint64_t offset, uint64_t *limit)
{
    const int status = nondet_int();

    CHECK(c == cur);
    CHECK(is_place());
    CHECK(offset == at->offset);
    move();
    cur->quick = 0;
    *limit = backward = nondet_u64();
    __CPROVER_assume(claim_limit(status, backward));
    return status;
}

/* From where on a search backward goes. */
void prove_cursor_limit(void) /* unwind 5, given ipti_cur_seek */
{
    uint64_t limit = 0;
    int status;

    any_sizes();
    any_cursor();
    status = ipti_sync_limit(cur, at->offset, &limit);
    CHECK(is_cursor());
    CHECK(cur->quick == 0);
    CHECK(claim_limit(status, limit));
    REACH(status == IPT_OK && limit == begins[SEGMENTS] && limit > at->offset);
    REACH(status == IPT_OK && limit == at->offset);
    REACH(status == IPT_ERR_GONE);
}

/* Back to a PSB, through gaps. */
void prove_cursor_backward(void) /* unwind 5, given ipti_sync_limit
    ipti_cur_seek ipti_sync_here */
{
    int status;

    any_sizes();
    any_cursor();
    loop = BACKWARD;
    status = ipt_pkt_sync_backward(&decoder);
    CHECK(is_cursor());
    CHECK(status <= 0);
    if (status == IPT_OK) {
        CHECK(cur->state == IPTI_CUR_SYNC);
        CHECK(at->offset < backward);
        CHECK(at->offset >= trace.offset);
    }
    CHECK(status != IPT_END || trace.offset == 0);
    REACH(status == IPT_OK);
    REACH(status == IPT_END);
    REACH(status == IPT_ERR_GONE && trace.offset == 0);
    REACH(status == IPT_BUDGET && cur->state == IPTI_CUR_BACKWARD && cur->run);
}
