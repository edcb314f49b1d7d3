/* shadow.h: what vmm.c checks of the instructions: each return has to lead
 * after a call that led there. A stack of its own follows calls and returns. */
#include "ipt.h"

static uint64_t calls[4096], owed; /* owed: where a return must lead */
static unsigned depth, insns, returns, bad;

/* Calls were lost with the trace, or another task has another stack. */
static void shadow_forget(void)
{
    owed = depth = 0;
}

static void shadow_check(const ipt_insn *insn)
{
    if (insn->flags & IPT_FLOW_RESYNCED)
        shadow_forget();
    insns++;
    returns += owed != 0;
    bad += owed && owed != insn->ip;
    owed = 0;
    if (insn->kind == IPT_INSN_CALL || insn->kind == IPT_INSN_CALL_INDIRECT)
        calls[depth++ % 4096] = insn->ip + insn->size;
    else if (insn->kind == IPT_INSN_RET && depth)
        owed = calls[--depth % 4096];
}
