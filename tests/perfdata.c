/* perfdata.c: the reader of perf.data (common/perf/perfdata.h), on
 * records and files put together here, in both byte orders. */
#define _POSIX_C_SOURCE 200809L
#include "examples/tools/common/perf/perfdata.c"
#include "dice.h"
#include "test.h"
#include "perfbuild.h"
#include <glob.h>

/* ---- one record ---- */

static perfdata_attr attr;
static perfdata_record rec;

/* All six samples. */
#define ALL 0x102c6

/* The samples that end() makes of ALL, and what they have to be. */
static void end_samples(void)
{
    put2(0x101, 0x102);
    put(0x1122334455667788, 8);
    put(0x103, 8);
    put(0x104, 8);
    put2(0x105, 0);
    put(0x106, 8);
    end();
}

static int parse_as(uint64_t sample_type)
{
    uint8_t *copied = malloc(built_size); // a sanitizer sees a read beyond
    int status;
    memset(&attr, 0, sizeof attr);
    attr.flags = PERFDATA_ATTR_SAMPLE_ID_ALL;
    attr.sample_type = sample_type;
    memcpy(copied, built, built_size);
    status = perfdata_parse(&attr, big, copied, built_size, &rec);
    free(copied);
    if (status == 0)
        status = perfdata_parse(&attr, big, built, built_size, &rec);
    return status;
}

/* Parse what end_samples finished: everything fits, the samples are right. */
static void parse(void)
{
    CHECK_EQ(parse_as(ALL), 0);
    CHECK_EQ(rec.size, built_size);
    CHECK_EQ(rec.body + rec.trailer, built_size);
    CHECK_EQ(rec.trailer, 48);
    CHECK_EQ(rec.sample.has, ALL);
    CHECK_EQ(rec.sample.pid, 0x101);
    CHECK_EQ(rec.sample.tid, 0x102);
    CHECK_EQ(rec.sample.time, 0x1122334455667788);
    CHECK_EQ(rec.sample.id, 0x103);
    CHECK_EQ(rec.sample.stream_id, 0x104);
    CHECK_EQ(rec.sample.cpu, 0x105);
    CHECK_EQ(rec.sample.identifier, 0x106);
    CHECK_EQ(perfdata_identifier(big, built, built_size), 0x106);
}

/* Parse a record without samples. */
static void parse_plain(void)
{
    end();
    CHECK_EQ(parse_as(ALL), 0);
    CHECK_EQ(rec.trailer, 0);
    CHECK_EQ(rec.sample.has, 0);
}

/* A test in both byte orders. */
#define BOTH(test)                                                            \
    static void test##_in_order(void);                                        \
    TEST(test)                                                                \
    {                                                                         \
        for (big = 0; big < 2; big++) test##_in_order();                      \
    }                                                                         \
    static void test##_in_order(void)

/* ---- records of the kernel ---- */

BOTH(mappings)
{
    static const uint8_t id[4] = {0xde, 0xad, 0xbe, 0xef};
    begin(1, 2);
    put2(11, 12);
    put(0x7f0000001000, 8);
    put(0x2000, 8);
    put(0x3000, 8);
    put_text("/bin/x", 8);
    end_samples();
    parse();
    CHECK_EQ(rec.type, PERFDATA_MMAP);
    CHECK_EQ(rec.misc & PERFDATA_MISC_CPUMODE_MASK, PERFDATA_MISC_USER);
    CHECK_EQ(rec.u.mmap.pid, 11);
    CHECK_EQ(rec.u.mmap.tid, 12);
    CHECK_EQ(rec.u.mmap.addr, 0x7f0000001000);
    CHECK_EQ(rec.u.mmap.len, 0x2000);
    CHECK_EQ(rec.u.mmap.pgoff, 0x3000);
    CHECK_EQ(rec.u.mmap.prot, 0);
    CHECK(!strcmp(rec.u.mmap.name, "/bin/x"));

    begin(10, 2);
    put2(11, 12);
    put(0x7f0000001000, 8);
    put(0x2000, 8);
    put(0x3000, 8);
    put2(8, 9);
    put(0xa00000000b, 8);
    put(0xc0d, 8);
    put2(5, 0x1002);
    put_text("/lib/eight", 16);
    end_samples();
    parse();
    CHECK_EQ(rec.u.mmap.maj, 8);
    CHECK_EQ(rec.u.mmap.min, 9);
    CHECK_EQ(rec.u.mmap.ino, 0xa00000000b);
    CHECK_EQ(rec.u.mmap.ino_generation, 0xc0d);
    CHECK_EQ(rec.u.mmap.prot, 5);
    CHECK_EQ(rec.u.mmap.flags, 0x1002);
    CHECK_EQ(rec.u.mmap.build_id_size, 0);
    CHECK(!strcmp(rec.u.mmap.name, "/lib/eight"));

    begin(10, 0x4002);
    put2(11, 12);
    put(0x1000, 8);
    put(0x2000, 8);
    put(0x3000, 8);
    built[built_size] = 4;
    memset(built + built_size + 1, 0, 23);
    memcpy(built + built_size + 4, id, 4);
    built_size += 24;
    put2(5, 2);
    put_text("", 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.mmap.build_id_size, 4);
    CHECK(!memcmp(rec.u.mmap.build_id, id, 4));
    CHECK_EQ(rec.u.mmap.prot, 5);
    CHECK_EQ(rec.u.mmap.name[0], 0);
    built[40] = 21; // more than an id can have
    CHECK_EQ(parse_as(ALL), 0);
    CHECK_EQ(rec.u.mmap.build_id_size, 0);
}

BOTH(tasks)
{
    begin(3, 0x2000);
    put2(1, 2);
    put_text("sh", 8);
    end_samples();
    parse();
    CHECK_EQ(rec.misc, PERFDATA_MISC_COMM_EXEC);
    CHECK_EQ(rec.u.comm.pid, 1);
    CHECK_EQ(rec.u.comm.tid, 2);
    CHECK(!strcmp(rec.u.comm.name, "sh"));
    for (unsigned type = 4; type <= 7; type += 3) { // EXIT, FORK
        begin(type, 0);
        put2(1, 2);
        put2(3, 4);
        put(5, 8);
        end_samples();
        parse();
        CHECK_EQ(rec.type, type);
        CHECK_EQ(rec.u.task.pid, 1);
        CHECK_EQ(rec.u.task.ppid, 2);
        CHECK_EQ(rec.u.task.tid, 3);
        CHECK_EQ(rec.u.task.ptid, 4);
        CHECK_EQ(rec.u.task.time, 5);
    }
    for (unsigned type = 12; type <= 15; type += 3) { // ITRACE_START, SWITCH..
        begin(type, PERFDATA_MISC_SWITCH_OUT | PERFDATA_MISC_SWITCH_PREEMPT);
        put2(6, 7);
        end_samples();
        parse();
        CHECK_EQ(rec.u.thread.pid, 6);
        CHECK_EQ(rec.u.thread.tid, 7);
    }
    begin(14, 0);
    end_samples();
    parse();
    CHECK_EQ(rec.body, 8);
    begin(8, 0);
    put2(6, 7);
    put(8, 8);
    put(9, 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.thread.tid, 7);
}

BOTH(losses)
{
    begin(2, 0);
    put(1, 8);
    put(2, 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.lost.id, 1);
    CHECK_EQ(rec.u.lost.lost, 2);
    begin(13, 0);
    put(3, 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.lost.lost, 3);
    for (unsigned type = 5; type <= 6; type++) { // THROTTLE, UNTHROTTLE
        begin(type, 0);
        put(1, 8);
        put(2, 8);
        put(3, 8);
        end_samples();
        parse();
        CHECK_EQ(rec.u.throttle.time, 1);
        CHECK_EQ(rec.u.throttle.id, 2);
        CHECK_EQ(rec.u.throttle.stream_id, 3);
    }
    begin(11, 0);
    put(0x10, 8);
    put(0x20, 8);
    put(PERFDATA_AUX_TRUNCATED | PERFDATA_AUX_COLLISION, 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.aux.offset, 0x10);
    CHECK_EQ(rec.u.aux.size, 0x20);
    CHECK_EQ(rec.u.aux.flags, 9);
    begin(21, 0);
    put(0x77, 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.hw_id, 0x77);
}

