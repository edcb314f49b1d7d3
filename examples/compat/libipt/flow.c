/* flow.c: see flow.h.
 *
 * SPDX-License-Identifier: MIT */
#include "flow.h"
#include <stdlib.h>
#include <string.h>

/* Keep what was read: flow passes most of it next. */
static void show(shim_flow *f, const uint8_t *bytes, size_t size,
                 const ipt_asid *asid, uint64_t ip)
{
    if (size > sizeof f->shown.bytes) size = sizeof f->shown.bytes;
    memcpy(f->shown.bytes, bytes, size);
    f->shown.size = size;
    f->shown.ip = ip;
    f->shown.asid = *asid;
}

/* Did this call find that there is no code? */
static int is_missing(const shim_flow *f, const ipt_asid *asid, uint64_t ip)
{
    return f->missing.known && f->missing.ip == ip
        && f->missing.asid.cr3 == asid->cr3
        && f->missing.asid.vmcs == asid->vmcs;
}

static void miss(shim_flow *f, const ipt_asid *asid, uint64_t ip)
{
    f->missing.known = 1;
    f->missing.ip = ip;
    f->missing.asid = *asid;
}

/* A callback may have all or nothing: where it has not so much, it is asked once
 * more, for as much as libipt asks for. */
static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    shim_flow *f = context; /* which begins with the trace */
    int got = IPT_NEED_PAGE;
    if (!is_missing(f, asid, ip)) {
        got = shim_image_read(f->image, buffer, size, asid, ip);
        if (got == IPT_NEED_PAGE && size > SHIM_RAW)
            got = shim_image_read(f->image, buffer, SHIM_RAW, asid, ip);
        if (got == IPT_NEED_PAGE) miss(f, asid, ip);
    }
    if (got > 0 && !f->image->count) show(f, buffer, (size_t) got, asid, ip);
    /* With IPT_NEED_PAGE a block would wait for the code that is missing. */
    if (got != IPT_NEED_PAGE || !f->blocks) return got;
    f->image->error = -pte_nomap;
    return SHIM_USER_ERROR;
}

/* Blocks end where the section does. Both kinds of decoders do so, as
 * they use the same cache. */
static uint64_t section_of(const ipt_asid *asid, uint64_t ip, void *context)
{
    return (uint64_t) shim_flow_isid(context, asid, ip);
}

/* Code that comes from a callback only is in none. */
static void set_section(shim_flow *f)
{
    f->t.config.section = f->image->count ? section_of : NULL;
}

int shim_flow_init(shim_flow *f, const struct pt_config *config, int blocks)
{
    const struct pt_conf_flags *flags = &f->t.theirs.flags;
    uint32_t bits;
    int status;
    memset(f, 0, offsetof(shim_flow, d) + sizeof f->d.at); /* prepare: d */
    status = shim_trace_init(&f->t, config);
    if (status < 0) return status;
    f->t.config.read = read_code;
    f->t.config.flags = IPT_CONFIG_WALK_ON | IPT_CONFIG_KEEP_CALLS;
    f->blocks = blocks != 0;
    if (blocks ? flags->variant.block.enable_tick_events
               : flags->variant.insn.enable_tick_events)
        f->t.config.flags |= IPT_CONFIG_TICKS;
    if (blocks && flags->variant.block.end_on_call)
        f->t.config.flags |= IPT_CONFIG_END_ON_CALL;
    if (blocks && flags->variant.block.end_on_jump)
        f->t.config.flags |= IPT_CONFIG_END_ON_JUMP;
    memcpy(&bits, flags, sizeof bits);
    if (bits & (blocks ? SHIM_BLK_KEEP_TCAL : SHIM_INSN_KEEP_TCAL))
        f->t.config.flags |= IPT_CONFIG_KEEP_TCAL;
    if (bits & (blocks ? SHIM_BLK_IFLAGS : SHIM_INSN_IFLAGS))
        f->t.config.flags |= IPT_CONFIG_IFLAGS;
    shim_image_init(&f->own);
    f->image = &f->own;
    return 0;
}

void shim_flow_end(shim_flow *f)
{
    shim_cache_drop(f->cache);
    shim_image_end(&f->own);
}

