/* hot TRACE CODE BASE: what is hot in a program. One line for each hot trace:
 * its address, how often it ran, the addresses of its blocks; then the hottest
 * one, disassembled if Zydis is there. A monitor would do the same with trace
 * of a guest, and never touch it.
 *
 * SPDX-License-Identifier: MIT */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#include "zydis_glue/ipt_zydis.h"
#define HAVE_ZYDIS
#endif
#endif

static uint8_t trace[1 << 24], code[1 << 24];
static unsigned long long base, code_size;
static ipt_cache_line lines[16384];
static ipt_hot_head heads[4096];
static ipt_hot_trace traces[1024];
static ipt_block blocks[16384];

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

/* Feed blocks as long as there is trace; where flow is lost, so is a recording.
 * Returns the last status. */
static int watch(ipt_blk_decoder *d, ipt_hot *hot)
{
    int status = ipt_blk_sync_forward(d);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        const ipt_asid asid = d->at.asid;
        ipt_block block;
        status = ipt_blk_next(d, &block);
        if (status >= 0) {
            ipt_hot_feed(hot, &block, &asid);
        } else if (status != IPT_EVENT_FIRST && status != IPT_END) {
            ipt_hot_break(hot);
            status = ipt_blk_resync(d); /* passes code that is missing, too */
            if (status < 0 && status != IPT_END)
                status = ipt_blk_sync_forward(d);
        }
    }
    return status;
}

static int by_runs(const void *a, const void *b)
{
    const ipt_hot_trace *x = a, *y = b;
    return x->runs < y->runs ? 1 : x->runs > y->runs ? -1 : 0;
}

static void print_trace(const ipt_hot_trace *t)
{
    printf("%llx %llu", (unsigned long long) t->tag.ip,
           (unsigned long long) t->runs);
    for (uint32_t i = 0; i < t->count; i++)
        printf(" %llx", (unsigned long long) blocks[t->first + i].ip);
    printf("\n");
}

/* The blocks are contiguous: the config says END_ON_CALL and END_ON_JUMP. */
static void print_block(const ipt_block *b)
{
    uint64_t ip = b->ip;
    for (unsigned i = 0; i < b->count; i++) {
        uint8_t bytes[15];
        char text[96] = "";
        ipt_code insn;
        const int n = read_code(bytes, sizeof bytes, NULL, ip, NULL);
        if (n <= 0
            || ipt_classify(&insn, bytes, (size_t) n, b->mode, NULL) < 0)
            return;
#ifdef HAVE_ZYDIS
        if (ipt_zydis_format(text, sizeof text, bytes, (size_t) n, b->mode, ip,
                             0) < 0)
            text[0] = 0;
#endif
        printf("  %llx  %s\n", (unsigned long long) ip,
               text[0] ? text : ipt_insn_name(insn.kind));
        ip += insn.size;
    }
}

int main(int argc, char **argv)
{
    FILE *t = argc > 3 ? fopen(argv[1], "rb") : NULL;
    FILE *c = argc > 3 ? fopen(argv[2], "rb") : NULL;
    if (!t || !c || sscanf(argv[3], "%llx", &base) != 1)
        return fprintf(stderr, "usage: hot TRACE CODE BASE\n"), 2;
    ipt_segment piece = {trace, fread(trace, 1, sizeof trace, t)};
    ipt_trace all = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_hot_config wanted = {0};
    static ipt_blk_decoder d;
    ipt_cache cache;
    ipt_hot hot;
    code_size = fread(code, 1, sizeof code, c);
    if (!feof(t) || !feof(c))
        return fprintf(stderr, "hot: a file is not below 16 MiB\n"), 2;
    config.read = read_code;
    config.flags = IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
    wanted.heads = heads, wanted.head_count = 4096;
    wanted.traces = traces, wanted.trace_count = 1024;
    wanted.blocks = blocks, wanted.block_count = 16384;
    ipt_cache_init(&cache, lines, 16384);
    int status = ipt_blk_init(&d, &config, &all, &cache);
    if (status >= 0)
        status = ipt_hot_init(&hot, &wanted);
    if (status >= 0)
        status = watch(&d, &hot);
    if (status != IPT_END || !(d.at.valid & IPT_AT_SYNC))
        return fprintf(stderr, "hot: %s\n", status == IPT_END
                       ? "no PSB" : ipt_status_cause(status)), 1;

    qsort(traces, hot.kept, sizeof traces[0], by_runs); /* it is fed no more */
    for (uint32_t i = 0; i < hot.kept; i++)
        print_trace(&traces[i]);
    if (hot.kept)
        printf("the hottest:\n");
    for (uint32_t i = 0; hot.kept && i < traces[0].count; i++)
        print_block(&blocks[traces[0].first + i]);
    fprintf(stderr, "%llu of %llu instructions in %u traces\n",
            (unsigned long long) hot.stats.inside,
            (unsigned long long) hot.stats.insns, (unsigned) hot.kept);
    return 0;
}
