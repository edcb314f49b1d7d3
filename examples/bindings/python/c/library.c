/* The decoder, as a library that exports its functions.
 *
 * SPDX-License-Identifier: MIT */
#define IPT_IMPLEMENTATION
#include "ipt.h"
