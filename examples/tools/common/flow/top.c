/* top.c: see top.h. The terminal is that of ncurses.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "top.h"
#ifdef __has_include
#if __has_include(<ncurses.h>)
#define NCURSES_NOMACROS
#include <ncurses.h>
#define HAVE_NCURSES
#endif
#endif

#ifndef HAVE_NCURSES
const char *top_run(const top_config *config)
{
    (void) config;
    return "made without ncurses";
}
#else
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 64u

typedef struct pane {
    top_list list;
    size_t at;     /* the row that is chosen, */
    size_t first;  /* ... and the first that is shown */
    int y, height; /* with its head */
} pane;

typedef struct top {
    const top_config *config;
    pane panes[TOP_PANES];
    unsigned focus;
    unsigned key;        /* rows are sorted by it; TOP_KEYS: by name */
    uint32_t function;   /* the one that the other panes are about */
    uint32_t ways[WAYS]; /* those before it, the last WAYS */
    size_t way_count;
} top;

/* ---- rows ---- */

static unsigned sort_key; /* of qsort's rows */

static int by_key(const void *a, const void *b)
{
    const top_row *const x = (const top_row *) a;
    const top_row *const y = (const top_row *) b;
    for (unsigned i = 0, k = sort_key; i < TOP_KEYS && sort_key < TOP_KEYS;
         i++, k = (k + 1) % TOP_KEYS)
        if (x->keys[k] != y->keys[k]) return x->keys[k] < y->keys[k] ? 1 : -1;
    if (sort_key == TOP_KEYS) {
        const int order = strcmp(x->name, y->name);
        if (order) return order;
    }
    return x->function < y->function ? -1 : x->function > y->function;
}

static void fill(top *t, unsigned which)
{
    pane *const p = &t->panes[which];
    t->config->fill(which, t->function, &p->list, t->config->context);
    p->at = p->first = 0;
    sort_key = t->key;
    if (which != TOP_SOURCE && p->list.count)
        qsort(p->list.rows, p->list.count, sizeof *p->list.rows, by_key);
}

/* The hottest line is in the middle. */
static void show_hottest(pane *p)
{
    const top_row *const rows = p->list.rows;
    for (size_t i = 1; i < p->list.count; i++)
        if (rows[i].keys[TOP_OWN] > rows[p->at].keys[TOP_OWN]) p->at = i;
    p->first = p->at > (size_t) p->height / 2 ? p->at - (size_t) p->height / 2
                                              : 0;
}

/* All panes are about another function. */
static void turn_to(top *t, uint32_t function)
{
    pane *const p = &t->panes[TOP_FUNCTIONS];
    t->function = function;
    for (unsigned i = TOP_CALLERS; i < TOP_PANES; i++) fill(t, i);
    show_hottest(&t->panes[TOP_SOURCE]);
    for (size_t i = 0; i < p->list.count; i++)
        if (p->list.rows[i].function == function) p->at = i;
}

/* The row that is chosen is a function: go there. */
static void descend(top *t)
{
    const pane *const p = &t->panes[t->focus];
    const uint32_t to = p->at < p->list.count ? p->list.rows[p->at].function
                                              : 0;
    if (!to || to == t->function) return;
    if (t->way_count == WAYS)
        memmove(t->ways, t->ways + 1, --t->way_count * sizeof *t->ways);
    t->ways[t->way_count++] = t->function;
    turn_to(t, to);
}

static void sort_by(top *t, unsigned key)
{
    const uint32_t function = t->function;
    t->key = key;
    fill(t, TOP_FUNCTIONS);
    turn_to(t, function);
}

/* ---- the screen ---- */

/* Text from a column to the end of the line, without what moves the cursor. */
static void put_text(int y, int x, const char *text)
{
    char line[1024];
    const int room = COLS - x;
    size_t n = 0;
    while (text[n] && n < sizeof line - 1 && (int) n < room) {
        const char c = text[n];
        line[n++] = c == '\t' ? ' '
                  : (unsigned char) c < ' ' || c == 127 ? '?' : c;
    }
    line[n] = 0;
    if (room > 0) mvaddstr(y, x, line);
}

