/* ptxed: print the instructions that an Intel PT trace says were executed.
 *
 *     ptxed [<options>] --raw code.bin:0x1000 --pt trace.pt
 *
 * Options and output are those of libipt's ptxed; the disassembly is Zydis'.
 * Without Zydis the bytes of instructions are printed in its place.
 *
 * SPDX-License-Identifier: MIT */
#include "ipt.h"
#include "common/code/code.h"
#include "common/code/image.h"
#include "common/perf/sideband.h"
#include "common/code/tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#include "zydis_glue/ipt_zydis.h"
#define HAVE_ZYDIS
#endif
#endif

static const char help[] =
    "usage: %s [<options>]\n"
    "\n"
    "options:\n"
    "  --help|-h                         this text.\n"
    "  --version                         the version of this tool.\n"
    "  --pt <file>[:<from>[-<to>]]       the trace.\n"
    "  --elf <file>[:<base>]             code: an ELF file.\n"
    "  --raw <file>[:<from>[-<to>]]:<base>\n"
    "                                    code: a flat file.\n"
    "  --map <folder>                    code: what <folder>/image.map lists.\n"
    "  --insn-decoder                    decode instructions.\n"
    "  --block-decoder                   decode blocks (default).\n"
    "  --block:show-blocks               print blocks, too.\n"
    "  --block:end-on-call               end blocks at near calls.\n"
    "  --block:end-on-jump               end blocks at near direct jumps.\n"
    "  --cpu none|f/m[/s]                the cpu that was traced, for its\n"
    "                                    errata.\n"
    "  --cs-base <n>                     IPs out of 64-bit mode count from CS.\n"
    "  --filter:addr<n>_cfg <0|1|2>      filter n = 0..3: off, trace, stop;\n"
    "  --filter:addr<n>_a <addr>         its first\n"
    "  --filter:addr<n>_b <addr>         and its last address.\n"
    "  --mtc-freq <n>                    IA32_RTIT_CTL.MTCFreq.\n"
    "  --nom-freq <n>                    nominal frequency in bus clocks.\n"
    "  --cpuid-0x15.eax <n>              TSC ticks are ebx / eax crystal\n"
    "  --cpuid-0x15.ebx <n>              clocks.\n"
    "  --insn:keep-tcal-on-ovf           an overflow leaves the calibration\n"
    "  --block:keep-tcal-on-ovf          of time.\n"
    "  --no-inst                         print addresses only.\n"
    "  --raw-insn                        print instruction bytes.\n"
    "  --att                             AT&T syntax.\n"
    "  --quiet|-q                        print errors and statistics only.\n"
    "  --offset                          print trace offsets.\n"
    "  --time                            print the time of instructions.\n"
    "  --event:time                      print the time of events.\n"
    "  --event:ip                        print the ip of events.\n"
    "  --event:tick                      print when time moves on.\n"
    "  --event:iflags                    print changes of RFLAGS.IF.\n"
    "  --resync-on-error                 after errors, go on at the next ip.\n"
    "  --stat                            print statistics.\n"
    "  --stat:insn --stat:blocks         print these only.\n"
    "  --check                           compare each instruction's length and\n"
    "                                    class with Zydis', and where blocks\n"
    "                                    end.\n"
    "  --iscache-limit <n>               accepted, without effect.\n"
    "  --verbose|-v                      print what --elf adds.\n"
    SIDEBAND_HELP
    "  --sb:switch                       print switches of context.\n"
    "\n"
    "With --event:tick before --pt sideband acts when time moves on, too.\n"
    "\n"
    "Example: ptxed --elf program --pt trace.pt\n";

typedef struct options {
    uint8_t insn_decoder;
    uint8_t show_blocks;
    uint8_t no_inst;
    uint8_t raw_insn;
    uint8_t att;
    uint8_t quiet;
    uint8_t offset;
    uint8_t time;
    uint8_t event_time;
    uint8_t event_ip;
    uint8_t event_tick;
    uint8_t event_iflags;
    uint8_t resync;
    uint8_t stat;
    uint8_t stat_insn;
    uint8_t stat_blocks;
    uint8_t check;
    uint8_t verbose;
    uint8_t end_on_call;
    uint8_t end_on_jump;
    uint8_t insn_keep_tcal;
    uint8_t block_keep_tcal;
    tool_cpu cpu;
    uint64_t mtc_freq;
    uint64_t nom_freq;
    uint64_t cpuid_eax;
    uint64_t cpuid_ebx;
    uint64_t iscache_limit;
    uint64_t cs_base;
    ipt_filter filter[IPT_FILTERS];
} options;

#define CACHE_LINES 16384

typedef struct ptxed {
    options opt;
    image code;
    sideband sideband;
    tool_file file; /* the trace; no data: none was given */
    ipt_segment piece;
    ipt_trace trace;
    ipt_config config;
    ipt_cache cache;
    void *lines; /* of the cache */
    ipt_insn_decoder insn;
    ipt_blk_decoder blk;
    uint64_t insns;
    uint64_t blocks;
    int something; /* an instruction came since the last synchronisation */
    int events;    /* ... an event */
    uint8_t mode;  /* of the next instruction, as far as events say */
    uint64_t error_ip;
    uint64_t pgd_offset; /* that pgd_alone was worked out for */
    int pgd_alone;
} ptxed;

/* ---- the decoder, of instructions or blocks ---- */

