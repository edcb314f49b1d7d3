/* cov.c: coverage. Its edges are those of the instructions that [insn] gives,
 * whatever the memo holds, the cut of the trace, the fuel and the bitmap. */
#ifdef COV_THREADS /* tests/share.sh */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#endif
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "decode.h"
#include "random.h"
#include "cover.h"

/* ---- a decoder in every manner ---- */

#define MEMO_LINES 64
#define MAP_MAX 4096

static edge_list want, got;
static ipt_cov_decoder decoders[2];
static unsigned which;
static ipt_cov_memo memo;
static ipt_cov_line memo_lines[MEMO_LINES];
static uint8_t map[MAP_MAX], want_map[MAP_MAX];
static uint64_t only_cr3 = ONLY_CR3;

static ipt_cov_decoder *cov_move(void)
{
    unsigned from = which;
    if (f.way == CLONE) which ^= 1;
    return feed_move(&f, &decoders[from], &decoders[which], sizeof *decoders);
}

static int cov_again(int status)
{
    const ipt_where *at = &decoders[which].at;
    feed_drop(&f, at);
    CHECK(status < 0);
    CHECK_EQ(at->error, status);
    if (status != IPT_END) CHECK(decoders[which].verdict & IPT_COV_UNFINISHED);
    if (status == IPT_NEED_PAGE)
        CHECK(decoders[which].verdict & IPT_COV_NO_PAGE);
    if (status == IPT_NEED_PAGE && memory_supply(&m, at->missing)) return 1;
    return feed_again(&f, status, b.size);
}

/* Set the feed up as `how` says. */
static void cov_feed(const manner *how, const chunk *code, uint32_t flags)
{
    feed_begin(&f, b.bytes, b.size, how->way);
    memory_place(&m, code, how->pages, flags);
    memory_config(&m, &f.config);
    f.config.flags = flags;
    f.config.cr3 = only_cr3;
    f.config.errata = decode_errata;
    CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
}

static void cov_decode(const manner *how, const chunk *code, uint32_t flags,
                       const ipt_cov_config *cov, edge_list *l)
{
    int status;
    cov_feed(how, code, flags);
    memset(decoders, 0xa5, sizeof decoders);
    CHECK_EQ(ipt_cov_init(&decoders[which], &f.config, cov, &f.trace,
                          how->cache ? &cache : NULL), IPT_OK);
    CHECK_EQ(decoders[which].verdict, IPT_COV_UNFINISHED);
    l->errors = 0;
    for (;;) {
        do status = ipt_cov_run(cov_move());
        while (cov_again(status));
        if (status == IPT_END) break;
        l->errors++;
        do status = ipt_cov_resync(cov_move());
        while (status < 0 && cov_again(status));
        if (status < 0) break;
    }
    l->verdict = decoders[which].verdict;
    l->hash = decoders[which].hash;
    feed_end(&f);
}

/* The oracle. */
static void insn_decode(const chunk *code, uint32_t flags, edge_list *l)
{
    manner plain = manner_of(WHOLE, NO_CACHE, 0, 0);
    cov_feed(&plain, code, flags);
    edge_clear(l);
    edges_by_insn(l, &f.config, &f.trace, NULL);
    feed_end(&f);
}

