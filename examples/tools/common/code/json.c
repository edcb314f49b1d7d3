/* json.c: see json.h.
 *
 * Words and texts stay where they are: an escape takes fewer bytes than it is
 * written with, and the byte after each can become its end.
 *
 * SPDX-License-Identifier: MIT */
#include "json.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>

#define DEPTH 64u          /* lists and objects in each other, at most */
#define VALUES (1u << 24)

/* What is being read. */
typedef struct reader {
    json *j;
    char *text;
    size_t size;
    const char *why;       /* what is wrong; NULL */
    unsigned depth;
    uint32_t open[DEPTH];  /* lists and objects */
    uint32_t last[DEPTH];  /* the value before, in each; 0: none */
} reader;

static int spoil(reader *r, const char *why)
{
    r->why = why;
    return 0;
}

/* The next byte that is not a blank; 0 at the end. */
static char peek(const reader *r)
{
    json *const j = r->j;
    while (j->at < r->size && r->text[j->at] && strchr(" \t\r\n", r->text[j->at]))
        j->at++;
    return j->at < r->size ? r->text[j->at] : 0;
}

/* Four hexadecimal digits at `at`, which is moved. */
static int take_unit(reader *r, uint32_t *unit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        const char c = r->j->at < r->size ? r->text[r->j->at] : 0;
        const char *const digit = c ? strchr(digits, c) : NULL;
        if (!digit) return spoil(r, "\\u without four digits");
        *unit = 16 * *unit + ((uint32_t) (digit - digits) & 15);
        r->j->at++;
    }
    return 1;
}