static const ipt_where *at(const ptxed *x)
{
    return x->opt.insn_decoder ? &x->insn.at : &x->blk.at;
}

/* Where libipt's decoder would stand for a packet at offset: at it, as it may
 * make another event; but those that make just one are taken off the trace at
 * once, and what follows as far as it says nothing but the time. */
static uint64_t stand_at(const ptxed *x, uint64_t offset)
{
    ipt_pkt_decoder d = {.at = {.offset = 0}};
    ipt_packet p;
    if (ipt_pkt_init(&d, &x->config, &x->trace) < 0
        || ipt_pkt_sync_set(&d, offset) < 0)
        return offset;
    for (;;) {
        if (ipt_pkt_next(&d, &p) < 0) return d.at.offset;
        switch (p.type) {
        case IPT_PKT_TNT_8:
        case IPT_PKT_TNT_64:
        case IPT_PKT_TIP_PGD:
        case IPT_PKT_PIP:
            if (p.offset != offset) return p.offset;
            break;
        case IPT_PKT_PAD:
        case IPT_PKT_TSC:
        case IPT_PKT_TMA:
        case IPT_PKT_MTC:
        case IPT_PKT_CYC: break;
        default: return p.offset;
        }
    }
}

/* Is the TIP.PGD that was read last the only packet of its event? It is not
 * after the FUP of an asynchronous one. */
static int pgd_alone(ptxed *x)
{
    ipt_evt_decoder d;
    ipt_event e = {.type = IPT_EVT_NONE};
    const ipt_where *where = at(x);
    if (x->pgd_offset == where->packet_offset) return x->pgd_alone;
    x->pgd_offset = where->packet_offset;
    x->pgd_alone = 0;
    if (ipt_evt_init(&d, &x->config, &x->trace) < 0
        || ipt_evt_sync_set(&d, where->sync) < 0)
        return 0;
    while (!x->pgd_alone && d.at.packet_offset <= x->pgd_offset
           && ipt_evt_next(&d, &e) >= 0)
        x->pgd_alone = e.type == IPT_EVT_DISABLED && e.offset == x->pgd_offset;
    return x->pgd_alone;
}

#define BIT(type) ((uint64_t) 1 << IPT_PKT_##type)

/* The packets that an event waits for, whose first packet is p; 0: none. */
static uint64_t waits_for(const ipt_event *e, const ipt_packet *p)
{
    const int has_ip = !(e->flags & IPT_EVENT_NO_IP);
    switch (e->type) {
    case IPT_EVT_ASYNC_BRANCH:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_PAGING:
    case IPT_EVT_ASYNC_VMCS: return BIT(TIP) | BIT(TIP_PGD);
    case IPT_EVT_EXEC_MODE:
    case IPT_EVT_IFLAGS:
        return BIT(FUP) | BIT(TIP) | BIT(TIP_PGE) | BIT(TIP_PGD);
    case IPT_EVT_PTWRITE: return p->u.ptw.has_ip ? BIT(FUP) : 0;
    case IPT_EVT_TRIG: return p->u.trig.has_ip ? BIT(FUP) : 0;
    case IPT_EVT_TSX:
    case IPT_EVT_CFE:
    case IPT_EVT_EXSTOP:
    case IPT_EVT_OVERFLOW: return has_ip ? BIT(FUP) : 0;
    case IPT_EVT_MWAIT: return has_ip ? BIT(FUP) : BIT(EXSTOP);
    case IPT_EVT_PWRE: return BIT(PWRX);
    default: return 0;
    }
}

/* Where it would stand when it hands out an event. */
static uint64_t event_offset(const ptxed *x, const ipt_event *e)
{
    ipt_pkt_decoder d = {.at = {.offset = 0}};
    ipt_packet p;
    uint64_t wanted;
    if (e->type == IPT_EVT_TICK) return stand_at(x, e->offset);
    if (ipt_pkt_init(&d, &x->config, &x->trace) < 0
        || ipt_pkt_sync_set(&d, e->offset) < 0 || ipt_pkt_next(&d, &p) < 0)
        return e->offset;
    wanted = waits_for(e, &p);
    while (wanted && !(wanted >> p.type & 1))
        if (ipt_pkt_next(&d, &p) < 0) return e->offset;
    return p.offset;
}

/* Where it would stand now. */
static uint64_t offset_of(ptxed *x, int status)
{
    const ipt_where *where = at(x);
    if (status <= IPT_ERR_OPCODE && status > IPT_ERR_MISMATCH)
        return where->packet_offset;
    switch (where->packet) {
    case IPT_PKT_NONE:
    case IPT_PKT_PAD: return stand_at(x, where->offset);
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
    case IPT_PKT_PIP: return stand_at(x, where->packet_offset);
    case IPT_PKT_TIP_PGD:
        if (pgd_alone(x)) return stand_at(x, where->packet_offset);
        return where->packet_offset;
    default: return where->packet_offset;
    }
}

static int sync_forward(ptxed *x)
{
    x->something = x->events = 0;
    return x->opt.insn_decoder ? ipt_insn_sync_forward(&x->insn)
                               : ipt_blk_sync_forward(&x->blk);
}

static int resync(ptxed *x)
{
    return x->opt.insn_decoder ? ipt_insn_resync(&x->insn)
                               : ipt_blk_resync(&x->blk);
}

