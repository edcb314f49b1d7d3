/* hot.c: hot traces, against the model of hot.h: programs made by chance, with
 * loss, invalidations and the like; small tables; calls from inside callbacks. */
#define HOT_STREAM 4096 /* no run has more blocks */
#define MODEL_BUCKETS 1024
#include "dice.h"
#include "linked.h"
#include "hot.h"
#include "test.h"

static const ipt_asid spaces[2]
    = {{0x1000, IPT_ASID_UNKNOWN, 0}, {0x2000, IPT_ASID_UNKNOWN, 1}};

static ipt_block block_at(uint64_t ip, uint8_t kind)
{
    ipt_block b;
    memset(&b, 0, sizeof b);
    b.ip = ip;
    b.end_ip = ip + 6;
    b.count = 3;
    b.kind = kind;
    b.last_size = 2;
    b.mode = IPT_MODE_64;
    return b;
}

/* ---- by hand ---- */

static hot_pair p;

static void begin(uint32_t threshold, uint32_t limit)
{
    CHECK_EQ(pair_begin(&p, threshold, limit, HOT_PLAIN, 64, 64, 1024), IPT_OK);
}

static void end(void)
{
    if (p.wrong[0]) printf("    %s\n", p.wrong);
    CHECK(!p.wrong[0]);
    pair_finish(&p);
}

static void feed(uint64_t ip, uint8_t kind, uint16_t flags)
{
    ipt_block b = block_at(ip, kind);
    b.flags = flags;
    pair_feed(&p, &b, &spaces[0]);
}

/* Once round a loop of three blocks: A, B, C, and a jump back. */
static void go_round(void)
{
    feed(0x1000, IPT_INSN_JCC, 0);
    feed(0x1010, IPT_INSN_RET, 0);
    feed(0x1020, IPT_INSN_JMP, 0);
}

static const hot_entry *entry(size_t i)
{
    static hot_entry none;
    return i < p.log.count ? &p.log.at[i] : &none;
}

/* The head runs at the end of the first round for the first time as such; it is
 * recorded when it has run five times, and given when the round is over. */
TEST(loop)
{
    begin(5, 128);
    for (int i = 0; i < 6; i++) go_round();
    CHECK_EQ(p.hot.stats.told, 0);
    CHECK_EQ(p.log.count, 2); /* asked before B and C */
    feed(0x1000, IPT_INSN_JCC, 0);
    CHECK_EQ(p.hot.stats.told, 1);
    CHECK_EQ(entry(2)->what, HOT_ASKED);
    CHECK_EQ(entry(3)->what, HOT_TOLD);
    CHECK_EQ(entry(3)->tag.ip, 0x1000);
    CHECK_EQ(entry(3)->count, 3);
    CHECK_EQ(p.config.traces[0].runs, 1);
    CHECK_EQ(p.config.traces[0].count, 3);
    CHECK_EQ(p.config.blocks[p.config.traces[0].first + 1].ip, 0x1010);
    CHECK_EQ(p.hot.stats.inside, 3);
    end();
}

/* A block that jumps to itself is reached from an address that is the same. */
TEST(loop_of_one_block)
{
    begin(2, 128);
    for (int i = 0; i < 3; i++) feed(0x1000, IPT_INSN_JCC, 0);
    CHECK_EQ(p.log.count, 0);
    feed(0x1000, IPT_INSN_JCC, 0); /* asked, goes on: it has one block */
    CHECK_EQ(p.hot.recorded_, 2);
    feed(0x1000, IPT_INSN_JCC, 0);
    CHECK_EQ(entry(2)->what, HOT_TOLD);
    CHECK_EQ(entry(2)->count, 2);
    end();
}

TEST(limits)
{
    static const uint32_t limits[] = {1, 2, 3, 4};
    for (unsigned i = 0; i < 4; i++) {
        begin(3, limits[i]);
        for (int k = 0; k < 9; k++) go_round();
        CHECK_EQ(p.config.traces[0].count, limits[i] < 3 ? limits[i] : 3);
        end();
    }
}

/* Deletion: config.deleted is called, and the head counts from nothing. */
TEST(deletion)
{
    const ipt_hot_tag tag = hot_tag_of(0x1000, &spaces[0], IPT_MODE_64);
    begin(10, 128);
    for (int i = 0; i < 20; i++) go_round();
    CHECK_EQ(p.hot.stats.told, 1);
    CHECK_EQ(ipt_hot_delete(&p.hot, &tag), 1);
    CHECK_EQ(model_delete(&p.model, &tag), 1);
    CHECK_EQ(entry(p.log.count - 1)->what, HOT_DELETED);
    CHECK_EQ(ipt_hot_delete(&p.hot, &tag), 0);
    for (int i = 0; i < 10; i++) go_round();
    CHECK_EQ(p.hot.stats.told, 1);
    go_round();
    go_round();
    CHECK_EQ(p.hot.stats.told, 2);
    CHECK_EQ(p.hot.stats.deleted, 1);
    end();
}

