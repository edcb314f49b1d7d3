/* flow.h: queries and instructions of both sides, item by item. A part of
 * peer_libipt.c. */
#ifndef PEER_FLOW_H
#define PEER_FLOW_H

/* ---- queries ---- */

typedef struct query {
    run *r;
    ipt_qry_decoder ours;
    struct pt_query_decoder *theirs;
    int our_status; /* of the last call */
    int their_status;
    int given; /* one side has just been asked for a branch */
    events e;
} query;

static uint64_t query_offset(const query *q)
{
    uint64_t offset = UINT64_MAX;
    (void) pt_qry_get_offset(q->theirs, &offset);
    return offset;
}

static int query_differs(query *q, const char *what)
{
    if (q->r->failures == 0 && test_.bad < 20) events_show(&q->e);
    return unexplained(q->r, "queries", q->ours.at.packet_offset,
                       "%s: ours %d, theirs %d at 0x%llx", what,
                       q->our_status, q->their_status, ull(query_offset(q)));
}

static void query_pull(query *q)
{
    events *e = &q->e;
    while (e->count < EVENTS_MAX && q->our_status > 0
           && q->our_status & IPT_EVENT_PENDING) {
        ipt_event event;
        q->our_status = ipt_qry_event(&q->ours, &event);
        if (q->our_status >= 0) events_add(e, &event);
    }
    while (e->peer_count < EVENTS_MAX && q->their_status > 0
           && q->their_status & pts_event_pending) {
        q->their_status = pt_qry_event(q->theirs, &e->theirs[e->peer_count],
                                       sizeof e->theirs[0]);
        if (q->their_status >= 0) e->peer_count++;
    }
}

/* Branches differ; it may be because of what came before them. */
static int query_elsewhere(query *q, const char *what)
{
    if (!exec_before_fup(q->r, q->e.sync, q->ours.at.packet_offset))
        return query_differs(q, what);
    allow(q->r, D_EXEC_FUP);
    return 0;
}

/* Our next is the TIP that their first event binds to. */
static int query_tip_first(const query *q)
{
    const struct pt_event *t = &q->e.theirs[0];
    return q->our_status >= 0 && q->their_status >= 0 && q->e.peer_count
           && !q->ours.tnt_count_ && q->ours.have_event_
           && q->ours.event_.type == IPT_EVT_TIP
           && (t->type == ptev_exec_mode || t->type == ptev_async_paging
               || t->type == ptev_async_vmcs);
}

/* Ask the one that has not failed for a branch: it should fail as well. */
static void query_provoke(query *q)
{
    int taken;
    uint64_t ip;
    if (q->our_status >= 0) {
        q->our_status = ipt_qry_cond_branch(&q->ours, &taken);
        if (q->our_status == IPT_ERR_QUERY)
            q->our_status = ipt_qry_indirect_branch(&q->ours, &ip);
    }
    if (q->their_status >= 0) {
        q->their_status = pt_qry_cond_branch(q->theirs, &taken);
        if (q->their_status == -pte_bad_query)
            q->their_status = pt_qry_indirect_branch(q->theirs, &ip);
    }
}

/* Theirs failed: does ours, too, when it gets to that packet? */
static int query_later(query *q)
{
    const uint64_t at = query_offset(q);
    ipt_qry_decoder d = q->ours;
    int status = q->our_status;
    int taken;
    uint64_t ip;
    ipt_event event;
    if (status < 0 || q->their_status >= 0) return 0;
    for (int i = 0; i < 300 && status >= 0; i++) {
        if (status & IPT_EVENT_PENDING) {
            status = ipt_qry_event(&d, &event);
            continue;
        }
        status = ipt_qry_cond_branch(&d, &taken);
        if (status == IPT_ERR_QUERY) status = ipt_qry_indirect_branch(&d, &ip);
    }
    return same_error(status, q->their_status)
           && near_packet(q->r, d.at.packet_offset, at);
}

/* One side failed: does anything explain it? It ends the section. */
static int query_failed(query *q)
{
    failure f = {q->r, 0, 0, query_offset(q), q->e.sync,
                 ptem_64bit, &q->ours.at, &q->ours.evt_};
    int d;
    if (!q->given) query_provoke(q);
    f.ours = q->our_status;
    f.theirs = q->their_status;
    if (!q->e.count && !q->e.peer_count && same_error(f.ours, f.theirs))
        return 0;
    d = explain_failure(&f);
    if (d < 0 && query_later(q)) d = D_EARLY;
    if (d >= 0) allow(q->r, d);
    else if (!ended(q->r, f.ours, f.theirs)) query_differs(q, "status");
    return 0;
}

/* The side that has no event may have an error in its place. */
static void query_ask(query *q)
{
    int taken;
    uint64_t ip;
    if (!q->e.count && q->our_status >= 0) {
        q->our_status = ipt_qry_cond_branch(&q->ours, &taken);
        if (q->our_status == IPT_ERR_QUERY)
            q->our_status = ipt_qry_indirect_branch(&q->ours, &ip);
    }
    if (!q->e.peer_count && q->their_status >= 0) {
        q->their_status = pt_qry_cond_branch(q->theirs, &taken);
        if (q->their_status == -pte_bad_query)
            q->their_status = pt_qry_indirect_branch(q->theirs, &ip);
    }
    q->given = 1;
}

