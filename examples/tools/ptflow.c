/* ptflow: what each thread of a perf.data with Intel PT executed.
 *
 *     ptflow [<options>] [<file>]
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "ipt.h"
#include "common/code/disasm.h"
#include "common/flow/diverge.h"
#include "common/flow/ptwrites.h"
#include "common/flow/pebs.h"
#include "common/flow/session.h"
#include "common/flow/slices.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#include "zydis_glue/ipt_zydis.h"
#define HAVE_ZYDIS
#endif
#endif

static const char help[] =
    "usage: %s [<options>] [<file>]\n"
    "\n"
    "Prints what each thread of a perf.data (a file, a folder that has one, or\n"
    "- for the standard input; else ./perf.data) with Intel PT executed: the\n"
    "lines of a thread are in order. What is lost, and why, is said at the end,\n"
    "to standard error.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  --insn                    print instructions; the default.\n"
    "  --block                   print blocks: straight runs of them.\n"
    "  --branch                  print branches: from, and to.\n"
    "  --call                    print calls and returns, indented.\n"
    "  --event                   print events: interrupts, switches, ...\n"
    "  --errors                  print what is lost where it is.\n"
    "  --fields <field>,...      what a line has, in this order: pid, tid, cpu,\n"
    "                            time, ip, to, size, count, kind, mode, comm,\n"
    "                            sym, symoff, dso, queue, offset, sure, guest,\n"
    "                            to_sym, to_symoff, values, machine_pid, vcpu,\n"
    "                            srcline, bytes, disasm. sym is the\n"
    "                            function, ? if there is none; symoff the place\n"
    "                            in it, or in the file; to_sym and to_symoff\n"
    "                            those of `to`; sure is 0 if it may have been\n"
    "                            another thread; guest 1 for code of a virtual\n"
    "                            machine; machine_pid and vcpu which machine and\n"
    "                            processor, where the file has its records: then\n"
    "                            comm, pid and tid are of its thread;\n"
    "                            values what an event says, as\n"
    "                            payload=2a size=8; srcline the line of source,\n"
    "                            as DWARF says; bytes and disasm the instruction\n"
    "                            at `ip`, or the first one of a block.\n"
    "  --json                    an object a line, for scripts: \"type\" and the\n"
    "                            fields. The first says the version of this\n"
    "                            form, now 1: fields may be added to it.\n"
    "                            Addresses and offsets are text, time is in ns,\n"
    "                            null is what is not known.\n"
    "  --func <name>             instructions of functions of this name only:\n"
    "                            with parameters or without, <file>:<name>.\n"
    "  --last <n>                the last n lines of each thread only.\n"
    "  -j <n>                    use n processors: each decodes a part; with\n"
    "                            --call, --func, --last, --time or --check one\n"
    "                            decodes, the others put lines into words. Else as\n"
    "                            many as there are, but 8 at most.\n"
    "  --check                   compare each instruction with what Zydis says\n"
    "                            of it.\n"
    "  --never-mark              sure is always 1. For tests.\n"
    "  --diverge <file>          print where threads of that file and of the other\n"
    "                            one first went different ways: the branch, its\n"
    "                            line, and the stack.\n"
    "  --dso <file>              ... by branches inside of this file only.\n"
    "  --threads                 print the threads, TID PID NAME, and end.\n";

static const char more_help[] =
    "\n"
    "Example: ptflow --call --func main perf.data\n"
    "\n"
    "With GNU parallel, on several machines that have the same files:\n"
    "\n"
    "  ptflow --threads perf.data | cut -d ' ' -f 1 |\n"
    "      parallel -k -S host1,host2 --wd . ptflow --tid {} perf.data\n";

enum { INSN = 1, BLOCK = 2, BRANCH = 4, CALL = 8, EVENT = 16, ERRORS = 32 };

typedef enum field {
    F_PID, F_TID, F_CPU, F_TIME, F_IP, F_TO, F_SIZE, F_COUNT, F_KIND, F_MODE,
    F_COMM, F_SYM, F_SYMOFF, F_DSO, F_QUEUE, F_OFFSET, F_SURE,
    F_GUEST, F_TO_SYM, F_TO_SYMOFF, F_VALUES, F_MACHINE, F_VCPU, F_SRCLINE, F_BYTES,
    F_DISASM, FIELDS
} field;

static const char *const field_names[FIELDS] = {
    "pid",  "tid",  "cpu", "time", "ip",    "to",     "size", "count", "kind",
    "mode", "comm", "sym", "symoff", "dso", "queue", "offset", "sure",
    "guest", "to_sym", "to_symoff", "values", "machine_pid", "vcpu", "srcline",
    "bytes", "disasm"
};

/* What a line may say of the instruction that it is about. */
enum { BYTES, DISASM, SRCLINE, CODES };

typedef struct options {
    const char *file;
    unsigned show; /* INSN, ... */
    uint8_t fields[64];
    unsigned field_count;
    const char *func;
    const char *diverge; /* the other file; or NULL */
    const char *dso;
    uint64_t last; /* 0: all */
    uint64_t threads; /* -j; 0: as many as can be used */
    uint8_t check;
    uint8_t json;
    uint8_t never_mark;
    uint8_t list_threads;
    uint8_t symbols; /* names of functions or files are needed, .. */
    uint8_t targets; /* ... also those of `to` */
    uint8_t codes[CODES]; /* which of these are */
} options;

/* What is at an address; what it points to stays to the end. */
typedef struct place {
    const char *func; /* NULL: not known */
    const char *dso;  /* NULL: not known */
    uint64_t offset;  /* in the function, or in the file */
    uint32_t function;
} place;

/* A line to come, in numbers; what it points to stays to the end. */
typedef struct line {
    threads_who who;
    uint64_t ip;
    uint64_t to;
    uint64_t offset;
    const char *comm;
    place at;         /* ip */
    place target;     /* to */
    const char *code; /* texts of CODES, each but the last one with its \n; NULL */
    uint32_t count;
    uint16_t depth;
    uint8_t size;
    uint8_t kind;
    uint8_t mode;
    uint8_t what; /* INSN, ... */
    uint8_t has_to;
    uint8_t is_deeper; /* than `depth`, or may be */
    char *words;       /* what a PEBS record says: allocated; or NULL */
    uint64_t event[3]; /* its ipt_event.u */
} line;

/* line.event has room for the fields of any event. */
typedef char line_check[sizeof ((ipt_event *) 0)->u
                                <= sizeof ((line *) 0)->event ? 1 : -1];

typedef struct ptflow ptflow;

/* What is kept of a thread. */
typedef struct task {
    ptflow *in;
    const session_task *of;
    uint8_t has_from;
    line from;           /* a branch whose target comes next */
    stack stack;         /* --call */
    uint64_t first;      /* where flow stays in its top frame, ... */
    uint64_t last;
    uint64_t changes;    /* ... until code changes */
    uint8_t is_deeper;   /* more frames may be below: what is before is not
                            decoded */
    pebs record;
    ptwrites_state write;
    uint64_t since;      /* --last: what is before is not all that there was */
    uint8_t guest;       /* it runs one, now */
    line *ring;          /* --last */
    uint64_t put;        /* lines so far */
} task;

/* What session_find said. */
typedef struct found {
    uint64_t ip;
    uint64_t life; /* changes of code + 1 */
    place place;
    stack_function function;
    uint32_t pid;
    uint8_t guest;
} found;

#define FOUND 16384u /* a power of two */

