/* plt.h: the stubs of an ELF file, through which it calls what is in other
 * files, or what is chosen when it starts.
 *
 * They are in .plt, .plt.sec, .plt.got and .iplt, and have no symbols. A stub
 * is known by the slot that it jumps through, and the slot by its relocation.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLT_H
#define PLT_H
#include <stddef.h>
#include <stdint.h>

typedef struct plt_stub {
    const char *name; /* of what it calls, in the file's strings; NULL: */
    uint64_t target;  /* the resolver at this address chooses that */
    uint64_t address;
    uint64_t size;
    uint64_t whole;   /* the stub whose second half this is, where the first
                         jumps until its slot is bound; or `address` */
} plt_stub;

#define PLT_MAX ((size_t) 1 << 20) /* stubs of a file */

/* The name of where all of them go at first. */
extern const char plt_head[];

/* The stubs of an ELF file (an Elf *): allocated, in no order; NULL: none. */
plt_stub *plt_read(void *elf, size_t *count);

#endif /* PLT_H */
