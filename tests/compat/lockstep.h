/* lockstep.h: two libraries decode one trace, step by step, and are compared.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPAT_LOCKSTEP_H
#define COMPAT_LOCKSTEP_H
#include "api.h"
#include "differences.h"
#include "ipt.h"
#include "../test.h"
#include "examples/tools/common/code/image.h"
#include <stdarg.h>
#include <stddef.h>

static api theirs, ours;

#define DIFFERENCE_(id, reason) D_##id,
enum { DIFFERENCES(DIFFERENCE_) D_COUNT };
static const struct {
    const char *name;
    const char *reason;
} differences[] = {
#define DIFFERENCE_NAME_(id, reason) {#id, reason},
    DIFFERENCES(DIFFERENCE_NAME_)
};
static unsigned long seen[D_COUNT];

/* Packets, and items of each layer, that were the same. */
enum { QUERY, INSN, BLOCK, PACKET, EVENT, LAYERS };
static unsigned long compared[LAYERS];

#define CALLS 4096u

typedef struct subject {
    char name[300];
    struct pt_config config;
    struct pt_image *image[2]; /* of theirs, of ours; NULL: there is none */
    unsigned long steps;
    int failures;
    int over;     /* what follows cannot be compared */
    image *code;
    uint64_t last; /* instruction that was the same */
    uint8_t mode;  /* ... and how it executes */
    enum pt_exec_mode exec; /* as the last event of that kind says */
    int new_insn;  /* blocks at hand have one that 2.0.5 does not know */
    uint64_t new_at; /* the first packet that 2.0.5 does not know */
    uint64_t at;     /* offset of the packet that is compared */
    const struct flow *flow; /* of theirs; NULL: packets are compared */
    uint64_t called[CALLS]; /* where calls lead back to that were the same, */
    unsigned calls;         /* ... the last ones of so many, ... */
    uint64_t back[64];      /* ... and those that no return has used yet */
    uint64_t called_at;     /* the offset of the last one */
    unsigned depth;
    uint64_t returned; /* what the last return used, UINT64_MAX: no call that
                        * is known; 0: the last is not a return */
    int left; /* tracing was disabled, so that a call may have returned */
    uint8_t ratio[256]; /* 1: a CBR says that */
} subject;

static api *const sides[2] = {&theirs, &ours};

/* One of the three decoders with events. */
typedef struct flow {
    const api *by;
    int layer;
    void *d;
    int status;
    struct pt_event event;
    struct pt_insn insn; /* of a block: what it holds, one by one */
    struct pt_block block;
    uint64_t ip; /* QUERY: what came of it */
    int taken;
    int target;
    uint64_t at;   /* BLOCK: the next instruction of it, ... */
    unsigned left; /* ... and how many are left */
    unsigned early; /* events that ours has not given yet: pwre, ... */
    unsigned execs; /* ... and perhaps exec_mode */
} flow;

static uint64_t offset_of(const flow *f)
{
    uint64_t offset = 0;
    if (f->layer == QUERY) (void) f->by->pt_qry_get_offset(f->d, &offset);
    if (f->layer == INSN) (void) f->by->pt_insn_get_offset(f->d, &offset);
    if (f->layer == BLOCK) (void) f->by->pt_blk_get_offset(f->d, &offset);
    return offset;
}

static uint64_t where(const subject *s)
{
    uint64_t theirs_at;
    uint64_t ours_at;
    if (!s->flow) return s->at;
    theirs_at = offset_of(&s->flow[0]);
    ours_at = offset_of(&s->flow[1]);
    return theirs_at > ours_at ? theirs_at : ours_at;
}

static int differ(subject *s, const char *what, const char *format, ...)
{
    va_list list;
    char text[400];
    s->over = 1;
    if (where(s) >= s->new_at) {
        seen[D_NEW]++;
        return 0;
    }
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (s->failures++ == 0 && test_fail_(__FILE__, 0, what))
        printf("    %s, step %lu: %s\n", s->name, s->steps, text);
    return 0;
}

#define AHEAD 1024 /* bytes */
#define PLACE 256  /* within which both meet an error of the trace */

static int within(uint64_t bytes, uint64_t a, uint64_t b)
{
    return a + bytes > b && b + bytes > a;
}

static int near(uint64_t a, uint64_t b)
{
    return within(AHEAD, a, b);
}

/* Is theirs 2.1, say? */
static int is_version(unsigned minor)
{
    return theirs.pt_library_version().minor == minor;
}

/* ---- packets ---- */

/* Our packets of the trace. */
typedef struct walker {
    ipt_segment piece;
    ipt_trace trace;
    ipt_config config;
    ipt_pkt_decoder d;
    ipt_packet p;
    uint64_t bad; /* where the packet that is broken was before it, if any */
} walker;

static void walk(walker *w, const subject *s)
{
    memset(w, 0, sizeof *w);
    w->piece.data = s->config.begin;
    w->piece.size = (size_t) (s->config.end - s->config.begin);
    w->trace.seg = &w->piece;
    w->trace.count = 1;
    CHECK(ipt_pkt_init(&w->d, &w->config, &w->trace) >= 0);
}

/* The next packet of ours, beyond what is broken; 0: there is none. */
static int walk_on(walker *w)
{
    int status = ipt_pkt_next(&w->d, &w->p);
    w->bad = UINT64_MAX;
    while (status < 0) {
        w->bad = w->d.at.offset;
        if (ipt_pkt_sync_forward(&w->d) < 0) return 0;
        status = ipt_pkt_next(&w->d, &w->p);
    }
    return 1;
}

/* Does a PSB go on there that is longer than others? */
static int is_long_psb(const subject *s, uint64_t offset)
{
    static const uint8_t psb[18] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02,
        0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};
    const uint64_t size = (uint64_t) (s->config.end - s->config.begin);
    return offset >= 16 && offset + 2 <= size
        && memcmp(s->config.begin + offset - 16, psb, sizeof psb) == 0;
}

/* What a packet or an event says, by the names of intel-pt.h. */
typedef struct fields {
    unsigned count;
    struct {
        const char *name;
        uint64_t value;
    } list[12];
} fields;

static void field(fields *f, const char *name, uint64_t value)
{
    f->list[f->count].name = name;
    f->list[f->count].value = value;
    f->count++;
}

static int same_fields(const fields *a, const fields *b)
{
    if (a->count != b->count) return 0;
    for (unsigned i = 0; i < a->count; i++)
        if (a->list[i].value != b->list[i].value) return 0;
    return 1;
}

#define PAYLOAD(name) field(f, #name, p->payload.name)

