/* compat.c: libipt.so.2 as it is built here, next to the system's, in one
 * process: on the recording of examples/, on folders of hardware traces, on a
 * decoder suite, and on damaged copies of the first.
 *
 *     LIBIPT=build/compat/libipt.so.2 compat [--traces DIR] [--suite DIR]
 *                                            [--mutants COUNT] [--seed N]
 *
 * With --print theirs or ours it prints what that one says instead, of the
 * trace that --only names, as a failure does, or of each. */
#define _DEFAULT_SOURCE
#define IPT_IMPLEMENTATION
#include "lockstep.h"
#include "calls.h"
#include "print.h"
#include "../whole.h"
#include <dirent.h>
#include <unistd.h>

#define STEPS 200000ul /* of a trace by one layer */

/* ---- code ---- */

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                     uint64_t ip, void *context)
{
    const int got = image_read(buffer, size, &image_everywhere, ip, context);
    (void) asid;
    return got > 0 ? got : -pte_nomap;
}

/* Where the trace has packets, or bits, that came after 2.0.5, or a FUP that
 * binds to a MODE.Exec. */
static uint64_t first_new(const subject *s)
{
    walker w;
    uint64_t mode = UINT64_MAX; /* one that waits, outside of a PSB+ */
    int in = 0;
    walk(&w, s);
    while (walk_on(&w)) {
        switch (w.p.type) {
        case IPT_PKT_PSB: in = 1; mode = UINT64_MAX; break;
        case IPT_PKT_PSBEND: in = 0; break;
        case IPT_PKT_TIP:
        case IPT_PKT_TIP_PGE:
        case IPT_PKT_TIP_PGD: mode = UINT64_MAX; break;
        case IPT_PKT_FUP:
            if (mode != UINT64_MAX) return mode;
            break;
        case IPT_PKT_CFE:
            if (is_version(1) && w.p.u.cfe.type >= IPT_CFE_SWINTR)
                return w.p.offset;
            if (is_version(0)) return w.p.offset;
            break;
        case IPT_PKT_EVD:
            if (is_version(0)) return w.p.offset;
            break;
        case IPT_PKT_TRIG:
            if (!is_version(2)) return w.p.offset;
            break;
        case IPT_PKT_BBP:
        case IPT_PKT_BEP: return w.p.offset;
        case IPT_PKT_MODE_EXEC:
            if (!is_version(0)) break;
            if (w.p.u.exec.iflag) return w.p.offset;
            if (!in) mode = w.p.offset;
            break;
        default: break;
        }
    }
    return UINT64_MAX;
}

static void layer(subject *s, int which, image *code)
{
    s->over = 0;
    if (printed >= 0) print_flow(s, printed, which, STEPS);
    else follow(s, which, code, STEPS);
}

/* All layers, with an image by a callback, and with one of files. */
static void compare(subject *s, image *code, struct pt_image *const by_file[2],
                    int flows)
{
    if (printed >= 0) {
        if (print_only && strcmp(print_only, s->name) != 0) return;
        print_packets(s, sides[printed]);
#if LIBIPT_VERSION >= 0x201
        print_events(s, sides[printed]);
#endif
    } else {
        s->new_at = first_new(s);
        s->over = 0;
        packets(s);
#if LIBIPT_VERSION >= 0x201
        s->over = 0;
        follow_events(s);
#endif
    }
    if (!flows) return;
    layer(s, QUERY, NULL);
    for (int how = 0; how < 2; how++) {
        for (int i = 0; i < 2; i++) {
            s->image[i] = by_file[i];
            if (how == 0) {
                s->image[i] = sides[i]->pt_image_alloc(NULL);
                CHECK_EQ(sides[i]->pt_image_set_callback(s->image[i],
                                                         read_code, code), 0);
            }
        }
        layer(s, INSN, code);
        s->config.flags.variant.block.end_on_call = how == 0;
        s->config.flags.variant.block.end_on_jump = how == 0;
        layer(s, BLOCK, code);
        memset(&s->config.flags, 0, sizeof s->config.flags);
        for (int i = 0; i < 2 && how == 0; i++)
            sides[i]->pt_image_free(s->image[i]);
    }
}

static void set_config(struct pt_config *c, uint8_t *bytes, size_t size)
{
    pt_config_init(c);
    c->begin = bytes;
    c->end = bytes + size;
}

static void set_cpu(struct pt_config *c, const char *text)
{
    unsigned family;
    unsigned model;
    if (sscanf(text, "%u/%u", &family, &model) != 2) return;
    c->cpu.vendor = pcv_intel;
    c->cpu.family = (uint16_t) family;
    c->cpu.model = (uint8_t) model;
    (void) theirs.pt_cpu_errata(&c->errata, &c->cpu);
}

/* ---- a folder with trace.pt and image.map ---- */

typedef struct sections {
    struct pt_image *image[2];
    struct pt_image_section_cache *cache[2];
} sections;

/* What image.map lists, as sections of files. */
static void add_map(const char *folder, sections *all)
{
    char path[700];
    char line[700];
    char file[300];
    unsigned long long base;
    unsigned long long size;
    unsigned long long from;
    FILE *f;
    snprintf(path, sizeof path, "%s/image.map", folder);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        int id[2];
        if (sscanf(line, "%llx %llx %299s %llx", &base, &size, file, &from) != 4
            || strcmp(file, "-") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, file);
        for (int i = 0; i < 2; i++) {
            id[i] = sides[i]->pt_iscache_add_file(all->cache[i], path, from,
                                                  size, base);
            CHECK_EQ(sides[i]->pt_image_add_cached(all->image[i],
                                                   all->cache[i], id[i], NULL),
                     0);
        }
        CHECK_EQ(id[1], id[0]);
    }
    if (f) fclose(f);
}

