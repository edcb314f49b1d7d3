/* ranges.c: see ranges.h.
 *
 * SPDX-License-Identifier: MIT */
#include "ranges.h"
#include <stdlib.h>
#include <string.h>

void ranges_init(ranges *r)
{
    memset(r, 0, sizeof *r);
}

void ranges_free(ranges *r)
{
    for (uint32_t i = 0; i < r->file_count; i++) free(r->files[i].name);
    free(r->files);
    free(r->list);
    ranges_init(r);
}

/* ---- counting ---- */

static int is_same(const ranges_one *a, const ranges_one *b)
{
    return a->from == b->from && a->to == b->to && a->file == b->file
        && a->to_file == b->to_file && a->kind == b->kind;
}

static ranges_one *find_one(const ranges *r, const ranges_one *what)
{
    const uint64_t hash =
        ((what->from << 20 ^ what->to) + what->file * 31u + what->to_file * 7u
         + what->kind) * 0x9e3779b97f4a7c15u;
    size_t i = (size_t) (hash >> 32) & (r->size - 1);
    while (r->list[i].count && !is_same(&r->list[i], what))
        i = (i + 1) & (r->size - 1);
    return &r->list[i];
}

static int grow_table(ranges *r)
{
    ranges bigger = *r;
    bigger.size = r->size ? 2 * r->size : 4096;
    bigger.list = (ranges_one *) calloc(bigger.size, sizeof *bigger.list);
    if (!bigger.list) return 0;
    for (size_t i = 0; i < r->size; i++)
        if (r->list[i].count) *find_one(&bigger, &r->list[i]) = r->list[i];
    free(r->list);
    *r = bigger;
    return 1;
}

static void add_one(ranges *r, const ranges_one *what)
{
    ranges_one *to;
    if (2 * r->count >= r->size && !grow_table(r)) {
        r->failed = 1;
        return;
    }
    to = find_one(r, what);
    if (!to->count) {
        *to = *what;
        to->count = 0;
        r->count++;
    }
    to->count++;
}

/* ---- where it is ---- */

/* The number of a file; 0 without memory. */
static uint32_t add_file(ranges *r, const spaces_found *at)
{
    ranges_file *f;
    for (uint32_t i = r->file_count; i > 0; i--)
        if (r->files[i - 1].file == at->file) return i;
    if (!tool_grow(&r->files, r->file_count + 1, sizeof *f)) {
        r->failed = 1;
        return 0;
    }
    f = &r->files[r->file_count];
    f->file = at->file;
    f->insns = 0;
    f->name = tool_copy(at->name ? at->name : at->file->name,
                        strlen(at->name ? at->name : at->file->name));
    if (!f->name) {
        r->failed = 1;
        return 0;
    }
    return ++r->file_count;
}

/* The mapping of an address: its file's number, or 0. */
static uint32_t look_up(ranges *r, ranges_thread *t, session *s, uint64_t ip)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, t->guest};
    spaces_found at;
    s->view.pid = t->pid;
    t->changes = s->changes + 1;
    t->begin = t->end = ip;
    if (!spaces_find(&s->view, &asid, ip, &at) || !at.file) return 0;
    t->begin = at.first;
    t->end = at.last;
    t->offset = at.offset - (ip - at.first);
    return add_file(r, &at);
}

static int is_here(const ranges_thread *t, const session *s, uint64_t ip)
{
    return ip >= t->begin && ip <= t->end && t->changes == s->changes + 1;
}

/* The file of an address, and where in it that is; without a file the address. */
static uint32_t find_place(ranges *r, ranges_thread *t, session *s,
                           uint64_t ip, uint64_t *offset)
{
    if (!is_here(t, s, ip)) t->mapped = look_up(r, t, s, ip);
    *offset = t->mapped ? t->offset + (ip - t->begin) : ip;
    return t->mapped;
}

/* ---- flow ---- */

static int is_jump(uint8_t kind)
{
    return kind == IPT_INSN_JCC || kind == IPT_INSN_JMP
        || kind == IPT_INSN_JMP_INDIRECT || kind == IPT_INSN_JMPABS;
}

/* May flow go on right after it, with no branch? */
static int falls_through(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_JMP:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS:
    case IPT_INSN_CALL:
    case IPT_INSN_CALL_INDIRECT:
    case IPT_INSN_RET: return 0;
    default: return 1;
    }
}

