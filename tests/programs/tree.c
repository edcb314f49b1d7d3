/* tree.c: a program for tests/perf.sh with what makes records of processes:
 * threads that wait for each other, fork, exec, signals, names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS 3
#ifndef NUMBERS
#define NUMBERS 60 /* to sort */
#endif

static volatile unsigned total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned next_one;

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *) a;
    const unsigned y = *(const unsigned *) b;

    return x < y ? -1 : x > y;
}

static void work(unsigned seed)
{
    unsigned numbers[NUMBERS];
    unsigned i;

    for (i = 0; i < NUMBERS; i++)
        numbers[i] = (i * 7919 + seed * 31) % 101;
    qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
    total += numbers[NUMBERS / 2];
}

static void on_signal(int number)
{
    work((unsigned) number);
}

static void *run(void *argument)
{
    const unsigned me = (unsigned) (uintptr_t) argument;
    unsigned round;

    prctl(PR_SET_NAME, "worker");
    for (round = 0; round < ROUNDS; round++) {
        unsigned i;
        for (i = 0; i < 40; i++) /* a loop around one system call */
            total += (unsigned) syscall(SYS_getpid);
        work(me);
        pthread_mutex_lock(&lock);
        while (next_one % THREADS != me)
            pthread_cond_wait(&turn, &lock);
        next_one++;
        pthread_cond_broadcast(&turn);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    unsigned i;

    for (i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, run, (void *) (uintptr_t) i);
    for (i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
}

/* A child that waits until it may exec. */
static void child(char **argv)
{
    int fds[2];
    char c = 0;
    pid_t pid;
    const struct timespec nap = {0, 1000000};

    if (pipe(fds))
        _exit(1);
    pid = fork();
    if (pid == 0) {
        if (read(fds[0], &c, 1) != 1)
            _exit(1);
        work(2);
        execl(argv[0], argv[0], "child", (char *) NULL);
        _exit(1);
    }
    nanosleep(&nap, NULL);
    work(5);
    if (write(fds[1], "x", 1) != 1)
        _exit(1);
    waitpid(pid, NULL, 0);
}

static void *exec_now(void *argument)
{
    char **argv = (char **) argument;

    execl(argv[0], argv[0], "last", (char *) NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t id;

    if (argc > 1) {
        work(3);
        return !strcmp(argv[1], "last") ? 42 : 0;
    }
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    threads();
    child(argv);
    /* An exec by another thread than the first: it ends all others. */
    pthread_create(&id, NULL, exec_now, argv);
    pthread_join(id, NULL);
    return 1;
}
