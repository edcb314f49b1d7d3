/* ipt.c: the decoder. */
#define IPT_IMPLEMENTATION
#include "ipt.h"
