/* faults.c: libipt.so.2 as it is built here where memory runs out, callbacks
 * lie and threads share a cache of sections; next to the system's where that
 * can be compared.
 *
 *     LIBIPT=build/compat/libipt.so.2 faults [threads] */
#define _GNU_SOURCE
#include "api.h"
#include "memory.h"
#include "../test.h"
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

static api theirs, ours;
static api *const sides[2] = {&theirs, &ours};

/* ---- a trace ---- */

#define RECORDED "examples/recording/"

static uint8_t trace[1 << 16];
static size_t trace_size;

static size_t load(const char *path, uint8_t *bytes, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    if (f) {
        n = fread(bytes, 1, room, f);
        fclose(f);
    }
    return n;
}

static struct pt_config config_of(uint8_t *bytes, size_t size)
{
    struct pt_config c;
    pt_config_init(&c);
    c.begin = bytes;
    c.end = bytes + size;
    return c;
}

static uint64_t mix(uint64_t hash, uint64_t x)
{
    return (hash ^ x) * 0x100000001b3u;
}

/* ---- a user of everything that allocates ---- */

#define CALLS 64

/* What each call of a user returned: a status, or whether there is an object.
 * `normal` is the same with enough memory. */
typedef struct user {
    const api *by;
    const long *normal;
    long said[CALLS];
    int count;
    int over;  /* without memory it does not go on */
    int wrong; /* this call, from 1 on, answered otherwise, also again; 0 */
} user;

/* How a call says that there was no memory. */
enum { BY_STATUS, BY_NULL, BY_COUNT };

static int is_nomem(const user *u, long said, int how)
{
    switch (how) {
    case BY_NULL: return said == 0;
    case BY_COUNT: return said > 0; /* of sections that were left out */
    case BY_STATUS:
    default:
        if (u->by == &theirs && (said == -pte_invalid || said == -pte_internal))
            return 1; /* 2.0.5 does, where it is about a section */
        return said == -pte_nomem;
    }
}

/* A call failed; is it to be made again? */
static int again(user *u, long said, int how, int turn)
{
    if (!u->normal || said == u->normal[u->count]) return 0;
    if (turn || !is_nomem(u, said, how)) {
        u->wrong = u->count + 1;
        return 0;
    }
    if (memory_fail_on) u->over = 1;
    return !memory_fail_on;
}

static void note(user *u, long said)
{
    if (u->count < CALLS) u->said[u->count] = said;
    u->count++;
}

#define CALL(how, call)                                                       \
    do {                                                                      \
        long said_ = 0;                                                       \
        int turn_ = 0;                                                        \
        if (!u->over) {                                                       \
            do said_ = (call);                                                \
            while (again(u, said_, how, turn_++));                            \
            note(u, said_);                                                   \
        }                                                                     \
    } while (0)
#define STATUS(call) CALL(BY_STATUS, call)
#define OBJECT(object, call) CALL(BY_NULL, (object = (call)) != NULL)

/* Decode all; without memory once more where that was. */
static long decode(const api *by, struct pt_insn_decoder *d)
{
    struct pt_insn insn;
    struct pt_event e;
    uint64_t hash = 0;
    int turns = 0;
    int status;
    do status = by->pt_insn_sync_forward(d);
    while (status == -pte_nomem && !memory_fail_on && turns++ == 0);
    while (status >= 0) {
        if (status & pts_event_pending) {
            status = by->pt_insn_event(d, &e, sizeof e);
            continue;
        }
        turns = 0;
        do status = by->pt_insn_next(d, &insn, sizeof insn);
        while (status == -pte_nomem && !memory_fail_on && turns++ == 0);
        if (status >= 0) hash = mix(hash, insn.ip);
    }
    return status == -pte_nomem ? status
                                : (long) (mix(hash, (unsigned) status) >> 8);
}

