/* insn.c: the decoder of instructions.
 *
 * SPDX-License-Identifier: MIT */
#include "flow.h"
#include <stdlib.h>
#include <string.h>

struct pt_insn_decoder {
    shim_flow f;
};

struct pt_insn_decoder *pt_insn_alloc_decoder(const struct pt_config *config)
{
    struct pt_insn_decoder *d = malloc(sizeof *d);
    if (d && shim_flow_init(&d->f, config, 0) == 0) return d;
    free(d);
    return NULL;
}

void pt_insn_free_decoder(struct pt_insn_decoder *d)
{
    if (d) shim_flow_end(&d->f);
    free(d);
}

int pt_insn_sync_forward(struct pt_insn_decoder *d)
{
    return d ? shim_flow_sync_forward(&d->f) : -pte_invalid;
}

int pt_insn_sync_backward(struct pt_insn_decoder *d)
{
    return d ? shim_flow_sync_backward(&d->f) : -pte_invalid;
}

int pt_insn_sync_set(struct pt_insn_decoder *d, uint64_t offset)
{
    return d ? shim_flow_sync_set(&d->f, offset) : -pte_invalid;
}

int pt_insn_get_offset(const struct pt_insn_decoder *d, uint64_t *offset)
{
    return d ? shim_flow_offset(&d->f, offset) : -pte_invalid;
}

int pt_insn_get_sync_offset(const struct pt_insn_decoder *d, uint64_t *offset)
{
    return d ? shim_flow_sync_offset(&d->f, offset) : -pte_invalid;
}

struct pt_image *pt_insn_get_image(struct pt_insn_decoder *d)
{
    return d ? d->f.image : NULL;
}

int pt_insn_set_image(struct pt_insn_decoder *d, struct pt_image *image)
{
    return d ? shim_flow_set_image(&d->f, image) : -pte_invalid;
}

const struct pt_config *pt_insn_get_config(const struct pt_insn_decoder *d)
{
    return d ? &d->f.t.theirs : NULL;
}

int pt_insn_time(struct pt_insn_decoder *d, uint64_t *time,
                 uint32_t *lost_mtc, uint32_t *lost_cyc)
{
    return d ? shim_flow_time(&d->f, time, lost_mtc, lost_cyc) : -pte_invalid;
}

int pt_insn_core_bus_ratio(struct pt_insn_decoder *d, uint32_t *cbr)
{
    return d ? shim_flow_cbr(&d->f, cbr) : -pte_invalid;
}

int pt_insn_asid(const struct pt_insn_decoder *d, struct pt_asid *asid,
                 size_t size)
{
    return d ? shim_flow_asid(&d->f, asid, size) : -pte_invalid;
}

int pt_insn_resync(struct pt_insn_decoder *d)
{
    return d ? shim_flow_resync(&d->f) : -pte_invalid;
}

int pt_insn_event(struct pt_insn_decoder *d, struct pt_event *event,
                  size_t size)
{
    return d ? shim_flow_event(&d->f, event, size) : -pte_invalid;
}

/* ---- instructions ---- */

/* The bytes and the section of an instruction. */
static void fill(shim_flow *f, struct pt_insn *to)
{
    struct pt_image *image = f->image;
    const shim_part *p = image->count ? shim_image_at(image, &f->asid, to->ip)
                                      : NULL;
    if (LIKELY(p != NULL)) {
        const uint64_t from = to->ip - p->begin;
        to->isid = p->isid;
        if (LIKELY(p->size - from >= SHIM_RAW)) {
            memcpy(to->raw, p->bytes + from, SHIM_RAW);
            return;
        }
        to->truncated = p->size - from < to->size;
    }
    shim_flow_code_at(f, to->raw, (uint8_t) to->mode, to->ip, to->size);
}

/* Where flow is, without an instruction. */
static void nothing(const shim_flow *f, struct pt_insn *to)
{
    memset(to, 0, sizeof *to);
    to->ip = f->d.at.ip;
    to->mode = (enum pt_exec_mode) f->d.at.mode;
}

/* An error comes with the instruction that it is about. */
static int culprit(shim_flow *f, struct pt_insn *to, int status)
{
    ipt_code code;
    nothing(f, to);
    (void) shim_flow_culprit(f, status, to->raw, &code);
    if (code.size) {
        to->size = code.size;
        to->iclass = shim_class(code.kind);
        fill(f, to);
    }
    return shim_flow_error(f, status);
}

static int next(shim_flow *f, struct pt_insn *to)
{
    ipt_insn insn;
    int status;
    f->asid = f->d.at.asid; /* before a MOV CR3 changes it */
    shim_flow_code(f);
    do {
        status = ipt_insn_next(&f->d.insn, &insn);
        if (status == IPT_EVENT_FIRST && shim_flow_first(f)) {
            nothing(f, to);
            return -pte_event_ignored;
        }
    } while (status == IPT_EVENT_FIRST);
    if (status < 0) return culprit(f, to, status);
    f->error = 0;
    f->disabled = 0;
    memset(to, 0, sizeof *to);
    to->ip = insn.ip;
    to->mode = (enum pt_exec_mode) insn.mode;
    to->iclass = shim_class(insn.kind);
    to->size = insn.size;
    to->speculative = (insn.flags & IPT_FLOW_SPECULATIVE) != 0;
    fill(f, to);
    return shim_flow_status(f, status);
}

/* 2.0.5 and 2.1 do not write an instruction for an error while tracing is
 * disabled. */
static int is_silent(const shim_flow *f, int status)
{
    return status < 0 && f->disabled
        && shim_client_now(f->client) != SHIM_2_1;
}

int pt_insn_next(struct pt_insn_decoder *d, struct pt_insn *insn, size_t size)
{
    struct pt_insn all;
    struct pt_insn *to = LIKELY(size == sizeof all) ? insn : &all;
    int status;
    if (!d || !insn) return -pte_invalid;
    if (!d->f.synced) return -pte_nosync;
    d->f.fresh = 0;
    if (UNLIKELY(d->f.pending)
        && shim_client_now(d->f.client) == SHIM_2_1) {
        memset(insn, 0, size);
        return -pte_event_ignored;
    }
    d->f.evented = 0;
    d->f.held.count = 0;
    if (UNLIKELY(d->f.disabled)) to = &all;
    status = next(&d->f, to);
    if (to != &all || is_silent(&d->f, status)) return status;
    shim_copy(insn, size, &all, sizeof all);
    return status;
}
