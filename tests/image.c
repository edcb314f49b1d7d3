/* image.c: the tools' image (common/code/image.h), against a copy of
 * the address space that is one array. */
#define _POSIX_C_SOURCE 200809L
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/image.c"
#include "dice.h"
#include "test.h"
#include "tmp.h"
#include <unistd.h>

#define BASE 0x1000u
#define SPAN 512u

static char path[256];
static ipt_asid nowhere = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};

static uint8_t *bytes_of(size_t size, uint8_t fill)
{
    uint8_t *data = malloc(size);
    memset(data, fill, size);
    return data;
}

static ipt_asid asid(uint64_t cr3, uint64_t vmcs)
{
    ipt_asid a;
    a.cr3 = cr3;
    a.vmcs = vmcs;
    a.nr = 0;
    return a;
}

/* What should be at BASE + i: a byte and a section, 0 for none. */
typedef struct model {
    uint8_t byte[SPAN];
    uint32_t section[SPAN];
} model;

static void check_model(image *im, const ipt_asid *a, const model *m)
{
    for (uint32_t i = 0; i < SPAN; i++) {
        uint8_t got[40];
        uint32_t n = 0;
        size_t ask = 1 + dice(40);
        int status = image_read(got, ask, a, BASE + i, im);
        CHECK_EQ(image_section_at(im, a, BASE + i), m->section[i]);
        while (n < ask && i + n < SPAN && m->section[i + n]) n++;
        if (!CHECK_EQ(status, n ? (int) n : IPT_NEED_PAGE)) return;
        for (uint32_t k = 0; k < n; k++) CHECK_EQ(got[k], m->byte[i + k]);
    }
}

/* Later sections are seen instead of earlier ones, and what is hidden is not. */
static void check_overlaps(uint32_t sections, uint32_t largest, uint32_t each)
{
    model m;
    image im;
    memset(&m, 0, sizeof m);
    image_init(&im);
    for (uint32_t id = 1; id <= sections; id++) {
        const uint32_t from = dice(SPAN - 1);
        const uint32_t most = SPAN - from < largest ? SPAN - from : largest;
        const uint32_t size = 1 + dice(most);
        const uint32_t gone = dice(SPAN - 1);
        const uint8_t fill = (uint8_t) (id * 7);
        const char *why = image_add(&im, NULL, "x", 0, bytes_of(size, fill),
                                    size, BASE + from);
        CHECK(why == NULL);
        memset(m.byte + from, fill, size);
        for (uint32_t i = 0; i < size; i++) m.section[from + i] = id;
        if (id % 5 == 0) {
            CHECK(image_hide(&im, BASE + gone, BASE + gone) == NULL);
            m.section[gone] = 0;
        }
        if (id % each == 0) check_model(&im, &nowhere, &m);
    }
    image_free(&im);
}

TEST(overlaps)
{
    for (int round = 0; round < 60; round++) check_overlaps(12, 90, 1);
}

/* More of them than a block of ranges has. */
TEST(many_overlaps)
{
    for (uint32_t largest = 1; largest < 130; largest *= 4)
        check_overlaps(4 * IMAGE_BLOCK * largest, largest, 61);
}

/* The bytes of a section stay at their addresses when its middle is covered. */
TEST(split_keeps_offsets)
{
    image im;
    uint8_t *low = bytes_of(16, 0);
    uint8_t got[16];
    for (uint8_t i = 0; i < 16; i++) low[i] = i;
    image_init(&im);
    CHECK(!image_add(&im, NULL, "low", 0, low, 16, BASE));
    CHECK(!image_add(&im, NULL, "mid", 0, NULL, 4, BASE + 6)); // zeros
    CHECK_EQ(image_read(got, 16, &nowhere, BASE, &im), 16);
    for (uint8_t i = 0; i < 16; i++)
        CHECK_EQ(got[i], i >= 6 && i < 10 ? 0 : i);
    CHECK_EQ(image_section_at(&im, &nowhere, BASE + 5), 1);
    CHECK_EQ(image_section_at(&im, &nowhere, BASE + 6), 2);
    CHECK_EQ(image_section_at(&im, &nowhere, BASE + 10), 1);
    CHECK_EQ(image_section_at(&im, &nowhere, BASE + 16), 0);
    image_free(&im);
}

