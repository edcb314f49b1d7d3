/* config.c: configurations, errors, events.
 *
 * SPDX-License-Identifier: MIT */
#include "shim.h"
#include <stdint.h>
#include <string.h>

struct pt_version pt_library_version(void)
{
    struct pt_version version;
    memset(&version, 0, sizeof version);
    version.major = 2;
    if (shim_client_now(SHIM_UNKNOWN) == SHIM_2_1) version.minor = 2;
    else version.patch = 5;
    version.ext = "";
    return version;
}

const char *pt_errstr(enum pt_error_code code)
{
    static const char *const texts[] = {
        "OK", "internal error", "invalid argument", "decoder out of sync",
        "unknown opcode", "unknown packet", "unexpected packet context",
        "reached end of trace stream", "trace stream does not match query",
        "out of memory", "bad configuration", "no ip",
        "ip has been suppressed", "no memory mapped at this address",
        "unknown instruction", "no timing information", "no core:bus ratio",
        "bad image", "locking error", "not supported",
        "compressed return without call", "bad compressed return",
        "bad status update", "expected tracing enabled event",
        "event ignored", "overflow", "bad file", "unknown cpu"
    };
    const unsigned number = (unsigned) code;
    if (number < sizeof texts / sizeof texts[0]) return texts[number];
    return "internal error.";
}

uint8_t shim_client;

/* ---- errata ---- */

static const struct {
    uint32_t ours;
    uint32_t theirs;
} errata_bits[] = {
    {IPT_ERRATUM_BDM64, 0x02}, {IPT_ERRATUM_SKD007, 0x04},
    {IPT_ERRATUM_SKD022, 0x08}, {IPT_ERRATUM_SKD010, 0x10},
    {IPT_ERRATUM_SKL014, 0x20}, {IPT_ERRATUM_APL12, 0x40},
    {IPT_ERRATUM_APL11, 0x80}, {IPT_ERRATUM_SKL168, 0x100},
    {IPT_ERRATUM_SKZ84, 0x200}
};

#define ERRATA (sizeof errata_bits / sizeof errata_bits[0])
#define BDM70 1u
#define VMCS_BASE 0xffffffffff000u /* all of it, in libipt: none */

int pt_cpu_errata(struct pt_errata *errata, const struct pt_cpu *cpu)
{
    uint32_t ours = 0;
    uint32_t bits = 0;
    if (!errata || !cpu) return -pte_invalid;
    memset(errata, 0, sizeof *errata);
    if (cpu->vendor != pcv_intel
        || !ipt_cpu_errata(&ours, cpu->family, cpu->model))
        return -pte_bad_cpu;
    for (size_t i = 0; i < ERRATA; i++)
        if (ours & errata_bits[i].ours) bits |= errata_bits[i].theirs;
    /* Of the processors with BDM70 each has one of these, and no other. */
    if (ours & (IPT_ERRATUM_BDM64 | IPT_ERRATUM_SKD022)) bits |= BDM70;
    memcpy(errata, &bits, sizeof bits);
    return 0;
}

static uint32_t our_errata(const struct pt_errata *errata)
{
    uint32_t ours = 0;
    uint32_t bits;
    memcpy(&bits, errata, sizeof bits);
    for (size_t i = 0; i < ERRATA; i++)
        if (bits & errata_bits[i].theirs) ours |= errata_bits[i].ours;
    return ours;
}

/* ---- configurations ---- */

void shim_copy(void *to, size_t to_size, const void *from, size_t from_size)
{
    const size_t both = to_size < from_size ? to_size : from_size;
    memcpy(to, from, both);
    if (to_size > both) memset((uint8_t *) to + both, 0, to_size - both);
}

int shim_copy_config(struct pt_config *to, const struct pt_config *from)
{
    if (!from) return -pte_internal;
    if (from->size < offsetof(struct pt_config, decode))
        return -pte_bad_config;
    if (!from->begin || !from->end || from->end < from->begin)
        return -pte_bad_config;
    shim_copy(to, sizeof *to, from, from->size);
    to->size = sizeof *to;
    return 0;
}

