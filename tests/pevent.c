/* pevent.c: the tools' sideband session (common/perf/pevent.h), on
 * records that are made here. Expected lines were typed by hand. */
#define _POSIX_C_SOURCE 200809L
#include "linked.h"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/image.c"
#include "examples/tools/common/perf/perfdata.c"
#include "examples/tools/common/perf/pevent.c"
#include "examples/tools/common/flow/pids.c"
#include "examples/tools/common/code/tool.c"
#include "dice.h"
#include "perfbuild.h"
#include "test.h"
#include "tmp.h"

/* ---- records ---- */

#define TIMED PERFDATA_SAMPLE_TIME
#define TASKED (PERFDATA_SAMPLE_TIME | PERFDATA_SAMPLE_TID)
#define OUT 0x2000

static void mmap_of(uint32_t pid, uint64_t addr, uint64_t len,
                    uint64_t pgoff, const char *name, uint64_t time)
{
    begin(PERFDATA_MMAP, PERFDATA_MISC_USER);
    put(pid, 4);
    put(pid, 4);
    put(addr, 8);
    put(len, 8);
    put(pgoff, 8);
    put_name(name);
    append_sampled(TASKED, pid, time);
}

static void start_of(uint32_t pid, uint64_t time)
{
    begin(PERFDATA_ITRACE_START, 0);
    put(pid, 4);
    put(pid, 4);
    append_sampled(TASKED, pid, time);
}

static void switch_in(uint32_t pid, uint64_t time)
{
    begin(PERFDATA_SWITCH, 0);
    append_sampled(TASKED, pid, time);
}

static void lost(uint64_t time)
{
    begin(PERFDATA_LOST_SAMPLES, 0);
    put(time, 8);
    append_sampled(TIMED, 0, time);
}

/* ---- a session ---- */

static pevent s;
static pevent_config config;
static image initial;
static char *out;
static size_t out_size;
static size_t out_seen;

static void open_session(unsigned flags)
{
    FILE *f = open_memstream(&out, &out_size);
    out_seen = 0;
    image_init(&initial);
    pevent_init(&s, f, &initial);
    s.flags = flags;
    memset(&config, 0, sizeof config);
    config.sample_type = TASKED;
    config.time_mult = 1;
    config.kernel_start = UINT64_MAX;
}

/* Add the records that were put together. */
static void add_to(const char *name, int primary)
{
    uint8_t *copy = malloc(whole_size + 1);
    memcpy(copy, whole, whole_size);
    CHECK(!pevent_add_bytes(&s, name, copy, whole_size, primary, &config));
    whole_size = 0;
}

/* What was printed since the last call; NULL: anything. */
static void printed(const char *want)
{
    fflush(s.out);
    if (want && !CHECK(strcmp(out + out_seen, want) == 0))
        printf("--- got:\n%s--- want:\n%s---\n", out + out_seen, want);
    out_seen = strlen(out);
}

static void close_session(void)
{
    printed("");
    pevent_free(&s);
    image_free(&initial);
    fclose(s.out);
    free(out);
    s.out = NULL;
}

static ipt_event an_event(uint8_t type, uint64_t ip, uint64_t tsc)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.ip = ip;
    e.tsc = tsc;
    return e;
}

/* A tick in user code: nothing but time. Returns whether code has changed. */
static int tick(uint64_t tsc)
{
    ipt_event e = an_event(IPT_EVT_TICK, 0x1000, tsc);
    return pevent_event(&s, &e);
}

/* An event that says nothing of its place lets a switch happen. */
static int anywhere(uint64_t tsc)
{
    ipt_event e = an_event(IPT_EVT_CBR, 0, tsc);
    return pevent_event(&s, &e);
}

/* The code at ip begins with the text; "" for none. */
static void code_at(uint64_t ip, const char *want)
{
    uint8_t got[64];
    ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    int n = pevent_read(got, sizeof got, &asid, ip, &s);
    CHECK_EQ(n, *want ? (int) strlen(want) : IPT_NEED_PAGE);
    if (n > 0 && (size_t) n == strlen(want))
        CHECK(memcmp(got, want, (size_t) n) == 0);
}

/* ---- files to map ---- */

static char folder[256];

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");
    if (!CHECK(f != NULL)) return;
    CHECK_EQ(fwrite(data, 1, size, f), size);
    fclose(f);
}

/* The beginning of an ELF file, then a text. */
static void write_elf(const char *name, uint8_t class, uint8_t machine)
{
    uint8_t elf[24] = {0x7f, 'E', 'L', 'F'};
    elf[4] = class;
    elf[18] = machine;
    memcpy(elf + 20, name, 4);
    write_file(name, elf, sizeof elf);
}

/* ---- what is printed ---- */

#define ALL                                                                   \
    (TASKED | PERFDATA_SAMPLE_ID | PERFDATA_SAMPLE_STREAM_ID                  \
     | PERFDATA_SAMPLE_CPU | PERFDATA_SAMPLE_IDENTIFIER)

TEST(compact)
{
    open_session(PEVENT_COMPACT);
    config.sample_type = 0;
    append_kinds(0);
    add_to("x", 0);
    pevent_start(&s);
    printed("");
    pevent_dump(&s, 0);
    printed("PERF_RECORD_MMAP  10/11, 12, 13, 14, a file  { }\n"
            "PERF_RECORD_LOST  10, 11  { }\n"
            "PERF_RECORD_COMM  10/11, eightchr  { }\n"
            "PERF_RECORD_COMM.EXEC  10/11, eightchr  { }\n"
            "PERF_RECORD_EXIT  10/12, 11/13, 14  { }\n"
            "PERF_RECORD_THROTTLE  10, 11, 12  { }\n"
            "PERF_RECORD_UNTHROTTLE  10, 11, 12  { }\n"
            "PERF_RECORD_FORK  10/12, 11/13, 14  { }\n"
            "PERF_RECORD_MMAP2  10/11, 12, 13, 14, 15, 16, 17, 18, 19, 1a, "
            "a file  { }\n"
            "PERF_RECORD_AUX  10, 11, 12  { }\n"
            "PERF_RECORD_ITRACE_START  10/11  { }\n"
            "PERF_RECORD_LOST_SAMPLES  10  { }\n"
            "PERF_RECORD_SWITCH.IN  { }\n"
            "PERF_RECORD_SWITCH.OUT  { }\n"
            "PERF_RECORD_SWITCH_CPU_WIDE.IN  10/11  { }\n"
            "PERF_RECORD_SWITCH_CPU_WIDE.OUT  10/11  { }\n"
            "UNKNOWN (11, 2001)  { }\n"
            "PERF_RECORD_AUX.TRUNCATED  11, 12, 13  { }\n");
    close_session();
}

