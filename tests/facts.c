/* facts.c: what a perf.data says of where and how it was recorded reaches the
 * answers of ptflow, ptprof and ptsplit. */
#define _XOPEN_SOURCE 700
#include "dice.h"
#include "examples/tools/common/perf/filters.h"
#include "recording.h"
#include "test.h"
#include "tmp.h"
#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[256];     /* where it runs: files of this test */
static char build[4096];  /* where tools are */
static char program[300]; /* the code that runs */
static char text[1 << 16];

static int forget(const char *path, const struct stat *info, int type,
                  struct FTW *walk)
{
    (void) info, (void) type, (void) walk;
    return remove(path);
}

/* Run a command, in which % is the folder of tools; its output is text. */
static const char *shell(const char *command)
{
    char line[8192];
    size_t n = 0;
    size_t size;
    FILE *f;
    for (; *command && n < sizeof line - sizeof build; command++) {
        if (*command == '%')
            n += (size_t) snprintf(line + n, sizeof line - n, "%s", build);
        else
            line[n++] = *command;
    }
    line[n] = 0;
    f = popen(line, "r");
    size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[size] = 0;
    if (f) pclose(f);
    return text;
}

/* Says where texts differ. */
static int equal(const char *got, const char *want)
{
    const int same = strcmp(got, want) == 0;
    if (!same) printf("    got  %.1500s\n    want %.1500s\n", got, want);
    return same;
}

/* ---- address filters ---- */

/* Code: at 0 two branches, at 4 a jump to 0x40, at 9 one to 0x20. */
static void begin_filters(void)
{
    static const uint8_t code[] = {0x74, 0, 0x74, 0, 0xe9, 0x37, 0, 0, 0, 0xe9,
                                   0x12, 0, 0, 0};
    clear();
    recording_program(program, code, sizeof code);
}

/* A stretch from `ip` to where the jump leaves the filter, without an address,
 * as SKL014 has it, or at the end into a range that stops tracing. */
static void leave(uint64_t ip, int stops)
{
    p_ip(P_PGE, ip);
    p_tnt("00");
    p_off();
    if (stops) p_bytes("0283");
}

static void at_cpu(uint64_t reference)
{
    const recording_trace of = {0, reference, 0, 0xffffffff, 0};
    r_trace(&of);
}

/* A thread of the program begins in its trace, with a filter. */
static recording begin_thread(const char *filter)
{
    recording r = recording_of(filter);
    begin_filters();
    r_comm(&r, 10, 10, "prog", 1, 0);
    r_map(&r, 10, 0x7000000, 0, program, 0);
    r_switch(&r, 0, 10, 1000, 0);
    p_psb(2000, 0, 0);
    return r;
}

/* One thread that leaves twice. */
static void filtered(const char *filter, const char *name)
{
    char whole[1024];
    recording r;
    snprintf(whole, sizeof whole, filter, program, program, program, program);
    r = begin_thread(whole);
    leave(0x7000180, 0);
    leave(0x7000180, 0);
    at_cpu(1000);
    r_switch(&r, 1, 10, 9000, 0);
    recording_write(&r, name);
}

#define INSNS "%/ptflow --quiet --fields tid,ip "

static const char two_stretches[] =
    "10 7000180\n10 7000182\n10 7000184\n10 7000180\n10 7000182\n10 7000184\n";

/* What ptflow, ptprof, and ptxed by ptsplit's command line make of a filter
 * in which only main is. */
TEST(filters)
{
    static const char *const same[] = {
        "filter 0x180/0x20@%s",
        "filter 384/32@%s",
        "filter main@%s",
        "filter main / 32 @%s",
        "filter 0/0x1a0@%s", /* begins where nothing of it is */
        "filter 0x180/0x20@/elsewhere,filter 0x180/0x20@%s",
        "filter 0xffffffff81000000/0x1000 filter 0x180/0x20@%s",
        "filter 0x1f0/0x10@%s,filter 0x180/0x20@%s",
        "filter 0x180/0x1000@%s tracestop 0x1c0/0x40@%s",
        "filter 0x180/0x1000@%s,stop out@%s",
        "tracestop 0x1c0/0x1@%s",
        "stop 0x1c0/0x40@%s , tracestop 0x1000/2@%s"
    };
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        filtered(same[i], "filter.data");
        if (!CHECK(equal(shell(INSNS "filter.data 2>&1"), two_stretches)))
            printf("    of: %s\n", same[i]);
        CHECK(equal(shell("%/ptprof --flat --min 0 --quiet filter.data |"
                          " awk 'NR > 1 {print $NF}'"), "main\n"));
        if (strstr(same[i], "main") || strstr(same[i], "out")) continue;
        CHECK(equal(shell("rm -rf parts; %/ptsplit -o parts --ptxed "
                          "filter.data >command; PATH=%:$PATH sh command |"
                          " grep -c '^00000000070001'"), "6\n"));
    }
}

