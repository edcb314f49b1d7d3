/* ranges.c: which code ran how often (examples/tools/common/flow/ranges.h). */
#include "examples/tools/common/code/tool.c"
#include "examples/tools/common/flow/ranges.c"
#include "test.h"

/* Two files of 4096 bytes; the first one is mapped twice. */
static files_file first_file, second_file;
static char first_name[] = "/first", second_name[] = "/second";
enum { FIRST = 0x10000, AGAIN = 0x50000, SECOND = 0x90000, FROM = 0x1000 };

int spaces_find(const spaces_view *view, const ipt_asid *asid, uint64_t ip,
                spaces_found *found)
{
    const uint64_t base = ip & ~(uint64_t) 0xfff;
    (void) view, (void) asid;
    memset(found, 0, sizeof *found);
    if (base != FIRST && base != AGAIN && base != SECOND) return 0;
    found->file = base == SECOND ? &second_file : &first_file;
    found->name = base == SECOND ? second_name : first_name;
    found->first = base;
    found->last = base + 0xfff;
    found->offset = FROM + (ip - base);
    return 1;
}

typedef struct bench {
    session s;
    ranges r;
    ranges_thread t;
} bench;

static void begin(bench *b)
{
    memset(b, 0, sizeof *b);
    ranges_init(&b->r);
}

/* Two instructions of 4 bytes each, the last one of a kind. */
static void run(bench *b, uint64_t ip, uint8_t kind)
{
    ipt_block block;
    memset(&block, 0, sizeof block);
    block.ip = ip;
    block.end_ip = ip + 4;
    block.last_size = 4;
    block.count = 2;
    block.kind = kind;
    ranges_flow(&b->r, &b->t, &b->s, 1, 0, &block);
}

static void happen(bench *b, uint8_t type, uint64_t ip, uint64_t to,
                   uint8_t flags)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.ip = ip;
    e.u.branch.to = to;
    e.flags = flags;
    ranges_event(&b->r, &b->t, &b->s, 1, 0, &e);
}

/* How often; 0: never. Files are counted from 1 on as they come. */
static uint64_t count(bench *b, uint32_t kind, uint32_t file, uint64_t from,
                      uint32_t to_file, uint64_t to)
{
    uint64_t n = 0;
    ranges_break(&b->r, &b->t);
    for (size_t i = 0; i < b->r.size; i++) {
        const ranges_one *const one = &b->r.list[i];
        if (one->count && one->kind == kind && one->file == file
            && one->to_file == to_file && one->from == from && one->to == to)
            n += one->count;
    }
    return n;
}

static void end(bench *b, size_t all)
{
    CHECK_EQ(b->r.failed, 0);
    ranges_sort(&b->r);
    CHECK_EQ(b->r.count, all);
    for (size_t i = 0; i + 1 < b->r.count; i++)
        CHECK(compare(&b->r.list[i], &b->r.list[i + 1]) < 0);
    ranges_free(&b->r);
}

TEST(a_loop_in_two_places)
{
    static const uint64_t bases[] = {FIRST, AGAIN};
    bench b;
    begin(&b);
    for (unsigned place = 0; place < 2; place++) {
        const uint64_t base = bases[place];
        run(&b, base, IPT_INSN_OTHER);
        run(&b, base + 8, IPT_INSN_JCC); /* not taken, ... */
        for (unsigned i = 0; i < 5; i++) {
            run(&b, base + 16, IPT_INSN_CALL);
            run(&b, base + 64, IPT_INSN_RET);
            run(&b, base + 24, IPT_INSN_JCC); /* ... taken */
        }
        run(&b, base + 32, IPT_INSN_JMP_INDIRECT);
        run(&b, SECOND, IPT_INSN_OTHER);
        ranges_break(&b.r, &b.t);
    }
    CHECK_EQ(b.r.file_count, 2);
    CHECK_EQ(b.r.files[0].insns, 2 * (4 + 5 * 6 + 2));
    CHECK_EQ(b.r.files[1].insns, 4);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM, 1, FROM + 20), 2);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 64, 1, FROM + 68), 10);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 24, 1, FROM + 28), 8);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 24, 1, FROM + 36), 2);
    CHECK_EQ(count(&b, RANGES_RUN, 1, FROM + 16, 1, FROM + 20), 8);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 20, 1, FROM + 64), 10);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 68, 1, FROM + 24), 10);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 28, 1, FROM + 16), 8);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 36, 2, FROM), 2);
    CHECK_EQ(count(&b, RANGES_OUTER, 2, FROM, 2, FROM + 4), 2);
    end(&b, 10);
}

