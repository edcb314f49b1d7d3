/* hostile.c: broken trace, wrong code, callbacks that lie, calls that make no
 * sense. Samples are in samples.h; fuzz/fuzz.h says what is checked of each
 * call and each run: a documented status with a location, outputs untouched on
 * a negative one, an end within a bound, and the same result in pieces, byte by
 * byte, on one unit of fuel, by a clone, with and without cache.
 *
 * TEST_COUNT: see chosen.h. */
#include "chosen.h"
#include "test.h"

static char what_[160]; /* the input that is running */
static int hostile_fail(int line, const char *text);
#define FUZZ_FAIL(line, text) hostile_fail(line, text)
#include "walk.h"
#include "fuzz/fuzz.h"
#include "samples.h"

static int hostile_fail(int line, const char *text)
{
    if (test_fail_("fuzz/fuzz.h", line, text))
        printf("    input: %s\n", what_);
    return 0;
}

static const fuzz_layer *const layers[]
    = {&fuzz_pkt, &fuzz_evt, &fuzz_qry, &fuzz_blk, &fuzz_insn};
#define LAYERS (sizeof(layers) / sizeof(layers[0]))

/* ---- samples as inputs ---- */

typedef struct input {
    fuzz_case c;
    const char *name;
    uint8_t code[SAMPLE_MAX];
    uint8_t trace[SAMPLE_MAX];
} input;

static void load(input *in, const sample *s)
{
    int size;

    memset(in, 0, sizeof(*in));
    in->name = s->name;
    in->c.code_size = sample_hex(in->code, s->code);
    size = sample_trace(in->trace, s->trace);
    if (!CHECK(size >= 0) || !CHECK(in->c.code_size < 256)) {
        printf("    sample %s\n", s->name);
        size = 0;
    }
    in->c.trace_size = (size_t) size;
    in->c.code = in->code;
    in->c.trace = in->trace;
    in->c.base = s->base;
    in->c.config = s->config;
    in->c.errata = s->errata;
    in->c.flags = s->flags;
    in->c.more = s->more;
}

static void say(const input *in, const fuzz_layer *layer, const char *how,
                size_t at, unsigned value)
{
    snprintf(what_, sizeof(what_), "sample %s, [%s], %s %u 0x%02x", in->name,
             layer->name, how, (unsigned) at, value);
}

/* For each sample and layer. */
#define EACH_LAYER(layer) \
    for (layer = layers; layer < layers + LAYERS; layer++)
#define EACH_SAMPLE(s) for (s = samples; s < samples + SAMPLES; s++)

TEST(whole)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;
    unsigned turn;

    EACH_SAMPLE(s) {
        load(&in, s);
        EACH_LAYER(layer) {
            for (turn = 0; turn < 6; turn++) {
                in.c.cut = (uint8_t) (turn * 7);
                in.c.fuel = (uint8_t) (turn * turn);
                in.c.clone = (uint8_t) turn;
                in.c.flags = (uint8_t) (s->flags ^ (turn & 1) * FUZZ_RESYNC
                                        ^ (turn & 2) * (FUZZ_GROW / 2)
                                        ^ (turn & 4) * (FUZZ_FAR / 4));
                say(&in, *layer, "turn", turn, 0);
                fuzz_all(*layer, &in.c);
            }
        }
    }
}

/* ---- every prefix ---- */

static fuzz_log logs[3];

/* What was decoded of the open prefix is what `log` begins with. */
static void check_begins(const fuzz_log *log, const fuzz_log *prefix)
{
    size_t n = prefix->count;
    size_t i;

    if (!n || prefix->item[n - 1].what != FUZZ_STOP
        || prefix->item[n - 1].status != IPT_MORE) {
        FUZZ_FAIL(__LINE__, "an open trace that does not end with IPT_MORE");
        return;
    }
    n--;
    for (i = 0; i < n && i < log->count; i++) {
        fuzz_item item = log->item[i];
        if (i + 1 == n && item.what == FUZZ_PACKET
            && item.kind == IPT_PKT_PAD) /* cut inside a run */
            item.count = prefix->item[i].count;
        if (memcmp(&item, &prefix->item[i], sizeof(item))) {
            fuzz_differ(log, i, prefix, i);
            return;
        }
    }
    if (log->count < n)
        fuzz_differ(log, log->count, prefix, log->count);
}

