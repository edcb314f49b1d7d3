/* ptprof: where the instructions and the time of a perf.data with Intel PT
 * went, as call trees and as pictures.
 *
 *     ptprof [<options>] [<file>]
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "ipt.h"
#include "common/flow/replay.h"
#include "common/prof/prof.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char help[] =
    "usage: %s [<options>] [<file>]\n"
    "\n"
    "Adds up what each thread of a perf.data (a file, a folder that has one, or\n"
    "- for the standard input; else ./perf.data) with Intel PT executed,\n"
    "function by function. What is lost, and why, is said at the end, to\n"
    "standard error.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  --tree                    print call trees; the default.\n"
    "  --min <n>                 ... without what is below n in 1000; default\n"
    "                            5, 0: all. So for --flat, --lines, --hot.\n"
    "  --min <cost>              ... below so much: 10us, or 1.5k (of\n"
    "                            instructions). So for time lines, too, which\n"
    "                            else have all calls.\n"
    "  --flat                    print each function once, over all threads: its\n"
    "                            own cost, its total and its calls.\n"
    "  --callers <function>      print who called it, how often, and what that\n"
    "                            cost. Of a call inside another one of it, the\n"
    "                            cost is in the outer one's.\n"
    "  --waits                   print where threads waited, how long, and which\n"
    "                            threads had their processor or woke them.\n"
    "  --top                     look at functions, callers, callees and source\n"
    "                            in the terminal.\n"
    "  --diff <file>             print how functions changed since that file: own\n"
    "                            time, instructions and calls.\n"
    "  --folded                  print each stack in a line with its share, as\n"
    "                            flame graphs want it.\n"
    "  --inlined                 inlined functions are frames, as DWARF says; their\n"
    "                            calls are how often flow came there.\n"
    "  --join-parts              f.cold and f.part.0 count as f.\n"
    "  --histogram <function>    print how long its calls took, and the slowest\n"
    "                            one as a call tree.\n"
    "  --lines                   print what the lines of source code cost. Lines\n"
    "                            are those of DWARF; inlined functions count.\n"
    "  --annotate <function>     print its source and instructions: how often they\n"
    "                            ran, what that cost, how often branches were\n"
    "                            taken. Lines are those of DWARF.\n"
    "  --branches                print conditional branches: those that went both\n"
    "                            ways most often come first.\n"
    "  --last <n>                print the last n calls and returns of each\n"
    "                            thread.\n"
    "  --before signal|<event>   ... before each signal, or each event that\n"
    "                            ptflow --event calls so.\n"
    "  --before crash            print how threads ended that died of a signal, or\n"
    "                            with the recording: stack, last calls (--last,\n"
    "                            else 10).\n"
    "  --core <file>             ... and what this core file says of it.\n"
    "  --at <time>               print the stack of each thread at a time, in\n"
    "                            seconds as ptflow prints it.\n"
    "  --hot                     print what ran often, block after block, and\n"
    "                            its share of the thread's instructions.\n"
    "  --by insn|time            what costs are; default: time where the file\n"
    "                            has it.\n"
    "  --on-cpu                  leave out [syscall], [off cpu] and the like.\n"
    "  --ipc                     show instructions a cycle.\n"
    "  -j <n>                    decode in n processes, of which one adds up;\n"
    "                            default: as many as processors, but 8 at most.\n";

static const char more_help[] =
    "\n"
    "files to write:\n"
    "  --callgrind <file>        write a profile for KCachegrind.\n"
    "  --chrome <file>           write a timeline: Chrome's JSON.\n"
    "  --perfetto <file>         write a timeline for ui.perfetto.dev.\n"
    "  --speedscope <file>       write a timeline for speedscope.app.\n"
    "  --bolt <file>             write how often branches were taken, for BOLT:\n"
    "                            perf2bolt -pa.\n"
    "  --autofdo <file>          write the same for AutoFDO: create_llvm_prof\n"
    "                            --profiler=text.\n"
    "  --lcov <file>             write how often lines were executed, for genhtml,\n"
    "                            editors and the like; lines are those of DWARF.\n"
    "  --drcov <file>            write which code was executed as DynamoRIO does,\n"
    "                            for Lighthouse and the like.\n"
    "  --dso <file>              ... of this file, with folders or without;\n"
    "                            default: for compilers the one that is called as\n"
    "                            a thread is, or the only one; else all.\n"
    "  --html <file>             write a page with all functions and the time line,\n"
    "                            for a browser without a network. Above 20 MB of\n"
    "                            data the shortest calls are left out: see --min.\n"
    "\n"
    "<function> is a name, with parameters or without, or <file>:<name>.\n"
    "\n"
    "~ is a guess. A file without times is measured in instructions. A <file>\n"
    "that is written may be - for the standard output; what it was before is\n"
    "kept as <file>.old.\n"
    "\n"
    "Example: ptprof --speedscope calls.json perf.data\n";

/* ---- the command line ---- */

