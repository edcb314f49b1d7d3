/* cache.c: runs of code, the code cache, address spaces, invalidation, and
 * classifiers that lie. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "../examples/frames.h"
#include "build.h"
#include "range.h"

#define MAX IPT_RUN_MAX_ /* instructions of a run */

/* ---- traced code: one byte array for each address space ---- */

#define SPAN 4096 /* bytes of a piece of code */

typedef struct area {
    uint64_t cr3; /* IPT_ASID_UNKNOWN: any */
    uint64_t ip;
    size_t size;
    uint8_t bytes[SPAN];
} area;

static area areas[4];
static unsigned area_count;
static unsigned reads; /* calls of config.read */
static size_t read_size; /* bytes that the first call asked for */
static uint64_t read_low, read_high;

/* Code at ip; what is not a nop is written over it with put(). */
static area *nops(uint64_t cr3, uint64_t ip, size_t size)
{
    area *a = &areas[area_count++];
    CHECK(area_count <= LENGTH(areas));
    CHECK(size <= SPAN);
    a->cr3 = cr3;
    a->ip = ip;
    a->size = size;
    memset(a->bytes, 0x90, sizeof a->bytes);
    return a;
}

static void put(area *a, uint64_t ip, const char *bytes, size_t n)
{
    memcpy(a->bytes + (ip - a->ip), bytes, n);
}

#define PUT(a, ip, text) put(a, ip, text, sizeof(text) - 1)

static int area_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    int n = 0;
    (void) context;
    reads++;
    CHECK(size > 0);
    CHECK(ip % 4096 + size <= 4096);
    if (reads == 1) read_size = size;
    if (reads == 1 || ip < read_low) read_low = ip;
    if (reads == 1 || ip + size > read_high) read_high = ip + size;
    for (unsigned i = 0; i < area_count && n == 0; i++) {
        const area *a = &areas[i];
        if (a->cr3 == IPT_ASID_UNKNOWN || a->cr3 == asid->cr3)
            n = range_read(buffer, size, ip, a->ip, a->bytes, a->size);
    }
    return n;
}

static void no_code(void)
{
    area_count = 0;
    reads = 0;
}

#define ANY IPT_ASID_UNKNOWN

/* ---- runs ---- */

static ipt_config config;
static ipt_where at;
static ipt_cache_line run;
static ipt_window_ window;

static int build_run(uint64_t ip, uint8_t mode)
{
    memset(&config, 0, sizeof config);
    memset(&at, 0, sizeof at);
    memset(&run, 0xa5, sizeof run);
    config.read = area_read;
    window.size = 0;
    return ipti_run_build(&config, &at, mode, ip, &window, &run);
}

static void check_run(unsigned count, unsigned size, uint8_t kind,
                      unsigned last)
{
    CHECK_EQ(run.count_, count);
    CHECK_EQ(run.size_, size);
    CHECK_EQ(run.kind_, kind);
    CHECK_EQ(run.last_ & 15, last);
    CHECK_EQ(run.sizes_[count - 1], last);
}

TEST(runs)
{
    static const unsigned lengths[] = {0, 1, 2, 15, 16, 17, MAX - 2, MAX - 1};
    for (unsigned i = 0; i < LENGTH(lengths); i++) {
        unsigned n = lengths[i];
        no_code();
        PUT(nops(ANY, 0x1000, 200), 0x1000 + n, "\x75\xfe");
        CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
        check_run(n + 1, n + 2, IPT_INSN_JCC, 2);
        CHECK_EQ(run.target_, 0x1000 + n);
        CHECK_EQ(run.ip_, 0x1000);
    }
}

static unsigned sections_asked;

static uint64_t counted_section(const ipt_asid *asid, uint64_t ip,
                                void *context)
{
    (void) asid, (void) context;
    sections_asked++;
    return ip >> 4;
}

/* A run ends where the section does. Each instruction is asked for once, which
 * costs one unit of fuel besides that of the instruction. */
TEST(runs_of_sections)
{
    static const struct { uint64_t ip; const char *end; uint8_t kind, leaves;
                          unsigned count, asked; } rows[] = {
        {0x1003, "\x75\xfe", IPT_INSN_JCC, 0, 8, 8},
        {0x1009, "\x75\xfe", IPT_INSN_JCC, 0, 2, 2},
        {0x100a, "\x75\xfe", IPT_INSN_JCC, 0, 1, 0},
        {0x1009, "\xc3", IPT_INSN_RET, 0, 2, 2},
        {0x1009, "\xeb\x02", IPT_INSN_JMP, 0, 2, 3},
        {0x1009, "\xeb\x04", IPT_INSN_JMP, 1, 2, 3},
        {0x1009, "\x90", IPT_INSN_OTHER, 1, 7, 8}};
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        uint64_t fuel = UINT64_MAX;
        no_code();
        put(nops(ANY, 0x1000, 64), 0x100a, rows[i].end, strlen(rows[i].end));
        (void) build_run(0x1000, IPT_MODE_64);
        config.section = counted_section;
        config.fuel = &fuel;
        sections_asked = 0;
        window.size = 0;
        CHECK_EQ(ipti_run_build(&config, &at, IPT_MODE_64, rows[i].ip, &window,
                                &run),
                 IPT_OK);
        CHECK_EQ(run.count_, rows[i].count);
        CHECK_EQ(run.kind_, rows[i].kind);
        CHECK_EQ(run.leaves_, rows[i].leaves);
        CHECK_EQ(sections_asked, rows[i].asked);
        CHECK(UINT64_MAX - fuel > rows[i].count + rows[i].asked);
        config.fuel = NULL;
    }
}

TEST(runs_of_the_largest_size)
{
    for (unsigned n = MAX; n < MAX + 4; n++) {
        no_code();
        PUT(nops(ANY, 0x1000, 200), 0x1000 + n, "\xc3");
        CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
        check_run(MAX, MAX, IPT_INSN_OTHER, 1);
    }
    no_code();
    nops(ANY, 0x1000, SPAN);
    for (unsigned i = 0; i < 100; i++) /* 15 bytes each */
        PUT(&areas[0], 0x1000 + 15 * i,
            "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90");
    CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
    check_run(MAX, MAX * 15, IPT_INSN_OTHER, 15);
    for (unsigned i = 0; i < MAX; i++) CHECK_EQ(run.sizes_[i], 15);
}

TEST(sizes_of_instructions)
{
    area *a;
    uint64_t ip = 0x1000;
    no_code();
    a = nops(ANY, 0x1000, SPAN);
    for (unsigned i = 0; i < 30; i++) { /* 1 to 15 bytes, in turn */
        unsigned n = 1 + i * 7 % 15;
        memset(a->bytes + (ip - 0x1000), 0x66, n);
        a->bytes[ip - 0x1000 + n - 1] = 0x90;
        ip += n;
    }
    PUT(a, ip, "\xff\xe0");
    CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
    check_run(31, (unsigned) (ip - 0x1000) + 2, IPT_INSN_JMP_INDIRECT, 2);
    for (unsigned i = 0; i < 30; i++)
        CHECK_EQ(run.sizes_[i], 1 + i * 7 % 15);
}

/* Code that ends: what is there is a run; at its end it is missed. */
TEST(code_that_ends)
{
    for (unsigned n = 1; n < MAX - 1; n++) {
        no_code();
        nops(ANY, 0x1000, n);
        CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
        check_run(n, n, IPT_INSN_OTHER, 1);
        CHECK_EQ(build_run(0x1000 + n, IPT_MODE_64), IPT_NEED_PAGE);
        CHECK_EQ(at.missing, 0x1000 + n);
    }
    no_code();
    PUT(nops(ANY, 0x1000, 3), 0x1001, "\x0f\x1f"); /* one byte is missing */
    CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
    check_run(1, 1, IPT_INSN_OTHER, 1);
    CHECK_EQ(build_run(0x1001, IPT_MODE_64), IPT_NEED_PAGE);
    CHECK_EQ(at.missing, 0x1003);
}

TEST(code_over_pages)
{
    for (uint64_t from = 0x1ff0; from < 0x2000; from++) {
        no_code();
        nops(ANY, 0x1000, 0x1000);
        nops(ANY, 0x2000, 0x1000);
        /* seven bytes that straddle the border, or end or begin there */
        for (unsigned i = 0; i < 7; i++) {
            uint64_t ip = from - 3 + i;
            areas[ip >= 0x2000].bytes[ip & 0xfff]
                = (uint8_t) "\x48\x8d\x05\x00\x00\x00\x00"[i];
        }
        PUT(&areas[1], 0x2010, "\xc3");
        CHECK_EQ(build_run(from - 3, IPT_MODE_64), IPT_OK);
        check_run((unsigned) (0x2010 - (from - 3) - 7 + 1 + 1),
                  (unsigned) (0x2011 - (from - 3)), IPT_INSN_RET, 1);
        CHECK_EQ(run.sizes_[0], 7);
    }
}

TEST(second_page_missing)
{
    no_code();
    PUT(nops(ANY, 0x1000, 0x1000), 0x1ffe, "\x90\x0f");
    CHECK_EQ(build_run(0x1ffe, IPT_MODE_64), IPT_OK);
    check_run(1, 1, IPT_INSN_OTHER, 1);
    CHECK_EQ(build_run(0x1fff, IPT_MODE_64), IPT_NEED_PAGE);
    CHECK_EQ(at.missing, 0x2000);
    PUT(nops(ANY, 0x2000, 0x1000), 0x2000, "\x1f\x00\xc3");
    CHECK_EQ(build_run(0x1fff, IPT_MODE_64), IPT_OK);
    check_run(2, 4, IPT_INSN_RET, 1);
    CHECK_EQ(run.sizes_[0], 3);
}

static int go_on(uint64_t ip)
{
    return ipti_run_build(&config, &at, IPT_MODE_64, ip, &window, &run);
}

/* Runs that lie together are read at once. */
TEST(runs_of_one_window)
{
    area *a;
    no_code();
    a = nops(ANY, 0x1000, SPAN);
    PUT(a, 0x1004, "\x75\x10");
    PUT(a, 0x1009, "\xc3");
    PUT(a, 0x1016, "\xc3");
    CHECK_EQ(build_run(0x1002, IPT_MODE_64), IPT_OK);
    check_run(3, 4, IPT_INSN_JCC, 2);
    CHECK_EQ(run.target_, 0x1016);
    CHECK_EQ(go_on(0x1006), IPT_OK);
    check_run(4, 4, IPT_INSN_RET, 1);
    CHECK_EQ(go_on(0x1016), IPT_OK);
    check_run(1, 1, IPT_INSN_RET, 1);
    CHECK_EQ(reads, 1);
    for (uint64_t ip = 0x1000; ip < 0x1002; ip++) { /* before it */
        CHECK_EQ(build_run(0x1002, IPT_MODE_64), IPT_OK);
        reads = 0;
        CHECK_EQ(go_on(ip), IPT_OK);
        check_run((unsigned) (0x1005 - ip), (unsigned) (0x1006 - ip),
                  IPT_INSN_JCC, 2);
        CHECK_EQ(reads, 1);
    }
}

/* A window of which 15 bytes are left is not read again, nor one of less. */
TEST(ends_of_a_window)
{
    for (uint64_t ahead = 70; ahead < 110; ahead++) {
        no_code();
        PUT(nops(ANY, 0x1000, SPAN), 0x1000, "\xc3");
        PUT(&areas[0], 0x1000 + ahead, "\xc3");
        CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
        CHECK_EQ(reads, 1);
        CHECK_EQ(go_on(0x1000 + ahead), IPT_OK);
        check_run(1, 1, IPT_INSN_RET, 1);
        CHECK_EQ(reads, 1 + (ahead + 15 > read_size));
    }
}

/* A run ends before an instruction of two mappings, which stays one of two
 * however often the code after it is read. Nothing of it is kept. */
TEST(cut_by_mappings)
{
    no_code();
    PUT(nops(ANY, 0x1000, 0xff8), 0x1ff7, "\x48");
    PUT(nops(ANY, 0x1ff8, 0x8), 0x1ff8, "\xb8");
    PUT(nops(ANY, 0x2000, 0x1000), 0x2001, "\xc3");
    CHECK_EQ(build_run(0x1ff5, IPT_MODE_64), IPT_OK);
    check_run(2, 2, IPT_INSN_OTHER, 1);
    CHECK(!(run.last_ & IPTI_CUT));
    CHECK_EQ(go_on(0x1ff7), IPT_OK);
    check_run(1, 10, IPT_INSN_OTHER, 10);
    CHECK(run.last_ & IPTI_CUT);
    reads = 0;
    CHECK_EQ(go_on(0x1ff8), IPT_OK);
    check_run(6, 10, IPT_INSN_RET, 1);
    CHECK(!(run.last_ & IPTI_CUT));
    CHECK(reads > 0);
    CHECK_EQ(go_on(0x1ff7), IPT_OK);
    check_run(1, 10, IPT_INSN_OTHER, 10);
    CHECK(run.last_ & IPTI_CUT);
}

TEST(too_long)
{
    area *a;
    no_code();
    a = nops(ANY, 0x1000, SPAN);
    memset(a->bytes + 10, 0x66, 14);
    CHECK_EQ(build_run(0x100a, IPT_MODE_64), IPT_OK); /* 15 bytes */
    CHECK_EQ(run.sizes_[0], 15);
    memset(a->bytes + 10, 0x66, 15);
    CHECK_EQ(build_run(0x100a, IPT_MODE_64), IPT_ERR_BAD_INSN);
    CHECK_EQ(build_run(0x1000, IPT_MODE_64), IPT_OK);
    check_run(10, 10, IPT_INSN_OTHER, 1);
}

/* Outside of 64-bit mode the address wraps, inside it does not. */
TEST(top_of_addresses)
{
    no_code();
    nops(ANY, 0xfffffff0, 0x10);
    PUT(nops(ANY, 0, 0x100), 0x10, "\xc3");
    CHECK_EQ(build_run(0xfffffffe, IPT_MODE_32), IPT_OK);
    check_run(19, 19, IPT_INSN_RET, 1);
    CHECK_EQ(build_run(0xfffffffe, IPT_MODE_16), IPT_OK);
    check_run(19, 19, IPT_INSN_RET, 1);
    CHECK_EQ(build_run(0xfffffffe, IPT_MODE_64), IPT_OK);
    check_run(2, 2, IPT_INSN_OTHER, 1);
    CHECK_EQ(build_run(0x100000000, IPT_MODE_64), IPT_NEED_PAGE);
    no_code();
    nops(ANY, 0xfffffffffffffff0, 0x10);
    PUT(nops(ANY, 0, 0x100), 0x10, "\xc3");
    CHECK_EQ(build_run(0xfffffffffffffffe, IPT_MODE_64), IPT_OK);
    check_run(19, 19, IPT_INSN_RET, 1);
}

/* ---- a decoder, with and without a cache ---- */

#define TRACE_MAX 1200000
static uint8_t bytes[TRACE_MAX];
static size_t used;
static ipt_segment segment;
static ipt_trace trace;
static ipt_insn_decoder insn_decoder;
static ipt_blk_decoder blk_decoder;
static ipt_cache cache;
static ipt_cache_line lines[1024];

static void add(ipt_packet p)
{
    int n = ipt_pkt_encode(bytes + used, sizeof bytes - used, &p);
    CHECK(n > 0);
    used += n > 0 ? (size_t) n : 0;
}

#define ADD(packet)                         \
    do {                                    \
        static const ipt_packet p_ = packet; \
        add(p_);                            \
    } while (0)

static void add_ip(uint8_t type, uint64_t ip)
{
    ipt_packet p = TIP(0);
    p.type = type;
    p.u.ip.payload = ip;
    add(p);
}