/* Filters that cannot be read are as none, and that is said. */
TEST(other_filters)
{
    static const char *const bad[] = {
        "start 0x180@%s", "filter", "filter 0x180", "filter @%s",
        "filter 0x180/@%s", "filter 0x180/0x20@", "filter 0x180/0x20@ , x",
        "filter 0x180x/2@%s", "filters 0x180/0x20@%s", "filter nobody",
        "filter 1/1 filter 1/1 filter 1/1 filter 1/1 filter 1/1"
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        filtered(bad[i], "filter.data");
        if (!CHECK(strstr(shell("%/ptflow --quiet filter.data 2>&1 >out"),
                          "these filters are not understood")))
            printf("    of: %s\n", bad[i]);
        CHECK(strlen(shell("cat out")) > 2000); /* to the end of the code */
    }
    filtered("filter nobody@%s", "filter.data"); /* is nowhere */
    CHECK(equal(shell(INSNS "filter.data"), two_stretches));
}

/* Whatever the text is, ranges are ranges. */
TEST(any_filters)
{
    static const char *const parts[] = {
        "filter", "stop", "tracestop", " ", " ", " ", ",", "/", "@", "@", "0x10",
        "18446744073709551615", "99999999999999999999", "f", "\n", "/f", "8"
    };
    unsigned good = 0;
    for (unsigned n = 0; n < 20000; n++) {
        char words[512] = "";
        filters f;
        ipt_filter range[IPT_FILTERS];
        for (uint64_t k = dice(14); k; k--) strcat(words, parts[dice(17)]);
        if (filters_parse(&f, words) != FILTERS_OK) {
            CHECK_EQ(f.count, 0);
            CHECK(!f.text);
            continue;
        }
        good += f.count > 0;
        CHECK(f.count <= IPT_FILTERS);
        filters_begin(&f, range);
        for (unsigned i = 0; i < 4; i++)
            filters_map(&f, range, i & 1 ? "f" : "/f",
                        (uint64_t) dice(64) - 32,
                        dice(3) ? dice(64) : UINT64_MAX,
                        (uint64_t) dice(64) - 32);
        for (unsigned i = 0; i < IPT_FILTERS; i++)
            CHECK(range[i].first <= range[i].last + 1);
        filters_free(&f);
    }
    CHECK(good > 20);
}

/* From one filter's range into another's tracing goes on. */
TEST(from_filter_to_filter)
{
    char filter[1024];
    recording r;
    snprintf(filter, sizeof filter, "filter 0x180/0x20@%s,filter 0x1a0/0x4@%s",
             program, program);
    r = begin_thread(filter);
    p_ip(P_PGE, 0x7000189);
    p_ip(P_PGD, 0x70001a4); /* with an address */
    leave(0x7000180, 0);
    at_cpu(1000);
    recording_write(&r, "filter.data");
    CHECK(equal(shell(INSNS "filter.data"),
                "10 7000189\n10 70001a0\n10 70001a1\n10 70001a2\n10 70001a3\n"
                "10 7000180\n10 7000182\n10 7000184\n"));
}

/* Each process has the ranges where its mapping is: after a fork those of its
 * parent, after an exec its own, also if a thread changes in between; and part
 * of a file that is mapped elsewhere is not part of it. */
