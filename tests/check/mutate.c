/* mutate.c: small faults planted in a C file, and the rows that name them.
 *
 *     mutate list FILE SEED LIST  all mutants, those of a section in an order
 *                                 that depends on SEED; a line for each:
 *                                 NUMBER SECTION LINE WHERE OPERATOR LISTED KEY
 *                                 LISTED: `listed` if a row of LIST is this one
 *     mutate apply FILE NUMBER    the file with this one in it
 *     mutate together FILE NUMBERS
 *                                 the file with those of a list, of which the
 *                                 program chooses: int ipti_mutant (mutant.c).
 *                                 Only if WHERE is `body`: of functions
 *     mutate plant FILE ROW       the file with what the row says in it
 *     mutate stale FILE LIST...   rows that no longer name one place, and why
 *
 * Operators: swap (an operator for another), number (a constant for one above
 * or below it), negate (a condition), delete (a statement, a `!`).
 *
 * A row, as the KEY after the section of a mutant is one:
 *
 *     [section] function: was => becomes          or
 *     WHO [section] function: was => becomes (2 of 3)
 *
 * WAS is code of that function, macro or table, from the beginning of a token
 * to the end of one; blanks and comments do not count. It stands there once, or
 * as often as the row says. BECOMES may be nothing. Two faults are one if they
 * make the same function. A row that finds nothing, or more than it says, is
 * stale: `mutate stale` names it. Lines of a list that begin with # or a blank
 * are comments, but for a blank and a [. Sections are those of ipt_impl.h;
 * directives but #define are not code. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct token {
    size_t at; /* where in the text */
    size_t size;
    char kind; /* a: name, 0: number, s: string, p: punctuation */
    char first; /* of what follows a directive, or of a #define */
} token;

/* Tokens from one to before another: a function, a macro, a table. */
typedef struct region {
    char section[16];
    char function[64];
    size_t from;
    size_t to;
} region;

typedef struct mutant {
    size_t first; /* the tokens from here to before there ... */
    size_t past;
    char with[24]; /* ... become this; NEGATE: are put into !( ) */
    const char *operation;
    size_t from; /* those that the key shows */
    size_t to;
    const region *in;
    int line;
    const size_t *body; /* of the function that it is in, or NULL */
    uint64_t order;
} mutant;

/* A row that was read, and found. */
typedef struct row {
    char section[16];
    char function[64];
    const char *was; /* not blank */
    size_t was_size;
    const char *becomes;
    size_t becomes_size;
    int nth; /* of so many; 0: of one */
    int of;
    const region *in; /* where it is, and from what token to before what */
    size_t first;
    size_t past;
} row;

#define NEGATE "!("
#define TOKENS 200000
#define MUTANTS 60000
#define BODIES 4000
#define REGIONS 8000
#define ROWS 4000

static char *text;
static size_t text_size;
static token tokens[TOKENS];
static size_t token_count;
static mutant mutants[MUTANTS];
static size_t mutant_count;
static size_t bodies[BODIES][2]; /* of functions: from { past } */
static size_t body_count;
static region regions[REGIONS];
static size_t region_count;

static void die(const char *why)
{
    fprintf(stderr, "mutate: %s\n", why);
    exit(2);
}

/* ---- tokens ---- */

static char *load(const char *name, size_t *size)
{
    FILE *f = fopen(name, "rb");
    const size_t room = 4000000;
    char *const to = (char *) calloc(room + 1, 1);

    if (!f || !to)
        die("the file cannot be read");
    *size = fread(to, 1, room, f);
    fclose(f);
    return to;
}

