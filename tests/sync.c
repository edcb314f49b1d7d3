/* sync.c: finding PSBs: forward, backward, at an offset. */
#include "linked.h"
#include "test.h"

#define MAX 8192

/* A decoder on bytes of its own, cut into pieces. */
typedef struct bench {
    uint8_t bytes[MAX];
    size_t size;
    ipt_segment pieces[MAX];
    ipt_trace trace;
    ipt_config config;
    ipt_pkt_decoder decoder;
} bench;

static bench b;

static void begin(void)
{
    memset(&b, 0, sizeof b);
    b.trace.seg = b.pieces;
}

static void put(size_t n, uint8_t byte)
{
    CHECK(b.size + n <= MAX);
    memset(b.bytes + b.size, byte, n);
    b.size += n;
}

static void put_pairs(size_t n)
{
    for (; n; n--) {
        put(1, 0x02);
        put(1, 0x82);
    }
}

/* A PSB; returns where it begins. */
static size_t put_psb(void)
{
    put_pairs(8);
    return b.size - 16;
}

/* Hand the bytes over in pieces of n bytes; they are copied to heap blocks of
 * exactly that size, so that a sanitizer sees any read past one. */
static void hand_over(size_t n)
{
    size_t at = 0;
    while (at < b.size) {
        size_t size = b.size - at < n ? b.size - at : n;
        uint8_t *copy = malloc(size);
        memcpy(copy, b.bytes + at, size);
        b.pieces[b.trace.count].data = copy;
        b.pieces[b.trace.count++].size = size;
        at += size;
    }
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
}

static void end(void)
{
    for (uint32_t i = 0; i < b.trace.count; i++)
        free((void *) (uintptr_t) b.pieces[i].data);
}

static void expect_at(size_t offset)
{
    CHECK_EQ(b.decoder.at.offset, offset);
    CHECK_EQ(b.decoder.at.sync, offset);
    CHECK(b.decoder.at.valid & IPT_AT_SYNC);
    CHECK_EQ(b.decoder.at.error, 0);
}

static void forward(size_t offset)
{
    if (CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_OK)) expect_at(offset);
}

static void backward(size_t offset)
{
    if (CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_OK)) expect_at(offset);
}

static void expect_psb(void)
{
    uint64_t offset = b.decoder.at.offset;
    ipt_packet p;
    memset(&p, 0, sizeof p);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_PSB);
    CHECK_EQ(p.size, 16);
    CHECK_EQ(p.offset, offset);
}

/* ---- one PSB ---- */

/* n bytes, a PSB, m bytes: found both ways, and there is no other. */
static void check_one(size_t n, size_t m, uint8_t fill, size_t piece)
{
    begin();
    put(n, fill);
    put_psb();
    put(m, fill);
    hand_over(piece);
    forward(n);
    CHECK_EQ(b.decoder.at.resyncs, n > 0);
    CHECK_EQ(b.decoder.at.skipped, n);
    expect_psb();
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    backward(n);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
    end();
}

TEST(one)
{
    for (size_t n = 0; n < 40; n++) check_one(n, 3, 0x00, MAX);
    check_one(0, 0, 0x00, MAX); // PSB only
    check_one(4097, 0, 0x00, MAX);
    check_one(7000, 1000, 0xff, MAX);
}

TEST(one_in_pieces)
{
    for (size_t piece = 1; piece < 20; piece++)
        for (size_t n = 0; n < 20; n++) check_one(n, 5, 0x00, piece);
    check_one(5000, 100, 0x02, 1);
}

/* Half a pattern before and after it is not part of it. */
TEST(one_among_halves)
{
    static const uint8_t fills[] = {0x02, 0x82, 0x00, 0xff};
    for (size_t i = 0; i < sizeof fills; i++) {
        for (size_t n = 0; n < 36; n++) {
            check_one(n, 7, fills[i], MAX);
            check_one(n, 7, fills[i], 3);
        }
    }
}

TEST(none)
{
    for (size_t pairs = 0; pairs < 8; pairs++) {
        for (size_t piece = 1; piece < 30; piece += 7) {
            begin();
            put(pairs, 0x00);
            put_pairs(pairs);
            if (pairs % 2) put(1, 0x02);
            hand_over(piece);
            CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
            CHECK_EQ(b.decoder.at.error, IPT_END);
            CHECK_EQ(b.decoder.at.offset, 0);
            CHECK_EQ(b.decoder.at.valid & IPT_AT_SYNC, 0);
            CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
            CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
            end();
        }
    }
}

/* Eight pairs of which one byte is wrong, wherever it is. */
TEST(almost)
{
    for (size_t i = 0; i < 16; i++) {
        ipt_packet p;
        begin();
        put_psb();
        b.bytes[i] ^= 0x01;
        hand_over(MAX);
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
        CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_NOSYNC);
        end();
    }
}

/* ---- runs of more than eight pairs ---- */

TEST(long_runs)
{
    for (size_t pairs = 8; pairs < 40; pairs++) {
        for (size_t n = 0; n < 4; n++) {
            size_t want = n + 2 * (pairs - 8);
            begin();
            put(n, 0x82);
            put_pairs(pairs);
            if (pairs & 4) put(2, 0x02); // half a pair after it
            hand_over(n & 1 ? 5 : MAX);
            forward(want);
            expect_psb();
            CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
            CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
            backward(want);
            CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
            end();
        }
    }
}

