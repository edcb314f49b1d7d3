/* trueclock.c: the times of items next to the clock of a simulated processor,
 * which changes its ratio, sleeps, halts, and loses trace. The error of each is
 * below a bound: see there. Or its time is not known, or lost_mtc, lost_cyc say
 * that it need not hold. compared.md has the table that this prints. */
#include "linked.h"
#include "build.h"
#include "dice.h"
#include "range.h"

/* ---- the processor ---- */

#define NOMINAL 30 /* ratio at which a cycle is a tick of the TSC */
#define EAX 2      /* a crystal clock is EBX / EAX ticks */
#define EBX 168
#define PART 16 /* fraction bits of times */
#define ITEMS 400

enum { PLAIN, RATIO, OVERFLOW_, SLEEP, HALT, SCENES };
static const char *const scenes[SCENES]
    = {"plain", "ratio changes", "overflow", "sleep (TSC, CBR)",
       "halt (MTC goes on)"};

/* Of the ratio, since some packet. */
typedef struct changes {
    unsigned slowest;
    unsigned count;
} changes;

static struct {
    changes since; /* the last CYC with a TSC or MTC right after it */
    size_t cyc_end; /* where the last CYC ends */
    uint64_t now;   /* ticks, with PART more bits */
    uint64_t spent; /* cycles since the last CYC, with PART more bits */
    uint64_t mtc;   /* the period of MTC that `now` is in */
    unsigned ratio;
    int freq;      /* of MTC; -1: none */
    int threshold; /* of CYC, cycles; -1: none */
    int lost;      /* packets are */
} cpu;

static uint8_t bytes[ITEMS * 400];
static size_t used;
static uint64_t truth[ITEMS]; /* when each item executed */
static double most[ITEMS];    /* ticks that its error stays below */
static double finest[ITEMS];  /* a period of MTC, or CYC's threshold */

static void put(ipt_packet p)
{
    int n;

    if (cpu.lost)
        return;
    n = ipt_pkt_encode(bytes + used, sizeof bytes - used, &p);
    CHECK(n > 0);
    used += n > 0 ? (size_t) n : 0;
}

#define SEND(...)                           \
    do {                                    \
        const ipt_packet send = __VA_ARGS__; \
        put(send);                          \
    } while (0)

static void change(unsigned ratio)
{
    cpu.ratio = ratio;
    if (ratio < cpu.since.slowest)
        cpu.since.slowest = ratio;
    cpu.since.count++;
}

static void none_since(void)
{
    cpu.since.slowest = cpu.ratio;
    cpu.since.count = 0;
}

/* A CYC before a packet, if enough cycles have passed. */
static void send_cyc(void)
{
    const uint64_t cycles = cpu.spent >> PART;

    if (cpu.threshold < 0 || cycles < (uint64_t) cpu.threshold || !cycles
        || cpu.lost)
        return;
    SEND(CYC(cycles));
    cpu.spent -= cycles << PART;
    cpu.cyc_end = used;
}

static uint64_t crystal(void)
{
    return (cpu.now >> PART) * EAX / EBX;
}

/* Time up to `until` passes, with cycles or without; MTCs are sent. */
static void pass(uint64_t until, int cycles, int mtcs)
{
    while (cpu.now < until) {
        uint64_t next = until;
        uint64_t step;
        int due = 0;
        if (cpu.freq >= 0) {
            /* the first tick at which the crystal clock shows it */
            step = ((cpu.mtc + 1) << cpu.freq) * EBX;
            step = (step + EAX - 1) / EAX << PART;
            due = step <= until;
            next = due ? step : until;
        }
        if (cycles)
            cpu.spent += (next - cpu.now) * cpu.ratio / NOMINAL;
        cpu.now = next;
        cpu.mtc += (uint64_t) due;
        if (due && mtcs) {
            send_cyc();
            if (used == cpu.cyc_end)
                none_since();
            SEND(MTC((uint8_t) cpu.mtc));
        }
    }
}

static void cycles(unsigned n)
{
    pass(cpu.now + ((uint64_t) n * NOMINAL << PART) / cpu.ratio, 1, 1);
}

/* TSC, TMA, CBR: time is known again. */
static void send_time(void)
{
    const uint64_t ticks = cpu.now >> PART;
    const uint64_t ctc = crystal();

    if (used == cpu.cyc_end)
        none_since();
    SEND(TSC(ticks));
    if (cpu.freq >= 0)
        SEND(TMA((uint16_t) ctc, (uint16_t) (ticks - ctc * EBX / EAX)));
    SEND(CBR((uint8_t) cpu.ratio));
}

