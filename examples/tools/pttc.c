/* pttc: write a trace from directives in the comments of a yasm source.
 *
 *     pttc [<options>] <pttfile>
 *
 * The language, the files it writes, its messages and exit statuses are those
 * of libipt's pttc. From top to bottom: texts and files, labels, the listing
 * that yasm writes, arguments, packets, sideband records, expectations
 * (.exp), directives, options.
 *
 * Functions that can fail return 0 or one of FAIL_.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "ipt.h"
#include "common/code/tool.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: %s [<options>] <pttfile>\n"
    "\n"
    "options:\n"
    "  --help|-h                 this text.\n"
    "  --version                 the version of this tool.\n"
    "  --cpu none|f/m[/s]        the cpu; it becomes part of the names of\n"
    "                            .exp files and changes nothing else.\n"
    "\n"
    "Assembles <pttfile> with yasm, which has to be in the path, follows the\n"
    "directives in its comments, and prints the names of the .exp and .sb files.\n"
    "\n"
    "Example: pttc --cpu 6/142 test.ptt\n";

static const char files_help[] =
    "\n"
    "Files: in the current directory, root being the name of <pttfile> without\n"
    "folder and suffix:\n"
    "  root.bin, root.lst        code and listing.\n"
    "  root.pt                   the trace.\n"
    "  root-<tool>[-cpu_<f>_<m>[_<s>]].exp\n"
    "                            expected output; one per .exp directive.\n"
    "  root[-<src>]-<format>-<primary|secondary>[,<configuration>].sb\n"
    "                            perf sideband.\n";

/* ---- failures ---- */

/* X(name, exit status, text) */
#define FAILURES(X)                                                 \
    X(FAIL_OPEN, 1, "cannot open file")                             \
    X(FAIL_READ, 2, "cannot read file")                             \
    X(FAIL_SIZE, 3, "cannot get file size")                         \
    X(FAIL_WRITE, 4, "cannot write file")                           \
    X(FAIL_RANGE, 5, "out of range")                                \
    X(FAIL_LABEL_ADDRESS, 6, "label has no address")                \
    X(FAIL_NO_ORG, 7, "yasm directive 'org' is required")           \
    X(FAIL_NO_DIRECTIVE, 8, "no pt directive")                      \
    X(FAIL_NO_LABEL, 9, "no such label")                            \
    X(FAIL_LABEL_NAME, 10, "label name is too long")                \
    X(FAIL_LABEL_TWICE, 11, "label name is not unique")             \
    X(FAIL_SECTION_NAME, 12, "section has no name")                 \
    X(FAIL_SECTION_VALUE, 13, "section attribute has no value")     \
    X(FAIL_SECTION_ATTRIBUTE, 14, "unknown section attribute")      \
    X(FAIL_CLOSE, 15, "missing ')'")                                \
    X(FAIL_PAREN, 16, "missing '('")                                \
    X(FAIL_PARSE, 17, "parse error")                                \
    X(FAIL_NUMBER, 18, "integer cannot be parsed")                  \
    X(FAIL_TOO_BIG, 19, "integer too big")                          \
    X(FAIL_IPC, 20, "ipc missing or has invalid value")             \
    X(FAIL_IP, 21, "ip missing")                                    \
    X(FAIL_NO_ARGUMENTS, 22, "no arguments")                        \
    X(FAIL_TRAILING, 23, "trailing tokens")                         \
    X(FAIL_CHARACTER, 24, "unknown character")                      \
    X(FAIL_UNKNOWN, 25, "unknown directive")                        \
    X(FAIL_MISSING, 26, "missing directive")                        \
    X(FAIL_SUB_STATE, 27, "unexpected sub C-state")                 \
    X(FAIL_STATE, 28, "invalid C-state")                            \
    X(FAIL_SB_NONE, 29, "no open sideband file")                    \
    X(FAIL_SB_FORMAT, 30, "sideband format error")                  \
    X(FAIL_SB_CONFIG, 31, "configuration error")                    \
    X(FAIL_LIBRARY, 32, "pt library error")                         \
    X(FAIL_YASM, 33, "yasm failed")                                 \
    X(FAIL_MEMORY, 34, "out of memory")

#define X(name, status, text) name = status,
enum { FAILURES(X) FAIL_NONE = 0 };
#undef X

/* Not a failure: the directive writes nothing. */
#define WRITES_NOTHING (-1)

static const char *failure_text(int failure)
{
#define X(name, status, text) {name, text},
    static const struct {
        int failure;
        const char *text;
    } texts[] = {FAILURES(X) {FAIL_NONE, "success"}};
#undef X
    size_t i = 0;
    while (texts[i].failure != failure && texts[i].failure != FAIL_NONE) i++;
    return texts[i].text;
}

/* ---- memory and texts ---- */

static void *resize(void *old, size_t count, size_t size)
{
    void *p = count < SIZE_MAX / size ? realloc(old, count * size) : NULL;
    if (p) return p;
    fprintf(stderr, "fatal: %s\n", failure_text(FAIL_MEMORY));
    exit(FAIL_MEMORY);
}

/* Room for one more item; the room doubles when it is used up. */
static void *grow(void *old, size_t count, size_t size)
{
    return count & (count - 1) ? old : resize(old, count ? count * 2 : 1, size);
}

/* A growing run of bytes, or of characters. */
typedef struct text {
    char *at;
    size_t size;
    size_t room;
} text;

/* Add bytes; a NUL, not counted, stands after them. */
static void add(text *t, const void *bytes, size_t size)
{
    if (t->room - t->size <= size) {
        t->room = (t->size + size + 1) * 2;
        t->at = resize(t->at, t->room, 1);
    }
    if (size) memcpy(t->at + t->size, bytes, size);
    t->size += size;
    t->at[t->size] = 0;
}

/* Add the low `size` bytes of a number, little endian. */
static void add_number(text *t, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < size; i++) bytes[i] = (uint8_t) (value >> (8 * i));
    add(t, bytes, size);
}

static char *copy_text(const char *from, size_t length)
{
    text t = {NULL, 0, 0};
    add(&t, from, length);
    return t.at;
}

/* Texts joined to one; the last argument is NULL. */
static char *join(const char *first, ...)
{
    text t = {NULL, 0, 0};
    va_list rest;
    va_start(rest, first);
    for (const char *s = first; s; s = va_arg(rest, const char *))
        add(&t, s, strlen(s));
    va_end(rest);
    return t.at;
}

static char *skip_blanks(const char *s)
{
    while (isspace((unsigned char) *s)) s++;
    return (char *) (uintptr_t) s;
}

static void cut_blanks(char *s)
{
    size_t n = strlen(s);
    while (n && isspace((unsigned char) s[n - 1])) n--;
    s[n] = 0;
}

/* s without blanks at its ends; it is changed. */
static char *trim(char *s)
{
    cut_blanks(s);
    return skip_blanks(s);
}

static void lower_case(char *s)
{
    for (; *s; s++) *s = (char) tolower((unsigned char) *s);
}

/* ---- files ---- */

/* A text file, cut into lines. */
typedef struct source {
    char *name;
    text data;
    char **lines;
    size_t count;
} source;

static int complain(const char *name, int failure)
{
    fprintf(stderr, "%s: %s\n", name, strerror(errno));
    return failure;
}

static int read_all(FILE *f, text *data)
{
    char part[4096];
    size_t n = fread(part, 1, sizeof part, f);
    for (; n; n = fread(part, 1, sizeof part, f)) add(data, part, n);
    add(data, "", 0);
    return ferror(f) ? FAIL_READ : 0;
}

static void cut_lines(source *s)
{
    char *line = s->data.at;
    char *end = s->data.at + s->data.size;
    while (line < end) {
        char *next = memchr(line, '\n', (size_t) (end - line));
        s->lines = grow(s->lines, s->count, sizeof *s->lines);
        s->lines[s->count++] = line;
        if (!next) break;
        *next = 0;
        line = next + 1;
    }
}

