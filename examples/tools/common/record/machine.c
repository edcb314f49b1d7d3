/* machine.c: see machine.h.
 *
 * SPDX-License-Identifier: MIT */
#include "machine.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SPILL     65536       /* addresses collected before writing */
#define LONG_LOOP (1u << 20)  /* ... and when they must be a loop */
#define ROUND     (64u << 10) /* bytes of records in a round, at least */

/* What happens in the kernel, in cycles after it was entered. */
#define RECORD_AFTER 40   /* a record of what a system call did */
#define SWITCH_AFTER 150  /* the record of a switch */
#define CALL_TIME    400  /* a system call that does not wait */
#define WAKE_TIME    5000 /* when nothing runs: until something happens */

static uint64_t mix(uint64_t z) /* splitmix64 */
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t dice(machine *m, uint64_t n)
{
    return mix(m->random += 0x9e3779b97f4a7c15u) % n;
}

static void *room_for(machine *m, void *array, size_t count, size_t size)
{
    void *p = realloc(array, count * size);

    if (!p)
        m->config.fail("out of memory");
    return p;
}

/* ---- time ---- */

/* When the thread of a processor is in user code again. */
static uint64_t clock_of(const machine_cpu *cpu)
{
    return cpu->gen.clock + (cpu->thread ? cpu->thread->kernel : 0);
}

/* The clock of the processors that are last in time; if none runs, of the
 * one that is furthest ahead. */
static uint64_t present(const machine *m)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = m->latest;
    uint32_t i;

    for (i = 0; i < m->cpu_count; i++) {
        const uint64_t clock = clock_of(m->cpus[i]);
        const machine_thread *t = m->cpus[i]->thread;
        if (t && t->state == MACHINE_RUNNING && clock < first)
            first = clock;
        if (clock > last)
            last = clock;
    }
    return first != UINT64_MAX ? first : last;
}

/* Cycles are TSC ticks: the ratio of the processors is the nominal one. */
static uint64_t tsc_of(const machine *m, const machine_cpu *cpu)
{
    return m->config.gen.tsc + cpu->gen.clock;
}

static uint64_t nanoseconds(const machine *m, uint64_t clock)
{
    const uint64_t tsc = m->config.gen.tsc + clock;
    const uint16_t shift = m->config.time_shift;
    const uint64_t low = tsc & (((uint64_t) 1 << shift) - 1);

    return m->config.time_zero + (tsc >> shift) * m->config.time_mult
           + (low * m->config.time_mult >> shift);
}

/* The trailer of a record that is written at `clock`. */
static perfwrite_who who_at(machine *m, const machine_thread *t,
                            const machine_cpu *cpu, uint64_t clock)
{
    perfwrite_who who;

    memset(&who, 0, sizeof(who));
    who.pid = t ? t->pid : 0; /* the idle task */
    who.tid = t ? t->tid : 0;
    who.cpu = cpu ? cpu->number : 0;
    who.time = nanoseconds(m, clock);
    if (clock > m->newest)
        m->newest = clock;
    return who;
}

/* The present of a thread: it may be ahead of other processors. */
static uint64_t present_of(const machine *m, const machine_thread *t)
{
    const uint64_t clock = present(m);

    if (t->state == MACHINE_RUNNING)
        return t->cpu->gen.clock;
    return t->left > clock ? t->left : clock;
}

/* The trailer of a record of what a system call of this thread does. */
static perfwrite_who who_now(machine *m, const machine_thread *t)
{
    return who_at(m, t, t->cpu, present_of(m, t) + RECORD_AFTER);
}

/* Records of one processor are in order, those of several nearly. */
static void end_round(machine *m)
{
    if (perfwrite_size(m->config.out) - m->round_at < ROUND
        || present(m) <= m->newest)
        return;
    perfwrite_round(m->config.out);
    m->round_at = perfwrite_size(m->config.out);
}

