/* strings.c: names and texts. The names were typed from the enums of ipt.h. */
#include "linked.h"
#include "test.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NAME(type, name) {IPT_##type, name}

typedef struct row {
    int value;
    const char *name;
} row;

static const row packets[] = {
    NAME(PKT_NONE, "none"), NAME(PKT_PAD, "pad"), NAME(PKT_PSB, "psb"),
    NAME(PKT_PSBEND, "psbend"), NAME(PKT_OVF, "ovf"), NAME(PKT_STOP, "stop"),
    NAME(PKT_TNT_8, "tnt_8"), NAME(PKT_TNT_64, "tnt_64"), NAME(PKT_TIP, "tip"),
    NAME(PKT_TIP_PGE, "tip_pge"), NAME(PKT_TIP_PGD, "tip_pgd"),
    NAME(PKT_FUP, "fup"), NAME(PKT_MODE_EXEC, "mode_exec"),
    NAME(PKT_MODE_TSX, "mode_tsx"), NAME(PKT_PIP, "pip"),
    NAME(PKT_VMCS, "vmcs"), NAME(PKT_TSC, "tsc"), NAME(PKT_CBR, "cbr"),
    NAME(PKT_TMA, "tma"), NAME(PKT_MTC, "mtc"), NAME(PKT_CYC, "cyc"),
    NAME(PKT_MNT, "mnt"), NAME(PKT_PTW, "ptw"), NAME(PKT_EXSTOP, "exstop"),
    NAME(PKT_MWAIT, "mwait"), NAME(PKT_PWRE, "pwre"), NAME(PKT_PWRX, "pwrx"),
    NAME(PKT_BBP, "bbp"), NAME(PKT_BIP, "bip"), NAME(PKT_BEP, "bep"),
    NAME(PKT_CFE, "cfe"), NAME(PKT_EVD, "evd"), NAME(PKT_TRIG, "trig"),
    NAME(PKT_UNKNOWN, "unknown"), NAME(PKT_INVALID, "invalid"),
    NAME(PKT_GAP, "gap")};

static const row events[] = {
    NAME(EVT_NONE, "none"), NAME(EVT_ENABLED, "enabled"),
    NAME(EVT_DISABLED, "disabled"), NAME(EVT_ASYNC_DISABLED, "async_disabled"),
    NAME(EVT_ASYNC_BRANCH, "async_branch"), NAME(EVT_PAGING, "paging"),
    NAME(EVT_ASYNC_PAGING, "async_paging"), NAME(EVT_VMCS, "vmcs"),
    NAME(EVT_ASYNC_VMCS, "async_vmcs"), NAME(EVT_OVERFLOW, "overflow"),
    NAME(EVT_EXEC_MODE, "exec_mode"), NAME(EVT_TSX, "tsx"),
    NAME(EVT_STOP, "stop"), NAME(EVT_PTWRITE, "ptwrite"),
    NAME(EVT_EXSTOP, "exstop"), NAME(EVT_MWAIT, "mwait"),
    NAME(EVT_PWRE, "pwre"), NAME(EVT_PWRX, "pwrx"), NAME(EVT_CBR, "cbr"),
    NAME(EVT_MNT, "mnt"), NAME(EVT_TIP, "tip"), NAME(EVT_TNT, "tnt"),
    NAME(EVT_CFE, "cfe"), NAME(EVT_TRIG, "trig"), NAME(EVT_IFLAGS, "iflags"),
    NAME(EVT_PEBS_BEGIN, "pebs_begin"), NAME(EVT_PEBS_ITEM, "pebs_item"),
    NAME(EVT_PEBS_END, "pebs_end"), NAME(EVT_TICK, "tick"),
    NAME(EVT_GAP, "gap")};

