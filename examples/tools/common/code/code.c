/* code.c: see code.h.
 *
 * SPDX-License-Identifier: MIT */
#include "code.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Add FILE[:FROM[-TO]] at base; prints why not. */
static int add_range(const tool_args *args, image *im, const char *file,
                     uint64_t base)
{
    tool_range range;
    const char *why = "invalid argument";
    int status = tool_split_range(file, &range);
    if (status == 0)
        why = image_add_file(im, NULL, range.name, range.from, range.to, base);
    if (why)
        fprintf(stderr, "%s: failed to add %s at 0x%" PRIx64 ": %s.\n",
                args->program, range.name ? range.name : file, base, why);
    free(range.name);
    return why != NULL;
}

int code_add_raw(const tool_args *args, image *im, const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *rest = colon ? colon + 1 : "";
    uint64_t base;
    int status = 1;
    if (tool_address(args, &rest, &base) && !*rest) {
        char *file = tool_copy(text, (size_t) (colon - text));
        if (file) status = add_range(args, im, file, base);
        free(file);
    } else if (args->wrong == 2) {
        fprintf(stderr, "%s: --raw: %s: no address: <file>:<base>.\n",
                args->program, text);
        return args->wrong;
    } else {
        fprintf(stderr, "%s: failed to parse base address from '%s'.\n",
                args->program, text);
    }
    if (status && args->wrong != 2)
        fprintf(stderr, "%s: --raw: failed to load '%s'.\n", args->program,
                text);
    return status;
}

/* Can a file be opened? Says why not. */
static int can_open(const tool_args *args, const char *name)
{
    FILE *f = fopen(name, "rb");
    if (!f)
        fprintf(stderr, "%s: warning: failed to open %s: %s.\n",
                args->program, name, strerror(errno));
    else
        fclose(f);
    return f != NULL;
}

int code_add_elf(const tool_args *args, image *im, const char *text,
                 FILE *log)
{
    const char *colon = strrchr(text, ':');
    const char *rest = colon ? colon + 1 : "";
    uint64_t base = 0;
    const char *why = "out of memory";
    char *file;
    if (!tool_address(args, &rest, &base) || *rest) { // a part of the name
        colon = NULL;
        base = 0;
    }
    file = tool_copy(text, colon ? (size_t) (colon - text) : strlen(text));
    if (file && !can_open(args, file)) {
        free(file);
        return 1;
    }
    if (file) why = image_add_elf(im, NULL, file, base, log);
    if (why)
        fprintf(stderr, "%s: warning: failed to load %s: %s.\n", args->program,
                file ? file : text, why);
    free(file);
    return why != NULL;
}

int code_add_map(const tool_args *args, image *im, const char *text)
{
    const char *why = image_add_map(im, NULL, text);
    if (why)
        fprintf(stderr, "%s: --map: failed to load '%s': %s.\n", args->program,
                text, why);
    return why != NULL;
}
