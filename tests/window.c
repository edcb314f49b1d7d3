/* window.c: the trace of a queue of a perf.data, a window at a time
 * (common/perf/window.h): pieces that are joined, gaps, snapshots that
 * overlap. The file is an array. */
#define _POSIX_C_SOURCE 200809L
#include "examples/tools/common/perf/window.c"
#include "dice.h"
#include "test.h"

#define PIECES 40u

static uint8_t file[1 << 20];
static size_t file_size;
static perfdata_piece pieces[PIECES];
static perfdata_queue queue;
static perfdata_queues queues;
static uint8_t got[1 << 20];
static unsigned gaps;
static window_span spans[8];
static size_t span_count;

int perffile_read(const perffile *f, uint64_t offset, uint8_t *buffer,
                  size_t size)
{
    (void) f;
    if (offset > file_size || size > file_size - offset) return -1;
    memcpy(buffer, file + offset, size);
    return 0;
}

static void begin(void)
{
    memset(&queues, 0, sizeof queues);
    memset(pieces, 0, sizeof pieces);
    queue.first = queue.count = 0;
    queue.size = 0;
    queues.pieces = pieces;
    queues.queues = &queue;
    queues.queue_count = 1;
    file_size = 0;
}

static void add(const uint8_t *bytes, size_t size, uint32_t gap)
{
    perfdata_piece *const piece = &pieces[queue.count++];
    piece->data = file_size;
    piece->size = size;
    piece->position = file_size + 1000;
    piece->gap = gap;
    memcpy(file + file_size, bytes, size);
    file_size += size;
    queue.size += size;
}

/* Random bytes with a PSB now and then. */
static void make(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t) (1 + dice(255));
    for (size_t i = 20; i + 16 < size; i += 150 + dice(60))
        for (size_t j = 0; j < 16; j++) bytes[i + j] = j & 1 ? 0x82 : 0x02;
}

/* Read it all, as a decoder does that keeps a few bytes: what came, without
 * gaps, which are counted. */
static size_t read_all(void)
{
    window w;
    uint64_t done = 0; /* of the stream */
    size_t size = 0;
    gaps = 0;
    CHECK_EQ(window_open(&w, NULL, &queues, 0), 0);
    for (unsigned turns = 0; turns < 1000; turns++) {
        const uint64_t back = dice(32);
        uint64_t at;
        if (turns && !w.trace.open) break;
        window_more(&w, done > back ? done - back : 0);
        at = w.trace.offset;
        for (uint32_t i = 0; i < w.trace.count; i++) {
            const ipt_segment *const s = &w.trace.seg[i];
            for (size_t j = 0; j < s->size; j++, at++) {
                if (at < done) continue;
                if (s->data)
                    got[size++] = s->data[j];
                else
                    gaps++;
                done++;
            }
        }
    }
    CHECK(!w.trace.open);
    window_close(&w);
    return size;
}

TEST(pieces_are_joined)
{
    static uint8_t bytes[200000];
    size_t at = 0;
    begin();
    make(bytes, sizeof bytes);
    while (at < sizeof bytes && queue.count < PIECES - 1) {
        size_t n = dice(3) ? dice(9000) : dice(20);
        if (n > sizeof bytes - at) n = sizeof bytes - at;
        add(bytes + at, n, 0);
        at += n;
    }
    add(bytes + at, sizeof bytes - at, 0);
    CHECK_EQ(read_all(), sizeof bytes);
    CHECK(memcmp(got, bytes, sizeof bytes) == 0);
    CHECK_EQ(gaps, 0);
}

TEST(gaps_stay)
{
    static uint8_t bytes[3000];
    window w;
    begin();
    make(bytes, sizeof bytes);
    add(bytes, 1000, 0);
    add(bytes + 1000, 5, PERFDATA_AUX_TRUNCATED);
    add(bytes + 1005, 995, 0);
    add(bytes + 2000, 1000, PERFDATA_GAP_MISSING);
    CHECK_EQ(read_all(), sizeof bytes);
    CHECK(memcmp(got, bytes, sizeof bytes) == 0);
    CHECK_EQ(gaps, 2);
    CHECK_EQ(window_open(&w, NULL, &queues, 0), 0);
    window_more(&w, 0);
    CHECK_EQ(window_gap(&w, 0), PERFDATA_AUX_TRUNCATED);
    CHECK_EQ(window_gap(&w, 1), PERFDATA_GAP_MISSING);
    CHECK_EQ(window_gap(&w, 2), 0);
    CHECK_EQ(window_position(&w, 0), 1000);
    CHECK_EQ(window_position(&w, 1001), 2000);
    CHECK_EQ(window_position(&w, 2003), 3001);
    window_close(&w);
}

static int is_in_span(uint64_t offset)
{
    for (size_t i = 0; i < span_count; i++)
        if (offset >= spans[i].from && offset < spans[i].to) return 1;
    return 0;
}

