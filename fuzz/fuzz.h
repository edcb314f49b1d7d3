/* fuzz.h: what the harnesses and tests/hostile.c share.
 *
 * An input is FUZZ_HEAD bytes of configuration (fuzz_case), code, trace. It is
 * decoded once plainly, which is the reference, and then again in other ways
 * (while fuzzing, in one of them: see way.h) that must not matter: in pieces, a
 * piece at a time with pieces dropped after the decoder, on little fuel,
 * through a cache, by a clone, with pages that come late, with events that
 * nobody pulls. A run writes a log of all that the
 * decoder said; the logs must be equal. Every call is checked by itself:
 *
 *   - the status is one that ipt.h documents for the call, and what it goes
 *     with is so: an error has its location, IPT_BUDGET means no fuel is left
 *   - a negative status leaves the output untouched
 *   - each success moves on through the trace or the code, within a bound
 *   - errors stay until synchronisation, which always moves forward
 *
 * A failed check calls FUZZ_FAIL(line, text): abort(), unless defined. With
 * FUZZ_VERBOSE in the environment the logs are printed. */
#ifndef IPT_FUZZ_H
#define IPT_FUZZ_H

#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
#include "tests/gaps.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FUZZ_FAIL
#define FUZZ_FAIL(line, text)                                              \
    (fprintf(stderr, "fuzz.h:%d: check failed: %s\n", line, text), abort())
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
    FUZZ_HEAD
};

/* Trace that is lost: `size` bytes before byte `at` of what there is. */
typedef struct fuzz_loss {
    size_t at;
    uint64_t size;
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
    size_t code_size;
    size_t trace_size;
    const uint8_t *code;
    const uint8_t *trace;
    /* What no input can say; 0 is the default. */
    size_t halves; /* where the pieces meet if there are only two */
    size_t piece;  /* bytes of a random piece at most, less 1; 0: 18 */
    int (*image)(uint8_t *buffer, size_t size, const ipt_asid *asid,
                 uint64_t ip, void *context); /* in place of code */
    void (*configure)(ipt_config *config, void *context); /* has the last word */
    void *context;
    unsigned losses; /* in `loss`, with at increasing */
    fuzz_loss loss[FUZZ_LOSSES];
    size_t lines;     /* of the code cache; 0: FUZZ_LINES */
    int warm;         /* the code cache has been used before */
    uint64_t touched; /* code near here is invalidated; 0: at fuzz_base */
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
    uint64_t end;  /* block: end_ip; events: tsc */
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

#define FUZZ_CHECK(run, ok) fuzz_check(run, !!(ok), __LINE__, #ok)

static inline ipt_where *fuzz_at(const fuzz_run *run)
{
    return (ipt_where *) run->decoder; /* the first member of each decoder */
}

static inline uint32_t fuzz_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
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
    if (fuzz_reads(c) == FUZZ_MIRROR)
        i %= c->code_size;
    return i < c->code_size ? (size_t) i : c->code_size;
}

static inline unsigned fuzz_mapping(const fuzz_case *c, const ipt_asid *asid)
{
    return c->flags & FUZZ_ASID && asid->cr3 != IPT_ASID_UNKNOWN
               ? (unsigned) (asid->cr3 >> 12 & 3)
               : 0;
}

/* Copy what is there of `size` bytes at ip. Returns how many. */
static inline int fuzz_copy(const fuzz_case *c, uint8_t *to, size_t size,
                            const ipt_asid *asid, uint64_t ip)
{
    const unsigned shift = c->image ? 0 : fuzz_mapping(c, asid);
    size_t n = 0;

    if (c->image) {
        const int status = c->image(to, size, asid, ip, c->context);
        return status < 0 ? 0 : status;
    }
    while (n < size) {
        size_t i = fuzz_index(c, ip + n);
        if (i == c->code_size)
            break;
        to[n++] = c->code[(i + shift) % c->code_size];
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
            buffer[i] = (uint8_t) fuzz_random(&run->random);
        if (fuzz_reads(c) == FUZZ_STATUS && fuzz_random(&run->random) % 8 == 0)
            return (int) fuzz_random(&run->random) % 260 - 130;
        return 1 + (int) (fuzz_random(&run->random) % size);
    default:
        break;
    }
    if (fuzz_hole(c, ip))
        return fuzz_hole(c, ip);
    if (!fuzz_is_present(run, ip))
        return ip & 1 ? IPT_NEED_PAGE : 0;
    if (most > size)
        most = size;
    for (i = 1; i < most && !c->image; i++)
        if (fuzz_hole(c, ip + i) || !fuzz_is_present(run, ip + i))
            break;
    i = (size_t) fuzz_copy(c, buffer, c->image ? most : i, asid, ip);
    return i == 0 && ip & 1 ? IPT_NEED_PAGE : (int) i;
}