/* Each of what interrupts flow aborts a recording and says so. */
TEST(aborts)
{
    static const uint16_t before[] = {IPT_FLOW_ENABLED, IPT_FLOW_RESYNCED,
                                      IPT_FLOW_ASID, IPT_FLOW_STOPPED};
    static const uint16_t after[] = {IPT_FLOW_DISABLED, IPT_FLOW_INTERRUPTED,
                                      IPT_FLOW_ABORTED};
    for (unsigned i = 0; i < 10; i++) {
        ipt_block b = block_at(0x1010, IPT_INSN_RET);
        begin(5, 128);
        for (int k = 0; k < 5; k++) go_round();
        feed(0x1000, IPT_INSN_JCC, i >= 4 && i < 7 ? after[i - 4] : 0);
        CHECK_EQ(p.hot.recorded_, 1);
        if (i < 4) b.flags = before[i];
        if (i == 7) b.mode = IPT_MODE_32;
        if (i == 9) pair_break(&p);
        pair_feed(&p, &b, &spaces[i == 8]);
        CHECK_EQ(p.hot.stats.aborted, 1);
        CHECK_EQ(entry(p.log.count - 1)->what, HOT_ABORTED);
        CHECK_EQ(p.hot.recorded_, 0);
        end();
    }
    begin(5, 128); /* what does not */
    for (int k = 0; k < 5; k++) go_round();
    feed(0x1000, IPT_INSN_JCC, IPT_FLOW_SPECULATIVE | IPT_FLOW_COMMITTED);
    feed(0x1010, IPT_INSN_RET, IPT_FLOW_SPECULATIVE | IPT_FLOW_TRUNCATED);
    CHECK_EQ(p.hot.recorded_, 2);
    end();
}

/* Marked, and reached only by indirect branches. */
TEST(marked)
{
    const ipt_hot_tag tag = hot_tag_of(0x3000, &spaces[0], IPT_MODE_64);
    begin(4, 128);
    for (int i = 0; i < 9; i++) {
        feed(0x3000, IPT_INSN_RET, 0);
        feed(0x3010, IPT_INSN_RET, 0);
    }
    CHECK_EQ(p.log.count, 0);
    pair_mark(&p, &tag);
    pair_mark(&p, &tag);
    for (int i = 0; i < 5; i++) {
        feed(0x3000, IPT_INSN_RET, 0);
        feed(0x3010, IPT_INSN_RET, 0);
    }
    CHECK_EQ(p.hot.stats.told, 1);
    end();
}

/* An address in two spaces and in two modes is three heads. */
TEST(spaces_and_modes)
{
    begin(3, 128);
    for (unsigned i = 0; i < 3 * 6; i++) {
        ipt_block b = block_at(0x1000, IPT_INSN_JMP);
        if (i / 6 == 2) b.mode = IPT_MODE_32;
        pair_feed(&p, &b, &spaces[i / 6 == 1]);
    }
    CHECK_EQ(p.hot.stats.told, 3);
    pair_invalidate(&p, &spaces[1], 0, 0);
    CHECK_EQ(p.hot.stats.deleted, 1);
    pair_invalidate(&p, NULL, 0x1007, 1);
    CHECK_EQ(p.hot.stats.deleted, 3);
    end();
}

/* Which of the addresses around a block with 8 bytes belong to it; blocks that
 * wrap, and those without bytes. */
TEST(ranges)
{
    static const struct {
        uint64_t ip, end_ip, from, size;
        int hit;
    } rows[] = {
        {0x1000, 0x1006, 0xfff, 1, 0},       {0x1000, 0x1006, 0xfff, 2, 1},
        {0x1000, 0x1006, 0x1007, 1, 1},      {0x1000, 0x1006, 0x1008, 9, 0},
        {0x1000, 0x1006, 0x1008, 0, 1},      {0x1000, 0x1006, 0x1001, 1, 1},
        {UINT64_MAX, 5, 0, 1, 1},            {UINT64_MAX, 5, 7, 1, 0},
        {UINT64_MAX - 7, UINT64_MAX - 1, 0, 1, 0},
        {0x1000, 0xffe, 0x1000, 1, 1},       {0x1000, 0xffe, 0x999, 1, 0},
        {0x1000, 0x1006, UINT64_MAX, 0x1002, 1}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ipt_block b = block_at(rows[i].ip, IPT_INSN_JMP);
        b.end_ip = rows[i].end_ip;
        begin(2, 128);
        for (int k = 0; k < 6; k++) pair_feed(&p, &b, &spaces[0]);
        CHECK_EQ(p.hot.stats.told, 1);
        pair_invalidate(&p, NULL, rows[i].from, rows[i].size);
        CHECK_EQ(p.hot.stats.deleted, rows[i].hit);
        end();
    }
}

/* ---- by chance ---- */

typedef struct graph {
    ipt_block blocks[64];
    uint8_t to[64][2], count;
} graph;

