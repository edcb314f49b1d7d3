/* kernel.c: a recording of a program and of the kernel that it calls, as perf
 * record --kcore makes it, without either.
 *
 *     kernel FOLDER COUNT [cpu] [large] [guest]
 *
 * A processor made here runs a toy program and a toy kernel: calls and branches
 * in both, SYSCALL and SYSRET, faults and interrupts at any instruction, IRET.
 * Both are traced. FOLDER gets data, kcore_dir and the program; FOLDER/TID.u64
 * the COUNT instructions that executed. "cpu": with time, by cpu; "large": the
 * list is left out. "guest": all that is a virtual machine's, with its code in
 * FOLDER/guest; what the host has at these addresses is other code. */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include "examples/tools/common/perf/perfwrite.h"
#include "tests/dice.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TID    4321
#define USER   0x401000u
#define KERNEL 0xffffffff81000000u
#define ENTRY  0x00u /* of system calls, from KERNEL on */
#define FAULT  0x40u /* ... of faults and interrupts */
#define PAGE   4096u

static const uint8_t program[] = {
    0xb9, 5, 0, 0, 0, /* 00 mov ecx, 5 */
    0xe8, 8, 0, 0, 0, /* 05 call 12 */
    0xff, 0xc9,       /* 0a dec ecx */
    0x75, 0xf7,       /* 0c jnz 05 */
    0x0f, 0x05,       /* 0e syscall */
    0xeb, 0xee,       /* 10 jmp 00 */
    0xf6, 0xc1, 1,    /* 12 test cl, 1 */
    0x74, 1,          /* 15 jz 18 */
    0x90,             /* 17 nop */
    0xff, 0xe0,       /* 18 jmp rax: to the next instruction or 1b */
    0x90,             /* 1a nop */
    0xc3              /* 1b ret */
};

static const uint8_t kernel[] = {
    0x0f, 0x01, 0xf8,       /* 00 swapgs */
    0xe8, 0x18, 0, 0, 0,    /* 03 call 20 */
    0x85, 0xd2,             /* 08 test edx, edx */
    0x74, 2,                /* 0a jz 0e */
    0xff, 0xd0,             /* 0c call rax: 20 or 30 */
    0x0f, 0x01, 0xf8,       /* 0e swapgs */
    0x48, 0x0f, 0x07,       /* 11 sysretq */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0x85, 0xd2,             /* 20 test edx, edx */
    0x75, 1,                /* 22 jnz 25 */
    0x90,                   /* 24 nop */
    0xc3,                   /* 25 ret */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0x90,                   /* 30 nop */
    0xe8, 0xea, 0xff, 0xff, 0xff, /* 31 call 20 */
    0xc3,                   /* 36 ret */
    0, 0, 0, 0, 0, 0, 0, 0, 0,
    0xe8, 0xdb, 0xff, 0xff, 0xff, /* 40 call 20 */
    0x85, 0xd2,             /* 45 test edx, edx */
    0x74, 0xf7,             /* 47 jz 40 */
    0x48, 0xcf              /* 49 iretq */
};

static void fail(const char *why)
{
    fprintf(stderr, "kernel: %s\n", why);
    exit(1);
}

/* ---- the processor ---- */

static uint64_t stack[32]; /* of return addresses */
static unsigned depth;
static uint64_t interrupted[8]; /* where IRET goes */
static unsigned level;
static uint64_t syscall_from;
static uint8_t ecx;
static uint8_t zero;

static const uint8_t *code_at(uint64_t ip, size_t *left)
{
    if (ip >= KERNEL) {
        *left = sizeof(kernel) - (size_t) (ip - KERNEL);
        return kernel + (ip - KERNEL);
    }
    *left = sizeof(program) - (size_t) (ip - USER);
    return program + (ip - USER);
}

static uint64_t call(uint64_t back, uint64_t to)
{
    if (depth == 32)
        fail("the stack is too small");
    stack[depth++] = back;
    return to;
}

/* What is not a branch: only what decides about branches matters. */
static void compute(const uint8_t *bytes)
{
    if (bytes[0] == 0xb9)
        ecx = bytes[1];
    else if (bytes[0] == 0xff)
        zero = --ecx == 0;
    else if (bytes[0] == 0xf6)
        zero = !(ecx & bytes[2]);
    else if (bytes[0] == 0x85)
        zero = (uint8_t) dice(2);
}

