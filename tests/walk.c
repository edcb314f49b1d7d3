/* walk.c: the walk's parts, and that the check of its states notices. The walk
 * itself is tested through its views: blk.c, insn.c, cov.c, simulate.c. */
#include "walk.h"
#include "test.h"

static const uint8_t code_[] = {0x90, 0x74, 0xfd, 0xff, 0xe0}; /* nop, jz */

static int read_code(uint8_t *to, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    size_t n = 0;

    (void)asid, (void)context;
    while (n < size && ip + n >= 0x1000 && ip + n < 0x1000 + sizeof(code_)) {
        to[n] = code_[ip + n - 0x1000];
        n++;
    }
    return (int)n;
}

/* Returns a decoder at flow, after one block. */
static ipt_blk_decoder *decoder(void)
{
    static ipt_blk_decoder d;
    static ipt_config config;
    static const uint8_t trace[]
        = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2,
           0x82, 0x99, 1, 0x7d, 0, 0x10, 0, 0, 0, 0, 2, 0x23, 0x1e, 0x1e};
    static ipt_segment segment;
    static ipt_trace whole;
    ipt_block block;

    segment.data = trace, segment.size = sizeof(trace);
    whole.seg = &segment, whole.count = 1;
    config.read = read_code;
    CHECK(ipt_blk_init(&d, &config, &whole, NULL) >= 0);
    int status = ipt_blk_sync_forward(&d);
    ipt_event event;
    while (status >= 0 && status & IPT_EVENT_PENDING)
        status = ipt_blk_event(&d, &event);
    CHECK(ipt_blk_next(&d, &block) >= 0);
    CHECK_EQ(block.count, 2);
    return &d;
}

TEST(loops)
{
    ipt_loop_ loop;
    unsigned i;

    memset(&loop, 0, sizeof(loop));
    for (i = 0; i < 1000; i++) { /* never the same address */
        ipti_loop_branch(&loop, i, 0);
        CHECK(!ipti_loop_stuck(&loop) && loop.steps < loop.limit);
    }
    for (i = 0; i < 4000 && !ipti_loop_stuck(&loop); i++)
        ipti_loop_branch(&loop, 7 + i % 5, 0);
    CHECK(ipti_loop_stuck(&loop));
    ipti_loop_end(&loop);
    CHECK(!ipti_loop_stuck(&loop));
    for (i = 0; i < 1000; i++) ipti_loop_branch(&loop, 7, 1);
    CHECK(!ipti_loop_stuck(&loop)); /* something else ends it */
    for (i = 0; i < IPTI_PATH_MAX; i++) ipti_loop_run(&loop);
    CHECK(ipti_loop_stuck(&loop)); /* but not for ever */
}

TEST(calls)
{
    ipt_calls_ calls;
    uint64_t ip = 0, i;

    memset(&calls, 0, sizeof(calls));
    CHECK(!ipti_calls_pop(&calls, &ip));
    for (i = 1; i <= 70; i++) ipti_calls_push(&calls, i);
    CHECK_EQ(calls.count, 64);
    for (i = 70; i > 6; i--) CHECK(ipti_calls_pop(&calls, &ip) && ip == i);
    CHECK(!ipti_calls_pop(&calls, &ip)); /* the oldest six are lost */
    for (i = 1; i <= 60; i++) ipti_calls_push(&calls, i);
    ipti_calls_keep(&calls, 4);
    CHECK_EQ(calls.count, 60);
    ipti_calls_keep(&calls, 5);
    CHECK_EQ(calls.count, 59);
    ipti_calls_clear(&calls);
    CHECK(!ipti_calls_pop(&calls, &ip));
}

/* Bits as the trace has them, to those of the walk and back. */
TEST(bits)
{
    uint64_t tnt = ipti_tnt_hold(0xd, 3); /* 1 0 1; what is above is not */
    unsigned n;

    CHECK_EQ(tnt, (uint64_t) 0xb << 60);
    CHECK_EQ(ipti_tnt_held(tnt), 0xd);
    CHECK_EQ(ipti_tnt_hold(0, 0), IPTI_TNT_NONE);
    CHECK_EQ(ipti_tnt_held(IPTI_TNT_NONE), 1);
    for (n = 1; n < 64; n++)
        CHECK_EQ(ipti_tnt_held(ipti_tnt_hold(~(uint64_t) 0, n)),
                 ~(uint64_t) 0 >> (63 - n));
    tnt <<= 3;
    CHECK_EQ(tnt, IPTI_TNT_NONE);
}

/* Each rule is broken in turn: the check names it. */
TEST(illegal)
{
    ipt_blk_decoder d;
    ipt_walk_ *w = &d.walk_;

#define ILLEGAL(break_it, part)                                              \
    d = *decoder();                                                          \
    CHECK(!ipti_walk_check(w));                                              \
    break_it;                                                                \
    if (CHECK(ipti_walk_check(w)))                                           \
        CHECK(!strncmp(ipti_walk_check(w), part, strlen(part)))

    ILLEGAL(w->flow.hidden = 1, "flow");
    ILLEGAL(w->next.tnt = 0, "next");
    ILLEGAL(w->next.tnt = ipti_tnt_hold(0, 48), "next");
    ILLEGAL(w->next.has_event = 1; w->next.event.type = IPT_EVT_PAGING;
            w->next.bind.how = IPTI_BIND_HERE, "next");
    ILLEGAL(w->code.count = 1; w->code.index = 2, "code");
    ILLEGAL(w->code.count = w->code.run.count_ + 1, "code");
    ILLEGAL(w->code.count = w->tally.counted = 1; w->code.index = 0, "tally");
    ILLEGAL(w->out.count = IPT_REACHED_MAX_ + 1, "out");
    ILLEGAL(w->out.waiting = 1; w->out.count = 0, "out");
    ILLEGAL(w->out.waiting = w->item.unsettled = w->out.count = 1, "out");
    ILLEGAL(w->loop.limit = w->loop.steps = 2, "loop");
    ILLEGAL(w->probe.count = IPTI_PROBE + 1, "probe");
    ILLEGAL(w->calls.top = IPT_RETURN_STACK_, "calls");
    ILLEGAL(w->calm = 1, "calm"); /* there is no cache */
}

int main(void)
{
    RUN(loops);
    RUN(calls);
    RUN(bits);
    RUN(illegal);
    return test_report();
}
