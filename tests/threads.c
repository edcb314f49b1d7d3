/* threads.c: whose flow trace is (common/flow/threads.h), records and
 * trace being made by hand. */
#include "switches.h"
#include "test.h"

static threads t;
static uint32_t tids[200]; /* of each instruction of a stretch's end */
static uint64_t ips[200];
static uint8_t sures[200];
static unsigned applied_by[200]; /* records, by then */
static uint64_t of_run[200];
static uint64_t times[200];
static uint64_t event_times[200]; /* of where tracing begins */
static size_t event_count;
static size_t ends;
static uint64_t lost_count[THREADS_LOSSES];
static unsigned applied;
static int late; /* code comes with records */
static uint32_t returns; /* in these 64 bytes a signal handler does */
static uint32_t maps;    /* these end with the system call mmap */
static int ends_early;
static uint32_t date_tids[200];
static uint64_t dates_said[200];
static size_t date_count;

/* A byte of 64 that end with mov $NUMBER,%eax; syscall */
static void call_with(uint8_t *to, uint64_t at, uint8_t number)
{
    if (at >= 57 && at < 62) *to = at == 57 ? 0xb8 : at == 58 ? number : 0;
}

static int code(uint8_t *buffer, size_t size, uint32_t pid,
                const ipt_asid *asid, uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    if (late && !applied) return IPT_NEED_PAGE;
    for (size_t i = 0; i < size; i++) {
        sw_code(buffer + i, 1, pid, ip + i);
        if (returns) call_with(buffer + i, ip + i - returns, 15);
        if (maps) call_with(buffer + i, ip + i - maps, 9);
    }
    return (int) size;
}

static void apply_one(const perfdata_record *r, void *context)
{
    (void) r;
    (void) context;
    applied++;
}

/* Stretches end with a SYSCALL. */
static void flow(const threads_who *who, const ipt_block *block, void *context)
{
    (void) context;
    if ((block->end_ip & 63) != 62 || ends == 200 || t.muted) return;
    tids[ends] = who->tid;
    applied_by[ends] = applied;
    of_run[ends] = who->run;
    times[ends] = who->tsc;
    ips[ends] = block->end_ip & ~(uint64_t) 63;
    sures[ends++] = who->sure;
}

static void event(const threads_who *who, const ipt_event *e, void *context)
{
    (void) context;
    if (e->type == IPT_EVT_ENABLED && event_count < 200)
        event_times[event_count++] = who->tsc;
}

static void date(const threads_who *who, const dates_date *d, int own,
                 void *context)
{
    (void) own;
    (void) context;
    if (date_count == 200) return;
    date_tids[date_count] = who->tid;
    dates_said[date_count++] = d->tsc;
}

/* One question of threads_off: the run that it comes to, or 0 for nothing. */
static uint64_t off(uint64_t before, uint64_t after, uint64_t *from,
                    uint64_t *to)
{
    uint64_t run = before;
    *from = *to = 1;
    return threads_off(&t, &run, after, from, to) ? run ? run : 99 : 0;
}

static void lost(const threads_who *who, threads_loss loss, int status,
                 const ipt_where *at, void *context)
{
    (void) who;
    (void) status;
    (void) at;
    (void) context;
    lost_count[loss]++;
}

static int progress(uint64_t done, uint64_t size, void *context)
{
    (void) context;
    CHECK(done <= size);
    return ends_early;
}

static void emit(const void *bytes, size_t size)
{
    memcpy(sw_trace + sw_size, bytes, size);
    sw_size += size;
}

static void psb(uint64_t tsc)
{
    uint8_t bytes[28] = {0};
    for (int i = 0; i < 16; i++) bytes[i] = i & 1 ? 0x82 : 0x02;
    bytes[16] = 0x19;
    for (int i = 0; i < 7; i++) bytes[17 + i] = (uint8_t) (tsc >> 8 * i);
    memcpy(bytes + 24, "\x99\x01\x02\x23", 4); // MODE.Exec, PSBEND
    emit(bytes, sizeof bytes);
}

/* From an address to the SYSCALL that ends its 64 bytes. */
static void stretch(uint32_t ip)
{
    const uint8_t bytes[3] = {0x31, (uint8_t) ip, (uint8_t) (ip >> 8)};
    emit(bytes, 3);          // TIP.PGE
    emit("\x06\x01", 2);     // TNT: taken; TIP.PGD
}

