/* traces.c: real hardware traces, from a folder that is not part of this
 * project:
 *
 *     make test-traces TRACES=dir          or: build/tests/traces dir
 *
 * Each folder in it is a case: trace.pt, image.map (none: packets and events
 * only), expected, checkpoints.tsv, ips.u64.xz, packets.tsv[.xz]. `expected`
 * was made by independent decoders; see the README there. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep.h"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/image.c"
#include "zydis_glue/ipt_zydis.h"
#include "test.h"
#include "cover.h"
#include "hot.h"
#include "whole.h"
#include <dirent.h>
#include <sys/stat.h>

static unsigned long long ull(uint64_t value)
{
    return value;
}

/* ---- files ---- */

static char root[600];

/* A path below the folder of traces, in static memory. */
static const char *path_of(const char *folder, const char *name)
{
    static char path[900];
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    return path;
}

/* A file that may be there with .xz after its name. */
typedef struct stream {
    FILE *file;
    int piped;
} stream;

static stream open_stream(const char *folder, const char *name)
{
    stream s = {NULL, 0};
    char command[1000];
    char packed[100];
    s.file = fopen(path_of(folder, name), "rb");
    if (s.file) return s;
    snprintf(packed, sizeof packed, "%s.xz", name);
    s.file = fopen(path_of(folder, packed), "rb");
    if (!s.file) return s;
    fclose(s.file);
    s.file = NULL;
    if (system("command -v xz >/dev/null 2>&1") != 0) {
        test_skip("xz is missing (package xz-utils)");
        return s;
    }
    snprintf(command, sizeof command, "xz -dc '%s'", path_of(folder, packed));
    s.file = popen(command, "r");
    s.piped = 1;
    return s;
}

static void close_stream(stream *s)
{
    char rest[4096];
    if (!s->file) return;
    while (fread(rest, 1, sizeof rest, s->file) > 0) { }
    if (s->piped) pclose(s->file);
    else fclose(s->file);
    s->file = NULL;
}

/* ---- cases ---- */

typedef struct checkpoint {
    uint64_t number; /* of instructions up to here */
    uint64_t ip;
    uint64_t hash;
} checkpoint;

typedef struct trace_case {
    const char *name;
    char *expected;
    uint8_t *trace;
    size_t size;
    image code;
    int has_code;
    checkpoint *checkpoints;
    size_t checkpoint_count;
} trace_case;

static trace_case the; /* the one under test */

/* The text after `key=` in `expected`, in static memory; NULL: not there. */
static const char *expected(const char *key)
{
    static char value[400];
    size_t length = strlen(key);
    const char *line = the.expected;
    for (; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            const char *from = line + length + 1;
            snprintf(value, sizeof value, "%.*s", (int) strcspn(from, "\n"),
                     from);
            return value;
        }
    }
    return NULL;
}

static uint64_t expected_number(const char *key, int base)
{
    const char *text = expected(key);
    return text ? strtoull(text, NULL, base) : 0;
}

static int is_authoritative(void)
{
    const char *text = expected("authoritative");
    return text && strcmp(text, "yes") == 0;
}

static void load_checkpoints(void)
{
    size_t size;
    char *text = whole_file(path_of(the.name, "checkpoints.tsv"), &size);
    char *line = text;
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    the.checkpoints = calloc(lines, sizeof *the.checkpoints);
    for (line = text; line && *line; line++) {
        checkpoint *c = &the.checkpoints[the.checkpoint_count];
        unsigned long long n;
        unsigned long long ip;
        unsigned long long hash;
        if (sscanf(line, "%llu %llx %llx", &n, &ip, &hash) == 3) {
            c->number = n;
            c->ip = ip;
            c->hash = hash;
            the.checkpoint_count++;
        }
        line = strchr(line, '\n');
        if (!line) break;
    }
    free(text);
}

static void open_case(const char *name)
{
    size_t size;
    const char *why = NULL;
    FILE *map;
    memset(&the, 0, sizeof the);
    the.name = name;
    the.expected = whole_file(path_of(name, "expected"), &size);
    the.trace = (uint8_t *) whole_file(path_of(name, "trace.pt"), &the.size);
    image_init(&the.code);
    map = fopen(path_of(name, "image.map"), "r");
    if (map) {
        fclose(map);
        the.has_code = 1;
        why = image_add_map(&the.code, NULL, path_of(name, ""));
    }
    if (why) printf("%s/image.map: %s\n", name, why);
    load_checkpoints();
}

static void close_case(void)
{
    free(the.expected);
    free(the.trace);
    free(the.checkpoints);
    image_free(&the.code);
}

/* FNV-1a over the eight bytes of value, low ones first. */
#define FNV_START 0xcbf29ce484222325u

static uint64_t fnv(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (value & 0xff)) * 0x100000001b3u;
        value >>= 8;
    }
    return hash;
}

/* ---- packets ---- */

/* The name that the lists use: tnt.8 for our tnt_8. */
static const char *list_name(const char *prefix, const char *name, char *out)
{
    size_t n = (size_t) sprintf(out, "%s%s", prefix, name);
    for (size_t i = strlen(prefix); i < n; i++)
        if (out[i] == '_') out[i] = '.';
    return out;
}

static void show_tnt(char *out, const ipt_packet *p)
{
    unsigned n = p->u.tnt.count;
    out += sprintf(out, "\t%u\t", n);
    for (unsigned i = n; i-- > 0;) *out++ = p->u.tnt.bits >> i & 1 ? '1' : '0';
    *out = 0;
}

static void show_ip(char *out, const ipt_packet *p)
{
    if (p->u.ip.ipc)
        sprintf(out, "\t%u\t%llx", p->u.ip.ipc, ull(p->u.ip.payload));
    else
        sprintf(out, "\t0\t-");
}

/* The line of packets.tsv that a packet should have. */
static void show_packet(char *line, const ipt_packet *p)
{
    char name[40];
    char *out = line + sprintf(line, "%llx\t%u\t%s", ull(p->offset), p->size,
                               list_name("", ipt_pkt_name(p->type), name));
    switch (p->type) {
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64: show_tnt(out, p); break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP: show_ip(out, p); break;
    case IPT_PKT_PIP:
        sprintf(out, "\tcr3=%llx nr=%u", ull(p->u.pip.cr3), p->u.pip.nr);
        break;
    case IPT_PKT_VMCS: sprintf(out, "\t%llx", ull(p->u.vmcs.base)); break;
    case IPT_PKT_CBR: sprintf(out, "\t%x", p->u.cbr.ratio); break;
    case IPT_PKT_MTC: sprintf(out, "\t%x", p->u.mtc.ctc); break;
    case IPT_PKT_TSC: sprintf(out, "\t%llx", ull(p->u.tsc.value)); break;
    case IPT_PKT_CYC: sprintf(out, "\t%llx", ull(p->u.cyc.value)); break;
    case IPT_PKT_TMA:
        sprintf(out, "\tctc=%x fc=%x", p->u.tma.ctc, p->u.tma.fc);
        break;
    case IPT_PKT_MODE_EXEC:
        sprintf(out, "\tcsl=%u csd=%u if=%u", p->u.exec.csl, p->u.exec.csd,
                p->u.exec.iflag);
        break;
    case IPT_PKT_MODE_TSX:
        sprintf(out, "\tintx=%u abrt=%u", p->u.tsx.intx, p->u.tsx.abrt);
        break;
    default: break;
    }
}

