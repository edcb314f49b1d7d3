/* flow.h: small programs, their traces, and what was executed. insn.c and blk.c
 * run the same table. All of it was worked out by hand. */
#ifndef IPT_FLOW_H
#define IPT_FLOW_H
#include "build.h"

/* ---- programs ---- */

#define CODES_MAX 5

/* ---- what is expected: instructions and events, in order ---- */

typedef struct step {
    uint8_t what; /* INSN_STEP, EVENT_STEP; 0 ends the list */
    uint8_t type; /* IPT_EVT_ */
    uint16_t flags;
    uint64_t ip;
    uint64_t a;
} step;

enum { INSN_STEP = 1, EVENT_STEP, RESYNC_STEP };

#define I(ip) {INSN_STEP, 0, 0, ip, 0}
#define IF(ip, flags) {INSN_STEP, 0, flags, ip, 0}
#define E(t, f, ip) {EVENT_STEP, IPT_EVT_##t, f, ip, 0}
#define EA(t, f, ip, a) {EVENT_STEP, IPT_EVT_##t, f, ip, a}

#define NOIP IPT_EVENT_NO_IP
#define NOTO IPT_EVENT_NO_TO
#define ST IPT_EVENT_STATUS
#define SEAM (ST | IPT_EVENT_SEAM)
#define BACK IPT_EVENT_RESUMED
#define INF 0x100u /* with a CFE's type: inferred */

#define SPECULATIVE IPT_FLOW_SPECULATIVE
#define ENABLED IPT_FLOW_ENABLED
#define RESUMED IPT_FLOW_RESUMED
#define RESYNCED IPT_FLOW_RESYNCED
#define ASID IPT_FLOW_ASID
#define DISABLED IPT_FLOW_DISABLED
#define INTERRUPTED IPT_FLOW_INTERRUPTED
#define ABORTED IPT_FLOW_ABORTED
#define COMMITTED IPT_FLOW_COMMITTED
#define STOPPED IPT_FLOW_STOPPED
#define TRUNCATED IPT_FLOW_TRUNCATED

#define PACKETS_MAX 20
#define STEPS_MAX 32

typedef struct row {
    const char *name;
    chunk code[CODES_MAX];
    ipt_packet trace[PACKETS_MAX];
    step steps[STEPS_MAX];
    int status;     /* at the end; 0: IPT_END */
    uint64_t ip;    /* at.ip of an error, if not 0 */
    uint32_t flags; /* config.flags */
} row;

/* Tracing is enabled at 1000 in 64-bit mode. */
#define S_ON E(ENABLED, SEAM, 0x1000), EA(EXEC_MODE, ST, 0x1000, IPT_MODE_64)
#define ON32 PSB, EXEC32, FUP(0x1000), PSBEND
#define S_ON32 E(ENABLED, SEAM, 0x1000), EA(EXEC_MODE, ST, 0x1000, IPT_MODE_32)
#define S_ON16(ip) \
    E(ENABLED, SEAM, ip), EA(EXEC_MODE, ST, ip, IPT_MODE_16)
#define OFF PSB, EXEC64, PSBEND
#define S_OFF                                                               \
    E(DISABLED, SEAM | NOIP | NOTO, 0), EA(EXEC_MODE, ST | NOIP, 0, IPT_MODE_64)

/* Code by name. */
#define NOP "\x90"
#define JCC(rel) "\x75" rel /* jne */
#define JCC0 "\x75\x00"     /* to the next instruction */
#define JMP(rel) "\xeb" rel
#define JMP16(rel) "\xe9" rel
#define CALL16(rel) "\xe8" rel
#define CALL(rel) "\xe8" rel "\x00\x00\x00" /* five bytes */
#define CALL_NEXT CALL("\x00")
#define RET "\xc3"
#define JMP_RAX "\xff\xe0"
#define CALL_RAX "\xff\xd0"
#define FAR_JMP "\xff\x28"
#define FAR_CALL "\xff\x18"
#define SYSCALL "\x0f\x05"
#define IRETQ "\x48\xcf"
#define INT80 "\xcd\x80"
#define MOV_CR3 "\x0f\x22\xd8"  /* from rax */
#define VMPTRLD "\x0f\xc7\x30"  /* [rax] */
#define VMLAUNCH "\x0f\x01\xc2"
#define UIRET "\xf3\x0f\x01\xec"
#define NOPS(n) NOPS_##n
#define NOPS_8 NOP NOP NOP NOP NOP NOP NOP NOP
#define NOPS_16 NOPS_8 NOPS_8
#define NOPS_64 NOPS_16 NOPS_16 NOPS_16 NOPS_16
#define PTWRITE "\xf3\x48\x0f\xae\xe0" /* rax */
#define PTWRITE4 "\xf3\x0f\xae\xe0"     /* eax */
#define INTO "\xce"
#define XBEGIN "\xc7\xf8\x00\x01\x00\x00"
#define XEND "\x0f\x01\xd5"

static const row branch_rows[] = {
    {ROW "straight to a jcc", {CODE(0x1000, NOP NOP JCC0 NOP)}, {ON, TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), I(0x1002)}, 0, 0, 0},
    {ROW "jcc both ways",
     {CODE(0x1000, NOP JCC("\x02") NOP NOP JCC("\xf9") NOP)},
     {ON, TNT(4, 6)}, /* not, taken, taken, not */
     {S_ON, I(0x1000), I(0x1001), I(0x1003), I(0x1004), I(0x1005), I(0x1000),
      I(0x1001), I(0x1005)}, 0, 0, 0},
    {ROW "a loop that begins with a jmp",
     {CODE(0x1000, JMP("\x00") JCC("\xfc"))},
     {ON, TNT(3, 7)},
     {S_ON, I(0x1000), I(0x1002), I(0x1000), I(0x1002), I(0x1000), I(0x1002)},
     0, 0, 0},
    {ROW "an event after a loop",
     {CODE(0x1000, NOP JCC("\xfd") NOP NOP JMP_RAX)},
     {ON, TNT(3, 6), TSX(1, 0), FUP(0x1004), TIP(0x9000)},
     {S_ON, I(0x1000), I(0x1001), I(0x1000), I(0x1001), I(0x1000), I(0x1001),
      I(0x1003), EA(TSX, 0, 0x1004, 2), IF(0x1004, SPECULATIVE),
      IF(0x1005, SPECULATIVE)}, 0, 0, 0},
    {ROW "jcc rel32", {CODE(0x1000, "\x0f\x85\xfa\x0f\x00\x00"),
                   CODE(0x2000, JCC0)},
     {ON, TNT(2, 3)}, {S_ON, I(0x1000), I(0x2000)}, 0, 0, 0},
    {ROW "jmp and call, compressed ret",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, JMP("\x02")),
      CODE(0x1014, RET)},
     {ON, TNT(2, 2)}, {S_ON, I(0x1000), I(0x1010), I(0x1014), I(0x1005)}, 0, 0,
     0},
    {ROW "uncompressed ret",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, RET)},
     {ON, TIP(0x1005), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1010), I(0x1005)}, 0, 0, 0},
    {ROW "ret imm16", {CODE(0x1000, CALL("\x0b") JCC0),
                   CODE(0x1010, "\xc2\x08\x00")},
     {ON, TNT(2, 2)}, {S_ON, I(0x1000), I(0x1010), I(0x1005)}, 0, 0, 0},
    {ROW "indirect", {CODE(0x1000, NOP JMP_RAX), CODE(0x2000, CALL_RAX JCC0),
                  CODE(0x3000, RET)},
     {ON, TIP(0x2000), TIP(0x3000), TNT(2, 2)},
     {S_ON, I(0x1000), I(0x1001), I(0x2000), I(0x3000), I(0x2002)}, 0, 0, 0},
    {ROW "indirect through memory",
     {CODE(0x1000, "\xff\x25\x00\x00\x00\x00"),
      CODE(0x2000, "\xff\x14\x25\x00\x00\x00\x00" JCC0), CODE(0x3000, RET)},
     {ON, TIP(0x2000), TIP(0x3000), TNT(2, 3)},
     {S_ON, I(0x1000), I(0x2000), I(0x3000), I(0x2007)}, 0, 0, 0},
    {ROW "call next pushes nothing",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, CALL_NEXT "\x58" RET)},
     {ON, TNT(2, 3)},
     {S_ON, I(0x1000), I(0x1010), I(0x1015), I(0x1016), I(0x1005)}, 0, 0, 0},
    {ROW "an indirect call to the next one pushes",
     {CODE(0x1000, CALL_RAX RET JCC0)},
     {ON, TIP(0x1002), TNT(1, 1), TIP(0x1003), TNT(1, 0)},
     /* to itself, after the call; then with an empty stack */
     {S_ON, I(0x1000), I(0x1002), I(0x1002), I(0x1003)}, 0, 0, 0},
    {ROW "retpoline", /* its ret goes elsewhere, but pops the call before it */
     {CODE(0x1000, CALL("\x1b") JCC0),
      CODE(0x1020, CALL("\x02") JMP("\xfe") "\x48\x89\x04\x24" RET),
      CODE(0x1040, NOP RET)},
     {ON, TIP(0x1040), TNT(2, 2)},
     {S_ON, I(0x1000), I(0x1020), I(0x1027), I(0x102b), I(0x1040), I(0x1041),
      I(0x1005)}, 0, 0, 0},
    {ROW "longjmp", /* two frames remain; later returns pop them */
     {CODE(0x1000, CALL("\x0b") CALL("\x36") RET), CODE(0x1010, CALL("\x0b")),
      CODE(0x1020, JMP_RAX), CODE(0x1040, RET)},
     {ON, TIP(0x1005), TNT(1, 1), TIP(0x2000)},
     {S_ON, I(0x1000), I(0x1010), I(0x1020), I(0x1005), I(0x1040), I(0x100a)},
     0, 0, 0},
    {ROW "a ret that pops a frame that remained",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, CALL("\x0b")),
      CODE(0x1020, JMP_RAX), CODE(0x1030, RET), CODE(0x1040, RET)},
     /* 1030 returns to 1040 as the stack's top says 1015; then 1005 is left */
     {ON, TIP(0x1030), TIP(0x1040), TNT(2, 2)},
     {S_ON, I(0x1000), I(0x1010), I(0x1020), I(0x1030), I(0x1040), I(0x1005)},
     0, 0, 0},
    {ROW "psb empties the stack",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, JCC0 RET)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1012), PSBEND, TNT(1, 1)},
     {S_ON, I(0x1000), I(0x1010), E(ENABLED, SEAM, 0x1012),
      EA(EXEC_MODE, ST, 0x1012, IPT_MODE_64)}, IPT_ERR_RETURN, 0x1012, 0},
    {ROW "and a ret after it is not compressed",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, JCC0 RET)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1012), PSBEND, TIP(0x1005), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1010), E(ENABLED, SEAM, 0x1012),
      EA(EXEC_MODE, ST, 0x1012, IPT_MODE_64), I(0x1012), I(0x1005)}, 0, 0, 0},
    {ROW "no return compression",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, JCC0 RET)},
     {ON, TNT(2, 1), TIP(0x1005)},
     {S_ON, I(0x1000), I(0x1010), I(0x1012), I(0x1005)}, 0, 0,
     IPT_CONFIG_NO_RETCOMP},
    {ROW "a ret with bits in flight is compressed",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, JCC0 RET)},
     {ON, TNT(3, 2)}, {S_ON, I(0x1000), I(0x1010), I(0x1012), I(0x1005)}, 0, 0,
     0},
    {ROW "jrcxz and loop", {CODE(0x1000, "\xe3\x02" "\xe2\xfc" JCC0)},
     {ON, TNT(4, 5)}, /* jrcxz not, loop taken, jrcxz not, loop taken */
     {S_ON, I(0x1000), I(0x1002), I(0x1000), I(0x1002)}, 0, 0, 0},
    {ROW "jmpabs", {CODE(0x1000, "\xd5\x00\xa1\x00\x20\0\0\0\0\0\0"),
                CODE(0x2000, JCC0)},
     {ON, TIP(0x2000), TNT(1, 0)}, {S_ON, I(0x1000), I(0x2000)}, 0, 0, 0},
    {ROW "deferred tips",
     {CODE(0x1000, JCC0 JMP_RAX), CODE(0x1010, JCC0 CALL_RAX NOP JCC0),
      CODE(0x1020, JCC0 RET)},
     {ON, TNT(5, 5), TIP(0x1010), TIP(0x1020)},
     /* bits: 1000 n, 1010 n, 1020 t, ret n?: the ret's bit is the fourth */
     {S_ON, I(0x1000), I(0x1002), I(0x1010), I(0x1012), I(0x1020)},
     IPT_ERR_RETCOMP, 0x1022, 0},
    {ROW "deferred tips, and a ret",
     {CODE(0x1000, JCC0 JMP_RAX), CODE(0x1010, JCC0 CALL_RAX NOP JCC0),
      CODE(0x1020, JCC0 RET)},
     {ON, TNT(5, 6), TIP(0x1010), TIP(0x1020)},
     {S_ON, I(0x1000), I(0x1002), I(0x1010), I(0x1012), I(0x1020), I(0x1022),
      I(0x1014), I(0x1015)}, 0, 0, 0},
    {ROW "deferred tip with time between",
     {CODE(0x1000, JCC0 JMP_RAX), CODE(0x1010, JCC0)},
     {ON, TNT(2, 0), MTC(1), PADS(3), TIP(0x1010)},
     {S_ON, I(0x1000), I(0x1002), I(0x1010)}, 0, 0, 0},
    {ROW "no tip after the bits", {CODE(0x1000, JCC0 JMP_RAX)},
     {ON, TNT(2, 0), TNT(1, 0)}, {S_ON, I(0x1000)}, IPT_ERR_MISMATCH, 0x1002,
     0},
    {ROW "an interrupt after the bits", {CODE(0x1000, JCC0 JMP_RAX)},
     {ON, TNT(2, 0), FUP(0x1010), TIP(0x2000)}, {S_ON, I(0x1000)},
     IPT_ERR_MISMATCH, 0x1002, 0},
    {ROW "the end after the bits",
     {CODE(0x1000, JCC0 JMP_RAX)}, {ON, TNT(2, 0)},
     {S_ON, I(0x1000)}, 0, 0, 0},
    {ROW "bits are left at the end", {CODE(0x1000, NOP JCC0 NOP NOP)},
     {ON, TNT(1, 0)}, {S_ON, I(0x1000), I(0x1001)}, 0, 0, 0},
    {ROW "nothing but psb+", {CODE(0x1000, NOP)}, {ON}, {S_ON}, 0, 0, 0},
    {ROW "psb+ in a straight run",
     {CODE(0x1000, JCC0 NOP NOP JCC0)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1002), PSBEND, TNT(1, 0)},
     {S_ON, I(0x1000), E(ENABLED, SEAM, 0x1002),
      EA(EXEC_MODE, ST, 0x1002, IPT_MODE_64), I(0x1002), I(0x1003), I(0x1004)},
     0, 0, 0},
};

