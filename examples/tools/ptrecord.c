/* ptrecord -o DIR -- COMMAND ...: run a command and write the Intel PT trace
 * that a processor would have made of it, the code it executed, and the list of
 * the instructions it executed. Needs no Intel PT: it steps through the program
 * with ptrace. Linux on x86-64.
 *
 *     trace.pt     the trace, CPL 3 only, made with ipt_gen_*
 *     image.map    the pages of code it executed: BASE LENGTH FILE OFFSET,
 *     pages.bin    in hex, and their bytes
 *     ips.u64      address of each executed instruction, 8 bytes little-endian.
 *                  It is written from what ptrace sees, not from the trace
 *     maps         which files the code is from: BASE LENGTH OFFSET NAME
 *     meta         KEY=VALUE
 *
 * What the trace shows is what CPL3-only tracing by hardware would:
 *
 *   - The kernel is not traced. SYSCALL disables tracing; where the kernel
 *     comes back to (behind it, a signal handler, the place that sigreturn
 *     restores) it is enabled again. Signals and faults disable it before the
 *     instruction that did not execute.
 *   - All iterations of a REP string instruction are one instruction. One that
 *     a signal interrupts is listed when it completes.
 *   - A loop without any traced branch can only be left by a signal. The trace
 *     cannot tell how often it went round, so the list has it as a decoder will
 *     find it: up to the first time it comes to where the signal struck.
 *
 * Only the first thread of the command itself is recorded: other threads and
 * child processes run freely. An exec by the command is followed. Command and
 * recorder share one CPU, as that is three times as fast. Programs that write
 * or replace code that they have executed are refused. A program that blocks
 * SIGTRAP loses its own SIGTRAP handler: that is how Linux' ptrace is.
 *
 * Exit status: 0 recorded, whatever the command's own status was (it is printed
 * and in meta); 1 failed; 2 usage; 77 no ptrace here.
 *
 * SPDX-License-Identifier: MIT */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>

#define EXIT_NO_PTRACE 77

#if !defined(__linux__) || !defined(__x86_64__)

int main(void)
{
    fprintf(stderr, "ptrecord: needs Linux on x86-64\n");
    return EXIT_NO_PTRACE;
}

#else

#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../../ipt.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define VSYSCALL 0xffffffffff600000u /* emulated by the kernel, not executed */
#define CS_32 0x23                   /* Linux' CS for 32-bit code */
#define KIND_BAD 0xff                /* no instruction, or not known to us */
#define SPILL 65536                  /* addresses collected before writing */
#define LONG_LOOP (1u << 20)         /* ... and when they must be a loop */

/* ---- what is recorded ---- */

/* An instruction, as found at an offset of a page. */
typedef struct code_info {
    int32_t displacement;
    uint8_t size; /* 0: not looked at yet */
    uint8_t kind; /* IPT_INSN_ or KIND_BAD */
    uint8_t rep;  /* REP string instruction */
} code_info;

typedef struct code_page {
    uint64_t base;
    uint64_t epoch;   /* when it was last seen to be unchanged */
    uint8_t mode;     /* that info was made for */
    uint8_t writable; /* by the program, without asking the kernel */
    uint8_t bytes[PAGE];
    code_info info[PAGE];
} code_page;

/* A line of /proc/PID/maps. */
typedef struct region {
    uint64_t base;
    uint64_t end;
    uint64_t offset;
    uint8_t writable;
    uint8_t used; /* code in it executed */
    char *name;
} region;

static struct {
    /* options */
    const char *folder;
    uint64_t max; /* instructions; 0: no limit */
    int quiet;
    ipt_gen_config config;

    /* the command */
    pid_t pid;
    char **command;
    uint64_t ip;      /* of the next instruction */
    uint64_t restart; /* of a SYSCALL the kernel will repeat, or 0 */
    uint8_t mode;
    uint8_t on;       /* tracing is enabled */
    uint8_t starting; /* the next stop is the end of an exec */
    int deliver;      /* the signal to give to it next */
    int status;       /* from wait, when it ended; -1: stopped by --max */

    /* its code */
    code_page **pages; /* hash table by base */
    size_t page_count;
    size_t page_slots; /* a power of two */
    code_page *last;
    uint64_t epoch;  /* counts what may have changed code */
    int maps_stale;  /* regions have to be read again */
    region *regions; /* executable ones, all that ever were */
    size_t region_count;
    size_t region_live; /* from here on: as they are now */

