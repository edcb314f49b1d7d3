/* ptcov: what code a trace covers.
 *
 *     ptcov [<options>] <ptfile>[:<from>[-<to>]]
 *     ptcov [<options>] [<perf.data>]
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "ipt.h"
#include "common/code/code.h"
#include "common/code/counts.h"
#include "common/code/options.h"
#include "common/flow/cover.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: %s [<options>] <ptfile>[:<from>[-<to>]]\n"
    "       ptcov [<options>] [<perf.data>]\n"
    "\n"
    "Writes what code a trace covers, or the threads of a perf.data: a file, or a\n"
    "folder that has one.\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  --bitmap <file>           write counters, as libxdc has them.\n"
    "  --bitmap-size <n>         that many; default: 65536.\n"
    "  --saturate                they stop at 255; default: they wrap.\n"
    "  --indirect                edges of indirect branches count, too.\n"
    "  --edges <file>            write edges: from, to (hex), how often.\n"
    "  --drcov <file>            write blocks as DynamoRIO's drcov does, for\n"
    "                            Lighthouse and the like.\n"
    "  --filter <first>-<last>   edges of branches there and blocks that begin\n"
    "                            there only; up to four.\n"
    "  --root                    only VMX root operation.\n"
    "  --non-root                only guests.\n"
    "  --strict                  status 1 if anything is lost.\n"
    "\n"
    "of a trace:\n"
    "  --raw <file>[:<from>[-<to>]]:<base>\n"
    "                            code from a flat file.\n"
    "  --elf <file>[:<base>]     code from an ELF file.\n"
    "  --pages <prefix>          code from libxdc's page cache: <prefix>.addr\n"
    "                            and <prefix>.dump. --map has code, too.\n"
    "  --no-retcomp              returns were not compressed.\n"
    "  --cr3 <hex>               only where CR3 is that.\n"
    "  --memo <KiB>              memory for the memo; default: 1024.\n"
    "  --stat                    say what the memo knew, on standard error.\n"
    "                            --edges and --drcov do without it.\n"
    "\n"
    "of a perf.data:\n"
    "  -j <n>                    decode with n processors; default: all, but 8 at\n"
    "                            most.\n";

static const char more_help[] =
    "\n"
    "A <file> may be - for the standard output, a <ptfile> for the standard input.\n"
    "What a file that is written was before is kept as <file>.old. What was\n"
    "decoded, and what is lost, is said on standard error.\n"
    "\n"
    "Example: ptcov --elf program --bitmap - trace.pt >bitmap\n";

/* A file in memory, as readers of drcov have it: from where its first byte is,
 * or would be, to where the last of its pieces ends. */
typedef struct module {
    char *name;
    uint64_t lowest; /* address of a piece of it */
    uint64_t start;  /* blocks count from here, in 32 bits */
    uint64_t end;
} module;

typedef struct modules {
    module *list;
    size_t count;
} modules;

/* An option that adds code. */
typedef struct code_option {
    const char *word;
    const char *text;
} code_option;

typedef struct options {
    cover cover; /* of a perf.data */
    const char *bitmap;
    const char *edges;
    const char *drcov;
    image code;
    code_option codes[64];
    size_t code_count;
    modules files; /* that folders of --map name */
    uint64_t bitmap_size;
    uint64_t memo; /* KiB */
    int stat;
    int strict;
    uint32_t flags; /* IPT_COV_ */
    uint32_t config_flags;
    uint64_t cr3;
    ipt_filter filter[IPT_FILTERS];
    unsigned filters;
} options;

/* ---- a bare trace ---- */

typedef struct coverage {
    counts edges;
    counts blocks;
    const ipt_filter *filter; /* NULL: blocks everywhere count */
} coverage;

static void on_edge(uint64_t from, uint64_t to, uint8_t kind, void *context)
{
    (void) kind;
    counts_add(&((coverage *) context)->edges, from, to, 1);
}

static void on_block(uint64_t ip, uint32_t size, uint8_t mode, void *context)
{
    coverage *const c = (coverage *) context;
    int is_in = !c->filter;
    (void) mode;
    for (unsigned i = 0; c->filter && i < IPT_FILTERS; i++)
        is_in |= c->filter[i].kind && ip >= c->filter[i].first
               && ip <= c->filter[i].last;
    if (is_in) counts_add(&c->blocks, ip, size, 1);
}

