/* qemu.h: what QEMU's user mode emulator executed, as tests/truth/qplugin.c
 * records it, for machine.h. 64-bit code that does not change.
 *
 * SPDX-License-Identifier: MIT */
#ifndef QEMU_H
#define QEMU_H
#include "machine.h"

typedef struct qemu_config {
    machine *m;
    uint64_t seed;                         /* of which system calls wait */
    void (*open_lists)(machine_thread *t); /* its list, costs and dates */
    void (*close_lists)(machine_thread *t);
    void (*fail)(const char *format, ...); /* does not return */
} qemu_config;

typedef struct qemu_program qemu_program;

/* A process: all threads recorded in a folder. Its code is that of the files in
 * the folder's `maps` as far as they have what ran; the rest, if there is any,
 * is written to the ELF file, whose name has to be a whole path. The threads get the numbers from pid
 * on. Returns the list of processes that others (NULL: none) is with this one
 * in it. */
qemu_program *qemu_add(const qemu_config *config, qemu_program *others,
                       const char *folder, uint32_t pid, const char *elf);

/* Let a thread that qemu_add made execute its next instruction. */
void qemu_step(const qemu_config *config, machine_thread *t);

/* End a thread before its next instruction. */
void qemu_end(const qemu_config *config, machine_thread *t);

/* Free a list of processes, once machine_end was called. */
void qemu_free(qemu_program *programs);

#endif /* QEMU_H */
