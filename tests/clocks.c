/* clocks.c: time, ticks and lost counters as instructions, blocks, events and
 * queries see them. What each must be was worked out by hand. */
#include "linked.h"
#include "build.h"
#include "range.h"

/* ---- code and its trace ---- */

/* 1000 jne 1002; 1002 jne 1004; 1004 jmp rax; 2000 nop; 2001 jne 2003; 2003
 * jmp rax */
static const uint8_t code_1000[] = {0x75, 0, 0x75, 0, 0xff, 0xe0};
static const uint8_t code_2000[] = {0x90, 0x75, 0, 0xff, 0xe0};

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint8_t *code = ip < 0x2000 ? code_1000 : code_2000;
    const size_t length = ip < 0x2000 ? sizeof code_1000 : sizeof code_2000;
    (void) asid;
    (void) context;
    return range_read(buffer, size, ip & 0xfff, 0, code, length);
}

#define TIMED(t) PSB, TSC(t), EXEC64, FUP(0x1000), PSBEND

static struct setup {
    build b;
    ipt_segment piece;
    ipt_trace trace;
    ipt_config config;
    char text[1000];
} s;

static void say(const char *format, const char *name, uint64_t a, uint64_t b)
{
    size_t n = strlen(s.text);
    snprintf(s.text + n, sizeof s.text - n, format, name,
             (unsigned long long) a, (unsigned long long) b);
}

/* "@" the time, "/" what was lost: MTC, CYC, if anything. */
static void say_time(int known, uint64_t tsc, uint32_t mtc, uint32_t cyc)
{
    if (known) say("%s@%llx", "", tsc, 0);
    if (mtc || cyc) say("%s/%llx/%llx", "", mtc, cyc);
    say("%s ", "", 0, 0);
}

static void say_event(const ipt_event *e)
{
    if (e->flags & IPT_EVENT_STATUS) return;
    say("[%s", ipt_evt_name(e->type), 0, 0);
    if (e->type == IPT_EVT_TICK) say("%s %llx", "", e->ip, 0);
    say_time(e->flags & IPT_EVENT_TSC, e->tsc, e->lost_mtc, e->lost_cyc);
    s.text[strlen(s.text) - 1] = 0;
    say("%s] ", "", 0, 0);
}

static void say_at(const ipt_where *at)
{
    say_time(at->valid & IPT_AT_TSC, at->tsc, at->lost_mtc, at->lost_cyc);
}

static void begin(const ipt_packet *packets, size_t max)
{
    build_all(&s.b, packets, max);
    s.piece.data = s.b.bytes;
    s.piece.size = s.b.size;
    memset(&s.trace, 0, sizeof s.trace);
    s.trace.seg = &s.piece;
    s.trace.count = 1;
    s.config.read = read_code;
    s.text[0] = 0;
}

/* ---- the four views ---- */

