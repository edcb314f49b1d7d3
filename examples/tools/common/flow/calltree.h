/* calltree.h: calls added up: who called whom, how often, how long it took.
 *
 *     calltree_init(&t);
 *     node = calltree_child(&t, CALLTREE_ROOT, name);
 *     t.list[node].own.insns += insns;      // what it executed itself
 *     calltree_ended(&t, node, cost);        // a call of it has ended
 *     calltree_sum(&t);                      // then: total
 *     calltree_free(&t);
 *
 * A node is a function called along one way from the root. Memory grows with
 * these ways, up to CALLTREE_NODES of them; what is called beyond that counts
 * for its caller.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CALLTREE_H
#define CALLTREE_H
#include <stddef.h>
#include <stdint.h>

#define CALLTREE_NODES (1u << 22)
#define CALLTREE_ROOT 0u

/* How costs are spread: counts of ranges, 32 for each power of two. */
typedef struct calltree_spread {
    uint32_t *counts;
    uint32_t first; /* the range of counts[0] */
    uint32_t size;
} calltree_spread;

typedef struct calltree_cost {
    uint64_t insns;
    uint64_t ns;
    uint64_t cycles;
    uint64_t guess; /* of ns */
} calltree_cost;

typedef struct calltree_node {
    uint32_t parent;
    uint32_t child;   /* the first; 0: none */
    uint32_t sibling; /* the next; 0: none */
    uint32_t name;
    uint32_t last;    /* the child found last; 0: none */
    calltree_cost own;
    calltree_cost total; /* with what it called, after calltree_sum */
    uint64_t calls;
    uint64_t whole;   /* calls whose beginning and end were seen; of these: */
    uint64_t min;     /* their costs */
    uint64_t max;
    calltree_spread spread;
} calltree_node;

typedef struct calltree {
    calltree_node *list;
    uint32_t count;
    uint32_t max;
    uint32_t *slots; /* a hash table of nodes by parent and name; 0: free */
    uint32_t size;
    uint8_t full;    /* some calls have no node of their own */
} calltree;

/* 0, or -1 without memory. */
int calltree_init(calltree *t);
void calltree_free(calltree *t);

/* Forget all nodes but the root. */
void calltree_clear(calltree *t);

/* The node of a function called by another one; it is made if there is none.
 * The parent itself if there is no room. */
uint32_t calltree_child(calltree *t, uint32_t parent, uint32_t name);

/* A whole call has ended, which cost so much in all. */
void calltree_ended(calltree *t, uint32_t node, uint64_t cost);

void calltree_add(calltree_cost *to, const calltree_cost *cost);

/* Own times are in parts of a ns, so many: make them whole ns, and carry what is
 * left to the next node. */
void calltree_settle(calltree *t, uint32_t parts);

/* Set the totals of all nodes. */
void calltree_sum(calltree *t);

/* Sort the children of each node: those with the highest totals first. */
void calltree_sort(calltree *t, int by_insn);

/* The cost of which a share (of 1000) of the whole calls cost no more; it may
 * be off by 2 %. */
uint64_t calltree_quantile(const calltree_node *n, unsigned share);

/* The cost that stands for a range of a spread. */
uint64_t calltree_cost_of(uint32_t range);

/* The node after this one where each comes before its children; 0 after the
 * last. */
uint32_t calltree_next(const calltree *t, uint32_t node);

#endif /* CALLTREE_H */
