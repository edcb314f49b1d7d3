/* align.c: see align.h.
 *
 * SPDX-License-Identifier: MIT */
#include "align.h"
#include "../code/tool.h"
#include <stdlib.h>
#include <string.h>

/* Work: a place of each thread, in a run. */
#define EACH  300u  /* for a stretch; */
#define MOST  8192u /* ... at most, of what others leave, .. */
#define SHARE 4u    /* .. and so many times its part of that */
#define FEW   256u
#define SLOTS (4 * MOST)
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

/* What explanations have in common in a run, between two stretches. What is next
 * is the stretch, in that run, or the run after it; 0 if that is not possible. */
typedef struct node {
    uint16_t stop[ALIGN_THREADS];
    uint16_t in_cost;
    uint16_t on_cost;
    uint32_t run;
    uint32_t in;   /* the node after the stretch; */
    uint32_t on;   /* ... that in the next run */
    uint32_t cost; /* of the cheapest one up to here, ... */
    uint32_t rest; /* ... and from here on */
} node;

#define NEVER UINT32_MAX

struct align {
    node *nodes;
    size_t node_count, node_max;
    size_t *layers; /* the first node of each stretch, by run: those in the run of
                       the stretch before it; ... */
    size_t layer_max;
    size_t *later;  /* ... and the first of those in a run after that */
    size_t later_max;
    uint64_t address[ADDRESSES];
    unsigned addresses;
    place_set *sets;    /* the first is ANYWHERE, then those of the runs */
    size_t set_count, set_max;
    uint16_t *said; /* the place that a run had last, for align_run.ends */
    size_t said_max;
    uint16_t here;      /* the place where the stretch begins, if known; */
    uint16_t again;      /* ... and that after the system call there */
    uint8_t odd;        /* nobody stopped there, as far as is known */
    uint16_t stop[ALIGN_THREADS]; /* of the stretch; NONE: not looked for yet */
    size_t base;    /* number of the first run; */
    size_t runs;    /* ... how many there are */
    uint32_t cheapest; /* after the stretch before; */
    uint32_t cheapest_next; /* ... after this one */
    uint32_t dropped;  /* the cheapest node that was not kept */
    unsigned keep;     /* BREAKs more than that may have */
    unsigned sure;     /* explanations with so many BREAKs more count, too */
    unsigned threads;  /* numbers of threads are below that */
    size_t work;       /* that is left for all */
    uint32_t group;    /* number of the nodes that are told apart now */
    struct slot {
        uint32_t group;
        uint32_t node;
    } slot[SLOTS];     /* nodes by hash, also those of other groups */
};

align *align_new(void)
{
    return (align *) calloc(1, sizeof(align));
}

