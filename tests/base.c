/* base.c: loads, fuel, the cursor over trace segments, what every function
 * checks first, and what _init checks of a config. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "build.h"
#include "dice.h"
#include <time.h>

/* ---- loads ---- */

TEST(loads)
{
    static const uint8_t p[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                0xff, 0x80};
    CHECK_EQ(ipti_le16(p), 0x2301);
    CHECK_EQ(ipti_le16(p + 7), 0xffef);
    CHECK_EQ(ipti_le32(p), 0x67452301);
    CHECK_EQ(ipti_le32(p + 5), 0xffefcdab);
    CHECK_EQ(ipti_le64(p), 0xefcdab8967452301);
    CHECK_EQ(ipti_le64(p + 2), 0x80ffefcdab896745);
}

TEST(bits)
{
    static const uint8_t p[] = {0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    CHECK_EQ(ipti_bits(p, 0, 1), 1);
    CHECK_EQ(ipti_bits(p, 1, 6), 0);
    CHECK_EQ(ipti_bits(p, 7, 1), 1);
    CHECK_EQ(ipti_bits(p, 7, 2), 3);
    CHECK_EQ(ipti_bits(p, 4, 8), 0x38);
    CHECK_EQ(ipti_bits(p, 0, 16), 0x2381);
    CHECK_EQ(ipti_bits(p, 0, 64), 0xefcdab8967452381);
    CHECK_EQ(ipti_bits(p, 1, 47), 0x55c4b3a291c0); /* ab8967452381 >> 1 */
    for (unsigned bit = 0; bit < 8; bit++)
        for (unsigned width = 1; width + bit <= 64; width++)
            if (ipti_bits(p, bit, width)
                != (0xefcdab8967452381 >> bit & UINT64_MAX >> (64 - width)))
                CHECK_EQ(bit * 100 + width, 0);
}

/* ---- fuel ---- */

TEST(fuel)
{
    static const struct {
        uint64_t fuel, burn, left;
    } rows[] = {{5, 0, 5}, {5, 1, 4}, {5, 5, 0}, {5, 6, 0}, {0, 1, 0},
                {UINT64_MAX, 1, UINT64_MAX - 1}, {7, UINT64_MAX, 0}};
    static const struct {
        uint64_t from, to, units;
    } traced[] = {{0, 0, 0}, {0, 15, 0}, {0, 16, 1}, {15, 16, 1}, {16, 31, 0},
                  {1, 49, 3}, {0, 160, 10}, {UINT64_MAX - 16, UINT64_MAX, 1}};
    ipt_config config = {0};
    uint64_t fuel = 0;

    CHECK(!ipti_fuel_empty(&config));
    ipti_fuel_burn(&config, 5); /* unbounded */
    config.fuel = &fuel;
    CHECK(ipti_fuel_empty(&config));
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        fuel = rows[i].fuel;
        ipti_fuel_burn(&config, rows[i].burn);
        CHECK_EQ(fuel, rows[i].left);
        CHECK_EQ(ipti_fuel_empty(&config), fuel == 0);
    }
    for (unsigned i = 0; i < LENGTH(traced); i++) {
        fuel = 1000;
        ipti_fuel_trace(&config, traced[i].from, traced[i].to);
        CHECK_EQ(1000 - fuel, traced[i].units);
    }
}

/* ---- a trace of packets of all sizes ---- */

static const ipt_packet mixed[] = {
    PSB, CBR(1), TSC(0x1122334455667788 >> 8), EXEC64, FUP(0x1000), PSBEND,
    TNT(3, 5), MNT(0x0102030405060708), TIP(0x2000), PADS(3), CYC(1u << 30),
    IP_(TIP, 1, 0x10), MTC(5), PTW(1, 0, 0x55), PADS(1), TNT64(40, 1),
    IP_(TIP, 0, 0), VMCS(0x1000), PIP(0x20, 1), STOP, OVF, PSB, PSBEND,
    EVD(1, 7), TRIG(1, 0, 1, 9, 0), IP_(TIP, 3, 0xffff00001000)};

static build b;

/* The decoder gives all packets of b, from packet i on. */
static void expect_packets(ipt_pkt_decoder *d, unsigned i, uint64_t offset)
{
    for (; i < b.count; i++) {
        uint64_t end = i + 1 < b.count ? b.offset[i + 1] : b.size;
        uint64_t at = b.offset[i];
        while (at < end) { /* runs of PAD may come in parts */
            ipt_packet p;
            if (!CHECK_EQ(ipt_pkt_next(d, &p), IPT_OK)) return;
            if (!CHECK_EQ(p.type, mixed[i].type)) return;
            CHECK_EQ(p.offset, at + offset);
            CHECK(p.size > 0);
            CHECK(p.size <= end - at);
            if (p.type != IPT_PKT_PAD) CHECK_EQ(p.size, end - at);
            if (p.type == IPT_PKT_MNT)
                CHECK_EQ(p.u.mnt.payload, mixed[i].u.mnt.payload);
            at += p.size;
            CHECK_EQ(d->at.offset, at + offset);
            CHECK_EQ(d->at.packet, p.type);
            CHECK_EQ(d->at.packet_offset, p.offset);
            CHECK(d->at.release <= d->at.offset);
        }
    }
}

