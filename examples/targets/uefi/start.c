/* start.c: an application for UEFI firmware. It needs no UEFI headers: of the
 * system table it uses two entries, by their place in the specification.
 *
 * SPDX-License-Identifier: MIT */
#include "decode.h"

typedef struct console {
    void *reset;
    uint64_t (*print)(struct console *self, const uint16_t *text);
} console;

typedef struct runtime {
    uint8_t header[24];
    void *other[10];
    void (*reset)(int how, uint64_t status, uint64_t size, const void *data);
} runtime;

typedef struct system_table {
    uint8_t header[24];
    void *vendor;
    uint32_t revision;
    void *console_in_handle;
    void *console_in;
    void *console_out_handle;
    console *out;
    void *error_handle;
    void *error;
    runtime *services;
} system_table;

#define RESET_SHUTDOWN 2

uint64_t efi_main(void *image, system_table *system);

uint64_t efi_main(void *image, system_table *system)
{
    static uint16_t wide[DECODE_LINE + 2];
    static char line[DECODE_LINE];
    int bad = decode(line);
    unsigned i;

    (void) image;
    for (i = 0; line[i]; i++)
        wide[i] = (uint8_t) line[i];
    wide[i] = '\r';
    wide[i + 1] = '\n';
    system->out->print(system->out, wide);
    /* Others would return here; this one is to end the machine. */
    system->services->reset(RESET_SHUTDOWN, bad ? 1 : 0, 0, 0);
    return bad ? 1 : 0;
}
