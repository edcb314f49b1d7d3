/* ptprof: where the instructions and the time of a perf.data with Intel PT
 * went, as call trees and as pictures.
 *
 *     ptprof [<options>] [<file>]
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "ipt.h"
#include "common/flow/annotate.h"
#include "common/flow/calltree.h"
#include "common/flow/charge.h"
#include "common/flow/crash.h"
#include "common/code/direct.h"
#include "common/flow/exports.h"
#include "common/code/functions.h"
#include "common/code/names.h"
#include "common/code/page.h"
#include "common/code/disasm.h"
#include "common/code/sourcefile.h"
#include "common/flow/session.h"
#include "common/flow/stack.h"
#include "common/flow/timeline.h"
#include "common/flow/top.h"
#include "common/code/below.h"
#include <errno.h>
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
    "  --ipc                     show instructions a cycle.\n";

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

typedef struct options {
    const char *file;
    const char *histogram;
    const char *callers;
    const char *annotate;
    const char *callgrind;
    const char *timeline; /* --chrome, --perfetto, --speedscope */
    timeline_format format;
    const char *before; /* --last: what; NULL: the end */
    const char *core;   /* --before crash: a core file; or NULL */
    const char *exports[EXPORTS_KINDS]; /* files to write */
    const char *dso;
    const char *diff; /* the file before; or NULL */
    const char *html;
    uint64_t last;
    uint64_t at;  /* --at, in ns */
    uint64_t min; /* in 1000, or ... */
    uint64_t least; /* a cost, ... */
    uint8_t least_is; /* ... BY_; 0: `min` says it */
    uint8_t tree;
    uint8_t flat;
    uint8_t folded;
    uint8_t waits;
    uint8_t moment; /* --at */
    uint8_t crash;  /* --before crash */
    uint8_t branches;
    uint8_t top;
    uint8_t lines;
    uint8_t by_line; /* --lines, --callgrind, --top, --inlined: costs of lines are asked for */
    uint8_t spots;   /* ... of addresses is enough: --at alone */
    uint8_t hot;
    uint8_t inlined;
    uint8_t join; /* parts and their functions */
    uint8_t has_exports;
    uint8_t views; /* 1: something else is asked for, too */
    uint8_t on_cpu;
    uint8_t ipc;
    uint8_t by;   /* 0: not said; else BY_ */
} options;

enum { BY_INSN = 1, BY_TIME = 2 };

/* A call that has not ended. */
typedef struct open_call {
    uint32_t node;      /* of the call tree */
    uint32_t instance;  /* of that of the call --histogram is about */
    uint64_t back;      /* where it returns to; 0: not known */
    uint64_t begin;     /* cost of the thread then, ... */
    calltree_cost spent; /* ... and what --callgrind needs of it */
    uint32_t site;      /* where it is called; 0: not known */
    uint32_t part;      /* flow is in it, a part of this function; or 0 */
    uint8_t whole;      /* its beginning was seen */
    uint8_t inlined;    /* into the call below it */
} open_call;

#define TURNS 16u

/* Another thread had the processor meanwhile, or woke it. */
typedef struct turn {
    uint32_t tid;
    uint64_t time; /* WOKE */
} turn;

#define WOKE UINT64_MAX

/* A line of --last. */
typedef struct moment {
    uint64_t cost;
    uint32_t name;
    uint16_t depth;
    char sign;
} moment;

/* A hot trace, as [hot] of ipt.h makes them. */
typedef struct path {
    uint64_t *ips;   /* of its blocks; allocated */
    uint64_t runs;   /* since it is known, ... */
    uint64_t insns;  /* ... and its instructions in them */
    uint32_t blocks;
    uint32_t root;   /* node of its thread */
    uint32_t *through; /* functions that it goes through; allocated */
    uint32_t count;  /* of them */
    uint64_t into;   /* where in the first one it begins */
} path;

/* Tracks of a thread besides that of its calls. */
enum { PTWRITES, RATIO, C_STATE, LOSSES, PARTS };

/* What finds those of a thread. */
typedef struct finder {
    ipt_hot hot;
    ipt_hot_config config;
    uint32_t path;   /* flow is in: 1 + its index; 0: it is in none */
    uint32_t next;   /* block of it */
    ipt_hot_head heads[16384];
    ipt_hot_trace traces[1024];
    ipt_block blocks[16384];
} finder;

/* Addresses of the top frame's function, until code changes. A block in there to
 * which a branch of it leads is counted, and that is all; where there may be more
 * to do there are none. */
typedef struct span {
    uint64_t first;
    uint64_t last;
    uint64_t changes;
    uint8_t guest;
} span;

typedef struct ptprof ptprof;

typedef struct thread {
    ptprof *in;
    session_task *task;
    ranges_thread ranges; /* of exports */
    /* as flow comes */
    stack stack;
    charge charge;       /* gives it to what is below, later */
    uint32_t home;       /* node of the thread */
    uint32_t in_part;    /* flow is in it, a part of the top frame's function;
                            0: in none; UINT32_MAX: not known */
    uint8_t has_parts;   /* flow was in one */
    uint32_t jump;       /* of --callgrind: the last instruction is this one, and */
    uint64_t jump_next;  /* ... this is the address after it; 0: no jump */
    uint32_t in_chain;   /* ... in this chain of what is inlined; as in_part */
    uint64_t run;        /* see threads_who */
    uint8_t kind;        /* of the last instruction */
    uint8_t fault;       /* an event says that a page fault comes */
    uint8_t guest;       /* it runs one, now */
    span span;
    finder *finder;      /* of --hot */

    /* as time is known */
    open_call *calls;    /* one for each frame of the stack, */
    size_t depth;        /* ... of so many */
    size_t call_max;
    uint32_t root;       /* node of the thread, and of its top frame */
    uint32_t node;
    uint32_t gap;        /* function that stands for what is not traced; 0 */
    uint32_t gap_node;   /* ... and its node, once it has one */
    uint32_t gap_instance;
    uint32_t gap_site;
    uint32_t row;        /* line that was executed last; 0: not known */
    uint8_t gap_seen;    /* ... and before that, for this gap */
    uint8_t waits;       /* the gap is one of --waits, ... */
    uint64_t waited;     /* ... of so much so far */
    turn turns[TURNS];   /* who had its processor in this one or the next */
    unsigned turn_count;
    calltree instance;   /* of the outermost call that --histogram is about */
    size_t instance_top; /* frames with it; 0: there is none */
    uint32_t instance_node;
    uint32_t track;
    uint32_t parts[PARTS]; /* tracks besides the calls'; 0: none yet */
    uint64_t insns;
    uint64_t left_out;   /* time that --on-cpu does not count */
    moment *ring;
    uint64_t put;
    crash_end end;       /* of --before crash */
    annotate_thread went;
    uint8_t at_shown;    /* its stack for --at was */
} thread;

/* Notes of flow, by way of charge.h. ENTER, LEAVE: a function, and
 * stack_why, with AS_SIGNAL and AS_PART, and where it returns to; PART: see
 * enter_part; CHAIN: functions that are inlined, a number of ptprof.chains; ROOT: a node;
 * BEFORE: an event's type; VALUE: which, and the value; TURN: a thread, and time; MARK: threads_loss. */
enum { ENTER, LEAVE, PART, CHAIN, ROOT, BEFORE, VALUE, TURN, MARK };
enum { AS_SIGNAL = 256, AS_PART = 512 };

/* What a line costs that is in a function. */
typedef struct line {
    uint32_t shown;    /* how --lines has it: its text's number, 0: `function` */
    uint32_t function;
    uint32_t source;   /* the file's text; 0: none is known */
    uint32_t number;
    calltree_cost cost;
} line;

/* Calls from a line. */
typedef struct site {
    uint32_t from;     /* functions, */
    uint32_t to;
    uint32_t line;     /* ... and 1 + the line's index; 0: not known */
    uint64_t calls;
    calltree_cost total;
} site;

/* A direct jump inside of a function. */
typedef struct jump {
    uint32_t function; /* 0: it was not taken, or leads out of it */
    uint32_t from;     /* lines: 1 + the index */
    uint32_t to;
    uint64_t executed;
    uint64_t taken;
    uint8_t cond;
} jump;

/* What session_find said of an address. */
typedef struct known {
    uint64_t ip;
    uint64_t changes;
    stack_function function;
    uint32_t part; /* the part of that function; 0: it is in none */
    uint32_t pid;
    uint32_t line; /* of --lines: 1 + its index */
    uint32_t chain; /* of --inlined: node of `chains` */
    uint32_t jump;  /* of --callgrind: 1 + its index; 0: not known */
    uint32_t one;   /* of --annotate, --branches: its number; 0: not known */
    uint8_t guest;
} known;

#define KNOWN 16384u
#define PATHS 4096u
#define SYMBOL 4096u /* bytes of a name, at most */

struct ptprof {
    const tool_args *args;
    options opt;
    session session;
    names_table names;   /* of lines */
    calltree tree;       /* threads, then their functions */
    calltree chains;     /* functions inlined into others, the outermost first */
    timeline timeline;
    functions_choice wanted;  /* --histogram */
    functions_choice callees; /* --callers */
    functions_choice annotated; /* --annotate */
    annotate annotate;
    direct direct;       /* which functions code may call directly */
    calltree waits;      /* nodes of the tree that are gaps, as names; below
                            them threads that had the processor, */
    calltree wakers;     /* ... or that woke them */
    calltree every;      /* its calls, added up in one node */
    ranges ranges;       /* of exports */
    corefile core;       /* --core */
    ptprof *before;      /* --diff: the other file's; or NULL */
    page *page;          /* --html: that is open; or NULL */
    char json[256];      /* ... its data, a temporary file */
    uint64_t shortest;   /* ... calls that take less are not in it */
    calltree slowest;    /* the slowest one */
    uint64_t slowest_cost;
    uint64_t slowest_at;
    uint32_t slowest_tid;
    line *lines;         /* by number - 1, which is that of a text */
    size_t line_max;
    site *sites;         /* by number - 1; of --callgrind */
    uint32_t *site_slots; /* by a hash: numbers; 0: free */
    uint32_t site_count;
    uint32_t site_size;  /* a power of two, or 0 */
    names_table spots;   /* addresses, with `spots` in place of lines */
    names_table jump_names; /* where jumps are: their numbers */
    jump *jumps;         /* by number - 1; of --callgrind */
    size_t jump_max;
    path *paths;
    size_t path_count;
    size_t path_max;
    uint32_t path_at[PATHS]; /* by address: 1 + index of the last one found */
    known known[KNOWN];
    uint64_t befores;    /* how often --before was followed */
    uint64_t at_count;   /* threads that --at showed */
    thread **threads;
    size_t thread_count;
    size_t thread_max;
    uint32_t gaps[CHARGE_GAPS]; /* functions that stand for them; 0: none yet */
    uint8_t by_insn;
    uint8_t ends;        /* all flow was given */
    uint8_t no_kernel;   /* code was missing that may be the kernel's */
    int columns;         /* of the terminal; 0: it is none */
};

/* ---- functions ---- */

static void out_of_memory(const ptprof *p)
{
    fprintf(stderr, "%s: out of memory.\n", p->args->program);
    exit(1);
}

static uint32_t add_name(ptprof *p, const char *text)
{
    const uint32_t name = names_add(&p->names, text);
    if (!name) out_of_memory(p);
    return name;
}

/* What is no function: a thread, say. */
static uint32_t add_label(ptprof *p, const char *text)
{
    const uint32_t function = functions_label(&p->session.functions, text);
    if (!function) out_of_memory(p);
    return function;
}

static const char *text_of(uint32_t function, void *context)
{
    return functions_text((functions *) context, function);
}

/* What a function is called. */
static const char *function_text(ptprof *p, uint32_t function)
{
    return functions_text(&p->session.functions, function);
}

static int is_chosen(ptprof *p, functions_choice *choice, uint32_t function)
{
    const int is = functions_chosen(&p->session.functions, choice, function);
    if (is < 0) out_of_memory(p);
    return is;
}

/* The number of a function's line, 1 + its index; spot: not 0 for one of its
 * instructions, which then has a number of its own. It is shown as FILE:LINE
 * FUNCTION, the innermost one, or as the function alone. */
static uint32_t line_of(ptprof *p, const session_place *place,
                        uint32_t function, uint64_t spot)
{
    char text[3 * SYMBOL];
    const int head = spot ? snprintf(text, sizeof text, "%" PRIu32 " %" PRIx64 "\n",
                                     function, spot)
                          : snprintf(text, sizeof text, "%" PRIu32 "\n", function);
    uint32_t name;
    lines_place l;
    line *n;
    memset(&l, 0, sizeof l);
    if (place->in
        && lines_find(&p->session.lines, place->in, place->in_offset, &l))
        snprintf(text + head, sizeof text - (size_t) head, "%.4096s:%d %.4096s",
                 l.file, l.line,
                 l.function ? l.function : place->name ? place->name : "?");
    name = add_name(p, text);
    if (name > p->line_max) {
        const size_t max = 2 * (size_t) name + 64;
        if (!tool_grow(&p->lines, max, sizeof *p->lines)) out_of_memory(p);
        memset(p->lines + p->line_max, 0,
               (max - p->line_max) * sizeof *p->lines);
        p->line_max = max;
    }
    n = &p->lines[name - 1];
    if (n->function) return name;
    n->function = function;
    if (!l.file) return name;
    n->shown = add_name(p, text + head);
    n->source = add_name(p, l.file);
    n->number = (uint32_t) l.line;
    return name;
}

/* The number of an address. */
static uint32_t spot_of(ptprof *p, uint64_t ip)
{
    char text[32];
    uint32_t spot;
    snprintf(text, sizeof text, "%" PRIx64, ip);
    spot = names_add(&p->spots, text);
    if (!spot) out_of_memory(p);
    return spot;
}

/* The function that one is a part of, if they are to be joined. */
static uint32_t joined(const ptprof *p, uint32_t function)
{
    const functions_one *const list = p->session.functions.list;
    for (unsigned i = 0; p->opt.join && i < 4; i++)
        function = list[function - 1].whole;
    return function;
}

#define CHAIN_MAX 64u

/* The functions that are inlined at a place, as a node of `chains`; *inner is the
 * innermost one, if there is one. */
static uint32_t chain_of(ptprof *p, const session_place *place,
                         uint32_t *inner)
{
    const char *names[CHAIN_MAX];
    uint32_t node = CALLTREE_ROOT;
    size_t n = place->in ? lines_inlined(&p->session.lines, place->in,
                                         place->in_offset, names, CHAIN_MAX)
                         : 0;
    while (n > 0) {
        char text[SYMBOL];
        snprintf(text, sizeof text, "%.4000s (inlined)", names[--n]);
        *inner = add_label(p, text);
        node = calltree_child(&p->chains, node, *inner);
    }
    return node;
}

static int is_annotated(ptprof *p, uint32_t function)
{
    return p->opt.annotate && is_chosen(p, &p->annotated, function);
}

