/* evt.c: packets to events. What each trace must give was written from the
 * semantics of PSB+, FUP, TIP and OVF, not from what the decoder gave. */
#include "linked.h"
#include "build.h"

/* ---- what is expected ---- */

/* One event. `from` is the index of the packet that made it; which member of
 * u a, b and c are, shows payload(). */
typedef struct want {
    uint8_t type;  /* IPT_EVT_ */
    uint8_t flags; /* NOIP, ... */
    uint8_t from;
    uint64_t ip; /* unless NOIP */
    uint64_t a, b, c;
    uint64_t tsc; /* with CLK */
} want;

#define NOIP IPT_EVENT_NO_IP
#define NOTO IPT_EVENT_NO_TO
#define ST IPT_EVENT_STATUS
#define CLK IPT_EVENT_TSC
#define ANY 0xff /* from: the table does not say */

#define EVENTS_MAX 24
#define PACKETS_MAX 28

typedef struct row {
    const char *name;
    ipt_packet trace[PACKETS_MAX];
    want events[EVENTS_MAX];
    int status; /* at the end; 0: IPT_END */
} row;

static uint32_t with_flags, with_errata; /* config's */

typedef struct payload {
    uint64_t a, b, c;
} payload;

static payload payload_of(const ipt_event *e)
{
    payload p = {0, 0, 0};
    switch (e->type) {
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_BRANCH: p.a = e->u.branch.to; break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        p.a = e->u.paging.cr3;
        p.b = e->u.paging.nr;
        break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: p.a = e->u.vmcs.base; break;
    case IPT_EVT_EXEC_MODE:
        p.a = e->u.exec.mode;
        p.b = e->u.exec.iflag;
        break;
    case IPT_EVT_TSX:
        p.a = e->u.tsx.speculative;
        p.b = e->u.tsx.aborted;
        break;
    case IPT_EVT_PTWRITE:
        p.a = e->u.ptwrite.payload;
        p.b = e->u.ptwrite.size;
        break;
    case IPT_EVT_MWAIT:
        p.a = e->u.mwait.hints;
        p.b = e->u.mwait.ext;
        break;
    case IPT_EVT_PWRE:
        p.a = e->u.pwre.state;
        p.b = e->u.pwre.sub_state;
        p.c = e->u.pwre.hw;
        break;
    case IPT_EVT_PWRX:
        p.a = e->u.pwrx.last;
        p.b = e->u.pwrx.deepest;
        p.c = (uint64_t) e->u.pwrx.interrupt | (uint64_t) e->u.pwrx.store << 1
              | (uint64_t) e->u.pwrx.autonomous << 2;
        break;
    case IPT_EVT_CBR: p.a = e->u.cbr.ratio; break;
    case IPT_EVT_MNT: p.a = e->u.mnt.payload; break;
    case IPT_EVT_TNT:
        p.a = e->u.tnt.bits;
        p.b = e->u.tnt.count;
        break;
    case IPT_EVT_CFE:
        p.a = (uint64_t) e->u.cfe.type << 16 | (uint64_t) e->u.cfe.has << 8
              | (e->u.cfe.has & IPT_CFE_HAS_VECTOR ? e->u.cfe.vector : 0);
        if (e->u.cfe.has & (IPT_CFE_HAS_CR2 | IPT_CFE_HAS_VMXQ))
            p.b = e->u.cfe.data[0];
        if (e->u.cfe.has & IPT_CFE_HAS_VMXR) p.c = e->u.cfe.data[1];
        break;
    case IPT_EVT_IFLAGS: p.a = e->u.exec.iflag; break;
    case IPT_EVT_PEBS_BEGIN:
    case IPT_EVT_PEBS_ITEM:
        p.a = e->u.pebs.id;
        p.b = e->u.pebs.size;
        if (e->type == IPT_EVT_PEBS_ITEM) p.c = e->u.pebs.payload;
        break;
    case IPT_EVT_TRIG:
        p.a = e->u.trig.trbv;
        p.b = e->u.trig.icnt;
        p.c = (uint64_t) e->u.trig.icntv | (uint64_t) e->u.trig.mult << 1;
        break;
    case IPT_EVT_GAP: p.a = e->u.gap.lost; break;
    default: break;
    }
    return p;
}

/* CFE's first word, as payload_of has it. */
#define CFEV(t, has, vector) \
    ((uint64_t) IPT_CFE_##t << 16 | (uint64_t) (has) << 8 | (vector))
#define VEC IPT_CFE_HAS_VECTOR
#define CR2 IPT_CFE_HAS_CR2
#define VMXQ IPT_CFE_HAS_VMXQ
#define VMXR IPT_CFE_HAS_VMXR

static int compare(const row *r, const char *way, unsigned i,
                   const ipt_event *got, const want *w, const build *b)
{
    char at[32];
    payload p = payload_of(got);
    int good = 1;
    snprintf(at, sizeof at, "event %u ", i);
#define SAME(what, x, y)                                                   \
    do {                                                                   \
        char what_[64];                                                    \
        snprintf(what_, sizeof what_, "%s%s of %s", at, what,              \
                 ipt_evt_name(w->type));                                   \
        if ((x) != (y)) good = failed(r->name, way, what_, x, y), good = 0; \
    } while (0)
    SAME("type", got->type, w->type);
    if (!good) return 0;
    SAME("flags", got->flags, w->flags);
    SAME("ip", got->ip, w->ip); /* without one 0, as `to` is */
    SAME("a", p.a, w->a);
    SAME("b", p.b, w->b);
    SAME("c", p.c, w->c);
    if (w->flags & CLK) SAME("tsc", got->tsc, w->tsc);
    if (w->from != ANY) SAME("offset", got->offset, b->offset[w->from]);
#undef SAME
    return good;
}

/* ---- running a row ---- */

/* Two places for the decoder, for the way CLONE. */
static ipt_evt_decoder places[2];
static unsigned place;
static feed f;
static build b;

static ipt_evt_decoder *decoder(void)
{
    ipt_evt_decoder *from = &places[place];
    if (f.way == CLONE) place ^= 1;
    return feed_move(&f, from, &places[place], sizeof *from);
}

static int sync(void)
{
    int status;
    do {
        status = ipt_evt_sync_forward(decoder());
        feed_drop(&f, &places[place].at);
    } while (feed_again(&f, status, b.size));
    return status;
}

static int next(ipt_event *e)
{
    int status;
    ipt_event before;
    memset(e, 0xee, sizeof *e);
    before = *e;
    do {
        status = ipt_evt_next(decoder(), e);
        feed_drop(&f, &places[place].at);
        if (status < 0) CHECK(!memcmp(&before, e, sizeof *e));
    } while (feed_again(&f, status, b.size));
    return status;
}

static void run_row(const row *r, int way)
{
    const int last = r->status ? r->status : IPT_END;
    ipt_event e;
    unsigned i;
    int status;

    build_all(&b, r->trace, PACKETS_MAX);
    feed_begin(&f, b.bytes, b.size, way);
    f.config.flags = with_flags;
    f.config.errata = with_errata;
    CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
    status = sync();
    if (status < 0) failed(r->name, way_names[way], "sync", 0, 0);
    for (i = 0; i < EVENTS_MAX && r->events[i].type; i++) {
        status = next(&e);
        if (status != IPT_OK) {
            char text[64];
            snprintf(text, sizeof text, "status for event %u, %s", i,
                     ipt_evt_name(r->events[i].type));
            failed(r->name, way_names[way], text, (uint64_t) -status, 0);
            break;
        }
        if (!compare(r, way_names[way], i, &e, &r->events[i], &b)) break;
    }
    if (i == EVENTS_MAX || !r->events[i].type) {
        for (i = 0; i < 3; i++) { /* it comes again */
            status = next(&e);
            if (status != last)
                failed(r->name, way_names[way], "last -status",
                       (uint64_t) -status, (uint64_t) -last);
            if (status >= 0)
                failed(r->name, way_names[way], "no such event expected",
                       e.type, 0);
        }
        CHECK_EQ(places[place].at.error, last);
    }
    feed_end(&f);
}

static void run_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int bad = test_.bad;
        for (int way = 0; way < WAYS && bad == test_.bad; way++)
            run_row(&rows[i], way);
    }
}

#define ROWS(table) run_rows(table, LENGTH(table))

/* ---- traces that many rows begin with, and what they give ---- */

/* What ON, of four packets, gives. */
#define E_ON                                                     \
    {.type = IPT_EVT_ENABLED, .flags = ST, .from = 3, .ip = 0x1000}, \
    {.type = IPT_EVT_EXEC_MODE, .flags = ST, .from = 1, .ip = 0x1000, \
     .a = IPT_MODE_64}
/* Five packets: the same, at time 100. */
#define ON_TSC PSB, TSC(0x100), EXEC64, FUP(0x1000), PSBEND
#define E_ON_TSC                                  \
    TE(ENABLED, ST, 4, 0x1000, 0, 0, 0x100), \
    TE(EXEC_MODE, ST, 2, 0x1000, IPT_MODE_64, 0, 0x100)
/* Two packets: tracing is disabled. */
#define OFF PSB, PSBEND
#define E_OFF {.type = IPT_EVT_DISABLED, .flags = ST | NOIP | NOTO, .from = 1}

#define E(t, f, n, i) {.type = IPT_EVT_##t, .flags = f, .from = n, .ip = i}
#define EA(t, f, n, i, x) \
    {.type = IPT_EVT_##t, .flags = f, .from = n, .ip = i, .a = x}
#define EB(t, f, n, i, x, y) \
    {.type = IPT_EVT_##t, .flags = f, .from = n, .ip = i, .a = x, .b = y}
#define EC(t, f, n, i, x, y, z)                                       \
    {.type = IPT_EVT_##t, .flags = f, .from = n, .ip = i, .a = x, .b = y, \
     .c = z}
#define E_TNT(n, count, bits) EB(TNT, NOIP, n, 0, bits, count)
/* With a TSC. */
#define TE(t, f, n, i, x, y, ts)                                            \
    {.type = IPT_EVT_##t, .flags = (f) | CLK, .from = n, .ip = i, .a = x,   \
     .b = y, .tsc = ts}

/* ---- PSB+ ---- */

static const row psb_rows[] = {
    {ROW "on", {ON}, {E_ON}, 0},
    {ROW "off", {OFF}, {E_OFF}, 0},
    {ROW "fup before exec", {PSB, FUP(0x1000), EXEC64, PSBEND, TNT(1, 1)},
     {E(ENABLED, ST, 3, 0x1000), EA(EXEC_MODE, ST, 2, 0x1000, IPT_MODE_64),
      E_TNT(4, 1, 1)}, 0},
    {ROW "suppressed fup is off", {PSB, FUP0, EXEC64, PSBEND},
     {E(DISABLED, ST | NOIP | NOTO, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 2, 0, IPT_MODE_64)}, 0},
    {ROW "all, on",
     {PSB, CBR(0x20), EXEC32, TSX(1, 0), PIP(0xabcde0, 1), VMCS(0x123000),
      MNT(0x77), FUP(0x1000), PSBEND, TNT(2, 2)},
     {E(ENABLED, ST, 8, 0x1000), EA(CBR, ST | NOIP, 1, 0, 0x20),
      EA(EXEC_MODE, ST, 2, 0x1000, IPT_MODE_32),
      EA(TSX, ST, 3, 0x1000, 1), EB(ASYNC_PAGING, ST, 4, 0x1000, 0xabcde0, 1),
      EA(ASYNC_VMCS, ST, 5, 0x1000, 0x123000), EA(MNT, NOIP, 6, 0, 0x77),
      E_TNT(9, 2, 2)}, 0},
    {ROW "all, off",
     {PSB, VMCS(0x123000), PIP(0xabcde0, 0), TSX(0, 0), EXEC16, CBR(0x20),
      PADS(5), MTC(1), CYC(2), PSBEND},
     {E(DISABLED, ST | NOIP | NOTO, 9, 0),
      EA(ASYNC_VMCS, ST | NOIP, 1, 0, 0x123000),
      EA(ASYNC_PAGING, ST | NOIP, 2, 0, 0xabcde0), E(TSX, ST | NOIP, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 4, 0, IPT_MODE_16),
      EA(CBR, ST | NOIP, 5, 0, 0x20)}, 0},
    {ROW "cs.l and cs.d", {PSB, EXEC(1, 1, 0), FUP(0x1000), PSBEND},
     {E(ENABLED, ST, 3, 0x1000),
      EA(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_UNKNOWN)}, 0},
    {ROW "if", {PSB, EXEC(1, 0, 1), FUP(0x1000), PSBEND},
     {E(ENABLED, ST, 3, 0x1000),
      EB(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64, 1)}, 0},
    {ROW "the header's tsc",
     {ON_TSC, TSC(0x200), TNT(1, 0)},
     {E_ON_TSC, TE(TNT, NOIP, 6, 0, 0, 1, 0x200)}, 0},
    {ROW "a second one, on", {ON, TNT(1, 1), PSB, EXEC64, FUP(0x1010), PSBEND,
                          TNT(1, 0)},
     {E_ON, E_TNT(4, 1, 1), E(ENABLED, ST, 8, 0x1010),
      EA(EXEC_MODE, ST, 6, 0x1010, IPT_MODE_64), E_TNT(9, 1, 0)}, 0},
    {ROW "a second one, off", {OFF, PSB, CBR(1), PSBEND},
     {E_OFF, E(DISABLED, ST | NOIP | NOTO, 4, 0), EA(CBR, ST | NOIP, 3, 0, 1)},
     0},
    {ROW "says off while on", {ON, TNT(1, 1), PSB, PSBEND},
     {E_ON, E_TNT(4, 1, 1), E(DISABLED, ST | NOIP | NOTO, 6, 0)}, 0},
    {ROW "another mode while on",
     {ON, TNT(1, 1), PSB, EXEC32, FUP(0x1010), PSBEND},
     {E_ON, E_TNT(4, 1, 1)}, IPT_ERR_STATUS},
    {ROW "psbend alone", {ON, TNT(1, 1), PSBEND}, {E_ON, E_TNT(4, 1, 1)},
     IPT_ERR_CONTEXT},
    {ROW "psbend twice", {OFF, PSBEND}, {E_OFF}, IPT_ERR_CONTEXT},
    /* without PSBEND: the first packet about flow ends it */
    {ROW "no psbend, tnt", {PSB, EXEC64, FUP(0x1000), TNT(1, 1), PGD(0x2000)},
     {E(ENABLED, ST, ANY, 0x1000), EA(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64),
      E_TNT(3, 1, 1), EA(DISABLED, NOIP, 4, 0, 0x2000)}, 0},
    {ROW "no psbend, tip", {PSB, EXEC64, FUP(0x1000), TIP(0x2000)},
     {E(ENABLED, ST, ANY, 0x1000), EA(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64),
      E(TIP, 0, 3, 0x2000)}, 0},
    {ROW "no psbend, pge", {PSB, CBR(9), PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, ANY, 0), EA(CBR, ST | NOIP, 1, 0, 9),
      E(ENABLED, 0, 2, 0x1000)}, 0},
    {ROW "no psbend, psb", {PSB, EXEC64, FUP(0x1000), ON, TNT(1, 0)},
     {E(ENABLED, ST, ANY, 0x1000), EA(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64),
      E(ENABLED, ST, 6, 0x1000), EA(EXEC_MODE, ST, 4, 0x1000, IPT_MODE_64),
      E_TNT(7, 1, 0)}, 0},
    {ROW "no psbend, tip while off", {PSB, TIP(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, ANY, 0)}, IPT_ERR_CONTEXT},
    /* what waits for a FUP, TIP or CFE may not wait across a PSB */
    {ROW "psb after fup", {ON, FUP(0x1004), PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after mode.exec", {ON, EXEC32, PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after mode.tsx", {ON, TSX(1, 0), PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after abort", {ON, TSX(0, 1), PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after ptw", {ON, PTW(0, 1, 5), PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after bep", {ON, BEP(1), PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after evd", {ON, EVD(0, 5), PSB}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psb after cfe", {ON, CFE(INTR, 0, 3), PSB}, {E_ON}, IPT_ERR_CONTEXT},
};

TEST(psb)
{
    ROWS(psb_rows);
}

/* Erratum BDM70: PSB+ before TIP.PGE says that tracing is enabled already.
 * What stands between them keeps its meaning: tracing is disabled. */
static const row bdm70_rows[] = {
    {ROW "next to it", {ON, PGE(0x1000), TNT(1, 1)},
     {E(DISABLED, ST | NOIP | NOTO, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), E(ENABLED, 0, 4, 0x1000),
      E_TNT(5, 1, 1)}, 0},
    {ROW "time between", {ON, PADS(9), TMA(5, 6), MTC(7), CYC(80), PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), E(ENABLED, 0, 8, 0x1000)},
     0},
    {ROW "events between",
     {ON, CBR(0x11), PIP(0x5000, 0), VMCS(0x6000), MNT(0x99), TSX(0, 0),
      PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), EA(CBR, NOIP, 4, 0, 0x11),
      EA(PAGING, NOIP, 5, 0, 0x5000), EA(VMCS, NOIP, 6, 0, 0x6000),
      EA(MNT, NOIP, 7, 0, 0x99), E(TSX, NOIP, 8, 0),
      E(ENABLED, 0, 9, 0x1000)}, 0},
    {ROW "mode.exec between", {ON, EXEC32, PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), E(ENABLED, 0, 5, 0x1000),
      EA(EXEC_MODE, 0, 4, 0x1000, IPT_MODE_32)}, 0},
    {ROW "no mode.exec in psb+",
     {PSB, FUP(0x1000), PSBEND, EXEC64, PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, 2, 0), E(ENABLED, 0, 4, 0x1000),
      EA(EXEC_MODE, 0, 3, 0x1000, IPT_MODE_64)}, 0},
    {ROW "its fup is not a last ip",
     {PSB, FUP(0x7f0000001000), PSBEND, IP_(TIP_PGE, 1, 0x2000)},
     {E(DISABLED, ST | NOIP | NOTO, 2, 0), E(ENABLED, 0, 3, 0x2000)}, 0},
    {ROW "later in the trace",
     {ON, PGD(0x2000), PSB, EXEC64, FUP(0x3000), PSBEND, PGE(0x3000)},
     {E_ON, EA(DISABLED, NOIP, 4, 0, 0x2000),
      E(DISABLED, ST | NOIP | NOTO, 8, 0),
      EA(EXEC_MODE, ST | NOIP, 6, 0, IPT_MODE_64), E(ENABLED, 0, 9, 0x3000)},
     0},
    {ROW "without psbend", {PSB, EXEC64, FUP(0x1000), PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, ANY, 0),
      EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), E(ENABLED, 0, 3, 0x1000)},
     0},
    /* anything else: the PSB+ is right */
    {ROW "enabled before", {ON, TNT(1, 1), PSB, EXEC64, FUP(0x1000), PSBEND,
                        PGE(0x1000)},
     {E_ON, E_TNT(4, 1, 1), E(ENABLED, ST, 8, 0x1000),
      EA(EXEC_MODE, ST, 6, 0x1000, IPT_MODE_64), E(ENABLED, 0, 9, 0x1000)}, 0},
    {ROW "pgd in between", {ON, PGD(0x2000), PGE(0x3000)},
     {E_ON, EA(DISABLED, NOIP, 4, 0, 0x2000), E(ENABLED, 0, 5, 0x3000)}, 0},
    {ROW "pip, then tnt", {ON, PIP(0x5000, 0), TNT(1, 1)},
     {E_ON, EA(PAGING, NOIP, 4, 0, 0x5000), E_TNT(5, 1, 1)}, 0},
    {ROW "no vmcs, then a psb+", {ON, VMCS(0xffffffffff000), TNT(1, 1), PSB,
                                  EXEC64, VMCS(0xffffffffff000), PSBEND},
     {E_ON, EA(VMCS, NOIP, 4, 0, IPT_ASID_UNKNOWN), E_TNT(5, 1, 1),
      E(DISABLED, ST | NOIP | NOTO, 9, 0),
      EA(EXEC_MODE, ST | NOIP, 7, 0, IPT_MODE_64),
      EA(ASYNC_VMCS, ST | NOIP, 8, 0, IPT_ASID_UNKNOWN)}, 0},
    {ROW "vmcs, then tnt", {ON, VMCS(0x5000), TNT(1, 1)},
     {E_ON, EA(VMCS, NOIP, 4, 0, 0x5000), E_TNT(5, 1, 1)}, 0},
    {ROW "pip, then the end", {ON, PIP(0x5000, 1)},
     {E_ON, EB(PAGING, NOIP, 4, 0, 0x5000, 1)}, 0},
    {ROW "cbr and mnt, then tnt", {ON, CBR(7), MNT(8), TNT(1, 1)},
     {E_ON, EA(CBR, NOIP, 4, 0, 7), EA(MNT, NOIP, 5, 0, 8), E_TNT(6, 1, 1)},
     0},
    {ROW "in order, bdm70 or not", {ON, TSX(0, 0), CBR(7), PGE(0x1000)},
     {E(DISABLED, ST | NOIP | NOTO, 3, 0),
      EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), E(TSX, NOIP, 4, 0),
      EA(CBR, NOIP, 5, 0, 7), E(ENABLED, 0, 6, 0x1000)}, 0},
    {ROW "what needs no fup is first", {ON, TSX(0, 0), CBR(7), FUP(0x1004)},
     {E_ON, EA(CBR, NOIP, 5, 0, 7), E(TSX, 0, 4, 0x1004)}, 0},
    {ROW "many packets after it",
     {ON, VMCS(0x1000), VMCS(0x2000), VMCS(0x3000), VMCS(0x4000), VMCS(0x5000),
      VMCS(0x6000), VMCS(0x7000), VMCS(0x8000), VMCS(0x9000), VMCS(0xa000),
      VMCS(0xb000), VMCS(0xc000), VMCS(0xd000), VMCS(0xe000), VMCS(0xf000),
      VMCS(0x10000), TNT(1, 1)},
     {E_ON, EA(VMCS, NOIP, 4, 0, 0x1000), EA(VMCS, NOIP, 5, 0, 0x2000),
      EA(VMCS, NOIP, 6, 0, 0x3000), EA(VMCS, NOIP, 7, 0, 0x4000),
      EA(VMCS, NOIP, 8, 0, 0x5000), EA(VMCS, NOIP, 9, 0, 0x6000),
      EA(VMCS, NOIP, 10, 0, 0x7000), EA(VMCS, NOIP, 11, 0, 0x8000),
      EA(VMCS, NOIP, 12, 0, 0x9000), EA(VMCS, NOIP, 13, 0, 0xa000),
      EA(VMCS, NOIP, 14, 0, 0xb000), EA(VMCS, NOIP, 15, 0, 0xc000),
      EA(VMCS, NOIP, 16, 0, 0xd000), EA(VMCS, NOIP, 17, 0, 0xe000),
      EA(VMCS, NOIP, 18, 0, 0xf000), EA(VMCS, NOIP, 19, 0, 0x10000),
      E_TNT(20, 1, 1)}, 0},
    {ROW "begin, then fup", {ON, TSX(1, 0), FUP(0x1004), TNT(1, 1)},
     {E_ON, EA(TSX, 0, 4, 0x1004, 1), E_TNT(6, 1, 1)}, 0},
    {ROW "mode.exec, then tip", {ON, EXEC32, TIP(0x2000)},
     {E_ON, E(TIP, 0, 5, 0x2000), EA(EXEC_MODE, 0, 4, 0x2000, IPT_MODE_32)},
     0},
};