TEST(verbose)
{
    open_session(PEVENT_VERBOSE);
    config.sample_type = 0;
    append_kinds(0);
    add_to("x", 0);
    pevent_start(&s);
    pevent_dump(&s, 0);
    printed(
        "PERF_RECORD_MMAP\n  pid: 10\n  tid: 11\n  addr: 12\n  len: 13\n"
        "  pgoff: 14\n  filename: a file\n"
        "PERF_RECORD_LOST\n  id: 10\n  lost: 11\n"
        "PERF_RECORD_COMM\n  pid: 10\n  tid: 11\n  comm: eightchr\n"
        "PERF_RECORD_COMM.EXEC\n  pid: 10\n  tid: 11\n  comm: eightchr\n"
        "PERF_RECORD_EXIT\n  pid: 10\n  ppid: 11\n  tid: 12\n  ptid: 13\n"
        "  time: 14\n"
        "PERF_RECORD_THROTTLE\n  time: 10\n  id: 11\n  stream_id: 12\n"
        "PERF_RECORD_UNTHROTTLE\n  time: 10\n  id: 11\n  stream_id: 12\n"
        "PERF_RECORD_FORK\n  pid: 10\n  ppid: 11\n  tid: 12\n  ptid: 13\n"
        "  time: 14\n"
        "PERF_RECORD_MMAP2\n  pid: 10\n  tid: 11\n  addr: 12\n  len: 13\n"
        "  pgoff: 14\n  maj: 15\n  min: 16\n  ino: 17\n"
        "  ino_generation: 18\n  prot: 19\n  flags: 1a\n"
        "  filename: a file\n"
        "PERF_RECORD_AUX\n  aux offset: 10\n  aux size: 11\n  flags: 12\n"
        "PERF_RECORD_ITRACE_START\n  pid: 10\n  tid: 11\n"
        "PERF_RECORD_LOST_SAMPLES\n  lost: 10\n"
        "PERF_RECORD_SWITCH.IN\n"
        "PERF_RECORD_SWITCH.OUT\n"
        "PERF_RECORD_SWITCH_CPU_WIDE.IN\n  prev pid: 10\n  prev tid: 11\n"
        "PERF_RECORD_SWITCH_CPU_WIDE.OUT\n  next pid: 10\n  next tid: 11\n"
        "UNKNOWN\n  type: 11\n  misc: 2001\n"
        "PERF_RECORD_AUX.TRUNCATED\n  aux offset: 11\n  aux size: 12\n"
        "  flags: 13\n");
    close_session();
}

/* libipt takes the build id of an MMAP2 for the place of its file. */
TEST(build_id)
{
    open_session(PEVENT_COMPACT);
    config.sample_type = 0;
    put_fields(10, 0x4002, "44888448844", 0x10, "");
    append_record();
    add_to("x", 0);
    pevent_start(&s);
    pevent_dump(&s, 0);
    printed("PERF_RECORD_MMAP2  10/11, 12, 13, 14, 15, 16, 17, 18, 19, 1a,   "
            "{ }\n");
    close_session();
}

/* Each mask of samples, alone and together, in both forms. */
TEST(samples_of_records)
{
    static const struct {
        uint64_t type;
        const char *compact;
        const char *verbose;
    } rows[] = {
        {0, "  { }\n", ""},
        {PERFDATA_SAMPLE_TID, "  { abc/abc }\n", "  pid: abc\n  tid: abc\n"},
        {PERFDATA_SAMPLE_TIME, "  { 40 }\n", "  time: 40\n"},
        {PERFDATA_SAMPLE_ID, "  { 41 }\n", "  id: 41\n"},
        {PERFDATA_SAMPLE_STREAM_ID, "  { 42 }\n", "  stream id: 42\n"},
        {PERFDATA_SAMPLE_CPU, "  { cpu-43 }\n", "  cpu: 43\n"},
        {PERFDATA_SAMPLE_IDENTIFIER, "  { 44 }\n", "  identifier: 44\n"},
        {ALL, "  { abc/abc 40 41 cpu-43 42 44 }\n",
         "  pid: abc\n  tid: abc\n  time: 40\n  id: 41\n  cpu: 43\n"
         "  stream id: 42\n  identifier: 44\n"},
        {ALL | 0x38, "  { abc/abc 40 41 cpu-43 42 44 }\n", NULL} // not ours
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned verbose = 0; verbose < 2; verbose++) {
            char want[200];
            if (verbose && !rows[i].verbose) continue;
            open_session(verbose ? PEVENT_VERBOSE : PEVENT_COMPACT);
            config.sample_type = rows[i].type;
            begin(PERFDATA_SWITCH, 0);
            append_sampled(rows[i].type, 0xabc, 0x40);
            add_to("x", 1);
            pevent_start(&s);
            pevent_dump(&s, UINT64_MAX);
            snprintf(want, sizeof want, "PERF_RECORD_SWITCH.IN%s%s",
                     verbose ? "\n" : "",
                     verbose ? rows[i].verbose : rows[i].compact);
            printed(want);
            close_session();
        }
    }
}

TEST(prefixes)
{
    static const char *const want[] = {
        "", "x.sb  \n", "0000000000000018  \n", "x.sb:0000000000000018  \n",
        "0000000000000008  \n", "x.sb  0000000000000008  \n",
        "0000000000000018  0000000000000008  \n",
        "x.sb:0000000000000018  0000000000000008  \n"
    };
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned records = 0; records < 3; records++) {
            unsigned flags = (i & 1 ? PEVENT_FILENAME : 0)
                | (i & 2 ? PEVENT_OFFSET : 0) | (i & 4 ? PEVENT_TIME : 0)
                | (records == 1 ? PEVENT_COMPACT : 0)
                | (records == 2 ? PEVENT_VERBOSE : 0);
            char line[100];
            open_session(0);
            config.sample_type = TIMED;
            config.tsc_offset = 1;
            lost(1);
            lost(9);
            add_to("x.sb", 1);
            pevent_start(&s);
            pevent_dump(&s, 0);
            s.flags = flags;
            pevent_dump(&s, 8);
            snprintf(line, sizeof line, "%.*s%s",
                     (int) strcspn(want[i], "\n"), want[i],
                     records == 0 ? (i ? "\n" : "")
                     : records == 1 ? "PERF_RECORD_LOST_SAMPLES  9  { 9 }\n"
                     : "PERF_RECORD_LOST_SAMPLES\n  lost: 9\n  time: 9\n");
            printed(line);
            close_session();
        }
    }
}

/* A record without a time has none in front of it. */
TEST(no_time_no_prefix)
{
    open_session(PEVENT_COMPACT | PEVENT_TIME);
    config.sample_type = 0;
    begin(PERFDATA_SWITCH, 0);
    append_record();
    add_to("x", 1);
    pevent_start(&s);
    pevent_dump(&s, 0);
    printed("PERF_RECORD_SWITCH.IN  { }\n");
    close_session();
}

/* Control bytes of names and of file names do not reach the terminal. */
TEST(names_are_escaped)
{
    open_session(PEVENT_COMPACT | PEVENT_FILENAME);
    begin(PERFDATA_COMM, 0);
    put(0, 8);
    put_name("\x1b]0;a\x07\n\x7f\xc3\xa9\xc2\x9b\xc2\xa0\\");
    append_sampled(TASKED, 0, 0);
    begin(PERFDATA_SWITCH, 0);
    put(0, 4);
    append_record();
    add_to("a\rb", 0);
    pevent_start(&s);
    pevent_dump(&s, 0);
    printed("a\\x0db  PERF_RECORD_COMM  0/0, "
            "\\x1b]0;a\\x07\\x0a\\x7f\xc3\xa9\\xc2\x9b\xc2\xa0\\  { 0/0 0 }\n"
            "[a\\x0db:0000000000000030 sideband error: decoder out of "
            "sync]\n");
    close_session();
}

