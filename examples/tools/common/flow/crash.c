/* crash.c: see crash.h.
 *
 * SPDX-License-Identifier: MIT */
#include "crash.h"
#include "../code/disasm.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* System calls that matter here. */
typedef struct crash_call {
    const char *name;
    int wide;   /* number in 64-bit code, */
    int narrow; /* ... and in 32-bit code */
    uint8_t kind;
} crash_call;

enum { CALL_OTHER, CALL_KILLS, CALL_EXIT, CALL_EXIT_GROUP };

static const crash_call calls[] = {
    {"execve", 59, 11, CALL_KILLS},         {"execveat", 322, 358, CALL_KILLS},
    {"kill", 62, 37, CALL_KILLS},           {"tkill", 200, 238, CALL_KILLS},
    {"tgkill", 234, 270, CALL_KILLS},       {"exit", 60, 1, CALL_EXIT},
    {"rt_sigqueueinfo", 129, 178, CALL_KILLS},
    {"rt_tgsigqueueinfo", 297, 335, CALL_KILLS},
    {"exit_group", 231, 252, CALL_EXIT_GROUP}};

static const crash_call *call_of(const crash_end *c)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (c->kind == CRASH_SYSCALL
            && c->call == (c->mode == IPT_MODE_64 ? calls[i].wide
                                                  : calls[i].narrow))
            return &calls[i];
    return NULL;
}

static unsigned call_kind(const crash_end *c)
{
    const crash_call *const n = call_of(c);
    return n ? n->kind : CALL_OTHER;
}

void crash_free(crash_end *c)
{
    free(c->frames);
    c->frames = NULL;
    c->count = 0;
}

/* ---- as flow comes ---- */

void crash_flow(crash_end *c, const threads_who *who, const ipt_block *block)
{
    struct crash_block *const b = &c->blocks[c->next];
    c->kind = CRASH_RUNS;
    c->ip = block->end_ip;
    c->tsc = who->tsc;
    c->last = block->kind;
    c->mode = block->mode;
    c->guest = who->guest;
    c->has &= CRASH_HAS_WRITTEN;
    c->old = 0;
    b->ip = block->ip;
    b->end = block->end_ip;
    c->next = (uint8_t) ((c->next + 1) % CRASH_BLOCKS);
    if (c->put < CRASH_BLOCKS) c->put++;
}

static void note_cfe(crash_end *c, const ipt_event *e)
{
    if (e->u.cfe.has & IPT_CFE_HAS_CR2) {
        c->has |= CRASH_HAS_ADDRESS;
        c->address = e->u.cfe.data[0];
    }
    if (e->u.cfe.has & IPT_CFE_HAS_VECTOR && e->u.cfe.type == IPT_CFE_INTR) {
        c->has |= CRASH_HAS_VECTOR;
        c->vector = e->u.cfe.vector;
    }
}

void crash_event(crash_end *c, const threads_who *who, const ipt_event *e)
{
    if (e->flags & IPT_EVENT_STATUS) return;
    c->guest = who->guest;
    if (who->tsc) c->tsc = who->tsc;
    switch (e->type) {
    case IPT_EVT_CFE: note_cfe(c, e); break;
    case IPT_EVT_PTWRITE:
        c->has |= CRASH_HAS_WRITTEN;
        c->written = e->u.ptwrite.payload;
        c->writer = e->flags & IPT_EVENT_NO_IP ? 0 : e->ip;
        break;
    case IPT_EVT_ASYNC_DISABLED:
        c->kind = CRASH_FAULT;
        c->ip = e->ip;
        break;
    case IPT_EVT_DISABLED:
        c->kind = c->last == IPT_INSN_SYSCALL || c->last == IPT_INSN_INT
                      ? CRASH_SYSCALL : CRASH_OFF;
        break;
    case IPT_EVT_STOP: c->kind = CRASH_OFF; break;
    case IPT_EVT_ENABLED:
        c->kind = CRASH_RUNS;
        c->ip = e->ip;
        c->old = 0;
        break;
    default: break;
    }
}

