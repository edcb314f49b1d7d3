/* Calls that go through a library and come back: it calls functions of the
 * program, or flow leaves it by another way than it came. The arguments say
 * which. At the end it prints its mappings. With PLUGIN: the plugin. */

#include <dlfcn.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone))

typedef int order(const void *, const void *);
typedef int plug(int *, size_t, order *);

#ifdef PLUGIN

static order *asks;

static APART int other_way(const void *a, const void *b)
{
    return asks(b, a);
}

extern "C" APART int plug_sort(int *values, size_t count, order *compare)
{
    asks = compare;
    qsort(values, count, sizeof *values, other_way);
    return values[0] - values[count - 1];
}

#else

#ifndef COUNT
#define COUNT 64
#endif

static int values[COUNT];
static volatile int seen;

static void shuffle(unsigned seed)
{
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (int) ((seed = seed * 1103515245u + 12345u) >> 8);
}

static APART int order_of(int a, int b)
{
    return a < b ? -1 : a > b;
}

static APART int compare(const void *a, const void *b)
{
    return order_of(*(const int *) a, *(const int *) b);
}

static void sorts(void)
{
    for (unsigned i = 0; i < 4; i++) {
        shuffle(i);
        qsort(values, COUNT, sizeof *values, compare);
    }
}

static void searches(void)
{
    sorts();
    for (int i = 0; i < COUNT; i++)
        if (bsearch(values + i, values, COUNT, sizeof *values, compare)) seen++;
}

static APART void node(const void *, VISIT visit, int depth)
{
    if (visit == leaf || visit == postorder) seen += depth;
}

static APART void forget(void *)
{
    seen--;
}

static void trees(void)
{
    void *root = NULL;
    shuffle(7);
    for (int i = 0; i < COUNT; i++) tsearch(values + i, &root, compare);
    twalk(root, node);
    for (int i = 0; i < COUNT; i++)
        if (tfind(values + i, &root, compare)) seen++;
    tdestroy(root, forget);
}

static APART void first(void)
{
    shuffle(1);
}

static APART void last(void)
{
    sorts();
}

static void at_exit(void)
{
    atexit(first);
    atexit(last);
    atexit(first);
}

static APART void prepare(void)
{
    for (unsigned i = 0; i < 8; i++) shuffle(i);
}

static void once(void)
{
    static pthread_once_t onces[8];
    for (int i = 0; i < 8; i++) onces[i] = PTHREAD_ONCE_INIT;
    for (int i = 0; i < COUNT; i++) pthread_once(onces + i % 8, prepare);
}

static APART bool before(const std::string &a, const std::string &b)
{
    return a < b;
}

static void sorts_text(void)
{
    std::vector<std::string> texts;
    shuffle(3);
    for (int i = 0; i < COUNT; i++) texts.push_back(std::to_string(values[i]));
    std::sort(texts.begin(), texts.end(), before);
    seen += (int) texts[0].size();
}

static void plugs(void)
{
    void *const file = dlopen(PLUG, RTLD_NOW);
    plug *const sort = file ? (plug *) dlsym(file, "plug_sort") : NULL;
    if (!sort) exit(2);
    for (unsigned i = 0; i < 4; i++) {
        shuffle(i);
        seen += sort(values, COUNT, compare);
    }
}

static APART void handler(int number)
{
    seen += number;
    qsort(values, 16, sizeof *values, compare);
}

static void signals(void)
{
    signal(SIGUSR1, handler);
    for (unsigned i = 0; i < 16; i++) {
        shuffle(i);
        raise(SIGUSR1);
    }
}

static void stubs(void)
{
    char text[32];
    for (int i = 0; i < COUNT; i++) {
        seen += snprintf(text, sizeof text, "%d", i);
        seen += (int) strtol(text, NULL, 10);
        seen += rand() + getppid();
    }
}

static jmp_buf out;
static int until;

static APART int compare_until(const void *a, const void *b)
{
    if (--until == 0) longjmp(out, 1);
    return compare(a, b);
}

static void jumps(void)
{
    for (volatile int i = 1; i < 32; i++) {
        shuffle((unsigned) i);
        until = 3 * i;
        if (!setjmp(out)) qsort(values, COUNT, sizeof *values, compare_until);
    }
}

static const struct {
    const char *name;
    void (*does)(void);
} kinds[] = {
    {"qsort", sorts},         {"bsearch", searches}, {"tsearch", trees},
    {"atexit", at_exit},      {"once", once},        {"std::sort", sorts_text},
    {"dlopen", plugs},        {"signal", signals},   {"stubs", stubs},
    {"longjmp", jumps},
};

int main(int argc, char **argv)
{
    char line[4096];
    FILE *maps;
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strcmp(argv[i], kinds[k].name) == 0) kinds[k].does();
    maps = fopen("/proc/self/maps", "r");
    if (!maps) return 2;
    while (fgets(line, sizeof line, maps))
        if (strstr(line, " r-xp ")) fputs(line, stdout);
    return fclose(maps);
}

#endif
