/* run.h: one run of a decoder over an input: the input, its code, callbacks and
 * trace, one call, and what is checked of it. A part of fuzz.h. */
#ifndef FUZZ_RUN_H
#define FUZZ_RUN_H

#include "tests/linked.h"
#include "tests/dice.h"
#include "tests/gaps.h"
#include "tests/kinds.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FUZZ_FAIL
#define FUZZ_FAIL(line, text)                                              \
    (fprintf(stderr, "line %d: check failed: %s\n", line, text), abort())
#endif

/* Everything that a decoder hands out ends here, so that no compiler can drop
 * the loads after it. */
static volatile uint64_t fuzz_sink;

/* ---- the input ---- */

enum { /* fuzz_case.flags */
    FUZZ_RESYNC = 0x01,   /* resync after errors, where the layer can */
    FUZZ_CLASSIFY = 0x02, /* config.classify is set; .lie says what it does */
    FUZZ_UNKNOWN = 0x04,  /* config.unknown is set */
    FUZZ_SPACE = 0x08,    /* config.space is set */
    FUZZ_OPEN = 0x10,     /* the trace is never closed */
    FUZZ_GROW = 0x20,     /* fed pieces are glued to the one before */
    FUZZ_ASID = 0x40,     /* the code depends on CR3 */
    FUZZ_FAR = 0x80       /* the trace begins at a large stream offset */
};

enum { /* fuzz_case.lie % 16: config.read; those before BYTES are a function of
        * the address, which the cache and all else may rely on */
    FUZZ_HONEST,
    FUZZ_BYTE,   /* one byte at a time */
    FUZZ_SHORT,  /* short counts */
    FUZZ_MIRROR, /* the code repeats all over the address space */
    FUZZ_HOLES,  /* some addresses give some error */
    FUZZ_ZERO,   /* the same answer always, from here ... */
    FUZZ_END,
    FUZZ_MORE,
    FUZZ_NEGATIVE,
    FUZZ_INT_MIN,
    FUZZ_TOO_MUCH,
    FUZZ_INT_MAX, /* ... to here */
    FUZZ_BYTES,   /* other bytes each time */
    FUZZ_STATUS,  /* any status, other bytes */
    FUZZ_READS
};

enum { /* fuzz_case.lie / 16: config.classify, if FUZZ_CLASSIFY */
    FUZZ_C_HONEST,
    FUZZ_C_SIZE_0,
    FUZZ_C_SIZE_MORE, /* than there is */
    FUZZ_C_SIZE_255,
    FUZZ_C_KIND,
    FUZZ_C_TARGET, /* any displacement */
    FUZZ_C_MORE,
    FUZZ_C_INT_MIN,
    FUZZ_C_SILENT, /* success, nothing written */
    FUZZ_C_INT_MAX,
    FUZZ_C_KINDS, /* any kind */
    FUZZ_C_COUNT
};

enum { /* fuzz_case.more */
    FUZZ_MORE_FLAGS = 0x01,   /* bit 8 of config.flags */
    FUZZ_MORE_CS = 0x02,      /* config.cs_base; see fuzz_relative */
    FUZZ_MORE_ERRATA = 0x0c,  /* bits 9:8 of config.errata */
    FUZZ_MORE_FILTERS = 0x10, /* config.filter */
    FUZZ_MORE_TIME = 0x20,    /* config.cpuid_15, nom_freq */
    FUZZ_MORE_MTC = 0xc0      /* config.mtc_freq, thrice */
};

enum { /* fuzz_case.wide */
    FUZZ_WIDE_FLAGS = 0x0f, /* bits 12:9 of config.flags */
    FUZZ_WIDE_START = 0x10, /* begin with _start, not at a PSB, ... */
    FUZZ_WIDE_LAST_IP = 0x20,
    FUZZ_WIDE_STACK = 0x40,
    FUZZ_WIDE_OFF = 0x80 /* ... while tracing is disabled */
};

enum { /* fuzz_case.extra */
    FUZZ_EXTRA_MODE = 0x03,    /* config.mode; _start says none then */
    FUZZ_EXTRA_UNWANTED = 0xfc /* config.unwanted: 0 none, 63 all that may be,
                                * else the type of this number less 1. 62, 61,
                                * 60: all are wanted, but NO_TIME, KEEP_CALLS,
                                * NO_TNT of IPT_CONFIG_ is set */
};

/* config.flags of which no bit of an input speaks. */
#define FUZZ_HIGH_FLAGS \
    (IPT_CONFIG_NO_TIME | IPT_CONFIG_KEEP_CALLS | IPT_CONFIG_NO_TNT)

enum { /* bytes of the configuration */
    FUZZ_AT_FLAGS,
    FUZZ_AT_CONFIG, /* low bits of config.flags */
    FUZZ_AT_ERRATA, /* low bits of config.errata */
    FUZZ_AT_MORE,   /* FUZZ_MORE_ */
    FUZZ_AT_CUT,  /* seed of the pieces; 0: bytes */
    FUZZ_AT_FUEL, /* units for each refill, less 1 */
    FUZZ_AT_LIE,
    FUZZ_AT_CLONE, /* calls from clone to clone, less 1; where to sync_set */
    FUZZ_AT_BASE,  /* which address the code has: fuzz_bases; its upper five
                    * bits: trace is lost there, if not 0 */
    FUZZ_AT_CODE,  /* its size */
    FUZZ_AT_WIDE,  /* FUZZ_WIDE_ */
    FUZZ_AT_WAY,   /* while fuzzing: the way that is compared with the plain one;
                    * every other trace draws it itself, so that none is rare */
    FUZZ_AT_EXTRA, /* FUZZ_EXTRA_ */
    FUZZ_HEAD
};

/* Trace that is lost: `size` bytes before byte `at` of what there is. */
typedef struct fuzz_loss {
    size_t at;
    size_t size;
} fuzz_loss;

#define FUZZ_LOSSES 4

typedef struct fuzz_case {
    uint8_t flags;
    uint8_t config;
    uint8_t errata;
    uint8_t more;
    uint8_t cut;
    uint8_t fuel;
    uint8_t lie;
    uint8_t clone;
    uint8_t base;
    uint8_t wide;
    uint8_t way;
    uint8_t extra;
    size_t code_size;
    size_t trace_size;
    const uint8_t *code;
    const uint8_t *trace;
    /* What no input can say; 0 is the default. */
    size_t halves; /* where the pieces meet if there are only two */
    size_t piece;  /* bytes of a random piece at most, less 1; 0: 18 */
    int (*image)(uint8_t *buffer, size_t size, const ipt_asid *asid,
                 uint64_t ip, void *context); /* instead of code */
    void (*configure)(ipt_config *config, void *context); /* has the last word */
    void *context;
    unsigned losses; /* in `loss`, with at increasing */
    fuzz_loss loss[FUZZ_LOSSES];
    size_t lines;     /* of the code cache; 0: FUZZ_LINES */
    int warm;         /* the code cache has been used before */
    uint64_t touched; /* code near here is invalidated; 0: at fuzz_base */
    int forgets; /* all code is invalidated before every call */
    uint64_t unwanted; /* config.unwanted */
    uint32_t high;     /* FUZZ_HIGH_FLAGS of config.flags */
    int section;       /* config.section is set, whatever clone is */
    const ipt_start *start; /* FUZZ_WIDE_START: the state, except its offset */
} fuzz_case;

