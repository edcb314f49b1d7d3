/* dates.c: which packets say the time, and when it was
 * (examples/tools/common/flow/dates.h). */
#include "linked.h"
#include "examples/tools/common/flow/dates.c"
#include "build.h"
#include "dice.h"
#include <inttypes.h>

#define NOMINAL 30
#define PERIOD  672u /* of MTC: 32 ticks of a clock of which one is 21 of TSC */

static build b;
static ipt_config config;
static ipt_trace trace;
static ipt_segment segment;

/* A cycle of CBR(NOMINAL) is a tick of the TSC. */
static void begin(dates *d, uint32_t threshold)
{
    memset(&config, 0, sizeof config);
    config.nom_freq = NOMINAL;
    config.mtc_freq = 5;
    config.cpuid_15_ebx = 21;
    config.cpuid_15_eax = 1;
    config.errata = IPT_ERRATUM_SKD007;
    memset(&trace, 0, sizeof trace);
    segment.data = b.bytes;
    segment.size = b.size;
    trace.seg = &segment;
    trace.count = 1;
    dates_init(d, &config, &trace, threshold);
}

/* All dates: which packet, counted from 0, and the time after the first TSC. A
 * TSC has 56 bits. */
#define START 1000000u
#define WRAP  ((uint64_t) 1 << 56)

static uint64_t start;

static uint64_t after(uint64_t ticks)
{
    return (start + ticks) % WRAP;
}

static void dated(uint32_t threshold, const ipt_packet *packets, size_t count,
                  const char *want)
{
    char said[1000] = "";
    dates_date date;
    dates d;
    build_all(&b, packets, count);
    begin(&d, threshold);
    while (dates_next(&d, b.size, 0, &date)) {
        unsigned of = 0;
        while (b.offset[of] != date.offset) of++;
        sprintf(said + strlen(said), "%s%u@%d", *said ? " " : "", of,
                (int) ((date.tsc - start) % WRAP));
    }
    if (!CHECK(strcmp(said, want) == 0))
        printf("    %s, not %s, from %" PRIu64 "\n", said, want, start);
}

#define DATED(threshold, want, ...)                              \
    for (start = START; start; start = next_start(start)) {    \
        const ipt_packet list_[] = {PSB, TSC(start), TMA(0, 0),  \
                                    CBR(NOMINAL), PSBEND, __VA_ARGS__}; \
        dated(threshold, list_, LENGTH(list_), want);            \
    }

/* Each of them then has the wrap between two of its packets; 0: that was all. */
static uint64_t next_start(uint64_t last)
{
    static const unsigned before[] = {0, 1, 50, 101, 310, 601, 680, 900, 1350};
    size_t i = 0;
    if (last == START) return WRAP - before[1];
    while (WRAP - before[i] != last) i++;
    return i + 1 < LENGTH(before) ? WRAP - before[i + 1] : 0;
}


/* A CYC counts from the one before it, also across an MTC or a TSC. */
TEST(a_cyc_counts_from_the_last_one)
{
    DATED(512, "1@0 6@600 7@672 9@1112", CYC(600), TIP(1), MTC(1), CYC(512),
          TIP(2));
    DATED(512, "1@0 6@300 7@600 10@800", CYC(300), TIP(1), TSC(after(600)),
          TMA(7, 12), CYC(500), TIP(2));
}

/* The clock of cycles stands still where a processor sleeps. */
TEST(cycles_that_stand_still)
{
    DATED(64, "1@0 6@600 7@1344 9@1394", CYC(600), TIP(1), MTC(2), CYC(50),
          TIP(2));
    DATED(64, "1@0 6@600 7@9000 10@9050 12@9110", CYC(600), TIP(1),
          TSC(after(9000)), TMA(0, 0), CYC(50), TIP(2), CYC(60), TIP(3));
}

/* CBR says how long a cycle is; it may change. */
TEST(cycles_of_other_lengths)
{
    DATED(64, "1@0 6@100 9@300 12@375", CYC(100), TIP(1), CBR(NOMINAL / 2),
          CYC(100), TIP(2), CBR(NOMINAL * 2), CYC(150), TIP(3));
}

