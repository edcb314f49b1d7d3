/* simplept.h: what simple-pt writes: a ring for each cpu, and lines that say
 * which file of code a process mapped where, its CR3, and the processor.
 *
 *     PREFIX.sideband     meta NAME NUMBER
 *                         SECONDS PID CR3 ADDR OFFSET [LEN]<tab>PATH
 *     PREFIX.N            the ring of cpu N, oldest byte first
 *     PREFIX.cpuid        TSC ratio: EAX EBX (of leaf 15H)
 *
 *     simplept_read(&args, &s, folder);  // 0, or the exit status
 *     ...
 *     simplept_free(&s);
 *
 * The lines are hostile: those that are not understood are counted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIMPLEPT_H
#define SIMPLEPT_H
#include "../code/tool.h"

typedef struct simplept_map {
    char *name; /* the path, allocated */
    uint64_t cr3;
    uint64_t base;
    uint64_t offset;
    uint64_t size; /* 0: not said */
    uint32_t pid;
} simplept_map;

typedef struct simplept_ring {
    char *name; /* of the file, allocated */
    uint32_t cpu;
} simplept_ring;

typedef struct simplept {
    simplept_map *maps; /* in the order of the lines */
    size_t map_count;
    simplept_ring *rings; /* by cpu */
    size_t ring_count;
    size_t bad_lines;
    tool_cpu cpu;
    uint64_t nom_freq;
    uint64_t mtc_freq; /* IA32_RTIT_CTL.MTCFreq; 0 also if there is no MTC */
    uint64_t cpuid_15_eax;
    uint64_t cpuid_15_ebx;
} simplept;

/* Also on failure free it. */
int simplept_read(const tool_args *args, simplept *s, const char *folder);
void simplept_free(simplept *s);

/* The process with a CR3, whose PCID does not count, nor which half of an
 * isolated page table it is. IPT_ASID_UNKNOWN: the first one; none: 0. */
uint32_t simplept_process(const simplept *s, uint64_t cr3);

#endif /* SIMPLEPT_H */