/* ---- synchronising ---- */

/* The decoder begins with the first synchronisation, when its image is known.
 */
static int prepare(shim_flow *f)
{
    int status = IPT_OK;
    f->pending = 0;
    f->held.count = 0;
    if (!f->cache) {
        f->cache = shim_cache_take(f->image, f->t.piece.size);
        if (!f->cache) return -pte_nomem;
        status = f->blocks
            ? ipt_blk_init(&f->d.blk, &f->t.config, &f->t.trace,
                           &f->cache->cache)
            : ipt_insn_init(&f->d.insn, &f->t.config, &f->t.trace,
                            &f->cache->cache);
    } else if (f->image->callback) {
        f->cache->version = 0;
    }
    if (status < 0) return shim_error(&f->t, &f->d.at, status);
    shim_flow_code(f);
    set_section(f);
    return 0;
}

void shim_flow_renew(shim_flow *f)
{
    set_section(f);
    f->shown.size = 0;
    if (ipt_cache_invalidate(&f->cache->cache, NULL, 0, 0) >= 0)
        f->cache->version = f->image->version;
}

static int is_status_enabled(const ipt_event *e)
{
    return e->type == IPT_EVT_ENABLED && e->flags & IPT_EVENT_STATUS;
}

static int synced(shim_flow *f, int status)
{
    if (status < 0) {
        f->error = status;
        return shim_flow_error(f, status);
    }
    f->synced = f->fresh = 1;
    f->evented = 0;
    f->sync = f->d.at.sync;
    f->asid.cr3 = f->asid.vmcs = IPT_ASID_UNKNOWN;
    f->error = 0;
    memset(&f->last, 0, sizeof f->last);
    f->disabled = (status & IPT_IP_SUPPRESSED) != 0;
    status = shim_flow_flags(f, status);
    if (f->pending && is_status_enabled(&f->last)) {
        f->disabled = 0; /* whatever comes after that */
        status &= ~pts_ip_suppressed;
    }
    return status & pts_eos ? -pte_eos : status;
}

int shim_flow_sync_forward(shim_flow *f)
{
    int status;
    status = prepare(f);
    if (status < 0) return status;
    return synced(f, f->blocks ? ipt_blk_sync_forward(&f->d.blk)
                               : ipt_insn_sync_forward(&f->d.insn));
}

static int search_backward(shim_flow *f)
{
    return f->blocks ? ipt_blk_sync_backward(&f->d.blk)
                     : ipt_insn_sync_backward(&f->d.insn);
}

static int search_from(shim_flow *f, uint64_t offset)
{
    return f->blocks ? ipt_blk_sync_set(&f->d.blk, offset)
                     : ipt_insn_sync_set(&f->d.insn, offset);
}

int shim_flow_sync_backward(shim_flow *f)
{
    int status;
    status = prepare(f);
    if (status < 0) return status;
    if (!f->fresh) return synced(f, search_backward(f));
    /* Reading ahead has passed the PSB: not that one, the one before it. */
    status = search_from(f, f->sync);
    if (status >= 0) status = search_backward(f);
    if (status >= 0) return synced(f, status);
    (void) synced(f, search_from(f, f->sync));
    return shim_error(&f->t, &f->d.at, status);
}

int shim_flow_sync_set(shim_flow *f, uint64_t offset)
{
    int status = shim_psb_at(&f->t, &offset);
    if (status == 0) status = prepare(f);
    if (status < 0) return status;
    return synced(f, search_from(f, offset));
}

/* ---- where it stands ---- */

