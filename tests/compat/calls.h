/* calls.h: each function of libipt with wrong arguments, out of order, with
 * structs of other sizes, with callbacks that lie, and without memory: theirs
 * and ours answer the same.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPAT_CALLS_H
#define COMPAT_CALLS_H
#include "../dice.h"
#include "lockstep.h"
#include <unistd.h>

/* A call of both, with one result. */
#define SAME(call)                                                            \
    do {                                                                      \
        const api *by = &theirs;                                              \
        const long long want = (long long) (call);                            \
        by = &ours;                                                           \
        CHECK_EQ((long long) (call), want);                                   \
    } while (0)

static struct pt_config config_of(uint8_t *bytes, size_t size)
{
    struct pt_config c;
    pt_config_init(&c);
    c.begin = bytes;
    c.end = bytes + size;
    return c;
}

/* ---- texts, versions, processors ---- */

TEST(strings)
{
    for (int i = -3; i < 300; i++) {
        const enum pt_error_code code = (enum pt_error_code) i;
        CHECK(strcmp(ours.pt_errstr(code), theirs.pt_errstr(code)) == 0);
    }
    SAME(by->pt_library_version().major);
    if (is_version(1)) {
        CHECK_EQ(ours.pt_library_version().minor, 2);
    } else {
        SAME(by->pt_library_version().minor);
        SAME(by->pt_library_version().patch);
    }
    SAME(by->pt_library_version().build);
    SAME(strcmp(by->pt_library_version().ext, theirs.pt_library_version().ext));
}

TEST(cpus)
{
    for (int i = 0; i < 3 * 20 * 256; i++) {
        struct pt_cpu cpu = {(enum pt_cpu_vendor) (i / 5120),
                             (uint16_t) (i / 256 % 20), (uint8_t) i, 0};
        struct pt_errata e[2];
        int status[2];
        memset(e, 0xff, sizeof e);
        for (int k = 0; k < 2; k++)
            status[k] = sides[k]->pt_cpu_errata(&e[k], &cpu);
        if (status[0] == -pte_bad_cpu && status[1] == 0) seen[D_NEW]++;
        else if (!CHECK_EQ(status[1], status[0])) break;
        else if (e[0].skl014 && !e[1].skl014) {
            seen[D_ERRATA]++; /* Alder Lake, Sapphire Rapids */
            e[0].skl014 = 0;
            CHECK(e[1].bdm70);
            CHECK(e[1].skd022);
        } else {
            CHECK(memcmp(&e[0], &e[1], sizeof e[0]) == 0);
        }
    }
    SAME(by->pt_cpu_errata(NULL, NULL));
    SAME(by->pt_cpu_errata(&(struct pt_errata) {0}, NULL));
    SAME(by->pt_cpu_errata(NULL, &(struct pt_cpu) {pcv_intel, 6, 0x3d, 4}));
}

/* ---- wrong arguments ---- */

