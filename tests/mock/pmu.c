/* pmu.c: a library, to be preloaded, that gives perf record a processor with
 * Intel PT. Linux on x86-64. pmu.sh puts PT into /sys and calls perf with it.
 *
 *     cc -shared -fPIC -o pmu.so pmu.c -ldl
 *
 * Each PT event is a real one of type dummy: its descriptor and the records of
 * all events that are put out to it are the kernel's. perf sees copies of its
 * page and ring, in which there is more: the time conversion, AUX records, and
 * the AUX data of samples. A file is played into the AUX area, PMU_SLICE bytes
 * (default 4096) at each poll(), as far as perf has made room, or, in snapshot
 * mode, round and round as a processor does; or into each sample of an event
 * with an aux_sample_size.
 *
 *     PMU_TRACE=DIR    plays DIR/CPU.pt, or DIR/thread.pt for an event of a
 *                      thread. None: no trace
 *     PMU_TYPE=N       the type of PT, as in /sys
 *     PMU_AFTER=FILE   nothing is played before a thread maps the code of a
 *                      file whose name ends with this
 *     PMU_MOVED=FILE   traces of cpus are played as if they had been recorded
 *                      while that thread had the cpu, at the first time since
 *                      then that it had it long enough. As it was played, the
 *                      trace is in FILE
 *     PMU_SNAPSHOT=1   a snapshot is taken after each slice
 *     PMU_DONE=FILE    made when all was played, and perf has got it
 *     PMU_LOSE=AT,SIZE of each file those bytes are lost: AUX truncated
 *     PMU_PROC=DIR     DIR/kcore, DIR/kallsyms and DIR/modules stand for those
 *                      of /proc, where they may be missing
 *     PMU_NO_SWITCH=1  the kernel has no SWITCH records, as before Linux 4.3
 *     PMU_REFUSE=WHAT,ERRNO  open, data, aux, filter, uprobe, break or side
 *                      (all other events) fails with that number
 *     PMU_FLAGS=N      of the AUX record of the last slice: 4 partial, ...
 *     PMU_LOG=FILE     lines for what was done
 *     PMU_TRIGGER=N    uprobes and breakpoints strike when so much of a trace
 *                      was played; with PMU_PAUSE=1 one whose attributes say so
 *                      pauses it there, which other kernels do not know
 *     PMU_MACHINE=DIR  what was recorded before in each configuration comes
 *                      from DIR/CONFIG/thread.pt and N.pt, where CONFIG is
 *                      attr.config in hex, k if only the kernel is traced, o if
 *                      the ring is overwritten, and -ACTION-FROM-SIZE of a
 *                      filter. Bytes that CONFIG/lose, AT SIZE, names are lost.
 *                      For a processor the records are not the kernel's but
 *                      DIR/N.records, and the time is ptrecord's. DIR/clock has
 *                      what a program of --selftest then read of its clock: two
 *                      times, in seconds and nanoseconds
 *
 * perf asks CPUID whether this is a processor of Intel's: its CPUID
 * instructions become UD2, and a handler answers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EVENTS     256
#define TIME_SHIFT 31
#define TIME_MULT  672770566u /* 3.2 GHz */
#define FIRST_TSC  ((uint64_t) 1 << 40) /* of a trace */
#define LONGEST    300000               /* ns that a trace takes */
#define MTC_AGAIN  26214400 /* ticks after which MTC and TMA are the same */
#define SWITCHES   32768    /* bytes of their ring */

typedef struct event {
    int fd;  /* -1: not used */
    int cpu; /* -1: any, of a thread */
    pid_t pid;
    uint64_t sample_type;
    uint64_t id;
    uint64_t aux_sample; /* not PT: bytes of trace in each sample */
    struct perf_event_mmap_page *kernel; /* page and ring of the kernel, ... */
    struct perf_event_mmap_page *page;   /* ... and what perf sees */
    uint64_t ring_size;
    uint8_t *aux;
    uint64_t aux_size;
    uint64_t head; /* bytes played into it */
    int overwrite;
    int asked; /* for a snapshot, and perf has not taken it */
    int paused; /* by the trigger */
    int off;    /* disabled, since it was played */
    uint8_t *trace;
    uint64_t size;
    uint64_t played;
    uint64_t config; /* the following are for PMU_MACHINE */
    int kernel_only;
    char filter[256];
    uint8_t *records;
    uint64_t record_size; /* 0: they are there, or there are none */
    uint64_t newest;      /* time of the last one */
    uint64_t lose_at;     /* what is lost of the trace */
    uint64_t lose_size;
} event;