/* libipt never comes back from this one. */
TEST(backward_over_a_long_run)
{
    size_t first;
    begin();
    first = put_psb();
    put(3, 0x00);
    put_pairs(12);
    put(3, 0x00);
    hand_over(MAX);
    backward(19 + 8);
    backward(first);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
    // from inside the run: its PSB is not below, the one before is
    for (size_t at = 17; at <= 19 + 8; at++) {
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, at), IPT_OK);
        backward(first);
    }
    for (size_t at = 19 + 8 + 1; at <= b.size; at++) {
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, at), IPT_OK);
        backward(19 + 8);
    }
    end();
}

TEST(a_trace_of_pairs)
{
    begin();
    put_pairs(MAX / 2);
    hand_over(MAX);
    backward(MAX - 16);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    forward(MAX - 16);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    end();
}

/* ---- many ---- */

TEST(many)
{
    size_t at[40];
    begin();
    for (size_t i = 0; i < 40; i++) {
        put(i % 7, 0x04);
        at[i] = put_psb();
        if (i % 7 == 6) put(1, 0x02); // so that two do not join
        put(1, 0x06);
    }
    hand_over(100);
    for (size_t i = 0; i < 40; i++) forward(at[i]);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    CHECK_EQ(b.decoder.at.offset, at[39]); // the position stays
    for (size_t i = 39; i-- > 0;) backward(at[i]);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
    CHECK_EQ(b.decoder.at.offset, at[0]);
    forward(at[1]);
    backward(at[0]);
    end();
}

TEST(forward_from_after_a_psb)
{
    ipt_packet p;
    size_t second;
    begin();
    put_psb();
    put(2, 0x06);
    second = put_psb();
    hand_over(MAX);
    forward(0);
    expect_psb();
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
    CHECK_EQ(b.decoder.at.offset, 17);
    forward(second);
    expect_psb();
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    backward(second); // it begins before the position
    backward(0);
    end();
}

/* A corrupt packet swallows the first bytes of a PSB: still found. */
TEST(swallowed)
{
    static const uint8_t cut[] = {0x19, 0xcd, 0x6d, 0x2d, 0x59}; // TSC TIP MTC
    for (size_t i = 0; i < sizeof cut; i++) {
        ipt_packet p;
        int status;
        begin();
        put(3, 0x06);
        put(1, cut[i]); // the packet's other bytes are the PSB's
        put_psb();
        put(1, 0x05); // no packet begins so
        hand_over(MAX);
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
        do status = ipt_pkt_next(&b.decoder, &p);
        while (status >= 0);
        CHECK(status != IPT_END);
        CHECK(b.decoder.at.offset > 4);
        forward(4);
        expect_psb();
        end();
    }
}

/* Up to 15 bytes are looked at again, but nothing before the last PSB. */
TEST(how_far_back)
{
    for (size_t at = 0; at <= 40; at++) {
        begin();
        put(8, 0x06);
        put_psb();
        put(20, 0x06);
        hand_over(MAX);
        if (at > b.size) break;
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, at), IPT_OK);
        if (at != 8) CHECK_EQ(b.decoder.at.valid & IPT_AT_SYNC, 0);
        // set to an offset without a PSB is a start: nothing before it counts
        if (at < 8) forward(8);
        else CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
        end();
    }
}

/* ---- sync_set ---- */

TEST(set)
{
    size_t psb;
    begin();
    put(5, 0x06);
    psb = put_psb();
    put(5, 0x06);
    hand_over(4);
    for (size_t at = 0; at <= b.size; at++) {
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, at), IPT_OK);
        CHECK_EQ(b.decoder.at.offset, at);
        CHECK_EQ(b.decoder.at.valid & IPT_AT_SYNC, at == psb ? IPT_AT_SYNC : 0);
    }
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, psb), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, b.size + 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, UINT64_MAX), IPT_ERR_ARG);
    CHECK_EQ(b.decoder.at.offset, psb); // the position stays
    expect_psb();
    end();
}

TEST(set_in_a_later_window)
{
    begin();
    put(5, 0x06);
    put_psb();
    b.trace.offset = 1000;
    hand_over(4);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 999), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 5), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 1000), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 1005), IPT_OK);
    expect_at(1005);
    expect_psb();
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 1022), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    forward(1005);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_ERR_GONE);
    end();
}

/* ---- traces that grow ---- */

/* One byte at a time: a PSB is found when the byte after it is there, since
 * another pair would move it. */
TEST(open_forward)
{
    for (size_t pairs = 8; pairs < 12; pairs++) {
        size_t before = 33 + pairs;
        size_t psb = before + 2 * (pairs - 8);
        int found = 0;
        begin();
        put(before, 0x02);
        put_pairs(pairs);
        put(4, 0x06);
        hand_over(1);
        b.trace.open = 1;
        for (uint32_t n = 0; n <= b.size && !found; n++) {
            int status;
            b.trace.count = n;
            status = ipt_pkt_sync_forward(&b.decoder);
            found = status == IPT_OK;
            if (!found) CHECK_EQ(status, IPT_MORE);
            CHECK(b.decoder.at.release <= (n > 17 ? n : 17));
            CHECK(b.decoder.at.release + 18 >= n); // what may be a PSB's start
        }
        CHECK(found);
        CHECK_EQ(b.trace.count, psb + 17);
        expect_at(psb);
        b.trace.count = (uint32_t) b.size;
        end();
    }
}

