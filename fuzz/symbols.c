/* symbols.c: fuzz which function is where in a file (common/code/symbols.h):
 * ELF files, jitdump files, the kernel's list.
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-symbols fuzz/symbols.c -lelf
 *     ./fuzz-symbols corpus fuzz/corpus/symbols fuzz/regress/symbols
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-symbols \
 *     fuzz/symbols.c -lelf
 * Replay: cc -g -I. -o fuzz-symbols fuzz/symbols.c fuzz/standalone.c -lelf
 *
 * An input is such a file. A symbol that is found is at the place that was asked
 * for and has a name; at its beginning one is found, too. */
#define _GNU_SOURCE // memfd_create, below.c's O_PATH
#include "tests/linked.h"
#include "examples/tools/common/code/below.c"
#include "examples/tools/common/code/buildid.c"
#include "examples/tools/common/code/elffile.c"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/jitdump.c"
#include "examples/tools/common/code/plt.c"
#include "examples/tools/common/code/symbols.c"
#include "examples/tools/common/code/tool.c"
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "symbols: %s\n", what);
    abort();
}

static void check(const symbol *s, uint64_t place)
{
    if (!s) return;
    require(s->first <= place && place <= s->last, "a symbol elsewhere");
    require(s->name && *s->name, "a symbol without a name");
    sink += strlen(s->name);
}

/* All edges of what a table has. */
static void check_table(symbols *s, const symbols_table *t)
{
    for (size_t i = 0; i < t->count && i < 1000; i++) {
        const uint64_t ends[] = {t->list[i].first, t->list[i].last,
                                 t->list[i].last + 1};
        for (unsigned k = 0; k < 3; k++)
            check(t->file ? symbols_find(s, t->file, ends[k])
                          : symbols_at(s, ends[k]), ends[k]);
        require((t->file ? symbols_find(s, t->file, ends[0])
                         : symbols_at(s, ends[0])) != NULL, "nothing there");
    }
}

static int memory_fd = -1;

static int open_memory_file(const char *folder, const char *name,
                            uint64_t *size)
{
    char path[64];
    *size = 0;
    if (!folder || strstr(name, "debug")) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static files disk;
    symbols s;
    const files_file *file;
    char path[64];
    if (memory_fd < 0) memory_fd = memfd_create("symbols", MFD_CLOEXEC);
    if (memory_fd < 0 || size > 1 << 20 || ftruncate(memory_fd, 0)
        || pwrite(memory_fd, data, size, 0) != (ssize_t) size)
        return 0;
    files_init(&disk);
    disk.open_below = open_memory_file;
    symbols_init(&s);
    file = files_put(&disk, "memory", data, size);
    if (file) check(symbols_find(&s, file, 0x180), 0x180);
    if (s.tables) check_table(&s, s.tables);
    file = files_get_below(&disk, "root", "file");
    if (file) check(symbols_find(&s, file, 0x180), 0x180);
    if (s.tables) check_table(&s, s.tables);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_fd);
    if (symbols_kernel(&s, path) == 0) check_table(&s, &s.kernel);
    free_table(&s.kernel);
    memset(&s.kernel, 0, sizeof s.kernel);
    if (read_lines(&s.kernel, path, read_map_line) == 0)
        check_table(&s, &s.kernel);
    symbols_free(&s);
    files_free(&disk);
    return 0;
}
