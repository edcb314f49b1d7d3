/* ptrecord -o DIR | --perf-data FILE -- COMMAND ...: run a command and write the
 * Intel PT trace that a processor would have made of it, the code it executed,
 * and the list of the instructions it executed. Needs no Intel PT: it steps
 * through the program with ptrace. Linux on x86-64.
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
 *     comes back to (after it, a signal handler, the place that sigreturn
 *     restores) it is enabled again. Signals and faults disable it before the
 *     instruction that did not execute.
 *   - All iterations of a REP string instruction are one instruction. One that
 *     a signal interrupts is listed when it completes.
 *   - A loop without any traced branch can only be left by a signal. The trace
 *     does not say how often it went round, so the list has it as a decoder
 *     will find it: up to the first time it comes to where the signal struck.
 *
 * With -o alone only the first thread of the command itself is recorded: other
 * threads and child processes run freely. An exec by the command is followed.
 * Command and recorder share one CPU, as that is three times as fast. Programs
 * that write or replace code that they have executed are refused. A program
 * that blocks SIGTRAP loses its own SIGTRAP handler: that is how Linux' ptrace
 * is.
 *
 * With --perf-data FILE all threads of the command and of the processes it
 * makes are recorded, with forks, execs and signals, into a perf.data that perf
 * reads. There is a queue of trace for each thread; with --cpus N one for each
 * of N processors, which the threads share. Pages of code that no file has, of a
 * JIT compiler without jitdump file, are in FILE.PID.code. With -o DIR there are,
 * too,
 *
 *     DIR/TID.u64  what each thread executed, as in ips.u64
 *     DIR/TID.calls  with --calls: for each CALL, but to the next instruction,
 *                  each RET and each exec: instructions so far, 1 for a CALL and
 *                  2 for exec, RSP after it; 8 bytes each, as in ips.u64
 *     DIR/TID.costs  with --costs: the cycles that each instruction took, 4
 *                  bytes each
 *     DIR/TID.dates  with --costs, and each with a TSC: "before", "at":
 *                  instructions that packets had shown when one said the time,
 *                  which was that before this packet, or of it; "stop",
 *                  instructions, why, and "go": the kernel took over, and came
 *                  back; "out" and "in": records of switches
 *     DIR/log      the runs of the threads, each between two stops: "run", CPU
 *                  (the number of the queue), PID, TID, the index of its first
 *                  instruction in TID.u64, their number, and the TSC before and
 *                  after it
 *
 * With --qemu the threads are those that tests/truth/qplugin.c recorded, for
 * long programs. Their order is not known: all begin early.
 *
 * Only one thread runs at a time, unless it waits in the kernel; the machine
 * that is simulated makes that parallel (record/machine.h). Its code is in the
 * files that were mapped, which must still be there when it is decoded. Other
 * code at an address where code was executed can be told apart by time only.
 *
 * Exit status: 0 recorded, whatever the command's own status was (it is printed
 * and in meta); 1 failed; 2 usage.
 *
 * SPDX-License-Identifier: MIT */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>

#if !defined(__linux__) || !defined(__x86_64__)

int main(void)
{
    fprintf(stderr, "ptrecord: ptrace is not permitted here: "
                    "this is not Linux on x86-64\n");
    return 1;
}

#else

#include "common/code/buildid.h"
#include "common/code/files.h"
#include "common/record/machine.h"
#include "common/record/process.h"
#include "common/code/jitdump.h"
#include "common/record/codefile.h"
#include "common/record/qemu.h"
#include "common/code/options.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VSYSCALL 0xffffffffff600000u /* emulated by the kernel, not executed */
#define CS_32    0x23                /* Linux' CS for 32-bit code */
#define PATIENCE 20 /* looks at a system call before asking whether it waits */

/* A thread that is recorded. While its machine_thread is WAITING it is in the
 * kernel and wait() will say what became of it; else it is stopped. */
typedef struct task {
    machine_thread m; /* has to be the first member */
    process *p;
    process_code info;    /* of the instruction that is stepped over ... */
    uint8_t has_info;     /* ... if it could be read */
    uint8_t delivered;    /* a signal was, with that step */
    uint8_t starting;     /* the next stop is the end of an exec or clone */
    uint8_t entered;      /* the kernel, and that was recorded */
    uint8_t maps_change;  /* by this system call, perhaps */
    uint8_t name_changes; /* by prctl */
    int deliver;          /* the signal to give to it next */
    FILE *calls;          /* --calls */
    uint32_t turns;       /* of a REP instruction that has not ended */
    uint64_t restart;     /* of a SYSCALL the kernel will repeat, or 0 */
} task;

static struct {
    /* options */
    const char *folder;    /* NULL: none */
    const char *perf_data; /* NULL: only the first thread, into the folder */
    uint64_t max;          /* instructions; 0: no limit */
    int quiet;
    int calls; /* say where the stack is at calls and returns */
    int costs; /* ... and what instructions cost */
    int qemu; /* the command is folders with recordings of QEMU's */
    machine_config config;

    pid_t pid; /* of the command */
    char **command;
    int status; /* from wait, when it ended; -1: stopped by --max */

