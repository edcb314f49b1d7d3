/* ptcapture: record Intel PT to a perf.data.
 *
 *     ptcapture [<options>] [--] [<command> ...]
 *
 * What needs rights is done first: events, their rings, and what /proc says.
 * Then those that the caller does not have are given up for good, before the
 * command runs and before the output is created. It starts no program but the
 * command.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // execvpe, setresuid, secure_getenv
#define _FILE_OFFSET_BITS 64
#include <stdio.h>

#if !defined(__linux__) || !defined(__x86_64__)

int main(void)
{
    fprintf(stderr, "ptcapture: needs Linux on x86-64\n");
    return 1;
}

#else

#include "common/record/capture.h"
#include "common/record/kcopy.h"
#include "common/record/selftest.h"
#include "common/record/specimen.h"
#include "common/code/symbols.h"
#include "common/code/options.h"
#include "ipt.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: %s [<options>] [--] [<command> [<argument> ...]]\n"
    "\n"
    "Records Intel PT to a perf.data, for ptflow, ptprof, ptsplit and perf,\n"
    "until the command ends or Ctrl-C. Its status is that of the command.\n"
    "\n"
    "what to record:\n"
    "  <command>              and what it starts.\n"
    "  -p|--pid <pid>,...     processes that run.\n"
    "  -t|--tid <tid>,...     threads that run.\n"
    "  -a|--all               everything.\n"
    "  -C|--cpu <list>        everything on these processors: 0,2-3.\n"
    "  --per-thread           one ring for each thread, with no time: of a\n"
    "                         command its first thread only.\n"
    "  --user                 what is not the kernel. The default.\n"
    "  --kernel               the kernel; with --user both.\n"
    "  --kcore                copy the kernel's code, too; the output is a\n"
    "                         folder then.\n"
    "  --filter <where>       only there, by address; may be repeated.\n"
    "  --stop <where>         trace ends there (TraceStop).\n"
    "                         <where> is <function> or <offset>/<size>, and\n"
    "                         @<file>, if not in the program, or @kernel.\n"
    "  --pt <terms>           as perf's intel_pt/<terms>/: tsc, mtc,\n"
    "                         mtc_period=, cyc, cyc_thresh=, psb_period=,\n"
    "                         noretcomp, ptw, fup_on_ptw, event, branch; =0\n"
    "                         is off.\n"
    "\n"
    "how:\n"
    "  -o|--out <file>        default: perf.data. Only you can read it. What\n"
    "                         it was before is kept as <file>.old.\n"
    "  -S|--snapshot          keep the last bytes of each ring, and write\n"
    "                         them at SIGUSR2.\n"
    "  --at-exit              ... and at the end.\n"
    "  --trigger <function>   ... or <offset>, and @<file>: write them when it\n"
    "                         is called for the first time. Trace ends there.\n"
    "  --circular             only at the end; nothing is read before.\n"
    "  --control <fifo>       read lines from it: snapshot, stop.\n"
    "  -m|--size <bytes>      of trace in a ring: 4096, 64K, 16M, ...\n"
    "  --data <bytes>         of records in a ring.\n"
    "  --readers <n>          threads that read rings.\n"
    "  -z|--compress          records (not trace), with zstd.\n"
    "  --keep-rights          root stays root after sudo.\n"
    "  -q|--quiet             say nothing of losses and sizes.\n"
    "  --strict               status 1 if anything is lost.\n"
    "\n"
    "  --list                 say what this machine can do; for what it\n"
    "                         cannot, why, and what helps.\n"
    "  --selftest             record a program that is built in, in all ways\n"
    "                         that this machine offers, and say whether what\n"
    "                         comes out is right. What fails is kept, to be\n"
    "                         sent: examples/tools/selftest.md.\n"
    "  --selftest-program <file>  write that program.\n"
    "  -h|--help              this text.\n"
    "  --version              the version of this tool.\n"
    "\n"
    "Example: ptcapture -o ls.data -- ls -l /\n"
    "\n"
    "Other sources of trace (KVM, Xen, Windows, QEMU-Nyx, simple-pt, LLDB):\n"
    "examples/tools/capture.md.\n"
    "\n"
    "Files: /sys/bus/event_source/devices/intel_pt says what this machine can do;\n"
    "/proc/kcore and /proc/kallsyms are what --kcore copies.\n"
    "\n"
    "Exit status: that of the command, 128 and the signal that ended it; 1 it\n"
    "cannot be recorded, or --strict and anything is lost; 2 the command line is\n"
    "wrong.\n";

#define MAX_READERS 64

static struct {
    const char *program;
    const char *root; /* in front of /proc and /sys, for tests */
    /* options */
    const char *out;
    const char *control;
    const char *terms;
    char **command;
    pid_t *tids;
    size_t tid_count;
    pid_t *pids; /* of which processes records are made up */
    size_t pid_count;
    int *cpus;
    size_t cpu_count;
    const char **where; /* --filter, --stop: which of them, and its argument */
    size_t where_count;
    char *filter;
    const char *trigger_text; /* --trigger */
    capture_trigger trigger;
    uint64_t aux_size;
    uint64_t data_size;
    uint64_t readers;
    uint8_t all;
    uint8_t per_thread;
    uint8_t user;
    uint8_t kernel;
    uint8_t kcore;
    uint8_t snapshot;
    uint8_t at_exit;
    uint8_t circular;
    uint8_t compress;
    uint8_t keep_rights;
    uint8_t quiet;
    uint8_t strict;
    uint8_t want_list;
    uint8_t is_test; /* a row of --selftest: nothing else gets into the file */
    int report;      /* its program's descriptor 3; 0: none */

    capture_pmu pmu;
    capture_config config;
    capture c;
    capfile *file;
    kcopy kernel_code;
    pthread_mutex_t lock; /* of file and rings */
    int stop;             /* an eventfd: readers end */
    int ended;            /* an eventfd: a reader has no thread left */
    size_t alive;         /* readers */
    uint8_t live;         /* tracing goes on; under the lock */
    uint8_t triggered;    /* ... has ended at the trigger */
    uint64_t snapshots;

    pid_t child; /* of the command; 0: none */
    int go;      /* it waits for this pipe to be closed, ... */
    int said;    /* ... and says here that it could not be executed */
    int status;  /* from waitpid */
    uint8_t child_ended;
} rec;

__attribute__((noreturn)) static void
give_up(int status, const char *format, va_list args)
{
    fprintf(stderr, "%s: ", rec.program);
    vfprintf(stderr, format, args);
    fprintf(stderr, ".\n");
    if (rec.child > 0)
        kill(rec.child, SIGKILL);
    exit(status);
}

/* End: there is no way to do this. */
__attribute__((noreturn, format(printf, 1, 2))) static void
fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    give_up(OPTIONS_NOTHING, format, args);
}

/* End: the command line is wrong. */
__attribute__((noreturn, format(printf, 1, 2))) static void
wrong(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    give_up(OPTIONS_WRONG, format, args);
}

static void *need(void *p)
{
    if (!p)
        fail("out of memory");
    return p;
}

/* ---- what the machine says ---- */

/* The first line of a file; 0 if there is none. */
static int line_of(const char *path, char *to, size_t size)
{
    char *full = (char *) need(tool_join(rec.root, path));
    FILE *f = fopen(full, "re");
    int ok = f && fgets(to, (int) size, f);

    free(full);
    if (f)
        fclose(f);
    if (ok)
        to[strcspn(to, "\n")] = 0;
    return ok;
}

static int number_of(const char *path, int otherwise)
{
    char line[64];

    return line_of(path, line, sizeof(line)) ? atoi(line) : otherwise;
}

/* The rest of the line of a file that begins so; "" if there is none. */
static void field_of(const char *path, const char *name, char *to, size_t size)
{
    char *full = (char *) need(tool_join(rec.root, path));
    FILE *f = fopen(full, "re");
    char line[8192];
    const size_t length = strlen(name);

    to[0] = 0;
    while (f && fgets(line, sizeof(line), f)) {
        const char *p = line + length;
        if (strncmp(line, name, length))
            continue;
        p += strspn(p, " \t:");
        snprintf(to, size, "%.*s", (int) strcspn(p, "\n"), p);
        break;
    }
    free(full);
    if (f)
        fclose(f);
}

