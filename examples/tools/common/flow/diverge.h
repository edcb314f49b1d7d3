/* diverge.h: where threads of two recordings went different ways.
 *
 *     diverge_config config = {&args, names, dso, start, context};
 *     status = diverge_run(&config);     // prints it
 *
 * A thread's way is the branches that it took, each from a place in a file to
 * another. Both recordings are decoded twice: once for a sum of each so many
 * branches, then for those in which sums differ first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DIVERGE_H
#define DIVERGE_H
#include "session.h"

typedef struct diverge_config {
    const tool_args *args;
    const char *names[2];
    const char *dso; /* only branches from this file to itself count; or NULL */
    /* Begin a session of one of the two, 0 or 1, with the user's options, and
     * open it: 0, or the exit status. It is freed in each case. */
    int (*start)(session *s, const session_config *config, unsigned which,
                 void *context);
    void *context;
} diverge_config;

/* The exit status. */
int diverge_run(const diverge_config *config);

#endif /* DIVERGE_H */