TEST(bdm70)
{
    ROWS(bdm70_rows);
}

/* ---- TNT, TIP, FUP, PGE, PGD ---- */

static const row flow_rows[] = {
    {ROW "tnt-8", {ON, TNT(1, 0), TNT(6, 0x2a)},
     {E_ON, E_TNT(4, 1, 0), E_TNT(5, 6, 0x2a)}, 0},
    {ROW "tnt-64", {ON, TNT64(1, 1), TNT64(47, 0x5aaaaaaaaaaa)},
     {E_ON, E_TNT(4, 1, 1), E_TNT(5, 47, 0x5aaaaaaaaaaa)}, 0},
    {ROW "tnt-64 of no bits", {ON, TNT64(0, 0), TNT(1, 1), TNT64(0, 0), TIP(0x2000),
                               FUP(0x2004), TNT64(0, 0), TIP(0x3000)},
     {E_ON, E_TNT(5, 1, 1), E(TIP, 0, 7, 0x2000),
      EA(ASYNC_BRANCH, 0, 8, 0x2004, 0x3000)}, 0},
    {ROW "tnt-64 of no bits, while off", {OFF, TNT64(0, 0), PGE(0x1000)},
     {E_OFF, E(ENABLED, 0, 3, 0x1000)}, 0},
    {ROW "tnt-64 of no bits, in psb+ and after ovf",
     {PSB, TNT64(0, 0), EXEC64, FUP(0x1000), PSBEND, OVF, TNT64(0, 0),
      FUP(0x2000), TNT(1, 1)},
     {E(ENABLED, ST, 4, 0x1000), EA(EXEC_MODE, ST, 2, 0x1000, IPT_MODE_64),
      E(OVERFLOW, 0, 5, 0x2000), E_TNT(8, 1, 1)}, 0},
    {ROW "tip", {ON, TIP(0xffff800000001234)},
     {E_ON, E(TIP, 0, 4, 0xffff800000001234)}, 0},
    {ROW "tip, suppressed", {ON, TIP0}, {E_ON, E(TIP, NOIP, 4, 0)}, 0},
    {ROW "tnt while off", {OFF, TNT(1, 1)}, {E_OFF}, IPT_ERR_CONTEXT},
    {ROW "tnt-64 while off", {OFF, TNT64(1, 1)}, {E_OFF}, IPT_ERR_CONTEXT},
    {ROW "tip while off", {OFF, TIP(0x1000)}, {E_OFF}, IPT_ERR_CONTEXT},
    {ROW "tnt after pgd", {ON, PGD(0x2000), TNT(1, 1)},
     {E_ON, EA(DISABLED, NOIP, 4, 0, 0x2000)}, IPT_ERR_CONTEXT},
    {ROW "tip after pgd", {ON, PGD0, TIP(0x2000)},
     {E_ON, E(DISABLED, NOIP | NOTO, 4, 0)}, IPT_ERR_CONTEXT},
    {ROW "fup, tip", {ON, FUP(0x1004), TIP(0x2000), TIP(0x3000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000), E(TIP, 0, 6, 0x3000)}, 0},
    {ROW "fup, tip suppressed", {ON, FUP(0x1004), TIP0},
     {E_ON, E(ASYNC_BRANCH, NOTO, 4, 0x1004)}, 0},
    {ROW "fup, time, tip",
     {ON, FUP(0x1004), PADS(3), MTC(1), TSC(5), CYC(3), TIP(0x2000)},
     {E_ON, TE(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000, 0, 5)}, 0},
    {ROW "fup, pgd", {ON, FUP(0x1004), PGD(0x2000)},
     {E_ON, EA(ASYNC_DISABLED, 0, 4, 0x1004, 0x2000)}, 0},
    {ROW "fup, pgd suppressed", {ON, FUP(0x1004), PGD0},
     {E_ON, E(ASYNC_DISABLED, NOTO, 4, 0x1004)}, 0},
    {ROW "fup suppressed", {ON, FUP0, TNT(1, 1), PTW(0, 1, 5), FUP0, TIP(0x2000)},
     {E_ON, E_TNT(5, 1, 1), EB(PTWRITE, NOIP, 6, 0, 5, 4), E(TIP, 0, 8, 0x2000)},
     0},
    {ROW "pge", {OFF, PGE(0x1000), TNT(1, 1)},
     {E_OFF, E(ENABLED, 0, 2, 0x1000), E_TNT(3, 1, 1)}, 0},
    {ROW "pge suppressed", {OFF, PGE0, PGE(0x1000), TNT(1, 1)},
     {E_OFF, E(ENABLED, 0, 3, 0x1000), E_TNT(4, 1, 1)}, 0},
    {ROW "pge suppressed, alone", {OFF, PGE0, TNT(1, 1)}, {E_OFF},
     IPT_ERR_CONTEXT},
    {ROW "fup, pge", {ON, FUP(0x1004), PGE(0x2000)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "pgd", {ON, PGD(0x2000)}, {E_ON, EA(DISABLED, NOIP, 4, 0, 0x2000)}, 0},
    {ROW "pgd suppressed",
     {ON, PGD0}, {E_ON, E(DISABLED, NOIP | NOTO, 4, 0)}, 0},
    {ROW "pgd, pge", {ON, PGD(0x2000), PGE(0x2000), TIP(0x3000)},
     {E_ON, EA(DISABLED, NOIP, 4, 0, 0x2000), E(ENABLED, 0, 5, 0x2000),
      E(TIP, 0, 6, 0x3000)}, 0},
    {ROW "stop", {ON, PGD(0x2000), STOP},
     {E_ON, EA(DISABLED, NOIP, 4, 0, 0x2000), E(STOP, NOIP, 5, 0)}, 0},
};

TEST(flow)
{
    ROWS(flow_rows);
}

#define LAST 0x7fff123456789abc

/* All IPBytes against one last IP, and all packets that set it. */
static const row ip_rows[] = {
    {ROW "code 1", {ON, TIP(LAST), IP_(TIP, 1, 0x4321)},
     {E_ON, E(TIP, 0, 4, LAST), E(TIP, 0, 5, 0x7fff123456784321)}, 0},
    {ROW "code 2", {ON, TIP(LAST), IP_(TIP, 2, 0xdeadbeef)},
     {E_ON, E(TIP, 0, 4, LAST), E(TIP, 0, 5, 0x7fff1234deadbeef)}, 0},
    {ROW "code 3, bit 47 set", {ON, TIP(LAST), IP_(TIP, 3, 0x800000000001)},
     {E_ON, E(TIP, 0, 4, LAST), E(TIP, 0, 5, 0xffff800000000001)}, 0},
    {ROW "code 3, bit 47 clear",
     {ON, TIP(0xffff800000000001), IP_(TIP, 3, 0x7fffffffffff)},
     {E_ON, E(TIP, 0, 4, 0xffff800000000001),
      E(TIP, 0, 5, 0x00007fffffffffff)}, 0},
    {ROW "code 4", {ON, TIP(LAST), IP_(TIP, 4, 0xa1b2c3d4e5f6)},
     {E_ON, E(TIP, 0, 4, LAST), E(TIP, 0, 5, 0x7fffa1b2c3d4e5f6)}, 0},
    {ROW "code 6", {ON, TIP(LAST), IP_(TIP, 6, 0x123)},
     {E_ON, E(TIP, 0, 4, LAST), E(TIP, 0, 5, 0x123)}, 0},
    {ROW "code 0 keeps it", {ON, TIP(LAST), TIP0, IP_(TIP, 1, 1)},
     {E_ON, E(TIP, 0, 4, LAST), E(TIP, NOIP, 5, 0),
      E(TIP, 0, 6, 0x7fff123456780001)}, 0},
    {ROW "psb's fup", {PSB, EXEC64, FUP(LAST), PSBEND, IP_(TIP, 1, 1)},
     {E(ENABLED, ST, 3, LAST), EA(EXEC_MODE, ST, 1, LAST, IPT_MODE_64),
      E(TIP, 0, 4, 0x7fff123456780001)}, 0},
    {ROW "fup and tip", {ON, FUP(LAST), IP_(TIP, 1, 2), IP_(TIP, 2, 3)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, LAST, 0x7fff123456780002),
      E(TIP, 0, 6, 0x7fff123400000003)}, 0},
    {ROW "pgd and pge", {ON, PGD(LAST), IP_(TIP_PGE, 1, 2), IP_(TIP, 1, 3)},
     {E_ON, EA(DISABLED, NOIP, 4, 0, LAST),
      E(ENABLED, 0, 5, 0x7fff123456780002), E(TIP, 0, 6, 0x7fff123456780003)},
     0},
    {ROW "a fup of ptw's", {ON, PTW(0, 1, 1), FUP(LAST), IP_(TIP, 1, 2)},
     {E_ON, EB(PTWRITE, 0, 4, LAST, 1, 4), E(TIP, 0, 6, 0x7fff123456780002)},
     0},
    {ROW "psb forgets it",
     {ON, TIP(LAST), PSB, EXEC64, IP_(FUP, 1, 0x1234), PSBEND},
     {E_ON, E(TIP, 0, 4, LAST), E(ENABLED, ST, 8, 0x1234),
      EA(EXEC_MODE, ST, 6, 0x1234, IPT_MODE_64)}, 0},
    {ROW "ovf forgets it", {ON, TIP(LAST), OVF, IP_(FUP, 1, 0x1234)},
     {E_ON, E(TIP, 0, 4, LAST), E(OVERFLOW, 0, 5, 0x1234)}, 0},
    {ROW "ovf forgets it, pge", {ON, TIP(LAST), OVF, IP_(TIP_PGE, 2, 0x1234)},
     {E_ON, E(TIP, 0, 4, LAST), E(OVERFLOW, NOIP, 5, 0),
      E(ENABLED, 0, 6, 0x1234)}, 0},
};

TEST(ip_compression)
{
    ROWS(ip_rows);
}

/* ---- modes and address spaces ---- */