static long decode_blocks(const api *by, struct pt_block_decoder *d)
{
    struct pt_block block;
    struct pt_event e;
    uint64_t hash = 0;
    int turns = 0;
    int status;
    do status = by->pt_blk_sync_forward(d);
    while (status == -pte_nomem && !memory_fail_on && turns++ == 0);
    while (status >= 0) {
        if (status & pts_event_pending) {
            status = by->pt_blk_event(d, &e, sizeof e);
            continue;
        }
        turns = 0;
        do status = by->pt_blk_next(d, &block, sizeof block);
        while (status == -pte_nomem && !memory_fail_on && turns++ == 0);
        if (status >= 0) hash += block.ninsn; /* they may end elsewhere */
    }
    /* 2.0.5 says already with the block before it what is wrong. */
    if (status != -pte_eos) return status;
    return (long) (mix(hash, (unsigned) status) >> 8);
}

static int no_code(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                   uint64_t ip, void *context)
{
    (void) buffer;
    (void) size;
    (void) asid;
    (void) ip;
    (void) context;
    return -pte_nomap;
}

static void use_all(user *u)
{
    const api *by = u->by;
    struct pt_config c = config_of(trace, trace_size);
    struct pt_image *image = NULL;
    struct pt_image *copy = NULL;
    struct pt_image_section_cache *cache = NULL;
    struct pt_packet_decoder *p = NULL;
    struct pt_query_decoder *q = NULL;
    struct pt_insn_decoder *n = NULL;
    struct pt_insn_decoder *m = NULL;
    struct pt_block_decoder *b = NULL;
    struct pt_encoder *e = NULL;
    struct pt_asid asid;
    uint8_t bytes[16];
    pt_asid_init(&asid);
    asid.cr3 = 0x1000;
    c.errata.bdm70 = 1;
    u->count = u->over = 0;
    OBJECT(image, by->pt_image_alloc("a name"));
    OBJECT(copy, by->pt_image_alloc(NULL));
    OBJECT(cache, by->pt_iscache_alloc("another"));
    STATUS(by->pt_iscache_set_limit(cache, 8192));
    STATUS(by->pt_image_add_file(image, RECORDED "pages.bin", 0, 4096, NULL,
                                 0x401000));
    CALL(BY_COUNT, by->pt_image_copy(copy, image));
    for (unsigned i = 0; i < 5; i++) { /* each splits what is there */
        STATUS(by->pt_iscache_add_file(cache, RECORDED "pages.bin",
                                       0x100 + 0x300 * i, 0x80,
                                       0x401100 + 0x300 * i));
        STATUS(by->pt_image_add_cached(image, cache, (int) i + 1, NULL));
    }
    STATUS(by->pt_iscache_read(cache, bytes, sizeof bytes, 1, 0x401100));
    STATUS(by->pt_image_add_file(copy, RECORDED "program", 0, 64, &asid,
                                 0x7000));
    STATUS(by->pt_image_remove_by_filename(copy, RECORDED "program", &asid));
    STATUS(by->pt_image_set_callback(copy, no_code, NULL));
    OBJECT(p, by->pt_pkt_alloc_decoder(&c));
    OBJECT(q, by->pt_qry_alloc_decoder(&c));
    OBJECT(n, by->pt_insn_alloc_decoder(&c));
    OBJECT(m, by->pt_insn_alloc_decoder(&c));
    OBJECT(b, by->pt_blk_alloc_decoder(&c));
    OBJECT(e, by->pt_alloc_encoder(&c));
    STATUS(by->pt_pkt_sync_forward(p));
    STATUS(by->pt_qry_sync_forward(q, NULL));
    STATUS(by->pt_insn_set_image(n, image));
    STATUS(by->pt_insn_set_image(m, copy));
    STATUS(by->pt_blk_set_image(b, copy));
    STATUS(decode(by, n));
    STATUS(decode(by, m));
    STATUS(decode_blocks(by, b));
    STATUS(by->pt_image_remove_by_filename(image, RECORDED "pages.bin", NULL));
    by->pt_pkt_free_decoder(p);
    by->pt_qry_free_decoder(q);
    by->pt_insn_free_decoder(n);
    by->pt_insn_free_decoder(m);
    by->pt_blk_free_decoder(b);
    by->pt_free_encoder(e);
    by->pt_image_free(image);
    by->pt_image_free(copy);
    by->pt_iscache_free(cache);
}