/* ---- files to write ---- */

static int cannot_write(const tool_args *args, const char *name)
{
    fprintf(stderr, "%s: cannot write %s: %s.\n", args->program, name,
            strerror(errno));
    return 1;
}

static int no_memory(const tool_args *args)
{
    fprintf(stderr, "%s: not enough memory.\n", args->program);
    return 1;
}

static FILE *create(const tool_args *args, const char *name)
{
    FILE *f = tool_create(name);
    if (!f) cannot_write(args, name);
    return f;
}

static int finish(const tool_args *args, const char *name, FILE *f)
{
    return tool_close(f) ? cannot_write(args, name) : 0;
}

static int write_bitmap(const tool_args *args, const options *opt,
                        const uint8_t *map)
{
    FILE *f = create(args, opt->bitmap);
    if (!f) return 1;
    fwrite(map, 1, (size_t) opt->bitmap_size, f);
    return finish(args, opt->bitmap, f);
}

static int write_edges(const tool_args *args, const options *opt, counts *t)
{
    FILE *f = create(args, opt->edges);
    if (!f) return 1;
    counts_sort(t);
    for (size_t i = 0; i < t->used; i++)
        fprintf(f, "%" PRIx64 "\t%" PRIx64 "\t%" PRIu64 "\n", t->entries[i].a,
                t->entries[i].b, t->entries[i].count);
    return finish(args, opt->edges, f);
}

static void put(FILE *f, uint64_t value, unsigned bytes)
{
    for (; bytes > 0; bytes--, value >>= 8) fputc((int) (value & 0xff), f);
}

/* ---- drcov ---- */

/* A piece of a file is at [base, base + size), offset bytes into it. A piece
 * that others of the name are too far from begins a module of its own. */
static int modules_add(modules *all, const char *name, uint64_t base,
                       uint64_t size, uint64_t offset)
{
    const uint64_t start = offset <= base ? base - offset : base;
    const uint64_t end = base + size < base ? UINT64_MAX : base + size;
    module *m = all->list;
    size_t i = 0;
    for (; i < all->count; i++, m++) {
        const uint64_t from = base < m->lowest ? start : m->start;
        if (strcmp(m->name, name) == 0
            && (end > m->end ? end : m->end) - from <= UINT32_MAX)
            break;
    }
    if (i == all->count) {
        char *copy = tool_copy(name, strlen(name));
        if (!copy || !tool_grow(&all->list, all->count + 1, sizeof(*m))) {
            free(copy);
            return 1;
        }
        m = &all->list[all->count++];
        *m = (module){copy, base, start, end};
    } else if (base < m->lowest) {
        m->lowest = base;
        m->start = start;
    }
    if (end > m->end) m->end = end;
    return 0;
}

/* The module at an address. */
static const module *modules_find(const modules *all, uint64_t ip)
{
    for (size_t i = 0; i < all->count; i++)
        if (ip >= all->list[i].lowest && ip < all->list[i].end)
            return &all->list[i];
    return NULL;
}

static void modules_free(modules *all)
{
    for (size_t i = 0; i < all->count; i++) free(all->list[i].name);
    free(all->list);
}

/* The list of files beside an image.map: BASE LENGTH OFFSET NAME. A folder need
 * not have one. */
static int modules_add_maps(modules *all, const char *folder)
{
    char *name = tool_join(folder, "maps");
    FILE *f = name ? fopen(name, "r") : NULL;
    char line[4400], path[4096];
    uint64_t base, size, offset;
    int failed = !name;
    while (!failed && f && fgets(line, sizeof(line), f))
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %4095[^\n]",
                   &base, &size, &offset, path) == 4)
            failed = modules_add(all, path, base, size, offset);
    if (f) fclose(f);
    free(name);
    return failed;
}

/* Add files that code was given in, where maps names none. */
static int modules_add_image(modules *all, const image *im)
{
    const size_t named = all->count;
    for (uint32_t i = 0; i < im->section_count; i++) {
        const image_section *s = &im->sections[i];
        const modules from_maps = {all->list, named};
        if (!modules_find(&from_maps, s->base)
            && modules_add(all, s->name ? s->name : "-", s->base, s->size,
                           s->data || s->file ? s->from : 0))
            return 1;
    }
    return 0;
}