static int unknown(ipt_packet *packet, const uint8_t *bytes, size_t size,
                   void *context)
{
    shim_trace *t = context;
    const uint8_t *at = t->theirs.begin + packet->offset;
    (void) bytes;
    (void) size;
    memset(&t->packet, 0, sizeof t->packet);
    t->unknown = t->theirs.decode.callback(&t->packet, &t->theirs, at,
                                           t->theirs.decode.context);
    if (t->unknown > UINT8_MAX) t->unknown = -pte_invalid;
    else if (t->unknown > t->theirs.end - at) t->unknown = -pte_eos;
    else if (t->unknown == 0) t->unknown = -pte_bad_opc;
    t->packet.packet = at;
    return t->unknown < 0 ? -1 : t->unknown;
}

static void set_filter(ipt_filter *to, const struct pt_conf_addr_filter *from)
{
    const uint64_t range[IPT_FILTERS][2] = {
        {from->addr0_a, from->addr0_b}, {from->addr1_a, from->addr1_b},
        {from->addr2_a, from->addr2_b}, {from->addr3_a, from->addr3_b}
    };
    for (unsigned i = 0; i < IPT_FILTERS; i++) {
        const unsigned kind = from->config.addr_cfg >> 4 * i & 15;
        to[i].first = range[i][0];
        to[i].last = range[i][1];
        to[i].kind = kind <= IPT_FILTER_STOP ? (uint8_t) kind : 0;
    }
}

int shim_trace_init(shim_trace *t, const struct pt_config *config)
{
    const int status = shim_copy_config(&t->theirs, config);
    if (status < 0) return status;
    t->piece.data = t->theirs.begin;
    t->piece.size = (size_t) (t->theirs.end - t->theirs.begin);
    t->trace.seg = &t->piece;
    t->trace.count = 1;
    t->config.context = t;
    if (t->theirs.decode.callback) t->config.unknown = unknown;
    t->config.errata = our_errata(&t->theirs.errata);
    t->config.cpuid_15_eax = t->theirs.cpuid_0x15_eax;
    t->config.cpuid_15_ebx = t->theirs.cpuid_0x15_ebx;
    t->config.mtc_freq = t->theirs.mtc_freq & 15;
    t->config.nom_freq = t->theirs.nom_freq;
    set_filter(t->config.filter, &t->theirs.addr_filter);
    return 0;
}

void shim_event_flags(shim_trace *t)
{
    uint32_t flags;
    memcpy(&flags, &t->theirs.flags, sizeof flags);
    if (flags & SHIM_EVT_KEEP_TCAL) t->config.flags |= IPT_CONFIG_KEEP_TCAL;
    if (flags & SHIM_EVT_IFLAGS_ON) t->config.flags |= IPT_CONFIG_IFLAGS;
}

/* ---- errors ---- */

int shim_is_cut(const shim_trace *t, const ipt_where *at)
{
    const uint8_t *p = t->piece.data + at->packet_offset;
    const size_t left = (size_t) (t->theirs.end - p);
    return left >= 2 && left < 16 && p[0] == 0x02 && p[1] == 0x82;
}