/* How many parts of files are mapped. */
static unsigned maps(void)
{
    static char text[1 << 16];
    const size_t n = load("/proc/self/maps", (uint8_t *) text, sizeof text - 1);
    unsigned count = 0;
    text[n] = 0;
    for (const char *at = text; (at = strstr(at, RECORDED)); at++) count++;
    return count;
}

static unsigned long run_with(user *u, unsigned long at, int on)
{
    memory_fail_at = at;
    memory_fail_on = on;
    memory_asked = 0;
    memory_living = 0;
    memory_counting = 1;
    use_all(u);
    memory_counting = 0;
    memory_fail_at = 0;
    return memory_asked;
}

/* With the n-th allocation failing, or it and all after it. */
static void without_memory(const api *by, unsigned long count,
                           const user *whole)
{
    static user u;
    /* 2.0.5 loses sections, so it is not asked again. */
    for (int on = by == &theirs; on < 2; on++)
        for (unsigned long at = 1; at <= count; at++) {
            memset(&u, 0, sizeof u);
            u.by = by;
            u.normal = whole->said;
            (void) run_with(&u, at, on);
            if (!CHECK_EQ(u.wrong, 0))
                printf("    allocation %lu%s: call %d: %ld, not %ld\n", at,
                       on ? " and on" : "", u.wrong, u.said[u.wrong - 1],
                       whole->said[u.wrong - 1]);
            CHECK(on ? u.over : u.count == whole->count);
            if (by == &ours) CHECK_EQ(memory_living, 0);
        }
}

/* Each call says that there is no memory, with the status and the NULL that
 * are the original's, and does what it is to do when it is made again. */
TEST(memory)
{
    static user whole[2];
    unsigned long count[2];
    for (int i = 0; i < 2; i++) {
        memset(&whole[i], 0, sizeof whole[i]);
        whole[i].by = sides[i];
        count[i] = run_with(&whole[i], 0, 0);
        CHECK_EQ(memory_living, 0);
        CHECK(whole[i].count < CALLS);
    }
    CHECK_EQ(whole[1].count, whole[0].count);
    for (int i = 0; i < whole[0].count; i++)
        if (!CHECK_EQ(whole[1].said[i], whole[0].said[i]))
            printf("    call %d\n", i + 1);
    CHECK(count[1] > 15); /* there is something to refuse */
    without_memory(&ours, count[1], &whole[1]);
    CHECK_EQ(maps(), 0);
#ifndef MEMORY_RENAMED
    without_memory(&theirs, count[0], &whole[0]);
#endif
}

/* ---- callbacks that lie ---- */

typedef struct liar {
    const api *by;
    struct pt_image *image;
    int kind;
    int calls;
} liar;

static uint8_t code[1 << 12]; /* of the recording, at BASE */
#define BASE 0x401000u

/* What it says depends on the address alone, so that it does not matter which
 * bytes a library asks for, and in which order. */
static int lie(uint8_t *buffer, size_t size, const struct pt_asid *asid,
               uint64_t ip, void *context)
{
    liar *l = context;
    size_t n = 0;
    (void) asid;
    l->calls++;
    while (n < size && ip + n - BASE < sizeof code) {
        buffer[n] = code[ip + n - BASE];
        n++;
    }
    switch (l->kind) {
    case 0: return 0;
    case 1: return -pte_nomap;
    case 2: return -pte_bad_config;
    case 3: return -12345;
    case 4: return ip % 64 < 8 ? -pte_bad_image : (int) n;
    case 5: return n > 1 ? 1 : (int) n; /* a byte at a time */
    case 6: /* other code: PUSH, POP, Jcc */
        for (size_t i = 0; i < size; i++)
            buffer[i] = (uint8_t) (0x50 + (mix(17, ip + i) >> 9 & 0x2f));
        return (int) size;
    /* What depends on how often it is asked, and what 2.0.5 must not be told.
     */
    case 7: /* ends its own being asked */
        if (l->calls > 40)
            (void) l->by->pt_image_set_callback(l->image, NULL, NULL);
        return (int) n;
    case 8: return INT_MIN;
    case 9: return INT_MAX;
    case 10: return (int) size + 1;
    case 11: /* has more of what it is asked for each time */
        (void) l->by->pt_image_add_file(l->image, RECORDED "pages.bin", 0, 64,
                                        NULL, ip & ~(uint64_t) 63);
        return (int) n;
    default: /* takes all of it away */
        (void) l->by->pt_image_remove_by_filename(
            l->image, RECORDED "pages.bin", NULL);
        return (int) n;
    }
}