TEST(filters_of_processes)
{
    char filter[1024];
    recording r;
    snprintf(filter, sizeof filter, "filter 0x180/0x20@%s", program);
    r = recording_of(filter);
    begin_filters();
    r_comm(&r, 10, 10, "prog", 1, 0);
    r_comm(&r, 20, 20, "other", 1, 0);
    r_map(&r, 10, 0x7000000, 0, program, 0);
    r_map(&r, 10, 0x7002000, 0x1000, program, 0);
    r_map(&r, 20, 0x8000000, 0, program, 0);
    r_fork(&r, 10, 30, 900);
    for (uint64_t n = 0; n < 6; n++) {
        static const uint64_t base[] = {0x7000000, 0x8000000, 0x7000000,
                                        0x7000000, 0x8000000, 0x9000000};
        static const uint32_t tid[] = {10, 20, 30, 10, 20, 30};
        const uint64_t at = 10000 * (n + 1);
        if (n == 5) r_comm(&r, 30, 30, "new", 1, at - 50);
        if (n == 5) r_map(&r, 30, base[5], 0, program, at - 40);
        r_switch(&r, 0, tid[n], at, 0);
        p_psb(at + 1000, 0, 0);
        leave(base[n] + 0x180, 0);
        r_switch(&r, 1, tid[n], at + 5000, 0);
    }
    at_cpu(1000);
    recording_write(&r, "filter.data");
    CHECK(equal(shell(INSNS "filter.data"),
                "10 7000180\n10 7000182\n10 7000184\n"
                "20 8000180\n20 8000182\n20 8000184\n"
                "30 7000180\n30 7000182\n30 7000184\n"
                "10 7000180\n10 7000182\n10 7000184\n"
                "20 8000180\n20 8000182\n20 8000184\n"
                "30 9000180\n30 9000182\n30 9000184\n"));
}

/* ---- the time ---- */

#define TURN ((uint64_t) 1 << 56)

/* Code: four branches, then one that leaves. */
static void begin_branches(void)
{
    static const uint8_t code[] = {0x74, 0, 0x74, 0, 0x74, 0, 0x74, 0, 0xff,
                                   0xe0};
    clear();
    recording_program(program, code, sizeof code);
}

static void say(char *to, size_t size, uint32_t tid, uint64_t ns, unsigned n)
{
    size_t at = strlen(to);
    for (; n && at < size; n--)
        at += (size_t) snprintf(to + at, size - at, "%u %llu.%09llu 1\n", tid,
                                (unsigned long long) (ns / 1000000000),
                                (unsigned long long) (ns % 1000000000));
}

/* Two threads that take turns on a cpu, or one that is traced for itself; the
 * third time begins after `base`. The reference is that of the end. A ns has two
 * ticks, as perf's ns, of which there are no more than 2^63, end with the TSC. */
static void up_for(uint64_t base, int by_cpu)
{
    char want[4096] = "";
    recording r = recording_of("");
    recording_trace of = {0, base + 160000, 0, 0xffffffff, 0};
    r.info[1] = 32; /* the shift: of 2^31 */
    r.info[9] = (uint64_t) by_cpu;
    if (!by_cpu) of.tid = 10;
    if (!by_cpu) of.cpu = 0xffffffff;
    begin_branches();
    r_comm(&r, 10, 10, "one", 1, 0);
    r_comm(&r, 10, 11, "two", 0, 0);
    r_map(&r, 10, 0x7000000, 0, program, 0);
    for (uint64_t n = 0; n < 6; n++) {
        const uint32_t tid = by_cpu ? 10 + n % 2 : 10;
        const uint64_t at = base - 90000 + 40000 * n;
        r_switch(&r, 0, tid, at, 0);
        p_psb(at + 9900, 8, 0);
        p_ip(P_PGE, 0x7000180);
        p_tnt("00");
        p_bytes("5902"); /* MTC, 672 ticks later */
        p_tnt("00");
        p_off();
        r_switch(&r, 1, tid, at + 20000, 0);
        say(want, sizeof want, tid, (at + 9900) / 2, 2);
        say(want, sizeof want, tid, (at + 9900 + 672) / 2, 3);
    }
    r_trace(&of);
    recording_write(&r, "up.data");
    if (!CHECK(equal(shell("%/ptflow --quiet --fields tid,time,sure up.data"),
                     want)))
        printf("    base %#llx, by %s\n", (unsigned long long) base,
               by_cpu ? "cpu" : "thread");
    CHECK(equal(shell("%/ptflow --quiet up.data | wc -l"), "30\n"));
    if (!by_cpu || base % TURN < 1000000) return;
    CHECK(equal(shell("rm -rf parts; %/ptsplit -o parts --ptxed up.data"
                      " >command; PATH=%:$PATH sh command |"
                      " grep -c '^0000000007000'"), "30\n"));
}

/* The TSC has 64 bits, its packet 56: for each multiple of that, in the middle
 * of it, from its beginning on, and where it comes while tracing, with an MTC
 * before it, too. */
