/* simplept.c: fuzz the lines that simple-pt writes (common/perf/simplept.h).
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-simplept fuzz/simplept.c
 *     ./fuzz-simplept corpus fuzz/corpus/simplept
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-simplept \
 *     fuzz/simplept.c
 * Replay: cc -g -I. -o fuzz-simplept fuzz/simplept.c fuzz/standalone.c
 *
 * An input is a sideband. What is read of it makes sense. */
#include "tests/linked.h"
#include "examples/tools/common/perf/simplept.c"
#include "examples/tools/common/code/tool.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "simplept: %s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    simplept s;
    size_t at = 0, lines = 0;
    memset(&s, 0, sizeof s);
    while (at < size && lines < 1000) {
        char line[256];
        size_t n = 0;
        while (at < size && n < sizeof line - 1) {
            line[n++] = (char) data[at];
            if (data[at++] == '\n') break;
        }
        line[n] = 0;
        if (parse_line(&s, line)) break;
        lines++;
    }
    require(s.map_count + s.bad_lines <= lines, "more than there are lines");
    require(s.nom_freq < 256 && s.mtc_freq < 16, "frequencies");
    for (size_t i = 0; i < s.map_count; i++) {
        const simplept_map *const map = &s.maps[i];
        require(map->pid && *map->name && !strchr(map->name, '\n'), "a map");
        require(map->base + map->size >= map->base, "its end");
        require(simplept_process(&s, map->cr3) != 0, "its process");
    }
    simplept_free(&s);
    return 0;
}
