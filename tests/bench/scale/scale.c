/* scale.c: how fast we are on programs that do not fit a processor's caches, in
 * many address spaces, with packets of time, fuel, invalidations and small
 * pieces; next to libipt, libxdc, ourselves without these, and another tree.
 *
 *     scale [-t] [-s] [-r ROUNDS] [-g GROUP]
 *     scale -i SIZE any|one [base]   one ipt_cache_invalidate of a page, in a
 *                                    cache of SIZE bytes, for callgrind
 *     scale -1 PROGRAM ROW [base]    one pass of some rows, for callgrind, too.
 *                                    Prints bytes and items
 *
 * Rows of a group decode the same program. They run in turn, ROUNDS times (5),
 * every other time the last one first. Speeds are of the median, in processor
 * time; ratios are the median of those of each round. The ratio on a peer's row
 * is how many times as fast ours is; elsewhere it is how fast the row is next
 * to the one that it is compared with. Below its floor a row fails; so it does
 * where instructions or counters are not what the program executed. Without its
 * peer a row is not measured, which counts as skipped. -t: tab-separated.
 * -s: tiny programs, to see that every row runs. -g: groups whose title has a
 * text.
 *
 *   runs     blocks of code executed, each counted once for each address space
 *   cache    bytes given; the largest power of two of lines of them is used
 *   memo     the same; for a peer, what it grew by while it learned
 *   reads    calls of config.read in a pass: what the code cache missed
 *   walked   instructions that coverage walked because the memo did not have
 *            them, by the fuel that a pass takes. There is no counter of misses
 */
#define _DEFAULT_SOURCE /* glibc's malloc.h */
#define _POSIX_C_SOURCE 200809L
#include "scale.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

volatile uint64_t bench_sink;
size_t bench_run;
double bench_seconds;
const char *bench_remark;
const uint8_t *bench_map;

#define ROUNDS_MAX 99
#define GROUP_MAX 16
#define SAMPLE 2e-3 /* seconds a sample takes at least */
#define KIB ((size_t) 1 << 10)
#define MIB ((size_t) 1 << 20)
#define AS_PEER SIZE_MAX /* as much as the peer of the group grew by */

typedef enum who { NOW, CALLBACK, SECTIONS, LIBXDC_, OTHER } who;

/* What a row does. */
typedef struct plan {
    const char *group; /* title, in the first row; NULL: as the row before */
    const char *name;
    who by;
    scale_layer layer;
    scale_want want;
    scale_how how;
    uint8_t against; /* so many rows above is what it is compared with; 0: none.
                      * A peer is compared with ours, all else the other way */
    double floor;
    double goal;
    double base_floor; /* next to the other tree; 0: no matter */
} plan;

typedef struct row {
    plan p;
    const scale_trace *t;
    const scale_side *side; /* NULL: a peer */
    void *state;
    const bench_row *peer;
    double seconds[ROUNDS_MAX];
    double median; /* 0: not measured */
    unsigned passes;
    uint64_t items;
    uint64_t reads;
    uint64_t walked;
    size_t grown;
    const char *wrong;
} row;

static row rows[GROUP_MAX];
static unsigned row_count;
static unsigned rounds = 5;
static int tsv;
static int tiny;
static unsigned passed;
static unsigned failed;
static unsigned skipped;

/* ---- the rows ---- */

#define MANY 2000000u
#define MANY_RUNS 100000u /* what 10,000 functions have to touch */
#define TIME (IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC)
#define NO_RET IPT_CONFIG_NO_RETCOMP
#define DEFER (IPT_CONFIG_NO_RETCOMP | IPT_GEN_DEFER)

/* {functions, zipf, spaces, flags, blocks, runs} */
#define PROGRAM(functions, zipf, flags) \
    {functions, zipf, 0, flags, (functions) > 5000 ? 2 * MANY : MANY, 1, 0}