static void sections_begin(sections *all)
{
    for (int i = 0; i < 2; i++) {
        all->image[i] = sides[i]->pt_image_alloc("image");
        all->cache[i] = sides[i]->pt_iscache_alloc("cache");
    }
}

static void sections_end(sections *all)
{
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_image_free(all->image[i]);
        sides[i]->pt_iscache_free(all->cache[i]);
    }
}

/* A trace and its code, by a callback and in sections. */
typedef struct recorded {
    uint8_t *bytes; /* NULL: there is none */
    size_t size;
    sections all;
    image code;
} recorded;

static int recorded_open(recorded *r, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/trace.pt", name);
    r->bytes = (uint8_t *) whole_file(path, &r->size);
    if (!r->bytes) return 0;
    image_init(&r->code);
    (void) image_add_map(&r->code, NULL, name);
    sections_begin(&r->all);
    add_map(name, &r->all);
    return 1;
}

static void recorded_close(recorded *r)
{
    sections_end(&r->all);
    image_free(&r->code);
    free(r->bytes);
}

/* Compare on a trace with the code of a recording. */
static void compare_recorded(recorded *r, uint8_t *bytes, size_t size,
                             const char *name)
{
    static subject s;
    memset(&s, 0, sizeof s);
    snprintf(s.name, sizeof s.name, "%s", name);
    set_config(&s.config, bytes, size);
    s.config.errata.bdm70 = 1;
    compare(&s, &r->code, r->all.image, 1);
}

static void folder(const char *name)
{
    recorded r;
    if (!recorded_open(&r, name)) return;
    compare_recorded(&r, r.bytes, r.size, name);
    recorded_close(&r);
}

TEST(recording)
{
    folder("examples/recording");
    for (int i = 0; i < LAYERS; i++)
        CHECK(compared[i] > 500 || (i == EVENT && is_version(0)));
    for (int i = 0; i < D_COUNT; i++)
        CHECK(seen[i] == 0 || i == D_AHEAD || i == D_NEW || i == D_ERRATA
              || i == D_CALLS
              || (is_version(1) && (i == D_TIME || i == D_BACKWARD)));
}

/* ---- images, searches ---- */

/* A call of both, with objects of a side: i. */
#define EACH(call)                                                            \
    do {                                                                      \
        long long said[2];                                                    \
        for (int i = 0; i < 2; i++) {                                         \
            const api *by = sides[i];                                         \
            said[i] = (long long) (call);                                     \
        }                                                                     \
        CHECK_EQ(said[1], said[0]);                                           \
    } while (0)

/* A hash of what executed, as an image has it, and of the error at the end. */
static uint64_t trail(const api *by, const struct pt_config *config,
                      struct pt_image *of)
{
    struct pt_insn_decoder *d = by->pt_insn_alloc_decoder(config);
    struct pt_insn insn;
    struct pt_event e;
    uint64_t hash = 0;
    int status = by->pt_insn_set_image(d, of);
    CHECK(by->pt_insn_get_image(d) == of);
    if (CHECK_EQ(status, 0)) status = by->pt_insn_sync_forward(d);
    while (status >= 0) {
        if (status & pts_event_pending) {
            status = by->pt_insn_event(d, &e, sizeof e);
            continue;
        }
        status = by->pt_insn_next(d, &insn, sizeof insn);
        if (status < 0) break;
        hash = (hash ^ insn.ip) * 0x100000001b3u;
        hash = (hash ^ insn.raw[insn.size - 1]) * 0x100000001b3u;
        hash = (hash ^ (unsigned) insn.isid) * 0x100000001b3u;
    }
    by->pt_insn_free_decoder(d);
    return hash + (uint64_t) (unsigned) -status;
}

#if LIBIPT_VERSION >= 0x201
/* The event decoder with wrong arguments, and out of order. */
TEST(event_layer)
{
    static uint8_t none[1];
    uint64_t at[2] = {0, 0};
    struct pt_event_decoder *d[2];
    struct pt_event e;
    struct pt_config c;
    SAME(by->pt_evt_alloc_decoder(NULL) == NULL);
    SAME(by->pt_evt_sync_forward(NULL));
    SAME(by->pt_evt_sync_backward(NULL));
    SAME(by->pt_evt_sync_set(NULL, 0));
    SAME(by->pt_evt_get_offset(NULL, &at[0]));
    SAME(by->pt_evt_get_sync_offset(NULL, &at[0]));
    SAME(by->pt_evt_get_config(NULL) == NULL);
    SAME(by->pt_evt_next(NULL, &e, sizeof e));
    for (int full = 0; full < 2; full++) {
        set_config(&c, full ? short_trace : none,
                   full ? sizeof short_trace : sizeof none);
        for (int i = 0; i < 2; i++) {
            d[i] = sides[i]->pt_evt_alloc_decoder(&c);
            CHECK(sides[i]->pt_evt_get_config(d[i])->begin == c.begin);
        }
        EACH(by->pt_evt_get_offset(d[i], &at[i]));
        EACH(by->pt_evt_get_sync_offset(d[i], &at[i]));
        EACH(by->pt_evt_next(d[i], &e, sizeof e));
        EACH(by->pt_evt_get_offset(d[i], NULL));
        EACH(by->pt_evt_get_sync_offset(d[i], NULL));
        EACH(by->pt_evt_next(d[i], NULL, sizeof e));
        for (uint64_t to = 0; to < sizeof short_trace + 2; to++) {
            EACH(by->pt_evt_sync_set(d[i], to));
            if (ours.pt_evt_sync_set(d[1], to) < 0) continue;
            EACH(by->pt_evt_get_sync_offset(d[i], &at[i]));
            CHECK(is_version(1) || at[1] == at[0]);
        }
        at[0] = at[1] = 0;
        for (int i = 0; i < 2; i++) {
            const api *by = sides[i];
            by->pt_evt_free_decoder(d[i]);
            by->pt_evt_free_decoder(NULL);
            d[i] = by->pt_evt_alloc_decoder(&c);
        }
        EACH(by->pt_evt_sync_backward(d[i]));
        if (full) EACH(by->pt_evt_get_sync_offset(d[i], &at[i]));
        CHECK_EQ(at[1], at[0]);
        for (int i = 0; i < 2; i++) sides[i]->pt_evt_free_decoder(d[i]);
    }
#if LIBIPT_VERSION >= 0x202
    CHECK_EQ(ours.pt_insn_resync(NULL), -pte_invalid); /* 2.2: -pte_internal */
    CHECK_EQ(ours.pt_blk_resync(NULL), -pte_invalid);
#endif
}
#endif