static void packet_fields(fields *f, const struct pt_packet *p)
{
    f->count = 0;
    field(f, "type", p->type);
    field(f, "size", p->size);
    switch (p->type) {
    case ppt_tnt_8:
    case ppt_tnt_64:
        PAYLOAD(tnt.bit_size);
        PAYLOAD(tnt.payload);
        break;
    case ppt_fup:
    case ppt_tip:
    case ppt_tip_pge:
    case ppt_tip_pgd:
        PAYLOAD(ip.ipc);
        PAYLOAD(ip.ip);
        break;
    case ppt_mode:
        PAYLOAD(mode.leaf);
        if (p->payload.mode.leaf == pt_mol_exec) {
            PAYLOAD(mode.bits.exec.csl);
            PAYLOAD(mode.bits.exec.csd);
#if LIBIPT_VERSION >= 0x201
            PAYLOAD(mode.bits.exec.iflag);
#endif
            break;
        }
        PAYLOAD(mode.bits.tsx.intx);
        PAYLOAD(mode.bits.tsx.abrt);
        break;
    case ppt_pip:
        PAYLOAD(pip.cr3);
        PAYLOAD(pip.nr);
        break;
    case ppt_vmcs: PAYLOAD(vmcs.base); break;
    case ppt_tsc: PAYLOAD(tsc.tsc); break;
    case ppt_cbr: PAYLOAD(cbr.ratio); break;
    case ppt_tma:
        PAYLOAD(tma.ctc);
        PAYLOAD(tma.fc);
        break;
    case ppt_mtc: PAYLOAD(mtc.ctc); break;
    case ppt_cyc: PAYLOAD(cyc.value); break;
    case ppt_mnt: PAYLOAD(mnt.payload); break;
    case ppt_exstop: PAYLOAD(exstop.ip); break;
    case ppt_mwait:
        PAYLOAD(mwait.hints);
        PAYLOAD(mwait.ext);
        break;
    case ppt_pwre:
        PAYLOAD(pwre.state);
        PAYLOAD(pwre.sub_state);
        PAYLOAD(pwre.hw);
        break;
    case ppt_pwrx:
        PAYLOAD(pwrx.last);
        PAYLOAD(pwrx.deepest);
        PAYLOAD(pwrx.interrupt);
        PAYLOAD(pwrx.store);
        PAYLOAD(pwrx.autonomous);
        break;
    case ppt_ptw:
        PAYLOAD(ptw.payload);
        PAYLOAD(ptw.plc);
        PAYLOAD(ptw.ip);
        break;
#if LIBIPT_VERSION >= 0x201
    case ppt_cfe:
        PAYLOAD(cfe.type);
        PAYLOAD(cfe.vector);
        PAYLOAD(cfe.ip);
        break;
    case ppt_evd:
        PAYLOAD(evd.type);
        PAYLOAD(evd.payload);
        break;
#endif
#if LIBIPT_VERSION >= 0x202
    case ppt_trig:
        PAYLOAD(trig.trbv);
        PAYLOAD(trig.icntv);
        if (p->payload.trig.icntv) PAYLOAD(trig.icnt);
        PAYLOAD(trig.ip);
        PAYLOAD(trig.mult);
        break;
#endif
    case ppt_unknown:
        field(f, "at", (uint64_t) (uintptr_t) p->payload.unknown.packet);
        field(f, "priv", (uint64_t) (uintptr_t) p->payload.unknown.priv);
        break;
    default: break;
    }
}

static int same_packet(const struct pt_packet *a, const struct pt_packet *b)
{
    fields x;
    fields y;
    packet_fields(&x, a);
    packet_fields(&y, b);
    return same_fields(&x, &y);
}

static void packets(subject *s)
{
    struct pt_packet_decoder *d[2];
    struct pt_packet p[2];
    int status[2];
    uint64_t offset[2];
    s->steps = 0;
    for (int i = 0; i < 2; i++) {
        d[i] = sides[i]->pt_pkt_alloc_decoder(&s->config);
        status[i] = sides[i]->pt_pkt_sync_forward(d[i]);
    }
    while (!s->over) {
        s->steps++;
        if (status[0] != status[1]) {
            differ(s, "packets", "sync %d, ours %d", status[0], status[1]);
            break;
        }
        if (status[0] < 0) break;
        do {
            s->steps++;
            for (int i = 0; i < 2; i++) {
                (void) sides[i]->pt_pkt_get_offset(d[i], &s->at);
                status[i] = sides[i]->pt_pkt_next(d[i], &p[i], sizeof p[i]);
            }
            if (status[0] >= 0 && status[1] >= 0 && p[0].type == ppt_cyc
                && (p[1].type == ppt_ovf || p[1].size != p[0].size)
                && s->config.errata.skd007) {
                seen[D_ERRATA]++;
                goto done;
            }
            if (status[0] == -pte_bad_packet && is_long_psb(s, s->at)) {
                seen[D_CONTEXT]++;
                goto done;
            }
            if (status[0] != status[1]
                || (status[0] >= 0 && !same_packet(&p[0], &p[1]))) {
                differ(s, "packets", "%d type %d, ours %d type %d", status[0],
                       p[0].type, status[1], p[1].type);
                goto done;
            }
            compared[PACKET]++;
            if (status[0] >= 0 && p[0].type == ppt_cbr)
                s->ratio[p[0].payload.cbr.ratio] = 1;
            for (int i = 0; i < 2; i++)
                CHECK_EQ(sides[i]->pt_pkt_get_offset(d[i], &offset[i]), 0);
            CHECK_EQ(offset[1], offset[0]);
            for (int i = 0; i < 2; i++)
                CHECK_EQ(sides[i]->pt_pkt_get_sync_offset(d[i], &offset[i]),
                         0);
            if (is_version(1)) seen[D_AHEAD] += offset[1] != offset[0];
            else CHECK_EQ(offset[1], offset[0]);
        } while (status[0] >= 0);
        for (int i = 0; i < 2; i++)
            status[i] = sides[i]->pt_pkt_sync_forward(d[i]);
    }
done:
    for (int i = 0; i < 2; i++) sides[i]->pt_pkt_free_decoder(d[i]);
}

/* ---- events ---- */

/* 0: they are the same; else bits of what differs. */
#define E_TYPE 1
#define E_DATA 2
#define E_TIME 4

#define VARIANT(name) field(f, #name, e->variant.name)
#define VARIANT_IP(name) \
    do { \
        if (!e->ip_suppressed) VARIANT(name); \
    } while (0)

