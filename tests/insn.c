/* insn.c: instructions and events, in order, in every manner of handing over
 * trace and code. The programs and what they do are in flow.h. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "walk.h"
#include "flow.h"
#include "range.h"

/* ---- a decoder on a row ---- */

static ipt_insn_decoder places[2];
static unsigned place;
static feed f;
static build b;
static memory m;
static ipt_cache cache;
static ipt_cache_line lines[64];
static int waited; /* the decoder has said that it needs something */

static ipt_insn_decoder *decoder(void)
{
    ipt_insn_decoder *from = &places[place];
    if (f.way == CLONE) place ^= 1;
    return feed_move(&f, from, &places[place], sizeof *from);
}

/* Supply what a status asks for; 0 if it is an answer. */
static int again(int status)
{
    const ipt_where *at = &places[place].at;
    feed_drop(&f, at);
    if (status < 0) CHECK_EQ(at->error, status);
    if (status == IPT_NEED_PAGE) {
        waited = 1;
        if (memory_supply(&m, at->missing)) return 1;
    }
    waited |= status == IPT_MORE || status == IPT_BUDGET;
    return feed_again(&f, status, b.size);
}

static int sync(void)
{
    int status;
    do
        status = ipt_insn_sync_forward(decoder());
    while (again(status));
    /* it looks at the first event, and does not say if it could not */
    waited |= f.trace.open || f.config.fuel;
    return status;
}

static int next(ipt_insn *insn)
{
    static int calm; /* no event waits: the next instruction has at.mode */
    const uint8_t at_mode = places[place].at.mode;
    int status;
    ipt_insn before;
    memset(insn, 0xee, sizeof *insn);
    before = *insn;
    do {
        status = ipt_insn_next(decoder(), insn);
        if (status < 0) CHECK(!memcmp(&before, insn, sizeof *insn));
    } while (again(status));
    if (status >= 0 && calm) CHECK_EQ(insn->mode, at_mode);
    calm = status == IPT_OK;
    return status;
}

/* Events that come before the instruction are not pulled. */
static int next_insn(ipt_insn *insn)
{
    int status;
    do
        status = next(insn);
    while (status == IPT_EVENT_FIRST);
    return status;
}

static int pull(ipt_event *event)
{
    int status = ipt_insn_event(decoder(), event);
    waited |= f.trace.open || f.config.fuel;
    return status;
}

static uint32_t with_errata; /* of config */
static ipt_filter with_filter;

static void begin(const row *r, const manner *how)
{
    build_all(&b, r->trace, PACKETS_MAX);
    feed_begin(&f, b.bytes, b.size, how->way);
    memory_begin(&m, r, how->pages);
    memory_config(&m, &f.config);
    f.config.flags = r->flags | how->flags;
    f.config.cr3 = ONLY_CR3;
    f.config.errata = with_errata;
    f.config.filter[1] = with_filter;
    waited = 0;
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    CHECK_EQ(ipt_insn_init(&places[place], &f.config, &f.trace,
                           how->cache ? &cache : NULL),
             IPT_OK);
}

/* ---- comparing ---- */

static uint8_t mode; /* of the next instruction */

static int compare_insn(const row *r, const manner *how, const ipt_insn *insn,
                        const step *s)
{
    ipt_code code;
    if (s->what != INSN_STEP)
        return failed(r->name, how->text, "unexpected insn", insn->ip, s->ip),
               0;
    if (insn->ip != s->ip)
        return failed(r->name, how->text, "ip", insn->ip, s->ip), 0;
    if (insn->flags != s->flags)
        return failed(r->name, how->text, "insn flags", insn->flags, s->flags),
               0;
    if (insn->mode != mode)
        return failed(r->name, how->text, "insn mode", insn->mode, mode), 0;
    CHECK_EQ(memory_classify(&m, insn->ip, mode, &code), IPT_OK);
    if (insn->size != code.size)
        return failed(r->name, how->text, "insn size", insn->size, code.size),
               0;
    if (insn->kind != code.kind)
        return failed(r->name, how->text, "insn kind", insn->kind, code.kind),
               0;
    return 1;
}

#define STEPS_OVER                                      \
    (IPT_CONFIG_ROOT_ONLY | IPT_CONFIG_NON_ROOT_ONLY     \
     | IPT_CONFIG_CR3_ONLY)

/* Is tracing disabled after this instruction? */
static int disables(const step *s, int status)
{
    return (s->flags & DISABLED)
           || (status & IPT_EVENT_PENDING && s[1].what == EVENT_STEP
               && s[1].flags & NOIP
               && (s[1].type == IPT_EVT_OVERFLOW || s[1].type == IPT_EVT_GAP));
}

/* Does an event come before the instruction that comes next, which could not do
 * without what follows: is its TIP lost, or is a PTW in its way? */
static int comes_first(const step *s)
{
    for (; s->what == EVENT_STEP; s++)
        if (s->type == IPT_EVT_OVERFLOW || s->type == IPT_EVT_GAP
            || (s->type == IPT_EVT_PTWRITE && s->flags & NOIP))
            return 1;
    return 0;
}

static void run_row(const row *r, const manner *how)
{
    const int last = r->status ? r->status : IPT_END;
    const step *s = r->steps;
    const step *first = s;
    unsigned events = 0;
    unsigned rounds = 0;
    ipt_insn insn;
    ipt_event event = {.type = 0};
    int status;

    begin(r, how);
    mode = IPT_MODE_UNKNOWN;
    status = sync();
    if (status < 0) failed(r->name, how->text, "-sync", (uint64_t) -status, 0);
    for (;; rounds++) {
        if (!CHECK(rounds < 1000)) break;
        while (status >= 0 && status & IPT_EVENT_PENDING && !how->silent) {
            status = pull(&event);
            if (!CHECK(status >= 0)
                || !compare_event(r, how, &event, s))
                goto out;
            if (event.type == IPT_EVT_EXEC_MODE) mode = event.u.exec.mode;
            s++;
        }
        if (!how->silent) first = s;
        while (how->silent && s->what == EVENT_STEP) {
            if (s->type == IPT_EVT_EXEC_MODE) mode = (uint8_t) s->a;
            events++;
            s++;
        }
        status = next(&insn);
        if (status == IPT_EVENT_FIRST) {
            if (!waited && !comes_first(first))
                failed(r->name, how->text, "IPT_EVENT_FIRST before", s->ip, 0);
            status = IPT_EVENT_PENDING;
            continue;
        }
        if (status < 0) break;
        if (!compare_insn(r, how, &insn, s)) goto out;
        if (!(r->flags & STEPS_OVER)
            && (status & IPT_IP_SUPPRESSED) / IPT_IP_SUPPRESSED
                   != disables(s, status))
            failed(r->name, how->text, "suppressed", (uint64_t) status, s->ip);
        first = ++s;
    }
    if (status != last || s->what)
        failed(r->name, how->text, "-status", (uint64_t) -status,
               (uint64_t) -last);
    if (s->what) failed(r->name, how->text, "missing step", 0, s->ip);
    CHECK_EQ(next(&insn), last); /* it comes again */
    CHECK_EQ(next(&insn), last);
    CHECK_EQ(pull(&event), IPT_END);
    if (r->ip && places[place].at.ip != r->ip)
        failed(r->name, how->text, "at.ip", places[place].at.ip, r->ip);
    if (r->ip) CHECK(places[place].at.valid & IPT_AT_IP);
    if (places[place].at.dropped != events)
        failed(r->name, how->text, "dropped", places[place].at.dropped,
               events);
out:
    feed_end(&f);
}

static void run_table(const table *t)
{
    const uint32_t errata = with_errata;
    with_errata |= t->errata;
    for (size_t i = 0; i < t->count; i++) {
        int bad_ = test_.bad;
        FOR_ALL_MANNERS(how)
        run_row(&t->rows[i], &how);
    }
    with_errata = errata;
}

TABLES(TEST_TABLE)
FINDINGS(TEST_TABLE)
BDM64_FINDINGS(TEST_TABLE)

/* ---- errata that change flow ---- */