/* Nothing that was decoded before the trace ends is lost, and more trace does
 * not change it. */
TEST(prefixes)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;

    EACH_SAMPLE(s) {
        EACH_LAYER(layer) {
            size_t size;
            load(&in, s);
            say(&in, *layer, "whole", in.c.trace_size, 0);
            fuzz_reference(*layer, &in.c, &logs[0]);
            for (size = in.c.trace_size; size-- > 0;) {
                say(&in, *layer, "prefix", size, 0);
                in.c.trace_size = size;
                in.c.flags = s->flags;
                fuzz_reference(*layer, &in.c, &logs[1]);
                in.c.flags |= FUZZ_OPEN;
                fuzz_reference(*layer, &in.c, &logs[2]);
                check_begins(&logs[0], &logs[2]);
                check_begins(&logs[1], &logs[2]);
            }
        }
    }
}

/* Two pieces that meet anywhere, both there at once or one after the other. */
TEST(halves)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;

    EACH_SAMPLE(s) {
        EACH_LAYER(layer) {
            size_t size;
            load(&in, s);
            say(&in, *layer, "whole", in.c.trace_size, 0);
            fuzz_reference(*layer, &in.c, &fuzz_logs[0]);
            for (size = in.c.trace_size; size-- > 1;) {
                say(&in, *layer, "halves", size, 0);
                in.c.halves = size;
                fuzz_way(*layer, &in.c, &fuzz_logs[0], FUZZ_RUN_PIECES);
                fuzz_way(*layer, &in.c, &fuzz_logs[0], FUZZ_RUN_FEED);
            }
        }
    }
}

/* On any amount of fuel, and by clones of clones, one for each call. */
TEST(fuels)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;

    EACH_SAMPLE(s) {
        load(&in, s);
        EACH_LAYER(layer) {
            unsigned units;
            say(&in, *layer, "whole", in.c.trace_size, 0);
            fuzz_reference(*layer, &in.c, &fuzz_logs[0]);
            for (units = 1; units <= 64; units++) {
                if (units > 1 && !chosen())
                    continue;
                say(&in, *layer, "fuel", units, 0);
                in.c.fuel = (uint8_t) (units - 1);
                fuzz_way(*layer, &in.c, &fuzz_logs[0], FUZZ_RUN_FUEL);
                if (units <= 8)
                    fuzz_way(*layer, &in.c, &fuzz_logs[0], FUZZ_RUN_ALL);
            }
        }
    }
}

/* Trace is lost anywhere. */
TEST(gaps)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;
    unsigned place;

    EACH_SAMPLE(s) {
        load(&in, s);
        EACH_LAYER(layer) {
            for (place = 1; place < 32; place++) {
                in.c.base = (uint8_t) (s->base + 8 * place);
                in.c.cut = (uint8_t) (place % 5);
                in.c.fuel = (uint8_t) (place % 7);
                in.c.clone = (uint8_t) (2 * place);
                say(&in, *layer, "gap", place, 0);
                if (chosen())
                    fuzz_all(*layer, &in.c);
            }
        }
    }
}

/* What lies after the first PSB+, begun from a state that is given. */
TEST(started)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;
    unsigned turn;

    EACH_SAMPLE(s) {
        size_t skip = 1;
        load(&in, s);
        while (skip < in.c.trace_size
               && (in.trace[skip - 1] != 0x02 || in.trace[skip] != 0x23))
            skip++; /* PSBEND */
        if (++skip >= in.c.trace_size)
            continue;
        in.c.trace += skip;
        in.c.trace_size -= skip;
        EACH_LAYER(layer) {
            for (turn = 0; (*layer)->start && turn < 8; turn++) {
                in.c.cut = (uint8_t) turn;
                in.c.wide = (uint8_t) (FUZZ_WIDE_START | turn << 5);
                say(&in, *layer, "started", turn, 0);
                fuzz_all(*layer, &in.c);
            }
        }
    }
}

/* Roots and guests apart, one address space, inferred events. */
TEST(apart)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;
    unsigned flags;

    EACH_SAMPLE(s) {
        load(&in, s);
        EACH_LAYER(layer) {
            for (flags = 1; flags < 16; flags++) {
                in.c.wide = (uint8_t) flags;
                in.c.clone = (uint8_t) (flags % 5);
                say(&in, *layer, "config.flags", flags, 0);
                if (chosen())
                    fuzz_all(*layer, &in.c);
            }
        }
    }
}

