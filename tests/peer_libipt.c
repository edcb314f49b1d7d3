/* peer_libipt.c: ipt against libipt (Debian's libipt-dev, 2.0.5).
 *
 *     peer_libipt [--traces DIR] [--suite DIR] [--record DIR]
 *                 [--fuzz SECONDS FIRST [--runs COUNT]] [--other yes]
 *
 * Packets, query answers and instruction streams of both are compared, item by
 * item, on the same trace under the same configuration: on traces that this
 * file makes (always), on folders of hardware traces, on a decoder suite, on
 * recordings of ptrecord. Where they differ, one of the differences in
 * peer/differences.h must explain it; the end shows how often each does.
 *
 * --other: the libipt.so.2 that is loaded is that of examples/compat.
 *
 * --fuzz changes the suite's traces, and those that this file makes, at random
 * for so many seconds and at least COUNT runs. They are numbered from FIRST on,
 * and nothing but the number decides what a run does: `--fuzz 0 NUMBER` repeats
 * one. With the environment's PEER_SAVE=dir traces that differ are kept there.
 */
#define _POSIX_C_SOURCE 200809L
#define IPT_IMPLEMENTATION
#include "../ipt.h"
#include "build.h"

#if defined(__has_include)
#if __has_include(<intel-pt.h>)
#define HAVE_LIBIPT 1
#endif
#endif

#ifndef HAVE_LIBIPT
TEST(libipt) { test_skip("libipt is missing (libipt-dev)"); }
int main(void)
{
    RUN(libipt);
    return test_report();
}
#else
#include <dirent.h>
#include <intel-pt.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "peer/differences.h"
#include "peer/given.h"
#include "peer/clock.h"
#include "peer/packets.h"
#include "peer/explain.h"
#include "peer/flow.h"
#include "peer/made.h"
#include "whole.h"

/* ---- a decoder suite ---- */

/* One run of the suite: a test, a cpu and options. */
typedef struct suite_row {
    char test[100];
    char cpu[20];
    uint64_t base;
    char options[400];
} suite_row;

/* Number after an option such as "--mtc-freq", 0 if it is not there. */
static uint64_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

