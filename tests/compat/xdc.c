/* xdc.c: libxdc's interface as it is built here: on programs whose flow is
 * known (xdc.h), on folders of hardware traces, and next to another libxdc.
 *
 *     xdc [--traces DIR] [--peer LIBXDC.SO] */
#define _DEFAULT_SOURCE
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "api.h"
#include "xdc.h"
#include "../whole.h"
#include "examples/tools/common/code/image.h"
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <time.h>

#define MAP 65536u
#define EMPTY_HASH 0x0997479f7eb30114u /* of 64 KiB of zeros */

#if LIBXDC_API_VERSION == 2
#define MODE_ARGUMENT disassembler_mode_t mode,
#define CHECK_MODE(want) CHECK_EQ(mode, want)
#else
#define MODE_ARGUMENT
#define CHECK_MODE(want)
#endif

static uint8_t map[MAP];
static uint8_t want_map[MAP];
static uint64_t none[4][2];
static const char *traces_dir;
static const char *peer_path;
static api libipt; /* the system's */

/* Sizes of bitmaps: the smallest, the usual, one larger than any cache. */
static const size_t sizes[] = {1, 8, 16, 512, MAP, (size_t) 1 << 22};

#define SIZES (sizeof sizes / sizeof *sizes)

static uint8_t sized[(size_t) 1 << 22];
static uint8_t want_sized[(size_t) 1 << 22];

/* ---- the callbacks ---- */

/* Pages of prog. */
typedef struct book {
    uint8_t absent[PAGES];
    uint8_t how;      /* what a page that is not there looks like */
    uint8_t reuses;   /* one buffer for all */
    uint8_t buffer[PAGE];
    unsigned long asked;
} book;

static void *fetch(void *opaque, uint64_t ip, bool *ok)
{
    book *b = opaque;
    const uint64_t page = (ip - prog.base) / PAGE;

    b->asked++;
    *ok = true;
    if (page >= PAGES || b->absent[page]) {
        *ok = b->how != 0;
        return b->how == 1 ? NULL : (void *) UINTPTR_MAX;
    }
    if (!b->reuses)
        return prog.pages[page];
    return memcpy(b->buffer, prog.pages[page], PAGE);
}

static void add_pair(void *opaque, MODE_ARGUMENT uint64_t a, uint64_t b)
{
    CHECK_MODE(mode_64);
    list_add(opaque, a, b);
}

static void add_ip(void *opaque, MODE_ARGUMENT uint64_t ip)
{
    CHECK_MODE(mode_64);
    list_add(opaque, ip, 0);
}

/* Decode what prog did from memory of just its size. */
static decoder_result_t decode(libxdc_t *xdc)
{
    static uint8_t *kept;
    uint8_t *copy = malloc(did.size + !did.size);
    decoder_result_t result;

    if (!copy)
        abort();
    memcpy(copy, did.trace, did.size);
    free(kept);
    kept = copy; /* the last one is lost where a callback jumps out */
    result = libxdc_decode(xdc, copy, did.size);
    free(copy);
    kept = NULL;
    return result;
}

static libxdc_t *open_book(book *b)
{
    libxdc_t *xdc = libxdc_init(none, fetch, b, map, MAP);

    if (!CHECK(xdc != NULL))
        abort();
    return xdc;
}

static void check_map(void)
{
    map_of(&did.cond, want_map, MAP);
    CHECK(memcmp(map, want_map, MAP) == 0);
}

/* ---- what prog did ---- */

/* All outputs of a run. */
static void check_run(libxdc_t *xdc)
{
    const decoder_result_t want
        = did.lost ? decoder_success_pt_overflow : decoder_success;
    list edges = {0};

    libxdc_bitmap_reset(xdc);
    CHECK_EQ(decode(xdc), want);
    check_map();
    libxdc_register_edge_callback(xdc, add_pair, &edges);
    libxdc_enable_tracing(xdc);
    CHECK_EQ(decode(xdc), want);
    check_map(); /* as it was */
    CHECK(list_same(&did.edges, &edges));
    libxdc_disable_tracing(xdc);
    edges.count = 0;
    CHECK_EQ(decode(xdc), want);
    CHECK_EQ(edges.count, 0);
    list_clear(&edges);
}

/* Counters, hash and new blocks of another bitmap, from one mode, then from the
 * other: what came from the first is no longer new. */
static void check_size(book *b, size_t size, int tracing)
{
    libxdc_t *xdc = libxdc_init(none, fetch, b, sized, size);
    list blocks = {0};

    if (!CHECK(xdc != NULL))
        abort();
    libxdc_register_bb_callback(xdc, add_pair, &blocks);
    for (int k = 0; k < 2; k++) {
        if (tracing ^ k)
            libxdc_enable_tracing(xdc);
        else
            libxdc_disable_tracing(xdc);
        CHECK_EQ(decode(xdc), did.lost ? 1 : 0);
        list_sort(&blocks);
        CHECK(list_same(&did.blocks, &blocks));
    }
    map_of(&did.cond, want_sized, size);
    CHECK(memcmp(sized, want_sized, size) == 0);
    CHECK_EQ(libxdc_bitmap_get_hash(xdc), murmur(want_sized, size));
    libxdc_free(xdc);
    list_clear(&blocks);
}