/* What is said of an instruction. */
typedef struct told_code {
    uint64_t ip;
    uint64_t life; /* changes of code + 1 */
    const char *text;
    uint32_t pid;
    uint8_t guest;
    uint8_t mode;
} told_code;

/* The lines of a block, which are the same whenever it is executed. */
typedef struct told {
    ipt_block block;
    threads_who who;  /* ... by this thread, */
    const char *comm; /* ... of this name */
    uint64_t life;    /* changes of code + 1 */
    char *text;       /* allocated */
    size_t size;
} told;

#define ENDS      (1u << 18) /* bytes of trace: --last */
#define TOLD      4096u /* a power of two */
#define TOLD_TEXT 8192u /* bytes of them that are kept, at most */

/* A name without control bytes, which stays. */
typedef struct clean_name {
    const char *name;
    size_t size; /* 0: it has some */
} clean_name;

#define CLEAN 16u /* a power of two */

/* Text, and where it goes. */
typedef struct text {
    char *bytes;
    size_t used;
    size_t room;
    uint64_t tsc;      /* the last time that was printed, .. */
    char time[40];     /* ... and what it is, in so many bytes */
    size_t time_size;
    uint64_t high;     /* the last address without its last four digits, 0: none, */
    char hex[16];      /* ... and what it is, */
    unsigned hex_size; /* ... in so many digits */
    clean_name names[CLEAN]; /* those that were printed */
    uint64_t flushed;  /* how often */
    uint8_t is_stdout; /* it is written when it is full; else it grows */
    uint8_t failed;
} text;

/* Lines that are put into words by one thread. */
typedef struct batch {
    line lines[1024];
    unsigned count;
    enum { EMPTY, FULL, TAKEN, DONE } state;
    text text;
} batch;

struct ptflow {
    const tool_args *args;
    options opt;
    session session;
    session_config config;
    functions_choice chosen; /* --func */
    ptwrites writes;
    found *found;       /* FOUND places that were looked up */
    told_code *codes;   /* FOUND instructions; NULL: they are not asked for */
    names_table code_texts;
    told *told;         /* TOLD blocks; NULL: lines have times, say, and differ */
    uint64_t unlisted;  /* instructions whose code has changed since */
    uint64_t checked;
    uint64_t differ;
    text out;
    slices slices;
    uint64_t skip; /* bytes of output that were written before */

    /* -j: batches are filled, taken and written in turn. */
    pthread_mutex_t lock; /* for states, `take` and `ended` */
    pthread_cond_t moved;
    pthread_t *workers;
    unsigned worker_count;
    batch *batches;
    unsigned batch_count;
    unsigned fill; /* the one that is being filled */
    unsigned take; /* the next that a worker takes */
    uint8_t ended;
};

#define ROOM (1u << 16)

/* ---- output ---- */

static void out_of_memory(const ptflow *p)
{
    fprintf(stderr, "%s: out of memory.\n", p->args->program);
    exit(1);
}

static void write_out(ptflow *p, text *t)
{
    const size_t skip = p->skip < t->used ? (size_t) p->skip : t->used;
    if (t->used > skip) session_prints(&p->session);
    if (t->used > skip
        && fwrite(t->bytes + skip, 1, t->used - skip, stdout) != t->used - skip)
        t->failed = 1;
    p->skip -= skip;
}

/* 0: it has to be kept. */
static int flush(ptflow *p, text *t)
{
    if (!p->slices.is_process)
        write_out(p, t);
    else if (!slices_write(&p->slices, t->bytes, t->used))
        return 0;
    t->failed |= p->slices.failed;
    t->used = 0;
    t->flushed++;
    return 1;
}

#define FIELD 20000u /* bytes of a field, at most */
#define NAME 4096u   /* ... and of a name in it, before it is escaped */

/* Room for a field. */
static void make_room(ptflow *p, text *t)
{
    if (t->room - t->used >= FIELD) return;
    if (t->is_stdout && t->used && flush(p, t)) return;
    if (!tool_grow(&t->bytes, 2 * t->room + ROOM, 1)) out_of_memory(p);
    t->room = 2 * t->room + ROOM;
}

static void put_char(text *t, char c)
{
    t->bytes[t->used++] = c;
}

static void put_plain(text *t, const char *s)
{
    while (*s) put_char(t, *s++);
}

static void put_bytes(text *t, const char *bytes, size_t size)
{
    memcpy(t->bytes + t->used, bytes, size);
    t->used += size;
}

/* Names may be hostile: control bytes are printed as \xNN. */
static void put_hostile(text *t, const char *s)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned n = 0; *s && n < NAME; s++, n++) {
        const uint8_t c = (uint8_t) *s;
        if (c >= ' ' && c != 127) {
            put_char(t, *s);
            continue;
        }
        put_char(t, '\\');
        put_char(t, 'x');
        put_char(t, digits[c >> 4]);
        put_char(t, digits[c & 15]);
    }
}

static int is_clean(const char *s, size_t size)
{
    size_t n = 0;
    while (n < size && (uint8_t) s[n] >= ' ' && s[n] != 127) n++;
    return n == size;
}

/* A name that stays to the end. */
static void put_text(text *t, const char *s)
{
    clean_name *const c = &t->names[((uintptr_t) s ^ (uintptr_t) s >> 8)
                               & (CLEAN - 1)];
    if (c->name != s) {
        const size_t size = strlen(s);
        c->name = s;
        c->size = size < NAME && is_clean(s, size) ? size : 0;
    }
    if (c->size)
        put_bytes(t, s, c->size);
    else
        put_hostile(t, s);
}

static void put_hex(text *t, uint64_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *const to = t->bytes + t->used;
    int shift = 60;
    if (n >> 16 && n >> 16 == t->high) { /* as it is of most neighbours */
        char *const end = to + t->hex_size;
        memcpy(to, t->hex, sizeof t->hex);
        end[-4] = digits[n >> 12 & 15];
        end[-3] = digits[n >> 8 & 15];
        end[-2] = digits[n >> 4 & 15];
        end[-1] = digits[n & 15];
        t->used += t->hex_size;
        return;
    }
    while (shift && !(n >> shift)) shift -= 4;
    for (; shift >= 0; shift -= 4) put_char(t, digits[n >> shift & 15]);
    if (n >> 16 == 0) return;
    t->hex_size = (unsigned) (t->bytes + t->used - to);
    t->high = n >> 16;
    memcpy(t->hex, to, t->hex_size);
}

static void put_number(text *t, uint64_t n)
{
    char digits[24];
    unsigned i = sizeof digits;
    do
        digits[--i] = (char) ('0' + n % 10);
    while (n /= 10);
    while (i < sizeof digits) put_char(t, digits[i++]);
}

/* ---- what is at an address ---- */

static void look_up(ptflow *p, uint32_t pid, uint8_t guest, uint64_t ip,
                    found *f)
{
    session_place at;
    const int is = session_find(&p->session, pid, guest, ip, &at);
    f->ip = ip;
    f->pid = pid;
    f->guest = guest;
    f->life = p->session.changes + 1;
    f->place.func = at.name;
    f->place.function = at.function;
    f->place.dso = at.file;
    f->place.offset = at.offset;
    if (!is) at.function = functions_label(&p->session.functions, "[unknown]");
    if (p->config.symbols && !at.function) out_of_memory(p);
    f->function = session_function(&at);
}

