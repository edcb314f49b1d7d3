/* page.h: a page for a browser that needs nothing else: a viewer, and what it
 * shows.
 *
 *     page p;
 *     if (page_open(&p, &args, "out.html")) ... // the exit status
 *     fputs("<h1>", p.out), page_text(&p, name), fputs("</h1>", p.out);
 *     page_data(&p, "profile", json);   // a file that is open, from its start
 *     status = page_close(&p);
 *
 * SPDX-License-Identifier: MIT */
#ifndef PAGE_H
#define PAGE_H
#include "tool.h"

typedef struct page {
    const tool_args *args;
    const char *name;
    FILE *out;
    char *rest; /* of the viewer, after what it shows; allocated with ... */
    char *viewer;
} page;

/* Is the viewer there? 0; without it that is said, and 1. */
int page_open(page *p, const tool_args *args, const char *name);

/* A text that may be hostile. */
void page_text(page *p, const char *text);

/* JSON, which a script of the page finds by that name. */
void page_data(page *p, const char *id, FILE *json);

/* 0, or 1 with a message. */
int page_close(page *p);

#endif /* PAGE_H */
