/* pevent.c: see pevent.h. From top to bottom: messages, reading records,
 * printing them, contexts, what records do, where events are, the session.
 *
 * Functions that can fail return NULL, or a text that says what is wrong.
 *
 * SPDX-License-Identifier: MIT */
#include "pevent.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a file may make grow: mappings of a process, as many as Linux allows
 * without being asked, and of all processes. */
#define CONTEXT_SECTIONS 65536u
#define ALL_SECTIONS 2097152u

static const char out_of_memory[] = "out of memory";
static const char not_a_file[] = "bad file";
static const char wrong_config[] = "bad configuration";
static const char wrong_packet[] = "unknown packet";
static const char wrong_size[] = "decoder out of sync";
static const char wrong_task[] = "internal error";

/* ---- messages ---- */

static void message(const pevent *p, const pevent_file *file, const char *kind,
                    const char *text)
{
    fputc('[', p->out);
    tool_print(p->out, file->name);
    fprintf(p->out, ":%016" PRIx64 " sideband %s: %s]\n", (uint64_t) file->at,
            kind, text);
}

static void warn(const pevent *p, const pevent_file *file, const char *text)
{
    if (p->flags & PEVENT_WARN) message(p, file, "warning", text);
}

/* ---- reading records ---- */

/* The other types are skipped. */
static int is_known(uint32_t type)
{
    return (type >= PERFDATA_MMAP && type <= PERFDATA_FORK)
        || (type >= PERFDATA_MMAP2 && type <= PERFDATA_SWITCH_CPU_WIDE);
}

/* Which samples a record has. */
static const char *sample_type(const pevent_file *file, const uint8_t *bytes,
                               size_t size, uint64_t *type)
{
    const pevent_config *config = &file->config;
    uint64_t identifier = perfdata_identifier(0, bytes, size);
    *type = config->sample_type;
    if (size < 16) return NULL;
    for (size_t i = config->sample_count; i-- > 0;) {
        if (config->samples[i].identifier != identifier) continue;
        *type = config->samples[i].sample_type;
        return *type & PERFDATA_SAMPLE_IDENTIFIER ? NULL : wrong_config;
    }
    return NULL;
}

/* perf's time in TSC ticks; 0 stands for before everything. */
static const char *set_time(pevent_file *file)
{
    const pevent_config *config = &file->config;
    const uint64_t early = (uint64_t) config->tsc_offset;
    const uint64_t late = 0 - early;
    uint64_t time = file->record.sample.time;
    uint64_t tsc = 0;
    file->tsc = 0;
    if (!(file->record.sample.has & PERFDATA_SAMPLE_TIME)) return NULL;
    if (config->time_mult == 0 || config->time_shift > 63) return wrong_config;
    if (time) {
        time -= config->time_zero;
        tsc = (time / config->time_mult << config->time_shift)
            + (time % config->time_mult << config->time_shift)
                / config->time_mult;
    }
    if (config->tsc_offset < 0)
        file->tsc = tsc > UINT64_MAX - late ? UINT64_MAX : tsc + late;
    else
        file->tsc = tsc > early ? tsc - early : 0;
    return NULL;
}

/* Decode the record of `size` bytes at file->at. */
static const char *read_fields(pevent_file *file, const uint8_t *bytes,
                               size_t size)
{
    perfdata_record *r = &file->record;
    perfdata_attr attr;
    const char *why;
    int status;
    memset(&attr, 0, sizeof attr);
    attr.flags = PERFDATA_ATTR_SAMPLE_ID_ALL;
    why = sample_type(file, bytes, size, &attr.sample_type);
    if (why) return why;
    status = perfdata_parse(&attr, 0, bytes, size, r);
    if (status == PERFDATA_ERR_STRING) return wrong_packet;
    if (status < 0 || r->body + r->trailer != r->size) return wrong_size;
    return set_time(file);
}

/* Read the record at file->at: 1, or 0 at the end of the file; then *why is
 * NULL if nothing is wrong. */
static int read_record(pevent_file *file, const char **why)
{
    const uint8_t *bytes = file->data + file->at;
    const size_t left = file->size - file->at;
    perfdata_record *r = &file->record;
    *why = NULL;
    memset(r, 0, sizeof *r);
    file->tsc = 0;
    if (left < 8) return 0;
    r->type = perfdata_u32(0, bytes);
    r->misc = (uint16_t) (bytes[4] | bytes[5] << 8);
    r->size = (uint16_t) (bytes[6] | bytes[7] << 8);
    if (r->type == 0 || r->size > left) return 0;
    if (r->size < 8) *why = wrong_size;
    else if (is_known(r->type)) *why = read_fields(file, bytes, r->size);
    return !*why;
}

