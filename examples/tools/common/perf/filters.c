/* filters.c: see filters.h.
 *
 * SPDX-License-Identifier: MIT */
#include "filters.h"
#include "../code/tool.h"
#include <stdlib.h>
#include <string.h>

#define BLANKS " ,\n\t"

/* The word at *at, which ends before one of `ends`; NULL if there is none. *at
 * becomes its end, where the zero is not written yet. */
static char *cut_word(char **at, const char *ends)
{
    char *const word = *at + strspn(*at, " \t");
    *at = word + strcspn(word, ends);
    return *at == word ? NULL : word;
}

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t");
}

static int kind_of(const char *word, size_t length)
{
    static const char *const names[] = {"filter", "stop", "tracestop"};
    for (unsigned i = 0; i < 3; i++)
        if (strlen(names[i]) == length && memcmp(word, names[i], length) == 0)
            return i ? IPT_FILTER_STOP : IPT_FILTER_TRACE;
    return IPT_FILTER_OFF;
}

/* ACTION START[/SIZE][@FILE] at *at; 0 if it is not that. */
static int parse_item(char **at, filters_item *item)
{
    char *ends[2] = {NULL, NULL}; /* of the words that are kept */
    const char *number;
    char *word = cut_word(at, BLANKS);
    if (!word) return 0;
    item->kind = (uint8_t) kind_of(word, (size_t) (*at - word));
    word = cut_word(at, BLANKS "/@");
    if (item->kind == IPT_FILTER_OFF || !word) return 0;
    item->symbol = word;
    ends[0] = *at;
    number = word;
    if (tool_scan(&number, &item->first)) {
        if (number != *at) return 0;
        item->symbol = NULL;
    }
    *at = skip_blanks(*at);
    if (**at == '/') {
        ++*at;
        word = cut_word(at, BLANKS "@");
        number = word;
        if (!word || !tool_scan(&number, &item->size) || number != *at)
            return 0;
        *at = skip_blanks(*at);
    }
    if (**at == '@') {
        ++*at;
        item->file = cut_word(at, BLANKS);
        ends[1] = *at;
        if (!item->file) return 0;
    }
    if (item->symbol ? !item->file : !item->size) return 0;
    for (unsigned i = 0; i < 2; i++) {
        if (!ends[i]) continue;
        if (*at == ends[i] && **at) ++*at;
        *ends[i] = 0;
    }
    return 1;
}

filters_status filters_parse(filters *f, const char *text)
{
    char *at;
    memset(f, 0, sizeof *f);
    at = f->text = tool_copy(text, strlen(text));
    if (!at) return FILTERS_NO_MEMORY;
    while (*(at += strspn(at, BLANKS))) {
        if (f->count == IPT_FILTERS || !parse_item(&at, &f->list[f->count])) {
            filters_free(f);
            return FILTERS_UNKNOWN;
        }
        f->count++;
    }
    return FILTERS_OK;
}

void filters_free(filters *f)
{
    free(f->text);
    memset(f, 0, sizeof *f);
}

/* `size` bytes at ip, of which none may be there. */
static void set_range(ipt_filter *range, uint64_t ip, uint64_t size)
{
    range->first = size ? ip : 1;
    range->last = ip + size - (size != 0);
    if (range->last < ip) range->last = UINT64_MAX;
    if (!size) range->last = 0;
}

void filters_begin(const filters *f, ipt_filter range[IPT_FILTERS])
{
    memset(range, 0, IPT_FILTERS * sizeof *range);
    for (unsigned i = 0; i < f->count; i++) {
        const filters_item *const item = &f->list[i];
        range[i].kind = item->kind;
        set_range(&range[i], item->first, item->file ? 0 : item->size);
    }
}

/* As the kernel does it: a range that begins or ends outside of the mapping is
 * cut there. */
void filters_map(const filters *f, ipt_filter range[IPT_FILTERS],
                 const char *file, uint64_t ip, uint64_t size, uint64_t offset)
{
    for (unsigned i = 0; i < f->count; i++) {
        const filters_item *const item = &f->list[i];
        const uint64_t before =
            offset > item->first ? offset - item->first : 0;
        const uint64_t from = item->first > offset ? item->first - offset : 0;
        uint64_t length;
        if (!item->file || strcmp(item->file, file) != 0) continue;
        if (from >= size || before >= item->size) continue;
        length = item->size - before;
        set_range(&range[i], ip + from,
                  length < size - from ? length : size - from);
    }
}

int filters_name(const filters *f, const char *file)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->list[i].file && strcmp(f->list[i].file, file) == 0) return 1;
    return 0;
}