/* ---- trace ---- */

static void take_trace(machine *m, machine_cpu *cpu)
{
    const size_t n = cpu->gen.used;
    perfwrite_who who;

    if (m->config.out) {
        who = who_at(m, cpu->thread, cpu, cpu->gen.clock);
        perfwrite_trace(m->config.out, cpu->number, &who, cpu->bytes, n);
    } else if (fwrite(cpu->bytes, 1, n, m->config.trace) != n) {
        m->config.fail("cannot write the trace: %s", strerror(errno));
    }
    m->trace_bytes += n;
    cpu->gen.used = 0;
}

/* Tracing was enabled or disabled by a packet that was written. */
static void say_change(machine_thread *t)
{
    if (t->dates)
        fputs(t->change, t->dates);
    t->change[0] = 0;
    t->changed = 0;
}

/* timing.h has something to say of the thread of a processor. */
static void say_date(void *user, int what, uint64_t tsc)
{
    machine_thread *t = ((const machine_cpu *) user)->thread;

    if (!t)
        return;
    if (what == TIMING_BEFORE && t->changed)
        say_change(t);
    if (what != TIMING_BEFORE) {
        t->proven = t->count;
        t->changed = t->change[0] != 0;
    }
    if (t->dates && what != TIMING_FLOW)
        fprintf(t->dates, "%s %" PRIu64 " %" PRIu64 "\n",
                what == TIMING_DATED ? "at" : "before", t->proven, tsc);
}

/* Packets were written from `from` on. */
static void written(machine_cpu *cpu, size_t from)
{
    cpu->gen.used = from
                  + timing_pass(&cpu->timing, cpu->bytes + from,
                                cpu->gen.used - from, cpu->gen.clock,
                                say_date, cpu);
}

static void gen_event(machine *m, machine_cpu *cpu, const ipt_event *event)
{
    size_t from = cpu->gen.used;
    int status = ipt_gen_event(&cpu->gen, event);

    if (status == IPT_ERR_ROOM) {
        take_trace(m, cpu);
        from = 0;
        status = ipt_gen_event(&cpu->gen, event);
    }
    if (status < 0)
        m->config.fail("internal error %d for event %u at %" PRIx64, status,
                       event->type, event->ip);
    written(cpu, from);
}

static void gen_branch(machine *m, machine_cpu *cpu, const machine_insn *insn,
                       uint64_t to)
{
    size_t from = cpu->gen.used;
    int status =
        ipt_gen_branch(&cpu->gen, insn->kind, insn->ip, insn->size, to);

    if (status == IPT_ERR_ROOM) {
        take_trace(m, cpu);
        from = 0;
        status =
            ipt_gen_branch(&cpu->gen, insn->kind, insn->ip, insn->size, to);
    }
    if (status < 0)
        m->config.fail("internal error %d for kind %u at %" PRIx64, status,
                       insn->kind, insn->ip);
    written(cpu, from);
}

static ipt_event new_event(uint8_t type, uint64_t ip)
{
    ipt_event event;

    memset(&event, 0, sizeof(event));
    event.type = type;
    event.ip = ip;
    return event;
}

/* ---- what executed ---- */

static void put_number(machine *m, FILE *f, uint64_t n, size_t size)
{
    uint8_t bytes[8];
    size_t i;

    for (i = 0; f && i < size; i++)
        bytes[i] = (uint8_t) (n >> 8 * i);
    if (f && fwrite(bytes, 1, size, f) != size)
        m->config.fail("cannot write a list: %s", strerror(errno));
}

static void write_list(machine *m, machine_thread *t)
{
    size_t i;

    for (i = 0; i < t->kept; i++) {
        put_number(m, t->list, t->ips[i], 8);
        put_number(m, t->costs, t->cycles[i], 4);
    }
    t->kept = 0;
    t->flow = 0;
}

