/* pkt.c: packets. The golden bytes were typed from the SDM's tables, not made
 * by our encoder, which shares its tables with the decoder. */
#include "linked.h"
#include "hex.h"
#include "test.h"

/* ---- helpers ---- */

static unsigned long long ull(uint64_t value)
{
    return value;
}

typedef struct text {
    char s[160];
} text;

#define SAY(...) snprintf(t.s + n, sizeof t.s - n, __VA_ARGS__)

/* All fields of a packet, for comparing and for showing. */
static text describe(const ipt_packet *p)
{
    text t;
    size_t n = (size_t) snprintf(t.s, sizeof t.s, "%s", ipt_pkt_name(p->type));
    switch (p->type) {
    case IPT_PKT_PAD: SAY(" %u", p->size); break;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        SAY(" bits=%llx count=%u", ull(p->u.tnt.bits), p->u.tnt.count);
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        SAY(" ipc=%u payload=%llx", p->u.ip.ipc, ull(p->u.ip.payload));
        break;
    case IPT_PKT_MODE_EXEC:
        SAY(" csl=%u csd=%u if=%u", p->u.exec.csl, p->u.exec.csd,
            p->u.exec.iflag);
        break;
    case IPT_PKT_MODE_TSX:
        SAY(" intx=%u abrt=%u", p->u.tsx.intx, p->u.tsx.abrt);
        break;
    case IPT_PKT_PIP:
        SAY(" cr3=%llx nr=%u", ull(p->u.pip.cr3), p->u.pip.nr);
        break;
    case IPT_PKT_VMCS: SAY(" base=%llx", ull(p->u.vmcs.base)); break;
    case IPT_PKT_TSC: SAY(" %llx", ull(p->u.tsc.value)); break;
    case IPT_PKT_CBR: SAY(" %x", p->u.cbr.ratio); break;
    case IPT_PKT_TMA: SAY(" ctc=%x fc=%x", p->u.tma.ctc, p->u.tma.fc); break;
    case IPT_PKT_MTC: SAY(" %x", p->u.mtc.ctc); break;
    case IPT_PKT_CYC: SAY(" %llx", ull(p->u.cyc.value)); break;
    case IPT_PKT_MNT: SAY(" %llx", ull(p->u.mnt.payload)); break;
    case IPT_PKT_PTW:
        SAY(" payload=%llx plc=%u ip=%u", ull(p->u.ptw.payload), p->u.ptw.plc,
            p->u.ptw.has_ip);
        break;
    case IPT_PKT_EXSTOP: SAY(" ip=%u", p->u.exstop.has_ip); break;
    case IPT_PKT_MWAIT:
        SAY(" hints=%x ext=%x", p->u.mwait.hints, p->u.mwait.ext);
        break;
    case IPT_PKT_PWRE:
        SAY(" state=%x sub=%x hw=%u", p->u.pwre.state, p->u.pwre.sub_state,
            p->u.pwre.hw);
        break;
    case IPT_PKT_PWRX:
        SAY(" last=%x deepest=%x int=%u st=%u hw=%u", p->u.pwrx.last,
            p->u.pwrx.deepest, p->u.pwrx.interrupt, p->u.pwrx.store,
            p->u.pwrx.autonomous);
        break;
    case IPT_PKT_BBP: SAY(" type=%x sz=%u", p->u.bbp.type, p->u.bbp.sz); break;
    case IPT_PKT_BIP:
        SAY(" payload=%llx id=%x sz=%u", ull(p->u.bip.payload), p->u.bip.id,
            p->u.bip.sz);
        break;
    case IPT_PKT_BEP: SAY(" ip=%u", p->u.bep.has_ip); break;
    case IPT_PKT_CFE:
        SAY(" type=%x vector=%x ip=%u", p->u.cfe.type, p->u.cfe.vector,
            p->u.cfe.has_ip);
        break;
    case IPT_PKT_EVD:
        SAY(" payload=%llx type=%x", ull(p->u.evd.payload), p->u.evd.type);
        break;
    case IPT_PKT_TRIG:
        SAY(" icnt=%x trbv=%x icntv=%u mult=%u ip=%u", p->u.trig.icnt,
            p->u.trig.trbv, p->u.trig.icntv, p->u.trig.mult, p->u.trig.has_ip);
        break;
    case IPT_PKT_UNKNOWN:
        SAY(" %llx %llx", ull(p->u.unknown[0]), ull(p->u.unknown[1]));
        break;
    default: break; // no fields
    }
    return t;
}

static int same(const ipt_packet *got, const ipt_packet *want)
{
    text a = describe(got);
    text b = describe(want);
    if (strcmp(a.s, b.s) == 0) return 1;
    printf("    got  %s\n    want %s\n", a.s, b.s);
    return 0;
}

/* A decoder on one closed piece of trace, at its start. */
typedef struct bench {
    ipt_segment piece;
    ipt_trace trace;
    ipt_config config;
    ipt_pkt_decoder decoder;
} bench;

static void start(bench *b, const uint8_t *bytes, size_t size)
{
    memset(b, 0, sizeof *b);
    b->piece.data = bytes;
    b->piece.size = size;
    b->trace.seg = &b->piece;
    b->trace.count = 1;
    CHECK_EQ(ipt_pkt_init(&b->decoder, &b->config, &b->trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b->decoder, 0), IPT_OK);
}

static int next(bench *b, ipt_packet *packet)
{
    int status;
    memset(packet, 0xee, sizeof *packet);
    status = ipt_pkt_next(&b->decoder, packet);
    if (status == IPT_OK) { /* at says what it was */
        CHECK_EQ(b->decoder.at.packet, packet->type);
        CHECK_EQ(b->decoder.at.packet_offset, packet->offset);
    }
    return status;
}

/* ---- golden bytes ---- */

typedef struct golden {
    const char *bytes;
    uint8_t block; /* inside a PEBS block of that item size */
    ipt_packet packet;
} golden;

#define BARE(t) {.type = IPT_PKT_##t}
#define PADS(n) {.type = IPT_PKT_PAD, .size = n}
#define P(t, member, ...) {.type = IPT_PKT_##t, .u.member = {__VA_ARGS__}}

#define PSB_BYTES "0282 0282 0282 0282 0282 0282 0282 0282"

