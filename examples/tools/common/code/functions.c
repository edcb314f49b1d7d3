/* functions.c: see functions.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "functions.h"
#include "demangle.h"
#include "symbols.h"
#include "tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define TEXT 8192u      /* bytes of a text */
#define NAME 4096u      /* ... of the name in it */
#define LABELS UINT32_MAX /* stands for an object */
#define SHARED UINT32_MAX /* stands for an owner: more than one */
#define WORD TOOL_DISTANCE

/* What a text has besides the name, in brackets. */
enum { TYPES = 1, SOURCE = 2, BASE = 4, PATH = 8, BUILD = 16, PLACE = 32,
       NUMBER = 64 };

static const uint8_t forms[] = {
    0, TYPES, SOURCE, BASE, TYPES | SOURCE, TYPES | BASE,
    TYPES | BASE | SOURCE, TYPES | PATH, TYPES | PATH | BUILD,
    TYPES | PATH | PLACE, TYPES | PATH | PLACE | NUMBER};

enum { FORMS = sizeof forms / sizeof forms[0],
       REQUIRED = 7 }; /* from here on TYPES are there if they can be */

void functions_init(functions *f)
{
    memset(f, 0, sizeof *f);
}

void functions_free(functions *f)
{
    free(f->list);
    free(f->objects);
    free(f->slots);
    free(f->owners);
    names_free(&f->texts);
    functions_init(f);
}

/* ---- which function it is ---- */

static void identify(functions_object *o)
{
    const files_file *const file = o->file;
    const int fd = file->has_id || file->bytes ? -1 : files_reopen(file);
    memset(&o->id, 0, sizeof o->id);
    if (file->has_id)
        o->id = file->id;
    else if (file->bytes)
        buildid_of_bytes(file->bytes, file->size, &o->id);
    else if (fd >= 0)
        buildid_of_file(fd, file->size, &o->id);
    if (fd >= 0) close(fd);
}

/* The build that a file is: 1 + the index of the first object with it; 0
 * without memory. */
static uint32_t object_of(functions *f, const files_file *file)
{
    functions_object *o;
    if (f->last && f->objects[f->last - 1].file == file)
        return f->objects[f->last - 1].same;
    for (uint32_t i = 0; i < f->object_count; i++)
        if (f->objects[i].file == file)
            return f->objects[(f->last = i + 1) - 1].same;
    if (!tool_grow(&f->objects, (size_t) f->object_count + 1,
                   sizeof *f->objects))
        return 0;
    o = &f->objects[f->object_count];
    o->file = file;
    o->same = f->last = ++f->object_count;
    identify(o);
    for (uint32_t i = 0; o->id.size && i + 1 < f->object_count; i++)
        if (buildid_is(&f->objects[i].id, o->id.bytes, o->id.size)) {
            o->same = f->objects[i].same;
            break;
        }
    return o->same;
}

/* Where a function is in the table, or would be. */
static functions_slot *slot_of(const functions *f, const functions_slot *key)
{
    uint64_t i = (key->place * 0x9e3779b97f4a7c15u
                  + ((uint64_t) key->object << 32 | key->pid)
                        * 0xc2b2ae3d27d4eb4fu) >> 32;
    for (;; i++) {
        functions_slot *const s = &f->slots[i & (f->size - 1)];
        if (!s->number || (s->place == key->place && s->object == key->object
                           && s->pid == key->pid))
            return s;
    }
}

static int grow(functions *f)
{
    const uint32_t max = f->max ? 2 * f->max : 64;
    functions_slot *const old = f->slots;
    const uint32_t old_size = f->size;
    functions_slot *slots;
    if (f->count < f->max) return 1;
    if (max > UINT32_MAX / 4 || !tool_grow(&f->list, max, sizeof *f->list))
        return 0;
    slots = (functions_slot *) calloc(2 * (size_t) max, sizeof *slots);
    if (!slots) return 0;
    f->max = max;
    f->slots = slots;
    f->size = 2 * max;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].number) *slot_of(f, &old[i]) = old[i];
    free(old);
    return 1;
}

static const char *keep(functions *f, const char *text)
{
    const uint32_t number = text ? names_add(&f->texts, text) : 0;
    return number ? names_text(&f->texts, number) : NULL;
}