static int query_events(query *q)
{
    events *e = &q->e;
    int fine;
    int d;
    do {
        query_pull(q);
        fine = events_match(e);
    } while (fine && is_pending(q->our_status, q->their_status)
             && e->count < EVENTS_MAX && e->peer_count < EVENTS_MAX);
    while (fine && !e->count && !query_tip_first(q) && events_extra(e)) { }
    if (fine && !e->count && (!e->peer_count || query_tip_first(q)))
        return q->our_status < 0 || q->their_status < 0 ? query_failed(q) : 1;
    d = explain_events(e, q->ours.at.packet_offset);
    if (d >= 0) {
        allow(q->r, d);
        return 0;
    }
    if (q->r->wild && (!e->count || !e->peer_count)) query_ask(q);
    if (q->our_status < 0 || q->their_status < 0) return query_failed(q);
    return query_differs(q, "events");
}

static int query_branch(query *q)
{
    int taken = -1;
    int peer_taken = -1;
    uint64_t ip = 0;
    uint64_t peer_ip = 0;
    q->our_status = ipt_qry_cond_branch(&q->ours, &taken);
    q->their_status = pt_qry_cond_branch(q->theirs, &peer_taken);
    if (q->our_status == IPT_ERR_QUERY && q->their_status == -pte_bad_query) {
        if (q->e.peer_count) allow(q->r, D_TIP_FIRST);
        q->our_status = ipt_qry_indirect_branch(&q->ours, &ip);
        q->their_status = pt_qry_indirect_branch(q->theirs, &peer_ip);
    }
    items[1][q->r->part]++;
    q->given = 1;
    if (q->our_status < 0 || q->their_status < 0) return query_failed(q);
    q->given = 0;
    if (taken != peer_taken) return query_elsewhere(q, "taken");
    if (ip != peer_ip || (q->our_status & IPT_IP_SUPPRESSED)
                             != (q->their_status & pts_ip_suppressed))
        return query_elsewhere(q, "target");
    return 1;
}

/* From one PSB to where either fails. */
static void query_section(query *q, uint64_t offset)
{
    uint64_t ip = 0;
    uint64_t peer_ip = 0;
    events_begin(&q->e, q->r, offset);
    q->given = 0;
    q->our_status = ipt_qry_sync_set(&q->ours, offset, &ip);
    q->their_status = pt_qry_sync_set(q->theirs, &peer_ip, offset);
    if (q->our_status < 0 || q->their_status < 0) {
        query_pull(q);
        if (q->their_status == -pte_eos) q->e.count = 0;
        query_failed(q);
        return;
    }
    while (query_events(q) && query_branch(q)) { }
}

/* The next PSB after what either decoder has seen, or 0. */
static uint64_t next_psb(const run *r, uint64_t ours, uint64_t theirs)
{
    uint64_t from = ours;
    if (theirs != UINT64_MAX && theirs > from) from = theirs;
    for (size_t i = packet_at(r, from + 1); i < r->count; i++)
        if (r->packets[i].type == IPT_PKT_PSB) return r->packets[i].offset;
    return 0;
}

static void compare_queries(run *r)
{
    query q;
    uint64_t offset;
    memset(&q, 0, sizeof q);
    if (r->count == 0) return;
    q.r = r;
    q.theirs = pt_qry_alloc_decoder(&r->peer);
    ipt_qry_init(&q.ours, &r->config, &r->trace);
    offset = r->packets[0].offset;
    do {
        query_section(&q, offset);
        offset = next_psb(r, q.ours.at.packet_offset, query_offset(&q));
    } while (offset);
    pt_qry_free_decoder(q.theirs);
}

/* ---- instructions ---- */

/* A model of a return stack: the addresses that calls pushed. */
typedef struct stack {
    uint64_t ip[IPT_RETURN_STACK_];
    unsigned count;
    uint64_t popped; /* the last one */
} stack;

typedef struct flow {
    run *r;
    ipt_insn_decoder ours;
    ipt_cache cache;
    struct pt_insn_decoder *theirs;
    int our_status;
    int their_status;
    ipt_insn insn; /* the last ones, equal unless they just differ */
    struct pt_insn peer;
    events e;
    stack our_stack;
    stack their_stack;
    uint64_t done; /* instructions since the PSB */
    int given;     /* one side has just been asked for an instruction */
    int returned;  /* the last instruction was a compressed return */
    int into;      /* ... or an INTO that ours has passed */
} flow;

static void stack_push(stack *s, uint64_t ip)
{
    if (s->count == IPT_RETURN_STACK_) {
        memmove(&s->ip[0], &s->ip[1], sizeof s->ip - sizeof s->ip[0]);
        s->count--;
    }
    s->ip[s->count++] = ip;
}

static void stack_pop(stack *s)
{
    s->popped = s->count ? s->ip[--s->count] : 0;
}

static uint64_t flow_offset(const flow *f)
{
    uint64_t offset = UINT64_MAX;
    (void) pt_insn_get_offset(f->theirs, &offset);
    return offset;
}