static const row mode_rows[] = {
    {ROW "exec, tip", {ON, TNT(1, 1), EXEC32, TIP(0x2000), TIP(0x3000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32), E(TIP, 0, 7, 0x3000)}, 0},
    {ROW "exec, fup", {ON, TNT(1, 1), EXEC16, FUP(0x1004), TIP(0x3000)},
     {E_ON, E_TNT(4, 1, 1), EA(EXEC_MODE, 0, 5, 0x1004, IPT_MODE_16),
      E(TIP, 0, 7, 0x3000)}, 0},
    {ROW "exec, pge", {OFF, EXEC64, PGE(0x1000), TIP(0x3000)},
     {E_OFF, E(ENABLED, 0, 3, 0x1000),
      EA(EXEC_MODE, 0, 2, 0x1000, IPT_MODE_64), E(TIP, 0, 4, 0x3000)}, 0},
    {ROW "exec, pgd", {ON, TNT(1, 1), EXEC32, PGD(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(EXEC_MODE, NOIP, 5, 0, IPT_MODE_32),
      EA(DISABLED, NOIP, 6, 0, 0x2000)}, 0},
    {ROW "exec, pgd suppressed", {ON, TNT(1, 1), EXEC32, PGD0},
     {E_ON, E_TNT(4, 1, 1), EA(EXEC_MODE, NOIP, 5, 0, IPT_MODE_32),
      E(DISABLED, NOIP | NOTO, 6, 0)}, 0},
    {ROW "fup, exec, tip", {ON, FUP(0x1004), EXEC32, TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32)}, 0},
    {ROW "fup, exec, pgd", {ON, FUP(0x1004), EXEC32, PGD(0x2000)},
     {E_ON, EA(ASYNC_DISABLED, 0, 4, 0x1004, 0x2000),
      EA(EXEC_MODE, NOIP, 5, 0, IPT_MODE_32)}, 0},
    {ROW "same exec, tip", {ON, TNT(1, 1), EXEC64, TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "same exec takes the fup", {ON, TNT(1, 1), EXEC64, FUP(0x1004),
                                 TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "same exec, pge", {ON, PGD0, EXEC64, PGE(0x1000)},
     {E_ON, E(DISABLED, NOIP | NOTO, 4, 0), E(ENABLED, 0, 6, 0x1000)}, 0},
    {ROW "same exec, pgd", {ON, TNT(1, 1), EXEC64, PGD(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(DISABLED, NOIP, 6, 0, 0x2000)}, 0},
    {ROW "only if, pgd", {ON, TNT(1, 1), EXEC(1, 0, 1), PGD(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(DISABLED, NOIP, 6, 0, 0x2000)}, 0},
    {ROW "only if, fup",
     {ON, TNT(1, 1), EXEC(1, 0, 1), FUP(0x1004), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "if with a change", {ON, TNT(1, 1), EXEC(0, 1, 1), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000),
      EB(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32, 1)}, 0},
    {ROW "unknown mode", {ON, TNT(1, 1), EXEC(1, 1, 0), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_UNKNOWN)}, 0},
    {ROW "exec with time between", {ON, TNT(1, 1), EXEC32, MTC(1), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TIP, 0, 7, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32)}, 0},
    {ROW "tsx begin", {ON, TNT(1, 1), TSX(1, 0), FUP(0x1004), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(TSX, 0, 5, 0x1004, 1), E(TIP, 0, 7, 0x2000)},
     0},
    {ROW "tsx commit", {ON, TNT(1, 1), TSX(0, 0), FUP(0x1004), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), E(TSX, 0, 5, 0x1004), E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "tsx abort", {ON, TNT(1, 1), TSX(0, 1), FUP(0x1004), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EB(TSX, 0, 5, 0x1004, 0, 1),
      EA(ASYNC_BRANCH, 0, 6, 0x1004, 0x2000)}, 0},
    {ROW "tsx abort, pgd", {ON, TNT(1, 1), TSX(0, 1), FUP(0x1004), PGD0},
     {E_ON, E_TNT(4, 1, 1), EB(TSX, 0, 5, 0x1004, 0, 1),
      E(ASYNC_DISABLED, NOTO, 6, 0x1004)}, 0},
    {ROW "tsx while off", {OFF, TSX(1, 0), TSX(0, 1), TSX(0, 0), PGE(0x1000)},
     {E_OFF, EA(TSX, NOIP, 2, 0, 1), EB(TSX, NOIP, 3, 0, 0, 1),
      E(TSX, NOIP, 4, 0), E(ENABLED, 0, 5, 0x1000)}, 0},
};

TEST(modes)
{
    ROWS(mode_rows);
}

static const row asid_rows[] = {
    {ROW "pip", {ON, TNT(1, 1), PIP(0xfffffffffffe0, 1), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EB(PAGING, NOIP, 5, 0, 0xfffffffffffe0, 1),
      E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "pip while off", {OFF, PIP(0x5000, 0), PGE(0x1000)},
     {E_OFF, EA(PAGING, NOIP, 2, 0, 0x5000), E(ENABLED, 0, 3, 0x1000)}, 0},
    {ROW "vmcs", {ON, TNT(1, 1), VMCS(0xfffffffffe000), TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(VMCS, NOIP, 5, 0, 0xfffffffffe000),
      E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "vmcs while off", {OFF, VMCS(0x5000), PGE(0x1000)},
     {E_OFF, EA(VMCS, NOIP, 2, 0, 0x5000), E(ENABLED, 0, 3, 0x1000)}, 0},
    {ROW "pip and vmcs, sync", {ON, TNT(1, 1), PIP(0x5000, 0), VMCS(0x6000),
                            TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(PAGING, NOIP, 5, 0, 0x5000),
      EA(VMCS, NOIP, 6, 0, 0x6000), E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "fup, pip, tip", {ON, FUP(0x1004), PIP(0x5000, 1), TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EB(ASYNC_PAGING, 0, 5, 0x2000, 0x5000, 1)}, 0},
    {ROW "fup, vmcs, tip", {ON, FUP(0x1004), VMCS(0x6000), TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EA(ASYNC_VMCS, 0, 5, 0x2000, 0x6000)}, 0},
    {ROW "fup, pip, vmcs, tip",
     {ON, FUP(0x1004), PIP(0x5000, 0), VMCS(0x6000), TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EA(ASYNC_VMCS, 0, 6, 0x2000, 0x6000),
      EA(ASYNC_PAGING, 0, 5, 0x2000, 0x5000)}, 0},
    {ROW "fup, vmcs, pip, tip",
     {ON, FUP(0x1004), VMCS(0x6000), PIP(0x5000, 0), TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EA(ASYNC_VMCS, 0, 5, 0x2000, 0x6000),
      EA(ASYNC_PAGING, 0, 6, 0x2000, 0x5000)}, 0},
    {ROW "fup, pip, vmcs, exec, tip",
     {ON, FUP(0x1004), PIP(0x5000, 0), VMCS(0x6000), EXEC32, TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EA(ASYNC_VMCS, 0, 6, 0x2000, 0x6000),
      EA(ASYNC_PAGING, 0, 5, 0x2000, 0x5000),
      EA(EXEC_MODE, 0, 7, 0x2000, IPT_MODE_32)}, 0},
    {ROW "fup, pip, vmcs, pgd",
     {ON, FUP(0x1004), PIP(0x5000, 0), VMCS(0x6000), PGD(0x2000)},
     {E_ON, EA(ASYNC_DISABLED, 0, 4, 0x1004, 0x2000),
      EA(ASYNC_VMCS, NOIP, 6, 0, 0x6000),
      EA(ASYNC_PAGING, NOIP, 5, 0, 0x5000)}, 0},
    {ROW "after a branch they are sync again",
     {ON, FUP(0x1004), PIP(0x5000, 0), TIP(0x2000), VMCS(0x6000), PIP(0, 0)},
     {E_ON, EA(ASYNC_BRANCH, 0, 4, 0x1004, 0x2000),
      EA(ASYNC_PAGING, 0, 5, 0x2000, 0x5000), EA(VMCS, NOIP, 7, 0, 0x6000),
      E(PAGING, NOIP, 8, 0)}, 0},
    {ROW "a fup that is taken makes nothing async",
     {ON, PTW(0, 1, 1), FUP(0x1004), PIP(0x5000, 0), TIP(0x2000)},
     {E_ON, EB(PTWRITE, 0, 4, 0x1004, 1, 4), EA(PAGING, NOIP, 6, 0, 0x5000),
      E(TIP, 0, 7, 0x2000)}, 0},
};

TEST(asids)
{
    ROWS(asid_rows);
}

/* ---- overflow ---- */

static const row ovf_rows[] = {
    {ROW "fup", {ON, TNT(1, 1), OVF, FUP(0x2000), TNT(1, 0), TIP(0x3000)},
     {E_ON, E_TNT(4, 1, 1), E(OVERFLOW, 0, 5, 0x2000), E_TNT(7, 1, 0),
      E(TIP, 0, 8, 0x3000)}, 0},
    {ROW "fup without ip", {ON, OVF, FUP0, FUP(0x2000), TNT(1, 0)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E_TNT(7, 1, 0)}, 0},
    {ROW "fup, while off", {OFF, OVF, FUP(0x2000), TNT(1, 0)},
     {E_OFF, E(OVERFLOW, 0, 2, 0x2000), E_TNT(4, 1, 0)}, 0},
    {ROW "time between", {ON, OVF, PADS(2), TMA(1, 2), MTC(3), CYC(4),
                      FUP(0x2000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000)}, 0},
    {ROW "its time",
     {ON_TSC, TNT(1, 1), OVF, TSC(0x200), FUP(0x2000), TNT(1, 1)},
     {E_ON_TSC, TE(TNT, NOIP, 5, 0, 1, 1, 0x100),
      TE(OVERFLOW, 0, 6, 0x2000, 0, 0, 0x100),
      TE(TNT, NOIP, 9, 0, 1, 1, 0x200)}, 0},
    {ROW "its time, no fup", {ON_TSC, TNT(1, 1), OVF, TSC(0x200), PGE(0x2000)},
     {E_ON_TSC, TE(TNT, NOIP, 5, 0, 1, 1, 0x100),
      TE(OVERFLOW, NOIP, 6, 0, 0, 0, 0x100),
      TE(ENABLED, 0, 8, 0x2000, 0, 0, 0x200)}, 0},
    {ROW "at the end", {ON, TNT(1, 1), OVF},
     {E_ON, E_TNT(4, 1, 1), E(OVERFLOW, NOIP, 5, 0)}, 0},
    {ROW "pads at the end", {ON, TNT(1, 1), OVF, PADS(3)},
     {E_ON, E_TNT(4, 1, 1), E(OVERFLOW, NOIP, 5, 0)}, 0},
    {ROW "pge", {ON, OVF, PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 5, 0x2000)}, 0},
    {ROW "psb", {ON, OVF, PSB, PSBEND},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 6, 0)}, 0},
    {ROW "psb with fup", {ON, OVF, ON, TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), E(ENABLED, ST, 8, 0x1000),
      EA(EXEC_MODE, ST, 6, 0x1000, IPT_MODE_64), E_TNT(9, 1, 1)}, 0},
    {ROW "exec, pge",
     {ON, OVF, EXEC64, PGE(0x2000)}, /* mode is not known now */
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 6, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_64)}, 0},
    {ROW "fup, exec, tip", {ON, OVF, FUP(0x2000), EXEC64, TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(TIP, 0, 7, 0x3000),
      EA(EXEC_MODE, 0, 6, 0x3000, IPT_MODE_64)}, 0},
    {ROW "another mode in psb+",
     {ON, OVF, FUP(0x2000), PSB, EXEC32, FUP(0x2000),
                              PSBEND},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, 9, 0x2000),
      EA(EXEC_MODE, ST, 7, 0x2000, IPT_MODE_32)}, 0},
    {ROW "tsx", {ON, OVF, TSX(0, 0), PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(TSX, NOIP, 5, 0),
      E(ENABLED, 0, 6, 0x2000)}, 0},
    {ROW "pip", {ON, OVF, PIP(0x5000, 0), PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000),
      E(ENABLED, 0, 6, 0x2000)}, 0},
    {ROW "vmcs", {ON, OVF, VMCS(0x5000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(VMCS, NOIP, 5, 0, 0x5000)}, 0},
    {ROW "stop", {ON, OVF, STOP},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(STOP, NOIP, 5, 0)}, 0},
    {ROW "twice", {ON, OVF, OVF, FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(OVERFLOW, 0, 5, 0x2000)}, 0},
    {ROW "exstop", {ON, OVF, EXSTOP(0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(EXSTOP, NOIP, 5, 0)}, 0},
    {ROW "exstop with fup", {ON, OVF, EXSTOP(1), FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(EXSTOP, 0, 5, 0x2000)}, 0},
    {ROW "bep with fup", {ON, OVF, BBP(4, 0), BEP(1), FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EB(PEBS_BEGIN, NOIP, 5, 0, 4, 8),
      E(PEBS_END, 0, 6, 0x2000)}, 0},
    {ROW "mwait", {ON, OVF, MWAIT(1, 0), EXSTOP(0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(MWAIT, NOIP, 5, 0, 1),
      E(EXSTOP, NOIP, 6, 0)}, 0},
    {ROW "pwre, pwrx", {ON, OVF, PWRE(1, 2, 0), PWRX(3, 4, 0, 0, 1)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EC(PWRE, NOIP, 5, 0, 1, 2, 0),
      EC(PWRX, NOIP, 6, 0, 3, 4, 4)}, 0},
    {ROW "pwrx", {ON, OVF, PWRX(3, 4, 1, 0, 0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EC(PWRX, NOIP, 5, 0, 3, 4, 1)}, 0},
    {ROW "ptw", {ON, OVF, PTW(1, 0, 0x55)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EB(PTWRITE, NOIP, 5, 0, 0x55, 8)}, 0},
    {ROW "cfe", {ON, OVF, CFE(SMI, 0, 0), PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(CFE, NOIP, 5, 0, CFEV(SMI, 0, 0)),
      E(ENABLED, 0, 6, 0x2000)}, 0},
    {ROW "evd", {ON, OVF, EVD(0, 0x1234), CFE(INTR, 0, 14)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0),
      EB(CFE, NOIP, ANY, 0, CFEV(INTR, VEC | CR2, 14), 0x1234)}, 0},
    {ROW "trig", {ON, OVF, TRIG(1, 0, 0, 0, 0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(TRIG, NOIP, 5, 0, 1)}, 0},
    {ROW "mnt and cbr go before it, fup", /* as in libipt: it ends at its FUP */
     {ON, OVF, MNT(6), CBR(7), FUP(0x2000)},
     {E_ON, EA(MNT, NOIP, 5, 0, 6), EA(CBR, NOIP, 6, 0, 7),
      E(OVERFLOW, 0, 4, 0x2000)}, 0},
    {ROW "mnt and cbr, no fup", {ON, OVF, MNT(6), CBR(7), PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(MNT, NOIP, 5, 0, 6),
      EA(CBR, NOIP, 6, 0, 7), E(ENABLED, 0, 7, 0x2000)}, 0},
    {ROW "mnt and cbr, the end", {ON, OVF, MNT(6), CBR(7)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(MNT, NOIP, 5, 0, 6),
      EA(CBR, NOIP, 6, 0, 7)}, 0},
    /* what may not follow: the error stands for the overflow, as in libipt */
    {ROW "tnt", {ON, OVF, TNT(1, 1)}, {E_ON},
     IPT_ERR_CONTEXT},
    {ROW "tnt-64", {ON, OVF, TNT64(9, 1)}, {E_ON},
     IPT_ERR_CONTEXT},
    {ROW "tip", {ON, OVF, TIP(0x2000)}, {E_ON},
     IPT_ERR_CONTEXT},
    {ROW "pgd", {ON, OVF, PGD(0x2000)}, {E_ON},
     IPT_ERR_CONTEXT},
    {ROW "psbend",
     {ON, OVF, CBR(7), PSBEND, TNT(1, 1)}, {E_ON}, IPT_ERR_CONTEXT},
    /* inside of PSB+ */
    {ROW "in psb+ with fup",
     {PSB, EXEC64, FUP(0x1000), PIP(0x5000, 0), OVF, FUP(0x2000)},
     {E(ENABLED, ST, ANY, 0x1000), EA(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64),
      EA(ASYNC_PAGING, ST, 3, 0x1000, 0x5000), E(OVERFLOW, 0, 4, 0x2000)}, 0},
    {ROW "in psb+ without fup", {PSB, EXEC64, PIP(0x5000, 0), OVF, FUP(0x2000)},
     {EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64),
      EA(ASYNC_PAGING, ST | NOIP, 2, 0, 0x5000), E(OVERFLOW, 0, 3, 0x2000)},
     0},
    {ROW "a psb+ that it cuts, after mwait",
     {ON, TNT(1, 1), MWAIT(1, 2), PSB, EXEC64, OVF, FUP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(EXEC_MODE, ST | NOIP, 7, 0, IPT_MODE_64),
      EB(MWAIT, NOIP, 5, 0, 1, 2), E(OVERFLOW, 0, 8, 0x2000)}, 0},
    {ROW "psb, ovf", {PSB, OVF, PGE(0x2000)},
     {E(OVERFLOW, NOIP, 1, 0), E(ENABLED, 0, 2, 0x2000)}, 0},
    {ROW "after psb+", {ON, OVF}, {E_ON, E(OVERFLOW, NOIP, 4, 0)}, 0},
    /* what waits is dropped while tracing is enabled, ... */
    {ROW "drops, on",
     {ON, TNT(1, 1), MWAIT(1, 2), PWRE(1, 0, 0), EXEC32, PTW(0, 1, 4),
      TSX(1, 0), CFE(INTR, 0, 3), OVF, FUP(0x2000), TIP(0x3000)},
     {E_ON, E_TNT(4, 1, 1), E(OVERFLOW, 0, 11, 0x2000), E(TIP, 0, 13, 0x3000)},
     0},
    {ROW "instead of a TIP",
     {ON, TNT(1, 1), FUP(0x1004), CBR(7), OVF, FUP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(CBR, NOIP, 6, 0, 7),
      E(ASYNC_DISABLED, NOTO, 5, 0x1004), E(OVERFLOW, 0, 7, 0x2000)}, 0},
    {ROW "instead of a TIP, off", {ON, FUP(0x1004), OVF, PGE(0x2000)},
     {E_ON, E(ASYNC_DISABLED, NOTO, 4, 0x1004), E(OVERFLOW, NOIP, 5, 0),
      E(ENABLED, 0, 6, 0x2000)}, 0},
    {ROW "what came with it",
     {ON, CFE(INTR, 0, 3), FUP(0x1004), VMCS(0x6000), PIP(0x5000, 0), EXEC32,
      OVF, PGE(0x2000)},
     {E_ON, EA(CFE, 0, 4, 0x1004, CFEV(INTR, VEC, 3)),
      E(ASYNC_DISABLED, NOTO, 5, 0x1004), EA(ASYNC_VMCS, NOIP, 6, 0, 0x6000),
      EA(ASYNC_PAGING, NOIP, 7, 0, 0x5000),
      EA(EXEC_MODE, NOIP, 8, 0, IPT_MODE_32), E(OVERFLOW, NOIP, 9, 0),
      E(ENABLED, 0, 10, 0x2000)}, 0},
    {ROW "an abort", {ON, TSX(0, 1), FUP(0x1004), OVF, FUP(0x2000)},
     {E_ON, EB(TSX, 0, 4, 0x1004, 0, 1), E(ASYNC_DISABLED, NOTO, 5, 0x1004),
      E(OVERFLOW, 0, 6, 0x2000)}, 0},
    /* ... and handed out while it is not */
    {ROW "hands out, off",
     {OFF, MWAIT(1, 2), PWRE(3, 4, 1), EXEC32, PTW(0, 1, 4), EXSTOP(1), OVF,
      PGE(0x2000)},
     {E_OFF, EB(MWAIT, NOIP, 2, 0, 1, 2), EC(PWRE, NOIP, 3, 0, 3, 4, 1),
      EA(EXEC_MODE, NOIP, 4, 0, IPT_MODE_32), EB(PTWRITE, NOIP, 5, 0, 4, 4),
      E(EXSTOP, NOIP, 6, 0), E(OVERFLOW, NOIP, 7, 0),
      E(ENABLED, 0, 8, 0x2000)}, 0},
    {ROW "hands out mwait and pwre, off",
     {OFF, MWAIT(7, 0), PWRE(1, 0, 1), OVF},
     {E_OFF, EA(MWAIT, NOIP, 2, 0, 7), EC(PWRE, NOIP, 3, 0, 1, 0, 1),
      E(OVERFLOW, NOIP, 4, 0)}, 0},
};

TEST(overflow)
{
    ROWS(ovf_rows);
}

/* An OVF may come before, in or after a PSB+, and its FUP after that. */
static const row ovf_psb_rows[] = {
    {ROW "psb+ with fup",
     {ON, OVF, PSB, EXEC32, FUP(0x2000), PSBEND, TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_32), E_TNT(9, 1, 1)}, 0},
    {ROW "at the end", {ON, OVF, PSB, EXEC32, FUP(0x2000), PSBEND},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_32)}, 0},
    {ROW "and a vmcs and pip after it",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND, VMCS(0x6000), PIP(0x5000, 0),
      TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64), EA(VMCS, NOIP, 9, 0, 0x6000),
      EA(PAGING, NOIP, 10, 0, 0x5000), E_TNT(11, 1, 1)}, 0},
    {ROW "and a transaction after it",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND, TSX(1, 0), FUP(0x2004),
      TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64), EA(TSX, 0, 9, 0x2004, 1),
      E_TNT(11, 1, 1)}, 0},
    {ROW "and one that begins there",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND, TSX(1, 0), FUP(0x2000),
      TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64), EA(TSX, 0, 9, 0x2000, 1),
      E_TNT(11, 1, 1)}, 0},
    {ROW "and its fup again", {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND,
                           IP_(FUP, 1, 0x2000), IP_(TIP, 1, 0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64), E(TIP, 0, 10, 0x3000)}, 0},
    {ROW "and a fup without ip",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND, FUP0},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64)}, 0},
    {ROW "and an interrupt after packets",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND, PIP(0x5000, 0), FUP(0x2000),
      TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64), EA(PAGING, NOIP, 9, 0, 0x5000),
      EA(ASYNC_BRANCH, 0, 10, 0x2000, 0x3000)}, 0},
    {ROW "and an interrupt elsewhere",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND,
                                    FUP(0x2002), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64),
      EA(ASYNC_BRANCH, 0, 9, 0x2002, 0x3000)}, 0},
    {ROW "and what has a fup there", {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND,
                                  PTW(0, 1, 7), FUP(0x2000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64),
      EB(PTWRITE, 0, 9, 0x2000, 7, 4), E_TNT(11, 1, 1)}, 0},
    {ROW "bdm70's psb+",
     {ON, OVF, PSB, EXEC64, FUP(0x2000), PSBEND, PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, ANY, 0),
      EA(EXEC_MODE, ST | NOIP, 6, 0, IPT_MODE_64), E(ENABLED, 0, 9, 0x3000)},
     0},
    {ROW "psb+ without fup, fup", {ON, OVF, PSB, EXEC64, PSBEND, FUP(0x2000),
                               TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(EXEC_MODE, ST, 6, 0x2000, IPT_MODE_64), E_TNT(9, 1, 1)}, 0},
    {ROW "psb+ without fup, time, fup", {ON, OVF, PSB, PSBEND, MTC(1), CBR(7),
                                     FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x2000),
      EA(CBR, NOIP, 8, 0, 7), E(TIP, 0, 10, 0x3000)}, 0},
    {ROW "psb+ without fup, pge", {ON, OVF, PSB, EXEC64, PSBEND, PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, ANY, 0),
      EA(EXEC_MODE, ST | NOIP, 6, 0, IPT_MODE_64), E(ENABLED, 0, 8, 0x2000)},
     0},
    {ROW "psb+ without fup, the end", {ON, OVF, PSB, PSBEND},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, ANY, 0)},
     0},
    {ROW "psb+ without fup, tnt", {ON, OVF, PSB, PSBEND, TNT(1, 1)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, ANY, 0)},
     IPT_ERR_CONTEXT},
    {ROW "psb+ without fup, twice, fup",
     {ON, OVF, PSB, PSBEND, PSB, PSBEND, PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, ANY, 0),
      E(DISABLED, ST | NOIP | NOTO, ANY, 0), E(ENABLED, 0, 9, 0x2000)}, 0},
    {ROW "in psb+, psbend, fup",
     {PSB, EXEC64, OVF, PSBEND, FUP(0x2000), TNT(1, 1)},
     {EA(EXEC_MODE, ST | NOIP, 1, 0, IPT_MODE_64), E(OVERFLOW, 0, 2, 0x2000),
      E_TNT(5, 1, 1)}, 0},
    {ROW "in psb+ with fup, psbend, fup",
     {PSB, EXEC64, FUP(0x1000), OVF, PSBEND, FUP(0x2000), TNT(1, 1)},
     {E(ENABLED, ST, ANY, 0x1000), EA(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64),
      E(OVERFLOW, 0, 3, 0x2000), E_TNT(6, 1, 1)}, 0},
    {ROW "in psb+, psbend, pge", {PSB, OVF, PSBEND, PGE(0x2000)},
     {E(OVERFLOW, NOIP, 1, 0), E(ENABLED, 0, 3, 0x2000)}, 0},
    {ROW "ovf in psb+ after ovf", {ON, OVF, PSB, OVF, PSBEND, FUP(0x2000),
                                TNT(1, 1)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(OVERFLOW, 0, 6, 0x2000),
      E_TNT(9, 1, 1)}, 0},
};

TEST(S6_overflow_and_psb)
{
    ROWS(ovf_psb_rows);
    with_errata = IPT_ERRATUM_SKD010;
    ROWS(ovf_psb_rows);
    with_errata = IPT_ERRATUM_APL11;
    ROWS(ovf_psb_rows);
    with_errata = 0;
}

/* An EXSTOP and its FUP do not end a PEBS block. */
TEST(S10_pebs_with_exstop)
{
    static const row rows[] = {
        {"with its fup",
         {ON, BBP(4, 0), BIP(1, 0, 0x1234), EXSTOP(1), FUP(0x1001),
          BIP(2, 0, 5), BEP(0), TIP(0x1000)},
         {E_ON, EB(PEBS_BEGIN, NOIP, 4, 0, 4, 8),
          EC(PEBS_ITEM, NOIP, 5, 0, 1, 8, 0x1234), E(EXSTOP, 0, 6, 0x1001),
          EC(PEBS_ITEM, NOIP, 8, 0, 2, 8, 5), E(PEBS_END, NOIP, 9, 0),
          E(TIP, 0, 10, 0x1000)}, 0},
    };
    ROWS(rows);
}

/* What an OVF completes comes in the order of the packets. */
TEST(S14_order_at_an_overflow)
{
    static const row rows[] = {
        {"mwait, pwre, exstop", {OFF, MWAIT(7, 0), PWRE(1, 0, 1), EXSTOP(1),
                                 OVF},
         {E_OFF, EA(MWAIT, NOIP, 2, 0, 7), EC(PWRE, NOIP, 3, 0, 1, 0, 1),
          E(EXSTOP, NOIP, 4, 0), E(OVERFLOW, NOIP, 5, 0)}, 0},
        {"pwre, mwait, exstop", {OFF, PWRE(1, 0, 1), MWAIT(7, 0), EXSTOP(1),
                                 OVF},
         {E_OFF, EC(PWRE, NOIP, 2, 0, 1, 0, 1), EA(MWAIT, NOIP, 3, 0, 7),
          E(EXSTOP, NOIP, 4, 0), E(OVERFLOW, NOIP, 5, 0)}, 0},
    };
    ROWS(rows);
}

/* What began before the first TSC has no time, though it ends after it. */
static const row untimed_rows[] = {
    {ROW "what is held", {ON, CBR(7), TSC(0x100), TNT(1, 1)},
     {E_ON, EA(CBR, NOIP, 4, 0, 7), TE(TNT, NOIP, 6, 0, 1, 1, 0x100)}, 0},
    {ROW "psb+", {ON, TSC(0x100), TNT(1, 1)},
     {E_ON, TE(TNT, NOIP, 5, 0, 1, 1, 0x100)}, 0},
    {ROW "overflow", {OFF, OVF, TSC(0x100), FUP(0x2000)},
     {E_OFF, E(OVERFLOW, 0, 2, 0x2000)}, 0},
    {ROW "overflow, no fup", {OFF, OVF, TSC(0x100), PGE(0x2000)},
     {E_OFF, E(OVERFLOW, NOIP, 2, 0), TE(ENABLED, 0, 4, 0x2000, 0, 0, 0x100)},
     0},
    {ROW "pwre", {OFF, PWRE(1, 2, 0), TSC(0x100), PWRX(3, 4, 0, 0, 0)},
     {E_OFF, EC(PWRE, NOIP, 2, 0, 1, 2, 0),
      TE(PWRX, NOIP, 4, 0, 3, 4, 0x100)}, 0},
};

TEST(untimed)
{
    ROWS(untimed_rows);
}

/* What waits until a PSB+ or an overflow is decided has the time at which it
 * came; what is in a PSB+, the time at which that ended. */
static const row held_time_rows[] = {
    {ROW "after a psb+",
     {ON_TSC, CBR(7), TSC(0x200), MNT(8), TSC(0x300), TNT(1, 1)},
     {E_ON_TSC, TE(CBR, NOIP, 5, 0, 7, 0, 0x100),
      TE(MNT, NOIP, 7, 0, 8, 0, 0x200), TE(TNT, NOIP, 9, 0, 1, 1, 0x300)}, 0},
    {ROW "in a psb+", {PSB, TSC(0x100), MNT(8), TSC(0x200), EXEC64, FUP(0x1000),
                   PSBEND, TSC(0x300), TNT(1, 1)},
     {TE(ENABLED, ST, 6, 0x1000, 0, 0, 0x200), TE(MNT, NOIP, 2, 0, 8, 0, 0x200),
      TE(EXEC_MODE, ST, 4, 0x1000, IPT_MODE_64, 0, 0x200),
      TE(TNT, NOIP, 8, 0, 1, 1, 0x300)}, 0},
    {ROW "after an overflow", {ON_TSC, OVF, MNT(8), TSC(0x200), FUP(0x2000)},
     {E_ON_TSC, TE(MNT, NOIP, 6, 0, 8, 0, 0x100),
      TE(OVERFLOW, 0, 5, 0x2000, 0, 0, 0x100)}, 0},
    {ROW "where nothing is held", {ON_TSC, TNT(1, 1), TSC(0x200), CBR(7)},
     {E_ON_TSC, TE(TNT, NOIP, 5, 0, 1, 1, 0x100),
      TE(CBR, NOIP, 7, 0, 7, 0, 0x200)}, 0},
};

TEST(V4_time_of_what_is_held)
{
    ROWS(held_time_rows);
}

/* So has an MWAIT that an EXSTOP completes while APL12's FUP is in doubt, and a
 * CFE without an IP that comes then. A PSB+ leaves their payload as it is. */
static const row held_mwait_rows[] = {
    {ROW "tnt", {ON_TSC, OVF, FUP(0x2000), MWAIT(7, 9), TSC(0x200), EXSTOP(0),
                 TSC(0x300), TNT(1, 1)},
     {E_ON_TSC, TE(OVERFLOW, 0, 5, 0x2000, 0, 0, 0x100),
      TE(MWAIT, NOIP, 7, 0, 7, 9, 0x200), TE(EXSTOP, NOIP, 9, 0, 0, 0, 0x200),
      TE(TNT, NOIP, 11, 0, 1, 1, 0x300)}, 0},
    {ROW "two, pge", {ON_TSC, OVF, FUP(0x2000), MWAIT(7, 9), TSC(0x200),
                      MWAIT(0xffffffff, 0xfffffffe), EXSTOP(0), TSC(0x300),
                      PGE(0x2000)},
     {E_ON_TSC, TE(OVERFLOW, NOIP, 5, 0, 0, 0, 0x100),
      TE(MWAIT, NOIP, 7, 0, 7, 9, 0x200),
      TE(MWAIT, NOIP, 9, 0, 0xffffffff, 0xfffffffe, 0x200),
      TE(EXSTOP, NOIP, 10, 0, 0, 0, 0x200),
      TE(ENABLED, 0, 12, 0x2000, 0, 0, 0x300)}, 0},
    {ROW "psb+", {ON_TSC, OVF, FUP(0x2000), MWAIT(7, 9), TSC(0x200), EXSTOP(0),
                  PSB, TSC(0x300), EXEC64, FUP(0x2000), PSBEND, TNT(1, 1)},
     {E_ON_TSC, TE(OVERFLOW, 0, 5, 0x2000, 0, 0, 0x100),
      TE(MWAIT, NOIP, 7, 0, 7, 9, 0x200), TE(EXSTOP, NOIP, 9, 0, 0, 0, 0x200),
      TE(ENABLED, ST, 14, 0x2000, 0, 0, 0x300),
      TE(EXEC_MODE, ST, 12, 0x2000, IPT_MODE_64, 0, 0x300),
      TE(TNT, NOIP, 15, 0, 1, 1, 0x300)}, 0},
    {ROW "psb+ off", {ON_TSC, OVF, FUP(0x2000), MWAIT(7, 9), TSC(0x200),
                      EXSTOP(0), PSB, TSC(0x300), PSBEND},
     {E_ON_TSC, TE(OVERFLOW, NOIP, 5, 0, 0, 0, 0x100),
      TE(MWAIT, NOIP, 7, 0, 7, 9, 0x200), TE(EXSTOP, NOIP, 9, 0, 0, 0, 0x200),
      TE(DISABLED, ST | NOIP | NOTO, 12, 0, 0, 0, 0x300)}, 0},
    {ROW "cfe", {ON_TSC, OVF, FUP(0x2000), CFE(IRET, 0, 0), TSC(0x200), PSB,
                 TSC(0x300), EXEC64, FUP(0x2000), PSBEND, TNT(1, 1)},
     {E_ON_TSC, TE(OVERFLOW, 0, 5, 0x2000, 0, 0, 0x100),
      TE(CFE, NOIP, 7, 0, CFEV(IRET, 0, 0), 0, 0x100),
      TE(ENABLED, ST, 13, 0x2000, 0, 0, 0x300),
      TE(EXEC_MODE, ST, 11, 0x2000, IPT_MODE_64, 0, 0x300),
      TE(TNT, NOIP, 14, 0, 1, 1, 0x300)}, 0},
};