static const row insns[] = {
    NAME(INSN_OTHER, "other"), NAME(INSN_JCC, "jcc"), NAME(INSN_JMP, "jmp"),
    NAME(INSN_CALL, "call"), NAME(INSN_JMP_INDIRECT, "jmp_indirect"),
    NAME(INSN_CALL_INDIRECT, "call_indirect"), NAME(INSN_RET, "ret"),
    NAME(INSN_JMPABS, "jmpabs"), NAME(INSN_FAR_CALL, "far_call"),
    NAME(INSN_FAR_JMP, "far_jmp"), NAME(INSN_FAR_RET, "far_ret"),
    NAME(INSN_INT, "int"), NAME(INSN_SYSCALL, "syscall"),
    NAME(INSN_VMCALL, "vmcall"), NAME(INSN_IRET, "iret"),
    NAME(INSN_UIRET, "uiret"), NAME(INSN_VMENTRY, "vmentry"),
    NAME(INSN_RSM, "rsm"), NAME(INSN_XBEGIN, "xbegin"),
    NAME(INSN_PTWRITE, "ptwrite"), NAME(INSN_MOV_CR3, "mov_cr3"),
    NAME(INSN_VMPTRLD, "vmptrld"), NAME(INSN_INTO, "into")};

static int same(const char *got, const char *want)
{
    if (!strcmp(got, want)) return 1;
    printf("    got  \"%s\"\n    want \"%s\"\n", got, want);
    return 0;
}

/* Each value has the name of its row, all values have a row, and values from
 * `count` on have none. */
static void check_names(const row *rows, unsigned rows_count, unsigned count,
                        const char *(*name)(uint8_t))
{
    CHECK_EQ(rows_count, count);
    for (unsigned i = 0; i < rows_count; i++) {
        CHECK_EQ(rows[i].value, i);
        CHECK(same(name((uint8_t) rows[i].value), rows[i].name));
        for (unsigned k = 0; k < i; k++)
            CHECK(strcmp(rows[i].name, rows[k].name) != 0);
    }
    for (unsigned i = count; i < 256; i++) CHECK(same(name((uint8_t) i), "?"));
}

TEST(packet_names)
{
    check_names(packets, LENGTH(packets), IPT_PKT_COUNT, ipt_pkt_name);
}

TEST(event_names)
{
    check_names(events, LENGTH(events), IPT_EVT_COUNT, ipt_evt_name);
}

TEST(insn_names)
{
    check_names(insns, LENGTH(insns), IPT_INSN_COUNT, ipt_insn_name);
}

