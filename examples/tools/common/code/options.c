/* options.c: see options.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST 256 /* getopt_long returns this for the first long name */

typedef struct table {
    struct option *longs;  /* ends with one without a name */
    const char **words;    /* what the tool knows each of them by */
    size_t count;
    char *names;           /* all names, each with a zero at its end */
    size_t used;           /* ... in so many bytes */
    const char *shorts[128]; /* by letter: what the tool knows it by */
    char letters[2 + 2 * 128 + 1];
} table;

/* ---- which options there are ---- */

static const char *keep(table *t, const char *text, size_t length)
{
    char *const name = t->names + t->used;
    memcpy(name, text, length);
    name[length] = 0;
    t->used += length + 1;
    return name;
}

static void add_letter(table *t, char name, int has_argument,
                       const char *word)
{
    const unsigned char letter = (unsigned char) name & 127;
    char *end = t->letters + strlen(t->letters);
    if (t->shorts[letter]) return;
    t->shorts[letter] = word;
    *end++ = (char) letter;
    if (has_argument) *end++ = ':';
    *end = 0;
}

static int has(const table *t, const char *name, size_t length)
{
    for (size_t i = 0; i < t->count; i++)
        if (strlen(t->longs[i].name) == length
            && memcmp(t->longs[i].name, name, length) == 0)
            return 1;
    return 0;
}

/* A line of --help, from its dash. */
static void add_line(table *t, const char *line)
{
    const size_t names = strcspn(line, " \n");
    const int has_argument = line[names] == ' ' && line[names + 1] != ' '
                          && line[names + 1] != '\n';
    const char *word = NULL; /* the last long name, or a letter */
    for (int pass = 0; pass < 2; pass++)
        for (size_t at = 0; at < names; at++) {
            const size_t length = strcspn(line + at, "| \n");
            const int is_letter = length == 2;
            if (pass == 0) {
                if (!word || !is_letter) word = keep(t, line + at, length);
            } else if (is_letter) {
                add_letter(t, line[at + 1], has_argument, word);
            } else if (length > 2 && !has(t, line + at + 2, length - 2)) {
                t->longs[t->count].name = keep(t, line + at + 2, length - 2);
                t->longs[t->count].has_arg = has_argument;
                t->longs[t->count].val = FIRST + (int) t->count;
                t->words[t->count++] = word;
            }
            at += length;
        }
}

/* The next line about an option, from its dash; NULL. `text` is at the beginning
 * of a line, or in one that has been read. */
static const char *next_line(const char *text, int is_read)
{
    for (; *text; text += *text == '\n') {
        if (!is_read && text[0] == ' ' && text[1] == ' ' && text[2] == '-'
            && text[3] != ' ' && text[3] != '\n')
            return text + 2;
        text += strcspn(text, "\n");
        is_read = 0;
    }
    return NULL;
}

static void free_table(table *t)
{
    free(t->longs);
    free(t->words);
    free(t->names);
}

static int make_table(table *t, const char *const *help, int in_order)
{
    size_t size = 1;
    memset(t, 0, sizeof *t);
    for (unsigned i = 0; help[i]; i++) size += strlen(help[i]);
    /* Each name is kept twice at most, with a zero. It has 3 of the text's bytes at
     * least, with what is after it. */
    t->names = (char *) malloc(2 * size + 2);
    t->longs = (struct option *) calloc(size / 3 + 1, sizeof *t->longs);
    t->words = (const char **) calloc(size / 3 + 1, sizeof *t->words);
    if (!t->names || !t->longs || !t->words) return 0;
    strcpy(t->letters, in_order ? "+:" : ":");
    for (unsigned i = 0; help[i]; i++)
        for (const char *line = next_line(help[i], 0); line;
             line = next_line(line, 1))
            add_line(t, line);
    return 1;
}

/* ---- what is wrong ---- */

/* Would a user who wrote `name`, of so many letters, have meant that one? */
static int is_like(const char *other, const char *name, size_t length)
{
    return strncmp(other, name, length) == 0
        || (length > 2
            && tool_distance(other, name) <= (length > 3 ? 2u : 1u));
}