    machine machine;
    task **tasks; /* all that have not ended */
    size_t task_count;
    struct {
        pid_t tid;
        int status;
    } early[64]; /* stops of children that no parent has reported yet */
    size_t early_count;
    process *first; /* of the command, for the folder */
    FILE *trace_file;
    FILE *log_file;

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

/* Every process that is recorded ends. */
static void kill_all(void)
{
    size_t i;

    for (i = 0; i < rec.task_count; i++)
        kill(rec.tasks[i]->p->pid, SIGKILL);
    if (rec.task_count == 0 && rec.pid > 0)
        kill(rec.pid, SIGKILL);
}

/* Give up: no half recording remains, and no stopped process. */
static void fail(const char *format, ...)
{
    static const char *const names[] = {"trace.pt",  "ips.u64",   "meta",
                                        "image.map", "pages.bin", "maps"};
    va_list args;
    size_t i;

    end_progress();
    fprintf(stderr, "ptrecord: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    kill_all();
    while (rec.pid > 0 && waitpid(-1, NULL, __WALL) > 0)
        ;
    for (i = 0; rec.trace_file && i < sizeof(names) / sizeof(names[0]); i++)
        remove(file_name(names[i]));
    if (rec.config.out)
        remove(rec.perf_data);
    exit(1);
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
            " bytes of trace, ",
            screen ? "\r\033[K" : "", rec.machine.instructions,
            machine_trace_size(&rec.machine));
    if (rec.perf_data)
        fprintf(stderr, "%zu threads, ", rec.task_count);
    fprintf(stderr, "%.0f s%s", t - rec.began, screen ? "" : "\n");
}

/* ---- the state of a thread ---- */

/* A register; 0 if the thread was killed, which wait() will say. */
static uint64_t peek(const task *t, size_t offset)
{
    long value;

    errno = 0;
    value = ptrace(PTRACE_PEEKUSER, (pid_t) t->m.tid, offset, NULL);
    if (errno && errno != ESRCH)
        fail("cannot read registers: %s", strerror(errno));
    return (uint64_t) value;
}

#define REGISTER(task, name) peek(task, offsetof(struct user_regs_struct, name))

static uint8_t mode_of(const task *t)
{
    return REGISTER(t, cs) == CS_32 ? IPT_MODE_32 : IPT_MODE_64;
}

static const process_code *find_code(task *t, uint64_t ip)
{
    t->p->context = t;
    return process_find(t->p, (pid_t) t->m.tid, ip, t->m.mode);
}

/* ---- what executed ---- */

/* Whatever the kernel does may change code. */
static void disable(task *t, uint64_t ip)
{
    t->p->epoch += t->m.on;
    machine_interrupted(&rec.machine, &t->m, ip);
}

/* --calls: see the top. */
static void note_stack(const task *t, unsigned kind)
{
    const uint64_t numbers[3] = {t->m.count, kind, REGISTER(t, rsp)};
    uint8_t bytes[24];
    unsigned i;

    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t) (numbers[i / 8] >> 8 * (i % 8));
    fwrite(bytes, sizeof(bytes), 1, t->calls);
}

static void executed(task *t, const process_code *info, uint64_t ip,
                     uint64_t to)
{
    machine_insn insn;
    uint8_t mode = t->m.mode;

    if (info->kind == PROCESS_BAD)
        fail("the instruction at %" PRIx64 " is not known", ip);
    insn.ip = ip;
    insn.displacement = info->displacement;
    insn.size = info->size;
    insn.kind = info->kind;
    insn.times = info->rep ? t->turns + 1 : 0;
    t->turns = 0;
    if (info->kind == IPT_INSN_FAR_CALL || info->kind == IPT_INSN_FAR_JMP
        || info->kind == IPT_INSN_FAR_RET || info->kind == IPT_INSN_IRET)
        mode = mode_of(t);
    machine_executed(&rec.machine, &t->m, &insn, to, mode);
    if (!t->m.on)
        t->p->epoch++;
    if (!t->calls)
        return;
    if (info->kind == IPT_INSN_RET)
        note_stack(t, 0);
    else if ((info->kind == IPT_INSN_CALL
              || info->kind == IPT_INSN_CALL_INDIRECT)
             && to != ip + info->size)
        note_stack(t, 1);
}

/* A step has ended at `ip`; say what happened to the instruction at t->m.ip. */
static void stepped(task *t, const process_code *info, uint64_t ip)
{
    const uint64_t from = t->m.ip;

    if (t->entered) {
        ; /* it was said already */
    } else if (from >= VSYSCALL && from - VSYSCALL < PROCESS_PAGE
               && (!info || ip != from + info->size)) {
        /* the fetch faulted and the kernel did the work */
        machine_arrived(&rec.machine, &t->m, from);
        disable(t, from);
    } else if (!info) {
        fail("cannot read the code at %" PRIx64, from);
    } else {
        executed(t, info, from, ip);
    }
    t->m.ip = ip;
    t->starting = 0;
    t->entered = 0;
}

/* The thread is in the kernel, and may stay there: what led there is said
 * now. */
static void enter(task *t)
{
    process_code info;

    if (t->entered)
        return;
    if (t->restart) {
        const process_code *again = find_code(t, t->restart);
        if (!again)
            fail("cannot read the code at %" PRIx64, t->restart);
        t->m.ip = t->restart;
        t->restart = 0;
        info = *again;
    } else {
        info = t->info;
    }
    executed(t, &info, t->m.ip, t->m.ip + info.size);
    t->entered = 1;
}

/* A signal is about to be delivered at t->m.ip. */
static void interrupted(task *t, int signal, const siginfo_t *si)
{
    const int fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL
                      || signal == SIGFPE;

    if (fault && si->si_code > 0 && si->si_code != SI_KERNEL)
        /* the processor got as far as this */
        machine_arrived(&rec.machine, &t->m, t->m.ip);
    disable(t, t->m.ip);
    t->deliver = signal;
}

/* Is a system call that the last signal interrupted to be repeated? */
static void look_for_restart(task *t)
{
    const long result = (long) REGISTER(t, rax);

    if (!t->m.on && !t->restart && (long) REGISTER(t, orig_rax) >= 0
        && result <= -512 && result >= -516)
        t->restart = t->m.ip - 2;
}

/* ---- stops ---- */