/* Ask the session. */
static void find_out(const thread *t, known *k, uint64_t ip)
{
    ptprof *const p = t->in;
    const uint32_t pid = t->task->pid;
    session_place place;
    uint32_t own;
    k->ip = ip;
    k->pid = pid;
    k->guest = t->guest;
    k->changes = p->session.changes + 1;
    if (!session_find(&p->session, pid, t->guest, ip, &place))
        place.function = place.whole = add_label(p, "[unknown]");
    if (!place.function || !place.whole) out_of_memory(p);
    own = joined(p, place.function);
    k->function = session_function(&place);
    k->function.split = own != place.function && !place.is_part;
    k->function.name = place.is_part ? joined(p, place.whole) : own;
    k->part = own != k->function.name ? own : 0;
    k->chain = p->opt.inlined ? chain_of(p, &place, &own) : CALLTREE_ROOT;
    k->jump = k->one = 0;
    k->line = p->opt.spots ? spot_of(p, ip)
            : p->opt.by_line ? line_of(p, &place, own,
                  is_annotated(p, own) ? ip - k->function.first + 1 : 0) : 0;
}

static known *known_at(const thread *t, uint64_t ip)
{
    ptprof *const p = t->in;
    const uint32_t pid = t->task->pid;
    known *const k = &p->known[(ip ^ ip >> 14 ^ pid * 40503u) & (KNOWN - 1)];
    if (k->ip != ip || k->pid != pid || k->guest != t->guest
        || k->changes != p->session.changes + 1)
        find_out(t, k, ip);
    return k;
}

static stack_function function_at(uint64_t ip, void *user)
{
    return known_at((const thread *) user, ip)->function;
}

/* ---- costs ---- */

#if CHARGE_FINE != TIMELINE_FINE
#error "times of charge.h and timeline.h"
#endif

static uint64_t moment_of(const thread *t)
{
    return t->in->by_insn ? t->insns : t->charge.ns - t->left_out;
}

static uint64_t cost_of(const thread *t)
{
    return t->in->by_insn ? t->insns : moment_of(t) / CHARGE_FINE;
}

/* How many calls there were. Of code that is missing it is not known where it
 * returned to, if returns are compressed, and direct calls before flow is known
 * again are not seen. All calls of a function are seen to which no direct branch
 * leads; `function` is 0 where only some calls of one are counted. */
static const char *put_calls(ptprof *p, char text[24], uint64_t calls,
                             uint32_t function)
{
    const threads *const t = &p->session.threads;
    int least = t->losses[THREADS_NO_CODE]
             && !(t->decoder.flags & IPT_CONFIG_NO_RETCOMP);
    if (least && function && !p->no_kernel) {
        const functions_about *const f =
            &p->session.functions.list[function - 1].about;
        least = !f->symbol || !f->file || f->kind
             || direct_to(&p->direct, f->file, f->first);
    }
    snprintf(text, 24, "%s%" PRIu64, least ? ">=" : "", calls);
    return text;
}

static uint64_t own_of(const ptprof *p, const calltree_node *n)
{
    return p->by_insn ? n->own.insns : n->own.ns;
}

static uint64_t total_of(const ptprof *p, const calltree_node *n)
{
    return p->by_insn ? n->total.insns : n->total.ns;
}

/* ---- text ---- */

/* A cost in at most seven characters. */
static void put_cost(const ptprof *p, char text[16], uint64_t cost)
{
    static const char *const units[2][5] = {{"ns", "us", "ms", "s", "ks"},
                                            {"", "k", "M", "G", "T"}};
    double n = (double) cost;
    unsigned i = 0;
    for (; n >= 999.5 && i < 4; i++) n /= 1000;
    snprintf(text, 16, i == 0 ? "%.0f%s" : n < 9.995 ? "%.2f%s"
             : n < 99.95 ? "%.1f%s" : "%.0f%s", n, units[p->by_insn][i]);
}

/* A text after the sign of a guess, if one per cent of a time or more is. */
static const char *marked(const ptprof *p, char text[24], const char *from,
                          const calltree_cost *cost)
{
    const int is = !p->by_insn && cost->guess
                && cost->guess >= cost->ns / 100;
    snprintf(text, 24, "%s%s", is ? "~" : "", from);
    return text;
}

/* Instructions a cycle, if they are asked for. */
static const char *ipc_text(const ptprof *p, char text[24],
                            const calltree_cost *cost)
{
    *text = 0;
    if (p->opt.ipc && cost->cycles)
        snprintf(text, 24, "%5.2f  ",
                 (double) cost->insns / (double) cost->cycles);
    else if (p->opt.ipc)
        snprintf(text, 24, "    -  ");
    return text;
}

static void print_ipc(const ptprof *p, const calltree_cost *cost)
{
    char text[24];
    fputs(ipc_text(p, text, cost), stdout);
}

/* Columns that that takes. */
static int ipc_width(const ptprof *p)
{
    return p->opt.ipc ? 7 : 0;
}

/* Not the first byte of a character? */
static int is_inner(char c)
{
    return ((uint8_t) c & 0xc0) == 0x80;
}

/* A text without control characters, with dots in its middle if it is too
 * wide. */
static void print_name(const char *text, int width)
{
    const int n = (int) strlen(text);
    int head = n;
    int tail = n;
    if (width > 2 && n > width) {
        head = width / 2 - 1;
        tail = n - (width - head - 2);
        while (head && is_inner(text[head])) head--;
        while (is_inner(text[tail])) tail++;
    }
    for (int i = 0; i < n; i++) {
        if (i == head) {
            fputs("..", stdout);
            i = tail;
        }
        putchar((uint8_t) text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
    }
}

/* Columns of the terminal that are left for a name; 0: it is none. */
static int room_after(const ptprof *p, int used)
{
    return p->columns == 0 ? 0 : p->columns - used > 8 ? p->columns - used : 8;
}

/* What is `depth` calls deep begins here: where there is no room for that, its
 * depth is shown. Returns the columns that it took. */
static int indent(const ptprof *p, int used, uint32_t depth)
{
    const uint32_t most = p->columns ? (uint32_t) room_after(p, used + 20) / 2
                                     : UINT32_MAX;
    if (depth > most) return printf("%" PRIu32 "> ", depth);
    for (uint32_t i = 0; i < depth; i++) fputs("  ", stdout);
    return 2 * (int) depth;
}

/* A moment of a thread. */
static void print_time(const ptprof *p, int width, uint64_t cost)
{
    if (p->by_insn)
        printf("%*" PRIu64, width, cost);
    else
        printf("%*" PRIu64 ".%09" PRIu64, width > 10 ? width - 10 : 0,
               cost / 1000000000, cost % 1000000000);
}

/* ---- --last ---- */

static void print_thread(const thread *t)
{
    print_name(*t->task->comm ? t->task->comm : "-", 0);
    printf(" %" PRIu32, t->task->tid);
}

static void print_ring(const thread *t)
{
    ptprof *const p = t->in;
    const uint64_t last = p->opt.last;
    for (uint64_t n = t->put > last ? t->put - last : 0; n < t->put; n++) {
        const moment *const m = &t->ring[n % last];
        int used;
        print_time(p, 16, m->cost);
        putchar(' ');
        used = 19 + indent(p, 19, m->depth);
        printf("%c ", m->sign);
        print_name(function_text(p, m->name), room_after(p, used));
        putchar('\n');
    }
}

static void print_last(const thread *t, const char *what)
{
    ptprof *const p = t->in;
    print_thread(t);
    if (what) {
        printf(", before %s at ", what);
        print_time(p, 0, cost_of(t));
    }
    putchar('\n');
    print_ring(t);
}

/* Is what comes now what --before asks for? */
static void show_before(thread *t, const char *what)
{
    ptprof *const p = t->in;
    if (!p->opt.before || strcmp(p->opt.before, what) != 0) return;
    if (p->befores++) putchar('\n');
    print_last(t, what);
}

/* ---- --at ---- */

static void print_frame(ptprof *p, size_t number, uint32_t function,
                        const char *file, int row)
{
    const int used = printf("#%-3zu ", number);
    print_name(function_text(p, function), room_after(p, used));
    if (file) {
        fputs(" (", stdout);
        print_name(file, 0);
        printf(":%d)", row);
    }
    putchar('\n');
}

/* The stack as it is, the innermost function first. A caller's line is that of
 * the call. */
static void print_stack(ptprof *p, const thread *t)
{
    size_t number = 0;
    uint64_t ip = 0;
    if (t->gap) print_frame(p, number++, t->gap, NULL, 0);
    if (p->opt.spots && t->row)
        ip = strtoull(names_text(&p->spots, t->row), NULL, 16);
    for (size_t i = t->depth; i > 0; i--) {
        const open_call *const call = &t->calls[i - 1];
        const line *const l = i == t->depth && t->row && !p->opt.spots
                            ? &p->lines[t->row - 1] : NULL;
        lines_place at = {NULL, NULL, 0};
        if (l && l->source) {
            at.file = names_text(&p->names, l->source);
            at.line = (int) l->number;
        } else if (ip) {
            crash_line(&p->session, t->task, t->guest, ip, &at);
        }
        print_frame(p, number++, p->tree.list[call->node].name, at.file, at.line);
        ip = call->back ? call->back - 1 : 0;
    }
}

/* What comes now is later than what came before. Was the time of --at between
 * the two? ended: nothing comes. */
static void show_at(thread *t, int ended)
{
    ptprof *const p = t->in;
    const uint64_t ns = moment_of(t) / CHARGE_FINE;
    if (!p->opt.moment || t->at_shown || (!ended && ns <= p->opt.at)) return;
    t->at_shown = 1;
    if (!t->depth) return;
    if (p->at_count++) putchar('\n');
    print_thread(t);
    if (ended) {
        fputs(", nothing later than ", stdout);
        print_time(p, 0, ns);
    }
    putchar('\n');
    print_stack(p, t);
}

/* ---- calls ---- */

static void note_moment(thread *t, char sign, uint32_t name)
{
    moment *const m = &t->ring[t->put++ % t->in->opt.last];
    const size_t depth = t->depth - 1;
    m->cost = cost_of(t);
    m->name = name;
    m->depth = (uint16_t) (depth < UINT16_MAX ? depth : UINT16_MAX);
    m->sign = sign;
}

/* ---- where calls are, for --callgrind ---- */

static uint32_t *site_slot(const ptprof *p, uint32_t from, uint32_t to,
                           uint32_t row)
{
    const uint64_t hash = ((from * UINT64_C(0x9e3779b97f4a7c15) + to)
                           * UINT64_C(0x9e3779b97f4a7c15) + row)
                        * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t) (hash >> 32) & (p->site_size - 1);
    while (p->site_slots[at]) {
        const site *const s = &p->sites[p->site_slots[at] - 1];
        if (s->from == from && s->to == to && s->line == row) break;
        at = (at + 1) & (p->site_size - 1);
    }
    return &p->site_slots[at];
}

/* The number of a call from a line. */
static uint32_t site_of(ptprof *p, uint32_t from, uint32_t to, uint32_t row)
{
    uint32_t *slot;
    if (!p->opt.callgrind) return 0;
    if (p->site_count * 2 >= p->site_size) {
        const uint32_t size = p->site_size ? 2 * p->site_size : 1024;
        free(p->site_slots);
        p->site_slots = (uint32_t *) calloc(size, sizeof *p->site_slots);
        if (!p->site_slots || !tool_grow(&p->sites, size, sizeof *p->sites))
            out_of_memory(p);
        p->site_size = size;
        for (uint32_t i = 0; i < p->site_count; i++)
            *site_slot(p, p->sites[i].from, p->sites[i].to,
                       p->sites[i].line) = i + 1;
    }
    slot = site_slot(p, from, to, row);
    if (!*slot) {
        site *const s = &p->sites[p->site_count++];
        memset(s, 0, sizeof *s);
        s->from = from;
        s->to = to;
        s->line = row;
        *slot = p->site_count;
    }
    return *slot;
}

/* ---- jumps, for --callgrind ---- */

/* An instruction was executed; the last one may have been a jump to it. */
static void find_jump(thread *t, const ipt_block *b)
{
    ptprof *const p = t->in;
    known *const k = known_at(t, b->ip);
    jump *j;
    if (t->jump_next && t->jump_next != b->ip) {
        j = &p->jumps[t->jump - 1];
        if (j->from && p->lines[j->from - 1].function
                           == p->lines[k->line - 1].function) {
            j->function = p->lines[k->line - 1].function;
            j->to = k->line;
            j->taken++;
        }
    }
    t->jump_next = 0;
    if (b->kind != IPT_INSN_JCC && b->kind != IPT_INSN_JMP) return;
    if (!k->jump) {
        char text[64];
        snprintf(text, sizeof text, "%" PRIu32 " %" PRIx64, k->function.name,
                 b->ip - k->function.first);
        k->jump = names_add(&p->jump_names, text);
        if (!k->jump) out_of_memory(p);
        if (k->jump > p->jump_max) {
            const size_t max = 2 * (size_t) k->jump + 64;
            if (!tool_grow(&p->jumps, max, sizeof *p->jumps)) out_of_memory(p);
            memset(p->jumps + p->jump_max, 0,
                   (max - p->jump_max) * sizeof *p->jumps);
            p->jump_max = max;
        }
    }
    j = &p->jumps[k->jump - 1];
    j->from = k->line;
    j->cond = b->kind == IPT_INSN_JCC;
    j->executed++;
    t->jump = k->jump;
    t->jump_next = b->ip + b->last_size;
}

/* The call that --histogram is about begins, or one below it. */
static uint32_t enter_instance(thread *t, uint32_t name, int whole)
{
    ptprof *const p = t->in;
    if (t->instance_top)
        return calltree_child(&t->instance, t->instance_node, name);
    if (!whole || !is_chosen(p, &p->wanted, name)) return 0;
    calltree_clear(&t->instance);
    t->instance_top = t->depth;
    return calltree_child(&t->instance, CALLTREE_ROOT, name);
}

static void enter(thread *t, uint32_t name, uint64_t how, uint64_t back)
{
    ptprof *const p = t->in;
    const unsigned why = (unsigned) (how & 255);
    const size_t depth = t->depth++;
    const int is_joined = how & AS_PART && depth
        && p->tree.list[t->calls[depth - 1].node].name == name;
    const int whole = !is_joined && (why == STACK_CALLED || why == STACK_TAIL);
    open_call *call;
    if (why == STACK_CALLED && how & AS_SIGNAL) show_before(t, "signal");
    if (depth >= t->call_max) {
        t->call_max = 2 * depth + 64;
        if (!tool_grow(&t->calls, t->call_max, sizeof *t->calls))
            out_of_memory(p);
    }
    call = &t->calls[depth];
    call->node = is_joined ? t->calls[depth - 1].node : calltree_child(
        &p->tree, depth ? t->calls[depth - 1].node : t->root, name);
    call->back = back;
    call->inlined = 0;
    call->part = 0;
    call->begin = cost_of(t);
    call->site = is_joined || !depth ? 0
        : site_of(p, p->tree.list[t->calls[depth - 1].node].name, name, t->row);
    if (call->site) p->sites[call->site - 1].calls += (uint64_t) whole;
    call->spent.insns = t->insns;
    call->spent.ns = t->charge.ns - t->left_out;
    call->whole = (uint8_t) whole;
    call->instance = !p->wanted.pattern ? 0
        : is_joined ? t->calls[depth - 1].instance
                    : enter_instance(t, name, whole);
    p->tree.list[call->node].calls += (uint64_t) whole;
    if (call->instance)
        t->instance.list[call->instance].calls += (uint64_t) whole;
    t->node = call->node;
    t->instance_node = call->instance;
    if (t->ring) note_moment(t, '>', name);
    if (p->opt.timeline)
        timeline_enter(&p->timeline, t->track, name,
                       function_text(p, name), moment_of(t));
}

