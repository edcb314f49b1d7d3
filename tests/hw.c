/* hw.c: segments from output registers and ToPA tables, written by a model of
 * the processor's output unit; tables from regions; RTIT_CTL by CPUID;
 * configuration from MSRs and CPUID. */
#include "linked.h"
#include "test.h"

#define MEMORY   (1u << 20)
#define CTL_TOPA (1u << 8)
#define END      1u
#define NO_MAP   UINT64_MAX

static uint8_t memory[MEMORY]; /* at physical address 0 */
static uint64_t hole;          /* not mapped */

static const uint8_t *map(uint64_t physical, uint64_t size, void *context)
{
    (void) context;
    if (physical >= MEMORY || size > MEMORY - physical ||
        (hole >= physical && hole - physical < size))
        return NULL;
    return memory + physical;
}

static void store(uint64_t at, uint64_t value)
{
    unsigned i;

    for (i = 0; i < 8; i++)
        memory[at + i] = (uint8_t) (value >> 8 * i);
}

/* The k-th byte that is traced. */
static uint8_t traced(uint64_t k)
{
    return (uint8_t) (k * 2654435761u >> 13);
}

/* One table of two entries and a link to one of three, which links back:
 * regions of 8, 4, 16, 4 and 4 KiB. */
typedef struct entry {
    uint64_t at, region, next;
    unsigned size;
} entry;
static const entry chain[] = {
    {0x1000, 0x40000, 0x1008, 1}, {0x1008, 0x50000, 0x2000, 0},
    {0x2000, 0x60000, 0x2008, 2}, {0x2008, 0x70000, 0x2010, 0},
    {0x2010, 0x48000, 0x1000, 0},
};
#define ENTRIES (sizeof(chain) / sizeof(chain[0]))
#define CHAIN   0x9000u

static void tables(void)
{
    size_t i;

    memset(memory, 0, sizeof(memory));
    hole = NO_MAP;
    for (i = 0; i < ENTRIES; i++)
        store(chain[i].at,
              chain[i].region | chain[i].size << 6 | (i == 3 ? 4 : 0));
    store(0x1010, 0x2000 | END);
    store(0x2018, 0x1000 | END);
}

/* Trace n bytes; fills what the hardware and its driver know. */
static ipt_topa run(uint64_t n)
{
    ipt_topa topa = {0};
    uint64_t offset = 0;
    uint64_t k;
    size_t e = 0;

    tables();
    topa.rtit_ctl = CTL_TOPA;
    topa.table = 0x1000;
    topa.map = map;
    for (k = 0; k < n; k++) {
        memory[chain[e].region + offset++] = traced(k);
        if (offset == (uint64_t) 4096 << chain[e].size) {
            offset = 0;
            e = (e + 1) % ENTRIES;
            topa.wrapped |= !e;
        }
    }
    topa.output_base = chain[e].at & ~(uint64_t) 0xfff;
    topa.output_mask_ptrs =
        offset << 32 | (chain[e].at & 0xfff) / 8 << 7 | 0x7f;
    return topa;
}

/* The segments hold traced bytes first .. last - 1. */
static int holds(const ipt_segment *s, int n, uint64_t first, uint64_t last)
{
    int i;
    size_t k;

    for (i = 0; i < n; i++)
        for (k = 0; k < s[i].size; k++)
            if (first >= last || s[i].data[k] != traced(first++))
                return 0;
    return first == last;
}

TEST(topa)
{
    static const uint64_t sizes[] = {
        0,         1,         8191,          8192,          8193,
        12288,     12289,     28672,         32768,         CHAIN - 1,
        CHAIN,     CHAIN + 1, CHAIN + 8192,  CHAIN + 20000, 2 * CHAIN,
        3 * CHAIN, 100000,    CHAIN + 28672, CHAIN + 36863};
    ipt_segment s[ENTRIES + 1];
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const ipt_topa topa = run(sizes[i]);
        const uint64_t first = topa.wrapped ? sizes[i] - CHAIN : 0;
        const int n = ipt_segments_from_topa(s, ENTRIES + 1, &topa);
        int room;

        CHECK(n >= 0);
        if (!CHECK(holds(s, n, first, sizes[i])))
            printf("    %llu bytes: %d segments\n",
                   (unsigned long long) sizes[i], n);
        for (room = 0; room < n; room++)
            CHECK_EQ(ipt_segments_from_topa(s, (uint32_t) room, &topa),
                     IPT_ERR_ROOM);
    }
}

