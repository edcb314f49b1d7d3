/* ptdemo DIR: decode what ptrecord recorded, show it, and compare it with the
 * list of instructions that executed.
 *
 * Exit status: 0 decoded is executed, 1 it is not, 2 usage or no recording.
 * DEMO_CORRUPT=1 in the environment flips one branch in the middle of the trace
 * first, to see that the comparison finds it.
 *
 * SPDX-License-Identifier: MIT */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../ipt.h"
#include "common/code/image.h"
#include "common/code/symbols.h"
#include "common/code/options.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#define HAVE_ZYDIS
#include "../../zydis_glue/ipt_zydis.h"
#endif
#endif

#define SHOWN 10     /* instructions shown at either end */
#define FUNCTIONS 15 /* functions shown */

/* ---- files ---- */

static const char *folder;

static const char *file_name(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "ptdemo: %s: %s\n", what, why);
    exit(OPTIONS_NOTHING);
}

static void *more_memory(void *old, size_t count, size_t size)
{
    void *p = realloc(old, count * size);

    if (!p)
        fail(folder, "out of memory");
    return p;
}

/* The bytes of a file, a zero after them. */
static uint8_t *load(const char *name, size_t *size)
{
    FILE *f = fopen(file_name(name), "rb");
    uint8_t *data = NULL;
    size_t room = 0;
    size_t n = 0;

    *size = 0;
    if (!f)
        fail(file_name(name), "cannot be read; ptrecord -o DIR makes it");
    do {
        *size += n;
        if (*size >= room) {
            room = 2 * *size + 65536;
            data = (uint8_t *) more_memory(data, room + 1, 1);
        }
        n = fread(data + *size, 1, room - *size, f);
    } while (n > 0);
    if (ferror(f))
        fail(file_name(name), "cannot be read");
    fclose(f);
    data[*size] = 0;
    return data;
}

static uint64_t executed_at(const uint8_t *ips, uint64_t index)
{
    uint64_t ip = 0;
    int i;

    for (i = 8; i-- > 0;)
        ip = ip << 8 | ips[8 * index + (unsigned) i];
    return ip;
}

/* ---- how often each address was decoded ---- */

typedef struct tally {
    uint64_t ip;
    uint64_t count; /* 0: free */
    int entry;      /* it was called */
} tally;

static tally *tallies; /* hash table, then sorted */
static size_t tally_count;
static size_t tally_slots; /* a power of two */

static tally *tally_find(uint64_t ip)
{
    size_t i = (size_t) (ip * 0x9e3779b97f4a7c15u >> 30) & (tally_slots - 1);

    while (tallies[i].count && tallies[i].ip != ip)
        i = (i + 1) & (tally_slots - 1);
    return &tallies[i];
}

static void tally_grow(void)
{
    tally *old = tallies;
    const size_t slots = tally_slots;
    size_t i;

    tally_slots = slots ? 2 * slots : 1 << 14;
    tallies = (tally *) calloc(tally_slots, sizeof(*tallies));
    if (!tallies)
        fail(folder, "out of memory");
    for (i = 0; i < slots; i++)
        if (old[i].count)
            *tally_find(old[i].ip) = old[i];
    free(old);
}

static void tally_add(uint64_t ip, int entry)
{
    tally *t;

    if (2 * tally_count >= tally_slots)
        tally_grow();
    t = tally_find(ip);
    tally_count += t->count == 0;
    t->ip = ip;
    t->count++;
    t->entry |= entry;
}

static int compare_tallies(const void *a, const void *b)
{
    const tally *x = (const tally *) a;
    const tally *y = (const tally *) b;

    return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* ---- symbols ---- */

/* A line of the file `maps`. */
typedef struct mapping {
    uint64_t base;
    uint64_t size;
    uint64_t offset;
    char *file;
    const files_file *contents; /* NULL: not there */
} mapping;

static mapping *mappings;
static size_t mapping_count;
static files disk;
static symbols names;

static const char *short_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* A file's name without a slash at its beginning is relative to the recording.
 */
static void load_mappings(void)
{
    size_t size;
    char *text = (char *) load("maps", &size);
    char *line;

    files_init(&disk);
    symbols_init(&names);
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        mapping m;
        int name = 0;
        memset(&m, 0, sizeof(m));
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &m.base,
                   &m.size, &m.offset, &name)
                < 3
            || !name)
            fail(file_name("maps"), "not a line of BASE LENGTH OFFSET NAME");
        m.file = strdup(line + name);
        m.contents = files_get(&disk, m.file[0] == '/' ? m.file
                                                       : file_name(m.file));
        mappings = (mapping *) more_memory(mappings, mapping_count + 1,
                                           sizeof(m));
        mappings[mapping_count++] = m;
    }
    free(text);
}

