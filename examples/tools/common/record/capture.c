/* capture.c: see capture.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // syscall
#define _FILE_OFFSET_BITS 64
#include "capture.h"

#if defined __linux__ && defined __x86_64__

#include <cpuid.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u

/* Flags of events, as newer headers than those here may have them. */
#define F_DISABLED       (UINT64_C(1) << 0)
#define F_INHERIT        (UINT64_C(1) << 1)
#define F_NO_USER        (UINT64_C(1) << 4)
#define F_NO_KERNEL      (UINT64_C(1) << 5)
#define F_NO_HV          (UINT64_C(1) << 6)
#define F_MMAP           (UINT64_C(1) << 8)
#define F_COMM           (UINT64_C(1) << 9)
#define F_ON_EXEC        (UINT64_C(1) << 12)
#define F_TASK           (UINT64_C(1) << 13)
#define F_SAMPLE_ID_ALL  (UINT64_C(1) << 18)
#define F_NO_GUEST       (UINT64_C(1) << 20)
#define F_MMAP2          (UINT64_C(1) << 23)
#define F_COMM_EXEC      (UINT64_C(1) << 24)
#define F_CONTEXT_SWITCH (UINT64_C(1) << 26)
#define F_KSYMBOL        (UINT64_C(1) << 29)
#define F_BPF            (UINT64_C(1) << 30)
#define F_TEXT_POKE      (UINT64_C(1) << 33)

#define SAMPLE_THREAD 0x10003u /* IP, TID, IDENTIFIER */
#define SAMPLE_CPU    0x10087u /* and TIME, CPU */

enum { RECORD_MMAP = 1,
       RECORD_LOST = 2,
       RECORD_COMM = 3,
       RECORD_FORK = 7,
       RECORD_SAMPLE = 9,
       RECORD_MMAP2 = 10,
       RECORD_AUX = 11,
       RECORD_LOST_SAMPLES = 13 };

/* ---- /sys ---- */

/* The first line of a file. */
static int read_line(const char *path, char *to, size_t size)
{
    FILE *f = fopen(path, "re");
    int ok;

    if (!f)
        return 0;
    ok = fgets(to, (int) size, f) != NULL;
    fclose(f);
    if (ok)
        to[strcspn(to, "\n")] = 0;
    return ok;
}

int capture_number(const capture_pmu *pmu, const char *name, int base,
                   uint64_t *value)
{
    char path[512];
    char text[64];
    char *end;

    snprintf(path, sizeof(path), "%s/%s", pmu->folder, name);
    if (!read_line(path, text, sizeof(text)))
        return 0;
    *value = strtoull(text, &end, base);
    return end != text;
}

int capture_find(capture_pmu *pmu, const char *root)
{
    uint64_t type;

    snprintf(pmu->folder, sizeof(pmu->folder),
             "%s/sys/bus/event_source/devices/intel_pt", root);
    if (!capture_number(pmu, "type", 10, &type))
        return -1;
    pmu->type = (uint32_t) type;
    return 0;
}

uint64_t capture_bits(const capture_pmu *pmu, const char *name)
{
    char path[512];
    char text[64];
    unsigned first, last;
    int n;

    snprintf(path, sizeof(path), "%s/format/%s", pmu->folder, name);
    if (!read_line(path, text, sizeof(text)))
        return 0;
    n = sscanf(text, "config:%u-%u", &first, &last);
    if (n == 1)
        last = first;
    if (n < 1 || first > last || last > 63)
        return 0;
    return (UINT64_MAX >> (63 - (last - first))) << first;
}

static uint64_t cap(const capture_pmu *pmu, const char *name)
{
    char path[64];
    uint64_t value;

    snprintf(path, sizeof(path), "caps/%s", name);
    return capture_number(pmu, path, 16, &value) ? value : 0;
}

/* The value of a mask up to 3, else the lowest. */
static uint64_t pick(uint64_t mask)
{
    uint64_t i;
    uint64_t found = 64;

    for (i = 0; i < 64; i++)
        if (mask >> i & 1 && (i <= 3 || found == 64))
            found = i;
    return found;
}

/* Put a value into bits. */
static uint64_t field(uint64_t bits, uint64_t value)
{
    return bits & value * (bits & -bits);
}

