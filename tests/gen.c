/* [gen] on its own: the exact bytes for small flows, worked out by hand from
 * the SDM's packet tables. That they decode again is for tests/record.c. */
#include "linked.h"
#include "test.h"

#define PSB "0282028202820282 0282028202820282 "
#define PSBEND "0223 "
#define CODE 0x555555554000u /* any address with bit 47 clear */
#define NEVER 0xdead0000u    /* where nothing goes */

static uint8_t out[1 << 16];
static ipt_gen gen;

static void begin(uint32_t flags, uint32_t period, uint8_t mode)
{
    ipt_gen_config config;

    memset(&config, 0, sizeof(config));
    config.flags = flags;
    config.psb_period = period;
    CHECK_EQ(ipt_gen_init(&gen, &config, mode), IPT_OK);
    gen.out = out;
    gen.size = sizeof(out);
}

/* Flush, compare what was written with hex digits, and take it. */
static void check_(const char *want, const char *file, int line)
{
    static char got[4 * sizeof(out)];
    static char clean[4 * sizeof(out)];
    size_t n = 0;
    size_t i;

    if (ipt_gen_flush(&gen) < 0)
        test_fail_(file, line, "ipt_gen_flush");
    for (i = 0; i < gen.used; i++)
        sprintf(got + 2 * i, "%02x", out[i]);
    got[2 * gen.used] = 0;
    for (i = 0; want[i]; i++)
        if (want[i] != ' ')
            clean[n++] = want[i];
    clean[n] = 0;
    if (strcmp(got, clean) && test_fail_(file, line, "bytes"))
        printf("    got  %s\n    want %s\n", got, clean);
    gen.used = 0;
}

#define BYTES(want) check_(want, __FILE__, __LINE__)

static ipt_event event(uint8_t type, uint64_t ip, uint64_t to)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.ip = ip;
    if (to == NEVER)
        e.flags = IPT_EVENT_NO_TO;
    else if (to)
        e.u.branch.to = to;
    return e;
}

static int put(ipt_event e)
{
    return ipt_gen_event(&gen, &e);
}

/* PAGING and VMCS, or ASYNC_PAGING and ASYNC_VMCS at CODE. */
static void space(uint8_t paging, uint64_t cr3, uint8_t vmcs, uint64_t base)
{
    ipt_event e = event(paging, CODE, 0);

    e.u.paging.cr3 = cr3;
    CHECK_EQ(put(e), IPT_OK);
    e = event(vmcs, CODE, 0);
    e.u.vmcs.base = base;
    CHECK_EQ(put(e), IPT_OK);
}

static void transaction(void)
{
    ipt_event e = event(IPT_EVT_TSX, CODE, 0);

    e.u.tsx.speculative = 1;
    CHECK_EQ(put(e), IPT_OK);
}

static int enable(uint64_t ip)
{
    return put(event(IPT_EVT_ENABLED, ip, 0));
}

/* A writer in 64-bit mode, enabled at CODE, its first bytes taken. */
static void begin_at_code(uint32_t flags, uint32_t period)
{
    begin(flags, period, IPT_MODE_64);
    CHECK_EQ(enable(CODE), IPT_OK);
    CHECK_EQ(ipt_gen_flush(&gen), IPT_OK);
    gen.used = 0;
}

static int branch(uint8_t kind, uint64_t ip, uint8_t size, uint64_t to)
{
    return ipt_gen_branch(&gen, kind, ip, size, to);
}

static void jcc(int taken)
{
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE + (taken ? 0x40 : 2)), IPT_OK);
}

static void call(uint64_t ip, uint64_t to)
{
    CHECK_EQ(branch(IPT_INSN_CALL, ip, 5, to), IPT_OK);
}

static void ret(uint64_t ip, uint64_t to)
{
    CHECK_EQ(branch(IPT_INSN_RET, ip, 1, to), IPT_OK);
}

static void tip(uint64_t to)
{
    CHECK_EQ(branch(IPT_INSN_JMP_INDIRECT, CODE, 2, to), IPT_OK);
}

TEST(start)
{
    /* Disabled PSB+, then TIP.PGE with all 48 bits: there is no last IP. */
    begin(0, 0, IPT_MODE_64);
    BYTES("");
    CHECK_EQ(enable(CODE), IPT_OK);
    BYTES(PSB "9901" PSBEND "71 004055555555");

    begin(0, 0, IPT_MODE_32);
    CHECK_EQ(enable(0x8048000), IPT_OK);
    BYTES(PSB "9902" PSBEND "71 008004080000");

    begin(0, 0, IPT_MODE_16);
    CHECK_EQ(enable(0xfff0), IPT_OK);
    BYTES(PSB "9900" PSBEND "71 f0ff00000000");
}

TEST(tnt)
{
    int i;

    begin_at_code(0, 0);
    jcc(1);
    BYTES("06"); /* stop 1, T, 0 */
    jcc(0);
    BYTES("04");
    jcc(1);
    jcc(1);
    jcc(0);
    BYTES("1c"); /* 0001 110 0: the oldest branch is the highest bit */
    for (i = 0; i < 3; i++) {
        jcc(1);
        jcc(0);
    }
    CHECK_EQ(gen.used, 1); /* six go out at once */
    BYTES("d4");
    for (i = 0; i < 7; i++)
        jcc(1);
    BYTES("fe 06");
    BYTES("");
}

