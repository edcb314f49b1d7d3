/* kallsyms.h: addresses of the kernel's symbols, as /proc/kallsyms lists them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef KALLSYMS_H
#define KALLSYMS_H
#include <stdint.h>

/* The address of a symbol in a copy of /proc/kallsyms; 0 if it does not say, as
 * it does not to those who may not know. */
uint64_t kallsyms_find(const char *path, const char *symbol);

#endif /* KALLSYMS_H */
