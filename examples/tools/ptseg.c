/* ptseg: list the segments of an Intel PT trace: from PSB to PSB.
 *
 *     ptseg [<options>] <ptfile>[:<from>[-<to>]]
 *
 * SPDX-License-Identifier: MIT */
#include "ipt.h"
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
    "  --all                     add mode, time and address space.\n"
    "  --no-state                offsets only.\n"
    "  --ranges                  print <ptfile>:<begin>-<end> instead.\n"
    "  --min-size <n>            join segments until they have n bytes.\n"
    "\n"
    "A segment is what lies between the beginning of a PSB and that of the\n"
    "next, or the end of the trace. Each can be decoded without the others.\n"
    "What lies before the first PSB belongs to none. One line is printed for\n"
    "each segment, offsets in hex:\n"
    "\n"
    "  begin end state [ip] [em <mode>] [tsc <tsc>] [cr3 <cr3>] [vmcs <vmcs>]\n"
    "\n"
    "The state is that at the PSB: enabled, with the ip of the next\n"
    "instruction, disabled, or unknown, if what follows the PSB is damaged or\n"
    "cut off. The columns after the ip are those of --all, as far as known.\n"
    "\n"
    "--ranges counts offsets from the beginning of the file and is made for\n"
    "the other tools. GNU parallel instead of xargs uses all processors.\n"
    "\n"
    "Example: ptseg --ranges --min-size 4096 trace.pt | xargs -n 1 ptdump\n";

typedef struct options {
    uint8_t all;
    uint8_t no_state;
    uint8_t ranges;
    uint64_t min_size;
    const char *file;
} options;

/* What a PSB+ says. */
typedef struct state {
    const char *flow; /* enabled, disabled, unknown */
    uint64_t ip;
    uint64_t tsc;
    uint64_t cr3;
    uint64_t vmcs;
    uint8_t have_ip;
    uint8_t have_tsc;
    uint8_t have_cr3;
    uint8_t have_vmcs;
    uint8_t mode; /* IPT_MODE_ */
} state;

typedef struct lister {
    const options *opt;
    const ipt_config *config;
    const ipt_trace *trace;
    tool_range range; /* of the argument */
} lister;

/* ---- the state at a PSB ---- */

static void take_event(state *s, const ipt_event *event)
{
    switch (event->type) {
    case IPT_EVT_ENABLED:
        s->flow = "enabled";
        s->ip = event->ip;
        s->have_ip = 1;
        break;
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED: s->flow = "disabled"; break;
    case IPT_EVT_EXEC_MODE: s->mode = event->u.exec.mode; break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        s->cr3 = event->u.paging.cr3;
        s->have_cr3 = 1;
        break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS:
        s->vmcs = event->u.vmcs.base;
        s->have_vmcs = 1;
        break;
    default: break;
    }
    if (event->flags & IPT_EVENT_TSC) {
        s->tsc = event->tsc;
        s->have_tsc = 1;
    }
}

/* The events of a PSB+ are those that are marked as such. Whatever ends them,
 * what they said holds. */
static void read_state(const lister *l, uint64_t offset, state *s)
{
    ipt_evt_decoder decoder;
    ipt_event event;
    int status = ipt_evt_init(&decoder, l->config, l->trace);
    memset(s, 0, sizeof *s);
    s->flow = "unknown";
    s->mode = IPT_MODE_UNKNOWN;
    if (status >= 0) status = ipt_evt_sync_set(&decoder, offset);
    if (status >= 0) status = ipt_evt_next(&decoder, &event);
    while (status >= 0 && event.flags & IPT_EVENT_STATUS) {
        take_event(s, &event);
        status = ipt_evt_next(&decoder, &event);
    }
}

/* ---- lines ---- */

static void print_all(const state *s)
{
    static const char *const mode[] = {"", "16-bit", "32-bit", "64-bit"};
    if (s->have_ip && s->mode != IPT_MODE_UNKNOWN && s->mode < IPT_MODE_COUNT)
        printf("  em %s", mode[s->mode]);
    if (s->have_tsc) printf("  tsc %016" PRIx64, s->tsc);
    if (s->have_cr3) printf("  cr3 %016" PRIx64, s->cr3);
    if (s->have_vmcs) printf("  vmcs %016" PRIx64, s->vmcs);
}

static void print_state(const lister *l, uint64_t offset)
{
    state s;
    read_state(l, offset, &s);
    printf("  %s", s.flow);
    if (s.have_ip) printf("   %016" PRIx64, s.ip);
    if (l->opt->all) print_all(&s);
}

static void print_segment(const lister *l, uint64_t begin, uint64_t end)
{
    if (l->opt->ranges) {
        printf("%s:0x%" PRIx64 "-0x%" PRIx64 "\n", l->range.name,
               l->range.from + begin, l->range.from + end);
        return;
    }
    printf("%016" PRIx64 "  %016" PRIx64, begin, end);
    if (!l->opt->no_state) print_state(l, begin);
    putchar('\n');
}

/* ---- the trace ---- */

static int list_segments(const lister *l)
{
    const uint64_t end = l->trace->seg[0].size;
    ipt_pkt_decoder decoder;
    uint64_t begin;
    int status = ipt_pkt_init(&decoder, l->config, l->trace);
    if (status >= 0) status = ipt_pkt_sync_forward(&decoder);
    if (status == IPT_END) {
        fprintf(stderr, "ptseg: no PSB in the trace.\n");
        return 1;
    }
    begin = decoder.at.sync;
    while (status >= 0) {
        status = ipt_pkt_sync_forward(&decoder);
        if (status >= 0 && decoder.at.sync - begin >= l->opt->min_size) {
            print_segment(l, begin, decoder.at.sync);
            begin = decoder.at.sync;
        }
    }
    if (status == IPT_END) {
        print_segment(l, begin, end);
        return 0;
    }
    fprintf(stderr, "ptseg: %s\n", ipt_status_cause(status));
    return 1;
}

static int list_file(const options *opt, const tool_file *file)
{
    ipt_segment piece = {file->data, file->size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    lister l;
    int status = 1;
    memset(&config, 0, sizeof config);
    l.opt = opt;
    l.config = &config;
    l.trace = &trace;
    if (tool_split_range(opt->file, &l.range) == 0) status = list_segments(&l);
    free(l.range.name);
    return status;
}

/* ---- options ---- */

static int parse_option(tool_args *args, options *opt, const char *word)
{
    if (strcmp(word, "--all") == 0) return !(opt->all = 1);
    if (strcmp(word, "--no-state") == 0) return !(opt->no_state = 1);
    if (strcmp(word, "--ranges") == 0) return !(opt->ranges = 1);
    if (strcmp(word, "--min-size") == 0)
        return tool_number(args, word, 64, &opt->min_size);
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
    tool_args args = tool_begin(argc, argv, "ptseg");
    options opt;
    tool_file file;
    int status;
    memset(&opt, 0, sizeof opt);
    status = parse(&args, &opt);
    if (status >= 0) return status;
    status = tool_load_argument(&args, opt.file, 2, &file);
    if (status) return status;
    status = list_file(&opt, &file);
    free(file.data);
    return tool_end(&args, status);
}