#define RECORDED "examples/recording/"
#define TRAIL(image) EACH(trail(by, &c, image))

TEST(images)
{
    struct pt_config c;
    struct pt_image *a[2];
    struct pt_image *b[2];
    struct pt_image_section_cache *cache[2];
    struct pt_asid asid;
    uint8_t got[2][64];
    size_t size;
    uint8_t *bytes = (uint8_t *) whole_file(RECORDED "trace.pt", &size);
    uint64_t whole;
    if (!CHECK(bytes != NULL)) return;
    set_config(&c, bytes, size);
    pt_asid_init(&asid);
    asid.cr3 = 0x1000;
    for (int i = 0; i < 2; i++) {
        a[i] = sides[i]->pt_image_alloc("a");
        b[i] = sides[i]->pt_image_alloc(NULL);
        cache[i] = sides[i]->pt_iscache_alloc("c");
    }
    EACH(strcmp(by->pt_image_name(a[i]), "a"));
    EACH(by->pt_image_name(b[i]) == NULL);
    EACH(strcmp(by->pt_iscache_name(cache[i]), "c"));
    TRAIL(a[i]); /* empty */
    EACH(by->pt_image_add_file(a[i], "not there", 0, 1, NULL, 0));
    EACH(by->pt_image_add_file(a[i], RECORDED "pages.bin", 0, 4096, NULL,
                               0x401000));
    TRAIL(a[i]);
    whole = trail(&ours, &c, a[1]);
    EACH(by->pt_image_copy(b[i], a[i]));
    TRAIL(b[i]);
    CHECK_EQ(trail(&ours, &c, b[1]), whole);
    /* Over the middle of it, so that it is split; then a hole. */
    EACH(by->pt_image_add_file(a[i], RECORDED "pages.bin", 0x200, 0x100, NULL,
                               0x401200));
    TRAIL(a[i]);
    EACH(by->pt_image_add_file(a[i], RECORDED "program", 0x1080, 0x100, NULL,
                               0x401080)); /* the same code */
    TRAIL(a[i]);
    CHECK_EQ(trail(&ours, &c, a[1]), whole);
    EACH(by->pt_image_remove_by_filename(a[i], RECORDED "program", NULL));
    TRAIL(a[i]);
    CHECK(trail(&ours, &c, a[1]) != whole);
    EACH(by->pt_image_copy(a[i], b[i]));
    TRAIL(a[i]);
    CHECK_EQ(trail(&ours, &c, a[1]), whole);
    /* Of another address space. */
    EACH(by->pt_image_add_file(a[i], RECORDED "program", 0, 0x1000, &asid,
                               0x500000));
    EACH(by->pt_image_remove_by_asid(a[i], &asid));
    EACH(by->pt_image_remove_by_asid(a[i], &asid));
    TRAIL(a[i]);
    EACH(by->pt_image_remove_by_filename(b[i], RECORDED "pages.bin", NULL));
    TRAIL(b[i]);
    /* Sections of a cache. */
    EACH(by->pt_iscache_add_file(cache[i], "not there", 0, 1, 0));
    for (int n = 0; n < 2; n++) {
        EACH(by->pt_iscache_add_file(cache[i], RECORDED "pages.bin", 0, 4096,
                                     0x401000));
        EACH(by->pt_iscache_add_file(cache[i], RECORDED "program", 0x10, 0x90,
                                     0x7000));
        EACH(by->pt_iscache_set_limit(cache[i], 64));
    }
    for (int isid = -1; isid < 4; isid++)
        for (uint64_t at = 0x6ff0; at < 0x70a0; at += 8) {
            memset(got, 0, sizeof got);
            EACH(by->pt_iscache_read(cache[i], got[i], sizeof got[i], isid,
                                     at));
            CHECK(memcmp(got[0], got[1], sizeof got[0]) == 0);
        }
    EACH(by->pt_image_add_cached(b[i], cache[i], 9, NULL));
    EACH(by->pt_image_add_cached(b[i], cache[i], 1, NULL));
    TRAIL(b[i]);
    for (int i = 0; i < 2; i++) sides[i]->pt_iscache_free(cache[i]);
    TRAIL(b[i]);
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_image_free(a[i]);
        sides[i]->pt_image_free(b[i]);
    }
    free(bytes);
}

/* A copy maps what its image does, where sections split another, too. */
TEST(copies)
{
    struct pt_config c;
    size_t size;
    uint8_t *bytes = (uint8_t *) whole_file(RECORDED "trace.pt", &size);
    if (!CHECK(bytes != NULL)) return;
    set_config(&c, bytes, size);
    for (int parts = 0; parts < 6; parts++) {
        uint64_t whole[2];
        uint64_t copied[2];
        for (int i = 0; i < 2; i++) {
            const api *by = sides[i];
            struct pt_image *a = by->pt_image_alloc(NULL);
            struct pt_image *b = by->pt_image_alloc(NULL);
            struct pt_image_section_cache *cache = by->pt_iscache_alloc(NULL);
            CHECK_EQ(by->pt_image_add_file(a, RECORDED "pages.bin", 0, 4096,
                                           NULL, 0x401000), 0);
            for (uint64_t n = 0; n < (uint64_t) parts; n++) {
                const int isid =
                    by->pt_iscache_add_file(cache, RECORDED "pages.bin",
                                            0x100 + 0x300 * n, 0x80,
                                            0x401100 + 0x300 * n);
                CHECK_EQ(by->pt_image_add_cached(a, cache, isid, NULL), 0);
            }
            whole[i] = trail(by, &c, a);
            CHECK_EQ(by->pt_image_copy(b, a), 0);
            copied[i] = trail(by, &c, b);
            by->pt_image_free(a);
            by->pt_image_free(b);
            by->pt_iscache_free(cache);
        }
        CHECK_EQ(whole[1], whole[0]);
        CHECK_EQ(copied[1], whole[1]);
        if (copied[0] != whole[0]) seen[D_IMAGE]++;
    }
    free(bytes);
}

