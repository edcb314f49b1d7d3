/* The decoder, for build.rs. With Zydis, its glue: functions of a header.
 *
 * SPDX-License-Identifier: MIT */
#define IPT_IMPLEMENTATION
#include "ipt.h"

#ifdef IPT_WITH_ZYDIS
#include "ipt_zydis.h"
int ipt_rust_zydis_classify(ipt_code *code, const uint8_t *bytes, size_t size,
                            uint8_t mode, void *context);
int ipt_rust_zydis_classify(ipt_code *code, const uint8_t *bytes, size_t size,
                            uint8_t mode, void *context)
{
    return ipt_zydis_classify(code, bytes, size, mode, context);
}
#endif