uint64_t capture_default(const capture_pmu *pmu)
{
    uint64_t config = capture_bits(pmu, "tsc");

    if (cap(pmu, "mtc") && cap(pmu, "mtc_periods"))
        config |= capture_bits(pmu, "mtc")
                  | field(capture_bits(pmu, "mtc_period"),
                          pick(cap(pmu, "mtc_periods")));
    if (cap(pmu, "psb_cyc") && cap(pmu, "psb_periods"))
        config |= field(capture_bits(pmu, "psb_period"),
                        pick(cap(pmu, "psb_periods")));
    if (capture_bits(pmu, "pt") && capture_bits(pmu, "branch"))
        config |= capture_bits(pmu, "pt") | capture_bits(pmu, "branch");
    return config;
}

/* ---- events ---- */

/* group: the descriptor of its leader, or -1. */
static int open_event(const capfile_attr *attr, pid_t pid, int cpu, int group)
{
    return (int) syscall(SYS_perf_event_open, attr, pid, cpu, group,
                         PERF_FLAG_FD_CLOEXEC);
}

static int keep_id(capfile_event *e, int fd)
{
    uint64_t *p =
        (uint64_t *) realloc(e->ids, (e->id_count + 1) * sizeof(*p));

    if (!p) {
        errno = ENOMEM;
        return -1;
    }
    e->ids = p;
    return ioctl(fd, PERF_EVENT_IOC_ID, &p[e->id_count++]);
}

static capfile_event *new_event(capture *c, const char *name, uint64_t flags)
{
    capfile_event *e = &c->events[c->event_count++];

    memset(e, 0, sizeof(*e));
    e->name = name;
    e->attr.type = PERF_TYPE_SOFTWARE;
    e->attr.config = PERF_COUNT_SW_DUMMY;
    e->attr.size = sizeof(e->attr);
    e->attr.period = 1;
    e->attr.sample_type = c->config.cpu_count ? SAMPLE_CPU : SAMPLE_THREAD;
    e->attr.read_format = PERF_FORMAT_ID;
    e->attr.flags = flags | F_SAMPLE_ID_ALL
                    | (c->config.cpu_count ? F_INHERIT : 0);
    return e;
}

/* Which thread has a ring, and which threads have events in it. */
static pid_t owner(const capture *c, size_t ring)
{
    return c->config.cpu_count || !c->config.tid_count ? -1
                                                       : c->config.tids[ring];
}

static int open_pt(capture *c)
{
    const capture_config *o = &c->config;
    const size_t each = o->cpu_count && o->tid_count ? o->tid_count : 1;
    capfile_event *e =
        new_event(c, "intel_pt//",
                  F_DISABLED | (o->kernel ? 0 : F_NO_KERNEL)
                      | (o->user ? 0 : F_NO_USER)
                      | (o->kernel && o->user ? 0 : F_NO_HV)
                      | (o->on_exec ? F_ON_EXEC : 0));
    size_t i, k;

    e->attr.type = o->pmu->type;
    e->attr.config = o->pt;
    if (!o->overwrite)
        e->attr.aux_watermark = (uint32_t) (o->aux_size / 4);
    c->failed = CAPTURE_OPEN_PT;
    for (i = 0; i < c->ring_count; i++) {
        capture_ring *r = &c->rings[i];
        r->cpu = o->cpu_count ? o->cpus[i] : -1;
        r->tid = owner(c, i);
        r->pt = (int *) malloc(each * sizeof(*r->pt));
        if (!r->pt) {
            errno = ENOMEM;
            return -1;
        }
        for (k = 0; k < each; k++) {
            const pid_t tid =
                o->cpu_count && o->tid_count ? o->tids[k] : r->tid;
            const int fd = open_event(&e->attr, tid, r->cpu, -1);
            if (fd < 0)
                return -1;
            r->pt[r->pt_count++] = fd;
            if (keep_id(e, fd))
                return -1;
            if (o->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, o->filter)) {
                c->failed = CAPTURE_FILTER;
                return -1;
            }
        }
    }
    return 0;
}

/* An event whose records go to a ring. */
static int add_other(capture *c, capfile_event *e, size_t ring, pid_t tid,
                     int group)
{
    const int fd = open_event(&e->attr, tid, c->rings[ring].cpu, group);

    if (fd < 0)
        return -1;
    if (c->other_count == c->other_room) {
        const size_t room = 2 * c->other_room + 16;
        int *p = (int *) realloc(c->others, room * sizeof(*p));
        if (!p) {
            close(fd);
            errno = ENOMEM;
            return -1;
        }
        c->others = p;
        c->other_room = room;
    }
    c->others[c->other_count++] = fd;
    return keep_id(e, fd)
                   || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->rings[ring].pt[0])
               ? -1
               : 0;
}

