/* clock.h: time as libipt works it out, which differs from ours where CYCs have
 * a threshold or the processor halts: an MTC or TSC begins a new count of
 * cycles whether a CYC stands right before it or not, what MTCs have counted
 * since such a one is taken off, and any interval says how long a cycle is.
 *
 * MONOTONIC is not in it. */
#ifndef TESTS_PEER_CLOCK_H
#define TESTS_PEER_CLOCK_H

typedef struct their_clock {
    const ipt_config *config;
    uint64_t tsc, fcr, base, fc;
    uint64_t cal_tsc, cal_tsc_cyc, cal_mtc_cyc;
    uint32_t lost_mtc, lost_cyc, ctc, ctc_cyc, cal_ctc, rest;
    int has_tsc, tma, mtc, cal, psb, skl168;
} their_clock;

static void their_init(their_clock *c, const ipt_config *config)
{
    memset(c, 0, sizeof *c);
    c->config = config;
}

static uint32_t their_mask(const their_clock *c)
{
    return ((uint32_t) 1 << (c->config->mtc_freq + 8)) - 1;
}

/* Returns 0 if it is not known. */
static int their_ticks(const their_clock *c, uint32_t ctc, uint32_t *rest,
                       uint64_t *ticks)
{
    const uint32_t eax = c->config->cpuid_15_eax;
    uint64_t parts;
    if (!eax || !c->config->cpuid_15_ebx) return 0;
    parts = (uint64_t) ctc * c->config->cpuid_15_ebx + *rest;
    *ticks = parts / eax;
    *rest = (uint32_t) (parts % eax);
    return 1;
}

static void their_ratio(their_clock *c, uint64_t ticks, uint64_t cycles)
{
    c->fcr = (ticks << 8) / cycles; /* 0: not known */
}

static void their_cal_mtc(their_clock *c, uint8_t value)
{
    const uint32_t ctc = (uint32_t) value << c->config->mtc_freq;
    const uint64_t cycles = c->cal_mtc_cyc;
    const int check = c->skl168;
    uint32_t rest = 0;
    uint32_t delta;
    uint64_t ticks;
    c->skl168 = 0;
    if (c->cal && !cycles) return;
    delta = (ctc - c->cal_ctc) & their_mask(c);
    if (c->cal && !their_ticks(c, delta, &rest, &ticks)) return;
    c->cal_ctc = ctc;
    c->cal_mtc_cyc = 0;
    if (!c->cal) {
        c->cal = 1;
        return;
    }
    if (check) {
        if (delta > (uint32_t) 1 << c->config->mtc_freq) return;
        if (c->config->mtc_freq < 10 && c->fcr && ticks) {
            const uint64_t most = ((ticks << 8) - 1) / c->fcr;
            if (most >= 0xf00 && cycles <= most - 0xf00) return;
        }
    }
    their_ratio(c, ticks, cycles);
}

static void their_add(uint64_t *sum, uint64_t cycles)
{
    *sum = *sum + cycles < cycles ? UINT64_MAX : *sum + cycles;
}

static void their_restart(their_clock *c)
{
    c->cal_tsc = 0;
    c->cal = c->skl168 = 0;
}

