/* tool.c: see tool.h.
 *
 * SPDX-License-Identifier: MIT */
#include "tool.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- arguments ---- */

tool_args tool_begin(int argc, char **argv, const char *name)
{
    tool_args args = {argc > 0 ? argv[0] : name, argc > 0 ? argv + 1 : argv,
                      NULL, 1};
    return args;
}

const char *tool_word(tool_args *args)
{
    char *const word = *args->next++;
    char *const equals = word[0] == '-' && word[1] == '-' ? strchr(word, '=')
                                                          : NULL;
    args->value = NULL;
    if (equals) {
        *equals = 0;
        args->value = equals + 1;
    }
    return word;
}

int tool_unknown(const tool_args *args, const char *option)
{
    fprintf(stderr, "%s: unknown option: %s%s%s.\n", args->program, option,
            args->value ? "=" : "", args->value ? args->value : "");
    return args->wrong;
}

int tool_is_there(const tool_args *args, const char *name)
{
    const int is = access(name, F_OK) == 0;
    if (!is) {
        fprintf(stderr, "%s: not there: ", args->program);
        tool_print(stderr, name);
        fputc('\n', stderr);
    }
    return is;
}

const char *tool_argument(tool_args *args, const char *option)
{
    const char *word = args->value ? args->value : *args->next;
    if (args->value && *word) {
        args->value = NULL;
        return word;
    }
    if (!word || !word[0] || (word[0] == '-' && word[1] == '-')) {
        fprintf(stderr, "%s: %s: missing argument.\n", args->program, option);
        return NULL;
    }
    args->next++;
    return word;
}

static int scan_number(const char **text, int base, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(*text, &end, base);
    *text = end;
    return errno == 0;
}

int tool_scan(const char **text, uint64_t *value)
{
    return isdigit((unsigned char) **text) && scan_number(text, 0, value);
}

int tool_address(const tool_args *args, const char **text, uint64_t *value)
{
    if (args->wrong != 2) return tool_scan(text, value);
    return isxdigit((unsigned char) **text) && scan_number(text, 16, value);
}

int tool_bad_argument(const tool_args *args, const char *option,
                      const char *value)
{
    fprintf(stderr, "%s: %s: bad argument: ", args->program, option);
    tool_print(stderr, value);
    fprintf(stderr, ".\n");
    return args->wrong;
}

int tool_number(tool_args *args, const char *option, unsigned bits,
                uint64_t *value)
{
    const char *word = tool_argument(args, option);
    const char *rest = word;
    if (!word) return args->wrong;
    if (!tool_scan(&rest, value) || *rest) {
        fprintf(stderr, "%s: %s: bad argument: %s.\n", args->program, option,
                word);
        return args->wrong;
    }
    if (bits < 64 && *value >> bits) {
        fprintf(stderr, "%s: %s: value too big: %s.\n", args->program, option,
                word);
        return args->wrong;
    }
    return 0;
}

int tool_size(tool_args *args, const char *option, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *const word = tool_argument(args, option);
    const char *rest = word, *unit;
    if (!word) return args->wrong;
    if (!tool_scan(&rest, bytes)) return tool_bad_argument(args, option, word);
    unit = *rest ? strchr(units, *rest) : NULL;
    for (; unit && unit >= units; unit--) {
        if (*bytes >> 54) return tool_bad_argument(args, option, word);
        *bytes *= 1024;
        if (unit == units) break;
    }
    rest += unit != NULL;
    return *rest || !*bytes ? tool_bad_argument(args, option, word) : 0;
}

uint64_t tool_memory(void)
{
    unsigned long all = 0, resident = 0, shared = 0;
    FILE *const f = fopen("/proc/self/statm", "r");
    const int known = f && fscanf(f, "%lu %lu %lu", &all, &resident, &shared) == 3;
    if (f) fclose(f);
    return known && resident > shared
         ? (uint64_t) (resident - shared) * (uint64_t) sysconf(_SC_PAGESIZE) : 0;
}