/* ---- order ---- */

static void three_files(void)
{
    config.sample_type = TIMED;
    lost(2);
    lost(2);
    lost(5);
    add_to("a", 1);
    lost(2);
    lost(3);
    lost(2);
    add_to("b", 0);
    lost(1);
    lost(5);
    lost(5);
    add_to("c", 0);
    pevent_start(&s);
}

/* By time; of the same time the file that came first on the command line. A
 * file goes on until its time moves on, and comes first at its new time. */
TEST(order)
{
    open_session(PEVENT_FILENAME | PEVENT_OFFSET);
    three_files();
    pevent_dump(&s, 0);
    printed("");
    pevent_dump(&s, 2);
    printed("c:0000000000000000  \n"
            "a:0000000000000000  \n"
            "a:0000000000000018  \n"
            "b:0000000000000000  \n");
    pevent_dump(&s, 4);
    printed("b:0000000000000018  \n"
            "b:0000000000000030  \n"); // late: it follows its file
    pevent_dump(&s, UINT64_MAX);
    printed("a:0000000000000030  \n" // it came last to this time
            "c:0000000000000018  \n"
            "c:0000000000000030  \n");
    pevent_dump(&s, UINT64_MAX);
    close_session();
}

/* Events give the same order as dumping does. */
TEST(order_at_events)
{
    open_session(PEVENT_FILENAME | PEVENT_OFFSET);
    three_files();
    CHECK_EQ(tick(1), 0);
    printed("c:0000000000000000  \n");
    tick(1);
    printed("");
    tick(2);
    printed("a:0000000000000000  \n"
            "a:0000000000000018  \n"
            "b:0000000000000000  \n");
    tick(100);
    printed("b:0000000000000018  \n"
            "b:0000000000000030  \n"
            "a:0000000000000030  \n"
            "c:0000000000000018  \n"
            "c:0000000000000030  \n");
    close_session();
}

/* What has no time is due at once. */
TEST(records_without_time)
{
    open_session(PEVENT_COMPACT);
    config.sample_type = TIMED;
    begin(64, 0);
    append_record();
    lost(7);
    begin(65, 3);
    put(0, 8);
    append_record();
    lost(8);
    add_to("a", 1);
    pevent_start(&s);
    tick(0);
    printed("UNKNOWN (40, 0)  { }\n");
    tick(7);
    printed("PERF_RECORD_LOST_SAMPLES  7  { 7 }\n"
            "UNKNOWN (41, 3)  { }\n");
    close_session();
}

/* ---- time ---- */

typedef struct clock_row {
    uint64_t time;
    uint64_t zero;
    uint16_t shift;
    uint32_t mult;
    int64_t offset;
    uint64_t tsc;
} clock_row;

TEST(times)
{
    static const clock_row rows[] = {
        {1, 0, 0, 1, 0, 1},
        {0, 5, 3, 7, 0, 0},      // before everything
        {100, 40, 3, 7, 0, 68},  // 60 / 7 = 8 rest 4: 64 + 32 / 7
        {100, 100, 3, 7, 0, 0},
        {1, 0, 0, 1, 1, 0},
        {1, 0, 0, 1, 2, 0},      // not below 0
        {1, 0, 0, 1, -1, 2},
        {0, 0, 0, 1, -5, 5},
        {UINT64_MAX, 0, 0, 1, -1, UINT64_MAX},
        {UINT64_MAX, 0, 0, 1, 1, UINT64_MAX - 1},
        {1, 0, 0, 1, INT64_MIN, (1ull << 63) + 1},
        {0xffffffff00000000u, 0, 63, 1, 0, 0}, // no bit is left
        // one of a real machine, whose zero is negative
        {1385530563937068u, 18444502336406842448u, 31, 581029125, 0,
         0x2fa1088fabc52a}
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[40];
        open_session(PEVENT_TIME);
        config.sample_type = TIMED;
        config.time_zero = rows[i].zero;
        config.time_shift = rows[i].shift;
        config.time_mult = rows[i].mult;
        config.tsc_offset = rows[i].offset;
        lost(rows[i].time);
        add_to("a", 1);
        pevent_start(&s);
        if (rows[i].tsc) pevent_dump(&s, rows[i].tsc - 1);
        printed("");
        pevent_dump(&s, rows[i].tsc);
        snprintf(want, sizeof want, "%016llx  \n",
                 (unsigned long long) rows[i].tsc);
        printed(want);
        close_session();
    }
}

/* A clock that cannot be: each record with a time ends its file. */
TEST(bad_clocks)
{
    for (int i = 0; i < 2; i++) {
        open_session(PEVENT_COMPACT);
        config.sample_type = TIMED;
        if (i) config.time_shift = 64;
        else config.time_mult = 0;
        begin(99, 0);
        append_record();
        lost(1);
        lost(1);
        add_to("a", 1);
        pevent_start(&s);
        pevent_dump(&s, 0);
        printed("UNKNOWN (63, 0)  { }\n"
                "[a:0000000000000008 sideband error: bad configuration]\n");
        pevent_dump(&s, UINT64_MAX);
        close_session();
    }
}

/* ---- samples by identifier ---- */

TEST(sample_configs)
{
    static const pevent_sample table[] = {
        {0x44, PERFDATA_SAMPLE_IDENTIFIER}, // replaced by a later one
        {0x14, PERFDATA_SAMPLE_IDENTIFIER | PERFDATA_SAMPLE_TIME},
        {0x44, PERFDATA_SAMPLE_IDENTIFIER | PERFDATA_SAMPLE_CPU},
        {0x99, PERFDATA_SAMPLE_CPU}
    };
    open_session(PEVENT_COMPACT);
    config.sample_type = PERFDATA_SAMPLE_TID;
    config.samples = table;
    config.sample_count = 4;
    begin(PERFDATA_SWITCH, 0);
    append_sampled(table[2].sample_type, 0, 0x40);
    begin(PERFDATA_SWITCH, 0);
    append_sampled(table[1].sample_type, 0, 0x10);
    begin(PERFDATA_SWITCH, OUT);
    append_sampled(PERFDATA_SAMPLE_TID, 0x55, 0); // none of them
    begin(PERFDATA_SWITCH, 0);
    put(0x99, 8);
    append_record();
    add_to("a", 0);
    begin(PERFDATA_SWITCH, 0); // too small for an identifier
    append_record();
    add_to("b", 0);
    pevent_start(&s);
    printed("[b:0000000000000000 sideband error: decoder out of sync]\n");
    pevent_dump(&s, UINT64_MAX);
    printed("PERF_RECORD_SWITCH.IN  { cpu-43 44 }\n"
            "PERF_RECORD_SWITCH.IN  { 10 14 }\n"
            "PERF_RECORD_SWITCH.OUT  { 55/55 }\n"
            "[a:0000000000000040 sideband error: bad configuration]\n");
    close_session();
}