/* Each field of each type with a value of its own; and the words for that. */
static const char *packet_of(uint8_t type, ipt_packet *x)
{
    memset(x, 0, sizeof *x);
    x->type = type;
    switch (type) {
    case IPT_PKT_TNT_8:
        x->u.tnt.bits = 5;
        x->u.tnt.count = 3;
        return "tnt_8 bits=5 count=3";
    case IPT_PKT_TNT_64:
        x->u.tnt.bits = 0x7fffffffffff;
        x->u.tnt.count = 47;
        return "tnt_64 bits=7fffffffffff count=2f";
    case IPT_PKT_TIP:
        x->u.ip.ipc = 1;
        x->u.ip.payload = 0x12f0;
        return "tip ipc=1 payload=12f0";
    case IPT_PKT_TIP_PGE:
        x->u.ip.ipc = 6;
        x->u.ip.payload = UINT64_MAX;
        return "tip_pge ipc=6 payload=ffffffffffffffff";
    case IPT_PKT_TIP_PGD:
        x->u.ip.ipc = 0;
        return "tip_pgd ipc=0 payload=0";
    case IPT_PKT_FUP:
        x->u.ip.ipc = 2;
        x->u.ip.payload = 0x80000000;
        return "fup ipc=2 payload=80000000";
    case IPT_PKT_MODE_EXEC:
        x->u.exec.csl = 1;
        x->u.exec.csd = 2;
        x->u.exec.iflag = 3;
        return "mode_exec csl=1 csd=2 iflag=3";
    case IPT_PKT_MODE_TSX:
        x->u.tsx.intx = 1;
        x->u.tsx.abrt = 2;
        return "mode_tsx intx=1 abrt=2";
    case IPT_PKT_PIP:
        x->u.pip.cr3 = 0x1234567890e0;
        x->u.pip.nr = 1;
        return "pip cr3=1234567890e0 nr=1";
    case IPT_PKT_VMCS:
        x->u.vmcs.base = 0xffffffffff000;
        return "vmcs base=ffffffffff000";
    case IPT_PKT_TSC:
        x->u.tsc.value = 0xfedcba98765432;
        return "tsc value=fedcba98765432";
    case IPT_PKT_CBR:
        x->u.cbr.ratio = 0x2a;
        return "cbr ratio=2a";
    case IPT_PKT_TMA:
        x->u.tma.ctc = 0xabcd;
        x->u.tma.fc = 0x1ff;
        return "tma ctc=abcd fc=1ff";
    case IPT_PKT_MTC:
        x->u.mtc.ctc = 0xfe;
        return "mtc ctc=fe";
    case IPT_PKT_CYC:
        x->u.cyc.value = 0x123456789;
        return "cyc value=123456789";
    case IPT_PKT_MNT:
        x->u.mnt.payload = 0xfedcba9876543210;
        return "mnt payload=fedcba9876543210";
    case IPT_PKT_PTW:
        x->u.ptw.payload = 7;
        x->u.ptw.plc = 1;
        x->u.ptw.has_ip = 2;
        return "ptw payload=7 plc=1 has_ip=2";
    case IPT_PKT_EXSTOP:
        x->u.exstop.has_ip = 1;
        return "exstop has_ip=1";
    case IPT_PKT_MWAIT:
        x->u.mwait.hints = 0x89abcdef;
        x->u.mwait.ext = 3;
        return "mwait hints=89abcdef ext=3";
    case IPT_PKT_PWRE:
        x->u.pwre.state = 1;
        x->u.pwre.sub_state = 2;
        x->u.pwre.hw = 3;
        return "pwre state=1 sub_state=2 hw=3";
    case IPT_PKT_PWRX:
        x->u.pwrx.last = 1;
        x->u.pwrx.deepest = 2;
        x->u.pwrx.interrupt = 3;
        x->u.pwrx.store = 4;
        x->u.pwrx.autonomous = 5;
        return "pwrx last=1 deepest=2 interrupt=3 store=4 autonomous=5";
    case IPT_PKT_BBP:
        x->u.bbp.type = 0x1f;
        x->u.bbp.sz = 1;
        return "bbp type=1f sz=1";
    case IPT_PKT_BIP:
        x->u.bip.payload = 0x100;
        x->u.bip.id = 2;
        x->u.bip.sz = 3;
        return "bip payload=100 id=2 sz=3";
    case IPT_PKT_BEP:
        x->u.bep.has_ip = 1;
        return "bep has_ip=1";
    case IPT_PKT_CFE:
        x->u.cfe.type = 1;
        x->u.cfe.vector = 0xfe;
        x->u.cfe.has_ip = 2;
        return "cfe type=1 vector=fe has_ip=2";
    case IPT_PKT_EVD:
        x->u.evd.type = 1;
        x->u.evd.payload = 0x1000;
        return "evd type=1 payload=1000";
    case IPT_PKT_TRIG:
        x->u.trig.icnt = 0xffff;
        x->u.trig.trbv = 0xf;
        x->u.trig.icntv = 1;
        x->u.trig.mult = 2;
        x->u.trig.has_ip = 3;
        return "trig icnt=ffff trbv=f icntv=1 mult=2 has_ip=3";
    case IPT_PKT_GAP:
        x->u.gap.lost = 0x10000;
        return "gap lost=10000";
    case IPT_PKT_NONE:
        return "none";
    case IPT_PKT_PAD:
        return "pad";
    case IPT_PKT_PSB:
        return "psb";
    case IPT_PKT_PSBEND:
        return "psbend";
    case IPT_PKT_OVF:
        return "ovf";
    case IPT_PKT_STOP:
        return "stop";
    case IPT_PKT_UNKNOWN:
        return "unknown";
    case IPT_PKT_INVALID:
        return "invalid";
    default: return "?";
    }
}