/* Forget what add_other opened since there were so many. */
static void drop_others(capture *c, size_t count)
{
    while (c->other_count > count)
        close(c->others[--c->other_count]);
}

/* Older kernels know fewer flags (5.1: KSYMBOL, BPF; 5.8: TEXT_POKE). */
static int is_unknown(int error)
{
    return error == EINVAL || error == E2BIG;
}

/* An event of all rings: of all threads on their processors if wide, else of
 * those recorded. `optional` flags are done without if need be. */
static int add_event(capture *c, const char *name, uint64_t flags,
                     uint64_t optional, int wide)
{
    const capture_config *o = &c->config;
    const size_t before = c->other_count;
    capfile_event *e = new_event(c, name, flags | optional);
    size_t i, k;

    for (;;) {
        int error = 0;
        for (i = 0; i < c->ring_count && !error; i++) {
            const size_t each =
                o->cpu_count && o->tid_count && !wide ? o->tid_count : 1;
            for (k = 0; k < each && !error; k++) {
                const pid_t tid =
                    wide ? -1 : o->cpu_count && o->tid_count ? o->tids[k]
                                                             : owner(c, i);
                if (add_other(c, e, i, tid, -1))
                    error = errno;
            }
        }
        if (!error)
            return 0;
        drop_others(c, before);
        e->id_count = 0;
        if (!(e->attr.flags & optional)
            || !(is_unknown(error) || error == EACCES || error == EPERM)) {
            free(e->ids);
            c->event_count--;
            errno = error;
            return -1;
        }
        e->attr.flags &= ~optional;
    }
}

static int open_sideband(capture *c)
{
    const capture_config *o = &c->config;
    const uint64_t quiet = F_NO_KERNEL | F_NO_HV | F_NO_GUEST;
    const uint64_t process = F_MMAP | F_MMAP2 | F_COMM | F_COMM_EXEC | F_TASK
                             | (o->on_exec ? F_DISABLED | F_ON_EXEC : 0);
    const uint64_t symbols = o->kernel ? F_BPF : F_BPF | F_KSYMBOL;

    c->failed = CAPTURE_OPEN_SIDEBAND;
    if (o->cpu_count && o->tid_count) {
        if (add_event(c, "dummy:u", quiet | F_CONTEXT_SWITCH, 0, 1) == 0)
            c->switches = 3;
        else if (errno != EACCES && errno != EPERM)
            return -1;
        else /* only its own switches are for everybody */
            c->switches = 2;
    } else {
        c->switches = o->cpu_count ? 3 : 0;
    }
    if (add_event(c, "dummy:u",
                  quiet | process
                      | (c->switches == 2 || (c->switches && !o->tid_count)
                             ? F_CONTEXT_SWITCH
                             : 0),
                  symbols, 0))
        return -1;
    if (o->kernel && o->cpu_count
        && add_event(c, "dummy:u", quiet | F_KSYMBOL, F_TEXT_POKE, 1)
        && !is_unknown(errno) && errno != EACCES && errno != EPERM)
        return -1;
    return 0;
}

/* The type of events of a name; 0: there are none. */
static uint32_t type_of(const capture *c, const char *name)
{
    capture_pmu pmu;
    uint64_t type = 0;

    snprintf(pmu.folder, sizeof(pmu.folder),
             "%s/sys/bus/event_source/devices/%s", c->config.root, name);
    return capture_number(&pmu, "type", 10, &type) ? (uint32_t) type : 0;
}

/* The trigger of all rings, with these attributes; 0, or errno. */
static int try_trigger(capture *c, capfile_event *e, int in_group)
{
    const size_t before = c->other_count;
    size_t i, k;

    for (i = 0; i < c->ring_count; i++) {
        const capture_ring *r = &c->rings[i];
        for (k = 0; k < r->pt_count; k++) {
            const pid_t tid = c->config.cpu_count && c->config.tid_count
                                  ? c->config.tids[k]
                                  : r->tid;
            int error;
            if (!add_other(c, e, i, tid, in_group ? r->pt[k] : -1))
                continue;
            error = errno;
            drop_others(c, before);
            e->id_count = 0;
            return error;
        }
    }
    return 0;
}

/* Linux 6.13 and later can pause trace at once. */
static int try_to_pause(capture *c, capfile_event *e)
{
    e->attr.last[0] = (uint64_t) 2 << 32; /* aux_action: pause */
    if (try_trigger(c, e, 1) == 0) {
        c->pauses = 1;
        return 0;
    }
    e->attr.last[0] = 0;
    return try_trigger(c, e, 0);
}

