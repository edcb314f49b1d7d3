/* bare.c FILE OPTION...: write the perf.data that tools are given of a trace without
 * one: the options are those of ptflow for --pt, --simple-pt and --lldb. */
#define _XOPEN_SOURCE 700
#include "examples/tools/common/perf/bare.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    tool_args args = tool_begin(argc - 1, argv + 1, "bare");
    const char *word;
    char *made;
    bare b;
    bare_init(&b);
    while (*args.next) {
        word = tool_word(&args);
        if (bare_option(&args, &b, word) != -1) return 2;
    }
    made = bare_write(&args, &b, NULL);
    return !made || rename(made, argv[1]) != 0;
}
