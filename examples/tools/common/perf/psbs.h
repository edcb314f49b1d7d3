/* psbs.h: where in the trace of a queue a time is, without decoding what lies
 * before it: PSBs have a TSC, which only grows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PSBS_H
#define PSBS_H
#include "window.h"

#define PSBS_NONE UINT64_MAX

/* A queue without snapshots. All have to stay. */
typedef struct psbs {
    const perffile *file;
    const perfdata_queues *queues;
    const ipt_config *config;
    uint32_t queue;
    uint64_t near; /* a TSC of about then, all 64 bits of it */
    uint64_t size; /* of the stream; psbs_init sets it */
    uint8_t failed; /* there was no memory */
} psbs;

void psbs_init(psbs *p);

/* The packets of a part of a queue. */
typedef struct psbs_packets {
    window trace;
    window_span part;
    ipt_pkt_decoder decoder;
    uint8_t synced; /* 0: go to the next PSB */
    uint8_t lost;   /* the last packet is the first, or what was before it could
                       not be read */
    uint8_t ended;
} psbs_packets;

/* 0, or -1 without memory. It has to stay where it is. */
int psbs_open(psbs_packets *k, const psbs *p, uint64_t from, uint64_t to);

/* The next packet: 1, or 0 at the end. */
int psbs_packet(psbs_packets *k, ipt_packet *packet);

void psbs_close(psbs_packets *k);

/* All of a TSC of which the trace has 56 bits: what is nearest to another one.
 * 0 is none. */
uint64_t psbs_whole(uint64_t tsc, uint64_t near);

/* The first PSB from .. to (without that) that has a time, which is set: its
 * offset, or PSBS_NONE. */
uint64_t psbs_next(psbs *p, uint64_t from, uint64_t to, uint64_t *tsc);

/* The last PSB that is not later than a time; PSBS_NONE. */
uint64_t psbs_before(psbs *p, uint64_t tsc);

/* So many PSBs before a PSB; 0: there are fewer. */
uint64_t psbs_back(psbs *p, uint64_t offset, unsigned count);

/* So many PSBs after a PSB, or after the beginning; PSBS_NONE: there are fewer. */
uint64_t psbs_on(psbs *p, uint64_t offset, unsigned count);

#endif /* PSBS_H */