/* Put a file in its place of the list: `after` files of the same time, or in
 * front of them. */
static void insert(pevent *p, pevent_file *file, int after)
{
    pevent_file **place = &p->due;
    while (*place && ((*place)->tsc < file->tsc
                      || (after && (*place)->tsc == file->tsc)))
        place = &(*place)->later;
    file->later = *place;
    *place = file;
}

/* Read the record at file->at and wait for its time. */
static void await(pevent *p, pevent_file *file, int after)
{
    const char *why;
    if (read_record(file, &why)) insert(p, file, after);
    else if (why) message(p, file, "error", why);
}

/* ---- printing ---- */

/* One kind of record. `compact` is what it looks like on one line: letters
 * stand for the numbers that `labels` names, $ for the text, its last. */
typedef struct form {
    uint8_t type;
    uint8_t variant;
    const char *name;
    const char *labels;
    const char *compact;
} form;

static const form forms[] = {
    {PERFDATA_MMAP, 0, "PERF_RECORD_MMAP", "pid,tid,addr,len,pgoff,filename",
     "a/b, c, d, e, $"},
    {PERFDATA_LOST, 0, "PERF_RECORD_LOST", "id,lost", "a, b"},
    {PERFDATA_COMM, 0, "PERF_RECORD_COMM", "pid,tid,comm", "a/b, $"},
    {PERFDATA_COMM, 1, "PERF_RECORD_COMM.EXEC", "pid,tid,comm", "a/b, $"},
    {PERFDATA_EXIT, 0, "PERF_RECORD_EXIT", "pid,ppid,tid,ptid,time",
     "a/c, b/d, e"},
    {PERFDATA_THROTTLE, 0, "PERF_RECORD_THROTTLE", "time,id,stream_id",
     "a, b, c"},
    {PERFDATA_UNTHROTTLE, 0, "PERF_RECORD_UNTHROTTLE", "time,id,stream_id",
     "a, b, c"},
    {PERFDATA_FORK, 0, "PERF_RECORD_FORK", "pid,ppid,tid,ptid,time",
     "a/c, b/d, e"},
    {PERFDATA_MMAP2, 0, "PERF_RECORD_MMAP2",
     "pid,tid,addr,len,pgoff,maj,min,ino,ino_generation,prot,flags,filename",
     "a/b, c, d, e, f, g, h, i, j, k, $"},
    {PERFDATA_AUX, 0, "PERF_RECORD_AUX", "aux offset,aux size,flags",
     "a, b, c"},
    {PERFDATA_AUX, 1, "PERF_RECORD_AUX.TRUNCATED",
     "aux offset,aux size,flags", "a, b, c"},
    {PERFDATA_ITRACE_START, 0, "PERF_RECORD_ITRACE_START", "pid,tid", "a/b"},
    {PERFDATA_LOST_SAMPLES, 0, "PERF_RECORD_LOST_SAMPLES", "lost", "a"},
    {PERFDATA_SWITCH, 0, "PERF_RECORD_SWITCH.IN", "", ""},
    {PERFDATA_SWITCH, 1, "PERF_RECORD_SWITCH.OUT", "", ""},
    {PERFDATA_SWITCH_CPU_WIDE, 0, "PERF_RECORD_SWITCH_CPU_WIDE.IN",
     "prev pid,prev tid", "a/b"},
    {PERFDATA_SWITCH_CPU_WIDE, 1, "PERF_RECORD_SWITCH_CPU_WIDE.OUT",
     "next pid,next tid", "a/b"},
    {0, 0, "UNKNOWN", "type,misc", NULL}
};

static int is_out(const perfdata_record *r)
{
    return (r->misc & PERFDATA_MISC_SWITCH_OUT) != 0;
}

static const form *form_of(const perfdata_record *r)
{
    const form *f = forms;
    int variant = 0;
    if (r->type == PERFDATA_AUX)
        variant = (int) (r->u.aux.flags & PERFDATA_AUX_TRUNCATED);
    else if (r->type == PERFDATA_COMM || r->type == PERFDATA_SWITCH
             || r->type == PERFDATA_SWITCH_CPU_WIDE)
        variant = is_out(r); // of COMM: by exec
    while (f->type && (f->type != r->type || f->variant != variant)) f++;
    return f;
}

