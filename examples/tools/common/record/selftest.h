/* selftest.h: whether a recording of the specimen is what it has to be.
 *
 *     selftest_check(&row, "folder/row.data", &want, &report, &result);
 *
 * SPDX-License-Identifier: MIT */
#ifndef SELFTEST_H
#define SELFTEST_H
#include "specimen.h"

/* What is demanded, besides that the flow of each thread is the one that
 * single-stepping found, and as many calls as the program counted itself. */
enum {
    SELFTEST_FLOW,
    SELFTEST_RETURNS,  /* ... no return is compressed */
    SELFTEST_SNAPSHOT, /* the end of that is there, without a gap */
    SELFTEST_FILTER,   /* of that, what is in a range of addresses */
    SELFTEST_STOP,     /* ... what comes before such a range */
    SELFTEST_PTWRITE,  /* operands are there, in order, ... */
    SELFTEST_FUP,      /* ... and the address of each PTWRITE */
    SELFTEST_PSB,      /* PSBs are 2^(n+11) bytes apart, about */
    SELFTEST_MTC,      /* MTCs count 2^n ticks of the crystal clock */
    SELFTEST_CYC,      /* 2^(n-1) cycles are between two CYCs */
    SELFTEST_TIME,     /* as much time as the program's clock says */
    SELFTEST_RATIO,    /* as many cycles as CBR says are in a tick */
    SELFTEST_KERNEL
}; /* kernel entries: only those, one a system call */

typedef struct selftest_row {
    int check;
    uint64_t number; /* n */
    uint64_t first;  /* the range */
    uint64_t last;
    uint8_t one_thread; /* of the program, its first one, is recorded */
} selftest_row;

typedef struct selftest_result {
    int passed;
    uint64_t instructions;
    uint64_t bytes; /* of trace */
    char why[512];  /* if it failed: the first difference */
} selftest_result;

void selftest_check(const selftest_row *row, const char *file,
                    const specimen_run *want, const specimen_report *report,
                    selftest_result *result);

#endif /* SELFTEST_H */