/* Blocks end where a section does, be it within an instruction. */
TEST(split_sections)
{
    for (uint64_t size = 0x20; size < 0x30; size++) {
        recorded r;
        if (!CHECK(recorded_open(&r, "examples/recording"))) return;
        for (uint64_t at = size; at + size <= 4096; at += 2 * size)
            for (int i = 0; i < 2; i++) {
                const int isid = sides[i]->pt_iscache_add_file(
                    r.all.cache[i], RECORDED "pages.bin", at, size,
                    0x401000 + at);
                CHECK_EQ(sides[i]->pt_image_add_cached(
                             r.all.image[i], r.all.cache[i], isid, NULL), 0);
            }
        compare_recorded(&r, r.bytes, r.size, "split sections");
        recorded_close(&r);
    }
}

static void search(int status[2])
{
    if ((status[0] == 0 && status[1] > 0)
        || (is_version(1) && status[0] == pts_ip_suppressed
            && status[1] == (pts_ip_suppressed | pts_event_pending)))
        seen[D_BACKWARD]++;
    else CHECK_EQ(status[1], status[0]);
}

/* From PSB to PSB backward, and to each offset at which one may be. */
TEST(searches)
{
    struct pt_config c;
    struct pt_query_decoder *q[2];
    struct pt_insn_decoder *n[2];
    struct pt_block_decoder *k[2];
    uint64_t ip[2] = {0, 0};
    uint64_t at[2] = {0, 0};
    size_t size;
    uint8_t *bytes = (uint8_t *) whole_file(RECORDED "trace.pt", &size);
    if (!CHECK(bytes != NULL)) return;
    set_config(&c, bytes, size);
    c.errata.bdm70 = 1;
    for (int i = 0; i < 2; i++) {
        q[i] = sides[i]->pt_qry_alloc_decoder(&c);
        n[i] = sides[i]->pt_insn_alloc_decoder(&c);
        k[i] = sides[i]->pt_blk_alloc_decoder(&c);
    }
    for (int turn = 0; turn < 20; turn++) {
        int status[3][2];
        for (int i = 0; i < 2; i++) {
            status[0][i] = sides[i]->pt_qry_sync_backward(q[i], &ip[i]);
            status[1][i] = sides[i]->pt_insn_sync_backward(n[i]);
            status[2][i] = sides[i]->pt_blk_sync_backward(k[i]);
        }
        for (int i = 0; i < 3; i++) search(status[i]);
        CHECK_EQ(ip[1], ip[0]);
        EACH(by->pt_qry_get_sync_offset(q[i], &at[i]));
        CHECK_EQ(at[1], at[0]);
        EACH(by->pt_insn_get_sync_offset(n[i], &at[i]));
        CHECK_EQ(at[1], at[0]);
        EACH(by->pt_blk_get_sync_offset(k[i], &at[i]));
        CHECK_EQ(at[1], at[0]);
    }
    for (uint64_t to = 0; to < size + 2; to++) {
        int to_offset[2];
        EACH(by->pt_qry_sync_set(q[i], &ip[i], to));
        CHECK_EQ(ip[1], ip[0]);
        EACH(by->pt_insn_sync_set(n[i], to));
        for (int i = 0; i < 2; i++)
            to_offset[i] = sides[i]->pt_blk_sync_set(k[i], to);
        search(to_offset);
    }
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_qry_free_decoder(q[i]);
        sides[i]->pt_insn_free_decoder(n[i]);
        sides[i]->pt_blk_free_decoder(k[i]);
    }
    free(bytes);
}

#if LIBIPT_VERSION >= 0x202
/* Over all errors of a trace whose code has holes: where flow is taken up. */
typedef struct resumer {
    const api *by;
    struct pt_insn_decoder *n;
    struct pt_block_decoder *b; /* NULL: instructions are given */
    int status;
    uint64_t first, ip;  /* of what was given, and how it ended */
    enum pt_insn_class kind;
    unsigned long given; /* instructions, those with an error too */
    unsigned long errors;
    unsigned long events; /* a hash of their types */
} resumer;

static void resume_at(resumer *r)
{
    r->status = r->b ? r->by->pt_blk_resync(r->b)
                     : r->by->pt_insn_resync(r->n);
    r->errors++;
}

/* The next instruction or block, or an error; events are taken before. */
static void resume_next(resumer *r)
{
    struct pt_event e;
    struct pt_insn insn;
    struct pt_block block;
    r->kind = ptic_error;
    while (r->status >= 0 && r->status & pts_event_pending) {
        r->status = r->b ? r->by->pt_blk_event(r->b, &e, sizeof e)
                         : r->by->pt_insn_event(r->n, &e, sizeof e);
        r->events = r->events * 31 + (unsigned) e.type;
    }
    if (r->status < 0 || r->status & pts_eos) return;
    if (r->b) {
        r->status = r->by->pt_blk_next(r->b, &block, sizeof block);
        if (block.ninsn == 0) return;
        r->given += block.ninsn;
        r->first = block.ip;
        r->ip = block.end_ip;
        r->kind = block.iclass;
    } else {
        r->status = r->by->pt_insn_next(r->n, &insn, sizeof insn);
        if (insn.iclass == ptic_error) return;
        r->given++;
        r->first = r->ip = insn.ip;
        r->kind = insn.iclass;
    }
}