static int has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    const char *p = text;

    while ((p = strstr(p, word)) != NULL) {
        if ((p == text || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return 1;
        p += n;
    }
    return 0;
}

/* A ring of more than a page for snapshots, of at most 4 MiB, which is one piece
 * of memory, is written as a single range by kernels from 5.5 to 6.0. On these
 * processors only a Table of Physical Addresses is safe then: errata TGL052,
 * ADL037, RPL017. */
static int has_unsafe_range(void)
{
    static const uint8_t models[] = {0x8c, 0x8d, 0x97, 0x9a, 0xb7, 0xba, 0xbf};
    char family[16];
    char model[16];
    char release[128] = "";
    uint64_t single = 0;
    int major;
    int minor;

    field_of("proc/cpuinfo", "cpu family", family, sizeof(family));
    field_of("proc/cpuinfo", "model", model, sizeof(model));
    line_of("proc/sys/kernel/osrelease", release, sizeof(release));
    if (atoi(family) != 6 || sscanf(release, "%d.%d", &major, &minor) != 2
        || (major == 5 ? minor < 5 : major != 6 || minor > 0)
        || !capture_number(&rec.pmu, "caps/single_range_output", 16, &single))
        return 0;
    return single && memchr(models, atoi(model), sizeof(models)) != NULL;
}

static int is_locked_down(void)
{
    char line[128];

    return line_of("sys/kernel/security/lockdown", line, sizeof(line))
           && strstr(line, "[confidentiality]");
}

static int has_seccomp(void)
{
    char mode[16];

    field_of("proc/self/status", "Seccomp", mode, sizeof(mode));
    return atoi(mode) == 2;
}

/* Why there is no intel_pt in /sys. */
static const char *why_no_pmu(void)
{
    char vendor[64];
    char flags[8192];
    char release[128];

    field_of("proc/cpuinfo", "vendor_id", vendor, sizeof(vendor));
    field_of("proc/cpuinfo", "flags", flags, sizeof(flags));
    if (!line_of("proc/sys/kernel/osrelease", release, sizeof(release)))
        release[0] = 0;
    if (vendor[0] && strcmp(vendor, "GenuineIntel") != 0)
        return "this processor is not one of Intel's, and only those have PT: "
               "record on another machine, or with ptrecord, which needs none";
    if (!has_word(flags, "intel_pt"))
        return has_word(flags, "hypervisor")
                   ? "this virtual machine has no PT (none in CPUID): record "
                     "on its host, or let the host give it PT (KVM: load "
                     "kvm_intel with pt_mode=1, qemu -cpu host,+intel-pt)"
                   : "this processor has no PT (none in CPUID): Broadwell and "
                     "later have it, Atom from Goldmont on; firmware can hide "
                     "it: look for \"Processor Trace\" in its setup";
    if (release[0] && (atoi(release) < 4 || strncmp(release, "4.0", 3) == 0))
        return "this kernel is too old: PT needs Linux 4.1 or later";
    return "the processor has PT, but the kernel does not offer it: another "
           "hypervisor or firmware uses it, VMX may exclude it (Broadwell), or "
           "the kernel was built without CONFIG_PERF_EVENTS_INTEL_PT; look for "
           "\"PT\" in dmesg";
}

/* perf_event_paranoid and what helps. */
static void say_rights(FILE *to)
{
    const int level = number_of("proc/sys/kernel/perf_event_paranoid", 2);

    fprintf(to, "kernel.perf_event_paranoid is %d", level);
    if (level >= 3)
        fprintf(to, " (Debian and Ubuntu have such values): nothing is for "
                    "ordinary users");
    else if (level == 2)
        fprintf(to, ": only your own threads, without the kernel");
    else if (level == 1)
        fprintf(to, ": your own threads, with the kernel");
    else
        fprintf(to, ": everything is allowed");
    if (level > -1) /* cap_perfmon does not help at Debian's */
        fprintf(to, "; as root: sysctl kernel.perf_event_paranoid=%d, or "
                    "setcap %s,cap_ipc_lock=ep %s",
                rec.all ? 0 : rec.kernel ? 1 : 2,
                level >= 3 ? "cap_sys_admin" : "cap_perfmon", rec.program);
}

static void say_memory(FILE *to)
{
    struct rlimit limit = {0, 0};

    getrlimit(RLIMIT_MEMLOCK, &limit);
    fprintf(to, "a user can lock %d KiB for each processor "
                "(kernel.perf_event_mlock_kb) and ",
            number_of("proc/sys/kernel/perf_event_mlock_kb", 516));
    if (limit.rlim_cur == RLIM_INFINITY)
        fprintf(to, "any amount besides (ulimit -l)");
    else
        fprintf(to, "%" PRIu64 " KiB besides (ulimit -l)",
                (uint64_t) limit.rlim_cur / 1024);
}

/* What the kernel refused, and the remedy. */
static void explain(FILE *to, int step, int error)
{
    const char *const what[] = {"out of memory", "PT cannot be recorded",
                                "records of processes cannot be had",
                                "a ring for records cannot be mapped",
                                "a ring for trace cannot be mapped",
                                "the kernel refuses the filter",
                                "the trigger cannot be set"};

    fprintf(to, "%s: ", what[step]);
    if (step == CAPTURE_FILTER && error == EINVAL)
        fprintf(to, "it has to be a range inside of a file, or of the kernel "
                    "with --kernel, and the processor has to be able to filter "
                    "so many (see --list)");
    else if (step == CAPTURE_FILTER && error == EOPNOTSUPP)
        fprintf(to, "this processor or kernel has no filter of that kind: "
                    "record without it");
    else if (step == CAPTURE_FILTER && error == EACCES)
        fprintf(to, "kernel addresses need --kernel");
    else if (step == CAPTURE_OPEN_TRIGGER && error == EINVAL)
        fprintf(to, "there is no instruction that the kernel can stop at: give "
                    "the function, or where an instruction begins");
    else if (step == CAPTURE_OPEN_TRIGGER && error == ENOSPC)
        fprintf(to, "the debug registers are in use: end debuggers, or use a "
                    "uprobe, as root");
    else if (step == CAPTURE_OPEN_TRIGGER && !rec.trigger.address
             && (error == EACCES || error == EPERM || error == ENOENT))
        fprintf(to, "uprobes %s, and for a breakpoint it is not known where "
                    "the program will be: use -p, or link it with -no-pie, or "
                    "%s",
                error == ENOENT ? "are not in this kernel" : "need rights",
                error == ENOENT ? "boot a kernel with CONFIG_UPROBE_EVENTS"
                                : "be root, or setcap cap_perfmon,cap_ipc_lock="
                                  "ep ptcapture");
    else if (step >= CAPTURE_MAP_DATA && step <= CAPTURE_MAP_AUX
             && error == EPERM) {
        say_memory(to);
        fprintf(to, ": use a smaller --size or --data, raise these limits, or "
                    "setcap cap_perfmon,cap_ipc_lock=ep %s", rec.program);
    } else if (step >= CAPTURE_MAP_DATA && step <= CAPTURE_MAP_AUX
               && error == ENOMEM)
        fprintf(to, "there is not as much memory: use a smaller --size");
    else if (step == CAPTURE_MAP_AUX && error == EINVAL)
        fprintf(to, "the kernel does not take this --size; a processor without "
                    "topa_multiple_entries takes at most 4M for --snapshot");
    else if (error == ENOENT || error == ENODEV)
        fprintf(to, "%s", why_no_pmu());
    else if (error == EBUSY)
        fprintf(to, "PT is in use: by another recording (of the system while "
                    "this is of threads, or the other way round), by a "
                    "hypervisor, or LBR or BTS events exclude it: end those");
    else if (error == ENOSYS)
        fprintf(to, "there is no perf_event_open here: a container's seccomp "
                    "profile forbids it (docker: --security-opt "
                    "seccomp=unconfined --cap-add PERFMON), or the kernel was "
                    "built without it");
    else if (error == EMFILE || error == ENFILE)
        fprintf(to, "too many open files: raise ulimit -n, or record fewer "
                    "threads or processors");
    else if (error == ESRCH)
        fprintf(to, "a thread has ended");
    else if (error == EINVAL)
        fprintf(to, "this processor or kernel does not take this "
                    "configuration: try without --pt (see --list)");
    else if (error == EACCES || error == EPERM) {
        if (is_locked_down())
            fprintf(to, "the kernel is locked down (confidentiality): boot "
                        "without it");
        else if (has_seccomp() && geteuid() == 0)
            fprintf(to, "a seccomp filter forbids it, as containers have it "
                        "(docker: --security-opt seccomp=unconfined --cap-add "
                        "PERFMON)");
        else
            say_rights(to);
    } else
        fprintf(to, "%s", strerror(error));
}

__attribute__((noreturn)) static void refuse(int step, int error)
{
    fprintf(stderr, "%s: ", rec.program);
    explain(stderr, step, error);
    fprintf(stderr, ".\n");
    if (rec.child > 0)
        kill(rec.child, SIGKILL);
    exit(1);
}

/* ---- options ---- */

static uint64_t size_option(tool_args *args, const char *option)
{
    const char *word = tool_argument(args, option);
    const char *rest = word;
    uint64_t value;
    unsigned shift = 0;

    if (!word)
        exit(args->wrong);
    if (!tool_scan(&rest, &value))
        exit(tool_bad_argument(args, option, word));
    switch (*rest) {
    case 'k':
    case 'K': shift = 10; break;
    case 'm':
    case 'M': shift = 20; break;
    case 'g':
    case 'G': shift = 30; break;
    default: break;
    }
    if (shift)
        rest++;
    if (*rest || value > UINT64_MAX >> 1 >> shift
        || (value << shift & ((value << shift) - 1)) || value << shift < 4096
        || value << shift > (uint64_t) 1 << 36)
        wrong("%s: %s is not a power of two from 4096 to 64G", option, word);
    return value << shift;
}

/* A list of numbers, with ranges if allowed. */
static void list_option(tool_args *args, const char *option, int **list,
                        size_t *count, int ranges)
{
    const char *word = tool_argument(args, option);
    const char *rest = word;

    if (!word)
        exit(args->wrong);
    for (;;) {
        uint64_t first;
        uint64_t last;
        int ok = tool_scan(&rest, &first);
        last = first;
        if (ok && ranges && *rest == '-') {
            rest++;
            ok = tool_scan(&rest, &last);
        }
        if (!ok || first > last || last > (1u << 30) || last - first > 65535
            || (*rest && *rest != ','))
            exit(tool_bad_argument(args, option, word));
        for (; first <= last; first++) {
            if (!tool_grow(list, *count + 1, sizeof(**list)))
                need(NULL);
            (*list)[(*count)++] = (int) first;
        }
        if (!*rest)
            return;
        rest++;
    }
}

static int has_cap(const char *name, uint64_t value)
{
    char path[64];
    uint64_t mask;

    snprintf(path, sizeof(path), "caps/%s", name);
    return capture_number(&rec.pmu, path, 16, &mask) && value < 64
           && mask >> value & 1;
}

/* What a term needs of the processor. */
static int is_capable(const char *name, uint64_t value)
{
    static const struct {
        const char *term;
        const char *cap;
        uint8_t mask; /* of values */
    } needs[] = {{"mtc", "mtc", 0},
                 {"mtc_period", "mtc_periods", 1},
                 {"cyc", "psb_cyc", 0},
                 {"cyc_thresh", "cycle_thresholds", 1},
                 {"psb_period", "psb_periods", 1},
                 {"ptw", "ptwrite", 0},
                 {"fup_on_ptw", "ptwrite", 0},
                 {"pwr_evt", "power_event_trace", 0},
                 {"event", "event_trace", 0},
                 {"notnt", "tnt_disable", 0}};
    size_t i;

    for (i = 0; value && i < sizeof(needs) / sizeof(needs[0]); i++)
        if (strcmp(name, needs[i].term) == 0)
            return has_cap(needs[i].cap, needs[i].mask ? value : 0);
    return 1;
}

/* --pt: NAME or NAME=VALUE, separated by commas. */
static uint64_t configure(void)
{
    uint64_t config = capture_default(&rec.pmu);
    const char *p = rec.terms;

    while (p && *p) {
        char name[32];
        const size_t n = strcspn(p, "=,");
        uint64_t value = 1;
        uint64_t bits;
        if (n == 0 || n >= sizeof(name) || memchr(p, '/', n))
            wrong("--pt: bad term: %s", p);
        snprintf(name, sizeof(name), "%.*s", (int) n, p);
        p += n;
        if (*p == '=') {
            p++;
            if (!tool_scan(&p, &value) || (*p && *p != ','))
                wrong("--pt: %s: bad value", name);
        }
        p += *p == ',';
        bits = capture_bits(&rec.pmu, name);
        if (!bits)
            fail("--pt: this machine's PT has no %s", name);
        if (!is_capable(name, value))
            fail("--pt: this processor cannot do %s=%" PRIu64 " (see --list)",
                 name, value);
        if (value > bits / (bits & -bits))
            wrong("--pt: %s: value too big: %" PRIu64, name, value);
        config = (config & ~bits) | value * (bits & -bits);
    }
    return config;
}

/* ---- filters ---- */

/* The program that a command is. */
static char *program_of(const char *name)
{
    const char *path = getenv("PATH");
    char *found = NULL;

    if (strchr(name, '/'))
        return realpath(name, NULL);
    while (path && *path && !found) {
        const size_t n = strcspn(path, ":");
        char *folder = (char *) need(tool_copy(n ? path : ".", n ? n : 1));
        char *file = (char *) need(tool_join(folder, name));
        if (access(file, X_OK) == 0)
            found = realpath(file, NULL);
        free(file);
        free(folder);
        path += n + (path[n] == ':');
    }
    return found;
}

/* The only symbol of that name. */
static const symbol *only(const symbols_table *t, const char *name,
                          const char *where)
{
    const symbol *found = NULL;
    size_t i;

    for (i = 0; i < t->count; i++) {
        if (strcmp(t->list[i].name, name) != 0)
            continue;
        if (found && found->first != t->list[i].first)
            fail("%s has more than one %s: give an address", where, name);
        found = &t->list[i];
    }
    if (!found)
        fail("%s has no function %s", where, name);
    return found;
}

/* Symbols of the running kernel, which are read once. */
static const symbols_table *kernel_symbols(void)
{
    static symbols names;
    char *path;
    char *text;
    int fd;

    if (names.kernel.count)
        return &names.kernel;
    path = (char *) need(tool_join(rec.root, "proc/kallsyms"));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    text = fd < 0 ? NULL : kcopy_text(fd);
    if (!text)
        fail("%s: %s", path, strerror(errno));
    symbols_init(&names);
    symbols_kernel_text(&names, text);
    if (names.kernel.count == 0)
        fail("%s shows no addresses: as root: sysctl kernel.kptr_restrict=0 "
             "kernel.perf_event_paranoid=1", path);
    close(fd);
    free(path);
    return &names.kernel;
}

static void add_filter(const char *action, uint64_t from, uint64_t size,
                       const char *file)
{
    char *old = rec.filter;

    if (asprintf(&rec.filter, "%s%s%s 0x%" PRIx64 "/0x%" PRIx64 "%s%s",
                 old ? old : "", old ? "," : "", action, from, size,
                 file ? "@" : "", file ? file : "")
        < 0)
        fail("out of memory");
    free(old);
}

/* <function> or <offset>/<size>, for a trigger only <offset>, and where it is.
 * Returns the file, allocated; NULL: the kernel. */
static char *find_place(const char *text, int is_trigger, uint64_t *from,
                        uint64_t *size)
{
    static files disk; /* large */
    symbols names;
    const char *at = strrchr(text, '@');
    char *what =
        (char *) need(tool_copy(text, at ? (size_t) (at - text)
                                         : strlen(text)));
    const char *rest = what;
    const int kernel = at && strcmp(at + 1, "kernel") == 0;
    char *file = NULL;

    if (at && !kernel) {
        file = realpath(at + 1, NULL);
        if (!file)
            fail("%s: %s", at + 1, strerror(errno));
    } else if (!kernel && rec.command) {
        file = (char *) need(program_of(rec.command[0]));
    } else if (!kernel) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/exe",
                 rec.pid_count ? (int) rec.pids[0] : 0);
        file = realpath(path, NULL);
        if (!file)
            wrong("%s: in which file? Give %s@<file> or %s@kernel", text, what,
                 what);
    }
    if (kernel && !rec.kernel)
        wrong("%s: only with --kernel", text);
    if (file && !is_trigger && strpbrk(file, " ,\n\t@"))
        fail("%s: the kernel takes no name with blanks or commas", file);
    if (tool_scan(&rest, from)) {
        *size = 0;
        if (is_trigger && *rest)
            wrong("%s: an address has to be <offset>", text);
        if (!is_trigger
            && (*rest != '/' || (rest++, !tool_scan(&rest, size)) || *rest
                || !*size))
            wrong("%s: an address has to be <offset>/<size>", text);
    } else {
        const symbol *s;
        symbols_init(&names);
        files_init(&disk);
        if (kernel) {
            s = only(kernel_symbols(), what, "the kernel");
        } else {
            const files_file *f = files_get(&disk, file);
            if (!f)
                fail("%s cannot be read", file);
            symbols_find(&names, f, 0);
            if (!names.tables)
                fail("%s cannot be read", file);
            s = only(names.tables, what, file);
        }
        *from = s->first;
        *size = s->last - s->first + 1;
        symbols_free(&names);
        files_free(&disk);
    }
    free(what);
    return file;
}

