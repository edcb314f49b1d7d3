/* loops.c: a program for tests/truth/attribution.sh with what makes it hard to
 * say which thread it was: processes and threads that go round one system call
 * in the same code, that make each other wait, signals in between. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned total;

static void work(unsigned n)
{
    while (n-- > 0)
        total += n * 7 ^ total >> 3;
}

static void on_signal(int number)
{
    work((unsigned) number);
}

/* One system call for all, from one place. */
static void spin(unsigned rounds, unsigned step)
{
    unsigned i;

    for (i = 0; i < rounds; i++) {
        syscall(i % 8 ? SYS_getppid : SYS_sched_yield);
        work(step * (i % 5));
    }
}

static void *run(void *argument)
{
    spin(60, (unsigned) (uintptr_t) argument);
    return NULL;
}

static void wait_for(const int *from)
{
    char c;

    while (read(from[0], &c, 1) == 1)
        spin(5, 9);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int way[2];
    unsigned i;

    if (argc > 1) { /* after exec */
        spin(40, (unsigned) *argv[1] % 8);
        return 0;
    }
    signal(SIGUSR1, on_signal);
    if (pipe(way))
        return 1;
    for (i = 0; i < 2; i++) {
        if (fork() == 0) {
            close(way[1]);
            if (i == 0)
                wait_for(way);
            spin(80, 11 + i);
            if (i == 1)
                execl("/proc/self/exe", "loops", "again", (char *) 0);
            _exit(0);
        }
    }
    close(way[0]);
    pthread_create(&thread, NULL, run, (void *) (uintptr_t) 13);
    for (i = 0; i < 12; i++) {
        spin(6, 8);
        if (i % 3 == 0)
            raise(SIGUSR1);
        if (write(way[1], "x", 1) != 1)
            return 1;
    }
    close(way[1]);
    pthread_join(thread, NULL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