static const golden golden_rows[] = {
    {"00", 0, PADS(1)},
    {"00 00 00", 0, PADS(3)},
    {PSB_BYTES, 0, BARE(PSB)},
    {"02 23", 0, BARE(PSBEND)},
    {"02 f3", 0, BARE(OVF)},
    {"02 83", 0, BARE(STOP)},
    // TNT: stop bit, then the oldest branch in the highest bit
    {"04", 0, P(TNT_8, tnt, 0, 1)},
    {"06", 0, P(TNT_8, tnt, 1, 1)},
    {"2c", 0, P(TNT_8, tnt, 0x6, 4)},
    {"a6", 0, P(TNT_8, tnt, 0x13, 6)},
    {"80", 0, P(TNT_8, tnt, 0, 6)},
    {"fe", 0, P(TNT_8, tnt, 0x3f, 6)},
    {"02 a3 01 00 00 00 00 00", 0, P(TNT_64, tnt, 0, 0)},
    {"02 a3 02 00 00 00 00 00", 0, P(TNT_64, tnt, 0, 1)},
    {"02 a3 03 00 00 00 00 00", 0, P(TNT_64, tnt, 1, 1)},
    {"02 a3 35 12 00 00 00 00", 0, P(TNT_64, tnt, 0x235, 12)},
    {"02 a3 00 00 00 00 00 80", 0, P(TNT_64, tnt, 0, 47)},
    {"02 a3 ff ff ff ff ff ff", 0, P(TNT_64, tnt, 0x7fffffffffff, 47)},
    // IP packets: IPBytes in bits 7:5
    {"0d", 0, P(TIP, ip, 0, 0)},
    {"2d 34 12", 0, P(TIP, ip, 0x1234, 1)},
    {"4d 78 56 34 12", 0, P(TIP, ip, 0x12345678, 2)},
    {"6d bc 9a 78 56 34 12", 0, P(TIP, ip, 0x123456789abc, 3)},
    {"8d bc 9a 78 56 34 12", 0, P(TIP, ip, 0x123456789abc, 4)},
    {"cd ef cd ab 89 67 45 23 01", 0, P(TIP, ip, 0x0123456789abcdef, 6)},
    {"6d ff ff ff ff ff ff", 0, P(TIP, ip, 0xffffffffffff, 3)},
    {"11", 0, P(TIP_PGE, ip, 0, 0)},
    {"31 34 12", 0, P(TIP_PGE, ip, 0x1234, 1)},
    {"51 78 56 34 12", 0, P(TIP_PGE, ip, 0x12345678, 2)},
    {"71 bc 9a 78 56 34 12", 0, P(TIP_PGE, ip, 0x123456789abc, 3)},
    {"91 bc 9a 78 56 34 12", 0, P(TIP_PGE, ip, 0x123456789abc, 4)},
    {"d1 ef cd ab 89 67 45 23 01", 0, P(TIP_PGE, ip, 0x0123456789abcdef, 6)},
    {"01", 0, P(TIP_PGD, ip, 0, 0)},
    {"21 34 12", 0, P(TIP_PGD, ip, 0x1234, 1)},
    {"41 78 56 34 12", 0, P(TIP_PGD, ip, 0x12345678, 2)},
    {"61 bc 9a 78 56 34 12", 0, P(TIP_PGD, ip, 0x123456789abc, 3)},
    {"81 bc 9a 78 56 34 12", 0, P(TIP_PGD, ip, 0x123456789abc, 4)},
    {"c1 ef cd ab 89 67 45 23 01", 0, P(TIP_PGD, ip, 0x0123456789abcdef, 6)},
    {"1d", 0, P(FUP, ip, 0, 0)},
    {"3d 34 12", 0, P(FUP, ip, 0x1234, 1)},
    {"5d 78 56 34 12", 0, P(FUP, ip, 0x12345678, 2)},
    {"7d bc 9a 78 56 34 12", 0, P(FUP, ip, 0x123456789abc, 3)},
    {"9d bc 9a 78 56 34 12", 0, P(FUP, ip, 0x123456789abc, 4)},
    {"dd ef cd ab 89 67 45 23 01", 0, P(FUP, ip, 0x0123456789abcdef, 6)},
    // MODE: leaf in bits 7:5
    {"99 00", 0, P(MODE_EXEC, exec, 0, 0, 0)},
    {"99 01", 0, P(MODE_EXEC, exec, 1, 0, 0)},
    {"99 02", 0, P(MODE_EXEC, exec, 0, 1, 0)},
    {"99 04", 0, P(MODE_EXEC, exec, 0, 0, 1)},
    {"99 07", 0, P(MODE_EXEC, exec, 1, 1, 1)},
    {"99 20", 0, P(MODE_TSX, tsx, 0, 0)},
    {"99 21", 0, P(MODE_TSX, tsx, 1, 0)},
    {"99 22", 0, P(MODE_TSX, tsx, 0, 1)},
    {"99 23", 0, P(MODE_TSX, tsx, 1, 1)},
    // PIP: bit 0 of the payload is NR, bit 1 is CR3 bit 5
    {"02 43 00 45 23 01 00 00", 0, P(PIP, pip, 0x12345000, 0)},
    {"02 43 01 45 23 01 00 00", 0, P(PIP, pip, 0x12345000, 1)},
    {"02 43 02 00 00 00 00 00", 0, P(PIP, pip, 0x20, 0)},
    {"02 43 ff ff ff ff ff ff", 0, P(PIP, pip, 0xfffffffffffe0, 1)},
    {"02 c8 cd ab 00 00 00", 0, P(VMCS, vmcs, 0xabcd000)},
    {"02 c8 ff ff ff ff ff", 0, P(VMCS, vmcs, 0xffffffffff000)},
    // timing
    {"19 01 02 03 04 05 06 07", 0, P(TSC, tsc, 0x07060504030201)},
    {"19 ff ff ff ff ff ff ff", 0, P(TSC, tsc, 0xffffffffffffff)},
    {"02 03 24 00", 0, P(CBR, cbr, 0x24)},
    {"02 73 34 12 00 ff 01", 0, P(TMA, tma, 0x1234, 0x1ff)},
    {"02 73 ff ff 00 00 01", 0, P(TMA, tma, 0xffff, 0x100)},
    {"59 94", 0, P(MTC, mtc, 0x94)},
    {"03", 0, P(CYC, cyc, 0)},
    {"0b", 0, P(CYC, cyc, 1)},
    {"fb", 0, P(CYC, cyc, 0x1f)},
    {"07 02", 0, P(CYC, cyc, 0x20)},
    {"ff fe", 0, P(CYC, cyc, 0xfff)},
    {"07 01 02", 0, P(CYC, cyc, 0x1000)},
    {"ff ff ff ff ff ff ff ff fe", 0, P(CYC, cyc, 0x1fffffffffffffff)},
    {"07 01 01 01 01 01 01 01 01 02", 0, P(CYC, cyc, 0x2000000000000000)},
    {"ff ff ff ff ff ff ff ff ff 0e", 0, P(CYC, cyc, 0xffffffffffffffff)},
    {"02 c3 88 01 02 03 04 05 06 07 08", 0, P(MNT, mnt, 0x0807060504030201)},
    // PTWRITE and power
    {"02 12 89 67 45 23", 0, P(PTW, ptw, 0x23456789, 0, 0)},
    {"02 92 89 67 45 23", 0, P(PTW, ptw, 0x23456789, 0, 1)},
    {"02 32 01 02 03 04 05 06 07 08", 0,
     P(PTW, ptw, 0x0807060504030201, 1, 0)},
    {"02 b2 01 02 03 04 05 06 07 08", 0,
     P(PTW, ptw, 0x0807060504030201, 1, 1)},
    {"02 62", 0, P(EXSTOP, exstop, 0)},
    {"02 e2", 0, P(EXSTOP, exstop, 1)},
    {"02 c2 0b 00 00 00 01 00 00 00", 0, P(MWAIT, mwait, 0xb, 1)},
    {"02 c2 50 61 72 83 03 00 00 00", 0, P(MWAIT, mwait, 0x83726150, 3)},
    {"02 22 00 5f", 0, P(PWRE, pwre, 0, 5, 15)},
    {"02 22 00 31", 0, P(PWRE, pwre, 0, 3, 1)},
    {"02 a2 05 01 00 00 00", 0, P(PWRX, pwrx, 0, 5, 1, 0, 0)},
    {"02 a2 61 04 00 00 00", 0, P(PWRX, pwrx, 6, 1, 0, 1, 0)},
    {"02 a2 ff 08 00 00 00", 0, P(PWRX, pwrx, 15, 15, 0, 0, 1)},
    // PEBS: 1 in SZ means 4-byte items
    {"02 63 00", 0, P(BBP, bbp, 0, 0)},
    {"02 63 81", 0, P(BBP, bbp, 1, 1)},
    {"02 63 9f", 0, P(BBP, bbp, 0x1f, 1)},
    {"0c 78 56 34 12", 4, P(BIP, bip, 0x12345678, 1, 1)},
    {"04 00 00 00 80", 4, P(BIP, bip, 0x80000000, 0, 1)},
    {"fc 01 02 03 04 05 06 07 08", 8, P(BIP, bip, 0x0807060504030201, 31, 0)},
    {"02 33", 4, P(BEP, bep, 0)},
    {"02 b3", 8, P(BEP, bep, 1)},
    // event trace
    {"02 13 01 0e", 0, P(CFE, cfe, 1, 14, 0)},
    {"02 13 81 0e", 0, P(CFE, cfe, 1, 14, 1)},
    {"02 13 1f ff", 0, P(CFE, cfe, 31, 255, 0)},
    {"02 53 00 01 02 03 04 05 06 07 08", 0,
     P(EVD, evd, 0x0807060504030201, 0)},
    {"02 53 02 ff ff ff ff ff ff ff ff", 0,
     P(EVD, evd, 0xffffffffffffffff, 2)},
    {"02 53 3f 00 00 00 00 00 00 00 00", 0, P(EVD, evd, 0, 63)},
    // TRIG: icnt, trbv, icntv, mult, ip
    {"d9 00 01", 0, P(TRIG, trig, 0, 0x01, 0, 0, 0)},
    {"d9 20 a1", 0, P(TRIG, trig, 0, 0xa1, 0, 1, 0)},
    {"d9 80 ff", 0, P(TRIG, trig, 0, 0xff, 0, 0, 1)},
    {"d9 60 a1 03 00", 0, P(TRIG, trig, 3, 0xa1, 1, 1, 0)},
    {"d9 c0 02 00 00", 0, P(TRIG, trig, 0, 0x02, 1, 0, 1)},
    {"d9 e0 01 ff ff", 0, P(TRIG, trig, 0xffff, 0x01, 1, 1, 1)},
};
#define GOLDEN (sizeof golden_rows / sizeof golden_rows[0])

/* Bytes that our encoder does not write: reserved bits, long forms. */
static const golden read_only_rows[] = {
    {"99 18", 0, P(MODE_EXEC, exec, 0, 0, 0)},
    {"99 1d", 0, P(MODE_EXEC, exec, 1, 0, 1)},
    {"99 3c", 0, P(MODE_TSX, tsx, 0, 0)},
    {"02 03 24 ff", 0, P(CBR, cbr, 0x24)},
    {"02 22 77 00", 0, P(PWRE, pwre, 0, 0, 0)},
    {"02 a2 05 01 ff ff ff", 0, P(PWRX, pwrx, 0, 5, 1, 0, 0)},
    {"02 63 60", 0, P(BBP, bbp, 0, 0)},
    {"02 13 61 00", 0, P(CFE, cfe, 1, 0, 0)},
    {"02 53 c1 00 00 00 00 00 00 00 00", 0, P(EVD, evd, 0, 1)},
    {"d9 1f 00", 0, P(TRIG, trig, 0, 0, 0, 0, 0)},
    {"07 00", 0, P(CYC, cyc, 0)},
    {"0f 01 00", 0, P(CYC, cyc, 1)},
    {"6d 00 00 00 00 00 80", 0, P(TIP, ip, 0x800000000000, 3)},
};
#define READ_ONLY (sizeof read_only_rows / sizeof read_only_rows[0])

/* The bytes of a row; *lead of them open its PEBS block. */
static size_t row_bytes(const golden *row, uint8_t *bytes, size_t *lead)
{
    *lead = 0;
    if (row->block) *lead = unhex(bytes, row->block == 4 ? "026380" : "026300");
    return *lead + unhex(bytes + *lead, row->bytes);
}

static int check_row(const golden *row)
{
    uint8_t bytes[32];
    size_t lead;
    size_t size = row_bytes(row, bytes, &lead);
    uint8_t *exact = calloc(1, size); // a sanitizer sees any read past it
    ipt_packet p;
    bench b;
    int ok;
    memcpy(exact, bytes, size);
    start(&b, exact, size);
    if (lead) CHECK_EQ(next(&b, &p), IPT_OK);
    ok = CHECK_EQ(next(&b, &p), IPT_OK) && CHECK(same(&p, &row->packet))
        && CHECK_EQ(p.offset, lead) && CHECK_EQ(p.size, size - lead)
        && CHECK_EQ(b.decoder.at.offset, size)
        && CHECK_EQ(b.decoder.at.packet_offset, lead)
        && CHECK_EQ(b.decoder.at.packet, row->packet.type)
        && CHECK_EQ(next(&b, &p), IPT_END);
    if (!ok) printf("    in row \"%s\"\n", row->bytes);
    free(exact);
    return ok;
}

TEST(golden_decode)
{
    for (size_t i = 0; i < GOLDEN; i++) check_row(&golden_rows[i]);
    for (size_t i = 0; i < READ_ONLY; i++) check_row(&read_only_rows[i]);
}

