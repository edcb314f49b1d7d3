/* libipt.c: the same work by libipt, as Debian has it, with a callback as its
 * image and with file sections in an image section cache that never lets go of
 * their block caches. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "tests/tmp.h"

#ifdef __has_include
#if __has_include(<intel-pt.h>)
#define HAVE_LIBIPT
#endif
#endif

#ifdef HAVE_LIBIPT

#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pt_config config_of(const bench_case *c)
{
    struct pt_config config;

    memset(&config, 0, sizeof(config));
    config.size = sizeof(config);
    config.begin = c->trace;
    config.end = c->trace + c->size;
    config.cpu.vendor = pcv_intel;
    config.cpu.family = 6;
    config.cpu.model = 0x3d; /* for BDM70; BDM64 costs nothing without TSX */
    config.cpuid_0x15_eax = c->cpuid_15_eax;
    config.cpuid_0x15_ebx = c->cpuid_15_ebx;
    config.mtc_freq = c->mtc_freq;
    config.nom_freq = c->nom_freq;
    (void) pt_cpu_errata(&config.errata, &config.cpu);
    return config;
}

/* ---- packets and queries ---- */

static uint64_t pass_packets(const bench_case *c)
{
    const struct pt_config config = config_of(c);
    struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
    struct pt_packet packet;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = decoder ? pt_pkt_sync_forward(decoder) : -pte_nomem;

    while (status >= 0) {
        while ((status = pt_pkt_next(decoder, &packet, sizeof(packet))) >= 0) {
            count++;
            sum += (uint64_t) packet.type;
            sum += packet.type == ppt_tnt_8 ? packet.payload.tnt.payload
                                            : packet.payload.ip.ip;
        }
        if (status != -pte_eos)
            status = pt_pkt_sync_forward(decoder);
    }
    pt_pkt_free_decoder(decoder);
    bench_sink += sum;
    return count;
}

static uint64_t pass_queries(const bench_case *c)
{
    const struct pt_config config = config_of(c);
    struct pt_query_decoder *decoder = pt_qry_alloc_decoder(&config);
    struct pt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t ip = 0;
    int taken = 0;
    int status = decoder ? pt_qry_sync_forward(decoder, &ip) : -pte_nomem;

    while (status >= 0) {
        while (status >= 0) {
            if (status & pts_event_pending) {
                status = pt_qry_event(decoder, &event, sizeof(event));
                sum += (uint64_t) event.type;
                /* Some libraries report modes that have not changed. */
                count += event.type != ptev_exec_mode;
                continue;
            }
            if (status & pts_eos)
                break;
            status = pt_qry_cond_branch(decoder, &taken);
            if (status == -pte_bad_query) {
                status = pt_qry_indirect_branch(decoder, &ip);
                sum += ip;
            } else {
                sum += (uint64_t) taken;
            }
            count++;
        }
        if (status >= 0 || status == -pte_eos)
            break;
        status = pt_qry_sync_forward(decoder, &ip);
    }
    pt_qry_free_decoder(decoder);
    bench_sink += sum;
    return count;
}

/* ---- images ---- */

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                     uint64_t ip, void *context)
{
    static const ipt_asid any = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    int got = image_read(buffer, size, &any, ip, context);

    (void) asid;
    return got > 0 ? got : -pte_nomap;
}

static struct pt_image *code;
static struct pt_image_section_cache *sections;
static const bench_case *code_of; /* and whether it has sections */
static int code_sections;

static void drop_code(void)
{
    pt_image_free(code);
    pt_iscache_free(sections);
    code = NULL;
    sections = NULL;
    code_of = NULL;
}

static int prepare_callback(const bench_case *c)
{
    if (code_of == c && !code_sections)
        return 1;
    drop_code();
    code = pt_image_alloc(NULL);
    code_of = c;
    code_sections = 0;
    return code
           && pt_image_set_callback(code, read_code,
                                    (void *) (uintptr_t) &c->code)
                  == 0;
}

static char path[256];

static void remove_file(void)
{
    unlink(path);
}

/* One file for all code of a case, written before libipt looks at it: a file
 * that grows is no longer the one that it knows. */
static int write_code(const bench_case *c, const image_space *space)
{
    static const bench_case *written;
    static int fd = -1;
    const image_range *r;
    image_place place = {0, 0};
    off_t at = 0;

    if (written == c)
        return 1;
    if (fd < 0 && ((fd = mkstemp(tmp_name(path, sizeof path, "bench"))) < 0 || atexit(remove_file) != 0))
        return 0;
    if (ftruncate(fd, 0) < 0)
        return 0;
    for (; (r = image_range_at(space, place)) != NULL;
         place = image_after(space, place)) {
        const image_section *s = &c->code.sections[r->section - 1];
        const size_t size = (size_t) (r->last - r->first + 1);
        if (s->data
            && pwrite(fd, s->data + (r->first - s->base), size, at)
                   != (ssize_t) size)
            return 0;
        at += (off_t) size;
        if (ftruncate(fd, at) < 0)
            return 0;
    }
    written = c;
    return 1;
}

