/* kernel.c: whose flow it is where the kernel is traced (threads.h): threads of
 * a simulated processor, with page-table isolation, interrupts, preemption and
 * switches, whose records are written before and after __switch_to. Each
 * instruction has to be that of its thread, and each return has to lead to after
 * the call that this thread made. */
#include "switches.h"
#include "dice.h"
#include "test.h"

#define KERNEL_AT ((uint64_t) 0xffffffff81000000)
#define USER_AT   ((uint64_t) 0x401000)
#define STEPS     20000u
#define THREADS   3u

enum { /* functions, from KERNEL_AT */
    ENTRY = 0, SYS = 0x40, SCHEDULE = 0x80, HOOK = 0xc0, SWITCH_ASM = 0x100,
    SWITCH_TO = 0x140, FINISH = 0x180, IRQ = 0x1c0, HANDLER = 0x200,
    KERNEL_SIZE = 0x240
};

static uint8_t kernel_code[KERNEL_SIZE];
static uint8_t user_code[THREADS][256];

typedef struct task {
    uint64_t ip;
    uint64_t stack[64]; /* where it goes back to */
    unsigned depth;
    uint32_t tid;
} task;

static task tasks[THREADS];
static unsigned now_runs;
static threads t;
static ipt_gen gen;
static uint64_t want_ips[STEPS];
static uint32_t want_tids[STEPS];
static size_t wanted, seen, unsure;
static uint64_t calls[THREADS][64]; /* where calls that were seen return to */
static unsigned depths[THREADS];
static uint64_t returns_to[THREADS]; /* the last one has to lead there; 0 */
static int is_cut; /* trace is missing, so flow is, too */
static size_t mixed;
static unsigned psb_period;
static int with_guest; /* one of the threads is a guest's */

/* CALL, or JMP with 1, of a function. */
static unsigned put_call(uint8_t *code, unsigned at, unsigned to, int is_jump)
{
    code[at] = is_jump ? 0xe9 : 0xe8;
    sw_put(code + at + 1, to - (at + 5), 4);
    return at + 5;
}

static unsigned put_code(uint8_t *code, unsigned at, const char *bytes,
                         unsigned size)
{
    memcpy(code + at, bytes, size);
    return at + size;
}

#define MOV_CR3 "\x0f\x22\xd8"

static void write_code(void)
{
    uint8_t *const k = kernel_code;
    unsigned at = put_code(k, ENTRY, MOV_CR3, 3);
    at = put_call(k, at, SYS, 0);
    at = put_code(k, at, MOV_CR3, 3);
    put_code(k, at, "\x48\x0f\x07", 3); /* SYSRET */
    at = put_call(k, SYS, SCHEDULE, 0);
    put_code(k, at, "\x90\xc3", 2);
    at = put_call(k, SCHEDULE, HOOK, 0);
    at = put_code(k, at, MOV_CR3, 3);
    at = put_call(k, at, SWITCH_ASM, 0);
    at = put_call(k, at, FINISH, 0);
    put_code(k, at, "\xc3", 1);
    put_code(k, HOOK, "\x90\x90\xc3", 3);
    put_call(k, SWITCH_ASM, SWITCH_TO, 1);
    put_code(k, SWITCH_TO, "\x90\x90\x90\xc3", 4);
    put_code(k, FINISH, "\x90\xc3", 2);
    at = put_code(k, IRQ, MOV_CR3, 3);
    at = put_call(k, at, HANDLER, 0);
    at = put_code(k, at, "\x75\x05", 2); /* over the call */
    at = put_call(k, at, SCHEDULE, 0);
    at = put_code(k, at, MOV_CR3, 3);
    put_code(k, at, "\x48\xcf", 2); /* IRET */
    put_code(k, HANDLER, "\x90\xc3", 2);
    for (unsigned i = 0; i < THREADS; i++) {
        at = put_call(user_code[i], 0, 64 * (i + 1), 0);
        at = put_code(user_code[i], at, "\x0f\x05", 2); /* SYSCALL */
        put_call(user_code[i], at, 0, 1);
        put_code(user_code[i], 64 * (i + 1), "\x90\x90\xc3", 3);
    }
}

