/* made.h: traces made here: programs and packets at random, one for each
 * difference, errata of processors. A part of peer_libipt.c. */
#ifndef PEER_MADE_H
#define PEER_MADE_H

/* ---- traces made here: a program, executed at random ---- */

#define CODE_MAX 120

typedef struct code_insn {
    uint64_t ip;
    uint8_t kind;
    uint8_t size;
    unsigned target; /* index, of direct branches */
} code_insn;

typedef struct program {
    uint64_t base;
    uint8_t mode;
    code_insn insn[CODE_MAX];
    uint8_t bytes[CODE_MAX * 16];
    size_t size;
} program;

/* Instructions: bytes without the displacement of direct branches. */
static const struct form {
    uint8_t kind;
    uint8_t modes; /* 1 << IPT_MODE_ */
    uint8_t size;
    uint8_t bytes[7];
} forms[] = {
    {IPT_INSN_OTHER, 0xe, 1, {0x90}},
    {IPT_INSN_OTHER, 0xe, 2, {0x89, 0xd8}},
    {IPT_INSN_OTHER, 0xc, 5, {0xb8, 1, 2, 3, 4}},
    {IPT_INSN_OTHER, 0x8, 7, {0x48, 0xc7, 0xc0, 1, 2, 3, 4}},
    {IPT_INSN_OTHER, 0xe, 3, {0x8d, 0x44, 0x24}},
    {IPT_INSN_JCC, 0xe, 2, {0x0f, 0x85}},
    {IPT_INSN_JCC, 0xe, 2, {0x0f, 0x84}},
    {IPT_INSN_JCC, 0xe, 2, {0x0f, 0x8c}},
    {IPT_INSN_JMP, 0xe, 1, {0xe9}},
    {IPT_INSN_CALL, 0xe, 1, {0xe8}},
    {IPT_INSN_CALL, 0xe, 1, {0xe8}},
    {IPT_INSN_CALL_INDIRECT, 0xe, 2, {0xff, 0xd0}},
    {IPT_INSN_JMP_INDIRECT, 0xe, 2, {0xff, 0xe0}},
    {IPT_INSN_RET, 0xe, 1, {0xc3}},
    {IPT_INSN_RET, 0xe, 3, {0xc2, 8, 0}},
    {IPT_INSN_RET, 0xe, 1, {0xc3}},
    {IPT_INSN_INT, 0xe, 2, {0xcd, 0x80}},
    {IPT_INSN_IRET, 0xe, 1, {0xcf}},
    {IPT_INSN_SYSCALL, 0x8, 2, {0x0f, 0x05}},
    {IPT_INSN_IRET, 0x8, 3, {0x48, 0x0f, 0x07}},
    {IPT_INSN_FAR_CALL, 0xe, 2, {0xff, 0x18}},
    {IPT_INSN_FAR_JMP, 0xe, 2, {0xff, 0x28}},
    {IPT_INSN_FAR_RET, 0xe, 1, {0xcb}},
    {IPT_INSN_VMCALL, 0xe, 3, {0x0f, 0x01, 0xc1}},
    {IPT_INSN_VMENTRY, 0xe, 3, {0x0f, 0x01, 0xc2}},
    {IPT_INSN_PTWRITE, 0xe, 4, {0xf3, 0x0f, 0xae, 0xe0}},
    {IPT_INSN_MOV_CR3, 0xe, 3, {0x0f, 0x22, 0xd8}},
    {IPT_INSN_VMPTRLD, 0xc, 3, {0x0f, 0xc7, 0x30}},
};

static int is_direct(uint8_t kind)
{
    return kind == IPT_INSN_JCC || kind == IPT_INSN_JMP
           || kind == IPT_INSN_CALL;
}

/* Kinds that go somewhere that only the trace knows. */
static int is_indirect(uint8_t kind)
{
    return kind >= IPT_INSN_JMP_INDIRECT && kind <= IPT_INSN_VMENTRY;
}

static unsigned displacement_size(uint8_t mode)
{
    return mode == IPT_MODE_16 ? 2 : 4;
}

static const struct form *pick_form(uint8_t mode, int last)
{
    for (;;) {
        const struct form *f = &forms[dice(LENGTH(forms))];
        if (dice(3) == 0) f = &forms[dice(10)];
        if (!(f->modes >> mode & 1)) continue;
        if (!last || f->kind == IPT_INSN_JMP_INDIRECT) return f;
    }
}

/* Direct branches but Jcc go forward, so that no loop goes without trace. */
static void program_link(program *p)
{
    const unsigned width = displacement_size(p->mode);
    for (unsigned i = 0; i < CODE_MAX; i++) {
        code_insn *c = &p->insn[i];
        uint64_t rel;
        uint8_t *at;
        if (!is_direct(c->kind)) continue;
        at = &p->bytes[c->ip - p->base + c->size - width];
        c->target = c->kind == IPT_INSN_JCC
                        ? dice(CODE_MAX)
                        : i + 1 + dice(CODE_MAX - 1 - i);
        if (c->kind == IPT_INSN_CALL && dice(8) == 0)
            c->target = i + 1;
        rel = p->insn[c->target].ip - (c->ip + c->size);
        for (unsigned k = 0; k < width; k++) at[k] = (uint8_t) (rel >> 8 * k);
    }
}

static void program_make(program *p, uint8_t mode, uint64_t base)
{
    memset(p, 0, sizeof *p);
    p->mode = mode;
    p->base = base;
    for (unsigned i = 0; i < CODE_MAX; i++) {
        const struct form *f = pick_form(mode, i == CODE_MAX - 1);
        code_insn *c = &p->insn[i];
        c->ip = base + p->size;
        c->kind = f->kind;
        c->size = f->size;
        memcpy(&p->bytes[p->size], f->bytes, f->size);
        if (f->size == 3 && f->bytes[0] == 0x8d) /* lea, 16 bits: no SIB */
            p->bytes[p->size + 1] = mode == IPT_MODE_16 ? 0x45 : 0x44;
        if (f->size == 3 && f->bytes[0] == 0x8d && mode != IPT_MODE_16) {
            p->bytes[p->size + 3] = 8;
            c->size = 4;
        }
        if (is_direct(f->kind))
            c->size = (uint8_t) (c->size + displacement_size(mode));
        p->size += c->size;
    }
    program_link(p);
}

