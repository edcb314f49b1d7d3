/* ipt.c: the decoder, compiled once for all tools.
 *
 * SPDX-License-Identifier: MIT */
#define IPT_IMPLEMENTATION
#include "ipt.h"
