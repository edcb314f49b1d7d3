/* image.h: traced code from files, for ipt_config.read.
 *
 *     image code;
 *     image_init(&code);
 *     why = image_add_elf(&code, NULL, "/bin/ls", 0x555555554000, NULL);
 *     config.read = image_read;
 *     config.context = &code;
 *
 * A section is a part of a file at an address, in one address space or in all.
 * Where sections overlap, the one added last is seen. Finding the section at an
 * address takes O(log n), and next to nothing where the last call looked.
 *
 * The functions that add return NULL, or a text that says what is wrong.
 *
 * SPDX-License-Identifier: MIT */
#ifndef IMAGE_H
#define IMAGE_H
#include "files.h"
#include "ipt.h"
#include <stdio.h>

typedef struct image_section {
    char *name;     /* of the file */
    uint64_t from;  /* offset into it */
    uint64_t size;  /* at least 1 */
    uint64_t base;  /* address of the first byte */
    uint8_t *data;  /* NULL: in the file, or zeros */
    const files_file *file; /* NULL: zeros */
    uint8_t borrowed; /* name and data are not the image's to free */
} image_section;

/* The visible part of a section. */
typedef struct image_range {
    uint64_t first;
    uint64_t last; /* inclusive */
    uint32_t section; /* its identifier */
} image_range;

#define IMAGE_BLOCK 128u

/* Ranges, sorted, without overlap: at least 1. */
typedef struct image_block {
    image_range *list;
    uint32_t count;
    uint32_t room;
} image_block;

/* Ranges of one address space, in blocks, so that a change moves few of them. */
typedef struct image_space {
    uint64_t cr3;  /* IPT_ASID_UNKNOWN: any */
    uint64_t vmcs;
    image_block *blocks;
    size_t count;  /* of blocks */
    size_t room;
} image_space;

/* Where a range is; the first one at {0, 0}. */
typedef struct image_place {
    size_t block;
    uint32_t at;
} image_place;

typedef struct image {
    image_section *sections; /* identifier n is sections[n - 1] */
    uint32_t section_count;
    image_space *spaces;
    size_t space_count;
    size_t hit_space; /* where the last byte was found */
    image_place hit;
    char why[600]; /* a message of image_add_map that has a name in it */
} image;

/* The range there; NULL after the last one. */
static inline image_range *image_range_at(const image_space *space, image_place p)
{
    return p.block < space->count && p.at < space->blocks[p.block].count
               ? &space->blocks[p.block].list[p.at] : NULL;
}

/* The place after one that has a range. */
static inline image_place image_after(const image_space *space, image_place p)
{
    if (++p.at == space->blocks[p.block].count) {
        p.block++;
        p.at = 0;
    }
    return p;
}

void image_init(image *im);
void image_free(image *im);

/* Add size bytes at data, which was allocated and becomes the image's, even on
 * failure; NULL stands for zeros. asid NULL: in all address spaces. */
const char *image_add(image *im, const ipt_asid *asid, const char *name,
                      uint64_t from, uint8_t *data, uint64_t size,
                      uint64_t base);

/* Add bytes [from, to) of a file at base; `to` past its end is cut. */
const char *image_add_file(image *im, const ipt_asid *asid, const char *name,
                           uint64_t from, uint64_t to, uint64_t base);

/* Add bytes [from, to) of a file that is read when they are asked for, and has
 * to outlive the image; `to` past its end is cut. */
const char *image_add_part(image *im, const ipt_asid *asid,
                           const files_file *file, uint64_t from, uint64_t to,
                           uint64_t base);

/* Add the PT_LOAD segments of an ELF file that is read when they are asked
 * for, at the addresses they ask for. */
const char *image_add_segments(image *im, const ipt_asid *asid,
                               const files_file *file);

/* Is it an ELF file all of whose code is in one segment, where distances are those
 * in the file? */
int image_has_one_code(const files_file *file);

/* Forget the sections that nothing shows; identifiers change. */
const char *image_forget(image *im);

/* Show nothing from first to last, in all address spaces. */
const char *image_hide(image *im, uint64_t first, uint64_t last);

/* Let an empty image show what another one does, from the same memory, which
 * has to outlive it. Sections that nothing shows are left out. */
const char *image_copy(image *im, const image *from);

/* Add the PT_LOAD segments of an ELF file. base, if not 0, takes the place of
 * the lowest p_vaddr. Segments are listed to log, if not NULL. */
const char *image_add_elf(image *im, const ipt_asid *asid, const char *name,
                          uint64_t base, FILE *log);

/* Add what the file image.map in a folder lists, one section a line:
 *
 *     BASE LENGTH FILE OFFSET
 *
 * numbers in hex without 0x, FILE relative to the folder, or - for zeros. */
const char *image_add_map(image *im, const ipt_asid *asid, const char *folder);

/* Add a page cache of libxdc: PREFIX.addr has an address for each page of
 * PREFIX.dump, eight bytes each, low ones first; one that is not a multiple of
 * 4096 says that the page is not mapped. Of equal ones the first counts. */
const char *image_add_pages(image *im, const ipt_asid *asid,
                            const char *prefix);

/* An ipt_config.read; context is the image. It writes to the image, which keeps
 * where it looked last: one thread at a time uses an image. */
int image_read(uint8_t *buffer, size_t size, const ipt_asid *asid, uint64_t ip,
               void *context);

/* As image_read, from several images, each before those after it; NULL is one
 * without code. In all address spaces. */
int image_read_layers(image *const *layers, unsigned count, uint8_t *buffer,
                      size_t size, uint64_t ip);

/* How many bytes from an address on, up to size, are not in the image. */
size_t image_gap(image *im, const ipt_asid *asid, uint64_t ip, size_t size);

/* The section at an address: its identifier, from 1 in the order in which
 * they were added, or 0 if there is none. */
uint32_t image_section_at(image *im, const ipt_asid *asid, uint64_t ip);

/* The visible part of a section at an address; NULL if there is none. It holds
 * until the image changes. */
const image_range *image_find(image *im, const ipt_asid *asid, uint64_t ip);

/* For code that is the same in all address spaces. */
extern const ipt_asid image_everywhere;

#endif /* IMAGE_H */