static const char *event_of(uint8_t type, ipt_event *x)
{
    memset(x, 0, sizeof *x);
    x->type = type;
    switch (type) {
    case IPT_EVT_DISABLED:
        x->u.branch.to = 0x401000;
        return "disabled to=401000";
    case IPT_EVT_ASYNC_DISABLED:
        x->u.branch.to = 1;
        return "async_disabled to=1";
    case IPT_EVT_ASYNC_BRANCH:
        x->u.branch.to = 2;
        return "async_branch to=2";
    case IPT_EVT_PAGING:
        x->u.paging.cr3 = 0x5000;
        x->u.paging.nr = 1;
        return "paging cr3=5000 nr=1";
    case IPT_EVT_ASYNC_PAGING:
        x->u.paging.cr3 = 0x6000;
        return "async_paging cr3=6000 nr=0";
    case IPT_EVT_VMCS:
        x->u.vmcs.base = 0x7000;
        return "vmcs base=7000";
    case IPT_EVT_ASYNC_VMCS:
        x->u.vmcs.base = 0x8000;
        return "async_vmcs base=8000";
    case IPT_EVT_EXEC_MODE:
        x->u.exec.mode = 3;
        x->u.exec.iflag = 1;
        return "exec_mode mode=3 iflag=1";
    case IPT_EVT_TSX:
        x->u.tsx.speculative = 1;
        x->u.tsx.aborted = 2;
        return "tsx speculative=1 aborted=2";
    case IPT_EVT_PTWRITE:
        x->u.ptwrite.payload = 0xfedcba9876543210;
        x->u.ptwrite.size = 8;
        return "ptwrite payload=fedcba9876543210 size=8";
    case IPT_EVT_MWAIT:
        x->u.mwait.hints = 0x89abcdef;
        x->u.mwait.ext = 0x76543210;
        return "mwait hints=89abcdef ext=76543210";
    case IPT_EVT_PWRE:
        x->u.pwre.state = 1;
        x->u.pwre.sub_state = 2;
        x->u.pwre.hw = 3;
        return "pwre state=1 sub_state=2 hw=3";
    case IPT_EVT_PWRX:
        x->u.pwrx.last = 1;
        x->u.pwrx.deepest = 2;
        x->u.pwrx.interrupt = 3;
        x->u.pwrx.store = 4;
        x->u.pwrx.autonomous = 5;
        return "pwrx last=1 deepest=2 interrupt=3 store=4 autonomous=5";
    case IPT_EVT_CBR:
        x->u.cbr.ratio = 0xff;
        return "cbr ratio=ff";
    case IPT_EVT_MNT:
        x->u.mnt.payload = 0x10;
        return "mnt payload=10";
    case IPT_EVT_TNT:
        x->u.tnt.bits = 6;
        x->u.tnt.count = 4;
        return "tnt bits=6 count=4";
    case IPT_EVT_CFE:
        x->u.cfe.data[0] = 0x10;
        x->u.cfe.data[1] = 0x20;
        x->u.cfe.type = 3;
        x->u.cfe.has = 4;
        x->u.cfe.vector = 5;
        return "cfe data[0]=10 data[1]=20 type=3 has=4 vector=5";
    case IPT_EVT_TRIG:
        x->u.trig.icnt = 0x1234;
        x->u.trig.trbv = 1;
        x->u.trig.icntv = 2;
        x->u.trig.mult = 3;
        return "trig icnt=1234 trbv=1 icntv=2 mult=3";
    case IPT_EVT_IFLAGS:
        x->u.exec.iflag = 1;
        return "iflags iflag=1";
    case IPT_EVT_PEBS_BEGIN:
        x->u.pebs.id = 1;
        x->u.pebs.size = 8;
        return "pebs_begin id=1 size=8";
    case IPT_EVT_PEBS_ITEM:
        x->u.pebs.payload = 0x99;
        x->u.pebs.id = 2;
        x->u.pebs.size = 4;
        return "pebs_item payload=99 id=2 size=4";
    case IPT_EVT_GAP:
        x->u.gap.lost = 0x20000;
        return "gap lost=20000";
    case IPT_EVT_NONE:
        return "none";
    case IPT_EVT_ENABLED:
        return "enabled";
    case IPT_EVT_OVERFLOW:
        return "overflow";
    case IPT_EVT_STOP:
        return "stop";
    case IPT_EVT_EXSTOP:
        return "exstop";
    case IPT_EVT_TIP:
        return "tip";
    case IPT_EVT_PEBS_END:
        return "pebs_end";
    case IPT_EVT_TICK:
        return "tick";
    default: return "?";
    }
}