/* The trace says how flow came here. */
static void flow_known(machine *m, machine_thread *t)
{
    t->flow = t->kept;
    if (t->kept >= SPILL)
        write_list(m, t);
}

/* Flow is at ip, and the trace will say so, but not how often it was here
 * before without a traced branch: the first time counts, and has the cost of
 * the others. */
static void arrive_first(machine *m, machine_thread *t, uint64_t ip)
{
    size_t i;
    size_t j;

    for (i = t->flow; i < t->kept; i++) {
        if (t->ips[i] == ip) {
            t->count -= t->kept - i;
            m->instructions -= t->kept - i;
            for (j = i; i > 0 && j < t->kept; j++)
                t->cycles[i - 1] += t->cycles[j];
            t->kept = i;
        }
    }
}

static void list(machine *m, machine_thread *t, uint64_t ip, uint64_t cost)
{
    if (t->kept >= t->room) {
        t->room = t->room ? 2 * t->room : 2 * SPILL;
        t->ips = (uint64_t *) room_for(m, t->ips, t->room, 8);
        t->cycles = (uint32_t *) room_for(m, t->cycles, t->room, 4);
    }
    if (t->kept - t->flow >= LONG_LOOP)
        arrive_first(m, t, ip);
    t->cycles[t->kept] = (uint32_t) cost;
    t->ips[t->kept++] = ip;
    t->count++;
    m->instructions++;
}

static void set_mode(machine *m, machine_thread *t, uint8_t mode)
{
    ipt_event event = new_event(IPT_EVT_EXEC_MODE, 0);

    t->mode = mode;
    if (t->cpu->mode == mode)
        return;
    t->cpu->mode = mode;
    event.u.exec.mode = mode;
    gen_event(m, t->cpu, &event);
}

void machine_arrived(machine *m, machine_thread *t, uint64_t ip)
{
    ipt_event event = new_event(IPT_EVT_ENABLED, ip);

    if (t->on)
        return;
    t->cpu->gen.clock += t->kernel;
    t->kernel = 0;
    set_mode(m, t, t->mode);
    snprintf(t->change, sizeof(t->change), "go %" PRIu64 "\n",
             tsc_of(m, t->cpu));
    gen_event(m, t->cpu, &event);
    say_change(t);
    t->on = 1;
    flow_known(m, t);
}

/* What a system call takes, which may sleep. */
static uint64_t call_time(machine *m)
{
    const uint64_t sleep = dice(m, 16) ? 0 : 10000 + dice(m, 100000);

    return CALL_TIME / 2 + dice(m, 2 * CALL_TIME) + sleep;
}

/* The kernel takes over: at ip, or after the instruction listed last. */
static void disable(machine *m, machine_thread *t, int async, uint64_t ip)
{
    ipt_event event =
        new_event(async ? IPT_EVT_ASYNC_DISABLED : IPT_EVT_DISABLED, ip);

    if (!t->on)
        return;
    if (async)
        arrive_first(m, t, ip);
    event.flags = IPT_EVENT_NO_TO;
    snprintf(t->change, sizeof(t->change), "stop %" PRIu64 " %s %" PRIu64 "\n",
             t->count, async ? "interrupt" : "syscall", tsc_of(m, t->cpu));
    gen_event(m, t->cpu, &event);
    say_change(t);
    t->on = 0;
    t->kernel = m->config.unkind ? call_time(m) : CALL_TIME;
    flow_known(m, t);
}

void machine_interrupted(machine *m, machine_thread *t, uint64_t ip)
{
    disable(m, t, 1, ip);
}

void machine_mode(machine_thread *t, uint8_t mode)
{
    t->mode = mode;
}

