/* specimen.c: see specimen.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // pipe2
#include "specimen.h"

#if defined __linux__ && defined __x86_64__

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program. It is not executed here: specimen_write copies it. Memory, from
 * 0x600000 on: a specimen_report, threads' numbers at 0x600300, their stacks.
 * r15: counters of the thread; r14: whether PTWRITE is; r13: where ways are. */
__asm__(
    "    .pushsection .rodata\n"
    "    .p2align 4\n"
    "specimen_begin:\n"
    "    mov 16(%rsp), %rax\n" /* the first argument */
    "    movzbl (%rax), %r14d\n"
    "    mov $0x600100, %r15d\n"
    "    lea specimen_ways(%rip), %r13\n"
    "    mov $0x600008, %esi\n"
    "    call specimen_clock\n"
    "    mov $1000, %ebx\n"
    "    call specimen_work\n"
    "    call specimen_more\n"
    "    call specimen_threads\n"
    "    mov $0x600018, %esi\n"
    "    call specimen_clock\n"
    "    mov $0x6e656d6963657073, %rax\n"
    "    mov %rax, 0x600000\n"
    "    mov $1, %eax\n" /* write(3, 0x600000, 512) */
    "    mov $3, %edi\n"
    "    mov $0x600000, %esi\n"
    "    mov $0x200, %edx\n"
    "    syscall\n"
    "    mov $231, %eax\n" /* exit_group(0) */
    "    xor %edi, %edi\n"
    "    syscall\n"

    "specimen_clock:\n" /* rsi: where to */
    "    mov $228, %eax\n"
    "    mov $4, %edi\n"
    "specimen_clock_call:\n"
    "    syscall\n"
    "    ret\n"

    "specimen_work:\n" /* ebx: how often */
    "    imul $1103515245, %ebp, %ebp\n"
    "    add $12345, %ebp\n"
    "    mov %ebp, %eax\n"
    "    shr $16, %eax\n"
    "    mov %eax, %edx\n"
    "    and $3, %eax\n"
    "    shr $2, %edx\n"
    "    and $3, %edx\n"
    "    movslq (%r13, %rax, 4), %rax\n"
    "    add %r13, %rax\n"
    "    call *%rax\n"
    "    movslq (%r13, %rdx, 4), %rdx\n"
    "    add %r13, %rdx\n"
    "    call *%rdx\n"
    "    test $15, %bl\n"
    "    jnz 1f\n"
    "    test $1, %r14b\n"
    "    jz 1f\n"
    "    call specimen_say\n"
    "1:  dec %ebx\n"
    "    jnz specimen_work\n"
    "    ret\n"

    "specimen_more:\n"
    "    mov $80, %edi\n" /* deeper than the processor's stack of returns */
    "    call specimen_deep\n"
    "    mov $200, %ecx\n"
    "    mov $0x600000, %esi\n"
    "    mov $0x601000, %edi\n"
    "    rep movsb\n"
    "    xor %ecx, %ecx\n"
    "    rep stosb\n"
    "    mov $40, %ebx\n"
    "    jmp specimen_work\n"

    "specimen_threads:\n"
    "    mov $1, %ebx\n"
    "1:  mov %ebx, %r12d\n"
    "    shl $13, %r12d\n"
    "    lea 0x608000(%r12), %esi\n" /* its stack */
    "    lea 0x600300(, %rbx, 8), %edx\n"
    "    mov %rdx, %r10\n"
    "    mov $0x350f00, %edi\n" /* VM FS FILES SIGHAND THREAD SYSVSEM, its */
    "    mov $56, %eax\n"       /* number is there until it has ended */
    "    xor %r8d, %r8d\n"
    "    syscall\n"
    "    test %eax, %eax\n"
    "    jz 3f\n"
    "    mov %rax, 0x600340(, %rbx, 8)\n"
    "    inc %ebx\n"
    "    cmp $4, %ebx\n"
    "    jne 1b\n"
    "    mov $1, %ebx\n"
    "2:  lea 0x600300(, %rbx, 8), %edi\n" /* futex: wait for the end of each */
    "    xor %esi, %esi\n"
    "    mov 0x600340(, %rbx, 8), %rdx\n"
    "    xor %r10d, %r10d\n"
    "    mov $202, %eax\n"
    "    syscall\n"
    "    inc %ebx\n"
    "    cmp $4, %ebx\n"
    "    jne 2b\n"
    "    ret\n"
    "3:  mov %ebx, %ebp\n"
    "    shl $6, %ebx\n"
    "    lea 0x600100(%rbx), %r15d\n"
    "    add $40, %ebx\n"
    "    call specimen_work\n"
    "    mov $60, %eax\n"
    "    xor %edi, %edi\n"
    "    syscall\n"

    "specimen_function:\n"
    "specimen_add_:\n"
    "    incq (%r15)\n"
    "    test $1, %ebp\n"
    "    jz 1f\n"
    "    nop\n"
    "1:  ret\n"
    "specimen_take:\n"
    "    incq 8(%r15)\n"
    "    test $2, %ebp\n"
    "    jnz 1f\n"
    "    nop\n"
    "1:  ret\n"
    "specimen_call:\n"
    "    incq 16(%r15)\n"
    "    call specimen_leaf\n"
    "    ret\n"
    "specimen_jump:\n"
    "    incq 24(%r15)\n"
    "    jmp specimen_leaf\n"
    "specimen_leaf:\n"
    "    incq 32(%r15)\n"
    "    test $4, %ebp\n"
    "    jz 1f\n"
    "    nop\n"
    "1:  ret\n"
    "specimen_deep:\n" /* edi: how deep */
    "    incq 40(%r15)\n"
    "    dec %edi\n"
    "    jz 1f\n"
    "    call specimen_deep\n"
    "    nop\n"
    "1:  ret\n"
    "specimen_say:\n"
    "    incq 48(%r15)\n"
    "    mov $0x5eed000000000000, %rax\n"
    "    add 48(%r15), %rax\n"
    "specimen_ptwrite:\n"
    "    .byte 0xf3, 0x48, 0x0f, 0xae, 0xe0\n" /* ptwrite rax */
    "    ret\n"

    "    .p2align 2\n"
    "specimen_ways:\n"
    "    .long specimen_add_ - specimen_ways\n"
    "    .long specimen_take - specimen_ways\n"
    "    .long specimen_call - specimen_ways\n"
    "    .long specimen_jump - specimen_ways\n"
    "specimen_end:\n"
    "    .p2align 2\n"
    "specimen_offsets:\n"
    "    .long specimen_end - specimen_begin\n"
    "    .long specimen_clock_call - specimen_begin\n"
    "    .long specimen_ptwrite - specimen_begin\n"
    "    .long specimen_add_ - specimen_begin\n"
    "    .long specimen_take - specimen_begin\n"
    "    .long specimen_call - specimen_begin\n"
    "    .long specimen_jump - specimen_begin\n"
    "    .long specimen_leaf - specimen_begin\n"
    "    .long specimen_deep - specimen_begin\n"
    "    .long specimen_say - specimen_begin\n"
    "    .long specimen_ways - specimen_begin\n"
    "    .popsection\n");

