/* libxdc.h: stands in for libxdc's where that is not there, to try libxdc.c of
 * the bench: the functions that it calls, on top of ipt. */
#ifndef LIBXDC_H
#define LIBXDC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum decoder_result {
    decoder_success,
    decoder_success_pt_overflow,
    decoder_page_fault,
    decoder_error,
    decoder_unkown_packet
} decoder_result_t;

typedef struct libxdc libxdc_t;

libxdc_t *libxdc_init(uint64_t filter[4][2],
                      void *(*fetch)(void *, uint64_t, bool *), void *opaque,
                      void *bitmap, size_t size);
decoder_result_t libxdc_decode(libxdc_t *self, uint8_t *data, size_t size);
void libxdc_free(libxdc_t *self);
#endif
