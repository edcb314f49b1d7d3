/* parts.c: functions of which parts are elsewhere, as compilers split them off:
 * f.cold, to which f jumps, and one called g.part.0, as it calls what is left of
 * a function that it inlines. Whether a compiler would is not left to it. */
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

int f(int x);
__asm__(".text\n"
        ".globl f\n"
        ".type f, @function\n"
        "f: pushq %rbx\n"
        "movl %edi, %ebx\n"
        "movl %edi, %eax\n"
        "movl $10, %ecx\n"
        "cltd\n"
        "idivl %ecx\n"
        "cmpl $7, %edx\n"
        "je f.cold\n"
        "0: leal (%rbx,%rbx), %eax\n"
        "popq %rbx\n"
        "ret\n"
        ".size f, . - f\n"
        ".section .text.unlikely, \"ax\", @progbits\n"
        ".type f.cold, @function\n"
        "f.cold: movl %ebx, %edi\n"
        "call fail\n"
        "jmp 0b\n"
        ".size f.cold, . - f.cold\n"
        ".text\n");

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