/* Pieces that end at the given offsets, each in a block of its own. */
static void check_cuts(const size_t *ends, unsigned count, uint64_t offset)
{
    static const ipt_config config;
    ipt_segment pieces[16];
    ipt_trace trace = {pieces, count, 0, offset};
    ipt_pkt_decoder d = {.magic_ = 0};
    ipt_packet p;
    size_t at = 0;

    for (unsigned i = 0; i < count; i++) {
        uint8_t *block = malloc(ends[i] - at + 1);
        size_t size = ends[i] - at;
        memcpy(block + 1, b.bytes + at, size); /* misaligned */
        pieces[i].data = size ? block + 1 : NULL;
        pieces[i].size = size;
        at = ends[i];
        if (!size) free(block);
    }
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    CHECK_EQ(d.at.offset, offset);
    CHECK_EQ(ipt_pkt_sync_forward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, offset);
    expect_packets(&d, 0, offset);
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_END);
    CHECK_EQ(ipt_pkt_sync_backward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, offset + b.offset[21]);
    expect_packets(&d, 21, offset);
    CHECK_EQ(ipt_pkt_sync_set(&d, offset + b.offset[6]), IPT_OK);
    expect_packets(&d, 6, offset);
    for (unsigned i = 0; i < count; i++)
        if (pieces[i].data) free((void *) (uintptr_t) (pieces[i].data - 1));
}

TEST(cut_in_two)
{
    build_all(&b, mixed, LENGTH(mixed));
    for (size_t at = 0; at <= b.size; at++) {
        size_t ends[] = {at, b.size};
        check_cuts(ends, 2, 0);
    }
}

TEST(cut_with_empty_pieces)
{
    build_all(&b, mixed, LENGTH(mixed));
    for (size_t at = 0; at + 2 <= b.size; at++) {
        size_t ends[] = {0, 0, at, at, at + 1, at + 1, at + 2, at + 2, b.size,
                         b.size};
        check_cuts(ends, LENGTH(ends), 12345);
    }
}

TEST(offsets)
{
    static const uint64_t offsets[] = {0, 1, 15, 16, 4095, UINT32_MAX - 20,
                                       UINT64_MAX / 2};
    build_all(&b, mixed, LENGTH(mixed));
    for (unsigned i = 0; i < LENGTH(offsets); i++) {
        size_t ends[] = {b.size / 2, b.size};
        check_cuts(ends, 2, offsets[i]);
    }
}

/* Open traces, in all the ways of build.h. */
TEST(ways)
{
    static feed f;
    build_all(&b, mixed, LENGTH(mixed));
    for (int way = 0; way < WAYS; way++) {
        static ipt_pkt_decoder places[2];
        ipt_pkt_decoder *d = &places[0];
        uint64_t release = 0;
        uint64_t at = 0;
        ipt_packet p;
        int status;
        feed_begin(&f, b.bytes, b.size, way);
        CHECK_EQ(ipt_pkt_init(d, &f.config, &f.trace), IPT_OK);
        do {
            d = feed_move(&f, d, &places[d == &places[0]], sizeof *d);
            status = ipt_pkt_sync_forward(d);
            CHECK(d->at.release >= release);
            release = d->at.release;
            feed_drop(&f, &d->at);
        } while (feed_again(&f, status, b.size));
        CHECK_EQ(status, IPT_OK);
        for (;;) {
            d = feed_move(&f, d, &places[d == &places[0]], sizeof *d);
            memset(&p, 0xee, sizeof p);
            status = ipt_pkt_next(d, &p);
            CHECK(d->at.release >= release);
            CHECK(d->at.offset - d->at.release <= 15);
            release = d->at.release;
            feed_drop(&f, &d->at);
            if (feed_again(&f, status, b.size)) continue;
            if (status < 0) break;
            CHECK_EQ(p.offset, at);
            at += p.size;
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(at, b.size);
        CHECK_EQ(d->at.offset, b.size);
        feed_end(&f);
    }
}

/* ---- a trace that changes between the calls ---- */

typedef struct scene {
    ipt_config config;
    ipt_segment pieces[8];
    ipt_trace trace;
    ipt_pkt_decoder d;
} scene;

static void begin(scene *s, uint32_t count, uint8_t open)
{
    memset(s, 0, sizeof *s);
    build_all(&b, mixed, LENGTH(mixed));
    s->trace.seg = s->pieces;
    s->trace.count = count;
    s->trace.open = open;
}

static void piece(scene *s, unsigned i, size_t from, size_t to)
{
    s->pieces[i].data = b.bytes + from;
    s->pieces[i].size = to - from;
}

TEST(no_pieces)
{
    scene s;
    ipt_packet p;
    begin(&s, 0, 0);
    s.trace.seg = NULL;
    CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_END);
    CHECK_EQ(ipt_pkt_sync_backward(&s.d), IPT_END);
    CHECK_EQ(ipt_pkt_sync_set(&s.d, 0), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_END);
    CHECK_EQ(ipt_pkt_sync_set(&s.d, 1), IPT_ERR_ARG);
    s.trace.open = 1;
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_MORE);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_MORE);
    s.trace.seg = s.pieces;
    s.trace.count = 1;
    s.trace.open = 0;
    piece(&s, 0, 0, b.size);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    expect_packets(&s.d, 0, 0);
}

TEST(nothing_then_something)
{
    scene s;
    ipt_packet p;
    begin(&s, 1, 1); /* a piece of no bytes */
    CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_MORE);
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_ERR_NOSYNC);
    piece(&s, 0, 0, 40);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    CHECK_EQ(s.d.at.sync, 0);
    while (ipt_pkt_next(&s.d, &p) == IPT_OK)
        ;
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_MORE);
    piece(&s, 1, 40, 41);
    piece(&s, 2, 41, 41);
    piece(&s, 3, 41, b.size);
    s.trace.count = 4;
    CHECK_EQ(ipt_pkt_sync_set(&s.d, 0), IPT_OK);
    expect_packets(&s.d, 0, 0);
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_MORE);
    s.trace.open = 0;
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_END);
}

