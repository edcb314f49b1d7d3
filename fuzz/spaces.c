/* spaces.c: fuzz what code is where in each process (common/flow/spaces.h),
 * and the files that JIT compilers write (jitdump.h).
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-spaces fuzz/spaces.c
 *     ./fuzz-spaces corpus fuzz/corpus/spaces fuzz/regress/spaces
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-spaces fuzz/spaces.c
 * Replay: cc -g -I. -o fuzz-spaces fuzz/spaces.c fuzz/standalone.c
 *
 * An input:
 *
 *     0       1: the trace's clock is known; 2: --force; 4: --map
 *     1, 2    the size of the file that is mapped, an ELF file or a jitdump
 *     3 on    that file, then actions of eight bytes: what, process, misc,
 *             address, size, offset, name, time
 *
 * After each action code is what it was before, except where the action says
 * that it has changed, or in the process that has another number; it is the
 * same in one piece and byte by byte, and a process finds what it reads. */
#define _GNU_SOURCE // memfd_create, below.c's O_PATH
#include "tests/linked.h"
#include "examples/tools/common/code/below.c"
#include "examples/tools/common/perf/binaries.c"
#include "examples/tools/common/code/buildid.c"
#include "examples/tools/common/code/code.c"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/perf/filters.c"
#include "examples/tools/common/code/image.c"
#include "examples/tools/common/code/jitdump.c"
#include "examples/tools/common/code/kallsyms.c"
#include "examples/tools/common/perf/perfdata.c"
#include "examples/tools/common/flow/pids.c"
#include "examples/tools/common/flow/spaces.c"
#include "examples/tools/common/code/tool.c"
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD 3
#define ACTION 8
#define PIDS 3
#define WINDOW 32 /* bytes that are looked at, in each half */
#define USER 0x1000u
#define KERNEL 0xffffffff81000000u

static FILE *loud; /* stderr, which is quiet while the code under test runs */

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(loud, "spaces: %s\n", what);
    abort();
}

static int mapped_fd = -1; /* the file that all names mean */
static spaces s;

static int open_mapped(const char *folder, const char *name, uint64_t *size)
{
    char path[64];
    require(folder != NULL && name != NULL, "a name of nothing");
    *size = 0;
    if (strstr(name, "none")) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", mapped_fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* ---- what is seen ---- */

typedef struct seen {
    uint64_t number[PIDS];
    uint16_t code[PIDS][2 * WINDOW]; /* 256: none */
} seen;

static uint64_t address(size_t i)
{
    return i < WINDOW ? USER + i : KERNEL + (i - WINDOW);
}

static void look_at(seen *to)
{
    for (uint32_t pid = 0; pid < PIDS; pid++) {
        spaces_view view = {&s, pid};
        to->number[pid] = spaces_number(&image_everywhere, &view);
        for (size_t i = 0; i < 2 * WINDOW; i++) {
            uint8_t byte;
            const int n = spaces_read(&byte, 1, &image_everywhere, address(i),
                                      &view);
            require(n == 1 || n == IPT_NEED_PAGE, "an impossible size");
            to->code[pid][i] = n == 1 ? byte : 256;
        }
    }
}

static void check_pieces(const seen *now)
{
    for (uint32_t pid = 0; pid < PIDS; pid++) {
        spaces_view view = {&s, pid};
        for (size_t i = 0; i < 2 * WINDOW; i += 5) {
            uint8_t bytes[WINDOW];
            spaces_found found;
            const size_t left = WINDOW - i % WINDOW;
            const int n = spaces_read(bytes, left, &image_everywhere,
                                      address(i), &view);
            const int there = now->code[pid][i] != 256;
            require((n > 0) == there, "code that comes and goes");
            for (int k = 0; k < n; k++)
                require(now->code[pid][i + (size_t) k] == bytes[k],
                        "code differs byte by byte");
            if (n > 0 && (size_t) n < left)
                require(now->code[pid][i + (size_t) n] == 256,
                        "code that ends before its end");
            if (there)
                require(spaces_find(&view, &image_everywhere, address(i),
                                    &found) && found.first <= address(i)
                        && found.last >= address(i), "code from nowhere");
        }
    }
}

/* What an action changed is what it says. A process may have another number
 * although it sees what it saw. */
static void check_change(const seen *a, const seen *b, int has_changed,
                         const spaces_change *change)
{
    for (uint32_t pid = 0; pid < PIDS; pid++) {
        const int renewed = a->number[pid] != b->number[pid] && has_changed
            && change->pid == pid;
        for (size_t i = 0; !renewed && i < 2 * WINDOW; i++) {
            if (a->code[pid][i] == b->code[pid][i]) continue;
            require(has_changed && address(i) - change->ip < change->size,
                    "code has changed where it had not");
        }
    }
}

/* ---- actions ---- */

static uint64_t any_address(uint8_t byte)
{
    if (byte == 0xff) return UINT64_MAX - 3;
    return (byte & 0x80 ? KERNEL : USER) + (byte & 0x3f);
}

static const char *name_of(uint8_t byte)
{
    static const char *const names[] = {
        "/a", "/jit-1.dump", "//anon", "[vdso]", "/none", "/jit-2.dump",
        "/b (deleted)", "[kernel.kallsyms]_text"
    };
    return names[byte % (sizeof names / sizeof names[0])];
}

static void make_record(const uint8_t *a, perfdata_record *r)
{
    static const uint8_t bytes[] = "what is there instead of what was there "
                                   "before, and more than that of it";
    static const uint32_t types[] = {
        PERFDATA_MMAP2, PERFDATA_MMAP, PERFDATA_FORK, PERFDATA_COMM,
        PERFDATA_TEXT_POKE, PERFDATA_KSYMBOL, PERFDATA_EXIT,
        PERFDATA_AUXTRACE_INFO
    };
    memset(r, 0, sizeof *r);
    r->type = types[a[0] % (sizeof types / sizeof types[0])];
    r->misc = (uint16_t) ((a[2] & 7) | (a[2] & 8 ? 0x2000 : 0));
    r->sample.time = a[7];
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2:
        r->u.mmap.pid = a[1] % PIDS;
        r->u.mmap.addr = any_address(a[3]);
        r->u.mmap.len = a[4] == 0xff ? UINT64_MAX : a[4];
        r->u.mmap.pgoff = a[5] == 0xff ? UINT64_MAX : a[5];
        r->u.mmap.prot = a[2] & 16 ? 1 : 5;
        r->u.mmap.build_id_size = a[2] & 32 ? 2 : 0;
        r->u.mmap.build_id[0] = 1;
        r->u.mmap.build_id[1] = 2;
        r->u.mmap.name = name_of(a[6]);
        break;
    case PERFDATA_FORK:
        r->u.task.pid = a[1] % PIDS;
        r->u.task.ppid = a[3] % PIDS;
        break;
    case PERFDATA_COMM:
        r->u.comm.pid = a[1] % PIDS;
        r->u.comm.name = "x";
        break;
    case PERFDATA_TEXT_POKE:
        r->u.text_poke.addr = any_address(a[3]);
        r->u.text_poke.old_len = a[4] & 31;
        r->u.text_poke.new_len = a[5] & 31;
        r->u.text_poke.old_bytes = bytes + (a[6] & 7);
        r->u.text_poke.new_bytes = bytes + 8 + (a[6] & 7);
        break;
    case PERFDATA_KSYMBOL:
        r->u.ksymbol.addr = any_address(a[3]);
        r->u.ksymbol.len = a[4];
        r->u.ksymbol.flags = a[5];
        r->u.ksymbol.name = "x";
        break;
    default: break;
    }
}