BOTH(kernel_code)
{
    begin(17, 0);
    put(0xffffffffc0001000, 8);
    put(0x80, 4);
    put(1, 2);
    put(1, 2);
    put_text("bpf_prog_1", 16);
    end_samples();
    parse();
    CHECK_EQ(rec.u.ksymbol.addr, 0xffffffffc0001000);
    CHECK_EQ(rec.u.ksymbol.len, 0x80);
    CHECK_EQ(rec.u.ksymbol.kind, 1);
    CHECK_EQ(rec.u.ksymbol.flags, 1);
    CHECK(!strcmp(rec.u.ksymbol.name, "bpf_prog_1"));
    begin(18, 0);
    put(2, 2);
    put(3, 2);
    put(4, 4);
    put_text("tagtagt", 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.bpf.kind, 2);
    CHECK_EQ(rec.u.bpf.flags, 3);
    CHECK_EQ(rec.u.bpf.id, 4);
    CHECK(!memcmp(rec.u.bpf.tag, "tagtagt", 8));
    begin(19, 0);
    put(0x1234, 8);
    put_text("/a/cgroup", 16);
    end_samples();
    parse();
    CHECK_EQ(rec.u.cgroup.id, 0x1234);
    CHECK(!strcmp(rec.u.cgroup.path, "/a/cgroup"));
    for (unsigned old = 0; old < 12; old++) {
        begin(20, 0);
        put(0xffffffff81000000, 8);
        put(old, 2);
        put(5, 2);
        memset(built + built_size, 0x90, old);
        memset(built + built_size + old, 0xcc, 5);
        built_size += (old + 5 + 20 + 7) / 8 * 8 - 20;
        end_samples();
        parse();
        CHECK_EQ(rec.u.text_poke.old_len, old);
        CHECK_EQ(rec.u.text_poke.new_len, 5);
        CHECK(rec.u.text_poke.old_bytes == built + 20);
        CHECK_EQ(rec.u.text_poke.new_bytes[0], 0xcc);
    }
}

BOTH(namespaces)
{
    for (unsigned count = 0; count < 10; count++) {
        begin(16, 0);
        put2(1, 2);
        put(count, 8);
        for (unsigned i = 0; i < count; i++) {
            put(i, 8);
            put(100 + i, 8);
        }
        end_samples();
        parse();
        CHECK_EQ(rec.u.namespaces.pid, 1);
        CHECK_EQ(rec.u.namespaces.count, count < 7 ? count : 7);
        if (count > 5) CHECK_EQ(rec.u.namespaces.link[5].inode, 105);
    }
    begin(16, 0);
    put2(1, 2);
    put(UINT64_MAX, 8);
    end_samples();
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_FIELDS);
}

/* ---- samples ---- */

/* Each set of samples in the trailer, and no sample_id_all. */
BOTH(trailers)
{
    static const uint32_t bit[6] = {2, 4, 0x40, 0x200, 0x80, 0x10000};
    for (unsigned set = 0; set < 64; set++) {
        uint64_t type = PERFDATA_SAMPLE_IP | PERFDATA_SAMPLE_AUX; // not here
        uint64_t want[6];
        begin(14, 0);
        for (unsigned i = 0; i < 6; i++) {
            want[i] = set >> i & 1 ? 10 + i : 0;
            if (!want[i]) continue;
            type |= bit[i];
            if (bit[i] == 0x80)
                put2(want[i], 0);
            else if (bit[i] == 2)
                put2(9, want[i]);
            else
                put(want[i], 8);
        }
        end();
        CHECK_EQ(parse_as(type), 0);
        CHECK_EQ(rec.sample.pid, want[0] ? 9 : 0);
        CHECK_EQ(rec.sample.tid, want[0]);
        CHECK_EQ(rec.sample.time, want[1]);
        CHECK_EQ(rec.sample.id, want[2]);
        CHECK_EQ(rec.sample.stream_id, want[3]);
        CHECK_EQ(rec.sample.cpu, want[4]);
        CHECK_EQ(rec.sample.identifier, want[5]);
        CHECK_EQ(rec.body + rec.trailer, built_size);
        attr.flags = 0;
        CHECK_EQ(perfdata_parse(&attr, big, built, built_size, &rec), 0);
        CHECK_EQ(rec.sample.has, 0);
        CHECK_EQ(rec.trailer, 0);
    }
    begin(14, 0);
    put(1, 8);
    end();
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_TIME),
             PERFDATA_ERR_FIELDS);
    CHECK_EQ(perfdata_parse(NULL, big, built, built_size, &rec), 0);
}

/* A SAMPLE with everything that can stand in it. */
static void put_sample(void)
{
    begin(9, 2);
    put(1, 8); // identifier
    put(2, 8); // ip
    put2(3, 4);
    put(5, 8); // time
    put(6, 8); // addr
    put(7, 8); // id
    put(8, 8); // stream id
    put2(9, 0);
    put(10, 8); // period
    put(2, 8);  // read: a group of 2, each with an id and what was lost
    put(0, 8);
    put(0, 8); // times
    for (int i = 0; i < 6; i++) put(0, 8);
    put(3, 8); // callchain
    for (int i = 0; i < 3; i++) put(0, 8);
    put(12, 4); // raw
    put_text("raw bytes..", 12);
    put(2, 8); // branches, with hw index and counters
    put(0, 8);
    for (int i = 0; i < 8; i++) put(0, 8);
    put(1, 8); // user registers: 3
    for (int i = 0; i < 3; i++) put(0, 8);
    put(16, 8); // stack
    for (int i = 0; i < 3; i++) put(0, 8);
    for (int i = 0; i < 3; i++) put(0, 8); // weight, data src, transaction
    put(0, 8);                             // no interrupt registers
    for (int i = 0; i < 4; i++) put(0, 8); // physical address to code page
    put(5, 8);
    put_text("trac", 8);
    built_size -= 3; // of 5 bytes
    end();
}

BOTH(samples)
{
    static const perfdata_attr all = {
        1, 136, 0, 1, 0x1ffffff, 0x1f, 1 << 18, 0, 0, 0xa0000, 7, 3, 0, 0};
    put_sample();
    CHECK_EQ(perfdata_parse(&all, big, built, built_size, &rec), 0);
    CHECK_EQ(rec.body, built_size);
    CHECK_EQ(rec.sample.identifier, 1);
    CHECK_EQ(rec.u.event.ip, 2);
    CHECK_EQ(rec.sample.pid, 3);
    CHECK_EQ(rec.sample.tid, 4);
    CHECK_EQ(rec.sample.time, 5);
    CHECK_EQ(rec.u.event.addr, 6);
    CHECK_EQ(rec.sample.id, 7);
    CHECK_EQ(rec.sample.stream_id, 8);
    CHECK_EQ(rec.sample.cpu, 9);
    CHECK_EQ(rec.u.event.period, 10);
    CHECK_EQ(rec.u.event.raw_size, 12);
    CHECK(!memcmp(rec.u.event.raw, "raw bytes..", 12));
    CHECK_EQ(rec.u.event.aux_size, 5);
    CHECK(!memcmp(rec.u.event.aux, "trac", 5));
    for (size_t size = built_size - 1; size >= 8; size--) {
        uint8_t *cut = malloc(size);
        built_size = 6;
        put(size, 2);
        memcpy(cut, built, size);
        CHECK_EQ(perfdata_parse(&all, big, cut, size, &rec),
                 PERFDATA_ERR_FIELDS);
        free(cut);
    }
}

/* ---- perf's own records ---- */

BOTH(auxtrace)
{
    begin(70, 0);
    put2(1, 0);
    for (unsigned i = 0; i < 16; i++) put(0x100 + i, 8);
    put(9, 8);
    put_text("filter 0x", 16);
    put(1, 8);
    parse_plain();
    CHECK_EQ(rec.u.info.kind, 1);
    CHECK_EQ(rec.u.info.count, 20);
    CHECK_EQ(rec.u.info.word[PERFDATA_PT_MAX_NONTURBO_RATIO], 0x10f);
    CHECK(!strcmp(rec.u.info.filter, "filter 0x"));
    CHECK_EQ(rec.u.info.event_trace, 1);
    built[152 + 9] = 'x'; // no zero after the text
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_STRING);
    built_size = 144;
    put(100, 8); // longer than the record
    built_size = 176;
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_FIELDS);
    built_size = 144;
    put(UINT64_MAX, 8);
    built_size = 176;
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_FIELDS);
    for (unsigned words = 8; words <= 18; words++) { // of older perf
        begin(70, 0);
        put2(1, 0);
        for (unsigned i = 0; i < words; i++) put(0, 8);
        end();
        CHECK_EQ(parse_as(ALL), words < 10 ? PERFDATA_ERR_FIELDS : 0);
        CHECK_EQ(rec.u.info.count, words);
    }

    begin(71, 0);
    put(0x4000, 8);
    put(0x123456789a, 8);
    put(77, 8);
    put2(3, 4);
    put2(0xffffffff, 0);
    parse_plain();
    CHECK_EQ(rec.u.auxtrace.size, 0x4000);
    CHECK_EQ(rec.u.auxtrace.offset, 0x123456789a);
    CHECK_EQ(rec.u.auxtrace.reference, 77);
    CHECK_EQ(rec.u.auxtrace.idx, 3);
    CHECK_EQ(rec.u.auxtrace.tid, 4);
    CHECK_EQ(rec.u.auxtrace.cpu, 0xffffffff);

    begin(72, 0);
    put2(1, 2);
    put2(3, 4);
    put2(5, 1);
    put(6, 8);
    put(7, 8);
    put_text("lost", 64);
    parse_plain();
    CHECK_EQ(rec.u.error.code, 2);
    CHECK_EQ(rec.u.error.cpu, 3);
    CHECK_EQ(rec.u.error.time, 7);
    CHECK(!strcmp(rec.u.error.message, "lost"));
}