extern const uint8_t specimen_begin[];
extern const uint32_t specimen_offsets[];

#define PAGE 4096u

void specimen_places_get(specimen_places *p)
{
    size_t i;

    p->end = SPECIMEN_BASE + specimen_offsets[0];
    p->clock = SPECIMEN_BASE + specimen_offsets[1];
    p->ptwrite = SPECIMEN_BASE + specimen_offsets[2];
    for (i = 0; i < SPECIMEN_COUNTED; i++) {
        p->function[i] = SPECIMEN_BASE + specimen_offsets[3 + i];
        p->after[i] = SPECIMEN_BASE + specimen_offsets[4 + i];
    }
}

const uint8_t *specimen_code(uint64_t ip, size_t *left)
{
    if (ip < SPECIMEN_BASE || ip - SPECIMEN_BASE >= specimen_offsets[0])
        return NULL;
    *left = specimen_offsets[0] - (size_t) (ip - SPECIMEN_BASE);
    return specimen_begin + (ip - SPECIMEN_BASE);
}

int specimen_write(const char *path)
{
    uint8_t file[2 * PAGE];
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    size_t n = 0;
    int fd;

    memset(file, 0, sizeof(file));
    memset(&header, 0, sizeof(header));
    memset(segments, 0, sizeof(segments));
    memcpy(header.e_ident, "\177ELF\2\1\1", 7);
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = 1;
    header.e_entry = SPECIMEN_BASE;
    header.e_phoff = sizeof(header);
    header.e_ehsize = sizeof(header);
    header.e_phentsize = sizeof(segments[0]);
    header.e_phnum = 3;
    segments[0].p_type = PT_LOAD;
    segments[0].p_flags = PF_R | PF_X;
    segments[0].p_vaddr = SPECIMEN_BASE - PAGE;
    segments[0].p_filesz = segments[0].p_memsz = sizeof(file);
    segments[0].p_align = PAGE;
    segments[1].p_type = PT_LOAD;
    segments[1].p_flags = PF_R | PF_W;
    segments[1].p_vaddr = 0x600000;
    segments[1].p_memsz = 0x10000;
    segments[1].p_align = PAGE;
    segments[2].p_type = PT_GNU_STACK;
    segments[2].p_flags = PF_R | PF_W;
    memcpy(file, &header, sizeof(header));
    memcpy(file + sizeof(header), segments, sizeof(segments));
    memcpy(file + PAGE, specimen_begin, specimen_offsets[0]);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    while (fd >= 0 && n < sizeof(file)) {
        const ssize_t got = write(fd, file + n, sizeof(file) - n);
        if (got <= 0)
            break;
        n += (size_t) got;
    }
    return fd < 0 || close(fd) || n < sizeof(file) ? -1 : 0;
}

