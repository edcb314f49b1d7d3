/* hashes.c: what every layer says of a case, as a hash, for hashes.sh:
 *
 *     hashes NAME...
 *
 * A folder is a case with trace.pt and, if flow is to be followed, image.map;
 * a file is an input of fuzz/fuzz.h; seed:N is an execution at random. For each
 * case and layer one line: name,
 * layer, hash of the items (packets, events, blocks, instructions, statuses
 * with their places; edges, bitmap, path hash and verdict for cov), hash of the
 * places (at.offset and at.ip after each step). Each case is decoded plainly,
 * with a cache where flow is followed, and in all ways at once: fed, on little
 * fuel, by clones, with a cache.
 *
 * Exit status: 0, 2 if a case could not be read. A failed check of fuzz.h makes
 * the lines of its case say so. */
#include <stdio.h>

static const char *failed_check_;
static int hash_fail(int line, const char *text);
#define FUZZ_FAIL(line, text) hash_fail(line, text)
#define FUZZ_LOG 65536
#include "names.h"
#include "fuzz/fuzz.h"
#include "tests/oracles.h"
#include "examples/tools/common/code/image.h"

static int hash_fail(int line, const char *text)
{
    (void) line;
    failed_check_ = text;
    return 0;
}

typedef struct hashes {
    uint64_t items;
    uint64_t places;
} hashes;

static void add(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * 0x9e3779b97f4a7c15u;
    *hash ^= *hash >> 29;
}

static void add_places(hashes *h, const ipt_where *at)
{
    add(&h->places, at->offset);
    add(&h->places, at->valid & IPT_AT_IP ? at->ip : 1);
}

static void print(const char *name, const char *layer, const hashes *h)
{
    if (failed_check_)
        printf("%s %s check failed: %s\n", name, layer, failed_check_);
    else
        printf("%s %s %016llx %016llx\n", name, layer,
               (unsigned long long) h->items, (unsigned long long) h->places);
    failed_check_ = NULL;
}

/* ---- layers that give items ---- */

/* Add the items of a log, all but the last `keep`, and drop them. */
static void add_items(hashes *h, fuzz_log *log, size_t keep)
{
    size_t i;

    for (i = 0; i + keep < log->count; i++) {
        const fuzz_item *item = &log->item[i];
        add(&h->items, item->offset);
        add(&h->items, item->ip);
        add(&h->items, item->end);
        add(&h->items, item->hash);
        add(&h->items, (uint32_t) item->status);
        add(&h->items, (uint64_t) item->count << 32 | item->flags);
        add(&h->items, item->what | (uint32_t) item->kind << 8
                           | (uint32_t) item->size << 16
                           | (uint32_t) item->mode << 24);
    }
    memmove(log->item, log->item + i, (log->count - i) * sizeof(log->item[0]));
    log->count -= i;
}

/* The last item stays in the log: a PAD may grow. */
static void add_run(hashes *h, fuzz_run *run, const char *name)
{
    fuzz_log *log = run->log = &fuzz_logs[0];

    fuzz_open(run, name);
    while (fuzz_step(run)) {
        add_places(h, fuzz_at(run));
        if (log->count >= 1024)
            add_items(h, log, 1);
    }
    add_items(h, log, 0);
    fuzz_close(run);
    add(&h->items, log->dropped);
    add(&h->items, log->skipped);
    add(&h->items, (uint64_t) log->overflows << 32 | log->gaps);
    add(&h->items, log->resyncs);
}

static void print_layer(const char *name, const fuzz_layer *layer,
                        const fuzz_case *c)
{
    hashes h = {0, 0};
    fuzz_run run;

    fuzz_plan(&run, layer, c);
    add_run(&h, &run, layer->name);
    fuzz_plan_way(&run, layer, c, FUZZ_RUN_CACHE); /* the fast paths of flow */
    if (run.cached && (layer == &fuzz_blk || layer == &fuzz_insn))
        add_run(&h, &run, "cache");
    fuzz_plan_way(&run, layer, c, FUZZ_RUN_ALL);
    add_run(&h, &run, "all");
    print(name, layer->name, &h);
}

/* ---- coverage ---- */

#define HASHED_LINES 16384

static uint8_t bitmap[65536];
static ipt_cov_line hashed_lines[HASHED_LINES];
static ipt_cov_memo hashed_memo;

static void add_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    hashes *h = (hashes *) context;

    add(&h->items, from);
    add(&h->items, to);
    add(&h->items, kind);
}

/* Run to the end as cov says. `again`: with the memo as it is. */
static void add_cover(hashes *h, fuzz_run *run, const fuzz_case *c, int way,
                      const ipt_cov_config *cov, int again)
{
    ipt_cov_decoder *d = (ipt_cov_decoder *) run->decoder;
    edge_list end = {0};
    int status;

    open_run(run, c, way);
    status = again ? ipt_cov_begin(d, &run->trace)
                   : ipt_cov_init(d, &run->config, cov, &run->trace,
                                  run->cached ? &code_cache : NULL);
    FUZZ_CHECK(run, status == IPT_OK);
    memset(bitmap, 0, sizeof(bitmap));
    cover_run(run, &end);
    add_places(h, fuzz_at(run)); /* of the last clone */
    add(&h->items, (uint32_t) end.status);
    add(&h->items, end.verdict);
    add(&h->items, end.hash);
    add(&h->items, (uint64_t) end.errors);
    add(&h->items, fuzz_hash(bitmap, sizeof(bitmap)));
    close_run(run);
}

