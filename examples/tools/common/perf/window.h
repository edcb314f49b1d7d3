/* window.h: the trace of a queue of a perf.data, a window of it in memory.
 *
 *     window_open(&w, &file, &queues, number);
 *     ipt_insn_init(&decoder, &config, &w.trace, &cache);
 *     ...
 *     if (status == IPT_MORE) window_more(&w, decoder.at.release);
 *
 * Pieces without a gap between them are one stream. Snapshots that overlap are
 * joined: what the later one repeats is left out. Between pieces with a gap, the
 * stream has one byte, which nobody knows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef WINDOW_H
#define WINDOW_H
#include "ipt.h"
#include "perffile.h"

#define WINDOW_SIZE  65536u  /* bytes of trace that are read in one go */
#define WINDOW_ROOM  131072u /* ... and that there is room for, at most */
#define WINDOW_SEGS  80u
#define WINDOW_MARKS 32u

/* Where a piece begins in the stream. */
typedef struct window_mark {
    uint64_t offset;   /* of the stream */
    uint64_t position; /* as AUX records have it */
} window_mark;

/* A part of the stream. */
typedef struct window_span {
    uint64_t from;
    uint64_t to;
} window_span;

#define WINDOW_SKIPPED ((uint32_t) 1 << 31) /* window_gap: between two spans */

typedef struct window {
    ipt_trace trace; /* for a decoder; open until all was read */
    uint64_t done;   /* bytes read, and left out */
    uint32_t gaps;   /* passed so far, see window_gap */

    /* private */
    const perffile *file;
    const perfdata_piece *pieces;
    uint32_t count;
    uint32_t next;   /* the piece that is read now */
    uint32_t seg_count;
    size_t used;     /* of bytes, of */
    size_t room;     /* ... so many: all that the queue has, or WINDOW_ROOM */
    uint64_t from;   /* in it */
    uint64_t to;     /* its end, without what perf appended */
    uint64_t base;   /* where it begins in the stream */
    const window_span *spans; /* NULL: all of the stream */
    size_t span;     /* the one that is read now, of ... */
    size_t span_count;
    size_t most;     /* bytes that window_more reads up to: WINDOW_SIZE, or what
                        somebody who needs few sets */
    uint8_t failed;  /* a read did */
    uint8_t entered; /* the piece is in the stream */
    uint32_t mark_count;
    uint32_t gap[WINDOW_MARKS];
    window_mark marks[WINDOW_MARKS];
    ipt_segment segs[WINDOW_SEGS];
    uint8_t *bytes;
} window;

/* 0, or -1 without memory. The queues have to stay. */
int window_open(window *w, const perffile *file, const perfdata_queues *queues,
                uint32_t queue);
void window_close(window *w);

/* Read these parts of the stream only, which are in order and apart from each
 * other; what is between two of them is a gap. Offsets stay. For queues without
 * snapshots; before window_more. They have to stay. */
void window_only(window *w, const window_span *spans, size_t count);

/* Read on; what a decoder no longer needs, below `release`, goes. */
void window_more(window *w, uint64_t release);

/* Read ahead, for a copy of the decoder, where nothing may move. 0 if there is
 * no room or no trace for that. */
int window_grow(window *w);

/* Where what was read so far ends in the stream. */
uint64_t window_end(const window *w);

/* Why there is gap number n, from 0: PERFDATA_AUX_, PERFDATA_GAP_; 0 if that
 * was too long ago. */
uint32_t window_gap(const window *w, uint32_t n);

/* The position that AUX records give to a place in the stream; UINT64_MAX if
 * it is not known any more. */
uint64_t window_position(const window *w, uint64_t offset);

/* How much of the beginning of a snapshot repeats the end of the one before,
 * bytes; *pad is set to how many zeros perf appended to that. */
uint64_t window_overlap(const perffile *file, const perfdata_piece *older,
                        const perfdata_piece *newer, uint64_t *pad);

#endif /* WINDOW_H */