/* An MMAP2 says where its file is, or what its build id is. libipt takes the
 * one for the other. */
static void get_mapping(const perfdata_record *r, uint64_t *value)
{
    value[0] = r->u.mmap.pid;
    value[1] = r->u.mmap.tid;
    value[2] = r->u.mmap.addr;
    value[3] = r->u.mmap.len;
    value[4] = r->u.mmap.pgoff;
    if (r->type == PERFDATA_MMAP) return;
    value[5] = perfdata_u32(0, r->bytes + 40);
    value[6] = perfdata_u32(0, r->bytes + 44);
    value[7] = perfdata_u64(0, r->bytes + 48);
    value[8] = perfdata_u64(0, r->bytes + 56);
    value[9] = r->u.mmap.prot;
    value[10] = r->u.mmap.flags;
}

/* The numbers of a record. Returns its text. */
static const char *get_fields(const perfdata_record *r, uint64_t *value)
{
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: get_mapping(r, value); return r->u.mmap.name;
    case PERFDATA_LOST:
        value[0] = r->u.lost.id;
        value[1] = r->u.lost.lost;
        break;
    case PERFDATA_COMM:
        value[0] = r->u.comm.pid;
        value[1] = r->u.comm.tid;
        return r->u.comm.name;
    case PERFDATA_EXIT:
    case PERFDATA_FORK:
        value[0] = r->u.task.pid;
        value[1] = r->u.task.ppid;
        value[2] = r->u.task.tid;
        value[3] = r->u.task.ptid;
        value[4] = r->u.task.time;
        break;
    case PERFDATA_THROTTLE:
    case PERFDATA_UNTHROTTLE:
        value[0] = r->u.throttle.time;
        value[1] = r->u.throttle.id;
        value[2] = r->u.throttle.stream_id;
        break;
    case PERFDATA_AUX:
        value[0] = r->u.aux.offset;
        value[1] = r->u.aux.size;
        value[2] = r->u.aux.flags;
        break;
    case PERFDATA_ITRACE_START:
    case PERFDATA_SWITCH_CPU_WIDE:
        value[0] = r->u.thread.pid;
        value[1] = r->u.thread.tid;
        break;
    case PERFDATA_LOST_SAMPLES: value[0] = r->u.lost.lost; break;
    case PERFDATA_SWITCH: break;
    default:
        value[0] = r->type;
        value[1] = r->misc;
        break;
    }
    return "";
}

static void print_samples(const pevent *p, const perfdata_sample *s)
{
    fprintf(p->out, "  {");
    if (s->has & PERFDATA_SAMPLE_TID)
        fprintf(p->out, " %" PRIx32 "/%" PRIx32, s->pid, s->tid);
    if (s->has & PERFDATA_SAMPLE_TIME) fprintf(p->out, " %" PRIx64, s->time);
    if (s->has & PERFDATA_SAMPLE_ID) fprintf(p->out, " %" PRIx64, s->id);
    if (s->has & PERFDATA_SAMPLE_CPU) fprintf(p->out, " cpu-%" PRIx32, s->cpu);
    if (s->has & PERFDATA_SAMPLE_STREAM_ID)
        fprintf(p->out, " %" PRIx64, s->stream_id);
    if (s->has & PERFDATA_SAMPLE_IDENTIFIER)
        fprintf(p->out, " %" PRIx64, s->identifier);
    fprintf(p->out, " }\n");
}

static void print_compact(const pevent *p, const form *f,
                          const perfdata_record *r, const uint64_t *value,
                          const char *text)
{
    fprintf(p->out, "%s", f->name);
    if (!f->compact)
        fprintf(p->out, " (%" PRIx64 ", %" PRIx64 ")", value[0], value[1]);
    else if (*f->compact)
        fprintf(p->out, "  ");
    for (const char *c = f->compact; c && *c; c++) {
        if (*c == '$') tool_print(p->out, text);
        else if (*c >= 'a') fprintf(p->out, "%" PRIx64, value[*c - 'a']);
        else fputc(*c, p->out);
    }
    print_samples(p, &r->sample);
}

static void print_field(const pevent *p, const char *label, uint64_t value)
{
    fprintf(p->out, "  %s: %" PRIx64 "\n", label, value);
}

