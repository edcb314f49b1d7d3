/* dates.c: which packets say the time, and when it was
 * (examples/tools/common/flow/dates.h). */
#include "linked.h"
#include "examples/tools/common/flow/dates.c"
#include "build.h"
#include "dice.h"

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
    memset(&trace, 0, sizeof trace);
    segment.data = b.bytes;
    segment.size = b.size;
    trace.seg = &segment;
    trace.count = 1;
    dates_init(d, &config, &trace, threshold);
}

/* All dates: which packet, counted from 0, and the time after START. */
#define START 1000000u

static void dated(uint32_t threshold, const ipt_packet *packets, size_t count,
                  const char *want)
{
    char said[1000] = "";
    dates_date date;
    dates d;
    build_all(&b, packets, count);
    begin(&d, threshold);
    while (dates_next(&d, b.size, 0, UINT64_MAX, &date)) {
        unsigned of = 0;
        while (b.offset[of] != date.offset) of++;
        sprintf(said + strlen(said), "%s%u@%d", *said ? " " : "", of,
                (int) (date.tsc - START));
    }
    if (!CHECK(strcmp(said, want) == 0)) printf("    %s, not %s\n", said, want);
}

#define DATED(threshold, want, ...)                            \
    do {                                                       \
        const ipt_packet list_[] = {PSB, TSC(START), TMA(0, 0), \
                                    CBR(NOMINAL), PSBEND, __VA_ARGS__}; \
        dated(threshold, list_, LENGTH(list_), want);          \
    } while (0)

/* A CYC counts from the one before it, also across an MTC or a TSC. */
TEST(a_cyc_counts_from_the_last_one)
{
    DATED(512, "1@0 6@600 7@672 9@1112", CYC(600), TIP(1), MTC(1), CYC(512),
          TIP(2));
    DATED(512, "1@0 6@300 7@600 10@800", CYC(300), TIP(1), TSC(START + 600),
          TMA(7, 12), CYC(500), TIP(2));
}

/* The clock of cycles stands still where a processor sleeps. */
TEST(cycles_that_stand_still)
{
    DATED(64, "1@0 6@600 7@1344 9@1394", CYC(600), TIP(1), MTC(2), CYC(50),
          TIP(2));
    DATED(64, "1@0 6@600 7@9000 10@9050 12@9110", CYC(600), TIP(1),
          TSC(START + 9000), TMA(0, 0), CYC(50), TIP(2), CYC(60), TIP(3));
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
            while (dates_next(&d, b.offset[i], 1, UINT64_MAX, &date)) {
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
        while (dates_next(&d, b.offset[i], 1, UINT64_MAX, &date)) {
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

int main(void)
{
    RUN(a_cyc_counts_from_the_last_one);
    RUN(cycles_that_stand_still);
    RUN(cycles_of_other_lengths);
    RUN(packets_of_a_cycle);
    RUN(a_true_clock);
    RUN(a_length_that_is_measured);
    return test_report();
}
