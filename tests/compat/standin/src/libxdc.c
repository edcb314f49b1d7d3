/* libxdc.c: our own instead of libxdc, with a fault. The environment's STANDIN
 * says which: a counter is wrong; a result is; it is slow; it is faster than
 * any decoder, as it decodes a trace only once; it ends the process. */
#define libxdc_decode ours_decode
#include "examples/compat/libxdc/libxdc.c"
#undef libxdc_decode
#include <time.h>

decoder_result_t libxdc_decode(libxdc_t *self, uint8_t *data, size_t len);

static void dawdle(void)
{
    const clock_t until = clock() + CLOCKS_PER_SEC / 10;

    while (clock() < until)
        ;
}

decoder_result_t libxdc_decode(libxdc_t *self, uint8_t *data, size_t len)
{
    static const uint8_t *known;
    static uint8_t counted[1 << 16];
    const char *how = getenv("STANDIN");
    decoder_result_t result;

    if (data[len] != 0x55)
        abort();
    if (!how)
        return ours_decode(self, data, len);
    if (strcmp(how, "fast") == 0 && known == data) {
        memcpy(self->bitmap, counted, sizeof(counted));
        return decoder_success;
    }
    result = ours_decode(self, data, len);
    memcpy(counted, self->bitmap, sizeof(counted));
    known = data;
    if (strcmp(how, "slow") == 0)
        dawdle();
    if (strcmp(how, "counter") == 0)
        ++*self->bitmap;
    if (strcmp(how, "result") == 0)
        return decoder_error;
    if (strcmp(how, "abort") == 0)
        abort();
    return result;
}
