/* dice.h: numbers at random, the same in each run. */
#ifndef IPT_DICE_H
#define IPT_DICE_H
#include <stdint.h>

static uint64_t seed = 1;

static inline unsigned dice(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (seed >> 33) % n;
}
#endif /* IPT_DICE_H */
