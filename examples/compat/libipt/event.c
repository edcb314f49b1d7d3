/* event.c: the event decoder, which 2.1 brought. One event is read ahead, as
 * libipt reads one packet ahead.
 *
 * SPDX-License-Identifier: MIT */
#include "shim.h"
#include <stdlib.h>
#include <string.h>

struct pt_event_decoder {
    shim_trace t;
    ipt_evt_decoder d;
    uint64_t sync; /* where it was synchronised */
    int status;    /* of the last call; ours */
    uint8_t synced;
    uint8_t fresh; /* since then nothing was asked */
};

struct pt_event_decoder *pt_evt_alloc_decoder(const struct pt_config *config)
{
    struct pt_event_decoder *d = calloc(1, sizeof *d);
    shim_client = SHIM_2_1;
    if (!d) return NULL;
    if (shim_trace_init(&d->t, config) == 0
        && ipt_evt_init(&d->d, &d->t.config, &d->t.trace) >= 0) {
        shim_event_flags(&d->t);
        return d;
    }
    free(d);
    return NULL;
}

void pt_evt_free_decoder(struct pt_event_decoder *d)
{
    free(d);
}

static int synced(struct pt_event_decoder *d, int status)
{
    d->status = status;
    if (status < 0) return shim_error(&d->t, &d->d.at, status);
    d->synced = d->fresh = 1;
    d->sync = d->d.at.sync;
    return 0;
}

int pt_evt_sync_forward(struct pt_event_decoder *d)
{
    return d ? synced(d, ipt_evt_sync_forward(&d->d)) : -pte_invalid;
}

int pt_evt_sync_backward(struct pt_event_decoder *d)
{
    return d ? synced(d, ipt_evt_sync_backward(&d->d)) : -pte_invalid;
}

int pt_evt_sync_set(struct pt_event_decoder *d, uint64_t offset)
{
    int status;
    if (!d) return -pte_invalid;
    status = shim_psb_at(&d->t, &offset);
    if (status < 0) return status;
    return synced(d, ipt_evt_sync_set(&d->d, offset));
}

int pt_evt_get_offset(const struct pt_event_decoder *d, uint64_t *offset)
{
    if (!d || !offset) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    if (d->fresh) *offset = d->sync;
    else if (d->status < 0) *offset = d->d.at.packet_offset;
    else *offset = d->d.at.offset;
    return 0;
}

int pt_evt_get_sync_offset(const struct pt_event_decoder *d, uint64_t *offset)
{
    if (!d || !offset) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    *offset = d->d.at.sync;
    return 0;
}

const struct pt_config *pt_evt_get_config(const struct pt_event_decoder *d)
{
    return d ? &d->t.theirs : NULL;
}

int pt_evt_next(struct pt_event_decoder *d, struct pt_event *event,
                size_t size)
{
    ipt_event e;
    if (!d || !event) return -pte_invalid;
    if (size < offsetof(struct pt_event, variant)) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    d->fresh = 0;
    do d->status = ipt_evt_next(&d->d, &e);
    while (d->status >= 0 && !shim_has_event(&e, SHIM_2_1));
    if (d->status < 0) return shim_error(&d->t, &d->d.at, d->status);
    shim_trigger(&e);
    shim_event(event, size, &e);
    return 0;
}