/* Does an instruction that ends there call? */
static int is_after_call(image *code, uint64_t ip)
{
    static const ipt_asid anywhere = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    for (uint8_t size = 2; size < 8; size++) {
        uint8_t raw[8];
        ipt_code c;
        if (image_read(raw, size, &anywhere, ip - size, code) == size
            && ipt_classify(&c, raw, size, IPT_MODE_64, NULL) >= 0
            && c.size == size
            && (c.kind == IPT_INSN_CALL || c.kind == IPT_INSN_CALL_INDIRECT))
            return 1;
    }
    return 0;
}

/* Both return to calls of before an error. Where there is none, ours gives the
 * return first and then the error. A return with a TIP takes a call off in ours
 * only: where a later one goes elsewhere for that, the comparison ends. */
static unsigned long resync_both(const struct pt_config *c,
                                 struct pt_image *with[2], image *code,
                                 int blocks)
{
    resumer r[2];
    enum pt_insn_class last = ptic_error;
    int astray = 0;
    memset(r, 0, sizeof r);
    for (int i = 0; i < 2; i++) {
        const api *by = r[i].by = sides[i];
        r[i].n = by->pt_insn_alloc_decoder(c);
        CHECK_EQ(by->pt_insn_set_image(r[i].n, with[i]), 0);
        if (blocks) r[i].b = by->pt_blk_alloc_decoder(c);
        if (blocks) CHECK_EQ(by->pt_blk_set_image(r[i].b, with[i]), 0);
        r[i].status = blocks ? by->pt_blk_sync_forward(r[i].b)
                             : by->pt_insn_sync_forward(r[i].n);
    }
    while (!test_.bad && r[1].errors < 5000) {
        for (int i = 0; i < 2; i++) resume_next(&r[i]);
        if (last == ptic_return && r[1].first != r[0].first) {
            CHECK(is_after_call(code, r[0].first)
                  && is_after_call(code, r[1].first));
            seen[D_RETURN]++;
            astray = 1;
            break;
        }
        while (r[1].given != r[0].given) { /* its block was shorter */
            resumer *less = &r[r[1].given < r[0].given];
            if (less->status < 0 || less->status & pts_eos) break;
            resume_next(less);
        }
        if (r[0].status == -pte_bad_insn && r[1].status >= 0)
            resume_next(&r[1]); /* with what is before it */
        last = r[0].kind;
        CHECK_EQ(r[1].given, r[0].given);
        CHECK_EQ(r[1].ip, r[0].ip);
        CHECK_EQ(r[1].events, r[0].events);
        if (r[0].status == -pte_retstack_empty && r[1].status >= 0
            && CHECK_EQ(r[1].kind, ptic_return)) {
            resume_next(&r[1]);
            seen[D_RETURN]++;
        }
        CHECK_EQ(r[1].status, r[0].status);
        if (r[1].status >= 0 && r[1].status & pts_eos) break;
        if (r[1].status >= 0) continue;
        for (int i = 0; i < 2; i++) resume_at(&r[i]);
        CHECK_EQ(r[1].status, r[0].status);
        if (r[1].status == -pte_eos) break;
    }
    for (int i = 0; i < 2 && !astray; i++) resume_at(&r[i]); /* at the end */
    if (!astray) CHECK_EQ(r[1].status, r[0].status);
    for (int i = 0; i < 2; i++) {
        r[i].by->pt_insn_free_decoder(r[i].n);
        r[i].by->pt_blk_free_decoder(r[i].b);
    }
    return r[1].given;
}

TEST(resyncs)
{
    recorded r;
    unsigned long given = 0;
    if (!CHECK(recorded_open(&r, "examples/recording"))) return;
    for (uint64_t hole = 0x20; hole < 0x200; hole += 0x35) {
        struct pt_image *with[2];
        struct pt_config c;
        set_config(&c, r.bytes, r.size);
        c.errata.bdm70 = 1;
        for (int i = 0; i < 2; i++) {
            with[i] = sides[i]->pt_image_alloc(NULL);
            CHECK_EQ(sides[i]->pt_image_add_file(with[i], RECORDED "pages.bin",
                                                 0, hole, NULL, 0x401000), 0);
            CHECK_EQ(sides[i]->pt_image_add_file(
                         with[i], RECORDED "pages.bin", hole + 8, 4096, NULL,
                         0x401000 + hole + 8), 0);
        }
        for (int blocks = 0; blocks < 2; blocks++)
            given += resync_both(&c, with, &r.code, blocks);
        for (int i = 0; i < 2; i++) sides[i]->pt_image_free(with[i]);
    }
    CHECK(given > 50000);
    recorded_close(&r);
}
#endif

/* ---- all fields, where both do the same ---- */

/* 1000: nop; call 1010; ret. 1010: mov eax, eax; jz 1010; nop; nop; ret */
static const uint8_t exact_code[64] = {
    0x90, 0xe8, 0x0a, 0, 0, 0, 0xc3, [16] = 0x89, 0xc0, 0x74, 0xfc, 0x90, 0x90,
    0xc3};

static int exact_read(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                      uint64_t ip, void *context)
{
    const uint64_t at = ip - 0x1000;
    (void) asid;
    (void) context;
    if (at >= sizeof exact_code) return -pte_nomap;
    if (size > sizeof exact_code - at) size = sizeof exact_code - (size_t) at;
    memcpy(buffer, exact_code + at, size);
    return (int) size;
}

/* All of it or nothing, as debuggers read. */
static int whole_read(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                      uint64_t ip, void *context)
{
    if (ip - 0x1000 > sizeof exact_code - size) return -pte_nomap;
    return exact_read(buffer, size, asid, ip, context);
}

