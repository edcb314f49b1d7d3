/* calls.c: how many instructions each call stack has executed, from where the
 * stack pointer was at each call and return. Says nothing of why flow went where
 * it did, and shares no code with what it is compared with.
 *
 *     ptflow --tid T --insn --fields ip,sym,dso FILE | calls DIR/T.calls
 *
 * Prints `f;g;h COUNT` as ptprof --folded does: for each frame the function that
 * its call is in, then the function of the instructions. Frames are those whose
 * return address is above the stack pointer. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct frame {
    uint64_t slot; /* the address of its return address */
    size_t length; /* of the path up to it */
} frame;

typedef struct entry {
    char *path; /* NULL: free */
    uint64_t count;
} entry;

static frame frames[1 << 16];
static size_t frame_count;
static char path[1 << 20]; /* of the frames, then the function */
static size_t length;      /* of the frames */
static char leaf[4200];
static entry *table;
static size_t table_size = 1 << 10, table_count;

static void die(const char *why)
{
    fprintf(stderr, "calls: %s\n", why);
    exit(2);
}

static entry *find(entry *in, size_t size, const char *name)
{
    uint64_t h = 14695981039346656037u;
    size_t i;
    for (const char *s = name; *s; s++)
        h = (h ^ (uint8_t) *s) * 1099511628211u;
    i = (size_t) (h ^ h >> 32) & (size - 1);
    while (in[i].path && strcmp(in[i].path, name) != 0)
        i = (i + 1) & (size - 1);
    return &in[i];
}

static void grow(void)
{
    entry *const to = (entry *) calloc(2 * table_size, sizeof *to);
    if (!to) die("out of memory");
    for (size_t i = 0; i < table_size; i++)
        if (table[i].path) *find(to, 2 * table_size, table[i].path) = table[i];
    free(table);
    table = to;
    table_size *= 2;
}

static void count_one(entry **at)
{
    if (!*at) {
        if (length + strlen(leaf) >= sizeof path) die("a path is too long");
        strcpy(path + length, leaf);
        *at = find(table, table_size, path);
        if (!(*at)->path) {
            (*at)->path = strdup(path);
            if (!(*at)->path) die("out of memory");
            if (++table_count > table_size / 2) {
                grow();
                *at = find(table, table_size, path);
            }
        }
    }
    (*at)->count++;
}

/* A line of ptflow's to the name that ptprof shows. */
static void set_leaf(const char *sym, const char *dso, entry **at)
{
    char name[4200];
    const char *cold;
    char *version;
    if (strcmp(sym, "?") != 0) {
        snprintf(name, sizeof name, "%s", sym);
        cold = strstr(name, ".cold");
        if (cold && cold > name) name[cold - name] = 0;
        version = strchr(name, '@');
        if (version && version > name && strcmp(version, "@plt") != 0)
            *version = 0;
    } else if (*dso == '[') {
        snprintf(name, sizeof name, "%s", dso);
    } else {
        const char *const slash = strrchr(dso, '/');
        snprintf(name, sizeof name, "[%s]", slash ? slash + 1 : dso);
    }
    if (strcmp(name, leaf) == 0) return;
    strcpy(leaf, name);
    *at = NULL;
}

static void call(uint64_t slot)
{
    while (frame_count && frames[frame_count - 1].slot <= slot)
        length = frames[--frame_count].length;
    if (frame_count == sizeof frames / sizeof *frames) die("too deep");
    frames[frame_count].slot = slot;
    frames[frame_count++].length = length;
    if (length + strlen(leaf) + 1 >= sizeof path) die("a path is too long");
    length += (size_t) sprintf(path + length, "%s;", leaf);
}

static void ret(uint64_t sp)
{
    while (frame_count && frames[frame_count - 1].slot < sp)
        length = frames[--frame_count].length;
}

static int next(FILE *f, uint64_t numbers[3])
{
    uint8_t bytes[24];
    if (fread(bytes, sizeof bytes, 1, f) != 1) return 0;
    memset(numbers, 0, 3 * sizeof *numbers);
    for (unsigned i = 0; i < sizeof bytes; i++)
        numbers[i / 8] |= (uint64_t) bytes[i] << (8 * (i % 8));
    return 1;
}

int main(int argc, char **argv)
{
    static char line[3 * 4096], sym[4096], dso[4096];
    FILE *const calls = argc == 2 ? fopen(argv[1], "rb") : NULL;
    uint64_t numbers[3], done = 0;
    entry *at = NULL;
    int more;
    if (!calls) die("usage: calls DIR/TID.calls < lines");
    table = (entry *) calloc(table_size, sizeof *table);
    if (!table) die("out of memory");
    more = next(calls, numbers);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%*x %4095s %4095s", sym, dso) != 2)
            die("a line is not of ptflow's");
        set_leaf(sym, dso, &at);
        count_one(&at);
        done++;
        while (more && numbers[0] <= done) {
            if (numbers[1] == 1)
                call(numbers[2]);
            else
                ret(numbers[1] == 2 ? UINT64_MAX : numbers[2]); /* exec */
            at = NULL;
            more = next(calls, numbers);
        }
    }
    for (size_t i = 0; i < table_size; i++)
        if (table[i].path)
            printf("%s %" PRIu64 "\n", table[i].path, table[i].count);
    return 0;
}