static void filter_option(const char *action, const char *text)
{
    uint64_t from;
    uint64_t size;
    char *file = find_place(text, 0, &from, &size);

    add_filter(action, from, size, file);
    free(file);
}

/* ---- the trigger ---- */

/* Where an offset of a file is in memory: of a program that is linked for one
 * address, or of one that runs; 0: not known. */
static uint64_t address_of(const char *path, uint64_t offset)
{
    char line[4096 + 100];
    char maps[64];
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    FILE *f = fopen(path, "re");
    uint64_t found = 0;
    unsigned i;

    if (f && fread(&header, sizeof(header), 1, f) == 1
        && header.e_type == ET_EXEC)
        for (i = 0; i < header.e_phnum && !found; i++)
            if (fseeko(f, (off_t) (header.e_phoff + i * sizeof(segment)),
                       SEEK_SET) == 0
                && fread(&segment, sizeof(segment), 1, f) == 1
                && segment.p_type == PT_LOAD && offset >= segment.p_offset
                && offset - segment.p_offset < segment.p_filesz)
                found = segment.p_vaddr + (offset - segment.p_offset);
    if (f)
        fclose(f);
    if (found || !rec.pid_count)
        return found;
    snprintf(maps, sizeof(maps), "/proc/%d/maps", (int) rec.pids[0]);
    f = fopen(maps, "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        uint64_t from, end, at;
        int n = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64
                         " %*s %*s %n", &from, &end, &at, &n) == 3
            && n && strcmp(line + n, path) == 0 && offset >= at
            && offset - at < end - from)
            found = from + (offset - at);
    }
    if (f)
        fclose(f);
    return found;
}

