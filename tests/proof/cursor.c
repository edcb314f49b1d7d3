/* cursor.c: steps of the cursor over trace, from any state that the invariant
 * allows: up to three segments of any size, of which any may be a gap; more may
 * come or not; fuel or none.
 *
 * The invariant stands once: is_place says where the cursor is among segments,
 * is_cursor also what it is up to. ipti_cur_init makes it, and the functions
 * proved here keep it, whatever they return. Where a function calls another
 * one, that is replaced by given_..., which does whatever is claimed of it.
 * tests/proof/proved.md says which of these claims are proved themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

enum { MOST = 18, SEGMENTS = 3 };

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

/* Where the cursor is. When the trace begins elsewhere than it did, all is
 * looked for again. */
static int is_place(void)
{
    if (cur->config != &config || cur->trace != &trace)
        return 0;
    if (cur->origin != trace.offset)
        return 1;
    if (cur->piece >= trace.count)
        return cur->seg >= trace.count;
    return cur->begin == begins[cur->piece]
           && (cur->seg == IPTI_NOWHERE
               || (cur->seg == cur->piece
                   && !ipti_seg_gap(&segments[cur->piece])));
}

/* `piece` holds pos, or is the last one. */
static int is_here(uint64_t pos)
{
    if (cur->origin != trace.offset || pos < cur->begin)
        return 0;
    if (trace.count == 0)
        return cur->seg == IPTI_NOWHERE && cur->begin == trace.offset;
    return cur->piece < trace.count
           && (cur->piece + 1 == trace.count || pos < begins[cur->piece + 1])
           && (cur->seg == cur->piece) == !ipti_seg_gap(&segments[cur->piece]);
}

/* `quick` promises 16 bytes in one segment, and that nothing else is to be
 * looked at. */
static int is_quick(void)
{
    return cur->quick == 0 || cur->origin != trace.offset
           || (cur->seg < trace.count && cur->state == IPTI_CUR_SYNC
               && !cur->block
               && segments[cur->seg].size >= IPTI_WINDOW
               && at->offset >= cur->begin
               && cur->quick - cur->begin
                      <= segments[cur->seg].size - (IPTI_WINDOW - 1));
}

/* What holds between any two calls. A search knows where what it met begins. */
static int is_cursor(void)
{
    return is_place() && is_quick() && cur->state <= IPTI_CUR_GAP
           && cur->run <= 18
           && ((cur->state != IPTI_CUR_FORWARD && cur->state != IPTI_CUR_GAP)
               || cur->limit + ipti_psb_kept(cur->run) == at->offset);
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

static uint64_t stop;

static uint64_t before_stop(uint64_t pos)
{
    return pos < stop ? stop - pos : 0;
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

/* Bytes up to `stop` lie together, in whatever segments. They may be others
 * each time; how many there are may not. */
int given_ipti_cur_bytes(ipt_cursor_ *c, uint64_t pos, uint8_t *window,
                         const uint8_t **p, size_t *n)
{
    static piece found;
    const uint64_t most = before_stop(pos);
    int status = IPT_OK;
    unsigned i;

    CHECK(c == cur);
    CHECK(is_place());
    if (cur->origin != trace.offset || cur->seg >= trace.count || nondet_u8())
        status = given_ipti_cur_seek(c, pos);
    if (status == IPT_OK && most == 0 && nondet_u8())
        status = IPT_ERR_GONE;
    found = nondet_piece();
    if (status == IPT_OK && most >= IPTI_WINDOW) {
        *n = nondet_size(); /* all, or what one segment has */
        __CPROVER_assume(*n >= IPTI_WINDOW && *n <= MOST && *n <= most);
        *p = found.at + (MOST - *n);
        return IPT_OK;
    }
    *n = status == IPT_OK ? (size_t) most : 0;
    *p = window;
    for (i = 0; i < IPTI_WINDOW; i++)
        window[i] = i < *n || *n == 0 ? found.at[i] : 0;
    return status;
}

int given_ipti_psb_search(ipt_cursor_ *c, uint64_t *pos, uint32_t *run,
                          uint64_t *gap)
{
    const uint64_t before = *pos;
    const uint32_t kept = ipti_psb_kept(*run);
    const int status = nondet_int();

    CHECK(c == cur);
    CHECK(is_place());
    CHECK(*run <= 18);
    move();
    cur->quick = 0;
    *pos = nondet_u64();
    *run = nondet_u32();
    __CPROVER_assume(is_search(status, before, kept, *pos, *run));
    *gap = nondet_u64();
    if (status == 1)
        __CPROVER_assume(*gap > *pos && (*gap == begins[1] || *gap == begins[2]
                                         || *gap == begins[3]));
    return status;
}

int given_ipti_sync_here(ipt_cursor_ *c, uint64_t pos)
{
    const int status = nondet_int();

    CHECK(c == cur);
    CHECK(is_place());
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
void prove_cursor_seek(void) /* unwind 5, slow: only with FULL=1 */
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
    uint64_t gap = 0;
    int status;

    any_sizes();
    any_cursor();
    __CPROVER_assume(cur->state == IPTI_CUR_GAP);
    status = ipti_pkt_resync(cur, at, &gap);
    CHECK(is_cursor());
    CHECK(status <= 1);
    CHECK(status != 1 || gap > at->offset);
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
    stop = nondet_u64();
    status = ipti_sync_here(cur, nondet_u64());
    CHECK(is_place());
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
