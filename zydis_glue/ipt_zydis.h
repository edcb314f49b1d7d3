/* ipt_zydis.h: classify and print x86 instructions with Zydis.
 *
 *     #include "ipt.h"
 *     #include "zydis_glue/ipt_zydis.h"           link with -lZydis
 *
 *     config.classify = ipt_zydis_classify;       instead of the built-in one
 *     ipt_zydis_format(text, sizeof text, bytes, size, mode, ip, 0);
 *
 * Needs Zydis 4.0 or later. Nothing to define, nothing to implement: every
 * function is static inline, keeps no state and takes no memory. The built-in
 * ipt_classify is several times faster and knows newer processors; this one is
 * for programs that have Zydis anyway, and for tests to compare with.
 *
 * Displacements are read from the code bytes, not from Zydis' immediates,
 * which are byte-swapped on big-endian hosts. ipt_zydis_format prints Zydis'
 * own immediates and so needs a little-endian host to be right.
 *
 * What Zydis 4.1 does not know: FRED and APX. ERETU, ERETS and JMPABS decide
 * control flow and are recognised here; anything else after REX2 or in EVEX
 * map 4, LKGS and other newcomers give IPT_ERR_BAD_INSN.
 *
 * SPDX-License-Identifier: MIT */
#ifndef IPT_ZYDIS_H
#define IPT_ZYDIS_H
#ifndef IPT_H // so that it may be anywhere
#include "ipt.h"
#endif
#include <Zydis/Zydis.h>

/* ZYDIS_VERSION holds a cast, so #if cannot read it. 4.0 brought this macro. */
#ifndef ZYDIS_MAX_OPERAND_COUNT_VISIBLE
#error "ipt_zydis.h needs Zydis 4.0 or later"
#endif
typedef char ipt_zydis_needs_4_0_[ZYDIS_VERSION >= (ZyanU64)4 << 48 ? 1 : -1];

/* A decoder for an IPT_MODE_. Returns 0, or IPT_ERR_ARG. */
static inline int ipt_zydis_decoder_(ZydisDecoder *decoder, uint8_t mode)
{
    ZyanStatus status;
    switch (mode) {
    case IPT_MODE_16:
        status = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_16,
                                  ZYDIS_STACK_WIDTH_16);
        break;
    case IPT_MODE_32:
        status = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_32,
                                  ZYDIS_STACK_WIDTH_32);
        break;
    case IPT_MODE_64:
        status = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64,
                                  ZYDIS_STACK_WIDTH_64);
        break;
    default:
        return IPT_ERR_ARG;
    }
    return ZYAN_SUCCESS(status) ? 0 : IPT_ERR_ARG;
}

/* Zydis' failure as one of ours; it was given `size` bytes. */
static inline int ipt_zydis_status_(ZyanStatus status, size_t size)
{
    if (status == ZYDIS_STATUS_NO_MORE_DATA && size < 15) return IPT_MORE;
    return IPT_ERR_BAD_INSN;
}

/* Near CALL and JMP or far, direct or not: Zydis has one mnemonic for all. */
static inline uint8_t ipt_zydis_branch_(const ZydisDecodedInstruction *insn)
{
    switch (insn->opcode) {
    case 0x9A: return IPT_INSN_FAR_CALL;
    case 0xE8: return IPT_INSN_CALL;
    case 0xE9: case 0xEB: return IPT_INSN_JMP;
    case 0xEA: return IPT_INSN_FAR_JMP;
    default: break;
    }
    switch (insn->raw.modrm.reg) { // FF
    case 2: return IPT_INSN_CALL_INDIRECT;
    case 3: return IPT_INSN_FAR_CALL;
    case 4: return IPT_INSN_JMP_INDIRECT;
    case 5: return IPT_INSN_FAR_JMP;
    default: return IPT_INSN_OTHER;
    }
}

/* The kind of a decoded instruction. By mnemonic, not meta.branch_type, which
 * is "none" for IRET, SYSCALL, INT, VMRESUME, RSM, XBEGIN and others, and
 * always under ZYDIS_MINIMAL_MODE. */
