/* start.c: a Cortex-M3 board (Arm's MPS2 with AN385: 4 MiB of code memory at 0,
 * 4 MiB of RAM at 0x20000000). It talks by semihosting, so a debugger or qemu
 * has to listen. Unaligned accesses are made to fault, as on smaller cores.
 *
 * SPDX-License-Identifier: MIT */
#include "decode.h"

#define STACK 4096u /* as large again below it, to notice if it is too small */
#define PAINT 0xa5u

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18 };
#define EXIT_GOOD 0x20026u /* ADP_Stopped_ApplicationExit */
#define EXIT_BAD 0x20023u  /* ADP_Stopped_RunTimeErrorUnknown */

extern uint8_t __bss_start__[]; /* from the linker */
extern uint8_t __bss_end__[];

static uint8_t stack[2 * STACK] __attribute__((aligned(8)));
static void reset(void);
static void fault(void);

/* What the processor reads first. */
typedef struct vectors {
    uint8_t *stack;
    void (*handler[15])(void);
} vectors;
extern const vectors table;
const vectors table __attribute__((section(".vectors"), used)) = {
    stack + sizeof(stack),
    {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, 0, 0, fault,
     fault}};

static void host(uint32_t call, uint32_t argument)
{
    register uint32_t r0 __asm__("r0") = call;
    register uint32_t r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(const char *text)
{
    host(SYS_WRITE0, (uint32_t) text);
}

static void fault(void)
{
    print("fault\n");
    host(SYS_EXIT, EXIT_BAD);
    for (;;)
        ;
}

static void reset(void)
{
    static char line[DECODE_LINE];
    static char text[] = "\nstack: .... bytes of 4096\n";
    volatile uint32_t *control = (volatile uint32_t *) 0xe000ed14u;
    volatile uint8_t *p;
    uint32_t untouched = 0;
    uint32_t n;
    int bad;
    int i;

    for (p = __bss_start__; p < __bss_end__; p++)
        *p = 0;
    for (n = 0; n < sizeof(stack) - 256; n++) /* this function is on the rest */
        ((volatile uint8_t *) stack)[n] = PAINT;
    *control |= 8; /* UNALIGN_TRP */

    bad = decode(line);
    while (untouched < sizeof(stack) &&
           ((volatile uint8_t *) stack)[untouched] == PAINT)
        untouched++;
    n = (uint32_t) sizeof(stack) - untouched;
    if (n >= STACK)
        bad = 1;
    print(line);
    for (i = 11; i > 7; n /= 10)
        text[i--] = (char) ('0' + n % 10);
    print(text);
    host(SYS_EXIT, bad ? EXIT_BAD : EXIT_GOOD);
    for (;;)
        ;
}
