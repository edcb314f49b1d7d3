/* align.c: in which run each stretch of flow was (common/flow/align.h), by hand
 * and for threads that are simulated. */
#include "linked.h"
#include "examples/tools/common/flow/align.c"
#include "examples/tools/common/code/tool.c"
#include "dice.h"
#include "test.h"

static align *a;
static align_stretch list[400];
static align_run runs[100];
static size_t count, run_count;

static void begin(void)
{
    memset(list, 0, sizeof list);
    memset(runs, 0, sizeof runs);
    count = run_count = 0;
}

/* A run, of which nothing is known but the thread. */
static align_run *run(unsigned thread)
{
    align_run *const r = &runs[run_count++];
    r->thread = (uint8_t) thread;
    r->kept = 1;
    r->in.count = r->out.count = ALIGN_PLACES + 1;
    return r;
}

static align_run *at(unsigned thread, uint64_t ip)
{
    align_run *const r = run(thread);
    r->kept = r->in.count = 0;
    align_add(&r->in, ip);
    return r;
}

/* A run of a thread that may begin. */
static align_run *fresh(unsigned thread)
{
    align_run *const r = run(thread);
    r->kept = r->in.count = 0;
    r->in.fresh = 1;
    return r;
}

/* A stretch in any of the runs. */
static align_stretch *flow(uint64_t ip, uint64_t stop)
{
    align_stretch *const s = &list[count++];
    s->ip = ip;
    for (unsigned i = 0; i < ALIGN_THREADS; i++) s->stop[i] = stop;
    s->fits = s->stops = 0xffff;
    s->last = 99;
    return s;
}

static size_t find(void)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].last >= run_count) list[i].last = run_count - 1;
    return align_find(a, list, count, runs, 0, run_count, 300 * count);
}

static void is(size_t k, unsigned threads, size_t in)
{
    CHECK_EQ(list[k].threads, threads);
    CHECK_EQ(list[k].run, in);
}

TEST(where_threads_go_on)
{
    begin();
    at(0, 0x100);
    at(1, 0x200);
    run(0);
    run(1);
    flow(0x100, 0x110);
    flow(0x110, 0x120);
    flow(0x200, 0x210);
    flow(0x120, 0x130);
    flow(0x210, 0x220);
    flow(0x220, 0x230); // the end of what is known is less sure
    CHECK_EQ(find(), 6);
    is(0, 1, 0);
    is(1, 1, 0);
    is(2, 2, 1);
    is(3, 1, 2);
    CHECK_EQ(list[4].run, 3);
}

/* Both go round one system call: where the one took over is not known, but who
 * came first and last is. */
TEST(a_loop_of_both)
{
    begin();
    at(0, 0x100);
    at(1, 0x200);
    flow(0x100, 0x300);
    flow(0x300, 0x300);
    flow(0x200, 0x300);
    flow(0x300, 0x300);
    CHECK_EQ(find(), 4);
    is(0, 1, 0);
    is(1, 1, 0);
    is(2, 2, 1);
    is(3, 2, 1);
    begin();
    at(0, 0x300);
    at(1, 0x300);
    for (int i = 0; i < 4; i++) flow(0x300, 0x300);
    CHECK_EQ(find(), 4);
    CHECK_EQ(list[0].threads, 3); // the first run may have none, for a price
    CHECK_EQ(list[1].threads, 3);
    CHECK_EQ(list[3].threads, 3);
    list[0].last = 0; // known by time
    list[3].first = 1;
    CHECK_EQ(find(), 4);
    CHECK_EQ(list[0].threads, 1);
    CHECK_EQ(list[1].threads, 3);
    CHECK_EQ(list[3].threads, 2);
    CHECK_EQ(list[3].low, 1);
}

/* What happens later says who it was: only one of them can have gone there. */
TEST(later_flow_tells)
{
    begin();
    at(0, 0x300);
    at(1, 0x300);
    at(2, 0x900);
    run(0);
    flow(0x300, 0x400)->last = 0;
    flow(0x300, 0x500);
    flow(0x900, 0x910);
    flow(0x400, 0x410);
    CHECK_EQ(find(), 4);
    is(1, 2, 1);
    is(2, 4, 2);
    CHECK_EQ(list[3].run, 3);
}