/* A SIGTRAP at the address where the step began. */
static void no_progress(task *t, const process_code *info, const siginfo_t *si)
{
    const uint64_t ip = t->m.ip;

    if (si->si_code == SIGTRAP) { /* a signal's handler begins here */
        t->restart = 0;
    } else if (si->si_code <= 0 || si->si_code == SI_KERNEL) {
        interrupted(t, SIGTRAP, si);
    } else if (t->restart) {
        t->m.ip = t->restart;
        t->restart = 0;
        stepped(t, find_code(t, t->m.ip), ip);
    } else if (t->starting) {
        t->starting = 0;
    } else if (info && info->rep) {
        machine_arrived(&rec.machine, &t->m, ip);
        t->turns++;
    } else if (info && info->kind != IPT_INSN_OTHER
               && info->kind != PROCESS_BAD) {
        stepped(t, info, ip); /* a branch to itself */
    }
}

/* A SIGTRAP: nearly always the end of a step. */
static void trapped(task *t, const process_code *info, uint64_t ip)
{
    const int careful = ip == t->m.ip || t->delivered || !info || t->entered
                        || info->kind == IPT_INSN_SYSCALL
                        || info->kind == IPT_INSN_INT
                        || info->kind == IPT_INSN_INTO;
    siginfo_t si;

    memset(&si, 0, sizeof(si));
    si.si_code = TRAP_TRACE;
    if (careful && ptrace(PTRACE_GETSIGINFO, (pid_t) t->m.tid, NULL, &si))
        return;
    if (si.si_code == SIGTRAP && !t->entered)
        t->m.ip = ip;
    if (ip == t->m.ip && !t->entered) {
        no_progress(t, info, &si);
        return;
    }
    t->restart = 0;
    stepped(t, info, ip);
    if (si.si_code <= 0 || si.si_code == SI_KERNEL) /* raise, INT3 */
        interrupted(t, SIGTRAP, &si);
}

static int changes_maps(const task *t)
{
    switch (REGISTER(t, rax)) {
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
    default: return t->m.mode != IPT_MODE_64;
    }
}

/* ---- threads and processes ---- */

static task *find_task(pid_t tid)
{
    size_t i;

    for (i = 0; i < rec.task_count; i++)
        if ((pid_t) rec.tasks[i]->m.tid == tid)
            return rec.tasks[i];
    return NULL;
}

/* A file about a thread; NULL: none is kept. */
static FILE *open_file(uint32_t tid, const char *suffix)
{
    char name[32];
    FILE *f;

    if (!rec.folder)
        return NULL;
    snprintf(name, sizeof(name), "%" PRIu32 ".%s", tid, suffix);
    if (!rec.perf_data)
        snprintf(name, sizeof(name), "ips.%s", suffix);
    f = fopen(file_name(name), "wb");
    if (!f)
        fail("cannot create %s: %s", file_name(name), strerror(errno));
    return f;
}

/* ... of what it executes. */
static void open_lists(machine_thread *t)
{
    t->list = open_file(t->tid, "u64");
    if (rec.costs) {
        t->costs = open_file(t->tid, "costs");
        t->dates = open_file(t->tid, "dates");
    }
}

static void close_file(FILE *f)
{
    if (f && ferror(f) | fclose(f))
        fail("cannot write to %s", rec.folder);
}

static void close_lists(machine_thread *t)
{
    close_file(t->list);
    close_file(t->costs);
    close_file(t->dates);
}

/* A thread that has stopped before its first instruction. */
static task *new_task(pid_t tid, process *p, task *parent)
{
    task *t = (task *) calloc(1, sizeof(*t));

    rec.tasks =
        (task **) realloc(rec.tasks, (rec.task_count + 1) * sizeof(*rec.tasks));
    if (!t || !rec.tasks) {
        fail("out of memory");
        return NULL;
    }
    rec.tasks[rec.task_count++] = t;
    p->threads++;
    t->p = p;
    t->m.pid = (uint32_t) p->pid;
    t->m.tid = (uint32_t) tid;
    t->m.ip = REGISTER(t, rip);
    t->m.mode = mode_of(t);
    open_lists(&t->m);
    if (rec.calls)
        t->calls = open_file(t->m.tid, "calls");
    t->starting = 1;
    machine_add(&rec.machine, &t->m, parent ? &parent->m : NULL);
    return t;
}

static void end_task(task *t)
{
    size_t i;

    disable(t, t->m.ip);
    machine_exit(&rec.machine, &t->m);
    close_lists(&t->m);
    close_file(t->calls);
    if (--t->p->threads == 0 && t->p != rec.first) {
        process_clear(t->p);
        free(t->p);
    }
    for (i = 0; rec.tasks[i] != t; i++)
        ;
    rec.tasks[i] = rec.tasks[--rec.task_count];
    free(t);
}

static void ended(task *t, int status)
{
    if (t->m.state == MACHINE_RUNNING && !t->entered && !t->delivered
        && t->has_info && t->info.kind == IPT_INSN_SYSCALL)
        executed(t, &t->info, t->m.ip, t->m.ip + t->info.size);
    if ((pid_t) t->m.tid == rec.pid) {
        rec.pid = 0;
        rec.status = status;
    }
    end_task(t);
}

static void said_comm(const task *t, int exec)
{
    char name[64];
    size_t n;
    FILE *f;

    snprintf(name, sizeof(name), "/proc/%" PRIu32 "/comm", t->m.tid);
    f = fopen(name, "r");
    n = f ? fread(name, 1, sizeof(name) - 1, f) : 0;
    name[n] = 0;
    name[strcspn(name, "\n")] = 0;
    if (f)
        fclose(f);
    machine_comm(&rec.machine, &t->m, name, exec);
    if (exec && t->calls)
        note_stack(t, 2);
}

/* Without time all mappings hold for the whole trace. */
static void check_timeless(const process *p, const process_region *r)
{
    size_t i;

    for (i = 0; i < p->region_count; i++) {
        const process_region *x = &p->regions[i];
        if (x->used && x->base < r->end && r->base < x->end
            && (x->inode != r->inode || strcmp(x->name, r->name)
                || x->base - x->offset != r->base - r->offset))
            fail("other code was mapped at %" PRIx64
                 " after the code there was executed: record with --time",
                 r->base);
    }
}

