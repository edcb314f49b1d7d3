/* spaces.c: which code was where, as time goes on (common/flow/spaces.h), with
 * files made here and records filled in by hand. */
#define _GNU_SOURCE // below.c's O_PATH
#include "linked.h"
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
#include "scratch.h"
#include "test.h"

/* ---- files ---- */

static void save_text(const char *name, const char *text)
{
    save(name, text, strlen(text));
}

static void folder(const char *name)
{
    if (mkdir(at_top(name), 0777) && errno != EEXIST) {
        perror(name);
        exit(2);
    }
}

static void store(uint8_t *to, uint64_t value, unsigned size)
{
    for (; size; size--, value >>= 8) *to++ = (uint8_t) value;
}

/* An ELF file: a header, a PT_NOTE with a build id of two bytes, a PT_LOAD with
 * 16 bytes of code at 0x100, for this address. */
static void save_elf(const char *name, const char *id, const char *code,
                     uint64_t address)
{
    uint8_t elf[0x110];
    memset(elf, 0, sizeof elf);
    memcpy(elf, "\177ELF\2\1\1", 7);
    store(elf + 18, 62, 2);
    store(elf + 32, 64, 8);
    store(elf + 54, 56, 2);
    store(elf + 56, 2, 2);
    store(elf + 64, 4, 4); // PT_NOTE
    store(elf + 64 + 8, 0xe0, 8);
    store(elf + 64 + 32, 20, 8);
    store(elf + 120, 1, 4); // PT_LOAD
    store(elf + 120 + 8, 0x100, 8);
    store(elf + 120 + 16, address, 8);
    store(elf + 120 + 32, 16, 8);
    store(elf + 0xe0, 4, 4);
    store(elf + 0xe4, 2, 4);
    store(elf + 0xe8, 3, 4);
    memcpy(elf + 0xec, "GNU", 4);
    memcpy(elf + 0xf0, id, 2);
    memcpy(elf + 0x100, code, 16);
    save(name, elf, sizeof elf);
}

/* What is printed to standard error goes to top/err until `loud`. */
static int loud_stderr = -1;

static void quiet(void)
{
    fflush(stderr);
    loud_stderr = dup(2);
    if (!freopen(at_top("err"), "w", stderr)) exit(2);
}

static void loud(void)
{
    fflush(stderr);
    dup2(loud_stderr, 2);
    close(loud_stderr);
}

/* How many lines were printed; all have this text. */
static unsigned printed(const char *text)
{
    char line[1024];
    FILE *f = fopen(at_top("err"), "r");
    unsigned lines = 0;
    for (; f && fgets(line, sizeof line, f); lines++)
        if (!CHECK(strstr(line, text) != NULL)) puts(line);
    if (f) fclose(f);
    return lines;
}

/* ---- a session ---- */

static const tool_args args = {"spaces", NULL, NULL, 1};
static spaces s;
static spaces_change last; /* what changed last */
static int is_started;

static void begin(void)
{
    spaces_init(&s, &args);
    is_started = 0;
}

/* One option and its argument. */
static void option(const char *word, const char *argument)
{
    static char *words[2];
    tool_args line = {"spaces", words, NULL, 1};
    words[0] = (char *) (uintptr_t) argument;
    CHECK_EQ((unsigned) spaces_option(&line, &s, word), (unsigned) -1);
}

/* An option for all, and for one process; the words have to stay. */
static void option_twice(const char *name, const char *all, unsigned pid,
                         const char *own)
{
    static char text[300];
    option(name, at_top(all));
    snprintf(text, sizeof text, "%u:%s", pid, at_top(own));
    option(name, text);
}

static void start(void)
{
    if (!is_started) CHECK_EQ(spaces_start(&s), 0);
    is_started = 1;
}

static int apply(const perfdata_record *r)
{
    start();
    memset(&last, 0, sizeof last);
    return spaces_apply(&s, r, &last);
}

static void finish(void)
{
    start();
    spaces_free(&s);
}

/* The code that a process sees at ip, as text, '.' for what is missing. */
static void sees_as(uint32_t pid, const ipt_asid *asid, uint64_t ip,
                    const char *want)
{
    const size_t size = strlen(want);
    spaces_view view = {&s, pid};
    char got[65] = "";
    for (size_t i = 0; i < size; i++) {
        uint8_t byte;
        const int n = spaces_read(&byte, 1, asid, ip + i, &view);
        got[i] = n == 1 ? (char) byte : '.';
        if (n != 1) CHECK_EQ(n, IPT_NEED_PAGE);
    }
    if (!CHECK(strcmp(got, want) == 0))
        printf("    process %u at 0x%llx: got %s, want %s\n", pid,
               (unsigned long long) ip, got, want);
    if (want[0] != '.') { // in one piece, too
        uint8_t bytes[64];
        const size_t there = strcspn(want, ".");
        const int n = spaces_read(bytes, there, asid, ip, &view);
        CHECK(n == (int) there);
        CHECK(memcmp(bytes, want, there) == 0);
    }
}

static void sees(uint32_t pid, uint64_t ip, const char *want)
{
    sees_as(pid, &image_everywhere, ip, want);
}

static uint64_t number_of(uint32_t pid)
{
    spaces_view view = {&s, pid};
    return spaces_number(&image_everywhere, &view);
}

#define CHANGED(of, from, bytes)                                              \
    (CHECK_EQ(last.pid, of), CHECK_EQ(last.ip, from),                         \
     CHECK_EQ(last.size, bytes))

/* ---- records ---- */

static perfdata_record record;