TEST(uptime)
{
    for (uint64_t k = 0; k < 255; k += test_full() ? 1 : 1 + k / 3 * 40) {
        for (int by_cpu = 0; by_cpu < 2; by_cpu++) {
            up_for(k * TURN + TURN / 7 * 5, by_cpu);
            up_for(k * TURN + 90000 + (k == 0), by_cpu);
            if (k == 0) continue;
            up_for(k * TURN, by_cpu);
            up_for(k * TURN + 79800, by_cpu);
        }
    }
}

/* Trace in samples has no reference but their time; and a file whose trace has
 * none is as old as its records are. */
TEST(uptime_without_reference)
{
    const uint64_t base = 3 * TURN + 77777;
    char want[1024] = "";
    recording r = recording_of("");
    begin_branches();
    r_comm(&r, 10, 10, "one", 1, 0);
    r_map(&r, 10, 0x7000000, 0, program, 0);
    r_switch(&r, 0, 10, base, 0);
    p_psb(base + 1000, 0, 0);
    p_ip(P_PGE, 0x7000180);
    p_tnt("0000");
    p_off();
    at_cpu(0);
    r_switch(&r, 1, 10, base + 5000, 0);
    recording_write(&r, "up.data");
    say(want, sizeof want, 10, base + 1000, 5);
    CHECK(equal(shell("%/ptflow --quiet --fields tid,time,sure up.data"),
                want));
}

/* ---- every field ---- */

/* All that a file says, and what is changed. */
typedef struct all_facts {
    recording r;
    recording_trace trace;
    uint64_t aux_offset;
    uint64_t aux_size;
    uint64_t aux_flags;
} all_facts;

/* Code: two branches, a call to 0x20, where a RET is, two branches, a system
 * call. */
static void put_code(void)
{
    static const uint8_t code[0x40] = {0x74, 0, 0x74, 0, 0xe8, 0x17, 0, 0, 0,
                                       0x74, 0, 0x74, 0, 0x0f, 0x05};
    uint8_t all[0x40];
    memcpy(all, code, sizeof all);
    all[0x20] = 0xc3;
    recording_program(program, all, sizeof all);
}

static all_facts facts_of(void)
{
    all_facts f;
    char filter[400];
    memset(&f, 0, sizeof f);
    snprintf(filter, sizeof filter, "filter 0x180/0x80@%s", program);
    f.r = recording_of(filter);
    f.r.attr[0].config |= 2;
    f.trace.reference = 1000000;
    f.trace.tid = UINT32_MAX;
    f.aux_size = 1000;
    f.aux_flags = 1;
    return f;
}

/* Three threads on a cpu, with MTC and CYC and compressed returns. Trace is in
 * two parts; where the first ends some is lost. */
static void write_facts(const all_facts *f)
{
    const recording *const r = &f->r;
    recording_trace part = f->trace;
    clear();
    r_comm(r, 10, 10, "one", 1, 0);
    r_comm(r, 10, 11, "two", 0, 0);
    r_comm(r, 10, 12, "three", 0, 0);
    r_map(r, 10, 0x7000000, 0, program, 0);
    r_map(r, 10, 0x7ff00000, 0, "[vdso]", 0);
    for (uint64_t n = 0; n < 8; n++) {
        const uint32_t tid = 10 + (uint32_t) (n % 3);
        const uint64_t at = 1000000 + 20000 * n;
        r_switch(r, 0, tid, at, 0);
        p_psb(at + 1900, 8, 0);
        p_ip(P_PGE, 0x7000180);
        p_cyc(20);
        p_tnt("00");
        p_bytes("5902");
        p_cyc(30);
        p_tnt("100");
        p_off();
        r_switch(r, 1, tid, at + 10000, 0);
        if (n == 3) {
            const size_t size = (trace.size + 7) & ~(size_t) 7;
            r_aux(r, f->aux_offset, size, f->aux_flags, tid, at + 11000, 0);
            r_trace(&part);
            part.offset += size;
            part.reference += 100000;
        }
    }
    r_aux(r, part.offset, f->aux_size, 0, 10, 2000000, 0);
    r_trace(&part);
    recording_write(r, "facts.data");
}

/* Which field, to what; or why nothing of ours, nor of perf, depends on it. */
typedef struct fact {
    const char *name;
    size_t at;
    uint64_t value;
    const char *text; /* of one that is a text */
    const char *why;
} fact;