static void their_calibrate(their_clock *c, const ipt_packet *p)
{
    const uint64_t last = c->cal_tsc;
    const uint64_t cycles = c->cal_tsc_cyc;
    switch (p->type) {
    case IPT_PKT_CYC:
        their_add(&c->cal_tsc_cyc, p->u.cyc.value);
        their_add(&c->cal_mtc_cyc, p->u.cyc.value);
        break;
    case IPT_PKT_MTC: their_cal_mtc(c, p->u.mtc.ctc); break;
    case IPT_PKT_TSC:
        c->cal_tsc = p->u.tsc.value;
        c->cal_tsc_cyc = 0;
        if (c->psb && !c->cal && last && cycles)
            their_ratio(c, (p->u.tsc.value - last) & 0xffffffffffffff, cycles);
        break;
    case IPT_PKT_CBR:
        if (!p->u.cbr.ratio) break;
        if (!c->psb) {
            their_restart(c);
            c->fcr = 0;
        }
        if (c->config->nom_freq)
            their_ratio(c, c->config->nom_freq, p->u.cbr.ratio);
        break;
    case IPT_PKT_PSB:
        c->psb = 1;
        if (c->config->errata & IPT_ERRATUM_SKL168) c->skl168 = 1;
        break;
    case IPT_PKT_OVF:
        c->psb = 0;
        their_restart(c);
        if (!(c->config->flags & IPT_CONFIG_KEEP_TCAL)) c->fcr = 0;
        break;
    case IPT_PKT_PAD:
    case IPT_PKT_TMA:
    case IPT_PKT_MNT:
    case IPT_PKT_PWRX:
    case IPT_PKT_UNKNOWN:
    case IPT_PKT_INVALID:
    case IPT_PKT_MODE_EXEC:
    case IPT_PKT_MODE_TSX:
    case IPT_PKT_PIP:
    case IPT_PKT_VMCS:
    case IPT_PKT_FUP: break;
    default: c->psb = 0; break;
    }
}

static void their_mtc(their_clock *c, uint8_t value)
{
    const uint32_t ctc = (uint32_t) value << c->config->mtc_freq;
    const int first = !c->mtc;
    uint32_t last = c->ctc;
    uint64_t ticks = 0;
    if (c->has_tsc && !c->tma) return;
    if (first && c->tma) {
        last = (ctc & ~(uint32_t) 0xffff) | c->ctc;
        if ((ctc & 0xffff) < c->ctc) last -= 0x10000;
        last &= their_mask(c);
    }
    if ((!first || c->tma)
        && !their_ticks(c, (ctc - last) & their_mask(c), &c->rest, &ticks)) {
        c->lost_mtc++;
        return;
    }
    if (first || c->fc || c->lost_cyc) c->ctc_cyc = ctc;
    c->mtc = 1;
    c->ctc = ctc;
    c->lost_cyc = 0;
    c->base += ticks;
    c->fc = 0;
    if (!first || c->tma) c->tsc = c->base;
}

static void their_cyc(their_clock *c, uint64_t cycles)
{
    uint32_t rest = 0;
    uint64_t before = 0;
    if (!c->fcr) {
        c->lost_cyc++;
        return;
    }
    if (!c->fc && c->ctc != c->ctc_cyc) {
        if (!their_ticks(c, (c->ctc - c->ctc_cyc) & their_mask(c), &rest,
                         &before))
            return;
        before = (before << 8) / c->fcr;
        cycles = cycles > before ? cycles - before : 0;
    }
    if (cycles > UINT64_MAX / c->fcr) {
        c->lost_cyc++;
        return;
    }
    c->fc += cycles * c->fcr >> 8;
    c->tsc = c->base + c->fc;
}

static void their_packet(their_clock *c, const ipt_packet *p)
{
    their_calibrate(c, p);
    switch (p->type) {
    case IPT_PKT_CYC: their_cyc(c, p->u.cyc.value); break;
    case IPT_PKT_MTC: their_mtc(c, p->u.mtc.ctc); break;
    case IPT_PKT_TSC: /* ctc_cyc stays */
        c->tma = c->mtc = 0;
        c->tsc = c->base = p->u.tsc.value;
        c->fc = 0;
        c->ctc = c->rest = c->lost_mtc = c->lost_cyc = 0;
        c->has_tsc = 1;
        break;
    case IPT_PKT_TMA:
        if (!c->has_tsc || c->tma) break;
        c->tma = 1;
        c->base -= p->u.tma.fc;
        c->fc += p->u.tma.fc;
        c->ctc = p->u.tma.ctc & their_mask(c);
        c->ctc_cyc = c->ctc;
        c->mtc = c->config->mtc_freq + 8 <= 16;
        break;
    default: break;
    }
}
#endif /* TESTS_PEER_CLOCK_H */