static void event_fields(fields *f, const struct pt_event *e)
{
    f->count = 0;
    field(f, "type", e->type);
    field(f, "ip_suppressed", e->ip_suppressed);
    field(f, "status_update", e->status_update);
    switch (e->type) {
    case ptev_enabled:
        VARIANT(enabled.ip);
        if (!e->status_update) VARIANT(enabled.resumed);
        break;
    case ptev_disabled: VARIANT_IP(disabled.ip); break;
    case ptev_async_disabled:
        VARIANT(async_disabled.at);
        VARIANT_IP(async_disabled.ip);
        break;
    case ptev_async_branch:
        VARIANT(async_branch.from);
        VARIANT_IP(async_branch.to);
        break;
    case ptev_paging:
        VARIANT(paging.cr3);
        VARIANT(paging.non_root);
        break;
    case ptev_async_paging:
        VARIANT(async_paging.cr3);
        VARIANT(async_paging.non_root);
        VARIANT_IP(async_paging.ip);
        break;
    case ptev_exec_mode:
        VARIANT(exec_mode.mode);
        VARIANT_IP(exec_mode.ip);
        break;
    case ptev_tsx:
        VARIANT(tsx.speculative);
        VARIANT(tsx.aborted);
        VARIANT_IP(tsx.ip);
        break;
    case ptev_vmcs: VARIANT(vmcs.base); break;
    case ptev_async_vmcs:
        VARIANT(async_vmcs.base);
        VARIANT_IP(async_vmcs.ip);
        break;
    case ptev_overflow: VARIANT_IP(overflow.ip); break;
    case ptev_exstop: VARIANT_IP(exstop.ip); break;
    case ptev_tick: VARIANT_IP(tick.ip); break;
    case ptev_mwait:
        VARIANT(mwait.hints);
        VARIANT(mwait.ext);
        VARIANT_IP(mwait.ip);
        break;
    case ptev_pwre:
        VARIANT(pwre.state);
        VARIANT(pwre.sub_state);
        VARIANT(pwre.hw);
        break;
    case ptev_pwrx:
        VARIANT(pwrx.last);
        VARIANT(pwrx.deepest);
        VARIANT(pwrx.interrupt);
        VARIANT(pwrx.store);
        VARIANT(pwrx.autonomous);
        break;
    case ptev_ptwrite:
        VARIANT(ptwrite.size);
        VARIANT(ptwrite.payload);
        VARIANT_IP(ptwrite.ip);
        break;
    case ptev_cbr: VARIANT(cbr.ratio); break;
    case ptev_mnt: VARIANT(mnt.payload); break;
#if LIBIPT_VERSION >= 0x201
    case ptev_tip: VARIANT_IP(tip.ip); break;
    case ptev_tnt:
        VARIANT(tnt.bits);
        VARIANT(tnt.size);
        break;
    case ptev_iflags:
        VARIANT(iflags.iflag);
        VARIANT_IP(iflags.ip);
        break;
    case ptev_interrupt:
        VARIANT(interrupt.vector);
        VARIANT(interrupt.has_cr2);
        if (e->variant.interrupt.has_cr2) VARIANT(interrupt.cr2);
        VARIANT_IP(interrupt.ip);
        break;
    case ptev_iret: VARIANT_IP(iret.ip); break;
    case ptev_smi: VARIANT_IP(smi.ip); break;
    case ptev_init: VARIANT_IP(init.ip); break;
    case ptev_shutdown: VARIANT_IP(shutdown.ip); break;
    case ptev_vmentry: VARIANT_IP(vmentry.ip); break;
    case ptev_uiret: VARIANT_IP(uiret.ip); break;
    case ptev_sipi: VARIANT(sipi.vector); break;
    case ptev_vmexit:
        VARIANT(vmexit.has_vector);
        VARIANT(vmexit.has_vmxr);
        VARIANT(vmexit.has_vmxq);
        if (e->variant.vmexit.has_vector) VARIANT(vmexit.vector);
        if (e->variant.vmexit.has_vmxr) VARIANT(vmexit.vmxr);
        if (e->variant.vmexit.has_vmxq) VARIANT(vmexit.vmxq);
        VARIANT_IP(vmexit.ip);
        break;
    case ptev_uintr:
        VARIANT(uintr.vector);
        VARIANT_IP(uintr.ip);
        break;
#endif
#if LIBIPT_VERSION >= 0x202
    case ptev_trig:
        VARIANT(trig.trbv);
        VARIANT(trig.mult);
        VARIANT_IP(trig.ip);
        VARIANT_IP(trig.icnt);
        break;
    case ptev_swintr:
        VARIANT(swintr.vector);
        VARIANT_IP(swintr.ip);
        break;
    case ptev_syscall: VARIANT_IP(syscall.ip); break;
#endif
    default: break;
    }
}

static unsigned event_differs(const struct pt_event *a,
                              const struct pt_event *b)
{
    unsigned bits = 0;
    fields x;
    fields y;
    if (a->type != b->type) return E_TYPE;
    event_fields(&x, a);
    event_fields(&y, b);
    if (!same_fields(&x, &y)) bits |= E_DATA;
    if (a->has_tsc != b->has_tsc || a->tsc != b->tsc
        || a->lost_mtc != b->lost_mtc || a->lost_cyc != b->lost_cyc)
        bits |= E_TIME;
    return bits;
}

/* Is what differs of an event something that 2.0.5 does wrong? */
static int allowed(unsigned bits)
{
    if (bits & (E_TYPE | E_DATA)) return 0;
    if (bits & E_TIME) seen[D_TIME]++;
    return 1;
}

/* ---- flow ---- */

static void flow_begin(flow *f, const subject *s, int side, int layer)
{
    memset(f, 0, sizeof *f);
    f->by = sides[side];
    f->layer = layer;
    switch (layer) {
    case QUERY: f->d = f->by->pt_qry_alloc_decoder(&s->config); break;
    case INSN:
        f->d = f->by->pt_insn_alloc_decoder(&s->config);
        if (s->image[side])
            CHECK_EQ(f->by->pt_insn_set_image(f->d, s->image[side]), 0);
        break;
    default:
        f->d = f->by->pt_blk_alloc_decoder(&s->config);
        if (s->image[side])
            CHECK_EQ(f->by->pt_blk_set_image(f->d, s->image[side]), 0);
        break;
    }
    CHECK(f->d != NULL);
}

static void flow_end(flow *f)
{
    switch (f->layer) {
    case QUERY: f->by->pt_qry_free_decoder(f->d); break;
    case INSN: f->by->pt_insn_free_decoder(f->d); break;
    default: f->by->pt_blk_free_decoder(f->d); break;
    }
}

static void flow_sync(flow *f)
{
    f->ip = 0;
    switch (f->layer) {
    case QUERY: f->status = f->by->pt_qry_sync_forward(f->d, &f->ip); break;
    case INSN: f->status = f->by->pt_insn_sync_forward(f->d); break;
    default: f->status = f->by->pt_blk_sync_forward(f->d); break;
    }
}

static void flow_event(flow *f)
{
    struct pt_event *e = &f->event;
    memset(e, 0, sizeof *e);
    switch (f->layer) {
    case QUERY: f->status = f->by->pt_qry_event(f->d, e, sizeof *e); break;
    case INSN: f->status = f->by->pt_insn_event(f->d, e, sizeof *e); break;
    default: f->status = f->by->pt_blk_event(f->d, e, sizeof *e); break;
    }
}

/* The next branch, instruction or block. */
static void flow_next(flow *f)
{
    switch (f->layer) {
    case QUERY:
        f->target = 0;
        f->ip = 0;
        f->status = f->by->pt_qry_cond_branch(f->d, &f->taken);
        if (f->status != -pte_bad_query) break;
        f->target = 1;
        f->status = f->by->pt_qry_indirect_branch(f->d, &f->ip);
        break;
    case INSN:
        f->status = f->by->pt_insn_next(f->d, &f->insn, sizeof f->insn);
        break;
    default:
        f->status = f->by->pt_blk_next(f->d, &f->block, sizeof f->block);
        break;
    }
}

/* What the getters say, compared: offsets, time, ratio, address space. */
static void getters(const flow f[2], uint64_t out[2][8])
{
    for (int i = 0; i < 2; i++) {
        const api *by = f[i].by;
        uint64_t *o = out[i];
        struct pt_asid asid;
        uint32_t lost[2] = {0, 0};
        uint32_t cbr = 0;
        memset(o, 0, 8 * sizeof *o);
        pt_asid_init(&asid);
        switch (f[i].layer) {
        case QUERY:
            CHECK_EQ(by->pt_qry_get_offset(f[i].d, &o[0]), 0);
            CHECK_EQ(by->pt_qry_get_sync_offset(f[i].d, &o[1]), 0);
            o[2] = by->pt_qry_time(f[i].d, &o[3], &lost[0], &lost[1]) == 0;
            o[4] = by->pt_qry_core_bus_ratio(f[i].d, &cbr) == 0;
            break;
        case INSN:
            CHECK_EQ(by->pt_insn_get_offset(f[i].d, &o[0]), 0);
            CHECK_EQ(by->pt_insn_get_sync_offset(f[i].d, &o[1]), 0);
            o[2] = by->pt_insn_time(f[i].d, &o[3], &lost[0], &lost[1]) == 0;
            o[4] = by->pt_insn_core_bus_ratio(f[i].d, &cbr) == 0;
            CHECK_EQ(by->pt_insn_asid(f[i].d, &asid, sizeof asid), 0);
            break;
        default:
            CHECK_EQ(by->pt_blk_get_offset(f[i].d, &o[0]), 0);
            CHECK_EQ(by->pt_blk_get_sync_offset(f[i].d, &o[1]), 0);
            o[2] = by->pt_blk_time(f[i].d, &o[3], &lost[0], &lost[1]) == 0;
            o[4] = by->pt_blk_core_bus_ratio(f[i].d, &cbr) == 0;
            CHECK_EQ(by->pt_blk_asid(f[i].d, &asid, sizeof asid), 0);
            break;
        }
        o[5] = cbr;
        o[6] = asid.cr3;
        o[7] = asid.vmcs;
    }
}