typedef struct packet_sum {
    uint64_t counts[IPT_PKT_COUNT]; /* PADs one by one */
    uint64_t total;
    uint64_t bits;
    uint64_t hash; /* of the offsets of all but PAD */
    FILE *list;    /* NULL: do not compare */
} packet_sum;

/* Compare with the next line of the list; closes it at the first difference. */
static void compare_packet(packet_sum *sum, const ipt_packet *p)
{
    char got[200];
    char want[200];
    show_packet(got, p);
    if (!fgets(want, sizeof want, sum->list)) snprintf(want, 200, "(none)");
    want[strcspn(want, "\n")] = 0;
    if (CHECK(strcmp(got, want) == 0)) return;
    printf("    got  %s\n    want %s\n", got, want);
    sum->list = NULL;
}

static void add_packet(packet_sum *sum, const ipt_packet *p)
{
    uint64_t n = p->type == IPT_PKT_PAD ? p->size : 1;
    sum->counts[p->type] += n;
    sum->total += n;
    if (p->type == IPT_PKT_TNT_8 || p->type == IPT_PKT_TNT_64)
        sum->bits += p->u.tnt.count;
    if (p->type == IPT_PKT_PAD) return;
    sum->hash = fnv(sum->hash, p->offset);
    if (sum->list) compare_packet(sum, p);
}

static void check_packets(const packet_sum *sum)
{
    for (uint8_t type = IPT_PKT_PAD; type < IPT_PKT_COUNT; type++) {
        char key[60];
        list_name("packet_", ipt_pkt_name(type), key);
        key[6] = '_';
        if (!CHECK_EQ(sum->counts[type], expected_number(key, 10)))
            printf("    %s\n", key);
    }
    CHECK_EQ(sum->total, expected_number("packets_total", 10));
    CHECK_EQ(sum->bits, expected_number("tnt_bits", 10));
    CHECK_EQ(sum->hash, expected_number("packet_offsets_fnv1a64", 16));
}