static void send_psb(void)
{
    send_cyc();
    SEND(PSB);
    send_time();
    SEND(EXEC64);
    SEND(FUP(0x1000));
    SEND(PSBEND);
}

/* Ticks that an error stays below now. Of MTC a period. Of CYC the cycles of
 * its threshold, each as long as at the slowest ratio since the last CYC whose
 * time a TSC or MTC right after it said; once more for each change of the ratio
 * since then, as a CYC after it has cycles of before, of another length.
 * And what packets leave out: a cycle and two ticks, as they count whole ones.
 * Where cycles halt, only MTC says that time passes. */
static double bound(int scene, unsigned changed)
{
    const double mtc = (double) (EBX << (cpu.freq < 0 ? 0 : cpu.freq)) / EAX;
    const double cycles = cpu.threshold * (1.0 + changed) + 1;
    const double cyc = cycles * NOMINAL / cpu.since.slowest + 2;

    if (cpu.threshold < 0)
        return mtc;
    return scene == HALT ? mtc + cyc : cyc;
}

static void happen(int scene)
{
    switch (scene) {
    case RATIO:
        send_cyc();
        change(10 + dice(50));
        SEND(CBR((uint8_t) cpu.ratio));
        break;
    case OVERFLOW_:
        cpu.lost = 1;
        cycles(100 + dice(20000));
        cpu.lost = 0;
        SEND(OVF);
        cpu.spent = 0;
        none_since();
        send_time();
        SEND(FUP(0x1000));
        break;
    case SLEEP:
        send_cyc();
        pass(cpu.now + ((uint64_t) dice(3000000) << PART), 0, 0);
        change(10 + dice(50));
        send_time();
        break;
    case HALT:
        pass(cpu.now + ((uint64_t) dice(100000) << PART), 0, 1);
        break;
    default: break;
    }
}

static void begin(unsigned ticks)
{
    used = 0;
    cpu.now = (uint64_t) ticks << PART;
    cpu.spent = 0;
    cpu.ratio = NOMINAL;
    none_since();
    cpu.mtc = cpu.freq < 0 ? 0 : crystal() >> cpu.freq;
    send_psb();
}

static void run(int scene)
{
    begin(1000000000 + dice(100000));
    for (unsigned i = 0; i < ITEMS; i++) {
        cycles(1 + dice(dice(8) ? 300 : 5000));
        if (i % 100 == 99)
            send_psb();
        if (dice(20) == 0)
            happen(scene);
        send_cyc();
        truth[i] = cpu.now >> PART;
        most[i] = bound(scene, cpu.since.count);
        finest[i] = bound(PLAIN, 0);
        SEND(TIP(0x1000));
    }
}

/* ---- what its items have ---- */

typedef struct found {
    uint64_t items, unknown; /* time is not known, or need not hold */
    uint64_t beyond;         /* error is not below `finest` */
    double worst;            /* error, of its bound */
    double ahead;            /* the same, of times that are too late */
} found;

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    return range_read(buffer, size, ip, 0x1000, "\xff\xe0", 2);
}

static ipt_insn_decoder decoder;

static void look(unsigned n, found *f)
{
    const ipt_where *at = &decoder.at;
    const double below = most[n];
    const double error = (double) at->tsc - (double) truth[n];

    f->items++;
    if (!(at->valid & IPT_AT_TSC) || at->lost_mtc || at->lost_cyc) {
        f->unknown++;
        return;
    }
    if (error >= finest[n] || -error >= finest[n])
        f->beyond++;
    if (error > f->ahead * below)
        f->ahead = error / below;
    if (error > f->worst * below || -error > f->worst * below)
        f->worst = (error < 0 ? -error : error) / below;
}

static void decode(found *f)
{
    ipt_config config;
    ipt_segment piece;
    ipt_trace trace;
    ipt_event event;
    ipt_insn insn;
    unsigned n = 0;
    int status;

    memset(&config, 0, sizeof config);
    memset(&trace, 0, sizeof trace);
    config.read = read_code;
    config.cpuid_15_eax = EAX;
    config.cpuid_15_ebx = EBX;
    config.nom_freq = NOMINAL;
    config.mtc_freq = (uint8_t) (cpu.freq < 0 ? 0 : cpu.freq);
    piece.data = bytes;
    piece.size = used;
    trace.seg = &piece;
    trace.count = 1;
    CHECK_EQ(ipt_insn_init(&decoder, &config, &trace, NULL), IPT_OK);
    status = ipt_insn_sync_forward(&decoder);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        if (status == IPT_EVENT_FIRST || status & IPT_EVENT_PENDING) {
            status = ipt_insn_event(&decoder, &event);
            continue;
        }
        status = ipt_insn_next(&decoder, &insn);
        if (status >= 0 && n < ITEMS)
            look(n, f);
        n += status >= 0;
    }
    CHECK_EQ(status, IPT_END);
    CHECK_EQ(n, ITEMS);
}

