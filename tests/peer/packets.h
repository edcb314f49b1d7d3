/* packets.h: packets and events of both sides, item by item. A part of
 * peer_libipt.c. */
#ifndef PEER_PACKETS_H
#define PEER_PACKETS_H

/* ---- packets ---- */

static int same_ip(const ipt_packet *p, const struct pt_packet *t, int type)
{
    return (int) t->type == type && p->u.ip.ipc == t->payload.ip.ipc
           && p->u.ip.payload == t->payload.ip.ip;
}

static int same_tnt(const ipt_packet *p, const struct pt_packet *t, int type)
{
    return (int) t->type == type && p->u.tnt.count == t->payload.tnt.bit_size
           && p->u.tnt.bits == t->payload.tnt.payload;
}

static int same_mode(const ipt_packet *p, const struct pt_packet *t)
{
    const struct pt_packet_mode *m = &t->payload.mode;
    if (t->type != ppt_mode) return 0;
    if (p->type == IPT_PKT_MODE_EXEC)
        return m->leaf == pt_mol_exec && m->bits.exec.csl == p->u.exec.csl
               && m->bits.exec.csd == p->u.exec.csd;
    return m->leaf == pt_mol_tsx && m->bits.tsx.intx == p->u.tsx.intx
           && m->bits.tsx.abrt == p->u.tsx.abrt;
}

static int same_power(const ipt_packet *p, const struct pt_packet *t)
{
    if (p->type == IPT_PKT_EXSTOP)
        return t->type == ppt_exstop
               && t->payload.exstop.ip == p->u.exstop.has_ip;
    if (p->type == IPT_PKT_MWAIT)
        return t->type == ppt_mwait
               && t->payload.mwait.hints == p->u.mwait.hints
               && t->payload.mwait.ext == p->u.mwait.ext;
    if (p->type == IPT_PKT_PWRE)
        return t->type == ppt_pwre && t->payload.pwre.state == p->u.pwre.state
               && t->payload.pwre.sub_state == p->u.pwre.sub_state
               && t->payload.pwre.hw == p->u.pwre.hw;
    return t->type == ppt_pwrx && t->payload.pwrx.last == p->u.pwrx.last
           && t->payload.pwrx.deepest == p->u.pwrx.deepest
           && t->payload.pwrx.interrupt == p->u.pwrx.interrupt
           && t->payload.pwrx.store == p->u.pwrx.store
           && t->payload.pwrx.autonomous == p->u.pwrx.autonomous;
}

static int same_timing(const ipt_packet *p, const struct pt_packet *t)
{
    switch (p->type) {
    case IPT_PKT_TSC:
        return t->type == ppt_tsc && t->payload.tsc.tsc == p->u.tsc.value;
    case IPT_PKT_CBR:
        return t->type == ppt_cbr && t->payload.cbr.ratio == p->u.cbr.ratio;
    case IPT_PKT_TMA:
        return t->type == ppt_tma && t->payload.tma.ctc == p->u.tma.ctc
               && t->payload.tma.fc == p->u.tma.fc;
    case IPT_PKT_MTC:
        return t->type == ppt_mtc && t->payload.mtc.ctc == p->u.mtc.ctc;
    default:
        return t->type == ppt_cyc && t->payload.cyc.value == p->u.cyc.value;
    }
}

static int same_fields(const ipt_packet *p, const struct pt_packet *t)
{
    switch (p->type) {
    case IPT_PKT_PAD: return t->type == ppt_pad;
    case IPT_PKT_PSB: return t->type == ppt_psb;
    case IPT_PKT_PSBEND: return t->type == ppt_psbend;
    case IPT_PKT_OVF: return t->type == ppt_ovf;
    case IPT_PKT_STOP: return t->type == ppt_stop;
    case IPT_PKT_TNT_8: return same_tnt(p, t, ppt_tnt_8);
    case IPT_PKT_TNT_64: return same_tnt(p, t, ppt_tnt_64);
    case IPT_PKT_TIP: return same_ip(p, t, ppt_tip);
    case IPT_PKT_TIP_PGE: return same_ip(p, t, ppt_tip_pge);
    case IPT_PKT_TIP_PGD: return same_ip(p, t, ppt_tip_pgd);
    case IPT_PKT_FUP: return same_ip(p, t, ppt_fup);
    case IPT_PKT_MODE_EXEC:
    case IPT_PKT_MODE_TSX: return same_mode(p, t);
    case IPT_PKT_PIP:
        return t->type == ppt_pip && t->payload.pip.cr3 == p->u.pip.cr3
               && t->payload.pip.nr == p->u.pip.nr;
    case IPT_PKT_VMCS:
        return t->type == ppt_vmcs && t->payload.vmcs.base == p->u.vmcs.base;
    case IPT_PKT_TSC:
    case IPT_PKT_CBR:
    case IPT_PKT_TMA:
    case IPT_PKT_MTC:
    case IPT_PKT_CYC: return same_timing(p, t);
    case IPT_PKT_MNT:
        return t->type == ppt_mnt && t->payload.mnt.payload == p->u.mnt.payload;
    case IPT_PKT_PTW:
        return t->type == ppt_ptw && t->payload.ptw.payload == p->u.ptw.payload
               && t->payload.ptw.plc == p->u.ptw.plc
               && t->payload.ptw.ip == p->u.ptw.has_ip;
    case IPT_PKT_EXSTOP:
    case IPT_PKT_MWAIT:
    case IPT_PKT_PWRE:
    case IPT_PKT_PWRX: return same_power(p, t);
    case IPT_PKT_INVALID: return t->type == ppt_invalid;
    default: return 0;
    }
}

