/* guests.c: see guests.h.
 *
 * SPDX-License-Identifier: MIT */
#include "guests.h"
#include <stdlib.h>
#include <string.h>

#define IDS 1048576u /* at most */
#define TEXT ((uint64_t) 1 << 28) /* bytes of a file */

void guests_init(guests *g)
{
    memset(g, 0, sizeof *g);
    symbols_init(&g->kernel);
}

void guests_free(guests *g)
{
    symbols_free(&g->kernel);
    free(g->ids);
}

/* ---- names ---- */

int guests_option(tool_args *args, guests *g, const char *word)
{
    const char **const to = strcmp(word, "--guest-kallsyms") == 0 ? &g->kallsyms
        : strcmp(word, "--guest-modules") == 0 ? &g->modules : NULL;
    if (!to) return 0;
    *to = tool_argument(args, word);
    return *to ? -1 : args->wrong;
}

/* Add the text of a file: 0, or the exit status with a message. */
static int add_text(const tool_args *args, const char *name, char **text)
{
    size_t size = 0;
    const size_t before = *text ? strlen(*text) : 0;
    char *const more = (char *) files_load(name, 0, TEXT, &size);
    const int ok = more && tool_grow(text, before + size + 2, 1);
    if (ok) {
        memcpy(*text + before, more, size);
        memcpy(*text + before + size, "\n", 2);
    } else {
        fprintf(stderr, "%s: %s: cannot read it.\n", args->program, name);
    }
    free(more);
    return !ok;
}

/* For each module a line as kallsyms has it: its name, at its first address. A line
 * is NAME SIZE USERS BY STATE ADDRESS. */
static int add_modules(const tool_args *args, const char *name, char **text)
{
    char *lines = NULL;
    int status = add_text(args, name, &lines);
    size_t used = *text ? strlen(*text) : 0;
    for (char *line = status ? NULL : strtok(lines, "\n"); line && !status;
         line = strtok(NULL, "\n")) {
        char module[64];
        unsigned long long at;
        if (sscanf(line, "%60s %*s %*s %*s %*s %llx", module, &at) != 2)
            continue;
        status = !tool_grow(text, used + 100, 1);
        if (!status)
            used += (size_t) sprintf(*text + used, "%llx t [%s]\n", at, module);
    }
    free(lines);
    return status;
}

int guests_start(guests *g, const tool_args *args)
{
    char *text = NULL;
    int status = g->kallsyms ? add_text(args, g->kallsyms, &text) : 0;
    if (status == 0 && g->modules) status = add_modules(args, g->modules, &text);
    if (status || !text)
        free(text);
    else
        symbols_kernel_text(&g->kernel, text);
    return status;
}

/* ---- records ---- */

static int compare_ids(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *) a;
    const uint64_t y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

/* A number of entries; for each id, index, cpu, tid; then, from perf 6.0 on, for
 * each the PID of its machine, 0 for the host, and its vcpu. */
int guests_note(guests *g, int big_endian, const perfdata_record *r)
{
    uint64_t entries;
    if (r->type != PERFDATA_ID_INDEX || r->size < 16) return 0;
    entries = perfdata_u64(big_endian, r->bytes + 8);
    if (entries > (r->size - 16u) / 48) return 0; /* it has no machines */
    for (size_t i = 0; i < entries; i++) {
        const uint8_t *const entry = r->bytes + 16 + 32 * i;
        const uint8_t *const machine = r->bytes + 16 + 32 * entries + 16 * i;
        if (!perfdata_u64(big_endian, machine) || g->count == IDS) continue;
        if (!tool_grow(&g->ids, g->count + 1, sizeof *g->ids)) return -1;
        g->ids[g->count++] = perfdata_u64(big_endian, entry);
    }
    if (g->count) qsort(g->ids, g->count, sizeof *g->ids, compare_ids);
    return 0;
}

int guests_has(guests *g, const perfdata_record *r)
{
    int has;
    if (!g->count || r->type >= PERFDATA_USER_TYPES
        || !(r->sample.has & PERFDATA_SAMPLE_IDENTIFIER))
        return 0;
    has = bsearch(&r->sample.identifier, g->ids, g->count, sizeof *g->ids,
                  compare_ids) != NULL;
    g->records += (unsigned) has;
    return has;
}
