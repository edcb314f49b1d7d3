/* simulate.c: random programs on a model of a processor that traces. It writes
 * the trace as the SDM says, packet by packet, and the list of what it did;
 * the decoders must give that list, in every manner. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "decode.h"

static uint64_t seed;

static unsigned dice(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (seed >> 33) % n;
}

static int chance(unsigned percent)
{
    return dice(100) < percent;
}

/* ---- programs ---- */

#define INSNS_MAX 70

typedef struct insn {
    uint8_t kind;
    uint8_t size;
    uint64_t ip;
    uint64_t target; /* of direct branches */
} insn;

#define M32 1
#define M64 2
#define BOTH 3

static const struct {
    uint8_t kind;
    uint8_t size;
    uint8_t modes;
    uint8_t fixed; /* bytes that are written here; the others aim() writes */
    const char *bytes;
    unsigned weight;
} forms[] = {{IPT_INSN_JMP, 5, BOTH, 1, "\xe9", 3}, /* the last one, too */
             {IPT_INSN_OTHER, 1, BOTH, 1, NOP, 14},
             {IPT_INSN_OTHER, 3, BOTH, 3, "\x0f\x1f\x00", 4},
             {IPT_INSN_OTHER, 4, M64, 4, "\x48\x89\x04\x24", 4},
             {IPT_INSN_OTHER, 7, M64, 7, "\x48\x8d\x05\0\0\0\0", 2},
             {IPT_INSN_OTHER, 1, M32, 1, "\x48", 4}, /* dec eax */
             {IPT_INSN_XBEGIN, 6, BOTH, 6, "\xc7\xf8\0\0\0\0", 2},
             {IPT_INSN_JCC, 2, BOTH, 1, "\x74", 14},
             {IPT_INSN_JCC, 6, BOTH, 2, "\x0f\x84", 6},
             {IPT_INSN_JMP, 2, BOTH, 1, "\xeb", 4},
             {IPT_INSN_CALL, 5, BOTH, 1, "\xe8", 10},
             {IPT_INSN_RET, 1, BOTH, 1, RET, 12},
             {IPT_INSN_RET, 3, BOTH, 3, "\xc2\x08\x00", 2},
             {IPT_INSN_JMP_INDIRECT, 2, BOTH, 2, JMP_RAX, 4},
             {IPT_INSN_CALL_INDIRECT, 2, BOTH, 2, CALL_RAX, 5},
             {IPT_INSN_JMPABS, 11, M64, 11, "\xd5\0\xa1\0\0\0\0\0\0\0\0", 1},
             {IPT_INSN_SYSCALL, 2, BOTH, 2, SYSCALL, 2},
             {IPT_INSN_IRET, 2, M64, 2, IRETQ, 2},
             {IPT_INSN_IRET, 1, M32, 1, "\xcf", 2},
             {IPT_INSN_INT, 2, BOTH, 2, INT80, 2},
             {IPT_INSN_FAR_JMP, 2, BOTH, 2, FAR_JMP, 1},
             {IPT_INSN_FAR_CALL, 2, BOTH, 2, FAR_CALL, 1},
             {IPT_INSN_FAR_RET, 1, BOTH, 1, "\xcb", 1},
             {IPT_INSN_VMCALL, 3, BOTH, 3, "\x0f\x01\xc1", 1},
             {IPT_INSN_VMENTRY, 3, BOTH, 3, VMLAUNCH, 2},
             {IPT_INSN_UIRET, 4, M64, 4, UIRET, 1},
             {IPT_INSN_MOV_CR3, 3, BOTH, 3, MOV_CR3, 3},
             {IPT_INSN_VMPTRLD, 3, BOTH, 3, VMPTRLD, 2},
             {IPT_INSN_PTWRITE, 5, M64, 5, PTWRITE, 3},
             {IPT_INSN_PTWRITE, 4, M32, 4, "\xf3\x0f\xae\xe0", 3}};

static insn insns[INSNS_MAX];
static unsigned insn_count;
static char code_bytes[INSNS_MAX * 11];
static chunk codes[CODES_MAX];

