/* charge.c: see charge.h.
 *
 * SPDX-License-Identifier: MIT */
#include "charge.h"
#include <stdlib.h>
#include <string.h>

enum { RUN, NOTE, STOP, GO, OFF };

void charge_init(charge *c, const charge_config *config, void *user)
{
    memset(c, 0, sizeof *c);
    c->config = config;
    c->user = user;
}

void charge_free(charge *c)
{
    free(c->parts);
    c->parts = NULL;
}

/* ---- what comes out ---- */

/* a * b / c, where b is at most c. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t c)
{
    if (b == c) return b ? a : 0;
    if ((a | b) >> 32 == 0) return a * b / c;
    return a / c * b + (uint64_t) ((double) (a % c) * (double) b / (double) c);
}

/* What is to be given out in one go: time and cycles of its instructions and of
 * its gaps, and how much of them was. */
typedef struct portion {
    uint64_t run, run_cycles, gap;
    uint64_t insns, gaps;
    uint64_t ns, cycles; /* of these instructions */
    int guess;
    int ends; /* ... without the last gap, which does not end */
} portion;

static void spend(charge *c, uint64_t insns, uint64_t ns, uint64_t cycles,
                  uint32_t line, int guess)
{
    calltree_cost cost;
    cost.insns = insns;
    cost.ns = ns;
    cost.cycles = cycles;
    cost.guess = guess ? ns : 0;
    c->ns += ns;
    c->config->spend(&cost, line, c->user);
}

static void spend_run(charge *c, portion *p, uint64_t insns, uint32_t line)
{
    const uint64_t to = p->insns += insns;
    const int all = to == c->insns;
    const uint64_t ns = all ? p->run : share(p->run, to, c->insns);
    const uint64_t cycles = all || !p->run_cycles
                              ? p->run_cycles
                              : share(p->run_cycles, to, c->insns);
    spend(c, insns, ns - p->ns, cycles - p->cycles, line, p->guess);
    p->ns = ns;
    p->cycles = cycles;
}

static void spend_gap(charge *c, portion *p)
{
    const uint64_t from = p->gaps;
    const uint64_t to = ++p->gaps;
    if (p->ends && to == c->gaps) return;
    spend(c, 0, share(p->gap, to, c->gaps) - share(p->gap, from, c->gaps), 0,
          0, p->guess);
}

/* Time without a processor, which is known, inside of a gap or not. */
static void spend_off(charge *c, uint64_t ns)
{
    if (c->given) c->config->go(c->user);
    c->config->stop(CHARGE_OFF_CPU, c->user);
    spend(c, 0, ns, 0, 0, 0);
    c->config->go(c->user);
    if (c->given) c->config->stop((charge_gap) c->given, c->user);
}

/* Give out all that is held back. */
static void give(charge *c, portion *p)
{
    if (c->given) spend_gap(c, p);
    for (size_t i = 0; i < c->count; i++) {
        const charge_part *const part = &c->parts[i];
        if (part->insns) spend_run(c, p, part->insns, part->line);
        switch (part->kind) {
        case RUN: break;
        case NOTE: c->config->note(part, c->user); break;
        case STOP:
            if (c->given) c->config->go(c->user);
            c->given = (uint8_t) part->what;
            c->config->stop((charge_gap) part->what, c->user);
            spend_gap(c, p);
            break;
        case OFF: spend_off(c, part->value); break;
        default:
            c->given = CHARGE_NO_GAP;
            c->config->go(c->user);
            break;
        }
    }
    if (c->run) spend_run(c, p, c->run, c->line);
    c->count = 0;
    c->insns = c->run = c->off = 0;
    c->gaps = c->given != CHARGE_NO_GAP;
}

/* ---- rates ---- */

/* The one that would be list[n / 2] if they were sorted; it moves them. */
static uint64_t median(uint64_t *list, int n)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const uint64_t pivot = list[n / 2];
        int i = low, j = high;
        while (i <= j) {
            while (list[i] < pivot) i++;
            while (list[j] > pivot) j--;
            if (i <= j) {
                const uint64_t kept = list[i];
                list[i++] = list[j];
                list[j--] = kept;
            }
        }
        if (j < n / 2) low = i;
        if (i > n / 2) high = j;
    }
    return list[n / 2];
}

/* What the instructions that are held back take, as others of the thread did.
 * Before any did: a quarter of a ns each. */
static uint64_t usual(const charge *c)
{
    uint64_t rates[CHARGE_RATES];
    const size_t n = c->rate_count < CHARGE_RATES ? (size_t) c->rate_count
                                                  : CHARGE_RATES;
    if (n == 0) return c->insns * CHARGE_FINE / 4;
    memcpy(rates, c->rates, n * sizeof *rates);
    return (uint64_t) ((double) median(rates, (int) n) * (double) c->insns
                       / 256);
}

static void learn(charge *c, uint64_t ns)
{
    c->rates[c->rate_count++ % CHARGE_RATES] =
        (uint64_t) ((double) ns * 256 / (double) c->insns);
}

/* ---- dates ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* An interval ends, or the thread does. */
static void close_at(charge *c, const charge_date_ *to, int ends)
{
    portion p = {0, 0, 0, 0, 0, 0, 0, 0, ends};
    if (c->dated && c->begun) {
        if (to->ns < c->last.ns || (c->insns == 0 && c->gaps == 0)) return;
        p.run = to->ns - c->last.ns;
        p.run -= least(p.run, c->off);
        if (to->cycles > c->last.cycles && to->cycles < CHARGE_NO_CYCLES)
            p.run_cycles = to->cycles - c->last.cycles;
        if (c->gaps == 0) {
            if (p.run) learn(c, p.run);
        } else {
            const uint64_t all = p.run;
            p.guess = c->insns != 0;
            p.run = p.guess ? least(usual(c), all) : 0;
            p.gap = all - p.run;
            p.run_cycles = share(p.run_cycles, p.run, all);
        }
    }
    c->ns = c->dated && c->begun ? c->last.ns : to->ns;
    give(c, &p);
    c->last = *to;
    c->ns = to->ns;
    c->dated = 1;
}