TEST(compression)
{
    begin_at_code(0, 0);
    tip(CODE + 0x123);
    BYTES("2d 2341"); /* low 16 bits differ */
    tip(CODE + 0x123);
    BYTES("2d 2341"); /* nothing differs: still two bytes, never none */
    tip(CODE + 0x10000);
    BYTES("4d 00405655"); /* 32 bits */
    tip(0x7ffff7fe0000);
    BYTES("6d 0000fef7ff7f"); /* 48 bits, sign-extended */
    tip(0xffffffff81000000);
    BYTES("6d 00000081ffff");
    tip(0xffff800000000000);
    BYTES("6d 000000000080");
    tip(0x0000800000000000); /* not canonical in 48 bits: all 64 */
    BYTES("cd 0000000000800000");
    tip(0x0000900000000000); /* ... unless the upper 16 are there already */
    BYTES("8d 000000000090");
    tip(0x00ff900000001234); /* five-level paging */
    BYTES("cd 341200000090ff00");
    tip(0x00ff800000000000);
    BYTES("8d 000000000080");
    tip(0x00ff800000005678);
    BYTES("2d 7856");
    tip(0x5678);
    BYTES("6d 785600000000");
}

TEST(last_ip)
{
    ipt_event e;

    /* FUP, TIP.PGD and TIP.PGE all move it; a suppressed IP does not. */
    begin_at_code(0, 0);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_DISABLED, CODE + 1, NEVER)), IPT_OK);
    BYTES("3d 0140 01");
    CHECK_EQ(enable(CODE + 2), IPT_OK);
    BYTES("31 0240");
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, 0x7ffff7fe0000)), IPT_OK);
    BYTES("61 0000fef7ff7f");
    CHECK_EQ(enable(0x7ffff7fe0008), IPT_OK);
    BYTES("31 0800");

    /* After OVF there is none. */
    CHECK_EQ(put(event(IPT_EVT_OVERFLOW, 0x7ffff7fe0010, 0)), IPT_OK);
    BYTES("02f3 7d 1000fef7ff7f");
    e = event(IPT_EVT_OVERFLOW, 0, 0);
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02f3");
    CHECK_EQ(enable(0x7ffff7fe0010), IPT_OK);
    BYTES("71 1000fef7ff7f");
}

TEST(kinds)
{
    /* What takes a TIP, and what leaves nothing. */
    static const uint8_t with[] = {
        IPT_INSN_JMP_INDIRECT, IPT_INSN_CALL_INDIRECT, IPT_INSN_RET,
        IPT_INSN_JMPABS,       IPT_INSN_FAR_CALL,      IPT_INSN_FAR_JMP,
        IPT_INSN_FAR_RET,      IPT_INSN_INT,           IPT_INSN_SYSCALL,
        IPT_INSN_VMCALL,       IPT_INSN_IRET,          IPT_INSN_UIRET,
        IPT_INSN_VMENTRY,      IPT_INSN_RSM,          IPT_INSN_INTO};
    static const uint8_t without[] = {
        IPT_INSN_OTHER,   IPT_INSN_JMP,     IPT_INSN_CALL,    IPT_INSN_XBEGIN,
        IPT_INSN_PTWRITE, IPT_INSN_MOV_CR3, IPT_INSN_VMPTRLD, IPT_INSN_JCC};
    size_t i;

    CHECK_EQ(sizeof(with) + sizeof(without), IPT_INSN_COUNT);
    for (i = 0; i < sizeof(with); i++) {
        begin_at_code(0, 0);
        CHECK_EQ(branch(with[i], CODE, 3, CODE + 0x80), IPT_OK);
        BYTES("2d 8040");
    }
    for (i = 0; i + 1 < sizeof(without); i++) { /* all but the JCC */
        begin_at_code(0, 1);
        CHECK_EQ(branch(without[i], CODE, 3, CODE + 0x80), IPT_OK);
        BYTES("");
    }
    CHECK_EQ(branch(IPT_INSN_INTO, CODE, 3, CODE + 3), IPT_OK);
    BYTES(""); /* no overflow */
}

TEST(narrow)
{
    /* A JCC that falls through past the end of its segment is not taken. */
    begin(0, 0, IPT_MODE_32);
    CHECK_EQ(enable(0xfffffffe), IPT_OK);
    gen.used = 0;
    CHECK_EQ(branch(IPT_INSN_JCC, 0xfffffffe, 2, 0), IPT_OK);
    BYTES("04");
    /* 16-bit code may lie above 64 KiB: addresses in a trace are linear. */
    begin(0, 0, IPT_MODE_16);
    CHECK_EQ(enable(0x1fffe), IPT_OK);
    gen.used = 0;
    CHECK_EQ(branch(IPT_INSN_JCC, 0x1fffe, 2, 0x20000), IPT_OK);
    BYTES("04");
    call(0x12340, 0x12400);
    ret(0x12410, 0x12345);
    BYTES("06");
}

TEST(compressed_return)
{
    begin_at_code(0, 0);
    call(CODE, CODE + 0x100);
    ret(CODE + 0x110, CODE + 5);
    BYTES("06");
    ret(CODE + 0x10, CODE + 0x200); /* nothing to pop */
    BYTES("2d 0042");

    /* An indirect call is one, too. */
    CHECK_EQ(branch(IPT_INSN_CALL_INDIRECT, CODE, 2, CODE + 0x100), IPT_OK);
    ret(CODE + 0x110, CODE + 2);
    BYTES("2d 0041 06");

    /* TNT bits wait together; a TIP sends them on their way first. */
    call(CODE, CODE + 0x100);
    jcc(0);
    ret(CODE + 0x110, CODE + 5);
    jcc(1);
    BYTES("16"); /* 0001 011 0 */
    jcc(0);
    ret(CODE + 0x110, CODE + 0x77);
    BYTES("04 2d 7740");

    /* "call next; pop" is not a call. */
    call(CODE, CODE + 5);
    ret(CODE + 0x110, CODE + 5);
    BYTES("2d 0540");
    /* An indirect one is. */
    CHECK_EQ(branch(IPT_INSN_CALL_INDIRECT, CODE, 2, CODE + 2), IPT_OK);
    ret(CODE + 0x110, CODE + 2);
    BYTES("2d 0240 06");
}