TEST(no_decoder)
{
    uint8_t bytes[64] = {0};
    struct pt_config c = config_of(bytes, sizeof bytes);
    struct pt_event e;
    struct pt_insn insn;
    struct pt_block block;
    struct pt_packet packet;
    struct pt_asid asid;
    uint64_t u;
    uint32_t v;
    int taken;
    SAME(by->pt_pkt_sync_forward(NULL));
    SAME(by->pt_pkt_sync_backward(NULL));
    SAME(by->pt_pkt_sync_set(NULL, 0));
    SAME(by->pt_pkt_get_offset(NULL, &u));
    SAME(by->pt_pkt_get_sync_offset(NULL, &u));
    SAME(by->pt_pkt_get_config(NULL) == NULL);
    SAME(by->pt_pkt_next(NULL, &packet, sizeof packet));
    SAME(by->pt_qry_sync_forward(NULL, &u));
    SAME(by->pt_qry_sync_backward(NULL, &u));
    SAME(by->pt_qry_sync_set(NULL, &u, 0));
    SAME(by->pt_qry_get_offset(NULL, &u));
    SAME(by->pt_qry_get_sync_offset(NULL, &u));
    SAME(by->pt_qry_get_config(NULL) == NULL);
    SAME(by->pt_qry_cond_branch(NULL, &taken));
    SAME(by->pt_qry_indirect_branch(NULL, &u));
    SAME(by->pt_qry_event(NULL, &e, sizeof e));
    SAME(by->pt_qry_time(NULL, &u, NULL, NULL));
    SAME(by->pt_qry_core_bus_ratio(NULL, &v));
    SAME(by->pt_insn_sync_forward(NULL));
    SAME(by->pt_insn_sync_backward(NULL));
    SAME(by->pt_insn_sync_set(NULL, 0));
    SAME(by->pt_insn_get_offset(NULL, &u));
    SAME(by->pt_insn_get_sync_offset(NULL, &u));
    SAME(by->pt_insn_get_config(NULL) == NULL);
    SAME(by->pt_insn_get_image(NULL) == NULL);
    SAME(by->pt_insn_set_image(NULL, NULL));
    SAME(by->pt_insn_time(NULL, &u, NULL, NULL));
    SAME(by->pt_insn_core_bus_ratio(NULL, &v));
    SAME(by->pt_insn_asid(NULL, &asid, sizeof asid));
    SAME(by->pt_insn_next(NULL, &insn, sizeof insn));
    SAME(by->pt_insn_event(NULL, &e, sizeof e));
    SAME(by->pt_blk_sync_forward(NULL));
    SAME(by->pt_blk_sync_backward(NULL));
    SAME(by->pt_blk_sync_set(NULL, 0));
    SAME(by->pt_blk_get_offset(NULL, &u));
    SAME(by->pt_blk_get_sync_offset(NULL, &u));
    SAME(by->pt_blk_get_config(NULL) == NULL);
    SAME(by->pt_blk_get_image(NULL) == NULL);
    SAME(by->pt_blk_set_image(NULL, NULL));
    SAME(by->pt_blk_time(NULL, &u, NULL, NULL));
    SAME(by->pt_blk_core_bus_ratio(NULL, &v));
    SAME(by->pt_blk_asid(NULL, &asid, sizeof asid));
    SAME(by->pt_blk_next(NULL, &block, sizeof block));
    SAME(by->pt_blk_event(NULL, &e, sizeof e));
    SAME(by->pt_enc_sync_set(NULL, 0));
    SAME(by->pt_enc_get_offset(NULL, &u));
    SAME(by->pt_enc_get_config(NULL) == NULL);
    SAME(by->pt_enc_next(NULL, &packet));
    SAME(by->pt_image_name(NULL) == NULL);
    SAME(by->pt_iscache_name(NULL) == NULL);
    SAME(by->pt_iscache_set_limit(NULL, 1));
    SAME(by->pt_iscache_add_file(NULL, "x", 0, 1, 0));
    SAME(by->pt_iscache_read(NULL, bytes, 1, 1, 0));
    SAME(by->pt_image_add_file(NULL, "x", 0, 1, NULL, 0));
    SAME(by->pt_image_add_cached(NULL, NULL, 1, NULL));
    SAME(by->pt_image_copy(NULL, NULL));
    SAME(by->pt_image_remove_by_filename(NULL, "x", NULL));
    SAME(by->pt_image_remove_by_asid(NULL, NULL));
    SAME(by->pt_image_set_callback(NULL, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        const api *by = sides[i];
        by->pt_pkt_free_decoder(NULL);
        by->pt_qry_free_decoder(NULL);
        by->pt_insn_free_decoder(NULL);
        by->pt_blk_free_decoder(NULL);
        by->pt_free_encoder(NULL);
        by->pt_image_free(NULL);
        by->pt_iscache_free(NULL);
        CHECK(!by->pt_pkt_alloc_decoder(NULL));
        CHECK(!by->pt_qry_alloc_decoder(NULL));
        CHECK(!by->pt_insn_alloc_decoder(NULL));
        CHECK(!by->pt_blk_alloc_decoder(NULL));
        CHECK(!by->pt_alloc_encoder(NULL));
    }
    for (int n = 0; n < 6; n++) {
        struct pt_config bad = c;
        if (n == 0) bad.size = 0;
        if (n == 1) bad.begin = NULL;
        if (n == 2) bad.end = NULL;
        if (n == 3) bad.end = bad.begin - 1;
        if (n == 4) bad.end = bad.begin;
        if (n == 5) bad.size = offsetof(struct pt_config, decode);
        for (int i = 0; i < 2; i++) {
            const api *by = sides[i];
            struct pt_packet_decoder *p = by->pt_pkt_alloc_decoder(&bad);
            struct pt_query_decoder *q = by->pt_qry_alloc_decoder(&bad);
            struct pt_insn_decoder *d = by->pt_insn_alloc_decoder(&bad);
            struct pt_block_decoder *b = by->pt_blk_alloc_decoder(&bad);
            struct pt_encoder *x = by->pt_alloc_encoder(&bad);
            const int all = !!p + !!q + !!d + !!b + !!x;
            CHECK_EQ(all, n < 4 ? 0 : 5);
            by->pt_pkt_free_decoder(p);
            by->pt_qry_free_decoder(q);
            by->pt_insn_free_decoder(d);
            by->pt_blk_free_decoder(b);
            by->pt_free_encoder(x);
        }
    }
}

#define PSB_ 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, \
    0x82
static uint8_t short_trace[] = {
    0, 0, PSB_, 0x99, 1, 2, 3, 9, 0, 0x7d, 0, 0, 0x40, 0, 0, 0, 2, 0x23,
    0x06, 0x2d, 0x04, 0x00, PSB_, 0x99, 1, 0x7d, 0, 0, 0x40, 0, 0, 0, 2, 0x23,
    0x04, 0};

/* The time without what was lost: 2.1 and 2.2 want all or nothing. */
#define TIME_ONLY(call)                                                       \
    do {                                                                      \
        if (is_version(0)) BOTH(call);                                        \
        else seen[D_CALLS]++;                                                 \
    } while (0)

/* A size of pt_event that says that the client is of another version. */
#define OTHER_EVENT (LIBIPT_VERSION >= 0x201 ? 64 : 72)

/* Before synchronising, with a NULL for each pointer, and structs of many
 * sizes; the decoders' other functions on a small trace. */
TEST(arguments)
{
    struct pt_config c = config_of(short_trace, sizeof short_trace);
    struct pt_packet_decoder *pd[2];
    struct pt_query_decoder *qd[2];
    struct pt_insn_decoder *id[2];
    struct pt_block_decoder *bd[2];
    struct pt_packet packet[2];
    struct pt_event event[2];
    struct pt_asid asid[2];
    uint64_t u[2];
    uint32_t v[2];
    int taken[2];
    for (int i = 0; i < 2; i++) {
        pd[i] = sides[i]->pt_pkt_alloc_decoder(&c);
        qd[i] = sides[i]->pt_qry_alloc_decoder(&c);
        id[i] = sides[i]->pt_insn_alloc_decoder(&c);
        bd[i] = sides[i]->pt_blk_alloc_decoder(&c);
        CHECK(sides[i]->pt_pkt_get_config(pd[i])->begin == c.begin);
        CHECK(sides[i]->pt_qry_get_config(qd[i])->end == c.end);
        CHECK(sides[i]->pt_insn_get_config(id[i])->begin == c.begin);
        CHECK(sides[i]->pt_blk_get_config(bd[i])->size == sizeof c);
        CHECK(sides[i]->pt_insn_get_image(id[i]) != NULL);
        CHECK(sides[i]->pt_blk_get_image(bd[i]) != NULL);
    }
/* Of both decoders, by index. */
#define BOTH(call)                                                            \
    do {                                                                      \
        int i = 0;                                                            \
        const api *by = &theirs;                                              \
        const long long want = (long long) (call);                            \
        i = 1;                                                                \
        by = &ours;                                                           \
        CHECK_EQ((long long) (call), want);                                   \
    } while (0)
    memset(u, 0, sizeof u);
    memset(v, 0, sizeof v);
    BOTH(by->pt_pkt_get_offset(pd[i], &u[i]));
    BOTH(by->pt_pkt_get_sync_offset(pd[i], &u[i]));
    BOTH(by->pt_pkt_get_offset(pd[i], NULL));
    BOTH(by->pt_pkt_next(pd[i], &packet[i], sizeof packet[i]));
    BOTH(by->pt_pkt_next(pd[i], NULL, sizeof packet[i]));
    BOTH(by->pt_qry_get_offset(qd[i], &u[i]));
    BOTH(by->pt_qry_get_sync_offset(qd[i], NULL));
    BOTH(by->pt_qry_cond_branch(qd[i], &taken[i]));
    BOTH(by->pt_qry_cond_branch(qd[i], NULL));
    BOTH(by->pt_qry_indirect_branch(qd[i], &u[i]));
    BOTH(by->pt_qry_indirect_branch(qd[i], NULL));
    BOTH(by->pt_qry_event(qd[i], &event[i], sizeof event[i]));
    BOTH(by->pt_qry_event(qd[i], NULL, sizeof event[i]));
    BOTH(by->pt_qry_time(qd[i], &u[i], NULL, NULL));
    BOTH(by->pt_qry_time(qd[i], NULL, NULL, NULL));
    BOTH(by->pt_qry_core_bus_ratio(qd[i], &v[i]));
    BOTH(by->pt_qry_core_bus_ratio(qd[i], NULL));
    BOTH(by->pt_insn_get_offset(id[i], &u[i]));
    BOTH(by->pt_insn_get_sync_offset(id[i], &u[i]));
    BOTH(by->pt_insn_event(id[i], NULL, sizeof event[i]));
    BOTH(by->pt_insn_next(id[i], NULL, 40));
    BOTH(by->pt_insn_time(id[i], NULL, NULL, NULL));
    BOTH(by->pt_insn_core_bus_ratio(id[i], NULL));
    BOTH(by->pt_insn_asid(id[i], NULL, sizeof asid[i]));
    BOTH(by->pt_blk_get_offset(bd[i], &u[i]));
    BOTH(by->pt_blk_get_sync_offset(bd[i], &u[i]));
    BOTH(by->pt_blk_event(bd[i], NULL, sizeof event[i]));
    BOTH(by->pt_blk_next(bd[i], NULL, 48));
    BOTH(by->pt_blk_time(bd[i], NULL, NULL, NULL));
    BOTH(by->pt_blk_core_bus_ratio(bd[i], NULL));
    BOTH(by->pt_blk_asid(bd[i], NULL, sizeof asid[i]));
    for (uint64_t offset = 0; offset < sizeof short_trace + 3; offset++) {
        BOTH(by->pt_pkt_sync_set(pd[i], offset));
        BOTH(by->pt_qry_sync_set(qd[i], &u[i], offset));
        BOTH(by->pt_insn_sync_set(id[i], offset));
        BOTH(by->pt_blk_sync_set(bd[i], offset));
    }
    for (size_t size = 0; size < 80; size++) {
        BOTH(by->pt_pkt_sync_set(pd[i], 2));
        memset(packet, 0xa5, sizeof packet);
        if (size <= sizeof packet[0])
            BOTH(by->pt_pkt_next(pd[i], &packet[i], size));
        BOTH(by->pt_qry_sync_set(qd[i], &u[i], 2));
        memset(event, 0, sizeof event);
        if (size <= sizeof event[0] && size != OTHER_EVENT) {
            BOTH(by->pt_qry_event(qd[i], &event[i], size));
            CHECK_EQ(event[1].type, event[0].type);
            BOTH(by->pt_insn_sync_set(id[i], 2));
            BOTH(by->pt_insn_event(id[i], &event[i], size));
            BOTH(by->pt_blk_sync_set(bd[i], 2));
            BOTH(by->pt_blk_event(bd[i], &event[i], size));
        }
        memset(asid, 0xa5, sizeof asid);
        if (size <= sizeof asid[0]) {
            BOTH(by->pt_insn_asid(id[i], &asid[i], size));
            BOTH(by->pt_blk_asid(bd[i], &asid[i], size));
            CHECK(memcmp(&asid[0], &asid[1], sizeof asid[0]) == 0);
        }
    }
    for (int n = 0; n < 4; n++) { /* backward, up to the first one */
        for (int i = 0; i < 2; i++) u[i] = 7;
        BOTH(by->pt_pkt_sync_backward(pd[i]));
        BOTH(by->pt_pkt_get_sync_offset(pd[i], &u[i]));
        CHECK_EQ(u[1], u[0]);
    }
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_qry_free_decoder(qd[i]);
        sides[i]->pt_insn_free_decoder(id[i]);
        sides[i]->pt_blk_free_decoder(bd[i]);
        qd[i] = sides[i]->pt_qry_alloc_decoder(&c);
        id[i] = sides[i]->pt_insn_alloc_decoder(&c);
        bd[i] = sides[i]->pt_blk_alloc_decoder(&c);
    }
    /* Which events are pending then, only ours says. */
    BOTH(by->pt_qry_sync_backward(qd[i], &u[i]) >= 0);
    CHECK_EQ(u[1], u[0]);
    BOTH(by->pt_insn_sync_backward(id[i]) >= 0);
    BOTH(by->pt_blk_sync_backward(bd[i]) >= 0);
    BOTH(by->pt_insn_get_sync_offset(id[i], &u[i]));
    CHECK_EQ(u[1], u[0]);
    BOTH(by->pt_blk_get_sync_offset(bd[i], &u[i]));
    CHECK_EQ(u[1], u[0]);
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_pkt_free_decoder(pd[i]);
        sides[i]->pt_qry_free_decoder(qd[i]);
        sides[i]->pt_insn_free_decoder(id[i]);
        sides[i]->pt_blk_free_decoder(bd[i]);
    }
}