/* Say which build a region is of: of a file, or of the vdso. */
static void identify(pid_t tid, const process_region *r, perfwrite_map *map)
{
    static uint8_t bytes[4 * PROCESS_PAGE];
    uint64_t size = r->end - r->base;
    buildid id;

    memset(&id, 0, sizeof(id));
    if (strcmp(r->name, "[vdso]") == 0) {
        if (size <= sizeof(bytes) && process_read(tid, r->base, bytes, size))
            buildid_of_bytes(bytes, size, &id);
    } else {
        const int file = files_open(r->name, &size);
        if (file >= 0) {
            buildid_of_file(file, size, &id);
            close(file);
        }
    }
    memcpy(map->build_id, id.bytes, id.size);
    map->build_id_size = id.size;
}

static void mapped(process *p, const process_region *r)
{
    const task *t = (const task *) p->context;
    perfwrite_map map;

    if (r->base == VSYSCALL)
        return;
    if (!(rec.config.gen.flags & IPT_GEN_TSC))
        check_timeless(p, r);
    memset(&map, 0, sizeof(map));
    map.base = r->base;
    map.size = r->end - r->base;
    map.offset = r->offset;
    map.inode = r->inode;
    map.major = r->major;
    map.minor = r->minor;
    map.prot = PROT_READ | PROT_EXEC | (r->writable ? PROT_WRITE : 0u);
    map.flags = MAP_PRIVATE;
    map.name = *r->name ? r->name : "//anon";
    identify((pid_t) t->m.tid, r, &map);
    machine_map(&rec.machine, &t->m, &map);
}

/* Code of a JIT compiler that does not write it down itself: a page of it is in a
 * file of ours from here on. */
static void unfiled(process *p, process_page *page)
{
    const task *t = (const task *) p->context;
    char path[4096];
    char folder[4096 - 64];
    perfwrite_map map;
        size_t i;

    for (i = 0; i < p->region_count; i++)
        if (jitdump_is_name(p->regions[i].name))
            return;
    if (page->was_kept && !page->kept && !(rec.config.gen.flags & IPT_GEN_TSC))
        fail("there was other code at %" PRIx64 " before: record with --time",
             page->base);
    if (!realpath(rec.perf_data, folder))
        fail("cannot find %s: %s", rec.perf_data, strerror(errno));
    snprintf(path, sizeof(path), "%s.%d.code", folder, (int) p->pid);
    page->kept = codefile_put(path, &p->kept, page->kept, page->bytes);
    if (!page->kept)
        fail("cannot write %s: %s", path, strerror(errno));
    page->was_kept = 1;
    memset(&map, 0, sizeof(map));
    map.base = page->base;
    map.size = PROCESS_PAGE;
    map.offset = page->kept;
    map.prot = PROT_READ | PROT_EXEC;
    map.flags = MAP_PRIVATE;
    map.name = path;
    machine_code(&rec.machine, &t->m, &map);
}

static void read_maps(task *t)
{
    t->p->context = t;
    t->p->maps_stale = 1;
    if (rec.perf_data)
        process_read_maps(t->p, (pid_t) t->m.tid);
}

static process *new_process(pid_t pid)
{
    static const process_config for_perf = {fail, mapped, unfiled};
    static const process_config for_folder = {fail, NULL, NULL};
    process *p = (process *) calloc(1, sizeof(*p));

    if (!p) {
        fail("out of memory");
        return NULL;
    }
    p->config = rec.perf_data ? &for_perf : &for_folder;
    p->pid = pid;
    p->epoch = 1;
    return p;
}

/* Go on for a step; 0: it was killed. */
static int resume(const task *t, int signal)
{
    if (ptrace(PTRACE_SINGLESTEP, (pid_t) t->m.tid, NULL, signal) == 0)
        return 1;
    if (errno != ESRCH)
        fail("cannot step: %s", strerror(errno));
    return 0;
}

static pid_t wait_for(pid_t tid, int *status, int options)
{
    pid_t got;

    do
        got = waitpid(tid, status, __WALL | options);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != ECHILD)
        fail("cannot wait: %s", strerror(errno));
    return got;
}

/* What a new thread belongs to. */
static pid_t group_of(pid_t tid)
{
    char line[256];
    int group = tid;
    FILE *f;

    snprintf(line, sizeof(line), "/proc/%d/status", (int) tid);
    f = fopen(line, "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Tgid: %d", &group) == 1)
            break;
    if (f)
        fclose(f);
    return group;
}

/* The thread makes another one, which stops before it does anything. */
static void forked(task *t)
{
    unsigned long message = 0;
    process *p = t->p;
    int status = 0;
    pid_t child;
    size_t i;

    if (ptrace(PTRACE_GETEVENTMSG, (pid_t) t->m.tid, NULL, &message))
        return;
    child = (pid_t) message;
    for (i = 0; i < rec.early_count && rec.early[i].tid != child; i++)
        ;
    if (i < rec.early_count) {
        status = rec.early[i].status;
        rec.early[i] = rec.early[--rec.early_count];
    } else if (wait_for(child, &status, 0) != child) {
        return;
    }
    if (!WIFSTOPPED(status))
        return;
    if (group_of(child) != p->pid) {
        p = new_process(child);
        process_copy_regions(p, t->p);
    }
    new_task(child, p, t);
}

/* The process has another program. */
static void execed(task *t, const process_code *info, uint64_t ip)
{
    unsigned long former = t->m.tid;
    task *caller;

    ptrace(PTRACE_GETEVENTMSG, (pid_t) t->m.tid, NULL, &former);
    caller = former == t->m.tid ? NULL : find_task((pid_t) former);
    if (caller) { /* it takes the number of the first thread, which is gone */
        enter(caller);
        end_task(caller);
        disable(t, t->m.ip);
        t->entered = 1;
        t->deliver = 0;
        t->restart = 0;
    }
    stepped(t, info, ip);
    machine_mode(&t->m, mode_of(t));
    t->starting = 1;
    if (rec.perf_data) {
        process_clear(t->p);
        said_comm(t, 1);
    }
    read_maps(t);
}