/* ---- records that cannot be read ---- */

TEST(broken_records)
{
    static const struct {
        uint8_t type;
        const char *body; /* hex */
        int size; /* of the header; 0: what it has */
        const char *error; /* NULL: the file just ends */
    } rows[] = {
        {14, "0000000000000000", 0, "decoder out of sync"}, // too much
        {12, "01000000", 0, "decoder out of sync"},         // too little
        {12, "0100000002000000", 15, "decoder out of sync"},
        {12, "0100000002000000", 7, "decoder out of sync"},
        {77, "", 7, "decoder out of sync"},
        {3, "01000000020000006161616161616161", 0, "unknown packet"},
        {3, "0100000002000000", 0, "unknown packet"},
        {3, "010000000200000061006161616161610000000000000000", 0,
         "decoder out of sync"}, // too much after the name
        {3, "01000000020000006100", 0, "decoder out of sync"}, // no padding
        {12, "0100000002000000", 17, NULL}, // beyond the file
        {14, "", 9, NULL},
        {0, "0000000000000000", 0, NULL},
        {0, "", 0, NULL}
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[200];
        const char *hex = rows[i].body;
        size_t at;
        open_session(PEVENT_OFFSET);
        config.sample_type = 0;
        begin(99, 0);
        append_record();
        begin(rows[i].type, 0);
        for (; *hex; hex += 2) {
            unsigned byte = 0;
            CHECK_EQ(sscanf(hex, "%2x", &byte), 1);
            put(byte, 1);
        }
        at = whole_size;
        append_record();
        if (rows[i].size) whole[at + 6] = (uint8_t) rows[i].size;
        begin(99, 0); // is not reached
        append_record();
        if (!rows[i].error) whole_size -= 8;
        add_to("a", 1);
        pevent_start(&s);
        pevent_dump(&s, UINT64_MAX);
        snprintf(want, sizeof want, "0000000000000000  \n%s%s%s",
                 rows[i].error ? "[a:0000000000000008 sideband error: " : "",
                 rows[i].error ? rows[i].error : "",
                 rows[i].error ? "]\n" : "");
        printed(want);
        close_session();
    }
}

/* Nothing, and less than a header, are files without records. */
TEST(small_files)
{
    for (size_t size = 0; size < 8; size++) {
        open_session(PEVENT_COMPACT | PEVENT_WARN);
        put(0x0101010101010101, 8);
        whole_size = size;
        add_to("a", 1);
        pevent_start(&s);
        pevent_dump(&s, UINT64_MAX);
        close_session();
    }
}

/* ---- warnings, and errors of records that were read ---- */

TEST(warnings)
{
    for (int primary = 0; primary < 2; primary++) {
        for (unsigned flags = 0; flags <= PEVENT_WARN; flags += PEVENT_WARN) {
            open_session(flags);
            begin(PERFDATA_LOST, 0); // at 0
            put(1, 8);
            put(2, 8);
            append_sampled(TASKED, 0, 1);
            begin(PERFDATA_AUX, 0); // 28
            put(0, 8);
            put(0, 8);
            put(PERFDATA_AUX_TRUNCATED, 8);
            append_sampled(TASKED, 0, 1);
            begin(PERFDATA_AUX, 0); // 58
            put(0, 8);
            put(0, 8);
            put(PERFDATA_AUX_PARTIAL, 8);
            append_sampled(TASKED, 0, 1);
            mmap_of(1, 0, 1, 0, "//anon", 1);      // 88
            mmap_of(1, 0, 1, 0, "[heap]", 1);      // c8
            mmap_of(1, 0, 1, 0, "a (deleted)", 1); // 108
            begin(PERFDATA_MMAP, PERFDATA_MISC_KERNEL); // 150
            for (int i = 0; i < 4; i++) put(0, 8);
            put_name("[kernel.kallsyms]_text");
            append_sampled(TASKED, 0, 1);
            lost(1);
            add_to("a", primary);
            pevent_start(&s);
            tick(1);
            printed(!flags ? "[a:00000000000001a0 sideband error: decoder out "
                             "of sync]\n"
                    : !primary ?
                    "[a:0000000000000000 sideband warning: sideband lost]\n"
                    "[a:0000000000000088 sideband warning: image section "
                    "lost]\n"
                    "[a:00000000000000c8 sideband warning: image section "
                    "lost]\n"
                    "[a:0000000000000108 sideband warning: image section "
                    "lost]\n"
                    "[a:00000000000001a0 sideband error: decoder out of "
                    "sync]\n" :
                    "[a:0000000000000000 sideband warning: sideband lost]\n"
                    "[a:0000000000000028 sideband warning: trace lost]\n"
                    "[a:0000000000000088 sideband warning: image section "
                    "lost]\n"
                    "[a:00000000000000c8 sideband warning: image section "
                    "lost]\n"
                    "[a:0000000000000108 sideband warning: image section "
                    "lost]\n"
                    "[a:00000000000001a0 sideband error: decoder out of "
                    "sync]\n");
            close_session();
        }
    }
}

static void fork_of(uint32_t pid, uint32_t ppid, uint32_t tid,
                    uint64_t time)
{
    begin(PERFDATA_FORK, 0);
    put(pid, 4);
    put(ppid, 4);
    put(tid, 4);
    put(ppid, 4);
    put(time, 8);
    append_sampled(TASKED, ppid, time);
}

/* The file goes on after a record that cannot be applied. */
TEST(errors_keep_the_file)
{
    open_session(0);
    write_file("code", "0123456789", 10);
    mmap_of(1, 0x1000, 4, 0, in_folder("missing"), 1);
    add_to("missing", 0);
    mmap_of(1, 0x1000, 4, 0, folder, 1);
    add_to("folder", 0);
    mmap_of(1, 0x1000, 4, 0, "/proc/self/mem", 1);
    add_to("proc", 0);
    mmap_of(1, 0x1000, 4, 10, in_folder("code"), 1);
    add_to("after", 0);
    mmap_of(1, 0x1000, 0, 1, in_folder("code"), 1);
    add_to("nothing", 0);
    mmap_of(1, UINT64_MAX - 2, 4, 0, in_folder("code"), 1);
    add_to("top", 0);
    mmap_of(1, 0x1000, 4, 0, "[vdso]", 1);
    add_to("vdso", 0);
    fork_of(2, 1, 3, 1);
    add_to("fork", 0);
    config.sample_type = 0;
    begin(PERFDATA_SWITCH, 0);
    append_record();
    begin(PERFDATA_SWITCH, 0);
    append_record();
    add_to("switch", 1);
    pevent_start(&s);
    tick(1);
    printed("[switch:0000000000000000 sideband error: bad configuration]\n"
            "[switch:0000000000000008 sideband error: bad configuration]\n"
            "[missing:0000000000000000 sideband error: bad file]\n"
            "[folder:0000000000000000 sideband error: bad file]\n"
            "[proc:0000000000000000 sideband error: bad file]\n"
            "[after:0000000000000000 sideband error: invalid argument]\n"
            "[nothing:0000000000000000 sideband error: invalid argument]\n"
            "[top:0000000000000000 sideband error: invalid argument]\n"
            "[vdso:0000000000000000 sideband error: bad configuration]\n"
            "[fork:0000000000000000 sideband error: internal error]\n");
    close_session();
}

