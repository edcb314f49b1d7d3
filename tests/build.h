/* build.h: traces put together by hand, and the ways to hand them over.
 *
 * A table writes a trace as the packets it consists of, in the macros below.
 * A feed hands it to a decoder in one of many ways, which must not matter. */
#ifndef IPT_BUILD_H
#define IPT_BUILD_H
#include "test.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- packets ---- */

#define PKT(t) {.type = IPT_PKT_##t}
#define IP_(t, c, x) {.type = IPT_PKT_##t, .u.ip = {x, c}}
#define TNT(n, b) {.type = IPT_PKT_TNT_8, .u.tnt = {b, n}}
#define TNT64(n, b) {.type = IPT_PKT_TNT_64, .u.tnt = {b, n}}
#define TIP(x) IP_(TIP, 6, x)
#define TIP0 IP_(TIP, 0, 0)
#define FUP(x) IP_(FUP, 6, x)
#define FUP0 IP_(FUP, 0, 0)
#define PGE(x) IP_(TIP_PGE, 6, x)
#define PGE0 IP_(TIP_PGE, 0, 0)
#define PGD(x) IP_(TIP_PGD, 6, x)
#define PGD0 IP_(TIP_PGD, 0, 0)
#define EXEC(l, d, f) {.type = IPT_PKT_MODE_EXEC, .u.exec = {l, d, f}}
#define EXEC16 EXEC(0, 0, 0)
#define EXEC32 EXEC(0, 1, 0)
#define EXEC64 EXEC(1, 0, 0)
#define TSX(x, a) {.type = IPT_PKT_MODE_TSX, .u.tsx = {x, a}}
#define PIP(cr3, nr) {.type = IPT_PKT_PIP, .u.pip = {cr3, nr}}
#define VMCS(b) {.type = IPT_PKT_VMCS, .u.vmcs = {b}}
#define TSC(v) {.type = IPT_PKT_TSC, .u.tsc = {v}}
#define CBR(r) {.type = IPT_PKT_CBR, .u.cbr = {r}}
#define TMA(c, f) {.type = IPT_PKT_TMA, .u.tma = {c, f}}
#define MTC(c) {.type = IPT_PKT_MTC, .u.mtc = {c}}
#define CYC(v) {.type = IPT_PKT_CYC, .u.cyc = {v}}
#define MNT(p) {.type = IPT_PKT_MNT, .u.mnt = {p}}
#define PTW(c, i, p) {.type = IPT_PKT_PTW, .u.ptw = {p, c, i}}
#define EXSTOP(i) {.type = IPT_PKT_EXSTOP, .u.exstop = {i}}
#define MWAIT(h, e) {.type = IPT_PKT_MWAIT, .u.mwait = {h, e}}
#define PWRE(s, sub, hw) {.type = IPT_PKT_PWRE, .u.pwre = {hw, s, sub}}
#define PWRX(l, d, i, s, a) {.type = IPT_PKT_PWRX, .u.pwrx = {l, d, i, s, a}}
#define BBP(t, s) {.type = IPT_PKT_BBP, .u.bbp = {t, s}}
#define BIP(i, s, p) {.type = IPT_PKT_BIP, .u.bip = {p, i, s}}
#define BEP(i) {.type = IPT_PKT_BEP, .u.bep = {i}}
#define CFE(t, i, v) {.type = IPT_PKT_CFE, .u.cfe = {IPT_CFE_##t, v, i}}
#define CFE_(t, i, v) {.type = IPT_PKT_CFE, .u.cfe = {t, v, i}}
#define EVD(t, p) {.type = IPT_PKT_EVD, .u.evd = {p, t}}
#define TRIG(b, i, v, n, m) \
    {.type = IPT_PKT_TRIG, .u.trig = {n, b, v, m, i}} /* v: icntv, n: icnt */
#define PADS(n) {.type = IPT_PKT_PAD, .size = n}
#define PSB PKT(PSB)
#define PSBEND PKT(PSBEND)
#define ON PSB, EXEC64, FUP(0x1000), PSBEND /* tracing is enabled at 1000 */
#define OVF PKT(OVF)
#define STOP PKT(STOP)
#define GAP(n) {.type = IPT_PKT_GAP, .u.gap = {n}} /* n bytes are lost */

#define TRACE_BYTES 4096
#define GAPS_MAX 4

