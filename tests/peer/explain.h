/* explain.h: what explains a difference; each one is looked for in the trace. A
 * part of peer_libipt.c. */
#ifndef PEER_EXPLAIN_H
#define PEER_EXPLAIN_H

/* ---- what explains that one side fails ---- */

/* Is our packet at an offset one of a type? */
static int packet_is(const run *r, uint64_t offset, uint8_t type)
{
    size_t i = packet_at(r, offset);
    return i < r->count && r->packets[i].offset == offset
           && r->packets[i].type == type;
}

static uint8_t packet_type(const run *r, uint64_t offset)
{
    size_t i = packet_at(r, offset);
    return i < r->count && r->packets[i].offset == offset
               ? r->packets[i].type
               : (uint8_t) IPT_PKT_NONE;
}

/* Packets that a MODE.Exec binds to, or that make it void. */
static int ends_exec(uint8_t type)
{
    switch (type) {
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_PSB:
    case IPT_PKT_OVF: return 1;
    default: return 0;
    }
}

/* Does a MODE.Exec wait when a FUP comes, between two offsets? */
static int exec_before_fup(const run *r, uint64_t from, uint64_t to)
{
    int mode = 0;
    int psb = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (mode && p->type == IPT_PKT_FUP) return 1;
        if (p->type == IPT_PKT_MODE_EXEC) mode = !psb;
        else if (ends_exec(p->type)) mode = 0;
        if (p->type == IPT_PKT_PSB) psb = 1;
        else if (p->type == IPT_PKT_PSBEND || p->type == IPT_PKT_OVF) psb = 0;
    }
    return 0;
}

/* Does a MODE.Exec wait when an OVF comes? */
static int exec_before_ovf(const run *r, uint64_t from, uint64_t to)
{
    int mode = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (mode && p->type == IPT_PKT_OVF) return 1;
        if (p->type == IPT_PKT_MODE_EXEC) mode = 1;
        else if (ends_exec(p->type) || p->type == IPT_PKT_FUP) mode = 0;
    }
    return 0;
}

/* The mode that a MODE.Exec says. */
static uint8_t mode_of(const ipt_packet *p)
{
    if (p->u.exec.csl)
        return p->u.exec.csd ? IPT_MODE_UNKNOWN : IPT_MODE_64;
    return p->u.exec.csd ? IPT_MODE_32 : IPT_MODE_16;
}

/* Is their exec_mode that of a MODE.Exec which ours drops at the PSB that
 * SKD010 looks for after an OVF, and which theirs lets wait for the next
 * TIP.PGE? */
static int exec_before_psb(const events *e, uint64_t to)
{
    const run *r = e->r;
    const ipt_packet *exec = NULL;
    enum { NO, OVERFLOW, HEADER, WAITING } step = NO;
    if (!(r->config.errata & IPT_ERRATUM_SKD010)
        || e->theirs[0].type != ptev_exec_mode || e->theirs[0].status_update)
        return 0;
    for (size_t i = packet_at(r, e->sync); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_OVF) {
            step = OVERFLOW;
            exec = NULL;
        } else if (p->type == IPT_PKT_MODE_EXEC) {
            exec = step == OVERFLOW ? p : NULL;
        } else if (p->type == IPT_PKT_PSB) {
            step = step == OVERFLOW && exec ? HEADER : NO;
        } else if (p->type == IPT_PKT_PSBEND) {
            step = step == HEADER && exec ? WAITING : NO;
        } else if (p->type == IPT_PKT_TIP_PGE) {
            if (step == WAITING && exec
                && same_exec_mode(mode_of(exec),
                                  e->theirs[0].variant.exec_mode.mode))
                return 1;
            step = NO;
        } else if (p->type == IPT_PKT_FUP || is_flow(p->type)) {
            step = NO;
        }
    }
    return 0;
}

