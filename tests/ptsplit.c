/* ptsplit.c: ptsplit, on recordings put together here, and on what files in
 * them are called. TEST_COUNT: see chosen.h. */
#define _XOPEN_SOURCE 700
#include "chosen.h"
#include "test.h"
#include "perfbuild.h"
#include "tmp.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __has_include
#if __has_include(<zstd.h>)
#include <zstd.h>
#define HAVE_ZSTD
#endif
#endif

static char above[256]; /* everything is below it, with nothing else in it */
static char top[300];   /* where it runs */
static char tool[4096];
static char text[1 << 18]; /* what was read last */

/* ---- files and commands ---- */

static void save(const char *name, const void *from, size_t size)
{
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(from, 1, size, f) != size || fclose(f)) {
        perror(name);
        exit(2);
    }
}

/* Read a file into text; its size, or -1. */
static long load(const char *name)
{
    FILE *f = fopen(name, "rb");
    size_t size;
    text[0] = 0;
    if (!f) return -1;
    size = fread(text, 1, sizeof text - 1, f);
    text[size] = 0;
    fclose(f);
    return (long) size;
}

static int holds(const char *name, const char *part)
{
    const int found = load(name) >= 0 && strstr(text, part);
    if (!found) printf("    %s has: %.2000s\n", name, text);
    return found;
}

/* Does the last command's error text have this? */
#define SAYS(part) CHECK(holds("err", part))

static int exists(const char *name)
{
    struct stat info;
    return lstat(name, &info) == 0;
}

