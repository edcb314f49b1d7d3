/* vmm [FOLDER]: the loop of a VMM. Its guest, a recording, runs twice, under
 * two CR3s, with trace lost in between. It goes into a ring of regions, and
 * each VM exit decodes and checks some of it, and gives regions back. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
#include <stdio.h>
#include <string.h>
#define REGION 128u /* bytes of a region; ToPA's have 4 KiB and more */
#define REGIONS 8u
#define FUEL 250 /* work of one VM exit */

static uint8_t ring[REGIONS][REGION];
static ipt_segment pieces[REGIONS]; /* the regions in use, oldest first */
static ipt_trace trace = {pieces, 0, 1, 0}; /* open: more will come */
static ipt_insn_decoder decoder;
static ipt_cache_line lines[64];
static uint8_t code[1 << 16], bytes[1 << 16]; /* of the guest; its trace */
static unsigned long long base; /* where that code is, ... */
static size_t code_size, present; /* ... once it is paged in */
static int lost = 1, wanted; /* trace; a page */
static uint64_t fuel, calls[4096], owed; /* owed: where a return must lead */
static unsigned used, depth, exits, insns, returns, bad, overflows;

/* Copy guest memory: walk the page tables at asid->cr3. Do not wait for a page
 * that is not there; say so. What maps it comes later, see vm_exit. */
static int read_guest(uint8_t *buffer, size_t size, const ipt_asid *asid,
                      uint64_t ip, void *context)
{
    (void) asid, (void) context;
    if (!present || ip - base >= code_size)
        return IPT_NEED_PAGE;
    size_t from = (size_t) (ip - base), left = code_size - from;
    memcpy(buffer, code + from, size < left ? size : left);
    return (int) (size < left ? size : left);
}

/* Control flow: each return has to lead after a call that led there. */
static void check(const ipt_insn *insn)
{
    if (insn->flags & IPT_FLOW_RESYNCED)
        owed = depth = 0; /* calls were lost with the trace */
    insns++;
    returns += owed != 0;
    bad += owed && owed != insn->ip;
    owed = 0;
    if (insn->kind == IPT_INSN_CALL || insn->kind == IPT_INSN_CALL_INDIRECT)
        calls[depth++ % 4096] = insn->ip + insn->size;
    else if (insn->kind == IPT_INSN_RET && depth)
        owed = calls[--depth % 4096];
}

/* What happened between two instructions. */
static void take_events(void)
{
    ipt_event event;
    while (ipt_insn_event(&decoder, &event) >= 0) {
        overflows += event.type == IPT_EVT_OVERFLOW; /* code ran unseen */
        if (event.type != IPT_EVT_PAGING)
            continue;
        owed = depth = 0; /* another task, another stack */
        printf("exit %u: cr3 is %llx, after %u instructions\n", exits,
               (unsigned long long) event.u.paging.cr3, insns);
    }
}

/* A VM exit: the guest stands still, so what is done here is bounded by fuel.
 * Returns why it stopped: IPT_MORE when it is up to date. */
static int vm_exit(void)
{
    ipt_insn insn;
    int status;
    exits++, fuel = FUEL;
    if (wanted) { /* in the last exit: here it is */
        present = 1;
        printf("exit %u: the page is there now\n", exits);
    }
    do {
        if (lost) /* at the start, and after errors: go to the next PSB */
            lost = (status = ipt_insn_sync_forward(&decoder)) < 0;
        else if ((status = ipt_insn_next(&decoder, &insn)) >= 0)
            check(&insn);
        take_events();
        wanted = status == IPT_NEED_PAGE && !present;
        if (status <= IPT_ERR_ARG || (status == IPT_NEED_PAGE && present)) {
            printf("exit %u: %s\n", exits, ipt_status_cause(status));
            lost = 1; /* decoder.at says where and why */
            status = IPT_OK;
        }
    } while (status >= 0 || status == IPT_EVENT_FIRST);
    /* Give back what nobody reads again; nonsense in it shows that it is so. */
    while (trace.offset + REGION <= decoder.at.release) {
        trace.offset += REGION;
        memset(ring[(used - trace.count) % REGIONS], 0xff, REGION);
        memmove(pieces, pieces + 1, --trace.count * sizeof(pieces[0]));
    }
    return status;
}

/* The processor writes trace, and exits every now and then. */
static void run_guest(const uint8_t *data, size_t size)
{
    for (; size--; data++) {
        if (size % 64 == 0)
            vm_exit();
        if (!trace.count || pieces[trace.count - 1].size == REGION) {
            while (trace.count == REGIONS) /* full: it has to wait */
                vm_exit();
            pieces[trace.count].data = ring[used++ % REGIONS];
            pieces[trace.count++].size = 0;
        }
        ring[(used - 1) % REGIONS][pieces[trace.count - 1].size++] = *data;
    }
}

static size_t load(const char *folder, const char *name, uint8_t *to, size_t n)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    return f ? n = fread(to, 1, n, f), fclose(f), n : 0;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "examples/recording";
    static const uint8_t pip_ovf[] = {2, 0x43, 1, 5, 0, 0, 0, 0, 2, 0xf3};
    size_t size = load(folder, "trace.pt", bytes, sizeof(bytes));
    static ipt_config config;
    static ipt_cache cache;
    int status = IPT_MORE;
    load(folder, "image.map", code, sizeof(code) - 1);
    if (!size || sscanf((char *) code, "%llx", &base) != 1)
        return fprintf(stderr, "usage: vmm FOLDER (of a recording)\n"), 2;
    code_size = load(folder, "pages.bin", code, sizeof(code));
    config.read = read_guest;
    config.fuel = &fuel;
    ipt_cache_init(&cache, lines, 64);
    ipt_insn_init(&decoder, &config, &trace, &cache);
    run_guest(bytes, size);
    run_guest(pip_ovf, sizeof(pip_ovf));
    run_guest(bytes, size);
    trace.open = 0; /* the guest is gone: decode the rest */
    while (status == IPT_MORE || status == IPT_BUDGET)
        status = vm_exit();
    printf("%u exits, %u instructions, %u overflows; %u returns checked, %u "
           "astray; %s\n", exits, insns, overflows, returns, bad,
           ipt_status_name(status));
    return status != IPT_END || bad || lost;
}
