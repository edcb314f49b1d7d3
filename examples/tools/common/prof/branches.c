/* branches.c: --annotate and --branches.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include "../code/disasm.h"
#include "../code/sourcefile.h"
#include <inttypes.h>
#include <stdlib.h>

/* ---- --annotate and --branches ---- */

static void put_taken(char text[16], const annotate_one *one)
{
    snprintf(text, 16, "-");
    if (one->kind == IPT_INSN_JCC && one->executed)
        snprintf(text, 16, "%.1f%%",
                 100.0 * (double) one->taken / (double) one->executed);
}

static void print_place(ptprof *p, const annotate_one *one)
{
    prof_print_name(prof_function_text(p, one->function), 0);
    printf("+0x%" PRIx64, one->offset);
}

static void print_source(ptprof *p, sourcefile **sources, const line *l,
                         uint32_t *source)
{
    const char *const name = names_text(&p->names, l->source);
    const sourcefile *const file = sourcefile_get(sources, name);
    if (!file) prof_out_of_memory(p);
    if (*source != l->source) {
        printf("%29s", "");
        prof_print_name(name, 0);
        putchar('\n');
    }
    *source = l->source;
    printf("%28" PRIu32 " ", l->number);
    prof_print_name(l->number <= file->count ? file->lines[l->number - 1] : "", 0);
    putchar('\n');
}

static void annotate_function(ptprof *p, uint32_t function, sourcefile **sources)
{
    size_t count;
    uint32_t *const order = annotate_order(&p->annotate, function, &count);
    const line *before = NULL;
    uint32_t source = 0;
    if (!order) prof_out_of_memory(p);
    fputs("     count     cost  taken  ", stdout);
    prof_print_name(prof_function_text(p, function), 0);
    puts(p->by_insn ? " (costs are instructions)" : "");
    for (size_t i = 0; i < count; i++) {
        const annotate_one *const one = &p->annotate.list[order[i]];
        const line *const l = one->row ? &p->lines[one->row - 1] : NULL;
        char cost[16] = "-", taken[16], words[DISASM_MAX];
        if (l) prof_put_cost(p, cost, prof_line_cost(p, l));
        put_taken(taken, one);
        if (disasm_text(words, one->bytes, one->size, one->mode, one->ip))
            disasm_bytes(words, one->bytes, one->size);
        if (l && l->source
            && (!before || l->source != before->source || l->number != before->number))
            print_source(p, sources, l, &source);
        before = l;
        printf("%10" PRIu64 " %8s %6s  +0x%-6" PRIx64 " %s\n", one->executed, cost,
               taken, one->offset, words);
    }
    free(order);
}

int prof_print_annotated(ptprof *p)
{
    sourcefile *sources = NULL;
    const uint32_t count = p->session.functions.count;
    uint8_t *const has = (uint8_t *) calloc((size_t) count + 1, 1);
    unsigned shown = 0;
    if (!has) prof_out_of_memory(p);
    for (size_t i = 0; i < p->annotate.max; i++) {
        const uint32_t f = p->annotate.list[i].function;
        if (f && prof_is_annotated(p, f)) has[f] = 1;
    }
    for (uint32_t f = 1; f <= count; f++) {
        if (!has[f]) continue;
        if (shown++) putchar('\n');
        annotate_function(p, f, &sources);
    }
    sourcefile_free(sources);
    free(has);
    return !session_chosen(&p->session, "--annotate", &p->annotated);
}

/* All that ran often enough, or those that went both ways. */
void prof_print_branches(ptprof *p)
{
    size_t count, same = 0;
    uint32_t *const order = annotate_order(&p->annotate, 0, &count);
    uint64_t all = 0;
    char taken[16];
    if (!order) prof_out_of_memory(p);
    for (size_t i = 0; i < count; i++) {
        const annotate_one *const one = &p->annotate.list[order[i]];
        all += one->executed;
        same += annotate_rarer(one) == 0;
    }
    if (count)
        printf("%zu branch%s, %zu of them always went one way\n"
               "     count  taken      rarer  branch\n", count,
               count == 1 ? "" : "es", same);
    for (size_t i = 0; i < count; i++) {
        const annotate_one *const one = &p->annotate.list[order[i]];
        const line *const l = one->row ? &p->lines[one->row - 1] : NULL;
        if (one->executed < all / 1000 * p->opt.min + all % 1000 * p->opt.min / 1000)
            continue;
        put_taken(taken, one);
        printf("%10" PRIu64 " %6s %10" PRIu64 "  ", one->executed, taken,
               annotate_rarer(one));
        print_place(p, one);
        if (l && l->source) {
            fputs(" (", stdout);
            prof_print_name(names_text(&p->names, l->source), 0);
            printf(":%" PRIu32 ")", l->number);
        }
        putchar('\n');
    }
    free(order);
}