static void print_cover(const char *name, const fuzz_case *c)
{
    hashes h = {0, 0};
    ipt_cov_config cov;
    fuzz_run run;

    memset(&run, 0, sizeof(run));
    run.decoder = calloc(1, sizeof(ipt_cov_decoder));
    memset(&cov, 0, sizeof(cov));
    cov.flags = IPT_COV_INDIRECT | IPT_COV_HASH;
    cov.edge = add_edge;
    cov.context = &h;
    ipt_cache_init(&code_cache, code_lines, FUZZ_LINES);
    add_cover(&h, &run, c, FUZZ_RUN_QUIET, &cov, 0);
    memset(&cov, 0, sizeof(cov));
    cov.flags = IPT_COV_HASH;
    cov.bitmap = bitmap;
    cov.bitmap_size = sizeof(bitmap);
    cov.memo = &hashed_memo;
    ipt_cov_memo_init(&hashed_memo, hashed_lines, HASHED_LINES);
    add_cover(&h, &run, c, FUZZ_RUN_CACHE, &cov, 0);
    add_cover(&h, &run, c, FUZZ_RUN_CACHE, &cov, 1);
    add_cover(&h, &run, c, FUZZ_RUN_ALL, &cov, 1);
    print(name, "cov", &h);
    free(run.decoder);
}

/* ---- cases ---- */

static int no_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                   uint64_t ip, void *context)
{
    (void) buffer, (void) size, (void) asid, (void) ip, (void) context;
    return IPT_NEED_PAGE;
}

static void print_case(const char *name, const fuzz_case *c)
{
    static const fuzz_layer *const layers[]
        = {&fuzz_pkt, &fuzz_evt, &fuzz_qry, &fuzz_blk, &fuzz_insn};
    fuzz_case closed = *c;
    unsigned i;

    for (i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        print_layer(name, layers[i], c);
    closed.flags &= (uint8_t) ~FUZZ_OPEN; /* _run comes to an end */
    print_cover(name, &closed);
    fflush(stdout);
}

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static FILE *open_file(const char *folder, const char *file)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return fopen(path, "rb");
}

static int has(const char *folder, const char *file)
{
    FILE *f = open_file(folder, file);

    if (f)
        fclose(f);
    return f != NULL;
}

/* Read all of f and close it. Returns 0 if that cannot be done. */
static int load(FILE *f, bytes *into)
{
    size_t room = 4096;
    size_t count = 1;

    into->data = NULL;
    into->size = 0;
    while (f && count) {
        room *= 2;
        into->data = (uint8_t *) realloc(into->data, room);
        if (!into->data)
            break;
        count = fread(into->data + into->size, 1, room - into->size, f);
        into->size += count;
    }
    if (f)
        fclose(f);
    return f && into->data;
}

/* Does the file that says what is expected say that no RET is compressed? */
static int no_retcomp(const char *folder)
{
    static const char key[] = "\ncompressed_returns=0\n";
    bytes file = {NULL, 0};
    size_t i;
    int found = 0;

    if (load(open_file(folder, "expected"), &file))
        for (i = 0; i + sizeof(key) - 1 <= file.size; i++)
            found |= !memcmp(file.data + i, key, sizeof(key) - 1);
    free(file.data);
    return found;
}

static int do_folder(const char *name)
{
    fuzz_case c;
    bytes trace = {NULL, 0};
    image code;
    const char *why = NULL;

    memset(&c, 0, sizeof(c));
    image_init(&code);
    if (!load(open_file(name, "trace.pt"), &trace))
        return 2;
    c.image = no_code;
    if (has(name, "image.map")) {
        why = image_add_map(&code, NULL, name);
        c.image = image_read;
        c.flags = FUZZ_RESYNC;
    }
    c.context = &code;
    c.trace = trace.data;
    c.trace_size = trace.size;
    c.config = no_retcomp(name) ? IPT_CONFIG_NO_RETCOMP : 0;
    c.more = FUZZ_MORE_TIME;
    c.cut = 3;
    c.fuel = 40;
    c.clone = 100;
    c.piece = 4099;
    if (why)
        fprintf(stderr, "hashes: %s/image.map: %s\n", name, why);
    else
        print_case(name, &c);
    image_free(&code);
    free(trace.data);
    return why ? 2 : 0;
}

static int do_file(const char *name)
{
    fuzz_case c;
    bytes input = {NULL, 0};

    if (!load(fopen(name, "rb"), &input)) {
        perror(name);
        return 2;
    }
    if (fuzz_parse(&c, input.data, input.size))
        print_case(name, &c);
    free(input.data);
    return 0;
}

/* An execution that tests/oracles.h makes of a seed, its trace changed or not. */
static int do_seed(const char *name)
{
    fuzz_case c;

    choice.bytes = NULL;
    choice.left = 0;
    choice.seed = strtoull(name + 5, NULL, 10) * 0x9e3779b97f4a7c15u;
    sim_make(&c);
    sim_flags(&c, random_flags(), cpu.errata);
    c.flags |= FUZZ_RESYNC;
    print_case(name, &c);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;
    int i;

    for (i = 1; i < argc; i++)
        status |= !strncmp(argv[i], "seed:", 5) ? do_seed(argv[i])
                  : has(argv[i], "trace.pt")    ? do_folder(argv[i])
                                                : do_file(argv[i]);
    return status;
}