/* Without a threshold, what has no CYC is of the same cycle: the first and the
 * last packet have its date. A short TNT is written late. */
TEST(packets_of_a_cycle)
{
    DATED(1, "1@0 4@0 6@100 9@100 11@120", CYC(100), TIP(1), TIP(2), TIP(3),
          TIP(4), CYC(20), TIP(5));
    DATED(1, "1@0 4@0 7@100 8@100", CYC(100), TNT(2, 0), TIP(3), TIP(4));
    DATED(64, "1@0 7@100 10@120", CYC(100), TNT(2, 0), TIP(3), TIP(4), CYC(20),
          TIP(5));
}

/* ---- a true clock ---- */

static struct {
    uint64_t ticks, cycles; /* now */
    uint64_t cyc, mtc;      /* cycles at the last CYC; periods */
    uint8_t ratio;
    uint32_t threshold;
    uint64_t time[TRACE_BYTES]; /* of packets with a CYC before them */
} now;

static void put(ipt_packet packet)
{
    const uint64_t held = now.cycles - now.cyc;
    if (held >= now.threshold && held > 0) {
        const ipt_packet cyc = CYC(held);
        build_put(&b, &cyc);
        now.cyc = now.cycles;
        now.time[b.count] = now.ticks;
    }
    build_put(&b, &packet);
}

/* `step` cycles pass. They are a multiple of the ratio, so ticks are whole. */
static void pass(uint64_t step)
{
    const uint64_t until = now.cycles + step;
    const uint64_t all = now.ticks + step * NOMINAL / now.ratio;
    while ((now.mtc + 1) * PERIOD <= all) {
        const ipt_packet mtc = MTC((uint8_t) ++now.mtc);
        const uint64_t left = all - now.mtc * PERIOD;
        now.ticks = now.mtc * PERIOD;
        now.cycles = until - left * now.ratio / NOMINAL;
        put(mtc);
    }
    now.cycles = until;
    now.ticks = all;
}

/* Whatever the threshold is, and the ratio, which changes where the last CYC
 * was, a date is right to two ticks, and
 * they come in order. */
TEST(a_true_clock)
{
    for (int run = 0; run < 400; run++) {
        static const uint8_t ratios[] = {NOMINAL, 20, 15, 10, 40};
        const ipt_packet head[] = {PSB, TSC(START), TMA(0, 0), CBR(NOMINAL),
                                   PSBEND};
        unsigned checked = 0;
        uint64_t before = 0;
        dates_date date;
        dates d;
        memset(&now, 0, sizeof now);
        now.ratio = NOMINAL;
        now.threshold = 1u << run % 13;
        build_all(&b, head, LENGTH(head));
        for (int i = 0; i < 200; i++) {
            ipt_packet tip = TIP(0x1000);
            pass((1 + dice(run % 7 ? 20 : 60)) * now.ratio);
            tip.u.ip.payload += dice(9);
            put(tip);
            if (now.threshold == 1 && dice(50) == 0) {
                ipt_packet cbr = CBR(now.ratio = ratios[dice(5)]);
                put(cbr);
            }
        }
        begin(&d, now.threshold);
        for (unsigned i = 0; i < b.count; i++) {
            while (dates_next(&d, b.offset[i], 1, &date)) {
                uint64_t off;
                if (date.offset != b.offset[i] || !now.time[i]) continue;
                off = date.tsc - START - now.time[i];
                CHECK(off + 2 <= 4);
                CHECK(date.tsc + 2 >= before);
                before = date.tsc;
                checked++;
            }
        }
        CHECK(checked > (now.threshold > 512 ? 5 : 40));
    }
}

/* Where the nominal ratio is not known, MTCs say how long a cycle is, more and
 * more exactly. */
