/* perfbuild.h: records and files of perf.data put together by hand, in either
 * byte order. The numbers of types and bits are written out: they are what the
 * reader's names are tested against. */
#ifndef PERFBUILD_H
#define PERFBUILD_H
#include <stdint.h>
#include <string.h>

/* ---- records put together ---- */

static uint8_t built[1 << 16];
static size_t built_size;
static int big; /* byte order of what is put together and read */

static inline void put(uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        built[built_size + (big ? size - 1 - i : i)] =
            (uint8_t) (value >> 8 * i);
    built_size += size;
}

static inline void put2(uint64_t a, uint64_t b)
{
    put(a, 4);
    put(b, 4);
}

static inline void put_text(const char *text, size_t size)
{
    memset(built + built_size, 0, size);
    memcpy(built + built_size, text, strlen(text));
    built_size += size;
}

/* With its zero, padded to 8. */
static inline void put_name(const char *text)
{
    put_text(text, strlen(text) / 8 * 8 + 8);
}

static inline void begin(unsigned type, unsigned misc)
{
    built_size = 0;
    put(type, 4);
    put(misc, 2);
    put(0, 2);
}

static inline void end(void)
{
    const size_t size = built_size;
    built_size = 6;
    put(size, 2);
    built_size = size;
}

/* ---- files put together ---- */

static uint8_t whole[1 << 17];
static size_t whole_size;
static size_t trace_at; /* where the trace of the second AUXTRACE begins */

/* Append what was put to the file. */
static inline void append(void)
{
    memcpy(whole + whole_size, built, built_size);
    whole_size += built_size;
    built_size = 0;
}

static inline void append_record(void)
{
    end();
    append();
}

/* The samples that `type` asks for end a record: pid/tid, time, the others
 * counted from time + 1. */
static inline void append_sampled(uint64_t type, uint32_t pid, uint64_t time)
{
    if (type & 2) put2(pid, pid);
    if (type & 4) put(time, 8);
    if (type & 0x40) put(time + 1, 8);
    if (type & 0x200) put(time + 2, 8);
    if (type & 0x80) put(time + 3, 8);
    if (type & 0x10000) put(time + 4, 8);
    append_record();
}

/* The fields of one record, as numbers of `sizes` digits of bytes, then a name
 * if it is not NULL. */
static inline void put_fields(unsigned type, unsigned misc, const char *sizes,
                              uint64_t first, const char *name)
{
    begin(type, misc);
    for (; *sizes; sizes++) put(first++, (unsigned) (*sizes - '0'));
    if (name) put_name(name);
}

/* A record of each kind that sideband may be about, and one that it is not.
 * Fields count from 0x10. */
static inline void append_kinds(uint64_t type)
{
    static const struct {
        unsigned type;
        unsigned misc;
        const char *sizes;
        const char *name;
    } kinds[] = {
        {1, 2, "44888", "a file"}, {2, 0, "88", NULL},
        {3, 0, "44", "eightchr"}, {3, 0x2000, "44", "eightchr"},
        {4, 0, "44448", NULL}, {5, 0, "888", NULL}, {6, 0, "888", NULL},
        {7, 0, "44448", NULL}, {10, 2, "44888448844", "a file"},
        {11, 0, "888", NULL}, {12, 0, "44", NULL}, {13, 0, "8", NULL},
        {14, 0, "", NULL}, {14, 0x2000, "", NULL}, {15, 0, "44", NULL},
        {15, 0x2000, "44", NULL}, {17, 0x2001, "8", NULL}
    };
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        put_fields(kinds[i].type, kinds[i].misc, kinds[i].sizes, 0x10,
                   kinds[i].name);
        append_sampled(kinds[i].type < 17 ? type : 0, 0xabc, 0x40);
    }
    put_fields(11, 0, "888", 0x11, NULL); // truncated
    append_sampled(type, 0xabc, 0x40);
}

/* A number of the file, later. */
static inline void patch(size_t at, uint64_t value)
{
    built_size = 0;
    put(value, 8);
    memcpy(whole + at, built, 8);
    built_size = 0;
}

#define PT_TYPE 0x10086 /* TID TIME CPU IDENTIFIER */
#define DUMMY_TYPE 0x10006 /* without CPU */

