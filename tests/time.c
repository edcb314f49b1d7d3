/* time.c: timing packets to time. Expected values are worked out by hand.
 *
 * Unless a test says otherwise, the crystal clock ticks once for 4 ticks of the
 * TSC, and MTC gives its bits 11:4: an MTC period is 16 * 4 = 0x40 ticks. */
#include "dice.h"
#include "linked.h"
#include "test.h"

static ipt_config config;
static ipt_clock t;

static void begin(uint8_t mtc_freq, uint32_t eax, uint32_t ebx)
{
    memset(&config, 0, sizeof config);
    config.mtc_freq = mtc_freq;
    config.cpuid_15_eax = eax;
    config.cpuid_15_ebx = ebx;
    CHECK_EQ(ipt_time_init(&t, &config), IPT_OK);
}

static ipt_packet packet(uint8_t type)
{
    ipt_packet p;
    memset(&p, 0, sizeof p);
    p.type = type;
    return p;
}

static uint64_t fed; /* bytes */

/* Each packet is right after the one before. */
static int feed(ipt_packet p)
{
    p.offset = fed;
    p.size = 2;
    fed += p.size;
    return ipt_time_packet(&t, &p);
}

static int tsc(uint64_t value)
{
    ipt_packet p = packet(IPT_PKT_TSC);
    p.u.tsc.value = value;
    return feed(p);
}

static int tma(uint16_t ctc, uint16_t fc)
{
    ipt_packet p = packet(IPT_PKT_TMA);
    p.u.tma.ctc = ctc;
    p.u.tma.fc = fc;
    return feed(p);
}

static int mtc(uint8_t ctc)
{
    ipt_packet p = packet(IPT_PKT_MTC);
    p.u.mtc.ctc = ctc;
    return feed(p);
}

static int cyc(uint64_t value)
{
    ipt_packet p = packet(IPT_PKT_CYC);
    p.u.cyc.value = value;
    return feed(p);
}

static int cbr(uint8_t ratio)
{
    ipt_packet p = packet(IPT_PKT_CBR);
    p.u.cbr.ratio = ratio;
    return feed(p);
}

/* The packet was used, and the time then is `want`. */
#define USED(call, want)              \
    do {                              \
        CHECK_EQ(call, IPT_OK);       \
        CHECK_EQ(t.tsc, want);        \
    } while (0)

/* A packet was not used, for this reason; time stood still. */
#define REFUSED(call, status)         \
    do {                              \
        uint64_t before_ = t.tsc;     \
        CHECK_EQ(call, status);       \
        CHECK_EQ(t.tsc, before_);     \
    } while (0)

/* ---- arguments ---- */

