/* compat.c: the passes of libipt.c once more, by the libipt.so.2 of
 * examples/compat that LIBIPT names; the bench is linked with the system's. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <stdlib.h>

#ifdef __has_include
#if __has_include(<intel-pt.h>)
#include "tests/compat/api.h"

static api on_ipt;

#define pt_cpu_errata on_ipt.pt_cpu_errata
#define pt_pkt_alloc_decoder on_ipt.pt_pkt_alloc_decoder
#define pt_pkt_free_decoder on_ipt.pt_pkt_free_decoder
#define pt_pkt_sync_forward on_ipt.pt_pkt_sync_forward
#define pt_pkt_next on_ipt.pt_pkt_next
#define pt_qry_alloc_decoder on_ipt.pt_qry_alloc_decoder
#define pt_qry_free_decoder on_ipt.pt_qry_free_decoder
#define pt_qry_sync_forward on_ipt.pt_qry_sync_forward
#define pt_qry_event on_ipt.pt_qry_event
#define pt_qry_cond_branch on_ipt.pt_qry_cond_branch
#define pt_qry_indirect_branch on_ipt.pt_qry_indirect_branch
#define pt_image_alloc on_ipt.pt_image_alloc
#define pt_image_free on_ipt.pt_image_free
#define pt_image_set_callback on_ipt.pt_image_set_callback
#define pt_image_add_cached on_ipt.pt_image_add_cached
#define pt_iscache_alloc on_ipt.pt_iscache_alloc
#define pt_iscache_free on_ipt.pt_iscache_free
#define pt_iscache_set_limit on_ipt.pt_iscache_set_limit
#define pt_iscache_add_file on_ipt.pt_iscache_add_file
#define pt_blk_alloc_decoder on_ipt.pt_blk_alloc_decoder
#define pt_blk_free_decoder on_ipt.pt_blk_free_decoder
#define pt_blk_set_image on_ipt.pt_blk_set_image
#define pt_blk_sync_forward on_ipt.pt_blk_sync_forward
#define pt_blk_next on_ipt.pt_blk_next
#define pt_blk_event on_ipt.pt_blk_event
#define pt_insn_alloc_decoder on_ipt.pt_insn_alloc_decoder
#define pt_insn_free_decoder on_ipt.pt_insn_free_decoder
#define pt_insn_set_image on_ipt.pt_insn_set_image
#define pt_insn_sync_forward on_ipt.pt_insn_sync_forward
#define pt_insn_next on_ipt.pt_insn_next
#define pt_insn_event on_ipt.pt_insn_event

#define BENCH_COMPAT
#include "libipt.c"
#endif
#endif

#ifdef BENCH_COMPAT
#define BY(prepare, pass) prepare, pass

const char *bench_compat_open(const char *library)
{
    return api_open(&on_ipt, library);
}
#else
#define BY(prepare, pass) NULL, NULL

const char *bench_compat_open(const char *library)
{
    (void) library;
    return "built without libipt-dev";
}
#endif

const bench_row bench_compat[] = {
    {"compat pkt", "on ipt", BY(NULL, pass_packets), 0, 0, 0},
    {"compat qry", "on ipt", BY(NULL, pass_queries), 0, 0, 0},
    {"compat blk", "on ipt", BY(prepare_sections, pass_blocks), 1, 0, 0},
    {"compat blk call", "on ipt", BY(prepare_callback, pass_blocks), 1, 0, 0},
    {"compat insn", "on ipt", BY(prepare_sections, pass_insns), 1, 0, 0},
    {"compat insn call", "on ipt", BY(prepare_callback, pass_insns), 1, 0, 0},
    {0},
};