/* All ways to cover the trace in b, against the instructions. */
static int check_coverage(const char *name, const chunk *code, uint32_t flags)
{
    static const uint32_t sizes[] = {MAP_MAX, 1, 100, 64};
    int bad_ = test_.bad;
    uint32_t cov_flags = IPT_COV_INDIRECT;
    edge_list again = {0};
    unsigned turn = 0;

    insn_decode(code, flags, &want);
    if (want.count > 100000) return 0; /* a long way without trace */
    FOR_ALL_MANNERS(how)
    if (!how.silent) {
        ipt_cov_config cov = {0};
        cov.flags = cov_flags | IPT_COV_HASH;
        cov.edge = list_edge;
        cov.context = &got;
        got.count = 0;
        cov_decode(&how, code, flags, &cov, &got);
        if (!edges_same(&want, &got)) failed(name, how.text, "edges", 0, 0);
        if (!how.pages && got.errors != want.errors)
            failed(name, how.text, "errors", (uint64_t) got.errors,
                   (uint64_t) want.errors);
        if (test_.bad != bad_) break;
        /* counters, with memos of any size, filled or not */
        cov.edge = NULL;
        cov.bitmap = map;
        cov.bitmap_size = sizes[turn % LENGTH(sizes)];
        cov.flags = IPT_COV_HASH | (turn & 1 ? IPT_COV_INDIRECT : 0)
                    | (turn & 2 ? IPT_COV_SATURATE : 0);
        edges_map(&got, cov.flags, want_map, cov.bitmap_size);
        CHECK_EQ(ipt_cov_memo_init(&memo, memo_lines, 4u << turn % 5), IPT_OK);
        cov.memo = turn % 6 ? &memo : NULL;
        for (int k = 0; k < 3 && test_.bad == bad_; k++) {
            memset(map, 0, sizeof map);
            cov_decode(&how, code, flags, &cov, &again);
            if (memcmp(map, want_map, cov.bitmap_size))
                failed(name, how.text, "bitmap of decode", (uint64_t) k, turn);
            if (cov.flags & IPT_COV_INDIRECT && again.hash != got.hash)
                failed(name, how.text, "hash of decode", (uint64_t) k, turn);
            if (again.verdict != got.verdict || again.errors != got.errors)
                failed(name, how.text, "verdict", again.verdict, got.verdict);
        }
        turn++;
    }
    return test_.bad == bad_;
}

/* ---- tables of flow.h ---- */

static void run_table(const table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        build_all(&b, t->rows[i].trace, PACKETS_MAX);
        check_coverage(t->rows[i].name, t->rows[i].code, t->rows[i].flags);
    }
}

TEST(flow)
{
    for (size_t i = 0; i < LENGTH(tables); i++) run_table(&tables[i]);
}

/* ---- at random ---- */

static int check_random(uint64_t start)
{
    static char bytes[300];
    static chunk code[CODES_MAX];
    char name[32];
    uint32_t flags;
    seed = start * 0x9e3779b97f4a7c15u;
    snprintf(name, sizeof name, "random %llu", (unsigned long long) start);
    random_trace(code, bytes);
    flags = dice(4) ? 0 : IPT_CONFIG_NO_RETCOMP;
    flags |= dice(4) ? 0 : IPT_CONFIG_WALK_ON;
    flags |= dice(4) ? 0 : IPT_CONFIG_TICKS;
    flags |= dice(4) ? 0 : IPT_CONFIG_CR3_ONLY;
    flags |= dice(4) ? 0 : dice(2) ? IPT_CONFIG_ROOT_ONLY
                                   : IPT_CONFIG_NON_ROOT_ONLY;
    only_cr3 = dice(2) ? 0x8000 : ONLY_CR3; /* that of random_packet's PIP */
    decode_errata = dice(3) ? 0
                            : dice(IPT_ERRATUM_ALL_ + 1)
                                  & ~(unsigned) IPT_ERRATUM_BDM64;
    return check_coverage(name, code, flags);
}

TEST(random)
{
    many(600, check_random);
}

/* ---- runs of one program on different inputs ---- */

#define BLOCKS 60
#define BLOCK 16 /* bytes */
#define BASE 0x400000u
#define INPUT 4096

static uint8_t program[BLOCKS * BLOCK];
static uint8_t kinds[BLOCKS];
static unsigned targets[BLOCKS];

static void aim_at(uint8_t *p, uint64_t next, unsigned block)
{
    const uint32_t to = (uint32_t) (BASE + BLOCK * block - next);
    for (int i = 0; i < 4; i++) p[i] = (uint8_t) (to >> 8 * i);
}

