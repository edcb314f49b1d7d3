/* perfdata.c: fuzz the reader of perf.data. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-perfdata fuzz/perfdata.c
 *     ./fuzz-perfdata corpus fuzz/corpus/perfdata fuzz/regress/perfdata
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-perfdata \
 *            fuzz/perfdata.c
 * Replay: cc -g -I. -o fuzz-perfdata fuzz/perfdata.c fuzz/standalone.c
 *
 * An input is a file, except its last byte, whose bits say how it is read:
 * 0 with a fake zstd, 1 by small amounts of what it makes, 2 with its second half
 * as a part of a folder, too. What is checked:
 * nothing outside of the file is asked for; offsets only grow; an end or an
 * error ends; reading again gives the same; what records point to lies in
 * them; the pieces of queues are those of the records. */
#include "examples/tools/common/perf/perfdata.c"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(fact)                                                            \
    ((fact) ? (void) 0                                                        \
            : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #fact),     \
               abort()))

#define EVENTS 16
#define IDS 64
#define PIECES 64
#define QUEUE_RECORDS 24 /* pieces and losses that are collected */

static const uint8_t *input;
static size_t input_size;
static size_t room_for_plain;
static perfdata_attr events[EVENTS];
static perfdata_id ids[IDS];
static perfdata reader;
static perfdata_piece pieces[PIECES];
static perfdata_loss losses[PIECES];
static perfdata_queue queues[PIECES];

static int read_at(uint8_t *buffer, size_t size, uint64_t offset,
                   void *context)
{
    WANT(context == events);
    WANT(offset <= input_size && size <= input_size - offset);
    memcpy(buffer, input + offset, size);
    return 0;
}

/* A byte is itself, but 0xff damage, and 0xf0 to 0xfe 64 to 78 zeros. */
static int inflate_fake(uint8_t *out, size_t *out_size, const uint8_t *in,
                        size_t *in_size, void *context)
{
    static unsigned zeros;
    size_t used = 0;
    size_t made = 0;
    (void) context;
    if (!in) return (int) (zeros = 0);
    while (made < *out_size && made < room_for_plain) {
        if (zeros) {
            zeros--;
            out[made++] = 0;
        } else if (used == *in_size) {
            break;
        } else if (in[used] == 0xff) {
            return 1;
        } else if (in[used] >= 0xf0) {
            zeros = 64 + (in[used++] & 15u);
        } else {
            out[made++] = in[used++];
        }
    }
    *in_size = used;
    *out_size = made;
    return 0;
}

/* A name ends inside its record; of other records there is none. */
static const char *name_of(const perfdata_record *r)
{
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: return r->u.mmap.name;
    case PERFDATA_COMM: return r->u.comm.name;
    case PERFDATA_KSYMBOL: return r->u.ksymbol.name;
    case PERFDATA_CGROUP: return r->u.cgroup.path;
    case PERFDATA_BUILD_ID: return r->u.build_id.name;
    case PERFDATA_AUXTRACE_ERROR: return r->u.error.message;
    default: return NULL;
    }
}

static void check_bytes(const perfdata_record *r, const uint8_t *from,
                        uint64_t size)
{
    WANT(size == 0 || (from >= r->bytes && size <= r->size
                       && (uint64_t) (from - r->bytes) <= r->size - size));
}

static void check_record(const perfdata_record *r)
{
    const char *name = name_of(r);
    WANT(r->size >= 8 && r->body >= 8 && r->body + r->trailer <= r->size);
    if (name) check_bytes(r, (const uint8_t *) name, strlen(name) + 1);
    switch (r->type) {
    case PERFDATA_SAMPLE:
        check_bytes(r, r->u.event.raw, r->u.event.raw_size);
        check_bytes(r, r->u.event.aux, r->u.event.aux_size);
        break;
    case PERFDATA_TEXT_POKE:
        check_bytes(r, r->u.text_poke.old_bytes, r->u.text_poke.old_len);
        check_bytes(r, r->u.text_poke.new_bytes, r->u.text_poke.new_len);
        break;
    case PERFDATA_HEADER_ATTR:
        check_bytes(r, r->u.attr.ids, 8 * (uint64_t) r->u.attr.id_count);
        break;
    case PERFDATA_HEADER_FEATURE:
        check_bytes(r, r->u.feature.data, r->u.feature.size);
        break;
    case PERFDATA_AUXTRACE_INFO:
        WANT(strlen(r->u.info.filter) < r->size);
        break;
    case PERFDATA_AUXTRACE:
        WANT(r->u.auxtrace.data <= input_size
             && r->u.auxtrace.left <= input_size - r->u.auxtrace.data);
        break;
    default: break;
    }
}