TEST(arguments)
{
    ipt_packet p;
    memset(&p, 0, sizeof p);
    begin(0, 0, 0);
    CHECK_EQ(ipt_time_init(NULL, &config), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_init(&t, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_packet(NULL, &p), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_packet(&t, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_calibrate(NULL, &p), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_calibrate(&t, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_update(NULL, &p), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_update(&t, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_time_packet(&t, &p), IPT_OK);
    memset(&t, 0, sizeof t);
    CHECK_EQ(ipt_time_packet(&t, &p), IPT_ERR_STATE);
    CHECK_EQ(ipt_time_calibrate(&t, &p), IPT_ERR_STATE);
    CHECK_EQ(ipt_time_update(&t, &p), IPT_ERR_STATE);
}

TEST(config_range)
{
    begin(15, 0, 0);
    config.mtc_freq = 16;
    CHECK_EQ(ipt_time_init(&t, &config), IPT_ERR_CONFIG);
    config.mtc_freq = 0;
    config.flags = 0x80000000u;
    CHECK_EQ(ipt_time_init(&t, &config), IPT_ERR_CONFIG);
    config.flags = IPT_CONFIG_KEEP_TCAL | IPT_CONFIG_MONOTONIC;
    CHECK_EQ(ipt_time_init(&t, &config), IPT_OK);
    config.errata = 0x80000000u;
    CHECK_EQ(ipt_time_init(&t, &config), IPT_ERR_CONFIG);
    CHECK(sizeof t <= 136);
}

TEST(nothing_yet)
{
    begin(4, 1, 4);
    CHECK_EQ(t.tsc, 0);
    CHECK_EQ(t.has_tsc, 0);
    CHECK_EQ(t.fcr >> 8, 0);
    CHECK_EQ(t.cbr, 0);
    CHECK_EQ(t.lost_mtc, 0);
    CHECK_EQ(t.lost_cyc, 0);
}

/* ---- TSC ---- */

TEST(tsc_only)
{
    begin(0, 0, 0);
    USED(tsc(0xa0000), 0xa0000);
    CHECK_EQ(t.has_tsc, 1);
    USED(tsc(0xa0010), 0xa0010);
    USED(tsc(0x90000), 0x90000); // and back
    USED(tsc(0xffffffffffffff), 0xffffffffffffff);
    USED(tsc(0), 0);
}

TEST(tsc_forgets_losses)
{
    begin(4, 0, 0);
    USED(tsc(0x1000), 0x1000);
    REFUSED(cyc(1), IPT_NO_TIME);
    USED(tma(0, 0), 0x1000);
    REFUSED(mtc(1), IPT_ERR_CONFIG);
    CHECK_EQ(t.lost_cyc, 1);
    CHECK_EQ(t.lost_mtc, 1);
    USED(tsc(0x2000), 0x2000);
    CHECK_EQ(t.lost_cyc, 0);
    CHECK_EQ(t.lost_mtc, 0);
}

/* ---- TMA and MTC ---- */

/* The TMA says: 8 ticks before the TSC was read, the crystal clock became
 * 0x102. At MTC 2 with MTCFreq 8 it is 0x200: a0000 - 8 + fe * 4. */
TEST(tsc_tma_mtc)
{
    begin(8, 1, 4);
    USED(tsc(0xa0000), 0xa0000);
    USED(tma(0x102, 8), 0xa0000);
    USED(mtc(2), 0xa03f0);
    USED(mtc(3), 0xa07f0);
    USED(mtc(5), 0xa0ff0); // one was lost
    CHECK_EQ(t.lost_mtc, 0);
}

TEST(tma_needs_tsc)
{
    begin(4, 1, 4);
    REFUSED(tma(1, 1), IPT_ERR_CONTEXT);
    USED(tsc(0x1000), 0x1000);
    USED(tma(0, 0), 0x1000);
    REFUSED(tma(0, 0), IPT_ERR_CONTEXT); // only one
    USED(mtc(1), 0x1040);
    REFUSED(tma(0, 0), IPT_ERR_CONTEXT);
    USED(tsc(0x2000), 0x2000);
    USED(tma(0, 0), 0x2000);
}

TEST(mtc_between_tsc_and_tma)
{
    begin(4, 1, 4);
    USED(tsc(0x1000), 0x1000);
    USED(mtc(7), 0x1000);
    USED(mtc(9), 0x1000);
    USED(tma(0x90, 0), 0x1000);
    USED(mtc(0xa), 0x1040);
}

/* Only the low bits of the TMA are those that MTC gives: ff08 is 08. */
TEST(tma_has_more_bits_than_mtc)
{
    begin(0, 1, 1);
    USED(tsc(0xa0000), 0xa0000);
    USED(tma(0xff08, 1), 0xa0000);
    USED(mtc(0x09), 0xa0000);
    USED(mtc(0x0a), 0xa0001);
}

TEST(mtc_wraps)
{
    begin(0, 3, 9);
    USED(tsc(0xa0000), 0xa0000);
    USED(tma(0x1fff, 1), 0xa0000);
    USED(mtc(0), 0xa0002);
    USED(mtc(1), 0xa0005);
    USED(mtc(0xff), 0xa02ff); // + fe * 3
    USED(mtc(0xfe), 0xa05fc); // + ff * 3
    USED(mtc(0xfe), 0xa05fc); // the same: nothing, or 100 of them
}

/* MTCFreq 10: MTC gives bits 17:10, TMA 15:0. The missing ones of the TMA are
 * those of the first MTC, ... */
TEST(mtc_above_tma)
{
    begin(10, 1, 2);
    USED(tsc(0x1000000), 0x1000000);
    USED(tma(0x0102, 0), 0x1000000);
    USED(mtc(0xc1), 0x10005fc); // 30400 - 30102 = 2fe
    USED(mtc(0xc2), 0x1000dfc); // + 400
}

/* ... unless the low 16 bits have wrapped since: fc00 is before 10000, so */
TEST(mtc_above_tma_carry)
{
    begin(10, 1, 2);
    USED(tsc(0x1000000), 0x1000000);
    USED(tma(0xfc10, 0x10), 0x1000000);
    USED(mtc(0x40), 0x10007d0); // 10000 - fc10 = 3f0; 2 * 3f0 - 10
    begin(10, 1, 2);
    USED(tsc(0x1000000), 0x1000000);
    USED(tma(0xfc10, 0), 0x1000000);
    USED(mtc(0x00), 0x10007e0); // 40000 - 3fc10
}

/* Without a TSC the first MTC only says where to count from. */
TEST(mtc_only)
{
    begin(4, 1, 4);
    USED(mtc(0x77), 0);
    USED(mtc(0x78), 0x40);
    USED(mtc(0x7a), 0xc0);
    CHECK_EQ(t.has_tsc, 0);
}

TEST(ratio_is_rounded_down)
{
    begin(0, 2, 3);
    USED(tsc(100), 100);
    USED(tma(0, 0), 100);
    USED(mtc(1), 101); // 1.5
    USED(mtc(2), 103);
    USED(mtc(5), 107); // 7.5
}

/* ---- CYC ---- */

/* MTCs before a TSC say nothing of the cycles after it, nor does a TSC after a
 * sleep. */
TEST(cyc_after_tsc)
{
    begin(4, 1, 4);
    config.nom_freq = 4;
    USED(cbr(2), 0);
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x20, 0), 0x1000);
    USED(tsc(0x2000), 0x2000);
    USED(cyc(8), 0x2010);
}

TEST(cyc_without_calibration)
{
    begin(4, 1, 4);
    USED(tsc(0x1000), 0x1000);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    CHECK_EQ(t.lost_cyc, 2);
    USED(tma(0, 0), 0x1000);
    USED(mtc(1), 0x1040); // MTC makes up for them
    CHECK_EQ(t.lost_cyc, 0);
}

/* Bus ratio 4 at the TSC's rate, 2 at the core's: two ticks a cycle. */
TEST(cyc_by_cbr)
{
    begin(0, 0, 0);
    config.nom_freq = 4;
    USED(cbr(2), 0);
    CHECK_EQ(t.cbr, 2);
    CHECK_EQ(t.fcr >> 8, 2 << 8);
    USED(cyc(3), 6);
    USED(cyc(1), 8);
    USED(cbr(1), 8);
    CHECK_EQ(t.fcr >> 8, 4 << 8);
    USED(cyc(2), 16);
    USED(cbr(3), 16);
    CHECK_EQ(t.fcr, 0x15555); // 4 / 3
    USED(cyc(3), 19); // 3.99998
    USED(cyc(256), 19 + 0x156);
}

TEST(cbr_zero)
{
    begin(4, 1, 4);
    config.nom_freq = 4;
    USED(cbr(2), 0);
    REFUSED(cbr(0), IPT_ERR_PACKET);
    CHECK_EQ(t.cbr, 2);
    CHECK_EQ(t.fcr >> 8, 2 << 8);
    config.nom_freq = 0;
    REFUSED(cbr(0), IPT_ERR_PACKET);
    CHECK_EQ(t.cbr, 2);
    CHECK_EQ(t.fcr >> 8, 2 << 8);
}

/* Without the nominal ratio CBR still says that the rate has changed, if it
 * stands outside of a PSB+. */
TEST(cbr_without_nom_freq)
{
    begin(4, 1, 4);
    USED(mtc(1), 0);
    REFUSED(cyc(0x80), IPT_NO_TIME);
    USED(mtc(2), 0x40);
    CHECK_EQ(t.fcr >> 8, 0x80);
    feed(packet(IPT_PKT_PSB));
    USED(cbr(9), 0x40);
    feed(packet(IPT_PKT_PSBEND));
    CHECK_EQ(t.fcr >> 8, 0x80);
    CHECK_EQ(t.cbr, 9);
    USED(cbr(10), 0x40);
    CHECK_EQ(t.fcr >> 8, 0);
    CHECK_EQ(t.cbr, 10);
    REFUSED(cyc(0x80), IPT_NO_TIME);
    USED(mtc(3), 0x80); // begins again: no calibration from one MTC
    CHECK_EQ(t.fcr >> 8, 0);
    REFUSED(cyc(0x20), IPT_NO_TIME);
    USED(mtc(4), 0xc0);
    CHECK_EQ(t.fcr >> 8, 0x200);
}

/* What a period has beside whole ticks adds up. */
TEST(S12_mtc_fractions)
{
    begin(0, 2, 125); // 62.5 ticks
    USED(tsc(1000000), 1000000);
    USED(tma(0, 0), 1000000);
    for (unsigned i = 1; i <= 200; i++)
        USED(mtc((uint8_t) i), 1000000 + i * 125 / 2);
    CHECK_EQ(t.tsc, 0xf7314);
    USED(tsc(2000000), 2000000); // and begins again
    USED(tma(0, 0), 2000000);
    USED(mtc(1), 2000062);
    USED(mtc(4), 2000250); // three periods in one step
    begin(3, 7, 300); // 8 * 300 / 7, and no TSC
    CHECK_EQ(mtc(0), IPT_OK);
    for (unsigned i = 1; i <= 1000; i++)
        USED(mtc((uint8_t) i), i * 2400 / 7);
    begin(0, 0xffffffff, 0xfffffffe); // the largest numbers
    USED(tsc(5), 5);
    USED(tma(0, 0), 5);
    for (unsigned i = 1; i <= 300; i++)
        USED(mtc((uint8_t) i), 5 + i - 1);
}

/* CYCs between do not matter: an MTC knows better. */
TEST(S12_mtc_fractions_with_cyc)
{
    begin(0, 2, 125);
    USED(tsc(1000), 1000);
    USED(tma(0, 0), 1000);
    CHECK_EQ(mtc(1), IPT_OK);
    CHECK_EQ(cyc(100), IPT_NO_TIME);
    USED(mtc(2), 1125);
    for (unsigned i = 3; i <= 100; i++) {
        CHECK_EQ(cyc(100), IPT_OK);
        USED(mtc((uint8_t) i), 1000 + i * 125 / 2);
    }
}

/* An MTC period of 0x40 ticks and 0x100 cycles: a quarter. */
TEST(cyc_by_mtc)
{
    begin(4, 1, 4);
    USED(mtc(2), 0);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(mtc(3), 0x40);
    CHECK_EQ(t.fcr >> 8, 0x40);
    USED(cyc(0x100), 0x80);
    USED(mtc(4), 0x80);
    USED(cyc(0x20), 0x88);
    USED(cyc(0x20), 0x90);
    USED(mtc(6), 0x100); // 0x80 ticks, 0x40 cycles
    CHECK_EQ(t.fcr >> 8, 0x200);
    USED(cyc(2), 0x104);
}

/* MTCs without a CYC between them: cycles are counted over all periods. */
TEST(cyc_by_mtc_over_periods)
{
    begin(4, 1, 4);
    USED(mtc(2), 0);
    REFUSED(cyc(0), IPT_NO_TIME);
    USED(mtc(3), 0x40);
    USED(mtc(4), 0x80);
    CHECK_EQ(t.fcr >> 8, 0);
    REFUSED(cyc(0x60), IPT_NO_TIME);
    USED(mtc(5), 0xc0); // c0 ticks, 60 cycles
    CHECK_EQ(t.fcr >> 8, 0x200);
}

/* A TSC in a PSB+ against the TSC before it, wherever that was. */
TEST(cyc_by_tsc)
{
    begin(0, 0, 0);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0xa0000), 0xa0000);
    feed(packet(IPT_PKT_PSBEND));
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(tsc(0xa0200), 0xa0200); // not in a PSB+
    REFUSED(cyc(0x100), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0xa0300), 0xa0300); // 100 ticks, 100 cycles
    feed(packet(IPT_PKT_PSBEND));
    CHECK_EQ(t.fcr >> 8, 0x100);
    USED(cyc(0x100), 0xa0400);
    USED(tsc(0xa0600), 0xa0600);
    USED(cyc(0x100), 0xa0700);
    CHECK_EQ(t.fcr >> 8, 0x100);
}