/* The call that --histogram is about ends. */
static void leave_instance(thread *t, uint64_t cost, int whole)
{
    ptprof *const p = t->in;
    const calltree kept = p->slowest;
    t->instance_top = 0;
    if (!whole || (p->every.list[0].whole && cost <= p->slowest_cost)) return;
    p->slowest = t->instance;
    t->instance = kept;
    p->slowest_cost = cost;
    p->slowest_at = t->charge.ns / CHARGE_FINE;
    p->slowest_tid = t->task->tid;
}

static void leave(thread *t, uint32_t name, uint64_t how)
{
    ptprof *const p = t->in;
    const unsigned why = (unsigned) (how & 255);
    const size_t depth = t->depth - 1;
    const open_call *const call = &t->calls[depth];
    const uint64_t cost = cost_of(t) - call->begin;
    const int whole = call->whole
                   && (why == STACK_CALLED || why == STACK_TAIL
                       || why == STACK_UNWOUND);
    if (whole) calltree_ended(&p->tree, call->node, cost);
    if (call->site) {
        calltree_cost *const total = &p->sites[call->site - 1].total;
        total->insns += t->insns - call->spent.insns;
        total->ns += t->charge.ns - t->left_out - call->spent.ns;
    }
    if (whole && call->instance)
        calltree_ended(&t->instance, call->instance, cost);
    if (t->instance_top == t->depth) leave_instance(t, cost, whole);
    if (whole && p->wanted.pattern && is_chosen(p, &p->wanted, name))
        calltree_ended(&p->every, 0, cost);
    if (t->ring && !(p->opt.crash && why == STACK_ENDED))
        note_moment(t, '<', name);
    if (p->opt.timeline)
        timeline_leave(&p->timeline, t->track, name,
                       function_text(p, name), moment_of(t));
    t->depth = depth;
    t->node = depth ? t->calls[depth - 1].node : t->root;
    t->instance_node = depth ? t->calls[depth - 1].instance : 0;
}

/* Flow is in a part of the top frame's function, or in that again: the part has
 * a node of its own below it. */
static void enter_part(thread *t, uint32_t part)
{
    ptprof *const p = t->in;
    open_call *const call = &t->calls[t->depth - 1];
    const int enters = part != call->part;
    t->node = call->node;
    t->instance_node = call->instance;
    call->part = part;
    if (!part) return;
    t->node = calltree_child(&p->tree, call->node, part);
    p->tree.list[t->node].calls += (uint64_t) enters;
    if (!t->instance_top) return;
    t->instance_node = calltree_child(&t->instance, call->instance, part);
    t->instance.list[t->instance_node].calls += (uint64_t) enters;
}

/* What was inlined into the top call ends, above a depth. */
static void leave_inlined(thread *t, size_t depth, uint64_t how)
{
    while (t->depth > depth && t->calls[t->depth - 1].inlined)
        leave(t, t->in->tree.list[t->calls[t->depth - 1].node].name, how);
}

/* Flow is in these functions that are inlined into the top call: leave those that
 * are not among them, enter those that are to come. */
static void enter_chain(thread *t, uint32_t chain)
{
    const calltree_node *const list = t->in->chains.list;
    uint32_t names[CHAIN_MAX];
    size_t count = 0, same = 0, base = t->depth;
    for (; chain && count < CHAIN_MAX; chain = list[chain].parent)
        names[CHAIN_MAX - ++count] = list[chain].name;
    while (base && t->calls[base - 1].inlined) base--;
    while (same < count && base + same < t->depth
           && t->in->tree.list[t->calls[base + same].node].name
                  == names[CHAIN_MAX - count + same])
        same++;
    leave_inlined(t, base + same, STACK_TAIL);
    for (; same < count; same++) {
        enter(t, names[CHAIN_MAX - count + same], STACK_TAIL, 0);
        t->calls[t->depth - 1].inlined = 1;
    }
}

/* ---- gaps: time without instructions ---- */

/* A function that stands for a gap. */
static uint32_t gap_function(ptprof *p, charge_gap why)
{
    static const char *const texts[CHARGE_GAPS] = {
        NULL, "[syscall]", "[page fault]", "[interrupt]", "[off cpu]",
        "[filtered]", "[lost]", "[unknown]"};
    if (!p->gaps[why]) p->gaps[why] = add_label(p, texts[why]);
    return p->gaps[why];
}

/* A gap is below the function that left. One that goes on below another, as of
 * an exec, begins a ns later on a time line: viewers would take its beginning
 * for that of a call inside of it. */
static void open_gap(thread *t, uint64_t ns)
{
    ptprof *const p = t->in;
    const int first = !t->gap_seen;
    const uint64_t later =
        !first && !p->by_insn && ns >= 2 * CHARGE_FINE ? CHARGE_FINE : 0;
    t->gap_seen = 1;
    t->gap_node = calltree_child(&p->tree, t->node, t->gap);
    p->tree.list[t->gap_node].calls += (uint64_t) first;
    t->gap_site = site_of(p, p->tree.list[t->node].name, t->gap, t->row);
    if (t->gap_site) p->sites[t->gap_site - 1].calls += (uint64_t) first;
    if (t->instance_top) {
        t->gap_instance = calltree_child(&t->instance, t->instance_node,
                                         t->gap);
        t->instance.list[t->gap_instance].calls += (uint64_t) first;
    }
    if (p->opt.timeline)
        timeline_enter(&p->timeline, t->track, t->gap,
                       function_text(p, t->gap), moment_of(t) + later);
}

/* A gap ends, or it goes on below another function. */
static void end_wait(thread *t)
{
    ptprof *const p = t->in;
    uint64_t left = t->waited;
    const uint32_t node =
        calltree_child(&p->waits, CALLTREE_ROOT, t->gap_node);
    calltree_ended(&p->waits, node, left / CHARGE_FINE);
    if (t->gap != p->gaps[CHARGE_OFF_CPU]) return;
    for (unsigned i = 0; i < t->turn_count; i++) {
        const turn *const n = &t->turns[i];
        const uint64_t time = n->time < left ? n->time : left;
        uint32_t to;
        if (n->time == WOKE) {
            to = calltree_child(&p->wakers, CALLTREE_ROOT, t->gap_node);
            to = calltree_child(&p->wakers, to, n->tid);
            p->wakers.list[to].calls++;
            continue;
        }
        to = calltree_child(&p->waits, node, n->tid);
        p->waits.list[to].own.ns += time;
        p->waits.list[to].calls++;
        left -= time;
    }
    t->turn_count = 0;
}

static void close_gap(thread *t)
{
    ptprof *const p = t->in;
    if (t->gap_node && t->waits) end_wait(t);
    t->waited = 0;
    if (t->gap_node && p->opt.timeline)
        timeline_leave(&p->timeline, t->track, t->gap,
                       function_text(p, t->gap), moment_of(t));
    t->gap_node = t->gap_instance = 0;
}

static void on_stop(charge_gap why, void *user)
{
    thread *const t = (thread *) user;
    show_at(t, 0);
    t->gap = gap_function(t->in, why);
    t->gap_seen = 0;
    t->waits = t->in->opt.waits && why <= CHARGE_OFF_CPU;
}

static void on_go(void *user)
{
    thread *const t = (thread *) user;
    show_at(t, 0);
    close_gap(t);
    if (t->gap == t->in->gaps[CHARGE_OFF_CPU]) t->turn_count = 0;
    t->gap = 0;
}

static void spend_gap(thread *t, const calltree_cost *cost)
{
    ptprof *const p = t->in;
    session_place place;
    uint32_t row;
    if (p->opt.on_cpu) {
        t->left_out += cost->ns;
        return;
    }
    t->charge.ns -= cost->ns; /* it begins before that */
    if (!t->gap_node && cost->ns) open_gap(t, cost->ns);
    t->charge.ns += cost->ns;
    if (!t->gap_node) return;
    calltree_add(&p->tree.list[t->gap_node].own, cost);
    t->waited += cost->ns;
    if (t->gap_site) calltree_add(&p->sites[t->gap_site - 1].total, cost);
    if (t->gap_instance)
        calltree_add(&t->instance.list[t->gap_instance].own, cost);
    if (!p->opt.by_line || p->opt.spots) return;
    memset(&place, 0, sizeof place);
    row = line_of(p, &place, t->gap, 0);
    calltree_add(&p->lines[row - 1].cost, cost);
}

static void on_spend(const calltree_cost *cost, uint32_t row, void *user)
{
    thread *const t = (thread *) user;
    if (t->gap && cost->insns == 0) {
        spend_gap(t, cost);
        return;
    }
    t->insns += cost->insns;
    calltree_add(&t->in->tree.list[t->node].own, cost);
    if (t->instance_top)
        calltree_add(&t->instance.list[t->instance_node].own, cost);
    if (row && !t->in->opt.spots)
        calltree_add(&t->in->lines[row - 1].cost, cost);
    if (row) t->row = row;
}

/* ---- notes of flow ---- */

/* A track besides that of the calls. It is made when there is something for
 * it. */
static uint32_t part_of(thread *t, unsigned which)
{
    static const char *const texts[PARTS] = {"PTWRITE", "core:bus ratio",
                                             "C-state", "lost"};
    ptprof *const p = t->in;
    uint32_t *const part = &t->parts[which];
    if (!*part)
        *part = (which == LOSSES ? timeline_moments : timeline_value)(
            &p->timeline, t->track, texts[which]);
    if (*part == UINT32_MAX) out_of_memory(p);
    return *part;
}

/* A value, or a loss, has the time of its packet, if that is known. By
 * instructions, and where gaps are left out, it has that of its place. */
static void note_at(thread *t, uint16_t what, uint32_t number, uint64_t value,
                    uint64_t tsc)
{
    const ptprof *const p = t->in;
    const int own = tsc && !p->by_insn && !p->opt.on_cpu;
    if (p->opt.timeline)
        charge_note(&t->charge, what, number, value,
                    own ? session_fine(&p->session, tsc) : 0);
}

static uint64_t time_of(const thread *t, const charge_part *n)
{
    return n->ns ? n->ns : moment_of(t);
}

/* Notes of flow come out of charge.h. */
static void on_note(const charge_part *n, void *user)
{
    thread *const t = (thread *) user;
    ptprof *const p = t->in;
    show_at(t, p->ends && n->what == LEAVE && n->value == STACK_ENDED);
    if (n->what == ENTER || n->what == LEAVE || n->what == ROOT) close_gap(t);
    switch (n->what) {
    case ENTER: enter(t, n->number, n->value, n->ns); break;
    case LEAVE:
        leave_inlined(t, 0, n->value);
        leave(t, n->number, n->value);
        break;
    case CHAIN: enter_chain(t, n->number); break;
    case PART: enter_part(t, n->number); break;
    case ROOT: t->root = t->node = n->number; break;
    case BEFORE: show_before(t, ipt_evt_name((uint8_t) n->number)); break;
    case VALUE:
        timeline_set(&p->timeline, part_of(t, n->number), n->value,
                     time_of(t, n));
        break;
    case TURN:
        if (t->turn_count == TURNS) break;
        t->turns[t->turn_count].tid = n->number;
        t->turns[t->turn_count++].time = n->value;
        break;
    default:
        timeline_mark(&p->timeline, part_of(t, LOSSES),
                      threads_text((threads_loss) n->number), time_of(t, n));
        break;
    }
}

static const charge_config charge_views = {on_spend, on_note, on_stop, on_go};

/* ---- from the stack to these calls ---- */

static void on_enter(stack *s, stack_frame *frame, stack_why why)
{
    thread *const t = (thread *) s->user;
    t->in_part = t->in_chain = 0;
    charge_note(&t->charge, ENTER, frame->function.name,
                (unsigned) why | (frame->kind == STACK_SIGNAL ? AS_SIGNAL : 0)
                | (frame->function.split ? AS_PART : 0), frame->back);
}

static void on_leave(stack *s, stack_frame *frame, stack_why why)
{
    thread *const t = (thread *) s->user;
    t->in_part = t->has_parts ? UINT32_MAX : 0; /* as it was before */
    t->in_chain = UINT32_MAX;
    charge_note(&t->charge, LEAVE, frame->function.name, (unsigned) why,
                0);
}

static const stack_config stack_calls = {function_at, on_enter, on_leave};

/* ---- --hot ---- */

static uint32_t *path_slot(ptprof *p, uint32_t root, uint64_t ip)
{
    return &p->path_at[(ip ^ ip >> 12 ^ root) & (PATHS - 1)];
}

/* The last one that begins there: 1 + its index, or 0. */
static uint32_t find_path(ptprof *p, uint32_t root, uint64_t ip)
{
    uint32_t *const at = path_slot(p, root, ip);
    size_t i = *at;
    if (i && p->paths[i - 1].root == root && p->paths[i - 1].ips[0] == ip)
        return *at;
    for (i = p->path_count; i > 0; i--)
        if (p->paths[i - 1].root == root && p->paths[i - 1].ips[0] == ip)
            break;
    return *at = (uint32_t) i;
}

/* The functions that blocks go through. */
static void find_through(const thread *t, path *n, const ipt_block *blocks)
{
    uint32_t last = 0;
    n->through = (uint32_t *) malloc(n->blocks * sizeof *n->through);
    if (!n->through) out_of_memory(t->in);
    for (uint32_t i = 0; i < n->blocks; i++) {
        const stack_function f = known_at(t, blocks[i].ip)->function;
        if (f.name == last) continue;
        if (i == 0 && !f.gap) n->into = blocks[0].ip - f.first;
        n->through[n->count++] = last = f.name;
    }
}

/* f+0x12 > g > f. */
static void path_text(ptprof *p, const path *at, char text[2 * SYMBOL])
{
    size_t n = 0;
    for (uint32_t i = 0; i < at->count && n < SYMBOL - 8; i++) {
        n += (size_t) snprintf(text + n, 2 * SYMBOL - n, "%s%.2048s",
                               n ? " > " : "",
                               function_text(p, at->through[i]));
        if (i == 0 && at->into)
            n += (size_t) snprintf(text + n, 2 * SYMBOL - n, "+0x%" PRIx64,
                                   at->into);
    }
}

/* [hot] keeps a trace. It may be one that it had before. */
static int keep_path(const ipt_hot_tag *tag, const ipt_block *blocks,
                     uint32_t count, void *context)
{
    thread *const t = (thread *) context;
    ptprof *const p = t->in;
    const uint32_t before = find_path(p, t->home, tag->ip);
    uint64_t *const ips = (uint64_t *) malloc(count * sizeof *ips);
    path *n;
    if (!ips) out_of_memory(p);
    for (uint32_t i = 0; i < count; i++) ips[i] = blocks[i].ip;
    if (before && p->paths[before - 1].blocks == count
        && !memcmp(p->paths[before - 1].ips, ips, count * sizeof *ips)) {
        free(ips);
        return IPT_HOT_KEEP;
    }
    if (p->path_count == p->path_max) {
        p->path_max = 2 * p->path_max + 64;
        if (!tool_grow(&p->paths, p->path_max, sizeof *p->paths))
            out_of_memory(p);
    }
    n = &p->paths[p->path_count++];
    memset(n, 0, sizeof *n);
    n->ips = ips;
    n->blocks = count;
    n->root = t->home;
    find_through(t, n, blocks);
    *path_slot(p, t->home, tag->ip) = (uint32_t) p->path_count;
    return IPT_HOT_KEEP;
}