/* Run a shell command; its exit status, 128 and more for a signal. */
static int shell(const char *command)
{
    const int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Run ptsplit; output goes to the files out and err. */
static int run(const char *arguments)
{
    char command[8192];
    snprintf(command, sizeof command,
             "HOME=%s/home timeout 300 %s %s >out 2>err", top, tool, arguments);
    return shell(command);
}

static int forget(const char *path, const struct stat *info, int type,
                  struct FTW *ftw)
{
    (void) info, (void) type, (void) ftw;
    return remove(path);
}

static void remove_all(const char *folder)
{
    nftw(folder, forget, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- recordings ---- */

static void put_info(uint64_t has_time, uint64_t snapshot)
{
    const uint64_t word[17] = {6, 3, 5, 7, has_time, 0x400, 0x800, 3, snapshot,
                               1, 0x200, 0x3c000, 266, 2, 2, 32, 0};
    begin(70, 0);
    put2(1, 0);
    for (int i = 0; i < 17; i++) put(word[i], 8);
    append_record();
}

static void put_map(const char *name, uint32_t pid, uint64_t time,
                    uint32_t cpu)
{
    begin(1, 2);
    put2(pid, pid);
    put(0x10000, 8);
    put(0x1000, 8);
    put(0, 8);
    put_text(name, (strlen(name) + 8) / 8 * 8);
    put2(pid, pid);
    put(time, 8);
    put2(cpu, 0);
    put(10, 8);
    append_record();
}

static void put_map_of_build(const char *name, const char *id, size_t id_size)
{
    begin(10, 0x4002);
    put2(9, 9);
    put(0x10000, 8);
    put(0x1000, 8);
    put(0, 8);
    put_text("", 24);
    built[40] = (uint8_t) id_size;
    memcpy(built + 44, id, id_size);
    put2(5, 2);
    put_text(name, (strlen(name) + 8) / 8 * 8);
    put_samples(9, 1, 0, 10);
    append_record();
}

static void put_comm(const char *name, uint32_t tid, uint64_t time,
                     uint32_t cpu, uint64_t id)
{
    begin(3, 0);
    put2(1, tid);
    put_text(name, 8);
    put_samples(tid, time, cpu, id);
    append_record();
}

/* A recording by cpu with the code's name; records not in the order of time. */
static void make_recording(const char *code)
{
    start_file();
    put_info(1, 0);
    put_map(code, 1, 100, 0);
    put_comm("late", 3, 300, 1, 11);
    put_comm("early", 3, 200, 1, 11);
    begin(3, 0); // of an event without CPU, and with more than it needs
    put2(1, 3);
    put_text("none", 16);
    put_samples(3, 250, 0, 20);
    append_record();
    put_comm("made up", 0, 0, 0, 0);
    put_auxtrace(24, 0, 0, 0, 0);
    put_auxtrace(16, 0, 5, 0, 1);
    put_auxtrace(8, 24, 0, 0, 0);
    begin(68, 0);
    append_record();
    finish_file();
    save("perf.data", whole, whole_size);
}

#define CODE "\177ELF" /* all that is looked at */

/* Code of its own, below top. */
static char code_name[320];

/* ---- what it writes ---- */

static void check_file(const char *name, const char *bytes)
{
    const long size = load(name);
    if (!CHECK_EQ(size, strlen(bytes)) || !CHECK(!strcmp(text, bytes)))
        printf("    %s\n", name);
}

/* Names of COMM records in a sideband file, which is little endian. */
static void check_comms(const char *name, const char *want)
{
    char got[256] = "";
    const long size = load(name);
    const uint8_t *at = (const uint8_t *) text;
    CHECK(size > 0);
    for (long i = 0; i + 8 <= size;) {
        const int record = at[i + 6] | at[i + 7] << 8;
        if (record < 8) break;
        if (at[i] == 3) strcat(strcat(got, (const char *) at + i + 16), ",");
        if (at[i] == 1) strcat(got, "map,");
        i += record;
    }
    if (!CHECK(!strcmp(got, want))) printf("    got %s\n", got);
}

static void check_recording(void)
{
    char sysroot[400];
    check_file("out.d/perf.data-aux-idx0.bin",
               "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
               "\1\1\1\1\1\1\1\1");
    check_file("out.d/perf.data-aux-idx5.bin",
               "\6\6\6\6\6\6\6\6\6\6\6\6\6\6\6\6");
    check_comms("out.d/perf.data-sideband-cpu0.pevent", "made up,map,");
    check_comms("out.d/perf.data-sideband-cpu1.pevent", "early,late,");
    check_comms("out.d/perf.data-sideband.pevent", "none,");
    CHECK_EQ(load("out.d/perf.data-sideband.pevent"), 24 + 24);
    snprintf(sysroot, sizeof sysroot, "out.d/sysroot%s", code_name);
    check_file(sysroot, CODE);
}

#define COMMON_OPTIONS                                                        \
    " --cpu 6/94/3 --mtc-freq 3 --nom-freq 32 --cpuid-0x15.eax 2"             \
    " --cpuid-0x15.ebx 266 --pevent:sample-type 0x10086"                      \
    " --pevent:sample-config 0x14:0x10006 --pevent:time-shift 3"              \
    " --pevent:time-mult 5 --pevent:time-zero 7"                              \
    " --pevent:sysroot out.d/sysroot"                                         \
    " --pevent:secondary out.d/perf.data-sideband.pevent"

#define PRIMARY_0                                                             \
    " --pevent:primary out.d/perf.data-sideband-cpu0.pevent"                  \
    " --pevent:secondary out.d/perf.data-sideband-cpu1.pevent"
#define PRIMARY_1                                                             \
    " --pevent:secondary out.d/perf.data-sideband-cpu0.pevent"                \
    " --pevent:primary out.d/perf.data-sideband-cpu1.pevent"

/* In both byte orders the same files, all of them little endian. */
TEST(by_cpu)
{
    for (big = 0; big < 2; big++) {
        make_recording(code_name);
        CHECK_EQ(run("-o out.d perf.data"), 0);
        check_recording();
        check_file("out", "# cpu 0\n"
                   "ptdump" COMMON_OPTIONS PRIMARY_0
                   " out.d/perf.data-aux-idx0.bin\n"
                   "ptxed" COMMON_OPTIONS PRIMARY_0
                   " --event:tick --pt out.d/perf.data-aux-idx0.bin\n"
                   "# cpu 1\n"
                   "ptdump" COMMON_OPTIONS PRIMARY_1
                   " out.d/perf.data-aux-idx5.bin\n"
                   "ptxed" COMMON_OPTIONS PRIMARY_1
                   " --event:tick --pt out.d/perf.data-aux-idx5.bin\n");
        check_file("err", "");
        shell(big ? "diff -r out.d little >err" : "cp -r out.d little");
        check_file("err", "");
        remove_all("out.d");
    }
    remove_all("little");
    big = 0;
}

/* FINISHED_ROUND says that what follows is later. It is not believed: records
 * are in the order of time without one, and with many that are wrong. */
TEST(rounds)
{
    static const struct {
        const char *name;
        uint64_t time;
    } comms[] = {{"c", 300}, {"a", 100}, {"d", 400}, {"b", 200}};
    for (unsigned each = 0; each < 1000; each = 10 * each + 1) {
        start_file();
        put_info(1, 0);
        for (unsigned i = 0; i < 4; i++) {
            put_comm(comms[i].name, 3, comms[i].time, 1, 11);
            for (unsigned n = 0; n < each; n++) {
                begin(68, 0);
                append_record();
            }
        }
        put_auxtrace(24, 0, 0, 0, 0);
        finish_file();
        save("perf.data", whole, whole_size);
        CHECK_EQ(run("-o out.d perf.data"), 0);
        check_comms("out.d/perf.data-sideband-cpu1.pevent", "a,b,c,d,");
        remove_all("out.d");
    }
}

/* From a pipe, and from a folder with the kernel's code. */
TEST(other_forms)
{
    make_recording(code_name);
    CHECK_EQ(shell("cat perf.data >f; true"), 0);
    CHECK_EQ(run("-o out.d - <f"), 0);
    check_recording();
    remove_all("out.d");
    {
        char command[8192];
        snprintf(command, sizeof command,
                 "cat perf.data | timeout 300 %s -o out.d - >out 2>err", tool);
        CHECK_EQ(shell(command), 0);
    }
    check_recording();
    remove_all("out.d");
    CHECK_EQ(shell("mkdir -p rec/kcore_dir && cp perf.data rec/data &&"
                   " echo kcore >rec/kcore_dir/kcore &&"
                   " printf 'ffffffff81000040 T _stext\\nffffffff81000000 T "
                   "_text\\n0000000000000000 A _text\\n'"
                   " >rec/kcore_dir/kallsyms"), 0);
    CHECK_EQ(run("-o out.d rec"), 0);
    check_file("out.d/rec-aux-idx5.bin", "\6\6\6\6\6\6\6\6\6\6\6\6\6\6\6\6");
    check_file("out.d/kcore_dir/kcore", "kcore\n");
    CHECK(holds("out", " --pevent:kcore out.d/kcore_dir/kcore"
                " --pevent:kernel-start 0xffffffff81000000 "));
    remove_all("out.d");
    CHECK_EQ(run("perf.data"), 0); // the default's name
    CHECK(exists("perf.data.split/perf.data-aux-idx0.bin"));
    remove_all("perf.data.split");
    remove_all("rec");
}

/* As perf record --threads makes it: data has the header, and records are in
 * data.0 and so on, too. A link leads to nothing outside of the folder. */
TEST(folder_of_threads)
{
    for (big = 0; big < 2; big++) {
        CHECK_EQ(shell("mkdir -p rec"), 0);
        start_file();
        put_info(1, 0);
        put_comm("early", 3, 200, 1, 11);
        patch(48, whole_size - 288);
        patch(72, 1 << 24);
        put(whole_size + 16, 8);
        put(8, 8);
        put(1, 8);
        append();
        save("rec/data", whole, whole_size);
        whole_size = 0;
        put_comm("late", 3, 300, 1, 11);
        put_auxtrace(24, 0, 0, 0, 0);
        put_auxtrace(16, 0, 5, 0, 1);
        begin(68, 0);
        append_record();
        save("rec/data.0", whole, whole_size);
        whole_size = 0;
        put_map(code_name, 1, 100, 0);
        put_comm("middle", 3, 250, 1, 11);
        put_auxtrace(8, 24, 0, 0, 0);
        save("rec/data.1", whole, whole_size);
        save("outside", whole, whole_size);
        CHECK_EQ(symlink("../outside", "rec/data.2"), 0);
        CHECK_EQ(run("-o out.d rec"), 0);
        check_file("err", "");
        check_file("out.d/rec-aux-idx0.bin",
                   "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
                   "\1\1\1\1\1\1\1\1");
        check_file("out.d/rec-aux-idx5.bin",
                   "\6\6\6\6\6\6\6\6\6\6\6\6\6\6\6\6");
        check_comms("out.d/rec-sideband-cpu1.pevent", "early,middle,late,");
        check_comms("out.d/rec-sideband-cpu0.pevent", "map,");
        remove_all("out.d");
        save("rec/data.1", whole, whole_size - 9); // it ends inside
        CHECK_EQ(run("-o out.d rec"), 1);
        SAYS("the file ends inside");
        check_comms("out.d/rec-sideband-cpu1.pevent", "early,middle,late,");
        remove_all("out.d");
        remove_all("rec");
        remove("outside");
    }
    big = 0;
}

#ifdef HAVE_ZSTD

/* Compress plain bytes into a COMPRESSED record that ends with a flush, as perf
 * does: one stream for all of them. */
static void put_compressed(ZSTD_CStream *stream, const uint8_t *plain,
                           size_t size)
{
    ZSTD_inBuffer from = {plain, size, 0};
    ZSTD_outBuffer to = {built, 60000, 8};
    begin(81, 0);
    while (from.pos < from.size)
        CHECK(!ZSTD_isError(ZSTD_compressStream(stream, &to, &from)));
    CHECK_EQ(ZSTD_flushStream(stream, &to), 0);
    built_size = to.pos;
    append_record();
}

/* The records of make_recording, compressed; one is cut in two. */
TEST(compressed)
{
    static uint8_t plain[1 << 12];
    ZSTD_CStream *stream = ZSTD_createCStream();
    size_t from;
    size_t size;
    start_file();
    put_info(1, 0);
    from = whole_size;
    make_recording(code_name);
    for (size = 0; whole[from + size] != 71; size += whole[from + size + 6])
        CHECK(size < sizeof plain);
    memcpy(plain, whole + from, size);
    start_file();
    put_info(1, 0);
    put_compressed(stream, plain, 100);
    put_auxtrace(24, 0, 0, 0, 0);
    put_compressed(stream, plain + 100, size - 100);
    put_auxtrace(16, 0, 5, 0, 1);
    put_auxtrace(8, 24, 0, 0, 0);
    finish_file();
    save("perf.data", whole, whole_size);
    ZSTD_freeCStream(stream);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    check_recording();
    remove_all("out.d");
    // damaged in the first frame's header
    whole[from + 8] ^= 0xff;
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d perf.data"), 1);
    SAYS("compressed bytes are damaged");
    remove_all("out.d");
}

/* A frame that wants 1 << (10 + `log`) bytes of memory, with a block of what it
 * is given, as it is. */
static void put_frame(unsigned log, const uint8_t *plain, size_t size)
{
    begin(81, 0);
    put(0xfd2fb528, 4);
    put(0, 1);
    put(log << 3, 1);
    put(size << 3 | 1, 3);
    memcpy(built + built_size, plain, size);
    built_size += size;
    append_record();
}

/* Up to 128 MiB, as zstd -22 wants: a file cannot ask for more. */
TEST(compressed_window)
{
    static uint8_t plain[1 << 10];
    size_t size;
    whole_size = 0;
    put_comm("early", 3, 200, 1, 11);
    size = whole_size;
    memcpy(plain, whole, size);
    for (unsigned log = 15; log <= 21; log++) {
        const int fits = log <= 17;
        start_file();
        put_info(1, 0);
        put_frame(log, plain, size);
        put_auxtrace(24, 0, 0, 0, 0);
        finish_file();
        save("perf.data", whole, whole_size);
        CHECK_EQ(run("-o out.d perf.data"), !fits);
        if (fits)
            check_comms("out.d/perf.data-sideband-cpu1.pevent", "early,");
        else
            SAYS("compressed bytes are damaged");
        remove_all("out.d");
    }
}

#else

TEST(compressed)
{
    test_skip("no zstd (package libzstd-dev)");
}

TEST(compressed_window)
{
    test_skip("no zstd (package libzstd-dev)");
}

#endif

TEST(by_thread)
{
    start_file();
    put_info(0, 0);
    put_comm("a", 30, 5, 0, 10);
    put_comm("made up", 0, 0, 0, 0);
    memset(whole + whole_size - 32, 0, 8); // of no process
    put_auxtrace(16, 0, 0, 30, 0xffffffff);
    put_auxtrace(16, 0, 1, 31, 0xffffffff);
    finish_file();
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d --ptxed perf.data"), 0);
    check_comms("out.d/perf.data-sideband-pid1.pevent", "a,");
    check_comms("out.d/perf.data-sideband.pevent", "made up,");
    CHECK(holds("out", "# thread 30\nptxed --cpu 6/94/3 --mtc-freq 3 --nom-freq"
                " 32 --cpuid-0x15.eax 2 --cpuid-0x15.ebx 266"
                " --pevent:sample-type 0x10086"
                " --pevent:sample-config 0x14:0x10006"
                " --pevent:tsc-offset 0x7fffffffffffffff"
                " --pevent:sysroot out.d/sysroot"
                " --pevent:secondary out.d/perf.data-sideband.pevent"
                " --pevent:primary out.d/perf.data-sideband-pid1.pevent"
                " --pt out.d/perf.data-aux-idx0.bin\n# thread 31\n"));
    CHECK(!strstr(text, "ptdump"));
    remove_all("out.d");
}

TEST(snapshots)
{
    start_file();
    put_info(1, 1);
    put_auxtrace(16, 64, 0, 0, 3);
    put_auxtrace(16, 64, 0, 0, 3);
    finish_file();
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d --ptdump perf.data"), 0);
    CHECK_EQ(load("out.d/perf.data-aux-idx0.0.bin"), 16);
    CHECK_EQ(load("out.d/perf.data-aux-idx0.1.bin"), 16);
    CHECK(holds("out", "perf.data-aux-idx0.0.bin\n# cpu 3\nptdump "));
    remove_all("out.d");
}

TEST(losses)
{
    start_file();
    put_info(1, 0);
    put_auxtrace(16, 0, 0, 0, 1);
    begin(11, 0);
    put(0, 8);
    put(8, 8);
    put(1, 8);
    put_samples(4, 50, 1, 10);
    append_record();
    begin(2, 0);
    put(10, 8);
    put(77, 8);
    put_samples(4, 60, 1, 10);
    append_record();
    finish_file();
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    SAYS("perf lost 77 records");
    SAYS("trace 0: 1 gap:");
    remove_all("out.d");
}

/* The words that the shell makes of a line are those that were meant. */
TEST(quoting)
{
    char command[8192];
    make_recording(code_name);
    save("ptxed", "#!/bin/sh\nprintf '%s\\n' \"$@\" >words\n", 37);
    chmod("ptxed", 0755);
    CHECK_EQ(run("--ptxed -o \"it's \\$HOME;x *\" perf.data"), 0);
    snprintf(command, sizeof command, "PATH=%s:$PATH sh out", top);
    CHECK_EQ(shell(command), 0);
    CHECK(holds("words", "\n--pevent:sysroot\nit's $HOME;x */sysroot\n"));
    CHECK(holds("words", "\n--pt\nit's $HOME;x */perf.data-aux-idx5.bin\n"));
    remove_all("it's $HOME;x *");
    unlink("ptxed");
}

/* ---- builds ---- */

/* An ELF file with a build id, and one that it is not. */
static void save_elf(const char *name, const char *id, size_t id_size,
                     int machine)
{
    uint8_t elf[256] = "\177ELF\2\1\1";
    elf[4] = id_size ? 2 : 1; // without an id: 32 bits
    elf[18] = (uint8_t) machine;
    elf[32] = 64; // program headers: one
    elf[54] = 56;
    elf[56] = 1;
    elf[64] = 4; // a note
    elf[72] = 128;
    elf[96] = (uint8_t) (16 + id_size);
    elf[128] = 4;
    elf[132] = (uint8_t) id_size;
    elf[136] = 3;
    memcpy(elf + 140, "GNU", 4);
    memcpy(elf + 144, id, id_size);
    save(name, elf, sizeof elf);
}

static void make_build(const char *name, const char *id, size_t size)
{
    start_file();
    put_info(1, 0);
    put_map_of_build(name, id, size);
    put_auxtrace(16, 0, 0, 0, 0);
    finish_file();
    save("perf.data", whole, whole_size);
}

TEST(builds)
{
    char name[320];
    char copy[400];
    snprintf(name, sizeof name, "%s/elf", top);
    snprintf(copy, sizeof copy, "out.d/sysroot%s", name);
    save_elf("elf", "\1\2\3\4\5\6\7\x8", 8, 62);
    make_build(name, "\1\2\3\4\5\6\7\x8", 8);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    CHECK_EQ(load(copy), 256);
    check_file("err", "");
    remove_all("out.d");
    make_build(name, "\1\2\3\4\5\6\7\x9", 8);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    CHECK(!exists(copy));
    SAYS("another build");
    remove_all("out.d");
    CHECK_EQ(run("--force -o out.d perf.data"), 0);
    CHECK_EQ(load(copy), 256);
    remove_all("out.d");
    // perf's cache has it
    CHECK_EQ(shell("mkdir -p cache/.build-id/01/02030405060709 &&"
                   " printf '\\177ELFcached' >cache/.build-id/01/02030405060709/elf &&"
                   " mkdir -p home && ln -s ../cache home/.debug"), 0);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    check_file(copy, CODE "cached");
    remove_all("out.d");
    remove_all("home");
    CHECK_EQ(run("--buildid-dir cache -o out.d perf.data"), 0);
    check_file(copy, CODE "cached");
    remove_all("out.d");
    remove_all("cache");
}

/* What a build id is in a path is checked: of any bytes and any size it is
 * nothing but hex, and one that is too long or short is none. */
TEST(hostile_builds)
{
    static const struct {
        uint8_t size;
        const char *bytes;
        int cached; // the cache has it
    } ids[] = {
        {20, "/../../../../../evil", 0}, {20, "\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0", 0}, {2, "..", 1}, {1, ".", 0}, {0, "", 0},
        {21, "....................", 0}, {255, "....................", 0}
    };
    char name[320];
    char copy[400];
    snprintf(name, sizeof name, "%s/elf", top);
    snprintf(copy, sizeof copy, "out.d/sysroot%s", name);
    save_elf("elf", "..", 2, 62);
    CHECK_EQ(shell("mkdir -p cache/.build-id/2e/2e evil cache/.build-id/.."
                   "/evil && echo evil | tee evil/elf cache/evil/elf"
                   " cache/.build-id/elf >cache/elf &&"
                   " printf '\\177ELFcached' >cache/.build-id/2e/2e/elf"), 0);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        make_build(name, ids[i].bytes, ids[i].size > 20 ? 20 : ids[i].size);
        CHECK_EQ(whole[288 + whole[288 + 6]], 10); // after AUXTRACE_INFO
        if (ids[i].size > 20) whole[288 + whole[288 + 6] + 40] = ids[i].size;
        save("perf.data", whole, whole_size);
        run("--buildid-dir cache -o out.d perf.data");
        if (ids[i].cached) check_file(copy, CODE "cached");
        else CHECK(load(copy) <= 0 || !strstr(text, "evil"));
        remove_all("out.d");
    }
    remove_all("cache");
    remove_all("evil");
}

TEST(vdso)
{
    save_elf("vdso", "\1\2\3\4\5\6\7\x8", 8, 62);
    make_build("[vdso]", "\1\2\3\4\5\6\7\x8", 8);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    SAYS("[vdso]: its file is not known");
    remove_all("out.d");
    CHECK_EQ(run("--vdso vdso -o out.d perf.data"), 0);
    CHECK_EQ(load("out.d/sysroot/vdso/vdso-x64.so"), 256);
    CHECK(holds("out", " --pevent:vdso-x64 out.d/sysroot/vdso/vdso-x64.so "));
    remove_all("out.d");
    CHECK_EQ(shell("mkdir -p cache/.build-id/01/02030405060708 && cp vdso"
                   " cache/.build-id/01/02030405060708/vdso"), 0);
    CHECK_EQ(run("--buildid-dir cache -o out.d perf.data"), 0);
    CHECK_EQ(load("out.d/sysroot/vdso/vdso-x64.so"), 256);
    remove_all("out.d");
    remove_all("cache");
    make_recording("[vdso]");
    CHECK_EQ(run("-o out.d perf.data"), 0); // of another kernel
    CHECK(!exists("out.d/sysroot"));
    remove_all("out.d");
#ifdef __x86_64__
    patch(72, 0); // no features: nothing says that it is not ours
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    SAYS("warning: that of this machine is taken");
    CHECK(load("out.d/sysroot/vdso/vdso-x64.so") > 1000);
    CHECK(!memcmp(text, "\177ELF", 4));
    remove_all("out.d");
#endif
    make_build("[vdso]", "\1\2\3\4\5\6\7\x8", 8);
    save_elf("vdso", "", 0, 3); // what it is, not what it is called
    CHECK_EQ(run("--vdso vdso -o out.d perf.data"), 0);
    CHECK(holds("out", "-ia32 out.d/sysroot/vdso/vdso-ia32.so "));
    remove_all("out.d");
    save_elf("vdso", "", 0, 62);
    CHECK_EQ(run("--vdso vdso -o out.d perf.data"), 0);
    CHECK(holds("out", "-x32 out.d/sysroot/vdso/vdso-x32.so "));
    remove_all("out.d");
    save_elf("vdso", "", 0, 40);
    CHECK_EQ(run("--vdso vdso -o out.d perf.data"), 0);
    CHECK(!exists("out.d/sysroot"));
    remove_all("out.d");
}

/* ---- hostile names ---- */

/* Write down what is there, except in out.d and what each run makes. */
static void list_files(const char *to)
{
    char command[512];
    snprintf(command, sizeof command, "find . -path ./out.d -prune -o -type f"
             " ! -name out ! -name err ! -name perf.data ! -name before"
             " ! -name after -print | sort | xargs -d '\\n' md5sum >%s", to);
    CHECK_EQ(shell(command), 0);
}

/* Nothing has appeared but in out.d; nothing that was there has changed. */
static void check_outside(void)
{
    list_files("after");
    CHECK_EQ(shell("cmp after before && grep -q victim before"), 0);
}

TEST(hostile_names)
{
    static const char *const refused[] = {
        "/..", "/../no-such-x", "/no-such-a/../../x", "..", "../x",
        "a/../../../x", "x", "", "/", "//", "/.", "/proc/self/maps", "/proc/version", "/sys/power/state",
        "/dev/null", "/dev/tty", "/tmp", "/tmp/", "[stack]", "//anon",
        "/memfd:x (deleted)", "anon_inode:[x]", "/SYSV00000000 (deleted)",
    };
    char name[5000];
    save("victim", "victim", 6);
    shell("rm -f fifo link; mkfifo fifo; ln -s /proc/version link");
    list_files("before");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        make_recording(refused[i]);
        CHECK_EQ(run("-o out.d perf.data"), 0);
        if (!CHECK(!exists("out.d/sysroot"))) printf("    %s\n", refused[i]);
        remove_all("out.d");
    }
    snprintf(name, sizeof name, "%s/fifo", top);
    make_recording(name);
    CHECK_EQ(run("-o out.d perf.data"), 0); // and does not wait
    SAYS("not a file");
    remove_all("out.d");
    snprintf(name, sizeof name, "%s/link", top);
    make_recording(name);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    SAYS("not a file");
    CHECK(!exists("out.d/sysroot"));
    remove_all("out.d");
    // up and down again would be a file, if it were followed
    snprintf(name, sizeof name, "%s/../in/victim", top);
    make_recording(name);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    CHECK(!exists("out.d/sysroot/victim"));
    remove_all("out.d");
    memset(name, 'n', 4000);
    memcpy(name, "/", 1);
    name[4000] = 0;
    make_recording(name);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    remove_all("out.d");
    make_recording("/a\033[31m\nb");
    CHECK_EQ(run("-o out.d perf.data"), 0);
    SAYS("/a\\x1b[31m\\x0ab: cannot be copied");
    remove_all("out.d");
    check_outside();
}

/* One name is a folder of another; the same in many ways. */
TEST(names_in_the_way)
{
    char a[400];
    char b[400];
    char c[400];
    snprintf(a, sizeof a, "%s/one", top);
    snprintf(b, sizeof b, "%s/two/three", top);
    snprintf(c, sizeof c, "//%s/.//one", top);
    save("one", CODE "1", 5);
    mkdir("two", 0777);
    save("two/three", CODE "3", 5);
    start_file();
    put_info(1, 0);
    put_map(a, 1, 1, 0);
    put_map(b, 1, 2, 0);
    put_map(c, 1, 3, 0);
    put_map(a, 1, 4, 0);
    put_auxtrace(16, 0, 0, 0, 0);
    finish_file();
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d perf.data"), 0);
    snprintf(a, sizeof a, "out.d/sysroot%s/two/three", top);
    check_file(a, CODE "3");
    snprintf(a, sizeof a, "out.d/sysroot%s/one", top);
    check_file(a, CODE "1");
    remove_all("out.d");
    remove_all("two");
    unlink("one");
}

/* What exists is kept by another name: a folder, a file, a link to a folder; but
 * not instead of a folder of that name. */
TEST(existing)
{
    make_recording(code_name);
    mkdir("there", 0777);
    save("there/x", "x", 1);
    save("file", "x", 1);
    CHECK_EQ(symlink("there", "to"), 0);
    CHECK_EQ(run("-o to perf.data"), 0);
    CHECK(exists("to/perf.data-aux-idx0.bin"));
    CHECK(exists("to.old/x"));
    CHECK_EQ(run("--out=there perf.data"), 0);
    check_file("there.old/x", "x");
    CHECK_EQ(run("-ofile perf.data"), 0);
    check_file("file.old", "x");
    CHECK_EQ(run("-o there perf.data"), 1);
    SAYS("cannot rename there to there.old: ");
    CHECK(exists("there/perf.data-aux-idx0.bin"));
    CHECK_EQ(run("-o no/folder perf.data"), 1);
    SAYS("No such file");
    remove_all("there");
    remove_all("there.old");
    remove_all("file");
    remove_all("to");
    unlink("file.old");
    unlink("to.old");
}

/* Below the folder that stands for the root, and nowhere else; but a link that
 * the user has put there may lead to a program elsewhere. */
TEST(symfs)
{
    shell("mkdir -p elsewhere fs/lib && printf '\\177ELFout\\n' >elsewhere/x &&"
          " printf outside >elsewhere/y && ln -s ../../elsewhere fs/lib/out &&"
          " ln -s ../../elsewhere/x fs/lib/x");
    shell("mkdir -p fs/bin fs/lib && printf '\\177ELFin\\n' >fs/bin/x && cd fs/lib &&"
          " ln -s /bin/x absolute && ln -s ../../../../bin/x up &&"
          " ln -s /etc/passwd passwd &&"
          " ln -s ../../../../../../../../etc/passwd up2 && mkfifo ../fifo");
    start_file();
    put_info(1, 0);
    put_map("/bin/x", 1, 1, 0);
    put_map("/lib/absolute", 1, 1, 0);
    put_map("/lib/up", 1, 1, 0);
    put_map("/lib/passwd", 1, 1, 0);
    put_map("/lib/up2", 1, 1, 0);
    put_map("/lib/x", 1, 1, 0);
    put_map("/lib/out/x", 1, 1, 0);
    put_map("/lib/out/y", 1, 1, 0);
    put_map("/lib/../../elsewhere/x", 1, 1, 0);
    put_map("/fifo", 1, 1, 0);
    put_map("/etc/passwd", 1, 1, 0);
    put_auxtrace(16, 0, 0, 0, 0);
    finish_file();
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("--symfs fs -o out.d perf.data"), 0);
    check_file("out.d/sysroot/bin/x", CODE "in\n");
    if (exists("out.d/sysroot/lib/absolute")) { // needs Linux 5.6
        check_file("out.d/sysroot/lib/absolute", CODE "in\n");
        check_file("out.d/sysroot/lib/up", CODE "in\n");
    }
    CHECK(!exists("out.d/sysroot/lib/passwd"));
    CHECK(!exists("out.d/sysroot/lib/up2"));
    if (exists("out.d/sysroot/lib/absolute")) {
        check_file("out.d/sysroot/lib/x", CODE "out\n");
        check_file("out.d/sysroot/lib/out/x", CODE "out\n");
    }
    CHECK(!exists("out.d/sysroot/lib/out/y"));
    CHECK(!exists("out.d/sysroot/elsewhere"));
    CHECK(!exists("out.d/sysroot/etc"));
    CHECK(!exists("out.d/sysroot/fifo"));
    remove_all("out.d");
    remove_all("fs");
    remove_all("elsewhere");
}