/* A symbol as its source has it, and without its version. */
static void name_symbol(const functions *f, const functions_about *about,
                        int much, char text[NAME])
{
    char *const found = f->mangled ? NULL : demangle(about->symbol, much);
    const char *const whole = found ? found : about->symbol;
    const size_t n = *whole ? 1 + strcspn(whole + 1, "@") : 0;
    snprintf(text, NAME, "%.*s%s", (int) (n < NAME - 8 ? n : NAME - 8), whole,
             about->kind & SYMBOL_STUB ? "@plt" : "");
    free(found);
}

static void name_plain(const functions *f, const functions_about *about,
                       char text[NAME])
{
    const char *const object = about->object;
    if (about->symbol)
        name_symbol(f, about, DEMANGLE_NAME, text);
    else if (!object)
        snprintf(text, NAME, "[unknown]");
    else if (*object == '[')
        snprintf(text, NAME, "%.2048s", object);
    else
        snprintf(text, NAME, "[%.2048s]", tool_base(object));
}

/* A slot that is free gets a function. */
static functions_one *fill(functions *f, functions_slot *slot,
                           const functions_slot *key)
{
    functions_one *const one = &f->list[f->count];
    memset(one, 0, sizeof *one);
    *slot = *key;
    slot->number = ++f->count;
    one->whole = f->count;
    return one;
}

uint32_t functions_add(functions *f, const functions_about *about)
{
    functions_slot key;
    functions_slot *slot;
    functions_one *one;
    char name[NAME];
    memset(&key, 0, sizeof key);
    key.place = about->symbol ? about->first : UINT64_MAX;
    key.pid = about->pid;
    if (about->file && (key.object = object_of(f, about->file)) == 0) return 0;
    if (!grow(f)) return 0;
    slot = slot_of(f, &key);
    if (slot->number) return slot->number;
    one = fill(f, slot, &key);
    one->about = *about;
    one->about.object = keep(f, about->object);
    one->object = key.object;
    name_plain(f, about, name);
    one->name = names_add(&f->texts, name);
    return one->name ? f->count : 0;
}

uint32_t functions_label(functions *f, const char *text)
{
    functions_slot key;
    functions_slot *slot;
    functions_one *one;
    memset(&key, 0, sizeof key);
    key.place = names_add(&f->texts, text);
    key.object = LABELS;
    if (!key.place || !grow(f)) return 0;
    slot = slot_of(f, &key);
    if (slot->number) return slot->number;
    one = fill(f, slot, &key);
    one->object = LABELS;
    one->name = (uint32_t) key.place;
    return f->count;
}

const char *functions_name(const functions *f, uint32_t number)
{
    const functions_one *const one = number ? &f->list[number - 1] : NULL;
    return one && one->about.symbol ? names_text(&f->texts, one->name) : NULL;
}

/* ---- texts ---- */

static void put(char text[TEXT], const char *format, const char *word)
{
    const size_t n = strlen(text);
    snprintf(text + n, TEXT - n, format, word);
}

static void put_object(const functions *f, const functions_one *one,
                       unsigned form, char text[TEXT])
{
    const functions_about *const about = &one->about;
    const char *const path = about->object ? about->object : "kernel";
    char word[64];
    put(text, "%.1024s", form & PATH ? path : tool_base(path) + (*path == '['));
    if (*path == '[' && text[strlen(text) - 1] == ']')
        text[strlen(text) - 1] = 0;
    if (form & BUILD) {
        char hex[2 * BUILDID_MAX + 1];
        const buildid *const id = &f->objects[one->object - 1].id;
        buildid_text(id->bytes, id->size, hex);
        put(text, " %.8s", hex);
    }
    if (form & PLACE && about->symbol) {
        snprintf(word, sizeof word, "+0x%" PRIx64, about->first);
        put(text, "%s", word);
    }
    if (form & NUMBER) {
        snprintf(word, sizeof word, " #%" PRIu32,
                 (uint32_t) (one - f->list) + 1);
        put(text, "%s", word);
    }
}