static int code(uint8_t *buffer, size_t size, uint32_t pid,
                const ipt_asid *asid, uint64_t ip, void *context)
{
    const uint64_t in = ip >> 63 ? ip - KERNEL_AT : ip - USER_AT;
    const uint64_t all = ip >> 63 ? KERNEL_SIZE : 256;
    (void) context;
    if (asid->nr) pid = (uint32_t) (asid->cr3 >> 13); /* a guest's */
    if (in >= all || (!(ip >> 63) && (pid < 10 || pid >= 10 + THREADS)))
        return IPT_NEED_PAGE;
    if (size > all - in) size = (size_t) (all - in);
    memcpy(buffer, (ip >> 63 ? kernel_code : user_code[pid - 10]) + in, size);
    return (int) size;
}

static void apply_none(const perfdata_record *r, void *context)
{
    (void) r;
    (void) context;
}

/* Calls and returns of each thread. */
static void follow_stack(unsigned i, const ipt_block *b)
{
    if (returns_to[i] && returns_to[i] != b->ip && b->ip != KERNEL_AT + IRQ)
        mixed++;
    returns_to[i] = 0;
    if (b->kind == IPT_INSN_CALL && depths[i] < 64)
        calls[i][depths[i]++] = b->ip + b->last_size;
    if (b->kind == IPT_INSN_RET && depths[i])
        returns_to[i] = calls[i][--depths[i]];
}

/* Where trace is missing, it is known of user functions whose they are. */
static void flow(const threads_who *who, const ipt_block *b, void *context)
{
    const uint64_t in = b->ip - USER_AT;
    (void) context;
    unsure += !who->sure;
    if (is_cut) {
        seen++;
        if (in >= 64 && in < 256 && who->sure && who->tid != 9 + in / 64)
            mixed++;
        return;
    }
    if (seen == wanted || want_ips[seen] != b->ip) {
        mixed++;
        return;
    }
    if (want_tids[seen++] != who->tid && who->sure) mixed++;
    if (who->tid >= 10 && who->tid < 10 + THREADS)
        follow_stack(who->tid - 10, b);
}

/* A thread goes back to a user's code that stands for a guest's. */
static uint8_t enters_guest(const task *k)
{
    return with_guest && k->tid == 11 && k->depth
        && !(k->stack[k->depth - 1] >> 63)
        && (k->ip == KERNEL_AT + ENTRY + 8 || k->ip == KERNEL_AT + IRQ + 15);
}

static void happens(uint8_t type, uint64_t ip, uint64_t to)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.ip = ip;
    if (type == IPT_EVT_PAGING) {
        e.u.paging.cr3 = to;
        e.u.paging.nr = enters_guest(&tasks[now_runs]);
    } else if (type == IPT_EVT_ASYNC_BRANCH) {
        e.u.branch.to = to;
    }
    CHECK_EQ(ipt_gen_event(&gen, &e), IPT_OK);
}

static void record(task *of, int out, uint32_t other)
{
    const sw_who w = {of->tid, of->tid, 0, 1000 + gen.clock};
    CHECK_EQ(sw_switch(&t, &w, out, other, other), 0);
}

static void push(task *k, uint64_t ip)
{
    if (k->depth < 64) k->stack[k->depth++] = ip;
}

static uint64_t pop(task *k)
{
    return k->depth ? k->stack[--k->depth] : 0;
}

/* A thread is here and may be interrupted: not while it switches. */
static int may_interrupt(const task *k)
{
    const uint64_t in = k->ip - KERNEL_AT;
    return k->depth < 40
        && (!(k->ip >> 63) || (in >= SYS && in < SCHEDULE) || in >= HANDLER);
}

