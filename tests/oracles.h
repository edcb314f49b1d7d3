/* oracles.h: what must hold of every trace that simulate.h makes. tests/ and
 * fuzz/simulate.c run it.
 *
 *   - [insn] gives the truth, if no packet was changed; of flow that flags pick
 *     it gives a part of the truth
 *   - pieces, fuel, clones, caches, late pages and decoders used before change
 *     nothing, on any layer
 *   - blocks are the instructions, and edges are theirs, whatever the memo
 *   - what is not wanted of events is not given, and all else as it was
 *   - from any PSB on a decoder gives the suffix after the seam */
#ifndef IPT_TESTS_ORACLES_H
#define IPT_TESTS_ORACLES_H
#include "simulate.h"
#include "fuzz/cov.h"

#define SIM_BYTES 40000

static uint8_t sim_bytes[SIM_BYTES];
static fuzz_log sim_whole; /* of [insn], plainly */
static fuzz_log sim_other;
static int sim_changed; /* packets were */
static int sim_heavy;   /* they are in each case, and many of them */

/* ---- the case ---- */

/* Below n, which may be large. */
static inline size_t pick(size_t n)
{
    const size_t high = draw(256);

    return n ? (high * 256 + draw(256)) % n : 0;
}

/* A packet that says something about flow. */
static inline ipt_packet random_packet(void)
{
    static const uint8_t types[]
        = {IPT_PKT_TIP, IPT_PKT_TIP, IPT_PKT_FUP, IPT_PKT_FUP,
           IPT_PKT_TIP_PGE, IPT_PKT_TIP_PGD, IPT_PKT_TNT_8, IPT_PKT_TNT_8,
           IPT_PKT_OVF, IPT_PKT_PSBEND, IPT_PKT_PSB, IPT_PKT_MODE_EXEC,
           IPT_PKT_MODE_TSX, IPT_PKT_PIP, IPT_PKT_PTW, IPT_PKT_EXSTOP,
           IPT_PKT_CFE, IPT_PKT_TRIG, IPT_PKT_VMCS, IPT_PKT_STOP};
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = types[draw(SIM_LENGTH(types))];
    switch (p.type) {
    case IPT_PKT_TNT_8:
        p.u.tnt.count = (uint8_t) (1 + draw(6));
        p.u.tnt.bits = draw(1u << p.u.tnt.count);
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_FUP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
        p.u.ip.ipc = chance(90) ? 6 : 0;
        p.u.ip.payload = p.u.ip.ipc ? any_insn()->ip : 0;
        break;
    case IPT_PKT_MODE_EXEC:
        p.u.exec.csl = (uint8_t) draw(2);
        p.u.exec.csd = !p.u.exec.csl && draw(2);
        p.u.exec.iflag = (uint8_t) draw(2);
        break;
    case IPT_PKT_MODE_TSX:
        p.u.tsx.intx = (uint8_t) draw(2);
        p.u.tsx.abrt = !p.u.tsx.intx && draw(2);
        break;
    case IPT_PKT_PIP:
        p.u.pip.cr3 = (uint64_t) (1 + draw(3)) << 12;
        p.u.pip.nr = (uint8_t) draw(2);
        break;
    case IPT_PKT_PTW: p.u.ptw.has_ip = (uint8_t) draw(2); break;
    case IPT_PKT_EXSTOP: p.u.exstop.has_ip = (uint8_t) draw(2); break;
    case IPT_PKT_CFE:
        p.u.cfe.type = (uint8_t) (1 + draw(15));
        p.u.cfe.has_ip = (uint8_t) draw(2);
        break;
    case IPT_PKT_TRIG:
        p.u.trig.icntv = (uint8_t) draw(2);
        p.u.trig.icnt = (uint16_t) (p.u.trig.icntv ? draw(20) : 0);
        break;
    case IPT_PKT_VMCS: p.u.vmcs.base = (uint64_t) draw(8) << 12; break;
    default: break;
    }
    return p;
}

/* An instruction of this kind, if there is one. */
static inline const sim_insn *any_kind(uint8_t kind)
{
    const sim_insn *x = any_insn();
    unsigned i;

    for (i = 0; i < program.insn_count && x->kind != kind; i++)
        x = &program.insns[i];
    return x;
}