/* A uprobe; a breakpoint needs less rights. */
static int open_trigger(capture *c)
{
    const capture_config *o = &c->config;
    capfile_event *e;
    int error = ENOENT;

    c->trigger = c->event_count;
    e = new_event(c, "trigger:u",
                  F_NO_KERNEL | F_NO_HV
                      | (o->on_exec ? F_DISABLED | F_ON_EXEC : 0));
    e->attr.unused[0] = 1; /* wakeup_events */
    e->attr.config = 0;
    e->attr.type = type_of(c, "uprobe");
    e->attr.unused[1] = (uint64_t) (uintptr_t) o->trigger->file;
    e->attr.unused[2] = o->trigger->offset;
    if (e->attr.type) {
        e->attr.flags &= ~F_NO_KERNEL; /* that is where it strikes */
        error = try_to_pause(c, e);
    }
    if (error && o->trigger->address) {
        e->attr.type = PERF_TYPE_BREAKPOINT;
        e->attr.flags |= F_NO_KERNEL;
        e->attr.unused[0] = 1 | (uint64_t) 4 << 32; /* HW_BREAKPOINT_X */
        e->attr.unused[1] = o->trigger->address;
        e->attr.unused[2] = sizeof(long);
        error = try_to_pause(c, e);
        c->is_break = 1;
    }
    if (!c->is_break)
        e->attr.unused[1] = 0; /* means nothing in a file; */
    e->attr.last[0] = 0;       /* older perfs read no file with it */
    c->failed = CAPTURE_OPEN_TRIGGER;
    errno = error;
    return error ? -1 : 0;
}

static struct perf_event_mmap_page *page_of(const capture_ring *r)
{
    return (struct perf_event_mmap_page *) r->page;
}

static int map_rings(capture *c)
{
    const capture_config *o = &c->config;
    size_t i, k;

    for (i = 0; i < c->ring_count; i++) {
        capture_ring *r = &c->rings[i];
        void *p = mmap(NULL, PAGE + o->data_size, PROT_READ | PROT_WRITE,
                       MAP_SHARED, r->pt[0], 0);
        c->failed = CAPTURE_MAP_DATA;
        if (p == MAP_FAILED)
            return -1;
        r->page = p;
        page_of(r)->aux_offset = PAGE + o->data_size;
        page_of(r)->aux_size = o->aux_size;
        p = mmap(NULL, o->aux_size,
                 o->overwrite ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED,
                 r->pt[0], (off_t) (PAGE + o->data_size));
        c->failed = CAPTURE_MAP_AUX;
        if (p == MAP_FAILED)
            return -1;
        r->aux = (const uint8_t *) p;
        c->failed = CAPTURE_OPEN_PT;
        for (k = 1; k < r->pt_count; k++)
            if (ioctl(r->pt[k], PERF_EVENT_IOC_SET_OUTPUT, r->pt[0]))
                return -1;
    }
    return 0;
}

int capture_open(capture *c, const capture_config *config)
{
    memset(c, 0, sizeof(*c));
    c->config = *config;
    c->failed = CAPTURE_NO_MEMORY;
    c->trigger = SIZE_MAX;
    c->ring_count = config->cpu_count   ? config->cpu_count
                    : config->tid_count ? config->tid_count
                                        : 1;
    c->rings = (capture_ring *) calloc(c->ring_count, sizeof(*c->rings));
    c->buffer = (uint8_t *) malloc(config->data_size);
    if (!c->rings || !c->buffer) {
        errno = ENOMEM;
        return -1;
    }
    return open_pt(c) || map_rings(c) || open_sideband(c)
                   || (config->trigger && open_trigger(c))
               ? -1
               : 0;
}

void capture_close(capture *c)
{
    size_t i, k;

    drop_others(c, 0);
    for (i = 0; c->rings && i < c->ring_count; i++) {
        capture_ring *r = &c->rings[i];
        if (r->aux)
            munmap((void *) (uintptr_t) r->aux, c->config.aux_size);
        if (r->page)
            munmap(r->page, PAGE + c->config.data_size);
        for (k = 0; k < r->pt_count; k++)
            close(r->pt[k]);
        free(r->pt);
    }
    for (i = 0; i < c->event_count; i++)
        free(c->events[i].ids);
    free(c->others);
    free(c->rings);
    free(c->buffer);
    memset(c, 0, sizeof(*c));
}

static void set_pt(const capture *c, size_t ring, unsigned long request)
{
    size_t k;

    for (k = 0; k < c->rings[ring].pt_count; k++)
        ioctl(c->rings[ring].pt[k], request, 0);
}