/* Packets that came after 2.0.5. */
static int is_new(uint8_t type)
{
    switch (type) {
    case IPT_PKT_BBP:
    case IPT_PKT_BIP:
    case IPT_PKT_BEP:
    case IPT_PKT_CFE:
    case IPT_PKT_EVD:
    case IPT_PKT_TRIG: return 1;
    default: return 0;
    }
}

typedef struct packets {
    run *r;
    ipt_pkt_decoder ours;
    struct pt_packet_decoder *theirs;
    uint64_t psb_end; /* where the last PSB ended */
    uint64_t moved;   /* where theirs was set to past a packet of ours */
} packets;

static uint64_t packets_offset(const packets *c)
{
    uint64_t offset = UINT64_MAX;
    (void) pt_pkt_get_offset(c->theirs, &offset);
    return offset;
}

/* Take theirs over the pairs that stand after the eight of a PSB. */
static void packets_pairs(packets *c, uint64_t to)
{
    const uint64_t at = packets_offset(c);
    if (at != c->psb_end || to <= at || (to - at) % 2) return;
    for (uint64_t i = at; i < to; i += 2)
        if (c->r->bytes[i] != 0x02 || c->r->bytes[i + 1] != 0x82) return;
    allow(c->r, D_LONG_PSB);
    (void) pt_pkt_sync_set(c->theirs, to);
}

/* A PWRE that differs in HW only, which is bit 7 in the SDM. */
static int packets_hw(const packets *c, const ipt_packet *p,
                      const struct pt_packet *t)
{
    ipt_packet other = *p;
    if (p->type != IPT_PKT_PWRE
        || (c->r->bytes[p->offset + 2] & 0x88) != 0x80)
        return 0;
    other.u.pwre.hw = 0;
    return same_fields(&other, t) && allow(c->r, D_PWRE_HW);
}

/* Compare a packet of ours with what they say there. */
static int packets_same(packets *c, const ipt_packet *p)
{
    struct pt_packet t;
    const uint32_t times = p->type == IPT_PKT_PAD ? p->size : 1;
    items[0][c->r->part] += times;
    packets_pairs(c, p->offset);
    if (packets_offset(c) != p->offset)
        return unexplained(c->r, "packets", p->offset, "theirs is at 0x%llx",
                           ull(packets_offset(c)));
    if (p->type == IPT_PKT_PSB) c->psb_end = p->offset + p->size;
    for (uint32_t i = 0; i < times; i++) {
        int status = pt_pkt_next(c->theirs, &t, sizeof t);
        if (is_new(p->type) && (status == -pte_bad_opc || status >= 0)) {
            allow(c->r, D_NEW_PACKET);
            c->moved = p->offset + p->size;
            return pt_pkt_sync_set(c->theirs, c->moved) >= 0;
        }
        if (p->type == IPT_PKT_CYC && p->size == 10
            && status == -pte_bad_packet) {
            allow(c->r, D_CYC_10);
            return pt_pkt_sync_set(c->theirs, p->offset + p->size) >= 0;
        }
        if (p->type == IPT_PKT_TNT_64 && !p->u.tnt.count
            && status == -pte_bad_packet) {
            allow(c->r, D_TNT_EMPTY);
            return pt_pkt_sync_set(c->theirs, p->offset + p->size) >= 0;
        }
        if (status < 0)
            return unexplained(c->r, "packets", p->offset, "%s: theirs is %s",
                               ipt_pkt_name(p->type),
                               pt_errstr(pt_errcode(status)));
        if (p->type == IPT_PKT_OVF && p->size == 3 && t.type == ppt_cyc
            && c->r->config.errata & IPT_ERRATUM_SKD007)
            return allow(c->r, D_SKD007)
                   && pt_pkt_sync_set(c->theirs, p->offset + p->size) >= 0;
        if (packets_hw(c, p, &t)) continue;
        if (!same_fields(p, &t) || t.size != (times > 1 ? 1 : p->size))
            return unexplained(c->r, "packets", p->offset,
                               "%s, size %u: theirs is type %d, size %d",
                               ipt_pkt_name(p->type), p->size, t.type, t.size);
    }
    return 1;
}

