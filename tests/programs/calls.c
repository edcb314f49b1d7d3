/* calls.c: calls without their returns, and returns without their calls, for
 * ptprof. Each function does a little work of its own, so that it is seen; what
 * has to be on the stack then is in tests/ptprof.sh. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#define FUNCTION __attribute__((noinline))

static volatile int work;

FUNCTION void leaf(void) { work++; }

/* ---- tail call ---- */

FUNCTION void tail_target(void)
{
    leaf();
    work++;
}

/* GCC and clang make a jump of a last call where they optimise; this is one
 * always. */
void tail_caller(void);
__asm__(".globl tail_caller\n"
        ".type tail_caller, @function\n"
        "tail_caller:\n"
        "    nop\n"
        "    jmp tail_target\n"
        ".size tail_caller, . - tail_caller\n");

/* ---- code that runs on into the next function ---- */

void runs_on(void);
__asm__(".globl runs_on\n"
        ".type runs_on, @function\n"
        "runs_on:\n"
        "    nop\n"
        "    nop\n"
        ".size runs_on, . - runs_on\n"
        ".globl runs_further\n"
        ".type runs_further, @function\n"
        "runs_further:\n"
        "    nop\n"
        ".size runs_further, . - runs_further\n"
        ".globl runs_out\n"
        ".type runs_out, @function\n"
        "runs_out:\n"
        "    nop\n"
        "    nop\n"
        "    ret\n"
        ".size runs_out, . - runs_out\n");

/* ---- longjmp ---- */

static jmp_buf place;

FUNCTION void jumps(void)
{
    work++;
    longjmp(place, 1);
}

FUNCTION void calls_jumps(void)
{
    jumps();
    work++;
}

FUNCTION void after_longjmp(void)
{
    leaf();
    work++;
}

FUNCTION void catches(void)
{
    if (!setjmp(place))
        calls_jumps();
    else
        after_longjmp();
    work++;
}

/* ---- signals ---- */

static void handler(int number)
{
    (void) number;
    leaf();
    work++;
}

FUNCTION void faults(void)
{
    __asm__ volatile("int3");
    leaf();
    work++;
}

static void jumping_handler(int number)
{
    (void) number;
    siglongjmp(place, 1);
}

FUNCTION void faults_and_jumps(void)
{
    if (!sigsetjmp(place, 1)) __asm__ volatile("ud2");
    after_longjmp();
    work++;
}

/* ---- coroutine ---- */

static ucontext_t outside, inside;
static char stack[65536];

FUNCTION void switches(void)
{
    swapcontext(&inside, &outside);
    work++;
}

FUNCTION void coroutine(void)
{
    leaf();
    switches();
    leaf();
    work++;
}

FUNCTION void resumes(void)
{
    swapcontext(&outside, &inside);
    leaf();
    work++;
}

/* ---- coroutine that is entered and left by jumps ---- */

static void **away, **back; /* stack pointers of who does not run */
static void *other_stack[8192];

/* As Boost's contexts do it: the return address is jumped to. */
void jump_switch(void ***from, void **to);
__asm__(".globl jump_switch\n"
        ".type jump_switch, @function\n"
        "jump_switch:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    pop %rdx\n"
        "    jmp *%rdx\n"
        ".size jump_switch, . - jump_switch\n");

FUNCTION void jump_pauses(void)
{
    jump_switch(&away, back);
    work++;
}

FUNCTION void jumped(void)
{
    for (;;) {
        leaf();
        jump_pauses();
    }
}

FUNCTION void jump_resumes(void)
{
    jump_switch(&back, away);
    leaf();
    work++;
}

/* ---- recursion ---- */

FUNCTION void recursion(int depth)
{
    if (depth) recursion(depth - 1);
    work++;
}

FUNCTION void last(void)
{
    leaf();
    work++;
}

int main(void)
{
    tail_caller();
    runs_on();
    catches();
    signal(SIGTRAP, handler);
    faults();
    signal(SIGILL, jumping_handler);
    faults_and_jumps();
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    resumes();
    resumes();
    away = other_stack + 8192 - 4; /* rbx, rbp, where it begins, nothing */
    away[2] = (void *) (uintptr_t) jumped;
    jump_resumes();
    jump_resumes();
    jump_resumes();
    recursion(3);
    last();
    return 0;
}