    /* the outcome */
    ipt_gen gen;
    uint8_t trace[1 << 16];
    uint64_t trace_size;
    FILE *trace_file;
    FILE *ips_file;
    uint64_t *ips;
    size_t ip_count;
    size_t ip_room;
    size_t flow;      /* index in ips: what follows has left no trace yet */
    uint64_t written; /* addresses in ips_file */

    double began;
    double shown;
    uint64_t steps;
    int progress; /* a progress line is on the screen */
} rec;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static uint64_t recorded(void)
{
    return rec.written + rec.ip_count;
}

/* ---- messages ---- */

static const char *file_name(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", rec.folder, name);
    return path;
}

static void end_progress(void)
{
    if (rec.progress)
        fprintf(stderr, isatty(2) ? "\r\033[K" : "");
    rec.progress = 0;
}

/* Give up: no half recording stays behind, and no stopped process. */
static void fail(const char *format, ...)
{
    static const char *const files[] = {"trace.pt", "ips.u64", "meta",
                                        "image.map", "pages.bin", "maps"};
    va_list args;
    size_t i;

    end_progress();
    fprintf(stderr, "ptrecord: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    if (rec.pid > 0) {
        kill(rec.pid, SIGKILL);
        waitpid(rec.pid, NULL, __WALL);
    }
    for (i = 0; rec.trace_file && i < sizeof(files) / sizeof(files[0]); i++)
        remove(file_name(files[i]));
    exit(1);
}

static void *more_memory(void *old, size_t count, size_t size)
{
    void *p = realloc(old, count * size);

    if (!p)
        fail("out of memory");
    return p;
}

/* A line that is rewritten five times a second; a new one every two seconds if
 * it goes to a file. */
static void show_progress(void)
{
    const int screen = isatty(2);
    const double t = now();

    if (rec.quiet || t - rec.shown < (screen ? 0.2 : 2.0))
        return;
    rec.shown = t;
    rec.progress = 1;
    fprintf(stderr,
            "%sptrecord: %" PRIu64 " instructions, %" PRIu64
            " bytes of trace, %.0f s%s",
            screen ? "\r\033[K" : "", recorded(), rec.trace_size + rec.gen.used,
            t - rec.began, screen ? "" : "\n");
}

/* ---- the command's code ---- */

static uint64_t peek(size_t offset)
{
    long value;

    errno = 0;
    value = ptrace(PTRACE_PEEKUSER, rec.pid, offset, NULL);
    if (errno)
        fail("cannot read registers: %s", strerror(errno));
    return (uint64_t) value;
}

#define REGISTER(name) peek(offsetof(struct user_regs_struct, name))

/* Read memory of the command; 0 if it cannot be read. ptrace reads what
 * process_vm_readv does not: code that may only be executed. */
static int read_memory(uint64_t from, uint8_t *to, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *) (uintptr_t) from, size};
    size_t i;
    size_t n;

    if (process_vm_readv(rec.pid, &local, 1, &remote, 1, 0) == (ssize_t) size)
        return 1;
    for (i = 0; i < size; i += n) {
        long word;
        errno = 0;
        word = ptrace(PTRACE_PEEKTEXT, rec.pid, from + i, NULL);
        if (errno)
            return 0;
        n = size - i < sizeof(word) ? size - i : sizeof(word);
        memcpy(to + i, &word, n);
    }
    return 1;
}

/* Read the executable lines of /proc/PID/maps behind those that are in use. */
static void read_regions(void)
{
    char line[8192];
    char path[64];
    size_t kept = 0;
    size_t i;
    FILE *f;

    for (i = 0; i < rec.region_count; i++) {
        if (rec.regions[i].used)
            rec.regions[kept++] = rec.regions[i];
        else
            free(rec.regions[i].name);
    }
    rec.region_count = rec.region_live = kept;
    rec.maps_stale = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int) rec.pid);
    f = fopen(path, "r");
    if (!f)
        fail("cannot read %s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), f)) {
        region r;
        char access[5];
        int name = 0;
        memset(&r, 0, sizeof(r));
        if (sscanf(line,
                   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
                   &r.base, &r.end, access, &r.offset, &name) < 4
            || access[2] != 'x')
            continue;
        line[strcspn(line, "\n")] = 0;
        r.writable = access[1] == 'w';
        r.name = strdup(name && line[name] ? line + name : "-");
        rec.regions = (region *) more_memory(
            rec.regions, rec.region_count + 1, sizeof(*rec.regions));
        rec.regions[rec.region_count++] = r;
    }
    fclose(f);
}