void crash_lost(crash_end *c, const threads_who *who, threads_loss loss,
                const ipt_where *at)
{
    if (loss == THREADS_UNSURE) return;
    c->kind = CRASH_LOST;
    c->loss = (uint8_t) loss;
    c->guest = who->guest;
    if (who->tsc) c->tsc = who->tsc;
    if (at->valid & IPT_AT_IP) c->ip = at->ip;
}

static int keep_frames(crash_end *c, const stack *s)
{
    const size_t count = s->frames.count;
    crash_free(c);
    if (!count) return 0;
    c->frames = (stack_frame *) malloc(count * sizeof *c->frames);
    if (!c->frames) return -1;
    memcpy(c->frames, s->frames.list, count * sizeof *c->frames);
    c->count = count;
    return 0;
}

int crash_exec(crash_end *c, const stack *s)
{
    if (c->kind != CRASH_SYSCALL) return 0; /* time is coarse: it ran already */
    c->kind = CRASH_EXEC;
    c->old = 1;
    return keep_frames(c, s);
}

/* The number of the system call: a constant that the code before has put into a
 * register. */
static int find_call(const crash_end *c, session *s)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, c->guest};
    disasm_constants constants;
    memset(&constants, 0, sizeof constants);
    s->view.pid = c->task->pid;
    for (unsigned i = 0; i < c->put; i++) {
        const struct crash_block *const b =
            &c->blocks[(c->next + CRASH_BLOCKS - c->put + i) % CRASH_BLOCKS];
        uint64_t ip = b->ip;
        while (ip <= b->end) {
            uint8_t bytes[15];
            ipt_code code;
            const int n = spaces_read(bytes, sizeof bytes, &asid, ip, &s->view);
            if (n <= 0
                || ipt_classify(&code, bytes, (size_t) n, c->mode, NULL) < 0)
                return -1;
            if (i + 1 == c->put && ip == b->end)
                return constants.known[0] ? (int) constants.value[0] : -1;
            disasm_follow(&constants, bytes, code.size, c->mode);
            ip += code.size;
            if (code.kind == IPT_INSN_JMP && ip <= b->end)
                ip += (uint64_t) code.displacement; /* blocks go on over it */
        }
    }
    return -1;
}

int crash_last(crash_end *c, const stack *s, session *of)
{
    c->call = c->kind == CRASH_SYSCALL ? find_call(c, of) : -1;
    return c->old ? 0 : keep_frames(c, s);
}

/* ---- what became of it ---- */

/* What ended a process. A process ends when a thread of it calls exit_group, or of
 * a signal: if it is known of each thread that it did not call that, of a signal. */
static crash_verdict end_of(crash_end *const *list, size_t count, uint32_t pid)
{
    crash_verdict end = CRASH_SEEMS;
    for (size_t i = 0; i < count; i++) {
        const crash_end *const c = list[i];
        if (c->task->pid != pid) continue;
        if (call_kind(c) == CALL_EXIT_GROUP) return CRASH_LEFT;
        if (c->kind == CRASH_RUNS || c->kind == CRASH_LOST || c->kind == CRASH_OFF
            || (c->kind == CRASH_SYSCALL && c->call < 0))
            end = CRASH_UNKNOWN;
    }
    return end;
}

static crash_verdict judge(const crash_end *c, crash_end *const *list,
                           size_t count, const corefile *core)
{
    const corefile_one *const one = corefile_thread(core, c->task->tid);
    const unsigned kind = call_kind(c);
    const crash_verdict end = end_of(list, count, c->task->pid);
    if (one) return one->signal ? CRASH_SIGNAL : CRASH_WITH;
    if (kind == CALL_EXIT || kind == CALL_EXIT_GROUP) return CRASH_LEFT;
    if (!c->task->exited) return CRASH_THERE;
    if (end != CRASH_SEEMS) return end;
    return c->kind == CRASH_SYSCALL && kind != CALL_KILLS ? CRASH_WITH : CRASH_SEEMS;
}