/* Execute an instruction of the thread that runs. */
static void execute(void)
{
    task *k = &tasks[now_runs];
    static unsigned next_runs, last_runs;
    ipt_code c;
    uint64_t to;
    uint8_t bytes[15] = {0};
    static const ipt_asid host;
    const int n = code(bytes, 15, k->tid, &host, k->ip, NULL);
    if (dice(40) == 0 && may_interrupt(k)) {
        happens(IPT_EVT_ASYNC_BRANCH, k->ip, KERNEL_AT + IRQ);
        push(k, k->ip);
        k->ip = KERNEL_AT + IRQ;
        return;
    }
    if (k->ip == KERNEL_AT + HOOK) {
        next_runs = (now_runs + 1 + dice(THREADS - 1)) % THREADS;
        record(k, 1, tasks[next_runs].tid);
    }
    if (k->ip == KERNEL_AT + SWITCH_TO) {
        last_runs = now_runs;
        k = &tasks[now_runs = next_runs];
        k->ip = KERNEL_AT + SWITCH_TO;
    }
    if (k->ip == KERNEL_AT + FINISH) record(k, 0, tasks[last_runs].tid);
    want_tids[wanted] = k->tid;
    want_ips[wanted++] = k->ip;
    gen.clock += 1 + dice(6);
    CHECK(ipt_classify(&c, bytes, (size_t) n, IPT_MODE_64, NULL) >= 0);
    to = k->ip + c.size;
    switch (c.kind) {
    case IPT_INSN_CALL: push(k, to); to += (uint64_t) c.displacement; break;
    case IPT_INSN_JMP: to += (uint64_t) c.displacement; break;
    case IPT_INSN_JCC: to += dice(2) ? (uint64_t) c.displacement : 0; break;
    case IPT_INSN_SYSCALL: push(k, to); to = KERNEL_AT + ENTRY; break;
    case IPT_INSN_RET:
    case IPT_INSN_IRET: to = pop(k); break;
    case IPT_INSN_MOV_CR3:
        happens(IPT_EVT_PAGING, k->ip,
                (uint64_t) (k->tid << 13) | (dice(2) ? 0x1000 : 0));
        break;
    default: break;
    }
    CHECK(ipt_gen_branch(&gen, c.kind, k->ip, c.size, to) >= 0);
    k->ip = to;
}

/* A thread that waits has entered the kernel and called the switch. */
static void begin_task(unsigned i)
{
    task *const k = &tasks[i];
    memset(k, 0, sizeof *k);
    k->tid = 10 + i;
    k->ip = i ? 0 : USER_AT;
    if (!i) return;
    push(k, USER_AT + 7);
    push(k, KERNEL_AT + ENTRY + 8);
    push(k, KERNEL_AT + SYS + 5);
    push(k, KERNEL_AT + SCHEDULE + 13);
}

static void begin(uint32_t flags, uint64_t bits, int knows)
{
    const threads_config config = {
        .code = code, .apply = apply_none, .flow = flow, .insn = 1,
        .switch_ip = knows ? KERNEL_AT + SWITCH_TO : 0
    };
    ipt_gen_config c;
    const sw_who first = {10, 10, 0, 900};
    wanted = seen = unsure = mixed = now_runs = 0;
    is_cut = 0;
    seed = bits + (knows ? 2 : 1);
    memset(depths, 0, sizeof depths);
    memset(returns_to, 0, sizeof returns_to);
    write_code();
    sw_size = 0;
    sw_begin(&t, &config, bits, 1);
    memset(&c, 0, sizeof c);
    c.flags = flags;
    c.psb_period = psb_period;
    c.tsc = 1000;
    c.mtc_freq = 3;
    c.cpuid_15_eax = 1;
    c.cpuid_15_ebx = 4;
    CHECK_EQ(ipt_gen_init(&gen, &c, IPT_MODE_64), IPT_OK);
    gen.out = sw_trace;
    gen.size = sizeof sw_trace;
    for (unsigned i = 0; i < THREADS; i++) begin_task(i);
    CHECK_EQ(sw_switch(&t, &first, 0, 0, 0), 0);
}

