/* bench.h: what the parts of the bench share. */
#ifndef BENCH_H
#define BENCH_H
#include "ipt.h"
#include "examples/tools/common/code/image.h"
#include <stddef.h>
#include <stdint.h>

#define BENCH_RUNS 64

/* A trace with its code; or what a program left on several inputs, one after
 * the other: coverage only. */
typedef struct bench_case {
    char name[80];
    uint8_t *trace;
    size_t size;
    size_t ends[BENCH_RUNS]; /* where each run ends */
    size_t runs;             /* at least 1 */
    image code;
    int has_code;
    int dense;    /* a stream of dense.c: packets and events only, ... */
    double floor; /* ... with floors of its own next to libipt 2.0.5, ... */
    double next;  /* ... and next to 2.1 */
    uint64_t filter[2]; /* addresses that were traced; the last one is not */
    uint32_t cpuid_15_eax; /* of the processor, as in ipt_config; 0: not known */
    uint32_t cpuid_15_ebx;
    uint8_t mtc_freq;
    uint8_t nom_freq;
} bench_case;

/* One way through a trace, or through run bench_run of it. Returns how many
 * items there were: packets, events or queries, instructions; bytes, of
 * coverage. `prepare` runs untimed before each pass; 0: no such row for this
 * trace. */
typedef struct bench_row {
    const char *layer; /* rows of one layer do the same work */
    const char *name;
    int (*prepare)(const bench_case *c);
    uint64_t (*pass)(const bench_case *c); /* NULL: the peer is not here */
    uint8_t needs_code;
    uint8_t peer; /* 0: ours; else it is compared with ours */
    double floor; /* ours must be so many times as fast; 0: no matter */
} bench_row;

/* Every item goes in here. */
extern volatile uint64_t bench_sink;

/* Passes are made over each run of a case. */
extern size_t bench_run;

/* How often a row is measured; 1: only to see that it runs. */
extern unsigned bench_rounds;

/* Seconds of a pass that measures itself; 0: the bench does. */
extern double bench_seconds;

/* What is wrong with what a pass found, if it says so. */
extern const char *bench_remark;

extern const bench_row bench_ours[];   /* ours.c; name NULL ends it */
extern const bench_row bench_cover[];  /* cover.c */
extern const bench_row bench_walk[];   /* walk.c */
extern const bench_row bench_libipt[]; /* libipt.c */
extern const bench_row bench_compat[]; /* compat.c */
extern const bench_row bench_next[];   /* next.c */
extern const bench_row bench_libxdc[]; /* libxdc.c */
extern const bench_row bench_perf[];   /* perf.c */

/* Rows of bench_compat are made by this library. NULL, or what is wrong with
 * it. */
const char *bench_compat_open(const char *library);

/* Rows of bench_next are made by this library. NULL, or what is wrong with it. */
const char *bench_next_open(const char *library);

/* The counters that a pass left, BENCH_MAP of them. NULL: it does not count. */
#define BENCH_MAP 65536
extern const uint8_t *bench_map;

/* One pass, by a name that callgrind can look for. Returns its items. */
uint64_t bench_once(const bench_case *c, const bench_row *row);

/* The size of our cache, in lines. */
extern size_t bench_lines;
#define BENCH_LINES_MAX ((size_t) 1 << 18)

#endif /* BENCH_H */