static event events[EVENTS];
static unsigned event_count;
static uint32_t pmu_type;
static uint64_t slice = 4096;
static uint64_t lose_at = UINT64_MAX;
static uint64_t lose_size;
static uint64_t time_zero;
static const char *machine_folder; /* PMU_MACHINE */
static uint64_t trigger_at;        /* PMU_TRIGGER; 0: no trigger */
static const char *play_after;
static const char *moved;    /* traces of cpus have to be; NULL: they are */
static const char *done;     /* to be made; NULL: it is */
static int snapshots;
static struct perf_event_mmap_page *switches; /* of the thread, if moved */
static uint64_t came;        /* perf's time when it got its cpu; 0: not known */
static uint64_t newest;      /* time of a switch */
static FILE *log_file;

/* Of poll and ioctl; perf calls one in the handler of a signal in the other. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int (*real_ioctl)(int, unsigned long, ...);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_close)(int);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

static void say(const char *format, ...)
{
    va_list args;

    if (!log_file)
        return;
    va_start(args, format);
    vfprintf(log_file, format, args);
    va_end(args);
    fflush(log_file);
}

/* ---- the processor ---- */

static void answer_cpuid(gregset_t r)
{
    const uint32_t leaf = (uint32_t) r[REG_RAX];
    uint32_t a, b, c, d;

    __asm__ volatile("cpuid"
                     : "=a"(a), "=b"(b), "=c"(c), "=d"(d)
                     : "a"(leaf), "c"((uint32_t) r[REG_RCX]));
    switch (leaf) {
    case 0:
        a = a < 0x16 ? 0x16 : a;
        b = 0x756e6547; /* Genu */
        d = 0x49656e69; /* ineI */
        c = 0x6c65746e; /* ntel */
        break;
    case 1: a = 0x506e3; break; /* 6/94/3 */
    case 0x15:
        a = 3;
        b = 400;
        c = 24000000;
        break;
    }
    r[REG_RAX] = a;
    r[REG_RBX] = b;
    r[REG_RCX] = c;
    r[REG_RDX] = d;
    r[REG_RIP] += 2;
}

static void on_sigill(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = (ucontext_t *) context;

    (void) info;
    if (memcmp((void *) u->uc_mcontext.gregs[REG_RIP], "\x0f\x0b", 2)) {
        signal(number, SIG_DFL);
        return;
    }
    answer_cpuid(u->uc_mcontext.gregs);
}

/* CPUID to UD2, in the code of the program itself. */
static void patch_program(void)
{
    char program[4096];
    char line[4400];
    unsigned count = 0;
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    FILE *f = fopen("/proc/self/maps", "r");
    struct sigaction action;

    program[n > 0 ? n : 0] = 0;
    while (f && n > 0 && fgets(line, sizeof(line), f)) {
        unsigned long from, to;
        char access[5];
        uint8_t *p;
        if (sscanf(line, "%lx-%lx %4s", &from, &to, access) != 3
            || access[2] != 'x' || !strstr(line, program))
            continue;
        if (mprotect((void *) from, to - from,
                     PROT_READ | PROT_WRITE | PROT_EXEC))
            continue;
        for (p = (uint8_t *) from; p + 1 < (uint8_t *) to; p++) {
            if (p[0] == 0x0f && p[1] == 0xa2) {
                p[1] = 0x0b;
                count++;
            }
        }
    }
    if (f)
        fclose(f);
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_sigill;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, NULL);
    say("%u CPUID in %s\n", count, program);
    if (count)
        say("process %d\n", (int) getpid());
    if (count)
        unsetenv("LD_PRELOAD"); /* this is perf: not for what it starts */
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Is that to fail? Then errno says how. */
static int refused(const char *what)
{
    const char *text = getenv("PMU_REFUSE");
    const size_t n = strlen(what);

    for (; text; text = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL)
        if (strncmp(text, what, n) == 0 && text[n] == ',') {
            errno = atoi(text + n + 1);
            return 1;
        }
    return 0;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* The constructors of other libraries may come before ours. */
static void find_functions(void)
{
    if (real_mmap)
        return;
    real_ioctl = (int (*)(int, unsigned long, ...)) dlsym(RTLD_NEXT, "ioctl");
    real_poll =
        (int (*)(struct pollfd *, nfds_t, int)) dlsym(RTLD_NEXT, "poll");
    real_close = (int (*)(int)) dlsym(RTLD_NEXT, "close");
    real_mmap = (void *(*) (void *, size_t, int, int, int, off_t)) dlsym(
        RTLD_NEXT, "mmap");
}

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("PMU_LOG");

    find_functions();
    log_file = name ? fopen(name, "ae") : NULL;
    pmu_type = (uint32_t) number("PMU_TYPE", 0);
    slice = number("PMU_SLICE", slice);
    machine_folder = getenv("PMU_MACHINE");
    trigger_at = number("PMU_TRIGGER", 0);
    play_after = getenv("PMU_AFTER");
    moved = getenv("PMU_MOVED");
    done = getenv("PMU_DONE");
    snapshots = getenv("PMU_SNAPSHOT") != NULL;
    if (getenv("PMU_LOSE"))
        sscanf(getenv("PMU_LOSE"), "%" SCNu64 ",%" SCNu64, &lose_at,
               &lose_size);
    patch_program();
}

