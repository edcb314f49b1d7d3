/* disasm.c: see disasm.h.
 *
 * SPDX-License-Identifier: MIT */
#include "disasm.h"
#include "ipt.h"
#include <string.h>

#ifdef __has_include
#if __has_include(<Zydis/Zydis.h>)
#include "zydis_glue/ipt_zydis.h"
#define DISASM_ZYDIS
#endif
#endif

int disasm_text(char text[DISASM_MAX], const uint8_t *bytes, size_t size,
                uint8_t mode, uint64_t ip)
{
    *text = 0;
#ifdef DISASM_ZYDIS
    return ipt_zydis_format(text, DISASM_MAX, bytes, size, mode, ip, 0) ? -1 : 0;
#else
    (void) bytes, (void) size, (void) mode, (void) ip;
    return -1;
#endif
}

void disasm_bytes(char text[DISASM_MAX], const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (; n < size && n < 15; n++) {
        text[2 * n] = digits[bytes[n] >> 4];
        text[2 * n + 1] = digits[bytes[n] & 15];
    }
    text[2 * n] = 0;
}

#ifdef DISASM_ZYDIS
/* The number of a general register that it is, or is a part of; 16: none. */
static unsigned register_of(const ZydisDecodedOperand *operand)
{
    const ZydisRegister whole =
        operand->type != ZYDIS_OPERAND_TYPE_REGISTER ? ZYDIS_REGISTER_NONE
        : ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
                                           operand->reg.value);
    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
               ? (unsigned) (whole - ZYDIS_REGISTER_RAX) : 16;
}

void disasm_follow(disasm_constants *c, const uint8_t *bytes, size_t size,
                   uint8_t mode)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand list[ZYDIS_MAX_OPERAND_COUNT];
    const disasm_constants before = *c;
    unsigned to, from;
    if (ipt_zydis_decoder_(&decoder, mode)
        || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn,
                                                list))) {
        memset(c, 0, sizeof *c);
        return;
    }
    for (unsigned i = 0; i < insn.operand_count; i++)
        if (list[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
            && (to = register_of(&list[i])) < 16)
            c->known[to] = 0;
    if (insn.operand_count_visible != 2 || (to = register_of(&list[0])) == 16
        || list[0].size < 32)
        return;
    from = register_of(&list[1]);
    if (insn.mnemonic == ZYDIS_MNEMONIC_XOR && from == to) {
        c->known[to] = 1;
        c->value[to] = 0;
    } else if (insn.mnemonic == ZYDIS_MNEMONIC_MOV && from < 16) {
        c->known[to] = before.known[from];
        c->value[to] = before.value[from];
    } else if (insn.mnemonic == ZYDIS_MNEMONIC_MOV
               && list[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        c->known[to] = 1;
        c->value[to] = (uint32_t) list[1].imm.value.u;
    }
}
#else
void disasm_follow(disasm_constants *c, const uint8_t *bytes, size_t size,
                   uint8_t mode)
{
    (void) bytes, (void) size, (void) mode;
    memset(c, 0, sizeof *c);
}
#endif