#define KINDS 13
#define SAFE_KINDS 7

static uint64_t told(const api *by, int kind, int blocks)
{
    struct pt_config c = config_of(trace, trace_size);
    liar l = {by, by->pt_image_alloc(NULL), kind, 0};
    uint64_t hash;
    CHECK_EQ(by->pt_image_set_callback(l.image, lie, &l), 0);
    if (blocks) {
        struct pt_block_decoder *d = by->pt_blk_alloc_decoder(&c);
        CHECK_EQ(by->pt_blk_set_image(d, l.image), 0);
        hash = (uint64_t) decode_blocks(by, d);
        by->pt_blk_free_decoder(d);
    } else {
        struct pt_insn_decoder *d = by->pt_insn_alloc_decoder(&c);
        CHECK_EQ(by->pt_insn_set_image(d, l.image), 0);
        hash = (uint64_t) decode(by, d);
        by->pt_insn_free_decoder(d);
    }
    CHECK(l.calls > 0);
    by->pt_image_free(l.image);
    return hash;
}

TEST(callbacks)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int blocks = 0; blocks < 2; blocks++) {
            const uint64_t said = told(&ours, kind, blocks);
            if (kind < SAFE_KINDS
                && !CHECK_EQ(said, told(&theirs, kind, blocks)))
                printf("    kind %d%s\n", kind, blocks ? ", blocks" : "");
        }
}

/* What the callback for unknown packets says, by their second byte. */
static int unknown(struct pt_packet_unknown *packet,
                   const struct pt_config *config, const uint8_t *at,
                   void *context)
{
    static const int says[] = {0, 1, 2, 5, 200, 255, 256, 70000, INT_MAX,
                               -pte_bad_opc, -pte_bad_packet, -999, INT_MIN};
    (void) config;
    packet->priv = context;
    return at[1] < sizeof says / sizeof says[0] ? says[at[1]] : 2;
}

static uint64_t packets(const api *by, uint8_t *bytes, size_t size)
{
    struct pt_config c = config_of(bytes, size);
    struct pt_packet_decoder *d;
    struct pt_packet p;
    uint64_t hash = 0;
    uint64_t at = 0;
    size_t left = size;
    int status;
    c.decode.callback = unknown;
    c.decode.context = bytes;
    d = by->pt_pkt_alloc_decoder(&c);
    status = by->pt_pkt_sync_forward(d);
    while (status >= 0 && CHECK(left-- > 0)) {
        status = by->pt_pkt_next(d, &p, sizeof p);
        hash = mix(hash, (unsigned) status);
        if (status < 0) break;
        hash = mix(mix(hash, (unsigned) p.type), p.size);
        if (p.type == ppt_unknown)
            hash = mix(hash, p.payload.unknown.priv == bytes);
    }
    (void) by->pt_pkt_get_offset(d, &at);
    by->pt_pkt_free_decoder(d);
    return mix(hash, at);
}

static uint64_t queries(const api *by, uint8_t *bytes, size_t size)
{
    struct pt_config c = config_of(bytes, size);
    struct pt_query_decoder *d;
    struct pt_event e;
    uint64_t ip = 0;
    int status;
    c.decode.callback = unknown;
    d = by->pt_qry_alloc_decoder(&c);
    status = by->pt_qry_sync_forward(d, &ip);
    while (status >= 0 && status & pts_event_pending)
        status = by->pt_qry_event(d, &e, sizeof e);
    if (status >= 0) status = by->pt_qry_indirect_branch(d, &ip);
    by->pt_qry_free_decoder(d);
    return (uint64_t) status;
}

