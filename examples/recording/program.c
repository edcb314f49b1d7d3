/* program.c: what the recording in this folder is of. It needs no libc, so that
 * the recording is small. Made with
 *
 *     cc -O1 -nostdlib -static -fno-stack-protector -fcf-protection=none \
 *        -o program program.c
 *     ptrecord -o . ./program
 *
 * and `maps` edited to name the program without its folder. */

static long call_kernel(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static int __attribute__((noinline)) ascending(int a, int b)
{
    return a < b;
}

static int __attribute__((noinline)) descending(int a, int b)
{
    return a > b;
}

static void __attribute__((noinline)) sort(int *v, int n, int (*less)(int, int))
{
    int i;
    int j;

    for (i = 1; i < n; i++)
        for (j = i; j > 0 && less(v[j], v[j - 1]); j--) {
            int t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
}

static int __attribute__((noinline)) fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int __attribute__((noinline)) print(int number)
{
    char text[12];
    int i = sizeof(text);

    text[--i] = '\n';
    do {
        text[--i] = (char) ('0' + number % 10);
        number /= 10;
    } while (number);
    return (int) call_kernel(1, 1, (long) (text + i), (long) sizeof(text) - i);
}

static int numbers[24];

__attribute__((noinline)) int run(void)
{
    unsigned seed = 1;
    int i;

    for (i = 0; i < 24; i++) {
        seed = seed * 1103515245u + 12345u;
        numbers[i] = (int) (seed >> 16 & 1023);
    }
    sort(numbers, 24, ascending);
    print(numbers[0]);
    sort(numbers, 24, descending);
    print(numbers[0]);
    print(fibonacci(9));
    return 0;
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    call_kernel(231, run(), 0, 0); /* exit_group */
}