TEST(single_range)
{
    ipt_topa topa = {0};
    ipt_segment s[2];
    uint64_t k;

    tables();
    topa.output_base = 0x40000;
    topa.map = map;
    for (k = 0; k < 5000; k++)
        memory[0x40000 + k % 4096] = traced(k);
    topa.output_mask_ptrs = (uint64_t) (5000 % 4096) << 32 | 4095;
    topa.wrapped = 1;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), 2);
    CHECK(holds(s, 2, 5000 - 4096, 5000));
    topa.wrapped = 0;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), 1);
    CHECK(holds(s, 1, 4096, 5000));
    topa.output_mask_ptrs = 4095;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), 0);
    topa.output_mask_ptrs = (uint64_t) 4097 << 32 | 4095;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), IPT_ERR_ARG);
}

/* What is new from each of these positions to each later one. */
TEST(topa_since)
{
    static const uint64_t positions[] = {0, 1, 4096, 8191, 8192, 8193, 12288,
        20000, 28672, 32768, CHAIN - 1, CHAIN, CHAIN + 1, CHAIN + 8192,
        CHAIN + 20000, 2 * CHAIN - 1, 2 * CHAIN, 3 * CHAIN + 20000};
    const size_t n = sizeof(positions) / sizeof(positions[0]);
    ipt_segment s[ENTRIES + 1];
    size_t i, k;

    for (i = 0; i < n; i++) {
        for (k = i; k < n; k++) {
            const ipt_topa then = run(positions[i]);
            ipt_topa now = run(positions[k]);
            const uint64_t from = positions[i];
            const uint64_t to = positions[k];

            now.since_base = then.output_base;
            now.since_mask_ptrs = then.output_mask_ptrs;
            now.table = 0x55; /* not used */
            now.wrapped = to - from > CHAIN;
            if (to - from == CHAIN) { /* no difference can be seen */
                CHECK_EQ(ipt_segments_from_topa(s, ENTRIES + 1, &now), 0);
                now.wrapped = 1;
            }
            CHECK(holds(s, ipt_segments_from_topa(s, ENTRIES + 1, &now),
                        now.wrapped ? to - CHAIN : from, to));
        }
    }
}

TEST(single_range_since)
{
    ipt_topa topa = {0};
    ipt_segment s[2];
    uint64_t k;

    tables();
    topa.output_base = topa.since_base = 0x40000;
    topa.map = map;
    for (k = 0; k < 5000; k++)
        memory[0x40000 + k % 4096] = traced(k);
    topa.output_mask_ptrs = (uint64_t) (5000 % 4096) << 32 | 4095;
    topa.since_mask_ptrs = (uint64_t) 2000 << 32 | 4095;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), 2);
    CHECK(holds(s, 2, 2000, 5000));
    topa.since_mask_ptrs = (uint64_t) 4 << 32 | 4095;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), 1);
    CHECK(holds(s, 1, 4100, 5000));
    topa.since_mask_ptrs = topa.output_mask_ptrs;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), 0);
    topa.since_mask_ptrs = (uint64_t) 4097 << 32 | 4095;
    CHECK_EQ(ipt_segments_from_topa(s, 2, &topa), IPT_ERR_ARG);
}

static uint64_t entry_at(const uint8_t *table, int n)
{
    uint64_t value = 0;
    unsigned i;

    for (i = 8; i-- > 0;)
        value = value << 8 | table[8 * n + (int) i];
    return value;
}

/* Bits 51..12 the address, 9..6 the size, 4 STOP, 2 INT, 0 END: each entry is
 * aligned to its size, together they are the region, and a pair of neighbours
 * never could be one. */