/* Where code lies: across two pages; the last two run over the end of the
 * 64-bit and, in 32-bit mode, of the 32-bit address space. */
#define FUZZ_BASES 5
static const uint64_t fuzz_bases[FUZZ_BASES]
    = {0x400fc0, 0x7fffffffc0, 0, 0xffffffffffffffe0, 0xffffffe0};

static inline uint64_t fuzz_base(const fuzz_case *c)
{
    return fuzz_bases[c->base % 8 % FUZZ_BASES];
}

/* The loss number i of the trace. Returns 0 if there are fewer. */
static inline int fuzz_loss_at(const fuzz_case *c, unsigned i,
                               fuzz_loss *loss)
{
    if (c->losses) {
        *loss = c->loss[i < c->losses ? i : 0];
        return i < c->losses;
    }
    loss->at = c->base / 8 * c->trace_size / 32;
    loss->size = 1 + c->clone % 5u;
    return i == 0 && loss->at > 0;
}

/* Take an input apart. Returns 0 if it is too short. */
static inline int fuzz_parse(fuzz_case *c, const uint8_t *data, size_t size)
{
    uint32_t sum = 0;
    size_t i;

    if (size < FUZZ_HEAD || size - FUZZ_HEAD < data[FUZZ_AT_CODE])
        return 0;
    memset(c, 0, sizeof(*c));
    c->flags = data[FUZZ_AT_FLAGS];
    c->config = data[FUZZ_AT_CONFIG];
    c->errata = data[FUZZ_AT_ERRATA];
    c->more = data[FUZZ_AT_MORE];
    c->cut = data[FUZZ_AT_CUT];
    c->fuel = data[FUZZ_AT_FUEL];
    c->lie = data[FUZZ_AT_LIE];
    c->clone = data[FUZZ_AT_CLONE];
    c->base = data[FUZZ_AT_BASE];
    c->code_size = data[FUZZ_AT_CODE];
    c->wide = data[FUZZ_AT_WIDE];
    c->way = data[FUZZ_AT_WAY];
    c->extra = data[FUZZ_AT_EXTRA];
    if (c->extra / 4 == 63)
        c->unwanted = IPT_UNWANTED_;
    else if (c->extra / 4 > 0)
        c->unwanted = (uint64_t) 1 << (c->extra / 4 - 1) & IPT_UNWANTED_;
    c->high = c->extra / 4 == 62   ? IPT_CONFIG_NO_TIME
              : c->extra / 4 == 61 ? IPT_CONFIG_KEEP_CALLS
              : c->extra / 4 == 60 ? IPT_CONFIG_NO_TNT : 0;
    c->code = data + FUZZ_HEAD;
    c->trace = c->code + c->code_size;
    c->trace_size = size - FUZZ_HEAD - c->code_size;
    for (i = 0; i < c->trace_size; i++)
        sum = (sum ^ c->trace[i]) * 0x01000193u;
    if (sum >> 31)
        c->way = (uint8_t) (sum >> 16);
    return 1;
}

static inline int fuzz_reads(const fuzz_case *c)
{
    return c->lie % 16 % FUZZ_READS;
}

/* config.cs_base where IPs are relative. */
#define FUZZ_CS 0x12345670u

static inline int fuzz_relative(const fuzz_case *c)
{
    return c->more & FUZZ_MORE_CS && c->clone % 2
           && fuzz_reads(c) != FUZZ_MIRROR;
}

static inline int fuzz_classifies(const fuzz_case *c)
{
    return c->flags & FUZZ_CLASSIFY ? c->lie / 16 % FUZZ_C_COUNT : 0;
}

/* Do the callbacks answer the same question the same way each time? */
static inline int fuzz_pure(const fuzz_case *c)
{
    return fuzz_reads(c) < FUZZ_BYTES && fuzz_classifies(c) == FUZZ_C_HONEST;
}

/* Do reads end only where the mapping does? If not, what is one instruction and
 * what a torn one (IPT_FLOW_TRUNCATED) depends on where reads begin. */
static inline int fuzz_whole(const fuzz_case *c)
{
    return fuzz_reads(c) != FUZZ_BYTE && fuzz_reads(c) != FUZZ_SHORT;
}

/* Does where reads begin say which instructions are torn? With a byte each, all
 * of two bytes and more are. */
static inline int fuzz_tears(const fuzz_case *c)
{
    return fuzz_reads(c) == FUZZ_SHORT;
}

/* ---- the log of a run ---- */

enum { /* fuzz_item.what */
    FUZZ_PACKET = 1,
    FUZZ_EVENT,
    FUZZ_BLOCK,
    FUZZ_INSN,
    FUZZ_SYNC, /* synchronised */
    FUZZ_STOP  /* a status that retrying does not cure */
};

typedef struct fuzz_item {
    uint64_t offset;
    uint64_t ip;
    uint64_t end;  /* block: end_ip; events, instructions: tsc */
    uint64_t hash; /* packets, events: of u */
    int32_t status;
    uint32_t count; /* block: instructions; packet: bytes */
    uint16_t flags;
    uint8_t what;
    uint8_t kind; /* type of packets and events */
    uint8_t size;
    uint8_t mode;
    uint8_t zero[2];
} fuzz_item;

#ifndef FUZZ_LOG
#define FUZZ_LOG 4096
#endif
typedef struct fuzz_log {
    const char *name;
    size_t count;
    size_t total; /* items, also those that are not here any more */
    size_t events;
    size_t errors;
    uint64_t dropped; /* these as of `at` at the end */
    uint64_t skipped;
    uint32_t overflows;
    uint32_t gaps;
    uint32_t resyncs;
    int cut;          /* it is not complete */
    fuzz_item item[FUZZ_LOG];
} fuzz_log;

/* ---- a run ---- */

typedef struct fuzz_run fuzz_run;

/* A layer of decoders, all of which have the same verbs. next decodes one step
 * and logs what came of it. */
typedef struct fuzz_layer {
    const char *name;
    size_t size;
    int (*init)(void *decoder, const ipt_config *config,
                const ipt_trace *trace, ipt_cache *cache);
    int (*forward)(void *decoder);
    int (*backward)(void *decoder);
    int (*set)(void *decoder, uint64_t offset);
    int (*next)(fuzz_run *run);
    int (*resync)(void *decoder); /* NULL: there is none */
    int low;  /* lowest status of the trace that next may return */
    int flow; /* it follows code */
    int most; /* bits of a status */
    int (*start)(void *decoder, const ipt_start *start); /* NULL: none */
} fuzz_layer;

enum { FUZZ_WHOLE, FUZZ_PIECES, FUZZ_FEED }; /* fuzz_run.way */
enum { FUZZ_TOLD_NONE, FUZZ_TOLD_NOT, FUZZ_TOLD_EVENT, FUZZ_TOLD_LAST };

#define FUZZ_LINES 64
#define FUZZ_WORK 65536 /* units in all, where only fuel ends a run; ... */
#define FUZZ_REFILL 15  /* ... a refill costs that much more */
#define FUZZ_PAGES 512

