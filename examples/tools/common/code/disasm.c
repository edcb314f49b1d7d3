/* disasm.c: see disasm.h.
 *
 * SPDX-License-Identifier: MIT */
#include "disasm.h"
#include "ipt.h"

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#include "zydis_glue/ipt_zydis.h"
#define DISASM_ZYDIS
#endif
#endif

int disasm_text(char text[DISASM_MAX], const uint8_t *bytes, size_t size,
                uint8_t mode, uint64_t ip)
{
    *text = 0;
#ifdef DISASM_ZYDIS
    return ipt_zydis_format(text, DISASM_MAX, bytes, size, mode, ip, 0) ? -1 : 0;
#else
    (void) bytes, (void) size, (void) mode, (void) ip;
    return -1;
#endif
}

void disasm_bytes(char text[DISASM_MAX], const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (; n < size && n < 15; n++) {
        text[2 * n] = digits[bytes[n] >> 4];
        text[2 * n + 1] = digits[bytes[n] & 15];
    }
    text[2 * n] = 0;
}