/* One of a function's texts: 1, or 0: it has none of this form. */
static int write_form(const functions *f, const functions_one *one,
                      unsigned which, char text[TEXT])
{
    const functions_about *const about = &one->about;
    const char *const name = names_text(&f->texts, one->name);
    const unsigned form = forms[which];
    const int is_bare = !about->symbol; /* [FILE] */
    char types[NAME];
    snprintf(text, TEXT, "%.4000s", name);
    if (which == 0) return 1;
    if (one->object == LABELS || (is_bare && which < REQUIRED)) return 0;
    if (form & SOURCE && !about->source) return 0;
    if (form & BUILD && (!one->object || !f->objects[one->object - 1].id.size))
        return 0;
    if (form & TYPES && !is_bare) {
        name_symbol(f, about, DEMANGLE_TYPES, types);
        if (strcmp(types, name) == 0 && which < REQUIRED - 1) return 0;
        snprintf(text, TEXT, "%.4000s", types);
    }
    if (form == TYPES) return 1;
    if (is_bare)
        snprintf(text, TEXT, "[");
    else
        put(text, " %s", "[");
    if (form & (BASE | PATH)) put_object(f, one, form, text);
    if (form & SOURCE) put(text, form & BASE ? ":%.1024s" : "%.1024s",
                           tool_base(about->source));
    put(text, "%s", "]");
    return 1;
}

/* Room to say which function has a text. */
static uint32_t *owner_of(functions *f, uint32_t text)
{
    if (text > f->owner_max) {
        const uint32_t max = text < UINT32_MAX / 2 ? 2 * text + 64 : text;
        if (!tool_grow(&f->owners, max, sizeof *f->owners)) return NULL;
        memset(f->owners + f->owner_max, 0,
               (max - f->owner_max) * sizeof *f->owners);
        f->owner_max = max;
    }
    return text ? &f->owners[text - 1] : NULL;
}

/* A function asks for a text: the owner is then the function, or SHARED. */
static uint32_t *ask(functions *f, uint32_t number, unsigned form)
{
    char text[TEXT];
    functions_one *const one = &f->list[number - 1];
    uint32_t *owner;
    if (!write_form(f, one, form, text)) return NULL;
    one->text = form ? names_add(&f->texts, text) : one->name;
    owner = owner_of(f, one->text);
    if (owner) *owner = *owner ? SHARED : number;
    return owner;
}

/* Texts of this form for all that have none: how many are left. */
static uint32_t settle_form(functions *f, uint8_t *open, unsigned form)
{
    uint32_t left = 0;
    for (uint32_t n = 1; n <= f->count; n++)
        if (open[n - 1]) open[n - 1] = ask(f, n, form) ? 2 : 1;
    for (uint32_t n = 1; n <= f->count; n++) {
        functions_one *const one = &f->list[n - 1];
        if (open[n - 1] == 2 && f->owners[one->text - 1] == n) {
            one->form = (uint8_t) form;
            open[n - 1] = 0;
        }
        left += open[n - 1] != 0;
    }
    return left;
}

void functions_settle(functions *f)
{
    uint8_t *const open = (uint8_t *) malloc((size_t) f->count + 1);
    uint32_t left = f->count;
    if (!open) return; /* they are those that were asked for */
    memset(open, 1, f->count);
    if (f->owner_max)
        memset(f->owners, 0, f->owner_max * sizeof *f->owners);
    for (uint32_t n = 1; n <= f->count; n++) /* only they have to have it */
        if (f->list[n - 1].object == LABELS) {
            ask(f, n, 0);
            open[n - 1] = 0;
        }
    for (unsigned form = 0; left && form < FORMS; form++)
        left = settle_form(f, open, form);
    free(open);
}

const char *functions_text(functions *f, uint32_t number)
{
    functions_one *const one = number ? &f->list[number - 1] : NULL;
    if (!one) return "?";
    for (unsigned form = 0; !one->text && form < FORMS; form++) {
        char text[TEXT];
        uint32_t *owner;
        if (!write_form(f, one, form, text)) continue;
        one->text = form ? names_add(&f->texts, text) : one->name;
        owner = owner_of(f, one->text);
        if (!owner || !*owner || one->object == LABELS) {
            if (owner) *owner = number;
        } else {
            one->text = 0;
        }
    }
    return names_text(&f->texts, one->text ? one->text : one->name);
}

/* ---- what the user calls it ---- */

/* Are they the same but for spaces? */
static int is_same(const char *a, const char *b)
{
    for (;;) {
        while (*a == ' ') a++;
        while (*b == ' ') b++;
        if (*a != *b) return 0;
        if (!*a) return 1;
        a++;
        b++;
    }
}

