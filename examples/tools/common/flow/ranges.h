/* ranges.h: which code ran how often, by file and offset: straight runs of it,
 * and the branches between them. Where a file was mapped does not matter.
 *
 *     ranges r;
 *     ranges_thread t;                   // all bytes 0
 *     ranges_init(&r);
 *     ranges_flow(&r, &t, s, pid, guest, &block); // of a session s
 *     ranges_event(&r, &t, s, pid, guest, &event);
 *     ranges_break(&r, &t);              // flow is lost, or at its end
 *     ranges_sort(&r);                   // r.list[0] to r.list[r.count - 1]
 *     ranges_free(&r);
 *
 * A run goes on over branches that are not taken, and over system calls that
 * come back. It ends with a branch that leads elsewhere, or where an interrupt
 * or a signal came.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANGES_H
#define RANGES_H
#include "session.h"

/* What is counted. From and to are offsets in files, of the first byte of
 * instructions. */
typedef struct ranges_one {
    uint64_t from;
    uint64_t to;       /* RANGES_BRANCH: its target; else the last instruction */
    uint64_t count;    /* 0: free */
    uint32_t file;     /* 1 + the index of the file of `from`; 0: no file */
    uint32_t to_file;  /* ... of `to` */
    uint32_t kind;     /* RANGES_ */
    uint32_t length;   /* from the first byte of a run to after its last one */
} ranges_one;

enum {
    RANGES_BRANCH,
    RANGES_RUN,  /* a jump of the same file led there */
    RANGES_OUTER /* a run that a call, a return or something else led to */
};

typedef struct ranges_file {
    const files_file *file;
    char *name;     /* as it was mapped */
    uint64_t insns;
} ranges_file;

typedef struct ranges {
    ranges_one *list; /* a table by hash; sorted: all that there is */
    size_t count;
    size_t size;      /* of the table: a power of two, or 0 */
    ranges_file *files;
    uint32_t file_count;
    uint8_t failed;   /* there was no memory */
} ranges;

/* Where flow of a thread is. */
typedef struct ranges_thread {
    uint64_t start;    /* of the run, ... */
    uint64_t from;     /* ... and where in the file that is */
    uint64_t last;     /* ... its last instruction */
    uint64_t next;     /* ... and what is after that */
    uint8_t open;      /* there is one, ... */
    uint8_t empty;     /* ... of which nothing was executed yet */
    uint8_t kind;      /* IPT_INSN_ of its last instruction */
    uint8_t is_outer;
    uint8_t guest;
    uint32_t file;     /* of the run; 0: none */
    uint32_t mapped;   /* of the mapping looked up last */
    uint32_t pid;
    uint64_t begin;    /* ... which is from here, */
    uint64_t end;      /* ... to this last byte, */
    uint64_t offset;   /* ... from this offset of the file on, */
    uint64_t changes;  /* ... by then: session.changes + 1 */
} ranges_thread;

void ranges_init(ranges *r);
void ranges_free(ranges *r);

void ranges_flow(ranges *r, ranges_thread *t, session *s, uint32_t pid,
                 uint8_t guest, const ipt_block *block);
void ranges_event(ranges *r, ranges_thread *t, session *s, uint32_t pid,
                  uint8_t guest, const ipt_event *event);

/* The next flow is not what came after the last one. */
void ranges_break(ranges *r, ranges_thread *t);

/* No more is added: sort by file, kind and offsets. */
void ranges_sort(ranges *r);

#endif /* RANGES_H */