static int parse_before(const tool_args *args, options *o, const char *value)
{
    unsigned type = 1;
    while (type < IPT_EVT_COUNT && strcmp(value, ipt_evt_name((uint8_t) type)))
        type++;
    o->before = value;
    o->crash = strcmp(value, "crash") == 0;
    return o->crash || type < IPT_EVT_COUNT || strcmp(value, "signal") == 0
               ? -1 : tool_bad_argument(args, "--before", value);
}

static int parse_by(const tool_args *args, options *o, const char *value)
{
    if (strcmp(value, "insn") != 0 && strcmp(value, "time") != 0) {
        fprintf(stderr, "%s: --by: insn or time.\n", args->program);
        return args->wrong;
    }
    o->by = value[0] == 'i' ? BY_INSN : BY_TIME;
    return -1;
}

/* Options with a file that exports.h writes. 0: not one of them. */
static int parse_export(tool_args *args, options *o, const char *word)
{
    unsigned i = 0;
    while (i < EXPORTS_KINDS
           && strcmp(word, exports_option((exports_kind) i)) != 0)
        i++;
    if (i == EXPORTS_KINDS) return 0;
    o->exports[i] = tool_argument(args, word);
    return o->exports[i] ? -1 : args->wrong;
}

/* Options with a text. 0: not one of them. */
static int parse_text(tool_args *args, options *o, const char *word)
{
    static const char *const words[] = {"--histogram", "--callgrind",
                                        "--chrome", "--perfetto",
                                        "--speedscope", "--by", "--before",
                                        "--callers", "--dso", "--diff",
                                        "--html", "--core",
                                        "--annotate"};
    const char *value;
    unsigned i = 0;
    while (i < 13 && strcmp(word, words[i]) != 0) i++;
    if (i == 13) return parse_export(args, o, word);
    value = tool_argument(args, word);
    if (!value) return args->wrong;
    if (i == 5) return parse_by(args, o, value);
    if (i == 6) return parse_before(args, o, value);
    if (i == 0) o->histogram = value;
    if (i == 1) o->callgrind = value;
    if (i == 7) o->callers = value;
    if (i == 8) o->dso = value;
    if (i == 9) o->diff = value;
    if (i == 10) o->html = value;
    if (i == 11) o->core = value;
    if (i == 12) o->annotate = value;
    if (i < 2 || i >= 7) return -1;
    if (o->timeline) {
        fprintf(stderr, "%s: more than one timeline.\n", args->program);
        return args->wrong;
    }
    o->timeline = value;
    o->format = (timeline_format) (i - 2);
    return -1;
}