static int next_event(ptxed *x, ipt_event *event)
{
    return x->opt.insn_decoder ? ipt_insn_event(&x->insn, event)
                               : ipt_blk_event(&x->blk, event);
}

/* ---- instructions ---- */

/* One instruction to print. */
typedef struct shown {
    uint64_t offset;
    uint64_t ip;
    const uint8_t *bytes;
    uint8_t size;
    uint8_t kind;
    uint8_t mode;
    uint8_t speculative;
} shown;

static void print_bytes(const shown *s)
{
    for (uint8_t i = 0; i < s->size; i++) printf(" %02x", s->bytes[i]);
    printf("%*s", s->size < 15 ? 3 * (15 - s->size) : 0, "");
}

#ifdef HAVE_ZYDIS
static void print_text(const ptxed *x, const shown *s)
{
    char text[256];
    ipt_code code;
    if (ipt_zydis_format(text, sizeof text, s->bytes, s->size, s->mode, s->ip,
                         x->opt.att) == 0)
        printf("  %s", text);
    else if (ipt_classify(&code, s->bytes, s->size, s->mode, NULL) == IPT_OK
             && code.kind == IPT_INSN_JMPABS)
        printf("  jmpabs 0x%" PRIx64, (uint64_t) code.displacement);
    else
        printf(" [zydis decode error]");
}
#endif

static void print_insn(const ptxed *x, const shown *s)
{
    if (x->opt.quiet) return;
    if (x->opt.offset) printf("%016" PRIx64 "  ", s->offset);
    if (x->opt.time) printf("%016" PRIx64 "  ", at(x)->tsc);
    printf("%s%016" PRIx64, s->speculative ? "? " : "", s->ip);
    if (!x->opt.no_inst) {
#ifdef HAVE_ZYDIS
        if (x->opt.raw_insn) print_bytes(s);
        print_text(x, s);
#else
        print_bytes(s);
#endif
    }
    putchar('\n');
}

static uint64_t the_cs_base; /* --cs-base: config.context is the session */

/* Code that the trace runs in now. */
static int read_now(ptxed *x, uint8_t *buffer, size_t size,
                    const ipt_asid *asid, uint64_t ip)
{
    if (x->config.cs_base && x->mode != IPT_MODE_64) ip += the_cs_base;
    return pevent_read(buffer, size, asid, ip, &x->sideband.session);
}

#ifdef HAVE_ZYDIS
/* libipt's name of an instruction's class. */
static const char *class_name(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_JCC: return "cond jump";
    case IPT_INSN_CALL:
    case IPT_INSN_CALL_INDIRECT: return "near call";
    case IPT_INSN_RET: return "near return";
    case IPT_INSN_JMP:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS: return "near jump";
    case IPT_INSN_FAR_CALL:
    case IPT_INSN_INT:
    case IPT_INSN_INTO:
    case IPT_INSN_SYSCALL:
    case IPT_INSN_VMCALL: return "far call";
    case IPT_INSN_FAR_RET:
    case IPT_INSN_IRET:
    case IPT_INSN_UIRET:
    case IPT_INSN_VMENTRY: return "far return";
    case IPT_INSN_FAR_JMP: return "far jump";
    case IPT_INSN_PTWRITE: return "ptwrite";
    default: return "other";
    }
}

/* Does Zydis say the same of it as the decoder? (--check) */
static void check_insn(ptxed *x, const ipt_asid *asid, const shown *s)
{
    ipt_code code;
    uint8_t byte;
    if (!x->opt.check) return;
    if (read_now(x, &byte, 1, asid, s->ip) != 1)
        printf("[%" PRIx64 ", %" PRIx64 ": check error: bad isid]\n",
               s->offset, s->ip);
    if (ipt_zydis_classify(&code, s->bytes, s->size, s->mode, NULL) < 0)
        printf("[%" PRIx64 ", %" PRIx64 ": zydis error: invalid "
               "instruction]\n", s->offset, s->ip);
    else if (code.size != s->size)
        printf("[%" PRIx64 ", %" PRIx64 ": size error: size: %u, zydis size: "
               "%u]\n", s->offset, s->ip, s->size, code.size);
    else if (code.kind != s->kind)
        printf("[%" PRIx64 ", %" PRIx64 ": iclass error: iclass: %s, zydis "
               "iclass: %s]\n", s->offset, s->ip, class_name(s->kind),
               class_name(code.kind));
}
#else
static void check_insn(ptxed *x, const ipt_asid *asid, const shown *s)
{
    (void) x;
    (void) asid;
    (void) s;
}
#endif

/* Offsets as libipt has them take longer than decoding: for those who see any. */
static int shows_offsets(const ptxed *x)
{
    return x->opt.check || (x->opt.offset && !x->opt.quiet);
}

static int step_insn(ptxed *x)
{
    ipt_asid asid = x->insn.at.asid; // before a MOV CR3 changes it
    uint8_t bytes[15] = {0};
    ipt_insn insn;
    shown s;
    int status;
    s.offset = shows_offsets(x) ? offset_of(x, 0) : 0;
    status = ipt_insn_next(&x->insn, &insn);
    if (status < 0) return status;
    x->insns++;
    x->something = 1;
    x->mode = insn.mode;
    if ((!x->opt.no_inst && !x->opt.quiet) || x->opt.check)
        (void) read_now(x, bytes, insn.size, &asid, insn.ip);
    s.ip = insn.ip;
    s.bytes = bytes;
    s.size = insn.size;
    s.kind = insn.kind;
    s.mode = insn.mode;
    s.speculative = (insn.flags & IPT_FLOW_SPECULATIVE) != 0;
    print_insn(x, &s);
    check_insn(x, &asid, &s);
    return status;
}

