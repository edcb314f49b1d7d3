/* processor.c: the trace that a processor with PT would have made of a program
 * that ptrecord recorded without: for pmu.c, which plays it.
 *
 *     processor PROGRAM RECORDED OUT CONFIG [WHAT=VALUE ...]
 *
 * PROGRAM is an ELF file whose first page is at 0x400000; RECORDED the folder
 * of ptrecord --perf-data --costs. OUT, a folder that is made, gets N.pt for
 * each processor, or with thread=1 thread.pt of the first thread. CONFIG, in
 * hex, is the attr.config of the event. What else there may be:
 *
 *     filter=FIRST,SIZE  trace only there, by address
 *     stop=FIRST,SIZE    ... ends there, late=N instructions late
 *     kernel=1           the kernel alone
 *     fup=0              PTWs never have a FUP
 *     cbr=N              what CBR says, instead of 32, which it is
 *
 * It is not made by what the tools have for that (record/machine.h): only the
 * writer of packets is the same. */
#include "ipt.h"
#include "examples/tools/common/record/specimen.h"
#include "examples/tools/common/record/timing.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_TSC ((uint64_t) 1 << 40)
#define CALL      400u /* cycles of a system call, as machine.c has them */
#define KERNEL    0xffffffff81000000u
#define CPUS      64

static uint8_t program[8192];
static struct {
    uint64_t config, first, size;
    unsigned late, cbr;
    int thread, filter, stop, kernel, fup;
} o;

/* A processor, or all of them. */
typedef struct unit {
    ipt_gen gen;
    timing time;
    uint8_t bytes[1 << 20];
    int on;
    int stopped;
    uint64_t ptws;
    unsigned after; /* the stop */
} unit;

static void fail(const char *why)
{
    fprintf(stderr, "processor: %s\n", why);
    exit(1);
}

static void ignore(void *user, int what, uint64_t tsc)
{
    (void) user;
    (void) what;
    (void) tsc;
}

static void tell(unit *u, size_t from, int status)
{
    if (status < 0)
        fail(ipt_status_name(status));
    u->gen.used =
        from + timing_pass(&u->time, u->bytes + from, u->gen.used - from,
                           u->gen.clock, ignore, NULL);
}

/* to 0: none. */
static void event(unit *u, uint8_t type, uint64_t ip, uint64_t to)
{
    const size_t from = u->gen.used;
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.ip = ip;
    if (type == IPT_EVT_PTWRITE) {
        e.u.ptwrite.payload = to;
        e.u.ptwrite.size = 8;
        e.flags = o.fup && o.config & 0x20 ? 0 : IPT_EVENT_NO_IP;
    } else if (type != IPT_EVT_ENABLED) {
        e.flags = to ? 0 : IPT_EVENT_NO_TO;
        e.u.branch.to = to;
    }
    tell(u, from, ipt_gen_event(&u->gen, &e));
}

static void start(unit *u)
{
    const unsigned threshold = o.config >> 19 & 15;
    ipt_gen_config c;

    memset(&c, 0, sizeof(c));
    c.flags = (o.config & 0x400 ? IPT_GEN_TSC : 0) |
              (o.config & 0x200 ? IPT_GEN_MTC : 0) |
              (o.config & 2 ? IPT_GEN_CYC : 0) |
              (o.config & 0x800 ? IPT_CONFIG_NO_RETCOMP : 0);
    c.psb_period = 2048u << (o.config >> 24 & 15);
    c.tsc = FIRST_TSC;
    c.cpuid_15_eax = 3;
    c.cpuid_15_ebx = 400;
    c.mtc_freq = o.config >> 14 & 15;
    c.nom_freq = 32;
    c.cbr = 32;
    memset(u, 0, sizeof(*u));
    if (ipt_gen_init(&u->gen, &c, IPT_MODE_64) < 0)
        fail("bad configuration");
    u->gen.out = u->bytes;
    u->gen.size = sizeof(u->bytes) - TIMING_ROOM;
    u->time.threshold = threshold ? 1u << (threshold - 1) : 0;
    u->time.all_cyc = o.config & 2 && threshold < 2;
    u->time.ebx = 400;
    u->time.eax = 3;
    u->time.mtc_freq = c.mtc_freq;
    u->time.tsc = FIRST_TSC;
}

static int is_traced(unit *u, uint64_t ip)
{
    const int inside = ip >= o.first && ip - o.first < o.size;

    if (o.stop && inside)
        u->after++;
    else if (u->after)
        u->after++;
    if (o.stop)
        return u->after <= o.late;
    return !o.filter || inside;
}

/* An instruction executed, and led to `to`; 0: not known. */
static void execute(unit *u, uint64_t ip, uint64_t to, uint64_t cycles)
{
    const size_t at = (size_t) (ip - 0x400000);
    ipt_code code;
    int goes_on;

    if (at >= sizeof(program) ||
        ipt_classify(&code, program + at, sizeof(program) - at, IPT_MODE_64,
                     NULL) < 0)
        fail("an instruction is not in the program");
    u->gen.clock += cycles;
    if (o.kernel && code.kind == IPT_INSN_SYSCALL) {
        event(u, IPT_EVT_ENABLED, KERNEL, 0);
        event(u, IPT_EVT_DISABLED, KERNEL, 0);
    }
    if (code.kind == IPT_INSN_SYSCALL && !u->on)
        u->gen.clock += CALL;
    if (o.kernel || !u->on)
        return;
    if (code.kind == IPT_INSN_SYSCALL) {
        event(u, IPT_EVT_DISABLED, ip, 0);
        u->gen.clock += CALL;
        u->on = 0;
        return;
    }
    if (code.kind == IPT_INSN_PTWRITE && o.config & 0x1000)
        event(u, IPT_EVT_PTWRITE, ip, SPECIMEN_PTW + ++u->ptws);
    if (!to)
        return;
    goes_on = is_traced(u, to);
    if (!goes_on) {
        event(u, IPT_EVT_DISABLED, ip, to);
        if (o.stop)
            event(u, IPT_EVT_STOP, 0, 0);
        u->stopped = o.stop;
        u->on = 0;
    } else {
        const size_t from = u->gen.used;
        tell(u, from, ipt_gen_branch(&u->gen, code.kind, ip, code.size, to));
    }
}