static uint8_t mode; /* of the program */

static uint64_t wrap(uint64_t ip)
{
    return mode == IPT_MODE_32 ? (uint32_t) ip : ip;
}

static uint64_t any_ip(void)
{
    return insns[dice(insn_count)].ip;
}

/* A target that the displacement of this instruction reaches. */
static void aim(insn *x, char *bytes)
{
    const unsigned width = x->size == 2 ? 1 : 4;
    uint64_t rel;
    do {
        x->target = any_ip();
        rel = wrap(x->target - (x->ip + x->size) + 128) - 128;
    } while (width == 1 && rel + 128 > 255);
    for (unsigned i = 0; i < width; i++)
        bytes[x->size - width + i] = (char) (rel >> (8 * i));
}

/* A form that the mode has, by weight. */
static unsigned random_form(void)
{
    const uint8_t bit = mode == IPT_MODE_32 ? M32 : M64;
    unsigned k;
    do
        k = dice(LENGTH(forms));
    while (!(forms[k].modes & bit) || dice(14) >= forms[k].weight);
    return k;
}

static void random_program(void)
{
    static const uint64_t bases[] = {0x1000, 0x1f80, 0xffffffff81000fc0,
                                     0x7fffffffefa0, 0xffffff90};
    uint64_t ip = bases[dice(LENGTH(bases))];
    size_t size = 0;
    mode = IPT_MODE_64;
    if (ip <= 0xffffffff && chance(50)) mode = IPT_MODE_32;
    insn_count = 10 + dice(INSNS_MAX - 11);
    for (unsigned i = 0; i < insn_count; i++) {
        /* the last one is a jmp: flow does not fall off */
        unsigned k = i + 1 < insn_count ? random_form() : 0;
        memcpy(code_bytes + size, forms[k].bytes, forms[k].fixed);
        insns[i].kind = forms[k].kind;
        insns[i].size = forms[k].size;
        insns[i].ip = wrap(ip + size);
        size += forms[k].size;
    }
    for (unsigned i = 0; i < insn_count; i++)
        if (insns[i].kind == IPT_INSN_JCC || insns[i].kind == IPT_INSN_JMP
            || insns[i].kind == IPT_INSN_CALL)
            aim(&insns[i], code_bytes + wrap(insns[i].ip - ip));
    memset(codes, 0, sizeof codes);
    codes[0].ip = ip;
    codes[0].size = size;
    codes[0].bytes = code_bytes;
    if (mode == IPT_MODE_32 && ip + size > 0x100000000) {
        codes[0].size = (size_t) (0x100000000 - ip);
        codes[1].bytes = code_bytes + codes[0].size;
        codes[1].size = size - codes[0].size;
    }
}

/* ---- the processor ---- */

#define NOWHERE UINT64_MAX

static struct {
    const insn *at; /* what is next, while enabled */
    uint64_t stack[64];
    unsigned depth;
    uint64_t bits; /* branches whose TNT packet is not full */
    unsigned bit_count;
    uint64_t tips[8]; /* they come behind it */
    unsigned tip_count;
    uint64_t last_ip; /* of the trace */
    uint64_t cr3, vmcs;
    uint64_t resume; /* NOWHERE: not known */
    uint16_t lead;
    uint16_t proven_lead; /* as it was when trace was used */
    uint8_t nr, speculative, enabled;
    uint8_t settled;  /* no more may happen before the next instruction */
    unsigned events;  /* that happened here */
    unsigned since;   /* instructions since trace was used */
    unsigned icnt;    /* ... since an IP was told */
    uint8_t icnt_known;
    uint8_t fup_on_ptw;
    entry *prev;    /* the instruction before, if nothing parts it from here */
    size_t proven;  /* entries of the list that the trace proves */
    uint32_t flags; /* config.flags */
} cpu;

static log did; /* the list */

static void go(uint64_t ip)
{
    cpu.at = NULL;
    for (unsigned i = 0; i < insn_count; i++)
        if (insns[i].ip == ip) cpu.at = &insns[i];
    CHECK(cpu.at != NULL);
}