static int is_region(const uint8_t *table, int first, int last,
                     const ipt_region *region)
{
    uint64_t at = region->physical;
    uint64_t before = 0;

    for (; first < last; first++) {
        const uint64_t e = entry_at(table, first);
        const uint64_t size = (uint64_t) 4096 << (e >> 6 & 15);
        const uint64_t flags = first == last - 1 ? region->flags : 0;

        if ((e & 0xffffffffff000u) != at || at % size
            || (e & ~0xffffffffff3c0u) != flags
            || (before == size && size < 4096u << 15
                && (at - before) % (2 * size) == 0))
            return 0;
        at += size;
        before = size;
    }
    return at == region->physical + region->size;
}

TEST(topa_from_regions)
{
    static const ipt_region rows[] = {
        {0x1000, 0x1000, 0},
        {0x1000, 0x1000, IPT_TOPA_INT},
        {0x3000, 0x5000, IPT_TOPA_STOP | IPT_TOPA_INT},
        {0x8000000, 0x8000000, IPT_TOPA_STOP},
        {0, 0x18000000, IPT_TOPA_INT},
        {0x7fff000, 0x8002000, 0},
        {0xffffffffff000u, 0x1000, 0},
        {0xfffff80000000u, 0x80000000u, IPT_TOPA_INT},
        {0x123456000u, 0xabcdef000u, 0},
    };
    static uint8_t table[8 * 2048];
    const uint32_t count = sizeof(rows) / sizeof(rows[0]);
    ipt_region bad;
    int first = 0;
    uint32_t i;
    int n = ipt_topa_from_regions(table, 2048, 0x7000, rows, count);

    CHECK(n > (int) count);
    for (i = 0; i < count; i++) {
        int one = ipt_topa_from_regions(table, 2048, 0x7000, &rows[i], 1);
        CHECK(one >= 2);
        CHECK(is_region(table, 0, one - 1, &rows[i]));
        CHECK_EQ(entry_at(table, one - 1), 0x7001);
        CHECK_EQ(ipt_topa_from_regions(table, (uint32_t) one - 1, 0x7000,
                                       &rows[i], 1), IPT_ERR_ROOM);
        CHECK_EQ(ipt_topa_from_regions(table, (uint32_t) one, 0x7000,
                                       &rows[i], 1), one);
        CHECK_EQ(ipt_topa_from_regions(table, 0, 0x7000, &rows[i], 1),
                 IPT_ERR_ROOM);
        first += one - 1;
    }
    CHECK_EQ(n, first + 1);
    memset(table, 0xa5, sizeof(table));
    CHECK_EQ(ipt_topa_from_regions(table, (uint32_t) n, 0x7000, rows, count),
             n);
    CHECK_EQ(table[8 * n], 0xa5);
    for (first = 0, i = 0; i < count; i++) {
        int end = first;
        uint64_t size = 0;
        while (size < rows[i].size && end < n)
            size += (uint64_t) 4096 << (entry_at(table, end++) >> 6 & 15);
        CHECK(is_region(table, first, end, &rows[i]));
        first = end;
    }

    CHECK_EQ(ipt_topa_from_regions(NULL, 9, 0, rows, 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_topa_from_regions(table, 9, 0, NULL, 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_topa_from_regions(table, 9, 0, rows, 0), IPT_ERR_ARG);
    CHECK_EQ(ipt_topa_from_regions(table, 9, 0x7008, rows, 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_topa_from_regions(table, 9, (uint64_t) 1 << 52, rows, 1),
             IPT_ERR_ARG);
    CHECK_EQ(ipt_topa_from_regions(table, 0x80000000u, 0, rows, 1),
             IPT_ERR_ARG);
#define BAD(field, value)                                               \
    bad = rows[0];                                                      \
    bad.field = value;                                                  \
    CHECK_EQ(ipt_topa_from_regions(table, 9, 0, &bad, 1), IPT_ERR_ARG)
    BAD(size, 0);
    BAD(size, 0x1800);
    BAD(size, 0xfffffffffffff000u);
    BAD(size, 0x10000000000000u);
    BAD(physical, 0x1080);
    BAD(physical, 0x10000000000000u);
    BAD(flags, 1);
    BAD(flags, 8);
#undef BAD
}

/* IA32_RTIT_CTL, bit by bit, and what of CPUID leaf 14H allows it: by the SDM's
 * tables, in numbers. */
TEST(rtit_ctl)
{
    static const struct {
        unsigned bit, width;
        unsigned ebx, ecx; /* a bit that allows it; 32: none is needed */
    } rows[] = {
        {0, 1, 32, 32}, {1, 1, 1, 32},  {2, 1, 32, 32}, {3, 1, 32, 32},
        {4, 1, 5, 32},  {5, 1, 4, 32},  {6, 1, 32, 3},  {7, 1, 0, 32},
        {8, 1, 32, 0},  {9, 1, 3, 32},  {10, 1, 32, 32}, {11, 1, 32, 32},
        {12, 1, 4, 32}, {13, 1, 32, 32}, {14, 4, 3, 32}, {19, 4, 1, 32},
        {24, 4, 1, 32}, {31, 1, 7, 32}, {32, 4, 2, 32}, {36, 4, 2, 32},
        {40, 4, 2, 32}, {44, 4, 2, 32}, {55, 1, 8, 32}, {56, 1, 6, 32},
    };
    const ipt_cpuid_14 all = {0x1ff, 0x8000000f, 0xffff0004, 0xffffffff};
    uint64_t known = 0;
    unsigned i, value;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t field = ((uint64_t) 1 << rows[i].width) - 1;
        known |= field << rows[i].bit;
        for (value = 1; value <= (rows[i].bit >= 32 && field == 15 ? 2 : field);
             value++) {
            const uint64_t ctl = (uint64_t) value << rows[i].bit;
            ipt_cpuid_14 cpu = all;
            CHECK_EQ(ipt_rtit_ctl_missing(ctl, &cpu), 0);
            if (rows[i].ebx < 32)
                cpu.ebx &= ~(1u << rows[i].ebx);
            else if (rows[i].ecx < 32)
                cpu.ecx &= ~(1u << rows[i].ecx);
            else
                cpu.ebx = 0, cpu.ecx = 4, cpu.eax_1 = 0, cpu.ebx_1 = 0;
            CHECK_EQ(ipt_rtit_ctl_missing(ctl, &cpu),
                     rows[i].ebx < 32 || rows[i].ecx < 32
                         ? field << rows[i].bit : 0);
        }
    }
    for (i = 0; i < 64; i++) {
        const uint64_t bit = (uint64_t) 1 << i;
        if (!(known & bit)) CHECK_EQ(ipt_rtit_ctl_missing(bit, &all), bit);
    }
    for (i = 32; i < 48; i += 4)
        for (value = 3; value < 16; value++)
            CHECK_EQ(ipt_rtit_ctl_missing((uint64_t) value << i, &all),
                     (uint64_t) 15 << i);
    CHECK_EQ(ipt_rtit_ctl_missing(0, NULL), UINT64_MAX);
}

/* Values of the fields, one allowed each time; how many ADDRn_CFG there are;
 * output. */
TEST(rtit_ctl_values)
{
    ipt_cpuid_14 cpu = {0x1ff, 0x80000007, 0, 0};
    unsigned can, want, n;

    for (can = 0; can < 16; can++) {
        cpu.eax_1 = 0x10000u << can;
        cpu.ebx_1 = 0x10000u << can | 1u << (can ^ 5);
        for (want = 0; want < 16; want++) {
            const int mtc = want == can, cyc = want == (can ^ 5);
            CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_MTC_FREQ(want)
                                          | IPT_RTIT_MTC_EN, &cpu),
                     mtc ? 0 : 15u << 14);
            CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_MTC_FREQ(want), &cpu),
                     mtc || !want ? 0 : 15u << 14);
            CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_CYC_THRESH(want)
                                          | IPT_RTIT_CYC_EN, &cpu),
                     cyc ? 0 : 15u << 19);
            CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_CYC_THRESH(want), &cpu),
                     cyc || !want ? 0 : 15u << 19);
            CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_PSB_FREQ(want), &cpu),
                     mtc || !want ? 0 : 15u << 24);
        }
    }
    for (n = 0; n < 8; n++) {
        uint64_t missing = 0;
        uint64_t all = 0;
        cpu.eax_1 = n;
        for (want = 0; want < 4; want++) {
            all |= IPT_RTIT_ADDR(want, IPT_FILTER_STOP);
            missing |= want < n ? 0 : (uint64_t) 15 << (32 + 4 * want);
        }
        CHECK_EQ(ipt_rtit_ctl_missing(all, &cpu), missing);
    }
    cpu.ecx = 3; /* no single range */
    CHECK_EQ(ipt_rtit_ctl_missing(0, &cpu), IPT_RTIT_TOPA);
    CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_TOPA, &cpu), 0);
    cpu.ecx = 8; /* another place only */
    CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_FABRIC_EN, &cpu), 0);
    CHECK_EQ(ipt_rtit_ctl_missing(IPT_RTIT_TOPA, &cpu), IPT_RTIT_TOPA);
}

