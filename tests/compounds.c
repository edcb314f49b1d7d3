/* compounds.c: what processors say with several packets. Between any two of
 * them a packet may stand that binds to nothing; events and flow are the same.
 *
 * The judge is a decoder of its own, slow and plain, from the SDM's table of
 * compound packets and its pages on each packet: for each packet it looks for
 * the one that completes it. Events come when they are complete; those that one
 * packet completes, in the order of the packets that began them. */
#include "linked.h"
#include "build.h"
#include "dice.h"
#include "range.h"
#include "flow.h"

/* ---- what processors say ---- */

#define AT 0x1000 /* the instruction concerned; elsewhere JCCs to the next */
#define TO 0x2000 /* stands for an address at random where flow goes on */
#define CR3 0     /* stands for an address space at random */
#define PAGE 0xf00

typedef struct compound {
    const char *name;
    const char *code; /* at AT */
    uint8_t size;     /* of the instruction, if it executes */
    uint8_t bits;     /* branches that have a bit after it */
    ipt_packet packets[10];
} compound;

#define AWAY PGD(0x9000), PGE(TO)
#define SYNC(name, code, ...) {name, code, sizeof(code) - 1, 0, {__VA_ARGS__}}
#define ASYNC(name, ...) {name, JCC0, 0, 0, {__VA_ARGS__}}

