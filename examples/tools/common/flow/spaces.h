/* spaces.h: which code was where in each process, as time goes on.
 *
 * It is given the records of a perf.data and answers ipt_config.read. Files
 * that were mapped are found as perf finds them, and are not taken if they are
 * of another build than what ran.
 *
 *     spaces_init(&s, &args);
 *     ...                                   // spaces_option, for each option
 *     spaces_open(&s, file.data, file.folder); // a perffile
 *     spaces_index(&s, &record);            // each record of the file
 *     spaces_start(&s);
 *
 *     spaces_view view = {&s, pid};         // one for each decoder
 *     config.read = spaces_read;
 *     config.space = spaces_number;
 *     config.context = &view;
 *
 * Then, in the order of time, each record after what was executed before it:
 *
 *     if (spaces_apply(&s, &record, &change) && !change.is_new)
 *         ipt_cache_invalidate(&cache, NULL, change.ip, change.size);
 *
 * JIT compilers write code and times into files of their own (jitdump). Where
 * spaces_next says that such a time comes before that of the next record, call
 * spaces_advance.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SPACES_H
#define SPACES_H
#include "../perf/binaries.h"
#include "../perf/filters.h"
#include "../code/files.h"
#include "../code/image.h"
#include "../perf/perfdata.h"
#include "pids.h"
#include "../code/tool.h"

#define SPACES_HELP                                                           \
    "  --symfs [<pid>:]<folder>  look for code in this folder, as if it were\n"\
    "                            the root: <folder>/<path>, then\n"           \
    "                            <folder>/<name>. With <pid>: for that\n"     \
    "                            process and those it makes.\n"               \
    "  --map [<pid>:]<folder>    code: what <folder>/image.map lists, in\n"   \
    "                            place of what was mapped there.\n"           \
    "  --buildid-dir <folder>    perf's cache of files; default: ~/.debug.\n" \
    "  --vdso <file>             what [vdso] was.\n"                          \
    "  --kcore <path>            the kernel's code: kcore, or a folder that\n"\
    "                            has it; default: that of a recording with\n" \
    "                            perf record --kcore.\n"                      \
    "  --kallsyms <file>         what the kernel's functions are called: a copy\n"\
    "                            of /proc/kallsyms; default: that in --kcore's\n"\
    "                            or --map's folder.\n"                       \
    "  --guest-map <folder>      code of guests: what its image.map lists.\n" \
    "  --force                   take files of another build, too.\n"

#define SPACES_NO_FILE 4u /* names of files that are not there are kept */

/* What cannot be found, counted. */
typedef struct spaces_losses {
    uint64_t no_file;     /* mappings whose file is not there */
    uint64_t other_build; /* ... is another version; used with --force only */
    uint64_t no_memory;   /* mappings that there was no memory for */
    uint64_t jit_damaged; /* jitdump files that cannot be read to their end */
    uint64_t jit_unsure;  /* ... whose times are of another clock than the
                             trace's, so that the order of code at the same
                             address is not sure */
    uint64_t kernel_gone; /* ranges of kernel code that came after the copy of
                             it was made, or went */
} spaces_losses;

/* Code that is seen has changed, or by whom: what ipt_cache_invalidate takes,
 * with an asid of NULL. */
typedef struct spaces_change {
    uint64_t ip;
    uint64_t size; /* 0: all code of the process */
    uint32_t pid;  /* of the process; SPACES_KERNEL */
    uint8_t is_new; /* no code was seen there before: no cache has any */
} spaces_change;

#define SPACES_KERNEL UINT32_MAX

/* Code of one process, or of several from fork on until one of them changes. */
typedef struct spaces_code {
    image jit;  /* what JIT compilers wrote: above */
    image seen; /* ... what was mapped */
    image absent; /* where files are mapped that are not there; in no layer */
    ipt_filter filter[IPT_FILTERS];
    uint64_t number; /* for ipt_config.space; never used again */
    uint32_t users;  /* processes */
    size_t limit;    /* sections: some may be of no use */
} spaces_code;

/* Where the files of some processes are, and the code the user gives. */
typedef struct spaces_place {
    uint32_t pid; /* UINT32_MAX: all others */
    const char *folder; /* --symfs; or NULL */
    image *map;   /* --map; or NULL */
} spaces_place;

typedef struct spaces_process {
    uint32_t pid;
    const spaces_place *place; /* its own, or its parent's, or of all */
    spaces_code *code;
    uint64_t life; /* counts forks and execs that began it */
} spaces_process;