/* Is there a PSB+ without FUP before an offset? */
static int psb_without_fup(const run *r, uint64_t from, uint64_t to)
{
    int psb = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset >= to) break;
        if (p->type == IPT_PKT_PSB) psb = 1;
        else if (p->type == IPT_PKT_FUP) psb = 0;
        else if (p->type == IPT_PKT_PSBEND && psb) return 1;
    }
    return 0;
}

/* Is the PSB+ around an offset BDM70's: FUPs in it, and TIP.PGE after it? The
 * number of FUPs, and of PWRXs and of TMAs that SKZ84 has spoilt, which stop
 * libipt. */
static int bdm70_at(const run *r, uint64_t offset)
{
    size_t i = packet_at(r, offset);
    int fup = 0;
    while (i > 0 && r->packets[i].type != IPT_PKT_PSB) i--;
    for (i++; i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_INVALID || type == IPT_PKT_PWRX) fup++;
        else if (type == IPT_PKT_FUP) fup += r->packets[i].u.ip.ipc != 0;
        else if (type == IPT_PKT_TIP_PGE) return fup;
        else if (type != IPT_PKT_PSBEND && type != IPT_PKT_PIP
                 && type != IPT_PKT_VMCS && type != IPT_PKT_MODE_EXEC
                 && type != IPT_PKT_MODE_TSX && !is_neutral(type))
            return 0;
    }
    return 0;
}

/* An overflow that SKD010 looks for the IP of, and another in the PSB+ that
 * should say it. */
static int overflow_twice(const run *r, uint64_t from, uint64_t to)
{
    int ovf = 0;
    int psb = 0;
    if (!(r->config.errata & IPT_ERRATUM_SKD010)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_PSB) psb = 1;
        else if (p->type == IPT_PKT_PSBEND) psb = 0;
        else if (p->type == IPT_PKT_OVF) {
            if (psb && ovf) return 1;
            ovf = 1;
        }
    }
    return 0;
}

/* Is there a PSB+ with a suppressed FUP or more than one? */
static int strange_fups(const run *r, uint64_t from, uint64_t to)
{
    int psb = 0;
    int fups = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_PSB) {
            psb = 1;
            fups = 0;
        } else if (p->type == IPT_PKT_PSBEND) {
            psb = 0;
        } else if (psb && p->type == IPT_PKT_FUP) {
            if (p->u.ip.ipc == 0 || fups++) return 1;
        }
    }
    return 0;
}

/* Status events of a PSB+ that an OVF ends: theirs gives them no IP. */
static int psb_ovf(const events *e)
{
    const run *r = e->r;
    if (!(e->ours[0].flags & IPT_EVENT_STATUS) || !e->theirs[0].status_update)
        return 0;
    for (size_t i = packet_at(r, e->ours[0].offset); i < r->count; i++) {
        if (r->packets[i].type == IPT_PKT_OVF) return 1;
        if (r->packets[i].type == IPT_PKT_PSBEND) return 0;
    }
    return 0;
}

/* Is there an MWAIT between two offsets that no EXSTOP with IP follows before
 * the next FUP? */
static int lone_mwait(const run *r, uint64_t from, uint64_t to)
{
    int mwait = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_MWAIT) mwait = 1;
        else if (p->type == IPT_PKT_EXSTOP) {
            if (mwait && !p->u.exstop.has_ip) return 1;
            mwait = 0;
        } else if (p->type == IPT_PKT_FUP && mwait) return 1;
    }
    return 0;
}

/* Is it what a TIP.PGD says that a MODE.Exec waits for, too? */
static int exec_before_pgd(const run *r, const ipt_event *e)
{
    size_t i = packet_at(r, e->offset);
    if (e->type != IPT_EVT_DISABLED) return 0;
    while (i-- > 0) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_MODE_EXEC) return 1;
        if (ends_exec(type)) return 0;
    }
    return 0;
}

/* With SKD010, does theirs look for an IP in a PSB+, and then read it again? */
static int psb_twice(const run *r, uint64_t from, uint64_t to)
{
    int ovf = 0;
    if (!(r->config.errata & IPT_ERRATUM_SKD010)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_OVF) ovf = 1;
        else if (p->type == IPT_PKT_PSB && ovf) return 1;
        else if (p->type == IPT_PKT_FUP || is_flow(p->type)
                 || p->type == IPT_PKT_TIP_PGE)
            ovf = 0;
    }
    return 0;
}

