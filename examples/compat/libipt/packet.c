/* packet.c: the packet decoder and the encoder.
 *
 * SPDX-License-Identifier: MIT */
#include "shim.h"
#include <stdlib.h>
#include <string.h>

struct pt_packet_decoder {
    shim_trace t;
    ipt_pkt_decoder d;
    uint64_t sync;   /* of the last synchronisation */
    uint32_t pads;   /* PADs of a run that are still to be handed out */
    uint8_t synced;
};

struct pt_packet_decoder *pt_pkt_alloc_decoder(const struct pt_config *config)
{
    struct pt_packet_decoder *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    if (shim_trace_init(&d->t, config) == 0
        && ipt_pkt_init(&d->d, &d->t.config, &d->t.trace) >= 0)
        return d;
    free(d);
    return NULL;
}

void pt_pkt_free_decoder(struct pt_packet_decoder *d)
{
    free(d);
}

static uint64_t position(const struct pt_packet_decoder *d)
{
    return d->d.at.offset - d->pads;
}

/* Stand where the user thinks that we do, before a search begins there. */
static int settle(struct pt_packet_decoder *d)
{
    const uint64_t at = position(d);
    if (!d->pads) return 0;
    d->pads = 0;
    return ipt_pkt_sync_set(&d->d, at);
}

static int synced(struct pt_packet_decoder *d, int status)
{
    if (status < 0) return shim_error(&d->t, &d->d.at, status);
    d->synced = 1;
    d->sync = d->d.at.offset;
    return 0;
}

int pt_pkt_sync_forward(struct pt_packet_decoder *d)
{
    if (!d) return -pte_invalid;
    (void) settle(d);
    return synced(d, ipt_pkt_sync_forward(&d->d));
}

int pt_pkt_sync_backward(struct pt_packet_decoder *d)
{
    if (!d) return -pte_invalid;
    (void) settle(d);
    return synced(d, ipt_pkt_sync_backward(&d->d));
}

int pt_pkt_sync_set(struct pt_packet_decoder *d, uint64_t offset)
{
    if (!d) return -pte_invalid;
    if (offset > d->t.piece.size) return -pte_eos;
    d->pads = 0;
    return synced(d, ipt_pkt_sync_set(&d->d, offset));
}

int pt_pkt_get_offset(const struct pt_packet_decoder *d, uint64_t *offset)
{
    if (!d || !offset) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    *offset = position(d);
    return 0;
}

int pt_pkt_get_sync_offset(const struct pt_packet_decoder *d,
                           uint64_t *offset)
{
    if (!d || !offset) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    *offset = d->sync;
    return 0;
}

const struct pt_config *pt_pkt_get_config(const struct pt_packet_decoder *d)
{
    return d ? &d->t.theirs : NULL;
}

/* ---- one packet ---- */

static const uint8_t their_types[IPT_PKT_COUNT] = {
    [IPT_PKT_PAD] = ppt_pad,         [IPT_PKT_PSB] = ppt_psb,
    [IPT_PKT_PSBEND] = ppt_psbend,   [IPT_PKT_OVF] = ppt_ovf,
    [IPT_PKT_STOP] = ppt_stop,       [IPT_PKT_TNT_8] = ppt_tnt_8,
    [IPT_PKT_TNT_64] = ppt_tnt_64,   [IPT_PKT_TIP] = ppt_tip,
    [IPT_PKT_TIP_PGE] = ppt_tip_pge, [IPT_PKT_TIP_PGD] = ppt_tip_pgd,
    [IPT_PKT_FUP] = ppt_fup,         [IPT_PKT_MODE_EXEC] = ppt_mode,
    [IPT_PKT_MODE_TSX] = ppt_mode,   [IPT_PKT_PIP] = ppt_pip,
    [IPT_PKT_VMCS] = ppt_vmcs,       [IPT_PKT_TSC] = ppt_tsc,
    [IPT_PKT_CBR] = ppt_cbr,         [IPT_PKT_TMA] = ppt_tma,
    [IPT_PKT_MTC] = ppt_mtc,         [IPT_PKT_CYC] = ppt_cyc,
    [IPT_PKT_MNT] = ppt_mnt,         [IPT_PKT_PTW] = ppt_ptw,
    [IPT_PKT_EXSTOP] = ppt_exstop,   [IPT_PKT_MWAIT] = ppt_mwait,
    [IPT_PKT_PWRE] = ppt_pwre,       [IPT_PKT_PWRX] = ppt_pwrx,
    [IPT_PKT_UNKNOWN] = ppt_unknown, [IPT_PKT_INVALID] = ppt_invalid,
    [IPT_PKT_CFE] = SHIM_PPT_CFE,    [IPT_PKT_EVD] = SHIM_PPT_EVD,
    [IPT_PKT_TRIG] = SHIM_PPT_TRIG
};