/* A closed trace ends inside of a packet; then the rest is there after all. */
TEST(truncated)
{
    scene s;
    ipt_packet p;
    unsigned i = 7; /* MNT: 11 bytes */
    for (size_t n = 1; n < 11; n++) {
        begin(&s, 1, 0);
        piece(&s, 0, 0, b.offset[i] + n);
        CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
        CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
        for (unsigned k = 0; k < i; k++)
            CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_OK);
        CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_ERR_TRUNCATED);
        CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_ERR_TRUNCATED);
        CHECK_EQ(s.d.at.error, IPT_ERR_TRUNCATED);
        CHECK_EQ(s.d.at.offset, b.offset[i]);
        CHECK_EQ(s.d.at.packet_offset, b.offset[i]);
        s.trace.open = 1;
        CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_MORE);
        piece(&s, 0, 0, b.size);
        s.trace.open = 0;
        expect_packets(&s.d, i, 0);
        CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_END);
    }
}

/* Take the first pieces away: those that hold bytes, and those that do not. */
static void check_drop(size_t a, size_t c, size_t e, unsigned drop)
{
    scene s;
    ipt_packet p;
    unsigned i = 0;
    begin(&s, 4, 0);
    piece(&s, 0, 0, a);
    piece(&s, 1, a, c);
    piece(&s, 2, c, e);
    piece(&s, 3, e, b.size);
    CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    while (s.d.at.release < (drop == 1 ? a : drop == 2 ? c : e)
           || s.d.at.offset < b.offset[i]) {
        uint64_t end = i + 1 < b.count ? b.offset[i + 1] : b.size;
        CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_OK);
        if (s.d.at.offset == end) i++;
    }
    for (unsigned k = 0; k < drop; k++) {
        s.trace.offset += s.pieces[k].size;
        s.trace.seg++;
        s.trace.count--;
    }
    expect_packets(&s.d, i, 0);
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_END);
}

TEST(drop)
{
    check_drop(20, 40, 60, 1);
    check_drop(20, 40, 60, 2);
    check_drop(20, 40, 60, 3);
    check_drop(30, 30, 50, 2);
}

/* An empty piece goes together with one that is not. */
TEST(drop_empty)
{
    check_drop(0, 40, 60, 2);
    check_drop(0, 0, 60, 3);
    check_drop(20, 20, 60, 2);
}

TEST(drop_all)
{
    scene s;
    ipt_packet p;
    begin(&s, 1, 1);
    piece(&s, 0, 0, b.size);
    CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    expect_packets(&s.d, 0, 0);
    s.trace.offset = b.size; /* more than at.release allows */
    s.trace.count = 0;
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_MORE);
    CHECK_EQ(ipt_pkt_sync_backward(&s.d), IPT_ERR_GONE);
    piece(&s, 0, 0, b.size);
    s.trace.count = 1;
    s.trace.open = 0;
    expect_packets(&s.d, 0, b.size);
}

TEST(gone)
{
    scene s;
    ipt_packet p;
    begin(&s, 1, 0);
    piece(&s, 0, 0, b.size);
    CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_OK);
    s.trace.offset = 100; /* what it stands at was taken away */
    s.pieces[0].data = b.bytes + 100;
    s.pieces[0].size = b.size - 100;
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_ERR_GONE);
    CHECK_EQ(ipt_pkt_next(&s.d, &p), IPT_ERR_GONE);
    CHECK_EQ(s.d.at.error, IPT_ERR_GONE);
    CHECK_EQ(ipt_pkt_sync_set(&s.d, 20), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    CHECK_EQ(s.d.at.sync, b.offset[21]);
    CHECK_EQ(s.d.at.error, 0);
    expect_packets(&s.d, 21, 0);
}

/* Nothing is read outside the pieces: one byte beyond them belongs to others,
 * and AddressSanitizer would say so. Here: nothing is written to them. */
TEST(read_only)
{
    static uint8_t copy[4096];
    scene s;
    begin(&s, 1, 0);
    piece(&s, 0, 0, b.size);
    memcpy(copy, b.bytes, sizeof copy);
    CHECK_EQ(ipt_pkt_init(&s.d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&s.d), IPT_OK);
    expect_packets(&s.d, 0, 0);
    CHECK(!memcmp(copy, b.bytes, sizeof copy));
}

/* ---- fuel, from outside ---- */

/* One unit for 16 bytes of trace. */
TEST(fuel_of_packets)
{
    static uint8_t bytes[16 + 2 * 800];
    ipt_segment seg = {bytes, sizeof bytes};
    ipt_trace trace = {&seg, 1, 0, 0};
    ipt_config config = {0};
    uint64_t fuel = 1000;
    ipt_pkt_decoder d = {.magic_ = 0};
    ipt_packet p;
    unsigned n = 0;
    int status;

    for (size_t i = 0; i < sizeof bytes; i += 2) {
        bytes[i] = i < 16 ? 0x02 : 0x59; /* PSB, then MTC */
        bytes[i + 1] = i < 16 ? 0x82 : 0x00;
    }
    config.fuel = &fuel;
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    CHECK_EQ(fuel, 1000);
    CHECK_EQ(ipt_pkt_sync_set(&d, 0), IPT_OK);
    fuel = 1000;
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_OK);
    CHECK_EQ(fuel, 999);
    while (ipt_pkt_next(&d, &p) == IPT_OK) n++;
    CHECK_EQ(n, 800);
    CHECK_EQ(fuel, 999 - 100);
    /* it stops where the fuel ends, and goes on there */
    CHECK_EQ(ipt_pkt_sync_set(&d, 0), IPT_OK);
    fuel = 3;
    for (n = 0; (status = ipt_pkt_next(&d, &p)) == IPT_OK; n++)
        ;
    CHECK_EQ(status, IPT_BUDGET);
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_BUDGET);
    CHECK_EQ(d.at.offset, 48);
    CHECK_EQ(n, 1 + 16);
    fuel = 1;
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_OK);
    CHECK_EQ(p.offset, 48);
}

/* ---- what every function checks first ---- */

