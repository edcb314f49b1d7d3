/* hazards.c: where other decoders hang, guess or give up, and what is right.
 *
 * Each test is one trap known from libipt; what it must give was worked out
 * from the SDM, not from what the decoder gave. */
#include "linked.h"
#include "build.h"
#include "dice.h"
#include "range.h"

/* ---- code: pieces of it, each somewhere ---- */

#define CHUNKS 4

#define NOP "\x90"
#define JCC0 "\x75\x00" /* to the next instruction */
#define JMP_RAX "\xff\xe0"
#define INT80 "\xcd\x80"
#define SYSCALL "\x0f\x05"
#define PTWRITE "\xf3\x48\x0f\xae\xe0"

static int read_chunks(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    const chunk *c = context;
    (void) asid;
    for (unsigned i = 0; i < CHUNKS && c[i].bytes; i++) {
        const int n
            = range_read(buffer, size, ip, c[i].ip, c[i].bytes, c[i].size);
        if (n) return n;
    }
    return 0;
}

/* ---- a trace, and what becomes of it in words ---- */

typedef struct setup {
    build b;
    ipt_segment piece;
    ipt_trace trace;
    ipt_config config;
    char text[600]; /* instructions and events, then the status */
} setup;

static setup s;

static void put_bytes(const uint8_t *bytes, size_t size)
{
    memcpy(s.b.bytes + s.b.size, bytes, size);
    s.b.size += size;
}

/* Packets up to one of type NONE make the trace. */
static void begin(const ipt_packet *packets, size_t max)
{
    memset(&s, 0, sizeof s);
    build_all(&s.b, packets, max);
}

static void set_trace(void)
{
    s.piece.data = s.b.bytes;
    s.piece.size = s.b.size;
    s.trace.seg = &s.piece;
    s.trace.count = 1;
}

static void say(const char *format, const char *name, uint64_t ip)
{
    size_t n = strlen(s.text);
    snprintf(s.text + n, sizeof s.text - n, format, name,
             (unsigned long long) ip);
}

static void say_event(const ipt_event *e)
{
    if (e->flags & IPT_EVENT_STATUS) return;
    if (e->flags & IPT_EVENT_NO_IP) say("[%s] ", ipt_evt_name(e->type), 0);
    else say("[%s %llx] ", ipt_evt_name(e->type), e->ip);
}

/* Events, TNT and TIP apart; status events are left out. */
static const char *events(const ipt_packet *packets, size_t max)
{
    static ipt_evt_decoder d;
    ipt_event e;
    int status;
    const ipt_config config = s.config;
    begin(packets, max);
    s.config = config;
    set_trace();
    ipt_evt_init(&d, &s.config, &s.trace);
    status = ipt_evt_sync_forward(&d);
    while (status >= 0 && (status = ipt_evt_next(&d, &e)) >= 0) say_event(&e);
    say("%s", ipt_status_name(status), 0);
    return s.text;
}

/* Decode instructions to the end of what is set up. */
static const char *walk(const chunk *code)
{
    static ipt_insn_decoder d;
    ipt_insn insn;
    ipt_event e;
    int status;
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) code;
    s.text[0] = 0;
    CHECK_EQ(ipt_insn_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    status = ipt_insn_sync_forward(&d);
    for (int i = 0; i < 64 && status >= 0; i++) {
        while (status >= 0 && status & IPT_EVENT_PENDING) {
            status = ipt_insn_event(&d, &e);
            if (status >= 0) say_event(&e);
        }
        if (status >= 0) status = ipt_insn_next(&d, &insn);
        if (status >= 0) say("%s%llx ", "", insn.ip);
    }
    say("%s", ipt_status_name(status), 0);
    if (d.at.valid & IPT_AT_IP && status < IPT_ERR_ARG)
        say("%s at %llx", "", d.at.ip);
    return s.text;
}

static const char *flow(const chunk *code, const ipt_packet *packets,
                        size_t max)
{
    const ipt_config config = s.config;
    begin(packets, max);
    s.config = config;
    return walk(code);
}

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void check_text(const char *got, const char *want, int line)
{
    if (strcmp(got, want) != 0
        && test_fail_(__FILE__, line, "what was decoded"))
        printf("    got  %s\n    want %s\n", got, want);
}

#define EVENTS(want, ...)                                             \
    do {                                                              \
        const ipt_packet packets_[] = {__VA_ARGS__};                  \
        check_text(events(packets_, LENGTH(packets_)), want, __LINE__); \
    } while (0)
