/* process.c: see process.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "process.h"

#if defined(__linux__) && defined(__x86_64__)

#include "ipt.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define PAGE PROCESS_PAGE

static void *more_memory(const process *p, void *old, size_t count, size_t size)
{
    void *memory = realloc(old, count * size);

    if (!memory)
        p->config->fail("out of memory");
    return memory;
}

/* ---- memory and its mappings ---- */

/* ptrace reads what process_vm_readv does not: code that may only be
 * executed. */
int process_read(pid_t tid, uint64_t from, uint8_t *to, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *) (uintptr_t) from, size};
    size_t i;
    size_t n;

    if (process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t) size)
        return 1;
    for (i = 0; i < size; i += n) {
        long word;
        errno = 0;
        word = ptrace(PTRACE_PEEKTEXT, tid, from + i, NULL);
        if (errno)
            return 0;
        n = size - i < sizeof(word) ? size - i : sizeof(word);
        memcpy(to + i, &word, n);
    }
    return 1;
}

/* A line of /proc/PID/maps, whose end is cut off. Returns 0 if its code cannot
 * be executed. */
static int parse_region(char *line, process_region *r)
{
    char access[5];
    int name = 0;

    memset(r, 0, sizeof(*r));
    if (sscanf(line,
               "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32
               " %" SCNu64 " %n",
               &r->base, &r->end, access, &r->offset, &r->major, &r->minor,
               &r->inode, &name)
            < 7
        || access[2] != 'x')
        return 0;
    line[strcspn(line, "\n")] = 0;
    r->writable = access[1] == 'w';
    r->live = 1;
    r->name = line + (name ? (size_t) name : strlen(line));
    return 1;
}

static process_region *same_region(const process *p, const process_region *r)
{
    size_t i;

    for (i = 0; i < p->region_count; i++) {
        process_region *x = &p->regions[i];
        if (x->base == r->base && x->end == r->end && x->offset == r->offset
            && x->inode == r->inode && x->writable == r->writable
            && !strcmp(x->name, r->name))
            return x;
    }
    return NULL;
}

static void add_region(process *p, const process_region *r)
{
    process_region *x;

    p->regions = (process_region *) more_memory(
        p, p->regions, p->region_count + 1, sizeof(*p->regions));
    x = &p->regions[p->region_count++];
    *x = *r;
    x->name = strdup(r->name);
    if (!x->name)
        p->config->fail("out of memory");
}

/* Something new is mapped: pages there may change. */
static void begin_region(process *p, const process_region *r)
{
    size_t i;

    add_region(p, r);
    if (!p->config->mapped)
        return;
    for (i = 0; i < p->page_slots; i++)
        if (p->pages[i] && p->pages[i]->base >= r->base
            && p->pages[i]->base < r->end)
            p->pages[i]->stale = 1;
    p->config->mapped(p, r);
}

void process_read_maps(process *p, pid_t tid)
{
    char line[8192];
    char path[64];
    size_t kept = 0;
    size_t i;
    FILE *f;

    p->maps_stale = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int) tid);
    f = fopen(path, "r");
    if (!f) /* the thread was killed, or else its code cannot be found */
        return;
    for (i = 0; i < p->region_count; i++)
        p->regions[i].live = 0;
    while (fgets(line, sizeof(line), f)) {
        process_region r;
        process_region *known;
        if (!parse_region(line, &r))
            continue;
        known = same_region(p, &r);
        if (known && (known->was_live || !p->config->mapped))
            known->live = 1;
        else
            begin_region(p, &r);
    }
    fclose(f);
    for (i = 0; i < p->region_count; i++) {
        p->regions[i].was_live = p->regions[i].live;
        if (p->regions[i].live || p->regions[i].used)
            p->regions[kept++] = p->regions[i];
        else
            free(p->regions[i].name);
    }
    p->region_count = kept;
}

/* The region an address is in, or NULL. */
static process_region *find_region(process *p, pid_t tid, uint64_t ip)
{
    int again;

    for (again = p->maps_stale ? 1 : 0; again < 2; again++) {
        size_t i;
        if (again)
            process_read_maps(p, tid);
        for (i = 0; i < p->region_count; i++) {
            process_region *r = &p->regions[i];
            if (r->live && ip >= r->base && ip < r->end)
                return r;
        }
    }
    return NULL;
}

void process_copy_regions(process *p, const process *from)
{
    size_t i;

    for (i = 0; i < from->region_count; i++)
        add_region(p, &from->regions[i]);
}

void process_clear(process *p)
{
    size_t i;

    for (i = 0; i < p->page_slots; i++)
        free(p->pages[i]);
    free(p->pages);
    p->pages = NULL;
    p->page_count = p->page_slots = 0;
    p->last = NULL;
    for (i = 0; i < p->region_count; i++)
        free(p->regions[i].name);
    free(p->regions);
    p->regions = NULL;
    p->region_count = 0;
}

/* ---- pages of code ---- */

static process_page **page_slot(process_page **pages, size_t slots,
                                uint64_t base)
{
    size_t i = (size_t) (base / PAGE * 0x9e3779b97f4a7c15u >> 20) & (slots - 1);

    while (pages[i] && pages[i]->base != base)
        i = (i + 1) & (slots - 1);
    return &pages[i];
}

static void grow_pages(process *p)
{
    const size_t slots = p->page_slots ? 2 * p->page_slots : 256;
    process_page **pages = (process_page **) calloc(slots, sizeof(*pages));
    size_t i;

    if (!pages)
        p->config->fail("out of memory");
    for (i = 0; i < p->page_slots; i++)
        if (p->pages[i])
            *page_slot(pages, slots, p->pages[i]->base) = p->pages[i];
    free(p->pages);
    p->pages = pages;
    p->page_slots = slots;
}