TEST(time_of_a_held_mwait)
{
    with_errata = IPT_ERRATUM_APL12;
    ROWS(held_mwait_rows);
    with_errata = 0;
}

/* ---- options and errata ---- */

#define E_IF(n, i, x) EA(IFLAGS, ST, n, i, x)

static const row iflags_rows[] = {
    {ROW "in psb+", {PSB, EXEC(1, 0, 1), FUP(0x1000), PSBEND, TNT(1, 1)},
     {E(ENABLED, ST, 3, 0x1000),
      EB(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64, 1), E_IF(1, 0x1000, 1),
      E_TNT(4, 1, 1)}, 0},
    {ROW "only if, tip", {ON, TNT(1, 1), EXEC(1, 0, 1), TIP(0x2000)},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000),
      EA(IFLAGS, 0, 5, 0x2000, 1)}, 0},
    {ROW "only if takes the fup", {ON, TNT(1, 1), EXEC(1, 0, 1), FUP(0x1004),
                               TIP(0x2000)},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1), EA(IFLAGS, 0, 5, 0x1004, 1),
      E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "only if, pgd", {ON, TNT(1, 1), EXEC(1, 0, 1), PGD(0x2000)},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1), EA(IFLAGS, NOIP, 5, 0, 1),
      EA(DISABLED, NOIP, 6, 0, 0x2000)}, 0},
    {ROW "both", {ON, TNT(1, 1), EXEC(0, 1, 1), TIP(0x2000)},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000),
      EB(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32, 1), EA(IFLAGS, 0, 5, 0x2000, 1)},
     0},
    {ROW "if stays set",
     {PSB, EXEC(1, 0, 1), FUP(0x1000), PSBEND, TNT(1, 1), EXEC(1, 0, 1),
      TIP(0x2000)},
     {E(ENABLED, ST, 3, 0x1000), EB(EXEC_MODE, ST, 1, 0x1000, IPT_MODE_64, 1),
      E_IF(1, 0x1000, 1), E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "only the mode", {ON, TNT(1, 1), EXEC32, TIP(0x2000)},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1), E(TIP, 0, 6, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32)}, 0},
    {ROW "neither", {ON, TNT(1, 1), EXEC64, FUP(0x1004), TIP(0x2000)},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1), E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "another if in psb+", {ON, TNT(1, 1), PSB, EXEC(1, 0, 1), FUP(0x1004),
                            PSBEND},
     {E_ON, E_IF(1, 0x1000, 0), E_TNT(4, 1, 1)}, IPT_ERR_STATUS},
};

TEST(iflags)
{
    with_flags = IPT_CONFIG_IFLAGS;
    ROWS(iflags_rows);
    with_flags = 0;
}

#define E_PIP(from) EA(PAGING, NOIP, from, 0, 0x5000)
static const row apl12_rows[] = {
    {ROW "pge", {ON, OVF, FUP(0x2000), PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 6, 0x3000)}, 0},
    {ROW "stop", {ON, OVF, FUP(0x2000), STOP},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(STOP, NOIP, 6, 0)}, 0},
    {ROW "psb+ off", {ON, OVF, FUP(0x2000), PSB, PSBEND},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 7, 0)}, 0},
    {ROW "psb+ off, fup", {ON, OVF, FUP(0x2000), PSB, PSBEND, FUP(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 7, 0)}, 0},
    {ROW "psb+ elsewhere",
     {ON, OVF, FUP(0x2000), PSB, EXEC64, FUP(0x3000), PSBEND,
                        TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, ANY, 0x3000),
      EA(EXEC_MODE, ST, 7, 0x3000, IPT_MODE_64), E_TNT(10, 1, 1)}, 0},
    {ROW "psb+ that is bdm70's",
     {ON, OVF, FUP(0x2000), PSB, EXEC64, FUP(0x3000),
                              PSBEND, PGE(0x4000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, ANY, 0),
      EA(EXEC_MODE, ST | NOIP, 7, 0, IPT_MODE_64), E(ENABLED, 0, 10, 0x4000)},
     0},
    {ROW "tnt", {ON, OVF, FUP(0x2000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E_TNT(6, 1, 1)}, 0},
    {ROW "tip", {ON, OVF, FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(TIP, 0, 6, 0x3000)}, 0},
    {ROW "pgd", {ON, OVF, FUP(0x2000), PGD(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(DISABLED, NOIP, 6, 0, 0x3000)}, 0},
    {ROW "ovf", {ON, OVF, FUP(0x2000), OVF, FUP(0x3000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(OVERFLOW, 0, 6, 0x3000),
      E_TNT(8, 1, 1)}, 0},
    {ROW "ovf in psb+", {ON, OVF, FUP(0x2000), PSB, OVF, PGE(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(OVERFLOW, NOIP, 7, 0),
      E(ENABLED, 0, 8, 0x3000)}, 0},
    {ROW "the end", {ON, OVF, FUP(0x2000), PADS(2)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000)}, 0},
    {ROW "three events, mwait, tnt",
     {PSB, CBR(20), EXEC64, FUP(0x1000), PSBEND, OVF, FUP(0x2000), MWAIT(1, 0),
      TNT(1, 1), EXSTOP(0)},
     {E(ENABLED, ST, 4, 0x1000), EA(CBR, ST | NOIP, 1, 0, 20),
      EA(EXEC_MODE, ST, 2, 0x1000, IPT_MODE_64), E(OVERFLOW, 0, 5, 0x2000),
      E_TNT(8, 1, 1), EA(MWAIT, NOIP, 7, 0, 1), E(EXSTOP, NOIP, 9, 0)}, 0},
    {ROW "fup", {ON, OVF, FUP(0x2000), FUP(0x3000), TIP(0x4000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EA(ASYNC_BRANCH, 0, 6, 0x3000, 0x4000)}, 0},
    /* these may come whether tracing is enabled or not */
    {ROW "power, pge",
     {ON, OVF, FUP(0x2000), MWAIT(1, 0), EXSTOP(0), PWRE(2, 0, 0),
      PWRX(3, 3, 1, 0, 0), PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(MWAIT, NOIP, 6, 0, 1),
      E(EXSTOP, NOIP, 7, 0), EA(PWRE, NOIP, 8, 0, 2),
      EC(PWRX, NOIP, 9, 0, 3, 3, 1), E(ENABLED, 0, 10, 0x3000)}, 0},
    {ROW "power, tnt",
     {ON, OVF, FUP(0x2000), MWAIT(1, 0), EXSTOP(0), PWRE(2, 0, 0),
      PWRX(3, 3, 1, 0, 0), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(MWAIT, NOIP, 6, 0, 1),
      E(EXSTOP, NOIP, 7, 0), EA(PWRE, NOIP, 8, 0, 2),
      EC(PWRX, NOIP, 9, 0, 3, 3, 1), E_TNT(10, 1, 1)}, 0},
    {ROW "mwait, psb+ off",
     {ON, OVF, FUP(0x2000), MWAIT(1, 0), PSB, PSBEND, EXSTOP(0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 8, 0),
      EA(MWAIT, NOIP, 6, 0, 1), E(EXSTOP, NOIP, 9, 0)}, 0},
    {ROW "power, cbr, psb+ off",
     {ON, OVF, FUP(0x2000), PWRE(2, 0, 0), CBR(7), PSB, PSBEND,
      PWRX(3, 3, 1, 0, 0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(CBR, NOIP, 7, 0, 7),
      E(DISABLED, ST | NOIP | NOTO, 9, 0), EA(PWRE, NOIP, 6, 0, 2),
      EC(PWRX, NOIP, 10, 0, 3, 3, 1)}, 0},
    {ROW "mode.tsx, its fup", {ON, OVF, FUP(0x2000), TSX(1, 0), FUP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(TSX, 0, 6, 0x3000, 1)}, 0},
    {ROW "mode.tsx, pge",
     {ON, OVF, FUP(0x2000), TSX(1, 0), CBR(7), PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(TSX, NOIP, 6, 0, 1),
      EA(CBR, NOIP, 7, 0, 7), E(ENABLED, 0, 8, 0x3000)}, 0},
    {ROW "ptw, its fup",
     {ON, OVF, FUP(0x2000), PTW(0, 0, 5), PTW(0, 1, 6), FUP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EB(PTWRITE, NOIP, 6, 0, 5, 4),
      EB(PTWRITE, 0, 7, 0x3000, 6, 4)}, 0},
    {ROW "interrupt, its fup",
     {ON, OVF, FUP(0x2000), CFE(INTR, 0, 9), FUP(0x3000), TIP(0x4000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EA(CFE, 0, 6, 0x3000, CFEV(INTR, VEC, 9)),
      EA(ASYNC_BRANCH, 0, 7, 0x3000, 0x4000)}, 0},
    {ROW "eleven pips, and four that take a fup",
     {ON, OVF, FUP(0x2000), PIP(0x5000, 0), PIP(0x5000, 0), PIP(0x5000, 0),
      PIP(0x5000, 0), PIP(0x5000, 0), PIP(0x5000, 0), PIP(0x5000, 0),
      PIP(0x5000, 0), PIP(0x5000, 0), PIP(0x5000, 0), PIP(0x5000, 0),
      PTW(0, 1, 6), EXSTOP(1), TRIG(2, 1, 1, 0, 0), PTW(0, 1, 7),
      FUP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E_PIP(6), E_PIP(7), E_PIP(8), E_PIP(9),
      E_PIP(10), E_PIP(11), E_PIP(12), E_PIP(13), E_PIP(14), E_PIP(15),
      E_PIP(16), EB(PTWRITE, 0, 17, 0x3000, 6, 4), E(EXSTOP, 0, 18, 0x3000),
      EC(TRIG, 0, 19, 0x3000, 2, 0, 1), EB(PTWRITE, 0, 20, 0x3000, 7, 4)}, 0},
    {ROW "iret, pge", {ON, OVF, FUP(0x2000), CFE(IRET, 0, 0), PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(CFE, NOIP, 6, 0, CFEV(IRET, 0, 0)),
      E(ENABLED, 0, 7, 0x3000)}, 0},
};

static const row apl11_rows[] = {
    {ROW "pgd", {ON, OVF, PADS(1), PGD(0x2000), PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 7, 0x3000)}, 0},
    {ROW "fup", {ON, OVF, FUP(0x2000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E_TNT(6, 1, 1)}, 0},
    {ROW "pgd is the last ip", {ON, OVF, PADS(1), PGD(0x7f0012342000),
                                IP_(TIP_PGE, 1, 0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 7, 0x7f0012343000)}, 0},
};

static const row skd010_rows[] = {
    {ROW "pgd is the last ip", {ON, OVF, PGD(0x7f0012342000),
                                IP_(TIP_PGE, 1, 0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 6, 0x7f0012343000)}, 0},
    {ROW "tip", {ON, OVF, TIP(0x2000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E_TNT(6, 1, 1)}, 0},
    {ROW "pgd", {ON, OVF, PGD(0x2000), PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 6, 0x3000)}, 0},
    {ROW "pge", {ON, OVF, PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 5, 0x3000)}, 0},
    {ROW "fup", {ON, OVF, FUP(0x2000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E_TNT(6, 1, 1)}, 0},
    {ROW "psb+ on", {ON, OVF, ON, TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), E(ENABLED, ST, 8, 0x1000),
      EA(EXEC_MODE, ST, 6, 0x1000, IPT_MODE_64), E_TNT(9, 1, 1)}, 0},
    {ROW "psb+ off", {ON, OVF, PSB, PSBEND, PGE(0x3000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 6, 0),
      E(ENABLED, 0, 7, 0x3000)}, 0},
    /* what came in between happened where nothing was traced */
    {ROW "pip, fup",
     {ON, OVF, PIP(0x5000, 1), VMCS(0x6000), FUP(0x2000), TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EB(ASYNC_PAGING, 0, 5, 0x2000, 0x5000, 1),
      EA(ASYNC_VMCS, 0, 6, 0x2000, 0x6000), E_TNT(8, 1, 1)}, 0},
    {ROW "pip, tip", {ON, OVF, PIP(0x5000, 0), TIP(0x2000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EA(ASYNC_PAGING, 0, 5, 0x2000, 0x5000)}, 0},
    {ROW "pip, pgd", {ON, OVF, PIP(0x5000, 0), PGD(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000)}, 0},
    {ROW "pip, psb+", {ON, OVF, PIP(0x5000, 0), ON},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), EA(ASYNC_PAGING, 0, 5, 0x1000, 0x5000),
      E(ENABLED, ST, 9, 0x1000), EA(EXEC_MODE, ST, 7, 0x1000, IPT_MODE_64)}, 0},
    {ROW "pip, ptw, psb+ that is bdm70's",
     {ON, OVF, PIP(0x5000, 0), PTW(0, 0, 5), ON, PGE(0x4000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000),
      EB(PTWRITE, NOIP, 6, 0, 5, 4), E(DISABLED, ST | NOIP | NOTO, ANY, 0),
      EA(EXEC_MODE, ST | NOIP, 8, 0, IPT_MODE_64), E(ENABLED, 0, 11, 0x4000)},
     0},
    {ROW "pip, psb+ off, fup",
     {ON, OVF, PIP(0x5000, 0), PSB, PSBEND, FUP(0x2000),
                            TNT(1, 1)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(ASYNC_PAGING, 0, 5, 0x2000, 0x5000),
      E(ENABLED, ST, 7, 0x2000), E_TNT(9, 1, 1)}, 0},
    {ROW "pip, psb+ off", {ON, OVF, PIP(0x5000, 0), PSB, PSBEND},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000),
      E(DISABLED, ST | NOIP | NOTO, 7, 0)}, 0},
    {ROW "what belongs to instructions is lost",
     {ON, OVF, PTW(0, 0, 5), CFE(IRET, 0, 0), TRIG(1, 0, 1, 5, 0), FUP(0x2000),
      PGD0},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      E(ASYNC_DISABLED, NOTO, 8, 0x2000)}, 0},
    {ROW "tsx, tip", {ON, OVF, TSX(0, 1), FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EB(TSX, 0, 5, 0x2000, 0, 1),
      EA(ASYNC_BRANCH, 0, 6, 0x2000, 0x3000)}, 0},
    {ROW "tsx without fup, tip",
     {ON, OVF, TSX(1, 0), TIP(0x2000), FUP(0x2004), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(TSX, NOIP, 5, 0, 1),
      EA(ASYNC_BRANCH, 0, 7, 0x2004, 0x3000)}, 0},
    {ROW "power, fup",
     {ON, OVF, PWRE(2, 0, 0), EXSTOP(0), PWRX(3, 3, 1, 0, 0), FUP(0x2000),
      PGD0},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(PWRE, NOIP, 5, 0, 2),
      E(EXSTOP, NOIP, 6, 0), EC(PWRX, NOIP, 7, 0, 3, 3, 1),
      E(ASYNC_DISABLED, NOTO, 8, 0x2000)}, 0},
    {ROW "interrupt, fup", {ON, OVF, CFE(INTR, 0, 9), FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EA(CFE, 0, 5, 0x2000, CFEV(INTR, VEC, 9)),
      EA(ASYNC_BRANCH, 0, 6, 0x2000, 0x3000)}, 0},
    {ROW "rsm, fup", {ON, OVF, CFE(RSM, 0, 0), FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), EA(CFE, NOIP, 5, 0, CFEV(RSM, 0, 0)),
      EA(ASYNC_BRANCH, 0, 6, 0x2000, 0x3000)}, 0},
    {ROW "page fault, fup",
     {ON, OVF, EVD(IPT_EVD_CR2, 5), CFE(INTR, 0, 14), FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EB(CFE, 0, 5, 0x2000, CFEV(INTR, VEC | CR2, 14), 5),
      EA(ASYNC_BRANCH, 0, 7, 0x2000, 0x3000)}, 0},
    {ROW "exec, fup", {ON, OVF, EXEC32, FUP(0x2000), TIP(0x3000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32), E(TIP, 0, 7, 0x3000)}, 0},
    {ROW "exec, tip", {ON, OVF, EXEC32, TIP(0x2000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32)}, 0},
    {ROW "exec, pgd", {ON, OVF, EXEC32, PGD(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(EXEC_MODE, NOIP, 5, 0, IPT_MODE_32)},
     0},
    {ROW "exec, pge", {ON, OVF, EXEC32, PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(ENABLED, 0, 6, 0x2000),
      EA(EXEC_MODE, 0, 5, 0x2000, IPT_MODE_32)}, 0},
    {ROW "exec, psb+", {ON, OVF, EXEC64, ON},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), E(ENABLED, ST, 9, 0x1000),
      EA(EXEC_MODE, ST, 7, 0x1000, IPT_MODE_64)}, 0},
    {ROW "exec, psb+ off", {ON, OVF, EXEC64, PSB, PSBEND},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 7, 0)}, 0},
    {ROW "exec, psb+ off, exec",
     {ON, OVF, EXEC32, PSB, PSBEND, EXEC32, PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 7, 0),
      E(ENABLED, 0, 9, 0x2000), EA(EXEC_MODE, 0, 8, 0x2000, IPT_MODE_32)}, 0},
    {ROW "exec, psb+ off, the same exec",
     {ON, OVF, EXEC64, PSB, PSBEND, EXEC64, PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(DISABLED, ST | NOIP | NOTO, 7, 0),
      E(ENABLED, 0, 9, 0x2000), EA(EXEC_MODE, 0, 8, 0x2000, IPT_MODE_64)}, 0},
    {ROW "tsx, psb+", {ON, OVF, TSX(1, 0), ON},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), EA(TSX, NOIP, 5, 0, 1),
      E(ENABLED, ST, 9, 0x1000), EA(EXEC_MODE, ST, 7, 0x1000, IPT_MODE_64)}, 0},
    {ROW "abort, psb+ off", {ON, OVF, TSX(0, 1), PSB, PSBEND},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EB(TSX, NOIP, 5, 0, 0, 1),
      E(DISABLED, ST | NOIP | NOTO, 7, 0)}, 0},
    {ROW "interrupt, psb+", {ON, OVF, CFE(INTR, 0, 9), ON},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), EA(CFE, NOIP, 5, 0, CFEV(INTR, VEC, 9)),
      E(ENABLED, ST, 9, 0x1000), EA(EXEC_MODE, ST, 7, 0x1000, IPT_MODE_64)}, 0},
    {ROW "psb+ off, rsm, fup",
     {ON, OVF, PSB, PSBEND, CFE(RSM, 0, 0), FUP(0x2000)},
     {E_ON, E(OVERFLOW, 0, 4, 0x2000), E(ENABLED, ST, 6, 0x2000),
      EA(CFE, NOIP, 7, 0, CFEV(RSM, 0, 0))}, 0},
    {ROW "evd, psb+", {ON, OVF, EVD(IPT_EVD_CR2, 5), ON},
     {E_ON, E(OVERFLOW, 0, 4, 0x1000), E(ENABLED, ST, 9, 0x1000),
      EA(EXEC_MODE, ST, 7, 0x1000, IPT_MODE_64)}, 0},
    {ROW "tsx, pgd", {ON, OVF, TSX(1, 0), PGD(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(TSX, NOIP, 5, 0, 1)}, 0},
    /* what says nothing: as without the erratum */
    {ROW "pip, pge", {ON, OVF, PIP(0x5000, 0), PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000),
      E(ENABLED, 0, 6, 0x2000)}, 0},
    {ROW "tnt", {ON, OVF, TNT(1, 1)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "tip without ip", {ON, OVF, TIP0}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "psbend", {ON, OVF, PSBEND, TNT(1, 1)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "pip, tnt", {ON, OVF, PIP(0x5000, 0), TNT(1, 1)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000)},
     IPT_ERR_CONTEXT},
    {ROW "pip, tip without ip", {ON, OVF, PIP(0x5000, 0), TIP0},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000)},
     IPT_ERR_CONTEXT},
    {ROW "ptwrite's fup", {ON, OVF, PTW(0, 1, 5), FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EB(PTWRITE, 0, 5, 0x2000, 5, 4)}, 0},
    {ROW "exstop's fup", {ON, OVF, EXSTOP(1), FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(EXSTOP, 0, 5, 0x2000)}, 0},
    {ROW "interrupt's fup", {ON, OVF, CFE(INTR, 1, 9), FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0),
      EA(CFE, 0, 5, 0x2000, CFEV(INTR, VEC, 9))}, 0},
    {ROW "mwait", {ON, OVF, MWAIT(1, 0), EXSTOP(1), FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(MWAIT, 0, 5, 0x2000, 1),
      E(EXSTOP, 0, 6, 0x2000)}, 0},
    {ROW "ovf", {ON, OVF, OVF, FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(OVERFLOW, 0, 5, 0x2000)}, 0},
    {ROW "pip, ovf", {ON, OVF, PIP(0x5000, 0), OVF, FUP(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000),
      E(OVERFLOW, 0, 6, 0x2000)}, 0},
    {ROW "stop", {ON, OVF, STOP},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E(STOP, NOIP, 5, 0)}, 0},
    {ROW "two mode.tsx", {ON, OVF, TSX(1, 0), TSX(0, 0), PGE(0x2000)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(TSX, NOIP, 5, 0, 1),
      EA(TSX, NOIP, 6, 0, 0), E(ENABLED, 0, 7, 0x2000)}, 0},
    {ROW "the end", {ON, OVF, PIP(0x5000, 0)},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), EA(PAGING, NOIP, 5, 0, 0x5000)}, 0},
};