static void emit(ipt_packet p)
{
    build_put(&b, &p);
}

static void emit_exec(void)
{
    ipt_packet p = EXEC64;
    if (mode == IPT_MODE_32) {
        p.u.exec.csl = 0;
        p.u.exec.csd = 1;
    }
    emit(p);
}

#define EMIT(packet)                         \
    do {                                     \
        static const ipt_packet p_ = packet; \
        emit(p_);                            \
    } while (0)

/* An IP packet in one of the forms that fit. */
static void emit_ip(uint8_t type, uint64_t ip)
{
    const uint64_t diff = ip ^ cpu.last_ip;
    ipt_packet p = TIP(0);
    p.type = type;
    p.u.ip.payload = ip;
    p.u.ip.ipc = 6;
    if (chance(80) && !(diff >> 16)) {
        p.u.ip.ipc = 1;
        p.u.ip.payload = ip & 0xffff;
    } else if (chance(80) && !(diff >> 32)) {
        p.u.ip.ipc = 2;
        p.u.ip.payload = ip & 0xffffffff;
    } else if (chance(50) && !(diff >> 48)) {
        p.u.ip.ipc = 4;
        p.u.ip.payload = ip & 0xffffffffffff;
    } else if (chance(80) && ((ip >> 47) == 0 || (ip >> 47) == 0x1ffff)) {
        p.u.ip.ipc = 3;
        p.u.ip.payload = ip & 0xffffffffffff;
    }
    emit(p);
    cpu.last_ip = ip;
}

/* Packets about nothing that may stand anywhere. */
static void emit_noise(void)
{
    if (chance(90)) return;
    switch (dice(4)) {
    case 0: EMIT(PADS(3)); break;
    case 1: EMIT(MTC(7)); break;
    case 2: EMIT(CYC(900)); break;
    default: EMIT(TMA(1, 2)); break;
    }
}

/* Write out what was collected: all before the next packet. */
static void flush(void)
{
    if (cpu.bit_count) {
        ipt_packet p = TNT(0, 0);
        p.u.tnt.bits = cpu.bits;
        p.u.tnt.count = (uint8_t) cpu.bit_count;
        if (chance(20)) p.type = IPT_PKT_TNT_64;
        emit(p);
        cpu.bit_count = 0;
        cpu.bits = 0;
    }
    for (unsigned i = 0; i < cpu.tip_count; i++)
        emit_ip(IPT_PKT_TIP, cpu.tips[i]);
    cpu.tip_count = 0;
    emit_noise();
}

static void used_trace(void)
{
    cpu.since = 0;
    cpu.proven = did.count;
    cpu.proven_lead = cpu.lead;
}

static void happens(uint8_t type, uint8_t flags, uint64_t ip, uint64_t a)
{
    entry *x = log_add(&did);
    x->what = EVENT_STEP;
    x->type = type;
    x->flags = flags;
    x->ip = flags & NOIP ? 0 : ip;
    x->a = flags & NOTO ? 0 : a;
    cpu.events++;
    used_trace();
    if (!(flags & NOIP)) {
        cpu.icnt = 0;
        cpu.icnt_known = 1;
    }
}

static void trail(unsigned flag)
{
    if (cpu.prev) cpu.prev->flags |= (uint16_t) flag;
}

static void bit(int taken)
{
    cpu.bits = cpu.bits << 1 | (unsigned) taken;
    cpu.icnt = 0;
    cpu.icnt_known = 1;
    used_trace();
    if (++cpu.bit_count == 6) flush();
}

/* A TIP; `late`: it may come behind branches that follow. */
static void tip(uint64_t to, int late)
{
    if (late && cpu.bit_count && cpu.tip_count < LENGTH(cpu.tips) && chance(50))
        cpu.tips[cpu.tip_count++] = to;
    else {
        flush();
        emit_ip(IPT_PKT_TIP, to);
    }
    cpu.icnt = 0;
    cpu.icnt_known = 1;
    used_trace();
    go(to);
}