static void begin_as(uint64_t bits, uint8_t never_mark, int by_cpu)
{
    static const threads_config config = {
        .code = code, .apply = apply_one, .flow = flow, .event = event,
        .date = date, .lost = lost, .progress = progress
    };
    threads_config own = config;
    own.never_mark = never_mark;
    sw_size = 0;
    ends = applied = 0;
    date_count = event_count = 0;
    late = ends_early = 0;
    returns = maps = 0;
    memset(lost_count, 0, sizeof lost_count);
    sw_begin(&t, &own, bits, by_cpu);
}

static void begin(uint64_t bits, uint8_t never_mark)
{
    begin_as(bits, never_mark, 1);
}

static int run(void)
{
    int status;
    CHECK_EQ(threads_start(&t), 0);
    status = threads_run(&t);
    return status;
}

static sw_who who(uint32_t tid, uint32_t cpu, uint64_t time)
{
    const sw_who w = {tid & ~1u, tid, cpu, time};
    return w;
}

static void switch_to(uint32_t from, uint32_t to, uint32_t cpu, uint64_t time)
{
    sw_who w = who(from, cpu, time);
    sw_switch(&t, &w, 1, to & ~1u, to);
    w = who(to, cpu, time + 2);
    sw_switch(&t, &w, 0, from & ~1u, from);
}

/* Flow of a thread, all of it between two times. */
static void known(uint32_t before, uint32_t tid, uint64_t tsc, uint32_t ip)
{
    switch_to(before, tid, 0, tsc);
    psb(tsc + 10);
    stretch(ip);
    psb(tsc + 20);
}

/* Three threads that are known, then all in one interval: 2, 4, 6, 2, 4, three
 * stretches each; then 4 again. */
static void three(int alike)
{
    static const uint32_t turn[] = {2, 4, 6, 2, 4};
    uint32_t next[8] = {0, 0, 0x1000, 0, 0x2000, 0, 0x3000, 0};
    uint32_t before = 0;
    for (uint32_t tid = 2; tid < 8; tid += 2) {
        known(before, tid, 100 * tid, alike ? 0x4000 : next[tid]);
        next[tid] += 64;
        before = tid;
    }
    psb(1000);
    for (unsigned i = 0; i < 5; i++) {
        switch_to(before, turn[i], 0, 2000 + 1000 * i);
        before = turn[i];
        for (unsigned n = 0; n < 3; n++) {
            stretch(alike ? 0x4000 : next[before]);
            next[before] += 64;
        }
    }
    psb(9000);
    stretch(alike ? 0x4000 : next[4]);
    sw_piece(&t, 0, 0, 0, sw_size, 0);
}

TEST(by_where_they_go_on)
{
    static const uint32_t want[] = {2, 4, 6, 2, 2, 2, 4, 4, 4, 6,
                                    6, 6, 2, 2, 2, 4, 4, 4, 4};
    begin(0x400, 0);
    three(0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 19);
    for (size_t i = 0; i < ends; i++) {
        CHECK_EQ(tids[i], want[i]);
        CHECK(sures[i]);
    }
    threads_free(&t);
}

/* As above, but a tracepoint says it, which does not know processes. */
TEST(switches_by_a_tracepoint)
{
    for (int other = 0; other < 2; other++) {
        sw_who w = who(3, 0, 900);
        perfdata_record r;
        begin(0x400, 0);
        memset(&r, 0, sizeof r);
        r.type = PERFDATA_AUXTRACE_INFO;
        r.u.info.kind = 1;
        r.u.info.filter = "";
        memcpy(r.u.info.word, t.pt, sizeof t.pt);
        r.u.info.word[PERFDATA_PT_HAVE_SCHED_SWITCH] = 1;
        CHECK_EQ(threads_add(&t, &r), 0);
        w.tid = 2;
        CHECK_EQ(sw_fork(&t, &w, 2, 3), 0);
        CHECK_EQ(sw_sched(&t, &w, 316 + (uint32_t) other, 3), 0);
        w = who(3, 0, 2900);
        CHECK_EQ(sw_sched(&t, &w, 316, 2), 0);
        psb(1000);
        stretch(0x1000);
        psb(2000);
        stretch(0x1040);
        psb(3000);
        stretch(0x2000);
        psb(4000);
        sw_piece(&t, 0, 0, 0, sw_size, 0);
        CHECK_EQ(run(), 0);
        CHECK_EQ(ends, 3);
        CHECK_EQ(tids[0], 3);
        CHECK_EQ(tids[1], 3);
        CHECK_EQ(tids[2], 2);
        CHECK_EQ(find_thread(&t, 3)->pid, 2);
        CHECK_EQ(t.run_count, other ? 2 : 3);
        threads_free(&t);
    }
}