static int by_verdict(const void *a, const void *b)
{
    const crash_end *const x = *(crash_end *const *) a;
    const crash_end *const y = *(crash_end *const *) b;
    if (x->verdict != y->verdict) return x->verdict < y->verdict ? -1 : 1;
    if (x->tsc != y->tsc) return x->tsc > y->tsc ? -1 : 1;
    return x->task->tid < y->task->tid ? -1 : x->task->tid > y->task->tid;
}

void crash_judge(crash_end **list, size_t count, const corefile *core)
{
    for (size_t i = 0; i < count; i++)
        list[i]->verdict = judge(list[i], list, count, core);
    for (size_t i = 0; i < count; i++) { /* of a signal from elsewhere */
        int others = 0;
        for (size_t k = 0; k < count; k++)
            others |= list[k]->task->pid == list[i]->task->pid
                   && list[k]->verdict <= CRASH_SEEMS;
        if (list[i]->verdict == CRASH_WITH && !others)
            list[i]->verdict = CRASH_SEEMS;
    }
    if (count) qsort(list, count, sizeof *list, by_verdict);
}

/* ---- in words ---- */

/* Where code is: 1, or 0. */
static int find_code(session *s, const session_task *task, uint8_t guest,
                     uint64_t ip, const stack_function *f, int old,
                     const files_file **file, uint64_t *offset)
{
    const functions_about *about;
    session_place at;
    if (!old && session_find(s, task->pid, guest, ip, &at) && at.in) {
        *file = at.in;
        *offset = at.in_offset;
        return 1;
    }
    if (!f || !f->name || f->part || f->split || ip < f->first || ip > f->last)
        return 0;
    about = &s->functions.list[f->name - 1].about;
    *file = about->file;
    *offset = about->first + (ip - f->first);
    return about->file && about->symbol;
}

static void put_row(const lines_place *l)
{
    if (!l->file) return;
    fputs(" (", stdout);
    tool_print(stdout, l->file);
    printf(":%d)", l->line);
}

#define INLINED 16u /* functions at one place */

size_t crash_frame(const crash_end *c, session *s, size_t number, uint64_t ip,
                   const stack_function *f)
{
    lines_place list[INLINED];
    const files_file *file;
    uint64_t offset;
    lines_place l;
    size_t n = 0;
    memset(&l, 0, sizeof l);
    if (ip && find_code(s, c->task, c->guest, ip, f, c->old, &file, &offset)
        && lines_find(&s->lines, file, offset, &l))
        n = lines_inlined(&s->lines, file, offset, list, INLINED);
    for (size_t i = 0; i < n; i++) {
        printf("#%-3zu ", number++);
        tool_print(stdout, list[i].function);
        put_row(&l);
        puts(", inlined");
        l = list[i]; /* the next one is where it is called */
    }
    printf("#%-3zu ", number++);
    tool_print(stdout, functions_text(&s->functions, f->name));
    put_row(&l);
    putchar('\n');
    return number;
}

static void print_verdict(const crash_end *c, const corefile_one *core)
{
    switch (c->verdict) {
    case CRASH_SIGNAL:
        printf("died of %s (%" PRIu32 "), as the core file says",
               corefile_signal(core->signal), core->signal);
        break;
    case CRASH_SEEMS: fputs("died, it seems of a signal", stdout); break;
    case CRASH_UNKNOWN:
        fputs("ended, how is not known", stdout);
        break;
    case CRASH_WITH: fputs("died with its process", stdout); break;
    case CRASH_THERE:
        fputs("was there when the recording ended", stdout);
        break;
    default: fputs("ended by itself", stdout); break;
    }
}