/* ---- hostile files ---- */

/* Any end of the program but a status is a failure. There are many runs, so
 * they do without a shell. */
static void run_damaged(void)
{
    int status = -1;
    pid_t child;
    save("perf.data", whole, whole_size);
    child = fork();
    if (child == 0) {
        if (!freopen("out", "wb", stdout) || !freopen("err", "wb", stderr))
            _exit(2);
        alarm(20);
        execl(tool, "ptsplit", "-o", "out.d", "perf.data", (char *) NULL);
        _exit(2);
    }
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) <= 1);
    remove_all("out.d");
}

TEST(cut)
{
    size_t all;
    make_recording(code_name);
    all = whole_size;
    for (whole_size = 0; whole_size < all; whole_size += 1 + whole_size % 5) {
        if (!chosen()) continue;
        run_damaged();
        if (whole_size > 300 && whole_size + 168 < all)
            SAYS(": at 0x");
    }
}

TEST(changed)
{
    make_recording(code_name);
    save("victim", "victim", 6);
    list_files("before");
    for (size_t at = 0; at < whole_size; at++) {
        const uint8_t was = whole[at];
        if ((whole[at] == 0 && at % 3) || !chosen()) continue;
        whole[at] = (uint8_t) (at % 2 ? 0xff : was + 1);
        run_damaged();
        whole[at] = was;
    }
    check_outside();
}

