/* ptsplit: cut a perf.data into what ptdump and ptxed take.
 *
 *     ptsplit [<options>] [<file>]
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // lseek's SEEK_DATA, asprintf
#include "common/code/below.h"
#include "common/perf/binaries.h"
#include "common/code/kallsyms.h"
#include "common/code/options.h"
#include "common/perf/filters.h"
#include "common/perf/guests.h"
#include "common/perf/perffile.h"
#include "ipt.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: %s [<options>] [<file>]\n"
    "\n"
    "Cuts a perf.data (a file, a folder that has one, or - for the standard\n"
    "input; else ./perf.data) with Intel PT into what ptdump and ptxed take, and\n"
    "prints their command lines: a trace for each cpu or thread, perf's sideband\n"
    "for each cpu or process, copies of the code that was mapped.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  -o|--out <folder>         make this folder, and write nothing outside of\n"
    "                            it; default: <file>.split here. What it was\n"
    "                            before is kept as <folder>.old.\n"
    "  --ptdump                  print the command lines of ptdump only.\n"
    "  --ptxed                   print those of ptxed only.\n"
    "  --symfs <folder>          look for code in this folder, as if it were\n"
    "                            the root: <folder>/<path>, then\n"
    "                            <folder>/<name>.\n"
    "  --buildid-dir <folder>    perf's cache of files; default: ~/.debug.\n"
    "  --vdso <file>             what [vdso] was.\n"
    "  --kcore <folder>          has kcore and kallsyms; default: that of a\n"
    "                            recording with perf record --kcore.\n"
    "  --force                   take files of another build, too.\n"
    "  --max-memory <size>       read records up to this much memory: bytes, or\n"
    "                            with K, M, G.\n"
    "  --strict                  status 1 after a warning.\n"
    "\n"
    "In the folder, for a file f:\n"
    "\n"
    "  f-aux-idx<n>.bin          trace number n; of snapshots and samples,\n"
    "                            one file for those that overlap:\n"
    "                            f-aux-idx<n>.<k>.bin.\n"
    "  f-sideband-cpu<n>.pevent  records of a cpu, by time; of a recording by\n"
    "  f-sideband-pid<n>.pevent  thread: of a process.\n"
    "  f-sideband.pevent         records of none.\n"
    "  sysroot/<path>            code (ELF files): from perf's cache, else from\n"
    "                            <path>. Files are for their owner alone.\n"
    "  sysroot/vdso/             vdso-x64.so, vdso-x32.so, vdso-ia32.so.\n"
    "  kcore_dir/                kcore, kallsyms.\n"
    "\n"
    "Example: ptsplit -o parts perf.data\n";

typedef struct options {
    const char *file;
    const char *out;
    const char *symfs;
    const char *kcore;
    uint8_t ptdump;
    uint8_t ptxed;
    uint8_t force;
    uint8_t strict;
    uint64_t max_memory; /* 0: all */
} options;

/* A record of the sideband; its bytes are in splitter.bytes. */
typedef struct row {
    uint64_t time;
    uint64_t at; /* also their order in the file */
    uint64_t group; /* pid << 32 | cpu; then the file it goes to: COMMON, or
                       one of the two */
    uint16_t size;
} row;

#define COMMON UINT64_MAX

/* The rows of one file: up to `end`, from the end of the group before. */
typedef struct group {
    uint64_t name; /* COMMON, or a cpu or pid */
    size_t end;
} group;

/* A file of code that was mapped, where, and what its build was. */
typedef struct mapped {
    char *name;
    uint64_t ip;
    uint64_t size; /* 0: not known, nor what is around it here */
    uint64_t offset;
    uint32_t pid;
    uint8_t id_size; /* 0: not known */
    uint8_t id[BUILDID_MAX];
} mapped;

/* A thread is of a process. */
typedef struct task {
    uint32_t tid;
    uint32_t pid;
} task;

typedef struct splitter {
    const tool_args *args;
    options opt;
    perffile file;
    binaries code;
    char *base;        /* of names in the folder */
    int folder;
    int failed;        /* something could not be read or written */
    int warned;
    uint64_t pt[PERFDATA_PT_WORDS];
    filters filters;
    uint8_t has_pt;
    uint8_t has_cpus;  /* queues are by cpu */
    uint32_t pt_event; /* or PERFDATA_NO_EVENT */
    perfdata_queues queues;
    guests guests;
    uint8_t *bytes;    /* of the sideband, little endian */
    size_t byte_count;
    size_t byte_max;
    row *rows;
    size_t row_count;
    size_t row_max;
    group *groups;
    size_t group_count;
    size_t group_max;
    mapped *maps;
    size_t map_count;
    size_t map_max;
    task *tasks;
    size_t task_count;
    size_t task_max;
    uint64_t kernel_start; /* 0: not known */
    uint64_t lost;         /* records and samples */
    uint8_t vdsos;         /* 1 << buildid_kind: in the folder */
    uint8_t has_kcore;
} splitter;

/* ---- messages ---- */