#define SHORT {1000, 0, 0, 0, MANY / 8, 1, 0}
#define SPACES(count) {100, 1, count, 0, 2 * MANY, 1, 0}
#define KERNEL(count) {200, 1, count, 0, 2 * MANY, 1, 1}
#define NOISE {0, 0, 0, NO_RET, 2 * MANY, 2, 0}
#define TWICE {10000, 0, 0, NO_RET, 2 * MANY, 2, 0}
#define CACHE(bytes) {bytes, 0, 0, 0, 0, 0}
#define BOTH(cache, memo) {cache, memo, 0, 0, 0, 0}
#define UNTIMED {16 * MIB, 0, 0, 0, 0, SCALE_NO_TIME}

/* Blocks and libipt with its sections. */
#define BLOCKS_GROUP(title, program, cache, floor, goal, base)               \
    {title, "blocks", NOW, SCALE_BLOCKS, program, CACHE(cache), 0, 0, 0,     \
     base},                                                                  \
    {NULL, "libipt sections", SECTIONS, SCALE_BLOCKS, program, CACHE(0), 1,  \
     floor, goal, 0}

/* Coverage with as much memo as libxdc takes, libxdc, and with 1 MiB, of which
 * the goal is libxdc's speed. */
#define COVERAGE_GROUP(title, program, cache, base, base_1m)                 \
    {title, "coverage", NOW, SCALE_COVERAGE, program, BOTH(cache, AS_PEER),  \
     0, 0, 0, base},                                                         \
    {NULL, "libxdc", LIBXDC_, SCALE_COVERAGE, program, CACHE(0), 1, 1, 2,    \
     0},                                                                     \
    {NULL, "coverage, 1 MiB", NOW, SCALE_COVERAGE, program,                  \
     BOTH(cache, MIB), 1, 0, 1, base_1m}

/* With 10^6 fuel is seldom refilled; with 1 a call does as little as it can. The
 * floors of 100 and 1 are what these cost today and a quarter more. */
#define FUEL_GROUP(name, layer, floor_100, floor_1)                          \
    {"fuel, " name, name, NOW, layer, SHORT, BOTH(16 * MIB, 16 * MIB), 0, 0, \
     0, 0},                                                                  \
    {NULL, name ", fuel 10^6", NOW, layer, SHORT,                            \
     {16 * MIB, 16 * MIB, 1000000, 0, 0, 0}, 1, 1 / 1.25, 1 / 1.1, 0},       \
    {NULL, name ", fuel 100", NOW, layer, SHORT,                             \
     {16 * MIB, 16 * MIB, 100, 0, 0, 0}, 2, floor_100, 1 / 1.25, 0},         \
    {NULL, name ", fuel 1", NOW, layer, SHORT,                               \
     {16 * MIB, 16 * MIB, 1, 0, 0, 0}, 3, floor_1, 1 / 2., 0}

/* Of the README: what a cache that is too small costs where code is cheap. */
#define SIZES_GROUP(title, program)                                          \
    {title, "16 MiB", NOW, SCALE_BLOCKS, program, CACHE(16 * MIB), 0, 0, 0,  \
     0},                                                                     \
    {NULL, "4 MiB", NOW, SCALE_BLOCKS, program, CACHE(4 * MIB), 1, .35, 1,   \
     0},                                                                     \
    {NULL, "1 MiB", NOW, SCALE_BLOCKS, program, CACHE(MIB), 2, .2, 1, 0},    \
    {NULL, "256 KiB", NOW, SCALE_BLOCKS, program, CACHE(256 * KIB), 3, .15,  \
     1, 0}

#define SPACES_GROUP(title, name, layer, count, floor)                       \
    {title, name ", one code space", NOW, layer, SPACES(count),              \
     {64 * MIB, 64 * MIB, 0, 0, 0, SCALE_ONE_SPACE}, 0, 0, 0, 0},            \
    {NULL, name, NOW, layer, SPACES(count),                                  \
     {64 * MIB, 64 * MIB, 0, 0, 0, 0}, 1, floor, 1 / 1.2, 0}

/* Half of the code is a kernel: what it gains that all spaces share it. Where
 * the cache has room for all its copies, and in memos, which learn it for each
 * space, it must not cost. */
#define KERNEL_ROWS(title, name, layer, count, size, floor, goal)            \
    {title, name, NOW, layer, KERNEL(count), BOTH(size, size), 0, 0, 0, 0},  \
    {NULL, name ", space_at", NOW, layer, KERNEL(count),                     \
     {size, size, 0, 0, 0, SCALE_SPACE_AT}, 1, floor, goal, 0}
