/* drcov.c: reads a drcov file, as its format is published: DynamoRIO's version 2 of
 * the file, with a table of modules of version 2 to 5, whose columns it names.
 *
 *     drcov FILE
 *
 * prints MODULES blocks BLOCKS, then for each block, in hexadecimal, its address
 * where the module was loaded, its offset from there, its size, and the path. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 16, MODULES = 65536 };

typedef struct module {
    uint64_t start, end;
    char *path;
} module;

static char columns[COLUMNS][32];
static unsigned column_count;
static module modules[MODULES];

static void fail(const char *why)
{
    fprintf(stderr, "drcov: %s\n", why);
    exit(1);
}

static char *line_of(FILE *f)
{
    static char line[8192];
    size_t n;
    if (!fgets(line, sizeof line, f)) fail("it ends in its header");
    n = strcspn(line, "\r\n");
    if (!line[n]) fail("a line that does not end");
    line[n] = 0;
    return line;
}

static unsigned column(const char *a, const char *b)
{
    unsigned n = 0;
    while (n < column_count && strcmp(columns[n], a) != 0
           && strcmp(columns[n], b) != 0)
        n++;
    if (n == column_count) fail("a column is missing");
    return n;
}

static void read_columns(char *line)
{
    if (strncmp(line, "Columns: ", 9) != 0) fail("no columns");
    for (char *s = strtok(line + 9, ", "); s; s = strtok(NULL, ", ")) {
        if (column_count == COLUMNS || strlen(s) > 31) fail("columns");
        strcpy(columns[column_count++], s);
    }
    if (column("id", "id") != 0 || column("path", "path") + 1 != column_count)
        fail("id is not the first column, or path not the last one");
}

/* A path may have commas. */
static void read_module(char *line, unsigned id)
{
    char *fields[COLUMNS], *end;
    module *const m = &modules[id];
    for (unsigned i = 0; i < column_count; i++) {
        line += strspn(line, " ");
        fields[i] = line;
        if (i + 1 == column_count) break;
        line = strchr(line, ',');
        if (!line) fail("a module has too few fields");
        *line++ = 0;
    }
    if (strtoull(fields[0], &end, 10) != id || *end) fail("ids");
    m->start = strtoull(fields[column("base", "start")], &end, 16);
    if (*end) fail("start");
    m->end = strtoull(fields[column("end", "end")], &end, 16);
    if (*end || m->end < m->start) fail("end");
    m->path = (char *) malloc(strlen(fields[column_count - 1]) + 1);
    if (!m->path) fail("memory");
    strcpy(m->path, fields[column_count - 1]);
}

int main(int argc, char **argv)
{
    FILE *const f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    unsigned version, count, blocks;
    uint8_t b[8];
    char after;
    if (!f) fail("usage: drcov FILE");
    if (strcmp(line_of(f), "DRCOV VERSION: 2") != 0) fail("version");
    if (strncmp(line_of(f), "DRCOV FLAVOR: ", 14) != 0) fail("flavor");
    if (sscanf(line_of(f), "Module Table: version %u, count %u%c", &version,
               &count, &after) != 2 || version < 2 || version > 5
        || count > MODULES)
        fail("module table");
    read_columns(line_of(f));
    for (unsigned i = 0; i < count; i++) read_module(line_of(f), i);
    if (sscanf(line_of(f), "BB Table: %u bbs%c", &blocks, &after) != 1)
        fail("table of blocks");
    printf("%u blocks %u\n", count, blocks);
    for (unsigned i = 0; i < blocks; i++) {
        uint32_t start;
        unsigned size, id;
        if (fread(b, 1, 8, f) != 8) fail("a block is missing");
        start = b[0] | (uint32_t) b[1] << 8 | (uint32_t) b[2] << 16
              | (uint32_t) b[3] << 24;
        size = b[4] | (unsigned) b[5] << 8;
        id = b[6] | (unsigned) b[7] << 8;
        if (id >= count) fail("a block of no module");
        if (size == 0 || start + size > modules[id].end - modules[id].start)
            fail("a block outside of its module");
        printf("%llx %lx %x %s\n",
               (unsigned long long) (modules[id].start + start),
               (unsigned long) start, size, modules[id].path);
    }
    if (fgetc(f) != EOF) fail("bytes after the blocks");
    return 0;
}
