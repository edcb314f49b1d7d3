/* random.h: programs and traces at random; the trace is put into decode.h's b. */
#ifndef IPT_RANDOM_H
#define IPT_RANDOM_H
#include "decode.h"
#include "dice.h"

/* Instructions of one to eight bytes, direct branches that stay near. */
static inline size_t random_insn(char *p)
{
    static const char *const texts[]
        = {NOP, NOP, NOP, "\x0f\x1f\x00", "\x48\x89\x04\x24",
           "\x66\x66\x90", JMP_RAX, CALL_RAX, RET, RET, SYSCALL, IRETQ,
           MOV_CR3, VMLAUNCH, INT80, PTWRITE, FAR_JMP, UIRET, VMPTRLD,
           "\x0f\x01\xc9", "\x06"};
    static const uint8_t sizes[] = {1, 1, 1, 3, 4, 3, 2, 2, 1, 1, 2, 2,
                                    3, 3, 2, 5, 2, 4, 3, 3, 1};
    unsigned i = dice(30);
    if (i < 18) {
        i = dice(LENGTH(texts) - (dice(8) != 0));
        memcpy(p, texts[i], sizes[i]);
        return sizes[i];
    }
    if (i < 25) {
        p[0] = (char) (0x70 + dice(16));
        p[1] = (char) (dice(64) - 32);
        return 2;
    }
    if (i < 27) {
        p[0] = '\xeb';
        p[1] = (char) (dice(64) - 24);
        return 2;
    }
    p[0] = '\xe8';
    p[1] = (char) (dice(64));
    p[2] = p[3] = p[4] = 0;
    return 5;
}

static inline uint64_t random_ip(const uint64_t *ips, unsigned count)
{
    return dice(20) ? ips[dice(count)] : 0xffc + dice(280);
}

static inline void random_packet(ipt_packet *p, const uint64_t *ips, unsigned count)
{
    static const ipt_packet some[]
        = {FUP(0), TIP(0), PGE(0), PGD(0), PGD0, PIP(0x8000, 0), VMCS(0x9000),
           EXEC64, EXEC32, EXEC(1, 1, 0), TSX(1, 0), TSX(0, 1), TSX(0, 0), OVF,
           PTW(0, 0, 5), PTW(1, 1, 6), EXSTOP(0), EXSTOP(1), MWAIT(1, 2),
           PWRE(1, 2, 0), PWRX(3, 4, 0, 0, 0), CFE(INTR, 0, 3), CFE(IRET, 0, 0),
           CFE(SYSCALL, 0, 0), CFE(SYSCALL, 1, 0), CFE(SWINTR, 1, 3),
           CFE(VMENTRY, 0, 0), CFE(VMENTRY, 1, 0), CFE(UIRET, 0, 0),
           CFE(SMI, 0, 0), EVD(0, 1), TRIG(1, 0, 1, 3, 0), TRIG(1, 1, 1, 0, 0),
           TRIG(1, 0, 0, 0, 0), CBR(7), MNT(8), STOP, PSBEND, PADS(3), MTC(1),
           TSC(5), CYC(7), BBP(1, 0), BEP(1), BEP(0), TIP0};
    unsigned i = dice(100);
    if (i < 45) {
        static const ipt_packet tnt = TNT(1, 0);
        *p = tnt;
        p->u.tnt.count = (uint8_t) (1 + dice(6));
        p->u.tnt.bits = dice(1u << p->u.tnt.count);
        return;
    }
    *p = some[i < 65 ? 1 : dice(LENGTH(some))];
    if (p->type >= IPT_PKT_TIP && p->type <= IPT_PKT_FUP && p->u.ip.ipc)
        p->u.ip.payload = random_ip(ips, count);
}

/* A program at 1000 and a trace that may well fit it for a while. */
static inline void random_trace(chunk *code, char *bytes)
{
    static const ipt_packet on[] = {ON, PSB, EXEC64, FUP(0), PSBEND};
    uint64_t ips[256];
    unsigned count = 0;
    size_t size = 0;
    memset(code, 0, CODES_MAX * sizeof *code);
    while (size < 250) {
        ips[count++] = 0x1000 + size;
        size += random_insn(bytes + size);
    }
    code[0].ip = 0x1000;
    code[0].bytes = bytes;
    code[0].size = size;
    if (dice(4) == 0) { /* a hole, or two mappings */
        code[1].ip = 0x1000 + 150 + dice(2);
        code[1].bytes = bytes + 150 + (code[1].ip - 0x1000 - 150);
        code[1].size = size - (size_t) (code[1].ip - 0x1000);
        code[0].size = 150;
    }
    memset(&b, 0, sizeof b);
    for (unsigned i = 0; i < 4; i++) build_put(&b, &on[i]);
    for (unsigned n = 2 + dice(40); n && b.size < 900; n--) {
        ipt_packet p;
        if (dice(25) == 0) {
            for (unsigned i = 4; i < 8; i++) {
                p = on[i];
                if (i == 6) p.u.ip.payload = random_ip(ips, count);
                if (i != 6 || dice(3)) build_put(&b, &p);
            }
        } else {
            random_packet(&p, ips, count);
            build_put(&b, &p);
        }
    }
    if (dice(4) == 0) b.bytes[16 + dice((unsigned) b.size - 16)] ^= 1;
}
/* A quarter of them in make test. TEST_SEED and TEST_COUNT in the environment
 * pick others. */
static inline void many(uint64_t count, int (*check)(uint64_t))
{
    const char *first = getenv("TEST_SEED");
    const char *how_many = getenv("TEST_COUNT");
    uint64_t from = first ? strtoull(first, NULL, 0) : 0;
    if (!test_full()) count /= 4;
    if (how_many) count = strtoull(how_many, NULL, 0);
    for (uint64_t i = from; i < from + count && test_.bad < 20; i++) check(i);
}

#endif /* IPT_RANDOM_H */