static int words_of(unsigned type, int event, const char **want, char *text,
                    size_t size)
{
    ipt_packet packet;
    ipt_event e;
    if (event) {
        *want = event_of((uint8_t) type, &e);
        return ipt_event_words(&e, text, size);
    }
    *want = packet_of((uint8_t) type, &packet);
    return ipt_packet_words(&packet, text, size);
}

/* In a buffer of any size; bytes after it are left alone. */
TEST(words)
{
    for (unsigned n = 0; n < 2 * 256; n++) {
        char text[IPT_WORDS_MAX + 8];
        const unsigned event = n / 256;
        const char *want;
        for (size_t size = 1; size <= IPT_WORDS_MAX; size++) {
            memset(text, 'x', sizeof text);
            int length = words_of(n % 256, (int) event, &want, text, size);
            CHECK_EQ(length, strlen(want));
            const size_t kept = strlen(want) < size ? strlen(want) : size - 1;
            if (!CHECK(!memcmp(text, want, kept))) {
                CHECK(same(text, want));
                return;
            }
            CHECK_EQ(text[kept], 0);
            for (size_t i = kept + 1; i < sizeof text; i++)
                if (text[i] != 'x') {
                    CHECK_EQ(i, 0);
                    return;
                }
        }
        if (n % 256 < (event ? IPT_EVT_COUNT : IPT_PKT_COUNT))
            CHECK(want[0] != '?');
    }
}

/* The longest that there can be. */
TEST(words_of_all_ones)
{
    ipt_packet packet;
    ipt_event event;
    char text[IPT_WORDS_MAX];
    memset(&packet, 0xff, sizeof packet);
    memset(&event, 0xff, sizeof event);
    for (unsigned type = 0; type < 256; type++) {
        packet.type = event.type = (uint8_t) type;
        CHECK(ipt_packet_words(&packet, text, sizeof text) < IPT_WORDS_MAX);
        CHECK(ipt_event_words(&event, text, sizeof text) < IPT_WORDS_MAX);
    }
}

TEST(words_of_nothing)
{
    ipt_packet packet;
    ipt_event event;
    char text[8];
    memset(&packet, 0, sizeof packet);
    memset(&event, 0, sizeof event);
    CHECK_EQ(ipt_packet_words(NULL, text, sizeof text), IPT_ERR_ARG);
    CHECK_EQ(ipt_packet_words(&packet, NULL, 8), IPT_ERR_ARG);
    CHECK_EQ(ipt_packet_words(&packet, text, 0), IPT_ERR_ARG);
    CHECK_EQ(ipt_event_words(NULL, text, sizeof text), IPT_ERR_ARG);
    CHECK_EQ(ipt_event_words(&event, NULL, 8), IPT_ERR_ARG);
    CHECK_EQ(ipt_event_words(&event, text, 0), IPT_ERR_ARG);
}

#define X(name, value, cause, remedy) {value, #name},
static const row statuses[] = {IPT_STATUS_LIST(X)};
#undef X

/* What the list says, in the ranges that the manual promises. */
TEST(status_names)
{
    static const row some[] = {
        NAME(END, "IPT_END"), NAME(MORE, "IPT_MORE"),
        NAME(BUDGET, "IPT_BUDGET"), NAME(NEED_PAGE, "IPT_NEED_PAGE"),
        NAME(EVENT_FIRST, "IPT_EVENT_FIRST"), NAME(ERR_ARG, "IPT_ERR_ARG"),
        NAME(ERR_MISMATCH, "IPT_ERR_MISMATCH"),
        NAME(ERR_LOOP, "IPT_ERR_LOOP"), NAME(ERR_INTERNAL, "IPT_ERR_INTERNAL")};
    for (unsigned i = 0; i < LENGTH(some); i++)
        CHECK(same(ipt_status_name(some[i].value), some[i].name));
    for (unsigned i = 0; i < LENGTH(statuses); i++) {
        int v = statuses[i].value;
        int error = !strncmp(statuses[i].name, "IPT_ERR_", 8);
        CHECK(same(ipt_status_name(v), statuses[i].name));
        CHECK(v == -127 || (v <= -1 && v >= -63) || (v <= -64 && v >= -95));
        CHECK_EQ(error, v < -15);
        for (unsigned k = 0; k < i; k++) {
            CHECK(statuses[k].value != v);
            CHECK(strcmp(statuses[k].name, statuses[i].name) != 0);
        }
    }
}