/* The end of the trace is in this packet: what theirs may say instead. */
static int packets_cut(const packets *c, int status, int other)
{
    const run *r = c->r;
    const uint64_t at = c->ours.at.offset;
    if (psb_cut(r, at, status, other)) return allow(r, D_PSB_CUT);
    if (status != IPT_ERR_TRUNCATED) return 0;
    if (other >= 0 && r->config.errata & IPT_ERRATUM_SKZ84
        && r->bytes[at] == 0x02 && at + 1 < r->size && r->bytes[at + 1] == 0x73)
        return allow(r, D_SKZ84_CUT);
    return ((other == -pte_bad_opc && is_new(c->ours.at.packet))
            || (c->ours.cur_.block && (r->bytes[at] & 7) == 4))
           && allow(r, D_NEW_PACKET);
}

/* Ours has no packet here; synchronise both onto the next PSB. */
static int packets_error(packets *c, int status)
{
    const uint64_t at = c->ours.at.offset;
    struct pt_packet t;
    int other;
    packets_pairs(c, at);
    other = pt_pkt_next(c->theirs, &t, sizeof t);
    if (packets_cut(c, status, other)) return 0;
    if (!same_error(status, other) || packets_offset(c) != at)
        return unexplained(c->r, "packets", at, "%s, theirs is %s at 0x%llx",
                           ipt_status_name(status),
                           pt_errstr(pt_errcode(other)),
                           ull(packets_offset(c)));
    if (status != IPT_ERR_OPCODE && status != IPT_ERR_PACKET) return 0;
    status = ipt_pkt_sync_forward(&c->ours);
    other = pt_pkt_sync_forward(c->theirs);
    if (status < 0 && same_error(status, other)) return 0;
    if (status >= 0 && c->ours.at.offset < c->moved) /* theirs was set there */
        other = pt_pkt_sync_set(c->theirs, c->ours.at.offset);
    if (status < 0 || other < 0 || packets_offset(c) != c->ours.at.offset)
        return unexplained(c->r, "packets", at, "sync: %s, theirs %d, 0x%llx",
                           ipt_status_name(status), other,
                           ull(packets_offset(c)));
    return 1;
}

static int packets_next(packets *c)
{
    ipt_packet p;
    int status = ipt_pkt_next(&c->ours, &p);
    return status < 0 ? packets_error(c, status) : packets_same(c, &p);
}

/* All PSBs, from the last to the first. */
static void compare_backward(run *r)
{
    struct pt_packet_decoder *theirs = pt_pkt_alloc_decoder(&r->peer);
    ipt_pkt_decoder ours;
    uint64_t offset;
    uint64_t before = UINT64_MAX;
    int status = IPT_OK;
    memset(&ours, 0, sizeof ours);
    ipt_pkt_init(&ours, &r->config, &r->trace);
    while (status >= 0) {
        int other = pt_pkt_sync_backward(theirs);
        status = ipt_pkt_sync_backward(&ours);
        if (other < 0 && same_error(status, other)) break;
        (void) pt_pkt_get_offset(theirs, &offset);
        if (other >= 0 && offset == before) {
            allow(r, D_BACKWARD);
            break;
        }
        if (status < 0 || other < 0 || offset != ours.at.offset) {
            unexplained(r, "packets", ours.at.offset,
                        "backward: %s, theirs %d, 0x%llx",
                        ipt_status_name(status), other, ull(offset));
            break;
        }
        before = offset;
    }
    pt_pkt_free_decoder(theirs);
}

static void compare_packets(run *r)
{
    packets c;
    int status;
    int other;
    memset(&c, 0, sizeof c);
    c.r = r;
    c.theirs = pt_pkt_alloc_decoder(&r->peer);
    ipt_pkt_init(&c.ours, &r->config, &r->trace);
    status = ipt_pkt_sync_forward(&c.ours);
    other = pt_pkt_sync_forward(c.theirs);
    if (status >= 0 && other >= 0 && packets_offset(&c) == c.ours.at.offset)
        while (packets_next(&c)) { }
    else if (!same_error(status, other))
        unexplained(r, "packets", 0, "sync: %s, theirs %d",
                    ipt_status_name(status), other);
    pt_pkt_free_decoder(c.theirs);
}