static const row event_rows[] = {
    /* asynchronous branches */
    {ROW "interrupt",
     {CODE(0x1000, NOP NOP NOP NOP NOP), CODE(0x2000, NOP JCC0)},
     {ON, FUP(0x1003), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), IF(0x1002, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0x1003, 0x2000), I(0x2000), I(0x2001)}, 0, 0, 0},
    {ROW "interrupt at once", {CODE(0x1000, NOP), CODE(0x2000, JCC0)},
     {ON, FUP(0x1000), TIP(0x2000), TNT(1, 0)},
     {S_ON, EA(ASYNC_BRANCH, 0, 0x1000, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "interrupt before a jcc",
     {CODE(0x1000, NOP JCC0), CODE(0x2000, IRETQ)},
     {ON, FUP(0x1001), TIP(0x2000), TIP(0x1001), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      I(0x2000), I(0x1001)}, 0, 0, 0},
    {ROW "interrupt after a jcc", {CODE(0x1000, JCC0 NOP), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), FUP(0x1002), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1002, 0x2000),
      I(0x2000)}, 0, 0, 0},
    {ROW "interrupt after a jmp", {CODE(0x1000, JMP("\x10")), CODE(0x1012, NOP),
                                CODE(0x2000, JCC0)},
     {ON, FUP(0x1012), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1012, 0x2000),
      I(0x2000)}, 0, 0, 0},
    {ROW "interrupt in an endless loop", /* at its first arrival */
     {CODE(0x1000, NOP NOP JMP("\xfc")), CODE(0x2000, JCC0)},
     {ON, FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      I(0x2000)}, 0, 0, 0},
    {ROW "interrupt of jmp $",
     {CODE(0x1000, NOP JMP("\xfe")), CODE(0x2000, JCC0)},
     {ON, FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      I(0x2000)}, 0, 0, 0},
    {ROW "interrupt at the far end of a loop",
     {CODE(0x1000, NOP NOP JMP("\xfc")), CODE(0x2000, JCC0)},
     {ON, FUP(0x1002), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0x1002, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "two at one place",
     {CODE(0x1000, NOP NOP), CODE(0x2000, NOP), CODE(0x3000, JCC0)},
     {ON, FUP(0x1001), TIP(0x2000), FUP(0x2000), TIP(0x3000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      EA(ASYNC_BRANCH, 0, 0x2000, 0x3000), I(0x3000)}, 0, 0, 0},
    {ROW "six at one place",
     {CODE(0x1000, NOP NOP), CODE(0x2000, NOP), CODE(0x3000, JCC0)},
     {ON, FUP(0x1001), TIP(0x2000), FUP(0x2000), TIP(0x3000), FUP(0x3000),
      TIP(0x2000), FUP(0x2000), TIP(0x3000), CBR(5), MNT(6), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      EA(ASYNC_BRANCH, 0, 0x2000, 0x3000), EA(ASYNC_BRANCH, 0, 0x3000, 0x2000),
      EA(ASYNC_BRANCH, 0, 0x2000, 0x3000), EA(CBR, NOIP, 0, 5),
      EA(MNT, NOIP, 0, 6), I(0x3000)}, 0, 0, 0},
    {ROW "interrupt without a target", {CODE(0x1000, NOP NOP)},
     {ON, FUP(0x1001), TIP0}, {S_ON, I(0x1000)}, IPT_ERR_NO_IP, 0x1001, 0},
    {ROW "async mode and address space",
     {CODE(0x1000, NOP NOP), CODE(0x2000, "\x40" JCC0)},
     {ON, FUP(0x1001), PIP(0x5000, 1), VMCS(0x6000), EXEC32, TIP(0x2000),
      TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      EA(ASYNC_VMCS, 0, 0x2000, 0x6000), EA(ASYNC_PAGING, 0, 0x2000, 0x5000),
      EA(EXEC_MODE, 0, 0x2000, IPT_MODE_32), IF(0x2000, ASID), I(0x2001)}, 0,
     0, 0},
    /* tracing disabled and enabled */
    {ROW "syscall, and back", {CODE(0x1000, NOP SYSCALL NOP JCC0)},
     {ON, PGD0, PGE(0x1003), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, BACK, 0x1003), IF(0x1003, ENABLED | RESUMED), I(0x1004)}, 0,
     0, 0},
    {ROW "syscall, and elsewhere",
     {CODE(0x1000, NOP SYSCALL NOP), CODE(0x2000, JCC0)},
     {ON, PGD(0xffffffff81000000), PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED),
      EA(DISABLED, NOIP, 0, 0xffffffff81000000), E(ENABLED, 0, 0x2000),
      IF(0x2000, ENABLED)}, 0, 0, 0},
    {ROW "indirect call, and back", {CODE(0x1000, CALL_RAX JCC0)},
     {ON, PGD(0x8000), PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), EA(DISABLED, NOIP, 0, 0x8000),
      E(ENABLED, BACK, 0x1002), IF(0x1002, ENABLED | RESUMED)}, 0, 0, 0},
    {ROW "far call, and back", {CODE(0x1000, FAR_CALL JCC0)},
     {ON, PGD0, PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, BACK, 0x1002), IF(0x1002, ENABLED | RESUMED)}, 0, 0, 0},
    {ROW "indirect jmp: where it comes back is not known",
     {CODE(0x1000, JMP_RAX JCC0)}, {ON, PGD0, PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, 0, 0x1002), IF(0x1002, ENABLED)}, 0, 0, 0},
    {ROW "ret", {CODE(0x1000, CALL("\x0b")), CODE(0x1010, RET),
             CODE(0x2000, JCC0)},
     {ON, PGD(0x8000), PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1010, DISABLED), EA(DISABLED, NOIP, 0, 0x8000),
      E(ENABLED, 0, 0x2000), IF(0x2000, ENABLED)}, 0, 0, 0},
    {ROW "ret out of the filter, four times",
     {CODE(0x1000, CALL("\x0b")), CODE(0x1010, JMP_RAX), CODE(0x2000, RET)},
     {ON, TIP(0x2000), PGD(0x8000), PGE(0x1000), TIP(0x2000), PGD(0x8000),
      PGE(0x1000), TIP(0x2000), PGD(0x8000), PGE(0x1000), TIP(0x2000),
      PGD(0x8000)},
     {S_ON, I(0x1000), I(0x1010), IF(0x2000, DISABLED),
      EA(DISABLED, NOIP, 0, 0x8000), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED), I(0x1010), IF(0x2000, DISABLED),
      EA(DISABLED, NOIP, 0, 0x8000), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED), I(0x1010), IF(0x2000, DISABLED),
      EA(DISABLED, NOIP, 0, 0x8000), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED), I(0x1010), IF(0x2000, DISABLED),
      EA(DISABLED, NOIP, 0, 0x8000)}, 0, 0, 0},
    {ROW "jcc out of the filter", {CODE(0x1000, NOP JCC("\x7f")),
                               CODE(0x2000, JCC0)},
     {ON, PGD(0x1082), PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(DISABLED, NOIP, 0, 0x1082),
      E(ENABLED, 0, 0x2000), IF(0x2000, ENABLED)}, 0, 0, 0},
    {ROW "jmp out of the filter", {CODE(0x1000, NOP JMP("\x7f")),
                               CODE(0x2000, JCC0)},
     {ON, PGD(0x1082), PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(DISABLED, NOIP, 0, 0x1082),
      E(ENABLED, 0, 0x2000), IF(0x2000, ENABLED)}, 0, 0, 0},
    {ROW "call out of the filter", {CODE(0x1000, NOP CALL("\x7f") JCC0)},
     {ON, PGD(0x1085), PGE(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(DISABLED, NOIP, 0, 0x1085),
      E(ENABLED, 0, 0x1006), IF(0x1006, ENABLED)}, 0, 0, 0},
    {ROW "straight out of the filter, and back",
     {CODE(0x1000, NOP NOP NOP JCC0)},
     {ON, PGD(0x1002), PGE(0x1002), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(DISABLED, NOIP, 0, 0x1002),
      E(ENABLED, BACK, 0x1002), IF(0x1002, ENABLED | RESUMED), I(0x1003)}, 0,
     0, 0},
    {ROW "a mov cr3 long before does not", /* more events than settle with it */
     {CODE(0x1000, MOV_CR3 JMP("\x7b")), CODE(0x2000, JCC0)},
     {ON, PIP(0x5000, 0), EXSTOP(1), FUP(0x1003), EXSTOP(1), FUP(0x1003),
      EXSTOP(1), FUP(0x1003), PGD0, PGE(0x2000), TNT(1, 0), PADS(64)},
     {S_ON, I(0x1000), EA(PAGING, NOIP, 0, 0x5000), E(EXSTOP, 0, 0x1003),
      E(EXSTOP, 0, 0x1003), E(EXSTOP, 0, 0x1003), IF(0x1003, ASID)},
     IPT_NEED_PAGE, 0x1080, 0},
    {ROW "mov cr3 disables", {CODE(0x1000, NOP MOV_CR3 NOP JCC0)},
     {ON, PGD0, PGE(0x1004), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, 0, 0x1004), IF(0x1004, ENABLED), I(0x1005)}, 0, 0, 0},
    {ROW "async disable, and back", {CODE(0x1000, NOP NOP NOP JCC0)},
     {ON, FUP(0x1002), PGD(0x9000), PGE(0x1002), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED),
      EA(ASYNC_DISABLED, 0, 0x1002, 0x9000), E(ENABLED, BACK, 0x1002),
      IF(0x1002, ENABLED | RESUMED), I(0x1003)}, 0, 0, 0},
    {ROW "async disable, and elsewhere",
     {CODE(0x1000, NOP NOP), CODE(0x2000, JCC0)},
     {ON, FUP(0x1001), PGD0, PGE(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(ASYNC_DISABLED, NOTO, 0x1001),
      E(ENABLED, 0, 0x2000), IF(0x2000, ENABLED)}, 0, 0, 0},
    {ROW "begins disabled", {CODE(0x1000, NOP JCC0)},
     {OFF, PGE(0x1000), TNT(1, 0)},
     {S_OFF, E(ENABLED, 0, 0x1000), IF(0x1000, ENABLED), I(0x1001)}, 0, 0, 0},
    {ROW "enabled at the end", {CODE(0x1000, NOP)}, {OFF, PGE(0x1000)},
     {S_OFF, E(ENABLED, 0, 0x1000)}, 0, 0, 0},
    {ROW "bdm70", {CODE(0x1000, NOP JCC0)}, {ON, PGE(0x1000), TNT(1, 0)},
     {E(DISABLED, SEAM | NOIP | NOTO, 0),
      EA(EXEC_MODE, ST | NOIP, 0, IPT_MODE_64), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED), I(0x1001)}, 0, 0, 0},
    {ROW "disabled twice", {CODE(0x1000, SYSCALL SYSCALL JCC0)},
     {ON, PGD0, PGE(0x1002), PGD0, PGE(0x1004), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, BACK, 0x1002), IF(0x1002, ENABLED | RESUMED | DISABLED),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, BACK, 0x1004),
      IF(0x1004, ENABLED | RESUMED)}, 0, 0, 0},
    {ROW "trace stop", {CODE(0x1000, NOP JMP_RAX)}, {ON, PGD(0x8000), STOP},
     {S_ON, I(0x1000), IF(0x1001, DISABLED),
      EA(DISABLED, NOIP, 0, 0x8000), E(STOP, NOIP, 0)}, 0, 0, 0},
    {ROW "trace stop, and on again", {CODE(0x1000, NOP JMP_RAX JCC0)},
     {ON, PGD(0x8000), STOP, PGE(0x1003), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(DISABLED, NOIP, 0, 0x8000),
      E(STOP, NOIP, 0), E(ENABLED, 0, 0x1003), IF(0x1003, ENABLED | STOPPED)},
     0, 0, 0},
    {ROW "trace stop while on", {CODE(0x1000, NOP JCC0)},
     {ON, TNT(1, 0), STOP}, {S_ON, I(0x1000), I(0x1001)}, IPT_ERR_CONTEXT, 0,
     0},
    {ROW "enabled while on", {CODE(0x1000, JCC0 NOP NOP NOP JCC0)},
     {ON, TNT(1, 0), PGE(0x3000)}, {S_ON, I(0x1000)}, IPT_ERR_CONTEXT, 0, 0},
    {ROW "tnt while off", {CODE(0x1000, SYSCALL JCC0)}, {ON, PGD0, TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0)},
     IPT_ERR_CONTEXT, 0, 0},
    {ROW "psb+ says on while off", {CODE(0x1000, SYSCALL JCC0)},
     {ON, PGD0, PSB, FUP(0x1002), PSBEND, TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0)},
     IPT_ERR_STATUS, 0, 0},
    {ROW "psb+ says off while on", {CODE(0x1000, JCC0 JCC0)},
     {ON, TNT(1, 0), PSB, PSBEND, TNT(1, 0)}, {S_ON, I(0x1000)},
     IPT_ERR_STATUS, 0, 0},
    {ROW "psb+ says another mode", {CODE(0x1000, JCC0 JCC0)},
     {ON, TNT(1, 0), PSB, EXEC32, FUP(0x1002), PSBEND, TNT(1, 0)},
     {S_ON, I(0x1000)}, IPT_ERR_STATUS, 0, 0},
    {ROW "psb+ while off", {CODE(0x1000, SYSCALL JCC0)},
     {ON, PGD0, PSB, PSBEND, PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(DISABLED, SEAM | NOIP | NOTO, 0), E(ENABLED, BACK, 0x1002),
      IF(0x1002, ENABLED | RESUMED)}, 0, 0, 0},
    /* overflow */
    {ROW "overflow", {CODE(0x1000, JCC0 NOP NOP), CODE(0x2000, NOP JCC0)},
     {ON, TNT(1, 0), OVF, FUP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), E(OVERFLOW, 0, 0x2000), IF(0x2000, RESYNCED),
      I(0x2001)}, 0, 0, 0},
    {ROW "overflow at once", {CODE(0x2000, JCC0)},
     {ON, OVF, FUP(0x2000), TNT(1, 0)},
     {S_ON, E(OVERFLOW, 0, 0x2000), IF(0x2000, RESYNCED)}, 0, 0, 0},
    {ROW "overflow, then enabled", {CODE(0x1000, JCC0), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), OVF, PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), E(OVERFLOW, NOIP, 0), E(ENABLED, 0, 0x2000),
      IF(0x2000, RESYNCED | ENABLED)}, 0, 0, 0},
    {ROW "overflow forgets where to resume", {CODE(0x1000, SYSCALL JCC0)},
     {ON, PGD0, OVF, PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(OVERFLOW, NOIP, 0), E(ENABLED, 0, 0x1002),
      IF(0x1002, RESYNCED | ENABLED)}, 0, 0, 0},
    {ROW "a return to a call of before an overflow",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, JCC0 NOP NOP RET)},
     {ON, TNT(1, 0), OVF, FUP(0x1013), TNT(2, 2)},
     {S_ON, I(0x1000), I(0x1010), E(OVERFLOW, 0, 0x1013),
      IF(0x1013, RESYNCED), I(0x1014)}, IPT_ERR_RETURN_LOST, 0x1014, 0},
    {ROW "... by a bit, where there should be none",
     {CODE(0x1010, NOP RET)}, {ON, OVF, FUP(0x1010), TNT(1, 1)},
     {S_ON, E(OVERFLOW, 0, 0x1010), IF(0x1010, RESYNCED), I(0x1011)},
     IPT_ERR_RETURN_LOST, 0x1011, IPT_CONFIG_NO_TNT},
    {ROW "a return without a bit, where there are none",
     {CODE(0x1010, NOP RET)}, {ON, OVF, FUP(0x1010), TIP(0x2000)},
     {S_ON, E(OVERFLOW, 0, 0x1010), IF(0x1010, RESYNCED), I(0x1011)},
     IPT_ERR_NO_TNT, 0x1011, IPT_CONFIG_NO_TNT},
    {ROW "... which the caller wants to be gone to, and to one of before trace",
     {CODE(0x1000, CALL("\x0b") RET), CODE(0x1010, JCC0 NOP NOP RET)},
     {ON, TNT(1, 0), OVF, FUP(0x1013), TNT(3, 7)},
     {S_ON, I(0x1000), I(0x1010), E(OVERFLOW, 0, 0x1013),
      IF(0x1013, RESYNCED), I(0x1014), I(0x1005)}, IPT_ERR_RETURN_LOST, 0x1005,
     IPT_CONFIG_KEEP_CALLS},
    {ROW "... which a PSB+ makes void all the same",
     {CODE(0x1000, CALL("\x0b") RET), CODE(0x1010, JCC0 NOP NOP RET)},
     {ON, TNT(1, 0), OVF, FUP(0x1013), PSB, EXEC64, FUP(0x1013), PSBEND,
      TNT(2, 3)},
     {S_ON, I(0x1000), I(0x1010), E(OVERFLOW, 0, 0x1013),
      E(ENABLED, SEAM, 0x1013), EA(EXEC_MODE, ST, 0x1013, IPT_MODE_64),
      IF(0x1013, RESYNCED)}, IPT_ERR_RETURN, 0x1014, IPT_CONFIG_KEEP_CALLS},
    {ROW "... which a RET with a TIP takes off, and a later call is used",
     {CODE(0x1000, NOP CALL("\x0a") JCC0), CODE(0x1010, RET)},
     {ON, OVF, FUP(0x1010), TIP(0x1000), TNT(2, 2)},
     {S_ON, E(OVERFLOW, 0, 0x1010), IF(0x1010, RESYNCED), I(0x1000),
      I(0x1001), I(0x1010), I(0x1006)}, 0, 0, 0},
    {ROW "overflow ends a transaction",
     {CODE(0x1000, JCC0), CODE(0x2000, JCC0)},
     {PSB, EXEC64, TSX(1, 0), FUP(0x1000), PSBEND, TNT(1, 0), OVF, FUP(0x2000),
      TNT(1, 0)},
     {S_ON, EA(TSX, ST, 0x1000, 2), IF(0x1000, SPECULATIVE),
      E(OVERFLOW, 0, 0x2000), IF(0x2000, RESYNCED)}, 0, 0, 0},
    {ROW "overflow at the end", {CODE(0x1000, JCC0)}, {ON, TNT(1, 0), OVF},
     {S_ON, I(0x1000), E(OVERFLOW, NOIP, 0)}, 0, 0, 0},
    {ROW "cbr between overflow and fup",
     {CODE(0x1000, JCC0), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), OVF, CBR(7), FUP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(CBR, NOIP, 0, 7), E(OVERFLOW, 0, 0x2000),
      IF(0x2000, RESYNCED)}, 0, 0, 0},
    /* transactions; a is speculative * 2 + aborted */
    {ROW "begin and commit", {CODE(0x1000, XBEGIN NOP XEND JCC0)},
     {ON, TSX(1, 0), FUP(0x1006), TSX(0, 0), FUP(0x100a), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1006, 2), IF(0x1006, SPECULATIVE),
      IF(0x1007, SPECULATIVE | COMMITTED), EA(TSX, 0, 0x100a, 0), I(0x100a)},
     0, 0, 0},
    {ROW "begin and abort", {CODE(0x1000, XBEGIN NOP NOP), CODE(0x1106, JCC0)},
     {ON, TSX(1, 0), FUP(0x1006), TSX(0, 1), FUP(0x1007), TIP(0x1106),
      TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1006, 2),
      IF(0x1006, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x1007, 1),
      EA(ASYNC_BRANCH, 0, 0x1007, 0x1106), I(0x1106)}, 0, 0, 0},
    {ROW "no commit without a transaction", {CODE(0x1000, NOP JCC0)},
     {ON, TSX(0, 0), FUP(0x1001), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1001, 0), I(0x1001)}, 0, 0, 0},
    {ROW "psb+ in a transaction", {CODE(0x1000, NOP JCC0)},
     {PSB, EXEC64, TSX(1, 0), FUP(0x1000), PSBEND, TNT(1, 0)},
     {S_ON, EA(TSX, ST, 0x1000, 2), IF(0x1000, SPECULATIVE),
      IF(0x1001, SPECULATIVE)}, 0, 0, 0},
};

