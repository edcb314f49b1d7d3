/* threads.c: fuzz whose flow trace is (examples/tools/common/flow/threads.h,
 * align.h, window.h).
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-threads fuzz/threads.c
 *     ./fuzz-threads corpus fuzz/corpus/threads fuzz/regress/threads
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-threads fuzz/threads.c
 * Replay: cc -g -I. -o fuzz-threads fuzz/threads.c fuzz/standalone.c
 *
 * An input:
 *
 *     0       1: never_mark; 2: instructions; 4: code after its record only;
 *             8: a wish to end; 16: no CYC; 32: no TSC; 64: some are not wanted;
 *             128: it is a recording of threads
 *     1       how many records there are
 *     2 on    these, eight bytes each, then the trace
 *
 * What is checked: no record is applied twice; flow is of queues and threads
 * that there are; what is unsure is counted, and with never_mark nothing is. */
#include "tests/switches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORDS 64u

static struct {
    uint8_t flags;
    uint8_t applied[RECORDS];
    uint8_t mapped;
    uint64_t unsure;
    uint64_t count;
    unsigned turns;
    threads *t;
} run_of;

static void want(int fact, const char *what)
{
    if (fact) return;
    fprintf(stderr, "threads: %s\n", what);
    abort();
}

static int code(uint8_t *buffer, size_t size, uint32_t pid,
                const ipt_asid *asid, uint64_t ip, void *context)
{
    (void) asid;
    want(context == &run_of, "another context");
    if (run_of.flags & 4 && !(run_of.mapped >> (pid & 7) & 1))
        return IPT_NEED_PAGE;
    sw_code(buffer, size, pid, ip);
    for (size_t i = 0; i < size && pid & 4; i++) {
        const unsigned at = (unsigned) (ip + i) & 63;
        if (at >= 57 && at < 62) /* mov $9,%eax: mmap */
            buffer[i] = at == 57 ? 0xb8 : at == 58 ? 9 : 0;
    }
    return (int) size;
}

/* The records that change code have their number as the low bits of time. */
static void apply_one(const perfdata_record *r, void *context)
{
    const unsigned n = (unsigned) r->sample.time & (RECORDS - 1);
    (void) context;
    want(!run_of.applied[n], "a record is applied twice");
    run_of.applied[n] = 1;
    if (r->type == PERFDATA_FORK)
        run_of.mapped |= (uint8_t) (1u << (r->u.task.pid & 7));
    if (r->type == PERFDATA_COMM)
        run_of.mapped |= (uint8_t) (1u << (r->u.comm.pid & 7));
    threads_changed(run_of.t, 0, UINT64_MAX);
}

static void flow(const threads_who *who, const ipt_block *block, void *context)
{
    (void) context;
    want(block->count > 0, "no instruction");
    want(who->sure <= 1, "how sure?");
    want(who->sure || !(run_of.flags & 1), "marked with never_mark");
    want(who->queue < run_of.t->queues.queue_count, "a queue too many");
    want(who->tid == 0 || who->tid <= 16, "a thread too many");
    run_of.count += block->count;
    if (!who->sure) run_of.unsure += block->count;
}

static void event(const threads_who *who, const ipt_event *e, void *context)
{
    (void) context;
    want(who->queue < run_of.t->queues.queue_count, "a queue too many");
    want(e->type != 0, "an event of no type");
}

static void lost(const threads_who *who, threads_loss loss, int status,
                 const ipt_where *at, void *context)
{
    (void) context;
    want(status <= 0 && at != NULL, "lost, but not why or where");
    want(who->queue == UINT32_MAX
             || who->queue < run_of.t->queues.queue_count,
         "a queue too many");
    want(threads_text(loss)[0] != 0, "a loss without a name");
}

static void date(const threads_who *who, const dates_date *at, int own,
                 void *context)
{
    (void) context;
    want(at->offset < UINT64_MAX, "a date without a packet");
    (void) who;
    (void) own;
}