/* --trigger: what it says. */
static void find_trigger(void)
{
    uint64_t size;

    if (strstr(rec.trigger_text, "@kernel"))
        wrong("--trigger: %s: not in the kernel", rec.trigger_text);
    rec.trigger.file =
        find_place(rec.trigger_text, 1, &rec.trigger.offset, &size);
    rec.trigger.address = address_of(rec.trigger.file, rec.trigger.offset);
    rec.config.trigger = &rec.trigger;
    rec.snapshot = 1;
}

/* ---- rights ---- */

static void set_ids(uid_t uid, gid_t gid)
{
    if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
        fail("rights cannot be dropped: %s", strerror(errno));
    if (uid && (setuid(0) == 0 || seteuid(0) == 0))
        fail("rights were not dropped");
}

/* The caller's are left. */
static void drop_rights(void)
{
    const char *uid = getenv("SUDO_UID");
    const char *gid = getenv("SUDO_GID");
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    if (getuid() == 0) {
        const struct passwd *who;
        uid_t id;
        if (rec.keep_rights || !uid || !gid || atoi(uid) <= 0)
            return; /* root is the caller */
        id = (uid_t) strtoul(uid, NULL, 10);
        who = getpwuid(id);
        if (who ? initgroups(who->pw_name, (gid_t) strtoul(gid, NULL, 10))
                : setgroups(0, NULL))
            fail("rights cannot be dropped: %s", strerror(errno));
        set_ids(id, (gid_t) strtoul(gid, NULL, 10));
        return; /* and the kernel took the capabilities */
    }
    if (geteuid() != getuid() || getegid() != getgid())
        set_ids(getuid(), getgid());
    if (!getauxval(AT_SECURE))
        return; /* what it has it has from the caller */
    memset(data, 0, sizeof(data));
    if (syscall(SYS_capget, &header, data))
        fail("rights cannot be dropped: %s", strerror(errno));
    data[0].effective = data[0].permitted = 0;
    data[1].effective = data[1].permitted = 0;
    if (syscall(SYS_capset, &header, data)
        || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
        fail("rights cannot be dropped: %s", strerror(errno));
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* ---- the command ---- */

static sigset_t ours; /* signals that come by signalfd */

/* The child waits until its events are there. */
static void start_command(void)
{
    int go[2];
    int said[2];
    char c;

    if (pipe2(go, O_CLOEXEC) || pipe2(said, O_CLOEXEC))
        fail("no pipe: %s", strerror(errno));
    fflush(NULL);
    rec.child = fork();
    if (rec.child < 0)
        fail("no process: %s", strerror(errno));
    if (rec.child == 0) {
        int error;
        close(go[1]);
        close(said[0]);
        prctl(PR_SET_PDEATHSIG, 0);
        drop_rights();
        if (read(go[0], &c, 1) != 1)
            _exit(1); /* nothing is recorded */
        sigprocmask(SIG_UNBLOCK, &ours, NULL);
        if (rec.report)
            dup2(rec.report, 3);
        execvp(rec.command[0], rec.command);
        error = errno;
        if (write(said[1], &error, sizeof(error)) < 0)
            _exit(1);
        _exit(127);
    }
    close(go[0]);
    close(said[1]);
    rec.go = go[1];
    rec.said = said[0];
}

static void run_command(void)
{
    int error;

    if (write(rec.go, "x", 1) != 1)
        fail("the command is gone");
    close(rec.go);
    if (read(rec.said, &error, sizeof(error)) == sizeof(error))
        fail("%s: %s", rec.command[0], strerror(error));
    close(rec.said);
}

static void look_at_child(void)
{
    int status;

    while (rec.child > 0 && !rec.child_ended
           && waitpid(rec.child, &status, WNOHANG) == rec.child) {
        rec.status = status;
        rec.child_ended = 1;
    }
}

/* ---- recording ---- */

/* A reader has each n-th ring. */
typedef struct reader {
    pthread_t thread;
    size_t first;
} reader;

/* The trigger was hit: what led to it is written, and tracing ends. Under the
 * lock. */
static void end_at_trigger(void)
{
    size_t i;

    for (i = 0; i < rec.c.ring_count; i++)
        capture_snapshot(&rec.c, i, rec.file, 0);
    capture_end_trigger(&rec.c);
    rec.snapshots++;
    rec.triggered = 1;
}

static void drain(size_t ring)
{
    pthread_mutex_lock(&rec.lock);
    if (rec.live)
        capture_drain(&rec.c, ring, rec.file, 1);
    if (rec.live && rec.c.triggered && !rec.triggered)
        end_at_trigger();
    pthread_mutex_unlock(&rec.lock);
}

static void post(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* it is full: it was posted */
}

static void *read_rings(void *argument)
{
    const reader *me = (const reader *) argument;
    const size_t step = (size_t) rec.readers;
    const size_t count = (rec.c.ring_count - me->first + step - 1) / step;
    struct pollfd *fds =
        (struct pollfd *) calloc(count + 1, sizeof(*fds));
    size_t left = count;
    size_t i;

    for (i = 0; fds && i < count; i++) {
        fds[i].fd = rec.c.rings[me->first + i * step].pt[0];
        fds[i].events = POLLIN;
    }
    if (fds) {
        fds[count].fd = rec.stop;
        fds[count].events = POLLIN;
    }
    while (fds) {
        /* now and then, in case a wakeup is late */
        if (poll(fds, count + 1, 200) < 0 && errno != EINTR)
            break;
        if (fds[count].revents)
            break;
        for (i = 0; i < count; i++) {
            drain(me->first + i * step);
            if (fds[i].revents & (POLLHUP | POLLERR)) {
                fds[i].fd = -1;
                left--;
            }
        }
        if (left == 0) {
            pthread_mutex_lock(&rec.lock);
            if (--rec.alive == 0)
                post(rec.ended);
            pthread_mutex_unlock(&rec.lock);
            left = count + 1; /* said once */
        }
    }
    free(fds);
    return NULL;
}

static void snapshot(int live)
{
    size_t i;

    pthread_mutex_lock(&rec.lock);
    for (i = 0; !rec.triggered && i < rec.c.ring_count; i++)
        capture_snapshot(&rec.c, i, rec.file, live);
    rec.snapshots += !rec.triggered;
    pthread_mutex_unlock(&rec.lock);
}

/* Lines from --control. 1: stop. */
static int obey(int fd)
{
    static char line[64];
    static size_t length;
    char c;

    while (read(fd, &c, 1) == 1) {
        if (c != '\n') {
            if (length < sizeof(line) - 1)
                line[length++] = c;
            continue;
        }
        line[length] = 0;
        length = 0;
        if (strcmp(line, "stop") == 0)
            return 1;
        if (strcmp(line, "snapshot") == 0 && rec.snapshot)
            snapshot(1);
        else
            fprintf(stderr, "%s: --control: unknown: %s\n", rec.program, line);
    }
    return 0;
}

/* Until there is a reason to end. */
static void wait_for_end(int signals, int control)
{
    struct pollfd fds[3] = {{signals, POLLIN, 0},
                            {control, POLLIN, 0},
                            {rec.ended, POLLIN, 0}};
    struct signalfd_siginfo info;

    for (;;) {
        if (poll(fds, 3, 500) < 0 && errno != EINTR)
            return;
        if (fds[1].revents && obey(control))
            return;
        while (read(signals, &info, sizeof(info)) == sizeof(info)) {
            if (info.ssi_signo == SIGUSR2 && rec.snapshot)
                snapshot(1);
            else if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR2)
                return;
        }
        look_at_child();
        if (rec.child_ended || (fds[2].revents && !rec.child))
            return;
        if (fds[2].revents)
            fds[2].fd = -1; /* the command lives on, untraced */
        if (capfile_error(rec.file))
            return; /* the disk is full, or so */
    }
}

static void record(int signals, int control)
{
    reader readers[MAX_READERS];
    size_t i;

    pthread_mutex_init(&rec.lock, NULL);
    rec.stop = eventfd(0, EFD_CLOEXEC);
    rec.ended = eventfd(0, EFD_CLOEXEC);
    if (rec.stop < 0 || rec.ended < 0)
        fail("no eventfd: %s", strerror(errno));
    if (rec.circular)
        rec.readers = 0;
    rec.alive = (size_t) rec.readers;
    rec.live = 1;
    if (!rec.config.on_exec)
        capture_enable(&rec.c);
    for (i = 0; i < rec.readers; i++) {
        readers[i].first = i;
        if (pthread_create(&readers[i].thread, NULL, read_rings, &readers[i]))
            fail("no thread: %s", strerror(errno));
    }
    if (rec.child)
        run_command();
    wait_for_end(signals, control);

    post(rec.stop);
    for (i = 0; i < rec.readers; i++)
        pthread_join(readers[i].thread, NULL);
    for (i = 0; rec.trigger_text && i < rec.c.ring_count; i++)
        drain(i); /* it may have been just now */
    rec.live = 0;
    if (rec.at_exit)
        snapshot(0);
    capture_disable(&rec.c);
    for (i = 0; i < rec.c.ring_count; i++)
        capture_drain(&rec.c, i, rec.file, 0);
    if (rec.child && !rec.child_ended) {
        kill(rec.child, SIGTERM);
        while (waitpid(rec.child, &rec.status, 0) < 0 && errno == EINTR)
            ;
    }
}

/* ---- --list ---- */

static void list_values(const char *name, const char *unit)
{
    char path[64];
    uint64_t mask;
    unsigned i;

    snprintf(path, sizeof(path), "caps/%s", name);
    if (!capture_number(&rec.pmu, path, 16, &mask))
        mask = 0;
    printf("  %-24s", name);
    for (i = 0; i < 64 && mask; i++)
        if (mask >> i & 1)
            printf(" %u", i);
    printf(mask ? " (%s)\n" : " none\n", unit);
}

static void list_cap(const char *name, const char *what)
{
    char path[64];
    uint64_t value = 0;
    const int there =
        (snprintf(path, sizeof(path), "caps/%s", name),
         capture_number(&rec.pmu, path, 16, &value));

    printf("  %-24s %s%s\n", what, there && value ? "yes" : "no",
           there && value ? "" : ": not in this processor's CPUID");
}

/* Can an event be opened? Says why not. */
static void list_try(const char *what, pid_t pid, int kernel)
{
    const int cpu = pid < 0 ? 0 : -1;
    const pid_t tid = pid;
    capture_config o;
    capture c;

    memset(&o, 0, sizeof(o));
    o.pmu = &rec.pmu;
    o.pt = capture_default(&rec.pmu);
    o.tids = &tid;
    o.tid_count = pid >= 0;
    o.cpus = &cpu;
    o.cpu_count = pid < 0;
    o.data_size = 4096;
    o.aux_size = 4096;
    o.root = rec.root;
    o.user = 1;
    o.kernel = (uint8_t) kernel;
    rec.all = pid < 0;
    rec.kernel = (uint8_t) kernel;
    printf("  %-24s ", what);
    if (capture_open(&c, &o)) {
        printf("no: ");
        explain(stdout, c.failed, errno);
        printf("\n");
    } else {
        printf("yes\n");
    }
    capture_close(&c);
}

static int list(const tool_args *args)
{
    uint64_t filters = 0;
    char cpuid[64];

    if (capture_cpuid(cpuid, sizeof(cpuid)))
        printf("processor %s\n", cpuid);
    if (capture_find(&rec.pmu, rec.root) < 0) {
        printf("Intel PT: no: %s\n", why_no_pmu());
        return tool_end(args, 1);
    }
    printf("Intel PT: yes, event type %" PRIu32 "\n", rec.pmu.type);
    list_cap("mtc", "mtc");
    list_values("mtc_periods", "2^n ticks of the crystal");
    list_cap("psb_cyc", "cyc, psb_period");
    list_values("cycle_thresholds", "2^(n-1) cycles");
    list_values("psb_periods", "2^(n+11) bytes");
    list_cap("ptwrite", "ptw");
    list_cap("event_trace", "event");
    list_cap("power_event_trace", "pwr_evt");
    list_cap("tnt_disable", "notnt");
    list_cap("topa_multiple_entries", "large rings in pieces");
    printf("  %-24s %s\n", "snapshots of up to 4M",
           has_unsafe_range() ? "no: this processor has an erratum that Linux "
                                "before 6.1 does not avoid: use --size 8M"
                              : "yes");
    capture_number(&rec.pmu, "nr_addr_filters", 10, &filters);
    printf("  %-24s %" PRIu64 "\n", "--filter, --stop", filters);
    printf("as this user:\n");
    list_try("a thread", 0, 0);
    list_try("with the kernel", 0, 1);
    list_try("-a", -1, 0);
    list_try("-a with the kernel", -1, 1);
    printf("  %-24s ", "memory");
    say_memory(stdout);
    printf("\n");
    return tool_end(args, 0);
}

/* ---- the whole ---- */

static int write_specimen(tool_args *args, const char *option)
{
    const char *file = tool_argument(args, option);

    if (!file)
        return 1;
    if (specimen_write(file))
        fail("cannot create %s: %s", file, strerror(errno));
    return tool_end(args, 0);
}

/* Returns an exit status, or -1 to go on. */
/* Options without an argument; 0: it is another one. */
static int add_flag(const char *option)
{
    static const struct {
        const char *name;
        uint8_t *flag;
        uint8_t *too; /* or NULL */
    } all[] = {{"--list", &rec.want_list, NULL},
               {"--all", &rec.all, NULL},
               {"--selftest", &rec.is_test, NULL},
               {"--per-thread", &rec.per_thread, NULL},
               {"--user", &rec.user, NULL},
               {"--kernel", &rec.kernel, NULL},
               {"--kcore", &rec.kcore, &rec.kernel},
               {"--snapshot", &rec.snapshot, NULL},
               {"--at-exit", &rec.at_exit, &rec.snapshot},
               {"--circular", &rec.circular, &rec.at_exit},
               {"--compress", &rec.compress, NULL},
               {"--keep-rights", &rec.keep_rights, NULL},
               {"--strict", &rec.strict, NULL},
               {"--quiet", &rec.quiet, NULL}};
    size_t i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(option, all[i].name) == 0) {
            *all[i].flag = 1;
            if (all[i].too)
                *all[i].too = 1;
            return -1;
        }
    return 0;
}