TEST(what_cannot_be_told)
{
    begin(0x400, 0);
    three(1);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 19);
    CHECK(sures[0]);
    CHECK(sures[1]);
    CHECK(sures[2]); // by time
    CHECK(!sures[9]);
    CHECK(sures[18]);
    CHECK_EQ(tids[18], 4);
    CHECK(t.losses[THREADS_UNSURE] > 0);
    threads_free(&t);
    begin(0x400, 1);
    three(1);
    CHECK_EQ(run(), 0);
    for (size_t i = 0; i < ends; i++) CHECK(sures[i]);
    CHECK_EQ(t.losses[THREADS_UNSURE], 0);
    threads_free(&t);
}

/* From when to when a thread had no processor; only the end is known of one that
 * had none before, and nothing of one that is there from the beginning. */
TEST(off_the_processors)
{
    uint64_t from, to;
    begin(0x400, 0);
    switch_to(2, 4, 0, 1000);
    switch_to(4, 6, 0, 2000);
    switch_to(6, 4, 0, 3000);
    switch_to(4, 6, 0, 4000);
    switch_to(6, 4, 0, 5000);
    switch_to(4, 0, 0, 6000);
    switch_to(0, 6, 0, 7000);
    switch_to(6, 0, 0, 7500);
    psb(900);
    stretch(0x1000);
    psb(1100);
    stretch(0x2000);
    psb(9000);
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(off(0, 1, &from, &to), 0);
    CHECK_EQ(off(0, 2, &from, &to), 2);
    CHECK_EQ(to, 1002);
    CHECK_EQ(off(2, 4, &from, &to), 4);
    CHECK_EQ(from, 2000);
    CHECK_EQ(to, 3002);
    CHECK_EQ(off(2, 6, &from, &to), 4);
    CHECK_EQ(from, 2000);
    CHECK_EQ(to, 3002);
    CHECK_EQ(off(4, 6, &from, &to), 6);
    CHECK_EQ(from, 4000);
    CHECK_EQ(to, 5002);
    CHECK_EQ(off(2, 0, &from, &to), 4);
    CHECK_EQ(from, 2000);
    CHECK_EQ(to, 3002);
    CHECK_EQ(off(6, 0, &from, &to), 99);
    CHECK_EQ(from, 6000);
    CHECK_EQ(off(9, 0, &from, &to), 0);
    CHECK_EQ(off(0, 0, &from, &to), 0);
    CHECK_EQ(off(7, 0, &from, &to), 0); /* nobody's run */
    CHECK_EQ(off(6, 2, &from, &to), 0);
    CHECK_EQ(off(99, 2, &from, &to), 0);
    threads_free(&t);
}

/* Of threads that are traced each for itself, records say when each has a
 * processor, whichever. Between two times that the trace has, a switch is where
 * tracing was off first. */