static int complain(splitter *s, const char *name, const char *why)
{
    s->warned = 1;
    fprintf(stderr, "%s: ", s->args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", why);
    return 1;
}

static int no_memory(splitter *s)
{
    s->failed = 1;
    return complain(s, s->file.name, "out of memory");
}

/* Room for `more` items at the end of an array. */
static int reserve(splitter *s, void *array, size_t item, size_t count,
                   size_t more, size_t *max)
{
    size_t want = count + more;
    if (want <= *max) return 1;
    want += want / 2 + 64;
    if (!tool_grow(array, want, item)) return !no_memory(s);
    *max = want;
    return 1;
}

/* ---- records in little endian ---- */

/* The fields of a record after its header: sizes; s: the rest; b: a build id
 * or two numbers; r: bytes; *: repeat the last. */
static const char *layout_of(uint32_t type)
{
    switch (type) {
    case PERFDATA_MMAP: return "44888s";
    case PERFDATA_LOST: return "88";
    case PERFDATA_COMM: return "44s";
    case PERFDATA_EXIT:
    case PERFDATA_FORK: return "44448";
    case PERFDATA_THROTTLE:
    case PERFDATA_UNTHROTTLE:
    case PERFDATA_AUX: return "888";
    case PERFDATA_READ:
    case PERFDATA_NAMESPACES: return "448*";
    case PERFDATA_MMAP2: return "44888b44s";
    case PERFDATA_ITRACE_START:
    case PERFDATA_SWITCH_CPU_WIDE: return "44";
    case PERFDATA_KSYMBOL: return "8422s";
    case PERFDATA_BPF_EVENT: return "224s";
    case PERFDATA_CGROUP: return "8s";
    case PERFDATA_TEXT_POKE: return "822s";
    case PERFDATA_AUX_OUTPUT_HW_ID:
    case PERFDATA_LOST_SAMPLES: return "8";
    default: return "8*";
    }
}

static void turn(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        const uint8_t byte = bytes[i];
        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = byte;
    }
}

/* Turn the numbers at [at, end) that a layout has. */
static void turn_fields(uint8_t *at, uint8_t *end, const char *layout,
                        int has_build_id)
{
    while (*layout && *layout != 's') {
        size_t size = (size_t) (*layout - '0');
        if (*layout == 'b' && has_build_id) {
            if (end - at < 24) return;
            at += 24;
            layout++;
            continue;
        }
        if (*layout == 'b') {
            turn_fields(at, end, "4488", 0);
            at += end - at < 24 ? end - at : 24;
            layout++;
            continue;
        }
        if ((size_t) (end - at) < size) return;
        turn(at, size);
        at += size;
        if (layout[1] != '*') layout++;
    }
}

static void turn_trailer(uint8_t *at, uint8_t *end, uint64_t has)
{
    char layout[16] = "";
    if (has & PERFDATA_SAMPLE_TID) strcat(layout, "44");
    if (has & PERFDATA_SAMPLE_TIME) strcat(layout, "8");
    if (has & PERFDATA_SAMPLE_ID) strcat(layout, "8");
    if (has & PERFDATA_SAMPLE_STREAM_ID) strcat(layout, "8");
    if (has & PERFDATA_SAMPLE_CPU) strcat(layout, "44");
    if (has & PERFDATA_SAMPLE_IDENTIFIER) strcat(layout, "8");
    turn_fields(at, end, layout, 0);
}

/* Turn a copy of a record, which libipt wants in little endian. */
static void make_little(uint8_t *bytes, const perfdata_record *r)
{
    uint8_t *const end = bytes + r->size;
    turn(bytes, 4);
    turn(bytes + 4, 2);
    turn(bytes + 6, 2);
    turn_fields(bytes + 8, end - r->trailer, layout_of(r->type),
                r->misc & PERFDATA_MISC_MMAP_BUILD_ID);
    turn_trailer(end - r->trailer, end, r->sample.has);
}

/* Drop what stands between the fields of a record and its samples, for which
 * libipt gives up the file. The new size. */
static uint16_t close_up(uint8_t *bytes, const perfdata_record *r)
{
    const uint16_t size = (uint16_t) (r->body + r->trailer);
    if (r->trailer == 0 || size == r->size) return r->size;
    memmove(bytes + r->body, bytes + r->size - r->trailer, r->trailer);
    bytes[6] = (uint8_t) size;
    bytes[7] = (uint8_t) (size >> 8);
    return size;
}

/* ---- reading ---- */

static void add_row(splitter *s, const perfdata_record *r)
{
    row *to;
    if (!reserve(s, &s->bytes, 1, s->byte_count, r->size, &s->byte_max)
        || !reserve(s, &s->rows, sizeof *s->rows, s->row_count, 1,
                    &s->row_max))
        return;
    to = &s->rows[s->row_count++];
    to->time = r->sample.time;
    to->at = s->byte_count;
    to->group = (uint64_t) r->sample.pid << 32;
    to->group |= r->sample.has & PERFDATA_SAMPLE_CPU ? r->sample.cpu
                                                     : UINT32_MAX;
    memcpy(s->bytes + s->byte_count, r->bytes, r->size);
    if (s->file.data->big_endian)
        make_little(s->bytes + s->byte_count, r);
    to->size = close_up(s->bytes + s->byte_count, r);
    s->byte_count += to->size;
}

static void add_task(splitter *s, uint32_t pid, uint32_t tid)
{
    if (pid == 0 || pid == UINT32_MAX) return;
    if (s->task_count && s->tasks[s->task_count - 1].tid == tid
        && s->tasks[s->task_count - 1].pid == pid)
        return;
    if (!reserve(s, &s->tasks, sizeof *s->tasks, s->task_count, 1,
                 &s->task_max))
        return;
    s->tasks[s->task_count].tid = tid;
    s->tasks[s->task_count++].pid = pid;
}

/* NULL without memory. */
static mapped *add_map(splitter *s, const char *name, const uint8_t *id,
                       uint8_t id_size)
{
    mapped *to;
    if (!reserve(s, &s->maps, sizeof *s->maps, s->map_count, 1, &s->map_max))
        return NULL;
    to = &s->maps[s->map_count];
    memset(to, 0, sizeof *to);
    to->name = tool_copy(name, strlen(name));
    if (!to->name) {
        no_memory(s);
        return NULL;
    }
    to->id_size = id_size;
    memcpy(to->id, id, id_size);
    s->map_count++;
    return to;
}