/* ---- blocks ---- */

static void print_block(const ptxed *x)
{
    if (!x->opt.show_blocks || x->opt.quiet) return;
    if (x->opt.stat || x->opt.stat_insn || x->opt.stat_blocks)
        printf("[block %" PRIu64 "]\n", x->blocks);
    else
        printf("[block]\n");
}

static void print_error(uint64_t offset, uint64_t ip, const char *kind,
                        int status)
{
    if (status == IPT_ERR_IMAGE) status = IPT_NEED_PAGE; // see read_code
    printf("[%" PRIx64 ", %" PRIx64 ": %s: %s]\n", offset, ip, kind,
           tool_error_text(status));
}

/* Read and classify the instruction at s->ip. */
static int fetch(ptxed *x, const ipt_asid *asid, shown *s, uint8_t *bytes,
                 ipt_code *code)
{
    int size = read_now(x, bytes, 15, asid, s->ip);
    int status;
    if (size < 0) return size;
    status = ipt_classify(code, bytes, (size_t) size, s->mode, NULL);
    if (status < 0) return status;
    s->size = code->size;
    s->kind = code->kind;
    return 0;
}

/* Where flow goes on inside of a block. */
static uint64_t after(const shown *s, const ipt_code *code)
{
    uint64_t ip = s->ip + s->size;
    if (code->kind == IPT_INSN_JMP || code->kind == IPT_INSN_CALL)
        ip += (uint64_t) code->displacement;
    return s->mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

/* The instructions of a block, from block->ip to block->end_ip. */
static int print_insns(ptxed *x, const ipt_block *block, const ipt_asid *asid,
                       uint64_t offset)
{
    uint8_t bytes[15];
    uint64_t last = block->ip;
    ipt_code code;
    shown s;
    s.offset = offset;
    s.ip = block->ip;
    s.bytes = bytes;
    s.mode = block->mode;
    s.speculative = (block->flags & IPT_FLOW_SPECULATIVE) != 0;
    for (unsigned i = 0; i < block->count; i++) {
        int status = fetch(x, asid, &s, bytes, &code);
        if (status < 0) {
            print_error(offset, s.ip, x->opt.check ? "fetch error"
                                                   : "reconstruct error",
                        status);
            return status;
        }
        print_insn(x, &s);
        check_insn(x, asid, &s);
        last = s.ip;
        s.ip = after(&s, &code);
    }
    if (last == block->end_ip) return 0;
    if (x->opt.check)
        printf("[%" PRIx64 ", %" PRIx64 ": error: did not reach end: %" PRIx64
               "]\n", offset, last, block->end_ip);
    else print_error(offset, last, "reconstruct error", IPT_ERR_NOSYNC);
    return IPT_ERR_NOSYNC;
}

static int step_block(ptxed *x)
{
    ipt_asid asid = x->blk.at.asid;
    const int walks = !x->opt.quiet || x->opt.check;
    const uint64_t offset = walks ? offset_of(x, 0) : 0;
    ipt_block block;
    int status = ipt_blk_next(&x->blk, &block);
    if (status < 0) return status;
    x->blocks++;
    x->insns += block.count;
    x->something = 1;
    x->mode = block.mode;
    print_block(x);
    if (walks) (void) print_insns(x, &block, &asid, offset);
    return status;
}

/* ---- events ---- */

static void print_ip(const ptxed *x, const char *name, uint64_t ip,
                     int suppressed)
{
    if (x->opt.event_ip && !suppressed) printf(", %s: %016" PRIx64, name, ip);
}

static void print_event_ip(const ptxed *x, const ipt_event *e)
{
    print_ip(x, "ip", e->ip, e->flags & IPT_EVENT_NO_IP);
}

/* From where, and where to. */
static void print_branch(const ptxed *x, const ipt_event *e, const char *from,
                         const char *to)
{
    print_ip(x, from, e->ip, 0);
    print_ip(x, to, e->u.branch.to, e->flags & IPT_EVENT_NO_TO);
}

static const char *mode_name(uint8_t mode)
{
    switch (mode) {
    case IPT_MODE_16: return "16-bit";
    case IPT_MODE_32: return "32-bit";
    case IPT_MODE_64: return "64-bit";
    default: return "<unknown>";
    }
}

static unsigned c_state(uint8_t raw)
{
    return (raw + 1u) & 15;
}

static void print_power(const ipt_event *e)
{
    if (e->type == IPT_EVT_PWRE) {
        printf("pwre c%u.%u%s", c_state(e->u.pwre.state),
               c_state(e->u.pwre.sub_state), e->u.pwre.hw ? " hw" : "");
        return;
    }
    printf("pwrx %s%s%sc%u (c%u)", e->u.pwrx.interrupt ? "int: " : "",
           e->u.pwrx.store ? "st: " : "", e->u.pwrx.autonomous ? "hw: " : "",
           c_state(e->u.pwrx.last), c_state(e->u.pwrx.deepest));
}

static void print_vmexit(const ipt_event *e)
{
    printf("vmexit");
    if (e->u.cfe.has & IPT_CFE_HAS_VECTOR)
        printf(", intr: %u", e->u.cfe.vector);
    if (e->u.cfe.has & IPT_CFE_HAS_VMXR)
        printf(", vmxr: %016" PRIx64, e->u.cfe.data[1]);
    if (e->u.cfe.has & IPT_CFE_HAS_VMXQ)
        printf(", vmxq: %016" PRIx64, e->u.cfe.data[0]);
}

static void print_cfe(const ptxed *x, const ipt_event *e)
{
    unsigned vector = e->u.cfe.vector;
    switch (e->u.cfe.type) {
    case IPT_CFE_INTR:
        printf("interrupt %u", vector);
        if (e->u.cfe.has & IPT_CFE_HAS_CR2)
            printf(", cr2: %016" PRIx64, e->u.cfe.data[0]);
        break;
    case IPT_CFE_IRET: printf("iret"); break;
    case IPT_CFE_SMI: printf("smi"); break;
    case IPT_CFE_RSM: printf("rsm"); break;
    case IPT_CFE_SIPI: printf("sipi: %x", vector); return;
    case IPT_CFE_INIT: printf("init"); break;
    case IPT_CFE_VMENTRY: printf("vmentry"); break;
    case IPT_CFE_VMEXIT:
    case IPT_CFE_VMEXIT_INTR: print_vmexit(e); break;
    case IPT_CFE_SHUTDOWN: printf("shutdown"); break;
    case IPT_CFE_UINTR: printf("uintr %u", vector); break;
    case IPT_CFE_UIRET: printf("uiret"); break;
    case IPT_CFE_SWINTR: printf("swintr %u", vector); break;
    case IPT_CFE_SYSCALL: printf("syscall"); break;
    default: printf("cfe %u", e->u.cfe.type); break;
    }
    print_event_ip(x, e);
}

static void print_tsx(const ptxed *x, const ipt_event *e)
{
    if (e->u.tsx.aborted) printf("aborted");
    else if (e->u.tsx.speculative) printf("begin transaction");
    else printf("committed");
    print_event_ip(x, e);
}

static void print_trig(const ptxed *x, const ipt_event *e)
{
    printf("trig %02x%s", e->u.trig.trbv, e->u.trig.mult ? ", mult" : "");
    print_event_ip(x, e);
    if (e->u.trig.icnt) printf(", icnt: %u", e->u.trig.icnt);
}

/* Does the packet of a PTWRITE event say that its IP is in the trace? libipt
 * does not work one out. */
static int has_fup(const ptxed *x, const ipt_event *e)
{
    ipt_pkt_decoder d = {.at = {.offset = 0}};
    ipt_packet p;
    return ipt_pkt_init(&d, &x->config, &x->trace) >= 0
        && ipt_pkt_sync_set(&d, e->offset) >= 0 && ipt_pkt_next(&d, &p) >= 0
        && p.u.ptw.has_ip;
}

/* PEBS blocks; libipt does not know them. */
static void print_pebs(const ptxed *x, const ipt_event *e)
{
    if (e->type == IPT_EVT_PEBS_BEGIN) {
        printf("pebs %x", e->u.pebs.id);
    } else if (e->type == IPT_EVT_PEBS_ITEM) {
        printf("pebs item %x: %" PRIx64, e->u.pebs.id, e->u.pebs.payload);
    } else {
        printf("pebs end");
        print_event_ip(x, e);
    }
}

static void print_body(const ptxed *x, const ipt_event *e)
{
    switch (e->type) {
    case IPT_EVT_ENABLED:
        printf(e->flags & IPT_EVENT_RESUMED ? "resumed" : "enabled");
        print_ip(x, "ip", e->ip, 0);
        break;
    case IPT_EVT_DISABLED:
        printf("disabled");
        print_ip(x, "ip", e->u.branch.to, e->flags & IPT_EVENT_NO_TO);
        break;
    case IPT_EVT_ASYNC_DISABLED:
        printf("disabled");
        print_branch(x, e, "at", "ip");
        break;
    case IPT_EVT_ASYNC_BRANCH:
        printf("interrupt");
        print_branch(x, e, "from", "to");
        break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        printf("paging, cr3: %016" PRIx64 "%s", e->u.paging.cr3,
               e->u.paging.nr ? ", nr" : "");
        print_ip(x, "ip", e->ip, e->type == IPT_EVT_PAGING);
        break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS:
        printf("vmcs, base: %016" PRIx64, e->u.vmcs.base & 0xffffffffff000);
        print_ip(x, "ip", e->ip, e->type == IPT_EVT_VMCS);
        break;
    case IPT_EVT_OVERFLOW:
        printf("overflow");
        print_event_ip(x, e);
        break;
    case IPT_EVT_EXEC_MODE:
        printf("exec mode: %s", mode_name(e->u.exec.mode));
        print_event_ip(x, e);
        break;
    case IPT_EVT_TSX: print_tsx(x, e); break;
    case IPT_EVT_STOP: printf("stopped"); break;
    case IPT_EVT_PTWRITE:
        printf("ptwrite: %" PRIx64, e->u.ptwrite.payload);
        if (has_fup(x, e)) print_event_ip(x, e);
        break;
    case IPT_EVT_EXSTOP:
        printf("exstop");
        print_event_ip(x, e);
        break;
    case IPT_EVT_MWAIT:
        printf("mwait %" PRIx32 " %" PRIx32, e->u.mwait.hints, e->u.mwait.ext);
        print_event_ip(x, e);
        break;
    case IPT_EVT_PWRE:
    case IPT_EVT_PWRX: print_power(e); break;
    case IPT_EVT_CBR: printf("cbr: %x", e->u.cbr.ratio); break;
    case IPT_EVT_MNT: printf("mnt: %" PRIx64, e->u.mnt.payload); break;
    case IPT_EVT_CFE: print_cfe(x, e); break;
    case IPT_EVT_TRIG: print_trig(x, e); break;
    case IPT_EVT_TICK:
        printf("tick");
        print_event_ip(x, e);
        break;
    case IPT_EVT_IFLAGS:
        printf("interrupts %s", e->u.exec.iflag ? "enabled" : "disabled");
        print_event_ip(x, e);
        break;
    case IPT_EVT_PEBS_BEGIN:
    case IPT_EVT_PEBS_ITEM:
    case IPT_EVT_PEBS_END: print_pebs(x, e); break;
    default: printf("event %u", e->type); break;
    }
}

static void print_event(const ptxed *x, const ipt_event *e)
{
    if (x->opt.quiet || (e->flags & IPT_EVENT_STATUS)) return;
    putchar('[');
    if (x->opt.offset) printf("%016" PRIx64 "  ", event_offset(x, e));
    if (x->opt.event_time && (e->flags & IPT_EVENT_TSC))
        printf("%016" PRIx64 "  ", e->tsc);
    print_body(x, e);
    printf("]\n");
}

/* Let sideband act that is due at an event. */
static void act(ptxed *x, const ipt_event *e)
{
    if (pevent_event(&x->sideband.session, e))
        (void) ipt_cache_invalidate(&x->cache, NULL, 0, 0);
}

/* Print the events that wait. */
static int drain(ptxed *x, int status)
{
    while (status >= 0 && (status & IPT_EVENT_PENDING)) {
        ipt_event event;
        status = next_event(x, &event);
        if (status < 0) break;
        x->events = 1;
        if (event.type == IPT_EVT_EXEC_MODE) x->mode = event.u.exec.mode;
        print_event(x, &event);
        act(x, &event);
    }
    return status == IPT_END ? 0 : status; // none was pending
}

/* ---- the trace ---- */

static int at_end(int status)
{
    return status == IPT_END || status == IPT_ERR_TRUNCATED;
}

/* Decode up to an error or the end of the trace; returns which. */
static int follow(ptxed *x, int status)
{
    for (;;) {
        status = drain(x, status);
        if (status < 0) return status;
        status = x->opt.insn_decoder ? step_insn(x) : step_block(x);
        if (status == IPT_EVENT_FIRST) status = IPT_EVENT_PENDING;
        if (status < 0) return status;
    }
}

/* libipt hands out the branch that trace and code disagree on. */
static uint64_t print_culprit(ptxed *x, int status)
{
    uint8_t bytes[15];
    const ipt_where *where = at(x);
    ipt_code code;
    shown s;
    memset(&s, 0, sizeof s);
    s.offset = offset_of(x, 0);
    s.ip = where->ip;
    s.bytes = bytes;
    s.mode = x->mode;
    if (fetch(x, &where->asid, &s, bytes, &code) < 0) return s.ip;
    x->insns++;
    print_insn(x, &s);
    return status == IPT_ERR_MISMATCH ? s.ip : s.ip + s.size;
}

static void print_failure(ptxed *x, int status)
{
    uint64_t ip = at(x)->ip;
    switch (status) {
    case IPT_ERR_MISMATCH:
    case IPT_ERR_RETURN:
    case IPT_ERR_RETCOMP: ip = print_culprit(x, status); break;
    case IPT_ERR_IMAGE:
    case IPT_ERR_BAD_INSN:
    case IPT_ERR_LOOP: break; // it happened at at.ip
    default: ip = x->something ? ip : 0; break;
    }
    x->error_ip = ip;
    print_error(offset_of(x, status), ip,
                x->something || x->events ? "error" : "sync error", status);
}

/* Synchronise onto the next PSB: 1, or 0 at the end. */
static int next_psb(ptxed *x, int *status)
{
    uint64_t offset = at(x)->offset;
    for (int tries = 0; tries < 2; tries++) { // as often as libipt's tool
        *status = sync_forward(x);
        if (*status >= 0) return 1;
        if (*status == IPT_END) return 0;
        print_error(offset_of(x, *status), 0, "sync error", *status);
        if (at(x)->offset != offset) tries = 0;
        offset = at(x)->offset;
    }
    return 0;
}

/* Go on after an error without a PSB; returns as follow. */
static int follow_on(ptxed *x, int status)
{
    while (x->opt.resync && !at_end(status)) {
        status = resync(x);
        if (at_end(status)) break;
        if (status < 0) {
            print_error(offset_of(x, status), x->error_ip, "resync error",
                        status);
            break;
        }
        status = follow(x, status);
        if (!at_end(status)) print_failure(x, status);
    }
    return status;
}

static void decode(ptxed *x)
{
    int status;
    pevent_start(&x->sideband.session);
    while (next_psb(x, &status)) {
        status = follow(x, status);
        if (!at_end(status)) {
            print_failure(x, status);
            status = follow_on(x, status);
        }
        if (at_end(status)) {
            if ((at(x)->valid & IPT_AT_IP) && !x->opt.quiet)
                printf("[end of trace]\n");
            return;
        }
    }
    if (!(at(x)->valid & IPT_AT_SYNC))
        fprintf(stderr, "ptxed: no PSB in the trace.\n");
}

static void print_stat(const ptxed *x)
{
    const options *o = &x->opt;
    int chosen = o->stat_insn || o->stat_blocks;
    if (o->stat_insn || (o->stat && !chosen))
        printf("insn: %" PRIu64 ".\n", x->insns);
    if (o->stat_blocks || (o->stat && !chosen && !o->insn_decoder))
        printf("blocks:\t%" PRIu64 ".\n", x->blocks);
}

/* ---- options ---- */

static int late(const ptxed *x)
{
    return x->file.data != NULL;
}

/* Code that is not there will not come, which is an error. IPT_NEED_PAGE would
 * make the block decoder wait for it. */
static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    int status = pevent_read(buffer, size, asid, ip, context);
    return status == IPT_NEED_PAGE ? IPT_ERR_IMAGE : status;
}