/* ---- events ---- */

static event *find(int fd)
{
    unsigned i;

    for (i = 0; i < event_count; i++)
        if (events[i].fd == fd)
            return &events[i];
    return NULL;
}

/* A file, allocated; NULL if it is not there or empty. */
static uint8_t *load_file(const char *path, uint64_t *to)
{
    FILE *f = fopen(path, "rbe");
    uint8_t *bytes = NULL;
    long size = -1;

    *to = 0;
    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size > 0 && (bytes = (uint8_t *) malloc((size_t) size + 1)) != NULL) {
        rewind(f);
        *to = fread(bytes, 1, (size_t) size, f);
        bytes[*to] = 0;
    }
    if (f)
        fclose(f);
    return bytes;
}

static void load(event *e, const char *folder)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%d.pt", folder ? folder : ".", e->cpu);
    if (e->cpu < 0)
        snprintf(path, sizeof(path), "%s/thread.pt", folder ? folder : ".");
    e->trace = folder ? load_file(path, &e->size) : NULL;
    say("event %d of cpu %d: %s, %" PRIu64 " bytes\n", e->fd, e->cpu, path,
        e->size);
}

/* Of PMU_MACHINE: what this configuration gives. */
static void load_machine(event *e)
{
    char folder[2048];
    char path[2100];
    char *text;
    uint64_t size;
    size_t i;

    for (i = 0; e->filter[i] && e->filter[i] != '@'; i++)
        if (strchr(" /", e->filter[i]))
            e->filter[i] = '-';
    snprintf(folder, sizeof(folder), "%s/%" PRIx64 "%s%s%s%.*s", machine_folder,
             e->config, e->kernel_only ? "k" : "", e->overwrite ? "o" : "",
             i ? "-" : "", (int) i, e->filter);
    load(e, folder);
    snprintf(path, sizeof(path), "%s/lose", folder);
    text = (char *) load_file(path, &size);
    if (text)
        sscanf(text, "%" SCNu64 " %" SCNu64, &e->lose_at, &e->lose_size);
    free(text);
    snprintf(path, sizeof(path), "%s/%d.records", machine_folder, e->cpu);
    if (e->cpu >= 0)
        e->records = load_file(path, &e->record_size);
}

/* The kernel answers for all but PT. */
static long system_call(long number, const long *a)
{
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10),
                       "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int) -result;
        return -1;
    }
    return result;
}

static uint64_t trigger_id; /* of the one that was opened last */
static uint64_t trigger_sample; /* what its samples have */
static int trigger_pauses;

/* A uprobe or a breakpoint: it strikes when the trace says so. */
static long open_trigger(long *a)
{
    struct perf_event_attr attr;
    const uint64_t *words = (const uint64_t *) (uintptr_t) a[0];
    long fd;

    memcpy(&attr, words, sizeof(attr) < 112 ? sizeof(attr) : 112);
    trigger_pauses = words[14] >> 32 == 2; /* aux_action */
    if (trigger_pauses && (!getenv("PMU_PAUSE") || !find((int) a[3]))) {
        errno = EINVAL;
        return -1;
    }
    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1;
    attr.inherit = words[5] >> 1 & 1;
    a[0] = (long) (uintptr_t) &attr;
    a[3] = -1;
    fd = system_call(SYS_perf_event_open, a);
    if (fd < 0)
        return fd;
    real_ioctl((int) fd, PERF_EVENT_IOC_ID, &trigger_id);
    trigger_sample = words[3];
    say("trigger %ld: type %" PRIu32 "%s\n", fd, (uint32_t) words[0],
        trigger_pauses ? ", pauses" : "");
    return fd;
}

