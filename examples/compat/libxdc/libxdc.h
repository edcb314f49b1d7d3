/* libxdc.h: libxdc's interface, on top of ipt. Link with libxdc.so or libxdc.a
 * of `make compat`; neither needs libxdc or capstone.
 *
 * A program that was built with libxdc's own header may stay as it is, if its
 * callbacks are those of LIBXDC_API_VERSION below.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LIBXDC_H
#define LIBXDC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1: callbacks as libxdc's header declares them. 2: as kAFL and Nyx have them,
 * with the mode of the code as second argument. The library has to be the one
 * for the same version: build/compat, or build/compat/api2. */
#ifndef LIBXDC_API_VERSION
#define LIBXDC_API_VERSION 1
#endif

typedef enum decoder_result_e {
    decoder_success,
    decoder_success_pt_overflow, /* ... but the processor lost trace */
    decoder_page_fault,          /* code is missing: libxdc_get_page_fault_addr.
                                  * Provide it, reset the bitmap, and decode
                                  * again */
    decoder_error,               /* trace and code do not fit, or arguments */
    decoder_unkown_packet        /* bytes that begin no packet */
} decoder_result_t;

typedef enum disassembler_mode_s {
    mode_16,
    mode_32,
    mode_64
} disassembler_mode_t;

typedef struct libxdc_s libxdc_t;

/* Of blocks and edges: two addresses. */
#if LIBXDC_API_VERSION == 2
typedef void (*libxdc_pair_f)(void *opaque, disassembler_mode_t mode,
                              uint64_t a, uint64_t b);
typedef void (*libxdc_ip_f)(void *opaque, disassembler_mode_t mode,
                            uint64_t ip);
#else
typedef void (*libxdc_pair_f)(void *opaque, uint64_t a, uint64_t b);
typedef void (*libxdc_ip_f)(void *opaque, uint64_t ip);
#endif

/* No callback may decode with, or free, the decoder that calls it. */

/* A decoder, or NULL: no memory; no fetch or bitmap; a size that is not a power of
 * two, or more than 2^31. The bitmap is cleared.
 *
 * filter  ranges [min, max) of branches whose edges count; one with max <= min
 *         is not used. If none is, all edges count.
 * fetch   returns the page of 4 KiB that holds an address, and sets *ok; where
 *         it is not there, *ok is false. What it returned need not hold until
 *         the next call. */
libxdc_t *libxdc_init(uint64_t filter[4][2],
                      void *(*page_cache_fetch_fptr)(void *opaque,
                                                     uint64_t address,
                                                     bool *ok),
                      void *page_cache_fetch_opaque, void *bitmap_ptr,
                      size_t bitmap_size);

/* From the first PSB on; if there is none, nothing, which is a success. The
 * trace needs no end mark, and nothing is read beyond len. Counters are added
 * to the bitmap, but not in trace mode.
 *
 * Processors that trace for this have to leave returns uncompressed. */
decoder_result_t libxdc_decode(libxdc_t *self, uint8_t *data, size_t len);

/* In trace mode, which enable and disable switch, the bitmap stays as it is,
 * and the callback gets every branch that executed, except the last before an
 * overflow: where it is and where it went. (~0, ip) says that tracing began,
 * (ip, ~0) that it ended; ip is that of the packet, or, if it has none, of the
 * one before it. */
void libxdc_register_edge_callback(libxdc_t *self, libxdc_pair_f edge_callback,
                                   void *edge_callback_opaque);
void libxdc_enable_tracing(libxdc_t *self);
void libxdc_disable_tracing(libxdc_t *self);

/* Called once for each block, when it first executes: where it begins, and
 * where its branch is. */
void libxdc_register_bb_callback(libxdc_t *self,
                                 libxdc_pair_f basic_block_callback,
                                 void *basic_block_callback_opaque);

/* Called for the IP of each packet that has one (TIP, TIP.PGE, TIP.PGD, FUP)
 * before the trace is decoded. */
void libxdc_register_ip_callback(libxdc_t *self, libxdc_ip_f ip_callback,
                                 void *ip_callback_opaque);

/* Forget code and where it leads: it has changed. Takes effect at the next
 * decode. Blocks that the callback got stay known. */
void libxdc_reset_trace_cache(libxdc_t *self);

/* The page whose code was missing last. */
uint64_t libxdc_get_page_fault_addr(libxdc_t *self);

/* MurmurHash3 of the bitmap: the first 64 of 128 bits. */
uint64_t libxdc_bitmap_get_hash(libxdc_t *self);
void libxdc_bitmap_reset(libxdc_t *self);

uint16_t libxdc_get_release_version(void); /* major << 8 | minor */

void libxdc_free(libxdc_t *self);

#ifdef __cplusplus
}
#endif
#endif /* LIBXDC_H */