static const row skd022_rows[] = {
    {ROW "vm entry that disables", {CODE(0x1000, NOP VMLAUNCH JCC0)},
     {ON, FUP(0x1001), PGD0, PGE(0x1004), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, 0, 0x1004), IF(0x1004, ENABLED)}, 0, 0, 0},
    {ROW "anything else", {CODE(0x1000, NOP SYSCALL JCC0)},
     {ON, FUP(0x1001), PGD0, PGE(0x1001), PGD0},
     {S_ON, IF(0x1000, DISABLED), E(ASYNC_DISABLED, NOTO, 0x1001),
      E(ENABLED, BACK, 0x1001), IF(0x1001, ENABLED | RESUMED | DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
};

static const row bdm64_rows[] = {
    {ROW "abort off the way",
     {CODE(0x1000, XBEGIN JCC("\x10")), CODE(0x1018, NOP NOP JMP_RAX),
      CODE(0x1106, JCC0)},
     {ON, TSX(1, 0), FUP(0x1006), TNT(1, 1), TSX(0, 1), FUP(0x3000),
      TIP(0x1106), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1006, 2),
      IF(0x1006, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x3000, 1),
      EA(ASYNC_BRANCH, 0, 0x3000, 0x1106), I(0x1106)}, 0, 0, 0},
    {ROW "abort on the way",
     {CODE(0x1000, XBEGIN JCC("\x10")), CODE(0x1018, NOP JMP("\x10")),
      CODE(0x102b, NOP NOP), CODE(0x1106, JCC0)},
     {ON, TSX(1, 0), FUP(0x1006), TNT(1, 1), TSX(0, 1), FUP(0x102c),
      TIP(0x1106), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1006, 2), IF(0x1006, SPECULATIVE),
      IF(0x1018, SPECULATIVE), IF(0x1019, SPECULATIVE),
      IF(0x102b, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x102c, 1), EA(ASYNC_BRANCH, 0, 0x102c, 0x1106), I(0x1106)},
     0, 0, 0},
    {ROW "two aborts on the way",
     {CODE(0x1000, XBEGIN JCC("\x10")), CODE(0x1018, NOP NOP JMP_RAX),
      CODE(0x1106, JCC("\x10")), CODE(0x1118, NOP NOP JMP_RAX),
      CODE(0x1206, JCC0)},
     {ON, TSX(1, 0), FUP(0x1006), TNT(1, 1), TSX(0, 1), FUP(0x1019),
      TIP(0x1106), TSX(1, 0), FUP(0x1106), TNT(1, 1), TSX(0, 1), FUP(0x1119),
      TIP(0x1206), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1006, 2), IF(0x1006, SPECULATIVE),
      IF(0x1018, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x1019, 1),
      EA(ASYNC_BRANCH, 0, 0x1019, 0x1106), EA(TSX, 0, 0x1106, 2),
      IF(0x1106, SPECULATIVE),
      IF(0x1118, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x1119, 1),
      EA(ASYNC_BRANCH, 0, 0x1119, 0x1206), I(0x1206)}, 0, 0, 0},
    {ROW "abort on the way, over a page",
     {CODE(0x1ff0, XBEGIN JCC("\x04")), CODE(0x1ffc, NOP NOP NOP NOP),
      CODE(0x2000, NOP NOP), CODE(0x20f6, JCC0)},
     {PSB, EXEC64, FUP(0x1ff0), PSBEND, TSX(1, 0), FUP(0x1ff6), TNT(1, 1),
      TSX(0, 1), FUP(0x2001), TIP(0x20f6), TNT(1, 0)},
     {E(ENABLED, SEAM, 0x1ff0), EA(EXEC_MODE, ST, 0x1ff0, IPT_MODE_64),
      I(0x1ff0), EA(TSX, 0, 0x1ff6, 2), IF(0x1ff6, SPECULATIVE),
      IF(0x1ffc, SPECULATIVE), IF(0x1ffd, SPECULATIVE),
      IF(0x1ffe, SPECULATIVE), IF(0x1fff, SPECULATIVE),
      IF(0x2000, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x2001, 1), EA(ASYNC_BRANCH, 0, 0x2001, 0x20f6), I(0x20f6)},
     0, 0, 0},
};

static const row skl014_rows[] = { /* traced: 1000 to 1fff */
    {ROW "call out of the filter",
     {CODE(0x1000, JMP("\x0e")),
      CODE(0x1010, NOP "\xe8\xea\x1f\x00\x00" JCC0)}, /* to 3000 */
     {ON, PGD0, PGE(0x1016), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1010), IF(0x1011, DISABLED),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, BACK, 0x1016),
      IF(0x1016, ENABLED | RESUMED)}, 0, 0, 0},
    {ROW "mov cr3", {CODE(0x1000, NOP MOV_CR3 "\xe9\x00\x20\x00\x00")},
     {ON, PGD0}, {S_ON, I(0x1000), IF(0x1001, DISABLED),
                  E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "indirect", {CODE(0x1000, NOP JMP_RAX)}, {ON, PGD0},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), E(DISABLED, NOIP | NOTO, 0)}, 0,
     0, 0},
    {ROW "another branch, which says where to",
     {CODE(0x1000, "\xe9\xfb\x1f\x00\x00"), CODE(0x3000, JMP_RAX)},
     {ON, PGD(0x4000)},
     {S_ON, I(0x1000), IF(0x3000, DISABLED), EA(DISABLED, NOIP, 0, 0x4000)}, 0,
     0, 0},
};

static const row stop_rows[] = { /* tracing stops at 3000 to 3fff */
    {ROW "call to where tracing stops",
     {CODE(0x1000, NOP "\xe8\xfa\x1f\x00\x00" JCC0)},
     {ON, PGD0, PGE(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, BACK, 0x1006), IF(0x1006, ENABLED | RESUMED)}, 0, 0, 0},
};