static int follow(tool_args *args, const char *option, void *context)
{
    static const struct {
        const char *name;
        const char **text;
    } texts[] = {{"--out", &rec.out},
                 {"--control", &rec.control},
                 {"--pt", &rec.terms},
                 {"--trigger", &rec.trigger_text}};
    size_t i;

    (void) context;
    if (add_flag(option))
        return -1;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(option, texts[i].name) == 0) {
            *texts[i].text = tool_argument(args, option);
            return -1;
        }
    if (strcmp(option, "--selftest-program") == 0) {
        exit(write_specimen(args, option));
    } else if (strcmp(option, "--size") == 0) {
        rec.aux_size = size_option(args, option);
    } else if (strcmp(option, "--data") == 0) {
        rec.data_size = size_option(args, option);
    } else if (strcmp(option, "--pid") == 0) {
        list_option(args, option, &rec.pids, &rec.pid_count, 0);
    } else if (strcmp(option, "--tid") == 0) {
        list_option(args, option, &rec.tids, &rec.tid_count, 0);
    } else if (strcmp(option, "--cpu") == 0) {
        list_option(args, option, &rec.cpus, &rec.cpu_count, 1);
    } else if (strcmp(option, "--readers") == 0) {
        return tool_number(args, option, 6, &rec.readers) ? args->wrong : -1;
    } else if (strcmp(option, "--filter") == 0
               || strcmp(option, "--stop") == 0) {
        if (!tool_grow(&rec.where, rec.where_count + 2, sizeof(*rec.where)))
            need(NULL);
        rec.where[rec.where_count++] = option[2] == 's' ? "stop" : "filter";
        rec.where[rec.where_count++] = tool_argument(args, option);
    } else {
        return 0;
    }
    return -1;
}