BOTH(others)
{
    begin(79, 0);
    put(31, 8);
    put(672770566, 8);
    put(UINT64_MAX - 5, 8);
    parse_plain();
    CHECK_EQ(rec.u.time_conv.shift, 31);
    CHECK_EQ(rec.u.time_conv.mult, 672770566);
    CHECK_EQ(rec.u.time_conv.zero, UINT64_MAX - 5);
    CHECK_EQ(rec.u.time_conv.cap_time_zero, 1);
    put(8, 8);
    put(9, 8);
    put_text("\0\1", 8);
    built[built_size - 7] = 1;
    parse_plain();
    CHECK_EQ(rec.u.time_conv.cycles, 8);
    CHECK_EQ(rec.u.time_conv.mask, 9);
    CHECK_EQ(rec.u.time_conv.cap_time_zero, 0);
    CHECK_EQ(rec.u.time_conv.cap_time_short, 1);

    begin(67, 0x8001);
    put(0xffffffff, 4);
    put_text("0123456789abcdefghij", 24);
    built[built_size - 4] = 16;
    put_text("[kernel.kallsyms]", 64);
    parse_plain();
    CHECK_EQ(rec.u.build_id.pid, 0xffffffff);
    CHECK_EQ(rec.u.build_id.size, 16);
    CHECK(!memcmp(rec.u.build_id.id, "0123456789abcdef\0\0\0", 20));
    CHECK(!strcmp(rec.u.build_id.name, "[kernel.kallsyms]"));
    built[big ? 3 : 0] = 0; // as in the feature
    CHECK_EQ(perfdata_parse_build_id(big, built, built_size, &rec), 0);
    CHECK_EQ(rec.u.build_id.size, 16);
    for (unsigned size = 21; size < 256; size += 234) { // more than it can have
        built[8 + 4 + 20] = (uint8_t) size;
        built[big ? 3 : 0] = 0;
        CHECK_EQ(perfdata_parse_build_id(big, built, built_size, &rec), 0);
        CHECK_EQ(rec.u.build_id.size, 20);
        built[big ? 3 : 0] = 67;
        parse_plain();
        CHECK_EQ(rec.u.build_id.size, 20);
    }

    begin(66, 0);
    put2(1000, 0);
    parse_plain();
    CHECK_EQ(rec.u.tracing.size, 1000);
    begin(80, 0);
    put(9, 8);
    put(3, 4);
    parse_plain();
    CHECK_EQ(rec.u.feature.bit, 9);
    CHECK_EQ(rec.u.feature.size, 4);
    begin(81, 0);
    put_text("abc", 3);
    parse_plain();
    CHECK_EQ(rec.u.compressed.size, 3);
    begin(83, 0);
    put(3, 8);
    put_text("abc", 8);
    parse_plain();
    CHECK_EQ(rec.u.compressed.size, 3);
    CHECK(rec.u.compressed.data == built + 16);
    begin(83, 0);
    put(9, 8);
    put_text("abc", 8);
    end();
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_FIELDS);
}

/* Types that are not known, and headers that cannot be. */
BOTH(headers)
{
    begin(63, 0);
    put(1, 8);
    end_samples();
    parse();
    begin(63, 0);
    put(1, 8);
    end();
    CHECK_EQ(parse_as(ALL), 0);
    CHECK_EQ(rec.trailer, 0);
    begin(1000, 0);
    put(1, 4);
    parse_plain();
    CHECK_EQ(rec.body, 12);
    for (unsigned size = 0; size < 8; size++) {
        begin(14, 0);
        built_size = 6;
        put(size, 2);
        CHECK_EQ(parse_as(0), PERFDATA_ERR_RECORD);
        CHECK_EQ(perfdata_parse(&attr, big, built, size, &rec), PERFDATA_END);
    }
    begin(14, 0);
    put(0, 8);
    end();
    built_size--;
    CHECK_EQ(parse_as(0), PERFDATA_ERR_CUT);
}

/* Names that end nowhere, in the samples, and exactly before them. */
BOTH(names)
{
    begin(3, 0);
    put2(1, 2);
    put(0x4141414141414141, 8);
    put(0x4141414141414141, 8); // an identifier
    end();
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_IDENTIFIER), PERFDATA_ERR_STRING);
    built[built_size - 3] = 0;
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_IDENTIFIER), PERFDATA_ERR_FIELDS);
    built[built_size - 9] = 0;
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_IDENTIFIER), 0);
    CHECK_EQ(strlen(rec.u.comm.name), 7);
    CHECK_EQ(rec.body, 24);
}

/* What a name leaves over is the reader's to judge. */
BOTH(between)
{
    begin(3, 0);
    put2(1, 2);
    put_text("x", 8);
    put_text("y", 8);
    put(5, 8);
    end();
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_IDENTIFIER), 0);
    CHECK_EQ(rec.sample.identifier, 5);
    CHECK_EQ(rec.body + rec.trailer + 8u, rec.size);
}

/* ---- perf_event_attr ---- */

BOTH(attrs)
{
    perfdata_attr a;
    built_size = 0;
    put2(8, 136);
    put(0x300e601, 8);
    put(1, 8);
    put(0x10087, 8);
    put(4, 8);
    // in the other order the bits of each byte turned, the bytes in place
    memcpy(built + 40, big ? "\xc6\x08\x20\0\0\0\0\x01"
                           : "\x63\x10\x04\0\0\0\0\x80", 8);
    built_size += 8;
    put2(0, 0);
    put(0xc1, 8);
    put(0xc2, 8);
    put(0xb5, 8);
    put(0x35, 8);
    put2(0, 0);
    put(0x36, 8);
    put2(0, 0);
    put2(0x1000, 2);
    put(0, 8);
    put(0, 8);
    CHECK_EQ(built_size, 136);
    CHECK_EQ(perfdata_parse_attr(big, built, built_size, &a), 136);
    CHECK_EQ(a.type, 8);
    CHECK_EQ(a.config, 0x300e601);
    CHECK_EQ(a.sample_period, 1);
    CHECK_EQ(a.sample_type, 0x10087);
    CHECK_EQ(a.read_format, 4);
    CHECK_EQ(a.flags, 0x8000000000041063);
    CHECK_EQ(a.config1, 0xc1);
    CHECK_EQ(a.config2, 0xc2);
    CHECK_EQ(a.branch_sample_type, 0xb5);
    CHECK_EQ(a.sample_regs_user, 0x35);
    CHECK_EQ(a.sample_regs_intr, 0x36);
    CHECK_EQ(a.aux_sample_size, 0x1000);
    CHECK_EQ(a.aux_action, 2);
    CHECK_EQ(perfdata_parse_attr(big, built, 135, &a), PERFDATA_ERR_FIELDS);
    built_size = 4;
    put(0, 4); // the first version
    CHECK_EQ(perfdata_parse_attr(big, built, 64, &a), 64);
    CHECK_EQ(a.config1, 0xc1);
    CHECK_EQ(a.config2, 0);
    built_size = 4;
    put(63, 4);
    CHECK_EQ(perfdata_parse_attr(big, built, 136, &a), PERFDATA_ERR_FIELDS);
}

/* ---- hostile records ---- */

/* Whatever a record says, what was parsed lies within it. */
static void check_inside(const uint8_t *block, size_t size)
{
    const perfdata_record *r = &rec;
    const char *name = NULL;
    CHECK(r->bytes == block);
    CHECK(r->size <= size);
    CHECK(r->body + r->trailer <= r->size);
    if (r->type == PERFDATA_MMAP || r->type == PERFDATA_MMAP2)
        name = r->u.mmap.name;
    if (r->type == PERFDATA_COMM) name = r->u.comm.name;
    if (r->type == PERFDATA_KSYMBOL) name = r->u.ksymbol.name;
    if (name) CHECK(name + strlen(name) < (const char *) block + r->size);
    if (r->type == PERFDATA_SAMPLE && r->u.event.aux_size)
        CHECK(r->u.event.aux + r->u.event.aux_size <= block + r->size);
}