static int load_source(source *s, const char *name)
{
    FILE *f = fopen(name, "rb");
    int failure;
    memset(s, 0, sizeof *s);
    s->name = copy_text(name, strlen(name));
    if (!f) return complain(name, FAIL_OPEN);
    failure = read_all(f, &s->data);
    if (failure) complain(name, failure);
    fclose(f);
    cut_lines(s);
    return failure;
}

static void free_source(source *s)
{
    free(s->name);
    free(s->data.at);
    free(s->lines);
}

static int open_output(const char *name, FILE **f)
{
    *f = fopen(name, "wb");
    return *f ? 0 : complain(name, FAIL_OPEN);
}

static int close_output(FILE **f)
{
    int bad = 0;
    if (*f) {
        bad = ferror(*f);
        bad |= fclose(*f);
    }
    *f = NULL;
    return bad ? FAIL_WRITE : 0;
}

/* ---- the program's state ---- */

typedef struct label {
    char *name;
    uint64_t value;
    int known; /* it has a value */
} label;

typedef struct labels {
    label *items;
    size_t count;
} labels;

/* [section NAME start=A vstart=B] */
typedef struct section {
    char *name;
    uint64_t start;
    uint64_t vstart;
    uint64_t length;
    int has_start;
    int has_vstart;
} section;

/* A sideband file. The one opened last is the first of the list. */
typedef struct sideband {
    struct sideband *next;
    char *source; /* "" if none was given */
    char *format;
    char *priority; /* primary, secondary */
    char *name;     /* of the file */
    FILE *file;
    uint64_t size;
    uint64_t sample_type;
    int is_pevent;   /* a pevent directive was used */
    int has_records; /* a record was written */
    char why[64]; /* what is wrong with a directive; "": its syntax */
} sideband;

typedef struct pttc {
    const char *program;
    char *file; /* the argument */
    char *root; /* what the names of all files begin with */
    tool_cpu cpu;
    source listing;
    source **sources; /* the file and what it includes */
    size_t source_count;
    section *sections; /* the first is .text */
    size_t section_count;
    uint64_t org;
    int has_org;
    labels code;
    labels packets;
    const source *at; /* of the directive: its file ... */
    uint64_t line;    /* ... and line */
    FILE *trace;
    uint64_t trace_size;
    FILE *exp; /* not NULL: expectations have begun */
    sideband *sideband;         /* all of them */
    sideband *current_sideband; /* the one that is written */
} pttc;

/* Say what is wrong with a directive; returns the failure. */
static int report(const pttc *t, int failure, const char *format, ...)
{
    va_list rest;
    fprintf(stderr, "%s:%" PRIu64 ": error: ", t->at->name, t->line);
    va_start(rest, format);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fprintf(stderr, " (%s)\n", failure_text(failure));
    return failure;
}

/* ---- labels ---- */

static label *find_label(const labels *all, const char *name, size_t length)
{
    for (size_t i = 0; i < all->count; i++) {
        label *l = &all->items[i];
        if (strncmp(l->name, name, length) == 0 && !l->name[length]) return l;
    }
    return NULL;
}

static int is_label_character(char c)
{
    return isalnum((unsigned char) c) || c == '_';
}

/* Length of the name that a text begins with. */
static size_t label_length(const char *s)
{
    size_t n = 0;
    while (is_label_character(s[n])) n++;
    return n;
}

/* Labels that no directive can name, such as those local to a macro or to
 * another label, may be there more than once. */
static int add_label(pttc *t, labels *to, const char *name, size_t length,
                     const uint64_t *value)
{
    label *l;
    if (label_length(name) >= length
        && (find_label(&t->code, name, length)
            || find_label(&t->packets, name, length)))
        return FAIL_LABEL_TWICE;
    to->items = grow(to->items, to->count, sizeof *to->items);
    l = &to->items[to->count++];
    l->name = copy_text(name, length);
    l->value = value ? *value : 0;
    l->known = value != NULL;
    return 0;
}

static int label_value(const labels *all, const char *name, size_t length,
                       uint64_t *value)
{
    const label *l = find_label(all, name, length);
    if (!l) return FAIL_NO_LABEL;
    if (!l->known) return FAIL_LABEL_ADDRESS;
    *value = l->value;
    return 0;
}

static void free_labels(labels *all)
{
    for (size_t i = 0; i < all->count; i++) free(all->items[i].name);
    free(all->items);
}

/* ---- numbers ---- */

/* A number in C notation of at most `bits` bits. NULL: there is no argument. */
static int number(const char *word, unsigned bits, uint64_t *value)
{
    char *end;
    if (!word) return FAIL_NO_ARGUMENTS;
    errno = 0;
    *value = strtoull(word, &end, 0);
    if (end == word || *end) return FAIL_NUMBER;
    if (errno || (bits < 64 && *value >> bits)) return FAIL_TOO_BIG;
    return 0;
}

/* ---- rows of the listing ----
 *
 *     NUMBER ADDRESS OPCODE TEXT     an instruction or data
 *     NUMBER ADDRESS OPCODE          ... more of its opcode, if the row
 *                                    before ends its part with '-'
 *     NUMBER         TEXT            a label, a directive, an empty line
 *     NUMBER         %line N+M FILE  the next row is line N of FILE, the one
 *                                    after it line N + M, and so on
 */

typedef struct row {
    const char *text; /* "" if there is none */
    const char *opcode;
    size_t opcode_length; /* 0: no code */
    uint64_t address;     /* in its section, if there is code */
    int goes_on;          /* the opcode has more in the next row */
} row;

static void read_row(const char *line, row *r)
{
    char *end;
    memset(r, 0, sizeof *r);
    line += strspn(line, " ");
    line += strspn(line, "0123456789");
    if (line[0] == ' ' && isxdigit((unsigned char) line[1])) {
        r->address = strtoull(line + 1, &end, 16);
        r->opcode = skip_blanks(end);
        r->opcode_length = strcspn(r->opcode, " \r");
        line = r->opcode + r->opcode_length;
    }
    r->goes_on = r->opcode_length && line[-1] == '-';
    r->text = skip_blanks(line);
}

/* The words after `[NAME `, if the row is that directive; NULL if not. */
static const char *bracket(const row *r, const char *name)
{
    size_t n = strlen(name);
    const char *s = r->text;
    if (*s++ != '[') return NULL;
    s = skip_blanks(s);
    if (strncasecmp(s, name, n) != 0) return NULL;
    return isspace((unsigned char) s[n]) || s[n] == ']' ? s + n : NULL;
}

static const char *section_words(const row *r)
{
    const char *s = bracket(r, "section");
    return s ? s : bracket(r, "segment");
}

/* ---- sections and org ---- */

/* The next word of a directive; "" if there is none. */
static char *bracket_word(const char **s)
{
    const char *word = skip_blanks(*s);
    size_t n = strcspn(word, " \t\r]");
    *s = word + n;
    return copy_text(word, n);
}

static size_t find_section(const pttc *t, const char *name)
{
    size_t i = 0;
    while (i < t->section_count && strcmp(t->sections[i].name, name) != 0) i++;
    return i;
}

/* The index of a section, which is made if need be; takes the name. */
static size_t get_section(pttc *t, char *name)
{
    size_t i = find_section(t, name);
    if (i < t->section_count) {
        free(name);
        return i;
    }
    t->sections = grow(t->sections, t->section_count, sizeof *t->sections);
    memset(&t->sections[i], 0, sizeof *t->sections);
    t->sections[i].name = name;
    t->section_count++;
    return i;
}

static int set_attribute(section *s, const char *word)
{
    const char *value = strchr(word, '=');
    size_t n = value ? (size_t) (value - word) : strlen(word);
    int *has = NULL;
    uint64_t *to = NULL;
    if (n == 5 && strncasecmp(word, "start", n) == 0) {
        has = &s->has_start;
        to = &s->start;
    } else if (n == 6 && strncasecmp(word, "vstart", n) == 0) {
        has = &s->has_vstart;
        to = &s->vstart;
    } else {
        return FAIL_SECTION_ATTRIBUTE;
    }
    if (!value || !value[1]) return FAIL_SECTION_VALUE;
    *has = 1;
    return number(value + 1, 64, to);
}