/* ---- events ---- */

/* libipt's type for one of ours, -1 if there is none in 2.0.5. */
static int peer_type(uint8_t type)
{
    static const int types[IPT_EVT_COUNT] = {
        -1, ptev_enabled, ptev_disabled, ptev_async_disabled,
        ptev_async_branch, ptev_paging, ptev_async_paging, ptev_vmcs,
        ptev_async_vmcs, ptev_overflow, ptev_exec_mode, ptev_tsx, ptev_stop,
        ptev_ptwrite, ptev_exstop, ptev_mwait, ptev_pwre, ptev_pwrx, ptev_cbr,
        ptev_mnt, -1, -1, -1, -1, -1, -1, -1, -1, ptev_tick};
    return type < IPT_EVT_COUNT ? types[type] : -1;
}

/* An IP that is there or not, on both sides alike. */
static int same_where(const ipt_event *e, const struct pt_event *t, uint64_t ip)
{
    const unsigned none = e->flags & IPT_EVENT_NO_IP ? 1 : 0;
    return none == t->ip_suppressed && (none || e->ip == ip);
}

static int same_to(const ipt_event *e, const struct pt_event *t, uint64_t to)
{
    const unsigned none = e->flags & IPT_EVENT_NO_TO ? 1 : 0;
    return none == t->ip_suppressed && (none || e->u.branch.to == to);
}

static int same_power_event(const ipt_event *e, const struct pt_event *t)
{
    switch (e->type) {
    case IPT_EVT_EXSTOP: return same_where(e, t, t->variant.exstop.ip);
    case IPT_EVT_MWAIT:
        return same_where(e, t, t->variant.mwait.ip)
               && t->variant.mwait.hints == e->u.mwait.hints
               && t->variant.mwait.ext == e->u.mwait.ext;
    case IPT_EVT_PWRE: /* hw: see pwre-hw */
        return t->variant.pwre.state == e->u.pwre.state
               && t->variant.pwre.sub_state == e->u.pwre.sub_state
               && t->variant.pwre.hw <= e->u.pwre.hw;
    default:
        return t->variant.pwrx.last == e->u.pwrx.last
               && t->variant.pwrx.deepest == e->u.pwrx.deepest
               && t->variant.pwrx.interrupt == e->u.pwrx.interrupt
               && t->variant.pwrx.store == e->u.pwrx.store
               && t->variant.pwrx.autonomous == e->u.pwrx.autonomous;
    }
}

static int same_space(const ipt_event *e, const struct pt_event *t)
{
    switch (e->type) {
    case IPT_EVT_PAGING:
        return t->variant.paging.cr3 == e->u.paging.cr3
               && t->variant.paging.non_root == e->u.paging.nr;
    case IPT_EVT_ASYNC_PAGING:
        return same_where(e, t, t->variant.async_paging.ip)
               && t->variant.async_paging.cr3 == e->u.paging.cr3
               && t->variant.async_paging.non_root == e->u.paging.nr;
    case IPT_EVT_VMCS: return t->variant.vmcs.base == e->u.vmcs.base;
    default:
        return same_where(e, t, t->variant.async_vmcs.ip)
               && t->variant.async_vmcs.base == e->u.vmcs.base;
    }
}

static int same_exec_mode(uint8_t ours, enum pt_exec_mode theirs)
{
    switch (ours) {
    case IPT_MODE_16: return theirs == ptem_16bit;
    case IPT_MODE_32: return theirs == ptem_32bit;
    case IPT_MODE_64: return theirs == ptem_64bit;
    default: return theirs == ptem_unknown;
    }
}