/* What a report is to say besides. */
static void flow_show(const flow *f)
{
    uint64_t tsc = 0;
    uint32_t mtc = 0;
    uint32_t cyc = 0;
    uint8_t code[15];
    int status = pt_insn_time(f->theirs, &tsc, &mtc, &cyc);
    events_show(&f->e);
    printf("      time %llx/%u/%u, theirs %d %llx/%u/%u\n      code",
           ull(f->ours.at.tsc), f->ours.at.lost_mtc, f->ours.at.lost_cyc,
           status, ull(tsc), mtc, cyc);
    for (size_t i = 0, n = image_read(f->r->code, code, 15, f->insn.ip); i < n;
         i++)
        printf(" %02x", code[i]);
    printf("\n");
}

static int flow_differs(flow *f, const char *what)
{
    if (f->r->failures == 0 && test_.bad < 20) flow_show(f);
    return unexplained(f->r, "instructions", f->ours.at.packet_offset,
                       "%s after %llu: ours %d %llx kind %d size %d mode %d, "
                       "theirs %d %llx class %d size %d mode %d at 0x%llx",
                       what, ull(f->done), f->our_status, ull(f->insn.ip),
                       f->insn.kind, f->insn.size, f->insn.mode,
                       f->their_status, ull(f->peer.ip), f->peer.iclass,
                       f->peer.size, f->peer.mode, ull(flow_offset(f)));
}

static void flow_pull(flow *f)
{
    events *e = &f->e;
    while (e->count < EVENTS_MAX && f->our_status > 0
           && f->our_status & IPT_EVENT_PENDING) {
        ipt_event event;
        f->our_status = ipt_insn_event(&f->ours, &event);
        if (f->our_status < 0) break;
        if (is_status(&event)) f->our_stack.count = 0;
        events_add(e, &event);
    }
    while (e->peer_count < EVENTS_MAX && f->their_status > 0
           && f->their_status & pts_event_pending) {
        f->their_status = pt_insn_event(f->theirs, &e->theirs[e->peer_count],
                                        sizeof e->theirs[0]);
        if (f->their_status >= 0) e->peer_count++;
    }
}

/* libipt's class of our kind. */
static enum pt_insn_class class_of(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_JCC: return ptic_cond_jump;
    case IPT_INSN_JMP:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS: return ptic_jump;
    case IPT_INSN_CALL:
    case IPT_INSN_CALL_INDIRECT: return ptic_call;
    case IPT_INSN_RET: return ptic_return;
    case IPT_INSN_FAR_CALL:
    case IPT_INSN_INT:
    case IPT_INSN_INTO:
    case IPT_INSN_SYSCALL:
    case IPT_INSN_VMCALL: return ptic_far_call;
    case IPT_INSN_FAR_JMP: return ptic_far_jump;
    case IPT_INSN_FAR_RET:
    case IPT_INSN_IRET:
    case IPT_INSN_UIRET:
    case IPT_INSN_VMENTRY: return ptic_far_return;
    case IPT_INSN_PTWRITE: return ptic_ptwrite;
    default: return ptic_other;
    }
}

/* Is it the instruction itself that ends tracing? */
static int insn_leaves(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    for (unsigned i = 0; i < w->out.count; i++)
        if (f->insn.flags & IPT_FLOW_DISABLED
            && w->out.events[i].type == IPT_EVT_DISABLED)
            return 1;
    return 0;
}

/* Does the instruction push an address that a return may take? */
static int insn_pushes(const flow *f)
{
    const ipt_insn *insn = &f->insn;
    uint8_t bytes[15];
    ipt_code code;
    if (insn->kind == IPT_INSN_CALL_INDIRECT)
        return !insn_leaves(f);
    if (insn->kind != IPT_INSN_CALL || insn_leaves(f)) return 0;
    return image_read(f->r->code, bytes, 15, insn->ip) >= insn->size
           && ipt_classify(&code, bytes, insn->size, insn->mode, NULL) == IPT_OK
           && code.displacement != 0;
}

/* Let the models follow the instruction both have just given. */
static void flow_stacks(flow *f)
{
    const ipt_insn *insn = &f->insn;
    f->into = insn->kind == IPT_INSN_INTO
              && f->ours.walk_.flow.ip == insn->ip + insn->size;
    f->returned = 0;
    if (insn_pushes(f)) {
        stack_push(&f->our_stack, insn->ip + insn->size);
        stack_push(&f->their_stack, insn->ip + insn->size);
    } else if (insn->kind == IPT_INSN_RET) {
        f->returned = packet_is(f->r, insn->offset, IPT_PKT_TNT_8)
                      || packet_is(f->r, insn->offset, IPT_PKT_TNT_64);
        stack_pop(&f->our_stack);
        if (f->returned) stack_pop(&f->their_stack);
    }
}

/* Theirs ends tracing at a MOV CR3 that has a PIP; ours goes on to what ends
 * it. */
static int flow_cr3(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    return f->insn.kind == IPT_INSN_MOV_CR3 && !f->e.count && f->e.peer_count
           && f->e.theirs[0].type == ptev_disabled && w->next.has_event
           && w->next.event.type == IPT_EVT_DISABLED
           && w->next.event.flags & IPT_EVENT_NO_TO
           && w->prev.taken & IPTI_TAKEN_PAGING;
}