TEST(random_records)
{
    int good = 0;
    for (unsigned round = 0; round < 200000; round++) {
        const size_t size = 8 + dice(round % 3 ? 64 : 300);
        uint8_t *block = malloc(size);
        perfdata_attr a;
        int status;
        memset(&a, 0, sizeof a);
        a.flags = PERFDATA_ATTR_SAMPLE_ID_ALL;
        a.sample_type = dice(2) ? (uint64_t) dice(1u << 24) << 1 | dice(2) : 0;
        a.read_format = dice(32);
        a.sample_regs_user = a.sample_regs_intr = dice(16);
        for (size_t i = 0; i < size; i++)
            block[i] = (uint8_t) (dice(3) ? 0 : dice(256));
        big = (int) dice(2);
        built_size = 0;
        put(dice(2) ? dice(24) : 64 + dice(20), 4);
        put(dice(65536), 2);
        put(dice(8) ? size : dice(300), 2);
        memcpy(block, built, 8);
        status = perfdata_parse(&a, big, block, size, &rec);
        CHECK(status <= 0);
        good += status == 0;
        if (status == 0) check_inside(block, size);
        free(block);
    }
    CHECK(good > 20000);
}

/* ---- files ---- */

static unsigned reads;

static int read_file(uint8_t *buffer, size_t size, uint64_t offset,
                     void *context)
{
    CHECK(context == &whole_size);
    CHECK(offset <= whole_size);
    CHECK(size <= whole_size - offset);
    reads++;
    if (offset > whole_size || size > whole_size - offset) return 1;
    memcpy(buffer, whole + offset, size);
    return 0;
}

static int read_long(uint8_t *buffer, size_t size, uint64_t offset,
                     void *context)
{
    memcpy(buffer, (const uint8_t *) context + offset, size);
    return 0;
}

static perfdata_attr events[8];
static perfdata_id ids[64];
static perfdata_config config;
static perfdata reader;

static int open_file(void)
{
    memset(&config, 0, sizeof config);
    config.read = read_file;
    config.context = &whole_size;
    config.size = whole_size;
    config.events = events;
    config.event_max = 8;
    config.ids = ids;
    config.id_max = 64;
    return perfdata_open(&reader, &config);
}

static perfdata_record want_record(void)
{
    CHECK_EQ(perfdata_next(&reader, &rec), 0);
    return rec;
}

/* What append_records wrote comes back. */
static void check_records(void)
{
    perfdata_record r = want_record();
    CHECK_EQ(r.type, PERFDATA_AUXTRACE_INFO);
    CHECK_EQ(r.event, PERFDATA_NO_EVENT);
    CHECK_EQ(perfdata_pt_event(&reader, &r), 0);
    r = want_record();
    CHECK(!strcmp(r.u.comm.name, "old"));
    CHECK_EQ(r.event, 0);
    CHECK_EQ(r.sample.time, 0);
    r = want_record();
    CHECK(!strcmp(r.u.comm.name, "new"));
    CHECK_EQ(r.event, 1);
    CHECK_EQ(r.sample.tid, 3);
    CHECK_EQ(r.sample.time, 30);
    CHECK_EQ(r.sample.has & PERFDATA_SAMPLE_CPU, 0);
    r = want_record();
    CHECK_EQ(r.type, PERFDATA_SWITCH);
    CHECK_EQ(r.event, 0);
    CHECK_EQ(r.sample.tid, 4);
    CHECK_EQ(r.sample.time, 40);
    CHECK_EQ(r.sample.cpu, 1);
    r = want_record();
    CHECK_EQ(r.u.auxtrace.left, 24);
    CHECK_EQ(r.u.auxtrace.idx, 0);
    r = want_record();
    CHECK_EQ(r.u.auxtrace.left, 16);
    CHECK_EQ(r.u.auxtrace.data, trace_at);
    CHECK_EQ(whole[r.u.auxtrace.data], 2);
    r = want_record();
    CHECK_EQ(r.type, PERFDATA_AUX);
    CHECK_EQ(r.sample.time, 50);
    CHECK_EQ(want_record().type, PERFDATA_FINISHED_ROUND);
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_END);
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_END);
}

static void check_features(void)
{
    perfdata_place place = {0, 0};
    char text[64];
    CHECK_EQ(perfdata_feature_text(&reader, PERFDATA_FEATURE_CPUID, text,
                                   sizeof text), 1);
    CHECK(!strcmp(text, "GenuineIntel,6,94,3"));
    CHECK_EQ(perfdata_feature_text(&reader, PERFDATA_FEATURE_OSRELEASE, text,
                                   4), 1);
    CHECK(!strcmp(text, "6.1"));
    CHECK_EQ(perfdata_feature_text(&reader, PERFDATA_FEATURE_HOSTNAME, text,
                                   sizeof text), 0);
    CHECK_EQ(text[0], 0);
    CHECK_EQ(perfdata_feature(&reader, PERFDATA_FEATURE_CPUID, &place), 1);
    CHECK_EQ(place.size, 68);
    CHECK_EQ(perfdata_feature(&reader, 1000, &place), 0);
}

/* More records after the file, in two parts. Rounds are not handed out. */
BOTH(parts)
{
    perfdata_place place[3];
    make_file();
    for (unsigned i = 0; i < 2; i++) {
        place[i].offset = whole_size;
        begin(14, 0);
        put_samples(5, 60 + i, 1, 11);
        append_record();
        begin(68, 0);
        append_record();
        place[i].size = whole_size - place[i].offset;
    }
    CHECK_EQ(open_file(), 0);
    config.parts = place;
    config.part_count = 2;
    for (int again = 0; again < 2; again++) {
        for (unsigned i = 0; i < 7; i++) want_record();
        CHECK_EQ(rec.type, PERFDATA_AUX);
        for (unsigned i = 0; i < 2; i++) {
            CHECK_EQ(want_record().type, PERFDATA_SWITCH);
            CHECK_EQ(rec.sample.time, 60 + i);
            CHECK_EQ(rec.offset, place[i].offset);
        }
        CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_END);
        CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_END);
        perfdata_rewind(&reader);
    }
    place[1].size++; // beyond the end
    for (unsigned i = 0; i < 8; i++) want_record();
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_CUT);
    place[1].size -= 2; // inside of the last record
    perfdata_rewind(&reader);
    for (unsigned i = 0; i < 9; i++) want_record();
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_CUT);
    check_features();
}

BOTH(whole_file)
{
    make_file();
    CHECK_EQ(open_file(), 0);
    CHECK_EQ(reader.big_endian, big);
    CHECK_EQ(reader.is_pipe, 0);
    CHECK_EQ(reader.event_count, 2);
    CHECK_EQ(reader.id_count, 3);
    CHECK_EQ(events[0].config, 0x300e601);
    CHECK_EQ(perfdata_event(&reader, 11), 0);
    CHECK_EQ(perfdata_event(&reader, 20), 1);
    CHECK_EQ(perfdata_event(&reader, 12), PERFDATA_NO_EVENT);
    check_features();
    check_records();
    perfdata_rewind(&reader);
    check_records();
    CHECK(reads < 40);
    reads = 0;
}

BOTH(pipe)
{
    make_pipe();
    CHECK_EQ(open_file(), 0);
    CHECK_EQ(reader.is_pipe, 1);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(reader.event_count, 0);
        CHECK_EQ(want_record().type, PERFDATA_HEADER_ATTR);
        CHECK_EQ(reader.event_count, 1);
        for (int i = 0; i < 3; i++) want_record();
        check_features();
        check_records();
        perfdata_rewind(&reader);
    }
}

/* Killed: the size of the records is 0, and there is nothing after them. */
BOTH(killed)
{
    make_file();
    whole_size -= 168;
    patch(48, 0);
    CHECK_EQ(open_file(), 0);
    check_records();
    whole_size -= 3;
    CHECK_EQ(open_file(), 0);
    for (int i = 0; i < 7; i++) want_record();
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_CUT);
    CHECK_EQ(rec.offset, whole_size - 5);
}

/* The caller's arrays are too small: they can grow. */
BOTH(too_small)
{
    make_file();
    open_file();
    config.event_max = 1;
    config.id_max = 2;
    CHECK_EQ(perfdata_open(&reader, &config), PERFDATA_ERR_MEMORY);
    CHECK_EQ(reader.event_need, 2);
    CHECK_EQ(reader.id_need, 3);
    config.event_max = 2;
    CHECK_EQ(perfdata_open(&reader, &config), PERFDATA_ERR_MEMORY);
    config.id_max = 3;
    CHECK_EQ(perfdata_open(&reader, &config), 0);
    check_records();
    make_pipe();
    open_file();
    config.event_max = config.id_max = 0;
    for (uint32_t i = 1; i < 3; i++) {
        CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_MEMORY);
        config.event_max = reader.event_need;
        CHECK_EQ(config.event_max, i);
        CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_MEMORY);
        config.id_max = reader.id_need;
        CHECK_EQ(perfdata_next(&reader, &rec), 0);
    }
    CHECK_EQ(want_record().type, PERFDATA_HEADER_FEATURE);
    want_record();
    check_records();
}