TEST(retpoline)
{
    /* call over the capture loop; overwrite the return address; ret. The RET
     * pops although it is not compressed, so the caller's RET fits again. */
    begin_at_code(0, 0);
    call(CODE, CODE + 0x100);         /* to a function */
    call(CODE + 0x100, CODE + 0x110); /* its retpoline */
    ret(CODE + 0x114, CODE + 0x800);  /* "jmp *rax" */
    BYTES("2d 0048");
    ret(CODE + 0x810, CODE + 5);
    BYTES("06");
}

TEST(longjmp)
{
    int i;

    /* Three calls deep, then a jump out: the innermost frames remain, and
     * the RET of the outermost finds a stranger on top. */
    begin_at_code(0, 0);
    call(CODE, CODE + 0x100);
    call(CODE + 0x100, CODE + 0x200);
    call(CODE + 0x200, CODE + 0x300);
    tip(CODE + 0x120); /* longjmp */
    BYTES("2d 2041");
    ret(CODE + 0x130, CODE + 5);
    BYTES("2d 0540");
    /* What is left is used up one by one, fitting or not. */
    for (i = 0; i < 2; i++)
        ret(CODE + 0x10, CODE + 0x105);
    BYTES("06 2d 0541");
}

TEST(deep_calls)
{
    unsigned i;

    /* 65 calls: the oldest return address is lost, the 64 others fit. */
    begin_at_code(0, 0);
    for (i = 0; i < 65; i++)
        call(CODE + 0x100 * i, CODE + 0x100 * (i + 1));
    for (i = 65; i-- > 1;)
        ret(CODE + 0x100 * (i + 1) + 0x10, CODE + 0x100 * i + 5);
    BYTES("fe fe fe fe fe fe fe fe fe fe 3e"); /* 64 times taken */
    ret(CODE + 0x110, CODE + 5);
    BYTES("2d 0540");
}

TEST(narrow_return)
{
    ipt_event e = event(IPT_EVT_EXEC_MODE, 0, 0);

    /* Called in 64-bit mode, returned from in 32-bit mode: the low bits of the
     * entry decide. */
    begin_at_code(0, 0);
    call(0x1234554000, 0x1234554100);
    e.u.exec.mode = IPT_MODE_32;
    CHECK_EQ(put(e), IPT_OK);
    CHECK_EQ(branch(IPT_INSN_FAR_JMP, 0x1234554100, 5, 0x8048000), IPT_OK);
    ret(0x8048010, 0x34554005);
    BYTES("9902 6d 008004080000 06");
}

TEST(no_compression)
{
    begin_at_code(IPT_CONFIG_NO_RETCOMP, 0);
    call(CODE, CODE + 0x100);
    jcc(1);
    ret(CODE + 0x110, CODE + 5);
    BYTES("06 2d 0540");
}

TEST(far_branches_keep_the_stack)
{
    begin_at_code(0, 0);
    call(CODE, CODE + 0x100);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK); /* a SYSCALL */
    CHECK_EQ(enable(CODE + 0x105), IPT_OK);
    ret(CODE + 0x110, CODE + 5);
    BYTES("01 31 0541 06");

    /* Tracing that ends with a near branch may have been a call or a return. */
    call(CODE, CODE + 0x100);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, CODE + 0x900)), IPT_OK);
    CHECK_EQ(enable(CODE + 0x105), IPT_OK);
    ret(CODE + 0x110, CODE + 5);
    BYTES("21 0049 31 0541 2d 0540");

    /* Calls under a lost stretch are not known to a decoder. */
    call(CODE, CODE + 0x100);
    CHECK_EQ(put(event(IPT_EVT_OVERFLOW, CODE + 0x108, 0)), IPT_OK);
    ret(CODE + 0x110, CODE + 5);
    BYTES("02f3 7d 084155555555 2d 0540");
}

TEST(async)
{
    begin_at_code(0, 0);
    jcc(1);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE + 0x44, CODE + 0x10000)),
             IPT_OK);
    BYTES("06 3d 4440 4d 00405655"); /* TNT, FUP, TIP */
    CHECK_EQ(put(event(IPT_EVT_ASYNC_DISABLED, CODE + 0x10003, CODE)), IPT_OK);
    BYTES("3d 0340 41 00405555");
}

TEST(modes)
{
    ipt_event e = event(IPT_EVT_EXEC_MODE, 0, 0);

    /* MODE.Exec comes with the next IP, after the TNT bits before it, and
     * between FUP and TIP of an asynchronous branch. */
    begin_at_code(0, 0);
    e.u.exec.mode = IPT_MODE_32;
    CHECK_EQ(put(e), IPT_OK);
    jcc(1);
    BYTES("06");
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE + 4, 0x8048000)), IPT_OK);
    BYTES("3d 0440 9902 6d 008004080000");
    e.u.exec.mode = IPT_MODE_64;
    e.u.exec.iflag = 1;
    CHECK_EQ(put(e), IPT_OK);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    BYTES("9905 01");
    e.u.exec.mode = IPT_MODE_16;
    e.u.exec.iflag = 0;
    CHECK_EQ(put(e), IPT_OK);
    CHECK_EQ(enable(0x7c00), IPT_OK);
    BYTES("9900 51 007c0000");
    /* Once: a PSB+ repeats the one in effect, and no address space. */
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    e = event(IPT_EVT_ENABLED, 0x7c00, 0);
    e.flags = IPT_EVENT_STATUS;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("01" PSB "9900 7d 007c00000000" PSBEND "71 007c00000000");
}

