/* said.h: what an event says, in words: its fields, and what the items of a PEBS
 * record mean, which a processor may write into the trace:
 *
 *     ptwrite      payload=2a size=8
 *     pebs_begin   group=registers
 *     pebs_item    rax=7
 *     pebs_item    counters=3 events=cycles,branches
 *
 * SPDX-License-Identifier: MIT */
#ifndef SAID_H
#define SAID_H
#include "ipt.h"

#define SAID_MAX (IPT_WORDS_MAX + 128)

/* The words of an event, in SAID_MAX bytes; "" if it says nothing. *group is of the
 * event's thread or queue, 0 at first: it is which items of PEBS come. counters: the
 * events of 64 counters, NULL or "" where that is not known. */
void said_words(const ipt_event *event, uint8_t *group,
                const char *const *counters, char *text);

#endif /* SAID_H */