/* Read a section directive; *index is the section that it changes to. */
static int read_section(pttc *t, const char *words, size_t *index)
{
    char *word = bracket_word(&words);
    int failure = 0;
    if (!*word) {
        free(word);
        return FAIL_SECTION_NAME;
    }
    *index = get_section(t, word);
    while (!failure) {
        word = bracket_word(&words);
        if (!*word) break;
        failure = set_attribute(&t->sections[*index], word);
        free(word);
    }
    if (!failure) free(word);
    return failure;
}

static int read_org(pttc *t, const char *words)
{
    char *word = bracket_word(&words);
    int failure = number(word, 64, &t->org);
    free(word);
    if (failure || t->has_org) return failure;
    t->has_org = 1;
    return add_label(t, &t->code, "org", 3, &t->org);
}

/* Count the bytes of an opcode. Leading zeros do not count, as in libipt. */
static uint64_t opcode_bytes(const row *r, int *leading)
{
    uint64_t n = 0;
    for (size_t i = 0; i + 1 < r->opcode_length; i += 2) {
        const char *s = r->opcode + i;
        if (!isxdigit((unsigned char) s[0])) break;
        if (s[0] != '0' || s[1] != '0') *leading = 0;
        n += !*leading;
    }
    return n;
}

static int scan_sections(pttc *t)
{
    size_t current = get_section(t, copy_text(".text", 5));
    int leading = 1;
    int failure = 0;
    for (size_t i = 0; i < t->listing.count && !failure; i++) {
        const char *words;
        row r;
        read_row(t->listing.lines[i], &r);
        t->sections[current].length += opcode_bytes(&r, &leading);
        if (!r.goes_on) leading = 1;
        words = section_words(&r);
        if (words) failure = read_section(t, words, &current);
        words = bracket(&r, "org");
        if (words) failure = read_org(t, words);
    }
    return failure ? failure : t->has_org ? 0 : FAIL_NO_ORG;
}

static int add_section_label(pttc *t, const section *s, const char *what,
                             uint64_t value)
{
    char *name = join("section_", s->name, what, NULL);
    int failure = add_label(t, &t->code, name, strlen(name), &value);
    free(name);
    return failure;
}

static int add_section_labels(pttc *t)
{
    int failure = 0;
    for (size_t i = 0; i < t->section_count && !failure; i++) {
        const section *s = &t->sections[i];
        if (!s->has_start && !s->has_vstart) continue;
        failure = add_section_label(t, s, "_length", s->length);
        if (!failure && s->has_start)
            failure = add_section_label(t, s, "_start", s->start);
        if (!failure && s->has_vstart)
            failure = add_section_label(t, s, "_vstart", s->vstart);
    }
    return failure;
}

/* ---- code labels ---- */

/* Where a section begins. Only .text has a place of its own if none is given;
 * labels in other such sections have no address. */
static int section_base(const pttc *t, size_t index, uint64_t *base)
{
    const section *s = &t->sections[index];
    if (s->has_vstart)
        *base = s->vstart;
    else if (s->has_start)
        *base = s->start;
    else if (index == 0)
        *base = t->org;
    else
        return 0;
    return 1;
}

/* The label that a row begins with: its length, or 0. */
static size_t row_label(const row *r)
{
    const char *s = r->text;
    size_t n = 0;
    while (is_label_character(s[n]) || (s[n] && strchr("$#@~.?", s[n]))) n++;
    return *skip_blanks(s + n) == ':' ? n : 0;
}

/* Give an address to the labels from *waiting on. */
static void settle_labels(pttc *t, size_t *waiting, size_t index,
                          uint64_t address)
{
    uint64_t base = 0;
    int known = section_base(t, index, &base);
    for (; *waiting < t->code.count; ++*waiting) {
        t->code.items[*waiting].value = base + address;
        t->code.items[*waiting].known = known;
    }
}

/* A label that has no code in its row stands for the next code. */
static int scan_labels(pttc *t)
{
    size_t current = 0;
    size_t waiting = t->code.count;
    for (size_t i = 0; i < t->listing.count; i++) {
        const char *words;
        size_t length;
        row r;
        read_row(t->listing.lines[i], &r);
        words = section_words(&r);
        if (words) {
            current = get_section(t, bracket_word(&words));
            waiting = t->code.count;
        }
        length = row_label(&r);
        if (length) {
            int failure = add_label(t, &t->code, r.text, length, NULL);
            if (failure) return failure;
        }
        if (r.opcode_length) settle_labels(t, &waiting, current, r.address);
    }
    return 0;
}

/* ---- yasm ---- */

static void exec_yasm(const pttc *t, char *bin, char *listing)
{
    char *words[11];
    size_t n = 0;
    words[n++] = "yasm";
    words[n++] = t->file;
    words[n++] = "-f";
    words[n++] = "bin";
    words[n++] = "-o";
    words[n++] = bin;
    words[n++] = "-L";
    words[n++] = "nasm";
    words[n++] = "-l";
    words[n++] = listing;
    words[n] = NULL;
    execvp(words[0], words);
    fprintf(stderr, "%s: cannot run yasm: %s\n", t->program, strerror(errno));
    _exit(127);
}

static int run_yasm(const pttc *t, char *bin, char *listing)
{
    int status = 1;
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) exec_yasm(t, bin, listing);
    if (child < 0) return complain(t->program, FAIL_YASM);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return complain(t->program, FAIL_YASM);
    return status ? FAIL_YASM : 0;
}

/* Make code, listing and code labels. */
static int assemble(pttc *t)
{
    char *bin = join(t->root, ".bin", NULL);
    char *listing = join(t->root, ".lst", NULL);
    int failure = run_yasm(t, bin, listing);
    if (!failure) failure = load_source(&t->listing, listing);
    if (!failure) failure = scan_sections(t);
    if (!failure) failure = add_section_labels(t);
    if (!failure) failure = scan_labels(t);
    free(bin);
    free(listing);
    return failure;
}

/* ---- arguments ---- */

/* Cut the next argument off *rest: what is in front of `end`, without blanks
 * around it. NULL if nothing is left. */
static char *next_argument(char **rest, char end)
{
    char *word = *rest;
    char *stop;
    if (!word) return NULL;
    stop = strchr(word, end);
    if (stop) *stop = 0;
    *rest = stop ? stop + 1 : NULL;
    return trim(word);
}

static int next_number(char **rest, char end, unsigned bits, uint64_t *value)
{
    return number(next_argument(rest, end), bits, value);
}

/* The last argument, a number. */
static int last_number(char **rest, unsigned bits, uint64_t *value)
{
    int failure = next_number(rest, ',', bits, value);
    return failure ? failure : *rest ? FAIL_TRAILING : 0;
}

/* An optional last word. */
static int last_word(char **rest, const char *want, uint8_t *found)
{
    char *word = next_argument(rest, ',');
    *found = 0;
    if (!word) return 0;
    if (strcmp(word, want) != 0 || *rest) return FAIL_TRAILING;
    *found = 1;
    return 0;
}

/* A number or %label. */
static int address(const pttc *t, const char *word, uint64_t *value)
{
    if (word[0] == '%')
        return label_value(&t->code, word + 1, strlen(word + 1), value);
    return number(word, 64, value);
}

/* ---- packet directives ----
 *
 * Each fills a packet of the type that the table says; args is NULL if there
 * are none. Fields that libipt cuts are cut here, the others are for
 * ipt_pkt_encode to refuse. */

static int parse_none(pttc *t, char *args, ipt_packet *p)
{
    (void) t;
    p->size = 1; // of a PAD
    return args ? FAIL_TRAILING : 0;
}