#define FLOW(code, want, ...)                                          \
    do {                                                               \
        const ipt_packet packets_[] = {__VA_ARGS__};                   \
        check_text(flow(code, packets_, LENGTH(packets_)), want,       \
                   __LINE__);                                          \
    } while (0)

#define OFF PSB, EXEC64, PSBEND

static void defaults(void)
{
    memset(&s.config, 0, sizeof s.config);
}

static const chunk plain[CHUNKS] = {CODE(0x1000, NOP NOP JCC0 JMP_RAX)};

/* ---- a search backward after a run of more than eight pairs ---- */

static void long_psb(unsigned pairs)
{
    static const uint8_t pair[2] = {0x02, 0x82};
    const ipt_packet rest[] = {EXEC64, FUP(0x1000), PSBEND, TNT(1, 0)};
    memset(&s, 0, sizeof s);
    while (pairs-- > 0) put_bytes(pair, 2);
    for (size_t i = 0; i < LENGTH(rest); i++) build_put(&s.b, &rest[i]);
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) plain;
}

TEST(psb_backward_in_long_run)
{
    for (unsigned pairs = 8; pairs < 40; pairs++) {
        const uint64_t psb = 2 * (pairs - 8); /* the last eight count */
        static ipt_pkt_decoder p;
        static ipt_evt_decoder e;
        static ipt_qry_decoder q;
        static ipt_blk_decoder b;
        static ipt_insn_decoder d;
        uint64_t ip = 0;
        long_psb(pairs);
        CHECK_EQ(ipt_pkt_init(&p, &s.config, &s.trace), IPT_OK);
        CHECK_EQ(ipt_pkt_sync_backward(&p), IPT_OK);
        CHECK_EQ(p.at.sync, psb);
        CHECK_EQ(ipt_pkt_sync_backward(&p), IPT_END);
        CHECK_EQ(ipt_evt_init(&e, &s.config, &s.trace), IPT_OK);
        CHECK_EQ(ipt_evt_sync_backward(&e), IPT_OK);
        CHECK_EQ(ipt_evt_sync_backward(&e), IPT_END);
        CHECK_EQ(ipt_qry_init(&q, &s.config, &s.trace), IPT_OK);
        CHECK(ipt_qry_sync_backward(&q, &ip) >= 0);
        CHECK_EQ(ip, 0x1000);
        CHECK_EQ(ipt_qry_sync_backward(&q, &ip), IPT_END);
        CHECK_EQ(ipt_blk_init(&b, &s.config, &s.trace, NULL), IPT_OK);
        CHECK(ipt_blk_sync_backward(&b) >= 0);
        CHECK_EQ(ipt_blk_sync_backward(&b), IPT_END);
        CHECK_EQ(ipt_insn_init(&d, &s.config, &s.trace, NULL), IPT_OK);
        CHECK(ipt_insn_sync_backward(&d) >= 0);
        CHECK_EQ(d.at.sync, psb);
        CHECK_EQ(ipt_insn_sync_backward(&d), IPT_END);
    }
}

/* ---- searches backward over PSB+s with nothing between them ---- */

/* Where each of them was found, the last first; then 1, the end. */
#define BACKWARD(WHERE, INIT, CALL)                                            \
    do {                                                                       \
        CHECK_EQ(INIT, IPT_OK);                                                \
        for (size_t i = 3; i-- > 0;) {                                         \
            CHECK(CALL >= 0);                                                  \
            CHECK_EQ((WHERE)->at.sync >= psb[i], 1);                           \
        }                                                                      \
        CHECK_EQ(CALL, IPT_END);                                               \
    } while (0)

TEST(psb_backward_with_nothing_between)
{
    static const ipt_packet off[] = {OFF}, on[] = {PSB, EXEC64, FUP(0x1000),
                                                   PSBEND};
    for (int is_on = 0; is_on < 2; is_on++) {
        static ipt_qry_decoder q;
        static ipt_blk_decoder b;
        static ipt_insn_decoder d;
        const ipt_packet *const packets = is_on ? on : off;
        uint64_t psb[3], ip;
        memset(&s, 0, sizeof s);
        for (size_t i = 0; i < 3; i++) {
            psb[i] = s.b.size;
            for (size_t j = 0; j < (is_on ? LENGTH(on) : LENGTH(off)); j++)
                build_put(&s.b, &packets[j]);
        }
        set_trace();
        s.config.read = read_chunks;
        s.config.context = (void *) (uintptr_t) plain;
        BACKWARD(&q, ipt_qry_init(&q, &s.config, &s.trace),
                 ipt_qry_sync_backward(&q, &ip));
        BACKWARD(&b, ipt_blk_init(&b, &s.config, &s.trace, NULL),
                 ipt_blk_sync_backward(&b));
        BACKWARD(&d, ipt_insn_init(&d, &s.config, &s.trace, NULL),
                 ipt_insn_sync_backward(&d));
    }
}

