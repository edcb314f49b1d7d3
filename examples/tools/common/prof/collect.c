/* collect.c: flow becomes calls, lines, jumps and hot paths.
 *
 * SPDX-License-Identifier: MIT */
#include "prof.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

void prof_out_of_memory(const ptprof *p)
{
    fprintf(stderr, "%s: out of memory.\n", p->args->program);
    exit(1);
}

uint32_t prof_add_name(ptprof *p, const char *text)
{
    const uint32_t name = names_add(&p->names, text);
    if (!name) prof_out_of_memory(p);
    return name;
}

/* What is not a function: a thread, say. */
static uint32_t add_label(ptprof *p, const char *text)
{
    const uint32_t function = functions_label(&p->session.functions, text);
    if (!function) prof_out_of_memory(p);
    return function;
}

const char *prof_text_of(uint32_t function, void *context)
{
    return functions_text((functions *) context, function);
}

/* What a function is called. */
const char *prof_function_text(ptprof *p, uint32_t function)
{
    return functions_text(&p->session.functions, function);
}

int prof_is_chosen(ptprof *p, functions_choice *choice, uint32_t function)
{
    const int is = functions_chosen(&p->session.functions, choice, function);
    if (is < 0) prof_out_of_memory(p);
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
    name = prof_add_name(p, text);
    if (name > p->line_max) {
        const size_t max = 2 * (size_t) name + 64;
        if (!tool_grow(&p->lines, max, sizeof *p->lines)) prof_out_of_memory(p);
        memset(p->lines + p->line_max, 0,
               (max - p->line_max) * sizeof *p->lines);
        p->line_max = max;
    }
    n = &p->lines[name - 1];
    if (n->function) return name;
    n->function = function;
    if (!l.file) return name;
    n->shown = prof_add_name(p, text + head);
    n->source = prof_add_name(p, l.file);
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
    if (!spot) prof_out_of_memory(p);
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
    lines_place list[CHAIN_MAX];
    uint32_t node = CALLTREE_ROOT;
    size_t n = place->in ? lines_inlined(&p->session.lines, place->in,
                                         place->in_offset, list, CHAIN_MAX)
                         : 0;
    while (n > 0) {
        char text[SYMBOL];
        snprintf(text, sizeof text, "%.4000s (inlined)", list[--n].function);
        *inner = add_label(p, text);
        node = calltree_child(&p->chains, node, *inner);
    }
    return node;
}

int prof_is_annotated(ptprof *p, uint32_t function)
{
    return p->opt.annotate && prof_is_chosen(p, &p->annotated, function);
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
    if (!place.function || !place.whole) prof_out_of_memory(p);
    own = joined(p, place.function);
    k->function = session_function(&place);
    k->function.split = own != place.function && !place.is_part;
    k->function.name = place.is_part ? joined(p, place.whole) : own;
    k->part = own != k->function.name ? own : 0;
    k->chain = p->opt.inlined ? chain_of(p, &place, &own) : CALLTREE_ROOT;
    k->jump = k->one = 0;
    k->line = p->opt.spots ? spot_of(p, ip)
            : p->opt.by_line ? line_of(p, &place, own,
                  prof_is_annotated(p, own) ? ip - k->function.first + 1 : 0) : 0;
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

uint64_t prof_moment_of(const thread *t)
{
    return t->in->by_insn ? t->insns : t->charge.ns - t->left_out;
}

uint64_t prof_cost_of(const thread *t)
{
    return t->in->by_insn ? t->insns : prof_moment_of(t) / CHARGE_FINE;
}

/* ---- calls ---- */

static void note_moment(thread *t, char sign, uint32_t name)
{
    moment *const m = &t->ring[t->put++ % t->in->opt.last];
    const size_t depth = t->depth - 1;
    m->cost = prof_cost_of(t);
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
            prof_out_of_memory(p);
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
        if (!k->jump) prof_out_of_memory(p);
        if (k->jump > p->jump_max) {
            const size_t max = 2 * (size_t) k->jump + 64;
            if (!tool_grow(&p->jumps, max, sizeof *p->jumps)) prof_out_of_memory(p);
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
    if (!whole || !prof_is_chosen(p, &p->wanted, name)) return 0;
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
    if (why == STACK_CALLED && how & AS_SIGNAL) prof_show_before(t, "signal");
    if (depth >= t->call_max) {
        t->call_max = 2 * depth + 64;
        if (!tool_grow(&t->calls, t->call_max, sizeof *t->calls))
            prof_out_of_memory(p);
    }
    call = &t->calls[depth];
    call->node = is_joined ? t->calls[depth - 1].node : calltree_child(
        &p->tree, depth ? t->calls[depth - 1].node : t->root, name);
    call->back = back;
    call->inlined = 0;
    call->part = 0;
    call->begin = prof_cost_of(t);
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
                       prof_function_text(p, name), prof_moment_of(t));
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
    const uint64_t cost = prof_cost_of(t) - call->begin;
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
    if (whole && p->wanted.pattern && prof_is_chosen(p, &p->wanted, name))
        calltree_ended(&p->every, 0, cost);
    if (t->ring && !(p->opt.crash && why == STACK_ENDED))
        note_moment(t, '<', name);
    if (p->opt.timeline)
        timeline_leave(&p->timeline, t->track, name,
                       prof_function_text(p, name), prof_moment_of(t));
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
                       prof_function_text(p, t->gap), prof_moment_of(t) + later);
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
                       prof_function_text(p, t->gap), prof_moment_of(t));
    t->gap_node = t->gap_instance = 0;
}

