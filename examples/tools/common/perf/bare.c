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
}

void bare_free(bare *b)
{
    simplept_free(&b->simple);
    lldb_free(&b->lldb);
    free(b->files);
}

int bare_kinds(const bare *b)
{
    return (b->trace != NULL) + (b->folder != NULL) + (b->bundle != NULL);
}

static int add_file(tool_args *args, bare *b, const char *word)
{
    const char *const text = tool_argument(args, word);
    if (!text) return args->wrong;
    if (!tool_grow(&b->files, b->file_count + 1, sizeof *b->files)) {
        fprintf(stderr, "%s: out of memory.\n", args->program);
        return 1;
    }
    b->files[b->file_count].text = text;
    b->files[b->file_count++].is_raw = strcmp(word, "--raw") == 0;
    return -1;
}

static int parse_model(tool_args *args, bare *b, const char *word)
{
    const char *const text = tool_argument(args, word);
    if (!text || tool_parse_cpu(args, text, &b->cpu, ".")) return args->wrong;
    b->described = 1;
    return -1;
}

static int take_word(tool_args *args, const char *word, const char **to)
{
    *to = tool_argument(args, word);
    return *to ? -1 : args->wrong;
}

int bare_option(tool_args *args, bare *b, const char *word)
{
    const struct {
        const char *name;
        unsigned bits;
        uint64_t *value;
    } numbers[] = {{"--nom-freq", 8, &b->nom_freq},
                   {"--mtc-freq", 4, &b->mtc_freq},
                   {"--cpuid-0x15.eax", 32, &b->cpuid_15_eax},
                   {"--cpuid-0x15.ebx", 32, &b->cpuid_15_ebx}};
    if (strcmp(word, "--pt") == 0) return take_word(args, word, &b->trace);
    if (strcmp(word, "--simple-pt") == 0)
        return take_word(args, word, &b->folder);
    if (strcmp(word, "--lldb") == 0) return take_word(args, word, &b->bundle);
    if (strcmp(word, "--raw") == 0 || strcmp(word, "--elf") == 0)
        return add_file(args, b, word);
    if (strcmp(word, "--cpu-model") == 0) return parse_model(args, b, word);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(word, numbers[i].name) != 0) continue;
        b->described = 1;
        return tool_number(args, word, numbers[i].bits, numbers[i].value)
            ? args->wrong : -1;
    }
    return 0;
}

/* ---- code ---- */

/* Is there the file that FILE[:...] is of? */
static int is_there(const char *text)
{
    char *const name = tool_copy(text, strlen(text));
    char *colon;
    int there = name && access(name, F_OK) == 0;
    while (name && !there && (colon = strrchr(name, ':')) != NULL) {
        *colon = 0;
        there = access(name, F_OK) == 0;
    }
    free(name);
    return there;
}

/* FILE[:...] where it is: allocated; NULL if it is nowhere. A whole path is one
 * below symfs, as those in a perf.data are. */
static char *find_file(const char *text, const char *symfs)
{
    const char *const slash = strrchr(text, '/');
    char *path = tool_copy(text, strlen(text));
    if (!path || (is_there(path) && !(symfs && *text == '/'))) return path;
    for (int i = 0; symfs && i < 2; i++) {
        free(path);
        path = tool_join(symfs, i && slash ? slash + 1 : text);
        if (!path || is_there(path)) return path;
    }
    free(path);
    return NULL;
}

static int add_code(const tool_args *args, const bare *b, const char *symfs,
                    image *code)
{
    int status = 0;
    for (size_t i = 0; i < b->file_count && status == 0; i++) {
        const bare_file *const f = &b->files[i];
        char *const path = find_file(f->text, symfs);
        if (!path)
            fprintf(stderr, "%s: not there: %s; say where a copy is: --symfs "
                            "<folder>\n", args->program, f->text);
        else if (f->is_raw)
            status = code_add_raw(args, code, path);
        else
            status = code_add_elf(args, code, path, NULL);
        free(path);
    }
    return status;
}

static int cannot(const tool_args *args, const char *what, const char *name,
                  const char *why)
{
    fprintf(stderr, "%s: ", args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": cannot %s: %s.\n", what, why);
    return 1;
}

/* The part of a file that is seen at some addresses. `from` is what else is known
 * of the mapping. */
