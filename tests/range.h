/* range.h: code in one piece, for callbacks of ipt_config.read. */
#ifndef IPT_TESTS_RANGE_H
#define IPT_TESTS_RANGE_H
#include <stdint.h>
#include <string.h>

/* What is at ip of the `n` bytes of code that begin at `base`. Returns how many
 * were copied; 0: ip is somewhere else. */
static inline int range_read(uint8_t *buffer, size_t size, uint64_t ip,
                             uint64_t base, const void *code, size_t n)
{
    if (ip - base >= n)
        return 0;
    n -= (size_t) (ip - base);
    if (n > size)
        n = size;
    memcpy(buffer, (const uint8_t *) code + (ip - base), n);
    return (int) n;
}
#endif /* IPT_TESTS_RANGE_H */