/* PT, or an event whose samples have trace. */
static long open_event(long *a, int pt)
{
    struct perf_event_attr attr;
    const struct perf_event_attr *from =
        (const struct perf_event_attr *) (uintptr_t) a[0];
    event *e = find(-1);
    long fd;

    memset(&attr, 0, sizeof(attr));
    memcpy(&attr, from, from->size < sizeof(attr) ? from->size : sizeof(attr));
    attr.size = sizeof(attr);
    if (pt) {
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_DUMMY;
    }
    attr.aux_watermark = 0;
    attr.aux_sample_size = 0;
    attr.sample_type &= ~(uint64_t) PERF_SAMPLE_AUX;
    a[0] = (long) (uintptr_t) &attr;
    fd = system_call(SYS_perf_event_open, a);
    if (fd < 0)
        return fd;
    if (!e && event_count < EVENTS)
        e = &events[event_count++];
    if (!e) {
        real_close((int) fd);
        errno = EMFILE;
        return -1;
    }
    memset(e, 0, sizeof(*e));
    e->fd = (int) fd;
    e->pid = (pid_t) a[1];
    e->cpu = (int) a[2];
    e->sample_type = attr.sample_type;
    e->config = from->config;
    e->kernel_only = from->exclude_user;
    e->lose_at = lose_at;
    e->lose_size = lose_size;
    real_ioctl((int) fd, PERF_EVENT_IOC_ID, &e->id);
    if (!pt)
        e->aux_sample = from->aux_sample_size;
    if (!machine_folder)
        load(e, getenv("PMU_TRACE"));
    return fd;
}

long syscall(long number, ...)
{
    long a[6];
    va_list args;
    unsigned i;

    va_start(args, number);
    for (i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_perf_event_open && pmu_type) {
        const struct perf_event_attr *attr =
            (const struct perf_event_attr *) (uintptr_t) a[0];
        if (attr->context_switch && getenv("PMU_NO_SWITCH")) {
            errno = EINVAL;
            return -1;
        }
        const int is_break = attr->type == PERF_TYPE_BREAKPOINT;
        const int is_uprobe = !is_break && attr->type > PERF_TYPE_BREAKPOINT
                              && attr->type != pmu_type;
        if (refused(attr->type == pmu_type ? "open"
                    : is_uprobe            ? "uprobe"
                    : is_break             ? "break"
                                           : "side"))
            return -1;
        if ((is_break || is_uprobe) && trigger_at)
            return open_trigger(a);
        if (attr->type == pmu_type)
            return open_event(a, 1);
        if (attr->size > offsetof(struct perf_event_attr, aux_sample_size)
            && attr->aux_sample_size)
            return open_event(a, 0);
    }
    return system_call(number, a);
}

/* ---- the kernel's code, as /proc has it ---- */

static const char *place_of(const char *path, char *room, size_t size)
{
    static const char *const names[] = {"kcore", "kallsyms", "modules"};
    const char *folder = getenv("PMU_PROC");
    size_t i;

    for (i = 0; folder && strncmp(path, "/proc/", 6) == 0 && i < 3; i++)
        if (strcmp(path + 6, names[i]) == 0) {
            snprintf(room, size, "%s/%s", folder, names[i]);
            return room;
        }
    return path;
}

int open64(const char *path, int flags, ...)
{
    char room[4096];
    va_list list;
    int mode;

    va_start(list, flags);
    mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    return openat(AT_FDCWD, place_of(path, room, sizeof(room)), flags, mode);
}

int stat64(const char *path, struct stat64 *to)
{
    char room[4096];

    return fstatat64(AT_FDCWD, place_of(path, room, sizeof(room)), to, 0);
}

FILE *fopen64(const char *path, const char *mode)
{
    static FILE *(*real)(const char *, const char *);
    char room[4096];

    if (!real)
        real = (FILE * (*) (const char *, const char *) )
            dlsym(RTLD_NEXT, "fopen64");
    return real(place_of(path, room, sizeof(room)), mode);
}

int close(int fd)
{
    event *e = fd >= 0 ? find(fd) : NULL;

    if (e) {
        free(e->trace);
        free(e->records);
        memset(e, 0, sizeof(*e));
        e->fd = -1;
    }
    find_functions();
    return real_close(fd);
}

/* ---- records ---- */

static uint8_t *ring(struct perf_event_mmap_page *page)
{
    return (uint8_t *) page + 4096;
}

/* A record for perf; 0 if there is no room. */
static int put_record(event *e, const void *record, size_t size)
{
    const uint64_t tail =
        __atomic_load_n(&e->page->data_tail, __ATOMIC_ACQUIRE);
    const uint64_t head = e->page->data_head;
    size_t i;

    if (e->ring_size - (head - tail) < size)
        return 0;
    for (i = 0; i < size; i++)
        ring(e->page)[(head + i) % e->ring_size] =
            ((const uint8_t *) record)[i];
    __atomic_store_n(&e->page->data_head, head + size, __ATOMIC_RELEASE);
    return 1;
}