static int is_branch(uint8_t kind)
{
    return kind == IPT_INSN_JCC || !falls_through(kind);
}

/* Where the last instruction of the run is. */
static uint64_t last_offset(const ranges_thread *t)
{
    return t->from + (t->last - t->start);
}

/* Flow comes to an address; it is not the one after the run. */
static void start_run(ranges *r, ranges_thread *t, session *s, uint64_t ip)
{
    ranges_one branch;
    const int branches = t->open && !t->empty && is_branch(t->kind);
    const int jumps = branches && is_jump(t->kind);
    memset(&branch, 0, sizeof branch);
    branch.kind = RANGES_BRANCH;
    branch.file = t->file;
    branch.from = last_offset(t);
    ranges_break(r, t);
    branch.to_file = t->file = find_place(r, t, s, ip, &branch.to);
    if (branches) add_one(r, &branch);
    t->is_outer = (uint8_t) (!jumps || branch.file != t->file);
    t->open = t->empty = 1;
    t->from = branch.to;
    t->start = t->last = t->next = ip;
    t->kind = IPT_INSN_OTHER;
}

/* Whose flow it is. */
static void enter_space(ranges *r, ranges_thread *t, uint32_t pid,
                        uint8_t guest)
{
    if (t->pid == pid && t->guest == guest) return;
    ranges_break(r, t);
    t->pid = pid;
    t->guest = guest;
    t->changes = 0;
}

static int goes_on(ranges *r, ranges_thread *t, session *s, uint64_t ip)
{
    uint64_t offset;
    if (!t->open || ip != t->next || !falls_through(t->kind)) return 0;
    return is_here(t, s, ip)
        || (find_place(r, t, s, ip, &offset) == t->file
            && offset == t->from + (ip - t->start));
}

void ranges_flow(ranges *r, ranges_thread *t, session *s, uint32_t pid,
                 uint8_t guest, const ipt_block *b)
{
    enter_space(r, t, pid, guest);
    if (!goes_on(r, t, s, b->ip)) start_run(r, t, s, b->ip);
    if (t->file) r->files[t->file - 1].insns += b->count;
    t->empty = 0;
    t->last = b->end_ip;
    t->next = b->end_ip + b->last_size;
    t->kind = b->kind;
}

/* Flow came to an address where something stopped it. */
static void arrive(ranges *r, ranges_thread *t, session *s, uint64_t ip)
{
    if (t->open && !goes_on(r, t, s, ip)) start_run(r, t, s, ip);
}

void ranges_event(ranges *r, ranges_thread *t, session *s, uint32_t pid,
                  uint8_t guest, const ipt_event *e)
{
    if (e->flags & IPT_EVENT_STATUS) return;
    enter_space(r, t, pid, guest);
    switch (e->type) {
    case IPT_EVT_DISABLED: /* by a branch to where it is not traced */
        if (!t->open || !is_branch(t->kind) || t->empty) break;
        start_run(r, t, s, e->flags & IPT_EVENT_NO_TO ? 0 : e->u.branch.to);
        ranges_break(r, t);
        break;
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_BRANCH:
        if (!(e->flags & IPT_EVENT_NO_IP)) arrive(r, t, s, e->ip);
        break;
    case IPT_EVT_OVERFLOW:
    case IPT_EVT_STOP:
    case IPT_EVT_GAP: ranges_break(r, t); break;
    default: break;
    }
}

void ranges_break(ranges *r, ranges_thread *t)
{
    ranges_one run;
    if (t->open && !t->empty) {
        memset(&run, 0, sizeof run);
        run.kind = t->is_outer ? RANGES_OUTER : RANGES_RUN;
        run.file = run.to_file = t->file;
        run.from = t->from;
        run.to = last_offset(t);
        run.length = (uint32_t) (t->next - t->start);
        add_one(r, &run);
    }
    t->open = 0;
}

static int compare(const void *a, const void *b)
{
    const ranges_one *const x = (const ranges_one *) a;
    const ranges_one *const y = (const ranges_one *) b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to_file != y->to_file) return x->to_file < y->to_file ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

void ranges_sort(ranges *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->size; i++)
        if (r->list[i].count) r->list[n++] = r->list[i];
    if (n) qsort(r->list, n, sizeof *r->list, compare);
}
