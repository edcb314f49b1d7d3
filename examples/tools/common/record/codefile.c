/* codefile.c: see codefile.h.
 *
 * SPDX-License-Identifier: MIT */
#include "codefile.h"
#include <stdio.h>

uint64_t codefile_put(const char *path, uint64_t *size, uint64_t at,
                      const uint8_t *page)
{
    static const uint8_t head[CODEFILE_PAGE] = {
        0x7f, 'E', 'L', 'F', 2,  1, 1, 0,  0,
        0,    0,   0,   0,   0,  0, 0, 3,  /* ET_DYN */ 0,
        62,   0,   1,   0,   0,  0, 0, 0,  0,
        0,    0,   0,   0,   0,  0, 0, 0,  0,
        0,    0,   0,   0,   0,  0, 0, 0,  0,
        0,    0,   0,   0,   0,  0, 0, 64, 0,
        56,   0,   0,   0,   64, 0, 0, 0,  0,
        0};
    FILE *const f = fopen(path, *size ? "r+b" : "wb");
    size_t n = 1;
    if (!f) return 0;
    if (*size == 0) {
        n = fwrite(head, sizeof head, 1, f);
        *size = sizeof head;
    }
    if (at == 0) {
        at = *size;
        *size += CODEFILE_PAGE;
    }
    if (fseek(f, (long) at, SEEK_SET)) n = 0;
    n &= fwrite(page, CODEFILE_PAGE, 1, f);
    return fclose(f) == 0 && n ? at : 0;
}
