/* cover.c: see cover.h.
 *
 * SPDX-License-Identifier: MIT */
#include "cover.h"
#include <stdlib.h>
#include <string.h>

#define KNOWN 16384u /* a power of two */

/* A block that was looked up. */
struct cover_known {
    uint64_t ip;
    uint64_t changes; /* session.changes + 1 */
    uint64_t address; /* of the linker's */
    uint64_t block;   /* COVER_BLOCK; of module UINT32_MAX: in no file */
    uint32_t pid;
    uint32_t size;
};

/* A thread: its last branch, whose target comes next. */
typedef struct task {
    uint64_t from;
    uint64_t next; /* after it */
    uint8_t kind;
    uint8_t open;  /* there is one */
} task;

static task *task_of(cover *c, session_task *of)
{
    if (!of->user) of->user = calloc(1, sizeof (task));
    if (!of->user) c->failed = 1;
    c->session.stop |= c->failed;
    return (task *) of->user;
}

static int is_filtered(const cover *c, uint64_t ip)
{
    int is_in = !c->filter;
    for (unsigned i = 0; c->filter && i < IPT_FILTERS; i++)
        is_in |= c->filter[i].kind && ip >= c->filter[i].first
               && ip <= c->filter[i].last;
    return !is_in;
}

static int is_wanted(cover *c, const session_task *of, const threads_who *who)
{
    return !(who->guest ? c->no_guests : c->only_guests)
        && session_wants(&c->session, of, who);
}

/* ---- edges ---- */

static int is_branch(const cover *c, uint8_t kind)
{
    const uint32_t kinds =
        1u << IPT_INSN_JMP_INDIRECT | 1u << IPT_INSN_CALL_INDIRECT
        | 1u << IPT_INSN_RET | 1u << IPT_INSN_JMPABS | 1u << IPT_INSN_FAR_CALL
        | 1u << IPT_INSN_FAR_JMP | 1u << IPT_INSN_FAR_RET | 1u << IPT_INSN_INT
        | 1u << IPT_INSN_SYSCALL | 1u << IPT_INSN_VMCALL | 1u << IPT_INSN_IRET
        | 1u << IPT_INSN_UIRET | 1u << IPT_INSN_VMENTRY | 1u << IPT_INSN_RSM
        | 1u << IPT_INSN_INTO;
    return kind == IPT_INSN_JCC || (c->indirect && kinds >> kind & 1);
}

/* Flow goes on there. An INTO and an RSM that are not branches have no edge. */
static void arrive(cover *c, task *t, uint64_t to)
{
    const int none = t->next == to
                  && (t->kind == IPT_INSN_INTO || t->kind == IPT_INSN_RSM);
    if (!t->open) return;
    t->open = 0;
    if (!none && !c->session.threads.muted && !is_filtered(c, t->from))
        counts_add(&c->edges, t->from, to, 1);
}

/* ---- blocks ---- */

/* The module of a file; UINT32_MAX without memory. */
static uint32_t module_of(cover *c, const files_file *file, const char *name)
{
    image segments;
    cover_module *m;
    uint32_t n = 0;
    while (n < c->module_count && c->files[n] != file) n++;
    if (n < c->module_count) return n;
    if (!tool_grow(&c->modules, (size_t) n + 1, sizeof *c->modules)
        || !tool_grow(&c->files, (size_t) n + 1, sizeof *c->files))
        return UINT32_MAX;
    m = &c->modules[n];
    m->name = tool_copy(name, strlen(name));
    m->base = UINT64_MAX;
    m->end = 0;
    if (!m->name) return UINT32_MAX;
    image_init(&segments);
    image_add_segments(&segments, NULL, file);
    for (uint32_t i = 0; i < segments.section_count; i++) {
        const image_section *const s = &segments.sections[i];
        if (s->base < m->base) m->base = s->base;
        if (s->base + s->size > m->end) m->end = s->base + s->size;
    }
    image_free(&segments);
    if (m->base > m->end) {
        m->base = 0;
        m->end = file->size;
    }
    c->files[n] = file;
    c->module_count++;
    return n;
}

/* The address that the linker gave to what is at an offset. */
static uint64_t address_of(const files_file *file, uint64_t offset)
{
    uint64_t address = offset;
    image segments;
    image_init(&segments);
    image_add_segments(&segments, NULL, file);
    for (uint32_t i = 0; i < segments.section_count; i++) {
        const image_section *const s = &segments.sections[i];
        if (s->file && offset - s->from < s->size)
            address = s->base + (offset - s->from);
    }
    image_free(&segments);
    return address;
}