/* ---- every byte changed ---- */

/* Decode in the plain way and, in turn, in another. */
static void decode_both(const fuzz_layer *layer, const fuzz_case *c,
                        unsigned turn)
{
    const int way = (int) (turn % FUZZ_RUN_COUNT);

    fuzz_reference(layer, c, &fuzz_logs[0]);
    if (turn % 5 == 0 && fuzz_useful(layer, way))
        fuzz_way(layer, c, &fuzz_logs[0], way);
    if (turn % 3 == 0 && layer == &fuzz_blk) {
        fuzz_reference(&fuzz_insn, c, &fuzz_logs[1]);
        fuzz_gathered(c, &fuzz_logs[1], &fuzz_logs[0]);
    }
}

/* All values of a byte, or some that matter. */
static void change_byte(input *in, uint8_t *byte, size_t at, int all,
                        const char *how)
{
    static const uint8_t some[]
        = {1, 2, 4, 8, 16, 32, 64, 128, 0x02, 0x82, 0x00, 0xff, 0x4d, 0x7d};
    static unsigned turn;
    const uint8_t old = *byte;
    const unsigned n = all ? 255 : sizeof(some);
    unsigned i;

    for (i = 0; i < n; i++) {
        const fuzz_layer *const *layer;
        *byte = (uint8_t) (all     ? old + i + 1
                           : i < 8 ? old ^ some[i]
                                   : some[i]);
        EACH_LAYER(layer) {
            turn++;
            in->c.clone = (uint8_t) (turn % 11);
            in->c.cut = (uint8_t) (turn % 13);
            in->c.fuel = (uint8_t) (turn % 5);
            if (!chosen())
                continue;
            say(in, *layer, how, at, *byte);
            decode_both(*layer, &in->c, turn);
        }
    }
    *byte = old;
}

TEST(trace_bytes)
{
    const sample *s;
    static input in;
    size_t i;

    EACH_SAMPLE(s) {
        load(&in, s);
        for (i = 0; i < in.c.trace_size; i++) /* of a PSB two will do */
            if (i < 2 || i >= 16)
                change_byte(&in, &in.trace[i], i, in.c.trace_size < 40,
                            "trace byte");
    }
}

TEST(code_bytes)
{
    const sample *s;
    static input in;
    size_t i;

    EACH_SAMPLE(s) {
        load(&in, s);
        for (i = 0; i < in.c.code_size && in.c.code_size > 1; i++)
            change_byte(&in, &in.code[i], i, in.c.code_size < 6, "code byte");
    }
}

/* A byte more, a byte less: all after it moves. */
TEST(bytes_moved)
{
    const fuzz_layer *const *layer;
    const sample *s;
    static input in;
    unsigned turn = 0;
    size_t i;

    EACH_SAMPLE(s) {
        load(&in, s);
        for (i = 0; i + 1 < in.c.trace_size; i++) {
            load(&in, s);
            memmove(in.trace + i, in.trace + i + 1, in.c.trace_size - i - 1);
            in.c.trace_size--;
            EACH_LAYER(layer) {
                turn++;
                if (!chosen())
                    continue;
                say(&in, *layer, "without byte", i, 0);
                decode_both(*layer, &in.c, turn);
            }
            load(&in, s);
            memmove(in.trace + i + 1, in.trace + i, SAMPLE_MAX - i - 1);
            in.c.trace_size += in.c.trace_size < SAMPLE_MAX;
            EACH_LAYER(layer) {
                turn++;
                if (!chosen())
                    continue;
                say(&in, *layer, "doubled byte", i, in.trace[i]);
                decode_both(*layer, &in.c, turn);
            }
        }
    }
}

/* ---- callbacks that lie ---- */