/* A record that is wrong inside is stepped over; one that cannot be stepped
 * over is the end. */
BOTH(damaged_records)
{
    size_t at;
    make_file();
    at = 288 + 8 + 8 + 8 * 16; // the first COMM: 16 + 8 + 32
    memset(whole + at + 16, 'x', 40);
    CHECK_EQ(open_file(), 0);
    want_record();
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_STRING);
    CHECK_EQ(rec.offset, at);
    CHECK_EQ(rec.type, PERFDATA_COMM);
    CHECK(!strcmp(want_record().u.comm.name, "new"));
    make_file();
    memset(whole + at + 6, 0, 2);
    CHECK_EQ(open_file(), 0);
    want_record();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_RECORD);
        CHECK_EQ(rec.offset, at);
    }
}

/* Headers that contradict themselves, with the place. */
BOTH(bad_headers)
{
    static const struct {
        unsigned at;
        uint64_t value;
        int status;
        uint64_t offset;
    } row[] = {
        {0, 0x32454c4946524551, PERFDATA_ERR_MAGIC, 0},
        {8, 105, PERFDATA_ERR_HEADER, 8},
        {16, 79, PERFDATA_ERR_HEADER, 16},
        {16, 81, PERFDATA_ERR_HEADER, 16},
        {16, 0, PERFDATA_ERR_HEADER, 16},
        {16, UINT64_MAX, PERFDATA_ERR_HEADER, 16},
        {24, UINT64_MAX, PERFDATA_ERR_CUT, 24},
        {32, (uint64_t) 80 << 40, PERFDATA_ERR_CUT, 24},
        {40, UINT64_MAX, PERFDATA_ERR_CUT, 40},
        {128 + 64, UINT64_MAX, PERFDATA_ERR_CUT, 192},
        {128 + 72, UINT64_MAX, PERFDATA_ERR_CUT, 192},
        {208, (uint64_t) 65 << 32 | 1, 0, 208}, // see below
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        int status = row[i].status;
        make_file();
        patch(row[i].at, row[i].value);
        if (row[i].at == 208) { // an attr larger than its entry
            built_size = 0;
            put2(1, 65);
            memcpy(whole + 208, built, 8);
            status = PERFDATA_ERR_FIELDS;
        }
        if (!CHECK_EQ(open_file(), status)) printf("row %u\n", (unsigned) i);
        CHECK_EQ(reader.offset, row[i].offset);
    }
    // all events claim the whole file as their ids
    make_file();
    for (size_t at = 192; at < 288; at += 80) {
        patch(at, 0);
        patch(at + 8, whole_size);
    }
    CHECK_EQ(open_file(), PERFDATA_ERR_HEADER);
    // the records go on where the file does not
    make_file();
    patch(48, UINT64_MAX - 300);
    CHECK_EQ(open_file(), 0);
    for (int i = 0; i < 8; i++) want_record();
    while (perfdata_next(&reader, &rec) >= 0) continue;
    // a feature beyond the end
    make_file();
    patch(whole_size - 168, whole_size);
    CHECK_EQ(open_file(), 0);
    CHECK_EQ(perfdata_feature_text(&reader, PERFDATA_FEATURE_OSRELEASE,
                                   (char *) built, 9), PERFDATA_ERR_CUT);
    CHECK_EQ(perfdata_feature_text(&reader, PERFDATA_FEATURE_CPUID,
                                   (char *) built, 9), 1);
    config.read = NULL;
    CHECK_EQ(perfdata_open(&reader, &config), PERFDATA_ERR_ARG);
}

/* Read what can be read; every record ends inside the file. */
static unsigned read_all(void)
{
    unsigned count = 0;
    uint64_t last = 0;
    int status = open_file();
    if (status < 0) {
        CHECK(reader.offset <= whole_size);
        CHECK(strlen(perfdata_text(status)) > 3);
        return 0;
    }
    do {
        status = perfdata_next(&reader, &rec);
        CHECK(rec.offset >= last);
        CHECK(rec.offset <= whole_size);
        last = rec.offset;
        if (status >= 0 && rec.type == PERFDATA_AUXTRACE) {
            CHECK(rec.u.auxtrace.left <= whole_size);
            CHECK(rec.u.auxtrace.data <= whole_size - rec.u.auxtrace.left);
        }
        if (status >= 0) count++;
        if (count > 100000) break;
    } while (status >= 0 || status == PERFDATA_ERR_FIELDS
             || status == PERFDATA_ERR_STRING);
    CHECK(count <= whole_size / 8);
    return count;
}

/* Cut anywhere, a file gives the records before the cut, and says so. */
BOTH(cut_files)
{
    for (int form = 0; form < 2; form++) {
        size_t all;
        unsigned before = 0;
        form ? make_pipe() : make_file();
        all = whole_size;
        for (whole_size = 0; whole_size < all; whole_size++) {
            const unsigned count = read_all();
            CHECK(count >= before);
            before = count;
            if (whole_size == trace_at + 5)
                CHECK_EQ(rec.offset, trace_at + 5);
        }
        CHECK_EQ(before, form ? 11 : 8); // features stand after the 8
    }
}

/* Each byte with each of its bits turned, and with some other values. */
BOTH(changed_files)
{
    for (int form = 0; form < 2; form++) {
        form ? make_pipe() : make_file();
        for (size_t at = 0; at < whole_size; at++) {
            const uint8_t was = whole[at];
            for (int bit = 0; bit < 8; bit++) {
                whole[at] = (uint8_t) (was ^ 1 << bit);
                read_all();
            }
            whole[at] = 0;
            read_all();
            whole[at] = 0xff;
            read_all();
            whole[at] = was;
        }
    }
}

/* ---- compressed ---- */

static size_t step; /* bytes the fake takes and makes at a time */
static int begun;

/* A fake: a byte 0x80 + n is n zeros, any other itself; 0xff is damage. It has
 * to be called again for what did not fit. */
static int inflate_fake(uint8_t *out, size_t *out_size, const uint8_t *in,
                        size_t *in_size, void *context)
{
    static unsigned zeros;
    size_t used = 0;
    size_t made = 0;
    (void) context;
    if (!in) {
        begun++;
        zeros = 0;
        return 0;
    }
    while (made < *out_size && made < step) {
        if (zeros) {
            zeros--;
            out[made++] = 0;
        } else if (used < *in_size) {
            if (in[used] == 0xff) return 1;
            if (in[used] & 0x80)
                zeros = in[used++] & 0x7fu;
            else
                out[made++] = in[used++];
        } else {
            break;
        }
    }
    *in_size = used;
    *out_size = made;
    return 0;
}

/* Put plain bytes as the fake wants them. */
static size_t deflate_fake(const uint8_t *plain, size_t size, uint8_t *out)
{
    size_t made = 0;
    for (size_t i = 0; i < size; i++) {
        if (plain[i])
            out[made++] = plain[i];
        else if (made && out[made - 1] >= 0x80 && out[made - 1] < 0xf0)
            out[made - 1]++;
        else
            out[made++] = 0x81;
    }
    return made;
}

/* The file with its COMM and SWITCH records in COMPRESSED ones that hold `part`
 * plain bytes each, and that cut records where they like. */
static void make_compressed(size_t part, unsigned type)
{
    static uint8_t tail[4096];
    static uint8_t plain[4096];
    const size_t from = 288 + 144;
    size_t to;
    size_t tail_size;
    make_file();
    to = from + 56 + 48 + 40;
    memcpy(plain, whole + from, to - from);
    tail_size = whole_size - 168 - to;
    memcpy(tail, whole + to, tail_size);
    whole_size = from;
    for (size_t at = 0; at < to - from; at += part) {
        const size_t size = part < to - from - at ? part : to - from - at;
        begin(type, 0);
        if (type == 83) put(0, 8);
        built_size += deflate_fake(plain + at, size, built + built_size);
        if (type == 83) {
            const size_t all = built_size;
            built_size = 8;
            put(all - 16, 8);
            built_size = all;
            while (built_size % 8) built[built_size++] = 0xff; // padding
        }
        append_record();
    }
    trace_at += whole_size - to;
    memcpy(whole + whole_size, tail, tail_size);
    whole_size += tail_size;
    patch(48, whole_size - 288);
    whole_size += 168; // features, somewhere
}