static const row cause_rows[] = {
    /* address spaces */
    {ROW "pip of a syscall",
     {CODE(0x1000, NOP SYSCALL), CODE(0x5000, NOP JCC0)},
     {ON, PIP(0x8000, 0), TIP(0x5000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x8000),
      IF(0x5000, ASID), I(0x5001)}, 0, 0, 0},
    {ROW "pip and vmcs of a vm entry",
     {CODE(0x1000, NOP VMLAUNCH), CODE(0x5000, JCC0)},
     {ON, PIP(0x8000, 1), VMCS(0x9000), TIP(0x5000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x8000),
      EA(VMCS, NOIP, 0, 0x9000), IF(0x5000, ASID)}, 0, 0, 0},
    {ROW "two pips of one iret", {CODE(0x1000, NOP IRETQ), CODE(0x2000, JCC0)},
     {ON, PIP(0x5000, 0), PIP(0x6000, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000)}, IPT_ERR_MISMATCH, 0x1001, 0},
    {ROW "pip of an iret that disables", {CODE(0x1000, NOP IRETQ JCC0)},
     {ON, PIP(0x8000, 0), PGD0, PGE(0x1003), TNT(1, 0)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(PAGING, NOIP, 0, 0x8000),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1003),
      IF(0x1003, ENABLED | ASID)}, 0, 0, 0},
    {ROW "pip of a mov cr3", {CODE(0x1000, NOP MOV_CR3 NOP JCC0)},
     {ON, PIP(0x8000, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x8000), IF(0x1004, ASID),
      I(0x1005)}, 0, 0, 0},
    {ROW "pips of two", {CODE(0x1000, MOV_CR3 MOV_CR3 JCC0)},
     {ON, PIP(0x8000, 0), PIP(0x9000, 0), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PAGING, NOIP, 0, 0x8000), IF(0x1003, ASID),
      EA(PAGING, NOIP, 0, 0x9000), IF(0x1006, ASID)}, 0, 0, 0},
    {ROW "the same again is not a change", {CODE(0x1000, MOV_CR3 JCC0)},
     {PSB, EXEC64, PIP(0x8000, 0), FUP(0x1000), PSBEND, PIP(0x8000, 0),
      TNT(1, 0)},
     {S_ON, EA(ASYNC_PAGING, ST, 0x1000, 0x8000), I(0x1000),
      EA(PAGING, NOIP, 0, 0x8000), I(0x1003)}, 0, 0, 0},
    {ROW "pip after a syscall is of the mov cr3 to come", /* KPTI */
     {CODE(0x1000, SYSCALL), CODE(0x5000, NOP MOV_CR3 JCC0)},
     {ON, TIP(0x5000), PIP(0x8000, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x5000), I(0x5001), EA(PAGING, NOIP, 0, 0x8000),
      IF(0x5004, ASID)}, 0, 0, 0},
    {ROW "and of the iret to come", {CODE(0x1000, SYSCALL), CODE(0x5000, IRETQ),
                                 CODE(0x6000, JCC0)},
     {ON, TIP(0x5000), PIP(0x8000, 0), TIP(0x6000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x5000), EA(PAGING, NOIP, 0, 0x8000),
      IF(0x6000, ASID)}, 0, 0, 0},
    {ROW "pip after re-enabling",
     {CODE(0x1000, MOV_CR3), CODE(0x2000, NOP MOV_CR3 JCC0)},
     {ON, PGD0, PGE(0x2000), PIP(0x8000, 0), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, 0, 0x2000), IF(0x2000, ENABLED), I(0x2001),
      EA(PAGING, NOIP, 0, 0x8000), IF(0x2004, ASID)}, 0, 0, 0},
    {ROW "pip after an interrupt",
     {CODE(0x1000, MOV_CR3 NOP), CODE(0x2000, NOP MOV_CR3 JCC0)},
     {ON, FUP(0x1003), TIP(0x2000), PIP(0x8000, 0), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1003, 0x2000),
      I(0x2000), I(0x2001), EA(PAGING, NOIP, 0, 0x8000), IF(0x2004, ASID)}, 0,
     0, 0},
    {ROW "pip while off", {CODE(0x1000, SYSCALL JCC0)},
     {ON, PGD0, PIP(0x8000, 0), PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      EA(PAGING, NOIP, 0, 0x8000), E(ENABLED, BACK, 0x1002),
      IF(0x1002, ENABLED | RESUMED | ASID)}, 0, 0, 0},
    {ROW "vmcs of a vmptrld", {CODE(0x1000, NOP VMPTRLD JCC0)},
     {ON, VMCS(0x7000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(VMCS, NOIP, 0, 0x7000),
      IF(0x1004, ASID)}, 0, 0, 0},
    {ROW "pip without a cause", {CODE(0x1000, NOP JCC0)},
     {ON, PIP(0x8000, 0), TNT(1, 0)}, {S_ON, I(0x1000)}, IPT_ERR_MISMATCH,
     0x1001, 0},
    /* modes */
    {ROW "code of before, in another mode",
     {CODE(0x1000, JMP_RAX), CODE(0x2000, "\x40" JCC0 FAR_JMP)},
     {ON, TIP(0x2000), TNT(1, 0), EXEC32, TIP(0x2000), TNT(1, 0), EXEC64,
      TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x2000), I(0x2003),
      EA(EXEC_MODE, 0, 0x2000, IPT_MODE_32), I(0x2000), I(0x2001), I(0x2003),
      EA(EXEC_MODE, 0, 0x2000, IPT_MODE_64), I(0x2000)}, 0, 0, 0},
    {ROW "far jmp to 32-bit code", {CODE(0x1000, FAR_JMP),
                                CODE(0x2000, "\x40" JCC0)},
     {ON, EXEC32, TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(EXEC_MODE, 0, 0x2000, IPT_MODE_32), I(0x2000),
      I(0x2001)}, 0, 0, 0},
    {ROW "far jmp to 16-bit code", {CODE(0x1000, FAR_JMP),
                                CODE(0x2000, "\xb8\x01\x02" JCC0)},
     {ON32, EXEC16, TIP(0x2000), TNT(1, 0)},
     {S_ON32, I(0x1000), EA(EXEC_MODE, 0, 0x2000, IPT_MODE_16), I(0x2000),
      I(0x2003)}, 0, 0, 0},
    {ROW "enabled in another mode", {CODE(0x1000, SYSCALL),
                                 CODE(0x2000, "\x40" JCC0)},
     {ON, PGD0, EXEC32, PGE(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, 0, 0x2000), EA(EXEC_MODE, 0, 0x2000, IPT_MODE_32),
      IF(0x2000, ENABLED), I(0x2001)}, 0, 0, 0},
    {ROW "no mode", {CODE(0x1000, NOP JCC0)},
     {PSB, FUP(0x1000), PSBEND, TNT(1, 0)}, {E(ENABLED, SEAM, 0x1000)},
     IPT_ERR_MODE, 0x1000, 0},
    {ROW "cs.l and cs.d", {CODE(0x1000, NOP JCC0)},
     {PSB, EXEC(1, 1, 0), FUP(0x1000), PSBEND, TNT(1, 0)},
     {E(ENABLED, SEAM, 0x1000), EA(EXEC_MODE, ST, 0x1000, IPT_MODE_UNKNOWN)},
     IPT_ERR_MODE, 0x1000, 0},
    /* PTWRITE */
    {ROW "ptwrite with ip", {CODE(0x1000, NOP PTWRITE JCC0)},
     {ON, PTW(1, 1, 0x55), FUP(0x1001), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(PTWRITE, 0, 0x1001, 0x55), I(0x1006)}, 0,
     0, 0},
    {ROW "ptwrite with ip, at once", {CODE(0x1000, PTWRITE JCC0)},
     {ON, PTW(1, 1, 0x55), FUP(0x1000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 0x55), I(0x1005)}, 0, 0, 0},
    {ROW "ptwrite without ip", {CODE(0x1000, NOP PTWRITE JCC0)},
     {ON, PTW(1, 0, 0x55), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(PTWRITE, 0, 0x1001, 0x55), I(0x1006)}, 0,
     0, 0},
    {ROW "two ptwrites", {CODE(0x1000, PTWRITE PTWRITE JCC0)},
     {ON, PTW(1, 0, 5), PTW(1, 0, 6), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 5), I(0x1005),
      EA(PTWRITE, 0, 0x1005, 6), I(0x100a)}, 0, 0, 0},
    {ROW "ptwrite in a loop", {CODE(0x1000, PTWRITE JCC("\xf9") JCC0)},
     {ON, PTW(1, 1, 5), FUP(0x1000), TNT(1, 1), PTW(1, 1, 6), FUP(0x1000),
      TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 5), I(0x1005), I(0x1000),
      EA(PTWRITE, 0, 0x1000, 6), I(0x1005)}, 0, 0, 0},
    {ROW "ptwrite, ip only sometimes", {CODE(0x1000, PTWRITE JMP("\xf9"))},
     {ON, PTW(1, 0, 5), PTW(1, 1, 6), FUP(0x1000), PTW(1, 0, 7)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 5), I(0x1005), I(0x1000),
      EA(PTWRITE, 0, 0x1000, 6), I(0x1005), I(0x1000),
      EA(PTWRITE, 0, 0x1000, 7)}, 0, 0, 0},
    {ROW "ptwrite, then an interrupt",
     {CODE(0x1000, PTWRITE NOP), CODE(0x2000, JCC0)},
     {ON, PTW(1, 1, 5), FUP(0x1000), FUP(0x1005), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(PTWRITE, 0, 0x1000, 5),
      EA(ASYNC_BRANCH, 0, 0x1005, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "a ptw of no ptwrite, after a far branch, before a pip",
     {CODE(0x1000, FAR_JMP JCC0)},
     {ON, TIP(0x1002), PTW(1, 0, 5), PIP(0x3000, 0), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5)}, IPT_ERR_MISMATCH, 0x1002, 0},
    {ROW "ptwrite while off", {CODE(0x1000, SYSCALL JCC0)},
     {ON, PGD0, PTW(1, 0, 5), PGE(0x1002), TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      EA(PTWRITE, NOIP, 0, 5), E(ENABLED, BACK, 0x1002),
      IF(0x1002, ENABLED | RESUMED)}, 0, 0, 0},
    /* power */
    {ROW "mwait, exstop, pwre, pwrx", {CODE(0x1000, NOP "\x0f\x01\xc9" JCC0)},
     {ON, MWAIT(7, 1), PWRE(1, 0, 0), EXSTOP(1), FUP(0x1001),
      PWRX(1, 0, 1, 0, 0), TNT(1, 0)},
     {S_ON, I(0x1000), EA(MWAIT, 0, 0x1001, 7), E(EXSTOP, 0, 0x1001),
      EA(PWRE, NOIP, 0, 1), EA(PWRX, NOIP, 0, 1), I(0x1001), I(0x1004)}, 0, 0,
     0},
    {ROW "power across a psb",
     {CODE(0x1000, JCC0 NOP "\x0f\x01\xc9" JCC0 NOP JCC0)},
     {ON, TNT(1, 0), MWAIT(7, 1), PWRE(1, 0, 0), PSB, EXEC64, FUP(0x1003),
      PSBEND, EXSTOP(1), FUP(0x1003), PWRX(1, 0, 1, 0, 0), TNT(1, 0), PSB,
      FUP(0x1008), PSBEND, TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), E(ENABLED, ST, 0x1003),
      EA(EXEC_MODE, ST, 0x1003, IPT_MODE_64), EA(MWAIT, 0, 0x1003, 7),
      E(EXSTOP, 0, 0x1003), EA(PWRE, NOIP, 0, 1), EA(PWRX, NOIP, 0, 1),
      I(0x1003), I(0x1006), E(ENABLED, SEAM, 0x1008), I(0x1008),
      I(0x1009)}, 0, 0, 0},
    {ROW "power without an ip", {CODE(0x1000, JCC0 NOP JCC0)},
     {ON, TNT(1, 0), MWAIT(7, 1), EXSTOP(0), PWRE(2, 0, 0),
      PWRX(3, 0, 1, 0, 0), TNT(1, 0)},
     {S_ON, I(0x1000), EA(MWAIT, NOIP, 0, 7), E(EXSTOP, NOIP, 0),
      EA(PWRE, NOIP, 0, 2), EA(PWRX, NOIP, 0, 3), I(0x1002), I(0x1003)}, 0, 0,
     0},
    {ROW "cbr and mnt", {CODE(0x1000, JCC0 NOP JCC0)},
     {ON, TNT(1, 0), CBR(9), MNT(8), TNT(1, 0)},
     {S_ON, I(0x1000), EA(CBR, NOIP, 0, 9), EA(MNT, NOIP, 0, 8), I(0x1002),
      I(0x1003)}, 0, 0, 0},
    {ROW "pebs", {CODE(0x1000, JCC0 NOP NOP JCC0)},
     {ON, TNT(1, 0), BBP(4, 0), BIP(2, 0, 0x77), BEP(1), FUP(0x1003),
      TNT(1, 0)},
     {S_ON, I(0x1000), EA(PEBS_BEGIN, NOIP, 0, 4), EA(PEBS_ITEM, NOIP, 0, 0x77),
      I(0x1002), E(PEBS_END, 0, 0x1003), I(0x1003), I(0x1004)}, 0, 0, 0},
    /* event trace; a is the type */
    {ROW "cfe intr", {CODE(0x1000, NOP NOP), CODE(0x2000, JCC0)},
     {ON, CFE(INTR, 0, 14), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(CFE, 0, 0x1001, IPT_CFE_INTR),
      EA(ASYNC_BRANCH, 0, 0x1001, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "cfe iret", {CODE(0x1000, NOP IRETQ), CODE(0x2000, JCC0)},
     {ON, CFE(IRET, 0, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, NOIP, 0, IPT_CFE_IRET), I(0x2000)},
     0, 0, 0},
    {ROW "cfe iret and pip", {CODE(0x1000, NOP IRETQ), CODE(0x2000, JCC0)},
     {ON, CFE(IRET, 0, 0), PIP(0x8000, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, NOIP, 0, IPT_CFE_IRET),
      EA(PAGING, NOIP, 0, 0x8000), IF(0x2000, ASID)}, 0, 0, 0},
    {ROW "cfe vmentry", {CODE(0x1000, NOP VMLAUNCH), CODE(0x2000, JCC0)},
     {ON, CFE(VMENTRY, 0, 0), PIP(0x8000, 1), VMCS(0x9000), TIP(0x2000),
      TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, NOIP, 0, IPT_CFE_VMENTRY),
      EA(PAGING, NOIP, 0, 0x8000), EA(VMCS, NOIP, 0, 0x9000),
      IF(0x2000, ASID)}, 0, 0, 0},
    {ROW "cfe vmentry with ip",
     {CODE(0x1000, NOP VMLAUNCH), CODE(0x2000, JCC0)},
     {ON, CFE(VMENTRY, 1, 0), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, 0, 0x1001, IPT_CFE_VMENTRY),
      I(0x2000)}, 0, 0, 0},
    {ROW "cfe uiret", {CODE(0x1000, NOP UIRET), CODE(0x2000, JCC0)},
     {ON, CFE(UIRET, 0, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, NOIP, 0, IPT_CFE_UIRET), I(0x2000)},
     0, 0, 0},
    {ROW "cfe swintr with ip", {CODE(0x1000, NOP INT80), CODE(0x2000, JCC0)},
     {ON, CFE(SWINTR, 1, 0x80), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(CFE, 0, 0x1001, IPT_CFE_SWINTR), I(0x1001),
      I(0x2000)}, 0, 0, 0},
    {ROW "cfe swintr", {CODE(0x1000, NOP INT80), CODE(0x2000, JCC0)},
     {ON, CFE(SWINTR, 0, 0x80), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(CFE, 0, 0x1001, IPT_CFE_SWINTR),
      EA(ASYNC_BRANCH, 0, 0x1001, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "cfe smi that disables", {CODE(0x1000, NOP NOP JCC0)},
     {ON, CFE(SMI, 0, 0), FUP(0x1001), PGD0, CFE(RSM, 0, 0), PGE(0x1001),
      TNT(1, 0)},
     {S_ON, IF(0x1000, DISABLED), EA(CFE, 0, 0x1001, IPT_CFE_SMI),
      E(ASYNC_DISABLED, NOTO, 0x1001), EA(CFE, NOIP, 0, IPT_CFE_RSM),
      E(ENABLED, BACK, 0x1001), IF(0x1001, ENABLED | RESUMED), I(0x1002)}, 0,
     0, 0},
    /* triggers */
    {ROW "trig", {CODE(0x1000, JCC0 NOP NOP NOP JCC0)},
     {ON, TNT(1, 0), TRIG(3, 0, 0, 0, 0), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TRIG, NOIP, 0, 3), I(0x1002), I(0x1003), I(0x1004),
      I(0x1005)}, 0, 0, 0},
    {ROW "trig some instructions on", {CODE(0x1000, JCC0 NOP NOP NOP JCC0)},
     {ON, TNT(1, 0), TRIG(3, 0, 1, 2, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), I(0x1003), EA(TRIG, 0, 0x1004, 3), I(0x1004),
      I(0x1005)}, 0, 0, 0},
    {ROW "trig after a jmp", {CODE(0x1000, JCC0 NOP JMP("\x00") NOP JCC0)},
     {ON, TNT(1, 0), TRIG(3, 0, 1, 3, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), I(0x1003), I(0x1005),
      EA(TRIG, 0, 0x1006, 3), I(0x1006)}, 0, 0, 0},
    {ROW "trig with ip", {CODE(0x1000, JCC0 NOP NOP NOP JCC0)},
     {ON, TNT(1, 0), TRIG(3, 1, 1, 0, 0), FUP(0x1003), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), EA(TRIG, 0, 0x1003, 3), I(0x1003),
      I(0x1004), I(0x1005)}, 0, 0, 0},
    {ROW "trig counts from the one before",
     {CODE(0x1000, JCC0 NOP NOP NOP JCC0)},
     {ON, TNT(1, 0), TRIG(1, 0, 1, 1, 0), TRIG(2, 0, 1, 2, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), EA(TRIG, 0, 0x1003, 1), I(0x1003), I(0x1004),
      EA(TRIG, 0, 0x1005, 2), I(0x1005)}, 0, 0, 0},
    {ROW "trig with icnt while off", {CODE(0x1000, SYSCALL JCC0)},
     {ON, PGD0, TRIG(1, 0, 1, 1, 0)},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0)},
     IPT_ERR_PACKET, 0, 0},
};