/* A processor that has transactions aborts one at the first step. */
static void abort_transaction(machine *m, machine_thread *t, uint64_t from,
                              uint64_t to)
{
    ipt_event event = new_event(IPT_EVT_TSX, from);

    event.u.tsx.speculative = 1;
    gen_event(m, t->cpu, &event);
    event.u.tsx.speculative = 0;
    event.u.tsx.aborted = 1;
    gen_event(m, t->cpu, &event);
    event = new_event(IPT_EVT_ASYNC_BRANCH, from);
    event.u.branch.to = to;
    gen_event(m, t->cpu, &event);
    flow_known(m, t);
}

/* Now and then memory is slow. */
static uint64_t cycles(machine *m)
{
    return dice(m, 64) ? 1 : 1 + dice(m, 120);
}

/* A clock that is not flat. What an instruction costs depends on where it is:
 * nothing, a few cycles, or as many as a division. Some miss the cache often,
 * some pieces of code are slow each time, and REP costs by the number of its
 * turns. */
static uint64_t unkind_cycles(machine *m, const machine_insn *insn)
{
    const uint64_t kind = mix(insn->ip);
    const uint64_t piece = mix(insn->ip >> 7 ^ m->config.seed);
    uint64_t cost = kind & 1 ? 0 : 1 + (kind >> 8) % 3;

    if ((kind >> 16) % 24 == 0)
        cost += 15 + (kind >> 24) % 20;
    if ((kind >> 32) % 40 == 0 && dice(m, 4) == 0)
        cost += 100 + dice(m, 300);
    if (piece % 12 == 0)
        cost = 8 * cost + 3;
    return cost + 2 * (uint64_t) insn->times;
}

/* Some instructions fault on memory that is not there yet, and execute after
 * that. */
static void page_fault(machine *m, machine_thread *t, const machine_insn *insn)
{
    if ((mix(insn->ip) >> 40) % 16 || dice(m, 500))
        return;
    machine_arrived(m, t, insn->ip);
    disable(m, t, 1, insn->ip);
    t->kernel = 1000 + dice(m, 20000);
}

/* Where a direct branch leads; next: where all others that go on do. */
static uint64_t direct(const machine_thread *t, const machine_insn *insn,
                       uint64_t *next)
{
    const uint64_t mask = t->mode == IPT_MODE_64 ? UINT64_MAX : UINT32_MAX;

    *next = (insn->ip + insn->size) & mask;
    return (*next + (uint64_t) (int64_t) insn->displacement) & mask;
}

int machine_leads(const machine_thread *t, const machine_insn *insn,
                  uint64_t to)
{
    uint64_t next;
    const uint64_t target = direct(t, insn, &next);

    switch (insn->kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_INTO: return to == next; /* on overflow it is a fault */
    case IPT_INSN_JMP:
    case IPT_INSN_CALL: return to == target;
    case IPT_INSN_XBEGIN:
    case IPT_INSN_JCC: return to == next || to == target;
    default: return 1;
    }
}

void machine_executed(machine *m, machine_thread *t, const machine_insn *insn,
                      uint64_t to, uint8_t mode)
{
    uint64_t next;
    uint64_t cost;

    direct(t, insn, &next);
    if (!machine_leads(t, insn, to))
        m->config.fail("the instruction at %" PRIx64 " led to %" PRIx64
                       ", which its code does not say",
                       insn->ip, to);
    if (m->config.unkind)
        page_fault(m, t, insn);
    machine_arrived(m, t, insn->ip);
    cost = m->config.unkind ? unkind_cycles(m, insn) : cycles(m);
    list(m, t, insn->ip, cost);
    t->cpu->gen.clock += cost;
    switch (insn->kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_INTO: break;
    case IPT_INSN_XBEGIN:
        if (to != next)
            abort_transaction(m, t, next, to);
        break;
    case IPT_INSN_JMP:
    case IPT_INSN_CALL: gen_branch(m, t->cpu, insn, to); break;
    case IPT_INSN_FAR_CALL:
    case IPT_INSN_FAR_JMP:
    case IPT_INSN_FAR_RET:
    case IPT_INSN_IRET: set_mode(m, t, mode); /* fall through */
    case IPT_INSN_JCC:
    case IPT_INSN_RET:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_CALL_INDIRECT:
    case IPT_INSN_JMPABS:
        gen_branch(m, t->cpu, insn, to);
        flow_known(m, t);
        break;
    default: /* SYSCALL, INT: into the kernel */
        disable(m, t, 0, insn->ip);
        break;
    }
}