/* ---- what ptrecord found ---- */

static void *load(const char *folder, const char *name, size_t *size)
{
    char path[4096];
    uint8_t *p = (uint8_t *) malloc(1 << 24);
    FILE *f;

    snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
    f = fopen(path, "rb");
    if (!f || !p)
        fail(path);
    *size = fread(p, 1, 1 << 24, f);
    fclose(f);
    return p;
}

/* Instructions of a thread, from a time on. */
static void play(unit *u, const char *folder, unsigned tid, size_t first,
                 size_t n, uint64_t tsc)
{
    char name[64];
    size_t size;
    size_t i;
    uint64_t *ips;
    uint32_t *costs;

    snprintf(name, sizeof(name), "%u.u64", tid);
    ips = (uint64_t *) load(folder, name, &size);
    snprintf(name, sizeof(name), "%u.costs", tid);
    costs = (uint32_t *) load(folder, name, &size);
    u->gen.clock = tsc - FIRST_TSC;
    for (i = first; i < first + n; i++) {
        const int is_last = i + 1 >= size / 4;
        if (!u->on && !o.kernel && !u->stopped && is_traced(u, ips[i])) {
            event(u, IPT_EVT_ENABLED, ips[i], 0);
            u->on = 1;
        }
        execute(u, ips[i], is_last ? 0 : ips[i + 1], costs[i]);
    }
    if (u->on && i < size / 4) /* it lost its processor */
        event(u, IPT_EVT_ASYNC_DISABLED, ips[i], 0);
    u->on = 0;
    free(ips);
    free(costs);
}

static void put(unit *u, const char *folder, const char *name)
{
    const size_t from = u->gen.used;
    char path[4096];
    size_t i;
    FILE *f;

    tell(u, from, ipt_gen_flush(&u->gen));
    for (i = 0; i + 4 <= u->gen.used; i++)
        if (memcmp(u->bytes + i, "\2\3\40", 4) == 0)
            u->bytes[i + 2] = (uint8_t) o.cbr;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f || fwrite(u->bytes, 1, u->gen.used, f) != u->gen.used || fclose(f))
        fail(path);
}

static void options(char **words)
{
    o.cbr = 32;
    o.fup = 1;
    for (; *words; words++) {
        const char *value = strchr(*words, '=');
        const unsigned long n = value ? strtoul(value + 1, NULL, 0) : 0;
        if (strncmp(*words, "thread=", 7) == 0)
            o.thread = (int) n;
        else if (strncmp(*words, "kernel=", 7) == 0)
            o.kernel = (int) n;
        else if (strncmp(*words, "fup=", 4) == 0)
            o.fup = (int) n;
        else if (strncmp(*words, "cbr=", 4) == 0)
            o.cbr = (unsigned) n;
        else if (strncmp(*words, "late=", 5) == 0)
            o.late = (unsigned) n;
        else if (sscanf(*words, "filter=%" SCNx64 ",%" SCNx64, &o.first,
                        &o.size) == 2)
            o.filter = 1;
        else if (sscanf(*words, "stop=%" SCNx64 ",%" SCNx64, &o.first,
                        &o.size) == 2)
            o.stop = 1;
        else
            fail(*words);
    }
}

int main(int argc, char **argv)
{
    static unit units[CPUS];
    char name[64];
    char line[256];
    unsigned cpus = 0;
    unsigned only = 0;
    unsigned cpu;
    char *text;
    char *at;
    size_t size;

    if (argc < 5 || mkdir(argv[3], 0777))
        fail("usage: see processor.c");
    o.config = strtoull(argv[4], NULL, 16);
    options(argv + 5);
    text = (char *) load("", argv[1], &size);
    memcpy(program, text, size < sizeof(program) ? size : sizeof(program));
    text = (char *) load(argv[2], "log", &size);
    text[size] = 0;
    for (cpu = 0; cpu < CPUS; cpu++)
        start(&units[cpu]);
    for (at = text; sscanf(at, "%255[^\n]", line) == 1;
         at = strchr(at, '\n') + 1) {
        unsigned tid;
        size_t first, n;
        uint64_t tsc;
        if (sscanf(line, "run %u %*u %u %zu %zu %" SCNu64, &cpu, &tid, &first,
                   &n, &tsc) != 5 ||
            cpu >= CPUS)
            continue;
        only = only ? only : tid;
        if (o.thread && tid != only)
            continue;
        cpu = o.thread ? 0 : cpu;
        cpus = cpu < cpus ? cpus : cpu + 1;
        play(&units[cpu], argv[2], tid, first, n, tsc);
    }
    for (cpu = 0; cpu < cpus; cpu++) {
        snprintf(name, sizeof(name), o.thread ? "thread.pt" : "%u.pt", cpu);
        put(&units[cpu], argv[3], name);
    }
    return 0;
}
