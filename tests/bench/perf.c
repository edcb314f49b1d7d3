/* perf.c: the same work by perf, as Debian has it, and by ptflow and ptprof:
 * processor time of `perf script` and `ptflow` that print errors only, or each
 * instruction; of `perf script --call-ret-trace` and the call tree of `ptprof`;
 * each less the time for the same process without trace. Their caches of code
 * are warm for most of that. They are not given a kernel's code. perf takes
 * PIP.NR for a guest, of which it wants the files: the bit is cleared for it. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* wait4 */
#include "bench.h"
#include "tests/tmp.h"
#include "tests/perf.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256];
enum { CODE, NONE, ONCE, TIMES, FILES };
static char paths[FILES][sizeof folder + 8]; /* perf.data, except the code */
#define TIMED (1 << 22) /* as much trace is decoded at least, again and again */
static size_t times;
static const bench_case *written;

/* One of the two tools. */
typedef struct tool {
    uint64_t insns;     /* 0: it is missing, or finds none */
    double start_up;    /* seconds */
    const char *const *quiet; /* its command line without the file */
    const char *const *print;
} tool;

static char flow_path[256], prof_path[256];
static const char *const perf_quiet[] = {"perf", "script", "--no-inline", "-F",
                                         "ip", "--itrace=e", "-i", NULL};
static const char *const perf_print[] = {
    "perf", "script", "--no-inline", "-F", "comm,tid,ip,sym,symoff",
    "--itrace=i0ns", "-i", NULL};
static const char *const flow_quiet[] = {flow_path, "--quiet", "--errors",
                                         NULL};
static const char *const flow_print[] = {
    flow_path, "--quiet", "--fields", "comm,tid,ip,symoff", NULL};

static const char *const perf_calls[] = {
    "perf", "script", "--no-inline", "--call-ret-trace", "-i", NULL};
static const char *const prof_tree[] = {prof_path, "--quiet", NULL};

static tool by_perf = {0, 0, perf_quiet, perf_print};
static tool by_flow = {0, 0, flow_quiet, flow_print};

static void remove_files(void)
{
    size_t i;

    for (i = 0; i < FILES; i++)
        unlink(paths[i]);
    rmdir(folder);
}

/* Run it on a file. Returns how many lines it printed, or -1. */
static long long run(const char *const *command, const char *file,
                     double *seconds)
{
    char *argv[12];
    struct rusage usage;
    char buffer[1 << 16];
    long long lines = 0;
    ssize_t n;
    int status;
    int ends[2];
    int count = 0;
    pid_t pid;

    for (; command[count]; count++)
        argv[count] = (char *) (uintptr_t) command[count];
    argv[count] = (char *) (uintptr_t) file;
    argv[count + 1] = NULL;
    if (pipe(ends) != 0 || (pid = fork()) < 0)
        return -1;
    if (pid == 0) {
        const int none = open("/dev/null", O_RDWR);
        dup2(none, 0);
        dup2(ends[1], 1);
        dup2(none, 2);
        close(ends[0]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0)
        while (n > 0)
            lines += buffer[--n] == '\n';
    close(ends[0]);
    if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status)
        || WEXITSTATUS(status) > (file == paths[NONE]))
        return -1; /* ours end with 1 where there is nothing to decode */
    *seconds = (double) usage.ru_utime.tv_sec + (double) usage.ru_stime.tv_sec
               + 1e-6 * (double) (usage.ru_utime.tv_usec
                                  + usage.ru_stime.tv_usec);
    return lines;
}

/* All code of the program, as pieces. */
static perf_piece *pieces_of(const bench_case *c, size_t *count)
{
    const image_space *space = c->code.space_count ? c->code.spaces : NULL;
    const image_range *r;
    image_place place = {0, 0};
    perf_piece *list;
    size_t i;

    for (i = 0; space && image_range_at(space, place); i++)
        place = image_after(space, place);
    list = space ? calloc(i, sizeof *list) : NULL;
    place = (image_place) {0, 0};
    *count = 0;
    for (i = 0; list && (r = image_range_at(space, place)) != NULL; i++) {
        const image_section *s = &c->code.sections[r->section - 1];
        if (r->last >> 47)
            break; /* a kernel's */
        list[i].base = r->first;
        list[i].bytes = s->data ? s->data + (r->first - s->base) : NULL;
        list[i].size = (size_t) (r->last - r->first + 1);
        ++*count;
        place = image_after(space, place);
    }
    return list;
}