static void simulate(unsigned steps)
{
    happens(IPT_EVT_ENABLED, tasks[now_runs].ip, 0);
    while (steps-- && gen.used + 2 * IPT_GEN_ROOM < gen.size) execute();
    CHECK(ipt_gen_flush(&gen) >= 0);
    sw_size = gen.used;
}

static void run_all(void)
{
    CHECK_EQ(threads_start(&t), 0);
    CHECK_EQ(threads_run(&t), 0);
}

static const struct {
    uint32_t flags;
    uint64_t bits;
} clocks[] = {{IPT_GEN_TSC, 0x400},
              {IPT_GEN_TSC | IPT_GEN_MTC, 0x600 | 3 << 14},
              {IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC, 0x602 | 3 << 14}};

TEST(threads_change_where_they_do)
{
    /* Without MTC the first thread is one of those up to the second TSC. */
    static const size_t most[] = {2000, 0, 0};
    for (unsigned i = 0; i < 3; i++) {
        begin(clocks[i].flags, clocks[i].bits, 1);
        simulate(STEPS);
        sw_piece(&t, 0, 0, 0, sw_size, 0);
        run_all();
        CHECK(wanted > 5000);
        CHECK(t.run_count > 100);
        CHECK(seen >= wanted - 100); /* up to a packet */
        CHECK(seen <= wanted);
        CHECK_EQ(mixed, 0);
        CHECK(unsure <= most[i]);
        for (unsigned loss = 0; loss < THREADS_LOSSES; loss++)
            CHECK_EQ(t.losses[loss], loss == THREADS_UNSURE ? unsure : 0);
        threads_free(&t);
    }
}

