/* mutate.c: small faults planted in a C file, for mutate.sh.
 *
 *     mutate list FILE SEED      all mutants, those of a section in an order
 *                                that depends on SEED; a line for each:
 *                                NUMBER SECTION LINE WHERE OPERATOR KEY
 *     mutate apply FILE NUMBER   the file with this one in it
 *     mutate together FILE NUMBERS
 *                                the file with those of a list, of which the
 *                                program chooses: int ipti_mutant (mutant.c).
 *                                Only for mutants WHERE is `body`: of functions
 *
 * Operators: swap (an operator for another), number (a constant for one above
 * or below it), negate (a condition), delete (a statement, a `!`). KEY names
 * the mutant without its line: function: what stood there => what does now.
 * Sections are those of ipt_impl.h; directives but #define stay as they are. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct token {
    size_t at; /* where in the text */
    size_t size;
    char kind; /* a: name, 0: number, s: string, p: punctuation */
} token;

typedef struct mutant {
    size_t at; /* these bytes of the text ... */
    size_t size;
    char with[24]; /* ... become this; NEGATE: are put into !( ) */
    const char *operation;
    size_t from; /* what the key shows of the text */
    size_t to;
    int line;
    char section[16];
    char function[64];
    const size_t *body; /* of the function that it is in, or NULL */
    int repeat; /* how many before it in the function have the same key */
    uint64_t order;
} mutant;

#define NEGATE "!("
#define TOKENS 200000
#define MUTANTS 60000
#define BODIES 4000

static char *text;
static size_t text_size;
static token tokens[TOKENS];
static size_t token_count;
static mutant mutants[MUTANTS];
static size_t mutant_count;
static size_t bodies[BODIES][2]; /* of functions: from { past } */
static size_t body_count;

static void die(const char *why)
{
    fprintf(stderr, "mutate: %s\n", why);
    exit(2);
}

/* ---- tokens ---- */

static void load(const char *name)
{
    FILE *f = fopen(name, "rb");
    const size_t room = 4000000;

    text = (char *) calloc(room + 1, 1);
    if (!f || !text)
        die("the file cannot be read");
    text_size = fread(text, 1, room, f);
    fclose(f);
}

/* The size of the comment, string or directive at p that is no code; 0: none.
 * A #define counts up to the end of its name and parameters. */
static size_t no_code(const char *p)
{
    const char *q = p;

    if (!strncmp(p, "/*", 2))
        return (size_t) (strstr(p + 2, "*/") + 2 - p);
    if (!strncmp(p, "//", 2))
        return strcspn(p, "\n");
    if (*p == '#' && (p == text || p[-1] == '\n')) {
        if (!strncmp(p, "#define ", 8)) {
            q += 8;
            while (isalnum((unsigned char) *q) || *q == '_')
                q++;
            return *q == '(' ? strcspn(p, ")") + 1 : (size_t) (q - p);
        }
        while (*q != '\n' && strncmp(q, "/*", 2))
            q += *q == '\\' ? 2 : 1;
        return (size_t) (q - p);
    }
    return 0;
}

static size_t punctuation(const char *p)
{
    static const char *const longer[]
        = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==",
           "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
           "##"};
    size_t i;

    for (i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
        if (!strncmp(p, longer[i], strlen(longer[i])))
            return strlen(longer[i]);
    return 1;
}

static void tokenize(void)
{
    const char *p = text;

    while (*p) {
        token *t = &tokens[token_count];
        size_t n = no_code(p);
        if (n || isspace((unsigned char) *p) || *p == '\\') {
            p += n ? n : 1;
            continue;
        }
        t->at = (size_t) (p - text);
        if (isalpha((unsigned char) *p) || *p == '_') {
            t->kind = 'a';
            while (isalnum((unsigned char) p[n]) || p[n] == '_')
                n++;
        } else if (isdigit((unsigned char) *p)) {
            t->kind = '0';
            while (isalnum((unsigned char) p[n]))
                n++;
        } else if (*p == '"' || *p == '\'') {
            t->kind = 's';
            for (n = 1; p[n] != *p; n++)
                n += p[n] == '\\';
            n++;
        } else {
            t->kind = 'p';
            n = punctuation(p);
        }
        t->size = n;
        p += n;
        if (++token_count == TOKENS)
            die("too many tokens");
    }
}