/* Is there an OVF that a PSB+ or PSBEND comes after, as far as flow is
 * concerned? Not long before `to`. */
static int ovf_then_psb(const run *r, uint64_t from, uint64_t to)
{
    const size_t end = packet_at(r, to + 1);
    int ovf = 0;
    for (size_t i = end > 40 ? end - 40 : 0; i < end && i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset < from) continue;
        if (ovf && (p->type == IPT_PKT_PSB || p->type == IPT_PKT_PSBEND))
            return 1;
        if (p->type == IPT_PKT_OVF) ovf = 1;
        else if (!is_neutral(p->type)) ovf = 0;
    }
    return 0;
}

/* An abort which BDM64 puts right after a branch, though a CBR or the like
 * stands between the branch and the abort's FUP. */
static int bdm64_between(const run *r, const ipt_event *e)
{
    size_t i = packet_at(r, e->offset);
    if (!(r->config.errata & IPT_ERRATUM_BDM64) || e->type != IPT_EVT_TSX
        || !e->u.tsx.aborted)
        return 0;
    while (i < r->count && r->packets[i].type != IPT_PKT_FUP) i++;
    while (i-- > 0 && !is_flow(r->packets[i].type))
        if (r->packets[i].offset != e->offset
            && (r->packets[i].type == IPT_PKT_CBR
                || r->packets[i].type == IPT_PKT_MNT
                || !is_neutral(r->packets[i].type)))
            return 1;
    while (i-- > 0 && !is_flow(r->packets[i].type)
           && !ends_exec(r->packets[i].type)
           && r->packets[i].type != IPT_PKT_PSBEND)
        if (r->packets[i].type == IPT_PKT_MODE_EXEC) return 1;
    return 0;
}

/* Does a packet stand between an OVF and the IP that an erratum makes theirs
 * look for? */
static int is_skipped(const run *r, size_t i)
{
    if (!(r->config.errata & OVF_ERRATA)) return 0;
    while (i-- > 0) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_OVF) return 1;
        if (type == IPT_PKT_FUP && r->config.errata & IPT_ERRATUM_APL12)
            continue;
        if (type == IPT_PKT_FUP || is_flow(type) || ends_exec(type)) return 0;
    }
    return 0;
}

/* Is theirs missing an event for such a packet, or for one that looks like it?
 * Which one of them is missing is not known. */
static int ovf_skipped(const run *r, const ipt_event *e)
{
    const size_t i = packet_at(r, e->offset);
    if (i >= r->count) return 0;
    for (size_t k = i + 1; k-- > 0;)
        if (r->packets[k].type == r->packets[i].type && is_skipped(r, k))
            return 1;
    return 0;
}

/* Is a MODE.Exec among such packets? */
static int exec_skipped(const run *r, uint64_t from, uint64_t to)
{
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        if (r->packets[i].offset > to) break;
        if (r->packets[i].type == IPT_PKT_MODE_EXEC && is_skipped(r, i))
            return 1;
    }
    return 0;
}

/* Does a TIP.PGE or FUP continue the last IP of a packet that libipt passed
 * over, for an erratum, after an OVF? */
static int bogus_last_ip(const events *e)
{
    const run *r = e->r;
    size_t i = packet_at(r, e->ours[0].offset);
    int fup = 0;
    if (!(r->config.errata & OVF_ERRATA)
        || e->ours[0].flags & IPT_EVENT_NO_IP
        || (int) e->theirs[0].type != peer_type(e->ours[0].type)
        || (e->ours[0].ip ^ e->theirs[0].variant.enabled.ip) & 0xffff)
        return 0;
    while (i-- > 0) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_OVF) return fup;
        if (type == IPT_PKT_FUP || type == IPT_PKT_TIP_PGD) fup = 1;
        else if (type == IPT_PKT_TIP || type == IPT_PKT_PSB) return 0;
    }
    return 0;
}