/* ---- address spaces ---- */

static void new_asid(uint64_t cr3, uint64_t vmcs, uint8_t nr)
{
    if (cr3 != cpu.cr3 || vmcs != cpu.vmcs || nr != cpu.nr) cpu.lead |= ASID;
    cpu.cr3 = cr3;
    cpu.vmcs = vmcs;
    cpu.nr = nr;
}

static void emit_pip(void)
{
    ipt_packet p = PIP(0, 0);
    p.u.pip.cr3 = cpu.cr3;
    p.u.pip.nr = cpu.nr;
    emit(p);
}

static void emit_vmcs(void)
{
    ipt_packet p = VMCS(0);
    p.u.vmcs.base = cpu.vmcs;
    emit(p);
}

static void pip(uint8_t type, uint8_t flags, uint64_t ip)
{
    new_asid((uint64_t) (1 + dice(3)) << 12, cpu.vmcs, (uint8_t) dice(2));
    happens(type, flags, ip, cpu.cr3);
}

static void vmcs(uint8_t type, uint8_t flags, uint64_t ip)
{
    new_asid(cpu.cr3, (uint64_t) (5 + dice(3)) << 12, cpu.nr);
    happens(type, flags, ip, cpu.vmcs);
}

/* ---- tracing off and on ---- */

static void psb(void)
{
    flush();
    EMIT(PSB);
    cpu.last_ip = 0;
    cpu.depth = 0;
    if (cpu.enabled) {
        const uint64_t ip = cpu.at->ip;
        const int space = cpu.cr3 != IPT_ASID_UNKNOWN && chance(50);
        happens(IPT_EVT_ENABLED, ST, ip, 0);
        emit_exec();
        happens(IPT_EVT_EXEC_MODE, ST, ip, mode);
        if (space) {
            emit_pip();
            happens(IPT_EVT_ASYNC_PAGING, ST, ip, cpu.cr3);
        }
        if (cpu.speculative) {
            EMIT(TSX(1, 0));
            happens(IPT_EVT_TSX, ST, ip, 2);
        }
        emit_ip(IPT_PKT_FUP, ip);
    } else {
        happens(IPT_EVT_DISABLED, ST | NOIP | NOTO, 0, 0);
        if (chance(30)) {
            EMIT(CBR(9));
            happens(IPT_EVT_CBR, ST | NOIP, 0, 9);
        }
    }
    if (!cpu.enabled || chance(95)) {
        EMIT(PSBEND);
    } else { /* the next packet ends it, if it is none of PSB+ */
        EMIT(EXSTOP(1));
        emit_ip(IPT_PKT_FUP, cpu.at->ip);
        happens(IPT_EVT_EXSTOP, 0, cpu.at->ip, 0);
    }
}

static void enable(uint16_t lead, int begin)
{
    const uint64_t ip
        = cpu.resume != NOWHERE && chance(60) ? cpu.resume : any_ip();
    const int back = cpu.resume == ip && !begin;
    emit_ip(IPT_PKT_TIP_PGE, ip);
    cpu.enabled = 1;
    cpu.lead |= (uint16_t) (lead | ENABLED | (back ? RESUMED : 0));
    happens(IPT_EVT_ENABLED, back ? BACK : 0, ip, 0);
    go(ip);
}

