/* ptdump: print the packets of an Intel PT trace, one a line.
 *
 *     ptdump [<options>] <ptfile>[:<from>[-<to>]]
 *
 * Options and output are those of libipt's ptdump.
 *
 * SPDX-License-Identifier: MIT */
#include "ipt.h"
#include "common/perf/sideband.h"
#include "common/code/tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: %s [<options>] <ptfile>[:<from>[-<to>]]\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  --no-sync                 begin at the start, not at the first PSB.\n"
    "  --quiet                   print errors only.\n"
    "  --no-pad                  no PAD packets.\n"
    "  --no-timing               no TSC, CBR, TMA, MTC, CYC packets.\n"
    "  --no-cyc                  no CYC packets.\n"
    "  --no-offset               no offset column.\n"
    "  --raw                     add the raw bytes.\n"
    "  --lastip                  add the last IP to FUP and TIP packets.\n"
    "  --exec-mode               add the mode to MODE.EXEC packets.\n"
    "  --cpu none|f/m[/s]        the cpu that was traced, for its errata.\n"
    "  --time                    track time; add it to timing packets.\n"
    "  --tcal                    track time; add the calibration.\n"
    "  --time-delta              print these two as differences.\n"
    "  --no-tcal                 do not calibrate.\n"
    "  --no-wall-clock           time without a TSC is relative, no error.\n"
    "  --keep-tcal-on-ovf        an overflow leaves the calibration.\n"
    "  --mtc-freq <n>            IA32_RTIT_CTL.MTCFreq.\n"
    "  --nom-freq <n>            nominal frequency in bus clocks.\n"
    "  --cpuid-0x15.eax <n>      TSC ticks are ebx / eax crystal clocks.\n"
    "  --cpuid-0x15.ebx <n>\n"
    SIDEBAND_HELP
    "\n"
    "Sideband is only printed: --sb:warn and --pevent:kernel-start, :sysroot,\n"
    ":kcore and :vdso-* are accepted, without effect. --pevent <file> is the\n"
    "same as --pevent:primary.\n"
    "\n"
    "Example: ptdump --lastip trace.pt\n";

typedef struct options {
    uint8_t no_sync;
    uint8_t quiet;
    uint8_t no_pad;
    uint8_t no_timing;
    uint8_t no_cyc;
    uint8_t no_offset;
    uint8_t raw;
    uint8_t lastip;
    uint8_t exec_mode;
    uint8_t time;
    uint8_t tcal;
    uint8_t time_delta;
    uint8_t no_tcal;
    uint8_t no_wall_clock;
    uint8_t keep_tcal_on_ovf;
    tool_cpu cpu;
    uint64_t mtc_freq;
    uint64_t nom_freq;
    uint64_t cpuid_eax;
    uint64_t cpuid_ebx;
    const char *file;
    sideband *sideband;
} options;

/* What the packets so far say of the IP. */
typedef struct last_ip {
    uint64_t ip;
    int have;
    int suppressed;
} last_ip;

typedef struct dumper {
    const options *opt;
    const tool_file *trace;
    ipt_config config;
    ipt_clock clock;
    last_ip last;
    uint64_t last_tsc; /* the values printed last */
    uint64_t last_fcr;
} dumper;

/* One line to print. */
typedef struct line {
    uint64_t offset;
    const uint8_t *raw;
    uint32_t raw_size;
    const char *opcode;
    char payload[80];
    const char *track; /* NULL: no tracking column */
    char value[32];
} line;

/* ---- lines ---- */

static void print_raw(const line *l)
{
    int width = 33;
    for (uint32_t i = 0; i < l->raw_size; i++) {
        printf("%02x", l->raw[i]);
        width -= 2;
    }
    printf("%*s ", width > 0 ? width : 0, "");
}

