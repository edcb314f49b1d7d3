/* turn.c: write a perf.data as a machine of the other byte order would have.
 *
 *     turn FROM TO
 *
 * It shares nothing with the reader. Every number is turned; names, build ids,
 * code and trace stay. Features that are of no use to a decoder of trace are
 * left out, and so is the index of trace. Compressed records are refused. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *file;
static size_t size;

static void fail(const char *why)
{
    fprintf(stderr, "turn: %s\n", why);
    exit(1);
}

static uint64_t get(size_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (at > size || bytes > size - at)
        fail("the file ends");
    while (bytes--)
        value = value << 8 | file[at + bytes];
    return value;
}

static void turn(size_t at, unsigned bytes)
{
    unsigned i;

    get(at, bytes);
    for (i = 0; i < bytes / 2; i++) {
        const uint8_t byte = file[at + i];
        file[at + i] = file[at + bytes - 1 - i];
        file[at + bytes - 1 - i] = byte;
    }
}

/* Turn what a text says: digits are sizes, = is eight bytes that stay, *
 * repeats the digit before it up to the end. Returns where it came to. */
static size_t turn_all(size_t at, size_t end, const char *layout)
{
    while (*layout) {
        const unsigned bytes = *layout == '=' ? 8 : (unsigned) (*layout - '0');
        if (end - at < bytes)
            break;
        if (*layout != '=')
            turn(at, bytes);
        at += bytes;
        if (layout[1] != '*')
            layout++;
    }
    return at;
}

/* ---- events ---- */

#define EVENTS 64
static uint64_t sample_types[EVENTS];
static unsigned event_count;
static struct {
    uint64_t id;
    unsigned event;
} ids[4096];
static unsigned id_count;

static void add_id(size_t at)
{
    if (id_count == sizeof(ids) / sizeof(ids[0]))
        fail("too many ids");
    ids[id_count].id = get(at, 8);
    ids[id_count++].event = event_count - 1;
    turn(at, 8);
}

/* Returns its size. */
static size_t turn_attr(size_t at)
{
    const size_t attr_size = (size_t) get(at + 4, 4);
    unsigned i;
    unsigned bit;

    if (event_count == EVENTS)
        fail("too many events");
    sample_types[event_count++] = get(at + 24, 8);
    turn_all(at, at + attr_size, "448888=44888844842244888");
    for (i = 0; i < 8; i++) { /* bit-fields begin at the other end */
        const uint8_t flags = file[at + 40 + i];
        file[at + 40 + i] = 0;
        for (bit = 0; bit < 8; bit++)
            file[at + 40 + i] |= (uint8_t) ((flags >> bit & 1) << (7 - bit));
    }
    return attr_size;
}

static uint64_t sample_type(size_t at, size_t end, int is_sample)
{
    const uint64_t id = get(is_sample ? at + 8 : end - 8, 8);
    unsigned i;

    for (i = 0; i < id_count; i++)
        if (ids[i].id == id)
            return sample_types[ids[i].event];
    return sample_types[0];
}

/* ---- records ---- */

#define TRAILER 0x102c6u

/* The samples at the end of a record; returns where they begin. */
static size_t turn_trailer(size_t at, size_t end)
{
    const uint64_t type = sample_type(at, end, 0) & TRAILER;
    size_t to = end;
    unsigned bit;

    for (bit = 17; bit-- > 0;) {
        if (!(type >> bit & 1) || bit == 16)
            continue;
        to -= 8;
    }
    if (type >> 16 & 1)
        to -= 8;
    turn_all(to, end, type & 2 ? "44" : "");
    at = to + (type & 2 ? 8 : 0);
    at = turn_all(at, end, type & 4 ? "8" : "");
    at = turn_all(at, end, type & 0x40 ? "8" : "");
    at = turn_all(at, end, type & 0x200 ? "8" : "");
    at = turn_all(at, end, type & 0x80 ? "44" : "");
    turn_all(at, end, type & 0x10000 ? "8" : "");
    return to;
}