TEST(status_texts)
{
    for (unsigned i = 0; i < LENGTH(statuses); i++) {
        const char *cause = ipt_status_cause(statuses[i].value);
        const char *remedy = ipt_status_remedy(statuses[i].value);
        CHECK(strlen(cause) > 5);
        CHECK(strlen(cause) < 80);
        CHECK(strlen(remedy) > 5);
        CHECK(strlen(remedy) < 80);
        CHECK(strcmp(cause, remedy) != 0);
        for (unsigned k = 0; k < i; k++)
            CHECK(strcmp(cause, ipt_status_cause(statuses[k].value)) != 0);
    }
    CHECK(same(ipt_status_cause(IPT_END), "the trace ends here"));
    CHECK(same(ipt_status_remedy(IPT_END), "nothing to do"));
    CHECK(same(ipt_status_cause(IPT_ERR_INTERNAL),
               "a state that should not exist"));
    CHECK(same(ipt_status_remedy(IPT_ERR_INTERNAL),
               "please report it, with the trace"));
}

TEST(good_statuses)
{
    static const int good[] = {0, 1, 2, 3, 4, 7, 255, INT32_MAX};
    for (unsigned i = 0; i < LENGTH(good); i++) {
        CHECK(same(ipt_status_name(good[i]), "IPT_OK"));
        CHECK(strlen(ipt_status_cause(good[i])) > 0);
        CHECK(strlen(ipt_status_remedy(good[i])) > 0);
        CHECK(strcmp(ipt_status_cause(good[i]), "?") != 0);
    }
}

TEST(unknown_statuses)
{
    for (int v = -1; v > -1000; v--) {
        int known = 0;
        for (unsigned i = 0; i < LENGTH(statuses); i++)
            known |= statuses[i].value == v;
        if (known) continue;
        CHECK(same(ipt_status_name(v), "?"));
        CHECK(same(ipt_status_cause(v), "?"));
        CHECK(same(ipt_status_remedy(v), "?"));
    }
    CHECK(same(ipt_status_name(INT32_MIN), "?"));
    CHECK(same(ipt_status_name(-257), "?")); /* -1 in eight bits */
}

static int read_none(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) buffer, (void) size, (void) asid, (void) ip, (void) context;
    return 0;
}

/* A config is refused for the fields that the remedy names, one by one. */
TEST(fields_of_a_config)
{
    static const char *const names[] = {"read", "flags", "errata", "mode",
                                        "mtc_freq", "filter", "unwanted"};
    const ipt_trace trace = {NULL, 0, 0, 0};
    static ipt_insn_decoder decoder;

    for (unsigned i = 0; i <= LENGTH(names); i++) {
        ipt_config config;
        memset(&config, 0, sizeof(config));
        config.read = i == 0 ? NULL : read_none;
        config.flags = i == 1 ? UINT32_MAX : 0;
        config.errata = i == 2 ? UINT32_MAX : 0;
        config.mode = i == 3 ? IPT_MODE_COUNT : 0;
        config.mtc_freq = i == 4 ? 16 : 0;
        config.filter[IPT_FILTERS - 1].kind = i == 5 ? 9 : 0;
        config.unwanted = i == 6 ? 1u << IPT_EVT_TIP : IPT_UNWANTED_;
        CHECK_EQ(ipt_insn_init(&decoder, &config, &trace, NULL),
                 i < LENGTH(names) ? IPT_ERR_CONFIG : IPT_OK);
        if (i < LENGTH(names))
            CHECK(strstr(ipt_status_remedy(IPT_ERR_CONFIG), names[i]));
    }
}

int main(void)
{
    RUN(packet_names);
    RUN(event_names);
    RUN(insn_names);
    RUN(words);
    RUN(words_of_all_ones);
    RUN(words_of_nothing);
    RUN(status_names);
    RUN(status_texts);
    RUN(good_statuses);
    RUN(unknown_statuses);
    RUN(fields_of_a_config);
    return test_report();
}
