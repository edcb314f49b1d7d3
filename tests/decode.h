/* decode.h: an instruction decoder and a block decoder on one trace, in every
 * manner, and logs of what they give. */
#ifndef IPT_DECODE_H
#define IPT_DECODE_H
#include "flow.h"

/* ---- decoders on a trace ---- */

static struct {
    ipt_blk_decoder blk;
    ipt_insn_decoder insn;
} places[2];
static unsigned place;
static feed f;
static build b;
static memory m;
static ipt_cache cache;
static ipt_cache_line lines[64];
static uint32_t decode_errata;   /* of config */
static uint64_t decode_unwanted; /* the same */
static int decode_warm; /* the cache has what was decoded before */

static inline ipt_where *where(int insns)
{
    return insns ? &places[place].insn.at : &places[place].blk.at;
}

/* Two places for the way CLONE: go to the other one. */
static inline void move(void)
{
    unsigned from = place;
    if (f.way == CLONE) place ^= 1;
    feed_move(&f, &places[from], &places[place], sizeof places[0]);
}

static inline int again(int status, int insns)
{
    const ipt_where *at = where(insns);
    feed_drop(&f, at);
    if (status < 0) CHECK_EQ(at->error, status);
    if (status == IPT_NEED_PAGE && memory_supply(&m, at->missing)) return 1;
    return feed_again(&f, status, b.size);
}

static inline void begin(const manner *how, const chunk *code, uint32_t flags)
{
    feed_begin(&f, b.bytes, b.size, how->way);
    memory_place(&m, code, how->pages, flags);
    memory_config(&m, &f.config);
    f.config.flags = flags;
    f.config.cr3 = ONLY_CR3;
    f.config.errata = decode_errata;
    f.config.unwanted = decode_unwanted;
    if (!decode_warm)
        CHECK_EQ(ipt_cache_init(&cache, lines, LENGTH(lines)), IPT_OK);
    memset(places, 0xa5, sizeof places);
    CHECK_EQ(ipt_insn_init(&places[place].insn, &f.config, &f.trace,
                           how->cache ? &cache : NULL),
             IPT_OK);
    CHECK_EQ(ipt_blk_init(&places[place].blk, &f.config, &f.trace,
                          how->cache ? &cache : NULL),
             IPT_OK);
}

enum { /* what the last item or event said of whether something follows */
    TOLD_NONE,
    TOLD_NOT,   /* an item: something does */
    TOLD_EVENT, /* an event: something does, as far as it can see */
    TOLD_OFF,   /* an event while flow is off: the same */
    TOLD_LAST
};

/* An item or event came with `status`: IPT_LAST is right. */
static inline void check_told(int *told, int status, int by)
{
    CHECK(*told != TOLD_LAST || status & IPT_UNPROVEN);
    CHECK(!(status & IPT_LAST) || !(status & IPT_EVENT_PENDING));
    if (*told == TOLD_NONE) by = TOLD_EVENT; /* it may have waited for a sync */
    if (by == TOLD_EVENT && status & IPT_IP_SUPPRESSED) by = TOLD_OFF;
    *told = status & IPT_LAST ? TOLD_LAST : by;
}

/* The trace has ended: IPT_LAST said so, unless something is left that leads no
 * further, or flow is stepped over. An event says so as far as it can see; one
 * that a resync gives does not see the TIP after it at which flow goes on. */
static inline void check_told_end(const manner *how, int told, int insns)
{
    const ipt_walk_ *w = insns ? &places[place].insn.walk_
                               : &places[place].blk.walk_;
    const int seen = told == TOLD_EVENT
                     || (told == TOLD_OFF && !w->flow.enabled);
    if (told == TOLD_NOT || (seen && how->way == WHOLE && !how->pages))
        CHECK(ipti_next_any(&w->next) || w->out.count || w->flow.hidden
              || w->resync.state);
}

/* Go on after an error, if that can be; returns the status. */
static inline int resync(int insns, log *l)
{
    int status;
    do {
        move();
        status = insns ? ipt_insn_resync(&places[place].insn)
                       : ipt_blk_resync(&places[place].blk);
    } while (again(status, insns));
    if (status >= 0) log_add(l)->what = RESYNC_STEP;
    return status;
}