/* What an event says, without its time. */
static int same_event(const ipt_event *e, const struct pt_event *t)
{
    if (peer_type(e->type) != (int) t->type) return 0;
    if (!(e->flags & IPT_EVENT_STATUS) != !t->status_update) return 0;
    switch (e->type) {
    case IPT_EVT_ENABLED: return e->ip == t->variant.enabled.ip;
    case IPT_EVT_DISABLED: return same_to(e, t, t->variant.disabled.ip);
    case IPT_EVT_ASYNC_DISABLED:
        return same_to(e, t, t->variant.async_disabled.ip)
               && e->ip == t->variant.async_disabled.at;
    case IPT_EVT_ASYNC_BRANCH:
        return same_to(e, t, t->variant.async_branch.to)
               && e->ip == t->variant.async_branch.from;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: return same_space(e, t);
    case IPT_EVT_OVERFLOW: return same_where(e, t, t->variant.overflow.ip);
    case IPT_EVT_EXEC_MODE:
        return same_where(e, t, t->variant.exec_mode.ip)
               && same_exec_mode(e->u.exec.mode, t->variant.exec_mode.mode);
    case IPT_EVT_TSX:
        return same_where(e, t, t->variant.tsx.ip)
               && t->variant.tsx.speculative == e->u.tsx.speculative
               && t->variant.tsx.aborted == e->u.tsx.aborted;
    case IPT_EVT_PTWRITE:
        return same_where(e, t, t->variant.ptwrite.ip)
               && t->variant.ptwrite.size == e->u.ptwrite.size
               && t->variant.ptwrite.payload == e->u.ptwrite.payload;
    case IPT_EVT_EXSTOP:
    case IPT_EVT_MWAIT:
    case IPT_EVT_PWRE:
    case IPT_EVT_PWRX: return same_power_event(e, t);
    case IPT_EVT_CBR: return t->variant.cbr.ratio == e->u.cbr.ratio;
    case IPT_EVT_MNT: return t->variant.mnt.payload == e->u.mnt.payload;
    default: return 1;
    }
}

static int same_time(const ipt_event *e, const struct pt_event *t)
{
    return !(e->flags & IPT_EVENT_TSC) == !t->has_tsc
           && (!t->has_tsc || (e->tsc == t->tsc && e->lost_mtc == t->lost_mtc
                               && e->lost_cyc == t->lost_cyc));
}

/* An event of 2.0.5 in words, in static memory. */
static const char *peer_text(const struct pt_event *t)
{
    static char text[120];
    static const char *const names[] = {
        "enabled", "disabled", "async_disabled", "async_branch", "paging",
        "async_paging", "overflow", "exec_mode", "tsx", "stop", "vmcs",
        "async_vmcs", "exstop", "mwait", "pwre", "pwrx", "ptwrite", "tick",
        "cbr", "mnt"};
    snprintf(text, sizeof text, "%s%s%s ip %llx tsc %d %llx/%u/%u",
             t->type < LENGTH(names) ? names[t->type] : "?",
             t->status_update ? " status" : "",
             t->ip_suppressed ? " no-ip" : "", ull(t->variant.enabled.ip),
             t->has_tsc, ull(t->tsc), t->lost_mtc, t->lost_cyc);
    return text;
}

static const char *our_text(const ipt_event *e)
{
    static char text[120];
    snprintf(text, sizeof text, "%s flags %x ip %llx tsc %llx/%u/%u",
             ipt_evt_name(e->type), e->flags, ull(e->ip), ull(e->tsc),
             e->lost_mtc, e->lost_cyc);
    return text;
}

/* Packets that say nothing about flow. */
static int is_neutral(uint8_t type)
{
    switch (type) {
    case IPT_PKT_PAD:
    case IPT_PKT_TSC:
    case IPT_PKT_TMA:
    case IPT_PKT_MTC:
    case IPT_PKT_CYC:
    case IPT_PKT_CBR:
    case IPT_PKT_INVALID:
    case IPT_PKT_MNT: return 1;
    default: return 0;
    }
}

static int is_flow(uint8_t type)
{
    return type == IPT_PKT_TIP || type == IPT_PKT_TIP_PGD
           || type == IPT_PKT_TNT_8 || type == IPT_PKT_TNT_64;
}

/* ---- events of both sides that wait for each other ---- */

#define EVENTS_MAX 24

typedef struct events {
    run *r;
    uint64_t sync;
    uint64_t last; /* offset of the last event of ours that matched */
    const ipt_insn *place; /* the last instruction; NULL: no code */
    ipt_event ours[EVENTS_MAX]; /* the oldest first */
    struct pt_event theirs[EVENTS_MAX];
    struct pt_event pwre[16]; /* theirs that came early */
    unsigned count;
    unsigned peer_count;
    struct pt_event exec; /* their last exec_mode of no use, if have_exec */
    uint8_t pwre_count;
    uint8_t have_exec;
    uint8_t mode; /* the last exec_mode event, IPT_MODE_ */
} events;

static void events_begin(events *e, run *r, uint64_t sync)
{
    e->r = r;
    e->sync = e->last = sync;
    e->place = NULL;
    e->count = e->peer_count = 0;
    e->pwre_count = e->have_exec = 0;
    e->mode = IPT_MODE_UNKNOWN;
}

static int events_drop_ours(events *e)
{
    e->count--;
    memmove(&e->ours[0], &e->ours[1], e->count * sizeof e->ours[0]);
    return 1;
}

