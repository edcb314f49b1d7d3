/* consumer TRACE CODE BASE BITMAP: what every binding and every package has to
 * give: the number of instructions, a hash of their addresses, and a fuzzer's
 * bitmap, in a file. With a number instead of BITMAP it decodes so many times,
 * as the other languages' programs of this kind do. */
#define IPT_IMPLEMENTATION
#include <ipt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t trace_bytes[1 << 20], code[1 << 20], bitmap[65536];
static uint64_t base;
static size_t code_size;
static ipt_cache_line lines[4096];
static ipt_cov_line memo_lines[4096];

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    (void) context;
    if (ip < base || ip - base >= code_size)
        return IPT_NEED_PAGE;
    if (size > code_size - (size_t) (ip - base))
        size = code_size - (size_t) (ip - base);
    memcpy(buffer, code + (ip - base), size);
    return (int) size;
}

static size_t load(const char *name, uint8_t *to, size_t room)
{
    FILE *file = fopen(name, "rb");
    size_t size;

    if (!file) {
        perror(name);
        exit(2);
    }
    size = fread(to, 1, room, file);
    fclose(file);
    return size;
}

int main(int argc, char **argv)
{
    static ipt_insn_decoder decoder;
    static ipt_cov_decoder coverage;
    ipt_segment piece = {trace_bytes, 0};
    ipt_trace trace = {&piece, 1, 0, 0};
    ipt_config config;
    ipt_cov_config cov;
    ipt_cache cache;
    ipt_cov_memo memo;
    ipt_insn insn;
    unsigned long count = 0;
    uint64_t hash = 0xcbf29ce484222325;
    int status = IPT_OK;
    long rounds;
    FILE *out;

    if (argc != 5)
        return fprintf(stderr, "usage: consumer TRACE CODE BASE BITMAP\n"), 2;
    piece.size = load(argv[1], trace_bytes, sizeof(trace_bytes));
    code_size = load(argv[2], code, sizeof(code));
    base = strtoull(argv[3], NULL, 16);
    rounds = strtol(argv[4], NULL, 10);
    memset(&config, 0, sizeof(config));
    config.read = read_code;
    ipt_cache_init(&cache, lines, 4096);

    for (long i = 0; i < (rounds ? rounds : 1); i++) {
        status = ipt_insn_init(&decoder, &config, &trace, &cache);
        if (status >= 0)
            status = ipt_insn_sync_forward(&decoder);
        while (status >= 0 || status == IPT_EVENT_FIRST) {
            status = ipt_insn_next(&decoder, &insn);
            if (status < 0)
                continue;
            hash = (hash ^ insn.ip) * 0x100000001b3;
            count++;
        }
    }
    printf("%lu instructions, hash %llx\n", count, (unsigned long long) hash);
    if (rounds || status != IPT_END)
        return status != IPT_END;

    memset(&cov, 0, sizeof(cov));
    cov.bitmap = bitmap;
    cov.bitmap_size = sizeof(bitmap);
    cov.memo = &memo;
    ipt_cov_memo_init(&memo, memo_lines, 4096);
    status = ipt_cov_init(&coverage, &config, &cov, &trace, &cache);
    if (status >= 0)
        status = ipt_cov_run(&coverage);
    out = fopen(argv[4], "wb");
    if (!out || fwrite(bitmap, 1, sizeof(bitmap), out) != sizeof(bitmap))
        return perror(argv[4]), 2;
    fclose(out);
    printf("verdict %lu\n", (unsigned long) coverage.verdict);
    return status != IPT_END;
}
