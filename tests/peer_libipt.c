/* peer_libipt.c: ipt against libipt (Debian's libipt-dev, 2.0.5).
 *
 *     peer_libipt [--traces DIR] [--suite DIR] [--record DIR]
 *                 [--fuzz SECONDS FIRST] [--other yes]
 *
 * Packets, query answers and instruction streams of both are compared, item by
 * item, on the same trace under the same configuration: on traces that this
 * file makes (always), on folders of hardware traces, on a decoder suite, on
 * recordings of ptrecord. Where they differ, one of the differences listed
 * below must explain it; how often each does is printed at the end.
 *
 * --other: the libipt.so.2 that is loaded is that of examples/compat.
 *
 * --fuzz changes the suite's traces, and those that this file makes, at random
 * for so many seconds. Its runs are numbered from FIRST on, and nothing but the
 * number decides what a run does: `--fuzz 0 NUMBER` repeats one. With the
 * environment's PEER_SAVE=dir traces that differ are kept there. */
#define _POSIX_C_SOURCE 200809L
#define IPT_IMPLEMENTATION
#include "../ipt.h"
#include "build.h"

#if defined(__has_include)
#if __has_include(<intel-pt.h>)
#define HAVE_LIBIPT 1
#endif
#endif

#ifndef HAVE_LIBIPT
TEST(libipt) { test_skip("libipt is missing (libipt-dev)"); }
int main(void)
{
    RUN(libipt);
    return test_report();
}
#else
#include <dirent.h>
#include <intel-pt.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

/* ---- the differences that are allowed ---- */

#define DIFFERENCES(X)                                                       \
    X(NEW_PACKET, "new-packet", "2.0.5 does not know CFE, EVD, TRIG, BBP, "  \
                                "BIP, BEP")                                  \
    X(LONG_PSB, "long-psb", "a PSB may have more than eight pairs; libipt "  \
                            "decodes the ninth as a broken PSB")             \
    X(STATUS, "status", "2.0.5 gives no status events for enabled, "         \
                        "disabled")                                          \
    X(PWRE_EARLY, "pwre-early", "2.0.5 gives pwre at once, not at PWRX")     \
    X(TIP_FIRST, "tip-first", "2.0.5 gives what binds to a TIP before it")   \
    X(EXEC_REPEAT, "exec-repeat", "2.0.5 gives exec_mode for every "         \
                                  "MODE.Exec, though it changes nothing")    \
    X(DISABLED, "disabled", "2.0.5 takes TNT and TIP while tracing is "      \
                            "disabled")                                      \
    X(SKD007, "skd007-packets", "2.0.5 applies SKD007 in its query layer "   \
                                "only")                                      \
    X(OVF_PENDING, "ovf-pending", "2.0.5 drops at OVF what waits for a "     \
                                  "packet, also while disabled")             \
    X(EXEC_FUP, "exec-fup", "2.0.5 does not bind MODE.Exec to a FUP")        \
    X(TIMING, "timing", "libipt stops at timing packets without sense")      \
    X(TIME_AHEAD, "time-ahead", "pt_insn_time counts what 2.0.5 has read " \
                                "ahead")                                     \
    X(NEW_INSN, "new-insn", "2.0.5 does not know JMPABS, UIRET, ERETS, "     \
                            "ERETU")                                         \
    X(TIME_FIRST, "time-first", "2.0.5 gives events the time of their "      \
                                "first packet, not of what they bind to")    \
    X(NO_CPUID, "no-cpuid", "without cpuid_15 libipt stops half-way through "\
                            "an MTC; ours counts it as lost")                \
    X(FCR_ZERO, "fcr-zero", "for libipt a cycle of less than 1/256 TSC tick "\
                            "is of unknown length, ours keeps the old one")  \
    X(HUGE_CYC, "huge-cyc", "libipt computes with CYCs that overflow, ours " \
                            "counts them as lost")                           \
    X(NO_STAMP, "no-stamp", "2.0.5 gives ptwrite, exstop, mwait, pwre, "     \
                            "pwrx, async_vmcs no time")                      \
    X(PGD_NO_IP, "pgd-no-ip", "2.0.5 takes a TIP.PGD without IP only at "    \
                              "MOV CR3 and far branches")                    \
    X(RETPOP, "retpop", "libipt pops its return stack only on compressed "   \
                        "returns, and does not clear it at PSB")             \
    X(UNDEFINED, "undefined", "libipt takes opcodes that mean nothing, "     \
                              "or gives them another length")      \
    X(WRAP, "wrap", "libipt does not wrap IPs of 16 and 32 bits")            \
    X(QUEUE, "queue", "2.0.5 keeps 7 events of a PSB+ at most")              \
    X(OVF_PSB, "ovf-psb", "for libipt a PSB+ or PSBEND after an OVF says "  \
                          "nothing about where that left off")               \
    X(INTO, "into", "libipt takes an INTO for a branch whatever the trace " \
                    "has")                                                   \
    X(CR3_PIP, "cr3-pip", "2.0.5 takes a TIP.PGD without IP for a MOV "      \
                          "CR3's although that one has its PIP")             \
    X(BDM70, "bdm70", "ours handles BDM70 without being told of it, with "   \
                      "several FUPs, with SKZ84, after a PSB+ without FUP")  \
    X(MWAIT, "mwait", "2.0.5 binds MWAIT to the next FUP, with or without "  \
                      "an EXSTOP that has one")                              \
    X(EXEC_PGD, "exec-pgd", "2.0.5 gives no disabled for a TIP.PGD that a "  \
                            "MODE.Exec binds to")                            \
    X(PGD_IP, "pgd-ip", "2.0.5 binds a TIP.PGD to a branch, ours to its IP, "\
                        "however flow comes there")                          \
    X(PASSED_IP, "passed-ip", "for libipt a FUP or TIP.PGD that an erratum " \
                              "lets it skip does not change the last IP")    \
    X(SKIPPED, "ovf-skipped", "libipt gives no events for what it skips "     \
                             "after an OVF, for an erratum")                 \
    X(PWRE_HW, "pwre-hw", "PWRE.HW is bit 7 in the SDM, bit 3 in libipt")    \
    X(SKZ84_CUT, "skz84-cut", "libipt gives SKZ84's packet though the "      \
                              "trace ends inside it")                        \
    X(PSB_CUT, "psb-cut", "libipt takes a broken PSB near the end for one "  \
                          "that is cut off")                                 \
    X(MODE, "mode", "libipt takes an unknown mode for 16 bits")              \
    X(PSBEND, "no-psbend", "ours takes a PSB+ without PSBEND")               \
    X(UNBOUND, "unbound", "a packet waits for its FUP or TIP: 2.0.5 says "  \
                          "no branches, or gives it up")                     \
    X(CONTEXT, "context", "2.0.5 takes packets where they may not stand: "   \
                          "FUP after FUP, PGE or STOP while enabled, ...")   \
    X(FUP0, "psb-fups", "a PSB+ without FUP, with a suppressed one, or with "\
                        "several: for 2.0.5 tracing goes on, or the first "  \
                        "one counts")                                        \
    X(EXEC_EARLY, "exec-early", "a MODE.Exec that binds to a TIP.PGD, or a " \
                                "TIP without IP: 2.0.5 changes the mode at " \
                                "once")                                      \
    X(PTW_ELSEWHERE, "ptw-elsewhere", "2.0.5 takes a PTW's IP only where a " \
                                      "PTWRITE is")                          \
    X(PTW_NOTE, "ptw-note", "libipt keeps a PTW without FUP for a PTWRITE, " \
                            "however far that is (C10)")                     \
    X(APL12_FUP, "apl12-fup", "for APL12 libipt looks past a second FUP, "   \
                              "which shows that tracing is enabled")         \
    X(OVF_BDM70, "ovf-bdm70", "for errata of overflows libipt believes the " \
                              "FUP of a PSB+ that is BDM70's, as TIP.PGE "   \
                              "is next")                                     \
    X(SKZ84_AHEAD, "skz84-ahead", "for errata of overflows libipt does not " \
                                  "look past what SKZ84 has spoilt")         \
    X(FUP_NO_IP, "fup-no-ip", "2.0.5 takes FUPs without IP")                 \
    X(VMCS_SWAPS, "vmcs-swaps", "a VMCS makes libipt put the PIP before it " \
                                "after all that waits for the TIP")          \
    X(CTC_OLD, "ctc-old", "libipt takes cycles off for MTCs that came "      \
                          "before the last TSC")                             \
    X(PSB_OVF, "psb-ovf", "2.0.5 takes a PSB+ that an OVF ends for one "     \
                          "without FUP")                                     \
    X(NEW_CPU, "new-cpu", "processors that came after 2.0.5")                \
    X(SKL014, "skl014-cpus", "2.0.5 thinks that Alder Lake and Sapphire "    \
                             "Rapids have SKL014")                           \
    X(LOOP, "loop", "libipt walks round code without trace for ever")        \
    X(BACKWARD, "backward", "libipt's search backward can find the same "    \
                            "PSB for ever")                                  \
    X(CYC_10, "cyc-10", "2.0.5 takes CYCs of 9 bytes at most")               \
    X(BDM64, "bdm64-between", "an event between makes libipt forget the "    \
                              "branch that BDM64 may have spoilt")           \
    X(HEADER_TIME, "header-time", "2.0.5 gives status events a time from "   \
                                  "within the PSB+, not of its end")         \
    X(STATUS_CBR, "status-cbr", "ours gives the events of a PSB+ together, " \
                                "at the IP of its FUP")                      \
    X(RESUMED, "resumed-cr3", "2.0.5: a MOV CR3 that disables tracing is "   \
                              "resumed after it; ours, as master: at it")    \
    X(RESUMED_0, "resumed-0", "2.0.5 takes 0 for where tracing was disabled "\
                              "when it does not know")                       \
    X(PSB_TWICE, "psb-twice", "with SKD010 libipt reads the PSB+ after an "  \
                              "OVF twice")                                   \
    X(TIME_LAST, "time-last", "with an erratum libipt gives overflow the "   \
                              "time of what decided, not of the OVF")        \
    X(OVF_TWICE, "ovf-twice", "with SKD010 libipt takes the IP of a second " \
                              "overflow for that of the first")              \
    X(EARLY, "early", "2.0.5 reports an error that it reads ahead, ours "   \
                      "when it gets there")

/* What stays different, and is not compared here; tests/check/suite.sh lists it
 * where the output of libipt's tools shows it:
 *
 *   S12  libipt cuts the ticks of each MTC to whole ones, so that its time
 *        falls back by up to one each. Here an MTC period has no fraction.
 *   S13  A CFE of type SYSCALL without IP comes before the SYSCALL, as one with
 *        an IP does, whose FUP has the address of the SYSCALL: the SDM has the
 *        event happen there, whether the packet says where or not. master's
 *        tools print it after the instruction, which its comment denies; 2.0.5
 *        does not know CFE.
 *   S14  An OVF while tracing is disabled completes what waits. master gives
 *        PWRE, then MWAIT and EXSTOP, one queue after the other; ours gives
 *        them in the order of their packets. */

#define X_ID(id, name, reason) D_##id,
enum { DIFFERENCES(X_ID) D_COUNT };
#define X_TEXT(id, name, reason) {name, reason},
static const struct {
    const char *name;
    const char *reason;
} differences[] = {DIFFERENCES(X_TEXT)};

enum { OWN, TRACES, SUITE, RECORD, FUZZ, PARTS };
static unsigned long long seen[D_COUNT][PARTS];
static unsigned long long items[3][PARTS]; /* packets, answers, instructions */
static unsigned long long runs[PARTS];

/* ---- random numbers ---- */

static uint64_t random_state;

static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

/* 0 .. n - 1 */
static unsigned random_below(unsigned n)
{
    return (unsigned) ((random64() >> 32) % n);
}

/* ---- code ---- */

typedef struct region {
    uint64_t base;
    uint64_t size;
    const uint8_t *bytes; /* NULL: zeros */
} region;

typedef struct image {
    region list[256]; /* by base, without overlap */
    size_t count;
    size_t last; /* the one asked for last */
} image;

static const region *image_find(image *code, uint64_t ip)
{
    const region *r = &code->list[code->last];
    if (code->count && ip - r->base < r->size) return r;
    for (size_t i = 0; i < code->count; i++) {
        r = &code->list[i];
        if (ip - r->base < r->size) {
            code->last = i;
            return r;
        }
    }
    return NULL;
}

/* Copy what is mapped from ip on; returns how many bytes that are. */
static size_t image_read(image *code, uint8_t *buffer, size_t size, uint64_t ip)
{
    size_t done = 0;
    while (code && done < size) {
        const region *r = image_find(code, ip + done);
        uint64_t skip;
        size_t n;
        if (!r) break;
        skip = ip + done - r->base;
        n = size - done < r->size - skip ? size - done
                                         : (size_t) (r->size - skip);
        if (r->bytes) memcpy(buffer + done, r->bytes + skip, n);
        else memset(buffer + done, 0, n);
        done += n;
    }
    return done;
}