int tool_parse_cpu(const tool_args *args, const char *text, tool_cpu *cpu,
                   const char *end)
{
    uint64_t part[3] = {0, 0, 0};
    int parts = 0;
    memset(cpu, 0, sizeof *cpu);
    if (strcmp(text, "none") == 0) return 0;
    while (parts < 3 && tool_scan(&text, &part[parts])) {
        parts++;
        if (*text != '/') break;
        text++;
    }
    if (parts < 2 || *text || text[-1] == '/' || part[0] > UINT16_MAX
        || part[1] > UINT8_MAX || part[2] > UINT8_MAX) {
        fprintf(stderr, "%s: cpu must be specified as f/m[/s]%s\n",
                args->program, end);
        return args->wrong;
    }
    cpu->family = (uint16_t) part[0];
    cpu->model = (uint8_t) part[1];
    cpu->stepping = (uint8_t) part[2];
    cpu->known = 1;
    return 0;
}

int tool_end(const tool_args *args, int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "%s: cannot write to standard output.\n", args->program);
    return status ? status : 1;
}

int tool_help(const tool_args *args, const char *help, const char *more)
{
    printf(help, args->program);
    fputs(more, stdout);
    puts("\nExit status: 0 done, also with errors in the trace; 1 or 2 a file "
         "cannot\nbe read, or the command is wrong.");
    return tool_end(args, 0);
}

static const char *const libraries[TOOL_LIBRARIES][3] = {
    {NULL, NULL, NULL},
    {"Zydis", "libzydis-dev", "disassembly"},
    {"libelf", "libelf-dev", "symbols"},
    {"libdw", "libdw-dev", "source lines"},
    {"libiberty", "libiberty-dev", "names of C++"},
    {"libzstd", "libzstd-dev", "compressed records"},
    {"ncurses", "libncurses-dev", "--top"}
};

/* Libraries whose headers the compiler found. */
static const uint8_t have[TOOL_LIBRARIES] = {
    0,
#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
    [TOOL_ZYDIS] = 1,
#endif
#if __has_include(<libelf.h>) && __has_include(<gelf.h>)
    [TOOL_LIBELF] = 1,
#if __has_include(<elfutils/libdw.h>)
    [TOOL_LIBDW] = 1,
#endif
#endif
#if __has_include(<libiberty/demangle.h>)
    [TOOL_LIBIBERTY] = 1,
#endif
#if __has_include(<zstd.h>)
    [TOOL_LIBZSTD] = 1,
#endif
#if __has_include(<ncurses.h>)
    [TOOL_NCURSES] = 1,
#endif
#endif
};

const char *tool_missing(tool_library library)
{
    static char text[64];
    if (have[library]) return NULL;
    snprintf(text, sizeof text, "made without %s (package %s)",
             libraries[library][0], libraries[library][1]);
    return text;
}

int tool_cannot(const tool_args *args, const char *option,
                tool_library library)
{
    const char *const why = tool_missing(library);
    if (why) fprintf(stderr, "%s: %s: %s.\n", args->program, option, why);
    return why != NULL;
}

int tool_version(const tool_args *args)
{
    char version[32];
    const char *comma = "; possible:";
    unsigned missing = 0;
    snprintf(version, sizeof version, "%d.%d.%d", IPT_VERSION >> 16,
             IPT_VERSION >> 8 & 0xff, IPT_VERSION & 0xff);
    printf("%s-%s / ipt-%s\nbuilt with:", args->program, version, version);
    for (unsigned i = 1; i < TOOL_LIBRARIES; i++)
        if (have[i]) printf(" %s", libraries[i][0]);
        else missing++;
    if (missing == TOOL_LIBRARIES - 1) printf(" no library");
    for (unsigned i = 1; i < TOOL_LIBRARIES; i++, comma = ",")
        printf("%s %s (%s)", comma, libraries[i][0], libraries[i][2]);
    puts("");
    return tool_end(args, 0);
}

/* What a trace is. */
static const char trace_help[] =
    "\n"
    "Files: a trace is packets alone. ptsplit takes it out of a perf.data.\n";

const char *tool_option(tool_args *args, const char *help, const char **file,
                        int *status)
{
    const char *word;
    while (*args->next) {
        word = tool_word(args);
        if (!args->value
            && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            *status = tool_help(args, help, trace_help);
            return NULL;
        }
        if (!args->value && strcmp(word, "--version") == 0) {
            *status = tool_version(args);
            return NULL;
        }
        if (word[0] == '-') return word;
        if (*args->next) {
            fprintf(stderr, "%s: [<options>] <ptfile>.  Use --help or -h for "
                    "help.\n", args->program);
            *status = 1;
            return NULL;
        }
        *file = word;
    }
    *status = -1;
    if (*file) return NULL;
    fprintf(stderr, "%s: No processor trace file specified.\n", args->program);
    *status = 1;
    return NULL;
}