static const row wrap_rows[] = {
    {ROW "straight", {CODE(0xfffffffd, NOP NOP NOP), CODE(0, NOP JCC0)},
     {PSB, EXEC32, FUP(0xfffffffd), PSBEND, TNT(1, 0)},
     {E(ENABLED, SEAM, 0xfffffffd),
      EA(EXEC_MODE, ST, 0xfffffffd, IPT_MODE_32), I(0xfffffffd),
      I(0xfffffffe), I(0xffffffff), I(0), I(1)}, 0, 0, 0},
    {ROW "jmp up", {CODE(0xfffffff0, JMP("\x10")), CODE(2, JCC0)},
     {PSB, EXEC32, FUP(0xfffffff0), PSBEND, TNT(1, 0)},
     {E(ENABLED, SEAM, 0xfffffff0),
      EA(EXEC_MODE, ST, 0xfffffff0, IPT_MODE_32), I(0xfffffff0), I(2)}, 0, 0,
     0},
    {ROW "jcc down", {CODE(2, JCC("\x80")), CODE(0xffffff84, JCC0)},
     {PSB, EXEC32, FUP(2), PSBEND, TNT(2, 2)},
     {E(ENABLED, SEAM, 2), EA(EXEC_MODE, ST, 2, IPT_MODE_32), I(2),
      I(0xffffff84)}, 0, 0, 0},
    {ROW "ret up", {CODE(0xfffffffb, CALL("\x40")), CODE(0, JCC0),
                CODE(0x40, RET)},
     {PSB, EXEC32, FUP(0xfffffffb), PSBEND, TNT(2, 2)},
     {E(ENABLED, SEAM, 0xfffffffb),
      EA(EXEC_MODE, ST, 0xfffffffb, IPT_MODE_32), I(0xfffffffb), I(0x40),
      I(0)}, 0, 0, 0},
    {ROW "a far jmp from 64-bit code", /* and an event that waits after it */
     {CODE(0x1000, FAR_JMP), CODE(0x2000, NOP SYSCALL), CODE(0x3000, JCC0)},
     {ON, EXEC32, TIP(0x100002000), CFE(SYSCALL, 0, 0), TIP(0x3000),
      TNT(1, 0)},
     {S_ON, I(0x1000), EA(EXEC_MODE, 0, 0x100002000, IPT_MODE_32), I(0x2000),
      EA(CFE, NOIP, 0, IPT_CFE_SYSCALL), I(0x2001), I(0x3000)}, 0, 0, 0},
    {ROW "an interrupt after it",
     {CODE(0xfffffffd, NOP NOP NOP), CODE(0, NOP NOP NOP),
      CODE(0x2000, JCC0)},
     {PSB, EXEC32, FUP(0xfffffffd), PSBEND, FUP(1), TIP(0x2000), TNT(1, 0)},
     {E(ENABLED, SEAM, 0xfffffffd),
      EA(EXEC_MODE, ST, 0xfffffffd, IPT_MODE_32), I(0xfffffffd),
      I(0xfffffffe), I(0xffffffff), IF(0, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 1, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "an interrupt right at it",
     {CODE(0xfffffffd, NOP NOP NOP), CODE(0, NOP NOP NOP),
      CODE(0x2000, JCC0)},
     {PSB, EXEC32, FUP(0xfffffffd), PSBEND, FUP(0), TIP(0x2000), TNT(1, 0)},
     {E(ENABLED, SEAM, 0xfffffffd),
      EA(EXEC_MODE, ST, 0xfffffffd, IPT_MODE_32), I(0xfffffffd),
      I(0xfffffffe), IF(0xffffffff, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "the top of 64-bit code", {CODE(0xfffffffffffffffd, NOP JCC0)},
     {PSB, EXEC64, FUP(0xfffffffffffffffd), PSBEND, TNT(1, 0)},
     {E(ENABLED, SEAM, 0xfffffffffffffffd),
      EA(EXEC_MODE, ST, 0xfffffffffffffffd, IPT_MODE_64),
      I(0xfffffffffffffffd), I(0xfffffffffffffffe)}, 0, 0, 0},
    {ROW "64-bit code does not wrap at 4 GiB",
     {CODE(0xfffffffe, NOP NOP NOP JCC0)},
     {PSB, EXEC64, FUP(0xfffffffe), PSBEND, TNT(1, 0)},
     {E(ENABLED, SEAM, 0xfffffffe),
      EA(EXEC_MODE, ST, 0xfffffffe, IPT_MODE_64), I(0xfffffffe),
      I(0xffffffff), I(0x100000000), I(0x100000001)}, 0, 0, 0},
    {ROW "16-bit code whose cs nobody knows",
     {CODE(0xf0002, JCC("\x80")), CODE(0xeff84, JCC0)},
     {PSB, EXEC16, FUP(0xf0002), PSBEND, TNT(2, 2)},
     {S_ON16(0xf0002), I(0xf0002), I(0xeff84)}, 0, 0, 0},
    {ROW "a call to its end",
     {CODE(0xfffd, CALL16("\x40\x00")), CODE(0x10000, JCC0),
      CODE(0x10040, RET)},
     {PSB, EXEC16, FUP(0xfffd), PSBEND, TNT(2, 2)},
     {S_ON16(0xfffd), I(0xfffd), I(0x10040), I(0x10000)}, 0, 0, 0},
    {ROW "relative ips: a cs that begins at 0",
     {CODE(2, JCC("\x80")), CODE(0xff84, JCC0)},
     {PSB, EXEC16, FUP(2), PSBEND, TNT(2, 2)},
     {S_ON16(2), I(2), I(0xff84)}, 0, 0, IPT_CONFIG_RELATIVE_IP},
};

/* As firmware runs, with config.cs_base: see memory_cs_base. */
static const row firmware_rows[] = {
    {ROW "from reset to protected mode",
     {CODE(0xfffffff0, JMP16("\x0d\x10")),
      CODE(0xffff1000, "\xea\x5b\xe0\x00\xf0"),
      CODE(0xfe05b, NOP JCC0 "\x66" FAR_JMP), CODE(0x1000, NOP JCC0)},
     {PSB, EXEC16, FUP(0xfffffff0), PSBEND, TIP(0xfe05b), TNT(1, 0), EXEC32,
      TIP(0x1000), TNT(1, 0)},
     {S_ON16(0xfffffff0), I(0xfffffff0), I(0xffff1000), I(0xfe05b),
      I(0xfe05c), I(0xfe05e), EA(EXEC_MODE, 0, 0x1000, IPT_MODE_32),
      I(0x1000), I(0x1001)}, 0, 0, 0},
    {ROW "jcc down", {CODE(0xf0002, JCC("\x80")), CODE(0xfff84, JCC0)},
     {PSB, EXEC16, FUP(0xf0002), PSBEND, TNT(2, 2)},
     {S_ON16(0xf0002), I(0xf0002), I(0xfff84)}, 0, 0, 0},
    {ROW "loop up", {CODE(0xffff0, NOP "\xe2\x7f"), CODE(0xf0072, JCC0)},
     {PSB, EXEC16, FUP(0xffff0), PSBEND, TNT(2, 2)},
     {S_ON16(0xffff0), I(0xffff0), I(0xffff1), I(0xf0072)}, 0, 0, 0},
    {ROW "call down, and back",
     {CODE(0xf0010, "\xe8\xed\xfe" JCC0), CODE(0xfff00, NOP RET)},
     {PSB, EXEC16, FUP(0xf0010), PSBEND, TNT(2, 2)},
     {S_ON16(0xf0010), I(0xf0010), I(0xfff00), I(0xfff01), I(0xf0013)}, 0, 0,
     0},
    {ROW "call that ends where the segment does",
     {CODE(0xffffd, CALL16("\x40\x00")), CODE(0xf0000, JCC0),
      CODE(0xf0040, RET)},
     {PSB, EXEC16, FUP(0xffffd), PSBEND, TNT(2, 2)},
     {S_ON16(0xffffd), I(0xffffd), I(0xf0040), I(0xf0000)}, 0, 0, 0},
    {ROW "32-bit operands are not cut",
     {CODE(0xf0000, "\x66\xe9\x3f\x23\x01\x00"), CODE(0x102345, JCC0)},
     {PSB, EXEC16, FUP(0xf0000), PSBEND, TNT(1, 0)},
     {S_ON16(0xf0000), I(0xf0000), I(0x102345)}, 0, 0, 0},
    {ROW "16-bit operands in 32-bit code",
     {CODE(0x11000, "\x66\xe9\x1c\x00"), CODE(0x1020, "\x66\x75\x01" NOP),
      CODE(0x1024, "\x66\xeb\x00"), CODE(0x1027, JCC0)},
     {PSB, EXEC32, FUP(0x11000), PSBEND, TNT(2, 2)},
     {E(ENABLED, SEAM, 0x11000), EA(EXEC_MODE, ST, 0x11000, IPT_MODE_32),
      I(0x11000), I(0x1020), I(0x1024), I(0x1027)}, 0, 0, 0},
    {ROW "smm", /* its handler enables tracing, RSM ends it */
     {CODE(0x38000, NOP JMP16("\xfc\x7f")), CODE(0x30000, JCC("\x7f")),
      CODE(0x30081, "\x0f\xaa"), CODE(0x1000, JCC0)},
     {PSB, EXEC16, PSBEND, PGE(0x38000), TNT(1, 1), PGD0, EXEC64,
      PGE(0x1000), TNT(1, 0)},
     {E(DISABLED, SEAM | NOIP | NOTO, 0),
      EA(EXEC_MODE, ST | NOIP, 0, IPT_MODE_16), E(ENABLED, 0, 0x38000),
      IF(0x38000, ENABLED), I(0x38001), I(0x30000), IF(0x30081, DISABLED),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1000),
      EA(EXEC_MODE, 0, 0x1000, IPT_MODE_64), IF(0x1000, ENABLED)}, 0, 0, 0},
    {ROW "smm, relative ips",
     {CODE(0x38000, NOP JMP16("\xfc\x7f")), CODE(0x30000, JCC("\x80")),
      CODE(0x3ff82, "\x0f\xaa"), CODE(0x1000, JCC0)},
     {PSB, EXEC16, PSBEND, PGE(0x8000), TNT(1, 1), PGD0, EXEC64,
      PGE(0x1000), TNT(1, 0)},
     {E(DISABLED, SEAM | NOIP | NOTO, 0),
      EA(EXEC_MODE, ST | NOIP, 0, IPT_MODE_16), E(ENABLED, 0, 0x8000),
      IF(0x8000, ENABLED), I(0x8001), I(0), IF(0xff82, DISABLED),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1000),
      EA(EXEC_MODE, 0, 0x1000, IPT_MODE_64), IF(0x1000, ENABLED)}, 0, 0,
     IPT_CONFIG_RELATIVE_IP},
    {ROW "relative ips, an interrupt in real mode",
     {CODE(0x30100, NOP NOP NOP), CODE(0x32000, CALL16("\xfd\xf0")),
      CODE(0x31100, NOP RET), CODE(0x32003, "\xcf")},
     {PSB, EXEC16, FUP(0x100), PSBEND, FUP(0x102), TIP(0x2000), TNT(1, 1),
      TIP(0x102), FUP(0x103), TIP(0x2003)},
     {S_ON16(0x100), I(0x100), IF(0x101, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0x102, 0x2000), I(0x2000), I(0x1100), I(0x1101),
      I(0x2003), IF(0x102, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0x103, 0x2003)}, 0, 0, IPT_CONFIG_RELATIVE_IP},
    {ROW "relative ips, a 32-bit cs that wraps at 4 GiB",
     {CODE(0xfffffffe, NOP NOP), CODE(0, NOP JCC("\x10")),
      CODE(0x13, JCC0)},
     {PSB, EXEC32, FUP(0xffe), PSBEND, TNT(2, 2)},
     {E(ENABLED, SEAM, 0xffe), EA(EXEC_MODE, ST, 0xffe, IPT_MODE_32),
      I(0xffe), I(0xfff), I(0x1000), I(0x1001), I(0x1013)}, 0, 0,
     IPT_CONFIG_RELATIVE_IP},
    {ROW "relative ips, nothing there", {CODE(0x8000, NOP)},
     {PSB, EXEC16, FUP(0x8000), PSBEND, TNT(1, 0)}, {S_ON16(0x8000)},
     IPT_NEED_PAGE, 0x8000, IPT_CONFIG_RELATIVE_IP},
};

static const row error_rows[] = {
    {ROW "tip at a jcc", {CODE(0x1000, NOP JCC0)}, {ON, TIP(0x2000)},
     {S_ON, I(0x1000)}, IPT_ERR_MISMATCH, 0x1001, 0},
    {ROW "an interrupt that flow does not reach", {CODE(0x1000, NOP JCC0)},
     {ON, FUP(0x3000), TIP(0x2000)}, {S_ON, I(0x1000)}, IPT_ERR_MISMATCH,
     0x1001, 0},
    {ROW "an interrupt in the middle of an instruction",
     {CODE(0x1000, NOP "\x0f\x1f\x00" NOP JCC0)},
     {ON, FUP(0x1002), TIP(0x2000)},
     {S_ON, I(0x1000), I(0x1001), I(0x1004)}, IPT_ERR_MISMATCH, 0x1005, 0},
    {ROW "a compressed ret, and no call",
     {CODE(0x1000, NOP RET)}, {ON, TNT(1, 1)},
     {S_ON, I(0x1000)}, IPT_ERR_RETURN, 0x1001, 0},
    {ROW "a ret with a bit of 0",
     {CODE(0x1000, CALL("\x0b")), CODE(0x1010, NOP RET)}, {ON, TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1010)}, IPT_ERR_RETCOMP, 0x1011, 0},
    {ROW "no instruction", {CODE(0x1000, NOP "\x06" JCC0)}, {ON, TNT(1, 0)},
     {S_ON, I(0x1000)}, IPT_ERR_BAD_INSN, 0x1001, 0},
    {ROW "no instruction at all",
     {CODE(0x1000, "\x06")}, {ON, TNT(1, 0)}, {S_ON},
     IPT_ERR_BAD_INSN, 0x1000, 0},
    {ROW "psb+ says off at the end", {CODE(0x1000, NOP JCC0 NOP)},
     {ON, TNT(1, 0), PSB, PSBEND, PSBEND}, {S_ON, I(0x1000), I(0x1001)},
     IPT_ERR_STATUS, 0, 0},
    {ROW "pending events at an error", {CODE(0x1000, NOP PTWRITE JCC0)},
     {ON, PTW(1, 1, 5), FUP(0x1001), TIP(0x2000)},
     {S_ON, I(0x1000), I(0x1001), EA(PTWRITE, 0, 0x1001, 5)},
     IPT_ERR_MISMATCH, 0x1006, 0},
};

/* Pieces that begin after lost trace. */
static const row gap_rows[] = {
    {ROW "gap", {CODE(0x1000, NOP JCC0 NOP JCC0), CODE(0x2000, NOP JCC0)},
     {ON, TNT(1, 0), GAP(50), TNT(1, 0), PSB, EXEC64, FUP(0x2000), PSBEND,
      TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(GAP, NOIP, 0, 50), E(ENABLED, SEAM, 0x2000),
      EA(EXEC_MODE, ST, 0x2000, IPT_MODE_64), IF(0x2000, RESYNCED),
      I(0x2001)}, 0, 0, 0},
    {ROW "gap, another mode after it",
     {CODE(0x1000, JCC0), CODE(0x2000, "\x40" JCC0)},
     {ON, TNT(1, 0), GAP(1), PSB, EXEC32, FUP(0x2000), PSBEND, TNT(1, 0)},
     {S_ON, I(0x1000), EA(GAP, NOIP, 0, 1), E(ENABLED, SEAM, 0x2000),
      EA(EXEC_MODE, ST, 0x2000, IPT_MODE_32), IF(0x2000, RESYNCED),
      I(0x2001)}, 0, 0, 0},
    {ROW "gap, and disabled", {CODE(0x1000, JCC0), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), GAP(1), OFF, PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(GAP, NOIP, 0, 1), S_OFF, E(ENABLED, 0, 0x2000),
      IF(0x2000, RESYNCED | ENABLED)}, 0, 0, 0},
    {ROW "gap while disabled", {CODE(0x1000, JCC0)},
     {OFF, GAP(1), ON, TNT(1, 0)},
     {S_OFF, EA(GAP, NOIP, 0, 1), S_ON, IF(0x1000, RESYNCED)}, 0, 0, 0},
    {ROW "gap at once", {CODE(0x1000, JCC0)}, {ON, GAP(1), ON, TNT(1, 0)},
     {S_ON, EA(GAP, NOIP, 0, 1), S_ON, IF(0x1000, RESYNCED)}, 0, 0, 0},
    {ROW "gap, and nothing", {CODE(0x1000, JCC0)},
     {ON, TNT(1, 0), GAP(1), TNT(1, 0)},
     {S_ON, I(0x1000), EA(GAP, NOIP, 0, 1)}, 0, 0, 0},
    {ROW "calls before it are forgotten",
     {CODE(0x1000, CALL("\x0b")), CODE(0x1010, JCC0 RET)},
     {ON, TNT(1, 0), GAP(1), PSB, EXEC64, FUP(0x1012), PSBEND, TNT(1, 1)},
     {S_ON, I(0x1000), I(0x1010), EA(GAP, NOIP, 0, 1), E(ENABLED, SEAM, 0x1012),
      EA(EXEC_MODE, ST, 0x1012, IPT_MODE_64)}, IPT_ERR_RETURN, 0x1012, 0},
    {ROW "the address space is not known after it", {CODE(0x1000, JCC0)},
     {PSB, PIP(0x5000, 1), EXEC64, FUP(0x1000), PSBEND, TNT(1, 0), GAP(1), PSB,
      PIP(0x5000, 1), EXEC64, FUP(0x1000), PSBEND, TNT(1, 0)},
     {E(ENABLED, SEAM, 0x1000), EA(ASYNC_PAGING, ST, 0x1000, 0x5000),
      EA(EXEC_MODE, ST, 0x1000, IPT_MODE_64), I(0x1000), EA(GAP, NOIP, 0, 1),
      E(ENABLED, SEAM, 0x1000), EA(ASYNC_PAGING, ST, 0x1000, 0x5000),
      EA(EXEC_MODE, ST, 0x1000, IPT_MODE_64), IF(0x1000, RESYNCED)}, 0, 0, 0},
    {ROW "between a paging event and its tip",
     {CODE(0x1000, JCC0 NOP VMLAUNCH), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), PIP(0x5000, 1), GAP(1), PSB, EXEC64, FUP(0x2000), PSBEND,
      TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), EA(PAGING, NOIP, 0, 0x5000),
      EA(GAP, NOIP, 0, 1), E(ENABLED, SEAM, 0x2000),
      EA(EXEC_MODE, ST, 0x2000, IPT_MODE_64), IF(0x2000, RESYNCED | ASID)}, 0,
     0, 0},
    {ROW "an overflow there",
     {CODE(0x1000, JCC0 NOP VMLAUNCH), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), PIP(0x5000, 1), OVF, FUP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), EA(PAGING, NOIP, 0, 0x5000),
      E(OVERFLOW, 0, 0x2000), IF(0x2000, RESYNCED | ASID)}, 0, 0, 0},
    {ROW "before a deferred tip", {CODE(0x1000, JCC0 JMP_RAX)},
     {ON, TNT(2, 0), GAP(1), OFF},
     {S_ON, I(0x1000), EA(GAP, NOIP, 0, 1), S_OFF}, 0, 0, 0},
};

/* Host and guest. A host (CR3 5000) runs a guest (CR3 6000, non-root): PSB+, VM
 * entry to 2000, interrupted at 2003 by a VM exit to 1100. */
#define ONLY_CR3 0x5000 /* config.cr3 */
#define HOST PSB, PIP(0x5000, 0), EXEC64, FUP(0x1000), PSBEND
#define S_HOST                                                           \
    E(ENABLED, SEAM, 0x1000), EA(ASYNC_PAGING, ST, 0x1000, 0x5000),         \
        EA(EXEC_MODE, ST, 0x1000, IPT_MODE_64)
#define ENTRY(to) PIP(0x6000, 1), TIP(to)
#define S_ENTRY EA(PAGING, NOIP, 0, 0x6000)
#define EXIT(from, to) FUP(from), PIP(0x5000, 0), TIP(to)
#define S_EXIT(to) EA(ASYNC_PAGING, 0, to, 0x5000)
#define HOST_CODE                                                       \
    CODE(0x1000, JCC0 VMLAUNCH), CODE(0x1100, NOP JMP_RAX),              \
        CODE(0x1200, JCC0 VMLAUNCH)
#define GUEST_CODE CODE(0x2000, NOP JCC0 NOP JCC0)

static const row vmx_rows[] = {
    {ROW "all", {HOST_CODE, GUEST_CODE},
     {HOST, TNT(1, 0), ENTRY(0x2000), TNT(1, 0), EXIT(0x2003, 0x1100),
      TIP(0x1200), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002), S_ENTRY, IF(0x2000, ASID),
      IF(0x2001, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x2003, 0x1100),
      S_EXIT(0x1100), IF(0x1100, ASID), I(0x1101), I(0x1200)}, 0, 0, 0},
    {ROW "guest only", {GUEST_CODE},
     {HOST, TNT(1, 0), ENTRY(0x2000), TNT(1, 0), EXIT(0x2003, 0x1100),
      TIP(0x1200), TNT(1, 0), ENTRY(0x2003), TNT(1, 0)},
     {S_HOST, S_ENTRY, IF(0x2000, ASID), IF(0x2001, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0x2003, 0x1100), S_EXIT(0x1100), S_ENTRY,
      IF(0x2003, ASID), I(0x2004)}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "host only", {HOST_CODE},
     {HOST, TNT(1, 0), ENTRY(0x2000), TNT(6, 5), TIP(0x7777), FUP(0x8888),
      TIP(0x9999), PTW(0, 1, 3), FUP(0x8000), TNT(3, 0),
      EXIT(0x2003, 0x1100), TIP(0x1200), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002), S_ENTRY, S_EXIT(0x1100),
      IF(0x1100, ASID), I(0x1101), I(0x1200)}, 0, 0, IPT_CONFIG_ROOT_ONLY},
    {ROW "another mode on the other side",
     {HOST_CODE, CODE(0x2000, "\x40" JCC0)},
     {HOST, TNT(1, 0), PIP(0x6000, 1), EXEC32, TIP(0x2000), TNT(1, 0),
      FUP(0x2003), PIP(0x5000, 0), EXEC64, TIP(0x1200), TNT(1, 0)},
     {S_HOST, S_ENTRY, EA(EXEC_MODE, 0, 0x2000, IPT_MODE_32),
      IF(0x2000, ASID), IF(0x2001, INTERRUPTED),
      EA(ASYNC_BRANCH, 0, 0x2003, 0x1200), S_EXIT(0x1200),
      EA(EXEC_MODE, 0, 0x1200, IPT_MODE_64)}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "host only, psb+ in the guest", {HOST_CODE},
     {HOST, TNT(1, 0), ENTRY(0x2000), TNT(1, 0), PSB, PIP(0x6000, 1), EXEC64,
      FUP(0x2003), PSBEND, TNT(1, 0), EXIT(0x2003, 0x1200), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002), S_ENTRY, E(ENABLED, SEAM, 0x2003),
      EA(ASYNC_PAGING, ST, 0x2003, 0x6000),
      EA(EXEC_MODE, ST, 0x2003, IPT_MODE_64), S_EXIT(0x1200),
      IF(0x1200, ASID)}, 0, 0, IPT_CONFIG_ROOT_ONLY},
    {ROW "guest only, psb+ in the host", {GUEST_CODE},
     {HOST, TNT(1, 0), PSB, PIP(0x5000, 0), EXEC64, FUP(0x1002), PSBEND,
      ENTRY(0x2000), TNT(1, 0)},
     {S_HOST, E(ENABLED, SEAM, 0x1002), EA(ASYNC_PAGING, ST, 0x1002, 0x5000),
      EA(EXEC_MODE, ST, 0x1002, IPT_MODE_64), S_ENTRY, IF(0x2000, ASID),
      I(0x2001)}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "guest only, overflow in the host", {GUEST_CODE},
     {HOST, TNT(1, 0), OVF, FUP(0x1002), TNT(4, 4), ENTRY(0x2000), TNT(1, 0)},
     {S_HOST, E(OVERFLOW, 0, 0x1002), S_ENTRY, IF(0x2000, RESYNCED | ASID),
      I(0x2001)}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "guest only, disabled in the host", {GUEST_CODE},
     {HOST, TNT(1, 0), PGD0, PIP(0x6000, 1), PGE(0x2000), TNT(1, 0),
      FUP(0x2003), PIP(0x5000, 0), PGD0, PGE(0x1100), TNT(1, 0)},
     {S_HOST, E(DISABLED, NOIP | NOTO, 0), S_ENTRY, E(ENABLED, 0, 0x2000),
      IF(0x2000, ASID | ENABLED), IF(0x2001, DISABLED),
      EA(ASYNC_DISABLED, NOTO, 0x2003, 0), EA(ASYNC_PAGING, NOIP, 0, 0x5000),
      E(ENABLED, 0, 0x1100)}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "guest only, starting in it", {GUEST_CODE},
     {PSB, EXEC64, FUP(0x2000), PIP(0x6000, 1), PSBEND, TNT(1, 0),
      EXIT(0x2003, 0x1100), TNT(5, 3)},
     {E(ENABLED, SEAM, 0x2000), EA(EXEC_MODE, ST, 0x2000, IPT_MODE_64),
      EA(ASYNC_PAGING, ST, 0x2000, 0x6000), I(0x2000),
      IF(0x2001, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x2003, 0x1100),
      S_EXIT(0x1100)}, 0, 0, IPT_CONFIG_NON_ROOT_ONLY},
    {ROW "one cr3", {CODE(0x1000, NOP MOV_CR3), CODE(0x1100, NOP JCC0)},
     {HOST, PIP(0x7000, 0), TNT(2, 1), TIP(0x1000), PIP(0x5000, 0), TNT(2, 1),
      FUP(0x1003), TIP(0x1100), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x7000),
      EA(PAGING, NOIP, 0, 0x5000), EA(ASYNC_BRANCH, 0, 0x1003, 0x1100),
      IF(0x1100, ASID), I(0x1101)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "one cr3, and then a tip", {CODE(0x1000, NOP MOV_CR3),
                                CODE(0x1100, NOP JCC0)},
     {HOST, PIP(0x7000, 0), TIP0, TIP(0x1000), PIP(0x5000, 0), TNT(2, 1),
      TIP(0x1100), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x7000),
      EA(PAGING, NOIP, 0, 0x5000), IF(0x1100, ASID), I(0x1101)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "calls are kept on the way", {CODE(0x1000, CALL("\x0b")),
                                   CODE(0x1010, VMLAUNCH RET)},
     {HOST, ENTRY(0x2000), TNT(3, 7), EXIT(0x2003, 0x1013), TNT(1, 1)},
     {S_HOST, I(0x1000), I(0x1010), S_ENTRY, S_EXIT(0x1013),
      IF(0x1013, ASID)}, 0, 0, IPT_CONFIG_ROOT_ONLY},
    {ROW "five events at an instruction",
     {HOST_CODE, CODE(0x2000, "\x40" JCC0)},
     {HOST, TNT(1, 0), PIP(0x6000, 1), VMCS(0x7000), EXEC32, TSC(0x9000),
      TIP(0x2000), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002), EA(CFE, NOIP, 0, INF | IPT_CFE_VMENTRY),
      S_ENTRY, EA(VMCS, NOIP, 0, 0x7000), E(TICK, IPT_EVENT_TSC, 0x1002),
      EA(EXEC_MODE, IPT_EVENT_TSC, 0x2000, IPT_MODE_32), IF(0x2000, ASID),
      I(0x2001)}, 0, 0, IPT_CONFIG_VMX_EVENTS | IPT_CONFIG_TICKS},
    {ROW "inferred events", {HOST_CODE, GUEST_CODE},
     {HOST, TNT(1, 0), ENTRY(0x2000), TNT(1, 0), EXIT(0x2003, 0x1200),
      TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002),
      EA(CFE, NOIP, 0, INF | IPT_CFE_VMENTRY), S_ENTRY, IF(0x2000, ASID),
      IF(0x2001, INTERRUPTED), EA(CFE, 0, 0x2003, INF | IPT_CFE_VMEXIT),
      EA(ASYNC_BRANCH, 0, 0x2003, 0x1200), S_EXIT(0x1200),
      IF(0x1200, ASID)}, 0, 0, IPT_CONFIG_VMX_EVENTS},
    {ROW "inferred events, host only", {HOST_CODE},
     {HOST, TNT(1, 0), ENTRY(0x2000), TNT(1, 0), EXIT(0x2003, 0x1200),
      TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002),
      EA(CFE, NOIP, 0, INF | IPT_CFE_VMENTRY), S_ENTRY,
      EA(CFE, 0, 0x2003, INF | IPT_CFE_VMEXIT), S_EXIT(0x1200),
      IF(0x1200, ASID)}, 0, 0, IPT_CONFIG_VMX_EVENTS | IPT_CONFIG_ROOT_ONLY},
    {ROW "no inferred events beside cfe", {HOST_CODE, GUEST_CODE},
     {HOST, TNT(1, 0), CFE(VMENTRY, 0, 0), ENTRY(0x2000), TNT(1, 0),
      CFE(VMEXIT, 0, 0), EXIT(0x2003, 0x1200), TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1002), EA(CFE, NOIP, 0, IPT_CFE_VMENTRY),
      S_ENTRY, IF(0x2000, ASID), IF(0x2001, INTERRUPTED),
      EA(CFE, 0, 0x2003, IPT_CFE_VMEXIT),
      EA(ASYNC_BRANCH, 0, 0x2003, 0x1200), S_EXIT(0x1200),
      IF(0x1200, ASID)}, 0, 0, IPT_CONFIG_VMX_EVENTS},
    {ROW "inferred events while disabled", {HOST_CODE, GUEST_CODE},
     {HOST, TNT(1, 0), PGD0, PIP(0x6000, 1), PGE(0x2000), TNT(1, 0)},
     {S_HOST, I(0x1000), IF(0x1002, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      EA(CFE, NOIP, 0, INF | IPT_CFE_VMENTRY), S_ENTRY,
      E(ENABLED, 0, 0x2000), IF(0x2000, ASID | ENABLED), I(0x2001)}, 0, 0,
     IPT_CONFIG_VMX_EVENTS},
};

