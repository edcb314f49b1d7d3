/* fuel.c: what a unit of fuel costs, at worst. Built and run by fuel.sh under
 * callgrind: each row is one dump, named "LAYER, ROW: UNITS". */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include "../hex.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#define SIZE (1u << 14)
#define CACHE 64   /* lines; in storms ... */
#define STORM 4096 /* ... so many */

/* A sea: `unit` over and over, after a PSB+ at 0x1000 in 64-bit mode, and code
 * that repeats through all of the address space. In hex. */
typedef struct row {
    const char *name;
    const char *unit;
    const char *code;
    size_t piece;     /* bytes in a segment; 0: all in one */
    unsigned storm;   /* invalidate all code after so many calls; 0: never */
} row;

static const row rows[] = {
    {"PAD", "00", "90", 0, 0},
    {"PAD in pieces of a byte", "00", "90", 1, 0},
    {"02 82, no PSB", "0282028202820282028202820282 00", "90", 0, 0},
    {"PSB", "0282", "90", 0, 0},
    {"PSB in pieces of a byte", "0282", "90", 1, 0},
    {"PSB PSBEND", "02820282028202820282028202820282 0223", "90", 0, 0},
    {"PSB+ with state",
     "02820282028202820282028202820282 0243001000000000 02c80000100000"
     " 9901 9920 7d001000000000 0223",
     "90", 0, 0},
    {"OVF", "02f3", "90", 0, 0},
    {"OVF FUP", "02f3 3d0010", "90", 0, 0},
    {"CBR", "02030c00", "90", 0, 0},
    {"CYC", "0b", "90", 0, 0},
    {"CYC of three bytes", "07ff02", "90", 0, 0},
    {"MTC", "5901 5902 5903 5904", "90", 0, 0},
    {"MTC, CYC", "5901 0b 5902 13", "90", 0, 0},
    {"TSC TMA MTC", "1912345678123400 0273123400ff00 5934", "90", 0, 0},
    {"MODE.TSX", "9921 9920 9922", "90", 0, 0},
    {"MODE.Exec", "9901 9902", "90", 0, 0},
    {"MODE.Exec FUP", "9901 3d0010", "90", 0, 0},
    {"PIP", "0243001000000000", "90", 0, 0},
    {"PTW", "021200000000", "90", 0, 0},
    {"EXSTOP PWRE PWRX", "0262 02220000 02a20000000000", "90", 0, 0},
    {"BBP BIP BEP", "026301 040000000000000000 0233", "90", 0, 0},
    {"BIP", "026301 04112233445566770c11223344556677", "90", 0, 0},
    {"CFE EVD", "02530000 0213 04", "90", 0, 0},
    {"TIP.PGE TIP.PGD", "310010 01", "90", 0, 0},
    {"TIP.PGD", "01", "90", 0, 0},
    {"FUP TIP", "3d0010 2d0010", "90", 0, 0},
    {"FUP TIP.PGD TIP.PGE", "3d0010 01 310010", "90", 0, 0},
    {"OVF TNT (SKD010)", "02f3 fe", "90 7400", 0, 0},
    {"OVF TIP.PGD (APL11)", "02f3 01", "90", 0, 0},
    {"OVF FUP TIP.PGD (APL12)", "02f3 3d0010 01 310010", "90", 0, 0},
    {"FUP TIP.PGD (SKD022)", "3d0210 01 310010", "90 90 0f01c2", 0, 0},
    {"abort FUP TIP (BDM64)", "9921 9922 3d0010 2d0010", "90 7400", 0, 0},
    {"TIP abort FUP TIP (BDM64)", "9921 2d0010 9922 3d0510 2d0010",
     "9090909090 ffe0 ebf8", 0, 0},
    {"TIP.PGD without IP (SKL014)", "01 310010", "90 eb10", 0, 0},
    {"VMCS PIP FUP TIP", "02c80000100000 0243002000000000 3d0010 2d0010", "90",
     0, 0},
    {"GE MODE PSB+ held back", "01 02820282028202820282028202820282 9901"
     " 7d001000000000 0223 710010000000 00", "90", 0, 0},
    {"TNT of 1", "06 04", "7400", 0, 0},
    {"TNT of 6", "fe", "7400", 0, 0},
    {"TNT of 6, far jumps", "fe", "0f8400100000", 0, 0},
    {"TNT of 47", "02a3ffffffffffff", "7400", 0, 0},
    {"TNT of 6 in pieces of a byte", "fe", "7400", 1, 0},
    {"TNT, code evicted at once", "fe", "0f8440100000", 0, 0},
    {"TNT, instructions across pages", "fe",
     "0f84f70f0000 0f84f70f0000 0f84f70f0000", 0, 0},
    {"TNT, all code invalidated", "fe", "7400", 0, 1},
    {"TNT, calls and returns", "fe", "e800000000 c3", 0, 0},
    {"TIP", "2d0010 2d0030", "ffe0", 0, 0},
    {"TIP, pages change", "4d00100000 4d00300040 4d0f200050", "ffe0", 0, 0},
    {"TIP, all code invalidated", "2d0010 2d0030", "ffe0", 0, 1},
    {"TIP after long prefixes", "2d0010",
     "6666666666666666666666660f1f00 ffe0", 0, 0},
    {"TIP, short instructions", "2d0010", "9090909090909090909090909090 ffe0",
     0, 0},
    {"TIP, all code invalidated every nine", "2d0010 2d0030", "ffe0", 0, 9},
    {"no instruction", "2d0010", "06", 0, 0},
    {"bytes that are not a packet", "d5", "90", 0, 0},
};