/* Change a packet. */
static inline void sim_change(void)
{
    const size_t i = pick(packet_count);
    ipt_packet p = packets[i];

    if (packet_count < 2)
        return;
    switch (draw(6)) {
    case 0: /* it is lost */
        packet_count--;
        memmove(&packets[i], &packets[i + 1],
                (packet_count - i) * sizeof(packets[0]));
        break;
    case 1: /* it comes later */
        packets[i] = packets[(i + 1) % packet_count];
        packets[(i + 1) % packet_count] = p;
        break;
    case 2: insert_packet(i, packets[pick(packet_count)]); break;
    case 3: insert_packet(i, random_packet()); break;
    case 4: packets[i] = random_packet(); break;
    default: /* something out of place, then an event that a FUP places */
        p = random_packet();
        p.type = IPT_PKT_FUP;
        memset(&p.u, 0, sizeof(p.u));
        p.u.ip.ipc = 6;
        p.u.ip.payload = any_kind(IPT_INSN_PTWRITE)->ip;
        insert_packet(i, p);
        p.type = IPT_PKT_PTW;
        memset(&p.u, 0, sizeof(p.u));
        p.u.ptw.has_ip = 1;
        insert_packet(i, p);
        insert_packet(i, random_packet());
        break;
    }
}

/* The packets as bytes, and gaps where there are such. */
static inline void sim_encode(fuzz_case *c)
{
    size_t i;

    for (i = 0; i < packet_count && c->trace_size < SIM_BYTES - 300; i++) {
        const ipt_packet *p = &packets[i];
        uint8_t *to = sim_bytes + c->trace_size;
        int n;
        if (p->type == IPT_PKT_GAP) {
            if (c->losses < FUZZ_LOSSES
                && (!c->losses
                    || c->loss[c->losses - 1].at < c->trace_size)) {
                c->loss[c->losses].at = c->trace_size;
                c->loss[c->losses].size = (size_t) p->u.gap.lost;
                if (c->loss[c->losses++].size != p->u.gap.lost)
                    FUZZ_FAIL(__LINE__, "a gap that no piece can say");
            }
            continue;
        }
        if (p->type == IPT_PKT_UNKNOWN) {
            memcpy(to, p->u.unknown, p->size);
            n = (int) p->size;
        } else {
            n = ipt_pkt_encode(to, 300, p);
            if (n <= 0)
                FUZZ_FAIL(__LINE__, "a packet that cannot be encoded");
        }
        c->trace_size += n > 0 ? (size_t) n : 0;
    }
    c->trace = sim_bytes;
}

static uint64_t sim_cr3; /* config.cr3 */

/* What fuzz_setup cannot say. */
static inline void sim_configure(ipt_config *config, void *context)
{
    unsigned i;

    (void) context;
    config->cr3 = sim_cr3;
    config->cs_base = program.lay->has_cs ? read_cs_base : NULL;
    if (program.lay->relative)
        config->flags |= IPT_CONFIG_RELATIVE_IP;
    for (i = 0; program.filtered && i < program.place_count; i++) {
        config->filter[i].first = program.places[i].ip;
        config->filter[i].last
            = program.places[i].ip + program.places[i].size - 1;
        config->filter[i].kind = IPT_FILTER_TRACE;
    }
}

static inline void sim_flags(fuzz_case *c, uint32_t flags, uint32_t errata)
{
    c->config = (uint8_t) flags;
    c->more = (uint8_t) ((flags >> 8 & FUZZ_MORE_FLAGS)
                         | (errata >> 6 & FUZZ_MORE_ERRATA));
    c->wide = (uint8_t) (flags >> 9 & FUZZ_WIDE_FLAGS);
    c->errata = (uint8_t) errata;
    c->high = flags & FUZZ_HIGH_FLAGS;
}

/* With FUZZ_VERBOSE in the environment: what the case is. */
static inline void sim_print(void)
{
    unsigned i;

    fprintf(stderr, "errata %x, filter %u, variants %u, CS %x\n", cpu.errata,
            program.filtered, program.variants, program.lay->cs);
    for (i = 0; i < program.insn_count; i++) {
        const sim_insn *x = &program.insns[i];
        fprintf(stderr, "  %llx %s size %u mode %u to %llx %llx%s%s\n",
                (unsigned long long) x->ip, ipt_insn_name(x->kind), x->size,
                x->mode, (unsigned long long) x->target[0],
                (unsigned long long) x->target[1], x->cut ? ", cut" : "",
                x->leaves ? ", leaves" : "");
    }
    for (i = 0; i < packet_count; i++)
        fprintf(stderr, "  packet %u %s %llx %x\n", i,
                ipt_pkt_name(packets[i].type),
                (unsigned long long) packets[i].u.unknown[0],
                (unsigned) packets[i].u.unknown[1]);
    for (i = 0; i < did.count; i++)
        fuzz_print(&did.item[i]);
}

