/* lldb.h: what LLDB writes (`trace save`): a trace for each thread or cpu, the
 * code of each process or of the kernel, and who had a cpu when, as trace.json
 * says; see `trace schema intel-pt` in lldb.
 *
 *     lldb_read(&args, &l, "trace.json");  // 0, or the exit status
 *     ...
 *     lldb_free(&l);
 *
 * The file is hostile: what is not understood in it is counted. Names in it are
 * relative to its folder; traces are there and no devices.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LLDB_H
#define LLDB_H
#include "../code/json.h"
#include "../code/tool.h"

typedef struct lldb_module {
    char *copy;       /* the name of a copy, allocated; or NULL */
    const char *path; /* where it was */
    uint64_t base;    /* its lowest address */
    uint32_t pid;
    uint8_t build_id_size; /* 0: not said */
    uint8_t build_id[20];
} lldb_module;

typedef struct lldb_trace {
    char *name;     /* of the file, allocated; NULL: it has none */
    char *switches; /* of that of a cpu's switches; or NULL */
    uint32_t cpu;
    uint32_t pid;   /* of a thread */
    uint32_t tid;
} lldb_trace;

typedef struct lldb {
    json text;
    lldb_module *modules; /* in the order of the file */
    size_t module_count;
    lldb_trace *threads;  /* those that are listed */
    size_t thread_count;
    lldb_trace *cpus;     /* not empty: traces are of these */
    size_t cpu_count;
    uint32_t process;     /* the only one; else 0 */
    char *kernel;         /* the name of its file, allocated; or NULL */
    uint64_t kernel_base;
    size_t bad;           /* what was not understood */
    tool_cpu cpu;
    uint8_t timed;        /* the clock is known: */
    uint16_t time_shift;
    uint32_t time_mult;
    uint64_t time_zero;
} lldb;

/* Also on failure free it. */
int lldb_read(const tool_args *args, lldb *l, const char *name);
void lldb_free(lldb *l);

/* Is it a regular file that can be read? */
int lldb_is_file(const char *name);

/* A thread had a cpu, up to or from a time. */
typedef struct lldb_switch {
    uint64_t time; /* ns */
    uint32_t pid;
    uint32_t tid;
    uint32_t other_pid; /* who comes next, or was there before */
    uint32_t other_tid;
    uint8_t is_out;
    uint8_t preempted;
} lldb_switch;

/* The next one in a file of them, from *at on: 1, or 0. */
int lldb_next(const tool_file *file, size_t *at, lldb_switch *s);

#endif /* LLDB_H */