/* A program: short ways between neighbours, some long ones. */
static void make_graph(graph *g)
{
    static const uint8_t kinds[]
        = {IPT_INSN_JCC, IPT_INSN_JCC, IPT_INSN_JCC, IPT_INSN_JMP,
           IPT_INSN_CALL, IPT_INSN_RET, IPT_INSN_JMP_INDIRECT, IPT_INSN_OTHER};
    g->count = (uint8_t) (2 + dice(62));
    for (unsigned i = 0; i < 64; i++) { /* exact_run takes a count of its own */
        g->blocks[i] = block_at(0x1000 + 16 * i, kinds[dice(8)]);
        g->blocks[i].count = (uint16_t) (1 + dice(9));
        for (int k = 0; k < 2; k++) {
            const unsigned near_ = i + dice(8) + g->count - 3;
            g->to[i][k] = (uint8_t) ((dice(4) ? near_ : dice(64)) % g->count);
        }
    }
}

/* Something happens now and then. */
static void meddle(const graph *g)
{
    const ipt_asid *asid = &spaces[dice(2)];
    const ipt_hot_tag tag = hot_tag_of(g->blocks[dice(g->count)].ip, asid,
                                       (uint8_t) (dice(8) ? 3 : 2));
    switch (dice(5)) {
    case 0: pair_delete(&p, &tag); break;
    case 1: pair_mark(&p, &tag); break;
    case 2: pair_break(&p); break;
    case 3: pair_invalidate(&p, dice(2) ? asid : NULL, tag.ip + dice(20) - 10,
                            dice(20) ? 1 + dice(40) : 0); break;
    default:
        if (p.hot.kept) {
            const ipt_hot_tag first = p.config.traces[0].tag;
            pair_delete(&p, &first);
        }
    }
}

static void run_graph(unsigned steps, unsigned calm)
{
    unsigned at = 0;
    unsigned space = 0;
    graph g;

    make_graph(&g);
    for (unsigned i = 0; i < steps && !p.wrong[0]; i++) {
        ipt_block b = g.blocks[at];
        if (calm && dice(calm) == 0) meddle(&g);
        if (calm && dice(calm) == 0) b.flags = (uint16_t) (1 << dice(12));
        if (calm && dice(calm) == 0) b.mode = IPT_MODE_32;
        if (calm && dice(calm) == 0) space = dice(2);
        pair_feed(&p, &b, &spaces[space]);
        at = g.to[at][dice(8) == 0];
    }
}

static const uint32_t thresholds[] = {1, 2, 5, 50};
static const uint32_t limits[] = {1, 2, 7, 128, 0};

/* With room for all, everything is as in the model. */
TEST(like_the_model)
{
    for (seed = 1; seed < 400 && !p.wrong[0]; seed++) {
        const uint64_t first = seed;
        CHECK_EQ(pair_begin(&p, thresholds[dice(4)], limits[dice(5)],
                            (int) dice(2), 4096, 1024, 8192), IPT_OK);
        run_graph(3000, dice(3) ? 100 + dice(500) : 0);
        CHECK_EQ(pair_lost(&p), 0);
        if (p.wrong[0]) printf("    seed %u\n", (unsigned) first);
        end();
        seed = first;
    }
}

/* With little, each trace given is one of the stream, and what makes a
 * difference is counted: the pair compares up to the first count. */
TEST(small_tables)
{
    unsigned lost = 0;
    unsigned alike = 0;
    for (seed = 1; seed < 1200 && !p.wrong[0]; seed++) {
        const uint64_t first = seed;
        CHECK_EQ(pair_begin(&p, thresholds[dice(4)], limits[dice(5)],
                            (int) dice(2), 1 + dice(9) * dice(9),
                            1 + dice(5), 1 + dice(40)), IPT_OK);
        run_graph(1500, dice(2) ? 40 + dice(300) : 0);
        pair_lost(&p) ? lost++ : alike++;
        CHECK(p.hot.kept <= p.config.trace_count);
        if (p.wrong[0]) printf("    seed %u\n", (unsigned) first);
        end();
        seed = first;
    }
    CHECK(lost > 100);
    CHECK(alike > 20);
}

/* ---- full tables, to the letter ----
 *
 * What ipt_impl.h says of full tables, done plainly: a table of heads that is
 * one set, few traces, a pool of few blocks. Callbacks, statistics and what is
 * public of the tables have to be the same after each call. */

typedef struct exact_trace {
    ipt_hot_tag tag;
    uint64_t credit, runs;
    uint32_t count;
    int gone;
    ipt_block blocks[24];
} exact_trace;

typedef struct exact_model {
    uint32_t heads, traces, pool, room, limit, threshold; /* how many */
    int client;
    struct {
        ipt_hot_tag tag;
        uint32_t count;
        int used;
    } head[4];
    exact_trace kept[8], recording; /* its count 0: there is none */
    uint32_t kept_count, inside, pos; /* inside: a trace, plus 1 */
    ipt_hot_tag now;
    uint8_t kind;
    int cut_off;
    ipt_hot_stats stats;
    hot_log log;
} exact_model;

static exact_model x;
static hot_log exact_log; /* of the real one */

/* The place of a head, or of the trace with this tag; -1: there is none. */
static int exact_head(const ipt_hot_tag *tag)
{
    for (uint32_t i = 0; i < x.heads; i++)
        if (x.head[i].used && hot_same_tag(&x.head[i].tag, tag)) return (int) i;
    return -1;
}