/* Instructions whose time nothing says are given out: until `most`. */
static void guess(charge *c, uint64_t most)
{
    portion p = {0, 0, 0, 0, 0, 0, 0, 1, 1};
    if (c->dated) p.run = least(usual(c), most);
    c->last.ns += p.run + c->off;
    give(c, &p);
}

static void use_waiting(charge *c)
{
    for (unsigned i = 0; i < c->waiting; i++) close_at(c, &c->wait[i], 0);
    c->waiting = 0;
}

/* ---- what goes in ---- */

/* There is room for no more parts. */
static int make_room(charge *c)
{
    const size_t max = c->max ? 2 * c->max : 64;
    charge_part *parts;
    if (c->max == CHARGE_HELD) {
        guess(c, UINT64_MAX);
        return 1;
    }
    parts = (charge_part *) realloc(c->parts, max * sizeof *parts);
    if (!parts) {
        c->failed = 1;
        return 0;
    }
    c->parts = parts;
    c->max = max;
    return 1;
}

static charge_part *add(charge *c, uint8_t kind)
{
    charge_part *part;
    if (c->count == c->max && !make_room(c)) return NULL;
    part = &c->parts[c->count++];
    part->kind = kind;
    part->insns = c->run;
    part->line = c->line;
    c->run = 0;
    return part;
}

/* Without times instructions of one line are held back until something else
 * comes. */
static void spend_untimed(charge *c)
{
    if (c->timed || c->run == 0) return;
    spend(c, c->run, 0, 0, c->line, 0);
    c->run = 0;
}

void charge_date(charge *c, uint64_t ns, uint64_t cycles, int edge)
{
    charge_date_ date;
    date.ns = ns;
    date.cycles = cycles;
    if (!c->timed) return;
    if (!c->gap) {
        c->edge = (uint8_t) edge;
        close_at(c, &date, 0);
    } else {
        if (c->waiting < 2) c->waiting++;
        c->wait[c->waiting - 1] = date;
        c->edge = (uint8_t) edge;
    }
}

void charge_run(charge *c, uint64_t insns, uint32_t line)
{
    if (c->gap) charge_go(c);
    if (line != c->line) {
        spend_untimed(c);
        if (c->run) (void) add(c, RUN);
        c->line = line;
    }
    charge_more(c, insns);
    c->begun = 1;
}

void charge_note(charge *c, uint16_t what, uint32_t number, uint64_t value,
                 uint64_t ns)
{
    charge_part direct;
    charge_part *const part = c->timed ? add(c, NOTE) : &direct;
    if (!part) return;
    spend_untimed(c);
    part->what = what;
    part->number = number;
    part->value = value;
    part->ns = ns;
    if (!c->timed) c->config->note(part, c->user);
}

/* Where a date is, one gap takes the place of another. */
void charge_stop(charge *c, charge_gap why)
{
    charge_part *part;
    spend_untimed(c);
    use_waiting(c);
    if (!c->timed || (c->given && c->count == 0)) {
        if (c->given) c->config->go(c->user);
        c->config->stop(why, c->user);
        c->gap = c->given = (uint8_t) why;
        return;
    }
    part = add(c, STOP);
    if (!part) return;
    part->what = (uint16_t) why;
    c->gap = (uint8_t) why;
    c->gaps++;
}

void charge_go(charge *c)
{
    const int edge = c->waiting && c->edge;
    spend_untimed(c);
    use_waiting(c);
    if (!c->begun && !c->gap && !c->gaps && c->dated && !c->edge)
        charge_stop(c, CHARGE_UNKNOWN);
    c->begun = 1;
    if (c->given && c->count == 0 && (edge || !c->timed)) {
        c->config->go(c->user);
        c->given = CHARGE_NO_GAP;
        c->gaps = 0;
    } else if (!c->gap || !add(c, GO)) {
        return;
    }
    c->gap = CHARGE_NO_GAP;
}

void charge_off(charge *c, uint64_t from, uint64_t to)
{
    const charge_gap why = (charge_gap) c->gap;
    charge_date(c, from, CHARGE_NO_CYCLES, 1);
    charge_stop(c, CHARGE_OFF_CPU);
    charge_date(c, to, CHARGE_NO_CYCLES, 1);
    if (why)
        charge_stop(c, why);
    else
        charge_go(c);
}

void charge_off_once(charge *c, uint64_t from, uint64_t to)
{
    charge_part *part;
    if (!c->dated || !c->begun) {
        charge_off(c, from, to);
        return;
    }
    spend_untimed(c);
    use_waiting(c);
    part = add(c, OFF);
    if (!part) return;
    part->value = to - from;
    c->off += to - from;
}

/* Is the thread in the kernel, from where flow would be seen to come back? */
static int is_in_kernel(const charge *c)
{
    return c->gap == CHARGE_SYSCALL || c->gap == CHARGE_FAULT
        || c->gap == CHARGE_INTERRUPT;
}

void charge_end(charge *c)
{
    spend_untimed(c);
    if (c->waiting && c->edge && is_in_kernel(c))
        use_waiting(c);
    else if (c->waiting)
        close_at(c, &c->wait[0], 1);
    if (c->timed) guess(c, c->waiting ? 0 : UINT64_MAX);
    if (c->given) c->config->go(c->user);
    c->given = c->gap = CHARGE_NO_GAP;
    c->gaps = c->waiting = 0;
}
