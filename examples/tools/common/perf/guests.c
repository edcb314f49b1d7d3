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
    names_free(&g->names);
    free(g->ids);
    free(g->switches);
    free(g->comms);
    free(g->threads);
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
    int status = 0;
    if (g->kallsyms && tool_is_there(args, g->kallsyms))
        status = add_text(args, g->kallsyms, &text);
    if (status == 0 && g->modules && tool_is_there(args, g->modules))
        status = add_modules(args, g->modules, &text);
    if (status || !text)
        free(text);
    else
        symbols_kernel_text(&g->kernel, text);
    return status;
}

/* ---- records ---- */

static int compare_ids(const void *a, const void *b)
{
    const uint64_t x = ((const guests_id *) a)->id;
    const uint64_t y = ((const guests_id *) b)->id;
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
        const uint8_t *const more = r->bytes + 16 + 32 * entries + 16 * i;
        const uint64_t machine = perfdata_u64(big_endian, more);
        const uint64_t vcpu = perfdata_u64(big_endian, more + 8);
        const uint64_t tid = perfdata_u64(big_endian, entry + 24);
        guests_id *id;
        if (!machine || g->count == IDS) continue;
        if (!tool_grow(&g->ids, g->count + 1, sizeof *g->ids)) return -1;
        id = &g->ids[g->count++];
        id->id = perfdata_u64(big_endian, entry);
        id->machine = (uint32_t) machine;
        id->vcpu = vcpu < UINT32_MAX ? (uint32_t) vcpu : UINT32_MAX;
        id->tid = tid < UINT32_MAX && vcpu < UINT32_MAX ? (uint32_t) tid : 0;
    }
    if (g->count) qsort(g->ids, g->count, sizeof *g->ids, compare_ids);
    return 0;
}

static const guests_id *find_id(const guests *g, const perfdata_record *r)
{
    guests_id key;
    if (!g->count || r->type >= PERFDATA_USER_TYPES
        || !(r->sample.has & PERFDATA_SAMPLE_IDENTIFIER))
        return NULL;
    key.id = r->sample.identifier;
    return (const guests_id *) bsearch(&key, g->ids, g->count, sizeof *g->ids,
                                       compare_ids);
}

int guests_has(guests *g, const perfdata_record *r)
{
    const int has = find_id(g, r) != NULL;
    g->records += (unsigned) has;
    return has;
}

/* ---- threads ---- */

static int add_switch(guests *g, const guests_id *of, const perfdata_record *r)
{
    guests_switch *s;
    if (g->switch_count == g->switch_max) {
        if (!tool_grow(&g->switches, 2 * g->switch_max + 64, sizeof *s)) return -1;
        g->switch_max = 2 * g->switch_max + 64;
    }
    s = &g->switches[g->switch_count];
    s->time = r->sample.time;
    s->tid_of_host = of->tid;
    s->pid = r->sample.pid;
    s->tid = r->sample.tid;
    s->machine = of->machine;
    s->vcpu = of->vcpu;
    s->order = (uint32_t) g->switch_count++;
    s->out = (r->misc & PERFDATA_MISC_SWITCH_OUT) != 0;
    return 0;
}

static int add_comm(guests *g, uint32_t machine, const perfdata_record *r)
{
    char comm[16] = ""; /* the kernel's have 15 bytes at most */
    guests_name *n;
    if (g->comm_count == g->comm_max) {
        if (!tool_grow(&g->comms, 2 * g->comm_max + 64, sizeof *n)) return -1;
        g->comm_max = 2 * g->comm_max + 64;
    }
    n = &g->comms[g->comm_count];
    memset(n, 0, sizeof *n);
    n->time = r->sample.time;
    n->machine = machine;
    n->order = (uint32_t) g->comm_count++;
    if (r->type == PERFDATA_FORK) {
        n->tid = r->u.task.tid;
        n->parent = r->u.task.ptid;
        return 0;
    }
    n->tid = r->u.comm.tid;
    for (unsigned i = 0; i < 15 && r->u.comm.name[i]; i++)
        comm[i] = r->u.comm.name[i];
    n->name = names_add(&g->names, comm);
    return n->name ? 0 : -1;
}

