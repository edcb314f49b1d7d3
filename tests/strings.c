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
    RUN(status_names);
    RUN(status_texts);
    RUN(good_statuses);
    RUN(unknown_statuses);
    RUN(fields_of_a_config);
    return test_report();
}