static int read_ours(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    return (int) image_read(context, buffer, size, ip);
}

static int read_theirs(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                       uint64_t ip, void *context)
{
    int n = (int) image_read(context, buffer, size, ip);
    (void) asid;
    return n ? n : -pte_nomap;
}

/* ---- a trace under a configuration ---- */

typedef struct run {
    char name[200];
    int part;
    uint8_t *bytes;
    size_t size;
    image *code; /* NULL: packets and queries only */
    ipt_config config;
    struct pt_config peer;
    ipt_segment piece;
    ipt_trace trace;
    unsigned bdm70 : 1; /* theirs knows of that erratum; ours always does */
    ipt_packet *packets; /* our view of it, for conditions; NONE: an error */
    size_t count;
    int failures;
    int wild; /* no processor made it: an error on one side ends it */
} run;

/* Processors with one of these have BDM70, too. */
#define BDM70_TOO (IPT_ERRATUM_BDM64 | IPT_ERRATUM_SKD022)

/* Those about what follows an OVF. */
#define OVF_ERRATA \
    (IPT_ERRATUM_SKD010 | IPT_ERRATUM_APL11 | IPT_ERRATUM_APL12)

static void set_errata(struct pt_errata *to, uint32_t errata)
{
    memset(to, 0, sizeof *to);
    to->bdm64 = !!(errata & IPT_ERRATUM_BDM64);
    to->skd007 = !!(errata & IPT_ERRATUM_SKD007);
    to->skd022 = !!(errata & IPT_ERRATUM_SKD022);
    to->skd010 = !!(errata & IPT_ERRATUM_SKD010);
    to->skl014 = !!(errata & IPT_ERRATUM_SKL014);
    to->apl12 = !!(errata & IPT_ERRATUM_APL12);
    to->apl11 = !!(errata & IPT_ERRATUM_APL11);
    to->skl168 = !!(errata & IPT_ERRATUM_SKL168);
    to->skz84 = !!(errata & IPT_ERRATUM_SKZ84);
}

static void set_filter(struct pt_conf_addr_filter *to, const ipt_filter *from)
{
    to->config.addr_cfg = 0;
    for (int i = 0; i < IPT_FILTERS; i++)
        to->config.addr_cfg |= (uint64_t) from[i].kind << 4 * i;
    to->addr0_a = from[0].first;
    to->addr0_b = from[0].last;
    to->addr1_a = from[1].first;
    to->addr1_b = from[1].last;
    to->addr2_a = from[2].first;
    to->addr2_b = from[2].last;
    to->addr3_a = from[3].first;
    to->addr3_b = from[3].last;
}

/* libipt's configuration from ours. */
static void set_peer(run *r)
{
    struct pt_config *c = &r->peer;
    pt_config_init(c);
    c->begin = r->bytes;
    c->end = r->bytes + r->size;
    set_errata(&c->errata, r->config.errata);
    c->errata.bdm70 = r->bdm70;
    c->cpuid_0x15_eax = r->config.cpuid_15_eax;
    c->cpuid_0x15_ebx = r->config.cpuid_15_ebx;
    c->mtc_freq = r->config.mtc_freq;
    c->nom_freq = r->config.nom_freq;
    set_filter(&c->addr_filter, r->config.filter);
}

/* Decode the packets once, for conditions to look at. */
static void list_packets(run *r)
{
    ipt_pkt_decoder d;
    ipt_packet p;
    size_t room = 0;
    int status;
    r->count = 0;
    memset(&d, 0, sizeof d);
    ipt_pkt_init(&d, &r->config, &r->trace);
    status = ipt_pkt_sync_forward(&d);
    while (status >= 0) {
        status = ipt_pkt_next(&d, &p);
        if (r->count == room) {
            room = room * 2 + 64;
            r->packets = realloc(r->packets, room * sizeof *r->packets);
        }
        if (status < 0) {
            memset(&p, 0, sizeof p);
            p.offset = d.at.offset;
        }
        r->packets[r->count++] = p;
        if (status == IPT_ERR_OPCODE || status == IPT_ERR_PACKET)
            status = ipt_pkt_sync_forward(&d);
    }
}

static void run_begin(run *r, uint8_t *bytes, size_t size)
{
    r->bytes = bytes;
    r->size = size;
    r->piece.data = bytes;
    r->piece.size = size;
    memset(&r->trace, 0, sizeof r->trace);
    r->trace.seg = &r->piece;
    r->trace.count = 1;
    r->packets = NULL;
    r->failures = 0;
    r->config.read = read_ours;
    r->config.context = r->code;
    set_peer(r);
    list_packets(r);
    runs[r->part]++;
}

static void run_end(run *r)
{
    free(r->packets);
    r->packets = NULL;
}

/* The index of the first packet at or after an offset. */
static size_t packet_at(const run *r, uint64_t offset)
{
    size_t low = 0;
    size_t high = r->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->packets[middle].offset < offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

static unsigned long long ull(uint64_t value)
{
    return value;
}

/* Where a trace that shows an unexplained difference can be kept. */
static void save(const run *r)
{
    static int number;
    const char *dir = getenv("PEER_SAVE");
    char path[700];
    FILE *f;
    if (!dir || number > 200) return;
    snprintf(path, sizeof path, "%s/%03d.pt", dir, number++);
    f = fopen(path, "wb");
    if (!f) return;
    fwrite(r->bytes, 1, r->size, f);
    fclose(f);
    printf("    saved as %s\n", path);
}

/* A difference that nothing explains. */
static int unexplained(run *r, const char *layer, uint64_t offset,
                       const char *format, ...)
{
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r->failures++ == 0 && test_fail_("peer", 0, layer)) {
        printf("    %s, errata 0x%x%s, time %u/%u %u %u, at 0x%llx: %s\n",
               r->name, (unsigned) r->config.errata, r->bdm70 ? " bdm70" : "",
               (unsigned) r->config.cpuid_15_eax,
               (unsigned) r->config.cpuid_15_ebx, r->config.mtc_freq,
               r->config.nom_freq, ull(offset), text);
        save(r);
    }
    return 0;
}

/* A difference that is explained. */
static int allow(const run *r, int id)
{
    seen[id][r->part]++;
    return 1;
}

/* --other: the library does not have the faults of Debian's, and passes by what
 * its interface has no name for. */
static int is_other;

/* Do both errors say the same? */
static int same_error(int ours, int theirs)
{
    switch (ours) {
    case IPT_END:
    case IPT_ERR_TRUNCATED: return theirs == -pte_eos;
    case IPT_ERR_OPCODE: return theirs == -pte_bad_opc;
    case IPT_ERR_PACKET: return theirs == -pte_bad_packet;
    case IPT_ERR_CONTEXT: return theirs == -pte_bad_context;
    case IPT_ERR_NO_IP:
        return theirs == -pte_noip || theirs == -pte_ip_suppressed
               || theirs == -pte_bad_packet;
    case IPT_ERR_STATUS: return theirs == -pte_bad_status_update;
    case IPT_ERR_EVENTS: return theirs == -pte_nomem;
    case IPT_ERR_QUERY:
    case IPT_ERR_MISMATCH: return theirs == -pte_bad_query;
    case IPT_ERR_RETURN: return theirs == -pte_retstack_empty;
    case IPT_ERR_LOOP: return is_other && theirs == -pte_bad_query;
    case IPT_ERR_RETCOMP: return theirs == -pte_bad_retcomp;
    case IPT_ERR_BAD_INSN: return theirs == -pte_bad_insn;
    case IPT_NEED_PAGE: return theirs == -pte_nomap;
    case IPT_ERR_NOSYNC: return theirs == -pte_nosync;
    default: return 0;
    }
}

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
        return t->type == ppt_exstop && t->payload.exstop.ip == p->u.exstop.ip;
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
               && t->payload.ptw.ip == p->u.ptw.ip;
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
    if (status == IPT_ERR_PACKET && other == -pte_eos && r->size - at < 16
        && r->bytes[at] == 0x02 && r->bytes[at + 1] == 0x82)
        return allow(r, D_PSB_CUT);
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

/* Their type for one of ours, -1 if there is none in 2.0.5. */
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

/* What an event says, its time apart. */
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

/* Their first event, if it explains by itself why ours has none like it. */
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

/* Our first event waited for something when an overflow came, and has no IP
 * therefore; theirs lost it. */
static int events_lost(events *e)
{
    unsigned i = 0;
    while (i < e->peer_count
           && (e->theirs[i].type == ptev_cbr || e->theirs[i].type == ptev_mnt))
        i++;
    if (i >= e->peer_count || e->theirs[i].type != ptev_overflow
        || !(e->ours[0].flags & IPT_EVENT_NO_IP))
        return 0;
    i = 0;
    while (i < e->count && e->ours[i].type != IPT_EVT_OVERFLOW) i++;
    if (i == 0 || i == e->count) return 0;
    allow(e->r, D_OVF_PENDING);
    return events_drop_ours(e);
}

/* The clock after the packet at an offset, from the PSB before it on. */
static ipt_clock clock_at(const run *r, uint64_t sync, uint64_t offset)
{
    ipt_clock clock;
    ipt_time_init(&clock, &r->config);
    for (size_t i = packet_at(r, sync); i < r->count; i++) {
        if (r->packets[i].offset > offset) break;
        (void) ipt_time_packet(&clock, &r->packets[i]);
    }
    return clock;
}

/* Theirs has the time of some packet of the PSB+. */
static int header_time(const events *e, const ipt_event *o,
                       const struct pt_event *t)
{
    const run *r = e->r;
    size_t psb = packet_at(r, o->offset);
    ipt_clock c;
    while (psb > 0 && r->packets[psb].type != IPT_PKT_PSB) psb--;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, e->sync); i < r->count; i++) {
        (void) ipt_time_packet(&c, &r->packets[i]);
        if (i >= psb && c.has_tsc == t->has_tsc && c.tsc == t->tsc
            && c.lost_mtc == t->lost_mtc && c.lost_cyc == t->lost_cyc)
            return 1;
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
    ipt_clock c;
    unsigned n = 0;
    if (o->type != IPT_EVT_OVERFLOW || !(r->config.errata & OVF_ERRATA))
        return 0;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, e->sync); i < r->count && n < 20; i++) {
        (void) ipt_time_packet(&c, &r->packets[i]);
        if (r->packets[i].offset <= o->offset) continue;
        n++;
        if (c.has_tsc == t->has_tsc && c.tsc == t->tsc
            && c.lost_mtc == t->lost_mtc && c.lost_cyc == t->lost_cyc)
            return 1;
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

static int time_is(const ipt_clock *c, const struct pt_event *t)
{
    return t->has_tsc == c->has_tsc && t->tsc == c->tsc
           && t->lost_mtc == c->lost_mtc && t->lost_cyc == c->lost_cyc;
}

/* Is it what a clock shows, at one of some packets, that takes cycles off for
 * MTCs before the last TSC? */
static int ctc_old(const run *r, uint64_t sync, uint64_t from, uint64_t to,
                   const struct pt_event *t)
{
    ipt_clock c;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, sync); i < r->count; i++) {
        const uint32_t ctc = c.ctc_cyc_;
        if (r->packets[i].offset > to) break;
        if (r->packets[i].type == IPT_PKT_CYC && !r->config.cpuid_15_eax
            && c.fcr && !c.fc_ && c.ctc_ != c.ctc_cyc_)
            (void) ipt_time_calibrate(&c, &r->packets[i]);
        else (void) ipt_time_packet(&c, &r->packets[i]);
        if (r->packets[i].type == IPT_PKT_TSC) c.ctc_cyc_ = ctc;
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
        const ipt_clock c = clock_at(r, e->sync, at);
        if (r->packets[i].type == IPT_PKT_PIP
            && (time_is(&c, t) || ctc_old(r, e->sync, at, at, t)))
            return 1;
    }
    return 0;
}

/* Theirs has the time of the packet that the event began with, ours of the one
 * that it was bound to. */