static inline int fuzz_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                            uint64_t ip, void *context)
{
    fuzz_run *run = (fuzz_run *) context;

    FUZZ_CHECK(run, size > 0 && size <= 4096);
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
    if (lie != FUZZ_C_HONEST && fuzz_random(&run->random) % 4 == 0) {
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

    FUZZ_CHECK(run, size > 0 && size <= 16);
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
        return fuzz_random(&run->random) % 20;
    return fuzz_mapping(run->c, asid);
}

/* Mappings of 16 bytes, if there are such. Where CS begins is no matter. */
static inline uint64_t fuzz_section(const ipt_asid *asid, uint64_t ip,
                                    void *context)
{
    (void) asid;
    (void) context;
    return ip >> 3 & 1;
}

static inline int fuzz_crosses(const fuzz_case *c, uint64_t from, uint64_t to)
{
    return c->clone % 8 == 5
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
        return fuzz_random(&run->random) * (uint64_t) 0x100010001;
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
        run->seg[run->trace.count - 1].size = (size_t) loss.size;
        return 1;
    }
    if (run->way != FUZZ_WHOLE && run->given < c->halves)
        size = c->halves - run->given;
    if (lossy && size > loss.at - run->given)
        size = loss.at - run->given;
    if (run->way != FUZZ_WHOLE && !c->halves) {
        const uint32_t most = c->piece ? (uint32_t) c->piece : 19;
        size_t want = c->cut == 0 ? 1 : fuzz_random(&run->random) % most;
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

    if (!fuzz_known(run, status, sync))
        fprintf(stderr, "%s: status %d (%s)\n", run->layer->name, status,
                ipt_status_name(status));
    FUZZ_CHECK(run, fuzz_known(run, status, sync));
    FUZZ_CHECK(run, at->offset >= begin && at->offset <= end);
    FUZZ_CHECK(run, at->release <= at->offset);
    FUZZ_CHECK(run, at->release >= begin);
    FUZZ_CHECK(run, status >= 0 || at->error == status
                        || (layer->flow && at->error == IPT_END));
    if (at->valid & IPT_AT_SYNC)
        FUZZ_CHECK(run, at->sync >= begin && at->sync + 16 <= end);
    if (status == IPT_BUDGET)
        FUZZ_CHECK(run, run->config.fuel && run->fuel == 0);
    if (status == IPT_MORE)
        FUZZ_CHECK(run, run->trace.open);
    if (status == IPT_END)
        FUZZ_CHECK(run, !run->trace.open);
    if (status == IPT_NEED_PAGE) {
        FUZZ_CHECK(run, run->answer == 0 || run->answer == IPT_NEED_PAGE);
        FUZZ_CHECK(run, (uint32_t) (at->missing - at->ip) < 15
                            || (fuzz_relative(run->c)
                                && (uint32_t) (at->missing - at->ip - FUZZ_CS)
                                       < 15)
                            || (run->c->configure
                                && run->config.flags & IPT_CONFIG_RELATIVE_IP)
                            || !fuzz_pure(run->c));
    }
    if (status == IPT_ERR_IMAGE)
        FUZZ_CHECK(run, run->answer < 0 && at->image_error == run->answer);
    if (status <= IPT_ERR_IMAGE && run->layer->flow)
        FUZZ_CHECK(run, at->valid & IPT_AT_IP
                            || (run->config.unknown
                                && status == IPT_ERR_CALLBACK));
    if (status <= IPT_ERR_OPCODE && !sync)
        FUZZ_CHECK(run, at->packet_offset >= begin
                            && at->packet_offset <= at->offset);
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

/* A call whose fuel was used up must have done something with it. */
static inline int fuzz_refill(fuzz_run *run, const void *before, int *idle)
{
    const uint64_t units = run->fueled ? run->c->fuel + 1u : FUZZ_WORK;

    *idle = memcmp(before, run->decoder, run->layer->size) ? 0 : *idle + 1;
    FUZZ_CHECK(run, *idle < 4);
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
    int again = 1;
    int idle = 0;

    while (again && !run->stop) {
        if (run->cloned && run->turns++ % (run->c->clone + 1u) == 0)
            fuzz_clone(run);
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
            again = before ? fuzz_refill(run, before, &idle) : 0;
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
    if (got >= 0 && !run->layer->most) /* others look ahead, as fuel allows */
        FUZZ_CHECK(run, fuzz_at(run)->sync == there.sync
                            && fuzz_at(run)->offset == there.offset);
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
    if (c->more & FUZZ_MORE_CS)
        config->cs_base = fuzz_cs_base;
    if (c->clone % 8 == 5)
        config->section = fuzz_section;
    if (fuzz_relative(c))
        config->flags |= IPT_CONFIG_RELATIVE_IP;
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
            run->present[i] = (uint8_t) fuzz_random(&run->random);
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

/* Begin at the first byte, PSB or not. */
static inline int fuzz_start(fuzz_run *run)
{
    const fuzz_case *c = run->c;
    const uint64_t stack[2] = {fuzz_base(c) + 2, fuzz_base(c)};
    ipt_start start;
    fuzz_item item;
    int status;

    memset(&start, 0, sizeof(start));
    start.offset = fuzz_begin(c);
    start.ip = start.last_ip = fuzz_base(c);
    start.has = c->wide & FUZZ_WIDE_LAST_IP ? IPT_START_LAST_IP : 0;
    start.enabled = !(c->wide & FUZZ_WIDE_OFF);
    start.mode = fuzz_base(c) == fuzz_bases[4] ? IPT_MODE_32 : IPT_MODE_64;
    start.stack = stack;
    start.stack_count = c->wide & FUZZ_WIDE_STACK ? 2 : 0;
    status = run->layer->start(run->decoder, &start);
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
 * page is still to come: then it begins anew. */
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

/* ---- packets ---- */

static inline int fuzz_pkt_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    (void) cache;
    return ipt_pkt_init((ipt_pkt_decoder *) decoder, config, trace);
}

static inline int fuzz_pkt_forward(void *decoder)
{
    return ipt_pkt_sync_forward((ipt_pkt_decoder *) decoder);
}

static inline int fuzz_pkt_backward(void *decoder)
{
    return ipt_pkt_sync_backward((ipt_pkt_decoder *) decoder);
}

static inline int fuzz_pkt_set(void *decoder, uint64_t offset)
{
    return ipt_pkt_sync_set((ipt_pkt_decoder *) decoder, offset);
}

static inline int fuzz_untouched(const void *item, size_t size)
{
    const uint8_t *p = (const uint8_t *) item;

    while (size--)
        if (*p++ != 0xa5)
            return 0;
    return 1;
}

/* What was decoded can be written, and reads the same again: the bytes written
 * stand for all fields. */
static inline uint64_t fuzz_packet(fuzz_run *run, const ipt_packet *packet)
{
    uint8_t bytes[16];
    ipt_packet copy = *packet;
    int size;

    if (packet->type == IPT_PKT_UNKNOWN)
        return fuzz_hash(packet->u.unknown, sizeof(packet->u.unknown));
    if (packet->type == IPT_PKT_INVALID)
        return packet->size;
    if (packet->type == IPT_PKT_GAP)
        return packet->u.gap.lost;
    copy.size = 1; /* of a run of PAD */
    size = ipt_pkt_encode(bytes, sizeof(bytes), &copy);
    FUZZ_CHECK(run, size > 0 && size <= (int) packet->size);
    FUZZ_CHECK(run, size == (int) packet->size || packet->type == IPT_PKT_PAD
                        || packet->type == IPT_PKT_CYC
                        || run->config.errata & IPT_ERRATUM_SKD007);
    return run->stop ? 0 : fuzz_hash(bytes, (size_t) size);
}

/* A clock takes any packet. Returns its time. */
static inline uint64_t fuzz_tell(fuzz_run *run, const ipt_packet *packet)
{
    const ipt_clock before = run->clock;
    const int status = ipt_time_packet(&run->clock, packet);

    FUZZ_CHECK(run, status == IPT_OK || status == IPT_NO_TIME
                        || status == IPT_ERR_CONTEXT
                        || status == IPT_ERR_CONFIG
                        || status == IPT_ERR_PACKET);
    if (run->config.flags & IPT_CONFIG_MONOTONIC && before.has_tsc
        && run->clock.has_tsc)
        FUZZ_CHECK(run, run->clock.tsc >= before.tsc);
    return run->clock.tsc ^ run->clock.fcr << 1 ^ run->clock.lost_cyc;
}

/* The IP of a packet has the payload's bits, and what was before above them or,
 * with IPBytes 3, copies of bit 47. */
static inline void fuzz_last_ip(fuzz_run *run, const ipt_packet *packet)
{
    static const unsigned sent[8] = {0, 16, 32, 48, 48, 0, 64, 0};
    const uint64_t before = run->last_ip;
    const int has = ipt_pkt_last_ip(&run->last_ip, packet);
    const unsigned n = has ? sent[packet->u.ip.ipc] : 0;
    unsigned i;

    FUZZ_CHECK(run, !has || n);
    for (i = 0; has && i < 64; i++) {
        const uint64_t from = i < n ? packet->u.ip.payload >> i
                              : packet->u.ip.ipc == 3
                                  ? packet->u.ip.payload >> 47
                                  : before >> i;
        FUZZ_CHECK(run, ((run->last_ip >> i ^ from) & 1) == 0);
    }
    FUZZ_CHECK(run, has || run->last_ip == before || run->last_ip == 0);
}

static inline int fuzz_pkt_next(fuzz_run *run)
{
    ipt_where *at = fuzz_at(run);
    const uint64_t from = at->offset;
    ipt_packet packet;
    fuzz_item item;
    fuzz_item *last;
    int status;

    memset(&packet, 0xa5, sizeof(packet));
    status = ipt_pkt_next((ipt_pkt_decoder *) run->decoder, &packet);
    if (status < 0) {
        FUZZ_CHECK(run, fuzz_untouched(&packet, sizeof(packet)));
        return status;
    }
    FUZZ_CHECK(run, packet.type && packet.type < IPT_PKT_COUNT);
    FUZZ_CHECK(run, packet.size > 0);
    FUZZ_CHECK(run, packet.offset >= from
                        || (packet.type == IPT_PKT_PSB && run->lost
                            && packet.offset + packet.size + 1 >= from));
    FUZZ_CHECK(run, packet.size <= 16 || packet.type == IPT_PKT_PAD
                        || packet.type == IPT_PKT_UNKNOWN
                        || packet.type == IPT_PKT_GAP);
    FUZZ_CHECK(run, packet.offset + packet.size == at->offset
                        || packet.size == UINT32_MAX); /* a large gap */
    FUZZ_CHECK(run, packet.offset == at->packet_offset);
    FUZZ_CHECK(run, packet.type == at->packet);
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_PACKET;
    item.kind = packet.type;
    item.offset = packet.offset;
    item.count = packet.size;
    item.hash = fuzz_packet(run, &packet);
    item.end = fuzz_tell(run, &packet);
    fuzz_last_ip(run, &packet);
    last = run->log->count ? &run->log->item[run->log->count - 1] : NULL;
    if (packet.type == IPT_PKT_PAD && last && last->what == FUZZ_PACKET
        && last->kind == IPT_PKT_PAD && last->offset + last->count
                                            == item.offset)
        last->count += item.count;
    else
        fuzz_put(run, &item);
    return status;
}

static const fuzz_layer fuzz_pkt
    = {"pkt", sizeof(ipt_pkt_decoder), fuzz_pkt_init, fuzz_pkt_forward,
       fuzz_pkt_backward, fuzz_pkt_set, fuzz_pkt_next, NULL, IPT_ERR_TRUNCATED,
       0, 0, NULL};

/* ---- events ---- */

static inline int fuzz_evt_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    (void) cache;
    return ipt_evt_init((ipt_evt_decoder *) decoder, config, trace);
}

static inline int fuzz_evt_forward(void *decoder)
{
    return ipt_evt_sync_forward((ipt_evt_decoder *) decoder);
}

static inline int fuzz_evt_backward(void *decoder)
{
    return ipt_evt_sync_backward((ipt_evt_decoder *) decoder);
}

static inline int fuzz_evt_set(void *decoder, uint64_t offset)
{
    return ipt_evt_sync_set((ipt_evt_decoder *) decoder, offset);
}

/* What the event's member of u holds; the rest is not defined. */
static inline uint64_t fuzz_event_data(const ipt_event *e)
{
    uint64_t data[3] = {0, 0, 0};

    switch (e->type) {
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_BRANCH:
        data[0] = e->flags & IPT_EVENT_NO_TO ? 0 : e->u.branch.to;
        break;
    case IPT_EVT_TNT: return e->u.tnt.bits; /* as queries give them */
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        data[0] = e->u.paging.cr3;
        data[1] = e->u.paging.nr;
        break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: data[0] = e->u.vmcs.base; break;
    case IPT_EVT_EXEC_MODE: data[0] = e->u.exec.mode; /* fall through */
    case IPT_EVT_IFLAGS: data[1] = e->u.exec.iflag; break;
    case IPT_EVT_TSX:
        data[0] = e->u.tsx.speculative;
        data[1] = e->u.tsx.aborted;
        break;
    case IPT_EVT_PTWRITE:
        data[0] = e->u.ptwrite.payload;
        data[1] = e->u.ptwrite.size;
        break;
    case IPT_EVT_MWAIT:
        data[0] = e->u.mwait.hints;
        data[1] = e->u.mwait.ext;
        break;
    case IPT_EVT_PWRE:
        data[0] = e->u.pwre.state;
        data[1] = e->u.pwre.sub_state;
        data[2] = e->u.pwre.hw;
        break;
    case IPT_EVT_PWRX:
        data[0] = e->u.pwrx.last;
        data[1] = e->u.pwrx.deepest;
        data[2] = (uint64_t) (e->u.pwrx.interrupt + 2 * e->u.pwrx.store
                              + 4 * e->u.pwrx.autonomous);
        break;
    case IPT_EVT_GAP: data[0] = e->u.gap.lost; break;
    case IPT_EVT_CBR: data[0] = e->u.cbr.ratio; break;
    case IPT_EVT_MNT: data[0] = e->u.mnt.payload; break;
    case IPT_EVT_PEBS_BEGIN: data[1] = e->u.pebs.id; break;
    case IPT_EVT_PEBS_ITEM:
        data[0] = e->u.pebs.payload;
        data[1] = e->u.pebs.id;
        data[2] = e->u.pebs.size;
        break;
    case IPT_EVT_CFE:
        if (e->u.cfe.has & (IPT_CFE_HAS_CR2 | IPT_CFE_HAS_VMXQ))
            data[0] = e->u.cfe.data[0];
        if (e->u.cfe.has & IPT_CFE_HAS_VMXR)
            data[1] = e->u.cfe.data[1];
        data[2] = (uint64_t) (e->u.cfe.type * 65536 + e->u.cfe.has * 256);
        if (e->u.cfe.has & IPT_CFE_HAS_VECTOR)
            data[2] |= e->u.cfe.vector;
        break;
    case IPT_EVT_TRIG:
        data[0] = e->u.trig.icntv ? e->u.trig.icnt : 0;
        data[1] = e->u.trig.trbv;
        data[2] = (uint64_t) (e->u.trig.icntv + 2 * e->u.trig.mult);
        break;
    default: break;
    }
    return fuzz_hash(data, sizeof(data));
}

static inline void fuzz_event(fuzz_run *run, const ipt_event *event)
{
    const uint64_t begin = fuzz_begin(run->c);
    fuzz_item item;

    FUZZ_CHECK(run, event->type && event->type < IPT_EVT_COUNT);
    FUZZ_CHECK(run, event->offset >= begin
                        && event->offset < fuzz_at(run)->offset);
    memset(&item, 0, sizeof(item));
    item.what = FUZZ_EVENT;
    item.kind = event->type;
    item.flags = event->flags;
    item.offset = event->offset;
    item.ip = event->flags & IPT_EVENT_NO_IP ? 0 : event->ip;
    item.end = event->tsc;
    item.count = event->lost_mtc * 65537 + event->lost_cyc;
    item.size = event->cbr;
    item.hash = fuzz_event_data(event);
    if (event->type == IPT_EVT_TNT)
        item.mode = event->u.tnt.count;
    run->before.what = 0;
    run->told = FUZZ_TOLD_NONE;
    run->path = 0;
    fuzz_put(run, &item);
}

static inline int fuzz_evt_next(fuzz_run *run)
{
    ipt_event event;
    int status;

    memset(&event, 0xa5, sizeof(event));
    status = ipt_evt_next((ipt_evt_decoder *) run->decoder, &event);
    if (status < 0)
        FUZZ_CHECK(run, fuzz_untouched(&event, sizeof(event)));
    else
        fuzz_event(run, &event);
    /* each packet is an event, and adds one of its PSB+ or its FUP at most */
    FUZZ_CHECK(run, run->log->events <= 2 * run->given + 4);
    return status;
}

static inline int fuzz_evt_start(void *decoder, const ipt_start *start)
{
    return ipt_evt_start((ipt_evt_decoder *) decoder, start);
}

static const fuzz_layer fuzz_evt
    = {"evt", sizeof(ipt_evt_decoder), fuzz_evt_init, fuzz_evt_forward,
       fuzz_evt_backward, fuzz_evt_set, fuzz_evt_next, NULL, IPT_ERR_EVENTS,
       0, 0, fuzz_evt_start};

/* ---- queries ---- */

static inline int fuzz_qry_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    (void) cache;
    return ipt_qry_init((ipt_qry_decoder *) decoder, config, trace);
}

static inline int fuzz_qry_forward(void *decoder)
{
    uint64_t ip;
    const int status
        = ipt_qry_sync_forward((ipt_qry_decoder *) decoder, &ip);

    if (status >= 0 && !(status & IPT_IP_SUPPRESSED))
        fuzz_sink += ip;
    return status;
}

static inline int fuzz_qry_backward(void *decoder)
{
    uint64_t ip;

    return ipt_qry_sync_backward((ipt_qry_decoder *) decoder, &ip);
}

static inline int fuzz_qry_set(void *decoder, uint64_t offset)
{
    uint64_t ip;

    return ipt_qry_sync_set((ipt_qry_decoder *) decoder, offset, &ip);
}

/* A TNT bit or a TIP. */
static inline void fuzz_branch(fuzz_run *run, uint8_t type, uint64_t ip)
{
    fuzz_item item;

    memset(&item, 0, sizeof(item));
    item.what = FUZZ_EVENT;
    item.kind = type;
    item.ip = ip;
    fuzz_put(run, &item);
}

static inline int fuzz_qry_cond(fuzz_run *run)
{
    int taken = -7;
    const int status
        = ipt_qry_cond_branch((ipt_qry_decoder *) run->decoder, &taken);

    FUZZ_CHECK(run, status < 0 ? taken == -7 : taken == 0 || taken == 1);
    if (status >= 0)
        fuzz_branch(run, IPT_EVT_TNT, (uint64_t) taken);
    return status;
}

static inline int fuzz_qry_indirect(fuzz_run *run)
{
    const uint64_t before = 0xa5a5a5a5a5a5a5a5u;
    uint64_t ip = before;
    const int status
        = ipt_qry_indirect_branch((ipt_qry_decoder *) run->decoder, &ip);

    FUZZ_CHECK(run, status >= 0 || ip == before);
    if (status >= 0) /* suppressed: by it, or after it */
        fuzz_branch(run, IPT_EVT_TIP, ip == before ? 0 : ip);
    return status;
}

static inline int fuzz_qry_event(fuzz_run *run)
{
    ipt_event event;
    int status;

    memset(&event, 0xa5, sizeof(event));
    status = ipt_qry_event((ipt_qry_decoder *) run->decoder, &event);
    if (status < 0)
        FUZZ_CHECK(run, fuzz_untouched(&event, sizeof(event)));
    else
        fuzz_event(run, &event);
    return status;
}

/* Does it ask for branches in any order? */
static inline int fuzz_wild(const fuzz_case *c)
{
    return c->clone & 1;
}

/* Ask for what the trace has, in this order or that. */
static inline int fuzz_qry_next(fuzz_run *run)
{
    const int wild = fuzz_wild(run->c) && run->log->total % 3 == 0;
    int status = IPT_ERR_QUERY;

    if (fuzz_wild(run->c) && run->log->total % 3 == 1)
        status = fuzz_qry_event(run);
    if (status == IPT_ERR_QUERY)
        status = wild ? fuzz_qry_indirect(run) : fuzz_qry_cond(run);
    if (status == IPT_ERR_QUERY)
        status = wild ? fuzz_qry_cond(run) : fuzz_qry_indirect(run);
    if (status == IPT_ERR_QUERY)
        status = fuzz_qry_event(run);
    return status;
}

static const fuzz_layer fuzz_qry
    = {"qry", sizeof(ipt_qry_decoder), fuzz_qry_init, fuzz_qry_forward,
       fuzz_qry_backward, fuzz_qry_set, fuzz_qry_next, NULL, IPT_ERR_EVENTS,
       0, 3, NULL};

/* ---- flow: blocks and instructions ---- */

/* Pull what is pending. */
static inline const ipt_walk_ *fuzz_walk(const fuzz_run *run);

/* IPT_LAST: an item or an event (told: FUZZ_TOLD_EVENT) came with `status`. The
 * one before was not the last one, unless this one is unproven. */
static inline void fuzz_told(fuzz_run *run, int status, int told)
{
    FUZZ_CHECK(run, run->told != FUZZ_TOLD_LAST
                        || (told != FUZZ_TOLD_EVENT
                            && status & IPT_UNPROVEN));
    FUZZ_CHECK(run, !(status & IPT_LAST) || !(status & IPT_EVENT_PENDING));
    FUZZ_CHECK(run, !(status & IPT_LAST) || !run->trace.open);
    FUZZ_CHECK(run, !(status & IPT_UNPROVEN) || status & IPT_LAST
                        || status & IPT_EVENT_PENDING);
    if (run->told == FUZZ_TOLD_NONE) /* it may have waited for a _sync */
        told = FUZZ_TOLD_EVENT;
    run->told = status & IPT_LAST ? FUZZ_TOLD_LAST : told;
}

/* Nothing came. Where the trace ends, that was said before, unless flow is
 * stepped over, something is left that leads no further, or an event could not
 * look ahead, as in the middle of a _resync. */
static inline void fuzz_told_end(fuzz_run *run, int status)
{
    const ipt_walk_ *w = fuzz_walk(run);
    const int left = ipti_next_any(&w->next) || w->out.count || w->flow.hidden
                     || w->resync.state;

    if (run->told == FUZZ_TOLD_LAST && !run->trace.open)
        FUZZ_CHECK(run, status == IPT_END
                            || run->config.flags & IPT_CONFIG_WALK_ON);
    if (status == IPT_END && run->told == FUZZ_TOLD_NOT && !run->quiet)
        FUZZ_CHECK(run, left);
    if (status == IPT_END && run->told == FUZZ_TOLD_EVENT && run->first
        && fuzz_reads(run->c) != FUZZ_HOLES)
        FUZZ_CHECK(run, left);
}

static inline int fuzz_pull(fuzz_run *run, int status,
                            int (*pull)(fuzz_run *run, ipt_event *event))
{
    ipt_event event;
    int n = 0;
    int again = status;

    while (!run->quiet && !run->stop && n++ < 4 + 2 * (int) run->given) {
        memset(&event, 0xa5, sizeof(event));
        again = pull(run, &event);
        if (again < 0)
            break;
        FUZZ_CHECK(run, status == IPT_EVENT_FIRST
                            || status & IPT_EVENT_PENDING);
        fuzz_told(run, again, FUZZ_TOLD_EVENT);
        fuzz_event(run, &event);
        if (!(again & IPT_EVENT_PENDING)) {
            memset(&event, 0xa5, sizeof(event));
            again = pull(run, &event);
            break;
        }
    }
    if (!run->quiet && !run->stop) {
        FUZZ_CHECK(run, again == IPT_END || again == IPT_ERR_NOSYNC);
        /* a held block comes although a search since then has failed */
        FUZZ_CHECK(run, again == IPT_END || status == again || status >= 0);
        FUZZ_CHECK(run, fuzz_untouched(&event, sizeof(event)));
        FUZZ_CHECK(run, status == IPT_EVENT_FIRST || n == 1
                            || status & IPT_EVENT_PENDING);
    }
    return status;
}

/* Flow that uses no trace comes to an end: no address repeats for ever. */
static inline void fuzz_path(fuzz_run *run, uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_VMPTRLD:
    case IPT_INSN_RSM:
    case IPT_INSN_INTO:
        run->path++;
        break;
    default:
        run->path = 0;
        break;
    }
    if (fuzz_pure(run->c) && fuzz_reads(run->c) != FUZZ_MIRROR
        && !run->c->image)
        FUZZ_CHECK(run, run->path <= 8 * run->c->code_size + 160);
}

static inline int fuzz_blk_init(void *decoder, const ipt_config *config,
                                const ipt_trace *trace, ipt_cache *cache)
{
    return ipt_blk_init((ipt_blk_decoder *) decoder, config, trace, cache);
}

static inline int fuzz_blk_forward(void *decoder)
{
    return ipt_blk_sync_forward((ipt_blk_decoder *) decoder);
}

static inline int fuzz_blk_backward(void *decoder)
{
    return ipt_blk_sync_backward((ipt_blk_decoder *) decoder);
}

static inline int fuzz_blk_set(void *decoder, uint64_t offset)
{
    return ipt_blk_sync_set((ipt_blk_decoder *) decoder, offset);
}

static inline int fuzz_blk_resync(void *decoder)
{
    return ipt_blk_resync((ipt_blk_decoder *) decoder);
}

static inline int fuzz_blk_event(fuzz_run *run, ipt_event *event)
{
    return ipt_blk_event((ipt_blk_decoder *) run->decoder, event);
}

static inline int fuzz_blk_next(fuzz_run *run)
{
    ipt_block block;
    fuzz_item item;
    int status;

    if (run->log->count
        && run->log->item[run->log->count - 1].what == FUZZ_SYNC
        && !run->quiet) /* events may be there before the first block */
        (void) fuzz_pull(run, IPT_EVENT_PENDING, fuzz_blk_event);
    memset(&block, 0xa5, sizeof(block));
    status = ipt_blk_next((ipt_blk_decoder *) run->decoder, &block);
    if (status >= 0) {
        FUZZ_CHECK(run, block.count > 0);
        FUZZ_CHECK(run, block.kind < IPT_INSN_COUNT);
        FUZZ_CHECK(run, block.last_size > 0 && block.last_size <= 15);
        FUZZ_CHECK(run, block.mode && block.mode < IPT_MODE_COUNT);
        memset(&item, 0, sizeof(item));
        item.what = FUZZ_BLOCK;
        item.offset = block.offset;
        item.ip = block.ip;
        item.end = block.end_ip;
        item.count = block.count;
        item.flags = block.flags;
        item.status = status & IPT_UNPROVEN;
        item.kind = block.kind;
        item.size = block.last_size;
        item.mode = block.mode;
        fuzz_told(run, status, FUZZ_TOLD_NOT);
        fuzz_put(run, &item);
        fuzz_path(run, block.kind);
    } else {
        fuzz_told_end(run, status);
        FUZZ_CHECK(run, fuzz_untouched(&block, sizeof(block)));
        FUZZ_CHECK(run, fuzz_at(run)->error == status);
    }
    return fuzz_pull(run, status, fuzz_blk_event);
}

static inline int fuzz_blk_start(void *decoder, const ipt_start *start)
{
    return ipt_blk_start((ipt_blk_decoder *) decoder, start);
}

static const fuzz_layer fuzz_blk
    = {"blk", sizeof(ipt_blk_decoder), fuzz_blk_init, fuzz_blk_forward,
       fuzz_blk_backward, fuzz_blk_set, fuzz_blk_next, fuzz_blk_resync,
       IPT_ERR_MODE, 1, 15, fuzz_blk_start};

static inline int fuzz_insn_init(void *decoder, const ipt_config *config,
                                 const ipt_trace *trace, ipt_cache *cache)
{
    return ipt_insn_init((ipt_insn_decoder *) decoder, config, trace, cache);
}

static inline int fuzz_insn_forward(void *decoder)
{
    return ipt_insn_sync_forward((ipt_insn_decoder *) decoder);
}

static inline int fuzz_insn_backward(void *decoder)
{
    return ipt_insn_sync_backward((ipt_insn_decoder *) decoder);
}

static inline int fuzz_insn_set(void *decoder, uint64_t offset)
{
    return ipt_insn_sync_set((ipt_insn_decoder *) decoder, offset);
}

static inline int fuzz_insn_resync(void *decoder)
{
    return ipt_insn_resync((ipt_insn_decoder *) decoder);
}

static inline int fuzz_insn_event(fuzz_run *run, ipt_event *event)
{
    return ipt_insn_event((ipt_insn_decoder *) run->decoder, event);
}

/* Where the code segment of ip begins. */
static inline uint64_t fuzz_segment(const fuzz_run *run, uint8_t mode,
                                    uint64_t ip)
{
    const ipt_config *config = &run->config;

    if (mode == IPT_MODE_64 || !config->cs_base)
        return 0;
    return config->cs_base(&fuzz_at(run)->asid, (uint32_t) ip, mode,
                           config->context);
}

/* Copy the code at ip, of however many mappings. Returns how many bytes. */
static inline int fuzz_code(const fuzz_run *run, uint8_t *bytes, size_t size,
                            uint8_t mode, uint64_t ip)
{
    const ipt_asid *asid = &fuzz_at(run)->asid;
    uint64_t base = 0;
    size_t n;
    int got;

    if (!run->c->image)
        return fuzz_copy(run->c, bytes, size, asid, ip);
    if (run->config.flags & IPT_CONFIG_RELATIVE_IP)
        base = fuzz_segment(run, mode, ip);
    for (n = 0; n < size; n += (size_t) got) {
        uint64_t at = base + ip + n;
        size_t most = size - n;
        if (mode != IPT_MODE_64) {
            at = (uint32_t) at;
            if (most > (uint64_t) UINT32_MAX + 1 - at)
                most = (size_t) ((uint64_t) UINT32_MAX + 1 - at);
        }
        got = fuzz_copy(run->c, bytes + n, most, asid, at);
        if (got == 0)
            break;
    }
    return (int) n;
}

/* Is it the instruction that stands there, and does it follow the last? */
static inline void fuzz_insn_check(fuzz_run *run, const fuzz_item *item)
{
    const fuzz_case *c = run->c;
    const fuzz_item *before = &run->before;
    const uint64_t next = before->ip + before->size;
    const ipt_config *config = &run->config;
    const int relative = (config->flags & IPT_CONFIG_RELATIVE_IP) != 0;
    uint64_t got = item->ip;
    uint8_t bytes[15];
    ipt_code code;
    int status;

    if (!fuzz_pure(c) || c->flags & FUZZ_ASID)
        return;
    if (item->mode != IPT_MODE_64)
        got = (uint32_t) got;
    status = fuzz_code(run, bytes, sizeof(bytes), item->mode, got);
    status = ipt_classify(&code, bytes, (size_t) status, item->mode, NULL);
    FUZZ_CHECK(run, status == IPT_OK || fuzz_base(c) >= 0xffffffe0);
    if (status == IPT_OK && fuzz_base(c) < 0xffffffe0) {
        FUZZ_CHECK(run, code.size == item->size);
        FUZZ_CHECK(run, code.kind == item->kind);
    }
    if (before->what && before->mode == item->mode && !run->quiet) {
        const uint64_t base = relative || !config->cs_base
                                  ? 0
                                  : fuzz_segment(run, item->mode, before->ip);
        uint64_t to = next + before->hash;
        if (before->zero[0] && (relative || config->cs_base))
            to = base + ((to - base) & 0xffff);
        to = item->mode == IPT_MODE_64 ? to : (uint32_t) to;
        if (before->kind == IPT_INSN_OTHER)
            FUZZ_CHECK(run, got == (item->mode == IPT_MODE_64
                                        ? next
                                        : (uint32_t) next));
        if (before->kind == IPT_INSN_JMP || before->kind == IPT_INSN_CALL)
            FUZZ_CHECK(run, got == to);
    }
    run->before = *item;
    run->before.hash = (uint64_t) code.displacement;
    run->before.zero[0] = code.ip16;
    if (status != IPT_OK)
        run->before.what = 0;
}

static inline int fuzz_insn_next(fuzz_run *run)
{
    ipt_insn insn;
    fuzz_item item;
    int status;

    if (run->log->count
        && run->log->item[run->log->count - 1].what == FUZZ_SYNC
        && !run->quiet)
        (void) fuzz_pull(run, IPT_EVENT_PENDING, fuzz_insn_event);
    memset(&insn, 0xa5, sizeof(insn));
    status = ipt_insn_next((ipt_insn_decoder *) run->decoder, &insn);
    if (status >= 0) {
        FUZZ_CHECK(run, insn.kind < IPT_INSN_COUNT);
        FUZZ_CHECK(run, insn.size > 0 && insn.size <= 15);
        FUZZ_CHECK(run, insn.mode && insn.mode < IPT_MODE_COUNT);
        memset(&item, 0, sizeof(item));
        item.what = FUZZ_INSN;
        item.offset = insn.offset;
        item.ip = insn.ip;
        item.flags = insn.flags;
        item.status = status & IPT_UNPROVEN;
        item.kind = insn.kind;
        item.size = insn.size;
        item.mode = insn.mode;
        fuzz_insn_check(run, &item);
        fuzz_told(run, status, FUZZ_TOLD_NOT);
        fuzz_put(run, &item);
        fuzz_path(run, insn.kind);
    } else {
        fuzz_told_end(run, status);
        FUZZ_CHECK(run, fuzz_untouched(&insn, sizeof(insn)));
        FUZZ_CHECK(run, fuzz_at(run)->error == status);
    }
    return fuzz_pull(run, status, fuzz_insn_event);
}

static inline int fuzz_insn_start(void *decoder, const ipt_start *start)
{
    return ipt_insn_start((ipt_insn_decoder *) decoder, start);
}

static const fuzz_layer fuzz_insn
    = {"insn", sizeof(ipt_insn_decoder), fuzz_insn_init, fuzz_insn_forward,
       fuzz_insn_backward, fuzz_insn_set, fuzz_insn_next, fuzz_insn_resync,
       IPT_ERR_MODE, 1, 15, fuzz_insn_start};

static inline const ipt_walk_ *fuzz_walk(const fuzz_run *run)
{
    return run->layer == &fuzz_blk
               ? &((const ipt_blk_decoder *) run->decoder)->walk_
               : &((const ipt_insn_decoder *) run->decoder)->walk_;
}


/* ---- comparing ---- */

static fuzz_log fuzz_logs[2];

/* Print where two logs differ, and fail. */
static inline int fuzz_differ(const fuzz_log *a, size_t i, const fuzz_log *b,
                              size_t k)
{
    fprintf(stderr, "%s, item %u of %u:\n", a->name, (unsigned) i,
            (unsigned) a->count);
    if (i < a->count)
        fuzz_print(&a->item[i]);
    fprintf(stderr, "%s, item %u of %u:\n", b->name, (unsigned) k,
            (unsigned) b->count);
    if (k < b->count)
        fuzz_print(&b->item[k]);
    FUZZ_FAIL(__LINE__, "two ways to decode the same differ");
    return 0;
}

/* The same was lost. */
static inline int fuzz_counted(const fuzz_log *a, const fuzz_log *b)
{
    if (a->skipped == b->skipped && a->overflows == b->overflows
        && a->gaps == b->gaps && a->resyncs == b->resyncs)
        return 1;
    fprintf(stderr, "%s: skipped %u overflows %u gaps %u resyncs %u\n"
                    "%s: skipped %u overflows %u gaps %u resyncs %u\n",
            a->name, (unsigned) a->skipped, a->overflows, a->gaps, a->resyncs,
            b->name, (unsigned) b->skipped, b->overflows, b->gaps, b->resyncs);
    FUZZ_FAIL(__LINE__, "two ways to decode the same count otherwise");
    return 0;
}

/* The logs are equal, as far as they go if one was cut. `quiet`: b has no
 * events. */
static inline int fuzz_same(const fuzz_log *a, const fuzz_log *b, int quiet)
{
    size_t i = 0;
    size_t k = 0;

    for (;; i++, k++) {
        while (quiet && i < a->count && a->item[i].what == FUZZ_EVENT)
            i++;
        if (i == a->count || k == b->count)
            break;
        if (memcmp(&a->item[i], &b->item[k], sizeof(a->item[i])))
            return fuzz_differ(a, i, b, k);
    }
    if (a->cut || b->cut)
        return 1;
    if (i < a->count || k < b->count)
        return fuzz_differ(a, i, b, k);
    return fuzz_counted(a, b);
}

/* Does a block end after this kind of instruction? */
static inline int fuzz_ends(const fuzz_case *c, uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_VMPTRLD:
        return 0;
    case IPT_INSN_JMP:
        return c->config & IPT_CONFIG_END_ON_JUMP;
    case IPT_INSN_CALL:
        return c->config & IPT_CONFIG_END_ON_CALL;
    default:
        return 1;
    }
}

