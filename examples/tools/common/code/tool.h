/* tool.h: what the command line tools share: arguments, files, error texts.
 *
 * Functions that can fail print why to standard error, beginning with the
 * program's name, and return the exit status; 0 is success.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TOOL_H
#define TOOL_H
#include "ipt.h"
#include <stdio.h>

/* The command line, read from left to right. */
typedef struct tool_args {
    const char *program; /* argv[0] */
    char **next;         /* ends with a NULL */
    const char *value;   /* the option's argument, where it has been found; or
                            NULL: it is the next word */
    int wrong;           /* the exit status of a command that is wrong: 1 in
                            tools with libipt's grammar, 2 in our own */
} tool_args;

/* name: the program's, where there is not even argv[0]. */
tool_args tool_begin(int argc, char **argv, const char *name);

typedef struct tool_cpu {
    uint16_t family;
    uint8_t model;
    uint8_t stepping;
    uint8_t known; /* 0: none was given */
} tool_cpu;

/* FILE[:FROM[-TO]] */
typedef struct tool_range {
    char *name;    /* of the file; allocated */
    uint64_t from; /* 0 if not given */
    uint64_t to;   /* exclusive; UINT64_MAX: the end of the file */
} tool_range;

typedef struct tool_file {
    uint8_t *data;
    size_t size;
} tool_file;

/* The next word of a tool with libipt's grammar. libipt knows no --option=value and
 * no option with a =, so that the argument of one becomes args->value. */
const char *tool_word(tool_args *args);

/* Say that there is no such option; also if one was followed and args->value is
 * left. Returns the exit status. */
int tool_unknown(const tool_args *args, const char *option);

/* The argument of `option`; NULL, with a message, if there is
 * none, it is empty or looks like an option. */
const char *tool_argument(tool_args *args, const char *option);

/* Is there a file of this name? Says it if there is not. For what only adds to
 * what is known. */
int tool_is_there(const tool_args *args, const char *name);

/* Say that an option's argument is bad. Returns the exit status. */
int tool_bad_argument(const tool_args *args, const char *option,
                      const char *value);

/* The option's argument as a number of at most `bits` bits, in C notation. */
int tool_number(tool_args *args, const char *option, unsigned bits,
                uint64_t *value);

/* "none" or FAMILY/MODEL[/STEPPING]; `end` closes the message. */
int tool_parse_cpu(const tool_args *args, const char *text, tool_cpu *cpu,
                   const char *end);

/* A number in C notation at *text, which is moved after it; 1 if there is
 * one. */
int tool_scan(const char **text, uint64_t *value);

/* Follow --max-memory: bytes, or with K, M or G after the number. 0, or the exit
 * status with a message. */
int tool_size(tool_args *args, const char *option, uint64_t *bytes);

/* Bytes of memory that this process has for itself now; 0: not known. */
uint64_t tool_memory(void);

/* As tool_scan, for an address: in our own tools it is hexadecimal, with or without
 * 0x. */
int tool_address(const tool_args *args, const char **text, uint64_t *value);

/* Split at the last colon, if a number or range follows it: 0, or -1 if TO is
 * not above FROM, or -2 without memory. Prints nothing. */
int tool_split_range(const char *text, tool_range *range);

/* Read a part of a file. TO past its end is an error. */
int tool_load(const tool_args *args, const tool_range *range, tool_file *file);

/* What a file is by its first bytes, and who reads it: the rest of a sentence
 * that begins with its name; NULL if nothing is known of it. TOOL_TRACE is told
 * by a PSB among them. */
typedef enum tool_kind {
    TOOL_UNKNOWN,
    TOOL_TRACE,
    TOOL_PERF,
    TOOL_OTHER
} tool_kind;
tool_kind tool_kind_of(const uint8_t *bytes, size_t size, const char **what);

/* As above, for the argument that is a trace; `bad_range` is the exit status if TO
 * <= FROM. Of a whole file that is something else this is said. In our own tools
 * - is the standard input. */
int tool_load_argument(const tool_args *args, const char *text, int bad_range,
                       tool_file *file);

/* The first `length` characters of text, allocated; NULL without memory. */
char *tool_copy(const char *text, size_t length);

/* Enlarge the array whose pointer `array` points to, to `size` items of `item`
 * bytes. Returns 0, and leaves it as it is, without memory. */
int tool_grow(void *array, size_t size, size_t item);

/* Memory for `count` lines of a cache of code. Each begins where a line of the
 * processor's cache does; in what malloc returns, each would lie in two of them.
 * Free *memory. Without memory, the result and *memory are NULL. */
ipt_cache_line *tool_lines(size_t count, void **memory);

/* FOLDER/NAME, allocated; NULL without memory. */
char *tool_join(const char *folder, const char *name);

/* A path without its folders. */
const char *tool_base(const char *path);

/* As perf record does: what is at PATH and not empty becomes PATH.old. Returns
 * 0; -1 with errno. Prints nothing. */
int tool_keep_old(const char *path);

/* A file to write, or for - the standard output; what there was is kept as above.
 * NULL with errno. */
FILE *tool_create(const char *path);

/* 0; -1: something could not be written. */
int tool_close(FILE *f);

/* Print a text that may be hostile: control bytes as \xNN. */
void tool_print(FILE *out, const char *text);

/* Copy a text that may be hostile, as UTF-8 without control bytes and, for JSON,
 * escaped, into `room` bytes, at least 8. Its end is left out if it does not fit.
 * Returns OUT. */
const char *tool_clean(char *out, size_t room, const char *text, int json);

/* --help and --version: print, and end. `more` comes after the text, and then the
 * exit status of tools with libipt's grammar. */
int tool_help(const tool_args *args, const char *help, const char *more);
int tool_version(const tool_args *args);

/* Optional libraries. */
typedef enum tool_library {
    TOOL_NO_LIBRARY,
    TOOL_ZYDIS,
    TOOL_LIBELF,
    TOOL_LIBDW,
    TOOL_LIBIBERTY,
    TOOL_LIBZSTD,
    TOOL_NCURSES,
    TOOL_LIBRARIES
} tool_library;

/* The end of a sentence, until the next call, if a library is missing: so, and its
 * package. NULL: it is not. */
const char *tool_missing(tool_library library);

/* If so, say that an option cannot act. Returns 1, the exit status, or 0. */
int tool_cannot(const tool_args *args, const char *option,
                tool_library library);

/* The exit status of a tool that has printed what it has to: `status`, but not
 * 0 if some of it could not be written. */
int tool_end(const tool_args *args, int status);

/* The next option of a tool with one trace: [<options>] <ptfile>. NULL after
 * the last one; then *status is -1 and *file the trace's name, or *status is
 * the exit status: of --help, --version or a fault. */
const char *tool_option(tool_args *args, const char *help, const char **file,
                        int *status);

/* After a number: what makes the noun after it one of several. */
#define TOOL_S(n) (&"s"[(n) == 1])

/* How many letters have to be changed to make one of the other, of so many; the
 * case of letters is not looked at. */
#define TOOL_DISTANCE 64u
unsigned tool_distance(const char *a, const char *b);

/* libipt's text for one of our statuses; where it has none, our own. */
const char *tool_error_text(int status);

#endif /* TOOL_H */