#define KERNEL_GROUP(title, count)                                           \
    KERNEL_ROWS(title, "blocks", SCALE_BLOCKS, count, 64 * MIB, .9, 1.5),    \
    KERNEL_ROWS(NULL, "blocks, 4 MiB", SCALE_BLOCKS, count, 4 * MIB, 1.25,   \
                2),                                                          \
    KERNEL_ROWS(NULL, "coverage", SCALE_COVERAGE, count, 64 * MIB, .9, 1.5)

/* With GAIN the base is the commit from before this was worked on. */
#ifdef GAIN
#define GAIN_OF(gain) gain
#else
#define GAIN_OF(gain) .95
#endif

static const plan plans[] = {
    BLOCKS_GROUP("blocks, 1,000 functions", PROGRAM(1000, 0, 0), 16 * MIB, 1.5,
                 3, .95),
    {NULL, "libipt callback", CALLBACK, SCALE_BLOCKS, PROGRAM(1000, 0, 0),
     CACHE(0), 2, 9, 20, 0},
    BLOCKS_GROUP("blocks, 1,000 functions by zipf", PROGRAM(1000, 1, 0),
                 16 * MIB, 1.5, 3, .95),
    {NULL, "libipt callback", CALLBACK, SCALE_BLOCKS, PROGRAM(1000, 1, 0),
     CACHE(0), 2, 9, 20, 0},
    BLOCKS_GROUP("blocks, 10,000 functions", PROGRAM(10000, 0, 0), 16 * MIB,
                 1.2, 2, .95),
    BLOCKS_GROUP("blocks, 10,000 functions by zipf", PROGRAM(10000, 1, 0),
                 16 * MIB, 1.2, 2, .95),
    BLOCKS_GROUP("blocks, 100,000 functions", PROGRAM(100000, 0, 0), AS_PEER,
                 1.2, 2, 0),
    BLOCKS_GROUP("blocks, 100,000 functions by zipf", PROGRAM(100000, 1, 0),
                 AS_PEER, 1.2, 2, 0),
    BLOCKS_GROUP("blocks, TSC, MTC and CYC", PROGRAM(1000, 0, TIME), 16 * MIB,
                 1.5, 2, .95),
    {NULL, "blocks, no time", NOW, SCALE_BLOCKS, PROGRAM(1000, 0, TIME),
     UNTIMED, 2, 1, 1.08, 0},
    {"events, TSC, MTC and CYC", "events", NOW, SCALE_EVENTS,
     PROGRAM(1000, 0, TIME), CACHE(16 * MIB), 0, 0, 0, .95},
    {NULL, "events, no time", NOW, SCALE_EVENTS, PROGRAM(1000, 0, TIME),
     UNTIMED, 1, 1.05, 1.15, 0},
    {"insns, 1,000 functions", "insns", NOW, SCALE_INSNS, PROGRAM(1000, 0, 0),
     CACHE(16 * MIB), 0, 0, 0, .95},
    {NULL, "libipt sections", SECTIONS, SCALE_INSNS, PROGRAM(1000, 0, 0),
     CACHE(0), 1, 5, 8, 0},
    {NULL, "libipt callback", CALLBACK, SCALE_INSNS, PROGRAM(1000, 0, 0),
     CACHE(0), 2, 9, 12, 0},

    COVERAGE_GROUP("coverage, 1,000 functions", PROGRAM(1000, 0, NO_RET),
                   16 * MIB, .95, .95),
    COVERAGE_GROUP("coverage, 10,000 functions", PROGRAM(10000, 0, NO_RET),
                   16 * MIB, .95, GAIN_OF(4)),
    COVERAGE_GROUP("coverage, 10,000 functions by zipf",
                   PROGRAM(10000, 1, NO_RET), 16 * MIB, .95, GAIN_OF(2)),
    COVERAGE_GROUP("coverage, 100,000 functions", PROGRAM(100000, 0, NO_RET),
                   64 * MIB, 0, GAIN_OF(2)),
    COVERAGE_GROUP("coverage, 100,000 functions by zipf",
                   PROGRAM(100000, 1, NO_RET), 64 * MIB, 0, GAIN_OF(3)),
    {"coverage, fresh noise", "coverage", NOW, SCALE_COVERAGE, NOISE,
     BOTH(MIB, MIB), 0, 0, 0, .9},
    {NULL, "libxdc", LIBXDC_, SCALE_COVERAGE, NOISE, CACHE(0), 1, 8, 10, 0},
    {"coverage, another run of 10,000 functions", "coverage", NOW,
     SCALE_COVERAGE, TWICE, BOTH(16 * MIB, AS_PEER),
     0, 0, 0, 0},
    {NULL, "libxdc", LIBXDC_, SCALE_COVERAGE, TWICE,
     CACHE(0), 1, 0, 0, 0},

    {"coverage by what is traced", "coverage", NOW, SCALE_COVERAGE,
     PROGRAM(1000, 0, 0), BOTH(16 * MIB, 16 * MIB), 0, 0, 0, .95},
    {NULL, "TSC, MTC and CYC", NOW, SCALE_COVERAGE, PROGRAM(1000, 0, TIME),
     BOTH(16 * MIB, 16 * MIB), 1, 1 / 2., 1 / 1.3, .95},
    {NULL, "no return compression", NOW, SCALE_COVERAGE,
     PROGRAM(1000, 0, NO_RET), BOTH(16 * MIB, 16 * MIB), 2, 0, 0, .95},
    {NULL, "deferred TIPs", NOW, SCALE_COVERAGE, PROGRAM(1000, 0, DEFER),
     BOTH(16 * MIB, 16 * MIB), 3, 1 / 3., 1 / 1.5, .95},

    FUEL_GROUP("packets", SCALE_PACKETS, .8, .5),
    FUEL_GROUP("events", SCALE_EVENTS, .8, .5),
    FUEL_GROUP("queries", SCALE_QUERIES, .8, .7),
    FUEL_GROUP("blocks", SCALE_BLOCKS, .55, .20),
    FUEL_GROUP("insns", SCALE_INSNS, .65, .42),
    FUEL_GROUP("coverage", SCALE_COVERAGE, .65, .16),

    SIZES_GROUP("size of the cache, 1,000 functions", PROGRAM(1000, 0, 0)),
    SIZES_GROUP("size of the cache, 10,000 functions", PROGRAM(10000, 0, 0)),
    SIZES_GROUP("size of the cache, 10,000 functions by zipf",
                PROGRAM(10000, 1, 0)),

    SPACES_GROUP("blocks in 64 address spaces", "blocks", SCALE_BLOCKS, 64,
                 1 / 1.5),
    SPACES_GROUP("coverage in 64 address spaces", "coverage", SCALE_COVERAGE,
                 64, 1 / 1.5),
    SPACES_GROUP("blocks in 512 address spaces", "blocks", SCALE_BLOCKS, 512,
                 1 / 2.),
    SPACES_GROUP("coverage in 512 address spaces", "coverage", SCALE_COVERAGE,
                 512, 1 / 2.),

    KERNEL_GROUP("a kernel shared by 64 address spaces", 64),
    KERNEL_GROUP("a kernel shared by 512 address spaces", 512),

    {"a page invalidated that holds no code", "blocks, 4 MiB", NOW,
     SCALE_BLOCKS, SHORT, CACHE(4 * MIB), 0, 0, 0, 0},
    {NULL, "every 1,000 blocks", NOW, SCALE_BLOCKS, SHORT,
     {4 * MIB, 0, 0, 0, 1000, 0}, 1, 1 / 1.5, 1 / 1.2, 0},
    {NULL, "blocks, 64 MiB", NOW, SCALE_BLOCKS, SHORT, CACHE(64 * MIB), 0, 0,
     0, 0},
    {NULL, "every 1,000 blocks", NOW, SCALE_BLOCKS, SHORT,
     {64 * MIB, 0, 0, 0, 1000, 0}, 1, 1 / 1.5, 1 / 1.2, 0},
    {NULL, "coverage, 16 MiB", NOW, SCALE_COVERAGE, PROGRAM(1000, 0, 0),
     {16 * MIB, 16 * MIB, 0, AS_PEER, 0, 0}, 0, 0, 0, 0},
    {NULL, "every 100,000 blocks", NOW, SCALE_COVERAGE, PROGRAM(1000, 0, 0),
     {16 * MIB, 16 * MIB, 0, AS_PEER, 1, 0}, 1, 1 / 1.5, 1 / 1.2, 0},

    {"pieces of 64 bytes", "blocks", NOW, SCALE_BLOCKS, PROGRAM(1000, 0, 0),
     CACHE(16 * MIB), 0, 0, 0, 0},
    {NULL, "blocks, in pieces", NOW, SCALE_BLOCKS, PROGRAM(1000, 0, 0),
     {16 * MIB, 0, 0, 64, 0, 0}, 1, 0, 0, 0},
    {NULL, "coverage", NOW, SCALE_COVERAGE, PROGRAM(1000, 0, 0),
     BOTH(16 * MIB, 16 * MIB), 0, 0, 0, 0},
    {NULL, "coverage, in pieces", NOW, SCALE_COVERAGE, PROGRAM(1000, 0, 0),
     {16 * MIB, 16 * MIB, 0, 64, 0, 0}, 1, 0, 0, 0},
};

