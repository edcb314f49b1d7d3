/* Real programs, end to end: build/ptrecord records them, with and without
 * return compression, and what is decoded must be what executed, with every
 * cache and classifier. The list of what executed is from ptrace, not from
 * [gen]. Needs Linux on x86-64 and ptrace; else there is only the recording
 * that the project brings along. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lockstep.h"
#include "whole.h"
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#define HAVE_ZYDIS
#include "../zydis_glue/ipt_zydis.h"
#endif
#endif

static const char *build; /* where the tools are */
static char folder[512];  /* where recordings go */
static int permitted = 1; /* to use ptrace */

/* ---- a recording ---- */

typedef struct part {
    uint64_t base;
    uint64_t size;
    uint64_t from;
} part;

static struct {
    uint8_t *trace;
    uint8_t *ips;
    uint8_t *pages;
    size_t trace_size;
    size_t count; /* instructions */
    size_t pages_size;
    part parts[4096];
    size_t part_count;
} rec;

/* Make a text; the caller sees to it that it fits. */
static const char *text(char *out, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(out, size, format, args);
    va_end(args);
    return out;
}

static uint8_t *load(const char *name, const char *file, size_t *size)
{
    uint8_t *data = (uint8_t *) whole_in(name, file, size);

    if (!CHECK(data != NULL))
        printf("    cannot read %s/%s\n", name, file);
    return data;
}

static void unload(void)
{
    free(rec.trace);
    free(rec.ips);
    free(rec.pages);
    memset(&rec, 0, sizeof(rec));
}

static int open_recording(const char *name)
{
    size_t size;
    char *map = (char *) load(name, "image.map", &size);
    char *line;

    memset(&rec, 0, sizeof(rec));
    rec.trace = load(name, "trace.pt", &rec.trace_size);
    rec.ips = load(name, "ips.u64", &rec.count);
    rec.pages = load(name, "pages.bin", &rec.pages_size);
    rec.count /= 8;
    for (line = map ? strtok(map, "\n") : NULL; line;
         line = strtok(NULL, "\n")) {
        unsigned long long base, bytes, from;
        if (!CHECK(rec.part_count < 4096)
            || !CHECK_EQ(sscanf(line, "%llx %llx pages.bin %llx", &base, &bytes,
                                &from),
                         3)
            || !CHECK(from + bytes <= rec.pages_size))
            break;
        rec.parts[rec.part_count].base = base;
        rec.parts[rec.part_count].size = bytes;
        rec.parts[rec.part_count++].from = from;
    }
    free(map);
    return rec.trace && rec.ips && rec.pages && rec.part_count && rec.count;
}

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    size_t low = 0;
    size_t high = rec.part_count;
    const part *p;

    (void) asid;
    (void) context;
    while (low < high) { /* the first part that ends above ip */
        const size_t middle = (low + high) / 2;
        if (ip - rec.parts[middle].base < rec.parts[middle].size
            || ip < rec.parts[middle].base)
            high = middle;
        else
            low = middle + 1;
    }
    p = &rec.parts[low];
    if (low >= rec.part_count || ip < p->base)
        return IPT_NEED_PAGE;
    if (size > p->base + p->size - ip)
        size = (size_t) (p->base + p->size - ip);
    memcpy(buffer, rec.pages + p->from + (ip - p->base), size);
    return (int) size;
}