static int exact_trace_of(const ipt_hot_tag *tag)
{
    for (uint32_t i = 0; i < x.kept_count; i++)
        if (!x.kept[i].gone && hot_same_tag(&x.kept[i].tag, tag))
            return (int) i;
    return -1;
}

/* The head counts again. The trace goes, and config.deleted is called, when all
 * else is done. */
static void exact_doom(uint32_t i, int evicted)
{
    const int head = exact_head(&x.kept[i].tag);
    if (head >= 0) x.head[head].count = 0;
    x.kept[i].gone = 1;
    x.stats.deleted++;
    x.stats.evicted += evicted != 0;
    if (x.inside == i + 1) x.inside = 0;
}

static void exact_tell(void)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < x.kept_count; i++) {
        if (x.kept[i].gone) {
            hot_say(&x.log, HOT_DELETED, &x.kept[i].tag, 0, 0);
            continue;
        }
        if (x.inside == i + 1) x.inside = to + 1;
        x.kept[to++] = x.kept[i];
    }
    x.kept_count = to;
}

static int exact_make(const ipt_hot_tag *tag, int force)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < x.heads; i++)
        if (!x.head[i].used) {
            to = i;
            break;
        } else if (x.head[i].count < x.head[to].count)
            to = i;
    if (x.head[to].used) {
        const int trace = exact_trace_of(&x.head[to].tag);
        x.stats.heads_lost++;
        if (x.head[to].count) x.head[to].count--;
        if (x.head[to].count && !force) return -1;
        if (trace >= 0) exact_doom((uint32_t) trace, 1);
    }
    x.head[to].used = 1;
    x.head[to].tag = *tag;
    x.head[to].count = 0;
    return (int) to;
}

static void exact_stop(int aborted)
{
    const int head = exact_head(&x.recording.tag);
    if (!x.recording.count) return;
    if (head >= 0) x.head[head].count = 0;
    x.recording.count = 0;
    x.stats.aborted += aborted != 0;
    if (aborted) hot_say(&x.log, HOT_ABORTED, &x.recording.tag, 0, 0);
}

/* The one with least credit, the first of them; all lose a sixteenth. */
static uint32_t exact_weakest(void)
{
    uint32_t weakest = 0;
    for (uint32_t i = 0; i < x.kept_count; i++) {
        const uint64_t part = x.kept[i].credit / 16;
        x.kept[i].credit -= part + (x.kept[i].credit % 16 != 0);
        if (x.kept[i].credit < x.kept[weakest].credit) weakest = i;
    }
    return weakest;
}

static int exact_fits(void)
{
    uint32_t blocks = x.recording.count;
    for (uint32_t i = 0; i < x.kept_count; i++) blocks += x.kept[i].count;
    return x.kept_count < x.traces && blocks <= x.pool;
}

static void exact_complete(void)
{
    exact_trace *r = &x.recording;
    int head;
    r->credit = (uint64_t) x.threshold * r->count;
    r->runs = 0;
    r->gone = 0;
    if (!exact_fits() && x.kept[exact_weakest()].credit > r->credit) {
        x.stats.refused++;
        exact_stop(0);
        return;
    }
    x.stats.told++;
    hot_say(&x.log, HOT_TOLD, &r->tag, r->count, hot_hash(r->blocks, r->count));
    if (hot_answer_trace(x.client, &r->tag, r->count) != IPT_HOT_KEEP) {
        x.stats.dropped++;
        exact_stop(0);
        return;
    }
    while (!exact_fits()) {
        exact_doom(exact_weakest(), 1);
        exact_tell();
    }
    head = exact_head(&r->tag);
    if (head < 0) head = exact_make(&r->tag, 1);
    x.head[head].count = x.threshold;
    x.kept[x.kept_count++] = *r;
    r->count = 0;
}

/* Does the recording end before this block? */
static int exact_ends(int reached)
{
    const exact_trace *r = &x.recording;
    int says;
    if (r->count == x.room) {
        x.stats.cut += x.room < x.limit;
        return 1;
    }
    hot_say(&x.log, HOT_ASKED, &r->tag, x.now.ip, 0);
    says = hot_answer_end(x.client, &r->tag, x.now.ip);
    return says == IPT_HOT_END
           || (says != IPT_HOT_CONTINUE && r->count > 1
               && (reached || exact_head(&x.now) >= 0));
}