static int time_of_first(const events *e, const ipt_event *o,
                         const struct pt_event *t)
{
    const ipt_clock c = clock_at(e->r, e->sync, o->offset);
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
    if (ctc_old(e->r, e->sync, o->offset, o->offset + 256, t))
        return allow(e->r, D_CTC_OLD);
    if (o->flags & IPT_EVENT_STATUS && header_time(e, o, t))
        return allow(e->r, D_HEADER_TIME);
    if (fcr_zero(e->r, e->sync, end)) return allow(e->r, D_FCR_ZERO);
    if (time_is(&c, t)
        || ((o->type == IPT_EVT_ASYNC_VMCS || o->type == IPT_EVT_ASYNC_PAGING)
            && time_of_pip(e, o, t)))
        return allow(e->r, D_TIME_FIRST);
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
 * number of FUPs, and of TMAs that SKZ84 has spoilt, which stop libipt. */
static int bdm70_at(const run *r, uint64_t offset)
{
    size_t i = packet_at(r, offset);
    int fup = 0;
    while (i > 0 && r->packets[i].type != IPT_PKT_PSB) i--;
    for (i++; i < r->count; i++) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_INVALID) fup++;
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
 * should tell it. */
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
            if (mwait && !p->u.exstop.ip) return 1;
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
 * Which one of them is missing cannot be told. */
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

/* Is there a FUP without IP outside of a PSB+? */
static int fup_no_ip(const run *r, uint64_t from, uint64_t to)
{
    int psb = 0;
    for (size_t i = packet_at(r, from); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_PSB) psb = 1;
        else if (p->type == IPT_PKT_PSBEND) psb = 0;
        else if (!psb && p->type == IPT_PKT_FUP && !p->u.ip.ipc) return 1;
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
    case IPT_PKT_PTW: return !p->u.ptw.ip;
    case IPT_PKT_EXSTOP: return !p->u.exstop.ip;
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

/* That PSB+ has no FUP, so that for theirs tracing is disabled. Ours takes a
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
    if (e->peer_count && exec_before_psb(e, to)) return D_CONTEXT;
    if (ovf_open_psb(e->r, e->sync, to)) return D_PSBEND;
    if (fup_no_ip(e->r, e->sync, to)) return D_FUP_NO_IP;
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
    if (f->ours == IPT_ERR_NO_IP && f->at->packet == IPT_PKT_FUP)
        return D_FUP_NO_IP;
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

/* ---- queries ---- */

typedef struct query {
    run *r;
    ipt_qry_decoder ours;
    struct pt_query_decoder *theirs;
    int our_status; /* of the last call */
    int their_status;
    int given; /* one side has just been asked for a branch */
    events e;
} query;

static uint64_t query_offset(const query *q)
{
    uint64_t offset = UINT64_MAX;
    (void) pt_qry_get_offset(q->theirs, &offset);
    return offset;
}

static int query_differs(query *q, const char *what)
{
    if (q->r->failures == 0 && test_.bad < 20) events_show(&q->e);
    return unexplained(q->r, "queries", q->ours.at.packet_offset,
                       "%s: ours %d, theirs %d at 0x%llx", what,
                       q->our_status, q->their_status, ull(query_offset(q)));
}

static void query_pull(query *q)
{
    events *e = &q->e;
    while (e->count < EVENTS_MAX && q->our_status > 0
           && q->our_status & IPT_EVENT_PENDING) {
        ipt_event event;
        q->our_status = ipt_qry_event(&q->ours, &event);
        if (q->our_status >= 0) events_add(e, &event);
    }
    while (e->peer_count < EVENTS_MAX && q->their_status > 0
           && q->their_status & pts_event_pending) {
        q->their_status = pt_qry_event(q->theirs, &e->theirs[e->peer_count],
                                       sizeof e->theirs[0]);
        if (q->their_status >= 0) e->peer_count++;
    }
}

/* Branches differ; it may be because of what came before them. */
static int query_elsewhere(query *q, const char *what)
{
    if (!exec_before_fup(q->r, q->e.sync, q->ours.at.packet_offset))
        return query_differs(q, what);
    allow(q->r, D_EXEC_FUP);
    return 0;
}

/* Our next is the TIP that their first event binds to. */
static int query_tip_first(const query *q)
{
    const struct pt_event *t = &q->e.theirs[0];
    return q->our_status >= 0 && q->their_status >= 0 && q->e.peer_count
           && !q->ours.tnt_count_ && q->ours.have_event_
           && q->ours.event_.type == IPT_EVT_TIP
           && (t->type == ptev_exec_mode || t->type == ptev_async_paging
               || t->type == ptev_async_vmcs);
}

/* Ask the one that has not failed for a branch: it should fail as well. */
static void query_provoke(query *q)
{
    int taken;
    uint64_t ip;
    if (q->our_status >= 0) {
        q->our_status = ipt_qry_cond_branch(&q->ours, &taken);
        if (q->our_status == IPT_ERR_QUERY)
            q->our_status = ipt_qry_indirect_branch(&q->ours, &ip);
    }
    if (q->their_status >= 0) {
        q->their_status = pt_qry_cond_branch(q->theirs, &taken);
        if (q->their_status == -pte_bad_query)
            q->their_status = pt_qry_indirect_branch(q->theirs, &ip);
    }
}

/* Theirs failed: does ours, too, when it gets to that packet? */
static int query_later(query *q)
{
    const uint64_t at = query_offset(q);
    ipt_qry_decoder d = q->ours;
    int status = q->our_status;
    int taken;
    uint64_t ip;
    ipt_event event;
    if (status < 0 || q->their_status >= 0) return 0;
    for (int i = 0; i < 300 && status >= 0; i++) {
        if (status & IPT_EVENT_PENDING) {
            status = ipt_qry_event(&d, &event);
            continue;
        }
        status = ipt_qry_cond_branch(&d, &taken);
        if (status == IPT_ERR_QUERY) status = ipt_qry_indirect_branch(&d, &ip);
    }
    return same_error(status, q->their_status)
           && near_packet(q->r, d.at.packet_offset, at);
}

/* One side failed: does anything explain it? It ends the section. */
static int query_failed(query *q)
{
    failure f = {q->r, 0, 0, query_offset(q), q->e.sync,
                 ptem_64bit, &q->ours.at, &q->ours.evt_};
    int d;
    if (!q->given) query_provoke(q);
    f.ours = q->our_status;
    f.theirs = q->their_status;
    if (!q->e.count && !q->e.peer_count && same_error(f.ours, f.theirs))
        return 0;
    d = explain_failure(&f);
    if (d < 0 && query_later(q)) d = D_EARLY;
    if (d >= 0) allow(q->r, d);
    else if (!ended(q->r, f.ours, f.theirs)) query_differs(q, "status");
    return 0;
}

/* The side that has no event may have an error in its place. */
static void query_ask(query *q)
{
    int taken;
    uint64_t ip;
    if (!q->e.count && q->our_status >= 0) {
        q->our_status = ipt_qry_cond_branch(&q->ours, &taken);
        if (q->our_status == IPT_ERR_QUERY)
            q->our_status = ipt_qry_indirect_branch(&q->ours, &ip);
    }
    if (!q->e.peer_count && q->their_status >= 0) {
        q->their_status = pt_qry_cond_branch(q->theirs, &taken);
        if (q->their_status == -pte_bad_query)
            q->their_status = pt_qry_indirect_branch(q->theirs, &ip);
    }
    q->given = 1;
}

static int query_events(query *q)
{
    events *e = &q->e;
    int fine;
    int d;
    do {
        query_pull(q);
        fine = events_match(e);
    } while (fine && is_pending(q->our_status, q->their_status)
             && e->count < EVENTS_MAX && e->peer_count < EVENTS_MAX);
    while (fine && !e->count && !query_tip_first(q) && events_extra(e)) { }
    if (fine && !e->count && (!e->peer_count || query_tip_first(q)))
        return q->our_status < 0 || q->their_status < 0 ? query_failed(q) : 1;
    d = explain_events(e, q->ours.at.packet_offset);
    if (d >= 0) {
        allow(q->r, d);
        return 0;
    }
    if (q->r->wild && (!e->count || !e->peer_count)) query_ask(q);
    if (q->our_status < 0 || q->their_status < 0) return query_failed(q);
    return query_differs(q, "events");
}

static int query_branch(query *q)
{
    int taken = -1;
    int peer_taken = -1;
    uint64_t ip = 0;
    uint64_t peer_ip = 0;
    q->our_status = ipt_qry_cond_branch(&q->ours, &taken);
    q->their_status = pt_qry_cond_branch(q->theirs, &peer_taken);
    if (q->our_status == IPT_ERR_QUERY && q->their_status == -pte_bad_query) {
        if (q->e.peer_count) allow(q->r, D_TIP_FIRST);
        q->our_status = ipt_qry_indirect_branch(&q->ours, &ip);
        q->their_status = pt_qry_indirect_branch(q->theirs, &peer_ip);
    }
    items[1][q->r->part]++;
    q->given = 1;
    if (q->our_status < 0 || q->their_status < 0) return query_failed(q);
    q->given = 0;
    if (taken != peer_taken) return query_elsewhere(q, "taken");
    if (ip != peer_ip || (q->our_status & IPT_IP_SUPPRESSED)
                             != (q->their_status & pts_ip_suppressed))
        return query_elsewhere(q, "target");
    return 1;
}

/* From one PSB to where either fails. */
static void query_section(query *q, uint64_t offset)
{
    uint64_t ip = 0;
    uint64_t peer_ip = 0;
    events_begin(&q->e, q->r, offset);
    q->given = 0;
    q->our_status = ipt_qry_sync_set(&q->ours, offset, &ip);
    q->their_status = pt_qry_sync_set(q->theirs, &peer_ip, offset);
    if (q->our_status < 0 || q->their_status < 0) {
        query_pull(q);
        if (q->their_status == -pte_eos) q->e.count = 0;
        query_failed(q);
        return;
    }
    while (query_events(q) && query_branch(q)) { }
}

/* The next PSB after what either decoder has seen, or 0. */
static uint64_t next_psb(const run *r, uint64_t ours, uint64_t theirs)
{
    uint64_t from = ours;
    if (theirs != UINT64_MAX && theirs > from) from = theirs;
    for (size_t i = packet_at(r, from + 1); i < r->count; i++)
        if (r->packets[i].type == IPT_PKT_PSB) return r->packets[i].offset;
    return 0;
}

static void compare_queries(run *r)
{
    query q;
    uint64_t offset;
    memset(&q, 0, sizeof q);
    if (r->count == 0) return;
    q.r = r;
    q.theirs = pt_qry_alloc_decoder(&r->peer);
    ipt_qry_init(&q.ours, &r->config, &r->trace);
    offset = r->packets[0].offset;
    do {
        query_section(&q, offset);
        offset = next_psb(r, q.ours.at.packet_offset, query_offset(&q));
    } while (offset);
    pt_qry_free_decoder(q.theirs);
}

/* ---- instructions ---- */

/* A model of a return stack: the addresses that calls pushed. */
typedef struct stack {
    uint64_t ip[IPT_RETURN_STACK_];
    unsigned count;
    uint64_t popped; /* the last one */
} stack;

typedef struct flow {
    run *r;
    ipt_insn_decoder ours;
    ipt_cache cache;
    struct pt_insn_decoder *theirs;
    int our_status;
    int their_status;
    ipt_insn insn; /* the last ones, equal unless they just differ */
    struct pt_insn peer;
    events e;
    stack our_stack;
    stack their_stack;
    uint64_t done; /* instructions since the PSB */
    int given;     /* one side has just been asked for an instruction */
    int returned;  /* the last instruction was a compressed return */
    int into;      /* ... or an INTO that ours has passed */
} flow;

static void stack_push(stack *s, uint64_t ip)
{
    if (s->count == IPT_RETURN_STACK_) {
        memmove(&s->ip[0], &s->ip[1], sizeof s->ip - sizeof s->ip[0]);
        s->count--;
    }
    s->ip[s->count++] = ip;
}

static void stack_pop(stack *s)
{
    s->popped = s->count ? s->ip[--s->count] : 0;
}

static uint64_t flow_offset(const flow *f)
{
    uint64_t offset = UINT64_MAX;
    (void) pt_insn_get_offset(f->theirs, &offset);
    return offset;
}

/* What a report is to say besides. */
static void flow_show(const flow *f)
{
    uint64_t tsc = 0;
    uint32_t mtc = 0;
    uint32_t cyc = 0;
    uint8_t code[15];
    int status = pt_insn_time(f->theirs, &tsc, &mtc, &cyc);
    events_show(&f->e);
    printf("      time %llx/%u/%u, theirs %d %llx/%u/%u\n      code",
           ull(f->ours.at.tsc), f->ours.at.lost_mtc, f->ours.at.lost_cyc,
           status, ull(tsc), mtc, cyc);
    for (size_t i = 0, n = image_read(f->r->code, code, 15, f->insn.ip); i < n;
         i++)
        printf(" %02x", code[i]);
    printf("\n");
}

static int flow_differs(flow *f, const char *what)
{
    if (f->r->failures == 0 && test_.bad < 20) flow_show(f);
    return unexplained(f->r, "instructions", f->ours.at.packet_offset,
                       "%s after %llu: ours %d %llx kind %d size %d mode %d, "
                       "theirs %d %llx class %d size %d mode %d at 0x%llx",
                       what, ull(f->done), f->our_status, ull(f->insn.ip),
                       f->insn.kind, f->insn.size, f->insn.mode,
                       f->their_status, ull(f->peer.ip), f->peer.iclass,
                       f->peer.size, f->peer.mode, ull(flow_offset(f)));
}

static void flow_pull(flow *f)
{
    events *e = &f->e;
    while (e->count < EVENTS_MAX && f->our_status > 0
           && f->our_status & IPT_EVENT_PENDING) {
        ipt_event event;
        f->our_status = ipt_insn_event(&f->ours, &event);
        if (f->our_status < 0) break;
        if (is_status(&event)) f->our_stack.count = 0;
        events_add(e, &event);
    }
    while (e->peer_count < EVENTS_MAX && f->their_status > 0
           && f->their_status & pts_event_pending) {
        f->their_status = pt_insn_event(f->theirs, &e->theirs[e->peer_count],
                                        sizeof e->theirs[0]);
        if (f->their_status >= 0) e->peer_count++;
    }
}

/* libipt's class of our kind. */
static enum pt_insn_class class_of(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_JCC: return ptic_cond_jump;
    case IPT_INSN_JMP:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS: return ptic_jump;
    case IPT_INSN_CALL:
    case IPT_INSN_CALL_INDIRECT: return ptic_call;
    case IPT_INSN_RET: return ptic_return;
    case IPT_INSN_FAR_CALL:
    case IPT_INSN_INT:
    case IPT_INSN_INTO:
    case IPT_INSN_SYSCALL:
    case IPT_INSN_VMCALL: return ptic_far_call;
    case IPT_INSN_FAR_JMP: return ptic_far_jump;
    case IPT_INSN_FAR_RET:
    case IPT_INSN_IRET:
    case IPT_INSN_UIRET:
    case IPT_INSN_VMENTRY: return ptic_far_return;
    case IPT_INSN_PTWRITE: return ptic_ptwrite;
    default: return ptic_other;
    }
}

/* Is it the instruction itself that ends tracing? */
static int insn_leaves(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    for (unsigned i = 0; i < w->out.count; i++)
        if (f->insn.flags & IPT_FLOW_DISABLED
            && w->out.events[i].type == IPT_EVT_DISABLED)
            return 1;
    return 0;
}

/* Does the instruction push an address that a return may take? */
static int insn_pushes(const flow *f)
{
    const ipt_insn *insn = &f->insn;
    uint8_t bytes[15];
    ipt_code code;
    if (insn->kind == IPT_INSN_CALL_INDIRECT)
        return !insn_leaves(f);
    if (insn->kind != IPT_INSN_CALL || insn_leaves(f)) return 0;
    return image_read(f->r->code, bytes, 15, insn->ip) >= insn->size
           && ipt_classify(&code, bytes, insn->size, insn->mode, NULL) == IPT_OK
           && code.displacement != 0;
}

/* Let the models follow the instruction both have just given. */
static void flow_stacks(flow *f)
{
    const ipt_insn *insn = &f->insn;
    f->into = insn->kind == IPT_INSN_INTO
              && f->ours.walk_.flow.ip == insn->ip + insn->size;
    f->returned = 0;
    if (insn_pushes(f)) {
        stack_push(&f->our_stack, insn->ip + insn->size);
        stack_push(&f->their_stack, insn->ip + insn->size);
    } else if (insn->kind == IPT_INSN_RET) {
        f->returned = packet_is(f->r, insn->offset, IPT_PKT_TNT_8)
                      || packet_is(f->r, insn->offset, IPT_PKT_TNT_64);
        stack_pop(&f->our_stack);
        if (f->returned) stack_pop(&f->their_stack);
    }
}

/* Theirs ends tracing at a MOV CR3 that has a PIP; ours goes on to what ends
 * it. */
static int flow_cr3(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    return f->insn.kind == IPT_INSN_MOV_CR3 && !f->e.count && f->e.peer_count
           && f->e.theirs[0].type == ptev_disabled && w->next.has_event
           && w->next.event.type == IPT_EVT_DISABLED
           && w->next.event.flags & IPT_EVENT_NO_TO
           && w->prev.taken & IPTI_TAKEN_PAGING;
}

/* Ours ends tracing where flow has come to the IP of a TIP.PGD without a
 * branch; theirs at a branch only. */
static int flow_at_target(const flow *f)
{
    const ipt_event *e = &f->e.ours[0];
    size_t i = packet_at(f->r, e->offset);
    while (f->e.count && i > 0 && !is_flow(f->r->packets[--i].type)
           && f->r->packets[i].type != IPT_PKT_TIP_PGE
           && f->r->packets[i].type != IPT_PKT_FUP) { } /* an OVF's */
    return f->e.count && e->type == IPT_EVT_DISABLED
           && !(e->flags & IPT_EVENT_NO_TO)
           && (f->done == 0 || f->r->packets[i].type == IPT_PKT_TIP
               || f->r->packets[i].type == IPT_PKT_TIP_PGE
               || f->r->packets[i].type == IPT_PKT_FUP
               || f->insn.kind == IPT_INSN_JCC
               || e->u.branch.to == f->insn.ip + f->insn.size
               || e->u.branch.to == f->insn.ip
               || e->u.branch.to == f->ours.walk_.flow.ip);
}

/* Ours ends tracing at a near branch, for a TIP.PGD without IP; theirs waits
 * for another one. */
static int flow_near(const flow *f)
{
    const ipt_event *e = &f->e.ours[0];
    const uint8_t kind = f->insn.kind;
    return f->e.count && !f->e.peer_count && e->type == IPT_EVT_DISABLED
           && e->flags & IPT_EVENT_NO_TO
           && (kind == IPT_INSN_JCC || kind == IPT_INSN_RET
               || kind == IPT_INSN_CALL_INDIRECT
               || kind == IPT_INSN_JMP_INDIRECT || kind == IPT_INSN_JMPABS);
}

/* Ours holds the first status event of a PSB+, which binds further on; theirs,
 * which does not have that one, goes on with what stands after it ... */
static int flow_held(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    return w->next.has_event && is_status(&w->next.event)
           && w->next.event.ip != w->flow.ip;
}

/* ... and gives at once those events that have no IP. */
static int flow_header(const flow *f)
{
    return !f->e.count && f->e.peer_count && flow_held(f);
}

/* Theirs gives events without IP; ours has such that wait for their IP. */
static int flow_waiting(const flow *f)
{
    return !f->e.count && f->e.peer_count && f->e.theirs[0].ip_suppressed
           && is_waiting(&f->ours.walk_.evt);
}

/* Did one of the last packets tell an IP that code of this mode cannot reach?
 * Ours wraps it. */
static int flow_beyond(const flow *f)
{
    const run *r = f->r;
    const size_t end = packet_at(r, f->ours.at.packet_offset + 1);
    if (f->ours.walk_.mode.now == IPT_MODE_64
        && (f->done == 0 || f->insn.mode == IPT_MODE_64))
        return 0;
    for (size_t i = end > 20 ? end - 20 : 0; i < end; i++) {
        const ipt_packet *p = &r->packets[i];
        if ((is_flow(p->type) || p->type == IPT_PKT_FUP
             || p->type == IPT_PKT_TIP_PGE)
            && p->type != IPT_PKT_TNT_8 && p->type != IPT_PKT_TNT_64
            && p->offset >= f->e.sync && p->u.ip.payload >> 32)
            return 1;
    }
    return 0;
}

/* Only a PSB+ with FUP has told ours that tracing is enabled; theirs, which
 * does not take it for that, gives at once what ours gives with an instruction.
 */
static int flow_status(const flow *f)
{
    const run *r = f->r;
    int psb = 0;
    if (f->e.count || !f->e.peer_count || !f->ours.walk_.flow.enabled
        || f->their_status < 0 || !(f->their_status & pts_ip_suppressed)
        || (f->e.theirs[0].type != ptev_paging
            && f->e.theirs[0].type != ptev_vmcs))
        return 0;
    for (size_t i = packet_at(r, f->ours.at.packet_offset); i-- > 0;) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_FUP) return psb;
        if (type == IPT_PKT_PSBEND) psb = 1;
        else if (!is_neutral(type) && type != IPT_PKT_PIP
                 && type != IPT_PKT_VMCS
                 && !(psb && (type == IPT_PKT_MODE_EXEC
                              || type == IPT_PKT_MODE_TSX)))
            return 0;
    }
    return 0;
}