static void print_line(const dumper *d, const line *l)
{
    int empty = !l->payload[0];
    if (!d->opt->no_offset) printf("%016" PRIx64 "  ", l->offset);
    if (d->opt->raw) print_raw(l);
    printf("%-*s", empty ? 0 : 10, l->opcode);
    if (l->track)
        printf(" %-25s %-5s%s", l->payload, l->track, l->value);
    else if (!empty)
        printf(" %s", l->payload);
    putchar('\n');
}

#define PAYLOAD(l, ...) snprintf((l)->payload, sizeof(l)->payload, __VA_ARGS__)
#define VALUE(l, ...) snprintf((l)->value, sizeof(l)->value, __VA_ARGS__)

/* `text` as one more item of the payload. */
static void item(line *l, int present, const char *text)
{
    size_t used = strlen(l->payload);
    if (present)
        snprintf(l->payload + used, sizeof l->payload - used, "%s%s",
                 used ? ", " : "", text);
}

/* ---- IP packets ---- */

static void show_ip(line *l, const ipt_packet *p)
{
    static const int digits[] = {0, 4, 8, 16, 12, 0, 16, 0};
    static const char hidden[] = "????????????????";
    uint64_t ip = p->u.ip.payload;
    int n = digits[p->u.ip.ipc & 7];
    if (p->u.ip.ipc == 3 && ip >> 47 & 1) ip |= UINT64_MAX << 48;
    if (n)
        PAYLOAD(l, "%d: %.*s%0*" PRIx64, p->u.ip.ipc, 16 - n, hidden, n, ip);
    else
        PAYLOAD(l, "%d: %s", p->u.ip.ipc, hidden);
}

static void update_last_ip(last_ip *last, const ipt_packet *p)
{
    last->suppressed = ipt_pkt_last_ip(&last->ip, p) == 0;
    last->have |= !last->suppressed;
}

static void track_last_ip(dumper *d, line *l, const ipt_packet *p)
{
    update_last_ip(&d->last, p);
    l->track = "ip";
    if (!d->last.have) {
        printf("[%" PRIx64 ": error tracking last-ip: no ip]\n", p->offset);
        VALUE(l, "<unavailable>");
    } else if (d->last.suppressed) {
        VALUE(l, "<suppressed>");
    } else {
        VALUE(l, "%016" PRIx64, d->last.ip);
    }
}

/* ---- time ---- */

static int is_timing(uint8_t type)
{
    return type == IPT_PKT_TSC || type == IPT_PKT_TMA || type == IPT_PKT_MTC
        || type == IPT_PKT_CYC || type == IPT_PKT_CBR;
}

static void complain(const ipt_packet *p, const char *what, int status)
{
    printf("[%" PRIx64 ": %s: %s]\n", p->offset, what, tool_error_text(status));
}

/* Keep the clock up to date. */
static void track_time(dumper *d, const ipt_packet *p)
{
    int status = IPT_OK;
    if (p->type == IPT_PKT_CYC) {
        if (d->opt->no_cyc) return;
        if (!d->clock.fcr) complain(p, "calibration error", IPT_NO_TIME);
    }
    if (!d->opt->no_tcal) status = ipt_time_calibrate(&d->clock, p);
    if (status < 0) complain(p, "error calibrating time", status);
    status = ipt_time_update(&d->clock, p);
    if (status == IPT_NO_TIME)
        printf("[%" PRIx64 ": error updating time: no calibration]\n",
               p->offset);
    else if (status < 0)
        complain(p, "error updating time", status);
    if (is_timing(p->type))
        pevent_dump(&d->opt->sideband->session, d->clock.tsc);
}

static void show_tsc(dumper *d, line *l, const ipt_packet *p)
{
    uint64_t last = d->last_tsc;
    uint64_t tsc = d->clock.tsc;
    l->track = "tsc";
    if (!d->clock.has_tsc && !d->opt->no_wall_clock) {
        complain(p, "error printing time", IPT_NO_TIME);
        VALUE(l, "<unavailable>");
        return;
    }
    d->last_tsc = tsc;
    if (!d->opt->time_delta) VALUE(l, "%016" PRIx64, tsc);
    else if (tsc >= last) VALUE(l, "+%" PRIx64, tsc - last);
    else VALUE(l, "-%" PRIx64, last - tsc);
}