int shim_flow_offset(const shim_flow *f, uint64_t *offset)
{
    const ipt_where *at = &f->d.at;
    const uint64_t here = at->packet_offset;
    if (!offset) return -pte_invalid;
    if (!f->synced) return -pte_nosync;
    *offset = here;
    if (f->pending && shim_client_now(f->client) == SHIM_2_1) {
        *offset = shim_event_offset(&f->t, &f->last);
        return 0;
    }
    if (f->error <= IPT_ERR_OPCODE && f->error > IPT_ERR_MISMATCH) return 0;
    switch (at->packet) {
    case IPT_PKT_NONE:
    case IPT_PKT_PAD: *offset = shim_ahead(&f->t, at->offset, 0); break;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64: /* flow has used of it, unless it follows an event */
        *offset = shim_ahead(&f->t, here, !f->evented && !f->disabled);
        break;
    case IPT_PKT_PIP: *offset = shim_ahead(&f->t, here, 1); break;
    case IPT_PKT_TIP_PGD: /* alone, it is used at once */
        if (f->last.type == IPT_EVT_DISABLED && f->last.offset == here)
            *offset = shim_ahead(&f->t, here, 1);
        break;
    default: break;
    }
    return 0;
}

int shim_flow_sync_offset(const shim_flow *f, uint64_t *offset)
{
    if (!offset) return -pte_invalid;
    if (!f->synced) return -pte_nosync;
    *offset = shim_client_now(f->client) == SHIM_2_1 ? f->d.at.sync : f->sync;
    return 0;
}

int shim_flow_set_image(shim_flow *f, struct pt_image *image)
{
    f->image = image ? image : &f->own;
    return 0;
}

int shim_flow_time(const shim_flow *f, uint64_t *time, uint32_t *lost_mtc,
                   uint32_t *lost_cyc)
{
    if (!time) return -pte_invalid;
    *time = f->d.at.tsc;
    if (lost_mtc) *lost_mtc = f->d.at.lost_mtc;
    if (lost_cyc) *lost_cyc = f->d.at.lost_cyc;
    return f->d.at.valid & IPT_AT_TSC ? 0 : -pte_no_time;
}

int shim_flow_cbr(const shim_flow *f, uint32_t *cbr)
{
    if (!cbr) return -pte_invalid;
    if (!f->d.at.cbr) return -pte_no_cbr;
    *cbr = f->d.at.cbr;
    return 0;
}

int shim_flow_asid(const shim_flow *f, struct pt_asid *asid, size_t size)
{
    struct pt_asid now;
    if (!asid) return -pte_invalid;
    if (size < offsetof(struct pt_asid, cr3)) return -pte_invalid;
    pt_asid_init(&now);
    if (f->synced) {
        now.cr3 = f->asid.cr3;
        now.vmcs = f->asid.vmcs;
    }
    if (size < sizeof now) now.size = size;
    shim_copy(asid, size, &now, sizeof now);
    return 0;
}

/* ---- status ---- */

/* What an event says of tracing. */
static uint8_t is_disabled(const ipt_event *e, uint8_t before)
{
    switch (e->type) {
    case IPT_EVT_ENABLED: return 0;
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED: return 1;
    case IPT_EVT_OVERFLOW: return (e->flags & IPT_EVENT_NO_IP) != 0;
    default: return before;
    }
}

/* Events that the client does not have are passed. */
static int pull(shim_flow *f, int status)
{
    f->pending = 0;
    f->rest = status;
    while (status & IPT_EVENT_PENDING && !f->pending) {
        status = f->blocks ? ipt_blk_event(&f->d.blk, &f->last)
                           : ipt_insn_event(&f->d.insn, &f->last);
        if (status < 0) return status;
        f->pending = shim_has_event(&f->last, f->client) != 0;
        f->rest = status;
        if (f->pending) break;
        shim_hold(&f->held, &f->last, f->client);
        f->disabled = is_disabled(&f->last, f->disabled);
    }
    return status;
}

int shim_flow_flags(shim_flow *f, int status)
{
    const int suppressed = status & IPT_IP_SUPPRESSED;
    int flags = 0;
    status = pull(f, status);
    if (!f->pending && suppressed) f->disabled = 1;
    if (f->disabled) flags |= pts_ip_suppressed;
    if (f->pending) return flags | pts_event_pending;
    if (status >= 0 && status & (IPT_UNPROVEN | IPT_LAST)) flags |= pts_eos;
    return flags;
}

int shim_flow_first(shim_flow *f)
{
    const int flags = shim_flow_flags(f, IPT_EVENT_PENDING);
    return f->pending ? flags : 0;
}

/* For libipt, tracing that a PSB+ finds enabled when a decoder synchronises
 * resumes where the decoder is. */
