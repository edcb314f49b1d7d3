/* scale.h: what the parts of the bench of large programs share. */
#ifndef SCALE_H
#define SCALE_H
#include "../bench.h"

/* ---- program.c: programs and their traces ---- */

typedef struct scale_want {
    uint32_t functions; /* 0: noise, a loop of three branches */
    uint8_t zipf;       /* 1: of functions and address spaces, the n-th is used
                         * 1/n times as often as the first. 0: all alike */
    uint16_t spaces;    /* address spaces, switched every 3,000 instructions;
                         * 0: one, which the trace does not name */
    uint32_t gen_flags; /* IPT_GEN_, IPT_CONFIG_NO_RETCOMP */
    uint32_t blocks;    /* executed at least */
    uint8_t runs; /* 2: the program runs twice, each time with other chance */
    uint8_t kernel; /* 1: half of the functions are a kernel, on pages of their
                     * own: only main calls functions of both halves */
} scale_want;

typedef struct scale_trace {
    scale_want want;
    bench_case c;
    /* Of the last run: what a decoder has to find. */
    uint64_t insns;
    uint8_t truth[BENCH_MAP];
    uint64_t touched; /* runs of code, in each address space again */
    uint64_t kernel;  /* where it begins; 0: there is none */
} scale_trace;

/* Equal wishes give one trace, which is never freed. NULL: out of memory. */
const scale_trace *scale_trace_of(const scale_want *want);

/* ---- side.c: our decoders, of this tree or of another ---- */

typedef enum scale_layer {
    SCALE_PACKETS,
    SCALE_EVENTS,
    SCALE_QUERIES,
    SCALE_BLOCKS,
    SCALE_INSNS,
    SCALE_COVERAGE
} scale_layer;

enum { /* scale_how.flags */
    SCALE_ONE_SPACE = 1, /* config.space says that all spaces have one code */
    SCALE_NO_TIME = 2,   /* IPT_CONFIG_NO_TIME, in a tree that has it */
    SCALE_SPACE_AT = 4   /* config.space_at says that they share the kernel, in
                          * a tree that has it */
};

typedef struct scale_how {
    size_t cache;  /* bytes */
    size_t memo;   /* bytes */
    uint64_t fuel; /* units at a time; 0: no fuel */
    size_t piece;  /* bytes of trace at a time; 0: all at once */
    uint32_t invalidate; /* a page that was never cached, every so many blocks;
                          * SCALE_COVERAGE: after each piece. 0: never */
    uint8_t flags;       /* SCALE_ */
} scale_how;

typedef struct scale_side {
    /* Have cache and memo as the first run leaves them. NULL: no memory. */
    void *(*open)(const scale_trace *t, scale_layer layer,
                  const scale_how *how);
    void (*close)(void *state);
    /* Forget all and learn again. */
    void (*learn)(void *state);
    /* Decode the last run. Returns items; bytes, of SCALE_COVERAGE. */
    uint64_t (*pass)(void *state);
    /* How often the last pass called config.read. */
    uint64_t (*reads)(const void *state);
    /* Instructions that another pass walks, by what it takes of fuel. */
    uint64_t (*walked)(void *state);
    /* Forget one page, in one address space or in any. For callgrind. */
    void (*invalidate)(void *state, int any);
} scale_side;

extern const scale_side scale_now;
extern const scale_side scale_base; /* if the program is compiled with BASE */

#endif /* SCALE_H */