#define WORD(n, value) {"AUXTRACE_INFO " #n, offsetof(all_facts, r.info[n]), \
                        value, NULL, NULL}
#define FIELD(name, value) {#name, offsetof(all_facts, name), value, NULL, NULL}
#define NOT_USED(name, value, why) \
    {#name, offsetof(all_facts, name), value, NULL, why}
#define TEXT(name, text) {#name, offsetof(all_facts, name), 0, text, NULL}
#define NOT_TEXT(name, text, why) \
    {#name, offsetof(all_facts, name), 0, text, why}

static const fact all[] = {
    {"AUXTRACE_INFO type", offsetof(all_facts, r.info_kind), 2, NULL, NULL},
    WORD(0, 9), WORD(1, 30), WORD(2, (uint64_t) 1 << 30), WORD(3, 5000),
    WORD(4, 0), WORD(5, 0x40), WORD(6, 0x400), WORD(8, 1), WORD(9, 0),
    WORD(10, 0), WORD(11, 0), WORD(12, 84), WORD(13, 1), WORD(14, 0),
    WORD(15, 15), WORD(16, 0),
    TEXT(r.filter, "filter 0x180/0x8@/elsewhere"),
    NOT_USED(r.info[7], 2, "the type of the records says it"),
    NOT_USED(r.event_trace, 1, "what the processor can, not what it did"),
    FIELD(trace.offset, 80), FIELD(trace.reference, 3 * TURN + 1000000),
    NOT_USED(trace.idx, 5, "another name of the same queue"),
    FIELD(trace.cpu, 1),
    FIELD(aux_offset, 24), FIELD(aux_size, 8), FIELD(aux_flags, 0),
    FIELD(aux_flags, 2), FIELD(aux_flags, 4), FIELD(aux_flags, 8),
    NOT_USED(aux_flags, 0x101, "a format that PT does not have"),
    FIELD(r.attr[0].type, 7),
    FIELD(r.attr[0].config, 0x300e203), /* without TSC */
    FIELD(r.attr[0].config, 0x300e403), /* MTC */
    FIELD(r.attr[0].config, 0x3002603), /* its period */
    FIELD(r.attr[0].config, 0x300e601), /* CYC */
    FIELD(r.attr[0].config, 0x330e603), /* its threshold */
    FIELD(r.attr[0].config, 0x300ee03), /* return compression */
    FIELD(r.attr[0].sample_type, 0x10082), /* TIME */
    FIELD(r.attr[1].sample_type, 0x10082),
    FIELD(r.attr[1].sample_type, 0x10084), /* TID */
    FIELD(r.attr[1].sample_type, 0x10006), /* CPU */
    FIELD(r.attr[1].sample_type, 0x86), /* IDENTIFIER */
    FIELD(r.attr[2].sample_type, 0x10082),
    FIELD(r.attr[0].flags, 0x1063), /* sample_id_all */
    FIELD(r.attr[0].aux_action, 1),
    NOT_USED(r.attr[0].period, 2, "PT takes no samples"),
    NOT_USED(r.attr[0].flags, 0x41061, "inherit: who was traced is known"),
    TEXT(r.cpuid, "GenuineIntel,6,85,4"),
    NOT_USED(r.pmu_type, 5, "AUXTRACE_INFO has it"),
    NOT_TEXT(r.cores, "0-3", "the trace says on which cpu"),
    NOT_TEXT(r.event_name, "intel_pt/noretcomp=1/u", "attributes have it"),
    NOT_USED(r.wall_clock, 5, "times are those of perf's clock")
};

static char first[sizeof text];

static const char *answers(void)
{
    return shell("{ %/ptflow --fields tid,cpu,time,ip,sure,offset facts.data;"
                 " %/ptprof --min 0 facts.data; rm -rf parts;"
                 " %/ptsplit -o parts facts.data; } 2>&1");
}

static const char *of_perf(void)
{
    return shell("perf script -i facts.data --ns --itrace=i0ns"
                 " -F tid,time,ip 2>/dev/null");
}

TEST(each_field)
{
    static char perf[sizeof text];
    unsigned reasons = 0;
    all_facts f;
    put_code();
    f = facts_of();
    write_facts(&f);
    snprintf(first, sizeof first, "%s", answers());
    snprintf(perf, sizeof perf, "%s", of_perf());
    CHECK(!*perf == !*shell("command -v perf"));
    CHECK(strstr(first, "56 instructions"));
    CHECK(!strstr(first, "no code"));
    CHECK(!strstr(first, "does not fit"));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const fact *const a = &all[i];
        f = facts_of();
        if (a->text)
            snprintf((char *) &f + a->at, 64, "%s", a->text);
        else
            memcpy((char *) &f + a->at, &a->value, sizeof a->value);
        if (a->text && a->at == offsetof(all_facts, r.filter))
            f.r.info[16] = strlen(a->text);
        write_facts(&f);
        reasons += a->why != NULL;
        if (a->why && *perf && !CHECK(strcmp(of_perf(), perf) == 0))
            printf("    perf says otherwise: %s\n", a->name);
        if (!a->why && !CHECK(strcmp(answers(), first) != 0))
            printf("    nothing depends on %s = %#llx\n", a->name,
                   (unsigned long long) a->value);
    }
    CHECK(reasons <= 10);
}

/* trace.tid: a queue is of a thread where it is of no cpu. */
TEST(queue_of_a_thread)
{
    all_facts f;
    put_code();
    f = facts_of();
    f.r.info[9] = 0;
    f.trace.cpu = UINT32_MAX;
    f.trace.tid = 10;
    write_facts(&f);
    snprintf(first, sizeof first, "%s", answers());
    CHECK(strstr(first, "instructions"));
    f.trace.tid = 11;
    write_facts(&f);
    CHECK(strcmp(answers(), first) != 0);
}

/* ---- records of a virtual machine ---- */

/* Identifiers 30 and, with `machines`, whose they are: 0 is the host. */
static void put_index(int machines, uint64_t machine)
{
    const size_t at = begin_record(69, 0);
    add_n(&records, 2, 8);
    for (uint64_t id = 29; id <= 30; id++) {
        add_n(&records, id, 8);
        for (int i = 0; i < 3; i++) add_n(&records, 0, 8);
    }
    for (int i = 0; i < 2 && machines; i++) {
        add_n(&records, i ? machine : 0, 8);
        add_n(&records, 3, 8); /* vcpu */
    }
    records.at[at + 6] = (uint8_t) (records.size - at);
}

/* What a guest's perf saw of processes that have numbers of ours. */
static void put_of_guest(const recording *r)
{
    recording of = *r;
    of.attr[1].id = of.attr[2].id = 30;
    r_comm(&of, 10, 10, "guest", 1, 1000000 + 30000);
    r_map(&of, 10, 0x7000000, 0, "/elsewhere", 1000000 + 30000);
    r_fork(&of, 1, 11, 1000000 + 40000);
    for (uint64_t n = 0; n < 8; n++) {
        r_switch(&of, 0, 77, 1000000 + 20000 * n + 1000, 0);
        r_switch(&of, 1, 77, 1000000 + 20000 * n + 12000, 0);
    }
}

/* The file of write_facts, after an index; with the guest's records. */
static const char *answers_with_guest(const all_facts *f, int machines,
                                      uint64_t machine, int is_there)
{
    static bytes head;
    write_facts(f); /* its records stay */
    head = records;
    memset(&records, 0, sizeof records);
    put_index(machines, machine);
    if (is_there) put_of_guest(&f->r);
    add(&records, head.at, head.size);
    recording_write(&f->r, "facts.data");
    free(head.at);
    return answers();
}

/* Where ID_INDEX gives them to a machine they change nothing; else they would. */
TEST(records_of_guests)
{
    static const char said[] = "19 records were made in guests";
    all_facts f;
    const char *got;
    char *line;
    put_code();
    f = facts_of();
    snprintf(first, sizeof first, "%s", answers_with_guest(&f, 1, 7, 0));
    CHECK(strstr(first, "56 instructions"));
    got = answers_with_guest(&f, 1, 7, 1);
    CHECK(strstr(got, said));
    for (unsigned n = 0; n < 3; n++) { /* each tool says so */
        line = strstr(text, said);
        if (!CHECK(line != NULL)) return;
        while (line > text && line[-1] != '\n') line--;
        memmove(line, strchr(line, '\n') + 1,
                strlen(strchr(line, '\n') + 1) + 1);
    }
    CHECK(equal(text, first));
    CHECK(strcmp(answers_with_guest(&f, 1, 0, 1), first) != 0);
    CHECK(strstr(text, said) == NULL);
    CHECK(strcmp(answers_with_guest(&f, 0, 0, 1), first) != 0);
    CHECK(strstr(text, said) == NULL);
}

/* Two branches, neither taken, and tracing ends before the next instruction. */
static void two_branches(void)
{
    p_ip(P_PGE, 0x7000180);
    p_tnt("00");
    p_ip(P_FUP, 0x7000184);
    p_off();
}

/* A buffer was full, and what comes next begins with a TNT, inside of flow that is
 * not known: so many bytes, up to a PSB, are said to be lost. */
TEST(bytes_after_a_full_buffer)
{
    recording_trace of = {0, 1000, 0, 0xffffffff, 0};
    recording r = begin_thread("");
    char want[100];
    size_t lost;
    two_branches();
    while (trace.size % 8) add_n(&trace, 0, 1);
    of.offset = trace.size;
    at_cpu(1000);
    r_aux(&r, 0, of.offset, 1, 10, 3000, 0);
    for (unsigned n = 1; n < 4; n++) {
        const size_t before = records.size;
        for (unsigned i = 0; i < n; i++) {
            p_tnt("01");
            two_branches();
        }
        lost = trace.size;
        p_psb(4000, 0, 0);
        two_branches();
        r_trace(&of);
        recording_write(&r, "full.data");
        snprintf(want, sizeof want, "after a full buffer %zu\n", lost);
        CHECK(strstr(shell("%/ptflow --fields ip full.data 2>&1 | tr -s ' '"),
                     want));
        CHECK(strstr(text, "lost: AUX buffer full (truncated) 1\n"));
        CHECK(strstr(text, ": 4 instructions"));
        CHECK(!strstr(text, "does not fit"));
        records.size = before;
    }
}

/* ---- files of another kind ---- */

static void write_file(const char *name, const char *from, size_t size)
{
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(from, 1, size, f) != size || fclose(f)) exit(2);
}