static const compound compounds[] = {
    SYNC("VM entry", VMLAUNCH, PIP(CR3, 1), TIP(TO)),
    SYNC("VM entry", VMLAUNCH, VMCS(CR3), PIP(CR3, 1), TIP(TO)),
    SYNC("VM entry", VMLAUNCH, PIP(CR3, 1), VMCS(CR3), TIP(TO)),
    SYNC("VM entry", VMLAUNCH, PIP(CR3, 1), EXEC32, TIP(TO)),
    SYNC("VM entry", VMLAUNCH, CFE(VMENTRY, 0, 0), PIP(CR3, 1), TIP(TO)),
    SYNC("VM entry", VMLAUNCH, CFE(VMENTRY, 1, 0), FUP(AT), PIP(CR3, 1),
         EXEC32, TIP(TO)),
    SYNC("VM entry", VMLAUNCH, VMCS(CR3), PIP(CR3, 1), AWAY),
    ASYNC("VM exit", FUP(AT), PIP(CR3, 0), TIP(TO)),
    ASYNC("VM exit", FUP(AT), VMCS(CR3), PIP(CR3, 0), EXEC32, TIP(TO)),
    ASYNC("VM exit", FUP(AT), PIP(CR3, 0), VMCS(CR3), TIP(TO)),
    ASYNC("VM exit", EVD(IPT_EVD_VMXQ, 7), EVD(IPT_EVD_VMXR, 8),
          CFE(VMEXIT, 0, 0), FUP(AT), PIP(CR3, 0), TIP(TO)),
    ASYNC("VM exit", CFE(VMEXIT_INTR, 0, 9), FUP(AT), PIP(CR3, 0), AWAY),
    SYNC("IRET", IRETQ, CFE(IRET, 0, 0), TIP(TO)),
    SYNC("IRET", IRETQ, CFE(IRET, 1, 0), FUP(AT), TIP(TO)),
    SYNC("IRET", IRETQ, CFE(IRET, 0, 0), PIP(CR3, 0), EXEC32, TIP(TO)),
    SYNC("IRET", IRETQ, EXEC32, AWAY),
    SYNC("SYSCALL", SYSCALL, CFE(SYSCALL, 0, 0), TIP(TO)),
    SYNC("SYSCALL", SYSCALL, CFE(SYSCALL, 1, 0), FUP(AT), TIP(TO)),
    SYNC("INT n", INT80, CFE(SWINTR, 1, 0x80), FUP(AT), TIP(TO)),
    SYNC("far branch", FAR_JMP, EXEC32, TIP(TO)),
    SYNC("UIRET", UIRET, CFE(UIRET, 0, 0), TIP(TO)),
    ASYNC("interrupt", FUP(AT), TIP(TO)),
    ASYNC("interrupt", FUP(AT), EXEC32, TIP(TO)),
    ASYNC("interrupt", FUP(AT), PIP(CR3, 0), EXEC32, TIP(TO)),
    ASYNC("interrupt", CFE(INTR, 0, 3), FUP(AT), TIP(TO)),
    ASYNC("interrupt", FUP(AT), AWAY),
    ASYNC("user interrupt", CFE(UINTR, 0, 3), FUP(AT), TIP(TO)),
    ASYNC("SMI", CFE(SMI, 0, 0), FUP(AT), EXEC16, AWAY),
    ASYNC("exception", EVD(IPT_EVD_CR2, 5), CFE(INTR, 0, 14), FUP(AT), TIP(TO)),
    SYNC("MOV CR3", MOV_CR3, PGD0, PIP(CR3, 0), PGE(TO)),
    SYNC("MOV CR3", MOV_CR3, PGD0, PIP(CR3, 0), EXEC32, PGE(TO)),
    ASYNC("TSX", TSX(1, 0), FUP(AT)),
    ASYNC("TSX", TSX(0, 0), FUP(AT)),
    ASYNC("TSX", TSX(0, 1), FUP(AT), TIP(TO)),
    ASYNC("TSX", TSX(0, 1), FUP(AT), AWAY),
    SYNC("PTWRITE", PTWRITE, PTW(1, 1, 77), FUP(AT)),
    ASYNC("EXSTOP", EXSTOP(1), FUP(AT)),
    ASYNC("EXSTOP", MWAIT(1, 2), EXSTOP(1), FUP(AT)),
    ASYNC("EXSTOP", MWAIT(1, 2), PWRE(3, 4, 0), EXSTOP(1), FUP(AT),
          PWRX(1, 2, 1, 0, 0)),
    ASYNC("PEBS", BEP(1), FUP(AT)),
    ASYNC("trigger", TRIG(3, 1, 1, 0, 0), FUP(AT)),
    {"deferred TIP", JMP_RAX, 2, 1, {TNT(1, 1), TIP(TO)}},
    {"deferred TIP", JMP_RAX, 2, 3, {TNT(3, 2), TIP(TO)}},
    ASYNC("PSB+", PSB, EXEC64, PIP(CR3, 0), VMCS(CR3), FUP(AT), PSBEND),
    ASYNC("PSB+", PSB, CBR(30), EXEC64, TSX(0, 0), FUP(AT), PSBEND),
    ASYNC("OVF", OVF, FUP(TO)),
    ASYNC("OVF", OVF, PGE(TO)),
    ASYNC("OVF", OVF, EXEC32, PGE(TO)),
    ASYNC("OVF", OVF, PSB, EXEC64, FUP(TO), PSBEND),
    ASYNC("OVF", FUP(AT), OVF, FUP(TO)),
    ASYNC("OVF", CFE(INTR, 0, 3), FUP(AT), PIP(CR3, 0), VMCS(CR3), OVF,
          PGE(TO)),
    ASYNC("OVF", TSX(0, 1), FUP(AT), EXEC32, OVF, EXEC32, PGE(TO)),
};

/* The packets that bind to nothing. A TMA comes with its TSC. */
static const ipt_packet strangers[]
    = {CBR(77), MNT(0x5a5a), PWRX(9, 8, 0, 1, 0), MTC(3),
       CYC(9),  TSC(1000),   TMA(4, 5),           PADS(3)};

/* Between a PWRE and its PWRX no other PWRX can stand. SDM, "Power Exit (PWRX)
 * Packet": it is sent when the thread is back from the C-state that the PWRE
 * began. Returns 1 if `type` cannot stand before packet `at`. */
static int impossible(const compound *c, unsigned at, uint8_t type)
{
    int asleep = 0;

    for (unsigned i = 0; i < at; i++)
        asleep |= c->packets[i].type == IPT_PKT_PWRE;
    return asleep && type == IPT_PKT_PWRX;
}

/* ---- a trace ---- */

#define NO_PACKET 40
#define EVENTS_MAX 40

static ipt_packet packets[NO_PACKET];
static unsigned packet_count;
static uint64_t to; /* what TO stands for */
static build b;