static void show_fcr(dumper *d, line *l, const ipt_packet *p)
{
    double last = (double) d->last_fcr / 65536;
    double fcr = (double) d->clock.fcr / 65536;
    l->track = "fcr";
    if (!d->clock.fcr) {
        complain(p, "error printing time", IPT_NO_TIME);
        VALUE(l, "<unavailable>");
        return;
    }
    d->last_fcr = d->clock.fcr;
    if (d->opt->time_delta) VALUE(l, "%+.3f", fcr - last);
    else VALUE(l, "%.3f", fcr);
}

/* The tracking column of timing packets. */
static void show_time(dumper *d, line *l, const ipt_packet *p)
{
    if (d->opt->time && p->type != IPT_PKT_CBR)
        show_tsc(d, l, p);
    if (d->opt->tcal && p->type != IPT_PKT_TMA && p->type != IPT_PKT_CYC)
        show_fcr(d, l, p);
}

/* ---- the other packets ---- */

static void show_tnt(line *l, const ipt_packet *p)
{
    unsigned n = p->u.tnt.count;
    for (unsigned i = 0; i < n; i++)
        l->payload[i] = p->u.tnt.bits >> (n - 1 - i) & 1 ? '!' : '.';
    l->payload[n] = 0;
}

static void show_exec(const dumper *d, line *l, const ipt_packet *p)
{
    static const char *const mode[] = {"16-bit", "32-bit", "64-bit", "unknown"};
    item(l, p->u.exec.csd, "cs.d");
    item(l, p->u.exec.csl, "cs.l");
    item(l, p->u.exec.iflag, "if");
    if (!d->opt->exec_mode) return;
    l->track = "em";
    VALUE(l, "%s", mode[(p->u.exec.csl ? 2 : 0) + (p->u.exec.csd ? 1 : 0)]);
}

/* C-states are sent as their number minus 1. */
static unsigned c_state(uint8_t raw)
{
    return (raw + 1u) & 15;
}

static void show_pwrx(line *l, const ipt_packet *p)
{
    static const char *const wake[] = {"bad", "int", " st", "bad",
                                       " hw", "bad", "bad", "bad"};
    unsigned which = (p->u.pwrx.interrupt ? 1u : 0)
        | (p->u.pwrx.store ? 2u : 0) | (p->u.pwrx.autonomous ? 4u : 0);
    PAYLOAD(l, "%s: c%u, c%u", wake[which], c_state(p->u.pwrx.last),
            c_state(p->u.pwrx.deepest));
}

static void show_cfe(line *l, const ipt_packet *p)
{
    static const char *const name[] = {
        "unknown", "intr", "iret", "smi", "rsm", "sipi", "init", "vmentry",
        "vmexit", "vmexit_intr", "shutdown", "unknown", "uintr", "uiret",
        "swintr", "syscall"
    };
    uint8_t type = p->u.cfe.type;
    if (type == IPT_CFE_INTR || type == IPT_CFE_VMEXIT_INTR
        || type == IPT_CFE_UINTR || type == IPT_CFE_SWINTR)
        PAYLOAD(l, "%u: %u", type, p->u.cfe.vector);
    else if (type == IPT_CFE_SIPI)
        PAYLOAD(l, "%u: %x", type, p->u.cfe.vector);
    else
        PAYLOAD(l, "%u", type);
    item(l, p->u.cfe.has_ip, "ip");
    l->track = "type";
    VALUE(l, "%s", name[type < 16 ? type : 0]);
}

static void show_evd(line *l, const ipt_packet *p)
{
    static const char *const name[] = {"cr2", "vmxq", "vmxr", "unknown"};
    PAYLOAD(l, "%u: %" PRIx64, p->u.evd.type, p->u.evd.payload);
    l->track = "type";
    VALUE(l, "%s", name[p->u.evd.type < 3 ? p->u.evd.type : 3]);
}

