/* signals.c: signals at all times, from outside and from inside: timers, raise,
 * faults that are repaired, faults that are left by siglongjmp. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf away;
static volatile unsigned alarms, users, faults;
static char *volatile page;

static unsigned work(unsigned n)
{
    unsigned x = n;
    unsigned i;

    for (i = 0; i < n % 97 + 20; i++)
        x = x & 1 ? 3 * x + 1 : x / 2 + (x >> 7);
    return x;
}

static void on_alarm(int number)
{
    (void) number;
    alarms += 1 + work(alarms) / UINT32_MAX;
}

static void on_user(int number)
{
    users++;
    if (users % 3 == 0)
        raise(SIGUSR2); /* nested */
    if (number == SIGUSR2)
        work(users);
}

static void on_fault(int number)
{
    (void) number;
    if (++faults % 2)
        siglongjmp(away, 1);
    mprotect(page, 4096, PROT_READ | PROT_WRITE); /* and once more */
}

int main(void)
{
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    unsigned sum = 0;
    unsigned i;

    page = (char *) mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
    signal(SIGALRM, on_alarm);
    signal(SIGUSR1, on_user);
    signal(SIGUSR2, on_user);
    signal(SIGSEGV, on_fault);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (i = 0; i < 3000; i++) {
        sum += work(i);
        if (i % 7 == 0)
            raise(SIGUSR1);
        if (i % 11 == 0 && sigsetjmp(away, 1) == 0) {
            mprotect(page, 4096, PROT_NONE);
            page[i % 4096] = (char) i;
        }
        if (i % 64 == 0)
            printf("%u %u\n", i, sum);
    }
    timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%u signals, %u faults: %u\n", users, faults, sum);
    return alarms > 1000000;
}