/* Tracing is off; what happens meanwhile. Then it is on again. */
static void while_off(uint64_t resume)
{
    cpu.enabled = 0;
    if (chance(10)) {
        EMIT(STOP);
        cpu.lead |= STOPPED;
        happens(IPT_EVT_STOP, NOIP, 0, 0);
    }
    cpu.prev = NULL;
    cpu.resume = resume;
    while (chance(30)) {
        switch (dice(8)) {
        case 0:
            pip(IPT_EVT_PAGING, NOIP, 0);
            emit_pip();
            break;
        case 1:
            vmcs(IPT_EVT_VMCS, NOIP, 0);
            emit_vmcs();
            break;
        case 2: psb(); break;
        case 3:
            EMIT(CBR(7));
            happens(IPT_EVT_CBR, NOIP, 0, 7);
            break;
        case 4:
            EMIT(PTW(0, 0, 99));
            happens(IPT_EVT_PTWRITE, NOIP, 0, 99);
            break;
        case 5:
            EMIT(MWAIT(3, 0));
            EMIT(PWRE(1, 0, 0));
            EMIT(EXSTOP(0));
            EMIT(PWRX(2, 0, 1, 0, 0));
            happens(IPT_EVT_MWAIT, NOIP, 0, 3);
            happens(IPT_EVT_EXSTOP, NOIP, 0, 0);
            happens(IPT_EVT_PWRE, NOIP, 0, 1);
            happens(IPT_EVT_PWRX, NOIP, 0, 2);
            break;
        case 6:
            EMIT(CFE(SMI, 0, 0));
            happens(IPT_EVT_CFE, NOIP, 0, IPT_CFE_SMI);
            break;
        default:
            EMIT(OVF);
            cpu.last_ip = 0;
            cpu.resume = NOWHERE;
            cpu.lead |= RESYNCED;
            cpu.speculative = 0;
            happens(IPT_EVT_OVERFLOW, NOIP, 0, 0);
            break;
        }
        emit_noise();
    }
    if (chance(10)) /* a PSB+ with a FUP that does not hold: BDM70 */
        if (!cpu.speculative) {
            EMIT(PSB);
            cpu.last_ip = 0;
            cpu.depth = 0;
            happens(IPT_EVT_DISABLED, ST | NOIP | NOTO, 0, 0);
            emit_ip(IPT_PKT_FUP, any_ip());
            EMIT(PSBEND);
            cpu.last_ip = 0;
        }
    enable(0, 0);
    cpu.events = 1;
}

static void pgd(uint64_t to)
{
    if (to)
        emit_ip(IPT_PKT_TIP_PGD, to);
    else
        EMIT(PGD0);
}

/* The branch before leads to code that is not traced. */
static void disabled(uint64_t to, uint64_t resume)
{
    pgd(to);
    trail(DISABLED);
    happens(IPT_EVT_DISABLED, (uint8_t) (NOIP | (to ? 0 : NOTO)), 0, to);
    while_off(resume);
}

/* ---- what happens between two instructions ---- */

static void interrupt(void)
{
    const uint64_t from = cpu.at->ip;
    const uint64_t to = any_ip();
    const int space = chance(20);
    const int guest = chance(10);
    const unsigned how = dice(4);
    ipt_packet cfe = CFE(INTR, 0, 14);
    flush();
    if (how == 0) {
        if (chance(50)) {
            EMIT(EVD(0, 0x1234));
        } else {
            cfe.u.cfe.type = IPT_CFE_VMEXIT;
            EMIT(EVD(2, 1));
        }
        emit(cfe);
        happens(IPT_EVT_CFE, 0, from, cfe.u.cfe.type);
    }
    emit_ip(IPT_PKT_FUP, from);
    if (how == 1) { /* tracing ends there */
        const uint64_t where_to = chance(50) ? 0 : 0x123456789000;
        pgd(where_to);
        trail(DISABLED);
        happens(IPT_EVT_ASYNC_DISABLED, where_to ? 0 : NOTO, from, where_to);
        while_off(from);
        return;
    }
    trail(INTERRUPTED);
    happens(IPT_EVT_ASYNC_BRANCH, 0, from, to);
    if (guest) {
        vmcs(IPT_EVT_ASYNC_VMCS, 0, to);
        if (!space) emit_vmcs();
    }
    if (space) {
        pip(IPT_EVT_ASYNC_PAGING, 0, to);
        emit_pip();
        if (guest) emit_vmcs(); /* behind it, but handed out before it */
    }
    emit_ip(IPT_PKT_TIP, to);
    go(to);
}

