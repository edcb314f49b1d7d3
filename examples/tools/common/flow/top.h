/* top.h: functions, their callers, callees and source on one screen of a
 * terminal, to sort, page and descend by.
 *
 *     top_config config = {title, fill, context};
 *     status = top_run(&config); // until q is pressed
 *
 * What rows say is the caller's. Names and source are hostile: control
 * characters do not reach the terminal.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TOP_H
#define TOP_H
#include <stddef.h>
#include <stdint.h>

enum { TOP_FUNCTIONS, TOP_CALLERS, TOP_CALLEES, TOP_SOURCE, TOP_PANES };
enum { TOP_OWN, TOP_TOTAL, TOP_CALLS, TOP_KEYS };

typedef struct top_row {
    char text[64];       /* numbers */
    const char *name;    /* what stands after them, until the next `fill` */
    uint64_t keys[TOP_KEYS];
    uint32_t function;   /* 0: it is none */
    uint8_t hot;         /* it stands out */
} top_row;

typedef struct top_list {
    const char *head;    /* above them */
    top_row *rows;       /* allocated */
    size_t count;
} top_list;

typedef struct top_config {
    const char *title;
    /* Make the rows of a pane, which are about a function, but in TOP_FUNCTIONS.
     * What is in the list before is of an earlier call. */
    void (*fill)(unsigned pane, uint32_t function, top_list *list,
                 void *context);
    void *context;
} top_config;

/* Standard input and output are a terminal. NULL, or why it cannot be done. */
const char *top_run(const top_config *config);

#endif /* TOP_H */