/* What executes a program and writes the trace of it. */
typedef struct machine {
    program programs[3];
    image code;
    ipt_gen gen;
    uint8_t out[1 << 14];
    const program *p;
    unsigned at; /* index of the next instruction */
    uint64_t calls[40];
    unsigned depth;
    int cr3; /* a MOV CR3 came since trace was last needed */
} machine;

static uint64_t machine_ip(const machine *m)
{
    return m->p->insn[m->at].ip;
}

static void machine_event(machine *m, uint8_t type, uint8_t flags, uint64_t to)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.flags = flags;
    e.ip = machine_ip(m);
    switch (type) {
    case IPT_EVT_PAGING:
        e.u.paging.cr3 = (dice_bits() & 0xffffffff) << 12;
        e.u.paging.nr = dice(2) & 1;
        break;
    case IPT_EVT_VMCS: e.u.vmcs.base = (dice_bits() & 0xffffff) << 12; break;
    case IPT_EVT_TSX:
        e.u.tsx.speculative = to & 1;
        e.u.tsx.aborted = to >> 1 & 1;
        break;
    case IPT_EVT_EXEC_MODE: e.u.exec.mode = (uint8_t) to; break;
    case IPT_EVT_PTWRITE:
        e.u.ptwrite.size = dice(2) ? 8 : 4;
        e.u.ptwrite.payload = dice_bits() >> (e.u.ptwrite.size == 8 ? 0 : 32);
        break;
    case IPT_EVT_CBR: e.u.cbr.ratio = (uint8_t) (1 + dice(60)); break;
    default: e.u.branch.to = to; break;
    }
    ipt_gen_event(&m->gen, &e);
}

/* Go anywhere: sometimes to another program, of another mode. */
static void machine_jump(machine *m, int far)
{
    if (far && dice(4) == 0) {
        m->p = &m->programs[dice(3)];
        machine_event(m, IPT_EVT_EXEC_MODE, 0, m->p->mode);
        m->depth = 0;
    }
    m->at = dice(CODE_MAX);
}

static void machine_enable(machine *m)
{
    machine_event(m, IPT_EVT_ENABLED, 0, 0);
}

/* Something that comes from outside, before the next instruction. */
static void machine_outside(machine *m)
{
    const uint64_t ip = machine_ip(m);
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.ip = ip;
    switch (dice(7)) {
    case 0:
        e.type = IPT_EVT_ASYNC_BRANCH;
        machine_jump(m, 1);
        e.u.branch.to = machine_ip(m);
        ipt_gen_event(&m->gen, &e);
        break;
    case 1:
        e.type = IPT_EVT_ASYNC_DISABLED;
        e.flags = dice(2) ? IPT_EVENT_NO_TO : 0;
        e.u.branch.to = 0x123456;
        ipt_gen_event(&m->gen, &e);
        if (dice(2)) machine_jump(m, 1);
        if (dice(4) == 0) machine_event(m, IPT_EVT_STOP, 0, 0);
        if (dice(4) == 0) machine_event(m, IPT_EVT_PAGING, 0, 0);
        machine_enable(m);
        break;
    case 2: machine_event(m, IPT_EVT_TSX, 0, dice(2)); break;
    case 3:
        machine_event(m, IPT_EVT_TSX, 0, 2);
        e.type = IPT_EVT_ASYNC_BRANCH;
        m->at = dice(CODE_MAX);
        e.u.branch.to = machine_ip(m);
        ipt_gen_event(&m->gen, &e);
        break;
    case 4:
        m->at = dice(CODE_MAX);
        machine_event(m, IPT_EVT_OVERFLOW, 0, 0);
        break;
    case 5:
        machine_event(m, IPT_EVT_OVERFLOW, IPT_EVENT_NO_IP, 0);
        m->at = dice(CODE_MAX);
        machine_enable(m);
        break;
    default: machine_event(m, IPT_EVT_CBR, 0, 0); break;
    }
}

/* The instruction leaves the traced code, by a branch of it. Without IP it
 * would seem to be a MOV CR3 before it that does. */
static void machine_leave(machine *m, const code_insn *c)
{
    if (c->kind == IPT_INSN_MOV_CR3
        || (c->kind >= IPT_INSN_FAR_CALL && !m->cr3))
        machine_event(m, IPT_EVT_DISABLED, IPT_EVENT_NO_TO, 0);
    else
        machine_event(m, IPT_EVT_DISABLED, 0, 0x7654321);
    m->at = dice(CODE_MAX);
    machine_enable(m);
}

/* Where a return goes: mostly where its call was. */
static void machine_return(machine *m)
{
    if (m->depth && dice(16)) {
        const uint64_t ip = m->calls[--m->depth];
        for (m->at = 0; machine_ip(m) != ip; m->at++) { }
    } else {
        m->at = dice(CODE_MAX);
    }
}

static void machine_call(machine *m, const code_insn *c)
{
    if (m->depth == LENGTH(m->calls)) m->depth = 0;
    m->calls[m->depth++] = c->ip + c->size;
}