TEST(cyc_by_tsc_not_with_mtc)
{
    begin(4, 1, 4);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1000), 0x1000);
    feed(packet(IPT_PKT_PSBEND));
    USED(mtc(1), 0x1000);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1100), 0x1100);
    CHECK_EQ(t.fcr >> 8, 0);
}

TEST(cyc_by_tsc_wrap)
{
    begin(0, 0, 0);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0xffffffffffff80), 0xffffffffffff80);
    feed(packet(IPT_PKT_PSBEND));
    REFUSED(cyc(0x80), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x80), 0x80); // 100 ticks later
    CHECK_EQ(t.fcr >> 8, 0x200);
}

/* A PSBEND that is missing: TNT cannot stand in a PSB+. */
TEST(psb_without_end)
{
    begin(0, 0, 0);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1000), 0x1000);
    feed(packet(IPT_PKT_FUP));
    feed(packet(IPT_PKT_PAD));
    feed(packet(IPT_PKT_TNT_8));
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(tsc(0x1100), 0x1100);
    CHECK_EQ(t.fcr >> 8, 0);
    /* ... nor can what OVF ends go on as one */
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_OVF));
    USED(tsc(0x1200), 0x1200);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(tsc(0x1300), 0x1300);
    CHECK_EQ(t.fcr >> 8, 0);
}