/* ---- software interrupts and system calls where flow stands ---- */

TEST(swint_where_flow_stands)
{
    static const chunk code[CHUNKS] = {CODE(0x1000, INT80),
                                       CODE(0x2000, SYSCALL),
                                       CODE(0x3000, NOP JCC0)};
    defaults();
    FLOW(code, "[cfe 1000] [async_branch 1000] 3000 3001 IPT_END", ON,
         CFE(SWINTR, 1, 0x80), FUP(0x1000), FUP(0x1000), TIP(0x3000),
         TNT(1, 0));
    FLOW(code, "[cfe 1000] 1000 3000 3001 IPT_END", ON, CFE(SWINTR, 1, 0x80),
         FUP(0x1000), TIP(0x3000), TNT(1, 0));
    FLOW(code, "1000 [cfe 2000] 2000 3000 3001 IPT_END", ON, TIP(0x2000),
         CFE(SYSCALL, 1, 0), FUP(0x2000), TIP(0x3000), TNT(1, 0));
    FLOW(code, "[cfe] 2000 3000 3001 IPT_END", PSB, EXEC64, FUP(0x2000),
         PSBEND, CFE(SYSCALL, 0, 0), TIP(0x3000), TNT(1, 0));
    FLOW(code, "1000 [cfe] 2000 3000 3001 IPT_END", ON, TIP(0x2000),
         CFE(SYSCALL, 0, 0), TIP(0x3000), TNT(1, 0));
}

/* ---- MODE.Exec right before TIP.PGD ---- */

TEST(mode_before_pgd)
{
    defaults();
    EVENTS("[disabled] IPT_END", ON, EXEC64, PGD(0x2000));
    EVENTS("[exec_mode] [disabled] IPT_END", ON, EXEC32, PGD(0x2000));
    EVENTS("[async_disabled 1001] IPT_END", ON, FUP(0x1001), EXEC64, PGD0);
    EVENTS("[disabled] [enabled 1000] IPT_END", ON, EXEC(1, 0, 1), PGD0,
           PGE(0x1000));
    s.config.flags = IPT_CONFIG_IFLAGS;
    EVENTS("[iflags] [disabled] [enabled 1000] IPT_END", ON, EXEC(1, 0, 1),
           PGD0, PGE(0x1000));
    EVENTS("[async_disabled 1001] [iflags] IPT_END", ON, FUP(0x1001),
           EXEC(1, 0, 1), PGD0);
}

/* ---- a PSB+ between what belongs together ---- */

TEST(psb_in_between)
{
    defaults();
    EVENTS("[pwre] [pwrx] IPT_END", OFF, PWRE(3, 1, 0), OFF,
           PWRX(3, 3, 1, 0, 0));
    EVENTS("[mwait] [exstop] IPT_END", OFF, MWAIT(0x10, 1), OFF, EXSTOP(0));
    EVENTS("[mwait 1001] [exstop 1001] IPT_END", ON, MWAIT(0x10, 1), ON,
           EXSTOP(1), FUP(0x1001));
}

/* ---- the end of the trace is not a contradiction ---- */

TEST(end_is_no_contradiction)
{
    static ipt_insn_decoder d;
    ipt_insn insn;
    const ipt_packet packets[] = {ON, TNT(1, 0)};
    static const chunk code[CHUNKS] = {CODE(0x1000, NOP JCC0 NOP JMP_RAX)};
    begin(packets, LENGTH(packets));
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) code;
    s.config.flags = IPT_CONFIG_WALK_ON;
    CHECK_EQ(ipt_insn_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    CHECK(ipt_insn_sync_forward(&d) >= 0);
    for (uint64_t ip = 0x1000; ip <= 0x1003; ip += ip == 0x1001 ? 2 : 1) {
        int status = ipt_insn_next(&d, &insn);
        CHECK(status >= 0);
        CHECK_EQ(insn.ip, ip);
        CHECK_EQ(!!(status & IPT_UNPROVEN), ip == 0x1003);
    }
    for (int i = 0; i < 3; i++) CHECK_EQ(ipt_insn_next(&d, &insn), IPT_END);
    defaults();
    FLOW(code, "1000 1001 IPT_END", ON, TNT(1, 0));
    FLOW(code, "1000 1001 1003 1004 [disabled] IPT_END", ON, TNT(1, 0), PGD0);
    begin(packets, LENGTH(packets));
    s.b.bytes[s.b.size++] = 0x2d; /* TIP, and half of its IP */
    s.b.bytes[s.b.size++] = 0;
    check_text(walk(code), "1000 1001 IPT_ERR_TRUNCATED at 1003", __LINE__);
}