void capture_enable(const capture *c)
{
    size_t i;

    for (i = 0; i < c->ring_count; i++)
        set_pt(c, i, PERF_EVENT_IOC_ENABLE);
}

void capture_disable(const capture *c)
{
    size_t i;

    for (i = 0; i < c->ring_count; i++)
        set_pt(c, i, PERF_EVENT_IOC_DISABLE);
    for (i = 0; i < c->other_count; i++)
        ioctl(c->others[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* The trigger was opened last. */
void capture_end_trigger(const capture *c)
{
    size_t i;

    for (i = c->other_count - c->events[c->trigger].id_count;
         i < c->other_count; i++)
        ioctl(c->others[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* ---- rings ---- */

/* Is it the identifier of the trigger? */
static int is_trigger(const capture *c, uint64_t id)
{
    size_t i;

    for (i = 0; c->trigger < c->event_count
                && i < c->events[c->trigger].id_count; i++)
        if (c->events[c->trigger].ids[i] == id)
            return 1;
    return 0;
}

/* What records say of losses, and of the trigger. */
static void look_at(capture *c, const uint8_t *records, size_t size)
{
    struct perf_event_header header;
    size_t at;

    for (at = 0; size - at >= sizeof(header); at += header.size) {
        uint64_t word[3] = {0, 0, 0};
        memcpy(&header, records + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > size - at)
            return;
        memcpy(word, records + at + 8,
               header.size < 32u ? header.size - 8u : sizeof(word));
        switch (header.type) {
        case RECORD_LOST: c->losses.records += word[1]; break;
        case RECORD_LOST_SAMPLES: c->losses.records += word[0]; break;
        case RECORD_SAMPLE:
            c->triggered += (uint64_t) is_trigger(c, word[0]);
            break;
        case RECORD_AUX:
            c->losses.truncated += word[2] & 1;
            c->losses.partial += word[2] >> 2 & 1;
            c->losses.collisions += word[2] >> 3 & 1;
            break;
        default: break;
        }
    }
}

static void drain_data(capture *c, capture_ring *r, capfile *f)
{
    struct perf_event_mmap_page *page = page_of(r);
    const uint64_t room = c->config.data_size;
    const uint8_t *data = (const uint8_t *) r->page + PAGE;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    const uint64_t tail = page->data_tail;
    const size_t size = (size_t) (head - tail);
    const size_t from = (size_t) (tail % room);
    const size_t first = size < room - from ? size : (size_t) (room - from);

    if (size == 0 || size > room)
        return;
    memcpy(c->buffer, data + from, first);
    memcpy(c->buffer + first, data, size - first);
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    look_at(c, c->buffer, size);
    capfile_records(f, c->buffer, size);
}

/* The TSC, which perf takes the high bits of TSC packets from. */
static uint64_t read_tsc(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t) high << 32 | low;
}

/* Trace [from, to), positions in the stream. */
static void put_trace(const capture *c, size_t ring, capfile *f, uint64_t from,
                      uint64_t to)
{
    const capture_ring *r = &c->rings[ring];
    const uint64_t room = c->config.aux_size;
    const size_t at = (size_t) (from % room);
    const size_t size = (size_t) (to - from);
    capfile_piece piece;

    memset(&piece, 0, sizeof(piece));
    piece.bytes[0] = r->aux + at;
    piece.size[0] = size < room - at ? size : (size_t) (room - at);
    piece.bytes[1] = r->aux;
    piece.size[1] = size - piece.size[0];
    piece.offset = from;
    piece.reference = read_tsc();
    piece.queue = (uint32_t) ring;
    piece.tid = (uint32_t) r->tid;
    piece.cpu = (uint32_t) r->cpu;
    capfile_trace(f, &piece);
}

void capture_drain(capture *c, size_t ring, capfile *f, int live)
{
    capture_ring *r = &c->rings[ring];
    struct perf_event_mmap_page *page = page_of(r);
    uint64_t head;

    drain_data(c, r, f);
    if (c->config.overwrite)
        return;
    head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
    if (head != r->at && head - r->at <= c->config.aux_size) {
        put_trace(c, ring, f, r->at, head);
        r->at = head;
        __atomic_store_n(&page->aux_tail, head, __ATOMIC_RELEASE);
    }
    /* The kernel stops it when the ring is full, perhaps not before all has
     * been read: so this is not left to when there is more. What has not begun
     * is begun by an exec. */
    if (live && r->at)
        set_pt(c, ring, PERF_EVENT_IOC_ENABLE);
}

/* The kernel does not say whether an overwritten ring was full: it was if
 * anything is at its end. */
static int has_wrapped(const capture *c, const capture_ring *r)
{
    const uint8_t *end = r->aux + c->config.aux_size;
    const uint8_t *p = end - (c->config.aux_size < PAGE ? c->config.aux_size
                                                        : PAGE);

    for (; p < end; p++)
        if (*p)
            return 1;
    return 0;
}

void capture_snapshot(capture *c, size_t ring, capfile *f, int live)
{
    capture_ring *r = &c->rings[ring];
    const uint64_t room = c->config.aux_size;
    uint64_t head;
    uint64_t from;

    set_pt(c, ring, PERF_EVENT_IOC_DISABLE);
    drain_data(c, r, f);
    head = __atomic_load_n(&page_of(r)->aux_head, __ATOMIC_ACQUIRE) % room;
    r->wrapped |= (uint8_t) has_wrapped(c, r);
    from = r->wrapped ? head : r->at % room;
    put_trace(c, ring, f, from, r->wrapped || from > head ? head + room : head);
    r->at = head;
    if (live)
        set_pt(c, ring, PERF_EVENT_IOC_ENABLE);
}

/* ---- records made up ---- */

static void put(capture_text *to, const void *bytes, size_t size)
{
    size_t room = to->room ? to->room : 4096;
    uint8_t *p;

    if (to->failed || size == 0)
        return;
    while (room - to->size < size)
        room *= 2;
    if (room != to->room) {
        p = (uint8_t *) realloc(to->at, room);
        if (!p) {
            to->failed = 1;
            return;
        }
        to->at = p;
        to->room = room;
    }
    memcpy(to->at + to->size, bytes, size);
    to->size += size;
}

static void put64(capture_text *to, uint64_t value)
{
    put(to, &value, sizeof(value));
}

/* Two halves, the first one low. */
static void put32(capture_text *to, uint32_t low, uint32_t high)
{
    put64(to, low | (uint64_t) high << 32);
}

static void put_header(const capture *c, capture_text *to, unsigned type,
                       unsigned misc, size_t size)
{
    const size_t trailer = c->config.cpu_count ? 32 : 16;

    put64(to, type | (uint64_t) misc << 32
                  | (uint64_t) (8 + size + trailer) << 48);
}

/* Whom it is about is said by the record: identifier 0, time 0. */
static void put_trailer(const capture *c, capture_text *to)
{
    static const uint8_t zeros[32];

    put(to, zeros, c->config.cpu_count ? 32 : 16);
}

/* A text with zeros up to a multiple of 8. */
static size_t room_of(const char *text)
{
    return (strlen(text) + 8) & ~(size_t) 7;
}

static void put_text(capture_text *to, const char *text)
{
    static const uint8_t zeros[8];
    const size_t size = strlen(text);

    put(to, text, size);
    put(to, zeros, room_of(text) - size);
}

static void put_mmap2(const capture *c, capture_text *to, pid_t pid,
                      char *line)
{
    uint64_t from, end, offset, inode;
    unsigned major, minor;
    char rights[5];
    const char *name;
    int n = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64
                     " %n", &from, &end, rights, &offset, &major, &minor,
               &inode, &n) < 7
        || rights[2] != 'x')
        return;
    name = n && line[n] ? line + n : "//anon";
    put_header(c, to, RECORD_MMAP2, PERF_RECORD_MISC_USER, 64 + room_of(name));
    put32(to, (uint32_t) pid, (uint32_t) pid);
    put64(to, from);
    put64(to, end - from);
    put64(to, offset);
    put32(to, major, minor);
    put64(to, inode);
    put64(to, 0);
    put32(to,
          PROT_EXEC | (rights[0] == 'r' ? PROT_READ : 0u)
              | (rights[1] == 'w' ? PROT_WRITE : 0u),
          rights[3] == 's' ? MAP_SHARED : MAP_PRIVATE);
    put_text(to, name);
    put_trailer(c, to);
}

static void put_maps(const capture *c, capture_text *to, pid_t pid)
{
    char path[512];
    char *line = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/proc/%d/maps", c->config.root, (int) pid);
    f = fopen(path, "re");
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (strlen(line) < 4096 + 100)
            put_mmap2(c, to, pid, line);
    }
    free(line);
    if (f)
        fclose(f);
}

/* The parent of a process; 0 if it cannot be said. */
static pid_t parent_of(const capture *c, pid_t pid)
{
    char path[512];
    char line[512];
    const char *p;
    int parent = 0;

    snprintf(path, sizeof(path), "%s/proc/%d/stat", c->config.root, (int) pid);
    if (read_line(path, line, sizeof(line)) && (p = strrchr(line, ')')) != NULL
        && sscanf(p + 1, " %*c %d", &parent) != 1)
        parent = 0;
    return (pid_t) parent;
}

static void put_thread(const capture *c, capture_text *to, pid_t pid,
                       pid_t tid)
{
    const pid_t from = pid == tid ? parent_of(c, pid) : pid;
    char path[512];
    char name[32];

    snprintf(path, sizeof(path), "%s/proc/%d/task/%d/comm", c->config.root,
             (int) pid, (int) tid);
    if (!read_line(path, name, sizeof(name)))
        return;
    name[15] = 0;
    put_header(c, to, RECORD_FORK, 1u << 13, 24);
    put32(to, (uint32_t) pid, (uint32_t) from);
    put32(to, (uint32_t) tid, (uint32_t) from);
    put64(to, 0);
    put_trailer(c, to);
    put_header(c, to, RECORD_COMM, 0, 8 + room_of(name));
    put32(to, (uint32_t) pid, (uint32_t) tid);
    put_text(to, name);
    put_trailer(c, to);
}

static int by_number(const void *a, const void *b)
{
    const pid_t x = *(const pid_t *) a;
    const pid_t y = *(const pid_t *) b;

    return x < y ? -1 : x > y;
}

/* The numbers that name what is in a folder, sorted. */
static size_t numbers_in(const char *path, pid_t **numbers)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    size_t count = 0;
    size_t room = 0;

    *numbers = NULL;
    while (d && (e = readdir(d)) != NULL) {
        if (!isdigit((unsigned char) e->d_name[0]))
            continue;
        if (count == room) {
            pid_t *p = (pid_t *) realloc(*numbers,
                                         (2 * room + 16) * sizeof(*p));
            if (!p)
                break;
            *numbers = p;
            room = 2 * room + 16;
        }
        (*numbers)[count++] = (pid_t) atoi(e->d_name);
    }
    if (d)
        closedir(d);
    if (count)
        qsort(*numbers, count, sizeof(**numbers), by_number);
    return count;
}

size_t capture_threads(const char *root, pid_t pid, pid_t **tids)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int) pid);
    return numbers_in(path, tids);
}