TEST(transactions)
{
    ipt_event e = event(IPT_EVT_TSX, CODE + 6, 0);

    begin_at_code(0, 0);
    e.u.tsx.speculative = 1;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("9921 3d 0640"); /* begin: MODE.TSX, FUP */
    e.u.tsx.speculative = 0;
    e.u.tsx.aborted = 1;
    CHECK_EQ(put(e), IPT_OK);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE + 9, CODE + 0x20)), IPT_OK);
    BYTES("9922 3d 0940 2d 2040"); /* abort: MODE.TSX, FUP, TIP */
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    e.u.tsx.aborted = 0;
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("01 9920");
}

TEST(other_events)
{
    ipt_event e;

    begin_at_code(0, 0);
    e = event(IPT_EVT_PAGING, 0, 0);
    e.u.paging.cr3 = 0x123456780020;
    e.u.paging.nr = 1;
    jcc(1);
    CHECK_EQ(put(e), IPT_OK);
    BYTES("06 0243 038067452301"); /* CR3 >> 5 << 1 | NR */
    e = event(IPT_EVT_VMCS, 0, 0);
    e.u.vmcs.base = IPT_ASID_UNKNOWN;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02c8 ffffffffff");
    e.u.vmcs.base = 0x123456789000;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02c8 8967452301");
    e = event(IPT_EVT_PTWRITE, CODE + 9, 0);
    e.u.ptwrite.size = 8;
    e.u.ptwrite.payload = 0x1122334455667788;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02b2 8877665544332211 3d 0940");
    e.u.ptwrite.size = 4;
    e.u.ptwrite.payload = 0x55667788;
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0212 88776655");
    e = event(IPT_EVT_CBR, 0, 0);
    e.u.cbr.ratio = 0x24;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0203 2400");
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    CHECK_EQ(put(event(IPT_EVT_STOP, 0, 0)), IPT_OK);
    BYTES("01 0283");
}

TEST(psb)
{
    /* Everything a decoder must know to start here, then full IPs again, and
     * no return is compressed against a call before it. */
    begin_at_code(0, 40);
    space(IPT_EVT_PAGING, 0x20, IPT_EVT_VMCS, 0x1000);
    gen.used = 0;
    call(CODE, CODE + 0x100);
    CHECK_EQ(gen.used, 0); /* due, but a call proves no position */
    jcc(1);
    BYTES("06" PSB "0243 020000000000 02c8 0100000000 9901 7d 404055555555"
          PSBEND);
    ret(CODE + 0x110, CODE + 5);
    BYTES("2d 0540" PSB "0243 020000000000 02c8 0100000000 9901 7d 054055555555"
          PSBEND);
    /* Disabled: no FUP. In a transaction: MODE.TSX. */
    begin_at_code(0, 30);
    transaction();
    BYTES("9921 3d 0040");
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    BYTES("01" PSB "9901 9921" PSBEND);
}

TEST(psb_period)
{
    uint64_t since = 0;
    uint64_t psbs = 0;
    size_t i;

    begin(0, 200, IPT_MODE_64);
    enable(CODE);
    for (i = 0; i < 1000; i++)
        tip(CODE + 16 * (i & 7));
    for (i = 0; i + 16 <= gen.used; i++, since++) {
        if (memcmp(out + i, out, 16) == 0) { /* it begins with one */
            CHECK(i == 0 || (since >= 200 && since < 203));
            since = 0;
            psbs++;
        }
    }
    CHECK(psbs >= gen.used / 203);
    CHECK(psbs <= gen.used / 200 + 1);
}

TEST(long_tnt)
{
    int i;

    begin_at_code(IPT_GEN_TNT_64, 0);
    for (i = 0; i < 6; i++)
        jcc(1);
    BYTES("fe"); /* six fit in the short one */
    for (i = 0; i < 7; i++)
        jcc(i == 0);
    BYTES("02a3 c00000000000"); /* stop 1, T, 6 x 0 */
    for (i = 0; i < 47; i++)
        jcc(i == 46);
    CHECK_EQ(gen.used, 8); /* goes out by itself */
    BYTES("02a3 010000000080");
}

TEST(deferred)
{
    int i;

    /* TNT first, then the TIPs, then what forced them out. */
    begin_at_code(IPT_GEN_DEFER, 0);
    jcc(1);
    tip(CODE + 0x100);
    jcc(0);
    tip(CODE + 0x200);
    CHECK_EQ(gen.used, 0);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE + 0x210, CODE + 0x300)),
             IPT_OK);
    BYTES("0c 2d 0041 2d 0042 3d 1042 2d 0043");

    /* An uncompressed RET sends all on their way, its TIP last. */
    jcc(1);
    CHECK_EQ(branch(IPT_INSN_CALL_INDIRECT, CODE, 2, CODE + 0x100), IPT_OK);
    ret(CODE + 0x110, CODE + 2);
    ret(CODE + 0x10, CODE + 0x400);
    CHECK_EQ(gen.used, 7);
    BYTES("0e 2d 0041 2d 0044");

    /* A full TNT, and eight TIPs, too. */
    tip(CODE);
    for (i = 0; i < 6; i++)
        jcc(1);
    CHECK_EQ(gen.used, 4);
    BYTES("fe 2d 0040");
    for (i = 0; i < 8; i++)
        tip(CODE);
    CHECK_EQ(gen.used, 24);
    gen.used = 0;
    BYTES("");

    begin_at_code(IPT_GEN_DEFER | IPT_CONFIG_NO_RETCOMP, 0);
    ret(CODE, CODE + 1);
    jcc(1);
    CHECK_EQ(gen.used, 0);
    BYTES("06 2d 0140");
}