/* A counter has an event, by records whose ids are those of the events' names. */
static void counters(unsigned events)
{
    recording r = begin_thread("");
    snprintf(r.event_name, sizeof r.event_name, "cpu/m\033em/");
    for (unsigned i = 0; i < events; i++) { /* counters 0, 1 and 1 once more */
        const size_t at = begin_record(21, 0);
        add_n(&records, i ? 1 : 0, 8);
        end_record(&r, at, i % 2, 10, 1000, 0);
    }
    p_ip(P_PGE, 0x7000180);
    p_bytes("02630404" "8001000700000000" "0c" "0300000000000000" "0233");
    p_off();
    at_cpu(1000);
    r_switch(&r, 1, 10, 9000, 0);
    recording_write(&r, "counters.data");
}

/* PEBS records name the events of their counters, where that is known. */
TEST(events_of_counters)
{
    static const char *const want[] = {
        "pebs ip=7000180 counters=3\n",
        "pebs ip=7000180 counters=3 events=cpu/m\\x1bem/\n",
        "pebs ip=7000180 counters=3 events=cpu/m\\x1bem/,dummy:u\n",
        "pebs ip=7000180 counters=3 events=cpu/m\\x1bem/\n"}; /* two events */
    for (unsigned i = 0; i < 4; i++) {
        counters(i);
        CHECK(equal(shell("%/ptflow --quiet --event --fields kind,values"
                          " counters.data 2>&1 | grep counters"), want[i]));
    }
    CHECK(equal(shell("%/ptflow --quiet --event --fields kind,values --json"
                      " counters.data | grep -c 'counters=3 events=cpu/m em/'"),
                "1\n"));
}