/* The region an address is in, or NULL. */
static region *find_region(uint64_t ip)
{
    int again;

    for (again = rec.maps_stale ? 1 : 0; again < 2; again++) {
        size_t i;
        if (again)
            read_regions();
        for (i = rec.region_live; i < rec.region_count; i++)
            if (ip >= rec.regions[i].base && ip < rec.regions[i].end)
                return &rec.regions[i];
    }
    return NULL;
}

static code_page **page_slot(code_page **pages, size_t slots, uint64_t base)
{
    size_t i = (size_t) (base / PAGE * 0x9e3779b97f4a7c15u >> 20) & (slots - 1);

    while (pages[i] && pages[i]->base != base)
        i = (i + 1) & (slots - 1);
    return &pages[i];
}

static void grow_pages(void)
{
    const size_t slots = rec.page_slots ? 2 * rec.page_slots : 256;
    code_page **pages = (code_page **) calloc(slots, sizeof(*pages));
    size_t i;

    if (!pages)
        fail("out of memory");
    for (i = 0; i < rec.page_slots; i++)
        if (rec.pages[i])
            *page_slot(pages, slots, rec.pages[i]->base) = rec.pages[i];
    free(rec.pages);
    rec.pages = pages;
    rec.page_slots = slots;
}

/* The page at base as it is now, or NULL if there is none that can be read.
 * Whatever the kernel did may have changed it: it is compared then. */
static code_page *find_page(uint64_t base)
{
    uint8_t bytes[PAGE];
    code_page **slot;
    code_page *page;
    region *r;

    if (rec.last && rec.last->base == base && rec.last->epoch == rec.epoch)
        return rec.last;
    if (2 * rec.page_count >= rec.page_slots)
        grow_pages();
    slot = page_slot(rec.pages, rec.page_slots, base);
    page = *slot;
    if (page && page->epoch == rec.epoch)
        return rec.last = page;
    if (!read_memory(base, bytes, PAGE))
        return NULL;
    if (page && memcmp(page->bytes, bytes, PAGE))
        fail("the code at %" PRIx64 " changed after it was executed: it was "
             "mapped anew or the program writes code; this cannot be recorded",
             base);
    if (!page) {
        page = *slot = (code_page *) calloc(1, sizeof(*page));
        if (!page)
            fail("out of memory");
        rec.page_count++;
        page->base = base;
        memcpy(page->bytes, bytes, PAGE);
    }
    r = find_region(base);
    page->writable = r && r->writable;
    if (r)
        r->used = 1;
    page->epoch = rec.epoch;
    return rec.last = page;
}

/* Is it a string instruction with a REP? */
static uint8_t is_rep(const uint8_t *bytes, size_t size, uint8_t mode)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                       0x66, 0x67, 0xf0, 0xf2, 0xf3};
    uint8_t rep = 0;
    size_t i;

    for (i = 0; i < size; i++) {
        const uint8_t b = bytes[i];
        if (memchr(prefixes, b, sizeof(prefixes)))
            rep |= (b & 0xfe) == 0xf2;
        else if (mode != IPT_MODE_64 || (b & 0xf0) != 0x40)
            return rep
                   && ((b & 0xfc) == 0x6c || (b & 0xfc) == 0xa4
                       || (b >= 0xaa && b <= 0xaf));
    }
    return 0;
}

/* The instruction at ip, or NULL if it cannot be read. */
static const code_info *find_code(uint64_t ip)
{
    const uint32_t at = (uint32_t) (ip % PAGE);
    code_page *page = find_page(ip - at);
    code_info *info;
    uint8_t bytes[15];
    size_t n = PAGE - at < sizeof(bytes) ? PAGE - at : sizeof(bytes);

    if (!page)
        return NULL;
    if (page->mode != rec.mode) {
        memset(page->info, 0, sizeof(page->info));
        page->mode = rec.mode;
    }
    info = &page->info[at];
    if (info->size == 0 || at + info->size > PAGE) { /* new, or in two pages */
        ipt_code code;
        int status;
        memcpy(bytes, page->bytes + at, n);
        status = ipt_classify(&code, bytes, n, rec.mode, NULL);
        if (status == IPT_MORE) {
            code_page *next = find_page(page->base + PAGE);
            if (!next)
                return NULL;
            memcpy(bytes + n, next->bytes, sizeof(bytes) - n);
            status = ipt_classify(&code, bytes, sizeof(bytes), rec.mode, NULL);
        }
        info->kind = KIND_BAD;
        info->size = 1;
        if (status >= 0) {
            info->displacement = (int32_t) code.displacement;
            info->size = code.size;
            info->kind = code.kind;
            info->rep = is_rep(bytes, code.size, rec.mode);
        }
    }
    if (page->writable) {
        n = PAGE - at < info->size ? PAGE - at : info->size;
        if (!read_memory(ip, bytes, n) || memcmp(bytes, page->bytes + at, n))
            fail("the program changed the code at %" PRIx64
                 " after it was read; this cannot be recorded",
                 ip);
    }
    return info;
}