static void start_finder(thread *t)
{
    finder *const f = (finder *) calloc(1, sizeof *f);
    if (!f) out_of_memory(t->in);
    t->finder = f;
    f->config.context = t;
    f->config.trace = keep_path;
    f->config.heads = f->heads;
    f->config.head_count = sizeof f->heads / sizeof f->heads[0];
    f->config.traces = f->traces;
    f->config.trace_count = sizeof f->traces / sizeof f->traces[0];
    f->config.blocks = f->blocks;
    f->config.block_count = sizeof f->blocks / sizeof f->blocks[0];
    ipt_hot_init(&f->hot, &f->config);
}

/* Blocks in a trace are those after the last one in it, or it is entered. */
static void find_hot(thread *t, const ipt_block *b)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, t->guest};
    finder *const f = t->finder;
    ptprof *const p = t->in;
    const uint64_t inside = f->hot.stats.inside;
    path *at;
    ipt_hot_feed(&f->hot, b, &asid);
    if (f->hot.stats.inside == inside) {
        f->path = 0;
        return;
    }
    at = f->path ? &p->paths[f->path - 1] : NULL;
    if (!at || f->next == at->blocks || at->ips[f->next] != b->ip) {
        f->path = find_path(p, t->home, b->ip);
        f->next = 0;
        if (!f->path) return;
        at = &p->paths[f->path - 1];
        at->runs++;
    }
    f->next++;
    at->insns += b->count;
}

/* ---- threads ---- */

/* The node of a thread; after exec it is another one. */
static void name_thread(thread *t)
{
    char text[64];
    snprintf(text, sizeof text, "%s %" PRIu32,
             *t->task->comm ? t->task->comm : "-", t->task->tid);
    t->home = calltree_child(&t->in->tree, CALLTREE_ROOT,
                             add_label(t->in, text));
    charge_note(&t->charge, ROOT, t->home, 0, 0);
}

static thread *thread_of(ptprof *p, session_task *task)
{
    thread *t = (thread *) task->user;
    if (t) return t;
    t = (thread *) calloc(1, sizeof *t);
    if (t && p->opt.last)
        t->ring = (moment *) calloc((size_t) p->opt.last, sizeof *t->ring);
    if (p->thread_count == p->thread_max) {
        p->thread_max = 2 * p->thread_max + 16;
        if (!tool_grow(&p->threads, p->thread_max, sizeof *p->threads))
            out_of_memory(p);
    }
    if (!t || (p->opt.last && !t->ring) || calltree_init(&t->instance))
        out_of_memory(p);
    p->threads[p->thread_count++] = t;
    task->user = t;
    t->in = p;
    t->task = task;
    charge_init(&t->charge, &charge_views, t);
    t->charge.timed = !p->by_insn || p->opt.ipc;
    stack_init(&t->stack, &stack_calls, t);
    name_thread(t);
    if (p->opt.hot) start_finder(t);
    if (p->opt.timeline) {
        t->track = timeline_thread(&p->timeline, task->pid, task->tid,
                                   *task->comm ? task->comm : "-");
        if (t->track == UINT32_MAX) out_of_memory(p);
    }
    return t;
}

/* After a block in a function, first to last: what can be counted. */
static void find_span(thread *t, uint64_t ip, uint64_t first, uint64_t last)
{
    const ptprof *const p = t->in;
    const stack_frames_ *const frames = &t->stack.frames;
    const stack_function *const top = &frames->list[frames->count - 1].function;
    if (p->opt.by_line || t->finder || t->in_part || !p->session.always
        || ip < top->first || ip > top->last)
        return;
    t->span.first = first > top->first ? first : top->first;
    t->span.last = last < top->last ? last : top->last;
    t->span.changes = p->session.changes;
    t->span.guest = t->guest;
}

/* Where a block runs on into the next function: its part before that, without
 * which `rest` is left. 0: it does not, or its code cannot be read. */
static int cut_block(thread *t, ipt_block *part, ipt_block *rest)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, t->guest};
    spaces_view *const view = &t->in->session.view;
    const stack_function *const f = &known_at(t, rest->ip)->function;
    uint64_t ip = rest->ip;
    const uint64_t last = f->last;
    uint8_t bytes[15];
    ipt_code code;
    if (rest->count < 2 || rest->end_ip <= last) return 0;
    *part = *rest;
    part->count = 0;
    part->kind = IPT_INSN_OTHER;
    view->pid = t->task->pid;
    while (ip <= last && part->count < rest->count - 1) {
        const int n = spaces_read(bytes, sizeof bytes, &asid, ip, view);
        if (n <= 0 || ipt_classify(&code, bytes, (size_t) n, rest->mode, NULL))
            return 0;
        part->end_ip = ip;
        part->last_size = code.size;
        part->count++;
        ip += code.size;
    }
    if (ip <= last || part->count == 0) return 0;
    rest->ip = ip;
    rest->count = (uint16_t) (rest->count - part->count);
    return 1;
}

/* Is flow in a part of the top frame's function? */
static void find_part(thread *t, uint64_t ip)
{
    const stack_frame *const top =
        &t->stack.frames.list[t->stack.frames.count - 1];
    const stack_function *const f = &top->function;
    uint32_t part = 0;
    if (f->part || ip < f->first || ip > f->last) part = known_at(t, ip)->part;
    if (part != t->in_part) charge_note(&t->charge, PART, part, 0, 0);
    t->in_part = part;
    t->has_parts |= part != 0;
}

static void find_chain(thread *t, uint64_t ip)
{
    const uint32_t chain = known_at(t, ip)->chain;
    if (chain == t->in_chain) return;
    charge_note(&t->charge, CHAIN, chain, 0, 0);
    t->in_chain = chain;
    t->in_part = UINT32_MAX; /* a part is below what is inlined */
}

static void run_block(thread *t, const ipt_block *b)
{
    if (stack_flow(&t->stack, b)) out_of_memory(t->in);
    if (t->in->opt.callgrind) find_jump(t, b);
    if (t->in->opt.inlined) find_chain(t, b->ip);
    find_part(t, b->ip);
    charge_run(&t->charge, b->count,
               t->in->opt.by_line ? known_at(t, b->ip)->line : 0);
    t->kind = b->kind;
}

/* Who had its processor from then on? The first of them. */
static void note_turns(thread *t, uint64_t run, uint64_t until)
{
    const session *const s = &t->in->session;
    uint32_t tid;
    uint64_t from, to;
    if (threads_next(&s->threads, run, &tid, &from, &to)
        && threads_woken(&s->threads, t->task->tid, from, until, &tid))
        charge_note(&t->charge, TURN, tid, WOKE, 0);
    for (unsigned i = 0; i < TURNS; i++) {
        run = threads_next(&s->threads, run, &tid, &from, &to);
        if (!run || from >= until) return;
        if (to > until) to = until;
        if (tid && tid != t->task->tid) /* not between its two records */
            charge_note(&t->charge, TURN, tid,
                        session_fine(s, to) - session_fine(s, from), 0);
    }
}

/* The thread is in another run than before, or 0: in none any more. Between the
 * two it had no processor, or had one for a while; records say when. */
static void move_to(thread *t, uint64_t run)
{
    const session *const s = &t->in->session;
    uint64_t from, to;
    t->span.last = 0;
    while (t->run != run) {
        const uint64_t before = t->run;
        if (!threads_off(&s->threads, &t->run, run, &from, &to)
            || !t->charge.timed)
            continue;
        if (before && t->run && t->in->opt.waits) note_turns(t, before, to);
        if (before && t->run)
            (s->threads.coarse ? charge_off_once : charge_off)(
                &t->charge, session_fine(s, from), session_fine(s, to));
        else
            charge_date(&t->charge, session_fine(s, from), CHARGE_NO_CYCLES,
                        before != 0);
    }
}

static void run_parts(thread *t, const ipt_block *b)
{
    ipt_block part, rest = *b;
    while (cut_block(t, &part, &rest)) run_block(t, &part);
    run_block(t, &rest);
}

/* A block that may be in two functions, or lead to another one. */
static __attribute__((noinline)) void
flow_on(session *s, session_task *task, const threads_who *who,
        const ipt_block *b)
{
    const stack_function *f;
    uint64_t first, last;
    thread *t;
    if (!session_wants(s, task, who)) return;
    t = thread_of((ptprof *) s->context, task);
    t->span.last = 0;
    t->guest = who->guest;
    if (who->run != t->run) move_to(t, who->run);
    if (t->charge.gap) charge_go(&t->charge);
    if (t->finder) find_hot(t, b);
    f = &known_at(t, b->ip)->function;
    first = f->first;
    last = f->last;
    if (b->end_ip > last) {
        run_parts(t, b);
    } else {
        run_block(t, b);
        find_span(t, b->ip, first, last);
    }
}

static void on_flow(session *s, session_task *task, const threads_who *who,
                    const ipt_block *b)
{
    thread *const t = (thread *) task->user;
    if (t && b->ip >= t->span.first && b->end_ip <= t->span.last
        && t->span.changes == s->changes && t->span.guest == who->guest
        && t->run == who->run && task->wanted
        && stack_branch(&t->stack, b)) {
        charge_more(&t->charge, b->count);
        t->kind = b->kind;
    } else {
        flow_on(s, task, who, b);
    }
}

/* on_flow, with files of EXPORTS_. */
static void on_export_flow(session *s, session_task *task,
                           const threads_who *who, const ipt_block *b)
{
    ptprof *const p = (ptprof *) s->context;
    thread *t = (thread *) task->user;
    if (!session_wants(s, task, who)) {
        if (t) ranges_break(&p->ranges, &t->ranges);
        return;
    }
    t = thread_of(p, task);
    ranges_flow(&p->ranges, &t->ranges, s, task->pid, who->guest, b);
    if (p->opt.views) on_flow(s, task, who, b);
}

/* on_flow, with --before crash. */
static void on_crash_flow(session *s, session_task *task,
                          const threads_who *who, const ipt_block *b)
{
    ptprof *const p = (ptprof *) s->context;
    if (session_wants(s, task, who))
        crash_flow(&thread_of(p, task)->end, who, b);
    if (p->opt.has_exports)
        on_export_flow(s, task, who, b);
    else
        on_flow(s, task, who, b);
}

/* An instruction that --annotate or --branches asks for: its code is kept, as it
 * may not be there later. */
static void add_one(const thread *t, known *k, const ipt_block *b)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, t->guest};
    ptprof *const p = t->in;
    annotate_one *one;
    session_place place;
    int n;
    k->one = annotate_add(&p->annotate, k->part ? k->part : k->function.name,
                          b->end_ip - k->function.first);
    if (!k->one) out_of_memory(p);
    one = &p->annotate.list[k->one - 1];
    if (one->size) return;
    p->session.view.pid = t->task->pid;
    n = spaces_read(one->bytes, sizeof one->bytes, &asid, b->end_ip,
                    &p->session.view);
    one->size = n < 0 ? 0 : n < b->last_size ? (uint8_t) n : b->last_size;
    one->ip = b->end_ip;
    one->row = p->opt.spots ? 0 : k->line;
    if (!one->row
        && session_find(&p->session, t->task->pid, t->guest, b->end_ip, &place))
        one->row = line_of(p, &place, one->function, one->offset + 1);
}

/* on_flow, with --annotate and --branches. */
static void on_annotate_flow(session *s, session_task *task,
                             const threads_who *who, const ipt_block *b)
{
    ptprof *const p = (ptprof *) s->context;
    thread *t;
    known *k;
    if (session_wants(s, task, who)) {
        t = thread_of(p, task);
        t->guest = who->guest;
        annotate_went(&p->annotate, &t->went, b->ip);
        if (p->opt.annotate || b->kind == IPT_INSN_JCC) {
            k = known_at(t, b->end_ip);
            if ((p->opt.branches && b->kind == IPT_INSN_JCC)
                || is_annotated(p, k->part ? k->part : k->function.name)) {
                if (!k->one) add_one(t, k, b);
                annotate_ran(&p->annotate, &t->went, k->one, b);
            }
        }
    }
    if (p->opt.crash)
        on_crash_flow(s, task, who, b);
    else if (p->opt.has_exports)
        on_export_flow(s, task, who, b);
    else
        on_flow(s, task, who, b);
}

/* Tracing was disabled: who took over? */
static charge_gap why_stopped(const thread *t, const ipt_event *e)
{
    if (e->type == IPT_EVT_ASYNC_DISABLED)
        return t->fault ? CHARGE_FAULT : CHARGE_INTERRUPT;
    switch (t->kind) {
    case IPT_INSN_JCC:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_CALL_INDIRECT:
    case IPT_INSN_JMPABS:
    case IPT_INSN_RET: return CHARGE_FILTERED;
    case IPT_INSN_OTHER:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_VMENTRY: return CHARGE_UNKNOWN;
    default: return CHARGE_SYSCALL;
    }
}

static int is_page_fault(const ipt_event *e)
{
    return e->u.cfe.type == IPT_CFE_INTR && e->u.cfe.vector == 14
        && e->u.cfe.has & IPT_CFE_HAS_VECTOR;
}

static void on_event(session *s, session_task *task, const threads_who *who,
                     const ipt_event *e)
{
    ptprof *const p = (ptprof *) s->context;
    thread *t;
    const int status = e->flags & IPT_EVENT_STATUS; /* it was so before */
    t = (thread *) task->user;
    if (t && p->opt.has_exports)
        ranges_event(&p->ranges, &t->ranges, s, task->pid, who->guest, e);
    if (!p->opt.views || (status && e->type != IPT_EVT_CBR)
        || !session_wants(s, task, who))
        return;
    t = thread_of(p, task);
    t->span.last = 0;
    t->guest = who->guest;
    if (who->run != t->run) move_to(t, who->run);
    if (p->opt.crash) crash_event(&t->end, who, e);
    if (!status && !(e->flags & IPT_EVENT_NO_IP)
        && (e->type == IPT_EVT_ASYNC_BRANCH || e->type == IPT_EVT_ASYNC_DISABLED))
        annotate_went(&p->annotate, &t->went, e->ip);
    if (e->type == IPT_EVT_ENABLED) charge_go(&t->charge);
    if (!status && p->opt.before)
        charge_note(&t->charge, BEFORE, e->type, 0, 0);
    if (!status && stack_event(&t->stack, e)) out_of_memory(p);
    switch (e->type) {
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
        charge_stop(&t->charge, why_stopped(t, e));
        t->fault = 0;
        break;
    case IPT_EVT_STOP: charge_stop(&t->charge, CHARGE_FILTERED); break;
    case IPT_EVT_CFE: t->fault = (uint8_t) is_page_fault(e); break;
    case IPT_EVT_PTWRITE:
        note_at(t, VALUE, PTWRITES, e->u.ptwrite.payload, who->tsc);
        break;
    case IPT_EVT_CBR:
        note_at(t, VALUE, RATIO, e->u.cbr.ratio, who->tsc);
        break;
    case IPT_EVT_PWRE: /* counted from C1 */
        note_at(t, VALUE, C_STATE, (e->u.pwre.state + 1u) & 15, who->tsc);
        break;
    case IPT_EVT_PWRX: note_at(t, VALUE, C_STATE, 0, who->tsc); break;
    default: break;
    }
}