/* Does a TNT come between a FUP and what binds it? */
static int fup_then_tnt(const run *r, uint64_t from, uint64_t to)
{
    int fup = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (r->packets[i].offset > to) break;
        if (type == IPT_PKT_FUP) fup = 1;
        else if (fup && (type == IPT_PKT_TNT_8 || type == IPT_PKT_TNT_64))
            return 1;
        else if (is_flow(type) || ends_exec(type) || type == IPT_PKT_PSBEND)
            fup = 0;
    }
    return 0;
}

/* Does APL12 have an OVF and its FUP, and then another FUP? */
static int apl12_fups(const run *r, uint64_t from, uint64_t to)
{
    int fups = 3;
    if (!(r->config.errata & IPT_ERRATUM_APL12)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (r->packets[i].offset > to) break;
        if (type == IPT_PKT_OVF) fups = 0;
        else if (type == IPT_PKT_FUP) fups++;
        else if (is_flow(type) || ends_exec(type)) fups = 3;
        if (fups == 2) return 1;
    }
    return 0;
}

/* Do two MODE.Execs wait for one TIP? */
static int two_execs(const run *r, uint64_t from, uint64_t to)
{
    int execs = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (r->packets[i].offset > to) break;
        if (type == IPT_PKT_MODE_EXEC) execs++;
        else if (ends_exec(type) || type == IPT_PKT_PSBEND) execs = 0;
        if (execs == 2) return 1;
    }
    return 0;
}

/* Is there a PSBEND without a PSB? 2.0.5 lets all pass there that waits. */
static int psbend_alone(const run *r, uint64_t from, uint64_t to)
{
    int psb = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (r->packets[i].offset > to) break;
        if (type == IPT_PKT_PSBEND && !psb) return 1;
        if (type == IPT_PKT_PSB) psb = 1;
        else if (type == IPT_PKT_PSBEND || type == IPT_PKT_OVF) psb = 0;
    }
    return 0;
}

/* Does another packet end the PSB+ at an offset before its PSBEND? */
static int missing_psbend(const run *r, uint64_t offset)
{
    size_t i = packet_at(r, offset);
    if (packet_type(r, offset) != IPT_PKT_PSB) return 0;
    for (i++; i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_PSBEND || type == IPT_PKT_OVF) return 0;
        if (type != IPT_PKT_FUP && type != IPT_PKT_PIP && type != IPT_PKT_VMCS
            && type != IPT_PKT_MODE_EXEC && type != IPT_PKT_MODE_TSX
            && !is_neutral(type))
            return 1;
    }
    return 0;
}

/* Does theirs look, for an erratum, after an OVF into a PSB+ that has no
 * PSBEND? */
static int ovf_open_psb(const run *r, uint64_t from, uint64_t to)
{
    int ovf = 0;
    if (!(r->config.errata & OVF_ERRATA)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_OVF) ovf = 1;
        else if (p->type == IPT_PKT_PSB && ovf && missing_psbend(r, p->offset))
            return 1;
        else if (is_flow(p->type) || ends_exec(p->type)) ovf = 0;
    }
    return 0;
}

/* Do several things wait for one TIP, and a VMCS after a PIP and another of
 * them, which makes libipt put the PIP last? */
static int vmcs_swaps(const events *e)
{
    const run *r = e->r;
    size_t i;
    int pip = 0;
    int more = 0;
    if (!e->count || !e->peer_count
        || (e->theirs[0].type != ptev_async_paging
            && e->theirs[0].type != ptev_exec_mode))
        return 0;
    i = packet_at(r, e->ours[0].offset);
    while (i > 0 && r->packets[i].type != IPT_PKT_FUP) i--;
    for (; i < r->count && !is_flow(r->packets[i].type); i++) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_VMCS && more) return 1;
        if (pip && (type == IPT_PKT_PIP || type == IPT_PKT_MODE_EXEC)) more = 1;
        if (type == IPT_PKT_PIP) pip = 1;
    }
    return 0;
}