/* ---- contexts ---- */

/* Two processes, a at 1 and b at 2, in a primary file. */
static void two_processes(void)
{
    write_file("code", "0123456789", 10);
    mmap_of(1, 0x1000, 4, 0, in_folder("code"), 0);
    mmap_of(2, 0x1000, 4, 4, in_folder("code"), 0);
}

TEST(code_of_processes)
{
    open_session(PEVENT_SWITCH);
    two_processes();
    mmap_of(2, 0x1001, 2, 8, in_folder("code"), 5);
    mmap_of(2, 0x3000, 99, 7, in_folder("code"), 6);
    start_of(1, 7);
    start_of(2, 8);
    start_of(2, 8);
    start_of(3, 9);
    mmap_of(3, 0x1000, UINT64_MAX, 9, in_folder("code"), 10);
    add_to("a", 1);
    CHECK(!image_add(&initial, NULL, "first", 0,
                     (uint8_t *) tool_copy("first", 5), 5, 0x1000));
    CHECK(!image_add(&s.kernel, NULL, "kernel", 0,
                     (uint8_t *) tool_copy("kernel", 6), 6, 0x1002));
    pevent_start(&s);
    CHECK_EQ(tick(0), 0);
    code_at(0x1000, "first");
    CHECK_EQ(tick(6), 0);
    CHECK_EQ(tick(7), 1);
    printed("[context: pid-1]\n");
    code_at(0x1000, "0123rnel"); // 4 bytes, then the kernel's
    code_at(0x1003, "3rnel");
    CHECK_EQ(tick(8), 1);
    printed("[context: pid-2]\n");
    code_at(0x1000, "4897rnel");
    code_at(0x1003, "7rnel");
    code_at(0x3000, "789"); // cut at the end of the file
    code_at(0xfff, "");
    CHECK_EQ(tick(9), 1);
    printed("[context: pid-3]\n");
    code_at(0x1000, "");
    code_at(0x1002, "kernel");
    CHECK_EQ(tick(10), 1); // the code that is seen has changed
    code_at(0x1000, "9");
    close_session();
}

/* Between pieces of a context the kernel's code shows through. */
TEST(kernel_code)
{
    open_session(0);
    write_file("code", "0123456789", 10);
    mmap_of(1, 0x1002, 2, 0, in_folder("code"), 0);
    mmap_of(1, 0x1005, 1, 0, in_folder("code"), 0);
    start_of(1, 0);
    add_to("a", 1);
    CHECK(!image_add(&s.kernel, NULL, "kernel", 0,
                     (uint8_t *) tool_copy("abcdefgh", 8), 8, 0x1000));
    pevent_start(&s);
    tick(0);
    code_at(0x1000, "ab01e0gh");
    code_at(0x1004, "e0gh");
    close_session();
}

/* A file may be cut while it is mapped. */
TEST(code_that_goes_away)
{
    static char code[FILES_BLOCK + 10];
    open_session(0);
    memset(code, '0', sizeof code);
    write_file("gone", code, sizeof code);
    mmap_of(1, 0x1000, 10, FILES_BLOCK, in_folder("gone"), 0);
    start_of(1, 0);
    add_to("a", 1);
    pevent_start(&s);
    tick(0);
    CHECK(truncate(in_folder("gone"), FILES_BLOCK + 3) == 0);
    code_at(0x1000, "000");
    code_at(0x1003, "");
    close_session();
}

/* A FIFO that nobody writes to, and a device, are not code; nor do they hold
 * the reader up. */
TEST(only_regular_files_are_opened)
{
    open_session(0);
    CHECK(mkfifo(in_folder("fifo"), 0600) == 0);
    mmap_of(1, 0x1000, 4, 0, "/dev/zero", 0);
    mmap_of(1, 0x1000, 4, 0, "", 0);
    mmap_of(1, 0x1000, 4, 0, in_folder("fifo"), 0);
    add_to("a", 1);
    pevent_start(&s);
    tick(0);
    printed("[a:0000000000000000 sideband error: bad file]\n"
            "[a:0000000000000048 sideband error: bad file]\n"
            "[a:0000000000000088 sideband error: bad file]\n");
    {
        tool_range range = {NULL, 0, UINT64_MAX};
        static const struct {
            const char *name;
            uint64_t from;
            const char *why;
        } rows[] = {{"fifo", 0, "bad file"}, {"missing", 0, "bad file"},
                    {"code", 11, "out of memory"}, {"code", 10, NULL},
                    {"code", 2, NULL}};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const char *why;
            range.name = (char *) (uintptr_t) in_folder(rows[i].name);
            range.from = rows[i].from;
            why = pevent_add(&s, &range, 1, &config);
            CHECK(why == rows[i].why
                  || (why && rows[i].why && !strcmp(why, rows[i].why)));
        }
    }
    close_session();
}

TEST(system_root)
{
    open_session(PEVENT_WARN);
    write_file("code", "0123456789", 10);
    config.sysroot = folder;
    mmap_of(1, 0x1000, 4, 0, "/code", 0);
    mmap_of(1, 0x2000, 4, 1, "code", 0);
    mmap_of(1, 0x3000, 4, 1, "//anon", 0);
    mmap_of(1, 0x3000, 4, 1, "[stack]", 0);
    mmap_of(1, 0x3000, 4, 1, "/none", 0);
    start_of(1, 0);
    add_to("a", 1);
    pevent_start(&s);
    tick(0);
    printed("[a:0000000000000080 sideband warning: image section lost]\n"
            "[a:00000000000000c0 sideband warning: image section lost]\n"
            "[a:0000000000000100 sideband error: bad file]\n");
    code_at(0x1000, "0123");
    code_at(0x2000, "1234");
    close_session();
}