static perfdata_record *fresh(uint32_t type, unsigned misc, uint64_t time)
{
    memset(&record, 0, sizeof record);
    record.type = type;
    record.misc = (uint16_t) misc;
    record.sample.time = time;
    return &record;
}

static perfdata_record *map(uint32_t pid, uint64_t addr, uint64_t len,
                            uint64_t pgoff, const char *name)
{
    perfdata_record *r = fresh(PERFDATA_MMAP2, PERFDATA_MISC_USER, 1);
    r->u.mmap.pid = pid;
    r->u.mmap.addr = addr;
    r->u.mmap.len = len;
    r->u.mmap.pgoff = pgoff;
    r->u.mmap.prot = 5;
    r->u.mmap.name = name;
    return r;
}

static perfdata_record *map_build(uint32_t pid, uint64_t addr,
                                  const char *name, const char *id)
{
    perfdata_record *r = map(pid, addr, 16, 0x100, name);
    r->u.mmap.build_id_size = 2;
    memcpy(r->u.mmap.build_id, id, 2);
    return r;
}

static perfdata_record *fork_of(uint32_t pid, uint32_t parent, unsigned misc)
{
    perfdata_record *r = fresh(PERFDATA_FORK, misc, 1);
    r->u.task.pid = r->u.task.tid = pid;
    r->u.task.ppid = r->u.task.ptid = parent;
    return r;
}

static perfdata_record *exec_of(uint32_t pid)
{
    perfdata_record *r = fresh(PERFDATA_COMM, PERFDATA_MISC_COMM_EXEC, 1);
    r->u.comm.pid = r->u.comm.tid = pid;
    r->u.comm.name = "x";
    return r;
}

static perfdata_record *poke_of(uint64_t addr, const char *before,
                                const char *after)
{
    perfdata_record *r = fresh(PERFDATA_TEXT_POKE, 0, 5);
    r->u.text_poke.addr = addr;
    r->u.text_poke.old_len = (uint16_t) strlen(before);
    r->u.text_poke.new_len = (uint16_t) strlen(after);
    r->u.text_poke.old_bytes = (const uint8_t *) before;
    r->u.text_poke.new_bytes = (const uint8_t *) after;
    return r;
}

static perfdata_record *symbol_of(uint64_t addr, uint32_t len, unsigned flags,
                                  uint64_t time)
{
    perfdata_record *r = fresh(PERFDATA_KSYMBOL, PERFDATA_MISC_KERNEL, time);
    r->u.ksymbol.addr = addr;
    r->u.ksymbol.len = len;
    r->u.ksymbol.kind = 1;
    r->u.ksymbol.flags = (uint16_t) flags;
    r->u.ksymbol.name = "x";
    return r;
}

/* ---- processes and mappings ---- */

TEST(mappings)
{
    begin();
    CHECK_EQ(apply(map(1, 0x1000, 4, 2, at_top("a"))), 1);
    CHANGED(1, 0x1000, 4);
    CHECK(last.is_new);
    sees(1, 0xfff, ".2345.");
    sees(2, 0x1000, "....");
    sees(0, 0x1000, "....");
    CHECK_EQ(apply(map(1, 0x1002, 4, 0, at_top("b"))), 1);
    sees(1, 0x1000, "23abcd.");
    CHECK(!last.is_new);
    CHECK_EQ(apply(map(1, 0x2000, 0x1000, 8, at_top("b"))), 1);
    CHECK(last.is_new);
    sees(1, 0x2000, "ij."); // the file ends
    CHECK_EQ(apply(map(1, 0x1000, 0, 8, at_top("b"))), 0);
    CHECK_EQ(apply(map(1, UINT64_MAX, 2, 0, at_top("b"))), 0);
    CHECK_EQ(s.losses.no_file, 0);
    CHECK_EQ(apply(map(1, 0x1002, 1, 0, at_top("none"))), 1);
    sees(1, 0x1000, "23.bcd.");
    CHECK_EQ(s.losses.no_file, 1);
    CHECK_EQ(apply(map(1, 0x1002, 1, 0, at_top("none"))), 1);
    CHECK_EQ(apply(map(1, 0x1002, 1, 0, at_top("nor this"))), 1);
    CHECK_EQ(s.losses.no_file, 3);
    CHECK(strcmp(s.no_file[0], at_top("none")) == 0);
    CHECK(strcmp(s.no_file[1], at_top("nor this")) == 0);
    CHECK(!s.no_file[2]); // each name once
    CHECK_EQ(apply(map(1, 0x1003, 1, 100, at_top("a"))), 1); // beyond its end
    CHECK_EQ(s.losses.no_file, 4);
    sees(1, 0x1000, "23..cd.");
    finish();
}