static inline const found *found_at(ptflow *p, uint32_t pid, uint8_t guest,
                                    uint64_t ip)
{
    const uint64_t hash = (ip ^ (uint64_t) pid << 32) * 0x9e3779b97f4a7c15u;
    found *const f = &p->found[hash >> 50 & (FOUND - 1)];
    if (f->ip != ip || f->pid != pid || f->guest != guest
        || f->life != p->session.changes + 1)
        look_up(p, pid, guest, ip, f);
    return f;
}

static void name_line(ptflow *p, line *l)
{
    l->at = found_at(p, l->who.pid, l->who.guest, l->ip)->place;
    if (p->opt.targets && l->has_to)
        l->target = found_at(p, l->who.pid, l->who.guest, l->to)->place;
}

/* Bytes, words and line of an instruction. An event says no mode: there is only a
 * line. */
static void describe(ptflow *p, const line *l, told_code *c)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, l->who.guest};
    char all[2 * DISASM_MAX + NAME], bytes[DISASM_MAX] = "";
    char words[DISASM_MAX] = "";
    uint8_t code[15];
    uint32_t number;
    int n = 0;
    ipt_code insn;
    session_place at;
    lines_place row;
    memset(&row, 0, sizeof row);
    p->session.view.pid = l->who.pid;
    if (p->opt.codes[BYTES] || p->opt.codes[DISASM])
        n = spaces_read(code, sizeof code, &asid, l->ip, &p->session.view);
    if (n > 0 && ipt_classify(&insn, code, (size_t) n, l->mode, NULL) >= 0) {
        disasm_bytes(bytes, code, insn.size);
        disasm_text(words, code, insn.size, l->mode, l->ip);
    }
    if (p->opt.codes[SRCLINE]
        && session_find(&p->session, l->who.pid, l->who.guest, l->ip, &at) && at.in)
        lines_find(&p->session.lines, at.in, at.in_offset, &row);
    n = snprintf(all, sizeof all, "%s\n%s\n", bytes, words);
    if (row.file)
        snprintf(all + n, NAME, "%.4000s:%d", row.file, row.line);
    number = names_add(&p->code_texts, all);
    if (!number) out_of_memory(p);
    c->ip = l->ip;
    c->pid = l->who.pid;
    c->guest = l->who.guest;
    c->mode = l->mode;
    c->life = p->session.changes + 1;
    c->text = names_text(&p->code_texts, number);
}

static const char *code_of(ptflow *p, const line *l)
{
    const uint64_t hash = (l->ip ^ (uint64_t) l->who.pid << 32)
                        * 0x9e3779b97f4a7c15u;
    told_code *const c = &p->codes[hash >> 50 & (FOUND - 1)];
    if (c->ip != l->ip || c->pid != l->who.pid || c->guest != l->who.guest
        || c->mode != l->mode || c->life != p->session.changes + 1)
        describe(p, l, c);
    return c->text;
}

static stack_function function_at(uint64_t ip, void *user)
{
    const task *const t = (const task *) user;
    return found_at(t->in, t->of->pid, t->guest, ip)->function;
}

static void no_frame(stack *s, stack_frame *frame, stack_why why)
{
    (void) s;
    (void) frame;
    (void) why;
}

/* ---- threads ---- */

static const stack_config stack_calls = {function_at, no_frame, no_frame};

static task *task_of(ptflow *p, session_task *of)
{
    task *t = (task *) of->user;
    int is_cut;
    if (t) return t;
    t = (task *) calloc(1, sizeof *t);
    if (t && p->opt.last)
        t->ring = (line *) calloc((size_t) p->opt.last, sizeof *t->ring);
    if (!t || (p->opt.last && !t->ring)) out_of_memory(p);
    t->in = p;
    t->of = of;
    t->is_deeper = p->session.threads.skips;
    t->since = threads_since(&p->session.threads, of->tid, &is_cut);
    stack_init(&t->stack, &stack_calls, t);
    of->user = t;
    return t;
}

/* ---- lines ---- */

static void put_sym(text *t, const place *at)
{
    put_text(t, at->func ? at->func : "?");
}

static void put_place(text *t, const place *at)
{
    put_text(t, at->func ? at->func : at->dso ? at->dso : "?");
    if (!at->func && !at->dso) return;
    put_char(t, '+');
    put_char(t, '0');
    put_char(t, 'x');
    put_hex(t, at->offset);
}

static void put_time(const ptflow *p, text *t, uint64_t tsc)
{
    uint64_t ns;
    unsigned i = 9;
    char digits[9];
    if (!tsc || !p->session.threads.timed) {
        put_char(t, '-');
    } else if (tsc == t->tsc) {
        put_bytes(t, t->time, t->time_size);
    } else {
        const size_t begin = t->used;
        ns = session_ns(&p->session, tsc);
        put_number(t, ns / 1000000000);
        put_char(t, '.');
        for (ns %= 1000000000; i; ns /= 10) digits[--i] = (char) ('0' + ns % 10);
        put_bytes(t, digits, sizeof digits);
        t->tsc = tsc;
        t->time_size = t->used - begin;
        memcpy(t->time, t->bytes + begin, t->time_size);
    }
}

static const char *mode_name(uint8_t mode)
{
    static const char *const names[IPT_MODE_COUNT] = {"-", "16", "32", "64"};
    return mode < IPT_MODE_COUNT ? names[mode] : "-";
}

static const char *kind_name(const line *l)
{
    if (l->words) return "pebs";
    if (l->what == EVENT) return ipt_evt_name(l->kind);
    if (l->what == ERRORS) return threads_text((threads_loss) l->kind);
    return ipt_insn_name(l->kind);
}

/* What an event says; "" if it is nothing. */
static const char *words_of(const line *l, char words[IPT_WORDS_MAX])
{
    ipt_event e;
    const char *rest;
    if (l->words) return l->words;
    if (l->what != EVENT) return "";
    memset(&e, 0, sizeof e);
    e.type = l->kind;
    memcpy(&e.u, l->event, sizeof e.u);
    ipt_event_words(&e, words, IPT_WORDS_MAX);
    rest = strchr(words, ' ');
    return rest ? rest + 1 : "";
}

static void put_values(text *t, const line *l)
{
    char room[IPT_WORDS_MAX];
    const char *const words = words_of(l, room);
    put_hostile(t, *words ? words : "-");
}

/* Of a machine; "-" for the host. */
static void put_machine(text *t, const line *l, uint32_t number, const char *none)
{
    if (l->who.machine && number != UINT32_MAX)
        put_number(t, number);
    else
        put_plain(t, none);
}

/* One of the CODES; "" if it is not known. */
static const char *code_words(const line *l, unsigned which, char words[NAME])
{
    const char *s = l->code;
    size_t size;
    *words = 0;
    if (!s) return words;
    for (unsigned i = BYTES; i < which; i++) s = strchr(s, '\n') + 1;
    size = which == SRCLINE ? strlen(s) : strcspn(s, "\n");
    memcpy(words, s, size);
    words[size] = 0;
    return words;
}

static unsigned code_field(uint8_t of)
{
    return of == F_BYTES ? BYTES : of == F_DISASM ? DISASM : SRCLINE;
}

static void put_code(text *t, const line *l, uint8_t what)
{
    char words[NAME];
    put_hostile(t, *code_words(l, code_field(what), words) ? words : "?");
}