static void mark_first(shim_flow *f, ipt_event *e)
{
    if (f->fresh && is_status_enabled(e)) e->flags |= IPT_EVENT_RESUMED;
    f->fresh = 0;
}

int shim_flow_event(shim_flow *f, struct pt_event *event, size_t size)
{
    const uint8_t client = f->client;
    ipt_event before;
    if (!event) return -pte_invalid;
    f->missing.known = 0;
    f->client = shim_client_of(size, client);
    if (client == SHIM_UNKNOWN || f->client != client) {
        if (shim_client_now(f->client) != SHIM_2_1) f->held.count = 0;
        if (f->pending && !shim_has_event(&f->last, f->client))
            (void) pull(f, f->rest);
    }
    if (!f->pending && !f->held.count) return -pte_bad_query;
    f->evented = 1;
    if (f->held.count && shim_release(&f->held, &before)) {
        mark_first(f, &before);
        shim_event(event, size, &before);
        if (!f->held.count && !f->pending) return shim_flow_flags(f, f->rest);
        return pts_event_pending | (f->disabled ? pts_ip_suppressed : 0);
    }
    mark_first(f, &f->last);
    shim_event(event, size, &f->last);
    f->disabled = is_disabled(&f->last, f->disabled);
    switch (f->last.type) {
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING: f->asid.cr3 = f->last.u.paging.cr3; break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: f->asid.vmcs = f->last.u.vmcs.base; break;
    default: break;
    }
    return shim_flow_flags(f, f->rest);
}

/* Up to SHIM_RAW bytes at an ip. Returns how many there are. */
static int bytes_at(shim_flow *f, uint8_t *raw, uint64_t ip)
{
    int got = 0;
    if (!is_missing(f, &f->asid, ip))
        got = shim_image_read(f->image, raw, SHIM_RAW, &f->asid, ip);
    return got > 0 ? got : 0;
}

/* Is the code at flow's ip there, except the end of its instruction? */
static int is_cut(shim_flow *f)
{
    const ipt_where *at = &f->d.at;
    uint8_t raw[SHIM_RAW];
    return at->valid & IPT_AT_IP
        && bytes_at(f, raw, at->ip) > 0;
}

int shim_flow_error(shim_flow *f, int status)
{
    int error = shim_error(&f->t, &f->d.at, status);
    f->error = status;
    if (status == IPT_ERR_IMAGE) error = f->image->error;
    if (error == -pte_nomap && is_cut(f)) error = -pte_bad_insn;
    if (status == IPT_ERR_CONTEXT && f->disabled) error = -pte_no_enable;
    return error;
}

int shim_flow_culprit(shim_flow *f, int status, uint8_t *raw, ipt_code *code)
{
    const ipt_where *at = &f->d.at;
    int size;
    memset(code, 0, sizeof *code);
    if (!(at->valid & IPT_AT_IP) || f->disabled) return 0;
    if (status == IPT_ERR_RETURN_LOST) return 0; /* it was given already */
    size = bytes_at(f, raw, at->ip);
    if (size > 0
        && (status == IPT_ERR_BAD_INSN
            || ipt_classify(code, raw, (size_t) size, at->mode, NULL) < 0))
        code->size = 0;
    return size;
}

/* An event that has ended flow is dropped where flow was lost anyway. */
static int passes(const shim_flow *f)
{
    return f->pending
        && (f->last.type == IPT_EVT_DISABLED
            || f->last.type == IPT_EVT_ASYNC_DISABLED);
}

int shim_flow_resync(shim_flow *f)
{
    int status;
    shim_client = f->client = SHIM_2_1;
    if (!f->synced) return -pte_nosync;
    f->pending = 0;
    f->held.count = 0;
    f->fresh = f->evented = 0;
    shim_flow_code(f);
    status = f->blocks ? ipt_blk_resync(&f->d.blk)
                       : ipt_insn_resync(&f->d.insn);
    if (status < 0) return shim_flow_error(f, status);
    f->error = 0;
    f->disabled = (status & IPT_IP_SUPPRESSED) != 0;
    status = shim_flow_flags(f, status);
    return passes(f) ? shim_flow_flags(f, f->rest) : status;
}