/* What is decoded from the segments is what was traced. */
TEST(decoded)
{
    static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                    2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
    ipt_topa topa = run(CHAIN + 8192 - 8);
    ipt_segment s[ENTRIES + 1];
    ipt_trace trace = {s, 0, 0, 0};
    ipt_config config = {0};
    ipt_pkt_decoder decoder = {0};
    ipt_packet packet;

    /* The PSB straddles two regions; PAD is after it. */
    memset(memory + 0x40000, 0, 0x40000);
    memcpy(memory + 0x42000 - 8, psb, 8);
    memcpy(memory + 0x50000, psb + 8, 8);
    trace.count = (uint32_t) ipt_segments_from_topa(s, ENTRIES + 1, &topa);
    CHECK_EQ(ipt_pkt_init(&decoder, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&decoder), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&decoder, &packet), IPT_OK);
    CHECK_EQ(packet.type, IPT_PKT_PSB);
    CHECK_EQ(packet.offset, 0);
    while (ipt_pkt_next(&decoder, &packet) == IPT_OK)
        CHECK_EQ(packet.type, IPT_PKT_PAD);
    CHECK_EQ(decoder.at.error, IPT_END);
    CHECK_EQ(decoder.at.offset, CHAIN);
}

TEST(hostile_tables)
{
    ipt_segment s[100];
    ipt_topa topa = run(3);

    store(0x1010, 0x1010 | END); /* a link to a table in the link's page */
    topa.output_base = 0x2000;
    CHECK(ipt_segments_from_topa(s, 100, &topa) < 0);
    store(0x1010, 0x3000 | END); /* a link to a link */
    store(0x3000, 0x1000 | END);
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_ARG);
    store(0x1010, 0x1000 | END); /* round and round */
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_ROOM);
    store(0x1010, 0xffffffffff000 | END);
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_CALLBACK);
    topa = run(20000);
    topa.output_mask_ptrs |= (uint64_t) 1 << 63;
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_ARG);
    topa = run(20000);
    hole = 0x60000;
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_CALLBACK);
    hole = 0x2000;
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_CALLBACK);
    hole = NO_MAP;
    CHECK(ipt_segments_from_topa(s, 100, &topa) > 0);
    CHECK_EQ(ipt_segments_from_topa(NULL, 100, &topa), IPT_ERR_ARG);
    CHECK_EQ(ipt_segments_from_topa(s, 100, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_segments_from_topa(s, 0x80000000u, &topa), IPT_ERR_ARG);
    topa.map = NULL;
    CHECK_EQ(ipt_segments_from_topa(s, 100, &topa), IPT_ERR_ARG);
}