/* --min: a number, or a number with a unit. */
static int parse_min(tool_args *args, options *o)
{
    static const char *const units[] = {"", "ns", "us", "ms", "s", "k", "M",
                                        "G"};
    const char *const value = tool_argument(args, "--min");
    const char *unit;
    double n, factor = 1;
    unsigned i = 0;
    if (!value) return args->wrong;
    unit = value + strspn(value, "0123456789.");
    n = strtod(value, NULL);
    while (i < 8 && strcmp(unit, units[i]) != 0) i++;
    for (unsigned k = i < 5 ? 1 : 4; i && k < i; k++) factor *= 1000;
    if (unit == value || i == 8 || n * factor >= 1e18
        || (i == 0 && (n > 1000 || strchr(value, '.'))))
        return tool_bad_argument(args, "--min", value);
    o->least_is = i == 0 ? 0 : i < 5 ? BY_TIME : BY_INSN;
    if (i == 0) o->min = (uint64_t) n;
    else o->least = (uint64_t) (n * factor);
    return -1;
}

static int parse_at(tool_args *args, options *o)
{
    const char *const value = tool_argument(args, "--at");
    const char *s = value;
    if (!value) return args->wrong;
    o->moment = 1;
    return session_seconds(&s, &o->at) && !*s
               ? -1 : tool_bad_argument(args, "--at", value);
}

static int parse_option(tool_args *args, session *s, const char *word)
{
    options *const o = &((ptprof *) s->context)->opt;
    if (strcmp(word, "--tree") == 0) {
        o->tree = 1;
    } else if (strcmp(word, "--flat") == 0) {
        o->flat = 1;
    } else if (strcmp(word, "--folded") == 0) {
        o->folded = 1;
    } else if (strcmp(word, "--top") == 0) {
        o->top = 1;
    } else if (strcmp(word, "--waits") == 0) {
        o->waits = 1;
    } else if (strcmp(word, "--lines") == 0) {
        o->lines = 1;
    } else if (strcmp(word, "--inlined") == 0) {
        o->inlined = 1;
    } else if (strcmp(word, "--join-parts") == 0) {
        o->join = 1;
    } else if (strcmp(word, "--on-cpu") == 0) {
        o->on_cpu = 1;
    } else if (strcmp(word, "--ipc") == 0) {
        o->ipc = 1;
    } else if (strcmp(word, "--branches") == 0) {
        o->branches = 1;
    } else if (strcmp(word, "--hot") == 0) {
        o->hot = 1;
    } else if (strcmp(word, "-j") == 0) {
        if (tool_number(args, word, 8, &o->threads)) return args->wrong;
        if (o->threads) return -1;
        fprintf(stderr, "%s: -j: at least 1.\n", args->program);
        return args->wrong;
    } else if (strcmp(word, "--last") == 0) {
        return tool_number(args, word, 24, &o->last) ? args->wrong : -1;
    } else if (strcmp(word, "--at") == 0) {
        return parse_at(args, o);
    } else if (strcmp(word, "--min") == 0) {
        return parse_min(args, o);
    } else {
        return parse_text(args, o, word);
    }
    return -1;
}

/* ---- the whole ---- */

/* What costs are, once it is known what the file has. */
static int choose_cost(ptprof *p)
{
    const int timed = p->session.threads.timed;
    if (p->opt.by == BY_TIME && !timed) {
        fprintf(stderr, "%s: --by time: the file has no times.\n",
                p->args->program);
        return 1;
    }
    if (p->opt.waits && (!timed || p->opt.by == BY_INSN || p->opt.on_cpu)) {
        fprintf(stderr, "%s: --waits: %s.\n", p->args->program,
                timed ? "without --by insn and --on-cpu"
                      : "the file has no times");
        return 1;
    }
    if (p->opt.moment && (!timed || p->opt.by == BY_INSN || p->opt.on_cpu)) {
        fprintf(stderr, "%s: --at: %s.\n", p->args->program,
                timed ? "without --by insn and --on-cpu"
                      : "the file has no times");
        return 1;
    }
    if (p->opt.ipc && (!timed || !p->session.threads.cyc)) {
        fprintf(stderr, "%s: --ipc: the file has no cycles: record it with "
                "intel_pt/cyc/.\n", p->args->program);
        return 1;
    }
    p->by_insn = p->opt.by == BY_INSN || !timed;
    if (p->opt.least_is && (p->opt.least_is == BY_INSN) != p->by_insn) {
        fprintf(stderr, "%s: --min: costs are %s.\n", p->args->program,
                p->by_insn ? "instructions" : "times");
        return 1;
    }
    if (!timed && !p->opt.by && p->opt.views && !p->session.quiet)
        fprintf(stderr, "%s: the file has no times: costs are instructions\n",
                p->args->program);
    return 0;
}

