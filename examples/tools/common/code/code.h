/* code.h: the options --raw, --elf and --map of tools that need traced code.
 *
 * Each adds what its argument names to an image, or prints why it cannot and
 * returns the exit status; success is 0.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODE_H
#define CODE_H
#include "image.h"
#include "tool.h"

/* For --help. */
#define CODE_FILES_HELP                                                       \
    "\n"                                                                      \
    "Files: image.map in a folder of --map has a line for each section of code:\n"\
    "address, size, file (or - for zeros), offset in it; in hex without 0x.\n"

/* FILE[:FROM[-TO]]:BASE, a flat file. */
int code_add_raw(const tool_args *args, image *im, const char *text);

/* FILE[:BASE], an ELF file; its segments are listed to log, if not NULL. */
int code_add_elf(const tool_args *args, image *im, const char *text,
                 FILE *log);

/* A folder with an image.map. */
int code_add_map(const tool_args *args, image *im, const char *text);

#endif /* CODE_H */