static void exact_step(const ipt_block *b, const ipt_asid *asid)
{
    const ipt_hot_tag tag = hot_tag_of(b->ip, asid, b->mode);
    const ipt_hot_tag before = hot_tag_of(b->ip, &x.now.asid, x.now.mode);
    const int on = hot_same_tag(&tag, &before) && !x.cut_off
                   && !(b->flags & (IPT_FLOW_ENABLED | IPT_FLOW_RESYNCED
                                    | IPT_FLOW_ASID | IPT_FLOW_STOPPED));
    const int direct = x.kind == IPT_INSN_JCC || x.kind == IPT_INSN_JMP
                       || x.kind == IPT_INSN_CALL;
    const int reached
        = on && (x.inside || (direct && b->ip <= x.now.ip));
    exact_trace *in_ = x.inside && on ? &x.kept[x.inside - 1] : NULL;
    int head;
    x.stats.blocks++;
    x.stats.insns += b->count;
    if (!on) exact_stop(1);
    x.now = tag;
    x.kind = b->kind;
    x.cut_off = (b->flags & (IPT_FLOW_DISABLED | IPT_FLOW_INTERRUPTED
                             | IPT_FLOW_ABORTED)) != 0;
    if (in_ && x.pos < in_->count && in_->blocks[x.pos].ip == b->ip) {
        x.stats.inside += b->count;
        x.pos++;
        return;
    }
    x.inside = 0;
    if (x.recording.count) {
        if (!exact_ends(reached)) {
            x.recording.blocks[x.recording.count++] = *b;
            return;
        }
        exact_complete();
    }
    head = exact_head(&tag);
    if (head < 0 && reached) head = exact_make(&tag, 0);
    if (exact_trace_of(&tag) >= 0) {
        in_ = &x.kept[exact_trace_of(&tag)];
        in_->runs++;
        in_->credit += in_->count;
        x.head[head].count = x.threshold;
        x.stats.inside += b->count;
        x.inside = (uint32_t) (in_ - x.kept) + 1;
        x.pos = 1;
    } else if (head >= 0 && ++x.head[head].count >= x.threshold) {
        x.recording.tag = tag;
        x.recording.blocks[0] = *b;
        x.recording.count = 1;
    }
    exact_tell();
}

static void exact_invalidate(const ipt_asid *asid, uint64_t ip, uint64_t size)
{
    for (uint32_t i = 0; i < x.kept_count; i++)
        if (model_in(asid, &x.kept[i].tag)
            && model_hit(x.kept[i].blocks, x.kept[i].count, ip, size))
            exact_doom(i, 0);
    for (uint32_t i = 0; i < x.heads; i++)
        if (x.head[i].used && model_in(asid, &x.head[i].tag)
            && (size == 0 || x.head[i].tag.ip - ip < size))
            x.head[i].used = 0;
    if (model_in(asid, &x.recording.tag)
        && model_hit(x.recording.blocks, x.recording.count, ip, size))
        exact_stop(1);
    exact_tell();
}

static int exact_end_trace(const ipt_hot_tag *tag, uint64_t next, void *context)
{
    hot_say((hot_log *) context, HOT_ASKED, tag, next, 0);
    return hot_answer_end(x.client, tag, next);
}

static int exact_told(const ipt_hot_tag *tag, const ipt_block *blocks,
                      uint32_t count, void *context)
{
    hot_say((hot_log *) context, HOT_TOLD, tag, count, hot_hash(blocks, count));
    return hot_answer_trace(x.client, tag, count);
}

static void exact_deleted(const ipt_hot_tag *tag, void *context)
{
    hot_say((hot_log *) context, HOT_DELETED, tag, 0, 0);
}

static void exact_aborted(const ipt_hot_tag *tag, void *context)
{
    hot_say((hot_log *) context, HOT_ABORTED, tag, 0, 0);
}

static int exact_same(const ipt_hot *h)
{
    const ipt_hot_config *c = h->config_;
    size_t i;
    if (exact_log.count != x.log.count || h->kept != x.kept_count
        || memcmp(&h->stats, &x.stats, sizeof x.stats))
        return 0;
    for (i = 0; i < x.log.count; i++)
        if (exact_log.at[i].what != x.log.at[i].what
            || !hot_same_tag(&exact_log.at[i].tag, &x.log.at[i].tag)
            || exact_log.at[i].count != x.log.at[i].count
            || exact_log.at[i].hash != x.log.at[i].hash)
            return 0;
    for (i = 0; i < x.heads; i++)
        if (!c->heads[i].used != !x.head[i].used
            || (x.head[i].used
                && (c->heads[i].count != x.head[i].count
                    || !hot_same_tag(&c->heads[i].tag, &x.head[i].tag))))
            return 0;
    for (i = 0; i < x.kept_count; i++)
        if (c->traces[i].runs != x.kept[i].runs
            || c->traces[i].count != x.kept[i].count
            || !hot_same_tag(&c->traces[i].tag, &x.kept[i].tag)
            || hot_hash(c->blocks + c->traces[i].first, x.kept[i].count)
               != hot_hash(x.kept[i].blocks, x.kept[i].count))
            return 0;
    exact_log.count = x.log.count = 0;
    return 1;
}