void capture_process(const capture *c, capture_text *to, pid_t pid,
                     int no_maps)
{
    pid_t *tids;
    const size_t count = capture_threads(c->config.root, pid, &tids);
    size_t i;

    for (i = 0; i < count; i++)
        put_thread(c, to, pid, tids[i]);
    if (count && !no_maps)
        put_maps(c, to, pid);
    free(tids);
}

void capture_all_processes(const capture *c, capture_text *to)
{
    char path[512];
    pid_t *pids;
    size_t count;
    size_t i;

    snprintf(path, sizeof(path), "%s/proc", c->config.root);
    count = numbers_in(path, &pids);
    for (i = 0; i < count; i++)
        capture_process(c, to, pids[i], 0);
    free(pids);
}

static void put_kernel(const capture *c, capture_text *to, const char *name,
                       uint64_t from, uint64_t size, uint64_t offset)
{
    put_header(c, to, RECORD_MMAP, PERF_RECORD_MISC_KERNEL, 32 + room_of(name));
    put32(to, UINT32_MAX, 0);
    put64(to, from);
    put64(to, size);
    put64(to, offset);
    put_text(to, name);
    put_trailer(c, to);
}

/* A module's file as depmod knows it, "kernel/fs/x.ko", or "[x]". In file names
 * a - may stand for a _. */
