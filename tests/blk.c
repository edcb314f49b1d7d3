/* blk.c: blocks. They are the instructions of flow.h put together by the rule
 * of ipt.h, whatever the cache, the cut of the trace and the fuel. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "walk.h"
#include "decode.h"
#include "random.h"

/* ---- the table ---- */

static log want_insns, want, got;

static void check_row(const row *r, uint32_t flags)
{
    int bad_ = test_.bad;
    build_all(&b, r->trace, PACKETS_MAX);
    memory_begin(&m, r, 0);
    log_row(&want_insns, r, &m);
    FOR_ALL_MANNERS(how)
    {
        fold(&want_insns, &want, flags);
        if (how.silent) without_events(&want);
        decode(&how, r->code, r->flags | flags, 0, &got);
        same_logs(r->name, &how, &got, &want);
    }
}

/* What insn.c and the other tables do not do: both decoders go on after an
 * error. See check_resync. */
static void check_resynced(const row *r)
{
    int bad_ = test_.bad;
    build_all(&b, r->trace, PACKETS_MAX);
    memory_begin(&m, r, 0);
    log_row(&want_insns, r, &m);
    fold(&want_insns, &want, r->flags);
    FOR_ALL_MANNERS(how)
    if (!how.pages && !how.silent) {
        decode_on(&how, r->code, r->flags, 1, 1, &got);
        same_logs(r->name, &how, &got, &want_insns);
        decode_on(&how, r->code, r->flags, 0, 1, &got);
        strcat(how.text, " blk");
        same_logs(r->name, &how, &got, &want);
    }
}

static void run_table(const table *t)
{
    static const uint32_t flags[]
        = {0, IPT_CONFIG_END_ON_CALL, IPT_CONFIG_END_ON_JUMP,
           IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP};
    decode_errata = t->errata;
    for (size_t i = 0; i < t->count; i++) {
        int bad = test_.bad;
        for (unsigned k = 0; k < LENGTH(flags) && bad == test_.bad; k++)
            if (!t->resync) check_row(&t->rows[i], flags[k]);
        if (t->resync) check_resynced(&t->rows[i]);
    }
    decode_errata = 0;
}

TABLES(TEST_TABLE)
FINDINGS(TEST_TABLE)
BDM64_FINDINGS(TEST_TABLE)
RESYNC_FINDINGS(TEST_TABLE)

/* ---- some boundaries by hand ---- */

/* The row's trace and code; config.flags are these. */
static void begin_row(const manner *how, const row *r, uint32_t flags)
{
    build_all(&b, r->trace, PACKETS_MAX);
    begin(how, r->code, flags);
}

typedef struct want_block {
    uint64_t ip, end_ip;
    unsigned packet;
    uint16_t count, flags;
    uint8_t kind, last_size;
} want_block;

static uint64_t blocks_unwanted; /* config.unwanted of check_blocks */