/* A mapping that is reported again, whole, and one that is not code now. */
TEST(mprotect)
{
    perfdata_record *r;
    begin();
    CHECK_EQ(apply(map(1, 0x1000, 10, 0, at_top("a"))), 1);
    CHECK_EQ(apply(map(1, 0x1002, 4, 2, at_top("a"))), 0);
    CHECK_EQ(apply(map(1, 0x1000, 10, 0, at_top("a"))), 0);
    CHECK_EQ(apply(map(1, 0x1000, 4096, 0, at_top("a"))), 0); // to a page
    CHECK_EQ(apply(map(1, 0x1002, 4, 3, at_top("a"))), 1);
    sees(1, 0x1000, "0134566789.");
    CHECK_EQ(apply(map(1, 0x1000, 10, 0, at_top("a"))), 1);
    sees(1, 0x1000, "0123456789.");
    r = map(1, 0x1004, 2, 4, at_top("a"));
    r->u.mmap.prot = 3;
    CHECK_EQ(apply(r), 1);
    sees(1, 0x1000, "0123..6789.");
    CHECK_EQ(apply(map(1, 0x1000, 10, 0, at_top("a"))), 1);
    CHECK_EQ(apply(map(1, 0x1006, 2, 0, "//anon")), 1);
    sees(1, 0x1000, "012345..89.");
    r = map(1, 0x1000, 2, 4, at_top("a"));
    r->type = PERFDATA_MMAP;
    r->misc |= PERFDATA_MISC_MMAP_DATA;
    CHECK_EQ(apply(r), 1);
    r = map(1, 0x1008, 2, 4, at_top("a"));
    r->type = PERFDATA_MMAP;
    CHECK_EQ(apply(r), 1);
    sees(1, 0x1000, "..2345..45.");
    CHECK_EQ(s.losses.no_file, 0);
    finish();
}

TEST(forks_and_execs)
{
    uint64_t before;
    begin();
    CHECK_EQ(apply(map(1, 0x1000, 4, 0, at_top("a"))), 1);
    CHECK_EQ(apply(fork_of(2, 1, 0)), 1);
    CHECK(last.is_new);
    CHECK_EQ(number_of(1), number_of(2)); // until one of them changes
    sees(2, 0x1000, "0123.");
    before = number_of(1);
    CHECK_EQ(apply(map(2, 0x1002, 4, 0, at_top("b"))), 1);
    CHECK(number_of(2) != before);
    CHECK_EQ(number_of(1), before);
    sees(1, 0x1000, "0123.");
    sees(2, 0x1000, "01abcd.");
    CHECK_EQ(apply(fork_of(3, 1, 0)), 1);
    CHECK_EQ(apply(map(1, 0x1000, 1, 4, at_top("b"))), 1); // the parent
    sees(1, 0x1000, "e123.");
    sees(3, 0x1000, "0123.");
    CHECK_EQ(apply(exec_of(1)), 1);
    CHANGED(1, 0, 0); // what it had is gone, wherever that was
    CHECK(!last.is_new);
    CHECK(number_of(1) != before);
    sees(1, 0x1000, "....");
    sees(3, 0x1000, "0123.");
    record.misc = 0; // a name, but no exec
    record.u.comm.pid = 3;
    CHECK_EQ(apply(&record), 0);
    CHECK_EQ(apply(fork_of(3, 3, 0)), 0); // a thread
    sees(3, 0x1000, "0123.");
    // a number that is used again; one whose parent is not known
    CHECK_EQ(apply(fork_of(2, 3, 0)), 1);
    CHANGED(2, 0, 0);
    CHECK(!last.is_new);
    sees(2, 0x1000, "0123.");
    CHECK_EQ(apply(fork_of(2, 77, 0)), 1);
    sees(2, 0x1000, "....");
    // of one that perf found, mappings follow
    CHECK_EQ(apply(fork_of(4, 3, PERFDATA_MISC_FORK_EXEC)), 1);
    sees(4, 0x1000, "....");
    finish();
}

/* ---- which file ---- */

TEST(builds)
{
    begin();
    option("--buildid-dir", at_top("cache"));
    CHECK_EQ(apply(map_build(1, 0x1000, at_top("elf"), "\1\2")), 1);
    sees(1, 0x1000, "the first build.");
    quiet();
    CHECK_EQ(apply(map_build(1, 0x1000, at_top("elf"), "\1\3")), 1);
    CHECK_EQ(apply(map_build(2, 0x1000, at_top("elf"), "\1\3")), 1);
    loud();
    CHECK_EQ(printed("other version of the file"), 1); // once for a file
    sees(1, 0x1000, "......");
    CHECK_EQ(s.losses.other_build, 2);
    // perf's cache has that one
    CHECK_EQ(apply(map_build(1, 0x1000, at_top("elf"), "\253\315")), 1);
    sees(1, 0x1000, "the cached build");
    // and a build that the name alone is of
    CHECK_EQ(apply(map_build(1, 0x2000, "/gone (deleted)", "\253\315")), 1);
    sees(1, 0x2000, "the cached build");
    finish();
    begin();
    option("--force", NULL);
    quiet();
    CHECK_EQ(apply(map_build(1, 0x1000, at_top("elf"), "\1\3")), 1);
    loud();
    CHECK_EQ(printed("warning: other version of the file"), 1);
    sees(1, 0x1000, "the first build.");
    CHECK_EQ(s.losses.other_build, 1);
    finish();
    begin(); // by the file's own list
    record = *fresh(PERFDATA_BUILD_ID, PERFDATA_MISC_USER, 0);
    record.u.build_id.size = 2;
    memcpy(record.u.build_id.id, "\1\3", 2);
    record.u.build_id.name = at_top("elf");
    spaces_index(&s, &record);
    quiet();
    CHECK_EQ(apply(map(1, 0x1000, 16, 0x100, at_top("elf"))), 1);
    loud();
    CHECK_EQ(s.losses.other_build, 1);
    sees(1, 0x1000, "......");
    finish();
}