static uint64_t cs_base(const ipt_asid *asid, uint64_t ip, uint8_t mode,
                        void *context)
{
    return (void) asid, (void) ip, (void) mode, (void) context, the_cs_base;
}

/* What the options so far say of decoding. */
static void configure(ptxed *x)
{
    const options *o = &x->opt;
    ipt_config *c = &x->config;
    c->read = read_code;
    c->context = &x->sideband.session;
    c->cpuid_15_eax = (uint32_t) o->cpuid_eax;
    c->cpuid_15_ebx = (uint32_t) o->cpuid_ebx;
    c->mtc_freq = (uint8_t) o->mtc_freq;
    c->nom_freq = (uint8_t) o->nom_freq;
    memcpy(c->filter, o->filter, sizeof c->filter);
    c->flags = (o->event_tick ? IPT_CONFIG_TICKS : 0)
        | (o->event_iflags ? IPT_CONFIG_IFLAGS : 0)
        | (o->end_on_call ? IPT_CONFIG_END_ON_CALL : 0)
        | (o->end_on_jump ? IPT_CONFIG_END_ON_JUMP : 0);
    if (o->insn_decoder ? o->insn_keep_tcal : o->block_keep_tcal)
        c->flags |= IPT_CONFIG_KEEP_TCAL;
    if (o->cs_base) {
        the_cs_base = o->cs_base;
        c->cs_base = cs_base;
        c->flags |= IPT_CONFIG_RELATIVE_IP;
    }
    if (o->cpu.known
        && !ipt_cpu_errata(&c->errata, o->cpu.family, o->cpu.model))
        printf("[0, 0: config error: unknown cpu]\n");
}

