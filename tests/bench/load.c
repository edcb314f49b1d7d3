/* load.c: a case from a folder: trace.pt with image.map (real traces, what
 * ptrecord records), or bench.pt with code.bin (tests/truth's recordings). */
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *load(const char *folder, const char *name, size_t *size)
{
    char path[1024];
    FILE *f;
    uint8_t *data = NULL;
    long n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) > 0) {
        rewind(f);
        data = malloc((size_t) n);
        *size = data ? fread(data, 1, (size_t) n, f) : 0;
    }
    fclose(f);
    return data;
}

/* ---- code.bin: records of 32 bytes, see tests/truth/truth.c ---- */

typedef struct record {
    uint64_t ip;
    uint8_t size;
    uint8_t last;
    uint8_t bytes[15];
    uint8_t changes; /* these bytes are not always the same */
} record;

static int by_ip(const void *a, const void *b)
{
    const record *x = a;
    const record *y = b;

    return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Give the image the pages [first, last] with the code that lies there. */
static const char *add_pages(image *code, const record *r, size_t count,
                             uint64_t first, uint64_t last)
{
    const uint64_t size = (last - first + 1) * 4096;
    uint8_t *data = calloc(1, (size_t) size);
    size_t i;

    if (!data)
        return "out of memory";
    for (i = 0; i < count; i++)
        memcpy(data + (r[i].ip - first * 4096), r[i].bytes, r[i].size);
    return image_add(code, NULL, "code.bin", 0, data, size, first * 4096);
}

static const char *add_records(image *code, record *r, size_t count)
{
    const char *why = NULL;
    size_t from;
    size_t to;

    qsort(r, count, sizeof *r, by_ip);
    for (from = 0; from < count && !why; from = to) {
        uint64_t last = r[from].ip / 4096;
        for (to = from; to < count && r[to].ip / 4096 <= last + 1; to++) {
            if (r[to].changes)
                return "its code changes";
            last = (r[to].ip + r[to].size - 1) / 4096;
        }
        why = add_pages(code, r + from, to - from, r[from].ip / 4096, last);
    }
    return why;
}

static const char *load_records(bench_case *c, const char *folder)
{
    const char *why = NULL;
    size_t size = 0;
    uint8_t *data = load(folder, "code.bin", &size);
    record *r = data ? calloc(size / 32 + 1, sizeof *r) : NULL;
    size_t i;
    unsigned k;

    if (!r)
        why = "no code.bin";
    for (i = 0; i < size / 32 && !why; i++) {
        const uint8_t *p = data + 32 * i;
        for (k = 0; k < 8; k++)
            r[i].ip |= (uint64_t) p[k] << 8 * k;
        r[i].size = p[8] <= 15 ? p[8] : 15;
        memcpy(r[i].bytes, p + 10, 15);
        r[i].changes = p[26];
    }
    if (!why)
        why = add_records(&c->code, r, size / 32);
    free(data);
    free(r);
    return why;
}

/* ---- */

const char *bench_load(bench_case *c, const char *folder)
{
    const char *slash = strrchr(folder, '/');
    const char *why;

    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", slash ? slash + 1 : folder);
    image_init(&c->code);
    c->trace = load(folder, "trace.pt", &c->size);
    if (c->trace) { /* without a map packets and events can still be had */
        c->has_code = !image_add_map(&c->code, NULL, folder);
        return NULL;
    }
    c->trace = load(folder, "bench.pt", &c->size);
    if (!c->trace)
        return "no trace";
    why = load_records(c, folder);
    c->has_code = !why;
    return why;
}