static void machine_insn(machine *m)
{
    const code_insn *c = &m->p->insn[m->at];
    const uint8_t kind = c->kind;
    const int pip = kind == IPT_INSN_MOV_CR3 && dice(2); /* or it ... */
    if (kind == IPT_INSN_PTWRITE)
        machine_event(m, IPT_EVT_PTWRITE, dice(2) & 1, 0);
    if (pip) machine_event(m, IPT_EVT_PAGING, 0, 0);
    if (kind == IPT_INSN_VMPTRLD && dice(2))
        machine_event(m, IPT_EVT_VMCS, 0, 0);
    if ((is_indirect(kind) && kind != IPT_INSN_RET && dice(6) == 0)
        || (kind == IPT_INSN_MOV_CR3 && !pip /* ... may end tracing */
            && dice(6) == 0)) {
        machine_leave(m, c);
        return;
    }
    m->at++;
    if (kind == IPT_INSN_MOV_CR3) m->cr3 = 1;
    else if (kind == IPT_INSN_JCC || is_indirect(kind)) m->cr3 = 0;
    if (kind == IPT_INSN_CALL || kind == IPT_INSN_CALL_INDIRECT)
        machine_call(m, c);
    if (is_direct(kind) && (kind != IPT_INSN_JCC || dice(2)))
        m->at = c->target;
    else if (kind == IPT_INSN_RET)
        machine_return(m);
    else if (is_indirect(kind))
        machine_jump(m, kind >= IPT_INSN_FAR_CALL);
    ipt_gen_branch(&m->gen, kind, c->ip, c->size, machine_ip(m));
}

/* Make new programs and execute `count` instructions of them. Returns the size
 * of the trace. */
static size_t machine_run(machine *m, unsigned count)
{
    static const uint8_t modes[3] = {IPT_MODE_64, IPT_MODE_32, IPT_MODE_16};
    static const uint64_t bases[3] = {0x7f0000401000, 0x8048000, 0x2000};
    ipt_gen_config config;
    memset(&config, 0, sizeof config);
    config.psb_period = dice(2) ? 64 + dice(400) : 0;
    config.flags = dice(4) ? 0 : IPT_CONFIG_NO_RETCOMP;
    memset(&m->code, 0, sizeof m->code);
    for (unsigned i = 0; i < 3; i++) {
        region *r = &m->code.list[2 - i];
        program_make(&m->programs[i], modes[i], bases[i]);
        r->base = bases[i];
        r->size = m->programs[i].size;
        r->bytes = m->programs[i].bytes;
    }
    m->code.count = 3;
    m->p = &m->programs[dice(3)];
    m->at = dice(CODE_MAX);
    m->depth = 0;
    m->cr3 = 0;
    CHECK_EQ(ipt_gen_init(&m->gen, &config, m->p->mode), IPT_OK);
    m->gen.out = m->out;
    m->gen.size = sizeof m->out;
    machine_enable(m);
    while (count-- > 0 && m->gen.size - m->gen.used > 16 * IPT_GEN_ROOM) {
        if (dice(40) == 0) machine_outside(m);
        machine_insn(m);
    }
    if (dice(2)) machine_event(m, IPT_EVT_ASYNC_DISABLED, 0, 0);
    CHECK(ipt_gen_flush(&m->gen) >= 0);
    return m->gen.used;
}

/* ---- traces made here: timing packets in between, and mutations ---- */

/* The clocks of the packets made last. */
static uint64_t timing_tsc;
static uint8_t timing_ctc;

/* A packet about time, at random. */
static ipt_packet timing_packet(uint8_t before)
{
    static const uint8_t types[] = {
        IPT_PKT_TSC, IPT_PKT_TMA, IPT_PKT_MTC, IPT_PKT_MTC, IPT_PKT_MTC,
        IPT_PKT_CYC, IPT_PKT_CYC, IPT_PKT_CYC, IPT_PKT_CBR, IPT_PKT_PAD};
    ipt_packet p;
    memset(&p, 0, sizeof p);
    p.type = types[dice(LENGTH(types))];
    if (before == IPT_PKT_TSC && dice(100)) p.type = IPT_PKT_TMA;
    else if (p.type == IPT_PKT_TMA && dice(50)) p.type = IPT_PKT_CYC;
    timing_tsc += dice(100000);
    switch (p.type) {
    case IPT_PKT_TSC: p.u.tsc.value = timing_tsc & 0xffffffffffffff; break;
    case IPT_PKT_TMA:
        p.u.tma.ctc = (uint16_t) dice_bits();
        p.u.tma.fc = (uint16_t) dice(512);
        break;
    case IPT_PKT_MTC: p.u.mtc.ctc = timing_ctc++; break;
    case IPT_PKT_CYC: p.u.cyc.value = dice(3000); break;
    case IPT_PKT_CBR: p.u.cbr.ratio = (uint8_t) (1 + dice(50)); break;
    default: p.size = 1 + dice(9); break;
    }
    return p;
}