/* Ours ends tracing where flow has come to the IP of a TIP.PGD without a
 * branch; theirs at a branch only. */
static int flow_at_target(const flow *f)
{
    const ipt_event *e = &f->e.ours[0];
    size_t i = packet_at(f->r, e->offset);
    while (f->e.count && i > 0 && !is_flow(f->r->packets[--i].type)
           && f->r->packets[i].type != IPT_PKT_TIP_PGE
           && f->r->packets[i].type != IPT_PKT_FUP) { } /* an OVF's */
    return f->e.count && e->type == IPT_EVT_DISABLED
           && !(e->flags & IPT_EVENT_NO_TO)
           && (f->done == 0 || f->r->packets[i].type == IPT_PKT_TIP
               || f->r->packets[i].type == IPT_PKT_TIP_PGE
               || f->r->packets[i].type == IPT_PKT_FUP
               || f->insn.kind == IPT_INSN_JCC
               || e->u.branch.to == f->insn.ip + f->insn.size
               || e->u.branch.to == f->insn.ip
               || e->u.branch.to == f->ours.walk_.flow.ip);
}

/* Ours ends tracing at a near branch, for a TIP.PGD without IP; theirs waits
 * for another one. */
static int flow_near(const flow *f)
{
    const ipt_event *e = &f->e.ours[0];
    const uint8_t kind = f->insn.kind;
    return f->e.count && !f->e.peer_count && e->type == IPT_EVT_DISABLED
           && e->flags & IPT_EVENT_NO_TO
           && (kind == IPT_INSN_JCC || kind == IPT_INSN_RET
               || kind == IPT_INSN_CALL_INDIRECT
               || kind == IPT_INSN_JMP_INDIRECT || kind == IPT_INSN_JMPABS);
}

/* Ours holds the first status event of a PSB+, which binds further on; theirs,
 * which does not have that one, goes on with what stands after it ... */
static int flow_held(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    return w->next.has_event && is_status(&w->next.event)
           && w->next.event.ip != w->flow.ip;
}

/* ... and gives at once those events that have no IP. */
static int flow_header(const flow *f)
{
    return !f->e.count && f->e.peer_count && flow_held(f);
}

/* Theirs gives events without IP; ours has such that wait for their IP. */
static int flow_waiting(const flow *f)
{
    return !f->e.count && f->e.peer_count && f->e.theirs[0].ip_suppressed
           && is_waiting(&f->ours.walk_.evt);
}

/* Did one of the last packets give an IP that code of this mode cannot reach?
 * Ours wraps it. */
static int flow_beyond(const flow *f)
{
    const run *r = f->r;
    const size_t end = packet_at(r, f->ours.at.packet_offset + 1);
    if (f->ours.walk_.mode.now == IPT_MODE_64
        && (f->done == 0 || f->insn.mode == IPT_MODE_64))
        return 0;
    for (size_t i = end > 20 ? end - 20 : 0; i < end; i++) {
        const ipt_packet *p = &r->packets[i];
        if ((is_flow(p->type) || p->type == IPT_PKT_FUP
             || p->type == IPT_PKT_TIP_PGE)
            && p->type != IPT_PKT_TNT_8 && p->type != IPT_PKT_TNT_64
            && p->offset >= f->e.sync && p->u.ip.payload >> 32)
            return 1;
    }
    return 0;
}

/* Only a PSB+ with FUP says to ours that tracing is enabled; theirs, which
 * does not take it for that, gives at once what ours gives with an instruction.
 */
static int flow_status(const flow *f)
{
    const run *r = f->r;
    int psb = 0;
    if (f->e.count || !f->e.peer_count || !f->ours.walk_.flow.enabled
        || f->their_status < 0 || !(f->their_status & pts_ip_suppressed)
        || (f->e.theirs[0].type != ptev_paging
            && f->e.theirs[0].type != ptev_vmcs))
        return 0;
    for (size_t i = packet_at(r, f->ours.at.packet_offset); i-- > 0;) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_FUP) return psb;
        if (type == IPT_PKT_PSBEND) psb = 1;
        else if (!is_neutral(type) && type != IPT_PKT_PIP
                 && type != IPT_PKT_VMCS
                 && !(psb && (type == IPT_PKT_MODE_EXEC
                              || type == IPT_PKT_MODE_TSX)))
            return 0;
    }
    return 0;
}

/* A PTW that no PTWRITE caused, as ours says. */
static int is_note(const ipt_event *e)
{
    return e->type == IPT_EVT_PTWRITE && e->flags & IPT_EVENT_NO_IP;
}

/* A note before a branch: ours gives it there, theirs keeps it. */
static int flow_note(const flow *f)
{
    return f->our_status == IPT_EVENT_FIRST
           && is_note(&f->ours.walk_.out.events[0]);
}

/* A note after a PIP or VMCS that a far branch causes, and before the TIP of
 * that: ours gives all with the branch, in their order; theirs keeps the note.
 */
