/* said.c: see said.h.
 *
 * SPDX-License-Identifier: MIT */
#include "said.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The groups of items, as the SDM numbers them ("Block Begin Packet"). */
enum { REGISTERS = 1, BASIC = 4, MEMORY = 5, BRANCHES = 8, VECTORS = 16 };
enum { COUNTERS = 1 }; /* an item of BASIC */

static const char *group_name(uint8_t group)
{
    static const char *const names[] = {
        NULL, "registers", NULL, NULL, "basic", "memory", NULL, NULL,
        "branches0", "branches1", "branches2", NULL, NULL, NULL, NULL, NULL,
        "vectors"};
    return group < sizeof names / sizeof names[0] ? names[group] : NULL;
}

/* What an item is called; 0: nobody knows. */
static int name_item(uint8_t group, uint8_t id, char *text, size_t size)
{
    static const char *const registers[] = {
        "rflags", "rip", "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi",
        "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
    static const char *const basic[] = {"ip", "counters", "tsc"};
    static const char *const memory[] = {"address", "source", "latency",
                                         "transaction"};
    static const char *const branch[] = {"from", "to", "info"};
    const char *name = NULL;
    if (group == REGISTERS && id < sizeof registers / sizeof registers[0])
        name = registers[id];
    if (group == BASIC && id < 3) name = basic[id];
    if (group == MEMORY && id < 4) name = memory[id];
    if (group >= BRANCHES && group < BRANCHES + 3) {
        snprintf(text, size, "%s%u", branch[id % 3], id / 3u);
        return 1;
    }
    if (group == VECTORS) {
        snprintf(text, size, "xmm%u.%s", id / 2u, id % 2 ? "high" : "low");
        return 1;
    }
    if (name) snprintf(text, size, "%s", name);
    return name != NULL;
}

/* The events of the counters that a record is of, as far as there is room. */
static void add_events(const char *const *counters, uint64_t bits, char *text)
{
    const char *before = " events=";
    size_t used = strlen(text);
    for (unsigned i = 0; i < 64; i++) {
        const char *const name = counters[i];
        if (!(bits >> i & 1) || !name || !*name) continue;
        if (used + strlen(before) + strlen(name) + sizeof ",.." > SAID_MAX) {
            strcpy(text + used, ",..");
            return;
        }
        used += (size_t) sprintf(text + used, "%s%s", before, name);
        before = ",";
    }
}

void said_words(const ipt_event *event, uint8_t *group,
                const char *const *counters, char *text)
{
    char words[IPT_WORDS_MAX];
    char name[16];
    const char *rest;
    if (event->type == IPT_EVT_PEBS_BEGIN) {
        *group = event->u.pebs.id;
        if (group_name(*group)) {
            snprintf(text, SAID_MAX, "group=%s", group_name(*group));
            return;
        }
    }
    if (event->type == IPT_EVT_PEBS_ITEM
        && name_item(*group, event->u.pebs.id, name, sizeof name)) {
        snprintf(text, SAID_MAX, "%s=%" PRIx64, name, event->u.pebs.payload);
        if (*group == BASIC && event->u.pebs.id == COUNTERS)
            add_events(counters, event->u.pebs.payload, text);
        return;
    }
    if (event->type == IPT_EVT_PEBS_END) *group = 0;
    ipt_event_words(event, words, sizeof words);
    rest = strchr(words, ' ');
    strcpy(text, rest ? rest + 1 : "");
}