TEST(switches_of_threads)
{
    static const uint64_t runs[] = {1, 3, 3, 5, 7, 9, 9};
    const sw_who two = {2, 2, 0, 1000}, other = {4, 4, 0, 1100};
    sw_who w = two;
    uint64_t from, to;
    begin_as(0x400, 0, 0);
    sw_own_switch(&t, &other, 0);
    sw_own_switch(&t, &w, 0);
    for (unsigned i = 0; i < 4; i++) {
        w.cpu = i & 1;
        w.time = 2000 + 1000 * i;
        sw_own_switch(&t, &w, 1);
        w.cpu = i >> 1;
        w.time = 2300 + 1000 * i;
        sw_own_switch(&t, &w, 0);
    }
    psb(1010);
    stretch(0x1000);
    psb(2400);
    stretch(0x1040);
    stretch(0x1080);
    psb(2450); /* two switches are between this and the next */
    stretch(0x10c0);
    stretch(0x1100);
    psb(5500);
    stretch(0x1140);
    stretch(0x1180);
    sw_piece(&t, UINT32_MAX, 2, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 7);
    for (size_t i = 1; i < ends; i++)
        CHECK_EQ(of_run[i] - of_run[0], runs[i] - runs[0]);
    CHECK_EQ(off(0, of_run[0], &from, &to), of_run[0]);
    CHECK_EQ(to, 1000);
    CHECK_EQ(off(of_run[0], of_run[1], &from, &to), of_run[1]);
    CHECK_EQ(from, 2000);
    CHECK_EQ(to, 2300);
    CHECK_EQ(off(of_run[2], of_run[4], &from, &to), of_run[3]);
    CHECK_EQ(from, 3000);
    CHECK_EQ(to, 3300);
    threads_free(&t);
}

/* While no thread is traced, dates are of the thread that has the cpu. */
TEST(dates_of_a_cpu)
{
    static const uint64_t at[] = {900, 1010, 1500, 1600, 2500, 3000, 3500};
    static const uint32_t of[] = {0, 2, 2, 2, 4, 4, 4};
    begin(0x400, 0);
    switch_to(0, 2, 0, 1000);
    psb(at[0]);
    psb(at[1]);
    stretch(0x1000);
    psb(at[2]);
    stretch(0x1040);
    psb(at[3]);
    switch_to(2, 4, 0, 2000);
    psb(at[4]);
    stretch(0x2000);
    psb(at[5]);
    psb(at[6]);
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 3);
    CHECK_EQ(date_count, 7);
    for (size_t i = 0; i < date_count; i++) {
        CHECK_EQ(dates_said[i], at[i]);
        CHECK_EQ(date_tids[i], of[i]);
    }
    threads_free(&t);
}

TEST(migration)
{
    unsigned count[4] = {0};
    unsigned sure = 0;
    uint64_t half;
    begin(0x400, 0);
    switch_to(0, 2, 0, 900);
    switch_to(2, 4, 0, 2000);
    switch_to(4, 2, 0, 3000);
    switch_to(0, 6, 1, 900);
    switch_to(6, 4, 1, 4000);
    psb(1000);
    stretch(0x1000);
    stretch(0x1040);
    stretch(0x2000);
    stretch(0x2040);
    stretch(0x1080);
    psb(9000);
    stretch(0x10c0);
    half = sw_size;
    sw_piece(&t, 0, 0, 0, half, 0);
    psb(1000);
    stretch(0x3000);
    stretch(0x3040);
    stretch(0x2080);
    stretch(0x20c0);
    psb(9000);
    stretch(0x2100);
    sw_piece(&t, 1, 0, half, sw_size - half, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 11);
    for (size_t i = 0; i < ends; i++) {
        count[tids[i] / 2 & 3]++;
        sure += sures[i];
    }
    CHECK_EQ(count[1], 4);
    CHECK_EQ(count[2], 5);
    CHECK_EQ(count[3], 2);
    CHECK(sure >= 9);
    threads_free(&t);
}

/* Two threads change places, twice, while nothing gives the time: where each
 * goes on depends on where it stopped on the other cpu. Each stops in few
 * places, and that is enough, though neither cpu is known before the other. */
TEST(changing_places)
{
    unsigned count[3] = {0};
    uint64_t half;
    begin(0x400, 0);
    switch_to(0, 2, 0, 900);
    switch_to(2, 4, 0, 2500);
    switch_to(4, 2, 0, 5000);
    switch_to(0, 4, 1, 900);
    switch_to(4, 2, 1, 3000);
    switch_to(2, 4, 1, 5500);
    psb(1000);
    stretch(0x1000);
    psb(2000);
    for (uint32_t i = 1; i < 3; i++) stretch(0x1000 + 64 * i);
    for (uint32_t i = 3; i < 6; i++) stretch(0x2000 + 64 * i);
    for (uint32_t i = 6; i < 9; i++) stretch(0x1000 + 64 * i);
    half = sw_size;
    sw_piece(&t, 0, 0, 0, half, 0);
    psb(1000);
    stretch(0x2000);
    psb(2000);
    for (uint32_t i = 1; i < 3; i++) stretch(0x2000 + 64 * i);
    for (uint32_t i = 3; i < 6; i++) stretch(0x1000 + 64 * i);
    for (uint32_t i = 6; i < 9; i++) stretch(0x2000 + 64 * i);
    sw_piece(&t, 1, 0, half, sw_size - half, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 18);
    for (size_t i = 0; i < ends; i++) {
        CHECK(sures[i]);
        count[tids[i] / 2 & 3]++;
    }
    CHECK_EQ(count[1], 9);
    CHECK_EQ(count[2], 9);
    threads_free(&t);
}