/* ---- trace and list ---- */

static void write_trace(void)
{
    if (fwrite(rec.trace, 1, rec.gen.used, rec.trace_file) != rec.gen.used)
        fail("cannot write %s: %s", file_name("trace.pt"), strerror(errno));
    rec.trace_size += rec.gen.used;
    rec.gen.used = 0;
}

static void write_ips(void)
{
    if (fwrite(rec.ips, 8, rec.ip_count, rec.ips_file) != rec.ip_count)
        fail("cannot write %s: %s", file_name("ips.u64"), strerror(errno));
    rec.written += rec.ip_count;
    rec.ip_count = 0;
    rec.flow = 0;
}

static void gen_event(const ipt_event *event)
{
    int status = ipt_gen_event(&rec.gen, event);

    if (status == IPT_ERR_ROOM) {
        write_trace();
        status = ipt_gen_event(&rec.gen, event);
    }
    if (status < 0)
        fail("internal error %d for event %u at %" PRIx64, status, event->type,
             event->ip);
}

static void gen_branch(const code_info *info, uint64_t ip, uint64_t to)
{
    int status = ipt_gen_branch(&rec.gen, info->kind, ip, info->size, to);

    if (status == IPT_ERR_ROOM) {
        write_trace();
        status = ipt_gen_branch(&rec.gen, info->kind, ip, info->size, to);
    }
    if (status < 0)
        fail("internal error %d for kind %u at %" PRIx64, status, info->kind,
             ip);
}

static ipt_event new_event(uint8_t type, uint64_t ip)
{
    ipt_event event;

    memset(&event, 0, sizeof(event));
    event.type = type;
    event.ip = ip;
    return event;
}

/* The trace tells how flow came here. */
static void flow_known(void)
{
    rec.flow = rec.ip_count;
    if (rec.ip_count >= SPILL)
        write_ips();
}

/* Flow is at ip, and the trace will say so, but not how often it was here
 * before without a traced branch: the first time counts. */
static void arrive_first(uint64_t ip)
{
    size_t i;

    for (i = rec.flow; i < rec.ip_count; i++)
        if (rec.ips[i] == ip)
            rec.ip_count = i;
}

static void list(uint64_t ip)
{
    if (rec.ip_count >= rec.ip_room) {
        rec.ip_room = rec.ip_room ? 2 * rec.ip_room : 2 * SPILL;
        rec.ips = (uint64_t *) more_memory(rec.ips, rec.ip_room, 8);
    }
    if (rec.ip_count - rec.flow >= LONG_LOOP)
        arrive_first(ip);
    rec.ips[rec.ip_count++] = ip;
}

static void set_mode(void)
{
    const uint8_t mode = REGISTER(cs) == CS_32 ? IPT_MODE_32 : IPT_MODE_64;
    ipt_event event = new_event(IPT_EVT_EXEC_MODE, 0);

    if (mode == rec.mode)
        return;
    rec.mode = mode;
    event.u.exec.mode = mode;
    gen_event(&event);
}

/* The instruction at ip is about to execute, or to fault. */
static void enable(uint64_t ip)
{
    ipt_event event = new_event(IPT_EVT_ENABLED, ip);

    if (rec.on)
        return;
    gen_event(&event);
    rec.on = 1;
    flow_known();
}

/* The kernel takes over: at ip, or after the instruction listed last. */
static void disable(int async, uint64_t ip)
{
    ipt_event event = new_event(
        async ? IPT_EVT_ASYNC_DISABLED : IPT_EVT_DISABLED, ip);

    if (!rec.on)
        return;
    if (async)
        arrive_first(ip);
    event.flags = IPT_EVENT_NO_TO;
    gen_event(&event);
    rec.on = 0;
    rec.epoch++;
    flow_known();
}

/* A processor that has transactions aborts one at the first step. */
static void abort_transaction(uint64_t from, uint64_t to)
{
    ipt_event event = new_event(IPT_EVT_TSX, from);

    event.u.tsx.speculative = 1;
    gen_event(&event);
    event.u.tsx.speculative = 0;
    event.u.tsx.aborted = 1;
    gen_event(&event);
    event = new_event(IPT_EVT_ASYNC_BRANCH, from);
    event.u.branch.to = to;
    gen_event(&event);
    flow_known();
}