/* ---- the table ---- */

static const int thresholds[] = {-1, 1, 64, 512, 4096};

/* The largest error of all MTCFreq, as a part of its bound. */
static void cell(int scene, int threshold, found *all)
{
    for (int freq = 0; freq <= 6; freq++)
        for (unsigned i = 0; i < 10; i++) {
            cpu.freq = freq;
            cpu.threshold = threshold;
            run(scene);
            decode(all);
        }
    CHECK(all->worst < 1);
    if (scene != RATIO && scene != HALT) /* there no decoder could: see twins */
        CHECK_EQ(all->beyond, 0);
}

TEST(each_item)
{
    printf("| what happens | MTC | CYC");
    for (unsigned t = 2; t < LENGTH(thresholds); t++)
        printf(" | from %d", thresholds[t]);
    printf(" | not known, %% | beyond, %% |\n");
    for (int scene = 0; scene < SCENES; scene++) {
        found all = {0, 0, 0, 0, 0};
        printf("| %s |", scenes[scene]);
        for (unsigned t = 0; t < LENGTH(thresholds); t++) {
            found f = {0, 0, 0, 0, 0};
            cell(scene, thresholds[t], &f);
            printf(" %.3f |", f.worst);
            all.items += f.items;
            all.unknown += f.unknown;
            all.beyond += f.beyond;
        }
        printf(" %.2f | %.3f |\n",
               100.0 * (double) all.unknown / (double) all.items,
               100.0 * (double) all.beyond / (double) all.items);
    }
}

/* At one ratio no time runs ahead, whatever CYC's threshold: there are 13. */
TEST(never_ahead)
{
    for (int bits = 0; bits < 13; bits++)
        for (int freq = 0; freq <= 6; freq++) {
            found f = {0, 0, 0, 0, 0};
            cpu.freq = freq;
            cpu.threshold = bits ? 1 << bits : 1;
            run(PLAIN);
            decode(&f);
            CHECK(f.ahead <= 0);
        }
}

/* An execution with an item at its end; the other of the two takes longer. */
static void twin(int scene, int other)
{
    cpu.freq = scene == HALT ? 6 : -1;
    cpu.threshold = scene == HALT ? 1 : 4096;
    begin(1000000000);
    if (scene == HALT) {
        const uint64_t last = cpu.mtc;
        while (cpu.mtc == last)
            cycles(1);
        send_cyc();
        if (other) /* within a period of MTC */
            pass(cpu.now + ((uint64_t) 5000 << PART), 0, 1);
        cycles(100);
        send_cyc();
    }
    for (unsigned i = 0; scene == RATIO && i < 4; i++) {
        change(10);
        SEND(CBR((uint8_t) cpu.ratio));
        cycles(other ? 4000 : 0);
        change(60);
        SEND(CBR((uint8_t) cpu.ratio));
        cycles(other ? 96 : 4096);
        send_cyc();
    }
    SEND(TIP(0x1000));
}

/* Where cycles halt, and where the ratio changes with a threshold, executions
 * that differ by more than twice the finest period make the same packets. So
 * no decoder is always closer than that, unless it gives no time. */
TEST(twins)
{
    static const int both[] = {RATIO, HALT};

    for (unsigned i = 0; i < LENGTH(both); i++) {
        static uint8_t first[sizeof bytes];
        uint64_t ticks;
        size_t size;
        twin(both[i], 0);
        ticks = cpu.now >> PART;
        size = used;
        memcpy(first, bytes, used);
        twin(both[i], 1);
        CHECK_EQ(used, size);
        CHECK(memcmp(bytes, first, used) == 0);
        ticks = (cpu.now >> PART) - ticks;
        CHECK((double) ticks > 2 * bound(PLAIN, 0));
    }
}

int main(void)
{
    RUN(twins);
    RUN(each_item);
    RUN(never_ahead);
    return test_report();
}
