/* align.c: see align.h.
 *
 * SPDX-License-Identifier: MIT */
#include "align.h"
#include "../code/tool.h"
#include <stdlib.h>
#include <string.h>

#define LAYER  65535u /* states after a stretch; */
#define STATES 5000u /* ... and when those that are alike have become one */
#define MANY   2000000u /* edges: from there on, fewer states */
#define FEW    100u
#define SLOTS  (2 * LAYER + 2)
#define ADDRESSES 256u

/* What has to be assumed, and what that costs. */
enum {
    BREAK = 4096, /* a thread goes on elsewhere though others stopped there */
    EMPTY = 1,    /* a run had no user code: only of explanations that are as
                     good, that with the fewest of these is best; */
    RESTART = 1,  /* ... so, too, if a system call began again */
    KEEP = 3      /* with so many BREAKs more than others explanations are kept,
                     if there are none without, as others may become as dear */
};

/* Places as a thread may have stopped in: bits of addresses. */
typedef struct place_set {
    uint64_t address[ADDRESSES / 64];
    uint8_t fresh;
    uint8_t anywhere;
} place_set;

/* Where a thread stopped: the index of an address or, after these, of a set. */
enum { SETS = ADDRESSES, ANYWHERE = SETS, NONE = UINT16_MAX };

/* What explanations have in common after a stretch. */
typedef struct state {
    uint16_t stop[ALIGN_THREADS];
    uint32_t run;  /* of the stretch */
    uint32_t cost; /* of the cheapest one up to here, ... */
    uint32_t rest; /* ... and from here on */
} state;

/* A stretch, from a state of the layer before to one of the layer after it. */
typedef struct edge {
    uint16_t from;
    uint16_t to;
    uint32_t cost;
} edge;

#define NEVER UINT32_MAX

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
    place_set *sets;    /* the first is ANYWHERE, then those of the runs */
    size_t set_count, set_max;
    uint16_t *said; /* the place that a run had last, for align_run.ends */
    size_t said_max;
    uint16_t here;      /* the place where the stretch begins, if known; */
    uint16_t again;      /* ... and that after the system call there */
    uint8_t odd;        /* nobody stopped there, as far as is known */
    size_t base;    /* number of the first run; */
    size_t runs;    /* ... how many there are */
    uint32_t cheapest; /* of the layer in progress */
    uint32_t dropped;  /* the cheapest state that was not kept */
    unsigned keep;     /* BREAKs more than that may have */
    unsigned sure;     /* explanations with so many BREAKs more count, too */
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
    free(a->sets);
    free(a->said);
    free(a);
}

int align_has(const align_places *p, uint64_t ip)
{
    if (p->count > ALIGN_PLACES) return 1;
    for (unsigned i = 0; i < p->count; i++)
        if (p->ip[i] == ip) return 1;
    return 0;
}

void align_anywhere(align_places *p)
{
    p->count = ALIGN_PLACES + 1;
}

