/* process.h: the code of a process that is traced with ptrace, as it is when it
 * is executed. Linux on x86-64.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROCESS_H
#define PROCESS_H
#include "machine.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_PAGE 4096u
#define PROCESS_BAD  0xff /* kind: no instruction, or not known to us */

/* An instruction, as found at an offset of a page. */
typedef struct process_code {
    int32_t displacement;
    uint8_t size; /* 0: not looked at yet */
    uint8_t kind; /* IPT_INSN_ or PROCESS_BAD */
    uint8_t rep;  /* REP string instruction */
    uint8_t cpuid;
} process_code;

typedef struct process_page {
    uint64_t base;
    uint64_t epoch;   /* when it was last seen to be unchanged */
    uint8_t mode;     /* that info was made for */
    uint8_t writable; /* by the program, without asking the kernel */
    uint8_t stale;    /* something else was mapped here */
    uint8_t was_kept; /* these two are the caller's, of `unfiled`: */
    uint64_t kept;    /* ... 0 when other code was mapped here */
    uint8_t bytes[PROCESS_PAGE];
    process_code info[PROCESS_PAGE];
} process_page;

/* A line of /proc/PID/maps. */
typedef struct process_region {
    uint64_t base;
    uint64_t end;
    uint64_t offset;
    uint64_t inode;
    uint32_t major;
    uint32_t minor;
    uint8_t writable;
    uint8_t used; /* code in it executed */
    uint8_t live; /* it is there now */
    uint8_t was_live;
    char *name; /* "" if it has none */
} process_region;

typedef struct process process;

typedef struct process_config {
    void (*fail)(const char *format, ...); /* does not return */

    /* A mapping was not there when the maps were read last; NULL: ignored. */
    void (*mapped)(process *p, const process_region *region);

    /* Code that no file has is about to run: a page that was read, or was read
     * again as there is more in it or it was mapped again. NULL: ignored. */
    void (*unfiled)(process *p, process_page *page);
} process_config;

struct process {
    const process_config *config;
    pid_t pid;
    void *context; /* these three are the caller's */
    uint32_t threads;
    uint64_t kept; /* of code that no file has */
    process_page **pages; /* hash table by base */
    size_t page_count;
    size_t page_slots; /* a power of two */
    process_page *last;
    uint64_t epoch; /* counts what may have changed code; the caller's */
    int maps_stale; /* regions have to be read again; the caller's, too */
    process_region *regions; /* executable ones, all that ever were */
    size_t region_count;
};

/* Read memory of a thread that is stopped; 0 if it cannot be read. */
int process_read(pid_t tid, uint64_t from, uint8_t *to, size_t size);

/* Read /proc/TID/maps. Those regions that are used are kept. */
void process_read_maps(process *p, pid_t tid);

/* The instruction at ip, or NULL if it cannot be read. */
const process_code *process_find(process *p, pid_t tid, uint64_t ip,
                                 uint8_t mode);

/* Forget all code and regions, as after an exec. */
void process_clear(process *p);

/* A copy of the regions, as after a fork. */
void process_copy_regions(process *p, const process *from);

#endif /* PROCESS_H */