static void add_pip(uint64_t cr3)
{
    ipt_packet p = PIP(0, 0);
    p.u.pip.cr3 = cr3;
    add(p);
}

/* A trace begins: enabled at 1000. */
static void add_on(uint8_t mode)
{
    ipt_packet exec = EXEC64;
    if (mode == IPT_MODE_32) {
        exec.u.exec.csl = 0;
        exec.u.exec.csd = 1;
    }
    used = 0;
    ADD(PSB);
    add(exec);
    ADD(FUP(0x1000));
    ADD(PSBEND);
}

static void start(ipt_cache *c)
{
    segment.data = bytes;
    segment.size = used;
    memset(&trace, 0, sizeof trace);
    trace.seg = &segment;
    trace.count = 1;
    if (!config.read) config.read = area_read;
    CHECK_EQ(ipt_insn_init(&insn_decoder, &config, &trace, c), IPT_OK);
    CHECK_EQ(ipt_blk_init(&blk_decoder, &config, &trace, c), IPT_OK);
    CHECK(ipt_insn_sync_forward(&insn_decoder) >= 0);
    CHECK(ipt_blk_sync_forward(&blk_decoder) >= 0);
    reads = 0;
}

static void fresh_config(void)
{
    memset(&config, 0, sizeof config);
}

/* An empty config, and no code. */
static void fresh(void)
{
    fresh_config();
    no_code();
}

/* Decode all; returns a hash of what was executed. */
static uint64_t decode(ipt_cache *c, uint64_t *count)
{
    uint64_t hash = 0xcbf29ce484222325;
    ipt_insn insn;
    int status;
    start(c);
    *count = 0;
    while ((status = ipt_insn_next(&insn_decoder, &insn)) >= 0) {
        hash = (hash ^ insn.ip) * 0x100000001b3;
        hash = (hash ^ insn.size ^ (uint64_t) insn.kind << 8)
               * 0x100000001b3;
        ++*count;
    }
    CHECK_EQ(status, IPT_END);
    return hash;
}

/* With a cache of n lines as with none, twice: cold and warm. */
static void check_cached(size_t n, uint64_t want_count)
{
    uint64_t count;
    uint64_t want = decode(NULL, &count);
    CHECK_EQ(count, want_count);
    CHECK_EQ(ipt_cache_init(&cache, lines, n), IPT_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(decode(&cache, &count), want);
        CHECK_EQ(count, want_count);
    }
}

/* The number of an address space in lines. */
static uint16_t space_of(ipt_cache *c, const ipt_asid *asid)
{
    ipt_place_ place;
    ipti_cache_space(c, &config, asid, 0, &place);
    return ipti_place_space(&place);
}

TEST(init)
{
    static ipt_cache_line guarded[300];
    memset(&cache, 0, sizeof cache);
    CHECK_EQ(ipt_cache_init(&cache, lines, 0), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_init(&cache, lines, 63), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_init(&cache, NULL, 64), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_init(NULL, lines, 64), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_ERR_STATE);
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_OK);
    /* the largest power of two, and not a line more */
    for (size_t n = 64; n < 300; n += 59) {
        size_t power = n < 128 ? 64 : n < 256 ? 128 : 256;
        memset(guarded, 0xa5, sizeof guarded);
        CHECK_EQ(ipt_cache_init(&cache, guarded, n), IPT_OK);
        no_code();
        for (unsigned i = 0; i < 3; i++) nops(ANY, 0x1000 + 0x1000 * i, 0x1000);
        for (unsigned i = 0; i < 1500; i++) /* jmp +5, eight bytes each */
            PUT(&areas[i / 512], 0x1000 + 8 * i, "\x90\xeb\x05");
        PUT(&areas[2], 0x3ff0, "\x75\x00");
        fresh_config();
        add_on(IPT_MODE_64);
        ADD(TNT(1, 0));
        start(&cache);
        for (;;) {
            ipt_insn insn;
            if (ipt_insn_next(&insn_decoder, &insn) < 0) break;
        }
        for (size_t i = 0; i < 300; i++) {
            int untouched = guarded[i].ip_ == 0xa5a5a5a5a5a5a5a5
                            && guarded[i].key_ == 0xa5a5;
            if (i >= power) CHECK(untouched);
        }
    }
}

static uint64_t some_base(const ipt_asid *asid, uint64_t ip, uint8_t mode,
                          void *context)
{
    (void) asid, (void) ip, (void) mode, (void) context;
    return 0x10000;
}

/* Is asked for what config.read was asked for, and no more. */
static uint64_t linear_section(const ipt_asid *asid, uint64_t ip, void *context)
{
    (void) asid, (void) context;
    sections_asked++;
    CHECK(reads);
    CHECK(ip - areas[0].ip < areas[0].size);
    return ip >> 4;
}

TEST(sections_at_linear_addresses)
{
    for (unsigned turn = 0; turn < 4; turn++) {
        ipt_insn insn;
        ipt_block block;
        fresh();
        PUT(nops(ANY, 0x11000, 64), 0x11023, "\x75\xfe");
        config.flags = IPT_CONFIG_RELATIVE_IP;
        config.cs_base = some_base;
        config.section = linear_section;
        add_on(IPT_MODE_32);
        ADD(TNT(1, 0));
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(turn & 1 ? &cache : NULL);
        sections_asked = 0;
        for (unsigned i = 0; turn < 2 && i < 36; i++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000 + i);
        }
        for (unsigned i = 0; turn >= 2 && i < 3; i++) {
            CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
            CHECK_EQ(block.ip, 0x1000 + 0x10 * i);
            CHECK_EQ(block.count, i < 2 ? 16 : 4);
        }
        CHECK(sections_asked >= 36);
    }
}

/* Far more runs than lines, each passed three times. */
TEST(eviction)
{
    area *a;
    no_code();
    a = nops(ANY, 0x1000, SPAN);
    for (unsigned i = 0; i < 500; i++) {
        unsigned skip = i % 3; /* nops before the jmp */
        PUT(a, 0x1000 + 8 * i + skip, "\xeb\x00");
        a->bytes[8 * i + skip + 1] = (uint8_t) (6 - skip);
    }
    PUT(a, 0x1000 + 8 * 500, "\x0f\x85\x5a\xf0\xff\xff"); /* jne 1000 */
    fresh_config();
    add_on(IPT_MODE_64);
    ADD(TNT(3, 6));
    /* 500 jmps, and nops: 167 times 0, 167 times 1, 166 times 2 */
    check_cached(64, 3 * (500 + 167 + 2 * 166 + 1));
    check_cached(1024, 3 * (500 + 167 + 2 * 166 + 1));
}

/* An address in two modes is two pieces of code. */
TEST(modes)
{
    area *a;
    no_code();
    a = nops(ANY, 0x1000, 100);
    PUT(a, 0x1000, "\x48\x40\x90\xff\x28"); /* rex rex nop, or dec inc nop */
    fresh_config();
    add_on(IPT_MODE_64);
    for (unsigned i = 0; i < 6; i++) { /* jmp far [rax] to itself */
        ADD(EXEC32);
        add_ip(IPT_PKT_TIP, 0x1000);
        ADD(EXEC64);
        add_ip(IPT_PKT_TIP, 0x1000);
    }
    /* 64-bit: "48 40 90" and the jmp; 32-bit: three, and the jmp */
    check_cached(64, 6 * 2 + 6 * 4);
}

/* ---- address spaces ---- */

/* Code of the space with cr3 number << 12, at 1000: nops, and jne to itself. */
static unsigned visit_nops(uint64_t number)
{
    return (unsigned) (number % 61);
}

static uint64_t visit_number(const ipt_asid *asid)
{
    return asid->cr3 == IPT_ASID_UNKNOWN ? 0 : asid->cr3 >> 12;
}

static int visit_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    uint64_t n = visit_nops(visit_number(asid));
    (void) context;
    reads++;
    for (size_t i = 0; i < size; i++) {
        uint64_t k = ip - 0x1000 + i;
        buffer[i] = k == n ? 0x75 : k == n + 1 ? 0xfe : 0x90;
    }
    return (int) size;
}

/* The number of the i-th visit: `spaces` of them in turn, except the first,
 * which is of the space that is not known. */
static uint64_t visit(unsigned i, unsigned spaces)
{
    return i ? i % spaces + 1 : 0;
}

/* In each visit the jne is not taken, then an interrupt leads to the next. */
static void check_visits(unsigned spaces, unsigned visits, ipt_cache *c,
                         uint64_t (*space)(const ipt_asid *, void *))
{
    int good = 1;
    ipt_insn insn;

    fresh_config();
    add_on(IPT_MODE_64);
    for (unsigned i = 0; i < visits; i++) {
        ipt_packet fup = IP_(FUP, 1, 0);
        fup.u.ip.payload = 0x1002 + visit_nops(visit(i, spaces));
        ADD(TNT(1, 0));
        if (i + 1 == visits) break;
        add(fup);
        add_pip(visit(i + 1, spaces) << 12);
        ADD(IP_(TIP, 1, 0x1000));
    }
    config.space = space;
    start(c);
    config.read = visit_read;
    for (unsigned i = 0; i < visits && good; i++) {
        unsigned n = visit_nops(visit(i, spaces));
        for (unsigned k = 0; k <= n && good; k++) {
            good &= ipt_insn_next(&insn_decoder, &insn) >= 0;
            good &= insn.ip == 0x1000 + k;
            good &= insn.kind == (k == n ? IPT_INSN_JCC : IPT_INSN_OTHER);
        }
        if (!good) CHECK_EQ(i, visits);
    }
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
}

TEST(many_spaces)
{
    static const unsigned spaces[] = {1, 2, 15, 16, 17, 18, 33, 200};
    for (unsigned i = 0; i < LENGTH(spaces); i++) {
        check_visits(spaces[i], 600, NULL, 0);
        for (size_t n = 64; n <= 1024; n *= 16) {
            CHECK_EQ(ipt_cache_init(&cache, lines, n), IPT_OK);
            check_visits(spaces[i], 600, &cache, 0);
            check_visits(spaces[i], 600, &cache, 0);
        }
    }
    /* few spaces are read once */
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    check_visits(9, 600, &cache, 0);
    CHECK_EQ(reads, 10);
    check_visits(9, 600, &cache, 0);
    CHECK_EQ(reads, 0);
}

/* Numbers of spaces have 16 bits, and do not come again too early. */
TEST(very_many_spaces)
{
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    check_visits(40000, 66000, &cache, 0);
    check_visits(17, 1000, &cache, 0);
}

/* VMCS and the non-root bit make other spaces, too. */
static int guest_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    uint64_t n = (asid->nr ? 5u : 0u)
                 + (asid->vmcs == IPT_ASID_UNKNOWN ? 0 : asid->vmcs >> 12);
    (void) context;
    for (size_t i = 0; i < size; i++) {
        uint64_t k = ip - 0x1000 + i;
        buffer[i] = k == n ? 0x75 : k == n + 1 ? 0xfe : 0x90;
    }
    return (int) size;
}

TEST(guest_spaces)
{
    static const struct {
        uint64_t vmcs;
        uint8_t nr;
        uint64_t n;
    } rows[] = {{0, 0, 0}, {0x1000, 0, 1}, {0x1000, 1, 6}, {0x2000, 1, 7},
                {0x2000, 0, 2}, {0x1000, 1, 6}, {0x1000, 0, 1},
                {0x2000, 1, 7}};
    for (unsigned cached = 0; cached < 2; cached++) {
        ipt_insn insn;
        fresh_config();
        add_on(IPT_MODE_64);
        for (unsigned i = 0; i < LENGTH(rows); i++) {
            ADD(TNT(1, 0));
            if (i + 1 < LENGTH(rows)) {
                ipt_packet pip = PIP(0x7000, 0);
                ipt_packet vmcs = VMCS(0);
                pip.u.pip.nr = rows[i + 1].nr;
                vmcs.u.vmcs.base = rows[i + 1].vmcs;
                add_ip(IPT_PKT_FUP, 0x1002 + rows[i].n);
                add(pip);
                add(vmcs);
                ADD(TIP(0x1000));
            }
        }
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(cached ? &cache : NULL);
        config.read = guest_read;
        for (unsigned i = 0; i < LENGTH(rows); i++) {
            for (unsigned k = 0; k <= rows[i].n; k++) {
                CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
                CHECK_EQ(insn.ip, 0x1000 + k);
            }
            CHECK_EQ(insn.kind, IPT_INSN_JCC);
        }
        CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
    }
}

/* config.space: spaces with equal numbers share their code. */
static uint64_t space_by_code(const ipt_asid *asid, void *context)
{
    (void) context;
    return visit_nops(visit_number(asid));
}

TEST(shared_spaces)
{
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    /* 610 spaces, but only 61 codes: still more than the cache keeps */
    check_visits(610, 2000, &cache, space_by_code);
    /* two spaces that are the same */
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    check_visits(8, 500, &cache, space_by_code);
    CHECK_EQ(reads, 9); /* 0, 1 .. 8 */
    check_visits(8, 500, &cache, space_by_code);
    CHECK_EQ(reads, 0);
}

static uint64_t one_space(const ipt_asid *asid, void *context)
{
    (void) asid;
    (void) context;
    return 0xffffffffffffffff;
}

TEST(one_space_for_all)
{
    fresh();
    PUT(nops(ANY, 0x1000, 64), 0x1003, "\x75\xfe");
    add_on(IPT_MODE_64);
    for (unsigned i = 0; i < 100; i++) {
        ADD(TNT(1, 0));
        add_ip(IPT_PKT_FUP, 0x1005);
        add_pip((uint64_t) (i + 1) << 12);
        ADD(TIP(0x1000));
    }
    config.space = one_space;
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    for (unsigned i = 0; i < 400; i++) {
        ipt_insn insn;
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000 + i % 4);
    }
    CHECK_EQ(reads, 1);
}

/* ---- invalidation ---- */

/* A loop of `n` jne, each after nops, at 1000, 1100, ...; passed again and
 * again. */
static void add_loop(unsigned n, unsigned times, uint64_t cr3)
{
    area *a = nops(cr3, 0x1000, 0x1000);
    for (unsigned i = 0; i < n; i++) {
        /* nop, nop, nop, jne to the next */
        int32_t rel = i + 1 < n ? 0x100 - 9 : -(int32_t) (0x100 * i + 9);
        uint8_t *p = a->bytes + 0x100 * i + 3;
        p[0] = 0x0f;
        p[1] = 0x85;
        p[2] = (uint8_t) rel;
        p[3] = (uint8_t) (rel >> 8);
        p[4] = p[5] = rel < 0 ? 0xff : 0;
    }
    for (unsigned i = 0; i < n * times; i++) ADD(TNT(1, 1));
}

/* Go once through the loop of n. */
static void pass(unsigned n)
{
    ipt_insn insn;
    for (unsigned i = 0; i < 4 * n; i++) {
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000 + 0x100 * (i / 4) + i % 4);
        CHECK_EQ(insn.kind, i % 4 == 3 ? IPT_INSN_JCC : IPT_INSN_OTHER);
    }
}