static int is(size_t i, const char *what)
{
    return i < token_count && tokens[i].size == strlen(what)
           && !strncmp(text + tokens[i].at, what, tokens[i].size);
}

static int is_one(size_t i, const char *const *words)
{
    for (; *words; words++)
        if (is(i, *words))
            return 1;
    return 0;
}

static size_t end_of(size_t i)
{
    return tokens[i].at + tokens[i].size;
}

/* The bracket that closes the one at i. */
static size_t closing(size_t i)
{
    int depth = 0;

    for (; i < token_count; i++) {
        depth += is(i, "(") || is(i, "[") || is(i, "{");
        depth -= is(i, ")") || is(i, "]") || is(i, "}");
        if (depth == 0)
            return i;
    }
    return token_count - 1;
}

/* ---- mutants ---- */

static void plant(const char *operation, size_t at, size_t size,
                  const char *with, size_t from, size_t to)
{
    mutant *m = &mutants[mutant_count++];

    if (mutant_count == MUTANTS)
        die("too many mutants");
    m->operation = operation;
    m->at = at;
    m->size = size;
    snprintf(m->with, sizeof(m->with), "%s", with);
    m->from = from;
    m->to = to;
}

/* One whose key shows the line. */
static void plant_token(const char *operation, size_t i, const char *with)
{
    size_t from = tokens[i].at;
    size_t to = end_of(i);

    while (from > 0 && text[from - 1] != '\n')
        from--;
    to += strcspn(text + to, "\n");
    plant(operation, tokens[i].at, tokens[i].size, with, from, to);
}

/* Does an operand end with this token, so that what follows is binary? */
static int operand(size_t i)
{
    static const char *const words[] = {"return", "case", "sizeof", NULL};

    return tokens[i].kind == '0' || is(i, ")") || is(i, "]")
           || (tokens[i].kind == 'a' && !is_one(i, words));
}

/* A name of a type, after which a star declares a pointer. */
static int type_name(size_t i)
{
    static const char *const words[] = {"int",  "char", "void", "unsigned",
                                        "type", NULL};
    const size_t size = tokens[i].size;

    return tokens[i].kind == 'a'
           && (is_one(i, words)
               || (size > 2 && text[tokens[i].at + size - 2] == '_'
                   && text[tokens[i].at + size - 1] == 't')
               || !strncmp(text + tokens[i].at, "ipt_", 4));
}

static void swap(size_t i)
{
    static const char *const swaps[][3]
        = {{"+", "-", NULL},   {"-", "+", NULL},   {"*", "+", NULL},
           {"/", "*", NULL},   {"%", "/", NULL},   {"<", "<=", ">="},
           {">", ">=", "<="},  {"<=", "<", ">"},   {">=", ">", "<"},
           {"==", "!=", NULL}, {"!=", "==", NULL}, {"&&", "||", NULL},
           {"||", "&&", NULL}, {"&", "|", NULL},   {"|", "&", NULL},
           {"^", "|", NULL},   {"<<", ">>", NULL}, {">>", "<<", NULL},
           {"+=", "-=", "="},  {"-=", "+=", "="},  {"*=", "+=", NULL},
           {"/=", "*=", NULL}, {"%=", "/=", NULL}, {"&=", "|=", "="},
           {"|=", "&=", "="},  {"^=", "|=", NULL}, {"++", "--", NULL},
           {"--", "++", NULL}, {"<<=", ">>=", NULL}, {">>=", "<<=", NULL}};
    const int unary = tokens[i].size == 1 && !operand(i - 1);
    size_t k;

    if ((is(i, "*") && (type_name(i - 1) || is(i - 1, ")"))) || unary)
        return;
    for (k = 0; k < sizeof(swaps) / sizeof(swaps[0]); k++)
        if (is(i, swaps[k][0])) {
            plant_token("swap", i, swaps[k][1]);
            if (swaps[k][2])
                plant_token("swap", i, swaps[k][2]);
        }
}