/* A mapping of code: of a file to copy, or of the kernel, which says where the
 * kernel begins. */
static void see_map(splitter *s, const perfdata_record *r)
{
    const unsigned mode = r->misc & PERFDATA_MISC_CPUMODE_MASK;
    const char *name = r->u.mmap.name;
    mapped *map;
    if (mode == PERFDATA_MISC_KERNEL
        && strncmp(name, "[kernel.kallsyms]", 17) == 0
        && (s->kernel_start == 0 || r->u.mmap.addr < s->kernel_start))
        s->kernel_start = r->u.mmap.addr;
    if (mode != PERFDATA_MISC_USER && mode != 0) return;
    if (r->type == PERFDATA_MMAP2 ? !(r->u.mmap.prot & 4)
                                  : (r->misc & PERFDATA_MISC_MMAP_DATA))
        return;
    map = add_map(s, name, r->u.mmap.build_id, r->u.mmap.build_id_size);
    if (!map) return;
    map->pid = r->u.mmap.pid;
    map->ip = r->u.mmap.addr;
    map->size = r->u.mmap.len;
    map->offset = r->u.mmap.pgoff;
}

static void see_info(splitter *s, const perfdata_record *r)
{
    if (r->u.info.kind != 1) {
        s->failed = complain(s, s->file.name, "its trace is not of Intel PT");
        return;
    }
    s->has_pt = 1;
    memcpy(s->pt, r->u.info.word, sizeof s->pt);
    filters_free(&s->filters);
    switch (filters_parse(&s->filters, r->u.info.filter)) {
    case FILTERS_OK: break;
    case FILTERS_NO_MEMORY: no_memory(s); break;
    default:
        complain(s, r->u.info.filter, "warning: these filters are not "
                                      "understood; ptxed does not get them");
    }
    s->pt_event = perfdata_pt_event(s->file.data, r);
}

static void see_record(splitter *s, const perfdata_record *r)
{
    if (r->sample.has & PERFDATA_SAMPLE_TID)
        add_task(s, r->sample.pid, r->sample.tid);
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: see_map(s, r); break;
    case PERFDATA_ITRACE_START:
        add_task(s, r->u.thread.pid, r->u.thread.tid);
        break;
    case PERFDATA_COMM: add_task(s, r->u.comm.pid, r->u.comm.tid); break;
    case PERFDATA_LOST:
    case PERFDATA_LOST_SAMPLES: s->lost += r->u.lost.lost; break;
    case PERFDATA_AUXTRACE_INFO: see_info(s, r); return;
    case PERFDATA_SAMPLE:
    case PERFDATA_HEADER_ATTR:
    case PERFDATA_HEADER_FEATURE:
    case PERFDATA_TRACING_DATA:
    case PERFDATA_AUXTRACE:
    case PERFDATA_FINISHED_ROUND: return;
    default: break;
    }
    add_row(s, r);
}

static void read_records(splitter *s)
{
    perfdata_record r;
    unsigned count = 0;
    int is_full = 0;
    int status;
    for (;;) {
        if (s->opt.max_memory && !is_full && ++count % 64 == 0
            && tool_memory() > s->opt.max_memory) {
            is_full = s->warned = 1;
            fprintf(stderr, "%s: warning: records are left out, by "
                            "--max-memory.\n", s->args->program);
        }
        status = perffile_next(&s->file, &r);
        if (status == PERFDATA_END) break;
        if (status < 0) {
            perffile_complain(s->args, &s->file, status, r.offset);
            s->failed = 1;
            if (status != PERFDATA_ERR_FIELDS
                && status != PERFDATA_ERR_STRING)
                break;
            continue;
        }
        if (guests_note(&s->guests, s->file.data->big_endian, &r)) no_memory(s);
        if (guests_has(&s->guests, &r)) continue;
        if (is_full && r.type != PERFDATA_AUXTRACE) continue;
        if (perffile_queues_add(&s->queues, &r)) no_memory(s);
        see_record(s, &r);
    }
    if (s->guests.records)
        fprintf(stderr, "%s: %" PRIu64 " record%s made in guests: left out\n",
                s->args->program, s->guests.records,
                s->guests.records == 1 ? " was" : "s were");
    if (perffile_queues_finish(&s->queues)) no_memory(s);
    s->failed |= perffile_queues_trim(s->args, &s->file, &s->queues);
}

/* Build ids that perf has looked up itself. */
static void read_build_ids(splitter *s)
{
    if (binaries_open(&s->code, s->file.data)) no_memory(s);
    for (size_t i = 0; i < s->code.id_count; i++)
        add_map(s, s->code.ids[i].name, s->code.ids[i].id,
                s->code.ids[i].size);
    binaries_sort(&s->code);
}

/* ---- writing ---- */

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        bytes += n;
        size -= (size_t) n;
    }
    return 0;
}

/* Close a file of the folder; says if any of it could not be written. */
static void finish(splitter *s, const char *name, int fd, int status)
{
    if (fd < 0 || close(fd) || status) {
        complain(s, name, strerror(errno));
        s->failed = 1;
    }
}