/* 24 core cycles and 20 TSC ticks to a bus cycle; 10 ticks to a crystal's. */
static void begin_timed(uint32_t flags)
{
    ipt_gen_config config;

    memset(&config, 0, sizeof(config));
    config.flags = flags;
    config.tsc = 0x1003;
    config.cpuid_15_eax = 1;
    config.cpuid_15_ebx = 10;
    config.mtc_freq = 2;
    config.nom_freq = 20;
    config.cbr = 24;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_OK);
    gen.out = out;
    gen.size = sizeof(out);
}

TEST(timing)
{
    ipt_event e;

    begin_timed(IPT_GEN_TSC | IPT_GEN_MTC | IPT_GEN_CYC);
    CHECK_EQ(enable(CODE), IPT_OK);
    /* 0x1003 is 410 crystal clocks and 0 ticks less 1: 4099 = 409 * 10 + 9. */
    BYTES(PSB "19 03100000000000 0273 9901 00 0900 0203 1800 9901" PSBEND
              "71 004055555555");
    gen.clock = 12; /* 10 ticks: no edge of 4 crystal clocks yet */
    tip(CODE + 0x100);
    BYTES("63 2d 0041"); /* CYC 12 */
    gen.clock = 48; /* 4139 = 413 * 10 + 9; an edge is at 412 */
    tip(CODE + 0x200);
    /* 21 ticks are 26 cycles: CYC 14, MTC 412 / 4, CYC 22 */
    BYTES("73 5967 b3 2d 0042");
    tip(CODE + 0x200);
    BYTES("2d 0042"); /* no time has passed */
    e = event(IPT_EVT_CBR, 0, 0);
    e.u.cbr.ratio = 10; /* a cycle is two ticks now */
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0203 0a00");
    gen.clock += 20; /* 4179: one edge, at 416 */
    jcc(1);
    BYTES("5b 5968 4b 06"); /* it was 11 cycles after CBR */
    gen.clock += 100; /* five edges: one MTC, the last, 111 after CBR */
    jcc(1);
    BYTES("df04 596d 4b 06");
    gen.clock += 100000; /* more than MTC can say */
    CHECK_EQ(put(event(IPT_EVT_OVERFLOW, CODE, 0)), IPT_OK);
    CHECK(gen.used < IPT_GEN_ROOM);
    gen.used = 0;
    begin_timed(IPT_GEN_CYC); /* begun at 7: no CYC says so */
    gen.clock = 7;
    CHECK_EQ(enable(CODE), IPT_OK);
    BYTES(PSB "0203 1800 9901" PSBEND "71 004055555555");
    begin_timed(IPT_GEN_MTC); /* TMA is nothing without TSC */
    CHECK_EQ(enable(CODE), IPT_OK);
    BYTES(PSB "0203 1800 9901" PSBEND "71 004055555555");
}

/* Without a frequency or a ratio a cycle is a TSC tick. */
TEST(timing_without_ratio)
{
    int i;

    for (i = 0; i < 2; i++) {
        begin_timed(IPT_GEN_TSC | IPT_GEN_MTC);
        gen.config_.nom_freq = i ? 20 : 0;
        gen.time_.cbr = i ? 0 : 24;
        CHECK_EQ(enable(CODE), IPT_OK);
        CHECK_EQ(ipt_gen_flush(&gen), IPT_OK);
        gen.used = 0;
        gen.clock = 16; /* 4115 ticks: below 412 * 10 */
        tip(CODE + 0x100);
        BYTES("2d 0041");
        gen.clock = 21; /* 4120 */
        tip(CODE + 0x200);
        BYTES("5967 2d 0042");
    }
}

/* MTC alone: where it wraps, a decoder cannot know how often. */
TEST(timing_beyond_mtc)
{
    begin_timed(IPT_GEN_MTC);
    gen.clock = 5000; /* before the trace begins no MTC is due */
    CHECK_EQ(put(event(IPT_EVT_STOP, 0, 0)), IPT_OK);
    CHECK_EQ(enable(CODE), IPT_OK);
    CHECK_EQ(ipt_gen_flush(&gen), IPT_OK);
    gen.used = 0;
    gen.clock = 1000000;
    tip(CODE + 0x100);
    CHECK_EQ(gen.used, 5); /* one MTC, the last, and TIP */
    CHECK_EQ(out[0], 0x59);
}

/* TMA holds at most 511 ticks; a crystal clock of 511.5 may have 511. */
TEST(timing_slow_crystal)
{
    ipt_gen_config config;

    memset(&config, 0, sizeof(config));
    config.flags = IPT_GEN_TSC | IPT_GEN_MTC;
    config.tsc = 1022; /* crystal clock 1 began at 511 */
    config.cpuid_15_eax = 2;
    config.cpuid_15_ebx = 1023;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_OK);
    gen.out = out;
    gen.size = sizeof(out);
    CHECK_EQ(enable(CODE), IPT_OK);
    BYTES(PSB "19 fe030000000000 0273 0100 00 ff01 9901" PSBEND
              "71 004055555555");
}