static void show_trig(line *l, const ipt_packet *p)
{
    char icnt[24];
    PAYLOAD(l, "%02x", p->u.trig.trbv);
    item(l, p->u.trig.has_ip, "ip");
    item(l, p->u.trig.mult, "mult");
    snprintf(icnt, sizeof icnt, "icnt: %u", p->u.trig.icnt);
    item(l, p->u.trig.icntv, icnt);
}

/* PEBS blocks; libipt does not know these packets. */
static void show_pebs(line *l, const ipt_packet *p)
{
    if (p->type == IPT_PKT_BBP)
        PAYLOAD(l, "%x: %d-byte items", p->u.bbp.type, p->u.bbp.sz ? 4 : 8);
    else if (p->type == IPT_PKT_BIP)
        PAYLOAD(l, "%x: %" PRIx64, p->u.bip.id, p->u.bip.payload);
    else
        item(l, p->u.bep.has_ip, "ip");
}

static const char *opcode(uint8_t type)
{
    static const char *const name[IPT_PKT_COUNT] = {
        "", "pad", "psb", "psbend", "ovf", "stop", "tnt.8", "tnt.64", "tip",
        "tip.pge", "tip.pgd", "fup", "mode.exec", "mode.tsx", "pip", "vmcs",
        "tsc", "cbr", "tma", "mtc", "cyc", "mnt", "ptw", "exstop", "mwait",
        "pwre", "pwrx", "bbp", "bip", "bep", "cfe", "evd", "trig", "<unknown>",
        "<invalid>", ""
    };
    return type < IPT_PKT_COUNT ? name[type] : "";
}

static void show_payload(dumper *d, line *l, const ipt_packet *p)
{
    switch (p->type) {
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64: show_tnt(l, p); break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        show_ip(l, p);
        if (d->opt->lastip) track_last_ip(d, l, p);
        break;
    case IPT_PKT_MODE_EXEC: show_exec(d, l, p); break;
    case IPT_PKT_MODE_TSX:
        item(l, p->u.tsx.intx, "intx");
        item(l, p->u.tsx.abrt, "abrt");
        break;
    case IPT_PKT_PIP:
        PAYLOAD(l, "%" PRIx64, p->u.pip.cr3);
        item(l, p->u.pip.nr, "nr");
        l->track = "cr3";
        VALUE(l, "%016" PRIx64, p->u.pip.cr3);
        break;
    case IPT_PKT_VMCS:
        PAYLOAD(l, "%" PRIx64, p->u.vmcs.base);
        l->track = "vmcs";
        VALUE(l, "%016" PRIx64, p->u.vmcs.base);
        break;
    case IPT_PKT_TSC: PAYLOAD(l, "%" PRIx64, p->u.tsc.value); break;
    case IPT_PKT_CBR: PAYLOAD(l, "%x", p->u.cbr.ratio); break;
    case IPT_PKT_TMA: PAYLOAD(l, "%x, %x", p->u.tma.ctc, p->u.tma.fc); break;
    case IPT_PKT_MTC: PAYLOAD(l, "%x", p->u.mtc.ctc); break;
    case IPT_PKT_CYC: PAYLOAD(l, "%" PRIx64, p->u.cyc.value); break;
    case IPT_PKT_MNT: PAYLOAD(l, "%" PRIx64, p->u.mnt.payload); break;
    case IPT_PKT_PTW:
        PAYLOAD(l, "%x: %" PRIx64, p->u.ptw.plc, p->u.ptw.payload);
        item(l, p->u.ptw.has_ip, "ip");
        break;
    case IPT_PKT_EXSTOP: item(l, p->u.exstop.has_ip, "ip"); break;
    case IPT_PKT_MWAIT:
        PAYLOAD(l, "%08" PRIx32 ", %08" PRIx32, p->u.mwait.hints,
                p->u.mwait.ext);
        break;
    case IPT_PKT_PWRE:
        PAYLOAD(l, "c%u.%u", c_state(p->u.pwre.state),
                c_state(p->u.pwre.sub_state));
        item(l, p->u.pwre.hw, "hw");
        break;
    case IPT_PKT_PWRX: show_pwrx(l, p); break;
    case IPT_PKT_BBP:
    case IPT_PKT_BIP:
    case IPT_PKT_BEP: show_pebs(l, p); break;
    case IPT_PKT_CFE: show_cfe(l, p); break;
    case IPT_PKT_EVD: show_evd(l, p); break;
    case IPT_PKT_TRIG: show_trig(l, p); break;
    default: break; // no payload
    }
}