/* Execute the instruction; returns where flow goes. */
static uint64_t execute(uint64_t ip, const ipt_code *insn,
                        const uint8_t *bytes)
{
    const uint64_t next = ip + insn->size;
    const uint64_t target = next + (uint64_t) (int64_t) insn->displacement;

    switch (bytes[0]) {
    case 0xe8: return call(next, target);
    case 0xeb: return target;
    case 0xc3: return stack[--depth];
    case 0x74: return zero ? target : next;
    case 0x75: return zero ? next : target;
    case 0x0f:
        if (bytes[1] != 5)
            return next;
        syscall_from = next;
        return KERNEL + ENTRY;
    case 0x48: return bytes[1] == 0xcf ? interrupted[--level] : syscall_from;
    case 0xff:
        if (bytes[1] == 0xe0)
            return next + dice(2);
        if (bytes[1] == 0xd0)
            return call(next, KERNEL + (dice(2) ? 0x20 : 0x30));
        break;
    default: break;
    }
    compute(bytes);
    return next;
}

/* ---- what is written ---- */

static ipt_gen gen;
static perfwrite *out;
static perfwrite_who who = {TID, TID, 0, 1000};

static void take(void)
{
    perfwrite_trace(out, 0, &who, gen.out, gen.used);
    gen.used = 0;
}

static void tell(int status)
{
    if (status < 0)
        fail(ipt_status_name(status));
}

/* to 0: there is none. */
static void event(uint8_t type, uint64_t ip, uint64_t to)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.ip = ip;
    e.flags = type != IPT_EVT_ENABLED && to == 0 ? IPT_EVENT_NO_TO : 0;
    e.u.branch.to = to;
    tell(ipt_gen_event(&gen, &e));
}

/* The machine is a guest from here on. */
static void enter_guest(void)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = IPT_EVT_PAGING;
    e.flags = IPT_EVENT_NO_IP;
    e.u.paging.cr3 = 0x1234000;
    e.u.paging.nr = 1;
    tell(ipt_gen_event(&gen, &e));
}

/* Run; list what executed. */
static void run(FILE *list, unsigned long count, int is_guest)
{
    uint64_t ip = USER;

    if (is_guest)
        enter_guest();
    event(IPT_EVT_ENABLED, ip, 0);
    while (count-- > 0) {
        ipt_code insn;
        size_t left;
        const uint8_t *bytes;
        uint64_t to;
        unsigned i;
        if (gen.size - gen.used < 4 * IPT_GEN_ROOM)
            take();
        gen.clock += 3;
        if (dice(200) == 0 && level < 4) {
            interrupted[level++] = ip;
            event(IPT_EVT_ASYNC_BRANCH, ip, KERNEL + FAULT);
            ip = KERNEL + FAULT;
        }
        bytes = code_at(ip, &left);
        tell(ipt_classify(&insn, bytes, left, IPT_MODE_64, NULL));
        to = execute(ip, &insn, bytes);
        tell(ipt_gen_branch(&gen, insn.kind, ip, insn.size, to));
        for (i = 0; list && i < 8; i++)
            fputc((int) (ip >> 8 * i & 0xff), list);
        ip = to;
    }
    event(IPT_EVT_ASYNC_DISABLED, ip, 0);
}

/* ---- files ---- */

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f)
        fail("cannot create a file");
    return f;
}

static void put(uint8_t *to, uint64_t value, unsigned size)
{
    for (; size > 0; size--, value >>= 8)
        *to++ = (uint8_t) value;
}

/* An ELF file with one segment at PAGE. */
static void write_elf(const char *folder, const char *name, unsigned type,
                      const uint8_t *code, size_t size, uint64_t base)
{
    uint8_t elf[2 * PAGE];
    FILE *f = create(folder, name);

    memset(elf, 0, sizeof(elf));
    memcpy(elf, "\177ELF\2\1\1", 7);
    put(elf + 16, type, 2);
    put(elf + 18, 62, 2);
    put(elf + 20, 1, 4);
    put(elf + 32, 64, 8);
    put(elf + 52, 64, 2);
    put(elf + 54, 56, 2);
    put(elf + 56, 1, 2);
    put(elf + 58, 64, 2);
    put(elf + 64, 1, 4); /* PT_LOAD */
    put(elf + 68, 7, 4);
    put(elf + 72, PAGE, 8);
    put(elf + 80, base, 8);
    put(elf + 96, PAGE, 8);
    put(elf + 104, PAGE, 8);
    put(elf + 112, PAGE, 8);
    memcpy(elf + PAGE, code, size);
    if (fwrite(elf, 1, sizeof(elf), f) != sizeof(elf) || fclose(f))
        fail("cannot write a file");
}

