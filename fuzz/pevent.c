/* pevent.c: fuzz the tools' sideband session (common/perf/pevent.h).
 * Run it in the top folder: mappings show files of fuzz/corpus/pevent.
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-pevent fuzz/pevent.c
 *     ./fuzz-pevent corpus fuzz/corpus/pevent fuzz/regress/pevent
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-pevent fuzz/pevent.c
 * Replay: cc -g -I. -o fuzz-pevent fuzz/pevent.c fuzz/standalone.c
 *
 * An input:
 *
 *     0       what is printed: PEVENT_
 *     1       samples of records: tid, time, id, stream, cpu, identifier; 0x40:
 *             those of the identifier 1 are others; 0x80: the second file is
 *             primary, too
 *     2 to 5  time_shift, time_mult, tsc_offset, where the kernel starts / 256
 *     6       the size of the first file / 8
 *     7       where the events' seed begins
 *     8 on    the files
 *
 * Whatever the files hold: what is printed has no control bytes, is the same
 * again, and the same for all records at once and for some at a time; code is
 * the same in one piece and byte by byte. */
#define _POSIX_C_SOURCE 200809L
#include "tests/linked.h"
#include "tests/dice.h"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/image.c"
#include "examples/tools/common/perf/perfdata.c"
#include "examples/tools/common/perf/pevent.c"
#include "examples/tools/common/flow/pids.c"
#include "examples/tools/common/code/tool.c"

#define HEAD 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "pevent: %s\n", what);
    abort();
}

/* ---- a session ---- */

typedef struct run_state {
    pevent session;
    pevent_sample other; /* samples of an identifier */
    image initial;
    char *text; /* what was printed */
    size_t text_size;
} run_state;

static uint64_t mask_of(uint8_t bits)
{
    static const uint32_t masks[] = {
        PERFDATA_SAMPLE_TID, PERFDATA_SAMPLE_TIME, PERFDATA_SAMPLE_ID,
        PERFDATA_SAMPLE_STREAM_ID, PERFDATA_SAMPLE_CPU,
        PERFDATA_SAMPLE_IDENTIFIER
    };
    uint64_t mask = 0;
    for (unsigned i = 0; i < 6; i++) mask |= bits >> i & 1 ? masks[i] : 0;
    return mask;
}

static void add_file(run_state *r, const char *name, const uint8_t *data,
                     size_t size, int primary, const pevent_config *config)
{
    uint8_t *copy = (uint8_t *) malloc(size ? size : 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    require(!pevent_add_bytes(&r->session, name, copy, size, primary, config),
            "no memory");
}

static void start(run_state *r, const uint8_t *data, size_t size)
{
    FILE *out = open_memstream(&r->text, &r->text_size);
    size_t first = 8 * (size_t) data[6];
    pevent_config config;
    if (!out) abort();
    image_init(&r->initial);
    pevent_init(&r->session, out, &r->initial);
    require(!image_add(&r->initial, NULL, "zeros", 0, NULL, 64, 0x1000)
            && !image_add(&r->session.kernel, NULL, "zeros", 0, NULL, 48,
                          0x1020), "no memory");
    r->session.flags = data[0];
    memset(&config, 0, sizeof config);
    config.sample_type = mask_of(data[1]);
    r->other.identifier = 1;
    r->other.sample_type = mask_of((uint8_t) (~data[1] | (data[7] << 5)));
    config.samples = &r->other;
    config.sample_count = data[1] >> 6 & 1;
    config.time_shift = data[2];
    config.time_mult = data[3];
    config.tsc_offset = (int8_t) data[4];
    config.kernel_start = (uint64_t) data[5] << 8;
    config.sysroot = "fuzz/corpus/pevent";
    config.vdso[PEVENT_ABI_X64] = "fuzz/corpus/pevent/switches";
    size -= HEAD;
    if (first > size) first = size;
    add_file(r, "a\tb", data + HEAD, first, 1, &config);
    add_file(r, "second", data + HEAD + first, size - first, data[1] >> 7,
             &config);
    pevent_start(&r->session);
}

/* Ends a session; its text has to be freed. */
static char *finish(run_state *r)
{
    require(r->session.sections <= ALL_SECTIONS + CONTEXT_SECTIONS,
            "too many sections");
    pevent_free(&r->session);
    image_free(&r->initial);
    fclose(r->session.out);
    for (const char *c = r->text; *c; c++)
        require(!iscntrl((unsigned char) *c) || *c == '\n', "control bytes");
    return r->text;
}

/* ---- what is done with it ---- */

static void check_code(run_state *r, uint64_t ip)
{
    static const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    uint8_t all[96];
    uint8_t one;
    int n = pevent_read(all, sizeof all, &asid, ip, &r->session);
    require(n == IPT_NEED_PAGE || (n > 0 && n <= (int) sizeof all),
            "an impossible number of bytes");
    for (int i = 0; i < n; i++)
        require(pevent_read(&one, 1, &asid, ip + (uint64_t) i, &r->session)
                    == 1 && one == all[i], "code differs byte by byte");
    require(n < 0 ? pevent_read(&one, 1, &asid, ip, &r->session) < 0 : 1,
            "code that comes and goes");
}

static char *run_events(const uint8_t *data, size_t size)
{
    static run_state r;
    uint32_t state = data[7];
    uint64_t tsc = 0;
    start(&r, data, size);
    for (unsigned i = 0; i < 24; i++) {
        ipt_event e;
        memset(&e, 0, sizeof e);
        e.type = (uint8_t) (dice_24(&state) % IPT_EVT_COUNT);
        e.flags = (uint8_t) (dice_24(&state) & 7);
        e.ip = dice_24(&state) & 0xffff;
        e.tsc = i < 20 ? tsc : UINT64_MAX;
        if (e.type == IPT_EVT_CFE)
            e.u.cfe.type = (uint8_t) (dice_24(&state) & 15);
        else
            e.u.branch.to = dice_24(&state) & 0xffff;
        tsc = i < 10 ? tsc + dice_24(&state) % 4 : tsc * 5 + 1;
        pevent_event(&r.session, &e);
        if (i % 4 == 3) check_code(&r, 0x1000 + dice_24(&state) % 96);
    }
    require(r.session.due == NULL, "records are left");
    return finish(&r);
}

static char *run_dump(const uint8_t *data, size_t size, uint64_t step)
{
    static run_state r;
    uint64_t tsc = 0;
    start(&r, data, size);
    for (; step && tsc < UINT64_MAX / 8; tsc = tsc * step + step)
        pevent_dump(&r.session, tsc);
    pevent_dump(&r.session, UINT64_MAX);
    require(r.session.due == NULL, "records are left");
    return finish(&r);
}

/* Two texts, freed, are the same. */
static void same(char *a, char *b, const char *what)
{
    require(strcmp(a, b) == 0, what);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) return 0;
    same(run_events(data, size), run_events(data, size), "events differ");
    same(run_dump(data, size, 0), run_dump(data, size, 2),
         "records at once and in steps differ");
    return 0;
}
