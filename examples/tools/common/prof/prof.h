/* prof.h: what the parts of ptprof share: its types, and one file for each kind
 * of view.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROF_H
#define PROF_H
#include "ipt.h"
#include "../code/corefile.h"
#include "../code/direct.h"
#include "../code/functions.h"
#include "../code/names.h"
#include "../code/page.h"
#include "../flow/annotate.h"
#include "../flow/calltree.h"
#include "../flow/charge.h"
#include "../flow/crash.h"
#include "../flow/exports.h"
#include "../flow/session.h"
#include "../flow/stack.h"
#include "../flow/timeline.h"

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
    uint64_t threads; /* -j; 0: as many as can be used */
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
    uint8_t by_line; /* --lines, --callgrind, --top, --inlined: costs of lines */
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

/* Notes of flow, by way of charge.h. ENTER, LEAVE: a function, and stack_why, with
 * AS_SIGNAL and AS_PART, and where it returns to; PART: see enter_part; CHAIN:
 * functions that are inlined, a number of ptprof.chains; ROOT: a node; BEFORE: an
 * event's type; VALUE: which, and the value; TURN: a thread, and time; MARK:
 * threads_loss. */
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
    names_table spots;   /* addresses, with `spots` instead of lines */
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
    thread asking;       /* prof_stays */
    thread **threads;
    size_t thread_count;
    size_t thread_max;
    uint32_t gaps[CHARGE_GAPS]; /* functions that stand for them; 0: none yet */
    uint8_t by_insn;
    uint8_t ends;        /* all flow was given */
    uint8_t no_kernel;   /* code was missing that may be the kernel's */
    int columns;         /* of the terminal; 0: it is none */
};

/* What nodes of the tree add up to. */
typedef struct entry {
    uint64_t cost;
    uint64_t total;
    uint64_t calls;
    calltree_cost own;
    uint32_t name;
    uint32_t open; /* nodes of that name on the way to the one in hand */
} entry;

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

/* ---- text.c: costs, names and indents as all views print them ---- */

const char *prof_put_calls(ptprof *p, char text[24], uint64_t calls,
                           uint32_t function);
uint64_t prof_own_of(const ptprof *p, const calltree_node *n);
uint64_t prof_total_of(const ptprof *p, const calltree_node *n);
void prof_put_cost(const ptprof *p, char text[16], uint64_t cost);
const char *prof_marked(const ptprof *p, char text[24], const char *from,
                        const calltree_cost *cost);
const char *prof_ipc_text(const ptprof *p, char text[24],
                          const calltree_cost *cost);
void prof_print_ipc(const ptprof *p, const calltree_cost *cost);
int prof_ipc_width(const ptprof *p);
void prof_print_name(const char *text, int width);
int prof_room_after(const ptprof *p, int used);
int prof_indent(const ptprof *p, int used, uint32_t depth);
void prof_print_time(const ptprof *p, int width, uint64_t cost);

/* ---- ends.c: the end of threads, and a moment: --last, --before, --at ---- */

void prof_show_before(thread *t, const char *what);
void prof_show_at(thread *t, int ended);
int prof_print_crashes(ptprof *p);
int prof_print_moments(ptprof *p);

/* ---- collect.c: flow becomes calls, lines, jumps and hot paths ---- */

void prof_out_of_memory(const ptprof *p);
uint32_t prof_add_name(ptprof *p, const char *text);
const char *prof_text_of(uint32_t function, void *context);
const char *prof_function_text(ptprof *p, uint32_t function);
int prof_is_chosen(ptprof *p, functions_choice *choice, uint32_t function);
int prof_is_annotated(ptprof *p, uint32_t function);
uint64_t prof_moment_of(const thread *t);
uint64_t prof_cost_of(const thread *t);
void prof_path_text(ptprof *p, const path *at, char text[2 * SYMBOL]);
void prof_on_flow(session *s, session_task *task, const threads_who *who,
                  const ipt_block *b);
/* Where blocks are only counted: see replay.h. For prof_on_flow alone. */
int prof_stays(session *s, session_task *task, const threads_who *who,
               const ipt_block *b, uint64_t *first, uint64_t *last);
void prof_on_export_flow(session *s, session_task *task,
                         const threads_who *who, const ipt_block *b);
void prof_on_crash_flow(session *s, session_task *task,
                        const threads_who *who, const ipt_block *b);
void prof_on_annotate_flow(session *s, session_task *task,
                           const threads_who *who, const ipt_block *b);
void prof_on_event(session *s, session_task *task, const threads_who *who,
                   const ipt_event *e);
void prof_on_lost(session *s, session_task *task, const threads_who *who,
                  threads_loss loss, const ipt_where *at);
void prof_on_date(session *s, session_task *task, const threads_who *who,
                  const dates_date *date, int own);
void prof_on_exec(session *s, session_task *task);
void prof_end_threads(ptprof *p);
void prof_settle_costs(ptprof *p);

/* ---- tables.c: views that are tables or trees ---- */

uint64_t prof_least_of(const ptprof *p, uint64_t all);
void prof_print_tree(ptprof *p);
void prof_print_folded(ptprof *p);
entry *prof_add_up(const ptprof *p, uint32_t callee, uint32_t caller);
const char *prof_flat_head(const ptprof *p);
void prof_put_flat(ptprof *p, char text[64], const entry *s);
void prof_print_flat(ptprof *p);
void prof_put_caller(ptprof *p, char text[64], const entry *s, uint64_t all,
                     uint32_t callee);
int prof_print_callers(ptprof *p);
void prof_print_waits(ptprof *p);
uint64_t prof_line_cost(const ptprof *p, const line *l);
void prof_print_lines(ptprof *p);
void prof_print_hot(ptprof *p);
int prof_print_histogram(ptprof *p);

/* ---- callgrind.c: --callgrind ---- */

int prof_by_place(const void *a, const void *b);
size_t prof_first_line(const writer *w, uint32_t function);
uint32_t *prof_make_order(ptprof *p, size_t count,
                          int (*compare)(const void *, const void *));
int prof_write_callgrind(ptprof *p);

/* ---- branches.c: --annotate and --branches ---- */

int prof_print_annotated(ptprof *p);
void prof_print_branches(ptprof *p);

/* ---- browse.c: --top ---- */

int prof_show_top(ptprof *p);

/* ---- diff.c: --diff ---- */

void prof_print_diff(ptprof *before, ptprof *p);

/* ---- html.c: --html ---- */

int prof_cannot_write(const ptprof *p, const char *name);
int prof_open_json(ptprof *p);
/* 0, or 1; PAGE_AGAIN: there were too many calls, once more with less. */
#define PAGE_AGAIN (-2)
int prof_write_page(ptprof *p);

#endif /* PROF_H */