void align_free(align *a)
{
    if (!a) return;
    free(a->nodes);
    free(a->layers);
    free(a->later);
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

/* Add the places of a node. */
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

/* Where the node with these stops is, or can be. */
static struct slot *find_slot(align *a, const uint16_t *stop)
{
    uint64_t word[ALIGN_THREADS / 4];
    uint64_t hash = 0;
    size_t i;
    memcpy(word, stop, sizeof word);
    for (i = 0; 4 * i < a->threads; i++)
        hash = (hash ^ hash >> 32 ^ word[i]) * 0x9e3779b97f4a7c15u;
    for (i = (size_t) (hash >> 32) % SLOTS; a->slot[i].group == a->group;
         i = (i + 1) % SLOTS)
        if (!memcmp(a->nodes[a->slot[i].node].stop, stop, sizeof word)) break;
    return &a->slot[i];
}

/* The node with these stops, in the run of all of this group; 0 without
 * memory. */
static uint32_t put(align *a, const node *n)
{
    struct slot *const to = find_slot(a, n->stop);
    if (to->group != a->group) {
        if (!has_room(&a->nodes, &a->node_max, a->node_count + 1, sizeof *n))
            return 0;
        to->group = a->group;
        to->node = (uint32_t) a->node_count;
        a->nodes[a->node_count] = *n;
        a->nodes[a->node_count].in = a->nodes[a->node_count].on = 0;
        a->node_count++;
    } else if (n->cost < a->nodes[to->node].cost) {
        a->nodes[to->node].cost = n->cost;
    }
    return to->node;
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
    memset(a->stop, 0xff, sizeof a->stop);
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

/* From node i before stretch k to the next run. 0 without memory. */
static int go_later(align *a, const align_stretch *all, size_t k,
                    const align_run *runs, size_t i)
{
    node next = a->nodes[i];
    const align_run *const run = &runs[next.run++];
    uint32_t to;
    uint32_t cost = run > runs && run->thread < ALIGN_THREADS ? EMPTY : 0;
    if (next.run == a->runs || next.run + a->base > all[k].last) return 1;
    if (i < a->later[k]) cost = leaving(&all[k - 1], run);
    enter_run(next.stop, &runs[next.run]);
    next.cost += cost;
    to = put(a, &next);
    a->nodes[i].on = to;
    a->nodes[i].on_cost = (uint16_t) cost;
    return to != 0;
}

/* Stretch k is of the run of node i. 0 without memory. */
static int go_into(align *a, const align_stretch *all, size_t k,
                   const align_run *runs, size_t i)
{
    const align_stretch *const s = &all[k];
    node next = a->nodes[i];
    const unsigned thread = runs[next.run].thread;
    uint32_t cost, to;
    if (thread >= ALIGN_THREADS || next.run + a->base < s->first
        || next.run + a->base > s->last || !(s->fits >> thread & 1))
        return 1;
    cost = going_on(a, s, thread, next.stop[thread]);
    if (a->stop[thread] == NONE)
        a->stop[thread] = s->stops >> thread & 1 ? index_of(a, s->stop[thread])
                                                 : ANYWHERE;
    next.stop[thread] = a->stop[thread];
    next.cost += cost;
    if (next.cost < a->cheapest_next) a->cheapest_next = next.cost;
    to = put(a, &next);
    a->nodes[i].in = to;
    a->nodes[i].in_cost = (uint16_t) cost;
    return to != 0;
}

/* Go from each node before stretch k, run by run. 0 without memory. */
static int go(align *a, const align_stretch *all, size_t k,
              const align_run *runs,
              int (*step)(align *, const align_stretch *, size_t,
                          const align_run *, size_t))
{
    const size_t later = a->later[k];
    const size_t end = step == go_into ? a->node_count : SIZE_MAX;
    size_t i = a->layers[k];
    size_t j = later;
    for (size_t run = 0; run < a->runs; run++) {
        a->group++;
        for (; i < later && a->nodes[i].run == run; i++)
            if (!is_near(a->nodes[i].cost, a->cheapest, a->keep)) {
                if (a->nodes[i].cost < a->dropped)
                    a->dropped = a->nodes[i].cost;
            } else if (!step(a, all, k, runs, i)) {
                return 0;
            }
        for (; j < end && j < a->node_count && a->nodes[j].run == run; j++)
            if (!step(a, all, k, runs, j)) return 0;
    }
    return 1;
}

/* How many nodes there can be at most, if that is not too many: those that differ
 * in a run are in all after it. */
static size_t estimate(align *a, const align_stretch *all, size_t k,
                       size_t most)
{
    const size_t end = all[k].last - a->base + 1;
    size_t n = 0;
    a->group++;
    for (size_t i = a->layers[k]; i < a->later[k] && n <= most; i++) {
        struct slot *const to = find_slot(a, a->nodes[i].stop);
        if (to->group == a->group || a->nodes[i].run >= end) continue;
        to->group = a->group;
        to->node = (uint32_t) i;
        n += end - a->nodes[i].run;
    }
    return n;
}

/* In how many places may a thread be? */
static unsigned variety(const align *a, size_t first, size_t end,
                        unsigned thread)
{
    uint64_t known[(UINT16_MAX + 1) / 64];
    unsigned n = 0;
    memset(known, 0, (SETS + a->set_count + 63) / 64 * sizeof *known);
    for (size_t i = first; i < end; i++) {
        const unsigned stop = a->nodes[i].stop[thread];
        n += !(known[stop / 64] >> stop % 64 & 1);
        known[stop / 64] |= (uint64_t) 1 << stop % 64;
    }
    return n;
}

/* There are too many nodes: that thread which may be in the most places is then
 * in one of them in each node. 0 if all are only in one. */
static int widen(align *a, size_t first, size_t end)
{
    unsigned most = 1;
    unsigned thread = 0;
    uint16_t stop;
    place_set s;
    for (unsigned i = 0; i < a->threads; i++) {
        const unsigned n = variety(a, first, end, i);
        if (n <= most) continue;
        most = n;
        thread = i;
    }
    if (most == 1) return 0;
    memset(&s, 0, sizeof s);
    for (size_t i = first; i < end; i++)
        add_place(a, &s, a->nodes[i].stop[thread]);
    stop = put_set(a, &s);
    for (size_t i = first; i < end; i++) a->nodes[i].stop[thread] = stop;
    return 1;
}

/* Past stretch k. 0 if there is no explanation, or no memory. */
static int forward(align *a, const align_stretch *all, size_t k,
                   const align_run *runs, size_t count)
{
    size_t most = a->work / (count - k) * SHARE;
    size_t n;
    most = most < FEW ? FEW : most > MOST ? MOST : most;
    if (!has_room(&a->layers, &a->layer_max, k + 2, sizeof *a->layers)
        || !has_room(&a->later, &a->later_max, k + 2, sizeof *a->later))
        return 0;
    if (k) a->later[k] = a->node_count;
    do
        n = estimate(a, all, k, most);
    while (n > most && widen(a, a->layers[k], a->later[k]));
    a->work -= n < a->work ? n : a->work;
    look_at(a, &all[k]);
    a->cheapest_next = NEVER;
    if (!go(a, all, k, runs, go_later)) return 0;
    a->layers[k + 1] = a->node_count;
    if (!go(a, all, k, runs, go_into)) return 0;
    a->cheapest = a->cheapest_next;
    return a->node_count > a->layers[k + 1] && a->cheapest < NEVER / 2;
}

/* No stretch is in the run of a node: what others have to reckon with. */
static void say_empty(align *a, align_run *runs, const node *n)
{
    align_run *const run = &runs[n->run];
    const uint16_t stop = n->stop[run->thread & 15];
    if (run->thread >= ALIGN_THREADS) return;
    align_anywhere(&run->begins);
    if (a->said[n->run] == stop) return; /* as often */
    a->said[n->run] = stop;
    say_stop(a, &run->ends, stop);
}

/* The run of a stretch ends after it. */
static void say_end(const align_stretch *s, align_run *run)
{
    if (s->stops >> (run->thread & 15) & 1)
        align_add(&run->ends, s->stop[run->thread & 15]);
    else
        align_anywhere(&run->ends);
}

/* What it costs from here on if another node is next. */
static uint32_t rest_by(const align *a, uint32_t next, uint32_t cost)
{
    const uint32_t rest = next ? a->nodes[next].rest : NEVER;
    return rest == NEVER ? NEVER : rest + cost;
}

static int is_good(const align *a, const node *n, uint32_t rest,
                   uint32_t cheapest)
{
    return rest != NEVER && is_near(n->cost + rest, cheapest, a->sure);
}

/* What the explanations say of stretch k. */
static void backward(align *a, align_stretch *all, size_t k, align_run *runs,
                     uint32_t cheapest)
{
    align_stretch *const s = &all[k];
    s->threads = 0;
    s->low = SIZE_MAX;
    for (size_t i = a->layers[k + 1]; i-- > a->layers[k];) {
        node *const n = &a->nodes[i];
        const uint32_t in = rest_by(a, n->in, n->in_cost);
        const uint32_t on = rest_by(a, n->on, n->on_cost);
        n->rest = in < on ? in : on;
        if (is_good(a, n, in, cheapest)) {
            s->threads |= (uint16_t) (1u << runs[n->run].thread);
            if (n->run + a->base < s->low) s->low = n->run + a->base;
            if (i >= a->later[k]) align_add(&runs[n->run].begins, s->ip);
        }
        if (!is_good(a, n, on, cheapest)) continue;
        if (i >= a->later[k])
            say_empty(a, runs, n);
        else
            say_end(&all[k - 1], &runs[n->run]);
    }
}

/* Follow the cheapest explanation. */
static void follow_cheapest(const align *a, align_stretch *all, size_t count)
{
    const node *n = a->nodes;
    for (size_t k = 0; k < count; k++) {
        while (rest_by(a, n->in, n->in_cost) != n->rest) n = &a->nodes[n->on];
        all[k].run = a->base + n->run;
        n = &a->nodes[n->in];
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
    for (size_t i = first; i < a->node_count; i++)
        if (is_near(a->nodes[i].cost, cheapest, a->sure)
            && a->nodes[i].run < end)
            end = a->nodes[i].run;
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
    node n;
    a->node_count = a->set_count = a->addresses = 0;
    a->dropped = NEVER;
    a->cheapest = a->threads = 0;
    a->runs = run_count;
    if (!has_room(&a->sets, &a->set_max, 1, sizeof anywhere)
        || !has_room(&a->nodes, &a->node_max, 1, sizeof n)
        || !has_room(&a->layers, &a->layer_max, 1, sizeof *a->layers)
        || !has_room(&a->later, &a->later_max, 1, sizeof *a->later)
        || !has_room(&a->said, &a->said_max, run_count, sizeof *a->said))
        return 0;
    memset(a->said, 0xff, run_count * sizeof *a->said); /* NONE */
    if (a->group > UINT32_MAX / 2) {
        memset(a->slot, 0, sizeof a->slot);
        a->group = 0;
    }
    memset(&anywhere, 0, sizeof anywhere);
    anywhere.anywhere = 1;
    a->sets[a->set_count++] = anywhere;
    memset(&n, 0, sizeof n);
    for (unsigned i = 0; i < ALIGN_THREADS; i++) n.stop[i] = ANYWHERE;
    for (size_t i = 0; i < run_count; i++) {
        if (runs[i].thread < ALIGN_THREADS && runs[i].thread >= a->threads)
            a->threads = runs[i].thread + 1u;
        runs[i].set = set_of(a, &runs[i].in);
        memset(&runs[i].begins, 0, sizeof runs[i].begins);
        memset(&runs[i].ends, 0, sizeof runs[i].ends);
    }
    enter_run(n.stop, runs);
    a->nodes[a->node_count++] = n;
    a->layers[0] = a->later[0] = 0;
    return 1;
}

/* All stretches, as far as that goes; *cheapest: what the best explanation
 * costs. How many there are. */
static size_t all_forward(align *a, const align_stretch *all, size_t count,
                          align_run *runs, size_t run_count,
                          uint32_t *cheapest)
{
    size_t done = 0;
    *cheapest = NEVER;
    if (!begin_all(a, runs, run_count)) return 0;
    a->work = count * EACH;
    while (done < count && forward(a, all, done, runs, count)) done++;
    if (done < count) a->dropped = 0;
    if (done > 0 && done < count) a->node_count = a->later[done];
    for (size_t i = a->layers[done]; i < a->node_count; i++) {
        node *const n = &a->nodes[i];
        n->rest = n->in = n->on = 0;
        if (n->cost < *cheapest) *cheapest = n->cost;
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
