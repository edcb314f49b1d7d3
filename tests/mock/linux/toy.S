/* toy.S: what fake_pt traces of the kernel. It is never executed.
 *
 * SPDX-License-Identifier: MIT */
    .text
    .globl toy
    .type toy, @function
toy:
    nop
    xor %eax, %eax
    jmp 1f
    int3
1:  nop
    ret
    .size toy, . - toy
    .section .note.GNU-stack, "", @progbits
