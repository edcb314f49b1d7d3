/* api.h: libipt's functions, of one of several libraries in a process.
 *
 * SPDX-License-Identifier: MIT */
#ifndef API_H
#define API_H
#include <intel-pt.h>

/* Every symbol that Debian's libipt.so.2 exports. */
#define API_LIST(X)                                                          \
    X(pt_alloc_encoder) X(pt_blk_alloc_decoder) X(pt_blk_asid)               \
    X(pt_blk_core_bus_ratio) X(pt_blk_event) X(pt_blk_free_decoder)          \
    X(pt_blk_get_config) X(pt_blk_get_image) X(pt_blk_get_offset)            \
    X(pt_blk_get_sync_offset) X(pt_blk_next) X(pt_blk_set_image)             \
    X(pt_blk_sync_backward) X(pt_blk_sync_forward) X(pt_blk_sync_set)        \
    X(pt_blk_time) X(pt_cpu_errata) X(pt_enc_get_config)                     \
    X(pt_enc_get_offset) X(pt_enc_next) X(pt_enc_sync_set) X(pt_errstr)      \
    X(pt_free_encoder) X(pt_image_add_cached) X(pt_image_add_file)           \
    X(pt_image_alloc) X(pt_image_copy) X(pt_image_free) X(pt_image_name)     \
    X(pt_image_remove_by_asid) X(pt_image_remove_by_filename)                \
    X(pt_image_set_callback) X(pt_insn_alloc_decoder) X(pt_insn_asid)        \
    X(pt_insn_core_bus_ratio) X(pt_insn_event) X(pt_insn_free_decoder)       \
    X(pt_insn_get_config) X(pt_insn_get_image) X(pt_insn_get_offset)         \
    X(pt_insn_get_sync_offset) X(pt_insn_next) X(pt_insn_set_image)          \
    X(pt_insn_sync_backward) X(pt_insn_sync_forward) X(pt_insn_sync_set)     \
    X(pt_insn_time) X(pt_iscache_add_file) X(pt_iscache_alloc)               \
    X(pt_iscache_free) X(pt_iscache_name) X(pt_iscache_read)                 \
    X(pt_iscache_set_limit) X(pt_library_version) X(pt_pkt_alloc_decoder)    \
    X(pt_pkt_free_decoder) X(pt_pkt_get_config) X(pt_pkt_get_offset)         \
    X(pt_pkt_get_sync_offset) X(pt_pkt_next) X(pt_pkt_sync_backward)         \
    X(pt_pkt_sync_forward) X(pt_pkt_sync_set) X(pt_qry_alloc_decoder)        \
    X(pt_qry_cond_branch) X(pt_qry_core_bus_ratio) X(pt_qry_event)           \
    X(pt_qry_free_decoder) X(pt_qry_get_config) X(pt_qry_get_offset)         \
    X(pt_qry_get_sync_offset) X(pt_qry_indirect_branch)                      \
    X(pt_qry_sync_backward) X(pt_qry_sync_forward) X(pt_qry_sync_set)        \
    X(pt_qry_time)

/* ... of 2.1, and of 2.2. */
#if LIBIPT_VERSION >= 0x201
#define API_LIST_2_1(X)                                                      \
    X(pt_evt_alloc_decoder) X(pt_evt_free_decoder) X(pt_evt_sync_forward)    \
    X(pt_evt_sync_backward) X(pt_evt_sync_set) X(pt_evt_get_offset)          \
    X(pt_evt_get_sync_offset) X(pt_evt_get_config) X(pt_evt_next)
#else
#define API_LIST_2_1(X)
#endif
#if LIBIPT_VERSION >= 0x202
#define API_LIST_2_2(X) X(pt_insn_resync) X(pt_blk_resync)
#else
#define API_LIST_2_2(X)
#endif

#define API_POINTER_(name) __typeof__(name) *name;
typedef struct api {
    void *handle;
    API_LIST(API_POINTER_)
    API_LIST_2_1(API_POINTER_)
    API_LIST_2_2(API_POINTER_)
} api;

/* Open a library. NULL, or what is wrong. */
const char *api_open(api *a, const char *path);

/* Open the system's library, or that of another version which THEIRS names, and
 * the one at a path with a slash in it. */
const char *api_open_both(api *system, api *ours, const char *path);

#endif /* API_H */