/* A call, by chance. */
static void exact_meddle(ipt_hot *h, const graph *g)
{
    const ipt_hot_tag tag
        = hot_tag_of(g->blocks[dice(g->count)].ip, &spaces[dice(8) == 0],
                     (uint8_t) (dice(8) ? IPT_MODE_64 : IPT_MODE_32));
    const ipt_asid *asid = dice(2) ? &tag.asid : NULL;
    const uint64_t size = dice(20) ? 1 + dice(20) : 0;
    const int trace = exact_trace_of(&tag);
    switch (dice(4)) {
    case 0:
        CHECK_EQ(ipt_hot_break(h), IPT_OK);
        x.cut_off = 1;
        exact_stop(1);
        break;
    case 1:
        CHECK_EQ(ipt_hot_mark_head(h, &tag), IPT_OK);
        if (exact_head(&tag) < 0) (void) exact_make(&tag, 1);
        break;
    case 2:
        if (trace >= 0) exact_doom((uint32_t) trace, 0);
        CHECK_EQ(ipt_hot_delete(h, &tag),
                 trace >= 0
                     || (x.recording.count
                         && hot_same_tag(&x.recording.tag, &tag)));
        if (trace < 0 && hot_same_tag(&x.recording.tag, &tag)) exact_stop(1);
        break;
    default:
        CHECK_EQ(ipt_hot_invalidate(h, asid, tag.ip - 3, size), IPT_OK);
        exact_invalidate(asid, tag.ip - 3, size);
    }
    exact_tell();
}

static void exact_run(const ipt_hot_config *config, unsigned calm)
{
    unsigned at = 0;
    unsigned space = 0;
    unsigned i;
    int same = 1;
    ipt_hot h;
    graph g;
    memset(&x, 0, sizeof x);
    x.heads = config->head_count < 2 ? 1 : config->head_count < 4 ? 2 : 4;
    x.traces = config->trace_count;
    x.limit = config->max_blocks;
    x.room = config->block_count / 2;
    if (x.room > x.limit) x.room = x.limit;
    x.pool = config->block_count - x.room;
    x.threshold = config->threshold;
    x.client = (int) dice(2);
    make_graph(&g);
    g.count = (uint8_t) (2 + dice(14));
    CHECK_EQ(ipt_hot_init(&h, config), IPT_OK);
    for (i = 0; i < 400 && same; i++) {
        ipt_block b = g.blocks[at % g.count];
        if (dice(calm) == 0) exact_meddle(&h, &g);
        if (dice(calm) == 0) b.flags = (uint16_t) (1 << dice(12));
        if (dice(calm) == 0) b.mode = IPT_MODE_32;
        if (dice(calm) == 0) space = dice(2);
        same &= exact_same(&h);
        exact_step(&b, &spaces[space]);
        CHECK_EQ(ipt_hot_feed(&h, &b, &spaces[space]), IPT_OK);
        same &= exact_same(&h);
        at = g.to[at % g.count][dice(8) == 0];
    }
    CHECK(same);
    free(x.log.at);
    free(exact_log.at);
    memset(&exact_log, 0, sizeof exact_log);
}

TEST(full_tables)
{
    static ipt_hot_head heads[7];
    static ipt_hot_trace traces[8];
    static ipt_block blocks[48];
    uint64_t lost[3] = {0, 0, 0};
    for (seed = 1; seed < 600 && !test_.bad; seed++) {
        const uint64_t first = seed;
        ipt_hot_config config;
        memset(&config, 0, sizeof config);
        config.context = &exact_log;
        config.end_trace = exact_end_trace;
        config.trace = exact_told;
        config.deleted = exact_deleted;
        config.aborted = exact_aborted;
        config.heads = heads, config.head_count = 1 + dice(7);
        config.traces = traces, config.trace_count = 1 + dice(8);
        config.blocks = blocks, config.block_count = 2 + dice(47);
        config.threshold = 1 + dice(5) * dice(5);
        config.max_blocks = 1 + dice(32);
        exact_run(&config, dice(2) ? 10 + dice(40) : 1000000);
        lost[0] += x.stats.heads_lost;
        lost[1] += x.stats.evicted;
        lost[2] += x.stats.refused;
        if (test_.bad) printf("    seed %u\n", (unsigned) first);
        seed = first;
    }
    CHECK(lost[0]);
    CHECK(lost[1]);
    CHECK(lost[2]);
}

/* Each kind of loss is counted where it happens. */
TEST(each_loss)
{
    CHECK_EQ(pair_begin(&p, 2, 128, HOT_PLAIN, 1, 9, 99), IPT_OK);
    for (unsigned i = 0; i < 40; i++) feed(0x1000 * (1 + i % 2), IPT_INSN_JMP, 0);
    for (unsigned i = 0; i < 40; i++) feed(0x900 - i, IPT_INSN_JMP, 0);
    CHECK(p.hot.stats.heads_lost > 0);
    end();
    CHECK_EQ(pair_begin(&p, 2, 128, HOT_PLAIN, 64, 1, 99), IPT_OK);
    for (unsigned i = 0; i < 200; i++) feed(0x9000, IPT_INSN_JMP, 0);
    for (unsigned i = 0; i < 6; i++) feed(0x8000, IPT_INSN_JMP, 0);
    CHECK_EQ(p.hot.stats.refused, 1);
    CHECK_EQ(p.hot.stats.evicted, 0);
    for (unsigned i = 0; i < 900; i++) feed(0x7000, IPT_INSN_JMP, 0);
    CHECK_EQ(p.hot.stats.evicted, 1);
    CHECK_EQ(p.hot.stats.deleted, 1);
    end();
    CHECK_EQ(pair_begin(&p, 2, 0, HOT_PLAIN, 64, 9, 2), IPT_OK);
    for (unsigned i = 0; i < 20; i++) go_round();
    CHECK(p.hot.stats.cut > 0);
    end();
}