#define EVENTS_MAX 64

/* Take all events that are pending. 2.1's blocks do not say so while tracing is
 * disabled: an empty one comes first. */
static unsigned drain(flow *f, struct pt_event *list)
{
    unsigned count = 0;
    if (f->layer == BLOCK && f->by == &theirs && is_version(1)
        && f->status == pts_ip_suppressed) {
        seen[D_BACKWARD]++;
        f->status = f->by->pt_blk_next(f->d, &f->block, sizeof f->block);
    }
    while (f->status >= 0 && f->status & pts_event_pending) {
        flow_event(f);
        if (f->status < 0) break;
        if (count < EVENTS_MAX) list[count++] = f->event;
    }
    return count;
}

static uint64_t sync_offset_of(const flow *f)
{
    uint64_t at = 0;
    if (f->layer == QUERY) (void) f->by->pt_qry_get_sync_offset(f->d, &at);
    if (f->layer == INSN) (void) f->by->pt_insn_get_sync_offset(f->d, &at);
    if (f->layer == BLOCK) (void) f->by->pt_blk_get_sync_offset(f->d, &at);
    return at;
}

/* ---- errors ---- */

/* Go on to the next error, for so many items, and over events or not. */
static void go_on(flow *f, unsigned items, int events)
{
    while (f->status >= 0 && items > 0) {
        if (f->status & pts_event_pending) {
            if (!events) break;
            flow_event(f);
        } else {
            if (f->status & pts_eos) break;
            flow_next(f);
            items--;
        }
    }
    f->left = 0;
}

/* Is there at an offset a PSB+ without PSBEND, or a packet of one? Or does such
 * a one come next, which is read ahead? */
static int is_open_psb(const subject *s, uint64_t offset)
{
    walker w;
    int in = 0;
    int next = 0; /* the PSB+ is the next one */
    walk(&w, s);
    while (walk_on(&w)) {
        if (w.p.offset > offset && !in
            && (next || (w.p.type != IPT_PKT_PAD && w.p.type != IPT_PKT_PSB)))
            return 0;
        switch (w.p.type) {
        case IPT_PKT_PSBEND: in = 0; break;
        case IPT_PKT_PSB:
            if (w.p.offset > offset && in) return 1;
            next = w.p.offset > offset;
            in = 1;
            break;
        case IPT_PKT_TNT_8:
        case IPT_PKT_TNT_64:
        case IPT_PKT_TIP:
        case IPT_PKT_TIP_PGE:
        case IPT_PKT_TIP_PGD:
            if (w.p.offset >= offset && in) return 1;
            break;
        default: break;
        }
    }
    return in;
}

/* What packets say of tracing, as far as it takes to see that one is where none
 * of its kind may be. */
typedef struct standing {
    int enabled; /* -1: it is not known */
    int in;      /* a PSB+, ... */
    int next;    /* ... and whether tracing is enabled after it */
    int wants;   /* a FUP is of what was before it */
    int alone;   /* one is not: a TIP or TIP.PGD comes next */
    int mode;    /* a MODE.Exec is of the TIP or TIP.PGE that comes next */
    int tsc;     /* there was no MTC since the last one */
    int waits;   /* an MWAIT or a MODE.TSX, for a FUP, EXSTOP or PWRE */
    int exec;    /* 4 and the last MODE.Exec's bits; 0: there was none */
} standing;

static int is_wrong(standing *c, const ipt_packet *p)
{
    const standing was = *c;
    switch (p->type) {
    case IPT_PKT_PSB:
        c->in = 1;
        c->next = c->alone = c->wants = c->mode = c->waits = 0;
        return was.in || was.alone || was.mode;
    case IPT_PKT_PSBEND:
        if (was.in) c->enabled = was.next;
        c->in = 0;
        return !was.in || (was.enabled >= 0 && was.enabled != was.next);
    case IPT_PKT_FUP:
        if (was.in) c->next = p->u.ip.ipc != 0;
        else c->alone = !was.wants;
        c->wants = c->waits = 0;
        if (was.in) return was.next; /* there is one already */
        return was.alone || (!was.wants && was.enabled == 0)
            || p->u.ip.ipc == 0;
    case IPT_PKT_OVF:
        memset(c, 0, sizeof *c);
        c->enabled = -1;
        c->wants = 1;
        return 0;
    case IPT_PKT_TIP_PGE:
        c->enabled = 1;
        c->alone = c->wants = c->mode = c->waits = 0;
        return was.in || was.alone || was.enabled == 1 || p->u.ip.ipc == 0;
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_TIP:
        c->enabled = p->type == IPT_PKT_TIP;
        c->alone = c->wants = c->mode = c->waits = 0;
        return was.in || was.enabled == 0 || (c->enabled && p->u.ip.ipc == 0);
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        return was.in || was.alone || was.mode || was.waits
            || was.enabled == 0;
    case IPT_PKT_MODE_EXEC:
        c->mode = !was.in;
        c->exec = 4 | (p->u.exec.csd & 1) << 1 | (p->u.exec.csl & 1);
        return was.in && was.enabled > 0 && was.exec && was.exec != c->exec;
    case IPT_PKT_MODE_TSX:
        c->wants = 1;
        c->waits = !was.in;
        return 0;
    case IPT_PKT_TSC: c->tsc = 1; return 0;
    case IPT_PKT_MTC: c->tsc = 0; return 0;
    case IPT_PKT_TMA: return !was.tsc;
    case IPT_PKT_TRIG:
        c->wants = 1;
        return was.in || (was.enabled == 0 && p->u.trig.icnt);
    case IPT_PKT_PAD:
    case IPT_PKT_PIP:
    case IPT_PKT_VMCS:
    case IPT_PKT_MNT:
    case IPT_PKT_CBR:
    case IPT_PKT_CYC: return 0;
    default:
        c->wants = 1; /* PTW, EXSTOP, CFE and the like may have one */
        c->waits = p->type == IPT_PKT_MWAIT;
        return was.in;
    }
}

/* Is a packet broken between two offsets, or where it may not be? */
static int is_broken(const subject *s, uint64_t from, uint64_t to)
{
    walker w;
    standing c;
    memset(&c, 0, sizeof c);
    c.enabled = -1;
    walk(&w, s);
    while (walk_on(&w)) {
        if (w.bad >= from && w.bad <= to) return 1;
        if (w.bad != UINT64_MAX) {
            memset(&c, 0, sizeof c);
            c.enabled = -1;
        }
        if (w.p.offset > to) return 0;
        if (is_wrong(&c, &w.p) && w.p.offset + w.p.size > from) return 1;
    }
    return c.in || (w.bad >= from && w.bad <= to);
}

/* Does the first CBR from an offset on say 0? */
static int is_cbr_0(const subject *s, uint64_t offset)
{
    walker w;
    walk(&w, s);
    while (walk_on(&w))
        if (w.p.type == IPT_PKT_CBR && w.p.offset >= offset)
            return w.p.u.cbr.ratio == 0 && near(w.p.offset, offset);
    return 0;
}

/* Does a FUP wait for its ip to be reached, when flow needs what is there? */
static int is_fup_pending(const subject *s, uint64_t offset)
{
    walker w;
    int fup = 0;
    walk(&w, s);
    while (walk_on(&w) && w.p.offset < offset) {
        switch (w.p.type) {
        case IPT_PKT_FUP: fup = 1; break;
        case IPT_PKT_PSB:
        case IPT_PKT_TIP:
        case IPT_PKT_TIP_PGE:
        case IPT_PKT_TIP_PGD: fup = 0; break;
        default: break;
        }
    }
    return fup;
}