static void put_field(const ptflow *p, text *t, const line *l, uint8_t what)
{
    switch (what) {
    case F_SRCLINE:
    case F_BYTES:
    case F_DISASM: put_code(t, l, what); break;
    case F_PID: put_number(t, l->who.pid); break;
    case F_TID: put_number(t, l->who.tid); break;
    case F_CPU:
        if (l->who.cpu == UINT32_MAX)
            put_char(t, '-');
        else
            put_number(t, l->who.cpu);
        break;
    case F_TIME: put_time(p, t, l->who.tsc); break;
    case F_IP:
        if (l->what == CALL && l->is_deeper) put_char(t, '?');
        for (unsigned i = 0; l->what == CALL && i < l->depth && i < 64; i++)
            put_text(t, "  ");
        put_hex(t, l->ip);
        break;
    case F_TO:
        if (l->has_to)
            put_hex(t, l->to);
        else
            put_char(t, '-');
        break;
    case F_SIZE: put_number(t, l->size); break;
    case F_COUNT: put_number(t, l->count); break;
    case F_KIND: put_text(t, kind_name(l)); break;
    case F_MODE: put_text(t, mode_name(l->mode)); break;
    case F_COMM: put_text(t, *l->comm ? l->comm : "-"); break;
    case F_SYM: put_sym(t, &l->at); break;
    case F_TO_SYM: put_sym(t, &l->target); break;
    case F_SYMOFF:
    case F_TO_SYMOFF:
        put_place(t, what == F_SYMOFF ? &l->at : &l->target);
        break;
    case F_DSO: put_text(t, l->at.dso ? l->at.dso : "?"); break;
    case F_QUEUE: put_number(t, l->who.queue); break;
    case F_OFFSET: put_hex(t, l->offset); break;
    case F_GUEST: put_number(t, l->who.guest); break;
    case F_VALUES: put_values(t, l); break;
    case F_MACHINE: put_machine(t, l, l->who.machine, "-"); break;
    case F_VCPU: put_machine(t, l, l->who.vcpu, "-"); break;
    default: put_char(t, (char) ('0' + l->who.sure)); break;
    }
}

/* ---- --json ---- */

/* A text in quotes; NULL: null. */
static void put_quoted(text *t, const char *s)
{
    char clean[2 * NAME];
    if (!s) {
        put_plain(t, "null");
        return;
    }
    put_char(t, '"');
    put_plain(t, tool_clean(clean, sizeof clean, s, 1));
    put_char(t, '"');
}

static void put_address(text *t, uint64_t n)
{
    put_plain(t, "\"0x");
    put_hex(t, n);
    put_char(t, '"');
}

static void put_offset(text *t, const place *at)
{
    if (at->func || at->dso)
        put_address(t, at->offset);
    else
        put_plain(t, "null");
}

static void put_flag(text *t, unsigned flag)
{
    put_plain(t, flag ? "true" : "false");
}

static void put_json(const ptflow *p, text *t, const line *l, uint8_t what)
{
    char room[IPT_WORDS_MAX], code[NAME];
    const char *words;
    switch (what) {
    case F_SRCLINE:
    case F_BYTES:
    case F_DISASM:
        put_quoted(t, *code_words(l, code_field(what), code) ? code : NULL);
        break;
    case F_CPU:
        if (l->who.cpu == UINT32_MAX)
            put_plain(t, "null");
        else
            put_number(t, l->who.cpu);
        break;
    case F_TIME:
        if (l->who.tsc && p->session.threads.timed)
            put_number(t, session_ns(&p->session, l->who.tsc));
        else
            put_plain(t, "null");
        break;
    case F_IP: put_address(t, l->ip); break;
    case F_TO:
        if (l->has_to)
            put_address(t, l->to);
        else
            put_plain(t, "null");
        break;
    case F_KIND: put_quoted(t, kind_name(l)); break;
    case F_MODE:
        if (l->mode != IPT_MODE_UNKNOWN && l->mode < IPT_MODE_COUNT)
            put_plain(t, mode_name(l->mode));
        else
            put_plain(t, "null");
        break;
    case F_COMM: put_quoted(t, *l->comm ? l->comm : NULL); break;
    case F_SYM: put_quoted(t, l->at.func); break;
    case F_SYMOFF: put_offset(t, &l->at); break;
    case F_DSO: put_quoted(t, l->at.dso); break;
    case F_TO_SYM: put_quoted(t, l->target.func); break;
    case F_TO_SYMOFF: put_offset(t, &l->target); break;
    case F_OFFSET: put_address(t, l->offset); break;
    case F_GUEST: put_flag(t, l->who.guest); break;
    case F_VALUES:
        words = words_of(l, room);
        put_quoted(t, *words ? words : NULL);
        break;
    case F_MACHINE: put_machine(t, l, l->who.machine, "null"); break;
    case F_VCPU: put_machine(t, l, l->who.vcpu, "null"); break;
    case F_SURE: put_flag(t, l->who.sure); break;
    default: put_field(p, t, l, what); break; /* numbers */
    }
}

static void put_object(ptflow *p, text *t, const line *l)
{
    static const char *const names[] = {"insn", "block", "branch", "call",
                                        "event", "lost"};
    unsigned type = 0;
    while (!(l->what >> type & 1)) type++;
    make_room(p, t);
    put_plain(t, "{\"type\":");
    put_quoted(t, names[type]);
    if (l->what == CALL) {
        put_plain(t, ",\"depth\":");
        if (l->is_deeper)
            put_plain(t, "null");
        else
            put_number(t, l->depth);
    }
    for (unsigned i = 0; i < p->opt.field_count; i++) {
        make_room(p, t);
        put_plain(t, ",\"");
        put_plain(t, field_names[p->opt.fields[i]]);
        put_plain(t, "\":");
        put_json(p, t, l, p->opt.fields[i]);
    }
    put_plain(t, "}\n");
}

/* ---- -j: lines in batches ---- */

/* A line is printed once; its words go with it. */
static void put_words(ptflow *p, text *t, const line *l)
{
    if (p->opt.json) {
        put_object(p, t, l);
    } else {
        for (unsigned i = 0; i < p->opt.field_count; i++) {
            make_room(p, t);
            if (i) put_char(t, ' ');
            put_field(p, t, l, p->opt.fields[i]);
        }
        put_char(t, '\n');
    }
    free(l->words);
}