TEST(symfs)
{
    begin();
    option_twice("--symfs", "root", 77, "other");
    CHECK_EQ(apply(map(1, 0x1000, 4, 0, "/in/c")), 1);
    CHECK_EQ(apply(map(1, 0x2000, 4, 0, "/elsewhere/d")), 1); // by its name
    CHECK_EQ(apply(map(1, 0x3000, 4, 0, at_top("a"))), 1); // not there
    CHECK_EQ(apply(map(1, 0x4000, 4, 0, "/../secret")), 1);
    CHECK_EQ(apply(map(1, 0x5000, 4, 0, "/in/../../../secret")), 1);
    CHECK_EQ(apply(map(1, 0x6000, 4, 0, "/link")), 1);
    CHECK_EQ(apply(map(1, 0x7000, 4, 0, "/up/secret")), 1);
    CHECK_EQ(apply(map(1, 0x8000, 4, 0, "/fifo")), 1);
    CHECK_EQ(apply(map(1, 0x9000, 4, 0, "/inner")), 1);
    sees(1, 0x1000, "CCCC");
    sees(1, 0x2000, "DDDD");
    sees(1, 0x3000, "....");
    sees(1, 0x4000, "....");
    sees(1, 0x5000, "....");
    sees(1, 0x6000, "SSSS"); // the user's link
    sees(1, 0x7000, "SSSS"); // ... of a folder
    sees(1, 0x8000, "....");
    sees(1, 0x9000, "CCCC"); // an absolute link stays in the folder
    CHECK_EQ(apply(map(77, 0x1000, 4, 0, "/in/c")), 1);
    CHECK_EQ(apply(fork_of(78, 77, 0)), 1); // in the same container
    CHECK_EQ(apply(map(78, 0x2000, 4, 0, "/in/c")), 1);
    CHECK_EQ(apply(exec_of(78)), 1);
    CHECK_EQ(apply(map(78, 0x3000, 4, 0, "/in/c")), 1);
    sees(77, 0x1000, "cont");
    sees(78, 0x3000, "cont");
    finish();
}

/* The root that a process sees, in whatever container, is a folder. A file that
 * is not there is named where it was looked for. */
TEST(symfs_of_a_process)
{
    char root[64];
    char own[600];
    snprintf(root, sizeof root, "/proc/%d/root", (int) getpid());
    begin();
    option("--symfs", root);
    snprintf(own, sizeof own, "77:%s", at_top("root"));
    option("--symfs", own);
    CHECK_EQ(apply(map(1, 0x1000, 4, 0, at_top("root/in/c"))), 1);
    CHECK_EQ(apply(map(77, 0x1000, 4, 0, "/in/c")), 1);
    CHECK_EQ(apply(map(77, 0x2000, 4, 0, "/not/there")), 1);
    CHECK_EQ(apply(map(1, 0x3000, 4, 0, "/proc/self/maps")), 1);
    sees(1, 0x1000, "CCCC");
    sees(77, 0x1000, "CCCC");
    sees(77, 0x2000, "....");
    sees(1, 0x3000, "....");
    if (CHECK(s.no_file[0] != NULL))
        CHECK(strstr(s.no_file[0], "/root/not/there"));
    finish();
}

TEST(names_of_memory)
{
    static const char *const names[] = {
        "//anon", "[stack]", "[heap]", "[vsyscall]", "/dev/zero", "",
        "anon_inode:[perf_event]", "/memfd:x", "/SYSV00000000",
        "/proc/self/maps", "/dev/null", "/bin/ls (deleted)"
    };
    begin();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        apply(map(1, 0x1000 * (i + 1), 16, 0, names[i]));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        sees(1, 0x1000 * (i + 1), "....");
    finish();
}

/* A name that does not begin with / is that of a file in the current folder,
 * not in the one of the recording; memory is not, whatever files there are. */
TEST(relative_names)
{
    const int here = open(".", O_RDONLY);
    begin();
    CHECK_EQ(chdir(at_top("")), 0);
    save_text("[heap]", "0123");
    save_text("x:[y]", "0123");
    CHECK_EQ(apply(map(1, 0x1000, 4, 2, "a")), 1);
    CHECK_EQ(apply(map(1, 0x2000, 4, 0, "[heap]")), 1);
    CHECK_EQ(apply(map(1, 0x3000, 4, 0, "x:[y]")), 1);
    CHECK_EQ(s.losses.no_file, 0);
    CHECK_EQ(apply(map(1, 0x4000, 4, 0, "none")), 1);
    CHECK_EQ(s.losses.no_file, 1);
    sees(1, 0x1000, "2345.");
    sees(1, 0x2000, "....");
    sees(1, 0x3000, "....");
    CHECK_EQ(fchdir(here), 0);
    close(here);
    finish();
}

TEST(maps_of_the_user)
{
    begin();
    option_twice("--map", "code", 2, "code2");
    CHECK_EQ(apply(map(1, 0x4000, 10, 0, at_top("b"))), 1);
    CHECK_EQ(apply(fork_of(2, 1, 0)), 1);
    CHECK_EQ(apply(fork_of(3, 2, 0)), 1);
    sees(1, 0x4000, "ab0123ghij.");
    sees(2, 0x4000, "ab0123efij.");
    sees(3, 0x4000, "ab0123efij.");
    CHECK(number_of(1) != number_of(2));
    CHECK_EQ(number_of(2), number_of(3));
    sees(9, 0x4000, "..0123....."); // of a process not heard of
    sees(1, 0xffffffff80000000, "0123.");
    finish();
}

