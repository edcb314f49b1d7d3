/* qry.c: [qry], the view of events for those who walk the code themselves.
 * Expectations follow libipt's query decoder as the SDM's packets imply. */
#include "linked.h"
#include "build.h"

static build b;
static ipt_config config;
static ipt_segment piece;
static ipt_trace trace;
static ipt_qry_decoder d;

#define OFF PSB, PSBEND
#define P(...) (const ipt_packet[16]){__VA_ARGS__}

/* Begin on a trace; returns the status of synchronising. */
static int begin(const ipt_packet *packets, uint64_t *ip)
{
    build_all(&b, packets, 16);
    memset(&config, 0, sizeof config);
    piece.data = b.bytes;
    piece.size = b.size;
    trace.seg = &piece;
    trace.count = 1;
    trace.open = 0;
    trace.offset = 0;
    CHECK_EQ(ipt_qry_init(&d, &config, &trace), IPT_OK);
    return ipt_qry_sync_forward(&d, ip);
}

static int cond(int want)
{
    int taken = -1;
    int status = ipt_qry_cond_branch(&d, &taken);
    if (status >= 0) CHECK_EQ(taken, want);
    if (status < 0) CHECK_EQ(taken, -1);
    return status;
}

static int indirect(uint64_t want)
{
    uint64_t ip = 0x5a5a;
    int status = ipt_qry_indirect_branch(&d, &ip);
    CHECK_EQ(ip, status < 0 || (status & IPT_IP_SUPPRESSED) ? 0x5a5a : want);
    return status;
}

static int event(uint8_t want)
{
    ipt_event e = {0};
    int status = ipt_qry_event(&d, &e);
    if (status >= 0) CHECK_EQ(e.type, want);
    return status;
}

/* Pull the status events of ON. */
static void drain_on(void)
{
    CHECK_EQ(event(IPT_EVT_ENABLED), IPT_EVENT_PENDING);
    (void) event(IPT_EVT_EXEC_MODE);
}