static void look_up(cover *c, cover_known *k)
{
    session_place at;
    uint32_t module;
    k->block = COVER_BLOCK(UINT32_MAX, 0);
    if (!session_find(&c->session, k->pid, 0, k->ip, &at) || !at.in) return;
    module = module_of(c, at.in, at.file ? at.file : at.in->name);
    if (module == UINT32_MAX) c->failed = 1;
    k->block = COVER_BLOCK(module, k->size);
    k->address = address_of(at.in, at.in_offset);
}

static void add_block(cover *c, uint32_t pid, const ipt_block *b)
{
    const uint64_t end = b->end_ip + b->last_size;
    cover_known *const k =
        &c->known[((b->ip ^ (uint64_t) pid << 40) * 0x9e3779b97f4a7c15u >> 32)
                  & (KNOWN - 1)];
    if (end <= b->ip || end - b->ip > UINT32_MAX || is_filtered(c, b->ip))
        return;
    if (k->ip != b->ip || k->pid != pid || k->size != end - b->ip
        || k->changes != c->session.changes + 1) {
        k->ip = b->ip;
        k->pid = pid;
        k->size = (uint32_t) (end - b->ip);
        k->changes = c->session.changes + 1;
        look_up(c, k);
    }
    if (COVER_MODULE(k->block) != UINT32_MAX)
        counts_add(&c->blocks, k->address, k->block, 1);
}

/* ---- what the session says ---- */

static void on_flow(session *s, session_task *of, const threads_who *who,
                    const ipt_block *b)
{
    cover *const c = (cover *) s->context;
    task *const t = task_of(c, of);
    if (!t) return;
    if (!is_wanted(c, of, who)) {
        t->open = 0;
        return;
    }
    arrive(c, t, b->ip);
    t->open = (uint8_t) is_branch(c, b->kind);
    t->kind = b->kind;
    t->from = b->end_ip;
    t->next = b->end_ip + b->last_size;
    if (c->has_blocks && !who->guest && !s->threads.muted)
        add_block(c, of->pid, b);
    s->stop |= c->failed | c->edges.failed | c->blocks.failed;
}

/* What interrupts flow says where it was by then. */
static void on_event(session *s, session_task *of, const threads_who *who,
                     const ipt_event *e)
{
    cover *const c = (cover *) s->context;
    task *const t = (task *) of->user;
    (void) who;
    if (!t || e->flags & IPT_EVENT_STATUS) return;
    if ((e->type == IPT_EVT_ASYNC_BRANCH || e->type == IPT_EVT_ASYNC_DISABLED)
        && !(e->flags & IPT_EVENT_NO_IP))
        arrive(c, t, e->ip);
    if (e->type == IPT_EVT_ASYNC_BRANCH || e->type == IPT_EVT_ASYNC_DISABLED
        || e->type == IPT_EVT_DISABLED || e->type == IPT_EVT_ENABLED)
        t->open = 0;
}

static void on_lost(session *s, session_task *of, const threads_who *who,
                    threads_loss loss, const ipt_where *at)
{
    task *const t = (task *) of->user;
    (void) who;
    if (!t || loss == THREADS_UNSURE) return;
    if (loss == THREADS_NO_CODE && at->error != IPT_ERR_RETURN_LOST
        && at->valid & IPT_AT_IP)
        arrive((cover *) s->context, t, at->ip);
    t->open = 0;
}

static void on_exec(session *s, session_task *of)
{
    task *const t = (task *) of->user;
    (void) s;
    if (t) t->open = 0;
}

/* ---- -j: slices ---- */

/* What a slice has found; then modules, each with its name, and the entries. */
typedef struct found {
    uint64_t modules;
    uint64_t edges;
    uint64_t blocks;
} found;

static void keep(cover *c, const void *bytes, size_t size)
{
    if (c->room - c->used < size) {
        const size_t room = 2 * (c->room + size);
        if (!tool_grow(&c->kept, room, 1)) {
            c->failed = 1;
            return;
        }
        c->room = room;
    }
    memcpy(c->kept + c->used, bytes, size);
    c->used += size;
}

static void keep_counts(cover *c, const counts *from)
{
    for (size_t i = 0; i < from->slots; i++)
        if (from->entries[i].count)
            keep(c, &from->entries[i], sizeof from->entries[i]);
}

static void begin_slice(void *context)
{
    const cover *const c = (const cover *) context;
    for (size_t i = 0; i < c->session.task_count; i++) {
        task *const t = (task *) c->session.list[i]->user;
        if (t) t->open = 0;
    }
}