int shim_error(const shim_trace *t, const ipt_where *at, int status)
{
    switch (status) {
    case IPT_END:
    case IPT_MORE:
    case IPT_ERR_TRUNCATED: return -pte_eos;
    case IPT_NEED_PAGE: return -pte_nomap;
    case IPT_NO_TIME: return -pte_no_time;
    case IPT_ERR_ARG: return -pte_invalid;
    case IPT_ERR_CONFIG: return -pte_bad_config;
    case IPT_ERR_NOSYNC: return -pte_nosync;
    case IPT_ERR_OPCODE:
        return t->config.unknown && t->unknown < 0 ? t->unknown : -pte_bad_opc;
    case IPT_ERR_PACKET:
        return shim_is_cut(t, at) ? -pte_eos : -pte_bad_packet;
    case IPT_ERR_CONTEXT: return -pte_bad_context;
    case IPT_ERR_NO_IP:
        return at->packet == IPT_PKT_TIP_PGE ? -pte_bad_packet : -pte_noip;
    case IPT_ERR_STATUS: return -pte_bad_status_update;
    case IPT_ERR_EVENTS: return -pte_nomem;
    case IPT_ERR_QUERY:
    case IPT_ERR_MISMATCH:
    case IPT_ERR_LOOP: return -pte_bad_query;
    case IPT_ERR_RETURN:
    case IPT_ERR_RETURN_LOST: return -pte_retstack_empty;
    case IPT_ERR_RETCOMP: return -pte_bad_retcomp;
    case IPT_ERR_MODE:
    case IPT_ERR_BAD_INSN: return -pte_bad_insn;
    default: return -pte_internal;
    }
}

enum pt_insn_class shim_class(uint8_t kind)
{
    static const uint8_t classes[IPT_INSN_COUNT] = {
        [IPT_INSN_OTHER] = ptic_other,
        [IPT_INSN_JCC] = ptic_cond_jump,
        [IPT_INSN_JMP] = ptic_jump,
        [IPT_INSN_CALL] = ptic_call,
        [IPT_INSN_JMP_INDIRECT] = ptic_jump,
        [IPT_INSN_CALL_INDIRECT] = ptic_call,
        [IPT_INSN_RET] = ptic_return,
        [IPT_INSN_JMPABS] = ptic_jump,
        [IPT_INSN_FAR_CALL] = ptic_far_call,
        [IPT_INSN_FAR_JMP] = ptic_far_jump,
        [IPT_INSN_FAR_RET] = ptic_far_return,
        [IPT_INSN_INT] = ptic_far_call,
        [IPT_INSN_SYSCALL] = ptic_far_call,
        [IPT_INSN_VMCALL] = ptic_far_call,
        [IPT_INSN_IRET] = ptic_far_return,
        [IPT_INSN_UIRET] = ptic_far_return,
        [IPT_INSN_VMENTRY] = ptic_far_return,
        [IPT_INSN_RSM] = ptic_other,
        [IPT_INSN_XBEGIN] = ptic_other,
        [IPT_INSN_PTWRITE] = ptic_ptwrite,
        [IPT_INSN_MOV_CR3] = ptic_other,
        [IPT_INSN_VMPTRLD] = ptic_other,
        [IPT_INSN_INTO] = ptic_far_call
    };
    return (enum pt_insn_class) classes[kind];
}

/* ---- events ---- */

/* Of a CFE. 0: there is none. */
static unsigned cfe_type(const ipt_event *e)
{
    static const uint8_t types[] = {
        [IPT_CFE_INTR] = SHIM_EVT_INTERRUPT,
        [IPT_CFE_IRET] = SHIM_EVT_IRET,
        [IPT_CFE_SMI] = SHIM_EVT_SMI,
        [IPT_CFE_RSM] = SHIM_EVT_RSM,
        [IPT_CFE_SIPI] = SHIM_EVT_SIPI,
        [IPT_CFE_INIT] = SHIM_EVT_INIT,
        [IPT_CFE_VMENTRY] = SHIM_EVT_VMENTRY,
        [IPT_CFE_VMEXIT] = SHIM_EVT_VMEXIT,
        [IPT_CFE_VMEXIT_INTR] = SHIM_EVT_VMEXIT,
        [IPT_CFE_SHUTDOWN] = SHIM_EVT_SHUTDOWN,
        [IPT_CFE_UINTR] = SHIM_EVT_UINTR,
        [IPT_CFE_UIRET] = SHIM_EVT_UIRET,
        [IPT_CFE_SWINTR] = SHIM_EVT_SWINTR,
        [IPT_CFE_SYSCALL] = SHIM_EVT_SYSCALL
    };
    return e->u.cfe.type < sizeof types && types[e->u.cfe.type]
               ? 1u + types[e->u.cfe.type]
               : 0;
}