/* A PTW that no PTWRITE caused, as ours says. */
static int is_note(const ipt_event *e)
{
    return e->type == IPT_EVT_PTWRITE && e->flags & IPT_EVENT_NO_IP;
}

/* A note before a branch: ours gives it there, theirs keeps it. */
static int flow_note(const flow *f)
{
    return f->our_status == IPT_EVENT_FIRST
           && is_note(&f->ours.walk_.out.events[0]);
}

/* A note after a PIP or VMCS that a far branch causes, and before the TIP of
 * that: ours gives all with the branch, in their order; theirs keeps the note.
 */
static int flow_note_far(const flow *f)
{
    const run *r = f->r;
    const ipt_event *e = &f->e.ours[0];
    const enum pt_insn_class far = class_of(f->insn.kind);
    size_t i;
    if (!f->e.count || f->e.peer_count || !is_note(e)
        || (far != ptic_far_call && far != ptic_far_jump
            && far != ptic_far_return))
        return 0;
    for (i = packet_at(r, e->offset); i-- > 0;) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_PIP || type == IPT_PKT_VMCS) return 1;
        if (is_flow(type) || ends_exec(type) || type == IPT_PKT_FUP
            || type == IPT_PKT_PSBEND)
            return 0;
    }
    return 0;
}

static int flow_explain(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    if (f->into) return D_INTO;
    if (flow_beyond(f)) return D_WRAP;
    if (f->returned && f->our_stack.popped != f->their_stack.popped)
        return D_RETPOP;
    if (!f->e.count && w->next.has_event
        && exec_before_pgd(f->r, &w->next.event))
        return D_EXEC_PGD;
    if (flow_cr3(f)) return D_CR3_PIP;
    if (flow_near(f)) return D_PGD_NO_IP;
    if (flow_at_target(f)) return D_PGD_IP;
    if (flow_status(f)) return D_STATUS;
    if (flow_note_far(f)) return D_PTW_NOTE;
    return explain_events(&f->e, f->ours.at.packet_offset);
}

/* The side that has no event may have an error in its place. */
static void flow_ask(flow *f)
{
    struct pt_insn peer;
    ipt_insn insn;
    if (!f->e.count && f->our_status >= 0)
        f->our_status = ipt_insn_next(&f->ours, &insn);
    if (!f->e.peer_count && f->their_status >= 0)
        f->their_status = pt_insn_next(f->theirs, &peer, sizeof peer);
    f->given = 1;
}

static int flow_failed(flow *f);

static int flow_events(flow *f)
{
    int fine;
    int d;
    do {
        flow_pull(f);
        fine = events_match(&f->e);
    } while (fine && is_pending(f->our_status, f->their_status)
             && f->e.count < EVENTS_MAX && f->e.peer_count < EVENTS_MAX);
    while (fine && !f->e.count && events_extra(&f->e)) { }
    if (fine && !f->e.count && !f->e.peer_count) return 1;
    if (fine && flow_header(f)) {
        allow(f->r, D_STATUS_CBR);
        return f->e.theirs[0].type == ptev_cbr
               || f->e.theirs[0].type == ptev_mnt;
    }
    if (flow_waiting(f)) {
        allow(f->r, D_UNBOUND);
        return 0;
    }
    d = flow_explain(f);
    if (d >= 0) {
        allow(f->r, d);
        return 0;
    }
    if (f->r->wild && (!f->e.count || !f->e.peer_count)) flow_ask(f);
    if (f->our_status < 0 || f->their_status < 0) return flow_failed(f);
    return flow_differs(f, "events");
}

static int flow_same(const flow *f)
{
    return f->insn.ip == f->peer.ip && f->insn.size == f->peer.size
           && same_exec_mode(f->insn.mode, f->peer.mode)
           && class_of(f->insn.kind) == f->peer.iclass
           && !(f->insn.flags & IPT_FLOW_SPECULATIVE) == !f->peer.speculative
           && !(f->insn.flags & IPT_FLOW_TRUNCATED) == !f->peer.truncated;
}