static void draw_pane(top *t, unsigned which)
{
    pane *const p = &t->panes[which];
    const size_t room = p->height > 1 ? (size_t) p->height - 1 : 0;
    if (p->at < p->first) p->first = p->at;
    if (room && p->at >= p->first + room) p->first = p->at - room + 1;
    if (p->height < 1) return;
    move(p->y, 0);
    attr_on(which == t->focus ? A_BOLD | A_UNDERLINE : A_UNDERLINE, NULL);
    clrtoeol();
    put_text(p->y, 0, p->list.head);
    attr_off(A_BOLD | A_UNDERLINE, NULL);
    for (size_t i = 0; i < room; i++) {
        const size_t n = p->first + i;
        const int y = p->y + 1 + (int) i;
        const top_row *const row = &p->list.rows[n];
        attr_t look = A_NORMAL;
        move(y, 0);
        clrtoeol();
        if (n >= p->list.count) continue;
        if (row->hot) look |= A_BOLD;
        if (n == p->at && which == t->focus) look |= A_REVERSE;
        attr_on(look, NULL);
        put_text(y, 0, row->text);
        put_text(y, (int) strlen(row->text), row->name);
        attr_off(A_BOLD | A_REVERSE, NULL);
    }
}

/* Source has what the others leave. */
static void lay_out(top *t)
{
    const int room = LINES > 2 ? LINES - 2 : 0;
    int y = 1;
    for (unsigned i = 0; i < TOP_PANES; i++) {
        t->panes[i].y = y;
        t->panes[i].height = i == TOP_SOURCE ? room + 1 - y
                           : i == TOP_FUNCTIONS ? room / 3 : room / 6;
        y += t->panes[i].height;
    }
}

static void draw(top *t)
{
    erase();
    put_text(0, 0, t->config->title);
    lay_out(t);
    for (unsigned i = 0; i < TOP_PANES; i++) draw_pane(t, i);
    put_text(LINES - 1, 0,
             "q quit  arrows, page  Tab pane  Enter go there  Backspace back  "
             "o own t total c calls n name");
    refresh();
}

/* ---- keys ---- */

static void step(top *t, long by)
{
    pane *const p = &t->panes[t->focus];
    const size_t last = p->list.count ? p->list.count - 1 : 0;
    if (by < 0)
        p->at = p->at < (size_t) -by ? 0 : p->at - (size_t) -by;
    else
        p->at = last - p->at < (size_t) by ? last : p->at + (size_t) by;
    if (t->focus == TOP_FUNCTIONS && p->list.count)
        turn_to(t, p->list.rows[p->at].function);
}

/* 0: the end. */
static int follow(top *t, int key)
{
    const pane *const p = &t->panes[t->focus];
    const long page = p->height > 2 ? p->height - 2 : 1;
    switch (key) {
    case 'q':
    case ERR: return 0;
    case KEY_UP:
    case 'k': step(t, -1); break;
    case KEY_DOWN:
    case 'j': step(t, 1); break;
    case KEY_PPAGE: step(t, -page); break;
    case KEY_NPAGE:
    case ' ': step(t, page); break;
    case KEY_HOME: step(t, -(long) p->list.count); break;
    case KEY_END: step(t, (long) p->list.count); break;
    case '\t': t->focus = (t->focus + 1) % TOP_PANES; break;
    case KEY_BTAB: t->focus = (t->focus + TOP_PANES - 1) % TOP_PANES; break;
    case '\n':
    case '\r':
    case KEY_ENTER:
    case KEY_RIGHT: descend(t); break;
    case KEY_BACKSPACE:
    case KEY_LEFT:
    case 8:
    case 127:
        if (t->way_count) turn_to(t, t->ways[--t->way_count]);
        break;
    case 'o': sort_by(t, TOP_OWN); break;
    case 't': sort_by(t, TOP_TOTAL); break;
    case 'c': sort_by(t, TOP_CALLS); break;
    case 'n': sort_by(t, TOP_KEYS); break;
    default: break;
    }
    return 1;
}

const char *top_run(const top_config *config)
{
    static top t;
    SCREEN *screen;
    t.config = config;
    fill(&t, TOP_FUNCTIONS);
    if (t.panes[TOP_FUNCTIONS].list.count == 0) return "nothing ran";
    setlocale(LC_CTYPE, "");
    screen = newterm(NULL, stdout, stdin);
    if (!screen) return "ncurses does not know this terminal (TERM)";
    cbreak();
    noecho();
    keypad(stdscr, 1);
    curs_set(0);
    lay_out(&t);
    turn_to(&t, t.panes[TOP_FUNCTIONS].list.rows[0].function);
    do draw(&t);
    while (follow(&t, getch()));
    endwin();
    delscreen(screen);
    for (unsigned i = 0; i < TOP_PANES; i++) free(t.panes[i].list.rows);
    return NULL;
}
#endif