static void *work(void *context)
{
    ptflow *const p = (ptflow *) context;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        batch *const b = &p->batches[p->take];
        if (b->state == FULL) {
            b->state = TAKEN;
            p->take = (p->take + 1) % p->batch_count;
            pthread_mutex_unlock(&p->lock);
            for (unsigned i = 0; i < b->count; i++)
                put_words(p, &b->text, &b->lines[i]);
            pthread_mutex_lock(&p->lock);
            b->state = DONE;
            pthread_cond_broadcast(&p->moved);
        } else if (p->ended) {
            break;
        } else {
            pthread_cond_wait(&p->moved, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Write what a batch has, as soon as it is put into words; then it is empty. */
static void write_batch(ptflow *p, batch *b)
{
    pthread_mutex_lock(&p->lock);
    while (b->state == FULL || b->state == TAKEN)
        pthread_cond_wait(&p->moved, &p->lock);
    b->state = EMPTY;
    pthread_mutex_unlock(&p->lock);
    flush(p, &b->text);
    p->session.stop |= b->text.failed;
    b->count = 0;
}

/* The batch is full, or was the last one. */
static void end_batch(ptflow *p)
{
    pthread_mutex_lock(&p->lock);
    p->batches[p->fill].state = FULL;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    p->fill = (p->fill + 1) % p->batch_count;
    write_batch(p, &p->batches[p->fill]);
}

static void start_workers(ptflow *p)
{
    const unsigned want = p->opt.threads ? (unsigned) p->opt.threads - 1 : 0;
    if (want == 0 || p->told) return;
    p->batch_count = 2 * want + 2;
    p->batches = (batch *) calloc(p->batch_count, sizeof *p->batches);
    p->workers = (pthread_t *) calloc(want, sizeof *p->workers);
    if (!p->batches || !p->workers) out_of_memory(p);
    while (p->worker_count < want
           && pthread_create(&p->workers[p->worker_count], NULL, work, p) == 0)
        p->worker_count++;
}

static void end_workers(ptflow *p)
{
    for (unsigned i = 0; p->worker_count && i < p->batch_count; i++)
        end_batch(p);
    pthread_mutex_lock(&p->lock);
    p->ended = 1;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    while (p->worker_count)
        pthread_join(p->workers[--p->worker_count], NULL);
    for (unsigned i = 0; i < p->batch_count; i++)
        free(p->batches[i].text.bytes);
    free(p->batches);
    free(p->workers);
}

static void print_line(ptflow *p, const line *l)
{
    batch *b;
    if (!p->worker_count) {
        put_words(p, &p->out, l);
        p->session.stop |= p->out.failed;
        return;
    }
    b = &p->batches[p->fill];
    b->lines[b->count++] = *l;
    if (b->count == sizeof b->lines / sizeof b->lines[0]) end_batch(p);
}

/* ---- which lines ---- */

/* Is it in a function that is asked for? */
static int is_chosen(ptflow *p, const line *l)
{
    const int is = functions_chosen(&p->session.functions, &p->chosen,
                                    l->at.function);
    if (is < 0) out_of_memory(p);
    return is;
}

static int is_wanted(ptflow *p, const task *t, line *l)
{
    if (p->session.threads.muted) return 0;
    if (!session_wants(&p->session, t->of, &l->who)) return 0;
    if (l->who.tsc < t->since) return 0;
    if (p->opt.symbols) name_line(p, l);
    return !p->opt.func || is_chosen(p, l);
}

static void put_line(ptflow *p, task *t, line *l)
{
    line *old;
    if (!is_wanted(p, t, l)) {
        free(l->words);
        return;
    }
    if (p->codes) l->code = code_of(p, l);
    l->comm = t->of->comm;
    if (p->opt.last) {
        old = &t->ring[t->put++ % p->opt.last];
        free(old->words);
        *old = *l;
    } else {
        print_line(p, l);
    }
}

/* ---- what threads.h finds ---- */

#ifdef HAVE_ZYDIS
static void check(ptflow *p, const threads_who *who, const ipt_block *b)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, who->guest};
    spaces_view *const view = &p->session.view;
    uint8_t bytes[15];
    size_t size = sizeof bytes;
    ipt_code code;
    int n = 0;
    view->pid = who->pid;
    while (size && (n = spaces_read(bytes, size, &asid, b->ip, view)) <= 0)
        size--;
    p->checked++;
    memset(&code, 0, sizeof code);
    if (n > 0
        && ipt_zydis_classify(&code, bytes, (size_t) n, b->mode, NULL) >= 0
        && code.size == b->last_size && code.kind == b->kind)
        return;
    if (p->differ++ < 10)
        fprintf(stderr, "%s: %" PRIx64 ": Zydis says otherwise.\n",
                p->args->program, b->ip);
}
#endif

/* The branch before has led here. */
static void end_branch(ptflow *p, task *t, uint64_t to)
{
    if (!t->has_from) return;
    t->has_from = 0;
    t->from.to = to;
    t->from.has_to = 1;
    put_line(p, t, &t->from);
}

/* Flow goes on with a block. */
static void follow(task *t, const threads_who *who, const ipt_block *b)
{
    const stack_function *f;
    if (b->ip >= t->first && b->end_ip <= t->last
        && t->changes == t->in->session.changes && t->guest == who->guest
        && stack_branch(&t->stack, b))
        return;
    t->guest = who->guest;
    if (stack_flow(&t->stack, b)) out_of_memory(t->in);
    f = &t->stack.frames.list[t->stack.frames.count - 1].function;
    t->first = f->first;
    t->last = b->ip >= f->first ? f->last : 0;
    t->changes = t->in->session.changes;
}

/* Has --branch or --call a line for it? */
static int ends_in_line(unsigned show, uint8_t kind)
{
    if (show & CALL)
        return kind == IPT_INSN_CALL || kind == IPT_INSN_CALL_INDIRECT
            || kind == IPT_INSN_RET;
    return show & BRANCH && kind != IPT_INSN_OTHER;
}

/* Of a call and of its return: how many frames are below the caller's. */
static uint16_t depth_of(const task *t, uint8_t kind)
{
    const size_t above = kind == IPT_INSN_RET ? 2 : 1;
    const size_t count = t->stack.frames.count;
    const size_t depth = count > above ? count - above : 0;
    return (uint16_t) (depth < UINT16_MAX ? depth : UINT16_MAX);
}

/* ---- instructions of blocks ---- */

/* Where flow goes on after an instruction inside of a block. */
static uint64_t next_ip(uint64_t ip, const ipt_code *code, uint8_t mode)
{
    uint64_t next = ip + code->size;
    if (code->kind == IPT_INSN_JMP || code->kind == IPT_INSN_CALL) {
        next += (uint64_t) code->displacement;
        if (code->ip16) next &= UINT16_MAX;
    }
    return mode == IPT_MODE_64 ? next : next & UINT32_MAX;
}

/* The instructions of a block, one by one. */
static void list_block(ptflow *p, task *t, const threads_who *who,
                       const ipt_block *b)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, who->guest};
    spaces_view *const view = &p->session.view;
    line l;
    memset(&l, 0, sizeof l);
    l.who = *who;
    l.what = INSN;
    l.ip = b->ip;
    l.count = 1;
    l.mode = b->mode;
    view->pid = who->pid;
    for (unsigned left = b->count; left; left--) {
        uint8_t bytes[15];
        ipt_code code;
        code.size = b->last_size;
        code.kind = b->kind;
        if (left > 1) {
            const int n = spaces_read(bytes, sizeof bytes, &asid, l.ip, view);
            if (n <= 0
                || ipt_classify(&code, bytes, (size_t) n, b->mode, NULL)) {
                p->unlisted += left;
                return;
            }
        }
        l.size = code.size;
        l.kind = code.kind;
        put_line(p, t, &l);
        if (left > 1) l.ip = next_ip(l.ip, &code, b->mode);
    }
}

static int is_told(const ptflow *p, const told *n, const task *t,
                   const threads_who *who, const ipt_block *b)
{
    return n->block.ip == b->ip && n->block.end_ip == b->end_ip
        && n->block.count == b->count && n->block.kind == b->kind
        && n->life == p->session.changes + 1 && n->who.tid == who->tid
        && n->who.pid == who->pid && n->who.cpu == who->cpu
        && n->who.queue == who->queue && n->who.sure == who->sure
        && n->who.guest == who->guest && n->who.machine == who->machine
        && n->who.vcpu == who->vcpu && n->comm == t->of->comm;
}

static void tell_block(ptflow *p, task *t, const threads_who *who,
                       const ipt_block *b, told *n)
{
    text *const out = &p->out;
    const size_t begin = out->used;
    const uint64_t flushed = out->flushed;
    list_block(p, t, who, b);
    n->life = 0;
    if (out->flushed != flushed || out->used - begin > TOLD_TEXT) return;
    n->size = out->used - begin;
    if (!tool_grow(&n->text, n->size + 1, 1)) out_of_memory(p);
    memcpy(n->text, out->bytes + begin, n->size);
    n->block = *b;
    n->who = *who;
    n->comm = t->of->comm;
    n->life = p->session.changes + 1;
}