static void inconsistent(uint64_t ip, uint64_t to)
{
    fail("the instruction at %" PRIx64 " led to %" PRIx64
         ", which its code does not say",
         ip, to);
}

/* The instruction at ip executed and led to `to`. */
static void executed(const code_info *info, uint64_t ip, uint64_t to)
{
    const uint64_t mask = rec.mode == IPT_MODE_64 ? UINT64_MAX : UINT32_MAX;
    const uint64_t next = (ip + info->size) & mask;
    const uint64_t target = (next + (uint64_t) (int64_t) info->displacement)
                            & mask;

    enable(ip);
    list(ip);
    switch (info->kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_PTWRITE:
        if (to != next)
            inconsistent(ip, to);
        break;
    case IPT_INSN_XBEGIN:
        if (to != next && to != target)
            inconsistent(ip, to);
        if (to != next)
            abort_transaction(next, to);
        break;
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
        if (to != target)
            inconsistent(ip, to);
        gen_branch(info, ip, to);
        break;
    case IPT_INSN_JCC:
        if (to != next && to != target)
            inconsistent(ip, to);
        gen_branch(info, ip, to);
        flow_known();
        break;
    case IPT_INSN_FAR_CALL:
    case IPT_INSN_FAR_JMP:
    case IPT_INSN_FAR_RET:
    case IPT_INSN_IRET:
        set_mode();
        gen_branch(info, ip, to);
        flow_known();
        break;
    case IPT_INSN_RET:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_CALL_INDIRECT:
    case IPT_INSN_JMPABS:
        gen_branch(info, ip, to);
        flow_known();
        break;
    case KIND_BAD:
        fail("the instruction at %" PRIx64 " is not known", ip);
        break;
    default: /* SYSCALL, INT: into the kernel */
        disable(0, ip);
        break;
    }
}

/* ---- stops ---- */

/* A step has ended at `ip`; say what happened to the instruction at rec.ip. */
static void stepped(const code_info *info, uint64_t ip)
{
    if (rec.ip >= VSYSCALL && rec.ip - VSYSCALL < PAGE
        && (!info || ip != rec.ip + info->size)) {
        enable(rec.ip); /* the fetch faulted and the kernel did the work */
        disable(1, rec.ip);
    } else if (!info) {
        fail("cannot read the code at %" PRIx64, rec.ip);
    } else {
        executed(info, rec.ip, ip);
    }
    rec.ip = ip;
    rec.starting = 0;
}

/* A signal is about to be delivered at rec.ip. */
static void interrupted(int signal, const siginfo_t *si)
{
    const int fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL
                      || signal == SIGFPE;

    if (fault && si->si_code > 0 && si->si_code != SI_KERNEL)
        enable(rec.ip); /* the processor got as far as this */
    disable(1, rec.ip);
    rec.deliver = signal;
}

/* Is a system call that the last signal interrupted to be repeated? */
static void look_for_restart(void)
{
    const long result = (long) REGISTER(rax);

    if (!rec.on && !rec.restart && (long) REGISTER(orig_rax) >= 0
        && result <= -512 && result >= -516)
        rec.restart = rec.ip - 2;
}

/* A SIGTRAP at the address where the step began. */
static void no_progress(const code_info *info, const siginfo_t *si)
{
    const uint64_t ip = rec.ip;

    if (si->si_code == SIGTRAP) { /* a signal's handler begins here */
        rec.restart = 0;
    } else if (si->si_code <= 0 || si->si_code == SI_KERNEL) {
        interrupted(SIGTRAP, si);
    } else if (rec.restart) {
        rec.ip = rec.restart;
        rec.restart = 0;
        stepped(find_code(rec.ip), ip);
    } else if (rec.starting) {
        rec.starting = 0;
    } else if (info && info->rep) {
        enable(ip);
    } else if (info && info->kind != IPT_INSN_OTHER && info->kind != KIND_BAD) {
        stepped(info, ip); /* a branch to itself */
    }
}