/* Encoding gives these bytes, and not into a buffer that is one too small. */
static int check_encode(const ipt_packet *packet, const uint8_t *bytes,
                        size_t size)
{
    uint8_t out[64];
    memset(out, 0xee, sizeof out);
    return CHECK_EQ(ipt_pkt_encode(out, size - 1, packet), IPT_ERR_ROOM)
        && CHECK_EQ(out[0], 0xee)
        && CHECK_EQ(ipt_pkt_encode(out, size, packet), size)
        && CHECK(memcmp(out, bytes, size) == 0) && CHECK_EQ(out[size], 0xee);
}

TEST(golden_encode)
{
    for (size_t i = 0; i < GOLDEN; i++) {
        uint8_t bytes[32];
        size_t size = unhex(bytes, golden_rows[i].bytes);
        if (!check_encode(&golden_rows[i].packet, bytes, size))
            printf("    in row \"%s\"\n", golden_rows[i].bytes);
    }
}

TEST(golden_rows_cover_every_type)
{
    uint8_t seen[IPT_PKT_COUNT] = {0};
    for (size_t i = 0; i < GOLDEN; i++) seen[golden_rows[i].packet.type] = 1;
    for (unsigned type = IPT_PKT_NONE + 1; type < IPT_PKT_UNKNOWN; type++)
        if (!CHECK(seen[type])) printf("    type %u\n", type);
}

/* The HW bit of PWRE: the SDM's bit 7, libipt's bit 3. */
TEST(pwre_hw)
{
    static const char *const forms[] = {"02 22 80 50", "02 22 08 50",
                                        "02 22 88 50"};
    for (size_t i = 0; i < 3; i++) {
        uint8_t bytes[8];
        ipt_packet p;
        bench b;
        start(&b, bytes, unhex(bytes, forms[i]));
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.u.pwre.hw, 1);
        CHECK_EQ(p.u.pwre.state, 5);
        CHECK_EQ(p.u.pwre.sub_state, 0);
    }
}

/* ---- round trips ---- */

/* A field: its place in ipt_packet, and which bits of it are sent. */
typedef struct field {
    uint8_t type;
    size_t place;
    size_t size; /* bytes */
    unsigned low;
    unsigned width;
} field;

#define F(t, member, low, width)                                              \
    {IPT_PKT_##t, offsetof(ipt_packet, u.member),                             \
     sizeof(((ipt_packet *) 0)->u.member), low, width}

static const field fields[] = {
    F(MODE_EXEC, exec.csl, 0, 1), F(MODE_EXEC, exec.csd, 0, 1),
    F(MODE_EXEC, exec.iflag, 0, 1), F(MODE_TSX, tsx.intx, 0, 1),
    F(MODE_TSX, tsx.abrt, 0, 1), F(PIP, pip.cr3, 5, 47), F(PIP, pip.nr, 0, 1),
    F(VMCS, vmcs.base, 12, 40), F(TSC, tsc.value, 0, 56),
    F(CBR, cbr.ratio, 0, 8), F(TMA, tma.ctc, 0, 16), F(TMA, tma.fc, 0, 9),
    F(MTC, mtc.ctc, 0, 8), F(CYC, cyc.value, 0, 64), F(MNT, mnt.payload, 0, 64),
    F(PTW, ptw.has_ip, 0, 1), F(EXSTOP, exstop.has_ip, 0, 1),
    F(MWAIT, mwait.hints, 0, 32), F(MWAIT, mwait.ext, 0, 32),
    F(PWRE, pwre.hw, 0, 1),
    F(PWRE, pwre.state, 0, 4), F(PWRE, pwre.sub_state, 0, 4),
    F(PWRX, pwrx.last, 0, 4), F(PWRX, pwrx.deepest, 0, 4),
    F(PWRX, pwrx.interrupt, 0, 1), F(PWRX, pwrx.store, 0, 1),
    F(PWRX, pwrx.autonomous, 0, 1), F(BBP, bbp.type, 0, 5),
    F(BBP, bbp.sz, 0, 1), F(BIP, bip.id, 0, 5), F(BEP, bep.has_ip, 0, 1),
    F(CFE, cfe.type, 0, 5), F(CFE, cfe.vector, 0, 8), F(CFE, cfe.has_ip, 0, 1),
    F(EVD, evd.payload, 0, 64), F(EVD, evd.type, 0, 6),
    F(TRIG, trig.trbv, 0, 8), F(TRIG, trig.mult, 0, 1),
    F(TRIG, trig.has_ip, 0, 1)
};
#define FIELDS (sizeof fields / sizeof fields[0])

static void set_field(ipt_packet *packet, const field *f, uint64_t value)
{
    uint8_t *place = (uint8_t *) packet + f->place;
    uint8_t small = (uint8_t) value;
    uint16_t middle = (uint16_t) value;
    uint32_t large = (uint32_t) value;
    switch (f->size) {
    case 1: memcpy(place, &small, 1); break;
    case 2: memcpy(place, &middle, 2); break;
    case 4: memcpy(place, &large, 4); break;
    default: memcpy(place, &value, 8); break;
    }
}

/* decode(encode(packet)) == packet, and encode again gives the same bytes. */
static int round_trip(const ipt_packet *packet)
{
    uint8_t bytes[3 + 16];
    uint8_t again[16];
    size_t lead = 0;
    ipt_packet p;
    bench b;
    int size;
    if (packet->type == IPT_PKT_BIP)
        lead = unhex(bytes, packet->u.bip.sz ? "026380" : "026300");
    size = ipt_pkt_encode(bytes + lead, 16, packet);
    if (!CHECK(size > 0)) return 0;
    start(&b, bytes, lead + (size_t) size);
    if (lead) CHECK_EQ(next(&b, &p), IPT_OK);
    return CHECK_EQ(next(&b, &p), IPT_OK) && CHECK(same(&p, packet))
        && CHECK_EQ(p.size, size)
        && CHECK_EQ(ipt_pkt_encode(again, 16, &p), size)
        && CHECK(memcmp(again, bytes + lead, (size_t) size) == 0)
        && CHECK_EQ(next(&b, &p), IPT_END);
}

static uint64_t ones(unsigned width)
{
    return width < 64 ? ((uint64_t) 1 << width) - 1 : UINT64_MAX;
}

/* 0, all bits, alternating bits, and each bit alone. */
static void try_field(const ipt_packet *row, const field *f)
{
    ipt_packet p = *row;
    uint64_t all = ones(f->width) << f->low;
    set_field(&p, f, 0);
    round_trip(&p);
    set_field(&p, f, all);
    round_trip(&p);
    set_field(&p, f, 0x5555555555555555 & all);
    round_trip(&p);
    for (unsigned bit = f->low; bit < f->low + f->width; bit++) {
        set_field(&p, f, (uint64_t) 1 << bit);
        round_trip(&p);
    }
}

/* Bits of the field that are not sent must not be set. */
static void try_outside(const ipt_packet *row, const field *f)
{
    ipt_packet p = *row;
    uint8_t out[16];
    memset(out, 0xee, sizeof out);
    for (unsigned bit = 0; bit < 8 * f->size; bit++) {
        if (bit >= f->low && bit < f->low + f->width) continue;
        set_field(&p, f, (uint64_t) 1 << bit);
        if (!CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET))
            printf("    bit %u in %s\n", bit, describe(&p).s);
        CHECK_EQ(out[0], 0xee);
    }
}

TEST(round_trip_fields)
{
    for (size_t i = 0; i < GOLDEN; i++) {
        const ipt_packet *row = &golden_rows[i].packet;
        if (row->type != IPT_PKT_PAD) round_trip(row);
        for (size_t k = 0; k < FIELDS; k++) {
            if (fields[k].type != row->type) continue;
            try_field(row, &fields[k]);
            try_outside(row, &fields[k]);
        }
    }
}

static ipt_packet tnt(uint8_t type, uint64_t bits, unsigned count)
{
    ipt_packet p;
    memset(&p, 0, sizeof p);
    p.type = type;
    p.u.tnt.bits = bits;
    p.u.tnt.count = (uint8_t) count;
    return p;
}

TEST(round_trip_tnt)
{
    uint8_t out[16];
    for (uint8_t type = IPT_PKT_TNT_8; type <= IPT_PKT_TNT_64; type++) {
        unsigned most = type == IPT_PKT_TNT_8 ? 6 : 47;
        const unsigned least = type == IPT_PKT_TNT_8;
        for (unsigned count = least; count <= most; count++) {
            ipt_packet p = tnt(type, 0, count);
            round_trip(&p);
            p.u.tnt.bits = ones(count);
            round_trip(&p);
            for (unsigned bit = 0; bit < count; bit++) {
                p.u.tnt.bits = (uint64_t) 1 << bit;
                round_trip(&p);
            }
            p.u.tnt.bits = (uint64_t) 1 << count;
            CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
        }
        for (unsigned count = 0; count < 256; count++) {
            ipt_packet p = tnt(type, 0, count);
            if (count >= least && count <= most) continue;
            CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
        }
    }
}

TEST(round_trip_ip)
{
    static const uint8_t types[] = {IPT_PKT_TIP, IPT_PKT_TIP_PGE,
                                    IPT_PKT_TIP_PGD, IPT_PKT_FUP};
    static const unsigned bits[] = {0, 16, 32, 48, 48, 99, 64, 99};
    uint8_t out[16];
    ipt_packet p;
    memset(&p, 0, sizeof p);
    for (size_t i = 0; i < 4; i++) {
        p.type = types[i];
        for (unsigned ipc = 0; ipc < 256; ipc++) {
            unsigned width = ipc < 8 ? bits[ipc] : 99;
            p.u.ip.ipc = (uint8_t) ipc;
            p.u.ip.payload = 0;
            if (width == 99) {
                CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
                continue;
            }
            round_trip(&p);
            p.u.ip.payload = ones(width);
            round_trip(&p);
            for (unsigned bit = 0; bit < 64; bit++) {
                p.u.ip.payload = (uint64_t) 1 << bit;
                if (bit < width) round_trip(&p);
                else CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
            }
        }
    }
}