TEST(open_then_closed)
{
    size_t psb;
    ipt_packet p;
    begin();
    put(100, 0x06);
    psb = put_psb();
    hand_over(MAX);
    b.trace.open = 1;
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_MORE);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_MORE);
    b.trace.open = 0;
    forward(psb);
    expect_psb();
    end();
}

/* Pieces below at.release are overwritten and dropped while it searches. */
TEST(open_and_dropped)
{
    uint32_t dropped = 0;
    size_t psb;
    int status = IPT_MORE;
    begin();
    put(200, 0x02);
    psb = put_psb();
    put(1, 0x06);
    hand_over(1);
    b.trace.open = 1;
    for (uint32_t n = 1; n <= b.size && status == IPT_MORE; n++) {
        b.trace.count = n - dropped;
        status = ipt_pkt_sync_forward(&b.decoder);
        while (b.trace.offset < b.decoder.at.release) {
            *(uint8_t *) (uintptr_t) b.trace.seg[0].data = 0x05;
            b.trace.seg++;
            b.trace.offset++;
            b.trace.count--;
            dropped++;
        }
    }
    CHECK_EQ(status, IPT_OK);
    CHECK(dropped > 150);
    expect_at(psb);
    expect_psb();
    backward(psb);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_ERR_GONE);
    b.trace.count = (uint32_t) b.size;
    b.trace.seg = b.pieces;
    end();
}

/* ---- pieces that are not what they were ---- */

/* Dropped above at.release: what is needed is gone, whatever it was for. */
TEST(V3_dropped_too_early)
{
    for (int what = 0; what < 3; what++) {
        ipt_packet p;
        begin();
        put(40, 0x05);
        if (what) put_psb();
        put(40, what == 2 ? 0x06 : 0x05);
        hand_over(1);
        b.trace.open = 1;
        b.trace.count = what ? 56 : 30;
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_MORE);
        if (what) {
            b.trace.count++;
            forward(40);
            if (what == 2) expect_psb();
        }
        b.trace.seg += 70;
        b.trace.offset = 70;
        b.trace.count = 5;
        if (what)
            CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_GONE);
        else
            CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_ERR_GONE);
        b.trace.seg = b.pieces;
        b.trace.offset = 0;
        b.trace.count = (uint32_t) b.size;
        end();
    }
}

/* In the pairs after a PSB, too, which are looked at when more has come. */
TEST(V3_dropped_among_pairs)
{
    ipt_packet p;
    begin();
    put_psb();
    put_pairs(4);
    put(1, 0x06);
    hand_over(1);
    b.trace.open = 1;
    b.trace.count = 17;
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    expect_psb();
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_MORE);
    b.trace.seg += 20;
    b.trace.offset = 20;
    b.trace.count = 5;
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_GONE);
    b.trace.seg = b.pieces;
    b.trace.offset = 0;
    b.trace.count = (uint32_t) b.size;
    end();
}

/* A trace that ends earlier than where the decoder stands: backward begins at
 * its end, and forward there is nothing. */
TEST(V3_shorter_than_before)
{
    size_t psb;
    ipt_packet p;
    begin();
    put(8, 0x06);
    psb = put_psb();
    put(40, 0x06);
    hand_over(32);
    forward(psb);
    expect_psb();
    while (ipt_pkt_next(&b.decoder, &p) == IPT_OK) { }
    CHECK_EQ(b.decoder.at.offset, 64);
    b.trace.count = 1;
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_GONE);
    backward(psb);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 31), IPT_OK);
    b.pieces[0].size = 30;
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_GONE);
    b.trace.count = 2;
    end();
}

/* ---- fuel ---- */

/* V4: the part of a piece that the fuel pays for ends at the piece: 16 bytes a
 * unit, and a PSB that only the byte after the trace completes is none. */
TEST(V4_fuel_ends_with_the_piece)
{
    static uint8_t bytes[200];
    ipt_segment piece = {bytes, 0};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_pkt_decoder d = {0};

    for (size_t n = 17; n < 100; n++)
        for (uint64_t fuel = 1; fuel < 8; fuel++) {
            uint64_t left = fuel;
            int calls = 0;
            int status;
            memset(bytes, 0x05, sizeof bytes);
            for (size_t i = 0; i < 16; i++)
                bytes[n - 15 + i] = i % 2 ? 0x82 : 0x02;
            piece.size = n;
            config.fuel = &left;
            CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
            while ((status = ipt_pkt_sync_forward(&d)) == IPT_BUDGET) {
                CHECK_EQ(left, 0);
                CHECK(d.at.offset <= n);
                left = fuel;
                calls++;
            }
            CHECK_EQ(status, IPT_END);
            CHECK_EQ((uint64_t) calls * fuel + fuel - left, n / 16);
        }
}

static uint64_t units;

/* Call until it is not IPT_BUDGET, one unit a time; counts the calls. */
static int burn(int (*sync)(ipt_pkt_decoder *), size_t *calls)
{
    int status;
    *calls = 0;
    do {
        CHECK(*calls == 0 || units == 0);
        units = 1;
        ++*calls;
        status = sync(&b.decoder);
    } while (status == IPT_BUDGET && *calls < 100000);
    return status;
}

