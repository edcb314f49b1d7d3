/* bench.c: how fast each layer is, next to others that do the same work.
 *
 *     bench [-t] [-r ROUNDS] [-l LAYER] [-c COUNTS] FOLDER...
 *     bench -a [-l LAYER] FOLDER...  each row but perf's once, in bench_once.
 *                                 Prints case, layer, row and items; of dense
 *                                 streams bytes and floor, too
 *     bench -1 LAYER FOLDER       one pass, in bench_once, for callgrind. Prints
 *                                 bytes and items
 *     bench -k FOLDER...          blocks by size of the cache, for gnuplot
 *
 * LIBIPT_NEXT=library is a libipt of 2.1, for events by its event layer.
 * LIBIPT=build/compat/libipt.so.2 measures that one, too, next to the system's:
 * layers "compat ..."; -l compat is all of these.
 *
 * NAME=FOLDER+FOLDER...: a program on several inputs, for coverage.
 * dense:NAME or dense: a stream of dense.c, or all; packets and events only.
 * again:FOLDER: a short trace over and over, as one of these.
 *
 * Rows run in turn, ROUNDS times (5), so that all meet the same neighbours on
 * the machine; a row's figure is the median of its rounds, in processor time.
 * A row is compared with those of its layer in the same run. Each row with a
 * floor passes or fails. It fails if it FALLS SHORT of its floor, or if its
 * counters are not those of ours. Where the peer is not here, or cannot decode
 * it, it is not measured, which counts as skipped. The exit status is 1 if a row failed. -t: tab-separated.
 * -c 2,1,0: rows that passed, failed and were skipped elsewhere.
 *
 * The decoder is a translation unit of its own, as libipt is a library; every
 * item is read by the caller; all decode the whole trace from its first PSB. A
 * trace is decoded over and over, so branch predictors and caches know it
 * better than they would in real use, for all rows alike. Where items differ
 * in kind (a run of PAD is one of our packets; libipt's queries are single
 * branches) only the time for the trace can be compared; where flow is not
 * followed to the same end, time per instruction is. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

size_t bench_run;
const char *bench_remark;
const uint8_t *bench_map;
double bench_seconds;

#define ROUNDS_MAX 99
#define ROWS_MAX 64
#define SAMPLE 2e-3 /* seconds a sample takes at least */

typedef struct result {
    const bench_row *row;
    double seconds[ROUNDS_MAX];
    uint64_t items;
    unsigned passes; /* in a sample */
    double median;   /* seconds of a pass */
    uint64_t found;  /* a hash of the counters of a pass; 0: there are none */
    const char *remark;
} result;

static result results[ROWS_MAX];
static unsigned result_count;
unsigned bench_rounds = 5;
static int compat; /* LIBIPT is there */
static int tsv;
static unsigned passed;
static unsigned failed;
static unsigned skipped;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* From those of ours, or from those of the pass before. */
static const char differs[] = "COUNTERS DIFFER";