static int events_drop_theirs(events *e)
{
    e->peer_count--;
    memmove(&e->theirs[0], &e->theirs[1], e->peer_count * sizeof e->theirs[0]);
    return 1;
}

/* Is it an event that 2.0.5 does not have? */
static int is_status(const ipt_event *e)
{
    return e->flags & IPT_EVENT_STATUS
           && (e->type == IPT_EVT_ENABLED || e->type == IPT_EVT_DISABLED);
}

static int is_nameless(const ipt_event *e)
{
    return e->type >= IPT_EVT_CFE && e->type != IPT_EVT_TICK;
}

static void events_add(events *e, const ipt_event *event)
{
    if (is_status(event)) allow(e->r, D_STATUS);
    else if (is_other && is_nameless(event)) allow(e->r, D_NEW_PACKET);
    else e->ours[e->count++] = *event;
}

/* libipt's first event, if it explains by itself why ours has none like it. */
static int events_extra(events *e)
{
    const struct pt_event *t = &e->theirs[0];
    if (e->peer_count == 0) return 0;
    if (t->type == ptev_pwre) {
        if (e->pwre_count == LENGTH(e->pwre)) /* the oldest waits for none */
            memmove(&e->pwre[0], &e->pwre[1],
                    --e->pwre_count * sizeof e->pwre[0]);
        e->pwre[e->pwre_count++] = *t;
        allow(e->r, D_PWRE_EARLY);
        return events_drop_theirs(e);
    }
    if (t->type == ptev_exec_mode && !t->status_update) {
        const int same = same_exec_mode(e->mode, t->variant.exec_mode.mode);
        if (!same
            && (!e->place
                || (e->have_exec
                    && !same_exec_mode(e->mode,
                                       e->exec.variant.exec_mode.mode))))
            return 0;
        e->exec = *t;
        e->have_exec = 1;
        if (same) allow(e->r, D_EXEC_REPEAT);
        return events_drop_theirs(e);
    }
    return 0;
}

/* Is the packet at an offset a FUP whose TIP an OVF replaced? */
static int fup_then_ovf(const run *r, uint64_t offset)
{
    size_t i = packet_at(r, offset);
    if (i == r->count || r->packets[i].type != IPT_PKT_FUP) return 0;
    while (++i < r->count && r->packets[i].type != IPT_PKT_OVF)
        if (is_flow(r->packets[i].type) || r->packets[i].type == IPT_PKT_FUP)
            return 0;
    return i < r->count;
}

/* Our first event waited for something when an overflow came, and has no IP
 * therefore, or it is that of a FUP whose TIP did not come; theirs lost it. */
static int events_lost(events *e)
{
    const int fup = e->ours[0].type == IPT_EVT_ASYNC_DISABLED
                    && fup_then_ovf(e->r, e->ours[0].offset);
    unsigned i = 0;
    while (i < e->peer_count
           && (e->theirs[i].type == ptev_cbr || e->theirs[i].type == ptev_mnt))
        i++;
    if (i >= e->peer_count || e->theirs[i].type != ptev_overflow
        || !(fup || e->ours[0].flags & IPT_EVENT_NO_IP))
        return 0;
    i = 0;
    while (i < e->count && e->ours[i].type != IPT_EVT_OVERFLOW) i++;
    if (i == 0 || i == e->count) return 0;
    allow(e->r, fup ? D_OVF_FUP : D_OVF_PENDING);
    return events_drop_ours(e);
}

/* The clock after the packet at an offset, from the PSB before it on. */
static their_clock clock_at(const run *r, uint64_t sync, uint64_t offset)
{
    their_clock clock;
    their_init(&clock, &r->config);
    for (size_t i = packet_at(r, sync); i < r->count; i++) {
        if (r->packets[i].offset > offset) break;
        their_packet(&clock, &r->packets[i]);
    }
    return clock;
}

static int time_is(const their_clock *c, const struct pt_event *t)
{
    return t->has_tsc == c->has_tsc && t->tsc == c->tsc
           && t->lost_mtc == c->lost_mtc && t->lost_cyc == c->lost_cyc;
}

/* Does our clock show the same as theirs after the packet at an offset? */
static int is_ours(const run *r, uint64_t sync, uint64_t offset,
                   const their_clock *t)
{
    ipt_clock c;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, sync); i < r->count; i++) {
        if (r->packets[i].offset > offset) break;
        (void) ipt_time_packet(&c, &r->packets[i]);
    }
    return t->has_tsc == c.has_tsc && t->tsc == c.tsc
           && t->lost_mtc == c.lost_mtc && t->lost_cyc == c.lost_cyc;
}