/* Packets of a PSB+ between do not end it. */
TEST(psb_goes_on)
{
    static const uint8_t type[] = {
        IPT_PKT_PAD, IPT_PKT_FUP, IPT_PKT_MODE_EXEC, IPT_PKT_MODE_TSX,
        IPT_PKT_PIP, IPT_PKT_VMCS, IPT_PKT_MNT
    };
    for (size_t i = 0; i < sizeof type; i++) {
        begin(0, 0, 0);
        USED(tsc(0x1000), 0x1000);
        REFUSED(cyc(0x100), IPT_NO_TIME);
        feed(packet(IPT_PKT_PSB));
        feed(packet(type[i]));
        USED(tsc(0x1100), 0x1100);
        CHECK_EQ(t.fcr >> 8, 0x100);
    }
}

/* The first CYC after two MTCs counts from before the first of them. */
TEST(cyc_over_mtcs)
{
    begin(4, 1, 4);
    config.nom_freq = 1;
    USED(cbr(2), 0); // half a tick a cycle
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x10, 0), 0x1000);
    USED(cyc(0x20), 0x1010);
    USED(mtc(2), 0x1040);
    USED(mtc(3), 0x1080);
    /* 0x80 of its cycles belong to MTC 2 to 3 */
    USED(cyc(0x90), 0x1088);
    USED(cyc(0x60), 0x10b8);
    USED(mtc(4), 0x10c0);
    CHECK_EQ(t.fcr >> 8, 0x88); // 80 ticks, f0 cycles
}

/* Fewer cycles than that, but not by half: none is left, time stays at the
 * MTC. */
TEST(cyc_over_mtcs_too_few)
{
    begin(4, 1, 4);
    config.nom_freq = 1;
    USED(cbr(2), 0);
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x10, 0), 0x1000);
    USED(mtc(2), 0x1040);
    USED(mtc(3), 0x1080);
    USED(cyc(0x80), 0x1080);
    USED(cyc(0x110), 0x1108); // from the CYC before
    feed(packet(IPT_PKT_TIP));
    USED(mtc(6), 0x1140);
    USED(mtc(7), 0x1180);
    USED(cyc(0x10), 0x1188); // it slept
}

/* A CYC counts from the CYC before it, also if flow and an MTC or TSC stand
 * between them: with a threshold there is none at that. */
TEST(cyc_counts_from_cyc)
{
    begin(4, 1, 4);
    config.nom_freq = 1;
    USED(cbr(1), 0);
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x10, 0), 0x1000);
    USED(cyc(0x30), 0x1030);
    feed(packet(IPT_PKT_TIP));
    USED(mtc(2), 0x1040);
    USED(cyc(0x38), 0x1068);
    feed(packet(IPT_PKT_TIP));
    USED(tsc(0x1078), 0x1078);
    USED(tma(0x2e, 0), 0x1078);
    USED(cyc(0x20), 0x1088);
    USED(mtc(3), 0x1080); // right after a CYC: it is of that time
    USED(cyc(0x10), 0x1090);
    CHECK_EQ(t.fcr >> 8, 0x100);
}

/* A CYC, a PSB and a TSC right after each other are of one time. */
TEST(cyc_before_psb)
{
    for (int between = 0; between < 2; between++) {
        begin(4, 1, 4);
        config.nom_freq = 1;
        USED(cbr(1), 0);
        USED(tsc(0x1000), 0x1000);
        USED(cyc(0x30), 0x1030);
        if (between) feed(packet(IPT_PKT_TIP));
        feed(packet(IPT_PKT_PSB));
        USED(tsc(0x1040), 0x1040);
        USED(cyc(0x20), between ? 0x1050 : 0x1060);
    }
}

/* After a CBR outside of a PSB+ a count begins: the processor may have slept,
 * and its cycles are of another length. */
TEST(cyc_after_sleep)
{
    begin(4, 1, 4);
    config.nom_freq = 1;
    USED(cbr(1), 0);
    USED(tsc(0x1000), 0x1000);
    USED(cyc(0x30), 0x1030);
    feed(packet(IPT_PKT_TIP));
    USED(tsc(0x9000), 0x9000);
    USED(cbr(2), 0x9000);
    USED(cyc(0x20), 0x9010);
}

/* A cycle that seems to take more than 5/4 of what CBR says was measured over a
 * halt, whether MTCs say so or the TSCs of two PSB+. Less may be. */
TEST(halt)
{
    static const struct {
        uint64_t cycles, fcr; // for 0x100 ticks
    } rows[] = {{0x40, 0x200}, {0x66, 0x200}, {0x67, 0x27c}, {0x100, 0x100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int lost = 0; lost < 3; lost++) { // no CBR yet, or an OVF after it
            begin(6, 1, 4);
            config.nom_freq = 4;
            if (lost != 1) CHECK_EQ(cbr(2), IPT_OK);
            if (lost == 2) feed(packet(IPT_PKT_OVF));
            (void) cyc(1);
            CHECK_EQ(mtc(1), IPT_OK);
            (void) cyc(rows[i].cycles);
            CHECK_EQ(mtc(2), IPT_OK);
            CHECK_EQ(t.fcr >> 8, lost ? 0x10000 / rows[i].cycles : rows[i].fcr);
        }
        begin(0, 0, 0);
        config.nom_freq = 4;
        CHECK_EQ(cbr(2), IPT_OK);
        feed(packet(IPT_PKT_PSB));
        USED(tsc(0x1000), 0x1000);
        feed(packet(IPT_PKT_PSBEND));
        CHECK_EQ(cyc(rows[i].cycles), IPT_OK);
        feed(packet(IPT_PKT_PSB));
        USED(tsc(0x1100), 0x1100);
        CHECK_EQ(t.fcr >> 8, rows[i].fcr);
    }
}

/* An interval goes on over MTCs that no CYC stands right before, but not for
 * ever: their bits repeat. */
TEST(calibration_goes_on)
{
    for (int i = 0; i < 2; i++) {
        begin(4, 1, 4);
        (void) cyc(1);
        CHECK_EQ(mtc(0), IPT_OK);
        (void) cyc(0x80);
        feed(packet(IPT_PKT_TIP));
        for (unsigned n = 1; n <= (i ? 0x80000u : 0x200u); n++)
            CHECK_EQ(mtc((uint8_t) n), IPT_OK);
        (void) cyc(0x8000);
        CHECK_EQ(mtc(1), IPT_OK);
        CHECK_EQ(t.fcr >> 8, i ? 0 : (0x201 * 0x4000u) / 0x8080u);
    }
}

