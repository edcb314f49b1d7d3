/* pebs.c: see pebs.h.
 *
 * SPDX-License-Identifier: MIT */
#include "pebs.h"
#include "../code/tool.h"
#include "../perf/perfdata.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The groups of items, as the SDM numbers them ("Block Begin Packet"). */
enum { REGISTERS = 1, BASIC = 4, MEMORY = 5, BRANCHES = 8, VECTORS = 16 };
enum { COUNTERS = 1, TIME = 2 }; /* items of BASIC, */
enum { LATENCY = 2 };            /* ... of MEMORY */

#define WORD 96u /* bytes of a word, at most */

void pebs_free(pebs *p)
{
    free(p->text);
    memset(p, 0, sizeof *p);
}

/* What an item is called. */
static void name_item(const ipt_event *e, uint8_t group, char *name)
{
    static const char *const registers[] = {
        "rflags", "rip", "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi",
        "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
    static const char *const basic[] = {"ip", "counters", "tsc"};
    static const char *const memory[] = {"address", "source", "latency",
                                         "transaction"};
    static const char *const branch[] = {"from", "to", "info"};
    const uint8_t id = e->u.pebs.id;
    const char *known = NULL;
    if (group == REGISTERS && id < sizeof registers / sizeof registers[0])
        known = registers[id];
    if (group == BASIC && id < 3) known = basic[id];
    if (group == MEMORY && id < 4) known = memory[id];
    if (known)
        sprintf(name, "%s", known);
    else if (group >= BRANCHES && group < BRANCHES + 3)
        sprintf(name, "%s%u", branch[id % 3], id / 3u);
    else if (group == VECTORS)
        sprintf(name, "xmm%u.%s", id / 2u, id % 2 ? "high" : "low");
    else
        sprintf(name, "item%u.%u", group, id);
}

/* 0, or -1 without memory. */
static int add(pebs *p, const char *text)
{
    const size_t size = strlen(text);
    p->full |= p->used + size + sizeof " ... cut" > PEBS_MAX;
    if (p->full) return 0;
    if (p->room - p->used <= size) {
        if (!tool_grow(&p->text, 2 * p->room + size + 256, 1)) return -1;
        p->room = 2 * p->room + size + 256;
    }
    memcpy(p->text + p->used, text, size + 1);
    p->used += size;
    return 0;
}

/* The events of the counters that the record is of. */
static int add_events(pebs *p, const char *const *counters, uint64_t bits)
{
    const char *before = " events=";
    for (unsigned i = 0; i < 64; i++) {
        const char *const name = counters[i];
        if (!(bits >> i & 1) || !name || !*name) continue;
        if (add(p, before) || add(p, name)) return -1;
        before = ",";
    }
    return 0;
}

static int add_item(pebs *p, const ipt_event *e, const pebs_about *about)
{
    const uint64_t value = e->u.pebs.payload;
    const uint8_t id = e->u.pebs.id;
    char name[24], word[WORD];
    name_item(e, p->group, name);
    snprintf(word, sizeof word, "%s%s=%" PRIx64, p->used ? " " : "", name,
             value);
    if (p->group == BASIC && id == TIME && about->pt) {
        const uint64_t ns = perfdata_ns(about->pt[PERFDATA_PT_TIME_SHIFT],
                                        about->pt[PERFDATA_PT_TIME_MULT],
                                        about->pt[PERFDATA_PT_TIME_ZERO], value);
        snprintf(word, sizeof word, "%stime=%" PRIu64 ".%09" PRIu64,
                 p->used ? " " : "", ns / 1000000000, ns % 1000000000);
    }
    /* Newer processors say how long the instruction waited, too. */
    if (p->group == MEMORY && id == LATENCY && value >> 32)
        snprintf(word, sizeof word, "%slatency=%" PRIx64 " waited=%" PRIx64,
                 p->used ? " " : "", value >> 32 & 0xffff, value & 0xffff);
    if (add(p, word)) return -1;
    return p->group == BASIC && id == COUNTERS
             ? add_events(p, about->counters, value) : 0;
}

/* The words of a record end, with these. 1, or -1. */
static int finish(pebs *p, const char *last)
{
    const int is_full = p->full;
    p->full = p->open = p->group = 0;
    p->ended = 1;
    if (is_full && add(p, " ...")) return -1;
    if (*last && p->used && add(p, " ")) return -1;
    return add(p, last) ? -1 : 1;
}

int pebs_event(pebs *p, const ipt_event *e, const pebs_about *about)
{
    if (p->ended) p->used = p->ended = 0;
    switch (e->type) {
    case IPT_EVT_PEBS_BEGIN:
        p->open = 1;
        p->group = e->u.pebs.id;
        return 0;
    case IPT_EVT_PEBS_ITEM:
        p->open = 1;
        return add_item(p, e, about);
    case IPT_EVT_PEBS_END:
        return finish(p, "");
    default: return 0;
    }
}

int pebs_cut(pebs *p)
{
    return p->open ? finish(p, "cut") : 0;
}

uint64_t pebs_hash(const pebs *p)
{
    uint64_t hash = p->group + 1u;
    for (size_t i = 0; i < p->used; i++)
        hash = (hash ^ (uint8_t) p->text[i]) * 0x100000001b3u;
    return hash;
}
