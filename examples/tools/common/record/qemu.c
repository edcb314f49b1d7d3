/* qemu.c: see qemu.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "qemu.h"
#include "codefile.h"
#include "../code/below.h"
#include "../code/tool.h"
#include "ipt.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define BAD                                                                    \
    0xff           /* kind: QEMU cuts some instructions at the end of a page,
                    * which do not run */
#define PAIRS 4096 /* read at a time */

/* An instruction in code.bin. */
typedef struct entry {
    uint64_t ip;
    uint8_t size;
    uint8_t last;
    uint8_t bytes[15];
    uint8_t zero[7];
} entry;

typedef struct page {
    uint64_t base;
    uint8_t bytes[PAGE];
    uint8_t known[PAGE]; /* which of them were seen */
    const char *name;    /* a file that has them; NULL: ours, */
    uint64_t offset;     /* ... there */
} page;

/* A line of `maps`. */
typedef struct mapping {
    uint64_t first;
    uint64_t end;
    uint64_t offset;
    char *name;
} mapping;

typedef struct qemu_program {
    struct qemu_program *next;
    machine_insn *code; /* by the numbers of code.bin */
    uint32_t count;
    page *pages; /* by address */
    size_t page_count;
    mapping *maps;
    size_t map_count;
    struct thread *threads; /* the first one makes the others */
    uint32_t thread_count;
    uint32_t begun;
    uint64_t random;
} program;

typedef struct thread {
    machine_thread m; /* has to be the first member */
    program *p;
    FILE *run;
    uint32_t pairs[2 * PAIRS];
    size_t pair_count;
    size_t pair;      /* the next one */
    uint32_t first;   /* of the run in progress: number, ... */
    uint32_t left;    /* ... and instructions */
    uint32_t current; /* number of the instruction whose turn it is */
} thread;

/* ---- code ---- */

static void *allocate(const qemu_config *config, size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p)
        config->fail("out of memory");
    return p;
}

static int by_base(const void *a, const void *b)
{
    const uint64_t x = ((const page *) a)->base;
    const uint64_t y = ((const page *) b)->base;

    return x < y ? -1 : x > y;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *) a;
    const uint64_t y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* Pages with code, sorted: those of the first and last byte of each entry. */
static void find_pages(const qemu_config *config, program *p,
                       const entry *entries)
{
    uint64_t *bases = (uint64_t *) allocate(config, 2 * (size_t) p->count, 8);
    size_t i;

    for (i = 0; i < p->count; i++) {
        bases[2 * i] = entries[i].ip / PAGE;
        bases[2 * i + 1] = (entries[i].ip + entries[i].size - 1) / PAGE;
    }
    qsort(bases, 2 * (size_t) p->count, 8, by_number);
    for (i = 0; i < 2 * (size_t) p->count; i++)
        if (i == 0 || bases[i] != bases[i - 1])
            bases[p->page_count++] = bases[i];
    p->pages = (page *) allocate(config, p->page_count, sizeof(*p->pages));
    for (i = 0; i < p->page_count; i++)
        p->pages[i].base = bases[i] * PAGE;
    free(bases);
}

/* Put the bytes of an instruction that ran into its pages. Returns 0 if others
 * were there. */
static int add_bytes(program *p, const entry *e)
{
    size_t i;

    for (i = 0; i < e->size; i++) {
        const uint64_t at = e->ip + i;
        page key;
        page *found;
        key.base = at / PAGE * PAGE;
        found = (page *) bsearch(&key, p->pages, p->page_count, sizeof(page),
                                 by_base);
        if (!found
            || (found->known[at % PAGE]
                && found->bytes[at % PAGE] != e->bytes[i]))
            return 0;
        found->known[at % PAGE] = 1;
        found->bytes[at % PAGE] = e->bytes[i];
    }
    return 1;
}

static void classify(machine_insn *insn, const entry *e)
{
    ipt_code code;
    const int status =
        ipt_classify(&code, e->bytes, e->size, IPT_MODE_64, NULL);

    insn->ip = e->ip;
    insn->size = e->size;
    insn->kind = BAD;
    if (status >= 0 && code.size == e->size) {
        insn->kind = code.kind;
        insn->displacement = (int32_t) code.displacement;
    }
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, "rb");
}