/* The blocks are sorted; those of module UINT32_MAX are left out. */
static int write_drcov(const tool_args *args, const options *opt,
                       const cover_module *list, size_t count,
                       const counts *blocks)
{
    size_t known = 0;
    FILE *f;
    if (count > 0xffff) {
        fprintf(stderr, "%s: too many modules for drcov.\n", args->program);
        return 1;
    }
    f = create(args, opt->drcov);
    if (!f) return 1;
    fprintf(f, "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\n"
               "Module Table: version 2, count %zu\n"
               "Columns: id, base, end, entry, checksum, timestamp, path\n",
            count);
    for (size_t i = 0; i < count; i++) {
        fprintf(f, "%zu, 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x0, 0x0, 0x0, ",
                i, list[i].base, list[i].end);
        tool_print(f, list[i].name);
        fputc('\n', f);
    }
    for (size_t i = 0; i < blocks->used; i++)
        known += COVER_MODULE(blocks->entries[i].b) != UINT32_MAX;
    fprintf(f, "BB Table: %zu bbs\n", known);
    for (size_t i = 0; i < blocks->used; i++) {
        const counts_entry *const e = &blocks->entries[i];
        const uint32_t n = COVER_MODULE(e->b);
        const uint32_t size = COVER_SIZE(e->b);
        if (n == UINT32_MAX) continue;
        put(f, e->a - list[n].base, 4);
        put(f, size < 0xffff ? size : 0xffff, 2);
        put(f, n, 2);
    }
    return finish(args, opt->drcov, f);
}

/* Of a bare trace: which module each block is in. */
static int write_bare_drcov(const tool_args *args, options *opt, image *im,
                            counts *blocks)
{
    const ipt_asid any = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    modules *const all = &opt->files;
    cover_module *list;
    int status;
    counts_sort(blocks);
    list = modules_add_image(all, im) ? NULL
         : (cover_module *) calloc(all->count + 1, sizeof *list);
    if (!list) return no_memory(args);
    for (size_t i = 0; i < all->count; i++) {
        list[i].name = all->list[i].name;
        list[i].base = all->list[i].start;
        list[i].end = all->list[i].end;
    }
    for (size_t i = 0; i < blocks->used; i++) {
        counts_entry *const e = &blocks->entries[i];
        const module *const m = image_section_at(im, &any, e->a)
                                  ? modules_find(all, e->a) : NULL;
        e->b = COVER_BLOCK(m ? (uint32_t) (m - all->list) : UINT32_MAX, e->b);
    }
    status = write_drcov(args, opt, list, all->count, blocks);
    free(list);
    return status;
}

/* ---- decoding ---- */

static void print_verdict(const tool_args *args, const ipt_cov_decoder *d,
                          size_t size, unsigned errors)
{
    static const char *const names[]
        = {"unfinished", "bytes before the first PSB skipped", "overflow",
           "gap", "code missing", "errors", "truncated"};
    const char *comma = ": ";
    if (!(d->at.valid & IPT_AT_SYNC)) {
        fprintf(stderr, "%s: no PSB in the trace.\n", args->program);
        return;
    }
    fprintf(stderr, "%s: %" PRIu64 " of %zu bytes decoded, %u error%s",
            args->program, d->at.offset, size, errors, TOOL_S(errors));
    for (unsigned i = 0; i < 7; i++) {
        if (!(d->verdict >> i & 1)) continue;
        fprintf(stderr, "%s%s", comma, names[i]);
        comma = ", ";
    }
    fprintf(stderr, ".\n");
}

/* Is there an edge? That none was asked for has to be said. */
static int covers(const tool_args *args, const options *opt,
                  const uint8_t *map, size_t found)
{
    if (found) return 1;
    for (uint64_t i = 0; i < opt->bitmap_size; i++)
        if (map[i]) return 1;
    fprintf(stderr, "%s: no edge%s.\n", args->program,
            opt->filters || opt->config_flags & ~IPT_CONFIG_NO_RETCOMP
                ? " of what --filter, --cr3, --root or --non-root chose" : "");
    return 0;
}

#define LINES_PER_KIB (1024 / sizeof(ipt_cov_line))
#define MEMO_MAX ((uint64_t) 1 << 20) /* KiB: no memo uses more */

