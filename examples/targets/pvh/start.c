/* start.c: no OS at all. An ELF file with a PVH entry (Xen's boot protocol,
 * which qemu -kernel, Xen and Firecracker speak): entered in 32-bit mode, it
 * maps 1 GiB one to one, turns to 64-bit mode and has 4 KiB of stack. What it
 * has to say goes to the first serial port; its exit is qemu's isa-debug-exit.
 *
 * SPDX-License-Identifier: MIT */
#include "decode.h"

#define STACK 4096u /* as large again below it, to notice if it is too small */
#define PAINT 0xa5u

/* Names that only the code below uses. */
uint8_t stack[2 * STACK] __attribute__((aligned(4096)));
uint64_t tables[3][512] __attribute__((aligned(4096)));
void start(void);

__asm__(".pushsection .note.pvh, \"a\", @note\n"
        "    .long 4, 4, 18\n" /* XEN_ELFNOTE_PHYS32_ENTRY */
        "    .asciz \"Xen\"\n"
        "    .long entry\n"
        ".popsection\n"
        ".pushsection .text\n"
        ".code32\n"
        "entry:\n"
        "    movl $tables + 0x1003, tables\n" /* present, writable */
        "    movl $tables + 0x2003, tables + 0x1000\n"
        "    movl $0x83, %eax\n" /* ... and 2 MiB large */
        "    xorl %ecx, %ecx\n"
        "1:  movl %eax, tables + 0x2000(, %ecx, 8)\n"
        "    addl $0x200000, %eax\n"
        "    incl %ecx\n"
        "    cmpl $512, %ecx\n"
        "    jne 1b\n"
        "    movl $tables, %eax\n"
        "    movl %eax, %cr3\n"
        "    movl %cr4, %eax\n"
        "    orl $0x20, %eax\n" /* PAE */
        "    movl %eax, %cr4\n"
        "    movl $0xc0000080, %ecx\n" /* EFER.LME */
        "    rdmsr\n"
        "    orl $0x100, %eax\n"
        "    wrmsr\n"
        "    movl %cr0, %eax\n"
        "    orl $0x80000000, %eax\n" /* PG */
        "    movl %eax, %cr0\n"
        "    lgdt gdt_pointer\n"
        "    ljmp $8, $2f\n"
        ".code64\n"
        "2:  movl $stack, %edi\n" /* paint the stack */
        "    movl $8192, %ecx\n"
        "    movb $0xa5, %al\n"
        "    rep stosb\n"
        "    leaq stack + 8192, %rsp\n"
        "    call start\n"
        "gdt: .quad 0, 0x00af9a000000ffff\n" /* 64-bit code */
        "gdt_pointer: .word 15\n"
        "    .long gdt\n"
        ".popsection\n");

static void out(uint16_t port, uint8_t byte)
{
    __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

static uint8_t in(uint16_t port)
{
    uint8_t byte;

    __asm__ volatile("inb %1, %0" : "=a"(byte) : "Nd"(port));
    return byte;
}

static void print(const char *text)
{
    for (; *text; text++) {
        while (!(in(0x3fd) & 0x20)) /* until it can take a byte */
            ;
        out(0x3f8, (uint8_t) *text);
    }
}

void start(void)
{
    static char line[DECODE_LINE];
    static char used[] = "stack: .... bytes of 4096\n";
    int bad = decode(line);
    unsigned untouched = 0;
    unsigned n;
    unsigned i;

    print(line);
    print("\n");
    while (untouched < sizeof(stack) && stack[untouched] == PAINT)
        untouched++;
    n = (unsigned) sizeof(stack) - untouched;
    if (n >= STACK)
        bad = 1;
    for (i = 10; i > 6; n /= 10)
        used[i--] = (char) ('0' + n % 10);
    print(used);
    out(0xf4, bad ? 1 : 0); /* qemu's status: twice that, plus 1 */
    for (;;)
        ;
}