TEST(errata)
{
    with_errata = IPT_ERRATUM_APL12;
    ROWS(apl12_rows);
    with_errata = IPT_ERRATUM_APL11;
    ROWS(apl11_rows);
    with_errata = IPT_ERRATUM_SKD010;
    ROWS(skd010_rows);
    with_errata = 0;
}

/* A PSB+ without PSBEND, if that is an error. */
TEST(strict)
{
    static const row r = {"strict", {PSB, EXEC64, FUP(0x1000), TNT(1, 1)},
                          {E_ON}, 0};
    for (int way = 0; way < WAYS; way++) {
        ipt_event e;
        int status;
        unsigned n = 0;
        build_all(&b, r.trace, PACKETS_MAX);
        feed_begin(&f, b.bytes, b.size, way);
        f.config.flags = IPT_CONFIG_STRICT;
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        while ((status = next(&e)) >= 0 && n++ < 9)
            CHECK(e.type != IPT_EVT_TNT);
        CHECK_EQ(status, IPT_ERR_CONTEXT);
        feed_end(&f);
    }
}

/* ---- PTWRITE, power, PEBS, triggers, frequency ---- */

static const row data_rows[] = {
    {ROW "ptw", {ON, PTW(0, 0, 0xffffffff), PTW(1, 0, UINT64_MAX)},
     {E_ON, EB(PTWRITE, NOIP, 4, 0, 0xffffffff, 4),
      EB(PTWRITE, NOIP, 5, 0, UINT64_MAX, 8)}, 0},
    {ROW "ptw takes the fup", {ON, PTW(1, 1, 5), FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(PTWRITE, 0, 4, 0x1004, 5, 8), E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "two share a fup", {ON, PTW(1, 1, 5), PTW(0, 1, 6), FUP(0x1004)},
     {E_ON, EB(PTWRITE, 0, 4, 0x1004, 5, 8), EB(PTWRITE, 0, 5, 0x1004, 6, 4)},
     0},
    {ROW "ptw while off", {OFF, PTW(0, 0, 1), PTW(0, 1, 2), FUP(0x1004)},
     {E_OFF, EB(PTWRITE, NOIP, 2, 0, 1, 4), EB(PTWRITE, 0, 3, 0x1004, 2, 4)},
     0},
    {ROW "exstop", {ON, EXSTOP(0), TNT(1, 1)},
     {E_ON, E(EXSTOP, NOIP, 4, 0), E_TNT(5, 1, 1)}, 0},
    {ROW "exstop takes the fup", {ON, EXSTOP(1), FUP(0x1004), TIP(0x2000)},
     {E_ON, E(EXSTOP, 0, 4, 0x1004), E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "mwait", {ON, MWAIT(0xffffffff, 3), EXSTOP(0)},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 0xffffffff, 3), E(EXSTOP, NOIP, 5, 0)}, 0},
    {ROW "mwait with ip",
     {ON, MWAIT(1, 2), EXSTOP(1), FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(MWAIT, 0, 4, 0x1004, 1, 2), E(EXSTOP, 0, 5, 0x1004),
      E(TIP, 0, 7, 0x2000)}, 0},
    {ROW "mwait, its fup", {ON, MWAIT(1, 2), FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(MWAIT, 0, 4, 0x1004, 1, 2), E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "mwait, pwre, its fup",
     {ON, MWAIT(1, 2), CBR(9), PWRE(3, 4, 1), FUP(0x1004), PWRX(1, 2, 1, 0, 0)},
     {E_ON, EA(CBR, NOIP, 5, 0, 9), EB(MWAIT, 0, 4, 0x1004, 1, 2),
      EC(PWRE, NOIP, 6, 0, 3, 4, 1), EC(PWRX, NOIP, 8, 0, 1, 2, 1)}, 0},
    {ROW "mwait, its fup, exstop, its fup",
     {ON, MWAIT(1, 2), FUP(0x1004), PWRE(3, 4, 1), EXSTOP(1), FUP(0x1005),
      FUP(0x1005), PGD0},
     {E_ON, EB(MWAIT, 0, 4, 0x1004, 1, 2), E(EXSTOP, 0, 7, 0x1005),
      E(ASYNC_DISABLED, NOTO, 9, 0x1005)}, 0},
    {ROW "mwait, an event's fup",
     {ON, MWAIT(1, 2), PTW(0, 1, 5), FUP(0x1002), CFE(INTR, 0, 3), FUP(0x1004),
      TIP(0x2000), EXSTOP(1), FUP(0x2004)},
     {E_ON, EB(PTWRITE, 0, 5, 0x1002, 5, 4), EA(CFE, 0, 7, 0x1004, 0x10103),
      EA(ASYNC_BRANCH, 0, 8, 0x1004, 0x2000), EB(MWAIT, 0, 4, 0x2004, 1, 2),
      E(EXSTOP, 0, 10, 0x2004)}, 0},
    {ROW "mwait, exstop without ip, an interrupt",
     {ON, MWAIT(1, 2), EXSTOP(0), FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 1, 2), E(EXSTOP, NOIP, 5, 0),
      EA(ASYNC_BRANCH, 0, 6, 0x1004, 0x2000)}, 0},
    {ROW "mwait, pwre, exstop without ip: asleep, so the fup is not an interrupt's",
     {ON, MWAIT(1, 2), PWRE(3, 4, 1), EXSTOP(0), MTC(1), FUP(0x1004),
      PWRX(1, 2, 1, 0, 0), TIP(0x2000), FUP(0x2004), TIP(0x3000)},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 1, 2), E(EXSTOP, NOIP, 6, 0),
      EC(PWRE, NOIP, 5, 0, 3, 4, 1), EC(PWRX, NOIP, 9, 0, 1, 2, 1),
      E(TIP, 0, 10, 0x2000), EA(ASYNC_BRANCH, 0, 11, 0x2004, 0x3000)}, 0},
    {ROW "mwait, pwre, exstop without ip, pwrx: awake, an interrupt",
     {ON, MWAIT(1, 2), PWRE(3, 4, 1), EXSTOP(0), PWRX(1, 2, 1, 0, 0),
      FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 1, 2), E(EXSTOP, NOIP, 6, 0),
      EC(PWRE, NOIP, 5, 0, 3, 4, 1), EC(PWRX, NOIP, 7, 0, 1, 2, 1),
      EA(ASYNC_BRANCH, 0, 8, 0x1004, 0x2000)}, 0},
    {ROW "mwait, pwre, exstop without ip, twice; one fup; ovf forgets it",
     {ON, MWAIT(1, 2), PWRE(3, 4, 1), EXSTOP(0), MWAIT(5, 6), EXSTOP(0),
      FUP(0x1004), FUP(0x1005), TIP(0x2000), MWAIT(7, 8), EXSTOP(0), OVF,
      FUP(0x3000), FUP(0x3001), TIP(0x1000)},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 1, 2), E(EXSTOP, NOIP, 6, 0),
      EB(MWAIT, NOIP, 7, 0, 5, 6), E(EXSTOP, NOIP, 8, 0),
      EA(ASYNC_BRANCH, 0, 10, 0x1005, 0x2000), EB(MWAIT, NOIP, 12, 0, 7, 8),
      E(EXSTOP, NOIP, 13, 0), E(OVERFLOW, 0, 14, 0x3000),
      EA(ASYNC_BRANCH, 0, 16, 0x3001, 0x1000)}, 0},
    {ROW "mwait, exstop without ip, pwre: no sleep before the exstop",
     {ON, MWAIT(1, 2), EXSTOP(0), PWRE(3, 4, 1), FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 1, 2), E(EXSTOP, NOIP, 5, 0),
      EA(ASYNC_BRANCH, 0, 7, 0x1004, 0x2000)}, 0},
    {ROW "pwre, exstop without ip: no mwait's fup",
     {ON, PWRE(3, 4, 1), EXSTOP(0), FUP(0x1004), TIP(0x2000)},
     {E_ON, E(EXSTOP, NOIP, 5, 0), EA(ASYNC_BRANCH, 0, 6, 0x1004, 0x2000)}, 0},
    {ROW "mwait waits", {ON, MWAIT(1, 2), TNT(1, 1), EXSTOP(0)},
     {E_ON, E_TNT(5, 1, 1), EB(MWAIT, NOIP, 4, 0, 1, 2),
      E(EXSTOP, NOIP, 6, 0)}, 0},
    {ROW "mwait without exstop", {ON, MWAIT(1, 2), TNT(1, 1)},
     {E_ON, E_TNT(5, 1, 1)}, 0},
    {ROW "mwait over psb", /* hazards.c */
     {OFF, MWAIT(1, 2), PSB, PSBEND, EXSTOP(0)},
     {E_OFF, E(DISABLED, ST | NOIP | NOTO, 4, 0), EB(MWAIT, NOIP, 2, 0, 1, 2),
      E(EXSTOP, NOIP, 5, 0)}, 0},
    {ROW "mwait over psb, on", {ON, MWAIT(1, 2), ON, EXSTOP(1), FUP(0x1000)},
     {E_ON, E(ENABLED, ST, 8, 0x1000),
      EA(EXEC_MODE, ST, 6, 0x1000, IPT_MODE_64), EB(MWAIT, 0, 4, 0x1000, 1, 2),
      E(EXSTOP, 0, 9, 0x1000)}, 0},
    {ROW "pwre, pwrx", {OFF, PWRE(15, 14, 1), PWRX(13, 12, 1, 1, 1)},
     {E_OFF, EC(PWRE, NOIP, 2, 0, 15, 14, 1), EC(PWRX, NOIP, 3, 0, 13, 12, 7)},
     0},
    {ROW "pwre, pwrx while on", {ON, PWRE(1, 2, 0), PWRX(3, 4, 0, 1, 0)},
     {E_ON, EC(PWRE, NOIP, 4, 0, 1, 2, 0), EC(PWRX, NOIP, 5, 0, 3, 4, 2)}, 0},
    {ROW "pwre waits", {ON, PWRE(1, 2, 0), TNT(1, 1), PWRX(3, 4, 0, 0, 0)},
     {E_ON, E_TNT(5, 1, 1), EC(PWRE, NOIP, 4, 0, 1, 2, 0),
      EC(PWRX, NOIP, 6, 0, 3, 4, 0)}, 0},
    {ROW "pwre's time",
     {OFF, TSC(1), PWRE(1, 2, 0), TSC(2), PWRX(3, 4, 0, 0, 0)},
     {E_OFF, {.type = IPT_EVT_PWRE, .flags = NOIP | CLK, .from = 3, .a = 1,
              .b = 2, .tsc = 1},
      {.type = IPT_EVT_PWRX, .flags = NOIP | CLK, .from = 5, .a = 3, .b = 4,
       .tsc = 2}}, 0},
    {ROW "pwre over psb", /* hazards.c */
     {OFF, PWRE(1, 2, 0), PSB, PSBEND, PWRX(3, 4, 0, 0, 0)},
     {E_OFF, E(DISABLED, ST | NOIP | NOTO, 4, 0),
      EC(PWRE, NOIP, 2, 0, 1, 2, 0), EC(PWRX, NOIP, 5, 0, 3, 4, 0)}, 0},
    {ROW "a whole sleep",
     {ON, MWAIT(7, 1), PWRE(1, 0, 0), EXSTOP(1), FUP(0x1001),
      PWRX(1, 0, 1, 0, 0)},
     {E_ON, EB(MWAIT, 0, 4, 0x1001, 7, 1), E(EXSTOP, 0, 6, 0x1001),
      EC(PWRE, NOIP, 5, 0, 1, 0, 0), EC(PWRX, NOIP, 8, 0, 1, 0, 1)}, 0},
    {ROW "bep takes the fup",
     {ON, BBP(4, 0), BIP(31, 0, UINT64_MAX), BEP(1), FUP(0x1004), TIP(0x2000)},
     {E_ON, EB(PEBS_BEGIN, NOIP, 4, 0, 4, 8),
      EC(PEBS_ITEM, NOIP, 5, 0, 31, 8, UINT64_MAX), E(PEBS_END, 0, 6, 0x1004),
      E(TIP, 0, 8, 0x2000)}, 0},
    {ROW "bep without ip", {ON, BBP(31, 1), BIP(1, 1, 2), BEP(0), FUP(0x1004),
                        TIP(0x2000)},
     {E_ON, EB(PEBS_BEGIN, NOIP, 4, 0, 31, 4),
      EC(PEBS_ITEM, NOIP, 5, 0, 1, 4, 2), E(PEBS_END, NOIP, 6, 0),
      EA(ASYNC_BRANCH, 0, 7, 0x1004, 0x2000)}, 0},
    {ROW "pebs while off", {OFF, BBP(1, 0), BIP(2, 0, 3), BEP(1), FUP(0x1004)},
     {E_OFF, EB(PEBS_BEGIN, NOIP, 2, 0, 1, 8),
      EC(PEBS_ITEM, NOIP, 3, 0, 2, 8, 3), E(PEBS_END, 0, 4, 0x1004)}, 0},
    {ROW "cbr", {ON, TNT(1, 1), CBR(0x2a)},
     {E_ON, E_TNT(4, 1, 1), EA(CBR, NOIP, 5, 0, 0x2a)}, 0},
    {ROW "mnt", {ON, TNT(1, 1), MNT(0x123456789abcdef0)},
     {E_ON, E_TNT(4, 1, 1), EA(MNT, NOIP, 5, 0, 0x123456789abcdef0)}, 0},
    {ROW "cbr and mnt while off", {OFF, CBR(1), MNT(2)},
     {E_OFF, EA(CBR, NOIP, 2, 0, 1), EA(MNT, NOIP, 3, 0, 2)}, 0},
    {ROW "cbr overtakes what waits", {ON, TNT(1, 1), FUP(0x1004), CBR(1),
                                  TIP(0x2000)},
     {E_ON, E_TNT(4, 1, 1), EA(CBR, NOIP, 6, 0, 1),
      EA(ASYNC_BRANCH, 0, 5, 0x1004, 0x2000)}, 0},
    {ROW "trig", {ON, TRIG(0xff, 0, 0, 0, 1), TRIG(1, 0, 1, 0xffff, 0)},
     {E_ON, EC(TRIG, NOIP, 4, 0, 0xff, 0, 2),
      EC(TRIG, NOIP, 5, 0, 1, 0xffff, 1)}, 0},
    {ROW "trig takes the fup",
     {ON, TRIG(2, 1, 1, 0, 0), FUP(0x1004), TIP(0x2000)},
     {E_ON, EC(TRIG, 0, 4, 0x1004, 2, 0, 1), E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "trig, ip but no icnt", {ON, TRIG(2, 1, 0, 0, 0), FUP(0x1004)}, {E_ON},
     IPT_ERR_PACKET},
    {ROW "trig, ip and icnt", {ON, TRIG(2, 1, 1, 1, 0), FUP(0x1004)}, {E_ON},
     IPT_ERR_PACKET},
    {ROW "trig while off", {OFF, TRIG(2, 0, 1, 0, 0), TRIG(3, 0, 0, 0, 0)},
     {E_OFF, EC(TRIG, NOIP, 2, 0, 2, 0, 1), EA(TRIG, NOIP, 3, 0, 3)}, 0},
};

TEST(data)
{
    ROWS(data_rows);
}

/* ---- event trace ---- */

/* How a CFE binds: with the FUP of the branch it causes, to the instruction
 * that causes it, or to a FUP whose IP means nothing. */
enum { BRANCH, INSN, NOWHERE };

static const struct {
    uint8_t type;
    uint8_t binds;
    uint8_t has;
} cfe_types[] = {
    {IPT_CFE_INTR, BRANCH, VEC},        {IPT_CFE_IRET, INSN, 0},
    {IPT_CFE_SMI, BRANCH, 0},           {IPT_CFE_RSM, NOWHERE, 0},
    {IPT_CFE_SIPI, NOWHERE, VEC},       {IPT_CFE_INIT, BRANCH, 0},
    {IPT_CFE_VMENTRY, INSN, 0},         {IPT_CFE_VMEXIT, BRANCH, 0},
    {IPT_CFE_VMEXIT_INTR, BRANCH, VEC}, {IPT_CFE_SHUTDOWN, INSN, 0},
    {IPT_CFE_UINTR, BRANCH, VEC},       {IPT_CFE_UIRET, INSN, 0},
    {IPT_CFE_SWINTR, BRANCH, VEC},      {IPT_CFE_SYSCALL, INSN, 0}};

static const row cfe_on = {"", {ON, PADS(1), FUP(0x1004), TIP(0x2000)},
                           {E_ON}, 0};
static const row cfe_off = {"", {OFF, PADS(1)}, {E_OFF}, 0};
static const row cfe_off_ip = {"", {OFF, PADS(1), FUP(0x1004), PGE(0x2000)},
                               {E_OFF}, 0};

static void check_cfe(unsigned i, const row *base, unsigned at, uint8_t ip)
{
    static const want branch = EA(ASYNC_BRANCH, 0, 5, 0x1004, 0x2000);
    static const want tip = E(TIP, 0, 6, 0x2000);
    static const want enabled = E(ENABLED, 0, 4, 0x2000);
    static const ipt_packet cfe = CFE_(0, 0, 0x77);
    const int on = base == &cfe_on;
    const uint8_t binds = cfe_types[i].binds;
    row r = *base;
    char name[32];
    unsigned n = 0;

    snprintf(name, sizeof name, "cfe %u%s%s", cfe_types[i].type,
             ip ? " ip" : "", on ? " on" : " off");
    r.name = name;
    r.trace[at] = cfe;
    r.trace[at].u.cfe.type = cfe_types[i].type;
    r.trace[at].u.cfe.has_ip = ip;
    while (r.events[n].type) n++;
    if (binds == NOWHERE && ip) {
        r.status = IPT_ERR_PACKET;
    } else {
        want *w = &r.events[n++];
        w->type = IPT_EVT_CFE;
        w->from = (uint8_t) at;
        w->a = (uint64_t) cfe_types[i].type << 16
               | (uint64_t) cfe_types[i].has << 8
               | (cfe_types[i].has ? 0x77 : 0);
        if (ip || (on && binds == BRANCH))
            w->ip = 0x1004;
        else
            w->flags = NOIP;
        if (on) /* with an IP the FUP is its own, without the branch's */
            r.events[n++] = ip ? tip : branch;
        else if (ip)
            r.events[n++] = enabled;
    }
    for (int way = 0; way < WAYS; way++) run_row(&r, way);
}

TEST(cfe)
{
    for (unsigned i = 0; i < LENGTH(cfe_types); i++) {
        check_cfe(i, &cfe_on, 4, 0);
        check_cfe(i, &cfe_on, 4, 1);
        check_cfe(i, &cfe_off, 2, 0);
        check_cfe(i, &cfe_off_ip, 2, 1);
    }
}