/* Blocks end at branches of which trace says something. */
static void on_block(session *s, session_task *of, const threads_who *who,
                     const ipt_block *b)
{
    ptflow *const p = (ptflow *) s->context;
    task *const t = task_of(p, of);
    told *const n = &p->told[(b->ip ^ b->end_ip << 32) * 0x9e3779b97f4a7c15u
                             >> 32 & (TOLD - 1)];
    if (s->threads.muted) return;
    if (!(s->always ? of->wanted : session_wants(s, of, who))) return;
    if (p->out.room - p->out.used < FIELD) make_room(p, &p->out);
    if (is_told(p, n, t, who, b))
        put_bytes(&p->out, n->text, n->size);
    else
        tell_block(p, t, who, b, n);
    p->session.stop |= p->out.failed;
}

/* A value that a program wrote without PTWRITE: the same event. */
static void show_write(ptflow *p, task *t, const threads_who *who,
                       const ipt_block *b)
{
    ipt_event e;
    line l;
    const int status = ptwrites_flow(&p->writes, &t->write, &p->session, who, b);
    if (status < 0) out_of_memory(p);
    if (status <= 0) return;
    memset(&e, 0, sizeof e);
    memset(&l, 0, sizeof l);
    e.u.ptwrite.payload = t->write.value;
    e.u.ptwrite.size = 8;
    l.who = *who;
    l.what = EVENT;
    l.kind = IPT_EVT_PTWRITE;
    l.offset = b->offset;
    l.ip = t->write.ip;
    memcpy(l.event, &e.u, sizeof e.u);
    put_line(p, t, &l);
}

static void begin_line(line *l, const threads_who *who, const ipt_block *b)
{
    memset(l, 0, sizeof *l);
    l->who = *who;
    l->ip = b->ip;
    l->offset = b->offset;
    l->count = b->count;
    l->size = b->last_size;
    l->kind = b->kind;
    l->mode = b->mode;
}

/* --branch and --call: the branch at the end of a block has a line when it is
 * known where it leads. */
static void on_branch(ptflow *p, task *t, const threads_who *who,
                      const ipt_block *b)
{
    const unsigned show = p->opt.show;
    if (show & CALL) follow(t, who, b);
    if (!ends_in_line(show, b->kind)) return;
    begin_line(&t->from, who, b);
    t->from.ip = b->end_ip;
    t->from.count = 1;
    t->from.what = show & CALL ? CALL : BRANCH;
    t->from.depth = show & CALL ? depth_of(t, b->kind) : 0;
    t->from.is_deeper = t->is_deeper;
    t->has_from = 1;
}

static void on_flow(session *s, session_task *of, const threads_who *who,
                    const ipt_block *b)
{
    ptflow *const p = (ptflow *) s->context;
    const unsigned show = p->opt.show;
    task *const t = task_of(p, of);
    if (!(show & (BRANCH | CALL | EVENT)) && !session_wants(s, of, who))
        return;
#ifdef HAVE_ZYDIS
    if (p->opt.check) check(p, who, b);
#endif
    end_branch(p, t, b->ip);
    if (show & (INSN | BLOCK)) {
        line l;
        begin_line(&l, who, b);
        l.what = show & INSN ? INSN : BLOCK;
        put_line(p, t, &l);
    }
    if (show & (BRANCH | CALL)) on_branch(p, t, who, b);
    if (show & EVENT) show_write(p, t, who, b);
}

/* Events are all that is shown. */
static void on_unseen_flow(session *s, session_task *of, const threads_who *who,
                           const ipt_block *b)
{
    ptflow *const p = (ptflow *) s->context;
    task *const t = task_of(p, of);
    if (b->kind == IPT_INSN_JCC || t->write.total) show_write(p, t, who, b);
}

/* A PEBS record is a line when it ends, or where trace is missing in it: `has` 1. */
static void show_record(ptflow *p, task *t, const threads_who *who, int has,
                        uint64_t ip, uint64_t offset)
{
    line l;
    if (has < 0) out_of_memory(p);
    if (has <= 0) return;
    memset(&l, 0, sizeof l);
    l.words = tool_copy(t->record.text, strlen(t->record.text));
    if (!l.words) out_of_memory(p);
    l.who = *who;
    l.what = EVENT;
    l.kind = IPT_EVT_PEBS_END;
    l.ip = ip;
    l.offset = offset;
    put_line(p, t, &l);
}

static int is_of_record(uint8_t type)
{
    return type == IPT_EVT_PEBS_BEGIN || type == IPT_EVT_PEBS_ITEM
        || type == IPT_EVT_PEBS_END;
}

static void on_event(session *s, session_task *of, const threads_who *who,
                     const ipt_event *e)
{
    ptflow *const p = (ptflow *) s->context;
    task *const t = task_of(p, of);
    const uint64_t ip = e->flags & IPT_EVENT_NO_IP ? 0 : e->ip;
    const pebs_about about = {
        s->counters, s->threads.timed ? s->threads.pt : NULL
    };
    line l;
    if (e->flags & IPT_EVENT_STATUS) return;
    t->last = 0;
    t->guest = who->guest;
    if (p->opt.show & CALL && stack_event(&t->stack, e)) out_of_memory(p);
    if (!(p->opt.show & EVENT)) return;
    show_record(p, t, who, e->type == IPT_EVT_OVERFLOW
                               ? pebs_cut(&t->record)
                               : pebs_event(&t->record, e, &about),
                ip, e->offset);
    if (is_of_record(e->type)) return;
    memset(&l, 0, sizeof l);
    l.who = *who;
    l.what = EVENT;
    l.kind = e->type;
    memcpy(l.event, &e->u, sizeof e->u);
    l.offset = e->offset;
    l.ip = ip;
    if (e->type == IPT_EVT_ASYNC_BRANCH || e->type == IPT_EVT_DISABLED
        || e->type == IPT_EVT_ASYNC_DISABLED) {
        l.has_to = !(e->flags & IPT_EVENT_NO_TO);
        l.to = e->u.branch.to;
    }
    put_line(p, t, &l);
}

static void on_lost(session *s, session_task *of, const threads_who *who,
                    threads_loss loss, const ipt_where *at)
{
    ptflow *const p = (ptflow *) s->context;
    task *const t = task_of(p, of);
    line l;
    t->has_from = 0;
    t->last = 0;
    t->guest = who->guest;
    if (p->opt.show & CALL && loss == THREADS_NO_CODE) {
        if (stack_no_code(&t->stack, at) < 0) out_of_memory(p);
    } else if (loss != THREADS_UNSURE) {
        stack_break(&t->stack);
    }
    if (loss != THREADS_UNSURE && loss != THREADS_NO_CODE
        && loss != THREADS_NO_TNT)
        show_record(p, t, who, pebs_cut(&t->record), 0, at->offset);
    if (!(p->opt.show & ERRORS)) return;
    memset(&l, 0, sizeof l);
    l.who = *who;
    l.what = ERRORS;
    l.kind = (uint8_t) loss;
    l.offset = at->offset;
    l.ip = at->valid & IPT_AT_IP ? at->ip : 0;
    put_line(p, t, &l);
}