static void check_blocks(book *b)
{
    libxdc_t *xdc = open_book(b);
    list blocks = {0};

    libxdc_register_bb_callback(xdc, add_pair, &blocks);
    CHECK_EQ(decode(xdc), did.lost ? 1 : 0);
    list_sort(&blocks); /* each is there once */
    CHECK(list_same(&did.blocks, &blocks));
    check_map();
    libxdc_reset_trace_cache(xdc);
    CHECK_EQ(decode(xdc), did.lost ? 1 : 0);
    CHECK_EQ(blocks.count, did.blocks.count);
    libxdc_free(xdc);

    xdc = open_book(b); /* the same from trace mode, which needs no edges */
    blocks.count = 0;
    libxdc_register_bb_callback(xdc, add_pair, &blocks);
    libxdc_enable_tracing(xdc);
    CHECK_EQ(decode(xdc), did.lost ? 1 : 0);
    list_sort(&blocks);
    CHECK(list_same(&did.blocks, &blocks));
    memset(want_map, 0, MAP);
    CHECK(memcmp(map, want_map, MAP) == 0);
    libxdc_free(xdc);
    list_clear(&blocks);
}

static void check_ips(libxdc_t *xdc)
{
    list ips = {0};

    libxdc_register_ip_callback(xdc, add_ip, &ips);
    CHECK_EQ(decode(xdc), did.lost ? 1 : 0);
    CHECK(list_same(&did.ips, &ips));
    libxdc_register_ip_callback(xdc, NULL, NULL);
    list_clear(&ips);
}

TEST(executions)
{
    static book b;
    unsigned i;

    for (i = 0; i < 24 && test_.bad < 20; i++) {
        const uint32_t period = i % 3 == 2 ? 200 + dice(2000) : 0;
        libxdc_t *xdc;

        seed = i;
        make_program();
        b.reuses = i % 2 == 1;
        xdc = open_book(&b);
        for (unsigned k = 0; k < 2; k++) {
            execute(1 + dice(STEPS_MAX), i % 4 * (k + i % 2), i % 5 == 4,
                    period);
            check_run(xdc);
            check_blocks(&b);
            check_size(&b, sizes[i % SIZES], i / SIZES % 2);
            if (!period)
                check_ips(xdc);
        }
        libxdc_free(xdc);
    }
}
/* ---- pages that are not there ---- */

/* As kAFL does it: what is missing is provided, and all begins again. */
TEST(page_faults)
{
    static book b;
    unsigned i;

    for (i = 0; i < 12; i++) {
        libxdc_t *xdc;
        unsigned faults = 0;
        decoder_result_t result;
        seed = 100 + i;
        make_program();
        execute(500, i % 3, 0, 0);
        memset(b.absent, 1, sizeof(b.absent));
        b.how = (uint8_t) (i % 3);
        b.reuses = i % 2;
        xdc = open_book(&b);
        if (i % 4 == 3)
            libxdc_enable_tracing(xdc);
        while ((result = decode(xdc)) == decoder_page_fault && faults < 9) {
            const uint64_t page = libxdc_get_page_fault_addr(xdc) - prog.base;
            CHECK(page % PAGE == 0);
            CHECK(page / PAGE < PAGES);
            CHECK(b.absent[page / PAGE % PAGES]);
            b.absent[page / PAGE % PAGES] = 0;
            libxdc_bitmap_reset(xdc);
            faults++;
        }
        CHECK_EQ(result, decoder_success);
        CHECK(faults > 0);
        CHECK(faults <= PAGES);
        libxdc_disable_tracing(xdc);
        libxdc_bitmap_reset(xdc);
        CHECK_EQ(decode(xdc), decoder_success);
        check_map();
        b.asked = 0; /* what is known is not asked for again */
        CHECK_EQ(decode(xdc), decoder_success);
        CHECK_EQ(b.asked, 0);
        memset(b.absent, 1, sizeof(b.absent)); /* and not served: a fault */
        libxdc_reset_trace_cache(xdc);
        CHECK_EQ(decode(xdc), decoder_page_fault);
        CHECK_EQ(decode(xdc), decoder_page_fault);
        libxdc_free(xdc);
    }
}

/* ---- filters ---- */

/* Is an address in one of them, or is there none? */
static int is_in(uint64_t filter[4][2], uint64_t ip)
{
    int used = 0;
    int in = 0;
    for (unsigned f = 0; f < 4; f++) {
        in |= filter[f][0] <= ip && ip < filter[f][1];
        used |= filter[f][0] < filter[f][1];
    }
    return in || !used;
}

/* Blocks that the callback gets with filters. */
static void list_blocks(book *b, uint64_t filter[4][2], list *to)
{
    libxdc_t *xdc = libxdc_init(filter, fetch, b, map, MAP);
    if (!CHECK(xdc != NULL)) return;
    libxdc_register_bb_callback(xdc, add_pair, to);
    CHECK_EQ(decode(xdc), decoder_success);
    libxdc_free(xdc);
}