/* ---- the end of a 32-bit address space ---- */

TEST(end_of_4_gib)
{
    static const chunk code[CHUNKS] = {
        CODE(0x1000, NOP JCC0), CODE(0xfffffff0, "\xe9\x0b\x10\x00\x00"),
        CODE(0xffffffe0, "\x75\x1e"), CODE(0, NOP "\xe9\xea\xff\xff\xff")};
    static const chunk wide[CHUNKS] = {
        CODE(0x100001000, NOP JCC0),
        CODE(0xfffffff0, "\xe9\x0b\x10\x00\x00")};
    defaults();
    FLOW(code, "fffffff0 1000 1001 IPT_END", PSB, EXEC32, FUP(0xfffffff0),
         PSBEND, TNT(1, 0));
    FLOW(code, "ffffffe0 0 1 fffffff0 1000 1001 IPT_END", PSB, EXEC32,
         FUP(0xffffffe0), PSBEND, TNT(2, 2));
    FLOW(wide, "fffffff0 100001000 100001001 IPT_END", PSB, EXEC64,
         FUP(0xfffffff0), PSBEND, TNT(1, 0));
}

/* ---- an execution mode is not guessed ---- */

TEST(mode_not_guessed)
{
    defaults();
    FLOW(plain, "IPT_ERR_MODE at 1000", PSB, FUP(0x1000), PSBEND, TNT(1, 0));
    FLOW(plain, "IPT_ERR_MODE at 1000", PSB, EXEC(1, 1, 0), FUP(0x1000),
         PSBEND, TNT(1, 0));
    FLOW(plain, "[enabled 1000] [exec_mode 1000] 1000 1001 1002 IPT_END", PSB,
         PSBEND, EXEC64, PGE(0x1000), TNT(1, 0));
}

/* ---- nothing need be aligned ---- */

TEST(nothing_aligned)
{
    static const chunk code[CHUNKS] = {
        CODE(0x1000, NOP "\xe9\xfb\x0f\x00\x00"),      /* 1001: jmp 2001 */
        CODE(0x2001, "\x0f\x85\xfc\xff\xff\xff" NOP)}; /* jne 2003 */
    const ipt_packet packets[] = {TIP(0), ON, TNT(1, 0)};
    static uint8_t bytes[200];
    for (size_t at = 0; at < 16; at++) {
        begin(packets, LENGTH(packets));
        memcpy(bytes + at, s.b.bytes, s.b.size);
        set_trace();
        memset(s.b.bytes, 0, sizeof s.b.bytes);
        memcpy(s.b.bytes + at, bytes + at, s.b.size);
        s.b.size += at;
        check_text(walk(code), "1000 1001 2001 IPT_END", __LINE__);
    }
}

/* ---- no input leads to a state that should not exist ---- */

static void check_not_internal(void)
{
    static ipt_insn_decoder d;
    ipt_insn insn;
    uint64_t fuel = 100000;
    int status;
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) plain;
    s.config.errata = dice(IPT_ERRATUM_ALL_ + 1);
    s.config.fuel = &fuel;
    ipt_insn_init(&d, &s.config, &s.trace, NULL);
    status = ipt_insn_sync_forward(&d);
    while (status >= 0) {
        status = ipt_insn_next(&d, &insn);
        if (status < IPT_ERR_ARG) status = ipt_insn_resync(&d);
        CHECK(status != IPT_ERR_INTERNAL);
    }
    CHECK(status != IPT_BUDGET);
}