/* What is wrong with the options together. */
static void check_options(void)
{
    const int threads = rec.pid_count || rec.tid_count;

    if (rec.all + threads > 1 || (rec.cpu_count && threads)
        || (rec.command && threads))
        wrong("a command, -p and -t, -a or -C: one of them");
    rec.all |= rec.cpu_count > 0;
    if (!rec.command && !rec.all && !threads)
        wrong("nothing to record.  Use --help or -h for help");
    if (strcmp(rec.out, "-") == 0)
        wrong("-o -: it has to be a file");
    if (rec.per_thread && rec.all)
        wrong("--per-thread is for a command, -p or -t");
    if ((rec.snapshot || rec.trigger_text) && rec.circular)
        wrong("--snapshot, --trigger or --circular: one of them");
    if (!rec.kernel)
        rec.user = 1;
}

static int parse(tool_args *args)
{
    static const char *const help_texts[] = {help, NULL};
    uint64_t most = 0;
    int status;
    size_t i;

    rec.out = "perf.data";
    status = options_parse(args, help_texts, 1, follow, NULL);
    if (status >= 0)
        return status;
    if (rec.want_list)
        return list(args);
    if (rec.is_test) {
        if (capture_find(&rec.pmu, rec.root) < 0)
            fail("PT cannot be recorded: %s", why_no_pmu());
        return -1;
    }
    rec.command = *args->next ? args->next : NULL;
    check_options();
    if (rec.command) {
        char *program = program_of(rec.command[0]);
        if (!program)
            fail("%s: no such program", rec.command[0]);
        free(program);
    }
    if (capture_find(&rec.pmu, rec.root) < 0)
        fail("PT cannot be recorded: %s", why_no_pmu());
    capture_number(&rec.pmu, "nr_addr_filters", 10, &most);
    if (rec.where_count / 2 > most)
        fail("this processor can filter %" PRIu64 " ranges, not %zu", most,
             rec.where_count / 2);
    for (i = 0; i < rec.where_count; i += 2)
        filter_option(rec.where[i], rec.where[i + 1]);
    free(rec.where);
    if (rec.trigger_text)
        find_trigger();
    return -1;
}

/* Whose events: the threads of processes; and of threads the processes. */
static void find_threads(void)
{
    const size_t given = rec.tid_count;
    const size_t processes = rec.pid_count;
    size_t i;

    for (i = 0; i < processes; i++) {
        pid_t *tids;
        const size_t n = capture_threads(rec.root, rec.pids[i], &tids);
        if (!n)
            fail("there is no process %d", (int) rec.pids[i]);
        if (!tool_grow(&rec.tids, rec.tid_count + n, sizeof(*rec.tids)))
            need(NULL);
        memcpy(rec.tids + rec.tid_count, tids, n * sizeof(*tids));
        rec.tid_count += n;
        free(tids);
    }
    for (i = 0; i < given; i++) {
        char path[64];
        char group[32];
        snprintf(path, sizeof(path), "proc/%d/status", (int) rec.tids[i]);
        field_of(path, "Tgid", group, sizeof(group));
        if (!group[0])
            fail("there is no thread %d", (int) rec.tids[i]);
        if (!tool_grow(&rec.pids, rec.pid_count + 1, sizeof(*rec.pids)))
            need(NULL);
        rec.pids[rec.pid_count++] = (pid_t) atoi(group);
    }
}

/* All processors that are online, as /sys lists them. */
static void find_cpus(void)
{
    char line[4096];
    char *words[] = {line, NULL};
    tool_args args = {rec.program, words, NULL, 1};

    if (rec.cpu_count)
        return;
    if (!line_of("sys/devices/system/cpu/online", line, sizeof(line)))
        snprintf(line, sizeof(line), "0");
    list_option(&args, "cpu/online", &rec.cpus, &rec.cpu_count, 1);
}

static void set_up(void)
{
    capture_config *o = &rec.config;
    const int privileged =
        geteuid() == 0
        || number_of("proc/sys/kernel/perf_event_paranoid", 2) < 0;
    int unsafe;

    o->pmu = &rec.pmu;
    o->pt = configure();
    if (rec.command)
        start_command();
    if (rec.child && !rec.all) {
        rec.tids = &rec.child;
        rec.tid_count = 1;
    } else {
        find_threads();
    }
    if (!rec.per_thread)
        find_cpus();
    unsafe = (rec.snapshot || rec.circular) && has_unsafe_range();
    if (!rec.aux_size)
        rec.aux_size = !privileged ? 128u << 10 : unsafe ? 8u << 20 : 4u << 20;
    if (unsafe && rec.aux_size > 4096 && rec.aux_size <= 4u << 20)
        fprintf(stderr, "%s: trace may be damaged, by this processor's erratum "
                        "of output to a single range: use --size 8M, or Linux "
                        "6.1\n",
                rec.program);
    if (!rec.data_size)
        rec.data_size = privileged ? 512u << 10 : 256u << 10;
    o->tids = rec.tids;
    o->tid_count = rec.tid_count;
    o->cpus = rec.cpus;
    o->cpu_count = rec.cpu_count;
    o->data_size = (size_t) rec.data_size;
    o->aux_size = (size_t) rec.aux_size;
    o->filter = rec.filter;
    o->root = rec.root;
    o->kernel = rec.kernel;
    o->user = rec.user;
    o->overwrite = rec.snapshot || rec.circular;
    o->on_exec = rec.child && !rec.all;
    if (capture_open(&rec.c, o))
        refuse(rec.c.failed, errno);
    if (!rec.readers || rec.readers > rec.c.ring_count)
        rec.readers = rec.c.ring_count;
    if (rec.readers > MAX_READERS)
        rec.readers = MAX_READERS;
}

/* Records of what was there before. */
static void make_up(capture_text *info, capture_text *records)
{
    size_t i;

    capture_info(&rec.c, info);
    if (rec.kernel && !rec.is_test)
        capture_kernel(&rec.c, records);
    if (rec.all)
        capture_all_processes(&rec.c, records);
    else if (rec.child)
        capture_process(&rec.c, records, rec.child, 1);
    else
        for (i = 0; i < rec.pid_count; i++)
            capture_process(&rec.c, records, rec.pids[i], 0);
    if (info->failed || records->failed)
        fail("out of memory");
}

static void create(void)
{
    char *path = NULL;

    if (tool_keep_old(rec.out))
        fail("cannot rename %s to %s.old: %s", rec.out, rec.out,
             strerror(errno));
    if (rec.kcore) {
        if (mkdir(rec.out, 0700))
            fail("cannot create %s: %s", rec.out, strerror(errno));
        path = (char *) need(tool_join(rec.out, "kcore_dir"));
        if (mkdir(path, 0700) || kcopy_write(&rec.kernel_code, path))
            fail("cannot write the kernel's code: %s", strerror(errno));
        free(path);
        path = (char *) need(tool_join(rec.out, "data"));
    }
    rec.file = capfile_create(path ? path : rec.out, rec.compress);
    if (!rec.file)
        fail("cannot create %s: %s", path ? path : rec.out,
             errno == ENOTSUP && rec.compress
                 ? "built without zstd (package libzstd-dev)"
                 : strerror(errno));
    free(path);
}

static int has_lost(void)
{
    const capture_losses *l = &rec.c.losses;

    return l->truncated || l->partial || l->collisions || l->records;
}