/* ---- cpuid values missing ---- */

TEST(no_cpuid)
{
    for (int i = 0; i < 2; i++) {
        begin(4, i ? 1 : 0, i ? 0 : 4);
        config.nom_freq = 2;
        USED(cbr(1), 0);
        USED(tsc(0x1000), 0x1000);
        USED(cyc(1), 0x1002);
        USED(tma(0x10, 4), 0x1002);
        USED(cyc(1), 0x1004);
        REFUSED(mtc(2), IPT_ERR_CONFIG);
        USED(cyc(1), 0x1006); // time does not fall back to the TSC's
        REFUSED(mtc(3), IPT_ERR_CONFIG);
        REFUSED(mtc(4), IPT_ERR_CONFIG);
        USED(cyc(8), 0x1016);
        CHECK_EQ(t.lost_mtc, 3);
        CHECK_EQ(t.lost_cyc, 0);
        USED(tsc(0x2000), 0x2000);
        CHECK_EQ(t.lost_mtc, 0);
        REFUSED(mtc(5), IPT_OK); // before its TMA: not counted
        CHECK_EQ(t.lost_mtc, 0);
        USED(cyc(1), 0x2002);
    }
}

/* ---- overflow ---- */

TEST(overflow)
{
    begin(4, 1, 4);
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x10, 0x40), 0x1000);
    USED(mtc(2), 0x1000);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(mtc(3), 0x1040);
    USED(cyc(0x80), 0x1060);
    USED(feed(packet(IPT_PKT_OVF)), 0x1060);
    CHECK_EQ(t.fcr >> 8, 0);
    CHECK_EQ(t.has_tsc, 1);
    REFUSED(cyc(0x80), IPT_NO_TIME);
    USED(mtc(9), 0x11c0);
    CHECK_EQ(t.fcr >> 8, 0); // the first of two
    REFUSED(cyc(0x80), IPT_NO_TIME);
    USED(mtc(10), 0x1200);
    CHECK_EQ(t.fcr >> 8, 0x80);
}

TEST(overflow_keeps)
{
    begin(4, 1, 4);
    config.flags = IPT_CONFIG_KEEP_TCAL;
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x10, 0x40), 0x1000);
    USED(mtc(2), 0x1000);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(mtc(3), 0x1040);
    USED(cyc(0x80), 0x1060);
    USED(feed(packet(IPT_PKT_OVF)), 0x1060);
    CHECK_EQ(t.fcr >> 8, 0x40);
    USED(cyc(0x80), 0x1080);
    USED(mtc(9), 0x11c0); // only begins an interval
    CHECK_EQ(t.fcr >> 8, 0x40);
    USED(cyc(0x80), 0x11e0);
    USED(mtc(10), 0x1200);
    CHECK_EQ(t.fcr >> 8, 0x80);
    /* nor are the cycles since the last TSC known */
    begin(0, 0, 0);
    config.flags = IPT_CONFIG_KEEP_TCAL;
    USED(tsc(0x1000), 0x1000);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    feed(packet(IPT_PKT_OVF));
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1100), 0x1100);
    CHECK_EQ(t.fcr >> 8, 0);
}

/* Cycles of several CYCs, over a TSC that wraps, and too many of them. */
TEST(V4_calibration_by_tsc)
{
    begin(0, 0, 0);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0xffffffffffff00), 0xffffffffffff00);
    feed(packet(IPT_PKT_PSBEND));
    REFUSED(cyc(0x80), IPT_NO_TIME);
    REFUSED(cyc(0x180), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x300), 0x300);
    CHECK_EQ(t.fcr >> 8, 0x200); /* 0x400 ticks */
    begin(0, 0, 0);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1000), 0x1000);
    REFUSED(cyc(UINT64_MAX), IPT_NO_TIME);
    REFUSED(cyc(0x101), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    CHECK_EQ(tsc(0x1100), IPT_ERR_PACKET); /* no clock is that fast */
    CHECK_EQ(t.fcr >> 8, 0);
    /* a TSC of before an overflow begins no interval */
    begin(0, 0, 0);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1000), 0x1000);
    feed(packet(IPT_PKT_OVF));
    REFUSED(cyc(0x100), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0x1100), 0x1100);
    CHECK_EQ(t.fcr >> 8, 0);
    /* nor an MTC */
    begin(8, 1, 1);
    USED(mtc(1), 0);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    feed(packet(IPT_PKT_OVF));
    USED(mtc(2), 0x100);
    CHECK_EQ(t.fcr >> 8, 0);
    REFUSED(cyc(0x80), IPT_NO_TIME);
    USED(mtc(3), 0x200);
    CHECK_EQ(t.fcr >> 8, 0x200);
}

/* A TMA that holds all bits of MTC is as good as one; then the first CYC also
 * counts what came before the MTC. */
TEST(V4_tma_as_mtc)
{
    for (int few = 0; few < 2; few++) {
        begin(8, 1, 1);
        config.nom_freq = 1;
        USED(cbr(1), 0);
        USED(tsc(0x1000), 0x1000);
        USED(tma(0x100, 0), 0x1000);
        USED(mtc(2), 0x1100);
        if (few) USED(cyc(0x80), 0x1100); /* less than to the MTC */
        else USED(cyc(0x180), 0x1180);
    }
    begin(9, 1, 1); /* MTC has one bit more */
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x200, 0), 0x1000);
    USED(mtc(1), 0x1000); /* where TMA was, and not a wrap later */
    USED(mtc(2), 0x1200);
}

/* Numbers of 33 bits, whose product has 66. */
TEST(V4_product_of_66_bits)
{
    begin(15, 1, 0x300);
    USED(mtc(1), 0);
    REFUSED(cyc(1), IPT_NO_TIME);
    USED(mtc(2), 0x1800000);
    CHECK_EQ(t.fcr >> 8, 0x180000000);
    REFUSED(cyc(0x180000000), IPT_ERR_PACKET);
    CHECK_EQ(t.lost_cyc, 1);
}