TEST(no_internal_error)
{
    const ipt_packet packets[] = {
        ON, TNT(3, 5), FUP(0x1001), TIP(0x1002), EXSTOP(1), FUP(0x1001),
        PTW(1, 1, 7), FUP(0x1000), OVF, FUP(0x1001), EXEC64, PIP(0x1000, 0),
        VMCS(0x2000), PGD0, OFF, PWRE(1, 1, 0), PWRX(1, 1, 1, 0, 0),
        EVD(IPT_EVD_CR2, 1), CFE(INTR, 1, 3), PGE(0x1000), TNT(6, 63),
        TRIG(1, 0, 1, 2, 0), CFE(INTR, 0, 14), FUP(0x1001), TIP(0x1000)};
    for (int i = 0; i < 20000; i++) {
        unsigned n = 1 + dice(6);
        begin(packets, LENGTH(packets));
        while (n-- > 0)
            s.b.bytes[16 + dice((unsigned) s.b.size - 16)]
                = (uint8_t) dice(256);
        check_not_internal();
    }
}

/* ---- TRIG while tracing is disabled ---- */

TEST(trig_while_disabled)
{
    defaults();
    FLOW(plain, "[trig] IPT_END", OFF, TRIG(1, 0, 0, 0, 0));
    FLOW(plain, "[trig] IPT_END", OFF, TRIG(1, 0, 1, 0, 0));
    FLOW(plain, "IPT_ERR_PACKET", OFF, TRIG(1, 0, 1, 3, 0));
    FLOW(plain, "1000 [trig 1001] 1001 1002 IPT_END", ON, TRIG(1, 0, 1, 1, 0),
         TNT(1, 0));
}

/* ---- APL11 alone decides; a deferred TIP needs its IP ---- */

TEST(apl11_and_deferred_tip)
{
    static const chunk code[CHUNKS] = {CODE(0x1000, JMP_RAX)};
    const ipt_packet deferred[] = {ON, TNT(1, 0), TIP0};
    defaults();
    EVENTS("IPT_ERR_CONTEXT", ON, OVF, PGD0);
    s.config.errata = IPT_ERRATUM_APL11;
    EVENTS("[overflow] [enabled 1000] IPT_END", ON, OVF, PGD0, PGE(0x1000));
    EVENTS("[overflow] [mnt] [enabled 1000] IPT_END", ON, OVF, MTC(1), MNT(3),
           PGD0, PGE(0x1000));
    EVENTS("IPT_ERR_CONTEXT", ON, OVF, TNT(1, 0));
    FLOW(code, "IPT_ERR_NO_IP at 1000", ON, TIP0);
    CHECK(ends_with(flow(code, deferred, LENGTH(deferred)), " at 1000"));
}

/* ---- code that goes on forever without trace ---- */

TEST(endless_code)
{
    static const chunk self[CHUNKS] = {CODE(0x1000, "\xeb\xfe")};
    static const chunk ring[CHUNKS] = {
        CODE(0x1000, NOP "\xe9\xfa\x0f\x00\x00"), /* jmp 2000 */
        CODE(0x2000, "\xe8\xfb\x0f\x00\x00"),     /* call 3000 */
        CODE(0x3000, NOP NOP "\xe9\xf9\xdf\xff\xff")}; /* jmp 1000 */
    const ipt_packet packets[] = {ON, TNT(1, 0)};
    const ipt_packet again[] = {ON, FUP(0x1000), TIP(0x1000), TNT(1, 0)};
    static ipt_blk_decoder d;
    ipt_block block;
    int status;
    int n = 0;
    defaults();
    CHECK(ends_with(flow(self, packets, LENGTH(packets)),
                    "1000 IPT_ERR_LOOP at 1000"));
    CHECK(ends_with(flow(self, again, LENGTH(again)),
                    "1000 IPT_ERR_LOOP at 1000"));
    begin(packets, LENGTH(packets));
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) ring;
    CHECK_EQ(ipt_blk_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    status = ipt_blk_sync_forward(&d);
    while (status >= 0 && n++ < 1000) status = ipt_blk_next(&d, &block);
    CHECK_EQ(status, IPT_ERR_LOOP);
}

/* ---- what the calls do with NULL, and with a lying callback ---- */

static int unknown_zero(ipt_packet *packet, const uint8_t *bytes, size_t size,
                        void *context)
{
    (void) packet;
    (void) bytes;
    (void) size;
    (void) context;
    return 0;
}