static void summarise(uint64_t size)
{
    const capture_losses *l = &rec.c.losses;

    if (rec.quiet)
        return;
    if (l->truncated)
        fprintf(stderr, "%s: lost: trace, %" PRIu64 " time%s, when a ring was "
                        "full: try a larger --size, or --filter\n",
                rec.program, l->truncated, TOOL_S(l->truncated));
    if (l->partial)
        fprintf(stderr, "%s: lost: trace, %" PRIu64 " time%s, while a "
                        "hypervisor used the processor\n",
                rec.program, l->partial, TOOL_S(l->partial));
    if (l->collisions)
        fprintf(stderr, "%s: lost: trace, perhaps, %" PRIu64 " time%s, when "
                        "something else used PT\n",
                rec.program, l->collisions, TOOL_S(l->collisions));
    if (l->records)
        fprintf(stderr, "%s: lost: %" PRIu64 " record%s of processes and "
                        "switches: try a larger --data\n",
                rec.program, l->records, TOOL_S(l->records));
    if (rec.trigger_text)
        fprintf(stderr, "%s: trigger: a %s, %s%s\n", rec.program,
                rec.c.is_break ? "breakpoint" : "uprobe",
                rec.triggered ? "hit" : "not hit: there is no snapshot of it",
                rec.triggered && !rec.c.pauses
                    ? "; this kernel cannot stop trace at once (6.13 can), so "
                      "some follows"
                    : "");
    fprintf(stderr, "%s: %s: %" PRIu64 " bytes", rec.program, rec.out, size);
    if (rec.snapshot)
        fprintf(stderr, ", %" PRIu64 " snapshots", rec.snapshots);
    fprintf(stderr, "\n");
}

static int finish(char *const *argv)
{
    const uint64_t round = 68 | (uint64_t) 8 << 48;
    char cpuid[64];
    capfile_about about;
    uint64_t size;

    memset(&about, 0, sizeof(about));
    about.command = argv;
    about.nameless = rec.is_test;
    about.cpuid = capture_cpuid(cpuid, sizeof(cpuid)) ? cpuid : NULL;
    about.cpus = (uint32_t) sysconf(_SC_NPROCESSORS_ONLN);
    about.pmu = rec.pmu.type;
    about.ring = rec.data_size;
    about.folder = rec.kcore;
    capfile_plain(rec.file, &round, sizeof(round));
    capfile_features(rec.file, &about);
    size = capfile_size(rec.file);
    if (capfile_close(rec.file)) {
        fprintf(stderr, "%s: cannot write %s: %s.\n", rec.program, rec.out,
                strerror(errno));
        return 1;
    }
    summarise(size);
    return 0;
}

/* Record what the options say. Returns the exit status. */
static int run(char *const *argv)
{
    capture_text info = {NULL, 0, 0, 0};
    capture_text records = {NULL, 0, 0, 0};
    int signals;
    int control = -1;
    int status;

    sigprocmask(SIG_BLOCK, &ours, NULL);
    signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        fail("no signalfd: %s", strerror(errno));

    set_up();
    make_up(&info, &records);
    if (rec.kcore && kcopy_open(&rec.kernel_code, rec.root))
        fail("the kernel's code cannot be read: %s: %s",
             is_locked_down()
                 ? "the kernel is locked down: boot without it"
                 : "/proc/kcore needs root (or cap_sys_rawio and cap_syslog) "
                   "and a kernel with it",
             strerror(errno));
    drop_rights();

    if (rec.control) {
        control = open(rec.control, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (control < 0)
            fail("cannot open %s: %s", rec.control, strerror(errno));
    }
    create();
    capfile_begin(rec.file, rec.c.events, rec.c.event_count);
    capfile_plain(rec.file, info.at, info.size);
    capfile_records(rec.file, records.at, records.size);
    free(info.at);
    free(records.at);
    record(signals, control);
    status = finish(argv);
    capture_close(&rec.c);
    if (status || (rec.strict && has_lost()))
        return OPTIONS_NOTHING;
    if (WIFSIGNALED(rec.status))
        return 128 + WTERMSIG(rec.status);
    return rec.child ? WEXITSTATUS(rec.status) : 0;
}

/* ---- --selftest ---- */

#define PATIENCE 60 /* seconds that a row may take */

/* How a row is recorded, besides what it has to be. */
typedef struct row {
    selftest_row must;
    const char *name; /* and that of its file, with _ for blanks */
    const char *terms;
    uint8_t per_thread;
    uint8_t kernel; /* alone */
} row;

static struct {
    char folder[128];
    char program[160];
    specimen_run want;
    specimen_places places;
    int ptwrite;
    FILE *page; /* a copy of it, in the folder */
    unsigned passed;
    unsigned failed;
    unsigned not_offered;
} test;

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    va_start(args, format);
    vfprintf(test.page, format, args);
    va_end(args);
    fflush(stdout);
}

static void not_offered(const char *name, const char *why)
{
    print("%-22s not offered: %s\n", name, why);
    test.not_offered++;
}

/* In a process of its own: record the row to a file. What is said goes to
 * another one. */
__attribute__((noreturn)) static void record_row(const row *r, const char *file,
                                                 const char *said, int report)
{
    char with[] = "1";
    char without[] = "0";
    char *command[] = {test.program, test.ptwrite ? with : without, NULL};
    char name[] = "ptcapture";
    char option[] = "--selftest";
    char *argv[] = {name, option, NULL};
    char where[256];
    const int fd = open(said, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const unsigned cpu = (unsigned) sched_getcpu() % 4096;
    uint64_t one[64] = {0};

    if (fd < 0 || dup2(fd, 2) != 2)
        _exit(1);
    alarm(PATIENCE);
    rec.report = report;
    rec.is_test = rec.quiet = 1;
    rec.out = file;
    rec.command = command;
    rec.terms = r->terms;
    rec.per_thread = r->per_thread;
    rec.kernel = r->kernel;
    rec.user = !r->kernel;
    if (r->must.check == SELFTEST_SNAPSHOT) {
        rec.circular = rec.at_exit = 1;
        rec.aux_size = 4096;
    }
    if (r->must.check == SELFTEST_FILTER || r->must.check == SELFTEST_STOP) {
        snprintf(where, sizeof(where), "0x%" PRIx64 "/0x%" PRIx64 "@%s",
                 r->must.first - SPECIMEN_BASE + 4096,
                 r->must.last - r->must.first + 1, test.program);
        filter_option(r->must.check == SELFTEST_STOP ? "stop" : "filter",
                      where);
        one[cpu / 64] = (uint64_t) 1 << cpu % 64; /* another processor would */
        syscall(SYS_sched_setaffinity, 0, sizeof(one), one); /* not stop */
    }
    exit(run(argv));
}

/* The first line of what a row said, without the program's name. */
static void reason(const char *said, char *to, size_t size)
{
    FILE *f = fopen(said, "re");
    const char *p;
    char line[400] = "";

    if (f && fgets(line, sizeof(line), f))
        line[strcspn(line, "\n")] = 0;
    if (f)
        fclose(f);
    p = strstr(line, ": ");
    snprintf(to, size, "%s", p ? p + 2 : line);
}

static void run_row(const row *r)
{
    char file[256];
    char said[160];
    specimen_report report;
    selftest_result result;
    int ends[2];
    int status = 1;
    pid_t pid;
    char *p;

    snprintf(file, sizeof(file), "%s/%s.data", test.folder, r->name);
    for (p = file; *p; p++)
        if (*p == ' ')
            *p = '_';
    snprintf(said, sizeof(said), "%s/said", test.folder);
    if (pipe2(ends, O_CLOEXEC))
        fail("no pipe: %s", strerror(errno));
    fflush(NULL);
    pid = fork();
    if (pid < 0)
        fail("no process: %s", strerror(errno));
    if (pid == 0)
        record_row(r, file, said, ends[1]);
    close(ends[1]);
    memset(&report, 0, sizeof(report));
    waitpid(pid, &status, 0);
    memset(&result, 0, sizeof(result));
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        reason(said, result.why, sizeof(result.why));
        if (!result.why[0])
            snprintf(result.why, sizeof(result.why), "recording ended with %d",
                     status);
    } else if (read(ends[0], &report, sizeof(report)) != sizeof(report)
               || report.magic != SPECIMEN_MAGIC) {
        snprintf(result.why, sizeof(result.why), "the program did not report");
    } else {
        selftest_check(&r->must, file, &test.want, &report, &result);
    }
    close(ends[0]);
    unlink(said);
    if (result.passed) {
        print("%-22s passed: %" PRIu64 " instructions, %" PRIu64
              " bytes of trace\n",
              r->name, result.instructions, result.bytes);
        test.passed++;
    } else if (r->kernel && access(file, F_OK)) {
        not_offered(r->name, result.why);
    } else {
        print("%-22s FAILED: %s\n", r->name, result.why);
        test.failed++;
    }
    if (result.passed)
        unlink(file);
}