/* With a decoder that is synchronised: a NULL for each other pointer, structs
 * of all sizes for what it hands out, and no image. */
TEST(pointers)
{
    struct pt_config c = config_of(short_trace, sizeof short_trace);
    struct pt_packet_decoder *pd[2];
    struct pt_query_decoder *qd[2];
    struct pt_insn_decoder *id[2];
    struct pt_block_decoder *bd[2];
    union {
        struct pt_insn insn;
        struct pt_block block;
    } item[2];
    uint64_t u[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        pd[i] = sides[i]->pt_pkt_alloc_decoder(&c);
        qd[i] = sides[i]->pt_qry_alloc_decoder(&c);
        id[i] = sides[i]->pt_insn_alloc_decoder(&c);
        bd[i] = sides[i]->pt_blk_alloc_decoder(&c);
    }
    BOTH(by->pt_pkt_sync_forward(pd[i]));
    BOTH(by->pt_pkt_get_offset(pd[i], NULL));
    BOTH(by->pt_pkt_get_sync_offset(pd[i], NULL));
    BOTH(by->pt_pkt_next(pd[i], NULL, sizeof(struct pt_packet)));
    BOTH(by->pt_qry_sync_forward(qd[i], NULL) >= 0);
    BOTH(by->pt_qry_sync_set(qd[i], NULL, 2) >= 0);
    BOTH(by->pt_qry_get_offset(qd[i], NULL));
    BOTH(by->pt_qry_get_sync_offset(qd[i], NULL));
    BOTH(by->pt_qry_cond_branch(qd[i], NULL));
    BOTH(by->pt_qry_indirect_branch(qd[i], NULL));
    BOTH(by->pt_qry_event(qd[i], NULL, sizeof(struct pt_event)));
    BOTH(by->pt_qry_time(qd[i], NULL, NULL, NULL));
    BOTH(by->pt_qry_time(qd[i], &u[i], NULL, NULL));
    BOTH(by->pt_qry_core_bus_ratio(qd[i], NULL));
    BOTH(by->pt_qry_sync_backward(qd[i], NULL) >= 0);
    BOTH(by->pt_insn_sync_forward(id[i]));
    BOTH(by->pt_insn_get_offset(id[i], NULL));
    BOTH(by->pt_insn_get_sync_offset(id[i], NULL));
    BOTH(by->pt_insn_time(id[i], NULL, NULL, NULL));
    TIME_ONLY(by->pt_insn_time(id[i], &u[i], NULL, NULL));
    BOTH(by->pt_insn_core_bus_ratio(id[i], NULL));
    BOTH(by->pt_insn_asid(id[i], NULL, sizeof(struct pt_asid)));
    BOTH(by->pt_insn_event(id[i], NULL, sizeof(struct pt_event)));
    BOTH(by->pt_insn_next(id[i], NULL, sizeof(struct pt_insn)));
    BOTH(by->pt_insn_set_image(id[i], NULL));
    BOTH(by->pt_insn_get_image(id[i]) != NULL);
    BOTH(by->pt_blk_sync_forward(bd[i]));
    BOTH(by->pt_blk_get_offset(bd[i], NULL));
    BOTH(by->pt_blk_get_sync_offset(bd[i], NULL));
    BOTH(by->pt_blk_time(bd[i], NULL, NULL, NULL));
    TIME_ONLY(by->pt_blk_time(bd[i], &u[i], NULL, NULL));
    BOTH(by->pt_blk_core_bus_ratio(bd[i], NULL));
    BOTH(by->pt_blk_asid(bd[i], NULL, sizeof(struct pt_asid)));
    BOTH(by->pt_blk_event(bd[i], NULL, sizeof(struct pt_event)));
    BOTH(by->pt_blk_next(bd[i], NULL, sizeof(struct pt_block)));
    BOTH(by->pt_blk_set_image(bd[i], NULL));
    BOTH(by->pt_blk_get_image(bd[i]) != NULL);
    if (is_version(1)) seen[D_CALLS]++;
    for (size_t size = 0; size <= sizeof(struct pt_insn); size++) {
        if (is_version(1)) break;
        memset(item, 0xa5, sizeof item);
        BOTH(by->pt_insn_sync_set(id[i], 2));
        BOTH(by->pt_insn_next(id[i], &item[i].insn, size));
        CHECK_EQ(item[1].insn.ip, item[0].insn.ip);
    }
    for (size_t size = 0; size <= sizeof(struct pt_block); size++) {
        memset(item, 0xa5, sizeof item);
        BOTH(by->pt_blk_sync_set(bd[i], 2));
        BOTH(by->pt_blk_next(bd[i], &item[i].block, size));
        CHECK_EQ(item[1].block.ip, item[0].block.ip);
    }
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_pkt_free_decoder(pd[i]);
        sides[i]->pt_qry_free_decoder(qd[i]);
        sides[i]->pt_insn_free_decoder(id[i]);
        sides[i]->pt_blk_free_decoder(bd[i]);
    }
}

