/* walk.c: the walk's parts, and that the check of its states notices. The walk
 * itself is tested through its views: blk.c, insn.c, cov.c, simulate.c. */
#include "range.h"
#include "walk.h"
#include "test.h"

static const uint8_t code_[] = {0x90, 0x74, 0xfd, 0xff, 0xe0}; /* nop, jz */

static int read_code(uint8_t *to, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void)asid, (void)context;
    return range_read(to, size, ip, 0x1000, code_, sizeof(code_));
}

#define ON_ /* PSB, MODE.Exec, FUP 1000, PSBEND: 27 bytes */                 \
    2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,  \
        0x99, 1, 0x7d, 0, 0x10, 0, 0, 0, 0, 2, 0x23

/* Returns a decoder at flow, after one block of the trace. */
static ipt_blk_decoder *decoder_of(const uint8_t *trace, size_t size)
{
    static ipt_blk_decoder d;
    static ipt_config config;
    static ipt_segment segment;
    static ipt_trace whole;
    ipt_block block;

    segment.data = trace, segment.size = size;
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

static ipt_blk_decoder *decoder(void)
{
    static const uint8_t trace[] = {ON_, 0x1e, 0x1e};

    return decoder_of(trace, sizeof(trace));
}

/* An address space that is set says what the next PIP changes: trace ON_, FUP
 * 1001, PIP of the root, TIP 1000. */
TEST(set_asid_is_a_guest)
{
    static const uint8_t trace[]
        = {ON_, 0x1e, 0x3d, 1, 0x10, 2, 0x43, 0, 5, 0, 0, 0, 0, 0x2d, 0, 0x10};
    static const ipt_config plain = {0};
    for (unsigned nr = 0; nr < 2; nr++) {
        const ipt_asid asid = {0x7000, IPT_ASID_UNKNOWN, (uint8_t) nr};
        const ipt_segment segment = {trace, sizeof(trace)};
        const ipt_trace whole = {&segment, 1, 0, 0};
        static ipt_insn_decoder d;
        ipt_config config = plain;
        ipt_insn insn;
        ipt_event event;
        unsigned exits = 0;

        config.read = read_code;
        config.flags = IPT_CONFIG_VMX_EVENTS;
        CHECK(ipt_insn_init(&d, &config, &whole, NULL) >= 0);
        int status = ipt_insn_sync_forward(&d);
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            while (ipt_insn_event(&d, &event) >= 0)
                exits += event.type == IPT_EVT_CFE
                         && event.u.cfe.type == IPT_CFE_VMEXIT;
            if (d.at.ip == 0x1001 && d.at.asid.cr3 == IPT_ASID_UNKNOWN)
                CHECK_EQ(ipt_insn_set_asid(&d, &asid), IPT_OK);
            status = ipt_insn_next(&d, &insn);
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(exits, nr);
    }
}

/* A range of a filter has its first and its last address, and no others. */
TEST(ends_of_a_filter)
{
    static const uint8_t trace[] = {ON_, 0x1e, 0x1e};
    static const ipt_config plain = {0};
    const ipt_segment segment = {trace, sizeof(trace)};
    const ipt_trace whole = {&segment, 1, 0, 0};
    for (unsigned i = 0; i < 9; i++) {
        const uint64_t first = 0x1000 + i / 3, last = 0x1000 + i % 3;
        static ipt_cov_decoder d;
        uint8_t map = 0;
        ipt_filter only[IPT_FILTERS] = {{0, 0, 0}};
        ipt_cov_config cov = {0};
        ipt_config config = plain;

        only[0].first = first, only[0].last = last;
        only[0].kind = IPT_FILTER_TRACE;
        config.read = read_code;
        cov.bitmap = &map, cov.bitmap_size = 1;
        cov.filter = only;
        CHECK(ipt_cov_init(&d, &config, &cov, &whole, NULL) >= 0);
        CHECK_EQ(ipt_cov_run(&d), IPT_END);
        CHECK_EQ(map, first <= 0x1001 && last >= 0x1001 ? 6 : 0);
    }
}

/* More events after a block than the walk has room for at a time. */
TEST(many_events)
{
    static const uint8_t trace[] /* TNT, EXSTOP, ..., TNT */
        = {ON_, 6, 2, 0x62, 2, 0x62, 2, 0x62, 2, 0x62, 2, 0x62, 2, 0x62, 6};
    ipt_blk_decoder *const d = decoder_of(trace, sizeof(trace));
    ipt_event event;
    unsigned i;

    memset(&event, 0, sizeof(event));
    for (i = 0; i < 6; i++) {
        CHECK(ipt_blk_event(d, &event) >= 0);
        CHECK_EQ(event.type, IPT_EVT_EXSTOP);
        CHECK_EQ(event.offset, 28 + 2 * i);
    }
    CHECK_EQ(ipt_blk_event(d, &event), IPT_END);
}

/* At 1000 a JMP RAX, from 2000 on NOPs. */
static int read_nops(uint8_t *to, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    static const uint8_t jmp[] = {0xff, 0xe0};
    static uint8_t some[600];

    (void)asid, (void)context;
    memset(some, 0x90, sizeof(some));
    return ip < 0x2000 ? range_read(to, size, ip, 0x1000, jmp, sizeof(jmp))
                       : range_read(to, size, ip, 0x2000, some, sizeof(some));
}

/* With erratum BDM64 a transaction's abort is looked for after 255 instructions
 * and less from the target of the branch before it. If it is further away, that
 * target was wrong: flow was where the abort is. */
TEST(bdm64_looks_so_far)
{
    static const ipt_config plain = {0};

    for (unsigned n = 1; n < 300; n += n < 240 || n > 260 ? 31 : 1) {
        const uint8_t trace[]
            = {ON_, 0x99, 0x21, 0x3d, 0, 0x10, 0x2d, 0, 0x20, 0x99, 0x22,
               0x3d, (uint8_t) n, (uint8_t) (0x20 + n / 256), 0x2d, 0, 0x10};
        const ipt_segment segment = {trace, sizeof(trace)};
        const ipt_trace whole = {&segment, 1, 0, 0};
        static ipt_insn_decoder d;
        ipt_config config = plain;
        ipt_insn insn;
        unsigned nops = 0;

        config.read = read_nops;
        config.errata = IPT_ERRATUM_BDM64;
        CHECK(ipt_insn_init(&d, &config, &whole, NULL) >= 0);
        int status = ipt_insn_sync_forward(&d);
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            status = ipt_insn_next(&d, &insn);
            if (status >= 0 && insn.ip >= 0x2000) nops++;
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(nops, n < 256 ? n : 0);
    }
}

TEST(loops)
{
    ipt_loop_ loop;
    unsigned i;

    memset(&loop, 0, sizeof(loop));
    for (i = 0; i < 1000; i++) { /* never the same address */
        ipti_loop_branch(&loop, i, 0);
        CHECK(!ipti_loop_stuck(&loop));
        CHECK(loop.branches <= loop.total);
    }
    for (i = 0; i < 4000 && !ipti_loop_stuck(&loop); i++)
        ipti_loop_branch(&loop, 7 + i % 5, 0);
    CHECK(ipti_loop_stuck(&loop));
    ipti_loop_end(&loop);
    CHECK(!ipti_loop_stuck(&loop));
    for (i = 0; i < 1000; i++) ipti_loop_branch(&loop, 7, 1);
    CHECK(!ipti_loop_stuck(&loop)); /* something else ends it */
    ipti_loop_end(&loop);
    for (i = 0; i < IPTI_PATH_MAX; i++) {
        CHECK(!ipti_loop_stuck(&loop));
        loop.total++;
    }
    CHECK(ipti_loop_stuck(&loop)); /* but not forever */
    ipti_loop_end(&loop);
    ipti_loop_branch(&loop, 7, 0);
    ipti_loop_branch(&loop, 8, 1); /* what was before does not count */
    ipti_loop_branch(&loop, 7, 0);
    CHECK(!ipti_loop_stuck(&loop));
    ipti_loop_end(&loop);
    for (i = 0; i < IPTI_PATH_MAX; i++) {
        CHECK(!ipti_loop_stuck(&loop));
        ipti_loop_branch(&loop, i, 0);
    }
    CHECK(ipti_loop_stuck(&loop));
}

/* An endless loop is found where the address is met again that was remembered
 * after 1, 3, 7, 15, ... branches. */
TEST(loops_are_found)
{
    static const unsigned sizes[][2]
        = {{1, 2}, {2, 3}, {3, 6}, {5, 12}, {500, 1011}};
    ipt_loop_ loop;
    unsigned k, i;

    memset(&loop, 0, sizeof(loop));
    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        ipti_loop_end(&loop);
        for (i = 0; !ipti_loop_stuck(&loop); i++)
            ipti_loop_branch(&loop, 7 + i % sizes[k][0], 0);
        CHECK_EQ(i, sizes[k][1]);
    }
}