/* What a TSC begins again. */
TEST(V4_after_tsc)
{
    begin(0, 3, 10); /* a tick of the crystal clock: 3 and a third */
    USED(tsc(0x1000), 0x1000);
    USED(tma(0, 0), 0x1000);
    USED(mtc(1), 0x1003);
    USED(mtc(2), 0x1006);
    USED(tsc(0x2000), 0x2000); /* two thirds are forgotten */
    USED(tma(2, 0), 0x2000);
    USED(mtc(3), 0x2003);
    USED(mtc(5), 0x200a);
    /* an overflow does not stand for its TMA */
    begin(0, 1, 1);
    USED(tsc(0x1000), 0x1000);
    feed(packet(IPT_PKT_OVF));
    USED(tma(5, 0), 0x1000);
    USED(mtc(7), 0x1002);
}

/* ---- errata ---- */

/* A period of 0x4000 ticks and as many cycles, then a PSB. */
static void skl168(int flag)
{
    begin(9, 1, 32);
    if (flag) config.errata = IPT_ERRATUM_SKL168;
    USED(mtc(1), 0);
    REFUSED(cyc(0x4000), IPT_NO_TIME);
    USED(mtc(2), 0x4000);
    CHECK_EQ(t.fcr >> 8, 0x100);
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_PSBEND));
}

TEST(skl168_lost_cyc)
{
    skl168(1);
    USED(cyc(0x3000), 0x7000);
    USED(mtc(3), 0x8000); // 4096 cycles are missing
    CHECK_EQ(t.fcr >> 8, 0x100);
    USED(cyc(0x2000), 0xa000);
    USED(mtc(4), 0xc000); // it is only the first MTC
    CHECK_EQ(t.fcr >> 8, 0x200);
    skl168(0);
    USED(cyc(0x3000), 0x7000);
    USED(mtc(3), 0x8000);
    CHECK_EQ(t.fcr >> 8, 0x155);
}

TEST(skl168_limit)
{
    skl168(1);
    USED(cyc(0x4000 - 0xf00), 0x7100);
    USED(mtc(3), 0x8000);
    CHECK_EQ(t.fcr >> 8, 0x14e); // 400000 / 3100
    skl168(1);
    USED(cyc(0x4000 - 0xf00 - 1), 0x70ff);
    USED(mtc(3), 0x8000);
    CHECK_EQ(t.fcr >> 8, 0x100);
}

TEST(skl168_lost_mtc)
{
    skl168(1);
    USED(cyc(0x7f00), 0xbf00);
    USED(mtc(4), 0xc000); // two periods
    CHECK_EQ(t.fcr >> 8, 0x100);
    skl168(0);
    USED(cyc(0x7f00), 0xbf00);
    USED(mtc(4), 0xc000);
    CHECK_EQ(t.fcr >> 8, 0x102);
}

/* MTC periods of more than 4096 cycles anyhow: not looked at. */
TEST(skl168_slow_mtc)
{
    begin(10, 1, 32);
    config.errata = IPT_ERRATUM_SKL168;
    USED(mtc(1), 0);
    REFUSED(cyc(0x8000), IPT_NO_TIME);
    USED(mtc(2), 0x8000);
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_PSBEND));
    USED(cyc(0x4000), 0xc000);
    USED(mtc(3), 0x10000);
    CHECK_EQ(t.fcr >> 8, 0x200);
}

/* Without a ratio nothing says whether cycles are missing. */
TEST(V3_skl168_no_ratio)
{
    begin(4, 1, 4); /* 0x40 ticks from one MTC to the next */
    config.errata = IPT_ERRATUM_SKL168;
    USED(mtc(1), 0);
    REFUSED(cyc(0x70), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_PSBEND));
    REFUSED(cyc(0x10), IPT_NO_TIME);
    USED(mtc(2), 0x40);
    CHECK_EQ(t.fcr >> 8, 0x80);
}

/* So few ticks that 4096 cycles cannot be missing, by one. */
TEST(V4_skl168_few_ticks)
{
    begin(8, 1, 15); /* 0xf00 ticks from one MTC to the next */
    config.errata = IPT_ERRATUM_SKL168;
    USED(mtc(1), 0);
    REFUSED(cyc(0xf00), IPT_NO_TIME);
    USED(mtc(2), 0xf00);
    CHECK_EQ(t.fcr >> 8, 0x100);
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_PSBEND));
    USED(cyc(0x80), 0xf80);
    USED(mtc(3), 0x1e00);
    CHECK_EQ(t.fcr >> 8, 0x1e00);
}

/* An interval of 2^48 ticks: nothing is worked out from it. */
TEST(skl168_many_ticks)
{
    uint64_t length;
    begin(9, 1, UINT32_MAX); /* nearly 2^41 ticks from one MTC to the next */
    config.errata = IPT_ERRATUM_SKL168;
    CHECK_EQ(mtc(1), IPT_OK);
    CHECK_EQ(cyc(0x8000), IPT_NO_TIME);
    CHECK_EQ(mtc(2), IPT_OK);
    length = t.fcr;
    CHECK(length > 0);
    for (unsigned n = 3; n < 140; n++) CHECK_EQ(mtc((uint8_t) n), IPT_OK);
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_PSBEND));
    CHECK_EQ(cyc(0x80), IPT_OK);
    CHECK_EQ(mtc(140), IPT_OK);
    CHECK_EQ(t.fcr, length);
}

/* The MTC after the PSB repeats the one before it: no clock is that fast, and
 * that nothing was lost is clear. */
TEST(skl168_no_time_between)
{
    skl168(1);
    USED(cyc(0x100), 0x4100);
    CHECK_EQ(mtc(2), IPT_ERR_PACKET);
    CHECK_EQ(t.fcr >> 8, 0x100);
}