static void turn_sample(size_t at, size_t end)
{
    const uint64_t type = sample_type(at, end, 1);
    unsigned bit;

    if (type & ~(uint64_t) 0x1103cfu)
        fail("a sample with more in it than is known here");
    at += 8;
    if (type & 0x10000)
        at = turn_all(at, end, "8");
    for (bit = 0; bit < 9; bit++) {
        if (type >> bit & 1)
            at = turn_all(at, end, bit == 1 || bit == 7 ? "44" : "8");
        if (bit == 6 && type & 0x200)
            at = turn_all(at, end, "8"); /* STREAM_ID is before CPU */
    }
    if (type & 0x100000)
        turn_all(at, end, "8");
}

static const char *layout_of(unsigned type, unsigned misc)
{
    switch (type) {
    case 1: return "44888";
    case 2: return "88";
    case 3: return "44";
    case 4:
    case 7: return "44448";
    case 5:
    case 6:
    case 11: return "888";
    case 10: return misc & 0x4000 ? "44888===44" : "44888448844";
    case 12:
    case 15: return "44";
    case 13:
    case 21: return "8";
    case 14: return "";
    case 16: return "448*";
    case 17: return "8422";
    case 18: return "224";
    case 19: return "8";
    case 20: return "822";
    case 67: return "4";
    case 66: return "4";
    case 68:
    case 82: return "";
    case 69: return "8*";
    case 70: return "448*";
    case 71: return "888444";
    case 79: return "88888";
    default: return NULL;
    }
}

static void turn_feature(unsigned bit, size_t at, size_t end);

static void turn_cpus(size_t at, size_t end)
{
    const unsigned kind = (unsigned) get(at, 2);

    if (kind == 1) /* a mask, of words of this size, aligned */
        turn_all(at + (get(at + 4, 2) == 8 ? 8 : 6), end,
                 get(at + 4, 2) == 8 ? "8*" : "4*");
    if (kind == 1)
        turn_all(at, at + 6, "222");
    else if (kind == 2) /* two bytes, then a range */
        turn_all(at + 4, end, "22");
    if (kind != 1)
        turn_all(at, kind == 2 ? at + 2 : end, "2*");
}

/* What perf says of cpus, threads and events. */
static void turn_other(unsigned type, size_t at, size_t end)
{
    if (type == 74) {
        turn_cpus(at, end);
    } else if (type == 78) {
        if (get(at, 8) == 3)
            turn_cpus(at + 16, end);
        turn_all(at, end, "88");
    } else if (type == 73) {
        turn(at, 8);
        for (at += 8; end - at >= 24; at += 24)
            turn(at, 8);
    } else if (type == 81 || type == 83) {
        fail("compressed");
    }
}

/* Returns its size, and that of the trace after it. */
static size_t turn_record(size_t at)
{
    const unsigned type = (unsigned) get(at, 4);
    const unsigned misc = (unsigned) get(at + 4, 2);
    const size_t bytes = (size_t) get(at + 6, 2);
    size_t end = at + bytes;
    size_t next = end;

    if (bytes < 8 || end > size)
        fail("a record is damaged");
    if (type == 71)
        next += (size_t) get(at + 8, 8);
    if (type == 66)
        next += ((size_t) get(at + 8, 4) + 7) / 8 * 8;
    if (type == 64) {
        size_t id = at + 8 + turn_attr(at + 8);
        for (; id < end; id += 8)
            add_id(id);
    } else if (type == 80) {
        const unsigned bit = (unsigned) get(at + 8, 8);
        turn(at + 8, 8);
        turn_feature(bit, at + 16, end);
    } else if (type == 9) {
        turn_sample(at, end);
    } else if (layout_of(type, misc)) {
        if (type < 64)
            end = turn_trailer(at, end);
        turn_all(at + 8, end, layout_of(type, misc));
    } else {
        turn_other(type, at + 8, end);
    }
    turn_all(at, at + 8, "422");
    return next - at;
}