/* Each block ends in a branch, or a call and a JMP to the next one. */
static void write_program(void)
{
    static const uint8_t some[] = {IPT_INSN_JCC, IPT_INSN_JCC, IPT_INSN_JCC,
                                   IPT_INSN_JCC, IPT_INSN_JMP_INDIRECT,
                                   IPT_INSN_CALL, IPT_INSN_RET};
    memset(program, 0x90, sizeof program);
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint8_t *p = &program[BLOCK * i];
        const uint64_t ip = BASE + BLOCK * i;
        kinds[i] = some[dice(LENGTH(some))];
        targets[i] = dice(BLOCKS);
        if (kinds[i] == IPT_INSN_JCC) {
            p[0] = 0x0f;
            p[1] = 0x84;
            aim_at(p + 2, ip + 6, targets[i]);
            p += 6;
        } else if (kinds[i] == IPT_INSN_CALL) {
            p[0] = 0xe8;
            aim_at(p + 1, ip + 5, targets[i]);
            p += 5;
        } else if (kinds[i] == IPT_INSN_RET) {
            p[0] = 0xc3;
        } else {
            p[0] = 0xff;
            p[1] = 0xe0;
        }
        if (p == &program[BLOCK * i]) continue;
        p[0] = 0xe9;
        aim_at(p + 1, BASE + (uint64_t) (p - program) + 5, (i + 1) % BLOCKS);
    }
}

static int program_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                        uint64_t ip, void *context)
{
    size_t n = ip < BASE || ip - BASE >= sizeof program
                   ? 0 : sizeof program - (size_t) (ip - BASE);
    (void) asid;
    (void) context;
    if (n > size) n = size;
    if (n) memcpy(buffer, &program[ip - BASE], n);
    return n ? (int) n : IPT_NEED_PAGE;
}

static void happen(ipt_gen *gen, uint8_t type, uint64_t ip)
{
    ipt_event event;
    memset(&event, 0, sizeof event);
    event.type = type;
    event.ip = ip;
    event.flags = type == IPT_EVT_DISABLED ? IPT_EVENT_NO_IP : 0;
    event.u.branch.to = ip;
    CHECK_EQ(ipt_gen_event(gen, &event), IPT_OK);
}

/* What a run on an input leaves: decisions repeat more or less. */
static size_t write_run(uint8_t *out, uint32_t flags)
{
    static ipt_gen gen;
    ipt_gen_config config = {0};
    uint64_t stack[40];
    uint64_t ways = 0x9e3779b97f4a7c15u * (1 + dice(5));
    const unsigned noise = dice(4) ? 2 : 30;
    const unsigned most = 100 + dice(900);
    unsigned depth = 0;
    unsigned at = dice(3);
    config.flags = flags;
    config.psb_period = dice(3) ? 0 : 300;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_OK);
    gen.out = out;
    gen.size = INPUT;
    happen(&gen, IPT_EVT_ENABLED, BASE + BLOCK * at);
    for (unsigned i = 0; i < most && gen.size - gen.used > 600; i++) {
        const uint64_t ip = BASE + BLOCK * at;
        const int taken = ways >> i % 17 & 1;
        uint64_t to = BASE + BLOCK * targets[at];
        uint8_t size = 2;
        if (dice(100) < noise) ways = ways * 5 + i;
        if (kinds[at] == IPT_INSN_JCC) {
            size = 6;
            if (!taken) to = ip + 6;
        } else if (kinds[at] == IPT_INSN_CALL) {
            size = 5;
            if (depth == LENGTH(stack)) depth = 0; /* never to return */
            stack[depth++] = ip + 5;
        } else if (kinds[at] == IPT_INSN_RET) {
            size = 1;
            to = depth ? stack[--depth] : BASE + BLOCK * (uint64_t) dice(BLOCKS);
        } else if (taken) {
            to = BASE + BLOCK * (uint64_t) dice(BLOCKS);
        }
        CHECK_EQ(ipt_gen_branch(&gen, kinds[at], ip, size, to), IPT_OK);
        at = (unsigned) (to - BASE) / BLOCK;
        if (to % BLOCK) at = (at + 1) % BLOCKS; /* the JMP there */
        if (dice(400) == 0) {
            happen(&gen, IPT_EVT_OVERFLOW, BASE + BLOCK * at);
            depth = 0;
        }
    }
    CHECK_EQ(ipt_gen_flush(&gen), IPT_OK);
    happen(&gen, IPT_EVT_ASYNC_DISABLED, BASE + BLOCK * at);
    return gen.used;
}