/* ---- what reviews found: a table each, run by its number ---- */

/* R stands where the decoder stops and _resync goes on. blk.c runs such rows,
 * on both decoders. */
#define R {RESYNC_STEP, 0, 0, 0, 0}

static const row S1_rows[] = { /* SKD022 */
    {ROW "no code where tracing is disabled",
     {CODE(0x1000, NOP NOP NOP NOP JMP_RAX)},
     {ON, FUP(0x1004), TIP(0x41414141), FUP(0x41414141), PGD0, PGE(0x1000),
      FUP(0x1002), PGD0},
     {S_ON, I(0x1000), I(0x1001), I(0x1002),
      IF(0x1003, INTERRUPTED | DISABLED),
      EA(ASYNC_BRANCH, 0, 0x1004, 0x41414141),
      E(ASYNC_DISABLED, NOTO, 0x41414141), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED), IF(0x1001, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1002)}, 0, 0, 0},
    {ROW "after a branch", {CODE(0x1000, NOP NOP JMP_RAX)},
     {ON, TIP(0x41414141), FUP(0x41414141), PGD0, PGE(0x1000), FUP(0x1001),
      PGD0},
     {S_ON, I(0x1000), I(0x1001), IF(0x1002, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x41414141), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED | DISABLED), E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0,
     0},
    {ROW "no instruction there",
     {CODE(0x1000, JMP_RAX NOP), CODE(0x2000, "\x06")},
     {ON, TIP(0x2000), FUP(0x2000), PGD0, PGE(0x1002), FUP(0x1003), PGD0},
     {S_ON, IF(0x1000, DISABLED), E(ASYNC_DISABLED, NOTO, 0x2000),
      E(ENABLED, 0, 0x1002), IF(0x1002, ENABLED | DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1003)}, 0, 0, 0},
    {ROW "part of an instruction", {CODE(0x1000, JMP_RAX NOP "\x0f\x01")},
     {ON, TIP(0x1003), FUP(0x1003), PGD0},
     {S_ON, IF(0x1000, DISABLED), E(ASYNC_DISABLED, NOTO, 0x1003)}, 0, 0, 0},
    {ROW "no mode", {CODE(0x1000, NOP)},
     {PSB, FUP(0x1000), PSBEND, FUP(0x1000), PGD0},
     {E(ENABLED, SEAM, 0x1000), E(ASYNC_DISABLED, NOTO, 0x1000)}, 0, 0, 0},
    {ROW "a vm entry", {CODE(0x1000, JMP_RAX VMLAUNCH)},
     {ON, TIP(0x1002), FUP(0x1002), PGD0},
     {S_ON, I(0x1000), IF(0x1002, DISABLED), E(DISABLED, NOIP | NOTO, 0)}, 0,
     0, 0},
};

/* The FUP before a branch that needs a TIP has the IP after it. */
static const row nlip_rows[] = {
    {ROW "jmp", {CODE(0x1000, NOP JMP_RAX), CODE(0x2000, NOP JMP_RAX)},
     {ON, FUP(0x1003), TIP(0x2000), TIP(0x1000)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      I(0x2000), I(0x2001)}, 0, 0, 0},
    {ROW "alone in its run", {CODE(0x1000, JCC0 JMP_RAX), CODE(0x2000, JCC0)},
     {ON, TNT(1, 1), FUP(0x1004), TIP(0x2000), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1002, 0x2000),
      I(0x2000)}, 0, 0, 0},
    {ROW "call, first", {CODE(0x1000, CALL_RAX), CODE(0x2000, JCC0)},
     {ON, FUP(0x1002), TIP(0x2000), TNT(1, 0)},
     {S_ON, EA(ASYNC_BRANCH, 0, 0x1000, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "ret, disabled", {CODE(0x1000, NOP NOP RET)},
     {ON, FUP(0x1003), PGD0},
     {S_ON, I(0x1000), IF(0x1001, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1002)}, 0, 0, 0},
    {ROW "iret, syscall",
     {CODE(0x1000, NOP IRETQ NOP), CODE(0x2000, NOP SYSCALL)},
     {ON, FUP(0x1003), TIP(0x2000), FUP(0x2003), TIP(0x1003), FUP(0x1004),
      PGD0},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000),
      IF(0x2000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x2001, 0x1003),
      IF(0x1003, DISABLED), E(ASYNC_DISABLED, NOTO, 0x1004)}, 0, 0, 0},
    {ROW "not before others", {CODE(0x1000, NOP NOP JCC0 NOP NOP)},
     {ON, FUP(0x1001), TIP(0x1001), TNT(1, 0), FUP(0x1005), PGD0},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x1001),
      I(0x1001), I(0x1002), IF(0x1004, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1005)}, 0, 0, 0},
    {ROW "reached by the branch", {CODE(0x1000, NOP JMP_RAX NOP NOP)},
     {ON, TIP(0x1003), FUP(0x1003), PGD0},
     {S_ON, I(0x1000), IF(0x1001, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1003)}, 0, 0, 0},
    {ROW "after a jump there", {CODE(0x1000, NOP JMP("\x02") NOP NOP JMP_RAX)},
     {ON, FUP(0x1007), PGD0},
     {S_ON, I(0x1000), IF(0x1001, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1005)}, 0, 0, 0},
    {ROW "disabled by the branch", {CODE(0x1000, NOP JMP_RAX)},
     {ON, PGD(0x1003), PGE(0x1001), TIP(0x1000)},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(DISABLED, NOIP, 0, 0x1003),
      E(ENABLED, 0, 0x1001), IF(0x1001, ENABLED)}, 0, 0, 0},
    {ROW "two events, and back", {CODE(0x1000, NOP NOP NOP JMP_RAX)},
     {ON, EXSTOP(1), FUP(0x1005), FUP(0x1005), PGD0, PGE(0x1003), TIP(0x1000)},
     {S_ON, I(0x1000), I(0x1001), IF(0x1002, DISABLED), E(EXSTOP, 0, 0x1003),
      E(ASYNC_DISABLED, NOTO, 0x1003), E(ENABLED, BACK, 0x1003),
      IF(0x1003, ENABLED | RESUMED)}, 0, 0, 0},
    {ROW "code is not there", {CODE(0x1000, JCC("\x7e"))},
     {ON, TNT(1, 1), FUP(0x1082), TIP(0x1000)}, {S_ON}, IPT_NEED_PAGE, 0x1080,
     0},
};

/* Flow is stepped over from 1004 on, and asked for again. */
#define ASIDE_CODE CODE(0x1000, NOP MOV_CR3)
#define ASIDE HOST, PIP(0x7000, 0), TNT(2, 1)
#define S_ASIDE S_HOST, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x7000)
#define WANTED PIP(0x5000, 0)
#define S_WANTED EA(PAGING, NOIP, 0, 0x5000)

/* XBEGIN, NOP, JMP RAX, two NOPs; a wrong target, then the abort at 1009. */
#define ABORTS CODE(0x1000, XBEGIN NOP JMP_RAX NOP NOP)
#define ABORT_BEGINS ON, TSX(1, 0), FUP(0x1006)
#define S_ABORT_BEGINS \
    S_ON, I(0x1000), EA(TSX, 0, 0x1006, 2), IF(0x1006, SPECULATIVE)

static const row S2_rows[] = { /* BDM64 */
    {ROW "no code at the wrong target", {ABORTS, CODE(0x1106, JCC0)},
     {ABORT_BEGINS, TIP(0x41414141), TSX(0, 1), FUP(0x1009), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x1009, 1), EA(ASYNC_BRANCH, 0, 0x1009, 0x1106), I(0x1106)},
     0, 0, 0},
    {ROW "no instruction there",
     {ABORTS, CODE(0x1106, JCC0), CODE(0x2000, "\x06")},
     {ABORT_BEGINS, TIP(0x2000), TSX(0, 1), FUP(0x1009), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x1009, 1), EA(ASYNC_BRANCH, 0, 0x1009, 0x1106), I(0x1106)},
     0, 0, 0},
    {ROW "no code at the abort", {ABORTS, CODE(0x1106, JCC0)},
     {ABORT_BEGINS, TIP(0x100a), TSX(0, 1), FUP(0x100b), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE),
      IF(0x100a, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x100b, 1),
      EA(ASYNC_BRANCH, 0, 0x100b, 0x1106), I(0x1106)}, 0, 0, 0},
    {ROW "nor at the target, which is the abort", {ABORTS, CODE(0x1106, JCC0)},
     {ABORT_BEGINS, TIP(0x3000), TSX(0, 1), FUP(0x3000), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x3000, 1), EA(ASYNC_BRANCH, 0, 0x3000, 0x1106), I(0x1106)},
     0, 0, 0},
    {ROW "an rsm on the way",
     {CODE(0x1000, JCC0 "\x0f\xaa" NOP), CODE(0x1106, JCC0)},
     {ON, TNT(1, 1), TSX(1, 0), FUP(0x1002), TSX(0, 1), FUP(0x1004),
      TIP(0x1106), TNT(1, 0)},
     {S_ON, I(0x1000), EA(TSX, 0, 0x1002, 2),
      IF(0x1002, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x1004, 1),
      EA(ASYNC_BRANCH, 0, 0x1004, 0x1106), I(0x1106)}, 0, 0, 0},
    {ROW "flow is taken up at the wrong target",
     {ASIDE_CODE, CODE(0x1106, JCC0)},
     {ASIDE, TSX(1, 0), FUP(0x7777), WANTED, TIP(0x41414141), TSX(0, 1),
      FUP(0x1009), TIP(0x1106), TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(TSX, 0, 0x1009, 1),
      EA(ASYNC_BRANCH, 0, 0x1009, 0x1106), IF(0x1106, ASID)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "nor after a jmp", {ABORTS, CODE(0x1106, JCC0),
                          CODE(0x2000, NOP JMP("\x7d"))},
     {ABORT_BEGINS, TIP(0x2000), TSX(0, 1), FUP(0x2080), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE), IF(0x2000, SPECULATIVE),
      IF(0x2001, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x2080, 1),
      EA(ASYNC_BRANCH, 0, 0x2080, 0x1106), I(0x1106)}, 0, 0, 0},
    {ROW "too far on", {ABORTS, CODE(0x1106, JCC0),
                    CODE(0x2000, NOPS_64 NOPS_64 NOPS_64 NOPS_64 NOP)},
     {ABORT_BEGINS, TIP(0x2000), TSX(0, 1), FUP(0x2100), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x2100, 1), EA(ASYNC_BRANCH, 0, 0x2100, 0x1106), I(0x1106)},
     0, 0, 0},
    {ROW "too far on, inside a run",
     {ABORTS, CODE(0x1106, JCC0),
      CODE(0x2000, NOP JMP("\x00") NOPS_64 NOPS_64 NOPS_64 NOPS_64 NOP)},
     {ABORT_BEGINS, TIP(0x2000), TSX(0, 1), FUP(0x2101), TIP(0x1106),
      TNT(1, 0)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x2101, 1), EA(ASYNC_BRANCH, 0, 0x2101, 0x1106), I(0x1106)},
     0, 0, 0},
    {ROW "an interrupt is not a branch whose target may be wrong",
     {CODE(0x1000, JMP_RAX), CODE(0x3000, NOP JCC0)},
     {ON, TIP(0x2000), FUP(0x2000), TIP(0x3000), TSX(0, 1), FUP(0x1009),
      TIP(0x1106), TNT(1, 0)},
     {S_ON, IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x2000, 0x3000),
      I(0x3000)}, IPT_ERR_MISMATCH, 0x3001, 0},
    {ROW "no abort", {CODE(0x1000, JMP_RAX), CODE(0x2000, NOP JCC0)},
     {ON, TIP(0x2000), TSX(1, 0), FUP(0x3000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x2000)}, IPT_ERR_MISMATCH, 0x2001, 0},
};

/* S3, S6: 64-bit code that is 32-bit code as well. */
#define JCCS CODE(0x1000, NOP JCC0 NOP JCC0 NOP JCC0 NOP JCC0 NOP JMP_RAX)
#define PSB32(ip) PSB, EXEC32, FUP(ip), PSBEND
#define S_PSB32(ip) \
    E(ENABLED, SEAM, ip), EA(EXEC_MODE, ST, ip, IPT_MODE_32)

static const row S3_rows[] = {
    {ROW "another mode after an overflow", {JCCS},
     {ON, TNT(1, 0), OVF, FUP(0x1003), TNT(1, 0), PSB32(0x1006), TNT(2, 0),
      TIP(0x1000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1003),
      IF(0x1003, RESYNCED), I(0x1004), S_PSB32(0x1006), I(0x1006), I(0x1007),
      I(0x1009), I(0x100a), I(0x100c), I(0x100d), I(0x1000), I(0x1001)}, 0, 0,
     0},
    {ROW "after one without ip", {JCCS},
     {ON, TNT(1, 0), OVF, PGE(0x1003), TNT(1, 0), PSB32(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, NOIP, 0),
      E(ENABLED, 0, 0x1003), IF(0x1003, RESYNCED | ENABLED), I(0x1004),
      S_PSB32(0x1006), I(0x1006), I(0x1007)}, 0, 0, 0},
    {ROW "but not after the mode that came since", {JCCS},
     {ON, TNT(1, 0), OVF, FUP(0x1003), TNT(1, 0), PSB, EXEC64, FUP(0x1006),
      PSBEND, TNT(1, 0), PSB32(0x1009), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1003),
      IF(0x1003, RESYNCED), I(0x1004), E(ENABLED, SEAM, 0x1006),
      EA(EXEC_MODE, ST, 0x1006, IPT_MODE_64), I(0x1006), I(0x1007)},
     IPT_ERR_STATUS, 0, 0},
    {ROW "another address space", {JCCS},
     {HOST, TNT(1, 0), OVF, FUP(0x1003), TNT(1, 0), PSB, PIP(0x7000, 0),
      EXEC64, FUP(0x1006), PSBEND, TNT(1, 0)},
     {S_HOST, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1003),
      IF(0x1003, RESYNCED), I(0x1004), E(ENABLED, SEAM, 0x1006),
      EA(ASYNC_PAGING, ST, 0x1006, 0x7000),
      EA(EXEC_MODE, ST, 0x1006, IPT_MODE_64), IF(0x1006, ASID), I(0x1007)}, 0,
     0, 0},
};

static const row S6_rows[] = {
    {ROW "ovf, psb+", {JCCS},
     {ON, TNT(1, 0), OVF, PSB32(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1006),
      S_PSB32(0x1006), IF(0x1006, RESYNCED), I(0x1007)}, 0, 0, 0},
    {ROW "ovf, psb+, fup", {JCCS},
     {ON, TNT(1, 0), OVF, PSB32(0x1006), FUP(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1006),
      S_PSB32(0x1006), IF(0x1006, RESYNCED), I(0x1007)}, 0, 0, 0},
    {ROW "ovf, psb, psbend, fup", {JCCS},
     {ON, TNT(1, 0), OVF, PSB, EXEC32, PSBEND, FUP(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1006),
      S_PSB32(0x1006), IF(0x1006, RESYNCED), I(0x1007)}, 0, 0, 0},
    {ROW "psb, ovf, psbend, fup", {JCCS},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1003), OVF, PSBEND, FUP(0x1006),
      TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(ENABLED, SEAM, 0x1003),
      EA(EXEC_MODE, ST, 0x1003, IPT_MODE_64), E(OVERFLOW, 0, 0x1006),
      IF(0x1006, RESYNCED), I(0x1007)}, 0, 0, 0},
    {ROW "ovf, psb, psbend, pge", {JCCS},
     {ON, TNT(1, 0), OVF, PSB, EXEC64, PSBEND, PGE(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, NOIP, 0), S_OFF,
      E(ENABLED, 0, 0x1006), IF(0x1006, RESYNCED | ENABLED), I(0x1007)}, 0, 0,
     0},
    {ROW "ovf, pip, psb+: it is on", {JCCS},
     {ON, TNT(1, 0), OVF, PIP(0x5000, 0), PSB32(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), E(OVERFLOW, 0, 0x1006),
      EA(ASYNC_PAGING, 0, 0x1006, 0x5000), S_PSB32(0x1006),
      IF(0x1006, RESYNCED | ASID), I(0x1007)}, 0, 0, 0},
};