/* A signal found a thread where another one waits. Its handler returns on one
 * cpu, and who goes on there on the other? */
TEST(a_handler_returns_elsewhere)
{
    uint64_t half;
    begin(0x400, 0);
    sw_events->flags |= PERFDATA_ATTR_ENABLE_ON_EXEC;
    returns = 0x5040;
    known(0, 4, 400, 0x1000);
    known(4, 2, 500, 0x1000);
    known(2, 6, 600, 0x6000);
    known(6, 2, 700, 0x5000);
    switch_to(2, 6, 0, 2000);
    switch_to(6, 2, 0, 4000);
    switch_to(2, 4, 0, 5000);
    switch_to(0, 2, 1, 2500);
    switch_to(2, 0, 1, 3500);
    psb(1000);
    stretch(0x6040);
    stretch(0x1040);
    half = sw_size;
    sw_piece(&t, 0, 0, 0, half, 0);
    psb(1000);
    stretch(0x5040);
    sw_piece(&t, 1, 0, half, sw_size - half, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 7);
    for (size_t i = 0; i < ends; i++) CHECK_EQ(sures[i], ips[i] != 0x1040);
    threads_free(&t);
}

/* Two cpus, and a thread that left the one, nobody knows where exactly, for the
 * other. There a signal comes, to the thread before it or to it. */
TEST(a_signal_before_a_thread_that_may_be_anywhere)
{
    uint64_t half;
    begin(0x400, 0);
    switch_to(0, 4, 0, 900);
    switch_to(4, 6, 0, 2000);
    switch_to(0, 2, 1, 900);
    switch_to(2, 4, 1, 4000);
    switch_to(4, 2, 1, 5000);
    switch_to(2, 4, 1, 6000);
    psb(1000);
    for (uint32_t i = 0; i < 5; i++) stretch(0x1000 + 64 * i);
    stretch(0x3000);
    psb(9000);
    half = sw_size;
    sw_piece(&t, 0, 0, 0, half, 0);
    psb(1000);
    stretch(0x2000);
    psb(1500);
    stretch(0x2040);
    stretch(0x5000);
    psb(9000);
    sw_piece(&t, 1, 0, half, sw_size - half, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 9);
    for (size_t i = 0; i < ends; i++)
        if (ips[i] == 0x5000) CHECK(!sures[i]);
    threads_free(&t);
}

/* One thread goes on where it did not stop, as after a signal; another, whose
 * code does not fit, may have the cpu, and nothing but a thread of its process
 * is to come. */
static void other_code(uint32_t pid)
{
    const sw_who parent = {pid, pid, 0, 8000};
    const sw_who w = {2, 2, 0, 2000};
    begin(0x400, 0);
    known(0, 2, 900, 0x1000);
    sw_switch(&t, &w, 1, pid, pid);
    psb(1900);
    stretch(0x1040);
    stretch(0x3000);
    stretch(0x3040);
    sw_fork(&t, &parent, pid, 99);
    psb(9000);
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 4);
    for (size_t i = 0; i < ends; i++) {
        CHECK_EQ(tids[i], 2);
        CHECK(sures[i]);
    }
    CHECK_EQ(t.losses[THREADS_ERROR], 0);
    threads_free(&t);
}

TEST(code_that_does_not_fit)
{
    other_code(7); /* no conditional branch */
    other_code(8); /* the kernel is entered by RET */
}