static void check_nulls(void)
{
    static ipt_insn_decoder d;
    static ipt_qry_decoder q;
    uint64_t ip;
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) plain;
    CHECK_EQ(ipt_insn_init(NULL, &s.config, &s.trace, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_init(&d, NULL, &s.trace, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_init(&d, &s.config, NULL, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    CHECK_EQ(ipt_insn_resync(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_resync(&d), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_resync(NULL), IPT_ERR_ARG);
    CHECK(ipt_insn_sync_forward(&d) >= 0);
    CHECK_EQ(ipt_insn_next(&d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_event(&d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_init(&q, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_qry_sync_forward(&q, NULL), IPT_ERR_ARG);
    CHECK(ipt_qry_sync_forward(&q, &ip) >= 0);
    CHECK_EQ(ipt_qry_cond_branch(&q, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_indirect_branch(&q, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_event(&q, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_cpu_errata(NULL, 6, 0x4e), IPT_ERR_ARG);
}

TEST(null_and_lying_callback)
{
    const ipt_packet packets[] = {ON};
    static ipt_pkt_decoder d;
    ipt_packet p;
    int status;
    int n = 0;
    begin(packets, LENGTH(packets));
    check_nulls();
    s.b.bytes[s.b.size++] = 0x05; /* no packet begins so */
    set_trace();
    s.config.unknown = unknown_zero;
    CHECK_EQ(ipt_pkt_init(&d, &s.config, &s.trace), IPT_OK);
    status = ipt_pkt_sync_forward(&d);
    while (status >= 0 && n++ < 100) status = ipt_pkt_next(&d, &p);
    CHECK_EQ(status, IPT_ERR_CALLBACK);
    CHECK_EQ(d.at.offset, s.b.size - 1);
}

/* ---- reserved bits mean nothing yet; the longest TNT ---- */

static ipt_packet decode_one(const char *hex)
{
    const ipt_packet psb[] = {PSB};
    ipt_pkt_decoder d;
    ipt_packet p;
    unsigned byte;
    memset(&p, 0, sizeof p);
    memset(&d, 0, sizeof d);
    begin(psb, 1);
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        s.b.bytes[s.b.size++] = (uint8_t) byte;
    set_trace();
    CHECK_EQ(ipt_pkt_init(&d, &s.config, &s.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&d, 16), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&d, &p), IPT_OK);
    CHECK_EQ(d.at.offset, s.b.size);
    return p;
}

TEST(reserved_bits)
{
    ipt_packet p = decode_one("02032aff"); /* CBR, reserved byte set */
    CHECK_EQ(p.type, IPT_PKT_CBR);
    CHECK_EQ(p.u.cbr.ratio, 0x2a);
    p = decode_one("9919"); /* MODE.Exec, bits 3 and 4 set */
    CHECK_EQ(p.type, IPT_PKT_MODE_EXEC);
    CHECK_EQ(p.u.exec.csl, 1);
    CHECK_EQ(p.u.exec.csd, 0);
    p = decode_one("993d"); /* MODE.TSX, bits 2 to 4 set */
    CHECK_EQ(p.type, IPT_PKT_MODE_TSX);
    CHECK_EQ(p.u.tsx.intx, 1);
    CHECK_EQ(p.u.tsx.abrt, 0);
    p = decode_one("02a3010000000080"); /* 47 branches, the last taken */
    CHECK_EQ(p.type, IPT_PKT_TNT_64);
    CHECK_EQ(p.u.tnt.count, 47);
    CHECK_EQ(p.u.tnt.bits, 1);
    p = decode_one("070900"); /* CYC of more bytes than it needs */
    CHECK_EQ(p.type, IPT_PKT_CYC);
}

/* ---- each resync gets further ---- */

/* Resync until it says no; returns how often. */
static int count_resyncs(const ipt_packet *packets, size_t max)
{
    static ipt_insn_decoder d;
    ipt_insn insn;
    int status;
    int n = 0;
    begin(packets, max);
    set_trace();
    s.config.read = read_chunks;
    s.config.context = (void *) (uintptr_t) plain;
    CHECK_EQ(ipt_insn_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    status = ipt_insn_sync_forward(&d);
    while (n < 100 && (status >= 0 || status == IPT_NEED_PAGE)) {
        if (status >= 0) status = ipt_insn_next(&d, &insn);
        if (status == IPT_NEED_PAGE || status < IPT_ERR_ARG) {
            status = ipt_insn_resync(&d);
            n++;
        }
    }
    return n;
}

TEST(resync_gets_further)
{
    const ipt_packet writes[] = {ON, PTW(0, 1, 1), FUP(0x5000), PTW(0, 1, 2),
                                 FUP(0x6000), TIP(0x1000), TNT(1, 0)};
    const ipt_packet entry[] = {ON, CFE(VMENTRY, 1, 0), FUP(0x5000),
                                TIP(0x5000)};
    const ipt_packet uiret[] = {ON, CFE(UIRET, 1, 0), FUP(0x5000),
                                TIP(0x1000), TNT(1, 0)};
    CHECK(count_resyncs(writes, LENGTH(writes)) < 10);
    CHECK(count_resyncs(entry, LENGTH(entry)) < 10);
    CHECK(count_resyncs(uiret, LENGTH(uiret)) < 10);
}

/* ---- errata in flow ---- */

/* The FUP shows that tracing was enabled after MOV CR3. */
TEST(skd022_flow)
{
    static const chunk code[CHUNKS]
        = {CODE(0x1000, "\x0f\x22\xd8\x0f\x01\xc2" NOP)};
    defaults();
    s.config.errata = IPT_ERRATUM_SKD022;
    FLOW(code, "1000 1003 [disabled] IPT_END",
         ON, FUP(0x1003), PGD0);
    FLOW(code, "[cbr] 1000 1003 [disabled] IPT_END",
         ON, CBR(5), FUP(0x1003), PGD(0x5000));
}

/* What SKD010 looks past must not be looked for in the code. */
TEST(skd010_flow)
{
    static const chunk code[CHUNKS]
        = {CODE(0x1000, NOP NOP JMP_RAX), CODE(0x2000, NOP NOP JMP_RAX)};
    defaults();
    s.config.errata = IPT_ERRATUM_SKD010;
    FLOW(code, "1000 1001 1002 [overflow 2000] [async_paging 2000] 2000 "
               "[async_disabled 2001] IPT_END",
         ON, TIP(0x1001), OVF, PIP(0x5000, 0), TIP(0x2000), FUP(0x2001), PGD0);
    FLOW(code, "[overflow 2000] [async_paging 2000] [async_disabled 2000] "
               "IPT_END",
         ON, OVF, PIP(0x5000, 0), FUP(0x2000), PGD0);
    FLOW(code, "[overflow 2000] [tsx 2000] 2000 2001 2002 "
               "[async_disabled 1000] IPT_END",
         ON, OVF, TSX(1, 0), FUP(0x2000), TIP(0x1000), FUP(0x1000), PGD0);
    FLOW(code, "[overflow 2000] 2000 2001 2002 [async_disabled 1000] IPT_END",
         ON, OVF, PTW(0, 0, 1), PSB, EXEC64, FUP(0x2000), PSBEND, TIP(0x1000),
         FUP(0x1000), PGD0);
}

/* ---- packets where they may not stand, and where they seldom do ---- */

TEST(out_of_place)
{
    defaults();
    EVENTS("IPT_ERR_CONTEXT", OFF, PGD0);
    EVENTS("IPT_ERR_CONTEXT", OFF, PGD(0x2000));
    EVENTS("IPT_ERR_CONTEXT", OFF, TIP(0x2000));
    EVENTS("IPT_ERR_CONTEXT", OFF, TNT(1, 1));
    EVENTS("[disabled] IPT_ERR_CONTEXT", ON, PGD0, PGD0);
    /* a second FUP, unless something had bound the first one */
    EVENTS("IPT_ERR_CONTEXT", ON, FUP(0x1001), FUP(0x1002), TIP(0x2000));
    EVENTS("[ptwrite 1001] [async_branch 1002] IPT_END", ON, PTW(0, 1, 1),
           FUP(0x1001), FUP(0x1002), TIP(0x2000));
    EVENTS("[tsx 1001] IPT_ERR_CONTEXT", ON, TSX(0, 1), FUP(0x1001),
           FUP(0x1002), TIP(0x2000));
    EVENTS("IPT_ERR_CONTEXT", ON, FUP(0x1001), PGE(0x1002));
    EVENTS("[tip 2000] IPT_END", ON, FUP0, TIP(0x2000));
    EVENTS("IPT_ERR_CONTEXT", ON, FUP(0x1001), PSB, PSBEND);
    EVENTS("[tnt] IPT_ERR_CONTEXT", ON, TNT(1, 1), PSBEND);
}

/* RSM is a branch, whose TIP may come with a CFE, or without. */
TEST(rsm)
{
    static const chunk code[CHUNKS]
        = {CODE(0x1000, NOP "\x0f\xaa"), CODE(0x2000, NOP JMP_RAX)};
    defaults();
    FLOW(code, "1000 1001 2000 2001 IPT_END", ON, TIP(0x2000), TIP(0x1000));
    FLOW(code, "[cfe] 1000 [async_branch 1001] 2000 2001 IPT_END", ON,
         CFE(RSM, 0, 0), FUP(0x1001), TIP(0x2000), TIP(0x1000));
    FLOW(code, "1000 1001 [disabled] IPT_END", ON, PGD0);
    FLOW(code, "1000 1001 [paging] 2000 2001 IPT_END", ON, PIP(0x5000, 0),
         TIP(0x2000), TIP(0x1000));
}

/* The last of several PIPs for one TIP counts; MODE.Exec with a TIP.PGD. */
TEST(twice)
{
    static const chunk code[CHUNKS]
        = {CODE(0x1000, NOP "\x48\x90" JMP_RAX), CODE(0x2000, NOP JMP_RAX)};
    defaults();
    EVENTS("[async_branch 1001] [async_vmcs 2000] [async_paging 2000] "
           "[async_paging 2000] IPT_END",
           ON, FUP(0x1001), PIP(0x5000, 0), PIP(0x6000, 0), VMCS(0x7000),
           TIP(0x2000));
    FLOW(code, "1000 [async_branch 1001] [async_paging 2000] "
               "[async_paging 2000] 2000 2001 IPT_END",
         ON, FUP(0x1001), PIP(0x5000, 0), PIP(0x6000, 0), TIP(0x2000),
         TIP(0x1000));
    /* without IP it is given at once, but the mode is that after the branch */
    FLOW(code, "[exec_mode] 1000 1001 1003 [disabled] [enabled 2000] 2000 2001 "
               "IPT_END",
         ON, EXEC32, PGD(0x5000), PGE(0x2000), TIP(0x1000));
    EVENTS("[async_disabled 1001] [exec_mode] IPT_END", ON, FUP(0x1001), EXEC32,
           PGD0);
}

/* ---- N2: a CR3 as software writes it, and one that stands for a process ---- */

TEST(N2_cr3)
{
#define TWO_SPACES                                                         \
    PSB, PIP(0x8ba0, 0), EXEC64, FUP(0x1000), PSBEND, TNT(1, 0),           \
        PGD(0x5000), PIP(0x9ba0, 0), PGE(0x1002), TNT(1, 0), PGD(0x5000)
    static const char none[] = "[disabled] [paging] [enabled 1002] [disabled] "
                               "IPT_END";
    static const char first[] = "1000 1001 1002 1004 [disabled] [paging] "
                                "[enabled 1002] [disabled] IPT_END";
    static const char second[] = "[disabled] [paging] [enabled 1002] 1002 1004 "
                                 "[disabled] IPT_END";
    static const char both[] = "1000 1001 1002 1004 [disabled] [paging] "
                               "[enabled 1002] 1002 1004 [disabled] IPT_END";
    static const struct {
        uint64_t cr3, mask;
        const char *want;
    } rows[] = {
        {0x8ba0, 0, first},
        {0x9ba0, 0, second},
        {0x8bbf | (uint64_t) 0xfff << 52, 0, first},
        {0x9ba7 | (uint64_t) 1 << 63, UINT64_MAX, second},
        {0x8000, 0, none},
        {0x8000, ~(uint64_t) 0xfff, first},
        {0x8000, ~(uint64_t) 0x1fff, both},
        {0x9ba0, ~(uint64_t) 0x1000, both},
        {0x9ba0, 0x1f, both}, /* which no PIP has */
        {0xa000, ~(uint64_t) 0x1fff, none},
        {UINT64_MAX, 0, none},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        defaults();
        s.config.flags = IPT_CONFIG_CR3_ONLY;
        s.config.cr3 = rows[i].cr3;
        s.config.cr3_mask = rows[i].mask;
        FLOW(plain, rows[i].want, TWO_SPACES);
        /* while it is not known, it is none of them */
        FLOW(plain, "IPT_END", ON, TNT(1, 0));
    }
    defaults();
}

int main(void)
{
    RUN(psb_backward_in_long_run);
    RUN(psb_backward_with_nothing_between);
    RUN(swint_where_flow_stands);
    RUN(mode_before_pgd);
    RUN(psb_in_between);
    RUN(end_is_no_contradiction);
    RUN(end_of_4_gib);
    RUN(mode_not_guessed);
    RUN(nothing_aligned);
    RUN(no_internal_error);
    RUN(trig_while_disabled);
    RUN(apl11_and_deferred_tip);
    RUN(endless_code);
    RUN(null_and_lying_callback);
    RUN(reserved_bits);
    RUN(resync_gets_further);
    RUN(out_of_place);
    RUN(rsm);
    RUN(twice);
    RUN(skd010_flow);
    RUN(skd022_flow);
    RUN(N2_cr3);
    return test_report();
}