/* A PSB+ that contradicts what is known is right. */
static const row S3_resync_rows[] = {
    {ROW "another mode", {JCCS},
     {ON, TNT(1, 0), PSB32(0x1003), TNT(3, 0), TIP(0x1000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), R, S_PSB32(0x1003), IF(0x1003, RESYNCED),
      I(0x1004), I(0x1006), I(0x1007), I(0x1009), I(0x100a), I(0x100c),
      I(0x100d), I(0x1000), I(0x1001)}, 0, 0, 0},
    {ROW "a mode where a branch goes", {JCCS},
     {ON, TNT(1, 0), EXEC32, TIP(0x1006), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), I(0x1003), R,
      EA(EXEC_MODE, 0, 0x1006, IPT_MODE_32), IF(0x1006, RESYNCED), I(0x1007)},
     0, 0, 0},
    {ROW "off while on", {JCCS},
     {ON, TNT(1, 0), OFF, PGE(0x1003), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), R, S_OFF, E(ENABLED, 0, 0x1003),
      IF(0x1003, RESYNCED | ENABLED), I(0x1004)}, 0, 0, 0},
};

#define CR3_IRETQ NOP MOV_CR3 NOP NOP IRETQ

static const row S4_rows[] = { /* a MOV CR3 either disables or has a PIP */
    {ROW "after its pip, a branch disables", {CODE(0x1000, CR3_IRETQ)},
     {ON, PIP(0x5000, 0), PGD0},
     {S_ON, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x5000),
      IF(0x1004, ASID), I(0x1005), IF(0x1006, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "after bits", {CODE(0x1000, JCC0 CR3_IRETQ)},
     {ON, TNT(1, 0), PIP(0x5000, 0), PGD0},
     {S_ON, I(0x1000), I(0x1002), I(0x1003), EA(PAGING, NOIP, 0, 0x5000),
      IF(0x1006, ASID), I(0x1007), IF(0x1008, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "the next mov cr3 does", {CODE(0x1000, NOP MOV_CR3 NOP MOV_CR3 IRETQ)},
     {ON, PIP(0x5000, 0), PGD0},
     {S_ON, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x5000),
      IF(0x1004, ASID), IF(0x1005, DISABLED), E(DISABLED, NOIP | NOTO, 0)}, 0,
     0, 0},
    {ROW "with an event between", {CODE(0x1000, CR3_IRETQ)},
     {ON, PIP(0x5000, 0), CBR(5), PGD0},
     {S_ON, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x5000),
      EA(CBR, NOIP, 0, 5), IF(0x1004, ASID), I(0x1005), IF(0x1006, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "the same cr3 again", {CODE(0x1000, CR3_IRETQ)},
     {PSB, PIP(0x5000, 0), EXEC64, FUP(0x1000), PSBEND, PIP(0x5000, 0), PGD0},
     {S_HOST, I(0x1000), I(0x1001), EA(PAGING, NOIP, 0, 0x5000), I(0x1004),
      I(0x1005), IF(0x1006, DISABLED), E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "each exit of a kernel with two",
     {CODE(0x1000, SYSCALL JMP("\xfc")), CODE(0x2000, MOV_CR3 JCC0 CR3_IRETQ)},
     {ON, TIP(0x2000), PIP(0x5000, 0), TNT(1, 0), PIP(0x6000, 0), PGD0,
      PGE(0x1002), TIP(0x2000), PIP(0x5000, 0), TNT(1, 0), PIP(0x6000, 0),
      PGD0},
     {S_ON, I(0x1000), I(0x2000), EA(PAGING, NOIP, 0, 0x5000),
      IF(0x2003, ASID), I(0x2005), I(0x2006), EA(PAGING, NOIP, 0, 0x6000),
      IF(0x2009, ASID), I(0x200a), IF(0x200b, DISABLED),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1002),
      IF(0x1002, ENABLED), I(0x1000), I(0x2000),
      EA(PAGING, NOIP, 0, 0x5000), IF(0x2003, ASID), I(0x2005), I(0x2006),
      EA(PAGING, NOIP, 0, 0x6000), IF(0x2009, ASID), I(0x200a),
      IF(0x200b, DISABLED), E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
};

static const row S11_rows[] = {
    {ROW "no overflow", {CODE(0x1000, NOP INTO NOP JCC0)},
     {ON32, FUP(0x1002), PGD0},
     {S_ON32, I(0x1000), IF(0x1001, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1002)}, 0, 0, 0},
    {ROW "bits after it", {CODE(0x1000, NOP INTO NOP JCC0 INTO JCC0)},
     {ON32, TNT(2, 0)},
     {S_ON32, I(0x1000), I(0x1001), I(0x1002), I(0x1003), I(0x1005),
      I(0x1006)}, 0, 0, 0},
    {ROW "overflow", {CODE(0x1000, NOP INTO NOP JCC0), CODE(0x2000, JCC0)},
     {ON32, TIP(0x2000), TNT(1, 0)},
     {S_ON32, I(0x1000), I(0x1001), I(0x2000)}, 0, 0, 0},
    {ROW "overflow to another address space",
     {CODE(0x1000, JCC0 INTO NOP JCC0), CODE(0x2000, JCC0)},
     {ON32, TNT(1, 0), PIP(0x5000, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON32, I(0x1000), I(0x1002), EA(PAGING, NOIP, 0, 0x5000),
      IF(0x2000, ASID)}, 0, 0, 0},
    {ROW "overflow to where nothing is traced, and back",
     {CODE(0x1000, NOP INTO NOP JCC0)}, {ON32, PGD0, PGE(0x1002), TNT(1, 0)},
     {S_ON32, I(0x1000), IF(0x1001, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, BACK, 0x1002), IF(0x1002, ENABLED | RESUMED), I(0x1003)}, 0,
     0, 0},
    {ROW "at the end of the trace", {CODE(0x1000, JCC0 INTO NOP JCC0)},
     {ON32, TNT(1, 0), FUP(0x1003), PGD0},
     {S_ON32, I(0x1000), IF(0x1002, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1003)}, 0, 0, 0},
    {ROW "an int is not one", {CODE(0x1000, NOP INT80 NOP JCC0)},
     {ON32, TNT(1, 0), FUP(0x1003), PGD0},
     {S_ON32, I(0x1000)}, IPT_ERR_MISMATCH, 0x1001, 0},
};

static const row S5_rows[] = {
    {ROW "a psb+ counts as an ip", {CODE(0x1000, NOPS(16) NOP JCC0)},
     {ON, PSB, EXEC64, FUP(0x1004), PSBEND, TRIG(5, 0, 1, 3, 0),
      FUP(0x1010), PGD0},
     {E(ENABLED, ST, 0x1000), EA(EXEC_MODE, ST, 0x1000, IPT_MODE_64),
      I(0x1000), I(0x1001), I(0x1002), I(0x1003),
      E(ENABLED, SEAM, 0x1004), EA(EXEC_MODE, ST, 0x1004, IPT_MODE_64),
      I(0x1004), I(0x1005), I(0x1006), EA(TRIG, 0, 0x1007, 5), I(0x1007),
      I(0x1008), I(0x1009), I(0x100a), I(0x100b), I(0x100c), I(0x100d),
      I(0x100e), IF(0x100f, DISABLED), E(ASYNC_DISABLED, NOTO, 0x1010)}, 0, 0,
     0},
    {ROW "a psb+ after bits", {CODE(0x1000, JCC0 NOP NOP NOP NOP JCC0)},
     {ON, TNT(1, 0), PSB, EXEC64, FUP(0x1004), PSBEND, TRIG(5, 0, 1, 1, 0),
      TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), I(0x1003), E(ENABLED, SEAM, 0x1004),
      EA(EXEC_MODE, ST, 0x1004, IPT_MODE_64), I(0x1004),
      EA(TRIG, 0, 0x1005, 5), I(0x1005), I(0x1006)}, 0, 0, 0},
    {ROW "a ptwrite without fup does not",
     {CODE(0x1000, NOP PTWRITE4 NOPS(8) JCC0)},
     {ON, PTW(0, 0, 7), TRIG(5, 0, 1, 3, 0), FUP(0x1007), PGD0},
     {S_ON, I(0x1000), I(0x1001), EA(PTWRITE, 0, 0x1001, 7), I(0x1005),
      EA(TRIG, 0, 0x1006, 5), IF(0x1006, DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1007)}, 0, 0, 0},
    {ROW "nor does one after bits", {CODE(0x1000, JCC0 NOP PTWRITE4 NOP JCC0)},
     {ON, TNT(1, 0), PTW(0, 0, 7), TRIG(5, 0, 1, 3, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1002), I(0x1003), EA(PTWRITE, 0, 0x1003, 7),
      I(0x1007), EA(TRIG, 0, 0x1008, 5), I(0x1008)}, 0, 0, 0},
};

/* A RET without a CALL stops flow at 1001 each time. */
#define STOPS CODE(0x1000, NOP RET)
#define S_STOPS S_ON, I(0x1000), R
#define STOPPED_AT ON, TNT(1, 1)

static const row R6_rows[] = {
    {ROW "a loop up to a trigger",
     {CODE(0x1000, NOP NOP JMP("\xfc")), CODE(0x2000, JCC0)},
     {ON, TRIG(3, 0, 1, 7, 0), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), I(0x1002), I(0x1000), I(0x1001), I(0x1002),
      IF(0x1000, INTERRUPTED), EA(TRIG, 0, 0x1001, 3),
      EA(ASYNC_BRANCH, 0, 0x1001, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "but not after it",
     {CODE(0x1000, NOP NOP JMP("\xfc")), CODE(0x2000, JCC0)},
     {ON, TRIG(3, 0, 1, 4, 0), FUP(0x1fff), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), I(0x1002), I(0x1000), EA(TRIG, 0, 0x1001, 3),
      I(0x1001), I(0x1002), I(0x1000), I(0x1001), I(0x1002)}, IPT_ERR_LOOP,
     0x1000, 0},
};

/* A page is not there at first that an erratum looks at: what comes then is
 * known all the same to the instruction before. */
static const row R10_rows[] = {
    {ROW "skd022", {CODE(0x1fff, NOP), CODE(0x2000, NOP)},
     {PSB, EXEC64, FUP(0x1fff), PSBEND, FUP(0x2000), PGD0},
     {E(ENABLED, SEAM, 0x1fff), EA(EXEC_MODE, ST, 0x1fff, IPT_MODE_64),
      IF(0x1fff, DISABLED), E(ASYNC_DISABLED, NOTO, 0x2000)}, 0, 0, 0},
    {ROW "bdm64",
     {CODE(0x1ff0, XBEGIN JCC("\x08")), CODE(0x2000, NOP NOP),
      CODE(0x20f6, JCC0)},
     {PSB, EXEC64, FUP(0x1ff0), PSBEND, TSX(1, 0), FUP(0x1ff6), TNT(1, 1),
      TSX(0, 1), FUP(0x2000), TIP(0x20f6), TNT(1, 0)},
     {E(ENABLED, SEAM, 0x1ff0), EA(EXEC_MODE, ST, 0x1ff0, IPT_MODE_64),
      I(0x1ff0), EA(TSX, 0, 0x1ff6, 2),
      IF(0x1ff6, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x2000, 1),
      EA(ASYNC_BRANCH, 0, 0x2000, 0x20f6), I(0x20f6)}, 0, 0, 0},
    {ROW "bdm64, not on the way",
     {CODE(0x1ff0, XBEGIN JCC("\x08")), CODE(0x2000, RET NOP),
      CODE(0x20f6, JCC0)},
     {PSB, EXEC64, FUP(0x1ff0), PSBEND, TSX(1, 0), FUP(0x1ff6), TNT(1, 1),
      TSX(0, 1), FUP(0x2001), TIP(0x20f6), TNT(1, 0)},
     {E(ENABLED, SEAM, 0x1ff0), EA(EXEC_MODE, ST, 0x1ff0, IPT_MODE_64),
      I(0x1ff0), EA(TSX, 0, 0x1ff6, 2),
      IF(0x1ff6, SPECULATIVE | ABORTED | INTERRUPTED), EA(TSX, 0, 0x2001, 1),
      EA(ASYNC_BRANCH, 0, 0x2001, 0x20f6), I(0x20f6)}, 0, 0, 0},
};

#define TIMED PSB, TSC(0x9000), EXEC64, FUP(0x1000), PSBEND
#define T IPT_EVENT_TSC
#define S_TIMED                           \
    E(ENABLED, SEAM | T, 0x1000),         \
        EA(EXEC_MODE, ST | T, 0x1000, IPT_MODE_64)

static const row S7_rows[] = {
    {ROW "a tip without ip", {STOPS},
     {STOPPED_AT, TIP0, TIP(0x1000), FUP(0x1001), PGD0},
     {S_STOPS, IF(0x1000, RESYNCED | DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0, 0},
    {ROW "enabled at a known time", {STOPS},
     {TIMED, TNT(1, 1), PGE(0x1000), FUP(0x1001), PGD0},
     {S_TIMED, I(0x1000), R, E(DISABLED, NOIP | NOTO | T, 0),
      E(ENABLED, T, 0x1000), IF(0x1000, ENABLED | RESYNCED | DISABLED),
      E(ASYNC_DISABLED, NOTO | T, 0x1001)}, 0, 0, 0},
    {ROW "resumed at a known time", {CODE(0x1000, SYSCALL NOP RET)},
     {TIMED, PGD0, PGE(0x1002), FUP(0x1003), PGD0},
     {S_TIMED, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO | T, 0),
      E(ENABLED, BACK | T, 0x1002), IF(0x1002, ENABLED | RESUMED | DISABLED),
      E(ASYNC_DISABLED, NOTO | T, 0x1003)}, 0, 0, 0},
    {ROW "disabled", {STOPS},
     {STOPPED_AT, PGD0, PGE(0x1000), FUP(0x1001), PGD0},
     {S_STOPS, E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED | RESYNCED | DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0, 0},
    {ROW "disabled to an ip, in another mode", {STOPS},
     {STOPPED_AT, EXEC32, PGD(0x1001), PGE(0x1000), FUP(0x1001), PGD0},
     {S_STOPS, EA(EXEC_MODE, NOIP, 0, IPT_MODE_32),
      EA(DISABLED, NOIP, 0, 0x1001), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED | RESYNCED | DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0, 0},
    {ROW "enabled, and not disabled", {STOPS},
     {STOPPED_AT, PGE(0x1000), FUP(0x1001), PGD0},
     {S_STOPS, E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1000),
      IF(0x1000, ENABLED | RESYNCED | DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0, 0},
    {ROW "enabled while on", {CODE(0x1000, JCC0), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), PGE(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), R, E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x2000),
      IF(0x2000, ENABLED | RESYNCED)}, 0, 0, 0},
    {ROW "after a PSB+, which reads on to where it is disabled",
     {CODE(0x1000, NOP JCC0), CODE(0x2000, JMP_RAX)},
     {ON, PIP(0x5000, 0), MNT(5), PGD0, PGE(0x2000), TIP(0x2000)},
     {S_ON, I(0x1000), R, EA(PAGING, NOIP, 0, 0x5000), EA(MNT, NOIP, 0, 5),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x2000),
      IF(0x2000, RESYNCED | ENABLED | ASID)}, 0, 0, 0},
    {ROW "the same, without TNT",
     {CODE(0x1000, JCC0), CODE(0x2000, JMP_RAX)},
     {ON, PIP(0x5000, 0), MNT(5), PGD0, PGE(0x2000), TIP(0x2000)},
     {S_ON, I(0x1000), R, EA(PAGING, NOIP, 0, 0x5000), EA(MNT, NOIP, 0, 5),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x2000),
      IF(0x2000, RESYNCED | ENABLED | ASID)}, 0, 0, IPT_CONFIG_NO_TNT},
    {ROW "disabled, and an error while it is", {STOPS},
     {STOPPED_AT, PGD0, TNT(1, 0), PSB, EXEC64, PSBEND, PGE(0x1000),
      FUP(0x1001), PGD0},
     {S_STOPS, E(DISABLED, NOIP | NOTO, 0)}, IPT_ERR_CONTEXT, 0, 0},
    {ROW "resumed", {CODE(0x1000, SYSCALL NOP RET)},
     {ON, PGD0, PGE(0x1002), TNT(1, 1), PGD0, PGE(0x1002), FUP(0x1003), PGD0},
     {S_ON, IF(0x1000, DISABLED), E(DISABLED, NOIP | NOTO, 0),
      E(ENABLED, BACK, 0x1002), IF(0x1002, ENABLED | RESUMED), R,
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x1002),
      IF(0x1002, ENABLED | RESYNCED | DISABLED),
      E(ASYNC_DISABLED, NOTO, 0x1003)}, 0, 0, 0},
    {ROW "paging and vmcs", {STOPS},
     {STOPPED_AT, PIP(0x5000, 0), VMCS(0x6000), TIP(0x1000), FUP(0x1001),
      PGD0},
     {S_STOPS, EA(PAGING, NOIP, 0, 0x5000), EA(VMCS, NOIP, 0, 0x6000),
      IF(0x1000, RESYNCED | ASID | DISABLED), E(ASYNC_DISABLED, NOTO, 0x1001)},
     0, 0, 0},
    {ROW "paging that an instruction causes", {CODE(0x1000, JCC0 SYSCALL JCC0)},
     {ON, TNT(1, 0), PIP(0x5000, 0), EXSTOP(0), TIP(0x1004), TNT(1, 0)},
     {S_ON, I(0x1000), R, EA(PAGING, NOIP, 0, 0x5000), E(EXSTOP, NOIP, 0),
      IF(0x1004, RESYNCED | ASID)}, 0, 0, 0},
    {ROW "a callback of code that is not there returns to it",
     {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, CALL_RAX NOP RET),
      CODE(0x1020, NOP RET), CODE(0x1040, JCC0)},
     {ON, TIP(0x9000), TNT(1, 1), TIP(0x1020), TNT(1, 1), TNT(1, 0),
      TIP(0x1040), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1010), R, IF(0x1020, RESYNCED), I(0x1021), R,
      IF(0x1040, RESYNCED)}, 0, 0, 0},
    {ROW "a frame of after a mismatch",
     {CODE(0x1000, JCC0 NOP CALL("\x08") JCC0), CODE(0x1010, RET)},
     {ON, TIP(0x1003), TNT(2, 2)},
     {S_ON, R, IF(0x1003, RESYNCED), I(0x1010), I(0x1008)}, 0, 0, 0},
    {ROW "more of them than are kept", {STOPS},
     {STOPPED_AT, CBR(5), MNT(6), CBR(7), MNT(8), CBR(9), MNT(10), CBR(11),
      MNT(12), CBR(13), TIP(0x1000), FUP(0x1001), PGD0},
     {S_STOPS, EA(CBR, NOIP, 0, 5), EA(MNT, NOIP, 0, 6), EA(CBR, NOIP, 0, 7),
      EA(MNT, NOIP, 0, 8), EA(CBR, NOIP, 0, 9), EA(MNT, NOIP, 0, 10),
      EA(CBR, NOIP, 0, 11), EA(MNT, NOIP, 0, 12), EA(CBR, NOIP, 0, 13),
      IF(0x1000, RESYNCED | DISABLED), E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0,
     0},
    {ROW "what says nothing about flow", {STOPS},
     {STOPPED_AT, CBR(5), MNT(6), TIP(0x1000), FUP(0x1001), PGD0},
     {S_STOPS, EA(CBR, NOIP, 0, 5), EA(MNT, NOIP, 0, 6),
      IF(0x1000, RESYNCED | DISABLED), E(ASYNC_DISABLED, NOTO, 0x1001)}, 0, 0,
     0},
};

static const row S8_rows[] = {
    {ROW "an iret with its ip", {CODE(0x1000, NOP IRETQ), CODE(0x2000, JCC0)},
     {ON, CFE(IRET, 1, 0), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, 0, 0x1001, IPT_CFE_IRET),
      I(0x2000)}, 0, 0, 0},
    {ROW "that disables", {CODE(0x1000, NOP IRETQ), CODE(0x2000, NOP IRETQ)},
     {ON, CFE(IRET, 1, 0), FUP(0x1001), PGD0, PGE(0x2000), CFE(IRET, 1, 0),
      FUP(0x2001), PGD0},
     {S_ON, I(0x1000), IF(0x1001, DISABLED), EA(CFE, 0, 0x1001, IPT_CFE_IRET),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x2000),
      IF(0x2000, ENABLED), IF(0x2001, DISABLED),
      EA(CFE, 0, 0x2001, IPT_CFE_IRET), E(DISABLED, NOIP | NOTO, 0)}, 0, 0,
     0},
    {ROW "after a ptwrite, which is not an iret, the next time",
     {CODE(0x1000, PTWRITE4 JMP("\xfa")), CODE(0x2000, JCC0)},
     {ON, PTW(0, 1, 7), FUP(0x1000), CFE(IRET, 1, 0), FUP(0x1000), FUP(0x1004),
      TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 7), I(0x1004),
      IF(0x1000, INTERRUPTED), EA(CFE, 0, 0x1000, IPT_CFE_IRET),
      EA(ASYNC_BRANCH, 0, 0x1004, 0x2000), I(0x2000)}, 0, 0, 0},
    {ROW "with another address space", {CODE(0x1000, NOP IRETQ),
                                    CODE(0x2000, JCC0)},
     {ON, CFE(IRET, 1, 0), FUP(0x1001), PIP(0x5000, 0), TIP(0x2000),
      TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, 0, 0x1001, IPT_CFE_IRET),
      EA(PAGING, NOIP, 0, 0x5000), IF(0x2000, ASID)}, 0, 0, 0},
};

