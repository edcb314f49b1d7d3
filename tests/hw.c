/* hw.c: segments from output registers and ToPA tables, written by a model of
 * the processor's output unit; configuration from MSRs and CPUID. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
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

    /* The PSB straddles two regions; PAD is behind it. */
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
            while (n-- > 0)
                CHECK(s[n].size && s[n].data >= memory &&
                      s[n].data + s[n].size <= memory + MEMORY);
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
    RUN(decoded);
    RUN(hostile_tables);
    RUN(changed_bits);
    RUN(msrs);
    return test_report();
}
