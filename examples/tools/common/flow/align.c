/* align.c: see align.h.
 *
 * SPDX-License-Identifier: MIT */
#include "align.h"
#include "../code/tool.h"
#include <stdlib.h>
#include <string.h>

/* Work is counted in nodes and in rows looked up for a thread. A search has
 * EACH times its stretches of it at most. A stretch may use SHARE times an
 * equal part of the rest, within these limits: */
#define FEW   64u
#define MOST  16384u
#define SHARE 4u
#define EACH  4096u
#define SLOTS (8 * MOST)
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

/* Where a thread stopped: the index of an address or, after these, of a set; or
 * nothing that matters, as the next run of the thread says where that begins. */
enum { SETS = ADDRESSES, ANYWHERE = SETS, DEAD = UINT16_MAX - 1,
       NONE = UINT16_MAX };

#define NEVER UINT32_MAX

/* Where all threads stopped, between two stretches. */
typedef struct state {
    uint16_t stop[ALIGN_THREADS];
} state;

/* The node that a row has in a group of nodes. */
typedef struct at_node {
    uint32_t group;
    uint32_t node;
} at_node;

/* What explanations have in common in a run, between two stretches. What is next
 * is the stretch, in that run, or the run after it. */
typedef struct node {
    uint32_t row;
    uint32_t on;   /* ... in the next run; NEVER: it is too late */
    uint32_t cost; /* of the cheapest one up to here; then: from here on */
} node;

/* The nodes before a stretch, in a run. Each list ends where that of the next run
 * begins. */
typedef struct column {
    uint32_t after; /* those in the run of the stretch before; ... */
    uint32_t later; /* ... and those in a run after that */
    uint16_t after_cost; /* if the stretch is in this run */
    uint16_t later_cost; /* ... unless that is by row */
} column;

/* Before a stretch. */
typedef struct layer {
    size_t first; /* row; ... */
    size_t rows;  /* ... so many */
    size_t to;    /* for each thread, and row: the row after the stretch */
    size_t low;   /* the first run that has nodes, ... */
    size_t end;   /* ... up to this */
} layer;

struct align {
    state *rows;
    at_node *marks;
    size_t row_count, row_max, mark_max;
    node *nodes;
    size_t node_count, node_max;
    layer *layers;
    size_t layer_max;
    column *columns; /* of each layer: by run, and an end */
    size_t column_max;
    uint32_t *to;   /* 1 + the row, from the first of its layer; and a price */
    size_t to_count, to_max;
    uint64_t address[ADDRESSES];
    unsigned addresses;
    place_set *sets;    /* the first is ANYWHERE, then those of the runs */
    size_t set_count, set_max;
    uint16_t *said; /* the place that a run had last, for align_run.ends */
    size_t said_max;
    uint8_t *dead;  /* where a run ends, it does not matter where its thread is */
    size_t dead_max;
    uint16_t here;      /* the place where the stretch begins, if known; */
    uint16_t again;      /* ... and that after the system call there */
    uint8_t odd;        /* nobody stopped there, as far as is known */
    uint16_t stop[ALIGN_THREADS]; /* of the stretch; NONE: not looked for yet; */
    uint16_t left[ALIGN_THREADS]; /* ... of the stretch before it */
    size_t base;    /* number of the first run; */
    size_t runs;    /* ... how many there are */
    uint32_t cheapest; /* after the stretch before; */
    uint32_t cheapest_next; /* ... after this one */
    uint32_t dropped;  /* the cheapest node that was not kept */
    unsigned keep;     /* BREAKs more than that may have */
    unsigned sure;     /* explanations with so many BREAKs more count, too */
    unsigned threads;  /* numbers of threads are below that */
    size_t work;       /* that is left for all */
    uint32_t group;    /* number of the nodes that are told apart now; */
    uint32_t hashed;   /* ... of rows that are in slot */
    size_t slots;      /* that those take */
    struct slot {
        uint32_t hashed;
        uint32_t row;
    } slot[SLOTS];
};

align *align_new(void)
{
    return (align *) calloc(1, sizeof(align));
}