typedef struct spaces {
    const tool_args *args; /* for messages */
    binaries files;
    spaces_place *places;
    size_t place_count;
    /* The function with a name in a file: 1, or 0. Yours to set; NULL: names in
     * filters are of nothing. */
    int (*symbol)(const files_file *file, const char *name, uint64_t *first,
                  uint64_t *size, void *context);
    void *context;
    const char *kcore; /* --kcore; or NULL */
    const char *kallsyms; /* --kallsyms; or NULL */
    const char *map;   /* --map without a PID; or NULL */
    image *guest;      /* --guest-map; or NULL */
    uint8_t force;
    uint8_t is_bare;   /* code is that of guests and of the kernel, too */
    uint8_t has_time;  /* the trace's clock is known: */
    uint64_t time[3];  /* its shift, mult, zero */
    filters filters;
    spaces_losses losses;
    char *no_file[SPACES_NO_FILE]; /* the first of those names, or NULL */

    /* private */
    char *own_cache;   /* defaults of options */
    char *own_kcore;
    pids processes;    /* spaces_process */
    ipt_filter kernel_filter[IPT_FILTERS]; /* of who has no other code */
    uint64_t numbers;  /* of code so far */
    size_t sections;   /* of all processes */
    size_t poke_limit; /* as spaces_code.limit, of the kernel */
    image kernel;
    const files_file *kernel_file; /* of spaces_kernel; or NULL */
    image poked;       /* kernel code from before it was first changed; from
                          no file: there was none */
    uint8_t *poked_bytes; /* what it and kernel show of that */
    size_t poked_count;
    size_t poked_max;
    uint64_t kernel_symbol; /* where _text, or _stext, was */
    uint8_t is_stext;
    struct spaces_jit **jits; /* jitdump files, a heap by time */
    size_t jit_count;
    size_t jit_max;
    size_t jit_pieces; /* of all files */
    size_t jit_steps;  /* records read of them */
} spaces;

/* Whose code a decoder reads. Set pid when another process runs. */
typedef struct spaces_view {
    spaces *all;
    uint32_t pid; /* 0: none: only kernel code */
} spaces_view;

/* args is for messages, and has to stay. */
void spaces_init(spaces *s, const tool_args *args);
void spaces_free(spaces *s);

/* Follow an option of SPACES_HELP. Returns 0 if it is none of these, -1 if it
 * was followed, else the exit status. */
int spaces_option(tool_args *args, spaces *s, const char *word);

/* There is no perf.data: all code is that of guests and of the kernel, too.
 * Returns the folder of --symfs, which the names of files begin with already;
 * or NULL. */
const char *spaces_bare(spaces *s);

/* The folder of --symfs for all processes; or NULL. */
const char *spaces_folder(const spaces *s);

/* What the file itself says: build ids, on which machine it was made. folder,
 * if not NULL, is the one that it is in, as perf record --kcore makes it. */
void spaces_open(spaces *s, const perfdata *file, const char *folder);

/* Note what a record says of all time: each, in the order of the file, before
 * any is applied. */
void spaces_index(spaces *s, const perfdata_record *r);

/* All records are known: 0, or the exit status with a message. */
int spaces_start(spaces *s);

/* The kernel's code is this ELF file, whose first segment was at `base`. 0, or the
 * exit status with a message. */
int spaces_kernel(spaces *s, const char *name, uint64_t base);

/* Where a byte of that file was; 0: nowhere. */
uint64_t spaces_in_kernel(const spaces *s, uint64_t offset);

/* The list of the kernel's symbols: its name, allocated; NULL if there is
 * none. */
char *spaces_kallsyms(const spaces *s);

/* The kernel's own file, in --map's folder; or NULL. */
const files_file *spaces_vmlinux(spaces *s);

/* Apply a record. 1: code has changed as `change` says; 0: it has not. */
int spaces_apply(spaces *s, const perfdata_record *r, spaces_change *change);

/* The time, in perf's ns, of the next JIT code that no call has shown yet;
 * UINT64_MAX if there is none. */
uint64_t spaces_next(const spaces *s);

/* Show what was made until a time. 1: code has changed, and there may be more:
 * call again. A recording without time: UINT64_MAX, after the last record. */
int spaces_advance(spaces *s, uint64_t time, spaces_change *change);

/* An ipt_config.read; context is a spaces_view. What ran in VMX non-root
 * operation is read from --guest-map only, but for spaces_bare. */
int spaces_read(uint8_t *buffer, size_t size, const ipt_asid *asid,
                uint64_t ip, void *context);

/* An ipt_config.space; context is a spaces_view. When its pid is set to another
 * process, the decoder has to be made to ask: ipt_cache_invalidate does. */
uint64_t spaces_number(const ipt_asid *asid, void *context);

/* The name of the file that is mapped at an address, and is not there; NULL if
 * there is none. first to last: the addresses that show it. */
const char *spaces_absent(const spaces_view *view, uint64_t ip,
                          uint64_t *first, uint64_t *last);

/* Where a process is traced, for ipt_config.filter; NULL: everywhere. */
const ipt_filter *spaces_filter(const spaces *s, uint32_t pid);

/* What is at an address: 1, or 0 if nothing is. */
typedef struct spaces_found {
    const char *name;       /* of the file as it was mapped, or of JIT code */
    const files_file *file; /* where it is read from; NULL: from memory */
    uint64_t offset;        /* ... of the byte at the address */
    uint64_t first;         /* the addresses that show it */
    uint64_t last;
} spaces_found;

int spaces_find(const spaces_view *view, const ipt_asid *asid, uint64_t ip,
                spaces_found *found);

#endif /* SPACES_H */
