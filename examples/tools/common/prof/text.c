/* text.c: costs, names and indents as all views print them.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include <inttypes.h>
#include <string.h>

/* ---- costs ---- */

#if CHARGE_FINE != TIMELINE_FINE
#error "times of charge.h and timeline.h"
#endif

/* How many calls there were. Of code that is missing it is not known where it
 * returned to, if returns are compressed, and direct calls before flow is known
 * again are not seen. All calls of a function are seen to which no direct branch
 * leads; `function` is 0 where only some calls of one are counted. */
const char *prof_put_calls(ptprof *p, char text[24], uint64_t calls,
                           uint32_t function)
{
    const threads *const t = &p->session.threads;
    int least = t->losses[THREADS_NO_CODE]
             && !(t->decoder.flags & IPT_CONFIG_NO_RETCOMP);
    if (least && function && !p->no_kernel) {
        const functions_about *const f =
            &p->session.functions.list[function - 1].about;
        least = !f->symbol || !f->file || f->kind
             || direct_to(&p->direct, f->file, f->first);
    }
    snprintf(text, 24, "%s%" PRIu64, least ? ">=" : "", calls);
    return text;
}

uint64_t prof_own_of(const ptprof *p, const calltree_node *n)
{
    return p->by_insn ? n->own.insns : n->own.ns;
}

uint64_t prof_total_of(const ptprof *p, const calltree_node *n)
{
    return p->by_insn ? n->total.insns : n->total.ns;
}

/* ---- text ---- */

/* A cost in at most seven characters. */
void prof_put_cost(const ptprof *p, char text[16], uint64_t cost)
{
    static const char *const units[2][5] = {{"ns", "us", "ms", "s", "ks"},
                                            {"", "k", "M", "G", "T"}};
    double n = (double) cost;
    unsigned i = 0;
    for (; n >= 999.5 && i < 4; i++) n /= 1000;
    snprintf(text, 16, i == 0 ? "%.0f%s" : n < 9.995 ? "%.2f%s"
             : n < 99.95 ? "%.1f%s" : "%.0f%s", n, units[p->by_insn][i]);
}

/* A text after the sign of a guess, if one per cent of a time or more is. */
const char *prof_marked(const ptprof *p, char text[24], const char *from,
                        const calltree_cost *cost)
{
    const int is = !p->by_insn && cost->guess
                && cost->guess >= cost->ns / 100;
    snprintf(text, 24, "%s%s", is ? "~" : "", from);
    return text;
}

/* Instructions a cycle, if they are asked for. */
const char *prof_ipc_text(const ptprof *p, char text[24],
                          const calltree_cost *cost)
{
    *text = 0;
    if (p->opt.ipc && cost->cycles)
        snprintf(text, 24, "%5.2f  ",
                 (double) cost->insns / (double) cost->cycles);
    else if (p->opt.ipc)
        snprintf(text, 24, "    -  ");
    return text;
}

void prof_print_ipc(const ptprof *p, const calltree_cost *cost)
{
    char text[24];
    fputs(prof_ipc_text(p, text, cost), stdout);
}

/* Columns that that takes. */
int prof_ipc_width(const ptprof *p)
{
    return p->opt.ipc ? 7 : 0;
}

/* Not the first byte of a character? */
static int is_inner(char c)
{
    return ((uint8_t) c & 0xc0) == 0x80;
}

/* A text without control characters, with dots in its middle if it is too
 * wide. */
void prof_print_name(const char *text, int width)
{
    const int n = (int) strlen(text);
    int head = n;
    int tail = n;
    if (width > 2 && n > width) {
        head = width / 2 - 1;
        tail = n - (width - head - 2);
        while (head && is_inner(text[head])) head--;
        while (is_inner(text[tail])) tail++;
    }
    for (int i = 0; i < n; i++) {
        if (i == head) {
            fputs("..", stdout);
            i = tail;
        }
        putchar((uint8_t) text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
    }
}

/* Columns of the terminal that are left for a name; 0: it is none. */
int prof_room_after(const ptprof *p, int used)
{
    return p->columns == 0 ? 0 : p->columns - used > 8 ? p->columns - used : 8;
}

/* What is `depth` calls deep begins here: where there is no room for that, its
 * depth is shown. Returns the columns that it took. */
int prof_indent(const ptprof *p, int used, uint32_t depth)
{
    const uint32_t most = p->columns ? (uint32_t) prof_room_after(p, used + 20) / 2
                                     : UINT32_MAX;
    if (depth > most) return printf("%" PRIu32 "> ", depth);
    for (uint32_t i = 0; i < depth; i++) fputs("  ", stdout);
    return 2 * (int) depth;
}

/* A moment of a thread. */
void prof_print_time(const ptprof *p, int width, uint64_t cost)
{
    if (p->by_insn)
        printf("%*" PRIu64, width, cost);
    else
        printf("%*" PRIu64 ".%09" PRIu64, width > 10 ? width - 10 : 0,
               cost / 1000000000, cost % 1000000000);
}