static int progress(uint64_t done, uint64_t size, void *context)
{
    (void) context;
    want(done <= size, "more than there is");
    return run_of.flags & 8 && ++run_of.turns > 2;
}

static int wanted(uint32_t pid, uint32_t tid, void *context)
{
    (void) context;
    (void) pid;
    return !(run_of.flags & 64) || tid & 1;
}

static void add(threads *t, const uint8_t *a, unsigned n)
{
    const sw_who who = {a[1] & 7, a[1] >> 4, a[2] & 3,
                        ((uint64_t) a[3] << 8 | a[4]) << 6 | n};
    const uint32_t lost_word[4] = {0, 0, a[5], 0};
    const uint32_t comm_word[4] = {who.pid, who.tid, 'x', 0};
    const uint32_t task[2] = {who.pid, who.tid};
    const uint64_t from = sw_size * a[5] / 256;
    const uint64_t to = sw_size * a[6] / 255;
    switch (a[0] & 7) {
    case 0: sw_switch(t, &who, 1, a[5] & 7, a[5] >> 4); break;
    case 1: sw_switch(t, &who, a[7] & 1, a[5] & 7, a[5] >> 4); break;
    case 2: sw_fork(t, &who, a[5] & 7, a[5] >> 4); break;
    case 3:
        if (a[7] & 2)
            sw_map(t, &who);
        else if (a[7] & 1)
            sw_exec(t, &who);
        else
            sw_record(t, PERFDATA_COMM, 0, &who, comm_word, 4);
        break;
    case 4:
        if (a[7] & 0x80) {
            t->pt[PERFDATA_PT_HAVE_SCHED_SWITCH] = 1;
            sw_sched(t, &who, 316, a[5] & 7);
        } else {
            sw_aux(t, &who, from, a[6], a[7]);
        }
        break;
    case 5: sw_record(t, PERFDATA_ITRACE_START, 0, &who, task, 2); break;
    case 6:
        if (a[7] & 1)
            sw_record(t, PERFDATA_LOST, 0, &who, lost_word, 4);
        else
            sw_own_switch(t, &who, a[7] & 2);
        break;
    default:
        sw_piece(t, a[7] & 1 ? UINT32_MAX : who.cpu, who.tid, from,
                 to > from ? to - from : 0, a[7] & 2 ? a[3] : from);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const threads_config config = {
        .code = code, .apply = apply_one, .flow = flow, .event = event,
        .date = date, .lost = lost, .progress = progress, .wanted = wanted,
        .context = &run_of
    };
    threads_config own = config;
    threads t;
    size_t count;
    int status;
    if (size < 2) return 0;
    memset(&run_of, 0, sizeof run_of);
    run_of.flags = data[0];
    run_of.t = &t;
    own.never_mark = data[0] & 1;
    own.insn = data[0] >> 1 & 1;
    count = data[1] % RECORDS;
    if (count > (size - 2) / 8) count = (size - 2) / 8;
    sw_size = size - 2 - 8 * count;
    if (sw_size > SWITCHES_TRACE) sw_size = SWITCHES_TRACE;
    memcpy(sw_trace, data + 2 + 8 * count, sw_size);
    sw_begin(&t, &own, 0x200u | (data[0] & 16 ? 0 : 2)
                           | (data[0] & 32 ? 0 : 0x400),
             !(data[0] & 128));
    for (size_t i = 0; i < count; i++)
        add(&t, data + 2 + 8 * i, (unsigned) i);
    want(threads_start(&t) == 0, "no start");
    status = threads_run(&t);
    want(status == 0 || (status == 1 && run_of.flags & 8), "no end");
    want(run_of.count == t.instructions, "instructions that nobody saw");
    want(run_of.unsure == t.losses[THREADS_UNSURE], "marks that do not add up");
    threads_free(&t);
    return 0;
}
