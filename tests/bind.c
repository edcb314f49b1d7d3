/* bind.c: where an event binds, and which instruction it is an effect of. */
#define IPT_IMPLEMENTATION
#include "../ipt.h"
#include "test.h"

#define KIND(kind) ((uint32_t)1 << IPT_INSN_##kind)
#define FAR                                                                  \
    (KIND(FAR_CALL) | KIND(FAR_JMP) | KIND(FAR_RET) | KIND(INT)              \
     | KIND(SYSCALL) | KIND(VMCALL) | KIND(IRET) | KIND(UIRET)               \
     | KIND(VMENTRY) | KIND(RSM) | KIND(INTO))

enum {
    IP = 0x1000,
    TO = 0x2000,
    NO_IP = IPT_EVENT_NO_IP,
    NO_TO = IPT_EVENT_NO_TO,
    STATUS = IPT_EVENT_STATUS
};

typedef struct row {
    int line;
    uint8_t type, flags;
    uint8_t cfe, has; /* or TRIG's icnt and icntv */
    uint8_t how;
    uint64_t ip; /* 0: of no interest */
    uint32_t kinds;
    uint8_t once;
} row;

#define ROW(type, flags, cfe, has, how, ip, kinds, once)                     \
    {__LINE__, IPT_EVT_##type, flags, cfe, has, IPTI_BIND_##how, ip, kinds, once}

static ipt_event event_of(const row *r)
{
    ipt_event event;

    memset(&event, 0, sizeof(event));
    event.type = r->type;
    event.flags = r->flags;
    event.ip = r->flags & NO_IP ? 0 : IP;
    if (r->type == IPT_EVT_CFE) {
        event.u.cfe.type = r->cfe;
        event.u.cfe.has = r->has;
        event.u.cfe.data[0] = UINT64_MAX; // it is no matter what this says
    } else if (r->type == IPT_EVT_TRIG) {
        event.u.trig.icnt = r->cfe;
        event.u.trig.icntv = r->has;
    } else if (!(r->flags & NO_TO)) {
        event.u.branch.to = TO;
    }
    return event;
}

static void check_rows(const row *r, size_t count)
{
    for (; count > 0; count--, r++) {
        const ipt_event event = event_of(r);
        ipt_bind_ bind;
        int ok;

        memset(&bind, 0xa5, sizeof(bind)); // what was there before
        ipti_bind_event(&bind, &event);
        ok = CHECK_EQ(bind.how, r->how) & CHECK_EQ(bind.kinds, r->kinds)
             & CHECK_EQ(bind.once, r->once);
        if (r->ip) ok &= CHECK_EQ(bind.ip, r->ip);
        if (r->how == IPTI_BIND_COUNT) ok &= CHECK_EQ(bind.count, r->cfe);
        if (!ok) printf("    row of line %d\n", r->line);
    }
}

// What the trace gives an IP binds there, whatever comes of it.
TEST(with_ip)
{
    static const row rows[] = {
        ROW(ASYNC_BRANCH, 0, 0, 0, AT, IP, 0, 0),
        ROW(ASYNC_DISABLED, 0, 0, 0, AT, IP, 0, 0),
        ROW(ASYNC_PAGING, 0, 0, 0, AT, IP, 0, 0),
        ROW(ASYNC_VMCS, 0, 0, 0, AT, IP, 0, 0),
        ROW(EXEC_MODE, 0, 0, 0, AT, IP, 0, 0),
        ROW(TSX, 0, 0, 0, AT, IP, 0, 0),
        ROW(EXSTOP, 0, 0, 0, AT, IP, 0, 0),
        ROW(TRIG, 0, 7, 1, AT, IP, 0, 0),
        ROW(PEBS_BEGIN, 0, 0, 0, AT, IP, 0, 0),
        ROW(CFE, 0, IPT_CFE_INTR, 0, AT, IP, 0, 0),
        ROW(CFE, 0, IPT_CFE_SYSCALL, 0, AT, IP, 0, 0),
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

// An effect of an instruction comes after it: SDM, "PTWRITE", "Event Trace".
TEST(effects)
{
    static const row rows[] = {
        ROW(PTWRITE, 0, 0, 0, AFTER, IP, KIND(PTWRITE), IPTI_TAKEN_PTWRITE),
        ROW(PTWRITE, NO_IP, 0, 0, CAUSED, 0, KIND(PTWRITE),
            IPTI_TAKEN_PTWRITE),
        ROW(CFE, 0, IPT_CFE_IRET, 0, AFTER, IP, KIND(IRET), IPTI_TAKEN_CFE),
        ROW(CFE, NO_IP, IPT_CFE_IRET, 0, CAUSED, 0, KIND(IRET),
            IPTI_TAKEN_CFE),
        ROW(CFE, 0, IPT_CFE_UIRET, 0, AFTER, IP, KIND(UIRET), IPTI_TAKEN_CFE),
        ROW(CFE, NO_IP, IPT_CFE_UIRET, 0, CAUSED, 0, KIND(UIRET),
            IPTI_TAKEN_CFE),
        ROW(CFE, 0, IPT_CFE_VMENTRY, 0, AFTER, IP, KIND(VMENTRY),
            IPTI_TAKEN_CFE),
        ROW(CFE, NO_IP, IPT_CFE_VMENTRY, 0, CAUSED, 0, KIND(VMENTRY),
            IPTI_TAKEN_CFE),
        ROW(PAGING, NO_IP, 0, 0, CAUSED, 0, FAR | KIND(MOV_CR3),
            IPTI_TAKEN_PAGING),
        ROW(VMCS, NO_IP, 0, 0, CAUSED, 0, FAR | KIND(VMPTRLD),
            IPTI_TAKEN_VMCS),
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

// Instead of CFE packets a PIP says it: its far branch is not known.
TEST(inferred)
{
    static const row rows[] = {
        ROW(CFE, NO_IP, IPT_CFE_VMENTRY, IPT_CFE_INFERRED, CAUSED, 0, FAR,
            IPTI_TAKEN_CFE),
        ROW(CFE, 0, IPT_CFE_VMENTRY, IPT_CFE_INFERRED, AFTER, IP, FAR,
            IPTI_TAKEN_CFE),
        ROW(CFE, NO_IP, IPT_CFE_VMEXIT, IPT_CFE_INFERRED, HERE, 0, FAR,
            IPTI_TAKEN_CFE),
        ROW(CFE, 0, IPT_CFE_VMEXIT, IPT_CFE_INFERRED, AT, IP, FAR,
            IPTI_TAKEN_CFE),
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

// DISABLED stops before its target; without one a MOV CR3 may have caused it.
TEST(tracing)
{
    static const row rows[] = {
        ROW(DISABLED, NO_IP, 0, 0, AT, TO, 0, 0),
        ROW(DISABLED, NO_IP | NO_TO, 0, 0, CAUSED, 0, KIND(MOV_CR3),
            IPTI_TAKEN_PAGING),
        ROW(DISABLED, NO_IP | NO_TO | STATUS, 0, 0, HERE, 0, 0, 0),
        ROW(ENABLED, 0, 0, 0, HERE, 0, 0, 0),
        ROW(ENABLED, STATUS, 0, 0, AT, IP, 0, 0),
        ROW(OVERFLOW, 0, 0, 0, HERE, 0, 0, 0),
        ROW(OVERFLOW, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(GAP, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(STOP, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(TIP, NO_IP, 0, 0, HERE, 0, 0, 0),
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

// What a PSB+ says once more is an effect of no instruction.
TEST(status)
{
    static const row rows[] = {
        ROW(PAGING, STATUS, 0, 0, AT, IP, 0, 0),
        ROW(PAGING, STATUS | NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(VMCS, STATUS, 0, 0, AT, IP, 0, 0),
        ROW(VMCS, STATUS | NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(EXEC_MODE, STATUS, 0, 0, AT, IP, 0, 0),
        ROW(EXEC_MODE, STATUS | NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(TSX, STATUS, 0, 0, AT, IP, 0, 0),
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

// No IP, and no instruction to look for; TRIG counts them, SYSCALL comes next.
TEST(without_ip)
{
    static const row rows[] = {
        ROW(EXEC_MODE, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(CBR, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(MWAIT, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(CFE, NO_IP, IPT_CFE_INTR, 0, HERE, 0, 0, 0),
        ROW(CFE, NO_IP, IPT_CFE_SYSCALL, 0, BEFORE, 0, KIND(SYSCALL), 0),
        ROW(TRIG, NO_IP, 0, 0, HERE, 0, 0, 0),
        ROW(TRIG, NO_IP, 7, 1, COUNT, 0, 0, 0),
        ROW(TRIG, NO_IP, 0, 1, COUNT, 0, 0, 0),
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static int of(uint8_t type, uint8_t flags, uint8_t kind, unsigned taken)
{
    ipt_event event;
    ipt_bind_ bind;

    memset(&event, 0, sizeof(event));
    event.type = type;
    event.flags = flags;
    ipti_bind_event(&bind, &event);
    return ipti_bind_of(&bind, kind, taken) != 0;
}

// An instruction causes one event of a sort.
TEST(one_of_a_sort)
{
    CHECK(of(IPT_EVT_PAGING, NO_IP, IPT_INSN_MOV_CR3, 0));
    CHECK(of(IPT_EVT_PAGING, NO_IP, IPT_INSN_IRET, 0));
    CHECK(!of(IPT_EVT_PAGING, NO_IP, IPT_INSN_JCC, 0));
    CHECK(!of(IPT_EVT_PAGING, NO_IP, IPT_INSN_VMPTRLD, 0));
    CHECK(!of(IPT_EVT_PAGING, NO_IP, IPT_INSN_IRET, IPTI_TAKEN_PAGING));
    CHECK(of(IPT_EVT_VMCS, NO_IP, IPT_INSN_IRET, IPTI_TAKEN_PAGING));
    CHECK(of(IPT_EVT_PTWRITE, NO_IP, IPT_INSN_PTWRITE, IPTI_TAKEN_CFE));
    CHECK(!of(IPT_EVT_PTWRITE, NO_IP, IPT_INSN_PTWRITE, IPTI_TAKEN_ALL));
    CHECK(!of(IPT_EVT_TSX, 0, IPT_INSN_OTHER, 0));
    // A MOV CR3 that sends a PIP stays enabled: S4.
    CHECK(of(IPT_EVT_DISABLED, NO_IP | NO_TO, IPT_INSN_MOV_CR3, 0));
    CHECK(!of(IPT_EVT_DISABLED, NO_IP | NO_TO, IPT_INSN_MOV_CR3,
              IPTI_TAKEN_PAGING));
    CHECK(!of(IPT_EVT_DISABLED, NO_IP, IPT_INSN_MOV_CR3, 0));
}

int main(void)
{
    RUN(with_ip);
    RUN(effects);
    RUN(inferred);
    RUN(tracing);
    RUN(status);
    RUN(without_ip);
    RUN(one_of_a_sort);
    return test_report();
}
