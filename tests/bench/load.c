/* load.c: a case from folders with trace.pt and image.map: real traces, what
 * ptrecord and tests/truth record; or with page_cache.addr and page_cache.dump,
 * as kAFL and Nyx leave it, and libxdc's own tests have it. */
#include "load.h"
#include "../whole.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define AGAIN 300000 /* bytes */

/* What was traced: what the file `meta` says, if there is one; or all code.
 * libxdc asserts that ranges do not overlap, and those that are not used are
 * {0, 0}: a range that begins at 0 overlaps them. */
static void set_filter(bench_case *c, const char *folder)
{
    static const char key[] = "filter range ";
    const image_space *space = c->code.space_count ? c->code.spaces : NULL;
    size_t size;
    char *meta = folder ? whole_in(folder, "meta", &size) : NULL;
    const char *at = meta ? strstr(meta, key) : NULL;
    unsigned long long first;
    unsigned long long end;

    c->filter[0] = 1;
    c->filter[1] = UINT64_MAX - 1;
    if (at && sscanf(at + strlen(key), "%llx-%llx", &first, &end) == 2) {
        c->filter[0] = first;
        c->filter[1] = end;
    } else if (space && space->count) {
        const image_block *block = &space->blocks[space->count - 1];
        const uint64_t first = space->blocks[0].list[0].first;
        const uint64_t last = block->list[block->count - 1].last;
        c->filter[0] = first ? first : 1;
        c->filter[1] = last < UINT64_MAX - 1 ? last + 1 : UINT64_MAX - 1;
    }
    free(meta);
}

static const char *add_trace(bench_case *c, const char *folder)
{
    size_t size;
    uint8_t *trace = (uint8_t *) whole_in(folder, "trace.pt", &size);
    uint8_t *both = trace && c->runs < BENCH_RUNS
                        ? realloc(c->trace, c->size + size) : NULL;

    if (both) {
        memcpy(both + c->size, trace, size);
        c->trace = both;
        c->size += size;
        c->ends[c->runs++] = c->size;
    }
    free(trace);
    return trace ? both ? NULL : "too much" : "no trace";
}

/* ---- the code of several runs ---- */

/* Add a page, of which only what executed may be known; the rest is zero. */
static const char *add_page(image *all, image *one, uint64_t page)
{
    static const ipt_asid any = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    uint8_t *bytes = calloc(1, PAGE);
    uint8_t known[PAGE] = {0};
    size_t i;

    if (!bytes || image_read(bytes, PAGE, &any, page, one) != PAGE) {
        free(bytes);
        return "not in pages";
    }
    (void) image_read(known, PAGE, &any, page, all);
    for (i = 0; i < PAGE; i++) {
        if (bytes[i] && known[i] && bytes[i] != known[i]) {
            free(bytes);
            return "not the same program";
        }
        bytes[i] |= known[i];
    }
    return image_add(all, NULL, "merged", 0, bytes, PAGE, page);
}

static const char *add_code(bench_case *c, const char *folder)
{
    image one;
    const char *why;
    uint32_t i;

    image_init(&one);
    why = image_add_map(&one, NULL, folder);
    for (i = 0; !why && i < one.section_count; i++) {
        const image_section *s = &one.sections[i];
        uint64_t at;
        for (at = 0; !why && at < s->size; at += PAGE)
            why = add_page(&c->code, &one, s->base + at);
    }
    image_free(&one);
    return why;
}

/* ---- cases ---- */

/* NAME=FOLDER+FOLDER... */
static const char *load_runs(bench_case *c, const char *folders)
{
    char folder[1024];
    const char *why = NULL;
    const size_t name = strcspn(folders, "=");

    snprintf(c->name, sizeof c->name, "%.*s", (int) name, folders);
    folders += name + 1;

    while (!why && *folders) {
        const size_t n = strcspn(folders, "+");
        snprintf(folder, sizeof folder, "%.*s", (int) n, folders);
        folders += n + (folders[n] == '+');
        why = add_trace(c, folder);
        if (!why)
            why = add_code(c, folder);
    }
    c->has_code = 1;
    set_filter(c, NULL);
    return why;
}

/* A short trace, repeated without its code, so that start-up hardly counts. */
static const char *load_again(bench_case *c, const char *folder)
{
    const char *why = add_trace(c, folder);
    const size_t size = c->size;
    const size_t times = why ? 0 : 1 + AGAIN / size;
    uint8_t *all = why ? NULL : realloc(c->trace, size * times);
    size_t i;

    if (!all)
        return why ? why : "out of memory";
    for (i = 1; i < times; i++)
        memcpy(all + i * size, all, size);
    c->dense = 1;
    c->floor = 2;
    c->next = 1;
    c->trace = all;
    c->size = c->ends[0] = size * times;
    return NULL;
}

const char *bench_load(bench_case *c, const char *folder)
{
    const char *slash = strrchr(folder, '/');
    const char *why;
    char pages[1024];

    memset(c, 0, sizeof *c);
    image_init(&c->code);
    snprintf(c->name, sizeof c->name, "%s", slash ? slash + 1 : folder);
    if (strncmp(folder, "dense:", 6) == 0)
        return bench_dense(c, folder + 6);
    if (strncmp(folder, "again:", 6) == 0)
        return load_again(c, folder + 6);
    if (strchr(folder, '='))
        return load_runs(c, folder);
    why = add_trace(c, folder);
    snprintf(pages, sizeof pages, "%s/page_cache", folder);
    /* without code packets and events can still be had */
    c->has_code = !image_add_map(&c->code, NULL, folder)
                  || !image_add_pages(&c->code, NULL, pages);
    set_filter(c, folder);
    return why;
}
