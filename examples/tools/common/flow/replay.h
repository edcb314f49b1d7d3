/* replay.h: several processes decode, as slices.h has them, and what a session says
 * is said in one: all that config.flow and the others are told, in its order. That
 * one decodes slices, too, as many as it has time for.
 *
 *     replay_init(&r, &session, processes, stays);   // after session_open
 *     status = replay_run(&r);                       // as session_run
 *     replay_free(&r);
 *
 * Decoding is most of the work; what a tool makes of it may depend on all that was
 * before. If slices do not fit, another process decodes all, and what was said by
 * then is left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef REPLAY_H
#define REPLAY_H
#include "session.h"
#include "slices.h"

/* After this block of a thread: do blocks from *first to *last, each after a direct
 * branch or straight on from such a block, only add up, so that config.flow may be
 * given many of them as one? Asked for blocks inside of one function. */
typedef int replay_stays(session *s, session_task *t, const threads_who *who,
                         const ipt_block *block, uint64_t *first,
                         uint64_t *last);

/* Blocks that are said as one. Where they grow, nobody asks for their offset, which
 * else follows. */
typedef struct replay_block {
    uint8_t what; /* as the first byte of all that is said: replay.c */
    uint8_t kind;
    uint8_t last_size;
    uint8_t mode;
    int32_t length;
    uint64_t ip;
    uint16_t flags;
    uint16_t count;
    uint16_t blocks; /* 0: there is none */
    uint16_t unused;
} replay_block;

typedef struct replay {
    session *session;
    slices slices;
    replay_stays *stays; /* or NULL */
    uint64_t taken;      /* what was said here so far */
    /* private */
    threads_who who;     /* of what comes next */
    session_task *task;  /* ... or of what came before */
    const session_config *tools; /* the tool's, while the first one decodes */
    session_config telling;
    /* in a process that decodes */
    session_config saying;
    char *bytes;         /* what is said, .. */
    size_t used, room;
    size_t full;         /* when so much is, it is written if that can be */
    threads_who said;    /* ... and by whom, at last */
    uint64_t skip;
    replay_block block;  /* that may grow, */
    uint64_t offset;
    uint8_t grows;       /* ... if another one follows that adds up: */
    uint8_t adds;        /* those of `task` in here do, */
    uint64_t first, last;
    uint64_t changes;    /* ... with the code as it was by then */
    uint8_t failed;      /* there was no memory */
} replay;

/* processes: at most; 0: as many as there are processors. */
void replay_init(replay *r, session *s, uint64_t processes,
                 replay_stays *stays);

/* Decode. 0, or the exit status. */
int replay_run(replay *r);

#endif /* REPLAY_H */
