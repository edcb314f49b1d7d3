/* seed.c: writes the corpus, fuzz/corpus/TAG/NAME, from tests/samples.h:
 *
 *     cc -g -I. -o seed fuzz/seed.c && ./seed fuzz/corpus
 *
 * The folders must be there. Nothing in the corpus has another source. */
#include "fuzz.h"
#include "tests/samples.h"

/* The input for a sample: `turn` varies what the sample leaves open. */
static size_t seed(uint8_t *out, const sample *s, unsigned turn)
{
    const size_t code = sample_hex(out + FUZZ_HEAD, s->code);
    const int trace = sample_trace(out + FUZZ_HEAD + code, s->trace);

    if (trace < 0 || code > 255) {
        fprintf(stderr, "seed: sample %s is wrong\n", s->name);
        exit(1);
    }
    memset(out, 0, FUZZ_HEAD);
    out[FUZZ_AT_FLAGS] = s->flags;
    out[FUZZ_AT_CONFIG] = s->config;
    out[FUZZ_AT_ERRATA] = s->errata;
    out[FUZZ_AT_MORE] = s->more;
    out[FUZZ_AT_CUT] = (uint8_t) (turn % 4 * 5);
    out[FUZZ_AT_FUEL] = (uint8_t) (turn % 3 * turn);
    if (turn % 4 == 3)
        out[FUZZ_AT_LIE] = (uint8_t) (turn / 4 % FUZZ_READS);
    out[FUZZ_AT_CLONE] = (uint8_t) (turn % 7);
    out[FUZZ_AT_BASE] = s->base;
    out[FUZZ_AT_CODE] = (uint8_t) code;
    return FUZZ_HEAD + code + (size_t) trace;
}

static void save(const char *folder, const char *tag, const char *name,
                 const uint8_t *bytes, size_t size)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/%s", folder, tag, name);
    file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
        perror(path);
        exit(1);
    }
}

/* Samples in front are about packets only; flow has its own. */
int main(int argc, char **argv)
{
    uint8_t bytes[FUZZ_HEAD + 2 * SAMPLE_MAX];
    unsigned flow = 0;
    unsigned i;

    if (argc != 2) {
        fprintf(stderr, "usage: %s folder\n", argv[0]);
        return 2;
    }
    for (i = 0; i < SAMPLES; i++) {
        const size_t size = seed(bytes, &samples[i], i);
        flow |= !strcmp(samples[i].name, "loop");
        if (!flow)
            save(argv[1], "pkt", samples[i].name, bytes, size);
        if (i % 2 || !flow)
            save(argv[1], "evt", samples[i].name, bytes, size);
        if (flow && i % 3 == 0)
            save(argv[1], "qry", samples[i].name, bytes, size);
        if (flow) {
            save(argv[1], "insn", samples[i].name, bytes, size);
            save(argv[1], "cov", samples[i].name, bytes, size);
            if (i % 3 == 1)
                save(argv[1], "blk", samples[i].name, bytes, size);
        }
    }
    return 0;
}