static const row filter_rows[] = { /* a filter and no erratum */
    {ROW "out of the filter and on",
     {CODE(0x1000, NOP "\xe9\xfa\x1f\x00\x00"), CODE(0x3000, NOP JMP_RAX)},
     {ON, PGD0},
     {S_ON, I(0x1000), I(0x1001), I(0x3000), IF(0x3001, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
};

TEST(errata)
{
    static const ipt_filter filter = {0x1000, 0x1fff, IPT_FILTER_TRACE};
    static const ipt_filter stop = {0x3000, 0x3fff, IPT_FILTER_STOP};
    static const ipt_filter none = {0, 0, IPT_FILTER_OFF};
    TABLE(skd022, skd022_rows, 0)
    TABLE(bdm64, bdm64_rows, 0)
    TABLE(skl014, skl014_rows, 0)
    TABLE(stop, stop_rows, 0)
    TABLE(filtered, filter_rows, 0)

    with_errata = IPT_ERRATUM_SKD022;
    run_table(&skd022_table);
    with_errata = IPT_ERRATUM_BDM64;
    run_table(&bdm64_table);
    with_errata = IPT_ERRATUM_SKL014;
    with_filter = filter;
    run_table(&skl014_table);
    with_filter = stop;
    run_table(&stop_table);
    with_errata = 0;
    with_filter = filter;
    run_table(&filtered_table);
    with_filter = none;
}

/* ---- which packet proves an instruction ---- */

TEST(offsets)
{
    static const row r = {
        "offsets",
        {CODE(0x1000, NOP JCC0 NOP JMP_RAX), CODE(0x2000, NOP SYSCALL NOP JCC0),
         CODE(0x3000, JCC0)},
        {ON, TNT(1, 0), TIP(0x2000), PGD0, PGE(0x2003), TNT(1, 0), FUP(0x2006),
         TIP(0x3000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const struct {
        uint64_t ip;
        unsigned packet;
    } want[] = {{0x1000, 4}, {0x1001, 4}, {0x1003, 5}, {0x1004, 5},
                {0x2000, 6}, {0x2001, 6}, {0x2003, 8}, {0x2004, 8},
                {0x3000, 11}};
    for (int way = 0; way < WAYS; way++) {
        manner how = manner_of(way, NO_CACHE, 0, 1);
        ipt_insn insn;
        begin(&r, &how);
        CHECK(sync() >= 0);
        for (unsigned i = 0; i < LENGTH(want); i++) {
            int status;
            status = next_insn(&insn);
            CHECK(status >= 0);
            CHECK_EQ(insn.ip, want[i].ip);
            CHECK_EQ(insn.offset, b.offset[want[i].packet]);
        }
        CHECK_EQ(next(&insn), IPT_END);
        CHECK_EQ(places[place].at.sync, 0);
        CHECK_EQ(places[place].at.offset, b.size);
        feed_end(&f);
    }
}

/* ---- starting anywhere ---- */

static const row start_row = {
    "start", {CODE(0x1000, JCC0 RET), CODE(0x5000, JCC0 JMP_RAX),
              CODE(0x6000, JCC0)},
    {ON, TNT(3, 2), TIP(0x6000), TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0};

TEST(start)
{
    static const uint64_t stack[] = {0x7000, 0x5000};
    static const uint64_t want[] = {0x1000, 0x1002, 0x5000, 0x5002, 0x6000};
    ipt_start from;
    memset(&from, 0, sizeof from);
    from.ip = 0x1000;
    from.stack = stack;
    from.stack_count = LENGTH(stack);
    from.has = IPT_START_ASID;
    from.asid.cr3 = 0x9000;
    from.asid.vmcs = IPT_ASID_UNKNOWN;
    from.asid.nr = 1;
    from.enabled = 1;
    from.mode = IPT_MODE_64;
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 0);
        ipt_insn insn;
        begin(&start_row, &how);
        from.offset = b.offset[4];
        CHECK_EQ(ipt_insn_start(decoder(), &from), IPT_OK);
        CHECK(!(places[place].at.valid & IPT_AT_SYNC));
        CHECK_EQ(places[place].at.asid.cr3, 0x9000);
        CHECK_EQ(places[place].at.asid.nr, 1);
        for (unsigned i = 0; i < LENGTH(want); i++) {
            CHECK_EQ(next(&insn), i + 1 == LENGTH(want) ? IPT_LAST : IPT_OK);
            CHECK_EQ(insn.ip, want[i]);
            CHECK_EQ(insn.flags, 0);
        }
        CHECK_EQ(next(&insn), IPT_END);
        /* what was known is forgotten: nothing to return to */
        from.stack_count = 0;
        from.mode = IPT_MODE_UNKNOWN;
        CHECK_EQ(ipt_insn_start(decoder(), &from), IPT_OK);
        CHECK_EQ(next(&insn), IPT_ERR_MODE);
        from.mode = IPT_MODE_64;
        CHECK_EQ(ipt_insn_start(decoder(), &from), IPT_OK);
        CHECK_EQ(next(&insn), IPT_OK);
        CHECK_EQ(next(&insn), IPT_ERR_RETURN);
        from.stack_count = LENGTH(stack);
        CHECK_EQ(ipt_insn_sync_backward(decoder()), IPT_EVENT_PENDING);
        CHECK_EQ(places[place].at.sync, 0);
        feed_end(&f);
    }
}

/* Flow is known: a PSB+ may not say that tracing is disabled. */
TEST(start_is_known)
{
    static const row r = {"known", {CODE(0x1000, JCC0 JCC0)},
                          {TNT(1, 0), OFF, PGE(0x1000)}, {{0, 0, 0, 0, 0}}, 0,
                          0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_start from;
    ipt_insn insn;
    begin(&r, &how);
    memset(&from, 0, sizeof from);
    from.ip = 0x1000;
    from.enabled = 1;
    from.mode = IPT_MODE_64;
    CHECK_EQ(ipt_insn_start(decoder(), &from), IPT_OK);
    CHECK_EQ(next(&insn), IPT_OK);
    CHECK_EQ(insn.ip, 0x1000);
    CHECK_EQ(next(&insn), IPT_ERR_STATUS);
    feed_end(&f);
}

/* The user says which address space it is, where the trace does not. */
TEST(set_asid)
{
    ipt_asid asid = {0x9000, 0x8000, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 0);
        ipt_insn insn;
        ipt_event e = {.type = 0};
        begin(&start_row, &how);
        f.config.flags = IPT_CONFIG_NON_ROOT_ONLY;
        CHECK_EQ(ipt_insn_sync_forward(decoder()),
                 IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
        asid.nr = 2;
        CHECK_EQ(ipt_insn_set_asid(decoder(), &asid), IPT_ERR_ARG);
        asid.nr = 1; /* from the next IP on: that of EXEC_MODE */
        CHECK_EQ(ipt_insn_set_asid(decoder(), &asid), IPT_OK);
        CHECK_EQ(pull(&e), IPT_EVENT_PENDING);
        CHECK_EQ(pull(&e), IPT_OK);
        CHECK_EQ(e.type, IPT_EVT_EXEC_MODE);
        CHECK_EQ(next(&insn), IPT_OK);
        CHECK_EQ(insn.ip, 0x1000);
        CHECK_EQ(places[place].at.asid.cr3, 0x9000);
        CHECK_EQ(places[place].at.asid.vmcs, 0x8000);
        CHECK_EQ(next(&insn), IPT_ERR_RETURN);
        CHECK_EQ(ipt_insn_resync(decoder()), IPT_OK);
        CHECK_EQ(next(&insn), IPT_LAST);
        CHECK_EQ(insn.ip, 0x6000);
        CHECK_EQ(next(&insn), IPT_END);
        /* at once */
        CHECK_EQ(ipt_insn_sync_set(decoder(), 0),
                 IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
        asid.nr = 0;
        CHECK_EQ(ipt_insn_set_asid(decoder(), &asid), IPT_OK);
        while ((pull(&e) & IPT_EVENT_PENDING) != 0) continue;
        CHECK_EQ(next(&insn), IPT_END);
        CHECK_EQ(places[place].at.ip, 0x1000);
        feed_end(&f);
    }
}

/* Two spaces with other code at 1000: jne 1000; nop, jne 1000. */
static int asid_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    static const uint8_t code[] = {0x75, 0xfe, 0xcc, 0x90, 0x75, 0xfd};
    const uint8_t *from = code + (asid->cr3 == 0x9000 ? 3 : 0);
    (void) context;
    return range_read(buffer, size, ip, 0x1000, from, 3);
}

/* Code is that of the space which the user has named last. */
TEST(set_asid_while_it_flows)
{
    static const row r = {"named", {CODE(0x1000, "")}, {ON, TNT(6, 0x3f)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 1);
        ipt_insn insn;
        ipt_asid asid = {0x8000, 0, 0};
        begin(&r, &how);
        f.config.read = asid_read;
        CHECK(sync() >= 0);
        for (unsigned i = 0; i < 6; i++) {
            asid.cr3 = i & 1 ? 0x9000 : 0x8000;
            CHECK_EQ(ipt_insn_set_asid(decoder(), &asid), IPT_OK);
            CHECK(next(&insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000);
            CHECK_EQ(insn.size, i & 1 ? 1 : 2);
            if (i & 1) CHECK(next(&insn) >= 0);
            CHECK_EQ(insn.kind, IPT_INSN_JCC);
        }
        CHECK_EQ(next(&insn), IPT_END);
        feed_end(&f);
    }
}

/* An event of flow that is no longer wanted is not given; one that is about
 * what holds for all flow is. */
TEST(set_asid_before_an_event)
{
    static const row rows[2]
        = {{"its own", {CODE(0x1000, JCC0 NOP NOP JCC0)},
            {HOST, TNT(1, 0), PTW(0, 1, 5), FUP(0x1003), PGD(0x9000)},
            {{0, 0, 0, 0, 0}}, 0, 0, IPT_CONFIG_CR3_ONLY},
           {"of all", {CODE(0x1000, JCC0 NOP NOP JCC0)},
            {HOST, TNT(1, 0), CBR(7), EXSTOP(1), FUP(0x1003), PGD(0x9000)},
            {{0, 0, 0, 0, 0}}, 0, 0, IPT_CONFIG_CR3_ONLY}};
    static const struct {
        unsigned count;
        uint8_t types[3];
    } want[2] = {{1, {IPT_EVT_DISABLED}},
                 {3, {IPT_EVT_CBR, IPT_EVT_EXSTOP, IPT_EVT_DISABLED}}};
    const ipt_asid asid = {0x9000, 0, 0};
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
        uint8_t types[8];
        unsigned n = 0;
        ipt_insn insn;
        ipt_event e = {.type = 0};
        int status;
        begin(&rows[i], &how);
        CHECK(sync() >= 0);
        status = next_insn(&insn);
        CHECK(status >= 0);
        CHECK_EQ(insn.ip, 0x1000);
        CHECK_EQ(ipt_insn_set_asid(decoder(), &asid), IPT_OK);
        do {
            status = pull(&e);
            if (status >= 0 && n < LENGTH(types)) types[n++] = (uint8_t) e.type;
            if (status == IPT_END) status = next(&insn);
        } while (status >= 0 || status == IPT_EVENT_FIRST);
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(n, want[i].count);
        CHECK(!memcmp(types, want[i].types, want[i].count));
        feed_end(&f);
    }
}

/* ---- the return stack has 64 entries ---- */

/* A function calls itself `depth` times; then `returns` compressed ones. */
static void check_depth(unsigned depth, unsigned returns, int status)
{
    static const row r = {"depth",
                          {CODE(0x1000, JCC("\x05") CALL("\xf9") RET)},
                          {ON}, {{0, 0, 0, 0, 0}}, 0, 0, 0};
    /* 1000: jne 1007; 1002: call 1000; 1007: ret */
    static const char bytes[] = "\x75\x05\xe8\xf9\xff\xff\xff\xc3";
    static row mine;
    ipt_packet p = TNT(1, 0);
    ipt_insn insn;
    unsigned i;
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);

    mine = r;
    mine.code[0].bytes = bytes;
    mine.code[0].size = sizeof bytes - 1;
    build_all(&b, mine.trace, PACKETS_MAX);
    for (i = 0; i < depth; i++) build_put(&b, &p); /* not taken: call */
    p.u.tnt.bits = 1;
    build_put(&b, &p);
    for (i = 0; i < returns; i++) build_put(&b, &p);
    feed_begin(&f, b.bytes, b.size, WHOLE);
    memory_begin(&m, &mine, how.pages);
    f.config.read = memory_read;
    f.config.context = &m;
    CHECK_EQ(ipt_insn_init(&places[place], &f.config, &f.trace, NULL), IPT_OK);
    CHECK(sync() >= 0);
    for (i = 0; i < depth; i++) {
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000);
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1002);
    }
    CHECK(next(&insn) >= 0);
    CHECK_EQ(insn.ip, 0x1000);
    for (i = 0; i < returns - (status == IPT_ERR_RETURN); i++) {
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1007);
    }
    CHECK_EQ(next(&insn), status);
    CHECK_EQ(places[place].at.ip, 0x1007);
    feed_end(&f);
}

TEST(deep_calls)
{
    check_depth(1, 1, IPT_END);
    check_depth(1, 2, IPT_ERR_RETURN);
    check_depth(64, 64, IPT_END);
    check_depth(64, 65, IPT_ERR_RETURN);
    check_depth(65, 64, IPT_END);
    check_depth(65, 65, IPT_ERR_RETURN); /* the oldest is lost */
    check_depth(100, 65, IPT_ERR_RETURN);
}

/* Which one is lost: frames that differ. */
TEST(the_oldest_is_lost)
{
    static char bytes[5 * 70 + 1 + 70];
    static row mine;
    static const row r = {"oldest", {CODE(0, "")}, {ON}, {{0, 0, 0, 0, 0}}, 0,
                          0, 0};
    ipt_packet p = TNT(1, 1);
    ipt_insn insn;
    const unsigned depth = 66;
    unsigned i;

    /* 1000 + 6 i: call to 1006 + 6 i over a ret at 1005 + 6 i; a ret last */
    mine = r;
    for (i = 0; i < depth; i++) memcpy(bytes + 6 * i, "\xe8\1\0\0\0\xc3", 6);
    bytes[6 * depth] = '\xc3';
    mine.code[0].ip = 0x1000;
    mine.code[0].bytes = bytes;
    mine.code[0].size = 6 * depth + 1;
    build_all(&b, mine.trace, PACKETS_MAX);
    for (i = 0; i < 64; i++) build_put(&b, &p);
    feed_begin(&f, b.bytes, b.size, WHOLE);
    memory_begin(&m, &mine, 0);
    f.config.read = memory_read;
    f.config.context = &m;
    CHECK_EQ(ipt_insn_init(&places[place], &f.config, &f.trace, NULL), IPT_OK);
    CHECK(sync() >= 0);
    for (i = 0; i < depth; i++) {
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000 + 6 * i);
    }
    for (i = 0; i < 64; i++) { /* the last ret, then those after the calls */
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000 + (i ? 6 * (depth - i + 1) - 1 : 6 * depth));
    }
    CHECK_EQ(next(&insn), IPT_END);
    feed_end(&f);
}

/* ---- endless loops ---- */