static void transaction(void)
{
    const uint64_t ip = cpu.at->ip;
    flush();
    if (!cpu.speculative) {
        EMIT(TSX(1, 0));
        emit_ip(IPT_PKT_FUP, ip);
        happens(IPT_EVT_TSX, 0, ip, 2);
        cpu.speculative = 1;
        return;
    }
    cpu.speculative = 0;
    if (chance(50)) {
        EMIT(TSX(0, 0));
        emit_ip(IPT_PKT_FUP, ip);
        trail(COMMITTED);
        happens(IPT_EVT_TSX, 0, ip, 0);
    } else {
        const uint64_t to = any_ip();
        EMIT(TSX(0, 1));
        emit_ip(IPT_PKT_FUP, ip);
        trail(ABORTED | INTERRUPTED);
        happens(IPT_EVT_TSX, 0, ip, 1);
        emit_ip(IPT_PKT_TIP, to);
        happens(IPT_EVT_ASYNC_BRANCH, 0, ip, to);
        go(to);
    }
}

static void overflow(void)
{
    flush();
    did.count = cpu.proven; /* what no trace tells of is lost */
    cpu.lead = cpu.proven_lead;
    cpu.depth = 0;
    EMIT(OVF);
    cpu.last_ip = 0;
    cpu.speculative = 0;
    cpu.resume = NOWHERE;
    cpu.prev = NULL;
    emit_noise();
    if (chance(60)) {
        const uint64_t ip = any_ip();
        emit_ip(IPT_PKT_FUP, ip);
        cpu.lead |= RESYNCED;
        happens(IPT_EVT_OVERFLOW, 0, ip, 0);
        go(ip);
    } else {
        happens(IPT_EVT_OVERFLOW, NOIP, 0, 0);
        enable(RESYNCED, 1);
    }
    cpu.settled = 1;
}

static void between(void)
{
    const uint64_t ip = cpu.at->ip;
    switch (dice(8)) {
    case 0:
    case 1:
        if (cpu.events <= 1) interrupt();
        break;
    case 2:
        if (cpu.events == 0) psb();
        cpu.settled = 1;
        break;
    case 3:
        if (cpu.events <= 2) transaction();
        break;
    case 4: overflow(); break;
    case 5:
        flush();
        EMIT(EXSTOP(1));
        emit_ip(IPT_PKT_FUP, ip);
        happens(IPT_EVT_EXSTOP, 0, ip, 0);
        break;
    case 6:
        if (cpu.since) break; /* it would be found earlier */
        flush();
        EMIT(MNT(0x55));
        happens(IPT_EVT_MNT, NOIP, 0, 0x55);
        break;
    default: /* so many instructions after the last IP */
        if (cpu.icnt_known) {
            ipt_packet p = TRIG(6, 0, 1, 0, 0);
            p.u.trig.icnt = (uint16_t) cpu.icnt;
            flush();
            emit(p);
            happens(IPT_EVT_TRIG, 0, ip, 6);
        }
        break;
    }
}

/* ---- instructions ---- */

static void far_branch(const insn *x)
{
    unsigned most = 3;
    flush();
    if (chance(30)
        && (x->kind == IPT_INSN_IRET || x->kind == IPT_INSN_UIRET
            || x->kind == IPT_INSN_VMENTRY)) {
        ipt_packet cfe = CFE(IRET, 0, 0);
        if (x->kind == IPT_INSN_UIRET) cfe.u.cfe.type = IPT_CFE_UIRET;
        if (x->kind == IPT_INSN_VMENTRY) cfe.u.cfe.type = IPT_CFE_VMENTRY;
        emit(cfe);
        happens(IPT_EVT_CFE, NOIP, 0, cfe.u.cfe.type);
        most--;
    }
    if (chance(30)) {
        pip(IPT_EVT_PAGING, NOIP, 0);
        emit_pip();
        most--;
    }
    if (most > 1 && chance(20)) {
        vmcs(IPT_EVT_VMCS, NOIP, 0);
        emit_vmcs();
    }
    if (chance(15))
        disabled(chance(50) ? 0 : 0x123456789000,
                 x->kind == IPT_INSN_SYSCALL || x->kind == IPT_INSN_INT
                         || x->kind == IPT_INSN_FAR_CALL
                         || x->kind == IPT_INSN_VMCALL
                     ? wrap(x->ip + x->size)
                     : NOWHERE);
    else
        tip(any_ip(), 0);
}

