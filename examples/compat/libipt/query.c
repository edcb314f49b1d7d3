/* query.c: the query decoder, on ours of events. One event is read ahead: it
 * says whether one is pending, and where the trace ends.
 *
 * SPDX-License-Identifier: MIT */
#include "shim.h"
#include <stdlib.h>
#include <string.h>

struct pt_query_decoder {
    shim_trace t;
    ipt_evt_decoder d;
    ipt_event next;   /* not used yet, unless status is negative */
    int status;       /* of reading it; IPT_ERR_NOSYNC before the first */
    uint64_t tnt;     /* branches to come, the oldest on top, ... */
    unsigned count;   /* ... so many */
    uint64_t tsc;     /* of what was used last */
    uint32_t lost_mtc;
    uint32_t lost_cyc;
    uint8_t cbr;
    uint8_t has_tsc;
    uint8_t synced;
    uint8_t fresh;    /* since then nothing was asked */
    uint8_t client;   /* SHIM_2_0, ..., as far as this decoder can tell */
    shim_held held;   /* events before `next` */
    uint64_t sync;    /* where it was synchronised */
};

struct pt_query_decoder *pt_qry_alloc_decoder(const struct pt_config *config)
{
    struct pt_query_decoder *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    if (shim_trace_init(&d->t, config) == 0
        && ipt_evt_init(&d->d, &d->t.config, &d->t.trace) >= 0) {
        shim_event_flags(&d->t);
        return d;
    }
    free(d);
    return NULL;
}

void pt_qry_free_decoder(struct pt_query_decoder *d)
{
    free(d);
}

static int is_branch(const ipt_event *e)
{
    return e->type == IPT_EVT_TNT || e->type == IPT_EVT_TIP;
}

/* Read the next event; those that the client does not have are passed. */
static void fetch(struct pt_query_decoder *d)
{
    for (;;) {
        d->status = ipt_evt_next(&d->d, &d->next);
        if (d->status >= 0) shim_trigger(&d->next);
        if (d->status < 0 || is_branch(&d->next)
            || shim_has_event(&d->next, d->client))
            return;
        shim_hold(&d->held, &d->next, d->client);
    }
}

/* What was read ahead is used. */
static void keep_time(struct pt_query_decoder *d)
{
    d->tsc = d->next.tsc;
    d->lost_mtc = d->next.lost_mtc;
    d->lost_cyc = d->next.lost_cyc;
    d->cbr = d->next.cbr;
    d->has_tsc = (d->next.flags & IPT_EVENT_TSC) != 0;
}

/* Nothing is left, or no more than a part of an opcode. */
static int is_end(const struct pt_query_decoder *d)
{
    const uint8_t *at = d->t.piece.data + d->d.at.packet_offset;
    const size_t left = (size_t) (d->t.theirs.end - at);
    if (d->status == IPT_ERR_PACKET) return shim_is_cut(&d->t, &d->d.at);
    if (d->status != IPT_ERR_TRUNCATED) return d->status == IPT_END;
    return at[0] == 0x02 && (left == 1 || (left == 2 && at[1] == 0xc3));
}

static int flags(const struct pt_query_decoder *d)
{
    if (d->count) return 0;
    if (d->status < 0)
        return is_end(d) ? pts_eos
               : shim_client_now(d->client) == SHIM_2_1 ? pts_event_pending
                                                        : 0;
    return is_branch(&d->next) ? 0 : pts_event_pending;
}

/* ---- synchronising ---- */

/* The PSB+ that was just found says whether tracing is enabled, and where; its
 * events are handed out later, so this looks at a copy. */
static int start(struct pt_query_decoder *d, uint64_t *ip)
{
    ipt_evt_decoder copy = d->d;
    ipt_event e;
    int status;
    d->count = d->held.count = 0;
    d->tsc = d->lost_mtc = d->lost_cyc = d->cbr = d->has_tsc = 0;
    d->synced = d->fresh = 1;
    d->sync = d->d.at.sync;
    memset(&e, 0, sizeof e);
    do status = ipt_evt_next(&copy, &e);
    while (status >= 0 && e.flags & IPT_EVENT_STATUS
           && e.type != IPT_EVT_ENABLED && e.type != IPT_EVT_DISABLED);
    fetch(d);
    if (ip) *ip = 0;
    if (d->status < 0) return shim_error(&d->t, &d->d.at, d->status);
    if (!ip) return flags(d); /* nobody asks where tracing is enabled */
    if (status < 0 || e.type != IPT_EVT_ENABLED
        || !(e.flags & IPT_EVENT_STATUS))
        return flags(d) | pts_ip_suppressed;
    *ip = e.ip;
    return flags(d);
}

static int synced(struct pt_query_decoder *d, int status, uint64_t *ip)
{
    return status < 0 ? shim_error(&d->t, &d->d.at, status) : start(d, ip);
}

int pt_qry_sync_forward(struct pt_query_decoder *d, uint64_t *ip)
{
    if (!d) return -pte_invalid;
    return synced(d, ipt_evt_sync_forward(&d->d), ip);
}