static void on_exec(session *s, session_task *of)
{
    task *const t = (task *) of->user;
    (void) s;
    if (!t) return;
    t->last = 0;
    t->is_deeper = 0;
    stack_exec(&t->stack);
}

/* ---- the command line ---- */

static int parse_fields(const tool_args *args, const char *value, options *o)
{
    const char *s = value;
    o->field_count = 0;
    for (;;) {
        const size_t n = strcspn(s, ",");
        uint8_t f = 0;
        while (f < FIELDS && (strlen(field_names[f]) != n
                              || strncmp(field_names[f], s, n) != 0))
            f++;
        if (f == FIELDS || o->field_count == sizeof o->fields)
            return tool_bad_argument(args, "--fields", value);
        o->fields[o->field_count++] = f;
        if (!s[n]) return -1;
        s += n + 1;
    }
}

/* Options with an argument; 0: not one of them. */
static int parse_argument(tool_args *args, options *o, const char *word)
{
    const char **const name = strcmp(word, "--func") == 0 ? &o->func
        : strcmp(word, "--diverge") == 0 ? &o->diverge
        : strcmp(word, "--dso") == 0 ? &o->dso : NULL;
    const char *value;
    if (strcmp(word, "--last") == 0)
        return tool_number(args, word, 24, &o->last) ? args->wrong : -1;
    if (strcmp(word, "-j") == 0) {
        if (tool_number(args, word, 8, &o->threads)) return args->wrong;
        if (o->threads) return -1;
        fprintf(stderr, "%s: -j: at least 1.\n", args->program);
        return args->wrong;
    }
    if (!name && strcmp(word, "--fields") != 0) return 0;
    value = tool_argument(args, word);
    if (!value) return args->wrong;
    if (!name) return parse_fields(args, value, o);
    *name = value;
    return -1;
}

static int parse_option(tool_args *args, session *s, const char *word)
{
    static const char *const shows[] = {"--insn", "--block", "--branch",
                                        "--call", "--event", "--errors"};
    options *const o = &((ptflow *) s->context)->opt;
    const struct {
        const char *name;
        uint8_t *value;
    } flags[] = {{"--check", &o->check},
                 {"--json", &o->json},
                 {"--never-mark", &o->never_mark},
                 {"--threads", &o->list_threads}};
    for (unsigned i = 0; i < sizeof shows / sizeof shows[0]; i++)
        if (strcmp(word, shows[i]) == 0) {
            o->show |= 1u << i;
            return -1;
        }
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].value = 1;
            return -1;
        }
    return parse_argument(args, o, word);
}

static int check_options(const tool_args *args, options *o)
{
    if (!(o->show & ~(unsigned) (EVENT | ERRORS))
        && (!o->show || o->check))
        o->show |= INSN;
    if (o->dso) {
        fprintf(stderr, "%s: --dso: there is no --diverge.\n", args->program);
        return args->wrong;
    }
    if (o->show & INSN && o->show & BLOCK) {
        fprintf(stderr, "%s: --insn and --block: one of them.\n",
                args->program);
        return args->wrong;
    }
    if (o->show & CALL && o->show & BRANCH) {
        fprintf(stderr, "%s: --branch and --call: one of them.\n",
                args->program);
        return args->wrong;
    }
    if (o->check && tool_cannot(args, "--check", TOOL_ZYDIS))
        return OPTIONS_NOTHING;
    if (!o->field_count) {
        const char *fields = "comm,tid,cpu,time,ip,symoff";
        if (o->show & BRANCH) fields = "comm,tid,cpu,time,ip,to,kind";
        if (o->show & CALL) fields = "comm,tid,cpu,time,ip,to,kind,to_sym";
        if (o->show & BLOCK) fields = "comm,tid,cpu,time,ip,count,symoff";
        if (o->show & (EVENT | ERRORS)) fields = "comm,tid,cpu,time,ip,kind";
        if (o->show & EVENT) fields = "comm,tid,cpu,time,ip,kind,values";
        parse_fields(args, fields, o);
    }
    for (unsigned i = 0; i < o->field_count; i++) {
        o->symbols |= o->fields[i] == F_SYM || o->fields[i] == F_SYMOFF
                   || o->fields[i] == F_DSO;
        o->targets |= o->fields[i] == F_TO_SYM || o->fields[i] == F_TO_SYMOFF;
        if (o->fields[i] >= F_SRCLINE) o->codes[code_field(o->fields[i])] = 1;
    }
    if ((o->codes[SRCLINE] && tool_cannot(args, "--fields srcline", TOOL_LIBDW))
        || (o->codes[DISASM] && tool_cannot(args, "--fields disasm", TOOL_ZYDIS)))
        return OPTIONS_NOTHING;
    o->symbols |= o->targets || o->func;
    return -1;
}

/* ---- the whole ---- */

static void print_lasts(ptflow *p)
{
    for (size_t i = 0; i < p->session.task_count; i++) {
        const task *const t = (const task *) p->session.list[i]->user;
        uint64_t n = t && t->put > p->opt.last ? t->put - p->opt.last : 0;
        for (; t && n < t->put; n++)
            print_line(p, &t->ring[n % p->opt.last]);
    }
}

#define AGAIN 99 /* exit status: --last needs more */

/* Are all lines there that --last asks for? */
static int has_lasts(const ptflow *p)
{
    const threads *const t = &p->session.threads;
    for (size_t i = 0; i < t->thread_count; i++) {
        const session_task *const of =
            session_task_of(&p->session, t->list[i].tid);
        const task *const own = of ? (const task *) of->user : NULL;
        int is_cut;
        if ((of && !of->wanted) || (own && own->put >= p->opt.last)) continue;
        threads_since(t, t->list[i].tid, &is_cut);
        if (is_cut) return 0;
    }
    return 1;
}

/* The last lines need the end of the trace. How much of it is tried, by a process
 * that begins where this one is; if that is not enough, by another one with more,
 * and at last by this one. Its exit status; -1: go on here. */
static int try_ends(ptflow *p)
{
    threads *const t = &p->session.threads;
    const uint64_t all = t->size / 2;
    for (t->config.ends = ENDS; t->config.ends < all; t->config.ends *= 16) {
        int status;
        const pid_t child = fork();
        if (child == 0) return -1;
        if (child < 0 || waitpid(child, &status, 0) != child) break;
        if (!WIFEXITED(status)) return 1;
        if (WEXITSTATUS(status) != AGAIN) return WEXITSTATUS(status);
    }
    t->config.ends = 0;
    return -1;
}

/* Do instructions of a block have the same lines whenever it is executed? */
static int is_plain(const ptflow *p)
{
    const options *const o = &p->opt;
    for (unsigned i = 0; i < o->field_count; i++)
        if (o->fields[i] == F_TIME || o->fields[i] == F_OFFSET) return 0;
    return o->show == INSN && !o->check && !o->func && !o->last
        && p->session.from == 0
        && p->session.to == UINT64_MAX;
}

static void configure(ptflow *p)
{
    session_config *const c = &p->config;
    if (is_plain(p)) {
        p->told = (told *) calloc(TOLD, sizeof *p->told);
        if (!p->told) out_of_memory(p);
    }
    if (p->opt.show & ~(unsigned) (EVENT | ERRORS) || p->opt.check)
        c->flow = p->told ? on_block : on_flow;
    if (p->opt.show & (EVENT | CALL)) c->event = on_event;
    if (p->opt.show & CALL) c->exec = on_exec;
    if (!c->flow && p->opt.show & EVENT) c->flow = on_unseen_flow;
    c->lost = on_lost;
    c->insn = p->opt.show & INSN && !p->told;
    c->never_mark = p->opt.never_mark;
    c->guests = 1;
    c->symbols = p->opt.symbols || p->opt.show & CALL;
    if (p->opt.show & (BRANCH | CALL) || p->opt.func)
        c->flags |= IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
}

