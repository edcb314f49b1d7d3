/* walk.h: what holds of the walk between two calls: see the banner of [walk].
 * Include it before what calls [blk], [insn] and [cov]; these names then are
 * those of functions that look at the walk after each call. */
#ifndef IPT_TESTS_WALK_H
#define IPT_TESTS_WALK_H
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include <stdio.h>
#include <stdlib.h>

static inline int walk_same_bind(const ipt_bind_ *a, const ipt_bind_ *b)
{
    return a->ip == b->ip && a->kinds == b->kinds && a->count == b->count
           && a->how == b->how && a->once == b->once;
}

/* Is the code at hand, if any, within its run? */
static inline int walk_code_holds(const ipt_code_at_ *code)
{
    if (code->count == 0) return 1;
    return code->index <= code->count && code->count <= code->run.count_ && code->calm < code->count;
}

/* The first rule that is broken; NULL: none is. */
static inline const char *ipti_walk_check(const ipt_walk_ *w)
{
    const ipt_out_ *out = &w->out;
    ipt_bind_ bind;

    if (!w->cur.trace) return NULL; /* there is none: _begin failed */
    if (w->flow.enabled && w->flow.hidden) return "flow: enabled and hidden";
    if (!w->next.tnt) return "next: no stop bit";
    if (w->next.tnt << 48) return "next: more than 47 TNT bits";
    if (w->next.has_event) {
        bind = w->next.bind;
        ipti_bind_event(&bind, &w->next.event);
        if (!walk_same_bind(&bind, &w->next.bind))
            return "next: bind is not that of event";
    }
    if (!walk_code_holds(&w->code)) return "code: counts out of order";
    if (w->code.count && w->tally.counted > w->code.index)
        return "tally: more than were passed";
    if (out->count > IPT_REACHED_MAX_) return "out: more events than room";
    if (out->waiting > out->count) return "out: more wait than there are";
    if (out->waiting && w->item.unsettled) return "out: waiting and unsettled";
    if (w->loop.branches > w->loop.total)
        return "loop: more branches than runs";
    if (w->probe.count > IPTI_PROBE) return "probe: too far";
    if (w->calls.at.count > IPT_RETURN_STACK_ || w->calls.at.top >= IPT_RETURN_STACK_)
        return "calls: out of range";
    if (out->ends_block && !w->cur.config->unwanted) return "out: nothing ends a block";
    if (w->calm && (!ipti_walk_calm(w) || !w->cache))
        return "calm: there is more than flow";
    if (w->calm && w->code.count && w->code.count != w->code.run.count_)
        return "calm: the run is cut";
    return NULL;
}

/* Ends the program with the rule that a call broke. */
static inline int walk_checked(const ipt_walk_ *w, int status, const char *call)
{
    const char *rule = ipti_walk_check(w);
    if (rule) {
        printf("CHECK failed: after %s = %d: %s\n", call, status, rule);
        fflush(stdout);
        abort();
    }
    return status;
}

#define WALK_CALL(name, params, args)                                  \
    static inline int walk_##name params                                     \
    {                                                                        \
        const int status = ipt_##name args;                                  \
        return d && d->magic_ == ipti_magic(sizeof(*d))                      \
                   ? walk_checked(&d->walk_, status, #name)                  \
                   : status;                                                 \
    }
WALK_CALL(blk_next, (ipt_blk_decoder * d, ipt_block *b), (d, b))
WALK_CALL(blk_event, (ipt_blk_decoder * d, ipt_event *e), (d, e))
WALK_CALL(blk_resync, (ipt_blk_decoder * d), (d))
WALK_CALL(blk_sync_forward, (ipt_blk_decoder * d), (d))
WALK_CALL(blk_sync_backward, (ipt_blk_decoder * d), (d))
WALK_CALL(blk_sync_set, (ipt_blk_decoder * d, uint64_t at), (d, at))
WALK_CALL(blk_start, (ipt_blk_decoder * d, const ipt_start *s), (d, s))
WALK_CALL(blk_set_asid, (ipt_blk_decoder * d, const ipt_asid *a), (d, a))
WALK_CALL(insn_next, (ipt_insn_decoder * d, ipt_insn *i), (d, i))
WALK_CALL(insn_event, (ipt_insn_decoder * d, ipt_event *e), (d, e))
WALK_CALL(insn_resync, (ipt_insn_decoder * d), (d))
WALK_CALL(insn_sync_forward, (ipt_insn_decoder * d), (d))
WALK_CALL(insn_sync_backward, (ipt_insn_decoder * d), (d))
WALK_CALL(insn_sync_set, (ipt_insn_decoder * d, uint64_t at), (d, at))
WALK_CALL(insn_start, (ipt_insn_decoder * d, const ipt_start *s), (d, s))
WALK_CALL(insn_set_asid, (ipt_insn_decoder * d, const ipt_asid *a),
          (d, a))
WALK_CALL(cov_run, (ipt_cov_decoder * d), (d))
WALK_CALL(cov_start, (ipt_cov_decoder * d, const ipt_start *s), (d, s))
WALK_CALL(cov_resync, (ipt_cov_decoder * d), (d))

#define ipt_blk_next walk_blk_next
#define ipt_blk_event walk_blk_event
#define ipt_blk_resync walk_blk_resync
#define ipt_blk_sync_forward walk_blk_sync_forward
#define ipt_blk_sync_backward walk_blk_sync_backward
#define ipt_blk_sync_set walk_blk_sync_set
#define ipt_blk_start walk_blk_start
#define ipt_blk_set_asid walk_blk_set_asid
#define ipt_insn_next walk_insn_next
#define ipt_insn_event walk_insn_event
#define ipt_insn_resync walk_insn_resync
#define ipt_insn_sync_forward walk_insn_sync_forward
#define ipt_insn_sync_backward walk_insn_sync_backward
#define ipt_insn_sync_set walk_insn_sync_set
#define ipt_insn_start walk_insn_start
#define ipt_insn_set_asid walk_insn_set_asid
#define ipt_cov_run walk_cov_run
#define ipt_cov_start walk_cov_start
#define ipt_cov_resync walk_cov_resync
#endif /* IPT_TESTS_WALK_H */