/* Each trace's command names all sideband: that has an end. */
TEST(many_cpus)
{
    char command[8192];
    big = 0;
    start_file();
    put_info(1, 0);
    for (uint32_t i = 0; i < 1100; i++) {
        begin(14, 0);
        put_samples(1, 1, i, 11);
        append_record();
        put_auxtrace(0, 0, i, 0, i);
    }
    finish_file();
    save("perf.data", whole, whole_size);
    snprintf(command, sizeof command, "timeout 300 %s -o out.d --ptxed perf.data"
             " 2>err | grep -c '^ptxed' >out", tool);
    CHECK_EQ(shell(command), 0);
    SAYS("no more command lines");
    check_file("out", "953\n"); // 953 x 1100 is just below 2^20
    CHECK(exists("out.d/perf.data-aux-idx1099.bin"));
    remove_all("out.d");
}

TEST(no_trace)
{
    save("perf.data", "PERFILE1PERFILE1", 16);
    CHECK_EQ(run("-o out.d perf.data"), 1);
    SAYS("perf.data: at 0x0: not a perf.data file");
    start_file();
    finish_file();
    save("perf.data", whole, whole_size);
    CHECK_EQ(run("-o out.d perf.data"), 1);
    SAYS("there is no trace in it");
    CHECK(!exists("out.d"));
    CHECK_EQ(run("-o out.d nothing"), 1);
    SAYS("nothing: No such file or directory");
    CHECK_EQ(run("-o out.d /dev/zero"), 1);
    SAYS("/dev/zero: not a file");
}