/* Each run is nine bytes: 1000 .. 1008, 1100 .. 1108, ... */
TEST(invalidate_ranges)
{
    static const struct {
        uint64_t ip, size;
        unsigned forgotten; /* of four runs */
    } rows[] = {
        {0x1000, 1, 1},
        {0x1008, 1, 1},
        {0x1009, 1, 0},
        {0xfff, 1, 0},
        {0xfff, 2, 1},
        {0x1001, 7, 1},
        {0x1009, 0xf7, 0},
        {0x1009, 0xf8, 1},
        {0x1008, 0xf9, 2},
        {0x1000, 0x309, 4},
        {0x1100, 0x1ff, 2},
        {0, 0x1000, 0},
        {0, 0x1001, 1},
        {0x1308, UINT64_MAX - 0x1308, 1},
        {0x1309, UINT64_MAX - 0x1309, 0},
        {0, UINT64_MAX, 4},
        {UINT64_MAX, 0x1002, 1}, /* over the top */
        {0x2000, UINT64_MAX - 0x1000, 0},
        {0x2000, UINT64_MAX - 0xfff, 0},
        {0x2000, UINT64_MAX - 0xffe, 1},
        {0x1380, UINT64_MAX - 0x3f, 4}, /* all but 64 bytes after the last */
        {0, 0, 4},
        {0x5555, 0, 4}, /* size 0: all of the space */
    };
    static const ipt_asid here = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        for (unsigned k = 0; k < 2; k++) {
            fresh();
            add_on(IPT_MODE_64);
            add_loop(4, 5, ANY);
            CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
            start(&cache);
            pass(4);
            CHECK_EQ(reads, 4);
            pass(4);
            CHECK_EQ(reads, 4);
            CHECK_EQ(ipt_cache_invalidate(&cache, k == 0 ? NULL : &here,
                                          rows[i].ip, rows[i].size),
                     IPT_OK);
            pass(4);
            if (!CHECK_EQ(reads, 4 + rows[i].forgotten)) printf("row %u\n", i);
            pass(4);
            CHECK_EQ(reads, 4 + rows[i].forgotten);
        }
    }
}

/* Two spaces with the same addresses: only the one named is forgotten. */
TEST(invalidate_spaces)
{
    static const ipt_asid a = {0x8000, IPT_ASID_UNKNOWN, 0};
    static const ipt_asid other = {0x9000, IPT_ASID_UNKNOWN, 0};
    static const struct {
        const ipt_asid *asid;
        uint64_t ip, size;
        unsigned forgotten_a, forgotten_other;
    } rows[] = {{&a, 0, 0, 1, 0}, {&other, 0, 0, 0, 1}, {NULL, 0, 0, 1, 1},
                {&a, 0x1001, 1, 1, 0}, {&a, 0x2000, 1, 0, 0},
                {NULL, 0x1002, 1, 1, 1}};
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        unsigned n = 0;
        fresh();
        PUT(nops(ANY, 0x1000, 64), 0x1003, "\x75\xfe");
        add_on(IPT_MODE_64);
        for (unsigned k = 0; k < 6; k++) {
            add_ip(IPT_PKT_FUP, k ? 0x1005 : 0x1000);
            add_pip(k % 2 ? other.cr3 : a.cr3);
            ADD(TIP(0x1000));
            ADD(TNT(1, 0));
        }
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(&cache);
        for (unsigned k = 0; k < 6; k++) {
            unsigned before;
            if (k == 4) {
                CHECK_EQ(reads, 2);
                CHECK_EQ(ipt_cache_invalidate(&cache, rows[i].asid, rows[i].ip,
                                              rows[i].size),
                         IPT_OK);
            }
            before = reads;
            for (n = 0; n < 4; n++) {
                ipt_insn insn;
                CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
                CHECK_EQ(insn.ip, 0x1000 + n);
            }
            if (k == 4) CHECK_EQ(reads - before, rows[i].forgotten_a);
            if (k == 5) CHECK_EQ(reads - before, rows[i].forgotten_other);
        }
    }
}

/* With config.space an address space may be known by another one's name. */
TEST(invalidate_shared_spaces)
{
    static const ipt_asid second = {0x9000, IPT_ASID_UNKNOWN, 0};
    ipt_insn insn;
    fresh();
    PUT(nops(ANY, 0x1000, 64), 0x1003, "\x75\xfe");
    add_on(IPT_MODE_64);
    for (unsigned k = 0; k < 3; k++) {
        add_ip(IPT_PKT_FUP, k ? 0x1005 : 0x1000);
        add_pip(k ? 0x9000 : 0x8000);
        ADD(TIP(0x1000));
        ADD(TNT(1, 0));
    }
    config.space = one_space;
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    for (unsigned k = 0; k < 3; k++) {
        if (k == 2) {
            CHECK_EQ(reads, 1);
            CHECK_EQ(ipt_cache_invalidate(&cache, &second, 0x1000, 1), IPT_OK);
        }
        for (unsigned n = 0; n < 4; n++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000 + n);
        }
    }
    CHECK_EQ(reads, 2);
}

/* ---- examples/frames.h ---- */

#define PROCESSES 6u

static uint8_t memory[PROCESSES][64]; /* frames with code for 1000 */
static frame frames[PROCESSES];
static unsigned tables[PROCESSES]; /* the frame that each process has there */

static int frame_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    const unsigned number = tables[asid->cr3 / 0x1000 - 8];
    (void) context;
    reads++;
    frame_seen(&frames[number], asid, ip);
    return range_read(buffer, size, ip, 0x1000, memory[number], 64);
}

static int one_page(const ipt_asid *asid, uint64_t ip)
{
    frame_seen(&frames[0], asid, ip);
    return frames[0].count;
}

TEST(frames_are_noted_once)
{
    ipt_asid asid = {0x8000, 0, 0};
    memset(frames, 0, sizeof frames);
    CHECK_EQ(one_page(&asid, 0x1000), 1);
    CHECK_EQ(one_page(&asid, 0x1fff), 1);
    CHECK_EQ(one_page(&asid, 0x2000), 2);
    asid.vmcs = 1;
    CHECK_EQ(one_page(&asid, 0x2000), 3);
    asid.nr = 1;
    CHECK_EQ(one_page(&asid, 0x2000), 4);
    CHECK_EQ(one_page(&asid, 0x2000), 4);
    asid.cr3 = 0;
    CHECK_EQ(one_page(&asid, 0x2000), 5);
    CHECK_EQ(one_page(&asid, 0x3000), 5);
}

/* Processes that share frames: 1, 2 ... in the one that is written. What else
 * there is stays, unless that one was met in too many places. */
TEST(written_frames_are_forgotten)
{
    for (unsigned sharers = 1; sharers <= PROCESSES; sharers++) {
        const unsigned forgotten = sharers > FRAME_PLACES ? PROCESSES : sharers;
        const uint8_t jcc[] = {0x75, 0xfe};
        uint64_t hash, count, fuel = 0;
        fresh();
        config.read = frame_read;
        memset(memory, 0x90, sizeof memory);
        memset(frames, 0, sizeof frames);
        add_on(IPT_MODE_64);
        for (unsigned k = 0; k < PROCESSES; k++) {
            tables[k] = k < sharers ? 0 : k;
            memcpy(memory[k] + 3, jcc, sizeof jcc);
            add_ip(IPT_PKT_FUP, k ? 0x1005 : 0x1000);
            add_pip(0x8000 + 0x1000 * k);
            ADD(TIP(0x1000));
            ADD(TNT(1, 0));
        }
        CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
        for (unsigned k = 0; k < 2; k++) {
            (void) decode(&cache, &count);
            CHECK_EQ(reads, k ? 0 : PROCESSES);
        }
        memory[0][0] = 0x66; /* with the nop after it one instruction */
        CHECK_EQ(frames[0].count,
                 sharers > FRAME_PLACES ? FRAME_PLACES + 1 : sharers);
        cache.fuel = &fuel;
        CHECK_EQ(frame_written(&frames[0], &cache), IPT_BUDGET);
        while (frame_written(&frames[0], &cache) == IPT_BUDGET)
            fuel = 4;
        cache.fuel = NULL;
        CHECK_EQ(frames[0].count, 0);
        CHECK_EQ(frame_written(&frames[0], &cache), IPT_OK);
        hash = decode(&cache, &count);
        CHECK_EQ(reads, forgotten);
        CHECK_EQ(decode(NULL, &fuel), hash);
        CHECK_EQ(count, fuel);
    }
}

/* ---- config.space_at ---- */

static unsigned entries;

/* User code below 2000 of each process, and the kernel of all. */
static uint64_t kernel_at(const ipt_asid *asid, uint64_t ip, uint64_t *first,
                          uint64_t *last, void *context)
{
    (void) context;
    entries++;
    CHECK_EQ(*first, ip & ~0xfffull);
    CHECK_EQ(*last, ip | 0xfff);
    *first = ip < 0x2000 ? 0 : 0x2000;
    *last = ip < 0x2000 ? 0x1fff : UINT64_MAX;
    return ip < 0x2000 ? asid->cr3 : 0x8000;
}

static unsigned wide;

/* Code below 2000 is that of all, and the rest that of each: but these numbers
 * are not of the same code elsewhere. wide: one process has both in one. */
static uint64_t library_at(const ipt_asid *asid, uint64_t ip, uint64_t *first,
                           uint64_t *last, void *context)
{
    (void) context;
    if (wide && asid->cr3 == 0x8000) {
        *first = 0x1000;
        *last = 0x2fff;
    }
    return ip < 0x2000 || asid->cr3 == 0x8000 ? 7 : 8;
}

/* Two processes in turn, and a kernel that was met by the other one before. */
static void user_and_kernel(void)
{
    fresh();
    PUT(nops(0x8000, 0x1000, 64), 0x1003, "\x75\xfe");
    PUT(nops(0x9000, 0x1000, 64), 0x1005, "\x75\xfe");
    PUT(nops(ANY, 0x2000, 64), 0x2002, "\x75\xfe");
    add_on(IPT_MODE_64);
    add_ip(IPT_PKT_FUP, 0x1000);
    add_pip(0x8000);
    ADD(TIP(0x1000));
    for (unsigned k = 0; k < 6; k++) {
        ADD(TNT(1, 0));
        add_ip(IPT_PKT_FUP, k % 2 ? 0x1007 : 0x1005);
        ADD(TIP(0x2000));
        ADD(TNT(1, 0));
        add_ip(IPT_PKT_FUP, 0x2004);
        add_pip(k % 2 ? 0x8000 : 0x9000);
        ADD(TIP(0x1000));
    }
    ADD(TNT(1, 0));
    config.space_at = kernel_at;
}

#define USER_AND_KERNEL (3 * (4 + 3 + 6 + 3) + 4)

TEST(kernel_is_shared)
{
    static const ipt_asid other = {0x9000, IPT_ASID_UNKNOWN, 0};
    uint64_t count;

    user_and_kernel();
    check_cached(64, USER_AND_KERNEL);
    check_cached(1024, USER_AND_KERNEL);
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    for (unsigned i = 0; i < 2; i++) {
        entries = 0;
        (void) decode(&cache, &count);
        CHECK_EQ(reads, i ? 0 : 3);
        CHECK_EQ(entries, 13); /* where flow enters user code, or the kernel */
    }
    config.space_at = NULL; /* a decoder without it knows the processes */
    (void) decode(&cache, &count);
    config.space_at = kernel_at;
    /* whoever's kernel it is that changes */
    PUT(&areas[2], 0x2000, "\x66\x90\x75\xfe");
    (void) decode(&cache, &count);
    CHECK_EQ(count, USER_AND_KERNEL);
    CHECK_EQ(ipt_cache_invalidate(&cache, &other, 0x2000, 64), IPT_OK);
    (void) decode(&cache, &count);
    CHECK_EQ(count, USER_AND_KERNEL - 6);
    CHECK_EQ(reads, 1);
    config.space_at = NULL;
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    (void) decode(&cache, &count);
    CHECK_EQ(reads, 4);
    CHECK_EQ(count, USER_AND_KERNEL - 6);
}

/* Flow goes on from code of all, in the middle of an instruction, to code of
 * each: 0f 1f 00 in one process, 0f a2 in the other. */
TEST(end_of_a_range)
{
    for (unsigned i = 0; i < 4; i++) {
        const unsigned split = i % 2;
        wide = i / 2;
        fresh();
        nops(ANY, 0x1ff0, 16);
        if (split) PUT(&areas[0], 0x1fff, "\x0f");
        PUT(nops(0x8000, 0x2000, 64), 0x2000, "\x1f\0\x90\x75\xfe");
        PUT(nops(0x9000, 0x2000, 64), 0x2000, "\xa2\x90\x90\x90\x75\xfe");
        if (!split) areas[1].bytes[0] = areas[2].bytes[0] = 0x90;
        areas[1].bytes[1] = split ? 0 : 0x90;
        add_on(IPT_MODE_64);
        add_ip(IPT_PKT_FUP, 0x1000);
        add_pip(0x8000);
        ADD(TIP(0x1ff0));
        for (unsigned k = 0; k < 6; k++) {
            ADD(TNT(1, 0));
            add_ip(IPT_PKT_FUP, k % 2 ? 0x2006 : 0x2005);
            add_pip(k % 2 ? 0x8000 : 0x9000);
            ADD(TIP(0x1ff0));
        }
        config.space_at = library_at;
        for (size_t n = 64; n <= 1024; n *= 16)
            check_cached(n, split ? 6 * 16 + 3 * (2 + 4)
                                  : 6 * 16 + 3 * (4 + 5));
        CHECK(split ? reads > 0 : reads == 0);
    }
}

static void cover(uint8_t *map, ipt_cache *c, ipt_cov_memo *memo)
{
    static ipt_cov_decoder decoder;
    ipt_cov_config cov = {0};

    memset(map, 0, 256);
    cov.bitmap = map;
    cov.bitmap_size = 256;
    cov.memo = memo;
    CHECK_EQ(ipt_cov_init(&decoder, &config, &cov, &trace, c), IPT_OK);
    CHECK_EQ(ipt_cov_run(&decoder), IPT_END);
    CHECK_EQ(decoder.verdict, 0);
}

/* What coverage learns on its way from the kernel down to user code is not
 * found by the kernel's name in another process. */
TEST(covered_ranges)
{
    static ipt_cov_line memo_lines[1024];
    static uint8_t want[256], got[256];
    ipt_cov_memo memo;

    fresh();
    PUT(nops(0x8000, 0x1000, 64), 0x1003, "\x75\xfe");
    PUT(nops(0x9000, 0x1000, 64), 0x1005, "\x75\xfe");
    PUT(nops(ANY, 0x2000, 64), 0x2000, "\x75\xfe\xff\xe0");
    add_on(IPT_MODE_64);
    add_ip(IPT_PKT_FUP, 0x1000);
    for (unsigned k = 0; k < 8; k++) {
        add_pip(k % 2 ? 0x9000 : 0x8000);
        ADD(TIP(0x2000));
        for (unsigned i = 0; i < 2; i++) {
            ADD(TNT(1, 0));
            ADD(TIP(0x1000));
            ADD(TNT(1, 0));
            add_ip(IPT_PKT_FUP, k % 2 ? 0x1007 : 0x1005);
            if (i == 0) ADD(TIP(0x2000));
        }
    }
    ADD(TIP(0x2000));
    config.space_at = kernel_at;
    start(NULL);
    cover(want, NULL, NULL);
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, 1024), IPT_OK);
    for (unsigned i = 0; i < 3; i++) {
        cover(got, &cache, &memo);
        CHECK(!memcmp(got, want, sizeof got));
    }
}

/* The bytes of instructions are found so, too. */
TEST(bytes_of_ranges)
{
    static const ipt_asid first = {0x8000, IPT_ASID_UNKNOWN, 0};
    static const ipt_asid second = {0x9000, IPT_ASID_UNKNOWN, 0};
    uint8_t got[4];

    user_and_kernel();
    areas[0].ip = areas[1].ip = 0x1ffe;
    PUT(&areas[0], 0x1ffe, "\1\2");
    PUT(&areas[1], 0x1ffe, "\3\4");
    areas[0].size = areas[1].size = 2;
    config.read = area_read;
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    for (unsigned i = 0; i < 4; i++) {
        reads = 0;
        CHECK_EQ(ipt_cache_code(&cache, &config, i % 2 ? &second : &first,
                                IPT_MODE_64, 0x1ffe, got, 4),
                 IPT_OK);
        CHECK(!memcmp(got, i % 2 ? "\3\4\x90\x90" : "\1\2\x90\x90", 4));
        CHECK_EQ(reads, i == 0 ? 2 : i == 1 ? 1 : 0);
    }
}