static void on_lost(session *s, session_task *task, const threads_who *who,
                    threads_loss loss, const ipt_where *at)
{
    ptprof *const p = (ptprof *) s->context;
    thread *t = (thread *) task->user;
    if (t && loss != THREADS_UNSURE) ranges_break(&p->ranges, &t->ranges);
    if (!p->opt.views || !session_wants(s, task, who)) return;
    t = thread_of(p, task);
    t->span.last = 0;
    t->guest = who->guest;
    if (who->run != t->run) move_to(t, who->run);
    if (p->opt.crash) crash_lost(&t->end, who, loss, at);
    annotate_break(&p->annotate, &t->went);
    if (loss == THREADS_NO_CODE) {
        const int unknown = stack_no_code(&t->stack, at);
        if (unknown < 0) out_of_memory(p);
        p->no_kernel |= unknown != 0;
    }
    charge_stop(&t->charge, loss == THREADS_NO_CODE ? CHARGE_UNKNOWN
                                                    : CHARGE_LOST);
    if (loss != THREADS_UNSURE && loss != THREADS_NO_CODE)
        stack_break(&t->stack);
    if (t->finder) ipt_hot_break(&t->finder->hot);
    note_at(t, MARK, loss, 0, who->tsc);
}

static void on_date(session *s, session_task *task, const threads_who *who,
                    const dates_date *date, int own)
{
    thread *t;
    if (!task->user && !who->tid) return;
    if (!s->always) {
        threads_who then = *who;
        then.tsc = date->tsc;
        if (!session_wants(s, task, &then)) return;
    } else if (!task->wanted) {
        return;
    }
    t = thread_of((ptprof *) s->context, task);
    t->guest = who->guest;
    if (who->run != t->run) move_to(t, who->run);
    charge_date(&t->charge, session_fine(s, date->tsc), date->cycles, own);
}

/* Where time is coarse the record may come after the program's first flow,
 * which stack.h has known by itself. */
static void on_exec(session *s, session_task *task)
{
    thread *const t = (thread *) task->user;
    if (!t) return;
    ranges_break(&((ptprof *) s->context)->ranges, &t->ranges);
    t->span.last = 0;
    annotate_break(&t->in->annotate, &t->went);
    if (t->in->opt.crash && crash_exec(&t->end, &t->stack)) out_of_memory(t->in);
    if (stack_exec(&t->stack)) name_thread(t);
    if (t->finder) ipt_hot_invalidate(&t->finder->hot, NULL, 0, 0);
}

static void end_threads(ptprof *p)
{
    p->ends = 1;
    for (size_t i = 0; i < p->thread_count; i++) {
        thread *const t = p->threads[i];
        ranges_break(&p->ranges, &t->ranges);
        move_to(t, 0);
        t->end.task = t->task;
        annotate_break(&p->annotate, &t->went);
        if (p->opt.crash && crash_last(&t->end, &t->stack, &p->session))
            out_of_memory(p);
        stack_end(&t->stack, STACK_ENDED);
        charge_end(&t->charge);
        if (t->charge.failed) out_of_memory(p);
    }
}

/* Times are whole ns from here on. */
static void settle_costs(ptprof *p)
{
    uint64_t rest = 0;
    calltree_settle(&p->tree, CHARGE_FINE);
    calltree_settle(&p->slowest, CHARGE_FINE);
    for (uint32_t i = 0; i < p->waits.count; i++)
        p->waits.list[i].own.ns /= CHARGE_FINE;
    for (size_t i = 0; i < p->line_max; i++) {
        calltree_cost *const cost = &p->lines[i].cost;
        rest += cost->ns;
        cost->ns = rest / CHARGE_FINE;
        cost->guess /= CHARGE_FINE;
        rest %= CHARGE_FINE;
    }
    for (uint32_t i = 0; i < p->site_count; i++)
        p->sites[i].total.ns /= CHARGE_FINE;
}

/* ---- --tree and --folded ---- */

static void print_head(const ptprof *p)
{
    printf("  total    own      calls      min   median      max  %s",
           p->opt.ipc ? "  IPC  " : "");
    print_name(p->by_insn ? "function (costs are instructions)" : "function",
               room_after(p, 54 + ipc_width(p)));
    putchar('\n');
}

static void print_node(ptprof *p, const calltree *tree,
                       const calltree_node *n, uint64_t all, unsigned depth)
{
    char costs[3][16] = {"-", "-", "-"};
    const double share = all ? 100.0 / (double) all : 0;
    const double total = share * (double) total_of(p, n);
    const int colour = p->columns && total >= 10;
    const int width = 54 + ipc_width(p);
    char own[16], text[24], calls[24];
    int used;
    (void) tree;
    snprintf(own, sizeof own, "%.1f%%", share * (double) own_of(p, n));
    if (n->whole) {
        put_cost(p, costs[0], n->min);
        put_cost(p, costs[1], calltree_quantile(n, 500));
        put_cost(p, costs[2], n->max);
    }
    printf("%s%6.1f%% %6s %10s %8s %8s %8s  ",
           colour ? "\033[1m" : "", total, marked(p, text, own, &n->own),
           put_calls(p, calls, n->calls, 0), costs[0], costs[1], costs[2]);
    print_ipc(p, &n->total);
    used = width + indent(p, width, depth);
    print_name(function_text(p, n->name), room_after(p, used));
    puts(colour ? "\033[0m" : "");
}

/* What --min asks for of a cost. */
static uint64_t least_of(const ptprof *p, uint64_t all)
{
    if (p->opt.least_is) return p->opt.least;
    return all / 1000 * p->opt.min + all % 1000 * p->opt.min / 1000;
}

/* What is below a node, without what costs too little. */
static void print_below(ptprof *p, const calltree *tree, uint32_t top)
{
    const uint64_t all = total_of(p, &tree->list[top]);
    const uint64_t least = least_of(p, all);
    unsigned depth = 0;
    uint32_t node = tree->list[top].child;
    while (node) {
        const calltree_node *const n = &tree->list[node];
        const int shown = total_of(p, n) >= least;
        if (shown) print_node(p, tree, n, all, depth);
        if (shown && n->child) {
            depth++;
            node = n->child;
            continue;
        }
        while (node != top && !tree->list[node].sibling) {
            node = tree->list[node].parent;
            depth--;
        }
        node = node == top ? 0 : tree->list[node].sibling;
    }
}

static void print_tree(ptprof *p)
{
    const calltree *const tree = &p->tree;
    char cost[16];
    for (uint32_t t = tree->list[0].child; t; t = tree->list[t].sibling) {
        const calltree_node *const n = &tree->list[t];
        if (total_of(p, n) == 0) continue; /* nothing but events */
        if (t != tree->list[0].child) putchar('\n');
        print_name(function_text(p, n->name), 0);
        printf(": %" PRIu64 " instructions", n->total.insns);
        put_cost(p, cost, n->total.ns);
        if (!p->by_insn) printf(", %s", cost);
        putchar('\n');
        print_head(p);
        print_below(p, tree, t);
    }
    if (tree->full)
        fprintf(stderr, "%s: more than %u ways of calls: deeper ones count "
                "for their callers\n", p->args->program, CALLTREE_NODES);
}

/* Names must not have what separates them, nor a number as their last word:
 * flamegraph.pl takes it for another cost. */
static void print_folded_name(ptprof *p, uint32_t name)
{
    const char *const text = function_text(p, name);
    const char *const word = strrchr(text, ' ');
    const int number = word && word[1 + strspn(word + 1, "0123456789.")] == 0;
    for (const char *s = text; *s; s++)
        putchar((uint8_t) *s < ' ' || *s == 127 ? '?' : *s == ';' ? ','
                : number && s == word ? '-' : *s);
}

static void print_folded(ptprof *p)
{
    const calltree *const tree = &p->tree;
    uint32_t *const way = (uint32_t *) malloc(tree->count * sizeof *way);
    if (!way) out_of_memory(p);
    for (uint32_t i = calltree_next(tree, 0); i; i = calltree_next(tree, i)) {
        uint32_t n = 0;
        const uint64_t own = own_of(p, &tree->list[i]);
        if (own == 0) continue;
        for (uint32_t at = i; at; at = tree->list[at].parent) way[n++] = at;
        while (n > 0) {
            print_folded_name(p, tree->list[way[--n]].name);
            putchar(n ? ';' : ' ');
        }
        printf("%" PRIu64 "\n", own);
    }
    free(way);
}

static thread *thread_of_end(crash_end *end)
{
    return (thread *) end->task->user;
}

/* How threads ended; 1: all by themselves. */
static int print_crashes(ptprof *p)
{
    crash_end **const list =
        (crash_end **) malloc((p->thread_count + 1) * sizeof *list);
    size_t shown = 0;
    int is_of = p->core.count == 0;
    if (!list) out_of_memory(p);
    for (size_t i = 0; i < p->thread_count; i++) {
        list[i] = &p->threads[i]->end;
        is_of |= corefile_thread(&p->core, p->threads[i]->task->tid) != NULL;
    }
    crash_judge(list, p->thread_count, &p->core);
    for (size_t i = 0; i < p->thread_count; i++) {
        const thread *const t = thread_of_end(list[i]);
        if (list[i]->verdict == CRASH_LEFT || list[i]->kind == CRASH_NONE)
            continue;
        if (shown++) putchar('\n');
        crash_print(list[i], &p->session, &p->core);
        if (t->put) puts("last calls:");
        print_ring(t);
    }
    free(list);
    if (!is_of)
        fprintf(stderr, "%s: --core: it has no thread of this recording.\n",
                p->args->program);
    if (shown) return !is_of;
    fprintf(stderr, "%s: --before crash: each thread ended by itself.\n",
            p->args->program);
    return 1;
}

/* Calls before the end of each thread; 1: what --before asks for was not
 * there. */
static int print_moments(ptprof *p)
{
    for (size_t i = 0; i < p->thread_count && !p->opt.before; i++) {
        if (i) putchar('\n');
        print_last(p->threads[i], NULL);
    }
    if (!p->opt.before || p->befores) return 0;
    fprintf(stderr, "%s: --before %s: there is none.\n", p->args->program,
            p->opt.before);
    return 1;
}

/* ---- --flat and --callers ---- */

/* What nodes of the tree add up to. */
typedef struct entry {
    uint64_t cost;
    uint64_t total;
    uint64_t calls;
    calltree_cost own;
    uint32_t name;
    uint32_t open; /* nodes of that name on the way to the one in hand */
} entry;