TEST(fuel)
{
    size_t calls;
    begin();
    put(4000, 0x02);
    put_psb();
    put(4000, 0x02);
    hand_over(64);
    b.config.fuel = &units;
    CHECK_EQ(burn(ipt_pkt_sync_forward, &calls), IPT_OK);
    expect_at(4000);
    CHECK(calls > 40);
    CHECK(calls < 300);
    CHECK_EQ(burn(ipt_pkt_sync_forward, &calls), IPT_END);
    CHECK(calls > 40);
    CHECK(calls < 300);
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(burn(ipt_pkt_sync_backward, &calls), IPT_OK);
    expect_at(4000);
    CHECK(calls > 40);
    CHECK(calls < 5000);
    CHECK_EQ(burn(ipt_pkt_sync_backward, &calls), IPT_END);
    end();
}

/* One unit at a time is enough to get over a long run, in any pieces. */
TEST(fuel_in_a_long_run)
{
    for (size_t piece = 1; piece < 40; piece++) {
        size_t calls;
        begin();
        put(3, 0x02);
        put_pairs(200);
        put(2, 0x06);
        hand_over(piece);
        b.config.fuel = &units;
        CHECK_EQ(burn(ipt_pkt_sync_forward, &calls), IPT_OK);
        expect_at(3 + 384);
        CHECK_EQ(burn(ipt_pkt_sync_forward, &calls), IPT_END);
        CHECK_EQ(burn(ipt_pkt_sync_backward, &calls), IPT_END);
        end();
    }
}

/* What reads ahead for its first event goes back from the PSB it stands at, and
 * a search that finds nothing leaves the place alone. */
TEST(fuel_where_events_were_read)
{
    static ipt_qry_decoder d, clone;
    uint64_t ip, offset;
    size_t calls = 0;
    int status;

    begin();
    put_psb();
    put(1, 0x02), put(1, 0x23); /* PSBEND */
    put(1000, 0);
    put_psb();
    put(1, 0x02), put(1, 0x23);
    put(1000, 0);
    put(1, 0x06);
    hand_over(MAX);
    b.config.fuel = &units;
    units = 10000;
    CHECK_EQ(ipt_qry_init(&d, &b.config, &b.trace), IPT_OK);
    CHECK(ipt_qry_sync_set(&d, 1018, &ip) >= 0);
    CHECK(d.at.offset >= 1036);
    clone = d;
    CHECK(ipt_qry_sync_backward(&clone, &ip) >= 0);
    CHECK_EQ(clone.at.sync, 0);
    CHECK(units > 9000);
    do {
        units = 1;
        calls++;
        status = ipt_qry_sync_backward(&d, &ip);
    } while (status == IPT_BUDGET && d.at.sync && calls < 2000);
    CHECK(calls > 40);
    CHECK(calls < 1100);
    CHECK_EQ(d.at.sync, 0);
    offset = d.at.offset;
    units = 10000;
    CHECK_EQ(ipt_qry_sync_backward(&d, &ip), IPT_END);
    CHECK_EQ(d.at.offset, offset);
    end();
}

/* Turning round in the middle of a search. */
TEST(fuel_and_change_of_mind)
{
    begin();
    put_psb();
    put(2000, 0x02);
    put_psb();
    put(2000, 0x02);
    hand_over(MAX);
    b.config.fuel = &units;
    units = 1000;
    forward(0);
    expect_psb();
    units = 1;
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_BUDGET);
    units = 10000;
    CHECK(ipt_pkt_sync_backward(&b.decoder) == IPT_OK);
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    units = 1;
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_BUDGET);
    units = 10000;
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    forward(2016);
    end();
}

/* Read n packets, move elsewhere, read on to the end, in pieces of that size.
 * Returns the fuel for it, which is in small portions. */
static uint64_t moved(size_t n, size_t piece, int how, uint64_t portion)
{
    uint64_t given = portion;
    uint64_t fuel = portion;
    ipt_packet p;
    int status;

    begin();
    put_psb();
    put(300, 0x06);
    put_psb();
    put(301, 0x06);
    hand_over(piece);
    b.config.fuel = &fuel;
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    for (size_t i = 0; i < n;) {
        status = ipt_pkt_next(&b.decoder, &p);
        CHECK(status == IPT_OK || (status == IPT_BUDGET && fuel == 0));
        if (status == IPT_OK) i++;
        if (status == IPT_BUDGET) given += fuel = portion;
    }
    do {
        status = how == 1   ? ipt_pkt_sync_forward(&b.decoder)
                 : how == 2 ? ipt_pkt_sync_backward(&b.decoder)
                 : how == 3 ? ipt_pkt_sync_set(&b.decoder, 316)
                            : IPT_OK;
        if (status == IPT_BUDGET) given += fuel = portion;
    } while (status == IPT_BUDGET);
    CHECK_EQ(status, IPT_OK);
    if (how == 4) { /* the caller drops what was read */
        b.trace.offset = b.decoder.at.release;
        b.trace.offset -= b.trace.offset % piece;
        b.trace.seg += b.trace.offset / piece;
        b.trace.count -= (uint32_t) (b.trace.offset / piece);
    }
    while ((status = ipt_pkt_next(&b.decoder, &p)) != IPT_END) {
        if (!CHECK(status == IPT_OK || (status == IPT_BUDGET && fuel == 0)))
            break;
        if (status == IPT_BUDGET) given += fuel = portion;
    }
    b.trace.seg = b.pieces;
    b.trace.count = (uint32_t) ((b.size + piece - 1) / piece);
    end();
    return given - fuel;
}