/* Theirs has the time of some packet of the PSB+. */
static int header_time(const events *e, const ipt_event *o,
                       const struct pt_event *t)
{
    const run *r = e->r;
    size_t psb = packet_at(r, o->offset);
    their_clock c;
    while (psb > 0 && r->packets[psb].type != IPT_PKT_PSB) psb--;
    their_init(&c, &r->config);
    for (size_t i = packet_at(r, e->sync); i < r->count; i++) {
        their_packet(&c, &r->packets[i]);
        if (i >= psb && time_is(&c, t)) return 1;
        if (i > psb
            && (r->packets[i].type == IPT_PKT_PSBEND
                || r->packets[i].type == IPT_PKT_OVF))
            break;
    }
    return 0;
}

/* An overflow of which theirs has the time of one of the next packets. */
static int time_of_last(const events *e, const ipt_event *o,
                        const struct pt_event *t)
{
    const run *r = e->r;
    their_clock c;
    unsigned n = 0;
    if (o->type != IPT_EVT_OVERFLOW || !(r->config.errata & OVF_ERRATA))
        return 0;
    their_init(&c, &r->config);
    for (size_t i = packet_at(r, e->sync); i < r->count && n < 20; i++) {
        their_packet(&c, &r->packets[i]);
        if (r->packets[i].offset <= o->offset) continue;
        n++;
        if (time_is(&c, t)) return 1;
    }
    return 0;
}

/* Are there MTCs that cannot be used, as cpuid_15 is not known? */
static int mtc_without_cpuid(const run *r, uint64_t from, uint64_t to)
{
    if (r->config.cpuid_15_eax && r->config.cpuid_15_ebx) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        if (r->packets[i].offset > to) break;
        if (r->packets[i].type == IPT_PKT_MTC) return 1;
    }
    return 0;
}

/* Did so many cycles pass between two MTCs or TSCs that one takes less than
 * 1/256 tick of the TSC? */
static int fcr_zero(const run *r, uint64_t from, uint64_t to)
{
    ipt_clock c;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        const int status = ipt_time_calibrate(&c, p);
        if (p->offset > to) break;
        if ((p->type == IPT_PKT_MTC || p->type == IPT_PKT_TSC)
            && status == IPT_ERR_PACKET)
            return 1;
        (void) ipt_time_update(&c, p);
    }
    return 0;
}

/* Is there a CYC whose time overflows? */
static int huge_cyc(const run *r, uint64_t from, uint64_t to)
{
    ipt_clock c;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        const int status = ipt_time_packet(&c, p);
        if (p->offset > to) break;
        if (p->type == IPT_PKT_CYC
            && (status == IPT_ERR_PACKET || p->u.cyc.value >> 48
                || c.fcr >> 48))
            return 1;
    }
    return 0;
}

/* Events that 2.0.5 forgets to stamp. */
static int is_unstamped(uint8_t type)
{
    return type == IPT_EVT_PTWRITE || type == IPT_EVT_EXSTOP
           || type == IPT_EVT_MWAIT || type == IPT_EVT_PWRE
           || type == IPT_EVT_PWRX || type == IPT_EVT_ASYNC_VMCS
           || type == IPT_EVT_ASYNC_PAGING;
}

/* Is it what their clock shows at one of some packets? */
static int their_time(const run *r, uint64_t sync, uint64_t from, uint64_t to,
                      const struct pt_event *t)
{
    their_clock c;
    their_init(&c, &r->config);
    for (size_t i = packet_at(r, sync); i < r->count; i++) {
        if (r->packets[i].offset > to) break;
        their_packet(&c, &r->packets[i]);
        if (r->packets[i].offset >= from && time_is(&c, t)) return 1;
    }
    return 0;
}

/* A VMCS, or the second of two PIPs, of which theirs has the time of another
 * one before the same TIP: it puts one in the place of the other. */
static int time_of_pip(const events *e, const ipt_event *o,
                       const struct pt_event *t)
{
    const run *r = e->r;
    size_t i = packet_at(r, o->offset);
    while (i > 0 && r->packets[i].type != IPT_PKT_FUP) i--;
    for (; i < r->count && !is_flow(r->packets[i].type); i++) {
        const uint64_t at = r->packets[i].offset;
        if (r->packets[i].type == IPT_PKT_PIP
            && their_time(r, e->sync, at, at, t))
            return 1;
    }
    return 0;
}

/* Theirs has the time of the packet that the event began with, ours of the one
 * that it was bound to. */