/* What is not part of the execution is drawn from the bytes of its trace: an
 * input makes the simulator do what it always did. */
static inline uint64_t sim_drawn(const fuzz_case *c)
{
    return fuzz_hash(c->trace, c->trace_size) * 0x9e3779b97f4a7c15u >> 16;
}

static inline void sim_aside(fuzz_case *c)
{
    const uint64_t drawn = sim_drawn(c);

    c->section = drawn % 4 == 0;
    c->extra = (uint8_t) (drawn >> 8 & FUZZ_EXTRA_MODE);
    reached[REACH_SECTIONS] += c->section != 0;
}

static int sim_no_trig; /* what ends a loop may have been left out */

/* TNT packets are not traced, nor those that count instructions from them. */
static inline void sim_no_tnt(void)
{
    unsigned n = 0;
    unsigned i;

    sim_no_trig = 0;
    for (i = 0; i < packet_count; i++)
        sim_no_trig |= packets[i].type == IPT_PKT_TRIG;
    for (i = 0; i < packet_count; i++)
        if (packets[i].type != IPT_PKT_TNT_8
            && packets[i].type != IPT_PKT_TNT_64
            && packets[i].type != IPT_PKT_TRIG)
            packets[n++] = packets[i];
    packet_count = n;
    cpu.flags |= IPT_CONFIG_NO_TNT;
}

/* Simulate, change packets, and make a case of it. */
static inline void sim_make(fuzz_case *c)
{
    unsigned n;

    memset(c, 0, sizeof(*c));
    if (sim_heavy) {
        simulate(chance(70) ? 10 + draw(40) : 50 + draw(100));
        sim_changed = 1;
        n = 1 + draw(chance(50) ? 6 : 40);
    } else {
        simulate(chance(70) ? 10 + draw(40) : 100 + draw(200));
        sim_changed = !sim_between_on && !sim_no_tnt_on && chance(50);
        n = sim_changed ? 1 + draw(6) : 0;
    }
    while (n--)
        sim_change();
    if (sim_between_on)
        sim_between();
    if (sim_no_tnt_on)
        sim_no_tnt();
    if (fuzz_verbose())
        sim_print();
    sim_encode(c);
    if (sim_changed) {
        reached[REACH_CHANGED]++;
        if (chance(15))
            sim_bytes[pick(c->trace_size)] ^= (uint8_t) (1u << draw(8));
        if (chance(10))
            c->trace_size -= pick(c->trace_size < 40 ? c->trace_size : 40);
    }
    c->image = read_program;
    c->configure = sim_configure;
    c->flags = (uint8_t) (program.variants ? FUZZ_ASID : 0);
    c->touched = program.places[0].ip;
    sim_aside(c);
    sim_cr3 = (uint64_t) (1 + draw(3)) << 12;
    sim_flags(c, cpu.flags, cpu.errata);
}

/* ---- truth ---- */

static inline int sim_same_insn(const fuzz_item *a, const fuzz_item *b)
{
    return a->what == FUZZ_INSN && b->what == FUZZ_INSN && a->ip == b->ip
           && a->kind == b->kind && a->mode == b->mode && a->size == b->size;
}

/* The flags that an instruction has for what comes after it are those of the
 * first four events there that are wanted: these are of later ones. */
static inline unsigned sim_late(const fuzz_log *log, size_t insn,
                                uint64_t unwanted)
{
    unsigned early = 0;
    unsigned late = 0;
    unsigned before = 0;
    size_t i;

    for (i = insn + 1; i < log->count && log->item[i].what == FUZZ_EVENT; i++) {
        const uint8_t kind = log->item[i].kind;
        const unsigned flags =
            kind == IPT_EVT_ASYNC_BRANCH ? IPT_FLOW_INTERRUPTED
            : kind == IPT_EVT_DISABLED || kind == IPT_EVT_ASYNC_DISABLED
                ? IPT_FLOW_DISABLED
            : kind == IPT_EVT_TSX ? IPT_FLOW_ABORTED | IPT_FLOW_COMMITTED : 0;
        *(before >= 4 ? &late : &early) |= flags;
        before += !(unwanted >> kind & 1);
    }
    return late & ~early;
}

/* Where fewer events are wanted there is room for later ones: an item of `log`
 * gets the flags of these from what was decoded so. */