static int flow_note_far(const flow *f)
{
    const run *r = f->r;
    const ipt_event *e = &f->e.ours[0];
    const enum pt_insn_class far = class_of(f->insn.kind);
    size_t i;
    if (!f->e.count || f->e.peer_count || !is_note(e)
        || (far != ptic_far_call && far != ptic_far_jump
            && far != ptic_far_return))
        return 0;
    for (i = packet_at(r, e->offset); i-- > 0;) {
        const uint8_t type = r->packets[i].type;
        if (type == IPT_PKT_PIP || type == IPT_PKT_VMCS) return 1;
        if (is_flow(type) || ends_exec(type) || type == IPT_PKT_FUP
            || type == IPT_PKT_PSBEND)
            return 0;
    }
    return 0;
}

static int flow_explain(const flow *f)
{
    const ipt_walk_ *w = &f->ours.walk_;
    if (f->into) return D_INTO;
    if (flow_beyond(f)) return D_WRAP;
    if (f->returned && f->our_stack.popped != f->their_stack.popped)
        return D_RETPOP;
    if (!f->e.count && w->next.has_event
        && exec_before_pgd(f->r, &w->next.event))
        return D_EXEC_PGD;
    if (f->e.peer_count && f->e.theirs[0].type == ptev_overflow
        && fup_then_ovf(f->r, f->ours.walk_.next.event.offset))
        return D_OVF_FUP;
    if (flow_cr3(f)) return D_CR3_PIP;
    if (flow_near(f)) return D_PGD_NO_IP;
    if (flow_at_target(f)) return D_PGD_IP;
    if (flow_status(f)) return D_STATUS;
    if (flow_note_far(f)) return D_PTW_NOTE;
    return explain_events(&f->e, f->ours.at.packet_offset);
}

/* The side that has no event may have an error in its place. */
static void flow_ask(flow *f)
{
    struct pt_insn peer;
    ipt_insn insn;
    if (!f->e.count && f->our_status >= 0)
        f->our_status = ipt_insn_next(&f->ours, &insn);
    if (!f->e.peer_count && f->their_status >= 0)
        f->their_status = pt_insn_next(f->theirs, &peer, sizeof peer);
    f->given = 1;
}

static int flow_failed(flow *f);

static int flow_events(flow *f)
{
    int fine;
    int d;
    do {
        flow_pull(f);
        fine = events_match(&f->e);
    } while (fine && is_pending(f->our_status, f->their_status)
             && f->e.count < EVENTS_MAX && f->e.peer_count < EVENTS_MAX);
    while (fine && !f->e.count && events_extra(&f->e)) { }
    if (fine && !f->e.count && !f->e.peer_count) return 1;
    if (fine && flow_header(f)) {
        allow(f->r, D_STATUS_CBR);
        return f->e.theirs[0].type == ptev_cbr
               || f->e.theirs[0].type == ptev_mnt;
    }
    if (flow_waiting(f)) {
        allow(f->r, D_UNBOUND);
        return 0;
    }
    d = flow_explain(f);
    if (d >= 0) {
        allow(f->r, d);
        return 0;
    }
    if (f->r->wild && (!f->e.count || !f->e.peer_count)) flow_ask(f);
    if (f->our_status < 0 || f->their_status < 0) return flow_failed(f);
    return flow_differs(f, "events");
}

static int flow_same(const flow *f)
{
    return f->insn.ip == f->peer.ip && f->insn.size == f->peer.size
           && same_exec_mode(f->insn.mode, f->peer.mode)
           && class_of(f->insn.kind) == f->peer.iclass
           && !(f->insn.flags & IPT_FLOW_SPECULATIVE) == !f->peer.speculative
           && !(f->insn.flags & IPT_FLOW_TRUNCATED) == !f->peer.truncated;
}

/* Is theirs the time at a packet that it has read, but ours has not used? */
static int flow_time_ahead(const flow *f, int status, uint64_t tsc,
                           uint32_t lost_mtc, uint32_t lost_cyc)
{
    const run *r = f->r;
    const uint64_t to = flow_offset(f);
    their_clock c;
    their_init(&c, &r->config);
    for (size_t i = packet_at(r, f->e.sync); i < r->count; i++) {
        if (r->packets[i].offset > to) break;
        their_packet(&c, &r->packets[i]);
        if ((r->packets[i].offset >= f->insn.offset
             || r->packets[i].offset >= f->e.last)
            && !c.has_tsc == (status == -pte_no_time) && c.tsc == tsc
            && c.lost_mtc == lost_mtc && c.lost_cyc == lost_cyc)
            return 1;
    }
    return 0;
}

static int flow_time(flow *f)
{
    struct pt_event t;
    const ipt_where *at = &f->ours.at;
    uint64_t tsc;
    uint32_t lost_mtc;
    uint32_t lost_cyc;
    int status = pt_insn_time(f->theirs, &tsc, &lost_mtc, &lost_cyc);
    if (status == -pte_no_time && !(at->valid & IPT_AT_TSC)) return 1;
    if (status >= 0 && at->valid & IPT_AT_TSC && at->tsc == tsc
        && at->lost_mtc == lost_mtc && at->lost_cyc == lost_cyc)
        return 1;
    if (flow_time_ahead(f, status, tsc, lost_mtc, lost_cyc))
        return allow(f->r, D_TIME_AHEAD);
    if (mtc_without_cpuid(f->r, f->e.sync, flow_offset(f)))
        return allow(f->r, D_NO_CPUID);
    if (fcr_zero(f->r, f->e.sync, flow_offset(f)))
        return allow(f->r, D_FCR_ZERO);
    if (huge_cyc(f->r, f->e.sync, flow_offset(f)))
        return allow(f->r, D_HUGE_CYC);
    t.has_tsc = status != -pte_no_time;
    t.tsc = tsc;
    t.lost_mtc = lost_mtc;
    t.lost_cyc = lost_cyc;
    if (their_time(f->r, f->e.sync,
                   f->insn.offset < f->e.last ? f->insn.offset : f->e.last,
                   flow_offset(f), &t))
        return allow(f->r, D_CYC_COUNT);
    return flow_differs(f, "time");
}