static void say(ipt_packet p)
{
    const uint64_t page = (uint64_t) dice(1 << 20) << 12;

    if (p.type >= IPT_PKT_TIP && p.type <= IPT_PKT_FUP
        && p.u.ip.payload == TO)
        p.u.ip.payload = to;
    if (p.type >= IPT_PKT_TIP && p.type <= IPT_PKT_FUP && p.u.ip.ipc
        && dice(2))
        p.u.ip.ipc = 3;
    if (p.type == IPT_PKT_PIP)
        p.u.pip.cr3 = page;
    if (p.type == IPT_PKT_VMCS)
        p.u.vmcs.base = page;
    packets[packet_count++] = p;
}

/* The compound, with the stranger before its packet `at`; 0: without. */
static void make(const compound *c, unsigned at, unsigned stranger)
{
    static const ipt_packet begin[]
        = {PSB, EXEC64, PIP(CR3, 0), FUP(AT), PSBEND, PKT(NONE)};
    static const ipt_packet tsc = TSC(500);
    static const ipt_packet end = TNT(1, 1);

    packet_count = 0;
    to = TO + 2 * dice(PAGE / 2);
    for (unsigned i = 0; begin[i].type; i++)
        say(begin[i]);
    for (unsigned i = 0; c->packets[i].type; i++) {
        if (i && i == at && strangers[stranger].type == IPT_PKT_TMA)
            say(tsc);
        if (i && i == at)
            say(strangers[stranger]);
        say(c->packets[i]);
    }
    say(end); /* of the JCC where flow is then */
    build_all(&b, packets, packet_count);
}

/* ---- the judge ---- */

typedef struct found {
    ipt_event e;
    unsigned done;  /* the packet that completes it */
    unsigned order; /* among those that it completes */
} found;

static found judged[EVENTS_MAX];
static unsigned judged_count;

#define SET(t) ((uint64_t) 1 << IPT_PKT_##t)
#define SENT_TIP (SET(TIP) | SET(TIP_PGE) | SET(TIP_PGD))
#define ENDS (SENT_TIP | SET(OVF)) /* of what the FUP of a branch begins */

/* The next packet of these types from `from` on; NO_PACKET: there is none. */
static unsigned next_of(unsigned from, uint64_t types)
{
    while (from < packet_count && !(types >> packets[from].type & 1))
        from++;
    return from < packet_count ? from : NO_PACKET;
}

/* Does the packet have a FUP of its own, which is not a source of a branch? */
static int has_fup(const ipt_packet *p)
{
    return (p->type == IPT_PKT_PTW && p->u.ptw.has_ip)
           || (p->type == IPT_PKT_EXSTOP && p->u.exstop.has_ip)
           || (p->type == IPT_PKT_BEP && p->u.bep.has_ip)
           || (p->type == IPT_PKT_TRIG && p->u.trig.has_ip)
           || (p->type == IPT_PKT_CFE && p->u.cfe.has_ip)
           || (p->type == IPT_PKT_MODE_TSX && !p->u.tsx.abrt);
}

/* The PSB whose PSB+ has packet i; NO_PACKET: none. */
static unsigned psb_of(unsigned i)
{
    const unsigned end = next_of(i, SET(PSBEND));
    unsigned k = i + 1;

    while (end < NO_PACKET && k-- > 0)
        if (packets[k].type == IPT_PKT_PSB)
            return next_of(k, SET(PSBEND)) == end ? k : NO_PACKET;
    return NO_PACKET;
}

/* What packets that bind to nothing wait for: the end of a PSB+ that they are
 * in, or what says where an OVF left off. */
static unsigned loose(unsigned i)
{
    const uint64_t on = SENT_TIP | SET(FUP) | SET(MODE_EXEC) | SET(PSB);
    unsigned k = i + 1;

    if (psb_of(i) < NO_PACKET)
        return next_of(i, SET(PSBEND));
    while (k-- > 0)
        if (packets[k].type == IPT_PKT_OVF && next_of(k, on) > i) {
            k = next_of(k, on);
            return packets[k].type == IPT_PKT_PSB ? next_of(k, SET(PSBEND))
                                                  : k;
        }
    return i;
}

/* Is FUP number i the source of a branch? Not that of another packet, of a PSB+
 * or of an OVF. */