static ipt_pkt_decoder pkt;
static ipt_evt_decoder evt;
static ipt_qry_decoder qry;
static ipt_blk_decoder blk;
static ipt_insn_decoder insn;
static ipt_cache cache;
static ipt_cache_line lines[64];
static ipt_gen gen;
static ipt_clock clock_;

static int no_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                   uint64_t ip, void *context)
{
    (void) buffer;
    (void) size;
    (void) asid;
    (void) ip;
    (void) context;
    return 0;
}

/* All functions that take a struct of their own: `self` is 0 for NULL. The
 * result is the first status that is not `want`, or want. */
static int try_all(int self, int want)
{
    static const ipt_packet packet_in = PSB;
    static const ipt_event event_in = {0};
    static const ipt_start start_in = {0};
    static const ipt_asid asid_in = {0};
    ipt_packet p;
    ipt_event e;
    ipt_block k;
    ipt_insn i;
    uint64_t ip = 0;
    int taken = 0;
    int got = want;

#define TRY(call) (void) (got == want && CHECK_EQ(got = (call), want))
#define SELF(s) (self ? &(s) : NULL)
    TRY(ipt_pkt_sync_forward(SELF(pkt)));
    TRY(ipt_pkt_sync_backward(SELF(pkt)));
    TRY(ipt_pkt_sync_set(SELF(pkt), 0));
    TRY(ipt_pkt_next(SELF(pkt), &p));
    TRY(ipt_evt_sync_forward(SELF(evt)));
    TRY(ipt_evt_sync_backward(SELF(evt)));
    TRY(ipt_evt_sync_set(SELF(evt), 0));
    TRY(ipt_evt_start(SELF(evt), &start_in));
    TRY(ipt_evt_next(SELF(evt), &e));
    TRY(ipt_qry_sync_forward(SELF(qry), &ip));
    TRY(ipt_qry_sync_backward(SELF(qry), &ip));
    TRY(ipt_qry_sync_set(SELF(qry), 0, &ip));
    TRY(ipt_qry_cond_branch(SELF(qry), &taken));
    TRY(ipt_qry_indirect_branch(SELF(qry), &ip));
    TRY(ipt_qry_event(SELF(qry), &e));
    TRY(ipt_blk_sync_forward(SELF(blk)));
    TRY(ipt_blk_sync_backward(SELF(blk)));
    TRY(ipt_blk_sync_set(SELF(blk), 0));
    TRY(ipt_blk_start(SELF(blk), &start_in));
    TRY(ipt_blk_set_asid(SELF(blk), &asid_in));
    TRY(ipt_blk_resync(SELF(blk)));
    TRY(ipt_blk_next(SELF(blk), &k));
    TRY(ipt_blk_event(SELF(blk), &e));
    TRY(ipt_insn_sync_forward(SELF(insn)));
    TRY(ipt_insn_sync_backward(SELF(insn)));
    TRY(ipt_insn_sync_set(SELF(insn), 0));
    TRY(ipt_insn_start(SELF(insn), &start_in));
    TRY(ipt_insn_set_asid(SELF(insn), &asid_in));
    TRY(ipt_insn_resync(SELF(insn)));
    TRY(ipt_insn_next(SELF(insn), &i));
    TRY(ipt_insn_event(SELF(insn), &e));
    TRY(ipt_cache_invalidate(SELF(cache), NULL, 0, 0));
    TRY(ipt_time_packet(SELF(clock_), &packet_in));
    TRY(ipt_time_calibrate(SELF(clock_), &packet_in));
    TRY(ipt_time_update(SELF(clock_), &packet_in));
    TRY(ipt_gen_branch(SELF(gen), IPT_INSN_JCC, 0, 2, 0));
    TRY(ipt_gen_event(SELF(gen), &event_in));
    TRY(ipt_gen_flush(SELF(gen)));
#undef TRY
    return got;
}

static void fill(int byte)
{
    memset(&pkt, byte, sizeof pkt);
    memset(&evt, byte, sizeof evt);
    memset(&qry, byte, sizeof qry);
    memset(&blk, byte, sizeof blk);
    memset(&insn, byte, sizeof insn);
    memset(&cache, byte, sizeof cache);
    memset(&clock_, byte, sizeof clock_);
    memset(&gen, byte, sizeof gen);
}

TEST(uninitialised)
{
    fill(0x00);
    CHECK_EQ(try_all(1, IPT_ERR_STATE), IPT_ERR_STATE);
    fill(0xff);
    CHECK_EQ(try_all(1, IPT_ERR_STATE), IPT_ERR_STATE);
    fill(0xa5);
    CHECK_EQ(try_all(1, IPT_ERR_STATE), IPT_ERR_STATE);
    CHECK_EQ(try_all(0, IPT_ERR_ARG), IPT_ERR_ARG);
}

