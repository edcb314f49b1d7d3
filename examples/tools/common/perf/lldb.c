/* lldb.c: see lldb.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "lldb.h"
#include "../code/files.h"
#include "perfdata.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITEMS 65536u /* modules, threads or cpus, at most */

static int out_of_memory(const tool_args *args)
{
    fprintf(stderr, "%s: out of memory.\n", args->program);
    return 1;
}

static int complain(const tool_args *args, const char *name, const char *why)
{
    fprintf(stderr, "%s: %s: %s.\n", args->program, name, why);
    return 1;
}

/* A name as the file has it, from where we are: allocated; NULL without memory. */
static char *resolve(const char *bundle, const char *name)
{
    const char *const slash = strrchr(bundle, '/');
    char *folder;
    char *path;
    if (*name == '/' || !slash) return tool_copy(name, strlen(name));
    folder = tool_copy(bundle, (size_t) (slash - bundle) + (slash == bundle));
    path = folder ? tool_join(folder, name) : NULL;
    free(folder);
    return path;
}

/* The name of a file in a member: allocated, or NULL where there is none. 0
 * without memory. */
static int take_name(const lldb *l, const char *bundle, const json_value *of,
                     const char *member, char **name)
{
    const char *const text = json_text(json_member(&l->text, of, member));
    *name = text ? resolve(bundle, text) : NULL;
    return !text || *name;
}

/* A number in a member of at most so many bits; 0 if it is not there. */
static int take_number(const lldb *l, const json_value *of, const char *member,
                       unsigned bits, uint64_t *value)
{
    return json_number(json_member(&l->text, of, member), value)
        && *value >> (bits - 1) >> 1 == 0;
}

/* A PID, TID or number of a cpu. */
static int take_id(const lldb *l, const json_value *of, const char *member,
                   uint32_t *id)
{
    uint64_t value;
    if (!take_number(l, of, member, 32, &value) || value >= UINT32_MAX)
        return 0;
    *id = (uint32_t) value;
    return 1;
}

/* Pairs of hexadecimal digits, with - between them or without. */
static void take_uuid(lldb_module *to, const char *uuid)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    uint8_t bytes[sizeof to->build_id];
    size_t n = 0; /* digits */
    for (; *uuid; uuid++) {
        const char *const digit = strchr(digits, *uuid);
        if (*uuid == '-') continue;
        if (!digit || n == 2 * sizeof bytes) return;
        bytes[n / 2] = (uint8_t) ((n % 2 ? bytes[n / 2] << 4 : 0)
                                  | ((digit - digits) & 15));
        n++;
    }
    if (n % 2 || n < 16) return; /* a checksum, say */
    to->build_id_size = (uint8_t) (n / 2);
    memcpy(to->build_id, bytes, n / 2);
}

/* As all that follow: 1, or 0 without memory. */
static int add_module(lldb *l, const char *bundle, uint32_t pid,
                      const json_value *v)
{
    const char *const path = json_text(json_member(&l->text, v, "systemPath"));
    const char *const uuid = json_text(json_member(&l->text, v, "uuid"));
    lldb_module *to;
    uint64_t base;
    if (!path || l->module_count == ITEMS
        || !take_number(l, v, "loadAddress", 64, &base)) {
        l->bad++;
        return 1;
    }
    if (!tool_grow(&l->modules, l->module_count + 1, sizeof *to)) return 0;
    to = &l->modules[l->module_count];
    memset(to, 0, sizeof *to);
    to->path = path;
    to->base = base;
    to->pid = pid;
    if (uuid) take_uuid(to, uuid);
    if (!take_name(l, bundle, v, "file", &to->copy)) return 0;
    l->module_count++;
    return 1;
}

