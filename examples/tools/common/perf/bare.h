/* bare.h: a trace and the code it is of, or what simple-pt or LLDB wrote, in place
 * of a perf.data.
 *
 * Tools that read a perf.data are given one made of the trace: of --pt it has one
 * thread, whose code is that of all address spaces, guests' too, as nothing says
 * whose the trace is; of simple-pt one for each process, and queues of cpus; of
 * LLDB the threads and processes of the bundle, and queues as it has traces. The
 * file is without a name once it is open.
 *
 *     bare_option(&args, &b, word);           // --pt, --raw, --elf, ...
 *     if (bare_kinds(&b)) path = bare_write(&args, &b, symfs);
 *     ...
 *     remove(path);
 *     free(path);
 *     bare_free(&b);
 *
 * SPDX-License-Identifier: MIT */
#ifndef BARE_H
#define BARE_H
#include "lldb.h"
#include "simplept.h"

#define BARE_HELP                                                             \
    "  --pt <file>               a trace instead of a perf.data, of the code\n"\
    "                            that these add, as often as you like:\n"      \
    "  --elf <file>[:<base>]     ... an ELF file.\n"                           \
    "  --raw <file>[:<from>[-<to>]]:<base>\n"                                  \
    "                            ... a flat file; --map gives code, too.\n"   \
    "  --simple-pt <folder>      what simple-pt wrote, instead of a perf.data:\n"\
    "                            its rings and *.sideband, which names the\n" \
    "                            processor and the code. See --symfs.\n"      \
    "  --lldb <file>             a bundle of LLDB, instead of a perf.data: its\n"\
    "                            trace.json. See --symfs.\n"                  \
    "  --cpu-model <f>/<m>[/<s>]\n"                                            \
    "                            the processor of --pt: its errata.\n"         \
    "  --nom-freq <n>            its TSC has <n> times 100 MHz: with this the\n"\
    "                            trace has times.\n"                           \
    "  --mtc-freq <n>            IA32_RTIT_CTL.MTCFreq.\n"                     \
    "  --cpuid-0x15.eax <n>      TSC ticks are ebx / eax crystal clocks.\n"    \
    "  --cpuid-0x15.ebx <n>\n"

typedef struct bare_file {
    const char *text; /* of the option */
    int is_raw;
} bare_file;

typedef struct bare {
    const char *trace; /* name; NULL: none was given */
    const char *folder; /* ... and of simple-pt */
    const char *bundle; /* ... of LLDB */
    simplept simple;    /* what is in them, from bare_write on */
    lldb lldb;
    bare_file *files;  /* --raw and --elf, in their order */
    size_t file_count;
    tool_cpu cpu;
    uint64_t nom_freq, mtc_freq, cpuid_15_eax, cpuid_15_ebx;
    uint8_t described; /* one of the options that describe the processor */
    uint8_t quiet;     /* nothing is said of the clock */
} bare;

void bare_init(bare *b);
void bare_free(bare *b);

/* Follow an option: the exit status after a message, -1 if it was one of these,
 * else 0. */
int bare_option(tool_args *args, bare *b, const char *word);

/* How many of --pt, --simple-pt and --lldb there are. */
int bare_kinds(const bare *b);

/* Where cpus have no records of switches: the process with a CR3, which
 * IPT_ASID_UNKNOWN is if the trace names none; 0: not known. */
int bare_has_process(const bare *b);
uint32_t bare_process(const bare *b, uint64_t cr3);

/* Write a perf.data into TMPDIR or /tmp. In the folder symfs, unless that is NULL,
 * code is looked for as FOLDER/PATH, then as FOLDER/NAME: all whose path begins
 * with a slash, and what is not there. A file that is nowhere is named and left
 * out. Returns the name, allocated, or NULL with a message. */
char *bare_write(const tool_args *args, bare *b, const char *symfs);

#endif /* BARE_H */