/* Do two FUPs come just before an offset, with no flow in between? */
static int is_fup_twice(const subject *s, uint64_t offset)
{
    walker w;
    unsigned fups = 0;
    walk(&w, s);
    while (walk_on(&w) && w.p.offset <= offset) {
        switch (w.p.type) {
        case IPT_PKT_FUP:
            if (++fups > 1 && w.p.offset + AHEAD > offset) return 1;
            break;
        case IPT_PKT_PSB:
        case IPT_PKT_TNT_8:
        case IPT_PKT_TNT_64:
        case IPT_PKT_TIP:
        case IPT_PKT_TIP_PGE:
        case IPT_PKT_TIP_PGD: fups = 0; break;
        default: break;
        }
    }
    return 0;
}

/* Is a TNT the last packet of flow before an offset? */
static int is_tnt(const subject *s, uint64_t offset)
{
    walker w;
    int tnt = 0;
    walk(&w, s);
    while (walk_on(&w) && w.p.offset < offset)
        switch (w.p.type) {
        case IPT_PKT_TNT_8:
        case IPT_PKT_TNT_64: tnt = 1; break;
        case IPT_PKT_FUP:
        case IPT_PKT_TIP:
        case IPT_PKT_TIP_PGE:
        case IPT_PKT_TIP_PGD:
        case IPT_PKT_PSB: tnt = 0; break;
        default: break;
        }
    return tnt;
}

static int is_vmcs(const subject *s, uint64_t offset)
{
    walker w;
    walk(&w, s);
    while (walk_on(&w) && w.p.offset <= offset)
        if (w.p.offset == offset) return w.p.type == IPT_PKT_VMCS;
    return 0;
}

static int is_context(int error)
{
    return error == -pte_bad_context || error == -pte_no_enable;
}

static int is_of_packet(int error)
{
    return error == -pte_bad_opc || error == -pte_bad_packet
        || is_context(error) || error == -pte_noip
        || error == -pte_ip_suppressed
        || error == -pte_bad_status_update || error == -pte_eos;
}

static uint64_t start_of(const flow *f)
{
    return f->layer == BLOCK ? f->block.ip : f->insn.ip;
}

/* Of the last instruction, also of one that has an error. */
static uint64_t ip_of(const flow *f)
{
    if (f->layer != BLOCK) return f->insn.ip;
    return f->block.ninsn ? f->block.end_ip : f->block.ip;
}

static enum pt_insn_class last_class(const flow *f)
{
    return f->layer == BLOCK ? f->block.iclass : f->insn.iclass;
}

#define AGREE 200u /* items until both have met an error */

/* ... near there? */
static int broken(const subject *s, uint64_t at)
{
    return is_broken(s, at > PLACE ? at - PLACE : 0, at + PLACE);
}

/* One has an error, or comes to one: why is that not the other's? -1: for
 * nothing that 2.0.5 does wrong. Neither can go on after this. */
static int why_error(const subject *s, flow f[2], int events)
{
    uint64_t at[2];
    int a;
    int b;
    if (f[1].status == -pte_event_ignored) /* it comes before that */
        f[1].status = pts_event_pending;
    go_on(&f[0], AGREE, 1);
    go_on(&f[1], AGREE, events);
    a = f[0].status;
    b = f[1].status;
    for (int i = 0; i < 2; i++) at[i] = offset_of(&f[i]);
    if (a < 0 && a == b && within(PLACE, at[0], at[1])) return D_EARLY;
    if (a == -pte_ip_suppressed && b == -pte_noip) return D_EARLY;
    if (a > 0 && a & pts_eos && b == -pte_eos) return D_EARLY;
    if (is_context(b) && (a >= 0 || at[0] >= at[1]) && broken(s, at[1]))
        return D_CONTEXT;
    if (a == -pte_bad_context
        && (is_open_psb(s, at[0]) || is_long_psb(s, at[0] + 16)))
        return D_CONTEXT;
    if (a == -pte_bad_packet && is_long_psb(s, at[0])) return D_CONTEXT;
    if (a == -pte_bad_packet && is_cbr_0(s, at[0])) return D_TIME;
    for (int i = 0; i < 2; i++)
        if (is_of_packet(f[i].status) && broken(s, at[i])) return D_EARLY;
    if (a == -pte_bad_query && is_version(0) && broken(s, at[0]))
        return D_EARLY; /* of a FUP, say, that no TIP comes after */
    if (b == -pte_bad_insn) return D_INSN;
    if (b == -pte_bad_query && is_fup_pending(s, at[1])) return D_EARLY;
    if (b == -pte_bad_query && is_version(1) && is_tnt(s, at[1])
        && last_class(&f[1]) != ptic_cond_jump)
        return D_EARLY; /* 2.1 takes the TIP after it */
    if (b == -pte_bad_query && is_version(1) && is_vmcs(s, at[1]))
        return D_EARLY; /* 2.1 wants no VMPTRLD before it */
    return -1;
}

static int explained(subject *s, int why)
{
    if (why < 0) return 0;
    seen[why]++;
    s->over = 1;
    return 1;
}

/* Do both stand where the other one is? */
static int is_one_place(const flow f[2])
{
    return within(PLACE, offset_of(&f[0]), offset_of(&f[1]));
}

/* Where an error is met: both go on if it is the same. */
static int excused(subject *s, flow f[2], int events)
{
    const int why = why_error(s, f, events);
    if (why < 0) return 0;
    seen[why]++;
    s->over |= f[0].status != f[1].status || !is_one_place(f);
    return 1;
}

/* Is the trace broken where both are? */
static int is_lost(const subject *s)
{
    const uint64_t at = where(s);
    if (is_version(0)) return -1;
    return is_broken(s, at > AHEAD ? at - AHEAD : 0, at + AHEAD) ? (int) D_EARLY
                                                                 : -1;
}

/* JMPABS, those of REX2, and AMD's of XOP, which mean nothing elsewhere. */
static int is_new_insn(const uint8_t *raw)
{
    return raw[0] == 0xd5 || (raw[0] == 0x8f && (raw[1] & 0x1f) >= 8);
}

/* Of the last instruction that was the same; -1: there is none. */
static int last_kind(const subject *s)
{
    uint8_t raw[15] = {0};
    ipt_code c;
    const int size = image_read(raw, sizeof raw, &image_everywhere, s->last,
                                s->code);
    if (size <= 0 || is_new_insn(raw)
        || ipt_classify(&c, raw, (size_t) size, s->mode, NULL) < 0)
        return -1;
    return c.kind;
}

/* Ours has stopped there for a TIP.PGD that theirs does not take. */
static int is_pgd(const subject *s, const flow *f, const struct pt_event *e)
{
    if (f->layer == QUERY || e->type != ptev_disabled || !e->ip_suppressed)
        return 0;
    switch (last_kind(s)) {
    case IPT_INSN_JCC:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_CALL_INDIRECT:
    case IPT_INSN_RET: return 1;
    default: return 0;
    }
}

/* Does ours give a status event of theirs a few items later? */
static int is_later(flow *f, const struct pt_event *e)
{
    if (!e->status_update || f->layer == QUERY) return 0;
    go_on(f, 64, 0);
    if (f->status < 0 || !(f->status & pts_event_pending)) return 0;
    flow_event(f);
    return !(event_differs(e, &f->event) & (E_TYPE | E_DATA));
}