/* Types that libipt has no name for, and those that only 2.1 and 2.2 have. */
#define NAMELESS                                                             \
    (1ull << IPT_PKT_BBP | 1ull << IPT_PKT_BIP | 1ull << IPT_PKT_BEP         \
     | 1ull << IPT_PKT_GAP)
#define NEWER                                                                \
    (1ull << IPT_PKT_CFE | 1ull << IPT_PKT_EVD | 1ull << IPT_PKT_TRIG)

/* What 2.1 and 2.2 have added; zero before. */
static void set_newer(shim_payload *to, const ipt_packet *p)
{
    switch (p->type) {
    case IPT_PKT_MODE_EXEC: to->exec.iflag = p->u.exec.iflag & 1u; break;
    case IPT_PKT_CFE:
        to->cfe.type = p->u.cfe.type;
        to->cfe.vector = p->u.cfe.vector;
        to->cfe.ip = p->u.cfe.has_ip & 1u;
        break;
    case IPT_PKT_EVD:
        to->evd.type = p->u.evd.type;
        to->evd.payload = p->u.evd.payload;
        break;
    case IPT_PKT_TRIG:
        to->trig.trbv = p->u.trig.trbv;
        to->trig.icnt = p->u.trig.icnt;
        to->trig.ip = p->u.trig.has_ip & 1u;
        to->trig.icntv = p->u.trig.icntv & 1u;
        to->trig.mult = p->u.trig.mult & 1u;
        break;
    default: break;
    }
}

