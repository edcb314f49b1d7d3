/* perfwrite.c: the writer of perf.data (common/perf/perfwrite.h). What
 * it writes is parsed here again, from the facts about the file, not with the
 * project's reader; perf judges it in perf.sh. */
#define _POSIX_C_SOURCE 200809L
#include "linked.h"
#include "examples/tools/common/perf/perfwrite.c"
#include "test.h"
#include "tmp.h"
#include <unistd.h>

/* ---- a file, read back ---- */

static char path[256];
static uint8_t file[1 << 22];
static size_t length;

static uint64_t get(size_t at, unsigned size)
{
    uint64_t value = 0;
    while (size-- > 0 && CHECK(at + size < length))
        value = value << 8 | file[at + size];
    return value;
}

static void load(void)
{
    FILE *f = fopen(path, "rb");
    length = f ? fread(file, 1, sizeof file, f) : 0;
    if (f) fclose(f);
    CHECK(length > 104);
    CHECK(length < sizeof file);
    CHECK(!memcmp(file, "PERFILE2", 8));
    CHECK_EQ(get(8, 8), 104);
}

/* The next record from *at on of that type; 0: there is none. Skips trace. */
static size_t find_record(size_t *at, unsigned type)
{
    const size_t end = (size_t) (get(40, 8) + get(48, 8));
    while (*at < end) {
        const size_t found = *at;
        const unsigned this_type = (unsigned) get(found, 4);
        const size_t size = (size_t) get(found + 6, 2);
        if (!CHECK(size >= 8) || !CHECK(size % 8 == 0)) return 0;
        *at += size;
        if (this_type == 71) *at += (size_t) get(found + 8, 8);
        if (this_type == type) return found;
    }
    CHECK_EQ(*at, end);
    return 0;
}

static size_t first_record(unsigned type)
{
    size_t at = (size_t) get(40, 8);
    return find_record(&at, type);
}

/* Where a feature's bytes are, or 0. */
static size_t find_feature(unsigned bit)
{
    size_t at = (size_t) (get(40, 8) + get(48, 8));
    for (unsigned i = 0; i < bit; i++)
        if (get(72, 8) >> i & 1) at += 16;
    if (!(get(72, 8) >> bit & 1)) return 0;
    CHECK(get(at, 8) + get(at + 8, 8) <= length);
    return (size_t) get(at, 8);
}

static perfwrite_config config;
static perfwrite_who who;

static perfwrite *begin(int timed, int by_cpu)
{
    memset(&config, 0, sizeof config);
    config.pt = 0x2001;
    config.timed = (uint8_t) timed;
    config.by_cpu = config.switches = (uint8_t) by_cpu;
    config.time_shift = 31;
    config.time_mult = 672770566;
    config.time_zero = (uint64_t) -1000;
    who.pid = 0x11;
    who.tid = 0x12;
    who.cpu = 1;
    who.time = 0x1234567890;
    return perfwrite_open(path, &config);
}

static void end(perfwrite *w)
{
    CHECK_EQ(perfwrite_close(w), 0);
    load();
}

/* ---- records ---- */

/* The trailer that ends a record of `size` bytes. */
static void check_trailer(size_t at, size_t size, uint64_t id)
{
    const int timed = config.timed, by_cpu = config.by_cpu;
    size_t from = at + size - 16 - 8 * (size_t) (timed + by_cpu);
    CHECK_EQ(get(at + 6, 2), size);
    CHECK_EQ(get(from, 4), 0x11);
    CHECK_EQ(get(from + 4, 4), 0x12);
    from += 8;
    if (timed) {
        CHECK_EQ(get(from, 8), 0x1234567890);
        from += 8;
    }
    if (by_cpu) {
        CHECK_EQ(get(from, 8), 1);
        from += 8;
    }
    CHECK_EQ(get(from, 8), id);
}

static void write_records(perfwrite *w)
{
    perfwrite_map map;
    memset(&map, 0, sizeof map);
    map.base = 0x7f0000001000;
    map.size = 0x3000;
    map.offset = 0x2000;
    map.major = 8;
    map.minor = 1;
    map.inode = 77;
    map.prot = 5;
    map.flags = 2;
    map.name = "/bin/true"; /* ten bytes with its zero: sixteen */
    perfwrite_comm(w, &who, "a name that is too long", 1);
    perfwrite_mmap(w, &who, &map);
    map.build_id_size = 20;
    memset(map.build_id, 0xab, 20);
    map.name = "/1234567"; /* nine: sixteen */
    perfwrite_mmap(w, &who, &map);
    perfwrite_fork(w, &who, 0x21, 0x22);
    perfwrite_start(w, &who);
    perfwrite_switch(w, &who, 1, 1, 0x31, 0x32);
    perfwrite_switch(w, &who, 0, 0, 0x41, 0x42);
    perfwrite_exit(w, &who);
}

