/* align.c: see align.h.
 *
 * SPDX-License-Identifier: MIT */
#include "align.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>

#define LAYER  16384u /* states after a stretch, before the dear ones go; */
#define STATES 4000u /* ... and those that stay, about */
#define SLOTS  (2 * LAYER)
#define BACK   40u   /* stretches to look back to for where a thread was */
#define ADDRESSES 254u

/* What has to be assumed, and what that costs. */
enum {
    RESTART = 1, /* a system call began anew */
    RETURN = 1,  /* a thread goes on where it stopped before: a handler ended */
    EMPTY = 1,   /* a run had no user code */
    BREAK = 4,   /* a thread goes on elsewhere: a signal, exec */
    SURE = 1,    /* explanations that cost so much more count, too; */
    WIDE = 5,    /* ... and for other processors */
    KEEP = 9     /* ... and are kept, as others may become as dear */
};

/* Where a thread stopped: the index of an address, or: */
enum { BEGINS = ADDRESSES, ANYWHERE };

/* What explanations have in common after a stretch. */
typedef struct state {
    uint8_t stop[ALIGN_THREADS];
    uint32_t run;  /* of the stretch */
    uint16_t cost; /* of the cheapest one up to here, ... */
    uint16_t rest; /* ... and from here on */
} state;

/* A stretch, from a state of the layer before to one of the layer after it. */
typedef struct edge {
    uint16_t from;
    uint16_t to;
    uint16_t cost;
} edge;

#define NEVER UINT16_MAX

struct align {
    state *states;
    size_t state_count, state_max;
    edge *edges;
    size_t edge_count, edge_max;
    size_t *layers; /* the first state of each, ... */
    size_t layer_max;
    size_t *steps;  /* ... and the first edge to the next */
    size_t step_max;
    uint64_t address[ADDRESSES];
    unsigned addresses;
    size_t base;    /* number of the first run; */
    size_t runs;    /* ... how many there are */
    unsigned cheapest; /* of the layer in progress */
    uint16_t slot[SLOTS]; /* states of that by hash; LAYER: none */
    uint16_t moved[LAYER];
};

align *align_new(void)
{
    return (align *) calloc(1, sizeof(align));
}

void align_free(align *a)
{
    if (!a) return;
    free(a->states);
    free(a->edges);
    free(a->layers);
    free(a->steps);
    free(a);
}

static int is_in(const align_places *p, uint64_t ip)
{
    if (p->count > ALIGN_PLACES) return 1;
    for (unsigned i = 0; i < p->count; i++)
        if (p->ip[i] == ip) return 1;
    return 0;
}

void align_add(align_places *p, uint64_t ip)
{
    if (is_in(p, ip)) return;
    if (p->count < ALIGN_PLACES) p->ip[p->count] = ip;
    p->count++;
}

static int has_room(void *array, size_t *max, size_t want, size_t item)
{
    if (want <= *max) return 1;
    want += want / 2;
    if (!tool_grow(array, want, item)) return 0;
    *max = want;
    return 1;
}

static uint8_t index_of(align *a, uint64_t ip)
{
    unsigned i = 0;
    while (i < a->addresses && a->address[i] != ip) i++;
    if (i == ADDRESSES) return ANYWHERE;
    if (i == a->addresses) a->address[a->addresses++] = ip;
    return (uint8_t) i;
}

/* The state in the layer that begins at `first`; LAYER if there is no room. */
static unsigned put(align *a, size_t first, const state *s)
{
    uint64_t hash = s->run;
    unsigned i;
    size_t n = a->state_count - first;
    for (i = 0; i < ALIGN_THREADS; i++)
        hash = (hash ^ s->stop[i]) * 0x9e3779b97f4a7c15u;
    for (i = (unsigned) (hash >> 32) % SLOTS; a->slot[i] < LAYER;
         i = (i + 1) % SLOTS) {
        state *const old = &a->states[first + a->slot[i]];
        if (old->run != s->run || memcmp(old->stop, s->stop, ALIGN_THREADS))
            continue;
        if (s->cost < old->cost) old->cost = s->cost;
        return a->slot[i];
    }
    if (n >= LAYER
        || !has_room(&a->states, &a->state_max, a->state_count + 1, sizeof *s))
        return LAYER;
    a->slot[i] = (uint16_t) n;
    a->states[a->state_count++] = *s;
    return (unsigned) n;
}