/* Decode all of it; `lines` cache lines. */
static void decode(const char *what, const ipt_config *config, size_t lines)
{
    static ipt_cache_line memory[16384];
    static ipt_insn_decoder decoder;
    ipt_segment piece = {rec.trace, rec.trace_size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_cache cache;
    ipt_insn insn;
    uint64_t want = 0;
    size_t n = 0;
    int status;
    int i;

    if (lines)
        CHECK_EQ(ipt_cache_init(&cache, memory, lines), IPT_OK);
    CHECK_EQ(ipt_insn_init(&decoder, config, &trace, lines ? &cache : NULL),
             IPT_OK);
    status = ipt_insn_sync_forward(&decoder);
    while (status >= 0) {
        status = ipt_insn_next(&decoder, &insn);
        if (status < 0 || n >= rec.count)
            break;
        for (want = 0, i = 8; i-- > 0;)
            want = want << 8 | rec.ips[8 * n + (size_t) i];
        if (insn.ip != want)
            break;
        n++;
    }
    if (CHECK_EQ(n, rec.count) & CHECK_EQ(status, IPT_END))
        return;
    printf("    %s, %d lines, instruction %llu of %llu: decoded %llx, executed "
           "%llx, %s at offset %llx\n",
           what, (int) lines, (unsigned long long) n,
           (unsigned long long) rec.count,
           status < 0 ? 0 : (unsigned long long) insn.ip,
           (unsigned long long) want, ipt_status_name(status),
           (unsigned long long) decoder.at.offset);
}

/* Where flow begins at a PSB; 0: tracing is disabled there. It may end right
 * after the PSB+, so that the IP is that of the PSB+'s own event. */
static uint64_t begins_at(const ipt_config *config, const ipt_trace *trace,
                          uint64_t psb)
{
    static ipt_insn_decoder decoder;
    ipt_event event;
    int status;

    CHECK_EQ(ipt_insn_init(&decoder, config, trace, NULL), IPT_OK);
    status = ipt_insn_sync_set(&decoder, psb);
    CHECK(status >= 0);
    while (status >= 0 && status & IPT_EVENT_PENDING) {
        status = ipt_insn_event(&decoder, &event);
        if (status >= 0 && event.type == IPT_EVT_ENABLED)
            return event.ip;
    }
    return decoder.at.valid & IPT_AT_IP ? decoder.at.ip : 0;
}

/* Decode PSB by PSB, each with nothing but its own bytes: what they do not
 * prove is walked up to where the next one begins (IPT_CONFIG_WALK_ON). */
static void decode_segments(const char *what, const ipt_config *config)
{
    static ipt_insn_decoder decoder;
    ipt_segment whole_piece = {rec.trace, rec.trace_size};
    ipt_trace whole = {&whole_piece, 1, 0, 0};
    ipt_config on = *config;
    static ipt_pkt_decoder psbs;
    size_t n = 0;
    int more;

    on.flags |= IPT_CONFIG_WALK_ON;
    CHECK_EQ(ipt_pkt_init(&psbs, config, &whole), IPT_OK);
    more = ipt_pkt_sync_forward(&psbs) >= 0;
    while (more) {
        const uint64_t from = psbs.at.sync;
        ipt_segment piece = {rec.trace + from, rec.trace_size - (size_t) from};
        ipt_trace trace = {&piece, 1, 0, from};
        uint64_t stop = 0;
        ipt_insn insn;
        int status;
        more = ipt_pkt_sync_forward(&psbs) >= 0;
        if (more) {
            piece.size = (size_t) (psbs.at.sync - from);
            stop = begins_at(config, &whole, psbs.at.sync);
        }
        CHECK_EQ(ipt_insn_init(&decoder, more ? &on : config, &trace, NULL),
                 IPT_OK);
        status = ipt_insn_sync_forward(&decoder);
        while (status >= 0) {
            uint64_t want = 0;
            int i;
            status = ipt_insn_next(&decoder, &insn);
            if (status < 0 || (status & IPT_UNPROVEN && insn.ip == stop))
                break;
            for (i = n < rec.count ? 8 : 0; i-- > 0;)
                want = want << 8 | rec.ips[8 * n + (size_t) i];
            if (!CHECK_EQ(insn.ip, want)) {
                printf("    %s, in segments, instruction %llu of %llu\n", what,
                       (unsigned long long) n, (unsigned long long) rec.count);
                return;
            }
            n++;
        }
        /* no code need be at stop: flow may have come there to fault */
        CHECK(status == IPT_END
              || (more && (status >= 0 || (status == IPT_NEED_PAGE
                                           && decoder.at.missing == stop))));
    }
    CHECK_EQ(n, rec.count);
}

static void check_recording(const char *name, uint32_t flags)
{
    static const size_t lines[] = {64, 0, 16384};
    ipt_config config;
    size_t i;

    memset(&config, 0, sizeof(config));
    config.read = read_code;
    config.flags = flags;
    if (open_recording(name)) {
        for (i = 0; i < 3; i++)
            decode(name, &config, lines[i]);
        decode_segments(name, &config);
#ifdef HAVE_ZYDIS
        config.classify = ipt_zydis_classify;
        decode(name, &config, lines[2]);
#endif
    }
    unload();
}

/* All layers, in pieces, on little fuel, from clones, ...: see lockstep.h. */
static void check_ways(const char *name)
{
    fuzz_case c;

    memset(&c, 0, sizeof(c));
    if (open_recording(name)) {
        c.trace = rec.trace;
        c.trace_size = rec.trace_size;
        c.image = read_code;
        c.more = FUZZ_MORE_TIME;
        lockstep_ways(&c, 1);
        lockstep_cuts(&c, c.trace_size < 2000 ? c.trace_size : 4, 1);
    }
    unload();
}

/* ---- programs ---- */

/* Run a command line; returns its exit status. */
static int shell(const char *format, ...)
{
    char line[8192];
    va_list args;
    int status;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fflush(stdout);
    status = system(line);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Record a command twice at the same time, with return compression and without,
 * into NAME.on and NAME.off, its output into NAME.out. Returns ptrecord's exit
 * status. */
static int record(const char *name, const char *options, const char *command)
{
    char tool[1024];
    char to[1024];

    text(tool, sizeof(tool),
         "env -i PATH=\"$PATH\" LC_ALL=C " /* less to step through */
         "${LLVM_PROFILE_FILE:+\"LLVM_PROFILE_FILE=$LLVM_PROFILE_FILE\"} "
         "%s/ptrecord --quiet %s",
         build, options);
    text(to, sizeof(to), "%s/%s", folder, name);
    return shell("rm -rf %s.*; "
                 "%s -o %s.on -- %s >%s.out & "
                 "%s --no-retcomp -o %s.off -- %s >/dev/null; off=$?; "
                 "wait $!; on=$?; [ $on -ne 0 ] || on=$off; exit $on",
                 to, tool, to, command, to, tool, to, command);
}

static int can_record(void)
{
    if (!permitted)
        test_skip("ptrecord needs ptrace and Linux on x86-64");
    return permitted;
}

static void program(const char *name, const char *options, const char *command)
{
    char path[1024];

    if (!can_record())
        return;
    CHECK_EQ(record(name, options, command), 0);
    text(path, sizeof(path), "%s/%s.on", folder, name);
    check_recording(path, 0);
    check_ways(path);
    text(path, sizeof(path), "%s/%s.off", folder, name);
    check_recording(path, IPT_CONFIG_NO_RETCOMP);
    check_recording(path, 0); /* it need not be named */
}

TEST(bin_true)
{
    program("true", "", "true");
}

TEST(echo)
{
    program("echo", "--psb-period 0", "/bin/echo hello");
}

TEST(cat)
{
    program("cat", "--psb-period 512", "cat LICENSE");
}

TEST(sort)
{
    program("sort", "--max 200000", "sort LICENSE");
}

TEST(ls)
{
    program("ls", "--max 200000", "ls -l tests");
}

TEST(sh)
{
    program("sh", "--max 150000", "sh -c 'ls / | wc -l; exec true'");
}

/* Signals, longjmp, retpolines and the like: see programs/flow.c. */
TEST(flow)
{
    const char *cc = getenv("CC") ? getenv("CC") : "cc";
    char path[1024];
    uint8_t *meta;
    size_t size;

    if (!can_record())
        return;
    text(path, sizeof(path), "%s/flow", folder);
    if (!CHECK_EQ(shell("%s -O1 -w -static -o %s tests/programs/flow.c", cc,
                        path),
                  0))
        return;
    program("flow", "--psb-period 300", path);

    /* The program noticed nothing. */
    text(path, sizeof(path), "%s/flow", folder);
    CHECK_EQ(shell("%s | cmp - %s.out", path, path), 0);
    text(path, sizeof(path), "%s/flow.on", folder);
    meta = load(path, "meta", &size);
    if (CHECK(meta)) CHECK(strstr((char *) meta, "\nended=exit 42\n"));
    free(meta);

    /* Code that changes is refused, and nothing wrong remains. */
    CHECK_EQ(shell("%s/ptrecord --quiet -o %s/changed %s/flow rewrite "
                   "2>/dev/null",
                   build, folder, folder),
             1);
    CHECK(shell("test -e %s/changed/trace.pt", folder) != 0);

    /* An exec is followed. */
    text(path, sizeof(path), "%s/flow exec", folder);
    CHECK_EQ(record("exec", "", path), 0);
    text(path, sizeof(path), "%s/exec.on", folder);
    check_recording(path, 0);
}

/* ---- ptdemo, and the recording of our own ---- */

TEST(own_recording)
{
    check_recording("examples/recording", 0);
    check_ways("examples/recording");
}

TEST(demo)
{
    CHECK_EQ(shell("%s/ptdemo examples/recording 2>/dev/null | tail -n 1 | "
                   "grep -q '^decoded \\([0-9]*\\) instructions, executed \\1, "
                   "first difference: none$'",
                   build),
             0);
    CHECK_EQ(shell("DEMO_CORRUPT=1 %s/ptdemo examples/recording >%s/demo.out "
                   "2>/dev/null",
                   build, folder),
             1);
    CHECK_EQ(shell("tail -n 1 %s/demo.out | grep -q 'first difference: at "
                   "index .* decoded .* executed .* trace offset'",
                   folder),
             0);
}

int main(void)
{
    build = getenv("BUILD") ? getenv("BUILD") : "build";
    text(folder, sizeof(folder), "%s/record", build);
    mkdir(folder, 0777);
    setenv("LC_ALL", "C", 1);
    permitted = shell("%s/ptrecord --quiet --max 1 -o %s/try true 2>&1 |"
                      " grep -q 'ptrace is not permitted here'",
                      build, folder)
                != 0;
    RUN_FULL(bin_true);
    RUN_FULL(echo);
    RUN_FULL(cat);
    RUN_FULL(sort);
    RUN_FULL(ls);
    RUN_FULL(sh);
    RUN(flow);
    RUN(own_recording);
    RUN(demo);
    return test_report();
}