/* ---- switches ---- */

static machine_cpu *new_cpu(machine *m, uint8_t mode)
{
    machine_cpu *cpu = (machine_cpu *) calloc(1, sizeof(*cpu));

    if (!cpu || ipt_gen_init(&cpu->gen, &m->config.gen, mode) < 0) {
        m->config.fail(cpu ? "internal error: ipt_gen_init" : "out of memory");
        return NULL;
    }
    cpu->gen.out = cpu->bytes;
    cpu->gen.size = sizeof(cpu->bytes) - TIMING_ROOM;
    cpu->timing.threshold = m->config.threshold;
    cpu->timing.all_cyc = m->config.gen.flags & IPT_GEN_CYC
                       && m->config.threshold < 2;
    cpu->timing.ebx = m->config.gen.cpuid_15_ebx;
    cpu->timing.eax = m->config.gen.cpuid_15_eax;
    cpu->timing.mtc_freq = m->config.gen.mtc_freq;
    cpu->timing.tsc = m->config.gen.tsc;
    cpu->gen.clock = present(m);
    cpu->mode = mode;
    cpu->number = m->queues++;
    m->cpus = (machine_cpu **) room_for(m, m->cpus, m->cpu_count + 1u,
                                        sizeof(*m->cpus));
    m->cpus[m->cpu_count++] = cpu;
    return cpu;
}

/* A line of the log for what a thread did in a run:
 *     run CPU PID TID FIRST COUNT TSC TSC */
static void end_run(machine *m, const machine_thread *t)
{
    if (m->config.log && t->count > t->run_from)
        fprintf(m->config.log,
                "run %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64
                " %" PRIu64 " %" PRIu64 "\n",
                t->cpu->number, t->pid, t->tid, t->run_from,
                t->count - t->run_from, m->config.gen.tsc + t->run_clock,
                m->config.gen.tsc + t->cpu->gen.clock);
}

/* Tracing begins on this processor. */
static void start_trace(machine *m, machine_cpu *cpu)
{
    perfwrite_who who;

    if (cpu->started)
        return;
    cpu->started = 1;
    if (m->config.out) {
        who = who_at(m, cpu->thread, cpu, cpu->gen.clock);
        perfwrite_start(m->config.out, &who);
    }
}

/* Another thread gets this processor, which is idle or whose thread has left
 * it; NULL: none does. */
static void switch_to(machine *m, machine_cpu *cpu, machine_thread *t,
                      int preempted)
{
    machine_thread *before = cpu->thread;
    perfwrite_who who;

    if (before)
        end_run(m, before);
    if (m->config.cpus && m->config.out) {
        cpu->gen.clock += SWITCH_AFTER;
        who = who_at(m, before, cpu, cpu->gen.clock);
        if (!t) {
            take_trace(m, cpu);
            perfwrite_aux(m->config.out, cpu->number, &who, 0);
        }
        perfwrite_switch(m->config.out, &who, 1, preempted, t ? t->pid : 0,
                         t ? t->tid : 0);
        if (before && before->dates)
            fprintf(before->dates, "out %" PRIu64 "\n", tsc_of(m, cpu));
        who = who_at(m, t, cpu, cpu->gen.clock + m->config.gap / 2);
        perfwrite_switch(m->config.out, &who, 0, 0, before ? before->pid : 0,
                         before ? before->tid : 0);
        if (t && t->dates)
            fprintf(t->dates, "in %" PRIu64 "\n",
                    tsc_of(m, cpu) + m->config.gap / 2);
        cpu->gen.clock += m->config.gap;
    }
    cpu->thread = t;
    if (!t)
        return;
    t->cpu = cpu;
    t->state = MACHINE_RUNNING;
    t->kernel = 0;
    t->run_from = t->count;
    t->run_clock = cpu->gen.clock;
    start_trace(m, cpu);
    cpu->until = cpu->gen.clock + m->config.quantum / 2
                 + dice(m, m->config.quantum + 1u);
}