/* A process below 1010, all from there on. */
static uint64_t split_at(const ipt_asid *asid, uint64_t ip, uint64_t *first,
                         uint64_t *last, void *context)
{
    (void) context;
    *first = ip < 0x1010 ? 0 : 0x1010;
    *last = ip < 0x1010 ? 0x100f : UINT64_MAX;
    return ip < 0x1010 ? asid->cr3 : 1;
}

/* Also where a range ends within what one line has. */
TEST(bytes_of_ranges_that_meet)
{
    uint8_t got[4];

    fresh();
    memset(nops(0x8000, 0x1000, 16)->bytes, 1, 16);
    memset(nops(0x9000, 0x1000, 16)->bytes, 2, 16);
    nops(ANY, 0x1010, 64);
    config.read = area_read;
    config.space_at = split_at;
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    for (unsigned i = 0; i < 4; i++) {
        const ipt_asid asid = {i % 2 ? 0x9000 : 0x8000, IPT_ASID_UNKNOWN, 0};
        reads = 0;
        CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x100e,
                                got, 4), IPT_OK);
        CHECK(!memcmp(got, i % 2 ? "\2\2\x90\x90" : "\1\1\x90\x90", 4));
        CHECK_EQ(reads, i == 0 ? 2 : i == 1 ? 1 : 0);
    }
}

/* Code after 4 GiB is at the bottom; such a run is not kept, so nothing of it
 * has to be forgotten. */
TEST(wrapped_run_is_not_kept)
{
    ipt_insn insn;
    fresh();
    nops(ANY, 0xfffffff0, 0x10);
    PUT(nops(ANY, 0, 0x100), 1, "\x75\xfa"); /* to fffffffd */
    add_on(IPT_MODE_32);
    add_ip(IPT_PKT_FUP, 0x1000);
    add_ip(IPT_PKT_TIP, 0xfffffffd);
    for (unsigned k = 0; k < 3; k++) ADD(TNT(1, 1));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    for (unsigned k = 0; k < 15; k++) {
        if (k % 5 == 0) reads = 0;
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, (uint32_t) (0xfffffffd + k % 5));
        if (k % 5 == 0) CHECK(reads > 0);
    }
}

/* Such a run that is in use is forgotten all the same. */
TEST(wrapped_run_in_use)
{
    for (unsigned at_insn = 1; at_insn < 5; at_insn++) {
        ipt_insn insn;
        area *low;
        fresh();
        nops(ANY, 0xfffffff0, 0x10);
        low = nops(ANY, 0, 0x100);
        add_on(IPT_MODE_32);
        add_ip(IPT_PKT_FUP, 0x1000);
        add_ip(IPT_PKT_TIP, 0xfffffffd);
        ADD(TNT(1, 1));
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1000, 1), IPT_OK);
        start(&cache);
        for (unsigned i = 0; i < at_insn; i++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, (uint32_t) (0xfffffffd + i));
            CHECK_EQ(insn.kind, IPT_INSN_OTHER);
        }
        PUT(low, 4, "\x75\xfe");
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 4, 2), IPT_OK);
        for (unsigned i = at_insn; i < 7; i++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, (uint32_t) (0xfffffffd + i));
        }
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK(insn.ip == 4);
        CHECK(insn.kind == IPT_INSN_JCC);
    }
}

/* ---- code that changes under way ---- */

/* One unit of fuel for 16 lines; it goes on where it stopped. */
TEST(invalidate_fuel)
{
    for (uint64_t turn = 0; turn < 10; turn++) {
        const uint64_t step = 1 + turn / 2;
        const unsigned count = turn % 2 ? 1024 : 64;
        uint64_t units = 0;
        unsigned calls = 0;
        fresh();
        add_on(IPT_MODE_64);
        add_loop(4, 5, ANY);
        CHECK_EQ(ipt_cache_init(&cache, lines, count), IPT_OK);
        start(&cache);
        pass(4);
        cache.fuel = &units;
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_BUDGET);
        do {
            CHECK_EQ(units, 0);
            units = step;
            if (!CHECK(++calls < 100)) break;
        } while (ipt_cache_invalidate(&cache, NULL, 0, 0) == IPT_BUDGET);
        CHECK_EQ(calls, (count / 16 + step - 1) / step);
        CHECK_EQ(units, calls * step - count / 16);
        cache.fuel = NULL;
        pass(4);
        CHECK_EQ(reads, 8); /* all four are forgotten */
        pass(4);
        CHECK_EQ(reads, 8);
    }
}

/* After 65535 address spaces their numbers begin again. Until everything is
 * forgotten, a bit at each call, there is no cache. */
TEST(space_numbers_run_out)
{
    static ipt_cache_line many[8192];
    ipt_asid asid = {0, 0, 0};
    unsigned without = 0;
    uint32_t version_before;
    uint64_t units = 0;
    fresh_config();
    config.fuel = &units;
    CHECK_EQ(ipt_cache_init(&cache, many, LENGTH(many)), IPT_OK);
    version_before = cache.version_;
    for (uint32_t i = 0; i < 35000; i++) {
        uint16_t id;
        uint32_t version = cache.version_;
        asid.cr3 = (uint64_t) i << 12;
        units = 1000;
        id = space_of(&cache, &asid);
        CHECK(units >= 1000 - 64);
        without += id == 0;
        if (id == 0) CHECK(units < 1000); /* forgetting is work, too */
        if (id == 0) continue;
        if (cache.version_ != version) CHECK_EQ(id, 1);
        if (id == 1) /* except the one that has the number */
            for (unsigned k = 0; k < LENGTH(many); k++)
                CHECK(many[k].key_ == 0 || many[k].key_ == IPTI_BY_ASID);
        ipt_cache_line one = {.ip_ = 0x1000, .size_ = 1};
        one.key_ = ipti_cache_key(id, IPT_MODE_64);
        (void) ipti_cache_put(&cache, &one);
        CHECK_EQ(space_of(&cache, &asid),
                 id == IPTI_SPACE_MAX ? 0 : id);
        without += id == IPTI_SPACE_MAX;
    }
    CHECK_EQ(without, 2 * 7);
    /* nobody uses an old number from then on */
    CHECK_EQ(cache.version_ - version_before, 2);
    config.fuel = NULL;
}

/* In the middle of a run: the rest of it is new at once. */
TEST(changed_inside_a_run)
{
    for (unsigned at_insn = 1; at_insn < 10; at_insn++) {
        ipt_insn insn;
        area *a;
        unsigned i;
        fresh();
        a = nops(ANY, 0x1000, 64);
        PUT(a, 0x100a, "\x75\xfe");
        add_on(IPT_MODE_64);
        ADD(TNT(2, 0));
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(&cache);
        for (i = 0; i < at_insn; i++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000 + i);
        }
        /* now there are three-byte nops up to a jne at 1020 */
        for (unsigned k = at_insn; k < 0x20 - 3; k += 3)
            PUT(a, 0x1000 + k, "\x0f\x1f\x00");
        PUT(a, 0x1000 + at_insn + 9, "\x75\x00\x75\x00");
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1000 + at_insn, 1),
                 IPT_OK);
        for (i = 0; i < 3; i++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000 + at_insn + 3 * i);
            CHECK_EQ(insn.size, 3);
        }
        for (i = 0; i < 2; i++) {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000 + at_insn + 9 + 2 * i);
            CHECK_EQ(insn.kind, IPT_INSN_JCC);
        }
        CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
    }
}

/* Blocks, too, which stop inside of a run at an event. */
TEST(changed_between_blocks)
{
    ipt_block block;
    area *a;
    fresh();
    a = nops(ANY, 0x1000, 64);
    PUT(a, 0x100a, "\x75\xfe");
    add_on(IPT_MODE_64);
    ADD(TSX(1, 0));
    ADD(FUP(0x1003));
    ADD(TNT(1, 1));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
    CHECK_EQ(block.ip, 0x1000);
    CHECK_EQ(block.count, 3);
    PUT(a, 0x1003, "\x0f\x1f\x00\x75\x00");
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1003, 5), IPT_OK);
    CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
    CHECK_EQ(block.ip, 0x1003);
    CHECK_EQ(block.count, 2);
    CHECK_EQ(block.end_ip, 0x1006);
    CHECK_EQ(ipt_blk_next(&blk_decoder, &block), IPT_END);
}

/* Blocks of whole runs, where nothing else happens: a range of code is
 * forgotten, or all of an address space. */
TEST(changed_between_runs)
{
    for (int whole = 0; whole < 2; whole++) {
        ipt_block block;
        area *a;
        fresh();
        a = nops(ANY, 0x1000, 64);
        PUT(a, 0x1000, "\x75\xfe"); /* to itself */
        add_on(IPT_MODE_64);
        ADD(TNT(6, 0x3f));
        ADD(TNT(6, 0x3f));
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(&cache);
        for (unsigned i = 0; i < 8; i++) {
            if (i == 4) {
                PUT(a, 0x1000, "\x90\x75\xfd"); /* a NOP, and back to it */
                CHECK_EQ(ipt_cache_invalidate(
                             &cache, whole ? &blk_decoder.at.asid : NULL,
                             whole ? 0 : 0x1000, whole ? 0 : 1), IPT_OK);
            }
            CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
            CHECK_EQ(block.ip, 0x1000);
            CHECK_EQ(block.count, i < 4 ? 1 : 2);
        }
    }
}

/* The error of a branch that has taken an event comes again, and that event is
 * not handed out before the branch. */
TEST(changed_before_an_error)
{
    ipt_block block;
    ipt_insn insn;
    area *a;
    fresh();
    a = nops(ANY, 0x1000, 64);
    PUT(a, 0x1003, "\x48\xcf"); /* iretq */
    add_on(IPT_MODE_64);
    add_pip(0x5000);
    add_pip(0x6000); /* an IRET loads CR3 once */
    ADD(TIP(0x1020));
    for (int cached = 0; cached < 2; cached++) {
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(cached ? &cache : NULL);
        CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
        CHECK_EQ(block.count, 3);
        for (int i = 0; i < 3; i++)
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(ipt_blk_next(&blk_decoder, &block), IPT_ERR_MISMATCH);
            CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_ERR_MISMATCH);
            CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x9000, 5), IPT_OK);
        }
    }
}

/* An error comes again and again, then the code is changed: what was passed
 * before it counts once. */
TEST(changed_before_a_trigger)
{
    ipt_block block;
    ipt_event event = {0};
    area *a;
    fresh();
    a = nops(ANY, 0x1000, 64);
    add_on(IPT_MODE_64);
    ADD(TRIG(1, 0, 1, 5, 0));
    ADD(TNT(1, 1));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    PUT(a, 0x1002, "\x75\xfe"); /* jcc: it would come before the TRIG */
    start(&cache);
    CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
    CHECK_EQ(block.count, 2);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(ipt_blk_next(&blk_decoder, &block), IPT_ERR_MISMATCH);
    PUT(a, 0x1002, "\x90\x90\x90\x75\xfe");
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1002, 5), IPT_OK);
    CHECK_EQ(ipt_blk_next(&blk_decoder, &block), IPT_EVENT_PENDING);
    CHECK_EQ(block.ip, 0x1002);
    CHECK_EQ(block.count, 3);
    CHECK_EQ(ipt_blk_event(&blk_decoder, &event), IPT_OK);
    CHECK_EQ(event.type, IPT_EVT_TRIG);
    CHECK_EQ(event.ip, 0x1005);
    CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
    CHECK_EQ(block.ip, 0x1005);
}

/* A block in progress, because a page is missing: what was passed stays. */
TEST(changed_inside_a_block)
{
    ipt_block block;
    area *a;
    fresh();
    a = nops(ANY, 0x1ff0, 0x10);
    PUT(a, 0x1ff0, "\xeb\x00");
    add_on(IPT_MODE_64);
    used = 0;
    ADD(PSB);
    ADD(EXEC64);
    ADD(FUP(0x1ff0));
    ADD(PSBEND);
    ADD(TNT(1, 0));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    CHECK_EQ(ipt_blk_next(&blk_decoder, &block), IPT_NEED_PAGE);
    CHECK_EQ(blk_decoder.at.missing, 0x2000);
    PUT(a, 0x1ff4, "\xf4\xf4\xf4"); /* too late */
    PUT(nops(ANY, 0x2000, 16), 0x2001, "\x75\x00");
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_OK);
    CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
    CHECK_EQ(block.ip, 0x1ff0);
    CHECK_EQ(block.count, 1 + 14 + 2);
    CHECK_EQ(block.end_ip, 0x2001);
    CHECK_EQ(ipt_blk_next(&blk_decoder, &block), IPT_END);
}

/* Without a cache, code is read each time that it is passed. */
TEST(changed_without_a_cache)
{
    ipt_insn insn;
    area *a;
    fresh();
    a = nops(ANY, 0x1000, 64);
    PUT(a, 0x1001, "\x75\xfd"); /* to 1000 */
    add_on(IPT_MODE_64);
    ADD(TNT(3, 7));
    start(NULL);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000);
        CHECK_EQ(insn.size, 1 + i);
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1001 + i);
        if (i == 0) PUT(a, 0x1000, "\x66\x90\x75\xfc");
        if (i == 1) PUT(a, 0x1000, "\x66\x66\x90\x75\xfb");
    }
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
}

/* With a cache it need not be seen, before ipt_cache_invalidate. */
TEST(changed_with_a_cache)
{
    ipt_insn insn;
    area *a;
    fresh();
    a = nops(ANY, 0x1000, 64);
    PUT(a, 0x1001, "\x75\xfd");
    add_on(IPT_MODE_64);
    ADD(TNT(4, 15));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    for (unsigned i = 0; i < 4; i++) {
        unsigned shift = i == 3;
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000);
        CHECK_EQ(insn.size, 1 + shift);
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1001 + shift);
        if (i == 0) PUT(a, 0x1000, "\x66\x90\x75\xfc");
        if (i == 2)
            CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1000, 1), IPT_OK);
    }
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
}

/* Two decoders share a cache: what one reads the other one finds, and both
 * see an invalidation. */
TEST(shared_cache)
{
    ipt_insn insn;
    ipt_block block;
    area *a;
    fresh();
    a = nops(ANY, 0x1000, 64);
    PUT(a, 0x1008, "\x75\x00");
    add_on(IPT_MODE_64);
    ADD(TNT(1, 0));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK_EQ(reads, 1);
    CHECK(ipt_blk_next(&blk_decoder, &block) >= 0);
    CHECK_EQ(reads, 1);
    CHECK_EQ(block.count, 9);
    PUT(a, 0x1001, "\x75\x00");
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1001, 2), IPT_OK);
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK_EQ(insn.ip, 0x1001);
    CHECK_EQ(insn.kind, IPT_INSN_JCC);
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
    CHECK_EQ(reads, 2);
}

/* What is not there is not remembered. */
TEST(misses_are_not_cached)
{
    ipt_insn insn;
    fresh();
    add_on(IPT_MODE_64);
    ADD(TNT(1, 0));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_NEED_PAGE);
    nops(ANY, 0x1000, 2);
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_NEED_PAGE);
    CHECK_EQ(insn_decoder.at.missing, 0x1002);
    areas[0].size = 64;
    PUT(&areas[0], 0x1002, "\x06");
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_ERR_BAD_INSN);
    PUT(&areas[0], 0x1002, "\x75\x00");
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK_EQ(insn.ip, 0x1002);
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_END);
}