static void print_verbose(const pevent *p, const form *f,
                          const perfdata_record *r, const uint64_t *value,
                          const char *text)
{
    const perfdata_sample *s = &r->sample;
    const char *label = f->labels;
    const int has_text = f->compact && strchr(f->compact, '$');
    fprintf(p->out, "%s\n", f->name);
    while (*label) {
        int length = (int) strcspn(label, ",");
        fprintf(p->out, "  %.*s: ", length, label);
        label += length;
        if (!*label && has_text) tool_print(p->out, text);
        else fprintf(p->out, "%" PRIx64, *value++);
        fputc('\n', p->out);
        if (*label) label++;
    }
    if (s->has & PERFDATA_SAMPLE_TID) {
        print_field(p, "pid", s->pid);
        print_field(p, "tid", s->tid);
    }
    if (s->has & PERFDATA_SAMPLE_TIME) print_field(p, "time", s->time);
    if (s->has & PERFDATA_SAMPLE_ID) print_field(p, "id", s->id);
    if (s->has & PERFDATA_SAMPLE_CPU) print_field(p, "cpu", s->cpu);
    if (s->has & PERFDATA_SAMPLE_STREAM_ID)
        print_field(p, "stream id", s->stream_id);
    if (s->has & PERFDATA_SAMPLE_IDENTIFIER)
        print_field(p, "identifier", s->identifier);
}

static void print_record(const pevent *p, const pevent_file *file)
{
    const perfdata_record *r = &file->record;
    const form *f = form_of(r);
    uint64_t value[11] = {0};
    const char *text = get_fields(r, value);
    const uint64_t at = file->at;
    if (!(p->flags & (PEVENT_COMPACT | PEVENT_VERBOSE | PEVENT_FILENAME
                      | PEVENT_OFFSET | PEVENT_TIME)))
        return;
    if (p->flags & PEVENT_FILENAME) {
        tool_print(p->out, file->name);
        fputs(p->flags & PEVENT_OFFSET ? ":" : "  ", p->out);
    }
    if (p->flags & PEVENT_OFFSET) fprintf(p->out, "%016" PRIx64 "  ", at);
    if (p->flags & PEVENT_TIME && r->sample.has & PERFDATA_SAMPLE_TIME)
        fprintf(p->out, "%016" PRIx64 "  ", file->tsc);
    if (p->flags & PEVENT_VERBOSE) print_verbose(p, f, r, value, text);
    else if (p->flags & PEVENT_COMPACT) print_compact(p, f, r, value, text);
    else fputc('\n', p->out);
}

/* ---- contexts ---- */

static pevent_context *use(pevent_context *context)
{
    context->users++;
    return context;
}

static void drop(pevent *p, pevent_context *context)
{
    if (!context || --context->users) return;
    p->sections -= context->code.section_count;
    image_free(&context->code);
    free(context);
}

/* Give a pid a new context, without code, instead of the one it may have;
 * NULL without memory. */
static pevent_context *new_context(pevent *p, uint32_t pid)
{
    pevent_context *context = calloc(1, sizeof *context);
    pevent_context *old = pids_find(&p->contexts, pid);
    if (!context || pids_set(&p->contexts, pid, context)) {
        free(context);
        return NULL;
    }
    image_init(&context->code);
    context->pid = pid;
    context->users = 1;
    drop(p, old);
    return context;
}

static pevent_context *get_context(pevent *p, uint32_t pid)
{
    pevent_context *context = pids_find(&p->contexts, pid);
    return context ? context : new_context(p, pid);
}

static const char *copy_code(pevent *p, pevent_context *to,
                             const pevent_context *from)
{
    const char *why = out_of_memory;
    to->abi = from->abi;
    if (p->sections <= ALL_SECTIONS)
        why = image_copy(&to->code, &from->code);
    p->sections += to->code.section_count;
    return why;
}

/* Make room for a section: forget those that nothing shows. */
static const char *make_room(pevent *p, pevent_context *context)
{
    const uint32_t before = context->code.section_count;
    const char *why;
    if (p->sections > ALL_SECTIONS) return out_of_memory;
    if (before < CONTEXT_SECTIONS) return NULL;
    why = image_forget(&context->code);
    p->sections -= before - context->code.section_count;
    if (!why && context->code.section_count > CONTEXT_SECTIONS / 2)
        why = out_of_memory;
    return why;
}

