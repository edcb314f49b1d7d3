/* parts.c: functions of which the compiler puts parts elsewhere: f.cold, and one
 * called g.part.0, as it calls what is left of a function that it inlines. */
static volatile int total;

__attribute__((cold, noinline)) void fail(int x)
{
    total += x;
}

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

APART int f(int x)
{
    if (x % 10 == 7) {
        fail(x);
        total ^= 3;
    }
    return x * 2;
}

APART static int rest(int x) __asm__("g.part.0");
static int rest(int x)
{
    total += x;
    return x > 3 ? f(x - 3) : 0;
}

APART int g(int x)
{
    return x ? rest(x) + 1 : 0;
}

APART int inlined(int x)
{
    return x ? rest(x) + 2 : 0;
}

int main(void)
{
    for (int i = 0; i < 60; i++)
        total += f(i) + g(i % 3) + inlined(i % 4) + g(i);
    return 0;
}