/* ---- features ---- */

static size_t turn_string(size_t at)
{
    const size_t length = (size_t) get(at, 4);

    turn(at, 4);
    return at + 4 + length;
}

static void turn_build_ids(size_t at, size_t end)
{
    while (at < end) {
        const size_t step = (size_t) get(at + 6, 2);
        if (step < 8)
            fail("a build id is damaged");
        turn_all(at, end, "4224");
        at += step;
    }
}

/* Threads that are kept. */
static int is_known(unsigned bit)
{
    return (bit >= 2 && bit <= 6) || bit == 8 || bit == 9 || bit == 11
           || bit == 21 || bit == 24;
}

static void turn_feature(unsigned bit, size_t at, size_t end)
{
    uint64_t count;

    if (bit == 2) {
        turn_build_ids(at, end);
    } else if (bit == 11) {
        count = get(at, 4);
        turn(at, 4);
        for (at += 4; count-- > 0;)
            at = turn_string(at);
    } else if (bit == 21 || bit == 24) {
        turn_all(at, end, "8*");
    } else if (is_known(bit)) {
        turn_string(at);
    }
}

/* The table of features is made again, with less in it. */
static uint64_t turn_features(uint64_t bits, size_t table)
{
    uint64_t kept = 0;
    size_t to = table;
    unsigned bit;

    for (bit = 0; bit < 64; bit++) {
        if (!(bits >> bit & 1))
            continue;
        if (is_known(bit)) {
            const size_t at = (size_t) get(table, 8);
            turn_feature(bit, at, at + (size_t) get(table + 8, 8));
            memmove(file + to, file + table, 16);
            turn_all(to, to + 16, "88");
            to += 16;
            kept |= (uint64_t) 1 << bit;
        }
        table += 16;
    }
    return kept;
}

/* ---- files ---- */

static void turn_file(void)
{
    const size_t entry = (size_t) get(16, 8);
    const size_t attrs = (size_t) get(24, 8);
    const size_t attrs_end = attrs + (size_t) get(32, 8);
    size_t at = (size_t) get(40, 8);
    const size_t data_size = (size_t) get(48, 8);
    const size_t end = data_size ? at + data_size : size;
    uint64_t bits = get(72, 8);
    size_t attr;

    for (attr = attrs; attr < attrs_end; attr += entry) {
        const size_t place = attr + entry - 16;
        size_t id = (size_t) get(place, 8);
        const size_t last = id + (size_t) get(place + 8, 8);
        turn_attr(attr);
        for (; id < last; id += 8)
            add_id(id);
        turn_all(place, place + 16, "88");
    }
    while (at < end)
        at += turn_record(at);
    bits = data_size ? turn_features(bits, end) : 0;
    memset(file + 72, 0, 32);
    for (attr = 0; attr < 8; attr++)
        file[72 + attr] = (uint8_t) (bits >> 8 * attr);
    turn_all(0, 104, "8*");
}

static void turn_pipe(void)
{
    size_t at = 16;

    while (at < size)
        at += turn_record(at);
    turn_all(0, 16, "88");
}

int main(int argc, char **argv)
{
    FILE *f = argc == 3 ? fopen(argv[1], "rb") : NULL;
    long length = -1;

    if (f && fseek(f, 0, SEEK_END) == 0)
        length = ftell(f);
    if (length < 104)
        fail("usage: turn FROM TO");
    rewind(f);
    size = (size_t) length;
    file = (uint8_t *) malloc(size);
    if (!file || fread(file, 1, size, f) != size)
        fail("cannot read");
    fclose(f);
    if (get(8, 8) == 16)
        turn_pipe();
    else
        turn_file();
    f = fopen(argv[2], "wb");
    if (!f || fwrite(file, 1, size, f) != size || fclose(f))
        fail("cannot write");
    return 0;
}