/* Let the one that has not failed go on: it should fail as well. */
static void flow_provoke(flow *f)
{
    if (f->our_status >= 0)
        f->our_status = ipt_insn_next(&f->ours, &f->insn);
    if (f->their_status >= 0)
        f->their_status = pt_insn_next(f->theirs, &f->peer, sizeof f->peer);
}

/* What code of a mode makes of an address. */
static uint64_t narrow(uint8_t mode, uint64_t ip)
{
    return mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

/* After a compressed return: did both take what our model says? */
static int flow_popped(const flow *f, uint64_t ip)
{
    const uint8_t mode =
        f->our_status < 0 ? f->ours.walk_.mode.now : f->insn.mode;
    return f->returned && narrow(mode, f->our_stack.popped) == ip
           && f->their_stack.popped == f->peer.ip
           && f->our_stack.popped != f->their_stack.popped;
}

/* Does theirs apply a MODE.Exec at once that ours has not come to? */
static int flow_exec_early(const flow *f, uint64_t to)
{
    const run *r = f->r;
    for (size_t i = packet_at(r, f->ours.at.packet_offset); i < r->count; i++) {
        const ipt_packet *p = &r->packets[i];
        if (p->offset > to) break;
        if (p->type == IPT_PKT_MODE_EXEC
            && same_exec_mode(mode_of(p), f->peer.mode))
            return 1;
    }
    return 0;
}

/* Several MODE.Execs came before a TIP; of their events only one is kept in
 * mind. Theirs has applied the one of our next TIP, which goes to where flow is
 * already. */
static int flow_execs(const flow *f)
{
    const run *r = f->r;
    const ipt_walk_ *w = &f->ours.walk_;
    size_t i = packet_at(r, w->next.tip_offset);
    if (f->insn.ip != f->peer.ip || !w->next.has_tip
        || w->next.tip != f->insn.ip
        || !two_execs(r, f->e.sync, w->next.tip_offset))
        return 0;
    while (i-- > 0 && !is_flow(r->packets[i].type)
           && !ends_exec(r->packets[i].type)
           && r->packets[i].type != IPT_PKT_PSBEND)
        if (r->packets[i].type == IPT_PKT_MODE_EXEC)
            return same_exec_mode(mode_of(&r->packets[i]), f->peer.mode);
    return 0;
}

/* Ours has wrapped to what code of this mode can reach, theirs has not. */
static int flow_wrapped(const flow *f, uint64_t ip)
{
    return f->peer.ip != ip
           && narrow(f->ours.walk_.mode.now, f->peer.ip) == ip;
}

/* Why both are at different places, -1 if nothing explains it. */
static int flow_elsewhere(const flow *f, uint64_t ip)
{
    if (flow_popped(f, ip)) return D_RETPOP;
    return flow_wrapped(f, ip) ? D_WRAP : -1;
}

/* Theirs finds no place for a TIP.PGD without IP, ours a branch. */
static int flow_no_ip(const flow *f)
{
    const uint8_t kind = f->insn.kind;
    return f->given && f->our_status >= 0 && f->their_status == -pte_bad_query
           && f->insn.ip == f->peer.ip && f->insn.flags & IPT_FLOW_DISABLED
           && f->ours.walk_.out.events[0].type == IPT_EVT_DISABLED
           && f->ours.walk_.out.events[0].flags & IPT_EVENT_NO_TO
           && (kind == IPT_INSN_JCC || kind == IPT_INSN_RET
               || kind == IPT_INSN_CALL_INDIRECT
               || kind == IPT_INSN_JMP_INDIRECT || kind == IPT_INSN_JMPABS);
}

/* Ours ends tracing at a TIP.PGD that theirs uses up for a MODE.Exec. */
static int flow_exec_pgd(const flow *f)
{
    return f->given && f->our_status >= 0 && f->insn.flags & IPT_FLOW_DISABLED
           && exec_before_pgd(f->r, &f->ours.walk_.out.events[0]);
}

/* Theirs failed: does ours, too, when it gets to that packet? */
static int flow_later(const flow *f)
{
    const uint64_t at = flow_offset(f);
    ipt_insn_decoder d = f->ours;
    ipt_insn insn;
    int status = f->our_status;
    if (status < 0 || f->their_status >= 0) return 0;
    for (int i = 0; i < 3000 && status >= 0; i++)
        status = ipt_insn_next(&d, &insn);
    return same_error(status, f->their_status)
           && near_packet(f->r, d.at.packet_offset, at);
}

/* Opcodes that mean nothing and whose length therefore is open: VEX and EVEX
 * with any opcode, and UD0. */
static int is_open_length(const uint8_t *b)
{
    unsigned i = 0;
    while (i < 12 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf0
                      || (b[i] & 0xfe) == 0xf2 || (b[i] & 0xe7) == 0x26
                      || (b[i] & 0xfe) == 0x64 || (b[i] & 0xf0) == 0x40))
        i++;
    return b[i] == 0x62 || b[i] == 0xc4 || b[i] == 0xc5
           || (b[i] == 0x0f && b[i + 1] == 0xff);
}