static void check_records(void)
{
    const size_t tail = 16 + 8u * config.timed + 8u * config.by_cpu;
    size_t at = first_record(3);
    CHECK_EQ(get(at + 4, 2), 0x2000);
    CHECK_EQ(get(at + 8, 4), 0x11);
    CHECK(!memcmp(file + at + 16, "a name that is \0", 16));
    check_trailer(at, 32 + tail, 3);

    at = (size_t) get(40, 8);
    size_t map = find_record(&at, 10);
    CHECK_EQ(get(map + 4, 2), 2);
    CHECK_EQ(get(map + 16, 8), 0x7f0000001000);
    CHECK_EQ(get(map + 24, 8), 0x3000);
    CHECK_EQ(get(map + 32, 8), 0x2000);
    CHECK_EQ(get(map + 40, 4), 8);
    CHECK_EQ(get(map + 44, 4), 1);
    CHECK_EQ(get(map + 48, 8), 77);
    CHECK_EQ(get(map + 56, 8), 0);
    CHECK_EQ(get(map + 64, 4), 5);
    CHECK_EQ(get(map + 68, 4), 2);
    CHECK(!memcmp(file + map + 72, "/bin/true\0\0\0\0\0\0", 16));
    check_trailer(map, 88 + tail, 3);
    map = find_record(&at, 10);
    CHECK_EQ(get(map + 4, 2), 0x4002);
    CHECK_EQ(get(map + 40, 4), 20);
    CHECK_EQ(get(map + 44, 8), 0xabababababababab);
    CHECK_EQ(get(map + 56, 8), 0xabababababababab);
    CHECK_EQ(get(map + 64, 4), 5);
    check_trailer(map, 88 + tail, 3);

    at = first_record(7);
    CHECK_EQ(get(at + 8, 8), 0x1100000021);
    CHECK_EQ(get(at + 16, 8), 0x1200000022);
    CHECK_EQ(get(at + 24, 8), 0x1234567890);
    check_trailer(at, 32 + tail, 3);
    at = first_record(12);
    CHECK_EQ(get(at + 8, 8), 0x1200000011);
    check_trailer(at, 16 + tail, 1);
    at = (size_t) get(40, 8);
    map = find_record(&at, 15);
    CHECK_EQ(get(map + 4, 2), 0x6000);
    CHECK_EQ(get(map + 8, 8), 0x3200000031);
    check_trailer(map, 16 + tail, 2);
    map = find_record(&at, 15);
    CHECK_EQ(get(map + 4, 2), 0);
    CHECK_EQ(get(map + 8, 8), 0x4200000041);
    at = first_record(4);
    CHECK_EQ(get(at + 8, 8), 0x1100000011);
    CHECK_EQ(get(at + 16, 8), 0x1200000012);
    check_trailer(at, 32 + tail, 3);
}

TEST(records)
{
    for (int timed = 0; timed < 2; timed++) {
        for (int by_cpu = 0; by_cpu <= timed; by_cpu++) {
            perfwrite *w = begin(timed, by_cpu);
            if (!CHECK(w != NULL)) return;
            write_records(w);
            end(w);
            check_records();
        }
    }
}

/* Names up to what a record holds; no record of 64 KiB comes of a long one. */
TEST(long_name)
{
    static char name[70000];
    perfwrite_map map;
    perfwrite *w = begin(0, 0);
    if (!CHECK(w != NULL)) return;
    memset(&map, 0, sizeof map);
    memset(name, 'x', sizeof name - 1);
    map.name = name;
    perfwrite_mmap(w, &who, &map);
    map.name = "";
    perfwrite_mmap(w, &who, &map);
    end(w);
    size_t at = (size_t) get(40, 8);
    size_t found = find_record(&at, 10);
    CHECK_EQ(get(found + 6, 2), 72 + 4096 + 16);
    CHECK_EQ(get(found + 72 + 4095, 1), 0);
    CHECK_EQ(get(found + 72 + 4094, 1), 'x');
    found = find_record(&at, 10);
    CHECK_EQ(get(found + 6, 2), 72 + 8 + 16);
}

/* ---- header and features ---- */