#define SOME_CODE "examples/recording/pages.bin"

/* Images and caches of sections: what is NULL, empty, beyond the end of a file
 * or of addresses, or of no section; parts of address spaces. Empty sections
 * are in an image of their own, and how many of those that overlap are removed
 * is not compared: 2.0.5 loses some. */
TEST(sections_of_nothing)
{
    static const uint64_t numbers[] = {0, 1, 4095, 4096, 4097, 1ull << 63,
                                       UINT64_MAX};
    struct pt_image *a[2];
    struct pt_image *empty[2];
    struct pt_image_section_cache *k[2];
    uint8_t bytes[16];
    for (int i = 0; i < 2; i++) {
        a[i] = sides[i]->pt_image_alloc(NULL);
        empty[i] = sides[i]->pt_image_alloc(NULL);
        k[i] = sides[i]->pt_iscache_alloc(NULL);
    }
    BOTH(by->pt_image_name(a[i]) == NULL);
    BOTH(by->pt_iscache_name(k[i]) == NULL);
    BOTH(by->pt_image_add_file(a[i], NULL, 0, 1, NULL, 0));
    BOTH(by->pt_image_add_file(a[i], "", 0, 1, NULL, 0));
    BOTH(by->pt_image_add_file(a[i], ".", 0, 1, NULL, 0));
    BOTH(by->pt_image_add_cached(a[i], NULL, 1, NULL));
    BOTH(by->pt_image_add_cached(NULL, k[i], 1, NULL));
    BOTH(by->pt_image_copy(a[i], NULL));
    BOTH(by->pt_image_copy(NULL, a[i]));
    BOTH(by->pt_image_copy(a[i], a[i]));
    BOTH(by->pt_image_remove_by_filename(a[i], NULL, NULL));
    BOTH(by->pt_image_remove_by_asid(a[i], NULL));
    BOTH(by->pt_image_set_callback(a[i], NULL, NULL));
    BOTH(by->pt_iscache_add_file(k[i], NULL, 0, 1, 0));
    BOTH(by->pt_iscache_add_file(k[i], "", 0, 1, 0));
    BOTH(by->pt_iscache_add_file(k[i], ".", 0, 1, 0));
    BOTH(by->pt_iscache_set_limit(k[i], 0));
    for (unsigned n = 0; n < 7 * 7 * 7; n++) {
        const uint64_t offset = numbers[n / 49];
        const uint64_t size = numbers[n / 7 % 7];
        const uint64_t ip = numbers[n % 7];
        struct pt_asid asid;
        pt_asid_init(&asid);
        asid.size = n % (sizeof asid + 9);
        asid.cr3 = n % 3;
        if (size == 0) {
            BOTH(by->pt_image_add_file(empty[i], SOME_CODE, offset, size,
                                       &asid, ip));
            continue;
        }
        BOTH(by->pt_image_add_file(a[i], SOME_CODE, offset, size, &asid, ip));
        BOTH(by->pt_iscache_add_file(k[i], SOME_CODE, offset, size, ip));
        BOTH(by->pt_image_add_cached(a[i], k[i], (int) n - 5, &asid));
        BOTH(by->pt_iscache_read(k[i], bytes, size % 16, (int) n - 5, ip));
        BOTH(by->pt_iscache_read(k[i], NULL, 1, 1, ip));
        BOTH(by->pt_iscache_set_limit(k[i], size));
        if (n % 5 == 0) BOTH(by->pt_image_remove_by_asid(a[i], &asid) > 0);
        if (n % 7 == 0)
            BOTH(by->pt_image_remove_by_filename(a[i], SOME_CODE, &asid) > 0);
        if (test_.bad && printf("    round %u\n", n)) break;
    }
    for (size_t size = 0; size < sizeof(struct pt_asid) + 9; size++) {
        struct pt_asid asid;
        pt_asid_init(&asid);
        BOTH(by->pt_image_remove_by_asid(a[i], NULL) >= 0);
        asid.size = size; /* so much of it is known */
        asid.cr3 = 5;
        asid.vmcs = 6;
        BOTH(by->pt_image_add_file(a[i], SOME_CODE, 0, 1, &asid, 0));
        asid.size = sizeof asid;
        asid.cr3 = 7;
        BOTH(by->pt_image_remove_by_asid(a[i], &asid));
        asid.cr3 = 5;
        asid.vmcs = 8;
        BOTH(by->pt_image_remove_by_asid(a[i], &asid));
    }
    for (int i = 0; i < 2; i++) {
        sides[i]->pt_image_free(a[i]);
        sides[i]->pt_image_free(empty[i]);
        sides[i]->pt_iscache_free(k[i]);
    }
}