static uint8_t trace_bytes[SIZE + 64];
static ipt_segment pieces[SIZE + 64];
static uint8_t code[64];
static size_t code_size;
static uint64_t fuel;

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    size_t i;

    (void) asid;
    (void) context;
    for (i = 0; i < size; i++)
        buffer[i] = code[(ip + i) % code_size];
    return (int) size;
}

/* ---- the layers ---- */

static union {
    ipt_pkt_decoder pkt;
    ipt_evt_decoder evt;
    ipt_qry_decoder qry;
    ipt_blk_decoder blk;
    ipt_insn_decoder insn;
    ipt_cov_decoder cov;
} d;
static ipt_cache cache;
static ipt_cache_line lines[STORM];
static ipt_cov_memo memo;
static ipt_cov_line memo_lines[STORM];
static ipt_cov_config cov;
static uint8_t bitmap[4096];

enum { PKT, EVT, QRY, BLK, INSN, COV, BACK, LAYERS };
static const char *const names[LAYERS]
    = {"pkt", "evt", "qry", "blk", "insn", "cov", "backward"};

static int init(int layer, const ipt_config *config, const ipt_trace *trace)
{
    switch (layer) {
    case EVT: return ipt_evt_init(&d.evt, config, trace);
    case QRY: return ipt_qry_init(&d.qry, config, trace);
    case BLK: return ipt_blk_init(&d.blk, config, trace, &cache);
    case INSN: return ipt_insn_init(&d.insn, config, trace, &cache);
    case COV: return ipt_cov_init(&d.cov, config, &cov, trace, &cache);
    default: return ipt_pkt_init(&d.pkt, config, trace);
    }
}

static int synchronise(int layer)
{
    uint64_t ip;

    switch (layer) {
    case EVT: return ipt_evt_sync_forward(&d.evt);
    case QRY: return ipt_qry_sync_forward(&d.qry, &ip);
    case BLK: return ipt_blk_sync_forward(&d.blk);
    case INSN: return ipt_insn_sync_forward(&d.insn);
    case COV: return ipt_cov_resync(&d.cov);
    case BACK: return ipt_pkt_sync_backward(&d.pkt);
    default: return ipt_pkt_sync_forward(&d.pkt);
    }
}

static int resynchronise(int layer)
{
    switch (layer) {
    case BLK: return ipt_blk_resync(&d.blk);
    case INSN: return ipt_insn_resync(&d.insn);
    case COV: return ipt_cov_resync(&d.cov);
    default: return IPT_END;
    }
}

static int ask(void)
{
    ipt_event event;
    uint64_t ip;
    int taken;
    int status = ipt_qry_cond_branch(&d.qry, &taken);

    if (status == IPT_ERR_QUERY)
        status = ipt_qry_indirect_branch(&d.qry, &ip);
    return status == IPT_ERR_QUERY ? ipt_qry_event(&d.qry, &event) : status;
}