static void set_payload(struct pt_packet *to, const ipt_packet *p,
                        const struct pt_packet_decoder *d)
{
    switch (p->type) {
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        to->payload.tnt.bit_size = p->u.tnt.count;
        to->payload.tnt.payload = p->u.tnt.bits;
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        to->payload.ip.ipc = (enum pt_ip_compression) p->u.ip.ipc;
        to->payload.ip.ip = p->u.ip.payload;
        break;
    case IPT_PKT_MODE_EXEC:
        to->payload.mode.leaf = pt_mol_exec;
        to->payload.mode.bits.exec.csl = p->u.exec.csl & 1u;
        to->payload.mode.bits.exec.csd = p->u.exec.csd & 1u;
        break;
    case IPT_PKT_MODE_TSX:
        to->payload.mode.leaf = pt_mol_tsx;
        to->payload.mode.bits.tsx.intx = p->u.tsx.intx & 1u;
        to->payload.mode.bits.tsx.abrt = p->u.tsx.abrt & 1u;
        break;
    case IPT_PKT_PIP:
        to->payload.pip.cr3 = p->u.pip.cr3;
        to->payload.pip.nr = p->u.pip.nr & 1u;
        break;
    case IPT_PKT_VMCS: to->payload.vmcs.base = p->u.vmcs.base; break;
    case IPT_PKT_TSC: to->payload.tsc.tsc = p->u.tsc.value; break;
    case IPT_PKT_CBR: to->payload.cbr.ratio = p->u.cbr.ratio; break;
    case IPT_PKT_TMA:
        to->payload.tma.ctc = p->u.tma.ctc;
        to->payload.tma.fc = p->u.tma.fc;
        break;
    case IPT_PKT_MNT: to->payload.mnt.payload = p->u.mnt.payload; break;
    case IPT_PKT_EXSTOP: to->payload.exstop.ip = p->u.exstop.has_ip & 1u; break;
    case IPT_PKT_MWAIT:
        to->payload.mwait.hints = p->u.mwait.hints;
        to->payload.mwait.ext = p->u.mwait.ext;
        break;
    case IPT_PKT_PWRE:
        to->payload.pwre.state = p->u.pwre.state;
        to->payload.pwre.sub_state = p->u.pwre.sub_state;
        to->payload.pwre.hw = p->u.pwre.hw & 1u;
        break;
    case IPT_PKT_PWRX:
        to->payload.pwrx.last = p->u.pwrx.last;
        to->payload.pwrx.deepest = p->u.pwrx.deepest;
        to->payload.pwrx.interrupt = p->u.pwrx.interrupt & 1u;
        to->payload.pwrx.store = p->u.pwrx.store & 1u;
        to->payload.pwrx.autonomous = p->u.pwrx.autonomous & 1u;
        break;
    case IPT_PKT_PTW:
        to->payload.ptw.payload = p->u.ptw.payload;
        to->payload.ptw.plc = p->u.ptw.plc;
        to->payload.ptw.ip = p->u.ptw.has_ip & 1u;
        break;
    case IPT_PKT_UNKNOWN: to->payload.unknown = d->t.packet; break;
    default: break;
    }
}

/* One that is not as common as those of next, or none. */
static int other_packet(struct pt_packet_decoder *d, struct pt_packet *to,
                        const ipt_packet *p, int status)
{
    shim_payload newer;
    int is_new;
    if (status < 0) return shim_error(&d->t, &d->d.at, status);
    is_new = shim_client_now(SHIM_UNKNOWN) == SHIM_2_1;
    if ((is_new ? NAMELESS : NAMELESS | NEWER) >> p->type & 1) {
        (void) ipt_pkt_sync_set(&d->d, p->offset);
        return -pte_bad_opc;
    }
    if (p->type == IPT_PKT_TNT_64 && p->u.tnt.count == 0) {
        (void) ipt_pkt_sync_set(&d->d, p->offset);
        return -pte_bad_packet;
    }
    to->type = (enum pt_packet_type) their_types[p->type];
    to->size = (uint8_t) p->size;
    set_payload(to, p, d);
    if (is_new && p->type == IPT_PKT_OVF)
        to->size = 2; /* SKD007: without the CYC */
    if (is_new || p->type == IPT_PKT_MODE_EXEC) { /* 2.0.5 ignores the iflag */
        memcpy(&newer, &to->payload, sizeof newer);
        set_newer(&newer, p);
        memcpy(&to->payload, &newer, sizeof newer);
    }
    return to->size;
}

static int next(struct pt_packet_decoder *d, struct pt_packet *to)
{
    ipt_packet p;
    int status;
    if (d->pads) {
        d->pads--;
        to->type = ppt_pad;
        return to->size = 1;
    }
    status = ipt_pkt_next(&d->d, &p);
    if (status < 0) return other_packet(d, to, &p, status);
    switch (p.type) {
    case IPT_PKT_PSB:
        if (shim_client_now(SHIM_UNKNOWN) == SHIM_2_1) d->sync = p.offset;
        return other_packet(d, to, &p, status);
    case IPT_PKT_PAD:
        d->pads = p.size - 1;
        to->type = ppt_pad;
        return to->size = 1;
    case IPT_PKT_TNT_8:
        to->type = ppt_tnt_8;
        to->payload.tnt.bit_size = p.u.tnt.count;
        to->payload.tnt.payload = p.u.tnt.bits;
        return to->size = 1;
    case IPT_PKT_TIP:
        to->type = ppt_tip;
        to->payload.ip.ipc = (enum pt_ip_compression) p.u.ip.ipc;
        to->payload.ip.ip = p.u.ip.payload;
        return to->size = (uint8_t) p.size;
    case IPT_PKT_MTC:
        to->type = ppt_mtc;
        to->payload.mtc.ctc = p.u.mtc.ctc;
        return to->size = 2;
    case IPT_PKT_CYC:
        to->type = ppt_cyc;
        to->payload.cyc.value = p.u.cyc.value;
        return to->size = (uint8_t) p.size;
    default: return other_packet(d, to, &p, status);
    }
}