TEST(guests)
{
    ipt_asid guest = {0x1000, 0x2000, 1};
    spaces_view view = {&s, 1};
    begin();
    CHECK_EQ(apply(map(1, 0x4002, 10, 0, at_top("b"))), 1);
    sees_as(1, &guest, 0x4002, "....");
    finish();
    begin();
    option("--guest-map", at_top("code"));
    option("--map", at_top("code2"));
    CHECK_EQ(apply(map(1, 0x4002, 10, 0, at_top("b"))), 1);
    sees_as(1, &guest, 0x4000, "..0123....");
    sees_as(1, &guest, 0xffffffff80000000, "0123.");
    sees(1, 0x4000, "..abcdef");
    CHECK(spaces_number(&guest, &view) != number_of(1));
    record.misc = PERFDATA_MISC_GUEST_USER; // of a guest: not of this process
    CHECK_EQ(apply(&record), 0);
    finish();
}

TEST(vdso)
{
    uint8_t bytes[4];
    spaces_view view = {&s, 1};
    begin();
    option("--vdso", at_top("a"));
    CHECK_EQ(apply(map(1, 0x1000, 0x1000, 0, "[vdso]")), 1);
    sees(1, 0x1000, "0123456789.");
    finish();
    begin();
    option("--buildid-dir", at_top("cache"));
    CHECK_EQ(apply(map_build(1, 0x1000, "[vdso]", "\253\316")), 1);
    sees(1, 0x1000, "a cached vdso...");
    CHECK_EQ(apply(map_build(1, 0x1000, "[vdso]", "\253\317")), 1);
    sees(1, 0x1000, "....");
    finish();
    if (!getauxval(AT_SYSINFO_EHDR)) {
        test_skip("this machine has no vdso");
        return;
    }
    begin(); // this machine's
    CHECK_EQ(apply(map(1, 0x1000, 0x1000, 0, "[vdso]")), 1);
    CHECK_EQ(spaces_read(bytes, 4, &image_everywhere, 0x1000, &view), 4);
    CHECK(memcmp(bytes, "\177ELF", 4) == 0);
    s.files.other_host = 1;
    CHECK_EQ(apply(map(2, 0x1000, 0x1000, 0, "[vdso]")), 1);
    sees(2, 0x1000, "....");
    finish();
}

/* ---- the kernel ---- */

#define KERNEL 0xffffffff81000000u

static void begin_kernel(void)
{
    begin();
    option("--kcore", at_top("kcore_dir"));
}

TEST(kcore)
{
    perfdata_record *r;
    begin_kernel();
    start();
    sees(1, KERNEL, "0123456789abcdef.");
    sees(0, KERNEL, "0123456789abcdef.");
    finish();
    begin();
    option("--kcore", at_top("kcore_dir/kcore"));
    sees(0, KERNEL, "................"); // nothing was started yet
    start();
    sees(0, KERNEL, "0123456789abcdef.");
    finish();
    // of another boot: the kernel is at another address
    for (int force = 0; force < 2; force++) {
        begin_kernel();
        r = fresh(PERFDATA_MMAP, PERFDATA_MISC_KERNEL, 0);
        r->u.mmap.pid = UINT32_MAX;
        r->u.mmap.addr = r->u.mmap.pgoff = KERNEL + 0x1000;
        r->u.mmap.len = 0x1000;
        r->u.mmap.name = "[kernel.kallsyms]_text";
        if (force) option("--force", NULL);
        spaces_index(&s, r);
        quiet();
        CHECK_EQ(apply(r), 0);
        loud();
        CHECK_EQ(printed("of another boot of the kernel"), 1);
        sees(0, KERNEL, force ? "0123" : "....");
        CHECK_EQ(s.losses.other_build, 1);
        finish();
    }
    begin();
    option("--kcore", at_top("none"));
    quiet();
    CHECK_EQ(spaces_start(&s), 0);
    loud();
    CHECK_EQ(printed("not there"), 1);
    is_started = 1;
    finish();
}

TEST(text_poke)
{
    begin_kernel();
    spaces_index(&s, poke_of(KERNEL + 2, "23", "xy"));
    spaces_index(&s, poke_of(KERNEL + 2, "xy", "zz"));
    spaces_index(&s, poke_of(KERNEL + 1, "QzR", "..."));
    spaces_index(&s, poke_of(KERNEL + 8, "", "new"));
    start();
    sees(0, KERNEL, "0Q234567...bcdef"); // what was there before
    CHECK_EQ(apply(poke_of(KERNEL + 2, "23", "xy")), 1);
    CHANGED(SPACES_KERNEL, KERNEL + 2, 2);
    CHECK_EQ(apply(poke_of(KERNEL + 8, "", "new")), 1);
    sees(1, KERNEL, "0Qxy4567newbcdef");
    CHECK_EQ(apply(poke_of(KERNEL + 2, "xy", "")), 1);
    sees(1, KERNEL, "0Q..4567newbcdef");
    CHECK_EQ(apply(poke_of(KERNEL + 2, "xyz", "Z")), 1);
    sees(1, KERNEL, "0QZ..567newbcdef");
    CHECK_EQ(apply(poke_of(KERNEL + 2, "", "")), 0);
    CHECK_EQ(apply(poke_of(UINT64_MAX, "", "ab")), 0);
    finish();
}

/* So many that the list of changes has to be put in order. */
TEST(many_pokes)
{
    begin_kernel();
    start();
    for (unsigned i = 0; i < 70000; i++) {
        const char text[2] = {(char) ('a' + i % 26), 0};
        apply(poke_of(KERNEL + i % 16, "x", text));
    }
    for (unsigned i = 70000 - 16; i < 70000; i++) {
        const char text[2] = {(char) ('a' + i % 26), 0};
        sees(0, KERNEL + i % 16, text);
    }
    CHECK(s.kernel.section_count <= 2 * 16 + SOME_SECTIONS);
    CHECK_EQ(s.losses.no_memory, 0);
    finish();
}