/* FOLDER/guest, with image.map; the host has NOPs instead of that. */
static void write_guest(const char *folder)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/guest", folder);
    if (mkdir(path, 0777))
        fail("cannot create a folder");
    write_elf(path, "program", 2, program, sizeof(program), USER);
    write_elf(path, "kcore", 4, kernel, sizeof(kernel), KERNEL);
    f = create(path, "image.map");
    fprintf(f, "%x %x program %x\n%llx %x kcore %x\n", USER, PAGE, PAGE,
            (unsigned long long) KERNEL, PAGE, PAGE);
    fclose(f);
}

static void write_code(const char *folder, int is_guest)
{
    static uint8_t nops[PAGE];
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/kcore_dir", folder);
    if (mkdir(path, 0777))
        fail("cannot create a folder");
    memset(nops, 0x90, sizeof(nops));
    if (is_guest) {
        write_guest(folder);
        write_elf(folder, "program", 2, nops, sizeof(nops), USER);
        write_elf(path, "kcore", 4, nops, sizeof(nops), KERNEL);
    } else {
        write_elf(folder, "program", 2, program, sizeof(program), USER);
        write_elf(path, "kcore", 4, kernel, sizeof(kernel), KERNEL);
    }
    f = create(path, "kallsyms");
    fprintf(f, "%llx T _text\n%llx T _stext\n%llx T fault\n%llx T _etext\n",
            (unsigned long long) KERNEL, (unsigned long long) KERNEL,
            (unsigned long long) KERNEL + FAULT,
            (unsigned long long) KERNEL + PAGE);
    fclose(f);
    fclose(create(path, "modules"));
}

static void describe(const char *folder, int by_cpu)
{
    char path[4096];
    perfwrite_map map;

    snprintf(path, sizeof(path), "%s/program", folder);
    memset(&map, 0, sizeof(map));
    map.base = USER;
    map.size = PAGE;
    map.offset = PAGE;
    map.prot = 5;
    map.flags = 2;
    map.name = path;
    perfwrite_kernel(out, KERNEL, PAGE);
    perfwrite_comm(out, &who, "program", 1);
    perfwrite_mmap(out, &who, &map);
    perfwrite_start(out, &who);
    if (by_cpu) { /* it comes after the idle task */
        perfwrite_who idle = {0, 0, 0, 2000};
        perfwrite_switch(out, &idle, 1, 0, TID, TID);
        who.time = 2001;
        perfwrite_switch(out, &who, 0, 0, 0, 0);
    }
}

int main(int argc, char **argv)
{
    static uint8_t trace[1 << 16];
    char path[4096];
    ipt_gen_config config;
    perfwrite_config file;
    FILE *list;
    int by_cpu = 0;
    int large = 0;
    int is_guest = 0;
    int i;

    if (argc < 3 || mkdir(argv[1], 0777))
        fail("usage: kernel FOLDER COUNT [cpu] [large] [guest]; FOLDER is made");
    for (i = 3; i < argc; i++) {
        by_cpu |= strcmp(argv[i], "cpu") == 0;
        large |= strcmp(argv[i], "large") == 0;
        is_guest |= strcmp(argv[i], "guest") == 0;
    }
    memset(&config, 0, sizeof(config));
    config.psb_period = 2000;
    memset(&file, 0, sizeof(file));
    file.pt = 0x2001;
    file.kernel = 1;
    if (by_cpu) {
        config.flags = IPT_GEN_TSC | IPT_GEN_CYC;
        file.pt |= 0x402;
        file.timed = file.by_cpu = file.switches = 1;
        config.tsc = (uint64_t) 1 << 40;
        config.nom_freq = config.cbr = file.max_ratio = 32;
        file.time_shift = 31; /* 3.2 GHz */
        file.time_mult = 672770566;
        file.cpuid_15_eax = config.cpuid_15_eax = 3;
        file.cpuid_15_ebx = config.cpuid_15_ebx = 400;
    }
    snprintf(path, sizeof(path), "%s/data", argv[1]);
    out = perfwrite_open(path, &file);
    tell(ipt_gen_init(&gen, &config, IPT_MODE_64));
    gen.out = trace;
    gen.size = sizeof(trace);
    if (!out)
        fail("cannot create data");
    write_code(argv[1], is_guest);
    describe(argv[1], by_cpu);
    who.time = 0;
    snprintf(path, sizeof(path), "%d.u64", TID);
    list = large ? NULL : create(argv[1], path);
    run(list, strtoul(argv[2], NULL, 10), is_guest);
    tell(ipt_gen_flush(&gen));
    take();
    who.time = by_cpu ? 1000000000000 : 0;
    perfwrite_exit(out, &who);
    if ((list && fclose(list)) || perfwrite_close(out))
        fail("cannot write");
    return 0;
}