static int parse_pt(tool_args *args, ptxed *x)
{
    const char *text = tool_argument(args, "--pt");
    int status;
    if (!text) return 1;
    if (late(x)) {
        fprintf(stderr, "%s: duplicate pt sources: %s.\n", args->program, text);
        return 1;
    }
    status = tool_load_argument(args, text, 1, &x->file);
    if (status) return status;
    x->piece.data = x->file.data;
    x->piece.size = x->file.size;
    x->trace.seg = &x->piece;
    x->trace.count = 1;
    configure(x);
    status = x->opt.insn_decoder
        ? ipt_insn_init(&x->insn, &x->config, &x->trace, &x->cache)
        : ipt_blk_init(&x->blk, &x->config, &x->trace, &x->cache);
    if (status >= 0) return -1;
    fprintf(stderr, "%s: %s.\n", args->program, ipt_status_cause(status));
    return 1;
}

static int parse_raw(tool_args *args, ptxed *x)
{
    const char *text = tool_argument(args, "--raw");
    if (!text) return 1;
    return code_add_raw(args, &x->code, text) ? 1 : -1;
}

static int parse_elf(tool_args *args, ptxed *x)
{
    const char *text = tool_argument(args, "--elf");
    if (!text) return 1;
    return code_add_elf(args, &x->code, text,
                        x->opt.verbose ? stdout : NULL) ? 1 : -1;
}

