/* names.h: today's names of ipt.h on an older one, so that hashes.sh can compile
 * today's harness for both. A public name that changes gets a line here, under
 * the version that it came with, and one that is new what it was before. */
#include "tests/linked.h"

#if IPT_VERSION < 0x000200
#define has_ip ip /* ipt_packet.u.ptw, exstop, bep, cfe, trig */
#endif

#ifndef IPT_ERRATUM_NLIP
#define IPT_ERRATUM_NLIP 0 /* nobody has it */
#endif