static inline void put_attr(uint32_t type, uint64_t sample_type)
{
    put2(type, 64);
    put(type == 6 ? 0x300e601 : 9, 8);
    put(1, 8);
    put(sample_type, 8);
    put(4, 8);
    // sample_id_all, in the bit order of the file
    memcpy(built + built_size, big ? "\0\0\x20\0\0\0\0\0"
                                   : "\0\0\4\0\0\0\0\0", 8);
    built_size += 8;
    put(0, 8);
    put(0, 8);
}

static inline void put_samples(uint32_t tid, uint64_t time, uint32_t cpu,
                               uint64_t id)
{
    put2(1, tid);
    put(time, 8);
    if (id < 20) put2(cpu, 0);
    put(id, 8);
}

static inline void put_auxtrace(uint64_t size, uint64_t position, uint32_t idx,
                         uint32_t tid, uint32_t cpu)
{
    begin(71, 0);
    put(size, 8);
    put(position, 8);
    put(0, 8);
    put2(idx, tid);
    put2(cpu, 0);
    append_record();
    memset(whole + whole_size, (int) (idx + 1), (size_t) size);
    whole_size += (size_t) size;
}

/* The records: 8 of them. */
static inline void append_records(void)
{
    begin(70, 0);
    put2(1, 0);
    put(6, 8);
    for (int i = 0; i < 15; i++) put(0, 8);
    append_record();
    begin(3, 0); // made up: zeros for samples
    put2(1, 2);
    put_text("old", 8);
    put_samples(0, 0, 0, 0);
    append_record();
    begin(3, 0);
    put2(1, 3);
    put_text("new", 8);
    put_samples(3, 30, 0, 20);
    append_record();
    begin(14, 0);
    put_samples(4, 40, 1, 11);
    append_record();
    put_auxtrace(24, 0, 0, 0, 0);
    put_auxtrace(16, 0, 1, 0, 1);
    trace_at = whole_size - 16;
    begin(11, 0);
    put(0, 8);
    put(8, 8);
    put(1, 8);
    put_samples(4, 50, 1, 10);
    append_record();
    begin(68, 0);
    append_record();
}

static inline void put_string(const char *text)
{
    put(64, 4);
    put_text(text, 64);
}

/* A file's header and events: of PT with identifiers 10 and 11, and a dummy
 * with 20. Records follow, then finish_file. */
static inline void start_file(void)
{
    whole_size = built_size = 0;
    put(0x32454c4946524550, 8);
    put(104, 8);
    put(80, 8);
    put(128, 8);
    put(160, 8);
    put(288, 8);
    put(0, 8);
    put(0, 8);
    put(0, 8);
    put((uint64_t) 1 << 9 | 1 << 4, 8);
    for (int i = 0; i < 3; i++) put(0, 8);
    for (int i = 10; i <= 11; i++) put((uint64_t) i, 8);
    put(20, 8);
    append();
    put_attr(6, PT_TYPE);
    put(104, 8);
    put(16, 8);
    put_attr(1, DUMMY_TYPE);
    put(120, 8);
    put(8, 8);
    append();
}

/* Features: 168 bytes. */
static inline void finish_file(void)
{
    const size_t at = whole_size;
    patch(48, whole_size - 288);
    put(at + 32, 8);
    put(68, 8);
    put(at + 100, 8);
    put(68, 8);
    put_string("6.1.0-test");
    put_string("GenuineIntel,6,94,3");
    append();
}

static inline void make_file(void)
{
    start_file();
    append_records();
    finish_file();
}

/* Events and records in the form that goes through a pipe. */
static inline void make_pipe(void)
{
    whole_size = built_size = 0;
    put(0x32454c4946524550, 8);
    put(16, 8);
    append();
    begin(64, 0);
    put_attr(6, PT_TYPE);
    put(10, 8);
    put(11, 8);
    append_record();
    begin(64, 0);
    put_attr(1, DUMMY_TYPE);
    put(20, 8);
    append_record();
    begin(80, 0);
    put(4, 8);
    put_string("6.1.0-test");
    append_record();
    begin(80, 0);
    put(9, 8);
    put_string("GenuineIntel,6,94,3");
    append_record();
    append_records();
}

#endif /* PERFBUILD_H */
