/* windows.c: what both libraries say of the recording of examples/, as text: of
 * those of this system, and, compiled for Windows, of the DLLs. What differs
 * there is how files are mapped, and locks; so code comes from sections of
 * files, of which some change, and threads share a cache of sections.
 *
 *     windows examples/recording SCRATCH [TRACE]
 *
 * SCRATCH is a folder to write to; TRACE is of the same program with returns
 * that are not compressed, as libxdc needs it.
 *
 * SPDX-License-Identifier: MIT */
#include "examples/compat/libxdc/libxdc.h"
#include "../whole.h"
#include <intel-pt.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#endif

#define BASE 0x401000u
#define PAGE 4096u
#define MAP 65536u
#define THREADS 8

typedef unsigned long long number; /* %llx is the same everywhere */

static uint8_t *trace;
static size_t trace_size;
static uint8_t *code;
static size_t code_size;

/* FNV-1a, of all bytes of a struct that was zero before. */
static uint64_t add(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *) bytes)[i]) * 0x100000001b3u;
    return hash;
}

static void configure(struct pt_config *c)
{
    pt_config_init(c);
    c->begin = trace;
    c->end = trace + trace_size;
}

static void packets(const struct pt_config *c)
{
    struct pt_packet_decoder *d = pt_pkt_alloc_decoder(c);
    int status = pt_pkt_sync_forward(d);
    while (status >= 0) {
        struct pt_packet p;
        uint64_t at = 0;
        memset(&p, 0, sizeof p);
        (void) pt_pkt_get_offset(d, &at);
        status = pt_pkt_next(d, &p, sizeof p);
        printf("%llx packet %d size %d %llx status %d\n", (number) at,
               (int) p.type, p.size,
               (number) add(0, &p.payload, sizeof p.payload.ip), status);
    }
    pt_pkt_free_decoder(d);
}

static void print_event(const struct pt_event *e)
{
    printf("event %d %d%d time %d %llx lost %u %u %llx\n", (int) e->type,
           e->ip_suppressed, e->status_update, e->has_tsc, (number) e->tsc,
           e->lost_mtc, e->lost_cyc,
           (number) add(0, &e->variant, sizeof e->variant.async_branch));
}

/* All instructions. Returns a hash of them; prints them, too, or not. */
static uint64_t insns(const struct pt_config *c, struct pt_image *image,
                      int print)
{
    struct pt_insn_decoder *d = pt_insn_alloc_decoder(c);
    uint64_t hash = 0;
    int status = pt_insn_set_image(d, image);
    if (status >= 0) status = pt_insn_sync_forward(d);
    while (status >= 0 && !(status & pts_eos)) {
        struct pt_insn i;
        struct pt_event e;
        if (status & pts_event_pending) {
            memset(&e, 0, sizeof e);
            status = pt_insn_event(d, &e, sizeof e);
            if (print) print_event(&e);
            continue;
        }
        memset(&i, 0, sizeof i);
        status = pt_insn_next(d, &i, sizeof i);
        hash = add(add(hash, &i.ip, sizeof i.ip), i.raw, sizeof i.raw);
        hash = add(hash, &i.isid, sizeof i.isid);
        if (print)
            printf("insn %llx mode %d class %d isid %d size %d cut %d %llx "
                   "status %d\n", (number) i.ip, (int) i.mode, (int) i.iclass,
                   i.isid, i.size, i.truncated, (number) hash, status);
    }
    pt_insn_free_decoder(d);
    return add(hash, &status, sizeof status);
}

static void blocks(const struct pt_config *c, struct pt_image *image)
{
    struct pt_block_decoder *d = pt_blk_alloc_decoder(c);
    int status = pt_blk_set_image(d, image);
    if (status >= 0) status = pt_blk_sync_forward(d);
    while (status >= 0 && !(status & pts_eos)) {
        struct pt_block b;
        struct pt_event e;
        uint64_t at = 0;
        if (status & pts_event_pending) {
            memset(&e, 0, sizeof e);
            status = pt_blk_event(d, &e, sizeof e);
            print_event(&e);
            continue;
        }
        memset(&b, 0, sizeof b);
        status = pt_blk_next(d, &b, sizeof b);
        (void) pt_blk_get_offset(d, &at);
        printf("%llx block %llx to %llx count %d class %d isid %d cut %d "
               "status %d\n", (number) at, (number) b.ip, (number) b.end_ip, b.ninsn,
               (int) b.iclass, b.isid, b.truncated, status);
    }
    pt_blk_free_decoder(d);
}

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    if (ip - BASE >= code_size) return -pte_nomap;
    if (size > code_size - (ip - BASE)) size = code_size - (size_t) (ip - BASE);
    memcpy(buffer, code + (ip - BASE), size);
    return (int) size;
}

/* ---- files ---- */

static char path[512];

/* The code in a file of the scratch folder, after so many other bytes. */
static void write_code(size_t before, size_t left_out)
{
    FILE *f = fopen(path, "wb");
    if (!f) exit(2);
    for (size_t i = 0; i < before; i++) putc(0xcc, f);
    if (fwrite(code, 1, code_size - left_out, f) != code_size - left_out)
        exit(2);
    fclose(f);
}