/* ---- stops ---- */

/* What wait() said of a thread. Returns 1 if it can go on. */
static int stopped(task *t, int status)
{
    const process_code *info = t->has_info ? &t->info : NULL;
    siginfo_t si;
    uint64_t ip;

    if (!WIFSTOPPED(status)) {
        ended(t, status);
        return 0;
    }
    ip = REGISTER(t, rip);
    switch (status >> 16) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        enter(t);
        forked(t);
        resume(t, 0);
        return 0;
    case PTRACE_EVENT_EXEC: execed(t, info, ip); break;
    default:
        if (WSTOPSIG(status) == SIGTRAP) {
            trapped(t, info, ip);
            if (!t->m.on)
                machine_mode(&t->m, mode_of(t));
            break;
        }
        if (ip != t->m.ip || t->entered)
            stepped(t, info, ip);
        if (ptrace(PTRACE_GETSIGINFO, (pid_t) t->m.tid, NULL, &si) == 0) {
            look_for_restart(t);
            interrupted(t, WSTOPSIG(status), &si);
        } /* else it stopped, as the signal wanted: it goes on at once */
    }
    if (t->maps_change)
        read_maps(t);
    if (t->name_changes && rec.perf_data)
        said_comm(t, 0);
    t->maps_change = t->name_changes = t->has_info = 0;
    return 1;
}

/* What wait() said of any thread. */
static void report(pid_t tid, int status)
{
    task *t = find_task(tid);

    if (!t) {
        if (rec.early_count == sizeof(rec.early) / sizeof(rec.early[0]))
            fail("too many new threads");
        rec.early[rec.early_count].tid = tid;
        rec.early[rec.early_count++].status = status;
    } else if (stopped(t, status) && t->m.state == MACHINE_WAITING) {
        machine_ready(&rec.machine, &t->m, 0);
    }
}

/* Is a thread that was resumed in the kernel, to stay there for a while? */
static int is_asleep(const task *t)
{
    char text[256];
    const char *state;
    size_t n;
    FILE *f;

    snprintf(text, sizeof(text), "/proc/%" PRIu32 "/stat", t->m.tid);
    f = fopen(text, "r");
    n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    state = strrchr(text, ')'); /* after its name */
    return !state || (state[2] != 'R' && state[2] != 't');
}

/* Wait until a thread that was resumed stops. If it may be in a system call
 * others have their turn as soon as it sleeps. */
static void await(task *t, int may_sleep)
{
    const pid_t tid = (pid_t) t->m.tid;
    unsigned looks = 0;
    int status;
    pid_t got;

    for (;;) {
        got = wait_for(may_sleep ? tid : -1, &status, may_sleep ? WNOHANG : 0);
        if (got == tid) {
            if (WIFSTOPPED(status) ? stopped(t, status) : (ended(t, status), 1))
                return;
        } else if (got > 0) {
            report(got, status);
            if (find_task(tid) != t)
                return; /* another thread's exec ended it */
        } else if (got < 0 || (++looks > PATIENCE && is_asleep(t))) {
            /* without an answer from wait() it has a new number, from exec */
            enter(t);
            machine_wait(&rec.machine, &t->m);
            return;
        } else {
            sched_yield();
        }
    }
}

/* Do what CPUID does: where a hypervisor does it, a step over it may end one
 * instruction late. 0: the thread was killed. */
static int do_cpuid(task *t, const process_code *info)
{
    struct user_regs_struct r;
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t d;

    if (ptrace(PTRACE_GETREGS, (pid_t) t->m.tid, NULL, &r))
        return 0;
    __asm__ volatile("cpuid"
                     : "=a"(a), "=b"(b), "=c"(c), "=d"(d)
                     : "0"((uint32_t) r.rax), "2"((uint32_t) r.rcx));
    r.rax = a;
    r.rbx = b;
    r.rcx = c;
    r.rdx = d;
    r.rip += info->size;
    if (ptrace(PTRACE_SETREGS, (pid_t) t->m.tid, NULL, &r))
        return 0;
    stepped(t, info, r.rip);
    return 1;
}

/* Let a thread do one step. */
static void step(task *t)
{
    const process_code *info = find_code(t, t->m.ip);
    const int kernel =
        info && (info->kind == IPT_INSN_SYSCALL || info->kind == IPT_INSN_INT);

    t->has_info = info != NULL;
    if (info)
        t->info = *info;
    if (kernel) {
        t->maps_change = (uint8_t) changes_maps(t);
        t->name_changes =
            REGISTER(t, rax) == SYS_prctl && REGISTER(t, rdi) == PR_SET_NAME;
    }
    t->delivered = t->deliver != 0;
    if (info && info->cpuid && !t->deliver && !t->restart && do_cpuid(t, info))
        return;
    if (resume(t, t->deliver)) {
        t->deliver = 0;
        await(t, rec.perf_data && (kernel || t->restart));
    } else { /* killed: what it has not executed is not recorded */
        t->has_info = 0;
        disable(t, t->m.ip);
        machine_wait(&rec.machine, &t->m);
    }
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
    const uint64_t x = (*(process_page *const *) a)->base;
    const uint64_t y = (*(process_page *const *) b)->base;

    return x < y ? -1 : x > y;
}