/* For a struct that is not as ours. */
static int next_resized(struct pt_packet_decoder *d, struct pt_packet *to,
                        size_t size)
{
    struct pt_packet p;
    int status;
    memset(&p, 0, sizeof p);
    status = pt_pkt_next(d, &p, sizeof p);
    if (status >= 0) shim_copy(to, size, &p, sizeof p);
    return status;
}

int pt_pkt_next(struct pt_packet_decoder *d, struct pt_packet *packet,
                size_t size)
{
    if (!d || !packet) return -pte_invalid;
    if (!d->synced) return -pte_nosync;
    if (!LIKELY(size == sizeof *packet)) return next_resized(d, packet, size);
    return next(d, packet);
}

/* ---- the encoder ---- */

struct pt_encoder {
    struct pt_config config;
    uint64_t at;
};

struct pt_encoder *pt_alloc_encoder(const struct pt_config *config)
{
    struct pt_encoder *e = calloc(1, sizeof *e);
    if (e && shim_copy_config(&e->config, config) == 0) return e;
    free(e);
    return NULL;
}

void pt_free_encoder(struct pt_encoder *e)
{
    free(e);
}

static uint64_t room(const struct pt_encoder *e)
{
    return (uint64_t) (e->config.end - e->config.begin);
}

int pt_enc_sync_set(struct pt_encoder *e, uint64_t offset)
{
    if (!e) return -pte_invalid;
    if (offset > room(e)) return -pte_eos;
    e->at = offset;
    return 0;
}

int pt_enc_get_offset(const struct pt_encoder *e, uint64_t *offset)
{
    if (!e || !offset) return -pte_invalid;
    *offset = e->at;
    return 0;
}

const struct pt_config *pt_enc_get_config(const struct pt_encoder *e)
{
    return e ? &e->config : NULL;
}

/* The bits of an IP that a compression sends. */
static uint64_t sent(uint64_t ip, unsigned ipc)
{
    switch (ipc) {
    case pt_ipc_suppressed: return 0;
    case pt_ipc_update_16: return ip & 0xffff;
    case pt_ipc_update_32: return ip & 0xffffffff;
    case pt_ipc_sext_48:
    case pt_ipc_update_48: return ip & 0xffffffffffff;
    default: return ip;
    }
}

static int set_ip(ipt_packet *to, const struct pt_packet_ip *ip, uint8_t type)
{
    if (ip->ipc != pt_ipc_suppressed && ip->ipc != pt_ipc_update_16
        && ip->ipc != pt_ipc_update_32 && ip->ipc != pt_ipc_sext_48
        && ip->ipc != pt_ipc_update_48 && ip->ipc != pt_ipc_full)
        return -pte_invalid;
    to->type = type;
    to->u.ip.ipc = (uint8_t) ip->ipc;
    to->u.ip.payload = sent(ip->ip, ip->ipc);
    return 0;
}