/* Each tool says what a file is that it does not read, and who does; not of part
 * of a file, which may be anything. */
TEST(other_files)
{
    static const struct {
        const char *text;
        const char *says;
        uint8_t of_traces; /* tools that read traces say so; */
        uint8_t of_perf;   /* those that read perf.data do */
    } kinds[] = {
        {"PERFILE2........", "is a perf.data: ptflow, ptprof, ptcov and", 1, 0},
        {"2ELIFREP........", "is a perf.data: ptflow, ptprof, ptcov and", 1, 0},
        {"\x1f\x8b\x08.......", "is compressed: gzip -d", 1, 1},
        {"\xfd" "7zXZ........", "is compressed: xz -d", 1, 1},
        {"\x28\xb5\x2f\xfd......", "is compressed: zstd -d", 1, 1},
        {"{ \"type\": \"intel-pt\", }", "is LLDB's list of traces", 1, 1},
        {"0.0 12 1f3000 400000 0\t/bin/ls\n", "is simple-pt's list", 1, 1},
        {"meta cpu 6 94\n", "is simple-pt's list", 1, 1},
        {"\x7f" "ELF\2\1\1.....", "is a program", 1, 1},
        {"..\2\202\2\202\2\202\2\202\2\202\2\202\2\202\2\202.",
         "is a trace without records: ptflow --pt", 0, 1}
    };
    static const char *const traces[] = {
        "ptdump other", "ptxed --elf program --pt other",
        "ptseg other", "ptparallel --elf program --pt other",
        "ptflow --elf program --pt other", "ptprof --elf program --pt other"};
    static const char *const perf[] = {"ptflow other", "ptprof other",
                                       "ptsplit -o parts other"};
    char command[128];
    put_code();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        write_file("other", kinds[i].text, strlen(kinds[i].text));
        for (size_t k = 0; k < 9; k++) {
            const int want = k < 6 ? kinds[i].of_traces : kinds[i].of_perf;
            snprintf(command, sizeof command, "%%/%s 2>&1 >out; echo $?",
                     k < 6 ? traces[k] : perf[k - 6]);
            shell("rm -rf parts");
            if (!CHECK((strstr(shell(command), kinds[i].says) != NULL) == want)
                || (want && !CHECK(strstr(text, ".\n1\n"))))
                printf("    %s: %s", command, text);
        }
    }
    write_file("other", kinds[0].text, strlen(kinds[0].text));
    CHECK(!strstr(shell("%/ptdump other:1-9 2>&1"), "perf.data"));
    shell("mkdir bundle");
    write_file("bundle/trace.json", kinds[5].text, strlen(kinds[5].text));
    CHECK(strstr(shell("%/ptflow bundle 2>&1"), "is LLDB's list"));
}