/* Theirs has an event that ours has not, or has otherwise. */
static int without_ours(subject *s, flow f[2], const struct pt_event *e,
                        const struct pt_event *o)
{
    if (is_fup_twice(s, offset_of(&f[0]))) return !explained(s, D_CONTEXT);
    if (o && e->type == ptev_enabled
        && e->variant.enabled.ip == 0 && o->variant.enabled.ip == 0
        && e->variant.enabled.resumed && !o->variant.enabled.resumed)
        return !explained(s, D_PGD);
    if (e->type == ptev_enabled && e->ip_suppressed && f[1].status < 0)
        return !explained(s, D_CONTEXT);
    if (e->type == ptev_ptwrite && e->ip_suppressed && o)
        return !explained(s, D_ORDER);
    if (!is_version(0) && e->type == ptev_enabled && o
        && e->variant.enabled.ip == o->variant.enabled.ip)
        return !explained(s, D_PGD);
    if (!o && e->status_update && broken(s, offset_of(&f[0])))
        return !explained(s, D_CONTEXT);
    if (!o && is_later(&f[1], e)) return !explained(s, D_ORDER);
    if (!o && excused(s, f, 0)) return 1;
    if (explained(s, is_lost(s))) return 0;
    return differ(s, "events", "type %d %d%d %llx %llx, ours type %d, "
                  "status %d, ours %d", (int) e->type, (int) e->ip_suppressed,
                  (int) e->status_update,
                  (unsigned long long) e->variant.async_branch.from,
                  (unsigned long long) e->variant.async_branch.to,
                  o ? (int) o->type : -1, f[0].status, f[1].status);
}

/* Tracing is enabled where the last call leads back to: that has returned, of
 * which the trace has nothing. */
static void take_back(subject *s, uint64_t ip)
{
    if (s->depth && s->back[(s->depth - 1) % 64] == ip) s->depth--;
}

/* Events between two items: the same, except what is allowed. */
static int same_events(subject *s, flow f[2])
{
    static struct pt_event list[2][EVENTS_MAX];
    unsigned count[2];
    uint8_t used[EVENTS_MAX] = {0};
    unsigned next = 0;
    for (int i = 0; i < 2; i++) count[i] = drain(&f[i], list[i]);
    for (unsigned n = 0; n < count[0]; n++) {
        const struct pt_event *e = &list[0][n];
        unsigned k = 0;
        while (k < count[1]
               && (used[k]
                   || event_differs(e, &list[1][k]) & (E_TYPE | E_DATA)))
            k++;
        if (k < count[1]) {
            used[k] = 1;
            (void) allowed(event_differs(e, &list[1][k]));
            if (e->type == ptev_enabled) take_back(s, e->variant.enabled.ip);
            if (e->type == ptev_disabled) s->left = 1;
            if (e->type == ptev_exec_mode) s->exec = e->variant.exec_mode.mode;
            if (k != next) seen[D_ORDER]++;
            next = k + 1;
        } else if (e->type == ptev_pwre) { /* ours comes with PWRX */
            seen[D_ORDER]++;
            f[0].early++;
        } else if (!s->config.errata.bdm70 && e->status_update) {
            seen[D_ERRATA]++;
        } else if (e->type == ptev_exec_mode) {
            seen[D_EXEC_REPEAT]++;
            f[0].execs++;
        } else {
            k = 0;
            while (k < count[1] && (used[k] || list[1][k].type != e->type))
                k++;
            return without_ours(s, f, e, k < count[1] ? &list[1][k] : NULL);
        }
    }
    if (f[0].status < 0 && f[0].status != f[1].status && excused(s, f, 1))
        return 1;
    for (unsigned k = 0; k < count[1]; k++) {
        const struct pt_event *e = &list[1][k];
        if (used[k]) continue;
        if (e->type == ptev_pwre && f[0].early) f[0].early--;
        else if (e->type == ptev_exec_mode && f[0].execs) f[0].execs--;
        else if (e->type == ptev_mwait || e->type == ptev_pwre
                 || e->type == ptev_exstop)
            seen[D_ORDER]++;
        else if (!s->config.errata.bdm70 && e->status_update)
            seen[D_ERRATA]++;
        else if (is_version(1) && f[0].layer != QUERY && e->status_update)
            return !explained(s, D_BACKWARD);
        else if (!is_version(0) && is_lost(s) >= 0)
            return !explained(s, D_EARLY);
        else if (is_pgd(s, &f[1], e)) return !explained(s, D_PGD);
        else if (is_fup_twice(s, offset_of(&f[1])))
            return !explained(s, D_CONTEXT);
        else if (excused(s, f, 1)) /* theirs has an error next */
            return !(s->over = 1);
        else
            return differ(s, "events", "ours has one more, of type %d",
                          (int) e->type);
    }
    return 1;
}

/* Where flow goes on inside of a block. */
static void walk_block(flow *f, const subject *s)
{
    const struct pt_conf_flags *flags = &s->config.flags;
    uint8_t raw[15];
    ipt_code c;
    const int size = image_read(raw, sizeof raw, &image_everywhere, f->at,
                                s->code);
    f->left--;
    if (size <= 0
        || ipt_classify(&c, raw, (size_t) size, (uint8_t) f->block.mode, NULL)
               < 0)
        return;
    if ((flags->variant.block.end_on_call && c.kind == IPT_INSN_CALL)
        || (flags->variant.block.end_on_jump && c.kind == IPT_INSN_JMP))
        CHECK(s->new_insn || f->left == 0 || f->by == &theirs);
    f->at += c.size;
    if (c.kind == IPT_INSN_JMP || c.kind == IPT_INSN_CALL)
        f->at += (uint64_t) c.displacement;
    if (f->block.mode != ptem_64bit) f->at = (uint32_t) f->at;
}

/* Fetch the next item of a side that has none left. */
static void more(flow *f)
{
    if (f->layer == BLOCK && f->left) return;
    flow_next(f);
    if (f->layer != BLOCK || f->status < 0) return;
    f->at = f->block.ip;
    f->left = f->block.ninsn;
}

/* Calls and returns, of what was the same last. */
static void keep_calls(subject *s)
{
    uint8_t raw[15] = {0};
    ipt_code c;
    const int size = image_read(raw, sizeof raw, &image_everywhere, s->last,
                                s->code);
    s->returned = 0;
    if (size <= 0
        || ipt_classify(&c, raw, (size_t) size, s->mode, NULL) < 0)
        return;
    if (c.kind == IPT_INSN_CALL_INDIRECT
        || (c.kind == IPT_INSN_CALL && c.displacement)) {
        s->called[s->calls++ % CALLS] = s->last + c.size;
        s->back[s->depth++ % 64] = s->last + c.size;
        s->called_at = where(s);
    } else if (c.kind == IPT_INSN_RET) {
        s->returned = s->depth ? s->back[--s->depth % 64] : UINT64_MAX;
    }
}

/* Has ours no call that a return could lead back to, as they were before a PSB?
 */
static int is_forgotten(const subject *s)
{
    walker w;
    if (!s->depth) return 1;
    walk(&w, s);
    while (walk_on(&w) && w.p.offset < where(s))
        if (w.p.offset + PLACE >= s->called_at /* both have read ahead */
            && w.p.type == IPT_PKT_PSB)
            return 1;
    return 0;
}

/* Does a call lead back there? */
static int is_called(const subject *s, uint64_t at)
{
    for (unsigned i = 0; i < s->calls && i < CALLS; i++)
        if (s->called[i] == at) return 1;
    return 0;
}

/* Has theirs returned to where an earlier call leads back to, while ours has
 * to where the last one does, that has not returned while tracing was off? */
static int is_astray(const subject *s, uint64_t at, uint64_t our)
{
    if (!s->returned || !is_called(s, at)) return 0;
    return our == s->returned || (s->left && is_called(s, our));
}

