/* kinds.h: kinds of instructions. Include ipt.h first. */
#ifndef IPT_TESTS_KINDS_H
#define IPT_TESTS_KINDS_H

/* Does the trace say where flow goes? RSM and INTO are among them, though they
 * need not branch. */
static inline int is_branch(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_VMPTRLD: return 0;
    default: return 1;
    }
}

#endif /* IPT_TESTS_KINDS_H */