/* The size of the comment, string or directive at p that is not code; 0: none.
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
    int defining = 0;
    int first = 1;

    while (*p) {
        token *t = &tokens[token_count];
        size_t n = no_code(p);
        if (n || isspace((unsigned char) *p) || *p == '\\') {
            if (n && *p == '#')
                first = defining = 1;
            else if (defining && *p == '\n' && p[-1] != '\\')
                first = 1, defining = 0;
            p += n ? n : 1;
            continue;
        }
        t->first = (char) first;
        first = 0;
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

static void plant(const char *operation, size_t first, size_t past,
                  const char *with, size_t from, size_t to)
{
    mutant *m = &mutants[mutant_count++];

    if (mutant_count == MUTANTS)
        die("too many mutants");
    m->operation = operation;
    m->first = first;
    m->past = past;
    snprintf(m->with, sizeof(m->with), "%s", with);
    m->from = from;
    m->to = to;
}

static int is_open(size_t i)
{
    return is(i, "(") || is(i, "[") || is(i, "{");
}

static int is_close(size_t i)
{
    return is(i, ")") || is(i, "]") || is(i, "}");
}

/* What a clause ends with, outside of its brackets. */
static int is_between(size_t i)
{
    static const char *const words[]
        = {";",  "{",  "}",  ",",  "?",  ":",  "&&",  "||",  "=",      "+=",
           "-=", "*=", "/=", "%=", "&=", "|=", "^=",  "<<=", ">>=",    "return",
           "case", "else", "do", "goto", NULL};

    return is_one(i, words);
}

/* The first token of the clause that i is in or that ends before it. The
 * condition of a statement is not part of it. */
static size_t clause(size_t i)
{
    static const char *const words[] = {"if", "while", "for", "switch", NULL};
    size_t from = i; /* of what is not in brackets */
    int depth = 0;

    for (; i > 0 && !tokens[i].first; i--) {
        if (depth == 0) {
            if (is_one(i - 1, words))
                break;
            from = i;
            if (is_between(i - 1) || is_open(i - 1))
                break;
        }
        depth += is_close(i - 1);
        depth -= is_open(i - 1);
    }
    return i > 0 && is_one(i - 1, words) ? from : i;
}

/* The one after the last token of the clause that i is in or that it begins. */
static size_t clause_end(size_t i)
{
    int depth = is_open(i);

    for (i++; i < token_count && !tokens[i].first; i++) {
        if (depth == 0 && (is_between(i) || is_close(i)))
            break;
        depth += is_open(i);
        depth -= is_close(i);
    }
    return i;
}

/* The bracket that is open at i, or i. */
static size_t opening(size_t i)
{
    const size_t from = i;
    int depth = 0;

    for (; i > 0 && !tokens[i].first; i--) {
        if (depth == 0 && is_open(i - 1))
            return i - 1;
        depth += is_close(i - 1);
        depth -= is_open(i - 1);
    }
    return from;
}

/* The clause of a token. One that is alone has with it the call or the index
 * that it is in, or the clause before it: f(x, 1), x[1], n ? 2, x = 0. */
static void around(size_t i, size_t *from, size_t *to)
{
    size_t open;

    *from = clause(i);
    *to = clause_end(i);
    if (*to - *from > 1 || tokens[i].first)
        return;
    if (is(i - 1, ",") || is(i - 1, "(") || is(i - 1, "[")) {
        open = opening(i);
        if (open == i || is(open, "{"))
            return;
        *to = closing(open) + 1;
        *from = open;
        if (!tokens[open].first && tokens[open - 1].kind == 'a')
            *from = open - 1;
    } else if (is(i - 1, "return") || is(i - 1, "case"))
        *from = i - 1;
    else if (is_between(i - 1) && !is(i - 1, ";") && !is(i - 1, "{")
             && !is(i - 1, "}"))
        *from = clause(i - 1);
}

static void plant_token(const char *operation, size_t i, const char *with)
{
    size_t from, to;

    around(i, &from, &to);
    plant(operation, i, i + 1, with, from, to);
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

    plant("negate", i + 2, last, NEGATE, i, last + 1);
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
        plant("delete", i, last, "", i, last + 1);
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

    while (n > 0 && !isalnum((unsigned char) line[n - 1])
           && line[n - 1] != '_')
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

    return x->first < y->first ? -1 : x->first > y->first;
}

/* The tokens of a line are in a region; begin it if it is another one. */
static void add_region(const char *section, const char *function, size_t from,
                       size_t to)
{
    region *r = &regions[region_count];

    if (from == to)
        return;
    if (region_count > 0 && !strcmp(r[-1].section, section)
        && !strcmp(r[-1].function, function)) {
        r[-1].to = to;
        return;
    }
    if (++region_count == REGIONS)
        die("too many functions");
    strcpy(r->section, section);
    strcpy(r->function, function);
    r->from = from;
    r->to = to;
}