/* ---- bytes of code ---- */

/* Decode all, and ask for the bytes of each instruction, which are in `a`.
 * Returns how often config.read was called for them. */
static unsigned ask_for_bytes(ipt_cache *c, const area *a)
{
    unsigned asked = 0, n = 0;
    ipt_insn insn;

    start(c);
    while (ipt_insn_next(&insn_decoder, &insn) >= 0) {
        uint8_t got[17];
        const unsigned before = reads;
        memset(got, 0xa5, sizeof got);
        CHECK_EQ(ipt_cache_code(c, &config, &insn_decoder.at.asid, insn.mode,
                                insn.ip, got + 1, insn.size),
                 IPT_OK);
        CHECK(!memcmp(got + 1, a->bytes + (insn.ip - a->ip), insn.size));
        CHECK_EQ(got[0], 0xa5);
        CHECK_EQ(got[insn.size + 1], 0xa5);
        asked += reads - before;
        n++;
    }
    CHECK_EQ(n, 207);
    return asked;
}

/* 101 nops of 9 bytes, one of them in two pages, from 0x1c90 on; twice. */
static area *add_long_nops(void)
{
    area *a;

    no_code();
    a = nops(ANY, 0x1c00, 0x1000);
    for (unsigned i = 0; i < 101; i++)
        put(a, 0x1c90 + 9 * i, "\x66\x0f\x1f\x84\x00\x01\x02\x03\x04", 9);
    PUT(a, 0x1c90 + 9 * 101, "\x75\x02\x90\x90\x90\xe9");
    put(a, 0x1c90 + 9 * 101 + 6, "\x68\xfc\xff\xff", 4);
    used = 0;
    ADD(PSB);
    ADD(EXEC64);
    ADD(FUP(0x1c90));
    ADD(PSBEND);
    ADD(TNT(2, 2));
    return a;
}

/* The bytes from `ip` on, by ipt_cache_code. */
static const uint8_t *bytes_at(uint8_t mode, uint64_t ip, size_t size)
{
    static uint8_t got[128];
    const ipt_asid asid = {ANY, ANY, 0};

    config.read = area_read;
    CHECK_EQ(ipt_cache_code(&cache, &config, &asid, mode, ip, got, size),
             IPT_OK);
    return got;
}

TEST(C4_bytes)
{
    const ipt_asid asid = {ANY, ANY, 0};
    uint8_t got[17];
    area *a;

    fresh_config();
    a = add_long_nops();
    for (unsigned n = 64; n <= LENGTH(lines); n *= 4) {
        unsigned asked;
        CHECK_EQ(ipt_cache_init(&cache, lines, n), IPT_OK);
        asked = ask_for_bytes(&cache, a);
        CHECK(n == 64 || asked < 20); /* of 909 bytes: where the window has moved on */
        asked = ask_for_bytes(&cache, a);
        CHECK(n == 64 || asked == 0);
    }
    reads = 0;
    CHECK(!memcmp(bytes_at(IPT_MODE_64, 0x1c90 + 900, 3), a->bytes + 0x90 + 900,
                  3));
    CHECK_EQ(reads, 0);
    /* more than instructions, or than one read; in another mode; none */
    CHECK(!memcmp(bytes_at(IPT_MODE_64, 0x1c90 + 880, 128),
                  a->bytes + 0x90 + 880, 128));
    CHECK(!memcmp(bytes_at(IPT_MODE_32, ((uint64_t) 1 << 32) + 0x1c90, 9),
                  a->bytes + 0x90, 9));
    CHECK(reads > 0);
    CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x2bf0, got,
                            17),
             IPT_NEED_PAGE);
    /* code that changes */
    CHECK_EQ(bytes_at(IPT_MODE_64, 0x1c90, 9)[4], 0);
    PUT(a, 0x1c94, "\x7f");
    CHECK_EQ(bytes_at(IPT_MODE_64, 0x1c90, 9)[4], 0);
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x1c94, 1), IPT_OK);
    CHECK_EQ(bytes_at(IPT_MODE_64, 0x1c90, 9)[4], 0x7f);
}

/* With IPT_CONFIG_RELATIVE_IP bytes at an ip depend on the mode, too. */
static uint64_t base_by_mode(const ipt_asid *asid, uint64_t ip, uint8_t mode,
                             void *context)
{
    (void) asid;
    (void) ip;
    (void) context;
    return mode == IPT_MODE_16 ? 0x100 : 0;
}

TEST(C4_bytes_of_modes)
{
    area *a;

    fresh_config();
    a = add_long_nops();
    config.flags = IPT_CONFIG_RELATIVE_IP;
    config.cs_base = base_by_mode;
    PUT(a, 0x1c00, "\x11\x22\x33\x44");
    PUT(a, 0x1d00, "\x55\x66\x77\x88");
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(bytes_at(IPT_MODE_16, 0x1c00, 2)[1], 0x66);
        CHECK_EQ(bytes_at(IPT_MODE_32, 0x1c02, 2)[1], 0x44);
        CHECK_EQ(bytes_at(IPT_MODE_32, 0x1c00, 4)[0], 0x11);
    }
    reads = 0;
    CHECK_EQ(bytes_at(IPT_MODE_32, 0x1c00, 4)[3], 0x44);
    CHECK_EQ(reads, 0);
}

TEST(C4_bytes_that_wrap)
{
    area *a;

    fresh();
    a = nops(ANY, 0xfffff000, 0x1000);
    PUT(a, 0xffffffff, "\x11");
    a = nops(ANY, 0, 0x1000);
    PUT(a, 0, "\x22\x33");
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    for (int i = 0; i < 2; i++)
        CHECK(!memcmp(bytes_at(IPT_MODE_32, 0xffffffff, 3), "\x11\x22\x33", 3));
    reads = 0; /* those after the wrap are of the lowest addresses */
    CHECK(!memcmp(bytes_at(IPT_MODE_32, 0, 2), "\x22\x33", 2));
    CHECK_EQ(reads, 0);
}

TEST(C4_bytes_of_spaces)
{
    uint8_t got[2];
    ipt_asid asid = {0, ANY, 0};

    for (int shared = 0; shared < 2; shared++) {
        CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
        check_visits(9, 600, &cache, shared ? space_by_code : 0);
        for (unsigned again = 0; again < 2; again++) {
            reads = 0;
            for (uint64_t i = 1; i <= 9; i++) {
                asid.cr3 = i << 12;
                CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64,
                                        0x1000 + visit_nops(i), got, 2),
                         IPT_OK);
                CHECK_EQ(got[0], 0x75);
                CHECK_EQ(got[1], 0xfe);
            }
            CHECK(again ? reads == 0 : reads > 0);
        }
        asid.cr3 = 77 << 12; /* never met */
        reads = 0;
        (void) ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x1000, got,
                              2);
        CHECK(shared || reads == 1);
    }
}

TEST(C4_bytes_refused)
{
    static ipt_cache never;
    const ipt_asid asid = {ANY, ANY, 0};
    uint64_t fuel = 0;
    uint8_t got[1];

    fresh();
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
#define GET(...) ipt_cache_code(__VA_ARGS__, got, 1)
    CHECK_EQ(GET(&cache, &config, &asid, 3, 0), IPT_ERR_ARG);
    config.read = area_read;
    CHECK_EQ(GET(NULL, &config, &asid, 3, 0), IPT_ERR_ARG);
    CHECK_EQ(GET(&never, &config, &asid, 3, 0), IPT_ERR_STATE);
    CHECK_EQ(GET(&cache, NULL, &asid, 3, 0), IPT_ERR_ARG);
    CHECK_EQ(GET(&cache, &config, NULL, 3, 0), IPT_ERR_ARG);
    CHECK_EQ(GET(&cache, &config, &asid, 0, 0), IPT_ERR_ARG);
    CHECK_EQ(GET(&cache, &config, &asid, 4, 0), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_code(&cache, &config, &asid, 3, 0, NULL, 1),
             IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_code(&cache, &config, &asid, 3, 0, got, 0), IPT_OK);
    CHECK_EQ(GET(&cache, &config, &asid, 3, 0), IPT_NEED_PAGE);
    config.fuel = &fuel;
    CHECK_EQ(GET(&cache, &config, &asid, 3, 0), IPT_BUDGET);
    fuel = 100;
    CHECK_EQ(GET(&cache, &config, &asid, 3, 0), IPT_NEED_PAGE);
    CHECK(fuel < 100);
    config.fuel = NULL;
#undef GET
}

/* ---- classifiers ---- */

static ipt_code said;
static int says;
static unsigned asked;
static size_t asked_least, asked_most;
static uint8_t asked_mode;
static void *asked_context;

static int liar(ipt_code *code, const uint8_t *p, size_t size, uint8_t mode,
                void *context)
{
    (void) p;
    if (!asked++ || size < asked_least) asked_least = size;
    if (size > asked_most) asked_most = size;
    asked_mode = mode;
    asked_context = context;
    *code = said;
    return says;
}

/* Whatever the classifier says, flow stops with `status`; with IPT_END it goes
 * through six instructions. */
static void check_liar(int result, uint8_t size, uint8_t kind, int status)
{
    for (unsigned cached = 0; cached < 2; cached++) {
        ipt_insn insn;
        ipt_block block;
        fresh();
        nops(ANY, 0x1000, SPAN);
        add_on(IPT_MODE_32);
        ADD(TNT(6, 0));
        config.classify = liar;
        config.context = &said;
        memset(&said, 0, sizeof said);
        said.size = size;
        said.kind = kind;
        says = result;
        asked = 0;
        asked_most = 0;
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(cached ? &cache : NULL);
        if (status == IPT_END) {
            for (unsigned i = 0; i < 6; i++) {
                CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
                CHECK_EQ(insn.ip, 0x1000 + i * size);
                CHECK_EQ(insn.size, size);
                CHECK_EQ(insn.kind, kind);
            }
        }
        for (unsigned i = 0; i < 3; i++)
            CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), status);
        if (status != IPT_END) {
            CHECK_EQ(ipt_blk_next(&blk_decoder, &block), status);
            CHECK_EQ(insn_decoder.at.ip, 0x1000);
        }
        CHECK(asked_least > 0);
        CHECK(asked_most <= 4096);
        CHECK_EQ(asked_mode, IPT_MODE_32);
        CHECK(asked_context == &said);
        CHECK(asked < 1000);
        if (status == IPT_END) continue;
        says = IPT_OK; /* a new answer will do */
        said.size = 1;
        said.kind = IPT_INSN_JCC;
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000);
    }
}