static int parse_map(tool_args *args, ptxed *x)
{
    const char *text = tool_argument(args, "--map");
    if (!text) return 1;
    return code_add_map(args, &x->code, text) ? 1 : -1;
}

static int parse_cpu(tool_args *args, ptxed *x)
{
    const char *text = tool_argument(args, "--cpu");
    if (!text) return 1;
    if (late(x)) {
        fprintf(stderr, "%s: please specify cpu before the pt source file.\n",
                args->program);
        return 1;
    }
    return tool_parse_cpu(args, text, &x->opt.cpu, "") ? 1 : -1;
}

static int parse_decoder(const tool_args *args, ptxed *x, const char *word)
{
    if (late(x)) {
        fprintf(stderr, "%s: please specify %s before the pt source file.\n",
                word, args->program); // the two are swapped in libipt's, too
        return 1;
    }
    x->opt.insn_decoder = strcmp(word, "--insn-decoder") == 0;
    return -1;
}

/* --filter:addr<n>_<what> */
static int parse_filter(tool_args *args, ptxed *x, const char *word)
{
    const char *what = word + 15;
    ipt_filter *filter = &x->opt.filter[word[13] - '0'];
    int kind = strcmp(what, "cfg") == 0;
    const char *const text = args->value ? args->value : *args->next;
    uint64_t value;
    if (!kind && strcmp(what, "a") != 0 && strcmp(what, "b") != 0) return 0;
    if (tool_number(args, word, 64, &value)) return 1;
    if (late(x)) {
        fprintf(stderr, "%s: please specify %s before --pt.\n", args->program,
                word);
        return 1;
    }
    if (kind && value > 15) {
        fprintf(stderr, "%s: %s: value too big: %s.\n", args->program, word,
                text);
        return 1;
    }
    if (kind) filter->kind = value > IPT_FILTER_STOP ? 0 : (uint8_t) value;
    else if (*what == 'a') filter->first = value;
    else filter->last = value;
    return -1;
}