static int parse_tnt(pttc *t, char *args, ipt_packet *p)
{
    (void) t;
    for (const char *s = args ? args : ""; *s; s++) {
        if (isspace((unsigned char) *s) || *s == '.') continue;
        if (*s != 't' && *s != 'n') return FAIL_CHARACTER;
        p->u.tnt.bits = p->u.tnt.bits << 1 | (*s == 't');
        if (p->u.tnt.count < UINT8_MAX) p->u.tnt.count++;
    }
    return 0;
}

static int parse_ip(pttc *t, char *args, ipt_packet *p)
{
    static const int8_t bits[] = {0, 16, 32, 48, 48, -1, 64};
    uint64_t ipc;
    uint64_t ip;
    char *word;
    int failure = next_number(&args, ':', 8, &ipc);
    if (failure || ipc >= sizeof bits || bits[ipc] < 0) return FAIL_IPC;
    word = next_argument(&args, ',');
    if (!word || !*word) return FAIL_IP;
    failure = address(t, word, &ip);
    if (failure) return failure;
    if (bits[ipc] < 64) ip &= ~(UINT64_MAX << bits[ipc]);
    p->u.ip.ipc = (uint8_t) ipc;
    p->u.ip.payload = ip;
    return args ? FAIL_TRAILING : 0;
}

static int parse_exec(pttc *t, char *args, ipt_packet *p)
{
    char *word = next_argument(&args, ',');
    (void) t;
    if (!word) return FAIL_NO_ARGUMENTS;
    p->u.exec.csl = strcmp(word, "64bit") == 0;
    p->u.exec.csd = strcmp(word, "32bit") == 0;
    if (!p->u.exec.csl && !p->u.exec.csd && strcmp(word, "16bit") != 0)
        return FAIL_PARSE;
    return last_word(&args, "if", &p->u.exec.iflag);
}

static int parse_tsx(pttc *t, char *args, ipt_packet *p)
{
    char *word = next_argument(&args, ',');
    (void) t;
    if (!word) return FAIL_NO_ARGUMENTS;
    p->u.tsx.intx = strcmp(word, "begin") == 0;
    p->u.tsx.abrt = strcmp(word, "abort") == 0;
    if (!p->u.tsx.intx && !p->u.tsx.abrt && strcmp(word, "commit") != 0)
        return FAIL_PARSE;
    return args ? FAIL_TRAILING : 0;
}

/* A bad second argument is not a failure: the packet is left out, as libipt's
 * pttc does. */
static int parse_pip(pttc *t, char *args, ipt_packet *p)
{
    uint64_t cr3;
    int failure = next_number(&args, ',', 64, &cr3);
    if (failure) return failure;
    p->u.pip.cr3 = cr3 & 0xfffffffffffe0;
    if (!last_word(&args, "nr", &p->u.pip.nr)) return 0;
    report(t, FAIL_PARSE, "pip: parsing failed");
    return WRITES_NOTHING;
}

static int parse_vmcs(pttc *t, char *args, ipt_packet *p)
{
    int failure = last_number(&args, 64, &p->u.vmcs.base);
    (void) t;
    p->u.vmcs.base &= 0xffffffffff000;
    return failure;
}

static int parse_tsc(pttc *t, char *args, ipt_packet *p)
{
    int failure = last_number(&args, 64, &p->u.tsc.value);
    (void) t;
    p->u.tsc.value &= UINT64_MAX >> 8;
    return failure;
}

static int parse_cbr(pttc *t, char *args, ipt_packet *p)
{
    uint64_t ratio = 0;
    int failure = last_number(&args, 8, &ratio);
    (void) t;
    p->u.cbr.ratio = (uint8_t) ratio;
    return failure;
}

static int parse_tma(pttc *t, char *args, ipt_packet *p)
{
    uint64_t ctc;
    uint64_t fc;
    int failure = next_number(&args, ',', 16, &ctc);
    (void) t;
    if (!failure) failure = last_number(&args, 16, &fc);
    if (failure) return failure;
    p->u.tma.ctc = (uint16_t) ctc;
    p->u.tma.fc = (uint16_t) fc;
    return 0;
}

static int parse_mtc(pttc *t, char *args, ipt_packet *p)
{
    uint64_t ctc = 0;
    int failure = last_number(&args, 8, &ctc);
    (void) t;
    p->u.mtc.ctc = (uint8_t) ctc;
    return failure;
}

static int parse_cyc(pttc *t, char *args, ipt_packet *p)
{
    (void) t;
    return last_number(&args, 64, &p->u.cyc.value);
}

static int parse_mnt(pttc *t, char *args, ipt_packet *p)
{
    (void) t;
    return last_number(&args, 64, &p->u.mnt.payload);
}

static int parse_exstop(pttc *t, char *args, ipt_packet *p)
{
    (void) t;
    return last_word(&args, "ip", &p->u.exstop.has_ip);
}

static int parse_mwait(pttc *t, char *args, ipt_packet *p)
{
    uint64_t hints;
    uint64_t ext;
    int failure = next_number(&args, ',', 32, &hints);
    (void) t;
    if (!failure) failure = last_number(&args, 32, &ext);
    if (failure) return failure;
    p->u.mwait.hints = (uint32_t) hints;
    p->u.mwait.ext = (uint32_t) ext;
    return 0;
}

/* The n of a C-state, which is sent as n - 1. */
static int c_number(const char *word, uint8_t *raw)
{
    uint64_t n;
    if (number(word, 8, &n) || n > 14) return FAIL_STATE;
    *raw = (uint8_t) (n - 1) & 15;
    return 0;
}

/* c<n>[.<m>]; sub NULL: without .<m> */
static int c_state(char *word, uint8_t *state, uint8_t *sub)
{
    char *dot;
    int failure = 0;
    if (!word) return FAIL_NO_ARGUMENTS;
    if (word[0] != 'c') return FAIL_STATE;
    dot = strchr(word, '.');
    if (dot && !sub) return FAIL_SUB_STATE;
    if (dot) *dot = 0;
    if (sub) failure = c_number(dot ? dot + 1 : "0", sub);
    return failure ? failure : c_number(word + 1, state);
}

static int parse_pwre(pttc *t, char *args, ipt_packet *p)
{
    char *word = next_argument(&args, ',');
    int failure = c_state(word, &p->u.pwre.state, &p->u.pwre.sub_state);
    (void) t;
    return failure ? failure : last_word(&args, "hw", &p->u.pwre.hw);
}

static int parse_pwrx(pttc *t, char *args, ipt_packet *p)
{
    char *word = next_argument(&args, ':');
    int failure;
    (void) t;
    if (!word) return FAIL_NO_ARGUMENTS;
    p->u.pwrx.interrupt = strcmp(word, "int") == 0;
    p->u.pwrx.store = strcmp(word, "st") == 0;
    p->u.pwrx.autonomous = strcmp(word, "hw") == 0;
    if (!p->u.pwrx.interrupt && !p->u.pwrx.store && !p->u.pwrx.autonomous)
        return FAIL_PARSE;
    failure = c_state(next_argument(&args, ','), &p->u.pwrx.last, NULL);
    if (failure) return failure;
    failure = c_state(next_argument(&args, ','), &p->u.pwrx.deepest, NULL);
    return failure ? failure : args ? FAIL_TRAILING : 0;
}

static int parse_ptw(pttc *t, char *args, ipt_packet *p)
{
    uint64_t plc;
    uint64_t payload;
    int failure = next_number(&args, ':', 8, &plc);
    (void) t;
    if (!failure) failure = next_number(&args, ',', 64, &payload);
    if (failure) return failure;
    p->u.ptw.plc = (uint8_t) plc;
    p->u.ptw.payload = plc == 0 ? payload & UINT32_MAX : payload;
    return last_word(&args, "ip", &p->u.ptw.has_ip);
}

static int needs_vector(uint64_t type)
{
    return type == IPT_CFE_INTR || type == IPT_CFE_SIPI
        || type == IPT_CFE_VMEXIT_INTR || type == IPT_CFE_UINTR
        || type == IPT_CFE_SWINTR;
}