TEST(a_length_that_is_measured)
{
    const ipt_packet head[] = {PSB, TSC(START), TMA(0, 0), CBR(20), PSBEND};
    unsigned checked = 0;
    uint64_t most = 0;
    dates_date date;
    dates d;
    memset(&now, 0, sizeof now);
    now.ratio = 20; /* 1.5 ticks */
    now.threshold = 1;
    build_all(&b, head, LENGTH(head));
    for (int i = 0; i < 250; i++) {
        const ipt_packet tip = TIP(0x1000);
        pass((1 + dice(9)) * now.ratio);
        put(tip);
    }
    begin(&d, now.threshold);
    config.nom_freq = 0;
    dates_init(&d, &config, &trace, now.threshold);
    for (unsigned i = 0; i < b.count; i++) {
        while (dates_next(&d, b.offset[i], 1, &date)) {
            uint64_t off = date.tsc - START - now.time[i];
            if (date.offset != b.offset[i] || !now.time[i]) continue;
            if (off >> 63) off = 0 - off;
            if (i > b.count / 2 && off > most) most = off;
            checked++;
        }
    }
    CHECK(checked > 200);
    CHECK(most <= 3);
    CHECK(d.cyc.length > 1.499);
    CHECK(d.cyc.length < 1.501);
}

/* ---- short packets ---- */

/* Packets of all kinds, with a clock. */
static void build_mixed(uint32_t threshold)
{
    const ipt_packet head[] = {PSB, TSC(START), TMA(0, 0), CBR(NOMINAL),
                               PSBEND};
    memset(&now, 0, sizeof now);
    now.ratio = NOMINAL;
    now.threshold = threshold;
    build_all(&b, head, LENGTH(head));
    while (b.size < 700) {
        const ipt_packet list[] = {
            TNT(6, dice(64)), TNT(2, 1), TIP(dice_bits() >> 16), TIP0,
            IP_(FUP, 2, dice_bits() >> 32), PGE(0x1000),
            IP_(TIP_PGD, 1, 0x77), PADS(1 + dice(20)), OVF,
            TSC(START + now.ticks), BBP(4, (uint8_t) dice(2)), BEP(0), EXEC64};
        ipt_packet packet = list[dice(LENGTH(list))];
        const ipt_packet item = BIP(1, packet.u.bbp.sz, dice(9999));
        pass((uint64_t) dice(dice(9) ? 40 : 4000) * now.ratio);
        put(packet);
        for (unsigned i = dice(4); packet.type == IPT_PKT_BBP && i > 0; i--)
            build_put(&b, &item);
        if (dice(30) == 0)
            for (unsigned i = 0; i < LENGTH(head); i++) build_put(&b, &head[i]);
    }
}

/* Dates of what is in the buffer, in pieces of so many bytes; `how` says which
 * ones are asked for. */
static unsigned read_pieces(dates_date *list, size_t size, uint32_t threshold,
                            uint64_t how)
{
    static ipt_segment segs[TRACE_BYTES];
    const uint64_t kept = seed;
    unsigned count = 0;
    dates d;
    begin(&d, threshold);
    trace.count = 0;
    trace.seg = segs;
    for (size_t at = 0; at < b.size; at += size) {
        segs[trace.count].data = b.bytes + at;
        segs[trace.count++].size = b.size - at < size ? b.size - at : size;
    }
    seed = how;
    for (uint64_t at = 0; at < b.size + 50; at += 1 + dice(40)) {
        const int own = (int) dice(2);
        if (dice(20) == 0) dates_read(&d, at);
        while (d.due < at + (uint64_t) own
               && dates_next(&d, at, own, &list[count]))
            count++;
    }
    seed = kept;
    return count;
}

/* Short packets are read as any packet is, which is how a short piece is read:
 * in damaged trace, too, and where their bytes are those of something else. */