static int time_of_first(const events *e, const ipt_event *o,
                         const struct pt_event *t)
{
    const their_clock c = clock_at(e->r, e->sync, o->offset);
    const uint64_t end /* of a PSB+ or what theirs looks at after an OVF */
        = o->flags & IPT_EVENT_STATUS || o->type == IPT_EVT_OVERFLOW
                  || o->type == IPT_EVT_MNT || o->type == IPT_EVT_CBR
              ? o->offset + 256
              : o->offset;
    if (is_unstamped(o->type) && !t->has_tsc)
        return allow(e->r, D_NO_STAMP);
    if (huge_cyc(e->r, e->sync, end)) return allow(e->r, D_HUGE_CYC);
    if (mtc_without_cpuid(e->r, e->sync, end)) return allow(e->r, D_NO_CPUID);
    if (time_of_last(e, o, t)) return allow(e->r, D_TIME_LAST);
    if (o->flags & IPT_EVENT_STATUS && header_time(e, o, t))
        return allow(e->r, D_HEADER_TIME);
    if (fcr_zero(e->r, e->sync, end)) return allow(e->r, D_FCR_ZERO);
    if ((time_is(&c, t) && is_ours(e->r, e->sync, o->offset, &c))
        || ((o->type == IPT_EVT_ASYNC_VMCS || o->type == IPT_EVT_ASYNC_PAGING)
            && time_of_pip(e, o, t)))
        return allow(e->r, D_TIME_FIRST);
    if (their_time(e->r, e->sync, o->offset, o->offset + 256, t))
        return allow(e->r, D_CYC_COUNT);
    return 0;
}

/* Our exec_mode, which theirs gave before the TIP that it came with. */
static int events_exec(events *e)
{
    if (!e->have_exec || !same_event(&e->ours[0], &e->exec)
        || (e->peer_count && e->theirs[0].type == ptev_exec_mode))
        return 0;
    e->have_exec = 0;
    e->mode = e->ours[0].u.exec.mode;
    allow(e->r, D_TIP_FIRST);
    return events_drop_ours(e);
}

/* Where flow is known: is tracing enabled where it was disabled? */
static int same_resumed(const events *e, const ipt_event *o,
                        const struct pt_event *t)
{
    if (!e->place || o->type != IPT_EVT_ENABLED
        || !(o->flags & IPT_EVENT_RESUMED) == !t->variant.enabled.resumed)
        return 1;
    if (o->ip == 0) return allow(e->r, D_RESUMED_0);
    return e->place->kind == IPT_INSN_MOV_CR3 && allow(e->r, D_RESUMED);
}

/* Is our first event a pwre that theirs gave early? Those before it never came
 * to an end: an overflow dropped them. */
static int events_pwre(events *e)
{
    uint8_t i = 0;
    while (i < e->pwre_count && !same_event(&e->ours[0], &e->pwre[i])) i++;
    if (i == e->pwre_count) return 0;
    e->pwre_count = (uint8_t) (e->pwre_count - i);
    memmove(&e->pwre[0], &e->pwre[i], e->pwre_count * sizeof e->pwre[0]);
    return 1;
}

/* Take away what matches. Returns 0 at a difference; what is left then, or
 * else is left on one side only, is for the caller. */
static int events_match(events *e)
{
    while (e->count) {
        const ipt_event *o = &e->ours[0];
        const int pwre = o->type == IPT_EVT_PWRE && events_pwre(e);
        const struct pt_event *t = pwre ? &e->pwre[0] : &e->theirs[0];
        if (events_exec(e)) continue;
        if (!pwre && e->peer_count == 0) return 1;
        if (!same_event(o, t) || !same_resumed(e, o, t)) {
            if (events_lost(e) || events_extra(e)) continue;
            return 0;
        }
        if (!same_time(o, t) && !time_of_first(e, o, t)) return 0;
        items[1][e->r->part]++;
        e->last = o->offset;
        if (o->type == IPT_EVT_EXEC_MODE) e->mode = o->u.exec.mode;
        events_drop_ours(e);
        if (pwre) memmove(&e->pwre[0], &e->pwre[1],
                          --e->pwre_count * sizeof e->pwre[0]);
        else events_drop_theirs(e);
    }
    return 1;
}

/* Has either side more events to give? */
static int is_pending(int ours, int theirs)
{
    return (ours > 0 && ours & IPT_EVENT_PENDING)
           || (theirs > 0 && theirs & pts_event_pending);
}

/* The events that are left, for a report. */
static void events_show(const events *e)
{
    for (unsigned i = 0; i < e->count; i++)
        printf("      ours   %s\n", our_text(&e->ours[i]));
    for (unsigned i = 0; i < e->peer_count; i++)
        printf("      theirs %s\n", peer_text(&e->theirs[i]));
}

#endif /* PEER_PACKETS_H */