TEST(reads)
{
    const sample *s;
    static input in;
    unsigned lie;
    unsigned turn;

    EACH_SAMPLE(s) {
        load(&in, s);
        for (lie = FUZZ_HONEST; lie < FUZZ_READS; lie++) {
            for (turn = 0; turn < 4; turn++) {
                if (!chosen())
                    continue;
                in.c.lie = (uint8_t) lie;
                in.c.clone = (uint8_t) (turn + lie);
                in.c.flags = (uint8_t) (s->flags ^ (turn & 1) * FUZZ_RESYNC
                                        ^ (turn & 2) * (FUZZ_SPACE / 2));
                say(&in, &fuzz_insn, "config.read lies", turn, lie);
                fuzz_all(&fuzz_insn, &in.c);
                fuzz_all(&fuzz_blk, &in.c);
            }
        }
    }
}

TEST(classifiers)
{
    const sample *s;
    static input in;
    unsigned lie;

    EACH_SAMPLE(s) {
        load(&in, s);
        for (lie = FUZZ_C_HONEST; lie < FUZZ_C_COUNT; lie++) {
            in.c.lie = (uint8_t) (lie * 16);
            in.c.cut = (uint8_t) (lie + 1);
            in.c.clone = (uint8_t) (lie % 4);
            in.c.flags = (uint8_t) (s->flags | FUZZ_CLASSIFY | FUZZ_SPACE);
            say(&in, &fuzz_insn, "config.classify lies", 0, lie);
            fuzz_all(&fuzz_insn, &in.c);
            fuzz_all(&fuzz_blk, &in.c);
        }
    }
}

/* config.unknown is asked of every pair of bytes that begins no packet. */
TEST(unknown)
{
    static input in;
    const fuzz_layer *const *layer;
    static const sample s = {"unknown", "90", "psb psbend", 0, 0, 0,
                             FUZZ_UNKNOWN, 0};
    unsigned first;
    unsigned second;

    load(&in, &s);
    for (first = 0; first < 256; first++) {
        for (second = 0; second < 256; second += first == 2 ? 1 : 51) {
            in.trace[18] = (uint8_t) first;
            in.trace[19] = (uint8_t) second;
            in.trace[20] = 0x23;
            memset(in.trace + 21, 0x0e, 20);
            in.c.trace_size = 18 + 2 + (first + second) % 20;
            EACH_LAYER(layer) {
                if (!chosen())
                    continue;
                say(&in, *layer, "config.unknown", first, second);
                if (first == 2)
                    fuzz_all(*layer, &in.c);
                else
                    decode_both(*layer, &in.c, first * 5 + second);
            }
        }
    }
}

/* ---- named cases ---- */

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint8_t *code = (const uint8_t *) context;
    size_t i;

    (void) asid;
    if (ip - 0x400fc0 >= 8 && code[0] != 0xeb)
        return 0;
    for (i = 0; i < size; i++)
        buffer[i] = code[(ip + i) % 8];
    return (int) size;
}

typedef struct setup {
    uint8_t trace[SAMPLE_MAX];
    uint8_t code[8];
    ipt_segment piece;
    ipt_trace all;
    ipt_config config;
    ipt_insn_decoder insn;
    ipt_blk_decoder blk;
} setup;

static void prepare(setup *u, const char *code, const char *trace)
{
    int size;

    memset(u, 0, sizeof(*u));
    memset(u->code, 0x90, sizeof(u->code));
    sample_hex(u->code, code);
    size = sample_trace(u->trace, trace);
    CHECK(size >= 0);
    u->piece.data = u->trace;
    u->piece.size = (size_t) size;
    u->all.seg = &u->piece;
    u->all.count = 1;
    u->config.read = read_code;
    u->config.context = u->code;
    CHECK_EQ(ipt_insn_init(&u->insn, &u->config, &u->all, NULL), IPT_OK);
    CHECK_EQ(ipt_blk_init(&u->blk, &u->config, &u->all, NULL), IPT_OK);
}