static int parse_cfe(pttc *t, char *args, ipt_packet *p)
{
    char *head = next_argument(&args, ',');
    uint64_t type;
    uint64_t vector = 0;
    int failure = next_number(&head, ':', 8, &type);
    (void) t;
    if (!failure && (head || needs_vector(type)))
        failure = next_number(&head, ',', 8, &vector);
    if (failure) return failure;
    p->u.cfe.type = (uint8_t) type;
    p->u.cfe.vector = (uint8_t) vector;
    return last_word(&args, "ip", &p->u.cfe.has_ip);
}

static int parse_evd(pttc *t, char *args, ipt_packet *p)
{
    uint64_t type;
    int failure = next_number(&args, ':', 8, &type);
    (void) t;
    if (failure) return failure;
    p->u.evd.type = (uint8_t) type;
    return last_number(&args, 64, &p->u.evd.payload);
}

/* One of trig's words, in any order; unknown ones are passed over. */
static int trig_word(char *word, ipt_packet *p)
{
    char *rest = word;
    uint64_t icnt;
    int failure;
    word = next_argument(&rest, ':');
    if (strcmp(word, "ip") == 0) p->u.trig.has_ip = 1;
    if (strcmp(word, "mult") == 0) p->u.trig.mult = 1;
    if (strcmp(word, "icnt") != 0) return 0;
    failure = next_number(&rest, ',', 16, &icnt);
    if (failure) return failure;
    p->u.trig.icntv = 1;
    p->u.trig.icnt = (uint16_t) icnt;
    return 0;
}

static int parse_trig(pttc *t, char *args, ipt_packet *p)
{
    uint64_t trbv;
    int failure = next_number(&args, ',', 8, &trbv);
    (void) t;
    if (failure) return failure;
    p->u.trig.trbv = (uint8_t) trbv;
    while (args && !failure) failure = trig_word(next_argument(&args, ','), p);
    return failure;
}

typedef struct packet_directive {
    const char *name;
    uint8_t type;
    int (*parse)(pttc *t, char *args, ipt_packet *p);
} packet_directive;

static const packet_directive packet_directives[] = {
    {"psb", IPT_PKT_PSB, parse_none},
    {"psbend", IPT_PKT_PSBEND, parse_none},
    {"pad", IPT_PKT_PAD, parse_none},
    {"ovf", IPT_PKT_OVF, parse_none},
    {"stop", IPT_PKT_STOP, parse_none},
    {"tnt", IPT_PKT_TNT_8, parse_tnt},
    {"tnt64", IPT_PKT_TNT_64, parse_tnt},
    {"tip", IPT_PKT_TIP, parse_ip},
    {"tip.pge", IPT_PKT_TIP_PGE, parse_ip},
    {"tip.pgd", IPT_PKT_TIP_PGD, parse_ip},
    {"fup", IPT_PKT_FUP, parse_ip},
    {"mode.exec", IPT_PKT_MODE_EXEC, parse_exec},
    {"mode.tsx", IPT_PKT_MODE_TSX, parse_tsx},
    {"pip", IPT_PKT_PIP, parse_pip},
    {"vmcs", IPT_PKT_VMCS, parse_vmcs},
    {"tsc", IPT_PKT_TSC, parse_tsc},
    {"cbr", IPT_PKT_CBR, parse_cbr},
    {"tma", IPT_PKT_TMA, parse_tma},
    {"mtc", IPT_PKT_MTC, parse_mtc},
    {"cyc", IPT_PKT_CYC, parse_cyc},
    {"mnt", IPT_PKT_MNT, parse_mnt},
    {"exstop", IPT_PKT_EXSTOP, parse_exstop},
    {"mwait", IPT_PKT_MWAIT, parse_mwait},
    {"pwre", IPT_PKT_PWRE, parse_pwre},
    {"pwrx", IPT_PKT_PWRX, parse_pwrx},
    {"ptw", IPT_PKT_PTW, parse_ptw},
    {"cfe", IPT_PKT_CFE, parse_cfe},
    {"evd", IPT_PKT_EVD, parse_evd},
    {"trig", IPT_PKT_TRIG, parse_trig}
};

/* ---- writing the trace ---- */

static int write_trace(pttc *t, const void *bytes, size_t size)
{
    t->trace_size += size;
    return fwrite(bytes, 1, size, t->trace) == size ? 0 : FAIL_WRITE;
}

/* What ipt_pkt_encode refuses is a "bad packet" of libipt's, whose number 5
 * becomes the exit status, as if it were one of ours. */
static int write_packet(pttc *t, const char *name, const ipt_packet *p)
{
    uint8_t bytes[16];
    int size;
    if (p->type == IPT_PKT_TNT_8 && p->u.tnt.count == 0)
        return write_trace(t, "\x02", 1); /* no packet, but as libipt's pttc */
    size = ipt_pkt_encode(bytes, sizeof bytes, p);
    if (size >= 0) return write_trace(t, bytes, (size_t) size);
    report(t, FAIL_LIBRARY, "encoder error in directive %s (status %s)", name,
           tool_error_text(size));
    return FAIL_RANGE;
}

/* raw-8(n) to raw-64(n): the number of bytes, or 0 if it is something else. */
static unsigned raw_size(const char *name)
{
    static const char *const names[] = {"raw-8", "raw-16", "raw-32", "raw-64"};
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) return 1u << i;
    return 0;
}

static int parse_raw(const char *name, char *args, text *out)
{
    unsigned size = raw_size(name);
    uint64_t value;
    int failure = last_number(&args, 8 * size, &value);
    if (!failure) add_number(out, value, size);
    return failure;
}

static int run_raw(pttc *t, const char *name, char *args)
{
    text bytes = {NULL, 0, 0};
    int failure = parse_raw(name, args, &bytes);
    if (failure)
        report(t, failure, "%s: parsing failed", name);
    else
        failure = write_trace(t, bytes.at, bytes.size);
    free(bytes.at);
    return failure;
}

static int run_packet(pttc *t, const packet_directive *d, char *args)
{
    ipt_packet packet;
    int failure;
    memset(&packet, 0, sizeof packet);
    packet.type = d->type;
    failure = d->parse(t, args, &packet);
    if (failure == WRITES_NOTHING) return 0;
    if (failure) return report(t, failure, "%s: parsing failed", d->name);
    return write_packet(t, d->name, &packet);
}

static int run_pt(pttc *t, const char *name, char *args)
{
    const size_t count = sizeof packet_directives / sizeof *packet_directives;
    if (raw_size(name)) return run_raw(t, name, args);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, packet_directives[i].name) == 0)
            return run_packet(t, &packet_directives[i], args);
    return report(t, FAIL_UNKNOWN, "invalid syntax");
}

/* ---- sideband files ---- */

static int same_sideband(const sideband *s, const char *priority,
                         const char *format, const char *src)
{
    return strcmp(s->priority, priority) == 0 && strcmp(s->format, format) == 0
        && strcmp(s->source, src) == 0;
}

static int new_sideband(pttc *t, const char *priority, const char *format,
                        const char *src)
{
    sideband *s = resize(NULL, 1, sizeof *s);
    memset(s, 0, sizeof *s);
    s->priority = copy_text(priority, strlen(priority));
    s->format = copy_text(format, strlen(format));
    s->source = copy_text(src, strlen(src));
    s->name = join(t->root, *src ? "-" : "", src, "-", format, "-", priority,
                   ".sb", NULL);
    s->next = t->sideband;
    t->sideband = s;
    t->current_sideband = s;
    return open_output(s->name, &s->file);
}

/* primary(format[, src]), secondary(format[, src]) */
static int open_sideband(pttc *t, const char *priority, char *args)
{
    char *format = next_argument(&args, ',');
    char *src = next_argument(&args, ',');
    sideband *s = t->sideband;
    if (!format || !*format) return FAIL_NO_ARGUMENTS;
    if (args) return FAIL_TRAILING;
    if (!src) src = "";
    while (s && !same_sideband(s, priority, format, src)) s = s->next;
    if (!s) return new_sideband(t, priority, format, src);
    t->current_sideband = s;
    return 0;
}