static int print_threads(const ptflow *p)
{
    const threads *const t = &p->session.threads;
    for (size_t i = 0; i < t->thread_count; i++) {
        const session_task *const named =
            session_task_of(&p->session, t->list[i].tid);
        printf("%" PRIu32 " %" PRIu32 " ", t->list[i].tid, t->list[i].pid);
        if (named) tool_print(stdout, named->last_comm);
        putchar('\n');
    }
    return 0;
}

static void print_head(ptflow *p)
{
    if (!p->opt.json) return;
    make_room(p, &p->out);
    put_plain(&p->out, "{\"schema\":\"ptflow\",\"version\":1}\n");
    flush(p, &p->out);
}

/* ---- -j: slices ---- */

static void begin_slice(void *context)
{
    const ptflow *const p = (const ptflow *) context;
    for (size_t i = 0; i < p->session.task_count; i++) {
        task *const t = (task *) p->session.list[i]->user;
        if (!t) continue;
        t->has_from = 0;
        memset(&t->write, 0, sizeof t->write);
        pebs_free(&t->record);
    }
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 31;
}

/* Lines that have begun. */
static uint64_t state_of(void *context)
{
    const ptflow *const p = (const ptflow *) context;
    uint64_t sum = 0;
    for (size_t i = 0; i < p->session.task_count; i++) {
        const task *const t = (const task *) p->session.list[i]->user;
        uint64_t hash = p->session.list[i]->tid;
        if (!t || (!t->has_from && !t->write.total && !t->record.open)) continue;
        hash = mixed(hash, t->has_from ? t->from.ip : 0);
        hash = mixed(hash, t->has_from ? t->from.offset : 0);
        hash = mixed(hash, t->write.total);
        hash = mixed(hash, t->write.total ? t->write.value : 0);
        hash = mixed(hash, t->record.open ? pebs_hash(&t->record) : 0);
        sum += mixed(hash, t->write.total ? t->write.next : 0);
    }
    return sum;
}

static void end_slice(void *context)
{
    ptflow *const p = (ptflow *) context;
    flush(p, &p->out);
}

/* Several processes decode. The exit status; -1: this one has to. */
static int run_slices(ptflow *p)
{
    slices_config config;
    const options *const o = &p->opt;
    int status;
    if (o->last || o->func || o->check || o->show & CALL) return -1;
    if (o->symbols && (tool_missing(TOOL_LIBELF) || tool_missing(TOOL_LIBIBERTY)))
        return -1;
    memset(&config, 0, sizeof config);
    config.session = &p->session;
    config.processes = o->threads;
    config.begin = begin_slice;
    config.state = state_of;
    config.end = end_slice;
    config.counts = &p->unlisted;
    config.count = 1;
    config.context = p;
    slices_init(&p->slices, &config);
    if (p->slices.processes < 2) return -1;
    status = slices_run(&p->slices);
    p->skip = status < 0 ? p->slices.written : 0;
    return status;
}

static int run(ptflow *p)
{
    int status;
    configure(p);
    status = session_open(&p->session, p->opt.file);
    if (status) return status;
    if (p->opt.list_threads) return print_threads(p);
    status = session_has_trace(&p->session);
    if (status) return status;
    p->chosen.pattern = p->opt.func;
    p->found = (found *) calloc(FOUND, sizeof *p->found);
    if (!p->found) out_of_memory(p);
    if (p->opt.last && !p->session.threads.windowed
        && !p->session.guests.thread_count) {
        fflush(stdout);
        status = try_ends(p);
        if (status >= 0) return status;
    }
    if (p->opt.codes[BYTES] || p->opt.codes[DISASM] || p->opt.codes[SRCLINE]) {
        p->codes = (told_code *) calloc(FOUND, sizeof *p->codes);
        if (!p->codes) out_of_memory(p);
    }
    if (!p->opt.last) print_head(p);
    status = run_slices(p);
    if (status < 0) {
        start_workers(p);
        status = session_run(&p->session);
    }
    if (p->session.threads.config.ends && !has_lasts(p)) _exit(AGAIN);
    if (p->opt.last) print_head(p);
    if (p->opt.last) print_lasts(p);
    end_workers(p);
    flush(p, &p->out);
    if (p->opt.func && status == 0)
        status = !session_chosen(&p->session, "--func", &p->chosen);
    status = session_end(&p->session, status);
    if (p->unlisted) {
        fprintf(stderr, "%s: %" PRIu64 " instructions are not listed: their "
                "code has changed.\n", p->args->program, p->unlisted);
        status = 1;
    }
    if (p->opt.check && !p->session.quiet)
        fprintf(stderr, "%s: %" PRIu64 " instructions checked, %" PRIu64
                " differ\n", p->args->program, p->checked, p->differ);
    return p->differ ? 1 : status;
}

/* ---- --diverge ---- */

/* The command line, for each session. */
typedef struct command {
    int argc;
    char **argv;
    tool_args args;
    const char *names[2];
} command;

static int start_session(session *s, const session_config *config,
                         unsigned which, void *context)
{
    static ptflow again;
    static session_config parse;
    command *const c = (command *) context;
    const char *file;
    int status;
    parse = *config;
    parse.option = parse_option;
    c->args = tool_begin(c->argc, c->argv, "ptflow");
    session_init(s, &c->args, &parse, &again);
    status = session_parse(&c->args, s, help, more_help, &file);
    if (status < 0) status = session_open(s, c->names[which]);
    return status ? status : session_has_trace(s);
}

static int run_diverge(const ptflow *p, int argc, char **argv)
{
    command c = {argc, argv, *p->args, {p->opt.diverge, p->opt.file}};
    const diverge_config config = {p->args, {c.names[0], c.names[1]},
                                   p->opt.dso, start_session, &c};
    if (p->opt.file && !p->opt.show && !p->opt.func && !p->opt.last)
        return diverge_run(&config);
    fprintf(stderr, "%s: --diverge: two files, and no other output.\n",
            p->args->program);
    return OPTIONS_WRONG;
}

int main(int argc, char **argv)
{
    static ptflow p;
    tool_args args = tool_begin(argc, argv, "ptflow");
    int status;
    p.args = &args;
    p.out.is_stdout = 1;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.moved, NULL);
    p.config.option = parse_option;
    session_init(&p.session, &args, &p.config, &p);
    status = session_parse(&args, &p.session, help, more_help,
                           &p.opt.file);
    if (status < 0 && p.opt.diverge) {
        status = run_diverge(&p, argc, argv);
    } else {
        if (status < 0) status = check_options(&args, &p.opt);
        if (status < 0) status = run(&p);
    }
    for (size_t i = 0; i < p.session.task_count; i++) {
        task *const t = (task *) p.session.list[i]->user;
        if (t) {
            free(t->ring);
            pebs_free(&t->record);
            stack_free(&t->stack);
        }
        free(t);
    }
    free(p.found);
    free(p.codes);
    names_free(&p.code_texts);
    ptwrites_free(&p.writes);
    for (unsigned i = 0; p.told && i < TOLD; i++) free(p.told[i].text);
    free(p.told);
    free(p.chosen.states);
    free(p.out.bytes);
    session_free(&p.session);
    return tool_end(&args, status);
}