TEST(what_costs)
{
    begin(); // a new thread begins where it can
    at(0, 0x300);
    fresh(1);
    flow(0x300, 0x400);
    flow(0x500, 0x510)->news = 2;
    CHECK_EQ(find(), 2);
    is(1, 2, 1);
    begin(); // a system call again, rather than elsewhere
    at(0, 0x302);
    at(1, 0x800);
    run(2)->thread = ALIGN_THREADS; // idle
    flow(0x300, 0x400)->last = 0;
    flow(0x3fe, 0x400);
    CHECK_EQ(find(), 2);
    is(1, 1, 0);
    begin(); // a handler, that returns to where flow was
    at(0, 0x300);
    fresh(1);
    flow(0x300, 0x400)->last = 0;
    flow(0x600, 0x700)->last = 0;
    list[1].stops = 0;
    flow(0x400, 0x410);
    CHECK_EQ(find(), 3);
    is(2, 1, 0);
    begin(); // code that does not fit
    at(0, 0x300);
    at(1, 0x800);
    flow(0x300, 0x410)->fits = 2;
    CHECK_EQ(find(), 1);
    is(0, 2, 1);
}

/* A handler is as possible in the thread that runs as in one that is in one of
 * several places, or has not begun; and a run may have no user code. */
TEST(what_is_possible)
{
    begin();
    at(0, 0x100)->in.fresh = 0;
    at(1, 0x200);
    align_add(&runs[1].in, 0x210);
    flow(0x100, 0x110)->last = 0;
    flow(0x900, 0x910);
    CHECK_EQ(find(), 2);
    CHECK_EQ(list[1].threads, 3);
    CHECK_EQ(list[1].low, 0);
    begin();
    at(0, 0x100);
    fresh(1);
    flow(0x100, 0x110)->last = 0;
    flow(0x900, 0x910);
    CHECK_EQ(find(), 2);
    CHECK_EQ(list[1].threads, 3);
    begin(); // both go on at one address, as after fork
    at(0, 0x100);
    at(1, 0x100);
    at(2, 0x200);
    flow(0x100, 0x110);
    flow(0x110, 0x120);
    flow(0x200, 0x210);
    CHECK_EQ(find(), 3);
    CHECK_EQ(list[0].threads, 3);
    CHECK_EQ(list[1].threads, 3);
    is(2, 4, 2);
    begin(); // runs without user code, and places that others say
    at(0, 0x100);
    at(1, 0x200);
    at(2, 0x300);
    align_add(&runs[1].in, 0x210);
    flow(0x100, 0x110);
    flow(0x300, 0x310);
    CHECK_EQ(find(), 2);
    is(1, 4, 2);
    CHECK_EQ(runs[0].ends.count, 1);
    CHECK_EQ(runs[1].ends.count, 2); // where it was
    CHECK(runs[1].begins.count > ALIGN_PLACES);
}

/* Without any good explanation others count that are not much worse. */
TEST(a_margin)
{
    begin();
    at(0, 0x100);
    at(1, 0x200);
    flow(0x200, 0x110)->last = 0; // 0 goes on where 1 is
    flow(0x110, 0x120);
    flow(0x110, 0x130);
    CHECK_EQ(find(), 3);
    is(0, 1, 0);
    CHECK_EQ(list[2].threads, 3);
}

/* More explanations than can be told apart: none is left out. */
TEST(too_many_explanations)
{
    begin();
    for (unsigned i = 0; i < 6; i++) at(i, 0x1000 * (i + 1));
    for (unsigned i = 0; i < 42; i++) run(i % 6);
    for (unsigned i = 0; i < 300; i++) {
        // thread i % 6 in each of its runs, from its places to any of ten
        flow(i < 6 ? 0x1000 * (i + 1) : 0x500 + i / 6 % 10,
             0x500 + (i / 6 + 1) % 10);
    }
    CHECK_EQ(find(), 300);
    for (size_t k = 12; k < 290; k++)
        CHECK(list[k].threads & (list[k].threads - 1));
}

