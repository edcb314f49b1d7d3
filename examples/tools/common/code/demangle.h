/* demangle.h: names of C++ and Rust functions as their source has them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMMON_DEMANGLE_H
#define COMMON_DEMANGLE_H

enum { DEMANGLE_NAME, DEMANGLE_TYPES, DEMANGLE_RESULT };

/* How much: the name, with its parameters' types, with its result's, too. What
 * the compiler added, .cold say, stays at the end. Allocated; NULL: it is not
 * mangled, libiberty is missing, or there is no memory. */
char *demangle(const char *name, int much);

#endif /* COMMON_DEMANGLE_H */