int guests_add(guests *g, const perfdata_record *r)
{
    const guests_id *const of = find_id(g, r);
    const unsigned needed = PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_TIME;
    if (!of || (r->sample.has & needed) != needed) return 0;
    if (r->type == PERFDATA_SWITCH || r->type == PERFDATA_SWITCH_CPU_WIDE)
        return of->tid ? add_switch(g, of, r) : 0;
    if (r->type == PERFDATA_COMM || r->type == PERFDATA_FORK)
        return add_comm(g, of->machine, r);
    return 0;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_switches(const void *a, const void *b)
{
    const guests_switch *const x = (const guests_switch *) a;
    const guests_switch *const y = (const guests_switch *) b;
    int is = compare(x->tid_of_host, y->tid_of_host);
    if (!is) is = compare(x->time, y->time);
    return is ? is : compare(x->order, y->order);
}

static int compare_names(const void *a, const void *b)
{
    const guests_name *const x = (const guests_name *) a;
    const guests_name *const y = (const guests_name *) b;
    int is = compare(x->machine, y->machine);
    if (!is) is = compare(x->tid, y->tid);
    if (!is) is = compare(x->time, y->time);
    return is ? is : compare(x->order, y->order);
}

static int compare_threads(const void *a, const void *b)
{
    return compare(*(const uint64_t *) a, *(const uint64_t *) b);
}

int guests_sort(guests *g)
{
    size_t used = 0;
    if (!g->switch_count) return 0;
    qsort(g->switches, g->switch_count, sizeof *g->switches, compare_switches);
    if (g->comm_count)
        qsort(g->comms, g->comm_count, sizeof *g->comms, compare_names);
    if (!tool_grow(&g->threads, g->switch_count, sizeof *g->threads)) return -1;
    for (size_t i = 0; i < g->switch_count; i++)
        g->threads[i] = (uint64_t) g->switches[i].machine << 32
                      | g->switches[i].tid;
    qsort(g->threads, g->switch_count, sizeof *g->threads, compare_threads);
    for (size_t i = 0; i < g->switch_count; i++)
        if (!i || g->threads[i] != g->threads[used - 1])
            g->threads[used++] = g->threads[i];
    g->thread_count = used;
    return 0;
}

/* How many names come before those of a thread that are later than a time. */
static size_t count_names(const guests *g, uint32_t machine, uint32_t tid,
                          uint64_t time)
{
    guests_name key;
    size_t first = 0, last = g->comm_count;
    key.machine = machine;
    key.tid = tid;
    key.time = time;
    key.order = UINT32_MAX;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (compare_names(&g->comms[middle], &key) <= 0)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

#define ANCESTORS 64u

/* The name of a thread at a time, which it has until *to at least. */
static const char *name_at(const guests *g, uint32_t machine, uint32_t tid,
                           uint64_t time, uint64_t *to)
{
    for (unsigned i = 0; i < ANCESTORS; i++) {
        const size_t n = count_names(g, machine, tid, time);
        const guests_name *const next = &g->comms[n];
        const guests_name *const found = next - 1;
        if (i == 0 && n < g->comm_count && next->machine == machine
            && next->tid == tid && next->time < *to)
            *to = next->time;
        if (n == 0 || found->machine != machine || found->tid != tid) break;
        if (found->name) return names_text(&g->names, found->name);
        tid = found->parent;
        time = found->time;
    }
    return "";
}

int guests_find(const guests *g, uint32_t tid, uint64_t time, guests_now *now)
{
    size_t first = 0, last = g->switch_count;
    const guests_switch *in;
    const guests_switch *next;
    uint64_t key;
    while (first < last) { /* the first one later than that */
        const size_t middle = first + (last - first) / 2;
        const guests_switch *const s = &g->switches[middle];
        if (s->tid_of_host < tid || (s->tid_of_host == tid && s->time <= time))
            first = middle + 1;
        else
            last = middle;
    }
    if (first == 0) return 0;
    in = &g->switches[first - 1];
    next = first < g->switch_count && g->switches[first].tid_of_host == tid
         ? in + 1 : NULL;
    if (in->tid_of_host != tid) return 0;
    now->from = time;
    now->to = next ? next->time : UINT64_MAX;
    now->sure = !in->out;
    now->machine = in->machine;
    now->vcpu = in->vcpu;
    now->pid = in->pid;
    now->tid = in->tid;
    now->comm = name_at(g, in->machine, in->tid, time, &now->to);
    key = (uint64_t) in->machine << 32 | in->tid;
    for (first = 0, last = g->thread_count; first < last;) {
        const size_t middle = first + (last - first) / 2;
        if (g->threads[middle] < key)
            first = middle + 1;
        else
            last = middle;
    }
    now->thread = (uint32_t) first + 1;
    return 1;
}