/* Ranges that touch become one section. */
static int prepare_empty(const bench_case *c)
{
    const image_space *space = c->code.space_count ? c->code.spaces : NULL;
    const image_range *r;
    image_place place = {0, 0};
    uint64_t at = 0;
    uint64_t size;

    drop_code();
    code = pt_image_alloc(NULL);
    sections = pt_iscache_alloc(NULL);
    code_of = c;
    code_sections = 1;
    if (!code || !sections || !space || !write_code(c, space)
        || pt_iscache_set_limit(sections, UINT64_MAX) < 0)
        return 0;
    for (; (r = image_range_at(space, place)) != NULL; at += size) {
        const uint64_t first = r->first;
        int id;
        for (size = 0; r && r->first == first + size;
             r = image_range_at(space, place)) {
            size += r->last - r->first + 1;
            place = image_after(space, place);
        }
        id = pt_iscache_add_file(sections, path, at, size, first);
        if (id < 0 || pt_image_add_cached(code, sections, id, NULL) < 0)
            return 0;
    }
    return 1;
}

static uint64_t pass_blocks(const bench_case *c)
{
    const struct pt_config config = config_of(c);
    struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
    struct pt_block block;
    struct pt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = -pte_nomem;

    if (decoder && pt_blk_set_image(decoder, code) == 0)
        status = pt_blk_sync_forward(decoder);
    while (status >= 0) {
        while (status >= 0 && !(status & pts_eos)) {
            while (status >= 0 && status & pts_event_pending)
                status = pt_blk_event(decoder, &event, sizeof(event));
            if (status < 0 || status & pts_eos)
                break;
            status = pt_blk_next(decoder, &block, sizeof(block));
            if (status >= 0) {
                count += block.ninsn;
                sum += block.ip + block.end_ip;
            }
        }
        if (status >= 0 || status == -pte_eos)
            break;
        status = pt_blk_sync_forward(decoder);
    }
    pt_blk_free_decoder(decoder);
    bench_sink += sum;
    return count;
}

static uint64_t pass_insns(const bench_case *c)
{
    const struct pt_config config = config_of(c);
    struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
    struct pt_insn insn;
    struct pt_event event;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status = -pte_nomem;

    if (decoder && pt_insn_set_image(decoder, code) == 0)
        status = pt_insn_sync_forward(decoder);
    while (status >= 0) {
        while (status >= 0 && !(status & pts_eos)) {
            while (status >= 0 && status & pts_event_pending)
                status = pt_insn_event(decoder, &event, sizeof(event));
            if (status < 0 || status & pts_eos)
                break;
            status = pt_insn_next(decoder, &insn, sizeof(insn));
            if (status >= 0) {
                count++;
                sum += insn.ip + (uint64_t) insn.iclass;
            }
        }
        if (status >= 0 || status == -pte_eos)
            break;
        status = pt_insn_sync_forward(decoder);
    }
    pt_insn_free_decoder(decoder);
    bench_sink += sum;
    return count;
}

static int prepare_sections(const bench_case *c)
{
    if (code_of == c && code_sections)
        return 1;
    if (!prepare_empty(c))
        return 0;
    (void) pass_blocks(c);
    return 1;
}

#endif /* HAVE_LIBIPT */

#ifndef BENCH_COMPAT
#ifdef HAVE_LIBIPT
#define BY(prepare, pass) prepare, pass
#else
#define BY(prepare, pass) NULL, NULL
#endif

const bench_row bench_libipt[] = {
    {"packets", "libipt", BY(NULL, pass_packets), 0, 1, 3},
    {"events", "libipt query", BY(NULL, pass_queries), 0, 1, 3},
    {"blocks", "libipt callback", BY(prepare_callback, pass_blocks), 1, 1, 9},
    {"insns", "libipt callback", BY(prepare_callback, pass_insns), 1, 1, 9},
    {"blocks", "libipt sections", BY(prepare_sections, pass_blocks), 1, 1, 1.5},
    {"insns", "libipt sections", BY(prepare_sections, pass_insns), 1, 1, 5},
    {"blocks cold", "libipt sections", BY(prepare_empty, pass_blocks), 1, 1, 1},
    {"insns cold", "libipt sections", BY(prepare_empty, pass_insns), 1, 1, 0},
    {"compat pkt", "libipt", BY(NULL, pass_packets), 0, 1, 1},
    {"compat qry", "libipt", BY(NULL, pass_queries), 0, 1, 1},
    {"compat blk", "libipt", BY(prepare_sections, pass_blocks), 1, 1, 1},
    {"compat blk call", "libipt", BY(prepare_callback, pass_blocks), 1, 1, 2},
    {"compat insn", "libipt", BY(prepare_sections, pass_insns), 1, 1, 1},
    {"compat insn call", "libipt", BY(prepare_callback, pass_insns), 1, 1, 1},
    {0},
};
#endif