struct fuzz_run {
    const fuzz_layer *layer; /* these say what to do */
    const fuzz_case *c;
    fuzz_log *log;
    int way;
    int cached;
    int fueled;  /* c->fuel + 1 units at a time */
    int lazy;    /* pages come late */
    int quiet;   /* nobody pulls events */
    int cloned;
    int again;   /* the decoder has decoded something before */
    uint64_t psb; /* begin at the PSB at this offset, less 1; 0: the first */
    int first;   /* the reference: check what need not be checked twice */
    void *decoder;
    ipt_config config;
    ipt_trace trace;
    ipt_segment *seg; /* trace.seg, exactly trace.count of them ... */
    uint32_t room;    /* ... but room for these, while they are cut */
    size_t given;     /* bytes of c->trace that were given */
    unsigned losses;  /* gaps that were given, ... */
    uint64_t lost;    /* ... and the bytes lost in them */
    uint32_t random;
    uint64_t fuel;
    uint64_t work;   /* fuel that may still be given */
    uint64_t last;   /* at.sync of the last synchronisation */
    uint64_t path;   /* items since trace was used */
    int told;        /* FUZZ_TOLD_: did the last item or event say IPT_LAST? */
    int calm;        /* no event waits: what comes next is in at.mode */
    uint64_t resyncs;
    fuzz_item before; /* the instruction before; what 0: none */
    uint32_t calls;   /* of config.read */
    int answer;       /* what config.read said last */
    int stop;
    int status;       /* of the last step */
    unsigned steps;
    unsigned turns;   /* calls, where clones take over */
    uint8_t present[FUZZ_PAGES / 8]; /* lazy: which pages are there */
    ipt_cache_line *lines;
    ipt_cache cache;
    ipt_clock clock;
    uint64_t last_ip; /* packets: of those seen */
};

static inline void fuzz_check(fuzz_run *run, int ok, int line,
                              const char *text)
{
    if (ok || run->stop)
        return;
    run->stop = 1;
    FUZZ_FAIL(line, text);
}

