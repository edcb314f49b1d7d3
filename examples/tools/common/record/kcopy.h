/* kcopy.h: a copy of the kernel's code: kcore, kallsyms and modules, as
 * perf record --kcore makes it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef KCOPY_H
#define KCOPY_H

typedef struct kcopy { /* descriptors, opened while there are rights */
    int kcore;
    int kallsyms;
    int modules;
} kcopy;

/* All of a text, with a zero; NULL with errno. Files of /proc do not say how
 * long they are. */
char *kcopy_text(int fd);

/* root: in front of /proc. 0; -1 with errno. */
int kcopy_open(kcopy *k, const char *root);

/* Write the three files to a folder, and close. 0; -1 with errno: ENXIO if
 * kallsyms does not say where the kernel is. */
int kcopy_write(kcopy *k, const char *folder);

#endif /* KCOPY_H */
