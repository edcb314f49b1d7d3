/* guest.h: a guest for vmm.c. It is a recording, FOLDER, that runs eight times,
 * under one CR3 after the other, with trace lost in between. Its processor is
 * that of processor.h. Every 64 bytes of trace, and when a region is full, it
 * exits: vm_exit is called. */
#include "processor.h"
#include <stdio.h>
#include <string.h>

static int vm_exit(void);

static uint8_t guest_code[1 << 16], guest_trace[1 << 16];
static unsigned long long guest_base; /* where that code is */
static size_t guest_code_size, guest_trace_size;
static unsigned put, waits; /* bytes of trace; waits for room */

static size_t load(const char *folder, const char *name, uint8_t *to, size_t n)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    return f ? n = fread(to, 1, n, f), fclose(f), n : 0;
}

static int load_guest(const char *folder)
{
    guest_trace_size = load(folder, "trace.pt", guest_trace,
                            sizeof(guest_trace));
    load(folder, "image.map", guest_code, sizeof(guest_code) - 1);
    if (sscanf((char *) guest_code, "%llx", &guest_base) != 1)
        return 0;
    guest_code_size = load(folder, "pages.bin", guest_code, sizeof(guest_code));
    return guest_trace_size > 0;
}

/* Returns how many bytes there are, up to size; 0: none. */
static int copy_guest(uint8_t *buffer, size_t size, uint64_t ip)
{
    if (ip - guest_base >= guest_code_size)
        return 0;
    size_t from = (size_t) (ip - guest_base), left = guest_code_size - from;
    size = size < left ? size : left;
    memcpy(buffer, guest_code + from, size);
    return (int) size;
}

static void run_guest_for(const uint8_t *data, size_t size)
{
    for (; size--; data++) {
        if (size % 64 == 0 || interrupt)
            vm_exit();
        for (waits += stopped != 0; stopped;)
            vm_exit();
        put_out(*data);
        put++;
    }
}

static void print_guest(unsigned count)
{
    printf("%u bytes in %u regions, waited %u times for room\n", put,
           count, waits);
}

static void run_guest(void)
{
    uint8_t pip_ovf[] = {2, 0x43, 1, 4, 0, 0, 0, 0, 2, 0xf3};
    unsigned from = start_tracing();
    for (int run = 0; run < 8; run++, pip_ovf[3]++, from = 0) {
        if (run)
            run_guest_for(pip_ovf, sizeof(pip_ovf));
        run_guest_for(guest_trace + from, guest_trace_size - from);
    }
}