/* Opcodes that mean nothing, by mode: what libipt's length decoder does not
 * look at. */
static int is_undefined(const uint8_t *b, uint8_t mode)
{
    static const uint8_t not_64[] = {
        0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60,
        0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd6, 0xea};
    unsigned i = 0;
    unsigned reg;
    while (i < 12 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf0
                      || (b[i] & 0xfe) == 0xf2 || (b[i] & 0xe7) == 0x26
                      || (b[i] & 0xfe) == 0x64
                      || (mode == IPT_MODE_64 && (b[i] & 0xf0) == 0x40)))
        i++;
    reg = b[i + 1] >> 3 & 7;
    switch (b[i]) {
    case 0xfe: return reg >= 2;
    case 0xff:
        return reg == 7 || ((reg == 3 || reg == 5) && b[i + 1] >= 0xc0);
    case 0xc6:
    case 0xc7: return reg != 0;
    case 0x8f: return reg != 0;
    case 0xd6: return 1;
    default: break;
    }
    for (unsigned k = 0; mode == IPT_MODE_64 && k < LENGTH(not_64); k++)
        if (b[i] == not_64[k]) return 1;
    return 0;
}

static int flow_undefined(const flow *f)
{
    uint8_t bytes[16] = {0};
    image_read(f->r->code, bytes, 15, f->ours.at.ip);
    return f->our_status == IPT_ERR_BAD_INSN && f->their_status >= 0
           && is_undefined(bytes, f->ours.walk_.mode.now);
}

/* Ours says that flow goes round forever; does theirs? */
static int flow_loops(flow *f)
{
    const uint64_t at = flow_offset(f);
    struct pt_insn peer;
    if (f->our_status != IPT_ERR_LOOP || f->their_status < 0) return 0;
    for (int i = 0; i < 5000; i++)
        if (pt_insn_next(f->theirs, &peer, sizeof peer) < 0) return 0;
    return flow_offset(f) == at;
}

static int flow_failed(flow *f)
{
    failure x = {f->r, 0, 0, flow_offset(f), f->e.sync,
                 ptem_unknown, &f->ours.at, &f->ours.walk_.evt};
    int d;
    if (!f->given) flow_provoke(f);
    x.ours = f->our_status;
    x.theirs = f->their_status;
    x.their_mode = f->peer.mode;
    if (!f->e.count && !f->e.peer_count
        && same_error(x.ours, x.theirs))
        return 0;
    d = f->into
                || (f->insn.kind == IPT_INSN_INTO && f->our_status >= 0
                    && f->their_status < 0)
            ? D_INTO
            : explain_failure(&x);
    if (d < 0 && flow_no_ip(f)) d = D_PGD_NO_IP;
    if (d < 0 && flow_exec_pgd(f)) d = D_EXEC_PGD;
    if (d < 0 && flow_note(f)) d = D_PTW_NOTE;
    if (d < 0 && flow_later(f)) d = D_EARLY;
    if (d < 0 && flow_loops(f)) d = D_LOOP;
    if (d < 0 && flow_undefined(f)) d = D_UNDEFINED;
    if (d < 0 && f->our_status == IPT_ERR_RETURN && !f->our_stack.count
        && f->their_stack.count)
        d = D_RETPOP;
    if (d < 0 && f->given)
        d = flow_elsewhere(f, f->our_status < 0 ? f->ours.at.ip : f->insn.ip);
    if (d >= 0) allow(f->r, d);
    else if (!ended(f->r, x.ours, x.theirs)) flow_differs(f, "status");
    return 0;
}

/* Is it an instruction that 2.0.5 does not know: REX2 (JMPABS), UIRET, ERETS,
 * ERETU? */
static int insn_is_new(const flow *f)
{
    uint8_t b[19] = {0};
    const ipt_insn *insn = &f->insn;
    unsigned i = 0;
    int rep = 0;
    if (insn->mode != IPT_MODE_64) return 0;
    image_read(f->r->code, b, 15, insn->ip);
    while (i < 15 && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf2
                      || b[i] == 0xf3 || (b[i] & 0xf0) == 0x40))
        rep |= (b[i++] & 0xfe) == 0xf2;
    return b[i] == 0xd5
           || (rep && b[i] == 0x0f && b[i + 1] == 0x01
               && (b[i + 2] == 0xec || b[i + 2] == 0xca));
}