static int add_trace(lldb *l, const char *bundle, const json_value *v,
                     const lldb_trace *of, lldb_trace **list, size_t *count)
{
    lldb_trace *to;
    if (*count == ITEMS) {
        l->bad++;
        return 1;
    }
    if (!tool_grow(list, *count + 1, sizeof **list)) return 0;
    to = &(*list)[*count];
    *to = *of;
    if (!take_name(l, bundle, v, "iptTrace", &to->name)
        || !take_name(l, bundle, v, "contextSwitchTrace", &to->switches)) {
        free(to->name);
        return 0;
    }
    ++*count;
    return 1;
}

static int add_thread(lldb *l, const char *bundle, uint32_t pid,
                      const json_value *v)
{
    lldb_trace of;
    memset(&of, 0, sizeof of);
    of.pid = pid;
    if (take_id(l, v, "tid", &of.tid) && of.tid)
        return add_trace(l, bundle, v, &of, &l->threads, &l->thread_count);
    l->bad++;
    return 1;
}

static int add_cpu(lldb *l, const char *bundle, const json_value *v)
{
    lldb_trace of;
    memset(&of, 0, sizeof of);
    if (take_id(l, v, "id", &of.cpu)
        && json_text(json_member(&l->text, v, "iptTrace")))
        return add_trace(l, bundle, v, &of, &l->cpus, &l->cpu_count);
    l->bad++;
    return 1;
}

static int add_process(lldb *l, const char *bundle, const json_value *v)
{
    const json_value *const threads = json_member(&l->text, v, "threads");
    const json_value *const modules = json_member(&l->text, v, "modules");
    uint32_t pid;
    int ok = 1;
    if (!take_id(l, v, "pid", &pid) || pid == 0) {
        l->bad++;
        return 1;
    }
    l->process = pid;
    for (v = json_first(&l->text, threads); ok && v; v = json_next(&l->text, v))
        ok = add_thread(l, bundle, pid, v);
    for (v = json_first(&l->text, modules); ok && v; v = json_next(&l->text, v))
        ok = add_module(l, bundle, pid, v);
    return ok;
}

static void take_cpu(lldb *l, const json_value *v)
{
    uint64_t family, model, stepping;
    if (!v) return;
    if (!take_number(l, v, "family", 16, &family)
        || !take_number(l, v, "model", 8, &model)
        || !take_number(l, v, "stepping", 8, &stepping)) {
        l->bad++;
        return;
    }
    l->cpu.family = (uint16_t) family;
    l->cpu.model = (uint8_t) model;
    l->cpu.stepping = (uint8_t) stepping;
    l->cpu.known = 1;
}

static void take_clock(lldb *l, const json_value *v)
{
    uint64_t mult, shift;
    if (!v) return;
    if (!take_number(l, v, "timeMult", 32, &mult) || mult == 0
        || !take_number(l, v, "timeShift", 6, &shift)
        || !take_number(l, v, "timeZero", 64, &l->time_zero)) {
        l->bad++;
        return;
    }
    l->time_mult = (uint32_t) mult;
    l->time_shift = (uint16_t) shift;
    l->timed = 1;
}

static int take_all(lldb *l, const char *bundle)
{
    const json *const j = &l->text;
    const json_value *const top = j->values;
    const json_value *v = json_member(j, top, "kernel");
    size_t processes = 0;
    int ok = take_name(l, bundle, v, "file", &l->kernel);
    l->bad += v && !l->kernel;
    if (!take_number(l, v, "loadAddress", 64, &l->kernel_base))
        l->kernel_base = 0xffffffff81000000; /* by the schema */
    take_cpu(l, json_member(j, top, "cpuInfo"));
    take_clock(l, json_member(j, top, "tscPerfZeroConversion"));
    for (v = json_first(j, json_member(j, top, "cpus")); ok && v;
         v = json_next(j, v))
        ok = add_cpu(l, bundle, v);
    for (v = json_first(j, json_member(j, top, "processes")); ok && v;
         v = json_next(j, v), processes++)
        ok = add_process(l, bundle, v);
    if (processes != 1) l->process = 0;
    return ok;
}