static void module_name(const capture *c, const char *name, const char *release,
                        char *to, size_t size)
{
    char path[512];
    char line[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/lib/modules/%s/modules.dep",
             c->config.root, release);
    snprintf(to, size, "[%s]", name);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        const char *p;
        size_t i;
        line[strcspn(line, ":\n")] = 0;
        p = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
        for (i = 0; name[i] && (p[i] == name[i] || (p[i] == '-'
                                                    && name[i] == '_')); i++)
            ;
        if (!name[i] && strncmp(p + i, ".ko", 3) == 0) {
            if (line[0] == '/')
                snprintf(to, size, "%s", line);
            else
                snprintf(to, size, "/lib/modules/%s/%s", release, line);
            break;
        }
    }
    if (f)
        fclose(f);
}

void capture_kernel(const capture *c, capture_text *to)
{
    char path[512];
    char line[1024];
    char symbol[128];
    char release[128] = "";
    uint64_t at;
    uint64_t text = 0;
    uint64_t end = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/proc/sys/kernel/osrelease",
             c->config.root);
    if (!read_line(path, release, sizeof(release)))
        release[0] = 0;
    snprintf(path, sizeof(path), "%s/proc/kallsyms", c->config.root);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%" SCNx64 " %*c %127s", &at, symbol) != 2)
            continue;
        if (!text && !strcmp(symbol, "_text"))
            text = at;
        if (!end && !strcmp(symbol, "_etext"))
            end = at;
        if (text && end)
            break;
    }
    if (f)
        fclose(f);
    if (!text || end <= text)
        return;
    put_kernel(c, to, "[kernel.kallsyms]_text", text, end - text, text);
    snprintf(path, sizeof(path), "%s/proc/modules", c->config.root);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        uint64_t size;
        char name[1024];
        if (sscanf(line, "%127s %" SCNu64 " %*s %*s %*s %" SCNx64, symbol,
                   &size, &at) != 3
            || !at)
            continue;
        module_name(c, symbol, release, name, sizeof(name));
        put_kernel(c, to, name, at, size, 0);
    }
    if (f)
        fclose(f);
}