/* What synchronising and then decoding to the end gives, and where. */
TEST(ends)
{
    static const struct {
        const char *code, *trace;
        int sync, end;
        unsigned count;
        uint64_t ip;
    } rows[] = {
        {"90", "", IPT_END, IPT_ERR_NOSYNC, 0, 0},
        {"90", "pad:40", IPT_END, IPT_ERR_NOSYNC, 0, 0},
        {"90", "tip:1234 tnt:1", IPT_END, IPT_ERR_NOSYNC, 0, 0},
        {"90", "psb", IPT_OK, IPT_END, 0, 0},
        {"90", "psb psbend", IPT_OK, IPT_END, 0, 0},
        {"90", "psb psbend raw:02", IPT_OK, IPT_ERR_TRUNCATED, 0, 0},
        {"90", "psb psbend raw:05", IPT_OK, IPT_ERR_OPCODE, 0, 0},
        {"90", "psb exec:64 fup:400fc0 psbend", IPT_OK, IPT_END, 0, 0},
        {"9074fd", "psb exec:64 fup:400fc0 psbend tnt:1", IPT_OK, IPT_END, 2,
         0x400fc0},
        {"90ebfd", "psb exec:64 fup:400fc0 psbend tnt:1", IPT_OK, IPT_ERR_LOOP,
         4, 0x400fc0},
        {"90ffe0", "psb exec:64 fup:400fc0 psbend tip:123456 tnt:1", IPT_OK,
         IPT_NEED_PAGE, 2, 0x123456},
        {"90ffe0", "psb exec:64 fup:400fc0 psbend tnt:1", IPT_OK, IPT_END, 1,
         0x400fc1}, /* its TIP may be deferred */
        {"90ffe0", "psb exec:64 fup:400fc0 psbend tnt:1 fup:400fc0", IPT_OK,
         IPT_END, 1, 0x400fc1},
        {"907400", "psb exec:64 fup:400fc0 psbend tip:400fc0", IPT_OK,
         IPT_ERR_MISMATCH, 1, 0x400fc1},
        {"9006", "psb exec:64 fup:400fc0 psbend tnt:1", IPT_OK,
         IPT_ERR_BAD_INSN, 1, 0x400fc1},
        {"90c3", "psb exec:64 fup:400fc0 psbend tnt:1", IPT_OK,
         IPT_ERR_RETURN, 1, 0x400fc1},
        {"90", "psb fup:400fc0 psbend tnt:1", IPT_OK, IPT_ERR_MODE, 0,
         0x400fc0},
    };
    static setup u;
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned count = 0;
        ipt_insn insn;
        int status;
        prepare(&u, rows[i].code, rows[i].trace);
        status = ipt_insn_sync_forward(&u.insn);
        CHECK_EQ(status < 0 ? status : IPT_OK, rows[i].sync);
        do {
            status = ipt_insn_next(&u.insn, &insn);
            count += status >= 0;
        } while (status >= 0 && count < 100);
        if (!CHECK_EQ(status, rows[i].end) || !CHECK_EQ(count, rows[i].count))
            printf("    trace %s\n", rows[i].trace);
        CHECK_EQ(u.insn.at.error, status);
        if (rows[i].ip) {
            CHECK(u.insn.at.valid & IPT_AT_IP);
            CHECK_EQ(u.insn.at.ip, rows[i].ip);
        }
        if (status == IPT_NEED_PAGE)
            CHECK_EQ(u.insn.at.missing, rows[i].ip);
        CHECK_EQ(ipt_insn_next(&u.insn, &insn), rows[i].end);
    }
}

/* Direct jumps through the whole address space: no address repeats. */
TEST(endless_path)
{
    static setup u;
    unsigned count = 0;
    unsigned long insns = 0;
    ipt_insn insn;
    ipt_block block;
    int status;

    prepare(&u, "eb00eb00eb00eb00", "psb exec:64 fup:400fc0 psbend tnt:1");
    CHECK(ipt_insn_sync_forward(&u.insn) >= 0);
    while ((status = ipt_insn_next(&u.insn, &insn)) >= 0 && count < 1u << 21)
        count++;
    CHECK_EQ(status, IPT_ERR_LOOP);
    CHECK(count <= 1u << 20);
    CHECK(ipt_blk_sync_forward(&u.blk) >= 0);
    while ((status = ipt_blk_next(&u.blk, &block)) >= 0 && insns < 1ul << 21)
        insns += block.count;
    CHECK_EQ(status, IPT_ERR_LOOP);
    CHECK_EQ(insns, count);
}

