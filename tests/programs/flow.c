/* flow.c: a program for tests/record.c that leaves the straight path in every
 * way it can: signals, faults, longjmp, retpolines, loops without trace, far
 * branches, other execution modes. Each part prints its name when it is done,
 * so that its output is the same with and without the recorder. With the
 * argument "rewrite" it changes code it has executed; with "exec" it becomes
 * another process. */
#define _GNU_SOURCE
#if !defined(__x86_64__) || !defined(__linux__)
int main(void)
{
    return 77;
}
#else
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf away;
static volatile sig_atomic_t count;

static void done(const char *name)
{
    size_t n = strlen(name);

    if (write(1, name, n) != (ssize_t) n || write(1, "\n", 1) != 1)
        _exit(9);
}

static void on(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a;

    memset(&a, 0, sizeof(a));
    a.sa_sigaction = handler;
    a.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &a, NULL);
}

static void leave(int signal, siginfo_t *info, void *context)
{
    (void) info;
    (void) context;
    siglongjmp(away, signal);
}

static void tally(int signal, siginfo_t *info, void *context)
{
    (void) signal;
    (void) info;
    (void) context;
    count++;
}

/* Skip over the instruction that faulted: two bytes. */
static void skip2(int signal, siginfo_t *info, void *context)
{
    (void) signal;
    (void) info;
    ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP] += 2;
    count++;
}

static void alarm_in(int microseconds)
{
    struct itimerval t;

    memset(&t, 0, sizeof(t));
    t.it_value.tv_usec = microseconds;
    setitimer(ITIMER_REAL, &t, NULL);
}

/* ---- signals ---- */

static void signals(void)
{
    int i;

    on(SIGUSR1, tally, 0);
    signal(SIGUSR2, SIG_IGN);
    count = 0;
    for (i = 0; i < 5; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
        raise(SIGWINCH);
    }
    if (count != 5)
        _exit(1);
    done("raise");

    on(SIGALRM, tally, SA_RESTART);
    count = 0;
    alarm_in(3000);
    while (count == 0) /* a loop with a traced branch */
        ;
    done("alarm");

    on(SIGTRAP, tally, SA_NODEFER); /* else a handler blocks it, too */
    count = 0;
    kill(getpid(), SIGTRAP); /* raise would block it; see ptrecord.c */
    __asm__ volatile("int3");
    if (count != 2)
        _exit(2);
    done("traps");
}

/* Wait until a process sleeps in a system call, however slow it gets there. */
static void until_it_sleeps(pid_t pid)
{
    char path[64];
    char text[256];
    const char *state;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    do {
        usleep(2000);
        fd = open(path, O_RDONLY);
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        if (n <= 0)
            _exit(1);
        text[n] = 0;
        state = strrchr(text, ')'); /* after its name */
    } while (!state || state[2] != 'S');
}

/* A child writes to a pipe after signals that interrupt the read: one with a
 * handler and SA_RESTART, one that is ignored, one with EINTR. */
static void restarts(void)
{
    int fds[2];
    char c = 0;
    pid_t child;
    sigset_t none;
    sigset_t mine;

    if (pipe(fds))
        _exit(3);
    on(SIGUSR1, tally, SA_RESTART);
    on(SIGUSR2, tally, 0);
    count = 0;
    child = fork();
    if (child == 0) {
        static const int signals[] = {SIGUSR1, SIGWINCH, SIGTRAP, SIGUSR2};
        const pid_t parent = getppid();
        size_t i;
        for (i = 0; i < 4; i++) {
            until_it_sleeps(parent);
            kill(parent, signals[i]);
        }
        until_it_sleeps(parent);
        _exit(write(fds[1], "x", 1) != 1);
    }
    on(SIGTRAP, tally, SA_RESTART | SA_NODEFER);
    if (read(fds[0], &c, 1) != -1 || errno != EINTR || count != 3)
        _exit(4);
    while (read(fds[0], &c, 1) < 0)
        ;
    waitpid(child, NULL, 0);
    done("restarts");

    sigemptyset(&none);
    mine = none;
    sigaddset(&mine, SIGALRM);
    sigprocmask(SIG_BLOCK, &mine, NULL);
    alarm_in(5000);
    sigsuspend(&none);
    sigprocmask(SIG_UNBLOCK, &mine, NULL);
    done("suspend");
}

/* ---- loops that leave no trace ---- */