/* Find the regions, and the line, the region and the body of each mutant. */
static void locate(void)
{
    char section[16] = "";
    char function[64] = "";
    const char *line = text;
    const char *before = "";
    size_t t = 0;
    size_t i = 0;
    size_t body = 0;
    int number_of = 1;

    qsort(mutants, mutant_count, sizeof(mutants[0]), by_place);
    while (*line) {
        const char *end = line + strcspn(line, "\n");
        const size_t from = t;
        if (!strncmp(line, " * [", 4) && !strncmp(before, "/* ====", 7))
            snprintf(section, sizeof(section), "%.*s",
                     (int) strcspn(line + 4, "]"), line + 4);
        if (!strncmp(line, "#define ", 8))
            snprintf(function, sizeof(function), "%.*s",
                     (int) strcspn(line + 8, " (\n\\"), line + 8);
        else if (isalpha((unsigned char) *line))
            name_function(function, line);
        while (t < token_count && text + tokens[t].at < end)
            t++;
        add_region(section, function, from, t);
        for (; i < mutant_count && mutants[i].first < t; i++) {
            const size_t at = tokens[mutants[i].first].at;
            mutants[i].line = number_of;
            mutants[i].in = &regions[region_count - 1];
            while (body < body_count && bodies[body][1] <= at)
                body++;
            if (body < body_count && bodies[body][0] <= at)
                mutants[i].body = bodies[body];
        }
        before = line;
        line = end + (*end != 0);
        number_of++;
    }
}

/* ---- rows ---- */

/* How far tokens from i on are what is said there, or 0. */
static size_t matches(size_t i, size_t past, const char *p, size_t size)
{
    const char *const end = p + size;
    const size_t from = i;
    size_t k = 0;

    for (;;) {
        while (p < end && isspace((unsigned char) *p))
            p++;
        if (p == end)
            return k == 0 || k == tokens[i].size ? i + (k > 0) - from : 0;
        if (i < past && k == tokens[i].size) {
            i++;
            k = 0;
        }
        if (i >= past || (i > from && tokens[i].first))
            return 0;
        while (k < tokens[i].size
               && isspace((unsigned char) text[tokens[i].at + k]))
            k++; /* in a string */
        if (k >= tokens[i].size || text[tokens[i].at + k] != *p)
            return 0;
        k++;
        p++;
    }
}

/* How often what a row says is in its function; the one that it means. */
static int find_row(row *r)
{
    int count = 0;
    size_t g, i, n;

    for (g = 0; g < region_count; g++) {
        const region *const in = &regions[g];
        if (strcmp(in->section, r->section)
            || strcmp(in->function, r->function))
            continue;
        for (i = in->from; i < in->to; i++) {
            n = matches(i, in->to, r->was, r->was_size);
            if (n > 0 && ++count == (r->nth ? r->nth : 1)) {
                r->in = in;
                r->first = i;
                r->past = i + n;
            }
        }
    }
    return count;
}

/* Read [section] function: was => becomes (2 of 3), after a word or not. */
static int read_row(row *r, const char *p)
{
    const char *end = p + strcspn(p, "\n");
    const char *open = strchr(p, '[');
    const char *becomes = strstr(p, " =>");
    const char *colon;
    const char *q;
    int n = 0;

    memset(r, 0, sizeof(*r));
    if (*p == ' ' || !open || open > end || !becomes || becomes > end
        || sscanf(open, "[%15[a-z]] %63[A-Za-z_0-9]:%n", r->section,
                  r->function, &n) != 2 || n == 0)
        return 0;
    for (q = p; q < open; q++)
        if (!isalnum((unsigned char) *q) && *q != '_' && *q != ' ')
            return 0;
    colon = open + n;
    if (colon >= becomes)
        return 0;
    r->was = colon;
    r->was_size = (size_t) (becomes - colon);
    for (q = end; q > becomes && *q != '('; q--)
        ;
    n = 0;
    if (*q == '(' && sscanf(q, "(%d of %d)%n", &r->nth, &r->of, &n) == 2
        && n > 0 && q + n == end && r->nth > 0 && r->nth <= r->of)
        end = q;
    else
        r->nth = r->of = 0;
    r->becomes = becomes + 3 + strspn(becomes + 3, " ");
    while (end > r->becomes && end[-1] == ' ')
        end--;
    if (end < r->becomes)
        end = r->becomes;
    r->becomes_size = (size_t) (end - r->becomes);
    return 1;
}