static int write_exports(ptprof *p)
{
    const exports_choice choice = {&p->session, p->opt.dso};
    int status = 0;
    if (p->ranges.failed) prof_out_of_memory(p);
    ranges_sort(&p->ranges);
    for (unsigned i = 0; i < EXPORTS_KINDS; i++)
        if (p->opt.exports[i])
            status |= exports_write((exports_kind) i, p->opt.exports[i],
                                    &p->ranges, &choice);
    return status;
}

/* 1: costs are others. */
static int show_diff(ptprof *p)
{
    if (p->before->by_insn == p->by_insn) {
        prof_print_diff(p->before, p);
        return 0;
    }
    fprintf(stderr, "%s: --diff: one of the files has no times: --by insn.\n",
            p->args->program);
    return 1;
}

static int show(ptprof *p)
{
    int status = write_exports(p);
    prof_settle_costs(p);
    calltree_sum(&p->tree);
    calltree_sort(&p->tree, p->by_insn);
    if (p->page) status |= prof_write_page(p);
    if (status == PAGE_AGAIN) return status;
    if (p->opt.tree) prof_print_tree(p);
    if (p->opt.flat) prof_print_flat(p);
    if (p->before) status |= show_diff(p);
    if (p->opt.callers) status |= prof_print_callers(p);
    if (p->opt.waits) prof_print_waits(p);
    if (p->opt.folded) prof_print_folded(p);
    if (p->opt.annotate) status |= prof_print_annotated(p);
    if (p->opt.branches) prof_print_branches(p);
    if (p->opt.callgrind && prof_write_callgrind(p))
        status = prof_cannot_write(p, p->opt.callgrind);
    if (p->opt.top) status |= prof_show_top(p);
    if (p->opt.lines) prof_print_lines(p);
    if (p->opt.hot) prof_print_hot(p);
    if (p->opt.histogram) status |= prof_print_histogram(p);
    if (p->opt.crash)
        status |= prof_print_crashes(p);
    else if (p->opt.last)
        status |= prof_print_moments(p);
    if (p->opt.moment && !p->at_count) {
        fprintf(stderr, "%s: --at: nothing ran before that.\n",
                p->args->program);
        status = 1;
    }
    return status;
}

/* Where lines or hot paths are asked for, blocks do not only add up. */
static int decode(ptprof *p)
{
    static replay r;
    const int adds_up = p->session.config->flow == prof_on_flow
                     && !p->opt.by_line && !p->opt.hot && p->session.always;
    replay_init(&r, &p->session, p->opt.threads, adds_up ? prof_stays : NULL);
    return replay_run(&r);
}