/* As many times the trace, without NR. */
static uint8_t *copy_of(const bench_case *c)
{
    const ipt_segment piece = {c->trace, c->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    const ipt_config config = {0};
    ipt_pkt_decoder decoder;
    ipt_packet packet;
    uint8_t *copy = malloc(times * c->size);
    int status = ipt_pkt_init(&decoder, &config, &trace);
    size_t i;

    if (copy)
        memcpy(copy, c->trace, c->size);
    while (copy && status >= 0) {
        status = ipt_pkt_sync_forward(&decoder);
        while (status >= 0 && (status = ipt_pkt_next(&decoder, &packet)) >= 0)
            if (packet.type == IPT_PKT_PIP)
                copy[packet.offset + 2] &= 0xfe;
        if (status != IPT_END)
            status = IPT_OK; /* an error: go on at the next PSB */
    }
    for (i = 1; copy && i < times; i++)
        memcpy(copy + i * c->size, copy, c->size);
    return copy;
}

static int write_files(const bench_case *c)
{
    const size_t sizes[FILES] = {0, 0, c->size, times * c->size};
    uint8_t *copy = copy_of(c);
    perf_case what = {copy, 0, NULL, 0, 0, 0};
    perf_piece *list = copy ? pieces_of(c, &what.count) : NULL;
    int ok = list != NULL;
    size_t i;

    what.pieces = list;
    for (i = NONE; ok && i < FILES; i++) {
        what.size = sizes[i];
        ok = perf_write(&what, paths[i], paths[CODE]) == 0;
    }
    free(list);
    free(copy);
    return ok;
}

/* Files of a case; 0: there are none. */
static int have_files(const bench_case *c)
{
    static const char *const names[FILES] = {"code", "none", "once", "times"};
    static int ok;
    const char *build = getenv("BUILD");
    size_t i;

    if (written == c)
        return ok;
    if (!written) {
        if (!mkdtemp(tmp_name(folder, sizeof folder, "bench")))
            return 0;
        for (i = 0; i < FILES; i++)
            snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        snprintf(flow_path, sizeof flow_path, "%s/ptflow",
                 build ? build : "build");
        snprintf(prof_path, sizeof prof_path, "%s/ptprof",
                 build ? build : "build");
        atexit(remove_files);
    }
    written = c;
    by_perf.insns = by_flow.insns = UINT64_MAX;
    times = bench_rounds == 1 ? 1 : 4 + TIMED / c->size;
    ok = c->runs == 1 && write_files(c);
    return ok;
}

static int prepare(const bench_case *c, tool *t)
{
    double seconds;
    long long lines = 0;

    if (!have_files(c))
        return 0;
    if (t->insns == UINT64_MAX) {
        if (run(t->quiet, paths[NONE], &t->start_up) >= 0)
            lines = run(t->print, paths[ONCE], &seconds);
        t->insns = lines > 0 ? (uint64_t) lines : 0;
    }
    return t->insns > 0;
}

static int prepare_perf(const bench_case *c)
{
    return prepare(c, &by_perf);
}

static int prepare_flow(const bench_case *c)
{
    return prepare(c, &by_flow);
}

/* The time for the trace alone, once. */
static uint64_t pass(const tool *t, const char *const *command, int file)
{
    double seconds = 0;

    if (run(command, paths[file], &seconds) < 0)
        return 0;
    seconds -= t->start_up;
    if (file == TIMES)
        seconds /= (double) times;
    bench_seconds = seconds > 0 ? seconds : 1e-9;
    return t->insns;
}

static uint64_t pass_perf(const bench_case *c)
{
    (void) c;
    return pass(&by_perf, perf_quiet, TIMES);
}

static uint64_t pass_flow(const bench_case *c)
{
    (void) c;
    return pass(&by_flow, flow_quiet, TIMES);
}

static uint64_t print_perf(const bench_case *c)
{
    (void) c;
    return pass(&by_perf, perf_print, ONCE);
}

static uint64_t print_flow(const bench_case *c)
{
    (void) c;
    return pass(&by_flow, flow_print, ONCE);
}

static uint64_t calls_perf(const bench_case *c)
{
    (void) c;
    return pass(&by_perf, perf_calls, TIMES);
}

static uint64_t tree_prof(const bench_case *c)
{
    (void) c;
    return pass(&by_flow, prof_tree, TIMES);
}

const bench_row bench_perf[] = {
    {"blocks", "perf", prepare_perf, pass_perf, 1, 1, 0},
    {"perf.data", "ptflow", prepare_flow, pass_flow, 1, 0, 0},
    {"perf.data", "perf", prepare_perf, pass_perf, 1, 1, 0},
    {"printed", "ptflow", prepare_flow, print_flow, 1, 0, 0},
    {"printed", "perf", prepare_perf, print_perf, 1, 1, 1},
    {"call tree", "ptprof", prepare_flow, tree_prof, 1, 0, 0},
    {"call tree", "perf", prepare_perf, calls_perf, 1, 1, 1},
    {0},
};