/* A file and the zero after it. */
static int load(const tool_args *args, const char *name, tool_file *file)
{
    tool_range range = {NULL, 0, UINT64_MAX};
    int status;
    range.name = tool_copy(name, strlen(name));
    if (!range.name) return out_of_memory(args);
    status = tool_load(args, &range, file);
    free(range.name);
    if (status) return status;
    if (!tool_grow(&file->data, file->size + 1, 1)) {
        free(file->data);
        return out_of_memory(args);
    }
    file->data[file->size] = 0;
    return 0;
}

int lldb_is_file(const char *name)
{
    uint64_t size;
    const int fd = files_open(name, &size);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* Can the file be read? Says so if it cannot. */
static int check_file(const tool_args *args, const char *name)
{
    if (!name || lldb_is_file(name)) return 1;
    fprintf(stderr, "%s: ", args->program);
    tool_print(stderr, name);
    fputs(": not there, or no file.\n", stderr);
    return 0;
}

static int check_files(const tool_args *args, const lldb_trace *list,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!check_file(args, list[i].name)
            || !check_file(args, list[i].switches))
            return 0;
    return 1;
}

int lldb_read(const tool_args *args, lldb *l, const char *name)
{
    tool_file file = {NULL, 0};
    const char *why, *type;
    size_t traces = 0;
    int status = load(args, name, &file);
    memset(l, 0, sizeof *l);
    if (status) return status;
    why = json_read(&l->text, (char *) file.data, file.size);
    if (why) {
        fprintf(stderr, "%s: %s: at byte %zu: %s.\n", args->program, name,
                l->text.at, why);
        return 1;
    }
    type = json_text(json_member(&l->text, l->text.values, "type"));
    if (!type || strcmp(type, "intel-pt") != 0)
        return complain(args, name, "it is not a bundle of LLDB: its \"type\" is not "
                                    "\"intel-pt\"");
    if (!take_all(l, name)) return out_of_memory(args);
    if (l->bad)
        fprintf(stderr, "%s: %s: %zu part%s not understood\n", args->program,
                name, l->bad, l->bad == 1 ? " is" : "s are");
    for (size_t i = 0; i < l->thread_count; i++)
        traces += l->threads[i].name != NULL;
    if (!traces && !l->cpu_count)
        return complain(args, name, "there is no iptTrace in it");
    return check_files(args, l->threads, l->thread_count)
        && check_files(args, l->cpus, l->cpu_count) ? 0 : 1;
}

static void free_traces(lldb_trace *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].switches);
    }
    free(list);
}

void lldb_free(lldb *l)
{
    for (size_t i = 0; i < l->module_count; i++) free(l->modules[i].copy);
    free(l->modules);
    free_traces(l->threads, l->thread_count);
    free_traces(l->cpus, l->cpu_count);
    free(l->kernel);
    json_free(&l->text);
    memset(l, 0, sizeof *l);
}

/* ---- switches ---- */

static uint64_t get(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;
    while (size--) value = value << 8 | from[size];
    return value;
}

/* type:4 misc:2 size:2, the other one's pid:4 tid:4, and a sample: pid:4 tid:4
 * time:8. */
int lldb_next(const tool_file *file, size_t *at, lldb_switch *s)
{
    while (file->size - *at >= 8) {
        const uint8_t *const r = file->data + *at;
        const unsigned misc = (unsigned) get(r + 4, 2);
        const size_t size = (size_t) get(r + 6, 2);
        if (size < 8 || size > file->size - *at) return 0;
        *at += size;
        if (get(r, 4) != PERFDATA_SWITCH_CPU_WIDE || size < 32) continue;
        s->other_pid = (uint32_t) get(r + 8, 4);
        s->other_tid = (uint32_t) get(r + 12, 4);
        s->pid = (uint32_t) get(r + 16, 4);
        s->tid = (uint32_t) get(r + 20, 4);
        s->time = get(r + 24, 8);
        s->is_out = (misc & PERFDATA_MISC_SWITCH_OUT) != 0;
        s->preempted = (misc >> 14) & 1;
        return 1;
    }
    return 0;
}