static int run(ptprof *p)
{
    int status;
    const char *why = NULL;
    if (p->opt.hot && p->opt.lines) why = "--hot and --lines: one of them";
    if (p->opt.crash && !p->opt.last) p->opt.last = 10;
    if (p->opt.core && !p->opt.crash) why = "--core: there is no --before crash";
    if (p->opt.before && !p->opt.last) why = "--before: there is no --last";
    if (p->opt.html && p->opt.timeline) why = "--html and another time line";
    if (p->opt.dso && !p->opt.has_exports)
        why = "--dso: there is no --bolt, --autofdo, --lcov, --drcov";
    if (why) {
        fprintf(stderr, "%s: %s.\n", p->args->program, why);
        return OPTIONS_WRONG;
    }
    if ((p->opt.lines && tool_cannot(p->args, "--lines", TOOL_LIBDW))
        || (p->opt.exports[EXPORTS_LCOV]
            && tool_cannot(p->args, "--lcov", TOOL_LIBDW))
        || (p->opt.inlined && tool_cannot(p->args, "--inlined", TOOL_LIBDW))
        || (p->opt.top && tool_cannot(p->args, "--top", TOOL_NCURSES)))
        return OPTIONS_NOTHING;
    if (p->opt.top && !(isatty(0) && isatty(1))) {
        fprintf(stderr, "%s: --top: it needs a terminal.\n", p->args->program);
        return OPTIONS_NOTHING;
    }
    if (p->opt.core && (status = corefile_read(&p->core, p->args, p->opt.core)) != 0)
        return status;
    status = session_open(&p->session, p->opt.file);
    if (status == 0) status = session_has_trace(&p->session);
    if (status == 0) status = choose_cost(p);
    if (status) return status;
    p->wanted.pattern = p->opt.histogram;
    p->callees.pattern = p->opt.callers;
    p->annotated.pattern = p->opt.annotate;
    if (p->page && prof_open_json(p)) return OPTIONS_NOTHING;
    if (p->opt.timeline && timeline_open(&p->timeline, p->opt.format,
                                         p->opt.timeline, p->by_insn))
        return prof_cannot_write(p, p->opt.timeline);
    if (p->opt.least_is && p->shortest < p->opt.least) p->shortest = p->opt.least;
    p->timeline.least = p->shortest * (p->by_insn ? 1 : CHARGE_FINE);
    status = decode(p);
    prof_end_threads(p);
    functions_settle(&p->session.functions);
    if (p->opt.timeline && timeline_close(&p->timeline, prof_text_of,
                                          &p->session.functions))
        status = prof_cannot_write(p, p->opt.timeline);
    if (status == 0) status = show(p);
    return status == PAGE_AGAIN ? status : session_end(&p->session, status);
}

static void free_all(ptprof *p)
{
    for (size_t i = 0; i < p->thread_count; i++) {
        thread *const t = p->threads[i];
        stack_free(&t->stack);
        crash_free(&t->end);
        charge_free(&t->charge);
        calltree_free(&t->instance);
        free(t->calls);
        free(t->finder);
        free(t->ring);
        free(t);
    }
    free(p->threads);
    if (p->json[0]) remove(p->json);
    for (size_t i = 0; i < p->path_count; i++) {
        free(p->paths[i].ips);
        free(p->paths[i].through);
    }
    free(p->paths);
    free(p->lines);
    free(p->sites);
    free(p->site_slots);
    free(p->jumps);
    names_free(&p->jump_names);
    names_free(&p->spots);
    direct_free(&p->direct);
    calltree_free(&p->tree);
    calltree_free(&p->waits);
    calltree_free(&p->chains);
    calltree_free(&p->wakers);
    calltree_free(&p->every);
    ranges_free(&p->ranges);
    calltree_free(&p->slowest);
    names_free(&p->names);
    corefile_free(&p->core);
    annotate_free(&p->annotate);
    free(p->annotated.states);
    free(p->wanted.states);
    free(p->callees.states);
    session_free(&p->session);
}