/* Is theirs the time at a packet that it has read, but ours has not used? */
static int flow_time_ahead(const flow *f, int status, uint64_t tsc,
                           uint32_t lost_mtc, uint32_t lost_cyc)
{
    const run *r = f->r;
    const uint64_t to = flow_offset(f);
    ipt_clock c;
    ipt_time_init(&c, &r->config);
    for (size_t i = packet_at(r, f->e.sync); i < r->count; i++) {
        if (r->packets[i].offset > to) break;
        (void) ipt_time_packet(&c, &r->packets[i]);
        if ((r->packets[i].offset >= f->insn.offset
             || r->packets[i].offset >= f->e.last)
            && !c.has_tsc == (status == -pte_no_time) && c.tsc == tsc
            && c.lost_mtc == lost_mtc && c.lost_cyc == lost_cyc)
            return 1;
    }
    return 0;
}

static int flow_time(flow *f)
{
    struct pt_event t;
    const ipt_where *at = &f->ours.at;
    uint64_t tsc;
    uint32_t lost_mtc;
    uint32_t lost_cyc;
    int status = pt_insn_time(f->theirs, &tsc, &lost_mtc, &lost_cyc);
    if (status == -pte_no_time && !(at->valid & IPT_AT_TSC)) return 1;
    if (status >= 0 && at->valid & IPT_AT_TSC && at->tsc == tsc
        && at->lost_mtc == lost_mtc && at->lost_cyc == lost_cyc)
        return 1;
    if (flow_time_ahead(f, status, tsc, lost_mtc, lost_cyc))
        return allow(f->r, D_TIME_AHEAD);
    if (mtc_without_cpuid(f->r, f->e.sync, flow_offset(f)))
        return allow(f->r, D_NO_CPUID);
    if (fcr_zero(f->r, f->e.sync, flow_offset(f)))
        return allow(f->r, D_FCR_ZERO);
    if (huge_cyc(f->r, f->e.sync, flow_offset(f)))
        return allow(f->r, D_HUGE_CYC);
    t.has_tsc = status != -pte_no_time;
    t.tsc = tsc;
    t.lost_mtc = lost_mtc;
    t.lost_cyc = lost_cyc;
    if (ctc_old(f->r, f->e.sync,
                f->insn.offset < f->e.last ? f->insn.offset : f->e.last,
                flow_offset(f), &t))
        return allow(f->r, D_CTC_OLD);
    return flow_differs(f, "time");
}

/* Let the one that has not failed go on: it should fail as well. */
static void flow_provoke(flow *f)
{
    if (f->our_status >= 0)
        f->our_status = ipt_insn_next(&f->ours, &f->insn);
    if (f->their_status >= 0)
        f->their_status = pt_insn_next(f->theirs, &f->peer, sizeof f->peer);
}

/* What code of a mode makes of an address. */
static uint64_t narrow(uint8_t mode, uint64_t ip)
{
    return mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

/* After a compressed return: did both take what our model says? */
static int flow_popped(const flow *f, uint64_t ip)
{
    const uint8_t mode =
        f->our_status < 0 ? f->ours.walk_.mode.now : f->insn.mode;
    return f->returned && narrow(mode, f->our_stack.popped) == ip
           && f->their_stack.popped == f->peer.ip
           && f->our_stack.popped != f->their_stack.popped;
}

/* Does theirs apply a MODE.Exec at once that ours has not come to? */
static int flow_exec_early(const flow *f, uint64_t to)
{
    const run *r = f->r;
    for (size_t i = packet_at(r, f->ours.at.packet_offset); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_MODE_EXEC
            && same_exec_mode(mode_of(p), f->peer.mode))
            return 1;
    }
    return 0;
}

/* Several MODE.Execs came before a TIP; of their events only one is kept in
 * mind. Theirs has applied the one of our next TIP, which goes to where flow is
 * already. */
static int flow_execs(const flow *f)
{
    const run *r = f->r;
    const ipt_walk_ *w = &f->ours.walk_;
    size_t i = packet_at(r, w->next.tip_offset);
    if (f->insn.ip != f->peer.ip || !w->next.has_tip
        || w->next.tip != f->insn.ip
        || !two_execs(r, f->e.sync, w->next.tip_offset))
        return 0;
    while (i-- > 0 && !is_flow(r->packets[i].type)
           && !ends_exec(r->packets[i].type)
           && r->packets[i].type != IPT_PKT_PSBEND)
        if (r->packets[i].type == IPT_PKT_MODE_EXEC)
            return same_exec_mode(mode_of(&r->packets[i]), f->peer.mode);
    return 0;
}

/* Ours has wrapped to what code of this mode can reach, theirs has not. */
static int flow_wrapped(const flow *f, uint64_t ip)
{
    return f->peer.ip != ip
           && narrow(f->ours.walk_.mode.now, f->peer.ip) == ip;
}

/* Why both are at different places, -1 if nothing explains it. */
static int flow_elsewhere(const flow *f, uint64_t ip)
{
    if (flow_popped(f, ip)) return D_RETPOP;
    return flow_wrapped(f, ip) ? D_WRAP : -1;
}

/* Theirs finds no place for a TIP.PGD without IP, ours a branch. */
static int flow_no_ip(const flow *f)
{
    const uint8_t kind = f->insn.kind;
    return f->given && f->our_status >= 0 && f->their_status == -pte_bad_query
           && f->insn.ip == f->peer.ip && f->insn.flags & IPT_FLOW_DISABLED
           && f->ours.walk_.out.events[0].type == IPT_EVT_DISABLED
           && f->ours.walk_.out.events[0].flags & IPT_EVENT_NO_TO
           && (kind == IPT_INSN_JCC || kind == IPT_INSN_RET
               || kind == IPT_INSN_CALL_INDIRECT
               || kind == IPT_INSN_JMP_INDIRECT || kind == IPT_INSN_JMPABS);
}

/* Ours ends tracing at a TIP.PGD that theirs uses up for a MODE.Exec. */
static int flow_exec_pgd(const flow *f)
{
    return f->given && f->our_status >= 0 && f->insn.flags & IPT_FLOW_DISABLED
           && exec_before_pgd(f->r, &f->ours.walk_.out.events[0]);
}

/* Theirs failed: does ours, too, when it gets to that packet? */
static int flow_later(const flow *f)
{
    const uint64_t at = flow_offset(f);
    ipt_insn_decoder d = f->ours;
    ipt_insn insn;
    int status = f->our_status;
    if (status < 0 || f->their_status >= 0) return 0;
    for (int i = 0; i < 3000 && status >= 0; i++)
        status = ipt_insn_next(&d, &insn);
    return same_error(status, f->their_status)
           && near_packet(f->r, d.at.packet_offset, at);
}

/* Opcodes that mean nothing and whose length therefore is open: VEX and EVEX
 * with any opcode, and UD0. */
static int is_open_length(const uint8_t *b)
{
    unsigned i = 0;
    while (i < 12 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf0
                      || (b[i] & 0xfe) == 0xf2 || (b[i] & 0xe7) == 0x26
                      || (b[i] & 0xfe) == 0x64 || (b[i] & 0xf0) == 0x40))
        i++;
    return b[i] == 0x62 || b[i] == 0xc4 || b[i] == 0xc5
           || (b[i] == 0x0f && b[i + 1] == 0xff);
}

/* Opcodes that mean nothing, by mode: what libipt's length decoder does not
 * look at. */
static int is_undefined(const uint8_t *b, uint8_t mode)
{
    static const uint8_t not_64[] = {
        0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60,
        0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd6, 0xea};
    unsigned i = 0;
    unsigned reg;
    while (i < 12 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf0
                      || (b[i] & 0xfe) == 0xf2 || (b[i] & 0xe7) == 0x26
                      || (b[i] & 0xfe) == 0x64
                      || (mode == IPT_MODE_64 && (b[i] & 0xf0) == 0x40)))
        i++;
    reg = b[i + 1] >> 3 & 7;
    switch (b[i]) {
    case 0xfe: return reg >= 2;
    case 0xff:
        return reg == 7 || ((reg == 3 || reg == 5) && b[i + 1] >= 0xc0);
    case 0xc6:
    case 0xc7: return reg != 0;
    case 0x8f: return reg != 0;
    case 0xd6: return 1;
    default: break;
    }
    for (unsigned k = 0; mode == IPT_MODE_64 && k < LENGTH(not_64); k++)
        if (b[i] == not_64[k]) return 1;
    return 0;
}

static int flow_undefined(const flow *f)
{
    uint8_t bytes[16] = {0};
    image_read(f->r->code, bytes, 15, f->ours.at.ip);
    return f->our_status == IPT_ERR_BAD_INSN && f->their_status >= 0
           && is_undefined(bytes, f->ours.walk_.mode.now);
}

/* Ours says that flow goes round for ever; does theirs? */
static int flow_loops(flow *f)
{
    const uint64_t at = flow_offset(f);
    struct pt_insn peer;
    if (f->our_status != IPT_ERR_LOOP || f->their_status < 0) return 0;
    for (int i = 0; i < 5000; i++)
        if (pt_insn_next(f->theirs, &peer, sizeof peer) < 0) return 0;
    return flow_offset(f) == at;
}

static int flow_failed(flow *f)
{
    failure x = {f->r, 0, 0, flow_offset(f), f->e.sync,
                 ptem_unknown, &f->ours.at, &f->ours.walk_.evt};
    int d;
    if (!f->given) flow_provoke(f);
    x.ours = f->our_status;
    x.theirs = f->their_status;
    x.their_mode = f->peer.mode;
    if (!f->e.count && !f->e.peer_count
        && same_error(x.ours, x.theirs))
        return 0;
    d = f->into
                || (f->insn.kind == IPT_INSN_INTO && f->our_status >= 0
                    && f->their_status < 0)
            ? D_INTO
            : explain_failure(&x);
    if (d < 0 && flow_no_ip(f)) d = D_PGD_NO_IP;
    if (d < 0 && flow_exec_pgd(f)) d = D_EXEC_PGD;
    if (d < 0 && flow_note(f)) d = D_PTW_NOTE;
    if (d < 0 && flow_later(f)) d = D_EARLY;
    if (d < 0 && flow_loops(f)) d = D_LOOP;
    if (d < 0 && flow_undefined(f)) d = D_UNDEFINED;
    if (d < 0 && f->our_status == IPT_ERR_RETURN && !f->our_stack.count
        && f->their_stack.count)
        d = D_RETPOP;
    if (d < 0 && f->given)
        d = flow_elsewhere(f, f->our_status < 0 ? f->ours.at.ip : f->insn.ip);
    if (d >= 0) allow(f->r, d);
    else if (!ended(f->r, x.ours, x.theirs)) flow_differs(f, "status");
    return 0;
}

/* Is it an instruction that 2.0.5 does not know: REX2 (JMPABS), UIRET, ERETS,
 * ERETU? */
static int insn_is_new(const flow *f)
{
    uint8_t b[19] = {0};
    const ipt_insn *insn = &f->insn;
    unsigned i = 0;
    int rep = 0;
    if (insn->mode != IPT_MODE_64) return 0;
    image_read(f->r->code, b, 15, insn->ip);
    while (i < 15 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf2
                      || b[i] == 0xf3 || (b[i] & 0xf0) == 0x40))
        rep |= (b[i++] & 0xfe) == 0xf2;
    return b[i] == 0xd5
           || (rep && b[i] == 0x0f && b[i + 1] == 0x01
               && (b[i + 2] == 0xec || b[i + 2] == 0xca));
}

static int flow_insn_differs(flow *f)
{
    const uint64_t to = flow_offset(f) > f->ours.at.packet_offset
                            ? flow_offset(f)
                            : f->ours.at.packet_offset;
    if (f->into) {
        allow(f->r, D_INTO);
        return 0;
    }
    if (f->e.have_exec && f->insn.ip == f->peer.ip
        && f->e.exec.variant.exec_mode.mode == f->peer.mode
        && f->e.exec.variant.exec_mode.ip == f->peer.ip
        && !same_exec_mode(f->insn.mode, f->peer.mode)) {
        allow(f->r, D_TIP_FIRST);
        return 0;
    }
    if (exec_before_fup(f->r, f->e.sync, to)) {
        allow(f->r, D_EXEC_FUP);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && (same_exec_mode(f->ours.walk_.mode.next, f->peer.mode)
            || (f->insn.flags & IPT_FLOW_DISABLED
                && same_exec_mode(f->ours.walk_.mode.now, f->peer.mode))
            || flow_exec_early(f, to))) {
        allow(f->r, D_EXEC_EARLY);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode) && flow_execs(f)) {
        allow(f->r, D_TIP_FIRST);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && psbend_alone(f->r, f->e.sync, f->ours.at.packet_offset)) {
        allow(f->r, D_CONTEXT);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && exec_before_ovf(f->r, f->e.sync, f->ours.at.packet_offset)) {
        allow(f->r, D_OVF_PENDING);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && exec_skipped(f->r, f->e.sync, to)) {
        allow(f->r, D_SKIPPED);
        return 0;
    }
    if (flow_held(f)) {
        allow(f->r, D_STATUS_CBR);
        return 0;
    }
    const int d = flow_elsewhere(f, f->insn.ip);
    if (d >= 0) {
        allow(f->r, d);
        return 0;
    }
    if (f->insn.ip == f->peer.ip && f->insn.size != f->peer.size
        && f->insn.kind == IPT_INSN_OTHER && f->peer.iclass == ptic_other) {
        uint8_t bytes[16] = {0};
        image_read(f->r->code, bytes, 15, f->insn.ip);
        if (is_open_length(bytes)) {
            allow(f->r, D_UNDEFINED);
            return 0;
        }
    }
    if (f->insn.ip == f->peer.ip && insn_is_new(f)) {
        allow(f->r, D_NEW_INSN);
        return 0;
    }
    return flow_differs(f, "instruction");
}