TEST(options)
{
    CHECK_EQ(run("--help"), 0);
    CHECK(holds("out", "usage: "));
    CHECK_EQ(run("--version"), 0);
    CHECK(holds("out", "ptsplit-"));
    CHECK_EQ(run("--nothing"), 2);
    SAYS("unknown option: --nothing");
    CHECK_EQ(run("--out"), 2);
    SAYS("--out: missing argument");
    unlink("perf.data");
    CHECK_EQ(run(""), 2);
    SAYS("no file, and no perf.data here");
    CHECK_EQ(run("a b"), 2);
    SAYS("more than one file: b");
}

/* A recording names any file; what is passed on is code, and is for its owner to
 * pass on. */
TEST(not_code)
{
    char name[320];
    char copy[400];
    struct stat info;
    snprintf(name, sizeof name, "%s/secret", top);
    snprintf(copy, sizeof copy, "out.d/sysroot%s", name);
    save("secret", "\177EL of a key", 13);
    make_recording(name);
    CHECK_EQ(run("-o out.d"), 0);
    SAYS("secret: is left out: not an ELF file");
    CHECK(!exists(copy));
    remove_all("out.d");
    CHECK_EQ(run("--strict -o out.d"), 1);
    remove_all("out.d");
    make_recording(code_name);
    CHECK_EQ(run("-o out.d"), 0);
    snprintf(copy, sizeof copy, "out.d/sysroot%s", code_name);
    CHECK_EQ(stat(copy, &info), 0);
    CHECK_EQ(info.st_mode & 0777, 0600);
    remove_all("out.d");
}