/* Parts of a stream of random pieces, some with gaps before them: bytes, offsets
 * and positions are those of the whole. */
TEST(parts_are_those_of_the_whole)
{
    static uint8_t bytes[300000], whole[300100];
    static uint64_t positions[300100];
    for (unsigned turn = 0; turn < 100; turn++) {
        const size_t size = 1000 + dice(turn % 4 ? 20000 : 290000);
        size_t at = 0, all = 0;
        window w;
        begin();
        make(bytes, size);
        while (at < size && queue.count < PIECES) {
            size_t n = queue.count == PIECES - 1 ? size : 1 + dice(20000);
            const uint32_t gap = dice(3) ? 0 : PERFDATA_AUX_TRUNCATED;
            if (n > size - at) n = size - at;
            if (gap && queue.count) whole[all++] = 0;
            for (size_t i = 0; i < n; i++) {
                positions[all] = file_size + 1000 + i;
                whole[all++] = bytes[at + i];
            }
            add(bytes + at, n, gap);
            at += n;
        }
        span_count = 0;
        for (uint64_t from = dice(2) * dice(3000); span_count < 8
             && from < all; span_count++) {
            while (from && from < all && !whole[from]) from++;
            if (from == all) break;
            spans[span_count].from = from;
            from += 1 + dice((uint32_t) all / 4);
            spans[span_count].to = dice(9) ? from : UINT64_MAX;
            from = dice(9) ? from + 1 + dice(2000) : all;
            if (spans[span_count].to == UINT64_MAX) from = all;
        }
        CHECK_EQ(window_open(&w, NULL, &queues, 0), 0);
        window_only(&w, spans, span_count);
        for (uint64_t seen = w.trace.offset, now; w.trace.open;) {
            window_more(&w, seen);
            now = w.trace.offset;
            for (uint32_t i = 0; i < w.trace.count; i++) {
                const ipt_segment *const s = &w.trace.seg[i];
                for (size_t j = 0; !s->data && j < s->size; j++)
                    CHECK(!whole[now + j] || !is_in_span(now + j));
                for (size_t j = 0; s->data && j < s->size; j++) {
                    CHECK(is_in_span(now + j));
                    CHECK_EQ(s->data[j], whole[now + j]);
                    if (now + j >= seen && j % 61 == 0)
                        CHECK_EQ(window_position(&w, now + j),
                                 positions[now + j]);
                }
                now += s->size;
            }
            seen = now;
            if (!w.trace.open)
                CHECK_EQ(now, span_count == 0 ? 0
                         : spans[span_count - 1].to < all
                             ? spans[span_count - 1].to : all);
        }
        window_close(&w);
    }
}

TEST(snapshots_that_overlap_are_joined)
{
    static uint8_t bytes[60000];
    const uint8_t zeros[8] = {0};
    make(bytes, sizeof bytes);
    for (unsigned i = 0; i < 200; i++) {
        const size_t first = 500 + dice(8000);
        const size_t over = dice(4) ? 200 + dice((uint32_t) first - 199) : first;
        const size_t more = dice(8000);
        const unsigned pad = dice(8);
        begin();
        add(bytes, first, 0);
        add(zeros, pad, 0);
        queue.count = 1;
        pieces[0].size = first + pad;
        add(bytes + first - over, over + more, PERFDATA_GAP_SNAPSHOT);
        {
            const size_t size = read_all();
            const int joined = gaps == 0;
            uint64_t zero;
            const uint64_t common = window_overlap(NULL, &pieces[0],
                                                   &pieces[1], &zero);
            CHECK(joined ? common == over : common == 0);
            CHECK(!joined || zero == pad);
            CHECK(!joined || size == first + more);
            CHECK(!joined || memcmp(got, bytes, size) == 0);
            /* there is a PSB in every 260 bytes */
            CHECK(joined || over < 260);
        }
    }
}

TEST(snapshots_apart_are_not)
{
    static uint8_t bytes[20000];
    begin();
    make(bytes, sizeof bytes);
    add(bytes, 10000, 0);
    add(bytes + 10000, 10000, PERFDATA_GAP_SNAPSHOT);
    CHECK_EQ(read_all(), sizeof bytes);
    CHECK_EQ(gaps, 1);
}

/* A piece that says it is larger than the file. */
TEST(a_read_that_fails_ends_it)
{
    static uint8_t bytes[100];
    begin();
    make(bytes, sizeof bytes);
    add(bytes, sizeof bytes, 0);
    pieces[0].size = queue.size = 200;
    CHECK_EQ(read_all(), 0);
}

int main(void)
{
    RUN(pieces_are_joined);
    RUN(gaps_stay);
    RUN(parts_are_those_of_the_whole);
    RUN(snapshots_that_overlap_are_joined);
    RUN(snapshots_apart_are_not);
    RUN(a_read_that_fails_ends_it);
    return test_report();
}