/* Switch at once. */
static void switch_to(pevent *p, pevent_context *context)
{
    if (p->current == context) return;
    drop(p, p->current);
    p->current = use(context);
    p->changed = 1;
    if (p->flags & PEVENT_SWITCH)
        fprintf(p->out, "[context: pid-%" PRIx32 "]\n", context->pid);
}

/* Let no switch, or one to a context, wait. */
static void postpone(pevent *p, pevent_file *file, pevent_context *context)
{
    pevent_context *before = file->pending;
    file->pending = context && context != p->current ? use(context) : NULL;
    drop(p, before);
}

/* ---- what records do ---- */

static const char *switch_later(pevent *p, pevent_file *file, uint32_t pid)
{
    pevent_context *context = get_context(p, pid);
    if (!context) return out_of_memory;
    postpone(p, file, context);
    return NULL;
}

/* The ABI that a file is for, if it is an ELF file. */
static uint8_t abi_of(const files_file *file)
{
    uint8_t head[20];
    if (files_read(file, 0, head, sizeof head) != sizeof head
        || memcmp(head, "\177ELF", 4) != 0)
        return PEVENT_ABI_UNKNOWN;
    if (head[4] == 2) return PEVENT_ABI_X64;
    if (head[4] != 1 || head[19]) return PEVENT_ABI_UNKNOWN;
    if (head[18] == 62) return PEVENT_ABI_X32; // EM_X86_64
    return head[18] == 3 ? PEVENT_ABI_IA32 : PEVENT_ABI_UNKNOWN; // EM_386
}

/* Let a context show the record's part of a file. */
static const char *map_file(pevent *p, pevent_context *context,
                            const perfdata_record *r, const char *name,
                            int is_vdso)
{
    const uint64_t from = r->u.mmap.pgoff;
    const uint64_t len = r->u.mmap.len;
    const files_file *file = files_get(&p->disk, name);
    const uint32_t before = context->code.section_count;
    const char *why;
    if (!file) return not_a_file;
    if (!is_vdso && !context->abi) context->abi = abi_of(file);
    why = image_add_part(&context->code, NULL, file, from,
                         len > UINT64_MAX - from ? UINT64_MAX : from + len,
                         r->u.mmap.addr);
    p->sections += context->code.section_count - before;
    if (context == p->current) p->changed = 1;
    return why;
}

/* As above, for a name that may need the system's root in front of it. */
static const char *map_name(pevent *p, pevent_context *context,
                            const pevent_file *file)
{
    const char *name = file->record.u.mmap.name;
    const char *root = file->config.sysroot;
    const char *why;
    size_t size;
    char *path;
    if (!root) return map_file(p, context, &file->record, name, 0);
    size = strlen(root) + strlen(name) + 2;
    path = malloc(size);
    if (!path) return out_of_memory;
    snprintf(path, size, "%s%s%s", root, *name == '/' ? "" : "/", name);
    why = map_file(p, context, &file->record, path, 0);
    free(path);
    return why;
}

/* Mappings of no file. */
static int is_pseudo(const char *name)
{
    static const char deleted[] = " (deleted)";
    const size_t length = strlen(name);
    return name[0] == '[' || strcmp(name, "//anon") == 0
        || (length >= sizeof deleted - 1
            && strcmp(name + length - (sizeof deleted - 1), deleted) == 0);
}

static const char *apply_mmap(pevent *p, pevent_file *file)
{
    const perfdata_record *r = &file->record;
    pevent_context *context;
    const char *why;
    if ((r->misc & PERFDATA_MISC_CPUMODE_MASK) == PERFDATA_MISC_KERNEL)
        return NULL;
    context = get_context(p, r->u.mmap.pid);
    if (!context) return out_of_memory;
    why = make_room(p, context);
    if (why) return why;
    if (strcmp(r->u.mmap.name, "[vdso]") == 0) {
        const char *vdso = file->config.vdso[context->abi];
        return vdso ? map_file(p, context, r, vdso, 1) : wrong_config;
    }
    if (!is_pseudo(r->u.mmap.name)) return map_name(p, context, file);
    warn(p, file, "image section lost");
    return NULL;
}

static const char *apply_comm(pevent *p, pevent_file *file)
{
    const perfdata_record *r = &file->record;
    pevent_context *context;
    if (!(r->misc & PERFDATA_MISC_COMM_EXEC)) return NULL;
    context = new_context(p, r->u.comm.pid);
    if (!context) return out_of_memory;
    if (file->primary) postpone(p, file, context);
    return NULL;
}

