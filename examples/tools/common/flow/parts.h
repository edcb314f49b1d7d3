/* parts.h: which parts of the trace of a queue have to be decoded for a window
 * in time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PARTS_H
#define PARTS_H
#include "../perf/psbs.h"
#include "threads.h"

/* PSBs before the last one that is not later than the window, and after it: an
 * estimate of time may be late, and the length of a cycle is known when one has
 * been measured. */
#define PARTS_LEAD 2u

/* Find the part of a queue, whose runs are run .. run_end, for what is shown since a
 * time, 0: all, and until threads.until. part->from 0: from the beginning; to
 * UINT64_MAX: to the end. 1: whose flow it is, is known there by itself; 0: not. -1
 * without memory. */
int parts_find(const threads *t, uint32_t queue, uint64_t near, uint64_t since,
               size_t run, size_t run_end, window_span *part);

/* As parts_find, to the end. 0, or -1 without memory. */
int parts_slice(const threads *t, uint32_t queue, uint64_t near, uint64_t since,
                window_span *part);

/* Times of PSBs that are about so many bytes apart, and more if PSBs are far from
 * each other, after those in the list, which grows. 0, or -1 without memory. */
int parts_cuts(const threads *t, uint32_t queue, uint64_t near, uint64_t bytes,
               uint64_t **list, size_t *count);

/* The time of the first PSB of so many last bytes of a queue; 0: it is not known,
 * or that is all. */
uint64_t parts_end(const threads *t, uint32_t queue, uint64_t near,
                   uint64_t bytes);

#endif /* PARTS_H */