/* A SIGTRAP: nearly always the end of a step. */
static void trapped(const code_info *info, int delivered, uint64_t ip)
{
    const int careful = ip == rec.ip || delivered || !info
                        || info->kind == IPT_INSN_SYSCALL
                        || info->kind == IPT_INSN_INT;
    siginfo_t si;

    memset(&si, 0, sizeof(si));
    si.si_code = TRAP_TRACE;
    if (careful && ptrace(PTRACE_GETSIGINFO, rec.pid, NULL, &si))
        return;
    if (si.si_code == SIGTRAP)
        rec.ip = ip;
    if (ip == rec.ip) {
        no_progress(info, &si);
        return;
    }
    rec.restart = 0;
    stepped(info, ip);
    if (si.si_code <= 0 || si.si_code == SI_KERNEL) /* raise, INT3 */
        interrupted(SIGTRAP, &si);
}

static int changes_maps(uint64_t number)
{
    switch (number) {
    case SYS_mmap:
    case SYS_mprotect:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_remap_file_pages:
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_pkey_mprotect:
    case SYS_execve:
    case SYS_execveat: return 1;
    default: return rec.mode != IPT_MODE_64;
    }
}

/* Let the command do one step. Returns 0 when it has ended. */
static int step(void)
{
    const code_info *info = find_code(rec.ip);
    const int delivered = rec.deliver;
    const uint8_t kind = info ? info->kind : (uint8_t) KIND_BAD;
    int status;
    uint64_t ip;
    siginfo_t si;

    if (kind == IPT_INSN_SYSCALL || kind == IPT_INSN_INT)
        rec.maps_stale |= changes_maps(REGISTER(rax));
    rec.deliver = 0;
    if (ptrace(PTRACE_SINGLESTEP, rec.pid, NULL, delivered) && errno != ESRCH)
        fail("cannot step: %s", strerror(errno));
    while (waitpid(rec.pid, &status, __WALL) < 0)
        if (errno != EINTR)
            fail("cannot wait: %s", strerror(errno));
    if (!WIFSTOPPED(status)) {
        rec.pid = 0;
        rec.status = status;
        if (kind == IPT_INSN_SYSCALL && !delivered) {
            enable(rec.ip);
            list(rec.ip);
            disable(0, rec.ip);
        }
        disable(1, rec.ip);
        return 0;
    }
    ip = REGISTER(rip);
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
        stepped(info, ip);
        set_mode();
        rec.starting = 1;
        rec.maps_stale = 1;
    } else if (WSTOPSIG(status) == SIGTRAP) {
        trapped(info, delivered, ip);
        if (!rec.on)
            set_mode();
    } else {
        if (ip != rec.ip)
            stepped(info, ip);
        if (ptrace(PTRACE_GETSIGINFO, rec.pid, NULL, &si) == 0) {
            look_for_restart();
            interrupted(WSTOPSIG(status), &si);
        } /* else it stopped, as the signal wanted: it goes on at once */
    }
    return 1;
}

/* ---- files ---- */

static FILE *create(const char *name)
{
    FILE *f = fopen(file_name(name), "wb");

    if (!f)
        fail("cannot create %s: %s", file_name(name), strerror(errno));
    return f;
}

static void finish(FILE *f, const char *name)
{
    if (ferror(f) | fclose(f))
        fail("cannot write %s", file_name(name));
}

static int compare_pages(const void *a, const void *b)
{
    const uint64_t x = (*(code_page *const *) a)->base;
    const uint64_t y = (*(code_page *const *) b)->base;

    return x < y ? -1 : x > y;
}

/* image.map and pages.bin: pages that follow each other are one line. */
static void write_image(void)
{
    FILE *map = create("image.map");
    FILE *bin = create("pages.bin");
    size_t n = 0;
    size_t from = 0;
    size_t i;

    for (i = 0; i < rec.page_slots; i++)
        if (rec.pages[i])
            rec.pages[n++] = rec.pages[i];
    qsort(rec.pages, n, sizeof(rec.pages[0]), compare_pages);
    for (i = 0; i < n; i++) {
        fwrite(rec.pages[i]->bytes, 1, PAGE, bin);
        if (i + 1 < n && rec.pages[i + 1]->base == rec.pages[i]->base + PAGE)
            continue;
        fprintf(map, "%" PRIx64 " %zx pages.bin %zx\n", rec.pages[from]->base,
                (i + 1 - from) * PAGE, from * PAGE);
        from = i + 1;
    }
    finish(map, "image.map");
    finish(bin, "pages.bin");
}