/* A struct that another version, or a failed _init, left. */
TEST(wrong_version)
{
    static const ipt_trace trace;
    static const ipt_gen_config gen_config;
    ipt_config config = {0};
    config.read = no_code;
    CHECK_EQ(ipt_pkt_init(&pkt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_evt_init(&evt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_qry_init(&qry, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_blk_init(&blk, &config, &trace, NULL), IPT_OK);
    CHECK_EQ(ipt_insn_init(&insn, &config, &trace, NULL), IPT_OK);
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    CHECK_EQ(ipt_time_init(&clock_, &config), IPT_OK);
    CHECK_EQ(ipt_gen_init(&gen, &gen_config, IPT_MODE_64), IPT_OK);
    pkt.magic_ ^= 0x100;
    evt.magic_ ^= 0x100;
    qry.magic_ ^= 0x100;
    blk.magic_ ^= 0x100;
    insn.magic_ ^= 0x100;
    cache.magic_ ^= 0x100;
    clock_.magic_ ^= 0x100;
    gen.magic_ ^= 0x100;
    CHECK_EQ(try_all(1, IPT_ERR_STATE), IPT_ERR_STATE);
    /* the version and the size are in it */
    CHECK(ipti_magic(100) != ipti_magic(104));
}

TEST(null_arguments)
{
    static const ipt_trace trace;
    ipt_config config = {0};
    ipt_packet p = PSB;
    uint8_t bytes[16];
    ipt_code code;
    int n = IPT_ERR_ARG;

    config.read = no_code;
    CHECK_EQ(ipt_pkt_init(NULL, &config, &trace), n);
    CHECK_EQ(ipt_pkt_init(&pkt, NULL, &trace), n);
    CHECK_EQ(ipt_pkt_init(&pkt, &config, NULL), n);
    CHECK_EQ(ipt_evt_init(NULL, &config, &trace), n);
    CHECK_EQ(ipt_evt_init(&evt, NULL, &trace), n);
    CHECK_EQ(ipt_evt_init(&evt, &config, NULL), n);
    CHECK_EQ(ipt_qry_init(NULL, &config, &trace), n);
    CHECK_EQ(ipt_qry_init(&qry, NULL, &trace), n);
    CHECK_EQ(ipt_qry_init(&qry, &config, NULL), n);
    CHECK_EQ(ipt_blk_init(NULL, &config, &trace, NULL), n);
    CHECK_EQ(ipt_blk_init(&blk, NULL, &trace, NULL), n);
    CHECK_EQ(ipt_blk_init(&blk, &config, NULL, NULL), n);
    CHECK_EQ(ipt_insn_init(NULL, &config, &trace, NULL), n);
    CHECK_EQ(ipt_insn_init(&insn, NULL, &trace, NULL), n);
    CHECK_EQ(ipt_insn_init(&insn, &config, NULL, NULL), n);
    CHECK_EQ(ipt_time_init(NULL, &config), n);
    CHECK_EQ(ipt_time_init(&clock_, NULL), n);
    CHECK_EQ(ipt_cache_init(NULL, lines, 64), n);
    CHECK_EQ(ipt_cache_init(&cache, NULL, 64), n);
    CHECK_EQ(ipt_gen_init(NULL, NULL, IPT_MODE_64), n);
    CHECK_EQ(ipt_cpu_errata(NULL, 6, 0x4e), n);
    CHECK_EQ(ipt_pkt_encode(NULL, 16, &p), n);
    CHECK_EQ(ipt_pkt_encode(bytes, 16, NULL), n);
    CHECK_EQ(ipt_classify(NULL, bytes, 16, IPT_MODE_64, NULL), n);
    CHECK_EQ(ipt_classify(&code, NULL, 16, IPT_MODE_64, NULL), n);
    CHECK_EQ(ipt_classify(&code, bytes, 16, IPT_MODE_UNKNOWN, NULL), n);
    CHECK_EQ(ipt_classify(&code, bytes, 16, IPT_MODE_COUNT, NULL), n);
    /* what is to be written to; a decoder that is good */
    CHECK_EQ(ipt_pkt_init(&pkt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_evt_init(&evt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_qry_init(&qry, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_blk_init(&blk, &config, &trace, NULL), IPT_OK);
    CHECK_EQ(ipt_insn_init(&insn, &config, &trace, NULL), IPT_OK);
    CHECK_EQ(ipt_time_init(&clock_, &config), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&pkt, NULL), n);
    CHECK_EQ(ipt_evt_start(&evt, NULL), n);
    CHECK_EQ(ipt_evt_next(&evt, NULL), n);
    CHECK_EQ(ipt_qry_sync_forward(&qry, NULL), n);
    CHECK_EQ(ipt_qry_sync_backward(&qry, NULL), n);
    CHECK_EQ(ipt_qry_sync_set(&qry, 0, NULL), n);
    CHECK_EQ(ipt_qry_cond_branch(&qry, NULL), n);
    CHECK_EQ(ipt_qry_indirect_branch(&qry, NULL), n);
    CHECK_EQ(ipt_qry_event(&qry, NULL), n);
    CHECK_EQ(ipt_blk_start(&blk, NULL), n);
    CHECK_EQ(ipt_blk_set_asid(&blk, NULL), n);
    CHECK_EQ(ipt_blk_next(&blk, NULL), n);
    CHECK_EQ(ipt_blk_event(&blk, NULL), n);
    CHECK_EQ(ipt_insn_start(&insn, NULL), n);
    CHECK_EQ(ipt_insn_set_asid(&insn, NULL), n);
    CHECK_EQ(ipt_insn_next(&insn, NULL), n);
    CHECK_EQ(ipt_insn_event(&insn, NULL), n);
    CHECK_EQ(ipt_time_packet(&clock_, NULL), n);
    CHECK_EQ(ipt_time_calibrate(&clock_, NULL), n);
    CHECK_EQ(ipt_time_update(&clock_, NULL), n);
}

/* Before they have synchronised. */
TEST(not_synchronised)
{
    static const ipt_trace trace;
    ipt_config config = {0};
    ipt_packet p;
    ipt_event e;
    ipt_block k;
    ipt_insn i;
    uint64_t ip;
    ipt_asid asid = {0};
    int taken;

    config.read = no_code;
    CHECK_EQ(ipt_pkt_init(&pkt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_evt_init(&evt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_qry_init(&qry, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_blk_init(&blk, &config, &trace, NULL), IPT_OK);
    CHECK_EQ(ipt_insn_init(&insn, &config, &trace, NULL), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&pkt, &p), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_evt_next(&evt, &e), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_qry_cond_branch(&qry, &taken), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_qry_indirect_branch(&qry, &ip), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_qry_event(&qry, &e), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_next(&blk, &k), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_event(&blk, &e), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_resync(&blk), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_set_asid(&blk, &asid), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_insn_next(&insn, &i), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_insn_event(&insn, &e), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_insn_resync(&insn), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_insn_set_asid(&insn, &asid), IPT_ERR_NOSYNC);
    CHECK_EQ(insn.at.error, IPT_ERR_NOSYNC);
    CHECK_EQ(pkt.at.valid, 0);
    CHECK_EQ(insn.at.asid.cr3, IPT_ASID_UNKNOWN);
    CHECK_EQ(insn.at.asid.vmcs, IPT_ASID_UNKNOWN);
}

/* ---- config ---- */

/* All _init functions say the same of a config. */
static void check_config(const ipt_config *config, const ipt_trace *trace,
                         int status)
{
    fill(0x5a);
    CHECK_EQ(ipt_pkt_init(&pkt, config, trace), status);
    CHECK_EQ(ipt_evt_init(&evt, config, trace), status);
    CHECK_EQ(ipt_qry_init(&qry, config, trace), status);
    CHECK_EQ(ipt_blk_init(&blk, config, trace, NULL), status);
    CHECK_EQ(ipt_insn_init(&insn, config, trace, NULL), status);
    if (status == IPT_OK) {
        CHECK_EQ(ipt_insn_sync_forward(&insn), IPT_END);
        CHECK_EQ(ipt_blk_sync_forward(&blk), IPT_END);
    } else { /* they are not usable then */
        CHECK_EQ(ipt_pkt_sync_forward(&pkt), IPT_ERR_STATE);
        CHECK_EQ(ipt_evt_sync_forward(&evt), IPT_ERR_STATE);
        CHECK_EQ(ipt_insn_sync_forward(&insn), IPT_ERR_STATE);
        CHECK_EQ(ipt_blk_sync_forward(&blk), IPT_ERR_STATE);
    }
}

TEST(config)
{
    ipt_trace trace = {0};
    ipt_config good = {0};
    ipt_config c;

    good.read = no_code;
    check_config(&good, &trace, IPT_OK);
    c = good;
    c.flags = IPT_CONFIG_FLAGS_ & ~IPT_CONFIG_ROOT_ONLY;
    check_config(&c, &trace, IPT_OK);
    c.flags = IPT_CONFIG_ROOT_ONLY | IPT_CONFIG_NON_ROOT_ONLY;
    check_config(&c, &trace, IPT_ERR_CONFIG);
    for (unsigned bit = 0; bit < 32; bit++) {
        c.flags = 1u << bit;
        check_config(&c, &trace,
                     c.flags & IPT_CONFIG_FLAGS_ ? (int) IPT_OK
                                                 : IPT_ERR_CONFIG);
    }
    c = good;
    for (unsigned bit = 0; bit < 32; bit++) {
        c.errata = 1u << bit;
        check_config(&c, &trace,
                     c.errata & IPT_ERRATUM_ALL_ ? (int) IPT_OK
                                                 : IPT_ERR_CONFIG);
    }
    c = good;
    c.mtc_freq = 15;
    check_config(&c, &trace, IPT_OK);
    c.mtc_freq = 16;
    check_config(&c, &trace, IPT_ERR_CONFIG);
    for (unsigned i = 0; i < IPT_FILTERS; i++) {
        c = good;
        c.filter[i].kind = IPT_FILTER_STOP;
        check_config(&c, &trace, IPT_OK);
        c.filter[i].kind = IPT_FILTER_STOP + 1;
        check_config(&c, &trace, IPT_ERR_CONFIG);
    }
    trace.count = 1; /* and seg is NULL */
    check_config(&good, &trace, IPT_ERR_ARG);
}

TEST(config_read)
{
    static const ipt_trace trace;
    static const ipt_config config;
    CHECK_EQ(ipt_pkt_init(&pkt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_evt_init(&evt, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_qry_init(&qry, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_blk_init(&blk, &config, &trace, NULL), IPT_ERR_CONFIG);
    CHECK_EQ(ipt_insn_init(&insn, &config, &trace, NULL), IPT_ERR_CONFIG);
}

TEST(config_cache)
{
    static const ipt_trace trace;
    ipt_config config = {0};
    config.read = no_code;
    memset(&cache, 0, sizeof cache);
    CHECK_EQ(ipt_blk_init(&blk, &config, &trace, &cache), IPT_ERR_STATE);
    CHECK_EQ(ipt_insn_init(&insn, &config, &trace, &cache), IPT_ERR_STATE);
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    CHECK_EQ(ipt_blk_init(&blk, &config, &trace, &cache), IPT_OK);
    CHECK_EQ(ipt_insn_init(&insn, &config, &trace, &cache), IPT_OK);
}

/* ---- errata by processor ---- */

#define BDM64 IPT_ERRATUM_BDM64
#define SKD007 IPT_ERRATUM_SKD007
#define SKD010 IPT_ERRATUM_SKD010
#define SKD022 IPT_ERRATUM_SKD022
#define SKL014 IPT_ERRATUM_SKL014
#define SKL168 IPT_ERRATUM_SKL168
#define SKZ84 IPT_ERRATUM_SKZ84
#define APL11 IPT_ERRATUM_APL11
#define APL12 IPT_ERRATUM_APL12
#define NLIP IPT_ERRATUM_NLIP

static const struct {
    uint32_t errata;
    uint8_t family;
    uint8_t models[16];
} cpus[] = {
    {BDM64, 6, {0x3d, 0x47, 0x4f, 0x56}},
    {SKD007 | SKD022 | SKD010 | SKL014 | SKL168, 6,
     {0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6}},
    {SKL014 | SKD022 | SKZ84, 6, {0x55, 0x6a, 0x6c}},
    {SKD022 | SKZ84, 6, {0x8f, 0xcf, 0xad, 0xae}},
    {SKD022 | SKZ84, 19, {0x01}},
    {SKL014 | SKD022, 6, {0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7, 0xa8}},
    {SKD022 | APL11, 6, {0x97, 0x9a, 0xba, 0xb7, 0xbf, 0xc5, 0xc6, 0xb5, 0xaa,
                         0xac, 0xbd, 0xcc, 0xd5}},
    {SKD022 | APL11, 18, {0x01, 0x03}},
    {APL12 | APL11 | NLIP, 6, {0x5c}},
    {APL12 | APL11, 6, {0x5f}},
    {APL11, 6, {0x7a, 0x86, 0x96, 0x9c, 0xb6, 0xaf, 0xdd}}};

TEST(errata)
{
    uint32_t errata;
    unsigned known = 0;
    unsigned listed = 0;
    for (unsigned i = 0; i < LENGTH(cpus); i++) {
        for (unsigned k = 0; cpus[i].models[k]; k++) {
            errata = 0xffff;
            CHECK_EQ(ipt_cpu_errata(&errata, cpus[i].family, cpus[i].models[k]),
                     1);
            CHECK_EQ(errata, cpus[i].errata);
            listed++;
        }
    }
    for (unsigned family = 0; family < 0x120; family++) {
        for (unsigned model = 0; model < 256; model++) {
            int status;
            errata = 0xffff;
            status = ipt_cpu_errata(&errata, (uint16_t) family,
                                    (uint8_t) model);
            known += status == 1;
            if (status == 0 && errata != 0) CHECK_EQ(errata, 0);
        }
    }
    CHECK_EQ(known, listed);
}

/* ---- offsets that saturate ---- */

#define HALF ((uint64_t) 1 << 63)

/* Where a gap that begins at `offset` ends, as ipt.h says. */
static uint64_t after(uint64_t offset, size_t gap)
{
    if (offset >= HALF) return offset + 1;
    return gap > HALF - offset ? HALF : offset + gap;
}

/* Three copies of a trace with gaps between them: each is found and decoded
 * where it is, forward, backward, by its offset, and with what is before it
 * dropped. */
static void check_gaps(size_t gap, size_t gap2, uint64_t *fuel)
{
    const ipt_segment pieces[] = {{b.bytes, b.size}, {NULL, gap},
                                  {b.bytes, b.size}, {NULL, gap2},
                                  {b.bytes, b.size}};
    const uint64_t second = after(b.size, gap);
    const uint64_t begins[] = {0, second, after(second + b.size, gap2)};
    ipt_trace trace = {pieces, 5, 0, 0};
    ipt_config config = {0};
    ipt_pkt_decoder d = {0};
    ipt_packet p;
    unsigned n = 0;
    int status;
    config.fuel = fuel;
#define FUELLED(call) \
    do status = (call); while (status == IPT_BUDGET && (*fuel = 1) != 0)
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    FUELLED(ipt_pkt_sync_forward(&d));
    CHECK_EQ(status, IPT_OK);
    for (unsigned copy = 0; copy < 3; copy++) {
        for (unsigned i = 0; i < b.count; i++, n++) {
            FUELLED(ipt_pkt_next(&d, &p));
            if (!CHECK_EQ(status, IPT_OK)) return;
            CHECK_EQ(p.offset, begins[copy] + b.offset[i]);
        }
        FUELLED(ipt_pkt_next(&d, &p));
        CHECK_EQ(status, copy < 2 ? (int) IPT_OK : (int) IPT_END);
        if (copy < 2) CHECK_EQ(p.type, IPT_PKT_GAP);
        if (copy < 2)
            CHECK_EQ(p.u.gap.lost, begins[copy + 1] - begins[copy] - b.size);
        CHECK_EQ(d.at.gaps, copy < 2 ? copy + 1 : 2);
        CHECK_EQ(d.at.offset, begins[copy < 2 ? copy + 1 : 2]
                                  + (copy < 2 ? 0 : b.size));
    }
    for (unsigned copy = 3; copy-- > 0;) {
        FUELLED(ipt_pkt_sync_backward(&d));
        if (!CHECK_EQ(status, IPT_OK)) return;
        CHECK_EQ(d.at.offset, begins[copy]);
    }
    for (unsigned copy = 0; copy < 3; copy++) {
        FUELLED(ipt_pkt_sync_set(&d, begins[copy]));
        CHECK_EQ(status, IPT_OK);
        FUELLED(ipt_pkt_next(&d, &p));
        CHECK(status == IPT_OK);
        CHECK(p.type == IPT_PKT_PSB);
        trace.seg = pieces + 2 * copy; /* drop what is before */
        trace.count = 5 - 2 * copy;
        trace.offset = begins[copy];
    }
    FUELLED(ipt_pkt_next(&d, &p));
    CHECK_EQ(p.offset, begins[2] + b.offset[1]);
#undef FUELLED
}

TEST(R2_gaps_of_any_size)
{
    static const ipt_packet packets[] = {PSB, EXEC64, FUP(0x1000), PSBEND,
                                         STOP, PKT(NONE)};
    static const size_t sizes[]
        = {1, 100, (size_t) 1 << 31, UINT32_MAX, SIZE_MAX / 2,
           SIZE_MAX / 2 + 1, SIZE_MAX - 200, SIZE_MAX - 31, SIZE_MAX - 30,
           SIZE_MAX - 1, SIZE_MAX};
    uint64_t fuel = 0;
    build_all(&b, packets, LENGTH(packets));
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t k = 0; k < LENGTH(sizes); k++) {
            check_gaps(sizes[i], sizes[k], NULL);
            check_gaps(sizes[i], sizes[k], &fuel);
        }
}

/* ---- pieces that are cut again ---- */

/* The bytes from trace->offset up to `end` in pieces of other sizes, at other
 * places of a buffer that is used again and again. */
static void cut_anew(ipt_trace *trace, ipt_segment *pieces, uint64_t end)
{
    static uint8_t places[64][32];
    uint64_t from = trace->offset;
    trace->count = 0;
    while (from < end && trace->count < 63) {
        ipt_segment *piece = &pieces[trace->count];
        uint8_t *place = places[trace->count];
        size_t n = 1 + dice(dice(2) ? 4 : 32);
        if (n > end - from) n = (size_t) (end - from);
        memcpy(place, b.bytes + from, n);
        memset(place + n, 0xdb, 32 - n);
        piece->data = place;
        piece->size = n;
        trace->count++;
        from += n;
    }
}

/* At IPT_MORE the trace is handed over once more, in other pieces: from
 * at.release on, or from where it began. */
static void check_recut(int keep)
{
    ipt_segment pieces[64];
    ipt_trace trace = {pieces, 0, 1, 0};
    ipt_config config = {0};
    ipt_pkt_decoder d = {0};
    ipt_packet p;
    uint64_t end = 0;
    unsigned i = 0;
    int status = ipt_pkt_init(&d, &config, &trace);
    for (int synced = 0; i < b.count || !synced;) {
        status = synced ? ipt_pkt_next(&d, &p) : ipt_pkt_sync_forward(&d);
        if (status == IPT_MORE) {
            if (!keep || d.at.release > trace.offset + 100)
                trace.offset = d.at.release;
            CHECK(end - d.at.release <= 31);
            end += 1 + dice(dice(2) ? 3 : 20);
            if (end > b.size) end = b.size;
            cut_anew(&trace, pieces, end);
            if (end == b.size) trace.open = 0;
            continue;
        }
        if (!CHECK_EQ(status, IPT_OK)) return;
        if (synced && !CHECK_EQ(p.offset, b.offset[i])) return;
        i += (unsigned) synced;
        synced = 1;
    }
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_END);
}

TEST(N5_cut_anew)
{
    static const ipt_packet packets[]
        = {PSB, EXEC64, FUP(0x123456789abc), PSBEND, TNT(3, 5), TIP(0x2000),
           TNT64(40, 9), PTW(1, 1, 0x1122334455667788), FUP(0x2002),
           TIP(0x3000), PSB, EXEC64, FUP(0x3000), PSBEND, TIP(0x4000),
           PKT(NONE)};
    build_all(&b, packets, LENGTH(packets));
    for (seed = 0; seed < 4000 && test_.bad == 0; seed++) {
        const uint64_t first = seed;
        check_recut(first % 2);
        seed = first;
    }
}

/* ---- many pieces ---- */

#define MANY 32768

static int unknown_byte(ipt_packet *packet, const uint8_t *bytes, size_t size,
                        void *context)
{
    (void) packet;
    (void) bytes;
    (void) size;
    (void) context;
    return 1;
}

/* The time that `units` units of work take, one a call, at best. */
static double time_of_units(uint32_t count, int what)
{
    static uint8_t bytes[MANY + 64];
    static ipt_segment pieces[MANY];
    double best = 1e9;
    uint64_t fuel;
    ipt_config config = {0};
    ipt_packet p;
    config.fuel = &fuel;
    config.unknown = unknown_byte;
    memset(bytes, what == 0 ? 0x05 : 0x04, sizeof bytes);
    memcpy(bytes, b.bytes, b.size); /* a PSB+ */
    for (uint32_t i = 0; i < count; i++) {
        pieces[i].data = bytes + i;
        pieces[i].size = 1;
    }
    pieces[count - 1].size = 60;
    for (unsigned turn = 0; turn < 25; turn++) {
        const ipt_trace trace = {pieces, count, what == 2, 0};
        ipt_pkt_decoder d = {0};
        int status = ipt_pkt_init(&d, &config, &trace);
        fuel = UINT64_MAX;
        if (what != 1) status = ipt_pkt_sync_forward(&d);
        for (unsigned n = 0; n < 40 && status >= 0; n++) /* far into it */
            status = what == 0 ? ipt_pkt_next(&d, &p) : status;
        if (what == 2) status = ipt_pkt_sync_set(&d, count + 20);
        const clock_t from = clock();
        for (unsigned n = 0; n < 200; n++) {
            fuel = 1;
            if (what == 1) status = ipt_pkt_sync_backward(&d);
            else status = ipt_pkt_next(&d, &p);
        }
        const double took = (double) (clock() - from);
        CHECK(status >= IPT_BUDGET);
        if (took < best) best = took;
    }
    return best;
}

/* A unit of work is not the larger the more pieces there are: 512 times as many
 * here. The clock counts 1 us. */
TEST(R5_pieces)
{
    static const ipt_packet packets[] = {PSB, PSBEND, PKT(NONE)};
    build_all(&b, packets, LENGTH(packets));
    for (int what = 0; what < 3; what++) {
        const double few = time_of_units(64, what);
        const double many = time_of_units(MANY, what);
        if (!CHECK(many < 60 * (few + 5)))
            printf("    %d: %g and %g us\n", what, few, many);
    }
}

int main(void)
{
    RUN(loads);
    RUN(bits);
    RUN(fuel);
    RUN(cut_in_two);
    RUN(cut_with_empty_pieces);
    RUN(offsets);
    RUN(ways);
    RUN(no_pieces);
    RUN(nothing_then_something);
    RUN(truncated);
    RUN(drop);
    RUN(drop_empty);
    RUN(drop_all);
    RUN(gone);
    RUN(read_only);
    RUN(fuel_of_packets);
    RUN(uninitialised);
    RUN(wrong_version);
    RUN(null_arguments);
    RUN(not_synchronised);
    RUN(config);
    RUN(config_read);
    RUN(config_cache);
    RUN(errata);
    RUN(R2_gaps_of_any_size);
    RUN(N5_cut_anew);
    RUN(R5_pieces);
    return test_report();
}