/* One more than their number of it. 0: there is none. */
static unsigned their_type(const ipt_event *e)
{
    static const uint8_t types[IPT_EVT_COUNT] = {
        [IPT_EVT_ENABLED] = 1 + ptev_enabled,
        [IPT_EVT_DISABLED] = 1 + ptev_disabled,
        [IPT_EVT_ASYNC_DISABLED] = 1 + ptev_async_disabled,
        [IPT_EVT_ASYNC_BRANCH] = 1 + ptev_async_branch,
        [IPT_EVT_PAGING] = 1 + ptev_paging,
        [IPT_EVT_ASYNC_PAGING] = 1 + ptev_async_paging,
        [IPT_EVT_OVERFLOW] = 1 + ptev_overflow,
        [IPT_EVT_EXEC_MODE] = 1 + ptev_exec_mode,
        [IPT_EVT_TSX] = 1 + ptev_tsx,
        [IPT_EVT_STOP] = 1 + ptev_stop,
        [IPT_EVT_VMCS] = 1 + ptev_vmcs,
        [IPT_EVT_ASYNC_VMCS] = 1 + ptev_async_vmcs,
        [IPT_EVT_EXSTOP] = 1 + ptev_exstop,
        [IPT_EVT_MWAIT] = 1 + ptev_mwait,
        [IPT_EVT_PWRE] = 1 + ptev_pwre,
        [IPT_EVT_PWRX] = 1 + ptev_pwrx,
        [IPT_EVT_PTWRITE] = 1 + ptev_ptwrite,
        [IPT_EVT_TICK] = 1 + ptev_tick,
        [IPT_EVT_CBR] = 1 + ptev_cbr,
        [IPT_EVT_MNT] = 1 + ptev_mnt,
        [IPT_EVT_TIP] = 1 + SHIM_EVT_TIP,
        [IPT_EVT_TNT] = 1 + SHIM_EVT_TNT,
        [IPT_EVT_IFLAGS] = 1 + SHIM_EVT_IFLAGS,
        [IPT_EVT_TRIG] = 1 + SHIM_EVT_TRIG
    };
    return e->type == IPT_EVT_CFE ? cfe_type(e) : types[e->type];
}