static int is_source(unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if ((has_fup(&packets[k]) && next_of(k, SET(FUP)) == i)
            || (packets[k].type == IPT_PKT_OVF && loose(k) == i))
            return 0;
    return psb_of(i) == NO_PACKET;
}

/* Is packet i between the source of a branch and its TIP? */
static int in_branch(unsigned i)
{
    unsigned k = i;

    while (k-- > 0)
        if ((ENDS | SET(PSBEND)) >> packets[k].type & 1)
            return 0;
        else if (packets[k].type == IPT_PKT_FUP && is_source(k))
            return 1;
    return 0;
}

static uint8_t mode_of(const ipt_packet *p)
{
    return p->u.exec.csl   ? IPT_MODE_64
           : p->u.exec.csd ? IPT_MODE_32
                           : IPT_MODE_16;
}

/* The mode that was said last before packet i; 0: none since an OVF. */
static uint8_t mode_before(unsigned i)
{
    while (i-- > 0)
        if (packets[i].type == IPT_PKT_MODE_EXEC)
            return mode_of(&packets[i]);
        else if (packets[i].type == IPT_PKT_OVF)
            return 0;
    return 0;
}

static found *find(unsigned i, unsigned done, unsigned order, uint8_t type)
{
    found *f = &judged[judged_count++];

    memset(f, 0, sizeof *f);
    f->e.offset = b.offset[i];
    f->e.type = type;
    f->done = done;
    f->order = order;
    return f;
}

/* Packet `done` gives event f its IP, if it has one. */
static void place_at(found *f, unsigned done)
{
    if (done < NO_PACKET && packets[done].u.ip.ipc
        && packets[done].type != IPT_PKT_TIP_PGD)
        f->e.ip = packets[done].u.ip.payload;
    else
        f->e.flags |= IPT_EVENT_NO_IP;
}

/* What packet i of the PSB+ from `psb` on repeats. */
static found *judge_state(unsigned i, unsigned psb)
{
    const ipt_packet *p = &packets[i];
    const unsigned end = next_of(i, SET(PSBEND));
    found *f = NULL;

    switch (p->type) {
    case IPT_PKT_PSB: f = find(end, end, i, IPT_EVT_ENABLED); break;
    case IPT_PKT_MODE_EXEC: f = find(i, end, i, IPT_EVT_EXEC_MODE); break;
    case IPT_PKT_PIP: f = find(i, end, i, IPT_EVT_ASYNC_PAGING); break;
    case IPT_PKT_VMCS: f = find(i, end, i, IPT_EVT_ASYNC_VMCS); break;
    case IPT_PKT_MODE_TSX: f = find(i, end, i, IPT_EVT_TSX); break;
    default: return NULL;
    }
    f->e.flags = IPT_EVENT_STATUS;
    place_at(f, next_of(psb, SET(FUP)));
    return f;
}

/* What a change of the address space belongs to. A VMCS goes before the paging
 * that it brings. */
static found *judge_space(unsigned i, uint8_t type, uint8_t async)
{
    const unsigned done = next_of(i, ENDS);
    unsigned order = i;
    found *f;

    if (!in_branch(i)) {
        f = find(i, loose(i), i, type);
        f->e.flags = IPT_EVENT_NO_IP;
        return f;
    }
    while (async == IPT_EVT_ASYNC_VMCS && packets[order].type != IPT_PKT_FUP)
        order--;
    f = find(i, done, order, async);
    place_at(f, done);
    return f;
}

