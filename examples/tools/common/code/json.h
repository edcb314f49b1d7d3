/* json.h: a file in JSON, as a list of its values.
 *
 *     why = json_read(&j, text, size);  // with a zero after it; becomes j's
 *     v = json_member(&j, j.values, "name");
 *     if (v && json_number(v, &n)) ...
 *     for (v = json_first(&j, v); v; v = json_next(&j, v)) ...
 *     json_free(&j);
 *
 * The text is hostile. A value of an object that has two members of a name is
 * the first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef JSON_H
#define JSON_H
#include <stddef.h>
#include <stdint.h>

typedef enum json_kind {
    JSON_WORD, /* null, true, false, or a number: as it is written */
    JSON_TEXT,
    JSON_LIST,
    JSON_OBJECT
} json_kind;

typedef struct json_value {
    const char *text; /* of a word or a text, without escapes; "" */
    const char *name; /* of a member; in a list NULL */
    uint32_t next;    /* after it in its list or object; 0: it is the last */
    uint8_t kind;
    uint8_t has_more; /* it is a list or object that is not empty */
} json_value;

typedef struct json {
    json_value *values; /* those in a list or object come after it */
    uint32_t count;
    uint32_t room;
    size_t at;          /* bytes that were read */
    char *text;
} json;

/* Read `size` bytes, which were allocated with a zero after them. NULL, or what is
 * wrong, at byte j->at. A failed one has to be freed, too. */
const char *json_read(json *j, char *text, size_t size);
void json_free(json *j);

/* The first value in a list or object; the one after `v`. NULL: there is none. */
const json_value *json_first(const json *j, const json_value *v);
const json_value *json_next(const json *j, const json_value *v);

/* The member of that name; NULL if there is none, and if v is NULL or no object. */
const json_value *json_member(const json *j, const json_value *v,
                              const char *name);

/* A number without sign and fraction, or a text that has one in C's notation: 1,
 * or 0 also if v is NULL. */
int json_number(const json_value *v, uint64_t *number);

/* A text that is not empty; else NULL, also if v is NULL. */
const char *json_text(const json_value *v);

#endif /* JSON_H */