/* Trace of notnt: up to each branch, and from the next address on. */
TEST(trace_without_tnt)
{
    begin((uint64_t) 1 << 55, 0);
    psb(0);
    for (unsigned i = 0; i < 5; i++) {
        stretch(0x1000 + 64 * i);
        sw_size -= 2;
        emit("\x01", 1); // TIP.PGD
    }
    sw_piece(&t, UINT32_MAX, 6, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(t.instructions, 5 * 33);
    CHECK_EQ(t.losses[THREADS_NO_TNT], 5);
    CHECK_EQ(t.losses[THREADS_ERROR], 0);
    threads_free(&t);
}

TEST(queue_of_a_thread)
{
    begin(0, 0);
    psb(0);
    for (unsigned i = 0; i < 5; i++) stretch(0x1000 + 64 * i);
    sw_piece(&t, UINT32_MAX, 6, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 5);
    for (size_t i = 0; i < ends; i++) {
        CHECK_EQ(tids[i], 6);
        CHECK(sures[i]);
    }
    threads_free(&t);
}

/* Times of a thread do not go back, also not on another cpu; as they are in the
 * trace with raw_times. */
static void times_that_go_back(uint8_t raw)
{
    static const uint64_t at[] = {1000, 900, 1100, 1050};
    uint64_t last = 0, half;
    begin(0x400, 0);
    t.config.raw_times = raw;
    switch_to(0, 2, 0, 500);
    switch_to(2, 0, 0, 1080);
    switch_to(0, 2, 1, 1085);
    for (unsigned i = 0; i < 3; i++) {
        psb(at[i]);
        stretch(0x1000 + 64 * i);
    }
    half = sw_size;
    psb(at[3]);
    stretch(0x10c0);
    sw_piece(&t, 0, 0, 0, half, 0);
    sw_piece(&t, 1, 0, half, sw_size - half, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 4);
    CHECK_EQ(event_count, 4);
    for (size_t i = 0; i < ends; i++) {
        if (raw || at[i] > last) last = at[i];
        CHECK_EQ(times[i], last);
        CHECK_EQ(event_times[i], last);
    }
    threads_free(&t);
}

TEST(times_of_a_thread)
{
    times_that_go_back(0);
    times_that_go_back(1);
}

#define PSBS  160u
#define LATER 13000u

static uint64_t states[8];
static size_t state_count;

static void cut(uint64_t says, void *context)
{
    (void) context;
    if (state_count < 8) states[state_count++] = says;
}

static void tsc(uint32_t ticks)
{
    uint8_t bytes[8] = {0x19};
    for (int i = 0; i < 4; i++) bytes[1 + i] = (uint8_t) (ticks >> 8 * i);
    emit(bytes, sizeof bytes);
}

/* Thread 2, then 4, where a slice ends, and 2 for the rest. For an event of 2 time may
 * have gone far on, and back. */
static void slices_begin(int goes_back)
{
    begin(0x400, 0);
    t.config.cut = cut;
    state_count = 0;
    switch_to(0, 2, 0, 500);
    switch_to(2, 4, 0, 10050);
    switch_to(4, 2, 0, 12050);
    for (uint32_t now = 1000; now < 1000 + 100 * PSBS; now += 100) {
        psb(now);
        emit("\x31\0\x10", 3); // as stretch
        if (now == 9000 && goes_back) {
            tsc(now + 1);
            tsc(LATER);
            emit("\x02\x12\0\0\0\0", 6); // PTW
            tsc(now + 2);
        }
        emit("\x06\x01", 2);
        tsc(now + 20);
    }
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    CHECK_EQ(threads_start(&t), 0);
}

/* Where states are one at all cuts, times are those of decoding the whole. */
static void slices_of_times(int goes_back)
{
    uint64_t whole[PSBS];
    int same = 1;
    slices_begin(goes_back);
    CHECK_EQ(threads_run(&t), 0);
    CHECK_EQ(ends, PSBS);
    CHECK_EQ(tids[105], 4);
    CHECK_EQ(tids[115], 2);
    CHECK_EQ(times[115], goes_back ? LATER : 12500);
    memcpy(whole, times, sizeof whole);
    threads_free(&t);
    slices_begin(goes_back);
    CHECK_EQ(threads_cut(&t, 1), 0);
    CHECK(t.cut_count > 0);
    CHECK(t.cuts[0] > 10050);
    CHECK(t.cuts[0] < 12050);
    for (size_t i = 1; i <= t.cut_count + 1; i++) {
        threads_slice(&t, i);
        CHECK_EQ(threads_run(&t), 0);
        t.muted = 0;
    }
    CHECK_EQ(state_count, 2 * t.cut_count);
    for (size_t i = 0; i < state_count; i += 2) same &= states[i] == states[i + 1];
    CHECK_EQ(ends, PSBS);
    CHECK_EQ(same, !memcmp(times, whole, sizeof whole));
    CHECK_EQ(same, !goes_back);
    threads_free(&t);
}

TEST(slices_of_a_thread)
{
    slices_of_times(0);
    slices_of_times(1);
}

TEST(code_that_comes_later)
{
    sw_who parent = {2, 2, 0, 1};
    begin(0, 0);
    late = 1;
    sw_fork(&t, &parent, 6, 6);
    psb(0);
    for (unsigned i = 0; i < 5; i++) stretch(0x1000 + 64 * i);
    sw_piece(&t, UINT32_MAX, 6, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(applied, 1);
    CHECK_EQ(ends, 5);
    CHECK_EQ(t.losses[THREADS_NO_CODE], 0);
    threads_free(&t);
}

static void map_at(uint32_t tid, uint64_t time)
{
    const sw_who w = who(tid, 0, time);
    sw_map(&t, &w);
}

/* Between two times a thread calls what makes mappings four times, of which two
 * have a record: it is that late when it comes to what is mapped. Others have
 * time until then. What an exec maps, no call has mapped. */
static void mappings(uint32_t cpu)
{
    static const uint32_t at[] = {0x4000, 0x1000, 0x1040, 0x1080, 0x1040,
                                  0x1080, 0x4000, 0x1040, 0x1080, 0x4040,
                                  0x1040, 0x1080, 0x4080, 0x4000};
    static const unsigned want[] = {0, 0, 0, 0, 0, 0, 2, 2, 2, 3, 3, 3, 3, 7};
    const sw_who w = {6, 6, 0, 900}, exec = {6, 6, 0, 8000};
    begin(0x400, 0);
    maps = 0x1040;
    if (cpu == 0) sw_switch(&t, &w, 0, 0, 0);
    map_at(8, 1900);
    map_at(6, 2000);
    map_at(6, 3000);
    sw_exec(&t, &exec);
    map_at(6, 8000);
    map_at(8, 9500);
    map_at(6, 9600);
    psb(1000);
    for (unsigned i = 0; i < 13; i++) stretch(at[i]);
    psb(9000);
    psb(9700);
    stretch(at[13]);
    sw_piece(&t, cpu, 6, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 14);
    CHECK_EQ(applied, 7);
    for (size_t i = 0; i < ends; i++) {
        CHECK_EQ(ips[i], at[i]);
        CHECK_EQ(applied_by[i], want[i]);
    }
    CHECK_EQ(t.losses[THREADS_NO_CODE] + t.losses[THREADS_ERROR], 0);
    threads_free(&t);
}

TEST(mappings_between_two_times)
{
    mappings(UINT32_MAX);
    mappings(0);
}

TEST(losses)
{
    const uint32_t word[4] = {0, 0, 7, 0};
    sw_who w = who(2, 0, 1);
    uint64_t half;
    begin(0x400, 0);
    sw_record(&t, PERFDATA_ITRACE_START, 0, &w, (const uint32_t[]){2, 2}, 2);
    sw_record(&t, PERFDATA_LOST, 0, &w, word, 4);
    psb(1000);
    stretch(0x1000);
    half = sw_size;
    sw_aux(&t, &w, 0, half, PERFDATA_AUX_TRUNCATED);
    sw_piece(&t, 0, 0, 0, half, 0);
    psb(2000);
    stretch(0x1040);
    sw_piece(&t, 0, 0, half, sw_size - half, half);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 2);
    CHECK_EQ(t.losses[THREADS_SIDEBAND], 7);
    CHECK_EQ(t.losses[THREADS_TRUNCATED], 1);
    CHECK_EQ(lost_count[THREADS_TRUNCATED], 1);
    CHECK(!sures[0]);
    CHECK(!sures[1]); // perhaps there were other threads
    threads_free(&t);
}

/* A buffer was full, and what follows begins with these bytes, then a TIP.PGE
 * that has a whole IP; then a PSB. */
static void full(const char *bytes, size_t size, int cut, int is_taken,
                 int has_psb)
{
    const sw_who w = {2, 2, 0, 2000};
    uint64_t half, skipped;
    begin(0, 1);
    psb(0);
    stretch(0x1000);
    if (cut) emit("\x71\x00", 2); // TIP.PGE, of which the end is lost
    half = sw_size;
    sw_aux(&t, &w, 0, half, PERFDATA_AUX_TRUNCATED);
    sw_piece(&t, UINT32_MAX, 2, 0, half, 0);
    emit(bytes, size);
    emit("\x71\x40\x10\0\0\0\0\x06\x01", 9); // TIP.PGE 0x1040; as stretch
    skipped = sw_size - half;
    if (has_psb) psb(0);
    if (has_psb) stretch(0x1080);
    sw_piece(&t, UINT32_MAX, 2, half, sw_size - half, half);
    CHECK_EQ(run(), 0);
    CHECK_EQ(ends, 1 + is_taken + has_psb);
    CHECK_EQ(ips[1], is_taken ? 0x1040 : has_psb ? 0x1080 : 0);
    CHECK_EQ(t.losses[THREADS_TRUNCATED], 1);
    CHECK_EQ(t.losses[THREADS_ERROR], 0);
    CHECK_EQ(t.skipped, is_taken ? 0 : skipped);
    threads_free(&t);
}

TEST(after_a_full_buffer)
{
    for (int i = 0; i < 4; i++) {
        const int cut = i & 1, has_psb = i >> 1;
        memset(ips, 0, sizeof ips);
        full("", 0, cut, 1, has_psb);
        ips[1] = 0;
        full("\0\0\x02\x03\x20\0\x99\x01", 8, cut, 1, has_psb); // CBR, mode
        ips[1] = 0;
        full("\x06", 1, cut, 0, has_psb); // TNT: of what?
        ips[1] = 0;
        full("\x31\0\x20\x06\x01", 5, cut, 0, has_psb); // of an IP, 16 bits
        ips[1] = 0;
        full("\xd9", 1, cut, 0, has_psb); // no packet
    }
}

/* Each sample of an event that pauses tracing; and PT that begins so. */
TEST(paused)
{
    sw_who w = who(2, 0, 1);
    begin(0x400, 0);
    CHECK_EQ(sw_sched(&t, &w, 1, 2), 0);
    sw_events[1].aux_action = 4; /* resumes it */
    CHECK_EQ(sw_sched(&t, &w, 1, 2), 0);
    CHECK_EQ(t.losses[THREADS_PAUSED], 0);
    sw_events[1].aux_action = 2;
    CHECK_EQ(sw_sched(&t, &w, 1, 2), 0);
    CHECK_EQ(sw_sched(&t, &w, 1, 2), 0);
    sw_events[0].aux_action = 1;
    psb(1000);
    stretch(0x1000);
    sw_piece(&t, 0, 0, 0, sw_size, 0);
    CHECK_EQ(run(), 0);
    CHECK_EQ(t.losses[THREADS_PAUSED], 3);
    threads_free(&t);
}

TEST(an_end)
{
    begin(0, 0);
    ends_early = 1;
    psb(0);
    stretch(0x1000);
    sw_piece(&t, UINT32_MAX, 6, 0, sw_size, 0);
    sw_piece(&t, UINT32_MAX, 8, 0, sw_size, 0);
    CHECK_EQ(run(), 1);
    CHECK(ends < 2);
    threads_free(&t);
}

int main(void)
{
    RUN(by_where_they_go_on);
    RUN(switches_by_a_tracepoint);
    RUN(what_cannot_be_told);
    RUN(off_the_processors);
    RUN(switches_of_threads);
    RUN(dates_of_a_cpu);
    RUN(migration);
    RUN(changing_places);
    RUN(a_handler_returns_elsewhere);
    RUN(a_signal_before_a_thread_that_may_be_anywhere);
    RUN(code_that_does_not_fit);
    RUN(trace_without_tnt);
    RUN(queue_of_a_thread);
    RUN(times_of_a_thread);
    RUN(slices_of_a_thread);
    RUN(code_that_comes_later);
    RUN(mappings_between_two_times);
    RUN(losses);
    RUN(after_a_full_buffer);
    RUN(paused);
    RUN(an_end);
    return test_report();
}