TEST(ksymbol)
{
    perfdata_record *r;
    begin_kernel();
    CHECK_EQ(apply(symbol_of(KERNEL, 4, 0, 0)), 0); // there from the beginning
    CHECK_EQ(apply(symbol_of(KERNEL + 4, 4, 0, 7)), 1);
    CHANGED(SPACES_KERNEL, KERNEL + 4, 4);
    sees(0, KERNEL, "0123....89");
    CHECK_EQ(apply(poke_of(KERNEL + 4, "", "code")), 1);
    sees(0, KERNEL, "0123code89");
    CHECK_EQ(apply(symbol_of(KERNEL + 2, 4, 1, 9)), 1);
    sees(0, KERNEL, "01....de89");
    r = fresh(PERFDATA_MMAP, PERFDATA_MISC_KERNEL, 0); // modules
    r->u.mmap.addr = KERNEL + 8;
    r->u.mmap.len = 2;
    r->u.mmap.name = "[mod]";
    CHECK_EQ(apply(r), 0);
    r->sample.time = 8;
    CHECK_EQ(apply(r), 1);
    sees(0, KERNEL, "01....de..ab");
    CHECK_EQ(s.losses.kernel_gone, 3);
    finish();
}

/* ---- JIT code ---- */

#define MONOTONIC 0
#define TSC 1

static uint8_t dump[4096];
static size_t dump_size;

static void dump_put(uint64_t value, unsigned size)
{
    store(dump + dump_size, value, size);
    dump_size += size;
}

static void dump_begin(unsigned flags)
{
    dump_size = 0;
    dump_put(0x4a695444, 4);
    dump_put(1, 4);
    dump_put(40, 4);
    dump_put(62, 4);
    dump_put(0, 4);
    dump_put(1, 4);
    dump_put(0, 8);
    dump_put(flags, 8);
}

static void dump_record(unsigned type, uint64_t time, size_t size)
{
    dump_put(type, 4);
    dump_put(16 + size, 4);
    dump_put(time, 8);
}

static void dump_load(uint64_t time, uint64_t addr, const char *code)
{
    dump_record(0, time, 40 + 5 + strlen(code));
    dump_put(1, 4);
    dump_put(1, 4);
    dump_put(addr, 8);
    dump_put(addr, 8);
    dump_put(strlen(code), 8);
    dump_put(0, 8);
    memcpy(dump + dump_size, "name", 5);
    memcpy(dump + dump_size + 5, code, strlen(code));
    dump_size += 5 + strlen(code);
}

static void dump_move(uint64_t time, uint64_t from, uint64_t to, uint64_t size)
{
    dump_record(1, time, 48);
    dump_put(1, 4);
    dump_put(1, 4);
    dump_put(to, 8);
    dump_put(from, 8);
    dump_put(to, 8);
    dump_put(size, 8);
    dump_put(0, 8);
}

/* The trace's clock: ns = 2 * TSC + 100. */
static void give_time(void)
{
    perfdata_record *r = fresh(PERFDATA_AUXTRACE_INFO, 0, 0);
    r->u.info.kind = 1;
    r->u.info.filter = "";
    r->u.info.word[PERFDATA_PT_TIME_MULT] = 2;
    r->u.info.word[PERFDATA_PT_TIME_ZERO] = 100;
    r->u.info.word[PERFDATA_PT_CAP_USER_TIME_ZERO] = 1;
    spaces_index(&s, r);
}

static void map_dump(uint32_t pid)
{
    save("jit-5.dump", dump, dump_size);
    apply(map(pid, 0x90000, 4096, 0, at_top("jit-5.dump")));
}

/* Show what comes until a time: so many changes. */
static void advance(uint64_t time, unsigned changes)
{
    unsigned n = 0;
    start();
    while (spaces_advance(&s, time, &last)) n++;
    CHECK_EQ(n, changes);
    CHECK(spaces_next(&s) > time || spaces_next(&s) == UINT64_MAX);
}

TEST(jit_by_time)
{
    begin();
    give_time();
    dump_begin(TSC);
    dump_load(30, 0x5000, "third");
    dump_load(10, 0x5000, "first"); // by time, not as they stand
    dump_record(2, 15, 16);
    dump_put(0, 8);
    dump_put(0, 8);
    dump_load(20, 0x5002, "2nd");
    dump_load(20, 0x6000, "more");
    dump_record(3, 99, 0);
    map_dump(1);
    CHECK_EQ(spaces_next(&s), 120);
    advance(119, 0);
    sees(1, 0x5000, ".....");
    advance(120, 1);
    CHANGED(1, 0x5000, 5);
    sees(1, 0x5000, "first.");
    advance(140, 2);
    sees(1, 0x5000, "fi2nd.");
    sees(1, 0x6000, "more.");
    CHECK_EQ(apply(fork_of(2, 1, 0)), 1);
    map_dump(1); // again: nothing new
    advance(1000, 1);
    sees(1, 0x5000, "third.");
    sees(2, 0x5000, "fi2nd."); // the child has what was before
    CHECK_EQ(spaces_next(&s), UINT64_MAX);
    // mprotect of its memory is not new code; a file is
    apply(map(1, 0x5000, 4096, 0, "//anon"));
    sees(1, 0x5000, "third.");
    apply(map(1, 0x5001, 2, 0, at_top("a")));
    sees(1, 0x5000, "t01rd.");
    CHECK_EQ(s.losses.jit_unsure + s.losses.jit_damaged, 0);
    finish();
}