/* After a warning, here of a file that is not there. */
TEST(strict)
{
    make_recording(code_name);
    CHECK_EQ(run("--strict -o out.d"), 0);
    remove_all("out.d");
    make_recording("/none");
    CHECK_EQ(run("-o out.d"), 0);
    SAYS("/none: ");
    remove_all("out.d");
    CHECK_EQ(run("--strict -o out.d"), 1);
    remove_all("out.d");
}

int main(void)
{
    const char *build = getenv("BUILD");
    char here[4000];
    if (!build) build = "build";
    // what a sanitizer finds is not one of ptsplit's statuses
    setenv("ASAN_OPTIONS", "exitcode=99", 0);
    setenv("UBSAN_OPTIONS", "exitcode=99", 0);
    if (!getcwd(here, sizeof here) || !mkdtemp(tmp_name(above, sizeof above, "ptsplit")))
        return 2;
    snprintf(top, sizeof top, "%s/in", above);
    snprintf(tool, sizeof tool, "%s%s%s/ptsplit", *build == '/' ? "" : here,
             *build == '/' ? "" : "/", build);
    if (mkdir(top, 0777) || chdir(top)) return 2;
    snprintf(code_name, sizeof code_name, "%s/code", top);
    save(code_name, CODE, sizeof CODE - 1);
    RUN(by_cpu);
    RUN(rounds);
    RUN(other_forms);
    RUN(folder_of_threads);
    RUN(compressed);
    RUN(compressed_window);
    RUN(by_thread);
    RUN(snapshots);
    RUN(losses);
    RUN(quoting);
    RUN(builds);
    RUN(hostile_builds);
    RUN(vdso);
    RUN(hostile_names);
    RUN(names_in_the_way);
    RUN(existing);
    RUN(symfs);
    RUN_BOTH(cut);
    RUN_BOTH(changed);
    RUN(many_cpus);
    RUN(no_trace);
    RUN(options);
    RUN(not_code);
    RUN(strict);
    if (chdir("/")) return 2;
    remove_all(above);
    return test_report();
}