/* ---- the trace ---- */

static int wanted(const options *opt, uint8_t type)
{
    return !opt->quiet && !(opt->no_pad && type == IPT_PKT_PAD)
        && !(opt->no_timing && is_timing(type))
        && !(opt->no_cyc && type == IPT_PKT_CYC);
}

static void print_packet(dumper *d, const ipt_packet *p)
{
    line l;
    uint32_t lines = p->type == IPT_PKT_PAD ? p->size : 1;
    memset(&l, 0, sizeof l);
    l.offset = p->offset;
    l.raw = d->trace->data + p->offset;
    l.raw_size = p->size / lines;
    if (p->type == IPT_PKT_OVF) l.raw_size = 2; // SKD007's consumes three
    l.opcode = opcode(p->type);
    if (d->opt->time || d->opt->tcal || d->opt->sideband->is_used)
        track_time(d, p);
    show_payload(d, &l, p);
    if (!wanted(d->opt, p->type)) return;
    if (is_timing(p->type)) show_time(d, &l, p);
    for (; lines; lines--, l.offset++, l.raw++) print_line(d, &l);
}

/* Print packets up to one that cannot be decoded; returns why. */
static int dump_packets(dumper *d, ipt_pkt_decoder *decoder)
{
    ipt_packet packet;
    int status = ipt_pkt_next(decoder, &packet);
    for (; status >= 0; status = ipt_pkt_next(decoder, &packet))
        print_packet(d, &packet);
    return status;
}

static int dump_trace(dumper *d, ipt_pkt_decoder *decoder)
{
    int status = d->opt->no_sync ? ipt_pkt_sync_set(decoder, 0)
                                 : ipt_pkt_sync_forward(decoder);
    while (status >= 0) {
        status = dump_packets(d, decoder);
        if (status == IPT_ERR_TRUNCATED)
            fprintf(stderr, "ptdump: the trace ends inside the packet at "
                    "%" PRIx64 ".\n", decoder->at.offset);
        if (status == IPT_END || status == IPT_ERR_TRUNCATED) return 0;
        printf("[%" PRIx64 ": error decoding packet: %s]\n",
               decoder->at.offset, tool_error_text(status));
        memset(&d->last, 0, sizeof d->last);
        (void) ipt_time_init(&d->clock, &d->config);
        d->last_tsc = d->last_fcr = 0;
        status = ipt_pkt_sync_forward(decoder);
    }
    if (status == IPT_END && !(decoder->at.valid & IPT_AT_SYNC))
        fprintf(stderr, "ptdump: no PSB in the trace.\n");
    if (status == IPT_END) return 0;
    printf("[0: sync error: %s]\n", tool_error_text(status));
    return 1;
}

static void configure(ipt_config *config, const options *opt)
{
    config->cpuid_15_eax = (uint32_t) opt->cpuid_eax;
    config->cpuid_15_ebx = (uint32_t) opt->cpuid_ebx;
    config->mtc_freq = (uint8_t) opt->mtc_freq;
    config->nom_freq = (uint8_t) opt->nom_freq;
    config->flags = opt->keep_tcal_on_ovf ? IPT_CONFIG_KEEP_TCAL : 0;
    if (opt->cpu.known
        && !ipt_cpu_errata(&config->errata, opt->cpu.family, opt->cpu.model))
        printf("[0: failed to determine errata: unknown cpu]\n");
}