/* Fields that decide how long the packet is. */
TEST(round_trip_sizes)
{
    uint8_t out[16];
    for (size_t i = 0; i < GOLDEN; i++) {
        ipt_packet p = golden_rows[i].packet;
        if (p.type == IPT_PKT_PTW) {
            p.u.ptw.plc = 0;
            p.u.ptw.payload = UINT32_MAX;
            round_trip(&p);
            p.u.ptw.payload = (uint64_t) UINT32_MAX + 1;
            CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
            p.u.ptw.plc = 1;
            p.u.ptw.payload = UINT64_MAX;
            round_trip(&p);
            for (unsigned plc = 2; plc < 256; plc++) {
                p.u.ptw.plc = (uint8_t) plc;
                CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
            }
        } else if (p.type == IPT_PKT_BIP) {
            p.u.bip.sz = 1;
            p.u.bip.payload = UINT32_MAX;
            round_trip(&p);
            p.u.bip.payload = (uint64_t) UINT32_MAX + 1;
            CHECK_EQ(ipt_pkt_encode(out, 16, &p), IPT_ERR_PACKET);
            p.u.bip.sz = 0;
            p.u.bip.payload = UINT64_MAX;
            round_trip(&p);
        } else if (p.type == IPT_PKT_TRIG) {
            p.u.trig.icntv = 1;
            for (unsigned bit = 0; bit < 16; bit++) {
                p.u.trig.icnt = (uint16_t) (1u << bit);
                round_trip(&p);
            }
        }
    }
}

TEST(encode_refuses)
{
    uint8_t out[16];
    ipt_packet p;
    memset(&p, 0, sizeof p);
    for (unsigned type = 0; type < 256; type++) {
        if (type != IPT_PKT_NONE && type < IPT_PKT_UNKNOWN) continue;
        p.type = (uint8_t) type;
        CHECK_EQ(ipt_pkt_encode(out, sizeof out, &p), IPT_ERR_PACKET);
    }
    p.type = IPT_PKT_PAD; // size 0
    CHECK_EQ(ipt_pkt_encode(out, sizeof out, &p), IPT_ERR_PACKET);
    p.type = IPT_PKT_PSB;
    CHECK_EQ(ipt_pkt_encode(NULL, 16, &p), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_encode(out, 16, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_encode(out, 0, &p), IPT_ERR_ROOM);
}

/* ---- which packet begins with these bytes ---- */

/* The rules of pt-semantics F.2, again: a type, 0 for none, 255 for a reserved
 * one. */
static unsigned begins_ext(uint8_t second, uint8_t third)
{
    switch (second) {
    case 0x82: return 255; // the test's third byte does not go on with a PSB
    case 0x23: return IPT_PKT_PSBEND;
    case 0xf3: return IPT_PKT_OVF;
    case 0x83: return IPT_PKT_STOP;
    case 0xa3: return third ? IPT_PKT_TNT_64 : 255;
    case 0x43: return IPT_PKT_PIP;
    case 0xc8: return IPT_PKT_VMCS;
    case 0x03: return IPT_PKT_CBR;
    case 0x73: return IPT_PKT_TMA;
    case 0xc3: return third == 0x88 ? IPT_PKT_MNT : 0;
    case 0x62: case 0xe2: return IPT_PKT_EXSTOP;
    case 0xc2: return IPT_PKT_MWAIT;
    case 0x22: return IPT_PKT_PWRE;
    case 0xa2: return IPT_PKT_PWRX;
    case 0x12: case 0x32: case 0x92: case 0xb2: return IPT_PKT_PTW;
    case 0x52: case 0x72: case 0xd2: case 0xf2: return 255;
    case 0x63: return IPT_PKT_BBP;
    case 0x33: case 0xb3: return IPT_PKT_BEP;
    case 0x13: return IPT_PKT_CFE;
    case 0x53: return IPT_PKT_EVD;
    default: return 0;
    }
}

static unsigned begins(uint8_t first, uint8_t second, uint8_t third)
{
    unsigned ipc = first >> 5;
    unsigned ip = ipc == 5 || ipc == 7 ? 255u : 0;
    switch (first) {
    case 0x00: return IPT_PKT_PAD;
    case 0x02: return begins_ext(second, third);
    case 0x19: return IPT_PKT_TSC;
    case 0x59: return IPT_PKT_MTC;
    case 0x99:
        if (second >> 5 > 1) return 255;
        return second >> 5 ? IPT_PKT_MODE_TSX : IPT_PKT_MODE_EXEC;
    case 0xd9: return IPT_PKT_TRIG;
    default: break;
    }
    if ((first & 3) == 3) return IPT_PKT_CYC;
    if ((first & 1) == 0) return IPT_PKT_TNT_8;
    switch (first & 0x1f) {
    case 0x0d: return ip ? ip : IPT_PKT_TIP;
    case 0x11: return ip ? ip : IPT_PKT_TIP_PGE;
    case 0x01: return ip ? ip : IPT_PKT_TIP_PGD;
    case 0x1d: return ip ? ip : IPT_PKT_FUP;
    default: return 0;
    }
}

TEST(every_opcode)
{
    static const uint8_t thirds[] = {0x00, 0x88, 0x30};
    uint8_t bytes[16] = {0};
    for (unsigned i = 0; i < 256 * 256 * 3; i++) {
        unsigned want;
        ipt_packet p;
        bench b;
        int status;
        bytes[0] = (uint8_t) (i % 256);
        bytes[1] = (uint8_t) (i / 256 % 256);
        bytes[2] = thirds[i / 65536];
        want = begins(bytes[0], bytes[1], bytes[2]);
        start(&b, bytes, sizeof bytes);
        status = next(&b, &p);
        if (want == 0) CHECK_EQ(status, IPT_ERR_OPCODE);
        else if (want == 255) CHECK_EQ(status, IPT_ERR_PACKET);
        else if (CHECK_EQ(status, IPT_OK)) CHECK_EQ(p.type, want);
        if (test_.bad > 20) return;
    }
}

TEST(reserved)
{
    static const char *const rows[] = {
        "ad 00 00 00 00 00 00 00 00", "ed 00 00 00 00 00 00 00 00",
        "b1 00", "f1 00", "a1 00", "e1 00", "bd 00", "fd 00",
        "99 40", "99 60", "99 80", "99 a0", "99 c0", "99 e0",
        "02 a3 00 00 00 00 00 00",
        "02 73 00 00 01 00 00", "02 73 00 00 80 00 00", "02 73 00 00 00 00 02",
        "02 73 00 00 00 00 80", "02 52 00 00 00 00", "02 72 00 00 00 00",
        "02 d2 00 00 00 00", "02 f2 00 00 00 00",
        "ff ff ff ff ff ff ff ff ff 10", "07 01 01 01 01 01 01 01 01 0f 00",
        "07 01 01 01 01 01 01 01 01 01 02",
        "02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 83",
        "02 82 02 82 02 82 02 82 02 82 02 82 02 82 82 82", "02 82 00"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[48] = {0}; // a PAD before, a PSB after
        ipt_packet p;
        bench b;
        size_t size = unhex(bytes + 1, rows[i]);
        unhex(bytes + 1 + size, PSB_BYTES);
        start(&b, bytes, size + 17);
        CHECK_EQ(next(&b, &p), IPT_OK);
        for (int again = 0; again < 3; again++) {
            if (!CHECK_EQ(next(&b, &p), IPT_ERR_PACKET))
                printf("    in row \"%s\"\n", rows[i]);
            CHECK_EQ(p.type, 0xee);
            CHECK_EQ(b.decoder.at.offset, 1);
            CHECK_EQ(b.decoder.at.packet_offset, 1);
            CHECK_EQ(b.decoder.at.error, IPT_ERR_PACKET);
        }
        CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_OK);
        CHECK_EQ(b.decoder.at.offset, size + 1);
        CHECK_EQ(b.decoder.at.error, 0);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_PSB);
    }
}

/* ---- the end of the trace ---- */

static void check_prefixes(const golden *row)
{
    uint8_t bytes[32];
    size_t lead;
    size_t size = row_bytes(row, bytes, &lead);
    for (size_t cut = lead + 1; cut < size; cut++) {
        ipt_packet p;
        bench b;
        start(&b, bytes, cut);
        if (lead) CHECK_EQ(next(&b, &p), IPT_OK);
        for (int again = 0; again < 2; again++) {
            if (!CHECK_EQ(next(&b, &p), IPT_ERR_TRUNCATED))
                printf("    %u bytes of \"%s\"\n", (unsigned) cut, row->bytes);
            CHECK_EQ(b.decoder.at.offset, lead);
            if (cut > lead + 1 || (bytes[lead] != 0x02 && bytes[lead] != 0x99))
                CHECK_EQ(b.decoder.at.packet, row->packet.type);
            CHECK_EQ(p.type, 0xee);
        }
        b.trace.open = 1;
        CHECK_EQ(next(&b, &p), IPT_MORE);
        CHECK_EQ(b.decoder.at.offset, lead);
        b.piece.size = size;
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK(same(&p, &row->packet));
        CHECK_EQ(next(&b, &p), IPT_MORE);
        b.trace.open = 0;
        CHECK_EQ(next(&b, &p), IPT_END);
        CHECK_EQ(next(&b, &p), IPT_END);
    }
}

TEST(every_prefix)
{
    for (size_t i = 0; i < GOLDEN; i++)
        if (golden_rows[i].packet.type != IPT_PKT_PAD)
            check_prefixes(&golden_rows[i]);
}

/* Each byte of a PSB counts; where one is wrong, more bytes cannot help. */
TEST(V4_every_byte_of_a_psb)
{
    uint8_t good[24] = {0};
    uint8_t bytes[24];
    ipt_packet p;
    bench b;
    CHECK_EQ(unhex(good, PSB_BYTES), 16);
    for (size_t size = 1; size <= sizeof good; size++) {
        start(&b, good, size);
        CHECK_EQ(next(&b, &p), size < 16 ? IPT_ERR_TRUNCATED : IPT_OK);
        for (size_t i = 2; i < 16; i++) {
            memcpy(bytes, good, sizeof bytes);
            bytes[i] ^= 0x10;
            start(&b, bytes, size);
            CHECK_EQ(next(&b, &p),
                     i < size ? IPT_ERR_PACKET : size < 16 ? IPT_ERR_TRUNCATED
                                                           : IPT_OK);
            if (i < size) CHECK_EQ(b.decoder.at.packet, IPT_PKT_PSB);
        }
    }
}

