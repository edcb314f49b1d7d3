/* print.h: all that one of the libraries says of a trace, as text, each field
 * by its name. For people: two such texts are what diff is for. Lines that
 * begin with `at` say how far it has read and what time it is: there they may
 * differ.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPAT_PRINT_H
#define COMPAT_PRINT_H
#include "lockstep.h"

static int printed = -1; /* 0: theirs, 1: ours, -1: they are compared */
static const char *print_only; /* a subject's name; NULL: each is printed */

static void print_fields(const char *what, const fields *f)
{
    printf("%s", what);
    for (unsigned i = 0; i < f->count; i++)
        printf(" %s %llx", f->list[i].name,
               (unsigned long long) f->list[i].value);
    printf("\n");
}

static void print_raw(const uint8_t *raw, unsigned size)
{
    for (unsigned i = 0; i < size; i++) printf("%02x", raw[i]);
}

static void print_event(const struct pt_event *e)
{
    fields f;
    event_fields(&f, e);
    print_fields("event", &f);
    printf("at time %d %llx lost %u %u\n", e->has_tsc,
           (unsigned long long) e->tsc, e->lost_mtc, e->lost_cyc);
}

static void print_packets(const subject *s, const api *by)
{
    struct pt_packet_decoder *d = by->pt_pkt_alloc_decoder(&s->config);
    int status;
    while ((status = by->pt_pkt_sync_forward(d)) >= 0)
        do {
            struct pt_packet p;
            uint64_t at = 0;
            fields f;
            (void) by->pt_pkt_get_offset(d, &at);
            status = by->pt_pkt_next(d, &p, sizeof p);
            printf("%llx status %d", (unsigned long long) at, status);
            f.count = 0;
            if (status >= 0) packet_fields(&f, &p);
            print_fields("", &f);
        } while (status >= 0);
    printf("packets end with %d\n", status);
    by->pt_pkt_free_decoder(d);
}

static void print_getters(const flow *f)
{
    flow both[2];
    uint64_t out[2][8];
    both[0] = both[1] = *f;
    getters(both, out);
    printf("at offset %llx sync %llx time %llu %llx ratio %llu %llx\n",
           (unsigned long long) out[0][0], (unsigned long long) out[0][1],
           (unsigned long long) out[0][2], (unsigned long long) out[0][3],
           (unsigned long long) out[0][4], (unsigned long long) out[0][5]);
    printf("cr3 %llx vmcs %llx\n", (unsigned long long) out[0][6],
           (unsigned long long) out[0][7]);
}

static void print_item(const flow *f)
{
    const struct pt_insn *n = &f->insn;
    const struct pt_block *b = &f->block;
    switch (f->layer) {
    case QUERY:
        printf(f->target ? "target %llx" : "taken %llx",
               f->target ? (unsigned long long) f->ip
                         : (unsigned long long) f->taken);
        break;
    case INSN:
        printf("insn %llx mode %d class %d isid %d size %u cut %d "
               "speculative %d raw ", (unsigned long long) n->ip, (int) n->mode,
               (int) n->iclass, n->isid, n->size, n->truncated, n->speculative);
        print_raw(n->raw, n->size);
        break;
    default:
        printf("block %llx to %llx count %u mode %d class %d isid %d cut %d "
               "speculative %d raw ", (unsigned long long) b->ip,
               (unsigned long long) b->end_ip, b->ninsn, (int) b->mode,
               (int) b->iclass, b->isid, b->truncated, b->speculative);
        print_raw(b->raw, b->truncated ? b->size : 0);
        break;
    }
    printf(" status %d\n", f->status & ~pts_event_pending);
}

/* Queries, instructions or blocks, over all errors. */
static void print_flow(const subject *s, int side, int layer,
                       unsigned long most)
{
    flow f;
    flow_begin(&f, s, side, layer);
    for (;;) {
        flow_sync(&f);
        printf("sync status %d\n", f.status & ~pts_event_pending);
        if (f.status == -pte_eos) break;
        while (f.status >= 0 && most-- > 0) {
            print_getters(&f);
            if (f.status & pts_event_pending) {
                flow_event(&f);
                if (f.status >= 0) print_event(&f.event);
            } else {
                if (f.status & pts_eos) break;
                memset(&f.insn, 0, sizeof f.insn);
                memset(&f.block, 0, sizeof f.block);
                flow_next(&f);
                print_item(&f);
            }
        }
        if (f.status >= 0) break;
    }
    flow_end(&f);
}

#if LIBIPT_VERSION >= 0x201
static void print_events(const subject *s, const api *by)
{
    struct pt_event_decoder *d = by->pt_evt_alloc_decoder(&s->config);
    int status;
    while ((status = by->pt_evt_sync_forward(d)) >= 0)
        do {
            struct pt_event e;
            memset(&e, 0, sizeof e);
            status = by->pt_evt_next(d, &e, sizeof e);
            if (status >= 0) print_event(&e);
            else printf("status %d\n", status);
        } while (status >= 0);
    printf("events end with %d\n", status);
    by->pt_evt_free_decoder(d);
}
#endif

#endif /* COMPAT_PRINT_H */
