/* perf.h: perf (Debian's linux-perf) as a peer. It decodes no bare trace, but a
 * perf.data around one, on any x86-64 host: here two events (PT, and one for
 * the records about the process), the mappings of one ELF file with all code,
 * and the trace. There are no timestamps, so perf looks for no CPU.
 *
 * perf 6.1 differs from us in this, and is not asked then:
 *   - a branch that leaves an address filter: it gives the target instead
 *   - deferred TIPs without return compression: the same as libipt
 *   - 16-bit code: it does not know that there is any
 *   - a guest: it wants the guest's files; and addresses of the kernel's half
 *   - code that changes: it has no record for that in user mode */
#ifndef PERF_H
#define PERF_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PERF_PT 6 /* type of the PT event: any that the kernel does not use */
#define PERF_PID 1000
#define PERF_HEADER 4096 /* what of the code's file is before the code */

static void perf_put(FILE *f, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    size_t i;

    for (i = 0; i < size; i++)
        bytes[i] = (uint8_t) (value >> 8 * i);
    fwrite(bytes, 1, size, f); /* ferror at the end says so */
}

static void perf_words(FILE *f, const uint64_t *words, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        perf_put(f, words[i], 8);
}

static void perf_zeros(FILE *f, size_t count)
{
    for (; count > 0; count--)
        perf_put(f, 0, 1);
}

static size_t perf_round(size_t size)
{
    return (size + 7) & ~(size_t) 7;
}

static void perf_text(FILE *f, const char *text)
{
    const size_t size = strlen(text) + 1;

    fwrite(text, 1, size, f);
    perf_zeros(f, perf_round(size) - size);
}

/* A record with its header; those of the kernel end with pid, tid, event. */
static void perf_record(FILE *f, unsigned type, unsigned misc, size_t size)
{
    perf_put(f, type, 4);
    perf_put(f, misc, 2);
    perf_put(f, 8 + size + (type < 64 ? 16 : 0), 2);
}

static void perf_ids(FILE *f, unsigned times)
{
    for (; times > 0; times--)
        perf_put(f, PERF_PID, 4);
}

static void perf_end(FILE *f)
{
    perf_ids(f, 2);
    perf_put(f, 2, 8);
}

/* A piece of code; pieces stand in the order of their addresses. */
typedef struct perf_piece {
    uint64_t base;
    const uint8_t *bytes; /* NULL: zeros */
    size_t size;
} perf_piece;

typedef struct perf_case {
    const uint8_t *trace;
    size_t size;
    const perf_piece *pieces;
    size_t count;
    int narrow;     /* 32-bit code */
    int no_retcomp; /* every RET has a TIP */
} perf_case;

/* The code: an ELF header, whose class perf takes for the mode; then pieces. */
static int perf_code(const perf_case *c, const char *path)
{
    FILE *f = fopen(path, "wb");
    size_t i;

    if (!f)
        return -1;
    fwrite("\177ELF", 1, 4, f);
    perf_put(f, c->narrow ? 0x010101 : 0x010102, 3); /* class, order, version */
    perf_zeros(f, 9);
    perf_put(f, 3, 2); /* ET_DYN */
    perf_put(f, c->narrow ? 3 : 62, 2);
    perf_put(f, 1, 4);
    perf_zeros(f, c->narrow ? 16 : 28);  /* entry, headers, flags: none */
    perf_put(f, c->narrow ? 52 : 64, 2); /* size of this header */
    perf_put(f, c->narrow ? 32 : 56, 2);
    perf_zeros(f, 2);
    perf_put(f, c->narrow ? 40 : 64, 2);
    perf_zeros(f, PERF_HEADER - (c->narrow ? 48 : 60));
    for (i = 0; i < c->count; i++) {
        if (c->pieces[i].bytes)
            fwrite(c->pieces[i].bytes, 1, c->pieces[i].size, f);
        else
            perf_zeros(f, c->pieces[i].size);
    }
    return fclose(f) ? -1 : 0;
}