int pt_qry_sync_backward(struct pt_query_decoder *d, uint64_t *ip)
{
    int status;
    if (!d) return -pte_invalid;
    if (!d->fresh) return synced(d, ipt_evt_sync_backward(&d->d), ip);
    /* Reading ahead has passed the PSB: not that one, the one before it. */
    status = ipt_evt_sync_set(&d->d, d->sync);
    if (status >= 0) status = ipt_evt_sync_backward(&d->d);
    if (status >= 0) return start(d, ip);
    (void) synced(d, ipt_evt_sync_set(&d->d, d->sync), ip);
    return shim_error(&d->t, &d->d.at, status);
}

int pt_qry_sync_set(struct pt_query_decoder *d, uint64_t *ip, uint64_t offset)
{
    int status;
    if (!d) return -pte_invalid;
    status = shim_psb_at(&d->t, &offset);
    if (status < 0) return status;
    return synced(d, ipt_evt_sync_set(&d->d, offset), ip);
}

int pt_qry_get_offset(const struct pt_query_decoder *d, uint64_t *offset)
{
    if (!d || !offset) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    if (d->status == IPT_END) *offset = d->t.piece.size;
    else if (d->status < 0) *offset = d->d.at.packet_offset;
    else *offset = shim_event_offset(&d->t, &d->next);
    return 0;
}

int pt_qry_get_sync_offset(const struct pt_query_decoder *d, uint64_t *offset)
{
    if (!d || !offset) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    *offset = shim_client_now(d->client) == SHIM_2_1 ? d->d.at.sync : d->sync;
    return 0;
}

const struct pt_config *pt_qry_get_config(const struct pt_query_decoder *d)
{
    return d ? &d->t.theirs : NULL;
}

/* ---- queries ---- */

static void take_tnt(struct pt_query_decoder *d)
{
    d->tnt = d->next.u.tnt.bits;
    d->count = d->next.u.tnt.count;
    keep_time(d);
    fetch(d);
}

int pt_qry_cond_branch(struct pt_query_decoder *d, int *taken)
{
    if (!d || !taken) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    d->fresh = 0;
    d->held.count = 0;
    if (!d->count) {
        if (d->status < 0) return shim_error(&d->t, &d->d.at, d->status);
        if (d->next.type != IPT_EVT_TNT) return -pte_bad_query;
        take_tnt(d);
    }
    *taken = (int) (d->tnt >> --d->count & 1);
    return d->count ? 0 : flags(d);
}

int pt_qry_indirect_branch(struct pt_query_decoder *d, uint64_t *ip)
{
    int suppressed = 0;
    if (!d || !ip) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    d->fresh = 0;
    d->held.count = 0;
    if (d->status < 0) return shim_error(&d->t, &d->d.at, d->status);
    if (d->next.type == IPT_EVT_TNT && !d->count) {
        take_tnt(d); /* of branches before a deferred TIP */
        if (d->status < 0) return shim_error(&d->t, &d->d.at, d->status);
    }
    if (d->next.type != IPT_EVT_TIP) return -pte_bad_query;
    if (d->next.flags & IPT_EVENT_NO_IP) suppressed = pts_ip_suppressed;
    else *ip = d->next.ip;
    keep_time(d);
    fetch(d);
    return flags(d) | suppressed;
}

int pt_qry_event(struct pt_query_decoder *d, struct pt_event *event,
                 size_t size)
{
    ipt_event before;
    if (!d || !event) return -pte_invalid;
    if (size < offsetof(struct pt_event, variant)) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    d->fresh = 0;
    if (d->count) return -pte_bad_query;
    d->client = shim_client_of(size, d->client);
    if (shim_client_now(d->client) != SHIM_2_1) d->held.count = 0;
    if (shim_release(&d->held, &before)) {
        shim_event(event, size, &before);
        return d->held.count ? pts_event_pending : flags(d);
    }
    if (d->status >= 0 && !is_branch(&d->next)
        && !shim_has_event(&d->next, d->client))
        fetch(d);
    if (d->status < 0) return shim_error(&d->t, &d->d.at, d->status);
    if (is_branch(&d->next)) return -pte_bad_query;
    shim_event(event, size, &d->next);
    keep_time(d);
    fetch(d);
    return flags(d);
}

int pt_qry_time(struct pt_query_decoder *d, uint64_t *time,
                uint32_t *lost_mtc, uint32_t *lost_cyc)
{
    if (!d || !time) return -pte_invalid;
    *time = d->tsc;
    if (lost_mtc) *lost_mtc = d->lost_mtc;
    if (lost_cyc) *lost_cyc = d->lost_cyc;
    return d->has_tsc ? 0 : -pte_no_time;
}

int pt_qry_core_bus_ratio(struct pt_query_decoder *d, uint32_t *cbr)
{
    if (!d || !cbr) return -pte_invalid;
    if (!d->cbr) return -pte_no_cbr;
    *cbr = d->cbr;
    return 0;
}