/* A row for each value that a mask allows, 0 only if asked for. */
static void rows_of_values(const char *cap, const char *term, const char *also,
                           int check, unsigned from)
{
    char path[64];
    char name[64];
    char terms[96];
    uint64_t mask = 0;
    unsigned i;
    row r;

    snprintf(path, sizeof(path), "caps/%s", cap);
    if (!capture_number(&rec.pmu, path, 16, &mask))
        mask = 0;
    if (mask >> from == 0)
        not_offered(term, "not in this processor's CPUID");
    for (i = from; i < 64; i++) {
        if (!(mask >> i & 1))
            continue;
        memset(&r, 0, sizeof(r));
        r.must.check = check;
        r.must.number = i;
        snprintf(name, sizeof(name), "%s %u", term, i);
        snprintf(terms, sizeof(terms), "%s,%s=%u", also, term, i);
        r.name = name;
        r.terms = terms;
        run_row(&r);
    }
}

/* The lowest value that a mask allows. */
static unsigned lowest(const char *cap)
{
    unsigned i = 0;

    while (i < 15 && !has_cap(cap, i))
        i++;
    return i < 15 ? i : 0;
}

static void rows_of_thread(void)
{
    const char *untimed = "tsc=0,mtc=0";
    char dense[64];
    uint64_t filters = 0;
    row r;

    memset(&r, 0, sizeof(r));
    r.per_thread = r.must.one_thread = 1;
    r.name = "thread";
    r.terms = untimed;
    run_row(&r);
    r.name = "noretcomp";
    r.must.check = SELFTEST_RETURNS;
    r.terms = "tsc=0,mtc=0,noretcomp";
    run_row(&r);
    r.name = "snapshot";
    r.must.check = SELFTEST_SNAPSHOT;
    snprintf(dense, sizeof(dense), "tsc=0,mtc=0,psb_period=%u",
             lowest("psb_periods"));
    r.terms = dense;
    run_row(&r);

    r.terms = untimed;
    capture_number(&rec.pmu, "nr_addr_filters", 10, &filters);
    r.name = "filter";
    r.must.check = SELFTEST_FILTER;
    r.must.first = test.places.function[SPECIMEN_LEAF];
    r.must.last = test.places.after[SPECIMEN_LEAF] - 1;
    if (filters)
        run_row(&r);
    else
        not_offered(r.name, "not in this processor's CPUID");
    r.name = "stop";
    r.must.check = SELFTEST_STOP;
    r.must.first = test.places.function[SPECIMEN_DEEP];
    r.must.last = test.places.after[SPECIMEN_DEEP] - 1;
    if (filters)
        run_row(&r);
    else
        not_offered(r.name, "not in this processor's CPUID");

    r.name = "ptw";
    r.must.check = SELFTEST_PTWRITE;
    r.terms = "tsc=0,mtc=0,ptw";
    if (test.ptwrite)
        run_row(&r);
    else
        not_offered(r.name, "not in this processor's CPUID");
    r.name = "ptw,fup_on_ptw";
    r.must.check = SELFTEST_FUP;
    r.terms = "tsc=0,mtc=0,ptw,fup_on_ptw";
    if (test.ptwrite)
        run_row(&r);
    else
        not_offered(r.name, "not in this processor's CPUID");
}

static void rows_of_processors(void)
{
    char terms[96];
    row r;

    memset(&r, 0, sizeof(r));
    r.name = "processors";
    r.terms = "noretcomp";
    run_row(&r);
    rows_of_values("psb_periods", "psb_period", "mtc=0", SELFTEST_PSB, 0);
    snprintf(terms, sizeof(terms), "psb_period=%u", lowest("psb_periods"));
    rows_of_values("mtc_periods", "mtc_period", terms, SELFTEST_MTC, 0);
    rows_of_values("cycle_thresholds", "cyc_thresh", "cyc", SELFTEST_CYC, 1);
    r.terms = terms;
    r.name = "clock";
    r.must.check = SELFTEST_TIME;
    snprintf(terms, sizeof(terms), "mtc_period=%u,noretcomp%s",
             lowest("mtc_periods"), has_cap("psb_cyc", 0) ? ",cyc" : "");
    if (has_cap("mtc", 0))
        run_row(&r);
    else
        not_offered(r.name, "there is no MTC");
    r.name = "ratio";
    r.must.check = SELFTEST_RATIO;
    snprintf(terms, sizeof(terms), "mtc_period=%u,cyc",
             lowest("mtc_periods"));
    if (has_cap("mtc", 0) && has_cap("psb_cyc", 0))
        run_row(&r);
    else
        not_offered(r.name, "there is no CYC");

    memset(&r, 0, sizeof(r));
    r.per_thread = r.must.one_thread = r.kernel = 1;
    r.name = "kernel";
    r.must.check = SELFTEST_KERNEL;
    r.terms = "tsc=0,mtc=0";
    run_row(&r);
}

/* A folder with the program in it, for whoever records. */
static void make_folder(void)
{
    const char *uid = getenv("SUDO_UID");
    const char *gid = getenv("SUDO_GID");
    const char *parent = secure_getenv("TMPDIR");
    char path[160];

    if (!parent || strlen(parent) > 100)
        parent = "/tmp";
    snprintf(test.folder, sizeof(test.folder), "%s/ptcapture-XXXXXX", parent);
    if (!mkdtemp(test.folder))
        fail("cannot create %s: %s", test.folder, strerror(errno));
    snprintf(test.program, sizeof(test.program), "%s/program", test.folder);
    snprintf(path, sizeof(path), "%s/page", test.folder);
    test.page = fopen(path, "wxe");
    if (specimen_write(test.program) || !test.page)
        fail("cannot write to %s: %s", test.folder, strerror(errno));
    if (getuid() == 0 && !rec.keep_rights && uid && gid && atoi(uid) > 0
        && chown(test.folder, (uid_t) strtoul(uid, NULL, 10),
                 (gid_t) strtoul(gid, NULL, 10)))
        fail("cannot give %s away: %s", test.folder, strerror(errno));
}

static void remove_folder(void)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/page", test.folder);
    unlink(path);
    unlink(test.program);
    rmdir(test.folder);
}

static void print_machine(void)
{
    struct utsname system;
    char cpuid[64];
    char model[128];
    char microcode[64];
    char flags[8192];

    field_of("proc/cpuinfo", "model name", model, sizeof(model));
    field_of("proc/cpuinfo", "microcode", microcode, sizeof(microcode));
    field_of("proc/cpuinfo", "flags", flags, sizeof(flags));
    if (!capture_cpuid(cpuid, sizeof(cpuid)))
        cpuid[0] = 0;
    print("ptcapture  %d.%d.%d\n", IPT_VERSION >> 16, IPT_VERSION >> 8 & 0xff,
          IPT_VERSION & 0xff);
    print("processor  %s, %s%s%s%s\n", cpuid, model,
          microcode[0] ? ", microcode " : "", microcode,
          has_word(flags, "hypervisor") ? ", of a virtual machine" : "");
    if (uname(&system) == 0)
        print("kernel     %s\n", system.release);
}

static int selftest(const tool_args *args)
{
    make_folder();
    specimen_places_get(&test.places);
    test.ptwrite = has_cap("ptwrite", 0);
    print_machine();
    if (specimen_step(test.program, test.ptwrite, &test.want)) {
        remove_folder();
        fail("the built-in program cannot be single-stepped with ptrace");
    }
    rows_of_thread();
    rows_of_processors();
    print("%u passed, %u failed, %u not offered\n", test.passed, test.failed,
          test.not_offered);
    if (test.failed)
        print("what failed is kept, for examples/tools/selftest.md: %s\n",
              test.folder);
    if (fclose(test.page))
        fail("cannot write to %s: %s", test.folder, strerror(errno));
    if (!test.failed)
        remove_folder();
    return tool_end(args, test.failed ? 1 : 0);
}

int main(int argc, char **argv)
{
    tool_args args = tool_begin(argc, argv, "ptcapture");
    int status;

    rec.program = args.program;
    rec.root = secure_getenv("PTCAPTURE_ROOT");
    if (!rec.root)
        rec.root = "";
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGUSR2);
    status = parse(&args);
    if (status >= 0)
        return status;
    return rec.is_test ? selftest(&args) : run(argv);
}

#endif