static int next(int layer)
{
    ipt_packet packet;
    ipt_event event;
    ipt_block block;
    ipt_insn insn;

    switch (layer) {
    case EVT: return ipt_evt_next(&d.evt, &event);
    case QRY: return ask();
    case BLK: return ipt_blk_next(&d.blk, &block);
    case INSN: return ipt_insn_next(&d.insn, &insn);
    case COV: return ipt_cov_run(&d.cov);
    case BACK: return ipt_pkt_sync_backward(&d.pkt);
    default: return ipt_pkt_next(&d.pkt, &packet);
    }
}

/* Forget all code; the cache's fuel is that of config. */
static void invalidate(int layer)
{
    if (layer == COV)
        (void) ipt_cov_invalidate(&d.cov, NULL, 0, 0);
    else
        (void) ipt_cache_invalidate(&cache, NULL, 0, 0);
}

/* Decode all of it, going on after every error; IPT_BUDGET ends it. */
static void decode(int layer, unsigned storm)
{
    unsigned calls = 0;
    int status = layer == COV ? IPT_OK : synchronise(layer);

    while (status >= 0 || (status != IPT_END && status != IPT_BUDGET
                           && status != IPT_ERR_GONE)) {
        if (storm && ++calls % storm == 0)
            invalidate(layer);
        status = next(layer);
        if (status < 0 && status != IPT_END && status != IPT_EVENT_FIRST
            && status != IPT_BUDGET) {
            status = resynchronise(layer);
            if (status < 0 && layer != COV && status != IPT_BUDGET)
                status = synchronise(layer);
        }
    }
}

static void run(const row *r, int layer)
{
    static const char *const head
        = "02820282028202820282028202820282 9901 7d001000000000 0223";
    ipt_trace trace = {pieces, 0, 0, 0};
    ipt_config config;
    uint8_t unit[64];
    const size_t unit_size = unhex(unit, r->unit);
    size_t size = unhex(trace_bytes, head);
    size_t at;
    char name[200];

    memset(&config, 0, sizeof(config));
    config.read = read_code;
    config.fuel = &fuel;
    config.errata = IPT_ERRATUM_ALL_;
    config.flags = IPT_CONFIG_TICKS | IPT_CONFIG_IFLAGS;
    config.cpuid_15_eax = 2;
    config.cpuid_15_ebx = 292;
    config.mtc_freq = 3;
    config.nom_freq = 35;
    code_size = unhex(code, r->code);
    for (; size + unit_size <= SIZE; size += unit_size)
        memcpy(trace_bytes + size, unit, unit_size);
    for (at = 0; at < size; at += pieces[trace.count++].size) {
        pieces[trace.count].data = trace_bytes + at;
        pieces[trace.count].size
            = r->piece && r->piece < size - at ? r->piece : size - at;
    }
    cov.bitmap = bitmap;
    cov.bitmap_size = sizeof(bitmap);
    cov.memo = &memo;
    if (ipt_cache_init(&cache, lines, r->storm ? STORM : CACHE) < 0
        || ipt_cov_memo_init(&memo, memo_lines, r->storm ? STORM : 64) < 0
        || init(layer, &config, &trace) < 0)
        exit(2);
    cache.fuel = &fuel;
    fuel = 4 * SIZE;
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    decode(layer, r->storm);
    CALLGRIND_TOGGLE_COLLECT;
    snprintf(name, sizeof(name), "%s, %s: %lu", names[layer], r->name,
             (unsigned long) (4 * SIZE - fuel));
    CALLGRIND_DUMP_STATS_AT(name);
}

/* fuel [COUNT]: so many rows, or all. */
int main(int argc, char **argv)
{
    size_t count = sizeof(rows) / sizeof(rows[0]);
    size_t i;
    int layer;

    if (argc > 1 && atoi(argv[1]) < (int) count)
        count = (size_t) atoi(argv[1]);
    for (i = 0; i < count; i++)
        for (layer = 0; layer < LAYERS; layer++)
            run(&rows[i], layer);
    return 0;
}