BOTH(compressed)
{
    static const size_t steps[] = {1, 7, 1 << 20};
    for (unsigned type = 81; type <= 83; type += 2) {
        for (size_t part = 1; part < 160; part += 1 + part / 3) {
            for (int i = 0; i < 3; i++) {
                make_compressed(part, type);
                step = steps[i];
                open_file();
                config.inflate = inflate_fake;
                begun = 0;
                CHECK_EQ(perfdata_open(&reader, &config), 0);
                CHECK_EQ(begun, 1);
                check_records();
                perfdata_rewind(&reader);
                CHECK_EQ(begun, 2);
                check_records();
            }
        }
    }
    make_compressed(50, 81);
    open_file();
    want_record();
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_ZSTD);
    CHECK_EQ(rec.offset, 432);
    make_compressed(50, 81);
    whole[432 + 20] = 0xff;
    open_file();
    config.inflate = inflate_fake;
    perfdata_open(&reader, &config);
    want_record();
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_ERR_INFLATE);
    CHECK_EQ(rec.offset, 432);
}

/* A pipe of events and records by turns: no sort for each. */
TEST(events_by_turns)
{
    static uint8_t pipe_of[10000 * 120 + 16];
    perfdata_attr *more_events = calloc(10000, sizeof *more_events);
    perfdata_id *more_ids = calloc(10000 * 4, sizeof *more_ids);
    size_t size = 16;
    unsigned count = 0;
    big = 0;
    make_pipe();
    memcpy(pipe_of, whole, 16);
    for (unsigned i = 0; i < 10000; i++) {
        begin(64, 0);
        put_attr(1, PERFDATA_SAMPLE_IDENTIFIER);
        for (unsigned k = 0; k < 4; k++) put(4 * i + k + 1, 8);
        end();
        memcpy(pipe_of + size, built, built_size);
        size += built_size;
        begin(14, 0);
        put(4 * i + 2, 8);
        end();
        memcpy(pipe_of + size, built, built_size);
        size += built_size;
    }
    open_file();
    config.read = read_long;
    config.context = pipe_of;
    config.size = size;
    config.events = more_events;
    config.ids = more_ids;
    config.event_max = 10000;
    config.id_max = 40000;
    CHECK_EQ(perfdata_open(&reader, &config), 0);
    while (perfdata_next(&reader, &rec) == 0) {
        if (rec.type == 14) CHECK_EQ(rec.event, count / 2);
        count++;
    }
    CHECK_EQ(count, 20000);
    free(more_events);
    free(more_ids);
}

/* Made larger than the room there is for it. */
BOTH(long_stream)
{
    unsigned count = 0;
    make_file();
    whole_size = 288;
    for (int i = 0; i < 100; i++) { // of 2000 records of 80 bytes
        begin(81, 0);
        for (int k = 0; k < 20; k++) {
            if (big)
                memcpy(built + built_size, "\x83\x3f\x83\x50\xc8", 5);
            else
                memcpy(built + built_size, "\x3f\x85\x50\xc9", 4);
            built_size += big ? 5 : 4;
        }
        append_record();
    }
    patch(48, whole_size - 288);
    open_file();
    step = 1 << 20;
    config.inflate = inflate_fake;
    CHECK_EQ(perfdata_open(&reader, &config), 0);
    while (perfdata_next(&reader, &rec) == 0) {
        CHECK_EQ(rec.type, 63);
        CHECK_EQ(rec.size, 80);
        count++;
    }
    CHECK_EQ(count, 2000);
}

/* ---- time ---- */

TEST(time)
{
    const uint64_t zero = 18446744061102431664u; // of a 3.2 GHz processor
    CHECK_EQ(perfdata_ns(31, 672770566, zero, 3102220011212665),
             971860829375742);
    CHECK_EQ(perfdata_ns(0, 1, 0, 77), 77);
    CHECK_EQ(perfdata_tsc(0, 1, 0, 77), 77);
    CHECK_EQ(perfdata_tsc(0, 1, 70, 77), 7);
    CHECK_EQ(perfdata_tsc(0, 1, 70, 69), 0); /* before the clock began */
    CHECK_EQ(perfdata_tsc(31, 672770566, zero, 0), 0);
    CHECK_EQ(perfdata_ns(64, 1, 0, 77), 0);
    CHECK_EQ(perfdata_ns(31, 0, 5, 77), 0);
    CHECK_EQ(perfdata_tsc(31, 0, 5, 77), 0);
    for (unsigned i = 0; i < 1000; i++) {
        const uint64_t tsc = (uint64_t) dice(1 << 24) << 24 | dice(1 << 24);
        const uint64_t ns = perfdata_ns(31, 672770566, zero, tsc);
        const uint64_t back = perfdata_tsc(31, 672770566, zero, ns);
        CHECK(back <= tsc);
        CHECK(tsc - back <= 4); // a ns has 3.2 ticks
    }
}

/* ---- queues ---- */

static perfdata_piece pieces[64];
static perfdata_loss losses[16];
static perfdata_queue queues[64];
static perfdata_queues q;

static void no_queues(void)
{
    memset(&q, 0, sizeof q);
    q.pieces = pieces;
    q.losses = losses;
    q.queues = queues;
    q.piece_max = q.queue_max = 64;
    q.loss_max = 16;
}

static int add_trace(uint32_t idx, uint32_t tid, uint32_t cpu,
                     uint64_t position, uint64_t size)
{
    static uint64_t data = 1000;
    memset(&rec, 0, sizeof rec);
    rec.type = PERFDATA_AUXTRACE;
    rec.u.auxtrace.size = rec.u.auxtrace.left = size;
    rec.u.auxtrace.offset = position;
    rec.u.auxtrace.idx = idx;
    rec.u.auxtrace.tid = tid;
    rec.u.auxtrace.cpu = cpu;
    rec.u.auxtrace.data = data;
    data += size + 48;
    return perfdata_queues_add(&q, &rec);
}

static int add_aux(uint32_t tid, uint32_t cpu, uint64_t position,
                   uint64_t size, uint32_t flags)
{
    memset(&rec, 0, sizeof rec);
    rec.type = PERFDATA_AUX;
    rec.u.aux.offset = position;
    rec.u.aux.size = size;
    rec.u.aux.flags = flags;
    rec.sample.has = PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_CPU;
    rec.sample.tid = tid;
    rec.sample.cpu = cpu;
    return perfdata_queues_add(&q, &rec);
}

static void check_piece(uint32_t at, uint64_t position, uint64_t size,
                        uint32_t gap)
{
    if (!CHECK(at < q.piece_count)) return;
    if (CHECK_EQ(pieces[at].position, position)
        + CHECK_EQ(pieces[at].size, size)
        + CHECK_EQ(pieces[at].gap, gap) < 3)
        printf("of piece %u\n", (unsigned) at);
}

#define BY_THREAD UINT32_MAX

TEST(queues_by_cpu)
{
    no_queues();
    add_trace(7, 1234, 3, 0, 100);
    add_trace(2, 1234, 1, 0, 50);
    add_trace(7, 1234, 3, 100, 60);
    add_aux(5, 3, 0, 100, 0); // nothing lost
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    CHECK_EQ(q.queue_count, 2);
    CHECK_EQ(queues[0].idx, 2);
    CHECK_EQ(queues[0].cpu, 1);
    CHECK_EQ(queues[0].tid, UINT32_MAX);
    CHECK_EQ(queues[0].count, 1);
    CHECK_EQ(queues[1].idx, 7);
    CHECK_EQ(queues[1].first, 1);
    CHECK_EQ(queues[1].count, 2);
    CHECK_EQ(queues[1].size, 160);
    CHECK_EQ(queues[1].gaps, 0);
    check_piece(1, 0, 100, 0);
    check_piece(2, 100, 60, 0);
}

/* Lost at the end of a piece, inside one, twice in one, at the end of all. */
TEST(queues_with_gaps)
{
    no_queues();
    add_trace(0, 0, 5, 0, 100);
    add_trace(0, 0, 5, 100, 100);
    add_trace(0, 0, 5, 200, 100);
    add_trace(1, 0, 6, 0, 100);
    add_aux(1, 5, 210, 80, PERFDATA_AUX_COLLISION);
    add_aux(1, 5, 50, 50, PERFDATA_AUX_TRUNCATED);
    add_aux(1, 5, 200, 10, PERFDATA_AUX_PARTIAL);
    add_aux(1, 5, 290, 10, PERFDATA_AUX_TRUNCATED);
    add_aux(1, 6, 0, 0, PERFDATA_AUX_TRUNCATED); // before the first byte
    add_aux(1, 9, 50, 50, PERFDATA_AUX_TRUNCATED); // of no queue
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    CHECK_EQ(q.queue_count, 2);
    CHECK_EQ(queues[0].count, 5);
    CHECK_EQ(queues[0].gaps, 3);
    CHECK_EQ(queues[0].gap_at_end, PERFDATA_AUX_TRUNCATED);
    CHECK_EQ(queues[0].size, 300);
    check_piece(0, 0, 100, 0);
    check_piece(1, 100, 100, PERFDATA_AUX_TRUNCATED);
    check_piece(2, 200, 10, 0);
    check_piece(3, 210, 80, PERFDATA_AUX_PARTIAL);
    check_piece(4, 290, 10, PERFDATA_AUX_COLLISION);
    CHECK_EQ(pieces[4].data, pieces[2].data + 90);
    check_piece(5, 0, 100, PERFDATA_AUX_TRUNCATED);
    CHECK_EQ(queues[1].gap_at_end, 0);
}