TEST(calls)
{
    ipt_calls_ calls;
    uint64_t ip = 0, i;

    memset(&calls, 0, sizeof(calls));
    CHECK(!ipti_calls_pop(&calls, &ip));
    for (i = 1; i <= 70; i++) ipti_calls_push(&calls, i);
    CHECK_EQ(calls.at.count, 64);
    for (i = 70; i > 6; i--) {
        CHECK(ipti_calls_pop(&calls, &ip));
        CHECK_EQ(ip, i);
    }
    CHECK(!ipti_calls_pop(&calls, &ip)); /* the oldest six are lost */
    for (i = 1; i <= 60; i++) ipti_calls_push(&calls, i);
    ipti_calls_keep(&calls, 4);
    CHECK_EQ(calls.at.count, 60);
    ipti_calls_keep(&calls, 5);
    CHECK_EQ(calls.at.count, 59);
    ipti_calls_clear(&calls, 0, 0);
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
    ipt_cache cache;

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
    ILLEGAL(w->loop.branches = 2; w->loop.total = 1, "loop");
    ILLEGAL(w->probe.count = IPTI_PROBE + 1, "probe");
    ILLEGAL(w->calls.at.top = IPT_RETURN_STACK_, "calls");
    ILLEGAL(w->calm = 1, "calm"); /* there is no cache */
#define CALM                                                                  \
    w->calm = 1, w->place.key = ipti_cache_key(1, w->mode.now);              \
    w->marks.lead = w->code.count = w->item.unsettled = 0;                   \
    w->cache = &cache
    CALM;
    CHECK(!ipti_walk_check(w));
    ILLEGAL(CALM; w->place.key++, "calm: there is more"); /* of another mode */
    ILLEGAL(CALM; w->code.index = w->tally.counted = 0; w->code.count = 2;
            w->code.run.count_ = 3; w->code.run.kind_ = IPT_INSN_OTHER,
            "calm: the run is cut");
#undef CALM
}

int main(void)
{
    RUN(loops);
    RUN(loops_are_found);
    RUN(many_events);
    RUN(bdm64_looks_so_far);
    RUN(set_asid_is_a_guest);
    RUN(ends_of_a_filter);
    RUN(calls);
    RUN(bits);
    RUN(illegal);
    return test_report();
}