static const row evd_rows[] = {
    {ROW "cr2",
     {ON, EVD(0, 0xf00baa), CFE(INTR, 0, 14), FUP(0x1001), TIP(0x2000)},
     {E_ON, EB(CFE, 0, ANY, 0x1001, CFEV(INTR, VEC | CR2, 14), 0xf00baa),
      EA(ASYNC_BRANCH, 0, 6, 0x1001, 0x2000)}, 0},
    {ROW "cr2, ip", {ON, EVD(0, 0xf00baa), CFE(INTR, 1, 14), FUP(0x1001)},
     {E_ON, EB(CFE, 0, ANY, 0x1001, CFEV(INTR, VEC | CR2, 14), 0xf00baa)}, 0},
    {ROW "cr2, off", {OFF, EVD(0, 0xf00baa), CFE(INTR, 0, 14)},
     {E_OFF, EB(CFE, NOIP, ANY, 0, CFEV(INTR, VEC | CR2, 14), 0xf00baa)}, 0},
    {ROW "vmxq", {ON, EVD(1, 5), CFE(VMEXIT, 0, 0), FUP(0x1001), TIP(0x2000)},
     {E_ON, EB(CFE, 0, ANY, 0x1001, CFEV(VMEXIT, VMXQ, 0), 5),
      EA(ASYNC_BRANCH, 0, 6, 0x1001, 0x2000)}, 0},
    {ROW "vmxr", {ON, EVD(2, 5), CFE(VMEXIT, 0, 0), FUP(0x1001), TIP(0x2000)},
     {E_ON, EC(CFE, 0, ANY, 0x1001, CFEV(VMEXIT, VMXR, 0), 0, 5),
      EA(ASYNC_BRANCH, 0, 6, 0x1001, 0x2000)}, 0},
    {ROW "vmxq, vmxr",
     {ON, EVD(1, 5), EVD(2, 6), CFE(VMEXIT_INTR, 0, 3), FUP(0x1001),
      PGD(0x2000)},
     {E_ON, EC(CFE, 0, ANY, 0x1001, CFEV(VMEXIT_INTR, VEC | VMXQ | VMXR, 3), 5,
               6),
      EA(ASYNC_DISABLED, 0, 7, 0x1001, 0x2000)}, 0},
    {ROW "vmxr, vmxq",
     {ON, EVD(2, 6), EVD(1, 5), CFE(VMEXIT, 1, 0), FUP(0x1001)},
     {E_ON, EC(CFE, 0, ANY, 0x1001, CFEV(VMEXIT, VMXQ | VMXR, 0), 5, 6)}, 0},
    {ROW "vmxq, vmxr, off", {OFF, EVD(1, 5), EVD(2, 6), CFE(VMEXIT, 0, 0)},
     {E_OFF, EC(CFE, NOIP, ANY, 0, CFEV(VMEXIT, VMXQ | VMXR, 0), 5, 6)}, 0},
    {ROW "cr2 twice", {ON, EVD(0, 5), EVD(0, 5)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "vmxq twice", {ON, EVD(1, 5), EVD(1, 5)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "vmxr twice", {ON, EVD(2, 5), EVD(2, 5)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "cr2, vmxq", {ON, EVD(0, 5), EVD(1, 5)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "vmxr, cr2", {ON, EVD(2, 5), EVD(0, 5)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "cr2, vmexit", {ON, EVD(0, 5), CFE(VMEXIT, 0, 0)}, {E_ON},
     IPT_ERR_CONTEXT},
    {ROW "cr2, iret",
     {ON, EVD(0, 5), CFE(IRET, 0, 0)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "vmxq, intr",
     {ON, EVD(1, 5), CFE(INTR, 0, 0)}, {E_ON}, IPT_ERR_CONTEXT},
    {ROW "vmxq, vmentry", {ON, EVD(1, 5), CFE(VMENTRY, 0, 0)}, {E_ON},
     IPT_ERR_CONTEXT},
    {ROW "unknown evd",
     {ON, EVD(3, 5), CFE(INTR, 0, 1), FUP(0x1001), TIP(0x2000)},
     {E_ON, EA(CFE, 0, 5, 0x1001, CFEV(INTR, VEC, 1)),
      EA(ASYNC_BRANCH, 0, 6, 0x1001, 0x2000)}, 0},
    {ROW "unknown cfe", {ON, CFE_(11, 0, 1), FUP(0x1001), TIP(0x2000)},
     {E_ON, EA(ASYNC_BRANCH, 0, 5, 0x1001, 0x2000)}, 0},
    {ROW "unknown cfe takes the fup", {ON, CFE_(31, 1, 1), FUP(0x1001),
                                   TIP(0x2000)},
     {E_ON, E(TIP, 0, 6, 0x2000)}, 0},
    {ROW "cfe and mode.exec",
     {ON, CFE(INTR, 0, 6), FUP(0x1001), EXEC32, TIP(0x2000)},
     {E_ON, EA(CFE, 0, 4, 0x1001, CFEV(INTR, VEC, 6)),
      EA(ASYNC_BRANCH, 0, 5, 0x1001, 0x2000),
      EA(EXEC_MODE, 0, 6, 0x2000, IPT_MODE_32)}, 0},
};

TEST(evd)
{
    ROWS(evd_rows);
}

/* ---- errors ---- */

/* So many packets that wait for one FUP. */
static void check_waiting(unsigned n, int status)
{
    static const ipt_packet head[] = {ON}, ptw = PTW(0, 1, 0),
                            fup = FUP(0x1004);
    static const want on[] = {E_ON}, one = EB(PTWRITE, 0, 0, 0x1004, 0, 4);
    row r = {"waiting", {PSB}, {E_OFF}, 0};
    unsigned i;

    memcpy(r.trace, head, sizeof head);
    memcpy(r.events, on, sizeof on);
    for (i = 0; i < n; i++) r.trace[4 + i] = ptw;
    r.trace[4 + n] = fup;
    r.status = status;
    for (i = 0; status == 0 && i < n; i++) {
        r.events[2 + i] = one;
        r.events[2 + i].from = (uint8_t) (4 + i);
    }
    for (int way = 0; way < WAYS; way++) run_row(&r, way);
}

/* A PSB and an overflow, too, need room for what they begin with; without it
 * they begin nothing. */
static void check_full(ipt_packet last, unsigned events)
{
    static const ipt_packet head[] = {OFF}, mwait = MWAIT(1, 2);
    static const want one = EB(MWAIT, NOIP, 2, 0, 1, 2);
    row r = {"full", {PSB}, {E_OFF}, IPT_ERR_EVENTS};
    unsigned i;

    memcpy(r.trace, head, sizeof head);
    for (i = 0; i < IPT_PENDING_MAX_; i++) r.trace[2 + i] = mwait;
    r.trace[2 + i] = last;
    for (i = 0; i < events; i++) {
        r.events[1 + i] = one;
        r.events[1 + i].from = (uint8_t) (2 + i);
    }
    for (int way = 0; way < WAYS; way++) {
        run_row(&r, way);
        CHECK_EQ(places[place].evt_.phase, 0); /* in no PSB+ */
    }
}

TEST(full)
{
    static const ipt_packet psb = PSB, ovf = OVF;
    check_full(psb, 0);
    check_full(ovf, IPT_PENDING_MAX_);
}

TEST(waiting)
{
    check_waiting(1, 0);
    check_waiting(14, 0);
    check_waiting(IPT_PENDING_MAX_, 0);
    check_waiting(IPT_PENDING_MAX_ + 1, IPT_ERR_EVENTS);
    check_waiting(IPT_PENDING_MAX_ + 5, IPT_ERR_EVENTS);
}

/* PADs among many TNTs and TIPs are not events, and change none. */
TEST(V4_pads_in_flow)
{
    static const ipt_packet head[] = {ON}, tnt = TNT(2, 1), tip = TIP(0x2000);
    ipt_packet pads = PADS(1);
    ipt_event e;

    for (unsigned n = 1; n < 24; n++) {
        build_all(&b, head, LENGTH(head));
        pads.size = n;
        for (unsigned i = 0; i < 40; i++) {
            build_put(&b, i % 2 ? &tip : &tnt);
            build_put(&b, &pads);
        }
        for (int way = 0; way < WAYS; way++) {
            feed_begin(&f, b.bytes, b.size, way);
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            for (unsigned i = 0; i < 2; i++) CHECK_EQ(next(&e), IPT_OK);
            for (unsigned i = 0; i < 40; i++) {
                CHECK_EQ(next(&e), IPT_OK);
                CHECK_EQ(e.type, i % 2 ? IPT_EVT_TIP : IPT_EVT_TNT);
                CHECK_EQ(e.offset, b.offset[4 + 2 * i]);
            }
            CHECK_EQ(next(&e), IPT_END);
            feed_end(&f);
        }
    }
}

/* After a PSB+ nine events are held until it is decided. However many come,
 * there is room for four packets that wait for a FUP. */
TEST(V4_room_while_held)
{
    static const ipt_packet head[] = {ON}, vmcs = VMCS(0x5000),
                            ptw = PTW(0, 1, 0), fup = FUP(0x1004),
                            pge = PGE(0x1000);
    static build t;
    ipt_event e;

    for (unsigned held = 0; held < 24; held++) {
        for (unsigned waiting = 0; waiting < 5; waiting += 4) {
            build_all(&t, head, LENGTH(head));
            for (unsigned i = 0; i < held; i++) build_put(&t, &vmcs);
            for (unsigned i = 0; i < waiting; i++) build_put(&t, &ptw);
            build_put(&t, waiting ? &fup : &pge);
            feed_begin(&f, t.bytes, t.size, WHOLE);
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            CHECK_EQ(next(&e), IPT_OK);
            CHECK_EQ(e.type, waiting || 2 + held > IPT_PENDING_MAX_ - 2
                                 ? IPT_EVT_ENABLED : IPT_EVT_DISABLED);
            for (unsigned i = 0; i < 1 + held + waiting + !waiting; i++)
                CHECK_EQ(next(&e), IPT_OK);
            CHECK_EQ(next(&e), IPT_END);
            feed_end(&f);
        }
    }
}

/* Bytes that are not packets: all before them comes first. */
static void check_bad(const char *name, const void *bytes, size_t n, int status)
{
    static const row on = {"on", {ON, TNT(1, 1), FUP(0x1004)}, {E_ON}, 0};
    static const int types[] = {IPT_EVT_ENABLED, IPT_EVT_EXEC_MODE,
                                IPT_EVT_TNT};
    for (int way = 0; way < WAYS; way++) {
        ipt_event e;
        build_all(&b, on.trace, PACKETS_MAX);
        memcpy(b.bytes + b.size, bytes, n);
        b.offset[b.count] = b.size;
        b.size += n;
        feed_begin(&f, b.bytes, b.size, way);
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        for (unsigned i = 0; i < LENGTH(types); i++)
            if (CHECK_EQ(next(&e), IPT_OK)) CHECK_EQ(e.type, types[i]);
        for (unsigned i = 0; i < 3; i++) {
            int got = next(&e);
            if (got != status)
                failed(name, way_names[way], "-status", (uint64_t) -got,
                       (uint64_t) -status);
            CHECK_EQ(places[place].at.offset, b.offset[6]);
            CHECK_EQ(places[place].at.packet_offset, b.offset[6]);
            CHECK_EQ(places[place].at.error, status);
            CHECK_EQ(places[place].at.sync, 0);
        }
        feed_end(&f);
    }
}

TEST(bad_packets)
{
    check_bad("opcode", "\xff\xff\x05\x05", 4, IPT_ERR_TRUNCATED); /* CYC */
    check_bad("opcode", "\x05\x05", 2, IPT_ERR_OPCODE);
    check_bad("ipbytes", "\xad\x05", 2, IPT_ERR_PACKET);
    check_bad("tnt-64", "\x02\xa3\0\0\0\0\0\0", 8, IPT_ERR_PACKET);
    check_bad("ptw", "\x02\x52\0\0\0\0\0\0", 8, IPT_ERR_PACKET);
    check_bad("truncated", "\xcd\x01\x02", 3, IPT_ERR_TRUNCATED);
}

/* What waits when a bad packet comes stays undecided; what only waited for a
 * decision comes out. */
TEST(bad_packets_undecided)
{
    static const row rows[] = {{"psb+", {ON, PIP(0x5000, 0)}, {E_ON}, 0},
                               {"ovf", {ON, OVF, MNT(5)}, {E_ON}, 0}};
    static const uint8_t types[2][4]
        = {{IPT_EVT_ENABLED, IPT_EVT_EXEC_MODE, IPT_EVT_PAGING, 0},
           {IPT_EVT_ENABLED, IPT_EVT_EXEC_MODE, IPT_EVT_OVERFLOW, IPT_EVT_MNT}};
    for (unsigned i = 0; i < 2; i++) {
        for (int way = 0; way < WAYS; way++) {
            ipt_event e;
            build_all(&b, rows[i].trace, PACKETS_MAX);
            b.bytes[b.size++] = 0x05;
            feed_begin(&f, b.bytes, b.size, way);
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            for (unsigned j = 0; j < 4 && types[i][j]; j++)
                if (CHECK_EQ(next(&e), IPT_OK)) CHECK_EQ(e.type, types[i][j]);
            CHECK_EQ(next(&e), IPT_ERR_OPCODE);
            CHECK_EQ(next(&e), IPT_ERR_OPCODE);
            feed_end(&f);
        }
    }
}

/* Packets that say nothing of where flow is do not hide the FUP of an OVF, nor
 * a TIP.PGE, whatever there is of them. */
TEST(between_ovf_and_its_fup)
{
    static const ipt_packet noise[][3] = {
        {PIP(0x5000, 0)}, {VMCS(0x6000)}, {PWRE(1, 2, 0)},
        {PWRX(1, 2, 1, 0, 0)}, {PTW(0, 0, 5)}, {EXSTOP(0)},
        {BBP(4, 0), BIP(0, 0, 7), BEP(0)}, {TRIG(1, 0, 0, 0, 0)}, {CBR(9)},
        {MNT(9)}};
    for (unsigned i = 0; i < LENGTH(noise) * LENGTH(noise) * 2; i++) {
        const ipt_packet on[] = {ON, TNT(1, 1), OVF};
        const ipt_packet fup = FUP(0x2000), pge = PGE(0x2000), tnt = TNT(1, 0);
        const ipt_packet end = PKT(NONE);
        ipt_packet p[16];
        unsigned n = LENGTH(on), got = 0;
        char seen[8] = "";
        ipt_event e;
        int status;
        memcpy(p, on, sizeof(on));
        for (unsigned k = 0; k < 3; k++)
            if (noise[i / 2 % LENGTH(noise)][k].type)
                p[n++] = noise[i / 2 % LENGTH(noise)][k];
        for (unsigned k = 0; k < 3; k++)
            if (noise[i / 2 / LENGTH(noise)][k].type)
                p[n++] = noise[i / 2 / LENGTH(noise)][k];
        p[n++] = i % 2 ? pge : fup;
        p[n++] = tnt;
        p[n] = end;
        build_all(&b, p, PACKETS_MAX);
        feed_begin(&f, b.bytes, b.size, 0);
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        while ((status = next(&e)) >= 0) {
            if (got < 7 && e.type == IPT_EVT_OVERFLOW) seen[got++] = 'o';
            if (got < 7 && e.type == IPT_EVT_TNT) seen[got++] = 't';
            if (got < 7 && e.type == IPT_EVT_ENABLED && !e.flags)
                seen[got++] = 'e';
            if (e.type == IPT_EVT_OVERFLOW)
                CHECK_EQ(e.ip, i % 2 ? 0 : 0x2000);
        }
        CHECK_EQ(status, IPT_END);
        CHECK(strcmp(seen, i % 2 ? "toet" : "tot") == 0);
        feed_end(&f);
    }
}

/* An error stays until the next synchronisation, which forgets it all. */
static const row sticky_rows[] = {
    {ROW "context",
     {OFF, TIP(0x1000), ON, TNT(1, 1)}, {E_OFF}, IPT_ERR_CONTEXT},
    {ROW "events",
     {ON, PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0),
      PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0),
      PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0), PTW(0, 1, 0),
      PTW(0, 1, 0), ON, TNT(1, 1)},
     {E_ON}, IPT_ERR_EVENTS},
    {ROW "status",
     {ON, TNT(1, 0), PSB, EXEC32, FUP(0x1000), PSBEND, ON, TNT(1, 1)},
     {E_ON, E_TNT(4, 1, 0)}, IPT_ERR_STATUS},
};

TEST(sticky)
{
    for (unsigned i = 0; i < LENGTH(sticky_rows); i++) {
        const row *r = &sticky_rows[i];
        for (int way = 0; way < WAYS; way++) {
            ipt_event e;
            unsigned n = 0;
            build_all(&b, r->trace, PACKETS_MAX);
            feed_begin(&f, b.bytes, b.size, way);
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            for (; r->events[n].type; n++) CHECK_EQ(next(&e), IPT_OK);
            for (n = 0; n < 5; n++) CHECK_EQ(next(&e), r->status);
            CHECK_EQ(places[place].at.error, r->status);
            CHECK_EQ(sync(), IPT_OK);
            if (i == 3) /* it stands in the middle of the second PSB+ */
                CHECK_EQ(places[place].at.sync, b.offset[9]);
            CHECK_EQ(places[place].at.error, 0);
            CHECK_EQ(next(&e), IPT_OK);
            CHECK_EQ(e.type, IPT_EVT_ENABLED);
            CHECK_EQ(e.ip, 0x1000);
            CHECK_EQ(next(&e), IPT_OK);
            CHECK_EQ(e.type, IPT_EVT_EXEC_MODE);
            CHECK_EQ(next(&e), IPT_OK);
            CHECK_EQ(e.type, IPT_EVT_TNT);
            CHECK_EQ(e.u.tnt.bits, 1);
            CHECK_EQ(next(&e), IPT_END);
            feed_end(&f);
        }
    }
}

/* ---- trace that was lost ---- */

#define E_GAP(n, lost) EA(GAP, NOIP, n, 0, lost)
/* ON and OFF that begin with packet n. */
#define E_ON_AT(n) \
    E(ENABLED, ST, n + 3, 0x1000), EA(EXEC_MODE, ST, n + 1, 0x1000, IPT_MODE_64)
#define E_OFF_AT(n) E(DISABLED, ST | NOIP | NOTO, n + 1, 0)

static const row gap_rows[] = {
    {ROW "in flow", {ON, TNT(2, 1), GAP(100), OFF},
     {E_ON, E_TNT(4, 2, 1), E_GAP(5, 100), E_OFF_AT(6)}, 0},
    {ROW "at the start", {GAP(7), ON}, {E_ON_AT(1)}, 0},
    {ROW "bytes up to the next psb are not decoded",
     {ON, GAP(3), TNT(1, 1), TIP(0x5000), OVF, PGE(0x1000), ON},
     {E_ON, E_GAP(4, 3), E_ON_AT(9)}, 0},
    {ROW "two of them", {ON, GAP(3), GAP(5), TNT(1, 1), GAP(1), ON},
     {E_ON, E_GAP(4, 3), E_GAP(5, 5), E_GAP(7, 1), E_ON_AT(8)}, 0},
    {ROW "no psb after it", {ON, GAP(3), TNT(1, 1), PADS(20)},
     {E_ON, E_GAP(4, 3)}, 0},
    {ROW "psbs on both sides of one", {ON, PSB, GAP(3), ON},
     {E_ON, E_GAP(5, 3), E_ON_AT(6)}, 0},
    {ROW "pairs on both sides of one", /* do not make a PSB */
     {ON, GAP(16), PADS(1), ON}, {E_ON, E_GAP(4, 16), E_ON_AT(6)}, 0},
    {ROW "inside a psb+", {ON, PSB, EXEC64, FUP(0x3000), GAP(9), ON},
     {E_ON, E_GAP(7, 9), E_ON_AT(8)}, 0},
    {ROW "after a psb+ that could be bdm70's",
     {OFF, PGE(0x2000), PGD0, ON, GAP(9), ON},
     {E_OFF, E(ENABLED, 0, 2, 0x2000), E(DISABLED, NOIP | NOTO, 3, 0),
      E_GAP(8, 9), E_ON_AT(9)}, 0},
    {ROW "after an overflow", {ON, OVF, GAP(9), OFF},
     {E_ON, E(OVERFLOW, NOIP, 4, 0), E_GAP(5, 9), E_OFF_AT(6)}, 0},
    {ROW "before a tip", /* what was to bind to it is lost with it */
     {ON, FUP(0x1004), PIP(0x5000, 1), GAP(9), OFF},
     {E_ON, E_GAP(6, 9), E_OFF_AT(7)}, 0},
    {ROW "before a fup", {ON, PTW(0, 1, 5), GAP(9), OFF},
     {E_ON, E_GAP(5, 9), E_OFF_AT(6)}, 0},
    {ROW "power events", {ON, MWAIT(3, 0), PWRE(2, 0, 0), GAP(9), OFF},
     {E_ON, EB(MWAIT, NOIP, 4, 0, 3, 0), EB(PWRE, NOIP, 5, 0, 2, 0),
      E_GAP(6, 9), E_OFF_AT(7)}, 0},
    {ROW "last ip is not kept", {ON, GAP(9), OFF, IP_(TIP_PGE, 1, 0x2000)},
     {E_ON, E_GAP(4, 9), E_OFF_AT(5), E(ENABLED, 0, 7, 0x2000)}, 0},
    {ROW "other modes after it do not contradict it",
     {ON, GAP(9), PSB, EXEC32, FUP(0x3000), PSBEND},
     {E_ON, E_GAP(4, 9), E(ENABLED, ST, ANY, 0x3000),
      EB(EXEC_MODE, ST, ANY, 0x3000, IPT_MODE_32, 0)}, 0},
    {ROW "the mode before it is not known to be the one after it",
     {ON, GAP(9), OFF, EXEC64, PGE(0x2000)},
     {E_ON, E_GAP(4, 9), E_OFF_AT(5), E(ENABLED, 0, 8, 0x2000),
      EA(EXEC_MODE, 0, 7, 0x2000, IPT_MODE_64)}, 0},
};

TEST(gaps)
{
    run_rows(gap_rows, LENGTH(gap_rows));
}

/* A packet that goes on in a gap is lost with it. */
TEST(gap_cuts_a_packet)
{
    static const row r = {"cut", {ON, TIP(0x2000), TIP(0x3000), OFF}, {E_ON},
                          0};
    for (size_t cut = 1; cut < 9; cut++) {
        for (int way = 0; way < WAYS; way++) {
            static const int types[]
                = {IPT_EVT_ENABLED, IPT_EVT_EXEC_MODE, IPT_EVT_TIP,
                   IPT_EVT_GAP, IPT_EVT_DISABLED};
            ipt_event e;
            build_all(&b, r.trace, PACKETS_MAX);
            b.gaps[0].at = b.offset[5] + cut;
            b.gaps[0].size = 9 - cut;
            b.gap_count = 1;
            feed_begin(&f, b.bytes, b.size, way);
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            for (unsigned i = 0; i < LENGTH(types); i++) {
                if (!CHECK_EQ(next(&e), IPT_OK)) break;
                CHECK_EQ(e.type, types[i]);
                if (e.type != IPT_EVT_GAP) continue;
                CHECK_EQ(e.offset, b.offset[5]);
                CHECK_EQ(e.u.gap.lost, 9);
            }
            CHECK_EQ(next(&e), IPT_END);
            CHECK_EQ(places[place].at.gaps, 1);
            CHECK_EQ(places[place].at.resyncs, 1);
            CHECK_EQ(places[place].at.skip_from, b.offset[5]);
            CHECK_EQ(places[place].at.skip_to, b.offset[6]);
            CHECK_EQ(places[place].at.skipped, 9);
            feed_end(&f);
        }
    }
}

/* ---- starting without a PSB ---- */

typedef struct start_row {
    row r;
    ipt_start start; /* offset: at packet 0 */
    unsigned from;   /* the packet to start with */
} start_row;

static const start_row start_rows[] = {
    {{"flow", {TNT(2, 1), TIP(0x2000), IP_(TIP, 1, 0x3000)},
      {E_TNT(0, 2, 1), E(TIP, 0, 1, 0x2000), E(TIP, 0, 2, 0x3000)}, 0},
     {.enabled = 1}, 0},
    {{"a compressed ip", {TNT(2, 1), IP_(TIP, 1, 0x3000)},
      {E_TNT(0, 2, 1)}, IPT_ERR_NO_IP}, {.enabled = 1}, 0},
    {{"another one", {IP_(TIP, 2, 0x3000)}, {{0}}, IPT_ERR_NO_IP},
     {.enabled = 1}, 0},
    {{"the low 48 bits are not all", {IP_(TIP, 4, 0x3000)}, {{0}},
      IPT_ERR_NO_IP}, {.enabled = 1}, 0},
    {{"48 bits extended are", {IP_(TIP, 3, 0x800000003000)},
      {E(TIP, 0, 0, 0xffff800000003000)}, 0}, {.enabled = 1}, 0},
    {{"a suppressed ip", {PGD0, IP_(TIP_PGE, 2, 0x1000)},
      {E(DISABLED, NOIP | NOTO, 0, 0)}, IPT_ERR_NO_IP}, {.enabled = 1}, 0},
    {{"a fup", {IP_(FUP, 1, 0x1000)}, {{0}}, IPT_ERR_NO_IP}, {.enabled = 1},
     0},
    {{"last ip given", {IP_(TIP, 1, 0x3000), IP_(TIP, 4, 0x5000)},
      {E(TIP, 0, 0, 0x123456783000), E(TIP, 0, 1, 0x5000)}, 0},
     {.enabled = 1, .has = IPT_START_LAST_IP, .last_ip = 0x123456789abc}, 0},
    {{"a psb gives it", {OFF, IP_(TIP_PGE, 1, 0x3000)},
      {E_OFF, E(ENABLED, 0, 2, 0x3000)}, 0}, {.enabled = 0}, 0},
    {{"a psb+ that may be bdm70's", {ON}, {{0}}, 0}, {.enabled = 0}, 0},
    {{"an overflow gives it", {OVF, IP_(FUP, 1, 0x3000)},
      {E(OVERFLOW, 0, 0, 0x3000)}, 0}, {.enabled = 1}, 0},
    {{"not enabled", {PGE(0x1000), TNT(1, 1)},
      {E(ENABLED, 0, 0, 0x1000), E_TNT(1, 1, 1)}, 0}, {.enabled = 0}, 0},
    {{"not enabled, but flow", {TNT(1, 1)}, {{0}}, IPT_ERR_CONTEXT},
     {.enabled = 0}, 0},
    {{"data before an ip", {PTW(0, 0, 5), MNT(6), CBR(7), PIP(0x5000, 1)},
      {EB(PTWRITE, NOIP, 0, 0, 5, 4), EA(MNT, NOIP, 1, 0, 6),
       EA(CBR, NOIP, 2, 0, 7), EB(PAGING, NOIP, 3, 0, 0x5000, 1)}, 0},
     {.enabled = 1}, 0},
    {{"in the middle", {ON, TNT(2, 1), TIP(0x2000)},
      {E(TIP, 0, 5, 0x2000)}, 0}, {.enabled = 1}, 5},
    {{"time", {TNT(1, 1)},
      {{IPT_EVT_TNT, NOIP | CLK, 0, 0, 1, 1, 0, 0x123456789abcdef0}}, 0},
     {.enabled = 1, .has = IPT_START_TSC, .tsc = 0x123456789abcdef0}, 0},
    {{"vmx", {PIP(0x6000, 1)},
      {EA(CFE, NOIP, 0, 0, CFEV(VMENTRY, IPT_CFE_INFERRED, 0)),
       EB(PAGING, NOIP, 0, 0, 0x6000, 1)}, 0},
     {.enabled = 1, .has = IPT_START_ASID, .asid = {0x5000, 0, 0}}, 0},
    {{"vmx, non-root", {PIP(0x6000, 0)},
      {EA(CFE, NOIP, 0, 0, CFEV(VMEXIT, IPT_CFE_INFERRED, 0)),
       EB(PAGING, NOIP, 0, 0, 0x6000, 0)}, 0},
     {.enabled = 1, .has = IPT_START_ASID, .asid = {0x5000, 0, 1}}, 0},
};

static void start_row_run(const start_row *x, int way)
{
    const int last = x->r.status ? x->r.status : IPT_END;
    ipt_start start = x->start;
    ipt_event e;
    unsigned i;
    int status;

    build_all(&b, x->r.trace, PACKETS_MAX);
    feed_begin(&f, b.bytes, b.size, way);
    f.config.flags = IPT_CONFIG_VMX_EVENTS;
    CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
    start.offset = b.offset[x->from];
    if (way == RECUT) feed_cut(&f, b.size); /* it has to be there */
    if (way == GROW) f.pieces[0].size = b.size;
    f.trace.count = (uint32_t) f.count;
    CHECK_EQ(ipt_evt_start(decoder(), &start), IPT_OK);
    for (i = 0; x->r.events[i].type; i++) {
        status = next(&e);
        if (!CHECK_EQ(status, IPT_OK)
            || !compare(&x->r, way_names[way], i, &e, &x->r.events[i], &b))
            break;
    }
    for (i = 0; i < 3; i++)
        if (next(&e) != last) failed(x->r.name, way_names[way], "end", 0, 0);
    CHECK_EQ(places[place].at.error, last);
    feed_end(&f);
}

TEST(start)
{
    for (unsigned i = 0; i < LENGTH(start_rows); i++)
        for (int way = 0; way < WAYS; way++) start_row_run(&start_rows[i], way);
}

TEST(start_arguments)
{
    static const row r = {"on", {ON}, {E_ON}, 0};
    static const uint64_t stack[1] = {0};
    ipt_start good, bad;
    memset(&good, 0, sizeof good);
    build_all(&b, r.trace, PACKETS_MAX);
    feed_begin(&f, b.bytes, b.size, WHOLE);
    CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
    good.offset = b.size;
    good.stack = stack;
    good.stack_count = 1;
    CHECK_EQ(ipt_evt_start(&places[place], &good), IPT_OK);
#define BAD(change)                                                    \
    do {                                                               \
        bad = good;                                                    \
        change;                                                        \
        CHECK_EQ(ipt_evt_start(&places[place], &bad), IPT_ERR_ARG);    \
    } while (0)
    BAD(bad.offset++);
    BAD(bad.enabled = 2);
    BAD(bad.mode = IPT_MODE_COUNT);
    BAD(bad.asid.nr = 2);
    BAD(bad.has = 8);
    BAD(bad.stack = NULL);
#undef BAD
    feed_end(&f);
}

/* ---- what `at` says ---- */

/* The address space, the time and what was lost, as of the event given. */
TEST(where)
{
    static const row r = {"where", {ON, TSC(0x100), CBR(20), PIP(0x5000, 1),
                                    VMCS(0x6000), TIP(0x2000), OVF,
                                    FUP(0x3000), GAP(50), ON},
                          {E_ON}, 0};
    static const struct {
        uint8_t type;
        uint64_t cr3, vmcs;
        uint8_t nr, cbr;
        uint32_t overflows, gaps;
    } stand[] = {
#define NOT IPT_ASID_UNKNOWN
        {IPT_EVT_ENABLED, NOT, NOT, 0, 0, 0, 0},
        {IPT_EVT_EXEC_MODE, NOT, NOT, 0, 0, 0, 0},
        {IPT_EVT_CBR, NOT, NOT, 0, 20, 0, 0},
        {IPT_EVT_PAGING, 0x5000, NOT, 1, 20, 0, 0},
        {IPT_EVT_VMCS, 0x5000, 0x6000, 1, 20, 0, 0},
        {IPT_EVT_TIP, 0x5000, 0x6000, 1, 20, 0, 0},
        {IPT_EVT_OVERFLOW, 0x5000, 0x6000, 1, 20, 1, 0},
        {IPT_EVT_GAP, NOT, NOT, 0, 20, 1, 1},
        {IPT_EVT_ENABLED, NOT, NOT, 0, 20, 1, 1}
#undef NOT
    };
    const ipt_where *at;
    ipt_event e;

    build_all(&b, r.trace, PACKETS_MAX);
    for (int way = 0; way < WAYS; way++) {
        feed_begin(&f, b.bytes, b.size, way);
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        for (unsigned i = 0; i < LENGTH(stand); i++) {
            if (!CHECK_EQ(next(&e), IPT_OK)) break;
            at = &places[place].at;
            CHECK_EQ(e.type, stand[i].type);
            CHECK_EQ(at->asid.cr3, stand[i].cr3);
            CHECK_EQ(at->asid.vmcs, stand[i].vmcs);
            CHECK_EQ(at->asid.nr, stand[i].nr);
            CHECK_EQ(at->cbr, stand[i].cbr);
            CHECK_EQ(at->tsc, i < 2 ? 0 : 0x100);
            CHECK_EQ(at->valid & (IPT_AT_SYNC | IPT_AT_TSC | IPT_AT_IP),
                     i < 2 ? IPT_AT_SYNC : IPT_AT_SYNC | IPT_AT_TSC);
            CHECK_EQ(at->overflows, stand[i].overflows);
            CHECK_EQ(at->gaps, stand[i].gaps);
        }
        feed_end(&f);
    }
}

/* What waits for the place of an overflow keeps the ratio that held then. */
TEST(held_ratio)
{
    static const row r = {"held", {ON, CBR(20), OVF, PWRX(3, 4, 0, 0, 1),
                                   FUP(0x3000)}, {E_ON}, 0};
    ipt_event e;

    build_all(&b, r.trace, PACKETS_MAX);
    for (int way = 0; way < WAYS; way++) {
        feed_begin(&f, b.bytes, b.size, way);
        f.config.errata = IPT_ERRATUM_SKD010;
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        do {
            if (!CHECK_EQ(next(&e), IPT_OK)) break;
        } while (e.type != IPT_EVT_PWRX);
        CHECK_EQ(e.cbr, 20);
        CHECK_EQ(e.u.pwrx.autonomous, 1);
        feed_end(&f);
    }
}

/* What was lost of the time, as of an event's first packet, which may be long
 * before the one that completes it. */
TEST(V4_lost_when_it_began)
{
    static const struct {
        ipt_packet trace[PACKETS_MAX];
        uint8_t type;
        uint32_t lost_cyc;
        uint64_t ip;
        uint32_t lost_mtc;
    } rows[] = {
        /* each CYC is of no use: there is no ratio */
        {{OFF, CYC(1), PWRE(1, 2, 0), CYC(1), PWRX(3, 4, 0, 0, 0)},
         IPT_EVT_PWRE, 1, 0, 0},
        {{OFF, CYC(1), PWRE(1, 2, 0), CYC(1), PWRX(3, 4, 0, 0, 0)},
         IPT_EVT_PWRX, 2, 0, 0},
        {{ON, CYC(1), OVF, CYC(1), FUP(0x3000)}, IPT_EVT_OVERFLOW, 1, 0x3000,
         0},
        {{OFF, CYC(1), OVF, CYC(1), PGE(0x3000)}, IPT_EVT_OVERFLOW, 1, 0, 0},
        {{OFF, CYC(1), OVF, CYC(1), PGE(0x3000)}, IPT_EVT_ENABLED, 2, 0x3000,
         0},
        {{PSB, CYC(1), EXEC64, CYC(1), FUP(0x1000), PSBEND, CYC(1)},
         IPT_EVT_ENABLED, 2, 0x1000, 0},
        {{PSB, CYC(1), EXEC64, CYC(1), FUP(0x1000), PSBEND, CYC(1)},
         IPT_EVT_EXEC_MODE, 2, 0x1000, 0},
        {{OFF, PSB, CYC(1), EXEC64, FUP(0x1000), PSBEND, CYC(1),
          PGE(0x1000)}, IPT_EVT_ENABLED, 2, 0x1000, 0}, /* BDM70: that of PGE */
        {{OFF, PSB, CYC(1), EXEC64, FUP(0x1000), PSBEND, CYC(1),
          PGE(0x1000)}, IPT_EVT_EXEC_MODE, 1, 0, 0},
        {{ON, CYC(1), MWAIT(1, 2), CYC(1), EXSTOP(1), FUP(0x1000)},
         IPT_EVT_EXSTOP, 2, 0x1000, 0},
        {{ON, CYC(1), TNT(2, 1), CYC(1)}, IPT_EVT_TNT, 1, 0, 0},
        /* each MTC but the first: nothing says how long its ticks are */
        {{OFF, MTC(1), MTC(2), CYC(1), PWRE(1, 2, 0), MTC(3),
          PWRX(3, 4, 0, 0, 0)}, IPT_EVT_PWRE, 1, 0, 1},
        {{OFF, MTC(1), MTC(2), CYC(1), PWRE(1, 2, 0), MTC(3),
          PWRX(3, 4, 0, 0, 0)}, IPT_EVT_PWRX, 1, 0, 2},
        {{PSB, MTC(1), MTC(2), EXEC64, FUP(0x1000), PSBEND, MTC(3)},
         IPT_EVT_ENABLED, 0, 0x1000, 1},
        {{PSB, MTC(1), EXEC64, MTC(2), FUP(0x1000), PSBEND, MTC(3)},
         IPT_EVT_EXEC_MODE, 0, 0x1000, 1},
        {{ON, MTC(1), MTC(2), CBR(7), MTC(3), TNT(1, 1)}, IPT_EVT_CBR, 0, 0,
         1},
        {{ON, MTC(1), MTC(2), OVF, MTC(3), FUP(0x3000)}, IPT_EVT_OVERFLOW, 0,
         0x3000, 1},
        /* SKD010: what gets the IP of an overflow is as of that */
        {{ON, CYC(1), OVF, CYC(1), PIP(0x5000, 0), CYC(1), FUP(0x3000)},
         IPT_EVT_ASYNC_PAGING, 2, 0x3000, 0},
        /* APL12: not as of the packet that shows whether the FUP is right */
        {{ON, OVF, FUP(0x3000), CYC(1), MWAIT(1, 2), CYC(1), EXSTOP(0), CYC(1),
          TNT(1, 1)}, IPT_EVT_MWAIT, 2, 0, 0},
    };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        build_all(&b, rows[i].trace, PACKETS_MAX);
        for (int way = 0; way < WAYS; way++) {
            ipt_event e = {.type = 0};
            feed_begin(&f, b.bytes, b.size, way);
            f.config.errata = IPT_ERRATUM_SKD010 | IPT_ERRATUM_APL12;
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            while (e.type != rows[i].type || e.ip != rows[i].ip)
                if (!CHECK_EQ(next(&e), IPT_OK)) break;
            if (!CHECK_EQ(e.lost_cyc, rows[i].lost_cyc))
                printf("    row %u, %s\n", i, way_names[way]);
            CHECK_EQ(e.lost_mtc, rows[i].lost_mtc);
            feed_end(&f);
        }
    }
}

/* Time goes on after a PSB+ whose PSBEND is missing as if it were there. */
TEST(V4_time_without_psbend)
{
    static const ipt_packet traces[2][PACKETS_MAX]
        = {{PSB, TSC(0x1000), EXEC64, FUP(0x1000), PSBEND, TNT(1, 1),
            TMA(0x200, 4), MTC(3), CYC(100), MTC(4), TNT(1, 1), CBR(20),
            CYC(50), TNT(1, 1)},
           {PSB, TSC(0x1000), EXEC64, FUP(0x1000), TNT(1, 1), TMA(0x200, 4),
            MTC(3), CYC(100), MTC(4), TNT(1, 1), CBR(20), CYC(50),
            TNT(1, 1)}};
    ipt_event e[2][6];
    unsigned i;

    for (int way = 0; way < WAYS; way++) {
        for (int cut = 0; cut < 2; cut++) {
            build_all(&b, traces[cut], PACKETS_MAX);
            feed_begin(&f, b.bytes, b.size, way);
            f.config.cpuid_15_eax = 1;
            f.config.cpuid_15_ebx = 2;
            f.config.mtc_freq = 8;
            CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
            CHECK_EQ(sync(), IPT_OK);
            for (i = 0; i < LENGTH(e[0]); i++)
                CHECK_EQ(next(&e[cut][i]), IPT_OK);
            CHECK_EQ(next(&e[cut][0]), IPT_END);
            feed_end(&f);
        }
        for (i = 1; i < LENGTH(e[0]); i++) {
            CHECK_EQ(e[0][i].type, e[1][i].type);
            CHECK_EQ(e[0][i].tsc, e[1][i].tsc);
            CHECK_EQ(e[0][i].lost_cyc, e[1][i].lost_cyc);
        }
        /* TMA and MTCs count: the clock went from 0x200 to 0x400, less fc */
        CHECK_EQ(e[0][3].tsc, 0x1000 - 4 + 0x200 * 2);
        CHECK_EQ(e[0][5].lost_cyc, 1); /* the ratio is another one */
    }
}

/* Where IPs and VMX begin again: what was known before does not count. */
TEST(V4_forgotten)
{
    static const row rows[] = {
        {"psb", {ON, TIP(0x123456782000), PSB, EXEC64, IP_(FUP, 1, 0x3000),
                 PSBEND, IP_(TIP, 1, 0x4000)},
         {E_ON, E(TIP, 0, 4, 0x123456782000),
          {IPT_EVT_ENABLED, ST, ANY, 0x3000, 0, 0, 0, 0},
          {IPT_EVT_EXEC_MODE, ST, ANY, 0x3000, IPT_MODE_64, 0, 0, 0},
          E(TIP, 0, 9, 0x4000)}, 0},
        {"overflow", {ON, TIP(0x123456782000), OVF, IP_(FUP, 1, 0x3000)},
         {E_ON, E(TIP, 0, 4, 0x123456782000), E(OVERFLOW, 0, 5, 0x3000)}, 0},
        {"overflow, off", {ON, TIP(0x123456782000), OVF,
                           IP_(TIP_PGE, 2, 0x3000)},
         {E_ON, E(TIP, 0, 4, 0x123456782000), E(OVERFLOW, NOIP, 5, 0),
          E(ENABLED, 0, 6, 0x3000)}, 0},
        {"vmx at an overflow", {ON, PIP(0x5000, 0), OVF, FUP(0x2000),
                                PIP(0x6000, 1), TIP(0x3000)},
         {E_ON, EB(PAGING, NOIP, 4, 0, 0x5000, 0), E(OVERFLOW, 0, 5, 0x2000),
          EB(PAGING, NOIP, 7, 0, 0x6000, 1), E(TIP, 0, 8, 0x3000)}, 0},
        {"vmx at a gap", {ON, PIP(0x5000, 0), GAP(9), OFF, PIP(0x6000, 1)},
         {E_ON, EB(PAGING, NOIP, 4, 0, 0x5000, 0), {IPT_EVT_GAP, NOIP, 5, 0, 9,
          0, 0, 0}, E_OFF_AT(6), EB(PAGING, NOIP, 8, 0, 0x6000, 1)}, 0},
        {"vmx at a branch", {ON, PIP(0x5000, 0), FUP(0x1004), PIP(0x6000, 1),
                             TIP(0x2000)},
         {E_ON, EB(PAGING, NOIP, 4, 0, 0x5000, 0),
          EA(CFE, 0, 6, 0x1004, CFEV(VMENTRY, IPT_CFE_INFERRED, 0)),
          EA(ASYNC_BRANCH, 0, 5, 0x1004, 0x2000),
          EB(ASYNC_PAGING, 0, 6, 0x2000, 0x6000, 1)}, 0},
        {"vmx goes back", {ON, PIP(0x5000, 1), PIP(0x6000, 1), PIP(0x7000, 0)},
         {E_ON, EB(PAGING, NOIP, 4, 0, 0x5000, 1),
          EB(PAGING, NOIP, 5, 0, 0x6000, 1),
          EA(CFE, NOIP, 6, 0, CFEV(VMEXIT, IPT_CFE_INFERRED, 0)),
          EB(PAGING, NOIP, 6, 0, 0x7000, 0)}, 0},
        {"vmx goes on", {ON, PIP(0x5000, 0), PIP(0x6000, 1)},
         {E_ON, EB(PAGING, NOIP, 4, 0, 0x5000, 0),
          EA(CFE, NOIP, 5, 0, CFEV(VMENTRY, IPT_CFE_INFERRED, 0)),
          EB(PAGING, NOIP, 5, 0, 0x6000, 1)}, 0},
    };

    with_flags = IPT_CONFIG_VMX_EVENTS;
    ROWS(rows);
    with_flags = 0;
}

/* SKD010: what may stand between an OVF that lost its FUP and the TIP that says
 * where flow goes on. */
TEST(V4_between_ovf_and_tip)
{
    static const ipt_packet between[]
        = {PIP(0x5000, 0), VMCS(0x6000), EXEC64, TSX(1, 0), PTW(0, 0, 5),
           EXSTOP(0), PWRE(1, 2, 0), PWRX(3, 4, 0, 0, 0), CFE(SYSCALL, 0, 0),
           EVD(0, 7), TRIG(1, 0, 1, 3, 0), CBR(4), MNT(7)};
    static const ipt_packet head[] = {ON, OVF}, tip = TIP(0x2000);

    for (unsigned i = 0; i < LENGTH(between); i++) {
        ipt_event e = {.type = 0};
        build_all(&b, head, LENGTH(head));
        build_put(&b, &between[i]);
        build_put(&b, &tip);
        feed_begin(&f, b.bytes, b.size, WHOLE);
        f.config.errata = IPT_ERRATUM_SKD010;
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        while (e.type != IPT_EVT_OVERFLOW)
            if (!CHECK_EQ(next(&e), IPT_OK)) break;
        if (!CHECK_EQ(e.ip, 0x2000)) printf("    packet %u\n", i);
        CHECK_EQ(e.flags & NOIP, 0);
        feed_end(&f);
    }
}

/* The events of b's trace except those of PSB+: types and IPs. */
static unsigned events_of(uint64_t *list, unsigned most)
{
    unsigned n = 0;
    ipt_event e;
    int status;

    feed_begin(&f, b.bytes, b.size, WHOLE);
    f.config.errata = IPT_ERRATUM_SKD010;
    CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
    CHECK_EQ(sync(), IPT_OK);
    while ((status = next(&e)) == IPT_OK && n + 3 <= most) {
        if (e.flags & ST) continue;
        list[n++] = (uint64_t) e.type << 8 | e.flags;
        list[n++] = e.ip;
        list[n++] = e.type == IPT_EVT_ASYNC_BRANCH ? e.u.branch.to : 0;
    }
    CHECK_EQ(status, IPT_END);
    feed_end(&f);
    return n;
}

/* SKD010: a PSB+ without a FUP after the OVF does not change what the packets
 * after it say. */
TEST(S6_psb_between_ovf_and_fup)
{
    static const ipt_packet what[]
        = {TSX(0, 1), TSX(1, 0), PIP(0x5000, 0), VMCS(0x6000), EXEC64,
           PTW(0, 0, 5), PWRE(1, 2, 0), TRIG(1, 0, 1, 3, 0)};
    static const ipt_packet head[] = {ON, OVF}, psb[] = {PSB, PSBEND},
                            tail[] = {FUP(0x2000), TIP(0x3000)};

    for (unsigned i = 0; i < LENGTH(what); i++) {
        uint64_t events[2][64] = {{0}};
        unsigned count[2];
        for (unsigned with = 0; with < 2; with++) {
            build_all(&b, head, LENGTH(head));
            for (unsigned k = 0; with && k < LENGTH(psb); k++)
                build_put(&b, &psb[k]);
            build_put(&b, &what[i]);
            for (unsigned k = 0; k < LENGTH(tail); k++)
                build_put(&b, &tail[k]);
            count[with] = events_of(events[with], LENGTH(events[with]));
        }
        CHECK(count[0] >= 6);
        CHECK_EQ(count[1], count[0]);
        if (!CHECK(!memcmp(events[0], events[1], sizeof events[0])))
            printf("    packet %u\n", i);
    }
}

/* All comes in order; the status of a PSB+ has the place of its PSB, MODE.Exec
 * that of its TIP. Returns how many events there are, and in *placed whether
 * the first overflow has an IP. */
static unsigned many_in_order(const ipt_packet *head, const ipt_packet *one,
                              unsigned n, const ipt_packet *tail, int *placed)
{
    ipt_packet trace[64] = {PKT(NONE)};
    uint64_t before = 0, now = 0;
    unsigned count = 0, packets = 0;
    ipt_event e;
    int status;

    *placed = -1;
    while (head->type) trace[packets++] = *head++;
    for (unsigned i = 0; i < n; i++) trace[packets++] = *one;
    while (tail->type) trace[packets++] = *tail++;
    build_all(&b, trace, packets);
    feed_begin(&f, b.bytes, b.size, WHOLE);
    f.config.flags = IPT_CONFIG_IFLAGS;
    f.config.errata = with_errata;
    CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
    CHECK_EQ(sync(), IPT_OK);
    while ((status = next(&e)) == IPT_OK) {
        if (e.type == IPT_EVT_OVERFLOW && *placed < 0)
            *placed = !(e.flags & NOIP);
        if (e.flags & ST && e.type <= IPT_EVT_DISABLED) { /* it is at PSBEND */
            for (unsigned i = 0; i < packets && b.offset[i] < e.offset; i++)
                if (trace[i].type == IPT_PKT_PSB) now = b.offset[i];
        } else if (!(e.flags & ST) && e.type != IPT_EVT_EXEC_MODE
                   && e.type != IPT_EVT_IFLAGS) {
            now = e.offset;
        }
        if (!CHECK(before <= now)) printf("    event %u\n", count);
        before = now;
        count++;
    }
    CHECK_EQ(status, IPT_END);
    feed_end(&f);
    return count;
}

/* The queue has room for what a processor sends while a phase holds it back:
 * however many there are, none is lost and none goes before the others. */
TEST(many_wait)
{
#define STATES PIP(0x9000, 1), VMCS(0xa000), EXEC64, TSX(0, 0), CBR(8)
    static const struct {
        uint32_t errata;
        ipt_packet packets[12]; /* ... PKT(NONE) */
    } heads[] = {
        {IPT_ERRATUM_SKD010, {ON, OVF}},
        {IPT_ERRATUM_SKD010, {PSB, STATES, OVF}},
        {IPT_ERRATUM_APL12, {ON, OVF, FUP(0x1000)}},
        {0, {ON, OVF, PSB, PSBEND}},
        {0, {OFF, PSB, EXEC64, FUP(0x1000), PSBEND}},
    };
    static const ipt_packet one[] = {
        PIP(0x5000, 0), VMCS(0x6000), CBR(4), MNT(7), EXSTOP(0),
        PWRX(3, 4, 0, 0, 0), /* and those that only are of use in flow: */
        PTW(0, 0, 5), CFE(SYSCALL, 0, 0), TRIG(1, 0, 1, 3, 0)};
    static const ipt_packet tails[][18] = {
        {EXEC32, PGE(0x2000)},
        {PSB, STATES, PSBEND, PGE(0x2000)},
        {PSB, STATES, FUP(0x2000), PSBEND, TNT(1, 1)},
        {PSB, STATES, OVF, PGE(0x2000)},
        {PSB, STATES, OVF, PSB, STATES, FUP(0x2000), PSBEND, TNT(1, 1)},
    };
    int placed;

    for (unsigned h = 0; h < LENGTH(heads); h++)
        for (unsigned i = 0; i < LENGTH(one); i++)
            for (unsigned t = 0; t < (i < 6 ? LENGTH(tails) : 2); t++) {
                unsigned none;
                with_errata = heads[h].errata;
                none = many_in_order(heads[h].packets, &one[i], 0, tails[t],
                                     &placed);
                for (unsigned n = 1; n < 2 * IPT_PENDING_MAX_; n++) {
                    if (!CHECK_EQ(many_in_order(heads[h].packets, &one[i], n,
                                                tails[t], &placed), none + n))
                        printf("    head %u, %u x %s, tail %u\n", h, n,
                               ipt_pkt_name(one[i].type), t);
                    if (h == 0 && t == 2)
                        CHECK_EQ(placed, 1 + n <= IPT_PENDING_MAX_ - 8);
                }
            }
    with_errata = 0;
}

/* _start takes over what at has to say before the first packet. */
TEST(V3_start_says)
{
    static const ipt_packet trace[] = {TNT(1, 1), ON, PKT(NONE)};
    ipt_event e;

    build_all(&b, trace, LENGTH(trace));
    for (int has_tsc = 0; has_tsc < 2; has_tsc++) {
        ipt_start start = {.enabled = 1, .cbr = 17, .tsc = 0x1234};
        start.has = has_tsc ? IPT_START_TSC : 0;
        feed_begin(&f, b.bytes, b.size, WHOLE);
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(ipt_evt_start(&places[place], &start), IPT_OK);
        CHECK_EQ(places[place].at.cbr, 17);
        CHECK_EQ(places[place].at.tsc, has_tsc ? 0x1234 : 0);
        CHECK_EQ(places[place].at.valid & IPT_AT_TSC,
                 has_tsc ? IPT_AT_TSC : 0);
        CHECK_EQ(next(&e), IPT_OK);
        CHECK_EQ(e.cbr, 17);
        CHECK_EQ(e.flags & IPT_EVENT_TSC, has_tsc ? IPT_EVENT_TSC : 0);
        CHECK_EQ(places[place].at.asid.cr3, IPT_ASID_UNKNOWN);
        start.offset = b.offset[1]; /* a PSB, of which it is known where */
        start.has |= IPT_START_ASID;
        start.asid.cr3 = 0x5000;
        CHECK_EQ(ipt_evt_start(&places[place], &start), IPT_OK);
        CHECK_EQ(places[place].at.valid & (IPT_AT_SYNC | IPT_AT_TSC),
                 has_tsc ? IPT_AT_SYNC | IPT_AT_TSC : IPT_AT_SYNC);
        CHECK_EQ(places[place].at.asid.cr3, 0x5000);
        feed_end(&f);
    }
}

/* Packets that nobody knows, and a TMA that SKZ84 spoilt, end no PSB+. */
static int five(ipt_packet *packet, const uint8_t *bytes, size_t size,
                void *context)
{
    (void) packet, (void) size, (void) context;
    return bytes[0] == 0x05 ? 1 : -1;
}

TEST(V4_neutral_in_a_psb)
{
    static const ipt_packet first[] = {PSB, EXEC64, PKT(NONE)},
                            rest[] = {FUP(0x1000), PSBEND, TNT(1, 1)};
    static const char *const between[]
        = {"\x05", "\x02\x73\0\0\1\0\0\x55", "\x59\1", "\3",
           "\x19\1\2\3\4\5\6\7", "\2\3\x14\0", "\0",
           "\2\xc3\x88\1\2\3\4\5\6\7\x8", "\2\x73\1\0\0\1\0"};
    static const size_t sizes[] = {1, 8, 2, 1, 8, 4, 1, 11, 7};
    ipt_event e;

    for (unsigned i = 0; i < LENGTH(between); i++) {
        build_all(&b, first, LENGTH(first));
        memcpy(b.bytes + b.size, between[i], sizes[i]);
        b.size += sizes[i];
        for (unsigned k = 0; k < LENGTH(rest); k++) build_put(&b, &rest[k]);
        feed_begin(&f, b.bytes, b.size, WHOLE);
        f.config.errata = IPT_ERRATUM_SKZ84;
        f.config.flags = IPT_CONFIG_STRICT;
        f.config.unknown = five;
        CHECK_EQ(ipt_evt_init(&places[place], &f.config, &f.trace), IPT_OK);
        CHECK_EQ(sync(), IPT_OK);
        CHECK_EQ(next(&e), IPT_OK);
        CHECK_EQ(e.type, IPT_EVT_ENABLED);
        while (e.type != IPT_EVT_TNT)
            if (!CHECK_EQ(next(&e), IPT_OK)) break;
        CHECK_EQ(next(&e), IPT_END);
        feed_end(&f);
    }
}

/* ---- synchronising ---- */

TEST(synchronise)
{
    static const row r = {"two", {PADS(7), ON, TNT(1, 1), OFF, PADS(3)},
                          {E_ON}, 0};
    static ipt_evt_decoder d;
    ipt_event e;

    build_all(&b, r.trace, PACKETS_MAX);
    feed_begin(&f, b.bytes, b.size, WHOLE);
    CHECK_EQ(ipt_evt_init(&d, &f.config, &f.trace), IPT_OK);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_evt_sync_set(&d, 0), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_evt_sync_set(&d, b.offset[2]), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_evt_sync_set(&d, b.size + 1), IPT_ERR_ARG);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_ERR_NOSYNC);
    CHECK_EQ(ipt_evt_sync_set(&d, b.offset[6]), IPT_OK);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_DISABLED);
    CHECK_EQ(ipt_evt_sync_backward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, b.offset[6]);
    CHECK_EQ(ipt_evt_sync_backward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, b.offset[1]);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_ENABLED);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_OK);
    CHECK_EQ(d.at.sync, b.offset[6]);
    /* what waited before is forgotten: EXEC_MODE of the first one */
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_OK);
    CHECK_EQ(e.type, IPT_EVT_DISABLED);
    CHECK_EQ(ipt_evt_sync_forward(&d), IPT_END);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_END);
    feed_end(&f);
}

