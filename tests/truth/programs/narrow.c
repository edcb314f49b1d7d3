/* narrow.c: 32-bit code without a C library: gcc -m32 -nostdlib -static. With
 * -m16, -DBASE=0x10000 and its text in the 64 KiB from there on it asks Linux
 * for a 16-bit code segment with that base, after six instructions runs in it,
 * and its addresses are relative to it. */
#ifndef BASE
#define BASE 0
#endif

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

typedef unsigned function(unsigned);

static function *volatile functions[3]
    = {(function *) ((char *) add - BASE), (function *) ((char *) twice - BASE),
       (function *) ((char *) swap - BASE)};

void begin(void);

void begin(void)
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

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* modify_ldt: write entry 0. Then into it, as the compiler has it. */
__asm__(".globl _start\n"
        ".code32\n"
        "_start:\n"
        ".if " TEXT(BASE) "\n"
        "movl $123, %eax\n"
        "movl $1, %ebx\n"
        "movl $segment, %ecx\n"
        "movl $16, %edx\n"
        "int $0x80\n"
        "ljmp $7, $begin - " TEXT(BASE) "\n"
        "segment: .long 0, " TEXT(BASE) ", 0xfffff, 0x54\n"
        ".code16gcc\n"
        ".else\n"
        "jmp begin\n"
        ".endif\n");