/* image.map and pages.bin: pages that follow each other are one line. */
static void write_image(process *p)
{
    FILE *map = create("image.map");
    FILE *bin = create("pages.bin");
    size_t n = 0;
    size_t from = 0;
    size_t i;

    for (i = 0; i < p->page_slots; i++)
        if (p->pages[i])
            p->pages[n++] = p->pages[i];
    qsort(p->pages, n, sizeof(p->pages[0]), compare_pages);
    for (i = 0; i < n; i++) {
        fwrite(p->pages[i]->bytes, 1, PROCESS_PAGE, bin);
        if (i + 1 < n
            && p->pages[i + 1]->base == p->pages[i]->base + PROCESS_PAGE)
            continue;
        fprintf(map, "%" PRIx64 " %zx pages.bin %zx\n", p->pages[from]->base,
                (i + 1 - from) * PROCESS_PAGE, from * PROCESS_PAGE);
        from = i + 1;
    }
    finish(map, "image.map");
    finish(bin, "pages.bin");
}

static int compare_regions(const void *a, const void *b)
{
    const process_region *x = (const process_region *) a;
    const process_region *y = (const process_region *) b;

    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void write_maps(process *p)
{
    FILE *f = create("maps");
    const process_region *last = NULL;
    size_t i;

    qsort(p->regions, p->region_count, sizeof(process_region), compare_regions);
    for (i = 0; i < p->region_count; i++) {
        const process_region *r = &p->regions[i];
        if (!r->used || (last && compare_regions(r, last) == 0))
            continue;
        fprintf(f, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", r->base,
                r->end - r->base, r->offset, *r->name ? r->name : "-");
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
            ended, rec.config.gen.flags & IPT_CONFIG_NO_RETCOMP ? "no" : "yes",
            rec.config.gen.psb_period);
    fprintf(f, "instructions=%" PRIu64 "\ntrace_bytes=%" PRIu64 "\npages=%zu\n",
            rec.machine.instructions, rec.machine.trace_bytes,
            rec.first->page_count);
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
    return 1;
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
    const uintptr_t all =
        PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    const uintptr_t options =
        PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | (rec.perf_data ? all : 0);
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

static const char help[] =
    "usage: %s [<options>] -o <folder> [--] <command> [<argument> ...]\n"
    "\n"
    "Records what a command executes, by single steps, as the trace that a\n"
    "processor would have written. For its first thread -o is enough; with\n"
    "--perf-data all threads and processes are recorded.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  -o|--out <folder>         the folder to write. What it was before is\n"
    "                            kept as <folder>.old.\n"
    "  --perf-data <file>        write a perf.data; -o gets what each thread\n"
    "                            executed, <tid>.u64. What the file was before\n"
    "                            is kept as <file>.old.\n"
    "  --calls                   and where the stack is at each call and return:\n"
    "                            <tid>.calls; without --perf-data ips.calls.\n"
    "  --no-retcomp              no compressed returns.\n"
    "  --psb-period <n>          bytes between PSB+; default: 4096; 0: one PSB+.\n"
    "  --max <n>                 end the command after n instructions.\n"
    "  --quiet                   no progress, no summary.\n"
    "\n"
    "with --perf-data:\n"
    "  --time none|tsc|mtc|cyc   packets of time; each of them adds to those\n"
    "                            before it. Default: none.\n"
    "  --cpus <n>                trace by cpu, of n that the threads share;\n"
    "                            default, and 0: by thread.\n"
    "  --quantum <n>             cycles until another thread's turn, about;\n"
    "                            default: 20000.\n"
    "  --cyc-threshold <n>       cycles between two CYC packets, at least: 0, the\n"
    "                            default, or a power of 2 up to 16384.\n"
    "  --unkind                  a clock that is not flat: what instructions\n"
    "                            cost differs, system calls sleep, memory faults.\n"
    "  --costs                   with -o: <tid>.costs, cycles of each\n"
    "                            instruction, and <tid>.dates, when packets say\n"
    "                            the time.\n"
    "  --gap <n>                 cycles from the record of a switch to user code;\n"
    "                            default: 1300.\n"
    "  --seed <n>                of what is random in the simulation; default: 1.\n"
    "  --qemu                    <command> is folders that tests/truth/qplugin.c\n"
    "                            wrote under QEMU, a process each; their code is\n"
    "                            written to <file>.<pid>.elf.\n"
    "\n"
    "Example: ptrecord --perf-data ls.data --time cyc -- ls -l /\n"
    "         ptprof ls.data\n"
    "\n"
    "Files: in the folder of -o: trace.pt, the trace; ips.u64, the addresses of\n"
    "what executed, 8 bytes each; image.map and pages.bin, its code; maps; meta,\n"
    "the command and how it ended.\n"
    "\n"
    "Exit status: 0 recorded, whatever the command's own was; 1 it cannot be\n"
    "recorded; 2 the command line is wrong.\n";

/* The packets of time that --time asks for. */
static int add_time(tool_args *args)
{
    static const struct {
        const char *name;
        uint32_t flags;
    } times[] = {{"none", 0},
                 {"tsc", IPT_GEN_TSC},
                 {"mtc", IPT_GEN_TSC | IPT_GEN_MTC},
                 {"cyc", IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC}};
    const char *const what = tool_argument(args, "--time");
    size_t i;

    for (i = 0; what && i < sizeof(times) / sizeof(times[0]); i++)
        if (!strcmp(what, times[i].name)) {
            rec.config.gen.flags |= times[i].flags;
            return -1;
        }
    return what ? tool_bad_argument(args, "--time", what) : args->wrong;
}

/* An option with a number; 0: it is another one. */
static int add_number(tool_args *args, const char *option)
{
    machine_config *config = &rec.config;
    const struct {
        const char *name;
        uint64_t most;
        uint32_t *value;
    } all[] = {{"--psb-period", UINT32_MAX, &config->gen.psb_period},
               {"--cpus", 1024, &config->cpus},
               {"--quantum", 1u << 30, &config->quantum},
               {"--gap", 1u << 30, &config->gap},
               {"--cyc-threshold", 16384, &config->threshold}};
    uint64_t n;
    size_t i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(option, all[i].name))
            continue;
        if (tool_number(args, option, 32, &n))
            return args->wrong;
        if (n > all[i].most) {
            fprintf(stderr, "%s: %s: at most %" PRIu64 ".\n", args->program,
                    option, all[i].most);
            return args->wrong;
        }
        *all[i].value = (uint32_t) n;
        return -1;
    }
    return 0;
}

