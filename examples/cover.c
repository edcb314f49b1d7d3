/* cover CODE BASE TRACE...: the loop of a fuzzer. Each TRACE is what a run of
 * the program left; those that reach something new are worth keeping. Code and
 * what was learned from one run are kept for the next: that is what makes it
 * fast. With hardware, the trace comes from where the processor wrote it; see
 * ipt_segments_from_topa.
 *
 * SPDX-License-Identifier: MIT */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNTERS 65536
static uint8_t code[1 << 24], trace[1 << 24];
static uint8_t counters[COUNTERS]; /* of this run */
static uint8_t seen[COUNTERS];     /* by all runs: a bit for each magnitude */
static ipt_cache_line cache_lines[16384];
static ipt_cov_line memo_lines[16384];
static unsigned long long base, code_size;

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid, (void) context;
    if (ip < base || ip - base >= code_size)
        return IPT_NEED_PAGE;
    if (size > code_size - (ip - base))
        size = (size_t) (code_size - (ip - base));
    memcpy(buffer, code + (ip - base), size);
    return (int) size;
}

/* How often, as AFL has it: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, more. */
static uint8_t magnitude(uint8_t n)
{
    static const uint8_t first[8] = {1, 2, 3, 4, 8, 16, 32, 128};
    unsigned i = 8;
    while (i > 0 && n < first[i - 1])
        i--;
    return (uint8_t) (i ? 1u << (i - 1) : 0);
}

/* Add what this run reached to what all did. Returns how much was new. */
static unsigned add_run(void)
{
    unsigned news = 0;
    for (unsigned i = 0; i < COUNTERS; i++) {
        const uint8_t bit = magnitude(counters[i]);
        news += (bit & ~seen[i]) != 0;
        seen[i] |= bit;
    }
    return news;
}

static void report(const char *name, const ipt_cov_decoder *d, unsigned news)
{
    printf("%s: %u new, path %016llx%s%s%s%s\n", name, news,
           (unsigned long long) d->hash,
           d->verdict ? ", incomplete:" : "",
           d->verdict & IPT_COV_OVERFLOW ? " trace lost" : "",
           d->verdict & IPT_COV_NO_PAGE ? " code missing" : "",
           d->verdict & (IPT_COV_ERROR | IPT_COV_TRUNCATED | IPT_COV_SKIPPED)
               ? " errors" : "");
}

int main(int argc, char **argv)
{
    FILE *f = argc > 3 ? fopen(argv[1], "rb") : NULL;
    if (!f || sscanf(argv[2], "%llx", &base) != 1)
        return fprintf(stderr, "usage: cover CODE BASE TRACE...\n"), 2;
    code_size = fread(code, 1, sizeof code, f);
    if (!feof(f))
        return fprintf(stderr, "%s: not below 16 MiB\n", argv[1]), 2;
    fclose(f);

    ipt_segment piece = {trace, 0};
    ipt_trace all = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_cov_config cov = {0};
    ipt_cache cache;
    ipt_cov_memo memo;
    static ipt_cov_decoder d;
    int failed = 0;
    ipt_cache_init(&cache, cache_lines, 16384);
    ipt_cov_memo_init(&memo, memo_lines, 16384);
    config.read = read_code;
    cov.bitmap = counters;
    cov.bitmap_size = COUNTERS;
    cov.flags = IPT_COV_HASH;
    cov.memo = &memo;
    int status = ipt_cov_init(&d, &config, &cov, &all, &cache);

    for (int i = 3; i < argc && status >= 0; i++) {
        if (!(f = fopen(argv[i], "rb")))
            return perror(argv[i]), 1;
        piece.size = fread(trace, 1, sizeof trace, f);
        if (!feof(f))
            return fprintf(stderr, "%s: not below 16 MiB\n", argv[i]), 2;
        fclose(f);
        memset(counters, 0, sizeof counters);
        status = ipt_cov_begin(&d, &all);
        while (status >= 0 && (status = ipt_cov_run(&d)) != IPT_END)
            status = ipt_cov_resync(&d); /* see the verdict */
        if (status == IPT_END)
            status = IPT_OK;
        report(argv[i], &d, add_run());
        if (!(d.at.valid & IPT_AT_SYNC))
            failed = fprintf(stderr, "%s: no PSB\n", argv[i]) != 0;
    }
    if (status < 0)
        fprintf(stderr, "cover: %s\n", ipt_status_cause(status));
    return status < 0 || failed;
}