/* ---- the encoder ---- */

static uint64_t some_bits(void)
{
    const uint64_t x = (uint64_t) dice(1u << 30) << 34
        ^ (uint64_t) dice(1u << 30) << 12 ^ dice(1u << 12);
    return x >> dice(64);
}

static struct pt_packet random_packet_(void)
{
    struct pt_packet p;
    memset(&p, 0, sizeof p);
    p.type = (enum pt_packet_type) dice(ppt_ptw + 3);
    if (p.type > ppt_ptw) p.type = (enum pt_packet_type) (p.type + 30);
    p.size = (uint8_t) dice(256);
    switch (p.type) {
    case ppt_fup:
    case ppt_tip:
    case ppt_tip_pge:
    case ppt_tip_pgd:
        p.payload.ip.ipc = (enum pt_ip_compression) dice(8);
        p.payload.ip.ip = some_bits();
        break;
    case ppt_tnt_8: /* 2.0.5 makes something else of none, and of too many */
        p.payload.tnt.bit_size = (uint8_t) (1 + dice(8));
        p.payload.tnt.payload = some_bits();
        if (p.payload.tnt.bit_size < 7)
            p.payload.tnt.payload &= (1u << p.payload.tnt.bit_size) - 1;
        break;
    case ppt_tnt_64:
        p.payload.tnt.bit_size = (uint8_t) (1 + dice(50));
        p.payload.tnt.payload =
            some_bits() & ((1ull << p.payload.tnt.bit_size) - 1);
        break;
    case ppt_mode:
        p.payload.mode.leaf =
            dice(2) ? pt_mol_exec : pt_mol_tsx;
        p.payload.mode.bits.exec.csl = dice(2) & 1u;
        p.payload.mode.bits.exec.csd = dice(2) & 1u;
        break;
    case ppt_pip:
        p.payload.pip.cr3 = some_bits() & 0xfffffffffffe0;
        p.payload.pip.nr = dice(2) & 1u;
        break;
    case ppt_vmcs: p.payload.vmcs.base = some_bits() & 0xffffffffff000; break;
    case ppt_tsc: p.payload.tsc.tsc = some_bits(); break;
    case ppt_cbr: p.payload.cbr.ratio = (uint8_t) dice(256); break;
    case ppt_tma:
        p.payload.tma.ctc = (uint16_t) dice(0x10000);
        p.payload.tma.fc = (uint16_t) dice(0x400);
        break;
    case ppt_mtc: p.payload.mtc.ctc = (uint8_t) dice(256); break;
    case ppt_cyc: p.payload.cyc.value = some_bits() >> 4; break;
    case ppt_mnt: p.payload.mnt.payload = some_bits(); break;
    case ppt_exstop: p.payload.exstop.ip = dice(2) & 1u; break;
    case ppt_mwait:
        p.payload.mwait.hints = (uint32_t) some_bits();
        p.payload.mwait.ext = dice(4);
        break;
    case ppt_pwre:
        p.payload.pwre.state = (uint8_t) dice(16);
        p.payload.pwre.sub_state = (uint8_t) dice(16);
        break;
    case ppt_pwrx:
        p.payload.pwrx.last = (uint8_t) dice(16);
        p.payload.pwrx.deepest = (uint8_t) dice(16);
        p.payload.pwrx.interrupt = dice(2) & 1u;
        p.payload.pwrx.store = dice(2) & 1u;
        p.payload.pwrx.autonomous = dice(2) & 1u;
        break;
    case ppt_ptw:
        p.payload.ptw.plc = (uint8_t) dice(4);
        p.payload.ptw.ip = dice(2) & 1u;
        p.payload.ptw.payload = some_bits();
        break;
    default: break;
    }
    return p;
}