/* What an EVD said before an overflow is not of the CFE after it. */
TEST(mutants_evd_and_overflow)
{
    static const ipt_packet packets[]
        = {PSB, EXEC64, FUP(0x1000), PSBEND, EVD(0, 0x1234), OVF, FUP(0x1000),
           CFE(INTR, 1, 3), FUP(0x1000), FUP(0x1000), TIP(0x2000), PKT(NONE)};
    static build t;
    static ipt_evt_decoder d;
    static const ipt_config plain;
    ipt_event e;
    unsigned found = 0;
    build_all(&t, packets, LENGTH(packets));
    const ipt_segment piece = {t.bytes, t.size};
    const ipt_trace all = {&piece, 1, 0, 0};
    CHECK_EQ(ipt_evt_init(&d, &plain, &all), IPT_OK);
    int status = ipt_evt_sync_forward(&d);
    while (status >= 0 && (status = ipt_evt_next(&d, &e)) >= 0) {
        if (e.type != IPT_EVT_CFE) continue;
        found++;
        CHECK_EQ(e.u.cfe.has, IPT_CFE_HAS_VECTOR);
        CHECK_EQ(e.u.cfe.data[0], 0);
    }
    CHECK_EQ(status, IPT_END);
    CHECK_EQ(found, 1);
}

