/* image.c: traced images and caches of sections.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "section.h"
#include <stdlib.h>
#include <string.h>

/* ---- address spaces ---- */

/* What the caller's struct does not have is not known. */
static struct pt_asid asid_from(const struct pt_asid *from)
{
    struct pt_asid asid;
    pt_asid_init(&asid);
    if (from)
        memcpy(&asid, from, from->size < sizeof asid ? from->size
                                                     : sizeof asid);
    asid.size = sizeof asid;
    return asid;
}

static int same_or_any(uint64_t a, uint64_t b)
{
    return a == b || a == UINT64_MAX || b == UINT64_MAX;
}

static int matches(const struct pt_asid *a, uint64_t cr3, uint64_t vmcs)
{
    return same_or_any(a->cr3, cr3) && same_or_any(a->vmcs, vmcs);
}

/* ---- caches ---- */

#define SMALL 64

/* The first small one costs no memory, and nothing to be filled with zeros. */
static struct {
    shim_cache c;
    ipt_cache_line lines[SMALL];
} spare;

static void disown(shim_cache *c)
{
    if (c && !__atomic_sub_fetch(&c->owners, 1, __ATOMIC_ACQ_REL)
        && c != &spare.c)
        free(c);
}

/* A cache with one owner; NULL: no memory. */
static shim_cache *make_cache(size_t count)
{
    shim_cache *c = &spare.c;
    ipt_cache_line *lines = spare.lines;
    int nobody = 0;
    if (count > SMALL
        || !__atomic_compare_exchange_n(&c->owners, &nobody, 1, 0,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        c = malloc(sizeof *c + count * sizeof *lines);
        if (!c) return NULL;
        lines = (ipt_cache_line *) (c + 1);
        c->owners = 1;
        c->count = 0;
    }
    if (!c->count) (void) ipt_cache_init(&c->cache, lines, count);
    c->count = count;
    c->version = 0; /* it may have code, of an image that was */
    c->busy = 1;
    return c;
}

/* A short trace would spend more on a large cache than it gains; the code of a
 * long one repeats itself, and all of it is worth keeping. */
static size_t lines_for(uint64_t size)
{
    size_t count = SMALL;
    while (count < 16384 && count < size / 512 * (size / 512)) count *= 2;
    return count;
}

shim_cache *shim_cache_take(struct pt_image *image, uint64_t size)
{
    const size_t count = lines_for(size);
    shim_cache *c = image->cache;
    if (c && c->count >= count
        && !__atomic_exchange_n(&c->busy, 1, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&c->owners, 1, __ATOMIC_RELAXED);
        if (image->callback) c->version = 0; /* it may say another thing now */
        return c;
    }
    c = make_cache(count);
    if (!c) return NULL;
    if (!image->cache || image->cache->count < count) {
        disown(image->cache);
        __atomic_add_fetch(&c->owners, 1, __ATOMIC_RELAXED);
        image->cache = c;
    }
    return c;
}

void shim_cache_drop(shim_cache *c)
{
    if (!c) return;
    __atomic_store_n(&c->busy, 0, __ATOMIC_RELEASE);
    disown(c);
}

/* ---- images ---- */

static void change(struct pt_image *image)
{
    static uint64_t last;
    image->version = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void shim_image_init(struct pt_image *image)
{
    memset(image, 0, sizeof *image);
    change(image);
}

struct pt_image *pt_image_alloc(const char *name)
{
    struct pt_image *image = malloc(sizeof *image);
    if (!image) return NULL;
    shim_image_init(image);
    if (!name) return image;
    image->name = shim_text(name);
    if (image->name) return image;
    free(image);
    return NULL;
}

static void drop_part(struct pt_image *image, shim_part *p)
{
    if (p->bytes) {
        shim_section_unpin(p->section);
        image->pins--;
    }
    shim_section_drop(p->section);
}

void shim_image_end(struct pt_image *image)
{
    for (size_t i = 0; i < image->count; i++)
        drop_part(image, &image->parts[i]);
    disown(image->cache);
    free(image->parts);
    free(image->name);
}

void pt_image_free(struct pt_image *image)
{
    if (!image) return;
    shim_image_end(image);
    free(image);
}

const char *pt_image_name(const struct pt_image *image)
{
    return image ? image->name : NULL;
}

static int reserve(struct pt_image *image, size_t more)
{
    const size_t want = image->count + more;
    shim_part *parts;
    if (want <= image->room) return 0;
    parts = realloc(image->parts, 2 * want * sizeof *parts);
    if (!parts) return -pte_nomem;
    image->parts = parts;
    image->room = 2 * want;
    return 0;
}

static void put(struct pt_image *image, const shim_part *part)
{
    shim_part *p = &image->parts[image->count++];
    *p = *part;
    p->bytes = NULL;
    shim_section_use(p->section);
}

static void take_away(struct pt_image *image, size_t i)
{
    drop_part(image, &image->parts[i]);
    image->parts[i] = image->parts[--image->count];
}

/* What is left of a part on both sides of a new one. */
static void cut(struct pt_image *image, size_t i, const shim_part *by)
{
    const shim_part old = image->parts[i];
    shim_part rest = old;
    const uint64_t end = by->begin + by->size;
    const uint64_t old_end = old.begin + old.size;
    if (old.begin < by->begin) {
        rest.size = by->begin - old.begin;
        put(image, &rest);
    }
    if (end - 1 < old_end - 1) {
        rest.begin = end;
        rest.size = old_end - end;
        rest.offset = old.offset + (end - old.begin);
        put(image, &rest);
    }
    take_away(image, i);
}

/* Add a part; it hides what is there. One that is empty, or goes on after the
 * last address, is counted, and no ip is in it. */
static int add(struct pt_image *image, const shim_part *from)
{
    const size_t before = image->count;
    const uint64_t last = from->begin + (from->size - 1);
    shim_part part = *from;
    if (last < part.begin) part.size = 0;
    if (reserve(image, 2 * before + 1) < 0) return -pte_nomem;
    change(image);
    for (size_t i = before; part.size && i-- > 0;) {
        const shim_part *p = &image->parts[i];
        if (p->size && matches(&p->asid, part.asid.cr3, part.asid.vmcs)
            && p->begin <= last && part.begin <= p->begin + (p->size - 1))
            cut(image, i, &part);
    }
    put(image, &part);
    return 0;
}

int pt_image_add_file(struct pt_image *image, const char *filename,
                      uint64_t offset, uint64_t size,
                      const struct pt_asid *asid, uint64_t vaddr)
{
    shim_part part;
    int status;
    if (!image || !filename) return -pte_invalid;
    memset(&part, 0, sizeof part);
    part.asid = asid_from(asid);
    status = shim_section_make(&part.section, filename, offset, size);
    if (status < 0) return status;
    part.begin = vaddr;
    part.size = part.section->size;
    status = add(image, &part);
    shim_section_drop(part.section);
    return status;
}

int pt_image_copy(struct pt_image *image, const struct pt_image *src)
{
    int ignored = 0;
    if (!image || !src) return -pte_invalid;
    if (image == src) return 0;
    for (size_t i = 0; i < src->count; i++)
        if (add(image, &src->parts[i]) < 0) ignored++;
    return ignored;
}

static int remove_parts(struct pt_image *image, const char *filename,
                        const struct pt_asid *asid)
{
    const struct pt_asid from = asid_from(asid);
    int removed = 0;
    for (size_t i = image->count; i-- > 0;) {
        const shim_part *p = &image->parts[i];
        if (!matches(&p->asid, from.cr3, from.vmcs)
            || (filename && strcmp(p->section->name, filename) != 0))
            continue;
        take_away(image, i);
        removed++;
    }
    change(image);
    return removed;
}

int pt_image_remove_by_filename(struct pt_image *image, const char *filename,
                                const struct pt_asid *asid)
{
    if (!image || !filename) return -pte_invalid;
    return remove_parts(image, filename, asid);
}

int pt_image_remove_by_asid(struct pt_image *image, const struct pt_asid *asid)
{
    return image ? remove_parts(image, NULL, asid) : -pte_invalid;
}

int pt_image_set_callback(struct pt_image *image,
                          read_memory_callback_t *callback, void *context)
{
    if (!image) return -pte_invalid;
    image->callback = callback;
    image->context = context;
    change(image);
    return 0;
}

/* ---- reading ---- */

#define PINS_MAX 64

static void unpin_all(struct pt_image *image)
{
    for (size_t i = 0; i < image->count; i++) {
        shim_part *p = &image->parts[i];
        if (p->bytes) shim_section_unpin(p->section);
        p->bytes = NULL;
    }
    image->pins = 0;
}

static const shim_part *map_part(struct pt_image *image, shim_part *p)
{
    if (p->bytes) return p;
    if (image->pins >= PINS_MAX) unpin_all(image);
    p->bytes = shim_section_pin(p->section);
    if (!p->bytes) return NULL;
    p->bytes += p->offset;
    image->pins++;
    return p;
}

const shim_part *shim_image_find(struct pt_image *image, const ipt_asid *asid,
                                 uint64_t ip)
{
    for (size_t i = 0; i < image->count; i++) {
        shim_part *p = &image->parts[i];
        if (ip - p->begin >= p->size
            || !matches(&p->asid, asid->cr3, asid->vmcs))
            continue;
        image->hit = i;
        return map_part(image, p);
    }
    return NULL;
}

/* What the user's callback has. */
static int ask(struct pt_image *image, uint8_t *buffer, size_t size,
               const ipt_asid *asid, uint64_t ip)
{
    struct pt_asid theirs;
    int got;
    if (!image->callback) return IPT_NEED_PAGE;
    pt_asid_init(&theirs);
    theirs.cr3 = asid->cr3;
    theirs.vmcs = asid->vmcs;
    got = image->callback(buffer, size, &theirs, ip, image->context);
    if (got == -pte_nomap) return IPT_NEED_PAGE;
    if (got > 0) return got < (int) size ? got : (int) size;
    image->error = got < 0 ? got : -pte_internal;
    return SHIM_USER_ERROR;
}

int shim_image_read(struct pt_image *image, uint8_t *buffer, size_t size,
                    const ipt_asid *asid, uint64_t ip)
{
    const shim_part *p;
    uint64_t left;
    if (!image->count) return ask(image, buffer, size, asid, ip);
    p = shim_image_at(image, asid, ip);
    if (!p) return ask(image, buffer, size, asid, ip);
    left = p->size - (ip - p->begin);
    if (size > left) size = (size_t) left;
    memcpy(buffer, p->bytes + (ip - p->begin), size);
    return (int) size;
}

/* ---- caches of sections ---- */

typedef struct entry {
    shim_section *section;
    uint64_t vaddr;
    uint64_t used; /* when it was, if it is kept mapped; 0: it is not */
} entry;

struct pt_image_section_cache {
    shim_lock lock;
    char *name;
    entry *entries; /* identifier n is entries[n - 1] */
    size_t count;
    size_t room;
    uint64_t limit;
    uint64_t kept; /* bytes of sections kept mapped */
    uint64_t clock;
};

struct pt_image_section_cache *pt_iscache_alloc(const char *name)
{
    struct pt_image_section_cache *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    if (name) c->name = shim_text(name);
    if ((!name || c->name) && shim_lock_init(&c->lock) == 0)
        return c;
    free(c->name);
    free(c);
    return NULL;
}

static void release(struct pt_image_section_cache *c, entry *e)
{
    if (!e->used) return;
    shim_section_unpin(e->section);
    c->kept -= e->section->size;
    e->used = 0;
}

void pt_iscache_free(struct pt_image_section_cache *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->count; i++) {
        release(c, &c->entries[i]);
        shim_section_drop(c->entries[i].section);
    }
    shim_lock_end(&c->lock);
    free(c->entries);
    free(c->name);
    free(c);
}

const char *pt_iscache_name(const struct pt_image_section_cache *c)
{
    return c ? c->name : NULL;
}

/* Let go of those used longest ago, until what is kept is within the limit. */
static void trim(struct pt_image_section_cache *c)
{
    while (c->kept > c->limit) {
        entry *oldest = NULL;
        for (size_t i = 0; i < c->count; i++) {
            entry *e = &c->entries[i];
            if (e->used && (!oldest || e->used < oldest->used)) oldest = e;
        }
        release(c, oldest);
    }
}

/* Keep a section mapped that is used now. */
static void keep(struct pt_image_section_cache *c, entry *e)
{
    if (e->used) e->used = ++c->clock;
    if (e->used || e->section->size > c->limit) return;
    if (!shim_section_pin(e->section)) return;
    e->used = ++c->clock;
    c->kept += e->section->size;
    trim(c);
}

int pt_iscache_set_limit(struct pt_image_section_cache *c, uint64_t limit)
{
    if (!c) return -pte_invalid;
    shim_lock_take(&c->lock);
    c->limit = limit;
    trim(c);
    shim_lock_give(&c->lock);
    return 0;
}

/* The section, or one like it that is there already; it becomes the cache's. */
static int insert(struct pt_image_section_cache *c, shim_section *s,
                  uint64_t vaddr)
{
    entry *entries;
    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        if (e->vaddr == vaddr && e->section->offset == s->offset
            && e->section->size == s->size
            && strcmp(e->section->name, s->name) == 0) {
            shim_section_drop(s);
            return (int) i + 1;
        }
    }
    if (c->count == c->room) {
        if (c->count >= INT32_MAX / 2) return -pte_overflow;
        entries = realloc(c->entries, (2 * c->room + 8) * sizeof *entries);
        if (!entries) return -pte_nomem;
        c->entries = entries;
        c->room = 2 * c->room + 8;
    }
    memset(&c->entries[c->count], 0, sizeof *c->entries);
    c->entries[c->count].section = s;
    c->entries[c->count].vaddr = vaddr;
    keep(c, &c->entries[c->count]);
    return (int) ++c->count;
}

