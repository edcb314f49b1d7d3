/* corefile.c: see corefile.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "corefile.h"
#include "elffile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __has_include
#if __has_include(<libelf.h>) && __has_include(<gelf.h>)
#include <gelf.h>
#define COREFILE_LIBELF
#endif
#endif

const char *corefile_signal(uint32_t number)
{
    static const char *const names[] = {
        NULL, "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT",
        "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2",
        "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT"};
    if (number == 31) return "SIGSYS";
    return number && number < sizeof names / sizeof names[0] ? names[number]
                                                             : "signal";
}

const corefile_one *corefile_thread(const corefile *c, uint32_t tid)
{
    for (size_t i = 0; c && i < c->count; i++)
        if (c->list[i].tid == tid) return &c->list[i];
    return NULL;
}

void corefile_free(corefile *c)
{
    free(c->list);
    memset(c, 0, sizeof *c);
}

#ifdef COREFILE_LIBELF
/* Where the kernel's structures have what. */
typedef struct corefile_layout {
    size_t tid;
    size_t ip;
    size_t word;    /* of a register, or an address */
    size_t address; /* in siginfo */
} corefile_layout;

static uint64_t core_number(const uint8_t *from, size_t size)
{
    uint64_t n = 0;
    while (size--) n = n << 8 | from[size];
    return n;
}

/* Signals whose siginfo has an address: SIGILL, SIGTRAP, SIGBUS, SIGFPE,
 * SIGSEGV, if the kernel sent them because of one. */
static int has_address(uint32_t number, int32_t code)
{
    return code > 0 && code < 128
        && (number == 4 || number == 5 || number == 7 || number == 8
            || number == 11);
}

static int add_note(corefile *c, const corefile_layout *at, uint32_t type,
                    const uint8_t *note, size_t size)
{
    corefile_one *one = c->count ? &c->list[c->count - 1] : NULL;
    if (type == 1 && size >= at->ip + at->word) { /* NT_PRSTATUS */
        if (!tool_grow(&c->list, c->count + 1, sizeof *c->list)) return -1;
        one = &c->list[c->count++];
        memset(one, 0, sizeof *one);
        one->tid = (uint32_t) core_number(note + at->tid, 4);
        one->ip = core_number(note + at->ip, at->word);
    } else if (type == 0x53494749 && one /* NT_SIGINFO, of the thread before it */
               && size >= at->address + at->word) {
        one->signal = (uint32_t) core_number(note, 4);
        one->has_address = (uint8_t) has_address(
            one->signal, (int32_t) core_number(note + 8, 4));
        one->address = core_number(note + at->address, at->word);
    }
    return 0;
}

static int read_notes(corefile *c, Elf *elf, const corefile_layout *at)
{
    size_t count = 0;
    GElf_Phdr p;
    if (elf_getphdrnum(elf, &count)) return 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        Elf_Data *data;
        GElf_Nhdr note;
        size_t next = 0, name, from;
        if (!gelf_getphdr(elf, (int) i, &p) || p.p_type != PT_NOTE) continue;
        data = elf_getdata_rawchunk(elf, (int64_t) p.p_offset,
                                    (size_t) p.p_filesz, ELF_T_NHDR);
        while (data && (next = gelf_getnote(data, next, &note, &name, &from)) > 0)
            if (note.n_namesz == 5
                && memcmp((const char *) data->d_buf + name, "CORE", 5) == 0
                && add_note(c, at, note.n_type,
                            (const uint8_t *) data->d_buf + from, note.n_descsz))
                return -1;
    }
    return 0;
}

static const char *read_core(corefile *c, int fd)
{
    static const corefile_layout wide = {32, 112 + 16 * 8, 8, 16};
    static const corefile_layout narrow = {24, 72 + 12 * 4, 4, 12};
    Elf *const elf = elffile_open(fd);
    const char *why = NULL;
    GElf_Ehdr head;
    if (!elf || !gelf_getehdr(elf, &head) || head.e_type != ET_CORE)
        why = "not a core file";
    else if (head.e_machine != EM_X86_64 && head.e_machine != EM_386)
        why = "of another kind of processor";
    else if (read_notes(c, elf, head.e_machine == EM_386 ? &narrow : &wide))
        why = "out of memory";
    else if (c->count == 0)
        why = "it has no threads";
    elf_end(elf);
    return why;
}

int corefile_read(corefile *c, const tool_args *args, const char *name)
{
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    const char *why;
    memset(c, 0, sizeof *c);
    why = fd < 0 ? strerror(errno) : read_core(c, fd);
    if (fd >= 0) close(fd);
    if (!why) return 0;
    fprintf(stderr, "%s: ", args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", why);
    return 1;
}

#else
int corefile_read(corefile *c, const tool_args *args, const char *name)
{
    (void) name;
    memset(c, 0, sizeof *c);
    return tool_cannot(args, "--core", TOOL_LIBELF);
}
#endif