static void loops(void)
{
    on(SIGALRM, leave, SA_NODEFER);
    if (!sigsetjmp(away, 1)) {
        alarm_in(4000);
        __asm__ volatile("1: jmp 1b");
    }
    done("jmp $");
    if (!sigsetjmp(away, 1)) {
        alarm_in(4000);
        __asm__ volatile("nop; nop; 1: nop; jmp 2f; nop; 2: nop; jmp 1b"
                         ::: "memory");
    }
    done("long loop");
    if (!sigsetjmp(away, 1)) { /* calls that return nowhere */
        alarm_in(4000);
        __asm__ volatile("1: call 2f; nop; 2: lea 8(%%rsp), %%rsp; jmp 1b"
                         ::: "memory");
    }
    done("calling loop");
    __asm__ volatile("mov $50, %%ecx; 1: loop 1b; jrcxz 2f; nop; 2:" ::: "rcx");
    done("loop $");
}

/* A hypervisor does CPUID, and a step over it may be too long. */
static void processor(void)
{
    uint32_t name[4];

    __asm__ volatile("xor %%eax, %%eax; cpuid; xor %%eax, %%eax; cpuid; jmp 1f;"
                     "nop; 1: nop"
                     : "=a"(name[3]), "=b"(name[0]), "=c"(name[2]),
                       "=d"(name[1]));
    name[3] = 0;
    done((const char *) name);
}

/* Recursion without any traced branch until the stack ends. */
static void recursion(void)
{
    static char other[65536];
    stack_t alternative;
    char *stack = (char *) mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(&alternative, 0, sizeof(alternative));
    alternative.ss_sp = other;
    alternative.ss_size = sizeof(other);
    sigaltstack(&alternative, NULL);
    mprotect(stack, 4096, PROT_NONE);
    on(SIGSEGV, leave, SA_ONSTACK | SA_NODEFER);
    if (!sigsetjmp(away, 1))
        __asm__ volatile("mov %0, %%rsp; 1: call 1b" ::"r"(stack + 8192)
                         : "memory");
    done("recursion");
}

/* ---- faults ---- */

static uint8_t *guarded; /* two pages, the second one without access */

static void open_page(int signal, siginfo_t *info, void *context)
{
    (void) signal;
    (void) info;
    (void) context;
    mprotect(guarded + 4096, 4096, PROT_READ | PROT_WRITE);
}

static void faults(void)
{
    void (*volatile nowhere)(void) = (void (*)(void)) 16;
    void *volatile null = NULL;
    uint8_t *to;
    size_t n;

    on(SIGSEGV, leave, SA_NODEFER);
    on(SIGILL, skip2, 0);
    on(SIGFPE, leave, SA_NODEFER);
    if (!sigsetjmp(away, 1))
        *(volatile char *) null = 1;
    done("store");
    if (!sigsetjmp(away, 1))
        nowhere();
    done("fetch");
    __asm__ volatile("ud2");
    done("ud2");
    if (!sigsetjmp(away, 1))
        __asm__ volatile("xor %%ecx, %%ecx; div %%ecx" ::: "rax", "rcx", "rdx");
    done("divide");
    if (!sigsetjmp(away, 1)) /* the first instruction after a SYSCALL */
        __asm__ volatile("mov $39, %%eax; syscall; xor %%ecx, %%ecx;"
                         "mov %%eax, (%%rcx)"
                         ::: "rax", "rcx", "r11", "memory");
    if (!sigsetjmp(away, 1))
        __asm__ volatile("mov $39, %%eax; xor %%edx, %%edx; syscall;"
                         "mov %%eax, (%%rdx)"
                         ::: "rax", "rcx", "rdx", "r11", "memory");
    done("fault after a system call");

    /* REP in one go, and interrupted by a fault. */
    guarded = (uint8_t *) mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    to = guarded;
    n = 300;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
    mprotect(guarded + 4096, 4096, PROT_NONE);
    on(SIGSEGV, open_page, 0);
    to = guarded + 4000;
    n = 200;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
    n = 0;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
    if (guarded[4199] != 1 || guarded[4200] != 0)
        _exit(5);
    done("rep");
}

/* ---- returns that are none ---- */

static jmp_buf deep;

static int __attribute__((noinline)) down(int n)
{
    if (n == 0)
        longjmp(deep, 1);
    return n > 0 ? down(n - 1) + n : 0;
}

static int __attribute__((noinline)) sum(int n)
{
    return n ? sum(n - 1) + n : 0;
}

static int one(void)
{
    return 1;
}