/* Decode to the end; with `silent`, events are not pulled; with `on`, go on
 * after errors. */
static inline void decode_once(const manner *how, const chunk *code,
                               uint32_t flags, int insns, int on, log *l)
{
    int status;
    ipt_block k = {.count = 0};
    ipt_insn i = {.size = 0};
    ipt_event e = {.type = 0};
    unsigned rounds = 0;
    int told = TOLD_NONE;

    l->count = 0;
    begin(how, code, flags);
    do {
        move();
        status = insns ? ipt_insn_sync_forward(&places[place].insn)
                       : ipt_blk_sync_forward(&places[place].blk);
    } while (again(status, insns));
    while ((status >= 0 || status == IPT_EVENT_FIRST) && rounds++ < LOG_MAX) {
        int pending = status == IPT_EVENT_FIRST || status & IPT_EVENT_PENDING;
        while (pending && !how->silent) {
            move();
            status = insns ? ipt_insn_event(&places[place].insn, &e)
                           : ipt_blk_event(&places[place].blk, &e);
            if (!CHECK(status >= 0)) break;
            check_told(&told, status, TOLD_EVENT);
            log_event(l, &e);
            pending = status & IPT_EVENT_PENDING;
        }
        do {
            move();
            memset(&k, 0xee, sizeof k);
            status = insns ? ipt_insn_next(&places[place].insn, &i)
                           : ipt_blk_next(&places[place].blk, &k);
            if (status < 0 && !insns) CHECK_EQ(k.ip, 0xeeeeeeeeeeeeeeee);
        } while (again(status, insns));
        if (status >= 0) {
            entry *x = log_add(l);
            check_told(&told, status, TOLD_NOT);
            x->what = INSN_STEP;
            x->type = insns ? i.kind : k.kind;
            x->mode = insns ? i.mode : k.mode;
            x->size = insns ? i.size : k.last_size;
            x->flags = insns ? i.flags : k.flags;
            x->count = insns ? 1 : k.count;
            x->ip = insns ? i.ip : k.ip;
            x->a = insns ? i.ip : k.end_ip;
            x->offset = insns ? i.offset : k.offset;
            if (!on && where(insns)->valid & IPT_AT_IP) /* else elsewhere */
                x->next = where(insns)->ip;
            CHECK(x->count > 0);
        } else if (on && status != IPT_END && status != IPT_EVENT_FIRST) {
            told = TOLD_NONE;
            status = resync(insns, l);
        }
    }
    if (status == IPT_END && !how->silent && !decode_unwanted)
        check_told_end(how, told, insns);
    l->status = status;
    l->ip = where(insns)->valid & IPT_AT_IP ? where(insns)->ip : 0;
    f.fuel = 1000000;
    for (int n = 0; n < 2; n++) /* it comes again */
        if (status != IPT_EVENT_FIRST && status < 0 && !on)
            CHECK_EQ(insns ? ipt_insn_next(&places[place].insn, &i)
                           : ipt_blk_next(&places[place].blk, &k),
                     status);
    feed_end(&f);
}

/* With a cache, once more: what it has by then changes nothing. */
static inline void decode_on(const manner *how, const chunk *code,
                             uint32_t flags, int insns, int on, log *l)
{
    static log cold;

    decode_once(how, code, flags, insns, on, l);
    if (!how->cache) return;
    cold = *l;
    decode_warm = 1;
    decode_once(how, code, flags, insns, on, l);
    decode_warm = 0;
    (void) same_logs("a warm cache", how, l, &cold);
}

static inline void decode(const manner *how, const chunk *code, uint32_t flags,
                          int insns, log *l)
{
    decode_on(how, code, flags, insns, 0, l);
}

/* Take the events out; blocks end at them also if nobody pulls them. */
static inline void without_events(log *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i].what == INSN_STEP) l->entries[n++] = l->entries[i];
    l->count = n;
}
#endif /* IPT_DECODE_H */