/* Every bit of every entry changed: a status, bounded work, no byte outside. */
TEST(changed_bits)
{
    static const uint64_t at[] = {0x1000, 0x1008, 0x1010, 0x2000,
                                  0x2008, 0x2010, 0x2018};
    ipt_segment s[64];
    size_t i;
    unsigned bit;

    for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        for (bit = 0; bit < 64; bit++) {
            const ipt_topa topa = run(CHAIN + 20000);
            int n;

            memory[at[i] + bit / 8] ^= (uint8_t) (1u << bit % 8);
            n = ipt_segments_from_topa(s, 64, &topa);
            CHECK(n > 0 || n == IPT_ERR_ROOM || n == IPT_ERR_ARG ||
                  n == IPT_ERR_CALLBACK);
            while (n-- > 0) {
                CHECK(s[n].size);
                CHECK(s[n].data >= memory);
                CHECK(s[n].data + s[n].size <= memory + MEMORY);
            }
        }
    }
}

TEST(msrs)
{
    ipt_msrs msrs = {0};
    ipt_config config = {0};

    config.flags = IPT_CONFIG_STRICT | IPT_CONFIG_NO_RETCOMP;
    msrs.rtit_ctl = 0x2100000000u | 9u << 14;
    msrs.rtit_addr[0][0] = 0x1000;
    msrs.rtit_addr[0][1] = 0x1fff;
    msrs.rtit_addr[1][0] = 0xffff800000000000u;
    msrs.rtit_addr[1][1] = 0xffff800000000fffu;
    msrs.rtit_addr[2][0] = 7;
    msrs.platform_info = 0x80838f1011b00;
    msrs.cpuid_1_eax = 0x506e3;
    msrs.cpuid_15_eax = 2;
    msrs.cpuid_15_ebx = 216;
    CHECK_EQ(ipt_config_from_msrs(&config, &msrs), IPT_OK);
    CHECK_EQ(config.flags, IPT_CONFIG_STRICT | IPT_CONFIG_RELATIVE_IP);
    CHECK_EQ(config.mtc_freq, 9);
    CHECK_EQ(config.nom_freq, 0x1b);
    CHECK_EQ(config.cpuid_15_eax, 2);
    CHECK_EQ(config.cpuid_15_ebx, 216);
    CHECK_EQ(config.filter[0].kind, IPT_FILTER_TRACE);
    CHECK_EQ(config.filter[0].first, 0x1000);
    CHECK_EQ(config.filter[0].last, 0x1fff);
    CHECK_EQ(config.filter[1].kind, IPT_FILTER_STOP);
    CHECK_EQ(config.filter[1].first, 0xffff800000000000u);
    CHECK_EQ(config.filter[2].kind, IPT_FILTER_OFF);
    CHECK_EQ(config.filter[2].first, 0);
    CHECK(config.errata & IPT_ERRATUM_SKL014);
    msrs.cpuid_1_eax = 0;
    msrs.cpuid_14_ecx = 0x80000007;
    msrs.rtit_ctl = (uint64_t) 1 << 55;
    CHECK_EQ(ipt_config_from_msrs(&config, &msrs), IPT_OK);
    CHECK_EQ(config.flags, IPT_CONFIG_STRICT | IPT_CONFIG_NO_TNT);
    msrs.rtit_ctl = 1u << 11;
    CHECK_EQ(ipt_config_from_msrs(&config, &msrs), IPT_OK);
    CHECK_EQ(config.errata, 0);
    CHECK_EQ(config.flags, IPT_CONFIG_STRICT | IPT_CONFIG_NO_RETCOMP);
    CHECK_EQ(config.filter[0].kind, IPT_FILTER_OFF);
    msrs.cpuid_1_eax = 3u << 20 | 15u << 8 | 1u << 4; /* family 18, model 1 */
    CHECK_EQ(ipt_config_from_msrs(&config, &msrs), IPT_OK);
    CHECK(config.errata & IPT_ERRATUM_APL11);
    msrs.cpuid_1_eax = 3u << 20 | 6u << 8 | 1u << 4; /* family 6: not added */
    CHECK_EQ(ipt_config_from_msrs(&config, &msrs), IPT_OK);
    CHECK_EQ(config.errata, 0);
    msrs.rtit_ctl = (uint64_t) 3 << 44;
    CHECK_EQ(ipt_config_from_msrs(&config, &msrs), IPT_ERR_ARG);
    CHECK_EQ(ipt_config_from_msrs(&config, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_config_from_msrs(NULL, &msrs), IPT_ERR_ARG);
}

int main(void)
{
    RUN(topa);
    RUN(single_range);
    RUN(topa_since);
    RUN(single_range_since);
    RUN(topa_from_regions);
    RUN(rtit_ctl);
    RUN(rtit_ctl_values);
    RUN(decoded);
    RUN(hostile_tables);
    RUN(changed_bits);
    RUN(msrs);
    return test_report();
}
