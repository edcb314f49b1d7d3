/* attribution FOLDER <LINES: which thread did a decoder give each instruction
 * to, and which thread was it? LINES are CPU TID IP SURE, those of a cpu in
 * order; FOLDER is one of ptrecord's with its log.
 *
 * Prints instructions that executed, those given to the right thread, those
 * given to a wrong one or made up without a mark, and those marked. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS  64
#define AHEAD 40000 /* how far to look for the place to go on at */
#define ALIKE 8     /* instructions that have to agree there */

typedef struct insn {
    uint64_t ip;
    uint32_t tid;
    uint8_t sure;
} insn;

typedef struct list {
    insn *at;
    size_t count;
    size_t max;
} list;

typedef struct run {
    uint64_t tsc;
    uint64_t first;
    uint64_t count;
    uint32_t cpu;
    uint32_t tid;
} run;

static list truth[CPUS];
static list found[CPUS];
static uint64_t right, unmarked, marked, total;

static void fail(const char *what)
{
    fprintf(stderr, "attribution: %s\n", what);
    exit(2);
}

static void add(list *l, uint64_t ip, uint32_t tid, int sure)
{
    if (l->count == l->max) {
        l->max = 2 * l->max + 4096;
        l->at = (insn *) realloc(l->at, l->max * sizeof(*l->at));
        if (!l->at)
            fail("out of memory");
    }
    l->at[l->count].ip = ip;
    l->at[l->count].tid = tid;
    l->at[l->count++].sure = (uint8_t) sure;
}

static int by_time(const void *a, const void *b)
{
    const run *x = (const run *) a;
    const run *y = (const run *) b;

    return x->tsc < y->tsc ? -1 : x->tsc > y->tsc;
}

/* What a run executed, from TID.u64. */
static void add_run(const char *folder, const run *r)
{
    char name[4096];
    uint8_t bytes[8];
    uint64_t i;
    FILE *f;

    snprintf(name, sizeof(name), "%s/%" PRIu32 ".u64", folder, r->tid);
    f = fopen(name, "rb");
    if (!f || fseek(f, (long) (8 * r->first), SEEK_SET))
        fail(name);
    for (i = 0; f && i < r->count && fread(bytes, 1, 8, f) == 8; i++) {
        uint64_t ip = 0;
        int j;
        for (j = 7; j >= 0; j--)
            ip = ip << 8 | bytes[j];
        add(&truth[r->cpu], ip, r->tid, 1);
    }
    if (f)
        fclose(f);
    total += i;
}

static void read_log(const char *folder)
{
    char name[4096];
    run *runs = NULL;
    size_t count = 0;
    size_t i;
    uint32_t pid;
    run r;
    FILE *f;

    snprintf(name, sizeof(name), "%s/log", folder);
    f = fopen(name, "r");
    if (!f) {
        fail(name);
        return;
    }
    while (fscanf(f, "run %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64
                  " %" SCNu64 " %" SCNu64 " %*u ",
                  &r.cpu, &pid, &r.tid, &r.first, &r.count, &r.tsc)
           == 6) {
        if (r.cpu >= CPUS)
            fail("too many cpus");
        runs = (run *) realloc(runs, (count + 1) * sizeof(*runs));
        if (!runs) {
            fail("out of memory");
            return;
        }
        runs[count++] = r;
    }
    fclose(f);
    if (count)
        qsort(runs, count, sizeof(*runs), by_time);
    for (i = 0; i < count; i++)
        add_run(folder, &runs[i]);
    free(runs);
}

static int alike(const list *t, size_t i, const list *g, size_t j)
{
    size_t n;

    if (i + ALIKE > t->count || j + ALIKE > g->count)
        return 0;
    for (n = 0; n < ALIKE && t->at[i + n].ip == g->at[j + n].ip; n++)
        ;
    return n == ALIKE;
}

/* Instructions [from, to) were made up. */
static void made_up(const list *g, size_t from, size_t to)
{
    for (; from < to; from++)
        unmarked += g->at[from].sure;
}

/* Where both agree again; 0 if they do not. */
static int resync(const list *t, size_t *i, const list *g, size_t *j)
{
    size_t n;

    for (n = 1; n < AHEAD; n++) {
        const size_t a = alike(t, *i, g, *j + n)       ? 0
                         : alike(t, *i + n, g, *j)     ? n
                         : alike(t, *i + n, g, *j + n) ? n
                                                       : SIZE_MAX;
        const size_t b = a == n && alike(t, *i + n, g, *j) ? 0 : n;
        if (a == SIZE_MAX)
            continue;
        made_up(g, *j, *j + b);
        *i += a;
        *j += b;
        return 1;
    }
    return 0;
}

static void compare(const list *t, const list *g)
{
    size_t i = 0;
    size_t j = 0;

    for (; j < g->count; j++)
        marked += !g->at[j].sure;
    j = 0;
    while (i < t->count && j < g->count) {
        if (t->at[i].ip == g->at[j].ip) {
            if (t->at[i].tid == g->at[j].tid)
                right++;
            else
                unmarked += g->at[j].sure;
            i++;
            j++;
        } else if (!resync(t, &i, g, &j)) {
            break;
        }
    }
    made_up(g, j, g->count);
}

int main(int argc, char **argv)
{
    uint32_t cpu;
    uint32_t tid;
    uint64_t ip;
    int sure;

    if (argc != 2)
        fail("attribution FOLDER <LINES");
    read_log(argv[1]);
    while (scanf("%" SCNu32 " %" SCNu32 " %" SCNx64 " %d", &cpu, &tid, &ip,
                 &sure)
           == 4)
        if (cpu < CPUS)
            add(&found[cpu], ip, tid, sure);
    for (cpu = 0; cpu < CPUS; cpu++)
        compare(&truth[cpu], &found[cpu]);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", total, right,
           unmarked, marked);
    return 0;
}