/* Data of its own; ip is 0 where it is not known. */
static void set_variant(struct pt_event *to, const ipt_event *e)
{
    switch (e->type) {
    case IPT_EVT_ENABLED:
        to->variant.enabled.ip = e->ip;
        to->variant.enabled.resumed = (e->flags & IPT_EVENT_RESUMED) != 0;
        break;
    case IPT_EVT_DISABLED: to->variant.disabled.ip = e->u.branch.to; break;
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_BRANCH: /* at and ip, from and to: the same places */
        to->variant.async_branch.from = e->ip;
        to->variant.async_branch.to = e->u.branch.to;
        break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        to->variant.async_paging.cr3 = e->u.paging.cr3;
        to->variant.async_paging.non_root = e->u.paging.nr & 1u;
        to->variant.async_paging.ip =
            e->type == IPT_EVT_ASYNC_PAGING ? e->ip : 0;
        break;
    case IPT_EVT_VMCS: to->variant.vmcs.base = e->u.vmcs.base & VMCS_BASE; break;
    case IPT_EVT_ASYNC_VMCS:
        to->variant.async_vmcs.base = e->u.vmcs.base & VMCS_BASE;
        to->variant.async_vmcs.ip = e->ip;
        break;
    case IPT_EVT_EXEC_MODE:
        to->variant.exec_mode.mode = (enum pt_exec_mode) e->u.exec.mode;
        to->variant.exec_mode.ip = e->ip;
        break;
    case IPT_EVT_TSX:
        to->variant.tsx.ip = e->ip;
        to->variant.tsx.speculative = e->u.tsx.speculative & 1u;
        to->variant.tsx.aborted = e->u.tsx.aborted & 1u;
        break;
    case IPT_EVT_MWAIT:
        to->variant.mwait.ip = e->ip;
        to->variant.mwait.hints = e->u.mwait.hints;
        to->variant.mwait.ext = e->u.mwait.ext;
        break;
    case IPT_EVT_PWRE:
        to->variant.pwre.state = e->u.pwre.state;
        to->variant.pwre.sub_state = e->u.pwre.sub_state;
        to->variant.pwre.hw = e->u.pwre.hw & 1u;
        break;
    case IPT_EVT_PWRX:
        to->variant.pwrx.last = e->u.pwrx.last;
        to->variant.pwrx.deepest = e->u.pwrx.deepest;
        to->variant.pwrx.interrupt = e->u.pwrx.interrupt & 1u;
        to->variant.pwrx.store = e->u.pwrx.store & 1u;
        to->variant.pwrx.autonomous = e->u.pwrx.autonomous & 1u;
        break;
    case IPT_EVT_PTWRITE:
        to->variant.ptwrite.ip = e->ip;
        to->variant.ptwrite.size = e->u.ptwrite.size;
        to->variant.ptwrite.payload = e->u.ptwrite.payload;
        break;
    case IPT_EVT_CBR: to->variant.cbr.ratio = e->u.cbr.ratio; break;
    case IPT_EVT_MNT: to->variant.mnt.payload = e->u.mnt.payload; break;
    default: /* OVERFLOW, EXSTOP, TICK: an ip, and all in the same place */
        to->variant.overflow.ip = e->ip;
        break;
    }
}

static void set_cfe(shim_variant *to, const ipt_event *e)
{
    const unsigned has = e->u.cfe.has;
    switch (e->u.cfe.type) {
    case IPT_CFE_INTR:
        to->interrupt.has_cr2 = (has & IPT_CFE_HAS_CR2) != 0;
        to->interrupt.vector = e->u.cfe.vector;
        if (has & IPT_CFE_HAS_CR2) to->interrupt.cr2 = e->u.cfe.data[0];
        to->interrupt.ip = e->ip;
        break;
    case IPT_CFE_VMEXIT:
    case IPT_CFE_VMEXIT_INTR:
        to->vmexit.has_vector = (has & IPT_CFE_HAS_VECTOR) != 0;
        to->vmexit.has_vmxr = (has & IPT_CFE_HAS_VMXR) != 0;
        to->vmexit.has_vmxq = (has & IPT_CFE_HAS_VMXQ) != 0;
        if (has & IPT_CFE_HAS_VECTOR) to->vmexit.vector = e->u.cfe.vector;
        if (has & IPT_CFE_HAS_VMXR) to->vmexit.vmxr = e->u.cfe.data[1];
        if (has & IPT_CFE_HAS_VMXQ) to->vmexit.vmxq = e->u.cfe.data[0];
        to->vmexit.ip = e->ip;
        break;
    case IPT_CFE_SIPI: to->vector.vector = e->u.cfe.vector; break;
    case IPT_CFE_UINTR:
    case IPT_CFE_SWINTR:
        to->vector.vector = e->u.cfe.vector;
        to->vector.ip = e->ip;
        break;
    default: to->at.ip = e->ip; break;
    }
}

/* Does the same for events that came after 2.0.5. Returns 0 for others. */
static int set_newer(shim_variant *to, const ipt_event *e)
{
    switch (e->type) {
    case IPT_EVT_TIP: to->at.ip = e->ip; return 1;
    case IPT_EVT_TNT:
        to->tnt.bits = e->u.tnt.bits;
        to->tnt.size = e->u.tnt.count;
        return 1;
    case IPT_EVT_IFLAGS:
        to->iflags.iflag = e->u.exec.iflag & 1u;
        to->iflags.ip = e->ip;
        return 1;
    case IPT_EVT_TRIG:
        to->trig.trbv = e->u.trig.trbv;
        to->trig.icnt = e->u.trig.icntv ? e->u.trig.icnt : 0;
        to->trig.ip = e->ip;
        to->trig.mult = e->u.trig.mult & 1u;
        return 1;
    case IPT_EVT_CFE: set_cfe(to, e); return 1;
    default: return 0;
    }
}