/* The quick way owes some of its fuel. Whatever comes next, it is paid: as much
 * in large pieces as in small ones, which there is no quick way through. */
TEST(fuel_that_is_owed)
{
    for (int how = 0; how < 5; how++)
        for (size_t n = 1; n < 302; n += n > 40 && n < 280 ? 7 : 1)
            for (uint64_t portion = 1; portion < 60; portion += portion + 1) {
                const uint64_t most = portion < 40 ? portion : 1000;
                const uint64_t used = moved(n, 8, how, most);
                CHECK_EQ(moved(n, MAX, how, most), used);
                CHECK_EQ(moved(n, 256, how, most), used);
            }
}

/* A packet that is none is an error, after which nothing is owed. */
TEST(fuel_up_to_an_error)
{
    for (size_t n = 0; n < 100; n++) {
        ipt_packet p;
        begin();
        put_psb();
        put(n, 0x06);
        put(40, 0xd5);
        hand_over(MAX);
        b.config.fuel = &units;
        units = 1000;
        forward(0);
        while (ipt_pkt_next(&b.decoder, &p) == IPT_OK)
            ;
        CHECK_EQ(b.decoder.at.error, IPT_ERR_OPCODE);
        CHECK_EQ(b.decoder.at.offset, 16 + n);
        CHECK_EQ(1000 - units, 1 + (16 + n) / 16);
        end();
    }
}

/* ---- odd calls ---- */

/* A search that fuel stopped is at no packet, even where it begins at one. */
TEST(fuel_stops_a_search_at_a_packet)
{
    ipt_packet packet;
    begin();
    put(80, 0x04); /* TNT */
    (void) put_psb();
    hand_over(MAX);
    b.config.fuel = &units;
    for (uint64_t from = 0; from < 40; from++) {
        units = 100;
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, from), IPT_OK);
        for (uint64_t i = 0; i < from % 2 * 20; i++)
            CHECK_EQ(ipt_pkt_next(&b.decoder, &packet), IPT_OK);
        units = 0;
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_BUDGET);
        units = 100;
        CHECK_EQ(ipt_pkt_next(&b.decoder, &packet), IPT_ERR_NOSYNC);
        forward(80);
    }
    end();
}

TEST(empty)
{
    ipt_packet p;
    begin();
    hand_over(MAX);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_END);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 1), IPT_ERR_ARG);
    b.trace.open = 1;
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_MORE);
}

TEST(empty_pieces)
{
    size_t k = 0;
    begin();
    put(3, 0x06);
    put_psb();
    put(1, 0x06);
    // an empty piece before, between and after any two bytes
    for (size_t i = 0; i < b.size; i++) {
        b.pieces[k++].size = 0;
        b.pieces[k].data = b.bytes + i;
        b.pieces[k++].size = 1;
    }
    b.pieces[k++].size = 0;
    b.trace.count = (uint32_t) k;
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    forward(3);
    expect_psb();
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    backward(3);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 3), IPT_OK);
    expect_psb();
}

