/* classify.c: [classify] for all bytes, in all modes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

static void check_code(const ipt_code *code, size_t size)
{
    CHECK(code->size >= 1);
    CHECK(code->size <= 15);
    CHECK(code->size <= size);
    CHECK(code->kind < IPT_INSN_COUNT);
}

/* The bytes end where the object ends, so that no byte after them is read. */
void prove_classify_any(void)
{
    proof_bytes bytes = nondet_bytes();
    const size_t size = nondet_size();
    const uint8_t mode = nondet_u8();
    ipt_code code;
    int status;

    __CPROVER_assume(size <= IPTI_WINDOW);
    status = ipt_classify(&code, bytes.at + (IPTI_WINDOW - size), size, mode,
                          0);
    CHECK(status == IPT_OK || status == IPT_ERR_ARG || status == IPT_MORE
          || status == IPT_ERR_BAD_INSN);
    CHECK(status != IPT_MORE || size < 15);
    CHECK((status == IPT_ERR_ARG)
          == (mode == IPT_MODE_UNKNOWN || mode >= IPT_MODE_COUNT));
    if (status == IPT_OK)
        check_code(&code, size);
    REACH(status == IPT_OK && code.size == 15);
    REACH(status == IPT_OK && code.kind == IPT_INSN_JMPABS);
    REACH(status == IPT_OK && code.kind == IPT_INSN_RET && size == 1);
    REACH(status == IPT_MORE);
    REACH(status == IPT_ERR_BAD_INSN);
}

/* The quick way is the slow one: what it takes, it takes alike. */
void prove_classify_quick(void)
{
    uint8_t bytes[2 * IPTI_WINDOW];
    const uint8_t mode = nondet_u8();
    ipt_code quick;
    ipt_code slow;
    unsigned size;

    __CPROVER_assume(mode > IPT_MODE_UNKNOWN && mode < IPT_MODE_COUNT);
    IPT_MEMSET(&quick, 0, sizeof(quick));
    IPT_MEMSET(&slow, 0, sizeof(slow));
    size = ipti_x86_plain(&quick, bytes, mode);
    if (!size)
        return;
    CHECK(ipt_classify(&slow, bytes, sizeof(bytes), mode, 0) == IPT_OK);
    CHECK(slow.size == size);
    CHECK(slow.kind == quick.kind);
    CHECK(slow.displacement == quick.displacement);
    REACH(quick.kind == IPT_INSN_JCC);
    REACH(quick.kind == IPT_INSN_OTHER && size == 10);
    REACH(quick.kind == IPT_INSN_RET);
}