/* A word that is not an option: those that it is like. */
static void explain(const tool_args *args, const table *t, const char *word)
{
    char name[32];
    const char *text = "; similar:";
    size_t length;
    snprintf(name, sizeof name, "%.*s", (int) strcspn(word, "="), word);
    length = strlen(name);
    fprintf(stderr, "%s: unknown option: %s", args->program, name);
    for (size_t i = 0; length > 2 && i < t->count; i++)
        if (is_like(t->longs[i].name, name + 2, length - 2)) {
            fprintf(stderr, "%s --%s", text, t->longs[i].name);
            text = ",";
        }
    fputs(".  Use --help or -h for help.\n", stderr);
}

static int refuse(const tool_args *args, const table *t, int got, char **argv)
{
    const char *const word = argv[optind - 1];
    const char letter[3] = {'-', (char) optopt, 0};
    const char *name = letter;
    if (optopt >= FIRST) name = t->words[optopt - FIRST];
    if (got == ':')
        fprintf(stderr, "%s: %s: missing argument.\n", args->program, name);
    else if (optopt >= FIRST)
        fprintf(stderr, "%s: %s has no argument: %s.\n", args->program, name,
                word);
    else
        explain(args, t, optopt ? letter : word);
    return OPTIONS_WRONG;
}

/* ---- following them ---- */

static int print_help(const tool_args *args, const char *const *help)
{
    printf(help[0], args->program);
    for (unsigned i = 1; help[i]; i++) fputs(help[i], stdout);
    return tool_end(args, OPTIONS_DONE);
}

/* An argument that is a word by itself and an option's name was forgotten. */
static int is_forgotten(char **argv)
{
    return optarg
        && (!*optarg || (optarg == argv[optind - 1] && optarg[0] == '-'
                         && optarg[1] == '-'));
}

static int follow_all(tool_args *args, const table *t, const char *const *help,
                      options_follow *follow, void *context)
{
    static char *none = NULL;
    char **const argv = args->next - 1;
    int argc = 1;
    int got;
    while (argv[argc]) argc++;
    args->next = &none;
    optind = 1;
    opterr = 0;
    while ((got = getopt_long(argc, argv, t->letters, t->longs, NULL)) >= 0) {
        const char *word;
        int status;
        if (got == '?' || got == ':') return refuse(args, t, got, argv);
        word = got >= FIRST ? t->words[got - FIRST] : t->shorts[got];
        if (is_forgotten(argv)) {
            optopt = got;
            return refuse(args, t, ':', argv);
        }
        if (strcmp(word, "--help") == 0) return print_help(args, help);
        if (strcmp(word, "--version") == 0) return tool_version(args);
        args->value = optarg;
        status = follow(args, word, context);
        args->value = NULL;
        if (status == 0) {
            explain(args, t, word);
            return OPTIONS_WRONG;
        }
        if (status > 0) return status;
    }
    args->next = argv + optind;
    return -1;
}

int options_parse(tool_args *args, const char *const *help, int in_order,
                  options_follow *follow, void *context)
{
    table t;
    int status = OPTIONS_NOTHING;
    args->wrong = OPTIONS_WRONG;
    if (!*args->next) return -1;
    if (make_table(&t, help, in_order))
        status = follow_all(args, &t, help, follow, context);
    else
        fprintf(stderr, "%s: out of memory.\n", args->program);
    free_table(&t);
    return status;
}

static int more_than_one(const tool_args *args)
{
    fprintf(stderr, "%s: more than one file: %s.\n", args->program,
            args->next[1]);
    return OPTIONS_WRONG;
}

int options_file(const tool_args *args, const char **file)
{
    static const char usual[] = "perf.data";
    *file = *args->next ? *args->next : usual;
    if (*args->next) return args->next[1] ? more_than_one(args) : -1;
    if (access(usual, F_OK) == 0) return -1;
    fprintf(stderr, "%s: no file, and no perf.data here.  Use --help or -h for "
            "help.\n", args->program);
    return OPTIONS_WRONG;
}

int options_trace(const tool_args *args, tool_file *file)
{
    int status;
    if (*args->next && args->next[1]) return more_than_one(args);
    if (!*args->next) {
        fprintf(stderr, "%s: no trace.  Use --help or -h for help.\n",
                args->program);
        return OPTIONS_WRONG;
    }
    status = tool_load_argument(args, *args->next, OPTIONS_WRONG, file);
    return status ? status : -1;
}