static found *judge_cfe(unsigned i)
{
    const uint8_t type = packets[i].u.cfe.type;
    const int branch = type == IPT_CFE_INTR || type == IPT_CFE_SMI
                       || type == IPT_CFE_UINTR || type == IPT_CFE_VMEXIT
                       || type == IPT_CFE_VMEXIT_INTR;
    const int vector = type == IPT_CFE_INTR || type == IPT_CFE_VMEXIT_INTR
                       || type == IPT_CFE_UINTR || type == IPT_CFE_SWINTR;
    const int fup = packets[i].u.cfe.has_ip || branch;
    const unsigned done = fup ? next_of(i, SET(FUP)) : loose(i);
    unsigned first = i; /* of its EVDs */
    found *f;
    uint8_t has = vector ? IPT_CFE_HAS_VECTOR : 0;
    unsigned k = i;

    while (k-- > 0 && packets[k].type != IPT_PKT_PSBEND)
        if (packets[k].type == IPT_PKT_EVD)
            first = k;
    f = find(first, done, first, IPT_EVT_CFE);
    for (k = first; k < i; k++)
        if (packets[k].type == IPT_PKT_EVD) {
            const uint8_t what = packets[k].u.evd.type;
            f->e.u.cfe.data[what == IPT_EVD_VMXR] = packets[k].u.evd.payload;
            has |= what == IPT_EVD_CR2    ? IPT_CFE_HAS_CR2
                   : what == IPT_EVD_VMXQ ? IPT_CFE_HAS_VMXQ
                                          : IPT_CFE_HAS_VMXR;
        }
    f->e.u.cfe.type = type;
    f->e.u.cfe.has = has;
    f->e.u.cfe.vector = packets[i].u.cfe.vector;
    if (fup)
        place_at(f, done);
    else
        f->e.flags = IPT_EVENT_NO_IP;
    return f;
}

/* A packet with an IP, outside of a PSB+. SDM, "Flow Update (FUP) Packet": it
 * says where flow was when the event came. If its TIP is among what an OVF
 * lost, flow left there what is traced. */
static found *judge_ip(unsigned i)
{
    const ipt_packet *p = &packets[i];
    const unsigned done = next_of(i, ENDS);
    found *f = NULL;

    switch (p->type) {
    case IPT_PKT_FUP:
        if (!is_source(i) || done == NO_PACKET)
            return NULL;
        f = find(i, done, i, packets[done].type == IPT_PKT_TIP
                                 ? IPT_EVT_ASYNC_BRANCH
                                 : IPT_EVT_ASYNC_DISABLED);
        f->e.ip = p->u.ip.payload;
        f->e.u.branch.to = packets[done].u.ip.payload;
        if (!packets[done].u.ip.ipc)
            f->e.flags = IPT_EVENT_NO_TO;
        return f;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
        if (in_branch(i))
            return NULL;
        f = find(i, i, i,
                 p->type == IPT_PKT_TIP ? IPT_EVT_TIP : IPT_EVT_ENABLED);
        place_at(f, i);
        return f;
    default:
        if (in_branch(i))
            return NULL;
        f = find(i, i, i, IPT_EVT_DISABLED);
        f->e.flags = IPT_EVENT_NO_IP | (p->u.ip.ipc ? 0 : IPT_EVENT_NO_TO);
        f->e.u.branch.to = p->u.ip.payload;
        return f;
    }
}

/* Where an overflow leaves off: at a FUP, its own or that of a PSB+, or tracing
 * is disabled. What came between is before it. */
static found *judge_overflow(unsigned i)
{
    const unsigned done = loose(i);
    const int fup = packets[done].type == IPT_PKT_FUP;
    const int psb = packets[done].type == IPT_PKT_PSBEND;
    found *f = find(i, done, fup ? done : i, IPT_EVT_OVERFLOW);

    if (psb)
        place_at(f, next_of(i, SET(FUP)));
    else if (fup)
        place_at(f, done);
    else
        f->e.flags = IPT_EVENT_NO_IP;
    return f;
}

