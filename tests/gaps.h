/* gaps.h: what a gap counts for in stream offsets, see ipt_segment. */
#ifndef IPT_TESTS_GAPS_H
#define IPT_TESTS_GAPS_H
#include <stdint.h>

/* One of `size` bytes that begins at stream offset `at`. */
static inline uint64_t gap_counts(uint64_t at, uint64_t size)
{
    const uint64_t limit = (uint64_t) 1 << 63;

    if (at >= limit)
        return 1;
    return size < limit - at ? size : limit - at;
}

#endif /* IPT_TESTS_GAPS_H */