/* ---- stepping ---- */

int specimen_add(specimen_list *list, uint64_t ip)
{
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 4096;
        uint64_t *p = (uint64_t *) realloc(list->ips, room * sizeof(*p));
        if (!p)
            return -1;
        list->ips = p;
        list->room = room;
    }
    list->ips[list->count++] = ip;
    return 0;
}

__attribute__((noreturn)) static void run_stepped(const char *path, int ptwrite,
                                                  int out)
{
    char name[] = "program";
    char with[] = "1";
    char without[] = "0";
    char *argv[] = {name, ptwrite ? with : without, NULL};
    char *none[] = {NULL};

    if (dup2(out, 3) == 3 && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        execve(path, argv, none);
    _exit(127);
}

/* A thread that is stepped. */
typedef struct stepped {
    pid_t tid;
    specimen_list *list;
} stepped;

/* The one with that number. A new one has its place among the lists in rbx, as
 * has the report. */
static const stepped *find(specimen_run *run, stepped *threads, pid_t tid,
                           uint64_t rbx)
{
    stepped *t;
    size_t i;

    for (i = 0; i < run->count; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    if (run->count == SPECIMEN_RUNS)
        return NULL;
    t = &threads[run->count];
    t->tid = tid;
    t->list = &run->list[run->count ? rbx % SPECIMEN_RUNS : 0];
    run->count++;
    return t;
}

/* A thread has stopped: the instruction that comes next. One that repeats stops
 * again and again, as may one that was not begun. */
static int note(specimen_run *run, stepped *threads, pid_t tid)
{
    struct user_regs_struct regs;
    const stepped *t;

    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
        return errno == ESRCH ? 0 : -1;
    t = find(run, threads, tid, regs.rbx);
    if (!t)
        return -1;
    if (t->list->count && t->list->ips[t->list->count - 1] == regs.rip)
        return 0;
    return specimen_add(t->list, regs.rip);
}

/* Returns 0 if it ended as it should. */
static int step_all(pid_t pid, specimen_run *run)
{
    const uintptr_t options = PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    stepped threads[SPECIMEN_RUNS];
    int status;
    pid_t tid;

    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, options))
        return -1;
    for (tid = pid;;) {
        const int is_event = status >> 16 != 0;
        if (!is_event && note(run, threads, tid))
            return -1;
        if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) && errno != ESRCH)
            return -1;
        do {
            tid = waitpid(-1, &status, __WALL);
            if (tid < 0)
                return -1;
            if (tid == pid && WIFEXITED(status))
                return WEXITSTATUS(status) ? -1 : 0;
        } while (!WIFSTOPPED(status));
        if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
            return -1; /* a fault */
    }
}

int specimen_step(const char *path, int ptwrite, specimen_run *run)
{
    int out[2];
    pid_t pid;
    int status;
    int failed;

    memset(run, 0, sizeof(*run));
    if (pipe2(out, O_CLOEXEC))
        return -1;
    pid = fork();
    if (pid == 0)
        run_stepped(path, ptwrite, out[1]);
    close(out[1]);
    failed = pid < 0 ? -1 : step_all(pid, run);
    if (failed && pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, __WALL);
        errno = EPERM;
    } else if (!failed) {
        failed = read(out[0], &run->report, sizeof(run->report)) ==
                         sizeof(run->report)
                     ? 0
                     : -1;
    }
    close(out[0]);
    return failed;
}

#else

typedef int specimen_unused; /* C wants something in a file */

#endif