/* Does theirs look ahead over one OVF for a FUP, for APL12 also after one, or
 * over a PSB+ for BDM70's TIP.PGE, and past an OVF that SKD007 hides in a
 * CYC? */
static int skd007_ahead(const run *r, uint64_t from, uint64_t to)
{
    int ovf = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_OVF) {
            if (ovf && p->size == 3) return 1;
            ovf = 1;
        } else if (p->type == IPT_PKT_PSBEND) {
            ovf = 1;
        } else if (!is_neutral(p->type)
                   && !(p->type == IPT_PKT_FUP
                        && r->config.errata & IPT_ERRATUM_APL12)) {
            ovf = 0;
        }
    }
    return 0;
}

/* Does libipt, for an erratum, look past a packet after an OVF, or after its
 * FUP? */
static int looks_past(const run *r, const ipt_packet *p, int fup)
{
    if (is_neutral(p->type)) return 1;
    if (fup) /* APL12 */
        return !is_flow(p->type) && !ends_exec(p->type)
               && p->type != IPT_PKT_STOP && p->type != IPT_PKT_PSBEND;
    if (!(r->config.errata & IPT_ERRATUM_SKD010)) return 0;
    switch (p->type) {
    case IPT_PKT_PIP:
    case IPT_PKT_VMCS:
    case IPT_PKT_MODE_EXEC:
    case IPT_PKT_MODE_TSX:
    case IPT_PKT_PWRE:
    case IPT_PKT_PWRX: return 1;
    case IPT_PKT_PTW: return !p->u.ptw.has_ip;
    case IPT_PKT_EXSTOP: return !p->u.exstop.has_ip;
    default: return 0;
    }
}

/* Does theirs look, for what our first event, an overflow, has lost, past
 * another OVF, that SKD007 hides in a CYC? */
static int skd007_passed(const events *e)
{
    const run *r = e->r;
    int fup = 0;
    if (e->ours[0].type != IPT_EVT_OVERFLOW) return 0;
    for (size_t i = packet_at(r, e->ours[0].offset) + 1; i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->type == IPT_PKT_OVF) return p->size == 3;
        if (p->type == IPT_PKT_FUP && !fup
            && r->config.errata & IPT_ERRATUM_APL12)
            fup = 1;
        else if (!looks_past(r, p, fup)) return 0;
    }
    return 0;
}

/* Is there what SKZ84 has spoilt after an OVF, where the erratum matters? */
static int skz84_ahead(const run *r, uint64_t from, uint64_t to)
{
    int ovf = 0;
    if (!(r->config.errata & OVF_ERRATA)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (r->packets[i].offset > to) break;
        if (type == IPT_PKT_INVALID && ovf) return 1;
        if (type == IPT_PKT_OVF) ovf = 1;
        else if (is_flow(type) || ends_exec(type)) ovf = 0;
    }
    return 0;
}

/* Does APL12 have an OVF, its FUP, and a PSB+ that another OVF ends? */
static int apl12_psb_ovf(const run *r, uint64_t from, uint64_t to)
{
    int step = 0;
    if (!(r->config.errata & IPT_ERRATUM_APL12)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (r->packets[i].offset > to) break;
        if (type == IPT_PKT_OVF && step == 3) return 1;
        if (type == IPT_PKT_OVF) step = 1;
        else if (type == IPT_PKT_FUP && step == 1) step = 2;
        else if (type == IPT_PKT_PSB && step == 2) step = 3;
        else if (is_flow(type) || ends_exec(type) || type == IPT_PKT_PSBEND)
            step = 0;
    }
    return 0;
}

/* The PSB+ that theirs looks into for an IP of our first event, an overflow, or
 * to see whether FUP after OVF is APL12's; r->count if there is none. */
