/* rewrite.c: writes functions, runs them, and writes others in their place. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef unsigned (*function)(unsigned);

/* mov eax, edi; n times one of three operations; ret */
static function make(uint8_t *p, unsigned seed)
{
    static const uint8_t parts[4][6] = {{0x05, 1, 2, 3, 4, 0},     /* add */
                                        {0x35, 5, 6, 7, 0, 0},     /* xor */
                                        {0xd1, 0xc0, 0x90, 0x75, 0, 0x90},
                                        {0xa8, 1, 0x74, 1, 0x40, 0x90}};
    static const uint8_t sizes[4] = {5, 5, 6, 6};
    const function f = (function) (uintptr_t) p;
    unsigned i;

    *p++ = 0x89;
    *p++ = 0xf8;
    for (i = 0; i < 3 + seed % 5; i++) {
        const unsigned k = (seed >> 2 * i) % 4;
        memcpy(p, parts[k], sizes[k]);
        p += sizes[k];
    }
    *p = 0xc3;
    return f;
}

int main(void)
{
    uint8_t *code = (uint8_t *) mmap(NULL, 4096,
                                     PROT_READ | PROT_WRITE | PROT_EXEC,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned x = 1;
    unsigned i;
    unsigned j;

    for (i = 0; i < 2000; i++) {
        const function f = make(code + i % 3 * 32, i * 2654435761u >> 7);
        for (j = 0; j < 20; j++)
            x += f(x + j);
    }
    printf("%u\n", x);
    return 0;
}