/* One instruction and the events after it. */
static int flow_step(flow *f)
{
    if (f->their_status >= 0 && f->their_status & pts_eos)
        f->their_status = -pte_eos;
    else
        f->their_status = pt_insn_next(f->theirs, &f->peer, sizeof f->peer);
    f->our_status = ipt_insn_next(&f->ours, &f->insn);
    f->given = 1;
    if (f->our_status < 0 || f->their_status < 0) return flow_failed(f);
    f->given = 0;
    items[2][f->r->part]++;
    f->done++;
    if (!flow_same(f)) return flow_insn_differs(f);
    flow_stacks(f);
    if (!flow_events(f)) return 0;
    return f->our_status < 0 || f->their_status < 0 || flow_time(f);
}

static void flow_section(flow *f, uint64_t offset)
{
    events_begin(&f->e, f->r, offset);
    f->e.place = &f->insn;
    f->our_stack.count = f->their_stack.count = 0;
    f->done = 0;
    f->given = f->returned = 0;
    memset(&f->insn, 0, sizeof f->insn);
    memset(&f->peer, 0, sizeof f->peer);
    f->our_status = ipt_insn_sync_set(&f->ours, offset);
    if (f->our_status >= 0
        && f->ours.walk_.item.full) { /* it waited for a page */
        ipt_insn before;
        f->our_status = ipt_insn_next(&f->ours, &before);
    }
    f->their_status = pt_insn_sync_set(f->theirs, offset);
    if (f->our_status < 0 || f->their_status < 0) {
        flow_pull(f);
        if (f->their_status == -pte_eos) f->e.count = 0;
        flow_failed(f);
    } else if (flow_events(f)) {
        while (flow_step(f)) { }
    }
}

static void compare_flow(run *r)
{
    static ipt_cache_line lines[1024];
    static flow f;
    struct pt_image *code;
    uint64_t offset;
    memset(&f, 0, sizeof f);
    if (r->count == 0) return;
    code = pt_image_alloc(NULL);
    f.r = r;
    f.theirs = pt_insn_alloc_decoder(&r->peer);
    pt_image_set_callback(code, read_theirs, r->code);
    pt_insn_set_image(f.theirs, code);
    ipt_cache_init(&f.cache, lines, LENGTH(lines));
    ipt_insn_init(&f.ours, &r->config, &r->trace, &f.cache);
    offset = r->packets[0].offset;
    do {
        flow_section(&f, offset);
        offset = next_psb(r, f.ours.at.packet_offset, flow_offset(&f));
    } while (offset);
    pt_insn_free_decoder(f.theirs);
    pt_image_free(code);
}

static void compare(run *r)
{
    compare_packets(r);
    compare_backward(r);
    compare_queries(r);
    if (r->code) compare_flow(r);
}

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
        const struct form *f = &forms[random_below(LENGTH(forms))];
        if (random_below(3) == 0) f = &forms[random_below(10)];
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
                        ? random_below(CODE_MAX)
                        : i + 1 + random_below(CODE_MAX - 1 - i);
        if (c->kind == IPT_INSN_CALL && random_below(8) == 0)
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
        e.u.paging.cr3 = (random64() & 0xffffffff) << 12;
        e.u.paging.nr = random_below(2) & 1;
        break;
    case IPT_EVT_VMCS: e.u.vmcs.base = (random64() & 0xffffff) << 12; break;
    case IPT_EVT_TSX:
        e.u.tsx.speculative = to & 1;
        e.u.tsx.aborted = to >> 1 & 1;
        break;
    case IPT_EVT_EXEC_MODE: e.u.exec.mode = (uint8_t) to; break;
    case IPT_EVT_PTWRITE:
        e.u.ptwrite.size = random_below(2) ? 8 : 4;
        e.u.ptwrite.payload = random64() >> (e.u.ptwrite.size == 8 ? 0 : 32);
        break;
    case IPT_EVT_CBR: e.u.cbr.ratio = (uint8_t) (1 + random_below(60)); break;
    default: e.u.branch.to = to; break;
    }
    ipt_gen_event(&m->gen, &e);
}

