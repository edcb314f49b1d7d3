/* debuginfod.h: debug files from the servers in DEBUGINFOD_URLS, by elfutils'
 * client, libdebuginfod, which keeps them in a cache of its own.
 *
 * The library is loaded when it is asked for: it brings a dozen others that
 * nobody else needs, and what asks the network should be seen to do so.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H
#include "buildid.h"

/* Load the library: NULL, or why nobody can be asked. */
const char *debuginfod_start(void);

/* The debug file of a build: a file descriptor, or -1. What comes is as hostile
 * as any file. */
int debuginfod_fetch(const buildid *id);

#endif /* DEBUGINFOD_H */
