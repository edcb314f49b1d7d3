/* perfdata.c: the reader of perf.data (examples/tools/common/perfdata.h), on
 * records and files put together here, in both byte orders. */
#include "examples/tools/common/perfdata.c"
#include "test.h"

/* ---- records put together ---- */

static uint8_t bytes[1 << 16];
static size_t length;
static int big; /* byte order of what is put together and parsed */

static void put(uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bytes[length + (big ? size - 1 - i : i)] = (uint8_t) (value >> 8 * i);
    length += size;
}

static void put2(uint64_t a, uint64_t b)
{
    put(a, 4);
    put(b, 4);
}

static void put_text(const char *text, size_t size)
{
    memset(bytes + length, 0, size);
    memcpy(bytes + length, text, strlen(text));
    length += size;
}

static void begin(unsigned type, unsigned misc)
{
    length = 0;
    put(type, 4);
    put(misc, 2);
    put(0, 2);
}

static void end(void)
{
    const size_t size = length;
    length = 6;
    put(size, 2);
    length = size;
}

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
    uint8_t *copied = malloc(length); // a sanitizer sees a read beyond
    int status;
    memset(&attr, 0, sizeof attr);
    attr.flags = PERFDATA_ATTR_SAMPLE_ID_ALL;
    attr.sample_type = sample_type;
    memcpy(copied, bytes, length);
    status = perfdata_parse(&attr, big, copied, length, &rec);
    free(copied);
    if (status == 0) status = perfdata_parse(&attr, big, bytes, length, &rec);
    return status;
}

/* Parse what end_samples finished: everything fits, the samples are right. */
static void parse(void)
{
    CHECK_EQ(parse_as(ALL), 0);
    CHECK_EQ(rec.size, length);
    CHECK_EQ(rec.body + rec.trailer, length);
    CHECK_EQ(rec.trailer, 48);
    CHECK_EQ(rec.sample.has, ALL);
    CHECK_EQ(rec.sample.pid, 0x101);
    CHECK_EQ(rec.sample.tid, 0x102);
    CHECK_EQ(rec.sample.time, 0x1122334455667788);
    CHECK_EQ(rec.sample.id, 0x103);
    CHECK_EQ(rec.sample.stream_id, 0x104);
    CHECK_EQ(rec.sample.cpu, 0x105);
    CHECK_EQ(rec.sample.identifier, 0x106);
    CHECK_EQ(perfdata_identifier(big, bytes, length), 0x106);
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
    bytes[length] = 4;
    memset(bytes + length + 1, 0, 23);
    memcpy(bytes + length + 4, id, 4);
    length += 24;
    put2(5, 2);
    put_text("", 8);
    end_samples();
    parse();
    CHECK_EQ(rec.u.mmap.build_id_size, 4);
    CHECK(!memcmp(rec.u.mmap.build_id, id, 4));
    CHECK_EQ(rec.u.mmap.prot, 5);
    CHECK_EQ(rec.u.mmap.name[0], 0);
    bytes[40] = 21; // more than an id can have
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
        memset(bytes + length, 0x90, old);
        memset(bytes + length + old, 0xcc, 5);
        length += (old + 5 + 20 + 7) / 8 * 8 - 20;
        end_samples();
        parse();
        CHECK_EQ(rec.u.text_poke.old_len, old);
        CHECK_EQ(rec.u.text_poke.new_len, 5);
        CHECK(rec.u.text_poke.old_bytes == bytes + 20);
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
        CHECK_EQ(rec.body + rec.trailer, length);
        attr.flags = 0;
        CHECK_EQ(perfdata_parse(&attr, big, bytes, length, &rec), 0);
        CHECK_EQ(rec.sample.has, 0);
        CHECK_EQ(rec.trailer, 0);
    }
    begin(14, 0);
    put(1, 8);
    end();
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_TIME),
             PERFDATA_ERR_FIELDS);
    CHECK_EQ(perfdata_parse(NULL, big, bytes, length, &rec), 0);
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
    length -= 3; // of 5 bytes
    end();
}