static void start(const uint8_t *data, const uint8_t *actions, size_t count)
{
    static const tool_args args = {"fuzz", NULL, NULL, 1};
    static spaces_place all;
    perfdata_record r;
    const files_file *file;
    spaces_init(&s, &args);
    s.files.disk.open_below = open_mapped;
    s.force = data[0] >> 1 & 1;
    s.has_time = data[0] & 1;
    s.time[0] = 2;
    s.time[1] = 5;
    require(tool_grow(&s.places, 1, sizeof all), "no memory");
    all.pid = UINT32_MAX;
    all.folder = "folder";
    s.places[0] = all;
    s.place_count = 1;
    if (data[0] & 4) {
        s.places[0].map = (image *) malloc(sizeof(image));
        if (!s.places[0].map) abort();
        image_init(s.places[0].map);
        require(!image_add(s.places[0].map, NULL, "zeros", 0, NULL, 4,
                           USER + 20), "no memory");
    }
    for (size_t i = 0; i < count; i++) {
        make_record(actions + ACTION * i, &r);
        if (r.type != PERFDATA_AUXTRACE_INFO) spaces_index(&s, &r);
    }
    require(spaces_start(&s) == 0, "no start");
    file = files_get_below(&s.files.disk, "folder", "/kcore");
    if (file) image_add_segments(&s.kernel, NULL, file);
}

static seen now;

static void act(const uint8_t *action)
{
    static seen before;
    perfdata_record r;
    spaces_change change;
    int has_changed;
    memset(&change, 0, sizeof change);
    before = now;
    if ((action[0] & 15) == 15) {
        has_changed = spaces_advance(&s, 4 * (uint64_t) action[7], &change);
    } else {
        make_record(action, &r);
        has_changed = spaces_apply(&s, &r, &change);
    }
    look_at(&now);
    check_change(&before, &now, has_changed, &change);
    check_pieces(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *quiet;
    size_t file;
    size_t count;
    spaces_change change;
    if (size < HEAD) return 0;
    if (mapped_fd < 0) {
        mapped_fd = memfd_create("mapped", MFD_CLOEXEC);
        quiet = fopen("/dev/null", "w");
        if (mapped_fd < 0 || !quiet) abort();
    }
    loud = stderr;
    stderr = quiet;
    file = data[1] | (size_t) data[2] << 8;
    if (file > size - HEAD) file = size - HEAD;
    if (ftruncate(mapped_fd, 0)
        || pwrite(mapped_fd, data + HEAD, file, 0) != (ssize_t) file)
        abort();
    count = (size - HEAD - file) / ACTION;
    if (count > 32) count = 32;
    start(data, data + HEAD + file, count);
    look_at(&now);
    for (size_t i = 0; i < count; i++)
        act(data + HEAD + file + ACTION * i);
    while (spaces_advance(&s, UINT64_MAX, &change)) continue;
    require(spaces_next(&s) == UINT64_MAX, "JIT code is left");
    spaces_free(&s);
    require(s.sections == 0, "sections are left");
    stderr = loud;
    return 0;
}