void align_add(align_places *p, uint64_t ip)
{
    if (align_has(p, ip)) return;
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

void align_join(align_places *p, const align_places *more)
{
    p->fresh |= more->fresh;
    if (more->count > ALIGN_PLACES) align_anywhere(p);
    for (unsigned i = 0; i < more->count && i < ALIGN_PLACES; i++)
        align_add(p, more->ip[i]);
}

static uint16_t find_address(const align *a, uint64_t ip)
{
    for (unsigned i = 0; i < a->addresses; i++)
        if (a->address[i] == ip) return (uint16_t) i;
    return NONE;
}

static uint16_t index_of(align *a, uint64_t ip)
{
    const uint16_t i = find_address(a, ip);
    if (i != NONE) return i;
    if (a->addresses == ADDRESSES) return ANYWHERE;
    a->address[a->addresses] = ip;
    return (uint16_t) a->addresses++;
}

static int has_place(const place_set *s, unsigned i)
{
    return i < ADDRESSES && (s->address[i / 64] >> i % 64 & 1);
}

static void add_place(const align *a, place_set *s, unsigned stop)
{
    const place_set *const from = &a->sets[stop >= SETS ? stop - SETS : 0];
    if (stop < SETS) {
        s->address[stop / 64] |= (uint64_t) 1 << stop % 64;
        return;
    }
    for (unsigned i = 0; i < ADDRESSES / 64; i++)
        s->address[i] |= from->address[i];
    s->fresh |= from->fresh;
    s->anywhere |= from->anywhere;
}

/* A new set; ANYWHERE without memory. */
static uint16_t put_set(align *a, const place_set *s)
{
    if (s->anywhere || a->set_count + SETS >= NONE
        || !has_room(&a->sets, &a->set_max, a->set_count + 1, sizeof *s))
        return ANYWHERE;
    a->sets[a->set_count] = *s;
    return (uint16_t) (SETS + a->set_count++);
}

/* The places of a run. */
static uint16_t set_of(align *a, const align_places *p)
{
    place_set s;
    memset(&s, 0, sizeof s);
    s.fresh = p->fresh;
    s.anywhere = p->count > ALIGN_PLACES;
    for (unsigned i = 0; !s.anywhere && i < p->count; i++)
        add_place(a, &s, index_of(a, p->ip[i]));
    return put_set(a, &s);
}

/* Add the places of a state. */
static void say_stop(const align *a, align_places *p, unsigned stop)
{
    place_set s;
    memset(&s, 0, sizeof s);
    add_place(a, &s, stop);
    if (s.anywhere) align_anywhere(p);
    p->fresh |= s.fresh;
    for (unsigned i = 0; i < a->addresses; i++)
        if (has_place(&s, i)) align_add(p, a->address[i]);
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
        if (old->run != s->run || memcmp(old->stop, s->stop, sizeof s->stop))
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

/* A run begins: where is its thread? */
static void enter_run(uint16_t *stop, const align_run *run)
{
    if (run->thread < ALIGN_THREADS && !run->kept)
        stop[run->thread] = run->set;
}

/* Where does stretch k begin? If nobody stopped there, it is for all threads
 * the same that they go on there. */
static void look_at(align *a, const align_stretch *s)
{
    a->here = find_address(a, s->ip);
    a->again = find_address(a, s->ip + 2);
    a->odd = a->here == NONE && a->again == NONE && !s->news;
}

/* What it costs that a thread that stopped there goes on with the stretch. */
static uint32_t going_on(const align *a, const align_stretch *s,
                         unsigned thread, unsigned stop)
{
    const place_set *const in = &a->sets[stop >= SETS ? stop - SETS : 0];
    if (stop < SETS)
        return stop == a->here || a->odd ? 0
             : stop == a->again           ? RESTART : BREAK;
    if (in->anywhere || a->odd || has_place(in, a->here)
        || (in->fresh && s->news >> thread & 1))
        return 0;
    return has_place(in, a->again) ? RESTART : BREAK;
}

/* What other processors say about the end of a run with stretch k. */
static uint32_t leaving(const align_stretch *s, const align_run *run)
{
    const uint64_t stop = s->stop[run->thread & 15];
    return (s->stops >> run->thread & 1) && !align_has(&run->out, stop)
                && !align_has(&run->out, stop - 2)
             ? BREAK : 0;
}

static int is_near(uint32_t cost, uint32_t cheapest, unsigned more)
{
    return cost / BREAK <= cheapest / BREAK + more;
}

/* A state is not kept. */
static void leave_out(align *a, uint32_t cost)
{
    if (cost < a->dropped) a->dropped = cost;
}

/* Stretch k, from a state on. 0 without memory. */
static int follow(align *a, const align_stretch *all, size_t k,
                  const align_run *runs, size_t from, size_t first)
{
    const align_stretch *const stretch = &all[k];
    const size_t layer = a->layers[k];
    const size_t old = a->states[from].run;
    const uint32_t left = k ? leaving(&all[k - 1], &runs[old]) : 0;
    state s = a->states[from];
    uint32_t empty = 0;
    for (size_t run = old; run < a->runs; run++) {
        const unsigned thread = runs[run].thread;
        uint32_t cost = empty;
        edge step;
        state next;
        if (run + a->base > stretch->last) break;
        if (run > old) enter_run(s.stop, &runs[run]);
        if (run > old && thread < ALIGN_THREADS) empty += EMPTY;
        if (thread >= ALIGN_THREADS || run + a->base < stretch->first
            || !(stretch->fits >> thread & 1))
            continue;
        cost += going_on(a, stretch, thread, s.stop[thread]);
        if (run > old) cost += left;
        next = s;
        next.stop[thread] = ANYWHERE;
        if (stretch->stops >> thread & 1)
            next.stop[thread] = index_of(a, stretch->stop[thread]);
        next.run = (uint32_t) run;
        next.cost = s.cost + cost;
        if (!is_near(next.cost, a->cheapest, a->keep)) {
            leave_out(a, next.cost);
            continue;
        }
        if (next.cost < a->cheapest) a->cheapest = next.cost;
        step.to = (uint16_t) put(a, first, &next);
        step.from = (uint16_t) (from - layer);
        step.cost = cost;
        if (step.to == LAYER) {
            leave_out(a, next.cost);
            continue;
        }
        if (!has_room(&a->edges, &a->edge_max, a->edge_count + 1, sizeof step))
            return 0;
        a->edges[a->edge_count++] = step;
    }
    return 1;
}

/* States that cost too much go; the others are numbered again, and those that
 * are alike become one. */
static void compact(align *a, size_t first)
{
    const size_t count = a->state_count - first;
    a->state_count = first;
    memset(a->slot, 0xff, sizeof a->slot);
    for (size_t i = 0; i < count; i++) {
        const state s = a->states[first + i];
        a->moved[i] = LAYER;
        if (is_near(s.cost, a->cheapest, a->keep))
            a->moved[i] = (uint16_t) put(a, first, &s);
        else
            leave_out(a, s.cost);
    }
}

/* The edges follow. */
static void move_edges(align *a, size_t edges)
{
    size_t n = edges;
    for (size_t i = edges; i < a->edge_count; i++) {
        edge step = a->edges[i];
        step.to = a->moved[step.to];
        if (step.to < LAYER) a->edges[n++] = step;
    }
    a->edge_count = n;
}

/* In how many places may a thread be? */
static unsigned variety(const align *a, size_t first, unsigned thread)
{
    uint64_t known[(UINT16_MAX + 1) / 64];
    unsigned n = 0;
    memset(known, 0, sizeof known);
    for (size_t i = first; i < a->state_count; i++) {
        const unsigned stop = a->states[i].stop[thread];
        n += !(known[stop / 64] >> stop % 64 & 1);
        known[stop / 64] |= (uint64_t) 1 << stop % 64;
    }
    return n;
}

/* There are too many states: that thread which may be in the most places is
 * then in one of them in each state. 0 if all are only in one. */
static int widen(align *a, size_t first)
{
    unsigned most = 1;
    unsigned thread = 0;
    uint16_t stop;
    place_set s;
    for (unsigned i = 0; i < ALIGN_THREADS; i++) {
        const unsigned n = variety(a, first, i);
        if (n <= most) continue;
        most = n;
        thread = i;
    }
    if (most == 1) return 0;
    memset(&s, 0, sizeof s);
    for (size_t i = first; i < a->state_count; i++)
        add_place(a, &s, a->states[i].stop[thread]);
    stop = put_set(a, &s);
    for (size_t i = first; i < a->state_count; i++)
        a->states[i].stop[thread] = stop;
    return 1;
}

/* The layer after stretch k. 0 if there is none, or no memory. */
static int forward(align *a, const align_stretch *all, size_t k,
                   const align_run *runs, size_t count)
{
    const size_t first = a->state_count;
    const align_stretch *const next = &all[k + 1 < count ? k + 1 : k];
    const size_t fan = next->last - a->base + 1;
    const size_t most = a->edge_count < MANY ? STATES : FEW;
    const size_t limit = LAYER / most < fan ? LAYER / fan : most;
    if (!has_room(&a->layers, &a->layer_max, k + 2, sizeof *a->layers)
        || !has_room(&a->steps, &a->step_max, k + 2, sizeof *a->steps))
        return 0;
    a->layers[k + 1] = first;
    memset(a->slot, 0xff, sizeof a->slot);
    a->cheapest = NEVER - (KEEP + 1) * (uint32_t) BREAK;
    look_at(a, &all[k]);
    a->steps[k] = a->edge_count;
    for (size_t i = a->layers[k]; i < first; i++)
        if (!follow(a, all, k, runs, i, first)) return 0;
    do {
        compact(a, first);
        move_edges(a, a->steps[k]);
    } while (a->state_count - first > limit && widen(a, first));
    a->steps[k + 1] = a->edge_count;
    return a->state_count > first && a->cheapest < NEVER / 2;
}

/* Stretch k begins in run `to`; the one before it was in run `from`. */
static void say_ends(const align_stretch *all, size_t k, align_run *runs,
                     size_t from, size_t to)
{
    const unsigned left = runs[from].thread & 15;
    if (k && to == from) return;
    align_add(&runs[to].begins, all[k].ip);
    if (k && (all[k - 1].stops >> left & 1))
        align_add(&runs[from].ends, all[k - 1].stop[left]);
    else if (k)
        align_anywhere(&runs[from].ends);
}

/* What others have to reckon with: no run after `from` and before `to` has user
 * code. */
static void say_empty(align *a, size_t k, align_run *runs, const state *from,
                      size_t to)
{
    uint16_t stop[ALIGN_THREADS];
    memcpy(stop, from->stop, sizeof stop);
    for (size_t run = k ? from->run + 1 : 0; run < to; run++) {
        const unsigned thread = runs[run].thread;
        if (thread >= ALIGN_THREADS) continue;
        enter_run(stop, &runs[run]);
        align_anywhere(&runs[run].begins);
        if (a->said[run] == stop[thread]) continue; /* as often */
        a->said[run] = stop[thread];
        say_stop(a, &runs[run].ends, stop[thread]);
    }
}

/* What the explanations say of stretch k. Edges are sorted by the state where
 * they begin, then by run. */
static void backward(align *a, align_stretch *all, size_t k, align_run *runs,
                     uint32_t cheapest)
{
    state *const from = a->states + a->layers[k];
    const state *const to = a->states + a->layers[k + 1];
    const size_t end = a->steps[k + 1];
    size_t last = 0; /* run, of an edge of the same state */
    all[k].threads = 0;
    all[k].low = SIZE_MAX;
    for (size_t i = a->layers[k]; i < a->layers[k + 1]; i++)
        a->states[i].rest = NEVER;
    for (size_t i = a->steps[k]; i < end; i++) {
        const edge step = a->edges[i];
        state *const s = &from[step.from];
        const size_t run = to[step.to].run;
        uint32_t cost = to[step.to].rest;
        if (cost != NEVER) {
            cost += step.cost;
            if (cost < s->rest) s->rest = cost;
            cost += s->cost;
        }
        if (cost != NEVER && is_near(cost, cheapest, a->sure)) {
            last = run;
            say_ends(all, k, runs, s->run, run);
            all[k].threads |= (uint16_t) (1u << runs[run].thread);
            if (run + a->base < all[k].low) all[k].low = run + a->base;
        }
        if (i + 1 < end && a->edges[i + 1].from == step.from) continue;
        say_empty(a, k, runs, s, last);
        last = 0;
    }
}

/* Follow the cheapest explanation. */
static void follow_cheapest(const align *a, align_stretch *all, size_t count)
{
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
        const state *const s = a->states + a->layers[k] + at;
        size_t i = a->steps[k];
        for (; i + 1 < a->steps[k + 1]; i++) {
            const edge *const step = &a->edges[i];
            const uint32_t rest = a->states[a->layers[k + 1] + step->to].rest;
            if (step->from == at && rest != NEVER
                && step->cost + rest == s->rest)
                break;
        }
        at = a->edges[i].to;
        all[k].run = a->base + a->states[a->layers[k + 1] + at].run;
    }
}

/* Nothing is sure. */
static void none_sure(const align *a, align_stretch *all, size_t count,
                    const align_run *runs)
{
    for (size_t k = 0; k < count; k++) {
        align_stretch *const s = &all[k];
        s->low = s->first;
        for (size_t i = s->first - a->base;
             i < a->runs && i + a->base <= s->last; i++)
            if (runs[i].thread < ALIGN_THREADS)
                s->threads |= (uint16_t) (s->fits & 1u << runs[i].thread);
    }
}

/* What is known of runs that may come after the last stretch: nothing. */
static void open_end(align *a, size_t first, align_run *runs,
                     uint32_t cheapest)
{
    size_t end = SIZE_MAX;
    for (size_t i = first; i < a->state_count; i++)
        if (is_near(a->states[i].cost, cheapest, a->sure)
            && a->states[i].run < end)
            end = a->states[i].run;
    if (is_near(a->dropped, cheapest, a->sure)) end = 0;
    for (size_t i = end; i < a->runs; i++) {
        align_anywhere(&runs[i].ends);
        if (i > end || end == 0) align_anywhere(&runs[i].begins);
    }
}

/* Nothing is known, but what is known of runs. 0 without memory. */
static int begin_all(align *a, align_run *runs, size_t run_count)
{
    place_set anywhere;
    state s;
    a->state_count = a->edge_count = a->set_count = a->addresses = 0;
    a->dropped = NEVER;
    a->runs = run_count;
    if (!has_room(&a->sets, &a->set_max, 1, sizeof anywhere)
        || !has_room(&a->states, &a->state_max, 1, sizeof s)
        || !has_room(&a->layers, &a->layer_max, 1, sizeof *a->layers)
        || !has_room(&a->said, &a->said_max, run_count, sizeof *a->said))
        return 0;
    memset(a->said, 0xff, run_count * sizeof *a->said); /* NONE */
    memset(&anywhere, 0, sizeof anywhere);
    anywhere.anywhere = 1;
    a->sets[a->set_count++] = anywhere;
    memset(&s, 0, sizeof s);
    for (unsigned i = 0; i < ALIGN_THREADS; i++) s.stop[i] = ANYWHERE;
    for (size_t i = 0; i < run_count; i++) {
        runs[i].set = set_of(a, &runs[i].in);
        memset(&runs[i].begins, 0, sizeof runs[i].begins);
        memset(&runs[i].ends, 0, sizeof runs[i].ends);
    }
    enter_run(s.stop, runs);
    a->states[a->state_count++] = s;
    a->layers[0] = 0;
    return 1;
}

/* All layers, as far as that goes; *cheapest: what the best explanation costs.
 * How many there are. */
static size_t all_forward(align *a, const align_stretch *all, size_t count,
                          align_run *runs, size_t run_count,
                          uint32_t *cheapest)
{
    size_t done = 0;
    *cheapest = NEVER;
    if (!begin_all(a, runs, run_count)) return 0;
    while (done < count && forward(a, all, done, runs, count)) done++;
    if (done < count) a->dropped = 0;
    if (done > 0 && done < count) a->state_count = a->layers[done + 1];
    for (size_t i = a->layers[done]; i < a->state_count; i++) {
        state *const s = &a->states[i];
        s->rest = 0;
        if (s->cost < *cheapest) *cheapest = s->cost;
    }
    a->sure = *cheapest / BREAK;
    return done;
}

size_t align_find(align *a, align_stretch *stretches, size_t count,
                  align_run *runs, size_t base, size_t run_count)
{
    uint32_t cheapest;
    size_t done;
    a->base = base;
    a->keep = 0;
    done = all_forward(a, stretches, count, runs, run_count, &cheapest);
    if (is_near(a->dropped, cheapest, a->sure)) {
        a->keep = KEEP;
        done = all_forward(a, stretches, count, runs, run_count, &cheapest);
    }
    if (done == 0) return 0;
    for (size_t k = done; k-- > 0;)
        backward(a, stretches, k, runs, cheapest);
    open_end(a, a->layers[done], runs, cheapest);
    follow_cheapest(a, stretches, done);
    if (is_near(a->dropped, cheapest, a->sure))
        none_sure(a, stretches, done, runs);
    return done;
}
