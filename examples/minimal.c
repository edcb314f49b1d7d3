/* minimal TRACE CODE BASE: print the address of each instruction that ran. */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include <stdint.h>
#include <stdio.h>
static uint8_t trace[1 << 24], code[1 << 24];
static unsigned long long base, code_size;

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    size_t n = 0;
    for (; n < size && ip + n >= base && ip + n - base < code_size; n++)
        buffer[n] = code[ip + n - base];
    return (void) asid, (void) context, n ? (int) n : IPT_NEED_PAGE;
}

int main(int argc, char **argv)
{
    FILE *t = argc > 3 ? fopen(argv[1], "rb") : NULL;
    FILE *c = argc > 3 ? fopen(argv[2], "rb") : NULL;
    ipt_segment piece = {trace, t ? fread(trace, 1, sizeof trace, t) : 0};
    code_size = c ? fread(code, 1, sizeof code, c) : 0;
    if (!t || !c || !feof(t) || !feof(c) || !sscanf(argv[3], "%llx", &base))
        return fputs("usage: minimal TRACE CODE BASE (< 16 MiB)\n", stderr), 2;
    ipt_trace all = {&piece, 1, 0, 0};
    ipt_config config = {.read = read_code};
    ipt_insn_decoder d;
    ipt_insn insn;
    int s = ipt_insn_init(&d, &config, &all, NULL);
    s = s < 0 ? s : ipt_insn_sync_forward(&d);
    while (s >= 0 || s == IPT_EVENT_FIRST)
        if ((s = ipt_insn_next(&d, &insn)) >= 0)
            printf("%llx\n", (unsigned long long) insn.ip);
    fprintf(stderr, "%s at byte %#llx, ip %#llx: %s; %s\n", ipt_status_name(s),
            (unsigned long long) d.at.offset, (unsigned long long) d.at.ip,
            d.at.valid & IPT_AT_SYNC ? ipt_status_cause(s) : "no PSB found",
            ipt_status_remedy(s));
    return s != IPT_END || !(d.at.valid & IPT_AT_SYNC);
}