/* Are these instructions, from `first` to `last`, the block? */
static inline int fuzz_gather(const fuzz_case *c, const fuzz_item *block,
                              const fuzz_item *first, const fuzz_item *last)
{
    const fuzz_item *insn;
    uint16_t flags = 0;

    for (insn = first; insn <= last; insn++) {
        flags |= insn->flags;
        if (insn->what != FUZZ_INSN || insn->mode != block->mode)
            return 0;
        if (insn < last && (fuzz_ends(c, insn->kind)
                            || fuzz_crosses(c, insn->ip, insn[1].ip)
                            || insn->flags & IPT_FLOW_TRUNCATED))
            return 0;
    }
    return block->ip == first->ip && block->end == last->ip
           && block->kind == last->kind && block->size == last->size
           && block->offset == last->offset && block->flags == flags
           && block->status == last->status;
}

/* What a missing page or missing trace keeps: a block in progress comes after
 * the status, if flow is taken up elsewhere. */
static inline size_t fuzz_held(const fuzz_log *insns, size_t i)
{
    while (i < insns->count && insns->item[i].what == FUZZ_INSN)
        i++;
    return i;
}

/* Blocks are the instructions, gathered, and as many as there can be. */
static inline int fuzz_gathered(const fuzz_case *c, const fuzz_log *insns,
                                const fuzz_log *blocks)
{
    const fuzz_item *held = NULL;
    const fuzz_item *held_end = NULL;
    size_t i = 0;
    size_t k;

    for (k = 0; k < blocks->count && i < insns->count; k++) {
        const fuzz_item *block = &blocks->item[k];
        const fuzz_item *insn = &insns->item[i];
        if (block->what == FUZZ_STOP
            && (block->status == IPT_NEED_PAGE || block->status == IPT_MORE)
            && insn->what == FUZZ_INSN && !held) {
            held = insn;
            i = fuzz_held(insns, i);
            insn = held_end = &insns->item[i];
        }
        if (block->what != FUZZ_BLOCK) {
            if (i == insns->count || memcmp(block, insn, sizeof(*insn)))
                return insns->cut || fuzz_differ(insns, i, blocks, k);
            i++;
            continue;
        }
        if (held) {
            if (block->count != (size_t) (held_end - held)
                || !fuzz_gather(c, block, held, held_end - 1))
                return fuzz_differ(insns, i, blocks, k);
            held = NULL;
            continue;
        }
        if (i + block->count > insns->count && insns->cut)
            return 1;
        if (i + block->count > insns->count
            || !fuzz_gather(c, block, insn, insn + block->count - 1)
            || (k + 1 < blocks->count && block[1].what == FUZZ_BLOCK
                && !fuzz_ends(c, block->kind) && block->count < UINT16_MAX
                && !fuzz_crosses(c, block->end, block[1].ip)
                && !(block->flags & IPT_FLOW_TRUNCATED)))
            return fuzz_differ(insns, i, blocks, k);
        i += block->count;
    }
    if (insns->cut || blocks->cut
        || (i == insns->count && k == blocks->count))
        return 1;
    return fuzz_differ(insns, i, blocks, k);
}