/* ---- peers ---- */

/* Bytes that the process has, by the heap or by its pages. */
static size_t memory(int heap)
{
    unsigned long size = 0;
    unsigned long resident = 0;
    FILE *f;

    if (heap) {
#ifdef __GLIBC__
        const struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
#else
        return 0;
#endif
    }
    f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (size_t) sysconf(_SC_PAGESIZE);
}

static const bench_row *find(const bench_row *list, const char *layer,
                             const char *name)
{
    while (list->name
           && (strcmp(list->layer, layer) != 0
               || strcmp(list->name, name) != 0))
        list++;
    return list->name ? list : NULL;
}

static const bench_row *peer_of(const plan *p, int cold)
{
    const char *layer = p->layer == SCALE_INSNS    ? "insns"
                        : p->layer == SCALE_BLOCKS ? "blocks"
                        : p->want.runs > 1         ? "coverage, new"
                                                   : "coverage";

    if (p->by == LIBXDC_)
        return find(bench_libxdc, cold ? "coverage cold" : layer, "libxdc");
    if (p->by == CALLBACK)
        return find(bench_libipt, layer, "libipt callback");
    return find(bench_libipt, cold ? "blocks cold" : layer, "libipt sections");
}

/* What a peer grows by when it sees a trace for the first time. */
static size_t growth(const plan *p, const bench_case *c)
{
    const bench_row *cold = p->by == CALLBACK ? NULL : peer_of(p, 1);
    size_t heap;
    size_t pages;

    bench_run = 0;
    if (!cold || !cold->pass || !cold->prepare(c))
        return 0;
    heap = memory(1);
    pages = memory(0);
    (void) cold->pass(c);
    heap = memory(1) - heap;
    pages = memory(0) - pages;
    return heap > pages ? heap : pages;
}