/* Add the counters of a run to a hash. */
static uint64_t hash_map(uint64_t hash)
{
    uint64_t eight;
    size_t i;

    for (i = 0; bench_map && i < BENCH_MAP; i += sizeof(eight)) {
        memcpy(&eight, bench_map + i, sizeof(eight));
        hash = (hash ^ eight) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static double sample(const bench_case *c, result *r)
{
    double sum = 0;
    unsigned i;

    bench_remark = NULL;
    for (i = 0; i < r->passes; i++) {
        const uint64_t found = r->found;
        r->found = 0;
        r->items = 0;
        for (bench_run = 0; bench_run < c->runs; bench_run++) {
            double start;
            if (r->row->prepare && !r->row->prepare(c))
                return -1;
            bench_seconds = 0;
            bench_map = NULL;
            start = now();
            r->items += r->row->pass(c);
            sum += bench_seconds > 0 ? bench_seconds : now() - start;
            r->found = hash_map(r->found);
        }
        if (found && r->found != found)
            bench_remark = differs;
    }
    r->remark = bench_remark;
    return sum / r->passes;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *) a;
    const double y = *(const double *) b;

    return x < y ? -1 : x > y;
}

/* ---- running ---- */

static int is_coverage(const bench_row *row)
{
    return strncmp(row->layer, "coverage", 8) == 0;
}

static int is_new(const bench_row *row)
{
    return strcmp(row->layer, "coverage, new") == 0;
}

static int is_dense(const bench_row *row)
{
    return strcmp(row->layer, "packets") == 0
           || strcmp(row->layer, "events") == 0;
}

static int is_compat(const bench_row *row)
{
    return strncmp(row->layer, "compat", 6) == 0;
}

static double floor_of(const bench_case *c, const bench_row *row)
{
    if (!c->dense || row->floor <= 0)
        return row->floor;
    return row == bench_next ? c->next : c->floor;
}

/* Noise that a memo has seen says nothing: see scale.sh for noise that is new.
 */
static void choose(const bench_row *rows, const bench_case *c,
                   const char *layer)
{
    for (; rows->name && result_count < ROWS_MAX; rows++) {
        if ((rows->needs_code && !c->has_code)
            || (c->runs > 1 ? !is_coverage(rows) : is_new(rows))
            || (is_coverage(rows) && strcmp(c->name, "random-tnt") == 0)
            || (is_compat(rows) && !compat) || (c->dense && !is_dense(rows))
            || (c->dense && rows->peer && floor_of(c, rows) <= 0)
            || (layer && strcmp(layer, rows->layer) != 0
                && !(is_compat(rows) && strcmp(layer, "compat") == 0)))
            continue;
        memset(&results[result_count], 0, sizeof(result));
        results[result_count++].row = rows;
    }
}

static void measure(const bench_case *c)
{
    unsigned round;
    unsigned i;

    for (i = 0; i < result_count; i++) {
        result *r = &results[i];
        double t;
        if (!r->row->pass)
            continue;
        r->passes = 1; /* the first pass also warms up */
        t = sample(c, r);
        if (t > 0 && t < SAMPLE && bench_seconds <= 0)
            r->passes = 1 + (unsigned) (SAMPLE / t);
    }
    for (round = 0; round < bench_rounds; round++)
        for (i = 0; i < result_count; i++)
            if (results[i].items)
                results[i].seconds[round] = sample(c, &results[i]);
    for (i = 0; i < result_count; i++) {
        qsort(results[i].seconds, bench_rounds, sizeof(double), ascending);
        results[i].median = results[i].seconds[bench_rounds / 2];
    }
}

/* ---- the table ---- */

/* What is wrong with a row, given the ratio to ours if it is a peer's. */
static const char *judge(const bench_case *c, const result *r,
                         const result *ours, double ratio)
{
    const double least = floor_of(c, r->row);

    const char *verdict = r->remark ? r->remark : "";

    if (r->median <= 0 || (ours && ours->median <= 0)) {
        skipped += least > 0;
        return r->row->pass ? "left out" : "no peer";
    }
    if (ours && r->found && r->found != ours->found)
        verdict = differs;
    if (ours && !*verdict && ratio < least)
        verdict = "FALLS SHORT";
    failed += verdict == differs || (ours && *verdict);
    passed += ours && least > 0 && !*verdict;
    return verdict;
}

static void print_row(const bench_case *c, const result *r, const result *ours)
{
    const bench_row *row = r->row;
    const double least = floor_of(c, row);
    const int measured = r->median > 0;
    const uint64_t bytes = is_coverage(row) ? r->items : c->size;
    const double speed = measured ? (double) bytes / r->median * 1e-6 : 0;
    const double items = measured ? (double) r->items / r->median * 1e-6 : 0;
    const int by_item = row->needs_code; /* items are instructions */
    double ratio = 0;
    const char *verdict;

    if (ours && measured && ours->median > 0) {
        ratio = r->median / ours->median;
        if (by_item && r->items)
            ratio *= (double) ours->items / (double) r->items;
    }
    verdict = judge(c, r, ours, ratio);
    if (tsv) {
        printf("%s\t%s\t%s\t%.2f\t%.2f\t%llu\t%.2f\t%.2f\t%s\n", c->name,
               row->layer, row->name, speed, items,
               (unsigned long long) r->items, ratio, ours ? least : 0, verdict);
        return;
    }
    printf("%-16s %-16s %9.1f %9.1f", ours ? "" : row->layer, row->name,
           speed, items);
    if (ours && least > 0)
        printf(" %8.2f %6.1f %s", ratio, least, verdict);
    else if (ours)
        printf(" %8.2f %6s %s", ratio, "", verdict);
    else if (*verdict)
        printf(" %s", verdict);
    if (ours && by_item && measured && r->items != ours->items)
        printf(" (decodes %.1f %%)",
               100.0 * (double) r->items / (double) ours->items);
    printf("\n");
}

static void print_case(const bench_case *c)
{
    unsigned i;
    unsigned k;

    if (!tsv)
        printf("\n%s: %zu bytes of %zu run%s\n"
               "%-16s %-16s %9s %9s %8s %6s\n",
               c->name, c->size, c->runs, c->runs > 1 ? "s" : "", "layer", "",
               "MB/s", "M items/s", "ratio", "floor");
    for (i = 0; i < result_count; i++) {
        if (results[i].row->peer)
            continue;
        print_row(c, &results[i], NULL);
        for (k = 0; k < result_count; k++)
            if (results[k].row->peer
                && !strcmp(results[k].row->layer, results[i].row->layer))
                print_row(c, &results[k], &results[i]);
    }
    fflush(stdout);
}

static void choose_all(const bench_case *c, const char *layer)
{
    result_count = 0;
    choose(bench_ours, c, layer);
    choose(bench_cover, c, layer);
    choose(bench_walk, c, layer);
    choose(bench_compat, c, layer);
    choose(bench_libipt, c, layer);
    choose(bench_next, c, layer);
    choose(bench_libxdc, c, layer);
}

static void bench(const bench_case *c, const char *layer)
{
    choose_all(c, layer);
    choose(bench_perf, c, layer);
    measure(c);
    if (result_count)
        print_case(c);
}

/* ---- callgrind ---- */

static int once(const bench_case *c, const bench_row *rows, const char *layer)
{
    const bench_row *row;
    uint64_t items = 0;

    for (row = rows; row->name; row++) {
        if (row->peer || strcmp(row->layer, layer) != 0
            || (row->needs_code && !c->has_code))
            continue;
        for (bench_run = 0; bench_run < c->runs; bench_run++) {
            if (row->prepare && !row->prepare(c))
                return 2;
            items += bench_once(c, row);
        }
        printf("%zu\t%llu\n", c->size, (unsigned long long) items);
        return 0;
    }
    return 2;
}

static void each_once(const bench_case *c, const char *layer)
{
    unsigned i;

    choose_all(c, layer);
    for (i = 0; i < result_count; i++) {
        const bench_row *row = results[i].row;
        uint64_t items = 0;
        for (bench_run = 0; row->pass && bench_run < c->runs; bench_run++)
            if (!row->prepare || row->prepare(c))
                items += bench_once(c, row);
        if (c->dense && items == 0)
            continue;
        printf("%s\t%s\t%s\t%llu", c->name, row->layer, row->name,
               (unsigned long long) items);
        if (c->dense)
            printf("\t%zu\t%g", c->size, row->peer ? floor_of(c, row) : 0);
        printf("\n");
    }
}

/* ---- the curve ---- */

static void curve(const bench_case *c)
{
    static const char *between = "";
    const bench_row *row = bench_ours;
    result r;

    while (strcmp(row->layer, "blocks") != 0)
        row++;
    printf("%s\"%s\"\n", between, c->name);
    between = "\n\n";
    for (bench_lines = 64; bench_lines <= BENCH_LINES_MAX; bench_lines *= 2) {
        unsigned i;
        memset(&r, 0, sizeof r);
        r.row = row;
        r.passes = 1;
        (void) sample(c, &r);
        for (i = 0; i < bench_rounds; i++)
            r.seconds[i] = sample(c, &r);
        qsort(r.seconds, bench_rounds, sizeof(double), ascending);
        printf("%zu %.2f\n", bench_lines * sizeof(ipt_cache_line) / 1024,
               (double) r.items / r.seconds[bench_rounds / 2] * 1e-6);
        fflush(stdout);
    }
}

/* What is done with a case: measure it, or ... */
enum { MEASURE, ONCE, ALL_ONCE, CURVE };

static int one(const char *name, const char *layer, const char *only_once,
               int mode)
{
    /* rows remember their case by its address: it is not freed */
    bench_case *c = malloc(sizeof *c);
    const char *why = c ? bench_load(c, name) : "out of memory";

    if (why) {
        fprintf(stderr, "bench: %s: left out: %s\n", name, why);
        return mode == ONCE ? 2 : 0;
    }
    if (mode == ONCE)
        return once(c, bench_ours, only_once) == 0
                   ? 0 : once(c, bench_cover, only_once);
    if (mode == ALL_ONCE)
        each_once(c, layer);
    else if (mode == MEASURE)
        bench(c, layer);
    else if (c->has_code)
        curve(c);
    return 0;
}

int main(int argc, char **argv)
{
    const char *layer = NULL;
    const char *only_once = NULL;
    const char *libipt = getenv("LIBIPT");
    const char *next = getenv("LIBIPT_NEXT");
    const char *wrong = libipt ? bench_compat_open(libipt) : NULL;
    int mode = MEASURE;
    int status = 0;
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (argv[i][1] == 't')
            tsv = 1;
        else if (argv[i][1] == 'k')
            mode = CURVE;
        else if (argv[i][1] == 'a')
            mode = ALL_ONCE;
        else if (argv[i][1] == 'r' && i + 1 < argc)
            bench_rounds = (unsigned) atoi(argv[++i]);
        else if (argv[i][1] == 'l' && i + 1 < argc)
            layer = argv[++i];
        else if (argv[i][1] == 'c' && i + 1 < argc
                 && sscanf(argv[i + 1], "%u,%u,%u", &passed, &failed, &skipped)
                        == 3)
            i++;
        else if (argv[i][1] == '1' && i + 1 < argc)
            mode = ONCE, only_once = argv[++i];
        else
            i = argc;
    }
    if (i >= argc || bench_rounds == 0 || bench_rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench [-t] [-k] [-a] [-r ROUNDS] [-l LAYER] "
                        "[-1 LAYER] [-c COUNTS] FOLDER...\n");
        return 2;
    }
    if (!wrong && next)
        wrong = bench_next_open(next);
    if (wrong) {
        fprintf(stderr, "bench: LIBIPT, LIBIPT_NEXT: %s\n", wrong);
        return 2;
    }
    compat = libipt != NULL;
    if (tsv)
        printf("case\tlayer\trow\tMB/s\tM items/s\titems\tratio\tfloor\t"
               "verdict\n");
    for (; i < argc; i++) {
        size_t k;
        if (strcmp(argv[i], "dense") != 0)
            status |= one(argv[i], layer, only_once, mode);
        else
            for (k = 0; bench_dense_name(k); k++) {
                char name[32];
                snprintf(name, sizeof name, "dense:%s", bench_dense_name(k));
                status |= one(name, layer, only_once, mode);
            }
    }
    if (!tsv && mode == MEASURE) {
        printf("\n%u passed, %u failed", passed, failed);
        if (skipped)
            printf(", %u skipped", skipped);
        printf("\n");
    }
    return status ? status : failed > 0;
}