/* A PSB+ repeats what was said before it, and no more. */
TEST(psb_state)
{
    ipt_event e = event(IPT_EVT_PAGING, 0, 0);

    begin_timed(0);
    e.u.paging.cr3 = 0x20;
    CHECK_EQ(put(e), IPT_OK);
    BYTES(PSB "0203 1800 9901" PSBEND "0243 020000000000");
    e = event(IPT_EVT_ENABLED, CODE, 0);
    e.flags = IPT_EVENT_STATUS;
    CHECK_EQ(put(e), IPT_OK);
    BYTES(PSB "0203 1800 0243 020000000000 9901 7d 004055555555" PSBEND
              "71 004055555555");
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    e = event(IPT_EVT_VMCS, 0, 0);
    e.u.vmcs.base = 0x1000;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("01 02c8 0100000000");
    e = event(IPT_EVT_ENABLED, CODE, 0);
    e.flags = IPT_EVENT_STATUS;
    CHECK_EQ(put(e), IPT_OK);
    BYTES(PSB "0203 1800 0243 020000000000 02c8 0100000000 9901"
              "7d 004055555555" PSBEND "71 004055555555");
}

TEST(power_and_maintenance)
{
    ipt_event e = event(IPT_EVT_PWRE, 0, 0);

    begin_at_code(0, 0);
    e.u.pwre.state = 5;
    e.u.pwre.sub_state = 3;
    e.u.pwre.hw = 1;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0222 08 53");
    e = event(IPT_EVT_PWRX, 0, 0);
    e.u.pwrx.last = 6;
    e.u.pwrx.deepest = 7;
    e.u.pwrx.store = 1;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02a2 67 04 000000");
    e = event(IPT_EVT_MNT, 0, 0);
    e.u.mnt.payload = 0x8877665544332211;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02c388 1122334455667788");
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    e = event(IPT_EVT_EXSTOP, 0, 0); /* also while nothing is traced */
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("01 0262");
}

TEST(address_spaces)
{
    ipt_event e;

    /* A VM exit: FUP, PIP, VMCS, TIP. */
    begin_at_code(0, 0);
    space(IPT_EVT_ASYNC_PAGING, 0x20, IPT_EVT_ASYNC_VMCS, 0x1000);
    BYTES("");
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE, CODE + 0x100)), IPT_OK);
    BYTES("3d 0040 0243 020000000000 02c8 0100000000 2d 0041");
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE, CODE + 0x100)), IPT_OK);
    BYTES("3d 0040 2d 0041"); /* once */
    /* A VM entry that loads RTIT_CTL: the PSB+ knows the IP already. */
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    e = event(IPT_EVT_ENABLED, CODE, 0);
    e.flags = IPT_EVENT_STATUS;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("01" PSB "0243 020000000000 02c8 0100000000 9901 7d 004055555555"
          PSBEND "71 004055555555");
}

/* A mode or address space that changed while trace was lost holds from the
 * OVERFLOW on, whether it is reported before it or after it: a PSB+ says it. */
TEST(state_over_a_loss)
{
    static const char pip[] = "0243 020000000000 ", vmcs[] = "02c8 0100000000 ",
                      fup[] = "7d 004000000000 ";
    for (unsigned i = 0; i < 32; i++) { /* bits: what changed, in which order */
        const int on = i & 1, after = i >> 1 & 1, mode = i >> 2 & 1;
        const int cr3 = i >> 3 & 1, base = i >> 4 & 1;
        ipt_event e = event(IPT_EVT_OVERFLOW, 0x4000, 0);
        char want[256];
        if (!on && after) continue; /* PAGING, VMCS, and the mode by TIP.PGE */
        if (!on) e.flags = IPT_EVENT_NO_IP, e.ip = 0;
        begin_at_code(0, 0);
        for (int step = 0; step < 2; step++) {
            if (step == after) { /* the state */
                ipt_event s = event(IPT_EVT_EXEC_MODE, 0x4000, 0);
                s.u.exec.mode = IPT_MODE_32;
                if (mode) CHECK_EQ(put(s), IPT_OK);
                s = event(IPT_EVT_ASYNC_PAGING, 0x4000, 0);
                s.u.paging.cr3 = 0x20;
                if (cr3) CHECK_EQ(put(s), IPT_OK);
                s = event(IPT_EVT_ASYNC_VMCS, 0x4000, 0);
                s.u.vmcs.base = 0x1000;
                if (base) CHECK_EQ(put(s), IPT_OK);
            } else {
                CHECK_EQ(put(e), IPT_OK);
            }
        }
        sprintf(want, "02f3 %s", on ? fup : "");
        for (unsigned n = 0, some = 0; n < 3; n++) { /* after it: one for each */
            if (!(n == 0 ? mode : n == 1 ? cr3 : base)) continue;
            if (some++ && !after) continue;
            sprintf(want + strlen(want), PSB "%s%s%s %s" PSBEND,
                    cr3 && (n > 0 || !after) ? pip : "",
                    base && (n > 1 || !after) ? vmcs : "",
                    mode ? "9902" : "9901", on ? fup : "");
        }
        BYTES(want);
    }
}

/* An address space that waits for an asynchronous branch comes to no other. */
TEST(refused_until_the_branch)
{
    begin_at_code(0, 0);
    space(IPT_EVT_ASYNC_PAGING, 0x20, IPT_EVT_ASYNC_VMCS, 0x1000);
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE + 2), IPT_ERR_CONTEXT);
    CHECK_EQ(branch(IPT_INSN_CALL, CODE, 5, CODE), IPT_ERR_CONTEXT);
    CHECK_EQ(branch(IPT_INSN_IRET, CODE, 2, CODE), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_ERR_CONTEXT);
    BYTES("");
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE, CODE + 0x100)), IPT_OK);
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE + 2), IPT_OK);
}

