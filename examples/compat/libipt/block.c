/* block.c: the decoder of blocks.
 *
 * SPDX-License-Identifier: MIT */
#include "flow.h"
#include <stdlib.h>
#include <string.h>

struct pt_block_decoder {
    shim_flow f;
};

struct pt_block_decoder *pt_blk_alloc_decoder(const struct pt_config *config)
{
    struct pt_block_decoder *d = malloc(sizeof *d);
    if (d && shim_flow_init(&d->f, config, 1) == 0) return d;
    free(d);
    return NULL;
}

void pt_blk_free_decoder(struct pt_block_decoder *d)
{
    if (d) shim_flow_end(&d->f);
    free(d);
}

int pt_blk_sync_forward(struct pt_block_decoder *d)
{
    return d ? shim_flow_sync_forward(&d->f) : -pte_invalid;
}

int pt_blk_sync_backward(struct pt_block_decoder *d)
{
    return d ? shim_flow_sync_backward(&d->f) : -pte_invalid;
}

int pt_blk_sync_set(struct pt_block_decoder *d, uint64_t offset)
{
    return d ? shim_flow_sync_set(&d->f, offset) : -pte_invalid;
}

int pt_blk_get_offset(const struct pt_block_decoder *d, uint64_t *offset)
{
    return d ? shim_flow_offset(&d->f, offset) : -pte_invalid;
}

int pt_blk_get_sync_offset(const struct pt_block_decoder *d, uint64_t *offset)
{
    return d ? shim_flow_sync_offset(&d->f, offset) : -pte_invalid;
}

struct pt_image *pt_blk_get_image(struct pt_block_decoder *d)
{
    return d ? d->f.image : NULL;
}

int pt_blk_set_image(struct pt_block_decoder *d, struct pt_image *image)
{
    return d ? shim_flow_set_image(&d->f, image) : -pte_invalid;
}

const struct pt_config *pt_blk_get_config(const struct pt_block_decoder *d)
{
    return d ? &d->f.t.theirs : NULL;
}

int pt_blk_time(struct pt_block_decoder *d, uint64_t *time,
                uint32_t *lost_mtc, uint32_t *lost_cyc)
{
    return d ? shim_flow_time(&d->f, time, lost_mtc, lost_cyc) : -pte_invalid;
}

int pt_blk_core_bus_ratio(struct pt_block_decoder *d, uint32_t *cbr)
{
    return d ? shim_flow_cbr(&d->f, cbr) : -pte_invalid;
}

int pt_blk_asid(const struct pt_block_decoder *d, struct pt_asid *asid,
                size_t size)
{
    return d ? shim_flow_asid(&d->f, asid, size) : -pte_invalid;
}

int pt_blk_resync(struct pt_block_decoder *d)
{
    return d ? shim_flow_resync(&d->f) : -pte_invalid;
}

int pt_blk_event(struct pt_block_decoder *d, struct pt_event *event,
                 size_t size)
{
    return d ? shim_flow_event(&d->f, event, size) : -pte_invalid;
}

/* ---- blocks ---- */

static void fill(shim_flow *f, struct pt_block *to, const ipt_block *b)
{
    to->isid = shim_flow_isid(f, &f->asid, b->ip);
    to->ip = b->ip;
    to->end_ip = b->end_ip;
    to->mode = (enum pt_exec_mode) b->mode;
    to->iclass = shim_class(b->kind);
    to->ninsn = b->count;
    to->speculative = (b->flags & IPT_FLOW_SPECULATIVE) != 0;
    to->truncated = (b->flags & IPT_FLOW_TRUNCATED) != 0;
    if (!to->truncated) return;
    to->size = b->last_size;
    shim_flow_code_at(f, to->raw, b->mode, b->end_ip, b->last_size);
}

/* Where flow is, without a block. */
static void nothing(const shim_flow *f, struct pt_block *to)
{
    if (!(f->d.at.valid & IPT_AT_IP) || f->disabled) return;
    to->ip = f->d.at.ip; /* end_ip is 0: there is no instruction */
    to->mode = (enum pt_exec_mode) f->d.at.mode;
}

/* An error comes with the instruction that it is about, as a block. */
static int culprit(shim_flow *f, struct pt_block *to, int status)
{
    ipt_code code;
    uint8_t raw[SHIM_RAW];
    nothing(f, to);
    (void) shim_flow_culprit(f, status, raw, &code);
    if (code.size) {
        to->isid = shim_flow_isid(f, &f->asid, to->ip);
        to->iclass = shim_class(code.kind);
        to->end_ip = to->ip;
        to->ninsn = 1;
    }
    return shim_flow_error(f, status);
}

static int next(shim_flow *f, struct pt_block *to)
{
    ipt_block b;
    int status;
    shim_flow_code(f);
    memset(to, 0, sizeof *to);
    if (f->pending) { /* it is asked for first */
        nothing(f, to);
        return pts_event_pending | (f->disabled ? pts_ip_suppressed : 0);
    }
    f->asid = f->d.at.asid; /* before a MOV CR3 changes it */
    do {
        status = ipt_blk_next(&f->d.blk, &b);
        if (status == IPT_EVENT_FIRST && shim_flow_first(f)) {
            nothing(f, to);
            return pts_event_pending | (f->disabled ? pts_ip_suppressed : 0);
        }
    } while (status == IPT_EVENT_FIRST);
    if (status < 0) return culprit(f, to, status);
    f->error = 0;
    f->disabled = 0;
    fill(f, to, &b);
    return shim_flow_status(f, status);
}

int pt_blk_next(struct pt_block_decoder *d, struct pt_block *block,
                size_t size)
{
    struct pt_block all;
    struct pt_block *to = LIKELY(size == sizeof all) ? block : &all;
    int status;
    if (!d || !block) return -pte_invalid;
    if (!d->f.synced) return -pte_nosync;
    d->f.fresh = d->f.evented = 0;
    d->f.held.count = 0;
    status = next(&d->f, to);
    if (to == &all) shim_copy(block, size, &all, sizeof all);
    return status;
}