static int flow_insn_differs(flow *f)
{
    const uint64_t to = flow_offset(f) > f->ours.at.packet_offset
                            ? flow_offset(f)
                            : f->ours.at.packet_offset;
    if (f->into) {
        allow(f->r, D_INTO);
        return 0;
    }
    if (f->e.have_exec && f->insn.ip == f->peer.ip
        && f->e.exec.variant.exec_mode.mode == f->peer.mode
        && f->e.exec.variant.exec_mode.ip == f->peer.ip
        && !same_exec_mode(f->insn.mode, f->peer.mode)) {
        allow(f->r, D_TIP_FIRST);
        return 0;
    }
    if (exec_before_fup(f->r, f->e.sync, to)) {
        allow(f->r, D_EXEC_FUP);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && (same_exec_mode(f->ours.walk_.mode.next, f->peer.mode)
            || (f->insn.flags & IPT_FLOW_DISABLED
                && same_exec_mode(f->ours.walk_.mode.now, f->peer.mode))
            || flow_exec_early(f, to))) {
        allow(f->r, D_EXEC_EARLY);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode) && flow_execs(f)) {
        allow(f->r, D_TIP_FIRST);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && psbend_alone(f->r, f->e.sync, f->ours.at.packet_offset)) {
        allow(f->r, D_CONTEXT);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && exec_before_ovf(f->r, f->e.sync, f->ours.at.packet_offset)) {
        allow(f->r, D_OVF_PENDING);
        return 0;
    }
    if (!same_exec_mode(f->insn.mode, f->peer.mode)
        && exec_skipped(f->r, f->e.sync, to)) {
        allow(f->r, D_SKIPPED);
        return 0;
    }
    if (flow_held(f)) {
        allow(f->r, D_STATUS_CBR);
        return 0;
    }
    const int d = flow_elsewhere(f, f->insn.ip);
    if (d >= 0) {
        allow(f->r, d);
        return 0;
    }
    if (f->insn.ip == f->peer.ip && f->insn.size != f->peer.size
        && f->insn.kind == IPT_INSN_OTHER && f->peer.iclass == ptic_other) {
        uint8_t bytes[16] = {0};
        image_read(f->r->code, bytes, 15, f->insn.ip);
        if (is_open_length(bytes)) {
            allow(f->r, D_UNDEFINED);
            return 0;
        }
    }
    if (f->insn.ip == f->peer.ip && insn_is_new(f)) {
        allow(f->r, D_NEW_INSN);
        return 0;
    }
    return flow_differs(f, "instruction");
}

/* One instruction and the events after it. */
static int flow_step(flow *f)
{
    if (f->their_status >= 0 && f->their_status & pts_eos)
        f->their_status = -pte_eos;
    else
        f->their_status = pt_insn_next(f->theirs, &f->peer, sizeof f->peer);
    f->our_status = ipt_insn_next(&f->ours, &f->insn);
    f->given = 1;
    if (f->our_status == IPT_EVENT_FIRST
        && f->their_status == -pte_event_ignored) { /* ours on both sides */
        f->our_status = IPT_EVENT_PENDING;
        f->their_status = pts_event_pending;
        return flow_events(f);
    }
    if (f->our_status < 0 || f->their_status < 0) return flow_failed(f);
    f->given = 0;
    items[2][f->r->part]++;
    f->done++;
    if (!flow_same(f)) return flow_insn_differs(f);
    flow_stacks(f);
    if (!flow_events(f)) return 0;
    return f->our_status < 0 || f->their_status < 0 || flow_time(f);
}

static void flow_section(flow *f, uint64_t offset)
{
    events_begin(&f->e, f->r, offset);
    f->e.place = &f->insn;
    f->our_stack.count = f->their_stack.count = 0;
    f->done = 0;
    f->given = f->returned = 0;
    memset(&f->insn, 0, sizeof f->insn);
    memset(&f->peer, 0, sizeof f->peer);
    f->our_status = ipt_insn_sync_set(&f->ours, offset);
    if (f->our_status >= 0
        && f->ours.walk_.item.full) { /* it waited for a page */
        ipt_insn before;
        f->our_status = ipt_insn_next(&f->ours, &before);
    }
    f->their_status = pt_insn_sync_set(f->theirs, offset);
    if (f->our_status < 0 || f->their_status < 0) {
        flow_pull(f);
        if (f->their_status == -pte_eos) f->e.count = 0;
        flow_failed(f);
    } else if (flow_events(f)) {
        while (flow_step(f)) { }
    }
}

static void compare_flow(run *r)
{
    static ipt_cache_line lines[1024];
    static flow f;
    struct pt_image *code;
    uint64_t offset;
    memset(&f, 0, sizeof f);
    if (r->count == 0) return;
    code = pt_image_alloc(NULL);
    f.r = r;
    f.theirs = pt_insn_alloc_decoder(&r->peer);
    pt_image_set_callback(code, read_theirs, r->code);
    pt_insn_set_image(f.theirs, code);
    ipt_cache_init(&f.cache, lines, LENGTH(lines));
    ipt_insn_init(&f.ours, &r->config, &r->trace, &f.cache);
    offset = r->packets[0].offset;
    do {
        flow_section(&f, offset);
        offset = next_psb(r, f.ours.at.packet_offset, flow_offset(&f));
    } while (offset);
    pt_insn_free_decoder(f.theirs);
    pt_image_free(code);
}

static void compare(run *r)
{
    compare_packets(r);
    compare_backward(r);
    compare_queries(r);
    if (r->code) compare_flow(r);
}

#endif /* PEER_FLOW_H */