TEST(classifiers)
{
    check_liar(IPT_OK, 1, IPT_INSN_JCC, IPT_END);
    check_liar(IPT_OK, 15, IPT_INSN_JCC, IPT_END);
    check_liar(IPT_OK, 0, IPT_INSN_JCC, IPT_ERR_CALLBACK);
    check_liar(IPT_OK, 0, IPT_INSN_OTHER, IPT_ERR_CALLBACK);
    check_liar(IPT_OK, 16, IPT_INSN_JCC, IPT_ERR_CALLBACK);
    check_liar(IPT_OK, 255, IPT_INSN_JCC, IPT_ERR_CALLBACK);
    check_liar(IPT_OK, 1, IPT_INSN_COUNT, IPT_ERR_CALLBACK);
    check_liar(IPT_OK, 1, 255, IPT_ERR_CALLBACK);
    check_liar(IPT_MORE, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(IPT_ERR_BAD_INSN, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(IPT_ERR_ARG, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(IPT_END, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(IPT_NEED_PAGE, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(IPT_BUDGET, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(-1000000, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
    check_liar(INT32_MIN, 1, IPT_INSN_JCC, IPT_ERR_BAD_INSN);
}

/* One that writes nothing, but says that all is well. */
static int silent(ipt_code *code, const uint8_t *p, size_t size, uint8_t mode,
                  void *context)
{
    (void) code;
    (void) p;
    (void) size;
    (void) mode;
    (void) context;
    return IPT_OK;
}

/* Code of two bytes each: 00 is plain, else it is a JMP, of which something is
 * not said. */
static unsigned tired_of; /* bits: 1 size, 2 kind, 4 displacement, 8 ip16 */

static int tired(ipt_code *code, const uint8_t *p, size_t size, uint8_t mode,
                 void *context)
{
    const unsigned n = *p;
    (void) size;
    (void) mode;
    (void) context;
    if (n == 0 || !(tired_of & 1)) code->size = 2;
    if (n == 0 || !(tired_of & 2))
        code->kind = n ? IPT_INSN_JMP : IPT_INSN_OTHER;
    if (n == 0 || !(tired_of & 4)) code->displacement = n ? 4 : 6;
    if (n == 0 || !(tired_of & 8)) code->ip16 = n == 0;
    return IPT_OK;
}

/* What a classifier does not say of an instruction is not that of the one
 * before. */
TEST(classifiers_that_say_little)
{
    for (tired_of = 0; tired_of < 16; tired_of++) {
        ipt_insn insn;
        fresh();
        memset(nops(ANY, 0xf000, SPAN)->bytes, 0, SPAN);
        areas[0].bytes[0xffa] = 1;
        nops(ANY, 0x10000, SPAN);
        used = 0;
        ADD(PSB);
        ADD(EXEC32);
        ADD(FUP(0xfff8));
        ADD(PSBEND);
        ADD(TNT(1, 0));
        config.classify = tired;
        config.flags = IPT_CONFIG_RELATIVE_IP;
        start(NULL);
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0xfff8);
        if (tired_of & 3) {
            CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_ERR_CALLBACK);
            continue;
        }
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0xfffa);
        CHECK_EQ(insn.kind, IPT_INSN_JMP);
        CHECK_EQ(insn_decoder.at.ip, tired_of & 4 ? 0xfffc : 0x10000);
    }
}

/* A size greater than the bytes that are there. */
static int greedy(ipt_code *code, const uint8_t *p, size_t size, uint8_t mode,
                  void *context)
{
    (void) p;
    (void) mode;
    (void) context;
    code->size = (uint8_t) (size < 15 ? size + 1 : 1);
    code->kind = IPT_INSN_OTHER;
    code->displacement = 0;
    return IPT_OK;
}

TEST(more_classifiers)
{
    ipt_insn insn;
    unsigned n = 0;
    int status;
    fresh();
    nops(ANY, 0x1000, 100);
    add_on(IPT_MODE_64);
    ADD(TNT(1, 0));
    config.classify = silent;
    start(NULL);
    CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_ERR_CALLBACK);
    config.classify = greedy;
    start(NULL);
    while ((status = ipt_insn_next(&insn_decoder, &insn)) >= 0) n++;
    CHECK_EQ(status, IPT_ERR_CALLBACK);
    CHECK(n <= 100);
}

/* No instruction is longer than 15 bytes: no more are read for one. */
TEST(a_classifier_that_wants_more)
{
    for (size_t size = 1; size < 40; size++) {
        ipt_insn insn;
        fresh();
        nops(ANY, 0x1000, size);
        add_on(IPT_MODE_64);
        ADD(TNT(1, 0));
        config.classify = liar;
        says = IPT_MORE;
        start(NULL);
        CHECK_EQ(ipt_insn_next(&insn_decoder, &insn),
                 size < 15 ? IPT_NEED_PAGE : IPT_ERR_BAD_INSN);
        if (size < 15) CHECK_EQ(insn_decoder.at.missing, 0x1000 + size);
    }
}

/* ---- where mappings end ---- */

#define PARTS 0x1000u /* code of two mappings, up to `part_end` */

static uint8_t part_code[0x200];
static uint64_t part_split, part_end;
static int part_whole; /* all or nothing */
static unsigned part_reads;

static int part_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint64_t end = ip < part_split ? part_split : part_end;
    (void) asid;
    (void) context;
    part_reads++;
    CHECK(size >= 1);
    CHECK(size <= 96);
    CHECK(ip % 4096 + size <= 4096);
    if (part_whole) memset(buffer, 0xc3, size); /* it is not to be looked at */
    if (ip < PARTS || ip >= end) return 0;
    if (size > end - ip && part_whole) return IPT_NEED_PAGE;
    if (size > end - ip) size = (size_t) (end - ip);
    memcpy(buffer, part_code + (ip - PARTS), size);
    return (int) size;
}

typedef struct part_log {
    size_t count;
    int status;
    uint64_t missing;
    unsigned most; /* calls of config.read for what was missing */
    struct {
        uint64_t ip, end;
        uint16_t flags, count;
    } items[600];
} part_log;

/* What instructions or blocks there are, up to the first code missing. */
static void part_decode(part_log *l, const ipt_trace *stream, int blk, int cached)
{
    static ipt_cache cache_;
    static ipt_cache_line some[64];
    static ipt_blk_decoder b_;
    static ipt_insn_decoder d;
    static ipt_config c;
    int status;
    memset(l, 0, sizeof *l);
    memset(&c, 0, sizeof c);
    c.read = part_read;
    CHECK_EQ(ipt_cache_init(&cache_, some, LENGTH(some)), IPT_OK);
    if (blk) (void) ipt_blk_init(&b_, &c, stream, cached ? &cache_ : NULL);
    else (void) ipt_insn_init(&d, &c, stream, cached ? &cache_ : NULL);
    status = blk ? ipt_blk_sync_forward(&b_) : ipt_insn_sync_forward(&d);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        ipt_block k;
        ipt_insn i;
        part_reads = 0;
        status = blk ? ipt_blk_next(&b_, &k) : ipt_insn_next(&d, &i);
        if (status < 0 || !CHECK(l->count < LENGTH(l->items))) continue;
        l->items[l->count].ip = blk ? k.ip : i.ip;
        l->items[l->count].end = blk ? k.end_ip : i.size;
        l->items[l->count].flags = blk ? k.flags : i.flags;
        l->items[l->count++].count = blk ? k.count : 1;
    }
    CHECK(blk || part_reads <= 20); /* a block may be of several mappings */
    part_reads = 0;
    if (status == IPT_NEED_PAGE) {
        ipt_block k;
        ipt_insn i;
        CHECK_EQ(blk ? ipt_blk_next(&b_, &k) : ipt_insn_next(&d, &i), status);
    }
    l->status = status;
    l->missing = status == IPT_NEED_PAGE
                     ? (blk ? b_.at.missing : d.at.missing) : 0;
    l->most = part_reads;
}

/* Mappings that end at these places give the same, with a cache or without, by
 * a callback that answers in part or one that does not. */
static int check_parts(const ipt_trace *stream, uint64_t split, uint64_t end,
                       int ways)
{
    static part_log logs[2], first[2];
    part_split = split;
    part_end = end;
    for (int how = 0; how < ways; how++)
        for (int blk = 0; blk < 2; blk++) {
            part_whole = how >> 1;
            part_decode(&logs[blk], stream, blk, how & 1);
            if (how == 0) first[blk] = logs[blk];
            if (!CHECK_EQ(logs[blk].status, first[blk].status)
                || !CHECK_EQ(logs[blk].missing, first[blk].missing)
                || !CHECK_EQ(logs[blk].count, first[blk].count)
                || !CHECK(!memcmp(logs[blk].items, first[blk].items,
                                  sizeof first[blk].items))
                || (logs[blk].status == IPT_NEED_PAGE
                    && !CHECK(logs[blk].most <= 20))) {
                printf("    %s %s%s, split at %llx, end at %llx, %u calls\n",
                       blk ? "blk" : "insn", how & 1 ? "cached" : "plain",
                       part_whole ? ", all or nothing" : "",
                       (unsigned long long) split, (unsigned long long) end,
                       logs[blk].most);
                return 0;
            }
        }
    for (size_t i = 0; i < first[0].count; i++) { /* what ipt.h says */
        const uint64_t ip = first[0].items[i].ip;
        const int cut = ip < split && ip + first[0].items[i].end > split;
        if (!CHECK_EQ((first[0].items[i].flags & IPT_FLOW_TRUNCATED) != 0, cut))
            return 0;
    }
    return 1;
}

/* A jump into the middle, MOVs of five and ten bytes, a branch. */
static void part_fill(unsigned to)
{
    size_t i = to;
    memset(part_code, 0x90, sizeof part_code);
    part_code[0] = 0xeb;
    part_code[1] = (uint8_t) (to - 2);
    for (unsigned n = to; i < 0x170; n++) {
        if (n % 3 == 1) part_code[i++] = 0x48;
        if (n % 3) part_code[i++] = 0xb8;
        i += n % 3 == 0 ? 1 : n % 3 == 1 ? 8 : 4;
    }
    part_code[i] = 0xff, part_code[i + 1] = 0xe0;
}

static const ipt_packet part_trace[]
    = {PSB, EXEC64, FUP(PARTS), PSBEND, TIP(PARTS + 0x10), TIP(PARTS),
       PGD(0x5000), PKT(NONE)};

TEST(R4_ends_of_mappings)
{
    static build t;
    build_all(&t, part_trace, LENGTH(part_trace));
    const ipt_segment piece = {t.bytes, t.size};
    const ipt_trace stream = {&piece, 1, 0, 0};
    for (unsigned to = 16; to < 32; to += 5) {
        part_fill(to);
        for (uint64_t split = PARTS; split < PARTS + 0x180; split++)
            if (!check_parts(&stream, split, PARTS + sizeof part_code, 2))
                return;
    }
}

TEST(C1_all_or_nothing)
{
    static build t;
    build_all(&t, part_trace, LENGTH(part_trace));
    const ipt_segment piece = {t.bytes, t.size};
    const ipt_trace stream = {&piece, 1, 0, 0};
    for (unsigned to = 16; to < 32; to += 5) {
        part_fill(to);
        for (uint64_t end = PARTS; end < PARTS + 0x180; end++)
            for (unsigned back = 0; back < 40; back += 13)
                if (!check_parts(&stream, end - back, end, 4)) return;
    }
}

/* All of what is asked for, or nothing. */
static int stingy_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    const int n = area_read(buffer, size, asid, ip, context);

    return n == (int) size ? n : 0;
}

/* Fuel counts each callback, also one that gives nothing. */
TEST(fuel_counts_callbacks)
{
    for (size_t size = 2; size <= 64; size += 62) {
        uint64_t units = 1000;
        ipt_insn insn;
        fresh();
        PUT(nops(ANY, 0x1000, size), 0x1000, "\xff\xe0");
        add_on(IPT_MODE_64);
        ADD(TIP(0x5000));
        start(NULL);
        config.read = stingy_read;
        config.fuel = &units;
        CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK(insn.ip == 0x1000);
        CHECK(insn.kind == IPT_INSN_JMP_INDIRECT);
        if (size == 2) {
            CHECK(reads > 2);
            CHECK(reads <= 20);
        } else {
            CHECK_EQ(reads, 2); /* fewer, and that will do */
        }
        CHECK(1000 - units >= reads + 2); /* it was classified and walked */
        config.fuel = NULL;
    }
}

/* One byte is asked for once. */
TEST(a_byte_that_is_missing)
{
    uint64_t units = 1000;
    ipt_insn insn;
    fresh();
    add_on(IPT_MODE_64);
    add_ip(IPT_PKT_FUP, 0x1000);
    add_ip(IPT_PKT_TIP, 0x1fff);
    ADD(TNT(1, 0));
    start(NULL);
    config.fuel = &units;
    for (unsigned i = 1; i < 4; i++) {
        CHECK_EQ(ipt_insn_next(&insn_decoder, &insn), IPT_NEED_PAGE);
        CHECK_EQ(reads, i);
        CHECK_EQ(insn_decoder.at.missing, 0x1fff);
    }
    config.fuel = NULL;
}

static int wants_bytes(ipt_code *code, const uint8_t *p, size_t size,
                       uint8_t mode, void *context)
{
    CHECK(size > 0);
    return ipt_classify(code, p, size, mode, context);
}

/* A classifier has bytes to look at, wherever the bytes that were read end. */
TEST(classifiers_at_the_end_of_what_was_read)
{
    for (unsigned jump = 0; jump < 32; jump++) {
        area *a;
        fresh();
        config.classify = wants_bytes;
        a = nops(ANY, 0x1000, 256);
        PUT(a, 0x1000 + jump, "\xeb");
        PUT(a, 0x1001 + jump, "\0");
        PUT(a, 0x10f0, "\xff\xe0");
        add_on(IPT_MODE_64);
        ADD(TIP(0x10f0));
        ADD(TIP(0x10f0));
        check_cached(64, 0xf0 - 1 + 2);
    }
}

static unsigned spaces_asked;

static uint64_t counted_space(const ipt_asid *asid, void *context)
{
    spaces_asked++;
    return one_space(asid, context);
}

static unsigned bases_asked;

static uint64_t counted_base(const ipt_asid *asid, uint64_t ip, uint8_t mode,
                             void *context)
{
    (void) asid, (void) ip, (void) mode, (void) context;
    bases_asked++;
    return 0;
}

/* One instruction of a run of NOPs, in this mode. What the test wants of config
 * comes after it, ... */
static void one_insn(uint8_t mode)
{
    fresh();
    PUT(nops(ANY, 0x1000, 64), 0x1000, "\xff\xe0");
    add_on(mode);
    ADD(TIP(0x5000));
}

/* ... and then how much fuel the instruction burns. */
static uint64_t one_burns(ipt_cache *code)
{
    uint64_t units = 1000;
    ipt_insn insn;
    start(code);
    spaces_asked = bases_asked = 0;
    config.fuel = &units;
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK_EQ(insn.ip, 0x1000);
    config.fuel = NULL;
    return 1000 - units;
}

static uint64_t counted_space_at(const ipt_asid *asid, uint64_t ip,
                                 uint64_t *first, uint64_t *last,
                                 void *context)
{
    (void) ip, (void) first, (void) last;
    return counted_space(asid, context);
}

/* config.space is one of them, as is config.space_at: with it, that much more
 * fuel is burned. */
TEST(fuel_counts_spaces)
{
    uint64_t burned[3];
    for (unsigned turn = 0; turn < 3; turn++) {
        one_insn(IPT_MODE_64);
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        config.space = turn == 1 ? counted_space : NULL;
        config.space_at = turn == 2 ? counted_space_at : NULL;
        spaces_asked = 0;
        burned[turn] = one_burns(&cache);
        CHECK_EQ(spaces_asked, turn != 0);
    }
    CHECK_EQ(burned[1], burned[0] + 1);
    CHECK_EQ(burned[2], burned[0] + 1);
}

/* So is config.cs_base, each time. */
TEST(fuel_counts_segments)
{
    uint64_t burned[2];
    for (unsigned turn = 0; turn < 2; turn++) {
        one_insn(IPT_MODE_32);
        config.flags = IPT_CONFIG_RELATIVE_IP;
        config.cs_base = turn ? counted_base : NULL;
        burned[turn] = one_burns(NULL);
        CHECK_EQ(bases_asked > 0, turn);
    }
    CHECK_EQ(burned[1], burned[0] + bases_asked);
}

/* ---- names of address spaces, and pages of code that is in no line ---- */

static const ipt_asid first_space = {0x8000, IPT_ASID_UNKNOWN, 0};

static uint16_t number_of(ipt_cache *of, uint64_t cr3)
{
    const ipt_asid asid = {cr3, IPT_ASID_UNKNOWN, 0};
    return space_of(of, &asid);
}

/* Keep a run of one byte. */
static void keep_run(uint16_t space, uint64_t ip)
{
    ipt_cache_line one = {.ip_ = ip, .size_ = 1, .count_ = 1};
    one.key_ = ipti_cache_key(space, IPT_MODE_64);
    (void) ipti_cache_put(&cache, &one);
}

static int has_run(uint16_t space, uint64_t ip)
{
    for (uint32_t i = 0; i <= cache.last_; i++)
        if (ipti_line_is(&cache.lines_[i],
                         ipti_cache_key(space, IPT_MODE_64), ip))
            return 1;
    return 0;
}

/* Does anybody have to forget what it knows, if this is forgotten? */
static int changes(const ipt_asid *asid, uint64_t ip, uint64_t size)
{
    const uint32_t before = cache.version_;
    CHECK_EQ(ipt_cache_invalidate(&cache, asid, ip, size), IPT_OK);
    return cache.version_ != before;
}

/* A cache in which nothing is known of any page. */
static void sure_cache(size_t count)
{
    fresh_config();
    CHECK_EQ(ipt_cache_init(&cache, lines, count), IPT_OK);
    CHECK(changes(NULL, 0x1000, 1)); /* memos may be older than it */
    CHECK(!changes(NULL, 0x1000, 1));
}

/* Numbers last, whatever is written to lines as a hint, and whatever code comes
 * where they are. */
TEST(numbers_last)
{
    uint16_t ids[8];
    sure_cache(64);
    for (unsigned i = 0; i < 8; i++) ids[i] = number_of(&cache, 4096 * i);
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(number_of(&cache, 4096 * i), ids[i]);
    for (unsigned k = 0; k < 1000; k++) keep_run(ids[k % 8], 0x1000 + 4 * k);
    for (unsigned k = 0; k < 64; k++)
        for (unsigned way = 0; way < 2; way++) {
            uint32_t from = k;
            keep_run(ids[0], 0x1000);
            CHECK(ipti_cache_seek(&cache, &from, way,
                                  ipti_cache_key(ids[0], IPT_MODE_64), 0x1000)
                  != NULL);
        }
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(number_of(&cache, 4096 * i), ids[i]);
    CHECK_EQ(cache.next_id_, 8);
}

/* More spaces than there is room for names of: those that lost theirs get other
 * numbers, and a memo may know code under the old ones. */
TEST(numbers_are_lost)
{
    uint16_t id;
    unsigned n = 0;
    sure_cache(64);
    id = number_of(&cache, first_space.cr3);
    keep_run(id, 0x1000);
    do
        (void) number_of(&cache, 0x10000 + 4096 * n++);
    while (ipti_name_find(&cache, IPTI_BY_ASID, &first_space) && n < 10000);
    CHECK(n < 10000);
    CHECK(number_of(&cache, first_space.cr3) != id);
    CHECK(changes(&first_space, 0x5000, 1)); /* nothing says that it is not */
}

/* Spaces that differ in one member only have two numbers. */
TEST(numbers_of_all_members)
{
    uint16_t last = 0;
    sure_cache(64);
    for (uint64_t i = 0; i < 8; i++)
        for (uint8_t nr = 0; nr < 2; nr++) {
            const ipt_asid asid = {0x8000, 4096 * i, nr};
            CHECK_EQ(space_of(&cache, &asid), ++last);
            CHECK_EQ(space_of(&cache, &asid), last);
        }
}

/* An alias takes no name's place that has a number. */
TEST(numbers_before_aliases)
{
    unsigned n = 0;
    sure_cache(64);
    for (unsigned i = 0; i < 1000; i++) (void) number_of(&cache, 4096 * i);
    for (unsigned i = 0; i < 100; i++) {
        const ipt_asid asid = {4096 * i, IPT_ASID_UNKNOWN, 0};
        ipti_name_put(&cache, IPTI_ALIAS, &asid, i);
        CHECK(!ipti_name_find(&cache, IPTI_ALIAS, &asid));
    }
    for (unsigned k = 0; k < 64; k++) n += cache.lines_[k].key_ == IPTI_BY_ASID;
    CHECK_EQ(n, 16);
}