/* A process' vdso is that of the first ELF file it maps. */
TEST(vdsos)
{
    static const struct {
        const char *elf;
        const char *want; /* NULL: there is none */
    } rows[] = {{"e64_", "x64"}, {"ex32", "x32"}, {"ei32", "ia32"},
                {"earm", NULL}, {"ebad", NULL}, {"code", NULL}};
    write_file("code", "0123456789", 10);
    write_elf("e64_", 2, 62);
    write_elf("ex32", 1, 62);
    write_elf("ei32", 1, 3);
    write_elf("earm", 1, 40);
    write_elf("ebad", 3, 62);
    write_file("x64", "x64", 3);
    write_file("x32", "x32", 3);
    write_file("ia32", "ia32", 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char names[PEVENT_ABIS][100];
        open_session(0);
        config.vdso[PEVENT_ABI_X64] = strcpy(names[0], in_folder("x64"));
        config.vdso[PEVENT_ABI_X32] = strcpy(names[1], in_folder("x32"));
        config.vdso[PEVENT_ABI_IA32] = strcpy(names[2], in_folder("ia32"));
        config.sysroot = folder; // not for the vdso
        mmap_of(1, 0x1000, 0x100, 0, "/code", 0);
        mmap_of(1, 0x2000, 0x100, 0, rows[i].elf, 0);
        mmap_of(1, 0x3000, 0x100, 0, "e64_", 0);
        mmap_of(1, 0x4000, 0x100, 0, "[vdso]", 0);
        start_of(1, 0);
        add_to("a", 1);
        pevent_start(&s);
        tick(0);
        printed("");
        code_at(0x4000, rows[i].want ? rows[i].want : "x64");
        close_session();
    }
    {
        open_session(0);
        config.vdso[PEVENT_ABI_X32] = "/missing";
        config.sysroot = folder;
        mmap_of(1, 0x4000, 0x100, 0, "[vdso]", 0); // of what kind?
        mmap_of(1, 0x1000, 0x100, 0, "e64_", 0);
        mmap_of(1, 0x4000, 0x100, 0, "[vdso]", 0); // there is none
        mmap_of(2, 0x1000, 0x100, 0, "ex32", 0);
        mmap_of(2, 0x4000, 0x100, 0, "[vdso]", 0); // no such file
        add_to("a", 1);
        pevent_start(&s);
        tick(0);
        printed("[a:0000000000000000 sideband error: bad configuration]\n"
                "[a:0000000000000080 sideband error: bad configuration]\n"
                "[a:0000000000000100 sideband error: bad file]\n");
        close_session();
    }
}

static void exec_of(uint32_t pid, uint64_t time)
{
    begin(PERFDATA_COMM, PERFDATA_MISC_COMM_EXEC);
    put(pid, 4);
    put(pid, 4);
    put_name("sh");
    append_sampled(TASKED, pid, time);
}

/* exec drops all code, at the next place where contexts may switch. */
TEST(exec)
{
    for (int primary = 0; primary < 2; primary++) {
        open_session(PEVENT_SWITCH);
        two_processes();
        start_of(1, 0);
        switch_in(1, 6);
        add_to("a", 1);
        exec_of(1, 1);
        mmap_of(1, 0x2000, 3, 5, in_folder("code"), 2);
        exec_of(4, 6);
        add_to("b", primary);
        begin(PERFDATA_COMM, 0); // a new name is nothing new
        put(1, 8);
        put_name("x");
        append_sampled(TASKED, 1, 3);
        add_to("c", primary);
        pevent_start(&s);
        tick(0);
        printed("[context: pid-1]\n");
        CHECK_EQ(tick(3), 0); // in user code
        code_at(0x1000, "0123");
        CHECK_EQ(anywhere(5), primary);
        printed(primary ? "[context: pid-1]\n" : "");
        code_at(0x1000, primary ? "" : "0123");
        code_at(0x2000, primary ? "567" : "");
        CHECK_EQ(anywhere(6), 1);
        printed(primary ? "[context: pid-4]\n" : "[context: pid-1]\n");
        code_at(0x2000, primary ? "" : "567");
        close_session();
    }
}

/* A new process begins with a copy, a thread is nothing new. */
TEST(forks)
{
    open_session(PEVENT_SWITCH);
    two_processes();
    fork_of(3, 1, 3, 1);
    mmap_of(1, 0x1000, 1, 9, in_folder("code"), 2);
    mmap_of(3, 0x1001, 1, 9, in_folder("code"), 2);
    start_of(3, 3);
    fork_of(1, 1, 77, 4); // a thread
    fork_of(3, 2, 3, 4);  // instead of the one that runs
    start_of(1, 5);
    start_of(3, 6);
    fork_of(1, 99, 1, 7); // of an unknown one
    start_of(1, 8);
    add_to("a", 1);
    pevent_start(&s);
    tick(3);
    printed("[context: pid-3]\n");
    code_at(0x1000, "0923");
    CHECK_EQ(tick(4), 0);
    code_at(0x1000, "0923");
    tick(5);
    printed("[context: pid-1]\n");
    code_at(0x1000, "9123");
    tick(6);
    printed("[context: pid-3]\n");
    code_at(0x1000, "4567");
    tick(8);
    printed("[context: pid-1]\n");
    code_at(0x1000, "");
    close_session();
}

/* ---- switches ---- */

/* A session in pid 1, and a switch to pid 2 that is due at 2. */
static void open_switch(uint64_t kernel_start)
{
    open_session(PEVENT_SWITCH);
    config.kernel_start = kernel_start;
    two_processes();
    start_of(1, 0);
    switch_in(2, 2);
    add_to("a", 1);
    pevent_start(&s);
    CHECK_EQ(tick(0), 1);
    printed("[context: pid-1]\n");
}

/* Does a switch take place at this event, between two in user code? Whether it
 * comes with the event or with the one after it must not matter. */
static void check_place(ipt_event e, int line, int switches)
{
    ipt_event user = an_event(IPT_EVT_TICK, 0x1000, 3);
    int got;
    open_switch(0xf000);
    e.tsc = 2;
    got = pevent_event(&s, &e);
    if (!CHECK_EQ(got, switches)) printf("    line %d\n", line);
    if (got) printed("[context: pid-2]\n");
    code_at(0x1000, got ? "4567" : "0123");
    CHECK_EQ(pevent_event(&s, &user), 0);
    close_session();
    open_switch(0xf000);
    e.tsc = 1;
    CHECK_EQ(pevent_event(&s, &e), 0);
    got = pevent_event(&s, &user);
    if (!CHECK_EQ(got, switches)) printf("    line %d, later\n", line);
    if (got) printed("[context: pid-2]\n");
    close_session();
}

static ipt_event no_ip(uint8_t type)
{
    ipt_event e = an_event(type, 0x1234, 0);
    e.flags = IPT_EVENT_NO_IP;
    return e;
}

static ipt_event branch(uint8_t type, uint64_t ip, uint64_t to)
{
    ipt_event e = an_event(type, ip, 0);
    e.u.branch.to = to;
    return e;
}

static ipt_event no_to(uint8_t type, uint64_t ip)
{
    ipt_event e = an_event(type, ip, 0);
    e.flags = IPT_EVENT_NO_TO;
    return e;
}

static ipt_event cfe(uint8_t kind, uint64_t ip)
{
    ipt_event e = an_event(IPT_EVT_CFE, ip, 0);
    e.u.cfe.type = kind;
    return e;
}

#define U 0x1000 /* in user code */
#define K 0xf000 /* in the kernel */
#define PLACE(event, switches) check_place(event, __LINE__, switches)

