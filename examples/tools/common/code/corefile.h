/* corefile.h: what a core file says of the threads of a process that died.
 *
 *     status = corefile_read(&core, &args, name);
 *     t = corefile_thread(&core, tid);   // or NULL
 *     corefile_free(&core);
 *
 * The file is hostile.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COREFILE_H
#define COREFILE_H
#include "tool.h"

typedef struct corefile_one {
    uint32_t tid;
    uint32_t signal;  /* it died of; 0: the process died of another thread's */
    uint64_t ip;
    uint64_t address; /* that it accessed, ... */
    uint8_t has_address; /* ... if the signal says one */
} corefile_one;

typedef struct corefile {
    corefile_one *list;
    size_t count;
} corefile;

/* 0, or the exit status with a message. */
int corefile_read(corefile *c, const tool_args *args, const char *name);
const corefile_one *corefile_thread(const corefile *c, uint32_t tid);
void corefile_free(corefile *c);

/* SIGSEGV; "signal" for others that have no name here. */
const char *corefile_signal(uint32_t number);

#endif /* COREFILE_H */