static found *judge_packet(unsigned i)
{
    const ipt_packet *p = &packets[i];
    const unsigned psb = psb_of(i);
    const uint8_t before = mode_before(i);
    unsigned done = has_fup(p) ? next_of(i, SET(FUP)) : loose(i);
    found *f = NULL;

    if (psb < NO_PACKET && (f = judge_state(i, psb)) != NULL)
        return f;
    if (psb < NO_PACKET && (SET(FUP) | SET(PSBEND)) >> p->type & 1)
        return NULL;
    switch (p->type) {
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP: return judge_ip(i);
    case IPT_PKT_PIP:
        return judge_space(i, IPT_EVT_PAGING, IPT_EVT_ASYNC_PAGING);
    case IPT_PKT_VMCS:
        return judge_space(i, IPT_EVT_VMCS, IPT_EVT_ASYNC_VMCS);
    case IPT_PKT_CFE: return judge_cfe(i);
    case IPT_PKT_OVF: return judge_overflow(i);
    case IPT_PKT_TNT_8: f = find(i, i, i, IPT_EVT_TNT); break;
    case IPT_PKT_MODE_EXEC:
        if (before == mode_of(p))
            return NULL;
        done = next_of(i, ENDS); /* a TIP's event goes before the mode */
        f = find(i, done,
                 !in_branch(i) && next_of(i, SET(TIP) | SET(TIP_PGE)) == done
                     ? done + 1 : i, IPT_EVT_EXEC_MODE);
        place_at(f, done);
        return f;
    case IPT_PKT_MODE_TSX:
        done = next_of(i, SET(FUP));
        f = find(i, done, i, IPT_EVT_TSX);
        place_at(f, done);
        return f;
    case IPT_PKT_MWAIT:
        done = next_of(i, SET(EXSTOP));
        done = next_of(done, SET(FUP));
        f = find(i, done, i, IPT_EVT_MWAIT);
        place_at(f, done);
        return f;
    case IPT_PKT_PWRE:
        f = find(i, next_of(i, SET(PWRX)), i, IPT_EVT_PWRE);
        f->e.flags = IPT_EVENT_NO_IP;
        return f;
    case IPT_PKT_CBR: f = find(i, done, i, IPT_EVT_CBR); break;
    case IPT_PKT_MNT: f = find(i, done, i, IPT_EVT_MNT); break;
    case IPT_PKT_PWRX: f = find(i, done, i, IPT_EVT_PWRX); break;
    case IPT_PKT_PTW: f = find(i, done, i, IPT_EVT_PTWRITE); break;
    case IPT_PKT_EXSTOP: f = find(i, done, i, IPT_EVT_EXSTOP); break;
    case IPT_PKT_BEP: f = find(i, done, i, IPT_EVT_PEBS_END); break;
    case IPT_PKT_TRIG: f = find(i, done, i, IPT_EVT_TRIG); break;
    default: return NULL;
    }
    if (has_fup(p))
        place_at(f, done);
    else
        f->e.flags = IPT_EVENT_NO_IP;
    if (p->type == IPT_PKT_CBR && psb < NO_PACKET)
        f->e.flags |= IPT_EVENT_STATUS;
    return f;
}

/* The payload of the event that packet p makes. */
static void judge_payload(ipt_event *e, const ipt_packet *p)
{
    switch (e->type) {
    case IPT_EVT_TNT:
        e->u.tnt.bits = p->u.tnt.bits;
        e->u.tnt.count = p->u.tnt.count;
        break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        e->u.paging.cr3 = p->u.pip.cr3;
        e->u.paging.nr = p->u.pip.nr;
        break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: e->u.vmcs.base = p->u.vmcs.base; break;
    case IPT_EVT_EXEC_MODE: e->u.exec.mode = mode_of(p); break;
    case IPT_EVT_TSX:
        e->u.tsx.speculative = p->u.tsx.intx;
        e->u.tsx.aborted = p->u.tsx.abrt;
        break;
    case IPT_EVT_PTWRITE:
        e->u.ptwrite.payload = p->u.ptw.payload;
        e->u.ptwrite.size = p->u.ptw.plc ? 8 : 4;
        break;
    case IPT_EVT_MWAIT:
        e->u.mwait.hints = p->u.mwait.hints;
        e->u.mwait.ext = p->u.mwait.ext;
        break;
    case IPT_EVT_PWRE:
        e->u.pwre.state = p->u.pwre.state;
        e->u.pwre.sub_state = p->u.pwre.sub_state;
        break;
    case IPT_EVT_PWRX:
        e->u.pwrx.last = p->u.pwrx.last;
        e->u.pwrx.deepest = p->u.pwrx.deepest;
        e->u.pwrx.interrupt = p->u.pwrx.interrupt;
        e->u.pwrx.store = p->u.pwrx.store;
        break;
    case IPT_EVT_CBR: e->u.cbr.ratio = p->u.cbr.ratio; break;
    case IPT_EVT_MNT: e->u.mnt.payload = p->u.mnt.payload; break;
    case IPT_EVT_TRIG:
        e->u.trig.trbv = p->u.trig.trbv;
        e->u.trig.icntv = p->u.trig.icntv;
        break;
    default: break;
    }
}