/* Is what ip_suppressed is about not known? Those with NONE have nothing of the
 * kind. */
static unsigned is_suppressed(const ipt_event *e)
{
    enum { IP, TO, NONE };
    static const uint8_t flags[IPT_EVT_COUNT] = {
        [IPT_EVT_PAGING] = NONE, [IPT_EVT_VMCS] = NONE, [IPT_EVT_STOP] = NONE,
        [IPT_EVT_PWRE] = NONE, [IPT_EVT_PWRX] = NONE, [IPT_EVT_CBR] = NONE,
        [IPT_EVT_TNT] = NONE, [IPT_EVT_MNT] = NONE,
        [IPT_EVT_DISABLED] = TO, [IPT_EVT_ASYNC_DISABLED] = TO,
        [IPT_EVT_ASYNC_BRANCH] = TO};
    static const uint8_t bit[] = {IPT_EVENT_NO_IP, IPT_EVENT_NO_TO, 0};
    return (e->flags & bit[flags[e->type]]) != 0;
}

int shim_has_event(const ipt_event *e, uint8_t client)
{
    const unsigned type = their_type(e);
    if (!type || shim_client_now(client) == SHIM_2_1) return type != 0;
    if (e->flags & IPT_EVENT_STATUS
        && (e->type == IPT_EVT_ENABLED || e->type == IPT_EVT_DISABLED))
        return 0;
    return type <= 1 + ptev_mnt;
}

void shim_hold(shim_held *held, const ipt_event *e, uint8_t client)
{
    if (shim_client_now(client) != SHIM_UNKNOWN || !their_type(e)) return;
    if (held->count == SHIM_HELD)
        memmove(held->list, held->list + 1,
                --held->count * sizeof *held->list);
    held->list[held->count++] = *e;
}

int shim_release(shim_held *held, ipt_event *e)
{
    if (!held->count) return 0;
    *e = held->list[0];
    memmove(held->list, held->list + 1, --held->count * sizeof *held->list);
    return 1;
}

/* What all events have. */
static inline void set_common(struct pt_event *to, unsigned type,
                              const ipt_event *e)
{
    to->type = (enum pt_event_type) (type - 1);
    to->ip_suppressed = is_suppressed(e) & 1u;
    to->status_update = (e->flags & IPT_EVENT_STATUS) != 0;
    to->has_tsc = (e->flags & IPT_EVENT_TSC) != 0;
    to->tsc = e->tsc;
    to->lost_mtc = e->lost_mtc;
    to->lost_cyc = e->lost_cyc;
}

void shim_event(struct pt_event *user, size_t size, const ipt_event *e)
{
    const unsigned type = their_type(e);
    shim_pt_event all;
    if (LIKELY(size == sizeof *user && type <= 1 + ptev_mnt)) {
        memset(user, 0, sizeof *user);
        set_common(user, type, e);
        set_variant(user, e);
        return;
    }
    memset(&all, 0, sizeof all);
    set_common(&all.old, type, e);
    if (!set_newer(&all.newer.variant, e)) set_variant(&all.old, e);
    shim_copy(user, size, &all, sizeof all);
}

/* ---- offsets ---- */

/* Does a PSB begin there that the end of the trace cuts? */
static int is_psb_cut(const shim_trace *t, uint64_t offset)
{
    const uint8_t *at = t->piece.data + offset;
    const uint64_t left = t->piece.size - offset;
    return left >= 2 && left < 16 && at[0] == 0x02 && at[1] == 0x82;
}