static void insns(void)
{
    static ipt_insn_decoder d;
    ipt_insn insn;
    ipt_event e;
    int status;
    CHECK_EQ(ipt_insn_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    status = ipt_insn_sync_forward(&d);
    while (status >= 0) {
        while (status >= 0 && status & IPT_EVENT_PENDING) {
            status = ipt_insn_event(&d, &e);
            if (status >= 0) say_event(&e);
        }
        if (status >= 0) status = ipt_insn_next(&d, &insn);
        if (status < 0) break;
        say("%s%llx", "", insn.ip, 0);
        say_at(&d.at);
    }
    say("%s", ipt_status_name(status), 0, 0);
}

static void blocks(void)
{
    static ipt_blk_decoder d;
    ipt_block block;
    ipt_event e;
    int status;
    CHECK_EQ(ipt_blk_init(&d, &s.config, &s.trace, NULL), IPT_OK);
    status = ipt_blk_sync_forward(&d);
    while (status >= 0) {
        while (status >= 0 && status & IPT_EVENT_PENDING) {
            status = ipt_blk_event(&d, &e);
            if (status >= 0) say_event(&e);
        }
        if (status >= 0) status = ipt_blk_next(&d, &block);
        if (status < 0) break;
        say("%s%llx-%llx", "", block.ip, block.end_ip);
        say_at(&d.at);
    }
    say("%s", ipt_status_name(status), 0, 0);
}

static void events(void)
{
    static ipt_evt_decoder d;
    ipt_event e;
    int status;
    CHECK_EQ(ipt_evt_init(&d, &s.config, &s.trace), IPT_OK);
    status = ipt_evt_sync_forward(&d);
    while (status >= 0 && (status = ipt_evt_next(&d, &e)) >= 0) say_event(&e);
    say("%s", ipt_status_name(status), 0, 0);
}

static void queries(void)
{
    static ipt_qry_decoder d;
    ipt_event e;
    uint64_t ip = 0;
    int taken = 0;
    int status;
    CHECK_EQ(ipt_qry_init(&d, &s.config, &s.trace), IPT_OK);
    status = ipt_qry_sync_forward(&d, &ip);
    while (status >= 0) {
        if (status & IPT_EVENT_PENDING) {
            status = ipt_qry_event(&d, &e);
            if (status >= 0) say_event(&e);
            continue;
        }
        status = ipt_qry_cond_branch(&d, &taken);
        if (status >= 0) {
            say("%s%llx", "", (unsigned) taken, 0);
        } else if (status == IPT_ERR_QUERY) {
            status = ipt_qry_indirect_branch(&d, &ip);
            if (status >= 0) say("%s%llx", "", ip, 0);
        }
        if (status >= 0) say_at(&d.at);
    }
    say("%s", ipt_status_name(status), 0, 0);
}

static void check(void (*view)(void), const char *want, int line,
                  const ipt_packet *packets, size_t max)
{
    begin(packets, max);
    view();
    if (strcmp(s.text, want) != 0 && test_fail_(__FILE__, line, "the times"))
        printf("    got  %s\n    want %s\n", s.text, want);
}

#define TIMES(view, want, ...)                                   \
    do {                                                         \
        const ipt_packet packets_[] = {__VA_ARGS__};             \
        check(view, want, __LINE__, packets_, LENGTH(packets_)); \
    } while (0)

static void config(uint32_t flags)
{
    memset(&s.config, 0, sizeof s.config);
    s.config.flags = flags;
}

/* ---- ticks: time moved between two uses of trace ---- */

TEST(ticks)
{
    config(IPT_CONFIG_TICKS);
    /* TNT: once for a packet, where its first bit leads; TIP: at its branch */
    TIMES(insns,
          "1000@200 [tick 1002@200] 1002@200 1004@300 [tick 1004@300] "
          "2000@300 2001@300 IPT_END",
          TIMED(0x100), TSC(0x200), TNT(2, 0), TSC(0x300), TIP(0x2000),
          TNT(1, 0));
    TIMES(blocks,
          "1000-1000@200 [tick 1002@200] 1002-1002@200 1004-1004@300 "
          "[tick 1004@300] 2000-2001@300 IPT_END",
          TIMED(0x100), TSC(0x200), TNT(2, 0), TSC(0x300), TIP(0x2000),
          TNT(1, 0));
    /* where time does not move, or is not known to, there are none */
    TIMES(insns, "1000@100 1002@100 1004@100 IPT_END", TIMED(0x100), TNT(2, 0),
          TIP(0x2000));
    TIMES(insns, "1000 1002 1004 IPT_END", ON, TNT(2, 0), TIP(0x2000));
    config(0);
    TIMES(insns, "1000@200 1002@200 1004@300 IPT_END", TIMED(0x100),
          TSC(0x200), TNT(2, 0), TSC(0x300), TIP(0x2000));
}

/* A deferred TIP has no time of its own. */
TEST(deferred_ticks)
{
    config(IPT_CONFIG_TICKS);
    TIMES(insns,
          "1000@200 [tick 1002@200] 1002@200 1004@200 2000@200 2001@200 "
          "IPT_END",
          TIMED(0x100), TSC(0x200), TNT(3, 0), TSC(0x300), TIP(0x2000));
}

/* ---- time that goes back ---- */

TEST(monotonic)
{
    config(0);
    TIMES(insns, "1000@300 1002@200 1004@280 IPT_END", TIMED(0x100),
          TSC(0x300), TNT(1, 0), TSC(0x200), TNT(1, 0), TSC(0x280),
          TIP(0x2000));
    config(IPT_CONFIG_MONOTONIC);
    TIMES(insns, "1000@300 1002@300 1004@300 2000@300 2001@400 IPT_END",
          TIMED(0x100), TSC(0x300), TNT(1, 0), TSC(0x200), TNT(1, 0),
          TSC(0x280), TIP(0x2000), TSC(0x400), TNT(1, 0));
    TIMES(blocks, "1000-1000@300 1002-1002@300 IPT_END", TIMED(0x100),
          TSC(0x300), TNT(1, 0), TSC(0x200), TNT(1, 0));
    TIMES(events, "[tnt@300] [tnt@300] [tip@400] IPT_END", TIMED(0x100),
          TSC(0x300), TNT(1, 0), TSC(0x200), TNT(1, 0), TSC(0x400),
          TIP(0x2000));
    config(IPT_CONFIG_MONOTONIC | IPT_CONFIG_TICKS); /* it stands: no tick */
    TIMES(insns, "1000@300 [tick 1002@300] 1002@300 1004@300 IPT_END",
          TIMED(0x100), TSC(0x300), TNT(1, 0), TSC(0x200), TNT(1, 0),
          TIP(0x2000));
}

/* ---- nobody wants to know the time ---- */

#ifdef IPT_NO_CLOCK /* by macros.sh, which runs no other test here */
#define KEEPS_TIME 0
#else
#define KEEPS_TIME 1
#endif

TEST(no_time)
{
    static const struct {
        void (*view)(void);
        const char *timed;
        const char *not_timed;
    } rows[] = {
        {events,
         "[cbr@100/0/1] [tnt@200] [cbr@200/0/1] [tip@300] IPT_END",
         "[cbr] [tnt] [cbr] [tip] IPT_END"},
        {queries,
         "[cbr@100/0/1] 0@200 0@200 [cbr@200/0/1] 2000@300 IPT_END",
         "[cbr] 0 0 [cbr] 2000 IPT_END"},
        {blocks,
         "[cbr@100/0/1] 1000-1000@200 [tick 1002@200] "
         "1002-1002@200 [cbr@200/0/1] 1004-1004@300 [tick 1004@300] "
         "IPT_END",
         "[cbr] 1000-1000 1002-1002 [cbr] 1004-1004 IPT_END"},
        {insns,
         "[cbr@100/0/1] 1000@200 [tick 1002@200] 1002@200 "
         "[cbr@200/0/1] 1004@300 [tick 1004@300] IPT_END",
         "[cbr] 1000 1002 [cbr] 1004 IPT_END"}};
    for (unsigned i = 0; i < LENGTH(rows); i++)
        for (unsigned n = 0; n < 2; n++) {
            config(n ? IPT_CONFIG_NO_TIME | IPT_CONFIG_TICKS
                     : IPT_CONFIG_TICKS);
            TIMES(rows[i].view,
                  KEEPS_TIME && !n ? rows[i].timed : rows[i].not_timed,
                  TIMED(0x100), CYC(9), CBR(20), TSC(0x200), TNT(2, 0), MTC(1),
                  CYC(9), CBR(21), TSC(0x300), TIP(0x2000));
        }
}

/* ---- packets that say no time are counted ---- */

TEST(lost)
{
    config(0); /* no cpuid_15, no ratio: neither MTC nor CYC is of use */
    TIMES(insns, "1000@100/0/1 1002@100/0/2 1004@100/1/2 IPT_END",
          TIMED(0x100), TMA(0, 0), CYC(9), TNT(1, 0), CYC(9), TNT(1, 0), MTC(1),
          TIP(0x2000));
    TIMES(blocks, "1000-1000@100/0/1 1002-1002@100/0/2 1004-1004@100/1/2 "
                  "IPT_END",
          TIMED(0x100), TMA(0, 0), CYC(9), TNT(1, 0), CYC(9), TNT(1, 0), MTC(1),
          TIP(0x2000));
    TIMES(queries, "0@100/0/1 0@100/0/2 2000@100/1/2 IPT_END", TIMED(0x100),
          TMA(0, 0), CYC(9), TNT(1, 0), CYC(9), TNT(1, 0), MTC(1),
          TIP(0x2000));
    /* a TSC makes up for all */
    TIMES(insns, "1000@100/0/1 1002@200 IPT_END", TIMED(0x100), CYC(9),
          TNT(1, 0), TSC(0x200), TNT(1, 0));
    s.config.cpuid_15_eax = 1;
    s.config.cpuid_15_ebx = 4;
    s.config.mtc_freq = 4;
    /* an MTC for the CYCs before it */
    TIMES(insns, "1000@100/0/1 1002@140 IPT_END", TIMED(0x100), TMA(0, 0),
          CYC(9), TNT(1, 0), MTC(1), TNT(1, 0));
}

/* ---- events that wait keep the time at which they came ---- */

TEST(waiting)
{
    config(0);
    TIMES(events, "[pwre@200/0/1] [pwrx@300] IPT_END", TIMED(0x100),
          TSC(0x200), CYC(9), PWRE(2, 0, 0), TSC(0x300), PWRX(1, 1, 1, 0, 0));
    TIMES(events, "[overflow@200/0/1] [tnt@300] IPT_END", TIMED(0x100),
          TSC(0x200), CYC(9), OVF, TSC(0x300), FUP(0x1000), TNT(1, 0));
    TIMES(events, "[cbr@100/0/1] [overflow@100] [tnt@200] IPT_END",
          TIMED(0x100), OVF, CYC(9), CBR(5), TSC(0x200), FUP(0x1000),
          TNT(1, 0));
    /* what binds to an IP has the time of that */
    TIMES(events, "[ptwrite@300] IPT_END", TIMED(0x100), PTW(0, 1, 7),
          TSC(0x300), FUP(0x1000));
    TIMES(events, "[pwre] [pwrx@300] IPT_END", ON, PWRE(2, 0, 0), TSC(0x300),
          PWRX(1, 1, 1, 0, 0));
    /* instructions do not have the time of an event that was read ahead */
    TIMES(insns,
          "1000@200 [overflow@300/0/1] 2000@400 2001@400 IPT_END",
          TIMED(0x100), TSC(0x200), TNT(1, 0), TSC(0x300), CYC(9), OVF,
          TSC(0x400), FUP(0x2000), TNT(1, 0));
}

int main(void)
{
    RUN(ticks);
    RUN(deferred_ticks);
    RUN(monotonic);
    RUN(no_time);
    RUN(lost);
    RUN(waiting);
    return test_report();
}