static int set_tnt(ipt_packet *to, const struct pt_packet_tnt *tnt,
                   uint8_t type)
{
    const unsigned most = type == IPT_PKT_TNT_8 ? 6 : 47;
    if (tnt->bit_size > most)
        return type == IPT_PKT_TNT_8 ? -pte_bad_packet : -pte_invalid;
    to->type = type;
    to->u.tnt.count = tnt->bit_size;
    to->u.tnt.bits = tnt->payload;
    if (type == IPT_PKT_TNT_8)
        to->u.tnt.bits &= (1ull << tnt->bit_size) - 1;
    return 0;
}

static int set_mode(ipt_packet *to, const struct pt_packet_mode *mode)
{
    shim_payload newer;
    switch (mode->leaf) {
    case pt_mol_exec:
        to->type = IPT_PKT_MODE_EXEC;
        to->u.exec.csl = mode->bits.exec.csl;
        to->u.exec.csd = mode->bits.exec.csd;
        if (shim_client_now(SHIM_UNKNOWN) == SHIM_2_1) {
            memcpy(&newer, mode, sizeof *mode);
            to->u.exec.iflag = newer.exec.iflag;
        }
        return 0;
    case pt_mol_tsx:
        to->type = IPT_PKT_MODE_TSX;
        to->u.tsx.intx = mode->bits.tsx.intx;
        to->u.tsx.abrt = mode->bits.tsx.abrt;
        return 0;
    default: return -pte_bad_packet;
    }
}

/* Types that are nothing but a type. */
static int set_plain(ipt_packet *to, uint8_t type)
{
    to->type = type;
    return 0;
}

/* Packets that came after 2.0.5. */
static int set_newer_packet(ipt_packet *to, const struct pt_packet *p)
{
    shim_payload newer;
    memcpy(&newer, &p->payload, sizeof newer);
    switch ((unsigned) p->type) {
    case SHIM_PPT_CFE:
        to->u.cfe.type = (uint8_t) newer.cfe.type & 31;
        to->u.cfe.vector = newer.cfe.vector;
        to->u.cfe.has_ip = newer.cfe.ip;
        return set_plain(to, IPT_PKT_CFE);
    case SHIM_PPT_EVD:
        to->u.evd.type = (uint8_t) newer.evd.type & 63;
        to->u.evd.payload = newer.evd.payload;
        return set_plain(to, IPT_PKT_EVD);
    case SHIM_PPT_TRIG:
        to->u.trig.trbv = newer.trig.trbv;
        to->u.trig.icnt = newer.trig.icntv ? newer.trig.icnt : 0;
        to->u.trig.has_ip = newer.trig.ip;
        to->u.trig.icntv = newer.trig.icntv;
        to->u.trig.mult = newer.trig.mult;
        return set_plain(to, IPT_PKT_TRIG);
    default: return -pte_bad_opc;
    }
}