/* A trace in the making: its bytes, and where each packet begins. */
typedef struct build {
    uint8_t bytes[TRACE_BYTES];
    size_t size;
    size_t offset[TRACE_BYTES / 4];
    unsigned count;
    struct {
        size_t at, size;
    } gaps[GAPS_MAX];
    unsigned gap_count;
} build;

static build *built; /* the last one, whose gaps feed_begin makes */

static inline void build_put(build *b, const ipt_packet *packet)
{
    int n;
    if (packet->type == IPT_PKT_GAP) {
        size_t lost = (size_t) packet->u.gap.lost;
        CHECK(b->gap_count < GAPS_MAX);
        CHECK(b->size + lost <= sizeof b->bytes);
        memset(b->bytes + b->size, 0x82, lost);
        b->gaps[b->gap_count].at = b->size;
        b->gaps[b->gap_count++].size = lost;
        b->offset[b->count++] = b->size;
        b->size += lost;
        return;
    }
    n = ipt_pkt_encode(b->bytes + b->size, sizeof b->bytes - b->size, packet);
    CHECK(n > 0);
    CHECK(b->count < LENGTH(b->offset));
    b->offset[b->count++] = b->size;
    b->size += n > 0 ? (size_t) n : 0;
}

/* Packets up to one of type NONE, at most max of them. */
static inline void build_all(build *b, const ipt_packet *packets, size_t max)
{
    memset(b, 0, sizeof *b);
    built = b;
    for (size_t i = 0; i < max && packets[i].type != IPT_PKT_NONE; i++)
        build_put(b, &packets[i]);
}

/* ---- the ways to hand a trace over ---- */

enum {
    WHOLE,  /* one buffer */
    PIECES, /* pieces of one byte */
    THREES, /* pieces of three bytes, and empty ones between them */
    GROW,   /* open, the last piece grows by a byte at each IPT_MORE */
    APPEND, /* open, a piece of one byte is appended at each */
    DROP,   /* the same, and pieces below at.release are taken away */
    RECUT,  /* open, all is in two other pieces with each byte more */
    FUEL,   /* one unit of fuel, refilled at each IPT_BUDGET */
    PLENTY, /* more fuel than it takes */
    CLONE,  /* the decoder is moved by memcpy before each call */
    WAYS
};

static const char *const way_names[] = {"whole", "pieces", "threes", "grow",
                                        "append", "drop", "recut", "fuel",
                                        "much fuel", "clone"};

typedef struct feed {
    ipt_config config;
    ipt_trace trace;
    ipt_segment pieces[TRACE_BYTES];
    uint8_t *blocks[TRACE_BYTES]; /* each exactly as large as its piece */
    const uint8_t *bytes;  /* of the whole trace */
    size_t count;          /* pieces there will be */
    uint64_t fuel;
    unsigned idle; /* calls that only said that they need more */
    int way;
} feed;

static inline void feed_piece(feed *f, const uint8_t *bytes, size_t size)
{
    uint8_t *block = bytes ? malloc(size + !size) : NULL;
    CHECK(f->count < LENGTH(f->pieces));
    if (block) memcpy(block, bytes, size);
    f->blocks[f->count] = block;
    f->pieces[f->count].data = size ? block : NULL;
    f->pieces[f->count++].size = size;
}

/* Pieces of `step` bytes from `from` up to `to`. */
static inline void feed_pieces(feed *f, const uint8_t *bytes, size_t from,
                               size_t to, size_t step)
{
    for (size_t at = from; at < to; at += step) {
        feed_piece(f, bytes + at, to - at < step ? to - at : step);
        if (f->way == THREES) feed_piece(f, NULL, 0);
    }
}

/* The first `size` bytes in two pieces; those of before are of no use then. */
static inline void feed_cut(feed *f, size_t size)
{
    const size_t cut = size / (1 + size % 3);
    for (size_t i = 0; i < f->count; i++) {
        memset(f->blocks[i], 0xdb, f->pieces[i].size);
        free(f->blocks[i]);
    }
    f->count = 0;
    feed_piece(f, f->bytes, cut);
    feed_piece(f, f->bytes + cut, size - cut);
}