static void returns(void)
{
    volatile int i;
    int result;

    for (i = 0; i < 10; i++)
        if (!setjmp(deep))
            down(i * 10);
    if (sum(70) != 70 * 71 / 2 || sum(200) != 200 * 201 / 2)
        _exit(6);
    done("deep");

    for (i = 0; i < 10; i++) {
        /* A retpoline: call over the capture loop, overwrite, ret. */
        __asm__ volatile("call 2f; jmp 4f;"
                         "2: call 3f;"
                         "1: pause; lfence; jmp 1b;"
                         "3: mov %1, (%%rsp); ret;"
                         "4:"
                         : "=a"(result)
                         : "r"(&one)
                         : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
                           "memory");
        if (result != 1)
            _exit(7);
        /* push, ret; call next; return past the call */
        __asm__ volatile("lea 1f(%%rip), %%rax; push %%rax; ret; nop;"
                         "1: call 2f; 2: pop %%rax;"
                         "call 3f; nop; jmp 4f; 3: incq (%%rsp); ret; 4:" ::
                             : "rax", "memory");
    }
    done("retpoline");
}

/* ---- far branches and modes ---- */

static void far(void)
{
    static const uint8_t code[] = {
        0x40,                         /* inc eax */
        0xe8, 0x06, 0x00, 0x00, 0x00, /* call 1f */
        0x40,                         /* inc eax */
        0x74, 0x00,                   /* jz next */
        0x75, 0x03, 0x90,             /* jnz 2f; nop */
        0xc3,                         /* 1: ret */
        0x90,                         /* nop */
        0xcb                          /* 2: lret */
    };
    uint8_t *low;
    uint32_t *stack;
    struct {
        uint32_t to;
        uint16_t cs;
    } __attribute__((packed)) entry;
    uint32_t result;

    __asm__ volatile("mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax;"
                     "push %%rax; lretq; nop; 1:" ::
                         : "rax", "memory");
    __asm__ volatile("mov %%rsp, %%rcx; mov %%ss, %%eax; push %%rax;"
                     "push %%rcx;"
                     "pushf; mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax;"
                     "push %%rax; iretq; nop; 1:" ::
                         : "rax", "rcx", "memory");
    done("far");

    low = (uint8_t *) mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == (uint8_t *) MAP_FAILED)
        return;
    memcpy(low, code, sizeof(code));
    low[64] = 0x41; /* jmp *%r8, where the 32-bit code returns to */
    low[65] = 0xff;
    low[66] = 0xe0;
    mprotect(low, 4096, PROT_READ | PROT_EXEC);
    stack = (uint32_t *) (low + 8000);
    stack[0] = (uint32_t) (uintptr_t) (low + 64);
    stack[1] = 0x33;
    entry.to = (uint32_t) (uintptr_t) low;
    entry.cs = 0x23;
    on(SIGSEGV, leave, SA_NODEFER | SA_ONSTACK);
    if (sigsetjmp(away, 1)) { /* a kernel without IA32_EMULATION */
        done("no 32-bit code");
        return;
    }
    __asm__ volatile("mov %%rsp, %%r9; lea 1f(%%rip), %%r8; mov %2, %%rsp;"
                     "xor %%eax, %%eax; ljmp *(%1); 1: mov %%r9, %%rsp"
                     : "=&a"(result)
                     : "r"(&entry), "r"(stack)
                     : "r8", "r9", "rcx", "memory");
    if (result != 2)
        _exit(8);
    done("32-bit code");
}

/* ---- code that changes ---- */

static int rewrite(void)
{
    uint8_t *code = (uint8_t *) mmap(NULL, 4096,
                                     PROT_READ | PROT_WRITE | PROT_EXEC,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*function)(void);
    uint8_t i;
    int total = 0;

    memcpy(&function, &code, sizeof(function));
    for (i = 0; i < 3; i++) {
        const uint8_t bytes[] = {0xb8, i, 0, 0, 0, /* mov $i, %eax */
                                 0xc3};            /* ret */
        memcpy(code, bytes, sizeof(bytes));
        total += function();
    }
    return total;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "rewrite"))
        return rewrite();
    if (argc > 1 && !strcmp(argv[1], "exec"))
        return execl(argv[0], argv[0], "end", (char *) NULL);
    if (argc > 1)
        return 0;
    signals();
    restarts();
    loops();
    processor();
    recursion();
    faults();
    returns();
    far();
    return 42;
}
#endif