/* The run begins: where is its thread? */
static void enter_run(align *a, state *s, const align_run *run)
{
    uint8_t *stop;
    if (run->thread >= ALIGN_THREADS || run->state == ALIGN_KEPT) return;
    stop = &s->stop[run->thread];
    if (run->state == ALIGN_NEW)
        *stop = BEGINS;
    else
        *stop = (uint8_t) (run->in.count == 1 ? index_of(a, run->in.ip[0])
                                              : (unsigned) ANYWHERE);
}

/* What it costs that a thread that stopped there goes on with stretch k. */
static unsigned going_on(const align *a, const align_stretch *all, size_t k,
                         unsigned thread, unsigned stop)
{
    const uint64_t ip = all[k].ip;
    if (stop == ANYWHERE) return 0;
    if (stop == BEGINS) return all[k].news >> thread & 1 ? 0 : BREAK;
    if (a->address[stop] == ip) return 0;
    if (a->address[stop] - 2 == ip) return RESTART;
    if (all[k].backs >> thread & 1) return RETURN;
    for (size_t i = k > BACK ? k - BACK : 0; i < k; i++)
        if ((all[i].stops >> thread & 1) && all[i].stop[thread] == ip)
            return RETURN;
    return BREAK;
}

/* What other processors say about the end of a run with stretch k, or about the
 * beginning of one with it. */
static unsigned leaving(const align_stretch *s, const align_run *run)
{
    return (s->stops >> run->thread & 1)
                && !is_in(&run->out, s->stop[run->thread]) ? BREAK : 0;
}

static unsigned entering(const align_stretch *s, const align_run *run)
{
    return run->state == ALIGN_IN && run->in.count != 1
                && !is_in(&run->in, s->ip) ? BREAK : 0;
}

/* Stretch k, from a state on. 0 without memory. */
static int follow(align *a, const align_stretch *all, size_t k,
                  const align_run *runs, size_t from, size_t first)
{
    const align_stretch *const stretch = &all[k];
    const size_t layer = a->layers[k];
    const size_t old = a->states[from].run;
    const unsigned left = k ? leaving(&all[k - 1], &runs[old]) : 0;
    state s = a->states[from];
    unsigned empty = 0;
    for (size_t run = old; run < a->runs; run++) {
        const unsigned thread = runs[run].thread;
        unsigned cost = empty;
        edge step;
        state next;
        if (run + a->base > stretch->last) break;
        if (run > old) enter_run(a, &s, &runs[run]);
        if (run > old && thread < ALIGN_THREADS) empty += EMPTY;
        if (thread >= ALIGN_THREADS || run + a->base < stretch->first
            || !(stretch->fits >> thread & 1))
            continue;
        cost += going_on(a, all, k, thread, s.stop[thread]);
        if (run > old) cost += left;
        if (run > old || !k) cost += entering(stretch, &runs[run]);
        next = s;
        if (s.cost + cost > a->cheapest + KEEP) continue;
        next.stop[thread] = ANYWHERE;
        if (stretch->stops >> thread & 1)
            next.stop[thread] = index_of(a, stretch->stop[thread]);
        next.run = (uint32_t) run;
        next.cost = (uint16_t) (s.cost + cost);
        if (next.cost < a->cheapest) a->cheapest = next.cost;
        step.to = (uint16_t) put(a, first, &next);
        step.from = (uint16_t) (from - layer);
        step.cost = (uint16_t) cost;
        if (step.to == LAYER) continue;
        if (!has_room(&a->edges, &a->edge_max, a->edge_count + 1, sizeof step))
            return 0;
        a->edges[a->edge_count++] = step;
    }
    return 1;
}

/* States that cost too much go, and the edges to them. */
static void prune(align *a, size_t first, size_t edges)
{
    const size_t count = a->state_count - first;
    size_t n = 0;
    size_t below[KEEP + 1] = {0};
    unsigned limit = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned more = a->states[first + i].cost - a->cheapest;
        if (more <= KEEP) below[more]++;
    }
    for (n = below[0]; limit < KEEP && n + below[limit + 1] <= STATES;)
        n += below[++limit];
    n = 0;
    for (size_t i = 0; i < count; i++) {
        const state s = a->states[first + i];
        a->moved[i] = LAYER;
        if (s.cost > a->cheapest + limit) continue;
        a->moved[i] = (uint16_t) n;
        a->states[first + n++] = s;
    }
    a->state_count = first + n;
    n = edges;
    for (size_t i = edges; i < a->edge_count; i++) {
        edge step = a->edges[i];
        step.to = a->moved[step.to];
        if (step.to < LAYER) a->edges[n++] = step;
    }
    a->edge_count = n;
}