/* What is not a branch: a system call, an interrupt and a signal, a record that
 * changes code elsewhere. */
TEST(what_is_between)
{
    bench b;
    begin(&b);
    run(&b, FIRST, IPT_INSN_SYSCALL);
    happen(&b, IPT_EVT_DISABLED, FIRST + 4, 0, IPT_EVENT_NO_TO);
    happen(&b, IPT_EVT_ENABLED, FIRST + 8, 0, 0);
    run(&b, FIRST + 8, IPT_INSN_OTHER);
    b.s.changes++;
    run(&b, FIRST + 16, IPT_INSN_JMP);
    happen(&b, IPT_EVT_ASYNC_DISABLED, FIRST + 64, 0, IPT_EVENT_NO_TO);
    happen(&b, IPT_EVT_ENABLED, SECOND, 0, 0);
    run(&b, SECOND, IPT_INSN_SYSCALL); /* a handler */
    happen(&b, IPT_EVT_ENABLED, FIRST + 64, 0, 0);
    run(&b, FIRST + 64, IPT_INSN_RET);
    happen(&b, IPT_EVT_CBR, FIRST + 64, 0, 0);
    happen(&b, IPT_EVT_ASYNC_BRANCH, FIRST + 128, SECOND, 0);
    run(&b, SECOND, IPT_INSN_IRET);
    run(&b, FIRST + 128, IPT_INSN_OTHER);
    happen(&b, IPT_EVT_ASYNC_DISABLED, FIRST + 136, 0, IPT_EVENT_NO_TO);
    run(&b, FIRST + 136, IPT_INSN_OTHER);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM, 1, FROM + 20), 1);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 20, 1, FROM + 64), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 2, FROM, 2, FROM + 4), 2);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 64, 1, FROM + 68), 1);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 68, 1, FROM + 128), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 128, 1, FROM + 140), 1);
    end(&b, 6);
}

/* What is lost, or leads to where nothing is traced. */
TEST(what_is_not_there)
{
    bench b;
    begin(&b);
    run(&b, FIRST, IPT_INSN_CALL);
    happen(&b, IPT_EVT_DISABLED, FIRST + 4, SECOND + 8, 0);
    run(&b, FIRST + 8, IPT_INSN_CALL_INDIRECT);
    happen(&b, IPT_EVT_DISABLED, FIRST + 12, 0, IPT_EVENT_NO_TO);
    run(&b, FIRST + 16, IPT_INSN_JMP);
    happen(&b, IPT_EVT_OVERFLOW, SECOND, 0, 0);
    run(&b, SECOND, IPT_INSN_JMP);
    happen(&b, IPT_EVT_OVERFLOW, FIRST, 0, IPT_EVENT_STATUS); /* no news */
    run(&b, 0x200, IPT_INSN_RET); /* in no file */
    run(&b, SECOND + 8, IPT_INSN_OTHER);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 4, 2, FROM + 8), 1);
    CHECK_EQ(count(&b, RANGES_BRANCH, 1, FROM + 12, 0, 0), 1);
    CHECK_EQ(count(&b, RANGES_BRANCH, 2, FROM + 4, 0, 0x200), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 0, 0x200, 0, 0x204), 1);
    CHECK_EQ(count(&b, RANGES_BRANCH, 0, 0x204, 2, FROM + 8), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM, 1, FROM + 4), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 8, 1, FROM + 12), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 1, FROM + 16, 1, FROM + 20), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 2, FROM, 2, FROM + 4), 1);
    CHECK_EQ(count(&b, RANGES_OUTER, 2, FROM + 8, 2, FROM + 12), 1);
    end(&b, 10);
}

/* More places than the table has at first. */
TEST(many)
{
    enum { PLACES = 500 };
    bench b;
    begin(&b);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < PLACES; i++)
            for (unsigned j = 0; j < 8; j++)
                run(&b, FIRST + 8 * ((i * (j + 1)) % PLACES), IPT_INSN_JMP);
    ranges_break(&b.r, &b.t);
    CHECK(b.r.size > 4096);
    for (unsigned i = 0; i < PLACES; i++)
        CHECK(count(&b, RANGES_RUN, 1, FROM + 8 * i, 1, FROM + 8 * i + 4) >= 2);
    end(&b, b.r.count);
}

int main(void)
{
    RUN(a_loop_in_two_places);
    RUN(what_is_between);
    RUN(what_is_not_there);
    RUN(many);
    return test_report();
}
