/* emit: a toy processor that traces itself, and what a decoder makes of that.
 * An emulator has the same to do: see [gen] in ipt.h. */
#define IPT_IMPLEMENTATION
#include "ipt.h"
#include <stdio.h>
#include <string.h>

#define BASE 0x401000u

static const uint8_t code[] = {
    0xb9, 5, 0, 0, 0, /* 00 mov ecx, 5 */
    0xe8, 6, 0, 0, 0, /* 05 call 10 */
    0xff, 0xc9,       /* 0a dec ecx */
    0x75, 0xf7,       /* 0c jnz 05 */
    0x0f, 0x05,       /* 0e syscall: into a kernel that is not traced */
    0xf6, 0xc1, 1,    /* 10 test cl, 1 */
    0x74, 1,          /* 13 jz 16 */
    0x90,             /* 15 nop */
    0xc3              /* 16 ret */
};

static uint8_t trace[4096];
static uint64_t ran[100];
static unsigned count;

/* ---- the processor ---- */

static uint64_t stack[8];
static unsigned depth;
static uint8_t ecx, zero;

/* Execute the instruction at ip. Returns where flow goes. */
static uint64_t execute(uint64_t ip, const ipt_code *insn)
{
    const uint8_t *bytes = code + (ip - BASE);
    const uint64_t next = ip + insn->size;
    const uint64_t target = next + (uint64_t) insn->displacement;

    switch (insn->kind) {
    case IPT_INSN_CALL:
        stack[depth++] = next;
        return target;
    case IPT_INSN_RET:
        return stack[--depth];
    case IPT_INSN_JCC:
        return zero == (bytes[0] == 0x74) ? target : next;
    default:
        if (bytes[0] == 0xb9)
            ecx = bytes[1];
        else if (bytes[0] == 0xff)
            zero = --ecx == 0;
        else if (bytes[0] == 0xf6)
            zero = !(ecx & bytes[2]);
        return next;
    }
}

/* Run the program. Returns the size of its trace, 0: something failed. */
static size_t run(void)
{
    ipt_gen gen;
    ipt_gen_config config = {0};
    ipt_event event = {0};
    ipt_code insn;
    uint64_t ip = BASE;
    int status = ipt_gen_init(&gen, &config, IPT_MODE_64);

    gen.out = trace;
    gen.size = sizeof trace; /* enough here; else see IPT_ERR_ROOM */
    event.type = IPT_EVT_ENABLED;
    event.ip = ip;
    if (status >= 0)
        status = ipt_gen_event(&gen, &event);
    while (status >= 0) {
        const size_t at = ip - BASE;
        uint64_t to;
        status = ipt_classify(&insn, code + at, sizeof code - at, IPT_MODE_64,
                              NULL);
        if (status < 0 || count == sizeof ran / sizeof *ran)
            return 0;
        ran[count++] = ip;
        if (insn.kind == IPT_INSN_SYSCALL)
            break;
        to = execute(ip, &insn);
        status = ipt_gen_branch(&gen, insn.kind, ip, insn.size, to);
        ip = to;
    }
    event.type = IPT_EVT_DISABLED; /* instead of the branch */
    event.flags = IPT_EVENT_NO_TO;
    if (status >= 0)
        status = ipt_gen_event(&gen, &event);
    return status >= 0 ? gen.used : 0;
}

/* ---- the decoder ---- */

static int read_code(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint64_t at = ip - BASE;

    (void) asid;
    (void) context;
    if (at >= sizeof code)
        return IPT_NEED_PAGE;
    if (size > sizeof code - at)
        size = sizeof code - at;
    memcpy(buffer, code + at, size);
    return (int) size;
}

int main(void)
{
    ipt_segment piece = {trace, 0};
    ipt_trace all = {&piece, 1, 0, 0};
    ipt_config config = {0};
    ipt_insn_decoder decoder;
    ipt_insn insn;
    unsigned n = 0;
    unsigned wrong = 0;
    int status;

    piece.size = run();
    config.read = read_code;
    status = ipt_insn_init(&decoder, &config, &all, NULL);
    if (status >= 0)
        status = ipt_insn_sync_forward(&decoder);
    while (status >= 0 && (status = ipt_insn_next(&decoder, &insn)) >= 0) {
        printf("%llx\n", (unsigned long long) insn.ip);
        wrong += n >= count || insn.ip != ran[n];
        n++;
    }
    printf("%u instructions, %u bytes of trace, %s: %s\n", n,
           (unsigned) piece.size, ipt_status_name(status),
           wrong || n != count ? "not what ran" : "what ran");
    return status != IPT_END || wrong || n != count;
}