/* A processor that is stopped ends with a packet: how many bytes there are up
 * to the last PSB, or all. */
static uint64_t up_to_psb(const uint8_t *bytes, uint64_t size)
{
    static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                  2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
    uint64_t n;

    for (n = size; n > sizeof(psb); n--)
        if (n + sizeof(psb) <= size && !memcmp(bytes + n, psb, sizeof(psb)))
            return n;
    return size;
}

/* A sample of an event with trace: append the next piece. */
static size_t add_trace(uint8_t *record, size_t size)
{
    struct perf_event_header header;
    uint64_t id;
    unsigned i;

    memcpy(&header, record, sizeof(header));
    memcpy(&id, record + 8, 8); /* IDENTIFIER comes first */
    for (i = 0; header.type == PERF_RECORD_SAMPLE && i < event_count; i++) {
        event *e = &events[i];
        uint64_t n = e->aux_sample;
        if (e->fd < 0 || n == 0 || e->id != id)
            continue;
        if (n > 32768)
            n = 32768;
        if (n > e->size - e->played)
            n = e->size - e->played;
        n = up_to_psb(e->trace + e->played, n);
        memset(record + size, 0, 16 + n); /* to a multiple of 8 with PADs */
        memcpy(record + size + 8, e->trace + e->played, n);
        e->played += n;
        n = (n + 7) & ~(uint64_t) 7;
        memcpy(record + size, &n, 8);
        size += 8 + n;
        header.size = (uint16_t) size;
        memcpy(record, &header, sizeof(header));
        break;
    }
    return size;
}

/* A thread will be moved to: see when it has a cpu. */
static void watch(pid_t tid)
{
    struct perf_event_attr attr;
    long a[6] = {(long) (uintptr_t) &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC};
    void *p;

    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.context_switch = 1;
    attr.sample_id_all = 1;
    attr.sample_type = PERF_SAMPLE_TIME;
    p = real_mmap(NULL, 4096 + SWITCHES, PROT_READ | PROT_WRITE, MAP_SHARED,
                  (int) system_call(SYS_perf_event_open, a), 0);
    switches = p == MAP_FAILED ? NULL : (struct perf_event_mmap_page *) p;
    say("thread %d: %s\n", (int) tid, switches ? "watched" : "no event");
}

/* Is it the record of what is waited for? */
static void see_record(const uint8_t *record, const char *name)
{
    const size_t whole = strlen(name);
    const size_t end = strlen(play_after);
    uint32_t tid;

    if (whole < end || strcmp(name + whole - end, play_after))
        return;
    play_after = NULL;
    memcpy(&tid, record + 12, 4);
    if (moved)
        watch((pid_t) tid);
}

/* Hand on what the kernel wrote. */
static void copy_records(event *e)
{
    static uint8_t record[1 << 17];
    uint64_t head;
    uint64_t tail;

    if (!e->kernel)
        return;
    head = __atomic_load_n(&e->kernel->data_head, __ATOMIC_ACQUIRE);
    for (tail = e->kernel->data_tail; tail < head;) {
        struct perf_event_header header;
        size_t size;
        size_t i;
        for (i = 0; i < sizeof(header); i++)
            record[i] = ring(e->kernel)[(tail + i) % e->ring_size];
        memcpy(&header, record, sizeof(header));
        for (; i < header.size; i++)
            record[i] = ring(e->kernel)[(tail + i) % e->ring_size];
        if (machine_folder && e->cpu >= 0) {
            tail += header.size;
            continue; /* they are those of another time */
        }
        if (header.type == PERF_RECORD_MMAP2 && play_after)
            see_record(record, (char *) record + 72);
        size = add_trace(record, header.size);
        if (!put_record(e, record, size))
            break;
        tail += header.size;
    }
    __atomic_store_n(&e->kernel->data_tail, tail, __ATOMIC_RELEASE);
}

/* The records of PMU_MACHINE: of processes and of switches. */
static void put_records(event *e)
{
    struct perf_event_header header;
    uint64_t at;

    for (at = 0; at + sizeof(header) <= e->record_size; at += header.size) {
        memcpy(&header, e->records + at, sizeof(header));
        if (header.size < 40 || header.size > e->record_size - at)
            break;
        if (header.type == PERF_RECORD_AUX || header.type >= 64)
            continue;
        memcpy(e->records + at + header.size - 8, &e->id, 8);
        memcpy(&e->newest, e->records + at + header.size - 24, 8);
        put_record(e, e->records + at, header.size);
    }
    e->record_size = 0;
}