TEST(queues_by_thread)
{
    no_queues();
    add_trace(0, 10, BY_THREAD, 0, 64);
    add_trace(1, 11, BY_THREAD, 0, 64);
    add_aux(11, 0, 0, 32, PERFDATA_AUX_TRUNCATED);
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    CHECK_EQ(queues[0].tid, 10);
    CHECK_EQ(queues[0].cpu, UINT32_MAX);
    CHECK_EQ(queues[0].gaps, 0);
    CHECK_EQ(queues[1].gaps, 1);
    check_piece(2, 32, 32, PERFDATA_AUX_TRUNCATED);
}

/* perf makes sizes multiples of 8; a record may be missing; positions may mean
 * nothing. */
TEST(queues_by_position)
{
    no_queues();
    add_trace(0, 0, 0, 0, 64);
    add_trace(0, 0, 0, 59, 64);
    add_trace(0, 0, 0, 200, 8);
    add_trace(1, 0, 1, 0, 64);
    add_trace(1, 0, 1, 0, 64);
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    check_piece(0, 0, 59, 0);
    check_piece(1, 59, 64, 0);
    check_piece(2, 200, 8, PERFDATA_GAP_MISSING);
    check_piece(3, 0, 64, 0);
    check_piece(4, 0, 64, 0);
    CHECK_EQ(queues[0].size, 59 + 64 + 8);
}

TEST(queues_of_snapshots)
{
    no_queues();
    memset(&rec, 0, sizeof rec);
    rec.type = PERFDATA_AUXTRACE_INFO;
    rec.u.info.kind = 1;
    rec.u.info.word[PERFDATA_PT_SNAPSHOT_MODE] = 1;
    CHECK_EQ(perfdata_queues_add(&q, &rec), 0);
    add_trace(0, 0, 0, 4096, 4096);
    add_trace(0, 0, 0, 100, 4096);
    add_aux(1, 0, 0, 4096, PERFDATA_AUX_TRUNCATED | PERFDATA_AUX_OVERWRITE);
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    check_piece(0, 4096, 4096, 0);
    check_piece(1, 100, 4096, PERFDATA_GAP_SNAPSHOT);
}

/* ---- snapshots that overlap ---- */

static uint8_t ring_bytes[1 << 16];
static perfdata ring_file;
static perfdata_config ring_config;

static int read_ring(uint8_t *buffer, size_t size, uint64_t offset,
                     void *context)
{
    (void) context;
    memcpy(buffer, ring_bytes + offset, size);
    return 0;
}

/* A stream of trace at the end of the memory, from 32 KiB on: random bytes, of
 * few kinds, with a PSB now and then. */
static void make_stream(size_t size, unsigned kinds, unsigned psb)
{
    uint8_t *to = ring_bytes + 32768;
    for (size_t i = 0; i < size;) {
        if (dice(psb) == 0 && size - i >= 16) {
            for (unsigned k = 0; k < 16; k++) to[i++] = k % 2 ? 0x82 : 2;
        } else {
            to[i++] = (uint8_t) (3 + dice(kinds));
        }
    }
    memset(&ring_file, 0, sizeof ring_file);
    memset(&ring_config, 0, sizeof ring_config);
    ring_config.read = read_ring;
    ring_config.size = sizeof ring_bytes;
    ring_file.config = &ring_config;
}

/* Add [from, to) of the stream as a snapshot, padded to 8. */
static void add_snapshot(size_t from, size_t to, size_t *used)
{
    const size_t size = (to - from + 7) / 8 * 8;
    memset(ring_bytes + *used, 0, size);
    memcpy(ring_bytes + *used, ring_bytes + 32768 + from, to - from);
    add_trace(0, 0, 0, 0, size);
    pieces[q.piece_count - 1].data = *used;
    *used += size;
}

/* Snapshots of a ring of 1 KiB: those that overlap by enough to have a PSB are
 * one stream, without a byte too many or too few. */
TEST(snapshots_that_overlap)
{
    unsigned joined = 0;
    for (int round = 0; round < 2000; round++) {
        size_t end[16];
        size_t used = 0;
        size_t at = 0;
        size_t made = 0;
        const unsigned count = 2 + dice(14);
        no_queues();
        q.snapshot = 1;
        make_stream(16384, 200, 40);
        for (unsigned i = 0; i < count; i++) {
            at += dice(8) ? dice(900) : dice(1500);
            end[i] = at;
            add_snapshot(at < 1024 ? 0 : at - 1024, at, &used);
        }
        CHECK_EQ(perfdata_queues_finish(&q), 0);
        CHECK_EQ(perfdata_queues_trim(&q, &ring_file), 0);
        for (unsigned i = 0; i < count; i++) {
            const perfdata_piece *piece = &pieces[i];
            unsigned next = i + 1; // that has anything
            while (next < count && !pieces[next].gap && !pieces[next].size)
                next++;
            if (i && !piece->gap) joined++;
            else made = end[i] < 1024 ? 0 : end[i] - 1024;
            if (!CHECK(made + piece->size == end[i]
                       || (next == count || pieces[next].gap
                           ? made + piece->size - end[i] < 8 : 0)
                       || piece->size == 0)
                || !CHECK(memcmp(ring_bytes + piece->data,
                                 ring_bytes + 32768 + made,
                                 piece->size < end[i] - made
                                     ? (size_t) piece->size
                                     : end[i] - made) == 0))
                printf("round %d, snapshot %u of %u\n", round, i, count);
            made = end[i];
        }
    }
    CHECK(joined > 5000);
}

/* Bytes that repeat themselves: whatever is joined, every piece is of its
 * snapshot, and of two equal ones nothing is left of the second. */
TEST(snapshots_that_repeat)
{
    for (int round = 0; round < 500; round++) {
        size_t used = 0;
        no_queues();
        q.snapshot = 1;
        make_stream(4096, 1 + dice(2), 1 + dice(30));
        add_snapshot(0, 1024, &used);
        add_snapshot(0, 1024, &used);
        add_snapshot(dice(100), 1024 + dice(100), &used);
        CHECK_EQ(perfdata_queues_finish(&q), 0);
        CHECK_EQ(perfdata_queues_trim(&q, &ring_file), 0);
        CHECK_EQ(queues[0].count, 3);
        if (!pieces[1].gap) CHECK_EQ(pieces[1].size, 0);
        for (unsigned i = 0; i < 3; i++) {
            CHECK(pieces[i].size <= 1200);
            CHECK(pieces[i].data <= used);
        }
    }
    no_queues(); // no PSB, other queues, and a file that ends
    q.snapshot = 1;
    make_stream(4096, 1, 1);
    memset(ring_bytes, 3, 64);
    add_trace(0, 0, 0, 0, 64);
    add_trace(0, 0, 0, 0, 64);
    add_trace(1, 0, 1, 0, 64);
    pieces[0].data = pieces[1].data = pieces[2].data = 0;
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    CHECK_EQ(perfdata_queues_trim(&q, &ring_file), 0);
    check_piece(1, 0, 64, PERFDATA_GAP_SNAPSHOT);
    check_piece(2, 0, 64, 0);
    ring_config.size = 32;
    CHECK_EQ(perfdata_queues_trim(&q, &ring_file), PERFDATA_ERR_CUT);
}

/* Trace in samples, by thread and by cpu. */
TEST(queues_of_samples)
{
    static const uint8_t bytes[64];
    for (int by_cpu = 0; by_cpu < 2; by_cpu++) {
        no_queues();
        memset(&rec, 0, sizeof rec);
        rec.type = PERFDATA_AUXTRACE_INFO;
        rec.u.info.kind = 1;
        rec.u.info.word[PERFDATA_PT_PER_CPU_MMAPS] = (unsigned) by_cpu;
        CHECK_EQ(perfdata_queues_add(&q, &rec), 0);
        for (unsigned i = 0; i < 4; i++) {
            memset(&rec, 0, sizeof rec);
            rec.type = PERFDATA_SAMPLE;
            rec.bytes = bytes;
            rec.offset = 1000 * (uint64_t) i;
            rec.sample.has = PERFDATA_SAMPLE_CPU | PERFDATA_SAMPLE_TID;
            rec.sample.tid = 7 + i % 2;
            rec.sample.cpu = 3 - i % 2;
            rec.u.event.aux = bytes + 24;
            rec.u.event.aux_size = i == 3 ? 0 : 40;
            CHECK_EQ(perfdata_queues_add(&q, &rec), 0);
            rec.packed = 1;
            CHECK_EQ(perfdata_queues_add(&q, &rec), 0);
        }
        CHECK_EQ(q.packed, 3);
        CHECK_EQ(perfdata_queues_finish(&q), 0);
        CHECK_EQ(q.queue_count, 2);
        CHECK_EQ(queues[0].idx, by_cpu ? 2 : 7);
        CHECK_EQ(queues[0].cpu, by_cpu ? 2 : UINT32_MAX);
        CHECK_EQ(queues[0].tid, by_cpu ? UINT32_MAX : 7);
        CHECK_EQ(queues[0].count, by_cpu ? 1 : 2);
        CHECK_EQ(pieces[0].data, by_cpu ? 1024 : 24);
        CHECK_EQ(pieces[0].size, 40);
        check_piece(by_cpu ? 2 : 1, 0, 40, PERFDATA_GAP_SNAPSHOT);
    }
}