/* Why both may differ after the last instruction, or at it, where they are at
 * these addresses; -1: nothing. */
static int why_last(const subject *s, uint64_t at, uint64_t our)
{
    uint8_t raw[15] = {0};
    (void) image_read(raw, sizeof raw, &image_everywhere, s->last, s->code);
    if (s->new_insn || is_new_insn(raw)) return D_INSN;
    return is_astray(s, at, our) ? (int) D_RETURN : -1;
}

/* Is it an opcode that means nothing, of which they have another length? */
static int is_undefined(const struct pt_insn *a, const struct pt_insn *b)
{
    return a->ip == b->ip && a->iclass == ptic_other
        && b->iclass == ptic_other && a->size != b->size
        && (b->raw[0] == 0xc4 || b->raw[0] == 0xc5);
}

static int same_item(subject *s, flow f[2], image *code)
{
    const struct pt_insn *a = &f[0].insn;
    const struct pt_insn *b = &f[1].insn;
    uint8_t raw[15] = {0};
    switch (f[0].layer) {
    case QUERY:
        if (f[0].target == f[1].target && f[0].ip == f[1].ip
            && (f[0].target || f[0].taken == f[1].taken))
            return 1;
        return differ(s, "queries", "%d %d %llx, ours %d %d %llx", f[0].target,
                      f[0].taken, (unsigned long long) f[0].ip, f[1].target,
                      f[1].taken, (unsigned long long) f[1].ip);
    case INSN:
        if (b->truncated && !a->truncated && is_version(2)) seen[D_CUT]++;
        if (a->ip == b->ip && a->mode == b->mode && a->iclass == b->iclass
            && a->size == b->size && a->isid == b->isid
            && a->speculative == b->speculative
            && (a->truncated == b->truncated
                || (b->truncated && is_version(2)))
            && memcmp(a->raw, b->raw, a->size) == 0) {
            s->last = a->ip;
            s->mode = (uint8_t) a->mode;
            keep_calls(s);
            return 1;
        }
        if (explained(s, is_new_insn(b->raw) || is_undefined(a, b)
                             ? (int) D_INSN
                             : why_last(s, a->ip, b->ip)))
            return 0;
        if (explained(s, is_lost(s))) return 0;
        return differ(s, "instructions", "%llx class %d size %d isid %d mode "
                      "%d%s, ours %llx class %d size %d isid %d mode %d%s",
                      (unsigned long long) a->ip, (int) a->iclass, a->size,
                      a->isid, a->mode, a->truncated ? " cut" : "",
                      (unsigned long long) b->ip, (int) b->iclass, b->size,
                      b->isid, b->mode, b->truncated ? " cut" : "");
    default:
        if (f[0].at != f[1].at || f[0].block.isid != f[1].block.isid
            || f[0].block.mode != f[1].block.mode
            || f[0].block.speculative != f[1].block.speculative) {
            if (explained(s, why_last(s, f[0].at, f[1].at))) return 0;
            if (f[0].at != f[1].at && explained(s, is_lost(s))) return 0;
            if (f[0].at == f[1].at && f[0].block.isid > 0
                && f[0].block.mode != s->exec && f[1].block.mode == s->exec
                && explained(s, D_INSN))
                return 0;
            return differ(s, "blocks", "%llx isid %d, ours %llx isid %d",
                          (unsigned long long) f[0].at, f[0].block.isid,
                          (unsigned long long) f[1].at, f[1].block.isid);
        }
        s->last = f[0].at;
        s->mode = (uint8_t) f[0].block.mode;
        (void) image_read(raw, sizeof raw, &image_everywhere, s->last, code);
        s->new_insn |= is_new_insn(raw);
        for (int i = 0; i < 2; i++) walk_block(&f[i], s);
        if (!f[0].left && !f[1].left) s->new_insn = 0;
        keep_calls(s);
        return 1;
    }
}

/* Does theirs name a PSB that one of them has read, but ours not yet used, or
 * the other way about? */
static int is_psb_ahead(const subject *s, uint64_t out[2][8])
{
    static const uint8_t psb[4] = {0x02, 0x82, 0x02, 0x82};
    const uint64_t size = (uint64_t) (s->config.end - s->config.begin);
    const uint64_t at = out[0][0] > out[1][0] ? out[0][0] : out[1][0];
    for (int i = 0; i < 2; i++)
        if (out[i][1] + 16 > size || out[i][1] > at
            || memcmp(s->config.begin + out[i][1], psb, sizeof psb) != 0)
            return 0;
    return 1;
}

/* Are there between two offsets no more than these packets that say more than
 * the time? */
static int is_quiet(const subject *s, uint64_t from, uint64_t to, int most)
{
    walker w;
    walk(&w, s);
    while (walk_on(&w) && w.p.offset < to)
        switch (w.p.type) {
        case IPT_PKT_PAD:
        case IPT_PKT_TSC:
        case IPT_PKT_TMA:
        case IPT_PKT_MTC:
        case IPT_PKT_CYC: break;
        default: most -= w.p.offset >= from; break;
        }
    return most >= 0;
}

static int is_ahead(const subject *s, uint64_t a, uint64_t b)
{
    return near(a, b) || is_quiet(s, a < b ? a : b, a < b ? b : a, 4);
}

static int same_getters(subject *s, const flow f[2])
{
    static const char *const names[8] = {"offset", "sync offset", "has time",
        "time", "has ratio", "ratio", "cr3", "vmcs"};
    uint64_t out[2][8];
    getters(f, out);
    for (int i = 0; i < 8; i++) {
        if (out[0][i] == out[1][i]) continue;
        if (i == 2 || i == 3) seen[D_TIME]++;
        else if (i == 0 && is_ahead(s, out[0][i], out[1][i]))
            seen[D_AHEAD]++;
        else if (i == 1 && !is_version(0) && is_psb_ahead(s, out))
            seen[D_AHEAD]++;
        else if (i == 1 && near(out[0][i], out[1][i]))
            seen[D_AHEAD]++, s->over = 1;
        else if ((i == 4 || i == 5) && f[0].layer != QUERY
                 && (!out[1][4] || s->ratio[out[1][5] & 255]))
            seen[D_AHEAD]++;
        else
            return differ(s, "getters", "%s %llx, ours %llx", names[i],
                          (unsigned long long) out[0][i],
                          (unsigned long long) out[1][i]);
    }
    return 1;
}

/* The status of an item, of both. */
static int same_status(subject *s, flow f[2], const char *what)
{
    const int a = f[0].status;
    const int b = f[1].status;
    if (a >= 0 && b >= 0 && !((a ^ b) & ~pts_event_pending)) return 1;
    if (a == b && (a == -pte_eos || is_one_place(f))) return 1;
    if (!s->config.errata.bdm70 && a >= 0 && b == (a | pts_ip_suppressed)) {
        seen[D_ERRATA]++; /* tracing is not enabled as its PSB+ says */
        s->over = 1;
        return 0;
    }
    if (a >= 0 && b == (a | pts_ip_suppressed) && strcmp(what, "sync") == 0
        && is_broken(s, sync_offset_of(&f[1]), offset_of(&f[1]) + PLACE)
        && explained(s, D_CONTEXT))
        return 0;
    if (f[0].layer != QUERY
        && explained(s, why_last(s, start_of(&f[0]), start_of(&f[1]))))
        return 0;
    if (b == -pte_retstack_empty && a >= 0 && is_forgotten(s)
        && explained(s, D_RETURN))
        return 0;
    if (f[0].layer != QUERY && b == -pte_nomap
        && ip_of(&f[1]) == (uint32_t) start_of(&f[0])
        && start_of(&f[0]) > UINT32_MAX)
        return !explained(s, D_INSN);
    for (int i = 0; i < 2 && f[0].layer != QUERY; i++) {
        s->last = start_of(&f[i]);
        if (explained(s, why_last(s, 0, 0))) return 0;
    }
    if (b == -pte_bad_insn && explained(s, D_INSN)) return 0;
    if (b >= 0 && b & pts_event_pending
        && (a == -pte_bad_query || a == -pte_eos)) {
        flow_event(&f[1]);
        if (f[1].event.type == ptev_disabled && explained(s, D_PGD)) return 0;
    }
    if (a == -pte_bad_query && (is_version(0) || strcmp(what, "event") == 0)
        && broken(s, offset_of(&f[0])) && explained(s, D_ORDER))
        return 0;
    if (excused(s, f, 1)) return !s->over;
    return differ(s, what, "status %d, ours %d (layer %d, %llx, ours %llx)", a,
                  b, (int) f[0].layer,
                  (unsigned long long) (f[0].layer == BLOCK ? f[0].block.ip
                                                            : f[0].insn.ip),
                  (unsigned long long) s->last);
}