/* ---- files ---- */

char *tool_copy(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

int tool_split_range(const char *text, tool_range *range)
{
    const char *colon = strrchr(text, ':');
    const char *rest = colon ? colon + 1 : "";
    size_t length = strlen(text);
    uint64_t from = 0;
    uint64_t to = UINT64_MAX;
    range->from = 0;
    range->to = UINT64_MAX;
    if (tool_scan(&rest, &from)) {
        int have_to = *rest == '-';
        if (have_to) {
            rest++;
            have_to = tool_scan(&rest, &to) ? 1 : -1;
        }
        if (!*rest && have_to >= 0) {
            length = (size_t) (colon - text);
            range->from = from;
            range->to = to;
        }
    }
    range->name = tool_copy(text, length);
    if (!range->name) return -2;
    return range->to > range->from ? 0 : -1;
}

/* The size of an open file; -1 if it has none. */
static long file_size(FILE *f)
{
    long size;
    if (fseek(f, 0, SEEK_END)) return -1;
    size = ftell(f);
    return size == LONG_MAX ? -1 : size; // a directory
}

static int cannot_load(const tool_args *args, const char *name, const char *why)
{
    fprintf(stderr, "%s: failed to load %s: %s.\n", args->program, name, why);
    return 1;
}

/* Read [from, to) of an open file. */
static int read_part(const tool_args *args, FILE *f, const tool_range *range,
                     uint64_t to, tool_file *file)
{
    file->size = (size_t) (to - range->from);
    file->data = malloc(file->size);
    if (!file->data) return cannot_load(args, range->name, "out of memory");
    if (fseek(f, (long) range->from, SEEK_SET)
        || fread(file->data, 1, file->size, f) != file->size) {
        free(file->data);
        file->data = NULL;
        return cannot_load(args, range->name, "read error");
    }
    return 0;
}

int tool_load(const tool_args *args, const tool_range *range, tool_file *file)
{
    FILE *f = fopen(range->name, "rb");
    long size;
    int status = 1;
    if (!f) {
        fprintf(stderr, "%s: failed to open %s: %s.\n", args->program,
                range->name, strerror(errno));
        return 1;
    }
    size = file_size(f);
    if (size < 0)
        cannot_load(args, range->name, "not a file");
    else if (size == 0)
        cannot_load(args, range->name, "it is empty");
    else if (range->from >= (uint64_t) size)
        fprintf(stderr, "%s: bad offset 0x%" PRIx64 " into %s.\n",
                args->program, range->from, range->name);
    else if (range->to != UINT64_MAX && range->to > (uint64_t) size)
        fprintf(stderr, "%s: bad range 0x%" PRIx64 " in %s.\n", args->program,
                range->to, range->name);
    else
        status = read_part(args, f, range,
                           range->to == UINT64_MAX ? (uint64_t) size
                                                   : range->to, file);
    fclose(f);
    return status;
}

/* All that comes from the standard input. */
static int read_stream(const tool_args *args, tool_file *file)
{
    size_t room = 0;
    size_t got = 1;
    file->size = 0;
    while (got) {
        if (file->size == room) {
            room = 2 * room + 65536;
            if (!tool_grow(&file->data, room, 1))
                return cannot_load(args, "-", "out of memory");
        }
        got = fread(file->data + file->size, 1, room - file->size, stdin);
        file->size += got;
    }
    if (ferror(stdin)) return cannot_load(args, "-", "read error");
    return file->size ? 0 : cannot_load(args, "-", "it is empty");
}

/* Does a text stand among the first bytes? */
static int has_text(const uint8_t *bytes, size_t size, const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(bytes + i, text, length) == 0) return 1;
    return 0;
}

/* SECONDS PID CR3 ADDR ...: a line of simple-pt's sideband. */
static int is_simple_pt(const uint8_t *bytes, size_t size)
{
    char line[64];
    double time;
    unsigned pid;
    unsigned long long cr3;
    unsigned long long ip;
    const size_t n = size < sizeof line - 1 ? size : sizeof line - 1;
    memcpy(line, bytes, n);
    line[n] = 0;
    return strncmp(line, "meta ", 5) == 0
        || sscanf(line, "%lf %u %llx %llx", &time, &pid, &cr3, &ip) == 4;
}