/* As 2.1 and 2.2 do. */
static int psb_or_pad_at(const shim_trace *t, uint64_t *offset)
{
    ipt_pkt_decoder d;
    ipt_packet p;
    int status = ipt_pkt_init(&d, &t->config, &t->trace);
    if (status >= 0) status = ipt_pkt_sync_set(&d, *offset);
    do {
        if (status >= 0) status = ipt_pkt_next(&d, &p);
        if (status == IPT_ERR_PACKET && is_psb_cut(t, d.at.packet_offset))
            return -pte_eos;
        if (status < 0) return shim_error(t, &d.at, status);
    } while (p.type == IPT_PKT_PAD);
    *offset = p.offset;
    return p.type == IPT_PKT_PSB ? 0 : -pte_nosync;
}

int shim_psb_at(const shim_trace *t, uint64_t *offset)
{
    const uint8_t *at = t->piece.data + *offset;
    uint64_t left;
    if (*offset > t->piece.size) return -pte_eos;
    if (shim_client_now(SHIM_UNKNOWN) == SHIM_2_1)
        return psb_or_pad_at(t, offset);
    left = t->piece.size - *offset;
    if (left < 2) return -pte_eos;
    if (at[0] != 0x02 || at[1] != 0x82) return -pte_nosync;
    if (left < 16) return -pte_eos;
    for (int i = 2; i < 16; i++)
        if (at[i] != at[i - 2]) return -pte_bad_packet;
    return 0;
}

#define BIT(type) ((uint64_t) 1 << IPT_PKT_##type)

uint64_t shim_ahead(const shim_trace *t, uint64_t offset, int taken)
{
    const uint64_t passed = BIT(PAD) | BIT(TSC) | BIT(TMA) | BIT(MTC)
                            | BIT(CYC);
    ipt_pkt_decoder d;
    ipt_packet p;
    if (ipt_pkt_init(&d, &t->config, &t->trace) < 0
        || ipt_pkt_sync_set(&d, offset) < 0)
        return offset;
    for (;;) {
        if (ipt_pkt_next(&d, &p) < 0) return d.at.offset;
        if (!(passed >> p.type & 1) && !(taken && p.offset == offset))
            return p.offset;
    }
}

/* The packets that an event waits for, whose first packet is p; 0: none. */
static uint64_t waits_for(const ipt_event *e, const ipt_packet *p)
{
    const int has_ip = !(e->flags & IPT_EVENT_NO_IP);
    if (e->flags & IPT_EVENT_STATUS) return BIT(PSBEND);
    switch (e->type) {
    case IPT_EVT_ASYNC_BRANCH:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_PAGING:
    case IPT_EVT_ASYNC_VMCS: return BIT(TIP) | BIT(TIP_PGD);
    case IPT_EVT_EXEC_MODE:
        return BIT(FUP) | BIT(TIP) | BIT(TIP_PGE) | BIT(TIP_PGD);
    case IPT_EVT_PTWRITE:
        return p->type == IPT_PKT_PTW && p->u.ptw.has_ip ? BIT(FUP) : 0;
    case IPT_EVT_TSX:
    case IPT_EVT_EXSTOP:
    case IPT_EVT_OVERFLOW: return has_ip ? BIT(FUP) : 0;
    case IPT_EVT_MWAIT: return has_ip ? BIT(FUP) : BIT(EXSTOP);
    case IPT_EVT_PWRE: return BIT(PWRX);
    default: return 0;
    }
}

uint64_t shim_event_offset(const shim_trace *t, const ipt_event *e)
{
    ipt_pkt_decoder d;
    ipt_packet p;
    uint64_t wanted;
    if (ipt_pkt_init(&d, &t->config, &t->trace) < 0
        || ipt_pkt_sync_set(&d, e->offset) < 0 || ipt_pkt_next(&d, &p) < 0)
        return e->offset;
    wanted = waits_for(e, &p);
    while (wanted && !(wanted >> p.type & 1))
        if (ipt_pkt_next(&d, &p) < 0) return e->offset;
    return p.offset;
}