/* ---- measuring ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Does a pass give what was executed? */
static void check(row *r)
{
    const int counts = r->p.layer == SCALE_BLOCKS || r->p.layer == SCALE_INSNS;

    if (counts && r->items != r->t->insns)
        r->wrong = "INSTRUCTIONS DIFFER";
    if (bench_map && memcmp(bench_map, r->t->truth, BENCH_MAP) != 0)
        r->wrong = "COUNTERS DIFFER";
    if (bench_remark)
        r->wrong = bench_remark;
}

/* Seconds of a pass; 0: it cannot be made. */
static double sample(row *r)
{
    double sum = 0;
    unsigned i;

    for (i = 0; i < r->passes; i++) {
        double start;
        bench_run = r->t->c.runs - 1;
        if (r->peer && r->peer->prepare && !r->peer->prepare(&r->t->c))
            return 0;
        if (r->side && r->t->c.runs > 1)
            r->side->learn(r->state); /* or it knows the last run, too */
        bench_map = NULL;
        bench_remark = NULL;
        start = now();
        r->items = r->peer ? r->peer->pass(&r->t->c) : r->side->pass(r->state);
        sum += now() - start;
        check(r);
    }
    return sum / r->passes;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *) a;
    const double y = *(const double *) b;

    return x < y ? -1 : x > y;
}