/* Where the first packet at or after an offset begins. */
static size_t packet_at(size_t offset)
{
    static const ipt_config config;
    ipt_segment piece = {sw_trace, (size_t) sw_size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_pkt_decoder d;
    ipt_packet p;
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    CHECK(ipt_pkt_sync_forward(&d) >= 0);
    do
        CHECK(ipt_pkt_next(&d, &p) >= 0);
    while (p.offset < offset);
    return (size_t) p.offset;
}

/* Where trace is missing, switches are, too: a thread that is said to be sure is
 * the one; most are if time is known well. */
static void lose_some(uint32_t flags, uint64_t bits, unsigned n)
{
    size_t from, to;
    begin(flags, bits, 1);
    seed += n;
    simulate(8000);
    from = packet_at((size_t) (sw_size / 3 + dice(500)));
    to = packet_at((size_t) (from + sw_size / 8 + dice(1000)));
    memset(sw_trace + from, 0, to - from);
    sw_trace[to - 2] = 0x02;
    sw_trace[to - 1] = 0xff; /* no packet */
    is_cut = 1;
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    run_all();
    CHECK(seen > wanted / 2);
    CHECK_EQ(mixed, 0);
    CHECK(unsure < (flags & IPT_GEN_CYC ? wanted / 4 : wanted));
    threads_free(&t);
}

TEST(after_a_loss)
{
    for (unsigned n = 0; n < 8; n++) {
        lose_some(IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC, 0x602 | 3 << 14, n);
        lose_some(IPT_GEN_TSC, 0x400, n);
    }
}

/* Without __switch_to a thread changes at the time of the record, too early. */
TEST(where_the_symbol_is_not_known)
{
    begin(IPT_GEN_TSC | IPT_GEN_MTC, 0x600 | 3 << 14, 0);
    simulate(STEPS);
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    run_all();
    CHECK(unsure > wanted / 2);
    CHECK_EQ(t.losses[THREADS_UNSURE], unsure);
    threads_free(&t);
}

/* ---- slices ---- */

/* What is said: an instruction, or a date. */
typedef struct item {
    uint64_t at, tsc, cycles;
    uint32_t tid, guest;
    uint32_t sure, is_date;
} item;

static item items[2][2 * STEPS]; /* of the whole; of slices */
static size_t counts[2];
static unsigned into;
static uint64_t states[2]; /* where a slice begins; where it ends */

static void put_item(const item *said)
{
    if (t.muted || !CHECK(counts[into] < 2 * STEPS)) return;
    items[into][counts[into]++] = *said;
}

static void keep_flow(const threads_who *who, const ipt_block *b, void *context)
{
    const item i = {b->ip, who->tsc, 0, who->tid, who->guest, who->sure, 0};
    (void) context;
    put_item(&i);
}

static void keep_date(const threads_who *who, const dates_date *date, int own,
                      void *context)
{
    const item i = {date->offset, date->tsc, date->cycles, who->tid, who->guest,
                    (uint32_t) own, 1};
    (void) context;
    put_item(&i);
}

static void at_cut(uint64_t now, void *context)
{
    (void) context;
    states[t.muted] = now;
}

/* Decode a slice; 0: all. Loses some of the trace with `cut`, which is random. */
static int run_slice(uint32_t flags, uint64_t bits, unsigned cut, size_t slice)
{
    int status;
    begin(flags, bits, 1);
    seed += cut;
    t.config.flow = keep_flow;
    t.config.date = keep_date;
    t.config.cut = at_cut;
    simulate(STEPS);
    for (unsigned i = 0; i < cut; i++) {
        const size_t at = (size_t) (sw_size / 8 + dice((uint32_t) sw_size / 2));
        memset(sw_trace + at, 0xff, 300);
    }
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    CHECK_EQ(threads_start(&t), 0);
    CHECK_EQ(threads_cut(&t, 4096), 0);
    threads_slice(&t, slice);
    status = threads_run(&t);
    CHECK(status >= 0);
    return status;
}

/* Slice after slice, as long as one ends as the next one begins, all that is
 * said is what decoding the whole says. */
TEST(slices_are_the_whole)
{
    size_t fit = 0;
    psb_period = 100;
    for (unsigned n = 0; n < 12; n++) {
        const uint32_t flags = clocks[n % 3].flags;
        const uint64_t bits = clocks[n % 3].bits;
        const unsigned cut = n / 6 * 2;
        size_t cuts, slice, of_guest = 0;
        with_guest = n % 2;
        counts[0] = counts[1] = into = 0;
        run_slice(flags, bits, cut, 0);
        CHECK(counts[0] > 5000);
        for (size_t i = 0; i < counts[0]; i++) of_guest += items[0][i].guest;
        CHECK((of_guest > 1000) == with_guest);
        cuts = t.cut_count;
        CHECK(cuts > 1);
        threads_free(&t);
        into = 1;
        for (slice = 1; slice <= cuts + 1; slice++) {
            const size_t before = counts[1];
            const uint64_t end = states[1];
            const int status = run_slice(flags, bits, cut, slice);
            threads_free(&t);
            if (slice > 1 && states[0] != end) counts[1] = before;
            if (status || (slice > 1 && states[0] != end)) break;
            fit++;
        }
        CHECK(slice <= cuts + 1 ? counts[1] < counts[0] : counts[1] == counts[0]);
        CHECK(memcmp(items[0], items[1], counts[1] * sizeof **items) == 0);
        CHECK(!(flags & IPT_GEN_CYC) || slice == cuts + 2);
    }
    with_guest = 0;
    CHECK(fit > 80);
}

int main(void)
{
    psb_period = 1024;
    RUN(threads_change_where_they_do);
    RUN(after_a_loss);
    RUN(where_the_symbol_is_not_known);
    RUN(slices_are_the_whole);
    return test_report();
}