TEST(filters)
{
    static book b;
    static uint64_t nothing[4][2];
    uint64_t filter[4][2];
    unsigned i;

    for (i = 0; i < 16; i++) {
        list edges = {0};
        list want = {0};
        list kept = {0};
        list all = {0};
        list blocks = {0};
        list in_range = {0};
        libxdc_t *xdc;
        size_t k;
        unsigned f;
        seed = 200 + i;
        make_program();
        execute(800, i % 2, 0, 0);
        memset(filter, 0, sizeof(filter));
        for (f = 0; f < 1 + i % 4; f++) { /* they may overlap */
            filter[f][0] = slot_ip(dice(SLOTS));
            filter[f][1] = filter[f][0] + dice(100 * SLOT);
        }
        if (i == 15) /* everything */
            filter[3][1] = UINT64_MAX;
        for (k = 0; k < did.edges.count; k++) {
            const pair e = did.edges.pairs[k];
            if (e.a == NOWHERE || e.b == NOWHERE || is_in(filter, e.a))
                list_add(&want, e.a, e.b);
        }
        for (k = 0; k < did.cond.count; k++) {
            const pair e = did.cond.pairs[k];
            int in = 0;
            for (f = 0; f < 4; f++)
                in |= filter[f][0] <= e.a && e.a < filter[f][1];
            if (in)
                list_add(&kept, e.a, e.b);
        }
        xdc = libxdc_init(filter, fetch, &b, map, MAP);
        if (!CHECK(xdc != NULL))
            break;
        libxdc_register_edge_callback(xdc, add_pair, &edges);
        libxdc_enable_tracing(xdc);
        CHECK_EQ(decode(xdc), decoder_success);
        CHECK(list_same(&want, &edges));
        libxdc_disable_tracing(xdc);
        CHECK_EQ(decode(xdc), decoder_success);
        map_of(&kept, want_map, MAP);
        CHECK(memcmp(map, want_map, MAP) == 0);
        libxdc_free(xdc);
        list_blocks(&b, nothing, &all);
        list_blocks(&b, filter, &blocks);
        for (k = 0; k < all.count; k++)
            if (is_in(filter, all.pairs[k].a))
                list_add(&in_range, all.pairs[k].a, all.pairs[k].b);
        CHECK(all.count > 0);
        CHECK(list_same(&in_range, &blocks));
        list_clear(&all);
        list_clear(&blocks);
        list_clear(&in_range);
        list_clear(&edges);
        list_clear(&want);
        list_clear(&kept);
    }
}

/* ---- what decode returns ---- */

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define PSBEND "\x02\x23"
#define PGE "\x51\0\0\x40\0" /* 400000 */
#define TIP "\x4d\0\0\x40\0"
#define PGD0 "\x01"

static uint8_t small_code[PAGE];

static void *fetch_small(void *opaque, uint64_t ip, bool *ok)
{
    (void) opaque;
    *ok = ip / PAGE == 0x400;
    return *ok ? small_code : NULL;
}

/* PSB+ and PGE, then `bytes`. */
static decoder_result_t small_decode(const char *code, size_t code_size,
                                     const char *bytes, size_t size)
{
    libxdc_t *xdc = libxdc_init(none, fetch_small, NULL, map, MAP);
    decoder_result_t result;
    decoder_result_t traced;
    uint8_t *trace = malloc(sizeof(PSB PSBEND PGE) - 1 + size);

    if (!xdc || !trace)
        abort();
    memset(small_code, 0x90, PAGE);
    memcpy(small_code, code, code_size);
    memcpy(trace, PSB PSBEND PGE, sizeof(PSB PSBEND PGE) - 1);
    memcpy(trace + sizeof(PSB PSBEND PGE) - 1, bytes, size);
    result = libxdc_decode(xdc, trace, sizeof(PSB PSBEND PGE) - 1 + size);
    libxdc_enable_tracing(xdc);
    traced = libxdc_decode(xdc, trace, sizeof(PSB PSBEND PGE) - 1 + size);
    CHECK_EQ(traced, result);
    libxdc_free(xdc);
    free(trace);
    return result;
}

#define SMALL(code, bytes) \
    small_decode(code, sizeof(code) - 1, bytes, sizeof(bytes) - 1)

/* No MODE.Exec is in these traces: 64-bit mode is assumed. */
TEST(results)
{
    static book b;
    libxdc_t *xdc;

    /* jz +0; ret */
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06" TIP PGD0), decoder_success);
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06" TIP "\x06" TIP PGD0),
             decoder_success);
    CHECK_EQ(SMALL("\x74\x00\xc3", TIP PGD0), decoder_error); /* no bit */
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06\x4d\0\0\x50\0\x06" PGD0),
             decoder_page_fault);
    CHECK_EQ(SMALL("\x06", "\x06"), decoder_error); /* no instruction */
    /* call +0; ret: a compressed return */
    CHECK_EQ(SMALL("\xe8\0\0\0\0\xc3", "\x06" PGD0), decoder_error);
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06\x05"), decoder_unkown_packet);
    /* OVF, FUP 400000 */
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06\x02\xf3\x5d\0\0\x40\0\x06" TIP PGD0),
             decoder_success_pt_overflow);
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06\x02\xf3\x5d\0\0\x40\0" TIP PGD0),
             decoder_error);
    CHECK_EQ(SMALL("\x74\x00\xc3", "\x06\x4d\0"), decoder_success); /* cut */
    CHECK_EQ(SMALL("\xeb\xfe", "\x06" PGD0), decoder_success); /* jmp $ */
    /* TSC, MTC, CYC, CBR and a long TNT packet are not errors */
    CHECK_EQ(SMALL("\x74\xfe", "\x19\1\2\3\4\5\6\7\x59\x07\x13\x02\x03\x11\0"
                   "\x02\xa3\xff\xff\xff\xff\xff\x01" PGD0), decoder_success);

    xdc = open_book(&b);
    seed = 300;
    make_program();
    execute(50, 0, 0, 0);
    CHECK_EQ(libxdc_decode(NULL, did.trace, did.size), decoder_error);
    CHECK_EQ(libxdc_decode(xdc, NULL, 1), decoder_error);
    CHECK_EQ(libxdc_decode(xdc, NULL, 0), decoder_success);
    CHECK_EQ(libxdc_decode(xdc, did.trace + 1, did.size - 1), 0); /* no PSB */
    CHECK_EQ(libxdc_bitmap_get_hash(xdc), EMPTY_HASH);
    CHECK_EQ(decode(xdc), decoder_success);
    check_map();
    CHECK(libxdc_bitmap_get_hash(xdc) != EMPTY_HASH);
    libxdc_bitmap_reset(xdc);
    CHECK_EQ(libxdc_bitmap_get_hash(xdc), EMPTY_HASH);
    CHECK_EQ(libxdc_get_release_version(), LIBXDC_API_VERSION << 8);
    libxdc_free(xdc);
}

