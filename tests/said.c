/* said.c: what events say (common/flow/said.h). The names of PEBS items were typed
 * from the SDM. */
#include "examples/tools/common/flow/said.c"
#include "linked.h"
#include "test.h"

static const char *no_events[64];

static int says(const ipt_event *e, uint8_t *group, const char *want)
{
    char text[SAID_MAX];
    memset(text, 'x', sizeof text);
    said_words(e, group, no_events, text);
    if (strcmp(text, want) == 0) return 1;
    printf("    got  \"%s\"\n    want \"%s\"\n", text, want);
    return 0;
}

static ipt_event pebs(uint8_t type, uint8_t id, uint64_t payload)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.u.pebs.id = id;
    e.u.pebs.size = 8;
    e.u.pebs.payload = payload;
    return e;
}

TEST(events)
{
    ipt_event e;
    uint8_t group = 0;
    memset(&e, 0, sizeof e);
    e.type = IPT_EVT_PTWRITE;
    e.u.ptwrite.payload = 42;
    e.u.ptwrite.size = 8;
    CHECK(says(&e, &group, "payload=2a size=8"));
    e.type = IPT_EVT_OVERFLOW;
    CHECK(says(&e, &group, ""));
    e.type = 200;
    CHECK(says(&e, &group, ""));
    e = pebs(IPT_EVT_PEBS_ITEM, 2, 7); /* of no group */
    CHECK(says(&e, &group, "payload=7 id=2 size=8"));
}

typedef struct row {
    uint8_t group;
    uint8_t id;
    const char *want;
} row;

static const row rows[] = {
    {1, 0, "rflags=12ab"}, {1, 1, "rip=12ab"}, {1, 2, "rax=12ab"},
    {1, 3, "rcx=12ab"}, {1, 4, "rdx=12ab"}, {1, 5, "rbx=12ab"},
    {1, 6, "rsp=12ab"}, {1, 7, "rbp=12ab"}, {1, 8, "rsi=12ab"},
    {1, 9, "rdi=12ab"}, {1, 10, "r8=12ab"}, {1, 17, "r15=12ab"},
    {1, 18, "payload=12ab id=12 size=8"}, {4, 0, "ip=12ab"},
    {4, 1, "counters=12ab"}, {4, 2, "tsc=12ab"},
    {4, 3, "payload=12ab id=3 size=8"}, {5, 0, "address=12ab"},
    {5, 1, "source=12ab"}, {5, 2, "latency=12ab"}, {5, 3, "transaction=12ab"},
    {5, 31, "payload=12ab id=1f size=8"}, {8, 0, "from0=12ab"},
    {8, 1, "to0=12ab"}, {8, 2, "info0=12ab"}, {9, 3, "from1=12ab"},
    {10, 29, "info9=12ab"}, {16, 0, "xmm0.low=12ab"}, {16, 1, "xmm0.high=12ab"},
    {16, 31, "xmm15.high=12ab"}, {2, 0, "payload=12ab id=0 size=8"},
    {31, 0, "payload=12ab id=0 size=8"}};

TEST(items)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t group = 0;
        char text[SAID_MAX];
        ipt_event e = pebs(IPT_EVT_PEBS_BEGIN, rows[i].group, 0);
        said_words(&e, &group, no_events, text);
        CHECK_EQ(group, rows[i].group);
        e = pebs(IPT_EVT_PEBS_ITEM, rows[i].id, 0x12ab);
        CHECK(says(&e, &group, rows[i].want));
    }
}

/* All groups and items: the longest text fits. */
TEST(room)
{
    const char *events[64];
    for (unsigned i = 0; i < 64; i++) events[i] = "an.event.with.a.long.name";
    for (unsigned i = 0; i < 32 * 32; i++) {
        uint8_t group = (uint8_t) (i / 32);
        char text[SAID_MAX];
        const ipt_event e = pebs(IPT_EVT_PEBS_ITEM, i % 32, UINT64_MAX);
        said_words(&e, &group, events, text);
        CHECK(strstr(text, "=ffffffffffffffff") != NULL);
        CHECK(strlen(text) < SAID_MAX - 1);
    }
}

TEST(groups)
{
    static const struct {
        uint8_t group;
        const char *want;
    } names[] = {{1, "group=registers"}, {4, "group=basic"}, {5, "group=memory"},
                 {8, "group=branches0"}, {10, "group=branches2"},
                 {16, "group=vectors"}, {0, "id=0 size=8"}, {17, "id=11 size=8"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint8_t group = 0;
        const ipt_event e = pebs(IPT_EVT_PEBS_BEGIN, names[i].group, 0);
        CHECK(says(&e, &group, names[i].want));
    }
}

int main(void)
{
    RUN(events);
    RUN(items);
    RUN(room);
    RUN(groups);
    return test_report();
}