/* The first MTC after the PSB may also be the very first one. */
TEST(skl168_first_mtc)
{
    begin(4, 1, 4);
    config.errata = IPT_ERRATUM_SKL168;
    feed(packet(IPT_PKT_PSB));
    feed(packet(IPT_PKT_PSBEND));
    USED(mtc(1), 0);
    REFUSED(cyc(0x80), IPT_NO_TIME);
    USED(mtc(3), 0x80);
    CHECK_EQ(t.fcr >> 8, 0x100);
}

/* ---- forwards only ---- */

TEST(monotonic)
{
    begin(4, 1, 4);
    config.flags = IPT_CONFIG_MONOTONIC;
    config.nom_freq = 2;
    USED(cbr(1), 0);
    USED(tsc(0x1000), 0x1000);
    USED(tma(0x10, 0), 0x1000);
    USED(cyc(0x100), 0x1200); // far too fast
    USED(mtc(2), 0x1200);     // really 1040
    USED(mtc(3), 0x1200);
    USED(tsc(0x1100), 0x1200);
    USED(tsc(0x1300), 0x1300);
    USED(tsc(0x12ff), 0x1300);
    USED(tma(0x10, 0x10), 0x1300);
    USED(mtc(2), 0x132f); // 12ff - 10 + 40
    USED(tsc(0x40000000001400), 0x40000000001400); // ahead, by up to 2^55
    USED(tsc(0xc0000000001401), 0x40000000001400);
}

TEST(monotonic_first_tsc)
{
    begin(4, 1, 4);
    config.flags = IPT_CONFIG_MONOTONIC;
    config.nom_freq = 1;
    USED(cbr(1), 0);
    USED(cyc(0x500), 0x500);
    USED(tsc(0x100), 0x100); // only now time is known
    begin(4, 1, 4);
    config.flags = IPT_CONFIG_MONOTONIC;
    USED(tsc(0xf0000000000000), 0xf0000000000000);
    USED(tsc(0xf0000000000001), 0xf0000000000001);
}

TEST(monotonic_wrap)
{
    begin(4, 1, 4);
    config.flags = IPT_CONFIG_MONOTONIC;
    USED(tsc(0xfffffffffffff0), 0xfffffffffffff0);
    USED(tsc(0x10), 0x100000000000010);
    USED(tma(0x10, 0), 0x100000000000010);
    USED(mtc(2), 0x100000000000050);
    USED(tsc(0x40), 0x100000000000050);
    USED(tsc(0x60), 0x100000000000060);
}

/* Estimates go on above 56 bits in any case. */
TEST(wrap)
{
    begin(4, 1, 4);
    USED(tsc(0xfffffffffffff0), 0xfffffffffffff0);
    USED(tma(0x10, 0x10), 0xfffffffffffff0);
    USED(mtc(2), 0x100000000000020);
    USED(tsc(0x21), 0x21);
    USED(tma(0x20, 0x22), 0x21); // before 0
    USED(mtc(3), 0x3f);
}

/* ---- hostile values ---- */

TEST(hostile_cyc)
{
    begin(4, 1, 4);
    config.nom_freq = 255;
    USED(cbr(1), 0);
    USED(tsc(1), 1);
    REFUSED(cyc(UINT64_MAX), IPT_ERR_PACKET);
    REFUSED(cyc(UINT64_MAX / 0xff0000 + 1), IPT_ERR_PACKET);
    CHECK_EQ(t.lost_cyc, 2);
    USED(cyc(UINT64_MAX / 0xff0000),
         1 + (UINT64_MAX / 0xff0000 * 0xff0000 >> 16));
    USED(tsc(2), 2);
    CHECK_EQ(cyc(0), IPT_OK);
    REFUSED(mtc(1), IPT_OK);
    USED(tma(0, 0), 2);
    REFUSED(cyc(UINT64_MAX), IPT_ERR_PACKET);
    CHECK_EQ(mtc(2), IPT_ERR_PACKET); // that would be a ratio of 0
    CHECK_EQ(t.fcr >> 8, 0xff00);
    CHECK_EQ(cyc(5), IPT_OK);
    CHECK_EQ(mtc(3), IPT_OK);
    CHECK_EQ(t.fcr >> 8, 0x40 * 256 / 5);
    /* the sums of cycles do not wrap */
    feed(packet(IPT_PKT_OVF));
    CHECK_EQ(t.fcr >> 8, 0);
    CHECK_EQ(mtc(4), IPT_OK);
    CHECK_EQ(cyc(UINT64_MAX), IPT_NO_TIME);
    CHECK_EQ(cyc(1), IPT_NO_TIME);
    CHECK_EQ(mtc(5), IPT_ERR_PACKET);
    CHECK_EQ(t.fcr >> 8, 0);
}

