/* decoder.c: the decoder, in a translation unit of its own, as its users have
 * it: what calls it cannot see into it. */
#define IPT_IMPLEMENTATION
#include "ipt.h"
