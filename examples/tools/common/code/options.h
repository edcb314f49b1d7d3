/* options.h: the command line of our own tools, in the grammar of getopt_long.
 *
 * --help says which options there are. A line of its text that begins with two
 * blanks and a dash has names of an option, with | between them, and after a
 * blank its argument, if it has one; then the end or two blanks. A tool knows an
 * option by the last of its names:
 *
 *     "  -o|--out <file>           where to.\n"   follow(&args, "--out", c)
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIONS_H
#define OPTIONS_H
#include "tool.h"

/* What all of our own tools end with. */
enum {
    OPTIONS_DONE = 0,   /* what is lost is said */
    OPTIONS_NOTHING = 1, /* nothing was decoded, an explicit selection matched
                            nothing, what was asked for cannot be made here, or,
                            with --strict, anything was lost */
    OPTIONS_WRONG = 2   /* the command is */
};

#define OPTIONS_FILES_HELP                                                    \
    "\n"                                                                      \
    "Files: perf.data here is read if no file is named; ~/.debug is perf's cache\n"\
    "of files.\n"

#define OPTIONS_STATUS_HELP                                                   \
    "\n"                                                                      \
    "Exit status: 0 done, and what is lost is said; 1 nothing was decoded, or\n"\
    "what was asked for is not there or cannot be made here; 2 the command is\n"\
    "wrong.\n"

/* Follow an option, whose argument tool_argument gives. Returns -1; or the exit
 * status, with a message; 0 if it knows none of this name. */
typedef int options_follow(tool_args *args, const char *option,
                           void *context);

/* Follow all options, --help and --version, too. Returns -1, and args->next is
 * what else there is; or the exit status. `help` is texts, up to a NULL; the
 * first one has a %s for the program. in_order: the first word that is not an option
 * ends them, as it is a command with options of its own. */
int options_parse(tool_args *args, const char *const *help, int in_order,
                  options_follow *follow, void *context);

/* The file that a tool reads: the only word that is left, or perf.data if that is
 * here. -1, or the exit status. */
int options_file(const tool_args *args, const char **file);

/* As above, of a tool that reads a trace: load it. Free file->data. */
int options_trace(const tool_args *args, tool_file *file);

#endif /* OPTIONS_H */