TEST(places_of_events)
{
    static const uint8_t by_ip[] = {
        IPT_EVT_ENABLED, IPT_EVT_OVERFLOW, IPT_EVT_EXEC_MODE, IPT_EVT_TSX,
        IPT_EVT_EXSTOP, IPT_EVT_MWAIT, IPT_EVT_PTWRITE, IPT_EVT_TICK,
        IPT_EVT_IFLAGS
    };
    static const uint8_t nowhere[] = {
        IPT_EVT_CBR, IPT_EVT_VMCS, IPT_EVT_ASYNC_VMCS, IPT_EVT_STOP,
        IPT_EVT_PWRE, IPT_EVT_PWRX, IPT_EVT_MNT, IPT_EVT_TRIG, IPT_EVT_GAP,
        IPT_EVT_PEBS_BEGIN, IPT_EVT_PEBS_ITEM, IPT_EVT_PEBS_END
    };
    for (size_t i = 0; i < sizeof by_ip; i++) {
        PLACE(an_event(by_ip[i], U, 0), 0);
        PLACE(an_event(by_ip[i], K - 1, 0), 0);
        PLACE(an_event(by_ip[i], K, 0), 1);
        PLACE(an_event(by_ip[i], UINT64_MAX, 0), 1);
        PLACE(no_ip(by_ip[i]), 1);
    }
    for (size_t i = 0; i < sizeof nowhere; i++)
        PLACE(an_event(nowhere[i], U, 0), 1);
    PLACE(branch(IPT_EVT_DISABLED, U, U), 0);
    PLACE(branch(IPT_EVT_DISABLED, U, K), 1);
    PLACE(no_to(IPT_EVT_DISABLED, U), 1); // it left user code
    PLACE(branch(IPT_EVT_ASYNC_DISABLED, K, U), 0);
    PLACE(branch(IPT_EVT_ASYNC_DISABLED, U, K), 1);
    PLACE(no_to(IPT_EVT_ASYNC_DISABLED, U), 1);
    PLACE(no_to(IPT_EVT_ASYNC_DISABLED, K), 0); // it left the kernel
    PLACE(branch(IPT_EVT_ASYNC_BRANCH, K, U), 0);
    PLACE(branch(IPT_EVT_ASYNC_BRANCH, U, K), 1);
    PLACE(no_to(IPT_EVT_ASYNC_BRANCH, U), 1);
    PLACE(an_event(IPT_EVT_PAGING, U, 0), 1);
    PLACE(an_event(IPT_EVT_ASYNC_PAGING, U, 0), 0);
    PLACE(an_event(IPT_EVT_ASYNC_PAGING, K, 0), 1);
    PLACE(no_ip(IPT_EVT_ASYNC_PAGING), 1);
    for (uint8_t kind = 1; kind <= IPT_CFE_SYSCALL; kind++) {
        int none = kind == IPT_CFE_SIPI || kind == IPT_CFE_SWINTR
            || kind == IPT_CFE_SYSCALL;
        PLACE(cfe(kind, U), none);
        PLACE(cfe(kind, K), 1);
    }
}

/* Tracing that ends without an ip goes to the other side, and back. */
TEST(likely_places)
{
    ipt_event off = no_to(IPT_EVT_DISABLED, 0);
    ipt_event user = an_event(IPT_EVT_ENABLED, U, 0);
    ipt_event kernel = an_event(IPT_EVT_ENABLED, K, 0);
    open_switch(K);
    off.tsc = user.tsc = kernel.tsc = 1;
    CHECK_EQ(pevent_event(&s, &kernel), 0);
    CHECK_EQ(pevent_event(&s, &off), 0); // likely user
    user.tsc = 2;
    CHECK_EQ(pevent_event(&s, &user), 0); // from there to user: no kernel
    user.tsc = 1;
    CHECK_EQ(pevent_event(&s, &off), 1); // to the kernel, likely
    printed("[context: pid-2]\n");
    close_session();

    open_switch(K);
    off.flags |= IPT_EVENT_STATUS; // of PSB+: it counts, too
    CHECK_EQ(pevent_event(&s, &off), 0); // likely kernel
    CHECK_EQ(pevent_event(&s, &off), 0); // likely user
    off.tsc = 2;
    CHECK_EQ(pevent_event(&s, &off), 1);
    printed("[context: pid-2]\n");
    close_session();

    // before the first event nothing is known, so that a switch may be
    open_session(PEVENT_SWITCH);
    {
        switch_in(2, 0);
        add_to("a", 1);
    }
    pevent_start(&s);
    CHECK_EQ(tick(0), 1);
    printed("[context: pid-2]\n");
    close_session();
}

/* The default: every address is the user's. */
TEST(no_kernel)
{
    ipt_event e = an_event(IPT_EVT_ENABLED, 0xffffffff81000000u, 2);
    open_switch(UINT64_MAX);
    CHECK_EQ(pevent_event(&s, &e), 0);
    e = no_to(IPT_EVT_DISABLED, 0);
    CHECK_EQ(pevent_event(&s, &e), 1);
    printed("[context: pid-2]\n");
    close_session();
}

/* A newer switch takes the place of one that waits. */
TEST(switches_that_wait)
{
    open_session(PEVENT_SWITCH);
    two_processes();
    start_of(1, 0);
    switch_in(2, 1);
    switch_in(3, 2);
    switch_in(2, 3);
    switch_in(2, 4);
    switch_in(1, 5);
    switch_in(2, 6);
    switch_in(3, 6);
    start_of(2, 7);
    switch_in(1, 8);
    begin(PERFDATA_SWITCH, OUT);
    append_sampled(TASKED, 1, 9);
    add_to("a", 1);
    pevent_start(&s);
    CHECK_EQ(tick(0), 1);
    printed("[context: pid-1]\n");
    CHECK_EQ(tick(2), 0);
    CHECK_EQ(tick(4), 0);
    CHECK_EQ(anywhere(4), 1);
    printed("[context: pid-2]\n");
    CHECK_EQ(tick(5), 1); // the event before it was anywhere
    printed("[context: pid-1]\n");
    CHECK_EQ(tick(6), 0);
    CHECK_EQ(tick(7), 1); // at once, and nothing waits any more
    printed("[context: pid-2]\n");
    CHECK_EQ(anywhere(7), 0);
    CHECK_EQ(tick(7), 0);
    CHECK_EQ(tick(9), 0); // the file is at its end, the switch still waits
    CHECK_EQ(tick(10), 0);
    CHECK_EQ(anywhere(10), 1);
    printed("[context: pid-1]\n");
    CHECK_EQ(anywhere(10), 0);
    close_session();
}

/* A switch to the context that runs is none, and takes back one that waits. */
TEST(switches_to_the_same)
{
    open_session(PEVENT_SWITCH);
    start_of(1, 0);
    start_of(1, 0);
    switch_in(1, 0);
    switch_in(2, 1);
    switch_in(1, 1);
    add_to("a", 1);
    pevent_start(&s);
    CHECK_EQ(tick(0), 1);
    printed("[context: pid-1]\n");
    CHECK_EQ(anywhere(0), 0);
    CHECK_EQ(anywhere(1), 0);
    close_session();
}

static void wide(unsigned misc, uint32_t other, uint32_t pid,
                 uint64_t time)
{
    begin(PERFDATA_SWITCH_CPU_WIDE, misc);
    put(other, 4);
    put(other, 4);
    append_sampled(TASKED, pid, time);
}