/* One way to cover many runs. */
typedef struct loop {
    ipt_config config;
    ipt_cov_config cov;
    ipt_cov_decoder decoder;
    ipt_cache cache;
    ipt_cov_memo memo;
    ipt_cov_line lines[4096];
    ipt_cache_line code[256];
    uint8_t map[MAP_MAX];
    uint64_t edges;
} loop;

static void count_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    (void) from;
    (void) to;
    (void) kind;
    ++*(uint64_t *) context;
}

static void loop_init(loop *l, uint32_t config_flags, uint32_t flags,
                      size_t count)
{
    memset(l, 0, sizeof *l);
    l->config.read = program_read;
    l->config.flags = config_flags;
    l->cov.flags = flags;
    l->cov.bitmap = l->map;
    l->cov.bitmap_size = MAP_MAX;
    l->cov.memo = count ? &l->memo : NULL;
    (void) ipt_cache_init(&l->cache, l->code, LENGTH(l->code));
    if (count) (void) ipt_cov_memo_init(&l->memo, l->lines, count);
}

/* Cover a run; `first`: as a fresh decoder. Returns 1 if it was complete. */
static int loop_run(loop *l, const uint8_t *bytes, size_t size, int first)
{
    const ipt_segment piece = {bytes, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    int status = first ? ipt_cov_init(&l->decoder, &l->config, &l->cov, &trace,
                                      &l->cache)
                       : ipt_cov_begin(&l->decoder, &trace);
    memset(l->map, 0, sizeof l->map);
    while (status >= 0 && (status = ipt_cov_run(&l->decoder)) != IPT_END)
        status = ipt_cov_resync(&l->decoder);
    return status == IPT_END && !(l->decoder.verdict & ~IPT_COV_OVERFLOW);
}

static int loop_same(const loop *x, const loop *y)
{
    return memcmp(x->map, y->map, sizeof x->map) == 0
           && x->decoder.hash == y->decoder.hash
           && x->decoder.verdict == y->decoder.verdict;
}

static loop fresh, kept, tiny, both;

/* Run N's bitmap is that of a fresh decoder, for a thousand inputs. */
TEST(thousand_inputs)
{
    static uint8_t bytes[INPUT];
    static const uint32_t flags[]
        = {0, IPT_COV_INDIRECT, IPT_COV_HASH | IPT_COV_INDIRECT,
           IPT_COV_SATURATE};
    for (unsigned turn = 0; turn < 8; turn++) {
        const uint32_t config = turn & 1 ? IPT_CONFIG_NO_RETCOMP : 0;
        seed = turn / 2 + 1;
        write_program();
        loop_init(&kept, config, flags[turn / 2], 4096);
        loop_init(&tiny, config, flags[turn / 2], 8);
        loop_init(&both, config, flags[turn / 2], 0);
        both.cov.edge = count_edge; /* walks, with all outputs at once */
        both.cov.context = &both.edges;
        for (unsigned n = 0; n < 125; n++) {
            const size_t size = write_run(bytes, config);
            loop_init(&fresh, config, flags[turn / 2], 0);
            CHECK(loop_run(&fresh, bytes, size, 1));
            CHECK(loop_run(&kept, bytes, size, n == 0));
            CHECK(loop_run(&tiny, bytes, size, n == 0));
            CHECK(loop_run(&both, bytes, size, n == 0));
            if (!CHECK(loop_same(&kept, &fresh) && loop_same(&tiny, &fresh)
                       && loop_same(&both, &fresh)))
                return;
        }
        CHECK(both.edges > 1000);
    }
}

/* ---- a warmed memo that several share ---- */

#define SHARERS 4
#define RUNS 40

static loop sharers[SHARERS];
static uint8_t runs[RUNS][INPUT];
static size_t run_sizes[RUNS];
static uint8_t run_maps[RUNS][MAP_MAX];

static void *share(void *context)
{
    loop *l = context;
    for (unsigned n = 0; n < RUNS; n++) {
        if (!loop_run(l, runs[n], run_sizes[n], n == 0)
            || memcmp(l->map, run_maps[n], MAP_MAX) != 0)
            return NULL;
    }
    return l;
}

TEST(shared)
{
    void *ok[SHARERS];
    seed = 7;
    write_program();
    loop_init(&kept, 0, 0, 4096);
    for (unsigned n = 0; n < RUNS; n++) {
        run_sizes[n] = write_run(runs[n], 0);
        CHECK(loop_run(&kept, runs[n], run_sizes[n], n == 0));
        memcpy(run_maps[n], kept.map, MAP_MAX);
        if (n == RUNS / 2) { /* it knows half of them */
            fresh.memo = kept.memo;
            memcpy(fresh.lines, kept.lines, sizeof fresh.lines);
            fresh.memo.lines_ = fresh.lines;
        }
    }
    for (unsigned i = 0; i < SHARERS; i++) {
        loop_init(&sharers[i], 0, 0, 16);
        sharers[i].cov.shared = &fresh.memo;
    }
#ifdef COV_THREADS
    pthread_t threads[SHARERS];
    for (unsigned i = 0; i < SHARERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, share, &sharers[i]), 0);
    for (unsigned i = 0; i < SHARERS; i++)
        CHECK_EQ(pthread_join(threads[i], &ok[i]), 0);
#else
    for (unsigned i = 0; i < SHARERS; i++) ok[i] = share(&sharers[i]);
#endif
    for (unsigned i = 0; i < SHARERS; i++) CHECK(ok[i] != NULL);
    sharers[0].config.flags = IPT_CONFIG_NO_RETCOMP; /* filled without */
    CHECK(!loop_run(&sharers[0], runs[0], run_sizes[0], 1));
}