/* Queries give what events are, a TNT bit at a time. */
static inline int fuzz_asked(const fuzz_log *events, const fuzz_log *queries)
{
    size_t i;
    size_t k = 0;
    uint8_t bit;

    for (i = 0; i < events->count && k < queries->count; i++) {
        const fuzz_item *event = &events->item[i];
        const fuzz_item *query = &queries->item[k];
        if (event->what != FUZZ_EVENT
            || (event->kind != IPT_EVT_TNT && event->kind != IPT_EVT_TIP)) {
            if (memcmp(event, query, sizeof(*event)))
                return fuzz_differ(events, i, queries, k);
            k++;
            continue;
        }
        if (event->kind == IPT_EVT_TIP) {
            if (query->kind != IPT_EVT_TIP
                || query->ip != (event->flags & IPT_EVENT_NO_IP ? 0
                                                                : event->ip))
                return fuzz_differ(events, i, queries, k);
            k++;
            continue;
        }
        for (bit = event->mode; bit-- && k < queries->count; k++) {
            query = &queries->item[k];
            if (query->what != FUZZ_EVENT || query->kind != IPT_EVT_TNT
                || query->ip != (event->hash >> bit & 1))
                return fuzz_differ(events, i, queries, k);
        }
    }
    if (events->cut || queries->cut
        || (i == events->count && k == queries->count))
        return 1;
    return fuzz_differ(events, i, queries, k);
}