tool_kind tool_kind_of(const uint8_t *bytes, size_t size, const char **what)
{
    static const struct {
        const char *magic;
        const char *what;
    } kinds[] = {
        {"PERFILE2", "is a perf.data: ptflow, ptprof, ptcov and ptsplit read it"},
        {"2ELIFREP", "is a perf.data: ptflow, ptprof, ptcov and ptsplit read it"},
        {"\x1f\x8b", "is compressed: gzip -d makes it one to read"},
        {"\xfd" "7zXZ", "is compressed: xz -d makes it one to read"},
        {"\x28\xb5\x2f\xfd", "is compressed: zstd -d makes it one to read"},
        {"\x7f" "ELF", "is a program, or what one had in memory: --elf takes "
                       "it beside a trace"}
    };
    static const char psb[] = "\2\202\2\202\2\202\2\202\2\202\2\202\2\202\2\202";
    *what = NULL;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t length = strlen(kinds[i].magic);
        if (size < length || memcmp(bytes, kinds[i].magic, length) != 0)
            continue;
        *what = kinds[i].what;
        return i < 2 ? TOOL_PERF : TOOL_OTHER;
    }
    if (size && *bytes == '{' && has_text(bytes, size, "intel-pt")) {
        *what = "is LLDB's list of traces: each iptTrace that it names is one, "
                "which ptflow --pt, ptxed and ptdump read";
        return TOOL_OTHER;
    }
    if (is_simple_pt(bytes, size)) {
        *what = "is simple-pt's list of mappings: the traces beside it are "
                "ptout.0 and so on, which ptflow --pt, ptxed and ptdump read";
        return TOOL_OTHER;
    }
    if (!has_text(bytes, size, psb)) return TOOL_UNKNOWN;
    *what = "is a trace without records: ptflow --pt, ptprof --pt, ptxed and "
            "ptdump read it, with its code by --elf, --raw or --map";
    return TOOL_TRACE;
}

/* A whole file that is not trace, but something that is known. */
static int check_kind(const tool_args *args, const tool_range *range,
                      tool_file *file)
{
    const char *what;
    const size_t size = file->size < 65536 ? file->size : 65536;
    const tool_kind kind = tool_kind_of(file->data, size, &what);
    if (range->from || range->to != UINT64_MAX || kind == TOOL_UNKNOWN
        || kind == TOOL_TRACE)
        return 0;
    fprintf(stderr, "%s: %s %s.\n", args->program, range->name, what);
    free(file->data);
    file->data = NULL;
    return 1;
}

int tool_load_argument(const tool_args *args, const char *text, int bad_range,
                       tool_file *file)
{
    tool_range range;
    int status = tool_split_range(text, &range);
    file->data = NULL;
    if (status == 0 && args->wrong == 2 && strcmp(text, "-") == 0) {
        status = read_stream(args, file);
        if (status == 0) status = check_kind(args, &range, file);
        if (status) {
            free(file->data);
            file->data = NULL;
        }
    } else if (status == -1) {
        fprintf(stderr, "%s: bad file %s: invalid argument.\n", args->program,
                text);
        status = bad_range;
    } else if (status == -2) {
        status = cannot_load(args, text, "out of memory");
    } else {
        status = tool_load(args, &range, file);
        if (status == 0) status = check_kind(args, &range, file);
    }
    free(range.name);
    return status;
}

/* ---- texts ---- */

/* The length of the UTF-8 character at s; 0: it is none. */
static size_t utf8(const char *s)
{
    const uint8_t *const p = (const uint8_t *) s;
    const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c;
    if (n == 1) return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
    c = p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < (n == 2 ? 0x80u : n == 3 ? 0x800u : 0x10000u)) return 0;
    return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

const char *tool_clean(char *out, size_t room, const char *text, int json)
{
    size_t n = 0;
    while (*text && n + 8 < room) {
        const size_t size = utf8(text);
        const char c = *text;
        if (size == 0) {
            memcpy(out + n, "\xef\xbf\xbd", 3); /* U+FFFD */
            n += 3;
            text++;
            continue;
        }
        if (json && (c == '"' || c == '\\')) out[n++] = '\\';
        memcpy(out + n, text, size);
        if ((uint8_t) c < ' ' || c == 127) out[n] = ' ';
        n += size;
        text += size;
    }
    out[n] = 0;
    return out;
}