/* PADs up to another packet are one, whichever bit of that is the lowest. */
TEST(V4_pads_before_another)
{
    static const uint8_t others[] = {0x59, 0x06, 0x04, 0x08, 0x10, 0x20, 0x40,
                                     0x80};
    uint8_t bytes[80];
    ipt_packet p;
    bench b;
    for (size_t i = 0; i < sizeof others; i++) {
        for (size_t pads = 1; pads < 40; pads++) {
            memset(bytes, others[i], sizeof bytes);
            memset(bytes + 20, 0, pads);
            for (size_t size = 20 + pads + 2; size < sizeof bytes; size += 9) {
                uint64_t end = 20;
                start(&b, bytes, size);
                do {
                    if (!CHECK_EQ(next(&b, &p), IPT_OK)) break;
                } while (p.type != IPT_PKT_PAD);
                CHECK_EQ(p.offset, 20);
                if (size > 20 + pads + 16) CHECK_EQ(p.size, pads);
                while (p.type == IPT_PKT_PAD) {
                    end += p.size;
                    if (!CHECK_EQ(next(&b, &p), IPT_OK)) break;
                }
                CHECK_EQ(end, 20 + pads);
                CHECK_EQ(p.offset, end);
                start(&b, bytes + 20, size - 20); /* where none were before */
                CHECK_EQ(next(&b, &p), IPT_OK);
                CHECK_EQ(p.type, IPT_PKT_PAD);
                CHECK_EQ(p.size, pads);
            }
        }
    }
}

/* What follows a PSB and ends as a pair does is none. */
TEST(V4_half_a_pair)
{
    uint8_t bytes[40] = {0};
    ipt_packet p;
    bench b;
    CHECK_EQ(unhex(bytes, PSB_BYTES), 16);
    memset(bytes + 16, 0x82, 24);
    bytes[16] = 0x06;
    for (size_t size = 18; size < sizeof bytes; size++) {
        start(&b, bytes, size);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_TNT_8);
        CHECK_EQ(p.offset, 16);
    }
}

/* Where a packet is cut, or another follows. */
TEST(V4_edges)
{
    ipt_packet p;
    bench b;
    start(&b, (const uint8_t *) "\x02\xc3\x00", 3); /* MNT's third byte */
    CHECK_EQ(next(&b, &p), IPT_ERR_OPCODE);
    start(&b, (const uint8_t *) "\x02\xc3", 2);
    CHECK_EQ(next(&b, &p), IPT_ERR_TRUNCATED);
    CHECK_EQ(b.decoder.at.packet, IPT_PKT_MNT);
    start(&b, (const uint8_t *) "\x99", 1); /* one of two MODEs */
    CHECK_EQ(next(&b, &p), IPT_ERR_TRUNCATED);
    CHECK_EQ(b.decoder.at.packet, IPT_PKT_NONE);
    /* ICNT is not that of the bytes after a TRIG without it */
    start(&b, (const uint8_t *) "\xd9\x00\x01\x59\xff\x59\xff", 7);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.size, 3);
    CHECK_EQ(p.u.trig.icnt, 0);
}

TEST(empty)
{
    ipt_packet p;
    bench b;
    start(&b, NULL, 0);
    CHECK_EQ(next(&b, &p), IPT_END);
    b.trace.open = 1;
    CHECK_EQ(next(&b, &p), IPT_MORE);
    b.trace.count = 0;
    b.trace.seg = NULL;
    CHECK_EQ(next(&b, &p), IPT_MORE);
    b.trace.open = 0;
    CHECK_EQ(next(&b, &p), IPT_END);
    CHECK_EQ(p.type, 0xee);
}

/* ---- errata ---- */

static int next_with(bench *b, uint32_t errata, const char *row, size_t cut,
                     ipt_packet *packet)
{
    static uint8_t bytes[32];
    start(b, bytes, unhex(bytes, row) - cut);
    b->config.errata = errata;
    return next(b, packet);
}

/* OVF takes the place of the second byte of a CYC. */
TEST(skd007)
{
    static const char *const hit[] = {"07 02 f3", "ff 02 f3", "57 02 f3 00"};
    static const char *const not[] = {"07 04 f3", "07 02 f2", "03 02 f3",
                                      "07 03 02 f3", "07 00 f3"};
    ipt_packet p;
    bench b;
    for (size_t i = 0; i < sizeof hit / sizeof hit[0]; i++) {
        CHECK_EQ(next_with(&b, IPT_ERRATUM_SKD007, hit[i], 0, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_OVF);
        CHECK_EQ(p.size, 3);
        CHECK_EQ(b.decoder.at.offset, 3);
        CHECK_EQ(b.decoder.at.packet, IPT_PKT_OVF);
        CHECK_EQ(next_with(&b, 0, hit[i], 0, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_CYC);
        CHECK_EQ(p.size, 2);
    }
    for (size_t i = 0; i < sizeof not / sizeof not[0]; i++) {
        CHECK_EQ(next_with(&b, IPT_ERRATUM_SKD007, not[i], 0, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_CYC);
        CHECK_EQ(p.size, i < 2 || i == 4 ? 2 : i == 2 ? 1 : 3);
    }
    // the byte that decides is still to come, or never comes
    CHECK_EQ(next_with(&b, IPT_ERRATUM_SKD007, "07 02 f3", 1, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_CYC);
    start(&b, (const uint8_t *) "\x07\x02\xf3", 2);
    b.config.errata = IPT_ERRATUM_SKD007;
    b.trace.open = 1;
    CHECK_EQ(next(&b, &p), IPT_MORE);
    b.piece.size = 3;
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_OVF);
    // a gap follows: the byte that decides is lost, though trace may come
    {
        static const uint8_t bytes[] = {0x07, 0x02, 0x06};
        const ipt_segment pieces[3] = {{bytes, 2}, {NULL, 100}, {bytes + 2, 1}};
        start(&b, bytes, 0);
        b.trace.seg = pieces;
        b.trace.count = 3;
        b.trace.open = 1;
        b.config.errata = IPT_ERRATUM_SKD007;
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_CYC);
        CHECK_EQ(p.size, 2);
    }
    // in the middle of a trace, where MTC and CYC are read the quick way
    {
        static uint8_t bytes[64];
        size_t at = 20;
        memset(bytes, 4, sizeof bytes);
        memcpy(bytes + at, "\x07\x02\xf3\x07\x04", 5);
        start(&b, bytes, sizeof bytes);
        b.config.errata = IPT_ERRATUM_SKD007;
        while (at--) CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_OVF);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_CYC);
        CHECK_EQ(p.size, 2);
    }
}

/* A TMA with reserved bits set, and a byte too many. */
TEST(skz84)
{
    static const char *const rows[] = {
        "02 73 00 00 01 00 00 55 06", "02 73 34 12 00 00 02 00 06"
    };
    ipt_packet p;
    bench b;
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(next_with(&b, 0, rows[i], 0, &p), IPT_ERR_PACKET);
        CHECK_EQ(next_with(&b, IPT_ERRATUM_SKZ84, rows[i], 0, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_INVALID);
        CHECK_EQ(p.size, 8);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_TNT_8);
        CHECK_EQ(next_with(&b, IPT_ERRATUM_SKZ84, rows[i], 2, &p),
                 IPT_ERR_TRUNCATED);
    }
    CHECK_EQ(next_with(&b, IPT_ERRATUM_SKZ84, "02 73 34 12 00 ff 01", 0, &p),
             IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_TMA);
    // V3: another packet that is wrong is none of its business
    CHECK_EQ(next_with(&b, IPT_ERRATUM_SKZ84, "02 a3 00 00 00 00 00 00 06", 0,
                       &p), IPT_ERR_PACKET);
}

/* ---- config.unknown ---- */

typedef struct teller {
    int answer;
    int scribble;
    size_t given;
    uint8_t first;
    uint64_t offset;
} teller;

static int tell(ipt_packet *packet, const uint8_t *bytes, size_t size,
                void *context)
{
    teller *t = context;
    t->given = size;
    t->first = bytes[0];
    t->offset = packet->offset;
    CHECK_EQ(packet->type, IPT_PKT_UNKNOWN);
    if (t->scribble) memset(packet, t->scribble, sizeof *packet);
    packet->u.unknown[0] = 0x1234;
    packet->u.unknown[1] = bytes[size - 1];
    return t->answer;
}

/* A trace of n bytes: PAD, then 05s, which no packet begins with. */
static void start_unknown(bench *b, teller *t, uint8_t *bytes, size_t n,
                          int answer)
{
    ipt_packet p;
    memset(bytes, 0x05, n);
    bytes[0] = 0;
    memset(t, 0, sizeof *t);
    t->answer = answer;
    start(b, bytes, n);
    b->config.unknown = tell;
    b->config.context = t;
    CHECK_EQ(next(b, &p), IPT_OK);
}

TEST(unknown_sizes)
{
    uint8_t bytes[600];
    for (int size = 1; size <= 255; size++) {
        ipt_packet p;
        teller t;
        bench b;
        start_unknown(&b, &t, bytes, 1 + 2 * (size_t) size, size);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_UNKNOWN);
        CHECK_EQ(p.offset, 1);
        CHECK_EQ(p.size, size);
        CHECK_EQ(p.u.unknown[0], 0x1234);
        CHECK_EQ(t.first, 0x05);
        CHECK_EQ(t.offset, 1);
        CHECK(t.given <= 16);
        CHECK(t.given >= 1);
        CHECK(t.given <= 2 * (size_t) size);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.offset, 1 + size);
        CHECK_EQ(next(&b, &p), IPT_END);
    }
}

/* One that goes on beyond a long piece of an open trace: it is asked for again
 * until all of it is there. */
