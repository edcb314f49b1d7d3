/* ends.c: the end of threads, and a moment: --last, --before, --at.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- --last ---- */

static void print_thread(const thread *t)
{
    prof_print_name(*t->task->comm ? t->task->comm : "-", 0);
    printf(" %" PRIu32, t->task->tid);
}

static void print_ring(const thread *t)
{
    ptprof *const p = t->in;
    const uint64_t last = p->opt.last;
    for (uint64_t n = t->put > last ? t->put - last : 0; n < t->put; n++) {
        const moment *const m = &t->ring[n % last];
        int used;
        prof_print_time(p, 16, m->cost);
        putchar(' ');
        used = 19 + prof_indent(p, 19, m->depth);
        printf("%c ", m->sign);
        prof_print_name(prof_function_text(p, m->name), prof_room_after(p, used));
        putchar('\n');
    }
}

static void print_last(const thread *t, const char *what)
{
    ptprof *const p = t->in;
    print_thread(t);
    if (what) {
        printf(", before %s at ", what);
        prof_print_time(p, 0, prof_cost_of(t));
    }
    putchar('\n');
    print_ring(t);
}

/* Is what comes now what --before asks for? */
void prof_show_before(thread *t, const char *what)
{
    ptprof *const p = t->in;
    if (!p->opt.before || strcmp(p->opt.before, what) != 0) return;
    if (p->befores++) putchar('\n');
    print_last(t, what);
}

/* ---- --at ---- */

/* The stack as it is, the innermost function first. */
static void print_stack(ptprof *p, const thread *t)
{
    size_t number = 0;
    stack_function f;
    crash_end here;
    uint64_t ip = 0;
    memset(&f, 0, sizeof f);
    memset(&here, 0, sizeof here);
    here.task = t->task;
    here.guest = t->guest;
    f.name = t->gap;
    if (t->gap) number = crash_frame(&here, &p->session, number, 0, &f);
    if (p->opt.spots && t->row)
        ip = strtoull(names_text(&p->spots, t->row), NULL, 16);
    for (size_t i = t->depth; i > 0; i--) {
        const open_call *const call = &t->calls[i - 1];
        const line *const l = i == t->depth && t->row && !p->opt.spots
                            ? &p->lines[t->row - 1] : NULL;
        if (call->inlined && ip) continue; /* it is in the lines of its caller */
        f.name = p->tree.list[call->node].name;
        if (l && l->source) {
            printf("#%-3zu ", number++);
            prof_print_name(prof_function_text(p, f.name), 0);
            fputs(" (", stdout);
            prof_print_name(names_text(&p->names, l->source), 0);
            printf(":%" PRIu32 ")\n", l->number);
        } else {
            number = crash_frame(&here, &p->session, number, ip, &f);
        }
        ip = call->back ? call->back - 1 : 0;
    }
}

/* What comes now is later than what came before. Was the time of --at between
 * the two? ended: nothing comes. */
void prof_show_at(thread *t, int ended)
{
    ptprof *const p = t->in;
    const uint64_t ns = prof_moment_of(t) / CHARGE_FINE;
    if (!p->opt.moment || t->at_shown || (!ended && ns <= p->opt.at)) return;
    t->at_shown = 1;
    if (!t->depth) return;
    if (p->at_count++) putchar('\n');
    print_thread(t);
    if (ended) {
        fputs(", nothing later than ", stdout);
        prof_print_time(p, 0, ns);
    }
    putchar('\n');
    print_stack(p, t);
}

static thread *thread_of_end(crash_end *end)
{
    return (thread *) end->task->user;
}

/* How threads ended; 1: all by themselves. */
int prof_print_crashes(ptprof *p)
{
    crash_end **const list =
        (crash_end **) malloc((p->thread_count + 1) * sizeof *list);
    size_t shown = 0;
    int is_of = p->core.count == 0;
    if (!list) prof_out_of_memory(p);
    for (size_t i = 0; i < p->thread_count; i++) {
        list[i] = &p->threads[i]->end;
        is_of |= corefile_thread(&p->core, p->threads[i]->task->tid) != NULL;
    }
    crash_judge(list, p->thread_count, &p->core);
    for (size_t i = 0; i < p->thread_count; i++) {
        const thread *const t = thread_of_end(list[i]);
        if (list[i]->verdict == CRASH_LEFT || list[i]->kind == CRASH_NONE)
            continue;
        if (shown++) putchar('\n');
        crash_print(list[i], &p->session, &p->core);
        if (t->put) puts("last calls:");
        print_ring(t);
    }
    free(list);
    if (!is_of)
        fprintf(stderr, "%s: --core: it has no thread of this recording.\n",
                p->args->program);
    if (shown) return !is_of;
    fprintf(stderr, "%s: --before crash: each thread ended by itself.\n",
            p->args->program);
    return 1;
}

/* Calls before the end of each thread; 1: what --before asks for was not
 * there. */
int prof_print_moments(ptprof *p)
{
    for (size_t i = 0; i < p->thread_count && !p->opt.before; i++) {
        if (i) putchar('\n');
        print_last(p->threads[i], NULL);
    }
    if (!p->opt.before || p->befores) return 0;
    fprintf(stderr, "%s: --before %s: there is none.\n", p->args->program,
            p->opt.before);
    return 1;
}
