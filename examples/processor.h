/* processor.h: a model of a processor's trace output, for msr.c and vmm.c:
 * physical memory, the registers, and a Table of Physical Addresses in its
 * first page. */
#include "ipt.h"
#define PAGE 4096u
#define MOST 64u /* regions, of a page each, with holes between them */
#define REGION_AT(i) (PAGE * (1 + 2 * (i)))

static uint8_t memory[(1 + 2 * MOST) * PAGE];
static uint64_t output_base, output_mask_ptrs = 0x7f;
static uint64_t rtit_status = 0xfff00000000; /* of what was traced before */
static int stopped, interrupt;

static uint64_t entry_at(uint64_t at)
{
    uint64_t value = 0;
    for (unsigned i = 8; i-- > 0;)
        value = value << 8 | memory[at + i];
    return value;
}

/* Tracing starts: with a PSB only if IA32_RTIT_STATUS.PacketByteCnt is 0.
 * Returns how many bytes of a PSB are left out. */
static unsigned start_tracing(void)
{
    return rtit_status >> 32 & 0x1ffff ? 16 : 0;
}

/* The processor puts out a byte. SDM: "Table of Physical Addresses (ToPA)" */
static void put_out(uint8_t byte)
{
    uint64_t at = output_base + (output_mask_ptrs >> 7 & 0x1ffffff) * 8;
    uint64_t entry = entry_at(at), offset = output_mask_ptrs >> 32;
    memory[(entry & 0xffffffffff000) + offset] = byte;
    output_mask_ptrs += (uint64_t) 1 << 32; /* OutputOffset */
    if (offset + 1 < (uint64_t) PAGE << (entry >> 6 & 15))
        return;
    interrupt |= (entry & IPT_TOPA_INT) != 0;
    stopped |= (entry & IPT_TOPA_STOP) != 0;
    output_mask_ptrs = ((output_mask_ptrs & 0xffffff80) + 0x80) | 0x7f;
    if (entry_at(at + 8) & 1) { /* END: on to the table it links to */
        output_base = entry_at(at + 8) & 0xffffffffff000;
        output_mask_ptrs = 0x7f;
    }
}

/* ipt_topa.map: where physical memory is mapped. */
static const uint8_t *map(uint64_t physical, uint64_t size, void *context)
{
    (void) context;
    return size <= sizeof(memory) && physical <= sizeof(memory) - size
        ? memory + physical : NULL;
}