static void check_loop(const char *name, const row *r, unsigned most)
{
    for (int way = 0; way < WAYS; way++) {
        for (int c = 0; c < CACHES; c++) {
            manner how = manner_of(way, c, 0, 1);
            ipt_insn insn;
            unsigned n = 0;
            int status;
            begin(r, &how);
            CHECK(sync() >= 0);
            do {
                status = next(&insn);
                n += status >= 0;
            } while ((status >= 0 || status == IPT_EVENT_FIRST) && n < most);
            if (status != IPT_ERR_LOOP)
                failed(name, how.text, "-status", (uint64_t) -status,
                       (uint64_t) -IPT_ERR_LOOP);
            CHECK_EQ(next(&insn), IPT_ERR_LOOP);
            CHECK_EQ(places[place].at.error, IPT_ERR_LOOP);
            CHECK(places[place].at.valid & IPT_AT_IP);
            if (!memory_find(&m, places[place].at.ip))
                failed(name, how.text, "at.ip", places[place].at.ip, 0);
            feed_end(&f);
        }
    }
}

static const row loop_rows[] = {
    {ROW "jmp $",
     {CODE(0x1000, JMP("\xfe"))}, {ON, TNT(1, 0)}, {{0, 0, 0, 0, 0}},
     0, 0, 0},
    {ROW "call $", {CODE(0x1000, "\xe8\xfb\xff\xff\xff")}, {ON, TNT(1, 0)},
     {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "a longer one", {CODE(0x1000, NOP NOP JMP("\x1c")),
                      CODE(0x1020, NOP CALL("\x0a")),
                      CODE(0x1030, NOP JMP("\x0d")),
                      CODE(0x1040, NOP NOP JMP("\xbc"))},
     {ON, TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "after a way to it", {CODE(0x1000, JCC0 NOP JMP("\x0b")),
                            CODE(0x1010, JMP("\x0e")),
                            CODE(0x1020, NOP JMP("\xfd"))},
     {ON, TNT(2, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "an interrupt elsewhere", {CODE(0x1000, NOP JMP("\xfd"))},
     {ON, FUP(0x3000), TIP(0x2000)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "disabled elsewhere", {CODE(0x1000, NOP JMP("\xfd"))},
     {ON, PGD(0x3000)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "a ptwrite that does not come", {CODE(0x1000, NOP JMP("\xfd"))},
     {ON, PTW(1, 0, 5), TNT(1, 0)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "a syscall that does not come", {CODE(0x1000, NOP JMP("\xfd"))},
     {ON, CFE(SYSCALL, 0, 0), TIP(0x2000)}, {{0, 0, 0, 0, 0}}, 0, 0, 0},
    {ROW "a trigger far away", {CODE(0x1000, NOP JMP("\xfd"))},
     {ON, TRIG(1, 0, 1, 0xffff, 0), PTW(1, 0, 5), TNT(1, 0)},
     {{0, 0, 0, 0, 0}}, 0, 0, 0},
};

TEST(loops)
{
    for (unsigned i = 0; i < LENGTH(loop_rows); i++)
        check_loop(loop_rows[i].name, &loop_rows[i], 100000);
}

/* ---- code that is not there, or not as it should be ---- */

static int answer; /* what read_answer returns at `lie_at` and after */
static uint64_t lie_at;

static int read_answer(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    memset(buffer, 0x90, size);
    if (ip >= lie_at) return answer;
    return (int) (lie_at - ip < size ? lie_at - ip : size);
}

/* Nops from 1000 up to 1000 + good; what is after is `result`. */
static void check_answer(unsigned good, int result, int status)
{
    static const row r = {"answer", {CODE(0x1000, NOP)}, {ON, TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 0, 1);
        const ipt_where *at;
        ipt_insn insn;
        unsigned n;
        begin(&r, &how);
        f.config.read = read_answer;
        answer = result;
        lie_at = 0x1000 + good;
        CHECK(sync() >= 0);
        for (n = 0; n < good; n++) {
            CHECK(next(&insn) >= 0);
            CHECK_EQ(insn.ip, 0x1000 + n);
        }
        at = &places[place].at;
        for (n = 0; n < 3; n++) {
            CHECK_EQ(next(&insn), status);
            CHECK_EQ(at->ip, 0x1000 + good);
            CHECK(at->valid & IPT_AT_IP);
            if (status == IPT_NEED_PAGE) CHECK_EQ(at->missing, 0x1000 + good);
            if (status == IPT_ERR_IMAGE) CHECK_EQ(at->image_error, result);
        }
        lie_at = UINT64_MAX; /* a new answer will do */
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1000 + good);
        feed_end(&f);
    }
}

TEST(answers)
{
    for (unsigned good = 0; good < 200; good += 1 + good / 3) {
        check_answer(good, 0, IPT_NEED_PAGE);
        check_answer(good, IPT_NEED_PAGE, IPT_NEED_PAGE);
        check_answer(good, -1, IPT_ERR_IMAGE);
        check_answer(good, IPT_MORE, IPT_ERR_IMAGE);
        check_answer(good, IPT_EVENT_FIRST, IPT_ERR_IMAGE);
        check_answer(good, IPT_ERR_IMAGE, IPT_ERR_IMAGE);
        check_answer(good, -1000000, IPT_ERR_IMAGE);
        check_answer(good, INT32_MIN, IPT_ERR_IMAGE);
        check_answer(good, 129, IPT_ERR_CALLBACK);
        check_answer(good, INT32_MAX, IPT_ERR_CALLBACK);
    }
}

/* Nops forever: flow needs trace at last, or never. */
static int read_nops(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    (void) ip;
    (void) context;
    memset(buffer, 0x66, size); /* eleven prefixes of a nop: fewer of them */
    for (size_t i = 0; i < size; i++)
        if ((ip + i) % 12 == 11) buffer[i] = 0x90;
    return (int) size;
}

TEST(endless_nops)
{
    static const row r = {"nops", {CODE(0x1000, NOP)}, {ON, TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    uint64_t n = 0;
    ipt_insn insn;
    int status;

    begin(&r, &how);
    f.config.read = read_nops;
    CHECK(sync() >= 0);
    while ((status = ipt_insn_next(&places[place], &insn)) >= 0) n++;
    CHECK_EQ(status, IPT_ERR_LOOP);
    CHECK(n > 65536);
    CHECK(n < UINT32_MAX);
    CHECK_EQ(ipt_insn_next(&places[place], &insn), IPT_ERR_LOOP);
    feed_end(&f);
}

/* ---- fuel bounds the work of each call ---- */

static unsigned work; /* callbacks */

static int count_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    work++;
    return memory_read(buffer, size, asid, ip, context);
}

static int count_classify(ipt_code *code, const uint8_t *bytes, size_t size,
                          uint8_t insn_mode, void *context)
{
    work++;
    return ipt_classify(code, bytes, size, insn_mode, context);
}

static uint64_t count_space(const ipt_asid *asid, void *context)
{
    (void) context;
    work++;
    return asid->cr3;
}

/* A call may go past zero by a packet or a run of at most 80 instructions: 80
 * classified, and the reads for 80 * 15 bytes. */
TEST(fuel_bounds_work)
{
    static const uint64_t tanks[] = {1, 2, 7, 30, 100, 1000};
    static const row *const rows[]
        = {&loop_rows[2], &loop_rows[7], &branch_rows[1], &event_rows[0],
           &cause_rows[0], &wrap_rows[0]};
    for (unsigned t = 0; t < LENGTH(tanks); t++) {
        for (unsigned k = 0; k < LENGTH(rows) * CACHES; k++) {
            manner how = manner_of(FUEL, (int) (k % CACHES), 0, 1);
            ipt_insn insn;
            unsigned rounds = 0;
            int status;
            begin(rows[k / CACHES], &how);
            f.config.read = count_read;
            f.config.classify = count_classify;
            f.config.space = count_space;
            f.fuel = tanks[t];
            status = ipt_insn_sync_forward(&places[place]);
            while ((status >= 0 || status == IPT_BUDGET
                    || status == IPT_EVENT_FIRST)
                   && rounds++ < 10000) {
                if (status == IPT_BUDGET) CHECK_EQ(f.fuel, 0);
                if (status == IPT_BUDGET) f.fuel = tanks[t];
                work = 0;
                status = places[place].at.valid & IPT_AT_SYNC
                             ? ipt_insn_next(&places[place], &insn)
                             : ipt_insn_sync_forward(&places[place]);
                CHECK(work <= tanks[t] + 80 + 80 * 15 / 16);
            }
            CHECK(status == IPT_END || status == IPT_ERR_LOOP);
            feed_end(&f);
        }
    }
}

/* nop, nop, jcc to the first, jmp to the first. */
static int read_loop(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    static const uint8_t code[] = {0x90, 0x90, 0x74, 0xfc, 0xeb, 0xfa};
    size_t n = 0;

    (void) asid;
    (void) context;
    for (; n < size && ip - 0x1000 + n < sizeof(code); n++)
        buffer[n] = code[ip - 0x1000 + n];
    return (int) n;
}

/* Decode, in portions of fuel; returns what is burned for instructions, and how
 * many there were. */
static uint64_t burned(const ipt_trace *trace, ipt_cache *code, int blocks,
                       uint64_t portion, uint64_t *count)
{
    static ipt_insn_decoder insns;
    static ipt_blk_decoder blks;
    uint64_t fuel = portion;
    uint64_t given = portion;
    ipt_config config = {0};
    ipt_block block;
    ipt_insn insn;
    int status;

    config.read = read_loop;
    config.fuel = &fuel;
    *count = 0;
    if (blocks) {
        CHECK_EQ(ipt_blk_init(&blks, &config, trace, code), IPT_OK);
        status = ipt_blk_sync_set(&blks, 0);
    } else {
        CHECK_EQ(ipt_insn_init(&insns, &config, trace, code), IPT_OK);
        status = ipt_insn_sync_set(&insns, 0);
    }
    while (status >= 0 || status == IPT_BUDGET || status == IPT_EVENT_FIRST) {
        if (status == IPT_BUDGET) {
            CHECK_EQ(fuel, 0);
            given += fuel = portion;
        }
        status = blocks ? ipt_blk_next(&blks, &block)
                        : ipt_insn_next(&insns, &insn);
        if (status >= 0) *count += blocks ? block.count : 1;
    }
    CHECK_EQ(status, IPT_END);
    CHECK(given - fuel >= trace->seg->size / 16);
    return given - fuel - trace->seg->size / 16;
}

/* From a cache that holds all code, instructions cost a unit each, whether they
 * go the quick way or not. A run longer than the fuel takes the rest of it. */
TEST(fuel_of_instructions)
{
    static const char head[] = "\x02\x82\x02\x82\x02\x82\x02\x82"
                               "\x02\x82\x02\x82\x02\x82\x02\x82"
                               "\x99\x01\x7d\x00\x10\x00\x00\x00\x00\x02\x23";
    static uint8_t bytes[400];
    ipt_segment piece = {bytes, sizeof(bytes)};
    ipt_trace trace = {&piece, 1, 0, 0};
    uint64_t want, count, all;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t) (i * 6 % 249 | 0x80) & 0xfe;
    memcpy(bytes, head, sizeof(head) - 1);
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    (void) burned(&trace, &cache, 0, 1000000, &want);
    CHECK(want > 6000);
    for (int blocks = 0; blocks < 2; blocks++) {
        all = burned(&trace, &cache, blocks, 1000000, &count);
        CHECK_EQ(count, want);
        CHECK(all >= want);
        CHECK(all <= want + 3);
        for (uint64_t portion = 1; portion < 60; portion += 1 + portion / 4) {
            all = burned(&trace, &cache, blocks, portion, &count);
            CHECK_EQ(count, want);
            CHECK(all <= want + 3);
            CHECK(all >= want / 4);
        }
    }
}

/* ---- pages that come later ---- */

/* Instructions that straddle pages; each page is asked for once, in order. */
TEST(pages)
{
    static const row r = {
        "pages",
        {CODE(0x1ffe, NOP "\x0f\x1f\x00" "\x75\x00"), CODE(0x2ffe, NOP JCC0),
         CODE(0x3ffd, NOP JMP("\x00") JMP_RAX)},
        {PSB, EXEC64, FUP(0x1ffe), PSBEND, TNT(1, 0), FUP(0x2004), TIP(0x2ffe),
         TNT(1, 0), FUP(0x3001), TIP(0x3ffd), TIP(0x1ffe)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const uint64_t want[] = {0x1ffe, 0x1fff, 0x2002, 0x2ffe, 0x2fff,
                                    0x3ffd, 0x3ffe, 0x4000};
    static const uint64_t missing[] = {0x1ffe, 0x2000, 0x3000, 0x4000};
    for (int c = 0; c < CACHES; c++) {
        manner how = manner_of(WHOLE, c, 1, 1);
        unsigned asked = 0;
        unsigned n = 0;
        ipt_insn insn;
        int status = 0;
        begin(&r, &how);
        CHECK(sync() >= 0);
        while (asked + n < 100) {
            const ipt_where *at = &places[place].at;
            status = ipt_insn_next(&places[place], &insn);
            if (status == IPT_EVENT_FIRST) continue;
            if (status == IPT_NEED_PAGE) {
                CHECK(asked < LENGTH(missing));
                CHECK_EQ(at->missing, missing[asked]);
                CHECK_EQ(at->asid.cr3, IPT_ASID_UNKNOWN);
                CHECK_EQ(ipt_insn_next(&places[place], &insn), IPT_NEED_PAGE);
                CHECK_EQ(at->missing, missing[asked]);
                CHECK(memory_supply(&m, at->missing));
                asked++;
                continue;
            }
            if (status < 0) break;
            CHECK(n < LENGTH(want));
            CHECK_EQ(insn.ip, want[n]);
            n++;
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(n, LENGTH(want));
        CHECK_EQ(asked, LENGTH(missing));
        feed_end(&f);
    }
}

/* A page that is only read ahead is not missed before flow gets there. */
TEST(read_ahead)
{
    static const row r = {"ahead",
                          {CODE(0x1ffc, NOP JCC("\x00") NOP), CODE(0x2000, "")},
                          {PSB, EXEC64, FUP(0x1ffc), PSBEND, TNT(1, 0),
                           FUP(0x1fff), TIP(0x1ffc), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    begin(&r, &how);
    CHECK(sync() >= 0);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(next(&insn) >= 0);
        CHECK_EQ(insn.ip, 0x1ffc + i % 2);
    }
    CHECK_EQ(next(&insn), IPT_END);
    feed_end(&f);
}

/* An instruction in two mappings is whole, and says so. */
TEST(two_mappings)
{
    static const row r = {"mappings",
                          {CODE(0x1000, NOP "\x0f"), CODE(0x1002, "\x1f\x00"
                           JCC0)},
                          {ON, TNT(1, 0)},
                          {S_ON, I(0x1000), IF(0x1001, TRUNCATED), I(0x1004)},
                          0, 0, 0};
    static const row page = {"page",
                             {CODE(0x1ffe, NOP "\x0f"), CODE(0x2000,
                              "\x1f\x00" JCC0)},
                             {PSB, EXEC64, FUP(0x1ffe), PSBEND, TNT(1, 0)},
                             {E(ENABLED, SEAM, 0x1ffe),
                              EA(EXEC_MODE, ST, 0x1ffe, IPT_MODE_64),
                              I(0x1ffe), I(0x1fff), I(0x2002)}, 0, 0, 0};
    int bad_ = test_.bad;
    FOR_ALL_MANNERS(how)
    if (!how.pages) run_row(&r, &how);
    /* a page is read on its own; nobody knows whether it is a mapping */
    FOR_ALL_MANNERS(other)
    run_row(&page, &other);
}

/* ---- the address space reaches the callback ---- */

static ipt_asid seen[64];
static unsigned seen_count;

static int read_asid(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    if (seen_count < LENGTH(seen)) seen[seen_count++] = *asid;
    return memory_read(buffer, size, asid, ip, context);
}

TEST(address_spaces)
{
    static const row r = {
        "asid",
        {CODE(0x1000, SYSCALL), CODE(0x2000, VMPTRLD JCC0)},
        {ON, PIP(0x8000, 1), TIP(0x2000), VMCS(0x9000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const ipt_asid want[]
        = {{IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0},
           {0x8000, IPT_ASID_UNKNOWN, 1}, {0x8000, 0x9000, 1}};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    unsigned n = 0;
    begin(&r, &how);
    f.config.read = read_asid;
    seen_count = 0;
    CHECK(sync() >= 0);
    while (next(&insn) >= 0)
        ;
    for (unsigned i = 0; i < seen_count; i++) {
        while (n < LENGTH(want)
               && (seen[i].cr3 != want[n].cr3 || seen[i].vmcs != want[n].vmcs
                   || seen[i].nr != want[n].nr))
            n++;
    }
    CHECK_EQ(n, LENGTH(want) - 1); /* all of them, in this order */
    CHECK_EQ(places[place].at.asid.cr3, 0x8000);
    CHECK_EQ(places[place].at.asid.vmcs, 0x9000);
    CHECK_EQ(places[place].at.asid.nr, 1);
    feed_end(&f);
}

/* ---- synchronising ---- */

TEST(synchronise)
{
    static const row r = {"two", {CODE(0x1000, NOP JCC0),
                                  CODE(0x2000, NOP JCC0)},
                          {ON, TNT(1, 0), PSB, EXEC64, PSBEND, PGE(0x2000),
                           TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_insn_decoder *d = &places[place];
    ipt_event e;
    ipt_insn insn;

    begin(&r, &how);
    CHECK_EQ(ipt_insn_sync_set(d, 1), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_insn_sync_set(d, b.size + 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_sync_backward(d), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(d->at.sync, b.offset[5]);
    CHECK(!(d->at.valid & IPT_AT_IP));
    CHECK_EQ(ipt_insn_event(d, &e), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(e.type, IPT_EVT_DISABLED);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_EVENT_PENDING); /* enabled is next */
    CHECK_EQ(e.type, IPT_EVT_EXEC_MODE);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_ENABLED);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_END);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
    CHECK_EQ(insn.ip, 0x2000);
    CHECK_EQ(ipt_insn_sync_backward(d), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(d->at.sync, b.offset[5]);
    CHECK_EQ(ipt_insn_sync_backward(d), IPT_EVENT_PENDING);
    CHECK_EQ(d->at.sync, 0);
    CHECK_EQ(d->at.ip, 0x1000);
    CHECK(d->at.valid & IPT_AT_IP);
    CHECK_EQ(ipt_insn_sync_backward(d), IPT_END);
    CHECK_EQ(ipt_insn_sync_set(d, 0), IPT_EVENT_PENDING);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
    CHECK_EQ(insn.ip, 0x1000);
    CHECK_EQ(d->at.dropped, 2);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
    CHECK_EQ(insn.ip, 0x1001);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_ERR_STATUS); /* off while on */
    CHECK_EQ(ipt_insn_sync_set(d, d->at.sync),
             IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    CHECK_EQ(d->at.error, 0);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
    CHECK_EQ(insn.ip, 0x2000);
    CHECK_EQ(insn.flags, ENABLED);
    feed_end(&f);
}

/* A status event says that tracing is on; nothing else is known before. */
TEST(psb_only)
{
    static const row on = {"on", {CODE(0x1000, NOP)}, {ON}, {S_ON}, 0, 0, 0};
    static const row psb = {"psb", {CODE(0x1000, NOP)}, {PSB},
                            {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row none = {"none", {CODE(0x1000, NOP)}, {PADS(64)},
                             {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_insn insn;
    int bad_ = test_.bad;
    FOR_ALL_MANNERS(all)
    {
        run_row(&on, &all);
        run_row(&psb, &all);
    }
    begin(&none, &how);
    CHECK_EQ(sync(), IPT_END);
    CHECK_EQ(next(&insn), IPT_ERR_NOSYNC);
    feed_end(&f);
}

/* ---- resync ---- */

/* After an error go on where the next packet has an IP. */
static void check_resync(const row *r, int error, const uint64_t *ips,
                         unsigned count, int last)
{
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    unsigned n = 0;
    unsigned resyncs = 0;
    int status;
    begin(r, &how);
    CHECK(sync() >= 0);
    for (;;) {
        status = next(&insn);
        if (status == IPT_EVENT_FIRST) continue;
        if (status >= 0) {
            if (n >= count || insn.ip != ips[n])
                failed(r->name, how.text, "ip", insn.ip,
                       n < count ? ips[n] : 0);
            n++;
        } else if (status == error && resyncs < 50) {
            resyncs++;
            status = ipt_insn_resync(&places[place]);
            if (status < 0) break;
        } else
            break;
    }
    if (status != last)
        failed(r->name, how.text, "-status", (uint64_t) -status,
               (uint64_t) -last);
    if (n != count) failed(r->name, how.text, "count", n, count);
    feed_end(&f);
}

TEST(resync)
{
    static const row interrupt = {
        "interrupt", {CODE(0x1000, NOP RET), CODE(0x2000, JCC0)},
        {ON, TNT(3, 7), FUP(0x3000), TIP(0x2000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row nothing = {"nothing", {CODE(0x1000, NOP RET)},
                                {ON, TNT(3, 7), TNT(1, 0)},
                                {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row status = {
        "status", {CODE(0x1000, NOP RET), CODE(0x2000, NOP JCC0)},
        {ON, TNT(3, 7), PSB, EXEC64, FUP(0x2000), PSBEND, TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row page = { /* an event at an IP that is not there */
        "page", {CODE(0x1000, NOP JMP_RAX)},
        {ON, TIP(0x5000), PTW(1, 1, 5), FUP(0x5000), TNT(1, 0), PTW(1, 1, 5),
         FUP(0x5000)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row deferred = { /* bits where a deferred TIP should be */
        "deferred", {CODE(0x1000, JCC0 JMP_RAX), CODE(0x3000, JCC0)},
        {ON, TNT(2, 0), TNT(1, 0), FUP(0x2000), TIP(0x3000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const row psbend = { /* EXSTOP ends the PSB+ and has its offset */
        "PSBEND", {CODE(0x1000, JCC0 JMP_RAX), CODE(0x2000, NOP JCC0),
                   CODE(0x3000, JCC0)},
        {ON, TNT(2, 0), PSB, EXEC64, FUP(0x2000), EXSTOP(1), FUP(0x3000),
         TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    static const uint64_t one[] = {0x1000, 0x2000};
    static const uint64_t four[] = {0x1000, 0x3000};
    static const uint64_t two[] = {0x1000, 0x2000, 0x2001};
    static const uint64_t three[] = {0x1000, 0x1001};
    static const uint64_t five[] = {0x1000, 0x2000, 0x3000};

    check_resync(&interrupt, IPT_ERR_RETURN, one, 2, IPT_END);
    check_resync(&nothing, IPT_ERR_RETURN, one, 1, IPT_END);
    check_resync(&status, IPT_ERR_RETURN, two, 3, IPT_END);
    check_resync(&page, IPT_NEED_PAGE, three, 2, IPT_END);
    check_resync(&deferred, IPT_ERR_MISMATCH, four, 2, IPT_END);
    check_resync(&psbend, IPT_ERR_MISMATCH, five, 3, IPT_END);
}

/* The error of a _resync comes again until the next one. */
TEST(resync_error_stays)
{
    static const row r = {
        "error", {CODE(0x1000, RET), CODE(0x2000, NOP JCC0)},
        {ON, TNT(1, 1), PSB, EXEC32, FUP(0x2000), PSBEND, TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    int status;
    begin(&r, &how);
    CHECK(sync() >= 0);
    status = next_insn(&insn);
    CHECK_EQ(status, IPT_ERR_RETURN);
    CHECK_EQ(ipt_insn_resync(&places[place]), IPT_ERR_STATUS);
    for (int i = 0; i < 3; i++) CHECK_EQ(next(&insn), IPT_ERR_STATUS);
    CHECK(ipt_insn_resync(&places[place]) >= 0);
    status = next_insn(&insn);
    CHECK(status >= 0);
    CHECK_EQ(insn.ip, 0x2000);
    CHECK_EQ(insn.mode, IPT_MODE_32);
    feed_end(&f);
}

/* A MODE.Exec says the mode after the TIP.PGD that it comes with. Flow never
 * gets there: it holds for what _resync finds, not after the next PSB+. */
TEST(resync_mode)
{
    static const row r = {
        "mode", {CODE(0x1000, JMP("\xfe")), CODE(0x3000, NOP NOP JMP_RAX),
                 CODE(0x4000, NOP NOP JCC0)},
        {ON, EXEC32, PGD(0x2000), PGE(0x3000), TIP(0x4000), PSB, EXEC64,
         FUP(0x4000), PSBEND, PGD(0x4001), PGE(0x4000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int resync = 0; resync < 2; resync++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
        ipt_insn insn;
        int status;
        begin(&r, &how);
        CHECK(sync() >= 0);
        do
            status = next(&insn);
        while (status >= 0 || status == IPT_EVENT_FIRST);
        CHECK_EQ(status, IPT_ERR_LOOP);
        status = resync ? ipt_insn_resync(&places[place]) : sync();
        CHECK(status >= 0);
        for (int n = 0; n < 3; n++) {
            status = next_insn(&insn);
            CHECK(status >= 0);
            CHECK_EQ(insn.mode, resync ? IPT_MODE_32 : IPT_MODE_64);
        }
        feed_end(&f);
    }
}

/* A loop without trace is left at a TIP, and flow goes on where no trace is
 * used. */
TEST(resync_after_a_loop)
{
    static const row r = {
        "loop", {CODE(0x1000, JMP("\xfe")), CODE(0x3000, NOP JMP("\x0d")),
                 CODE(0x3010, NOP JCC0)},
        {ON, TNT(1, 0), TIP(0x3000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    int status;
    begin(&r, &how);
    CHECK(sync() >= 0);
    do
        status = next(&insn);
    while (status >= 0 || status == IPT_EVENT_FIRST);
    CHECK_EQ(status, IPT_ERR_LOOP);
    CHECK(ipt_insn_resync(&places[place]) >= 0);
    for (uint64_t ip = 0x3000; ip != 0x3012; ip = ip == 0x3001 ? 0x3010 : ip + 1)
    {
        status = next_insn(&insn);
        CHECK(status >= 0);
        CHECK_EQ(insn.ip, ip);
    }
    feed_end(&f);
}

/* What uses a packet moves the time: a RET that is compressed, too. */
TEST(time_of_a_return)
{
    static const row r = {"ret", {CODE(0x1000, CALL("\x01") NOP RET)},
                          {ON, TSC(0x55), TNT(1, 1), TSC(0x66), TNT(1, 1)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    int status;
    begin(&r, &how);
    CHECK(sync() >= 0);
    for (int n = 0; n < 2; n++) {
        status = next_insn(&insn);
        CHECK(status >= 0);
        CHECK_EQ(insn.ip, n ? 0x1006 : 0x1000);
    }
    CHECK_EQ(places[place].at.tsc, 0x55);
    feed_end(&f);
}

/* After another _sync the time is unknown until a packet says it. */
TEST(time_is_forgotten)
{
    static const row r = {"two", {CODE(0x1000, JCC0 JCC0), CODE(0x2000, JCC0)},
                          {ON, TSC(0x55), TNT(1, 0), PSB, EXEC64, FUP(0x2000),
                           PSBEND, CBR(9), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    int status;
    begin(&r, &how);
    for (int n = 0; n < 2; n++) {
        CHECK((n ? ipt_insn_sync_set(decoder(), b.offset[6]) : sync()) >= 0);
        status = next_insn(&insn);
        CHECK(status >= 0);
        CHECK_EQ(insn.ip, n ? 0x2000 : 0x1000);
        CHECK_EQ(!(places[place].at.valid & IPT_AT_TSC), n);
    }
    feed_end(&f);
}

/* An event that does not say where flow is has its time. */
TEST(resync_time)
{
    static const row r = {"time", {CODE(0x1000, NOP RET), CODE(0x2000, JCC0)},
                          {ON, TNT(3, 7), TSC(0x55), PTW(0, 0, 5), TIP(0x2000),
                           TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    ipt_event e = {.type = 0};
    int status;
    begin(&r, &how);
    CHECK(sync() >= 0);
    do
        status = next(&insn);
    while (status >= 0 || status == IPT_EVENT_FIRST);
    CHECK_EQ(status, IPT_ERR_RETURN);
    CHECK_EQ(places[place].at.valid & IPT_AT_TSC, 0);
    CHECK_EQ(ipt_insn_resync(&places[place]), IPT_EVENT_PENDING);
    CHECK_EQ(pull(&e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_PTWRITE);
    CHECK(places[place].at.valid & IPT_AT_TSC);
    CHECK_EQ(places[place].at.tsc, 0x55);
    feed_end(&f);
}

/* Where flow is not found, the events on the way are handed out before that is
 * said, unless nobody wants them. */
TEST(resync_to_the_end)
{
    static const row rows[] = {
        {"end", {CODE(0x1000, NOP RET)}, {ON, TNT(3, 7), PTW(0, 0, 5), CBR(7)},
         {{0, 0, 0, 0, 0}}, IPT_END, 0, 0},
        {"error", {CODE(0x1000, NOP RET)},
         {ON, TNT(3, 7), PTW(0, 0, 5), CBR(7), PSBEND},
         {{0, 0, 0, 0, 0}}, IPT_ERR_CONTEXT, 0, 0}};
    ipt_insn insn;
    for (unsigned i = 0; i < LENGTH(rows); i++)
        for (int way = 0; way < 2 * WAYS; way++) {
            const int quiet = way >= WAYS;
            manner how = manner_of(way % WAYS, NO_CACHE, 0, 0);
            ipt_event e = {.type = 0};
            int status;
            begin(&rows[i], &how);
            if (quiet) f.config.unwanted = IPT_UNWANTED_;
            CHECK(sync() >= 0);
            do
                status = next_insn(&insn);
            while (status >= 0);
            CHECK_EQ(status, IPT_ERR_RETURN);
            do
                status = ipt_insn_resync(decoder());
            while (again(status));
            if (quiet) {
                CHECK_EQ(status, rows[i].status);
                feed_end(&f);
                continue;
            }
            CHECK_EQ(status & IPT_EVENT_PENDING, IPT_EVENT_PENDING);
            status = pull(&e);
            CHECK_EQ(e.type, IPT_EVT_PTWRITE);
            CHECK_EQ(status & IPT_EVENT_PENDING, IPT_EVENT_PENDING);
            status = pull(&e);
            CHECK_EQ(e.type, IPT_EVT_CBR);
            CHECK_EQ(next_insn(&insn), rows[i].status);
            feed_end(&f);
        }
}

/* Events that nobody wants do not stop it, however many there are. */
TEST(resync_past_unwanted)
{
    static const row r = {
        "unwanted", {CODE(0x1000, NOP RET), CODE(0x2000, JCC0)},
        {ON, TNT(3, 7), PTW(0, 0, 1), PTW(0, 0, 2), PTW(0, 0, 3), PTW(0, 0, 4),
         PTW(0, 0, 5), TIP(0x2000), TNT(1, 0)},
        {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 1);
    ipt_insn insn;
    int status;
    begin(&r, &how);
    f.config.unwanted = IPT_UNWANTED_;
    CHECK(sync() >= 0);
    do
        status = next(&insn);
    while (status >= 0);
    CHECK_EQ(status, IPT_ERR_RETURN);
    CHECK_EQ(ipt_insn_resync(&places[place]), IPT_OK);
    CHECK(next(&insn) >= 0);
    CHECK_EQ(insn.ip, 0x2000);
    feed_end(&f);
}

/* ---- after the end ---- */

/* What is skipped is reported, and counted. */
TEST(resync_skips)
{
    static const row r = {"skip", {CODE(0x1000, JMP_RAX), CODE(0x2000, JCC0)},
                          {ON, TNT(1, 0), PADS(3), TNT(1, 0), TIP(0x2000),
                           TNT(2, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    ipt_insn insn;
    for (int way = 0; way < WAYS; way++) {
        manner how = manner_of(way, NO_CACHE, 0, 0);
        const ipt_where *at;
        int status;
        begin(&r, &how);
        CHECK(sync() >= 0);
        status = next_insn(&insn);
        CHECK_EQ(status, IPT_ERR_MISMATCH);
        do
            status = ipt_insn_resync(decoder());
        while (again(status));
        CHECK(status >= 0);
        at = &places[place].at;
        CHECK_EQ(at->skip_from, b.offset[4]);
        CHECK_EQ(at->skip_to, b.offset[7]);
        CHECK_EQ(at->skipped, b.offset[7] - b.offset[4]);
        CHECK_EQ(at->resyncs, 1);
        CHECK_EQ(at->gaps, 0);
        CHECK_EQ(next(&insn), IPT_OK);
        CHECK_EQ(insn.ip, 0x2000);
        feed_end(&f);
    }
}

TEST(walk_on)
{
    static const row r = {"on", {CODE(0x1000, NOP JCC0 NOP JMP("\x00") NOP
                                              JCC0 NOP)},
                          {ON, TNT(1, 0), MTC(5), PADS(3)}, {{0, 0, 0, 0, 0}},
                          0, 0, IPT_CONFIG_WALK_ON};
    static const struct {
        uint64_t ip;
        int status;
    } want[] = {{0x1000, 0}, {0x1001, IPT_LAST},
                {0x1003, IPT_UNPROVEN | IPT_LAST},
                {0x1004, IPT_UNPROVEN | IPT_LAST},
                {0x1006, IPT_UNPROVEN | IPT_LAST}};
    for (int way = 0; way < WAYS; way++) {
        manner how = manner_of(way, way % CACHES, 0, 1);
        ipt_insn insn;
        begin(&r, &how);
        CHECK(sync() >= 0);
        for (unsigned i = 0; i < LENGTH(want); i++) {
            int status;
            status = next_insn(&insn);
            if (status != want[i].status)
                failed("walk on", how.text, "status", (uint64_t) status,
                       want[i].ip);
            if (status & IPT_UNPROVEN)
                CHECK_EQ(insn.offset, b.size);
            CHECK_EQ(insn.ip, want[i].ip);
        }
        CHECK_EQ(next(&insn), IPT_END); /* a jcc needs trace */
        CHECK_EQ(next(&insn), IPT_END);
        feed_end(&f);
    }
}

/* ---- trace that comes later ---- */

/* Without bytes to prove more, nothing more is handed out: neither what did not
 * happen for sure, nor an instruction after which more may have happened. */
TEST(open_trace)
{
    static const row r = {"open", {CODE(0x1000, JCC0 NOP NOP),
                                   CODE(0x2000, JCC0)},
                          {ON, TNT(1, 0), CBR(5), FUP(0x1003), TIP(0x2000),
                           TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_insn_decoder *d = &places[place];
    ipt_insn insn;
    ipt_event e;

    begin(&r, &how);
    f.trace.open = 1;
    f.pieces[0].size = b.offset[5]; /* up to the TNT */
    CHECK_EQ(ipt_insn_sync_forward(d), IPT_EVENT_PENDING);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_EVENT_PENDING);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_OK);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
    f.pieces[0].size = b.offset[6]; /* CBR: one event after 1000 */
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
    f.pieces[0].size = b.offset[7]; /* FUP: not yet an event */
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
    f.pieces[0].size = b.offset[8]; /* TIP: one that is further on */
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_EVENT_PENDING);
    CHECK_EQ(insn.ip, 0x1000);
    CHECK_EQ(insn.flags, 0);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_CBR);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_END);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_END);
    f.pieces[0].size = b.size;
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_EVENT_PENDING);
    CHECK_EQ(insn.ip, 0x1002);
    CHECK_EQ(insn.flags, INTERRUPTED);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_ASYNC_BRANCH);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
    f.trace.open = 0;
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_LAST);
    CHECK_EQ(insn.ip, 0x2000);
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_END);
    feed_end(&f);
}

/* What waits when one synchronises comes before the new events. */
TEST(instruction_in_progress)
{
    static const row r = {"progress", {CODE(0x1000, JCC0 NOP),
                                       CODE(0x2000, JCC0)},
                          {ON, TNT(1, 0), PSB, EXEC64, FUP(0x2000), PSBEND,
                           TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int by_resync = 0; by_resync < 2; by_resync++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
        ipt_insn_decoder *d = &places[place];
        ipt_insn insn;
        ipt_event e = {.type = 0};
        begin(&r, &how);
        f.trace.open = 1;
        f.pieces[0].size = b.offset[5]; /* up to the TNT */
        CHECK_EQ(ipt_insn_sync_forward(d), IPT_EVENT_PENDING);
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
        f.trace.open = 0;
        f.pieces[0].size = b.size;
        CHECK_EQ(by_resync ? ipt_insn_resync(d) : ipt_insn_sync_forward(d),
                 IPT_OK);
        CHECK_EQ(ipt_insn_event(d, &e), IPT_END);
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_EVENT_PENDING);
        CHECK_EQ(insn.ip, 0x1000);
        CHECK_EQ(ipt_insn_event(d, &e), IPT_EVENT_PENDING);
        CHECK_EQ(e.type, IPT_EVT_ENABLED);
        CHECK_EQ(e.ip, 0x2000);
        CHECK_EQ(ipt_insn_event(d, &e), IPT_OK);
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_LAST);
        CHECK_EQ(insn.ip, 0x2000);
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_END);
        feed_end(&f);
    }
}

/* An event that becomes known when all before it was handed out and pulled. */
TEST(event_first)
{
    static const row r = {"late", {CODE(0x1000, NOP JCC0)},
                          {OFF, CBR(5), CBR(6), PGE(0x1000), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    for (int silent = 0; silent < 2; silent++) {
        manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
        ipt_insn_decoder *d = &places[place];
        ipt_insn insn;
        ipt_event e;
        begin(&r, &how);
        f.trace.open = 1;
        f.pieces[0].size = b.offset[4]; /* up to the first CBR */
        CHECK_EQ(ipt_insn_sync_forward(d),
                 IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
        for (unsigned i = 0; i < 3; i++)
            CHECK_EQ(ipt_insn_event(d, &e),
                     i < 2 ? IPT_EVENT_PENDING | IPT_IP_SUPPRESSED
                           : IPT_IP_SUPPRESSED);
        CHECK_EQ(e.u.cbr.ratio, 5);
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
        f.pieces[0].size = b.offset[5];
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_EVENT_FIRST);
        if (silent) {
            CHECK_EQ(d->at.dropped, 0);
            CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
            CHECK_EQ(d->at.dropped, 1);
        } else {
            CHECK_EQ(ipt_insn_event(d, &e), IPT_IP_SUPPRESSED);
            CHECK_EQ(e.type, IPT_EVT_CBR);
            CHECK_EQ(e.u.cbr.ratio, 6);
            CHECK_EQ(ipt_insn_event(d, &e), IPT_END);
            CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
            CHECK_EQ(d->at.dropped, 0);
        }
        f.pieces[0].size = b.size;
        CHECK_EQ(ipt_insn_next(d, &insn), IPT_EVENT_FIRST);
        if (silent) {
            CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
        } else {
            CHECK_EQ(ipt_insn_event(d, &e), IPT_OK);
            CHECK_EQ(e.type, IPT_EVT_ENABLED);
            CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
        }
        CHECK_EQ(insn.ip, 0x1000);
        CHECK_EQ(insn.flags, ENABLED);
        CHECK_EQ(d->at.dropped, silent ? 2 : 0);
        feed_end(&f);
    }
}

/* Events that are not wanted are applied, and that is all: none is pending, none
 * comes first, none counts as dropped. */
TEST(unwanted_events)
{
    static const row r = {"unwanted", {CODE(0x1000, NOP JCC0)},
                          {OFF, CBR(5), CBR(6), PGE(0x1000), TNT(1, 0)},
                          {{0, 0, 0, 0, 0}}, 0, 0, 0};
    manner how = manner_of(WHOLE, NO_CACHE, 0, 0);
    ipt_insn_decoder *d = &places[place];
    ipt_insn insn;
    ipt_event e;
    begin(&r, &how);
    f.config.unwanted = 1u << IPT_EVT_CBR | 1u << IPT_EVT_ENABLED;
    f.trace.open = 1;
    f.pieces[0].size = b.offset[4]; /* up to the first CBR */
    CHECK_EQ(ipt_insn_sync_forward(d), IPT_EVENT_PENDING | IPT_IP_SUPPRESSED);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ(ipt_insn_event(d, &e),
                 i < 1 ? IPT_EVENT_PENDING | IPT_IP_SUPPRESSED
                       : IPT_IP_SUPPRESSED);
    CHECK_EQ(ipt_insn_event(d, &e), IPT_END);
    CHECK_EQ(d->at.cbr, 0); /* the next instruction has it */
    f.pieces[0].size = b.offset[5];
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_MORE);
    f.pieces[0].size = b.size;
    CHECK_EQ(ipt_insn_next(d, &insn), IPT_OK);
    CHECK_EQ(insn.ip, 0x1000);
    CHECK_EQ(insn.flags, ENABLED);
    CHECK_EQ(d->at.cbr, 6);
    CHECK_EQ(d->at.dropped, 0);
    feed_end(&f);
}

/* A far branch has the offset of the first packet that proves it, whatever is
 * forgotten while it waits for the others: code is invalidated, here or
 * elsewhere, before each call, and trace comes byte by byte. */
static void offsets_of(char *text, size_t size, int waits, int forgets)
{
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, NOP SYSCALL JCC0 JCC0 JMP_RAX)};
    static ipt_insn_decoder d;
    ipt_segment seg = {b.bytes, waits ? 0 : b.size};
    ipt_trace trace = {&seg, 1, (uint8_t) waits, 0};
    ipt_config config;
    ipt_insn insn;
    ipt_event e;
    int synced = 0;

    memory_place(&m, code, 0, 0);
    memset(&config, 0, sizeof config);
    memory_config(&m, &config);
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    CHECK_EQ(ipt_insn_init(&d, &config, &trace, &cache), IPT_OK);
    text[0] = 0;
    for (unsigned calls = 0; calls < 1000; calls++) {
        int status;
        if (forgets)
            ipt_cache_invalidate(&cache, NULL, forgets == 1 ? 0 : 0x900000,
                                 forgets == 1 ? 0 : 1);
        status = synced ? ipt_insn_next(&d, &insn)
                        : ipt_insn_sync_forward(&d);
        if (status == IPT_MORE) {
            if (seg.size < b.size) seg.size++;
            else trace.open = 0;
            continue;
        }
        if (synced && status >= 0)
            snprintf(text + strlen(text), size - strlen(text), "%x@%x ",
                     (unsigned) insn.ip, (unsigned) insn.offset);
        while (ipt_insn_event(&d, &e) >= 0)
            snprintf(text + strlen(text), size - strlen(text), "<%s@%x> ",
                     ipt_evt_name(e.type), (unsigned) e.offset);
        if (synced && status < 0 && status != IPT_EVENT_FIRST) break;
        synced = 1;
    }
}

TEST(offset_of_a_far_branch_that_waited)
{
    static const ipt_packet before[][3] = {
        {VMCS(0x7000)}, {PIP(0x5000, 0)}, {VMCS(0x7000), PIP(0x5000, 0)},
        {PIP(0x5000, 0), CBR(5), VMCS(0x7000)}, {CBR(5), MNT(6)}};
    static char want[2000], got[2000];

    for (unsigned i = 0; i < LENGTH(before) * 2; i++) {
        ipt_packet trace[PACKETS_MAX]
            = {PSB, EXEC64, FUP(0x1000), PSBEND};
        unsigned n = 4;
        for (unsigned k = 0; k < 3 && before[i / 2][k].type; k++)
            trace[n++] = before[i / 2][k];
        if (i % 2) trace[n++] = (ipt_packet) TNT(2, 3);
        trace[n++] = (ipt_packet) TIP(0x1003);
        if (i % 2 == 0) trace[n++] = (ipt_packet) TNT(2, 3);
        trace[n++] = (ipt_packet) TIP(0x1000);
        build_all(&b, trace, n);
        offsets_of(want, sizeof want, 0, 0);
        CHECK(strstr(want, "1007@"));
        for (int ways = 1; ways < 6; ways++) {
            offsets_of(got, sizeof got, ways % 2, ways / 2);
            if (!CHECK(strcmp(want, got) == 0))
                printf("    way %d of %u: %s\n    want %s\n", ways, i, got, want);
        }
    }
}

/* What is read ahead of an instruction has another time: it has its own. An
 * event that is pulled has that of the event, and what comes after it goes on
 * from there, whether anybody wants the event or not. */
TEST(time_of_what_was_read_ahead)
{
    static const chunk code[CODES_MAX]
        = {CODE(0x1000, NOP JCC0 NOP JCC0 NOP JMP_RAX)};
    static const struct {
        ipt_packet between[6];
        uint64_t next; /* time of the NOP after it */
    } rows[] = {{{TSC(900000)}, 1000},
                {{TSC(900000), CBR(5)}, 900000},
                {{TSC(900000), TMA(5, 0), CBR(5)}, 900000},
                {{TSC(900000), MNT(5)}, 900000},
                {{CBR(5), TSC(900000)}, 1000},
                {{PWRE(1, 0, 0), TSC(900000), PWRX(1, 0, 1, 0, 0)}, 900000},
                {{TSC(900000), EXSTOP(1), FUP(0x1004)}, 1000},
                {{PSB, TSC(900000), EXEC64, FUP(0x1003), PSBEND}, 900000},
                {{OVF, TSC(900000), FUP(0x1003)}, 900000}};

    for (unsigned i = 0; i < LENGTH(rows) * 3; i++) {
        static ipt_insn_decoder d;
        ipt_packet trace[PACKETS_MAX]
            = {PSB, TSC(1000), EXEC64, FUP(0x1000), PSBEND, TNT(1, 0)};
        unsigned n = 6, given = 0;
        for (unsigned k = 0; k < 6 && rows[i / 3].between[k].type; k++)
            trace[n++] = rows[i / 3].between[k];
        trace[n++] = (ipt_packet) TNT(1, 0);
        trace[n++] = (ipt_packet) TIP(0x1000);
        build_all(&b, trace, n);
        const ipt_segment seg = {b.bytes, b.size};
        const ipt_trace whole = {&seg, 1, 0, 0};
        ipt_config config;
        ipt_insn insn;
        ipt_event e;
        memory_place(&m, code, 0, 0);
        memset(&config, 0, sizeof config);
        memory_config(&m, &config);
        if (i % 3 == 1) config.unwanted = IPT_UNWANTED_;
        CHECK_EQ(ipt_insn_init(&d, &config, &whole, NULL), IPT_OK);
        int status = ipt_insn_sync_forward(&d);
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            while (i % 3 == 0 && ipt_insn_event(&d, &e) >= 0)
                CHECK_EQ(d.at.tsc, e.tsc);
            status = ipt_insn_next(&d, &insn);
            if (status < 0) continue;
            given++;
            if (!CHECK_EQ(d.at.tsc, insn.ip < 0x1003    ? 1000u
                                    : insn.ip == 0x1003 ? rows[i / 3].next
                                                        : 900000u))
                printf("    row %u, way %u, %x\n", i / 3, i % 3,
                       (unsigned) insn.ip);
        }
        CHECK_EQ(status, IPT_END);
        CHECK_EQ(given, 6);
    }
}

int main(void)
{
    TABLES(RUN_TEST)
    FINDINGS(RUN_TEST)
    BDM64_FINDINGS(RUN_TEST)
    RUN(errata);
    RUN(offsets);
    RUN(offset_of_a_far_branch_that_waited);
    RUN(start);
    RUN(start_is_known);
    RUN(set_asid);
    RUN(set_asid_while_it_flows);
    RUN(set_asid_before_an_event);
    RUN(deep_calls);
    RUN(the_oldest_is_lost);
    RUN(loops);
    RUN(answers);
    RUN(endless_nops);
    RUN(fuel_bounds_work);
    RUN(fuel_of_instructions);
    RUN(pages);
    RUN(read_ahead);
    RUN(two_mappings);
    RUN(address_spaces);
    RUN(synchronise);
    RUN(psb_only);
    RUN(resync);
    RUN(resync_error_stays);
    RUN(resync_mode);
    RUN(resync_to_the_end);
    RUN(resync_past_unwanted);
    RUN(resync_skips);
    RUN(resync_time);
    RUN(resync_after_a_loop);
    RUN(time_of_a_return);
    RUN(time_of_what_was_read_ahead);
    RUN(time_is_forgotten);
    RUN(walk_on);
    RUN(open_trace);
    RUN(instruction_in_progress);
    RUN(event_first);
    RUN(unwanted_events);
    return test_report();
}