int pt_iscache_add_file(struct pt_image_section_cache *c,
                        const char *filename, uint64_t offset, uint64_t size,
                        uint64_t vaddr)
{
    shim_section *s;
    int status;
    if (!c || !filename) return -pte_invalid;
    status = shim_section_make(&s, filename, offset, size);
    if (status < 0) return status;
    shim_lock_take(&c->lock);
    status = insert(c, s, vaddr);
    shim_lock_give(&c->lock);
    if (status < 0) shim_section_drop(s);
    return status;
}

/* The section of an identifier, used once more; NULL: there is none. */
static shim_section *look_up(struct pt_image_section_cache *c, int isid,
                             uint64_t *vaddr)
{
    shim_section *s = NULL;
    shim_lock_take(&c->lock);
    if (isid > 0 && (size_t) isid <= c->count) {
        entry *e = &c->entries[isid - 1];
        keep(c, e);
        s = e->section;
        *vaddr = e->vaddr;
        shim_section_use(s);
    }
    shim_lock_give(&c->lock);
    return s;
}

int pt_image_add_cached(struct pt_image *image,
                        struct pt_image_section_cache *c, int isid,
                        const struct pt_asid *asid)
{
    shim_part part;
    int status;
    if (!image || !c) return -pte_invalid;
    memset(&part, 0, sizeof part);
    part.section = look_up(c, isid, &part.begin);
    if (!part.section) return -pte_bad_image;
    part.size = part.section->size;
    part.asid = asid_from(asid);
    part.isid = isid;
    status = add(image, &part);
    shim_section_drop(part.section);
    return status;
}

int pt_iscache_read(struct pt_image_section_cache *c, uint8_t *buffer,
                    uint64_t size, int isid, uint64_t vaddr)
{
    shim_section *s;
    const uint8_t *bytes;
    uint64_t begin;
    int status = -pte_nomap;
    if (!c || !buffer || !size) return -pte_invalid;
    s = look_up(c, isid, &begin);
    if (!s) return -pte_bad_image;
    if (vaddr - begin < s->size) {
        const uint64_t left = s->size - (vaddr - begin);
        if (size > left) size = left;
        if (size > UINT16_MAX) size = UINT16_MAX;
        bytes = shim_section_pin(s);
        status = bytes ? (int) size : -pte_bad_image;
        if (bytes) {
            memcpy(buffer, bytes + (vaddr - begin), (size_t) size);
            shim_section_unpin(s);
        }
    }
    shim_section_drop(s);
    return status;
}
