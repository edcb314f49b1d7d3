/* bare.h: a trace and the code it is of, in place of a perf.data.
 *
 * Tools that read a perf.data are given one made of them: it has one thread and
 * no time. It is without a name once it is open.
 *
 *     bare_option(&args, &b, word);           // --pt, --raw, --elf
 *     if (b.trace) path = bare_write(&args, &b);
 *     ...
 *     remove(path);
 *     free(path);
 *     bare_free(&b);
 *
 * SPDX-License-Identifier: MIT */
#ifndef BARE_H
#define BARE_H
#include "../code/image.h"
#include "../code/tool.h"

#define BARE_HELP                                                             \
    "  --pt <file>               a trace in place of a perf.data, of the code\n"\
    "                            that these add, as often as you like:\n"      \
    "  --elf <file>[:<base>]     ... an ELF file.\n"                           \
    "  --raw <file>[:<from>[-<to>]]:<base>\n"                                  \
    "                            ... a flat file; --map gives code, too.\n"

typedef struct bare {
    const char *trace; /* name; NULL: none was given */
    image code;
} bare;

void bare_init(bare *b);
void bare_free(bare *b);

/* Follow an option: 1 after a message, -1 if it was one of these, else 0. */
int bare_option(tool_args *args, bare *b, const char *word);

/* Write a perf.data into TMPDIR or /tmp. Returns its name, allocated, or NULL
 * with a message. */
char *bare_write(const tool_args *args, const bare *b);

#endif /* BARE_H */
