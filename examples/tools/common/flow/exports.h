/* exports.h: what other people's tools read of what ran: profiles for compilers
 * and linkers, coverage.
 *
 *     ranges_sort(&r);
 *     status = exports_write(EXPORTS_BOLT, "program.bolt", &r, &choice);
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXPORTS_H
#define EXPORTS_H
#include "ranges.h"

typedef enum exports_kind {
    EXPORTS_BOLT,    /* perf2bolt's pre-aggregated form: of one file */
    EXPORTS_AUTOFDO, /* create_llvm_prof's text profile: of one file */
    EXPORTS_LCOV,    /* how often lines were executed: of all files, or one */
    EXPORTS_DRCOV,   /* which code was */
    EXPORTS_KINDS
} exports_kind;

/* Which files. */
typedef struct exports_choice {
    session *of;     /* its threads have names, and its files lines */
    const char *dso; /* a file, with folders or without; or NULL: all, or the one
                        that is called as a thread is, or the only one */
} exports_choice;

/* The option that asks for it. */
const char *exports_option(exports_kind kind);

/* Write a file. 0, or the exit status with a message. */
int exports_write(exports_kind kind, const char *name, const ranges *r,
                  const exports_choice *choice);

#endif /* EXPORTS_H */
