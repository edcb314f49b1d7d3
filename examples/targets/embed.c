/* embed FOLDER: write a recording as C arrays to standard output, for decode.c.
 *
 * FOLDER holds trace.pt and image.map, as ptrecord makes them. Of the code only
 * the pages that decoding needs are written; to find them, the trace is decoded
 * here. If FOLDER has ips.u64, the list of what executed, this is compared.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include "decode.h"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/image.c"

static image code;
static uint64_t *pages; /* that were read, sorted */
static size_t page_count;
static const char *folder;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "embed: %s/%s: %s\n", folder, what, why);
    return 1;
}

/* A file of the folder; NULL if there is none. */
static uint8_t *load(const char *name, size_t *size)
{
    char path[1024];
    uint8_t *data = NULL;
    FILE *f;
    long n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (!f)
        return NULL;
    if (!fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0 &&
        !fseek(f, 0, SEEK_SET) && (data = (uint8_t *) malloc((size_t) n)))
        *size = fread(data, 1, (size_t) n, f);
    fclose(f);
    return data;
}

/* Note that a page is needed. */
static void need(uint64_t ip)
{
    size_t at = 0;
    size_t i;

    while (at < page_count && pages[at] < ip)
        at++;
    if (at < page_count && pages[at] == ip)
        return;
    if (page_count % 256 == 0) {
        pages = (uint64_t *) realloc(pages, (page_count + 256) * 8);
        if (!pages)
            exit(fail("", "no memory"));
    }
    for (i = page_count++; i > at; i--)
        pages[i] = pages[i - 1];
    pages[at] = ip;
}

/* ipt_config.read. Like decode.c's it gives no more than a page at a time. */
static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    size_t left = DECODE_PAGE - (size_t) (ip % DECODE_PAGE);
    int n = image_read(buffer, size < left ? size : left, asid, ip, context);

    if (n > 0)
        need(ip - ip % DECODE_PAGE);
    return n;
}

static void print_bytes(const uint8_t *data, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        printf("%u,%s", data[i], i % 24 == 23 ? "\n" : "");
}

int main(int argc, char **argv)
{
    static ipt_insn_decoder decoder;
    ipt_config config = {0};
    ipt_segment piece = {0};
    ipt_trace trace = {0};
    ipt_insn insn;
    uint8_t bytes[DECODE_PAGE];
    uint8_t *ips;
    uint8_t *data;
    const char *why;
    size_t ips_size = 0;
    size_t count = 0;
    size_t i;
    size_t n;
    int status;
    int k;

    if (argc != 2)
        return fprintf(stderr, "usage: embed FOLDER >data.c\n"), 2;
    folder = argv[1];
    image_init(&code);
    why = image_add_map(&code, NULL, folder);
    if (why)
        return fail("image.map", why);
    data = load("trace.pt", &piece.size);
    if (!data)
        return fail("trace.pt", "cannot be read");
    piece.data = data;
    ips = load("ips.u64", &ips_size);
    trace.seg = &piece;
    trace.count = 1;
    config.read = read_code;
    config.context = &code;

    status = ipt_insn_init(&decoder, &config, &trace, NULL);
    if (status >= 0)
        status = ipt_insn_sync_forward(&decoder);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        uint64_t ip = 0;
        status = ipt_insn_next(&decoder, &insn);
        if (status < 0)
            continue;
        for (k = 7; ips && count < ips_size / 8 && k >= 0; k--)
            ip = ip << 8 | ips[count * 8 + (size_t) k];
        if (ips && (count >= ips_size / 8 || ip != insn.ip))
            return fail("ips.u64", "other instructions executed");
        count++;
    }
    if (status != IPT_END)
        return fail("trace.pt", ipt_status_cause(status));
    if (ips && count != ips_size / 8)
        return fail("ips.u64", "more instructions executed");

    printf("#include \"decode.h\"\nconst uint8_t decode_trace[] = {\n");
    print_bytes(piece.data, piece.size);
    printf("};\nconst uint32_t decode_trace_size = sizeof(decode_trace);\n"
           "const uint64_t decode_page_ip[] = {\n");
    for (i = 0; i < page_count; i++)
        printf("0x%llx,\n", (unsigned long long) pages[i]);
    printf("};\nconst uint32_t decode_page_count = %u;\n"
           "const uint8_t decode_page_bytes[][DECODE_PAGE] = {\n",
           (unsigned) page_count);
    for (i = 0; i < page_count; i++) {
        for (n = 0; n < DECODE_PAGE; n += (size_t) k) {
            k = image_read(bytes + n, DECODE_PAGE - n, &decoder.at.asid,
                           pages[i] + n, &code);
            if (k <= 0)
                break;
        }
        printf("{\n");
        print_bytes(bytes, n);
        printf("},\n");
    }
    printf("};\n");
    image_free(&code);
    free(ips);
    free(pages);
    free(data);
    return 0;
}