static uint8_t exact_trace[] = {
    PSB_, 0x19, 0x10, 0x32, 0x54, 0, 0, 0, 0, /* TSC */
    0x02, 0x73, 0x40, 0, 0, 0x10, 0,          /* TMA */
    0x02, 0x03, 0x20, 0,                      /* CBR */
    0x99, 0x01, 0x02, 0x43, 0x41, 0x06, 0, 0, 0, 0, /* PIP, non-root */
    0x02, 0xc8, 0x45, 0x23, 0x01, 0, 0,       /* VMCS */
    0x7d, 0, 0x10, 0, 0, 0, 0, 0x02, 0x23,    /* FUP 1000, PSBEND */
    0x13, 0x59, 0x01, 0x23, 0x0e,             /* CYC MTC CYC, TNT: 1 1 */
    0x59, 0x09, 0x04,                         /* MTC, lost ones, TNT: 0 */
    0x3d, 0x14, 0x10, 0x2d, 0x00, 0x10,       /* FUP 1014, TIP 1000 */
    0x59, 0x0a, 0x04,                         /* TNT: 0 */
    0x3d, 0x15, 0x10, 0x01,                   /* FUP 1015, TIP.PGD */
    0x31, 0x00, 0x10,                         /* TIP.PGE 1000 */
    0x04, 0x06, 0x06, 0x06, 0x06};            /* TNT: 0, returns: 1 1 1 1 */

/* All that both say of a step. Does anything differ? */
static int exact_step(const flow f[2])
{
    uint64_t out[2][8];
    CHECK_EQ(f[1].status, f[0].status);
    getters(f, out);
    for (int i = is_version(0) ? 2 : 6; i < 8; i++) /* later ones read ahead */
        if (!CHECK_EQ(out[1][i], out[0][i])) printf("    getter %d\n", i);
    return CHECK(within(25, out[0][0], out[1][0]));
}

static void exact_layer(subject *s, int layer, int error)
{
    unsigned long done[2] = {0, 0};
    flow f[2];
    unsigned steps = 0;
    for (int i = 0; i < 2; i++) flow_begin(&f[i], s, i, layer);
    for (int i = 0; i < 2; i++) flow_sync(&f[i]);
    while (steps++ < 100 && !test_.bad) {
        if (f[0].status < 0 && f[1].status < 0) break;
        exact_step(f);
        if (f[0].status & pts_event_pending) {
            for (int i = 0; i < 2; i++) flow_event(&f[i]);
            CHECK_EQ(event_differs(&f[0].event, &f[1].event), 0);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            memset(&f[i].insn, 0, sizeof f[i].insn);
            memset(&f[i].block, 0, sizeof f[i].block);
            flow_next(&f[i]);
            done[i] += f[i].block.ninsn;
        }
        if (layer == INSN) {
            CHECK_EQ(f[1].insn.ip, f[0].insn.ip);
            CHECK_EQ(f[1].insn.mode, f[0].insn.mode);
            CHECK_EQ(f[1].insn.iclass, f[0].insn.iclass);
            CHECK_EQ(f[1].insn.size, f[0].insn.size);
            CHECK(memcmp(f[1].insn.raw, f[0].insn.raw, f[0].insn.size) == 0);
        }
    }
    CHECK_EQ(f[1].status, f[0].status);
    CHECK_EQ(done[1], done[0]);
    CHECK_EQ(f[0].status, error);
    for (int i = 0; i < 2; i++) flow_end(&f[i]);
}

static void exact_layers(subject *s, int error)
{
    exact_layer(s, INSN, error);
    exact_layer(s, BLOCK, error);
}

/* A return to a call of before an overflow. */
static uint8_t kept_trace[] = {
    PSB_, 0x99, 0x01, 0x7d, 0, 0x10, 0, 0, 0, 0, 0x02, 0x23,
    0x04, 0x02, 0xf3, 0x3d, 0x15, 0x10,       /* TNT: 0, OVF, FUP 1015 */
    0x06, 0x04};                              /* TNT: 1; 0, for a return */

TEST(kept_calls)
{
    static subject s;
    memset(&s, 0, sizeof s);
    snprintf(s.name, sizeof s.name, "kept calls");
    set_config(&s.config, kept_trace, sizeof kept_trace);
    for (int i = 0; i < 2; i++) {
        s.image[i] = sides[i]->pt_image_alloc(NULL);
        CHECK_EQ(sides[i]->pt_image_set_callback(s.image[i], exact_read, NULL),
                 0);
    }
    exact_layers(&s, -pte_bad_retcomp);
    for (int i = 0; i < 2; i++) sides[i]->pt_image_free(s.image[i]);
}

TEST(exact)
{
    static subject s;
    memset(&s, 0, sizeof s);
    snprintf(s.name, sizeof s.name, "exact");
    set_config(&s.config, exact_trace, sizeof exact_trace);
    s.config.cpuid_0x15_eax = 2;
    s.config.cpuid_0x15_ebx = 200;
    s.config.mtc_freq = 3;
    s.config.nom_freq = 24;
    for (int i = 0; i < 2; i++) {
        s.image[i] = sides[i]->pt_image_alloc(NULL);
        CHECK_EQ(sides[i]->pt_image_set_callback(s.image[i], exact_read, NULL),
                 0);
    }
    exact_layers(&s, -pte_retstack_empty);
    s.config.nom_freq = 0; /* without MTCs CYCs are lost then */
    for (size_t i = 0; i + 1 < sizeof exact_trace; i++)
        if (exact_trace[i] == 0x59) exact_trace[i] = exact_trace[i + 1] = 0;
    exact_layers(&s, -pte_retstack_empty);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(sides[i]->pt_image_set_callback(s.image[i], whole_read, NULL),
                 0);
    exact_layers(&s, -pte_retstack_empty);
    for (int i = 0; i < 2; i++) sides[i]->pt_image_free(s.image[i]);
}