TEST(short_packets)
{
    static dates_date whole[TRACE_BYTES], parts[TRACE_BYTES];
    static const uint8_t signs[][3] = {{0x02, 0x63, 0}, {0x02, 0x33, 0},
                                       {0x02, 0x82, 0}, {0x02, 0xf3, 0},
                                       {0xff, 0xff, 0}, {0x1f, 0x02, 0xf3}};
    unsigned dated = 0;
    for (int run = 0; run < 1000; run++) {
        const uint32_t threshold = run % 3 ? 1 : 64;
        unsigned n, m;
        build_mixed(threshold);
        for (unsigned i = dice(12); i > 0; i--) {
            uint8_t *const at = b.bytes + dice((unsigned) b.size - 3);
            if (dice(3))
                memcpy(at, signs[dice(LENGTH(signs))], 3);
            else
                at[0] = (uint8_t) dice(256);
        }
        n = read_pieces(whole, b.size, threshold, (uint64_t) run + 1);
        m = read_pieces(parts, 16, threshold, (uint64_t) run + 1);
        CHECK_EQ(n, m);
        for (unsigned i = 0; i < n && i < m; i++) {
            CHECK_EQ(whole[i].offset, parts[i].offset);
            CHECK_EQ(whole[i].tsc, parts[i].tsc);
            CHECK_EQ(whole[i].cycles, parts[i].cycles);
        }
        dated += n;
    }
    CHECK(dated > 10000);
}

/* What is read before it is asked for changes nothing of the first and the last
 * date up to there, however many there are. */
TEST(when_it_is_read)
{
    static dates_date list[2][TRACE_BYTES];
    unsigned dated = 0;
    for (int run = 0; run < 300; run++) {
        const uint32_t threshold = run % 3 ? 1 : 64;
        const uint64_t kept = seed;
        unsigned count[2] = {0, 0};
        build_mixed(threshold);
        for (int early = 0; early < 2; early++) {
            dates_date date;
            dates d;
            begin(&d, threshold);
            seed = kept + 1;
            for (uint64_t at = 0; at < b.size;) {
                const unsigned step = 1 + dice(dice(2) ? 40 : 600);
                const uint64_t part = at + dice(step);
                at += step;
                if (early) dates_read(&d, part);
                for (unsigned n = 0; d.due < at && dates_next(&d, at, 0, &date);
                     n++) {
                    if (n < 2) count[early]++;
                    list[early][count[early] - 1] = date;
                }
            }
        }
        CHECK_EQ(count[0], count[1]);
        CHECK(memcmp(list[0], list[1], count[0] * sizeof **list) == 0);
        dated += count[0];
    }
    CHECK(dated > 3000);
}

/* A damaged packet may swallow the first bytes of a PSB: it is found all the
 * same, by short packets and by others before it. */
TEST(a_swallowed_psb)
{
    for (unsigned other = 0; other < 2; other++) {
        const ipt_packet list[] = {
            PSB, TSC(START), TMA(0, 0), CBR(NOMINAL), PSBEND, TIP0, TIP0,
            PSB, TSC(START + 500), TMA(0, 0), CBR(NOMINAL), PSBEND, TIP0};
        const ipt_packet tnt = TNT(6, 9);
        unsigned found = 0;
        dates_date date;
        dates d;
        build_all(&b, list, LENGTH(list));
        for (unsigned i = 0; i < 40; i++) build_put(&b, &tnt);
        if (other) b.bytes[b.offset[5]] = 0x02; /* a PIP */
        b.bytes[b.offset[6]] = other ? 0x43 : 0xcd; /* ... or a TIP */
        begin(&d, 64);
        while (dates_next(&d, b.size, 0, &date))
            found += date.offset == b.offset[8] && date.tsc == START + 500;
        CHECK_EQ(found, 1);
    }
}

int main(void)
{
    RUN(a_cyc_counts_from_the_last_one);
    RUN(cycles_that_stand_still);
    RUN(cycles_of_other_lengths);
    RUN(packets_of_a_cycle);
    RUN(a_true_clock);
    RUN(a_length_that_is_measured);
    RUN(short_packets);
    RUN(when_it_is_read);
    RUN(a_swallowed_psb);
    return test_report();
}
