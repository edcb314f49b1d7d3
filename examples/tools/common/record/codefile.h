/* codefile.h: a file for code that no other file has, page by page. It begins with
 * the header of an ELF file, which is all that perf looks at.
 *
 *     uint64_t size = 0;                       // of the file so far
 *     offset = codefile_put(path, &size, 0, page);
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODEFILE_H
#define CODEFILE_H
#include <stdint.h>

#define CODEFILE_PAGE 4096u

/* Write a page: where one was put before; or, with 0, after all others. With
 * *size 0 the file is made. Where the page is in it; 0, with errno: it could not
 * be written. */
uint64_t codefile_put(const char *path, uint64_t *size, uint64_t at,
                      const uint8_t *page);

#endif /* CODEFILE_H */
