/* window.c: see window.h.
 *
 * SPDX-License-Identifier: MIT */
#include "window.h"
#include <stdlib.h>
#include <string.h>

#define CHUNK  4096u
#define FACTOR 0x9e3779b97f4a7c15u /* odd */
#define PSB    16u                 /* bytes */

/* ---- overlap of snapshots ---- */

/* Bytes of a piece, a block at a time. */
typedef struct reader {
    const perffile *file;
    const perfdata_piece *piece;
    uint64_t at; /* of the block; a multiple of CHUNK */
    uint8_t valid;
    uint8_t bytes[CHUNK];
} reader;

static uint8_t byte_at(reader *r, uint64_t i)
{
    const uint64_t at = i - i % CHUNK;
    if (!r->valid || r->at != at) {
        const uint64_t left = r->piece->size - at;
        memset(r->bytes, 0, sizeof r->bytes);
        perffile_read(r->file, r->piece->data + at, r->bytes,
                      left < CHUNK ? (size_t) left : CHUNK);
        r->at = at;
        r->valid = 1;
    }
    return r->bytes[i - at];
}

/* Do `size` bytes agree, and is there a PSB in them? */
static int agree(reader *older, uint64_t end, reader *newer, uint64_t size)
{
    unsigned psb = 0;
    int found = 0;
    for (uint64_t i = 0; i < size; i++) {
        const uint8_t byte = byte_at(newer, i);
        if (byte_at(older, end - size + i) != byte) return 0;
        psb = byte == (psb & 1 ? 0x82 : 0x02) ? psb + 1 : byte == 0x02;
        found |= psb == PSB;
    }
    return found;
}

/* The most bytes at the end of the older, without `pad` of them, that the newer
 * begins with. The hash of b1 b2 ... bn is b1 * F^(n-1) + ... + bn. */
static uint64_t common(reader *older, reader *newer, uint64_t pad)
{
    const uint64_t end = older->piece->size - pad;
    const uint64_t most = end < newer->piece->size ? end : newer->piece->size;
    uint64_t power = 1;
    uint64_t tail = 0;
    uint64_t head = 0;
    uint64_t best = 0;
    for (uint64_t n = 1; n <= most; n++) {
        tail += (byte_at(older, end - n) + (uint64_t) 1) * power;
        head = head * FACTOR + byte_at(newer, n - 1) + 1;
        power *= FACTOR;
        if (tail == head && n >= PSB) best = n;
    }
    return best && agree(older, end, newer, best) ? best : 0;
}

uint64_t window_overlap(const perffile *file, const perfdata_piece *older,
                        const perfdata_piece *newer, uint64_t *pad)
{
    reader a;
    reader b;
    uint64_t best = 0;
    a.file = b.file = file;
    a.piece = older;
    b.piece = newer;
    a.valid = b.valid = 0;
    *pad = 0;
    for (uint64_t n = 0; n < 8 && n < older->size; n++) {
        const uint64_t size = common(&a, &b, n);
        if (size > best) {
            best = size;
            *pad = n;
        }
        if (byte_at(&a, older->size - 1 - n)) break;
    }
    return best;
}

/* ---- the window ---- */

/* Begin with a piece. */
static void enter(window *w)
{
    const perfdata_piece *const piece = &w->pieces[w->next];
    uint64_t pad;
    w->from = 0;
    w->to = piece->size;
    if (piece->gap == PERFDATA_GAP_SNAPSHOT && w->next)
        w->from = window_overlap(w->file, piece - 1, piece, &pad);
    w->done += w->from;
    if (w->next + 1 < w->count && piece[1].gap == PERFDATA_GAP_SNAPSHOT
        && window_overlap(w->file, piece, piece + 1, &pad)) {
        w->to -= pad;
        w->done += pad;
    }
    if (w->to < w->from) w->to = w->from;
}

int window_open(window *w, const perffile *file, const perfdata_queues *queues,
                uint32_t queue)
{
    memset(w, 0, sizeof *w);
    w->file = file;
    w->pieces = queues->pieces + queues->queues[queue].first;
    w->count = queues->queues[queue].count;
    w->span_count = 1;
    w->room = queues->queues[queue].size < WINDOW_ROOM /* 1: to come to its end */
                  ? (size_t) queues->queues[queue].size + 1 : WINDOW_ROOM;
    w->most = WINDOW_SIZE;
    w->trace.seg = w->segs;
    w->trace.open = 1;
    w->bytes = (uint8_t *) malloc(w->room);
    if (!w->bytes) return -1;
    if (w->count) enter(w);
    return 0;
}

void window_close(window *w)
{
    free(w->bytes);
    w->bytes = NULL;
}

/* Drop what is below release, and move the rest to the front. Returns how many
 * bytes are left. */
static size_t drop(window *w, uint64_t release)
{
    uint32_t n = 0;
    size_t used = 0;
    while (n < w->seg_count
           && w->trace.offset + w->segs[n].size <= release)
        w->trace.offset += w->segs[n++].size;
    w->seg_count -= n;
    memmove(w->segs, w->segs + n, w->seg_count * sizeof *w->segs);
    if (w->seg_count && w->segs->data && release > w->trace.offset) {
        const size_t more = (size_t) (release - w->trace.offset);
        w->segs->data += more;
        w->segs->size -= more;
        w->trace.offset = release;
    }
    for (uint32_t i = 0; i < w->seg_count; i++) {
        if (!w->segs[i].data) continue;
        memmove(w->bytes + used, w->segs[i].data, w->segs[i].size);
        w->segs[i].data = w->bytes + used;
        used += w->segs[i].size;
    }
    return used;
}