TEST(unknown_packets)
{
    uint8_t bytes[64];
    for (uint8_t kind = 0; kind < 14; kind++)
        for (size_t size = 18; size <= sizeof bytes; size++) {
            memset(bytes, 0, sizeof bytes);
            for (int i = 0; i < 16; i++) bytes[i] = i % 2 ? 0x82 : 0x02;
            bytes[16] = 0x02; /* PSBEND */
            bytes[17] = 0x23;
            bytes[24] = 0x05; /* no packet begins with it */
            bytes[25] = kind;
            if (kind == 0) { /* 2.0.5 stays there forever */
                (void) packets(&ours, bytes, size);
                (void) queries(&ours, bytes, size);
                continue;
            }
            if (!CHECK_EQ(packets(&ours, bytes, size),
                          packets(&theirs, bytes, size))
                /* After 1, the kind is a TIP.PGD, which 2.0.5 takes there. */
                || (kind != 1
                    && !CHECK_EQ(queries(&ours, bytes, size),
                                 queries(&theirs, bytes, size))))
                printf("    kind %u, %u bytes\n", kind, (unsigned) size);
        }
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS 12

typedef struct worker {
    const api *by;
    struct pt_image_section_cache *cache;
    unsigned number;
    int bad;
    uint64_t hash; /* of each round, if they are the same */
    pthread_t thread;
} worker;

/* An image of its own, of sections of the cache that all share. */
static void *work(void *context)
{
    worker *w = context;
    const api *by = w->by;
    struct pt_config c = config_of(trace, trace_size);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct pt_image *image = by->pt_image_alloc(NULL);
        struct pt_insn_decoder *d = by->pt_insn_alloc_decoder(&c);
        uint8_t bytes[8];
        uint64_t hash;
        for (unsigned i = 0; i < 8; i++) {
            const int isid =
                by->pt_iscache_add_file(w->cache, RECORDED "pages.bin",
                                        512 * i, 512, BASE + 512 * i);
            w->bad += by->pt_image_add_cached(image, w->cache, isid, NULL) != 0;
            w->bad += by->pt_iscache_read(w->cache, bytes, sizeof bytes, isid,
                                          BASE + 512 * i) != sizeof bytes;
            w->bad += memcmp(bytes, code + 512 * i, sizeof bytes) != 0;
            w->bad += by->pt_iscache_set_limit(
                w->cache, 512 * ((round + w->number) % 9)) != 0;
        }
        w->bad += by->pt_insn_set_image(d, image) != 0;
        hash = (uint64_t) decode(by, d);
        w->bad += round > 0 && hash != w->hash;
        w->hash = hash;
        by->pt_insn_free_decoder(d);
        by->pt_image_free(image);
    }
    return NULL;
}

static uint64_t share(const api *by)
{
    worker workers[THREADS];
    struct pt_image_section_cache *cache = by->pt_iscache_alloc(NULL);
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].by = by;
        workers[i].cache = cache;
        workers[i].number = i;
        CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]),
                 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
        CHECK_EQ(workers[i].bad, 0);
        CHECK_EQ(workers[i].hash, workers[0].hash);
    }
    by->pt_iscache_free(cache);
    return workers[0].hash;
}

TEST(threads)
{
    CHECK_EQ(share(&ours), share(&theirs));
    CHECK_EQ(maps(), 0);
}

int main(int argc, char **argv)
{
    const char *path = getenv("LIBIPT");
    const char *why = path ? api_open_both(&theirs, &ours, path)
                           : "LIBIPT=path";
    trace_size = load(RECORDED "trace.pt", trace, sizeof trace);
    if (!why && load(RECORDED "pages.bin", code, sizeof code) != sizeof code)
        why = "no " RECORDED "pages.bin";
    if (why) {
        printf("%s\n0 passed, 1 failed\n", why);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        RUN(threads);
        return test_report();
    }
    RUN(memory);
    RUN(callbacks);
    RUN(unknown_packets);
    RUN(threads);
    return test_report();
}