TEST(ends_of_the_address_space)
{
    image im;
    uint8_t got[32];
    image_init(&im);
    CHECK(!image_add(&im, NULL, "top", 0, bytes_of(8, 9), 8, UINT64_MAX - 7));
    CHECK(!image_add(&im, NULL, "zero", 0, bytes_of(8, 5), 8, 0));
    CHECK_EQ(image_read(got, 32, &nowhere, UINT64_MAX - 7, &im), 8);
    CHECK_EQ(image_read(got, 32, &nowhere, UINT64_MAX, &im), 1);
    CHECK_EQ(image_read(got, 32, &nowhere, 0, &im), 8);
    CHECK(image_add(&im, NULL, "over", 0, bytes_of(9, 1), 9, UINT64_MAX - 7));
    CHECK(image_add(&im, NULL, "empty", 0, NULL, 0, 0));
    CHECK_EQ(image_read(got, 32, &nowhere, UINT64_MAX - 7, &im), 8);
    CHECK_EQ(got[0], 9);
    image_free(&im);
}

TEST(address_spaces)
{
    ipt_asid a = asid(0x1000, IPT_ASID_UNKNOWN);
    ipt_asid b = asid(0x2000, IPT_ASID_UNKNOWN);
    ipt_asid c = asid(0x3000, 0x7000);
    image im;
    uint8_t got[4];
    image_init(&im);
    CHECK_EQ(image_read(got, 4, &a, BASE, &im), IPT_NEED_PAGE);
    CHECK(!image_add(&im, NULL, "all", 0, bytes_of(4, 1), 4, BASE));
    CHECK(!image_add(&im, &a, "a", 0, bytes_of(4, 2), 4, BASE + 4));
    CHECK(!image_add(&im, &b, "b", 0, bytes_of(4, 3), 4, BASE + 4));
    for (int again = 0; again < 2; again++) {
        CHECK_EQ(image_section_at(&im, &a, BASE), 1);
        CHECK_EQ(image_section_at(&im, &a, BASE + 4), 2);
        CHECK_EQ(image_section_at(&im, &b, BASE + 4), 3);
        CHECK_EQ(image_section_at(&im, &c, BASE), 1);
        CHECK_EQ(image_section_at(&im, &c, BASE + 4), 0);
    }
    // across two sections of different spaces
    CHECK_EQ(image_read(got, 4, &b, BASE + 2, &im), 4);
    CHECK_EQ(got[1], 1);
    CHECK_EQ(got[2], 3);
    // one for all takes the place of both
    CHECK(!image_add(&im, NULL, "new", 0, bytes_of(2, 4), 2, BASE + 5));
    CHECK_EQ(image_section_at(&im, &a, BASE + 4), 2);
    CHECK_EQ(image_section_at(&im, &a, BASE + 5), 4);
    CHECK_EQ(image_section_at(&im, &b, BASE + 6), 4);
    CHECK_EQ(image_section_at(&im, &b, BASE + 7), 3);
    CHECK_EQ(image_section_at(&im, &c, BASE + 5), 4);
    image_free(&im);
}