TEST(jit_moves)
{
    begin();
    give_time();
    dump_begin(TSC);
    dump_load(1, 0x5000, "function");
    dump_move(2, 0x5000, 0x5004, 8); // they overlap
    dump_move(3, 0x7000, 0x8000, 8); // of nothing
    dump_move(4, 0x5006, 0x6000, 8); // of more than there is
    dump_move(5, 0x5004, 0x6000, 4);
    map_dump(1);
    advance(104, 2);
    CHANGED(1, 0x5000, 12); // both places
    sees(1, 0x5000, "....function.");
    advance(109, 0);
    sees(1, 0x5000, "....function.");
    advance(UINT64_MAX, 1);
    sees(1, 0x5000, "........tion.");
    sees(1, 0x6000, "func.");
    finish();
}

/* After an exec the dump is of a program that is gone. */
TEST(jit_and_exec)
{
    begin();
    give_time();
    dump_begin(TSC);
    dump_load(10, 0x5000, "one");
    dump_load(20, 0x5000, "two");
    map_dump(1);
    advance(120, 1);
    apply(exec_of(1));
    sees(1, 0x5000, "...");
    advance(UINT64_MAX, 0);
    sees(1, 0x5000, "...");
    CHECK_EQ(s.jit_count, 0);
    map_dump(1);
    advance(UINT64_MAX, 2);
    sees(1, 0x5000, "two");
    finish();
}

/* Times of another clock: what is alone at its address is there at once. */
TEST(jit_of_another_clock)
{
    begin();
    give_time();
    dump_begin(MONOTONIC);
    dump_load(10, 0x5000, "one");
    dump_load(20, 0x6000, "two");
    map_dump(1);
    advance(0, 2);
    sees(1, 0x5000, "one");
    sees(1, 0x6000, "two");
    CHECK_EQ(s.losses.jit_unsure, 0);
    finish();
    begin();
    give_time();
    dump_load(30, 0x5000, "new");
    map_dump(1);
    advance(0, 2);
    sees(1, 0x5000, "one");
    advance(30, 1);
    sees(1, 0x5000, "new");
    CHECK_EQ(s.losses.jit_unsure, 1);
    finish();
    begin(); // no clock at all
    map_dump(1);
    advance(UINT64_MAX, 3);
    sees(1, 0x5000, "new");
    finish();
}

/* The order is that of all files together. */
TEST(jit_of_several_processes)
{
    char name[32];
    begin();
    give_time();
    for (uint32_t pid = 1; pid < 40; pid++) {
        snprintf(name, sizeof name, "jit-%u.dump", 100 + pid);
        dump_begin(TSC);
        dump_load(10000 - pid * 97 % 41, 0x5000, "one");
        dump_load(20000 + pid * 89 % 43, 0x5000, "two");
        save(name, dump, dump_size);
        apply(map(pid, 0x90000, 4096, 0, at_top(name)));
    }
    for (unsigned i = 0; i < 78; i++) {
        const uint64_t time = spaces_next(&s);
        const uint32_t pid = (uint32_t) s.jits[0]->process->pid;
        const int is_first = s.jits[0]->next == 0;
        CHECK_EQ(time, 100 + 2 * (is_first ? 10000 - pid * 97 % 41
                                           : 20000 + pid * 89 % 43));
        CHECK_EQ(spaces_advance(&s, time, &last), 1);
        sees(pid, 0x5000, is_first ? "one" : "two");
        CHECK(spaces_next(&s) >= time);
    }
    advance(UINT64_MAX, 0);
    finish();
}

/* Every size and number that a file may say, cut anywhere. */
TEST(jit_damaged)
{
    dump_begin(TSC);
    dump_load(1, 0x5000, "one");
    dump_move(2, 0x5000, 0x6000, 3);
    for (size_t size = 0; size < dump_size; size++) {
        begin();
        save("jit-5.dump", dump, size);
        apply(map(1, 0x90000, 4096, 0, at_top("jit-5.dump")));
        CHECK_EQ(s.losses.jit_damaged, size != 40 && size != 104);
        advance(UINT64_MAX, size >= 104 + 0u);
        sees(1, 0x5000, size >= 104 ? "one" : "...");
        finish();
    }
    for (size_t at = 0; at < dump_size; at++) {
        for (unsigned value = 0; value < 256; value += 51) {
            const uint8_t before = dump[at];
            begin();
            dump[at] = (uint8_t) value;
            map_dump(1);
            while (spaces_advance(&s, UINT64_MAX, &last)) continue;
            sees(1, UINT64_MAX, ".");
            dump[at] = before;
            finish();
        }
    }
    begin();
    apply(map(1, 0x90000, 4096, 0, at_top("jit-7.dump"))); // not there
    apply(map(1, 0x90000, 4096, 0, at_top("jit-.dump")));
    apply(map(1, 0x90000, 4096, 0, at_top("jit-1.dumps")));
    CHECK_EQ(s.losses.jit_damaged, 0);
    finish();
}

/* ---- what is where ---- */