TEST(queues_too_small)
{
    no_queues();
    q.piece_max = q.loss_max = q.queue_max = 1;
    CHECK_EQ(add_trace(0, 0, 0, 0, 64), 0);
    CHECK_EQ(add_trace(0, 0, 0, 64, 64), PERFDATA_ERR_MEMORY);
    q.piece_max = 2;
    CHECK_EQ(add_trace(0, 0, 0, 64, 64), 0);
    CHECK_EQ(add_aux(0, 0, 0, 32, PERFDATA_AUX_TRUNCATED), 0);
    CHECK_EQ(add_aux(0, 0, 0, 96, PERFDATA_AUX_TRUNCATED),
             PERFDATA_ERR_MEMORY);
    q.loss_max = 2;
    CHECK_EQ(add_aux(0, 0, 0, 96, PERFDATA_AUX_TRUNCATED), 0);
    q.piece_max = 4;
    CHECK_EQ(perfdata_queues_finish(&q), PERFDATA_ERR_MEMORY);
    q.queue_max = 2;
    q.piece_max = 3;
    CHECK_EQ(perfdata_queues_finish(&q), PERFDATA_ERR_MEMORY);
    q.piece_max = 4;
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    CHECK_EQ(q.piece_count, 4);
    CHECK_EQ(queues[0].gaps, 2);
}

/* Whatever records say, the pieces are the bytes of the records, in order. */
TEST(random_queues)
{
    for (int round = 0; round < 3000; round++) {
        uint64_t size = 0;
        uint64_t sum = 0;
        uint32_t next = 0;
        no_queues();
        q.snapshot = dice(8) == 0;
        for (unsigned i = dice(24); i > 0; i--) {
            const uint64_t bytes_of = dice(100);
            add_trace(dice(3), dice(2), dice(3) ? dice(2) : BY_THREAD,
                      dice(300), bytes_of);
            size += bytes_of;
        }
        for (unsigned i = dice(16); i > 0; i--)
            add_aux(dice(2), dice(2), dice(200), dice(200), 1 + dice(8));
        CHECK_EQ(perfdata_queues_finish(&q), 0);
        for (uint32_t i = 0; i < q.queue_count; i++) {
            CHECK_EQ(queues[i].first, next);
            next += queues[i].count;
        }
        CHECK_EQ(next, q.piece_count);
        for (uint32_t i = 0; i < q.piece_count; i++) {
            sum += pieces[i].size;
            if (i && pieces[i].idx == pieces[i - 1].idx)
                CHECK(pieces[i].data >= pieces[i - 1].data);
        }
        CHECK(sum <= size);
        CHECK(size - sum < 8 * 24);
    }
}

/* Thousands of ids come out as they went in. */
TEST(many_ids)
{
    static perfdata_id many[5000];
    big = 0;
    make_file();
    open_file();
    config.ids = many;
    config.id_max = 5000;
    reader.id_count = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        const uint64_t id = ((uint64_t) i * 2654435761u & 0xffffffff) << 8;
        reader.event_count = 1 + i % 7;
        CHECK_EQ(perfdata_event(&reader, id), PERFDATA_NO_EVENT);
        add_id(&reader, id);
        CHECK_EQ(perfdata_event(&reader, id), i % 7);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        const uint64_t id = ((uint64_t) i * 2654435761u & 0xffffffff) << 8;
        CHECK_EQ(perfdata_event(&reader, id), i % 7);
        CHECK_EQ(perfdata_event(&reader, id + 1), PERFDATA_NO_EVENT);
    }
}

/* ---- recordings of hardware ---- */

/* With TRACES=dir: dir/CASE/perf.data, if records.tsv lists its records as perf
 * does and trace.pt is its trace (see tests/traces.c). */
static char folder_of_case[1024];

static size_t load_of_case(const char *name, uint8_t *to, size_t room_for)
{
    char path[1100];
    size_t size = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", folder_of_case, name);
    f = fopen(path, "rb");
    if (!CHECK(f != NULL)) return 0;
    size = fread(to, 1, room_for, f);
    fclose(f);
    return size;
}

/* A line: offset and size in hex, cpu, time, what perf prints. */
static void check_line(const char *line)
{
    unsigned long long offset;
    unsigned long long time;
    unsigned size;
    unsigned cpu;
    unsigned pid;
    unsigned tid;
    const char *task = strstr(line, "pid/tid:");
    if (!CHECK_EQ(sscanf(line, "%llx %x %u %llu", &offset, &size, &cpu, &time),
                  4))
        return;
    CHECK_EQ(perfdata_next(&reader, &rec), 0);
    CHECK_EQ(rec.offset, offset);
    CHECK_EQ(rec.size, size);
    CHECK_EQ(rec.sample.cpu, cpu);
    CHECK_EQ(rec.sample.time, time);
    if (!task) return;
    CHECK_EQ(rec.type, PERFDATA_SWITCH_CPU_WIDE);
    CHECK_EQ(sscanf(task, "pid/tid: %u/%u", &pid, &tid), 2);
    CHECK_EQ(rec.u.thread.pid, pid);
    CHECK_EQ(rec.u.thread.tid, tid);
    CHECK_EQ(!strstr(line, " OUT "),
             !(rec.misc & PERFDATA_MISC_SWITCH_OUT));
}

TEST(recording)
{
    static uint8_t trace[1 << 16];
    char line[2000];
    char path[1100];
    FILE *f;
    unsigned lines = 0;
    size_t trace_size;
    no_queues();
    whole_size = load_of_case("perf.data", whole, sizeof whole);
    CHECK_EQ(open_file(), 0);
    snprintf(path, sizeof path, "%s/records.tsv", folder_of_case);
    f = fopen(path, "r");
    if (!CHECK(f != NULL)) return;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#') continue;
        check_line(line);
        CHECK_EQ(perfdata_queues_add(&q, &rec), 0);
        lines++;
    }
    fclose(f);
    CHECK(lines > 0);
    CHECK_EQ(perfdata_next(&reader, &rec), PERFDATA_END);
    CHECK_EQ(perfdata_queues_finish(&q), 0);
    trace_size = load_of_case("trace.pt", trace, sizeof trace);
    CHECK_EQ(q.queue_count, 1);
    CHECK_EQ(queues[0].size, trace_size);
    CHECK(!memcmp(whole + pieces[0].data, trace, trace_size));
}

static void run_recordings(const char *traces)
{
    char pattern[1024];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*/perf.data", traces);
    if (glob(pattern, 0, NULL, &found)) return;
    big = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        snprintf(folder_of_case, sizeof folder_of_case, "%.*s",
                 (int) strlen(found.gl_pathv[i]) - 10, found.gl_pathv[i]);
        test_run_(folder_of_case, t_recording, 1);
    }
    globfree(&found);
}

int main(void)
{
    RUN(mappings);
    RUN(tasks);
    RUN(losses);
    RUN(kernel_code);
    RUN(namespaces);
    RUN(trailers);
    RUN(samples);
    RUN(auxtrace);
    RUN(others);
    RUN(headers);
    RUN(names);
    RUN(between);
    RUN(attrs);
    RUN(random_records);
    RUN(whole_file);
    RUN(parts);
    RUN(pipe);
    RUN(killed);
    RUN(too_small);
    RUN(damaged_records);
    RUN(bad_headers);
    RUN(cut_files);
    RUN(changed_files);
    RUN(compressed);
    RUN(long_stream);
    RUN(events_by_turns);
    RUN(time);
    RUN(queues_by_cpu);
    RUN(queues_with_gaps);
    RUN(queues_by_thread);
    RUN(queues_by_position);
    RUN(queues_of_snapshots);
    RUN(snapshots_that_overlap);
    RUN(snapshots_that_repeat);
    RUN(queues_of_samples);
    RUN(queues_too_small);
    RUN(random_queues);
    RUN(many_ids);
    if (getenv("TRACES")) run_recordings(getenv("TRACES"));
    return test_report();
}
