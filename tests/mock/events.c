/* events.c FILE CODE SEED: write a perf.data, as perfwrite does, whose trace has
 * values, states of power and of the clock, and PEBS records, chosen by a number;
 * and its code. What is in it perf and ptflow say in their words: tests/perf.sh.
 *
 * The third event is said to put its records out through PT, with all that such a
 * record may have. A tick of the TSC is 2 ns; the clock began at 1000 ns. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "examples/tools/common/perf/perfwrite.c"
#include "tests/dice.h"
#include <stdlib.h>
#include <sys/mman.h>

#define BASE  0x401000u
#define COUNT 400u /* things that happen */

static uint8_t trace[1 << 18];
static size_t size;
static uint64_t now = 1000;

static void number(unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        trace[size++] = (uint8_t) (value >> 8 * i);
}

static void ext(uint8_t opcode)
{
    number(1, 2);
    number(1, opcode);
}

static void tsc(void)
{
    now += 1 + dice(1000);
    number(1, 0x19);
    number(7, now);
}

static void cbr(void)
{
    ext(0x03);
    number(2, 1 + dice(60));
}

static void address(uint8_t opcode, uint64_t ip) /* six bytes of it */
{
    number(1, opcode | 3u << 5);
    number(6, ip);
}

static void item(unsigned id, uint64_t value)
{
    number(1, id << 3 | 4);
    number(8, value);
    if (dice(20) == 0) cbr(); /* what may stand between them */
}

static void block(unsigned group)
{
    ext(0x63);
    number(1, group);
}

static uint64_t value(void)
{
    return dice_bits() >> dice(64);
}

/* A record with some of what it may have. */
static void pebs(void)
{
    const int with_ip = dice(2);
    block(4);
    item(0, BASE + dice(16));
    item(1, 1u << dice(4));
    if (dice(2)) item(2, now - dice(900));
    if (dice(2)) {
        block(1);
        for (unsigned id = 0; id < 18; id++)
            item(id, value());
    }
    if (dice(2)) {
        block(5);
        item(0, value());
        if (dice(2)) item(1, dice(16));
        item(2, dice(2) ? dice(65536)
                           : (uint64_t) (1 + dice(65535)) << 32 | dice(65536));
    }
    if (dice(3) == 0) {
        block(8);
        for (unsigned n = 3 * (1 + dice(8)), id = 0; id < n; id++)
            item(id, id % 3 == 2 ? dice(65536) : BASE + dice(4096));
    }
    ext(with_ip ? 0xb3 : 0x33);
    if (with_ip) address(0x1d, BASE);
}

/* What the code is: `ptwrite eax` and a branch to it, 64 times. */
static void happens(void)
{
    switch (dice(8)) {
    case 0: cbr(); break;
    case 1: /* PTWRITE, with its address */
        ext(dice(2) ? 0x92 : 0xb2);
        number(trace[size - 1] == 0x92 ? 4 : 8, value());
        address(0x1d, BASE);
        break;
    case 2: /* PTWRITE without */
        ext(0x32);
        number(8, value());
        break;
    case 3: /* MWAIT, and how it slept */
        ext(0xc2);
        number(4, dice(256));
        number(4, dice(4));
        number(1, 0x02); number(1, 0x22); /* PWRE */
        number(2, dice(65536) & 0xff80);
        ext(0xe2); /* EXSTOP, with its address */
        address(0x1d, BASE);
        tsc();
        number(1, 0x02); number(1, 0xa2); /* PWRX */
        number(5, (uint64_t) ("\1\4\10"[dice(3)]) << 8 | dice(256));
        cbr();
        break;
    default: pebs(); break;
    }
    if (dice(4) == 0) tsc();
}

static void begin_trace(void)
{
    for (unsigned i = 0; i < 8; i++) ext(0x82);
    tsc();
    ext(0x03);
    number(2, 10);
    ext(0x23);
    number(2, 0x0199); /* MODE.Exec: 64 bits */
    address(0x11, BASE);
}

static void patch(FILE *f, long offset, uint64_t field, unsigned bytes)
{
    fseek(f, offset, SEEK_SET);
    for (unsigned i = 0; i < bytes; i++) fputc((int) (field >> 8 * i & 255), f);
}

/* The attribute of the third event: cycles, aux_output, and what its samples have: address,
 * branches, registers, latency. */
static int change_attr(const char *name)
{
    FILE *const f = fopen(name, "r+b");
    uint64_t head[4], type;
    long attr;
    if (!f || fread(head, 8, 4, f) != 4) return 2;
    attr = (long) (head[3] + 2 * head[2]);
    fseek(f, attr + 24, SEEK_SET);
    if (fread(&type, 8, 1, f) != 1) return 2;
    patch(f, attr, 0, 4); /* cycles */
    patch(f, attr + 8, 0, 8);
    patch(f, attr + 24, type | 1 | 1u << 3 | 1u << 11 | 1u << 18 | 1u << 24, 8);
    patch(f, attr + 43, 0x80, 1); /* aux_output; no other bit is in that byte */
    patch(f, attr + 96, 0xff03ff, 8); /* all registers but those of segments */
    return fclose(f) != 0;
}

int main(int argc, char **argv)
{
    static uint8_t code[0x1000];
    perfwrite_config config;
    perfwrite_who who = {41, 41, 0, 1002}; /* a tick after the clock began */
    perfwrite_map map;
    perfwrite *w;
    FILE *f;
    memset(&config, 0, sizeof config);
    memset(&map, 0, sizeof map);
    config.pt = 0x3411; /* branches, PTWRITE, power events, TSC */
    config.max_ratio = 10;
    config.time_zero = 1000;
    config.time_mult = 2;
    config.timed = 1;
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    f = argc > 3 ? fopen(argv[2], "wb") : NULL;
    w = f ? perfwrite_open(argv[1], &config) : NULL;
    if (!w) return 2;
    memcpy(code, "\xf3\x0f\xae\xe0\xeb\xfa", 6); /* ptwrite eax; jmp to it */
    fwrite(code, sizeof code, 1, f);
    if (fclose(f)) return 2;
    map.base = BASE;
    map.size = sizeof code;
    map.prot = PROT_READ | PROT_EXEC;
    map.flags = MAP_PRIVATE;
    map.name = argv[2];
    perfwrite_comm(w, &who, "events", 1);
    perfwrite_mmap(w, &who, &map);
    perfwrite_start(w, &who);
    begin_trace();
    for (unsigned i = 0; i < COUNT; i++) happens();
    tsc();
    number(1, 0x01); /* TIP.PGD without an address */
    perfwrite_trace(w, 0, &who, trace, size);
    who.time = 1000 + 2 * now;
    perfwrite_aux(w, 0, &who, 0);
    if (perfwrite_close(w)) return 2;
    return change_attr(argv[1]);
}