/* Synchronise both. Theirs has read ahead an error in a PSB+, and meets it
 * there once more; or it has read ahead all of it, and does not find it. Later
 * ones stand at the PSB then. */
static void sync_both(subject *s, flow f[2])
{
    const uint64_t before = offset_of(&f[0]);
    s->calls = s->depth = 0;
    s->returned = 0;
    s->left = 0;
    for (int i = 0; i < 2; i++) {
        flow_sync(&f[i]);
        f[i].left = 0;
    }
    for (;;) {
        const uint64_t psb = sync_offset_of(&f[1]);
        if (f[0].status < 0 && f[0].status != -pte_eos
            && (f[1].status < 0 || offset_of(&f[0]) < psb)) {
            seen[D_EARLY]++;
            flow_sync(&f[0]);
        } else if (f[1].status >= 0
                   && (psb < before || (psb == before && !is_version(0)))
                   && (f[0].status < 0 || sync_offset_of(&f[0]) > psb)) {
            seen[D_AHEAD]++;
            flow_sync(&f[1]);
        } else {
            break;
        }
    }
}

/* Follow a trace to its end, over errors, with both. */
static void follow(subject *s, int layer, image *code, unsigned long limit)
{
    flow f[2];
    s->steps = 0;
    s->code = code;
    s->new_insn = 0;
    s->flow = f;
    for (int i = 0; i < 2; i++) flow_begin(&f[i], s, i, layer);
    while (!s->over && s->steps < limit) {
        sync_both(s, f);
        if (!same_status(s, f, "sync") || f[0].status < 0) break;
        if (layer == QUERY && f[0].ip != f[1].ip) differ(s, "sync", "ip");
        if (!same_getters(s, f) || s->over) break;
        while (f[0].status >= 0 && s->steps < limit) {
            if (!f[0].left && !f[1].left) {
                if (!same_events(s, f) || !same_status(s, f, "event")) break;
                if (f[0].status < 0 || f[0].status & pts_eos) break;
            }
            s->steps++;
            for (int i = 0; i < 2; i++) more(&f[i]);
            if (layer == BLOCK && f[0].status >= 0 && f[1].status >= 0
                && f[0].block.truncated && f[1].block.truncated
                && f[0].block.end_ip == f[1].block.end_ip) {
                CHECK_EQ(f[1].block.size, f[0].block.size);
                CHECK(memcmp(f[1].block.raw, f[0].block.raw,
                             f[0].block.size) == 0);
            }
            if (f[0].left && f[1].left
                    ? 0 : !same_status(s, f, "next")) break;
            if (f[0].status < 0) break;
            if (!same_item(s, f, code)) break;
            compared[layer]++;
            if (s->steps % 64 == 1 && !f[0].left && !f[1].left
                && !same_getters(s, f))
                break;
        }
        if (f[0].status >= 0) break; /* the end, or they differ */
    }
    for (int i = 0; i < 2; i++) flow_end(&f[i]);
    s->flow = NULL;
}

#if LIBIPT_VERSION >= 0x201
/* Follow the event decoder as well. */
static void follow_events(subject *s)
{
    struct pt_event_decoder *d[2];
    struct pt_event e[2];
    uint64_t at[2] = {0, 0};
    int status[2];
    s->steps = 0;
    for (int i = 0; i < 2; i++)
        d[i] = sides[i]->pt_evt_alloc_decoder(&s->config);
    for (;;) {
        for (int i = 0; i < 2; i++)
            status[i] = sides[i]->pt_evt_sync_forward(d[i]);
        if (status[0] != status[1]) { /* theirs has read all of the PSB+ */
            for (int n = 0; n < 16 && status[1] >= 0; n++)
                status[1] = sides[1]->pt_evt_next(d[1], &e[1], sizeof e[1]);
            if (status[1] == status[0] || is_broken(s, 0, UINT64_MAX))
                seen[D_EARLY]++;
            else
                differ(s, "evt sync", "status %d, ours %d", status[0],
                       status[1]);
            break;
        }
        if (status[0] < 0) break;
        while (status[0] >= 0) {
            unsigned differs;
            s->steps++;
            for (int i = 0; i < 2; i++) {
                memset(&e[i], 0, sizeof e[i]);
                status[i] = sides[i]->pt_evt_next(d[i], &e[i], sizeof e[i]);
                (void) sides[i]->pt_evt_get_offset(d[i], &at[i]);
            }
            s->at = at[0] > at[1] ? at[0] : at[1];
            seen[D_AHEAD] += at[0] != at[1];
            if (status[0] != status[1]) {
                if (is_broken(s, at[0] < at[1] ? at[0] : at[1], s->at + PLACE)
                    || (status[0] == -pte_ip_suppressed
                        && status[1] == -pte_noip))
                    seen[is_context(status[0]) || is_context(status[1])
                             ? D_CONTEXT : D_EARLY]++;
                else if (status[0] == -pte_bad_packet && is_long_psb(s, at[0]))
                    seen[D_CONTEXT]++;
                else if (status[0] == -pte_bad_packet && is_cbr_0(s, at[0]))
                    seen[D_TIME]++;
                else
                    differ(s, "evt", "status %d, ours %d, at %llx and %llx",
                           status[0], status[1], (unsigned long long) at[0],
                           (unsigned long long) at[1]);
                goto done;
            }
            if (status[0] < 0) break;
            compared[EVENT]++;
            differs = event_differs(&e[0], &e[1]);
            if (differs & E_TIME) seen[D_TIME]++;
            if (!(differs & (E_TYPE | E_DATA))) continue;
            if (is_broken(s, at[0] < at[1] ? at[0] : at[1], s->at + PLACE))
                seen[D_CONTEXT]++;
            else if (e[0].type == ptev_pwre
                || e[1].type == ptev_mwait)
                seen[D_ORDER]++;
            else if (is_version(1) && e[0].status_update)
                seen[D_ERRATA]++;
            else differ(s, "evt", "type %d %d%d %llx, ours %d %d%d %llx",
                        (int) e[0].type, (int) e[0].ip_suppressed,
                        (int) e[0].status_update,
                        (unsigned long long) e[0].variant.tip.ip,
                        (int) e[1].type, (int) e[1].ip_suppressed,
                        (int) e[1].status_update,
                        (unsigned long long) e[1].variant.tip.ip);
            goto done;
        }
    }
done:
    for (int i = 0; i < 2; i++) sides[i]->pt_evt_free_decoder(d[i]);
}
#endif

#endif /* COMPAT_LOCKSTEP_H */