static void number(size_t i)
{
    const char *const p = text + tokens[i].at;
    char *end;
    const unsigned long long n = strtoull(p, &end, 0);
    char other[24];

    if (n != 1) { /* 2 would stand for true as 1 does */
        snprintf(other, sizeof(other), "0x%llx%.*s", n + 1,
                 (int) (p + tokens[i].size - end), end);
        plant_token("number", i, other);
    }
    if (n > 0) {
        snprintf(other, sizeof(other), "0x%llx%.*s", n - 1,
                 (int) (p + tokens[i].size - end), end);
        plant_token("number", i, other);
    }
}

/* if (..), while (..), and what stands before a question mark. */
static void negate(size_t i)
{
    const size_t last = closing(i + 1);

    plant("negate", end_of(i + 1), tokens[last].at - end_of(i + 1), NEGATE,
          tokens[i].at, end_of(last));
}

/* A statement that begins with this token: an assignment, a call, a jump. */
static void statement(size_t i)
{
    static const char *const others[]
        = {"if",     "else",   "while", "for",    "do",     "switch", "return",
           "case",   "default", "const", "static", "typedef", "struct",
           "extern", "enum",   "goto",  "IPTI_STATIC_ASSERT", "IPT_API", NULL};
    size_t last = i;

    if (tokens[i].kind != 'a' && !is(i, "++") && !is(i, "--") && !is(i, "*")
        && !is(i, "("))
        return;
    if (is_one(i, others) || is(i + 1, ":")
        || (tokens[i].kind == 'a'
            && (tokens[i + 1].kind == 'a'
                || (is(i + 1, "*") && tokens[i + 2].kind == 'a'))))
        return;
    while (last < token_count && !is(last, ";")) {
        if (is(last, "{") || is(last, "}"))
            return;
        last = is(last, "(") ? closing(last) + 1 : last + 1;
    }
    if (last < token_count)
        plant("delete", tokens[i].at, tokens[last].at - tokens[i].at, "",
              tokens[i].at, end_of(last));
}

static void find_mutants(void)
{
    static const char *const conditions[] = {"if", "while", NULL};
    size_t condition = 0; /* where one ends; a statement follows */
    int depth = 0;
    int inside = 0; /* of parentheses */
    size_t i;

    for (i = 1; i < token_count; i++) {
        if (is(i, "IPTI_STATIC_ASSERT")) {
            i = closing(i + 1);
            continue;
        }
        depth += is(i, "{");
        depth -= is(i, "}");
        inside += is(i, "(");
        inside -= is(i, ")");
        if (tokens[i].kind == 'p')
            swap(i);
        if (tokens[i].kind == '0')
            number(i);
        if (is(i, "!"))
            plant_token("delete", i, "");
        if (is_one(i, conditions) && is(i + 1, "(")) {
            negate(i);
            condition = closing(i + 1);
        }
        if (is(i, "for") && is(i + 1, "("))
            condition = closing(i + 1);
        if (depth > 0 && (!inside || is(i, "("))
            && (is(i - 1, ";") || is(i - 1, "{") || is(i - 1, "}")
                || is(i - 1, "else") || is(i - 1, ":")
                || (condition && condition == i - 1)))
            statement(i);
    }
}

/* ---- where they are ---- */

