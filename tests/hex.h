/* hex.h: bytes written as text. */
#ifndef IPT_HEX_H
#define IPT_HEX_H
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

/* Bytes from pairs of hex digits; what is none is skipped. Returns how many. */
static inline size_t unhex(uint8_t *out, const char *text)
{
    size_t n = 0;

    while (*text) {
        char digits[3] = {text[0], text[1], 0};
        if (isxdigit((unsigned char) *text) && text[1]) {
            out[n++] = (uint8_t) strtoul(digits, NULL, 16);
            text++;
        }
        text++;
    }
    return n;
}
#endif /* IPT_HEX_H */