static int follow(tool_args *args, const char *option, void *context)
{
    const struct {
        const char *name;
        int *value;
    } flags[] = {{"--calls", &rec.calls},
                 {"--costs", &rec.costs},
                 {"--quiet", &rec.quiet},
                 {"--qemu", &rec.qemu}};
    size_t i;

    (void) context;
    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (!strcmp(option, flags[i].name)) {
            *flags[i].value = 1;
            return -1;
        }
    if (!strcmp(option, "--unkind")) {
        rec.config.unkind = 1;
    } else if (!strcmp(option, "--no-retcomp")) {
        rec.config.gen.flags |= IPT_CONFIG_NO_RETCOMP;
    } else if (!strcmp(option, "--out")) {
        rec.folder = tool_argument(args, option);
    } else if (!strcmp(option, "--perf-data")) {
        rec.perf_data = tool_argument(args, option);
    } else if (!strcmp(option, "--max")) {
        return tool_number(args, option, 64, &rec.max) ? args->wrong : -1;
    } else if (!strcmp(option, "--seed")) {
        return tool_number(args, option, 64, &rec.config.seed) ? args->wrong
                                                               : -1;
    } else if (!strcmp(option, "--time")) {
        return add_time(args);
    } else {
        return add_number(args, option);
    }
    return -1;
}

/* What is wrong with the options together; NULL. */
static const char *conflict(void)
{
    const uint32_t flags = rec.config.gen.flags;

    if (!*rec.command)
        return "no command";
    if (!rec.folder && !rec.perf_data)
        return "no -o and no --perf-data: it goes nowhere";
    if (rec.perf_data && !strcmp(rec.perf_data, "-"))
        return "--perf-data -: it has to be a file";
    if (!rec.perf_data && flags & IPT_GEN_TSC)
        return "--time: only with --perf-data";
    if (!rec.perf_data && rec.qemu)
        return "--qemu: only with --perf-data";
    if (rec.config.cpus && !(flags & IPT_GEN_TSC))
        return "--cpus: only with --time";
    if (rec.costs && !(rec.folder && flags & IPT_GEN_TSC))
        return "--costs: only with -o and --time";
    if (rec.config.threshold & (rec.config.threshold - 1))
        return "--cyc-threshold: no power of 2";
    if (rec.config.threshold && !(flags & IPT_GEN_CYC))
        return "--cyc-threshold: only with --time cyc";
    return NULL;
}