static double median_of(const double *values)
{
    double sorted[ROUNDS_MAX];

    memcpy(sorted, values, rounds * sizeof(double));
    qsort(sorted, rounds, sizeof(double), ascending);
    return sorted[rounds / 2];
}

static void measure(void)
{
    unsigned round;
    unsigned i;

    for (i = 0; i < row_count; i++) {
        row *r = &rows[i];
        double t;
        if (!r->state && !(r->peer && r->peer->pass))
            continue;
        r->passes = 1; /* the first pass also warms up */
        t = sample(r);
        if (t > 0 && t < SAMPLE)
            r->passes = 1 + (unsigned) (SAMPLE / t);
        r->median = t;
    }
    for (round = 0; round < rounds; round++)
        for (i = 0; i < row_count; i++) {
            row *r = &rows[round % 2 ? row_count - 1 - i : i];
            if (r->median > 0)
                r->seconds[round] = sample(r);
        }
    for (i = 0; i < row_count; i++) {
        row *r = &rows[i];
        r->median = median_of(r->seconds);
        if (r->side && r->median > 0) {
            r->reads = r->side->reads(r->state);
            if (r->t->c.runs > 1)
                r->side->learn(r->state);
            if (r->p.layer == SCALE_COVERAGE)
                r->walked = r->side->walked(r->state);
        }
    }
}

/* ---- groups ---- */

/* Programs that take no time: for a test of these rows. */
static void shrink(scale_want *want)
{
    want->functions /= want->functions > 20000 ? 500 : 50;
    want->blocks = 20000;
    want->spaces = (uint16_t) (want->spaces / 16);
}

static row *add_row(const plan *p, const scale_side *side)
{
    row *r = &rows[row_count];

    if (row_count++ == GROUP_MAX)
        abort();
    memset(r, 0, sizeof(*r));
    r->p = *p;
    r->side = side;
    if (tiny) {
        shrink(&r->p.want);
        if (r->p.how.cache != AS_PEER)
            r->p.how.cache /= 64;
    }
    r->t = scale_trace_of(&r->p.want);
    if (!r->t) {
        fprintf(stderr, "scale: no memory for the program of %s\n", p->name);
        exit(2);
    }
    if (!tiny && r->p.want.functions >= 10000 && r->t->touched < MANY_RUNS)
        r->wrong = "TOO FEW RUNS";
    return r;
}

/* How much of a trace is so many blocks, of those that there are. */
static size_t bytes_of(const scale_trace *t, uint32_t blocks)
{
    return t->c.size / (1 + t->want.blocks / blocks) + 1;
}

/* Peers first: what they grow by says how much ours gets. */
static void open_rows(void)
{
    size_t grown = 0;
    unsigned i;

    for (i = 0; i < row_count; i++) {
        row *r = &rows[i];
        if (r->p.by == NOW || r->p.by == OTHER)
            continue;
        r->peer = peer_of(&r->p, 0);
        r->grown = r->peer ? growth(&r->p, &r->t->c) : 0;
        if (r->grown)
            grown = r->grown;
    }
    for (i = 0; i < row_count; i++) {
        row *r = &rows[i];
        scale_how *how = &r->p.how;
        if (!r->side)
            continue;
        if (how->cache == AS_PEER)
            how->cache = grown ? grown : 64 * MIB;
        if (how->memo == AS_PEER)
            how->memo = grown ? grown : 16 * MIB;
        if (how->piece == AS_PEER)
            how->piece = bytes_of(r->t, 100000);
        r->state = r->side->open(r->t, r->p.layer, how);
    }
}

/* ---- the table ---- */

/* The median of the ratios of each round: what a neighbour on the machine takes
 * in a round, it takes from both. */