TEST(unknown_wants_more)
{
    uint8_t bytes[100];
    teller t = {30, 0, 0, 0, 0};
    ipt_packet p;
    bench b;
    memset(bytes, 0x06, sizeof bytes);
    memset(bytes + 20, 0x05, 30);
    start(&b, bytes, 42);
    b.trace.open = 1;
    b.config.unknown = tell;
    b.config.context = &t;
    for (int i = 0; i < 20; i++) CHECK_EQ(next(&b, &p), IPT_OK);
    for (int i = 0; i < 3; i++) CHECK_EQ(next(&b, &p), IPT_MORE);
    b.piece.size = sizeof bytes;
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_UNKNOWN);
    CHECK_EQ(p.offset, 20);
    CHECK_EQ(p.size, 30);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_TNT_8);
}

/* One that a gap cuts: the packets before it were paid for, and the gap costs a
 * unit, however large it is. */
TEST(unknown_before_a_gap)
{
    for (size_t n = 2; n < 80; n++) {
        uint8_t bytes[100], psb[16];
        teller t = {255, 0, 0, 0, 0};
        uint64_t units = 1000;
        ipt_segment pieces[3] = {{bytes, n + 18}, {NULL, 100000}, {psb, 16}};
        ipt_packet p;
        bench b;
        memset(bytes, 0x06, sizeof bytes);
        bytes[n] = 0x05;
        for (unsigned i = 0; i < 16; i++) psb[i] = i % 2 ? 0x82 : 0x02;
        start(&b, bytes, 0);
        b.trace.seg = pieces;
        b.trace.count = 3;
        b.config.unknown = tell;
        b.config.context = &t;
        b.config.fuel = &units;
        for (size_t i = 0; i < n; i++) CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_GAP);
        CHECK_EQ(p.offset, n);
        CHECK_EQ(p.size, 100018);
        if (n % 2) CHECK_EQ(ipt_pkt_sync_forward(&b.decoder), IPT_OK);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK(1000 - units <= n / 16 + 6);
    }
}

/* Where decoding began at no PSB, the first one that comes is known. */
TEST(psb_on_the_way)
{
    uint8_t bytes[34];
    ipt_packet p;
    bench b;
    memset(bytes, 0x06, sizeof bytes);
    for (unsigned i = 0; i < 16; i++) bytes[9 + i] = i % 2 ? 0x82 : 0x02;
    start(&b, bytes, sizeof bytes);
    for (uint64_t i = 0; i < 18; i++) {
        CHECK_EQ(b.decoder.at.valid & IPT_AT_SYNC, i < 10 ? 0 : IPT_AT_SYNC);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, i == 9 ? IPT_PKT_PSB : IPT_PKT_TNT_8);
    }
    CHECK_EQ(b.decoder.at.sync, 9);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(next(&b, &p), IPT_END);
}

/* Whatever bytes were lost, they are not part of a PSB. */
TEST(psb_after_a_gap)
{
    for (unsigned cut = 0; cut < 16; cut++) { /* so much of one is there */
        uint8_t bytes[64];
        ipt_segment pieces[3] = {{bytes, 3}, {NULL, 100}, {bytes + 3, 61}};
        ipt_packet p;
        bench b;
        memset(bytes, 0x06, sizeof bytes);
        for (unsigned i = cut; i < 16; i++)
            bytes[3 + i - cut] = i % 2 ? 0x82 : 0x02;
        for (unsigned i = 0; i < 16; i++) bytes[32 + i] = i % 2 ? 0x82 : 0x02;
        start(&b, bytes, 0);
        b.trace.seg = pieces;
        b.trace.count = 3;
        for (unsigned i = 0; i < 4; i++) CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_GAP);
        CHECK_EQ(p.offset, 3);
        CHECK_EQ(p.size, 100);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_PSB);
        CHECK_EQ(p.offset, cut ? 132 : 103);
    }
}

TEST(unknown_lies)
{
    static const int answers[][2] = {
        {0, IPT_ERR_CALLBACK}, {256, IPT_ERR_CALLBACK},
        {INT32_MAX, IPT_ERR_CALLBACK}, {-1, IPT_ERR_OPCODE},
        {IPT_ERR_INTERNAL, IPT_ERR_OPCODE}, {INT32_MIN, IPT_ERR_OPCODE},
        {100, IPT_ERR_TRUNCATED} // the trace holds 99
    };
    uint8_t bytes[100];
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        ipt_packet p;
        teller t;
        bench b;
        start_unknown(&b, &t, bytes, 100, answers[i][0]);
        CHECK_EQ(next(&b, &p), answers[i][1]);
        CHECK_EQ(next(&b, &p), answers[i][1]);
        CHECK_EQ(b.decoder.at.offset, 1);
        CHECK_EQ(b.decoder.at.error, answers[i][1]);
        CHECK_EQ(p.type, 0xee);
        b.trace.open = 1;
        CHECK_EQ(next(&b, &p), answers[i][0] == 100 ? IPT_MORE : answers[i][1]);
    }
}

/* config.unknown may fill packet->u; what else it fills does not count. */
TEST(unknown_scribbles)
{
    uint8_t bytes[100];
    for (int with = 1; with < 256; with++) {
        ipt_packet p;
        teller t;
        bench b;
        start_unknown(&b, &t, bytes, 7, 3);
        t.scribble = with;
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_UNKNOWN);
        CHECK_EQ(p.offset, 1);
        CHECK_EQ(p.size, 3);
        CHECK_EQ(b.decoder.at.offset, 4);
        CHECK_EQ(b.decoder.at.packet, IPT_PKT_UNKNOWN);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(next(&b, &p), IPT_END);
    }
}

static int size_only(ipt_packet *packet, const uint8_t *bytes, size_t size,
                     void *context)
{
    (void) packet;
    (void) bytes;
    (void) size;
    (void) context;
    return 2;
}

/* What it does not fill of packet->u is 0. */
TEST(V4_unknown_fills_nothing)
{
    uint8_t bytes[10];
    uint64_t fuel = 10;
    ipt_packet p;
    teller t;
    bench b;
    start_unknown(&b, &t, bytes, sizeof bytes, 2);
    b.config.unknown = size_only;
    b.config.fuel = &fuel;
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(fuel, 9); /* each call costs a unit */
    CHECK_EQ(p.type, IPT_PKT_UNKNOWN);
    CHECK_EQ(p.u.unknown[0], 0);
    CHECK_EQ(p.u.unknown[1], 0);
}

/* config.unknown is not asked about known packets, whole or not. */
TEST(unknown_is_for_unknown)
{
    for (size_t i = 0; i < GOLDEN; i++) {
        uint8_t bytes[32];
        size_t lead;
        size_t size = row_bytes(&golden_rows[i], bytes, &lead);
        for (size_t n = lead + 1; n <= size; n++) {
            ipt_packet p;
            teller t = {1, 0, 0, 0, 0};
            bench b;
            start(&b, bytes, n);
            b.config.unknown = tell;
            b.config.context = &t;
            if (lead) CHECK_EQ(next(&b, &p), IPT_OK);
            CHECK(next(&b, &p) != IPT_ERR_OPCODE);
            CHECK_EQ(t.given, 0);
        }
    }
}

/* ---- PEBS blocks ---- */

/* Is a BIP read as such after a BBP and these bytes? Its first byte
 * alone is a TNT packet with one branch. */
static void check_block(const char *bytes_text, int stays)
{
    for (int sz = 0; sz < 2; sz++) {
        uint8_t bytes[48];
        size_t n = unhex(bytes, sz ? "026380" : "026300");
        size_t bip = sz ? 5 : 9;
        ipt_packet p;
        bench b;
        n += unhex(bytes + n, bytes_text);
        memset(bytes + n, 0, 9);
        bytes[n] = 0x04;
        start(&b, bytes, n + 9);
        while (b.decoder.at.offset < n) // what is in between
            if (!CHECK_EQ(next(&b, &p), IPT_OK)) return;
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, stays ? IPT_PKT_BIP : IPT_PKT_TNT_8);
        if (!CHECK_EQ(p.size, stays ? bip : 1))
            printf("    after \"%s\"\n", bytes_text);
    }
}

TEST(block_stays_open)
{
    check_block("", 1);
    check_block("00", 1);
    check_block("19 00 00 00 00 00 00 00", 1);
    check_block("02 03 10 00", 1);
    check_block("02 73 00 00 00 00 00", 1);
    check_block("59 00", 1);
    check_block("03", 1);
    check_block("02 c3 88 00 00 00 00 00 00 00 00", 1);
    check_block("02 62", 1);
    check_block("02 22 00 00", 1);
    check_block("02 a2 00 00 00 00 00", 1);
}

/* A FUP is that of an EXSTOP if one waits for it. */
TEST(S10_block_with_exstop)
{
    check_block("02 e2", 1);
    check_block("02 e2 3d 01 10", 1);
    check_block("02 e2 1d", 1);
    check_block("02 e2 59 00 3d 01 10", 1);
    check_block("02 e2 02 a2 00 00 00 00 00 3d 01 10", 1);
    check_block("02 e2 3d 01 10 02 e2 3d 01 10", 1);
    check_block("02 e2 3d 01 10 3d 01 10", 0);
    check_block("02 62 3d 01 10", 0);
    check_block("02 e2 0d", 0);
    check_block("02 e2 02 33 1d", 0);
    check_block("02 e2 02 63 00 3d 01 10", 0);
}

TEST(block_ends)
{
    check_block("02 33", 0);
    check_block("02 b3", 0);
    check_block("02 f3", 0);
    check_block(PSB_BYTES, 0);
    check_block("02 23", 0);
    check_block("02 83", 0);
    check_block("06", 0);
    check_block("02 a3 02 00 00 00 00 00", 0);
    check_block("0d", 0);
    check_block("11", 0);
    check_block("01", 0);
    check_block("1d", 0);
    check_block("99 00", 0);
    check_block("99 20", 0);
    check_block("02 43 00 00 00 00 00 00", 0);
    check_block("02 c8 00 00 00 00 00", 0);
    check_block("02 12 00 00 00 00", 0);
    check_block("02 c2 00 00 00 00 00 00 00 00", 0);
    check_block("02 13 00 00", 0);
    check_block("02 53 00 00 00 00 00 00 00 00 00", 0);
}

