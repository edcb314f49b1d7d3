/* memory.h: the allocations of libipt fail where a test wants that.
 *
 * They come to memory.c: as malloc and so on, which a library takes from the
 * program; or, with sanitizers, whose names these are, as memory_malloc and so
 * on, for which our library is compiled then: MEMORY_RENAMED.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MEMORY_H
#define MEMORY_H

extern int memory_counting;          /* the rest is of the time while this is */
extern unsigned long memory_asked;   /* allocations */
extern unsigned long memory_fail_at; /* the one that fails; 0: none */
extern int memory_fail_on;           /* all after it fail, too */
extern long memory_living;           /* blocks; 0 with MEMORY_RENAMED */

#endif /* MEMORY_H */