/* A copy shows what it was made from, and then goes ways of its own. */
TEST(copies)
{
    for (int round = 0; round < 20; round++) {
        image im;
        image copy;
        uint8_t want[SPAN + 8];
        uint8_t got[SPAN + 8];
        image_init(&im);
        image_init(&copy);
        for (int i = 0; i < 9; i++) {
            uint32_t size = 1 + dice(60);
            CHECK(!image_add(&im, NULL, "x", 0, bytes_of(size, (uint8_t) i),
                             size, BASE + dice(SPAN)));
        }
        CHECK(!image_copy(&copy, &im));
        CHECK_EQ(copy.section_count, im.spaces[0].blocks[0].count);
        for (uint32_t at = BASE; at < BASE + SPAN; at++) {
            int size = image_read(want, SPAN, &nowhere, at, &im);
            CHECK_EQ(image_read(got, SPAN, &nowhere, at, &copy), size);
            CHECK(size < 0 || memcmp(got, want, (size_t) size) == 0);
        }
        CHECK(!image_add(&copy, NULL, "y", 0, bytes_of(4, 99), 4, BASE));
        CHECK_EQ(image_read(got, 4, &nowhere, BASE, &copy), 4);
        CHECK_EQ(got[0], 99);
        if (image_read(got, 1, &nowhere, BASE, &im) == 1)
            CHECK(got[0] != 99);
        image_free(&copy);
        image_free(&im);
    }
}

TEST(gaps)
{
    image im;
    image_init(&im);
    CHECK_EQ(image_gap(&im, &nowhere, BASE, 9), 9);
    CHECK(!image_add(&im, NULL, "x", 0, NULL, 4, BASE));
    CHECK_EQ(image_gap(&im, &nowhere, BASE - 3, 9), 3);
    CHECK_EQ(image_gap(&im, &nowhere, BASE - 3, 2), 2);
    CHECK_EQ(image_gap(&im, &nowhere, BASE, 9), 0);
    CHECK_EQ(image_gap(&im, &nowhere, BASE + 3, 9), 0);
    CHECK_EQ(image_gap(&im, &nowhere, BASE + 4, 9), 9);
    image_free(&im);
}

/* ---- files ---- */

static void write_file(const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!CHECK(f != NULL)) return;
    CHECK_EQ(fwrite(data, 1, size, f), size);
    fclose(f);
}

TEST(flat_file)
{
    image im;
    uint8_t got[32];
    write_file("0123456789", 10);
    image_init(&im);
    CHECK(!image_add_file(&im, NULL, path, 2, 5, BASE));
    CHECK_EQ(image_read(got, 32, &nowhere, BASE, &im), 3);
    CHECK(memcmp(got, "234", 3) == 0);
    CHECK(!image_add_file(&im, NULL, path, 8, 100, BASE)); // cut at its end
    CHECK_EQ(image_read(got, 32, &nowhere, BASE, &im), 3);
    CHECK(memcmp(got, "894", 3) == 0);
    CHECK(image_add_file(&im, NULL, path, 10, UINT64_MAX, BASE) != NULL);
    CHECK(image_add_file(&im, NULL, path, 5, 5, BASE) != NULL);
    CHECK(image_add_file(&im, NULL, "/dev/null/no/such/file", 0, 1, BASE) != NULL);
    CHECK(image_add_file(&im, NULL, "/", 0, 1, BASE) != NULL);
    image_free(&im);
}

/* A file that is read when it is asked for. */
TEST(parts)
{
    static files disk;
    const files_file *file;
    image im;
    image copy;
    uint8_t got[32];
    write_file("0123456789", 10);
    files_init(&disk);
    image_init(&im);
    image_init(&copy);
    file = files_get(&disk, path);
    if (!CHECK(file != NULL)) return;
    CHECK(!image_add_part(&im, NULL, file, 2, 8, BASE));
    CHECK(!image_add_part(&im, NULL, file, 9, UINT64_MAX, BASE + 2));
    CHECK_EQ(image_read(got, 32, &nowhere, BASE, &im), 6);
    CHECK(memcmp(got, "239567", 6) == 0);
    CHECK(image_add_part(&im, NULL, file, 10, UINT64_MAX, BASE) != NULL);
    CHECK(image_add_part(&im, NULL, file, 5, 5, BASE) != NULL);
    CHECK(image_add_part(&im, NULL, file, 0, 9, UINT64_MAX - 7) != NULL);
    CHECK(!image_add_part(&im, NULL, file, 0, 8, UINT64_MAX - 7));
    CHECK_EQ(image_read(got, 32, &nowhere, UINT64_MAX, &im), 1);
    CHECK_EQ(got[0], '7');
    CHECK(!image_copy(&copy, &im));
    image_free(&im);
    CHECK_EQ(image_read(got, 32, &nowhere, BASE, &copy), 6);
    CHECK(memcmp(got, "239567", 6) == 0);
    image_free(&copy);
    files_free(&disk);
}