// What ends a block is also what it is elsewhere.
TEST(block_and_psb)
{
    uint8_t bytes[64];
    ipt_packet p;
    bench b;
    start(&b, bytes, unhex(bytes, PSB_BYTES "02 63 00" PSB_BYTES "02 82"
                                  "02 63 00 02 f3 02 23"));
    while (next(&b, &p) >= 0) { }
    CHECK_EQ(b.decoder.at.error, IPT_END);
    CHECK_EQ(b.decoder.at.sync, 19);
    CHECK_EQ(b.decoder.at.overflows, 1);
}

TEST(block_item_sizes)
{
    uint8_t bytes[32];
    ipt_packet p;
    bench b;
    // a second BBP changes the size
    start(&b, bytes, unhex(bytes, "02 63 80  04 01 02 03 04  02 63 00 "
                                  "7c 01 02 03 04 05 06 07 08  02 33  7c"));
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.u.bip.sz, 1);
    CHECK_EQ(p.u.bip.payload, 0x04030201);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.u.bip.sz, 0);
    CHECK_EQ(p.u.bip.id, 15);
    CHECK_EQ(p.u.bip.payload, 0x0807060504030201);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_TNT_8);
    // synchronising forgets the block
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 3), IPT_OK);
    CHECK_EQ(next(&b, &p), IPT_OK);
    CHECK_EQ(p.type, IPT_PKT_TNT_8);
}

/* ---- PAD runs ---- */

TEST(pad_runs)
{
    static uint8_t bytes[20002];
    for (size_t n = 0; n <= 20000; n += n < 64 ? 1 : 997) {
        ipt_packet p;
        bench b;
        size_t sum = 0;
        memset(bytes, 0, n);
        bytes[n] = 0x06;
        start(&b, bytes, n + 1);
        while (sum < n) {
            if (!CHECK_EQ(next(&b, &p), IPT_OK)) return;
            CHECK_EQ(p.type, IPT_PKT_PAD);
            CHECK_EQ(p.offset, sum);
            CHECK(p.size > 0);
            sum += p.size;
        }
        CHECK_EQ(sum, n);
        CHECK_EQ(next(&b, &p), IPT_OK);
        CHECK_EQ(p.type, IPT_PKT_TNT_8);
        CHECK_EQ(p.offset, n);
    }
}

TEST(pad_encode)
{
    uint8_t out[100];
    ipt_packet p = {.type = IPT_PKT_PAD, .size = 99};
    memset(out, 0xee, sizeof out);
    CHECK_EQ(ipt_pkt_encode(out, 98, &p), IPT_ERR_ROOM);
    CHECK_EQ(out[0], 0xee);
    CHECK_EQ(ipt_pkt_encode(out, 99, &p), 99);
    CHECK_EQ(out[98], 0);
    CHECK_EQ(out[99], 0xee);
    p.size = 0x80000000u; // V3: more than an int can say was written
    CHECK_EQ(ipt_pkt_encode(out, 100, &p), IPT_ERR_PACKET);
    CHECK_EQ(ipt_pkt_encode(out, SIZE_MAX, &p), IPT_ERR_PACKET);
    p.size = INT32_MAX;
    CHECK_EQ(ipt_pkt_encode(out, 100, &p), IPT_ERR_ROOM);
}

/* V3: a field that does not fit is refused, each in its own packet, and none is
 * cut; of scaled ones the low bits have to be 0. */
TEST(V3_fields_that_do_not_fit)
{
    static const ipt_packet bad[] = {
        {.type = IPT_PKT_PIP, .u.pip = {0x10, 0}},
        {.type = IPT_PKT_PIP, .u.pip = {1ull << 52, 0}},
        {.type = IPT_PKT_PIP, .u.pip = {0, 2}},
        {.type = IPT_PKT_VMCS, .u.vmcs = {0x800}},
        {.type = IPT_PKT_VMCS, .u.vmcs = {1ull << 52}},
        {.type = IPT_PKT_TMA, .u.tma = {0, 0x200}},
        {.type = IPT_PKT_TSC, .u.tsc = {1ull << 56}},
        {.type = IPT_PKT_MODE_EXEC, .u.exec = {2, 0, 0}},
        {.type = IPT_PKT_MODE_EXEC, .u.exec = {0, 2, 0}},
        {.type = IPT_PKT_MODE_EXEC, .u.exec = {0, 0, 2}},
        {.type = IPT_PKT_MODE_TSX, .u.tsx = {2, 0}},
        {.type = IPT_PKT_MODE_TSX, .u.tsx = {0, 2}},
        {.type = IPT_PKT_PTW, .u.ptw = {1ull << 32, 0, 0}},
        {.type = IPT_PKT_PTW, .u.ptw = {0, 2, 0}},
        {.type = IPT_PKT_PTW, .u.ptw = {0, 1, 2}},
        {.type = IPT_PKT_EXSTOP, .u.exstop = {2}},
        {.type = IPT_PKT_BBP, .u.bbp = {32, 0}},
        {.type = IPT_PKT_BBP, .u.bbp = {0, 2}},
        {.type = IPT_PKT_BIP, .u.bip = {1ull << 32, 0, 1}},
        {.type = IPT_PKT_BIP, .u.bip = {0, 32, 0}},
        {.type = IPT_PKT_BIP, .u.bip = {0, 0, 2}},
        {.type = IPT_PKT_BEP, .u.bep = {2}},
    };
    uint8_t out[16];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (!CHECK_EQ(ipt_pkt_encode(out, sizeof out, &bad[i]),
                      IPT_ERR_PACKET))
            printf("    row %u\n", (unsigned) i);
}

/* ---- pieces ---- */

/* All golden packets one after the other, twice, PADs in between. */
static uint8_t stream[4096];
static size_t stream_size;

static void make_stream(void)
{
    size_t n = 0;
    size_t lead;
    for (size_t i = 0; i < 2 * GOLDEN; i++) {
        n += row_bytes(&golden_rows[i % GOLDEN], stream + n, &lead);
        for (size_t k = 0; k < i % 21; k++) stream[n++] = 0;
    }
    stream_size = n;
}

typedef struct list {
    ipt_packet packets[1000];
    size_t count;
    int status; /* that ended it */
} list;

/* Packets by pieces may cut a PAD run: put it together again. */
static void append(list *l, const ipt_packet *p)
{
    ipt_packet *last = l->count ? &l->packets[l->count - 1] : NULL;
    if (p->type == IPT_PKT_PAD && last && last->type == IPT_PKT_PAD)
        last->size += p->size;
    else if (CHECK(l->count < 1000))
        l->packets[l->count++] = *p;
}

static void read_all(list *l, ipt_pkt_decoder *decoder)
{
    ipt_packet p;
    do {
        l->status = ipt_pkt_next(decoder, &p);
        if (l->status >= 0) append(l, &p);
    } while (l->status >= 0);
}

static void check_lists(const list *got, const list *want, size_t piece)
{
    CHECK_EQ(got->status, want->status);
    if (!CHECK_EQ(got->count, want->count)) return;
    for (size_t i = 0; i < got->count; i++) {
        if (CHECK_EQ(got->packets[i].offset, want->packets[i].offset)
            && CHECK(same(&got->packets[i], &want->packets[i])))
            continue;
        printf("    packet %u, pieces of %u\n", (unsigned) i, (unsigned) piece);
        return;
    }
}

static list whole;
static list cut;

static void read_whole(void)
{
    bench b;
    make_stream();
    memset(&whole, 0, sizeof whole);
    start(&b, stream, stream_size);
    read_all(&whole, &b.decoder);
    CHECK_EQ(whole.status, IPT_END);
    CHECK(whole.count > 2 * GOLDEN);
}

/* Pieces of n bytes; the bytes are moved to heap blocks of exactly that size,
 * so that a sanitizer sees any read past one. */
static ipt_segment *make_pieces(size_t n, size_t *count)
{
    ipt_segment *pieces;
    *count = (stream_size + n - 1) / n;
    pieces = calloc(*count, sizeof *pieces);
    for (size_t i = 0; i < *count; i++) {
        size_t size = stream_size - i * n < n ? stream_size - i * n : n;
        uint8_t *copy = malloc(size);
        memcpy(copy, stream + i * n, size);
        pieces[i].data = copy;
        pieces[i].size = size;
    }
    return pieces;
}

static void free_pieces(ipt_segment *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *) (uintptr_t) pieces[i].data);
    free(pieces);
}

TEST(pieces)
{
    read_whole();
    for (size_t n = 1; n <= 40; n++) {
        size_t count;
        ipt_segment *pieces = make_pieces(n, &count);
        bench b;
        start(&b, NULL, 0);
        b.trace.seg = pieces;
        b.trace.count = (uint32_t) count;
        CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
        CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
        memset(&cut, 0, sizeof cut);
        read_all(&cut, &b.decoder);
        check_lists(&cut, &whole, n);
        free_pieces(pieces, count);
    }
}

/* An open trace to which pieces are appended, and from which pieces below
 * at.release are dropped. */
TEST(pieces_come_and_go)
{
    read_whole();
    for (size_t n = 1; n <= 40; n += n < 20 ? 1 : 7) {
        size_t count;
        size_t first = 0;
        ipt_segment *pieces = make_pieces(n, &count);
        bench b;
        start(&b, NULL, 0);
        memset(&cut, 0, sizeof cut);
        b.trace.open = 1;
        b.trace.seg = pieces;
        for (size_t i = 0; i < count; i++) {
            b.trace.count = (uint32_t) (i + 1 - first);
            read_all(&cut, &b.decoder);
            CHECK_EQ(cut.status, IPT_MORE);
            while (first < i && b.trace.offset + n <= b.decoder.at.release) {
                memset((void *) (uintptr_t) pieces[first].data, 0x05, n);
                first++;
                b.trace.seg = pieces + first;
                b.trace.offset += n;
            }
            b.trace.count = (uint32_t) (i + 1 - first);
        }
        CHECK(n * (count - first) < 40 + n);
        b.trace.open = 0;
        read_all(&cut, &b.decoder);
        check_lists(&cut, &whole, n);
        free_pieces(pieces, count);
    }
}