/* A trace that ends within a PSB, or what begins as one. */
TEST(cut_psb)
{
    static uint8_t trace[] = {PSB_, 0x02, 0x23, PSB_};
    for (size_t left = 1; left < 16; left++)
        for (size_t wrong = 0; wrong <= left; wrong++) {
            static subject s;
            memset(&s, 0, sizeof s);
            snprintf(s.name, sizeof s.name, "cut to %d, %d", (int) left,
                     (int) wrong);
            set_config(&s.config, trace, 18 + left);
            if (wrong > 1) trace[18 + wrong] ^= 0x80;
            packets(&s);
            CHECK_EQ(s.over, 0);
            follow(&s, QUERY, NULL, STEPS);
            if (wrong > 1) trace[18 + wrong] ^= 0x80;
        }
}

static int nothing_read(uint8_t *buffer, size_t size,
                        const struct pt_asid *asid, uint64_t ip, void *context)
{
    unsigned *asked = context;
    (void) buffer;
    (void) size;
    (void) asid;
    (void) ip;
    ++*asked;
    return -pte_nomap;
}

/* Where there is no code, a callback is asked once for as much as ours would
 * like, and once for as much as theirs asks for; and so again next time. */
TEST(no_code)
{
    static subject s;
    static struct pt_event list[EVENTS_MAX];
    memset(&s, 0, sizeof s);
    set_config(&s.config, exact_trace, sizeof exact_trace);
    for (int layer = INSN; layer <= BLOCK; layer++) {
        flow f[2];
        unsigned asked[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            s.image[i] = sides[i]->pt_image_alloc(NULL);
            CHECK_EQ(sides[i]->pt_image_set_callback(s.image[i], nothing_read,
                                                     &asked[i]), 0);
            flow_begin(&f[i], &s, i, layer);
            flow_sync(&f[i]);
            (void) drain(&f[i], list);
        }
        for (unsigned times = 1; times < 4; times++) {
            for (int i = 0; i < 2; i++) flow_next(&f[i]);
            CHECK_EQ(f[1].status, f[0].status);
            CHECK_EQ(f[1].status, -pte_nomap);
            CHECK(asked[1] >= times);
            CHECK(asked[1] <= 2 * times);
        }
        for (int i = 0; i < 2; i++) {
            flow_end(&f[i]);
            sides[i]->pt_image_free(s.image[i]);
        }
    }
}

#if LIBIPT_VERSION >= 0x202
/* Triggers: at a FUP, some instructions later, and at no known place. */
static uint8_t trigger_trace[] = {
    PSB_, 0x99, 0x01, 0x7d, 0, 0x10, 0, 0, 0, 0, 0x02, 0x23,
    0xd9, 0x60, 0x02, 0x01, 0x00,             /* after an instruction, more */
    0xd9, 0x00, 0x04,                         /* somewhere */
    0xd9, 0xc0, 0x01, 0x00, 0x00, 0x3d, 0, 0x10, /* at 1000 */
    0x0e,                                     /* TNT: 1 1 */
    0xd9, 0x40, 0xc4, 0x02, 0x00,             /* after two from there */
    0x04, 0x01};                              /* TNT: 0, TIP.PGD */

TEST(triggers)
{
    static subject s;
    memset(&s, 0, sizeof s);
    snprintf(s.name, sizeof s.name, "triggers");
    set_config(&s.config, trigger_trace, sizeof trigger_trace);
    s.new_at = UINT64_MAX;
    follow_events(&s);
    follow(&s, QUERY, NULL, STEPS);
    CHECK_EQ(s.over, 0);
}
#endif

/* ---- damaged traces ---- */

/* Damage a trace: bits, bytes, or a piece that is lost, or doubled. */
static void damage(uint8_t *bytes, size_t size)
{
    if (size < 32) return;
    for (unsigned n = 1 + dice(3); n > 0; n--) {
        const size_t at = 16 + dice((unsigned) size - 16);
        size_t length = 1 + dice(20);
        if (at + length > size) length = size - at;
        switch (dice(4)) {
        case 0: bytes[at] ^= (uint8_t) (1u << dice(8)); break;
        case 1: bytes[at] = (uint8_t) dice(256); break;
        case 2: memset(bytes + at, 0, length); break;
        default:
            memmove(bytes + dice((unsigned) (size - length)),
                    bytes + at, length);
            break;
        }
    }
}

static unsigned begin_with = 1; /* what damages the traces */
static unsigned mutants = 1000;
static unsigned windows = 20; /* of each hardware trace */

/* Damaged copies of a part of its trace, of which each begins somewhere. */
static void compare_damaged(recorded *r, const char *name, unsigned count,
                            size_t most)
{
    const size_t length = r->size < most ? r->size : most;
    uint8_t *piece = malloc(length);
    for (unsigned i = 0; CHECK(piece != NULL) && i < count; i++) {
        const size_t rest = r->size - length;
        const size_t from = rest ? dice((unsigned) rest) : 0;
        char text[300];
        memcpy(piece, r->bytes + from, length);
        damage(piece, length);
        snprintf(text, sizeof text, "%s, damage %u", name, i);
        compare_recorded(r, piece, length, text);
    }
    free(piece);
}

TEST(mutants)
{
    recorded r;
    if (!CHECK(recorded_open(&r, "examples/recording"))) return;
    seed = begin_with;
    compare_damaged(&r, "recording", mutants, r.size);
    CHECK(mutants < 1000 || printed >= 0
          || (seen[D_RETURN] && seen[D_EARLY]));
    recorded_close(&r);
}

static const char *traces_dir;
static const char *suite_dir;

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Each folder of TRACES=, always in the same order. */
static void each_trace(void (*use)(const char *name))
{
    struct dirent **all;
    const int count = scandir(traces_dir, &all, NULL, by_name);
    CHECK(count > 2);
    for (int i = 0; i < count; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", traces_dir, all[i]->d_name);
        if (all[i]->d_name[0] != '.') use(path);
        free(all[i]);
    }
    if (count >= 0) free(all);
}