/* A new process begins with its parent's code. */
static const char *apply_fork(pevent *p, const perfdata_record *r)
{
    pevent_context *context;
    pevent_context *parent;
    if (r->u.task.pid == r->u.task.ppid) return NULL; // a thread
    if (r->u.task.pid != r->u.task.tid) return wrong_task;
    context = new_context(p, r->u.task.pid);
    if (!context) return out_of_memory;
    parent = pids_find(&p->contexts, r->u.task.ppid);
    return parent ? copy_code(p, context, parent) : NULL;
}

static const char *apply_start(pevent *p, pevent_file *file)
{
    pevent_context *context = get_context(p, file->record.u.thread.pid);
    if (!context) return out_of_memory;
    postpone(p, file, NULL);
    switch_to(p, context);
    return NULL;
}

/* What comes in; what a record says of the task that leaves is not needed. */
static const char *apply_switch(pevent *p, pevent_file *file)
{
    const perfdata_record *r = &file->record;
    const int has_tid = (r->sample.has & PERFDATA_SAMPLE_TID) != 0;
    if (r->type == PERFDATA_SWITCH_CPU_WIDE && is_out(r))
        return switch_later(p, file, r->u.thread.pid);
    if (is_out(r)) return NULL;
    if (has_tid) return switch_later(p, file, r->sample.pid);
    return r->type == PERFDATA_SWITCH ? wrong_config : NULL;
}

static const char *apply_record(pevent *p, pevent_file *file)
{
    const perfdata_record *r = &file->record;
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: return apply_mmap(p, file);
    case PERFDATA_COMM: return apply_comm(p, file);
    case PERFDATA_FORK: return apply_fork(p, r);
    case PERFDATA_LOST: warn(p, file, "sideband lost"); return NULL;
    default: break;
    }
    if (!file->primary) return NULL;
    switch (r->type) {
    case PERFDATA_ITRACE_START: return apply_start(p, file);
    case PERFDATA_SWITCH:
    case PERFDATA_SWITCH_CPU_WIDE: return apply_switch(p, file);
    case PERFDATA_AUX:
        if (r->u.aux.flags & PERFDATA_AUX_TRUNCATED)
            warn(p, file, "trace lost");
        return NULL;
    default: return NULL;
    }
}

/* ---- where events are ---- */

enum { UNKNOWN, USER, KERNEL, LIKELY_USER, LIKELY_KERNEL };

static uint8_t place_of(const pevent_config *config, uint64_t ip)
{
    return ip >= config->kernel_start ? KERNEL : USER;
}

/* Where flow is that leaves a place for one that is not traced. */
static uint8_t opposite(uint8_t place)
{
    switch (place) {
    case USER:
    case LIKELY_USER: return LIKELY_KERNEL;
    case KERNEL:
    case LIKELY_KERNEL: return LIKELY_USER;
    default: return UNKNOWN;
    }
}

/* Does the event's ip say where it is? */
static int has_place(const ipt_event *e)
{
    switch (e->type) {
    case IPT_EVT_ENABLED:
    case IPT_EVT_ASYNC_PAGING:
    case IPT_EVT_OVERFLOW:
    case IPT_EVT_EXEC_MODE:
    case IPT_EVT_TSX:
    case IPT_EVT_EXSTOP:
    case IPT_EVT_MWAIT:
    case IPT_EVT_PTWRITE:
    case IPT_EVT_TICK:
    case IPT_EVT_IFLAGS: break;
    case IPT_EVT_CFE:
        if (e->u.cfe.type == IPT_CFE_SIPI || e->u.cfe.type == IPT_CFE_SWINTR
            || e->u.cfe.type == IPT_CFE_SYSCALL)
            return 0;
        break;
    default: return 0;
    }
    return !(e->flags & IPT_EVENT_NO_IP);
}

/* Where an event is, the last one having been `before`. */
static uint8_t place_at(const pevent_config *config, const ipt_event *e,
                        uint8_t before)
{
    const int has_to = !(e->flags & IPT_EVENT_NO_TO);
    switch (e->type) {
    case IPT_EVT_DISABLED:
        return has_to ? place_of(config, e->u.branch.to) : opposite(before);
    case IPT_EVT_ASYNC_DISABLED:
        return has_to ? place_of(config, e->u.branch.to)
                      : opposite(place_of(config, e->ip));
    case IPT_EVT_ASYNC_BRANCH:
        return has_to ? place_of(config, e->u.branch.to) : UNKNOWN;
    case IPT_EVT_PAGING: return LIKELY_KERNEL;
    case IPT_EVT_ASYNC_PAGING:
        return has_place(e) ? place_of(config, e->ip) : LIKELY_KERNEL;
    default: return has_place(e) ? place_of(config, e->ip) : UNKNOWN;
    }
}

