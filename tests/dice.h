/* dice.h: numbers at random, the same in each run. */
#ifndef IPT_DICE_H
#define IPT_DICE_H
#include <stdint.h>

static uint64_t dice_state = 1;

static inline uint32_t roll(uint32_t below)
{
    dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (dice_state >> 33) % below;
}
#endif /* IPT_DICE_H */