/* A RET is compressed to a call that was traced, also if tracing was disabled
 * in between, unless a branch with a target disabled it. */
TEST(compressed_over_disabled)
{
    begin_at_code(0, 0);
    call(CODE, CODE + 0x100);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_OK);
    CHECK_EQ(enable(CODE + 0x110), IPT_OK);
    ret(CODE + 0x110, CODE + 5);
    BYTES("01 31 1041 06");
    call(CODE, CODE + 0x100);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, CODE + 0x40)), IPT_OK);
    CHECK_EQ(enable(CODE + 0x110), IPT_OK);
    ret(CODE + 0x110, CODE + 5);
    BYTES("21 4040 31 1041 2d 0540");
}

TEST(control_flow_events)
{
    ipt_event e = event(IPT_EVT_CFE, CODE, 0);

    begin_at_code(0, 0);
    e.flags = IPT_EVENT_NO_IP;
    e.u.cfe.type = IPT_CFE_INTR;
    e.u.cfe.vector = 14;
    e.u.cfe.has = IPT_CFE_HAS_VECTOR | IPT_CFE_HAS_CR2;
    e.u.cfe.data[0] = 0x1234;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0253 00 3412000000000000 0213 01 0e");
    e.flags = 0;
    e.u.cfe.type = IPT_CFE_IRET;
    e.u.cfe.has = 0;
    e.u.cfe.vector = 0;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0213 82 00 3d 0040");
    e.flags = IPT_EVENT_NO_IP;
    e.u.cfe.type = IPT_CFE_VMEXIT;
    e.u.cfe.has = IPT_CFE_HAS_VMXQ | IPT_CFE_HAS_VMXR;
    e.u.cfe.data[1] = 30;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("0253 01 3412000000000000 0253 02 1e00000000000000 0213 08 00");
    e = event(IPT_EVT_EXSTOP, CODE + 1, 0);
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02e2 3d 0140");
    e = event(IPT_EVT_MWAIT, 0, 0);
    e.u.mwait.hints = 0x21;
    e.u.mwait.ext = 1;
    CHECK_EQ(put(e), IPT_OK);
    BYTES("02c2 21000000 01000000");
}

TEST(room)
{
    uint8_t guard[IPT_GEN_ROOM + 16];
    ipt_gen before;
    ipt_event e = event(IPT_EVT_ENABLED, CODE, 0);

    /* One byte short: nothing is done, and the same call works with more. */
    begin(0, 1, IPT_MODE_64);
    memset(guard, 0xcc, sizeof(guard));
    gen.out = guard;
    gen.size = IPT_GEN_ROOM - 1;
    before = gen;
    CHECK_EQ(ipt_gen_event(&gen, &e), IPT_ERR_ROOM);
    CHECK_EQ(ipt_gen_flush(&gen), IPT_ERR_ROOM);
    CHECK(memcmp(&before, &gen, sizeof(gen)) == 0);
    CHECK_EQ(guard[0], 0xcc);
    gen.size = IPT_GEN_ROOM;
    CHECK_EQ(ipt_gen_event(&gen, &e), IPT_OK);
    CHECK(gen.used > 0);
    CHECK(gen.used <= IPT_GEN_ROOM);
    CHECK_EQ(guard[IPT_GEN_ROOM], 0xcc);
    before = gen;
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE + 2), IPT_ERR_ROOM);
    CHECK(memcmp(&before, &gen, sizeof(gen)) == 0);

    /* No room at all, and used beyond it, do no harm. */
    gen.out = NULL;
    gen.size = 0;
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE + 2), IPT_ERR_ROOM);
    gen.size = sizeof(out);
    gen.used = 0;
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE + 2), IPT_ERR_ARG);
}

/* The call that needs most: TNT bits, FUP, MODE.Exec, TIP, and then a PSB+ with
 * everything in it. */
TEST(room_is_enough)
{
    ipt_event e;

    begin_at_code(0, 1);
    space(IPT_EVT_PAGING, 0xfffffffffffe0, IPT_EVT_VMCS, 0xffffffffff000);
    transaction();
    e = event(IPT_EVT_EXEC_MODE, 0, 0);
    e.u.exec.mode = IPT_MODE_16;
    CHECK_EQ(put(e), IPT_OK);
    gen.config_.psb_period = 0;
    jcc(1);
    gen.config_.psb_period = 1;
    gen.used = 0;
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, 0x1234567800000000,
                       0x8765432100000000)),
             IPT_OK);
    CHECK(gen.used > 60);
    CHECK(gen.used <= IPT_GEN_ROOM);

    /* With everything on: CYC, TSC instead of MTC, seven deferred TIPs, a mode
     * that waits. */
    for (unsigned lost = 0; lost < 2; lost++) {
        ipt_gen_config config;
        int i;

        memset(&config, 0, sizeof(config));
        config.flags = IPT_GEN_FLAGS_;
        config.cpuid_15_eax = config.cpuid_15_ebx = 1;
        config.cbr = 1;
        CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_OK);
        gen.out = out;
        gen.size = sizeof(out);
        CHECK_EQ(enable(CODE), IPT_OK);
        space(IPT_EVT_PAGING, 0xfffffffffffe0, IPT_EVT_VMCS, 0xffffffffff000);
        transaction();
        gen.tnt_ = 1;
        for (i = 0; i < 7; i++)
            tip((uint64_t) (i & 1 ? 0x87 : 0x12) << 56);
        for (i = 0; i < 40; i++)
            jcc(1);
        e = event(IPT_EVT_EXEC_MODE, 0, 0);
        e.u.exec.mode = IPT_MODE_32;
        CHECK_EQ(put(e), IPT_OK);
        gen.config_.psb_period = 1;
        gen.used = 0;
        gen.clock = UINT64_MAX / 2;
        e = event(IPT_EVT_ASYNC_BRANCH, 0x1234567800000000, 0x8765432100000000);
        if (lost) e.type = IPT_EVT_OVERFLOW;
        CHECK_EQ(put(e), IPT_OK);
        CHECK(gen.used > 180);
        CHECK(gen.used <= IPT_GEN_ROOM);
    }
}