static inline void sim_room(fuzz_item *item, const fuzz_log *log, size_t i,
                            uint64_t unwanted, const fuzz_item *from)
{
    unsigned more = 0;

    if (item->what == FUZZ_INSN || item->what == FUZZ_BLOCK)
        more = sim_late(log, i, 0) & ~sim_late(log, i, unwanted);
    item->flags = (uint16_t) ((item->flags & ~more) | (from->flags & more));
}

/* Is what was decoded what was done? */
static inline int sim_same(const fuzz_log *log, size_t i,
                           const fuzz_item *truth)
{
    const unsigned not_told = IPT_EVENT_TSC | IPT_EVENT_SEAM;
    const fuzz_item *item = &log->item[i];

    if (item->what == FUZZ_INSN)
        return sim_same_insn(item, truth)
               && item->flags == (truth->flags & ~sim_late(log, i, 0));
    return item->what == FUZZ_EVENT && truth->what == FUZZ_EVENT
           && item->kind == truth->kind && item->ip == truth->ip
           && (item->hash == truth->hash || truth->hash == 0)
           && (item->flags & ~not_told) == truth->flags;
}

/* Is it of a packet that sim_between() made? */
static inline int sim_is_between(const fuzz_item *item)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = item->kind;
    switch (item->kind) {
    case IPT_EVT_CBR: e.u.cbr.ratio = BETWEEN_RATIO; break;
    case IPT_EVT_MNT: e.u.mnt.payload = BETWEEN_MNT; break;
    case IPT_EVT_PWRX: e.u.pwrx.last = BETWEEN_PWRX; break;
    default: return 0;
    }
    return item->what == FUZZ_EVENT && item->hash == fuzz_event_data(&e);
}

static inline void sim_truth(const fuzz_log *log)
{
    unsigned events = 0;
    size_t i;
    size_t k = 0;

    did.name = "truth";
    for (i = 0; i < log->count; i++) {
        const fuzz_item *item = &log->item[i];
        if (item->what == FUZZ_SYNC)
            continue;
        if (sim_between_on && sim_is_between(item)) {
            events++;
            continue;
        }
        if (item->what == FUZZ_STOP && item->status == IPT_END
            && k == did.count)
            break;
        if (k == did.count || !sim_same(log, i, &did.item[k])) {
            (void) fuzz_differ(&did, k, log, i);
            return;
        }
        k++;
    }
    if (sim_between_on && events != between_events)
        FUZZ_FAIL(__LINE__, "an event of a packet between others is not given");
    reached[REACH_TRUTH]++;
}

static unsigned long sim_proofs; /* instructions that need no TNT */

/* Without TNT: was all that was decoded done, in its order, and is nothing wrong
 * but that bits are missing? */
static inline void sim_proven(const fuzz_log *log)
{
    size_t i;
    size_t k = 0;

    did.name = "truth";
    for (i = 0; i < log->count; i++) {
        const fuzz_item *item = &log->item[i];
        const size_t first = k;
        if (item->what == FUZZ_INSN) {
            while (k < did.count && !sim_same_insn(item, &did.item[k]))
                k++;
            if (k++ == did.count) {
                (void) fuzz_differ(&did, first, log, i);
                return;
            }
            sim_proofs++;
        } else if (item->what == FUZZ_STOP && item->status != IPT_END
                   && item->status != IPT_ERR_NO_TNT
                   && !(item->status == IPT_ERR_LOOP && sim_no_trig)) {
            (void) fuzz_differ(&did, k, log, i);
        }
    }
}

/* Is an instruction of the truth one that the flags ask for? */
static inline int sim_visible(const fuzz_item *truth, uint32_t flags)
{
    if (truth->what != FUZZ_INSN)
        return 0;
    if (flags & IPT_CONFIG_CR3_ONLY)
        return truth->end == sim_cr3;
    return flags & IPT_CONFIG_NON_ROOT_ONLY ? truth->count != 0
                                            : truth->count == 0;
}

#define SIM_ONLY                                        \
    (IPT_CONFIG_ROOT_ONLY | IPT_CONFIG_NON_ROOT_ONLY \
     | IPT_CONFIG_CR3_ONLY)

/* Flow that the flags ask for is part of the truth, where no return depends on
 * calls of what is stepped over, and no TIP of that is deferred. */
