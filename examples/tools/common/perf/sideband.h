/* sideband.h: the options --sb* and --pevent* of ptdump and ptxed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIDEBAND_H
#define SIDEBAND_H
#include "pevent.h"
#include "../code/tool.h"

/* Help on options, for tools that apply records; ptdump only prints them. */
#define SIDEBAND_HELP                                                         \
    "  --sb[:compact|:verbose]           print perf sideband records.\n"      \
    "  --sb:filename --sb:offset --sb:time\n"                                 \
    "                                    ... with their file, offset, time.\n"\
    "  --sb:warn                         print warnings about sideband.\n"    \
    "  --pevent:primary <file>[:<from>[-<to>]]\n"                             \
    "                                    perf sideband of the cpu or thread\n"\
    "                                    that was traced.\n"                  \
    "  --pevent:secondary <file>[:<from>[-<to>]]\n"                           \
    "                                    ... of others. Options that follow\n"\
    "                                    have to stand before the files that\n"\
    "                                    they are for.\n"                     \
    "  --pevent:sample-type <mask>       samples of records, perf's mask;\n"  \
    "  --pevent:sample-config <id>:<mask>\n"                                  \
    "                                    ... in those with an identifier.\n"  \
    "  --pevent:time-zero <n>            perf's clock: its zero,\n"           \
    "  --pevent:time-shift <n>           shift\n"                             \
    "  --pevent:time-mult <n>            and factor.\n"                       \
    "  --pevent:tsc-offset <n>           records came n ticks earlier.\n"     \
    "  --pevent:kernel-start <addr>      the kernel's lowest address.\n"      \
    "  --pevent:sysroot <folder>         stands in front of names of files.\n"\
    "  --pevent:kcore <file>[:<base>]    the kernel's code, an ELF file.\n"   \
    "  --pevent:vdso-x64 <file>          what [vdso] is in processes of\n"    \
    "  --pevent:vdso-x32 <file>          these kinds.\n"                      \
    "  --pevent:vdso-ia32 <file>\n"

typedef struct sideband {
    pevent session;
    pevent_config config; /* for the next file */
    pevent_sample *samples;
    uint8_t prints_only;  /* ptdump: what records do is not wanted */
    uint8_t is_used;      /* there is a file */
} sideband;

/* initial NULL: records are printed only. */
void sideband_init(sideband *s, image *initial);
void sideband_free(sideband *s);

/* Follow an option. Returns 0 if it is none of these, -1 if it was followed,
 * else the exit status. Segments of --pevent:kcore are listed to log. */
int sideband_option(tool_args *args, sideband *s, const char *word, FILE *log);

#endif /* SIDEBAND_H */
