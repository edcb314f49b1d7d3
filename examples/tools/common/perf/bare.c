/* bare.c: see bare.h.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "bare.h"
#include "../code/code.h"
#include "perfwrite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void bare_init(bare *b)
{
    memset(b, 0, sizeof *b);
    image_init(&b->code);
}

void bare_free(bare *b)
{
    image_free(&b->code);
}

int bare_option(tool_args *args, bare *b, const char *word)
{
    const int is_trace = strcmp(word, "--pt") == 0;
    const int is_raw = strcmp(word, "--raw") == 0;
    const int is_elf = strcmp(word, "--elf") == 0;
    const char *value;
    if (!is_trace && !is_raw && !is_elf) return 0;
    value = tool_argument(args, word);
    if (!value) return 1;
    if (is_trace) {
        b->trace = value;
        return -1;
    }
    return (is_raw ? code_add_raw(args, &b->code, value)
                   : code_add_elf(args, &b->code, value, NULL)) ? 1 : -1;
}

static int cannot(const tool_args *args, const char *what, const char *name,
                  const char *why)
{
    fprintf(stderr, "%s: %s: cannot %s: %s.\n", args->program, name, what,
            why);
    return 1;
}

/* The part of a file that is seen at some addresses. */
static int write_range(const tool_args *args, perfwrite *w,
                       const perfwrite_who *who, const image *code,
                       const image_range *r)
{
    const image_section *const s = &code->sections[r->section - 1];
    perfwrite_map map;
    char *path;
    if (!s->name || (!s->data && !s->file)) return 0; /* zeros */
    if (r->first >> 63)
        return cannot(args, "add it", s->name,
                      "the kernel's code is taken from --kcore");
    path = realpath(s->name, NULL);
    if (!path) return cannot(args, "open it", s->name, strerror(errno));
    memset(&map, 0, sizeof map);
    map.base = r->first;
    map.size = r->last - r->first + 1;
    map.offset = s->from + (r->first - s->base);
    map.prot = PROT_READ | PROT_EXEC;
    map.flags = MAP_PRIVATE;
    map.name = path;
    perfwrite_mmap(w, who, &map);
    free(path);
    return 0;
}

static int write_code(const tool_args *args, perfwrite *w,
                      const perfwrite_who *who, const image *code)
{
    for (size_t i = 0; i < code->space_count; i++)
        for (size_t j = 0; j < code->spaces[i].count; j++)
            if (write_range(args, w, who, code, &code->spaces[i].ranges[j]))
                return 1;
    return 0;
}

static int write_trace(const tool_args *args, perfwrite *w,
                       const perfwrite_who *who, const char *name)
{
    static uint8_t bytes[1 << 16];
    FILE *const f = fopen(name, "rb");
    const char *what;
    size_t n;
    int failed;
    if (!f) return cannot(args, "open it", name, strerror(errno));
    n = fread(bytes, 1, sizeof bytes, f);
    if (tool_kind_of(bytes, n, &what) > TOOL_TRACE) {
        fclose(f);
        fprintf(stderr, "%s: %s %s.\n", args->program, name, what);
        return 1;
    }
    for (; n > 0; n = fread(bytes, 1, sizeof bytes, f))
        perfwrite_trace(w, 0, who, bytes, n);
    perfwrite_aux(w, 0, who, 0);
    failed = ferror(f);
    fclose(f);
    return failed ? cannot(args, "read it", name, strerror(errno)) : 0;
}

/* The name of a new file, and the file; NULL with a message. */
static char *new_file(const tool_args *args, const perfwrite_config *config,
                      perfwrite **w)
{
    const char *const folder = getenv("TMPDIR");
    char *const path = tool_join(folder && *folder ? folder : "/tmp",
                                 "perf.data.XXXXXX");
    const int fd = path ? mkstemp(path) : -1;
    *w = NULL;
    if (fd >= 0) {
        close(fd);
        *w = perfwrite_open(path, config);
        if (*w) return path;
        remove(path);
    }
    cannot(args, "create it", path ? path : "perf.data", strerror(errno));
    free(path);
    return NULL;
}

char *bare_write(const tool_args *args, const bare *b)
{
    static const perfwrite_who who = {1, 1, 0, 0};
    const char *const slash = strrchr(b->trace, '/');
    perfwrite_config config;
    perfwrite *w;
    char *path;
    int status;
    memset(&config, 0, sizeof config);
    config.pt = 0x2001; /* branches; the packets of time explain themselves */
    path = new_file(args, &config, &w);
    if (!path) return NULL;
    perfwrite_comm(w, &who, slash ? slash + 1 : b->trace, 1);
    status = write_code(args, w, &who, &b->code);
    perfwrite_start(w, &who);
    if (status == 0) status = write_trace(args, w, &who, b->trace);
    if (perfwrite_close(w) && status == 0)
        status = cannot(args, "write it", path, strerror(errno));
    if (status == 0) return path;
    remove(path);
    free(path);
    return NULL;
}
