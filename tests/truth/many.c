/* many.c: a perf.data with many records of a kind: many KIND N IN OUT. They come
 * after the first COMM of IN, a recording by ptrecord, and a nanosecond apart. With
 * dump-load and dump-move IN and OUT are jitdumps, of tests/programs/jit.c, and with
 * sections ELF files. */
#include "../whole.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOST = 2, COMM = 3, EXIT = 4, FORK = 7, SAMPLE = 9, MMAP2 = 10, AUX = 11,
       SWITCH = 15, KSYMBOL = 17, BPF_EVENT = 18, TEXT_POKE = 20,
       INFO = 70, AUXTRACE = 71 };

static uint8_t *in, *out;
static size_t in_size, data, data_size, at;
static uint64_t first_time;
static const uint8_t *trailer; /* of a record's sample: pid, tid, time, ... */
static size_t trailer_size;
static uint32_t process;

static void fail(const char *why)
{
    fprintf(stderr, "many: %s\n", why);
    exit(2);
}

static uint64_t get(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;
    while (size--) value = value << 8 | from[size];
    return value;
}

static void put_at(size_t to, uint64_t value, unsigned size)
{
    for (; size; size--, value >>= 8) out[to++] = (uint8_t) value;
}

static void put(uint64_t value, unsigned size)
{
    put_at(at, value, size);
    at += size;
}

/* The first record of a type; 0. */
static size_t find_record(unsigned type)
{
    for (size_t i = data; i + 24 < data + data_size;) {
        const size_t size = (size_t) get(in + i + 6, 2);
        if (get(in + i, 4) == type) return i;
        if (size < 8) break;
        i += size;
        if (get(in + i - size, 4) == AUXTRACE)
            i += (size_t) get(in + i - size + 8, 8);
    }
    return 0;
}

/* The first COMM says what follows each record, and when it all begins. Returns
 * where it ends. */
static size_t find_trailer(void)
{
    const size_t i = find_record(COMM);
    const size_t size = (size_t) get(in + i + 6, 2);
    const size_t name = strlen((const char *) in + i + 16) / 8 * 8 + 8;
    if (!i || size <= 24) fail("no COMM");
    trailer = in + i + 16 + name;
    trailer_size = size - 16 - name;
    process = (uint32_t) get(in + i + 8, 4);
    first_time = get(trailer + 8, 8);
    return i + size;
}

static size_t begin(unsigned type, unsigned misc)
{
    put(type, 4);
    put(misc, 2);
    put(0, 2);
    return at - 8;
}

static void end(size_t from, uint64_t number, uint32_t pid)
{
    const size_t tail = at;
    memcpy(out + at, trailer, trailer_size);
    at += trailer_size;
    put_at(tail, pid, 4);
    put_at(tail + 4, pid, 4);
    put_at(tail + 8, first_time + number, 8);
    put_at(from + 6, at - from, 2);
}

static void comm(uint64_t i, uint32_t pid)
{
    const size_t from = begin(COMM, 0);
    put(pid, 4);
    put(pid, 4);
    put(0x6161616161616161u, 8);
    put(i, 8);
    out[at - 1] = 0;
    end(from, i, pid);
}

static void task(unsigned type, uint64_t i, uint32_t pid, uint32_t parent)
{
    const size_t from = begin(type, 0);
    put(pid, 4);
    put(parent, 4);
    put(pid, 4);
    put(parent, 4);
    put(first_time + i, 8);
    end(from, i, pid);
}

static void map(uint64_t i, uint64_t ip)
{
    const size_t from = begin(MMAP2, 2);
    put(process, 4);
    put(process, 4);
    put(ip, 8);
    put(0x1000, 8);
    put(0, 8);
    put(0, 24);
    put(5, 4);
    put(2, 4);
    memcpy(out + at, "/bin/sh\0", 8);
    at += 8;
    end(from, i, process);
}

static void poke(uint64_t i, uint64_t ip)
{
    const size_t from = begin(TEXT_POKE, 0);
    put(ip, 8);
    put(4, 2);
    put(4, 2);
    put(0x9090909090909090u, 8);
    put(0, 4);
    end(from, i, process);
}

/* A symbol of the kernel is loaded, or goes. */
static void symbol(uint64_t i, uint64_t number, unsigned goes)
{
    const size_t from = begin(KSYMBOL, 0);
    put(0xffffffffc0000000u + 64 * number, 8);
    put(64, 4);
    put(1, 2);
    put(goes, 2);
    put(0x61616161, 8);
    end(from, i, process);
}

