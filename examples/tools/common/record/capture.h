/* capture.h: Intel PT by perf_event_open: what /sys says about it, events and
 * their rings, and what already runs, from /proc. Linux on x86-64.
 *
 *     capture_pmu pmu;
 *     capture c;
 *     if (capture_find(&pmu, "") < 0 || capture_open(&c, &config) < 0) ...
 *     capture_process(&c, &made_up, pid);
 *     capture_enable(&c);
 *     while (...) { poll(...); capture_drain(&c, ring, file, 1); }
 *     capture_disable(&c);
 *
 * SPDX-License-Identifier: MIT */
#ifndef CAPTURE_H
#define CAPTURE_H
#include "capfile.h"
#include <sys/types.h>

typedef struct capture_pmu {
    char folder[256]; /* in /sys */
    uint32_t type;
} capture_pmu;

/* A place in a program that is to be noticed. */
typedef struct capture_trigger {
    const char *file;
    uint64_t offset;  /* in it */
    uint64_t address; /* in memory; 0: not known */
} capture_trigger;

typedef struct capture_config {
    const capture_pmu *pmu;
    uint64_t pt;       /* attr.config */
    const pid_t *tids; /* threads; none: everything */
    size_t tid_count;
    const int *cpus; /* none: rings are by thread */
    size_t cpu_count;
    size_t data_size; /* bytes of a ring; powers of two */
    size_t aux_size;
    const char *filter; /* for the kernel; NULL: none */
    const char *root;   /* in front of /proc; "" */
    const capture_trigger *trigger; /* NULL: none */
    uint8_t kernel;
    uint8_t user;
    uint8_t overwrite; /* AUX: the ring's last bytes are kept */
    uint8_t on_exec;   /* begins with the thread's next exec */
} capture_config;

enum { /* events of a file */
       CAPTURE_PT,
       CAPTURE_SWITCH,  /* who runs on the processors */
       CAPTURE_PROCESS, /* and their mappings */
       CAPTURE_KERNEL,  /* changes of its code */
       CAPTURE_TRIGGER, /* a place was executed */
       CAPTURE_EVENTS };

enum { /* what failed */
       CAPTURE_NO_MEMORY,
       CAPTURE_OPEN_PT,
       CAPTURE_OPEN_SIDEBAND,
       CAPTURE_MAP_DATA,
       CAPTURE_MAP_AUX,
       CAPTURE_FILTER,
       CAPTURE_OPEN_TRIGGER };

typedef struct capture_ring {
    int cpu; /* -1: any */
    pid_t tid; /* -1: any */
    int *pt; /* descriptors of PT events: one for each thread */
    size_t pt_count;
    void *page; /* struct perf_event_mmap_page */
    const uint8_t *aux;
    uint64_t at;     /* what has been read of AUX */
    uint8_t wrapped; /* CAPTURE overwrite: it was full once */
} capture_ring;

typedef struct capture_losses {
    uint64_t records;   /* of LOST */
    uint64_t truncated; /* AUX records with such a flag */
    uint64_t partial;
    uint64_t collisions;
} capture_losses;

typedef struct capture {
    capture_config config;
    capfile_event events[CAPTURE_EVENTS]; /* those that are used */
    size_t event_count;
    uint8_t switches; /* 0: none, 2: of the threads only, 3: of all */
    capture_ring *rings;
    size_t ring_count;
    int *others; /* descriptors that are not PT */
    size_t other_count;
    size_t other_room;
    uint8_t *buffer; /* of a ring's size */
    capture_losses losses;
    size_t trigger;     /* which event it is; SIZE_MAX: there is none */
    uint8_t is_break;   /* it is a breakpoint, not a uprobe */
    uint8_t pauses;     /* the kernel ends trace there */
    uint64_t triggered; /* how often it was there */
    int failed; /* CAPTURE_..., if capture_open failed */
} capture;

typedef struct capture_text { /* records, or lines */
    uint8_t *at;
    size_t size;
    size_t room;
    int failed; /* no memory */
} capture_text;

/* -1: there is no intel_pt. */
int capture_find(capture_pmu *pmu, const char *root);

/* A file of a capability; 0 if it is not there. `base` of its number. */
int capture_number(const capture_pmu *pmu, const char *name, int base,
                   uint64_t *value);

/* The bits of attr.config with that name; 0: none. */
uint64_t capture_bits(const capture_pmu *pmu, const char *name);

/* The configuration that perf has if none is asked for. */
uint64_t capture_default(const capture_pmu *pmu);

/* Opens events and maps rings. Returns 0; -1 with errno and c->failed. In
 * either case capture_close has to be called. */
int capture_open(capture *c, const capture_config *config);
void capture_close(capture *c);

/* Begin, unless an exec does; end. */
void capture_enable(const capture *c);
void capture_disable(const capture *c);

/* The trigger strikes no more. */
void capture_end_trigger(const capture *c);

/* Move a ring's records to the file, and the trace of one that is not
 * overwritten. live: it goes on. Not two threads at once. */
void capture_drain(capture *c, size_t ring, capfile *f, int live);

/* Write what an overwritten ring has. live: tracing goes on. */
void capture_snapshot(capture *c, size_t ring, capfile *f, int live);

/* ---- records made up ---- */

/* TIME_CONV and AUXTRACE_INFO. */
void capture_info(const capture *c, capture_text *to);

/* A process, with its threads and mappings; no_maps: without them. */
void capture_process(const capture *c, capture_text *to, pid_t pid,
                     int no_maps);
void capture_all_processes(const capture *c, capture_text *to);

/* The kernel and its modules, if /proc says where they are. */
void capture_kernel(const capture *c, capture_text *to);

/* The threads of a process; the number of them, or 0. */
size_t capture_threads(const char *root, pid_t pid, pid_t **tids);

/* A line of text for a record, "GenuineIntel,6,94,3"; 0 if there is none. */
int capture_cpuid(char *to, size_t size);

#endif /* CAPTURE_H */