/* An AUX record of a PT event. */
static void put_aux(event *e, uint64_t offset, uint64_t size, uint64_t flags)
{
    const struct {
        uint64_t bit;
        uint64_t value;
    } trailer[] = {{PERF_SAMPLE_TID,
                    (uint64_t) (uint32_t) e->pid << 32 | (uint32_t) e->pid},
                   {PERF_SAMPLE_TIME, e->newest        ? e->newest + 1000
                                      : now() > newest ? now()
                                                       : newest},
                   {PERF_SAMPLE_ID, e->id},
                   {PERF_SAMPLE_CPU, (uint32_t) e->cpu},
                   {PERF_SAMPLE_IDENTIFIER, e->id}};
    uint64_t words[16] = {0, offset, size, flags};
    struct perf_event_header header = {PERF_RECORD_AUX, 0, 0};
    size_t n = 4;
    size_t i;

    for (i = 0; i < sizeof(trailer) / sizeof(trailer[0]); i++) {
        if (!(e->sample_type & trailer[i].bit))
            continue;
        words[n++] = trailer[i].value;
    }
    header.size = (uint16_t) (8 * n);
    memcpy(words, &header, sizeof(header));
    put_record(e, words, 8 * n);
}

/* What the kernel's page of a virtual machine may not say. */
static void set_time(struct perf_event_mmap_page *page)
{
    if (machine_folder)
        time_zero = (uint64_t) -123456789; /* as ptrecord has it */
    else if (!time_zero)
        time_zero = now() - (FIRST_TSC >> TIME_SHIFT) * TIME_MULT;
    page->capabilities |= 3u << 3; /* cap_user_time, cap_user_time_zero */
    page->time_shift = TIME_SHIFT;
    page->time_mult = TIME_MULT;
    page->time_zero = time_zero;
}

void *mmap(void *where, size_t size, int prot, int flags, int fd, off_t offset)
{
    event *e = fd >= 0 ? find(fd) : NULL;
    void *p;

    find_functions();
    if (e && refused(offset ? "aux" : "data"))
        return MAP_FAILED;
    if (e && offset != 0) {
        p = real_mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return p;
        e->aux = (uint8_t *) p;
        e->aux_size = size;
        e->overwrite = !(prot & PROT_WRITE);
        say("event %d: AUX area of %zu bytes%s\n", fd, size,
            e->overwrite ? ", overwritten" : "");
        if (machine_folder)
            load_machine(e);
        return p;
    }
    p = real_mmap(where, size, prot, flags, fd, offset);
    if (!e || p == MAP_FAILED)
        return p;
    e->kernel = (struct perf_event_mmap_page *) p;
    p = real_mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return p;
    memcpy(p, e->kernel, 4096);
    e->page = (struct perf_event_mmap_page *) p;
    e->page->data_head = e->page->data_tail = 0;
    e->ring_size = size - 4096;
    set_time(e->page);
    return p;
}

void *mmap64(void *where, size_t size, int prot, int flags, int fd,
             off_t offset)
{
    return mmap(where, size, prot, flags, fd, offset);
}

/* ---- trace ---- */

static uint64_t ticks(uint64_t ns)
{
    const uint64_t t = ns - time_zero;

    return (t / TIME_MULT << TIME_SHIFT)
           + (t % TIME_MULT << TIME_SHIFT) / TIME_MULT;
}

/* Move a trace by a multiple of MTC_AGAIN, so that TSC packets are all that
 * changes. */
static void move(event *e, uint64_t by)
{
    FILE *f = fopen(moved, "wbe");
    uint64_t i;

    for (i = 0; i + 8 <= e->size; i++) {
        uint64_t tsc;
        memcpy(&tsc, e->trace + i, 8);
        if ((tsc & 0xff) != 0x19
            || (tsc >> 8) - FIRST_TSC > ticks(time_zero + LONGEST))
            continue;
        tsc += by << 8;
        memcpy(e->trace + i, &tsc, 8);
        i += 7;
    }
    if (f) {
        fwrite(e->trace, 1, e->size, f);
        fclose(f);
    }
}