static int is_user(uint8_t place)
{
    return place == USER || place == LIKELY_USER;
}

/* Switch contexts if a switch waits and the kernel may be running. */
static void follow(pevent *p, pevent_file *file, const ipt_event *e)
{
    const uint8_t before = file->place;
    file->place = place_at(&file->config, e, before);
    if (!file->pending || (is_user(before) && is_user(file->place))) return;
    switch_to(p, file->pending);
    postpone(p, file, NULL);
}

/* ---- the session ---- */

void pevent_init(pevent *p, FILE *out, image *initial)
{
    memset(p, 0, sizeof *p);
    p->out = out;
    p->initial = initial;
    image_init(&p->kernel);
    files_init(&p->disk);
}

static void free_file(pevent *p, pevent_file *file)
{
    drop(p, file->pending);
    free(file->name);
    free(file->data);
    free(file->samples);
    free(file);
}

void pevent_free(pevent *p)
{
    while (p->first) {
        pevent_file *file = p->first;
        p->first = file->next;
        free_file(p, file);
    }
    drop(p, p->current);
    for (size_t i = 0; i < p->contexts.size; i++)
        drop(p, p->contexts.slots[i].item);
    pids_free(&p->contexts);
    image_free(&p->kernel);
    files_free(&p->disk);
}

const char *pevent_add_bytes(pevent *p, const char *name, uint8_t *data,
                             size_t size, int primary,
                             const pevent_config *config)
{
    const size_t samples = config->sample_count * sizeof *config->samples;
    pevent_file **last = &p->first;
    pevent_file *file = calloc(1, sizeof *file);
    if (file) {
        file->name = tool_copy(name, strlen(name));
        file->samples = malloc(samples + 1);
    }
    if (!file || !file->name || !file->samples) {
        free(data);
        if (file) free_file(p, file);
        return out_of_memory;
    }
    if (samples) memcpy(file->samples, config->samples, samples);
    file->data = data;
    file->size = size;
    file->primary = primary != 0;
    file->config = *config;
    file->config.samples = file->samples;
    while (*last) last = &(*last)->next;
    *last = file;
    return NULL;
}

const char *pevent_add(pevent *p, const tool_range *range, int primary,
                       const pevent_config *config)
{
    size_t size;
    uint8_t *data = files_load(range->name, range->from, range->to, &size);
    if (!data) return size ? out_of_memory : not_a_file;
    return pevent_add_bytes(p, range->name, data, size, primary, config);
}

/* Of records of the same time those of the first file come first. */
void pevent_start(pevent *p)
{
    for (pevent_file *file = p->first; file; file = file->next)
        await(p, file, 1);
}

/* Take the next file whose record is due off the list; NULL if there is none,
 * else its record has been printed. */
static pevent_file *take_due(pevent *p, uint64_t tsc)
{
    pevent_file *file = p->due;
    if (!file || file->tsc > tsc) return NULL;
    p->due = file->later;
    print_record(p, file);
    return file;
}

/* Go on to the file's next record, which comes before waiting ones of the
 * same time. */
static void advance(pevent *p, pevent_file *file)
{
    file->at += file->record.size;
    await(p, file, 0);
}

void pevent_dump(pevent *p, uint64_t tsc)
{
    pevent_file *file;
    while ((file = take_due(p, tsc))) advance(p, file);
}

int pevent_event(pevent *p, const ipt_event *e)
{
    pevent_file *file;
    p->changed = 0;
    while ((file = take_due(p, e->tsc))) {
        const char *why = apply_record(p, file);
        if (why) message(p, file, "error", why);
        advance(p, file);
    }
    for (file = p->first; file; file = file->next)
        if (file->primary) follow(p, file, e);
    return p->changed;
}

int pevent_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                uint64_t ip, void *context)
{
    pevent *p = context;
    image *layers[2];
    if (!p->current) return image_read(buffer, size, asid, ip, p->initial);
    layers[0] = &p->current->code;
    layers[1] = &p->kernel;
    return image_read_layers(layers, 2, buffer, size, ip);
}