static void put(uint8_t *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++) at[i] = (uint8_t) (value >> (8 * i));
}

/* An ELF file with a note and two segments to load. */
static size_t make_elf(uint8_t *elf, int wide)
{
    static const uint64_t segments[3][4] = { // type, offset, vaddr, size
        {4, 0, 0x10, 8}, {1, 0x200, 0x400200, 16}, {1, 0x210, 0x601210, 8}
    };
    size_t entry = wide ? 56 : 32;
    memset(elf, 0, 0x400);
    memcpy(elf, "\177ELF", 4);
    elf[4] = wide ? 2 : 1;
    elf[5] = 1;
    put(elf + (wide ? 32 : 28), 64, wide ? 8 : 4);
    put(elf + (wide ? 54 : 42), entry, 2);
    put(elf + (wide ? 56 : 44), 3, 2);
    for (int i = 0; i < 3; i++) {
        uint8_t *p = elf + 64 + (size_t) i * entry;
        int w = wide ? 8 : 4;
        put(p, segments[i][0], 4);
        put(p + (wide ? 8 : 4), segments[i][1], w);
        put(p + (wide ? 16 : 8), segments[i][2], w);
        put(p + (wide ? 32 : 16), segments[i][3], w);
        put(p + (wide ? 40 : 20), 0x1000, w); // p_memsz: not filled up
    }
    memset(elf + 0x200, 0xaa, 16);
    memset(elf + 0x210, 0xbb, 8);
    return 0x218;
}

TEST(elf)
{
    for (int wide = 0; wide < 2; wide++) {
        for (int moved = 0; moved < 2; moved++) {
            uint64_t base = moved ? 0x7f0000000200 : 0x400200;
            uint8_t file[0x400];
            uint8_t got[32];
            image im;
            write_file(file, make_elf(file, wide));
            image_init(&im);
            CHECK(!image_add_elf(&im, NULL, path, moved ? base : 0, NULL));
            CHECK_EQ(im.section_count, 2);
            CHECK_EQ(image_read(got, 32, &nowhere, base, &im), 16);
            CHECK_EQ(got[15], 0xaa);
            CHECK_EQ(image_read(got, 32, &nowhere, base + 0x201010, &im), 8);
            CHECK_EQ(got[7], 0xbb);
            CHECK_EQ(im.sections[1].from, 0x210);
            image_free(&im);
        }
    }
}

/* Every prefix of an ELF file, and every byte of its headers changed. */
TEST(hostile_elf)
{
    uint8_t file[0x400];
    size_t size = make_elf(file, 1);
    for (size_t n = 0; n < size; n += n < 300 ? 1 : 9) {
        image im;
        write_file(file, n);
        image_init(&im);
        (void) image_add_elf(&im, NULL, path, 0, NULL);
        image_free(&im);
    }
    for (size_t i = 0; i < 232; i++) {
        image im;
        file[i] ^= 0xff;
        write_file(file, size);
        image_init(&im);
        (void) image_add_elf(&im, NULL, path, 0x1000, NULL);
        image_free(&im);
        file[i] ^= 0xff;
    }
}

int main(void)
{
    int file = mkstemp(tmp_name(path, sizeof path, "image"));
    if (file >= 0) close(file);
    RUN(overlaps);
    RUN(many_overlaps);
    RUN(split_keeps_offsets);
    RUN(ends_of_the_address_space);
    RUN(address_spaces);
    RUN(copies);
    RUN(gaps);
    RUN(flat_file);
    RUN(parts);
    RUN(elf);
    RUN(hostile_elf);
    remove(path);
    return test_report();
}