/* The layer after stretch k. 0 if there is none, or no memory. */
static int forward(align *a, const align_stretch *all, size_t k,
                   const align_run *runs)
{
    const size_t first = a->state_count;
    if (!has_room(&a->layers, &a->layer_max, k + 2, sizeof *a->layers)
        || !has_room(&a->steps, &a->step_max, k + 2, sizeof *a->steps))
        return 0;
    a->layers[k + 1] = first;
    for (size_t i = 0; i < SLOTS; i++) a->slot[i] = LAYER;
    a->cheapest = NEVER - KEEP - 1;
    a->steps[k] = a->edge_count;
    for (size_t i = a->layers[k]; i < first; i++)
        if (!follow(a, all, k, runs, i, first)) return 0;
    prune(a, first, a->steps[k]);
    a->steps[k + 1] = a->edge_count;
    return a->state_count > first && a->cheapest < NEVER / 2;
}

/* An explanation that costs so much is one that others have to reckon with. */
static void say_places(const align_stretch *all, size_t k, align_run *runs,
                       size_t before, size_t run)
{
    const unsigned thread = runs[before].thread & 15;
    if (k && run == before) return;
    align_add(&runs[run].begins, all[k].ip);
    if (k && (all[k - 1].stops >> thread & 1))
        align_add(&runs[before].ends, all[k - 1].stop[thread]);
}

/* What the explanations say of stretch k. */
static void backward(align *a, align_stretch *all, size_t k, align_run *runs,
                     unsigned cheapest)
{
    state *const from = a->states + a->layers[k];
    const state *const to = a->states + a->layers[k + 1];
    all[k].threads = 0;
    all[k].low = SIZE_MAX;
    for (size_t i = a->layers[k]; i < a->layers[k + 1]; i++)
        a->states[i].rest = NEVER;
    for (size_t i = a->steps[k]; i < a->steps[k + 1]; i++) {
        const edge step = a->edges[i];
        state *const s = &from[step.from];
        const size_t run = to[step.to].run;
        unsigned cost = to[step.to].rest;
        if (cost == NEVER) continue;
        cost += step.cost;
        if (cost < s->rest) s->rest = (uint16_t) cost;
        cost += s->cost;
        if (cost <= cheapest + WIDE) say_places(all, k, runs, s->run, run);
        if (cost > cheapest + SURE) continue;
        all[k].threads |= (uint16_t) (1u << runs[run].thread);
        if (run + a->base < all[k].low) all[k].low = run + a->base;
    }
}

/* Follow the cheapest explanation. */
static void follow_cheapest(const align *a, align_stretch *all, size_t count)
{
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
        const state *const s = a->states + a->layers[k] + at;
        size_t i = a->steps[k];
        const edge *step;
        for (; i + 1 < a->steps[k + 1]; i++) {
            step = &a->edges[i];
            if (step->from == at
                && step->cost + a->states[a->layers[k + 1] + step->to].rest
                       == s->rest)
                break;
        }
        at = a->edges[i].to;
        all[k].run = a->base + a->states[a->layers[k + 1] + at].run;
    }
}

size_t align_find(align *a, align_stretch *stretches, size_t count,
                  align_run *runs, size_t base, size_t run_count)
{
    size_t done = 0;
    unsigned cheapest = NEVER;
    state begin;
    a->state_count = a->edge_count = a->addresses = 0;
    memset(&begin, 0, sizeof begin);
    memset(begin.stop, ANYWHERE, sizeof begin.stop);
    a->base = base;
    a->runs = run_count;
    for (size_t i = 0; i < run_count; i++)
        runs[i].begins.count = runs[i].ends.count = 0;
    enter_run(a, &begin, runs);
    if (!has_room(&a->states, &a->state_max, 1, sizeof begin)
        || !has_room(&a->layers, &a->layer_max, 1, sizeof *a->layers))
        return 0;
    a->states[a->state_count++] = begin;
    a->layers[0] = 0;
    while (done < count && forward(a, stretches, done, runs)) done++;
    if (done == 0) return 0;
    if (done < count) a->state_count = a->layers[done + 1];
    for (size_t i = a->layers[done]; i < a->state_count; i++) {
        state *const s = &a->states[i];
        s->rest = 0;
        if (s->cost < cheapest) cheapest = s->cost;
    }
    for (size_t i = a->layers[done]; i < a->state_count; i++)
        runs[a->states[i].run].ends.count = ALIGN_PLACES + 1; /* goes on */
    for (size_t k = done; k-- > 0;)
        backward(a, stretches, k, runs, cheapest);
    follow_cheapest(a, stretches, done);
    return done;
}