static void judge(void)
{
    judged_count = 0;
    for (unsigned i = 0; i < packet_count; i++) {
        found *f = judge_packet(i);
        unsigned k = judged_count;
        found last;
        if (!f)
            continue;
        judge_payload(&f->e, &packets[i]);
        last = *f;
        while (--k > 0 && (judged[k - 1].done > last.done
                           || (judged[k - 1].done == last.done
                               && judged[k - 1].order > last.order)))
            judged[k] = judged[k - 1];
        judged[k] = last;
    }
}

/* ---- what ipt makes of it ---- */

static uint8_t code[16];
static ipt_config config;
static ipt_trace trace;
static ipt_segment piece;
static ipt_event given[EVENTS_MAX];
static unsigned given_count;
static uint64_t ips[EVENTS_MAX];
static unsigned ip_count;

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    static uint8_t jccs[PAGE + 16];

    (void) asid;
    (void) context;
    for (unsigned i = 0; i < sizeof jccs; i += 2)
        jccs[i] = 0x75;
    return ip < TO ? range_read(buffer, size, ip, AT, code, sizeof code)
                   : range_read(buffer, size, ip, TO, jccs, sizeof jccs);
}

/* What event_word() leaves out. */
static uint64_t event_rest(const ipt_event *e)
{
    switch (e->type) {
    case IPT_EVT_TNT: return e->u.tnt.bits << 8 | e->u.tnt.count;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING: return e->u.paging.nr;
    case IPT_EVT_PTWRITE: return e->u.ptwrite.size;
    case IPT_EVT_MWAIT: return e->u.mwait.ext;
    case IPT_EVT_PWRE: return e->u.pwre.sub_state;
    case IPT_EVT_PWRX:
        return (uint64_t) (e->u.pwrx.deepest << 8 | e->u.pwrx.store << 1
                           | e->u.pwrx.interrupt);
    case IPT_EVT_CFE:
        return e->u.cfe.data[0] << 32 | e->u.cfe.data[1] << 16
               | (uint64_t) (e->u.cfe.has << 8 | e->u.cfe.vector);
    default: return 0;
    }
}

static int same_event(const ipt_event *a, const ipt_event *w)
{
    const unsigned not_said
        = IPT_EVENT_TSC | IPT_EVENT_SEAM | IPT_EVENT_RESUMED;

    return a->type == w->type && a->ip == w->ip && a->offset == w->offset
           && (a->flags & ~not_said) == w->flags
           && event_word(a) == event_word(w)
           && event_rest(a) == event_rest(w);
}

static void show(const char *who, const ipt_event *e)
{
    printf("    %s %s offset %llx ip %llx flags %x word %llx\n", who,
           ipt_evt_name(e->type), (unsigned long long) e->offset,
           (unsigned long long) e->ip, e->flags,
           (unsigned long long) event_word(e));
}

static int is_stranger(const ipt_event *e)
{
    return e->type == IPT_EVT_CBR || e->type == IPT_EVT_MNT
           || (e->type == IPT_EVT_PWRX && e->u.pwrx.last == 9);
}

enum { ALL, BOUND, LOOSE }; /* which events to compare */

/* With instructions, what bound events and strangers have between them depends
 * on where flow is; those of the branches are used up. */
static int is_of(const ipt_event *e, int which)
{
    if (which == ALL)
        return 1;
    return (which == LOOSE) == is_stranger(e) && e->type != IPT_EVT_TIP
           && e->type != IPT_EVT_TNT;
}

static int compare(const char *layer, int which)
{
    unsigned i = 0;
    unsigned k = 0;

    for (;; i++, k++) {
        while (i < given_count && !is_of(&given[i], which))
            i++;
        while (k < judged_count && !is_of(&judged[k].e, which))
            k++;
        if (i == given_count && k == judged_count)
            return 1;
        if (i == given_count || k == judged_count
            || !same_event(&given[i], &judged[k].e))
            break;
    }
    printf("  %s, event %u:\n", layer, i);
    for (i = 0; i < judged_count; i++)
        show("judge", &judged[i].e);
    for (i = 0; i < given_count; i++)
        show("ipt  ", &given[i]);
    return 0;
}

