/* bare.c FILE OPTION...: write the perf.data that tools are given of a trace without
 * one: the options are those of ptflow for --pt, --simple-pt and --lldb. */
#define _XOPEN_SOURCE 700
#include "examples/tools/common/perf/bare.h"
#include <stdlib.h>
#include <string.h>

/* perf takes no records of time 0 in a file with times: it is to have none. */
static int forget_times(const char *name)
{
    FILE *const f = fopen(name, "r+b");
    uint64_t head[6];
    if (!f || fread(head, 8, 6, f) != 6) return 2;
    fseek(f, (long) head[5] + 16 + 4 * 8, SEEK_SET); /* of AUXTRACE_INFO */
    fputc(0, f);
    return fclose(f) != 0;
}

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
    if (!made || rename(made, argv[1]) != 0) return 2;
    free(made);
    bare_free(&b);
    return forget_times(argv[1]);
}