static uint64_t state_of(void *context)
{
    const cover *const c = (const cover *) context;
    uint64_t sum = 0;
    for (size_t i = 0; i < c->session.task_count; i++) {
        const task *const t = (const task *) c->session.list[i]->user;
        const uint64_t tid = c->session.list[i]->tid;
        if (t && t->open)
            sum += (t->from ^ tid << 40) * 0x9e3779b97f4a7c15u;
    }
    return sum;
}

static void end_slice(void *context)
{
    cover *const c = (cover *) context;
    const found f = {c->module_count, c->edges.used, c->blocks.used};
    c->used = 0;
    keep(c, &f, sizeof f);
    for (uint32_t i = 0; i < c->module_count; i++) {
        const cover_module *const m = &c->modules[i];
        keep(c, &m->base, sizeof m->base);
        keep(c, &m->end, sizeof m->end);
        keep(c, m->name, strlen(m->name) + 1);
    }
    keep_counts(c, &c->edges);
    keep_counts(c, &c->blocks);
    counts_clear(&c->edges);
    counts_clear(&c->blocks);
    if (c->failed) exit(1); /* which the first process hears */
    slices_write(&c->slices, c->kept, c->used);
}

/* The number here of a module that another process has. */
static uint32_t same_module(cover *c, const char *name, uint64_t base,
                            uint64_t end)
{
    uint32_t n = 0;
    while (n < c->module_count && (c->modules[n].base != base
                                   || strcmp(c->modules[n].name, name) != 0))
        n++;
    if (n < c->module_count) return n;
    if (!tool_grow(&c->modules, (size_t) n + 1, sizeof *c->modules)) {
        c->failed = 1;
        return 0;
    }
    c->modules[n].name = tool_copy(name, strlen(name));
    c->modules[n].base = base;
    c->modules[n].end = end;
    if (c->modules[n].name)
        c->module_count++;
    else
        c->failed = 1;
    return n;
}

static void take(const void *bytes, size_t size, void *context)
{
    cover *const c = (cover *) context;
    const char *at = (const char *) bytes;
    uint32_t *numbers;
    found f;
    (void) size;
    memcpy(&f, at, sizeof f);
    at += sizeof f;
    numbers = (uint32_t *) malloc((size_t) (f.modules + 1) * sizeof *numbers);
    if (!numbers) {
        c->failed = 1;
        return;
    }
    for (uint64_t i = 0; i < f.modules; i++) {
        uint64_t range[2]; /* base, end */
        memcpy(range, at, sizeof range);
        at += sizeof range;
        numbers[i] = same_module(c, at, range[0], range[1]);
        at += strlen(at) + 1;
    }
    for (uint64_t i = 0; i < f.edges + f.blocks; i++) {
        counts_entry e;
        memcpy(&e, at, sizeof e);
        at += sizeof e;
        if (i < f.edges)
            counts_add(&c->edges, e.a, e.b, e.count);
        else
            counts_add(&c->blocks, e.a,
                       COVER_BLOCK(numbers[COVER_MODULE(e.b)], COVER_SIZE(e.b)),
                       e.count);
    }
    free(numbers);
}

/* ---- the whole ---- */

static void forget(cover *c)
{
    while (c->module_count) free(c->modules[--c->module_count].name);
    counts_clear(&c->edges);
    counts_clear(&c->blocks);
}

void cover_init(cover *c, const tool_args *args)
{
    memset(c, 0, sizeof *c);
    session_init(&c->session, args, &c->config, c);
}

void cover_free(cover *c)
{
    for (size_t i = 0; i < c->session.task_count; i++)
        free(c->session.list[i]->user);
    forget(c);
    free(c->modules);
    free(c->files);
    free(c->known);
    free(c->kept);
    counts_free(&c->edges);
    counts_free(&c->blocks);
    session_free(&c->session);
}

int cover_run(cover *c, const char *name)
{
    slices_config config;
    int status;
    memset(&config, 0, sizeof config);
    c->config.flow = on_flow;
    c->config.event = on_event;
    c->config.lost = on_lost;
    c->config.exec = on_exec;
    if (c->has_blocks)
        c->config.flags = IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
    status = session_open(&c->session, name);
    if (status == 0) status = session_has_trace(&c->session);
    if (status) return status;
    c->known = (cover_known *) calloc(KNOWN, sizeof *c->known);
    if (!c->known) {
        c->failed = 1;
        return 1;
    }
    config.session = &c->session;
    config.processes = c->threads;
    config.begin = begin_slice;
    config.state = state_of;
    config.end = end_slice;
    config.take = take;
    config.context = c;
    slices_init(&c->slices, &config);
    status = c->slices.processes < 2 ? -1 : slices_run(&c->slices);
    if (status >= 0) return status;
    forget(c);
    return session_run(&c->session);
}