static double ratio_of(unsigned i)
{
    const row *r = &rows[i];
    const row *other = &rows[i - r->p.against];
    double ratios[ROUNDS_MAX];
    unsigned k;

    if (!r->p.against || r->median <= 0 || other->median <= 0)
        return 0;
    for (k = 0; k < rounds; k++)
        ratios[k] = r->p.by == NOW ? other->seconds[k] / r->seconds[k]
                                   : r->seconds[k] / other->seconds[k];
    return median_of(ratios);
}

static const char *judge(const row *r, double ratio)
{
    const char *verdict = r->wrong ? r->wrong : "";

    if (r->median <= 0) {
        skipped += r->p.floor > 0;
        return r->peer && r->peer->pass ? "left out" : "no peer";
    }
    if (!r->wrong && ratio < r->p.floor)
        verdict = "FALLS SHORT";
    failed += *verdict != 0;
    passed += r->p.floor > 0 && !*verdict;
    return verdict;
}

static void print_row(unsigned i)
{
    const row *r = &rows[i];
    const double ratio = ratio_of(i);
    const double all = r->median > 0 ? 1e-6 / r->median : 0;
    const size_t memo = r->side ? r->p.how.memo : r->grown;
    const size_t from = r->t->c.runs > 1 ? r->t->c.ends[0] : 0;

    printf(tsv ? "%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%llu\t%zu\t%zu\t%llu"
                 "\t%llu\t%s\n"
               : "%-20s %-28s %7.1f %8.1f %6.2f %5.2f %5.2f %8llu %7zu %7zu "
                 "%8llu %9llu %s\n",
           r->t->c.name, r->p.name, (double) (r->t->c.size - from) * all,
           (double) r->items * all, ratio, r->p.floor, r->p.goal,
           (unsigned long long) r->t->touched,
           (r->side ? r->p.how.cache : 0) / KIB, memo / KIB,
           (unsigned long long) r->reads, (unsigned long long) r->walked,
           judge(r, ratio));
    fflush(stdout);
}

static void print_group(const char *title)
{
    unsigned i;

    if (!tsv)
        printf("\n%s\n%-20s %-28s %7s %8s %6s %5s %5s %8s %7s %7s %8s %9s\n",
               title, "program", "row", "MB/s", "M item/s", "ratio", "floor",
               "goal", "runs", "cache K", "memo K", "reads", "walked");
    for (i = 0; i < row_count; i++)
        print_row(i);
}

/* Rows first .. last - 1 of the plans; the other tree after each of ours. */
static void group(const plan *first, const plan *last)
{
    const plan *p;
    unsigned at[GROUP_MAX];
    unsigned i;

    row_count = 0;
    for (p = first; p < last; p++) {
        row *r;
        i = (unsigned) (p - first);
        at[i] = row_count;
        r = add_row(p, p->by == NOW ? &scale_now : NULL);
        if (p->against)
            r->p.against = (uint8_t) (at[i] - at[i - p->against]);
#ifdef BASE
        if (p->by == NOW) {
            r = add_row(p, &scale_base);
            r->p.name = "  base";
            r->p.by = OTHER;
            r->p.against = 1;
            r->p.floor = p->base_floor;
            r->p.goal = 0;
        }
#endif
    }
    open_rows();
    measure();
    print_group(first->group);
    for (i = 0; i < row_count; i++)
        if (rows[i].state)
            rows[i].side->close(rows[i].state);
}

/* Returns how many there were. */
static unsigned all_groups(const char *only)
{
    const plan *end = plans + sizeof(plans) / sizeof(plans[0]);
    const plan *first = plans;
    unsigned count = 0;

    while (first < end) {
        const plan *last = first + 1;
        while (last < end && !last->group)
            last++;
        if (!only || strstr(first->group, only)) {
            group(first, last);
            count++;
        }
        first = last;
    }
    return count;
}

/* ---- callgrind ---- */

static int invalidate(size_t size, int any, const scale_side *side)
{
    static const scale_want want = {100, 0, 1, 0, 20000, 1, 0};
    scale_how how;
    const scale_trace *t = scale_trace_of(&want);
    void *state;

    memset(&how, 0, sizeof(how));
    how.cache = size;
    state = t ? side->open(t, SCALE_BLOCKS, &how) : NULL;
    if (!state)
        return 2;
    side->invalidate(state, any);
    side->close(state);
    return 0;
}

