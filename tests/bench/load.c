/* load.c: a case from a folder with trace.pt and image.map: real traces, what
 * ptrecord and tests/truth record. */
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

const char *bench_load(bench_case *c, const char *folder)
{
    const char *slash = strrchr(folder, '/');

    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", slash ? slash + 1 : folder);
    image_init(&c->code);
    c->trace = load(folder, "trace.pt", &c->size);
    if (!c->trace)
        return "no trace";
    /* without a map packets and events can still be had */
    c->has_code = !image_add_map(&c->code, NULL, folder);
    return NULL;
}
