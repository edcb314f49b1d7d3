/* perfwrite.h: a perf.data with Intel PT, as perf record writes it.
 *
 *     perfwrite *file = perfwrite_open("perf.data", &config);
 *     perfwrite_comm(file, &who, "ls", 1);
 *     perfwrite_mmap(file, &who, &map);
 *     perfwrite_trace(file, queue, &who, bytes, size);
 *     ...
 *     if (perfwrite_close(file)) perror("perf.data");
 *
 * There are three events: PT itself (identifier 1), one for switches (2) and
 * one for processes and their mappings (3). What cannot be written is
 * remembered: the functions return nothing, and perfwrite_close says it.
 *
 * Decoders want trace and records to fit together: see perfwrite_config.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PERFWRITE_H
#define PERFWRITE_H
#include <stddef.h>
#include <stdint.h>

#define PERFWRITE_PMU 8 /* the type of the PT event */

typedef struct perfwrite_config {
    uint64_t pt;        /* attr.config of PT: its bits of RTIT_CTL, and bit 0.
                         * perf wants those of TSC, MTC, its period, CYC and
                         * DisRETC to be as they were while tracing */
    uint64_t time_zero; /* ns = time_zero + (tsc * time_mult >> time_shift) */
    uint32_t time_mult;
    uint16_t time_shift;
    uint8_t timed;         /* 0: there is no time; then queues are by thread */
    uint8_t by_cpu;        /* queues are processors; 0: threads */
    uint8_t switches;      /* 1: there are perfwrite_switch records */
    uint8_t kernel;        /* 1: it is traced, too; then the file is `data` in
                            * a folder, which has its code in kcore_dir */
    uint8_t max_ratio;     /* TSC ticks in a cycle of the 100 MHz bus */
    uint32_t cpuid_15_eax; /* both 0 if unknown: then there is no MTC */
    uint32_t cpuid_15_ebx;
    uint16_t family; /* of the processor; 0: not said */
    uint16_t model;
    uint16_t stepping;
    uint32_t cpus;        /* how many the machine has; 0: not said */
    char *const *command; /* what was recorded, up to a NULL; NULL: not said */
} perfwrite_config;

/* Whom a record is about, and when and where it was written. */
typedef struct perfwrite_who {
    uint32_t pid;
    uint32_t tid;
    uint32_t cpu;  /* by CPU only */
    uint64_t time; /* ns; 0: before everything */
} perfwrite_who;

typedef struct perfwrite_map {
    uint64_t base;
    uint64_t size;
    uint64_t offset; /* bytes into the file */
    uint64_t inode;
    uint32_t major; /* of the device; both as stat() has them */
    uint32_t minor;
    uint32_t prot;  /* PROT_ */
    uint32_t flags; /* MAP_ */
    uint8_t build_id[20];
    uint8_t build_id_size; /* not 0: it stands instead of device and inode */
    const char *name;
} perfwrite_map;

/* Flags of perfwrite_aux. */
#define PERFWRITE_TRUNCATED 1u /* trace is lost here */
#define PERFWRITE_OVERWRITE 2u
#define PERFWRITE_PARTIAL   4u
#define PERFWRITE_COLLISION 8u

typedef struct perfwrite perfwrite;

/* Returns NULL, with errno, if the file cannot be created. */
perfwrite *perfwrite_open(const char *path, const perfwrite_config *config);

void perfwrite_comm(perfwrite *w, const perfwrite_who *who, const char *name,
                    int exec);
void perfwrite_mmap(perfwrite *w, const perfwrite_who *who,
                    const perfwrite_map *map);

/* The kernel's code is there: the symbol _text is its first byte. */
void perfwrite_kernel(perfwrite *w, uint64_t base, uint64_t size);

/* A thread or process begins, made by `who`; or `who` ends. */
void perfwrite_fork(perfwrite *w, const perfwrite_who *who, uint32_t pid,
                    uint32_t tid);
void perfwrite_exit(perfwrite *w, const perfwrite_who *who);

/* PT begins to trace `who`. */
void perfwrite_start(perfwrite *w, const perfwrite_who *who);

/* `who` leaves its processor to the thread `next`, or comes after it; 0 and 0
 * is the idle task. preempted: it could have run on. */
void perfwrite_switch(perfwrite *w, const perfwrite_who *who, int out,
                      int preempted, uint32_t next_pid, uint32_t next_tid);

/* Trace of a queue: a processor, or a thread numbered from 0, whose `who` is
 * always the same. It is written in pieces that end between packets, because
 * perf joins no packets. Bytes are kept until there are enough of them. */
void perfwrite_trace(perfwrite *w, uint32_t queue, const perfwrite_who *who,
                     const uint8_t *bytes, size_t size);

/* All trace of the queue so far was made by now: an AUX record. If flags say
 * that some is lost, what is kept is written, and a new piece begins. */
void perfwrite_aux(perfwrite *w, uint32_t queue, const perfwrite_who *who,
                   unsigned flags);

/* No later record is older than any that stood before the call before this. */
void perfwrite_round(perfwrite *w);

/* Bytes of records and trace so far. */
uint64_t perfwrite_size(const perfwrite *w);

/* Write the rest and close. Returns 0; -1, with errno, if anything could not be
 * written. NULL is allowed. */
int perfwrite_close(perfwrite *w);

#endif /* PERFWRITE_H */