/* Runs add up, modulo 256. */
TEST(counters)
{
    static book b;
    libxdc_t *xdc;
    list all = {0};
    unsigned i;

    seed = 400;
    make_program();
    execute(2000, 1, 0, 0);
    xdc = open_book(&b);
    for (i = 0; i < 40; i++) {
        size_t k;
        CHECK_EQ(decode(xdc), decoder_success);
        for (k = 0; k < did.cond.count; k++)
            list_add(&all, did.cond.pairs[k].a, did.cond.pairs[k].b);
    }
    map_of(&all, want_map, MAP);
    CHECK(memcmp(map, want_map, MAP) == 0);
    libxdc_free(xdc);
    list_clear(&all);
}

TEST(bitmaps)
{
    static const size_t bad[] = {0, (size_t) 1 << 32};
    static const size_t odd[] = {3, 61440, 65535, 65537, 4096 * 3, 1000001};
    static book b;
    uint8_t *big = malloc((size_t) 1 << 25);
    uint8_t *want = malloc((size_t) 1 << 25);
    unsigned i;

    if (!big || !want)
        abort();
    seed = 500;
    make_program();
    execute(3000, 1, 0, 0);
    for (i = 0; i <= 25; i += i == 0 ? 1 : 4) {
        libxdc_t *xdc;
        memset(big, 0xee, (size_t) 1 << i);
        xdc = libxdc_init(none, fetch, &b, big, (size_t) 1 << i);
        if (!CHECK(xdc != NULL))
            break;
        CHECK_EQ(decode(xdc), decoder_success); /* it was cleared */
        map_of(&did.cond, want, (size_t) 1 << i);
        CHECK(memcmp(big, want, (size_t) 1 << i) == 0);
        (void) libxdc_bitmap_get_hash(xdc);
        libxdc_free(xdc);
    }
    for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) { /* masked all the same */
        const size_t mask = odd[i] - 1;
        size_t most = 1;
        size_t k;
        libxdc_t *xdc;
        while (most < odd[i]) most *= 2;
        memset(big, 0xee, odd[i] + 1);
        xdc = libxdc_init(none, fetch, &b, big, odd[i]);
        if (!CHECK(xdc != NULL))
            break;
        CHECK_EQ(decode(xdc), decoder_success);
        map_of(&did.cond, want, most);
        for (k = 0; k < most; k++)
            if (k != (k & mask))
                want[k & mask] = (uint8_t) (want[k & mask] + want[k]);
        for (k = 0; k < odd[i]; k++)
            if (k != (k & mask))
                want[k] = 0;
        CHECK(memcmp(big, want, odd[i]) == 0);
        CHECK_EQ(big[odd[i]], 0xee);
        (void) libxdc_bitmap_get_hash(xdc);
        libxdc_free(xdc);
    }
    for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(libxdc_init(none, fetch, &b, big, bad[i]) == NULL);
    CHECK(libxdc_init(NULL, fetch, &b, big, MAP) == NULL);
    CHECK(libxdc_init(none, NULL, &b, big, MAP) == NULL);
    CHECK(libxdc_init(none, fetch, &b, NULL, MAP) == NULL);
    free(big);
    free(want);
}

/* A handle that was never made. */
TEST(no_handle)
{
    libxdc_free(NULL);
    libxdc_register_bb_callback(NULL, NULL, NULL);
    libxdc_register_edge_callback(NULL, NULL, NULL);
    libxdc_register_ip_callback(NULL, NULL, NULL);
    libxdc_enable_tracing(NULL);
    libxdc_disable_tracing(NULL);
    libxdc_reset_trace_cache(NULL);
    libxdc_bitmap_reset(NULL);
    CHECK_EQ(libxdc_get_page_fault_addr(NULL), 0);
    CHECK_EQ(libxdc_bitmap_get_hash(NULL), 0);
    CHECK_EQ(libxdc_decode(NULL, map, 1), decoder_error);
}

/* A handle is made in less than a millisecond of processor time. */
TEST(made_quickly)
{
    static book b;
    double least = 1;
    unsigned i;

    for (i = 0; i < 100; i++) {
        const clock_t start = clock();
        double took;
        libxdc_free(libxdc_init(none, fetch, &b, map, MAP));
        took = (double) (clock() - start) / CLOCKS_PER_SEC;
        least = took < least ? took : least;
    }
    CHECK(least < 0.001);
}

/* ---- code that changes ---- */

TEST(changed_code)
{
    static const uint8_t code[] = {0x74, 0x00, 0xc3}; /* jz +0; ret */
    static const char trace[] = PSB PSBEND PGE "\x06" TIP PGD0;
    libxdc_t *xdc = libxdc_init(none, fetch_small, NULL, map, MAP);
    list edges = {0};

    memcpy(small_code, code, sizeof(code));
    CHECK_EQ(libxdc_decode(xdc, (uint8_t *) (uintptr_t) trace,
                           sizeof(trace) - 1), decoder_success);
    memcpy(small_code + 1, "\x20", 1); /* jz +20 */
    small_code[0x22] = 0xc3;
    libxdc_bitmap_reset(xdc);
    libxdc_reset_trace_cache(xdc);
    CHECK_EQ(libxdc_decode(xdc, (uint8_t *) (uintptr_t) trace,
                           sizeof(trace) - 1), decoder_success);
    list_add(&edges, 0x400000, 0x400022);
    map_of(&edges, want_map, MAP);
    CHECK(memcmp(map, want_map, MAP) == 0);
    libxdc_free(xdc);
    list_clear(&edges);
}