/* ---- code that changes ---- */

/* What was learned of a range is forgotten with it, and nothing else is. */
TEST(invalidate)
{
    static uint8_t bytes[INPUT];
    for (unsigned n = 0; n < 40; n++) {
        const unsigned changes = n % BLOCKS;
        seed = 100 + n / 8;
        write_program();
        seed += n;
        if (n % 8 == 0) loop_init(&kept, 0, 0, 4096);
        if (n % 8) { /* another target, or no branch at all */
            if (kinds[changes] == IPT_INSN_JCC) {
                targets[changes] = dice(BLOCKS);
                aim_at(&program[BLOCK * changes + 2],
                       BASE + BLOCK * changes + 6, targets[changes]);
            }
            CHECK_EQ(ipt_cov_invalidate(&kept.decoder, NULL, BASE,
                                        sizeof program), IPT_OK);
        }
        const size_t size = write_run(bytes, 0);
        loop_init(&fresh, 0, 0, 0);
        CHECK(loop_run(&fresh, bytes, size, 1));
        for (int k = 0; k < 3; k++) {
            (void) loop_run(&kept, bytes, size, n % 8 == 0 && k == 0);
            if (!CHECK(loop_same(&kept, &fresh))) return;
        }
    }
}

int main(void)
{
    RUN(flow);
    RUN(random);
    RUN(thousand_inputs);
    RUN(shared);
    RUN(invalidate);
    return test_report();
}