static inline void sim_part(const fuzz_log *log, uint32_t flags)
{
    size_t hidden = 0;
    size_t i;
    size_t k = 0;

    for (i = 0; i < did.count; i++)
        hidden += did.item[i].what == FUZZ_INSN
                  && !sim_visible(&did.item[i], flags);
    if (hidden)
        reached[flags & IPT_CONFIG_CR3_ONLY    ? REACH_CR3_ONLY
                : flags & IPT_CONFIG_ROOT_ONLY ? REACH_ROOT_ONLY
                                               : REACH_NON_ROOT_ONLY]++;
    if (sim_changed || !(flags & IPT_CONFIG_NO_RETCOMP) || cpu.defers)
        return;
    for (i = 0; i < log->count; i++) {
        const fuzz_item *item = &log->item[i];
        if (item->what == FUZZ_STOP && item->status != IPT_END) {
            if (!(flags & (IPT_CONFIG_WALK_ON | IPT_CONFIG_STRICT)))
                (void) fuzz_differ(&did, k, log, i);
            return; /* the address space after it may not be known */
        }
        if (item->what != FUZZ_INSN || item->status & IPT_UNPROVEN)
            continue;
        while (k < did.count
               && !(sim_visible(&did.item[k], flags)
                    && sim_same_insn(item, &did.item[k])))
            k++;
        if (k++ >= did.count) {
            (void) fuzz_differ(&did, did.count, log, i);
            return;
        }
    }
    reached[REACH_VISIBLE]++;
}

/* ---- from a PSB on ---- */

/* A place in a log, and the address space there. */
typedef struct sim_mark {
    size_t at;
    uint64_t paging; /* hashes of the last such events, 0: there were none */
    uint64_t vmcs;
    int iflags; /* RFLAGS.IF is known: only a change is given */
} sim_mark;

static inline void sim_follow(sim_mark *m, const fuzz_item *item)
{
    if ((item->what == FUZZ_SYNC && item->kind == 0)
        || (item->what == FUZZ_EVENT && item->kind == IPT_EVT_GAP)) {
        m->paging = m->vmcs = 0; /* a _sync function, or a gap: forgotten */
        m->iflags = 0;
    }
    if (item->what != FUZZ_EVENT)
        return;
    if (item->kind == IPT_EVT_PAGING || item->kind == IPT_EVT_ASYNC_PAGING)
        m->paging = item->hash;
    if (item->kind == IPT_EVT_VMCS || item->kind == IPT_EVT_ASYNC_VMCS)
        m->vmcs = item->hash;
    if (item->kind == IPT_EVT_IFLAGS)
        m->iflags = 1;
}

static inline int sim_is_seam(const fuzz_item *item)
{
    const unsigned seam = IPT_EVENT_STATUS | IPT_EVENT_SEAM;

    return item->what == FUZZ_EVENT && (item->flags & seam) == seam
           && (item->kind == IPT_EVT_ENABLED
               || item->kind == IPT_EVT_DISABLED);
}

/* Go to the seam at this offset, and on to the first instruction that takes
 * trace. Returns 0 if there is none before an error. */
static inline int sim_find(const fuzz_log *log, uint64_t offset, sim_mark *m)
{
    int after_it = 0;

    memset(m, 0, sizeof(*m));
    for (; m->at < log->count; m->at++) {
        const fuzz_item *item = &log->item[m->at];
        sim_follow(m, item);
        if (sim_is_seam(item) && item->offset == offset)
            after_it = 1;
        else if (after_it && item->what == FUZZ_INSN && is_branch(item->kind))
            return 1;
        else if (after_it && item->what == FUZZ_STOP)
            return 0;
    }
    return 0;
}

/* Equal, except time and what says how a decoder began. Where a bit is missing no
 * packet is used: the offset says how far a decoder has read. One that begins at
 * a PSB+ reads on until it knows that this holds (BDM70). */