static int write_sideband(sideband *s, const text *bytes)
{
    s->size += bytes->size;
    if (!bytes->size) return 0;
    return fwrite(bytes->at, 1, bytes->size, s->file) == bytes->size
        ? 0 : FAIL_WRITE;
}

/* Close a file. One of records has its configuration in its name. */
static int finish_sideband(pttc *t, sideband *s)
{
    int failure = close_output(&s->file);
    char number_text[24];
    char *name;
    if (failure || !s->is_pevent) return failure;
    snprintf(number_text, sizeof number_text, "%" PRIx64, s->sample_type);
    name = join(t->root, *s->source ? "-" : "", s->source, "-", s->format, "-",
                s->priority, ",sample-type=0x", number_text,
                ",time-zero=0x0,time-shift=0x0,time-mult=0x1.sb", NULL);
    if (rename(s->name, name)) failure = complain(name, FAIL_WRITE);
    free(s->name);
    s->name = name;
    return failure;
}

static int finish_sidebands(pttc *t)
{
    int failure = 0;
    for (sideband *s = t->sideband; s && !failure; s = s->next) {
        failure = finish_sideband(t, s);
        if (!failure) printf("%s ", s->name);
    }
    return failure;
}

static void free_sidebands(sideband *s)
{
    while (s) {
        sideband *next = s->next;
        close_output(&s->file);
        free(s->source);
        free(s->format);
        free(s->priority);
        free(s->name);
        free(s);
        s = next;
    }
}

/* ---- sideband records ---- */

/* What perf adds to each record, in the order of the arguments. */
typedef struct sample {
    const char *name;
    uint32_t bit;
    uint8_t place;        /* order in the record */
    uint8_t bits;         /* of a number */
    const char *number;   /* what messages call it */
    const char *second;   /* the same of a second number, or NULL */
} sample;

static const sample samples[] = {
    {"tid", 0x2, 0, 32, "pid", "tid"},
    {"time", 0x4, 1, 64, "tsc", NULL},
    {"id", 0x40, 2, 64, "id", NULL},
    {"cpu", 0x80, 4, 32, "cpu", NULL},
    {"stream", 0x200, 3, 64, "stream", NULL},
    {"identifier", 0x10000, 5, 64, "identifier", NULL}
};
#define SAMPLES (sizeof samples / sizeof *samples)

/* Keep what is wrong; returns the failure. */
static int explain(sideband *s, int failure, const char *first,
                   const char *second)
{
    snprintf(s->why, sizeof s->why, "%s%s", first, second);
    return failure;
}

static int sample_bits(const char *word, uint64_t *bits)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        if (strcmp(word, samples[i].name) == 0) {
            *bits = samples[i].bit;
            return 0;
        }
    }
    return number(word, 64, bits);
}

/* pevent-sample_type(list) */
static int set_sample_type(sideband *s, char *args)
{
    uint64_t all = 0;
    int failure = args ? 0 : FAIL_NO_ARGUMENTS;
    if (s->has_records)
        return explain(s, FAIL_SB_CONFIG, "the sideband configuration can no "
                       "longer be modified", "");
    while (args && !failure) {
        uint64_t bits = 0;
        failure = sample_bits(next_argument(&args, ','), &bits);
        all |= bits;
    }
    s->sample_type = all;
    return failure;
}

/* The next argument as a number of a sample; name NULL: there is none. */
static int sample_number(sideband *s, char **args, const char *name,
                         unsigned bits, uint64_t *value)
{
    char *word;
    int failure;
    *value = 0;
    if (!name) return 0;
    word = next_argument(args, ',');
    if (!word) return explain(s, FAIL_PARSE, name, " missing");
    failure = number(word, bits, value);
    return failure ? explain(s, failure, "bad ", name) : 0;
}

/* The samples of a record: one place each, in 8 bytes. */
static int add_samples(sideband *s, char **args, text *out)
{
    uint64_t values[SAMPLES];
    uint8_t present[SAMPLES] = {0};
    int failure = 0;
    for (size_t i = 0; i < SAMPLES && !failure; i++) {
        const sample *a = &samples[i];
        uint64_t value;
        uint64_t second;
        if (!(s->sample_type & a->bit)) continue;
        failure = sample_number(s, args, a->number, a->bits, &value);
        if (!failure)
            failure = sample_number(s, args, a->second, a->bits, &second);
        if (failure) return failure;
        values[a->place] = value | second << 32;
        present[a->place] = 1;
    }
    for (size_t i = 0; i < SAMPLES; i++)
        if (present[i]) add_number(out, values[i], 8);
    return *args ? explain(s, FAIL_PARSE, "unexpected samples", "") : 0;
}

/* A text with its NUL, filled up with zeros to a multiple of eight. */
static void add_string(text *out, const char *s)
{
    static const char zeros[8];
    size_t n = strlen(s);
    add(out, s, n);
    add(out, zeros, 8 - n % 8);
}

/* The fields of a record: '4' and '8' are numbers of that size, 's' a text. */
static int add_fields(const char *fields, char **args, text *out)
{
    int failure = 0;
    for (; *fields && !failure; fields++) {
        char *word = next_argument(args, ',');
        uint64_t value;
        if (*fields == 's' && word) {
            add_string(out, word);
        } else {
            unsigned size = *fields == '4' ? 4 : 8;
            failure = number(word, 8 * size, &value);
            if (!failure) add_number(out, value, size);
        }
    }
    return failure;
}

typedef struct record_directive {
    const char *name;
    uint16_t type;
    uint16_t misc;
    const char *fields;
} record_directive;

static const record_directive record_directives[] = {
    {"pevent-mmap", 1, 0, "44888s"},
    {"pevent-lost", 2, 0, "88"},
    {"pevent-comm", 3, 0, "44s"},
    {"pevent-comm.exec", 3, 0x2000, "44s"},
    {"pevent-exit", 4, 0, "44448"},
    {"pevent-fork", 7, 0, "44448"},
    {"pevent-aux", 11, 0, "888"},
    {"pevent-itrace-start", 12, 0, "44"},
    {"pevent-lost-samples", 13, 0, "8"},
    {"pevent-switch.in", 14, 0, ""},
    {"pevent-switch.out", 14, 0x2000, ""},
    {"pevent-switch-cpu-wide.in", 15, 0, "44"},
    {"pevent-switch-cpu-wide.out", 15, 0x2000, "44"}
};

static int write_record(sideband *s, uint16_t type, uint16_t misc,
                        const text *body)
{
    text bytes = {NULL, 0, 0};
    int failure;
    if (body->size > UINT16_MAX - 8) return FAIL_SB_FORMAT;
    add_number(&bytes, type, 4);
    add_number(&bytes, misc, 2);
    add_number(&bytes, body->size + 8, 2);
    if (body->size) add(&bytes, body->at, body->size);
    failure = write_sideband(s, &bytes);
    s->has_records = 1;
    free(bytes.at);
    return failure;
}

/* Add the samples to the fields of a record and write it. */
static int finish_record(sideband *s, uint16_t type, uint16_t misc,
                         char *args, text *body)
{
    int failure = add_samples(s, &args, body);
    return failure ? failure : write_record(s, type, misc, body);
}

static int run_record(sideband *s, const record_directive *d, char *args)
{
    text body = {NULL, 0, 0};
    int failure = add_fields(d->fields, &args, &body);
    if (!failure) failure = finish_record(s, d->type, d->misc, args, &body);
    free(body.at);
    return failure;
}

static int section_label(const pttc *t, const char *name, const char *what,
                         uint64_t *value)
{
    char *full = join("section_", name, what, NULL);
    int failure = label_value(&t->code, full, strlen(full), value);
    free(full);
    return failure;
}