/* Pieces that the decoder released are dropped; then it is sent back. */
TEST(dropped_pieces)
{
    static uint8_t bytes[16 * 64];
    ipt_segment pieces[64];
    ipt_segment left[2];
    ipt_trace trace = {pieces, 64, 1, 0};
    ipt_config config;
    ipt_packet packet;
    ipt_pkt_decoder d;
    unsigned i;

    memset(&config, 0, sizeof(config));
    for (i = 0; i < 64; i++) {
        memset(bytes + 16 * i, 0x59, 16); /* MTC */
        pieces[i].data = bytes + 16 * i;
        pieces[i].size = 16;
    }
    sample_trace(bytes, "psb");
    sample_trace(bytes + 62 * 16 - 4, "psb");
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&d), IPT_OK);
    while (ipt_pkt_next(&d, &packet) >= 0)
        ;
    CHECK_EQ(d.at.error, IPT_MORE);
    left[0] = pieces[62];
    left[1] = pieces[63];
    trace.seg = left;
    trace.count = 2;
    trace.offset = 62 * 16;
    CHECK(trace.offset <= d.at.release);
    CHECK_EQ(ipt_pkt_sync_backward(&d), IPT_ERR_GONE);
    CHECK_EQ(ipt_pkt_sync_set(&d, d.at.sync), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_set(&d, 63 * 16), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&d, &packet), IPT_OK);
    CHECK_EQ(packet.offset, 63 * 16);
    trace.seg = left + 1;
    trace.count = 1;
    trace.offset = 63 * 16;
    CHECK_EQ(ipt_pkt_sync_set(&d, 62 * 16), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_sync_set(&d, 64 * 16), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&d, &packet), IPT_MORE);
    CHECK_EQ(ipt_pkt_sync_backward(&d), IPT_ERR_GONE);
}

/* ---- arguments ---- */

/* For each layer: L, its init arguments after the trace, its sync
 * arguments, its item. */
