/* frames.h: for a hypervisor that learns of guest-physical frames which were
 * written: where has code been read from each? Have config.read call frame_seen
 * for the frame that it is about to copy from, after it has write-protected it;
 * on a write call frame_written. There is one `frame` for each of the guest's,
 * or one for several: that costs calls more, never a wrong answer. */
#include "ipt.h"

#define FRAME_PLACES 4

typedef struct frame_place {
    ipt_asid asid;
    uint64_t page; /* its address */
} frame_place;

typedef struct frame {
    frame_place at[FRAME_PLACES];
    uint8_t count; /* FRAME_PLACES + 1: more than there is room for */
} frame;

/* Code at ip of this address space, no more than a page, is in the frame. */
static void frame_seen(frame *f, const ipt_asid *asid, uint64_t ip)
{
    const uint64_t page = ip & ~(uint64_t) 4095;
    uint8_t i;

    for (i = 0; i < f->count && i < FRAME_PLACES; i++)
        if (f->at[i].page == page && f->at[i].asid.cr3 == asid->cr3
            && f->at[i].asid.vmcs == asid->vmcs
            && f->at[i].asid.nr == asid->nr)
            return;
    if (i < FRAME_PLACES) {
        f->at[i].asid = *asid;
        f->at[i].page = page;
    }
    if (i == f->count)
        f->count++;
}

/* Forget its code, wherever it was met. IPT_BUDGET: cache->fuel is used up,
 * call again before anything is decoded. */
static int frame_written(frame *f, ipt_cache *cache)
{
    int status = IPT_OK;

    if (f->count > FRAME_PLACES) {
        status = ipt_cache_invalidate(cache, NULL, 0, 0);
        if (status == IPT_OK)
            f->count = 0;
    }
    while (status == IPT_OK && f->count) {
        const frame_place *p = &f->at[f->count - 1];
        status = ipt_cache_invalidate(cache, &p->asid, p->page, 4096);
        if (status == IPT_OK)
            f->count--;
    }
    return status;
}
