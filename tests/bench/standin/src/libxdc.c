/* libxdc.c: see ../libxdc.h. Where the environment has STANDIN=wrong, a counter
 * is wrong; with STANDIN=slow it takes longer than any decoder; with
 * STANDIN=abort the process ends. */
#define _POSIX_C_SOURCE 200809L
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
#include "libxdc.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROWS_BY (1 << 20)

struct libxdc {
    void *(*fetch)(void *, uint64_t, bool *);
    void *opaque;
    ipt_config config;
    ipt_cov_config cov;
    ipt_cov_decoder decoder;
    uint8_t *grown; /* what it learns takes memory */
};

static int read_page(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const libxdc_t *self = context;
    const size_t at = (size_t) ip % 4096;
    bool ok = false;
    const uint8_t *page = self->fetch(self->opaque, ip, &ok);

    (void) asid;
    if (!ok)
        return IPT_NEED_PAGE;
    size = size < 4096 - at ? size : 4096 - at;
    memcpy(buffer, page + at, size);
    return (int) size;
}

/* Without a range it decodes nothing, and it asserts that those there are do
 * not overlap, whether they are used or not. */
static void check_filter(uint64_t filter[4][2])
{
    unsigned i;
    unsigned k;

    if (filter[0][0] >= filter[0][1] || filter[0][1] == UINT64_MAX)
        abort();
    for (i = 0; i < 4; i++)
        for (k = 0; k < 4; k++)
            if (filter[i][0] < filter[i][1] && filter[i][0] <= filter[k][0]
                && filter[k][0] < filter[i][1] && i != k)
                abort();
}

/* Spend 20 ms of processor time. */
static void dawdle(void)
{
    const clock_t until = clock() + CLOCKS_PER_SEC / 50;

    while (clock() < until)
        ;
}

libxdc_t *libxdc_init(uint64_t filter[4][2],
                      void *(*fetch)(void *, uint64_t, bool *), void *opaque,
                      void *bitmap, size_t size)
{
    libxdc_t *self = calloc(1, sizeof(*self));

    check_filter(filter);
    if (!self)
        return NULL;
    self->fetch = fetch;
    self->opaque = opaque;
    self->config.read = read_page;
    self->config.context = self;
    self->cov.bitmap = bitmap;
    self->cov.bitmap_size = (uint32_t) size;
    return self;
}

decoder_result_t libxdc_decode(libxdc_t *self, uint8_t *data, size_t size)
{
    const char *how = getenv("STANDIN");
    const ipt_segment piece = {data, size};
    const ipt_trace trace = {&piece, 1, 0, 0};
    int status;

    if (data[size] != 0x55 || (how && strcmp(how, "abort") == 0))
        abort();
    status = ipt_cov_init(&self->decoder, &self->config, &self->cov, &trace,
                          NULL);
    if (status >= 0)
        status = ipt_cov_run(&self->decoder);
    if (!self->grown && (self->grown = malloc(GROWS_BY)) != NULL)
        memset(self->grown, 1, GROWS_BY);
    if (how && strcmp(how, "slow") == 0)
        dawdle();
    if (how && strcmp(how, "wrong") == 0)
        ++*self->cov.bitmap;
    return status == IPT_NEED_PAGE ? decoder_page_fault
           : status != IPT_END     ? decoder_error
           : self->decoder.verdict ? decoder_success_pt_overflow
                                   : decoder_success;
}

void libxdc_free(libxdc_t *self)
{
    free(self->grown);
    free(self);
}