static size_t lost_psb(const events *e)
{
    const run *r = e->r;
    int fup = 0;
    if (e->ours[0].type != IPT_EVT_OVERFLOW
        || e->theirs[0].type != ptev_overflow)
        return r->count;
    for (size_t i = packet_at(r, e->ours[0].offset) + 1; i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        const uint32_t erratum = fup ? IPT_ERRATUM_APL12 : IPT_ERRATUM_SKD010;
        if (p->type == IPT_PKT_PSB)
            return r->config.errata & erratum ? i : r->count;
        if (p->type == IPT_PKT_FUP && !fup) fup = 1;
        else if (!looks_past(r, p, fup)) break;
    }
    return r->count;
}

/* Theirs takes the overflow's IP from the FUP of that PSB+, or from APL12's
 * FUP, because the PSB+ has one, too. TIP.PGE after the PSB+ shows that tracing
 * was disabled all the time, and ours has no IP. */
static int ovf_bdm70(const events *e)
{
    const size_t psb = lost_psb(e);
    return psb < e->r->count && e->ours[0].flags & IPT_EVENT_NO_IP
           && !e->theirs[0].ip_suppressed
           && bdm70_at(e->r, e->r->packets[psb].offset);
}

/* For SKD010 theirs takes the FUP of an OVF for an interrupt's besides, if a
 * PWRX, which binds to nothing, is between them. */
static int ovf_fup_again(const run *r, uint64_t from, uint64_t to)
{
    int ovf = 0;
    if (!(r->config.errata & IPT_ERRATUM_SKD010)) return 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_OVF) ovf = 1;
        else if (p->type == IPT_PKT_PWRX) ovf *= 2;
        else if (p->type == IPT_PKT_FUP && ovf > 1) return 1;
        else if (!is_neutral(p->type)) ovf = 0;
    }
    return 0;
}

/* The PSB+ has no FUP, so that for theirs tracing is disabled. Ours takes a
 * FUP after it for that of the OVF. */
static int ovf_psb_fup(const events *e)
{
    const run *r = e->r;
    size_t i = lost_psb(e);
    if (i == r->count || e->ours[0].flags & IPT_EVENT_NO_IP
        || !e->theirs[0].ip_suppressed)
        return 0;
    while (i < r->count && r->packets[i].type != IPT_PKT_PSBEND)
        if (r->packets[i++].type == IPT_PKT_FUP) return 0;
    for (i++; i < r->count && is_neutral(r->packets[i].type); i++) { }
    return i < r->count && r->packets[i].type == IPT_PKT_FUP;
}

/* The difference in what binds where that explains other events, -1 if there
 * is none; what comes after it cannot be compared. */
