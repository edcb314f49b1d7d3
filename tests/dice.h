/* dice.h: numbers at random, the same in each run. */
#ifndef IPT_DICE_H
#define IPT_DICE_H
#include <stdint.h>

static uint64_t seed = 1;

/* The next state, whose upper bits are the better ones. */
static inline uint64_t dice_next(uint64_t *n)
{
    *n = *n * 6364136223846793005u + 1442695040888963407u;
    return *n;
}

/* Below n. */
static inline unsigned dice(unsigned n)
{
    return (unsigned) (dice_next(&seed) >> 33) % n;
}

/* 24 bits from a state of the caller's: what inputs of fuzzers stand for. */
static inline uint32_t dice_24(uint32_t *n)
{
    *n = *n * 1664525u + 1013904223u;
    return *n >> 8;
}

/* 64 bits. */
static inline uint64_t dice_bits(void)
{
    const uint64_t high = dice_next(&seed);

    return high ^ dice_next(&seed) >> 32;
}
#endif /* IPT_DICE_H */