TEST(arguments)
{
    ipt_gen_config config;
    ipt_event e = event(IPT_EVT_ENABLED, CODE, 0);
    unsigned type;

    memset(&config, 0, sizeof(config));
    CHECK_EQ(ipt_gen_init(NULL, &config, IPT_MODE_64), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_init(&gen, NULL, IPT_MODE_64), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_UNKNOWN), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_COUNT), IPT_ERR_ARG);
    config.flags = 0x80;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_ERR_ARG);
    config.flags = IPT_GEN_MTC; /* without a crystal clock */
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_ERR_ARG);
    config.cpuid_15_eax = 1;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_ERR_ARG);
    config.cpuid_15_ebx = 512; /* more than TMA holds */
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_ERR_ARG);
    config.cpuid_15_ebx = 511;
    config.mtc_freq = 16;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_ERR_ARG);
    config.mtc_freq = 15;
    CHECK_EQ(ipt_gen_init(&gen, &config, IPT_MODE_64), IPT_OK);

    memset(&gen, 0, sizeof(gen));
    CHECK_EQ(ipt_gen_flush(&gen), IPT_ERR_STATE);
    CHECK_EQ(ipt_gen_flush(NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_gen_event(&gen, &e), IPT_ERR_STATE);
    CHECK_EQ(ipt_gen_event(NULL, &e), IPT_ERR_ARG);
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE), IPT_ERR_STATE);
    CHECK_EQ(ipt_gen_branch(NULL, IPT_INSN_JCC, CODE, 2, CODE), IPT_ERR_ARG);

    begin(0, 0, IPT_MODE_64);
    CHECK_EQ(ipt_gen_event(&gen, NULL), IPT_ERR_ARG);
    CHECK_EQ(branch(IPT_INSN_COUNT, CODE, 2, CODE), IPT_ERR_ARG);
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 0, CODE), IPT_ERR_ARG);
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 16, CODE), IPT_ERR_ARG);
    CHECK_EQ(branch(IPT_INSN_JCC, CODE, 2, CODE), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_DISABLED, 0, NEVER)), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_DISABLED, CODE, 0)), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_PAGING, CODE, 0)), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_VMCS, CODE, 0)), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_EXSTOP, CODE, 0)), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE, CODE)), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_ASYNC_BRANCH, CODE, NEVER)), IPT_ERR_ARG);
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e = event(IPT_EVT_PAGING, 0, 0);
    e.u.paging.cr3 = 1;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e = event(IPT_EVT_VMCS, 0, 0);
    e.u.vmcs.base = (uint64_t) 1 << 52;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e = event(IPT_EVT_EXEC_MODE, 0, 0);
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e.u.exec.mode = IPT_MODE_COUNT;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e = event(IPT_EVT_ASYNC_BRANCH, CODE, CODE);
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e.type = IPT_EVT_ASYNC_DISABLED;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    for (type = 0; type < 256; type++)
        if (type == IPT_EVT_NONE || type == IPT_EVT_TIP || type == IPT_EVT_TNT
            || type >= IPT_EVT_TRIG)
            CHECK_EQ(put(event((uint8_t) type, CODE, 0)), IPT_ERR_ARG);
    BYTES(""); /* none of this began the trace */
    CHECK_EQ(enable(CODE), IPT_OK);
    CHECK_EQ(enable(CODE), IPT_ERR_CONTEXT);
    CHECK_EQ(put(event(IPT_EVT_STOP, 0, 0)), IPT_ERR_CONTEXT);
    e = event(IPT_EVT_PTWRITE, CODE, 0);
    e.u.ptwrite.size = 2;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e = event(IPT_EVT_TSX, 0, 0); /* it is at an instruction, ... */
    e.flags = IPT_EVENT_NO_IP;
    CHECK_EQ(put(e), IPT_ERR_ARG);
    e.u.tsx.aborted = 1; /* ... or the branch after it says where */
    CHECK_EQ(put(e), IPT_OK);
}

int main(void)
{
    RUN(start);
    RUN(tnt);
    RUN(compression);
    RUN(last_ip);
    RUN(kinds);
    RUN(narrow);
    RUN(compressed_return);
    RUN(retpoline);
    RUN(longjmp);
    RUN(deep_calls);
    RUN(narrow_return);
    RUN(no_compression);
    RUN(far_branches_keep_the_stack);
    RUN(async);
    RUN(modes);
    RUN(transactions);
    RUN(other_events);
    RUN(psb);
    RUN(psb_period);
    RUN(long_tnt);
    RUN(deferred);
    RUN(timing);
    RUN(timing_without_ratio);
    RUN(timing_beyond_mtc);
    RUN(timing_slow_crystal);
    RUN(psb_state);
    RUN(power_and_maintenance);
    RUN(address_spaces);
    RUN(state_over_a_loss);
    RUN(refused_until_the_branch);
    RUN(compressed_over_disabled);
    RUN(control_flow_events);
    RUN(room);
    RUN(room_is_enough);
    RUN(arguments);
    return test_report();
}
