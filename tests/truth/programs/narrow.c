/* narrow.c: 32-bit code without a C library: gcc -m32 -nostdlib -static. */
static unsigned table[512];

static int sys(int number, int a, int b, int c)
{
    int result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c)
                     : "memory");
    return result;
}

static unsigned collatz(unsigned n)
{
    return n < 2 ? 0 : 1 + collatz(n & 1 ? 3 * n + 1 : n / 2);
}

static unsigned add(unsigned x) { return x + 3; }
static unsigned twice(unsigned x) { return x * 2; }
static unsigned swap(unsigned x) { return x << 16 | x >> 16; }
static unsigned (*volatile functions[3])(unsigned) = {add, twice, swap};

void _start(void)
{
    unsigned i;
    unsigned j;

    for (i = 0; i < 512; i++)
        table[i] = functions[i % 3](collatz(i + 1) * 2654435761u);
    for (i = 1; i < 512; i++) {
        const unsigned x = table[i];
        for (j = i; j > 0 && table[j - 1] > x; j--)
            table[j] = table[j - 1];
        table[j] = x;
        if (i % 50 == 0)
            sys(4, 1, (int) "narrow\n", 7);
    }
    sys(1, 0, 0, 0);
}