/* -1, or the exit status. */
static int options(tool_args *args)
{
    static const char *const texts[] = {help, NULL};
    const char *why;
    int status;

    rec.config.gen.psb_period = 4096;
    rec.config.seed = 1;
    rec.config.quantum = 20000;
    rec.config.gap = 1300;
    status = options_parse(args, texts, 1, follow, NULL);
    if (status >= 0)
        return status;
    rec.command = args->next;
    why = conflict();
    if (!why)
        return -1;
    fprintf(stderr, "%s: %s.  Use --help or -h for help.\n", args->program,
            why);
    return OPTIONS_WRONG;
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

static void keep_old(const char *path)
{
    if (tool_keep_old(path))
        fail("cannot rename %s to %s.old: %s", path, path, strerror(errno));
}

/* Is it what a recording leaves in its folder? */
static int is_ours(const char *name)
{
    static const char *const names[] = {
        ".", "..", "trace.pt", "ips.u64", "ips.calls", "image.map",
        "pages.bin", "maps", "meta", "log"};
    static const char *const ends[] = {".u64", ".calls", ".costs", ".dates"};
    const size_t digits = strspn(name, "0123456789");
    unsigned i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    for (i = 0; digits && i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(name + digits, ends[i]) == 0)
            return 1;
    return 0;
}

/* Remove an earlier recording: a folder with nothing else in it. Others are not
 * touched. */
static void remove_recording(const char *folder)
{
    DIR *const dir = opendir(folder);
    struct dirent *e;

    if (!dir)
        return;
    while ((e = readdir(dir)) != NULL && is_ours(e->d_name)) {
    }
    if (!e) {
        rewinddir(dir);
        while ((e = readdir(dir)) != NULL)
            unlinkat(dirfd(dir), e->d_name, 0);
        rmdir(folder);
    }
    closedir(dir);
}

/* A folder that has something becomes FOLDER.old. */
static void keep_folder(const char *folder)
{
    char *const old = malloc(strlen(folder) + sizeof(".old"));

    if (!old)
        fail("out of memory");
    if (rmdir(folder) && errno != ENOENT) {
        sprintf(old, "%s.old", folder);
        remove_recording(old);
        keep_old(folder);
    }
    free(old);
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

/* ---- recording ---- */

/* A processor like those of many servers: 3.2 GHz, a crystal of 24 MHz, an MTC
 * every eight of its ticks. */
static void prepare(void)
{
    ipt_gen_config *gen = &rec.config.gen;
    perfwrite_config out;
    uint32_t threshold = 0; /* as IA32_RTIT_CTL has it */

    rec.config.fail = fail;
    rec.config.time_shift = 31;
    rec.config.time_mult = 672770566;
    rec.config.time_zero = (uint64_t) -123456789;
    if (gen->flags & IPT_GEN_TSC) {
        gen->tsc = (uint64_t) 1 << 40;
        gen->cpuid_15_eax = 3;
        gen->cpuid_15_ebx = 400;
        gen->mtc_freq = 3;
        gen->nom_freq = gen->cbr = 32;
    }
    if (!rec.perf_data)
        return;
    memset(&out, 0, sizeof(out));
    while (rec.config.threshold >> threshold)
        threshold++;
    out.pt = 0x2001 /* branches */
             | threshold << 19
             | (gen->flags & IPT_CONFIG_NO_RETCOMP ? 0x800u : 0)
             | (gen->flags & IPT_GEN_TSC ? 0x400u : 0)
             | (gen->flags & IPT_GEN_MTC ? 0x200u | 3u << 14 : 0)
             | (gen->flags & IPT_GEN_CYC ? 2u : 0);
    out.timed = (gen->flags & IPT_GEN_TSC) != 0;
    out.time_zero = rec.config.time_zero;
    out.time_mult = rec.config.time_mult;
    out.time_shift = rec.config.time_shift;
    out.cpuid_15_eax = gen->cpuid_15_eax;
    out.cpuid_15_ebx = gen->cpuid_15_ebx;
    out.max_ratio = gen->nom_freq;
    out.by_cpu = out.switches = rec.config.cpus > 0;
    out.family = 6;
    out.model = 94;
    out.stepping = 3;
    out.cpus = rec.config.cpus;
    out.command = rec.command;
    keep_old(rec.perf_data);
    rec.config.out = perfwrite_open(rec.perf_data, &out);
    if (!rec.config.out)
        fail("cannot create %s: %s", rec.perf_data, strerror(errno));
}

/* See what became of threads that wait in the kernel. */
static void look_around(int options)
{
    int status;
    pid_t got;

    while ((got = wait_for(-1, &status, options)) > 0) {
        report(got, status);
        options = WNOHANG;
    }
}

/* The command is stopped by --max: as by an interrupt. */
static void stop_all(void)
{
    int status;
    pid_t got;

    rec.machine.stopped = 1;
    kill_all();
    while (rec.task_count > 0 && (got = wait_for(-1, &status, 0)) > 0) {
        task *t = find_task(got);
        if (t && !WIFSTOPPED(status)) {
            t->has_info = 0;
            end_task(t);
        }
    }
    rec.pid = 0;
    rec.status = -1;
}

/* Step through all threads until they end or there is enough. */
static void record(void)
{
    machine_thread *t;
    task *first;

    machine_init(&rec.machine, &rec.config);
    rec.first = new_process(rec.pid);
    first = new_task(rec.pid, rec.first, NULL);
    if (rec.perf_data)
        said_comm(first, 1);
    read_maps(first);
    rec.began = rec.shown = now();
    while (rec.task_count > 0) {
        t = machine_next(&rec.machine);
        if (t)
            step((task *) t);
        if (!t || (rec.task_count > 1 && rec.steps % 32 == 0))
            look_around(t ? WNOHANG : 0);
        if (++rec.steps % 256 == 0)
            show_progress();
        if (rec.max && rec.machine.instructions >= rec.max
            && rec.task_count > 0)
            stop_all();
    }
    machine_end(&rec.machine);
}

/* What QEMU executed, each folder a process. */
static void replay(void)
{
    const qemu_config config = {&rec.machine, rec.config.seed, open_lists,
                                close_lists, fail};
    char folder[4096 - 64];
    char elf[4096];
    qemu_program *programs = NULL;
    machine_thread *t;
    uint32_t i;

    machine_init(&rec.machine, &rec.config);
    if (!realpath(rec.perf_data, folder))
        fail("cannot find %s: %s", rec.perf_data, strerror(errno));
    for (i = 0; rec.command[i]; i++) {
        const uint32_t pid = 1000 * (i + 1);
        snprintf(elf, sizeof(elf), "%s.%" PRIu32 ".elf", folder, pid);
        programs = qemu_add(&config, programs, rec.command[i], pid, elf);
    }
    rec.began = rec.shown = now();
    while ((t = machine_next(&rec.machine)) != NULL) {
        rec.machine.stopped = rec.max && rec.machine.instructions >= rec.max;
        if (rec.machine.stopped)
            qemu_end(&config, t);
        else
            qemu_step(&config, t);
        if (++rec.steps % 65536 == 0)
            show_progress();
    }
    machine_end(&rec.machine);
    qemu_free(programs);
}

static void write_folder(const char *ended)
{
    finish(rec.trace_file, "trace.pt");
    write_image(rec.first);
    write_maps(rec.first);
    write_meta(ended);
}

int main(int argc, char **argv)
{
    tool_args args = tool_begin(argc, argv, "ptrecord");
    char ended[32];
    int status;

    status = options(&args);
    if (status >= 0)
        return status;
    fill_streams();
    status = rec.qemu ? 0 : start();
    if (status)
        return status;
    if (rec.folder) {
        keep_folder(rec.folder);
        if (!make_folder(rec.folder))
            fail("cannot create %s: %s", rec.folder, strerror(errno));
    }
    if (!rec.perf_data)
        rec.trace_file = rec.config.trace = create("trace.pt");
    else if (rec.folder)
        rec.log_file = rec.config.log = create("log");
    prepare();
    if (rec.qemu)
        replay();
    else
        record();
    if (rec.status == -1)
        snprintf(ended, sizeof(ended), "--max");
    else if (WIFEXITED(rec.status))
        snprintf(ended, sizeof(ended), "exit %d", WEXITSTATUS(rec.status));
    else
        snprintf(ended, sizeof(ended), "signal %d", WTERMSIG(rec.status));
    if (!rec.perf_data)
        write_folder(ended);
    else if (rec.log_file)
        finish(rec.log_file, "log");
    if (perfwrite_close(rec.config.out))
        fail("cannot write %s: %s", rec.perf_data, strerror(errno));
    end_progress();
    if (!rec.quiet)
        fprintf(stderr,
                "ptrecord: %s: %" PRIu64 " instructions, %" PRIu64
                " bytes of trace, %zu pages of code, %.1f s; command ended: "
                "%s\n",
                rec.perf_data ? rec.perf_data : rec.folder,
                rec.machine.instructions, rec.machine.trace_bytes,
                rec.first ? rec.first->page_count : 0, now() - rec.began,
                ended);
    return 0;
}

#endif