TEST(arguments)
{
    ipt_pkt_decoder blank;
    memset(&blank, 0, sizeof blank);
    CHECK_EQ(ipt_pkt_sync_forward(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_backward(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_set(NULL, 0), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_forward(&blank), IPT_ERR_STATE);
    CHECK_EQ(ipt_pkt_sync_backward(&blank), IPT_ERR_STATE);
    CHECK_EQ(ipt_pkt_sync_set(&blank, 0), IPT_ERR_STATE);
}

TEST(not_synchronised)
{
    ipt_packet p;
    begin();
    put_psb();
    hand_over(MAX);
    memset(&p, 0xee, sizeof p);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_NOSYNC);
    CHECK_EQ(p.type, 0xee);
    CHECK_EQ(b.decoder.at.error, IPT_ERR_NOSYNC);
    forward(0);
    expect_psb();
    end();
}

/* What was known before a synchronisation is forgotten. */
TEST(forgets)
{
    static const uint8_t header[] = {0x19, 1, 2, 3, 4, 5, 6, 7, // TSC
                                     0x02, 0x03, 0x20, 0x00,    // CBR
                                     0x02, 0x23};               // PSBEND
    ipt_evt_decoder d;
    ipt_event e;
    size_t second;
    begin();
    put_psb();
    memcpy(b.bytes + b.size, header, sizeof header);
    b.size += sizeof header;
    put(5, 0x00);
    second = put_psb();
    hand_over(MAX);
    CHECK_EQ(ipt_evt_init(&d, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_OK);
    while (ipt_evt_next(&d, &e) >= 0) { }
    CHECK(d.at.valid & IPT_AT_TSC);
    CHECK_EQ(d.at.tsc, 0x07060504030201);
    CHECK_EQ(d.at.cbr, 0x20);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_END);
    CHECK_EQ(ipt_evt_sync_set(&d, second), IPT_OK);
    CHECK_EQ(d.at.valid, IPT_AT_SYNC);
    CHECK_EQ(d.at.tsc, 0);
    CHECK_EQ(d.at.cbr, 0);
    CHECK_EQ(d.at.asid.cr3, IPT_ASID_UNKNOWN);
    end();
}

/* ---- the other decoders want a PSB ---- */

/* ---- gaps ---- */

/* Hand the bytes over in pieces of n bytes, with bytes [at, at + lost) gone. */
static void hand_over_gap(size_t n, size_t at, size_t lost)
{
    uint32_t k = 0;
    hand_over(n);
    for (uint32_t i = 0; i < b.trace.count; i++) {
        size_t begin = i * n, size = b.pieces[i].size;
        ipt_segment *p = &b.pieces[k++];
        *p = b.pieces[i];
        if (begin >= at && begin + size <= at + lost) {
            free((void *) (uintptr_t) p->data);
            p->data = NULL;
        }
    }
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
}

TEST(across_a_gap)
{
    for (size_t n = 1; n <= 32; n *= 2) {
        ipt_packet p;
        size_t first, second;
        begin();
        put(32, 0);
        first = put_psb();
        put(80, 0); /* 64 .. 128 is lost */
        second = put_psb();
        put(16, 0);
        hand_over_gap(n, 64, 64);
        forward(first);
        CHECK_EQ(b.decoder.at.skip_from, 0);
        CHECK_EQ(b.decoder.at.skip_to, first);
        forward(second);
        CHECK_EQ(b.decoder.at.skip_from, first);
        CHECK_EQ(b.decoder.at.skip_to, second);
        CHECK_EQ(b.decoder.at.skipped, second);
        CHECK_EQ(b.decoder.at.resyncs, 2);
        CHECK_EQ(b.decoder.at.gaps, 64 / n);
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
        backward(first);
        CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 70), IPT_OK); /* in the gap */
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_GAP);
        CHECK_EQ(p.offset, 70);
        CHECK_EQ(p.u.gap.lost, (70 / n + 1) * n - 70);
        CHECK_EQ(p.size, p.u.gap.lost);
        CHECK_EQ(b.decoder.at.release, p.offset + p.u.gap.lost);
        while (p.type == IPT_PKT_GAP)
            if (!CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK)) break;
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK_EQ(p.offset, second);
        CHECK_EQ(b.decoder.at.skip_from, 70);
        CHECK_EQ(b.decoder.at.skip_to, second);
        end();
    }
}

/* Pairs before and after a gap make no PSB; eight before it do. */
TEST(psb_and_gap)
{
    for (size_t pairs = 6; pairs <= 9; pairs++) {
        begin();
        put_pairs(pairs);
        put(2, 0); /* the gap */
        put_pairs(4);
        hand_over(2);
        free((void *) (uintptr_t) b.pieces[pairs].data);
        b.pieces[pairs].data = NULL;
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        if (pairs < 8) {
            CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
            /* one may have begun in what is lost */
            CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_ERR_GONE);
        } else {
            forward(2 * pairs - 16);
            expect_psb();
            CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
            backward(2 * pairs - 16);
        }
        end();
    }
}

/* After a gap the pattern begins again: all but its first byte is not a PSB. */
TEST(V4_a_psb_without_its_first_byte)
{
    begin();
    put(2, 0x02); /* the second one is the gap */
    put(1, 0x82);
    put_pairs(7);
    put(9, 0x00);
    hand_over(1);
    free((void *) (uintptr_t) b.pieces[1].data);
    b.pieces[1].data = NULL;
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    end();
}

/* A PSB with one byte more inside is none. */
TEST(V4_a_byte_too_many)
{
    for (size_t at = 1; at < 16; at++) {
        begin();
        for (size_t i = 0; i < 16; i++) {
            if (i == at) put(1, 0x55);
            put(1, i % 2 ? 0x82 : 0x02);
        }
        put(9, 0x04);
        hand_over(MAX);
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
        end();
    }
}

/* Going back over thousands of pieces takes fuel, too. */
TEST(V4_fuel_of_pieces_backward)
{
    uint64_t fuel = 100;
    unsigned calls = 0;
    int status;

    begin();
    put_psb();
    put(8000, 0x00);
    hand_over(1);
    b.config.fuel = &fuel;
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 8000), IPT_OK);
    CHECK_EQ(fuel, 100 - 8000 / 1024);
    do {
        fuel = 1;
        status = ipt_pkt_sync_set(&b.decoder, 0);
        calls++;
    } while (status == IPT_BUDGET);
    CHECK_EQ(status, IPT_OK);
    expect_at(0);
    CHECK_EQ(calls, 1 + 8000 / 1024);
    end();
}

/* A gap costs a unit of fuel; pairs, one for every 16 bytes, wherever the run
 * begins. */
TEST(V4_fuel_of_gaps_and_pairs)
{
    uint64_t fuel = 1000;
    ipt_packet p;

    begin();
    put_psb();
    put(14, 0x00);
    hand_over(2);
    for (unsigned i = 8; i < 15; i++) {
        free((void *) (uintptr_t) b.pieces[i].data);
        b.pieces[i].data = NULL;
    }
    b.config.fuel = &fuel;
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    fuel = 1000;
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_GAP);
    CHECK_EQ(fuel, 1000 - 1 - 7);
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    fuel = 1000;
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_OK);
    CHECK_EQ(b.decoder.at.offset, 0);
    CHECK_EQ(fuel, 1000 - 7 - 1);
    end();
    for (size_t first = 0; first < 16; first++) {
        begin();
        put(first, 0x04);
        put_pairs(8 + 80);
        put(1, 0x04);
        hand_over(MAX);
        b.config.fuel = &fuel;
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, first), IPT_OK);
        fuel = 1000;
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK_EQ(fuel, 1000 - 1);
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_TNT_8);
        CHECK_EQ(fuel, 1000 - (first + 16 + 160 + 1) / 16);
        end();
    }
}