void align_free(align *a)
{
    if (!a) return;
    free(a->rows);
    free(a->marks);
    free(a->nodes);
    free(a->layers);
    free(a->columns);
    free(a->to);
    free(a->sets);
    free(a->said);
    free(a->dead);
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
    if (s->anywhere || a->set_count + SETS >= DEAD
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

/* The row with these stops, of this layer; NEVER without memory. */
static uint32_t find_row(align *a, const uint16_t *stop)
{
    uint64_t word[ALIGN_THREADS / 4];
    uint64_t hash = 0;
    struct slot *to;
    size_t i;
    memcpy(word, stop, sizeof word);
    for (i = 0; 4 * i < a->threads; i++)
        hash = (hash ^ hash >> 32 ^ word[i]) * 0x9e3779b97f4a7c15u;
    for (i = (size_t) (hash >> 32) % SLOTS; a->slot[i].hashed == a->hashed;
         i = (i + 1) % SLOTS)
        if (!memcmp(a->rows[a->slot[i].row].stop, stop, sizeof word))
            return a->slot[i].row;
    if (a->slots > SLOTS / 2
        || !has_room(&a->rows, &a->row_max, a->row_count + 1, sizeof *a->rows)
        || !has_room(&a->marks, &a->mark_max, a->row_count + 1,
                     sizeof *a->marks))
        return NEVER;
    a->slots++;
    to = &a->slot[i];
    to->hashed = a->hashed;
    to->row = (uint32_t) a->row_count++;
    memset(&a->marks[to->row], 0, sizeof *a->marks);
    memcpy(a->rows[to->row].stop, stop, sizeof word);
    return to->row;
}

/* The row with another stop of a thread. */
static uint32_t row_with(align *a, uint32_t from, unsigned thread, uint16_t at)
{
    uint16_t stop[ALIGN_THREADS];
    if (a->rows[from].stop[thread] == at) return from;
    memcpy(stop, a->rows[from].stop, sizeof stop);
    stop[thread] = at;
    return find_row(a, stop);
}

/* The rows of a layer begin. */
static void begin_rows(align *a)
{
    a->hashed++;
    a->slots = 0;
}

static int has_nodes(align *a, size_t more)
{
    return has_room(&a->nodes, &a->node_max, a->node_count + more,
                    sizeof *a->nodes);
}

/* A node for a row, in this group; there is room. */
static void put(align *a, uint32_t to, uint32_t cost)
{
    at_node *const m = &a->marks[to];
    node *n;
    if (m->group == a->group) {
        n = &a->nodes[m->node];
        if (cost < n->cost) n->cost = cost;
        return;
    }
    m->group = a->group;
    m->node = (uint32_t) a->node_count;
    n = &a->nodes[a->node_count++];
    n->row = to;
    n->on = NEVER;
    n->cost = cost;
}

/* The columns of a layer. */
static column *columns_of(const align *a, size_t k)
{
    return &a->columns[k * (a->runs + 1)];
}

/* Where does stretch k begin? If nobody stopped there, it is for all threads
 * the same that they go on there. */
static void look_at(align *a, const align_stretch *s)
{
    a->here = find_address(a, s->ip);
    a->again = find_address(a, s->ip + 2);
    a->odd = a->here == NONE && a->again == NONE && !s->news;
    memcpy(a->left, a->stop, sizeof a->left);
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

/* What it costs to go from before stretch k to the next run. */
static uint32_t on_cost(const align_stretch *all, size_t k,
                        const align_run *runs, size_t r, int later)
{
    return !later ? k ? leaving(&all[k - 1], &runs[r]) : 0
         : r && runs[r].thread < ALIGN_THREADS ? EMPTY : 0;
}

/* A run had no user code: where is its thread then? DEAD if that is
 * said by its next run. */
static uint32_t row_past(align *a, const align_run *runs, size_t r,
                         uint32_t from)
{
    const align_run *const run = &runs[r];
    return row_with(a, from, run->thread, run->kept ? DEAD : run->set);
}

/* From nodes before stretch k in run r to the next run. 0 without memory. */
static int go_later(align *a, const align_stretch *all, size_t k,
                    const align_run *runs, size_t r, int later)
{
    const column *const c = &columns_of(a, k)[r];
    const uint32_t end = later ? c[1].later : c[1].after;
    const uint32_t cost = on_cost(all, k, runs, r, later);
    const int moves = later && runs[r].thread < ALIGN_THREADS
                   && runs[r].kept == a->dead[r];
    uint32_t i = later ? c->later : c->after;
    if (i >= end) return 1;
    if (!has_nodes(a, end - i)) return 0;
    for (; i < end; i++) {
        const uint32_t from = a->nodes[i].row;
        const uint32_t to = moves ? row_past(a, runs, r, from) : from;
        if (to == NEVER) return 0;
        a->nodes[i].on = to;
        put(a, to, a->nodes[i].cost + cost);
    }
    return 1;
}

/* All nodes before stretch k from run to run, as long as these are not more than
 * `most`. 0 without memory. */
static int go_past(align *a, const align_stretch *all, size_t k,
                 const align_run *runs, size_t most)
{
    column *const c = columns_of(a, k);
    const size_t first = a->node_count;
    layer *const l = &a->layers[k];
    for (; l->end < a->runs && l->end + a->base <= all[k].last; l->end++)
        c[l->end + 1].after = c[l->end].after;
    if (k) c[l->low].later = (uint32_t) first;
    for (size_t r = l->low; r < l->end; r++) {
        c[r + 1].later = (uint32_t) a->node_count;
        if (r + 1 + a->base > all[k].last || r + 1 == a->runs
            || a->node_count - first > most)
            continue;
        a->group++;
        if (!go_later(a, all, k, runs, r, 0) || !go_later(a, all, k, runs, r, 1))
            return 0;
    }
    return 1;
}

static const uint16_t prices[] = {0, RESTART, BREAK};

/* After stretch k in a run of a thread, from a row: 1 + the row then, from the first
 * of its layer, times 4, and which of the prices that has. 0 without memory. */
static uint32_t find_next(align *a, const align_stretch *s, size_t first,
                          unsigned thread, int dead, uint32_t from)
{
    uint16_t stop[ALIGN_THREADS];
    uint32_t cost = 0;
    uint32_t to;
    memcpy(stop, a->rows[from].stop, sizeof stop);
    if (stop[thread] != DEAD) cost = going_on(a, s, thread, stop[thread]);
    stop[thread] = dead ? (uint16_t) DEAD : a->stop[thread];
    to = find_row(a, stop);
    return to == NEVER ? 0
         : (to - (uint32_t) first + 1) << 2 | (cost == BREAK ? 2 : cost);
}

/* How a stretch is in a run, from the nodes before it. */
typedef struct way {
    size_t to;      /* plus the row: index of find_next, or 0 */
    size_t base;    /* the first row after the stretch */
    uint32_t price; /* ... if that is not by row */
    int by_row;
} way;

static way way_into(const align *a, size_t k, const align_run *runs, size_t r,
                    int later)
{
    const layer *const l = &a->layers[k];
    const column *const c = &columns_of(a, k)[r];
    way w;
    w.to = l->to + (2u * runs[r].thread + a->dead[r]) * l->rows - l->first;
    w.base = l[1].first;
    w.price = later ? c->later_cost : c->after_cost;
    w.by_row = later && runs[r].kept;
    return w;
}

/* Stretch k is in run r of these nodes. 0 without memory. */
static int into_run(align *a, const align_stretch *all, size_t k,
                    const align_run *runs, size_t r, int later)
{
    const column *const c = &columns_of(a, k)[r];
    const uint32_t end = later ? c[1].later : c[1].after;
    const way w = way_into(a, k, runs, r, later);
    uint32_t cheapest = a->cheapest_next;
    uint32_t i = later ? c->later : c->after;
    if (i >= end) return 1;
    if (!has_nodes(a, end - i)) return 0;
    for (; i < end; i++) {
        const node n = a->nodes[i];
        uint32_t *const to = &a->to[w.to + n.row];
        uint32_t cost;
        if (!*to)
            *to = find_next(a, &all[k], w.base, runs[r].thread, a->dead[r],
                            n.row);
        if (!*to) return 0;
        cost = n.cost + (w.by_row ? prices[*to & 3] : w.price);
        if (cost < cheapest) cheapest = cost;
        put(a, (uint32_t) w.base + (*to >> 2) - 1, cost);
    }
    a->cheapest_next = cheapest;
    return 1;
}

/* Stretch k is in each run where it can be. 0 without memory. */
static int go_into(align *a, const align_stretch *all, size_t k,
                   const align_run *runs)
{
    const align_stretch *const s = &all[k];
    const size_t rows = a->row_count - a->layers[k].first;
    const size_t size = rows * 2 * a->threads;
    column *const c = columns_of(a, k);
    column *const next = columns_of(a, k + 1);
    layer *const l = &a->layers[k + 1];
    if (!has_room(&a->to, &a->to_max, a->to_count + size, sizeof *a->to))
        return 0;
    if (size) memset(a->to + a->to_count, 0, size * sizeof *a->to);
    a->layers[k].to = a->to_count;
    a->layers[k].rows = rows;
    a->to_count += size;
    l->first = a->row_count;
    l->to = a->to_count;
    l->low = l[-1].low;
    l->end = l[-1].end;
    begin_rows(a);
    look_at(a, s);
    a->cheapest_next = NEVER;
    for (size_t r = l->low; r < l->end; r++) {
        const align_run *const run = &runs[r];
        const unsigned thread = run->thread;
        next[r].after = (uint32_t) a->node_count;
        if (thread >= ALIGN_THREADS || r + a->base < s->first
            || r + a->base > s->last || !(s->fits >> thread & 1))
            continue;
        if (a->stop[thread] == NONE)
            a->stop[thread] = s->stops >> thread & 1
                            ? index_of(a, s->stop[thread]) : ANYWHERE;
        c[r].after_cost = c[r].later_cost = 0;
        if (c[r].after < c[r + 1].after)
            c[r].after_cost =
                (uint16_t) going_on(a, s, thread, a->left[thread]);
        if (!run->kept)
            c[r].later_cost = (uint16_t) going_on(a, s, thread, run->set);
        a->group++;
        if (!into_run(a, all, k, runs, r, 0) || !into_run(a, all, k, runs, r, 1))
            return 0;
    }
    next[l->end].after = (uint32_t) a->node_count;
    return 1;
}

/* Nodes after a stretch go that cost too much. */
static void leave_out(align *a, size_t k)
{
    column *const c = columns_of(a, k);
    layer *const l = &a->layers[k];
    uint32_t i = c[l->low].after;
    uint32_t n = i;
    for (size_t r = l->low; r < l->end; r++) {
        c[r].after = n;
        for (; i < c[r + 1].after; i++)
            if (is_near(a->nodes[i].cost, a->cheapest, a->keep))
                a->nodes[n++] = a->nodes[i];
            else if (a->nodes[i].cost < a->dropped)
                a->dropped = a->nodes[i].cost;
    }
    a->node_count = c[l->end].after = n;
    while (l->low < l->end && c[l->low + 1].after == c[l->low].after) l->low++;
    while (l->low < l->end && c[l->end - 1].after == n) l->end--;
}

/* In how many places may a thread be, after a stretch? */
static unsigned variety(const align *a, size_t k, unsigned thread)
{
    const column *const c = columns_of(a, k);
    const layer *const l = &a->layers[k];
    uint64_t known[(UINT16_MAX + 1) / 64];
    unsigned n = 0;
    memset(known, 0, (SETS + a->set_count + 63) / 64 * sizeof *known);
    for (size_t i = c[l->low].after; i < c[l->end].after; i++) {
        const unsigned stop = a->rows[a->nodes[i].row].stop[thread];
        if (stop == DEAD) continue;
        n += !(known[stop / 64] >> stop % 64 & 1);
        known[stop / 64] |= (uint64_t) 1 << stop % 64;
    }
    return n;
}

/* A thread is in one place in all nodes after a stretch. 0 without memory. */
static int join_rows(align *a, size_t k, unsigned thread, uint16_t stop)
{
    column *const c = columns_of(a, k);
    layer *const l = &a->layers[k];
    const size_t old = l->first;
    const size_t first = a->row_count;
    uint32_t i = c[l->low].after;
    begin_rows(a);
    for (size_t j = old; j < first; j++) a->marks[j].node = 0;
    l->first = first;
    a->node_count = i;
    for (size_t r = l->low; r < l->end; r++) {
        c[r].after = (uint32_t) a->node_count;
        a->group++;
        for (; i < c[r + 1].after; i++) {
            const node n = a->nodes[i];
            uint16_t at[ALIGN_THREADS];
            uint32_t to;
            memcpy(at, a->rows[n.row].stop, sizeof at);
            if (at[thread] != DEAD) at[thread] = stop;
            to = find_row(a, at);
            if (to == NEVER) return 0;
            put(a, to, n.cost);
            a->marks[n.row].node = to - (uint32_t) first + 1;
        }
    }
    c[l->end].after = (uint32_t) a->node_count;
    for (size_t j = k ? l[-1].to : l->to; j < l->to; j++) {
        const uint32_t to = a->to[j];
        if (to >> 2)
            a->to[j] = a->marks[old + (to >> 2) - 1].node << 2 | (to & 3);
    }
    return 1;
}

/* There are too many nodes: that thread which may be in the most places is then
 * in one of them in each node. 0 if all are only in one, or without memory. */
static int widen(align *a, size_t k)
{
    const column *const c = columns_of(a, k);
    const layer *const l = &a->layers[k];
    unsigned most = 1;
    unsigned thread = 0;
    place_set s;
    for (unsigned i = 0; i < a->threads; i++) {
        const unsigned n = variety(a, k, i);
        if (n <= most) continue;
        most = n;
        thread = i;
    }
    if (most == 1) return 0;
    memset(&s, 0, sizeof s);
    for (size_t i = c[l->low].after; i < c[l->end].after; i++) {
        const unsigned stop = a->rows[a->nodes[i].row].stop[thread];
        if (stop != DEAD) add_place(a, &s, stop);
    }
    return join_rows(a, k, thread, put_set(a, &s));
}

/* Past stretch k. 0 if there is no explanation, or no memory. */
static int forward(align *a, const align_stretch *all, size_t k,
                   const align_run *runs, size_t count)
{
    size_t most = a->work / (count - k) * SHARE;
    size_t first = a->node_count;
    size_t n;
    int room;
    most = most < FEW ? FEW : most > MOST ? MOST : most;
    if (!has_room(&a->layers, &a->layer_max, k + 2, sizeof *a->layers)
        || !has_room(&a->columns, &a->column_max, (k + 2) * (a->runs + 1),
                     sizeof *a->columns))
        return 0;
    while ((room = go_past(a, all, k, runs, most)) != 0
           && a->node_count - first > most) {
        a->node_count = first;
        if (!widen(a, k)) most = SIZE_MAX;
        first = a->node_count;
    }
    if (!room || !go_into(a, all, k, runs)) return 0;
    a->cheapest = a->cheapest_next;
    leave_out(a, k + 1);
    n = a->node_count - first + a->layers[k].rows * a->threads;
    a->work -= n < a->work ? n : a->work;
    return a->layers[k + 1].low < a->layers[k + 1].end && a->cheapest < NEVER / 2;
}

/* No stretch is in a run: what others have to reckon with, from one node. */
static void say_empty(align *a, align_run *runs, size_t r, const node *n)
{
    align_run *const run = &runs[r];
    const uint16_t stop = !run->kept ? run->set
                        : a->rows[n->row].stop[run->thread & 15];
    if (run->thread >= ALIGN_THREADS) return;
    align_anywhere(&run->begins);
    if (a->said[r] == stop) return; /* as often */
    a->said[r] = stop;
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

/* Nodes from `first` up to `end` are of this group. */
static void group(align *a, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        a->marks[a->nodes[i].row].group = a->group;
        a->marks[a->nodes[i].row].node = i;
    }
}

/* Can stretch k be in run r? */
static int is_in(const align *a, size_t k, size_t r)
{
    const column *const c = &columns_of(a, k + 1)[r];
    const layer *const l = &a->layers[k + 1];
    return r >= l->low && r < l->end && c[0].after < c[1].after;
}

/* What comes next for nodes before stretch k in run r is of this group. */
static void group_next(align *a, size_t k, size_t r)
{
    const column *const on = &columns_of(a, k)[r + 1];
    const column *const in = &columns_of(a, k + 1)[r];
    a->group++;
    if (r + 1 < a->layers[k].end) group(a, on[0].later, on[1].later);
    if (is_in(a, k, r)) group(a, in[0].after, in[1].after);
}

/* What it costs from here on if that is next, in this group. */
static uint32_t rest_by(const align *a, uint32_t to, uint32_t cost)
{
    const at_node *const m = &a->marks[to];
    const uint32_t rest = m->group == a->group ? a->nodes[m->node].cost : NEVER;
    return rest == NEVER ? NEVER : rest + cost;
}

/* What it costs that the stretch is in the run, from a node on. */
static uint32_t rest_in(const align *a, const way *w, const node *n)
{
    const uint32_t to = a->to[w->to + n->row];
    return to >> 2 == 0 ? NEVER
         : rest_by(a, (uint32_t) w->base + (to >> 2) - 1,
                   w->by_row ? prices[to & 3] : w->price);
}

/* What the explanations say of stretch k, from nodes in run r. */
static void back_from(align *a, align_stretch *all, size_t k, align_run *runs,
                      size_t r, int later, uint32_t limit)
{
    const column *const c = &columns_of(a, k)[r];
    const uint32_t end = later ? c[1].later : c[1].after;
    const uint32_t price = on_cost(all, k, runs, r, later);
    const int is = is_in(a, k, r);
    const way w = way_into(a, k, runs, r, later);
    int begins = 0;
    int ends = 0;
    for (uint32_t i = later ? c->later : c->after; i < end; i++) {
        node *const n = &a->nodes[i];
        const uint32_t in = is ? rest_in(a, &w, n) : NEVER;
        const uint32_t on = n->on < NEVER ? rest_by(a, n->on, price) : NEVER;
        const uint32_t most = n->cost < limit ? limit - n->cost : 0;
        begins |= in < most;
        if (on < most) {
            if (later) say_empty(a, runs, r, n);
            ends = 1;
        }
        n->cost = in < on ? in : on;
    }
    if (ends && !later) say_end(&all[k - 1], &runs[r]);
    if (!begins) return;
    if (later) align_add(&runs[r].begins, all[k].ip);
    all[k].threads |= (uint16_t) (1u << runs[r].thread);
    all[k].low = r + a->base;
}

static void backward(align *a, align_stretch *all, size_t k, align_run *runs,
                     uint32_t cheapest)
{
    const uint32_t limit = (cheapest / BREAK + a->sure + 1) * BREAK;
    all[k].threads = 0;
    all[k].low = SIZE_MAX;
    for (size_t r = a->layers[k].end; r-- > a->layers[k].low;) {
        group_next(a, k, r);
        back_from(a, all, k, runs, r, 1, limit);
        back_from(a, all, k, runs, r, 0, limit);
    }
}

/* Follow the cheapest explanation. */
static void follow_cheapest(align *a, align_stretch *all, size_t count,
                            const align_run *runs)
{
    const node *n = &a->nodes[columns_of(a, 0)->later];
    size_t r = 0;
    int later = 1;
    for (size_t k = 0; k < count; k++) {
        way w = way_into(a, k, runs, r, later);
        group_next(a, k, r);
        while (!is_in(a, k, r) || rest_in(a, &w, n) != n->cost) {
            n = &a->nodes[a->marks[n->on].node];
            later = 1;
            w = way_into(a, k, runs, ++r, later);
            group_next(a, k, r);
        }
        all[k].run = a->base + r;
        n = &a->nodes[a->marks[w.base + (a->to[w.to + n->row] >> 2) - 1]
                          .node];
        later = 0;
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

/* The nodes after the last stretch: what these cost at least. */
static uint32_t cheapest_end(const align *a, size_t k)
{
    const layer *const l = &a->layers[k];
    const column *const c = columns_of(a, k);
    uint32_t cheapest = NEVER;
    for (size_t i = c[l->low].after; i < c[l->end].after; i++)
        if (a->nodes[i].cost < cheapest) cheapest = a->nodes[i].cost;
    return cheapest;
}

/* What is known of runs that may come after the last stretch: nothing. */
static void open_end(align *a, size_t k, align_run *runs, uint32_t cheapest)
{
    const column *const c = columns_of(a, k);
    size_t end = SIZE_MAX;
    for (size_t r = a->layers[k].low; r < a->layers[k].end; r++)
        for (size_t i = c[r].after; i < c[r + 1].after; i++) {
            if (is_near(a->nodes[i].cost, cheapest, a->sure) && r < end)
                end = r;
            a->nodes[i].cost = 0;
        }
    if (is_near(a->dropped, cheapest, a->sure)) end = 0;
    for (size_t r = end; r < a->runs; r++) {
        align_anywhere(&runs[r].ends);
        if (r > end || end == 0) align_anywhere(&runs[r].begins);
    }
}

/* Where threads are before the first stretch, and which runs say where theirs is. */
static void begin_threads(align *a, const align_run *runs, uint16_t *stop)
{
    for (unsigned i = 0; i < ALIGN_THREADS; i++) stop[i] = DEAD;
    for (size_t r = a->runs; r-- > 0;) {
        const unsigned thread = runs[r].thread;
        a->dead[r] = thread < ALIGN_THREADS && stop[thread] == DEAD;
        if (thread < ALIGN_THREADS)
            stop[thread] = runs[r].kept ? (uint16_t) ANYWHERE : (uint16_t) DEAD;
    }
}

/* Nothing is known, but what is known of runs. 0 without memory. */
static int begin_all(align *a, align_run *runs, size_t run_count)
{
    uint16_t stop[ALIGN_THREADS];
    place_set anywhere;
    a->row_count = a->node_count = a->to_count = 0;
    a->set_count = a->addresses = 0;
    a->dropped = NEVER;
    a->cheapest = a->threads = a->group = 0;
    a->runs = run_count;
    if (!has_room(&a->sets, &a->set_max, 1, sizeof anywhere)
        || !has_room(&a->layers, &a->layer_max, 1, sizeof *a->layers)
        || !has_room(&a->columns, &a->column_max, run_count + 1,
                     sizeof *a->columns)
        || !has_room(&a->dead, &a->dead_max, run_count, 1)
        || !has_room(&a->said, &a->said_max, run_count, sizeof *a->said))
        return 0;
    memset(a->said, 0xff, run_count * sizeof *a->said); /* NONE */
    memset(a->columns, 0, (run_count + 1) * sizeof *a->columns);
    memset(a->stop, 0xff, sizeof a->stop);
    memset(a->layers, 0, sizeof *a->layers);
    if (a->hashed > UINT32_MAX / 2) {
        memset(a->slot, 0, sizeof a->slot);
        a->hashed = 0;
    }
    memset(&anywhere, 0, sizeof anywhere);
    anywhere.anywhere = 1;
    a->sets[a->set_count++] = anywhere;
    for (size_t i = 0; i < run_count; i++) {
        if (runs[i].thread < ALIGN_THREADS && runs[i].thread >= a->threads)
            a->threads = runs[i].thread + 1u;
        runs[i].set = set_of(a, &runs[i].in);
        memset(&runs[i].begins, 0, sizeof runs[i].begins);
        memset(&runs[i].ends, 0, sizeof runs[i].ends);
    }
    begin_threads(a, runs, stop);
    begin_rows(a);
    a->group = 1;
    if (find_row(a, stop) == NEVER || !has_nodes(a, 1)) return 0;
    put(a, 0, 0);
    return 1;
}

/* All stretches, as far as that goes; *cheapest: what the best explanation
 * costs. How many there are. */
static size_t all_forward(align *a, const align_stretch *all, size_t count,
                          align_run *runs, size_t run_count,
                          size_t work, uint32_t *cheapest)
{
    size_t done = 0;
    *cheapest = NEVER;
    if (!begin_all(a, runs, run_count)) return 0;
    a->work = work < count * EACH ? work : count * EACH;
    while (done < count && forward(a, all, done, runs, count)) done++;
    if (done < count) a->dropped = 0;
    if (done) *cheapest = cheapest_end(a, done);
    a->sure = *cheapest / BREAK;
    return done;
}

size_t align_find(align *a, align_stretch *stretches, size_t count,
                  align_run *runs, size_t base, size_t run_count, size_t work)
{
    uint32_t cheapest;
    size_t done;
    a->base = base;
    a->keep = 0;
    done = all_forward(a, stretches, count, runs, run_count, work, &cheapest);
    if (is_near(a->dropped, cheapest, a->sure)) {
        a->keep = KEEP;
        done = all_forward(a, stretches, count, runs, run_count, work, &cheapest);
    }
    if (done == 0) return 0;
    open_end(a, done, runs, cheapest);
    for (size_t k = done; k-- > 0;)
        backward(a, stretches, k, runs, cheapest);
    follow_cheapest(a, stretches, done, runs);
    if (is_near(a->dropped, cheapest, a->sure))
        none_sure(a, stretches, done, runs);
    return done;
}