static process_page *new_page(process *p, uint64_t base, const uint8_t *bytes)
{
    process_page *page = (process_page *) calloc(1, sizeof(*page));

    if (!page) {
        p->config->fail("out of memory");
        return NULL;
    }
    p->page_count++;
    page->base = base;
    memcpy(page->bytes, bytes, PAGE);
    return page;
}

/* Has an instruction changed that was executed? */
static int has_changed(const process_page *page, const uint8_t *bytes)
{
    size_t i, n;

    for (i = 0; i < PAGE; i++) {
        n = page->info[i].size;
        if (n && memcmp(page->bytes + i, bytes + i, n < PAGE - i ? n : PAGE - i))
            return 1;
    }
    return 0;
}

/* Is its code in no file that will be there? The kernel's pages are in none, and
 * readers have them. */
static int is_unfiled(const process_region *r)
{
    const size_t n = strlen(r->name);

    return n == 0 || strcmp(r->name, "[heap]") == 0
           || strncmp(r->name, "[stack", 6) == 0
           || strncmp(r->name, "[anon:", 6) == 0
           || (n > 10 && strcmp(r->name + n - 10, " (deleted)") == 0);
}

/* The page at base as it is now, or NULL if there is none that can be read.
 * Whatever the kernel did may have changed it: it is compared then. */
static process_page *find_page(process *p, pid_t tid, uint64_t base)
{
    uint8_t bytes[PAGE];
    process_page **slot;
    process_page *page;
    process_region *r;
    int is_new;

    if (p->last && p->last->base == base && p->last->epoch == p->epoch)
        return p->last;
    if (2 * p->page_count >= p->page_slots)
        grow_pages(p);
    slot = page_slot(p->pages, p->page_slots, base);
    page = *slot;
    if (page && page->epoch == p->epoch)
        return p->last = page;
    if (!process_read(tid, base, bytes, PAGE))
        return NULL;
    is_new = !page || page->stale;
    if (!page) {
        page = *slot = new_page(p, base, bytes);
    } else if (memcmp(page->bytes, bytes, PAGE)) {
        is_new = 1;
        if (page->stale)
            page->kept = 0;
        if (!page->stale && has_changed(page, bytes))
            p->config->fail(
                "the code at %" PRIx64 " changed after it was executed: it was "
                "mapped again or the program writes code; this cannot be "
                "recorded",
                base);
        memcpy(page->bytes, bytes, PAGE);
        if (page->stale)
            memset(page->info, 0, sizeof(page->info));
    }
    page->stale = 0;
    r = find_region(p, tid, base);
    page->writable = r && r->writable;
    if (r)
        r->used = 1;
    page->epoch = p->epoch;
    if (is_new && r && p->config->unfiled && is_unfiled(r))
        p->config->unfiled(p, page);
    return p->last = page;
}

/* ---- instructions ---- */

/* Is it a string instruction with a REP? */
static uint8_t is_rep(const uint8_t *bytes, size_t size, uint8_t mode)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                       0x66, 0x67, 0xf0, 0xf2, 0xf3};
    uint8_t rep = 0;
    size_t i;

    for (i = 0; i < size; i++) {
        const uint8_t b = bytes[i];
        if (memchr(prefixes, b, sizeof(prefixes)))
            rep |= (b & 0xfe) == 0xf2;
        else if (mode != IPT_MODE_64 || (b & 0xf0) != 0x40)
            return rep
                   && ((b & 0xfc) == 0x6c || (b & 0xfc) == 0xa4
                       || (b >= 0xaa && b <= 0xaf));
    }
    return 0;
}

const process_code *process_find(process *p, pid_t tid, uint64_t ip,
                                 uint8_t mode)
{
    const uint32_t at = (uint32_t) (ip % PAGE);
    process_page *page = find_page(p, tid, ip - at);
    process_code *info;
    uint8_t bytes[15];
    size_t n = PAGE - at < sizeof(bytes) ? PAGE - at : sizeof(bytes);

    if (!page)
        return NULL;
    if (page->mode != mode) {
        memset(page->info, 0, sizeof(page->info));
        page->mode = mode;
    }
    if (page->writable
        && (!process_read(tid, ip, bytes, n)
            || memcmp(bytes, page->bytes + at, n))) {
        page->epoch = 0; /* there is more code by now */
        p->last = NULL;
        page = find_page(p, tid, ip - at);
        if (!page)
            return NULL;
    }
    info = &page->info[at];
    if (info->size == 0 || at + info->size > PAGE) { /* new, or in two pages */
        ipt_code code;
        int status;
        memcpy(bytes, page->bytes + at, n);
        status = ipt_classify(&code, bytes, n, mode, NULL);
        if (status == IPT_MORE) {
            process_page *next = find_page(p, tid, page->base + PAGE);
            if (!next)
                return NULL;
            memcpy(bytes + n, next->bytes, sizeof(bytes) - n);
            status = ipt_classify(&code, bytes, sizeof(bytes), mode, NULL);
        }
        info->kind = PROCESS_BAD;
        info->size = 1;
        if (status >= 0) {
            info->displacement = (int32_t) code.displacement;
            info->size = code.size;
            info->kind = code.kind;
            info->rep = is_rep(bytes, code.size, mode);
            info->cpuid = code.size == 2 && bytes[0] == 0x0f && bytes[1] == 0xa2;
        }
    }
    return info;
}

#else

typedef int process_unused; /* C wants something in a file */

#endif