/* Where each would have stopped, had it been the one, by its own code. */
TEST(code_that_differs)
{
    begin();
    at(0, 0x300);
    fresh(1);
    run(0);
    flow(0x300, 0x400)->last = 0;
    flow(0x500, 0x600)->stop[1] = 0x700; // after a signal, or thread 1 begins
    flow(0x800, 0x900)->news = 2;
    list[2].first = list[2].last = 1;
    flow(0x600, 0x610)->first = 2;
    CHECK_EQ(find(), 4);
    is(1, 1, 0);
    is(2, 2, 1);
    is(3, 1, 2);
}

TEST(other_processors)
{
    begin();
    at(0, 0x300)->out.count = 0;
    align_add(&runs[0].out, 0x420);
    run(1)->kept = 0;
    runs[1].in.count = 0;
    align_add(&runs[1].in, 0x410);
    align_add(&runs[1].in, 0x415);
    flow(0x300, 0x410)->last = 0;
    flow(0x410, 0x420); // either could, but thread 0 goes on at 420 elsewhere
    flow(0x415, 0x430);
    CHECK_EQ(find(), 3);
    is(1, 1, 0);
    is(2, 2, 1);
    CHECK_EQ(runs[0].begins.count, 1);
    CHECK_EQ(runs[0].begins.ip[0], 0x300);
    CHECK(runs[1].begins.count);
    CHECK(runs[1].begins.count <= ALIGN_PLACES);
    CHECK(runs[1].ends.count > ALIGN_PLACES); // goes on
}

TEST(no_explanation)
{
    begin();
    at(0, 0x300);
    at(1, 0x300);
    flow(0x300, 0x410);
    flow(0x410, 0x420)->fits = 0;
    flow(0x420, 0x430);
    CHECK_EQ(find(), 1);
    list[0].fits = 0;
    CHECK_EQ(find(), 0);
}

TEST(many_places)
{
    align_places p;
    memset(&p, 0, sizeof p);
    for (unsigned i = 0; i < 300; i++) align_add(&p, i / 2);
    CHECK_EQ(p.count, ALIGN_PLACES + 1);
    begin(); // more addresses than have a number
    at(0, 0);
    at(1, 0x10000);
    for (unsigned i = 0; i < 400; i++) flow(i, i + 1);
    CHECK_EQ(find(), 400);
    CHECK_EQ(list[0].threads, 1);
    CHECK_EQ(list[100].run, 0);
}

/* Threads that stop where no other does, or at a few places that are those of
 * all: what is sure is right, and where places differ all is sure. */
static void simulate(uint32_t shared, int *unsure)
{
    uint64_t place[4] = {0x1000, 0x2000, 0x3000, 0x4000};
    unsigned truth[400];
    unsigned last = 9;
    unsigned seen = 0;
    begin();
    while (count < 120) {
        const unsigned now = dice(4);
        if (now == last) continue;
        last = now;
        if (seen >> now & 1)
            run(now);
        else
            at(now, place[now]);
        seen |= 1u << now;
        for (uint32_t n = 1 + dice(5); n > 0; n--) {
            const uint64_t from = place[now];
            place[now] = dice(shared) ? 0x10000 + dice(1 << 30)
                                      : 0x500 + dice(3);
            truth[count] = now;
            flow(from, place[now]);
        }
    }
    CHECK_EQ(find(), count);
    *unsure = 0;
    for (size_t k = 0; k < count; k++) {
        if (list[k].threads & (list[k].threads - 1))
            *unsure += k + 10 < count;
        else
            CHECK_EQ(list[k].threads, 1u << truth[k]);
        CHECK(list[k].threads >> truth[k] & 1);
        CHECK(!k || list[k].run >= list[k - 1].run);
        CHECK(list[k].low <= list[k].run);
    }
}

TEST(simulated)
{
    int unsure;
    int some = 0;
    for (int i = 0; i < 8; i++) {
        simulate(1 << 30, &unsure);
        CHECK_EQ(unsure, 0);
        simulate(2, &unsure);
        some += unsure > 0;
    }
    CHECK(some > 0);
}

int main(void)
{
    a = align_new();
    if (!a) return 2;
    RUN(where_threads_go_on);
    RUN(a_loop_of_both);
    RUN(later_flow_tells);
    RUN(what_costs);
    RUN(what_is_possible);
    RUN(a_margin);
    RUN(too_many_explanations);
    RUN(code_that_differs);
    RUN(other_processors);
    RUN(no_explanation);
    RUN(many_places);
    RUN(simulated);
    align_free(a);
    return test_report();
}
