/* elffile.h: ELF files from hostile places, for libelf.
 *
 * libelf and libdw unpack a compressed section when they are asked for what is
 * in it: a file of 1 MB can make 1 GB.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ELFFILE_H
#define ELFFILE_H
#include <stddef.h>

struct Elf;

/* Open a file by its descriptor, or one in memory, which has to stay writable.
 * NULL: it is not an ELF file; a section would unpack to more than 16 MiB and
 * more than 32 times its size; or a table of symbols or strings is
 * compressed. */
struct Elf *elffile_open(int fd);
struct Elf *elffile_memory(char *bytes, size_t size);

#endif /* ELFFILE_H */