/* ---- what a decoder has to know ---- */

int capture_cpuid(char *to, size_t size)
{
    uint32_t a, b, c, d;
    char vendor[13];
    unsigned family, model;

    if (!__get_cpuid(0, &a, &b, &c, &d))
        return 0;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    vendor[12] = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    family = a >> 8 & 15;
    model = a >> 4 & 15;
    if (family == 6 || family == 15)
        model |= a >> 12 & 0xf0;
    if (family == 15)
        family += a >> 20 & 0xff;
    snprintf(to, size, "%s,%u,%u,%u", vendor, family, model, a & 15);
    return 1;
}

/* TSC ticks : ticks of the crystal. */
static void crystal(const capture_pmu *pmu, uint64_t *ticks, uint64_t *of)
{
    char path[512];
    char text[64];
    uint32_t a, b, c, d;

    *ticks = *of = 0;
    snprintf(path, sizeof(path), "%s/tsc_art_ratio", pmu->folder);
    if (read_line(path, text, sizeof(text))
        && sscanf(text, "%" SCNu64 ":%" SCNu64, ticks, of) == 2)
        return;
    *ticks = *of = 0;
    if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d)) {
        *ticks = b;
        *of = a;
    }
}

void capture_info(const capture *c, capture_text *to)
{
    const capture_pmu *pmu = c->config.pmu;
    const struct perf_event_mmap_page *page = page_of(&c->rings[0]);
    const uint64_t known = page->capabilities >> 4 & 1;
    const char *filter = c->config.filter ? c->config.filter : "";
    const size_t length = strlen(filter);
    const size_t padded = (length + 8) & ~(size_t) 7;
    uint64_t words[17];
    size_t i;

    memset(words, 0, sizeof(words));
    words[0] = pmu->type;
    words[1] = known * page->time_shift;
    words[2] = known * page->time_mult;
    words[3] = known * page->time_zero;
    words[4] = known;
    words[5] = capture_bits(pmu, "tsc");
    words[6] = capture_bits(pmu, "noretcomp");
    words[7] = c->switches;
    words[8] = c->config.overwrite;
    words[9] = c->config.cpu_count > 0;
    words[10] = capture_bits(pmu, "mtc");
    words[11] = capture_bits(pmu, "mtc_period");
    crystal(pmu, &words[12], &words[13]);
    words[14] = capture_bits(pmu, "cyc");
    capture_number(pmu, "max_nonturbo_ratio", 10, &words[15]);
    words[16] = length;
    if (known) {
        put64(to, 79 | (uint64_t) 56 << 48); /* TIME_CONV */
        put64(to, words[1]);
        put64(to, words[2]);
        put64(to, words[3]);
        put64(to, page->time_cycles);
        put64(to, page->time_mask);
        put64(to, 1 | (page->capabilities >> 5 & 1) << 8);
    }
    put64(to, 70
                  | (uint64_t) (16 + sizeof(words) + (length ? padded : 0) + 8)
                        << 48);
    put64(to, 1);
    for (i = 0; i < 17; i++)
        put64(to, words[i]);
    if (length)
        put_text(to, filter);
    put64(to, cap(pmu, "event_trace"));
}

#else

typedef int capture_unused; /* C wants something in a file */

#endif
