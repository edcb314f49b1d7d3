/* symbols.h: which function is where in a file.
 *
 *     symbols names;
 *     symbols_init(&names);
 *     symbols_kernel(&names, "/proc/kallsyms");
 *     s = symbols_find(&names, file, offset); // a files_file
 *     s = symbols_at(&names, ip);             // of the kernel
 *     s = symbols_mapped(&names, pid, ip);    // of perf-PID.map
 *     ...
 *     symbols_free(&names);
 *
 * A file is read when it is asked for the first time: an ELF file's .symtab,
 * .dynsym and the .symtab of its separate debug file (libelf; without it ELF
 * files have no symbols), and the stubs through which it calls (plt.h); what a
 * JIT compiler wrote (jitdump.h). A process's perf-PID.map, of other JIT
 * compilers, has addresses and names. Symbols lie at offsets in the file that
 * has the code.
 *
 * Of several for the same place one counts: one with a size, global before weak
 * before local, of the default version before one without and that before an
 * old one; then as perf prefers them, with fewer underscores in front, the
 * longest. One without a size ends where the next one begins, or its section
 * ends; inside of one with a size it does not count.
 *
 * All these files are hostile. No symbol is found for what cannot be read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SYMBOLS_H
#define SYMBOLS_H
#include "files.h"

/* Kinds of symbols, bits. */
enum {
    SYMBOL_STUB = 1, /* a stub through which what has this name is called */
    SYMBOL_PART = 2, /* a part of a function, NAME.cold, or of a stub, to which
                        flow comes by jumps: see symbols_whole */
    SYMBOL_SPLIT = 4 /* ... NAME.part.N, which is called */
};

typedef struct symbol {
    const char *name; /* until symbols_free */
    uint64_t first;   /* offset in the file; of the kernel and of
                         perf-PID.map, address */
    uint64_t last;    /* inclusive */
    uint32_t up;      /* 1 + the index of a symbol around it; 0: none */
    unsigned kind : 3;
    unsigned rank : 5;    /* private, ... */
    unsigned source : 24; /* ... see symbols_source */
} symbol;

/* Where a part is, and where what it is a part of. */
typedef struct symbols_part {
    uint64_t first;
    uint64_t whole;
} symbols_part;

typedef struct symbols_table {
    const files_file *file; /* or */
    uint32_t pid;
    symbol *list;     /* by address */
    size_t count;
    size_t max;
    symbols_part *parts; /* by address */
    size_t part_count;
    const char **sources; /* names of source files */
    size_t source_count;
    void *elf[2];     /* files that are open: they have the names */
    uint8_t *memory;  /* ... or it has: the names, or an ELF file */
    struct symbols_table *next;
} symbols_table;

/* The debug file of a build, by debuginfod: a file descriptor, or -1. */
typedef int symbols_fetch(const buildid *id);

typedef struct symbols {
    symbols_table *tables;
    symbols_table *last; /* the one asked last */
    symbols_table kernel;
    symbols_table *maps; /* perf-PID.map */
    const char *debug;   /* the folder of separate debug files; yours to set */
    symbols_fetch *fetch; /* ... and who has others; NULL: nobody is asked */
    const char *map;     /* ... and that of perf-PID.map */
} symbols;

#define SYMBOLS_DEBUG "/usr/lib/debug" /* what `debug` is at first */

void symbols_init(symbols *s);
void symbols_free(symbols *s);

/* Read a copy of /proc/kallsyms. 0, or -1 if it is not there. */
int symbols_kernel(symbols *s, const char *path);

/* Names from a text, which was allocated, and is freed with it. */
void symbols_kernel_text(symbols *s, char *text);

/* The function at an offset of a file; NULL if none is known. */
const symbol *symbols_find(symbols *s, const files_file *file,
                           uint64_t offset);

/* The function with a name in a file, the first of several; or NULL. */
const symbol *symbols_named(symbols *s, const files_file *file,
                            const char *name);

/* The source file of a function that no other file can call, if the symbols say
 * that; or NULL. */
const char *symbols_source(symbols *s, const files_file *file,
                           const symbol *of);

/* What a symbol is a part of, if that is known; else the symbol itself. */
const symbol *symbols_whole(symbols *s, const files_file *file,
                            const symbol *part);

/* Where symbols_find finds none: the offsets around one that have none. */
void symbols_gap(symbols *s, const files_file *file, uint64_t offset,
                 uint64_t *first, uint64_t *last);

/* Open a file's separate debug file: by build id in the folder of them; the one
 * that its .gnu_debuglink names, where gdb looks for that; or where `ask`, unless
 * it is NULL, finds the build id. A file descriptor, or -1. */
int symbols_open_debug(const char *folder, symbols_fetch *ask,
                       const files_file *file, const buildid *id);

/* The function of the kernel at an address. */
const symbol *symbols_at(const symbols *s, uint64_t ip);

/* What a process's perf-PID.map says of an address: if several lines have it, the
 * last one, whose name then begins with ~. */
const symbol *symbols_mapped(symbols *s, uint32_t pid, uint64_t ip);

#endif /* SYMBOLS_H */