/* ---- hostile callbacks ---- */

static libxdc_t *hostile;
static jmp_buf out;
static int leaves; /* calls until fetch jumps out */

/* One decode, which fetch may end. */
static void survive(void)
{
    if (setjmp(out) == 0)
        CHECK(decode(hostile) <= decoder_unkown_packet);
}

static void meddle(void)
{
    switch (dice(8)) {
    case 0: libxdc_reset_trace_cache(hostile); break;
    case 1: libxdc_bitmap_reset(hostile); break;
    case 2: libxdc_enable_tracing(hostile); break;
    case 3: libxdc_disable_tracing(hostile); break;
    case 4: (void) libxdc_get_page_fault_addr(hostile); break;
    case 5: libxdc_register_edge_callback(hostile, NULL, NULL); break;
    case 6: libxdc_register_bb_callback(hostile, NULL, NULL); break;
    default: (void) libxdc_bitmap_get_hash(hostile); break;
    }
}

static void meddle_pair(void *opaque, MODE_ARGUMENT uint64_t a, uint64_t b)
{
    (void) opaque;
    (void) a;
    (void) b;
    CHECK_MODE(mode);
    if (dice(200) == 0)
        meddle();
}

static void meddle_ip(void *opaque, MODE_ARGUMENT uint64_t ip)
{
    (void) opaque;
    (void) ip;
    CHECK_MODE(mode);
    if (dice(50) == 0)
        libxdc_register_ip_callback(hostile, NULL, NULL);
}

/* Each time something else. */
static void *fetch_anything(void *opaque, uint64_t ip, bool *ok)
{
    static uint8_t page[PAGE];
    book *b = opaque;
    unsigned i;

    if (leaves && --leaves == 0)
        longjmp(out, 1);
    if (dice(3) == 0)
        meddle();
    *ok = true;
    switch (dice(12)) {
    case 0: *ok = false; return NULL;
    case 1: *ok = false; return page;
    case 2: return NULL;
    case 3: return (void *) UINTPTR_MAX;
    case 4:
        for (i = 0; i < PAGE; i++)
            page[i] = (uint8_t) dice(256);
        return page;
    default: return fetch(b, ip, ok);
    }
}

TEST(hostile_callbacks)
{
    static book b;
    unsigned i;

    for (i = 0; i < 40; i++) {
        unsigned k;
        seed = 600 + i;
        make_program();
        execute(400, i % 4, i % 2, i % 3 ? 300 : 0);
        hostile = libxdc_init(none, fetch_anything, &b, map, MAP);
        if (!CHECK(hostile != NULL))
            return;
        for (k = 0; k < 12; k++) {
            unsigned n = i % 4 == 3 ? dice(20) : 0; /* bytes that change */
            libxdc_register_edge_callback(hostile, meddle_pair, NULL);
            libxdc_register_bb_callback(hostile, meddle_pair, NULL);
            libxdc_register_ip_callback(hostile, meddle_ip, NULL);
            while (n-- > 0)
                did.trace[dice(256) * dice(256) % did.size]
                    = (uint8_t) dice(256);
            leaves = k % 3 == 2 ? (int) dice(40) : 0;
            survive();
        }
        libxdc_free(hostile);
    }
}

/* ---- no memory ---- */

#ifdef WRAPPED
static int allocations = -1; /* that succeed and one that does not; -1: all */

static int refuse(void)
{
    if (allocations > 0)
        allocations--;
    return allocations == 0;
}