/* Copy a trace with timing packets before every n-th packet or so. */
static size_t add_timing(const uint8_t *from, size_t size, uint8_t *to,
                         size_t room, unsigned n)
{
    const ipt_segment piece = {from, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    ipt_pkt_decoder d;
    ipt_packet p;
    uint8_t before = IPT_PKT_NONE;
    size_t used = 0;
    memset(&config, 0, sizeof config);
    memset(&p, 0, sizeof p);
    memset(&d, 0, sizeof d);
    ipt_pkt_init(&d, &config, &trace);
    ipt_pkt_sync_set(&d, 0);
    while (ipt_pkt_next(&d, &p) >= 0 && used + 64 < room) {
        while (p.offset && (before == IPT_PKT_TSC || dice(n) == 0)
               && used + 64 < room) {
            const ipt_packet extra = timing_packet(before);
            before = extra.type;
            used += (size_t) ipt_pkt_encode(to + used, room - used, &extra);
        }
        memcpy(to + used, from + p.offset, p.size);
        used += p.size;
        before = p.type;
    }
    return used;
}

/* Change a trace: bytes, or pieces of it moved, doubled, left out. */
static size_t mutate(uint8_t *bytes, size_t size, size_t room)
{
    unsigned n = 1 + dice(4);
    while (n-- > 0 && size > 20) {
        const unsigned at = 16 + dice((unsigned) size - 16);
        unsigned length = 1 + dice(20);
        if (at + length > size) length = (unsigned) size - at;
        switch (dice(6)) {
        case 0: bytes[at] ^= (uint8_t) (1u << dice(8)); break;
        case 1: bytes[at] = (uint8_t) dice_bits(); break;
        case 2:
            memmove(bytes + at, bytes + at + length, size - at - length);
            size -= length;
            break;
        case 3:
            if (size + length > room) break;
            memmove(bytes + at + length, bytes + at, size - at);
            size += length;
            break;
        case 4: size = dice(8) ? size : at; break;
        default: {
            const unsigned to = dice((unsigned) (size - length));
            memmove(bytes + to, bytes + at, length);
            break;
        }
        }
    }
    return size;
}

/* ---- traces made here: packets at random ---- */

static uint64_t random_ip(const machine *m)
{
    const program *p = &m->programs[dice(3)];
    if (dice(12) == 0) return dice_bits();
    return p->insn[dice(CODE_MAX)].ip;
}

/* Fields at random, but such that the packet can be encoded. */
static ipt_packet random_packet(const machine *m, uint8_t type)
{
    ipt_packet p;
    static const uint8_t ipcs[] = {0, 1, 2, 3, 3, 3, 4, 6};
    static const uint8_t bits[] = {0, 16, 32, 48, 48, 0, 64};
    memset(&p, 0, sizeof p);
    p.type = type;
    switch (type) {
    case IPT_PKT_TNT_8:
        p.u.tnt.count = (uint8_t) (1 + dice(6));
        p.u.tnt.bits = dice_bits() & ((1u << p.u.tnt.count) - 1);
        break;
    case IPT_PKT_TNT_64:
        p.u.tnt.count = (uint8_t) (1 + dice(47));
        p.u.tnt.bits = dice_bits() >> (64 - p.u.tnt.count);
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        p.u.ip.ipc = ipcs[dice(LENGTH(ipcs))];
        if (bits[p.u.ip.ipc])
            p.u.ip.payload = random_ip(m) & ~(uint64_t) 0
                                                >> (64 - bits[p.u.ip.ipc]);
        break;
    case IPT_PKT_MODE_EXEC:
        p.u.exec.csl = dice(2) & 1;
        p.u.exec.csd = !p.u.exec.csl && dice(2);
        break;
    case IPT_PKT_MODE_TSX:
        p.u.tsx.intx = dice(2) & 1;
        p.u.tsx.abrt = !p.u.tsx.intx && dice(2);
        break;
    case IPT_PKT_PIP:
        p.u.pip.cr3 = (dice_bits() & 0xffffff) << 12;
        p.u.pip.nr = dice(2) & 1;
        break;
    case IPT_PKT_VMCS: p.u.vmcs.base = (dice_bits() & 0xffffff) << 12; break;
    case IPT_PKT_PTW:
        p.u.ptw.plc = dice(2) & 1;
        p.u.ptw.has_ip = dice(2) & 1;
        p.u.ptw.payload = dice_bits() >> (p.u.ptw.plc ? 0 : 32);
        break;
    case IPT_PKT_EXSTOP: p.u.exstop.has_ip = dice(2) & 1; break;
    case IPT_PKT_MWAIT: p.u.mwait.hints = dice(256); break;
    case IPT_PKT_PWRE: p.u.pwre.state = dice(16) & 15; break;
    case IPT_PKT_PWRX: p.u.pwrx.last = dice(16) & 15; break;
    case IPT_PKT_MNT: p.u.mnt.payload = dice_bits(); break;
    case IPT_PKT_CFE:
        p.u.cfe.type = dice(16) & 15;
        p.u.cfe.has_ip = dice(2) & 1;
        break;
    case IPT_PKT_EVD:
        p.u.evd.type = (uint8_t) dice(3);
        p.u.evd.payload = dice_bits();
        break;
    case IPT_PKT_BBP: p.u.bbp.sz = dice(2) & 1; break;
    case IPT_PKT_BEP: p.u.bep.has_ip = dice(2) & 1; break;
    case IPT_PKT_TRIG: p.u.trig.trbv = (uint8_t) dice_bits(); break;
    default: break;
    }
    return p;
}

typedef struct writer {
    uint8_t bytes[1 << 14];
    size_t size;
} writer;

static void put(writer *w, const machine *m, uint8_t type)
{
    const ipt_packet p = random_packet(m, type);
    int n = ipt_pkt_encode(w->bytes + w->size, sizeof w->bytes - w->size, &p);
    if (CHECK(n > 0)) w->size += (size_t) n;
}

static void put_psb(writer *w, const machine *m, int enabled)
{
    put(w, m, IPT_PKT_PSB);
    if (dice(2)) put(w, m, IPT_PKT_PIP);
    if (dice(4) == 0) put(w, m, IPT_PKT_VMCS);
    if (dice(2)) put(w, m, IPT_PKT_MODE_EXEC);
    if (dice(2)) put(w, m, IPT_PKT_MODE_TSX);
    if (enabled) put(w, m, IPT_PKT_FUP);
    if (dice(16)) put(w, m, IPT_PKT_PSBEND);
}

/* One thing that happens, as the packets that a processor sends for it. */
static int put_scenario(writer *w, const machine *m, int enabled)
{
    static const uint8_t others[] = {
        IPT_PKT_MODE_TSX, IPT_PKT_PIP, IPT_PKT_VMCS, IPT_PKT_PTW,
        IPT_PKT_EXSTOP, IPT_PKT_MWAIT, IPT_PKT_PWRE, IPT_PKT_PWRX, IPT_PKT_MNT,
        IPT_PKT_MODE_EXEC};
    static const uint8_t new_ones[] = {IPT_PKT_CFE, IPT_PKT_EVD, IPT_PKT_BBP,
                                       IPT_PKT_BEP, IPT_PKT_TRIG};
    switch (dice(24)) {
    case 0:
    case 1:
    case 2:
    case 3: put(w, m, IPT_PKT_TNT_8); break;
    case 4: put(w, m, IPT_PKT_TNT_64); break;
    case 5:
    case 6:
    case 7: put(w, m, IPT_PKT_TIP); break;
    case 8:
    case 9:
        put(w, m, IPT_PKT_FUP);
        if (dice(4) == 0) put(w, m, IPT_PKT_PIP);
        if (dice(8) == 0) put(w, m, IPT_PKT_VMCS);
        if (dice(4) == 0) put(w, m, IPT_PKT_MODE_EXEC);
        put(w, m, dice(3) ? IPT_PKT_TIP : IPT_PKT_TIP_PGD);
        break;
    case 10:
    case 11: put(w, m, IPT_PKT_TIP_PGD); return 0;
    case 12:
    case 13:
    case 14: put(w, m, IPT_PKT_TIP_PGE); return 1;
    case 15: put_psb(w, m, enabled); break;
    case 16:
        put(w, m, IPT_PKT_OVF);
        if (dice(2)) put(w, m, IPT_PKT_FUP);
        break;
    case 17: put(w, m, IPT_PKT_STOP); break;
    case 18:
        if (dice(8) == 0)
            put(w, m, new_ones[dice(LENGTH(new_ones))]);
        break;
    case 19: put(w, m, IPT_PKT_FUP); break;
    default: put(w, m, others[dice(LENGTH(others))]); break;
    }
    return enabled;
}

/* Packets in an order that mostly makes sense. */
static void put_stream(writer *w, const machine *m)
{
    int enabled = (int) dice(2);
    unsigned n = 5 + dice(60);
    w->size = 0;
    put_psb(w, m, enabled);
    while (n-- > 0 && w->size + 512 < sizeof w->bytes) {
        if (!enabled && dice(2)) {
            put(w, m, IPT_PKT_TIP_PGE);
            enabled = 1;
        }
        enabled = put_scenario(w, m, enabled);
    }
}

/* ---- the stand-alone part ---- */

static machine the_machine;

/* A configuration at random; half of the time the default. */
static void random_config(run *r)
{
    memset(&r->config, 0, sizeof r->config);
    r->bdm70 = dice(2) & 1;
    r->config.cpuid_15_eax = 2;
    r->config.cpuid_15_ebx = 216;
    r->config.mtc_freq = 3;
    r->config.nom_freq = 24;
    if (dice(2)) return;
    if (dice(2))
        r->config.errata = (uint32_t) dice_bits() & IPT_ERRATUM_ALL_;
    r->config.cpuid_15_eax = dice(8) ? 1 + dice(3) : 0;
    r->config.cpuid_15_ebx = 1 + dice(300);
    r->config.mtc_freq = (uint8_t) dice(13);
    if (r->config.cpuid_15_eax
        && (r->config.cpuid_15_ebx << r->config.mtc_freq)
               % r->config.cpuid_15_eax) /* S12 */
        r->config.cpuid_15_ebx *= r->config.cpuid_15_eax;
    r->config.nom_freq = (uint8_t) dice(40);
}

static void compare_bytes(const char *name, uint8_t *bytes, size_t size,
                          int wild)
{
    static run r;
    memset(&r, 0, sizeof r);
    snprintf(r.name, sizeof r.name, "%s", name);
    r.code = &the_machine.code;
    r.part = OWN;
    r.wild = wild;
    random_config(&r);
    run_begin(&r, bytes, size);
    compare(&r);
    run_end(&r);
}

/* A copy of just its size, so that reading past its end is seen. */
static void compare_copy(const char *name, const uint8_t *bytes, size_t size,
                         int wild)
{
    uint8_t *copy = malloc(size + !size);
    if (!CHECK(copy != NULL)) return;
    memcpy(copy, bytes, size);
    compare_bytes(name, copy, size, wild);
    free(copy);
}

static unsigned rounds = 400;

TEST(programs)
{
    static uint8_t bytes[1 << 15];
    seed = 0x1234567;
    for (unsigned i = 0; i < rounds; i++) {
        char name[60];
        size_t size = machine_run(&the_machine, 20 + dice(600));
        snprintf(name, sizeof name, "program %u", i);
        compare_copy(name, the_machine.out, size, 0);
        size = add_timing(the_machine.out, size, bytes, sizeof bytes,
                          2 + dice(6));
        snprintf(name, sizeof name, "program %u with time", i);
        compare_copy(name, bytes, size, 0);
    }
}

TEST(streams)
{
    static writer w;
    seed = 0x89abcdef;
    machine_run(&the_machine, 10);
    for (unsigned i = 0; i < 4 * rounds; i++) {
        char name[60];
        put_stream(&w, &the_machine);
        snprintf(name, sizeof name, "stream %u", i);
        compare_copy(name, w.bytes, w.size, 1);
    }
}

TEST(mutants)
{
    static uint8_t bytes[1 << 15];
    static writer w;
    seed = 0x5a5a5a5a;
    for (unsigned i = 0; i < 8 * rounds; i++) {
        char name[60];
        size_t size;
        if (i % 2) {
            size = machine_run(&the_machine, 20 + dice(100));
            size = add_timing(the_machine.out, size, bytes, sizeof bytes, 20);
        } else {
            put_stream(&w, &the_machine);
            memcpy(bytes, w.bytes, size = w.size);
        }
        size = mutate(bytes, size, sizeof bytes);
        snprintf(name, sizeof name, "mutant %u", i);
        compare_copy(name, bytes, size, 1);
    }
}

/* ---- traces made here: one for a difference ---- */

/* Code for them, at 1000 and below 4 GiB. */
static uint8_t small_code[256];
static uint8_t high_code[256];

static void set_code(uint8_t *at, const char *hex)
{
    unsigned byte;
    while (sscanf(hex, "%2x", &byte) == 1) {
        *at++ = (uint8_t) byte;
        hex += 2;
    }
}

static void make_code(image *code)
{
    memset(code, 0, sizeof *code);
    memset(small_code, 0x90, sizeof small_code);
    memset(high_code, 0x90, sizeof high_code);
    set_code(small_code + 0x10, "d500a10020000000000000"); /* jmpabs */
    set_code(small_code + 0x20, "ffff");                   /* no instruction */
    set_code(small_code + 0x30, "e80b000000ffe0");         /* call 1040; jmp */
    set_code(small_code + 0x40, "e80b000000c3");           /* call 1050; ret */
    set_code(small_code + 0x50, "c3");
    set_code(small_code + 0x60, "ffe0"); /* jmp *rax */
    set_code(small_code + 0x70, "7500"); /* jcc 1072 */
    set_code(small_code + 0x80, "ebfe"); /* jmp 1080 */
    set_code(small_code + 0xa0, "ce90"); /* into; nop */
    set_code(small_code + 0x90, "0f22d89048cf"); /* mov cr3; nop; iretq */
    set_code(high_code + 0xf0, "e90b100000"); /* jmp 100001000 */
    code->list[0].base = 0x1000;
    code->list[0].size = sizeof small_code;
    code->list[0].bytes = small_code;
    code->list[1].base = 0xffffff00;
    code->list[1].size = sizeof high_code;
    code->list[1].bytes = high_code;
    code->count = 2;
}

#define START(ip) PSB, EXEC64, FUP(ip), PSBEND
#define START32(ip) PSB, EXEC32, FUP(ip), PSBEND
#define TIP16(x) IP_(TIP, 1, x)
#define PGE16(x) IP_(TIP_PGE, 1, x)

static const struct directed {
    int id;
    uint32_t errata;
    uint8_t no_bdm70;
    ipt_packet packets[16];
    const char *raw; /* hex digits of bytes after them */
} directed[] = {
    {D_NEW_PACKET, 0, 0, {START(0x1060), TIP(0x1060), CFE(INTR, 1, 3),
                          FUP(0x1060), TIP(0x1000)}, NULL},
    {D_STATUS, 0, 0, {START(0x1060), TIP(0x1060), FUP(0x1060), PGD0}, NULL},
    {D_PWRE_EARLY, 0, 0, {START(0x1060), PWRE(1, 0, 0), TIP(0x1060),
                          PWRX(1, 1, 1, 0, 0), TIP(0x1060)}, NULL},
    {D_PWRE_EARLY, 0, 0, {PSB, EXEC64, PSBEND, PWRE(1, 0, 1), PSB, EXEC64,
                          PSBEND, PWRX(1, 1, 1, 0, 0), PGE(0x1000)},
     NULL}, /* hazards.c */
    {D_TIP_FIRST, 0, 0, {START(0x1060), EXEC32, TIP(0x1070), TNT(1, 1)}, NULL},
    {D_EXEC_REPEAT, 0, 0, {START(0x1060), EXEC64, TIP(0x1060), TIP(0x1060)},
     NULL},
    {D_DISABLED, 0, 0, {PSB, PSBEND, TNT(1, 1)}, NULL},
    {D_SKD007, IPT_ERRATUM_SKD007, 0,
     {START(0x1000), CYC(0x3e), CYC(0x1e), FUP(0x1060), TIP(0x1000)}, NULL},
    {D_OVF_PENDING, 0, 0, {PSB, PSBEND, MWAIT(1, 0), OVF, PGE(0x1000)}, NULL},
    {D_OVF_FUP, 0, 0, {START(0x1060), TIP(0x1000), FUP(0x1001), OVF,
                       FUP(0x1060), TIP(0x1000), FUP(0x1001), PGD0}, NULL},
    {D_EXEC_FUP, 0, 0, {START(0x1000), EXEC32, FUP(0x1001), FUP(0x1002),
                        PGD0}, NULL},
    {D_TIMING, 0, 0, {START(0x1000), TMA(1, 1), FUP(0x1001), PGD0}, NULL},
    {D_NEW_INSN, 0, 0, {START(0x1010), TIP(0x1060), TIP(0x1000), FUP(0x1001),
                        PGD0}, NULL},
    {D_PGD_NO_IP, 0, 0, {START(0x1060), PGD0, PGE(0x1000)}, NULL},
    {D_PGD_IP, 0, 0, {START(0x1000), PGD(0x1000), PGE(0x1000)}, NULL},
    {D_OVF_PSB, 0, 0, {START(0x1060), OVF, START(0x1060), TIP(0x1060)}, NULL},
    {D_INTO, 0, 0, {START32(0x1060), TIP(0x10a0), FUP(0x10a1), PGD0}, NULL},
    {D_CR3_PIP, 0, 0, {START(0x1060), TIP(0x1090), PIP(0x5000, 0), PGD0,
                       PGE(0x1000)},
     NULL},
    {D_RETPOP, 0, 0, {START(0x1030), TIP(0x1045), TNT(1, 1), TIP(0x1000)},
     NULL},
    {D_WRAP, 0, 0, {START32(0xfffffff0), FUP(0x1001), PGD0}, NULL},
    {D_BDM70, 0, 1, {START(0x1060), PGD0, START(0x1000), PGE(0x1000),
                     FUP(0x1001), PGD0}, NULL},
    {D_MWAIT, 0, 0, {START(0x1000), MWAIT(1, 0), EXSTOP(0), FUP(0x1001),
                     TIP(0x1060)}, NULL},
    {D_EXEC_PGD, 0, 0, {START(0x1060), EXEC64, PGD0, PGE(0x1000)},
     NULL}, /* hazards.c */
    {D_PASSED_IP, IPT_ERRATUM_APL12, 0,
     {PSB, EXEC64, PSBEND, OVF, FUP(0x7f0000001000), PGE16(0x1000)}, NULL},
    {D_SKIPPED, IPT_ERRATUM_SKD010, 0,
     {START(0x1000), OVF, PWRX(1, 1, 1, 0, 0), TIP(0x1060), TIP(0x1000)}, NULL},
    {D_HUGE_CYC, 0, 0, {PSB, EXEC64, TSC(0x1000), CBR(10), FUP(0x1000),
                        PSBEND, CYC(0xc418300041b2cf), FUP(0x1001), PGD0},
     NULL},
    {D_MODE, 0, 0, {PSB, FUP(0x1000), PSBEND, FUP(0x1001), PGD0},
     NULL}, /* hazards.c */
    {D_PSBEND, 0, 0, {PSB, EXEC64, FUP(0x1060), TIP(0x1060)}, NULL},
    {D_LOOP, 0, 0, {START(0x1080), TNT(1, 0)}, NULL}, /* hazards.c */
    {D_UNDEFINED, 0, 0, {START(0x1020), FUP(0x1030), PGD0}, NULL},
    {D_RESUMED_0, 0, 0, {PSB, EXEC64, PSBEND, PGE(0)}, NULL},
    {D_SKZ84_CUT, IPT_ERRATUM_SKZ84, 0, {START(0x1000)}, "02730100010000"},
    {D_CYC_10, 0, 0, {START(0x1000)}, "ffffffffffffffffff0e"},
    {D_TNT_EMPTY, 0, 0, {START(0x1000)}, "02a3010000000000"},
    {D_PSB_OVF, IPT_ERRATUM_SKD007, 0,
     {PSB, EXEC64, FUP(0x1000), CYC(0x3e), CYC(0x1e), PGE(0x1000)}, NULL},
    {D_STATUS_CBR, 0, 0, {START(0x1000), PSB, CBR(5), EXEC64, FUP(0x1001),
                          PSBEND, FUP(0x1002), PGD0}, NULL},
    {D_PSB_TWICE, IPT_ERRATUM_SKD010, 0,
     {PSB, EXEC64, PSBEND, OVF, EXSTOP(0), START(0x1000), FUP(0x1001), PGD0},
     NULL},
    {D_FUP0, 0, 0, {START(0x1000), PSB, EXEC64, FUP0, PSBEND, TSX(1, 0),
                    PGE(0x1000), FUP(0x1001), PGD0}, NULL},
    {D_VMCS_SWAPS, 0, 0, {START(0x1000), FUP(0x1001), PIP(0x5000, 0),
                        PIP(0x6000, 0), VMCS(0x7000), TIP(0x1000)}, NULL},
    {D_CYC_COUNT, 0, 0, {START(0x1000), TSC(0x1000), TMA(0x700, 1), CBR(5),
                         CYC(500), PADS(1), TSC(0x1100), CYC(500),
                         FUP(0x1001), PGD0}, NULL},
    {D_EXEC_EARLY, 0, 0, {START(0x1000), EXEC32, PGD(0x5000), PGE(0x1000)},
     NULL},
    {D_PTW_ELSEWHERE, 0, 0, {START(0x1060), TIP(0x1060), PTW(0, 1, 7),
                             FUP(0x1060), TIP(0x1060), TIP(0x1060)}, NULL},
    {D_PTW_NOTE, 0, 0, {START(0x1060), PTW(0, 0, 7), TIP(0x1070), PTW(0, 0, 8),
                        TNT(1, 0), FUP(0x1074), PGD0}, NULL},
    {D_PTW_NOTE, 0, 0, {START(0x1060), TIP(0x1094), PIP(0x5000, 0),
                        PTW(0, 0, 7), TIP(0x1070), TNT(1, 0)}, NULL},
    {D_APL12_FUP, IPT_ERRATUM_APL12, 0,
     {START(0x1000), OVF, FUP(0x1001), PTW(0, 1, 1), FUP(0x1002), STOP}, NULL},
    {D_OVF_BDM70, IPT_ERRATUM_APL12, 0,
     {START(0x1000), OVF, FUP(0x1001), START(0x1002), PGE(0x1000), FUP(0x1001),
      PGD0}, NULL},
    {D_OVF_BDM70, IPT_ERRATUM_SKD010, 0,
     {START(0x1000), OVF, VMCS(0x7000), START(0x1002), PGE(0x1000), FUP(0x1001),
      PGD0}, NULL},
    {D_OVF_PSB, IPT_ERRATUM_SKD010, 0,
     {START(0x1000), OVF, EXSTOP(0), PSB, PSBEND, FUP(0x1001), PGD0}, NULL},
    {D_OVF_NOISE, 0, 0,
     {START(0x1000), OVF, PWRX(1, 1, 1, 0, 0), FUP(0x1060), TIP(0x1000)}, NULL},
    {D_OVF_NOISE, 0, 0,
     {START(0x1000), OVF, PIP(0x5000, 0), FUP(0x1060), TIP(0x1000)}, NULL},
    {D_OVF_NOISE, IPT_ERRATUM_SKD010, 0,
     {START(0x1000), OVF, PWRX(1, 1, 1, 0, 0), FUP(0x1060), TIP(0x1000),
      FUP(0x1001), PGD0}, NULL},
    {D_OVF_TWICE, IPT_ERRATUM_SKD010, 0,
     {PSB, PSBEND, OVF, PSB, EXEC64, OVF, FUP(0x1000), PSBEND, FUP(0x1001),
      PGD0}, NULL},
    {D_SKD007, IPT_ERRATUM_SKD007 | IPT_ERRATUM_SKD010, 0,
     {START(0x1000), OVF, PIP(0x5000, 0), CYC(0x3e), CYC(0x1e), FUP(0x1001),
      FUP(0x1002), PGD0}, NULL},
    {D_SKD007, IPT_ERRATUM_SKD007 | IPT_ERRATUM_APL12, 0,
     {START(0x1000), OVF, FUP(0x1001), PIP(0x5000, 0), CYC(0x3e), CYC(0x1e),
      PGE(0x1000)}, NULL},
    {D_TIP_FIRST, 0, 0, {START32(0x1060), TIP(0x105f), EXEC16, EXEC32,
                         TIP(0x105f), EXEC16, TIP(0x105f)}, NULL},
    {D_BDM64, IPT_ERRATUM_BDM64, 0,
     {START(0x1060), EXEC64, EXSTOP(0), TSX(0, 1), TIP(0x1000), FUP(0x1040),
      TIP(0x1060)}, NULL},
    {D_TIME_FIRST, 0, 0, {START(0x1000), TSC(0x1000), TMA(0x700, 1), CBR(5),
                          TSC(0x2000), CYC(5), FUP(0x1001), PIP(0x5000, 0),
                          TSC(0x3000), VMCS(0x7000), TIP(0x1000)}, NULL},
    {D_CONTEXT, IPT_ERRATUM_SKD010, 0,
     {PSB, EXEC64, PSBEND, OVF, EXEC32, PSB, PSBEND, PGE(0x1000), FUP(0x1001),
      PGD0}, NULL},
    {D_STATUS, 0, 0, {PSB, EXEC64, OVF, STOP, PSB, FUP(0x1000), PSBEND,
                      PIP(0x5000, 0), TNT(1, 1)}, NULL},
};

/* Twelve pairs, and a ninth pair that is not a broken PSB. */
TEST(long_psb)
{
    static run r;
    static build b;
    static const ipt_packet list[] = {PSB, PSB, EXEC64, PSBEND, PGE(0x1000)};
    build_all(&b, list, LENGTH(list));
    memmove(b.bytes + 16, b.bytes + 24, b.size - 24);
    memset(&r, 0, sizeof r);
    snprintf(r.name, sizeof r.name, "long PSB");
    r.part = OWN;
    run_begin(&r, b.bytes, b.size - 8);
    compare_packets(&r);
    compare_backward(&r);
    run_end(&r);
    CHECK(is_other || seen[D_BACKWARD][OWN] > 0);
}

TEST(cases)
{
    static run r;
    static image code;
    static build b;
    make_code(&code);
    for (size_t i = 0; i < LENGTH(directed); i++) {
        const struct directed *c = &directed[i];
        const unsigned long long before = seen[c->id][OWN];
        build_all(&b, c->packets, LENGTH(c->packets));
        if (c->raw) {
            set_code(b.bytes + b.size, c->raw);
            b.size += strlen(c->raw) / 2;
        }
        memset(&r, 0, sizeof r);
        snprintf(r.name, sizeof r.name, "case %u %s", (unsigned) i,
                 differences[c->id].name);
        r.code = &code;
        r.part = OWN;
        r.config.errata = c->errata;
        r.config.cpuid_15_eax = 2;
        r.config.cpuid_15_ebx = 216;
        r.config.mtc_freq = 3;
        r.config.nom_freq = 24;
        r.bdm70 = !c->no_bdm70;
        r.wild = c->raw != NULL;
        run_begin(&r, b.bytes, b.size);
        compare(&r);
        run_end(&r);
        if (!CHECK(is_other || seen[c->id][OWN] > before))
            printf("    %s\n", r.name);
    }
}

/* ---- errata of processors ---- */

/* Processors that came after 2.0.5. */
static int is_new_cpu(unsigned family, unsigned model)
{
    static const uint8_t models[] = {0xcf, 0xad, 0xae, 0xba, 0xb7, 0xc5, 0xc6,
                                     0xb5, 0xaa, 0xac, 0xbd, 0xcc, 0xd5, 0xb6,
                                     0xaf, 0xdd};
    for (size_t i = 0; family == 6 && i < LENGTH(models); i++)
        if (models[i] == model) return 1;
    return family == 18 || family == 19;
}

/* Processors that 2.0.5 thinks to have SKL014; libipt master does not. */
static int is_not_skl014(unsigned model)
{
    return model == 0x8f || model == 0x97 || model == 0x9a || model == 0xbf;
}

static void compare_cpu(unsigned family, unsigned model)
{
    struct pt_cpu cpu = {pcv_intel, 0, 0, 0};
    struct pt_errata theirs;
    struct pt_errata ours;
    uint32_t errata;
    int known = ipt_cpu_errata(&errata, (uint16_t) family, (uint8_t) model);
    int status;
    cpu.family = (uint16_t) family;
    cpu.model = (uint8_t) model;
    memset(&theirs, 0, sizeof theirs);
    status = pt_cpu_errata(&theirs, &cpu);
    if (known && status == -pte_bad_cpu && is_new_cpu(family, model)) {
        seen[D_NEW_CPU][OWN]++;
        return;
    }
    if (!CHECK_EQ(known, status >= 0)) printf("    %u/%x\n", family, model);
    set_errata(&ours, errata);
    ours.bdm70 = errata & BDM70_TOO ? 1 : 0;
    if (theirs.skl014 && !ours.skl014 && is_not_skl014(model)) {
        seen[D_SKL014][OWN]++;
        theirs.skl014 = 0;
    }
    if (!CHECK(memcmp(&ours, &theirs, sizeof ours) == 0))
        printf("    %u/%x\n", family, model);
}

TEST(cpus)
{
    static const uint8_t families[] = {5, 6, 7, 15, 18, 19};
    for (size_t i = 0; i < LENGTH(families); i++)
        for (unsigned model = 0; model < 256; model++)
            compare_cpu(families[i], model);
}

#endif /* PEER_MADE_H */
