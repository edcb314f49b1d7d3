/* simplept.c: see simplept.h.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "simplept.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPUS     4096u
#define MAPS     65536u
#define CR3_BITS ((uint64_t) 0xfffffffffe000)

static int out_of_memory(const tool_args *args)
{
    fprintf(stderr, "%s: out of memory.\n", args->program);
    return 1;
}

/* A number at *text, which is moved after it and the blanks; 1 if there is
 * one. */
static int take(char **text, int base, uint64_t *value)
{
    char *end;
    if (strspn(*text, "0123456789abcdefABCDEF") == 0) return 0;
    errno = 0;
    *value = strtoull(*text, &end, base);
    if (end == *text || errno || !strchr(" \t\n", *end)) return 0;
    *text = end + strspn(end, " ");
    return 1;
}

static int parse_meta(simplept *s, char *text)
{
    const size_t length = strcspn(text, " \n");
    char *const name = text;
    uint64_t value;
    text += length + strspn(text + length, " ");
    if (!take(&text, 10, &value) || value > UINT16_MAX) return 0;
    name[length] = 0;
    if (strcmp(name, "nom_freq") == 0 && value <= UINT8_MAX)
        s->nom_freq = value;
    if (strcmp(name, "mtc_freq") == 0 && value && value <= 16)
        s->mtc_freq = value - 1; /* it is one more */
    if (strcmp(name, "family") == 0) s->cpu.family = (uint16_t) value;
    if (strcmp(name, "model") == 0) {
        s->cpu.model = (uint8_t) value;
        s->cpu.known = 1;
    }
    if (strcmp(name, "stepping") == 0) s->cpu.stepping = (uint8_t) value;
    return 1;
}

/* SECONDS PID CR3 ADDR OFFSET [LEN]<tab>PATH; OFFSET is hexadecimal where SECONDS
 * is 0. */
static int parse_map(char *text, simplept_map *map)
{
    const double seconds = strtod(text, &text);
    uint64_t pid;
    text += strspn(text, " ");
    map->size = 0;
    if (!take(&text, 10, &pid) || pid == 0 || pid >= UINT32_MAX
        || !take(&text, 16, &map->cr3) || !take(&text, 16, &map->base)
        || !take(&text, seconds > 0 ? 10 : 16, &map->offset)
        || (*text != '\t' && !take(&text, 16, &map->size)) || *text != '\t')
        return 0;
    map->pid = (uint32_t) pid;
    text++;
    text[strcspn(text, "\n")] = 0;
    if (!*text || map->size > UINT64_MAX - map->base) return 0;
    map->name = text;
    return 1;
}

/* 0; 1 without memory. */
static int parse_line(simplept *s, char *text)
{
    simplept_map map;
    if (strncmp(text, "meta ", 5) == 0) {
        s->bad_lines += !parse_meta(s, text + 5);
        return 0;
    }
    if (s->map_count == MAPS || !parse_map(text, &map)) {
        s->bad_lines++;
        return 0;
    }
    if (!tool_grow(&s->maps, s->map_count + 1, sizeof *s->maps)) return 1;
    map.name = tool_copy(map.name, strlen(map.name));
    if (!map.name) return 1;
    s->maps[s->map_count++] = map;
    return 0;
}

static int read_sideband(const tool_args *args, simplept *s, const char *path)
{
    static char line[8192];
    FILE *const f = fopen(path, "r");
    int status = 0;
    if (!f) {
        fprintf(stderr, "%s: %s: cannot open it: %s.\n", args->program, path,
                strerror(errno));
        return 1;
    }
    while (!status && fgets(line, sizeof line, f)) status = parse_line(s, line);
    fclose(f);
    if (status) return out_of_memory(args);
    if (s->bad_lines)
        fprintf(stderr, "%s: %s: %zu lines are not understood\n",
                args->program, path, s->bad_lines);
    return 0;
}

/* The clocks, if there is such a file. */
static void read_cpuid(simplept *s, const char *path)
{
    static const char name[] = "TSC ratio:";
    char line[256];
    FILE *const f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *text = line + sizeof name - 1;
        if (strncmp(line, name, sizeof name - 1) != 0) continue;
        text += strspn(text, " \t");
        if (!take(&text, 10, &s->cpuid_15_eax)
            || !take(&text, 10, &s->cpuid_15_ebx)
            || s->cpuid_15_eax > UINT32_MAX || s->cpuid_15_ebx > UINT32_MAX)
            s->cpuid_15_eax = s->cpuid_15_ebx = 0;
    }
    if (f) fclose(f);
}