/* So it is while all numbers are used up, and once they begin again. */
TEST(numbers_begin_anew)
{
    static ipt_cache_line many[4096];
    sure_cache(64);
    cache.next_id_ = IPTI_SPACE_MAX; /* all at once, if there are few lines */
    CHECK_EQ(number_of(&cache, 0x7000), 1);
    CHECK(changes(NULL, 0x1000, 1));
    CHECK(!changes(NULL, 0x1000, 1));
    CHECK_EQ(ipt_cache_init(&cache, many, LENGTH(many)), IPT_OK);
    (void) number_of(&cache, first_space.cr3);
    cache.next_id_ = IPTI_SPACE_MAX;
    (void) changes(NULL, 0x1000, 1);
    for (unsigned i = 1; i < 4; i++) {
        CHECK_EQ(number_of(&cache, first_space.cr3), 0);
        CHECK(changes(&first_space, 0x1000, 1));
        CHECK(changes(&first_space, 0x1000, 1));
    }
    CHECK_EQ(number_of(&cache, first_space.cr3), 1);
    CHECK(changes(&first_space, 0x1000, 1));
    CHECK(!changes(&first_space, 0x1000, 1));
}

static uint64_t half_space(const ipt_asid *asid, void *context)
{
    (void) context;
    return asid->cr3 >> 13;
}

/* Decoders with config.space and without know the same space by two names: both
 * are forgotten. What config.space said last counts. */
TEST(numbers_by_both_names)
{
    uint16_t with, without, other;
    for (int how = 0; how < 4; how++) { /* 1, 3: its alias is lost */
        sure_cache(64);
        without = number_of(&cache, first_space.cr3);
        config.space = half_space;
        other = number_of(&cache, 0xa000);
        if (how == 2) config.space = one_space;
        with = number_of(&cache, first_space.cr3);
        config.space = half_space;
        if (how == 2) with = number_of(&cache, first_space.cr3);
        CHECK(with != without);
        CHECK(with != other);
        keep_run(without, 0x1000);
        keep_run(with, 0x1000);
        keep_run(with, 0x2000);
        keep_run(other, 0x3000);
        if (how == 1 || how == 3)
            ipti_name_find(&cache, IPTI_ALIAS, &first_space)->key_ = 0;
        if (how >= 2) /* it has no other name */
            ipti_name_find(&cache, IPTI_BY_ASID, &first_space)->key_ = 0;
        CHECK(changes(&first_space, 0x1000, 1));
        CHECK(has_run(without, 0x1000) == (how == 2));
        CHECK(!has_run(with, 0x1000));
        CHECK(has_run(with, 0x2000));
        CHECK(has_run(other, 0x3000));
        CHECK(!changes(&first_space, 0x3000, 1) == (how == 2));
        CHECK(changes(&first_space, 0, 0));
        CHECK_EQ(number_of(&cache, 0xa000), other);
        if (how == 2) CHECK(number_of(&cache, first_space.cr3) != with);
    }
}

/* A page matters if code of it is in a line, or was. */
TEST(pages_of_code)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        sure_cache(64);
        const uint16_t id = number_of(&cache, first_space.cr3);
        keep_run(id, 0x1fff);
        for (unsigned k = 1; lost && has_run(id, 0x1fff); k++)
            keep_run(id, 0x800000 + 4 * k);
        CHECK(!changes(&first_space, 0x4000, 0x1000));
        if (!lost) { /* it is known to the byte */
            CHECK(!changes(&first_space, 0x1000, 0xfff));
            CHECK(!changes(&first_space, 0x2000, 1));
        }
        CHECK(changes(&first_space, lost ? 0x1000 : 0x1fff, 1));
        CHECK(!changes(&first_space, 0x1000, 0x1000));
    }
}

/* Both pages of a run that is in two matter, if it is in no line any more. */
TEST(pages_of_a_run)
{
    for (unsigned page = 1; page < 3; page++) {
        ipt_cache_line two = {.ip_ = 0x1fff, .size_ = 2, .count_ = 1};
        sure_cache(64);
        const uint16_t id = number_of(&cache, first_space.cr3);
        two.key_ = ipti_cache_key(id, IPT_MODE_64);
        (void) ipti_cache_put(&cache, &two);
        for (unsigned k = 1; has_run(id, 0x1fff); k++)
            keep_run(id, 0x800000 + 4 * k);
        CHECK(!changes(&first_space, 0x3000, 0x1000));
        CHECK(changes(&first_space, page == 1 ? 0x1ffe : 0x2001, 1));
    }
}

/* What is forgotten is found by its address, wherever that is. */
TEST(invalidate_by_address)
{
    static ipt_cache_line many[4096];
    for (unsigned k = 0; k < 3000; k++) {
        const uint64_t ip = k % 3 ? 0x1ffe00 + 4 * k : 0 - (uint64_t) 4 * k;
        const uint64_t to = ip + k % 480;
        ipt_cache_line one = {.ip_ = ip, .size_ = (uint16_t) (1 + k % 480)};
        ipt_asid asid = {0, IPT_ASID_UNKNOWN, 0};
        uint64_t fuel = UINT64_MAX;
        if (k % 500 == 0) {
            fresh_config();
            CHECK_EQ(ipt_cache_init(&cache, many, LENGTH(many)), IPT_OK);
        }
        asid.cr3 = 4096 * (k % 3);
        one.key_ = ipti_cache_key(number_of(&cache, asid.cr3), IPT_MODE_64);
        (void) ipti_cache_put(&cache, &one);
        (void) changes(&asid, to + 1, k % 7 + 1);
        (void) changes(NULL, ip - k % 600 - 1, k % 600 + 1);
        CHECK(has_run(one.key_ >> IPTI_MODE_BITS, ip));
        cache.fuel = &fuel;
        CHECK(changes(k % 2 ? &asid : NULL, k % 5 ? to : ip - k % 600,
                      k % 5 ? 1 : k % 600 + 1));
        CHECK(!has_run(one.key_ >> IPTI_MODE_BITS, ip));
        CHECK(UINT64_MAX - fuel <= LENGTH(many) / IPTI_SWEEP);
        CHECK(k % 2 == 0 || k % 5 == 0 || UINT64_MAX - fuel <= 13);
        cache.fuel = NULL;
    }
}

/* Nearly all addresses are forgotten, whatever is left of them. */
TEST(nearly_all_is_forgotten)
{
    static const uint64_t left[] = {0, 1, 478, 479, 480, 481, 600, 4096};
    const ipt_asid asid = {0x1000, IPT_ASID_UNKNOWN, 0};
    uint8_t byte;

    fresh();
    nops(ANY, 0x5000, 64);
    config.read = area_read;
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    for (unsigned i = 0; i < LENGTH(left); i++) {
        const unsigned before = reads;
        CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x5000,
                                &byte, 1), IPT_OK);
        CHECK(reads > before);
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0 - left[i]), IPT_OK);
    }
}

/* What a range of addresses costs to forget, in each address space: a unit for
 * two of the groups where its code may be. There are five for each 128 bytes
 * from the first run that may reach it, 480 bytes before, to its end. A range
 * with more of them than the cache has costs as much as all. */
TEST(fuel_of_a_range)
{
    static ipt_cache_line many[8192]; /* eight of them are a group */
    static const uint64_t sizes[] = {1, 31, 32, 63, 64, 96, 1000, 1024, 5000};
    uint64_t units = 0;
    uint8_t byte;

    fresh();
    nops(ANY, 0x1000, 64);
    config.read = area_read;
    CHECK_EQ(ipt_cache_init(&cache, many, LENGTH(many)), IPT_OK);
    cache.fuel = &units;
    for (uint64_t spaces = 1; spaces < 8; spaces++) {
        const ipt_asid asid = {spaces << 12, IPT_ASID_UNKNOWN, 0};
        CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x1000,
                                &byte, 1), IPT_OK);
        for (unsigned i = 0; i < LENGTH(sizes); i++)
            for (unsigned all = 0; all < 2; all++) {
                uint64_t groups
                    = 5 * ((0x5000 + sizes[i] - 1) / 128
                           - (0x5000 - 480) / 128 + 1) * (all ? spaces : 1);
                if (groups > LENGTH(many) / 8)
                    groups = LENGTH(many) / 8;
                units = 0;
                CHECK_EQ(ipt_cache_invalidate(&cache, all ? NULL : &asid,
                                              0x5000, sizes[i]), IPT_BUDGET);
                units = 1000;
                CHECK_EQ(ipt_cache_invalidate(&cache, all ? NULL : &asid,
                                              0x5000, sizes[i]), IPT_OK);
                CHECK_EQ(1000 - units, (groups + 1) / 2);
            }
        units = 1000;
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x5000, 1 << 20), IPT_OK);
        CHECK_EQ(1000 - units, LENGTH(many) / 16);
    }
    cache.fuel = NULL;
}

static uint8_t changing;

/* Code that is the same everywhere. */
static int changing_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                         uint64_t ip, void *context)
{
    (void) asid, (void) ip, (void) context;
    reads++;
    memset(buffer, changing, size);
    return (int) size;
}

/* However little fuel each call has, all of a range is forgotten, of one space
 * or of all, and nothing after it: also where regions of 2 MiB end, whose code
 * is in other lines, and in caches that the range is too large for. */
TEST(invalidate_by_portions)
{
    static ipt_cache_line many[65536];
    const ipt_asid asids[] = {{0x8000, IPT_ASID_UNKNOWN, 0},
                              {0x9000, IPT_ASID_UNKNOWN, 0}};
    for (unsigned k = 0; k < 400; k++) {
        const uint64_t ip = 0x200000 - 32 * (k % 37);
        const size_t size = 1 + 67 * (k % 13);
        const unsigned all = k % 3 == 0;
        uint64_t units;
        uint8_t got[1100];
        fresh();
        config.read = changing_read;
        CHECK_EQ(ipt_cache_init(&cache, many, k % 7 ? LENGTH(many) : 256),
                 IPT_OK);
        for (changing = 1; changing < 3; changing++) {
            for (unsigned i = 0; i < 2; i++) {
                CHECK_EQ(ipt_cache_code(&cache, &config, &asids[i], IPT_MODE_64,
                                        ip - 64, got, sizeof got), IPT_OK);
                for (size_t n = 0; n < size && (i == 0 || all); n++)
                    CHECK_EQ(got[64 + n], changing);
                if (k % 7 == 0) continue; /* it has no room for all */
                if (i && !all) CHECK_EQ(got[64], 1);
                CHECK_EQ(got[64 + size + 32], 1);
                CHECK_EQ(got[31], 1);
            }
            cache.fuel = &units;
            do units = 1 + k % 11;
            while (ipt_cache_invalidate(&cache, all ? NULL : &asids[0], ip,
                                        size) == IPT_BUDGET);
            cache.fuel = NULL;
        }
    }
}

/* What is forgotten in parts is forgotten in every space, also where code that
 * has its lines elsewhere begins after it. */
TEST(invalidate_spaces_in_parts)
{
    for (uint64_t ip = 0x1fff00; ip < 0x200000; ip += 8)
        for (uint64_t units = 1; units < 8; units++) {
            ipt_cache_line one = {.size_ = IPTI_RUN_BYTES, .count_ = 1};
            uint64_t fuel = 0;
            int status;
            sure_cache(LENGTH(lines));
            const uint16_t other = number_of(&cache, 0x9000);
            const uint16_t id = number_of(&cache, first_space.cr3);
            CHECK(other < id);
            one.key_ = ipti_cache_key(id, IPT_MODE_64);
            one.ip_ = ip - IPTI_RUN_BYTES + 1;
            (void) ipti_cache_put(&cache, &one);
            cache.fuel = &fuel;
            do {
                fuel = units;
                status = ipt_cache_invalidate(&cache, NULL, ip, 1);
            } while (status == IPT_BUDGET);
            cache.fuel = NULL;
            CHECK_EQ(status, IPT_OK);
            CHECK(!has_run(id, one.ip_));
        }
}

/* NOPs, and a JMP RAX at the end of each page. */
static int pages_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    (void) asid, (void) context;
    for (size_t i = 0; i < size; i++)
        buffer[i] = (ip + i) % 4096 == 4094 ? 0xff
                  : (ip + i) % 4096 == 4095 ? 0xe0 : 0x90;
    return (int) size;
}

/* Runs that a cache had no room for, up to the last byte of a page: a memo
 * knows them as long as nothing of this page is forgotten. */
TEST(runs_up_to_the_end_of_a_page)
{
    static ipt_cov_line memo_lines[256];
    static uint8_t map[64];
    static ipt_cov_decoder decoder;
    ipt_cov_config cov = {0};
    ipt_cov_memo memo;

    for (uint64_t page = 0x100000; page < 0x300000; page += 4096) {
        const uint64_t places[] = {0, page + 4096, page - 4096, page, 0};
        fresh();
        add_on(IPT_MODE_64);
        for (unsigned k = 0; k < 40; k++)
            add_ip(IPT_PKT_TIP, page + 4064 + k % 20);
        memset(bytes + used, 0, 64);
        used += 64;
        start(NULL);
        config.read = pages_read;
        cov.bitmap = map;
        cov.bitmap_size = sizeof map;
        cov.memo = &memo;
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, LENGTH(memo_lines)),
                 IPT_OK);
        /* memos may be older than the cache */
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_OK);
        CHECK_EQ(ipt_cov_init(&decoder, &config, &cov, &trace, &cache), IPT_OK);
        for (unsigned i = 0; i < LENGTH(places); i++) {
            if (places[i])
                CHECK_EQ(ipt_cache_invalidate(&cache, NULL, places[i],
                                              places[i] == page ? 1 : 4096),
                         IPT_OK);
            CHECK_EQ(ipt_cov_begin(&decoder, &trace), IPT_OK);
            CHECK_EQ(ipt_cov_run(&decoder), IPT_END);
            CHECK_EQ(decoder.verdict, 0);
            CHECK_EQ(decoder.misses != 0, i == 0 || places[i] == page);
        }
    }
}

/* What ipt_cache_code costs: a unit for the call, one for 16 bytes, and one for
 * each callback. */
TEST(fuel_of_bytes)
{
    const ipt_asid asid = {0x8000, IPT_ASID_UNKNOWN, 0};
    uint8_t got[80];
    uint64_t units;

    fresh();
    nops(ANY, 0x1000, 128);
    config.read = area_read;
    config.fuel = &units;
    CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
    for (size_t size = 0; size <= sizeof got; size++)
        for (unsigned known = 0; known < 2; known++) {
            reads = 0;
            units = 1000;
            CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x1000,
                                    got, size), IPT_OK);
            CHECK_EQ(1000 - units, 1 + size / 16 + reads);
            if (known) CHECK_EQ(reads, 0);
        }
    config.fuel = NULL;
}

/* What a memo knows of code is forgotten with it, whatever is in its line by
 * then: bytes of other code, or the name of an address space. */