static int set_packet(ipt_packet *to, const struct pt_packet *p)
{
    switch (p->type) {
    case ppt_pad:
        to->size = 1;
        return set_plain(to, IPT_PKT_PAD);
    case ppt_psb: return set_plain(to, IPT_PKT_PSB);
    case ppt_psbend: return set_plain(to, IPT_PKT_PSBEND);
    case ppt_ovf: return set_plain(to, IPT_PKT_OVF);
    case ppt_stop: return set_plain(to, IPT_PKT_STOP);
    case ppt_fup: return set_ip(to, &p->payload.ip, IPT_PKT_FUP);
    case ppt_tip: return set_ip(to, &p->payload.ip, IPT_PKT_TIP);
    case ppt_tip_pge: return set_ip(to, &p->payload.ip, IPT_PKT_TIP_PGE);
    case ppt_tip_pgd: return set_ip(to, &p->payload.ip, IPT_PKT_TIP_PGD);
    case ppt_tnt_8: return set_tnt(to, &p->payload.tnt, IPT_PKT_TNT_8);
    case ppt_tnt_64: return set_tnt(to, &p->payload.tnt, IPT_PKT_TNT_64);
    case ppt_mode: return set_mode(to, &p->payload.mode);
    case ppt_pip:
        to->u.pip.cr3 = p->payload.pip.cr3 & 0xfffffffffffe0;
        to->u.pip.nr = p->payload.pip.nr;
        return set_plain(to, IPT_PKT_PIP);
    case ppt_vmcs:
        to->u.vmcs.base = p->payload.vmcs.base & 0xffffffffff000;
        return set_plain(to, IPT_PKT_VMCS);
    case ppt_tsc:
        to->u.tsc.value = p->payload.tsc.tsc & 0xffffffffffffff;
        return set_plain(to, IPT_PKT_TSC);
    case ppt_cbr:
        to->u.cbr.ratio = p->payload.cbr.ratio;
        return set_plain(to, IPT_PKT_CBR);
    case ppt_tma:
        to->u.tma.ctc = p->payload.tma.ctc;
        to->u.tma.fc = p->payload.tma.fc;
        return set_plain(to, IPT_PKT_TMA);
    case ppt_mtc:
        to->u.mtc.ctc = p->payload.mtc.ctc;
        return set_plain(to, IPT_PKT_MTC);
    case ppt_cyc:
        to->u.cyc.value = p->payload.cyc.value;
        return set_plain(to, IPT_PKT_CYC);
    case ppt_mnt:
        to->u.mnt.payload = p->payload.mnt.payload;
        return set_plain(to, IPT_PKT_MNT);
    case ppt_exstop:
        to->u.exstop.has_ip = p->payload.exstop.ip;
        return set_plain(to, IPT_PKT_EXSTOP);
    case ppt_mwait:
        to->u.mwait.hints = p->payload.mwait.hints;
        to->u.mwait.ext = p->payload.mwait.ext & 3;
        return set_plain(to, IPT_PKT_MWAIT);
    case ppt_pwre:
        to->u.pwre.state = p->payload.pwre.state & 15;
        to->u.pwre.sub_state = p->payload.pwre.sub_state & 15;
        to->u.pwre.hw = p->payload.pwre.hw;
        return set_plain(to, IPT_PKT_PWRE);
    case ppt_pwrx:
        to->u.pwrx.last = p->payload.pwrx.last & 15;
        to->u.pwrx.deepest = p->payload.pwrx.deepest & 15;
        to->u.pwrx.interrupt = p->payload.pwrx.interrupt;
        to->u.pwrx.store = p->payload.pwrx.store;
        to->u.pwrx.autonomous = p->payload.pwrx.autonomous;
        return set_plain(to, IPT_PKT_PWRX);
    case ppt_ptw:
        to->u.ptw.payload = p->payload.ptw.payload;
        if (p->payload.ptw.plc == 0) to->u.ptw.payload &= 0xffffffff;
        to->u.ptw.plc = p->payload.ptw.plc;
        to->u.ptw.has_ip = p->payload.ptw.ip;
        return set_plain(to, IPT_PKT_PTW);
    default: return set_newer_packet(to, p);
    }
}

int pt_enc_next(struct pt_encoder *e, const struct pt_packet *packet)
{
    uint8_t bytes[32];
    ipt_packet p;
    int status;
    if (!e || !packet) return -pte_invalid;
    memset(&p, 0, sizeof p);
    status = set_packet(&p, packet);
    /* Room comes first where it does in libipt. */
    if (status < 0 && packet->type == ppt_tnt_64 && room(e) - e->at < 8)
        return -pte_eos;
    if (status < 0) return status;
    status = ipt_pkt_encode(bytes, sizeof bytes, &p);
    if (status < 0)
        return p.type == IPT_PKT_TMA && room(e) - e->at < 7 ? -pte_eos
                                                            : -pte_bad_packet;
    if ((uint64_t) status > room(e) - e->at) return -pte_eos;
    memcpy(e->config.begin + e->at, bytes, (size_t) status);
    e->at += (uint64_t) status;
    return status;
}