static void files(const struct pt_config *c)
{
    static const size_t before[] = {0, 1, 4096, 65535, 65536, 200001};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        for (size_t left_out = 0; left_out < 2; left_out++) {
            struct pt_image *image = pt_image_alloc("files");
            write_code(before[i], 0);
            printf("file %d %d %d ",
                   pt_image_add_file(image, "not there", 0, 1, NULL, BASE),
                   pt_image_add_file(image, path, before[i], code_size, NULL,
                                     BASE),
                   pt_image_add_file(image, path, 1u << 30, 1, NULL, BASE));
            if (left_out) write_code(before[i], left_out); /* it changes */
            printf("%llx\n", (number) insns(c, image, 0));
            pt_image_free(image);
        }
    }
}

/* ---- threads ---- */

static struct pt_image_section_cache *cache;

static uint64_t shared(unsigned n)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint8_t got[64];
        const int isid = pt_iscache_add_file(cache, path, i % 7, 64 + n % 3,
                                             BASE);
        const int size = pt_iscache_read(cache, got, sizeof got, isid, BASE);
        (void) pt_iscache_set_limit(cache, i % 5 * 4096);
        if (size > 0) hash = add(hash, got, (size_t) size);
    }
    return hash;
}

static uint64_t hashes[THREADS];

#ifdef _WIN32
static DWORD WINAPI begin(void *n)
{
    hashes[(uintptr_t) n] = shared((unsigned) (uintptr_t) n);
    return 0;
}

static void threads(void)
{
    HANDLE all[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        all[i] = CreateThread(NULL, 0, begin, (void *) i, 0, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (!all[i]) exit(2);
        (void) WaitForSingleObject(all[i], INFINITE);
        CloseHandle(all[i]);
    }
}
#else
static void *begin(void *n)
{
    hashes[(uintptr_t) n] = shared((unsigned) (uintptr_t) n);
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, begin, (void *) i) != 0) exit(2);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
}
#endif

/* ---- libxdc ---- */

static uint8_t map[MAP];

static void *fetch(void *opaque, uint64_t ip, bool *ok)
{
    const uint64_t page = (ip - BASE) / PAGE * PAGE;
    (void) opaque;
    *ok = page < code_size;
    return *ok ? code + page : NULL;
}

static void edge(void *opaque,
#if LIBXDC_API_VERSION == 2
                 disassembler_mode_t mode,
#endif
                 uint64_t from, uint64_t to)
{
    uint64_t *hash = opaque;
    *hash = add(add(*hash, &from, sizeof from), &to, sizeof to);
#if LIBXDC_API_VERSION == 2
    *hash = add(*hash, &mode, sizeof mode);
#endif
}

static void bitmap(void)
{
    static uint64_t none[4][2];
    uint64_t hash = 0;
    libxdc_t *d = libxdc_init(none, fetch, NULL, map, sizeof map);
    if (!d) exit(2);
    printf("xdc %x decode %d ", libxdc_get_release_version(),
           (int) libxdc_decode(d, trace, trace_size));
    printf("hash %llx ", (number) libxdc_bitmap_get_hash(d));
    libxdc_register_edge_callback(d, edge, &hash);
    libxdc_enable_tracing(d);
    printf("decode %d ", (int) libxdc_decode(d, trace, trace_size));
    printf("edges %llx fault %llx\n", (number) hash,
           (number) libxdc_get_page_fault_addr(d));
    libxdc_free(d);
}

int main(int argc, char **argv)
{
    struct pt_config c;
    struct pt_image *image = pt_image_alloc(NULL);
    struct pt_image *asked = pt_image_alloc(NULL);
    int isid;
    if (argc < 3) return 2;
    snprintf(path, sizeof path, "%s/trace.pt", argv[1]);
    trace = (uint8_t *) whole_file(path, &trace_size);
    snprintf(path, sizeof path, "%s/pages.bin", argv[1]);
    code = (uint8_t *) whole_file(path, &code_size);
    if (!trace || !code) return 2;
    cache = pt_iscache_alloc("cache");
    isid = pt_iscache_add_file(cache, path, 0, code_size, BASE);
    configure(&c);
    packets(&c);
    printf("section %d %d\n", isid,
           pt_image_add_cached(image, cache, isid, NULL));
    printf("insns %llx\n", (number) insns(&c, image, 1));
    blocks(&c, image);
    pt_image_set_callback(asked, read_code, NULL);
    blocks(&c, asked);
    snprintf(path, sizeof path, "%s/code", argv[2]);
    files(&c);
    write_code(0, 0);
    threads();
    for (int i = 0; i < THREADS; i++) printf("%llx\n", (number) hashes[i]);
    pt_image_free(image);
    pt_image_free(asked);
    pt_iscache_free(cache);
    bitmap();
    if (argc < 4) return 0;
    trace = (uint8_t *) whole_file(argv[3], &trace_size);
    if (!trace) return 2;
    bitmap();
    return 0;
}