TEST(code_out_of_its_line)
{
    static ipt_cov_line memo_lines[256];
    static uint8_t map[64];
    static ipt_cov_decoder decoder;

    for (unsigned k = 0; k < 256; k++) {
        const uint64_t ip = 0x1080 + k / 4 % 8 * 4;
        const unsigned how = k % 4; /* bits: bytes, names */
        ipt_asid asid = {0x8000, IPT_ASID_UNKNOWN, 0};
        ipt_cov_config cov = {0};
        ipt_cov_memo memo;
        uint8_t got;

        fresh();
        PUT(nops(ANY, 0x1000, 256), 0x1000, "\xff\xe0");
        PUT(&areas[0], ip, "\xff\xe0");
        nops(ANY, 0x5000, 0x200);
        add_on(IPT_MODE_64);
        for (unsigned i = 0; i < 40; i++) add_ip(IPT_PKT_TIP, ip);
        memset(bytes + used, 0, 64);
        used += 64;
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(NULL);
        cov.bitmap = map;
        cov.bitmap_size = sizeof map;
        cov.memo = &memo;
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, LENGTH(memo_lines)),
                 IPT_OK);
        CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_OK);
        CHECK_EQ(ipt_cov_init(&decoder, &config, &cov, &trace, &cache), IPT_OK);
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t more = 4096 * (k % 5); /* pages before it */
            if (i == 1 && how & 1) /* in the same lines */
                for (uint64_t at_ip = 0x5000; at_ip < 0x5200; at_ip += 32)
                    CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64,
                                            at_ip, &got, 1), IPT_OK);
            asid.cr3 = (uint64_t) (0x10 + k) << 12;
            if (i == 1 && how & 2)
                CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64,
                                        0x5000, &got, 1), IPT_OK);
            if (i == 1)
                CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x9000, more + 1),
                         IPT_OK);
            if (i == 2)
                CHECK_EQ(ipt_cache_invalidate(&cache, NULL, ip - more,
                                              more + 1), IPT_OK);
            CHECK_EQ(ipt_cov_begin(&decoder, &trace), IPT_OK);
            CHECK_EQ(ipt_cov_run(&decoder), IPT_END);
            CHECK_EQ(decoder.verdict, 0);
            CHECK_EQ(decoder.misses != 0, i == 0 || i == 2);
        }
    }
}

static uint64_t range_end;

static uint64_t ranges_at(const ipt_asid *asid, uint64_t ip, uint64_t *first,
                          uint64_t *last, void *context)
{
    (void) asid, (void) context;
    *first = ip > range_end ? range_end + 1 : 0;
    *last = ip > range_end ? UINT64_MAX : range_end;
    return ip > range_end;
}

/* Code up to the end of a range is read once; of what was read beyond that
 * nothing is used again. */
TEST(space_at_reads_up_to_the_end)
{
    for (range_end = 0x1050; range_end < 0x1070; range_end++) {
        ipt_insn insn;
        fresh();
        PUT(nops(ANY, 0x1000, 256), 0x1000, "\xff\xe0");
        PUT(&areas[0], 0x1010, "\xff\xe0");
        add_on(IPT_MODE_64);
        ADD(TIP(0x1010));
        ADD(TIP(0x1000));
        config.space_at = ranges_at;
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(&cache);
        for (unsigned k = 0; k < 2; k++)
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.ip, 0x1010);
        CHECK_EQ(reads, range_end < 0x105f ? 2 : 1);
    }
}

/* Sections end blocks, code spaces do not. */
TEST(sections_beside_spaces)
{
    for (range_end = 0x1001; range_end < 0x1020; range_end++) {
        ipt_block plain[8], block;
        unsigned n = 0, k = 0;
        fresh();
        PUT(nops(ANY, 0x1000, 64), 0x1020, "\xff\xe0");
        add_on(IPT_MODE_64);
        ADD(TIP(0x1020));
        config.section = counted_section;
        config.space_at = ranges_at;
        start(NULL);
        while (n < LENGTH(plain) && ipt_blk_next(&blk_decoder, &plain[n]) >= 0)
            n++;
        CHECK_EQ(n, 3);
        CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
        start(&cache);
        while (ipt_blk_next(&blk_decoder, &block) >= 0 && k < n) {
            CHECK_EQ(block.ip, plain[k].ip);
            CHECK_EQ(block.count, plain[k].count);
            k++;
        }
        CHECK_EQ(k, n);
    }
}

/* A mapping of 16 bytes, the size of an entry of a PLT, costs two calls of
 * config.read that gives all or nothing; what has no such size costs more. */
TEST(reads_of_a_short_mapping)
{
    for (unsigned n = 1; n < 96; n++) {
        area *a;
        ipt_insn insn = {0};
        fresh();
        a = nops(ANY, 0x1000, n);
        PUT(a, 0x1000 + n - 1, "\xc3");
        add_on(IPT_MODE_64);
        ADD(TIP(0x1000));
        start(NULL);
        config.read = stingy_read;
        for (unsigned k = 0; k < n; k++)
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        CHECK_EQ(insn.kind, IPT_INSN_RET);
        if (n == 16) CHECK_EQ(reads, 2);
        else CHECK(reads > 2);
        CHECK(reads <= 8 + n / 8);
    }
}

/* At most 16 bytes, or nothing. */
static int sparing_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                        uint64_t ip, void *context)
{
    CHECK(size <= 4096);
    return size > 16 ? 0 : area_read(buffer, size, asid, ip, context);
}

TEST(a_few_bytes_of_fewer)
{
    for (unsigned n = 2; n < 20; n++) {
        ipt_insn insn;
        fresh();
        PUT(nops(ANY, 0x1000, n), 0x1000 + n - 2, "\xff\xe0");
        add_on(IPT_MODE_64);
        ADD(TIP(0x1000));
        start(NULL);
        config.read = sparing_read;
        do CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
        while (insn.kind == IPT_INSN_OTHER);
        CHECK_EQ(insn.ip, 0x1000 + n - 2);
    }
}

/* Runs that begin within four bytes are all kept, as long as there is room
 * within 32 bytes. */
TEST(runs_of_one_place)
{
    for (unsigned from = 0; from < 32; from += 4) {
        ipt_insn insn;
        fresh();
        PUT(nops(ANY, 0x1000, 64), 0x1020, "\xff\xe0");
        PUT(nops(ANY, 0x5000, 64), 0x5000, "\xff\xe0");
        add_on(IPT_MODE_64);
        for (unsigned k = 0; k < 15; k++)
            add_ip(IPT_PKT_TIP, k % 5 == 4 ? 0x5000 : 0x1000 + from + k % 5);
        CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
        start(&cache);
        for (unsigned k = 0; k < 15; k++) {
            if (k == 6) reads = 0;
            do CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            while (insn.kind == IPT_INSN_OTHER);
        }
        CHECK_EQ(reads, 0);
    }
}

/* A run is found past lines that are not code, too. */
TEST(runs_beside_names)
{
    sure_cache(64);
    const uint16_t id = number_of(&cache, first_space.cr3);
    for (uint64_t ip = 0x1000; ip < 0x1200; ip += 4) {
        keep_run(id, ip);
        CHECK(ipti_cache_find(&cache, ipti_cache_key(id, IPT_MODE_64), ip)
              != UINT32_MAX);
    }
}

/* Where there is no room, the oldest run goes first. */
TEST(oldest_runs_go_first)
{
    uint64_t ips[32];
    unsigned n = 0;
    sure_cache(64);
    for (uint64_t ip = 0x1000; n < LENGTH(ips); ip += IPTI_BLOCK)
        if (ipti_cache_first(&cache, 1, ip) == ipti_cache_first(&cache, 1, 0))
            ips[n++] = ip;
    for (unsigned k = 0; k < LENGTH(ips); k++) {
        keep_run(1, ips[k]);
        for (unsigned i = 0; i <= k; i++)
            CHECK_EQ(has_run(1, ips[i]), k - i < 8);
    }
}

/* A decoder is in the space with the first number, and all others are given to
 * other spaces. */
static void all_numbers(void)
{
    ipt_asid asid = {0, IPT_ASID_UNKNOWN, 0};
    ipt_insn insn;
    uint8_t byte;

    fresh();
    PUT(nops(0x8000, 0x1000, 256), 0x10fe, "\xff\xe0");
    memset(nops(0x9000, 0x1000, 256)->bytes, 2, 256);
    nops(ANY, 0x1000, 256);
    add_on(IPT_MODE_64);
    add_ip(IPT_PKT_FUP, 0x1000);
    add_pip(0x8000);
    ADD(TIP(0x1000));
    ADD(TIP(0x1000));
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    start(&cache);
    CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    CHECK_EQ(insn.ip, 0x1000);
    for (uint64_t i = 1; i < 16383; i++) {
        asid.cr3 = (0x10000 + i) << 12;
        CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x1000,
                                &byte, 1), IPT_OK);
    }
}

/* Bytes from 1020 on of the space that gets the first number when numbers begin
 * again. */
static void again(void)
{
    const ipt_asid asid = {0x9000, IPT_ASID_UNKNOWN, 0};
    uint8_t got[64];

    while (ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x1020, got,
                          sizeof got) == IPT_BUDGET)
        ;
    for (unsigned i = 0; i < sizeof got; i++) CHECK_EQ(got[i], 2);
}

/* Bytes that the decoder read last are not taken for those of that space, and
 * the decoder gets none of that space's. */
TEST(numbers_begin_anew_after_a_read)
{
    ipt_insn insn;

    all_numbers();
    do CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
    while (insn.ip < 0x1020); /* whose bytes are read now */
    again();
    for (unsigned forget = 0; forget < 2; forget++) {
        all_numbers();
        if (forget) /* of which a memo may know something */
            CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0x7000, 1), IPT_OK);
        again();
        do {
            CHECK(ipt_insn_next(&insn_decoder, &insn) >= 0);
            CHECK_EQ(insn.size, insn.kind == IPT_INSN_OTHER ? 1 : 2);
        } while (insn.ip < 0x10fe);
    }
}

static uint64_t one_for_all(const ipt_asid *asid, void *context)
{
    (void) asid, (void) context;
    return 5;
}

static uint64_t large_space(const ipt_asid *asid, void *context)
{
    (void) context;
    return asid->cr3 << 48 | asid->cr3 >> 16 | asid->cr3;
}

/* A space that config.space gives a large number is forgotten by its name, and
 * no other. */
TEST(large_numbers)
{
    for (unsigned bit = 16; bit < 64; bit++) {
        const ipt_asid asids[] = {{(uint64_t) 1 << bit, ANY, 0}, {1, ANY, 0}};
        uint8_t got;
        fresh();
        nops(ANY, 0x1000, 64);
        config.read = area_read;
        config.space = large_space;
        CHECK_EQ(ipt_cache_init(&cache, lines, 1024), IPT_OK);
        for (unsigned k = 0; k < 6; k++) {
            reads = 0;
            CHECK_EQ(ipt_cache_code(&cache, &config, &asids[k % 2], IPT_MODE_64,
                                    0x1010, &got, 1), IPT_OK);
            CHECK_EQ(reads, k < 2 || k == 4);
            if (k == 3)
                CHECK_EQ(ipt_cache_invalidate(&cache, &asids[0], 0x1010, 1),
                         IPT_OK);
        }
    }
}

/* What config.space says is all that counts: a guest, or another VMCS, has the
 * code that was read for another one. */
TEST(bytes_of_one_space)
{
    static const ipt_asid asids[]
        = {{0x8000, IPT_ASID_UNKNOWN, 0}, {0x9000, IPT_ASID_UNKNOWN, 0},
           {0x8000, IPT_ASID_UNKNOWN, 1}, {0x8000, 0x7000, 1}};
    uint8_t got[4];

    fresh();
    nops(ANY, 0x1000, 64);
    config.read = area_read;
    config.space = one_for_all;
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    for (unsigned i = 0; i < LENGTH(asids); i++) {
        CHECK_EQ(ipt_cache_code(&cache, &config, &asids[i], IPT_MODE_64, 0x1010,
                                got, sizeof got), IPT_OK);
        CHECK(!memcmp(got, "\x90\x90\x90\x90", sizeof got));
        CHECK_EQ(reads, 1);
    }
}

/* A byte that was read last is read again when it is forgotten. */
TEST(bytes_that_change)
{
    const ipt_asid asid = {0x8000, IPT_ASID_UNKNOWN, 0};
    uint8_t got;

    fresh();
    nops(ANY, 0x1000, 64);
    config.read = area_read;
    CHECK_EQ(ipt_cache_init(&cache, lines, 64), IPT_OK);
    for (unsigned i = 0; i < 8; i++) {
        areas[0].bytes[16] = (uint8_t) i;
        CHECK_EQ(ipt_cache_invalidate(&cache, &asid, 0x1010, 1), IPT_OK);
        CHECK_EQ(ipt_cache_code(&cache, &config, &asid, IPT_MODE_64, 0x1010,
                                &got, 1), IPT_OK);
        CHECK_EQ(got, i);
    }
}

int main(void)
{
    RUN(nearly_all_is_forgotten);
    RUN(fuel_of_a_range);
    RUN(fuel_of_bytes);
    RUN(invalidate_by_portions);
    RUN(invalidate_spaces_in_parts);
    RUN(large_numbers);
    RUN(code_out_of_its_line);
    RUN(space_at_reads_up_to_the_end);
    RUN(sections_beside_spaces);
    RUN(bytes_that_change);
    RUN(bytes_of_one_space);
    RUN(runs_of_one_place);
    RUN(runs_beside_names);
    RUN(oldest_runs_go_first);
    RUN(numbers_begin_anew_after_a_read);
    RUN(runs_up_to_the_end_of_a_page);
    RUN(reads_of_a_short_mapping);
    RUN(a_few_bytes_of_fewer);
    RUN(numbers_last);
    RUN(numbers_are_lost);
    RUN(numbers_of_all_members);
    RUN(numbers_before_aliases);
    RUN(numbers_begin_anew);
    RUN(numbers_by_both_names);
    RUN(pages_of_code);
    RUN(pages_of_a_run);
    RUN(fuel_counts_callbacks);
    RUN(fuel_counts_spaces);
    RUN(fuel_counts_segments);
    RUN(a_byte_that_is_missing);
    RUN(classifiers_at_the_end_of_what_was_read);
    RUN(a_classifier_that_wants_more);
    RUN(runs);
    RUN(runs_of_sections);
    RUN(runs_of_the_largest_size);
    RUN(sizes_of_instructions);
    RUN(code_that_ends);
    RUN(code_over_pages);
    RUN(second_page_missing);
    RUN(runs_of_one_window);
    RUN(ends_of_a_window);
    RUN(cut_by_mappings);
    RUN(too_long);
    RUN(top_of_addresses);
    RUN(init);
    RUN(eviction);
    RUN(modes);
    RUN(guest_spaces);
    RUN(shared_spaces);
    RUN(one_space_for_all);
    RUN(invalidate_ranges);
    RUN(invalidate_spaces);
    RUN(invalidate_shared_spaces);
    RUN(kernel_is_shared);
    RUN(frames_are_noted_once);
    RUN(written_frames_are_forgotten);
    RUN(end_of_a_range);
    RUN(covered_ranges);
    RUN(bytes_of_ranges);
    RUN(bytes_of_ranges_that_meet);
    RUN(wrapped_run_is_not_kept);
    RUN(wrapped_run_in_use);
    RUN(sections_at_linear_addresses);
    RUN(invalidate_fuel);
    RUN(space_numbers_run_out);
    RUN(changed_inside_a_run);
    RUN(changed_between_blocks);
    RUN(changed_between_runs);
    RUN(changed_before_an_error);
    RUN(changed_before_a_trigger);
    RUN(changed_inside_a_block);
    RUN(changed_without_a_cache);
    RUN(changed_with_a_cache);
    RUN(shared_cache);
    RUN(misses_are_not_cached);
    RUN(C4_bytes);
    RUN(C4_bytes_of_modes);
    RUN(C4_bytes_that_wrap);
    RUN(C4_bytes_of_spaces);
    RUN(C4_bytes_refused);
    RUN(classifiers);
    RUN(more_classifiers);
    RUN(classifiers_that_say_little);
    RUN(invalidate_by_address);
    RUN(many_spaces);
    RUN(very_many_spaces);
    RUN(R4_ends_of_mappings);
    RUN(C1_all_or_nothing);
    return test_report();
}
