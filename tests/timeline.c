/* timeline.c: calls over time in the formats of viewers
 * (common/flow/timeline.h). Other people's readers look at files in
 * tests/views.sh; here it is about many events, many threads, hostile names. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include "examples/tools/common/code/tool.c"
#include "examples/tools/common/flow/timeline.c"
#include "dice.h"
#include "test.h"
#include "tmp.h"
#include "whole.h"
#include <unistd.h>

static char path[256];

static const char *text_of(uint32_t name, void *context)
{
    const char *const *const texts = (const char *const *) context;
    return texts[name - 1];
}

static const char *const texts[] = {"main", "a\"b\\c\n", "\xc3\xa4", "\xff<",
                                    "\xed\xa0\x80", ""};

static char *load(size_t *size)
{
    char *const bytes = whole_file(path, size);
    if (!bytes) exit(2);
    return bytes;
}

static int is_clean(const char *text, int json, const char *want)
{
    char out[TEXT];
    return strcmp(tool_clean(out, sizeof out, text, json), want) == 0;
}

TEST(names)
{
    static char large[3 * TEXT];
    char out[TEXT];
    CHECK(is_clean("main", 1, "main"));
    CHECK(is_clean("a\"b\\c\n\x7f\x01", 1, "a\\\"b\\\\c   "));
    CHECK(is_clean("a\"b\\c\n", 0, "a\"b\\c "));
    CHECK(is_clean("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 1,
                   "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
    /* cut, too long, a surrogate, above 10FFFF, a lone byte */
    CHECK(is_clean("\xe2\x82", 0, "\xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(is_clean("\xc0\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(is_clean("\xe0\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(is_clean("\xed\xa0\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(is_clean("\xf4\x90\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd"
                                          "\xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(is_clean("x\xffy", 0, "x\xef\xbf\xbdy"));
    memset(large, '"', sizeof large - 1);
    CHECK(strlen(tool_clean(out, sizeof out, large, 1)) < TEXT);
}

/* Threads, events in each of them, to a depth. */
enum { THREADS = 40, EVENTS = 3000, DEPTH = 9 };

/* Returns how many calls take `least` at least. */
static unsigned write_file(timeline_format format, uint64_t least)
{
    timeline t;
    uint32_t depth[THREADS] = {0};
    uint32_t stack[THREADS][DEPTH], since[THREADS][DEPTH];
    unsigned count = 0;
    CHECK_EQ(timeline_open(&t, format, path, 1), 0);
    t.least = least;
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK_EQ(timeline_thread(&t, 100 + i / 4, 1000 + i, "th\"read"), i);
    for (uint32_t n = 0; n < THREADS * EVENTS; n++) {
        const uint32_t i = dice(THREADS);
        if (depth[i] < DEPTH && (depth[i] == 0 || dice(2))) {
            const uint32_t name = 1 + dice(6);
            since[i][depth[i]] = n;
            stack[i][depth[i]++] = name;
            timeline_enter(&t, i, name, texts[name - 1], n);
        } else {
            const uint32_t name = stack[i][--depth[i]];
            count += n - since[i][depth[i]] >= least;
            timeline_leave(&t, i, name, texts[name - 1], n);
        }
    }
    for (uint32_t i = 0; i < THREADS; i++)
        while (depth[i]) {
            const uint32_t name = stack[i][--depth[i]];
            count++;
            timeline_leave(&t, i, name, texts[name - 1], 1u << 30);
        }
    CHECK_EQ(timeline_close(&t, text_of, (void *) texts), 0);
    return count;
}

/* Each event is a line of its own; those of a thread are together, complete
 * and in order. */
TEST(speedscope)
{
    size_t size;
    unsigned profiles = 0, events = 0;
    unsigned depth = 0;
    uint64_t last = 0;
    unsigned stack[DEPTH + 1];
    char *bytes;
    write_file(TIMELINE_SPEEDSCOPE, 0);
    bytes = load(&size);
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
        char kind;
        unsigned frame;
        uint64_t time;
        if (strstr(line, "\"type\":\"evented\"")) {
            CHECK_EQ(depth, 0);
            last = 0;
            profiles++;
        }
        line += strspn(line, " ,");
        if (sscanf(line, "{\"type\":\"%c\",\"frame\":%u,\"at\":%" SCNu64 "}",
                   &kind, &frame, &time) != 3)
            continue;
        events++;
        CHECK(time >= last);
        last = time;
        CHECK(frame < 6);
        if (kind == 'O' && depth < DEPTH)
            stack[depth++] = frame;
        else if (kind == 'C' && depth)
            CHECK_EQ(stack[--depth], frame);
        else
            CHECK(0); /* one is left that was not entered */
    }
    CHECK_EQ(profiles, THREADS);
    CHECK(events >= THREADS * EVENTS);
    free(bytes);
}

/* A number at *p, which is moved on. */
static uint64_t varint(const uint8_t **p, const uint8_t *end)
{
    uint64_t n = 0;
    unsigned shift = 0;
    while (*p < end && shift < 64) {
        n |= (uint64_t) (**p & 0x7f) << shift;
        shift += 7;
        if (!(*(*p)++ & 0x80)) return n;
    }
    CHECK(0); /* the number is not whole */
    return n;
}

/* The value of a field of a message: a number, or how long it is, with *inner
 * where it is. NULL, or 0, if there is none. */
static uint64_t field_of(const uint8_t *p, uint64_t size, uint32_t field,
                         const uint8_t **inner)
{
    const uint8_t *const end = p + (size_t) size;
    while (p < end) {
        const uint64_t tag = varint(&p, end);
        const uint64_t n = varint(&p, end);
        if ((tag & 7) == 2) {
            if (n > (uint64_t) (end - p)) {
                CHECK(0); /* the field is longer than its message */
                return 0;
            }
            p += n;
        }
        if (tag >> 3 != field) continue;
        if (inner) *inner = p - n;
        return n;
    }
    return 0;
}

/* Slices of each track nest; names are interned once, before their use. */
TEST(perfetto)
{
    size_t size;
    unsigned begins = 0, ends = 0, names = 0;
    unsigned depth[THREADS + 1] = {0};
    uint8_t *bytes;
    const uint8_t *p, *end;
    write_file(TIMELINE_PERFETTO, 0);
    bytes = (uint8_t *) load(&size);
    p = bytes;
    end = p + size;
    while (p < end) {
        const uint8_t *event = NULL, *interned = NULL;
        uint64_t n, event_size, track, type;
        CHECK_EQ(varint(&p, end), TRACE_PACKET << 3 | 2);
        n = varint(&p, end);
        CHECK(n <= (uint64_t) (end - p));
        event_size = field_of(p, n, PACKET_EVENT, &event);
        if (field_of(p, n, PACKET_INTERNED, &interned)) names++;
        CHECK_EQ(field_of(p, n, PACKET_SEQUENCE, NULL), 1);
        p += n;
        if (!event) continue;
        type = field_of(event, event_size, EVENT_TYPE, NULL);
        track = field_of(event, event_size, EVENT_TRACK, NULL);
        if (!CHECK(track >= 1) || !CHECK(track <= THREADS)) continue;
        if (type == TYPE_BEGIN) {
            CHECK(field_of(event, event_size, EVENT_NAME_IID, NULL) <= 6);
            begins++;
            depth[track]++;
        } else {
            CHECK(depth[track]-- > 0);
            ends++;
        }
    }
    CHECK_EQ(begins, ends);
    CHECK_EQ(names, 6);
    CHECK(begins + ends >= THREADS * EVENTS);
    free(bytes);
}

TEST(chrome)
{
    size_t size;
    unsigned begins = 0, ends = 0;
    char *bytes;
    write_file(TIMELINE_CHROME, 0);
    bytes = load(&size);
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
        begins += strncmp(line, "{\"ph\":\"B\"", 9) == 0;
        ends += strncmp(line, "{\"ph\":\"E\"", 9) == 0;
    }
    CHECK_EQ(begins, ends);
    CHECK(begins + ends >= THREADS * EVENTS);
    free(bytes);
}

/* Calls that take less than a limit are left out, and no others: what is there
 * has its own times, and how many are not is a value, or in the name. */
TEST(least)
{
    enum { LEAST = 2000 };
    const uint64_t from = seed;
    const unsigned all = write_file(TIMELINE_SPEEDSCOPE, 0);
    unsigned depth = 0, count = 0, left_out = 0, want;
    unsigned values[THREADS] = {0};
    uint64_t since[DEPTH + 1];
    size_t size;
    char *bytes;
    seed = from;
    want = write_file(TIMELINE_SPEEDSCOPE, LEAST);
    bytes = load(&size);
    CHECK(want > THREADS);
    CHECK(want < all / 2);
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
        const char *const named = strstr(line, " (");
        char kind;
        unsigned frame, n;
        uint64_t time;
        if (named && sscanf(named, " (%u calls left out)", &n) == 1)
            left_out += n;
        line += strspn(line, " ,");
        if (sscanf(line, "{\"type\":\"%c\",\"frame\":%u,\"at\":%" SCNu64 "}",
                   &kind, &frame, &time) != 3)
            continue;
        if (kind == 'O' && depth < DEPTH)
            since[depth++] = time;
        else if (kind == 'C' && depth && CHECK(time - since[--depth] >= LEAST))
            count++;
    }
    CHECK_EQ(count, want);
    CHECK_EQ(left_out, all - want);
    free(bytes);

    seed = from;
    CHECK_EQ(write_file(TIMELINE_CHROME, LEAST), want);
    bytes = load(&size);
    count = left_out = 0;
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
        const char *const named = strstr(line, "\"calls left out\"");
        unsigned tid, n;
        count += strncmp(line, "{\"ph\":\"B\"", 9) == 0;
        if (named && sscanf(named, "\"calls left out\",\"id\":%u,\"args\":"
                            "{\"value\":%u}", &tid, &n) == 2)
            values[tid % THREADS] = n;
    }
    for (unsigned i = 0; i < THREADS; i++) left_out += values[i];
    CHECK_EQ(count, want);
    CHECK_EQ(left_out, all - want);
    free(bytes);
}

int main(void)
{
    const int f = mkstemp(tmp_name(path, sizeof path, "timeline"));
    if (f < 0) return 2;
    close(f);
    RUN(names);
    RUN(speedscope);
    RUN(perfetto);
    RUN(chrome);
    RUN(least);
    unlink(path);
    return test_report();
}