static void print_stat(const tool_args *args, const ipt_cov_decoder *d,
                       const ipt_cov_memo *memo, uint64_t kib)
{
    fprintf(stderr, "%s: memo of %" PRIu64 " KiB: %" PRIu64 " hits, %" PRIu64
            " misses, %" PRIu64 " lines lost.\n", args->program, kib, d->hits,
            d->misses, memo->lost);
}

static int cover_bare(const tool_args *args, options *opt, const tool_file *file)
{
    static ipt_cache_line code_lines[16384];
    static ipt_cov_decoder d;
    static ipt_cache cache;
    static ipt_cov_memo memo;
    static coverage c;
    const ipt_segment piece = {file->data, file->size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    ipt_cov_config cov;
    unsigned errors = 0;
    int status;
    const size_t memo_count = opt->memo < MEMO_MAX
                             ? (size_t) opt->memo * LINES_PER_KIB
                             : (size_t) MEMO_MAX * LINES_PER_KIB;
    uint8_t *map = (uint8_t *) calloc((size_t) opt->bitmap_size, 1);
    ipt_cov_line *memo_lines
        = (ipt_cov_line *) calloc(memo_count, sizeof(*memo_lines));

    if (!map || !memo_lines) {
        free(map);
        free(memo_lines);
        return no_memory(args);
    }
    memset(&config, 0, sizeof config);
    memset(&cov, 0, sizeof cov);
    config.read = image_read;
    config.context = &opt->code;
    config.flags = opt->config_flags;
    config.cr3 = opt->cr3;
    cov.flags = opt->flags;
    cov.bitmap = map;
    cov.bitmap_size = (uint32_t) opt->bitmap_size;
    cov.edge = opt->edges ? on_edge : NULL;
    cov.block = opt->drcov ? on_block : NULL;
    cov.context = &c;
    cov.filter = c.filter = opt->filters ? opt->filter : NULL;
    cov.memo = &memo;
    (void) ipt_cache_init(&cache, code_lines, 16384);
    (void) ipt_cov_memo_init(&memo, memo_lines, memo_count);
    status = ipt_cov_init(&d, &config, &cov, &trace, &cache);
    while (status >= 0 && (status = ipt_cov_run(&d)) != IPT_END) {
        if (errors++ < 10)
            fprintf(stderr, "%s: [%" PRIx64 ", %" PRIx64 "] %s.\n",
                    args->program, d.at.offset, d.at.ip,
                    tool_error_text(status));
        status = ipt_cov_resync(&d);
    }
    print_verdict(args, &d, file->size, errors);
    if (opt->stat) print_stat(args, &d, &memo, opt->memo);
    status = (d.verdict && opt->strict) || !covers(args, opt, map, c.edges.used + c.blocks.used)
          || c.edges.failed || c.blocks.failed;
    if (opt->bitmap) status |= write_bitmap(args, opt, map);
    if (opt->edges) status |= write_edges(args, opt, &c.edges);
    if (opt->drcov)
        status |= write_bare_drcov(args, opt, &opt->code, &c.blocks);
    free(map);
    free(memo_lines);
    counts_free(&c.edges);
    counts_free(&c.blocks);
    return status;
}

/* ---- a perf.data ---- */

/* What is the matter with these options; NULL: nothing. */
static const char *bare_only(const options *opt)
{
    for (size_t i = 0; i < opt->code_count; i++)
        if (strcmp(opt->codes[i].word, "--map") != 0) return opt->codes[i].word;
    if (opt->config_flags & IPT_CONFIG_CR3_ONLY) return "--cr3";
    if (opt->config_flags & IPT_CONFIG_NO_RETCOMP) return "--no-retcomp";
    return opt->stat ? "--stat" : NULL;
}

/* The counter of an edge: see ipt_cov_config.bitmap. */
static uint64_t mix(uint64_t v)
{
    return (v ^ v >> 31) * 0x7fb5d329728ea185u;
}

static uint32_t slot_of(const options *opt, uint64_t from, uint64_t to)
{
    return (uint32_t) (mix(to) ^ mix(from) >> 1) % (uint32_t) opt->bitmap_size;
}

static void count_edges(const options *opt, uint8_t *map, const counts *edges)
{
    const int saturates = (opt->flags & IPT_COV_SATURATE) != 0;
    for (size_t i = 0; i < edges->slots; i++) {
        const counts_entry *const e = &edges->entries[i];
        uint8_t *const counter = &map[slot_of(opt, e->a, e->b)];
        const uint64_t sum = *counter + e->count;
        if (e->count) *counter = (uint8_t) (saturates && sum > 255 ? 255 : sum);
    }
}

/* The threads of a perf.data: its exit status. */
static int cover_perf(tool_args *args, options *opt, const char *name)
{
    cover *const c = &opt->cover;
    uint8_t *map;
    int status;
    for (size_t i = 0; i < opt->code_count; i++) {
        args->value = opt->codes[i].text;
        status = session_follow(args, &c->session, opt->codes[i].word);
        args->value = NULL;
        if (status >= 0) return status;
    }
    c->filter = opt->filters ? opt->filter : NULL;
    c->has_blocks = opt->drcov != NULL;
    c->indirect = (opt->flags & IPT_COV_INDIRECT) != 0;
    c->no_guests = (opt->config_flags & IPT_CONFIG_ROOT_ONLY) != 0;
    c->only_guests = (opt->config_flags & IPT_CONFIG_NON_ROOT_ONLY) != 0;
    status = cover_run(c, name);
    if (c->failed || c->edges.failed || c->blocks.failed) return no_memory(args);
    status = session_end(&c->session, status);
    if (status) return status;
    map = (uint8_t *) calloc((size_t) opt->bitmap_size, 1);
    if (!map) return no_memory(args);
    count_edges(opt, map, &c->edges);
    status = !covers(args, opt, map, c->edges.used + c->blocks.used);
    if (opt->bitmap) status |= write_bitmap(args, opt, map);
    if (opt->edges) status |= write_edges(args, opt, &c->edges);
    counts_sort(&c->blocks);
    if (opt->drcov)
        status |= write_drcov(args, opt, c->modules, c->module_count,
                              &c->blocks);
    free(map);
    return status;
}

/* ---- the command line ---- */

static int add_filter(tool_args *args, options *opt)
{
    const char *const word = tool_argument(args, "--filter");
    const char *text = word;
    uint64_t first;
    uint64_t last;
    if (!text) return args->wrong;
    if (opt->filters == IPT_FILTERS || !tool_address(args, &text, &first)
        || *text++ != '-' || !tool_address(args, &text, &last) || *text
        || first > last)
        return tool_bad_argument(args, "--filter", word);
    opt->filter[opt->filters].kind = IPT_FILTER_TRACE;
    opt->filter[opt->filters].first = first;
    opt->filter[opt->filters++].last = last;
    return -1;
}

/* The options that add code; NULL: it is none. */
static const char *code_word(const char *word)
{
    static const char *const words[] = {"--raw", "--elf", "--map", "--pages"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0) return words[i];
    return NULL;
}

/* What adds code to a bare trace is followed when it is known that this is one. */
static int keep_code(tool_args *args, options *opt, const char *word)
{
    const size_t most = sizeof opt->codes / sizeof opt->codes[0];
    const char *const text = tool_argument(args, word);
    if (!text) return args->wrong;
    if (opt->code_count == most) {
        fprintf(stderr, "%s: %s: more than %zu of them.\n", args->program, word,
                most);
        return args->wrong;
    }
    opt->codes[opt->code_count].word = word;
    opt->codes[opt->code_count++].text = text;
    return -1;
}

static int add_code(const tool_args *args, options *opt, const char *word,
                    const char *text)
{
    image *const im = &opt->code;
    const char *why;
    if (strcmp(word, "--raw") == 0) return code_add_raw(args, im, text);
    if (strcmp(word, "--elf") == 0) return code_add_elf(args, im, text, NULL);
    if (strcmp(word, "--map") == 0)
        return code_add_map(args, im, text)
            || modules_add_maps(&opt->files, text);
    why = image_add_pages(im, NULL, text);
    if (why)
        fprintf(stderr, "%s: %s: failed to load '%s': %s.\n", args->program,
                word, text, why);
    return why != NULL;
}

static int set_name(tool_args *args, const char *word, const char **name)
{
    *name = tool_argument(args, word);
    return *name ? -1 : args->wrong;
}

static int set_size(tool_args *args, const char *word, uint64_t *size)
{
    if (tool_number(args, word, 32, size)) return args->wrong;
    return *size ? -1 : tool_bad_argument(args, word, "0");
}

static int set_cr3(tool_args *args, options *opt)
{
    const char *const word = tool_argument(args, "--cr3");
    const char *text = word;
    if (!word) return args->wrong;
    opt->config_flags |= IPT_CONFIG_CR3_ONLY;
    return tool_address(args, &text, &opt->cr3) && !*text
               ? -1 : tool_bad_argument(args, "--cr3", word);
}

static int follow(tool_args *args, const char *word, void *context)
{
    options *const opt = (options *) context;
    const char *const code = code_word(word);
    if (code) return keep_code(args, opt, code);
    if (strcmp(word, "--bitmap") == 0)
        return set_name(args, word, &opt->bitmap);
    if (strcmp(word, "--edges") == 0) return set_name(args, word, &opt->edges);
    if (strcmp(word, "--drcov") == 0) return set_name(args, word, &opt->drcov);
    if (strcmp(word, "--filter") == 0) return add_filter(args, opt);
    if (strcmp(word, "--cr3") == 0) return set_cr3(args, opt);
    if (strcmp(word, "--bitmap-size") == 0)
        return set_size(args, word, &opt->bitmap_size);
    if (strcmp(word, "--memo") == 0) return set_size(args, word, &opt->memo);
    if (strcmp(word, "--root") == 0 || strcmp(word, "--non-root") == 0) {
        opt->config_flags &= ~(IPT_CONFIG_ROOT_ONLY | IPT_CONFIG_NON_ROOT_ONLY);
        opt->config_flags |= word[2] == 'r' ? IPT_CONFIG_ROOT_ONLY
                                            : IPT_CONFIG_NON_ROOT_ONLY;
    } else if (strcmp(word, "--stat") == 0) {
        opt->stat = 1;
    } else if (strcmp(word, "--strict") == 0) {
        opt->strict = opt->cover.session.strict = 1;
    } else if (strcmp(word, "--saturate") == 0) {
        opt->flags |= IPT_COV_SATURATE;
    } else if (strcmp(word, "--indirect") == 0) {
        opt->flags |= IPT_COV_INDIRECT;
    } else if (strcmp(word, "--no-retcomp") == 0) {
        opt->config_flags |= IPT_CONFIG_NO_RETCOMP;
    } else if (strcmp(word, "-j") == 0) {
        return set_size(args, word, &opt->cover.threads);
    } else {
        return session_follow(args, &opt->cover.session, word);
    }
    return -1;
}

/* A perf.data, or a folder that has one? */
static int is_perf(const char *name)
{
    char magic[8] = "";
    DIR *const folder = opendir(name);
    FILE *f;
    size_t n;
    if (folder) closedir(folder);
    if (folder || !(f = fopen(name, "rb"))) return folder != NULL;
    n = fread(magic, 1, sizeof magic, f);
    fclose(f);
    return n == sizeof magic && (memcmp(magic, "PERFILE2", n) == 0
                                 || memcmp(magic, "2ELIFREP", n) == 0);
}

static int run(tool_args *args, options *opt)
{
    const char *name = *args->next;
    tool_file file;
    int status;
    if (!name && is_perf("perf.data")) name = "perf.data";
    if (name && !(*args->next && args->next[1]) && is_perf(name)) {
        const char *const word = bare_only(opt);
        if (!word) return cover_perf(args, opt, name);
        fprintf(stderr, "%s: %s: not with a perf.data.\n", args->program, word);
        return OPTIONS_WRONG;
    }
    for (size_t i = 0; i < opt->code_count; i++) {
        status = add_code(args, opt, opt->codes[i].word, opt->codes[i].text);
        if (status) return status;
    }
    file.data = NULL;
    status = options_trace(args, &file);
    if (status < 0) status = cover_bare(args, opt, &file);
    free(file.data);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {help, session_help, more_help, CODE_FILES_HELP,
                                        OPTIONS_STATUS_HELP, NULL};
    tool_args args = tool_begin(argc, argv, "ptcov");
    static options opt;
    int status;
    opt.bitmap_size = 65536;
    opt.memo = 1024;
    cover_init(&opt.cover, &args);
    image_init(&opt.code);
    status = options_parse(&args, texts, 0, follow, &opt);
    if (status < 0) status = run(&args, &opt);
    image_free(&opt.code);
    modules_free(&opt.files);
    cover_free(&opt.cover);
    return tool_end(&args, status);
}