TEST(header)
{
    char *const command[] = {(char *) "ls", (char *) "-l", NULL};
    memset(&config, 0, sizeof config);
    config.pt = 0x300e601;
    config.timed = config.by_cpu = config.switches = 1;
    config.time_shift = 31;
    config.time_mult = 5;
    config.time_zero = (uint64_t) -7;
    config.max_ratio = 32;
    config.cpuid_15_eax = 3;
    config.cpuid_15_ebx = 400;
    config.family = 6;
    config.model = 94;
    config.stepping = 3;
    config.cpus = 2;
    config.command = command;
    perfwrite *w = perfwrite_open(path, &config);
    if (!CHECK(w != NULL)) return;
    end(w);

    /* the events, PT first; each has its own identifier */
    CHECK_EQ(get(16, 8), 144);
    CHECK_EQ(get(32, 8), 3 * 144);
    for (unsigned i = 0; i < 3; i++) {
        const size_t attr = (size_t) get(24, 8) + 144 * i;
        CHECK_EQ(get(attr, 4), i ? 1 : 8);
        CHECK_EQ(get(attr + 4, 4), 128);
        CHECK_EQ(get(attr + 8, 8), i ? 9 : 0x300e601);
        CHECK_EQ(get(attr + 24, 8), i ? 0x10086 : 0x1008f);
        CHECK_EQ(get(attr + 40, 8) >> 18 & 1, 1); /* sample_id_all */
        CHECK_EQ(get(attr + 136, 8), 8);
        CHECK_EQ(get((size_t) get(attr + 128, 8), 8), i + 1);
    }
    static const uint64_t words[17] = {8, 31, 5, (uint64_t) -7, 1, 0x400,
                                       0x800, 3, 0, 1, 0x200, 0x3c000, 400, 3,
                                       2, 32, 0};
    const size_t info = first_record(70);
    CHECK_EQ(get(info + 6, 2), 16 + 8 * 17);
    CHECK_EQ(get(info + 8, 8), 1);
    for (unsigned i = 0; i < 17; i++)
        CHECK_EQ(get(info + 16 + 8 * i, 8), words[i]);
    CHECK_EQ(get(first_record(79) + 24, 8), (uint64_t) -7);

    CHECK(!memcmp(file + find_feature(6) + 4, "x86_64", 7));
    CHECK_EQ(get(find_feature(7), 8), 0x200000002);
    CHECK(!memcmp(file + find_feature(9) + 4, "GenuineIntel,6,94,3", 20));
    CHECK_EQ(get(find_feature(11), 4), 2);
    CHECK(!memcmp(file + find_feature(11) + 8 + 64 + 4, "-l", 3));
    CHECK_EQ(get(find_feature(16), 8), 0x800000001);
    CHECK(!memcmp(file + find_feature(16) + 12, "intel_pt", 9));
    CHECK_EQ(get(find_feature(18), 8), 0);
    CHECK_EQ(find_feature(21), 0);
}

/* ---- trace ---- */

/* Packets: a PSB, TNTs between, TIPs with payloads that look like headers. */
static uint8_t trace[1 << 20];
static uint8_t begins[sizeof trace]; /* a packet does */

static size_t make_trace(size_t size, size_t period)
{
    static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                  2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x23};
    static const uint8_t tip[] = {0xcd, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0};
    size_t n = 0, from = period;
    memset(begins, 0, sizeof begins);
    while (n + 32 < size) {
        const int at_psb = period && from >= period;
        const size_t bytes = at_psb ? sizeof psb : sizeof tip;
        begins[n] = 1;
        if (at_psb) from = begins[n + 16] = 1;
        memcpy(trace + n, at_psb ? psb : tip, bytes);
        n += bytes;
        from += bytes;
        begins[n] = 1;
        trace[n++] = 6;
    }
    begins[n] = 1;
    return n;
}

/* The pieces of a queue joined are its trace, and begin where packets do. */
static void check_pieces(uint32_t number, size_t size, unsigned least)
{
    const size_t index = find_feature(18);
    uint64_t done = 0;
    unsigned pieces = 0, all = 0;
    size_t at = (size_t) get(40, 8), found;
    while ((found = find_record(&at, 71)) != 0) {
        const uint64_t bytes = get(found + 8, 8);
        CHECK_EQ(get(index + 8 + 16 * all, 8), found);
        CHECK_EQ(get(index + 16 + 16 * all++, 8), 48);
        CHECK_EQ(bytes % 8, 0);
        if (get(found + 32, 4) != number) continue;
        CHECK_EQ(get(found + 16, 8), done);
        if (!CHECK(done < size) || !CHECK(begins[done])) return;
        /* what follows is padding; the next piece says how much */
        size_t next = at, later;
        while ((later = find_record(&next, 71)) != 0
               && get(later + 32, 4) != number) {
        }
        const uint64_t real = (later ? get(later + 16, 8) : size) - done;
        CHECK(real <= bytes);
        CHECK(bytes - real < 8);
        CHECK(!memcmp(file + found + 48, trace + done, (size_t) real));
        for (uint64_t i = real; i < bytes; i++)
            CHECK_EQ(file[found + 48 + i], 0);
        done += real;
        pieces++;
    }
    CHECK_EQ(done, size);
    CHECK(pieces >= least);
    CHECK_EQ(get(index, 8), all);
}

