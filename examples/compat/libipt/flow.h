/* flow.h: what the decoders of instructions and of blocks have in common.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FLOW_H
#define FLOW_H
#include "shim.h"
#include <string.h>

typedef struct shim_flow {
    shim_trace t;
    struct pt_image *image;
    struct pt_image own;  /* the default image */
    shim_cache *cache;    /* NULL: the decoder is not there yet */
    ipt_event last;       /* to be handed out, if pending */
    shim_held held;       /* before that one */
    ipt_asid asid;        /* of what was handed out last */
    uint64_t sync;        /* where it was synchronised */
    uint8_t pending;
    uint8_t synced;
    uint8_t fresh; /* since then nothing was asked */
    uint8_t evented; /* the last that was handed out is an event */
    uint8_t blocks;  /* which of the two */
    uint8_t client;  /* SHIM_2_0, ..., as far as this decoder can tell */
    uint8_t disabled; /* tracing is, after what was handed out */
    int rest;        /* the status after the event that is pending; ours */
    int error;       /* what the last call returned, if negative; ours */
    struct { /* code that a callback gave last */
        uint64_t ip;
        size_t size;
        ipt_asid asid;
        uint8_t bytes[128];
    } shown;
    struct { /* where this call found no code */
        uint64_t ip;
        ipt_asid asid;
        uint8_t known;
    } missing;
    union {
        ipt_where at; /* both begin with it */
        ipt_insn_decoder insn;
        ipt_blk_decoder blk;
    } d;
} shim_flow;

HIDDEN int shim_flow_init(shim_flow *f, const struct pt_config *config,
                          int blocks);
HIDDEN void shim_flow_end(shim_flow *f);

HIDDEN int shim_flow_sync_forward(shim_flow *f);
HIDDEN int shim_flow_sync_backward(shim_flow *f);
HIDDEN int shim_flow_sync_set(shim_flow *f, uint64_t offset);
HIDDEN int shim_flow_offset(const shim_flow *f, uint64_t *offset);
HIDDEN int shim_flow_sync_offset(const shim_flow *f, uint64_t *offset);
HIDDEN int shim_flow_set_image(shim_flow *f, struct pt_image *image);
HIDDEN int shim_flow_time(const shim_flow *f, uint64_t *time,
                          uint32_t *lost_mtc, uint32_t *lost_cyc);
HIDDEN int shim_flow_cbr(const shim_flow *f, uint32_t *cbr);
HIDDEN int shim_flow_asid(const shim_flow *f, struct pt_asid *asid,
                          size_t size);
HIDDEN int shim_flow_event(shim_flow *f, struct pt_event *event, size_t size);

/* The code has changed since the cache was filled. */
HIDDEN void shim_flow_renew(shim_flow *f);

static inline void shim_flow_code(shim_flow *f)
{
    f->missing.known = 0;
    if (!LIKELY(f->cache->version == f->image->version)) shim_flow_renew(f);
}

/* The identifier of the section at an ip; 0: it has none. */
static inline int shim_flow_isid(shim_flow *f, const ipt_asid *asid,
                                 uint64_t ip)
{
    const shim_part *p;
    if (!f->image->count) return 0;
    p = shim_image_at(f->image, asid, ip);
    return p ? p->isid : 0;
}

/* libipt's status for one of ours that is not negative: events that it has are
 * pending; the trace has ended; tracing is disabled. */
HIDDEN int shim_flow_flags(shim_flow *f, int status);

static inline int shim_flow_status(shim_flow *f, int status)
{
    if (LIKELY(status == 0)) return 0;
    return shim_flow_flags(f, status);
}

/* libipt's error for one of ours. */
HIDDEN int shim_flow_error(shim_flow *f, int status);

/* An event comes before the next item: take it. 0: the client does not have
 * it; otherwise its status. */
HIDDEN int shim_flow_first(shim_flow *f);

HIDDEN int shim_flow_resync(shim_flow *f);

/* The instruction that an error is about. Returns how many of its bytes are in
 * raw; code->size is 0 if they are none. */
HIDDEN int shim_flow_culprit(shim_flow *f, int status, uint8_t *raw,
                             ipt_code *code);

/* The bytes of an instruction that executed: those that were read last, or from
 * the cache. */
static inline void shim_flow_code_at(shim_flow *f, uint8_t *raw, uint8_t mode,
                                     uint64_t ip, uint8_t size)
{
    const uint64_t at = ip - f->shown.ip;
    if (at < f->shown.size && f->shown.size - at >= SHIM_RAW
        && f->shown.asid.cr3 == f->asid.cr3
        && f->shown.asid.vmcs == f->asid.vmcs) {
        memcpy(raw, f->shown.bytes + at, SHIM_RAW);
        return;
    }
    (void) ipt_cache_code(&f->cache->cache, &f->t.config, &f->asid, mode, ip,
                          raw, size);
}

#endif /* FLOW_H */
