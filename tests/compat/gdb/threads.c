/* threads.c: a program for ../gdb.sh that ends while two threads of it sleep,
 * always in the same place. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ready[2];
static volatile int sums[2];

static int __attribute__((noinline)) fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void *work(void *argument)
{
    volatile int *sum = argument;
    const long self = syscall(SYS_gettid);
    *sum = fibonacci(*sum);
    if (write(ready[1], &self, sizeof self) == (ssize_t) sizeof self)
        for (;;) pause();
    return NULL;
}

static int sleeps(long thread)
{
    char text[256];
    const char *state;
    ssize_t n;
    int fd;
    snprintf(text, sizeof text, "/proc/self/task/%ld/stat", thread);
    fd = open(text, O_RDONLY);
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    state = strrchr(text, ')'); /* the end of its name */
    return state && state[1] == ' ' && state[2] == 'S';
}

int main(void)
{
    pthread_t thread;
    long id;
    if (pipe(ready) != 0) return 1;
    for (int i = 0; i < 2; i++) {
        sums[i] = 5 + 2 * i;
        if (pthread_create(&thread, NULL, work, (void *) &sums[i]) != 0
            || read(ready[0], &id, sizeof id) != (ssize_t) sizeof id)
            return 1;
        while (!sleeps(id)) usleep(1000);
    }
    sums[0] += fibonacci(4);
    syscall(SYS_exit_group, 0);
    return 0;
}