TEST(packets)
{
    ipt_segment piece = {the.trace, the.size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_pkt_decoder decoder;
    stream list = open_stream(the.name, "packets.tsv");
    packet_sum sum = {{0}, 0, 0, FNV_START, list.file};
    ipt_packet p;
    int status;
    CHECK(list.file || test_.skip);
    memset(&decoder, 0, sizeof decoder);
    CHECK_EQ(ipt_pkt_init(&decoder, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_forward(&decoder), IPT_OK);
    CHECK_EQ(decoder.at.offset, expected_number("first_psb", 16));
    while ((status = ipt_pkt_next(&decoder, &p)) >= 0) add_packet(&sum, &p);
    CHECK_EQ(status, IPT_END);
    check_packets(&sum);
    if (sum.list) CHECK(fgetc(sum.list) == EOF); // no more in the list
    close_stream(&list);
}

/* ---- events ---- */

/* Whether a PSB+ found by the decoder itself is all that differs. */
TEST(events)
{
    ipt_segment piece = {the.trace, the.size};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config = {0};
    uint64_t counts[IPT_EVT_COUNT][2] = {{0}};
    ipt_evt_decoder decoder;
    ipt_event e;
    int status;
    memset(&decoder, 0, sizeof decoder);
    CHECK_EQ(ipt_evt_init(&decoder, &config, &trace), IPT_OK);
    status = ipt_evt_sync_forward(&decoder);
    while (status >= 0) {
        while ((status = ipt_evt_next(&decoder, &e)) >= 0)
            if (CHECK(e.type > IPT_EVT_NONE) && CHECK(e.type < IPT_EVT_COUNT))
                counts[e.type][(e.flags & IPT_EVENT_STATUS) != 0]++;
        if (status == IPT_END) break;
        if (expected_number("event_errors", 10) == 0)
            CHECK_EQ(status, IPT_END);
        status = ipt_evt_sync_forward(&decoder);
    }
    CHECK_EQ(status, IPT_END);
    for (uint8_t type = 1; type < IPT_EVT_COUNT; type++) {
        for (int again = 0; again < 2; again++) {
            char key[60];
            sprintf(key, "event_%s%s", ipt_evt_name(type),
                    again ? "_status" : "");
            // libipt says at each PSB+ whether tracing is enabled
            if (again && (type == IPT_EVT_ENABLED || type == IPT_EVT_DISABLED))
                continue;
            if (!CHECK_EQ(counts[type][again], expected_number(key, 10)))
                printf("    %s\n", key);
        }
    }
}

/* ---- instructions ---- */

/* How to decode. */
typedef struct setup {
    int blocks;      /* with [blk] */
    int zydis;       /* with ipt_zydis_classify */
    size_t lines;    /* of the cache, 0: none */
    size_t piece;    /* size of trace segments, 0: one */
    int open;        /* they come one by one */
    int lazy;        /* code pages come when they are asked for */
    uint64_t fuel;   /* units a refill, 0: unbounded */
    size_t cut;      /* bytes of trace, 0: all */
    int events;      /* pull them */
} setup;

static const char *show_setup(const setup *s)
{
    static char text[200];
    snprintf(text, sizeof text, "%s, %s, cache %u%s",
             s->blocks ? "blk" : "insn", s->zydis ? "zydis" : "built-in",
             (unsigned) s->lines,
             s->events ? ", events pulled" : "");
    return text;
}

#define MAX_ERRORS 40

typedef struct run {
    setup how;
    ipt_config config;
    ipt_trace trace;
    ipt_segment *pieces;
    size_t piece_count;
    ipt_cache cache;
    uint64_t fuel;
    uint64_t pages[4096]; /* lazy: those that are there */
    size_t page_count;
    ipt_insn_decoder insn;
    ipt_blk_decoder blk;
    // what came out
    uint64_t count;
    uint64_t hash;
    uint64_t first_ip;
    uint64_t last_ip;
    uint64_t kinds[IPT_INSN_COUNT];
    uint64_t blocks;
    uint64_t wrong_from; /* instructions up to the last good checkpoint */
    size_t checkpoint;   /* the next one */
    int wrong;
    uint64_t *ips; /* all of them, if ip_room */
    size_t ip_room;
    struct {
        int status;
        uint64_t offset;
        uint64_t ip;
        uint64_t before; /* instructions before it */
    } errors[MAX_ERRORS];
    size_t error_count;
    int status; /* that ended it */
} run;

static run the_run;

/* ---- the image, page by page ---- */

static int have_page(const run *r, uint64_t page)
{
    for (size_t i = r->page_count; i-- > 0;)
        if (r->pages[i] == page) return 1;
    return 0;
}

static int read_lazily(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    run *r = context;
    size_t left = 4096 - (size_t) (ip & 4095);
    if (!have_page(r, ip >> 12)) return r->page_count & 1 ? 0 : IPT_NEED_PAGE;
    return image_read(buffer, size < left ? size : left, asid, ip, &the.code);
}

/* Supply the page that is missing; 0 if the image does not have it. */
static int supply(run *r, const ipt_where *at)
{
    uint8_t byte;
    if (!r->how.lazy || have_page(r, at->missing >> 12)) return 0;
    if (image_read(&byte, 1, &at->asid, at->missing, &the.code) < 1) return 0;
    if (!CHECK(r->page_count < 4096)) return 0;
    r->pages[r->page_count++] = at->missing >> 12;
    return 1;
}

/* ---- what comes out ---- */

static void take(run *r, uint64_t ip, uint8_t kind)
{
    r->hash = fnv(r->hash, ip);
    if (r->count == 0) r->first_ip = ip;
    r->last_ip = ip;
    if (r->count < r->ip_room) r->ips[r->count] = ip;
    r->count++;
    r->kinds[kind]++;
    if (r->checkpoint < the.checkpoint_count
        && r->count == the.checkpoints[r->checkpoint].number && !r->wrong) {
        r->wrong = r->hash != the.checkpoints[r->checkpoint].hash;
        if (!r->wrong) r->wrong_from = r->count;
        r->checkpoint++;
    }
}

/* Where flow goes after an instruction inside of a block. */
static uint64_t after(uint64_t ip, const ipt_code *code, uint8_t mode)
{
    ip += code->size;
    if (code->kind == IPT_INSN_JMP || code->kind == IPT_INSN_CALL)
        ip += (uint64_t) code->displacement;
    return mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

/* The instructions of a block, by reading and classifying them again. */
static void take_block(run *r, const ipt_block *block, const ipt_asid *asid)
{
    uint64_t ip = block->ip;
    uint64_t last = ip;
    ipt_code code = {0, 0, 0, 0};
    r->blocks++;
    if (!CHECK(block->count > 0)) return;
    for (unsigned i = 0; i < block->count; i++) {
        uint8_t bytes[15];
        int n = image_read(bytes, 15, asid, ip, &the.code);
        if (!CHECK(n > 0)
            || !CHECK_EQ(ipt_classify(&code, bytes, (size_t) n, block->mode,
                                      NULL), IPT_OK))
            return;
        take(r, ip, code.kind);
        last = ip;
        ip = after(ip, &code, block->mode);
    }
    CHECK_EQ(last, block->end_ip);
    CHECK_EQ(code.kind, block->kind);
    CHECK_EQ(code.size, block->last_size);
}

/* ---- the loop ---- */

static const ipt_where *at(const run *r)
{
    return r->how.blocks ? &r->blk.at : &r->insn.at;
}

static int sync_once(run *r)
{
    return r->how.blocks ? ipt_blk_sync_forward(&r->blk)
                         : ipt_insn_sync_forward(&r->insn);
}

static int next_once(run *r)
{
    ipt_asid asid = at(r)->asid;
    ipt_block block;
    ipt_insn insn;
    int status;
    if (r->how.blocks) {
        status = ipt_blk_next(&r->blk, &block);
        if (status >= 0) take_block(r, &block, &asid);
    } else {
        status = ipt_insn_next(&r->insn, &insn);
        if (status >= 0) take(r, insn.ip, insn.kind);
    }
    return status;
}

static int event_once(run *r)
{
    ipt_event event;
    return r->how.blocks ? ipt_blk_event(&r->blk, &event)
                         : ipt_insn_event(&r->insn, &event);
}

/* What is done about a note: 1, call again; 0, nothing. */
static int answer(run *r, int status)
{
    switch (status) {
    case IPT_MORE:
        CHECK(r->trace.open);
        if (r->trace.count < r->piece_count) r->trace.count++;
        else r->trace.open = 0;
        return 1;
    case IPT_BUDGET:
        CHECK(r->how.fuel);
        CHECK_EQ(r->fuel, 0);
        r->fuel = r->how.fuel;
        return 1;
    case IPT_NEED_PAGE: return supply(r, at(r));
    case IPT_EVENT_FIRST:
        CHECK(r->how.open || r->how.fuel || r->how.lazy || r->error_count);
        return 1;
    default: return 0;
    }
}

/* One call, repeated while notes can be answered. */
static int call(run *r, int (*once)(run *))
{
    int status;
    do {
        status = once(r);
        if (status == IPT_EVENT_FIRST && r->how.events)
            CHECK(event_once(r) >= 0);
    } while (answer(r, status));
    return status;
}

/* The error is located. */
static void check_error(run *r, int status)
{
    const ipt_where *w = at(r);
    CHECK_EQ(w->error, status);
    CHECK(w->offset <= the.size);
    CHECK(w->release <= w->offset);
    CHECK(w->valid & IPT_AT_SYNC);
    CHECK(w->sync <= w->offset);
    CHECK(w->packet_offset <= the.size);
    if (status == IPT_NEED_PAGE) {
        uint8_t byte;
        CHECK(image_read(&byte, 1, &w->asid, w->missing, &the.code) < 0);
        CHECK(w->missing - w->ip < 15);
    }
    if (status == IPT_NEED_PAGE || status == IPT_ERR_MISMATCH
        || status == IPT_ERR_RETURN || status == IPT_ERR_RETURN_LOST
        || status == IPT_ERR_BAD_INSN)
        CHECK(w->valid & IPT_AT_IP);
    if (r->error_count < MAX_ERRORS) {
        r->errors[r->error_count].status = status;
        r->errors[r->error_count].offset = w->offset;
        r->errors[r->error_count].ip = w->ip;
        r->errors[r->error_count].before = r->count;
    }
    r->error_count++;
}

/* Decode the whole trace; after an error go on with the next PSB. */
static void loop(run *r)
{
    int status = call(r, sync_once);
    while (status >= 0) {
        while (status >= 0) {
            if (r->how.events)
                while (status >= 0 && (status & IPT_EVENT_PENDING))
                    status = event_once(r);
            if (status >= 0) status = call(r, next_once);
        }
        if (status == IPT_END || status == IPT_ERR_TRUNCATED) break;
        check_error(r, status);
        status = call(r, sync_once);
    }
    r->status = status;
}

static void cut_trace(run *r, size_t size)
{
    size_t n = r->how.piece ? r->how.piece : size;
    r->pieces = calloc(size / n + 1, sizeof *r->pieces);
    for (size_t from = 0; from < size; from += n) {
        r->pieces[r->piece_count].data = the.trace + from;
        r->pieces[r->piece_count++].size = size - from < n ? size - from : n;
    }
    r->trace.seg = r->pieces;
    r->trace.open = (uint8_t) r->how.open;
    r->trace.count = r->how.open ? 0 : (uint32_t) r->piece_count;
}

static void prepare(run *r)
{
    r->hash = FNV_START;
    r->config.read = r->how.lazy ? read_lazily : image_read;
    r->config.context = r->how.lazy ? (void *) r : (void *) &the.code;
    r->config.classify = r->how.zydis ? ipt_zydis_classify : NULL;
    r->config.fuel = r->how.fuel ? &r->fuel : NULL;
    cut_trace(r, r->how.cut ? r->how.cut : the.size);
}

/* Decode the case; returns the run, in static memory. ip_room: how many
 * addresses to keep. */
static run *decode(const setup *how, size_t ip_room)
{
    run *r = &the_run;
    ipt_cache_line *lines = NULL;
    ipt_cache *cache = NULL;
    free(r->ips);
    memset(r, 0, sizeof *r);
    r->how = *how;
    r->ip_room = ip_room;
    r->ips = calloc(ip_room + 1, sizeof *r->ips);
    prepare(r);
    if (how->lines) {
        lines = malloc(how->lines * sizeof *lines);
        cache = &r->cache;
        CHECK_EQ(ipt_cache_init(cache, lines, how->lines), IPT_OK);
    }
    if (how->blocks)
        CHECK_EQ(ipt_blk_init(&r->blk, &r->config, &r->trace, cache), IPT_OK);
    else
        CHECK_EQ(ipt_insn_init(&r->insn, &r->config, &r->trace, cache), IPT_OK);
    loop(r);
    free(lines);
    free(r->pieces);
    return r;
}

/* ---- what should have come out ---- */

/* libipt's class of an instruction. */
static const char *class_of(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_JCC: return "cond_jump";
    case IPT_INSN_JMP: case IPT_INSN_JMP_INDIRECT: case IPT_INSN_JMPABS:
        return "jump";
    case IPT_INSN_CALL: case IPT_INSN_CALL_INDIRECT: return "call";
    case IPT_INSN_RET: return "return";
    case IPT_INSN_FAR_CALL: case IPT_INSN_INT: case IPT_INSN_INTO:
    case IPT_INSN_SYSCALL: case IPT_INSN_VMCALL:
        return "far_call";
    case IPT_INSN_FAR_JMP: return "far_jump";
    case IPT_INSN_FAR_RET: case IPT_INSN_IRET: case IPT_INSN_UIRET:
    case IPT_INSN_VMENTRY:
        return "far_return";
    case IPT_INSN_PTWRITE: return "ptwrite";
    default: return "other";
    }
}

static void check_classes(const run *r)
{
    static const char *const names[] = {"other", "call", "return", "jump",
        "cond_jump", "far_call", "far_jump", "far_return", "ptwrite"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char key[40];
        uint64_t sum = 0;
        for (uint8_t kind = 0; kind < IPT_INSN_COUNT; kind++)
            if (strcmp(class_of(kind), names[i]) == 0) sum += r->kinds[kind];
        sprintf(key, "class_%s", names[i]);
        if (!CHECK_EQ(sum, expected_number(key, 10))) printf("    %s\n", key);
    }
}

/* The instructions of the case, *count of them; NULL if they are not there. */
static uint64_t *expected_ips(size_t *count)
{
    size_t n = (size_t) expected_number("instructions", 10);
    uint64_t *ips = calloc(n + 1, sizeof *ips);
    stream s = open_stream(the.name, "ips.u64");
    uint8_t bytes[8];
    *count = 0;
    while (s.file && *count < n && fread(bytes, 1, 8, s.file) == 8) {
        for (int i = 7; i >= 0; i--) ips[*count] = ips[*count] << 8 | bytes[i];
        ++*count;
    }
    close_stream(&s);
    return ips;
}

/* The number of leading instructions that are as expected. */
static uint64_t common_prefix(const run *r, const uint64_t *ips, size_t count)
{
    uint64_t n = 0;
    while (n < count && n < r->count && n < r->ip_room && r->ips[n] == ips[n])
        n++;
    return n;
}

/* Decode once more and print the first difference. */
static void explain(const setup *how)
{
    size_t count;
    uint64_t *ips = expected_ips(&count);
    run *r = decode(how, count + 1);
    uint64_t n = common_prefix(r, ips, count);
    printf("    %s: first difference at instruction %llu (from 1):\n"
           "        got %llx, want %llx\n", show_setup(how), ull(n + 1),
           ull(n < r->count ? r->ips[n] : 0), ull(n < count ? ips[n] : 0));
    for (uint64_t i = n > 3 ? n - 3 : 0; i < n; i++)
        printf("        before: %llx\n", ull(ips[i]));
    for (size_t i = 0; i < r->error_count && i < 3; i++)
        printf("        after %llu: %s at offset %llx, ip %llx\n",
               ull(r->errors[i].before), ipt_status_name(r->errors[i].status),
               ull(r->errors[i].offset), ull(r->errors[i].ip));
    free(ips);
}

static int check_stream(const run *r)
{
    return CHECK_EQ(r->status, IPT_END) && CHECK_EQ(r->error_count, 0)
        && CHECK_EQ(r->count, expected_number("instructions", 10))
        && CHECK_EQ(r->hash, expected_number("ip_fnv1a64", 16))
        && CHECK_EQ(r->first_ip, expected_number("first_ip", 16))
        && CHECK_EQ(r->last_ip, expected_number("last_ip", 16))
        && CHECK(!r->wrong);
}

/* Every layer, classifier and cache size gives the expected instructions. */
TEST(instructions)
{
    static const size_t sizes[] = {0, 64, 16384};
    for (int i = 0; i < 12; i++) {
        setup how = {0};
        run *r;
        how.blocks = i % 2;
        how.zydis = i / 2 % 2;
        how.lines = sizes[i / 4];
        how.events = how.zydis != how.blocks;
        r = decode(&how, 0);
        if (!check_stream(r)) {
            printf("    right up to %llu\n", ull(r->wrong_from));
            explain(&how);
            return;
        }
        check_classes(r);
        CHECK(!how.blocks || r->blocks < r->count);
    }
}

/* ---- hot traces ---- */

/* Feed a pair with all blocks of the case; after an error go on. */
static void feed_pair(hot_pair *pair)
{
    static ipt_cache_line lines[4096];
    const setup how = {1, 0, 4096, 0, 0, 0, 0, 0, 0};
    static run r;
    ipt_block block;
    int status;

    memset(&r, 0, sizeof r);
    r.how = how;
    prepare(&r);
    CHECK_EQ(ipt_cache_init(&r.cache, lines, 4096), IPT_OK);
    status = ipt_blk_init(&r.blk, &r.config, &r.trace, &r.cache);
    if (CHECK(status >= 0)) status = ipt_blk_sync_forward(&r.blk);
    while (status >= 0) {
        const ipt_asid asid = r.blk.at.asid;
        status = ipt_blk_next(&r.blk, &block);
        if (status >= 0) {
            pair_feed(pair, &block, &asid);
        } else if (status == IPT_EVENT_FIRST) {
            status = IPT_OK;
        } else if (status != IPT_END) {
            pair_break(pair);
            status = ipt_blk_sync_forward(&r.blk);
        }
    }
    if (pair->wrong[0]) printf("    %s\n", pair->wrong);
    CHECK(!pair->wrong[0]);
    free(r.pieces);
}

TEST(hot)
{
    static const uint32_t thresholds[] = {2, 50, 1000};
    static const uint32_t limits[] = {1, 2, 128, 0};
    static hot_pair pair;
    for (unsigned i = 0; i < 12; i++) {
        CHECK_EQ(pair_begin(&pair, thresholds[i % 3], limits[i / 3],
                            HOT_PLAIN, 1 << 16, 1 << 16, 1 << 20), IPT_OK);
        feed_pair(&pair);
        CHECK_EQ(pair_lost(&pair), 0);
        pair_finish(&pair);
    }
    CHECK_EQ(pair_begin(&pair, 50, 128, HOT_PLAIN, 64, 16, 2048), IPT_OK);
    feed_pair(&pair);
    CHECK(2 * pair.hot.stats.inside >= pair.model.covered);
    pair_finish(&pair);
}

/* ---- small cases: pieces, fuel, pages, cuts ---- */

TEST(interrupted)
{
    static const setup hows[] = {
        {.piece = 1}, {.piece = 7, .blocks = 1},
        {.piece = 16, .open = 1}, {.piece = 1, .open = 1, .blocks = 1},
        {.fuel = 1}, {.fuel = 1, .blocks = 1}, {.fuel = 50, .lines = 64},
        {.fuel = 3, .blocks = 1, .lines = 256},
        {.lazy = 1}, {.lazy = 1, .blocks = 1}, {.lazy = 1, .lines = 1024},
        {.lazy = 1, .fuel = 7, .piece = 5, .open = 1, .lines = 64},
        {.lazy = 1, .fuel = 9, .piece = 3, .open = 1, .blocks = 1,
         .events = 1, .lines = 64},
        {.lazy = 1, .fuel = 2, .piece = 11, .open = 1, .events = 1}
    };
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++) {
        run *r = decode(&hows[i], 0);
        if (check_stream(r)) continue;
        printf("    row %u: %s\n", (unsigned) i, show_setup(&hows[i]));
        explain(&hows[i]);
    }
}

/* A trace that ends anywhere: the instructions are the first ones of the whole,
 * and more trace never gives fewer. */
TEST(cut_anywhere)
{
    size_t count;
    uint64_t *ips = expected_ips(&count);
    uint64_t last = 0;
    size_t step = the.size / 97 + 1;
    CHECK(count > 0 || test_.skip);
    for (size_t cut = 1; count && cut < the.size; cut += step) {
        setup how = {0};
        run *r;
        how.cut = cut;
        how.lines = 4096;
        r = decode(&how, count);
        CHECK(r->status == IPT_END || r->status == IPT_ERR_TRUNCATED);
        CHECK_EQ(r->error_count, 0);
        CHECK_EQ(common_prefix(r, ips, count), r->count);
        if (!CHECK(r->count >= last)) printf("    %u bytes\n", (unsigned) cut);
        last = r->count;
    }
    free(ips);
}

/* ---- everything, in all ways, in lockstep ---- */

static int no_image(uint8_t *buffer, size_t size, const ipt_asid *asid,
                    uint64_t ip, void *context)
{
    (void) buffer, (void) size, (void) asid, (void) ip, (void) context;
    return IPT_NEED_PAGE;
}

/* All that every layer says is the same in pieces, fed, on little fuel, from
 * clones, caches, pages that come late. */
TEST(all_ways)
{
    static fuzz_case c;
    memset(&c, 0, sizeof c);
    c.trace = the.trace;
    c.trace_size = the.size;
    c.image = the.has_code ? image_read : no_image;
    c.context = &the.code;
    c.more = FUZZ_MORE_TIME;
    if (expected("compressed_returns")
        && expected_number("compressed_returns", 10) == 0)
        c.config = IPT_CONFIG_NO_RETCOMP;
    if (the.has_code) c.flags |= FUZZ_RESYNC;
    lockstep_ways(&c, (unsigned) the.size);
    if (the.size < 200000)
        lockstep_cuts(&c, the.size < 1000 ? the.size : 10, 1);
}

/* ---- coverage ---- */

#define MAP_SIZE 65536

static int by_edge(const void *a, const void *b)
{
    const edge *x = a;
    const edge *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* The multiset of conditional edges that libxdc and the agreed instruction
 * stream give. */
static void check_cond_edges(edge_list *l)
{
    stream list = open_stream(the.name, "cond_edges.tsv");
    char line[200];
    size_t i = 0;
    if (!list.file) return;
    edges_of_kind(l, 0);
    qsort(l->edges, l->count, sizeof *l->edges, by_edge);
    while (fgets(line, sizeof line, list.file)) {
        unsigned long long from;
        unsigned long long to;
        unsigned long long n;
        size_t begin = i;
        if (sscanf(line, "%llx %llx %llu", &from, &to, &n) != 3) continue;
        while (i < l->count && l->edges[i].from == from
               && l->edges[i].to == to)
            i++;
        if (!CHECK_EQ(i - begin, n)) break;
    }
    CHECK_EQ(i, l->count);
    CHECK_EQ(l->count, expected_number("edge_conditional_total", 10));
    close_stream(&list);
}

static uint64_t map_hash(const uint8_t *map, size_t size)
{
    uint64_t hash = FNV_START;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ map[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t rotate(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

static uint64_t mixed(uint64_t v)
{
    v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
    v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53u;
    return v ^ v >> 33;
}

/* libxdc's hash of a bitmap: the first half of MurmurHash3's 128 bits for
 * 64-bit machines. */
static uint64_t libxdc_hash(const uint8_t *map, size_t size)
{
    const uint64_t c = 0x87c37b91114253d5u;
    const uint64_t d = 0x4cf5ad432745937fu;
    uint64_t a = 0xaaaaaaaa;
    uint64_t b = a;
    for (size_t i = 0; i < size; i += 16) {
        uint64_t half[2] = {0, 0};
        for (unsigned k = 0; k < 16; k++)
            half[k / 8] |= (uint64_t) map[i + k] << k % 8 * 8;
        a = (rotate(a ^ rotate(half[0] * c, 31) * d, 27) + b) * 5 + 0x52dce729;
        b = (rotate(b ^ rotate(half[1] * d, 33) * c, 31) + a) * 5 + 0x38495ab5;
    }
    a = (a ^ size) + (b ^ size);
    b = mixed(a + (b ^ size));
    return mixed(a) + b;
}

/* Set up to cover the trace in pieces; returns where config and trace are. */
static run *cover_setup(size_t piece)
{
    run *r = &the_run;
    free(r->ips);
    memset(r, 0, sizeof *r);
    r->how.piece = piece;
    cut_trace(r, the.size);
    r->config.read = image_read;
    r->config.context = &the.code;
    if (expected("compressed_returns")
        && expected_number("compressed_returns", 10) == 0)
        r->config.flags = IPT_CONFIG_NO_RETCOMP;
    return r;
}

/* Fuel is up: give some. */
static int refuel(ipt_cov_decoder *d, int status, void *context)
{
    (void) d;
    *(uint64_t *) context = 1000;
    return status == IPT_BUDGET;
}

static void cover_trace(const ipt_cov_config *cov, size_t piece,
                        uint32_t code_lines, edge_list *l)
{
    static ipt_cov_decoder d;
    static ipt_cache_line lines[4096];
    static ipt_cache cache;
    run *r = cover_setup(piece);
    uint64_t fuel = 1000;
    if (piece > 100) r->config.fuel = &fuel;
    CHECK_EQ(ipt_cache_init(&cache, lines, code_lines), IPT_OK);
    CHECK_EQ(ipt_cov_init(&d, &r->config, cov, &r->trace, &cache), IPT_OK);
    cover(l, &d, refuel, &fuel);
    free(r->pieces);
}

/* Edges as [insn] gives them and as the lists have them; bitmaps as they make,
 * by memos of all sizes. */
TEST(coverage)
{
    static const size_t sizes[] = {16384, 4, 256, 2048, 16384};
    static const size_t pieces[] = {0, 0, 4096, 0, 61};
    static const uint32_t codes[] = {4096, 64, 1024, 128, 64};
    static ipt_cov_line lines[16384];
    static uint8_t map[MAP_SIZE];
    static uint8_t want_map[MAP_SIZE];
    ipt_cov_config cov = {0};
    ipt_cov_memo memo;
    edge_list want = {0};
    edge_list got = {0};
    edges_by_insn(&want, &cover_setup(0)->config, &the_run.trace, NULL, NULL);
    free(the_run.pieces);
    for (uint32_t flags = 0; flags < 4; flags++) {
        cov.flags = flags;
        if (flags == 0) {
            cov.flags |= IPT_COV_INDIRECT;
            cov.edge = list_edge;
            cov.context = &got;
            cover_trace(&cov, 0, 4096, &got);
            CHECK(edges_same(&want, &got));
            CHECK_EQ(got.errors, want.errors);
            cov.edge = NULL;
            cov.flags = flags;
        }
        cov.bitmap = map;
        cov.bitmap_size = MAP_SIZE;
        cov.memo = &memo;
        edges_map(&got, cov.flags, want_map, MAP_SIZE);
        if (flags == 0 && expected("bitmap_fnv1a64"))
            CHECK_EQ(map_hash(want_map, MAP_SIZE),
                     expected_number("bitmap_fnv1a64", 16));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            edge_list sum = {0};
            if (i < 4) CHECK_EQ(ipt_cov_memo_init(&memo, lines, sizes[i]), 0);
            memset(map, 0, MAP_SIZE);
            cover_trace(&cov, pieces[i], codes[i], &sum);
            CHECK(memcmp(map, want_map, MAP_SIZE) == 0);
            if (flags == 0 && expected("bitmap_murmur3_hi"))
                CHECK_EQ(libxdc_hash(map, MAP_SIZE),
                         expected_number("bitmap_murmur3_hi", 16));
            CHECK_EQ(sum.errors, want.errors);
        }
    }
    check_cond_edges(&got);
    edge_clear(&want);
    edge_clear(&got);
}

/* ---- times.tsv ---- */

static uint64_t meta_number(const char *text, const char *key)
{
    const char *line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static void set_clock(ipt_config *config)
{
    size_t size;
    char *text = whole_file(path_of(the.name, "meta"), &size);
    if (!CHECK(text != NULL)) return;
    config->mtc_freq = (uint8_t) meta_number(text, "\nmtc_freq=");
    config->nom_freq = (uint8_t) meta_number(text, "\nnom_freq=");
    config->cpuid_15_eax = (uint32_t) meta_number(text, "\ncpuid_15_eax=");
    config->cpuid_15_ebx = (uint32_t) meta_number(text, "\ncpuid_15_ebx=");
    free(text);
}

/* Each line says from which instruction on libipt has another time. It has a
 * TNT's time when the last of its bits is used, we have it with the first: so
 * ours may move a little earlier, but agrees at these instructions. Where it is
 * the time of a PSB+ that libipt has read ahead, before a branch, ours has it
 * from that branch on. libipt drops what each CYC has of a tick, ours keeps it:
 * so ours may be a tick ahead. */
TEST(times)
{
    run *r = &the_run;
    FILE *f = fopen(path_of(the.name, "times.tsv"), "r");
    char line[200];
    int rows = 0;
    int status;
    free(r->ips);
    memset(r, 0, sizeof *r);
    prepare(r);
    set_clock(&r->config);
    CHECK_EQ(ipt_insn_init(&r->insn, &r->config, &r->trace, NULL), IPT_OK);
    status = ipt_insn_sync_forward(&r->insn);
    while (fgets(line, sizeof line, f)) {
        unsigned long long n;
        unsigned long long ip;
        unsigned long long tsc;
        unsigned mtc;
        unsigned cyc;
        if (sscanf(line, "%llu %llx %llx %u %u", &n, &ip, &tsc, &mtc, &cyc)
            != 5)
            continue;
        while (status >= 0 && r->count < n) status = next_once(r);
        rows++;
        CHECK_EQ(r->last_ip, ip);
        if (r->insn.at.tsc < tsc) status = next_once(r);
        if (r->insn.at.tsc != tsc + 1) CHECK_EQ(r->insn.at.tsc, tsc);
        CHECK(r->insn.at.valid & IPT_AT_TSC);
        CHECK_EQ(r->insn.at.lost_mtc, mtc);
        if (!CHECK_EQ(r->insn.at.lost_cyc, cyc)) printf("    %s", line);
    }
    CHECK(rows > 0);
    free(r->pieces);
    fclose(f);
}

/* ---- cases on which decoders differ ---- */

/* The instructions on which independent decoders agree, and no crash. */
TEST(common_prefix)
{
    size_t count;
    uint64_t *ips = expected_ips(&count);
    uint64_t want = expected_number("perf_common_prefix", 10);
    CHECK(count > 0 || test_.skip);
    for (int i = 0; i < 12 && count; i++) {
        setup how = {0};
        uint64_t n;
        run *r;
        how.blocks = i % 2;
        how.zydis = i / 2 % 2;
        how.lines = i / 4 == 0 ? 0 : i / 4 == 1 ? 64 : 4096;
        how.events = i % 3 == 0;
        r = decode(&how, count + 100000);
        n = common_prefix(r, ips, count);
        CHECK_EQ(r->status, IPT_END);
        CHECK(r->error_count > 0);
        if (!CHECK(n >= want)) {
            explain(&how);
            break;
        }
        if (i == 0)
            printf("    %llu instructions, %llu as libipt's %llu; %u errors\n",
                   ull(r->count), ull(n), ull(count),
                   (unsigned) r->error_count);
        if (n < count && i == 0) explain(&how);
    }
    free(ips);
}

/* Without code every instruction is an error, and the end is reached. */
TEST(no_code)
{
    for (int blocks = 0; blocks < 2; blocks++) {
        setup how = {0};
        run *r;
        how.blocks = blocks;
        r = decode(&how, 0);
        CHECK_EQ(r->status, IPT_END);
        CHECK_EQ(r->count, 0);
        for (size_t i = 0; i < r->error_count && i < MAX_ERRORS; i++)
            CHECK_EQ(r->errors[i].status, IPT_NEED_PAGE);
    }
}

/* ---- vectors/packets.tsv: Linux' own tests of its packet decoder ---- */

typedef struct vector {
    uint8_t bytes[16];
    size_t size;
    int block; /* payload bytes of items of the PEBS block it is in; 0: none */
    char type[20];
    unsigned count;
    uint64_t payload;
    size_t length;
    int new_block;
    int unchanged;
} vector;

static int block_size(const char *context)
{
    return strcmp(context, "block4") == 0 ? 4
         : strcmp(context, "block8") == 0 ? 8 : 0;
}

static int parse_vector(const char *line, vector *v)
{
    char hex[40];
    char context[10];
    char after[10];
    unsigned long long payload;
    unsigned length;
    if (line[0] == '#'
        || sscanf(line, "%39s %9s %19s %u %llx %u %9s %d", hex, context,
                  v->type, &v->count, &payload, &length, after,
                  &v->unchanged) != 8)
        return 0;
    for (v->size = 0; hex[2 * v->size]; v->size++) {
        unsigned byte;
        sscanf(hex + 2 * v->size, "%2x", &byte);
        v->bytes[v->size] = (uint8_t) byte;
    }
    v->block = block_size(context);
    v->payload = payload;
    v->length = length;
    v->new_block = block_size(after);
    return 1;
}

/* perf's name, count and payload for one of our packets. */
typedef struct perf_view {
    const char *type;
    uint64_t count;
    uint64_t payload;
} perf_view;

static perf_view view(const char *type, uint64_t count, uint64_t payload)
{
    perf_view v;
    v.type = type;
    v.count = count;
    v.payload = payload;
    return v;
}

static perf_view view_tnt(const ipt_packet *p)
{
    return view("TNT", p->u.tnt.count, p->u.tnt.bits << (64 - p->u.tnt.count));
}

static perf_view view_exec(const ipt_packet *p)
{
    uint64_t raw = (uint64_t) p->u.exec.csl | (uint64_t) p->u.exec.csd << 1
        | (uint64_t) p->u.exec.iflag << 2;
    return view("MODE_EXEC", raw, p->u.exec.csl ? 0x40
                                                : p->u.exec.csd ? 0x20 : 0x10);
}

static perf_view view_power(const ipt_packet *p)
{
    if (p->type == IPT_PKT_PWRE)
        return view("PWRE", 0, (uint64_t) p->u.pwre.hw << 7
                    | (uint64_t) p->u.pwre.sub_state << 8
                    | (uint64_t) p->u.pwre.state << 12);
    return view("PWRX", 0, (uint64_t) p->u.pwrx.deepest
                | (uint64_t) p->u.pwrx.last << 4
                | (uint64_t) p->u.pwrx.interrupt << 8
                | (uint64_t) p->u.pwrx.store << 10
                | (uint64_t) p->u.pwrx.autonomous << 11);
}

static perf_view as_perf(const ipt_packet *p)
{
    switch (p->type) {
    case IPT_PKT_PAD: return view("PAD", 0, 0);
    case IPT_PKT_PSB: return view("PSB", 0, 0);
    case IPT_PKT_PSBEND: return view("PSBEND", 0, 0);
    case IPT_PKT_OVF: return view("OVF", 0, 0);
    case IPT_PKT_STOP: return view("TRACESTOP", 0, 0);
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64: return view_tnt(p);
    case IPT_PKT_TIP: return view("TIP", p->u.ip.ipc, p->u.ip.payload);
    case IPT_PKT_TIP_PGE: return view("TIP_PGE", p->u.ip.ipc, p->u.ip.payload);
    case IPT_PKT_TIP_PGD: return view("TIP_PGD", p->u.ip.ipc, p->u.ip.payload);
    case IPT_PKT_FUP: return view("FUP", p->u.ip.ipc, p->u.ip.payload);
    case IPT_PKT_MODE_EXEC: return view_exec(p);
    case IPT_PKT_MODE_TSX:
        return view("MODE_TSX", 0,
                    p->u.tsx.intx | (uint64_t) p->u.tsx.abrt << 1);
    case IPT_PKT_PIP:
        return view("PIP", 0, p->u.pip.cr3 >> 5 << 1 | p->u.pip.nr);
    case IPT_PKT_VMCS: return view("VMCS", 5, p->u.vmcs.base >> 12);
    case IPT_PKT_TSC: return view("TSC", 0, p->u.tsc.value);
    case IPT_PKT_CBR: return view("CBR", 0, p->u.cbr.ratio);
    case IPT_PKT_TMA: return view("TMA", p->u.tma.fc, p->u.tma.ctc);
    case IPT_PKT_MTC: return view("MTC", 0, p->u.mtc.ctc);
    case IPT_PKT_CYC: return view("CYC", 0, p->u.cyc.value);
    case IPT_PKT_MNT: return view("MNT", 0, p->u.mnt.payload);
    case IPT_PKT_PTW:
        return view(p->u.ptw.has_ip ? "PTWRITE_IP" : "PTWRITE", p->u.ptw.plc,
                    p->u.ptw.payload);
    case IPT_PKT_EXSTOP:
        return view(p->u.exstop.has_ip ? "EXSTOP_IP" : "EXSTOP", 0, 0);
    case IPT_PKT_MWAIT:
        return view("MWAIT", 0, p->u.mwait.hints
                    | (uint64_t) p->u.mwait.ext << 32);
    case IPT_PKT_PWRE:
    case IPT_PKT_PWRX: return view_power(p);
    case IPT_PKT_BBP: return view("BBP", p->u.bbp.sz, p->u.bbp.type);
    case IPT_PKT_BIP: return view("BIP", p->u.bip.id, p->u.bip.payload);
    case IPT_PKT_BEP: return view(p->u.bep.has_ip ? "BEP_IP" : "BEP", 0, 0);
    case IPT_PKT_CFE:
        return view(p->u.cfe.has_ip ? "CFE_IP" : "CFE", p->u.cfe.type,
                    p->u.cfe.vector);
    case IPT_PKT_EVD: return view("EVD", p->u.evd.type, p->u.evd.payload);
    default: return view("?", 0, 0);
    }
}

/* Bits of perf's payload that mean something. */
static uint64_t payload_mask(const vector *v)
{
    if (strcmp(v->type, "TNT") == 0) return ~(UINT64_MAX >> v->count);
    if (strcmp(v->type, "PWRE") == 0) return 0xff80; // the others are reserved
    if (strcmp(v->type, "PWRX") == 0) return 0x0dff;
    return UINT64_MAX;
}

/* Decode v inside a PEBS block with items of that size; check what it is and
 * whether the block is still open after it. */
static void decode_vector(const vector *v, int block, int after, ipt_packet *p)
{
    static const uint8_t item[] = {0x04, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t bytes[64] = {0x02, 0x63, (uint8_t) (block == 4 ? 0x80 : 0)};
    size_t lead = block ? 3 : 0;
    ipt_segment piece = {bytes, lead + v->size + sizeof item};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_pkt_decoder d;
    perf_view got;
    ipt_packet q;
    memset(&d, 0, sizeof d);
    memset(&q, 0, sizeof q);
    memcpy(bytes + lead, v->bytes, v->size);
    memcpy(bytes + lead + v->size, item, sizeof item);
    CHECK_EQ(ipt_pkt_init(&d, &config, &trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&d, 0), IPT_OK);
    if (block) CHECK_EQ(ipt_pkt_next(&d, p), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&d, p), IPT_OK);
    got = as_perf(p);
    CHECK(strcmp(got.type, v->type) == 0);
    CHECK_EQ(p->size, v->length);
    CHECK_EQ(got.count, v->count);
    CHECK_EQ((got.payload ^ v->payload) & payload_mask(v), 0);
    CHECK_EQ(ipt_pkt_next(&d, &q), IPT_OK);
    CHECK_EQ(q.type, after ? IPT_PKT_BIP : IPT_PKT_TNT_8);
    CHECK_EQ(q.size, after ? after + 1 : 1);
}

static void encode_vector(const vector *v, const ipt_packet *p)
{
    uint8_t bytes[16];
    int size = ipt_pkt_encode(bytes, sizeof bytes, p);
    CHECK_EQ(size, v->length);
    if (strcmp(v->type, "PWRE") == 0 || strcmp(v->type, "PWRX") == 0)
        return; // some of the rows have reserved bits set
    if (CHECK(size > 0)) CHECK(memcmp(bytes, v->bytes, (size_t) size) == 0);
}

TEST(vectors)
{
    FILE *f = fopen(path_of("vectors", "packets.tsv"), "r");
    char line[300];
    int rows = 0;
    if (!CHECK(f != NULL)) return;
    while (fgets(line, sizeof line, f)) {
        int bad = test_.bad;
        ipt_packet p;
        vector v;
        if (!parse_vector(line, &v)) continue;
        rows++;
        if (v.unchanged) {
            decode_vector(&v, 4, 4, &p);
            decode_vector(&v, 8, 8, &p);
        }
        decode_vector(&v, v.block, v.new_block, &p);
        encode_vector(&v, &p);
        if (test_.bad != bad) printf("    in row %s", line);
    }
    CHECK_EQ(rows, 120);
    fclose(f);
}

/* ---- all cases ---- */

static void run_one(const char *what, void (*body)(void))
{
    char name[160];
    snprintf(name, sizeof name, "%s %s", the.name, what);
    test_run_(name, body, 1);
}

static int has_file(const char *name)
{
    struct stat st;
    return stat(path_of(the.name, name), &st) == 0;
}

static void run_case(const char *name)
{
    open_case(name);
    if (!the.expected || !the.trace) {
        printf("%s: no `expected` or no trace.pt\n", name);
        close_case();
        return;
    }
    run_one("packets", t_packets);
    run_one("events", t_events);
    if (has_file("times.tsv")) run_one("times", t_times);
    if (!the.has_code) {
        run_one("no code", t_no_code);
    } else if (is_authoritative()) {
        run_one("instructions", t_instructions);
        if (the.size < 8192) {
            run_one("interrupted", t_interrupted);
            run_one("cut anywhere", t_cut_anywhere);
        }
    } else {
        run_one("common prefix", t_common_prefix);
    }
    if (the.has_code) run_one("coverage", t_coverage);
    if (the.has_code) run_one("hot", t_hot);
    run_one("all ways", t_all_ways);
    close_case();
}

#define MAX_CASES 200

static char *names[MAX_CASES];
static size_t name_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The folders that hold a trace.pt, sorted. */
static void find_cases(void)
{
    DIR *dir = opendir(root);
    struct dirent *entry;
    while (dir && name_count < MAX_CASES && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (entry->d_name[0] != '.'
            && stat(path_of(entry->d_name, "trace.pt"), &st) == 0)
            names[name_count++] = strdup(entry->d_name);
    }
    if (dir) closedir(dir);
    qsort(names, name_count, sizeof *names, by_name);
}

TEST(cases_are_there)
{
    CHECK(name_count > 0);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : getenv("TRACES");
    if (!folder) {
        fprintf(stderr, "usage: traces DIR (or TRACES=DIR)\n");
        return 2;
    }
    snprintf(root, sizeof root, "%s", folder);
    find_cases();
    RUN(cases_are_there);
    RUN(vectors);
    for (size_t i = 0; i < name_count; i++) {
        run_case(names[i]);
        free(names[i]);
    }
    free(the_run.ips);
    return test_report();
}