static int dump_file(const options *opt, const tool_file *file)
{
    ipt_segment piece = {file->data, file->size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_pkt_decoder decoder;
    dumper d;
    int status;
    memset(&d, 0, sizeof d);
    d.opt = opt;
    d.trace = file;
    configure(&d.config, opt);
    status = ipt_time_init(&d.clock, &d.config);
    if (status >= 0) status = ipt_pkt_init(&decoder, &d.config, &trace);
    if (status >= 0) {
        pevent_start(&opt->sideband->session);
        status = dump_trace(&d, &decoder);
        pevent_dump(&opt->sideband->session, UINT64_MAX);
        return status;
    }
    fprintf(stderr, "ptdump: %s.\n", tool_error_text(status));
    return 1;
}

/* ---- options ---- */

static int set_flag(options *opt, const char *word)
{
    struct {
        const char *name;
        uint8_t *value;
    } flags[] = {
        {"--no-sync", &opt->no_sync},
        {"--quiet", &opt->quiet},
        {"--no-pad", &opt->no_pad},
        {"--no-timing", &opt->no_timing},
        {"--no-cyc", &opt->no_cyc},
        {"--no-offset", &opt->no_offset},
        {"--raw", &opt->raw},
        {"--lastip", &opt->lastip},
        {"--exec-mode", &opt->exec_mode},
        {"--time", &opt->time},
        {"--tcal", &opt->tcal},
        {"--time-delta", &opt->time_delta},
        {"--no-tcal", &opt->no_tcal},
        {"--no-wall-clock", &opt->no_wall_clock},
        {"--keep-tcal-on-ovf", &opt->keep_tcal_on_ovf}
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0) return *flags[i].value = 1;
    return 0;
}

static int parse_cpu(tool_args *args, options *opt)
{
    const char *text = tool_argument(args, "--cpu");
    return text ? tool_parse_cpu(args, text, &opt->cpu, "") : 1;
}

static int parse_option(tool_args *args, options *opt, const char *word)
{
    int status;
    if (set_flag(opt, word)) {
        if (strcmp(word, "--quiet") == 0) opt->sideband->session.flags = 0;
        if (!opt->time || !opt->tcal) return 0;
        fprintf(stderr, "%s: specify either --time or --tcal.\n",
                args->program);
        return 1;
    }
    if (strcmp(word, "--cpu") == 0) return parse_cpu(args, opt);
    if (strcmp(word, "--mtc-freq") == 0)
        return tool_number(args, word, 8, &opt->mtc_freq);
    if (strcmp(word, "--nom-freq") == 0)
        return tool_number(args, word, 8, &opt->nom_freq);
    if (strcmp(word, "--cpuid-0x15.eax") == 0)
        return tool_number(args, word, 32, &opt->cpuid_eax);
    if (strcmp(word, "--cpuid-0x15.ebx") == 0)
        return tool_number(args, word, 32, &opt->cpuid_ebx);
    status = sideband_option(args, opt->sideband, word, NULL);
    if (status) return status < 0 ? 0 : status;
    return tool_unknown(args, word);
}

/* Read the command line: -1 to go on, else the exit status. */
static int parse(tool_args *args, options *opt)
{
    const char *word;
    int status = 0;
    while (status == 0
           && (word = tool_option(args, help, &opt->file, &status))) {
        status = parse_option(args, opt, word);
        if (status == 0 && args->value) status = tool_unknown(args, word);
    }
    return status;
}

int main(int argc, char **argv)
{
    static sideband records;
    tool_args args = tool_begin(argc, argv, "ptdump");
    options opt;
    tool_file file;
    int status;
    memset(&opt, 0, sizeof opt);
    memset(&file, 0, sizeof file);
    sideband_init(&records, NULL);
    opt.sideband = &records;
    status = parse(&args, &opt);
    if (status < 0) {
        status = tool_load_argument(&args, opt.file, 2, &file);
        if (!status) status = tool_end(&args, dump_file(&opt, &file));
    }
    free(file.data);
    sideband_free(&records);
    return status;
}