static void thread(uint64_t i, uint32_t tid)
{
    const size_t from = begin(FORK, 0);
    put(process, 4);
    put(process, 4);
    put(tid, 4);
    put(process, 4);
    put(first_time + i, 8);
    end(from, i, process);
}

/* Numbers follow the head: two, or three. */
static void numbers(unsigned type, uint64_t i, uint64_t a, uint64_t b,
                    unsigned flags)
{
    const size_t from = begin(type, 0);
    put(a, 8);
    put(b, 8);
    if (type == AUX) put(flags, 8);
    end(from, i, process);
}

/* A queue of a thread or of a cpu, with a PSB or without. */
static void queue(uint64_t i, uint32_t tid, uint32_t cpu, unsigned psb)
{
    const size_t from = begin(AUXTRACE, 0);
    put(16 * psb, 8);
    put(0, 16);
    put(i + 9, 4);
    put(tid, 4);
    put(cpu, 4);
    put(0, 4);
    put_at(from + 6, at - from, 2);
    for (unsigned k = 0; k < 8 * psb; k++) put(0x8202, 2);
}

/* A snapshot of trace that IN has, most of which the one before has, too. */
static void snapshot(uint64_t i)
{
    const size_t first = find_record(AUXTRACE);
    const uint64_t size = get(in + first + 8, 8);
    memcpy(out + at, in + first, 48);
    put_at(at + 8, 192, 8);
    put_at(at + 16, 64 * i, 8);
    at += 48;
    memcpy(out + at, in + first + 48 + 64 * i % (size - 192), 192);
    at += 192;
}

static void sample(uint64_t i)
{
    const size_t from = begin(SAMPLE, 0);
    const size_t tail = at + 8;
    memcpy(out + at, trailer + trailer_size - 8, 8);
    memcpy(out + at + 8, trailer, trailer_size - 8);
    at += trailer_size;
    put_at(tail + 8, first_time + i, 8);
    put_at(from + 6, at - from, 2);
}

/* A function of a JIT compiler is written once more, elsewhere, or it moves. */
static void dump(uint64_t i, unsigned moves)
{
    const uint8_t *const r = in + 40; /* the first record, of a function */
    const uint64_t address = get(r + 32, 8);
    put(moves, 4);
    put(moves ? 64 : 60, 4);
    put(get(r + 8, 8) + i, 8);
    put(get(r + 16, 8), 8); /* pid, tid */
    put(moves ? address : 0x100000000 + 64 * i, 8);
    put(moves && i == 0 ? address : 0x100000000 + 64 * i, 8);
    if (moves) put(0x100000000 + 64 * (i + 1), 8);
    put(moves ? 4 : 2, 8);
    put(moves ? get(r + 48, 8) : i, 8);
    if (moves) return;
    put('f', 2);
    put(0xc390, 2);
}

static void one(const char *kind, uint64_t i, uint64_t n)
{
    const uint32_t pid = 100000 + (uint32_t) i;
    size_t from;
    if (!strcmp(kind, "comm")) comm(i, process);
    else if (!strcmp(kind, "process")) comm(i, pid);
    else if (!strcmp(kind, "fork")) task(FORK, i, pid, i ? pid - 1 : process);
    else if (!strcmp(kind, "exit")) task(EXIT, i, pid, 1);
    else if (!strcmp(kind, "map")) map(i, 0x10000000 + 0x2000 * i);
    else if (!strcmp(kind, "map-down")) map(i, 0x10000000 + 0x2000 * (n - i));
    else if (!strcmp(kind, "map-same")) map(i, 0x10000000);
    else if (!strcmp(kind, "map-any")) map(i, 0x10000000 + 0x800 * (i * 40503 % n));
    else if (!strcmp(kind, "poke")) poke(i, 0xffffffff81000000u + 16 * i);
    else if (!strcmp(kind, "poke-same")) poke(i, 0xffffffff81000000u);
    else if (!strcmp(kind, "thread")) thread(i, pid);
    else if (!strcmp(kind, "symbol")) symbol(i, i, 0);
    else if (!strcmp(kind, "symbol-goes")) symbol(i, i / 2, i & 1);
    else if (!strcmp(kind, "bpf")) numbers(BPF_EVENT, i, 1 | i << 32, i, 0);
    else if (!strcmp(kind, "lost")) numbers(LOST, i, 1, 1, 0);
    else if (!strcmp(kind, "queue")) queue(i, pid, UINT32_MAX, 0);
    else if (!strcmp(kind, "queue-psb")) queue(i, pid, UINT32_MAX, 1);
    else if (!strcmp(kind, "queue-cpu")) queue(i, UINT32_MAX, (uint32_t) i, 0);
    else if (!strcmp(kind, "snapshot")) snapshot(i);
    else if (!strcmp(kind, "sample")) sample(i);
    else if (!strcmp(kind, "gap")) numbers(AUX, i, (1 << 24) + 8 * i, 8, 1);
    else if (!strcmp(kind, "dump-load")) dump(i, 0);
    else if (!strcmp(kind, "dump-move")) dump(i, 1);
    else if (!strcmp(kind, "aux")) numbers(AUX, i, 64 * i, 64, 0);
    else if (!strcmp(kind, "switch") || !strcmp(kind, "switch-new")) {
        from = begin(SWITCH, i & 1 ? 0x2000 : 0);
        put(0, 8);
        put_at(at - 8, kind[6] ? pid : 100000 + i % 7, 4);
        put_at(at - 4, kind[6] ? pid : 100000 + i % 7, 4);
        end(from, i, kind[6] ? pid : 100000 + (uint32_t) (i % 7));
    } else {
        fail("what kind?");
    }
}