/* Losses of time are counted again after a PSB that was synchronised to. */
TEST(mutants_lost_time_and_synchronising)
{
    static const ipt_packet packets[]
        = {PSB, EXEC64, FUP(0x1000), PSBEND, CYC(5), MTC(1), CYC(5), MTC(9),
           CYC(7), TNT(1, 0), PKT(NONE)};
    static build t;
    static ipt_evt_decoder d;
    static const ipt_config plain;
    ipt_event e;
    build_all(&t, packets, LENGTH(packets));
    const ipt_segment piece = {t.bytes, t.size};
    const ipt_trace all = {&piece, 1, 0, 0};
    CHECK_EQ(ipt_evt_init(&d, &plain, &all), IPT_OK);
    int status = ipt_evt_sync_forward(&d);
    while (status >= 0) status = ipt_evt_next(&d, &e);
    CHECK_EQ(status, IPT_END);
    CHECK(d.at.lost_cyc > 0);
    CHECK(d.at.lost_mtc > 0);
    CHECK_EQ(ipt_evt_sync_set(&d, 0), IPT_OK);
    CHECK_EQ(d.at.lost_cyc, 0);
    CHECK_EQ(d.at.lost_mtc, 0);
}

/* Of 64 bits config.unwanted may have those of events, except TNT and TIP. */
TEST(unwanted_that_may_be)
{
    const ipt_trace none = {NULL, 0, 0, 0};
    for (unsigned bit = 0; bit < 64; bit++) {
        static ipt_evt_decoder d;
        const ipt_config config = {.unwanted = (uint64_t) 1 << bit};
        const int may = bit < IPT_EVT_COUNT && bit != IPT_EVT_TNT
                        && bit != IPT_EVT_TIP;
        CHECK_EQ(ipt_evt_init(&d, &config, &none),
                 may ? IPT_OK : IPT_ERR_CONFIG);
    }
}

/* Events that are not wanted are left out, of one type or of all. */
TEST(unwanted)
{
    static const ipt_packet packets[]
        = {ON, CBR(20), TNT(1, 1), PTW(1, 0, 7), CBR(21), TSX(1, 0),
           FUP(0x1001), PTW(1, 0, 8), PKT(NONE)};
    static build t;
    build_all(&t, packets, LENGTH(packets));
    const ipt_segment piece = {t.bytes, t.size};
    const ipt_trace all = {&piece, 1, 0, 0};
    unsigned count[IPT_EVT_COUNT] = {0};
    for (unsigned type = 0; type <= IPT_EVT_COUNT; type++) {
        static ipt_evt_decoder d;
        ipt_config config = {0};
        ipt_event e;
        int status;
        if (type == IPT_EVT_COUNT) config.unwanted = IPT_UNWANTED_;
        else if (type) config.unwanted = (uint64_t) 1 << type & IPT_UNWANTED_;
        unsigned got[IPT_EVT_COUNT] = {0};
        CHECK_EQ(ipt_evt_init(&d, &config, &all), IPT_OK);
        status = ipt_evt_sync_forward(&d);
        while (status >= 0)
            if ((status = ipt_evt_next(&d, &e)) >= 0) got[e.type]++;
        CHECK_EQ(status, IPT_END);
        for (unsigned i = 0; i < IPT_EVT_COUNT; i++) {
            if (!type) count[i] = got[i]; /* all are wanted */
            CHECK_EQ(got[i], config.unwanted >> i & 1 ? 0 : count[i]);
        }
    }
    CHECK_EQ(count[IPT_EVT_CBR], 2);
    CHECK_EQ(count[IPT_EVT_PTWRITE], 2);
    CHECK_EQ(count[IPT_EVT_TSX], 1);
    CHECK_EQ(count[IPT_EVT_TNT], 1);
}

/* After IPT_MORE the trace may be cut in other places, whatever is wanted. */
TEST(unwanted_and_cut_anew)
{
    static const ipt_packet packets[] = {ON, CBR(20), TNT(1, 1), TNT(2, 2),
                                         TNT(3, 3), TNT(1, 0), PKT(NONE)};
    static build t;
    build_all(&t, packets, LENGTH(packets));
    const ipt_config config = {.unwanted = 1u << IPT_EVT_CBR};
    ipt_segment pieces[2] = {{t.bytes, t.size - 4}, {t.bytes + t.size - 4, 2}};
    ipt_trace all = {pieces, 2, 1, 0};
    static ipt_evt_decoder d;
    ipt_event e;
    int status;
    CHECK_EQ(ipt_evt_init(&d, &config, &all), IPT_OK);
    status = ipt_evt_sync_forward(&d);
    while (status >= 0) status = ipt_evt_next(&d, &e);
    CHECK_EQ(status, IPT_MORE);
    pieces[0].size = 3;
    pieces[1].data = t.bytes + 3;
    pieces[1].size = t.size - 3;
    all.open = 0;
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_OK);
    CHECK_EQ(e.u.tnt.count, 3);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_OK);
    CHECK_EQ(e.u.tnt.count, 1);
    CHECK_EQ(ipt_evt_next(&d, &e), IPT_END);
}

/* ---- the short way ---- */

static uint32_t chosen; /* any numbers, always the same */

static uint32_t number(uint32_t below)
{
    chosen = chosen * 1664525u + 1013904223u;
    return (chosen >> 8) % below;
}

/* What waits, what completes it, and what may come between. */
static void choose_packet(ipt_packet *p)
{
    static const ipt_packet some[]
        = {FUP(0x1000), TIP(0x2000), PIP(0x3000, 0), EXEC64, PTW(1, 1, 7),
           PTW(0, 0, 8), MNT(9), TNT64(3, 5), TSC(1000), TMA(5, 6), MTC(7),
           CYC(8), CBR(10), TNT(2, 1), CFE(INTR, 1, 3), CFE(IRET, 0, 0),
           EXSTOP(1), EXSTOP(0), MWAIT(1, 0), PWRE(1, 2, 0),
           PWRX(1, 2, 0, 0, 0), TSX(1, 0), TSX(0, 1), VMCS(0x5000), OVF,
           PGD(0x4000), PGE(0x4000), FUP0, TIP0, PADS(2), BEP(0), BEP(1), STOP,
           EVD(0, 4)};
    const uint32_t often = number(4) ? 9 : (uint32_t) LENGTH(some);

    *p = some[number(often)];
    if (p->type == IPT_PKT_MODE_EXEC) {
        p->u.exec.csl = (uint8_t) number(2);
        p->u.exec.iflag = (uint8_t) number(2);
    } else if (p->type == IPT_PKT_PIP) {
        p->u.pip.nr = number(4) == 0;
    } else if (p->type == IPT_PKT_TSC) {
        p->u.tsc.value += number(1000);
    }
}

/* In pieces of fewer than 16 bytes nothing is read by a quick way. */
TEST(short_way_and_queue_agree)
{
    static ipt_evt_decoder d[2];
    static ipt_segment pieces[TRACE_BYTES / 8 + 1];
    static build t;
    ipt_packet packets[40] = {ON};
    uint64_t events = 0;
    int round;
    for (round = 0; round < 4000; round++) {
        ipt_config config = {0};
        ipt_segment whole = {0};
        ipt_trace traces[2] = {{&whole, 1, 0, 0}, {pieces, 0, 0, 0}};
        ipt_event e[2];
        int status[2];
        size_t i;
        size_t k;
        config.flags = number(2) ? IPT_CONFIG_VMX_EVENTS : 0;
        config.flags |= number(4) ? 0 : IPT_CONFIG_IFLAGS;
        config.flags |= number(4) ? 0 : IPT_CONFIG_NO_TIME;
        for (k = 4; k + 2 < LENGTH(packets); k++) choose_packet(&packets[k]);
        packets[k++] = (ipt_packet) PADS(20);
        packets[k] = (ipt_packet) PKT(NONE);
        build_all(&t, packets, LENGTH(packets));
        whole.data = t.bytes;
        whole.size = t.size;
        for (i = 0; 8 * i < t.size; i++) {
            pieces[i].data = t.bytes + 8 * i;
            pieces[i].size = t.size - 8 * i < 8 ? t.size - 8 * i : 8;
        }
        traces[1].count = (uint32_t) i;
        for (i = 0; i < 2; i++) {
            CHECK_EQ(ipt_evt_init(&d[i], &config, &traces[i]), IPT_OK);
            CHECK_EQ(ipt_evt_sync_forward(&d[i]), IPT_OK);
        }
        do {
            for (i = 0; i < 2; i++) {
                memset(&e[i], 0, sizeof e[i]);
                status[i] = ipt_evt_next(&d[i], &e[i]);
            }
            CHECK_EQ(status[0], status[1]);
            CHECK_EQ(memcmp(&e[0], &e[1], sizeof e[0]), 0);
            CHECK_EQ(d[0].at.offset, d[1].at.offset);
            if (d[0].at.packet != IPT_PKT_PAD) /* as many as the piece has */
                CHECK_EQ(d[0].at.packet_offset, d[1].at.packet_offset);
            CHECK_EQ(d[0].at.packet, d[1].at.packet);
            CHECK_EQ(d[0].at.overflows, d[1].at.overflows);
            CHECK_EQ(d[0].at.tsc, d[1].at.tsc);
            CHECK_EQ(d[0].at.asid.cr3, d[1].at.asid.cr3);
            events += status[0] >= 0;
        } while (status[0] >= 0 && status[0] == status[1]);
    }
    CHECK(events > 40000);
}

int main(void)
{
    RUN(psb);
    RUN(bdm70);
    RUN(flow);
    RUN(ip_compression);
    RUN(modes);
    RUN(asids);
    RUN(overflow);
    RUN(S6_overflow_and_psb);
    RUN(S10_pebs_with_exstop);
    RUN(S14_order_at_an_overflow);
    RUN(untimed);
    RUN(V4_time_of_what_is_held);
    RUN(time_of_a_held_mwait);
    RUN(iflags);
    RUN(errata);
    RUN(strict);
    RUN(data);
    RUN(cfe);
    RUN(evd);
    RUN(full);
    RUN(waiting);
    RUN(V4_room_while_held);
    RUN(V4_pads_in_flow);
    RUN(bad_packets);
    RUN(bad_packets_undecided);
    RUN(between_ovf_and_its_fup);
    RUN(sticky);
    RUN(gaps);
    RUN(gap_cuts_a_packet);
    RUN(start);
    RUN(start_arguments);
    RUN(where);
    RUN(held_ratio);
    RUN(V4_lost_when_it_began);
    RUN(V4_time_without_psbend);
    RUN(V4_forgotten);
    RUN(V4_between_ovf_and_tip);
    RUN(S6_psb_between_ovf_and_fup);
    RUN(many_wait);
    RUN(V3_start_says);
    RUN(V4_neutral_in_a_psb);
    RUN(synchronise);
    RUN(mutants_evd_and_overflow);
    RUN(mutants_lost_time_and_synchronising);
    RUN(unwanted_that_may_be);
    RUN(unwanted);
    RUN(unwanted_and_cut_anew);
    RUN(short_way_and_queue_agree);
    return test_report();
}