static int suite_parse(char *line, suite_row *row)
{
    char *fields[9] = {0};
    int n = 0;
    for (char *at = line; at && n < 9; n++) {
        fields[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    if (n < 7 || strcmp(fields[0], "test") == 0) return 0;
    snprintf(row->test, sizeof row->test, "%s", fields[0]);
    snprintf(row->cpu, sizeof row->cpu, "%s", fields[2]);
    snprintf(row->options, sizeof row->options, "%s", fields[6]);
    row->base = strtoull(fields[5], NULL, 0);
    return 1;
}

static void suite_config(const suite_row *row, ipt_config *c)
{
    const char *o = row->options;
    unsigned family;
    unsigned model;
    memset(c, 0, sizeof *c);
    if (sscanf(row->cpu, "%u/%u", &family, &model) == 2)
        ipt_cpu_errata(&c->errata, (uint16_t) family, (uint8_t) model);
    c->mtc_freq = (uint8_t) option(o, "--mtc-freq ");
    c->nom_freq = (uint8_t) option(o, "--nom-freq ");
    c->cpuid_15_eax = (uint32_t) option(o, "--cpuid-0x15.eax ");
    c->cpuid_15_ebx = (uint32_t) option(o, "--cpuid-0x15.ebx ");
    c->filter[0].kind = (uint8_t) option(o, "--filter:addr0_cfg ");
    c->filter[0].first = option(o, "--filter:addr0_a ");
    c->filter[0].last = option(o, "--filter:addr0_b ");
}

static void suite_run(const char *dir, const suite_row *row)
{
    static image code;
    static run r;
    char name[700];
    size_t size;
    size_t code_size;
    uint8_t *bytes;
    uint8_t *bin;
    snprintf(name, sizeof name, "tests/%s/%s.pt", row->test, row->test);
    bytes = (uint8_t *) whole_in(dir, name, &size);
    snprintf(name, sizeof name, "tests/%s/%s.bin", row->test, row->test);
    bin = (uint8_t *) whole_in(dir, name, &code_size);
    if (!CHECK(bytes != NULL)) return;
    memset(&code, 0, sizeof code);
    code.count = 1;
    code.list[0].base = row->base;
    code.list[0].size = code_size;
    code.list[0].bytes = bin;
    memset(&r, 0, sizeof r);
    snprintf(r.name, sizeof r.name, "%s cpu %s", row->test, row->cpu);
    r.part = SUITE;
    r.code = code_size ? &code : NULL;
    suite_config(row, &r.config);
    r.bdm70 = !!(r.config.errata & BDM70_TOO);
    run_begin(&r, bytes, size);
    compare(&r);
    run_end(&r);
    free(bytes);
    free(bin);
}

/* Do two rows differ in nothing that matters here? */
static int suite_same(const suite_row *a, const suite_row *b)
{
    ipt_config ca;
    ipt_config cb;
    suite_config(a, &ca);
    suite_config(b, &cb);
    return strcmp(a->test, b->test) == 0 && strcmp(a->cpu, b->cpu) == 0
           && memcmp(&ca, &cb, sizeof ca) == 0;
}

static const char *suite_dir;

TEST(suite)
{
    suite_row last = {{0}, {0}, 0, {0}};
    size_t size;
    char *text = whole_in(suite_dir, "index.tsv", &size);
    char *line = text;
    if (!CHECK(text != NULL)) return;
    while (line && *line) {
        suite_row row = {{0}, {0}, 0, {0}};
        char *end = strchr(line, '\n');
        if (end) *end++ = 0;
        if (suite_parse(line, &row) && !suite_same(&row, &last)) {
            suite_run(suite_dir, &row);
            last = row;
        }
        line = end;
    }
    free(text);
}

/* ---- folders of traces and recordings ---- */

#define FILES_MAX 8

/* The code of a case: its regions, and the files they lie in. */
typedef struct files {
    image code;
    char name[FILES_MAX][100];
    uint8_t *bytes[FILES_MAX];
    size_t size[FILES_MAX];
    unsigned count;
} files;

/* The index of a file; -1 if it cannot be read. */
static int files_open(files *f, const char *dir, const char *name)
{
    unsigned i = 0;
    while (i < f->count && strcmp(f->name[i], name) != 0) i++;
    if (i < f->count) return (int) i;
    if (i == FILES_MAX) return -1;
    f->bytes[i] = (uint8_t *) whole_in(dir, name, &f->size[i]);
    if (!f->bytes[i]) return -1;
    snprintf(f->name[i], sizeof f->name[i], "%s", name);
    return (int) f->count++;
}

/* Read image.map: lines of base, length, file, offset. 0: not there. */
static int files_map(files *f, const char *dir)
{
    char path[900];
    char line[300];
    FILE *map;
    snprintf(path, sizeof path, "%s/image.map", dir);
    map = fopen(path, "r");
    if (!map) return 0;
    while (fgets(line, sizeof line, map)) {
        unsigned long long base;
        unsigned long long length;
        unsigned long long offset = 0;
        char name[100];
        region *r = &f->code.list[f->code.count];
        int n = sscanf(line, "%llx %llx %99s %llx", &base, &length, name,
                       &offset);
        if (n < 3 || !CHECK(f->code.count < LENGTH(f->code.list))) continue;
        r->base = base;
        r->size = length;
        r->bytes = NULL;
        if (strcmp(name, "-") != 0) {
            int i = files_open(f, dir, name);
            if (!CHECK(i >= 0)) continue;
            if (!CHECK(offset + length <= f->size[i])) continue;
            r->bytes = f->bytes[i] + offset;
        }
        f->code.count++;
    }
    fclose(map);
    return 1;
}

static void files_close(files *f)
{
    for (unsigned i = 0; i < f->count; i++) free(f->bytes[i]);
}

/* A number of `meta`, 0 if it is not there. */
static uint64_t meta_number(const char *meta, const char *key)
{
    const char *at = meta ? strstr(meta, key) : NULL;
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void case_config(run *r, const char *meta)
{
    const char *cpu = meta ? strstr(meta, "\ncpu=") : NULL;
    unsigned family;
    unsigned model;
    if (cpu && sscanf(cpu, "\ncpu=%u/%u", &family, &model) == 2)
        ipt_cpu_errata(&r->config.errata, (uint16_t) family, (uint8_t) model);
    r->config.mtc_freq = (uint8_t) meta_number(meta, "\nmtc_freq=");
    r->config.nom_freq = (uint8_t) meta_number(meta, "\nnom_freq=");
    r->config.cpuid_15_eax = (uint32_t) meta_number(meta, "\ncpuid_15_eax=");
    r->config.cpuid_15_ebx = (uint32_t) meta_number(meta, "\ncpuid_15_ebx=");
    r->bdm70 = 1;
}

/* One folder with a trace.pt; 0 if there is none in it. */
static int case_run(const char *dir, int part)
{
    static run r;
    static files f;
    size_t size;
    size_t meta_size;
    uint8_t *bytes = (uint8_t *) whole_in(dir, "trace.pt", &size);
    char *meta;
    if (!bytes) return 0;
    memset(&r, 0, sizeof r);
    memset(&f, 0, sizeof f);
    meta = whole_in(dir, "meta", &meta_size);
    snprintf(r.name, sizeof r.name, "%.199s", dir);
    r.part = part;
    if (files_map(&f, dir)) r.code = &f.code;
    case_config(&r, meta);
    run_begin(&r, bytes, size);
    compare(&r);
    run_end(&r);
    files_close(&f);
    free(meta);
    free(bytes);
    return 1;
}

static void cases_run(const char *dir, int part)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int count = case_run(dir, part);
    while (d && (entry = readdir(d)) != NULL) {
        char path[600];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        count += case_run(path, part);
    }
    if (d) closedir(d);
    CHECK(count > 0);
}

static const char *traces_dir;
static const char *record_dir;

TEST(traces) { cases_run(traces_dir, TRACES); }

TEST(record) { cases_run(record_dir, RECORD); }

/* ---- fuzzing: what the suite has and this file makes, changed ---- */

#define SEEDS_MAX 400

static struct fuzz {
    struct {
        suite_row row;
        uint8_t *bytes;
        size_t size;
        uint8_t *code;
        size_t code_size;
    } seed[SEEDS_MAX];
    unsigned seeds;
    unsigned seconds;
    uint64_t number; /* of the run */
    uint64_t count;  /* ... of which there are at least so many */
    run r;
    image code;
    machine maker;
    uint8_t bytes[1 << 15]; /* the trace, changed */
    size_t size;
} fuzz;

static void fuzz_crash(int sig)
{
    printf("signal %d in run %llu: %s\n", sig, ull(fuzz.number), fuzz.r.name);
    save(&fuzz.r);
    fflush(stdout);
    _exit(3);
}

static void fuzz_load(const char *dir)
{
    suite_row last = {{0}, {0}, 0, {0}};
    size_t size;
    char *text = whole_in(dir, "index.tsv", &size);
    char *line = text;
    while (line && *line && fuzz.seeds < SEEDS_MAX) {
        suite_row row = {{0}, {0}, 0, {0}};
        char name[300];
        char *end = strchr(line, '\n');
        if (end) *end++ = 0;
        if (suite_parse(line, &row) && !suite_same(&row, &last)) {
            const unsigned i = fuzz.seeds++;
            fuzz.seed[i].row = last = row;
            snprintf(name, sizeof name, "tests/%s/%s.pt", row.test, row.test);
            fuzz.seed[i].bytes
                = (uint8_t *) whole_in(dir, name, &fuzz.seed[i].size);
            snprintf(name, sizeof name, "tests/%s/%s.bin", row.test, row.test);
            fuzz.seed[i].code
                = (uint8_t *) whole_in(dir, name, &fuzz.seed[i].code_size);
            if (!fuzz.seed[i].bytes) fuzz.seeds--;
        }
        line = end;
    }
    free(text);
    CHECK(fuzz.seeds > 0);
}

static void fuzz_append(const uint8_t *bytes, size_t size)
{
    if (!bytes || size > sizeof fuzz.bytes / 4 - fuzz.size) return;
    memcpy(fuzz.bytes + fuzz.size, bytes, size);
    fuzz.size += size;
}

/* One of the suite's traces, its code and its configuration. */
static void fuzz_suite(unsigned i)
{
    const suite_row *row = &fuzz.seed[i].row;
    ipt_filter filter[IPT_FILTERS];
    fuzz_append(fuzz.seed[i].bytes, fuzz.seed[i].size);
    if (dice(6) == 0) {
        const unsigned more = dice(fuzz.seeds);
        fuzz_append(fuzz.seed[more].bytes, fuzz.seed[more].size);
    }
    memset(&fuzz.code, 0, sizeof fuzz.code);
    fuzz.code.count = 1;
    fuzz.code.list[0].base = row->base;
    fuzz.code.list[0].size = fuzz.seed[i].code_size;
    fuzz.code.list[0].bytes = fuzz.seed[i].code;
    if (fuzz.seed[i].code_size) fuzz.r.code = &fuzz.code;
    suite_config(row, &fuzz.r.config);
    memcpy(filter, fuzz.r.config.filter, sizeof filter);
    if (dice(3) == 0) random_config(&fuzz.r);
    memcpy(fuzz.r.config.filter, filter, sizeof filter);
    snprintf(fuzz.r.name, sizeof fuzz.r.name, "run %llu, %s cpu %s",
             ull(fuzz.number), row->test, row->cpu);
}

/* One of the traces that this file makes. */
static void fuzz_own(void)
{
    static writer w;
    const size_t size = machine_run(&fuzz.maker, 5 + dice(60));
    if (dice(2)) {
        fuzz_append(fuzz.maker.out, size);
    } else {
        put_stream(&w, &fuzz.maker);
        fuzz_append(w.bytes, w.size);
    }
    fuzz.r.code = &fuzz.maker.code;
    random_config(&fuzz.r);
    snprintf(fuzz.r.name, sizeof fuzz.r.name, "run %llu, made here",
             ull(fuzz.number));
}

static void fuzz_timing(void)
{
    static uint8_t timed[sizeof fuzz.bytes / 2];
    const size_t size = add_timing(fuzz.bytes, fuzz.size, timed, sizeof timed,
                                   3 + dice(6));
    if (size <= 20) return;
    memcpy(fuzz.bytes, timed, size);
    fuzz.size = size;
}

/* Put a packet anywhere in between. */
static void fuzz_packet(void)
{
    static const uint8_t types[] = {
        IPT_PKT_TNT_8, IPT_PKT_TIP, IPT_PKT_FUP, IPT_PKT_TIP_PGE,
        IPT_PKT_TIP_PGD, IPT_PKT_MODE_EXEC, IPT_PKT_MODE_TSX, IPT_PKT_OVF,
        IPT_PKT_PSB, IPT_PKT_PSBEND, IPT_PKT_PTW, IPT_PKT_EXSTOP, IPT_PKT_MWAIT,
        IPT_PKT_PWRE, IPT_PKT_PWRX, IPT_PKT_PIP, IPT_PKT_VMCS, IPT_PKT_STOP,
        IPT_PKT_MNT};
    const ipt_packet p
        = random_packet(&the_machine, types[dice(LENGTH(types))]);
    const unsigned at = dice((unsigned) fuzz.size + 1);
    uint8_t bytes[32];
    const int n = ipt_pkt_encode(bytes, sizeof bytes, &p);
    if (!CHECK(n > 0)) return;
    memmove(fuzz.bytes + at + n, fuzz.bytes + at, fuzz.size - at);
    memcpy(fuzz.bytes + at, bytes, (size_t) n);
    fuzz.size += (size_t) n;
}

static void fuzz_run(void)
{
    run *r = &fuzz.r;
    uint8_t *copy;
    seed = (fuzz.number + 1) * 0x9e3779b97f4a7c15u;
    timing_tsc = timing_ctc = 0;
    fuzz.size = 0;
    memset(r, 0, sizeof *r);
    r->part = FUZZ;
    r->wild = 1;
    if (fuzz.seeds && dice(5)) fuzz_suite(dice(fuzz.seeds));
    else fuzz_own();
    r->bdm70 = dice(4) != 0;
    if (dice(4) == 0) fuzz_timing();
    for (unsigned n = 1 + dice(3); n > 0; n--) {
        const unsigned how = dice(6);
        if (how < 2) fuzz_packet();
        if (how > 0) fuzz.size = mutate(fuzz.bytes, fuzz.size,
                                        sizeof fuzz.bytes - 200);
    }
    copy = malloc(fuzz.size + !fuzz.size); /* so that ASan sees its end */
    if (!CHECK(copy != NULL)) return;
    memcpy(copy, fuzz.bytes, fuzz.size);
    alarm(30);
    run_begin(r, copy, fuzz.size);
    compare(r);
    run_end(r);
    alarm(0);
    free(copy);
}

TEST(fuzz)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
    const time_t start = time(NULL);
    const uint64_t end = fuzz.number + fuzz.count;
    unsigned differ = 0;
    for (size_t i = 0; i < LENGTH(signals); i++) signal(signals[i], fuzz_crash);
    if (suite_dir) fuzz_load(suite_dir);
    seed = 0x600d;
    machine_run(&the_machine, 10);
    do {
        fuzz_run();
        if (fuzz.r.failures && ++differ > 20) /* the others say more */
            printf("    run %llu differs, too\n", ull(fuzz.number));
        fuzz.number++;
    } while (fuzz.number < end || difftime(time(NULL), start) < fuzz.seconds);
    printf("fuzz: %llu runs, %u differ for no known reason\n", runs[FUZZ],
           differ);
}

/* With --other, ours is on both sides. What is left are events and errors that
 * have no name in libipt's interface, or another one, and the end of a trace
 * within a PSB and a packet of no branches, which the library gives as libipt
 * does. */
TEST(no_faults)
{
    static const uint8_t is_left[D_COUNT] = {
        [D_NEW_PACKET] = 1, [D_LONG_PSB] = 1, [D_STATUS] = 1, [D_DISABLED] = 1,
        [D_MODE] = 1, [D_CONTEXT] = 1, [D_PTW_NOTE] = 1, [D_PSB_CUT] = 1,
        [D_TNT_EMPTY] = 1};
    for (int d = 0; d < D_COUNT; d++)
        for (int p = 0; p < PARTS; p++)
            if (!is_left[d] && !CHECK_EQ(seen[d][p], 0))
                printf("    %s\n", differences[d].name);
}

static void print_table(void)
{
    static const char *const parts[PARTS] = {"own", "traces", "suite",
                                             "record", "fuzz"};
    printf("%-14s", "allowed");
    for (int p = 0; p < PARTS; p++) printf(" %9s", parts[p]);
    printf("\n");
    for (int d = 0; d < D_COUNT; d++) {
        printf("%-14s", differences[d].name);
        for (int p = 0; p < PARTS; p++) printf(" %9llu", seen[d][p]);
        printf("  %s\n", differences[d].reason);
    }
    printf("wild traces that an error ended: %llu ours, %llu theirs, %llu "
           "both\n", ends[0], ends[1], ends[2]);
    for (int p = 0; p < PARTS; p++)
        if (runs[p])
            printf("%s: %llu runs, %llu packets, %llu answers, %llu "
                   "instructions\n", parts[p], runs[p], items[0][p],
                   items[1][p], items[2][p]);
}

/* Whose differences are listed. */
TEST(libipt_2_0)
{
    test_skip("libipt is not 2.0 (Debian 12's libipt-dev)");
}

int main(int argc, char **argv)
{
    const struct pt_version version = pt_library_version();
    int fuzzing = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--suite") == 0) suite_dir = argv[i + 1];
        if (strcmp(argv[i], "--traces") == 0) traces_dir = argv[i + 1];
        if (strcmp(argv[i], "--record") == 0) record_dir = argv[i + 1];
        if (strcmp(argv[i], "--other") == 0) is_other = 1;
        if (strcmp(argv[i], "--runs") == 0)
            fuzz.count = strtoull(argv[i + 1], NULL, 0);
        if (strcmp(argv[i], "--fuzz") == 0 && i + 2 < argc) {
            fuzzing = 1;
            fuzz.seconds = (unsigned) strtoul(argv[i + 1], NULL, 0);
            fuzz.number = strtoull(argv[i + 2], NULL, 0);
            i++;
        }
    }
    if (!is_other && (version.major != 2 || version.minor != 0)) {
        RUN(libipt_2_0);
        return test_report();
    }
    if (fuzzing) {
        RUN(fuzz);
        if (is_other) RUN(no_faults);
        print_table();
        return test_report();
    }
    RUN(cases);
    RUN(long_psb);
    RUN(cpus);
    RUN(programs);
    RUN(streams);
    RUN(mutants);
    if (suite_dir) RUN(suite);
    if (traces_dir) RUN(traces);
    if (record_dir) RUN(record);
    if (is_other) RUN(no_faults);
    print_table();
    return test_report();
}
#endif /* HAVE_LIBIPT */