/* Highest costs first; what has no name is last. */
static int by_cost(const void *a, const void *b)
{
    const entry *const x = (const entry *) a;
    const entry *const y = (const entry *) b;
    if (!x->name != !y->name) return x->name ? -1 : 1;
    if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
    if (x->total != y->total) return x->total < y->total ? 1 : -1;
    if (x->calls != y->calls) return x->calls < y->calls ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* Adds a node to what is known of its function or, if there is a callee, a call
 * of that to what is known of its caller; if there is a caller, a call by it. */
static void add_node(const ptprof *p, entry *entries, const calltree_node *n,
                     uint32_t callee, uint32_t caller)
{
    const int is_thread = n->parent == CALLTREE_ROOT;
    const uint32_t from = is_thread ? 0 : p->tree.list[n->parent].name;
    const uint32_t name = callee ? from : n->name;
    const uint64_t total = entries[n->name - 1].open++ ? 0 : total_of(p, n);
    const uint64_t cost = callee || caller ? total : own_of(p, n);
    entry *to;
    if (is_thread && (callee || caller || !cost)) return;
    if ((callee && n->name != callee) || (caller && from != caller)) return;
    to = &entries[name - 1];
    to->name = name;
    to->cost += cost;
    to->total += total;
    to->calls += n->calls;
    calltree_add(&to->own, &n->own);
}

/* An entry for each name that has one, sorted, then one without a name. */
static entry *add_up(const ptprof *p, uint32_t callee, uint32_t caller)
{
    const calltree_node *const list = p->tree.list;
    const size_t count = (size_t) p->session.functions.count + 1;
    entry *const entries = (entry *) calloc(count, sizeof *entries);
    uint32_t at = list[CALLTREE_ROOT].child;
    if (!entries) out_of_memory(p);
    while (at) {
        add_node(p, entries, &list[at], callee, caller);
        if (list[at].child) {
            at = list[at].child;
            continue;
        }
        for (; at; at = list[at].parent) {
            entries[list[at].name - 1].open--;
            if (list[at].sibling) break;
        }
        at = list[at].sibling;
    }
    qsort(entries, count, sizeof *entries, by_cost);
    return entries;
}

/* The head of --flat, without what stands above names. */
static const char *flat_head(const ptprof *p)
{
    return p->opt.ipc ? "  total    own      cost      calls    IPC  "
                      : "  total    own      cost      calls  ";
}

static void put_flat(ptprof *p, char text[64], const entry *s)
{
    const uint64_t all = total_of(p, &p->tree.list[CALLTREE_ROOT]);
    const double share = all ? 100.0 / (double) all : 0;
    char cost[16], with[24], calls[24], ipc[24];
    put_cost(p, cost, s->cost);
    snprintf(text, 64, "%6.1f%% %5.1f%%  %8s %10s  %s",
             share * (double) s->total, share * (double) s->cost,
             marked(p, with, cost, &s->own),
             put_calls(p, calls, s->calls, s->name),
             ipc_text(p, ipc, &s->own));
}

static void print_flat(ptprof *p)
{
    const uint64_t least =
        least_of(p, total_of(p, &p->tree.list[CALLTREE_ROOT]));
    entry *const entries = add_up(p, 0, 0);
    char text[64];
    printf("%sfunction%s\n", flat_head(p),
           p->by_insn ? " (costs are instructions)" : "");
    for (const entry *s = entries; s->name && s->cost >= least; s++) {
        put_flat(p, text, s);
        fputs(text, stdout);
        print_name(function_text(p, s->name),
                   room_after(p, 37 + ipc_width(p)));
        putchar('\n');
    }
    free(entries);
}

static void put_caller(ptprof *p, char text[64], const entry *s, uint64_t all,
                       uint32_t callee)
{
    char cost[16], calls[24];
    put_cost(p, cost, s->cost);
    snprintf(text, 64, "%6.1f%% %8s %10s  ",
             all ? 100.0 * (double) s->cost / (double) all : 0, cost,
             put_calls(p, calls, s->calls, callee));
}

static void print_caller(ptprof *p, const entry *s, uint64_t all,
                         uint32_t callee, const char *name)
{
    char text[64];
    put_caller(p, text, s, all, callee);
    fputs(text, stdout);
    print_name(name, room_after(p, 29));
    putchar('\n');
}

/* Who called one function: 1, or 0: nobody was seen to. */
static int print_callers_of(ptprof *p, uint32_t callee)
{
    entry *const entries = add_up(p, callee, 0);
    const int some = entries->name != 0;
    entry all;
    memset(&all, 0, sizeof all);
    for (const entry *s = entries; s->name; s++) {
        all.cost += s->cost;
        all.calls += s->calls;
    }
    if (some) {
        printf("  share     cost      calls  caller%s\n",
               p->by_insn ? " (costs are instructions)" : "");
        for (const entry *s = entries; s->name; s++)
            print_caller(p, s, all.cost, 0, function_text(p, s->name));
        print_caller(p, &all, all.cost, callee, "all");
    }
    free(entries);
    return some;
}

/* Functions that were called, of those that are called so. */
static int print_callers(ptprof *p)
{
    const uint32_t count = p->session.functions.count;
    uint8_t *const called = (uint8_t *) calloc((size_t) count + 1, 1);
    unsigned some = 0;
    unsigned shown = 0;
    if (!called) out_of_memory(p);
    if (!session_chosen(&p->session, "--callers", &p->callees)) {
        free(called);
        return 1;
    }
    for (uint32_t i = 1; i < p->tree.count; i++) {
        const calltree_node *const n = &p->tree.list[i];
        if (n->parent == CALLTREE_ROOT || called[n->name]
            || !is_chosen(p, &p->callees, n->name))
            continue;
        called[n->name] = 1;
        some++;
    }
    for (uint32_t n = 1; n <= count; n++) {
        if (!called[n]) continue;
        if (shown++) putchar('\n');
        if (some > 1) {
            print_name(function_text(p, n), 0);
            puts(":");
        }
        print_callers_of(p, n);
    }
    free(called);
    if (some) return 0;
    fprintf(stderr, "%s: --callers: no call of ", p->args->program);
    tool_print(stderr, p->opt.callers);
    fprintf(stderr, ".\n");
    return 1;
}

/* ---- --waits ---- */

/* Who waited where: the gap, and what is around it. */
static void print_way(ptprof *p, uint32_t node)
{
    const calltree_node *const list = p->tree.list;
    char text[4 * SYMBOL];
    size_t n = 0;
    for (; list[node].parent != CALLTREE_ROOT && n < sizeof text - SYMBOL;
         node = list[node].parent)
        n += (size_t) snprintf(text + n, SYMBOL, "%s%.2048s", n ? " < " : "",
                               function_text(p, list[node].name));
    while (list[node].parent != CALLTREE_ROOT) node = list[node].parent;
    snprintf(text + n, sizeof text - n, ", %.64s",
             function_text(p, list[node].name));
    print_name(text, room_after(p, 41));
    putchar('\n');
}

static void print_turn(const ptprof *p, const calltree_node *n, int woke)
{
    const session_task *const task = session_task_of(&p->session, n->name);
    const char *const comm = n->name == 0 ? "nobody"
                           : task && *task->last_comm ? task->last_comm : "-";
    char cost[16] = "", text[96];
    if (!woke) put_cost(p, cost, n->total.ns);
    printf("%9s %10" PRIu64 " %8s %8s    ", cost, n->calls, "", "");
    snprintf(text, sizeof text, "%s %.64s %" PRIu32,
             woke ? "woken by" : "meanwhile", comm, n->name);
    print_name(text, room_after(p, 43));
    putchar('\n');
}

/* Costs of a gap are those of the tree. What of it is nobody's turn is its
 * own. */
static void print_waits(ptprof *p)
{
    const calltree *const w = &p->waits;
    const calltree *const wakers = &p->wakers;
    char cost[16], median[16], most[16], text[24];
    uint64_t all = 0;
    uint32_t at;
    for (uint32_t i = w->list[0].child; i; i = w->list[i].sibling) {
        calltree_node *const n = &w->list[i];
        n->own = p->tree.list[n->name].own;
        all += n->own.ns;
        for (uint32_t k = n->child; k; k = w->list[k].sibling)
            n->own.ns -= w->list[k].own.ns < n->own.ns ? w->list[k].own.ns
                                                       : n->own.ns;
    }
    calltree_sum(&p->waits);
    calltree_sort(&p->waits, 0);
    puts("     cost      times   median      max  where, and who");
    for (uint32_t i = w->list[0].child; i; i = w->list[i].sibling) {
        const calltree_node *const n = &w->list[i];
        if (n->total.ns < least_of(p, all)) break;
        put_cost(p, cost, n->total.ns);
        put_cost(p, median, calltree_quantile(n, 500));
        put_cost(p, most, n->max);
        printf("%9s %10" PRIu64 " %8s %8s  ",
               marked(p, text, cost, &p->tree.list[n->name].own), n->whole,
               median, most);
        print_way(p, n->name);
        for (uint32_t k = n->child; k; k = w->list[k].sibling)
            print_turn(p, &w->list[k], 0);
        if (wakers->count == 1) continue;
        at = calltree_child(&p->wakers, CALLTREE_ROOT, n->name);
        for (uint32_t k = at ? wakers->list[at].child : 0; k;
             k = wakers->list[k].sibling)
            print_turn(p, &wakers->list[k], 1);
    }
}

/* ---- --lines ---- */

static uint64_t line_cost(const ptprof *p, const line *l)
{
    return p->by_insn ? l->cost.insns : l->cost.ns;
}

static int by_insns(const void *a, const void *b)
{
    const uint64_t x = ((const line *) a)->cost.insns;
    const uint64_t y = ((const line *) b)->cost.insns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static int by_ns(const void *a, const void *b)
{
    const uint64_t x = ((const line *) a)->cost.ns;
    const uint64_t y = ((const line *) b)->cost.ns;
    return x < y ? 1 : x > y ? -1 : by_insns(a, b);
}

/* Make one line of those that --lines shows as one: the same source line, in
 * several functions. */
static void join_lines(ptprof *p)
{
    const size_t count = p->line_max;
    line *const list = (line *) calloc(count + 1, sizeof *list);
    if (!list) out_of_memory(p);
    for (size_t i = 0; i < count; i++) {
        const line *const from = &p->lines[i];
        line *const to = &list[from->shown ? from->shown - 1 : i];
        if (!from->function) continue;
        calltree_add(&to->cost, &from->cost);
        to->shown = from->shown;
        to->function = from->function;
    }
    free(p->lines);
    p->lines = list;
    qsort(list, count, sizeof *list, p->by_insn ? by_insns : by_ns);
}

static void print_lines(ptprof *p)
{
    uint64_t all = 0;
    char text[16], with[24];
    for (size_t i = 0; i < p->line_max; i++) all += line_cost(p, &p->lines[i]);
    join_lines(p);
    printf("    own     cost  %sline%s\n", p->opt.ipc ? "  IPC  " : "",
           p->by_insn ? " (costs are instructions)" : "");
    for (size_t i = 0; i < p->line_max; i++) {
        const line *const l = &p->lines[i];
        const uint64_t cost = line_cost(p, l);
        if (!cost || cost < least_of(p, all)) break;
        put_cost(p, text, cost);
        printf("%6.1f%% %8s  ", 100.0 * (double) cost / (double) all,
               marked(p, with, text, &l->cost));
        print_ipc(p, &l->cost);
        print_name(l->shown ? names_text(&p->names, l->shown)
                            : function_text(p, l->function),
                   room_after(p, 18 + ipc_width(p)));
        putchar('\n');
    }
}

/* ---- what --hot prints ---- */

/* By thread, then the hottest first. */
static int by_heat(const void *a, const void *b)
{
    const path *const x = (const path *) a;
    const path *const y = (const path *) b;
    if (x->root != y->root) return x->root < y->root ? -1 : 1;
    return x->insns < y->insns ? 1 : x->insns > y->insns ? -1
         : x->ips[0] < y->ips[0] ? -1 : x->ips[0] > y->ips[0];
}

static void print_hot(ptprof *p)
{
    if (p->path_count)
        qsort(p->paths, p->path_count, sizeof *p->paths, by_heat);
    for (size_t i = 0, end; i < p->path_count; i = end) {
        const calltree_node *const n = &p->tree.list[p->paths[i].root];
        const double share = 100.0 / (double) n->total.insns;
        uint64_t sum = 0;
        size_t count = 0;
        char text[2 * SYMBOL];
        for (end = i; end < p->path_count; end++) {
            if (p->paths[end].root != p->paths[i].root) break;
            sum += p->paths[end].insns;
            count += p->paths[end].runs != 0;
        }
        if (i) putchar('\n');
        print_name(function_text(p, n->name), 0);
        printf(": %" PRIu64 " of %" PRIu64 " instructions in %zu traces\n"
               "  share       runs blocks  trace\n", sum, n->total.insns,
               count);
        for (; i < end; i++) {
            const path *const at = &p->paths[i];
            if (!at->runs || at->insns < least_of(p, n->total.insns)) continue;
            printf("%6.1f%% %10" PRIu64 " %6" PRIu32 "  ",
                   share * (double) at->insns, at->runs, at->blocks);
            path_text(p, at, text);
            print_name(text, room_after(p, 28));
            putchar('\n');
        }
    }
}

/* ---- --histogram ---- */

/* Calls whose costs are below 1, 2, 4, ... */
static void print_bars(const ptprof *p, const calltree_node *n)
{
    uint64_t counts[65] = {0};
    const int room = room_after(p, 33);
    const double widest = room && room < 50 ? room : 50;
    uint64_t most = 0;
    unsigned first = 65, last = 0;
    for (uint32_t i = 0; i < n->spread.size; i++) {
        const uint64_t cost = calltree_cost_of(n->spread.first + i);
        unsigned bits = 0;
        while (bits < 64 && cost >> bits) bits++;
        counts[bits] += n->spread.counts[i];
    }
    for (unsigned i = 0; i < 65; i++) {
        if (!counts[i]) continue;
        if (first == 65) first = i;
        last = i;
        if (counts[i] > most) most = counts[i];
    }
    for (unsigned i = first; i <= last; i++) {
        char low[16], high[16];
        const int bar = (int) (widest * (double) counts[i] / (double) most + .5);
        put_cost(p, low, i ? (uint64_t) 1 << (i - 1) : 0);
        put_cost(p, high, i ? ((uint64_t) 1 << (i - 1)) * 2 - 1 : 0);
        printf("%8s .. %8s %10" PRIu64 " ", low, high, counts[i]);
        for (int j = 0; j < bar; j++) putchar('#');
        putchar('\n');
    }
}

static int print_histogram(ptprof *p)
{
    const calltree_node *const n = &p->every.list[0];
    char text[16];
    static const unsigned shares[] = {0, 500, 900, 990, 1000};
    static const char *const labels[] = {"min", "median", "90 %", "99 %",
                                         "max"};
    if (!session_chosen(&p->session, "--histogram", &p->wanted)) return 1;
    if (n->whole == 0) {
        fprintf(stderr, "%s: --histogram: no whole call of ", p->args->program);
        tool_print(stderr, p->opt.histogram);
        fprintf(stderr, ".\n");
        return 1;
    }
    printf("%" PRIu64 " call%s:", n->whole, TOOL_S(n->whole));
    for (unsigned i = 0; i < 5; i++) {
        put_cost(p, text, i == 0 ? n->min : i == 4 ? n->max
                                    : calltree_quantile(n, shares[i]));
        printf(" %s %s%c", labels[i], text, i < 4 ? ',' : '\n');
    }
    print_bars(p, n);
    printf("\nthe slowest, of thread %" PRIu32, p->slowest_tid);
    if (!p->by_insn)
        printf(", ended at %" PRIu64 ".%09" PRIu64,
               p->slowest_at / 1000000000, p->slowest_at % 1000000000);
    puts(":");
    print_head(p);
    calltree_sum(&p->slowest);
    calltree_sort(&p->slowest, p->by_insn);
    print_below(p, &p->slowest, CALLTREE_ROOT);
    return 0;
}

/* ---- --callgrind ---- */

/* Who called whom: the functions below the root, below them what they called. */
static int add_edges(const ptprof *p, calltree *edges)
{
    for (uint32_t i = 1; i < p->tree.count; i++) {
        const calltree_node *const n = &p->tree.list[i];
        const uint32_t to = calltree_child(edges, CALLTREE_ROOT, n->name);
        uint32_t edge;
        edges->list[to].own.insns += n->own.insns;
        edges->list[to].own.ns += n->own.ns;
        if (n->parent == CALLTREE_ROOT) continue;
        edge = calltree_child(
            edges, calltree_child(edges, CALLTREE_ROOT,
                                  p->tree.list[n->parent].name), n->name);
        edges->list[edge].calls += n->calls;
        edges->list[edge].total.insns += n->total.insns;
        edges->list[edge].total.ns += n->total.ns;
    }
    return edges->full;
}

static void write_costs(const ptprof *p, FILE *f, uint32_t where,
                        const calltree_cost *cost)
{
    fprintf(f, "%" PRIu32 " %" PRIu64, where, cost->insns);
    if (!p->by_insn) fprintf(f, " %" PRIu64, cost->ns);
    fputc('\n', f);
}

static void write_word(FILE *f, const char *key, uint32_t number,
                       const char *text)
{
    fprintf(f, "%s=(%" PRIu32 ") ", key, number);
    for (const char *s = text; *s; s++)
        fputc((uint8_t) *s < ' ' || *s == 127 ? '?' : *s, f);
    fputc('\n', f);
}

/* Where a file of --callgrind is: a function in a source file, and the lines and
 * calls of all of them in order. */
typedef struct writer {
    ptprof *in;
    FILE *file;
    uint32_t *lines;   /* indices, by function, source file and number */
    uint32_t *sites;   /* indices, by caller, callee and line */
    uint32_t *jumps;   /* indices, by function and place */
    uint32_t source;   /* of the lines that are written now, */
    uint32_t home;     /* ... and that of the function */
} writer;

static const line *sort_lines; /* what qsort's indices are about */
static const site *sort_sites;
static const jump *sort_jumps;

static int by_jump(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *) a;
    const uint32_t y = *(const uint32_t *) b;
    const uint32_t f = sort_jumps[x].function;
    const uint32_t g = sort_jumps[y].function;
    return f != g ? (f < g ? -1 : 1) : x < y ? -1 : x > y;
}

static int by_place(const void *a, const void *b)
{
    const line *const x = &sort_lines[*(const uint32_t *) a];
    const line *const y = &sort_lines[*(const uint32_t *) b];
    return x->function != y->function ? (x->function < y->function ? -1 : 1)
         : x->source != y->source ? (x->source < y->source ? -1 : 1)
         : x->number != y->number ? (x->number < y->number ? -1 : 1) : 0;
}

static int by_call(const void *a, const void *b)
{
    const site *const x = &sort_sites[*(const uint32_t *) a];
    const site *const y = &sort_sites[*(const uint32_t *) b];
    return x->from != y->from ? (x->from < y->from ? -1 : 1)
         : x->to != y->to ? (x->to < y->to ? -1 : 1)
         : x->line != y->line ? (x->line < y->line ? -1 : 1) : 0;
}

/* A function with its file and its source file: the line where it begins, or
 * 0. */
static uint32_t write_function(writer *w, const char *const keys[3],
                               uint32_t function, uint32_t *home)
{
    ptprof *const p = w->in;
    const functions_about *const about =
        &p->session.functions.list[function - 1].about;
    const char *object = about->object ? about->object : "???";
    const char *source = about->source ? about->source : "???";
    lines_place l;
    l.line = 0;
    if (about->file && about->symbol
        && lines_find(&p->session.lines, about->file, about->first, &l))
        source = l.file;
    *home = add_name(p, source);
    write_word(w->file, keys[0], add_name(p, object), object);
    write_word(w->file, keys[1], *home, source);
    write_word(w->file, keys[2], function, function_text(p, function));
    return (uint32_t) l.line;
}

/* Costs of a line come next, which may be in another source file, as of what was
 * inlined. Without a line it is where the function begins. */
static uint32_t write_source(writer *w, const line *l, uint32_t begin)
{
    const uint32_t source = l && l->source ? l->source : w->home;
    if (source != w->source)
        write_word(w->file, source == w->home ? "fe" : "fi", source,
                   names_text(&w->in->names, source));
    w->source = source;
    return l && l->source ? l->number : begin;
}

/* Take the cost of a line from that of its function. 0: the line has more
 * instructions. Its time is cut, as it may be more by rounding. */
static int take(calltree_cost *from, calltree_cost *what)
{
    if (what->insns > from->insns) return 0;
    if (what->ns > from->ns) what->ns = from->ns;
    from->insns -= what->insns;
    from->ns -= what->ns;
    return 1;
}

/* Where lines of a function begin. */
static size_t first_line(const writer *w, uint32_t function)
{
    size_t low = 0, high = w->in->line_max;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (w->in->lines[w->lines[middle]].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What a function cost itself: its lines, then what is left. */
static void write_own(writer *w, const calltree_node *n, uint32_t begin)
{
    const line *const list = w->in->lines;
    calltree_cost left = n->own;
    for (size_t i = first_line(w, n->name); i < w->in->line_max; i++) {
        const line *const l = &list[w->lines[i]];
        calltree_cost cost = l->cost;
        if (l->function != n->name) break;
        if (!l->source || !take(&left, &cost)) continue;
        write_costs(w->in, w->file, write_source(w, l, begin), &cost);
    }
    if (!left.insns && !left.ns && (n->own.insns || n->own.ns)) return;
    write_costs(w->in, w->file, write_source(w, NULL, begin), &left);
}

/* Jumps of a function between lines of one source file. */
static void write_jumps(writer *w, uint32_t function, uint32_t begin)
{
    const ptprof *const p = w->in;
    size_t low = 0, high = p->jump_max;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->jumps[w->jumps[middle]].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->jump_max; low++) {
        const jump *const j = &p->jumps[w->jumps[low]];
        const line *from;
        uint32_t number;
        if (j->function != function) break;
        from = &p->lines[j->from - 1];
        if (!from->source || p->lines[j->to - 1].source != from->source)
            continue;
        number = write_source(w, from, begin);
        fprintf(w->file, "%s=%" PRIu64, j->cond ? "jcnd" : "jump", j->taken);
        if (j->cond) fprintf(w->file, "/%" PRIu64, j->executed);
        fprintf(w->file, " %" PRIu32 "\n%" PRIu32 "\n",
                p->lines[j->to - 1].number, number);
    }
}

/* Where sites of a caller and a callee begin. */
static size_t first_site(const writer *w, uint32_t from, uint32_t to)
{
    const site *const list = w->in->sites;
    size_t low = 0, high = w->in->site_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const site *const s = &list[w->sites[middle]];
        if (s->from < from || (s->from == from && s->to < to))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Calls of one function by another one: those of each line, the last of which
 * have what is left. */
static void write_calls(writer *w, const calltree_node *n,
                        const calltree_node *call, uint32_t begin)
{
    static const char *const callees[] = {"cob", "cfi", "cfn"};
    const ptprof *const p = w->in;
    calltree_cost left = call->total;
    uint64_t calls = call->calls ? call->calls : 1;
    size_t at = first_site(w, n->name, call->name);
    const site *s = NULL;
    do {
        const site *const next =
            at < p->site_count ? &p->sites[w->sites[at]] : NULL;
        const int more = next && next->from == n->name
                      && next->to == call->name;
        /* `s` is the site before: the last one if there is no other. */
        if (s || !more) {
            const line *const l = s && s->line ? &p->lines[s->line - 1] : NULL;
            const uint64_t count = more && s && s->calls < calls ? s->calls
                                                                 : calls;
            const uint32_t where = write_source(w, l, begin);
            calltree_cost cost = left;
            uint32_t to, home;
            if (more && s) cost = s->total;
            if (!take(&left, &cost)) memset(&cost, 0, sizeof cost);
            calls -= count;
            to = write_function(w, callees, call->name, &home);
            fprintf(w->file, "calls=%" PRIu64 " %" PRIu32 "\n", count, to);
            write_costs(p, w->file, where, &cost);
        }
        s = more ? next : NULL;
        at++;
    } while (s);
}

static uint32_t *make_order(ptprof *p, size_t count,
                            int (*compare)(const void *, const void *))
{
    uint32_t *const list = (uint32_t *) malloc((count + 1) * sizeof *list);
    if (!list) out_of_memory(p);
    for (size_t i = 0; i < count; i++) list[i] = (uint32_t) i;
    sort_lines = p->lines;
    sort_sites = p->sites;
    sort_jumps = p->jumps;
    qsort(list, count, sizeof *list, compare);
    return list;
}
static int write_callgrind(ptprof *p)
{
    static const char *const callers[] = {"ob", "fl", "fn"};
    writer w;
    calltree edges;
    int failed;
    memset(&w, 0, sizeof w);
    w.in = p;
    w.file = tool_create(p->opt.callgrind);
    if (!w.file) return -1;
    if (calltree_init(&edges)) out_of_memory(p);
    failed = add_edges(p, &edges);
    fprintf(w.file, "# callgrind format\nversion: 1\ncreator: ptprof\n"
            "positions: line\nevents: Instructions%s\n",
            p->by_insn ? "" : " Nanoseconds");
    w.lines = make_order(p, p->line_max, by_place);
    w.sites = make_order(p, p->site_count, by_call);
    w.jumps = make_order(p, p->jump_max, by_jump);
    for (uint32_t i = edges.list[0].child; i; i = edges.list[i].sibling) {
        const calltree_node *const n = &edges.list[i];
        uint32_t begin;
        fputc('\n', w.file);
        begin = write_function(&w, callers, n->name, &w.home);
        w.source = w.home;
        write_own(&w, n, begin);
        write_jumps(&w, n->name, begin);
        for (uint32_t c = n->child; c; c = edges.list[c].sibling)
            write_calls(&w, n, &edges.list[c], begin);
    }
    fputs("\ntotals:", w.file);
    fprintf(w.file, " %" PRIu64, p->tree.list[0].total.insns);
    if (!p->by_insn) fprintf(w.file, " %" PRIu64, p->tree.list[0].total.ns);
    fputc('\n', w.file);
    calltree_free(&edges);
    free(w.lines);
    free(w.sites);
    free(w.jumps);
    return tool_close(w.file) || failed ? -1 : 0;
}

/* ---- --annotate and --branches ---- */

static void put_taken(char text[16], const annotate_one *one)
{
    snprintf(text, 16, "-");
    if (one->kind == IPT_INSN_JCC && one->executed)
        snprintf(text, 16, "%.1f%%",
                 100.0 * (double) one->taken / (double) one->executed);
}

static void print_place(ptprof *p, const annotate_one *one)
{
    print_name(function_text(p, one->function), 0);
    printf("+0x%" PRIx64, one->offset);
}

static void print_source(ptprof *p, sourcefile **sources, const line *l,
                         uint32_t *source)
{
    const char *const name = names_text(&p->names, l->source);
    const sourcefile *const file = sourcefile_get(sources, name);
    if (!file) out_of_memory(p);
    if (*source != l->source) {
        printf("%29s", "");
        print_name(name, 0);
        putchar('\n');
    }
    *source = l->source;
    printf("%28" PRIu32 " ", l->number);
    print_name(l->number <= file->count ? file->lines[l->number - 1] : "", 0);
    putchar('\n');
}

static void annotate_function(ptprof *p, uint32_t function, sourcefile **sources)
{
    size_t count;
    uint32_t *const order = annotate_order(&p->annotate, function, &count);
    const line *before = NULL;
    uint32_t source = 0;
    if (!order) out_of_memory(p);
    fputs("     count     cost  taken  ", stdout);
    print_name(function_text(p, function), 0);
    puts(p->by_insn ? " (costs are instructions)" : "");
    for (size_t i = 0; i < count; i++) {
        const annotate_one *const one = &p->annotate.list[order[i]];
        const line *const l = one->row ? &p->lines[one->row - 1] : NULL;
        char cost[16] = "-", taken[16], words[DISASM_MAX];
        if (l) put_cost(p, cost, line_cost(p, l));
        put_taken(taken, one);
        if (disasm_text(words, one->bytes, one->size, one->mode, one->ip))
            disasm_bytes(words, one->bytes, one->size);
        if (l && l->source
            && (!before || l->source != before->source || l->number != before->number))
            print_source(p, sources, l, &source);
        before = l;
        printf("%10" PRIu64 " %8s %6s  +0x%-6" PRIx64 " %s\n", one->executed, cost,
               taken, one->offset, words);
    }
    free(order);
}

static int print_annotated(ptprof *p)
{
    sourcefile *sources = NULL;
    const uint32_t count = p->session.functions.count;
    uint8_t *const has = (uint8_t *) calloc((size_t) count + 1, 1);
    unsigned shown = 0;
    if (!has) out_of_memory(p);
    for (size_t i = 0; i < p->annotate.max; i++) {
        const uint32_t f = p->annotate.list[i].function;
        if (f && is_annotated(p, f)) has[f] = 1;
    }
    for (uint32_t f = 1; f <= count; f++) {
        if (!has[f]) continue;
        if (shown++) putchar('\n');
        annotate_function(p, f, &sources);
    }
    sourcefile_free(sources);
    free(has);
    return !session_chosen(&p->session, "--annotate", &p->annotated);
}

/* All that ran often enough, or those that went both ways. */
static void print_branches(ptprof *p)
{
    size_t count, same = 0;
    uint32_t *const order = annotate_order(&p->annotate, 0, &count);
    uint64_t all = 0;
    char taken[16];
    if (!order) out_of_memory(p);
    for (size_t i = 0; i < count; i++) {
        const annotate_one *const one = &p->annotate.list[order[i]];
        all += one->executed;
        same += annotate_rarer(one) == 0;
    }
    printf("%zu branch%s, %zu of them always went one way\n", count,
           count == 1 ? "" : "es", same);
    puts("     count  taken      rarer  branch");
    for (size_t i = 0; i < count; i++) {
        const annotate_one *const one = &p->annotate.list[order[i]];
        const line *const l = one->row ? &p->lines[one->row - 1] : NULL;
        if (one->executed < all / 1000 * p->opt.min + all % 1000 * p->opt.min / 1000)
            continue;
        put_taken(taken, one);
        printf("%10" PRIu64 " %6s %10" PRIu64 "  ", one->executed, taken,
               annotate_rarer(one));
        print_place(p, one);
        if (l && l->source) {
            fputs(" (", stdout);
            print_name(names_text(&p->names, l->source), 0);
            printf(":%" PRIu32 ")", l->number);
        }
        putchar('\n');
    }
    free(order);
}

/* ---- --top ---- */

/* What top.h shows, as --flat, --callers and --lines do. */
typedef struct viewer {
    writer order;      /* of lines */
    char heads[TOP_PANES][SYMBOL];
    sourcefile *sources;
} viewer;

static top_row *add_row(viewer *v, top_list *list, const char *name)
{
    top_row *row;
    if ((list->count & (list->count - 1)) == 0
        && !tool_grow(&list->rows, 2 * list->count + 64, sizeof *list->rows))
        out_of_memory(v->order.in);
    row = &list->rows[list->count++];
    memset(row, 0, sizeof *row);
    row->name = name;
    return row;
}

static void show_functions(viewer *v, unsigned pane, uint32_t function,
                           top_list *list)
{
    ptprof *const p = v->order.in;
    const unsigned is_callees = pane == TOP_CALLEES;
    entry *const entries = add_up(p, pane == TOP_CALLERS ? function : 0,
                                  is_callees ? function : 0);
    uint64_t all = 0;
    if (pane == TOP_FUNCTIONS)
        snprintf(v->heads[pane], SYMBOL, "%sfunction", flat_head(p));
    else
        snprintf(v->heads[pane], SYMBOL,
                 "  share     cost      calls  %s of %.2048s",
                 is_callees ? "callees" : "callers",
                 function_text(p, function));
    for (const entry *s = entries; s->name; s++) all += s->cost;
    for (const entry *s = entries; s->name; s++) {
        top_row *const row = add_row(v, list, function_text(p, s->name));
        if (pane == TOP_FUNCTIONS)
            put_flat(p, row->text, s);
        else
            put_caller(p, row->text, s, all, is_callees ? s->name : 0);
        row->function = s->name;
        row->keys[TOP_OWN] = s->cost;
        row->keys[TOP_TOTAL] = s->total;
        row->keys[TOP_CALLS] = s->calls;
    }
    free(entries);
}

/* Lines of one source file, `count` of them, with those between them. */
static void show_file(viewer *v, const uint32_t *order, size_t count,
                      top_list *list)
{
    ptprof *const p = v->order.in;
    const uint64_t all = total_of(p, &p->tree.list[CALLTREE_ROOT]);
    const sourcefile *const file = sourcefile_get(
        &v->sources, names_text(&p->names, p->lines[order[0]].source));
    const uint32_t first = p->lines[order[0]].number;
    const uint32_t last = p->lines[order[count - 1]].number;
    uint64_t number = first > 3 ? first - 3 : 1;
    if (!file) out_of_memory(p);
    for (size_t i = 0; number <= last; number++) {
        const int is_there = number <= file->count;
        uint64_t cost = 0;
        char text[16] = "", share[16] = "";
        top_row *row;
        for (; i < count && p->lines[order[i]].number <= number; i++)
            cost += line_cost(p, &p->lines[order[i]]);
        if (!is_there && !cost) { /* on to the next one that has a cost */
            number = i < count ? p->lines[order[i]].number - 1 : last;
            continue;
        }
        row = add_row(v, list, is_there ? file->lines[number - 1] : "");
        if (cost) put_cost(p, text, cost);
        if (cost && all)
            snprintf(share, sizeof share, "%.1f%%",
                     100.0 * (double) cost / (double) all);
        snprintf(row->text, sizeof row->text, "%7s %8s %6" PRIu64 "  ", share,
                 text, number);
        row->keys[TOP_OWN] = cost;
        row->hot = cost && cost >= all / 100;
    }
}

static void show_source(viewer *v, uint32_t function, top_list *list)
{
    ptprof *const p = v->order.in;
    const uint32_t *const order = v->order.lines;
    size_t i = first_line(&v->order, function);
    char *const head = v->heads[TOP_SOURCE];
    snprintf(head, SYMBOL, "    own     cost   line  no source is known");
    while (i < p->line_max && p->lines[order[i]].function == function) {
        const uint32_t source = p->lines[order[i]].source;
        const size_t from = i;
        while (i < p->line_max && p->lines[order[i]].function == function
               && p->lines[order[i]].source == source)
            i++;
        if (!source) continue;
        if (list->count == 0)
            snprintf(head, SYMBOL, "    own     cost   line  %.2048s",
                     names_text(&p->names, source));
        else
            add_row(v, list, names_text(&p->names, source));
        show_file(v, order + from, i - from, list);
    }
}

static void fill_pane(unsigned pane, uint32_t function, top_list *list,
                      void *context)
{
    viewer *const v = (viewer *) context;
    list->count = 0;
    list->head = v->heads[pane];
    if (pane == TOP_SOURCE)
        show_source(v, function, list);
    else
        show_functions(v, pane, function, list);
}

static int show_top(ptprof *p)
{
    viewer *const v = (viewer *) calloc(1, sizeof *v);
    char cost[16], title[96];
    top_config config = {title, fill_pane, v};
    const char *why;
    if (!v) out_of_memory(p);
    v->order.in = p;
    v->order.lines = make_order(p, p->line_max, by_place);
    put_cost(p, cost, total_of(p, &p->tree.list[CALLTREE_ROOT]));
    snprintf(title, sizeof title, "ptprof: %s%s, %zu threads", cost,
             p->by_insn ? " instructions" : "", p->thread_count);
    why = top_run(&config);
    if (why) fprintf(stderr, "%s: --top: %s.\n", p->args->program, why);
    free(v->order.lines);
    sourcefile_free(v->sources);
    free(v);
    return why != NULL;
}

/* ---- --diff ---- */

/* A function in two recordings. */
typedef struct change {
    calltree_cost own[2];
    uint64_t calls[2];
    uint64_t by;      /* how much its cost differs */
    uint32_t name[2]; /* its number in each; 0: it did not run there */
} change;

/* What a function is called in all recordings of a program: by its symbol, the
 * source file that alone can call it, and its file. */
static uint32_t key_of(ptprof *p, names_table *keys, uint32_t function)
{
    const functions_about *const f =
        &p->session.functions.list[function - 1].about;
    char text[3 * SYMBOL];
    uint32_t key;
    snprintf(text, sizeof text, "%.4000s\n%.4000s\n%.4000s",
             f->symbol ? f->symbol : function_text(p, function),
             f->source ? f->source : "", f->object ? tool_base(f->object) : "");
    key = names_add(keys, text);
    if (!key) out_of_memory(p);
    return key;
}

static uint64_t cost_in(const ptprof *p, const calltree_cost *c)
{
    return p->by_insn ? c->insns : c->ns;
}

/* Adds one of the two recordings; `max` rows are there. */
static change *add_changes(ptprof *p, unsigned which, names_table *keys,
                           change *rows, size_t *max)
{
    entry *const entries = add_up(p, 0, 0);
    for (const entry *e = entries; e->name; e++) {
        const uint32_t key = key_of(p, keys, e->name);
        if (key > *max) {
            const size_t more = 2 * (size_t) key;
            if (!tool_grow(&rows, more, sizeof *rows)) out_of_memory(p);
            memset(rows + *max, 0, (more - *max) * sizeof *rows);
            *max = more;
        }
        calltree_add(&rows[key - 1].own[which], &e->own);
        rows[key - 1].calls[which] += e->calls;
        rows[key - 1].name[which] = e->name;
    }
    free(entries);
    return rows;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

static int by_change(const void *a, const void *b)
{
    const change *const x = (const change *) a;
    const change *const y = (const change *) b;
    const uint64_t m = distance(x->own[0].insns, x->own[1].insns);
    const uint64_t n = distance(y->own[0].insns, y->own[1].insns);
    if (x->by != y->by) return x->by < y->by ? 1 : -1;
    if (m != n) return m < n ? 1 : -1;
    if (x->name[1] != y->name[1]) return x->name[1] < y->name[1] ? -1 : 1;
    return x->name[0] < y->name[0] ? -1 : x->name[0] > y->name[0];
}

static void print_difference(int width, uint64_t before, uint64_t after)
{
    char text[24];
    snprintf(text, sizeof text, "%s%" PRIu64,
             after < before ? "-" : after > before ? "+" : "",
             distance(before, after));
    printf("%*s", width, text);
}

static void print_change(ptprof *p, const change *c, const char *name)
{
    const uint64_t before = cost_in(p, &c->own[0]);
    const uint64_t after = cost_in(p, &c->own[1]);
    char text[3][16], by[20];
    put_cost(p, text[0], before);
    put_cost(p, text[1], after);
    put_cost(p, text[2], c->by);
    snprintf(by, sizeof by, "%s%s",
             after < before ? "-" : after > before ? "+" : "", text[2]);
    printf("%9s %8s %8s", by, text[0], text[1]);
    print_difference(14, c->own[0].insns, c->own[1].insns);
    print_difference(12, c->calls[0], c->calls[1]);
    fputs("  ", stdout);
    print_name(name, room_after(p, 55));
    putchar('\n');
}

/* Both have run. */
static void print_diff(ptprof *before, ptprof *p)
{
    names_table keys;
    size_t max = 0;
    uint64_t least;
    change *rows, all;
    memset(&keys, 0, sizeof keys);
    memset(&all, 0, sizeof all);
    rows = add_changes(before, 0, &keys, NULL, &max);
    rows = add_changes(p, 1, &keys, rows, &max);
    for (size_t i = 0; i < max; i++) {
        change *const c = &rows[i];
        c->by = distance(cost_in(p, &c->own[0]), cost_in(p, &c->own[1]));
        for (unsigned k = 0; k < 2; k++) {
            calltree_add(&all.own[k], &c->own[k]);
            all.calls[k] += c->calls[k];
        }
    }
    all.by = distance(cost_in(p, &all.own[0]), cost_in(p, &all.own[1]));
    least = cost_in(p, &all.own[cost_in(p, &all.own[1])
                                > cost_in(p, &all.own[0])]);
    least = least_of(p, least);
    if (max) qsort(rows, max, sizeof *rows, by_change);
    printf("   change   before    after  instructions       calls  function%s\n",
           p->by_insn ? " (costs are instructions)" : "");
    for (size_t i = 0; i < max; i++) {
        const change *const c = &rows[i];
        if ((!c->by && c->own[0].insns == c->own[1].insns
             && c->calls[0] == c->calls[1]) || c->by < least)
            continue;
        print_change(p, c, c->name[1] ? function_text(p, c->name[1])
                                      : function_text(before, c->name[0]));
    }
    print_change(p, &all, "all");
    names_free(&keys);
    free(rows);
}

/* ---- --html ---- */

static int cannot_write(const ptprof *p, const char *name)
{
    fprintf(stderr, "%s: cannot write ", p->args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", strerror(errno));
    return 1;
}

#define PAGE_DATA (20l << 20) /* bytes, at most */
#define PAGE_AGAIN (-2)       /* there were more: once more, with less calls */

/* Where the time line goes first. */
static int open_json(ptprof *p)
{
    const char *const dir = getenv("TMPDIR");
    int fd;
    snprintf(p->json, sizeof p->json, "%.200s/ptprofXXXXXX",
             dir && *dir ? dir : "/tmp");
    fd = mkstemp(p->json);
    if (fd < 0) return cannot_write(p, p->json);
    close(fd);
    p->opt.timeline = p->json;
    p->opt.format = TIMELINE_SPEEDSCOPE;
    return 0;
}

static void put_page_losses(ptprof *p)
{
    const threads *const t = &p->session.threads;
    FILE *const out = p->page->out;
    unsigned kinds = 0;
    fputs("<dt>Lost</dt><dd>", out);
    for (unsigned i = 0; i < THREADS_LOSSES; i++)
        if (t->losses[i])
            fprintf(out, "%s%s: %" PRIu64, kinds++ ? "; " : "",
                    threads_text((threads_loss) i), t->losses[i]);
    fputs(kinds ? "</dd>\n" : "nothing</dd>\n", out);
}

static void put_page_feature(ptprof *p, const char *before, unsigned bit)
{
    char text[512];
    if (perfdata_feature_text(p->session.file.data, bit, text, sizeof text) != 1)
        return;
    fputs(before, p->page->out);
    page_text(p->page, text);
}

/* What was recorded, how, what it adds up to, and what is missing. */
static void put_page_head(ptprof *p)
{
    FILE *const out = p->page->out;
    const calltree_node *const all = &p->tree.list[CALLTREE_ROOT];
    const char *const times = p->session.threads.cyc ? "with cycles"
        : p->session.threads.timed ? "without cycles" : "none";
    char cost[16];
    fputs("<h1 id=\"name\">", out);
    page_text(p->page, p->opt.file ? tool_base(p->opt.file) : "trace");
    fprintf(out, "</h1>\n<dl>\n<dt>Recorded</dt><dd>%" PRIu32 " queue%s of Intel "
                 "PT; times: %s",
            p->session.threads.queues.queue_count,
            TOOL_S(p->session.threads.queues.queue_count), times);
    put_page_feature(p, "; on ", PERFDATA_FEATURE_HOSTNAME);
    put_page_feature(p, ", Linux ", PERFDATA_FEATURE_OSRELEASE);
    put_page_feature(p, ", processor ", PERFDATA_FEATURE_CPUID);
    put_cost(p, cost, total_of(p, all));
    fprintf(out, "</dd>\n<dt>Total</dt><dd>%" PRIu64 " instruction%s in %zu "
                 "thread%s; costs are %s: %s</dd>\n",
            all->total.insns, TOOL_S(all->total.insns), p->thread_count,
            TOOL_S(p->thread_count), p->by_insn ? "instructions" : "times", cost);
    put_page_losses(p);
    if (p->shortest) {
        put_cost(p, cost, p->shortest);
        fprintf(out, "<dt>Folded</dt><dd>the view has no calls below %s "
                     "(--min %s); the table has all</dd>\n", cost, cost);
    }
    fputs("</dl>\n", out);
}

static void put_page_table(ptprof *p)
{
    FILE *const out = p->page->out;
    entry *const entries = add_up(p, 0, 0);
    fprintf(out, "<table id=\"functions\"><thead><tr><th>total<th>own<th>cost"
                 "<th>calls%s<th>function</thead><tbody>\n",
            p->opt.ipc ? "<th>IPC" : "");
    for (const entry *e = entries; e->name; e++) {
        char text[64];
        put_flat(p, text, e);
        fputs("<tr>", out);
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
            fputs("<td>", out);
            page_text(p->page, word);
        }
        fputs("<td><a href=\"#view\">", out);
        page_text(p->page, function_text(p, e->name));
        fputs("</a>\n", out);
    }
    fputs("</tbody></table>\n", out);
    free(entries);
}

/* The time line is written. */
static int write_page(ptprof *p)
{
    FILE *const data = fopen(p->json, "rb");
    long size;
    if (!data) return cannot_write(p, p->json);
    fseek(data, 0, SEEK_END);
    size = ftell(data);
    if (size > PAGE_DATA) {
        const uint64_t times = (uint64_t) (2 * size / PAGE_DATA);
        fclose(data);
        p->shortest = (p->shortest ? p->shortest : 10) * times;
        return PAGE_AGAIN;
    }
    put_page_head(p);
    put_page_table(p);
    page_data(p->page, "profile", data);
    fclose(data);
    return 0;
}

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
    if (p->ranges.failed) out_of_memory(p);
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
        print_diff(p->before, p);
        return 0;
    }
    fprintf(stderr, "%s: --diff: one of the files has no times: --by insn.\n",
            p->args->program);
    return 1;
}

static int show(ptprof *p)
{
    int status = write_exports(p);
    settle_costs(p);
    calltree_sum(&p->tree);
    calltree_sort(&p->tree, p->by_insn);
    if (p->page) status |= write_page(p);
    if (status == PAGE_AGAIN) return status;
    if (p->opt.tree) print_tree(p);
    if (p->opt.flat) print_flat(p);
    if (p->before) status |= show_diff(p);
    if (p->opt.callers) status |= print_callers(p);
    if (p->opt.waits) print_waits(p);
    if (p->opt.folded) print_folded(p);
    if (p->opt.annotate) status |= print_annotated(p);
    if (p->opt.branches) print_branches(p);
    if (p->opt.callgrind && write_callgrind(p))
        status = cannot_write(p, p->opt.callgrind);
    if (p->opt.top) status |= show_top(p);
    if (p->opt.lines) print_lines(p);
    if (p->opt.hot) print_hot(p);
    if (p->opt.histogram) status |= print_histogram(p);
    if (p->opt.crash)
        status |= print_crashes(p);
    else if (p->opt.last)
        status |= print_moments(p);
    if (p->opt.moment && !p->at_count) {
        fprintf(stderr, "%s: --at: nothing ran before that.\n",
                p->args->program);
        status = 1;
    }
    return status;
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
    if (p->page && open_json(p)) return OPTIONS_NOTHING;
    if (p->opt.timeline && timeline_open(&p->timeline, p->opt.format,
                                         p->opt.timeline, p->by_insn))
        return cannot_write(p, p->opt.timeline);
    if (p->opt.least_is && p->shortest < p->opt.least) p->shortest = p->opt.least;
    p->timeline.least = p->shortest * (p->by_insn ? 1 : CHARGE_FINE);
    status = session_run(&p->session);
    end_threads(p);
    functions_settle(&p->session.functions);
    if (p->opt.timeline && timeline_close(&p->timeline, text_of,
                                          &p->session.functions))
        status = cannot_write(p, p->opt.timeline);
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
        out_of_memory(p);
    if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0) p->columns = size.ws_col;
    status = session_parse(args, &p->session, help, more_help, &p->opt.file);
    if (status >= 0) return status;
    p->opt.by_line = p->opt.lines || p->opt.callgrind || p->opt.top
                 || p->opt.inlined || p->opt.annotate;
    if (p->opt.moment && !p->opt.by_line && !tool_missing(TOOL_LIBDW))
        p->opt.by_line = p->opt.spots = 1;
    config->insn = p->opt.by_line; /* a block may have many lines */
    for (unsigned i = 0; i < EXPORTS_KINDS; i++)
        p->opt.has_exports |= p->opt.exports[i] != NULL;
    p->opt.views = p->opt.flat || p->opt.moment || p->opt.callers
               || p->opt.waits || p->opt.top || p->opt.folded || p->opt.lines || p->opt.histogram
               || p->opt.last || p->opt.crash || p->opt.annotate
               || p->opt.branches || p->opt.hot || p->opt.callgrind
               || p->opt.timeline || p->opt.diff || p->opt.html;
    if (!p->opt.views && !p->opt.has_exports) p->opt.tree = 1;
    p->opt.views |= p->opt.tree;
    if (p->opt.has_exports) config->flow = on_export_flow;
    if (p->opt.crash) config->flow = on_crash_flow;
    if (p->opt.annotate || p->opt.branches) config->flow = on_annotate_flow;
    if (!p->opt.views || (p->opt.by == BY_INSN && !p->opt.ipc))
        config->date = NULL;
    return -1;
}

static const session_config views_config = {
    on_flow, on_event, on_lost, on_date, parse_option, on_exec,
    IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP, 0, 1, 0};

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
    config->flow = on_flow;
    memset(&before->opt, 0, sizeof before->opt);
    before->opt.by = p->opt.by;
    before->opt.on_cpu = p->opt.on_cpu;
    before->opt.inlined = p->opt.inlined;
    before->opt.join = p->opt.join;
    before->opt.by_line = p->opt.inlined;
    before->opt.views = 1;
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
