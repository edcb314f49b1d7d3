/* dates.h: which packets of a trace say the time, and when that was.
 *
 *     dates_init(&d, &config, &trace);
 *     while (d.due < block.offset
 *            && dates_next(&d, block.offset, 0, &date))
 *         ... what was executed before this block was, at date.tsc
 *     dates_read(&d, release);              // before trace is dropped
 *
 * It reads the packets of a trace that a decoder reads, too, some dates ahead, and
 * keeps a few dates: as many as lie between two blocks or events of that. Nearly
 * all packets are short ones, whose size their first byte says; all others are
 * read by ipt_pkt_next.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATES_H
#define DATES_H
#include "ipt.h"

/* A packet that says the time: MTC and TSC do, and a CYC that of the packet
 * after it. A TNT that is not full is written when the next packet is: its date
 * is that one's. Without a threshold of CYCs, packets without one between them
 * are of the same cycle, too: the first and the last of them have that date. */
typedef struct dates_date {
    uint64_t offset;
    uint64_t tsc;
    uint64_t cycles; /* of all CYCs so far */
} dates_date;

#define DATES_KEPT 32u /* a power of two */
#define DATES_READ 16u /* are read at once, to be given one by one */

/* When a CYC was: that of the CYC before it and its cycles, also across an MTC
 * or TSC between them, but not before these, and it was before those after it.
 * Where it is more before them than the threshold allows, the clock of cycles
 * stood still. A cycle is as long as CBR says and, over all MTCs and TSCs since
 * then, can be. Times are 256ths of a tick of the TSC. */
typedef struct dates_cyc {
    uint64_t at;     /* the last CYC, or when the clock went on */
    uint64_t passed; /* by that CYC */
    uint64_t exact;  /* the last MTC or TSC */
    uint64_t from;   /* the MTC or TSC that the length is measured from; 0 */
    uint64_t cycles; /* since then */
    double length;   /* of a cycle, in ticks; 0: not known */
    uint8_t ratio;   /* by CBR; 0: not known */
} dates_cyc;

typedef struct dates {
    uint64_t due;     /* no date that was not given is below it */
    uint64_t release; /* it reads no more trace below this */
    /* private */
    uint64_t at;      /* of the next packet */
    ipt_pkt_decoder packets; /* of others than short ones */
    const ipt_trace *trace;
    uint64_t begun;   /* the end of the last PSB */
    ipt_clock clock;  /* of MTC and TSC */
    dates_cyc cyc;
    uint32_t threshold;
    uint8_t nom_freq;
    dates_date list[DATES_KEPT]; /* a ring; the oldest is at `first` */
    unsigned first, count;
    uint64_t cycles;
    uint64_t tsc;  /* of the last date */
    int after_cyc; /* the last packet was a CYC, of use */
    int moves;     /* the date of the last packet is the next one's */
    int same;      /* it may have the date of those before it, too: dates.c */
    uint8_t skims;
    uint8_t synced;
    uint8_t quick;     /* short packets may come next */
    uint8_t ended;
    uint8_t sizes[256]; /* of packets, by their first byte; dates.c */
} dates;

/* The trace has to stay. threshold: cycles without a CYC, at most; 1: each
 * packet has one if cycles have passed; 0: there are none. */
void dates_init(dates *d, const ipt_config *config, const ipt_trace *trace,
                uint32_t threshold);

/* Read the packets below an offset. */
void dates_read(dates *d, uint64_t offset);

/* Read them, but for their dates: what comes after the next CYC, MTC or TSC has the
 * dates that it has after dates_read. */
void dates_skim(dates *d, uint64_t offset);

/* Read on in another trace of the same stream, which has to be there already.
 * What was read and not given is forgotten; what is known of the clock stays. */
void dates_move(dates *d, const ipt_config *config, const ipt_trace *trace);

/* The oldest date below an offset, which has to be that of a packet, or with
 * `own` also that of this packet: 1, and it is forgotten. 0: there is none. */
int dates_next(dates *d, uint64_t offset, int own, dates_date *date);

#endif /* DATES_H */