/* Cycles between equal MTCs, or between equal TSCs: no ratio follows. */
TEST(hostile_no_ticks)
{
    begin(4, 1, 4);
    USED(mtc(1), 0);
    REFUSED(cyc(0x100), IPT_NO_TIME);
    USED(mtc(2), 0x40);
    USED(cyc(0x100), 0x80);
    CHECK_EQ(mtc(2), IPT_ERR_PACKET);
    CHECK_EQ(t.fcr >> 8, 0x40);
    begin(0, 0, 0);
    USED(tsc(5), 5);
    REFUSED(cyc(1), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    REFUSED(tsc(5), IPT_ERR_PACKET);
    CHECK_EQ(t.fcr >> 8, 0);
}

/* The largest ratio there can be, and more ticks than are taken for one. */
TEST(hostile_ratios)
{
    begin(15, 1, UINT32_MAX);
    USED(tsc(0), 0);
    USED(tma(0, 0), 0);
    REFUSED(cyc(1), IPT_NO_TIME);
    USED(mtc(0xff), (uint64_t) 0x8000 * UINT32_MAX); // 7f0000 to 7f8000
    REFUSED(cyc(1), IPT_NO_TIME);
    USED(mtc(0xfe), (uint64_t) 0x100 * 0x8000 * UINT32_MAX);
    /* ff wraps to fe, in one cycle */
    CHECK_EQ(t.fcr, 0);
    CHECK_EQ(cyc(1), IPT_NO_TIME);
    begin(15, UINT32_MAX, 1);
    USED(tsc(0), 0);
    USED(tma(0, 0), 0);
    USED(mtc(0xff), 0);
    /* two TSCs as far apart as can be, and not too far */
    begin(0, 0, 0);
    USED(tsc(1), 1);
    REFUSED(cyc(1), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc(0), 0);
    CHECK_EQ(t.fcr, 0);
    begin(0, 0, 0);
    USED(tsc(1), 1);
    REFUSED(cyc(1), IPT_NO_TIME);
    feed(packet(IPT_PKT_PSB));
    USED(tsc((uint64_t) 1 << 48), (uint64_t) 1 << 48);
    CHECK_EQ(t.fcr, UINT64_MAX - 0xffff);
    USED(cyc(1), ((uint64_t) 1 << 49) - 1);
    REFUSED(cyc(2), IPT_ERR_PACKET);
}

static ipt_packet random_packet(void)
{
    static const uint8_t type[] = {
        IPT_PKT_TSC, IPT_PKT_TMA, IPT_PKT_MTC, IPT_PKT_CYC, IPT_PKT_CBR,
        IPT_PKT_MTC, IPT_PKT_CYC, IPT_PKT_CYC, IPT_PKT_PSB, IPT_PKT_PSBEND,
        IPT_PKT_OVF, IPT_PKT_TNT_8, IPT_PKT_NONE, IPT_PKT_COUNT, 255
    };
    ipt_packet p = packet(type[dice_bits() % sizeof type]);
    if (p.type == IPT_PKT_TSC)
        p.u.tsc.value = dice_bits() >> (8 + dice_bits() % 56);
    if (p.type == IPT_PKT_TMA) {
        p.u.tma.ctc = (uint16_t) dice_bits();
        p.u.tma.fc = (uint16_t) (dice_bits() & 0x1ff);
    }
    if (p.type == IPT_PKT_MTC) p.u.mtc.ctc = (uint8_t) dice_bits();
    if (p.type == IPT_PKT_CYC) p.u.cyc.value = dice_bits() >> dice_bits() % 64;
    if (p.type == IPT_PKT_CBR) p.u.cbr.ratio = (uint8_t) (dice_bits() >> 56);
    return p;
}

/* Any packets in any order under any config: a documented status, a clone with
 * the same future, halves that are as good as the whole, and, if so asked, a
 * time that does not go back. */
TEST(hostile_sequences)
{
    seed = 0x243f6a8885a308d3;
    for (int run = 0; run < 2000; run++) {
        ipt_clock clone;
        uint64_t last = 0;
        begin((uint8_t) dice(16), (uint32_t) (dice_bits() >> dice(64)),
              (uint32_t) (dice_bits() >> dice(64)));
        config.nom_freq = (uint8_t) dice_bits();
        config.flags = dice_bits() & 1 ? IPT_CONFIG_MONOTONIC : 0;
        config.flags |= dice_bits() & 1 ? IPT_CONFIG_KEEP_TCAL : 0;
        config.errata = dice_bits() & 1 ? IPT_ERRATUM_SKL168 : 0;
        clone = t;
        for (int i = 0; i < 200; i++) {
            ipt_packet p = random_packet();
            int had = t.has_tsc;
            int status = ipt_time_packet(&t, &p);
            int a = ipt_time_calibrate(&clone, &p);
            int b = ipt_time_update(&clone, &p);
            CHECK(status == IPT_OK || status == IPT_NO_TIME
                  || status == IPT_ERR_CONFIG || status == IPT_ERR_CONTEXT
                  || status == IPT_ERR_PACKET);
            CHECK_EQ(status, b < 0 ? b : a);
            CHECK(memcmp(&t, &clone, sizeof t) == 0);
            if (had && config.flags & IPT_CONFIG_MONOTONIC)
                CHECK(t.tsc >= last);
            last = t.tsc;
        }
    }
}

int main(void)
{
    RUN(arguments);
    RUN(config_range);
    RUN(nothing_yet);
    RUN(tsc_only);
    RUN(tsc_forgets_losses);
    RUN(tsc_tma_mtc);
    RUN(tma_needs_tsc);
    RUN(mtc_between_tsc_and_tma);
    RUN(tma_has_more_bits_than_mtc);
    RUN(mtc_wraps);
    RUN(mtc_above_tma);
    RUN(mtc_above_tma_carry);
    RUN(mtc_only);
    RUN(ratio_is_rounded_down);
    RUN(cyc_after_tsc);
    RUN(cyc_without_calibration);
    RUN(cyc_by_cbr);
    RUN(cbr_zero);
    RUN(cbr_without_nom_freq);
    RUN(S12_mtc_fractions);
    RUN(S12_mtc_fractions_with_cyc);
    RUN(cyc_by_mtc);
    RUN(cyc_by_mtc_over_periods);
    RUN(cyc_by_tsc);
    RUN(cyc_by_tsc_not_with_mtc);
    RUN(cyc_by_tsc_wrap);
    RUN(psb_without_end);
    RUN(psb_goes_on);
    RUN(cyc_over_mtcs);
    RUN(cyc_over_mtcs_too_few);
    RUN(cyc_counts_from_cyc);
    RUN(cyc_before_psb);
    RUN(cyc_after_sleep);
    RUN(halt);
    RUN(calibration_goes_on);
    RUN(no_cpuid);
    RUN(overflow);
    RUN(overflow_keeps);
    RUN(V4_calibration_by_tsc);
    RUN(V4_after_tsc);
    RUN(V4_tma_as_mtc);
    RUN(V4_product_of_66_bits);
    RUN(skl168_lost_cyc);
    RUN(skl168_limit);
    RUN(skl168_lost_mtc);
    RUN(skl168_slow_mtc);
    RUN(V4_skl168_few_ticks);
    RUN(V3_skl168_no_ratio);
    RUN(skl168_many_ticks);
    RUN(skl168_no_time_between);
    RUN(skl168_first_mtc);
    RUN(monotonic);
    RUN(monotonic_first_tsc);
    RUN(monotonic_wrap);
    RUN(wrap);
    RUN(hostile_cyc);
    RUN(hostile_no_ticks);
    RUN(hostile_ratios);
    RUN(hostile_sequences);
    return test_report();
}