static int is_name(const functions *f, const functions_one *one,
                   const char *text)
{
    char name[NAME];
    if (is_same(names_text(&f->texts, one->name), text)) return 1;
    if (!one->about.symbol) return 0;
    snprintf(name, sizeof name, "%.4000s%s", one->about.symbol,
             one->about.kind & SYMBOL_STUB ? "@plt" : "");
    if (strcmp(name, text) == 0) return 1;
    name[1 + strcspn(name + 1, "@")] = 0;
    if (!(one->about.kind & SYMBOL_STUB) && strcmp(name, text) == 0) return 1;
    for (int much = DEMANGLE_TYPES; much <= DEMANGLE_RESULT; much++) {
        name_symbol(f, &one->about, much, name);
        if (is_same(name, text)) return 1;
    }
    return 0;
}

static int is_file(const char *path, const char *text, size_t n)
{
    const char *const base = path ? tool_base(path) : NULL;
    return path && ((strlen(path) == n && memcmp(path, text, n) == 0)
                    || (strlen(base) == n && memcmp(base, text, n) == 0));
}

int functions_match(functions *f, uint32_t number, const char *pattern)
{
    const functions_one *const one = number ? &f->list[number - 1] : NULL;
    char text[TEXT];
    if (!one || (one->object == LABELS && *pattern != '[')) return 0;
    if (is_name(f, one, pattern)) return 1;
    for (const char *at = pattern; (at = strchr(at, ':')) != NULL;
         at += strspn(at, ":"))
        if (at[1] != ':' && at > pattern
            && (is_file(one->about.object, pattern, (size_t) (at - pattern))
                || is_file(one->about.source, pattern,
                           (size_t) (at - pattern)))
            && is_name(f, one, at + 1))
            return 1;
    if (!strchr(pattern, '[')) return 0;
    for (unsigned form = 1; form < FORMS; form++)
        if (write_form(f, one, form, text) && is_same(text, pattern)) return 1;
    return 0;
}

int functions_chosen(functions *f, functions_choice *c, uint32_t number)
{
    if (!number) return 0;
    if (number > c->max) {
        const uint32_t max = f->max > number ? f->max : number;
        if (!tool_grow(&c->states, max, 1)) return -1;
        memset(c->states + c->max, 0, max - c->max);
        c->max = max;
    }
    if (!c->states[number - 1])
        c->states[number - 1] =
            (uint8_t) (1 + functions_match(f, number, c->pattern));
    return c->states[number - 1] == 2;
}

/* ---- what is like it ---- */

static int holds(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (; *text; text++)
        if (strncasecmp(text, word, n) == 0) return 1;
    return 0;
}

/* How unlike they are; UINT32_MAX: very. */
static unsigned unlike(const char *name, const char *word)
{
    const size_t n = strlen(word);
    const char *last = name + strcspn(name, "<(");
    unsigned whole = tool_distance(name, word);
    unsigned part;
    while (last > name && last[-1] != ':') last--;
    part = tool_distance(last, word);
    if (part < whole) whole = part;
    if (n > 2 && holds(name, word)) return whole ? 1 : 0;
    return whole <= (n < 3 ? 0 : (n + 2) / 3) ? whole : UINT32_MAX;
}

size_t functions_similar(functions *f, const char *pattern, uint32_t *numbers,
                         size_t max)
{
    const char *word = strrchr(pattern, ':');
    char text[WORD + 1];
    unsigned costs[16];
    size_t count = 0;
    if (max > 16) max = 16;
    word = word && word[1] ? word + 1 : pattern;
    snprintf(text, sizeof text, "%.*s",
             (int) (*word ? 1 + strcspn(word + 1, "( ") : 0), word);
    for (uint32_t n = 1; n <= f->count; n++) {
        const char *const name = functions_name(f, n);
        const unsigned cost = name ? unlike(name, text) : UINT32_MAX;
        size_t at = count;
        if (cost == UINT32_MAX) continue;
        while (at && costs[at - 1] > cost) at--;
        if (at == max) continue;
        if (count < max) count++;
        for (size_t i = count - 1; i > at; i--) {
            costs[i] = costs[i - 1];
            numbers[i] = numbers[i - 1];
        }
        costs[at] = cost;
        numbers[at] = n;
    }
    return count;
}