static const row S9_rows[] = { /* where flow is taken up */
    {ROW "a transaction begins",
     {ASIDE_CODE, CODE(0x1100, XBEGIN JCC0 JMP_RAX), CODE(0x1200, NOP JCC0)},
     {ASIDE, WANTED, TNT(1, 0), TSX(1, 0), FUP(0x1106), TNT(1, 0),
      TIP(0x1200), TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(TSX, 0, 0x1106, 2),
      IF(0x1106, ASID | SPECULATIVE), IF(0x1108, SPECULATIVE),
      IF(0x1200, SPECULATIVE), IF(0x1201, SPECULATIVE)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "one aborts", {ASIDE_CODE, CODE(0x1200, NOP JCC0)},
     {ASIDE, TSX(1, 0), FUP(0x7777), WANTED, TSX(0, 1), FUP(0x1106),
      TIP(0x1200), TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(TSX, 0, 0x1106, 1),
      EA(ASYNC_BRANCH, 0, 0x1106, 0x1200), IF(0x1200, ASID), I(0x1201)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "a transaction that began on the way",
     {ASIDE_CODE, CODE(0x1100, NOP JCC0)},
     {ASIDE, TSX(1, 0), FUP(0x7777), WANTED, TIP(0x1100), TNT(1, 0)},
     {S_ASIDE, S_WANTED, IF(0x1100, ASID | SPECULATIVE),
      IF(0x1101, SPECULATIVE)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "one that ended on the way",
     {ASIDE_CODE, CODE(0x1100, NOP JCC0)},
     {PSB, PIP(0x5000, 0), EXEC64, TSX(1, 0), FUP(0x1000), PSBEND,
      PIP(0x7000, 0), TSX(0, 0), FUP(0x7777), WANTED, TIP(0x1100), TNT(1, 0)},
     {S_HOST, EA(TSX, ST, 0x1000, 2), IF(0x1000, SPECULATIVE),
      IF(0x1001, SPECULATIVE), EA(PAGING, NOIP, 0, 0x7000), S_WANTED,
      IF(0x1100, ASID), I(0x1101)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "one that goes on", {ASIDE_CODE, CODE(0x1100, NOP JCC0)},
     {PSB, PIP(0x5000, 0), EXEC64, TSX(1, 0), FUP(0x1000), PSBEND,
      PIP(0x7000, 0), WANTED, TIP(0x1100), TNT(1, 0)},
     {S_HOST, EA(TSX, ST, 0x1000, 2), IF(0x1000, SPECULATIVE),
      IF(0x1001, SPECULATIVE), EA(PAGING, NOIP, 0, 0x7000), S_WANTED,
      IF(0x1100, ASID | SPECULATIVE), IF(0x1101, SPECULATIVE)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "exstop", {ASIDE_CODE, CODE(0x1100, NOP JCC0)},
     {ASIDE, EXSTOP(1), FUP(0x7777), WANTED, EXSTOP(1), FUP(0x1100),
      TNT(1, 0)},
     {S_ASIDE, E(EXSTOP, 0, 0x7777), S_WANTED, E(EXSTOP, 0, 0x1100),
      IF(0x1100, ASID), I(0x1101)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "ptwrite", {ASIDE_CODE, CODE(0x1100, PTWRITE JCC0)},
     {ASIDE, PTW(0, 1, 3), FUP(0x7777), WANTED, PTW(0, 0, 4), PTW(0, 1, 5),
      FUP(0x1100), TNT(1, 0)},
     {S_ASIDE, S_WANTED, IF(0x1100, ASID), EA(PTWRITE, 0, 0x1100, 5),
      I(0x1105)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "pebs", {ASIDE_CODE, CODE(0x1100, NOP JCC0)},
     {ASIDE, BBP(4, 0), BIP(2, 0, 0x77), BEP(1), FUP(0x7777), WANTED,
      TIP(0x1100), BBP(5, 0), BIP(2, 0, 0x78), BEP(1), FUP(0x1101),
      TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(PEBS_BEGIN, NOIP, 0, 5),
      EA(PEBS_ITEM, NOIP, 0, 0x78), IF(0x1100, ASID), E(PEBS_END, 0, 0x1101),
      I(0x1101)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "iflags", {ASIDE_CODE, CODE(0x1100, JMP_RAX), CODE(0x1200, JCC0)},
     {ASIDE, EXEC(1, 0, 1), TIP(0x7777), WANTED, TIP(0x1100), EXEC(1, 0, 0),
      TIP(0x1200), TNT(1, 0)},
     {S_HOST, E(IFLAGS, ST, 0x1000), I(0x1000), I(0x1001),
      EA(PAGING, NOIP, 0, 0x7000), S_WANTED, IF(0x1100, ASID),
      E(IFLAGS, 0, 0x1200), I(0x1200)}, 0, 0,
     IPT_CONFIG_CR3_ONLY | IPT_CONFIG_IFLAGS},
    {ROW "iret", {ASIDE_CODE, CODE(0x1100, IRETQ), CODE(0x1200, JCC0)},
     {ASIDE, WANTED, CFE(IRET, 1, 0), FUP(0x1100), TIP(0x1200), TNT(1, 0)},
     {S_ASIDE, S_WANTED, IF(0x1100, ASID), EA(CFE, 0, 0x1100, IPT_CFE_IRET),
      I(0x1200)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "an interrupt", {ASIDE_CODE, CODE(0x1200, JCC0)},
     {ASIDE, FUP(0x7777), TIP(0x8888), WANTED, CFE(INTR, 0, 3), FUP(0x1101),
      TIP(0x1200), TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(CFE, 0, 0x1101, IPT_CFE_INTR),
      EA(ASYNC_BRANCH, 0, 0x1101, 0x1200), IF(0x1200, ASID)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "an interrupt that leads away", {ASIDE_CODE},
     {ASIDE, WANTED, FUP(0x1101), PIP(0x7000, 0), TIP(0x1200), TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(ASYNC_BRANCH, 0, 0x1101, 0x1200),
      EA(ASYNC_PAGING, 0, 0x1200, 0x7000)}, 0, 0, IPT_CONFIG_CR3_ONLY},
    {ROW "tracing is disabled", {ASIDE_CODE, CODE(0x1100, JCC0)},
     {ASIDE, WANTED, FUP(0x1100), PGD0, PGE(0x1100), TNT(1, 0)},
     {S_ASIDE, S_WANTED, E(ASYNC_DISABLED, NOTO, 0x1100),
      E(ENABLED, BACK, 0x1100), IF(0x1100, ASID | ENABLED | RESUMED)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
    {ROW "a trigger, and then so many instructions",
     {ASIDE_CODE, CODE(0x1100, NOP NOP NOP JCC0)},
     {ASIDE, WANTED, TRIG(1, 0, 1, 7, 0), TRIG(2, 1, 1, 0, 0),
      FUP(0x1101),
      TRIG(3, 0, 1, 1, 0), TNT(1, 0)},
     {S_ASIDE, S_WANTED, EA(TRIG, 0, 0x1101, 2), IF(0x1101, ASID),
      EA(TRIG, 0, 0x1102, 3), I(0x1102), I(0x1103)}, 0, 0,
     IPT_CONFIG_CR3_ONLY},
};

static const row S13_rows[] = { /* CFEs of SYSCALLs */
    {ROW "cfe syscall", {CODE(0x1000, NOP NOP SYSCALL), CODE(0x2000, JCC0)},
     {ON, CFE(SYSCALL, 0, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(CFE, NOIP, 0, IPT_CFE_SYSCALL), I(0x1002),
      I(0x2000)}, 0, 0, 0},
    {ROW "cfe syscall at once", {CODE(0x1000, SYSCALL), CODE(0x2000, JCC0)},
     {ON, CFE(SYSCALL, 0, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, EA(CFE, NOIP, 0, IPT_CFE_SYSCALL), I(0x1000), I(0x2000)}, 0, 0, 0},
    {ROW "cfe syscall after a jmp",
     {CODE(0x1000, NOP JMP("\x0d")), CODE(0x1010, NOP SYSCALL),
      CODE(0x2000, JCC0)},
     {ON, CFE(SYSCALL, 0, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), I(0x1010),
      EA(CFE, NOIP, 0, IPT_CFE_SYSCALL), I(0x1011), I(0x2000)}, 0, 0, 0},
    {ROW "cfe syscall with ip", {CODE(0x1000, NOP SYSCALL), CODE(0x2000, JCC0)},
     {ON, CFE(SYSCALL, 1, 0), FUP(0x1001), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(CFE, 0, 0x1001, IPT_CFE_SYSCALL), I(0x1001),
      I(0x2000)}, 0, 0, 0},
    {ROW "cfe syscall with ip, at once",
     {CODE(0x1000, SYSCALL), CODE(0x2000, JCC0)}, /* hazards.c */
     {ON, CFE(SYSCALL, 1, 0), FUP(0x1000), TIP(0x2000), TNT(1, 0)},
     {S_ON, EA(CFE, 0, 0x1000, IPT_CFE_SYSCALL), I(0x1000), I(0x2000)}, 0, 0,
     0},
    {ROW "cfe syscall and pip",
     {CODE(0x1000, NOP SYSCALL), CODE(0x2000, JCC0)},
     {ON, CFE(SYSCALL, 0, 0), PIP(0x5000, 0), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(CFE, NOIP, 0, IPT_CFE_SYSCALL), I(0x1001),
      EA(PAGING, NOIP, 0, 0x5000), IF(0x2000, ASID)}, 0, 0, 0},
    {ROW "cfe syscall, tracing is disabled", {CODE(0x1000, NOP SYSCALL)},
     {ON, CFE(SYSCALL, 0, 0), PGD0},
     {S_ON, I(0x1000), EA(CFE, NOIP, 0, IPT_CFE_SYSCALL), IF(0x1001, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
};

static const row C10_rows[] = { /* PTWs that no PTWRITE caused */
    {ROW "before a jcc", {CODE(0x1000, NOP JCC0 JCC0)},
     {ON, PTW(0, 0, 5), TNT(1, 0), PTW(0, 0, 6), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5), I(0x1001),
      EA(PTWRITE, NOIP, 0, 6), I(0x1003)}, 0, 0, 0},
    {ROW "many before an indirect branch",
     {CODE(0x1000, NOP JMP_RAX), CODE(0x2000, JCC0)},
     {ON, PTW(0, 0, 5), PTW(0, 0, 6), PTW(0, 0, 7), PTW(0, 0, 8),
      PTW(0, 0, 9), PTW(0, 0, 10), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5), EA(PTWRITE, NOIP, 0, 6),
      EA(PTWRITE, NOIP, 0, 7), EA(PTWRITE, NOIP, 0, 8),
      EA(PTWRITE, NOIP, 0, 9), EA(PTWRITE, NOIP, 0, 10), I(0x1001),
      I(0x2000)}, 0, 0, 0},
    {ROW "before a ret", {CODE(0x1000, CALL("\x0b") JCC0), CODE(0x1010, RET)},
     {ON, PTW(0, 0, 5), TIP(0x1005), PTW(0, 0, 6), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5), I(0x1010),
      EA(PTWRITE, NOIP, 0, 6), I(0x1005)}, 0, 0, 0},
    {ROW "at a jcc, the first instruction",
     {CODE(0x1000, JCC0 JMP_RAX), CODE(0x2000, JCC0)},
     {ON, TNT(1, 0), PTW(0, 1, 5), FUP(0x1000), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 5), I(0x1002), I(0x2000)}, 0, 0,
     0},
    {ROW "after that of a ptwrite", {CODE(0x1000, PTWRITE NOP JCC0)},
     {ON, PTW(0, 0, 5), PTW(0, 0, 6), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 5), I(0x1005),
      EA(PTWRITE, NOIP, 0, 6), I(0x1006)}, 0, 0, 0},
    {ROW "right after it", {CODE(0x1000, PTWRITE JCC0)},
     {ON, PTW(0, 0, 5), PTW(0, 0, 6), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, 0, 0x1000, 5), EA(PTWRITE, NOIP, 0, 6),
      I(0x1005)}, 0, 0, 0},
    {ROW "in a loop", {CODE(0x1000, NOP JMP("\xfd")), CODE(0x2000, JCC0)},
     {ON, PTW(0, 0, 5), FUP(0x1000), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), I(0x1000), I(0x1001),
      EA(PTWRITE, NOIP, 0, 5), EA(ASYNC_BRANCH, 0, 0x1000, 0x2000),
      I(0x2000)}, 0, 0, 0},
    {ROW "before a mov cr3's pip", {CODE(0x1000, NOP MOV_CR3 JCC0)},
     {ON, PTW(0, 0, 5), PIP(0x5000, 0), TNT(1, 0)},
     {S_ON, I(0x1000), I(0x1001), EA(PTWRITE, NOIP, 0, 5),
      EA(PAGING, NOIP, 0, 0x5000), IF(0x1004, ASID)}, 0, 0, 0},
    {ROW "between pip and tip", {CODE(0x1000, IRETQ), CODE(0x2000, JCC0)},
     {ON, PIP(0x5000, 0), PTW(0, 0, 5), TIP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PAGING, NOIP, 0, 0x5000), EA(PTWRITE, NOIP, 0, 5),
      IF(0x2000, ASID)}, 0, 0, 0},
    {ROW "the third event of an iret", {CODE(0x1000, IRETQ)},
     {ON, CFE(IRET, 0, 0), PIP(0x5000, 0), PTW(0, 0, 5), PGD0},
     {S_ON, IF(0x1000, DISABLED), EA(CFE, NOIP, 0, IPT_CFE_IRET),
      EA(PAGING, NOIP, 0, 0x5000), EA(PTWRITE, NOIP, 0, 5),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "the fourth", {CODE(0x1000, IRETQ)},
     {ON, CFE(IRET, 0, 0), PIP(0x5000, 0), VMCS(0x6000), PTW(0, 0, 5), PGD0},
     {S_ON}, IPT_ERR_MISMATCH, 0x1000, 0},
    {ROW "before the fourth", {CODE(0x1000, IRETQ)},
     {ON, CFE(IRET, 0, 0), PIP(0x5000, 0), PTW(0, 0, 5), VMCS(0x6000), PGD0},
     {S_ON}, IPT_ERR_MISMATCH, 0x1000, 0},
    {ROW "the fourth, and more", {CODE(0x1000, IRETQ), CODE(0x2000, JCC0)},
     {ON, PIP(0x5000, 0), PTW(0, 0, 5), PTW(0, 0, 6), PTW(0, 0, 7),
      PTW(0, 0, 8), OVF, FUP(0x2000), TNT(1, 0)},
     {S_ON}, IPT_ERR_MISMATCH, 0x1000, 0},
    {ROW "before tracing is disabled", {CODE(0x1000, NOP SYSCALL)},
     {ON, PTW(0, 0, 5), PGD0},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5), IF(0x1001, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, 0},
    {ROW "before an overflow", {CODE(0x1000, NOP JCC0), CODE(0x2000, JCC0)},
     {ON, PTW(0, 0, 5), OVF, FUP(0x2000), TNT(1, 0)},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5), E(OVERFLOW, 0, 0x2000),
      IF(0x2000, RESYNCED)}, 0, 0, 0},
    {ROW "at the end", {CODE(0x1000, NOP JMP_RAX)}, {ON, PTW(0, 0, 5)},
     {S_ON, I(0x1000), EA(PTWRITE, NOIP, 0, 5)}, 0, 0, 0},
};

/* A callback of code that is not there returns to a call of before that. */
#define CALLED CODE(0x1000, CALL("\x0b") RET), CODE(0x1010, JMP_RAX), \
               CODE(0x2000, JCC0 RET)
static const row callback_rows[] = {
    {ROW "lost", {CALLED}, {ON, TIP(0x7000), TIP(0x2000), TNT(3, 7)},
     {S_ON, I(0x1000), I(0x1010), R, IF(0x2000, RESYNCED), I(0x2002)}, 0, 0,
     0},
    {ROW "kept", {CALLED}, {ON, TIP(0x7000), TIP(0x2000), TNT(3, 7)},
     {S_ON, I(0x1000), I(0x1010), R, IF(0x2000, RESYNCED), I(0x2002),
      I(0x1005)}, 0, 0, IPT_CONFIG_KEEP_CALLS},
};

/* There are no TNT packets: a branch that needs a bit is the last that is known.
 */
#define NO_TNT IPT_CONFIG_NO_TNT
static const row no_tnt_rows[] = {
    {ROW "jcc, and where a TIP leads",
     {CODE(0x1000, NOP JCC0 JMP_RAX), CODE(0x2000, NOP JMP_RAX)},
     {ON, TIP(0x2000), TIP(0x1003), TIP(0x2000)},
     {S_ON, I(0x1000), I(0x1001), R, IF(0x2000, RESYNCED), I(0x2001),
      I(0x1003)}, 0, 0, NO_TNT},
    {ROW "an interrupt before it, at it, after it",
     {CODE(0x1000, NOP JCC0 NOP NOP JMP_RAX), CODE(0x2000, IRETQ)},
     {ON, FUP(0x1000), TIP(0x2000), TIP(0x1000), FUP(0x1001), TIP(0x2000),
      TIP(0x1001), FUP(0x1004), TIP(0x2000), TIP(0x1004), TIP(0x2000)},
     {S_ON, EA(ASYNC_BRANCH, 0, 0x1000, 0x2000), I(0x2000),
      IF(0x1000, INTERRUPTED), EA(ASYNC_BRANCH, 0, 0x1001, 0x2000), I(0x2000),
      I(0x1001), R, EA(ASYNC_BRANCH, 0, 0x1004, 0x2000), IF(0x2000, RESYNCED),
      I(0x1004), I(0x1005)}, 0, 0, NO_TNT},
    {ROW "a near return, too", {CODE(0x1000, CALL("\x0b") JMP_RAX),
                                CODE(0x1010, RET), CODE(0x2000, JMP_RAX)},
     {ON, TIP(0x2000), TIP(0x1000)},
     {S_ON, I(0x1000), I(0x1010), R, IF(0x2000, RESYNCED)}, 0, 0, NO_TNT},
    {ROW "... unless it has a TIP", {CODE(0x1000, CALL("\x0b") JMP_RAX),
                                     CODE(0x1010, RET), CODE(0x2000, JMP_RAX)},
     {ON, TIP(0x1005), TIP(0x2000), TIP(0x1000)},
     {S_ON, I(0x1000), I(0x1010), I(0x1005), I(0x2000)}, 0, 0,
     NO_TNT | IPT_CONFIG_NO_RETCOMP},
    {ROW "a PTW is not a note, and tracing ends somewhere",
     {CODE(0x1000, JCC0 PTWRITE JCC0), CODE(0x2000, JMP_RAX)},
     {ON, PTW(0, 0, 5), PGD0, PGE(0x2000), TIP(0x1000)},
     {S_ON, I(0x1000), R, EA(PTWRITE, NOIP, 0, 5),
      E(DISABLED, NOIP | NOTO, 0), E(ENABLED, 0, 0x2000),
      IF(0x2000, RESYNCED | ENABLED)}, 0, 0, NO_TNT},
    {ROW "an RSM goes where its TIP says",
     {CODE(0x1000, NOP "\x0f\xaa"), CODE(0x2000, JMP_RAX)},
     {ON, TIP(0x2000), TIP(0x1000), PGD0},
     {S_ON, I(0x1000), I(0x1001), I(0x2000), I(0x1000), IF(0x1001, DISABLED),
      E(DISABLED, NOIP | NOTO, 0)}, 0, 0, NO_TNT},
    {ROW "a TIP after INTO may be that of a branch after it",
     {CODE(0x1000, NOP INTO NOP JMP_RAX), CODE(0x2000, NOP JMP_RAX)},
     {ON32, TIP(0x2000), TIP(0x1003), TIP(0x1003)},
     {S_ON32, I(0x1000), I(0x1001), R, IF(0x2000, RESYNCED), I(0x2001),
      I(0x1003)}, 0, 0, NO_TNT},
    {ROW "a bit that is there is used", {CODE(0x1000, JCC0 NOP JCC0)},
     {ON, TNT(1, 0)}, {S_ON, I(0x1000)}, 0, 0, NO_TNT},
};

/* Flow is lost in a transaction and taken up at a TIP, whose target may be wrong
 * if the transaction is aborted there (BDM64). */
static const row lost_abort_rows[] = {
    {ROW "not the next TIP's target, without TNT",
     {CODE(0x1000, XBEGIN NOP JCC0), CODE(0x1106, JMP_RAX)},
     {ABORT_BEGINS, TIP(0x41414141), TSX(0, 1), FUP(0x1009), TIP(0x1106),
      TIP(0x1106)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE), R, EA(TSX, 0, 0x1009, 1),
      EA(ASYNC_BRANCH, 0, 0x1009, 0x1106), IF(0x1106, RESYNCED)}, 0, 0,
     NO_TNT},
    {ROW "nor after code that is not there", {ABORTS, CODE(0x1106, JMP_RAX)},
     {ABORT_BEGINS, TIP(0x7000), TIP(0x41414141), TSX(0, 1), FUP(0x1009),
      TIP(0x1106), TIP(0x1106)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE), R, EA(TSX, 0, 0x1009, 1),
      EA(ASYNC_BRANCH, 0, 0x1009, 0x1106), IF(0x1106, RESYNCED)}, 0, 0, 0},
    {ROW "the target, if the abort is on the way from there",
     {CODE(0x1000, XBEGIN NOP JCC0 NOP NOP), CODE(0x1106, JMP_RAX)},
     {ABORT_BEGINS, TIP(0x1009), TSX(0, 1), FUP(0x100a), TIP(0x1106),
      TIP(0x1106)},
     {S_ABORT_BEGINS, IF(0x1007, SPECULATIVE), R,
      IF(0x1009, RESYNCED | SPECULATIVE | ABORTED | INTERRUPTED),
      EA(TSX, 0, 0x100a, 1), EA(ASYNC_BRANCH, 0, 0x100a, 0x1106), I(0x1106)},
     0, 0, NO_TNT},
};

typedef struct table {
    const char *name;
    const row *rows;
    size_t count;
    uint32_t errata; /* config.errata */
    int resync;      /* go on after errors */
} table;

/* X(name, rows, errata): a table, and its test in each file. */
#define TABLES(X)                      \
    X(branches, branch_rows, 0)        \
    X(events, event_rows, 0)           \
    X(causes, cause_rows, 0)           \
    X(wrap, wrap_rows, 0)              \
    X(errors, error_rows, 0)           \
    X(gaps, gap_rows, 0)               \
    X(host_and_guest, vmx_rows, 0)     \
    X(firmware, firmware_rows, 0)
#define FINDINGS(X)                                              \
    X(S1_skd022_without_code, S1_rows, IPT_ERRATUM_SKD022)       \
    X(nlip, nlip_rows, IPT_ERRATUM_NLIP)                         \
    X(S4_disabled_after_mov_cr3, S4_rows, 0)                     \
    X(S3_mode_after_overflow, S3_rows, 0)                        \
    X(S6_overflow_and_psb, S6_rows, 0)                           \
    X(S11_into, S11_rows, 0)                                     \
    X(R6_loop_that_counts, R6_rows, 0) \
    X(R10_late_pages, R10_rows,       \
      IPT_ERRATUM_SKD022 | IPT_ERRATUM_BDM64) \
    X(S5_trig_anchors, S5_rows, 0)    \
    X(S8_iret_with_ip, S8_rows, 0)    \
    X(S9_taken_up, S9_rows, 0)        \
    X(S13_cfe_syscall, S13_rows, 0)   \
    X(C10_ptw_without_ptwrite, C10_rows, 0)
/* Not [cov]'s: it counts the edge to the wrong target. */
#define BDM64_FINDINGS(X)                                  \
    X(S2_bdm64_without_code, S2_rows, IPT_ERRATUM_BDM64)   \
    X(S2_and_all_others, S2_rows, IPT_ERRATUM_ALL_)
#define RESYNC_FINDINGS(X)                       \
    X(S3_resync_mode, S3_resync_rows, 0)         \
    X(S7_resync_events, S7_rows, 0)              \
    X(callback_after_a_loss, callback_rows, 0)   \
    X(no_tnt, no_tnt_rows, 0)                    \
    X(lost_abort, lost_abort_rows, IPT_ERRATUM_BDM64)

#define TABLE(name, rows, errata)         \
    static const table name##_table       \
        = {#name, rows, LENGTH(rows), errata, 0};
#define RESYNC_TABLE(name, rows, errata)  \
    static const table name##_table       \
        = {#name, rows, LENGTH(rows), errata, 1};
TABLES(TABLE)
FINDINGS(TABLE)
BDM64_FINDINGS(TABLE)
RESYNC_FINDINGS(RESYNC_TABLE)

/* By the run_table() of who includes this. */
#define RUN_TABLE(name, rows, errata) run_table(&name##_table);
#define TEST_TABLE(name, rows, errata)            \
    TEST(name)                                    \
    {                                             \
        RUN_TABLE(name, rows, errata)             \
    }
#define RUN_TEST(name, rows, errata) RUN(name);

/* ---- the traced code ---- */

enum { NO_CACHE, TINY_CACHE, CACHES };

/* What config.context points to. */
typedef struct memory {
    const chunk *code;
    unsigned count;
    int pages;         /* a page is there only after its first IPT_NEED_PAGE */
    uint64_t have[64]; /* ... those that are */
    unsigned have_count;
    unsigned calls;
    int relative; /* the trace has relative IPs */
} memory;

/* A config.cs_base, for firmware_rows only: 16-bit code runs in segments of
 * 64 KiB, or, with relative IPs, where SMM begins. */
static inline uint64_t memory_cs_base(const ipt_asid *asid, uint64_t ip,
                                      uint8_t mode, void *context)
{
    const memory *m = context;
    (void) asid;
    if (mode == IPT_MODE_64) return 0;
    CHECK(mode == IPT_MODE_16 || mode == IPT_MODE_32);
    if (m->relative) return mode == IPT_MODE_16 ? 0x30000 : 0xfffff000;
    return mode == IPT_MODE_16 ? ip & 0xffff0000 : 0;
}

/* Where code at ip is. */
static inline uint64_t memory_linear(const memory *m, uint64_t ip,
                                     uint8_t mode)
{
    if (m->relative) ip += memory_cs_base(NULL, ip, mode, (void *) m);
    return mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

static inline int is_firmware(const chunk *code)
{
    for (size_t i = 0; i < LENGTH(firmware_rows); i++)
        if (code == firmware_rows[i].code) return 1;
    return 0;
}

static inline const chunk *memory_find(const memory *m, uint64_t ip)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->code[i].bytes && ip - m->code[i].ip < m->code[i].size)
            return &m->code[i];
    return NULL;
}

static inline int memory_here(const memory *m, uint64_t ip)
{
    if (!m->pages) return 1;
    for (unsigned i = 0; i < m->have_count; i++)
        if (m->have[i] == ip / 4096) return 1;
    return 0;
}

/* A config.read by the rules. */
static int memory_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                       uint64_t ip, void *context)
{
    memory *m = context;
    const chunk *c = memory_find(m, ip);
    size_t n;
    (void) asid;
    m->calls++;
    CHECK(size > 0);
    CHECK(buffer);
    if (!c || !memory_here(m, ip)) return m->calls % 2 ? 0 : IPT_NEED_PAGE;
    n = c->size - (size_t) (ip - c->ip);
    if (n > size) n = size;
    if (m->pages && n > 4096 - ip % 4096) n = (size_t) (4096 - ip % 4096);
    memcpy(buffer, c->bytes + (ip - c->ip), n);
    return (int) n;
}

/* Supply the page of at.missing, or return 0: there is none. */
static inline int memory_supply(memory *m, uint64_t ip)
{
    if (!m->pages || memory_here(m, ip) || !memory_find(m, ip)) return 0;
    if (!CHECK(m->have_count < LENGTH(m->have))) return 0;
    m->have[m->have_count++] = ip / 4096;
    return 1;
}

static inline void memory_place(memory *m, const chunk *code, int pages,
                                uint32_t flags)
{
    memset(m, 0, sizeof *m);
    m->code = code;
    m->count = CODES_MAX;
    m->pages = pages;
    m->relative = is_firmware(code) && flags & IPT_CONFIG_RELATIVE_IP;
}

static inline void memory_begin(memory *m, const row *r, int pages)
{
    memory_place(m, r->code, pages, r->flags);
}

static unsigned flow_sections; /* 0: no config.section; else: of how many bits */

static inline uint64_t memory_section(const ipt_asid *asid, uint64_t ip,
                                      void *context)
{
    (void) asid;
    (void) context;
    return flow_sections ? ip >> flow_sections & 1 : 0;
}

static inline void memory_config(memory *m, ipt_config *config)
{
    config->section = flow_sections ? memory_section : NULL;
    config->read = memory_read;
    config->context = m;
    config->cs_base = is_firmware(m->code) ? memory_cs_base : NULL;
}

/* The instruction at ip. */
static inline int memory_classify(const memory *m, uint64_t ip, uint8_t mode,
                                  ipt_code *out)
{
    uint8_t bytes[15];
    size_t n = 0;
    for (; n < sizeof bytes; n++) {
        uint64_t at = memory_linear(m, ip + n, mode);
        const chunk *c = memory_find(m, at);
        if (!c) break;
        bytes[n] = (uint8_t) c->bytes[at - c->ip];
    }
    return ipt_classify(out, bytes, n, mode, NULL);
}

/* ---- comparing ---- */

static inline uint64_t event_word(const ipt_event *e)
{
    switch (e->type) {
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
    case IPT_EVT_ASYNC_BRANCH: return e->u.branch.to;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING: return e->u.paging.cr3;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: return e->u.vmcs.base;
    case IPT_EVT_EXEC_MODE: return e->u.exec.mode;
    case IPT_EVT_TSX: return e->u.tsx.speculative * 2u + e->u.tsx.aborted;
    case IPT_EVT_PTWRITE: return e->u.ptwrite.payload;
    case IPT_EVT_MWAIT: return e->u.mwait.hints;
    case IPT_EVT_PWRE: return e->u.pwre.state;
    case IPT_EVT_PWRX: return e->u.pwrx.last;
    case IPT_EVT_CBR: return e->u.cbr.ratio;
    case IPT_EVT_MNT: return e->u.mnt.payload;
    case IPT_EVT_CFE:
        return e->u.cfe.type
               | (e->u.cfe.has & IPT_CFE_INFERRED ? INF : 0u);
    case IPT_EVT_TRIG: return e->u.trig.trbv;
    case IPT_EVT_PEBS_BEGIN: return e->u.pebs.id;
    case IPT_EVT_PEBS_ITEM: return e->u.pebs.payload;
    case IPT_EVT_GAP: return e->u.gap.lost;
    default: return 0;
    }
}

/* How a run is made, for messages too. */
typedef struct manner {
    int way;
    int cache;  /* NO_CACHE, TINY_CACHE */
    int pages;  /* code is not there at first */
    int silent; /* events are not pulled */
    uint32_t flags;
    char text[64];
} manner;

static inline manner manner_of(int way, int cache, int pages, int silent)
{
    manner m = {way, cache, pages, silent, 0, ""};
    snprintf(m.text, sizeof m.text, "%s%s%s%s", way_names[way],
             cache ? ", cache" : "", pages ? ", pages" : "",
             silent ? ", silent" : "");
    return m;
}

static inline int compare_event(const row *r, const manner *m,
                                const ipt_event *e, const step *s)
{
    char what[80];
    const char *name = ipt_evt_name(e->type);
    if (s->what != EVENT_STEP)
        return failed(r->name, m->text, "unexpected event", e->type, s->ip), 0;
    if (e->type != s->type)
        return failed(r->name, m->text, "event type", e->type, s->type), 0;
    snprintf(what, sizeof what, "flags of %s", name);
    if (e->flags != s->flags)
        return failed(r->name, m->text, what, e->flags, s->flags), 0;
    snprintf(what, sizeof what, "ip of %s", name);
    if (!(s->flags & NOIP) && e->ip != s->ip)
        return failed(r->name, m->text, what, e->ip, s->ip), 0;
    snprintf(what, sizeof what, "payload of %s", name);
    if (event_word(e) != s->a)
        return failed(r->name, m->text, what, event_word(e), s->a), 0;
    return 1;
}

/* Is a run under all manners still good? */
#define FOR_ALL_MANNERS(m)                                             \
    for (unsigned k_ = 0; k_ < WAYS * CACHES * 4; k_++)                \
        for (manner m = manner_of((int) (k_ % WAYS),                   \
                                  (int) (k_ / WAYS % CACHES),          \
                                  (int) (k_ / WAYS / CACHES & 1),      \
                                  (int) (k_ / WAYS / CACHES >> 1 & 1)); \
             m.text[0] && test_.bad == bad_; m.text[0] = 0)

/* ---- blocks ---- */

/* An instruction, a block or an event, as it was handed out. */
typedef struct entry {
    uint8_t what; /* INSN_STEP: a block of count instructions; EVENT_STEP */
    uint8_t type; /* IPT_EVT_, or the kind of the last instruction */
    uint8_t mode;
    uint8_t size; /* of the last instruction */
    uint16_t flags;
    uint16_t count;
    uint64_t ip;
    uint64_t a; /* payload, or the address of the last instruction */
    uint64_t offset; /* 0: not known */
    uint64_t next;   /* at.ip then; 0: not known */
} entry;

#define LOG_MAX 4096
typedef struct log {
    entry entries[LOG_MAX];
    size_t count;
    int status;  /* at the end */
    uint64_t ip; /* at.ip */
} log;

static inline entry *log_add(log *l)
{
    static entry spare;
    if (!CHECK(l->count < LOG_MAX)) return &spare;
    memset(&l->entries[l->count], 0, sizeof(entry));
    return &l->entries[l->count++];
}

static inline void log_event(log *l, const ipt_event *e)
{
    entry *x = log_add(l);
    x->what = EVENT_STEP;
    x->type = e->type;
    x->flags = e->flags & (uint8_t) ~IPT_EVENT_SEAM; /* compare_event looks at that */
    x->ip = e->flags & NOIP ? 0 : e->ip;
    x->a = event_word(e);
}

/* Does a block end after such an instruction? */
static inline int ends_block(const entry *x, uint32_t flags)
{
    if (x->flags & TRUNCATED) return 1;
    switch (x->type) {
    case IPT_INSN_OTHER:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_VMPTRLD: return 0;
    case IPT_INSN_JMP: return (flags & IPT_CONFIG_END_ON_JUMP) != 0;
    case IPT_INSN_CALL: return (flags & IPT_CONFIG_END_ON_CALL) != 0;
    default: return 1;
    }
}

/* The blocks that instructions make: ipt.h says where one ends. */
static inline void fold(const log *insns, log *blocks, uint32_t flags)
{
    entry *open = NULL;
    blocks->count = 0;
    blocks->status = insns->status;
    blocks->ip = insns->ip;
    for (size_t i = 0; i < insns->count; i++) {
        const entry *x = &insns->entries[i];
        if (x->what != INSN_STEP || !open) {
            *log_add(blocks) = *x;
            open = &blocks->entries[blocks->count - 1];
        } else {
            open->type = x->type;
            open->size = x->size;
            open->flags |= x->flags;
            open->count++;
            open->a = x->a;
            open->offset = x->offset;
            open->next = x->next;
        }
        const int last = i + 1 == insns->count || x[1].what != INSN_STEP;
        const uint64_t next = last ? insns->ip : x[1].ip;
        if (x->what != INSN_STEP || ends_block(x, flags)
            || open->count == UINT16_MAX
            || memory_section(NULL, x->ip, NULL)
                   != memory_section(NULL, next, NULL))
            open = NULL;
    }
    if (open && insns->status == IPT_NEED_PAGE)
        blocks->count--; /* it is not complete: it may go on */
}

/* What a row says, as a log of instructions. */
static inline void log_row(log *l, const row *r, const memory *m)
{
    uint8_t mode = IPT_MODE_UNKNOWN;
    l->count = 0;
    l->status = r->status ? r->status : IPT_END;
    l->ip = r->ip;
    for (const step *s = r->steps; s->what; s++) {
        entry *x = log_add(l);
        x->what = s->what;
        x->type = s->type;
        x->flags = s->flags;
        if (s->what == EVENT_STEP) x->flags &= (uint16_t) ~IPT_EVENT_SEAM;
        x->ip = s->ip;
        x->a = s->a;
        if (s->what == INSN_STEP) {
            ipt_code c;
            CHECK_EQ(memory_classify(m, s->ip, mode, &c), IPT_OK);
            x->type = c.kind;
            x->size = c.size;
            x->count = 1;
            x->mode = mode;
            x->a = s->ip;
        } else if (s->type == IPT_EVT_EXEC_MODE) {
            mode = (uint8_t) s->a;
        }
    }
}

static inline int same_logs(const char *name, const manner *m, const log *got,
                            const log *want)
{
    for (size_t i = 0; i < got->count && i < want->count; i++) {
        const entry *x = &got->entries[i];
        const entry *y = &want->entries[i];
        const int offsets = x->offset && y->offset;
        const int nexts = x->next && y->next;
        const struct {
            const char *name;
            uint64_t got, want;
        } fields[] = {{"what", x->what, y->what},
                      {"type", x->type, y->type},
                      {"ip", x->ip, y->ip},
                      {"flags", x->flags, y->flags},
                      {"count", x->count, y->count},
                      {"mode", x->mode, y->mode},
                      {"size", x->size, y->size},
                      {"a", x->a, y->a},
                      {"offset", offsets ? x->offset : 0,
                       offsets ? y->offset : 0},
                      {"next", nexts ? x->next : 0, nexts ? y->next : 0}};
        for (size_t f = 0; f < LENGTH(fields); f++) {
            char what[64];
            if (fields[f].got == fields[f].want) continue;
            snprintf(what, sizeof what, "item %u at %llx: %s", (unsigned) i,
                     (unsigned long long) y->ip, fields[f].name);
            failed(name, m->text, what, fields[f].got, fields[f].want);
            return 0;
        }
    }
    if (got->count != want->count)
        return failed(name, m->text, "items", got->count, want->count), 0;
    if (got->status != want->status)
        return failed(name, m->text, "-status", (uint64_t) -got->status,
                      (uint64_t) -want->status), 0;
    if (want->ip && got->ip != want->ip)
        return failed(name, m->text, "at.ip", got->ip, want->ip), 0;
    return 1;
}

#endif /* IPT_FLOW_H */