static uint64_t hash_text(uint64_t hash, const char *p)
{
    while (*p)
        hash = (hash ^ (uint8_t) *p++) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* The name that a line in column 1 defines: before ( or [ or =. */
static void name_function(char *to, const char *line)
{
    size_t n = strcspn(line, "([=\n");
    size_t from;

    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '='))
        n--;
    from = n;
    while (from > 0
           && (isalnum((unsigned char) line[from - 1])
               || line[from - 1] == '_'))
        from--;
    snprintf(to, 64, "%.*s", (int) (n - from), line + from);
}

/* Functions have their braces in column 1, and nothing else has. */
static void find_bodies(void)
{
    const char *p = text;
    const char *end;

    while ((p = strstr(p, "\n{\n")) && (end = strstr(p, "\n}\n"))) {
        if (body_count == BODIES)
            die("too many functions");
        bodies[body_count][0] = (size_t) (p + 1 - text);
        bodies[body_count++][1] = (size_t) (end + 2 - text);
        p = end;
    }
}

static int by_place(const void *a, const void *b)
{
    const mutant *x = (const mutant *) a;
    const mutant *y = (const mutant *) b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* Fill in line, section, function and body of each. */
static void locate(void)
{
    char section[16] = "";
    char function[64] = "";
    const char *line = text;
    const char *before = "";
    size_t i = 0;
    size_t body = 0;
    int number_of = 1;

    qsort(mutants, mutant_count, sizeof(mutants[0]), by_place);
    while (*line) {
        const char *end = line + strcspn(line, "\n");
        if (!strncmp(line, " * [", 4) && !strncmp(before, "/* ====", 7))
            snprintf(section, sizeof(section), "%.*s",
                     (int) strcspn(line + 4, "]"), line + 4);
        if (!strncmp(line, "#define ", 8))
            snprintf(function, sizeof(function), "%.*s",
                     (int) strcspn(line + 8, " (\n\\"), line + 8);
        else if (isalpha((unsigned char) *line))
            name_function(function, line);
        for (; i < mutant_count && text + mutants[i].at < end; i++) {
            mutants[i].line = number_of;
            strcpy(mutants[i].section, section);
            strcpy(mutants[i].function, function);
            while (body < body_count && bodies[body][1] <= mutants[i].at)
                body++;
            if (body < body_count && bodies[body][0] <= mutants[i].at)
                mutants[i].body = bodies[body];
        }
        before = line;
        line = end + (*end != 0);
        number_of++;
    }
}

/* ---- output ---- */

/* Append [from, to) with each run of blanks as one. */
static void squeeze(char *out, size_t room, const char *from, const char *to)
{
    size_t n = strlen(out);
    int blank = n == 0 || out[n - 1] == ' ';

    for (; from < to && n + 1 < room; from++) {
        if (isspace((unsigned char) *from) || *from == '\\') {
            if (!blank)
                out[n++] = ' ';
            blank = 1;
        } else {
            out[n++] = *from;
            blank = 0;
        }
    }
    out[n] = 0;
}

/* Without the blank that a line of a macro ends with. */
static const char *trimmed(char *out)
{
    const size_t n = strlen(out);

    if (n > 0 && out[n - 1] == ' ')
        out[n - 1] = 0;
    return out;
}

static void make_key(const mutant *m, char *key, size_t room)
{
    const char *at = text + m->at;
    char was[400] = "";
    char becomes[400] = "";

    squeeze(was, sizeof(was), text + m->from, text + m->to);
    squeeze(becomes, sizeof(becomes), text + m->from, at);
    squeeze(becomes, sizeof(becomes), m->with, m->with + strlen(m->with));
    if (!strcmp(m->with, NEGATE)) {
        squeeze(becomes, sizeof(becomes), at, at + m->size);
        squeeze(becomes, sizeof(becomes), ")", &")"[1]);
    }
    squeeze(becomes, sizeof(becomes), at + m->size, text + m->to);
    snprintf(key, room, "%s: %s => %s", m->function, trimmed(was),
             trimmed(becomes));
    if (m->repeat > 0) /* the second one is (2) */
        snprintf(key + strlen(key), room - strlen(key), " (%d)", m->repeat + 1);
}

/* Mutants with one key in a function are numbered. */
static void number_repeats(void)
{
    static uint64_t seen[MUTANTS];
    char key[1000];
    size_t i, j;

    for (i = 0; i < mutant_count; i++) {
        make_key(&mutants[i], key, sizeof(key));
        seen[i] = hash_text(0, key);
        for (j = i; j > 0
             && !strcmp(mutants[j - 1].function, mutants[i].function); j--)
            mutants[i].repeat += seen[j - 1] == seen[i];
    }
}

static int by_order(const void *a, const void *b)
{
    const mutant *x = &mutants[*(const size_t *) a];
    const mutant *y = &mutants[*(const size_t *) b];

    return x->order < y->order ? -1 : x->order > y->order;
}

static void list(const char *seed)
{
    static size_t order[MUTANTS];
    char key[1000];
    size_t i;

    number_repeats();
    for (i = 0; i < mutant_count; i++) {
        order[i] = i;
        make_key(&mutants[i], key, sizeof(key));
        mutants[i].order = hash_text(hash_text(i, seed), key);
    }
    qsort(order, mutant_count, sizeof(order[0]), by_order);
    for (i = 0; i < mutant_count; i++) {
        const mutant *m = &mutants[order[i]];
        make_key(m, key, sizeof(key));
        printf("%lu %s %d %s %s %s\n", (unsigned long) order[i], m->section,
               m->line, m->body ? "body" : "file", m->operation, key);
    }
}

/* The text from one place to another, with a mutant in it. */
static void write_mutated(const mutant *m, size_t from, size_t to)
{
    const int negated = !strcmp(m->with, NEGATE);

    fwrite(text + from, 1, m->at - from, stdout);
    fputs(m->with, stdout);
    if (negated) {
        fwrite(text + m->at, 1, m->size, stdout);
        putchar(')');
    }
    from = m->at + m->size;
    fwrite(text + from, 1, to - from, stdout);
}

/* A body becomes a switch with a body for each of its mutants, all of them
 * whole: whatever stands in one need not be understood to do this. A compiler's
 * errors name the mutant as their file. */
static void write_body(const size_t *body, const char *wanted)
{
    size_t i;

    printf("{ switch (ipti_mutant) {\n");
    for (i = 0; i < mutant_count; i++) {
        if (!wanted[i] || mutants[i].body != body)
            continue;
        printf("case %lu:\n#line 1 \"mutant-%lu\"\n", (unsigned long) i,
               (unsigned long) i);
        write_mutated(&mutants[i], body[0], body[1]);
        printf("break;\n");
    }
    printf("default:\n#line 1 \"ipt_impl.h\"\n");
    fwrite(text + body[0], 1, body[1] - body[0], stdout);
    printf("break;\n} }");
}

static void together(const char *numbers)
{
    static char wanted[MUTANTS];
    FILE *f = fopen(numbers, "r");
    unsigned long number_of;
    size_t at = 0;
    size_t i;

    if (!f)
        die("the list of numbers cannot be read");
    while (fscanf(f, "%lu", &number_of) == 1) {
        if (number_of >= mutant_count || !mutants[number_of].body)
            die("not a mutant in a function's body");
        wanted[number_of] = 1;
    }
    fclose(f);
    printf("extern int ipti_mutant;\n");
    for (i = 0; i < mutant_count; i++) {
        const size_t *const body = mutants[i].body;
        if (!wanted[i] || body[0] < at)
            continue;
        fwrite(text + at, 1, body[0] - at, stdout);
        write_body(body, wanted);
        at = body[1];
    }
    fwrite(text + at, 1, text_size - at, stdout);
}

int main(int argc, char **argv)
{
    const char *const what = argc == 4 ? argv[1] : "";

    if (!*what)
        die("mutate list FILE SEED | apply FILE NUMBER "
            "| together FILE NUMBERS");
    load(argv[2]);
    tokenize();
    find_mutants();
    find_bodies();
    locate();
    if (!strcmp(what, "list"))
        list(argv[3]);
    else if (!strcmp(what, "together"))
        together(argv[3]);
    else if (strtoul(argv[3], NULL, 10) < mutant_count)
        write_mutated(&mutants[strtoul(argv[3], NULL, 10)], 0, text_size);
    else
        die("there is no such mutant");
    return 0;
}