/* Go anywhere: sometimes to another program, of another mode. */
static void machine_jump(machine *m, int far)
{
    if (far && random_below(4) == 0) {
        m->p = &m->programs[random_below(3)];
        machine_event(m, IPT_EVT_EXEC_MODE, 0, m->p->mode);
        m->depth = 0;
    }
    m->at = random_below(CODE_MAX);
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
    switch (random_below(7)) {
    case 0:
        e.type = IPT_EVT_ASYNC_BRANCH;
        machine_jump(m, 1);
        e.u.branch.to = machine_ip(m);
        ipt_gen_event(&m->gen, &e);
        break;
    case 1:
        e.type = IPT_EVT_ASYNC_DISABLED;
        e.flags = random_below(2) ? IPT_EVENT_NO_TO : 0;
        e.u.branch.to = 0x123456;
        ipt_gen_event(&m->gen, &e);
        if (random_below(2)) machine_jump(m, 1);
        if (random_below(4) == 0) machine_event(m, IPT_EVT_STOP, 0, 0);
        if (random_below(4) == 0) machine_event(m, IPT_EVT_PAGING, 0, 0);
        machine_enable(m);
        break;
    case 2: machine_event(m, IPT_EVT_TSX, 0, random_below(2)); break;
    case 3:
        machine_event(m, IPT_EVT_TSX, 0, 2);
        e.type = IPT_EVT_ASYNC_BRANCH;
        m->at = random_below(CODE_MAX);
        e.u.branch.to = machine_ip(m);
        ipt_gen_event(&m->gen, &e);
        break;
    case 4:
        m->at = random_below(CODE_MAX);
        machine_event(m, IPT_EVT_OVERFLOW, 0, 0);
        break;
    case 5:
        machine_event(m, IPT_EVT_OVERFLOW, IPT_EVENT_NO_IP, 0);
        m->at = random_below(CODE_MAX);
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
    m->at = random_below(CODE_MAX);
    machine_enable(m);
}

/* Where a return goes: mostly where its call was. */
static void machine_return(machine *m)
{
    if (m->depth && random_below(16)) {
        const uint64_t ip = m->calls[--m->depth];
        for (m->at = 0; machine_ip(m) != ip; m->at++) { }
    } else {
        m->at = random_below(CODE_MAX);
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
    const int pip = kind == IPT_INSN_MOV_CR3 && random_below(2); /* or it ... */
    if (kind == IPT_INSN_PTWRITE)
        machine_event(m, IPT_EVT_PTWRITE, random_below(2) & 1, 0);
    if (pip) machine_event(m, IPT_EVT_PAGING, 0, 0);
    if (kind == IPT_INSN_VMPTRLD && random_below(2))
        machine_event(m, IPT_EVT_VMCS, 0, 0);
    if ((is_indirect(kind) && kind != IPT_INSN_RET && random_below(6) == 0)
        || (kind == IPT_INSN_MOV_CR3 && !pip /* ... may end tracing */
            && random_below(6) == 0)) {
        machine_leave(m, c);
        return;
    }
    m->at++;
    if (kind == IPT_INSN_MOV_CR3) m->cr3 = 1;
    else if (kind == IPT_INSN_JCC || is_indirect(kind)) m->cr3 = 0;
    if (kind == IPT_INSN_CALL || kind == IPT_INSN_CALL_INDIRECT)
        machine_call(m, c);
    if (is_direct(kind) && (kind != IPT_INSN_JCC || random_below(2)))
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
    config.psb_period = random_below(2) ? 64 + random_below(400) : 0;
    config.flags = random_below(4) ? 0 : IPT_CONFIG_NO_RETCOMP;
    memset(&m->code, 0, sizeof m->code);
    for (unsigned i = 0; i < 3; i++) {
        region *r = &m->code.list[2 - i];
        program_make(&m->programs[i], modes[i], bases[i]);
        r->base = bases[i];
        r->size = m->programs[i].size;
        r->bytes = m->programs[i].bytes;
    }
    m->code.count = 3;
    m->p = &m->programs[random_below(3)];
    m->at = random_below(CODE_MAX);
    m->depth = 0;
    m->cr3 = 0;
    CHECK_EQ(ipt_gen_init(&m->gen, &config, m->p->mode), IPT_OK);
    m->gen.out = m->out;
    m->gen.size = sizeof m->out;
    machine_enable(m);
    while (count-- > 0 && m->gen.size - m->gen.used > 16 * IPT_GEN_ROOM) {
        if (random_below(40) == 0) machine_outside(m);
        machine_insn(m);
    }
    if (random_below(2)) machine_event(m, IPT_EVT_ASYNC_DISABLED, 0, 0);
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
    p.type = types[random_below(LENGTH(types))];
    if (before == IPT_PKT_TSC && random_below(100)) p.type = IPT_PKT_TMA;
    else if (p.type == IPT_PKT_TMA && random_below(50)) p.type = IPT_PKT_CYC;
    timing_tsc += random_below(100000);
    switch (p.type) {
    case IPT_PKT_TSC: p.u.tsc.value = timing_tsc & 0xffffffffffffff; break;
    case IPT_PKT_TMA:
        p.u.tma.ctc = (uint16_t) random64();
        p.u.tma.fc = (uint16_t) random_below(512);
        break;
    case IPT_PKT_MTC: p.u.mtc.ctc = timing_ctc++; break;
    case IPT_PKT_CYC: p.u.cyc.value = random_below(3000); break;
    case IPT_PKT_CBR: p.u.cbr.ratio = (uint8_t) (1 + random_below(50)); break;
    default: p.size = 1 + random_below(9); break;
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
        while (p.offset && (before == IPT_PKT_TSC || random_below(n) == 0)
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
    unsigned n = 1 + random_below(4);
    while (n-- > 0 && size > 20) {
        const unsigned at = 16 + random_below((unsigned) size - 16);
        unsigned length = 1 + random_below(20);
        if (at + length > size) length = (unsigned) size - at;
        switch (random_below(6)) {
        case 0: bytes[at] ^= (uint8_t) (1u << random_below(8)); break;
        case 1: bytes[at] = (uint8_t) random64(); break;
        case 2:
            memmove(bytes + at, bytes + at + length, size - at - length);
            size -= length;
            break;
        case 3:
            if (size + length > room) break;
            memmove(bytes + at + length, bytes + at, size - at);
            size += length;
            break;
        case 4: size = random_below(8) ? size : at; break;
        default: {
            const unsigned to = random_below((unsigned) (size - length));
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
    const program *p = &m->programs[random_below(3)];
    if (random_below(12) == 0) return random64();
    return p->insn[random_below(CODE_MAX)].ip;
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
        p.u.tnt.count = (uint8_t) (1 + random_below(6));
        p.u.tnt.bits = random64() & ((1u << p.u.tnt.count) - 1);
        break;
    case IPT_PKT_TNT_64:
        p.u.tnt.count = (uint8_t) (1 + random_below(47));
        p.u.tnt.bits = random64() >> (64 - p.u.tnt.count);
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        p.u.ip.ipc = ipcs[random_below(LENGTH(ipcs))];
        if (bits[p.u.ip.ipc])
            p.u.ip.payload = random_ip(m) & ~(uint64_t) 0
                                                >> (64 - bits[p.u.ip.ipc]);
        break;
    case IPT_PKT_MODE_EXEC:
        p.u.exec.csl = random_below(2) & 1;
        p.u.exec.csd = !p.u.exec.csl && random_below(2);
        break;
    case IPT_PKT_MODE_TSX:
        p.u.tsx.intx = random_below(2) & 1;
        p.u.tsx.abrt = !p.u.tsx.intx && random_below(2);
        break;
    case IPT_PKT_PIP:
        p.u.pip.cr3 = (random64() & 0xffffff) << 12;
        p.u.pip.nr = random_below(2) & 1;
        break;
    case IPT_PKT_VMCS: p.u.vmcs.base = (random64() & 0xffffff) << 12; break;
    case IPT_PKT_PTW:
        p.u.ptw.plc = random_below(2) & 1;
        p.u.ptw.ip = random_below(2) & 1;
        p.u.ptw.payload = random64() >> (p.u.ptw.plc ? 0 : 32);
        break;
    case IPT_PKT_EXSTOP: p.u.exstop.ip = random_below(2) & 1; break;
    case IPT_PKT_MWAIT: p.u.mwait.hints = random_below(256); break;
    case IPT_PKT_PWRE: p.u.pwre.state = random_below(16) & 15; break;
    case IPT_PKT_PWRX: p.u.pwrx.last = random_below(16) & 15; break;
    case IPT_PKT_MNT: p.u.mnt.payload = random64(); break;
    case IPT_PKT_CFE:
        p.u.cfe.type = random_below(16) & 15;
        p.u.cfe.ip = random_below(2) & 1;
        break;
    case IPT_PKT_EVD:
        p.u.evd.type = (uint8_t) random_below(3);
        p.u.evd.payload = random64();
        break;
    case IPT_PKT_BBP: p.u.bbp.sz = random_below(2) & 1; break;
    case IPT_PKT_BEP: p.u.bep.ip = random_below(2) & 1; break;
    case IPT_PKT_TRIG: p.u.trig.trbv = (uint8_t) random64(); break;
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
    if (random_below(2)) put(w, m, IPT_PKT_PIP);
    if (random_below(4) == 0) put(w, m, IPT_PKT_VMCS);
    if (random_below(2)) put(w, m, IPT_PKT_MODE_EXEC);
    if (random_below(2)) put(w, m, IPT_PKT_MODE_TSX);
    if (enabled) put(w, m, IPT_PKT_FUP);
    if (random_below(16)) put(w, m, IPT_PKT_PSBEND);
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
    switch (random_below(24)) {
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
        if (random_below(4) == 0) put(w, m, IPT_PKT_PIP);
        if (random_below(8) == 0) put(w, m, IPT_PKT_VMCS);
        if (random_below(4) == 0) put(w, m, IPT_PKT_MODE_EXEC);
        put(w, m, random_below(3) ? IPT_PKT_TIP : IPT_PKT_TIP_PGD);
        break;
    case 10:
    case 11: put(w, m, IPT_PKT_TIP_PGD); return 0;
    case 12:
    case 13:
    case 14: put(w, m, IPT_PKT_TIP_PGE); return 1;
    case 15: put_psb(w, m, enabled); break;
    case 16:
        put(w, m, IPT_PKT_OVF);
        if (random_below(2)) put(w, m, IPT_PKT_FUP);
        break;
    case 17: put(w, m, IPT_PKT_STOP); break;
    case 18:
        if (random_below(8) == 0)
            put(w, m, new_ones[random_below(LENGTH(new_ones))]);
        break;
    case 19: put(w, m, IPT_PKT_FUP); break;
    default: put(w, m, others[random_below(LENGTH(others))]); break;
    }
    return enabled;
}

/* Packets in an order that mostly makes sense. */
static void put_stream(writer *w, const machine *m)
{
    int enabled = (int) random_below(2);
    unsigned n = 5 + random_below(60);
    w->size = 0;
    put_psb(w, m, enabled);
    while (n-- > 0 && w->size + 512 < sizeof w->bytes) {
        if (!enabled && random_below(2)) {
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
    r->bdm70 = random_below(2) & 1;
    r->config.cpuid_15_eax = 2;
    r->config.cpuid_15_ebx = 216;
    r->config.mtc_freq = 3;
    r->config.nom_freq = 24;
    if (random_below(2)) return;
    if (random_below(2))
        r->config.errata = (uint32_t) random64() & IPT_ERRATUM_ALL_;
    r->config.cpuid_15_eax = random_below(8) ? 1 + random_below(3) : 0;
    r->config.cpuid_15_ebx = 1 + random_below(300);
    r->config.mtc_freq = (uint8_t) random_below(13);
    if (r->config.cpuid_15_eax
        && (r->config.cpuid_15_ebx << r->config.mtc_freq)
               % r->config.cpuid_15_eax) /* S12 */
        r->config.cpuid_15_ebx *= r->config.cpuid_15_eax;
    r->config.nom_freq = (uint8_t) random_below(40);
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
    random_state = 0x1234567;
    for (unsigned i = 0; i < rounds; i++) {
        char name[60];
        size_t size = machine_run(&the_machine, 20 + random_below(600));
        snprintf(name, sizeof name, "program %u", i);
        compare_copy(name, the_machine.out, size, 0);
        size = add_timing(the_machine.out, size, bytes, sizeof bytes,
                          2 + random_below(6));
        snprintf(name, sizeof name, "program %u with time", i);
        compare_copy(name, bytes, size, 0);
    }
}

TEST(streams)
{
    static writer w;
    random_state = 0x89abcdef;
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
    random_state = 0x5a5a5a5a;
    for (unsigned i = 0; i < 8 * rounds; i++) {
        char name[60];
        size_t size;
        if (i % 2) {
            size = machine_run(&the_machine, 20 + random_below(100));
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
    {D_MWAIT, 0, 0, {START(0x1000), MWAIT(1, 0), FUP(0x1001), TIP(0x1060)},
     NULL},
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
    {D_PSB_OVF, IPT_ERRATUM_SKD007, 0,
     {PSB, EXEC64, FUP(0x1000), CYC(0x3e), CYC(0x1e), PGE(0x1000)}, NULL},
    {D_STATUS_CBR, 0, 0, {START(0x1000), PSB, CBR(5), EXEC64, FUP(0x1001),
                          PSBEND, FUP(0x1002), PGD0}, NULL},
    {D_PSB_TWICE, IPT_ERRATUM_SKD010, 0,
     {PSB, EXEC64, PSBEND, OVF, EXSTOP(0), START(0x1000), FUP(0x1001), PGD0},
     NULL},
    {D_FUP_NO_IP, 0, 0, {START(0x1000), PTW(0, 1, 1), FUP0, FUP(0x1001), PGD0},
     NULL},
    {D_FUP0, 0, 0, {START(0x1000), PSB, EXEC64, FUP0, PSBEND, TSX(1, 0),
                    PGE(0x1000), FUP(0x1001), PGD0}, NULL},
    {D_VMCS_SWAPS, 0, 0, {START(0x1000), FUP(0x1001), PIP(0x5000, 0),
                        PIP(0x6000, 0), VMCS(0x7000), TIP(0x1000)}, NULL},
    {D_CTC_OLD, 0, 0, {START(0x1000), TSC(0x1000), TMA(0x700, 1), CBR(5),
                       TSC(0x2000), CYC(5), FUP(0x1001), PGD0}, NULL},
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

/* Twelve pairs, and a ninth pair that is no broken PSB. */
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

/* ---- files ---- */

/* A whole file with a NUL after it; NULL if there is none. */
static uint8_t *load(const char *dir, const char *name, size_t *size)
{
    char path[900];
    FILE *f;
    uint8_t *data = NULL;
    long n;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    *size = 0;
    f = fopen(path, "rb");
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0) {
        rewind(f);
        data = calloc((size_t) n + 1, 1);
        if (data) *size = fread(data, 1, (size_t) n, f);
    }
    fclose(f);
    return data;
}

/* ---- a decoder suite ---- */

/* One run of the suite: a test, a cpu and options. */
typedef struct suite_row {
    char test[100];
    char cpu[20];
    uint64_t base;
    char options[400];
} suite_row;

/* Number after an option such as "--mtc-freq", 0 if it is not there. */
static uint64_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

static int suite_parse(char *line, suite_row *row)
{
    char *fields[9] = {0};
    int n = 0;
    for (char *at = line; at && n < 9; n++) {
        fields[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    if (n < 7 || strcmp(fields[0], "test") == 0) return 0;
    snprintf(row->test, sizeof row->test, "%s", fields[0]);
    snprintf(row->cpu, sizeof row->cpu, "%s", fields[2]);
    snprintf(row->options, sizeof row->options, "%s", fields[6]);
    row->base = strtoull(fields[5], NULL, 0);
    return 1;
}

static void suite_config(const suite_row *row, ipt_config *c)
{
    const char *o = row->options;
    unsigned family;
    unsigned model;
    memset(c, 0, sizeof *c);
    if (sscanf(row->cpu, "%u/%u", &family, &model) == 2)
        ipt_cpu_errata(&c->errata, (uint16_t) family, (uint8_t) model);
    c->mtc_freq = (uint8_t) option(o, "--mtc-freq ");
    c->nom_freq = (uint8_t) option(o, "--nom-freq ");
    c->cpuid_15_eax = (uint32_t) option(o, "--cpuid-0x15.eax ");
    c->cpuid_15_ebx = (uint32_t) option(o, "--cpuid-0x15.ebx ");
    c->filter[0].kind = (uint8_t) option(o, "--filter:addr0_cfg ");
    c->filter[0].first = option(o, "--filter:addr0_a ");
    c->filter[0].last = option(o, "--filter:addr0_b ");
}

static void suite_run(const char *dir, const suite_row *row)
{
    static image code;
    static run r;
    char name[700];
    size_t size;
    size_t code_size;
    uint8_t *bytes;
    uint8_t *bin;
    snprintf(name, sizeof name, "tests/%s/%s.pt", row->test, row->test);
    bytes = load(dir, name, &size);
    snprintf(name, sizeof name, "tests/%s/%s.bin", row->test, row->test);
    bin = load(dir, name, &code_size);
    if (!CHECK(bytes != NULL)) return;
    memset(&code, 0, sizeof code);
    code.count = 1;
    code.list[0].base = row->base;
    code.list[0].size = code_size;
    code.list[0].bytes = bin;
    memset(&r, 0, sizeof r);
    snprintf(r.name, sizeof r.name, "%s cpu %s", row->test, row->cpu);
    r.part = SUITE;
    r.code = code_size ? &code : NULL;
    suite_config(row, &r.config);
    r.bdm70 = !!(r.config.errata & BDM70_TOO);
    run_begin(&r, bytes, size);
    compare(&r);
    run_end(&r);
    free(bytes);
    free(bin);
}

/* Do two rows differ in nothing that matters here? */
static int suite_same(const suite_row *a, const suite_row *b)
{
    ipt_config ca;
    ipt_config cb;
    suite_config(a, &ca);
    suite_config(b, &cb);
    return strcmp(a->test, b->test) == 0 && strcmp(a->cpu, b->cpu) == 0
           && memcmp(&ca, &cb, sizeof ca) == 0;
}

static const char *suite_dir;

TEST(suite)
{
    suite_row last = {{0}, {0}, 0, {0}};
    size_t size;
    char *text = (char *) load(suite_dir, "index.tsv", &size);
    char *line = text;
    if (!CHECK(text != NULL)) return;
    while (line && *line) {
        suite_row row = {{0}, {0}, 0, {0}};
        char *end = strchr(line, '\n');
        if (end) *end++ = 0;
        if (suite_parse(line, &row) && !suite_same(&row, &last)) {
            suite_run(suite_dir, &row);
            last = row;
        }
        line = end;
    }
    free(text);
}

/* ---- folders of traces and recordings ---- */

#define FILES_MAX 8

/* The code of a case: its regions, and the files they lie in. */
typedef struct files {
    image code;
    char name[FILES_MAX][100];
    uint8_t *bytes[FILES_MAX];
    size_t size[FILES_MAX];
    unsigned count;
} files;

/* The index of a file; -1 if it cannot be read. */
static int files_open(files *f, const char *dir, const char *name)
{
    unsigned i = 0;
    while (i < f->count && strcmp(f->name[i], name) != 0) i++;
    if (i < f->count) return (int) i;
    if (i == FILES_MAX) return -1;
    f->bytes[i] = load(dir, name, &f->size[i]);
    if (!f->bytes[i]) return -1;
    snprintf(f->name[i], sizeof f->name[i], "%s", name);
    return (int) f->count++;
}

/* Read image.map: lines of base, length, file, offset. 0: not there. */
static int files_map(files *f, const char *dir)
{
    char path[900];
    char line[300];
    FILE *map;
    snprintf(path, sizeof path, "%s/image.map", dir);
    map = fopen(path, "r");
    if (!map) return 0;
    while (fgets(line, sizeof line, map)) {
        unsigned long long base;
        unsigned long long length;
        unsigned long long offset = 0;
        char name[100];
        region *r = &f->code.list[f->code.count];
        int n = sscanf(line, "%llx %llx %99s %llx", &base, &length, name,
                       &offset);
        if (n < 3 || !CHECK(f->code.count < LENGTH(f->code.list))) continue;
        r->base = base;
        r->size = length;
        r->bytes = NULL;
        if (strcmp(name, "-") != 0) {
            int i = files_open(f, dir, name);
            if (!CHECK(i >= 0 && offset + length <= f->size[i])) continue;
            r->bytes = f->bytes[i] + offset;
        }
        f->code.count++;
    }
    fclose(map);
    return 1;
}

static void files_close(files *f)
{
    for (unsigned i = 0; i < f->count; i++) free(f->bytes[i]);
}

/* A number of `meta`, 0 if it is not there. */
static uint64_t meta_number(const char *meta, const char *key)
{
    const char *at = meta ? strstr(meta, key) : NULL;
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void case_config(run *r, const char *meta)
{
    const char *cpu = meta ? strstr(meta, "\ncpu=") : NULL;
    unsigned family;
    unsigned model;
    if (cpu && sscanf(cpu, "\ncpu=%u/%u", &family, &model) == 2)
        ipt_cpu_errata(&r->config.errata, (uint16_t) family, (uint8_t) model);
    r->config.mtc_freq = (uint8_t) meta_number(meta, "\nmtc_freq=");
    r->config.nom_freq = (uint8_t) meta_number(meta, "\nnom_freq=");
    r->config.cpuid_15_eax = (uint32_t) meta_number(meta, "\ncpuid_15_eax=");
    r->config.cpuid_15_ebx = (uint32_t) meta_number(meta, "\ncpuid_15_ebx=");
    r->bdm70 = 1;
}

/* One folder with a trace.pt; 0 if there is none in it. */
static int case_run(const char *dir, int part)
{
    static run r;
    static files f;
    size_t size;
    size_t meta_size;
    uint8_t *bytes = load(dir, "trace.pt", &size);
    char *meta;
    if (!bytes) return 0;
    memset(&r, 0, sizeof r);
    memset(&f, 0, sizeof f);
    meta = (char *) load(dir, "meta", &meta_size);
    snprintf(r.name, sizeof r.name, "%.199s", dir);
    r.part = part;
    if (files_map(&f, dir)) r.code = &f.code;
    case_config(&r, meta);
    run_begin(&r, bytes, size);
    compare(&r);
    run_end(&r);
    files_close(&f);
    free(meta);
    free(bytes);
    return 1;
}

static void cases_run(const char *dir, int part)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int count = case_run(dir, part);
    while (d && (entry = readdir(d)) != NULL) {
        char path[600];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        count += case_run(path, part);
    }
    if (d) closedir(d);
    CHECK(count > 0);
}

static const char *traces_dir;
static const char *record_dir;

TEST(traces) { cases_run(traces_dir, TRACES); }

TEST(record) { cases_run(record_dir, RECORD); }

/* ---- fuzzing: what the suite has and this file makes, changed ---- */

#define SEEDS_MAX 400

static struct fuzz {
    struct {
        suite_row row;
        uint8_t *bytes;
        size_t size;
        uint8_t *code;
        size_t code_size;
    } seed[SEEDS_MAX];
    unsigned seeds;
    unsigned seconds;
    uint64_t number; /* of the run */
    run r;
    image code;
    machine maker;
    uint8_t bytes[1 << 15]; /* the trace, changed */
    size_t size;
} fuzz;

static void fuzz_crash(int sig)
{
    printf("signal %d in run %llu: %s\n", sig, ull(fuzz.number), fuzz.r.name);
    save(&fuzz.r);
    fflush(stdout);
    _exit(3);
}

static void fuzz_load(const char *dir)
{
    suite_row last = {{0}, {0}, 0, {0}};
    size_t size;
    char *text = (char *) load(dir, "index.tsv", &size);
    char *line = text;
    while (line && *line && fuzz.seeds < SEEDS_MAX) {
        suite_row row = {{0}, {0}, 0, {0}};
        char name[300];
        char *end = strchr(line, '\n');
        if (end) *end++ = 0;
        if (suite_parse(line, &row) && !suite_same(&row, &last)) {
            const unsigned i = fuzz.seeds++;
            fuzz.seed[i].row = last = row;
            snprintf(name, sizeof name, "tests/%s/%s.pt", row.test, row.test);
            fuzz.seed[i].bytes = load(dir, name, &fuzz.seed[i].size);
            snprintf(name, sizeof name, "tests/%s/%s.bin", row.test, row.test);
            fuzz.seed[i].code = load(dir, name, &fuzz.seed[i].code_size);
            if (!fuzz.seed[i].bytes) fuzz.seeds--;
        }
        line = end;
    }
    free(text);
    CHECK(fuzz.seeds > 0);
}

static void fuzz_append(const uint8_t *bytes, size_t size)
{
    if (!bytes || size > sizeof fuzz.bytes / 4 - fuzz.size) return;
    memcpy(fuzz.bytes + fuzz.size, bytes, size);
    fuzz.size += size;
}

/* One of the suite's traces, its code and its configuration. */
static void fuzz_suite(unsigned i)
{
    const suite_row *row = &fuzz.seed[i].row;
    ipt_filter filter[IPT_FILTERS];
    fuzz_append(fuzz.seed[i].bytes, fuzz.seed[i].size);
    if (random_below(6) == 0) {
        const unsigned more = random_below(fuzz.seeds);
        fuzz_append(fuzz.seed[more].bytes, fuzz.seed[more].size);
    }
    memset(&fuzz.code, 0, sizeof fuzz.code);
    fuzz.code.count = 1;
    fuzz.code.list[0].base = row->base;
    fuzz.code.list[0].size = fuzz.seed[i].code_size;
    fuzz.code.list[0].bytes = fuzz.seed[i].code;
    if (fuzz.seed[i].code_size) fuzz.r.code = &fuzz.code;
    suite_config(row, &fuzz.r.config);
    memcpy(filter, fuzz.r.config.filter, sizeof filter);
    if (random_below(3) == 0) random_config(&fuzz.r);
    memcpy(fuzz.r.config.filter, filter, sizeof filter);
    snprintf(fuzz.r.name, sizeof fuzz.r.name, "run %llu, %s cpu %s",
             ull(fuzz.number), row->test, row->cpu);
}

/* One of the traces that this file makes. */
static void fuzz_own(void)
{
    static writer w;
    const size_t size = machine_run(&fuzz.maker, 5 + random_below(60));
    if (random_below(2)) {
        fuzz_append(fuzz.maker.out, size);
    } else {
        put_stream(&w, &fuzz.maker);
        fuzz_append(w.bytes, w.size);
    }
    fuzz.r.code = &fuzz.maker.code;
    random_config(&fuzz.r);
    snprintf(fuzz.r.name, sizeof fuzz.r.name, "run %llu, made here",
             ull(fuzz.number));
}

static void fuzz_timing(void)
{
    static uint8_t timed[sizeof fuzz.bytes / 2];
    const size_t size = add_timing(fuzz.bytes, fuzz.size, timed, sizeof timed,
                                   3 + random_below(6));
    if (size <= 20) return;
    memcpy(fuzz.bytes, timed, size);
    fuzz.size = size;
}

/* Put a packet anywhere in between. */
static void fuzz_packet(void)
{
    static const uint8_t types[] = {
        IPT_PKT_TNT_8, IPT_PKT_TIP, IPT_PKT_FUP, IPT_PKT_TIP_PGE,
        IPT_PKT_TIP_PGD, IPT_PKT_MODE_EXEC, IPT_PKT_MODE_TSX, IPT_PKT_OVF,
        IPT_PKT_PSB, IPT_PKT_PSBEND, IPT_PKT_PTW, IPT_PKT_EXSTOP, IPT_PKT_MWAIT,
        IPT_PKT_PWRE, IPT_PKT_PWRX, IPT_PKT_PIP, IPT_PKT_VMCS, IPT_PKT_STOP,
        IPT_PKT_MNT};
    const ipt_packet p
        = random_packet(&the_machine, types[random_below(LENGTH(types))]);
    const unsigned at = random_below((unsigned) fuzz.size + 1);
    uint8_t bytes[32];
    const int n = ipt_pkt_encode(bytes, sizeof bytes, &p);
    if (!CHECK(n > 0)) return;
    memmove(fuzz.bytes + at + n, fuzz.bytes + at, fuzz.size - at);
    memcpy(fuzz.bytes + at, bytes, (size_t) n);
    fuzz.size += (size_t) n;
}

static void fuzz_run(void)
{
    run *r = &fuzz.r;
    uint8_t *copy;
    random_state = (fuzz.number + 1) * 0x9e3779b97f4a7c15u;
    timing_tsc = timing_ctc = 0;
    fuzz.size = 0;
    memset(r, 0, sizeof *r);
    r->part = FUZZ;
    r->wild = 1;
    if (fuzz.seeds && random_below(5)) fuzz_suite(random_below(fuzz.seeds));
    else fuzz_own();
    r->bdm70 = random_below(4) != 0;
    if (random_below(4) == 0) fuzz_timing();
    for (unsigned n = 1 + random_below(3); n > 0; n--) {
        const unsigned how = random_below(6);
        if (how < 2) fuzz_packet();
        if (how > 0) fuzz.size = mutate(fuzz.bytes, fuzz.size,
                                        sizeof fuzz.bytes - 200);
    }
    copy = malloc(fuzz.size + !fuzz.size); /* so that ASan sees its end */
    if (!CHECK(copy != NULL)) return;
    memcpy(copy, fuzz.bytes, fuzz.size);
    alarm(30);
    run_begin(r, copy, fuzz.size);
    compare(r);
    run_end(r);
    alarm(0);
    free(copy);
}

TEST(fuzz)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
    const time_t start = time(NULL);
    unsigned differ = 0;
    for (size_t i = 0; i < LENGTH(signals); i++) signal(signals[i], fuzz_crash);
    if (suite_dir) fuzz_load(suite_dir);
    random_state = 0x600d;
    machine_run(&the_machine, 10);
    do {
        fuzz_run();
        if (fuzz.r.failures && ++differ > 20) /* the others say more */
            printf("    run %llu differs, too\n", ull(fuzz.number));
        fuzz.number++;
    } while (difftime(time(NULL), start) < fuzz.seconds);
    printf("fuzz: %llu runs, %u differ for no known reason\n", runs[FUZZ],
           differ);
}

/* With --other, ours is on both sides. What is left are events and errors that
 * have no name in libipt's interface, or another one. */
TEST(no_faults)
{
    static const uint8_t is_left[D_COUNT] = {
        [D_NEW_PACKET] = 1, [D_LONG_PSB] = 1, [D_STATUS] = 1, [D_DISABLED] = 1,
        [D_MODE] = 1, [D_CONTEXT] = 1, [D_PTW_NOTE] = 1};
    for (int d = 0; d < D_COUNT; d++)
        for (int p = 0; p < PARTS; p++)
            if (!is_left[d] && !CHECK_EQ(seen[d][p], 0))
                printf("    %s\n", differences[d].name);
}

static void print_table(void)
{
    static const char *const parts[PARTS] = {"own", "traces", "suite",
                                             "record", "fuzz"};
    printf("%-14s", "allowed");
    for (int p = 0; p < PARTS; p++) printf(" %9s", parts[p]);
    printf("\n");
    for (int d = 0; d < D_COUNT; d++) {
        printf("%-14s", differences[d].name);
        for (int p = 0; p < PARTS; p++) printf(" %9llu", seen[d][p]);
        printf("  %s\n", differences[d].reason);
    }
    printf("wild traces that an error ended: %llu ours, %llu theirs, %llu "
           "both\n", ends[0], ends[1], ends[2]);
    for (int p = 0; p < PARTS; p++)
        if (runs[p])
            printf("%s: %llu runs, %llu packets, %llu answers, %llu "
                   "instructions\n", parts[p], runs[p], items[0][p],
                   items[1][p], items[2][p]);
}

int main(int argc, char **argv)
{
    int fuzzing = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--suite") == 0) suite_dir = argv[i + 1];
        if (strcmp(argv[i], "--traces") == 0) traces_dir = argv[i + 1];
        if (strcmp(argv[i], "--record") == 0) record_dir = argv[i + 1];
        if (strcmp(argv[i], "--other") == 0) is_other = 1;
        if (strcmp(argv[i], "--fuzz") == 0 && i + 2 < argc) {
            fuzzing = 1;
            fuzz.seconds = (unsigned) strtoul(argv[i + 1], NULL, 0);
            fuzz.number = strtoull(argv[i + 2], NULL, 0);
            i++;
        }
    }
    if (fuzzing) {
        RUN(fuzz);
        print_table();
        return test_report();
    }
    RUN(cases);
    RUN(long_psb);
    RUN(cpus);
    RUN(programs);
    RUN(streams);
    RUN(mutants);
    if (suite_dir) RUN(suite);
    if (traces_dir) RUN(traces);
    if (record_dir) RUN(record);
    if (is_other) RUN(no_faults);
    print_table();
    return test_report();
}
#endif /* HAVE_LIBIPT */