/* OUT says who comes, IN is about itself; without samples it says nothing. */
TEST(cpu_wide_switches)
{
    open_session(PEVENT_SWITCH);
    wide(OUT, 5, 6, 1);
    wide(0, 7, 8, 2);
    add_to("a", 1);
    config.sample_type = PERFDATA_SAMPLE_TIME;
    begin(PERFDATA_SWITCH_CPU_WIDE, 0);
    put(9, 8);
    append_sampled(TIMED, 0, 3);
    begin(PERFDATA_SWITCH_CPU_WIDE, OUT);
    put(10, 8);
    append_sampled(TIMED, 0, 4);
    add_to("b", 1);
    pevent_start(&s);
    CHECK_EQ(anywhere(1), 1);
    printed("[context: pid-5]\n");
    CHECK_EQ(anywhere(2), 1);
    printed("[context: pid-8]\n");
    CHECK_EQ(anywhere(3), 0);
    CHECK_EQ(anywhere(4), 1);
    printed("[context: pid-a]\n");
    close_session();
}

TEST(secondary_files_do_not_switch)
{
    open_session(PEVENT_SWITCH | PEVENT_WARN);
    two_processes();
    start_of(1, 0);
    add_to("a", 1);
    start_of(2, 1);
    switch_in(2, 2);
    wide(OUT, 2, 2, 3);
    wide(0, 2, 2, 4);
    mmap_of(1, 0x1000, 1, 9, in_folder("code"), 5);
    add_to("b", 0);
    config.sample_type = 0;
    begin(PERFDATA_SWITCH, 0); // no error in it either
    append_record();
    add_to("c", 0);
    pevent_start(&s);
    tick(0);
    printed("[context: pid-1]\n");
    for (uint64_t tsc = 0; tsc < 5; tsc++) CHECK_EQ(anywhere(tsc), 0);
    CHECK_EQ(anywhere(5), 1);
    code_at(0x1000, "9123");
    close_session();
}

/* ---- what a file may make grow ---- */

/* Add the one record that was put together `count` times, at addresses `step`
 * apart. */
static void add_many(const char *name, size_t count, uint64_t step)
{
    const size_t size = whole_size;
    uint8_t *all = malloc(count * size);
    for (size_t i = 0; i < count; i++) {
        patch(16, i * step);
        memcpy(all + i * size, whole, size);
    }
    CHECK(!pevent_add_bytes(&s, name, all, count * size, 0, &config));
    whole_size = 0;
}

/* One place again and again: what is hidden does not stay forever. */
TEST(many_mappings)
{
    open_session(0);
    write_file("code", "0123456789", 10);
    start_of(1, 0);
    add_to("first", 1);
    mmap_of(1, 0, 4, 2, in_folder("code"), 1);
    add_many("same", 2 * CONTEXT_SECTIONS + 5, 0);
    mmap_of(1, 0, 4, 6, in_folder("code"), 2);
    add_to("last", 0);
    pevent_start(&s);
    CHECK_EQ(tick(1), 1);
    printed("");
    code_at(0, "2345");
    CHECK_EQ(tick(2), 1);
    code_at(0, "6789");
    CHECK(s.sections <= CONTEXT_SECTIONS);
    close_session();
}

/* A process has as many mappings as Linux allows by default, not more. */
TEST(too_many_mappings)
{
    open_session(0);
    write_file("code", "0123456789", 10);
    mmap_of(1, 0, 1, 0, in_folder("code"), 0);
    add_many("a", CONTEXT_SECTIONS + 2, 1);
    pevent_start(&s);
    tick(0);
    fflush(s.out);
    CHECK(strstr(out, "sideband error: out of memory]\n") != NULL);
    printed(NULL);
    CHECK_EQ(s.sections, CONTEXT_SECTIONS);
    close_session();
}

TEST(many_processes)
{
    open_session(0);
    two_processes();
    for (uint32_t pid = 3; pid < 2000; pid++) fork_of(pid, pid - 1, pid, 1);
    start_of(1999, 2);
    add_to("a", 1);
    pevent_start(&s);
    tick(2);
    code_at(0x1000, "4567");
    CHECK_EQ(s.contexts.count, 1999);
    close_session();
}

/* ---- hostile files ---- */

/* Read a file in both ways; anything may be printed. */
static void survive(const uint8_t *data, size_t size, uint64_t type)
{
    for (int dump = 0; dump < 2; dump++) {
        uint8_t *copy = malloc(size ? size : 1);
        if (size) memcpy(copy, data, size);
        open_session(0x7f & ~(dump ? PEVENT_VERBOSE : PEVENT_COMPACT));
        config.sample_type = type;
        config.sysroot = folder;
        CHECK(!pevent_add_bytes(&s, "x", copy, size, 1, &config));
        pevent_start(&s);
        if (dump) pevent_dump(&s, UINT64_MAX);
        for (uint64_t i = 0; i < 4; i++) anywhere(i == 3 ? UINT64_MAX : i);
        printed(NULL);
        CHECK(s.due == NULL);
        close_session();
    }
}

TEST(cut_and_changed)
{
    append_kinds(ALL);
    write_file("a file", "0123456789", 10);
    for (size_t n = 0; n <= whole_size; n++) survive(whole, n, ALL);
    for (size_t i = 0; i < whole_size; i++) {
        static const uint8_t with[] = {0x01, 0x80, 0xff};
        for (int k = 0; k < 3; k++) {
            whole[i] ^= with[k];
            survive(whole, whole_size, ALL);
            whole[i] ^= with[k];
        }
    }
    for (int round = 0; round < 3000; round++) {
        uint8_t noise[256];
        for (size_t i = 0; i < sizeof noise; i++) {
            noise[i] = (uint8_t) dice(256);
            // types and sizes that let the reader come further
            if (i % 8 < 4) noise[i] = i % 8 ? 0 : noise[i] & 15;
            if (i % 8 == 7) noise[i] = 0;
        }
        survive(noise, sizeof noise, dice(ALL + 1) & ALL);
    }
    whole_size = 0;
}

int main(void)
{
    char command[512];
    if (!mkdtemp(tmp_name(folder, sizeof folder, "pevent"))) return 2;
    RUN(compact);
    RUN(verbose);
    RUN(build_id);
    RUN(samples_of_records);
    RUN(prefixes);
    RUN(no_time_no_prefix);
    RUN(names_are_escaped);
    RUN(order);
    RUN(order_at_events);
    RUN(records_without_time);
    RUN(times);
    RUN(bad_clocks);
    RUN(sample_configs);
    RUN(broken_records);
    RUN(small_files);
    RUN(warnings);
    RUN(errors_keep_the_file);
    RUN(code_of_processes);
    RUN(kernel_code);
    RUN(code_that_goes_away);
    RUN(only_regular_files_are_opened);
    RUN(system_root);
    RUN(vdsos);
    RUN(exec);
    RUN(forks);
    RUN(places_of_events);
    RUN(likely_places);
    RUN(no_kernel);
    RUN(switches_that_wait);
    RUN(switches_to_the_same);
    RUN(cpu_wide_switches);
    RUN(secondary_files_do_not_switch);
    RUN(many_mappings);
    RUN(too_many_mappings);
    RUN(many_processes);
    RUN(cut_and_changed);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) return 2;
    return test_report();
}