/* ---- the folder ---- */

static int compare_rings(const void *a, const void *b)
{
    const simplept_ring *const x = (const simplept_ring *) a;
    const simplept_ring *const y = (const simplept_ring *) b;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* How long the prefix is of a file of sideband; 0: it is none. */
static size_t prefix_of(const char *name)
{
    static const char end[] = ".sideband";
    const size_t length = strlen(name);
    if (length < sizeof end
        || strcmp(name + length - (sizeof end - 1), end) != 0)
        return 0;
    return length - (sizeof end - 1) + 1;
}

/* PREFIX., allocated; NULL with a message. */
static char *find_prefix(const tool_args *args, const char *folder, DIR *d)
{
    const struct dirent *e;
    char *prefix = NULL;
    unsigned count = 0;
    while ((e = readdir(d)) != NULL) {
        if (!prefix_of(e->d_name) || count++) continue;
        prefix = tool_copy(e->d_name, prefix_of(e->d_name));
    }
    if (count == 1 && prefix) return prefix;
    free(prefix);
    fprintf(stderr, "%s: %s: %s *.sideband in it.\n", args->program, folder,
            count ? "there is more than one" : "there is no");
    return NULL;
}

/* Is it a ring? 1; -1 without memory. */
static int add_ring(simplept *s, const char *folder, const char *prefix,
                    const char *name)
{
    const size_t length = strlen(prefix);
    const char *const number = name + length;
    simplept_ring *ring;
    if (strncmp(name, prefix, length) != 0 || !*number || strlen(number) > 4
        || number[strspn(number, "0123456789")]
        || strtoul(number, NULL, 10) >= CPUS)
        return 0;
    if (!tool_grow(&s->rings, s->ring_count + 1, sizeof *s->rings)) return -1;
    ring = &s->rings[s->ring_count];
    ring->cpu = (uint32_t) strtoul(number, NULL, 10);
    ring->name = tool_join(folder, name);
    if (!ring->name) return -1;
    s->ring_count++;
    return 1;
}

static int read_folder(const tool_args *args, simplept *s, const char *folder,
                       DIR *d)
{
    char *const prefix = find_prefix(args, folder, d);
    char *const start = prefix ? tool_join(folder, prefix) : NULL;
    char *const path = start ? malloc(strlen(start) + 9) : NULL;
    const struct dirent *e;
    int status = path ? 0 : 1;
    rewinddir(d);
    while (status == 0 && (e = readdir(d)) != NULL)
        if (add_ring(s, folder, prefix, e->d_name) < 0)
            status = out_of_memory(args);
    if (status == 0) {
        strcat(strcpy(path, start), "cpuid");
        read_cpuid(s, path);
        strcat(strcpy(path, start), "sideband");
        status = read_sideband(args, s, path);
    }
    if (status == 0 && s->ring_count == 0) {
        fprintf(stderr, "%s: %s: there is no %s0, a ring.\n", args->program,
                folder, prefix);
        status = 1;
    }
    free(path);
    free(start);
    free(prefix);
    return status;
}

int simplept_read(const tool_args *args, simplept *s, const char *folder)
{
    DIR *const d = opendir(folder);
    int status;
    memset(s, 0, sizeof *s);
    if (!d) {
        fprintf(stderr, "%s: %s: cannot open it: %s.\n", args->program, folder,
                strerror(errno));
        return 1;
    }
    status = read_folder(args, s, folder, d);
    closedir(d);
    if (s->ring_count)
        qsort(s->rings, s->ring_count, sizeof *s->rings, compare_rings);
    return status;
}

void simplept_free(simplept *s)
{
    for (size_t i = 0; i < s->map_count; i++) free(s->maps[i].name);
    for (size_t i = 0; i < s->ring_count; i++) free(s->rings[i].name);
    free(s->maps);
    free(s->rings);
    memset(s, 0, sizeof *s);
}

uint32_t simplept_process(const simplept *s, uint64_t cr3)
{
    for (size_t i = 0; i < s->map_count; i++)
        if (cr3 == IPT_ASID_UNKNOWN
            || (s->maps[i].cr3 & CR3_BITS) == (cr3 & CR3_BITS))
            return s->maps[i].pid;
    return 0;
}