static int write_range(const tool_args *args, perfwrite *w,
                       const perfwrite_who *who, const perfwrite_map *from,
                       const image *code, const image_range *r)
{
    const image_section *const s = &code->sections[r->section - 1];
    perfwrite_map map = *from;
    char *path;
    if (!s->name || (!s->data && !s->file)) return 0; /* zeros */
    path = realpath(s->name, NULL);
    if (!path) return cannot(args, "open it", s->name, strerror(errno));
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

static int write_ranges(const tool_args *args, perfwrite *w,
                        const perfwrite_who *who, const perfwrite_map *from,
                        const image *code)
{
    int status = 0;
    for (size_t i = 0; i < code->space_count; i++) {
        const image_space *const space = &code->spaces[i];
        image_place p = {0, 0};
        const image_range *r;
        for (; status == 0 && (r = image_range_at(space, p));
             p = image_after(space, p))
            status = write_range(args, w, who, from, code, r);
    }
    return status;
}

static int write_code(const tool_args *args, perfwrite *w,
                      const perfwrite_who *who, const bare *b,
                      const char *symfs)
{
    perfwrite_map map;
    image code;
    int status;
    memset(&map, 0, sizeof map);
    image_init(&code);
    status = add_code(args, b, symfs, &code);
    if (status == 0) status = write_ranges(args, w, who, &map, &code);
    image_free(&code);
    return status;
}

/* ---- trace ---- */

static int write_trace(const tool_args *args, perfwrite *w, uint32_t queue,
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
        perfwrite_trace(w, queue, who, bytes, n);
    perfwrite_aux(w, queue, who, 0);
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

/* The packets of time that the trace begins with, as bits of RTIT_CTL. */
static uint64_t packets_of_time(const char *name)
{
    static uint8_t bytes[1 << 20];
    FILE *const f = fopen(name, "rb");
    ipt_segment piece = {bytes, f ? fread(bytes, 1, sizeof bytes, f) : 0};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    ipt_pkt_decoder d;
    ipt_packet p;
    uint64_t found = 0;
    int status;
    if (f) fclose(f);
    memset(&config, 0, sizeof config);
    memset(&d, 0, sizeof d);
    status = ipt_pkt_init(&d, &config, &trace);
    if (status >= 0) status = ipt_pkt_sync_forward(&d);
    while (status >= 0 && (status = ipt_pkt_next(&d, &p)) >= 0) {
        if (p.type == IPT_PKT_TSC) found |= 1u << 10;
        if (p.type == IPT_PKT_MTC) found |= 1u << 9;
        if (p.type == IPT_PKT_CYC) found |= 1u << 1;
    }
    return found;
}

/* Of a processor that is described trace has times, in ns if its frequency is
 * known and in ticks of TSC else. */
static void describe(const tool_args *args, const bare *b,
                     perfwrite_config *config)
{
    if (b->cpu.known) {
        config->family = b->cpu.family;
        config->model = b->cpu.model;
        config->stepping = b->cpu.stepping;
    }
    config->cpuid_15_eax = (uint32_t) b->cpuid_15_eax;
    config->cpuid_15_ebx = (uint32_t) b->cpuid_15_ebx;
    config->max_ratio = (uint8_t) b->nom_freq;
    config->pt |= b->mtc_freq << 14;
    config->timed = config->pt >> 10 & 1;
    config->time_shift = b->nom_freq ? 26 : 0;
    config->time_mult = b->nom_freq
        ? (uint32_t) ((10u << 26) / b->nom_freq) : 1;
    if (b->lldb.timed) {
        config->time_shift = b->lldb.time_shift;
        config->time_mult = b->lldb.time_mult;
        config->time_zero = b->lldb.time_zero;
    } else if (config->timed && !b->nom_freq && !b->quiet)
        fprintf(stderr, "%s: no --nom-freq: what it says are ns are ticks of "
                        "TSC\n", args->program);
}

static const char *name_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int write_bare(const tool_args *args, perfwrite *w, const bare *b,
                      const char *symfs)
{
    static const perfwrite_who who = {1, 1, 0, 0};
    int status;
    perfwrite_comm(w, &who, name_of(b->trace), 1);
    status = write_code(args, w, &who, b, symfs);
    perfwrite_start(w, &who);
    if (status) return status;
    return write_trace(args, w, 0, &who, b->trace);
}

/* ---- simple-pt ---- */

/* What its lines say, unless options do. */
static void use_meta(bare *b)
{
    const simplept *const s = &b->simple;
    if (!b->cpu.known) b->cpu = s->cpu;
    if (!b->nom_freq) b->nom_freq = s->nom_freq;
    if (!b->mtc_freq) b->mtc_freq = s->mtc_freq;
    if (!b->cpuid_15_eax && !b->cpuid_15_ebx) {
        b->cpuid_15_eax = s->cpuid_15_eax;
        b->cpuid_15_ebx = s->cpuid_15_ebx;
    }
    b->described = 1;
}

/* How long a file is from an offset on, where none is there a page. */
static uint64_t size_of(const simplept_map *map, const char *symfs)
{
    char *const path = find_file(map->name, symfs);
    FILE *const f = path ? fopen(path, "rb") : NULL;
    long size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (f) fclose(f);
    free(path);
    return size > 0 && (uint64_t) size > map->offset
        ? (uint64_t) size - map->offset : 4096;
}

static int write_simple(const tool_args *args, perfwrite *w, const bare *b,
                        const char *symfs)
{
    static const perfwrite_who nobody = {0, 0, 0, 0};
    const simplept *const s = &b->simple;
    int status = 0;
    for (size_t i = 0; i < s->map_count; i++) {
        const simplept_map *const from = &s->maps[i];
        const perfwrite_who who = {from->pid, from->pid, 0, 0};
        perfwrite_map map;
        size_t first = 0;
        while (s->maps[first].pid != from->pid) first++;
        if (first == i)
            perfwrite_comm(w, &who, name_of(from->name), 1);
        memset(&map, 0, sizeof map);
        map.base = from->base;
        map.size = from->size ? from->size : size_of(from, symfs);
        map.offset = from->offset;
        map.prot = PROT_READ | PROT_EXEC;
        map.flags = MAP_PRIVATE;
        map.name = from->name;
        perfwrite_mmap(w, &who, &map);
    }
    for (size_t i = 0; i < s->ring_count && status == 0; i++) {
        perfwrite_who who = nobody;
        who.cpu = s->rings[i].cpu;
        status = write_trace(args, w, who.cpu, &who, s->rings[i].name);
    }
    return status;
}

/* ---- LLDB ---- */

/* Where a file of code is: the copy in the bundle; below symfs; where it was. NULL
 * if it is nowhere. */
static char *find_module(const lldb_module *m, const char *symfs)
{
    const char *const names[] = {m->path, name_of(m->path)};
    char *path;
    if (m->copy && lldb_is_file(m->copy))
        return tool_copy(m->copy, strlen(m->copy));
    for (int i = 0; symfs && i < 2; i++) {
        if (strstr(names[i], "..")) continue; /* out of it */
        path = tool_join(symfs, names[i]);
        if (!path || lldb_is_file(path)) return path;
        free(path);
    }
    if (!symfs && *m->path == '/' && lldb_is_file(m->path))
        return tool_copy(m->path, strlen(m->path));
    return NULL;
}

static int say_not_there(const tool_args *args, const char *name)
{
    fprintf(stderr, "%s: not there: ", args->program);
    tool_print(stderr, name);
    fputs("; say where a copy is: --symfs <folder>\n", stderr);
    return 0;
}

static int write_module(const tool_args *args, perfwrite *w,
                        const perfwrite_who *who, const lldb_module *m,
                        const char *symfs)
{
    static const char vdso[] = "[vdso]";
    char *const path = find_module(m, symfs);
    perfwrite_map map;
    image code;
    const char *why;
    int status = 0;
    memset(&map, 0, sizeof map);
    if (!path && strcmp(m->path, vdso) == 0) {
        map.base = m->base;
        map.size = 8192;
        map.prot = PROT_READ | PROT_EXEC;
        map.name = vdso;
        perfwrite_mmap(w, who, &map);
        return 0;
    }
    if (!path) return say_not_there(args, m->copy ? m->copy : m->path);
    map.build_id_size = m->build_id_size;
    memcpy(map.build_id, m->build_id, sizeof m->build_id);
    image_init(&code);
    why = image_add_elf(&code, NULL, path, m->base, NULL);
    if (!why) {
        status = write_ranges(args, w, who, &map, &code);
    } else {
        fprintf(stderr, "%s: warning: failed to load ", args->program);
        tool_print(stderr, path);
        fprintf(stderr, ": %s.\n", why);
    }
    image_free(&code);
    free(path);
    return status;
}

/* Is it the first one of a process? Those of a process follow each other. */
static int is_new(const lldb *l, size_t i)
{
    return i == 0 || l->modules[i].pid != l->modules[i - 1].pid;
}

static int write_switches(const tool_args *args, perfwrite *w, uint32_t cpu,
                          const char *name)
{
    tool_range range = {NULL, 0, UINT64_MAX};
    tool_file file = {NULL, 0};
    lldb_switch s;
    size_t at = 0;
    int status;
    range.name = tool_copy(name, strlen(name));
    status = range.name ? tool_load(args, &range, &file) : 1;
    free(range.name);
    while (status == 0 && lldb_next(&file, &at, &s)) {
        const perfwrite_who who = {s.pid, s.tid, cpu, s.time};
        perfwrite_switch(w, &who, s.is_out, s.preempted, s.other_pid,
                         s.other_tid);
    }
    free(file.data);
    return status;
}

/* Without a clock nobody knows when a switch was. */
static int has_switches(const lldb *l)
{
    for (size_t i = 0; l->timed && i < l->cpu_count; i++)
        if (l->cpus[i].switches) return 1;
    return 0;
}

static int write_lldb(const tool_args *args, perfwrite *w, const bare *b,
                      const char *symfs)
{
    const lldb *const l = &b->lldb;
    int status = 0;
    for (size_t i = 0; i < l->module_count && status == 0; i++) {
        const lldb_module *const m = &l->modules[i];
        const perfwrite_who who = {m->pid, m->pid, 0, 0};
        if (is_new(l, i)) perfwrite_comm(w, &who, name_of(m->path), 1);
        status = write_module(args, w, &who, m, symfs);
    }
    for (size_t i = 0; i < l->thread_count && status == 0; i++) {
        const perfwrite_who who = {l->threads[i].pid, l->threads[i].tid, 0, 0};
        const char *comm = "";
        for (size_t j = 0; j < l->module_count && !*comm; j++)
            if (l->modules[j].pid == who.pid) comm = name_of(l->modules[j].path);
        if (who.tid != who.pid) perfwrite_comm(w, &who, comm, 0);
        if (!l->threads[i].name || l->cpu_count) continue;
        perfwrite_start(w, &who);
        status = write_trace(args, w, (uint32_t) i, &who, l->threads[i].name);
    }
    for (size_t i = 0; i < l->cpu_count && status == 0; i++) {
        const perfwrite_who who = {0, 0, l->cpus[i].cpu, 0};
        if (l->timed && l->cpus[i].switches)
            status = write_switches(args, w, who.cpu, l->cpus[i].switches);
        if (status == 0)
            status = write_trace(args, w, who.cpu, &who, l->cpus[i].name);
    }
    return status;
}

/* ---- all ---- */

int bare_has_process(const bare *b)
{
    return b->folder || (b->lldb.cpu_count && !has_switches(&b->lldb));
}

uint32_t bare_process(const bare *b, uint64_t cr3)
{
    return b->folder ? simplept_process(&b->simple, cr3) : b->lldb.process;
}

/* What they say of the processor and the trace. */
static int read_all(const tool_args *args, bare *b, perfwrite_config *config)
{
    const lldb *const l = &b->lldb;
    int status = 0;
    if (b->folder) status = simplept_read(args, &b->simple, b->folder);
    if (b->bundle) status = lldb_read(args, &b->lldb, b->bundle);
    if (status) return status;
    if (b->folder) use_meta(b);
    if (b->bundle && !b->cpu.known) b->cpu = l->cpu;
    b->described |= l->timed || l->cpu.known;
    memset(config, 0, sizeof *config);
    config->pt = 0x2001; /* branches; the packets of time explain themselves */
    for (size_t i = 0; i < b->simple.ring_count; i++)
        config->pt |= packets_of_time(b->simple.rings[i].name);
    for (size_t i = 0; i < l->cpu_count && b->described; i++)
        config->pt |= packets_of_time(l->cpus[i].name);
    for (size_t i = 0; i < l->thread_count && b->described; i++)
        if (l->threads[i].name && !l->cpu_count)
            config->pt |= packets_of_time(l->threads[i].name);
    if (b->trace) config->pt |= packets_of_time(b->trace);
    b->described |= config->pt >> 10 & 1; /* TSC packets need no description */
    config->by_cpu = b->folder || l->cpu_count;
    config->switches = (uint8_t) has_switches(l);
    config->kernel = l->kernel != NULL;
    if (b->described) describe(args, b, config);
    return 0;
}

char *bare_write(const tool_args *args, bare *b, const char *symfs)
{
    perfwrite_config config;
    perfwrite *w;
    char *path;
    int status = read_all(args, b, &config);
    if (status) return NULL;
    path = new_file(args, &config, &w);
    if (!path) return NULL;
    status = b->folder ? write_simple(args, w, b, symfs)
           : b->bundle ? write_lldb(args, w, b, symfs)
                       : write_bare(args, w, b, symfs);
    if (perfwrite_close(w) && status == 0)
        status = cannot(args, "write it", path, strerror(errno));
    if (status == 0) return path;
    remove(path);
    free(path);
    return NULL;
}
