/* values.c FILE CODE [gaps]: write a perf.data whose trace has values, states
 * and losses, or gaps, at times that are written here, and its code.
 * tests/views.sh has what viewers are to show of it.
 *
 * A tick of the TSC is 2 ns; the clock began at 1000 ns. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "examples/tools/common/perf/perfwrite.c"
#include <sys/mman.h>

#define BASE 0x401000u

/* ptwrite eax; jc to the next; ptwrite rax; jc to the next; jmp to the start */
static const uint8_t code[] = {0xf3, 0x0f, 0xae, 0xe0, 0x72, 0,
                               0xf3, 0x48, 0x0f, 0xae, 0xe0, 0x72, 0,
                               0xeb, 0xf1};

static uint8_t trace[1024];
static size_t size;

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

static void tsc(uint64_t ticks)
{
    number(1, 0x19);
    number(7, ticks);
}

static void cbr(uint8_t ratio)
{
    ext(0x03);
    number(2, ratio);
}

static void address(uint8_t opcode, uint64_t ip) /* six bytes of it */
{
    number(1, opcode | 3u << 5);
    number(6, ip);
}

static void ptw(unsigned bytes, uint64_t value)
{
    ext(bytes == 8 ? 0x32 : 0x12);
    number(bytes, value);
}

/* A PSB+ while tracing is disabled, then the start of it. */
static void start(uint64_t ticks, uint8_t ratio)
{
    size = 0;
    for (unsigned i = 0; i < 8; i++) ext(0x82);
    tsc(ticks);
    cbr(ratio);
    ext(0x23);
    number(2, 0x0199); /* MODE.Exec: 64 bits */
    address(0x11, BASE);
}

static void taken(void)
{
    number(1, 6); /* TNT, of one branch */
}

static void first_thread(void)
{
    start(1000, 10);
    tsc(2000);
    ptw(4, 77);
    taken();
    tsc(3000);
    ptw(8, (uint64_t) 1 << 40 | 5);
    taken();
    tsc(4000);
    cbr(25);
    tsc(5000);
    number(4, 0x60002202); /* PWRE: C7 */
    tsc(6000);
    number(4, 0x0400a202); /* PWRX, by a store; C1 */
    number(3, 0);
    tsc(7000);
    ptw(4, 77); /* again */
    taken();
    ext(0xf3); /* OVF */
    tsc(8000);
    address(0x1d, BASE);
    ptw(4, 3);
    number(1, 0x01); /* TIP.PGD without an address */
}

static void second_thread(void)
{
    start(1500, 12);
    tsc(2500);
    ptw(4, 1000);
    taken();
    tsc(3500);
    number(1, 0x01);
}

/* The next packet is so many cycles later, each of a tick. */
static void cyc(unsigned cycles)
{
    number(1, (uint8_t) (cycles << 3 | 7));
    number(1, cycles >> 5 << 1);
}

/* After a branch comes an interrupt, told by an event record: tracing ends
 * there. */
static void interrupted(unsigned vector, uint64_t ip)
{
    cyc(500);
    taken();
    ext(0x13);
    number(1, 0x01);
    number(1, vector);
    address(0x1d, ip);
    number(1, 0x01); /* TIP.PGD without an address */
}

static void go_on(unsigned cycles, uint64_t ip)
{
    cyc(cycles);
    address(0x11, ip);
}

/* All gaps have a time at each edge. */
static void gaps_thread(void)
{
    start(1000, 10);
    ptw(4, 1);
    interrupted(14, BASE + 6);
    go_on(100, BASE + 6);
    ptw(8, 2);
    interrupted(0x20, BASE + 13);
    go_on(300, BASE + 13);
    ptw(4, 3);
    cyc(600);
    number(1, 0x01); /* at the branch: a filter ends there */
    go_on(700, BASE + 6);
    ptw(8, 4);
    cyc(800);
    taken();
    ext(0xf3); /* OVF */
    cyc(900);
    address(0x1d, BASE);
    ptw(4, 5);
    interrupted(0x20, BASE + 6);
}

/* In the second interrupt, from tick 2100 to 2400, another thread runs. */
static void interruption(perfwrite *w, const perfwrite_who *who)
{
    perfwrite_who then = *who;
    then.time = 1000 + 2 * 2150;
    perfwrite_switch(w, &then, 1, 1, 7, 7);
    then.time = 1000 + 2 * 2350;
    then.cpu = 1;
    perfwrite_switch(w, &then, 0, 0, 7, 7);
}

int main(int argc, char **argv)
{
    static const uint8_t zeros[0x1000] = {0};
    perfwrite_config config;
    perfwrite_who who = {41, 41, 0, 1002}; /* a tick after the clock began */
    perfwrite_map map;
    perfwrite *w;
    FILE *f;
    memset(&config, 0, sizeof config);
    memset(&map, 0, sizeof map);
    config.pt = 0x3411; /* branches, PTWRITE, power events, TSC */
    if (argc > 3) config.pt |= 2; /* CYC */
    config.switches = argc > 3;
    config.max_ratio = 10;
    config.time_zero = 1000;
    config.time_mult = 2;
    config.timed = 1;
    f = argc >= 3 ? fopen(argv[2], "wb") : NULL;
    w = f ? perfwrite_open(argv[1], &config) : NULL;
    if (!w) return 2;
    fwrite(code, sizeof code, 1, f);
    fwrite(zeros, sizeof zeros - sizeof code, 1, f);
    if (fclose(f)) return 2;
    map.base = BASE;
    map.size = sizeof zeros;
    map.prot = PROT_READ | PROT_EXEC;
    map.flags = MAP_PRIVATE;
    map.name = argv[2];
    perfwrite_comm(w, &who, "values", 1);
    perfwrite_mmap(w, &who, &map);
    perfwrite_start(w, &who);
    perfwrite_fork(w, &who, 41, 42);
    if (argc > 3)
        gaps_thread();
    else
        first_thread();
    perfwrite_trace(w, 0, &who, trace, size);
    who.time = 20000;
    perfwrite_aux(w, 0, &who, 0);
    if (argc > 3) interruption(w, &who);
    who.tid = 42;
    who.time = 20001;
    second_thread();
    perfwrite_trace(w, 1, &who, trace, size);
    perfwrite_aux(w, 1, &who, PERFWRITE_TRUNCATED);
    return perfwrite_close(w) != 0;
}