TEST(encoder)
{
    static uint8_t bytes[2][96];
    struct pt_encoder *e[2];
    seed = 23;
    for (int n = 0; n < 20000 && !test_.bad; n++) {
        const unsigned room = dice(90);
        uint64_t at[2];
        memset(bytes, 0xa5, sizeof bytes);
        for (int i = 0; i < 2; i++) {
            struct pt_config c = config_of(bytes[i], room);
            e[i] = sides[i]->pt_alloc_encoder(&c);
            CHECK(sides[i]->pt_enc_get_config(e[i])->begin == bytes[i]);
        }
        for (int k = 0; k < 8; k++) {
            const struct pt_packet p = random_packet_();
            const unsigned to = dice(100);
            if (!dice(8)) BOTH(by->pt_enc_sync_set(e[i], to));
            BOTH(by->pt_enc_next(e[i], &p));
            if (test_.bad) printf("    packet type %d\n", (int) p.type);
            BOTH(by->pt_enc_get_offset(e[i], &at[i]));
            CHECK_EQ(at[1], at[0]);
        }
        CHECK(memcmp(bytes[0], bytes[1], sizeof bytes[0]) == 0);
        for (int i = 0; i < 2; i++) sides[i]->pt_free_encoder(e[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct pt_config c = config_of(bytes[i], 9);
        e[i] = sides[i]->pt_alloc_encoder(&c);
    }
    BOTH(by->pt_enc_next(e[i], NULL));
    BOTH(by->pt_enc_get_offset(e[i], NULL));
    for (int i = 0; i < 2; i++) sides[i]->pt_free_encoder(e[i]);
}

#endif /* COMPAT_CALLS_H */