/* ---- from inside callbacks ---- */

static struct {
    ipt_hot hot;
    ipt_hot_config config;
    ipt_hot_head heads[16];
    ipt_hot_trace traces[4];
    ipt_block blocks[32];
    unsigned depth, deepest, kept;
    int calm;
} in;

static void come_back(const ipt_hot_tag *tag)
{
    const ipt_block b = block_at(0x1000, IPT_INSN_JMP);
    const ipt_hot_tag other
        = hot_tag_of(0x1000 + 16 * dice(16), &spaces[dice(2)], IPT_MODE_64);
    in.depth++;
    if (in.depth > in.deepest) in.deepest = in.depth;
    CHECK_EQ(ipt_hot_feed(&in.hot, &b, &spaces[0]), IPT_ERR_STATE);
    CHECK_EQ(ipt_hot_break(&in.hot), IPT_ERR_STATE);
    switch (in.calm ? 9 : dice(8)) {
    case 0: CHECK(ipt_hot_delete(&in.hot, tag) >= 0); break;
    case 1: CHECK_EQ(ipt_hot_invalidate(&in.hot, NULL, 0, 0), IPT_OK); break;
    case 2: CHECK(ipt_hot_delete(&in.hot, &other) >= 0); break;
    case 3: CHECK_EQ(ipt_hot_mark_head(&in.hot, &other), IPT_OK); break;
    case 4:
        CHECK_EQ(ipt_hot_invalidate(&in.hot, &spaces[0], other.ip, 20), IPT_OK);
        break;
    case 5:
        for (unsigned i = 0; i < 16; i++) {
            const ipt_hot_tag t
                = hot_tag_of(0x5000 + 16 * i, &spaces[0], IPT_MODE_64);
            CHECK_EQ(ipt_hot_mark_head(&in.hot, &t), IPT_OK);
        }
        break;
    default: break;
    }
    in.depth--;
}

static int inside_end(const ipt_hot_tag *tag, uint64_t next, void *context)
{
    (void) next, (void) context;
    come_back(tag);
    return (int) dice(9) - 4; /* what is none of them stands for DECIDE */
}

static int inside_trace(const ipt_hot_tag *tag, const ipt_block *blocks,
                        uint32_t count, void *context)
{
    (void) context;
    CHECK(blocks == in.blocks);
    CHECK(count > 0);
    CHECK(blocks[0].ip == tag->ip);
    come_back(tag);
    return in.calm ? (int) IPT_HOT_KEEP : (int) dice(3) - 1;
}

static void inside_other(const ipt_hot_tag *tag, void *context)
{
    (void) context;
    come_back(tag);
}

/* A head knows its trace, and a trace its head; what is counted is there. */
static void check_tables(void)
{
    uint32_t kept = 0;
    uint32_t pool = 0;
    uint32_t heads = 0;
    for (uint32_t i = 0; i < in.hot.kept; i++) {
        const ipt_hot_trace *t = &in.traces[i];
        CHECK(t->count > 0);
        kept++;
        CHECK_EQ(t->first, in.hot.room_ + pool);
        pool += t->count;
        CHECK(in.heads[t->head_].used);
        CHECK(in.heads[t->head_].trace_ == i + 1);
        CHECK(hot_same_tag(&in.heads[t->head_].tag, &t->tag));
        CHECK_EQ(in.blocks[t->first].ip, t->tag.ip);
    }
    for (unsigned i = 0; i < 16; i++)
        heads += in.heads[i].used && in.heads[i].trace_;
    CHECK_EQ(heads, kept);
    CHECK_EQ(in.hot.pool_end_, in.hot.room_ + pool);
    CHECK(in.hot.pool_end_ <= 32);
    CHECK_EQ(in.hot.dying_, 0);
    CHECK(!in.hot.busy_);
    CHECK(!(in.hot.inside_ && in.hot.recorded_));
}

TEST(callbacks_call_back)
{
    graph g;
    memset(&in, 0, sizeof in);
    in.config.end_trace = inside_end;
    in.config.trace = inside_trace;
    in.config.deleted = in.config.aborted = inside_other;
    in.config.heads = in.heads, in.config.head_count = 16;
    in.config.traces = in.traces, in.config.trace_count = 4;
    in.config.blocks = in.blocks, in.config.block_count = 32;
    in.config.threshold = 2;
    for (seed = 1; seed < 300; seed++) {
        const uint64_t first = seed;
        unsigned at = 0;
        CHECK_EQ(ipt_hot_init(&in.hot, &in.config), IPT_OK);
        make_graph(&g);
        for (unsigned i = 0; i < 500; i++) {
            in.calm = dice(8) != 0;
            CHECK_EQ(ipt_hot_feed(&in.hot, &g.blocks[at], &spaces[0]), IPT_OK);
            check_tables();
            at = g.to[at][dice(8) == 0];
        }
        in.kept += in.hot.kept;
        seed = first;
    }
    CHECK(in.kept > 0);
    CHECK(in.deepest > 1);
    CHECK(in.deepest <= 6);
}