static void perf_maps(FILE *f, const perf_case *c, const char *path)
{
    uint64_t from = PERF_HEADER;
    uint64_t size;
    size_t i;

    for (i = 0; i < c->count; from += size) {
        const uint64_t base = c->pieces[i].base;
        for (size = 0; i < c->count && c->pieces[i].base == base + size; i++)
            size += c->pieces[i].size;
        perf_record(f, 10, 2, 64 + perf_round(strlen(path) + 1)); /* MMAP2 */
        perf_ids(f, 2);
        perf_put(f, base, 8);
        perf_put(f, size, 8);
        perf_put(f, from, 8);
        perf_zeros(f, 24); /* device and inode */
        perf_put(f, 5, 4); /* PROT_READ | PROT_EXEC */
        perf_put(f, 2, 4); /* MAP_PRIVATE */
        perf_text(f, path);
        perf_end(f);
    }
}

/* Everything after the file's header and events. */
static void perf_data(FILE *f, const perf_case *c, const char *path)
{
    const uint64_t info[18] = {1, PERF_PT, 0, 0, 0, 0, 0, 0x800};
    const size_t size = perf_round(c->size);

    perf_record(f, 70, 0, sizeof(info)); /* AUXTRACE_INFO */
    perf_words(f, info, 18);
    perf_record(f, 3, 0x2000, 16); /* COMM, of exec */
    perf_ids(f, 2);
    perf_text(f, "traced");
    perf_end(f);
    perf_maps(f, c, path);
    perf_record(f, 12, 0, 8); /* ITRACE_START */
    perf_ids(f, 2);
    perf_end(f);
    perf_record(f, 71, 0, 40); /* AUXTRACE */
    perf_put(f, size, 8);
    perf_zeros(f, 20);
    perf_ids(f, 1);
    perf_put(f, UINT32_MAX, 4);
    perf_zeros(f, 4);
    fwrite(c->trace, 1, c->size, f);
    perf_zeros(f, size - c->size);
    perf_record(f, 11, 0, 24); /* AUX */
    perf_put(f, 0, 8);
    perf_put(f, size, 8);
    perf_put(f, 0, 8);
    perf_end(f);
    perf_record(f, 4, 0, 24); /* EXIT */
    perf_ids(f, 4);
    perf_put(f, 0, 8);
    perf_end(f);
}

static void perf_event(FILE *f, unsigned type, uint64_t config, uint64_t sample,
                       uint64_t flags)
{
    perf_put(f, type, 4);
    perf_put(f, 128, 4); /* of this structure */
    perf_put(f, config, 8);
    perf_put(f, 1, 8); /* period */
    perf_put(f, sample, 8);
    perf_put(f, 0, 8);
    perf_put(f, flags, 8);
    perf_zeros(f, 80);
}

/* Write a perf.data, and the ELF file with its code, whose path has to be a
 * whole one. Returns 0, or -1 if the files cannot be written. */
static int perf_write(const perf_case *c, const char *name, const char *elf)
{
    const uint64_t sample = 0x1000b; /* IP, TID, ADDR, IDENTIFIER */
    const uint64_t header[13]
        = {0x32454c4946524550, 104, 144, 120, 288, 408, 0};
    const uint64_t ids[2] = {1, 2};
    FILE *f = fopen(name, "wb");
    long end;

    if (!f)
        return -1;
    perf_words(f, header, 13);
    perf_words(f, ids, 2);
    perf_event(f, PERF_PT, c->no_retcomp ? 0x2801 : 0x2001, sample, 0x40001);
    perf_put(f, 104, 8); /* its id is at 104 */
    perf_put(f, 8, 8);
    perf_event(f, 1, 9, sample, 0x1842300); /* dummy: mmap, comm, task */
    perf_put(f, 112, 8);
    perf_put(f, 8, 8);
    perf_data(f, c, elf);
    end = ftell(f);
    if (end < 408 || fseek(f, 48, SEEK_SET) != 0)
        end = -1;
    else
        perf_put(f, (uint64_t) end - 408, 8); /* size of the data */
    if (ferror(f))
        end = -1;
    if (fclose(f) != 0 || end < 0)
        return -1;
    return perf_code(c, elf);
}

#endif /* PERF_H */