static inline int sim_alike(const fuzz_item *a, const fuzz_item *b)
{
    const unsigned own = IPT_EVENT_TSC | IPT_EVENT_SEAM;

    if (a->what == FUZZ_EVENT)
        return b->what == FUZZ_EVENT && a->kind == b->kind && a->ip == b->ip
               && a->hash == b->hash && a->offset == b->offset
               && (a->flags & ~own) == (b->flags & ~own);
    if (a->what == FUZZ_INSN)
        return sim_same_insn(a, b) && a->offset == b->offset
               && a->flags == b->flags && a->status == b->status;
    if (a->status == IPT_ERR_NO_TNT)
        return b->what == FUZZ_STOP && a->status == b->status && a->ip == b->ip
               && a->offset <= b->offset;
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* From the PSB at `offset` on, in step with the whole from some seam on. */
static inline void sim_from(const fuzz_case *c, uint64_t offset)
{
    const fuzz_log *whole = &sim_whole;
    fuzz_log *log = &sim_other;
    fuzz_run run;
    size_t i;

    fuzz_plan(&run, &fuzz_insn, c);
    run.log = log;
    run.psb = offset + 1;
    fuzz_decode(&run, "from a PSB on");
    for (i = 0; i < log->count; i++) {
        sim_mark a;
        sim_mark b;
        if (!sim_is_seam(&log->item[i])
            || !sim_find(whole, log->item[i].offset, &a)
            || !sim_find(log, log->item[i].offset, &b)
            || !sim_same_insn(&whole->item[a.at], &log->item[b.at])
            || whole->item[a.at].offset != log->item[b.at].offset
            || (whole->item[a.at].flags ^ log->item[b.at].flags)
                   & IPT_FLOW_SPECULATIVE
            || a.paging != b.paging || a.vmcs != b.vmcs || a.iflags != b.iflags)
            continue;
        reached[REACH_SEAM]++;
        for (a.at++, b.at++; a.at < whole->count && b.at < log->count;
             a.at++, b.at++)
            if (!sim_alike(&whole->item[a.at], &log->item[b.at]))
                break;
        if ((a.at < whole->count && !log->cut)
            || (b.at < log->count && !whole->cut))
            (void) fuzz_differ(whole, a.at, log, b.at);
        return;
    }
}

static inline void sim_seams(const fuzz_case *c, uint32_t flags)
{
    const fuzz_log *log = &fuzz_logs[1];
    size_t i;

    if (flags & (IPT_CONFIG_TICKS | IPT_CONFIG_VMX_EVENTS))
        return; /* these depend on what was before the PSB */
    fuzz_reference(&fuzz_pkt, c, &fuzz_logs[1]);
    for (i = 1; i < log->count; i++)
        if (log->item[i].what == FUZZ_PACKET
            && log->item[i].kind == IPT_PKT_PSB && log->item[i].offset
            && chance(50))
            sim_from(c, log->item[i].offset);
}

/* ---- ways that must not matter ---- */

static const fuzz_layer *const sim_layers[]
    = {&fuzz_insn, &fuzz_blk, &fuzz_insn, &fuzz_blk,
       &fuzz_evt,  &fuzz_qry, &fuzz_pkt};

/* Events of some types are not wanted: all else is as it was. */
static inline void sim_unwanted(fuzz_case *c, const fuzz_layer *layer,
                                const fuzz_log *whole)
{
    fuzz_log *log = &sim_other;
    size_t i = 0;
    size_t k = 0;

    c->unwanted = chance(20) ? IPT_UNWANTED_ : 0;
    while (!c->unwanted || chance(70))
        c->unwanted |= (uint64_t) 1 << draw(IPT_EVT_COUNT) & IPT_UNWANTED_;
    fuzz_reference(layer, c, log);
    for (; i < whole->count; i++) {
        fuzz_item item = whole->item[i];
        if (item.what == FUZZ_EVENT && c->unwanted >> item.kind & 1) {
            reached[REACH_UNWANTED]++;
            continue;
        }
        if (k == log->count)
            break;
        sim_room(&item, whole, i, c->unwanted, &log->item[k]);
        if (memcmp(&item, &log->item[k], sizeof(item)))
            break;
        k++;
    }
    if (i < whole->count && whole->item[i].what == FUZZ_SYNC)
        return; /* it had no room for events, and now it goes on to an error */
    if ((i < whole->count && !log->cut) || (k < log->count && !whole->cut))
        (void) fuzz_differ(whole, i, log, k);
}

/* Nobody wants to know the time: all else is as it was. */
static inline void sim_no_time(fuzz_case *c, const fuzz_layer *layer,
                               fuzz_log *whole)
{
    fuzz_log *log = &sim_other;
    size_t i;
    size_t k = 0;

    c->high |= IPT_CONFIG_NO_TIME;
    fuzz_reference(layer, c, log);
    for (i = 0; i < whole->count; i++) {
        fuzz_item *item = &whole->item[i];
        if (item->what == FUZZ_EVENT && item->kind == IPT_EVT_TICK)
            continue;
        if (item->what == FUZZ_EVENT) {
            reached[REACH_NO_TIME] += item->end || item->count || item->size;
            item->flags &= (uint16_t) ~IPT_EVENT_TSC;
            item->end = item->count = item->size = 0;
        }
        if (item->what == FUZZ_INSN)
            item->end = 0;
        if (k == log->count)
            break;
        sim_room(item, whole, i, (uint64_t) 1 << IPT_EVT_TICK, &log->item[k]);
        if (memcmp(item, &log->item[k], sizeof(*item)))
            break;
        k++;
    }
    if (i < whole->count && whole->item[i].what == FUZZ_SYNC)
        return; /* it had no room for ticks, and now it goes on to an error */
    if ((i < whole->count && !log->cut) || (k < log->count && !whole->cut))
        (void) fuzz_differ(whole, i, log, k);
}

/* Pick how a way is done, and count it. */
static inline void sim_way(fuzz_case *c, int way)
{
    const int all = way == FUZZ_RUN_ALL;

    c->clone = (uint8_t) (2 * draw(20));
    c->cut = (uint8_t) (chance(50) ? 0 : 1 + draw(255));
    c->fuel = (uint8_t) (chance(50) ? 0 : draw(64));
    c->lines = chance(50) ? 64 : 4096;
    c->warm = chance(50);
    c->touched = chance(50) ? any_insn()->ip : ELSEWHERE;
    c->piece = chance(80) ? 0 : 2 + draw(254);
    c->flags = (uint8_t) (c->flags & ~(FUZZ_GROW | FUZZ_FAR | FUZZ_SPACE));
    c->flags |= (uint8_t) ((chance(50) ? FUZZ_GROW : 0)
                           | (chance(30) ? FUZZ_SPACE : 0)
                           | (chance(20) ? FUZZ_FAR : 0));
    if (way == FUZZ_RUN_PIECES)
        reached[c->cut ? REACH_PIECES : REACH_BYTES]++;
    reached[REACH_SPACE_AT] += c->flags & FUZZ_SPACE && c->clone & 2
                               && c->flags & FUZZ_ASID;
    reached[REACH_FREED] += way == FUZZ_RUN_FEED || all;
    if (way == FUZZ_RUN_FUEL || all)
        reached[c->fuel ? REACH_FUEL_N : REACH_FUEL_1]++;
    reached[REACH_CLONE] += way == FUZZ_RUN_CLONE || all;
    reached[REACH_LAZY] += way == FUZZ_RUN_LAZY || all;
    reached[REACH_AGAIN] += way == FUZZ_RUN_AGAIN;
    if (way == FUZZ_RUN_CACHE || all) {
        reached[c->lines == 64 ? REACH_CACHE_TINY : REACH_CACHE_LARGE]++;
        reached[REACH_CACHE_WARM] += c->warm != 0;
        reached[c->touched == ELSEWHERE ? REACH_CACHE_UNRELATED
                                        : REACH_CACHE_RELATED]++;
    }
}

/* If all code is forgotten before every call: what ipt.h wants for a run, with
 * config.section and cs_base for each instruction. */
#define SIM_FORGETS_FUEL (64 + 4 * IPT_RUN_MAX_)

static inline void sim_ways(fuzz_case *c)
{
    unsigned n;

    for (n = 0; n < SIM_LENGTH(sim_layers); n++) {
        const fuzz_layer *layer = sim_layers[n];
        const int way = (int) draw(FUZZ_RUN_COUNT + 1);
        if (!fuzz_useful(layer, way))
            continue;
        sim_way(c, way);
        c->forgets = (way == FUZZ_RUN_CACHE || way == FUZZ_RUN_ALL)
                     && c->lines == 64 && (sim_drawn(c) >> (32 + n)) % 3 == 0;
        reached[REACH_FORGETS] += c->forgets != 0;
        if (c->forgets)
            c->fuel = SIM_FORGETS_FUEL - 1;
        fuzz_reference(layer, c, &fuzz_logs[0]);
        fuzz_way(layer, c, &fuzz_logs[0], way);
    }
}

/* Let the case begin at the packet that the instruction number i of sim_whole
 * is the first to need. Returns 0 if there is none. */
static inline int sim_start(fuzz_case *c, ipt_start *start, size_t i)
{
    const fuzz_item *const item = &sim_whole.item[i];

    if (i == 0 || c->losses || item->what != FUZZ_INSN
        || item[-1].what != FUZZ_INSN || item->offset <= item[-1].offset
        || item->offset >= c->trace_size)
        return 0;
    memset(start, 0, sizeof(*start));
    start->ip = start->last_ip = item->ip;
    start->has = item->ip & 1 ? IPT_START_LAST_IP : 0;
    start->enabled = 1;
    start->mode = c->extra & FUZZ_EXTRA_MODE ? 0 : item->mode;
    c->trace += item->offset;
    c->trace_size -= (size_t) item->offset;
    c->wide |= FUZZ_WIDE_START;
    c->start = start;
    reached[start->mode ? REACH_COV_START : REACH_ASSUMED]++;
    return 1;
}

static inline void sim_cover(fuzz_case *given)
{
    const uint64_t drawn = sim_drawn(given) >> 16;
    fuzz_case from = *given;
    fuzz_case *const c = &from;
    ipt_start start;
    size_t i = (size_t) (drawn >> 2) % (sim_whole.count + 1);
    const unsigned way = draw(FUZZ_RUN_COUNT);
    const unsigned size = draw(16); /* 4 lines at least, 65536 at most */
    const size_t lines = size < 15 ? (size_t) 4 << size : 4;
    const int counts = chance(80);

    sim_way(c, (int) way);
    while (drawn % 4 == 0 && i < sim_whole.count && !sim_start(c, &start, i))
        i++;
    cov_all(c, 1u << way, counts ? 1u << way : 0, lines);
    reached[REACH_INSN_COV]++;
    if (counts)
        reached[lines == 4          ? REACH_MEMO_TINY
                : lines == 1u << 16 ? REACH_MEMO_LARGE
                                    : REACH_MEMO_SOME]++;
}

/* Flags that change what is given. */
static inline uint32_t random_flags(void)
{
    static const uint32_t some[]
        = {IPT_CONFIG_IFLAGS, IPT_CONFIG_STRICT, IPT_CONFIG_WALK_ON,
           IPT_CONFIG_END_ON_CALL, IPT_CONFIG_END_ON_JUMP, IPT_CONFIG_TICKS,
           IPT_CONFIG_KEEP_TCAL, IPT_CONFIG_MONOTONIC,
           IPT_CONFIG_VMX_EVENTS, IPT_CONFIG_NO_TIME,
           IPT_CONFIG_KEEP_CALLS, IPT_CONFIG_NO_TNT};
    static const uint32_t only[] = {IPT_CONFIG_ROOT_ONLY,
                                    IPT_CONFIG_NON_ROOT_ONLY,
                                    IPT_CONFIG_CR3_ONLY};
    uint32_t flags = cpu.flags;
    unsigned i;

    for (i = 0; i < SIM_LENGTH(some); i++)
        if (chance(15))
            flags |= some[i];
    if (chance(25))
        flags |= only[draw(3)];
    return flags;
}

/* Make a trace and check all that must hold of it. */
static inline void sim_all(void)
{
    uint32_t flags;
    fuzz_case c;
    fuzz_case plain;
    fuzz_case no_time;
    unsigned n;

    sim_make(&c);
    if (!sim_changed) {
        if (sim_no_tnt_on)
            c.flags |= FUZZ_RESYNC;
        fuzz_reference(&fuzz_insn, &c, &sim_whole);
        if (sim_no_tnt_on)
            sim_proven(&sim_whole);
        else
            sim_truth(&sim_whole);
    }
    flags = random_flags();
    sim_flags(&c, flags,
              sim_changed && chance(30) ? draw(256) * 2 & IPT_ERRATUM_ALL_
                                        : cpu.errata);
    if (chance(70))
        c.flags |= FUZZ_RESYNC;
    if (fuzz_verbose())
        fprintf(stderr, "flags %x\n", flags);
    fuzz_reference(&fuzz_insn, &c, &sim_whole);
    reached[REACH_RESYNC] += c.flags & FUZZ_RESYNC && sim_whole.errors > 0;
    if (flags & SIM_ONLY && !(flags & IPT_CONFIG_NO_TNT))
        sim_part(&sim_whole, flags);
    fuzz_reference(&fuzz_blk, &c, &fuzz_logs[0]);
    fuzz_gathered(&c, &sim_whole, &fuzz_logs[0]);
    reached[REACH_INSN_BLK]++;
    if (!(flags & IPT_CONFIG_WALK_ON))
        sim_seams(&c, flags);
    plain = c;
    sim_ways(&c);
    sim_cover(&c);
    no_time = plain;
    sim_unwanted(&plain, &fuzz_insn, &sim_whole);
    sim_no_time(&no_time, &fuzz_insn, &sim_whole);
    if (chance(30))
        sim_ways(&plain);
    for (n = 0; n < 2; n++) {
        const fuzz_layer *layer = n ? &fuzz_qry : &fuzz_evt;
        plain.unwanted = 0;
        fuzz_reference(layer, &plain, &fuzz_logs[0]);
        sim_unwanted(&plain, layer, &fuzz_logs[0]);
        plain.unwanted = 0;
        sim_no_time(&plain, layer, &fuzz_logs[0]);
        plain.high = c.high;
    }
}

#endif /* IPT_TESTS_ORACLES_H */
