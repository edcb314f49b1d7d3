/* perf.c: the same work by perf, as Debian has it: processor time of `perf
 * script` that prints errors only, less its time for the same process without
 * trace. Its own cache of code is warm for most of that. It is not given a
 * kernel's code. It takes PIP.NR for a guest, of which it wants the files: the
 * bit is cleared for it. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* wait4 */
#include "bench.h"
#include "tests/perf.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/ipt-bench-XXXXXX";
enum { CODE, NONE, ONCE, TIMES, FILES };
static char paths[FILES][sizeof folder + 8]; /* perf.data, but for the code */
#define TIMED (1 << 20) /* as much trace is decoded at least, again and again */
static size_t times;
static const bench_case *written;
static uint64_t insns;  /* 0: perf is missing, or finds none */
static double start_up; /* seconds */

static void remove_files(void)
{
    size_t i;

    for (i = 0; i < FILES; i++)
        unlink(paths[i]);
    rmdir(folder);
}

/* Run perf on a file. Returns how many lines it printed, or -1. */
static long long run(const char *file, char *itrace, double *seconds)
{
    char *argv[] = {"perf", "script", "--no-inline", "-F", "ip", "-i", NULL,
                    itrace, NULL};
    struct rusage usage;
    char buffer[1 << 16];
    long long lines = 0;
    ssize_t n;
    int status;
    int ends[2];
    pid_t pid;

    argv[6] = (char *) (uintptr_t) file;
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
    if (wait4(pid, &status, 0, &usage) != pid || status != 0)
        return -1;
    *seconds = (double) usage.ru_utime.tv_sec + (double) usage.ru_stime.tv_sec
               + 1e-6 * (double) (usage.ru_utime.tv_usec
                                  + usage.ru_stime.tv_usec);
    return lines;
}

/* All code of the program, as pieces. */
static perf_piece *pieces_of(const bench_case *c, size_t *count)
{
    const image_space *space = c->code.space_count ? c->code.spaces : NULL;
    perf_piece *list = space ? calloc(space->count, sizeof *list) : NULL;
    size_t i;

    *count = 0;
    for (i = 0; list && i < space->count; i++) {
        const image_range *r = &space->ranges[i];
        const image_section *s = &c->code.sections[r->section - 1];
        if (r->last >> 47)
            break; /* a kernel's */
        list[i].base = r->first;
        list[i].bytes = s->data ? s->data + (r->first - s->base) : NULL;
        list[i].size = (size_t) (r->last - r->first + 1);
        ++*count;
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

static int prepare(const bench_case *c)
{
    static const char *const names[FILES] = {"code", "none", "once", "times"};
    double seconds;
    long long lines = 0;
    size_t i;

    if (written == c)
        return insns > 0;
    if (!written) {
        if (!mkdtemp(folder))
            return 0;
        for (i = 0; i < FILES; i++)
            snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        atexit(remove_files);
    }
    written = c;
    times = 1 + TIMED / c->size;
    if (c->runs == 1 && write_files(c)
        && run(paths[NONE], "--itrace=e", &start_up) >= 0)
        lines = run(paths[ONCE], "--itrace=i1i", &seconds);
    insns = lines > 0 ? (uint64_t) lines : 0;
    return insns > 0;
}

static uint64_t pass(const bench_case *c)
{
    double seconds = 0;

    (void) c;
    if (run(paths[TIMES], "--itrace=e", &seconds) < 0)
        return 0;
    seconds -= start_up;
    bench_seconds = seconds > 0 ? seconds / (double) times : 1e-9;
    return insns;
}

const bench_row bench_perf[] = {
    {"blocks", "perf", prepare, pass, 1, 1, 0},
    {0},
};