/* Some say what they are before they execute. */
static void announce(const insn *x)
{
    if (!chance(30) || cpu.events > 2) return;
    if (x->kind == IPT_INSN_SYSCALL) {
        flush();
        if (chance(50)) {
            EMIT(CFE(SYSCALL, 0, 0));
            happens(IPT_EVT_CFE, NOIP, 0, IPT_CFE_SYSCALL);
        } else {
            EMIT(CFE(SYSCALL, 1, 0));
            emit_ip(IPT_PKT_FUP, x->ip);
            happens(IPT_EVT_CFE, 0, x->ip, IPT_CFE_SYSCALL);
        }
    } else if (x->kind == IPT_INSN_INT) {
        flush();
        EMIT(CFE(SWINTR, 1, 0x80));
        emit_ip(IPT_PKT_FUP, x->ip);
        happens(IPT_EVT_CFE, 0, x->ip, IPT_CFE_SWINTR);
    }
}

static void push(uint64_t ip)
{
    if (cpu.depth == 64)
        memmove(cpu.stack, cpu.stack + 1, 63 * sizeof cpu.stack[0]);
    else
        cpu.depth++;
    cpu.stack[cpu.depth - 1] = ip;
}

static void ret(void)
{
    const int compressed = !(cpu.flags & IPT_CONFIG_NO_RETCOMP) && cpu.depth
                           && chance(80);
    uint64_t to = any_ip();
    if (cpu.depth) cpu.depth--;
    if (compressed) {
        to = cpu.stack[cpu.depth];
        bit(1);
        go(to);
    } else {
        /* it forces out what is collected, if returns are compressed */
        tip(to, cpu.flags & IPT_CONFIG_NO_RETCOMP ? 1 : 0);
    }
}

static void execute(const insn *x)
{
    const uint64_t next = wrap(x->ip + x->size);
    entry *e;
    int taken;

    announce(x);
    e = log_add(&did);
    e->what = INSN_STEP;
    e->type = x->kind;
    e->mode = mode;
    e->size = x->size;
    e->count = 1;
    e->ip = e->a = x->ip;
    e->flags = (uint16_t) (cpu.lead | (cpu.speculative ? SPECULATIVE : 0));
    cpu.lead = 0;
    cpu.prev = e;
    cpu.events = 0;
    cpu.settled = 0;
    cpu.since++;
    cpu.icnt++;
    switch (x->kind) {
    case IPT_INSN_JCC:
        taken = chance(50);
        if (chance(3)) { /* out of the filter */
            flush();
            disabled(0x123456789000, NOWHERE);
            break;
        }
        bit(taken);
        go(taken ? x->target : next);
        break;
    case IPT_INSN_JMP: go(x->target); break;
    case IPT_INSN_CALL:
        if (x->target != next) push(next);
        go(x->target);
        break;
    case IPT_INSN_RET: ret(); break;
    case IPT_INSN_CALL_INDIRECT:
        if (chance(5)) {
            flush();
            disabled(0x123456789000, next);
            break;
        }
        tip(any_ip(), 1);
        push(next);
        break;
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS: tip(any_ip(), 1); break;
    case IPT_INSN_MOV_CR3:
        flush();
        if (chance(10)) {
            disabled(0, x->ip);
        } else {
            pip(IPT_EVT_PAGING, NOIP, 0);
            emit_pip();
            go(next);
        }
        break;
    case IPT_INSN_VMPTRLD:
        flush();
        vmcs(IPT_EVT_VMCS, NOIP, 0);
        emit_vmcs();
        go(next);
        break;
    case IPT_INSN_PTWRITE:
        flush();
        if (cpu.fup_on_ptw) {
            EMIT(PTW(1, 1, 0x77));
            emit_ip(IPT_PKT_FUP, x->ip);
            happens(IPT_EVT_PTWRITE, 0, x->ip, 0x77);
            cpu.icnt_known = 0; /* is the IP this one's or the next one's? */
        } else {
            const unsigned icnt = cpu.icnt;
            const uint8_t known = cpu.icnt_known;
            EMIT(PTW(0, 0, 0x77));
            happens(IPT_EVT_PTWRITE, 0, x->ip, 0x77);
            cpu.icnt = icnt; /* its IP is not from the trace */
            cpu.icnt_known = known;
        }
        go(next);
        break;
    case IPT_INSN_XBEGIN:
    case IPT_INSN_OTHER: go(next); break;
    default: far_branch(x); break;
    }
}