/* Why a row names no single place, or NULL. */
static const char *lost(row *r)
{
    static char why[100];
    const int count = find_row(r);

    if (count == (r->of ? r->of : 1))
        return NULL;
    if (count == 0)
        return "is not there";
    snprintf(why, sizeof(why), "is there %d times", count);
    return why;
}

static uint64_t hash_some(uint64_t hash, const char *p, size_t size)
{
    for (; size > 0; size--, p++)
        if (!isspace((unsigned char) *p))
            hash = (hash ^ (uint8_t) *p) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_tokens(uint64_t hash, size_t from, size_t to)
{
    for (; from < to; from++)
        hash = hash_some(hash, text + tokens[from].at, tokens[from].size);
    return hash;
}

/* What a function becomes, as a number. */
static uint64_t made_of(const row *r)
{
    uint64_t hash = hash_tokens(r->in->from, r->in->from, r->first);

    hash = hash_some(hash, r->becomes, r->becomes_size);
    return hash_tokens(hash, r->past, r->in->to);
}

static uint64_t made_by(const mutant *m)
{
    uint64_t hash = hash_tokens(m->in->from, m->in->from, m->first);

    hash = hash_some(hash, m->with, strlen(m->with));
    if (!strcmp(m->with, NEGATE)) {
        hash = hash_tokens(hash, m->first, m->past);
        hash = hash_some(hash, ")", 1);
    }
    return hash_tokens(hash, m->past, m->in->to);
}

/* ---- output ---- */

/* Append text; tokens as they stand, with one blank where there are any. */
static void append(char *out, size_t room, const char *p, size_t size)
{
    const size_t n = strlen(out);

    if (n + size + 1 >= room)
        die("a key is too long");
    memcpy(out + n, p, size);
    out[n + size] = 0;
}

static void append_tokens(char *out, size_t room, size_t from, size_t to)
{
    for (; from < to; from++) {
        append(out, room, text + tokens[from].at, tokens[from].size);
        if (from + 1 < token_count && end_of(from) < tokens[from + 1].at)
            append(out, room, " ", 1);
    }
}

/* Without the blank that it may end with. */
static char *trimmed(char *out)
{
    const size_t n = strlen(out);

    if (n > 0 && out[n - 1] == ' ')
        out[n - 1] = 0;
    return out;
}

#define KEY 2000

static void make_key(const mutant *m, char *key)
{
    char was[KEY] = "";
    char becomes[KEY] = "";
    row r;
    int count;

    append_tokens(was, KEY, m->from, m->to);
    append_tokens(becomes, KEY, m->from, m->first);
    append(becomes, KEY, m->with, strlen(m->with));
    if (!strcmp(m->with, NEGATE)) {
        append_tokens(becomes, KEY, m->first, m->past);
        trimmed(becomes);
        append(becomes, KEY, ")", 1);
    } else if (m->past < m->to && *m->with && end_of(m->past - 1)
               < tokens[m->past].at)
        append(becomes, KEY, " ", 1);
    append_tokens(becomes, KEY, m->past, m->to);
    if (snprintf(key, KEY, "[%s] %s: %s => %s", m->in->section,
                 m->in->function, trimmed(was), trimmed(becomes)) >= KEY - 30)
        die("a key is too long");
    if (!read_row(&r, key))
        die("a key is not a row");
    count = find_row(&r);
    for (r.nth = 1; r.nth < count && (find_row(&r), r.first != m->from);)
        r.nth++;
    if (count > 1)
        sprintf(key + strlen(key), " (%d of %d)", r.nth, count);
}

static int by_order(const void *a, const void *b)
{
    const mutant *x = &mutants[*(const size_t *) a];
    const mutant *y = &mutants[*(const size_t *) b];

    return x->order < y->order ? -1 : x->order > y->order;
}

/* The next row of a list from p on, or NULL; p is moved past it. */
static const char *next_row(const char **p)
{
    const char *line;

    while (*(line = *p)) {
        *p += strcspn(*p, "\n");
        *p += **p != 0;
        if (*line != '#' && *line != '\n'
            && (*line != ' ' || line[strspn(line, " ")] == '['))
            return line;
    }
    return NULL;
}

/* What the rows of a list that are found make. */
static size_t listed(const char *name, uint64_t *made)
{
    size_t size;
    size_t count = 0;
    const char *p = load(name, &size);
    const char *line;
    row r;

    while ((line = next_row(&p)) != NULL)
        if (read_row(&r, line) && !lost(&r)) {
            if (count == ROWS)
                die("too many rows");
            made[count++] = made_of(&r);
        }
    return count;
}

static void list(const char *seed, const char *name)
{
    static size_t order[MUTANTS];
    static uint64_t made[ROWS];
    const size_t count = listed(name, made);
    char key[KEY];
    size_t i, k;

    for (i = 0; i < mutant_count; i++) {
        order[i] = i;
        make_key(&mutants[i], key);
        mutants[i].order = hash_text(hash_text(i, seed), key);
    }
    qsort(order, mutant_count, sizeof(order[0]), by_order);
    for (i = 0; i < mutant_count; i++) {
        const mutant *m = &mutants[order[i]];
        const uint64_t mine = made_by(m);
        make_key(m, key);
        for (k = 0; k < count && made[k] != mine; k++)
            ;
        printf("%lu %s %d %s %s %s %s\n", (unsigned long) order[i],
               m->in->section, m->line, m->body ? "body" : "file",
               m->operation, k < count ? "listed" : "new", key);
    }
}

/* Say which rows are stale; those that begin with a section are mutants. */
static int stale(char **names, int count)
{
    static uint64_t made[MUTANTS];
    int bad = 0;
    size_t i, size;
    row r;

    for (i = 0; i < mutant_count; i++)
        made[i] = made_by(&mutants[i]);
    for (; count > 0; count--, names++) {
        const char *p = load(*names, &size);
        const char *line;
        while ((line = next_row(&p)) != NULL) {
            const char *why = read_row(&r, line) ? lost(&r) : "is not a row";
            for (i = 0; !why && *line == '[' && made[i] != made_of(&r);)
                if (++i == mutant_count)
                    why = "is not a mutant";
            if (!why && made_of(&r) == hash_tokens(r.in->from, r.in->from,
                                                   r.in->to))
                why = "changes nothing";
            if (why)
                printf("%s %s: %.*s\n", *names, why,
                       (int) strcspn(line, "\n"), line);
            bad |= why != NULL;
        }
    }
    return bad;
}

/* The text from one place to another, with a mutant in it. */
static void write_mutated(const mutant *m, size_t from, size_t to)
{
    const size_t at = tokens[m->first].at;
    const size_t past = m->past > m->first ? end_of(m->past - 1) : at;
    const int negated = !strcmp(m->with, NEGATE);

    fwrite(text + from, 1, at - from, stdout);
    fputs(m->with, stdout);
    if (negated) {
        fwrite(text + at, 1, past - at, stdout);
        putchar(')');
    }
    fwrite(text + past, 1, to - past, stdout);
}

static void write_row(const char *said)
{
    row r;
    const char *why = read_row(&r, said) ? lost(&r) : "is not a row";
    size_t at, past;

    if (why) {
        fprintf(stderr, "mutate: %s: %s\n", why, said);
        exit(1);
    }
    at = tokens[r.first].at;
    past = end_of(r.past - 1);
    fwrite(text, 1, at, stdout);
    fwrite(r.becomes, 1, r.becomes_size, stdout);
    fwrite(text + past, 1, text_size - past, stdout);
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
    const char *const what = argc > 3 ? argv[1] : "";

    if (!*what)
        die("mutate list FILE SEED LIST | apply FILE NUMBER | together FILE "
            "NUMBERS | plant FILE ROW | stale FILE LIST...");
    text = load(argv[2], &text_size);
    tokenize();
    if (strcmp(what, "plant"))
        find_mutants();
    find_bodies();
    locate();
    if (!strcmp(what, "list") && argc == 5)
        list(argv[3], argv[4]);
    else if (!strcmp(what, "together"))
        together(argv[3]);
    else if (!strcmp(what, "plant"))
        write_row(argv[3]);
    else if (!strcmp(what, "stale"))
        return stale(argv + 3, argc - 3);
    else if (!strcmp(what, "apply")
             && strtoul(argv[3], NULL, 10) < mutant_count)
        write_mutated(&mutants[strtoul(argv[3], NULL, 10)], 0, text_size);
    else
        die("there is no such mutant");
    return 0;
}