#define LONG(functions, flags) {functions, 0, 0, flags, MANY / 4, 1, 0}
#define TIMED {1000, 0, 0, TIME, MANY / 8, 1, 0}
#define ROOM {16 * MIB, 16 * MIB, 0, 0, 0, 0}

static int once(const char *program, const char *name, const scale_side *side)
{
    static const struct {
        const char *program;
        const char *name;
        scale_layer layer;
        scale_want want;
        scale_how how;
    } cases[] = {
        {"unif-1000", "blocks", SCALE_BLOCKS, SHORT, ROOM},
        {"unif-1000", "insns", SCALE_INSNS, SHORT, ROOM},
        {"unif-1000", "coverage", SCALE_COVERAGE, SHORT, ROOM},
        {"unif-1000", "coverage, no retcomp", SCALE_COVERAGE,
         LONG(1000, NO_RET), ROOM},
        {"unif-1000", "coverage, deferred", SCALE_COVERAGE, LONG(1000, DEFER),
         ROOM},
        {"unif-1000", "coverage, CYC", SCALE_COVERAGE, TIMED, ROOM},
        {"unif-1000", "events, CYC", SCALE_EVENTS, TIMED, ROOM},
        {"unif-1000", "events, no time", SCALE_EVENTS, TIMED, UNTIMED},
        {"unif-1000", "blocks, CYC", SCALE_BLOCKS, TIMED, ROOM},
        {"unif-1000", "blocks, no time", SCALE_BLOCKS, TIMED, UNTIMED},
        {"unif-1000", "insns, CYC", SCALE_INSNS, TIMED, ROOM},
        {"unif-1000", "insns, no time", SCALE_INSNS, TIMED, UNTIMED},
        {"unif-10000", "blocks", SCALE_BLOCKS, LONG(10000, 0), ROOM},
        {"unif-10000", "coverage", SCALE_COVERAGE, LONG(10000, 0), ROOM},
        {"unif-10000", "coverage, no retcomp", SCALE_COVERAGE,
         LONG(10000, NO_RET), ROOM},
        {"noise", "coverage, fresh", SCALE_COVERAGE,
         {0, 0, 0, NO_RET, MANY / 4, 2, 0}, BOTH(MIB, MIB)},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const scale_trace *t;
        void *state;
        uint64_t items;
        if (strcmp(cases[i].program, program) != 0
            || strcmp(cases[i].name, name) != 0)
            continue;
        t = scale_trace_of(&cases[i].want);
        state = t ? side->open(t, cases[i].layer, &cases[i].how) : NULL;
        if (!state)
            return 2;
        items = side->pass(state);
        printf("%zu\t%llu\n",
               t->c.size - (t->c.runs > 1 ? t->c.ends[0] : 0),
               (unsigned long long) items);
        side->close(state);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int i;

    if (argc >= 4 && (argv[1][1] == 'i' || argv[1][1] == '1')) {
        const scale_side *side = &scale_now;
#ifdef BASE
        if (argc > 4)
            side = &scale_base;
#endif
        return argv[1][1] == '1'
                   ? once(argv[2], argv[3], side)
                   : invalidate((size_t) strtoull(argv[2], NULL, 0),
                                strcmp(argv[3], "any") == 0, side);
    }
    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (argv[i][1] == 't')
            tsv = 1;
        else if (argv[i][1] == 's')
            tiny = 1;
        else if (argv[i][1] == 'r' && i + 1 < argc)
            rounds = (unsigned) atoi(argv[++i]);
        else if (argv[i][1] == 'g' && i + 1 < argc)
            only = argv[++i];
        else
            break;
    }
    if (i < argc || rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: scale [-t] [-s] [-r ROUNDS] [-g GROUP]\n");
        return 2;
    }
    if (tsv)
        printf("program\trow\tMB/s\tM items/s\tratio\tfloor\tgoal\truns\t"
               "cache KiB\tmemo KiB\treads\twalked\tverdict\n");
    if (!all_groups(only)) {
        fprintf(stderr, "scale: no group has %s in its title\n", only);
        return 2;
    }
    fprintf(stderr, "%u %u %u\n", passed, failed, skipped);
    return failed > 0;
}