/* Follow the command line. -1, or the exit status. */
static int prepare(ptprof *p, tool_args *args, session_config *config)
{
    struct winsize size;
    int status;
    p->args = args;
    p->opt.min = 5;
    session_init(&p->session, args, config, p);
    if (calltree_init(&p->tree) || calltree_init(&p->waits)
        || calltree_init(&p->chains) || calltree_init(&p->wakers)
        || calltree_init(&p->every) || calltree_init(&p->slowest))
        prof_out_of_memory(p);
    if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0) p->columns = size.ws_col;
    status = session_parse(args, &p->session, help, more_help, &p->opt.file);
    if (status >= 0) return status;
    p->opt.by_line = p->opt.lines || p->opt.callgrind || p->opt.top
                 || p->opt.inlined || p->opt.annotate;
    if (p->opt.moment && !p->opt.by_line && !tool_missing(TOOL_LIBDW))
        p->opt.by_line = p->opt.spots = 1;
    config->insn = p->opt.by_line && !p->opt.spots; /* blocks may have many lines */
    for (unsigned i = 0; i < EXPORTS_KINDS; i++)
        p->opt.has_exports |= p->opt.exports[i] != NULL;
    p->opt.views = p->opt.flat || p->opt.moment || p->opt.callers
               || p->opt.waits || p->opt.top || p->opt.folded || p->opt.lines || p->opt.histogram
               || p->opt.last || p->opt.crash || p->opt.annotate
               || p->opt.branches || p->opt.hot || p->opt.callgrind
               || p->opt.timeline || p->opt.diff || p->opt.html;
    if (!p->opt.views && !p->opt.has_exports) p->opt.tree = 1;
    p->opt.views |= p->opt.tree;
    if (p->opt.has_exports) config->flow = prof_on_export_flow;
    if (p->opt.crash) config->flow = prof_on_crash_flow;
    if (p->opt.annotate || p->opt.branches) config->flow = prof_on_annotate_flow;
    if (!p->opt.views || (p->opt.by == BY_INSN && !p->opt.ipc))
        config->date = NULL;
    return -1;
}

static const session_config views_config = {
    prof_on_flow, prof_on_event, prof_on_lost, prof_on_date, parse_option,
    prof_on_exec,
    IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP, 0, 1, 0, 0};

/* Again and again, until the page is not too large. */
static int run_page(ptprof *p, const tool_args *args, session_config *config)
{
    tool_args again = *args;
    ptprof *before;
    uint64_t shortest = 0;
    page out;
    int status = page_open(&out, args, p->opt.html);
    if (status) return status;
    for (;;) {
        p->page = &out;
        p->shortest = shortest;
        status = run(p);
        if (status != PAGE_AGAIN) break;
        shortest = p->shortest;
        before = p->before;
        free_all(p);
        memset(p, 0, sizeof *p);
        p->before = before;
        again = *args;
        *config = views_config;
        status = prepare(p, &again, config);
        if (status >= 0) break;
    }
    return page_close(&out) || status > 0 ? OPTIONS_NOTHING : status;
}

/* The file before: decoded, and nothing is shown of it. */
static int run_before(ptprof *before, tool_args *args, session_config *config,
                      const ptprof *p)
{
    int status;
    *config = views_config;
    status = prepare(before, args, config);
    if (status >= 0) return status;
    if (!p->opt.file) {
        fprintf(stderr, "%s: --diff: two files.\n", args->program);
        return OPTIONS_WRONG;
    }
    config->flow = prof_on_flow;
    memset(&before->opt, 0, sizeof before->opt);
    before->opt.by = p->opt.by;
    before->opt.on_cpu = p->opt.on_cpu;
    before->opt.inlined = p->opt.inlined;
    before->opt.join = p->opt.join;
    before->opt.by_line = p->opt.inlined;
    before->opt.views = 1;
    before->opt.threads = p->opt.threads;
    before->opt.file = p->opt.diff;
    config->insn = before->opt.by_line;
    return run(before);
}

int main(int argc, char **argv)
{
    static session_config configs[2];
    static ptprof both[2];
    ptprof *const p = &both[1];
    tool_args args = tool_begin(argc, argv, "ptprof");
    tool_args again = args;
    int status;
    configs[1] = views_config;
    status = prepare(p, &args, &configs[1]);
    if (status < 0 && p->opt.diff) {
        status = run_before(&both[0], &again, &configs[0], p);
        p->before = &both[0];
        if (status == 0) status = -1;
    }
    if (status < 0)
        status = p->opt.html ? run_page(p, &again, &configs[1]) : run(p);
    if (p->before) free_all(p->before);
    free_all(p);
    return tool_end(&args, status);
}