BOTH(samples)
{
    static const perfdata_attr all = {
        1, 136, 0, 1, 0x1ffffff, 0x1f, 1 << 18, 0, 0, 0xa0000, 7, 3, 0, 0};
    put_sample();
    CHECK_EQ(perfdata_parse(&all, big, bytes, length, &rec), 0);
    CHECK_EQ(rec.body, length);
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
    for (size_t size = length - 1; size >= 8; size--) {
        uint8_t *cut = malloc(size);
        length = 6;
        put(size, 2);
        memcpy(cut, bytes, size);
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
    bytes[152 + 9] = 'x'; // no zero after the text
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_STRING);
    length = 144;
    put(100, 8); // longer than the record
    length = 176;
    CHECK_EQ(parse_as(ALL), PERFDATA_ERR_FIELDS);
    length = 144;
    put(UINT64_MAX, 8);
    length = 176;
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
    bytes[length - 7] = 1;
    parse_plain();
    CHECK_EQ(rec.u.time_conv.cycles, 8);
    CHECK_EQ(rec.u.time_conv.mask, 9);
    CHECK_EQ(rec.u.time_conv.cap_time_zero, 0);
    CHECK_EQ(rec.u.time_conv.cap_time_short, 1);

    begin(67, 0x8001);
    put(0xffffffff, 4);
    put_text("0123456789abcdefghij", 24);
    bytes[length - 4] = 16;
    put_text("[kernel.kallsyms]", 64);
    parse_plain();
    CHECK_EQ(rec.u.build_id.pid, 0xffffffff);
    CHECK_EQ(rec.u.build_id.size, 16);
    CHECK(!memcmp(rec.u.build_id.id, "0123456789abcdef\0\0\0", 20));
    CHECK(!strcmp(rec.u.build_id.name, "[kernel.kallsyms]"));
    bytes[big ? 3 : 0] = 0; // as in the feature
    CHECK_EQ(perfdata_parse_build_id(big, bytes, length, &rec), 0);
    CHECK_EQ(rec.u.build_id.size, 16);

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
    CHECK(rec.u.compressed.data == bytes + 16);
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
        length = 6;
        put(size, 2);
        CHECK_EQ(parse_as(0), PERFDATA_ERR_RECORD);
        CHECK_EQ(perfdata_parse(&attr, big, bytes, size, &rec), PERFDATA_END);
    }
    begin(14, 0);
    put(0, 8);
    end();
    length--;
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
    bytes[length - 3] = 0;
    CHECK_EQ(parse_as(PERFDATA_SAMPLE_IDENTIFIER), PERFDATA_ERR_FIELDS);
    bytes[length - 9] = 0;
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
    length = 0;
    put2(8, 136);
    put(0x300e601, 8);
    put(1, 8);
    put(0x10087, 8);
    put(4, 8);
    // in the other order the bits of each byte turned, the bytes in place
    memcpy(bytes + 40, big ? "\xc6\x08\x20\0\0\0\0\x01"
                           : "\x63\x10\x04\0\0\0\0\x80", 8);
    length += 8;
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
    CHECK_EQ(length, 136);
    CHECK_EQ(perfdata_parse_attr(big, bytes, length, &a), 136);
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
    CHECK_EQ(perfdata_parse_attr(big, bytes, 135, &a), PERFDATA_ERR_FIELDS);
    length = 4;
    put(0, 4); // the first version
    CHECK_EQ(perfdata_parse_attr(big, bytes, 64, &a), 64);
    CHECK_EQ(a.config1, 0xc1);
    CHECK_EQ(a.config2, 0);
    length = 4;
    put(63, 4);
    CHECK_EQ(perfdata_parse_attr(big, bytes, 136, &a), PERFDATA_ERR_FIELDS);
}

/* ---- hostile records ---- */

static uint32_t seed = 1;

static uint32_t roll(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Whatever a record says, what was parsed lies within it. */
static void check_inside(const uint8_t *block, size_t size)
{
    const perfdata_record *r = &rec;
    const char *name = NULL;
    CHECK(r->bytes == block && r->size <= size);
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
        const size_t size = 8 + roll(round % 3 ? 64 : 300);
        uint8_t *block = malloc(size);
        perfdata_attr a;
        int status;
        memset(&a, 0, sizeof a);
        a.flags = PERFDATA_ATTR_SAMPLE_ID_ALL;
        a.sample_type = roll(2) ? (uint64_t) roll(1u << 24) << 1 | roll(2) : 0;
        a.read_format = roll(32);
        a.sample_regs_user = a.sample_regs_intr = roll(16);
        for (size_t i = 0; i < size; i++)
            block[i] = (uint8_t) (roll(3) ? 0 : roll(256));
        big = (int) roll(2);
        length = 0;
        put(roll(2) ? roll(24) : 64 + roll(20), 4);
        put(roll(65536), 2);
        put(roll(8) ? size : roll(300), 2);
        memcpy(block, bytes, 8);
        status = perfdata_parse(&a, big, block, size, &rec);
        CHECK(status <= 0);
        good += status == 0;
        if (status == 0) check_inside(block, size);
        free(block);
    }
    CHECK(good > 20000);
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
    return test_report();
}
