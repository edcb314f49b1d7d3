/* time KIND N: work of one kind, in functions that differ, some N times.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static unsigned seed = 1;
static volatile unsigned sink;

APART static unsigned next(void)
{
    return seed = seed * 1103515245u + 12345u;
}

/* ---- plain ---- */

static int numbers[512];

APART static int ascending(const void *a, const void *b)
{
    const int x = *(const int *) a, y = *(const int *) b;
    return x < y ? -1 : x > y;
}

APART static void shuffle(void)
{
    for (int i = 0; i < 512; i++) numbers[i] = (int) (next() >> 8);
}

APART static unsigned hash(const char *s)
{
    unsigned h = 5381;
    while (*s) h = h * 33 + (unsigned char) *s++;
    return h;
}

APART static void copy(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void plain(int n)
{
    char text[256], other[256];
    for (int i = 0; i < n; i++) {
        shuffle();
        qsort(numbers, 512, sizeof *numbers, ascending);
        snprintf(text, sizeof text, "%d %d %08x", numbers[0], i, next());
        copy(other, text, strlen(text) + 1);
        sink += hash(other);
        if (i % 16 == 0 && write(2, "", 0) < 0) exit(1);
    }
}

/* ---- recursion ---- */

APART static unsigned odd(unsigned n);
APART static unsigned even(unsigned n) { return n ? 1 + odd(n - 1) : 0; }
APART static unsigned odd(unsigned n) { return n ? 2 + even(n - 1) : 0; }

APART static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static void recursion(int n)
{
    for (int i = 0; i < n; i++)
        sink += ackermann(2, 7) + even(100 + next() % 64);
}

/* ---- threads ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned shared;

APART static void locked(unsigned n)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n; i++) shared += i;
    pthread_mutex_unlock(&lock);
}

APART static unsigned alone(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) sum += i ^ n;
    return sum;
}

static void *work(void *count)
{
    for (int i = *(const int *) count; i > 0; i--) {
        sink += alone(200 + (unsigned) i % 100);
        locked(50 + (unsigned) i % 30);
    }
    return NULL;
}

static void threads(int n)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, &n);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

/* ---- code that is made, at one address again and again ---- */

#define ADDRESS ((void *) 0x20000000)

/* mov eax, edi; then `size` times inc or dec eax, round and round; ret */
static void make(const char *name, int op, int size)
{
    unsigned char code[4096] = {0x89, 0xf8};
    int n = 2;
    const int f = open(name, O_CREAT | O_TRUNC | O_RDWR, 0700);
    for (int i = 0; i < size; i++) {
        code[n++] = 0xff;
        code[n++] = (unsigned char) op;
    }
    memcpy(code + n, "\xff\xcf\x75", 3); /* dec edi; jnz to the first one */
    code[n + 3] = (unsigned char) (2 - (n + 4));
    code[n + 4] = 0xc3;
    if (f < 0 || write(f, code, sizeof code) != sizeof code) exit(1);
    close(f);
}

static int (*map(const char *name))(int)
{
    const int f = open(name, O_RDONLY);
    void *const p = mmap(ADDRESS, 4096, PROT_READ | PROT_EXEC,
                         MAP_PRIVATE | MAP_FIXED, f, 0);
    close(f);
    if (p == MAP_FAILED) exit(1);
    return (int (*)(int)) p;
}

APART static void call_one(void)
{
    int (*const f)(int) = map("jit_one");
    for (int i = 1; i < 50; i++) sink += (unsigned) f(i);
    sink++;
}

APART static void call_two(void)
{
    int (*const f)(int) = map("jit_two");
    for (int i = 1; i < 50; i++) sink += (unsigned) f(i);
    sink++;
}

static void jit(int n)
{
    make("jit_one", 0xc0, 3);
    make("jit_two", 0xc8, 20);
    for (int i = 0; i < n; i++) {
        call_one();
        call_two();
    }
}

int main(int argc, char **argv)
{
    const char *const kind = argc > 2 ? argv[1] : "";
    const int n = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(kind, "plain") == 0) plain(n);
    if (strcmp(kind, "recursion") == 0) recursion(n);
    if (strcmp(kind, "threads") == 0) threads(n);
    if (strcmp(kind, "jit") == 0) jit(n);
    return 0;
}