TEST(found)
{
    spaces_view view = {&s, 1};
    spaces_found found;
    begin();
    CHECK_EQ(apply(map(1, 0x1000, 8, 2, at_top("a"))), 1);
    CHECK_EQ(apply(map(1, 0x1004, 2, 0, at_top("b"))), 1);
    CHECK_EQ(spaces_find(&view, &image_everywhere, 0x1001, &found), 1);
    CHECK(strcmp(found.name, at_top("a")) == 0);
    CHECK(found.file);
    CHECK_EQ(found.offset, 3);
    CHECK_EQ(found.first, 0x1000);
    CHECK_EQ(found.last, 0x1003);
    CHECK_EQ(spaces_find(&view, &image_everywhere, 0x1006, &found), 1);
    CHECK_EQ(found.offset, 8);
    CHECK_EQ(spaces_find(&view, &image_everywhere, 0x1008, &found), 0);
    finish();
    begin(); // a file from perf's cache is called as it was when it ran
    option("--buildid-dir", at_top("cache"));
    CHECK_EQ(apply(map_build(1, 0x1000, "/gone/program", "\253\315")), 1);
    CHECK_EQ(spaces_find(&view, &image_everywhere, 0x1001, &found), 1);
    CHECK(strcmp(found.name, "/gone/program") == 0);
    finish();
}

TEST(options)
{
    static char *words[] = {NULL};
    tool_args line = {"spaces", words, NULL, 1};
    begin();
    quiet();
    CHECK_EQ(spaces_option(&line, &s, "--symfs"), 1);
    CHECK_EQ(spaces_option(&line, &s, "--map"), 1);
    CHECK_EQ(spaces_option(&line, &s, "--other"), 0);
    loud();
    finish();
}

/* ---- hostile records ---- */

/* A process that maps again and again what is not there yet, as long as all
 * processes together do not have too much. */
TEST(many_mappings)
{
    begin();
    for (unsigned i = 0; i < 70000; i++)
        apply(map(1, 0x1000 + 4 * (uint64_t) i, 2, 0, at_top("a")));
    CHECK_EQ(s.losses.no_memory, 0);
    CHECK_EQ(s.sections, 70000);
    sees(1, 0x1000 + 4 * 69999, "01");
    s.sections += ALL_SECTIONS;
    apply(map(1, 0x800, 2, 0, at_top("a")));
    CHECK_EQ(s.losses.no_memory, 1);
    s.sections -= ALL_SECTIONS;
    apply(exec_of(1));
    CHECK_EQ(s.sections, 0);
    for (unsigned i = 0; i < 70000; i++) // the same place
        apply(map(1, 0x1000, 2, i % 2, at_top("a")));
    CHECK_EQ(s.losses.no_memory, 1);
    CHECK(s.sections <= 2 + SOME_SECTIONS);
    sees(1, 0x1000, "12");
    finish();
}

TEST(many_processes)
{
    begin();
    CHECK_EQ(apply(map(1, 0x1000, 8, 2, at_top("a"))), 1);
    for (uint32_t pid = 2; pid < 20000; pid++) apply(fork_of(pid, pid - 1, 0));
    sees(19999, 0x1000, "23456789");
    CHECK_EQ(s.sections, 1);
    for (uint32_t pid = 2; pid < 20000; pid++) apply(exec_of(pid));
    sees(1, 0x1000, "23456789");
    CHECK_EQ(s.sections, 1);
    finish();
}

static void make_files(void)
{
    char path[512];
    scratch_begin();
    save_text("a", "0123456789");
    save_text("b", "abcdefghij");
    save_elf("elf", "\1\2", "the first build.", 0);
    folder("cache");
    folder("cache/.build-id");
    folder("cache/.build-id/ab");
    folder("cache/.build-id/ab/cd");
    folder("cache/.build-id/ab/ce");
    save_elf("cache/.build-id/ab/cd/elf", "\253\315", "the cached build", 0);
    save_elf("cache/.build-id/ab/ce/vdso", "\253\316", "a cached vdso...", 0);
    folder("root");
    folder("root/in");
    folder("other");
    folder("other/in");
    save_text("secret", "SSSS");
    save_text("root/in/c", "CCCC");
    save_text("root/d", "DDDD");
    save_text("other/in/c", "container");
    snprintf(path, sizeof path, "%s/secret", top);
    if (symlink(path, at_top("root/link")) || symlink("..", at_top("root/up"))
        || symlink("/in/c", at_top("root/inner"))
        || mkfifo(at_top("root/fifo"), 0666))
        exit(2);
    folder("code");
    save_text("code/bytes", "0123");
    save_text("code/image.map", "4002 4 bytes 0\nffffffff80000000 4 bytes 0\n");
    folder("code2");
    save_text("code2/bytes", "ef");
    save_text("code2/image.map", "4006 2 bytes 0\n");
    folder("kcore_dir");
    save_elf("kcore_dir/kcore", "\1\1", "0123456789abcdef", KERNEL);
    save_text("kcore_dir/kallsyms", "0000000000000000 A irq_stack\n"
              "ffffffff80fff000 T _text_of_x\n"
              "ffffffff81000000 T _text\nffffffff81000000 T _stext\n");
}

int main(void)
{
    make_files();
    RUN(mappings);
    RUN(mprotect);
    RUN(forks_and_execs);
    RUN(builds);
    RUN(symfs);
    RUN(symfs_of_a_process);
    RUN(names_of_memory);
    RUN(relative_names);
    RUN(maps_of_the_user);
    RUN(guests);
    RUN(vdso);
    RUN(kcore);
    RUN(text_poke);
    RUN(many_pokes);
    RUN(ksymbol);
    RUN(jit_by_time);
    RUN(jit_moves);
    RUN(jit_and_exec);
    RUN(jit_of_another_clock);
    RUN(jit_of_several_processes);
    RUN(jit_damaged);
    RUN(found);
    RUN(options);
    RUN(many_mappings);
    RUN(many_processes);
    scratch_end();
    return test_report();
}
