/* vmm [FOLDER]: the loop of a VMM. Its guest (guest.h) runs, and the processor
 * writes trace into a ring of regions. Each VM exit decodes and checks some of
 * it (shadow.h), on a bounded amount of work, and gives regions back. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "guest.h"
#include "shadow.h"
#define REGIONS 2u
#define PIECES 256u /* what one exit finds new is one piece, or two */
#define FUEL 100    /* work of one VM exit */

static ipt_region regions[REGIONS];
static ipt_topa topa;
static ipt_segment pieces[PIECES]; /* trace that is still needed */
static ipt_trace trace = {pieces, 0, 1, 0}; /* open: more will come */
static ipt_insn_decoder decoder;
static ipt_cache_line lines[64];
static int lost = 1, wanted, paged_in; /* trace; a page; it is there now */
static uint64_t fuel;
static unsigned exits, overflows;

/* Copy guest memory: walk the page tables at asid->cr3. Do not wait for a page
 * that is not there; say so. What maps it comes later, see vm_exit. */
static int read_guest(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    (void) asid, (void) context;
    return paged_in ? copy_guest(buffer, size, ip) : (int) IPT_NEED_PAGE;
}

/* What happened between two instructions. */
static void take_events(void)
{
    ipt_event event;
    while (ipt_insn_event(&decoder, &event) >= 0) {
        overflows += event.type == IPT_EVT_OVERFLOW; /* code ran unseen */
        if (event.type != IPT_EVT_PAGING)
            continue;
        shadow_forget(); /* another task, another stack */
        printf("exit %u: cr3 is %llx, after %u instructions\n", exits,
               (unsigned long long) event.u.paging.cr3, insns);
    }
}

/* Append what is new. Exits come before output goes round: wrapped stays 0. */
static void find_trace(void)
{
    topa.output_base = output_base;
    topa.output_mask_ptrs = output_mask_ptrs;
    int n = ipt_segments_from_topa(pieces + trace.count, PIECES - trace.count,
                                   &topa);
    interrupt = 0;
    if (n < 0)
        return; /* no room for pieces: it stays new */
    topa.since_base = output_base;
    topa.since_mask_ptrs = output_mask_ptrs;
    trace.count += (uint32_t) n;
}

/* Decode until fuel is used up. Returns why it stopped: IPT_MORE when it is up
 * to date. */
static int decode(void)
{
    ipt_insn insn;
    int status;
    do {
        if (lost) /* at the start, and after errors: go to the next PSB */
            lost = (status = ipt_insn_sync_forward(&decoder)) < 0;
        else if ((status = ipt_insn_next(&decoder, &insn)) >= 0)
            shadow_check(&insn);
        take_events();
        wanted = status == IPT_NEED_PAGE && !paged_in;
        if (status <= IPT_ERR_ARG || (status == IPT_NEED_PAGE && paged_in)) {
            printf("exit %u: %s\n", exits, ipt_status_cause(status));
            lost = 1; /* decoder.at says where and why */
            shadow_forget();
            status = IPT_OK;
        }
    } while (status >= 0 || status == IPT_EVENT_FIRST);
    return status;
}

/* Drop pieces that nobody reads again; nonsense in them shows that it is so. */
static void drop_pieces(void)
{
    while (trace.count && trace.offset + pieces[0].size <= decoder.at.release) {
        memset(memory + (pieces[0].data - memory), 0xff, pieces[0].size);
        trace.offset += pieces[0].size;
        memmove(pieces, pieces + 1, --trace.count * sizeof(pieces[0]));
    }
}

/* Write the table: output may go on until it comes to the region of the oldest
 * piece. If it stands there already, it stays stopped. */
static int write_table(void)
{
    uint32_t here = (uint32_t) (output_mask_ptrs >> 7 & 0x1ffffff);
    uint32_t oldest = here;
    for (uint32_t i = 0; trace.count && i < REGIONS; i++)
        if ((size_t) (pieces[0].data - memory) - REGION_AT(i) < PAGE)
            oldest = i;
    stopped = stopped && trace.count && oldest == here;
    for (uint32_t i = 0; i < REGIONS; i++)
        regions[i] = (ipt_region){REGION_AT(i), PAGE, IPT_TOPA_INT};
    regions[(oldest + REGIONS - 1) % REGIONS].flags |= IPT_TOPA_STOP;
    return ipt_topa_from_regions(memory, PAGE / 8, 0, regions, REGIONS);
}

/* A VM exit: the guest stands still, so what is done here is bounded. */
static int vm_exit(void)
{
    exits++, fuel = FUEL;
    if (wanted) { /* in the last exit: here it is */
        paged_in = 1;
        printf("exit %u: the page is there now\n", exits);
    }
    find_trace();
    int status = decode();
    drop_pieces();
    write_table();
    return status;
}

int main(int argc, char **argv)
{
    static ipt_config config;
    static ipt_cache cache;
    int status = IPT_MORE;
    if (!load_guest(argc > 1 ? argv[1] : "examples/recording"))
        return fprintf(stderr, "usage: vmm FOLDER (of a recording)\n"), 2;
    config.read = read_guest;
    config.fuel = &fuel;
    topa.map = map;
    topa.rtit_ctl = IPT_RTIT_TOPA;
    topa.since_mask_ptrs = output_mask_ptrs;
    ipt_cache_init(&cache, lines, 64);
    if (write_table() < 0
        || ipt_insn_init(&decoder, &config, &trace, &cache) < 0)
        return 2;
    rtit_status = 0; /* PacketByteCnt, too: trace begins with a PSB */
    run_guest();
    find_trace();
    trace.open = 0; /* the guest is gone: decode the rest */
    while (status == IPT_MORE || status == IPT_BUDGET)
        status = vm_exit();
    print_guest(REGIONS);
    printf("%u exits, %u instructions, %u overflows; %u returns checked, %u "
           "astray; %s\n", exits, insns, overflows, returns, bad,
           ipt_status_name(status));
    return status != IPT_END || bad || lost;
}
