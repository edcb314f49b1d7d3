/* block.c: the decoder of blocks. Theirs end where the section does; of ours
 * those are cut in two that begin in one and end in another.
 *
 * SPDX-License-Identifier: MIT */
#include "flow.h"
#include <stdlib.h>
#include <string.h>

struct pt_block_decoder {
    shim_flow f;
    ipt_block rest; /* of a block that was cut; count 0: none */
    int status;     /* ... and what it came with */
};

struct pt_block_decoder *pt_blk_alloc_decoder(const struct pt_config *config)
{
    struct pt_block_decoder *d = calloc(1, sizeof *d);
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
    if (!d) return -pte_invalid;
    d->rest.count = 0;
    return shim_flow_sync_forward(&d->f);
}

int pt_blk_sync_backward(struct pt_block_decoder *d)
{
    if (!d) return -pte_invalid;
    d->rest.count = 0;
    return shim_flow_sync_backward(&d->f);
}

int pt_blk_sync_set(struct pt_block_decoder *d, uint64_t offset)
{
    if (!d) return -pte_invalid;
    d->rest.count = 0;
    return shim_flow_sync_set(&d->f, offset);
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

int pt_blk_event(struct pt_block_decoder *d, struct pt_event *event,
                 size_t size)
{
    return d ? shim_flow_event(&d->f, event, size) : -pte_invalid;
}

/* ---- blocks ---- */

/* Read and classify one instruction. */
static int fetch(shim_flow *f, ipt_code *code, uint8_t *raw,
                 const ipt_asid *asid, uint64_t ip, uint8_t mode)
{
    int size = shim_flow_bytes(f, raw, asid, ip, 0);
    int status = IPT_MORE;
    while (size < SHIM_RAW) { /* up to where nothing is, or all is there */
        int more;
        if (size > 0)
            status = ipt_classify(code, raw, (size_t) size, mode, NULL);
        if (status != IPT_MORE) return status;
        more = shim_image_read(f->image, raw + size, (size_t) (SHIM_RAW - size),
                               asid, ip + (uint64_t) size);
        if (more <= 0) return IPT_NEED_PAGE;
        size += more;
    }
    return ipt_classify(code, raw, SHIM_RAW, mode, NULL);
}

static uint64_t after(const ipt_code *code, uint64_t ip, uint8_t mode)
{
    ip += code->size;
    if (code->kind == IPT_INSN_JMP || code->kind == IPT_INSN_CALL)
        ip += (uint64_t) code->displacement;
    return mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

static int isid_at(shim_flow *f, const ipt_asid *asid, uint64_t ip)
{
    const shim_part *p = shim_image_at(f->image, asid, ip);
    return p ? p->isid : 0;
}

/* Cut a block before its first instruction that is in another section than the
 * one that the block begins in; the rest waits. */
static void cut(struct pt_block_decoder *d, ipt_block *b, int isid)
{
    uint8_t raw[SHIM_RAW];
    ipt_code code;
    uint64_t ip = b->ip;
    uint16_t n = 1;
    for (; n < b->count; n++) {
        uint64_t next;
        if (fetch(&d->f, &code, raw, &d->f.asid, ip, b->mode) < 0) return;
        next = after(&code, ip, b->mode);
        if (isid_at(&d->f, &d->f.asid, next) != isid) {
            d->rest = *b;
            d->rest.ip = next;
            d->rest.count = (uint16_t) (b->count - n);
            b->end_ip = ip;
            b->count = n;
            b->kind = code.kind;
            b->last_size = code.size;
            b->flags &= (uint16_t) ~IPT_FLOW_TRUNCATED;
            return;
        }
        ip = next;
    }
}

static void fill(struct pt_block_decoder *d, struct pt_block *to, ipt_block *b)
{
    shim_flow *f = &d->f;
    const shim_part *p = NULL;
    if (f->image->count) p = shim_image_at(f->image, &d->f.asid, b->ip);
    to->isid = p ? p->isid : 0;
    if (f->image->count
        && (!p || b->end_ip - p->begin >= p->size)
        && isid_at(f, &d->f.asid, b->end_ip) != to->isid)
        cut(d, b, to->isid);
    to->ip = b->ip;
    to->end_ip = b->end_ip;
    to->mode = (enum pt_exec_mode) b->mode;
    to->iclass = shim_class(b->kind);
    to->ninsn = b->count;
    to->speculative = (b->flags & IPT_FLOW_SPECULATIVE) != 0;
    to->truncated = (b->flags & IPT_FLOW_TRUNCATED) != 0;
    if (!to->truncated) return;
    to->size = b->last_size;
    (void) shim_flow_bytes(f, to->raw, &d->f.asid, b->end_ip, b->last_size);
}

static int next(struct pt_block_decoder *d, struct pt_block *to)
{
    shim_flow *f = &d->f;
    ipt_block b;
    int status;
    shim_flow_code(f);
    memset(to, 0, sizeof *to);
    if (!LIKELY(!d->rest.count)) {
        b = d->rest;
        d->rest.count = 0;
        fill(d, to, &b);
        return d->rest.count ? 0 : shim_flow_status(f, d->status);
    }
    f->asid = f->d.at.asid; /* before a MOV CR3 changes it */
    do status = ipt_blk_next(&f->d.blk, &b);
    while (status == IPT_EVENT_FIRST);
    if (status < 0) {
        if (f->d.at.valid & IPT_AT_IP && !f->disabled) {
            to->ip = to->end_ip = f->d.at.ip;
            to->mode = (enum pt_exec_mode) f->d.at.mode;
        }
        return shim_flow_error(f, status);
    }
    f->error = 0;
    f->disabled = 0;
    fill(d, to, &b);
    d->status = status;
    return d->rest.count ? 0 : shim_flow_status(f, status);
}

int pt_blk_next(struct pt_block_decoder *d, struct pt_block *block,
                size_t size)
{
    struct pt_block all;
    int status;
    if (!d || !block) return -pte_invalid;
    if (!d->f.synced) return -pte_nosync;
    d->f.fresh = d->f.evented = 0;
    if (LIKELY(size == sizeof all)) return next(d, block);
    status = next(d, &all);
    shim_copy(block, size, &all, sizeof all);
    return status;
}