static int is_filter(const char *word)
{
    return strncmp(word, "--filter:addr", 13) == 0 && word[13] >= '0'
        && word[13] <= '3' && word[14] == '_';
}

/* Options without an argument. */
static int set_flag(ptxed *x, const char *word)
{
    options *o = &x->opt;
    struct {
        const char *name;
        uint8_t *value;
    } flags[] = {
        {"--block:show-blocks", &o->show_blocks},
        {"--no-inst", &o->no_inst},
        {"--raw-insn", &o->raw_insn},
        {"--att", &o->att},
        {"--quiet", &o->quiet},
        {"-q", &o->quiet},
        {"--offset", &o->offset},
        {"--time", &o->time},
        {"--event:time", &o->event_time},
        {"--event:ip", &o->event_ip},
        {"--event:tick", &o->event_tick},
        {"--event:iflags", &o->event_iflags},
        {"--resync-on-error", &o->resync},
        {"--stat", &o->stat},
        {"--stat:insn", &o->stat_insn},
        {"--stat:blocks", &o->stat_blocks},
        {"--check", &o->check},
        {"--verbose", &o->verbose},
        {"-v", &o->verbose},
        {"--block:end-on-call", &o->end_on_call},
        {"--block:end-on-jump", &o->end_on_jump},
        {"--insn:keep-tcal-on-ovf", &o->insn_keep_tcal},
        {"--block:keep-tcal-on-ovf", &o->block_keep_tcal}
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0) return *flags[i].value = 1;
    return 0;
}

/* Options with a number. */
static int set_number(tool_args *args, ptxed *x, const char *word)
{
    struct {
        const char *name;
        unsigned bits;
        uint64_t *value;
    } numbers[] = {
        {"--mtc-freq", 8, &x->opt.mtc_freq},
        {"--nom-freq", 8, &x->opt.nom_freq},
        {"--cpuid-0x15.eax", 32, &x->opt.cpuid_eax},
        {"--cpuid-0x15.ebx", 32, &x->opt.cpuid_ebx},
        {"--iscache-limit", 64, &x->opt.iscache_limit},
        {"--cs-base", 32, &x->opt.cs_base}
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(word, numbers[i].name) == 0)
            return tool_number(args, word, numbers[i].bits, numbers[i].value)
                ? 1 : -1;
    return 0;
}

/* Each parse_ function returns -1 to go on, else the exit status. */
static int parse_option(tool_args *args, ptxed *x, const char *word)
{
    int status;
    if (!args->value) {
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return tool_help(args, help, CODE_FILES_HELP);
        if (strcmp(word, "--version") == 0) return tool_version(args);
    }
    if (strcmp(word, "--pt") == 0) return parse_pt(args, x);
    if (strcmp(word, "--raw") == 0) return parse_raw(args, x);
    if (strcmp(word, "--elf") == 0) return parse_elf(args, x);
    if (strcmp(word, "--map") == 0) return parse_map(args, x);
    if (strcmp(word, "--cpu") == 0) return parse_cpu(args, x);
    if (strcmp(word, "--insn-decoder") == 0
        || strcmp(word, "--block-decoder") == 0)
        return parse_decoder(args, x, word);
    if (set_flag(x, word)) return -1;
    status = set_number(args, x, word);
    if (status == 0 && is_filter(word)) status = parse_filter(args, x, word);
    if (status == 0)
        status = sideband_option(args, &x->sideband, word,
                                 x->opt.verbose ? stdout : NULL);
    if (status != 0) return status;
    return tool_unknown(args, word);
}

static int parse(tool_args *args, ptxed *x)
{
    int status = -1;
    while (status < 0 && *args->next) {
        const char *const word = tool_word(args);
        status = parse_option(args, x, word);
        if (status < 0 && args->value) status = tool_unknown(args, word);
    }
    if (status < 0 && x->opt.check && tool_cannot(args, "--check", TOOL_ZYDIS))
        return 1;
    if (status >= 0 || late(x)) return status;
    fprintf(stderr, "%s: no pt file.\n", args->program);
    return 1;
}

int main(int argc, char **argv)
{
    static ptxed x;
    ipt_cache_line *lines;
    tool_args args = tool_begin(argc, argv, "ptxed");
    int status;
    image_init(&x.code);
    sideband_init(&x.sideband, &x.code);
    lines = tool_lines(CACHE_LINES, &x.lines);
    status = lines ? ipt_cache_init(&x.cache, lines, CACHE_LINES) : 1;
    if (status == 0) status = parse(&args, &x);
    if (status < 0) {
        decode(&x);
        print_stat(&x);
        status = tool_end(&args, 0);
    }
    sideband_free(&x.sideband);
    image_free(&x.code);
    free(x.file.data);
    free(x.lines);
    return status;
}