/* ---- a run ---- */

/* Was flow here already since trace was last used? */
static int passed(uint64_t ip)
{
    for (size_t i = cpu.proven; i < did.count; i++)
        if (did.entries[i].ip == ip) return 1;
    return 0;
}

static void simulate(unsigned steps)
{
    memset(&cpu, 0, sizeof cpu);
    memset(&b, 0, sizeof b);
    did.count = 0;
    did.ip = 0;
    did.status = IPT_END;
    random_program();
    cpu.cr3 = cpu.vmcs = IPT_ASID_UNKNOWN;
    cpu.resume = NOWHERE;
    cpu.fup_on_ptw = (uint8_t) chance(50);
    cpu.flags = chance(25) ? IPT_CONFIG_NO_RETCOMP : 0;
    if (chance(80)) {
        cpu.enabled = 1;
        go(any_ip());
        psb();
    } else {
        psb();
        emit_exec();
        enable(0, 1);
        happens(IPT_EVT_EXEC_MODE, 0, cpu.at->ip, mode);
        cpu.events = 4;
    }
    cpu.settled = 1;
    while (steps-- && b.size < TRACE_BYTES - 600 && did.count < LOG_MAX - 100
           && b.count < TRACE_BYTES / 4 - 80) {
        if (passed(cpu.at->ip)) /* for ever, or so often: nobody can tell */
            overflow();
        while (!cpu.settled && chance(8)) between();
        execute(cpu.at);
    }
    flush();
    did.count = cpu.proven;
}

static log wanted, folded, given;

static int check_simulated(uint64_t number, unsigned steps)
{
    int bad_ = test_.bad;
    char name[32];
    uint32_t flags;

    seed = (number + 1) * 0x9e3779b97f4a7c15u;
    snprintf(name, sizeof name, "seed %llu", (unsigned long long) number);
    simulate(steps);
    flags = cpu.flags | (chance(50) ? 0 : IPT_CONFIG_END_ON_CALL)
            | (chance(50) ? 0 : IPT_CONFIG_END_ON_JUMP);
    FOR_ALL_MANNERS(how)
    {
        wanted = did;
        if (how.silent) without_events(&wanted);
        decode(&how, codes, flags, 1, &given);
        if (!same_logs(name, &how, &given, &wanted)) break;
        fold(&did, &folded, flags);
        if (how.silent) without_events(&folded);
        decode(&how, codes, flags, 0, &given);
        strcat(how.text, " blk");
        if (!same_logs(name, &how, &given, &folded)) break;
    }
    return bad_ == test_.bad;
}

/* 400 runs of the model, or TEST_COUNT, with seeds from TEST_SEED on; one of
 * `part` of them. */
static void check_many(unsigned steps, uint64_t part)
{
    const char *first = getenv("TEST_SEED");
    const char *count = getenv("TEST_COUNT");
    uint64_t from = first ? strtoull(first, NULL, 0) : 0;
    uint64_t many = count ? strtoull(count, NULL, 0) : 400;
    many = (many + part - 1) / part;
    for (uint64_t i = from; i < from + many && test_.bad < 20; i++)
        check_simulated(i, steps);
}

TEST(short_runs)
{
    check_many(30, 1);
}

TEST(long_runs)
{
    check_many(400, 10);
}

int main(void)
{
    RUN(short_runs);
    RUN(long_runs);
    return test_report();
}