#define FUZZ_CHECK(run, ok) \
    fuzz_check(run, !!(ok), __LINE__, __FILE__ ": " #ok)

static inline ipt_where *fuzz_at(const fuzz_run *run)
{
    return (ipt_where *) run->decoder; /* the first member of each decoder */
}

static inline uint64_t fuzz_word(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Are they the same? Not memcmp, as that is libFuzzer's here: it takes what
 * differs for what an input should have, and that is places in a log. */
static inline int fuzz_equal(const void *a, const void *b, size_t size)
{
    const uint8_t *p = (const uint8_t *) a;
    const uint8_t *q = (const uint8_t *) b;
    uint64_t differ = 0;
    size_t i = 0;

    for (; i + 8 <= size; i += 8)
        differ |= fuzz_word(p + i) ^ fuzz_word(q + i);
    for (; i < size; i++)
        differ |= (uint64_t) (p[i] ^ q[i]);
    return differ == 0;
}

static inline uint64_t fuzz_hash(const void *bytes, size_t size)
{
    const uint8_t *p = (const uint8_t *) bytes;
    uint64_t hash = 0xcbf29ce484222325u;

    while (size--)
        hash = (hash ^ *p++) * 0x100000001b3u;
    return hash;
}

static inline void fuzz_print(const fuzz_item *item)
{
    static const char *const what[]
        = {"-", "packet", "event", "block", "insn", "sync", "stop"};

    fprintf(stderr, "  %-6s", what[item->what]);
    if (item->what == FUZZ_PACKET)
        fprintf(stderr, " %s", ipt_pkt_name(item->kind));
    else if (item->what == FUZZ_EVENT)
        fprintf(stderr, " %s", ipt_evt_name(item->kind));
    else if (item->what == FUZZ_STOP)
        fprintf(stderr, " %s", ipt_status_name(item->status));
    else if (item->what != FUZZ_SYNC)
        fprintf(stderr, " %s", ipt_insn_name(item->kind));
    fprintf(stderr,
            " offset %llx ip %llx end %llx hash %llx count %u flags %x size"
            " %u mode %u status %d\n",
            (unsigned long long) item->offset, (unsigned long long) item->ip,
            (unsigned long long) item->end, (unsigned long long) item->hash,
            item->count, item->flags, item->size, item->mode,
            (int) item->status);
}

static inline int fuzz_verbose(void)
{
    static int verbose = -1;

    if (verbose < 0)
        verbose = getenv("FUZZ_VERBOSE") != NULL;
    return verbose;
}

static inline void fuzz_put(fuzz_run *run, const fuzz_item *item)
{
    fuzz_log *log = run->log;

    fuzz_sink += item->hash + item->ip + item->offset + item->flags
                 + item->count + item->end + item->kind + item->size
                 + item->mode;
    if (log->count == FUZZ_LOG) {
        log->cut = 1;
        run->stop = 1;
        return;
    }
    log->events += item->what == FUZZ_EVENT;
    log->total++;
    log->item[log->count++] = *item;
    if (fuzz_verbose())
        fuzz_print(item);
}

/* ---- the traced code ---- */

/* The index of an address in the code, or code_size. */
static inline size_t fuzz_index(const fuzz_case *c, uint64_t ip)
{
    const uint64_t base = fuzz_base(c);
    uint64_t i = ip - base;

    if (c->code_size == 0)
        return 0;
    if (fuzz_base(c) == fuzz_bases[4] && ip >> 32 == 0)
        i = (uint32_t) i;
    if (i >= c->code_size && fuzz_relative(c) && ip >> 32 == 0)
        i = (uint32_t) (i - FUZZ_CS);
    if (i >= c->code_size && fuzz_reads(c) == FUZZ_MIRROR)
        i %= c->code_size;
    return i < c->code_size ? (size_t) i : c->code_size;
}

static inline unsigned fuzz_mapping(const fuzz_case *c, const ipt_asid *asid)
{
    return c->flags & FUZZ_ASID && asid->cr3 != IPT_ASID_UNKNOWN
               ? (unsigned) (asid->cr3 >> 12 & 3)
               : 0;
}

/* Copy what is there of `size` bytes at ip. Returns how many. In a page code is
 * in one piece, except where it begins again: at the base, too, as what repeats
 * before it need not end there. */
static inline int fuzz_copy(const fuzz_case *c, uint8_t *to, size_t size,
                            const ipt_asid *asid, uint64_t ip)
{
    const unsigned shift = c->image ? 0 : fuzz_mapping(c, asid);
    size_t n = 0;
    size_t k;

    if (c->image) {
        const int status = c->image(to, size, asid, ip, c->context);
        return status < 0 ? 0 : status;
    }
    while (n < size) {
        const size_t i = fuzz_index(c, ip + n);
        size_t most = c->code_size - i;
        const uint64_t page = 4096 - (ip + n) % 4096;
        const uint64_t base = fuzz_base(c) - (ip + n);
        if (most == 0)
            break;
        most = most < size - n ? most : size - n;
        most = most < page ? most : (size_t) page;
        most = most < base || base == 0 ? most : (size_t) base;
        if (!shift)
            memcpy(to + n, c->code + i, most);
        for (k = 0; k < most && shift; k++)
            to[n + k] = c->code[(i + k + shift) % c->code_size];
        n += most;
    }
    return (int) n;
}

static inline int fuzz_is_present(const fuzz_run *run, uint64_t ip)
{
    const unsigned page = (unsigned) (ip >> 12) % FUZZ_PAGES;

    return !run->lazy || run->present[page / 8] >> page % 8 & 1;
}

/* Every address is good or bad by itself. Returns 0 if it is good. */
static inline int fuzz_hole(const fuzz_case *c, uint64_t ip)
{
    static const int status[]
        = {IPT_END, IPT_MORE, IPT_NEED_PAGE, -1000, INT_MIN, IPT_ERR_INTERNAL,
           INT_MAX, IPT_ERR_IMAGE};
    const uint64_t page = ip / 8 + c->clone;

    if (fuzz_reads(c) != FUZZ_HOLES || (page * 0x9e3779b9u >> 8) % 4)
        return 0;
    return status[page % 8];
}

static inline int fuzz_answer(fuzz_run *run, uint8_t *buffer, size_t size,
                              const ipt_asid *asid, uint64_t ip)
{
    const fuzz_case *c = run->c;
    size_t most = size;
    size_t i;

    switch (fuzz_reads(c)) {
    case FUZZ_BYTE:
        most = 1;
        break;
    case FUZZ_SHORT:
        most = 1 + (size_t) (ip * 7 + c->clone) % 9;
        break;
    case FUZZ_ZERO:
        return 0;
    case FUZZ_END:
        return IPT_END;
    case FUZZ_MORE:
        return IPT_MORE;
    case FUZZ_NEGATIVE:
        return -1000;
    case FUZZ_INT_MIN:
        return INT_MIN;
    case FUZZ_TOO_MUCH:
        return (int) size + 1;
    case FUZZ_INT_MAX:
        return INT_MAX;
    case FUZZ_STATUS:
    case FUZZ_BYTES:
        for (i = 0; i < size; i++)
            buffer[i] = (uint8_t) dice_24(&run->random);
        if (fuzz_reads(c) == FUZZ_STATUS && dice_24(&run->random) % 8 == 0)
            return (int) dice_24(&run->random) % 260 - 130;
        return 1 + (int) (dice_24(&run->random) % size);
    default:
        break;
    }
    if (fuzz_hole(c, ip))
        return fuzz_hole(c, ip);
    if (!fuzz_is_present(run, ip))
        return ip & 1 ? IPT_NEED_PAGE : 0;
    if (most > size)
        most = size;
    for (i = 1; i < most && fuzz_reads(c) == FUZZ_HOLES && !c->image; i++)
        if (fuzz_hole(c, ip + i)) /* of pages there is one */
            most = i;
    i = (size_t) fuzz_copy(c, buffer, most, asid, ip);
    return i == 0 && ip & 1 ? IPT_NEED_PAGE : (int) i;
}

static inline int fuzz_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                            uint64_t ip, void *context)
{
    fuzz_run *run = (fuzz_run *) context;

    FUZZ_CHECK(run, size > 0);
    FUZZ_CHECK(run, size <= 4096);
    FUZZ_CHECK(run, ip % 4096 + size <= 4096);
    run->calls++;
    memset(buffer, 0xcc, size); /* all of it is the callback's to write */
    run->answer = fuzz_answer(run, buffer, size, asid, ip);
    return run->answer;
}

/* ---- the other callbacks ---- */

static inline int fuzz_classify(ipt_code *code, const uint8_t *bytes,
                                size_t size, uint8_t mode, void *context)
{
    fuzz_run *run = (fuzz_run *) context;
    const int lie = fuzz_classifies(run->c);
    int status;

    FUZZ_CHECK(run, size > 0);
    if (lie != FUZZ_C_HONEST && dice_24(&run->random) % 4 == 0) {
        if (lie == FUZZ_C_SILENT)
            return IPT_OK;
        if (lie >= FUZZ_C_MORE && lie != FUZZ_C_KINDS)
            return lie == FUZZ_C_MORE    ? IPT_MORE
                   : lie == FUZZ_C_INT_MIN ? INT_MIN
                                           : INT_MAX;
        code->size = lie == FUZZ_C_SIZE_0      ? 0
                     : lie == FUZZ_C_SIZE_MORE ? (uint8_t) (size + 1)
                     : lie == FUZZ_C_SIZE_255  ? 255
                                               : 1;
        code->kind = lie == FUZZ_C_KIND
                         ? (uint8_t) (IPT_INSN_COUNT + run->random % 200)
                         : (uint8_t) (run->random % IPT_INSN_COUNT);
        code->displacement = (int64_t) ((uint64_t) run->random << 40
                                        ^ run->random);
        return IPT_OK;
    }
    status = ipt_classify(code, bytes, size, mode, context);
    return status;
}

/* A function of the first bytes, so that pieces do not matter. */
static inline int fuzz_unknown(ipt_packet *packet, const uint8_t *bytes,
                               size_t size, void *context)
{
    static const int lies[] = {0, 256, INT_MAX, INT_MIN, 255, -1, 16, 17};
    fuzz_run *run = (fuzz_run *) context;
    const unsigned key = bytes[0] ^ (size > 1 && bytes[0] == 2 ? bytes[1] : 0u);

    FUZZ_CHECK(run, size > 0);
    FUZZ_CHECK(run, size <= 16);
    fuzz_sink += bytes[size - 1];
    memset(&packet->u, (int) key, sizeof(packet->u));
    if (key % 4 != 3)
        return (int) (1 + key % 4);
    packet->type = (uint8_t) key; /* none of its business */
    packet->size = 0;
    packet->offset = 1;
    return lies[(key >> 2) % 8];
}

static inline uint64_t fuzz_space(const ipt_asid *asid, void *context)
{
    fuzz_run *run = (fuzz_run *) context;

    if (!fuzz_pure(run->c))
        return dice_24(&run->random) % 20;
    return fuzz_mapping(run->c, asid);
}

/* Ranges of one page or of 8. A number that is used again in another range says
 * nothing of that. */
static inline uint64_t fuzz_space_at(const ipt_asid *asid, uint64_t ip,
                                     uint64_t *first, uint64_t *last,
                                     void *context)
{
    fuzz_run *run = (fuzz_run *) context;
    const uint64_t range = run->c->clone & 4 ? 0x7fff : 0xfff;

    FUZZ_CHECK(run, *first == (ip & ~(uint64_t) 0xfff));
    FUZZ_CHECK(run, *last == (ip | 0xfff));
    *first = ip & ~range;
    *last = ip | range;
    if (!fuzz_pure(run->c)) {
        *first += dice_24(&run->random);
        *last -= dice_24(&run->random);
        return dice_24(&run->random) % 20;
    }
    return (fuzz_mapping(run->c, asid) + ip / (range + 1)) % 5;
}

/* Mappings of 16 bytes, if there are such. Where CS begins is no matter. */
static inline uint64_t fuzz_section(const ipt_asid *asid, uint64_t ip,
                                    void *context)
{
    (void) asid;
    (void) context;
    return ip >> 3 & 1;
}

static inline int fuzz_sections(const fuzz_case *c)
{
    return c->section || c->clone % 8 == 5;
}

static inline int fuzz_crosses(const fuzz_case *c, uint64_t from, uint64_t to)
{
    return fuzz_sections(c)
           && fuzz_section(NULL, from, NULL) != fuzz_section(NULL, to, NULL);
}

/* Segments of 64 KiB, or one that begins elsewhere. */
static inline uint64_t fuzz_cs_base(const ipt_asid *asid, uint64_t ip,
                                    uint8_t mode, void *context)
{
    fuzz_run *run = (fuzz_run *) context;

    FUZZ_CHECK(run, mode == IPT_MODE_16 || mode == IPT_MODE_32);
    FUZZ_CHECK(run, ip <= UINT32_MAX);
    fuzz_sink += asid->cr3;
    if (!fuzz_pure(run->c))
        return dice_24(&run->random) * (uint64_t) 0x100010001;
    return fuzz_relative(run->c) ? FUZZ_CS : ip & 0xffff0000u;
}

/* ---- the trace ---- */

/* Bytes in a block of their own, so that a sanitizer sees a read beyond. */
static inline const uint8_t *fuzz_block(const uint8_t *bytes, size_t size)
{
    uint8_t *block = size ? (uint8_t *) malloc(size) : NULL;

    if (block)
        memcpy(block, bytes, size);
    return block;
}

static inline void fuzz_free(const uint8_t *block, size_t size)
{
    if (block)
        memset((void *) (uintptr_t) block, 0xdd, size);
    free((void *) (uintptr_t) block);
}

/* Let the trace have `count` pieces: those from `from` on are kept. */
static inline void fuzz_pieces(fuzz_run *run, uint32_t from, uint32_t count)
{
    const uint32_t old = run->trace.count - from;
    ipt_segment *seg;

    if (from == 0 && count > old && count <= run->room) {
        run->trace.count = count;
        return;
    }
    run->room = 0;
    seg = count ? (ipt_segment *) calloc(count, sizeof(*seg)) : NULL;

    if (seg && old)
        memcpy(seg, run->seg + from, (old < count ? old : count)
                                         * sizeof(*seg));
    free(run->seg);
    run->seg = seg;
    run->trace.seg = seg;
    run->trace.count = count;
}

static inline uint64_t fuzz_begin(const fuzz_case *c)
{
    return c->flags & FUZZ_FAR ? 0xfffffff0u + (uint64_t) c->clone : 0;
}

/* Give one more piece. Returns 0 if there is none. */
static inline int fuzz_give(fuzz_run *run)
{
    const fuzz_case *c = run->c;
    const uint8_t *from = c->trace + run->given;
    size_t size = c->trace_size - run->given;
    ipt_segment *seg
        = run->trace.count ? &run->seg[run->trace.count - 1] : NULL;
    fuzz_loss loss;
    int lossy;

    if (size == 0)
        return 0;
    lossy = fuzz_loss_at(c, run->losses, &loss);
    if (lossy && run->given == loss.at) {
        run->losses++;
        run->lost += gap_counts(fuzz_begin(c) + run->given + run->lost,
                                 loss.size);
        fuzz_pieces(run, 0, run->trace.count + 1);
        run->seg[run->trace.count - 1].data = NULL;
        run->seg[run->trace.count - 1].size = loss.size;
        return 1;
    }
    if (run->way != FUZZ_WHOLE && run->given < c->halves)
        size = c->halves - run->given;
    if (lossy && size > loss.at - run->given)
        size = loss.at - run->given;
    if (run->way != FUZZ_WHOLE && !c->halves) {
        const uint32_t most = c->piece ? (uint32_t) c->piece : 19;
        size_t want = c->cut == 0 ? 1 : dice_24(&run->random) % most;
        want += want == 0 && seg && seg->size == 0; /* not two empty ones */
        size = size < want ? size : want;
    }
    run->given += size;
    if (run->way == FUZZ_FEED && c->flags & FUZZ_GROW && seg
        && seg->size < 24 && (seg->data || !seg->size)) {
        const uint8_t *old = seg->data;
        uint8_t *grown = (uint8_t *) malloc(seg->size + size + 1);
        if (seg->size)
            memcpy(grown, old, seg->size);
        if (size)
            memcpy(grown + seg->size, from, size);
        fuzz_free(old, seg->size);
        /* not a byte too many, for the sanitizer */
        seg->data = fuzz_block(grown, seg->size + size);
        seg->size += size;
        free(grown);
        return 1;
    }
    fuzz_pieces(run, 0, run->trace.count + 1);
    run->seg[run->trace.count - 1].data = fuzz_block(from, size);
    run->seg[run->trace.count - 1].size = size;
    return 1;
}

/* Drop the pieces that forward decoding does not need any more. */
static inline void fuzz_drop(fuzz_run *run, uint64_t release)
{
    uint32_t n = 0;

    for (; n < run->trace.count; n++) {
        const ipt_segment *seg = &run->seg[n];
        const uint64_t size
            = seg->data || !seg->size
                  ? seg->size
                  : gap_counts(run->trace.offset, seg->size);
        if (run->trace.offset + size > release)
            break;
        run->trace.offset += size;
        fuzz_free(seg->data, seg->size);
    }
    if (n)
        fuzz_pieces(run, n, run->trace.count - n);
}

/* ---- one call ---- */

/* Is it a status that this call may return? */
static inline int fuzz_known(const fuzz_run *run, int status, int sync)
{
    const fuzz_layer *layer = run->layer;

    if (status >= 0)
        return status <= layer->most;
    switch (status) {
    case IPT_END:
    case IPT_BUDGET:
    case IPT_MORE:
        return 1;
    case IPT_ERR_GONE:
        return sync && (run->trace.offset > 0 || run->lost);
    case IPT_ERR_OPCODE:
    case IPT_ERR_PACKET:
    case IPT_ERR_TRUNCATED:
        return !sync;
    case IPT_ERR_CALLBACK:
        return !sync && (layer->flow || run->config.unknown);
    case IPT_ERR_CONTEXT:
    case IPT_ERR_NO_IP:
    case IPT_ERR_STATUS:
    case IPT_ERR_EVENTS:
        return !sync && layer->low <= IPT_ERR_EVENTS;
    case IPT_EVENT_FIRST:
    case IPT_NEED_PAGE:
    case IPT_ERR_MISMATCH:
    case IPT_ERR_RETURN:
    case IPT_ERR_RETURN_LOST:
    case IPT_ERR_NO_TNT:
    case IPT_ERR_RETCOMP:
    case IPT_ERR_MODE:
    case IPT_ERR_IMAGE:
    case IPT_ERR_BAD_INSN:
    case IPT_ERR_LOOP:
        return !sync && layer->flow;
    default:
        return 0;
    }
}

/* Is what a status stands for the case, and the location right? */
static inline void fuzz_status(fuzz_run *run, int status, int sync)
{
    const fuzz_layer *layer = run->layer;
    const ipt_where *at = fuzz_at(run);
    const uint64_t begin = fuzz_begin(run->c);
    const uint64_t end = begin + run->given + run->lost;
    const int known = fuzz_known(run, status, sync);

    if (!known)
        fprintf(stderr, "%s: status %d (%s)\n", run->layer->name, status,
                ipt_status_name(status));
    FUZZ_CHECK(run, known);
    FUZZ_CHECK(run, at->offset >= begin);
    FUZZ_CHECK(run, at->offset <= end);
    FUZZ_CHECK(run, at->release <= at->offset);
    FUZZ_CHECK(run, at->release >= begin);
    FUZZ_CHECK(run, status >= 0 || at->error == status
                        || (layer->flow && at->error == IPT_END));
    if (at->valid & IPT_AT_SYNC) {
        FUZZ_CHECK(run, at->sync >= begin);
        FUZZ_CHECK(run, at->sync + 16 <= end);
    }
    if (status == IPT_BUDGET) {
        FUZZ_CHECK(run, run->config.fuel);
        FUZZ_CHECK(run, run->fuel == 0);
    }
    if (status == IPT_MORE)
        FUZZ_CHECK(run, run->trace.open);
    if (status == IPT_END)
        FUZZ_CHECK(run, !run->trace.open);
    if (status == IPT_NEED_PAGE) {
        FUZZ_CHECK(run, run->answer == 0 || run->answer == IPT_NEED_PAGE);
        /* BDM64 looks ahead of flow, in the page of the abort. */
        FUZZ_CHECK(run, (uint32_t) (at->missing - at->ip) < 15
                            || run->config.errata & IPT_ERRATUM_BDM64
                            || (fuzz_relative(run->c)
                                && (uint32_t) (at->missing - at->ip - FUZZ_CS)
                                       < 15)
                            || (run->c->configure
                                && run->config.flags & IPT_CONFIG_RELATIVE_IP)
                            || !fuzz_pure(run->c));
    }
    if (status == IPT_ERR_IMAGE) {
        FUZZ_CHECK(run, run->answer < 0);
        FUZZ_CHECK(run, at->image_error == run->answer);
    }
    if (status <= IPT_ERR_IMAGE && run->layer->flow)
        FUZZ_CHECK(run, at->valid & IPT_AT_IP
                            || (run->config.unknown
                                && status == IPT_ERR_CALLBACK));
    if (status <= IPT_ERR_OPCODE && !sync && at->packet != IPT_PKT_NONE) {
        FUZZ_CHECK(run, at->packet_offset >= begin);
        FUZZ_CHECK(run, at->packet_offset <= at->offset);
    }
}

/* Bring the page that is missing. Returns 0 if there is none. */
static inline int fuzz_page(fuzz_run *run)
{
    const uint64_t ip = fuzz_at(run)->missing;
    const unsigned page = (unsigned) (ip >> 12) % FUZZ_PAGES;
    uint8_t byte;

    if (!run->lazy || fuzz_hole(run->c, ip)
        || !fuzz_copy(run->c, &byte, 1, &fuzz_at(run)->asid, ip))
        return 0;
    FUZZ_CHECK(run, !fuzz_is_present(run, ip));
    run->present[page / 8] |= (uint8_t) (1 << page % 8);
    return !run->stop;
}

/* A call whose fuel was used up must have done something with it, and with
 * `refills` of them it must end. */
static inline int fuzz_refill(fuzz_run *run, const void *before, int *idle,
                              unsigned refills)
{
    const uint64_t units = run->fueled ? run->c->fuel + 1u : FUZZ_WORK;

    *idle = fuzz_equal(before, run->decoder, run->layer->size) ? *idle + 1 : 0;
    FUZZ_CHECK(run, *idle < 4);
    FUZZ_CHECK(run, refills < FUZZ_WORK);
    if (run->work < units + FUZZ_REFILL) {
        run->log->cut = 1;
        run->stop = 1;
    }
    run->work -= run->c->image ? 0 : units + FUZZ_REFILL;
    run->fuel = units;
    return !run->stop;
}

enum { FUZZ_DO_NEXT, FUZZ_DO_FORWARD, FUZZ_DO_RESYNC };

/* The decoder goes on as a copy of itself. */
static inline void fuzz_clone(fuzz_run *run)
{
    void *clone = malloc(run->layer->size);

    memcpy(clone, run->decoder, run->layer->size);
    memset(run->decoder, 0xdd, run->layer->size);
    free(run->decoder);
    run->decoder = clone;
}

/* Call until it is done, curing what can be cured. */
static inline int fuzz_call(fuzz_run *run, int what)
{
    const fuzz_layer *layer = run->layer;
    void *before = run->fueled ? malloc(layer->size) : NULL;
    int status = IPT_ERR_INTERNAL;
    unsigned refills = 0;
    int again = 1;
    int idle = 0;

    while (again && !run->stop) {
        if (run->cloned && run->turns++ % (run->c->clone + 1u) == 0)
            fuzz_clone(run);
        if (run->cached && run->c->forgets)
            (void) ipt_cache_invalidate(&run->cache, NULL, 0, UINT64_MAX);
        if (before)
            memcpy(before, run->decoder, layer->size);
        status = what == FUZZ_DO_NEXT      ? layer->next(run)
                 : what == FUZZ_DO_FORWARD ? layer->forward(run->decoder)
                                           : layer->resync(run->decoder);
        if (run->stop)
            break;
        fuzz_status(run, status, what == FUZZ_DO_FORWARD);
        again = 0;
        idle = status == IPT_BUDGET ? idle : 0;
        if (run->way == FUZZ_FEED)
            fuzz_drop(run, fuzz_at(run)->release);
        if (status == IPT_MORE) {
            again = fuzz_give(run);
            if (!again && !(run->c->flags & FUZZ_OPEN)) {
                run->trace.open = 0;
                again = 1;
            }
        } else if (status == IPT_BUDGET) {
            again = before ? fuzz_refill(run, before, &idle, refills++) : 0;
            if (!before) {
                run->log->cut = 1;
                run->stop = 1;
            }
        } else if (status == IPT_NEED_PAGE) {
            again = fuzz_page(run);
        } else if (status == IPT_EVENT_FIRST) {
            again = 1;
        }
    }
    free(before);
    return status;
}

/* ---- a whole run ---- */

static inline void fuzz_stop(fuzz_run *run, int status)
{
    const ipt_where *at = fuzz_at(run);
    fuzz_item item;

    memset(&item, 0, sizeof(item));
    item.what = FUZZ_STOP;
    item.status = status;
    item.offset = at->offset;
    if (status >= IPT_ERR_EVENTS && status <= IPT_ERR_OPCODE
        && at->packet != IPT_PKT_PAD) /* it may be one of several */
        item.end = at->packet_offset;
    if (at->valid & IPT_AT_IP)
        item.ip = at->ip;
    if (status == IPT_NEED_PAGE)
        item.hash = at->missing;
    if (status == IPT_END || status == IPT_MORE) /* it is where it ends */
        item.ip = item.offset = 0;
    run->log->errors += status < IPT_EVENT_FIRST;
    fuzz_put(run, &item);
}

/* Synchronise forward: on to later trace, always. */
static inline int fuzz_forward(fuzz_run *run, int once)
{
    const int status = fuzz_call(run, FUZZ_DO_FORWARD);
    const ipt_where *at = fuzz_at(run);
    fuzz_item item;

    if (run->stop)
        return IPT_END;
    if (status < 0) {
        fuzz_stop(run, status);
        return status;
    }
    FUZZ_CHECK(run, at->valid & IPT_AT_SYNC);
    FUZZ_CHECK(run, !once || at->sync >= run->last + 16);
    FUZZ_CHECK(run, at->error == 0);
    run->last = at->sync;
    run->before.what = 0;
    run->told = FUZZ_TOLD_NONE;
    run->calm = 0;
    run->path = 0;
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_SYNC;
    if (run->layer->low == IPT_ERR_TRUNCATED) /* others have looked ahead */
        item.offset = at->sync;
    fuzz_put(run, &item);
    return status;
}

/* Take flow up after an error; if that fails, synchronise. */
static inline int fuzz_resync(fuzz_run *run)
{
    fuzz_item item;
    int status;

    if (!(run->c->flags & FUZZ_RESYNC) || !run->layer->resync)
        return fuzz_forward(run, 1);
    status = fuzz_call(run, FUZZ_DO_RESYNC);
    FUZZ_CHECK(run, ++run->resyncs <= 4 * run->given + 64);
    run->before.what = 0;
    run->told = FUZZ_TOLD_NONE;
    run->calm = 0;
    run->path = 0;
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_SYNC;
    item.kind = 1;
    item.status = status < 0 ? status : 0;
    if (!run->stop && status != IPT_END && status != IPT_MORE)
        fuzz_put(run, &item);
    return status < 0 && !run->stop ? fuzz_forward(run, 1) : status;
}

/* An error comes again until something changes. */
static inline void fuzz_sticky(fuzz_run *run, int status)
{
    const size_t count = run->log->count;
    int i;

    if (!run->first || !fuzz_pure(run->c))
        return;
    for (i = 0; i < 2 && !run->stop; i++) {
        const int again = run->layer->next(run);
        FUZZ_CHECK(run, again == status);
        FUZZ_CHECK(run, run->log->count == count);
    }
}

/* Stepping back on little fuel ends, and where it ends without a limit. */
static inline void fuzz_back(fuzz_run *run)
{
    const size_t size = run->layer->size;
    void *keep = malloc(size);
    ipt_where there;
    int budget = 0;
    int want;
    int got;

    if (!run->config.fuel) {
        free(keep);
        return;
    }
    memcpy(keep, run->decoder, size);
    run->fuel = UINT64_MAX;
    want = run->layer->backward(run->decoder);
    there = *fuzz_at(run);
    memcpy(run->decoder, keep, size);
    do {
        run->fuel = run->c->fuel + 1u;
        got = run->layer->backward(run->decoder);
    } while (got == IPT_BUDGET && budget++ < 1 << 16);
    if (!(got < 0 ? got == want : want >= 0))
        fprintf(stderr, "%s: back: %d, on little fuel %d\n",
                run->layer->name, want, got);
    FUZZ_CHECK(run, got < 0 ? got == want : want >= 0);
    if (got >= 0 && !run->layer->most) { // others look ahead, as fuel allows
        FUZZ_CHECK(run, fuzz_at(run)->sync == there.sync);
        FUZZ_CHECK(run, fuzz_at(run)->offset == there.offset);
    }
    memcpy(run->decoder, keep, size);
    free(keep);
}

/* Calls that jump about are not compared, only survived. */
static inline void fuzz_jump(fuzz_run *run)
{
    const uint64_t begin = fuzz_begin(run->c);
    const ipt_where *at = fuzz_at(run);
    fuzz_log *log = run->log;
    const size_t count = log->count;
    const size_t events = log->events;
    int status;
    int i;

    fuzz_back(run);
    run->fuel = FUZZ_WORK;
    status = run->layer->set(run->decoder, begin + run->c->clone);
    FUZZ_CHECK(run, status >= 0 || status == IPT_ERR_ARG
                        || status == IPT_ERR_NOSYNC);
    if (status >= 0)
        FUZZ_CHECK(run, at->sync == begin + run->c->clone
                            || run->layer->most
                            || !(at->valid & IPT_AT_SYNC));
    for (i = 0; i < 8 && !run->stop; i++) {
        const uint64_t offset = at->offset;
        run->before.what = 0;
        run->told = FUZZ_TOLD_NONE;
    run->calm = 0;
        run->path = 0;
        run->fuel = FUZZ_WORK;
        status = i & 1 ? run->layer->next(run)
                       : run->layer->backward(run->decoder);
        FUZZ_CHECK(run, status != IPT_ERR_INTERNAL);
        if (!(i & 1) && status >= 0 && i && !run->layer->most)
            FUZZ_CHECK(run, at->sync < offset);
    }
    log->count = count;
    log->events = events;
}

static unsigned long fuzz_decodes;

static inline void fuzz_setup(fuzz_run *run)
{
    const fuzz_case *c = run->c;
    ipt_config *config = &run->config;
    unsigned i;

    fuzz_decodes++;
    memset(config, 0, sizeof(*config));
    config->context = run;
    config->read = fuzz_read;
    config->flags = (c->config | (unsigned) (c->more & FUZZ_MORE_FLAGS) << 8
                     | (unsigned) (c->wide & FUZZ_WIDE_FLAGS) << 9)
                    & IPT_CONFIG_FLAGS_;
    if (config->flags & IPT_CONFIG_ROOT_ONLY)
        config->flags &= ~IPT_CONFIG_NON_ROOT_ONLY; /* not both */
    config->cr3 = (uint64_t) (c->clone % 4) << 12;
    config->errata = (c->errata | (unsigned) (c->more & FUZZ_MORE_ERRATA) << 6)
                     & IPT_ERRATUM_ALL_;
    config->mtc_freq = (uint8_t) (c->more / 64 * 3);
    if (c->more & FUZZ_MORE_TIME) {
        config->cpuid_15_eax = 2;
        config->cpuid_15_ebx = c->clone ? c->clone : 292;
        config->nom_freq = 42;
    }
    if (c->more & FUZZ_MORE_FILTERS) {
        config->filter[0].first = fuzz_base(c);
        config->filter[0].last = fuzz_base(c) + c->code_size / 2;
        config->filter[0].kind = IPT_FILTER_TRACE;
        config->filter[1].first = fuzz_base(c) + c->code_size / 4;
        config->filter[1].last = config->filter[1].first + 1;
        config->filter[1].kind = IPT_FILTER_STOP;
    }
    if (c->flags & FUZZ_CLASSIFY)
        config->classify = fuzz_classify;
    if (c->flags & FUZZ_UNKNOWN)
        config->unknown = fuzz_unknown;
    if (c->flags & FUZZ_SPACE)
        config->space = fuzz_space;
    if (c->flags & FUZZ_SPACE && c->clone & 2)
        config->space_at = fuzz_space_at;
    if (c->more & FUZZ_MORE_CS)
        config->cs_base = fuzz_cs_base;
    if (fuzz_sections(c))
        config->section = fuzz_section;
    if (fuzz_relative(c))
        config->flags |= IPT_CONFIG_RELATIVE_IP;
    config->flags |= c->high;
    config->unwanted = c->unwanted;
    config->mode = c->extra & FUZZ_EXTRA_MODE;
    if (c->configure)
        c->configure(config, c->context);
    run->fuel = run->fueled ? c->fuel + 1u : FUZZ_WORK;
    run->work = FUZZ_WORK;
    if (run->fueled || fuzz_reads(c) == FUZZ_MIRROR || !fuzz_pure(c))
        config->fuel = &run->fuel;
    FUZZ_CHECK(run, ipt_time_init(&run->clock, config) == IPT_OK);
    run->random = c->cut;
    if (c->cut % 2) /* some pages are there at once */
        for (i = 0; i < FUZZ_PAGES / 8; i++)
            run->present[i] = (uint8_t) dice_24(&run->random);
    run->trace.offset = fuzz_begin(c);
    run->trace.open = run->way == FUZZ_FEED || c->flags & FUZZ_OPEN;
    if (run->way != FUZZ_FEED && c->trace_size) {
        run->room = 2 * (uint32_t) c->trace_size + 1;
        run->seg = (ipt_segment *) calloc(run->room, sizeof(*run->seg));
        run->trace.seg = run->seg;
        while (fuzz_give(run))
            ;
        fuzz_pieces(run, 0, run->trace.count);
    }
}

/* The state at the first byte, PSB or not. Returns NULL if the case begins at a
 * PSB. */
static inline const ipt_start *fuzz_state(const fuzz_case *c)
{
    static ipt_start start;
    static uint64_t stack[2];

    if (!(c->wide & FUZZ_WIDE_START))
        return NULL;
    stack[0] = fuzz_base(c) + 2;
    stack[1] = fuzz_base(c);
    memset(&start, 0, sizeof(start));
    start.ip = start.last_ip = fuzz_base(c);
    start.has = c->wide & FUZZ_WIDE_LAST_IP ? IPT_START_LAST_IP : 0;
    start.enabled = !(c->wide & FUZZ_WIDE_OFF);
    start.mode = fuzz_base(c) == fuzz_bases[4] ? IPT_MODE_32 : IPT_MODE_64;
    if (c->extra & FUZZ_EXTRA_MODE)
        start.mode = 0;
    start.stack = stack;
    start.stack_count = c->wide & FUZZ_WIDE_STACK ? 2 : 0;
    if (c->start)
        start = *c->start;
    start.offset = fuzz_begin(c);
    return &start;
}

/* Begin there. */
static inline int fuzz_start(fuzz_run *run)
{
    const int status
        = run->layer->start(run->decoder, fuzz_state(run->c));
    fuzz_item item;

    FUZZ_CHECK(run, status >= 0);
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_SYNC;
    fuzz_put(run, &item);
    run->last = (uint64_t) 0 - 16; /* any PSB is after it */
    return status;
}

/* Use the code cache: decode the trace, as far as no error stops it. */
static inline void fuzz_warm(fuzz_run *run)
{
    const fuzz_case *c = run->c;
    const ipt_segment piece = {c->trace, c->trace_size};
    ipt_trace trace;
    ipt_blk_decoder *d = (ipt_blk_decoder *) malloc(sizeof(*d));
    ipt_block block;
    int status;

    memset(&trace, 0, sizeof(trace));
    trace.seg = &piece;
    trace.count = 1;
    FUZZ_CHECK(run, ipt_blk_init(d, &run->config, &trace, &run->cache)
                        == IPT_OK);
    status = ipt_blk_sync_forward(d);
    while (status >= 0 || status == IPT_EVENT_FIRST)
        status = ipt_blk_next(d, &block);
    free(d);
}

/* The offset of the first PSB, plus 1; 0 if there is none. */
static inline uint64_t fuzz_first_psb(const fuzz_run *run)
{
    ipt_config config;
    ipt_pkt_decoder d;

    memset(&config, 0, sizeof(config));
    if (ipt_pkt_init(&d, &config, &run->trace) < 0
        || ipt_pkt_sync_forward(&d) < 0)
        return 0;
    return d.at.sync + 1;
}

/* Use the decoder, until it has handed out all that it has. What waits for a
 * page is still to come: then it begins again. */
static inline void fuzz_use(fuzz_run *run)
{
    fuzz_log *log = run->log;
    int status = run->layer->forward(run->decoder);

    while ((status >= 0 || status == IPT_EVENT_FIRST) && !run->stop)
        status = run->layer->next(run);
    if (status != IPT_NEED_PAGE && status != IPT_MORE && !run->stop)
        run->psb = fuzz_first_psb(run);
    else
        FUZZ_CHECK(run, run->layer->init(run->decoder, &run->config,
                                         &run->trace, NULL)
                            == IPT_OK);
    log->count = log->total = log->events = log->errors = 0;
    log->cut = 0;
    FUZZ_CHECK(run, ipt_time_init(&run->clock, &run->config) == IPT_OK);
    run->stop = 0;
    run->before.what = 0;
    run->told = FUZZ_TOLD_NONE;
    run->calm = 0;
    run->path = 0;
}

/* Begin at a PSB. */
static inline int fuzz_set(fuzz_run *run)
{
    const int status = run->layer->set(run->decoder, run->psb - 1);
    fuzz_item item;

    FUZZ_CHECK(run, status >= 0);
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_SYNC;
    if (run->layer->low == IPT_ERR_TRUNCATED)
        item.offset = run->psb - 1;
    fuzz_put(run, &item);
    run->last = run->psb - 1;
    return status;
}

/* Begin to decode the case as run says. */
static inline void fuzz_open(fuzz_run *run, const char *name)
{
    const fuzz_layer *layer = run->layer;
    const fuzz_case *c = run->c;
    fuzz_log *log = run->log;

    if (fuzz_verbose())
        fprintf(stderr, "%s %s\n", layer->name, name);
    log->name = name;
    log->count = log->total = log->events = log->errors = 0;
    log->cut = 0;
    run->decoder = malloc(layer->size);
    memset(run->decoder, 0x5a, layer->size);
    fuzz_setup(run);
    if (run->cached) {
        const size_t lines = c->lines ? c->lines : FUZZ_LINES;
        run->lines = (ipt_cache_line *) malloc(lines * sizeof(*run->lines));
        FUZZ_CHECK(run, ipt_cache_init(&run->cache, run->lines, lines) >= 0);
        if (c->warm)
            fuzz_warm(run);
    }
    FUZZ_CHECK(run, layer->init(run->decoder, &run->config, &run->trace,
                                run->cached ? &run->cache : NULL)
                        == IPT_OK);
    if (run->again)
        fuzz_use(run);
    run->status = c->wide & FUZZ_WIDE_START && layer->start ? fuzz_start(run)
                  : run->psb                                ? fuzz_set(run)
                                             : fuzz_forward(run, 0);
}

/* Go on by one item. Returns 0 if that was the last. */
static inline int fuzz_step(fuzz_run *run)
{
    const fuzz_case *c = run->c;

    if (run->status < 0 || run->stop)
        return 0;
    if (run->cached && ++run->steps % 16 == c->clone % 16 && fuzz_whole(c))
        FUZZ_CHECK(run, ipt_cache_invalidate(
                            &run->cache,
                            run->steps & 16 ? &fuzz_at(run)->asid : NULL,
                            (c->touched ? c->touched : fuzz_base(c))
                                + run->steps,
                            run->steps & 32)
                            >= 0);
    run->steps += !run->cached;
    run->status = fuzz_call(run, FUZZ_DO_NEXT);
    if (run->status < 0 && !run->stop) {
        fuzz_sticky(run, run->status);
        fuzz_stop(run, run->status);
        if (run->status != IPT_END && run->status != IPT_MORE)
            run->status = fuzz_resync(run);
    }
    return 1;
}

static inline void fuzz_close(fuzz_run *run)
{
    const ipt_where *at = fuzz_at(run);

    run->log->dropped = at->dropped;
    run->log->skipped = at->skipped;
    run->log->overflows = at->overflows;
    run->log->gaps = at->gaps;
    run->log->resyncs = at->resyncs;
    run->stop = 0;
    if (run->first || run->way == FUZZ_FEED || run->fueled)
        fuzz_jump(run);
    fuzz_drop(run, UINT64_MAX);
    free(run->seg);
    free(run->decoder);
    free(run->lines);
}

static inline void fuzz_decode(fuzz_run *run, const char *name)
{
    fuzz_open(run, name);
    while (fuzz_step(run))
        ;
    fuzz_close(run);
}
#endif /* FUZZ_RUN_H */
