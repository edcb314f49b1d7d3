/* signal.c: a program for ../gdb.sh whose flow a signal leaves, twice. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int count;
static sigjmp_buf away;

static void add(int signal)
{
    count += signal;
}

static void leave(int signal)
{
    siglongjmp(away, signal);
}

static int __attribute__((noinline)) fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void)
{
    signal(SIGUSR1, add);
    signal(SIGUSR2, leave);
    count += fibonacci(7);
    raise(SIGUSR1);
    if (sigsetjmp(away, 1) == 0) raise(SIGUSR2);
    count += fibonacci(5);
    syscall(SYS_exit_group, 0);
    return count;
}
