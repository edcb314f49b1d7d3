/* dates.h: which packets of a trace say the time, and when that was.
 *
 *     dates_init(&d, &config, &trace);
 *     while (dates_next(&d, block.offset, 0, &date))
 *         ... what was executed before this block was, at date.tsc
 *     dates_read(&d, release);              // before trace is dropped
 *
 * It reads the packets of a trace that a decoder reads, too, and keeps a few of
 * them: as many as lie between two blocks or events of that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATES_H
#define DATES_H
#include "ipt.h"

/* A packet that says the time: MTC and TSC do, and a CYC that of the packet
 * after it. A TNT that is not full is written when the next packet is: its date
 * is that one's. Without a threshold of CYCs, packets without one between them
 * are of the same cycle, too. */
typedef struct dates_date {
    uint64_t offset;
    uint64_t tsc;
    uint64_t cycles; /* of all CYCs so far */
} dates_date;

#define DATES_KEPT 16u

typedef struct dates {
    ipt_pkt_decoder packets;
    ipt_clock clock;
    dates_date list[DATES_KEPT]; /* the oldest first */
    unsigned count;
    uint64_t cycles;
    uint8_t after_cyc; /* the last packet was a CYC, of use */
    uint8_t moves;     /* the next one has the date of the last one */
    uint8_t all_cyc;
    uint8_t ended;
} dates;

/* The trace has to stay. all_cyc: there are CYCs, and no threshold of them. */
void dates_init(dates *d, const ipt_config *config, const ipt_trace *trace,
                int all_cyc);

/* Read the packets below an offset. */
void dates_read(dates *d, uint64_t offset);

/* The oldest date below an offset, which has to be that of a packet, or with
 * `own` also that of this packet: 1, and it is forgotten. 0: there is none. */
int dates_next(dates *d, uint64_t offset, int own, dates_date *date);

#endif /* DATES_H */