/* Decode the events. Returns the status at the end. */
static int give_events(void)
{
    static ipt_evt_decoder evt;
    int status = ipt_evt_init(&evt, &config, &trace);

    given_count = 0;
    if (status >= 0)
        status = ipt_evt_sync_forward(&evt);
    while (status >= 0 && given_count < EVENTS_MAX) {
        status = ipt_evt_next(&evt, &given[given_count]);
        given_count += status >= 0;
    }
    return status;
}

static int give_flow(void)
{
    static ipt_insn_decoder decoder;
    int status = ipt_insn_init(&decoder, &config, &trace, NULL);
    ipt_insn insn;

    given_count = ip_count = 0;
    if (status >= 0)
        status = ipt_insn_sync_forward(&decoder);
    while ((status >= 0 || status == IPT_EVENT_FIRST)
           && given_count < EVENTS_MAX && ip_count < EVENTS_MAX) {
        if (status == IPT_EVENT_FIRST || status & IPT_EVENT_PENDING) {
            status = ipt_insn_event(&decoder, &given[given_count]);
            given_count += status >= 0;
        } else {
            status = ipt_insn_next(&decoder, &insn);
            if (status >= 0)
                ips[ip_count++] = insn.ip;
        }
    }
    return status;
}

/* Are the instructions those that the compound is about? */
static int same_flow(const compound *c)
{
    unsigned n = 0;
    uint64_t at = AT;

    if (c->size && ips[n++] != AT)
        return 0;
    at += c->size;
    for (unsigned i = 0; c->packets[i].type; i++)
        if ((SENT_TIP | SET(FUP)) >> c->packets[i].type & 1
            && c->packets[i].u.ip.payload == TO)
            at = to;
    for (unsigned i = 0; i <= c->bits; i++, at += 2)
        if (n >= ip_count || ips[n++] != at)
            return 0;
    return n == ip_count;
}

static int try_once(const compound *c, unsigned at, unsigned stranger)
{
    int status;

    for (unsigned i = c->size; i + 1 < sizeof code; i += 2)
        memcpy(code + i, JCC0, 2);
    memcpy(code, c->code, c->size);
    make(c, at, stranger);
    piece.data = b.bytes;
    piece.size = b.size;
    judge();
    status = give_events();
    if (status != IPT_END || !compare("events", ALL)) {
        printf("  events end with %s\n", ipt_status_name(status));
        return 0;
    }
    status = give_flow();
    if (status == IPT_END && compare("flow", BOUND) && compare("flow", LOOSE)
        && same_flow(c))
        return 1;
    printf("  flow ends with %s after %u instructions\n",
           ipt_status_name(status), ip_count);
    return 0;
}

TEST(each_boundary)
{
    const char *count = getenv("TEST_COUNT");
    const unsigned times = count ? (unsigned) strtoul(count, NULL, 0) : 200;
    unsigned boundaries = 0;
    unsigned never = 0;

    config.read = read_code;
    trace.seg = &piece;
    trace.count = 1;
    for (unsigned i = 0; i < LENGTH(compounds); i++) {
        const compound *c = &compounds[i];
        unsigned n = 0;
        CHECK(try_once(c, 0, 0));
        for (n = 1; c->packets[n].type; n++) {
            boundaries++;
            for (unsigned s = 0; s < LENGTH(strangers); s++) {
                unsigned left = times;
                if (impossible(c, n, strangers[s].type)) {
                    printf("%s: no %s before packet %u, %s\n", c->name,
                           ipt_pkt_name(strangers[s].type), n,
                           ipt_pkt_name(c->packets[n].type));
                    never++;
                    continue;
                }
                while (left && try_once(c, n, s))
                    left--;
                if (CHECK_EQ(left, 0))
                    continue;
                printf("  %s, row %u: %s before packet %u, %s\n", c->name, i,
                       ipt_pkt_name(strangers[s].type), n,
                       ipt_pkt_name(c->packets[n].type));
            }
        }
    }
    printf("%u compounds, %u boundaries, %u packets at each, %u times; %u of"
           " these cannot be\n", (unsigned) LENGTH(compounds), boundaries,
           (unsigned) LENGTH(strangers), times, never);
}

int main(void)
{
    RUN(each_boundary);
    return test_report();
}