TEST(cut_at_psbs)
{
    const size_t size = make_trace(sizeof trace, 4000);
    perfwrite *w = begin(1, 1);
    if (!CHECK(w != NULL)) return;
    for (size_t at = 0; at < size; at += 777) /* in the middle of packets */
        perfwrite_trace(w, 1, &who, trace + at,
                        size - at < 777 ? size - at : 777);
    end(w);
    check_pieces(1, size, 3);
    size_t at = (size_t) get(40, 8);
    size_t found = find_record(&at, 71);
    CHECK_EQ(get(found + 36, 4), UINT32_MAX); /* tid */
    CHECK_EQ(get(found + 40, 4), 1);          /* cpu */
    CHECK(get(found + 24, 8) != 0);           /* reference */
    found = find_record(&at, 71);
    CHECK_EQ(get(found + 48, 8), 0x8202820282028202);
}

TEST(cut_without_psb)
{
    const size_t size = make_trace(sizeof trace, 0);
    perfwrite *w = begin(0, 0);
    if (!CHECK(w != NULL)) return;
    for (size_t at = 0; at < size; at += 333)
        perfwrite_trace(w, 0, &who, trace + at,
                        size - at < 333 ? size - at : 333);
    end(w);
    check_pieces(0, size, 3);
    const size_t found = first_record(71);
    CHECK_EQ(get(found + 36, 4), 0x12);       /* tid */
    CHECK_EQ(get(found + 40, 4), UINT32_MAX); /* cpu */
}

TEST(aux)
{
    static const uint8_t bytes[24];
    perfwrite *w = begin(1, 0);
    if (!CHECK(w != NULL)) return;
    perfwrite_trace(w, 2, &who, bytes, 10);
    perfwrite_aux(w, 2, &who, 0);
    perfwrite_aux(w, 2, &who, 0); /* nothing new */
    perfwrite_trace(w, 2, &who, bytes, 5);
    perfwrite_aux(w, 2, &who, PERFWRITE_TRUNCATED); /* a piece ends */
    perfwrite_trace(w, 2, &who, bytes, 3);
    end(w);
    size_t at = (size_t) get(40, 8);
    size_t found = find_record(&at, 11);
    CHECK_EQ(get(found + 8, 8), 0);
    CHECK_EQ(get(found + 16, 8), 10);
    CHECK_EQ(get(found + 24, 8), 0);
    check_trailer(found, 32 + 24, 1);
    found = find_record(&at, 11);
    CHECK_EQ(get(found + 8, 8), 10);
    CHECK_EQ(get(found + 16, 8), 5);
    CHECK_EQ(get(found + 24, 8), 1);
    CHECK_EQ(find_record(&at, 11), 0);
    at = (size_t) get(40, 8);
    found = find_record(&at, 71);
    CHECK_EQ(get(found + 8, 8), 16);
    CHECK_EQ(get(found + 32, 4), 2);
    found = find_record(&at, 71);
    CHECK_EQ(get(found + 8, 8), 8);
    CHECK_EQ(get(found + 16, 8), 15);
    CHECK_EQ(find_record(&at, 71), 0);
    const size_t times = find_feature(21);
    CHECK_EQ(get(times, 8), 0x1234567890);
    CHECK_EQ(get(times + 8, 8), 0x1234567890);
}

/* ---- what cannot be written ---- */

TEST(failures)
{
    CHECK(perfwrite_open("/nowhere/at/all", &config) == NULL);
    CHECK_EQ(errno, ENOENT);
    CHECK_EQ(perfwrite_close(NULL), 0);
    if (access("/dev/full", W_OK) != 0) return;
    memset(&config, 0, sizeof config);
    perfwrite *w = perfwrite_open("/dev/full", &config);
    if (!CHECK(w != NULL)) return;
    for (int i = 0; i < 1000; i++) perfwrite_comm(w, &who, "x", 0);
    CHECK_EQ(perfwrite_close(w), (uint64_t) -1);
    CHECK_EQ(errno, ENOSPC);
}

int main(void)
{
    const int fd = mkstemp(tmp_name(path, sizeof path, "perfwrite"));
    if (fd < 0) return 2;
    close(fd);
    RUN(records);
    RUN(long_name);
    RUN(header);
    RUN(cut_at_psbs);
    RUN(cut_without_psb);
    RUN(aux);
    RUN(failures);
    remove(path);
    return test_report();
}