/* The thread had its cpu between two times. */
static void had_cpu(uint64_t from, uint64_t to)
{
    const int64_t after = (int64_t) (ticks(from + 10000) - FIRST_TSC);
    const int64_t n = (after + (after > 0 ? MTC_AGAIN - 1 : 0)) / MTC_AGAIN;
    const uint64_t by = (uint64_t) n * MTC_AGAIN;
    unsigned i;

    if (FIRST_TSC + by > ticks(to - LONGEST))
        return;
    for (i = 0; i < event_count; i++)
        if (events[i].fd >= 0 && events[i].cpu >= 0 && events[i].size)
            move(&events[i], by);
    say("moved to %" PRIu64 " ns after %" PRIu64 "\n", to - from, from);
    moved = NULL;
}

static void see_switches(void)
{
    uint64_t head;
    uint64_t tail;

    head = __atomic_load_n(&switches->data_head, __ATOMIC_ACQUIRE);
    for (tail = switches->data_tail; tail < head && moved; tail += 16) {
        struct perf_event_header header; /* which the time follows */
        const uint8_t *const at = ring(switches) + tail % SWITCHES;
        memcpy(&header, at, sizeof(header));
        memcpy(&newest, at + 8, 8);
        if (header.type != PERF_RECORD_SWITCH || header.size != 16)
            came = 0; /* records were lost, or there are others */
        else if (!(header.misc & PERF_RECORD_MISC_SWITCH_OUT))
            came = newest;
        else if (came && newest - came > LONGEST)
            had_cpu(came, newest);
        if (header.size != 16)
            tail += header.size - 16u;
    }
    __atomic_store_n(&switches->data_tail, tail, __ATOMIC_RELEASE);
}

/* How much is to be played now: up to what is lost, as far as there is room. */
static uint64_t next_slice(const event *e)
{
    uint64_t n = e->size - e->played;

    if (n > slice)
        n = slice;
    if (e->played < e->lose_at && n > e->lose_at - e->played)
        n = e->lose_at - e->played;
    if (!e->overwrite) {
        const uint64_t tail =
            __atomic_load_n(&e->page->aux_tail, __ATOMIC_ACQUIRE);
        const uint64_t room = e->aux_size - (e->head - tail);
        if (n > room)
            n = room;
    }
    if (trigger_id && e->played < trigger_at && n > trigger_at - e->played)
        n = trigger_at - e->played;
    if (snapshots && e->overwrite) /* for perf joins no packets */
        n = up_to_psb(e->trace + e->played, n);
    return n;
}

/* A sample of the trigger. */
static void strike(event *e)
{
    const struct {
        uint64_t bit;
        uint64_t value;
    } parts[] = {{PERF_SAMPLE_IDENTIFIER, trigger_id},
                 {PERF_SAMPLE_IP, 0x1234},
                 {PERF_SAMPLE_TID,
                  (uint64_t) (uint32_t) e->pid << 32 | (uint32_t) e->pid},
                 {PERF_SAMPLE_TIME, now()},
                 {PERF_SAMPLE_CPU, (uint32_t) e->cpu}};
    struct perf_event_header header = {PERF_RECORD_SAMPLE,
                                       PERF_RECORD_MISC_USER, 0};
    uint64_t words[8];
    size_t n = 1;
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (trigger_sample & parts[i].bit)
            words[n++] = parts[i].value;
    header.size = (uint16_t) (8 * n);
    memcpy(words, &header, sizeof(header));
    put_record(e, words, 8 * n);
    e->paused = trigger_pauses;
    say("event %d: trigger after %" PRIu64 " bytes\n", e->fd, e->played);
    trigger_at = 0;
}

/* Play a slice; returns the number of bytes. */
static uint64_t play(event *e)
{
    uint64_t flags = 0;
    uint64_t n;
    uint64_t i;

    if (!e->page || !e->aux || e->asked || e->paused
        || (e->off && trigger_id))
        return 0;
    if (e->record_size)
        put_records(e);
    n = next_slice(e);
    for (i = 0; i < n; i++)
        e->aux[(e->head + i) % e->aux_size] = e->trace[e->played + i];
    e->head += n;
    e->played += n;
    if (n && e->played == e->lose_at) {
        const uint64_t left = e->size - e->played;
        flags = 1;
        e->played += e->lose_size < left ? e->lose_size : left;
    }
    if (n && e->played == e->size)
        flags |= number("PMU_FLAGS", 0);
    if (n && !e->overwrite)
        put_aux(e, e->head - n, n, flags);
    __atomic_store_n(&e->page->aux_head,
                     e->overwrite ? e->head % e->aux_size : e->head,
                     __ATOMIC_RELEASE);
    if (n)
        say("event %d: %" PRIu64 " bytes played\n", e->fd, e->played);
    e->asked = n && snapshots && e->overwrite;
    if (trigger_id && trigger_at && e->played == trigger_at)
        strike(e);
    return n;
}