/* The address, length and file offset of a section, and the file's name. */
static int add_section_fields(const pttc *t, const char *name, text *out)
{
    uint64_t start = 0;
    uint64_t vstart = 0;
    uint64_t length = 0;
    int failure = section_label(t, name, "_start", &start);
    if (!failure) failure = section_label(t, name, "_vstart", &vstart);
    if (!failure) failure = section_label(t, name, "_length", &length);
    if (!failure) {
        char *file = join(t->root, ".bin", NULL);
        add_number(out, vstart, 8);
        add_number(out, length, 8);
        add_number(out, start - t->org, 8);
        add_string(out, file);
        free(file);
    }
    return failure;
}

/* pevent-mmap-section(name, pid, tid) */
static int run_mmap_section(const pttc *t, sideband *s, char *args)
{
    text body = {NULL, 0, 0};
    const char *name = next_argument(&args, ',');
    int failure = name ? add_fields("44", &args, &body) : FAIL_NO_ARGUMENTS;
    if (!failure) failure = add_section_fields(t, name, &body);
    if (!failure) failure = finish_record(s, 1, 0, args, &body);
    free(body.at);
    return failure;
}

/* ---- sideband directives ---- */

static int run_sideband_raw(sideband *s, const char *name, char *args)
{
    text bytes = {NULL, 0, 0};
    int failure = parse_raw(name, args, &bytes);
    if (!failure) failure = write_sideband(s, &bytes);
    free(bytes.at);
    return failure;
}

static int run_pevent(pttc *t, sideband *s, const char *name, char *args)
{
    const size_t count = sizeof record_directives / sizeof *record_directives;
    s->is_pevent = 1;
    if (strcmp(name, "pevent-sample_type") == 0)
        return set_sample_type(s, args);
    if (strcmp(name, "pevent-mmap-section") == 0)
        return run_mmap_section(t, s, args);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, record_directives[i].name) == 0)
            return run_record(s, &record_directives[i], args);
    return FAIL_UNKNOWN;
}

static int is_opening(const char *name)
{
    return strcmp(name, "primary") == 0 || strcmp(name, "secondary") == 0;
}

static int run_sideband(pttc *t, const char *name, char *args)
{
    sideband *s = t->current_sideband;
    int is_raw = raw_size(name) != 0;
    int failure;
    if (!is_raw && !is_opening(name) && strncmp(name, "pevent-", 7) != 0)
        return report(t, FAIL_UNKNOWN, "invalid syntax");
    if (is_opening(name))
        failure = open_sideband(t, name, args);
    else if (!s)
        return report(t, FAIL_SB_NONE, "no sideband file");
    else if (is_raw)
        failure = run_sideband_raw(s, name, args);
    else
        failure = run_pevent(t, s, name, args);
    if (failure == FAIL_UNKNOWN) return report(t, failure, "invalid syntax");
    if (failure && s && s->why[0]) return report(t, failure, "%s", s->why);
    if (failure) report(t, failure, "%s: parsing failed", name);
    return failure;
}

/* ---- .exp: expected output ---- */

static char *expectation_name(const pttc *t, const char *tool)
{
    char cpu[48] = "";
    if (t->cpu.known)
        snprintf(cpu, sizeof cpu, "-cpu_%u_%u", t->cpu.family, t->cpu.model);
    if (t->cpu.known && t->cpu.stepping)
        snprintf(cpu + strlen(cpu), sizeof cpu - strlen(cpu), "_%u",
                 t->cpu.stepping);
    return join(t->root, "-", tool, cpu, ".exp", NULL);
}

/* .exp([tool]): the first one ends the trace. */
static int open_expectation(pttc *t, char *args)
{
    const char *tool = next_argument(&args, ',');
    int first = !t->exp;
    int failure = close_output(&t->exp);
    char *name;
    if (args) return report(t, FAIL_TRAILING, ".exp: parsing failed");
    if (!failure && first)
        failure = add_label(t, &t->packets, "eos", 3, &t->trace_size);
    if (failure) return report(t, failure, ".exp: parsing failed");
    name = expectation_name(t, tool ? tool : "");
    failure = open_output(name, &t->exp);
    if (!failure) printf("%s ", name);
    free(name);
    return failure;
}

/* How a label is to be printed. */
typedef struct label_form {
    char style;     /* '0', '?' or 0 */
    unsigned bytes; /* 8, or what .n says */
} label_form;

static void add_label_value(text *out, label_form form, uint64_t value)
{
    char digits[24];
    if (form.bytes < 8) value &= ~(UINT64_MAX << (8 * form.bytes));
    snprintf(digits, sizeof digits, form.style ? "%016" PRIx64 : "%" PRIx64,
             value);
    if (form.style == '?') memset(digits, '?', 16 - 2 * form.bytes);
    add(out, digits, strlen(digits));
}

/* The .n after a code label. */
static int read_label_bytes(const char **s, label_form *form)
{
    char *end;
    unsigned long n;
    if ((*s)[0] != '.' || !isdigit((unsigned char) (*s)[1])) return 0;
    n = strtoul(*s + 1, &end, 10);
    if (n > 8) return FAIL_TOO_BIG;
    form->bytes = (unsigned) n;
    *s = end;
    return 0;
}

/* Put the value of the label at *s, after its %, in its place. */
static int expand_label(const pttc *t, const char **s, text *out)
{
    label_form form = {0, 8};
    uint64_t value = 0;
    size_t length;
    int failure;
    if (**s == '0' || **s == '?') form.style = *(*s)++;
    length = label_length(*s);
    if (!length) return FAIL_NO_LABEL;
    failure = label_value(&t->packets, *s, length, &value);
    if (!failure) {
        *s += length;
    } else {
        failure = label_value(&t->code, *s, length, &value);
        *s += length;
        if (!failure) failure = read_label_bytes(s, &form);
    }
    if (!failure) add_label_value(out, form, value);
    return failure;
}

static int expand_labels(const pttc *t, const char *s, text *out)
{
    int failure = 0;
    while (*s && !failure) {
        size_t n = strcspn(s, "%");
        add(out, s, n);
        s += n;
        if (*s == '%') {
            s++;
            failure = expand_label(t, &s, out);
        }
    }
    return failure;
}

/* Copy the comment of a line to the file. */
static int write_expectation(pttc *t, const char *line)
{
    const char *comment = strchr(line, ';');
    text out = {NULL, 0, 0};
    char *copy;
    int failure;
    if (!comment) return 0;
    comment++;
    copy = copy_text(comment, strcspn(comment, "#"));
    cut_blanks(copy);
    failure = expand_labels(t, copy, &out);
    add(&out, "\n", 1);
    if (failure)
        report(t, failure, ".exp: parsing failed");
    else if (fwrite(out.at, 1, out.size, t->exp) != out.size)
        failure = FAIL_WRITE;
    free(copy);
    free(out.at);
    return failure;
}

/* ---- directives ---- */

/* @pt [label:]name(payload), or @sb */
typedef struct directive {
    char *label; /* NULL: none */
    char *name;  /* NULL: no directive in this line */
    char *args;  /* NULL: none */
    int sideband;
} directive;

/* The text after the first @pt or @sb of a comment; NULL if there is none. */
static char *find_directive(char *line, int *is_sideband)
{
    char *comment = strchr(line, ';');
    char *pt = comment ? strstr(comment, "@pt ") : NULL;
    char *sb = comment ? strstr(comment, "@sb ") : NULL;
    *is_sideband = sb && (!pt || sb < pt);
    if (*is_sideband) return sb + 4;
    return pt ? pt + 4 : NULL;
}

/* Take a line apart; it is changed. */
static int parse_directive(char *line, directive *d)
{
    char *s = find_directive(line, &d->sideband);
    char *open;
    char *close;
    char *colon;
    d->name = NULL;
    d->label = NULL;
    if (!s) return 0;
    open = strchr(s, '(');
    if (!open) return FAIL_PAREN;
    close = strchr(open, ')');
    if (!close) return FAIL_CLOSE;
    *open = 0;
    *close = 0;
    d->args = close > open + 1 ? open + 1 : NULL;
    colon = strchr(s, ':');
    if (colon) {
        *colon = 0;
        d->label = trim(s);
        s = colon + 1;
    }
    d->name = trim(s);
    return *d->name ? 0 : FAIL_MISSING;
}