static int explain_events(const events *e, uint64_t to)
{
    if (e->count
        && bdm70_at(e->r, e->ours[0].type == IPT_EVT_ENABLED
                              ? e->ours[0].offset - 1
                              : e->ours[0].offset) > e->r->bdm70)
        return D_BDM70;
    if (e->count && e->ours[0].flags & IPT_EVENT_STATUS
        && bdm70_at(e->r, e->ours[0].offset)
        && psb_without_fup(e->r, e->sync, e->ours[0].offset))
        return D_BDM70;
    if (e->peer_count && e->theirs[0].type == ptev_overflow
        && strange_fups(e->r, e->sync, to))
        return D_FUP0;
    if (e->peer_count && e->theirs[0].type == ptev_overflow
        && overflow_twice(e->r, e->sync, to))
        return D_OVF_TWICE;
    if (e->peer_count && e->theirs[0].status_update
        && psb_twice(e->r, e->sync, to))
        return D_PSB_TWICE;
    if (e->count && e->peer_count && ovf_bdm70(e)) return D_OVF_BDM70;
    if (e->count && e->peer_count && ovf_psb_fup(e)) return D_OVF_PSB;
    if (e->count && e->peer_count && e->ours[0].type == IPT_EVT_OVERFLOW
        && !(e->ours[0].flags & IPT_EVENT_NO_IP)
        && e->theirs[0].type == ptev_overflow && e->theirs[0].ip_suppressed)
        for (size_t i = packet_at(e->r, e->ours[0].offset) + 1;
             i < e->r->count && e->r->packets[i].type != IPT_PKT_FUP
             && e->r->packets[i].type != IPT_PKT_PSB;
             i++)
            if (e->r->packets[i].type == IPT_PKT_PWRX
                || !is_neutral(e->r->packets[i].type))
                return D_OVF_NOISE;
    if (lone_mwait(e->r, e->sync, to)) return D_MWAIT;
    if (e->count && e->peer_count && psb_ovf(e)) return D_PSB_OVF;
    if (e->count && exec_before_pgd(e->r, &e->ours[0])) return D_EXEC_PGD;
    if (e->count && e->peer_count && bogus_last_ip(e)) return D_PASSED_IP;
    if (e->count && bdm64_between(e->r, &e->ours[0])) return D_BDM64;
    if (e->count && ovf_skipped(e->r, &e->ours[0])) return D_SKIPPED;
    if (exec_before_fup(e->r, e->sync, to)) return D_EXEC_FUP;
    if (vmcs_swaps(e)) return D_VMCS_SWAPS;
    if (apl12_fups(e->r, e->sync, to)) return D_APL12_FUP;
    if (skz84_ahead(e->r, e->sync, to)) return D_SKZ84_AHEAD;
    if (apl12_psb_ovf(e->r, e->sync, to)) return D_PSB_OVF;
    if (fup_then_tnt(e->r, e->sync, to)) return D_UNBOUND;
    if (skd007_ahead(e->r, e->sync, to)) return D_SKD007;
    if (e->count && skd007_passed(e)) return D_SKD007;
    if (ovf_fup_again(e->r, e->sync, to)) return D_OVF_NOISE;
    if (e->peer_count && exec_before_psb(e, to)) return D_CONTEXT;
    if (ovf_open_psb(e->r, e->sync, to)) return D_PSBEND;
    if (strange_fups(e->r, e->sync, to)) return D_FUP0;
    if (psbend_alone(e->r, e->sync, to)) return D_CONTEXT;
    if (two_execs(e->r, e->sync, to)) return D_TIP_FIRST;
    if (e->count && e->ours[0].type == IPT_EVT_TSX
        && psb_without_fup(e->r, e->sync, e->ours[0].offset))
        return D_FUP0;
    if (e->place && e->have_exec
        && ((e->peer_count && e->theirs[0].type == ptev_exec_mode)
            || (e->count && e->ours[0].type == IPT_EVT_EXEC_MODE)))
        return D_TIP_FIRST; /* several, of which only one is kept in mind */
    if (e->place && e->count && e->ours[0].type == IPT_EVT_PTWRITE
        && e->ours[0].ip == e->place->ip
        && e->place->kind != IPT_INSN_PTWRITE)
        return D_PTW_ELSEWHERE;
    if (ovf_then_psb(e->r, e->sync, to)) return D_OVF_PSB;
    return -1;
}

/* Is one offset that of the packet at the other, or of the next one that is
 * about flow? */
static int near_packet(const run *r, uint64_t ours, uint64_t theirs)
{
    size_t i = packet_at(r, theirs);
    while (i < r->count && r->packets[i].offset < ours
           && is_neutral(r->packets[i].type))
        i++;
    return i < r->count && r->packets[i].offset == ours;
}

/* Two statuses of which one at least is an error, and where they came up. */
typedef struct failure {
    run *r;
    int ours;
    int theirs;
    uint64_t their_offset;
    uint64_t sync; /* where the section begins */
    enum pt_exec_mode their_mode; /* of the instruction that they stop at */
    const ipt_where *at;
    const ipt_evt_state_ *evt;
} failure;