static void print_kind(const crash_end *c)
{
    const crash_call *const call = call_of(c);
    switch (c->kind) {
    case CRASH_FAULT:
        if (!(c->has & CRASH_HAS_VECTOR))
            fputs("an exception or an interrupt", stdout);
        else if (c->vector == 14)
            fputs("a page fault", stdout);
        else
            printf("interrupt %u", c->vector);
        fputs(", from which it did not come back, before", stdout);
        break;
    case CRASH_SYSCALL:
        fputs("the system call ", stdout);
        if (call)
            printf("%s ", call->name);
        else if (c->call >= 0)
            printf("%d ", c->call);
        fputs("did not come back, after", stdout);
        break;
    case CRASH_EXEC:
        fputs("an exec began, and nothing of the new program ran, after", stdout);
        break;
    case CRASH_LOST:
        printf("flow is lost (%s), at or after", threads_text(
                   (threads_loss) c->loss));
        break;
    case CRASH_OFF: fputs("tracing ended, after", stdout); break;
    default: fputs("trace ends, after", stdout); break;
    }
}

static void print_place(const crash_end *c, session *s, uint64_t ip)
{
    session_place at;
    printf(" %" PRIx64, ip);
    if (c->old || !session_find(s, c->task->pid, c->guest, ip, &at)
        || !(at.name || at.file))
        return;
    putchar(' ');
    tool_print(stdout, at.name ? at.name : at.file);
    printf("+0x%" PRIx64, at.offset);
}

static void print_code(const crash_end *c, session *s)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, c->guest};
    char text[DISASM_MAX];
    uint8_t bytes[15];
    int n;
    s->view.pid = c->task->pid;
    n = c->old ? 0 : spaces_read(bytes, sizeof bytes, &asid, c->ip, &s->view);
    if (n > 0 && disasm_text(text, bytes, (size_t) n, c->mode, c->ip) == 0)
        printf(": %s", text);
    else if (n <= 0 && !c->old)
        fputs(": there is no code", stdout);
}

static void print_facts(const crash_end *c, session *s, const corefile_one *core)
{
    if (core && core->has_address)
        printf("  address %" PRIx64 ", as the core file says\n", core->address);
    if (core && core->ip != c->ip && c->kind != CRASH_SYSCALL)
        printf("  the core file's thread was elsewhere: at %" PRIx64 "\n", core->ip);
    if (c->has & CRASH_HAS_ADDRESS)
        printf("  address %" PRIx64 ", as the trace's event says\n", c->address);
    if (!(c->has & CRASH_HAS_WRITTEN)) return;
    printf("  PTWRITE wrote %" PRIx64 " last", c->written);
    if (c->writer) {
        fputs(", at", stdout);
        print_place(c, s, c->writer);
    }
    putchar('\n');
}

#define HEAD 24u /* frames that are shown of a deep stack, .. */
#define TAIL 8u  /* ... and of its other end */

static void print_frames(const crash_end *c, session *s)
{
    size_t number = 0;
    for (size_t i = c->count; i > 0; i--) {
        const stack_frame *const f = &c->frames[i - 1];
        const uint64_t back = i < c->count ? c->frames[i].back : 0;
        const uint64_t ip = i == c->count ? c->ip : back ? back - 1 : 0;
        if (c->count > HEAD + TAIL + 1 && i == c->count - HEAD) {
            printf("...  %zu more\n", c->count - HEAD - TAIL);
            number += c->count - HEAD - TAIL;
            i = TAIL + 1;
            continue;
        }
        number = crash_frame(c, s, number, ip, &f->function);
    }
}

void crash_print(const crash_end *c, session *s, const corefile *core)
{
    const corefile_one *const one = corefile_thread(core, c->task->tid);
    tool_print(stdout, *c->task->comm ? c->task->comm : "-");
    printf(" %" PRIu32 " ", c->task->tid);
    print_verdict(c, one);
    if (c->tsc && s->threads.timed) {
        const uint64_t ns = session_ns(s, c->tsc);
        printf(", at %" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
    }
    fputs("\n  ", stdout);
    print_kind(c);
    print_place(c, s, c->ip);
    print_code(c, s);
    putchar('\n');
    print_facts(c, s, one);
    print_frames(c, s);
}
