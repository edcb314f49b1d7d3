/* decode.h: what a start file needs. See decode.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DECODE_H
#define DECODE_H
#include <stdint.h>

#define DECODE_PAGE 4096u

/* The recording, from a file that embed.c writes at build time. */
extern const uint8_t decode_trace[];
extern const uint32_t decode_trace_size;
extern const uint64_t decode_page_ip[];             /* sorted */
extern const uint8_t decode_page_bytes[][DECODE_PAGE];
extern const uint32_t decode_page_count;

#define DECODE_LINE 80

/* Decode it. Writes a line of text, without a newline and ended by a NUL:
 *
 *     9254 instructions, hash 0123456789abcdef, status -1
 *
 * The hash is FNV-1a 64 over the address of each instruction, eight bytes each,
 * little-endian. Status -1 is IPT_END: nothing went wrong.
 *
 * returns  0 if all was decoded, 1 if not */
int decode(char line[DECODE_LINE]);

#endif /* DECODE_H */