static void on_stop(charge_gap why, void *user)
{
    thread *const t = (thread *) user;
    prof_show_at(t, 0);
    t->gap = gap_function(t->in, why);
    t->gap_seen = 0;
    t->waits = t->in->opt.waits && why <= CHARGE_OFF_CPU;
}

static void on_go(void *user)
{
    thread *const t = (thread *) user;
    prof_show_at(t, 0);
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
    if (*part == UINT32_MAX) prof_out_of_memory(p);
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
    return n->ns ? n->ns : prof_moment_of(t);
}

/* Notes of flow come out of charge.h. */
static void on_note(const charge_part *n, void *user)
{
    thread *const t = (thread *) user;
    ptprof *const p = t->in;
    prof_show_at(t, p->ends && n->what == LEAVE && n->value == STACK_ENDED);
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
    case BEFORE: prof_show_before(t, ipt_evt_name((uint8_t) n->number)); break;
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
    if (!n->through) prof_out_of_memory(t->in);
    for (uint32_t i = 0; i < n->blocks; i++) {
        const stack_function f = known_at(t, blocks[i].ip)->function;
        if (f.name == last) continue;
        if (i == 0 && !f.gap) n->into = blocks[0].ip - f.first;
        n->through[n->count++] = last = f.name;
    }
}