/* Does perf have all of an event? */
static int has_all(const event *e)
{
    if (e->fd < 0 || e->size == 0 || (!e->aux && !e->aux_sample))
        return 1;
    if (e->played < e->size || e->asked)
        return 0;
    return e->aux_sample || e->overwrite
           || __atomic_load_n(&e->page->aux_tail, __ATOMIC_ACQUIRE) == e->head;
}

static int all_done(void)
{
    unsigned i;

    for (i = 0; i < event_count && has_all(&events[i]); i++)
        ;
    return i == event_count;
}

/* Of what is polled, as far as it can be played now: how much was. */
static uint64_t play_all(const struct pollfd *fds, nfds_t count)
{
    uint64_t n = 0;
    nfds_t k;

    if (play_after)
        return 0;
    if (moved && switches)
        see_switches();
    for (k = 0; k < count && !moved; k++) {
        event *const e = fds[k].fd >= 0 ? find(fds[k].fd) : NULL;
        if (!e)
            continue;
        n += play(e);
        if (e->asked)
            raise(SIGUSR2);
    }
    if (done && !moved && all_done()) {
        FILE *f = fopen(done, "we");
        if (f)
            fclose(f);
        done = NULL;
    }
    return n;
}

int ioctl(int fd, unsigned long request, ...)
{
    event *const e = fd >= 0 ? find(fd) : NULL;
    va_list args;
    void *argument;
    int result;

    find_functions();
    va_start(args, request);
    argument = va_arg(args, void *);
    va_end(args);
    if (e && request == PERF_EVENT_IOC_SET_FILTER) {
        say("event %d: filter %s\n", fd, (const char *) argument);
        snprintf(e->filter, sizeof(e->filter), "%s", (const char *) argument);
        return refused("filter") ? -1 : 0;
    }
    result = real_ioctl(fd, request, argument);
    if (e && request == PERF_EVENT_IOC_DISABLE) {
        pthread_mutex_lock(&lock);
        copy_records(e);
        if (trigger_id && !trigger_at)
            play(e); /* a processor goes on until it is stopped */
        e->off = 1;
        if (e->overwrite && !e->played && !play_after && !moved)
            play(e); /* nobody polls what has no reader */
        while (machine_folder && !e->overwrite && play(e))
            ; /* its program may have ended before anybody polled */
        pthread_mutex_unlock(&lock);
    }
    if (e && request == PERF_EVENT_IOC_ENABLE)
        e->asked = e->off = 0;
    return result;
}

/* A program's report to --selftest: what it read of the clock was that of
 * PMU_MACHINE. */
ssize_t read(int fd, void *to, size_t size)
{
    const long a[6] = {fd, (long) (uintptr_t) to, (long) size, 0, 0, 0};
    const ssize_t n = system_call(SYS_read, a);
    uint64_t clock[4];
    char path[4096];
    char *text;
    uint64_t length;

    if (n != 512 || !machine_folder || memcmp(to, "specimen", 8))
        return n;
    snprintf(path, sizeof(path), "%s/clock", machine_folder);
    text = (char *) load_file(path, &length);
    if (text
        && sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                  &clock[0], &clock[1], &clock[2], &clock[3]) == 4)
        memcpy((uint8_t *) to + 8, clock, sizeof(clock));
    free(text);
    return n;
}

static void copy_all(const struct pollfd *fds, nfds_t count)
{
    nfds_t k;

    for (k = 0; k < count; k++)
        if (fds[k].fd >= 0 && find(fds[k].fd))
            copy_records(find(fds[k].fd));
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    uint64_t n;
    nfds_t k;
    int ours = 0;
    int result;
    int error;

    find_functions();
    for (k = 0; k < count; k++)
        ours |= fds[k].fd >= 0 && find(fds[k].fd) != NULL;
    if (!ours)
        return real_poll(fds, count, timeout);
    pthread_mutex_lock(&lock); /* each of several threads polls its own */
    copy_all(fds, count);
    n = play_all(fds, count);
    pthread_mutex_unlock(&lock);
    if (n || done)
        timeout = n ? 0 : 20;
    result = real_poll(fds, count, timeout);
    error = errno;
    pthread_mutex_lock(&lock);
    copy_all(fds, count);
    pthread_mutex_unlock(&lock);
    for (k = 0; n && result == 0 && k < count; k++) {
        if (fds[k].fd >= 0 && find(fds[k].fd) && fds[k].events & POLLIN) {
            fds[k].revents = POLLIN; /* as the kernel wakes perf */
            result++;
        }
    }
    errno = error;
    return result;
}