static int compare_regions(const void *a, const void *b)
{
    const region *x = (const region *) a;
    const region *y = (const region *) b;

    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void write_maps(void)
{
    FILE *f = create("maps");
    const region *last = NULL;
    size_t i;

    qsort(rec.regions, rec.region_count, sizeof(region), compare_regions);
    for (i = 0; i < rec.region_count; i++) {
        const region *r = &rec.regions[i];
        if (!r->used || (last && compare_regions(r, last) == 0))
            continue;
        fprintf(f, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", r->base,
                r->end - r->base, r->offset, r->name);
        last = r;
    }
    finish(f, "maps");
}

static void write_meta(const char *ended)
{
    FILE *f = create("meta");
    size_t i;

    fprintf(f, "command=");
    for (i = 0; rec.command[i]; i++)
        fprintf(f, "%s%s", i ? " " : "", rec.command[i]);
    fprintf(f, "\nended=%s\nfilter=cpl3\nretcomp=%s\npsb_period=%" PRIu32 "\n",
            ended,
            rec.config.flags & IPT_CONFIG_NO_RETCOMP ? "no" : "yes",
            rec.config.psb_period);
    fprintf(f, "instructions=%" PRIu64 "\ntrace_bytes=%" PRIu64 "\npages=%zu\n",
            rec.written, rec.trace_size, rec.page_count);
    finish(f, "meta");
}

/* ---- the command ---- */

/* In the child: 'p' or 'e' and the error, if ptrace or exec fails. */
static void be_command(int report)
{
    struct {
        int what;
        int error;
    } why = {'p', 0};
    int unused;

    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        raise(SIGSTOP);
        why.what = 'e';
        execvp(rec.command[0], rec.command);
    }
    why.error = errno;
    unused = (int) write(report, &why, sizeof(why));
    _exit(unused > 0 ? 127 : 126);
}

static int no_ptrace(const char *why)
{
    fprintf(stderr, "ptrecord: ptrace is not permitted here: %s\n", why);
    return EXIT_NO_PTRACE;
}

/* Two processes that take turns are best on one CPU: any one, but recorders
 * that run at the same time should not all pick the same. */
static void share_cpu(void)
{
    cpu_set_t set;
    int skip;
    int cpu;

    if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) == 0)
        return;
    skip = getpid() % CPU_COUNT(&set);
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t) cpu, &set) || skip-- > 0)
            continue;
        CPU_ZERO(&set);
        CPU_SET((size_t) cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
        return;
    }
}

/* Start the command and stop it at its first instruction. Returns an exit
 * status. */
static int start(void)
{
    const uintptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    struct {
        int what;
        int error;
    } why = {0, 0};
    int status = 0;
    int report[2];

    if (pipe2(report, O_CLOEXEC)) {
        perror("ptrecord");
        return 1;
    }
    signal(SIGINT, SIG_IGN); /* they are for the command */
    signal(SIGQUIT, SIG_IGN);
    share_cpu();
    fflush(NULL);
    rec.pid = fork();
    if (rec.pid < 0) {
        perror("ptrecord");
        return 1;
    }
    if (rec.pid == 0) {
        close(report[0]);
        be_command(report[1]);
    }
    close(report[1]);
    if (waitpid(rec.pid, &status, 0) != rec.pid)
        return no_ptrace(strerror(errno));
    if (WIFSTOPPED(status)) {
        if (ptrace(PTRACE_SETOPTIONS, rec.pid, NULL, options)) {
            why.error = errno;
            kill(rec.pid, SIGKILL);
            waitpid(rec.pid, &status, 0);
            return no_ptrace(strerror(why.error));
        }
        ptrace(PTRACE_CONT, rec.pid, NULL, NULL);
        waitpid(rec.pid, &status, 0);
        if (WIFSTOPPED(status)) {
            close(report[0]);
            return 0;
        }
    }
    if (read(report[0], &why, sizeof(why)) == sizeof(why) && why.what == 'e') {
        fprintf(stderr, "ptrecord: cannot run %s: %s\n", rec.command[0],
                strerror(why.error));
        return 1;
    }
    return no_ptrace(why.error ? strerror(why.error) : "the command is gone");
}

static void help(FILE *f)
{
    fprintf(f,
            "usage: ptrecord [OPTIONS] -o DIR [--] COMMAND [ARGUMENT ...]\n"
            "  -o DIR          the folder to write; it is created\n"
            "  --no-retcomp    no compressed returns\n"
            "  --psb-period N  bytes between PSB+ (default 4096; 0: one PSB+)\n"
            "  --max N         end the command after N instructions\n"
            "  --quiet         no progress, no summary\n");
}

static void usage(const char *what, const char *word)
{
    fprintf(stderr, "ptrecord: %s%s\n", what, word);
    help(stderr);
    exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t most)
{
    char *end;
    unsigned long long n;

    errno = 0;
    n = text ? strtoull(text, &end, 0) : 0;
    if (!text || errno || end == text || *end || *text == '-' || n > most)
        usage("bad argument of ", option);
    return n;
}