static inline uint8_t ipt_zydis_kind_(const ZydisDecodedInstruction *insn)
{
    switch ((int)insn->mnemonic) {
    case ZYDIS_MNEMONIC_JB: case ZYDIS_MNEMONIC_JBE: case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_JLE: case ZYDIS_MNEMONIC_JNB: case ZYDIS_MNEMONIC_JNBE:
    case ZYDIS_MNEMONIC_JNL: case ZYDIS_MNEMONIC_JNLE: case ZYDIS_MNEMONIC_JNO:
    case ZYDIS_MNEMONIC_JNP: case ZYDIS_MNEMONIC_JNS: case ZYDIS_MNEMONIC_JNZ:
    case ZYDIS_MNEMONIC_JO: case ZYDIS_MNEMONIC_JP: case ZYDIS_MNEMONIC_JS:
    case ZYDIS_MNEMONIC_JZ: case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ: case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_LOOP: case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
        return IPT_INSN_JCC;
    case ZYDIS_MNEMONIC_CALL: case ZYDIS_MNEMONIC_JMP:
        return ipt_zydis_branch_(insn);
    case ZYDIS_MNEMONIC_RET: // C2 C3, CA CB
        return insn->opcode & 8 ? IPT_INSN_FAR_RET : IPT_INSN_RET;
    case ZYDIS_MNEMONIC_INT: case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
        return IPT_INSN_INT;
    case ZYDIS_MNEMONIC_INTO: return IPT_INSN_INTO;
    case ZYDIS_MNEMONIC_SYSCALL: case ZYDIS_MNEMONIC_SYSENTER:
        return IPT_INSN_SYSCALL;
    case ZYDIS_MNEMONIC_VMCALL:
        return IPT_INSN_VMCALL;
    case ZYDIS_MNEMONIC_IRET: case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ: case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
        return IPT_INSN_IRET;
    case ZYDIS_MNEMONIC_UIRET: return IPT_INSN_UIRET;
    case ZYDIS_MNEMONIC_VMLAUNCH: case ZYDIS_MNEMONIC_VMRESUME:
        return IPT_INSN_VMENTRY;
    case ZYDIS_MNEMONIC_RSM: return IPT_INSN_RSM;
    case ZYDIS_MNEMONIC_XBEGIN: return IPT_INSN_XBEGIN;
    case ZYDIS_MNEMONIC_PTWRITE: return IPT_INSN_PTWRITE;
    case ZYDIS_MNEMONIC_VMPTRLD: return IPT_INSN_VMPTRLD;
    case ZYDIS_MNEMONIC_MOV:
        return insn->opcode_map == ZYDIS_OPCODE_MAP_0F && insn->opcode == 0x22
            && insn->raw.modrm.reg == 3 && !insn->raw.rex.R
            ? IPT_INSN_MOV_CR3 : IPT_INSN_OTHER;
    default: return IPT_INSN_OTHER;
    }
}

/* The last n bytes before end, little-endian. */
static inline uint64_t ipt_zydis_load_(const uint8_t *end, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 1; i <= n; i++) value = value << 8 | *(end - i);
    return value;
}

/* ERETU, ERETS, JMPABS in 64-bit code, which Zydis 4 refuses.
 * Returns 0 with *out, a status, or 1: something else. */
static inline int ipt_zydis_newer_(ipt_code *out, const uint8_t *bytes,
                                   size_t size)
{
    size_t i = 0;
    uint8_t rep = 0;
    uint8_t other = 0; // 66, 67, F0 or REX seen
    for (; i < size; i++) {
        uint8_t byte = bytes[i];
        if (byte == 0xF2 || byte == 0xF3) rep = byte;
        else if ((byte & 0xFE) == 0x66 || (byte & 0xF0) == 0x40) other = 1;
        else if ((byte & 0xE7) != 0x26 && (byte & 0xFE) != 0x64) break;
    }
    size_t rest = size - i;
    if (rep && rest >= 3 && bytes[i] == 0x0F && bytes[i + 1] == 0x01
        && bytes[i + 2] == 0xCA) {
        out->displacement = 0;
        out->ip16 = 0;
        out->size = (uint8_t)(i + 3);
        out->kind = IPT_INSN_IRET;
        return 0;
    }
    if (!rep && !other && rest >= 3 && bytes[i] == 0xD5
        && (bytes[i + 1] & 0x88) == 0 && bytes[i + 2] == 0xA1) {
        if (i + 11 > 15) return IPT_ERR_BAD_INSN;
        if (rest < 11) return IPT_MORE;
        out->displacement = (int64_t)ipt_zydis_load_(bytes + i + 11, 8);
        out->ip16 = 0;
        out->size = (uint8_t)(i + 11);
        out->kind = IPT_INSN_JMPABS;
        return 0;
    }
    return rest && rest < 3 && bytes[i] == 0xD5 && i + 3 <= 15 ? IPT_MORE : 1;
}

/* What ipt_classify says, by Zydis: same arguments, same results except the
 * instructions Zydis does not know (above) and for some encodings that no
 * processor executes. Can be config.classify. */