static void write_out(const char *name, size_t size)
{
    FILE *const f = fopen(name, "wb");
    if (!f || fwrite(out, 1, size, f) != size || fclose(f))
        fail("cannot be written");
    free(in);
    free(out);
}

/* Records come after the first one of a jitdump. */
static int many_dumps(const char *kind, uint64_t count, const char *name)
{
    const size_t cut = 40 + (in_size > 48 ? (size_t) get(in + 44, 4) : in_size);
    out = (uint8_t *) malloc(in_size + (size_t) count * 256);
    if (!out || cut > in_size) fail("no jitdump");
    memcpy(out, in, at = cut);
    for (uint64_t i = 0; i < count; i++) one(kind, i, count);
    memcpy(out + at, in + cut, in_size - cut);
    write_out(name, at + in_size - cut);
    return 0;
}

/* An ELF64 file gets more sections, as its second one. */
static int many_sections(uint64_t count, const char *name)
{
    const size_t from = (size_t) get(in + 40, 8);
    const size_t has = (size_t) get(in + 60, 2);
    out = (uint8_t *) malloc(in_size + (has + (size_t) count) * 64);
    if (!out || has < 2 || from + 64 * has > in_size) fail("no ELF64 file");
    memcpy(out, in, at = in_size);
    put_at(40, in_size, 8);
    put_at(60, has + count, 2);
    memcpy(out + at, in + from, 64 * has);
    for (at += 64 * has; count; count--, at += 64)
        memcpy(out + at, in + from + 64, 64);
    write_out(name, at);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t count = argc == 5 ? strtoull(argv[2], NULL, 10) : 0;
    size_t cut;
    if (argc != 5) fail("usage: many KIND N IN OUT");
    in = (uint8_t *) whole_file(argv[3], &in_size);
    if (!in || in_size < 104) fail("cannot be read");
    if (!strcmp(argv[1], "sections")) return many_sections(count, argv[4]);
    if (!strncmp(argv[1], "dump", 4)) return many_dumps(argv[1], count, argv[4]);
    data = (size_t) get(in + 40, 8);
    data_size = (size_t) get(in + 48, 8);
    cut = find_trailer();
    out = (uint8_t *) malloc(in_size + (size_t) count * 256);
    if (!out) fail("no memory");
    if (!strcmp(argv[1], "snapshot")) in[find_record(INFO) + 16 + 8 * 8] = 1;
    memcpy(out, in, at = cut);
    for (uint64_t i = 0; i < count; i++) one(argv[1], i, count);
    memcpy(out + at, in + cut, in_size - cut);
    put_at(48, data_size + (at - cut), 8);
    /* Sections of features come after the data, their table first. */
    for (size_t i = 0; i < 256; i++) {
        static size_t entry;
        if (!(in[72 + i / 8] >> i % 8 & 1)) continue;
        put_at(at - cut + data + data_size + 16 * entry,
               get(in + data + data_size + 16 * entry, 8) + (at - cut), 8);
        entry++;
    }
    write_out(argv[4], in_size + (at - cut));
    return 0;
}