static void options(char **argv)
{
    rec.config.psb_period = 4096;
    while (*++argv && **argv == '-') {
        if (!strcmp(*argv, "--")) {
            argv++;
            break;
        }
        if (!strcmp(*argv, "-o")) {
            rec.folder = *++argv;
            if (!rec.folder || !*rec.folder)
                usage("no folder: ", "-o");
        } else if (!strcmp(*argv, "--no-retcomp")) {
            rec.config.flags |= IPT_CONFIG_NO_RETCOMP;
        } else if (!strcmp(*argv, "--psb-period")) {
            rec.config.psb_period = (uint32_t) number(argv[0], argv[1],
                                                        UINT32_MAX);
            argv++;
        } else if (!strcmp(*argv, "--max")) {
            rec.max = number(argv[0], argv[1], UINT64_MAX);
            argv++;
        } else if (!strcmp(*argv, "--quiet")) {
            rec.quiet = 1;
        } else if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")) {
            help(stdout);
            if (fflush(stdout))
                fail("--help");
            exit(0);
        } else {
            usage("unknown option: ", *argv);
        }
    }
    rec.command = argv;
    if (!rec.folder || !*argv)
        usage(rec.folder ? "no command" : "no folder: ",
              rec.folder ? "" : "-o");
}

/* Where a standard stream is closed the next file would take its place, and
 * get what is printed. The command does not see what is put there. */
static void fill_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* mkdir -p */
static int make_folder(const char *name)
{
    char path[4096];
    size_t i;

    if (strlen(name) >= sizeof(path) - 32)
        return 0;
    strcpy(path, name);
    for (i = 1; i <= strlen(name); i++) {
        if (name[i] != '/' && name[i] != 0)
            continue;
        path[i] = 0;
        if (mkdir(path, 0777) && errno != EEXIST)
            return 0;
        path[i] = name[i];
    }
    return 1;
}

/* Step through the command until it ends or there is enough. */
static void record(void)
{
    rec.ip = REGISTER(rip);
    rec.mode = REGISTER(cs) == CS_32 ? IPT_MODE_32 : IPT_MODE_64;
    if (ipt_gen_init(&rec.gen, &rec.config, rec.mode) < 0)
        fail("internal error: ipt_gen_init");
    rec.gen.out = rec.trace;
    rec.gen.size = sizeof(rec.trace);
    rec.starting = 1;
    rec.maps_stale = 1;
    rec.epoch = 1;
    rec.began = rec.shown = now();
    while (step()) {
        if (++rec.steps % 256 == 0)
            show_progress();
        if (rec.max && recorded() >= rec.max) { /* as by an interrupt */
            disable(1, rec.ip);
            kill(rec.pid, SIGKILL);
            waitpid(rec.pid, NULL, __WALL);
            rec.pid = 0;
            rec.status = -1;
            break;
        }
    }
    if (ipt_gen_flush(&rec.gen) == IPT_ERR_ROOM) {
        write_trace();
        ipt_gen_flush(&rec.gen);
    }
    write_trace();
    write_ips();
    finish(rec.trace_file, "trace.pt");
    finish(rec.ips_file, "ips.u64");
}

int main(int argc, char **argv)
{
    char ended[32];
    int status;

    (void) argc;
    options(argv);
    fill_streams();
    if (!make_folder(rec.folder)) {
        fprintf(stderr, "ptrecord: cannot create %s: %s\n", rec.folder,
                strerror(errno));
        return 1;
    }
    status = start();
    if (status)
        return status;
    rec.trace_file = create("trace.pt");
    rec.ips_file = create("ips.u64");
    record();
    if (rec.status == -1)
        snprintf(ended, sizeof(ended), "--max");
    else if (WIFEXITED(rec.status))
        snprintf(ended, sizeof(ended), "exit %d", WEXITSTATUS(rec.status));
    else
        snprintf(ended, sizeof(ended), "signal %d", WTERMSIG(rec.status));
    write_image();
    write_maps();
    write_meta(ended);
    end_progress();
    if (!rec.quiet)
        fprintf(stderr,
                "ptrecord: %s: %" PRIu64 " instructions, %" PRIu64
                " bytes of trace, %zu pages of code, %.1f s; command ended: "
                "%s\n",
                rec.folder, rec.written, rec.trace_size, rec.page_count,
                now() - rec.began, ended);
    return 0;
}

#endif