/* Pairs in later pieces are part of the PSB before them. */
TEST(V4_pairs_in_the_next_piece)
{
    ipt_packet p;

    for (size_t piece = 1; piece < 40; piece++) {
        begin();
        put_pairs(8 + 3);
        put(40, 0x04);
        hand_over(piece);
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_TNT_8);
        CHECK_EQ(p.offset, 2 * (8 + 3));
        end();
    }
}

/* A PSB that was decoded is not found again, however many pairs it has. */
TEST(V4_forward_from_a_long_run)
{
    ipt_packet p;

    for (size_t pairs = 8; pairs < 24; pairs++) {
        size_t first;
        begin();
        put_psb();
        put(50, 0x04);
        first = b.size;
        put_pairs(pairs);
        put(50, 0x04);
        hand_over(MAX);
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
        do {
            if (!CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK)) break;
        } while (p.offset != first);
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder),
                 pairs < 16 ? IPT_END : IPT_OK);
        end();
    }
}

/* A search backward knows of the gaps it passed, also when it ran out of fuel
 * after them; and of no others. */
TEST(V4_backward_past_a_gap)
{
    uint64_t fuel = 3;
    int status;

    for (int gap = 0; gap < 2; gap++) {
        begin();
        put(300, 0x00);
        hand_over(100);
        if (gap) {
            free((void *) (uintptr_t) b.pieces[1].data);
            b.pieces[1].data = NULL;
        }
        b.config.fuel = &fuel;
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        do {
            fuel = 3;
            status = ipt_pkt_sync_backward(&b.decoder);
        } while (status == IPT_BUDGET);
        CHECK_EQ(status, gap ? IPT_ERR_GONE : IPT_END);
        end();
    }
    /* the start of a PSB at the end of an open trace is not a gap */
    begin();
    put(100, 0x00);
    put_pairs(5);
    hand_over(MAX);
    b.trace.open = 1;
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_MORE);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_END);
    end();
}

/* A gap first, and gaps only. */
TEST(nothing_but_gaps)
{
    ipt_packet p;
    begin();
    put(4, 0);
    hand_over(2);
    for (int i = 0; i < 2; i++) {
        free((void *) (uintptr_t) b.pieces[i].data);
        b.pieces[i].data = NULL;
    }
    b.pieces[1].size = (size_t) UINT32_MAX + (sizeof(size_t) > 4 ? 9 : 0);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_ERR_GONE);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
    CHECK_EQ(p.u.gap.lost, 2);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
    CHECK_EQ(p.u.gap.lost, b.pieces[1].size);
    CHECK_EQ(p.size, UINT32_MAX);
    CHECK_EQ(p.offset, 2);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_END);
    b.trace.open = 1;
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_MORE);
    end();
}

TEST(event_decoder)
{
    ipt_evt_decoder d;
    size_t psb;
    begin();
    put(5, 0x06);
    psb = put_psb();
    put(1, 0x02);
    put(1, 0x23); // PSBEND
    put(20, 0x00);
    hand_over(3);
    memset(&d, 0, sizeof d);
    CHECK_EQ(ipt_evt_sync_forward(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_ERR_STATE);
    CHECK_EQ(ipt_evt_init(&d, &b.config, &b.trace), IPT_OK);
    for (size_t at = 0; at <= b.size; at++)
        CHECK_EQ(ipt_evt_sync_set(&d, at), at == psb ? IPT_OK : IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_evt_sync_set(&d, b.size + 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_evt_init(&d, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, psb);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_END);
    CHECK_EQ(ipt_evt_init(&d, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_evt_sync_backward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, psb);
    CHECK_EQ(ipt_evt_sync_backward(&d), IPT_END);
    end();
}

/* A search that ends without a PSB stays where its last call found it, and one
 * that needs trace or fuel stands where it goes on. */
TEST(R9_position)
{
    ipt_packet p;
    begin();
    put_psb();
    put(100, 0x00);
    hand_over(7);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    CHECK_EQ(b.decoder.at.offset, 16);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK); /* and is synchronised */
    b.trace.open = 1;
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_MORE);
    CHECK_EQ(b.decoder.at.offset, 116);
    CHECK(b.decoder.at.release > 116 - 32);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_NOSYNC);
    b.trace.open = 0;
    CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_END);
    CHECK_EQ(b.decoder.at.offset, 116);
    CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_pkt_sync_backward(&b.decoder), IPT_OK);
    CHECK_EQ(b.decoder.at.offset, 0);
    end();
}

static int sixteen(ipt_packet *packet, const uint8_t *bytes, size_t size,
                   void *context)
{
    (void) packet;
    (void) size;
    (void) context;
    return bytes[0] == 0x05 ? 16 : -1;
}