/* ---- all of it ---- */

enum { /* ways to decode that must not matter */
    FUZZ_RUN_PIECES,
    FUZZ_RUN_FEED,
    FUZZ_RUN_FUEL,
    FUZZ_RUN_CLONE,
    FUZZ_RUN_CACHE,
    FUZZ_RUN_LAZY,
    FUZZ_RUN_QUIET,
    FUZZ_RUN_ALL, /* together */
    FUZZ_RUN_COUNT,
    FUZZ_RUN_AGAIN = FUZZ_RUN_COUNT /* by a decoder that was used before */
};

static inline void fuzz_plan(fuzz_run *run, const fuzz_layer *layer,
                             const fuzz_case *c)
{
    memset(run, 0, sizeof(*run));
    run->layer = layer;
    run->c = c;
}

static inline void fuzz_reference(const fuzz_layer *layer, const fuzz_case *c,
                                  fuzz_log *log)
{
    fuzz_run run;

    fuzz_plan(&run, layer, c);
    run.log = log;
    run.first = 1;
    fuzz_decode(&run, layer->name);
}

/* Plan to decode in one of the ways. Returns its name. */
static inline const char *fuzz_plan_way(fuzz_run *run, const fuzz_layer *layer,
                                        const fuzz_case *c, int way)
{
    static const char *const names[] = {"pieces", "feed", "fuel", "clone",
                                        "cache", "lazy", "quiet", "all",
                                        "again"};
    const int all = way == FUZZ_RUN_ALL;

    fuzz_plan(run, layer, c);
    run->way = way == FUZZ_RUN_PIECES        ? FUZZ_PIECES
               : way == FUZZ_RUN_FEED || all ? FUZZ_FEED
                                             : FUZZ_WHOLE;
    run->fueled = way == FUZZ_RUN_FUEL || all;
    run->cloned = way == FUZZ_RUN_CLONE || all;
    run->cached = way == FUZZ_RUN_CACHE || all;
    run->lazy = (way == FUZZ_RUN_LAZY || all)
                && !(c->errata & (IPT_ERRATUM_BDM64 | IPT_ERRATUM_SKD022))
                && (fuzz_reads(c) == FUZZ_HONEST
                    || fuzz_reads(c) == FUZZ_HOLES);
    run->quiet = way == FUZZ_RUN_QUIET;
    run->again = way == FUZZ_RUN_AGAIN;
    return names[way];
}