#define CHECK_CALLS(L, MORE, IP, ITEM)                                        \
    do {                                                                      \
        ipt_##L##_decoder d;                                                  \
        ipt_##L##_decoder copy;                                               \
        memset(&d, 0xa5, sizeof(d));                                          \
        copy = d;                                                             \
        CHECK_EQ(ipt_##L##_init(NULL, &config, &trace MORE), IPT_ERR_ARG);    \
        CHECK_EQ(ipt_##L##_sync_forward(NULL IP), IPT_ERR_ARG);               \
        CHECK_EQ(ipt_##L##_sync_backward(NULL IP), IPT_ERR_ARG);              \
        CHECK_EQ(ipt_##L##_sync_set(NULL, 0 IP), IPT_ERR_ARG);                \
        CHECK_EQ(ipt_##L##_sync_forward(&d IP), IPT_ERR_STATE);               \
        CHECK_EQ(ipt_##L##_sync_backward(&d IP), IPT_ERR_STATE);              \
        CHECK_EQ(ipt_##L##_sync_set(&d, 0 IP), IPT_ERR_STATE);                \
        CHECK(!memcmp(&d, &copy, sizeof(d)));                                 \
        CHECK_EQ(ipt_##L##_init(&d, NULL, &trace MORE), IPT_ERR_ARG);         \
        CHECK_EQ(ipt_##L##_init(&d, &config, NULL MORE), IPT_ERR_ARG);        \
        CHECK_EQ(ipt_##L##_init(&d, &config, &bad MORE), IPT_ERR_ARG);        \
        CHECK_EQ(ipt_##L##_init(&d, &flags, &trace MORE), IPT_ERR_CONFIG);    \
        CHECK_EQ(ipt_##L##_init(&d, &errata, &trace MORE), IPT_ERR_CONFIG);   \
        CHECK_EQ(ipt_##L##_init(&d, &filter, &trace MORE), IPT_ERR_CONFIG);   \
        CHECK_EQ(ipt_##L##_init(&d, &config, &trace MORE), IPT_OK);           \
        CHECK_EQ(ipt_##L##_##ITEM, IPT_ERR_NOSYNC);                           \
        CHECK_EQ(d.at.error, IPT_ERR_NOSYNC);                                 \
        CHECK_EQ(ipt_##L##_sync_forward(&d IP), IPT_END);                     \
        CHECK_EQ(ipt_##L##_sync_backward(&d IP), IPT_END);                    \
        CHECK_EQ(ipt_##L##_sync_set(&d, 1 IP), IPT_ERR_ARG);                  \
        CHECK_EQ(ipt_##L##_sync_set(&d, UINT64_MAX IP), IPT_ERR_ARG);         \
        CHECK_EQ(ipt_##L##_##ITEM, IPT_ERR_NOSYNC);                           \
        d.magic_ ^= 1;                                                        \
        CHECK_EQ(ipt_##L##_##ITEM, IPT_ERR_STATE);                            \
    } while (0)

#define NOTHING
#define CACHE , NULL
#define IP , &ip

TEST(arguments)
{
    static const ipt_config none;
    ipt_config config = none;
    ipt_config flags = none;
    ipt_config errata = none;
    ipt_config filter = none;
    ipt_trace trace = {NULL, 0, 0, 0};
    ipt_trace bad = {NULL, 1, 0, 0};
    uint64_t ip = 7;
    int taken = 7;
    ipt_packet packet;
    ipt_event event;
    ipt_block block;
    ipt_insn insn;

    config.read = flags.read = errata.read = filter.read = read_code;
    flags.flags = ~IPT_CONFIG_FLAGS_;
    errata.errata = ~IPT_ERRATUM_ALL_;
    filter.filter[IPT_FILTERS - 1].kind = IPT_FILTER_STOP + 1;
    memset(&insn, 0xa5, sizeof(insn));
    memset(&event, 0xa5, sizeof(event));
    CHECK_CALLS(pkt, NOTHING, NOTHING, next(&d, &packet));
    CHECK_CALLS(evt, NOTHING, NOTHING, next(&d, &event));
    CHECK_CALLS(qry, NOTHING, IP, cond_branch(&d, &taken));
    CHECK_CALLS(qry, NOTHING, IP, indirect_branch(&d, &ip));
    CHECK_CALLS(qry, NOTHING, IP, event(&d, &event));
    CHECK_CALLS(blk, CACHE, NOTHING, next(&d, &block));
    CHECK_CALLS(blk, CACHE, NOTHING, event(&d, &event));
    CHECK_CALLS(blk, CACHE, NOTHING, resync(&d));
    CHECK_CALLS(insn, CACHE, NOTHING, next(&d, &insn));
    CHECK_CALLS(insn, CACHE, NOTHING, event(&d, &event));
    CHECK_CALLS(insn, CACHE, NOTHING, resync(&d));
    CHECK(fuzz_untouched(&insn, sizeof(insn)));
    CHECK(fuzz_untouched(&event, sizeof(event)));
    CHECK(ip == 7);
    CHECK(taken == 7);
}

/* NULL where the result should go, and for the decoder. */
TEST(null_results)
{
    static setup u;
    ipt_pkt_decoder pkt;
    ipt_evt_decoder evt;
    ipt_qry_decoder qry;
    ipt_packet packet;
    ipt_event event;
    ipt_block block;
    ipt_insn insn;
    uint64_t ip;

    prepare(&u, "9074fd", "psb exec:64 fup:400fc0 psbend tnt:1");
    memset(&pkt, 0, sizeof(pkt));
    CHECK_EQ(ipt_pkt_init(&pkt, &u.config, &u.all), IPT_OK);
    CHECK_EQ(ipt_evt_init(&evt, &u.config, &u.all), IPT_OK);
    CHECK_EQ(ipt_qry_init(&qry, &u.config, &u.all), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&pkt), IPT_OK);
    CHECK_EQ(ipt_evt_sync_forward(&evt), IPT_OK);
    CHECK(ipt_qry_sync_forward(&qry, &ip) >= 0);
    CHECK(ipt_blk_sync_forward(&u.blk) >= 0);
    CHECK(ipt_insn_sync_forward(&u.insn) >= 0);
    CHECK_EQ(ipt_pkt_next(NULL, &packet), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_next(&pkt, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_evt_next(NULL, &event), IPT_ERR_ARG);
    CHECK_EQ(ipt_evt_next(&evt, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_sync_forward(&qry, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_sync_backward(&qry, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_sync_set(&qry, 0, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_cond_branch(&qry, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_indirect_branch(&qry, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_qry_event(&qry, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_blk_next(NULL, &block), IPT_ERR_ARG);
    CHECK_EQ(ipt_blk_next(&u.blk, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_blk_event(&u.blk, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_next(NULL, &insn), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_next(&u.insn, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_insn_event(&u.insn, NULL), IPT_ERR_ARG);
    CHECK(ipt_pkt_next(&pkt, &packet) >= 0); /* nothing of it did harm */
    CHECK(ipt_evt_next(&evt, &event) >= 0);
    CHECK(ipt_qry_event(&qry, &event) >= 0);
    CHECK(ipt_blk_next(&u.blk, &block) >= 0);
    CHECK(ipt_insn_next(&u.insn, &insn) >= 0);
    CHECK_EQ(block.count, 2);
    CHECK_EQ(insn.ip, 0x400fc0);
}

/* The functions that are not decoders. */
TEST(other_calls)
{
    static setup u;
    ipt_cache_line lines[64];
    ipt_cache cache;
    ipt_code code;
    ipt_packet packet;
    ipt_gen_config config;
    ipt_event event;
    ipt_gen gen;
    uint8_t byte = 0x90;
    int mode;

    prepare(&u, "90", "psb");
    memset(&cache, 0, sizeof(cache));
    memset(&config, 0, sizeof(config));
    memset(&packet, 0, sizeof(packet));
    memset(&event, 0, sizeof(event));
    CHECK_EQ(ipt_cache_invalidate(NULL, NULL, 0, 0), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_invalidate(&cache, NULL, 0, 0), IPT_ERR_STATE);
    CHECK_EQ(ipt_insn_init(&u.insn, &u.config, &u.all, &cache),
             IPT_ERR_STATE);
    CHECK_EQ(ipt_blk_init(&u.blk, &u.config, &u.all, &cache), IPT_ERR_STATE);
    CHECK_EQ(ipt_insn_sync_forward(&u.insn), IPT_ERR_STATE);
    CHECK_EQ(ipt_cache_init(NULL, lines, 64), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_init(&cache, NULL, 64), IPT_ERR_ARG);
    CHECK_EQ(ipt_cache_init(&cache, lines, 63), IPT_ERR_ARG);
    u.config.read = NULL;
    CHECK_EQ(ipt_insn_init(&u.insn, &u.config, &u.all, NULL), IPT_ERR_CONFIG);
    CHECK_EQ(ipt_blk_init(&u.blk, &u.config, &u.all, NULL), IPT_ERR_CONFIG);

    CHECK_EQ(ipt_classify(NULL, &byte, 1, IPT_MODE_64, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, NULL, 1, IPT_MODE_64, NULL), IPT_ERR_ARG);
    for (mode = 0; mode < 256; mode++)
        CHECK_EQ(ipt_classify(&code, &byte, 1, (uint8_t) mode, NULL),
                 mode && mode < IPT_MODE_COUNT ? (int) IPT_OK : IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, &byte, 0, IPT_MODE_64, NULL), IPT_MORE);

    CHECK_EQ(ipt_pkt_encode(NULL, 16, &packet), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_encode(u.trace, 16, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_encode(u.trace, 16, &packet), IPT_ERR_PACKET);
    packet.type = 255;
    CHECK_EQ(ipt_pkt_encode(u.trace, 16, &packet), IPT_ERR_PACKET);

    CHECK_EQ(ipt_gen_init(NULL, &config, IPT_MODE_64), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_init(&gen, NULL, IPT_MODE_64), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_COUNT), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_OK);
    CHECK_EQ(ipt_gen_event(NULL, &event), IPT_ERR_ARG);
    CHECK(ipt_gen_event(&gen, NULL) < 0);
    CHECK_EQ(ipt_gen_flush(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_branch(NULL, IPT_INSN_JMP, 0, 1, 0), IPT_ERR_ARG);
    CHECK(ipt_gen_branch(&gen, IPT_INSN_COUNT, 0, 1, 0) < 0);
    CHECK(ipt_gen_branch(&gen, IPT_INSN_JMP, 0, 16, 0) < 0);
}

int main(void)
{
    RUN(whole);
    RUN(prefixes);
    RUN(halves);
    RUN_BOTH(fuels);
    RUN_BOTH(gaps);
    RUN(started);
    RUN_BOTH(apart);
    RUN_BOTH(trace_bytes);
    RUN_BOTH(code_bytes);
    RUN_BOTH(bytes_moved);
    RUN_BOTH(reads);
    RUN(classifiers);
    RUN_BOTH(unknown);
    RUN(ends);
    RUN(endless_path);
    RUN(dropped_pieces);
    RUN(arguments);
    RUN(null_results);
    RUN(other_calls);
    return test_report();
}
