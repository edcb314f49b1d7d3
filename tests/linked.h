/* linked.h: ipt.h with its implementation in this program; with -DIPT_LINKED
 * without it, for programs that are linked with one decoder, which is compiled
 * once for all of them. Not for those that look at what is private. */
#ifndef TESTS_LINKED_H
#define TESTS_LINKED_H
#ifndef IPT_LINKED
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#endif
#include "ipt.h" /* of the first folder that has one: see hashes.sh */
#endif