/* f+0x12 > g > f. */
void prof_path_text(ptprof *p, const path *at, char text[2 * SYMBOL])
{
    size_t n = 0;
    for (uint32_t i = 0; i < at->count && n < SYMBOL - 8; i++) {
        n += (size_t) snprintf(text + n, 2 * SYMBOL - n, "%s%.2048s",
                               n ? " > " : "",
                               prof_function_text(p, at->through[i]));
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
    if (!ips) prof_out_of_memory(p);
    for (uint32_t i = 0; i < count; i++) ips[i] = blocks[i].ip;
    if (before && p->paths[before - 1].blocks == count
        && !memcmp(p->paths[before - 1].ips, ips, count * sizeof *ips)) {
        free(ips);
        return IPT_HOT_KEEP;
    }
    if (p->path_count == p->path_max) {
        p->path_max = 2 * p->path_max + 64;
        if (!tool_grow(&p->paths, p->path_max, sizeof *p->paths))
            prof_out_of_memory(p);
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
    if (!f) prof_out_of_memory(t->in);
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
            prof_out_of_memory(p);
    }
    if (!t || (p->opt.last && !t->ring) || calltree_init(&t->instance))
        prof_out_of_memory(p);
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
        if (t->track == UINT32_MAX) prof_out_of_memory(p);
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
    if (stack_flow(&t->stack, b)) prof_out_of_memory(t->in);
    if (t->in->opt.callgrind) find_jump(t, b);
    if (t->in->opt.inlined) find_chain(t, b->ip);
    find_part(t, b->ip);
    charge_run(&t->charge, b->count, !t->in->opt.by_line ? 0
               : known_at(t, t->in->opt.spots ? b->end_ip : b->ip)->line);
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

void prof_on_flow(session *s, session_task *task, const threads_who *who,
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

int prof_stays(session *s, session_task *task, const threads_who *who,
               const ipt_block *b, uint64_t *first, uint64_t *last)
{
    ptprof *const p = (ptprof *) s->context;
    thread *const t = &p->asking;
    const known *k;
    t->in = p;
    t->task = task;
    t->guest = who->guest;
    k = known_at(t, b->ip);
    *first = k->function.first;
    *last = k->function.last;
    return !k->function.part && !k->part;
}

/* prof_on_flow, with files of EXPORTS_. */
void prof_on_export_flow(session *s, session_task *task,
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
    if (p->opt.views) prof_on_flow(s, task, who, b);
}

/* prof_on_flow, with --before crash. */
void prof_on_crash_flow(session *s, session_task *task,
                        const threads_who *who, const ipt_block *b)
{
    ptprof *const p = (ptprof *) s->context;
    if (session_wants(s, task, who))
        crash_flow(&thread_of(p, task)->end, who, b);
    if (p->opt.has_exports)
        prof_on_export_flow(s, task, who, b);
    else
        prof_on_flow(s, task, who, b);
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
    if (!k->one) prof_out_of_memory(p);
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

/* prof_on_flow, with --annotate and --branches. */
void prof_on_annotate_flow(session *s, session_task *task,
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
                || prof_is_annotated(p, k->part ? k->part : k->function.name)) {
                if (!k->one) add_one(t, k, b);
                annotate_ran(&p->annotate, &t->went, k->one, b);
            }
        }
    }
    if (p->opt.crash)
        prof_on_crash_flow(s, task, who, b);
    else if (p->opt.has_exports)
        prof_on_export_flow(s, task, who, b);
    else
        prof_on_flow(s, task, who, b);
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

void prof_on_event(session *s, session_task *task, const threads_who *who,
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
    if (!status && stack_event(&t->stack, e)) prof_out_of_memory(p);
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

void prof_on_lost(session *s, session_task *task, const threads_who *who,
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
        if (unknown < 0) prof_out_of_memory(p);
        p->no_kernel |= unknown != 0;
    }
    charge_stop(&t->charge, loss == THREADS_NO_CODE ? CHARGE_UNKNOWN
                                                    : CHARGE_LOST);
    if (loss != THREADS_UNSURE && loss != THREADS_NO_CODE)
        stack_break(&t->stack);
    if (t->finder) ipt_hot_break(&t->finder->hot);
    note_at(t, MARK, loss, 0, who->tsc);
}

void prof_on_date(session *s, session_task *task, const threads_who *who,
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
void prof_on_exec(session *s, session_task *task)
{
    thread *const t = (thread *) task->user;
    if (!t) return;
    ranges_break(&((ptprof *) s->context)->ranges, &t->ranges);
    t->span.last = 0;
    annotate_break(&t->in->annotate, &t->went);
    if (t->in->opt.crash && crash_exec(&t->end, &t->stack)) prof_out_of_memory(t->in);
    if (stack_exec(&t->stack)) name_thread(t);
    if (t->finder) ipt_hot_invalidate(&t->finder->hot, NULL, 0, 0);
}

void prof_end_threads(ptprof *p)
{
    p->ends = 1;
    for (size_t i = 0; i < p->thread_count; i++) {
        thread *const t = p->threads[i];
        ranges_break(&p->ranges, &t->ranges);
        move_to(t, 0);
        t->end.task = t->task;
        annotate_break(&p->annotate, &t->went);
        if (p->opt.crash && crash_last(&t->end, &t->stack, &p->session))
            prof_out_of_memory(p);
        stack_end(&t->stack, STACK_ENDED);
        charge_end(&t->charge);
        if (t->charge.failed) prof_out_of_memory(p);
    }
}

/* Times are whole ns from here on. */
void prof_settle_costs(ptprof *p)
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