/* A label of a sideband directive is an offset into the file that the
 * directive writes to or opens. */
static int add_packet_label(pttc *t, const directive *d, uint64_t value)
{
    int failure = 0;
    if (d->label)
        failure = add_label(t, &t->packets, d->label, strlen(d->label), &value);
    return failure ? report(t, failure, "label %s", d->label) : 0;
}

static int run_sideband_directive(pttc *t, const directive *d)
{
    const sideband *s = t->current_sideband;
    uint64_t size = s ? s->size : 0;
    int failure = run_sideband(t, d->name, d->args);
    if (failure) return failure;
    if (t->current_sideband != s) size = t->current_sideband->size;
    return add_packet_label(t, d, size);
}

static int run_directive(pttc *t, const directive *d)
{
    int failure;
    if (d->sideband) return run_sideband_directive(t, d);
    failure = add_packet_label(t, d, t->trace_size);
    if (failure) return failure;
    if (strcmp(d->name, ".exp") == 0) return open_expectation(t, d->args);
    return run_pt(t, d->name, d->args);
}

/* Once the expectations have begun, only .exp directives act. */
static int run_line(pttc *t, const char *line)
{
    char *copy = copy_text(line, strlen(line));
    directive d;
    int failure;
    lower_case(copy);
    failure = parse_directive(copy, &d);
    if (failure)
        report(t, failure, "invalid syntax");
    else if (d.name && (!t->exp
                        || (!d.sideband && strcmp(d.name, ".exp") == 0)))
        failure = run_directive(t, &d);
    else if (t->exp)
        failure = write_expectation(t, line);
    free(copy);
    return failure;
}

/* ---- lines, in the order of the listing ---- */

/* The file of that name, which is read if it was not yet. */
static int get_source(pttc *t, const char *name, source **s)
{
    for (size_t i = 0; i < t->source_count; i++) {
        *s = t->sources[i];
        if (strcmp((*s)->name, name) == 0) return 0;
    }
    *s = resize(NULL, 1, sizeof **s);
    t->sources = grow(t->sources, t->source_count, sizeof *t->sources);
    t->sources[t->source_count++] = *s;
    return load_source(*s, name);
}

/* Where the walk through the listing is. */
typedef struct walk {
    source *file;
    uint64_t line; /* of the next row */
    uint64_t step;
    uint64_t done; /* the line of the row before: rows of a macro are one */
} walk;

/* %line N+M FILE */
static int change_line(pttc *t, const char *s, walk *w)
{
    source *before = w->file;
    char *end;
    w->line = strtoull(s, &end, 10);
    if (*end != '+') return FAIL_PARSE;
    w->step = strtoull(end + 1, &end, 10);
    if (*end != ' ') return FAIL_PARSE;
    if (before && strcmp(before->name, end + 1) == 0) return 0;
    w->done = 0;
    return get_source(t, end + 1, &w->file);
}

/* Run the line that a row comes from, unless the row before came from it. */
static int run_row(pttc *t, walk *w)
{
    uint64_t line = w->line;
    w->line += w->step;
    if (!w->file || line == w->done || line == 0 || line > w->file->count)
        return 0;
    w->done = line;
    t->at = w->file;
    t->line = line;
    return run_line(t, w->file->lines[line - 1]);
}

static int run_lines(pttc *t)
{
    walk w = {NULL, 0, 0, 0};
    int goes_on = 0;
    int failure = 0;
    for (size_t i = 0; i < t->listing.count && !failure; i++) {
        row r;
        int continued = goes_on;
        read_row(t->listing.lines[i], &r);
        goes_on = r.goes_on;
        if (strncmp(r.text, "%line ", 6) == 0)
            failure = change_line(t, r.text + 6, &w);
        else if (!continued)
            failure = run_row(t, &w);
    }
    return failure;
}

/* ---- the program ---- */

/* The name of a file without folder and suffix. */
static char *root_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    return copy_text(name, dot ? (size_t) (dot - name) : strlen(name));
}

static int open_trace(pttc *t)
{
    char *name = join(t->root, ".pt", NULL);
    int failure = open_output(name, &t->trace);
    free(name);
    return failure;
}

static int keep(int failure, int next)
{
    return failure ? failure : next;
}

static int write_files(pttc *t)
{
    int failure = open_trace(t);
    if (!failure) failure = run_lines(t);
    failure = keep(failure, close_output(&t->trace));
    failure = keep(failure, close_output(&t->exp));
    return failure ? failure : finish_sidebands(t);
}

static void free_all(pttc *t)
{
    for (size_t i = 0; i < t->section_count; i++) free(t->sections[i].name);
    for (size_t i = 0; i < t->source_count; i++) {
        free_source(t->sources[i]);
        free(t->sources[i]);
    }
    free(t->sections);
    free(t->sources);
    free_source(&t->listing);
    free_labels(&t->code);
    free_labels(&t->packets);
    free_sidebands(t->sideband);
    free(t->root);
}

/* Models whose errata libipt knows, of families 6, 18 and 19. */
static int cpu_is_known(const tool_cpu *cpu)
{
    static const uint8_t models[] = {
        0x3d, 0x47, 0x4f, 0x56, 0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6, 0x55, 0x6a,
        0x6c, 0x8f, 0xcf, 0xad, 0xae, 0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7, 0xa8,
        0x97, 0x9a, 0xba, 0xb7, 0xbf, 0xc5, 0xc6, 0xb5, 0xaa, 0xac, 0xbd, 0xcc,
        0xd5, 0x5c, 0x5f, 0x7a, 0x86, 0x96, 0x9c, 0xb6, 0xaf, 0xdd
    };
    if (cpu->family == 18) return cpu->model == 1 || cpu->model == 3;
    if (cpu->family == 19) return cpu->model == 1;
    return cpu->family == 6 && memchr(models, cpu->model, sizeof models);
}

static int run(pttc *t)
{
    int failure;
    if (t->cpu.known && !cpu_is_known(&t->cpu)) {
        fprintf(stderr, "fatal: errata configuration failed -27: "
                "unknown cpu\n");
        return -27 & 0xff;
    }
    t->root = root_of(t->file);
    failure = assemble(t);
    if (!failure) failure = write_files(t);
    if (failure && failure != FAIL_YASM)
        fprintf(stderr, "fatal: %s\n", failure_text(failure));
    free_all(t);
    return failure;
}

/* ---- options ---- */

static int usage(const pttc *t, const char *format, const char *word)
{
    fprintf(stderr, "%s: ", t->program);
    fprintf(stderr, format, word);
    return 1;
}

static int parse_cpu(tool_args *args, pttc *t)
{
    const char *word = tool_argument(args, "--cpu");
    return word ? tool_parse_cpu(args, word, &t->cpu, ".") : 1;
}

/* Read the command line: -1 to go on, else the exit status. */
static int parse(tool_args *args, pttc *t)
{
    while (*args->next) {
        char *word = *args->next++;
        int status = 0;
        if (strncmp(word, "--cpu=", 6) == 0) {
            args->value = word + 6;
            word[5] = 0;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return tool_help(args, help, files_help);
        if (strcmp(word, "--version") == 0) return tool_version(args);
        if (strcmp(word, "--cpu") == 0)
            status = parse_cpu(args, t);
        else if (word[0] == '-')
            status = usage(t, "unrecognized option '%s'.\n", word);
        else if (t->file)
            status = usage(t, "only one pttfile can be specified.\n", NULL);
        else
            t->file = word;
        if (status) return status;
    }
    return t->file ? -1 : usage(t, "no pttfile specified.\n", NULL);
}

int main(int argc, char **argv)
{
    tool_args args = tool_begin(argc, argv, "pttc");
    pttc t;
    int status;
    memset(&t, 0, sizeof t);
    t.program = args.program;
    status = parse(&args, &t);
    return status >= 0 ? status : tool_end(&args, run(&t));
}