TEST(traces)
{
    each_trace(folder);
}

#define WINDOW 8192ul /* bytes of a trace */

static void damaged(const char *name)
{
    recorded r;
    if (!recorded_open(&r, name)) return;
    compare_damaged(&r, name, windows, WINDOW);
    recorded_close(&r);
}

TEST(damaged_traces)
{
    seed = begin_with;
    each_trace(damaged);
}

/* ---- a decoder suite ---- */

static uint64_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

/* test, suite, cpu, tool, expected, address, arguments, ... */
static void suite_row(char *line)
{
    static subject s;
    char *field[7];
    char path[700];
    size_t size;
    uint8_t *bytes;
    sections all;
    image code;
    uint64_t base;
    for (int i = 0; i < 7; i++) {
        field[i] = strsep(&line, "\t");
        if (!field[i]) return;
    }
    snprintf(path, sizeof path, "%s/tests/%s/%s.pt", suite_dir, field[0],
             field[0]);
    bytes = (uint8_t *) whole_file(path, &size);
    if (!bytes) return;
    memset(&s, 0, sizeof s);
    snprintf(s.name, sizeof s.name, "%s, cpu %s", field[0], field[2]);
    set_config(&s.config, bytes, size);
    set_cpu(&s.config, field[2]);
    s.config.mtc_freq = (uint8_t) option(field[6], "--mtc-freq ");
    s.config.nom_freq = (uint8_t) option(field[6], "--nom-freq ");
    s.config.cpuid_0x15_eax = (uint32_t) option(field[6], "--cpuid-0x15.eax ");
    s.config.cpuid_0x15_ebx = (uint32_t) option(field[6], "--cpuid-0x15.ebx ");
    s.config.addr_filter.config.addr_cfg =
        option(field[6], "--filter:addr0_cfg ");
    s.config.addr_filter.addr0_a = option(field[6], "--filter:addr0_a ");
    s.config.addr_filter.addr0_b = option(field[6], "--filter:addr0_b ");
    base = strtoull(field[5], NULL, 0);
    snprintf(path, sizeof path, "%s/tests/%s/%s.bin", suite_dir, field[0],
             field[0]);
    image_init(&code);
    sections_begin(&all);
    if (!image_add_file(&code, NULL, path, 0, UINT64_MAX, base))
        for (int i = 0; i < 2; i++)
            CHECK_EQ(sides[i]->pt_image_add_file(all.image[i], path, 0,
                                                 UINT64_MAX, NULL, base), 0);
    compare(&s, &code, all.image, strcmp(field[3], "ptxed") == 0);
    sections_end(&all);
    image_free(&code);
    free(bytes);
}

TEST(suite)
{
    char path[600];
    size_t size;
    char *text;
    char *line;
    char *rest;
    snprintf(path, sizeof path, "%s/index.tsv", suite_dir);
    rest = text = whole_file(path, &size);
    CHECK(text != NULL);
    while ((line = strsep(&rest, "\n"))) suite_row(line);
    free(text);
}

static int print_all(void)
{
    folder("examples/recording");
    t_mutants();
    if (suite_dir) t_suite();
    if (traces_dir) t_traces();
    if (traces_dir) t_damaged_traces();
    return test_.bad != 0;
}

static void print_differences(void)
{
    printf("the same: %lu packets, %lu events, %lu answers, %lu "
           "instructions, %lu of blocks\n", compared[PACKET], compared[EVENT],
           compared[QUERY], compared[INSN], compared[BLOCK]);
    for (int i = 0; i < D_COUNT; i++)
        printf("%-12s %8lu  libipt %s\n", differences[i].name, seen[i],
               differences[i].reason);
}

/* Ours sees from such a call that a program was built for 2.1 or 2.2. */
static void say_version(void)
{
#if LIBIPT_VERSION >= 0x201
    static uint8_t none[1];
    struct pt_config c;
    set_config(&c, none, sizeof none);
    ours.pt_evt_free_decoder(ours.pt_evt_alloc_decoder(&c));
#endif
}

int main(int argc, char **argv)
{
    const char *path = getenv("LIBIPT");
    const char *why = path ? api_open_both(&theirs, &ours, path)
                           : "LIBIPT=path";
    if (why) {
        printf("%s\n0 passed, 1 failed\n", why);
        return 1;
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--traces") == 0) traces_dir = argv[i + 1];
        if (strcmp(argv[i], "--suite") == 0) suite_dir = argv[i + 1];
        if (strcmp(argv[i], "--mutants") == 0)
            mutants = (unsigned) strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--windows") == 0)
            windows = (unsigned) strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0)
            begin_with = (unsigned) strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--print") == 0)
            printed = strcmp(argv[i + 1], "ours") == 0;
        if (strcmp(argv[i], "--only") == 0) print_only = argv[i + 1];
    }
    say_version();
    if (printed >= 0) return print_all();
    RUN(strings);
    RUN(cpus);
    RUN(no_decoder);
    RUN(arguments);
    RUN(pointers);
    RUN(sections_of_nothing);
    RUN(encoder);
    RUN(recording);
#if LIBIPT_VERSION >= 0x201
    RUN(event_layer);
#endif
    RUN(images);
    RUN(copies);
    RUN(split_sections);
    RUN(searches);
    RUN(kept_calls);
    RUN(exact);
    RUN(no_code);
    RUN(cut_psb);
#if LIBIPT_VERSION >= 0x202
    RUN(resyncs);
    RUN(triggers);
#endif
    RUN(mutants);
    if (suite_dir) RUN(suite);
    if (traces_dir) RUN(traces);
    if (traces_dir) RUN(damaged_traces);
    print_differences();
    return test_report();
}