/* Are there more than 7 events in the PSB+ around an offset? */
static int full_header(const run *r, uint64_t offset)
{
    size_t i = packet_at(r, offset);
    unsigned n = 0;
    while (i > 0 && r->packets[i].type != IPT_PKT_PSB) i--;
    for (; i < r->count && r->packets[i].type != IPT_PKT_PSBEND; i++)
        switch (r->packets[i].type) {
        case IPT_PKT_CBR:
        case IPT_PKT_PIP:
        case IPT_PKT_VMCS:
        case IPT_PKT_MODE_EXEC:
        case IPT_PKT_MODE_TSX:
        case IPT_PKT_MNT: n++; break;
        default: break;
        }
    return n >= 7;
}

/* Do they stop at a timing packet that gives no time, there or in the PSB+
 * there? */
static int bad_timing(const failure *f)
{
    const run *r = f->r;
    size_t i = packet_at(r, f->sync);
    ipt_clock c;
    if (f->theirs != -pte_bad_context && f->theirs != -pte_bad_packet) return 0;
    ipt_time_init(&c, &r->config);
    for (; i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        const int a = ipt_time_calibrate(&c, p);
        const int b = ipt_time_update(&c, p);
        if (p->offset >= f->their_offset
            && (a == IPT_ERR_CONTEXT || a == IPT_ERR_PACKET
                || b == IPT_ERR_CONTEXT || b == IPT_ERR_PACKET))
            return 1;
        if (p->offset > f->their_offset && p->type == IPT_PKT_PSBEND) break;
        if (p->offset >= f->their_offset
            && packet_type(r, f->their_offset) != IPT_PKT_PSB)
            break;
    }
    return 0;
}

/* Does anything wait for a packet that binds it? */
static int is_waiting(const ipt_evt_state_ *evt)
{
    for (unsigned i = 0; i < evt->count; i++)
        if (evt->pending[i].waits != IPTI_WAIT_NOW) return 1;
    return 0;
}

/* Ours says that a packet may not stand here, as libipt master does. */
static int explain_context(const failure *f)
{
    const uint8_t type = f->at->packet;
    if (is_flow(type)) return f->evt->enabled ? -1 : D_DISABLED;
    if (type == IPT_PKT_PSBEND && f->evt->phase != IPTI_EVT_PSB)
        return D_CONTEXT;
    if (type == IPT_PKT_STOP && f->evt->enabled) return D_CONTEXT;
    if (type == IPT_PKT_TIP_PGE && (f->evt->enabled || is_waiting(f->evt)))
        return D_CONTEXT;
    if ((type == IPT_PKT_FUP || type == IPT_PKT_PSB) && is_waiting(f->evt))
        return D_CONTEXT;
    return -1;
}

/* The difference that explains it, -1 if there is none. */
static int explain_failure(const failure *f)
{
    const uint8_t type = packet_type(f->r, f->their_offset);
    if (psb_cut(f->r, f->at->offset, f->ours, f->theirs)) return D_PSB_CUT;
    if (f->theirs == -pte_bad_opc && is_new(type)) return D_NEW_PACKET;
    if (bad_timing(f)) return D_TIMING;
    if (f->theirs == -pte_nomem && full_header(f->r, f->their_offset))
        return D_QUEUE;
    if (f->ours == IPT_ERR_MODE && f->their_mode == ptem_unknown)
        return D_MODE;
    if (f->theirs == -pte_bad_context && missing_psbend(f->r, f->their_offset))
        return D_PSBEND;
    if (f->ours >= 0 && f->theirs == -pte_bad_query && is_waiting(f->evt))
        return D_UNBOUND;
    if (f->ours == IPT_ERR_CONTEXT && explain_context(f) >= 0)
        return explain_context(f);
    if (ovf_then_psb(f->r, f->sync, f->at->packet_offset)
        || ovf_then_psb(f->r, f->sync, f->their_offset))
        return D_OVF_PSB;
    return -1;
}

/* Comparisons of wild traces that an error ended: of ours alone, of theirs
 * alone, of both, but not the same. */
static unsigned long long ends[3];

static int ended(const run *r, int ours, int theirs)
{
    if (!r->wild) return 0;
    ends[ours >= 0 ? 1 : theirs >= 0 ? 0 : 2]++;
    return 1;
}

#endif /* PEER_EXPLAIN_H */