/* A PSB with more than eight pairs is one packet, however it arrives. */
TEST(long_psb_in_pieces)
{
    for (size_t pairs = 8; pairs < 12; pairs++) {
        uint8_t bytes[64];
        size_t size = 2 * pairs;
        ipt_packet p;
        bench b;
        for (size_t i = 0; i < size; i++) bytes[i] = i % 2 ? 0x82 : 0x02;
        size += unhex(bytes + size, "02 23 06");
        start(&b, bytes, 0);
        b.trace.open = 1;
        memset(&cut, 0, sizeof cut);
        for (size_t n = 1; n <= size; n++) {
            b.piece.size = n;
            read_all(&cut, &b.decoder);
            if (!CHECK_EQ(cut.status, IPT_MORE)) break;
        }
        CHECK_EQ(cut.count, 3);
        CHECK_EQ(cut.packets[0].type, IPT_PKT_PSB);
        CHECK_EQ(cut.packets[1].type, IPT_PKT_PSBEND);
        CHECK_EQ(cut.packets[1].offset, 2 * pairs);
        b.trace.open = 0;
        CHECK_EQ(next(&b, &p), IPT_END);
    }
}

/* ---- the decoder ---- */

TEST(arguments)
{
    uint8_t bytes[16];
    ipt_pkt_decoder blank;
    ipt_packet p;
    bench b;
    start(&b, bytes, unhex(bytes, PSB_BYTES));
    memset(&blank, 0, sizeof blank);
    CHECK_EQ(ipt_pkt_init(NULL, &b.config, &b.trace), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_init(&blank, NULL, &b.trace), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_init(&blank, &b.config, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_next(NULL, &p), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_next(&b.decoder, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_next(&blank, &p), IPT_ERR_STATE);
    b.config.flags = UINT32_MAX;
    CHECK_EQ(ipt_pkt_init(&blank, &b.config, &b.trace), IPT_ERR_CONFIG);
    b.config.flags = 0;
    b.config.errata = UINT32_MAX;
    CHECK_EQ(ipt_pkt_init(&blank, &b.config, &b.trace), IPT_ERR_CONFIG);
    b.config.errata = 0;
    b.trace.seg = NULL;
    CHECK_EQ(ipt_pkt_init(&blank, &b.config, &b.trace), IPT_ERR_ARG);
    b.trace.seg = &b.piece;
    CHECK_EQ(ipt_pkt_init(&blank, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_next(&blank, &p), IPT_ERR_NOSYNC);
}

TEST(where)
{
    uint8_t bytes[64];
    ipt_packet p;
    bench b;
    start(&b, bytes, unhex(bytes, PSB_BYTES "19 34 12 00 00 00 00 00"
                                  "02 03 1c 00  02 23  05"));
    CHECK_EQ(b.decoder.at.packet, IPT_PKT_NONE);
    CHECK_EQ(b.decoder.at.asid.cr3, IPT_ASID_UNKNOWN);
    CHECK_EQ(b.decoder.at.asid.vmcs, IPT_ASID_UNKNOWN);
    while (next(&b, &p) >= 0) { }
    CHECK_EQ(b.decoder.at.error, IPT_ERR_OPCODE);
    CHECK_EQ(b.decoder.at.offset, 30);
    CHECK_EQ(b.decoder.at.packet_offset, 30);
    CHECK_EQ(b.decoder.at.packet, IPT_PKT_NONE);
    CHECK(b.decoder.at.valid & IPT_AT_SYNC);
    CHECK_EQ(b.decoder.at.sync, 0);
    CHECK(b.decoder.at.release <= 30);
    CHECK(b.decoder.at.release >= 15);
}

TEST(clone)
{
    bench b;
    make_stream();
    start(&b, stream, stream_size);
    for (;;) {
        ipt_packet p;
        ipt_packet q;
        ipt_pkt_decoder other;
        int status;
        memcpy(&other, &b.decoder, sizeof other);
        status = next(&b, &p);
        CHECK_EQ(ipt_pkt_next(&other, &q), status);
        CHECK(memcmp(&other, &b.decoder, sizeof other) == 0);
        if (status < 0) break;
        CHECK(same(&q, &p));
    }
}

/* Packets of all kinds, in portions of fuel and pieces: the same packets, and a
 * unit for each 16 bytes. A packet that is longer than the fuel takes the rest
 * of it. */
static void check_fuel(uint64_t portion, size_t piece)
{
    uint64_t units = 0;
    uint64_t given = 0;
    uint64_t passed;
    size_t count;
    ipt_segment *pieces = make_pieces(piece, &count);
    ipt_packet p;
    bench b;

    start(&b, NULL, 0);
    b.trace.seg = pieces;
    b.trace.count = (uint32_t) count;
    b.config.fuel = &units;
    CHECK_EQ(ipt_pkt_init(&b.decoder, &b.config, &b.trace), IPT_OK);
    CHECK_EQ(ipt_pkt_sync_set(&b.decoder, 0), IPT_OK);
    memset(&cut, 0, sizeof cut);
    do {
        cut.status = next(&b, &p);
        if (cut.status >= 0) append(&cut, &p);
        passed = b.decoder.at.offset / 16;
        CHECK(given - units <= passed);
        if (cut.status < 0 && portion == 1000)
            CHECK_EQ(given - units, passed);
        if (portion == 1000) CHECK(passed - (given - units) <= 16); /* owed */
        if (cut.status == IPT_BUDGET) {
            CHECK_EQ(units, 0);
            CHECK_EQ(p.type, 0xee);
            given += units = portion;
        }
    } while (cut.status >= 0 || cut.status == IPT_BUDGET);
    check_lists(&cut, &whole, piece);
    CHECK(given - units >= stream_size / 16 / 2);
    free_pieces(pieces, count);
}

TEST(fuel)
{
    read_whole();
    for (uint64_t portion = 1; portion < 6; portion++)
        for (size_t piece = 1; piece < 40; piece += 3)
            check_fuel(portion, piece);
    for (uint64_t portion = 1; portion < 40; portion++)
        check_fuel(portion, sizeof stream);
    check_fuel(1000, sizeof stream);
}

/* SDM, table of IPBytes: what of the last IP stays, what the payload gives. */
TEST(last_ip)
{
    static const struct {
        uint64_t last;
        uint8_t ipc;
        uint64_t payload, ip;
        int has;
    } rows[] = {
        {0x1122334455667788, 0, 0, 0x1122334455667788, 0},
        {0x1122334455667788, 1, 0xaabb, 0x112233445566aabb, 1},
        {0x1122334455667788, 2, 0xaabbccdd, 0x11223344aabbccdd, 1},
        {0x1122334455667788, 3, 0x7fbbccddeeff, 0x7fbbccddeeff, 1},
        {0x1122334455667788, 3, 0x80bbccddeeff, 0xffff80bbccddeeff, 1},
        {0x1122334455667788, 4, 0x80bbccddeeff, 0x112280bbccddeeff, 1},
        {0x1122334455667788, 6, 0xaabbccddeeff0011, 0xaabbccddeeff0011, 1},
    };
    static const uint8_t types[] = {IPT_PKT_TIP, IPT_PKT_TIP_PGE,
                                    IPT_PKT_TIP_PGD, IPT_PKT_FUP};
    ipt_packet packet = {0};
    uint64_t ip = 5;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < sizeof types; k++) {
            ip = rows[i].last;
            packet.type = types[k];
            packet.u.ip.ipc = rows[i].ipc;
            packet.u.ip.payload = rows[i].payload;
            CHECK_EQ(ipt_pkt_last_ip(&ip, &packet), rows[i].has);
            CHECK_EQ(ip, rows[i].ip);
        }
    }
    for (unsigned type = 0; type < IPT_PKT_COUNT; type++) {
        if (memchr(types, (int) type, sizeof types)) continue;
        memset(&packet.u, 0x66, sizeof packet.u);
        packet.type = (uint8_t) type;
        ip = 5;
        CHECK_EQ(ipt_pkt_last_ip(&ip, &packet), 0);
        CHECK_EQ(ip, type == IPT_PKT_PSB || type == IPT_PKT_OVF ? 0 : 5);
    }
    CHECK_EQ(ipt_pkt_last_ip(NULL, &packet), IPT_ERR_ARG);
    CHECK_EQ(ipt_pkt_last_ip(&ip, NULL), IPT_ERR_ARG);
}

int main(void)
{
    RUN(last_ip);
    RUN(golden_decode);
    RUN(golden_encode);
    RUN(golden_rows_cover_every_type);
    RUN(pwre_hw);
    RUN(round_trip_fields);
    RUN(round_trip_tnt);
    RUN(round_trip_ip);
    RUN(round_trip_sizes);
    RUN(encode_refuses);
    RUN(every_opcode);
    RUN(reserved);
    RUN(every_prefix);
    RUN(V4_every_byte_of_a_psb);
    RUN(V4_pads_before_another);
    RUN(V4_half_a_pair);
    RUN(V4_edges);
    RUN(empty);
    RUN(skd007);
    RUN(skz84);
    RUN(unknown_sizes);
    RUN(unknown_wants_more);
    RUN(unknown_before_a_gap);
    RUN(psb_on_the_way);
    RUN(psb_after_a_gap);
    RUN(unknown_lies);
    RUN(unknown_scribbles);
    RUN(V4_unknown_fills_nothing);
    RUN(unknown_is_for_unknown);
    RUN(block_stays_open);
    RUN(S10_block_with_exstop);
    RUN(block_ends);
    RUN(block_and_psb);
    RUN(block_item_sizes);
    RUN(pad_runs);
    RUN(pad_encode);
    RUN(V3_fields_that_do_not_fit);
    RUN(pieces);
    RUN(pieces_come_and_go);
    RUN(long_psb_in_pieces);
    RUN(arguments);
    RUN(where);
    RUN(clone);
    RUN(fuel);
    return test_report();
}