static inline void feed_begin(feed *f, const uint8_t *bytes, size_t size,
                              int way)
{
    const build *b = built && built->bytes == bytes ? built : NULL;
    size_t at = 0;
    if ((way == GROW || way == RECUT) && b && b->gap_count) way = APPEND;
    size_t step = way == PIECES || way == APPEND || way == DROP ? 1
                  : way == THREES                              ? 3
                                                               : size + !size;
    memset(f, 0, sizeof *f);
    f->way = way;
    f->bytes = bytes;
    f->trace.seg = f->pieces;
    for (unsigned i = 0; b && i < b->gap_count; i++) {
        feed_pieces(f, bytes, at, b->gaps[i].at, step);
        feed_piece(f, NULL, b->gaps[i].size);
        at = b->gaps[i].at + b->gaps[i].size;
    }
    feed_pieces(f, bytes, at, size, step);
    if (!size) feed_piece(f, NULL, 0);
    f->trace.count = (uint32_t) f->count;
    f->fuel = way == PLENTY ? 1000000 : 1;
    if (way == FUEL || way == PLENTY) f->config.fuel = &f->fuel;
    if (way == GROW || way == APPEND || way == DROP || way == RECUT) {
        f->trace.open = 1;
        f->trace.count = way == GROW;
        if (way == GROW) f->pieces[0].size = 0;
    }
    if (way == RECUT) {
        feed_cut(f, 0);
        f->trace.count = 2;
    }
}

/* The size that the piece that grows has in the end. */
static inline void feed_more(feed *f, size_t size)
{
    size_t used = (size_t) (f->trace.seg - f->pieces);
    if (f->way == GROW && f->pieces[0].size < size)
        f->pieces[0].size++;
    else if (f->way == RECUT && f->pieces[0].size + f->pieces[1].size < size)
        feed_cut(f, f->pieces[0].size + f->pieces[1].size + 1);
    else if (f->way != GROW && f->way != RECUT && used + f->trace.count < f->count)
        f->trace.count++;
    else
        f->trace.open = 0;
}

/* Is the call to be made again, after what `status` names was supplied? */
static inline int feed_again(feed *f, int status, size_t size)
{
    if (status == IPT_MORE && f->trace.open)
        feed_more(f, size);
    else if (status == IPT_BUDGET && f->fuel == 0)
        f->fuel = 1;
    else {
        f->idle = 0;
        return 0;
    }
    return CHECK(++f->idle < 100000);
}

/* Take away the pieces that the decoder no longer reads. */
static inline void feed_drop(feed *f, const ipt_where *at)
{
    CHECK(at->release <= at->offset);
    if (f->way != DROP) return;
    while (f->trace.count > 0
           && f->trace.offset + f->trace.seg[0].size <= at->release) {
        size_t i = (size_t) (f->trace.seg - f->pieces);
        f->trace.offset += f->trace.seg[0].size;
        if (f->blocks[i]) memset(f->blocks[i], 0xdb, f->trace.seg[0].size);
        f->trace.seg++;
        f->trace.count--;
    }
}

static inline void feed_end(feed *f)
{
    for (size_t i = 0; i < f->count; i++) free(f->blocks[i]);
}

/* Move a decoder: use one of two places after the other, spoil the other. */
static inline void *feed_move(const feed *f, void *from, void *to, size_t size)
{
    if (f->way != CLONE) return from;
    memcpy(to, from, size);
    memset(from, 0xa5, size);
    return to;
}

/* ---- code ---- */

/* A piece of code, somewhere. */
typedef struct chunk {
    uint64_t ip;
    size_t size;
    const char *bytes;
} chunk;

#define CODE(at, text) {at, sizeof(text) - 1, text}

/* ---- saying what failed ---- */

/* A row's name begins with its place, for `failed` to name it. */
#define ROW_TEXT_(line) #line
#define ROW_LINE_(line) ROW_TEXT_(line)
#define ROW __FILE__ ":" ROW_LINE_(__LINE__) ": "

static inline int failed(const char *name, const char *way, const char *what,
                  uint64_t got, uint64_t want)
{
    const char *end = strchr(name, ':');
    char file[100] = "row", text[200];
    const int line = end ? atoi(end + 1) : 0;
    if (line) {
        snprintf(file, sizeof file, "%.*s", (int) (end - name), name);
        name = strchr(end + 1, ':') + 2;
    }
    snprintf(text, sizeof text, "%s (%s): %s: got 0x%llx, want 0x%llx", name,
             way, what, (unsigned long long) got, (unsigned long long) want);
    return test_fail_(file, line, text);
}
#endif /* IPT_BUILD_H */