TEST(synchronise)
{
    uint64_t ip = 7;
    CHECK_EQ(begin(P(ON, TNT(1, 1)), &ip), IPT_EVENT_PENDING);
    CHECK_EQ(ip, 0x1000);
    ip = 7;
    CHECK_EQ(begin(P(OFF, PGE(0x2000)), &ip),
             IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(ip, 7);
    CHECK_EQ(begin(P(TNT(1, 1)), &ip), IPT_END);
    CHECK_EQ(cond(0), IPT_ERR_NOSYNC);
    CHECK_EQ(indirect(0), IPT_ERR_NOSYNC);
    CHECK_EQ(event(0), IPT_ERR_NOSYNC);
}

TEST(back_and_set)
{
    uint64_t ip = 0;
    uint64_t second;
    CHECK(begin(P(ON, TNT(1, 1), PSB, EXEC64, FUP(0x3000), PSBEND), &ip) >= 0);
    second = b.offset[5];
    CHECK(ipt_qry_sync_set(&d, second, &ip) >= 0);
    CHECK_EQ(ip, 0x3000);
    CHECK(ipt_qry_sync_backward(&d, &ip) >= 0);
    CHECK_EQ(ip, 0x1000);
    CHECK_EQ(ipt_qry_sync_backward(&d, &ip), IPT_END);
    CHECK_EQ(ipt_qry_sync_set(&d, second + 1, &ip), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_qry_sync_set(&d, b.size + 1, &ip), IPT_ERR_ARG);
}

TEST(branches)
{
    uint64_t ip;
    CHECK(begin(P(ON, TNT(3, 5), TIP(0x2000), TNT(1, 0), PGD(0x9000)), &ip)
          >= 0);
    drain_on();
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(event(0), IPT_ERR_QUERY); /* while bits are left */
    CHECK_EQ(cond(0), 0);
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(cond(0), IPT_ERR_QUERY); /* a TIP is next */
    CHECK_EQ(event(0), IPT_ERR_QUERY);
    CHECK_EQ(indirect(0x2000), 0);
    CHECK_EQ(indirect(0), IPT_ERR_QUERY); /* bits, then no TIP */
    CHECK_EQ(cond(0), IPT_EVENT_PENDING); /* as soon as no bit is left */
    CHECK_EQ(cond(0), IPT_ERR_QUERY);
    CHECK_EQ(event(IPT_EVT_DISABLED), 0);
    CHECK_EQ(cond(0), IPT_END);
    CHECK_EQ(indirect(0), IPT_END);
    CHECK_EQ(event(0), IPT_END);
}

TEST(deferred_tips)
{
    uint64_t ip;
    CHECK(begin(P(ON, TNT(3, 6), TNT(2, 1), TIP(0x2000), TIP(0x3000)), &ip)
          >= 0);
    drain_on();
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(indirect(0x2000), 0); /* the bits before it are kept */
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(cond(0), 0);
    CHECK_EQ(indirect(0x3000), 0);
    CHECK_EQ(cond(0), 0);
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(cond(0), IPT_END);
}

TEST(too_many_bits)
{
    uint64_t ip;
    CHECK(begin(P(ON, TNT64(47, 1), TNT64(17, 1), TNT(1, 1), TIP(0x2000)), &ip)
          >= 0);
    drain_on();
    CHECK_EQ(indirect(0), IPT_ERR_EVENTS);
    CHECK_EQ(indirect(0), IPT_ERR_EVENTS); /* until synchronised */
}

TEST(suppressed)
{
    uint64_t ip;
    CHECK(begin(P(ON, TIP0, TIP(0x2000)), &ip) >= 0);
    drain_on();
    CHECK_EQ(indirect(0), IPT_IP_SUPPRESSED);
    CHECK_EQ(indirect(0x2000), 0);
}

TEST(errors_in_the_place_of_events)
{
    uint64_t ip;
    CHECK(begin(P(ON, TNT(1, 1), PSBEND), &ip) >= 0);
    drain_on();
    CHECK_EQ(cond(1), IPT_EVENT_PENDING);
    CHECK_EQ(event(0), IPT_ERR_CONTEXT);
    CHECK_EQ(cond(0), IPT_ERR_CONTEXT);
    CHECK_EQ(d.at.error, IPT_ERR_CONTEXT);
    CHECK_EQ(d.at.packet, IPT_PKT_PSBEND);
}

TEST(time)
{
    uint64_t ip;
    CHECK(begin(P(PSB, TSC(0x100), EXEC64, FUP(0x1000), PSBEND, TNT(1, 1),
                  TSC(0x200), TIP(0x2000)), &ip) >= 0);
    drain_on();
    CHECK_EQ(d.at.tsc, 0x100);
    CHECK(d.at.valid & IPT_AT_TSC);
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(d.at.tsc, 0x100);
    CHECK_EQ(indirect(0x2000), 0);
    CHECK_EQ(d.at.tsc, 0x200);
}

TEST(open_trace)
{
    uint64_t ip = 0;
    CHECK(begin(P(ON, TNT(2, 2), TIP(0x2000)), &ip) >= 0);
    piece.size = b.offset[4]; /* up to the TNT */
    trace.open = 1;
    CHECK_EQ(ipt_qry_init(&d, &config, &trace), IPT_OK);
    (void) ipt_qry_sync_forward(&d, &ip);
    CHECK_EQ(event(0), IPT_MORE); /* BDM70 is not decided yet */
    piece.size = b.offset[5];
    drain_on();
    CHECK_EQ(cond(1), 0);
    CHECK_EQ(cond(0), 0);
    CHECK_EQ(indirect(0), IPT_MORE);
    piece.size = b.size;
    CHECK_EQ(indirect(0x2000), 0);
    trace.open = 0;
    CHECK_EQ(cond(0), IPT_END);
}

TEST(arguments)
{
    ipt_qry_decoder raw = {0};
    ipt_event e;
    uint64_t ip;
    int taken;
    CHECK_EQ(ipt_qry_init(NULL, &config, &trace), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_init(&d, NULL, &trace), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_sync_forward(&raw, &ip), IPT_ERR_STATE);
    CHECK_EQ(ipt_qry_cond_branch(&raw, &taken), IPT_ERR_STATE);
    CHECK_EQ(ipt_qry_cond_branch(NULL, &taken), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_indirect_branch(NULL, &ip), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_event(NULL, &e), IPT_ERR_ARG);
    CHECK(begin(P(ON), &ip) >= 0);
    CHECK_EQ(ipt_qry_sync_forward(&d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_cond_branch(&d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_indirect_branch(&d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_event(&d, NULL), IPT_ERR_ARG);
}

int main(void)
{
    RUN(synchronise);
    RUN(back_and_set);
    RUN(branches);
    RUN(deferred_tips);
    RUN(too_many_bits);
    RUN(suppressed);
    RUN(errors_in_the_place_of_events);
    RUN(time);
    RUN(open_trace);
    RUN(arguments);
    return test_report();
}