/* A ring that wrapped begins inside of a packet: tools of traces read it from
 * the first PSB on, those of perf.data say what it is. */
TEST(ring)
{
    static const char *const tools[] = {
        "ptxed --elf program --pt ring | grep -c '^0000000000400'",
        "ptflow --quiet --fields ip --elf program --pt ring | wc -l",
        "ptparallel --insn --elf program --pt ring | grep -c '^00000000004001'",
        "ptdump ring | grep -c 'tip.pge'"};
    put_code();
    for (size_t cut = 1; cut < 24; cut++) {
        clear();
        for (unsigned n = 0; n < 2; n++) {
            p_psb(1000 + n, 0, 0);
            p_ip(P_PGE, 0x400180);
            p_tnt("00");
            p_tnt("100");
            p_off();
        }
        write_file("ring", (const char *) trace.at + cut, trace.size - cut);
        for (size_t i = 0; i < 4; i++) {
            char command[128];
            snprintf(command, sizeof command, "%%/%s", tools[i]);
            if (!CHECK(atoi(shell(command)) == (i < 3 ? 7 : 1)))
                printf("    %zu, %s: %s", cut, tools[i], text);
        }
        CHECK(strstr(shell("%/ptflow ring 2>&1"), "a trace without records"));
    }
}

int main(void)
{
    const char *folder = getenv("BUILD");
    char here[2000];
    if (!folder) folder = "build";
    if (!getcwd(here, sizeof here)
        || !mkdtemp(tmp_name(top, sizeof top, "facts")) || chdir(top))
        return 2;
    snprintf(build, sizeof build, "%s%s%s", *folder == '/' ? "" : here,
             *folder == '/' ? "" : "/", folder);
    snprintf(program, sizeof program, "%s/program", top);
    setenv("HOME", top, 1); /* there is no cache of files */
    RUN(filters);
    RUN(other_filters);
    RUN(any_filters);
    RUN(from_filter_to_filter);
    RUN(filters_of_processes);
    RUN_BOTH(uptime);
    RUN(uptime_without_reference);
    RUN(each_field);
    RUN(queue_of_a_thread);
    RUN(records_of_guests);
    RUN(events_of_counters);
    RUN(bytes_after_a_full_buffer);
    RUN(other_files);
    RUN(ring);
    if (chdir("/")) return 2;
    nftw(top, forget, 16, FTW_DEPTH | FTW_PHYS);
    return test_report();
}