uint64_t window_end(const window *w)
{
    uint64_t end = w->trace.offset;
    for (uint32_t i = 0; i < w->seg_count; i++) end += w->segs[i].size;
    return end;
}

static void add_gap(window *w, uint32_t why, uint64_t size)
{
    w->segs[w->seg_count].data = NULL;
    w->segs[w->seg_count++].size = size < SIZE_MAX ? (size_t) size : SIZE_MAX;
    w->gap[w->gaps++ % WINDOW_MARKS] = why;
}

/* The piece is in the stream, where this ends. */
static void add_mark(window *w)
{
    window_mark *const mark = &w->marks[w->mark_count++ % WINDOW_MARKS];
    mark->offset = window_end(w) - w->from;
    mark->position = w->pieces[w->next].position;
    w->entered = 1;
}

/* The next piece. */
static void go_on(window *w)
{
    w->base += w->pieces[w->next].size;
    w->entered = 0;
    if (++w->next == w->count) return;
    w->base += w->pieces[w->next].gap != 0;
}

/* Go to a place in the stream. */
static void go_to(window *w, uint64_t offset)
{
    while (w->next < w->count
           && offset >= w->base + w->pieces[w->next].size)
        go_on(w);
    if (w->next == w->count) return;
    w->from = offset > w->base ? offset - w->base : 0;
    w->to = w->pieces[w->next].size;
}

/* Go to the next span. */
static void next_span(window *w)
{
    const uint64_t now = w->base + w->from;
    if (++w->span == w->span_count) {
        w->next = w->count;
        return;
    }
    go_to(w, w->spans[w->span].from);
    if (w->next == w->count) return;
    add_gap(w, WINDOW_SKIPPED, w->base + w->from - now);
    add_mark(w);
}

void window_only(window *w, const window_span *spans, size_t count)
{
    w->spans = spans;
    w->span_count = count;
    if (count)
        go_to(w, spans->from);
    else
        w->next = w->count;
    w->trace.offset = w->base + w->from;
    if (w->next < w->count) add_mark(w);
}

static uint64_t span_end(const window *w)
{
    return w->spans ? w->spans[w->span].to : UINT64_MAX;
}

/* Read more of the piece. */
static size_t read_piece(window *w, size_t used, size_t most)
{
    const uint64_t now = w->base + w->from;
    const uint64_t end = span_end(w) > now ? span_end(w) - now : 0;
    const uint64_t left = end < w->to - w->from ? end : w->to - w->from;
    const size_t room = most - used;
    const size_t size = left < room ? (size_t) left : room;
    ipt_segment *seg = &w->segs[w->seg_count];
    if (size == 0) return 0;
    if (perffile_read(w->file, w->pieces[w->next].data + w->from,
                      w->bytes + used, size)) {
        w->failed = 1;
        return 0;
    }
    if (w->seg_count && seg[-1].data) {
        seg[-1].size += size;
    } else {
        seg->data = w->bytes + used;
        seg->size = size;
        w->seg_count++;
    }
    w->from += size;
    w->done += size;
    return size;
}

/* Read until so many bytes are used. */
static void fill(window *w, size_t used, size_t most)
{
    while (!w->failed && w->next < w->count && used < most
           && w->seg_count + 2 < WINDOW_SEGS) {
        const uint32_t gap = w->pieces[w->next].gap;
        const int joins = gap == PERFDATA_GAP_SNAPSHOT && w->from;
        if (!w->entered) {
            if (gap && w->next && !joins) add_gap(w, gap, 1);
            add_mark(w);
        }
        used += read_piece(w, used, most);
        if (w->base + w->from >= span_end(w)) {
            next_span(w);
            continue;
        }
        if (w->from < w->to) break;
        go_on(w);
        if (w->next < w->count) enter(w);
    }
    w->used = used;
    w->trace.count = w->seg_count;
    if (w->failed || w->next == w->count) w->trace.open = 0;
}

void window_more(window *w, uint64_t release)
{
    fill(w, drop(w, release), w->most < w->room ? w->most : w->room);
}

int window_grow(window *w)
{
    const size_t used = w->used;
    if (w->trace.open) fill(w, used, w->room);
    return w->used > used || !w->trace.open;
}

uint32_t window_gap(const window *w, uint32_t n)
{
    return n < w->gaps && w->gaps - n <= WINDOW_MARKS
         ? w->gap[n % WINDOW_MARKS] : 0;
}

uint64_t window_position(const window *w, uint64_t offset)
{
    for (uint32_t i = w->mark_count; i > 0 && w->mark_count - i < WINDOW_MARKS;
         i--) {
        const window_mark *const mark = &w->marks[(i - 1) % WINDOW_MARKS];
        if (mark->offset <= offset)
            return mark->position + (offset - mark->offset);
    }
    return UINT64_MAX;
}