static void load_code(const qemu_config *config, program *p, const char *folder)
{
    FILE *f = open_file(folder, "code.bin");
    entry *entries;
    long size = -1;
    uint32_t i;

    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size < (long) sizeof(entry)
        || (uint64_t) size / sizeof(entry) > UINT32_MAX / 2)
        config->fail("%s: no recording of QEMU's", folder);
    rewind(f);
    p->count = (uint32_t) ((size_t) size / sizeof(entry));
    entries = (entry *) allocate(config, p->count, sizeof(*entries));
    p->code = (machine_insn *) allocate(config, p->count, sizeof(*p->code));
    if (fread(entries, sizeof(*entries), p->count, f) != p->count)
        config->fail("cannot read %s/code.bin", folder);
    fclose(f);
    for (i = 0; i < p->count; i++) {
        if (entries[i].size < 1 || entries[i].size > 15)
            config->fail("%s/code.bin is damaged", folder);
        classify(&p->code[i], &entries[i]);
    }
    find_pages(config, p, entries);
    for (i = 0; i < p->count; i++)
        if (p->code[i].kind != BAD && !add_bytes(p, &entries[i]))
            config->fail("%s: its code changes; this cannot be written",
                         folder);
    free(entries);
}

/* ---- whose code it is ---- */

static void load_maps(const qemu_config *config, program *p, const char *folder)
{
    FILE *f = open_file(folder, "maps");
    char line[4200];

    while (f && fgets(line, sizeof(line), f)) {
        mapping m;
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n",
                   &m.first, &m.end, &m.offset, &at) != 3
            || line[at] != '/')
            continue;
        line[strcspn(line, "\n")] = 0;
        m.name = strdup(line + at);
        if (!m.name || !tool_grow(&p->maps, p->map_count + 1, sizeof(m)))
            config->fail("out of memory");
        p->maps[p->map_count++] = m;
    }
    if (f)
        fclose(f);
}

/* Does the file that is mapped there have what ran? */
static int has_page(const mapping *m, const page *at)
{
    const uint64_t offset = m->offset + (at->base - m->first);
    uint8_t bytes[PAGE];
    uint64_t size;
    ssize_t n;
    size_t i;
    const int fd = below_open("/", m->name, &size);

    if (fd < 0)
        return 0;
    n = pread(fd, bytes, PAGE, (off_t) offset);
    close(fd);
    for (i = 0; i < PAGE; i++)
        if (at->known[i] && ((ssize_t) i >= n || bytes[i] != at->bytes[i]))
            return 0;
    return 1;
}

/* Find the file of each page; `elf` has those that are in none. */
static void find_files(const qemu_config *config, program *p, const char *elf)
{
    uint64_t size = 0;
    size_t i, k;

    for (i = 0; i < p->page_count; i++) {
        page *at = &p->pages[i];
        for (k = 0; k < p->map_count && !at->name; k++) {
            const mapping *m = &p->maps[k];
            if (at->base < m->first || at->base >= m->end || !has_page(m, at))
                continue;
            at->name = m->name;
            at->offset = m->offset + (at->base - m->first);
        }
        if (at->name)
            continue;
        at->name = elf;
        at->offset = codefile_put(elf, &size, 0, at->bytes);
        if (!at->offset)
            config->fail("cannot write %s: %s", elf, strerror(errno));
    }
}

/* One mapping for pages that follow each other, in memory and in a file. */
static void say_maps(const qemu_config *config, const program *p,
                     const machine_thread *t)
{
    size_t from = 0;
    size_t i;

    for (i = 1; i <= p->page_count; i++) {
        perfwrite_map map;
        if (i < p->page_count
            && p->pages[i].base == p->pages[i - 1].base + PAGE
            && p->pages[i].offset == p->pages[i - 1].offset + PAGE
            && strcmp(p->pages[i].name, p->pages[i - 1].name) == 0)
            continue;
        memset(&map, 0, sizeof(map));
        map.base = p->pages[from].base;
        map.size = (i - from) * PAGE;
        map.offset = p->pages[from].offset;
        map.prot = 5;  /* read, execute */
        map.flags = 2; /* private */
        map.name = p->pages[from].name;
        machine_map(config->m, t, &map);
        from = i;
    }
}

/* ---- threads ---- */