static void check_blocks(const row *r, const want_block *w, unsigned count)
{
    int bad_ = test_.bad;
    FOR_ALL_MANNERS(how)
    {
        ipt_block k = {0, 0, 0, 0, 0, 0, 0, 0};
        unsigned n = 0;
        int status;
        begin_row(&how, r, r->flags);
        f.config.unwanted = blocks_unwanted;
        do {
            move();
            status = ipt_blk_sync_forward(&places[place].blk);
        } while (again(status, 0));
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            do {
                move();
                status = ipt_blk_next(&places[place].blk, &k);
            } while (again(status, 0));
            if (status < 0) continue;
            if (!CHECK(n < count)) break;
#define SAME(x) \
    if (k.x != w[n].x) failed(r->name, how.text, #x, k.x, w[n].x)
            SAME(ip);
            SAME(end_ip);
            SAME(count);
            SAME(flags);
            SAME(kind);
            SAME(last_size);
#undef SAME
            if (k.offset != b.offset[w[n].packet])
                failed(r->name, how.text, "offset", k.offset,
                       b.offset[w[n].packet]);
            CHECK_EQ(k.mode, IPT_MODE_64);
            n++;
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(n, count);
        feed_end(&f);
    }
}

static const row by_hand = {
    "by hand",
    {CODE(0x1000, NOP NOP JMP("\x0c") NOP), CODE(0x1010, NOP CALL("\x1a") JCC0),
     CODE(0x1030, NOP NOP NOP RET), CODE(0x2000, NOP NOP JMP_RAX)},
    {ON, TNT(1, 1), FUP(0x1016), TIP(0x2000), CBR(3), TIP(0x1016), TNT(1, 0)},
    {{0, 0, 0, 0, 0}}, 0, 0, 0};

TEST(boundaries)
{
    static const want_block blocks[] = {
        {0x1000, 0x1033, 4, 9, INTERRUPTED, IPT_INSN_RET, 1},
        {0x2000, 0x2002, 8, 3, 0, IPT_INSN_JMP_INDIRECT, 2},
        {0x1016, 0x1016, 9, 1, 0, IPT_INSN_JCC, 2}};
    check_blocks(&by_hand, blocks, LENGTH(blocks));
}

TEST(boundaries_contiguous)
{
    static const want_block blocks[] = {
        {0x1000, 0x1002, 4, 3, 0, IPT_INSN_JMP, 2},
        {0x1010, 0x1011, 4, 2, 0, IPT_INSN_CALL, 5},
        {0x1030, 0x1033, 4, 4, INTERRUPTED, IPT_INSN_RET, 1},
        {0x2000, 0x2002, 8, 3, 0, IPT_INSN_JMP_INDIRECT, 2},
        {0x1016, 0x1016, 9, 1, 0, IPT_INSN_JCC, 2}};
    row r = by_hand;
    r.flags = IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
    check_blocks(&r, blocks, LENGTH(blocks));
}

/* Mappings of 16 bytes: a jump into another one, a call within one, and code
 * that goes on from one to the next. */
TEST(boundaries_of_sections)
{
    static const want_block blocks[] = {
        {0x1000, 0x1002, 4, 3, 0, IPT_INSN_JMP, 2},
        {0x1010, 0x1033, 4, 6, INTERRUPTED, IPT_INSN_RET, 1},
        {0x2000, 0x2002, 8, 3, 0, IPT_INSN_JMP_INDIRECT, 2},
        {0x1016, 0x1016, 9, 1, 0, IPT_INSN_JCC, 2}};
    static const row straight = {
        "straight",
        {CODE(0x100e, NOP NOP NOP NOP JCC0)},
        {PSB, EXEC64, FUP(0x100e), PSBEND, TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const want_block parts[] = {
        {0x100e, 0x100f, 4, 2, 0, IPT_INSN_OTHER, 1},
        {0x1010, 0x1012, 4, 3, 0, IPT_INSN_JCC, 2}};
    flow_sections = 4;
    check_blocks(&by_hand, blocks, LENGTH(blocks));
    check_blocks(&straight, parts, LENGTH(parts));
    flow_sections = 0;
}

/* A loop of two branches with a jump before the second: round after round, flow
 * is where it was. One block holds the jump and that branch, unless jumps end
 * blocks, or the jump leads into another mapping. */
TEST(boundaries_of_a_loop)
{
    static row r = {"loop",
                    {CODE(0x1000, NOP JCC0 NOP JMP("\x0a")),
                     CODE(0x1010, JCC("\xee"))},
                    {ON, TNT(6, 0x15), TNT(6, 0x15), TNT(6, 0x15)},
                    {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const want_block round = {0x1000, 0x1001, 0, 2, 0, IPT_INSN_JCC, 2},
                            one = {0x1003, 0x1010, 0, 3, 0, IPT_INSN_JCC, 2},
                            jump = {0x1003, 0x1004, 0, 2, 0, IPT_INSN_JMP, 2},
                            branch = {0x1010, 0x1010, 0, 1, 0, IPT_INSN_JCC, 2};
    for (unsigned apart = 0; apart < 3; apart++) {
        want_block blocks[27];
        unsigned n = 0;
        for (unsigned i = 0; i < 9; i++) {
            const unsigned first = n;
            blocks[n++] = round;
            blocks[n++] = apart ? jump : one;
            if (apart) blocks[n++] = branch;
            for (unsigned k = first; k < n; k++)
                blocks[k].packet = 4 + i / 3;
        }
        r.flags = apart == 1 ? IPT_CONFIG_END_ON_JUMP : 0;
        flow_sections = apart == 2 ? 4 : 0;
        check_blocks(&r, blocks, n);
    }
    flow_sections = 0;
}

/* An event in the middle of a run, and one right after it. */
TEST(boundaries_at_events)
{
    static const row r = {
        "events",
        {CODE(0x1000, NOP NOP NOP NOP NOP JCC0)},
        {ON, PTW(1, 1, 5), FUP(0x1001), TSX(1, 0), FUP(0x1003), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const want_block blocks[]
        = {{0x1000, 0x1001, 4, 2, 0, IPT_INSN_OTHER, 1},
           {0x1002, 0x1002, 6, 1, 0, IPT_INSN_OTHER, 1},
           {0x1003, 0x1005, 8, 3, SPECULATIVE, IPT_INSN_JCC, 2}};
    check_blocks(&r, blocks, LENGTH(blocks));
}

/* Events that nobody wants end a block if they part its instructions: by an
 * interrupt, a transaction, another address space, a stop; not if they note
 * something, as PTW and CBR. */
TEST(boundaries_at_unwanted_events)
{
    static const row r = {
        "unwanted",
        {CODE(0x1000, NOP NOP NOP NOP NOP JCC0),
         CODE(0x2000, NOP NOP MOV_CR3 NOP NOP JMP_RAX)},
        {ON, PTW(1, 1, 5), FUP(0x1001), TSX(1, 0), FUP(0x1003), FUP(0x1004),
         TIP(0x2000), CBR(3), PIP(0x5000, 0), FUP(0x2006), PGD(0x2007),
         PGE(0x2007), TIP(0x1005), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const want_block blocks[]
        = {{0x1000, 0x1002, 6, 3, 0, IPT_INSN_OTHER, 1},
           {0x1003, 0x1003, 8, 1, SPECULATIVE | INTERRUPTED, IPT_INSN_OTHER, 1},
           {0x2000, 0x2002, 11, 3, SPECULATIVE, IPT_INSN_MOV_CR3, 3},
           {0x2005, 0x2005, 12, 1, SPECULATIVE | ASID | DISABLED,
            IPT_INSN_OTHER, 1},
           {0x2007, 0x2007, 15, 1, SPECULATIVE | ENABLED,
            IPT_INSN_JMP_INDIRECT, 2},
           {0x1005, 0x1005, 16, 1, SPECULATIVE, IPT_INSN_JCC, 2}};
    blocks_unwanted = IPT_UNWANTED_;
    check_blocks(&r, blocks, LENGTH(blocks));
    blocks_unwanted = 0;
}

/* Events that nobody wants come after a jump, more than are looked at with it;
 * the last one ends the block, or none does. There is no code at the target: the
 * block comes before that status if it is complete, and is still in progress if
 * not. The status comes again. */
TEST(no_code_after_unwanted_events)
{
    int bad_ = test_.bad;
    for (unsigned n = 0; n < 14; n++) {
        row r = {"no code", {CODE(0x1000, NOP JMP16("\xfa\x0f\x00\x00"))},
                 {ON}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
        const ipt_packet note[] = {EXSTOP(1), FUP(0x2000)};
        const ipt_packet abort[] = {TSX(1, 0), FUP(0x2000)};
        const ipt_packet bit = TNT(1, 0);
        const unsigned notes = n / 2;
        unsigned at = 4; /* after ON */
        for (unsigned i = 0; i < 2 * notes; i++)
            r.trace[at++] = note[i % 2];
        for (unsigned i = 0; n % 2 && i < 2; i++)
            r.trace[at++] = abort[i];
        r.trace[at] = bit;
        FOR_ALL_MANNERS(how)
        {
            unsigned blocks = 0;
            ipt_block k;
            int status;
            begin_row(&how, &r, 0);
            f.config.unwanted = IPT_UNWANTED_;
            do {
                move();
                status = ipt_blk_sync_forward(&places[place].blk);
            } while (again(status, 0));
            while (status >= 0 || status == IPT_EVENT_FIRST) {
                do {
                    move();
                    status = ipt_blk_next(&places[place].blk, &k);
                } while (again(status, 0));
                if (status < 0) continue;
                CHECK_EQ(k.ip, 0x1000);
                CHECK_EQ(k.end_ip, 0x1001);
                blocks++;
            }
            CHECK_EQ(blocks, n % 2);
            for (unsigned i = 0; i < 3; i++) {
                CHECK_EQ(status, IPT_NEED_PAGE);
                CHECK_EQ(places[place].blk.at.missing, 0x2000);
                do
                    status = ipt_blk_next(&places[place].blk, &k);
                while (again(status, 0));
            }
            feed_end(&f);
        }
    }
}

/* Lost trace ends a block, wanted or not, also where flow goes on at the
 * instruction after it. */
TEST(boundaries_at_a_gap)
{
    static const row r = {
        "gap",
        {CODE(0x1000, NOP NOP NOP NOP NOP JCC0)},
        {ON, PTW(1, 1, 5), FUP(0x1001), GAP(3), PSB, EXEC64, FUP(0x1002),
         PSBEND, TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const want_block blocks[]
        = {{0x1000, 0x1001, 4, 2, 0, IPT_INSN_OTHER, 1},
           {0x1002, 0x1005, 11, 4, RESYNCED, IPT_INSN_JCC, 2}};
    static const uint64_t unwanted[]
        = {IPT_UNWANTED_, 1u << IPT_EVT_GAP | 1u << IPT_EVT_PTWRITE, 0};
    for (unsigned i = 0; i < LENGTH(unwanted); i++) {
        blocks_unwanted = unwanted[i];
        check_blocks(&r, blocks, LENGTH(blocks));
    }
    blocks_unwanted = 0;
}

/* ---- long ones ---- */

/* NOPs from 0x1000 on, and where *context says, a JNE back to there. */
static int read_nops(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint64_t end = *(const uint64_t *) context;
    const uint32_t back = (uint32_t) (0x1000 - (end + 6));
    const uint8_t jne[6] = {0x0f, 0x85, (uint8_t) back, (uint8_t) (back >> 8),
                            (uint8_t) (back >> 16), (uint8_t) (back >> 24)};
    (void) asid;
    for (size_t i = 0; i < size; i++)
        buffer[i] = ip + i >= end && ip + i < end + 6 ? jne[ip + i - end]
                                                      : 0x90;
    return (int) size;
}

static void check_long(unsigned nops, int c, int way)
{
    static const row r = {"long", {CODE(0, "")}, {ON, TNT(4, 0xe)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static ipt_cache_line many_lines[1 << 15];
    manner how = manner_of(way, c, 0, 1);
    uint64_t end = 0x1000 + nops;
    uint64_t ip = 0x1000;
    unsigned left = nops + 1;
    unsigned rounds = 4;
    ipt_block k;
    int status;

    begin_row(&how, &r, 0);
    CHECK_EQ(ipt_cache_init(&cache, many_lines, LENGTH(many_lines)), IPT_OK);
    f.config.read = read_nops;
    f.config.context = &end;
    do
        status = ipt_blk_sync_forward(&places[place].blk);
    while (again(status, 0));
    while (rounds) {
        unsigned count = left < 65535 ? left : 65535;
        do
            status = ipt_blk_next(&places[place].blk, &k);
        while (status == IPT_EVENT_FIRST || again(status, 0));
        if (!CHECK(status >= 0)) break;
        CHECK_EQ(k.ip, ip);
        CHECK_EQ(k.count, count);
        CHECK_EQ(k.end_ip, ip + count - 1);
        CHECK_EQ(k.kind, left == count ? IPT_INSN_JCC : IPT_INSN_OTHER);
        CHECK_EQ(k.last_size, left == count ? 6 : 1);
        left -= count;
        ip += count;
        if (left == 0) {
            left = nops + 1;
            ip = 0x1000;
            rounds--;
        }
    }
    do
        status = ipt_blk_next(&places[place].blk, &k);
    while (again(status, 0));
    CHECK_EQ(status, IPT_END);
    feed_end(&f);
}

TEST(long_blocks)
{
    static const unsigned nops[] = {79, 80, 81, 159, 160, 65533, 65534, 65535,
                                    65536, 131069, 131070, 131071, 200000};
    for (unsigned i = 0; i < LENGTH(nops); i++)
        for (int c = 0; c < CACHES; c++) {
            check_long(nops[i], c, WHOLE);
            check_long(nops[i], c, FUEL);
        }
}

/* Nops without end: not forever. */
TEST(endless_nops)
{
    static const row r = {"nops", {CODE(0, "")}, {ON, TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    uint64_t end = 0xfffffff0;
    unsigned n = 0;
    ipt_block k;
    int status;
    begin_row(&how, &r, 0);
    f.config.read = read_nops;
    f.config.context = &end;
    CHECK(ipt_blk_sync_forward(&places[place].blk) >= 0);
    while ((status = ipt_blk_next(&places[place].blk, &k)) >= 0) n++;
    CHECK_EQ(status, IPT_ERR_LOOP);
    CHECK(n > 2);
    CHECK(n < 100000);
    CHECK_EQ(ipt_blk_next(&places[place].blk, &k), IPT_ERR_LOOP);
    feed_end(&f);
}

/* A jump to itself, where a block ends at each. */
TEST(endless_jumps)
{
    static const row r = {"jumps", {CODE(0x1000, JMP("\xfe"))}, {ON, TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 1);
        ipt_blk_decoder *d = &places[place].blk;
        unsigned n = 0;
        ipt_block k;
        begin_row(&how, &r, IPT_CONFIG_END_ON_JUMP);
        CHECK(ipt_blk_sync_forward(d) >= 0);
        while (n < 1000 && ipt_blk_next(d, &k) >= 0) n++;
        CHECK(n < 1000);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_ERR_LOOP);
        feed_end(&f);
    }
}

/* A way into an endless loop, after another way without trace. */
TEST(endless_after_a_branch)
{
    static const row r
        = {"way", {CODE(0x1000, JMP("\x00") JMP("\x00") JMP("\x00")
                                JMP("\x00") JMP("\x00") JMP("\x00") JCC0
                                JMP("\x00") JMP("\x00") JMP("\x00")
                                JMP("\xfc"))},
           {ON, TNT(2, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 1);
        ipt_blk_decoder *d = &places[place].blk;
        unsigned n = 0;
        ipt_block k;
        begin_row(&how, &r, IPT_CONFIG_END_ON_JUMP);
        CHECK(ipt_blk_sync_forward(d) >= 0);
        while (n < 100 && ipt_blk_next(d, &k) >= 0) n++;
        CHECK(n >= 11);
        CHECK(n < 100);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_ERR_LOOP);
        feed_end(&f);
    }
}

/* ---- a bit at a time ---- */

/* A loop of two blocks, where each block uses up the bits at hand; with TICKS
 * each is at another time. */
TEST(one_bit_a_packet)
{
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, NOP JCC("\x01") NOP NOP NOP JCC("\xf8"))};
    static const ipt_packet on[] = {ON}, bit = TNT(1, 1);
    enum { ROUNDS = 40 };
    for (unsigned turn = 0; turn < CACHES * 4; turn++) {
        const unsigned timed = turn / CACHES & 1;
        const unsigned ticks = turn / CACHES >> 1;
        manner how = manner_of(WHOLE, (int) (turn % CACHES), 0, 0);
        ipt_blk_decoder *d = &places[place].blk;
        unsigned offsets[ROUNDS];
        ipt_event e;
        build_all(&b, on, LENGTH(on));
        for (unsigned i = 0; i < ROUNDS; i++) {
            const ipt_packet time = TSC(100 * (i + 1));
            if (timed) build_put(&b, &time);
            offsets[i] = b.count;
            build_put(&b, &bit);
        }
        begin(&how, code, ticks ? IPT_CONFIG_TICKS : 0);
        CHECK(ipt_blk_sync_forward(d) >= 0);
        while (ipt_blk_event(d, &e) >= 0) ;
        for (unsigned i = 0; i < ROUNDS; i++) {
            const uint64_t ip = i & 1 ? 0x1004 : 0x1000;
            ipt_block k;
            memset(&k, 0xa5, sizeof k);
            const int status = ipt_blk_next(d, &k);
            if (!CHECK(status >= 0)) break;
            CHECK_EQ(k.ip, ip);
            CHECK_EQ(k.end_ip, i & 1 ? 0x1006 : 0x1001);
            CHECK_EQ(k.offset, b.offset[offsets[i]]);
            CHECK_EQ(k.count, i & 1 ? 3 : 2);
            CHECK_EQ(k.kind, IPT_INSN_JCC);
            CHECK_EQ(k.last_size, 2);
            CHECK_EQ(k.mode, IPT_MODE_64);
            CHECK_EQ(k.flags, 0);
            CHECK_EQ(d->at.ip, i & 1 ? 0x1000 : 0x1004);
            if (timed) CHECK_EQ(d->at.tsc, 100 * (i + 1));
            CHECK_EQ(!(status & IPT_EVENT_PENDING), !(timed && ticks));
            if (!(status & IPT_EVENT_PENDING)) continue;
            CHECK(ipt_blk_event(d, &e) >= 0);
            CHECK_EQ(e.type, IPT_EVT_TICK);
            CHECK_EQ(e.tsc, 100 * (i + 1));
            CHECK_EQ(e.ip, d->at.ip);
            CHECK_EQ(ipt_blk_event(d, &e), IPT_END);
        }
        feed_end(&f);
    }
}

/* ---- synchronising ---- */

static const row two_psbs
    = {"two", {CODE(0x1000, NOP JCC0), CODE(0x2000, NOP JCC0)},
       {ON, TNT(1, 0), PSB, EXEC64, PSBEND, PGE(0x2000), TNT(1, 0)},
       {{0, 0, 0, 0, 0}}, 0, 0, 0};

TEST(synchronise)
{
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_blk_decoder *d = &places[place].blk;
    ipt_event e;
    ipt_block k = {0};

    begin_row(&how, &two_psbs, 0);
    CHECK_EQ(ipt_blk_sync_set(d, 1), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_sync_set(d, b.size + 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_blk_sync_backward(d), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(d->at.sync, b.offset[5]);
    CHECK_EQ(ipt_blk_event(d, &e), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(ipt_blk_sync_backward(d), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(d->at.sync, b.offset[5]); /* an event was used */
    CHECK_EQ(ipt_blk_sync_backward(d), IPT_EVENT_PENDING);
    CHECK_EQ(d->at.sync, 0);
    CHECK_EQ(ipt_blk_sync_backward(d), IPT_END);
    CHECK_EQ(ipt_blk_event(d, &e), IPT_EVENT_PENDING);
    CHECK_EQ(e.type, IPT_EVT_ENABLED);
    CHECK_EQ(ipt_blk_event(d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_EXEC_MODE);
    CHECK_EQ(ipt_blk_event(d, &e), IPT_END);
    CHECK_EQ(ipt_blk_next(d, &k), IPT_OK);
    CHECK_EQ(k.ip, 0x1000);
    CHECK_EQ(k.count, 2);
    CHECK_EQ(ipt_blk_next(d, &k), IPT_ERR_STATUS); /* off while on */
    CHECK_EQ(ipt_blk_sync_set(d, d->at.sync),
             IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(ipt_blk_next(d, &k), IPT_LAST);
    CHECK_EQ(d->at.dropped, 3);
    CHECK_EQ(k.ip, 0x2000);
    CHECK_EQ(k.flags, ENABLED);
    CHECK_EQ(ipt_blk_sync_forward(d), IPT_END);
    CHECK_EQ(ipt_blk_next(d, &k), IPT_END);
    feed_end(&f);
}

/* A mode that was given has to be that of a PSB+; one that is assumed gives way
 * to it. */
TEST(start_in_a_mode)
{
    static const row r = {"mode", {CODE(0x1000, NOP JCC0 NOP JCC0)},
                          {ON, TNT(1, 0), PSB, EXEC32, FUP(0x1003), PSBEND,
                           TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int assumed = 0; assumed < 2; assumed++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_start from;
        ipt_block k;
        begin_row(&how, &r, 0);
        memset(&from, 0, sizeof from);
        f.config.mode = assumed ? IPT_MODE_64 : IPT_MODE_UNKNOWN;
        from.mode = assumed ? IPT_MODE_UNKNOWN : IPT_MODE_64;
        from.offset = b.offset[4];
        from.ip = 0x1000;
        from.enabled = 1;
        CHECK(ipt_blk_start(d, &from) >= 0);
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.mode, IPT_MODE_64);
        if (assumed) CHECK(ipt_blk_next(d, &k) >= 0);
        else CHECK_EQ(ipt_blk_next(d, &k), IPT_ERR_STATUS);
        if (assumed) CHECK_EQ(k.mode, IPT_MODE_32);
        feed_end(&f);
    }
}

/* Nothing is left of a transaction, nor of a mode that was to hold after a
 * TIP.PGD, where the decoder synchronises. */
TEST(synchronise_forgets)
{
    static const row r = {"forgets", {CODE(0x1000, NOP NOP JCC0 JMP_RAX)},
                          {ON, TSX(1, 0), FUP(0x1001), TNT(1, 0), EXEC32,
                           PGD(0x5000), ON, TNT(1, 0), PGD(0x5000),
                           PGE(0x1000), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 1);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_event e;
        ipt_block k;
        begin_row(&how, &r, 0);
        CHECK(ipt_blk_sync_forward(d) >= 0);
        do CHECK(ipt_blk_next(d, &k) >= 0);
        while (k.kind != IPT_INSN_JCC);
        CHECK_EQ(k.flags, SPECULATIVE);
        CHECK(ipt_blk_sync_forward(d) >= 0);
        for (int i = 0; i < 3; i++) {
            while (ipt_blk_event(d, &e) >= 0) ;
            CHECK(ipt_blk_next(d, &k) >= 0);
            CHECK_EQ(k.flags & SPECULATIVE, 0);
            CHECK_EQ(k.mode, IPT_MODE_64);
        }
        feed_end(&f);
    }
}

/* A mode that comes with a TIP.PGD holds from there on, not again after the
 * next one. */
TEST(mode_of_one_pgd)
{
    static const row r = {"once", {CODE(0x1000, NOP JCC0 JMP_RAX)},
                          {ON, TNT(1, 0), EXEC32, PGD(0x5000), EXEC64,
                           PGE(0x1000), TNT(1, 0), PGD(0x5000), PGE(0x1000),
                           TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 1);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_block k;
        int status;
        unsigned n = 0;
        begin_row(&how, &r, 0);
        status = ipt_blk_sync_forward(d);
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            status = ipt_blk_next(d, &k);
            n += status >= 0;
            if (status >= 0) CHECK_EQ(k.mode, IPT_MODE_64);
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(n, 5);
        feed_end(&f);
    }
}

/* From a given state on, in an address space that the user names. */
TEST(start)
{
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_blk_decoder *d = &places[place].blk;
    ipt_asid asid = {0x9000, IPT_ASID_UNKNOWN, 2};
    ipt_block k = {0};
    ipt_start from;

    memset(&from, 0, sizeof from);
    from.ip = 0x2000;
    from.enabled = 1;
    from.mode = IPT_MODE_64;
    begin_row(&how, &two_psbs, 0);
    from.offset = b.offset[9]; /* the last TNT */
    CHECK_EQ(ipt_blk_start(d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_blk_set_asid(d, &asid), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_blk_start(d, &from), IPT_OK);
    CHECK_EQ(ipt_blk_set_asid(d, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_blk_set_asid(d, &asid), IPT_ERR_ARG);
    asid.nr = 1;
    CHECK_EQ(ipt_blk_set_asid(d, &asid), IPT_OK);
    CHECK_EQ(ipt_blk_next(d, &k), IPT_LAST);
    CHECK_EQ(k.ip, 0x2000);
    CHECK_EQ(k.count, 2);
    CHECK_EQ(d->at.asid.cr3, 0x9000);
    CHECK_EQ(d->at.asid.nr, 1);
    CHECK_EQ(ipt_blk_next(d, &k), IPT_END);
    feed_end(&f);
}

/* After a gap the address space is unknown, whatever comes after it. */
TEST(asid_after_a_gap)
{
    static const row rows[] = {
        {"gap and no more", {CODE(0x1000, JCC0)}, {HOST, TNT(1, 0), GAP(3)},
         {{0, 0, 0, 0, 0}}, 0, 0, 0},
        {"gap", {CODE(0x1000, JCC0 JCC0)},
         {HOST, TNT(1, 0), GAP(3), PSB, EXEC64, FUP(0x1002), PSBEND, TNT(1, 0)},
         {{0, 0, 0, 0, 0}}, 0, 0, 0}};
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_event e = {0};
        ipt_block k;
        int status;
        begin_row(&how, &rows[i], 0);
        status = ipt_blk_sync_forward(d);
        while (status & IPT_EVENT_PENDING && status >= 0)
            status = ipt_blk_event(d, &e);
        CHECK_EQ(d->at.asid.cr3, 0x5000);
        while (e.type != IPT_EVT_GAP && status != IPT_END) {
            status = ipt_blk_next(d, &k);
            if (status == IPT_EVENT_FIRST
                || (status >= 0 && status & IPT_EVENT_PENDING))
                status = ipt_blk_event(d, &e);
        }
        CHECK_EQ(e.type, IPT_EVT_GAP);
        CHECK_EQ(d->at.asid.cr3, IPT_ASID_UNKNOWN);
        feed_end(&f);
    }
}

/* A block that waits for a page is not lost if the page is given up. */
TEST(block_in_progress)
{
    static const row r = {"progress", {CODE(0x1000, NOP NOP JMP("\x7c")),
                                       CODE(0x2000, JCC0)},
                          {ON, TNT(1, 0), FUP(0x3000), TIP(0x2000), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 0);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_event e;
        ipt_block k = {0};
        int status;
        begin_row(&how, &r, 0);
        CHECK_EQ(ipt_blk_sync_forward(d), IPT_EVENT_PENDING);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_NEED_PAGE);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_NEED_PAGE);
        CHECK_EQ(d->at.missing, 0x1080);
        status = ipt_blk_resync(d);
        CHECK(status >= 0);
        status = ipt_blk_next(d, &k);
        CHECK(status >= 0);
        CHECK_EQ(k.ip, 0x1000);
        CHECK_EQ(k.count, 3);
        CHECK_EQ(k.end_ip, 0x1002);
        CHECK_EQ(k.last_size, 2);
        CHECK_EQ(k.kind, IPT_INSN_JMP);
        while (status >= 0 && status & IPT_EVENT_PENDING)
            status = ipt_blk_event(d, &e);
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.ip, 0x2000);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_END);
        feed_end(&f);
    }
}

/* Nor where flow is taken up elsewhere, be it of one instruction. */
TEST(block_in_progress_is_left)
{
    static const row r
        = {"left", {CODE(0x1000, JMP("\x7e")), CODE(0x2000, JCC0)},
           {ON, TNT(1, 0), PSB, EXEC64, FUP(0x2000), PSBEND, TNT(1, 0)},
           {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int how_left = 0; how_left < 5; how_left++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_asid asid = {0x9000, IPT_ASID_UNKNOWN, 0};
        ipt_block k = {0};
        ipt_event e;
        ipt_start from;
        begin_row(&how, &r, 0);
        CHECK_EQ(ipt_blk_sync_forward(d), IPT_EVENT_PENDING);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_NEED_PAGE);
        memset(&from, 0, sizeof from);
        from.offset = b.offset[9];
        from.ip = 0x2000;
        from.enabled = 1;
        from.mode = IPT_MODE_64;
        CHECK((how_left == 0   ? ipt_blk_sync_forward(d)
               : how_left == 1 ? ipt_blk_sync_backward(d)
               : how_left == 2 ? ipt_blk_sync_set(d, 0)
               : how_left == 3 ? ipt_blk_start(d, &from)
                               : ipt_blk_set_asid(d, &asid))
              >= 0);
        CHECK_EQ(ipt_blk_event(d, &e), IPT_END); /* the block comes first */
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.ip, 0x1000);
        CHECK_EQ(k.count, 1);
        CHECK_EQ(ipt_blk_next(d, &k) >= 0, how_left == 0 || how_left == 3);
        if (how_left == 0 || how_left == 3) CHECK_EQ(k.ip, 0x2000);
        feed_end(&f);
    }
}

/* Nor does it go on in another address space. */
TEST(block_in_progress_elsewhere)
{
    static const row r = {"progress", {CODE(0x1000, NOP NOP JMP("\x7c")),
                                       CODE(0x2000, JCC0)},
                          {ON, TNT(1, 0), FUP(0x3000), TIP(0x2000), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES * 4; c++) {
        manner how = manner_of(WHOLE, c % CACHES, 0, 0);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_asid asid = {0x9000, IPT_ASID_UNKNOWN, (uint8_t) (c / CACHES & 1)};
        const int hide = c / CACHES & 2 && asid.nr;
        ipt_block k = {0};
        begin_row(&how, &r, hide ? IPT_CONFIG_ROOT_ONLY : 0);
        CHECK_EQ(ipt_blk_sync_forward(d), IPT_EVENT_PENDING);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_NEED_PAGE);
        CHECK_EQ(ipt_blk_set_asid(d, &d->at.asid), IPT_OK); /* as it was */
        CHECK_EQ(ipt_blk_next(d, &k), IPT_NEED_PAGE);
        CHECK_EQ(ipt_blk_set_asid(d, &asid), IPT_OK);
        CHECK_EQ(ipt_blk_next(d, &k), hide ? IPT_IP_SUPPRESSED : IPT_OK);
        CHECK_EQ(k.ip, 0x1000);
        CHECK_EQ(k.count, 3);
        CHECK_EQ(k.end_ip, 0x1002);
        CHECK_EQ(ipt_blk_next(d, &k), hide ? IPT_END : IPT_NEED_PAGE);
        if (!hide) CHECK_EQ(d->at.asid.cr3, 0x9000);
        if (!hide) CHECK_EQ(d->at.missing, 0x1080);
        feed_end(&f);
    }
}

/* A block in progress comes first, then what the cache has in the new mode. */
TEST(block_in_progress_in_another_mode)
{
    static const row r /* rex.w jne; or dec eax, jne */
        = {"mode", {CODE(0x1000, JMP("\x7e")),
                    CODE(0x2000, "\x48" JCC0 JMP_RAX)},
           {PSB, EXEC64, FUP(0x2000), PSBEND, TNT(1, 0), TIP(0x1000),
            TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 0);
        ipt_blk_decoder *d = &places[place].blk;
        ipt_block k = {0};
        ipt_start from;
        begin_row(&how, &r, 0);
        CHECK_EQ(ipt_blk_sync_forward(d), IPT_EVENT_PENDING);
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.count, 1);
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.ip, 0x2003);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_NEED_PAGE);
        memset(&from, 0, sizeof from);
        from.offset = b.offset[6];
        from.ip = 0x2000;
        from.enabled = 1;
        from.mode = IPT_MODE_32;
        CHECK_EQ(ipt_blk_start(d, &from), IPT_OK);
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.ip, 0x1000);
        CHECK(ipt_blk_next(d, &k) >= 0);
        CHECK_EQ(k.ip, 0x2000);
        CHECK_EQ(k.count, 2);
        CHECK_EQ(k.mode, IPT_MODE_32);
        CHECK_EQ(ipt_blk_next(d, &k), IPT_END);
        feed_end(&f);
    }
}

/* After an overflow a PSB+ may say another mode. Then the cache is not asked for
 * code of the one before, although no event is handed out that says so. */
TEST(another_mode_without_an_event)
{
    static const row r /* rex.w jne; or dec eax, jne: back to 2000 */
        = {"mode", {CODE(0x2000, "\x48\x75\xfd")},
           {PSB, EXEC64, FUP(0x2000), PSBEND, TNT(2, 3), OVF, FUP(0x2000),
            TNT(2, 3), PSB, EXEC32, FUP(0x2000), PSBEND, TNT(2, 3)},
           {{0, 0, 0, 0, 0}}, 0, 0, 0};
    int bad_ = test_.bad;
    FOR_ALL_MANNERS(how)
    {
        ipt_block k;
        unsigned n = 0;
        int status;
        begin_row(&how, &r, 0);
        f.config.unwanted = IPT_UNWANTED_;
        do
            status = ipt_blk_sync_forward(&places[place].blk);
        while (again(status, 0));
        while (status >= 0) {
            do
                status = ipt_blk_next(&places[place].blk, &k);
            while (again(status, 0));
            if (status < 0) continue;
            CHECK_EQ(k.ip, 0x2000);
            CHECK_EQ(k.count, n < 4 ? 1 : 2);
            CHECK_EQ(k.mode, n < 4 ? IPT_MODE_64 : IPT_MODE_32);
            n++;
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(n, 6);
        feed_end(&f);
    }
}

/* BDM64 waits for a page that is then given up: where it had looked for that
 * abort is of no interest at the next one. */
TEST(bdm64_page_is_given_up)
{
    static const row r
        = {"given up", {CODE(0x1000, XBEGIN NOP JMP_RAX), CODE(0x1106, JCC0),
                        CODE(0x1ff0, NOPS_16), CODE(0x3000, JMP_RAX),
                        CODE(0x4000, NOP NOP NOP NOP)},
           {ON, TSX(1, 0), FUP(0x1006), TIP(0x1ff0), TSX(0, 1), FUP(0x2005),
            TIP(0x3000), TSX(1, 0), FUP(0x3000), TIP(0x4000), TSX(0, 1),
            FUP(0x4003), TIP(0x1106), TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row synced
        = {"synced", {CODE(0x1000, XBEGIN NOP JMP_RAX), CODE(0x1106, JCC0),
                      CODE(0x1ff0, NOPS_16), CODE(0x3000, JMP_RAX),
                      CODE(0x4000, NOP NOP NOP NOP)},
           {ON, TSX(1, 0), FUP(0x1006), TIP(0x1ff0), TSX(0, 1), FUP(0x2005),
            PSB, EXEC64, FUP(0x3000), PSBEND, TSX(1, 0), FUP(0x3000),
            TIP(0x4000), TSX(0, 1), FUP(0x4003), TIP(0x1106), TNT(1, 0)},
           {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES * 2; c++) {
        const int syncs = c >= CACHES;
        manner how = manner_of(WHOLE, c % CACHES, 0, 1);
        ipt_blk_decoder *d = &places[place].blk;
        unsigned pages = 0;
        unsigned counts[2] = {0};
        ipt_block k = {0};
        int status;
        decode_errata = IPT_ERRATUM_BDM64;
        begin_row(&how, syncs ? &synced : &r, 0);
        status = ipt_blk_sync_forward(d);
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            status = ipt_blk_next(d, &k);
            if (status >= 0 && k.ip == 0x1ff0) counts[0] += k.count;
            if (status >= 0 && k.ip == 0x4000) counts[1] += k.count;
            if (status != IPT_NEED_PAGE) continue;
            CHECK_EQ(d->at.missing, 0x2000);
            pages++;
            status = syncs ? ipt_blk_sync_forward(d) : ipt_blk_resync(d);
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(pages, 1);
        CHECK_EQ(counts[1], 3);
        feed_end(&f);
        decode_errata = 0;
    }
}

static log insns, blocks;

/* In all manners the same, blocks the folded instructions. */
static int check_random(uint64_t start)
{
    static char bytes[300];
    static chunk code[CODES_MAX];
    manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    char name[32];
    int bad_ = test_.bad;
    uint32_t flags;

    seed = start * 0x9e3779b97f4a7c15u;
    snprintf(name, sizeof name, "random %llu", (unsigned long long) start);
    random_trace(code, bytes);
    flags = dice(4) ? 0 : IPT_CONFIG_END_ON_CALL;
    flags |= dice(4) ? 0 : IPT_CONFIG_END_ON_JUMP;
    flags |= dice(4) ? 0 : IPT_CONFIG_NO_RETCOMP;
    flags |= dice(4) ? 0 : IPT_CONFIG_WALK_ON;
    flags |= dice(4) ? 0 : IPT_CONFIG_IFLAGS;
    decode_errata = dice(3) ? 0 : dice(IPT_ERRATUM_ALL_ + 1);
    flow_sections = dice(3) ? 0 : 1 + dice(3);
    decode(&plain, code, flags, 1, &insns);
    if (insns.count >= LOG_MAX - 100) { /* a long way without trace */
        flow_sections = 0;
        return 0;
    }
    CHECK(insns.status != IPT_ERR_INTERNAL);
    FOR_ALL_MANNERS(how)
    {
        want_insns = insns;
        if (how.silent) without_events(&want_insns);
        decode(&how, code, flags, 1, &got);
        if (!same_logs(name, &how, &got, &want_insns)) break;
        fold(&insns, &want, flags);
        if (how.silent) without_events(&want);
        decode(&how, code, flags, 0, &blocks);
        strcat(how.text, " blk");
        if (!same_logs(name, &how, &blocks, &want)) break;
    }
    flow_sections = 0;
    return test_.bad == bad_;
}

/* Do events stand after the same instructions, whoever gives them? */
static int same_places(const char *name, const log *x, const log *y)
{
    const log *const logs[] = {x, y};
    uint64_t ip[2] = {0, 0};
    size_t at[2] = {0, 0};
    for (;; at[0]++, at[1]++) {
        const entry *e[2] = {NULL, NULL};
        for (int k = 0; k < 2; k++) {
            for (; at[k] < logs[k]->count; at[k]++) {
                e[k] = &logs[k]->entries[at[k]];
                if (e[k]->what == EVENT_STEP) break;
                if (e[k]->what == INSN_STEP) ip[k] = e[k]->a;
            }
            if (at[k] == logs[k]->count) e[k] = NULL;
        }
        if (!e[0] && !e[1]) return 1;
        if (!e[0] || !e[1] || e[0]->type != e[1]->type || ip[0] != ip[1])
            return failed(name, "blk", "what stands before an event", ip[1],
                          ip[0]), 0;
    }
}

/* Going on after errors is the same in all manners, too, and it ends. Pages
 * that are missing at first, and events that nobody pulls, are other stories:
 * resync takes the first for an error and drops the others. */
static int check_resync(uint64_t start)
{
    static char bytes[300];
    static chunk code[CODES_MAX];
    manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    char name[32];
    int bad_ = test_.bad;
    uint32_t flags;

    seed = start * 0x9e3779b97f4a7c15u;
    snprintf(name, sizeof name, "resync %llu", (unsigned long long) start);
    random_trace(code, bytes);
    flags = dice(2) ? 0 : IPT_CONFIG_NO_RETCOMP;
    decode_errata = dice(3) ? 0 : dice(IPT_ERRATUM_ALL_ + 1);
    decode_on(&plain, code, flags, 1, 1, &insns);
    decode_on(&plain, code, flags, 0, 1, &blocks);
    if (insns.count >= LOG_MAX - 100) return 0;
    CHECK(insns.status != IPT_ERR_INTERNAL);
    CHECK(insns.status < 0);
    CHECK(insns.status != IPT_ERR_LOOP);
    CHECK(insns.status != IPT_ERR_MISMATCH);
    CHECK(insns.status != IPT_NEED_PAGE);
    CHECK_EQ(blocks.status, insns.status);
    if (!same_places(name, &insns, &blocks)) return 0;
    FOR_ALL_MANNERS(how)
    if (!how.pages && !how.silent) {
        decode_on(&how, code, flags, 1, 1, &got);
        if (!same_logs(name, &how, &got, &insns)) break;
        decode_on(&how, code, flags, 0, 1, &got);
        strcat(how.text, " blk");
        if (!same_logs(name, &how, &got, &blocks)) break;
    }
    return test_.bad == bad_;
}

TEST(random)
{
    many(1500, check_random);
}

TEST(random_resync)
{
    many(1500, check_resync);
}

/* ---- events that nobody wants ---- */

#define STEPS0 {{0, 0, 0, 0, 0}}, 0, 0, 0

/* Before a branch that takes no bit or target yet: at the beginning of a block,
 * and after an instruction of it. */
static const row unwanted_rows[] = {
    {ROW "notes before a jcc", {CODE(0x1000, JCC0 JCC0 NOP JCC0)},
     {ON, PTW(0, 0, 5), TNT(1, 0), PTW(0, 0, 6), PTW(0, 0, 7), TNT(1, 0),
      PTW(0, 0, 8), PTW(0, 0, 9), TNT(1, 0)}, STEPS0},
    {ROW "notes before a tip", {CODE(0x1000, JMP_RAX),
                                CODE(0x2000, NOP JMP_RAX)},
     {ON, PTW(0, 0, 5), TIP(0x1000), PTW(0, 0, 6), PTW(0, 0, 7), TIP(0x2000),
      PTW(0, 0, 8), PTW(0, 0, 9), TIP(0x1000)}, STEPS0},
    {ROW "a note before a ret", {CODE(0x1000, CALL("\x0b") JCC0),
                                 CODE(0x1010, RET)},
     {ON, PTW(0, 0, 5), TNT(2, 3)}, STEPS0},
    {ROW "an overflow instead of a tip", {CODE(0x1000, JMP_RAX),
                                           CODE(0x2000, NOP JMP_RAX)},
     {ON, TNT(1, 0), OVF, FUP(0x1000), TIP(0x2000), TNT(1, 0), OVF,
      FUP(0x1000), TIP(0x2000)}, STEPS0},
    {ROW "an overflow after what it causes", {CODE(0x1000, SYSCALL),
                                              CODE(0x2000, NOP IRETQ)},
     {ON, PIP(0x5000, 0), OVF, FUP(0x1000), TIP(0x2000), PIP(0x6000, 0), OVF,
      FUP(0x1000), TIP(0x2000)}, STEPS0},
    {ROW "a gap instead of a tip", {CODE(0x1000, JMP_RAX),
                                     CODE(0x2000, NOP JMP_RAX)},
     {ON, TNT(1, 0), GAP(3), ON, TIP(0x2000), TNT(1, 0), GAP(3), ON,
      TIP(0x2000)}, STEPS0},
    {ROW "a gap after what it causes", {CODE(0x1000, SYSCALL),
                                        CODE(0x2000, NOP IRETQ)},
     {ON, PIP(0x5000, 0), GAP(3), ON, TIP(0x2000), PIP(0x6000, 0), GAP(3), ON,
      TIP(0x2000)}, STEPS0},
    {ROW "many before an interrupt", {CODE(0x1000, NOP NOP JCC0),
                                      CODE(0x2000, JCC0)},
     {ON, EXSTOP(1), FUP(0x1001), CBR(1), CBR(2), CBR(3), CBR(4), CBR(5),
      FUP(0x1001), TIP(0x2000), TNT(1, 0)}, STEPS0},
};

/* Take out the events that nobody wants; without `all`, only those that end no
 * block. */
static void without_unwanted(log *l, uint64_t unwanted, int all)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        const entry *x = &l->entries[i];
        const int ends = !(x->flags & ST)
                         && (x->type < IPT_EVT_STOP || x->type == IPT_EVT_GAP);
        if (x->what != EVENT_STEP || !(unwanted >> x->type & 1)
            || (ends && !all))
            l->entries[n++] = *x;
    }
    l->count = n;
}

/* What is given is as if all were wanted, without these: there is no
 * IPT_EVENT_FIRST, and no IPT_EVENT_PENDING, for one of them. */
static void check_unwanted(const row *r, uint64_t unwanted)
{
    const manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    int bad_ = test_.bad;
    build_all(&b, r->trace, PACKETS_MAX);
    decode(&plain, r->code, r->flags, 1, &insns);
    decode_unwanted = unwanted;
    FOR_ALL_MANNERS(how)
    {
        want_insns = insns;
        without_unwanted(&want_insns, unwanted, 0);
        fold(&want_insns, &want, r->flags);
        without_unwanted(&want_insns, unwanted, 1);
        without_unwanted(&want, unwanted, 1);
        for (size_t i = 0; i < want.count; i++)
            want.entries[i].next = 0; /* at.ip may be where an overflow led */
        if (how.silent) without_events(&want_insns);
        if (how.silent) without_events(&want);
        decode(&how, r->code, r->flags, 1, &got);
        same_logs(r->name, &how, &got, &want_insns);
        decode(&how, r->code, r->flags, 0, &got);
        strcat(how.text, " blk");
        same_logs(r->name, &how, &got, &want);
    }
    decode_unwanted = 0;
}

/* Not the loop: after its note, the interrupt comes while a block is in
 * progress, which it marks; the instruction was handed out before. */
TEST(unwanted_before_a_branch)
{
    static const uint64_t unwanted[]
        = {0, 1u << IPT_EVT_PTWRITE, 1u << IPT_EVT_OVERFLOW | 1u << IPT_EVT_GAP,
           1u << IPT_EVT_PAGING, IPT_UNWANTED_};
    for (unsigned k = 0; k < LENGTH(unwanted); k++) {
        for (size_t i = 0; i < LENGTH(unwanted_rows); i++)
            check_unwanted(&unwanted_rows[i], unwanted[k]);
        for (size_t i = 0; i < LENGTH(C10_rows); i++)
            check_unwanted(&C10_rows[i], unwanted[k]);
    }
}

/* ---- what is left of the instruction before ---- */

/* An instruction that was passed before flow was lost, or before the decoder
 * was set to another place, causes nothing after it. */
TEST(R3_the_one_before)
{
    static const ipt_packet trace[]
        = {PSB, EXEC64, FUP(0x1004), PSBEND, TNT(1, 0), PTW(0, 1, 7),
           FUP(0x1004), TIP(0x1000), PGD(0x2000), PKT(NONE)};
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, "\xf3\x0f\xae\xe0" NOP NOP NOP JMP_RAX)};
    const manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    int bad_ = test_.bad;
    build_all(&b, trace, PACKETS_MAX);
    decode_on(&plain, code, 0, 1, 1, &insns);
    CHECK_EQ(insns.status, IPT_END);
    FOR_ALL_MANNERS(how)
    if (!how.pages && !how.silent)
        for (int blk = 0; blk < 2; blk++) {
            decode_on(&how, code, 0, !blk, 1, &got);
            if (!same_places(how.text, &insns, &got)) return;
        }
}

/* The last event of that type in a trace; its number of them. */
static unsigned last_event(const row *r, uint8_t type, int c, ipt_event *last)
{
    manner how = manner_of(WHOLE, c, 0, 0);
    ipt_blk_decoder *d = &places[place].blk;
    ipt_event e;
    ipt_block k;
    unsigned n = 0;
    int status;
    begin_row(&how, r, r->flags);
    status = ipt_blk_sync_forward(d);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        while (ipt_blk_event(d, &e) >= 0)
            if (e.type == type) {
                *last = e;
                n++;
            }
        status = ipt_blk_next(d, &k);
    }
    CHECK_EQ(status, IPT_END);
    feed_end(&f);
    return n;
}

/* After an event that says where flow is, a PTW is not of the PTWRITE before
 * that place. */
TEST(traced_up_to_there)
{
    static const row r
        = {"there", {CODE(0x1000, "\xf3\x0f\xae\xe0" JMP_RAX)},
           {ON, EXSTOP(1), FUP(0x1004), PTW(0, 0, 7), TIP(0x1000), PTW(0, 0, 8),
            TIP(0x1000)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    row one = r;
    ipt_event e;
    for (int c = 0; c < CACHES; c++) {
        CHECK_EQ(last_event(&r, IPT_EVT_PTWRITE, c, &e), 2);
        CHECK_EQ(e.ip, 0x1000);
        CHECK_EQ(e.flags & IPT_EVENT_NO_IP, 0);
        memset(&one.trace[8], 0, sizeof one.trace[8]);
        CHECK_EQ(last_event(&one, IPT_EVT_PTWRITE, c, &e), 1);
        CHECK_EQ(e.flags & IPT_EVENT_NO_IP, IPT_EVENT_NO_IP);
    }
}

/* Where tracing was to go on is not known after lost trace. */
TEST(not_resumed_after_a_gap)
{
    static const row rows[]
        = {{"resumed", {CODE(0x1000, NOP NOP JCC0)},
            {ON, FUP(0x1001), PGD0, PSB, EXEC64, PSBEND, PGE(0x1001),
             TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
           {"after a gap", {CODE(0x1000, NOP NOP JCC0)},
            {ON, FUP(0x1001), PGD0, GAP(3), PSB, EXEC64, PSBEND, PGE(0x1001),
             TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0}};
    ipt_event e;
    for (int c = 0; c < CACHES; c++)
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(last_event(&rows[i], IPT_EVT_ENABLED, c, &e), 2);
            CHECK_EQ(e.flags & IPT_EVENT_RESUMED, i ? 0 : IPT_EVENT_RESUMED);
        }
}

/* A decoder, begun again, gives what it gave at first. */
TEST(R3_begun_again)
{
    static const ipt_packet trace[]
        = {PSB, PTW(0, 1, 7), FUP(0x1000), TIP(0x1000), PGD(0x2000),
           PKT(NONE)};
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, "\xf3\x0f\xae\xe0" NOP NOP NOP JMP_RAX)};
    const manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_start from;
    ipt_insn insn;
    memset(&from, 0, sizeof from);
    from.ip = 0x1000;
    from.enabled = 1;
    from.mode = IPT_MODE_64;
    build_all(&b, trace, PACKETS_MAX);
    from.offset = b.offset[1];
    begin(&plain, code, 0);
    for (int turn = 0; turn < 2; turn++) {
        /* at first nothing was passed, then the PTWRITE */
        CHECK_EQ(ipt_insn_start(&places[place].insn, &from), IPT_OK);
        CHECK_EQ(ipt_insn_next(&places[place].insn, &insn), IPT_EVENT_PENDING);
        CHECK_EQ(insn.ip, 0x1000);
    }
    feed_end(&f);
}

int main(void)
{
    TABLES(RUN_TEST)
    FINDINGS(RUN_TEST)
    BDM64_FINDINGS(RUN_TEST)
    RESYNC_FINDINGS(RUN_TEST)
    RUN(boundaries);
    RUN(boundaries_contiguous);
    RUN(boundaries_of_sections);
    RUN(boundaries_of_a_loop);
    RUN(boundaries_at_events);
    RUN(boundaries_at_unwanted_events);
    RUN(no_code_after_unwanted_events);
    RUN(boundaries_at_a_gap);
    RUN(long_blocks);
    RUN(endless_jumps);
    RUN(endless_nops);
    RUN(endless_after_a_branch);
    RUN(one_bit_a_packet);
    RUN(synchronise);
    RUN(synchronise_forgets);
    RUN(start);
    RUN(asid_after_a_gap);
    RUN(start_in_a_mode);
    RUN(mode_of_one_pgd);
    RUN(block_in_progress);
    RUN(block_in_progress_is_left);
    RUN(block_in_progress_elsewhere);
    RUN(block_in_progress_in_another_mode);
    RUN(another_mode_without_an_event);
    RUN(bdm64_page_is_given_up);
    RUN_BOTH(random);
    RUN_BOTH(random_resync);
    RUN(unwanted_before_a_branch);
    RUN(R3_the_one_before);
    RUN(traced_up_to_there);
    RUN(not_resumed_after_a_gap);
    RUN(R3_begun_again);
    return test_report();
}