/* Decode in one of the ways, and compare with the reference. */
static inline void fuzz_way(const fuzz_layer *layer, const fuzz_case *c,
                            const fuzz_log *reference, int way)
{
    fuzz_log *log = &fuzz_logs[1];
    fuzz_run run;
    const char *name = fuzz_plan_way(&run, layer, c, way);

    run.log = log;
    fuzz_decode(&run, name);
    if (run.again) { /* these count from its first use on */
        log->skipped = reference->skipped;
        log->overflows = reference->overflows;
        log->gaps = reference->gaps;
        log->resyncs = reference->resyncs;
    }
    if (fuzz_pure(c) && fuzz_same(reference, log, run.quiet) && run.quiet
        && !reference->errors && !reference->cut && !log->cut)
        FUZZ_CHECK(&run, log->dropped == reference->events);
}

/* Is this way of any use for the layer? */
static inline int fuzz_useful(const fuzz_layer *layer, int way)
{
    return layer->flow || (way != FUZZ_RUN_CACHE && way != FUZZ_RUN_LAZY
                           && way != FUZZ_RUN_QUIET);
}

static int fuzz_drawing; /* does each input draw one way? */
static unsigned long fuzz_drawn[FUZZ_RUN_COUNT + 1]; /* how many drew each */

/* Is it this one's turn? FUZZ_RUN_COUNT: to compare with another layer. */
static inline int fuzz_draws(const fuzz_layer *layer, const fuzz_case *c,
                             int way)
{
    int ways[FUZZ_RUN_COUNT + 1];
    unsigned n = 0;
    int i;

    if (!fuzz_drawing)
        return 1;
    for (i = 0; i < FUZZ_RUN_COUNT; i++)
        if (fuzz_useful(layer, i))
            ways[n++] = i;
    if (layer == &fuzz_blk || layer == &fuzz_qry)
        ways[n++] = FUZZ_RUN_COUNT;
    if (ways[c->way % n] != way)
        return 0;
    fuzz_drawn[way]++;
    return 1;
}

