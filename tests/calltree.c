/* calltree.c: calls added up (examples/tools/common/flow/calltree.h). */
#include "examples/tools/common/flow/calltree.c"
#include "dice.h"
#include "test.h"

TEST(nodes_and_totals)
{
    calltree t;
    uint32_t a, b, c;
    CHECK_EQ(calltree_init(&t), 0);
    a = calltree_child(&t, CALLTREE_ROOT, 7);
    b = calltree_child(&t, a, 8);
    c = calltree_child(&t, a, 7);
    CHECK(a != b);
    CHECK(b != c);
    CHECK(a != c);
    CHECK_EQ(calltree_child(&t, a, 8), b);
    CHECK_EQ(calltree_child(&t, a, 7), c);
    t.list[a].own.insns = 10;
    t.list[b].own.insns = 200;
    t.list[b].own.ns = 3;
    t.list[c].own.insns = 3000;
    calltree_sum(&t);
    CHECK_EQ(t.list[CALLTREE_ROOT].total.insns, 3210);
    CHECK_EQ(t.list[a].total.insns, 3210);
    CHECK_EQ(t.list[a].total.ns, 3);
    CHECK_EQ(t.list[b].total.insns, 200);
    calltree_sort(&t, 1);
    CHECK_EQ(t.list[a].child, c);
    calltree_sort(&t, 0);
    CHECK_EQ(t.list[a].child, b);
    CHECK_EQ(calltree_next(&t, CALLTREE_ROOT), a);
    CHECK_EQ(calltree_next(&t, a), b);
    CHECK_EQ(calltree_next(&t, b), c);
    CHECK_EQ(calltree_next(&t, c), 0);
    calltree_free(&t);
}

/* Each node is come by once; sums are those of an addition by hand. */
TEST(large_trees)
{
    enum { NODES = 50000 };
    calltree t;
    uint64_t sum = 0;
    uint32_t seen = 0;
    CHECK_EQ(calltree_init(&t), 0);
    while (t.count < NODES) {
        const uint32_t n = calltree_child(&t, dice(t.count), dice(20));
        const uint32_t cost = dice(1000);
        t.list[n].own.insns += cost;
        sum += cost;
    }
    calltree_sum(&t);
    CHECK_EQ(t.list[CALLTREE_ROOT].total.insns, sum);
    calltree_sort(&t, 1);
    for (uint32_t i = calltree_next(&t, 0); i; i = calltree_next(&t, i)) {
        const calltree_node *const n = &t.list[i];
        uint64_t below = n->own.insns;
        for (uint32_t c = n->child; c; c = t.list[c].sibling) {
            below += t.list[c].total.insns;
            if (t.list[c].sibling)
                CHECK(t.list[c].total.insns
                      >= t.list[t.list[c].sibling].total.insns);
        }
        CHECK_EQ(below, n->total.insns);
        seen++;
    }
    CHECK_EQ(seen, NODES - 1);
    calltree_free(&t);
}

static int order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *) a;
    const uint64_t y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

/* Quantiles against sorted costs of many sizes, off by 2 % at most. */
TEST(quantiles)
{
    enum { COSTS = 4001 };
    static uint64_t costs[COSTS];
    static const unsigned shares[] = {0, 1, 10, 250, 500, 900, 990, 1000};
    calltree t;
    for (unsigned bits = 1; bits <= 64; bits++) {
        uint32_t n;
        CHECK_EQ(calltree_init(&t), 0);
        n = calltree_child(&t, CALLTREE_ROOT, 1);
        for (unsigned i = 0; i < COSTS; i++) {
            const uint64_t any = (uint64_t) dice(1u << 31) << 33 ^ dice(1u << 31);
            costs[i] = (any >> (64 - bits)) >> dice(bits);
            calltree_ended(&t, n, costs[i]);
        }
        qsort(costs, COSTS, sizeof *costs, order);
        CHECK_EQ(t.list[n].min, costs[0]);
        CHECK_EQ(t.list[n].max, costs[COSTS - 1]);
        for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++) {
            const uint64_t got = calltree_quantile(&t.list[n], shares[i]);
            uint32_t at = (COSTS * shares[i] + 999) / 1000;
            uint64_t want, off;
            if (at) at--;
            want = costs[at];
            off = got > want ? got - want : want - got;
            CHECK(off <= want / 50);
        }
        calltree_free(&t);
    }
}

int main(void)
{
    RUN(nodes_and_totals);
    RUN(large_trees);
    RUN(quantiles);
    return test_report();
}
