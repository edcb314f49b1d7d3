/* specimen.h: the program that ptcapture --selftest records: an ELF file
 * without a library, what single-stepping finds that it executes, and what it
 * counts itself. Linux on x86-64.
 *
 *     specimen_write("folder/program");
 *     specimen_step("folder/program", 0, &run);
 *
 * It calls functions directly and not, in a row that does not repeat, more
 * than 64 deep, and by jumps; has REP, system calls, threads and, with the
 * argument 1 instead of 0, PTWRITE. Which way it goes depends on that alone.
 * It writes what it counted to descriptor 3.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SPECIMEN_H
#define SPECIMEN_H
#include <stddef.h>
#include <stdint.h>

#define SPECIMEN_RUNS  4u                  /* threads, the first one included */
#define SPECIMEN_MAGIC 0x6e656d6963657073u /* "specimen" */
#define SPECIMEN_BASE  0x401000u           /* where its code is */
#define SPECIMEN_PTW   0x5eed000000000000u /* the n-th PTWRITE's operand is */
                                           /* this and n */

/* Functions of which calls are counted. */
enum {
    SPECIMEN_ADD,
    SPECIMEN_TAKE,
    SPECIMEN_CALL,
    SPECIMEN_JUMP,
    SPECIMEN_LEAF,
    SPECIMEN_DEEP,
    SPECIMEN_SAY,
    SPECIMEN_COUNTED
};

/* What it writes. The clock is CLOCK_MONOTONIC_RAW, seconds and nanoseconds,
 * near the begin and the end. */
typedef struct specimen_report {
    uint64_t magic;
    uint64_t clock[2][2];
    uint64_t unused[27];
    uint64_t calls[SPECIMEN_RUNS][8]; /* by thread and function */
} specimen_report;

/* Addresses in it. */
typedef struct specimen_places {
    uint64_t end;   /* of its code */
    uint64_t clock; /* the SYSCALL that reads the clock */
    uint64_t ptwrite;
    uint64_t function[SPECIMEN_COUNTED]; /* they begin, in this order; */
    uint64_t after[SPECIMEN_COUNTED];    /* the next one does */
} specimen_places;

/* What a thread executed. */
typedef struct specimen_list {
    uint64_t *ips;
    size_t count;
    size_t room;
} specimen_list;

typedef struct specimen_run {
    specimen_list list[SPECIMEN_RUNS];
    size_t count;
    specimen_report report;
} specimen_run;

void specimen_places_get(specimen_places *places);

/* The bytes at an address of its code; NULL outside of it. */
const uint8_t *specimen_code(uint64_t ip, size_t *left);

/* Create the file, executable. 0; -1 with errno. */
int specimen_write(const char *path);

/* Run it under ptrace. 0; -1 with errno. Free the lists. */
int specimen_step(const char *path, int ptwrite, specimen_run *run);

/* Add an address. 0; -1 without memory. */
int specimen_add(specimen_list *list, uint64_t ip);

#endif /* SPECIMEN_H */
