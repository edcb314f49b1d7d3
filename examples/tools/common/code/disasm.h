/* disasm.h: an instruction in words, as Zydis has them, and its bytes.
 *
 *     if (disasm_text(text, bytes, size, IPT_MODE_64, ip) == 0) puts(text);
 *
 * SPDX-License-Identifier: MIT */
#ifndef DISASM_H
#define DISASM_H
#include <stddef.h>
#include <stdint.h>

#define DISASM_MAX 160u /* bytes of a text, with its end */

/* The instruction that these bytes begin with, in Intel's syntax. 0; -1: it is not
 * known, or the tool was made without Zydis: "". */
int disasm_text(char text[DISASM_MAX], const uint8_t *bytes, size_t size,
                uint8_t mode, uint64_t ip);

/* Bytes as digits, at most 15 of them. */
void disasm_bytes(char text[DISASM_MAX], const uint8_t *bytes, size_t size);

/* Registers of a processor that hold a constant, because code before has put it
 * there. All bytes 0: none is known to. */
typedef struct disasm_constants {
    uint32_t value[16]; /* rax, rcx, rdx, rbx, ...: the lower half */
    uint8_t known[16];
} disasm_constants;

/* Follow an instruction. Without Zydis nothing is known. */
void disasm_follow(disasm_constants *c, const uint8_t *bytes, size_t size,
                   uint8_t mode);

#endif /* DISASM_H */