static inline void fuzz_all(const fuzz_layer *layer, const fuzz_case *c)
{
    fuzz_log *log = &fuzz_logs[0];
    int way;

    fuzz_reference(layer, c, log);
    if (layer == &fuzz_blk && fuzz_draws(layer, c, FUZZ_RUN_COUNT)
        && fuzz_pure(c)) {
        fuzz_reference(&fuzz_insn, c, &fuzz_logs[1]);
        fuzz_gathered(c, &fuzz_logs[1], log);
    }
    if (layer == &fuzz_qry && fuzz_draws(layer, c, FUZZ_RUN_COUNT)
        && !fuzz_wild(c) && !(c->wide & FUZZ_WIDE_START)) {
        fuzz_reference(&fuzz_evt, c, &fuzz_logs[1]);
        fuzz_asked(&fuzz_logs[1], log);
    }
    for (way = 0; way < FUZZ_RUN_COUNT; way++)
        if (fuzz_useful(layer, way) && fuzz_draws(layer, c, way))
            fuzz_way(layer, c, log, way);
}

/* What LLVMFuzzerTestOneInput does. */
static inline int fuzz_input(const fuzz_layer *layer, const uint8_t *data,
                             size_t size)
{
    fuzz_case c;

    if (fuzz_parse(&c, data, size))
        fuzz_all(layer, &c);
    return 0;
}

#endif /* IPT_FUZZ_H */
