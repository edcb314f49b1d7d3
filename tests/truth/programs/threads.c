/* threads.c: four threads that sort, wait for each other and share a lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned long total;
static unsigned next_one;

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *) a;
    const unsigned y = *(const unsigned *) b;

    return x < y ? -1 : x > y;
}

static void *run(void *argument)
{
    const unsigned me = *(const unsigned *) argument;
    static __thread unsigned numbers[2000];
    unsigned x = me + 1;
    unsigned round;
    unsigned i;

    for (round = 0; round < 3; round++) {
        for (i = 0; i < 2000; i++)
            numbers[i] = x = x * 1664525u + 1013904223u;
        qsort(numbers, 2000, sizeof(numbers[0]), compare);
        pthread_mutex_lock(&lock);
        while (next_one % 4 != me)
            pthread_cond_wait(&turn, &lock);
        next_one++;
        total += numbers[1000];
        pthread_cond_broadcast(&turn);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    unsigned ids[4];
    unsigned i;

    for (i = 0; i < 4; i++) {
        ids[i] = i;
        pthread_create(&threads[i], NULL, run, &ids[i]);
    }
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%lu\n", total);
    return 0;
}