int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    return refuse() ? 12 : __real_posix_memalign(memory, alignment, size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

/* Blocks may come again then, but all come. */
TEST(no_memory)
{
    static book b;
    int i;

    seed = 700;
    make_program();
    execute(STEPS_MAX, 1, 0, 0);
    for (i = 1; i < 3; i++) {
        allocations = i;
        CHECK(libxdc_init(none, fetch, &b, map, MAP) == NULL);
    }
    for (i = 1; i < 4; i++) {
        list blocks = {0};
        libxdc_t *xdc;
        allocations = -1;
        xdc = open_book(&b);
        libxdc_register_bb_callback(xdc, add_pair, &blocks);
        allocations = i;
        CHECK_EQ(decode(xdc), decoder_success);
        allocations = -1;
        list_unite(&blocks);
        CHECK(list_same(&did.blocks, &blocks));
        check_map();
        libxdc_free(xdc);
        list_clear(&blocks);
    }
}
#endif

/* ---- folders with trace.pt, image.map and expected ---- */

typedef struct folder {
    char path[600];
    uint8_t *trace;
    size_t size;
    char *expected; /* NULL: there is none */
    image code;
    uint8_t page[PAGE];
} folder;

static int open_folder(folder *f, const char *dir, const char *name)
{
    size_t size;

    snprintf(f->path, sizeof f->path, "%s/%s", dir, name);
    image_init(&f->code);
    f->expected = NULL;
    f->trace = (uint8_t *) whole_in(f->path, "trace.pt", &f->size);
    if (!f->trace) return 0;
    f->expected = whole_in(f->path, "expected", &size);
    (void) image_add_map(&f->code, NULL, f->path); /* or there is no code */
    return 1;
}

static void close_folder(folder *f)
{
    free(f->trace);
    free(f->expected);
    image_free(&f->code);
}

/* A number of `expected`, 0 if it has none. */
static uint64_t number(const folder *f, const char *key, int base)
{
    char line[100];
    const char *at;

    snprintf(line, sizeof line, "\n%s=", key);
    at = f->expected ? strstr(f->expected, line) : NULL;
    return at ? strtoull(at + strlen(line), NULL, base) : 0;
}

static void *fetch_folder(void *opaque, uint64_t ip, bool *ok)
{
    folder *f = opaque;
    const uint64_t base = ip & ~(uint64_t) (PAGE - 1);
    size_t i = 0;

    *ok = false;
    while (i < PAGE) {
        const int n = image_read(f->page + i, PAGE - i, &image_everywhere,
                                 base + i, &f->code);
        if (n > 0)
            *ok = true;
        else
            f->page[i] = 0;
        i += n > 0 ? (size_t) n : 1;
    }
    return f->page;
}

/* As above, for a decoder of ipt's own. */
static int read_folder(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    bool ok;
    const uint8_t *page = fetch_folder(context, ip, &ok);

    (void) asid;
    if (!ok) return IPT_NEED_PAGE;
    if (size > PAGE - ip % PAGE) size = (size_t) (PAGE - ip % PAGE);
    memcpy(buffer, page + ip % PAGE, size);
    return (int) size;
}

/* What the decoder below says, without cache and memo. */
static decoder_result_t plain(folder *f, uint64_t *missing)
{
    static ipt_cov_decoder d;
    ipt_segment piece = {f->trace, f->size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    ipt_cov_config cov;
    int status;

    memset(&config, 0, sizeof config);
    memset(&cov, 0, sizeof cov);
    memset(want_map, 0, MAP);
    config.read = read_folder;
    config.context = f;
    config.mode = IPT_MODE_64;
    config.flags = IPT_CONFIG_NO_RETCOMP;
    cov.bitmap = want_map;
    cov.bitmap_size = MAP;
    CHECK_EQ(ipt_cov_init(&d, &config, &cov, &trace, NULL), IPT_OK);
    status = ipt_cov_run(&d);
    *missing = d.at.missing;
    if (status == IPT_NEED_PAGE) return decoder_page_fault;
    if (status != IPT_END)
        return status == IPT_ERR_OPCODE ? decoder_unkown_packet : decoder_error;
    return d.verdict & IPT_COV_OVERFLOW ? decoder_success_pt_overflow
                                        : decoder_success;
}

/* Edges of conditional branches, with how often each was taken. */
static void check_cond(const folder *f, const list *edges)
{
    size_t size;
    char *text = whole_in(f->path, "cond_edges.tsv", &size);
    const char *line = text;
    size_t i = 0;

    while (line && *line) {
        unsigned long long from;
        unsigned long long to;
        unsigned long long n;
        if (sscanf(line, "%llx %llx %llu", &from, &to, &n) == 3) {
            while (i < edges->count && edges->pairs[i].a < from) i++;
            while (i < edges->count && edges->pairs[i].a == from
                   && edges->pairs[i].b < to)
                i++;
            while (n > 0 && i < edges->count && edges->pairs[i].a == from
                   && edges->pairs[i].b == to) {
                n--;
                i++;
            }
            if (!CHECK_EQ(n, 0)) break;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    free(text);
}

static int read_libipt(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                       uint64_t ip, void *context)
{
    folder *f = context;
    const int n = image_read(buffer, size, &image_everywhere, ip, &f->code);

    (void) asid;
    return n > 0 ? n : -pte_nomap;
}

/* Where instructions of libipt begin that do not follow on from the last one.
 * Returns how many instructions there are. */
static uint64_t libipt_starts(folder *f, list *starts)
{
    struct pt_config config;
    struct pt_insn insn;
    struct pt_event event;
    struct pt_insn_decoder *d;
    struct pt_image *code = libipt.pt_image_alloc(NULL);
    uint64_t count = 0;
    uint64_t next = 0;
    int status;

    pt_config_init(&config);
    config.begin = f->trace;
    config.end = f->trace + f->size;
    config.errata.bdm70 = 1;
    d = libipt.pt_insn_alloc_decoder(&config);
    if (!d || libipt.pt_image_set_callback(code, read_libipt, f) != 0
        || libipt.pt_insn_set_image(d, code) != 0)
        abort();
    while ((status = libipt.pt_insn_sync_forward(d)) >= 0)
        while (status >= 0) {
            if (status & pts_event_pending) {
                status = libipt.pt_insn_event(d, &event, sizeof event);
                continue;
            }
            status = libipt.pt_insn_next(d, &insn, sizeof insn);
            if (status < 0) break;
            count++;
            if (insn.ip != next) list_add(starts, insn.ip, 0);
            next = insn.iclass == ptic_other || insn.iclass == ptic_ptwrite
                       ? insn.ip + insn.size
                       : 0;
        }
    libipt.pt_insn_free_decoder(d);
    libipt.pt_image_free(code);
    list_unite(starts);
    return count;
}

/* The counters that the trace's edges make. */
static void count_cond(const folder *f, size_t size)
{
    size_t length;
    char *text = whole_in(f->path, "cond_edges.tsv", &length);
    const char *line = text;

    memset(want_sized, 0, size);
    while (line && *line) {
        unsigned long long from;
        unsigned long long to;
        unsigned long long n;
        uint8_t *counter;
        if (sscanf(line, "%llx %llx %llu", &from, &to, &n) == 3) {
            counter = counter_of(want_sized, size, from, to);
            *counter = (uint8_t) (*counter + n);
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    free(text);
}

/* New blocks, each once, counters and hash: of all sizes, from both modes, with
 * nothing that a decoder of ours says. */
static void check_sizes(folder *f)
{
    list starts = {0};

    CHECK_EQ(libipt_starts(f, &starts), number(f, "instructions", 10));
    for (size_t k = 0; k < 2 * SIZES; k++) {
        const size_t size = sizes[k / 2];
        libxdc_t *xdc = libxdc_init(none, fetch_folder, f, sized, size);
        list blocks = {0};
        if (!CHECK(xdc != NULL)) break;
        libxdc_register_bb_callback(xdc, add_pair, &blocks);
        if (k % 2) libxdc_enable_tracing(xdc);
        (void) libxdc_decode(xdc, f->trace, f->size);
        for (size_t i = 0; i < blocks.count; i++) {
            CHECK(blocks.pairs[i].b >= blocks.pairs[i].a);
            blocks.pairs[i].b = 0;
        }
        list_sort(&blocks); /* each is there once */
        CHECK(list_same(&starts, &blocks));
        libxdc_disable_tracing(xdc);
        libxdc_bitmap_reset(xdc);
        (void) libxdc_decode(xdc, f->trace, f->size);
        CHECK_EQ(blocks.count, starts.count);
        count_cond(f, size);
        CHECK(memcmp(sized, want_sized, size) == 0);
        CHECK_EQ(libxdc_bitmap_get_hash(xdc), murmur(want_sized, size));
        libxdc_free(xdc);
        list_clear(&blocks);
    }
    list_clear(&starts);
}

/* libxdc's own figures of its traces: reference/fast-decoders, 1. */
static void check_libxdc(folder *f, libxdc_t *xdc, const list *edges)
{
    static const struct {
        const char *name;
        decoder_result_t result;
    } theirs[] = {{"foo", decoder_success},
                  {"mruby", decoder_success_pt_overflow},
                  {"qemu", decoder_success_pt_overflow},
                  {"icelake_tip", decoder_success}};
    const char *name = strstr(f->path, "libxdc-");
    size_t pseudo = 0;
    uint64_t branches;
    size_t i;

    for (i = 0; i < edges->count; i++)
        pseudo += edges->pairs[i].a == NOWHERE || edges->pairs[i].b == NOWHERE;
    CHECK_EQ(pseudo, number(f, "packet_tip.pge", 10)
                         + number(f, "packet_tip.pgd", 10));
    branches = number(f, "class_call", 10) + number(f, "class_return", 10)
               + number(f, "class_jump", 10) + number(f, "class_cond_jump", 10);
    CHECK(edges->count - pseudo <= branches); /* one may be lost */
    CHECK(edges->count - pseudo + 1 >= branches);
    for (i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (name && strcmp(name + 7, theirs[i].name) == 0)
            CHECK_EQ(libxdc_decode(xdc, f->trace, f->size), theirs[i].result);
}

static void try_folder(folder *f)
{
    libxdc_t *xdc = libxdc_init(none, fetch_folder, f, map, MAP);
    list edges = {0};
    list blocks = {0};
    uint64_t missing;
    const decoder_result_t want = plain(f, &missing);
    const int is_covered = number(f, "bitmap_murmur3_hi", 16) != 0;

    if (!CHECK(xdc != NULL)) return;
    libxdc_register_bb_callback(xdc, add_pair, &blocks);
    CHECK_EQ(libxdc_decode(xdc, f->trace, f->size), want);
    CHECK(memcmp(map, want_map, MAP) == 0);
    libxdc_register_edge_callback(xdc, add_pair, &edges);
    libxdc_enable_tracing(xdc);
    CHECK_EQ(libxdc_decode(xdc, f->trace, f->size), want);
    CHECK(memcmp(map, want_map, MAP) == 0);
    libxdc_disable_tracing(xdc);
    libxdc_register_bb_callback(xdc, NULL, NULL);
    for (int i = 0; i < 3; i++) { /* the memo learns */
        libxdc_bitmap_reset(xdc);
        CHECK_EQ(libxdc_decode(xdc, f->trace, f->size), want);
        CHECK(memcmp(map, want_map, MAP) == 0);
    }
    if (want == decoder_page_fault)
        CHECK_EQ(libxdc_get_page_fault_addr(xdc),
                 missing & ~(uint64_t) (PAGE - 1));
    if (strstr(f->path, "libxdc-dyn_test"))
        CHECK_EQ(libxdc_get_page_fault_addr(xdc), 0x7ffff7fcf000u);
    if (is_covered) {
        CHECK_EQ(libxdc_bitmap_get_hash(xdc),
                 number(f, "bitmap_murmur3_hi", 16));
        list_sort(&edges);
        check_cond(f, &edges);
        check_sizes(f);
        check_libxdc(f, xdc, &edges);
    }
    libxdc_free(xdc);
    list_clear(&edges);
    list_clear(&blocks);
}

TEST(traces)
{
    static folder f;
    DIR *dir = opendir(traces_dir);
    const struct dirent *e;
    unsigned covered = 0;

    if (!CHECK(dir != NULL)) return;
    while ((e = readdir(dir))) {
        const int before = test_.bad;
        if (e->d_name[0] == '.') continue;
        if (open_folder(&f, traces_dir, e->d_name)) {
            covered += number(&f, "bitmap_murmur3_hi", 16) != 0;
            try_folder(&f);
            if (test_.bad != before) printf("    in %s\n", e->d_name);
        }
        close_folder(&f);
    }
    closedir(dir);
    CHECK(covered > 0);
}

/* ---- next to another libxdc ---- */

#define ROUNDS 7

typedef struct peer {
    libxdc_t *(*init)(uint64_t filter[4][2],
                      void *(*fetch)(void *, uint64_t, bool *), void *opaque,
                      void *bitmap, size_t size);
    decoder_result_t (*decode)(libxdc_t *self, uint8_t *data, size_t len);
    uint64_t (*hash)(libxdc_t *self);
    void (*reset)(libxdc_t *self);
    void (*release)(libxdc_t *self);
} peer;

static const peer ours = {libxdc_init, libxdc_decode, libxdc_bitmap_get_hash,
                          libxdc_bitmap_reset, libxdc_free};
static peer theirs;

static int find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static int open_peer(void)
{
    void *library = dlopen(peer_path, RTLD_NOW | RTLD_LOCAL);

    if (!library) printf("    %s\n", dlerror());
    return library && find(library, "libxdc_init", &theirs.init)
           && find(library, "libxdc_decode", &theirs.decode)
           && find(library, "libxdc_bitmap_get_hash", &theirs.hash)
           && find(library, "libxdc_bitmap_reset", &theirs.reset)
           && find(library, "libxdc_free", &theirs.release);
}

/* Processor time of a decode. */
static double seconds(const peer *p, libxdc_t *xdc, uint8_t *trace, size_t size)
{
    struct timespec from;
    struct timespec to;

    p->reset(xdc);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    (void) p->decode(xdc, trace, size);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (double) (to.tv_sec - from.tv_sec)
           + (double) (to.tv_nsec - from.tv_nsec) / 1e9;
}

/* Both answer alike; and the best of several rounds, taken in turn. */
static void compare(const char *name, uint64_t filter[4][2],
                    void *(*get)(void *, uint64_t, bool *), void *opaque,
                    const uint8_t *trace, size_t size)
{
    uint8_t *copy = malloc(size + 64); /* theirs reads on */
    libxdc_t *a = ours.init(filter, get, opaque, map, MAP);
    libxdc_t *b = theirs.init(filter, get, opaque, want_map, MAP);
    double best[2] = {1e9, 1e9};
    int is_slow; /* with a trace that can be timed */

    if (!CHECK(copy) || !CHECK(a) || !CHECK(b)) return;
    memcpy(copy, trace, size);
    memset(copy + size, 0x55, 64);
    for (int i = 0; i < ROUNDS; i++) {
        const double x = seconds(&ours, a, copy, size);
        const double y = seconds(&theirs, b, copy, size);
        best[0] = x < best[0] ? x : best[0];
        best[1] = y < best[1] ? y : best[1];
        CHECK(memcmp(map, want_map, MAP) == 0);
        CHECK_EQ(ours.hash(a), theirs.hash(b));
    }
    ours.reset(a);
    theirs.reset(b);
    CHECK_EQ(ours.decode(a, copy, size), theirs.decode(b, copy, size));
    is_slow = size >= 4096 && best[1] < 1.5 * best[0];
    printf("libxdc, %s: %.2f of its speed, %s\n", name, best[1] / best[0],
           size < 4096 ? "too short to be judged"
                       : is_slow ? "FALLS SHORT of 1.50" : "at least 1.50");
    CHECK(!is_slow);
    ours.release(a);
    theirs.release(b);
    free(copy);
}

/* The range that the processor filtered by. */
static void folder_filter(const folder *f, uint64_t filter[4][2])
{
    size_t size;
    char *meta = whole_in(f->path, "meta", &size);
    const char *at = meta ? strstr(meta, "IP filter range ") : NULL;
    unsigned long long from = 0x1000;
    unsigned long long to = 0x7ffffffff000;

    if (at) (void) sscanf(at + 16, "%llx-%llx", &from, &to);
    filter[0][0] = from;
    filter[0][1] = to;
    free(meta);
}

static void compare_folders(void)
{
    static const char *const names[] = {"libxdc-foo", "libxdc-mruby",
                                        "libxdc-qemu", "libxdc-icelake_tip"};
    static folder f;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t filter[4][2] = {{0}};
        if (!CHECK(open_folder(&f, traces_dir, names[i]))) continue;
        folder_filter(&f, filter);
        compare(names[i], filter, fetch_folder, &f, f.trace, f.size);
        close_folder(&f);
    }
}

TEST(next_to_peer)
{
    static book b;
    uint64_t filter[4][2] = {{0}};

    if (!CHECK(open_peer())) return;
    seed = 800;
    make_program();
    execute(60000, 0, 0, 4096);
    filter[0][0] = prog.base;
    filter[0][1] = prog.base + PAGES * PAGE;
    compare("a program", filter, fetch, &b, did.trace, did.size);
    if (traces_dir) compare_folders();
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--traces") == 0) traces_dir = argv[i + 1];
        if (strcmp(argv[i], "--peer") == 0) peer_path = argv[i + 1];
    }
    if (traces_dir && api_open(&libipt, "libipt.so.2")) {
        printf("no libipt.so.2 in the system\n0 passed, 1 failed\n");
        return 1;
    }
    RUN(executions);
    RUN(page_faults);
    RUN(filters);
    RUN(results);
    RUN(counters);
    RUN(bitmaps);
    RUN(no_handle);
    RUN(made_quickly);
    RUN(changed_code);
    RUN(hostile_callbacks);
#ifdef WRAPPED
    RUN(no_memory);
#endif
    if (traces_dir) RUN(traces);
    if (peer_path) RUN(next_to_peer);
    return test_report();
}