/* Read on to the end or the error that there is no way on from. Returns a hash
 * of what came. */
static uint64_t read_all(perfdata_queues *q)
{
    uint64_t hash = 0;
    uint64_t last = 0;
    uint64_t count = 0;
    uint32_t part = 0;
    perfdata_record r;
    int status;
    do {
        status = perfdata_next(&reader, &r);
        if (reader.part != part) last = 0; // it is read twice
        part = reader.part;
        WANT(r.offset >= last && r.offset <= input_size);
        last = r.offset;
        hash = (hash ^ r.offset ^ (uint64_t) (uint32_t) status << 32 ^ r.type
                ^ r.sample.time) * 0x100000001b3u;
        if (status >= 0) check_record(&r);
        if (status >= 0 && q->records + q->loss_count < QUEUE_RECORDS)
            WANT(perfdata_queues_add(q, &r) == 0);
        WANT(count++ <= 160 * input_size);
    } while (status >= 0 || status == PERFDATA_ERR_FIELDS
             || status == PERFDATA_ERR_STRING);
    if (status != PERFDATA_ERR_MEMORY && status != PERFDATA_ERR_INFLATE)
        WANT(perfdata_next(&reader, &r) == status);
    return hash ^ (uint64_t) (uint32_t) status;
}

static void check_queues(perfdata_queues *q)
{
    uint32_t next = 0;
    WANT(perfdata_queues_finish(q) == 0);
    for (uint32_t i = 0; i < q->queue_count; i++) {
        WANT(queues[i].first == next && queues[i].count > 0);
        next += queues[i].count;
    }
    WANT(next == q->piece_count);
    WANT(perfdata_queues_trim(q, &reader) == 0);
    WANT(next == q->piece_count);
    for (uint32_t i = 0; i < q->piece_count; i++)
        WANT(pieces[i].data <= input_size
             && pieces[i].size <= input_size - pieces[i].data);
}

static void reset(perfdata_queues *q)
{
    memset(q, 0, sizeof *q);
    q->pieces = pieces;
    q->losses = losses;
    q->queues = queues;
    q->piece_max = q->loss_max = q->queue_max = PIECES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    perfdata_config config;
    perfdata_queues q;
    perfdata_place half;
    uint64_t first;
    char text[32];
    if (size == 0) return 0;
    input = data;
    input_size = size - 1;
    room_for_plain = data[size - 1] & 2 ? 5 : SIZE_MAX;
    memset(&config, 0, sizeof config);
    config.read = read_at;
    if (data[size - 1] & 1) config.inflate = inflate_fake;
    config.context = events;
    half.offset = input_size / 2;
    half.size = input_size - half.offset;
    if (data[size - 1] & 4) {
        config.parts = &half;
        config.part_count = 1;
    }
    config.size = input_size;
    config.events = events;
    config.ids = ids;
    config.event_max = EVENTS;
    config.id_max = IDS;
    if (perfdata_open(&reader, &config) < 0) {
        WANT(reader.offset <= input_size);
        return 0;
    }
    reset(&q);
    first = read_all(&q);
    perfdata_rewind(&reader);
    reset(&q);
    WANT(read_all(&q) == first);
    check_queues(&q);
    for (unsigned bit = 0; bit < PERFDATA_FEATURES; bit++)
        if (perfdata_feature_text(&reader, bit, text, sizeof text) == 1)
            WANT(strlen(text) < sizeof text);
    return 0;
}
