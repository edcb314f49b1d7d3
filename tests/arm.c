/* arm.c: what the compiler calls where a processor has no instruction for it,
 * next to this processor's instructions. */
#define __ARM_ARCH_6M__ 1
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../ipt.h"
#include "build.h"
#include "dice.h"

/* As often of a few bits, or of all but a few, as of any. */
static uint64_t number(void)
{
    const uint64_t value = dice_bits() >> dice(64);

    return dice(2) ? value : ~value;
}

TEST(arithmetic_of_halves)
{
    unsigned i;

    for (i = 0; i < 20000; i++) {
        const uint64_t a = number();
        const uint64_t b = number();
        const uint32_t n = (uint32_t) a;
        const uint32_t m = (uint32_t) b ? (uint32_t) b : 1;
        const int bits = (int) dice(64);

        CHECK_EQ(__aeabi_lmul(a, b), a * b);
        CHECK_EQ(__aeabi_llsl(a, bits), a << bits);
        CHECK_EQ(__aeabi_llsr(a, bits), a >> bits);
        CHECK_EQ(__aeabi_uidiv(n, m), n / m);
        CHECK_EQ(__aeabi_uidivmod(n, m), (uint64_t) (n % m) << 32 | n / m);
        CHECK_EQ(ipti_top(m), 63u ^ (unsigned) __builtin_clzll(m));
    }
}

int main(void)
{
    RUN(arithmetic_of_halves);
    return test_report();
}
