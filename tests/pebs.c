/* pebs.c: PEBS records in words (common/flow/pebs.h). The names of items were typed
 * from the SDM. */
#include "linked.h"
#include "examples/tools/common/code/tool.c"
#include "examples/tools/common/flow/pebs.c"
#include "examples/tools/common/perf/perfdata.c"
#include "test.h"

static const char *no_events[64];
static const pebs_about nothing = {no_events, NULL};
static pebs record;

/* An item of 8 bytes, or a block, or the end. */
static int give(uint8_t type, uint8_t id, uint64_t payload,
                const pebs_about *about)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.u.pebs.id = id;
    e.u.pebs.size = 8;
    e.u.pebs.payload = payload;
    return pebs_event(&record, &e, about);
}

static int block(uint8_t group)
{
    return give(IPT_EVT_PEBS_BEGIN, group, 0, &nothing);
}

static int ends(void)
{
    return give(IPT_EVT_PEBS_END, 0, 0, &nothing);
}

static int is(const char *want)
{
    if (strcmp(record.text, want) == 0) return 1;
    printf("    got  \"%s\"\n    want \"%s\"\n", record.text, want);
    return 0;
}

typedef struct row {
    uint8_t group;
    uint8_t id;
    uint64_t payload;
    const char *want;
} row;

static const row rows[] = {
    {1, 0, 0x12ab, "rflags=12ab"}, {1, 1, 1, "rip=1"}, {1, 2, 0, "rax=0"},
    {1, 3, 1, "rcx=1"}, {1, 4, 1, "rdx=1"}, {1, 5, 1, "rbx=1"},
    {1, 6, 1, "rsp=1"}, {1, 7, 1, "rbp=1"}, {1, 8, 1, "rsi=1"},
    {1, 9, 1, "rdi=1"}, {1, 10, 1, "r8=1"}, {1, 17, UINT64_MAX,
    "r15=ffffffffffffffff"}, {1, 18, 1, "item1.18=1"}, {4, 0, 1, "ip=1"},
    {4, 1, 1, "counters=1"}, {4, 2, 0x99, "tsc=99"}, {4, 3, 1, "item4.3=1"},
    {5, 0, 1, "address=1"}, {5, 1, 1, "source=1"},
    {5, 2, 0x1234567, "latency=1234567"},
    {5, 2, (uint64_t) 0xabcd0123 << 32 | 0x77654321, "latency=123 waited=4321"},
    {5, 3, 1, "transaction=1"}, {5, 31, 1, "item5.31=1"}, {8, 0, 1, "from0=1"},
    {8, 1, 1, "to0=1"}, {8, 2, 1, "info0=1"}, {9, 3, 1, "from1=1"},
    {10, 29, 1, "info9=1"}, {16, 0, 1, "xmm0.low=1"}, {16, 1, 1, "xmm0.high=1"},
    {16, 31, 1, "xmm15.high=1"}, {2, 0, 1, "item2.0=1"}, {31, 5, 1, "item31.5=1"}};

TEST(items)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *const r = &rows[i];
        CHECK_EQ(block(r->group), 0);
        CHECK_EQ(give(IPT_EVT_PEBS_ITEM, r->id, r->payload, &nothing), 0);
        CHECK_EQ(ends(), 1);
        CHECK(is(r->want));
    }
}

/* All items of a record, in order; the next one begins with nothing. */
TEST(all_in_one)
{
    char want[8192] = "";
    size_t used = 0;
    uint64_t hash;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *const r = &rows[i];
        used += (size_t) sprintf(want + used, "%s%s", i ? " " : "", r->want);
        block(r->group);
        CHECK_EQ(give(IPT_EVT_PEBS_ITEM, r->id, r->payload, &nothing), 0);
    }
    CHECK(record.open);
    hash = pebs_hash(&record);
    CHECK(hash == pebs_hash(&record));
    block(3);
    CHECK(hash != pebs_hash(&record));
    CHECK_EQ(ends(), 1);
    CHECK(is(want));
    CHECK(!record.open);
    CHECK_EQ(ends(), 1);
    CHECK(is(""));
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 2, 7, &nothing), 0); /* of no block */
    CHECK_EQ(ends(), 1);
    CHECK(is("item0.2=7"));
}

/* Other events are of no record, and end none; what is cut is said. */
TEST(cut)
{
    CHECK_EQ(pebs_cut(&record), 0);
    block(1);
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 2, 7, &nothing), 0);
    CHECK_EQ(give(IPT_EVT_CBR, 2, 7, &nothing), 0);
    CHECK_EQ(pebs_cut(&record), 1);
    CHECK(is("rax=7 cut"));
    CHECK_EQ(pebs_cut(&record), 0);
    block(4);
    CHECK_EQ(pebs_cut(&record), 1);
    CHECK(is("cut"));
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 2, 7, &nothing), 0); /* the block is over */
    CHECK_EQ(ends(), 1);
    CHECK(is("item0.2=7"));
}

TEST(events_and_times)
{
    const char *events[64] = {"cycles", NULL, "", "branches"};
    const uint64_t pt[PERFDATA_PT_WORDS] = {0, 1, 3, 1000000000};
    const pebs_about about = {events, pt};
    events[63] = "an.event.with.a.long.name";
    block(4);
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 1, (uint64_t) 1 << 63 | 0xf, &about), 0);
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 2, 20, &about), 0);
    CHECK_EQ(ends(), 1);
    CHECK(is("counters=800000000000000f"
             " events=cycles,branches,an.event.with.a.long.name"
             " time=1.000000030"));
    block(4);
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 1, 6, &about), 0); /* none that is known */
    CHECK_EQ(ends(), 1);
    CHECK(is("counters=6"));
}

/* However many items: as many as there is room for, and ... */
TEST(room)
{
    block(1);
    for (unsigned i = 0; i < 10000; i++)
        CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 17, UINT64_MAX, &nothing), 0);
    CHECK_EQ(ends(), 1);
    CHECK(strlen(record.text) < PEBS_MAX);
    CHECK(strlen(record.text) > PEBS_MAX - 64);
    CHECK(strstr(record.text, "r15=ffffffffffffffff ...") != NULL);
    CHECK(record.room < 4 * PEBS_MAX);
    block(1);
    for (unsigned i = 0; i < 10000; i++)
        CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 17, UINT64_MAX, &nothing), 0);
    CHECK_EQ(pebs_cut(&record), 1);
    CHECK(strlen(record.text) < PEBS_MAX);
    CHECK(strstr(record.text, "r15=ffffffffffffffff ... cut") != NULL);
    block(1);
    CHECK_EQ(give(IPT_EVT_PEBS_ITEM, 2, 7, &nothing), 0);
    CHECK_EQ(ends(), 1);
    CHECK(is("rax=7"));
}

int main(void)
{
    RUN(items);
    RUN(all_in_one);
    RUN(cut);
    RUN(room);
    RUN(events_and_times);
    pebs_free(&record);
    return test_report();
}