/* The number of the next instruction; 0 at the end. */
static int advance(const qemu_config *config, thread *t, uint32_t *number)
{
    while (t->left == 0) {
        if (t->pair == t->pair_count) {
            t->pair_count = fread(t->pairs, 8, PAIRS, t->run);
            t->pair = 0;
            if (t->pair_count == 0)
                return 0;
        }
        t->first = t->pairs[2 * t->pair];
        t->left = t->pairs[2 * t->pair++ + 1];
        if (t->first >= t->p->count || t->left > t->p->count - t->first)
            config->fail("a recording of QEMU's is damaged");
    }
    t->left--;
    *number = t->first++;
    return 1;
}

/* Begin the threads after the first one, at system calls of that one. */
static void begin_next(const qemu_config *config, program *p)
{
    thread *t;

    if (p->begun == p->thread_count)
        return;
    t = &p->threads[p->begun++];
    config->open_lists(&t->m);
    machine_add(config->m, &t->m, p->begun > 1 ? &p->threads[0].m : NULL);
}

void qemu_end(const qemu_config *config, machine_thread *m)
{
    thread *t = (thread *) m;

    machine_interrupted(config->m, &t->m, t->m.ip);
    if (t == &t->p->threads[0])
        while (t->p->begun < t->p->thread_count)
            begin_next(config, t->p);
    machine_exit(config->m, &t->m);
    fclose(t->run);
    config->close_lists(&t->m);
}

/* A quarter of the system calls wait, up to 20,000 cycles. */
static void system_call(const qemu_config *config, thread *t)
{
    program *p = t->p;

    if (t == &p->threads[0])
        begin_next(config, p);
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    if (p->random >> 62 == 0) {
        machine_wait(config->m, &t->m);
        machine_ready(config->m, &t->m, (p->random >> 33) % 20000);
    }
}

void qemu_step(const qemu_config *config, machine_thread *m)
{
    thread *t = (thread *) m;
    const machine_insn *insn = &t->p->code[t->current];
    uint32_t next;

    if (!advance(config, t, &next)) {
        /* where the last instruction led is not known */
        qemu_end(config, m);
        return;
    }
    m->ip = t->p->code[next].ip;
    t->current = next;
    if (insn->kind == BAD || !machine_leads(m, insn, m->ip)) {
        /* a fault or a signal: it counts as not executed */
        machine_arrived(config->m, m, insn->ip);
        machine_interrupted(config->m, m, insn->ip);
        return;
    }
    machine_executed(config->m, m, insn, m->ip, m->mode);
    if (!m->on)
        system_call(config, t);
}

qemu_program *qemu_add(const qemu_config *config, qemu_program *others,
                       const char *folder, uint32_t pid, const char *elf)
{
    program *p = (program *) allocate(config, 1, sizeof(*p));
    const char *name = strrchr(folder, '/');
    char file[32];
    uint32_t i;

    p->next = others;
    load_code(config, p, folder);
    load_maps(config, p, folder);
    find_files(config, p, elf);
    p->random = config->seed + pid;
    for (i = 0;; i++) {
        FILE *f;
        snprintf(file, sizeof(file), "%" PRIu32 ".run", i);
        f = open_file(folder, file);
        if (!f)
            break;
        fclose(f);
    }
    p->threads = (thread *) allocate(config, i, sizeof(*p->threads));
    for (; p->thread_count < i; p->thread_count++) {
        thread *t = &p->threads[p->thread_count];
        snprintf(file, sizeof(file), "%" PRIu32 ".run", p->thread_count);
        t->p = p;
        t->m.pid = pid;
        t->m.tid = pid + p->thread_count;
        t->m.mode = IPT_MODE_64;
        t->run = open_file(folder, file);
        if (!t->run || !advance(config, t, &t->current))
            config->fail("%s/%s: %s", folder, file,
                         t->run ? "nothing ran" : strerror(errno));
        t->m.ip = p->code[t->current].ip;
    }
    if (i == 0)
        config->fail("%s: no thread", folder);
    begin_next(config, p);
    machine_comm(config->m, &p->threads[0].m,
                 name && name[1] ? name + 1 : folder, 1);
    say_maps(config, p, &p->threads[0].m);
    return p;
}

void qemu_free(qemu_program *programs)
{
    while (programs) {
        program *p = programs;
        programs = p->next;
        free(p->code);
        free(p->pages);
        while (p->map_count)
            free(p->maps[--p->map_count].name);
        free(p->maps);
        free(p->threads);
        free(p);
    }
}