/* A corrupt packet hides all but the last byte of a PSB. */
TEST(mutants_fifteen_bytes_back)
{
    static const uint8_t pair[] = {0x02, 0x82};
    uint8_t bytes[40] = {0x05};
    const ipt_segment piece = {bytes, sizeof bytes};
    const ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_pkt_decoder d = {0};
    ipt_packet p;
    for (int i = 0; i < 8; i++) memcpy(bytes + 1 + 2 * i, pair, 2);
    config.unknown = sixteen;
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&d, 0), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_OK);
    CHECK_EQ(d.at.offset, 16);
    CHECK(d.at.release <= 1);
    CHECK_EQ(ipt_pkt_sync_forward(&d), IPT_OK);
    CHECK_EQ(d.at.offset, 1);
    CHECK_EQ(d.at.skip_from, 1);
    CHECK_EQ(d.at.skip_to, 1);
    CHECK_EQ(d.at.skipped, 0);
}

/* What lies before a PSB that was found may be taken away, and stays so: no
 * call asks for it back but one that goes there. */
TEST(V4_release_at_a_psb)
{
    static int (*const syncs[])(ipt_pkt_decoder *)
        = {ipt_pkt_sync_forward, ipt_pkt_sync_backward};
    ipt_packet p;
    size_t psb;

    begin();
    put(200, 0x04); /* TNTs */
    psb = put_psb();
    put(200, 0x04);
    hand_over(MAX);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        /* where single packets are decoded fast, and then further on */
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, i < 2 ? 40 * i : 300), IPT_OK);
        for (int k = 0; k < 60; k++)
            CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
        CHECK_EQ(syncs[i == 2](&b.decoder), IPT_OK);
        expect_at(psb);
        CHECK_EQ(b.decoder.at.release, psb);
        for (int k = 0; k < 100; k++) {
            CHECK_EQ(ipt_pkt_next(&b.decoder, &p), IPT_OK);
            CHECK(b.decoder.at.release >= psb);
        }
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, psb), IPT_OK);
        CHECK_EQ(b.decoder.at.release, psb);
    }
    end();
}

/* A PSB that was synchronised to says nothing of an address space yet. */
TEST(V4_address_space_at_a_psb)
{
    static const uint8_t more[] = {0x02, 0x43, 0, 0x45, 0x23, 1, 0, 0,
                                   0x02, 0x23}; /* PIP, PSBEND */
    ipt_evt_decoder d;
    ipt_event e;
    size_t second;

    begin();
    put_psb();
    for (size_t i = 0; i < sizeof more; i++) put(1, more[i]);
    second = put_psb();
    put(1, 0x02);
    put(1, 0x23);
    hand_over(MAX);
    CHECK_EQ(ipt_evt_init(&d, &b.config, &b.trace), IPT_OK);
    for (int way = 0; way < 2; way++) {
        CHECK_EQ(ipt_evt_sync_set(&d, 0), IPT_OK);
        while (d.at.asid.cr3 == IPT_ASID_UNKNOWN)
            if (!CHECK_EQ(ipt_evt_next(&d, &e), IPT_OK)) break;
        CHECK_EQ(d.at.asid.cr3, 0x12345000);
        CHECK_EQ(way ? ipt_evt_sync_set(&d, second) : ipt_evt_sync_forward(&d),
                 IPT_OK);
        CHECK_EQ(d.at.sync, second);
        CHECK_EQ(d.at.asid.cr3, IPT_ASID_UNKNOWN);
    }
    end();
}

int main(void)
{
    RUN(one);
    RUN(one_in_pieces);
    RUN(one_among_halves);
    RUN(none);
    RUN(almost);
    RUN(long_runs);
    RUN(backward_over_a_long_run);
    RUN(a_trace_of_pairs);
    RUN(many);
    RUN(forward_from_after_a_psb);
    RUN(swallowed);
    RUN(how_far_back);
    RUN(set);
    RUN(set_in_a_later_window);
    RUN(open_forward);
    RUN(open_then_closed);
    RUN(open_and_dropped);
    RUN(V3_dropped_too_early);
    RUN(V3_dropped_among_pairs);
    RUN(V3_shorter_than_before);
    RUN(V4_fuel_ends_with_the_piece);
    RUN(fuel);
    RUN(fuel_in_a_long_run);
    RUN(fuel_where_events_were_read);
    RUN(fuel_and_change_of_mind);
    RUN(fuel_that_is_owed);
    RUN(fuel_up_to_an_error);
    RUN(fuel_stops_a_search_at_a_packet);
    RUN(empty);
    RUN(empty_pieces);
    RUN(arguments);
    RUN(not_synchronised);
    RUN(forgets);
    RUN(across_a_gap);
    RUN(psb_and_gap);
    RUN(V4_a_psb_without_its_first_byte);
    RUN(V4_a_byte_too_many);
    RUN(V4_pairs_in_the_next_piece);
    RUN(V4_backward_past_a_gap);
    RUN(V4_fuel_of_gaps_and_pairs);
    RUN(V4_forward_from_a_long_run);
    RUN(V4_fuel_of_pieces_backward);
    RUN(nothing_but_gaps);
    RUN(event_decoder);
    RUN(R9_position);
    RUN(mutants_fifteen_bytes_back);
    RUN(V4_release_at_a_psb);
    RUN(V4_address_space_at_a_psb);
    return test_report();
}