static inline int ipt_zydis_classify(ipt_code *out, const uint8_t *bytes,
                                     size_t size, uint8_t mode, void *context)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    (void)context;
    if (!out || !bytes || ipt_zydis_decoder_(&decoder, mode))
        return IPT_ERR_ARG;
    if (size > 15) size = 15;
    if (size == 0) return IPT_MORE;
    if (mode == IPT_MODE_64) {
        int status = ipt_zydis_newer_(out, bytes, size);
        if (status <= 0) return status;
    }
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder,
        (ZydisDecoderContext *)0, bytes, size, &insn);
    if (!ZYAN_SUCCESS(status)) return ipt_zydis_status_(status, size);

    out->displacement = 0;
    out->ip16 = 0;
    out->size = insn.length;
    out->kind = ipt_zydis_kind_(&insn);
    if (out->kind == IPT_INSN_JCC || out->kind == IPT_INSN_JMP
        || out->kind == IPT_INSN_CALL || out->kind == IPT_INSN_XBEGIN) {
        size_t n = insn.raw.imm[0].size / 8u; // always the last n bytes
        uint64_t sign = (uint64_t)1 << (8 * n - 1);
        uint64_t value = ipt_zydis_load_(bytes + insn.length, n);
        out->displacement = (int64_t)(value ^ sign) - (int64_t)sign;
        out->ip16 = mode != IPT_MODE_64 && insn.operand_width == 16;
    }
    return 0;
}

#if !defined(ZYDIS_MINIMAL_MODE) && !defined(ZYDIS_DISABLE_FORMATTER)

/* Lower case, bare 0x numbers, sizes always, [rip+x]: as XED prints. */
static inline int ipt_zydis_style_(ZydisFormatter *formatter, int att)
{
    static const int property[][2] = {
        {ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE},
        {ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE},
        {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
        {ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED},
        {ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
        {ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED},
        {ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS, ZYDIS_SIGNEDNESS_UNSIGNED},
        {ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE}
    };
    ZyanStatus status = ZydisFormatterInit(formatter, att ?
        ZYDIS_FORMATTER_STYLE_ATT : ZYDIS_FORMATTER_STYLE_INTEL);
    for (size_t i = 0; i < sizeof property / sizeof property[0]; i++)
        if (ZYAN_SUCCESS(status))
            status = ZydisFormatterSetProperty(formatter,
                (ZydisFormatterProperty)property[i][0],
                (ZyanUPointer)property[i][1]);
    return ZYAN_SUCCESS(status) ? 0 : IPT_ERR_ARG;
}

/* "far fword ptr" to "far ptr", as XED prints far pointers of any size. */
static inline void ipt_zydis_far_(char *text)
{
    static const char ptr[] = " ptr";
    size_t i = 0;
    while (text[i] && !(text[i] == ' ' && text[i + 1] == 'f'
                        && text[i + 2] == 'a' && text[i + 3] == 'r'
                        && text[i + 4] == ' '))
        i++;
    if (!text[i]) return;
    i += 4;
    for (size_t from = i + 1; text[from]; from++) {
        size_t n = 0;
        while (ptr[n] && text[from + n] == ptr[n]) n++;
        if (ptr[n]) continue;
        do text[i++] = text[from]; while (text[from++]);
        return;
    }
}

/* Print the instruction at bytes[0..length) as text.
 *
 * text     size bytes; always terminated; empty on failure
 * ip       where the instruction is: branch targets are printed absolute
 * att      0: Intel syntax as XED and ptxed print it; 1: AT&T
 * returns  0; IPT_MORE, IPT_ERR_BAD_INSN as ipt_zydis_classify, but without
 *          the instructions Zydis does not know; IPT_ERR_ARG also when text is
 *          too small (128 is enough) */
static inline int ipt_zydis_format(char *text, size_t size,
                                   const uint8_t *bytes, size_t length,
                                   uint8_t mode, uint64_t ip, int att)
{
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!text || !size) return IPT_ERR_ARG;
    text[0] = 0;
    if (!bytes || ipt_zydis_decoder_(&decoder, mode)
        || ipt_zydis_style_(&formatter, att))
        return IPT_ERR_ARG;
    if (length > 15) length = 15;
    if (length == 0) return IPT_MORE;
    ZyanStatus status = ZydisDecoderDecodeFull(&decoder, bytes, length, &insn,
                                               operands);
    if (!ZYAN_SUCCESS(status)) return ipt_zydis_status_(status, length);
    status = ZydisFormatterFormatInstruction(&formatter, &insn, operands,
        insn.operand_count_visible, text, size, ip, ZYAN_NULL);
    if (ZYAN_SUCCESS(status)) {
        if (!att) ipt_zydis_far_(text);
        return 0;
    }
    text[0] = 0;
    return IPT_ERR_ARG;
}

#endif
#endif /* IPT_ZYDIS_H */