/* The thread that has waited longest, if it can run by `clock`. */
static machine_thread *find_ready(const machine *m, uint64_t clock)
{
    machine_thread *best = NULL;
    size_t i;

    for (i = 0; i < m->thread_count; i++) {
        machine_thread *t = m->threads[i];
        if (t->state == MACHINE_READY && t->ready <= clock
            && (!best || t->ready < best->ready))
            best = t;
    }
    return best;
}

/* An idle processor for a thread: mostly the one where it was. */
static machine_cpu *find_idle(machine *m, const machine_thread *t)
{
    machine_cpu *best = NULL;
    uint64_t idle = 0;
    uint32_t i;

    if (m->config.cpus == 0)
        return t->cpu;
    if (t->cpu && !t->cpu->thread && dice(m, 4))
        return t->cpu;
    for (i = 0; i < m->cpu_count; i++)
        if (!m->cpus[i]->thread && dice(m, ++idle) == 0)
            best = m->cpus[i];
    return best;
}

static machine_cpu *find_running(const machine *m)
{
    machine_cpu *best = NULL;
    uint32_t i;

    for (i = 0; i < m->cpu_count; i++) {
        machine_cpu *cpu = m->cpus[i];
        if (cpu->thread && cpu->thread->state == MACHINE_RUNNING
            && (!best || cpu->gen.clock < best->gen.clock))
            best = cpu;
    }
    return best;
}

machine_thread *machine_next(machine *m)
{
    machine_cpu *cpu = find_running(m);
    machine_thread *t;

    if (m->config.out)
        end_round(m);
    while ((t = find_ready(m, cpu ? clock_of(cpu) : UINT64_MAX)) != NULL) {
        machine_cpu *idle = find_idle(m, t);
        if (!idle)
            break;
        if (idle->gen.clock < t->ready)
            idle->gen.clock = t->ready;
        switch_to(m, idle, t, 0);
        cpu = find_running(m);
    }
    if (!cpu)
        return NULL;
    if (t && cpu->gen.clock >= cpu->until) { /* its turn is over */
        machine_thread *before = cpu->thread;
        machine_interrupted(m, before, before->ip);
        before->state = MACHINE_READY;
        before->ready = cpu->gen.clock;
        switch_to(m, cpu, t, 1);
    }
    return cpu->thread;
}

/* ---- threads ---- */

void machine_init(machine *m, const machine_config *config)
{
    uint32_t i;

    memset(m, 0, sizeof(*m));
    m->config = *config;
    m->random = config->seed;
    for (i = 0; i < config->cpus; i++)
        new_cpu(m, IPT_MODE_64);
}

void machine_add(machine *m, machine_thread *t, const machine_thread *parent)
{
    perfwrite_who who;

    m->threads = (machine_thread **) room_for(
        m, m->threads, m->thread_count + 1, sizeof(*m->threads));
    m->threads[m->thread_count++] = t;
    t->state = MACHINE_READY;
    t->ready = (parent ? present_of(m, parent) : present(m)) + CALL_TIME;
    if (parent && m->config.out) {
        who = who_now(m, parent);
        perfwrite_fork(m->config.out, &who, t->pid, t->tid);
    }
    if (m->config.cpus == 0)
        t->cpu = new_cpu(m, t->mode);
}

