/* decode.c: decode a recording that is part of the program. The same file runs
 * in a bare machine, firmware, two kernels and a microcontroller; each has a
 * folder here with a start file that calls decode() and shows the line it
 * writes. Nothing is asked of the system: no libc, no heap, no OS.
 *
 * SPDX-License-Identifier: MIT */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
#include "decode.h"

/* All the memory there is: 4 KiB of state, 4 KiB of cache. */
static ipt_insn_decoder decoder;
static ipt_cache_line lines[64];
static ipt_cache cache;

/* ipt_config.read: copy code out of the pages of the recording. */
static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    uint32_t low = 0;
    uint32_t high = decode_page_count;
    uint32_t from = (uint32_t) (ip % DECODE_PAGE);
    size_t n;

    (void) asid;
    (void) context;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (decode_page_ip[middle] <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || ip - decode_page_ip[low - 1] >= DECODE_PAGE)
        return IPT_NEED_PAGE;
    for (n = 0; n < size && from + n < DECODE_PAGE; n++)
        buffer[n] = decode_page_bytes[low - 1][from + n];
    return (int) n;
}

static char *put_text(char *out, const char *text)
{
    while (*text)
        *out++ = *text++;
    return out;
}

static char *put_number(char *out, uint32_t value)
{
    char digits[10];
    unsigned n = 0;

    do {
        digits[n++] = (char) ('0' + value % 10);
        value /= 10;
    } while (value);
    while (n)
        *out++ = digits[--n];
    return out;
}

static char *put_hash(char *out, uint64_t value)
{
    int i;

    for (i = 60; i >= 0; i -= 4)
        *out++ = "0123456789abcdef"[value >> i & 15];
    return out;
}

int decode(char line[DECODE_LINE])
{
    ipt_segment piece;
    ipt_trace trace = {0};
    ipt_config config = {0};
    ipt_insn insn;
    uint64_t hash = 0xcbf29ce484222325;
    uint32_t count = 0;
    int status;
    int i;

    piece.data = decode_trace;
    piece.size = decode_trace_size;
    trace.seg = &piece;
    trace.count = 1;
    config.read = read_code;

    status = ipt_cache_init(&cache, lines, sizeof(lines) / sizeof(lines[0]));
    if (status >= 0)
        status = ipt_insn_init(&decoder, &config, &trace, &cache);
    if (status >= 0)
        status = ipt_insn_sync_forward(&decoder);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        status = ipt_insn_next(&decoder, &insn);
        if (status < 0)
            continue;
        count++;
        for (i = 0; i < 64; i += 8)
            hash = (hash ^ (insn.ip >> i & 255)) * 0x100000001b3;
    }

    line = put_number(line, count);
    line = put_text(line, " instructions, hash ");
    line = put_hash(line, hash);
    line = put_text(line, status < 0 ? ", status -" : ", status ");
    line = put_number(line, (uint32_t) (status < 0 ? -status : status));
    *line = 0;
    return status != IPT_END;
}