/* A recording that ipt_hot_break aborts: what config.aborted deletes is told
 * before ipt_hot_break returns. */
static unsigned gone;

static void delete_first(const ipt_hot_tag *tag, void *context)
{
    const ipt_hot_tag first = hot_tag_of(0x1000, &spaces[0], IPT_MODE_64);
    (void) tag, (void) context;
    CHECK_EQ(ipt_hot_delete(&in.hot, &first), 1);
}

static void count_gone(const ipt_hot_tag *tag, void *context)
{
    (void) context;
    gone += tag->ip == 0x1000;
}

TEST(break_tells)
{
    memset(&in, 0, sizeof in);
    gone = 0;
    in.config.deleted = count_gone, in.config.aborted = delete_first;
    in.config.heads = in.heads, in.config.head_count = 16;
    in.config.traces = in.traces, in.config.trace_count = 4;
    in.config.blocks = in.blocks, in.config.block_count = 32;
    in.config.threshold = 1, in.config.max_blocks = 2;
    CHECK_EQ(ipt_hot_init(&in.hot, &in.config), IPT_OK);
    for (unsigned i = 0; i < 4; i++) { /* 0x1000 is kept, 0x1030 recorded */
        const ipt_block b = block_at(0x1000 + 16 * i, IPT_INSN_JMP);
        const ipt_hot_tag tag = hot_tag_of(b.ip, &spaces[0], IPT_MODE_64);
        if (i % 3 == 0) CHECK_EQ(ipt_hot_mark_head(&in.hot, &tag), IPT_OK);
        CHECK_EQ(ipt_hot_feed(&in.hot, &b, &spaces[0]), IPT_OK);
    }
    CHECK_EQ(in.hot.kept, 1);
    CHECK_EQ(ipt_hot_break(&in.hot), IPT_OK);
    CHECK_EQ(gone, 1);
    CHECK_EQ(in.hot.kept, 0);
    check_tables();
}

/* ---- arguments ---- */

TEST(arguments)
{
    static ipt_hot_head heads[3];
    static ipt_hot_trace traces[1];
    static ipt_block blocks[2];
    const ipt_block b = block_at(0, IPT_INSN_JMP);
    ipt_hot_config config;
    ipt_hot_tag tag = hot_tag_of(0, &spaces[0], 0);
    ipt_hot hot;

    memset(&config, 0, sizeof config);
    CHECK_EQ(ipt_hot_init(NULL, &config), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_init(&hot, NULL), IPT_ERR_ARG);
    for (unsigned i = 0; i < 6; i++) { /* one of them is missing */
        config.heads = i == 0 ? NULL : heads;
        config.traces = i == 1 ? NULL : traces;
        config.blocks = i == 2 ? NULL : blocks;
        config.head_count = i == 3 ? 0 : 3;
        config.trace_count = i == 4 ? 0 : 1;
        config.block_count = i == 5 ? 1 : 2;
        CHECK_EQ(ipt_hot_init(&hot, &config), IPT_ERR_CONFIG);
        CHECK_EQ(ipt_hot_feed(&hot, &b, &spaces[0]), IPT_ERR_STATE);
        CHECK_EQ(ipt_hot_break(&hot), IPT_ERR_STATE);
        CHECK_EQ(ipt_hot_mark_head(&hot, &tag), IPT_ERR_STATE);
        CHECK_EQ(ipt_hot_delete(&hot, &tag), IPT_ERR_STATE);
        CHECK_EQ(ipt_hot_invalidate(&hot, NULL, 0, 0), IPT_ERR_STATE);
    }
    config.block_count = 2;
    CHECK_EQ(ipt_hot_init(&hot, &config), IPT_OK);
    CHECK_EQ(ipt_hot_feed(NULL, &b, &spaces[0]), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_feed(&hot, NULL, &spaces[0]), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_feed(&hot, &b, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_break(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_mark_head(NULL, &tag), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_mark_head(&hot, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_delete(NULL, &tag), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_delete(&hot, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_hot_invalidate(NULL, NULL, 0, 0), IPT_ERR_ARG);
    CHECK_EQ(hot.threshold_, 50);
    CHECK_EQ(hot.max_blocks_, 128);
    for (unsigned i = 0; i < 200; i++) /* without callbacks */
        CHECK_EQ(ipt_hot_feed(&hot, &b, &spaces[0]), IPT_OK);
    CHECK_EQ(hot.stats.told, 1);
    CHECK_EQ(ipt_hot_delete(&hot, &tag), 0);
    tag.mode = IPT_MODE_64;
    CHECK_EQ(ipt_hot_delete(&hot, &tag), 1);
}

int main(void)
{
    RUN(full_tables);
    RUN(loop);
    RUN(loop_of_one_block);
    RUN(limits);
    RUN(deletion);
    RUN(aborts);
    RUN(marked);
    RUN(spaces_and_modes);
    RUN(ranges);
    RUN(like_the_model);
    RUN(small_tables);
    RUN(each_loss);
    RUN(callbacks_call_back);
    RUN(break_tells);
    RUN(arguments);
    return test_report();
}