/* Take the last trace of a processor. */
static void end_cpu(machine *m, machine_cpu *cpu)
{
    size_t from = cpu->gen.used;

    if (ipt_gen_flush(&cpu->gen) == IPT_ERR_ROOM) {
        take_trace(m, cpu);
        from = 0;
        ipt_gen_flush(&cpu->gen);
    }
    written(cpu, from);
    take_trace(m, cpu);
    if (m->latest < cpu->gen.clock)
        m->latest = cpu->gen.clock;
    free(cpu);
}

/* A thread that has a processor for itself stops. */
static void stop(machine *m, machine_thread *t)
{
    perfwrite_who who;

    end_run(m, t);
    if (m->config.out) {
        take_trace(m, t->cpu);
        who = who_at(m, t, t->cpu, t->cpu->gen.clock);
        perfwrite_aux(m->config.out, t->cpu->number, &who, 0);
    }
    t->cpu->thread = NULL;
}

/* The thread gives up its processor; to one that is ready, if any is. */
static void leave(machine *m, machine_thread *t)
{
    t->left = t->cpu->gen.clock;
    if (m->config.cpus)
        switch_to(m, t->cpu, find_ready(m, t->left), 0);
    else
        stop(m, t);
}

/* The processor of a thread that has ended. */
static void remove_cpu(machine *m, machine_thread *t)
{
    uint32_t i;

    for (i = 0; m->cpus[i] != t->cpu; i++)
        ;
    for (m->cpu_count--; i < m->cpu_count; i++)
        m->cpus[i] = m->cpus[i + 1];
    t->cpu->thread = t;
    end_cpu(m, t->cpu);
    t->cpu = NULL;
}

void machine_wait(machine *m, machine_thread *t)
{
    t->state = MACHINE_WAITING;
    leave(m, t);
}

void machine_ready(machine *m, machine_thread *t, uint64_t later)
{
    t->ready = present_of(m, t) + CALL_TIME + later;
    t->state = MACHINE_READY;
    if (!find_running(m))
        t->ready += WAKE_TIME + dice(m, WAKE_TIME);
}

void machine_exit(machine *m, machine_thread *t)
{
    const uint8_t state = t->state;
    perfwrite_who who;
    size_t i;

    if (m->config.out && !m->stopped) {
        who = who_now(m, t);
        perfwrite_exit(m->config.out, &who);
    }
    t->state = MACHINE_ENDED;
    if (state == MACHINE_RUNNING)
        leave(m, t);
    if (m->config.cpus == 0)
        remove_cpu(m, t);
    write_list(m, t);
    free(t->ips);
    free(t->cycles);
    t->ips = NULL;
    t->cycles = NULL;
    t->room = 0;
    for (i = 0; m->threads[i] != t; i++)
        ;
    for (m->thread_count--; i < m->thread_count; i++)
        m->threads[i] = m->threads[i + 1];
}

void machine_map(machine *m, const machine_thread *t, const perfwrite_map *map)
{
    const perfwrite_who who = who_now(m, t);

    perfwrite_mmap(m->config.out, &who, map);
}

void machine_code(machine *m, const machine_thread *t, const perfwrite_map *map)
{
    const perfwrite_who who = who_at(m, t, t->cpu, present_of(m, t));

    perfwrite_mmap(m->config.out, &who, map);
}

void machine_comm(machine *m, const machine_thread *t, const char *name,
                  int exec)
{
    const perfwrite_who who = who_now(m, t);

    perfwrite_comm(m->config.out, &who, name, exec);
}

void machine_end(machine *m)
{
    uint32_t i;

    for (i = 0; i < m->cpu_count; i++)
        end_cpu(m, m->cpus[i]);
    free(m->cpus);
    free(m->threads);
    m->cpus = NULL;
    m->cpu_count = 0;
}

uint64_t machine_trace_size(const machine *m)
{
    uint64_t size = m->trace_bytes;
    uint32_t i;

    for (i = 0; i < m->cpu_count; i++)
        size += m->cpus[i]->gen.used;
    return size;
}