/* U+0080 to U+009F are control characters, too: two bytes in UTF-8. */
static int is_control(const char *text)
{
    return iscntrl((unsigned char) text[0])
        || ((unsigned char) text[0] == 0xc2
            && ((unsigned char) text[1] & 0xe0) == 0x80);
}

int tool_grow(void *array, size_t size, size_t item)
{
    void *old;
    void *larger;
    memcpy(&old, array, sizeof old);
    if (size > SIZE_MAX / item) return 0;
    larger = realloc(old, size * item);
    if (!larger) return 0;
    memcpy(array, &larger, sizeof larger);
    return 1;
}

ipt_cache_line *tool_lines(size_t count, void **memory)
{
    const size_t line = sizeof(ipt_cache_line);
    uint8_t *lines;
    *memory = NULL;
    if (count >= SIZE_MAX / line) return NULL;
    lines = (uint8_t *) malloc((count + 1) * line);
    if (!lines) return NULL;
    *memory = lines;
    lines += (line - (uintptr_t) lines % line) % line;
    return (ipt_cache_line *) (void *) lines;
}

const char *tool_base(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

char *tool_join(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = (char *) malloc(size);
    if (path) snprintf(path, size, "%s/%s", folder, name);
    return path;
}

int tool_keep_old(const char *path)
{
    struct stat there;
    char *old;
    int error;

    if (stat(path, &there) || there.st_size == 0) return 0;
    old = (char *) malloc(strlen(path) + sizeof(".old"));
    if (!old) return -1;
    sprintf(old, "%s.old", path);
    error = rename(path, old) ? errno : 0;
    free(old);
    errno = error;
    return error ? -1 : 0;
}

FILE *tool_create(const char *path)
{
    if (strcmp(path, "-") == 0) return stdout;
    return tool_keep_old(path) ? NULL : fopen(path, "wb");
}

int tool_close(FILE *f)
{
    const int failed = ferror(f);
    return (f == stdout ? fflush(f) : fclose(f)) || failed ? -1 : 0;
}

void tool_print(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (is_control(text))
            fprintf(out, "\\x%02x", (unsigned char) *text);
        else
            fputc(*text, out);
    }
}

static unsigned lower(char c)
{
    return (unsigned) (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

unsigned tool_distance(const char *a, const char *b)
{
    unsigned row[TOOL_DISTANCE + 1];
    const size_t n = strlen(b) < TOOL_DISTANCE ? strlen(b) : TOOL_DISTANCE;
    for (unsigned j = 0; j <= n; j++) row[j] = j;
    for (unsigned i = 0; a[i] && i < TOOL_DISTANCE; i++) {
        unsigned corner = i; /* above, to the left */
        row[0] = i + 1;
        for (unsigned j = 0; j < n; j++) {
            const unsigned above = row[j + 1];
            unsigned best = corner + (lower(a[i]) != lower(b[j]));
            if (above + 1 < best) best = above + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            corner = above;
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *tool_error_text(int status)
{
    switch (status) {
    case IPT_END:
    case IPT_MORE:
    case IPT_ERR_TRUNCATED: return "reached end of trace stream";
    case IPT_NEED_PAGE: return "no memory mapped at this address";
    case IPT_NO_TIME: return "no timing information";
    case IPT_ERR_ARG: return "invalid argument";
    case IPT_ERR_CONFIG: return "bad configuration";
    case IPT_ERR_NOSYNC: return "decoder out of sync";
    case IPT_ERR_OPCODE: return "unknown opcode";
    case IPT_ERR_PACKET: return "unknown packet";
    case IPT_ERR_CONTEXT: return "unexpected packet context";
    case IPT_ERR_NO_IP: return "ip has been suppressed";
    case IPT_ERR_STATUS: return "bad status update";
    case IPT_ERR_EVENTS: return "out of memory";
    case IPT_ERR_MISMATCH: return "trace stream does not match query";
    case IPT_ERR_RETURN:
    case IPT_ERR_RETURN_LOST: return "compressed return without call";
    case IPT_ERR_RETCOMP: return "bad compressed return";
    case IPT_ERR_IMAGE: return "bad image";
    case IPT_ERR_BAD_INSN: return "unknown instruction";
    case IPT_ERR_STATE:
    case IPT_ERR_INTERNAL: return "internal error";
    default: return status >= 0 ? "OK" : ipt_status_cause(status);
    }
}
