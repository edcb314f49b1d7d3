/* libxdc.c: coverage by libxdc, if LIBXDC names its source tree; see bench.sh.
 * Its code comes from pages that stay in memory, as in libxdc's own tests. What
 * it cannot decode to the end is left out. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#ifdef LIBXDC

#include <libxdc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 65536u
#define TRACE_END 0x55
#define ROOM 64 /* it reads on after the end */

typedef struct page {
    uint64_t base;
    uint8_t *bytes; /* NULL: free */
} page;

static page pages[PAGES];
static const bench_case *last; /* what all of this is for; NULL: nothing */
static int takes;              /* libxdc decodes it */
static uint8_t *traces[BENCH_RUNS];
static size_t sizes[BENCH_RUNS];
static size_t begins[BENCH_RUNS]; /* the first PSB: what is before is skipped */
static uint8_t map[BENCH_MAP];
static uint64_t filter[4][2];
static libxdc_t *xdc;
static int is_warm;

/* ---- code ---- */

static uint8_t *read_page(const bench_case *c, uint64_t base)
{
    static const ipt_asid any = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    image *code = (image *) (uintptr_t) &c->code;
    uint8_t *bytes = calloc(1, PAGE);
    size_t known = 0;
    size_t i = 0;

    while (bytes && i < PAGE) {
        const int n = image_read(bytes + i, PAGE - i, &any, base + i, code);
        known += n > 0 ? (size_t) n : 0;
        i += n > 0 ? (size_t) n : 1;
    }
    if (known)
        return bytes;
    free(bytes);
    return NULL;
}

static void *fetch(void *context, uint64_t ip, bool *ok)
{
    const uint64_t base = ip & ~(uint64_t) (PAGE - 1);
    size_t i = (size_t) (base / PAGE * 0x9e3779b1u) % PAGES;
    unsigned tries;

    for (tries = 0; tries < PAGES; tries++, i = (i + 1) % PAGES) {
        page *p = &pages[i];
        if (!p->bytes) {
            p->base = base;
            p->bytes = read_page(context, base);
        }
        if (p->base == base || !p->bytes) {
            *ok = p->bytes != NULL;
            return p->bytes;
        }
    }
    *ok = false;
    return NULL;
}

/* ---- decoding ---- */

static int begin(const bench_case *c)
{
    unsigned i;

    if (xdc)
        libxdc_free(xdc);
    for (i = 0; i < 4; i++)
        filter[i][0] = filter[i][1] = 0;
    filter[0][0] = c->filter[0];
    filter[0][1] = c->filter[1];
    is_warm = 0;
    xdc = libxdc_init(filter, fetch, (void *) (uintptr_t) c, map, sizeof(map));
    memset(map, 0, sizeof(map));
    return xdc != NULL;
}

/* libxdc's status: 0 or 1 (a note on an overflow), if it was decoded. */
static int decode(size_t run)
{
    return (int) libxdc_decode(xdc, traces[run], sizes[run]);
}

/* libxdc may end the process where it finds what it does not know. */
static int decodes(const bench_case *c)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        size_t run;
        int worst = begin(c) ? 0 : 9;
        for (run = 0; run < c->runs && worst < 9; run++) {
            const int one = decode(run);
            worst = one > worst ? one : worst;
        }
        _exit(worst);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
        && WEXITSTATUS(status) <= 1)
        return 1;
    fprintf(stderr, "bench: %s: left out: libxdc %s %d\n", c->name,
            WIFEXITED(status) ? "says" : "dies:",
            WIFEXITED(status) ? WEXITSTATUS(status) : status);
    return 0;
}

/* Each run as libxdc wants it. */
static int copy_runs(const bench_case *c)
{
    size_t from = 0;
    size_t i;

    for (i = 0; i < c->runs; from = c->ends[i++]) {
        sizes[i] = c->ends[i] - from;
        free(traces[i]);
        traces[i] = malloc(sizes[i] + ROOM);
        if (!traces[i])
            return 0;
        memcpy(traces[i], c->trace + from, sizes[i]);
        memset(traces[i] + sizes[i], TRACE_END, ROOM);
        begins[i] = 0;
        while (begins[i] < sizes[i]
               && memcmp(traces[i] + begins[i], "\2\202\2\202", 4) != 0)
            begins[i]++;
    }
    return 1;
}

static int take(const bench_case *c)
{
    size_t i;

    if (last == c)
        return takes;
    last = c;
    for (i = 0; i < PAGES; i++) {
        free(pages[i].bytes);
        pages[i].bytes = NULL;
    }
    takes = copy_runs(c) && decodes(c) && begin(c);
    return takes;
}

static void learn(const bench_case *c, size_t but)
{
    size_t run;

    for (run = 0; run < c->runs; run++)
        if (run != but)
            (void) decode(run);
}

/* ---- rows ---- */

static uint64_t pass(const bench_case *c)
{
    (void) c;
    bench_map = map;
    (void) decode(bench_run);
    return sizes[bench_run] - begins[bench_run];
}

static int prepare_warm(const bench_case *c)
{
    if (!take(c))
        return 0;
    if (!is_warm && begin(c)) {
        learn(c, c->runs);
        is_warm = 1;
    }
    memset(map, 0, sizeof(map));
    return 1;
}

static int prepare_cold(const bench_case *c)
{
    if (!take(c) || (bench_run == 0 && !begin(c)))
        return 0;
    memset(map, 0, sizeof(map));
    return 1;
}

static int prepare_new(const bench_case *c)
{
    if (!take(c) || !begin(c))
        return 0;
    learn(c, bench_run);
    memset(map, 0, sizeof(map));
    return 1;
}

#define BY(prepare, pass) prepare, pass
#else
#define BY(prepare, pass) NULL, NULL
#endif /* LIBXDC */

const bench_row bench_libxdc[] = {
    {"coverage", "libxdc", BY(prepare_warm, pass), 1, 1, 1.5},
    {"coverage cold", "libxdc", BY(prepare_cold, pass), 1, 1, 3},
    {"coverage, new", "libxdc", BY(prepare_new, pass), 1, 1, 0},
    {0},
};