static const mapping *find_mapping(uint64_t ip)
{
    size_t i;

    for (i = 0; i < mapping_count; i++)
        if (ip >= mappings[i].base && ip - mappings[i].base < mappings[i].size)
            return &mappings[i];
    return NULL;
}

static const symbol *find_symbol(const mapping *m, uint64_t ip)
{
    return m->contents
         ? symbols_find(&names, m->contents, ip - m->base + m->offset) : NULL;
}

/* ---- functions that ran most ---- */

typedef struct function {
    char name[256];
    const char *file;
    uint64_t count;
} function;

static int compare_counts(const void *a, const void *b)
{
    const function *x = (const function *) a;
    const function *y = (const function *) b;

    return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* What to call the code at ip: its symbol, or its file and where in it the
 * function begins: at the last address before it that was called. */
static function function_at(uint64_t ip, uint64_t entry)
{
    const mapping *m = find_mapping(ip);
    const symbol *s = m ? find_symbol(m, ip) : NULL;
    function f;

    memset(&f, 0, sizeof(f));
    f.file = m ? short_name(m->file) : "?";
    if (s)
        snprintf(f.name, sizeof(f.name), "%s", s->name);
    else if (m && entry >= m->base)
        snprintf(f.name, sizeof(f.name), "%s+0x%" PRIx64, f.file,
                 entry - m->base + m->offset);
    else
        snprintf(f.name, sizeof(f.name), "0x%" PRIx64, entry);
    return f;
}

static void show_functions(uint64_t total)
{
    function *functions = NULL;
    size_t count = 0;
    uint64_t entry = 0;
    size_t n = 0;
    size_t i;

    for (i = 0; i < tally_slots; i++)
        if (tallies[i].count)
            tallies[n++] = tallies[i];
    qsort(tallies, n, sizeof(*tallies), compare_tallies);
    for (i = 0; i < n; i++) {
        function f;
        if (tallies[i].entry || entry == 0
            || find_mapping(entry) != find_mapping(tallies[i].ip))
            entry = tallies[i].ip;
        f = function_at(tallies[i].ip, entry);
        if (count == 0 || strcmp(functions[count - 1].name, f.name)
            || functions[count - 1].file != f.file) {
            functions = (function *) more_memory(functions, count + 1,
                                                 sizeof(f));
            functions[count++] = f;
        }
        functions[count - 1].count += tallies[i].count;
    }
    if (count)
        qsort(functions, count, sizeof(*functions), compare_counts);
    printf("\n%zu functions ran, these most:\n", count);
    for (i = 0; i < count && i < FUNCTIONS; i++)
        printf("%12" PRIu64 " %5.1f %%  %-32s %s\n", functions[i].count,
               100.0 * (double) functions[i].count / (double) total,
               functions[i].name, functions[i].file);
    free(functions);
}

/* ---- instructions ---- */

static void show(image *code, uint64_t index, const ipt_insn *insn)
{
    const ipt_asid any = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    uint8_t bytes[15];
    char text[128] = "";
    const mapping *m = find_mapping(insn->ip);
    const symbol *s = m ? find_symbol(m, insn->ip) : NULL;
    const int n = image_read(bytes, insn->size, &any, insn->ip, code);

#ifdef HAVE_ZYDIS
    if (n > 0)
        ipt_zydis_format(text, sizeof(text), bytes, (size_t) n, insn->mode,
                         insn->ip, 0);
#else
    int i;
    for (i = 0; i < n; i++)
        sprintf(text + 3 * i, "%02x ", bytes[i]);
#endif
    printf("%10" PRIu64 "  %016" PRIx64 "  %-40s %s%s%s\n", index, insn->ip,
           text, s ? s->name : m ? short_name(m->file) : "",
           insn->flags & IPT_FLOW_ENABLED ? "  [enabled]" : "",
           insn->flags & IPT_FLOW_INTERRUPTED ? "  [interrupted]"
           : insn->flags & IPT_FLOW_DISABLED  ? "  [disabled]"
                                              : "");
}

/* Flip the oldest branch of the TNT packet in the middle of the trace. */
static void corrupt(const ipt_config *config, const ipt_trace *trace,
                    uint8_t *bytes)
{
    uint64_t count = 0;
    int pass;

    for (pass = 0; pass < 2; pass++) {
        const uint64_t middle = count / 2;
        ipt_pkt_decoder decoder;
        ipt_packet packet;
        count = 0;
        if (ipt_pkt_init(&decoder, config, trace) < 0
            || ipt_pkt_sync_forward(&decoder) < 0)
            fail(file_name("trace.pt"), "has no PSB");
        while (ipt_pkt_next(&decoder, &packet) >= 0) {
            if (packet.type != IPT_PKT_TNT_8 && packet.type != IPT_PKT_TNT_64)
                continue;
            if (pass == 0 || count++ != middle) {
                count += pass == 0;
                continue;
            }
            packet.u.tnt.bits ^= (uint64_t) 1 << (packet.u.tnt.count - 1);
            ipt_pkt_encode(bytes + packet.offset, packet.size, &packet);
            printf("DEMO_CORRUPT: flipped a branch of the TNT packet at trace "
                   "offset %" PRIx64 "\n",
                   packet.offset);
            return;
        }
    }
    fail(file_name("trace.pt"), "has no TNT packet to corrupt");
}

static void show_progress(uint64_t decoded, uint64_t of)
{
    static double shown;
    const int screen = isatty(2);
    struct timespec t;
    double now;

    if (decoded % 65536)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    now = (double) t.tv_sec + (double) t.tv_nsec / 1e9;
    if (shown > 0 && now - shown < (screen ? 0.2 : 2.0))
        return;
    shown = now;
    fprintf(stderr, "%sptdemo: decoded %" PRIu64 " of %" PRIu64 "%s",
            screen ? "\r\033[K" : "", decoded, of, screen ? "" : "\n");
}

/* ---- the whole ---- */

typedef struct outcome {
    uint64_t decoded;
    int status; /* that ended it */
    int differ;
    ipt_insn first[SHOWN];
    ipt_insn last[SHOWN]; /* a ring: [index % SHOWN] */
} outcome;

/* Decode until the end, an error, or a difference. */
static void decode(outcome *o, ipt_insn_decoder *decoder, const uint8_t *ips,
                   uint64_t executed)
{
    int called = 1;
    ipt_insn insn;

    o->status = ipt_insn_sync_forward(decoder);
    while (o->status >= 0) {
        show_progress(o->decoded, executed);
        o->status = ipt_insn_next(decoder, &insn);
        if (o->status < 0)
            break;
        if (o->decoded < SHOWN)
            o->first[o->decoded] = insn;
        o->last[o->decoded % SHOWN] = insn;
        tally_add(insn.ip, called);
        called = insn.kind == IPT_INSN_CALL
                 || insn.kind == IPT_INSN_CALL_INDIRECT;
        if (o->decoded >= executed
            || executed_at(ips, o->decoded) != insn.ip) {
            o->differ = 1;
            o->decoded++;
            break;
        }
        o->decoded++;
    }
    if (isatty(2))
        fprintf(stderr, "\r\033[K");
}

static void show_instructions(const outcome *o, image *code)
{
    uint64_t i = o->decoded < SHOWN ? o->decoded : SHOWN;
    uint64_t n;

    printf("\nfirst instructions:\n");
    for (n = 0; n < i; n++)
        show(code, n, &o->first[n]);
    printf("\nlast instructions:\n");
    for (n = o->decoded - i; n < o->decoded; n++)
        show(code, n, &o->last[n % SHOWN]);
}

/* The last lines. Returns the exit status. */
static int verdict(const outcome *o, const ipt_insn_decoder *decoder,
                   const uint8_t *ips, uint64_t executed)
{
    uint64_t at = o->decoded - (o->differ ? 1 : 0);

    printf("\n");
    if (o->status < 0 && o->status != IPT_END)
        printf("%s at trace offset %" PRIx64 ", ip %" PRIx64 ": %s; %s\n",
               ipt_status_name(o->status), decoder->at.offset, decoder->at.ip,
               ipt_status_cause(o->status), ipt_status_remedy(o->status));
    if (!o->differ && o->status == IPT_END && o->decoded == executed) {
        printf("decoded %" PRIu64 " instructions, executed %" PRIu64
               ", first difference: none\n",
               o->decoded, executed);
        return 0;
    }
    printf("decoded %" PRIu64 " instructions, executed %" PRIu64
           ", first difference: at index %" PRIu64 ", decoded ",
           o->decoded, executed, at);
    if (o->differ)
        printf("%" PRIx64, o->last[at % SHOWN].ip);
    else
        printf("nothing");
    if (at < executed)
        printf(", executed %" PRIx64, executed_at(ips, at));
    else
        printf(", executed nothing");
    printf(", trace offset %" PRIx64 "\n",
           o->differ ? o->last[at % SHOWN].offset : decoder->at.offset);
    return 1;
}

static const char help[] =
    "usage: %s [<options>] <folder>\n"
    "\n"
    "Decodes what ptrecord -o <folder> recorded, shows the first and the last\n"
    "instructions, and compares all of them with the list of those that\n"
    "executed. DEMO_CORRUPT=1 in the environment flips one bit of the trace\n"
    "first.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "\n"
    "Example: ptrecord -o ls -- ls -l / && ptdemo ls\n"
    "\n"
    "Exit status: 0 they are the same; 1 they are not; 2 the command is wrong.\n";

/* There is no option of its own. */
static int follow(tool_args *args, const char *option, void *context)
{
    (void) args;
    (void) option;
    (void) context;
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {help, NULL};
    tool_args args = tool_begin(argc, argv, "ptdemo");
    static ipt_cache_line lines[4096];
    static ipt_insn_decoder decoder;
    static outcome result;
    const char *flip = getenv("DEMO_CORRUPT");
    const char *wrong;
    static ipt_cache cache;
    static ipt_config config;
    static ipt_trace trace;
    static ipt_segment piece;
    static image code;
    static uint8_t *bytes;
    static uint8_t *ips;
    static char *meta;
    size_t size;
    uint64_t executed;
    int status;

    status = options_parse(&args, texts, 0, follow, NULL);
    if (status >= 0)
        return status;
    if (!*args.next || args.next[1]) {
        fprintf(stderr, "%s: one folder that ptrecord -o made.  Use --help or "
                        "-h for help.\n", args.program);
        return OPTIONS_WRONG;
    }
    folder = *args.next;
    bytes = load("trace.pt", &piece.size);
    piece.data = bytes;
    trace.seg = &piece;
    trace.count = 1;
    ips = load("ips.u64", &size);
    executed = size / 8;
    meta = (char *) load("meta", &size);
    image_init(&code);
    wrong = image_add_map(&code, NULL, folder);
    if (wrong)
        fail(file_name("image.map"), wrong);
    load_mappings();
    config.read = image_read;
    config.context = &code;
    if (strstr(meta, "\nretcomp=no\n"))
        config.flags = IPT_CONFIG_NO_RETCOMP;
    meta[strcspn(meta, "\n")] = 0;
    printf("%s\n%zu bytes of trace, %" PRIu64 " instructions executed\n",
           meta, piece.size, executed);
    if (flip && !strcmp(flip, "1"))
        corrupt(&config, &trace, bytes);

    status = ipt_cache_init(&cache, lines, sizeof(lines) / sizeof(lines[0]));
    if (status >= 0)
        status = ipt_insn_init(&decoder, &config, &trace, &cache);
    if (status < 0)
        fail("ipt_insn_init", ipt_status_cause(status));
    decode(&result, &decoder, ips, executed);
    show_instructions(&result, &code);
    show_functions(result.decoded ? result.decoded : 1);
    status = verdict(&result, &decoder, ips, executed);
    symbols_free(&names);
    files_free(&disk);
    if (fflush(stdout) || ferror(stdout))
        fail("standard output", "cannot be written");
    return status;
}