static size_t put_utf8(char *to, uint32_t c)
{
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char) (heads[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        to[i] = (char) (0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* After \u: a character, to `to`. How many bytes it has; 0: it is wrong. */
static size_t take_character(reader *r, char *to)
{
    uint32_t c, low;
    if (!take_unit(r, &c)) return 0;
    if (c >= 0xd800 && c < 0xdc00 && r->size - r->j->at > 2
        && r->text[r->j->at] == '\\' && r->text[r->j->at + 1] == 'u') {
        r->j->at += 2;
        if (!take_unit(r, &low)) return 0;
        if (low < 0xdc00 || low > 0xdfff) c = 0;
        else c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
    } else if (c >= 0xd800 && c < 0xe000) {
        c = 0;
    }
    if (c == 0) spoil(r, "\\u is not a character");
    return c ? put_utf8(to, c) : 0;
}

/* A text in quotes; NULL if it is wrong. */
static const char *take_text(reader *r)
{
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    json *const j = r->j;
    char *const begin = r->text + ++j->at;
    char *to = begin;
    while (j->at < r->size && (uint8_t) r->text[j->at] >= ' ') {
        const char c = r->text[j->at++];
        const char *escape;
        if (c == '"') {
            *to = 0;
            return begin;
        }
        if (c != '\\') {
            *to++ = c;
        } else if (j->at < r->size && r->text[j->at] == 'u') {
            j->at++;
            to += take_character(r, to);
            if (r->why) return NULL;
        } else {
            escape = j->at < r->size && r->text[j->at]
                         ? strchr(escapes, r->text[j->at]) : NULL;
            if (!escape) break;
            *to++ = means[escape - escapes];
            j->at++;
        }
    }
    spoil(r, "a text that does not end");
    return NULL;
}

/* null, true, false, or a number. What is after it becomes its end once it has
 * been read: close_all. */
static const char *take_word(reader *r)
{
    json *const j = r->j;
    char *const begin = r->text + j->at;
    const size_t size = strspn(begin, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    const int is_number = begin[0] == '-' || (begin[0] >= '0' && begin[0] <= '9');
    if (!(is_number && strspn(begin, "+-.0123456789eE") == size)
        && !(size == 4 && memcmp(begin, "null", 4) == 0)
        && !(size == 4 && memcmp(begin, "true", 4) == 0)
        && !(size == 5 && memcmp(begin, "false", 5) == 0)) {
        spoil(r, "a value was expected");
        return NULL;
    }
    j->at += size;
    return begin;
}

/* A value that begins with c, and into its list or object. */
static int take_value(reader *r, char c, const char *name)
{
    json *const j = r->j;
    const uint32_t number = j->count;
    json_value *v;
    if (j->count == j->room) {
        const uint32_t room = 2 * j->room + 256;
        if (room > VALUES || !tool_grow(&j->values, room, sizeof *v))
            return spoil(r, "out of memory");
        j->room = room;
    }
    v = &j->values[j->count++];
    memset(v, 0, sizeof *v);
    v->name = name;
    v->text = "";
    if (r->depth) {
        uint32_t *const last = &r->last[r->depth - 1];
        if (*last) j->values[*last].next = number;
        j->values[r->open[r->depth - 1]].has_more = 1;
        *last = number;
    }
    if (c == '"') {
        v->kind = JSON_TEXT;
        v->text = take_text(r);
    } else if (c == '{' || c == '[') {
        v->kind = c == '{' ? JSON_OBJECT : JSON_LIST;
        if (r->depth == DEPTH) return spoil(r, "too deep");
        r->open[r->depth] = number;
        r->last[r->depth++] = 0;
        j->at++;
    } else {
        v->text = take_word(r);
    }
    return r->why == NULL;
}

/* NAME: of a member. */
static const char *take_member(reader *r)
{
    const char *name;
    if (peek(r) != '"') {
        spoil(r, "a name was expected");
        return NULL;
    }
    name = take_text(r);
    if (!name) return NULL;
    if (peek(r) != ':') {
        spoil(r, "a : was expected");
        return NULL;
    }
    r->j->at++;
    return name;
}

/* What comes after a value, until the next one begins: the ends of lists and
 * objects, and a comma. */
static void close_all(reader *r)
{
    json *const j = r->j;
    char *end = r->text + j->at; /* of a word */
    char c = peek(r);
    while (r->depth && c != ',') {
        const int is_object =
            j->values[r->open[r->depth - 1]].kind == JSON_OBJECT;
        if (c != (is_object ? '}' : ']')) {
            spoil(r, is_object ? "a , or } was expected"
                              : "a , or ] was expected");
            return;
        }
        r->depth--;
        *end = 0;
        end = r->text + j->at++;
        c = peek(r);
    }
    if (r->depth) j->at++;
    else if (j->at < r->size) spoil(r, "there is something after its end");
    *end = 0;
}

static void read_values(reader *r)
{
    json *const j = r->j;
    int is_first = 1; /* in its list or object */
    do {
        const json_value *const in =
            r->depth ? &j->values[r->open[r->depth - 1]] : NULL;
        const char *name = NULL;
        char c = peek(r);
        if (is_first && in && c == (in->kind == JSON_OBJECT ? '}' : ']')) {
            close_all(r);
        } else {
            if (in && in->kind == JSON_OBJECT) name = take_member(r);
            c = peek(r);
            if (r->why || !take_value(r, c, name)) return;
            is_first = c == '{' || c == '[';
            if (is_first) continue;
            close_all(r);
        }
        is_first = 0;
        if (r->why) return;
    } while (r->depth);
}

const char *json_read(json *j, char *text, size_t size)
{
    reader r;
    memset(j, 0, sizeof *j);
    memset(&r, 0, sizeof r);
    j->text = text;
    r.j = j;
    r.text = text;
    r.size = size;
    read_values(&r);
    return r.why;
}

void json_free(json *j)
{
    free(j->values);
    free(j->text);
    memset(j, 0, sizeof *j);
}

const json_value *json_first(const json *j, const json_value *v)
{
    return v && v->has_more ? &j->values[v - j->values + 1] : NULL;
}

const json_value *json_next(const json *j, const json_value *v)
{
    return v->next ? &j->values[v->next] : NULL;
}

const json_value *json_member(const json *j, const json_value *v,
                              const char *name)
{
    if (!v || v->kind != JSON_OBJECT) return NULL;
    for (v = json_first(j, v); v; v = json_next(j, v))
        if (strcmp(v->name, name) == 0) return v;
    return NULL;
}

int json_number(const json_value *v, uint64_t *number)
{
    const char *end = v ? v->text : "";
    return tool_scan(&end, number) && !*end;
}

const char *json_text(const json_value *v)
{
    return v && v->kind == JSON_TEXT && *v->text ? v->text : NULL;
}