static int make_folder(splitter *s)
{
    const char *out = s->opt.out;
    if (tool_keep_old(out)) {
        fprintf(stderr, "%s: cannot rename ", s->args->program);
        tool_print(stderr, out);
        fputs(" to ", stderr);
        tool_print(stderr, out);
        fprintf(stderr, ".old: %s; -o <folder> names another.\n",
                strerror(errno));
        return 1;
    }
    if (mkdir(out, 0777)) return complain(s, out, strerror(errno));
    s->folder = open(out, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return s->folder < 0 ? complain(s, out, strerror(errno)) : 0;
}

/* The name of a queue's file: its trace, or that of its stream `k`: snapshots
 * that overlap. */
static void trace_name(const splitter *s, const perfdata_queue *queue,
                       uint32_t k, char *name, size_t size)
{
    if (s->queues.snapshot)
        snprintf(name, size, "%s-aux-idx%" PRIu32 ".%" PRIu32 ".bin", s->base,
                 queue->idx, k);
    else
        snprintf(name, size, "%s-aux-idx%" PRIu32 ".bin", s->base, queue->idx);
}

static int write_piece(const splitter *s, const perfdata_piece *piece, int fd)
{
    static uint8_t block[1 << 16];
    for (uint64_t at = 0; at < piece->size; at += sizeof block) {
        const uint64_t left = piece->size - at;
        const size_t size = left < sizeof block ? (size_t) left : sizeof block;
        if (perffile_read(&s->file, piece->data + at, block, size)
            || write_all(fd, block, size))
            return -1;
    }
    return 0;
}

/* How many streams a queue has. */
static uint32_t streams_of(const splitter *s, const perfdata_queue *queue)
{
    uint32_t count = 1;
    for (uint32_t k = 1; s->queues.snapshot && k < queue->count; k++)
        count += s->queues.pieces[queue->first + k].gap != 0;
    return count;
}

static void write_queue(splitter *s, const perfdata_queue *queue)
{
    char name[512];
    int fd = -1;
    int status = 0;
    uint32_t stream = 0;
    for (uint32_t k = 0; k < queue->count; k++) {
        const perfdata_piece *piece = &s->queues.pieces[queue->first + k];
        if (k == 0 || (s->queues.snapshot && piece->gap)) {
            if (k) finish(s, name, fd, status);
            trace_name(s, queue, stream++, name, sizeof name);
            fd = below_create(s->folder, name);
            status = 0;
        }
        if (fd >= 0 && status == 0) status = write_piece(s, piece, fd);
    }
    finish(s, name, fd, status);
}

static void report_queue(splitter *s, const perfdata_queue *queue)
{
    const uint32_t gaps = queue->gaps + (queue->gap_at_end != 0);
    if (s->queues.snapshot || gaps == 0) return;
    s->warned = 1;
    fprintf(stderr, "%s: warning: trace %" PRIu32 ": %" PRIu32 " gap%s: perf or "
            "the processor lost trace.\n", s->args->program, queue->idx, gaps,
            TOOL_S(gaps));
}

/* By file, then by time; no time is before all others. The rest is their order
 * in the recording. */
static int compare_rows(const void *a, const void *b)
{
    const row *x = (const row *) a;
    const row *y = (const row *) b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* From the cpu and the pid to the file: by cpu the one, by thread the other. */
static void choose_groups(splitter *s)
{
    for (size_t i = 0; i < s->row_count; i++) {
        uint64_t *name = &s->rows[i].group;
        const uint32_t of = (uint32_t) (s->has_cpus ? *name : *name >> 32);
        const int none = of == UINT32_MAX || (of == 0 && !s->has_cpus);
        *name = none ? COMMON : of;
    }
    if (s->row_count)
        qsort(s->rows, s->row_count, sizeof *s->rows, compare_rows);
    for (size_t i = 0; i < s->row_count; i++) {
        const uint64_t name = s->rows[i].group;
        if (i == 0 || name != s->rows[i - 1].group) {
            if (!reserve(s, &s->groups, sizeof *s->groups, s->group_count, 1,
                         &s->group_max))
                return;
            s->groups[s->group_count++].name = name;
        }
        s->groups[s->group_count - 1].end = i + 1;
    }
}

static void sideband_name(const splitter *s, uint64_t of, char *name,
                          size_t size)
{
    if (of == COMMON)
        snprintf(name, size, "%s-sideband.pevent", s->base);
    else
        snprintf(name, size, "%s-sideband-%s%" PRIu64 ".pevent", s->base,
                 s->has_cpus ? "cpu" : "pid", of);
}

static void write_group(splitter *s, size_t first, const group *rows)
{
    char name[512];
    FILE *out = NULL;
    int fd;
    sideband_name(s, rows->name, name, sizeof name);
    fd = below_create(s->folder, name);
    if (fd >= 0) out = fdopen(fd, "wb");
    for (size_t i = first; out && i < rows->end; i++)
        fwrite(s->bytes + s->rows[i].at, 1, s->rows[i].size, out);
    if (!out || ferror(out) | fclose(out)) {
        complain(s, name, strerror(errno));
        s->failed = 1;
    }
}

static void write_sideband(splitter *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        write_group(s, i ? s->groups[i - 1].end : 0, &s->groups[i]);
}

/* ---- copies of code ---- */

/* Copy a file; what it has no blocks for stays so. */
static int copy_bytes(int from, int to, uint64_t size)
{
    static uint8_t block[1 << 16];
    uint64_t at = 0;
    while (at < size) {
        const off_t data = lseek(from, (off_t) at, SEEK_DATA);
        ssize_t n;
        if (data < 0 && errno == ENXIO) break; // nothing but a hole
        if (data > 0 && (uint64_t) data > at) at = (uint64_t) data;
        n = pread(from, block, sizeof block, (off_t) at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        if (lseek(to, (off_t) at, SEEK_SET) < 0
            || write_all(to, block, (size_t) n))
            return -1;
        at += (uint64_t) n;
    }
    return ftruncate(to, (off_t) size);
}

/* Copy an open file to a path below the folder. */
static int copy_to(splitter *s, const char *path, int from, uint64_t size)
{
    const int to = below_create(s->folder, path);
    if (to < 0) return complain(s, path, strerror(errno));
    finish(s, path, to, copy_bytes(from, to, size));
    return 0;
}

static char *text2(const char *a, const char *b)
{
    const size_t size = strlen(a) + strlen(b) + 1;
    char *text = (char *) malloc(size);
    if (text) snprintf(text, size, "%s%s", a, b);
    return text;
}

/* Is an open file a program or a library? Copies are passed on, and a hostile
 * recording may name a private file. */
static int is_code(int fd)
{
    char magic[4];
    return pread(fd, magic, 4, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0;
}

/* A link of the user's that leads out of the folder is followed to code, and to
 * nothing else. */
static int open_below(const char *folder, const char *name, uint64_t *size)
{
    int fd = below_open(folder, name, size);
    if (fd >= 0) return fd;
    fd = below_follow(folder, name, size);
    if (fd < 0 || is_code(fd)) return fd;
    close(fd);
    return -1;
}

/* Open the file that was mapped, or -1 with a message. */
static int open_mapped(splitter *s, const mapped *map, uint64_t *size)
{
    files_file *file;
    int fd = -1;
    switch (binaries_find(&s->code, s->opt.symfs, map->name, map->id,
                          map->id_size, &file)) {
    case BINARIES_NONE: return -1;
    case BINARIES_OTHER:
        complain(s, map->name, s->opt.force
                     ? "warning: another build of the file"
                     : "another build of the file; --force takes it");
        if (!s->opt.force) return -1;
        break;
    default: break;
    }
    if (file) fd = files_reopen(file);
    if (fd < 0) {
        complain(s, map->name, "cannot be copied: not a file");
    } else if (!is_code(fd)) {
        complain(s, map->name, "is left out: not an ELF file");
        close(fd);
        fd = -1;
    } else {
        *size = file->size;
    }
    return fd;
}

static void copy_mapped(splitter *s, const mapped *map)
{
    uint64_t size = 0;
    char *path;
    int fd;
    fd = open_mapped(s, map, &size);
    if (fd < 0) return;
    path = text2("sysroot/", map->name);
    if (path)
        copy_to(s, path, fd, size);
    else
        no_memory(s);
    free(path);
    close(fd);
}

/* ---- vdso ---- */

static const char *vdso_name(buildid_kind kind)
{
    switch (kind) {
    case BUILDID_X64: return "sysroot/vdso/vdso-x64.so";
    case BUILDID_X32: return "sysroot/vdso/vdso-x32.so";
    case BUILDID_IA32: return "sysroot/vdso/vdso-ia32.so";
    default: return NULL;
    }
}

/* Copy a vdso, which may be in memory. */
static int copy_vdso(splitter *s, const files_file *file)
{
    const int from = file->bytes ? -1 : files_reopen(file);
    const char *name;
    buildid id;
    int to;
    if (file->bytes) buildid_of_bytes(file->bytes, file->size, &id);
    else buildid_of_file(from, file->size, &id);
    name = vdso_name(id.kind);
    if (name && !(s->vdsos >> id.kind & 1)) {
        to = below_create(s->folder, name);
        finish(s, name, to, to < 0 ? -1 : file->bytes
                   ? write_all(to, file->bytes, (size_t) file->size)
                   : copy_bytes(from, to, file->size));
        if (to >= 0) s->vdsos |= (uint8_t) (1u << id.kind);
    }
    if (from >= 0) close(from);
    return name != NULL;
}

static void find_vdso(splitter *s, const mapped *map)
{
    files_file *file;
    binaries_find(&s->code, NULL, map->name, map->id, map->id_size, &file);
    if (file && file->bytes && map->id_size == 0 && !s->code.same_host)
        complain(s, "[vdso]", "warning: that of this machine is taken");
    if (!file || !copy_vdso(s, file))
        complain(s, "[vdso]", "its file is not known: --vdso names it");
}

/* ---- all files ---- */

/* By name; those whose build is known come first. */
static int compare_maps(const void *a, const void *b)
{
    const mapped *x = (const mapped *) a;
    const mapped *y = (const mapped *) b;
    const int order = strcmp(x->name, y->name);
    if (order) return order;
    if (x->id_size != y->id_size) return x->id_size > y->id_size ? -1 : 1;
    return memcmp(x->id, y->id, x->id_size);
}

static void copy_code(splitter *s)
{
    if (s->map_count)
        qsort(s->maps, s->map_count, sizeof *s->maps, compare_maps);
    for (size_t i = 0; i < s->map_count; i++) {
        const mapped *map = &s->maps[i];
        const mapped *last = i ? map - 1 : NULL;
        const int again = last && strcmp(last->name, map->name) == 0;
        if (again && (map->id_size == 0 || compare_maps(last, map) == 0))
            continue;
        if (strcmp(map->name, "[vdso]") == 0)
            find_vdso(s, map);
        else if (again)
            complain(s, map->name, "warning: it had several builds");
        else
            copy_mapped(s, map);
    }
}

/* The lower of _text and _stext. */
static void read_kallsyms(splitter *s, const char *path)
{
    const uint64_t text = kallsyms_find(path, "_text");
    const uint64_t stext = kallsyms_find(path, "_stext");
    s->kernel_start = text == 0 || (stext && stext < text) ? stext : text;
}

static void copy_kcore(splitter *s)
{
    char *path;
    uint64_t size;
    char *folder = NULL;
    int fd = -1;
    if (s->opt.kcore)
        folder = text2(s->opt.kcore, "");
    else if (s->file.folder)
        folder = text2(s->file.folder, "/kcore_dir");
    if (!folder) return;
    path = text2(folder, "/kcore");
    if (path) fd = files_open(path, &size);
    if (fd >= 0) {
        s->has_kcore = copy_to(s, "kcore_dir/kcore", fd, size) == 0;
        close(fd);
    } else if (s->opt.kcore) {
        s->failed = complain(s, path ? path : folder, "not a file");
    }
    free(path);
    path = text2(folder, "/kallsyms");
    fd = path ? files_open(path, &size) : -1;
    if (fd >= 0) {
        copy_to(s, "kcore_dir/kallsyms", fd, size);
        read_kallsyms(s, path);
        close(fd);
    }
    free(path);
    free(folder);
}

/* ---- command lines ---- */

/* A word for the shell. */
static void print_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%";
    if (*text && text[strspn(text, plain)] == 0) {
        printf(" %s", text);
        return;
    }
    printf(" '");
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            putchar(*text);
    }
    putchar('\'');
}

/* A file of the folder. */
static void print_file(const splitter *s, const char *name)
{
    char *folder = text2(s->opt.out, "/");
    char *path = folder ? text2(folder, name) : NULL;
    if (path) print_word(path);
    free(path);
    free(folder);
}

/* FAMILY/MODEL/STEPPING of the feature "cpuid". */
static void print_cpu(const splitter *s)
{
    char text[64];
    unsigned f;
    unsigned m;
    unsigned step;
    char rest;
    if (perfdata_feature_text(s->file.data, PERFDATA_FEATURE_CPUID, text,
                              sizeof text) != 1
        || sscanf(text, "GenuineIntel,%5u,%5u,%5u%c", &f, &m, &step, &rest)
               != 3
        || f > UINT16_MAX || m > UINT8_MAX || step > UINT8_MAX)
        return;
    printf(" --cpu %u/%u/%u", f, m, step);
}

static void print_number(const char *option, uint64_t value, uint64_t max)
{
    if (value && value <= max) printf(" %s %" PRIu64, option, value);
}

/* What MTC and CYC packets count. */
static void print_timing(const splitter *s)
{
    const uint64_t *pt = s->pt;
    const uint64_t bits = pt[PERFDATA_PT_MTC_FREQ_BITS];
    uint64_t config;
    if (!s->has_pt || s->pt_event == PERFDATA_NO_EVENT) return;
    config = s->file.config.events[s->pt_event].config;
    if (config & pt[PERFDATA_PT_MTC_BIT] && bits)
        print_number("--mtc-freq", (config & bits) / (bits & (~bits + 1)),
                     UINT8_MAX);
    print_number("--nom-freq", pt[PERFDATA_PT_MAX_NONTURBO_RATIO], UINT8_MAX);
    print_number("--cpuid-0x15.eax", pt[PERFDATA_PT_TSC_CTC_D], UINT32_MAX);
    print_number("--cpuid-0x15.ebx", pt[PERFDATA_PT_TSC_CTC_N], UINT32_MAX);
}

static int compare_tasks(const void *a, const void *b)
{
    const task *x = (const task *) a;
    const task *y = (const task *) b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The file with the records of a queue. */
static uint64_t group_of(const splitter *s, const perfdata_queue *queue)
{
    const task key = {queue->tid, 0};
    const task *found;
    if (queue->cpu != UINT32_MAX) return queue->cpu;
    found = s->task_count
        ? (const task *) bsearch(&key, s->tasks, s->task_count,
                                 sizeof *s->tasks, compare_tasks)
        : NULL;
    return found ? found->pid : queue->tid;
}

/* One more range of a kind, unless it is there. */
static unsigned add_range(ipt_filter *all, unsigned count,
                          const ipt_filter *range)
{
    if (range->kind == IPT_FILTER_OFF || range->first > range->last)
        return count;
    for (unsigned i = 0; i < count; i++)
        if (memcmp(&all[i], range, sizeof *all) == 0) return count;
    if (count < IPT_FILTERS) all[count] = *range;
    return count + 1;
}

/* Where filters are in a process, or in any: UINT32_MAX. ptxed knows four
 * ranges, whatever process runs. */
static unsigned find_ranges(const splitter *s, uint64_t pid, ipt_filter *all)
{
    ipt_filter range[IPT_FILTERS];
    unsigned count = 0;
    memset(all, 0, IPT_FILTERS * sizeof *all);
    filters_begin(&s->filters, range);
    for (unsigned k = 0; k < IPT_FILTERS; k++)
        count = add_range(all, count, &range[k]);
    for (size_t i = 0; i < s->map_count; i++) {
        const mapped *const map = &s->maps[i];
        if (map->size == 0 || (pid != UINT32_MAX && map->pid != pid)) continue;
        filters_begin(&s->filters, range);
        filters_map(&s->filters, range, map->name, map->ip, map->size,
                    map->offset);
        for (unsigned k = 0; k < IPT_FILTERS; k++)
            count = add_range(all, count, &range[k]);
    }
    return count;
}

static void print_filters(splitter *s, const perfdata_queue *queue)
{
    ipt_filter all[IPT_FILTERS];
    const uint64_t pid = queue->cpu == UINT32_MAX ? group_of(s, queue)
                                                  : UINT32_MAX;
    const unsigned count = find_ranges(s, pid, all);
    if (count > IPT_FILTERS)
        complain(s, s->file.name, "warning: its filters are at more than four "
                                  "places; ptxed gets four of them");
    for (unsigned i = 0; i < IPT_FILTERS && all[i].kind; i++)
        printf(" --filter:addr%u_cfg %u --filter:addr%u_a 0x%" PRIx64
               " --filter:addr%u_b 0x%" PRIx64, i, all[i].kind, i,
               all[i].first, i, all[i].last);
}

/* Can the records' time be compared with the trace's? */
static int is_timed(const splitter *s)
{
    return s->has_pt && s->pt_event != PERFDATA_NO_EVENT
        && s->pt[PERFDATA_PT_CAP_USER_TIME_ZERO]
        && s->file.config.events[s->pt_event].config
               & s->pt[PERFDATA_PT_TSC_BIT]
        && s->pt[PERFDATA_PT_TIME_MULT]
        && s->pt[PERFDATA_PT_TIME_MULT] <= UINT32_MAX
        && s->pt[PERFDATA_PT_TIME_SHIFT] < 64;
}

/* The trace has 56 bits of the TSC, and ptxed compares them with the records'
 * times: what the trace's first record has above them goes from these. */
static uint64_t zero_of(const splitter *s, const perfdata_queue *queue)
{
    const uint64_t *const pt = s->pt;
    const uint64_t tsc = s->queues.pieces[queue->first].reference;
    return perfdata_ns(pt[PERFDATA_PT_TIME_SHIFT], pt[PERFDATA_PT_TIME_MULT],
                       pt[PERFDATA_PT_TIME_ZERO], tsc >> 56 << 56);
}

/* Without a common clock all records apply before the trace begins: so much
 * earlier than they were written that their time is 0. */
static void print_time(const splitter *s, const perfdata_queue *queue)
{
    const uint64_t *pt = s->pt;
    if (!is_timed(s)) {
        printf(" --pevent:tsc-offset 0x7fffffffffffffff");
        return;
    }
    printf(" --pevent:time-shift %" PRIu64 " --pevent:time-mult %" PRIu64
           " --pevent:time-zero %" PRIu64, pt[PERFDATA_PT_TIME_SHIFT],
           pt[PERFDATA_PT_TIME_MULT], zero_of(s, queue));
}

/* The samples of most records, and of those that have others. */
static void print_samples(const splitter *s)
{
    const perfdata *p = s->file.data;
    const perfdata_attr *events = p->config->events;
    uint64_t first;
    if (p->event_count == 0) return;
    first = events->sample_type & PERFDATA_TRAILER;
    printf(" --pevent:sample-type 0x%" PRIx64, first);
    for (uint32_t i = 0; i < p->id_count; i++) {
        const perfdata_id *id = &p->config->ids[i];
        const uint64_t type = events[id->event].sample_type & PERFDATA_TRAILER;
        if (type != first && type & PERFDATA_SAMPLE_IDENTIFIER)
            printf(" --pevent:sample-config 0x%" PRIx64 ":0x%" PRIx64, id->id,
                   type);
    }
}

static void print_code(const splitter *s)
{
    static const char *const option[] = {NULL, " --pevent:vdso-x64",
                                         " --pevent:vdso-x32",
                                         " --pevent:vdso-ia32"};
    printf(" --pevent:sysroot");
    print_file(s, "sysroot");
    for (int kind = BUILDID_X64; kind <= BUILDID_IA32; kind++) {
        if (!(s->vdsos >> kind & 1)) continue;
        printf("%s", option[kind]);
        print_file(s, vdso_name((buildid_kind) kind));
    }
    if (s->has_kcore) {
        printf(" --pevent:kcore");
        print_file(s, "kcore_dir/kcore");
    }
    if (s->kernel_start)
        printf(" --pevent:kernel-start 0x%" PRIx64, s->kernel_start);
}

/* Records of no cpu or process go first: they describe what ran before. */
static void print_sideband(const splitter *s, uint64_t own)
{
    for (int common = 1; common >= 0; common--) {
        for (size_t i = 0; i < s->group_count; i++) {
            const uint64_t of = s->groups[i].name;
            char name[512];
            if ((of == COMMON) != common) continue;
            sideband_name(s, of, name, sizeof name);
            printf(" --pevent:%s", of == own ? "primary" : "secondary");
            print_file(s, name);
        }
    }
}

static void print_command(splitter *s, const perfdata_queue *queue,
                          uint32_t k, const char *tool)
{
    char name[512];
    printf("%s", tool);
    print_cpu(s);
    print_timing(s);
    print_samples(s);
    print_time(s, queue);
    print_code(s);
    print_sideband(s, group_of(s, queue));
    if (strcmp(tool, "ptxed") == 0) {
        print_filters(s, queue);
        if (is_timed(s)) printf(" --event:tick"); // to see the time often
        printf(" --pt");
    }
    trace_name(s, queue, k, name, sizeof name);
    print_file(s, name);
    putchar('\n');
}

/* Each names all sideband, so that there can be far more to print than there
 * is to read: as much as a machine of 1024 cpus needs, and no more. */
#define NAMES (1u << 20)

static void print_commands(splitter *s)
{
    uint64_t names = 0;
    for (uint32_t i = 0; i < s->queues.queue_count; i++) {
        const perfdata_queue *queue = &s->queues.queues[i];
        const uint32_t traces = streams_of(s, queue);
        for (uint32_t k = 0; k < traces && !ferror(stdout); k++) {
            names += s->group_count;
            if (names > NAMES) {
                s->failed = complain(s, s->file.name,
                                     "no more command lines: too many cpus");
                return;
            }
            if (queue->cpu != UINT32_MAX)
                printf("# cpu %" PRIu32 "\n", queue->cpu);
            else
                printf("# thread %" PRIu32 "\n", queue->tid);
            if (!s->opt.ptxed) print_command(s, queue, k, "ptdump");
            if (!s->opt.ptdump) print_command(s, queue, k, "ptxed");
        }
    }
}

/* ---- the whole ---- */

#define CPUS 8192 /* as many as Linux can have */

/* What the records say, put in order. */
static int arrange(splitter *s)
{
    for (uint32_t i = 0; i < s->queues.queue_count; i++)
        s->has_cpus |= s->queues.queues[i].cpu != UINT32_MAX;
    choose_groups(s);
    if (s->task_count)
        qsort(s->tasks, s->task_count, sizeof *s->tasks, compare_tasks);
    if (s->queues.packed)
        fprintf(stderr, "%s: warning: trace in %" PRIu32 " samples (perf "
                "record --aux-sample) is compressed and left out.\n",
                s->args->program, s->queues.packed);
    if (s->lost)
        fprintf(stderr, "%s: warning: perf lost %" PRIu64 " record%s.\n",
                s->args->program, s->lost, TOOL_S(s->lost));
    s->warned |= s->queues.packed || s->lost;
    if (s->queues.queue_count == 0)
        return complain(s, s->file.name, "there is no trace in it");
    if (s->queues.queue_count > CPUS || s->group_count > CPUS)
        return complain(s, s->file.name, "more cpus or processes than can be");
    if (s->has_cpus && !is_timed(s))
        complain(s, s->file.name,
                 "warning: without time it cannot be said which thread ran");
    return 0;
}

static int split(splitter *s)
{
    read_records(s);
    read_build_ids(s);
    if (arrange(s) || make_folder(s)) return 1;
    for (uint32_t i = 0; i < s->queues.queue_count; i++) {
        write_queue(s, &s->queues.queues[i]);
        report_queue(s, &s->queues.queues[i]);
    }
    write_sideband(s);
    copy_code(s);
    copy_kcore(s);
    print_commands(s);
    return s->failed || (s->opt.strict && s->warned);
}

static void free_all(splitter *s)
{
    for (size_t i = 0; i < s->map_count; i++) free(s->maps[i].name);
    free(s->maps);
    free(s->rows);
    free(s->groups);
    free(s->bytes);
    free(s->tasks);
    free(s->base);
    perffile_queues_free(&s->queues);
    binaries_free(&s->code);
    filters_free(&s->filters);
    guests_free(&s->guests);
    perffile_close(&s->file);
    if (s->folder >= 0) close(s->folder);
}

/* The last component of a path, for names in the folder; allocated. */
static char *base_name(const char *path)
{
    size_t end = strlen(path);
    size_t from;
    while (end && path[end - 1] == '/') end--;
    for (from = end; from && path[from - 1] != '/'; from--) continue;
    if (end - from > 200) end = from + 200;
    if (end == from || strncmp(path + from, "-", end - from) == 0
        || strncmp(path + from, "..", end - from) == 0)
        return tool_copy("perf.data", 9);
    return tool_copy(path + from, end - from);
}

/* ---- options ---- */

static int take_word(tool_args *args, const char *option, const char **to)
{
    *to = tool_argument(args, option);
    return *to ? -1 : args->wrong;
}

static int follow(tool_args *args, const char *word, void *context)
{
    splitter *const s = (splitter *) context;
    options *const opt = &s->opt;
    const struct {
        const char *name;
        const char **text;
        uint8_t *flag;
    } all[] = {{"--out", &opt->out, NULL},
               {"--symfs", &opt->symfs, NULL},
               {"--buildid-dir", &s->code.cache, NULL},
               {"--vdso", &s->code.vdso, NULL},
               {"--kcore", &opt->kcore, NULL},
               {"--ptdump", NULL, &opt->ptdump},
               {"--ptxed", NULL, &opt->ptxed},
               {"--force", NULL, &opt->force},
               {"--strict", NULL, &opt->strict}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(word, all[i].name) != 0) continue;
        if (all[i].text) return take_word(args, word, all[i].text);
        *all[i].flag = 1;
        return -1;
    }
    if (strcmp(word, "--max-memory") == 0) {
        const int status = tool_size(args, word, &opt->max_memory);
        return status ? status : -1;
    }
    return 0;
}

/* Read the command line: -1 to go on, else the exit status. */
static int parse(tool_args *args, splitter *s)
{
    static const char *const texts[] = {help, OPTIONS_FILES_HELP,
                                        OPTIONS_STATUS_HELP, NULL};
    options *const opt = &s->opt;
    int status = options_parse(args, texts, 0, follow, s);
    if (status < 0) status = options_file(args, &opt->file);
    if (opt->ptdump && opt->ptxed)
        opt->ptdump = opt->ptxed = 0; // both, as without any
    return status;
}

/* Split what was opened. The defaults of options are allocated. */
static int run(splitter *s)
{
    const char *home = getenv("HOME");
    char *cache = home ? tool_join(home, ".debug") : NULL;
    char *out;
    int status;
    s->base = base_name(s->opt.file);
    out = s->base ? text2(s->base, ".split") : NULL;
    if (!s->code.cache) s->code.cache = cache;
    if (!s->opt.out) s->opt.out = out;
    status = s->opt.out ? split(s) : no_memory(s);
    free(cache);
    free(out);
    return status;
}

int main(int argc, char **argv)
{
    static splitter s;
    tool_args args = tool_begin(argc, argv, "ptsplit");
    int status;
    s.args = &args;
    s.folder = -1;
    binaries_init(&s.code);
    s.code.disk.open_below = open_below;
    s.pt_event = PERFDATA_NO_EVENT;
    status = parse(&args, &s);
    if (status >= 0) return status;
    status = perffile_open(&args, s.opt.file, &s.file);
    if (status) return status;
    status = run(&s);
    free_all(&s);
    return tool_end(&args, status);
}
