/* files.c: the tools' files (common/code/files.h): what is opened,
 * and bytes against a copy of the file in memory. */
#define _POSIX_C_SOURCE 200809L
#include "examples/tools/common/code/files.c"
#include "dice.h"
#include "test.h"
#include "tmp.h"

static char folder[256];
static char path[512];

/* A name in the folder. */
static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_at(const char *name, long at, const void *data, size_t size)
{
    FILE *f = fopen(name, "r+b");
    if (!f) f = fopen(name, "wb");
    if (!CHECK(f != NULL)) return;
    CHECK(fseek(f, at, SEEK_SET) == 0);
    CHECK_EQ(fwrite(data, 1, size, f), size);
    fclose(f);
}

/* Is it opened, by all three ways? */
static int opens(const char *name)
{
    static files disk;
    uint64_t size = 0;
    size_t loaded;
    uint8_t *data = files_load(name, 0, UINT64_MAX, &loaded);
    int fd = files_open(name, &size);
    int ok;
    files_init(&disk);
    ok = files_get(&disk, name) != NULL;
    CHECK_EQ(ok, fd >= 0);
    CHECK_EQ(ok, data != NULL);
    if (data && fd >= 0) CHECK_EQ(loaded, size);
    if (fd >= 0) close(fd);
    free(data);
    files_free(&disk);
    return ok;
}

/* A FIFO without a writer would wait forever. */
TEST(regular_files_only)
{
    write_at(in_folder("plain"), 0, "abc", 3);
    CHECK(opens(path));
    CHECK(symlink("plain", in_folder("link")) == 0);
    CHECK(opens(path));
    CHECK(!opens(folder));
    CHECK(!opens(in_folder("missing")));
    CHECK(!opens(""));
    CHECK(mkfifo(in_folder("fifo"), 0600) == 0);
    CHECK(!opens(path));
    CHECK(symlink("fifo", in_folder("to-fifo")) == 0);
    CHECK(!opens(path));
    CHECK(!opens("/dev/null"));
    CHECK(!opens("/dev/zero"));
    CHECK(!opens("/proc/self/maps"));
    CHECK(!opens("/proc/self/mem"));
    CHECK(!opens("/proc/self/exe"));
    CHECK(!opens("/proc/version"));
    CHECK(!opens("/sys/kernel/notes"));
    CHECK(symlink("/proc/self/maps", in_folder("to-proc")) == 0);
    CHECK(!opens(path));
}

TEST(a_part_is_loaded)
{
    size_t size;
    uint8_t *data;
    write_at(in_folder("plain"), 0, "0123456789", 10);
    data = files_load(path, 2, 5, &size);
    if (CHECK(data) && CHECK(size == 3)) CHECK(memcmp(data, "234", 3) == 0);
    free(data);
    data = files_load(path, 8, UINT64_MAX, &size);
    if (CHECK(data) && CHECK(size == 2)) CHECK(memcmp(data, "89", 2) == 0);
    free(data);
    data = files_load(path, 10, UINT64_MAX, &size);
    CHECK(data);
    CHECK_EQ(size, 0);
    free(data);
    CHECK(!files_load(path, 11, UINT64_MAX, &size));
    CHECK_EQ(size, 1);
    CHECK(!files_load(in_folder("missing"), 0, 1, &size));
    CHECK_EQ(size, 0);
}

#define SIZE (5 * FILES_BLOCK + 77)

TEST(blocks)
{
    static uint8_t bytes[SIZE];
    static uint8_t got[3 * FILES_BLOCK];
    static files disk;
    const files_file *file;
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t) (i * 7 + i / 251);
    write_at(in_folder("large"), 0, bytes, SIZE);
    files_init(&disk);
    file = files_get(&disk, path);
    if (!CHECK(file != NULL)) return;
    CHECK_EQ(file->size, SIZE);
    CHECK(files_get(&disk, path) == file);
    for (int i = 0; i < 2000; i++) {
        const size_t from = dice(SIZE + 10);
        const size_t size = dice(i % 8 ? 300 : sizeof got);
        const size_t want
            = from >= SIZE ? 0 : size > SIZE - from ? SIZE - from : size;
        if (!CHECK_EQ(files_read(file, from, got, size), want)) break;
        if (!CHECK(memcmp(got, bytes + from, want) == 0)) break;
    }
    CHECK_EQ(files_read(file, UINT64_MAX, got, 1), 0);
    files_free(&disk);
}

/* Blocks that share a place of the cache push each other out. */
TEST(more_blocks_than_the_cache_has)
{
    const uint64_t last = 2 * (uint64_t) FILES_BLOCKS * FILES_BLOCK;
    static files disk;
    const files_file *file;
    uint8_t got[4];
    write_at(in_folder("sparse"), 0, "head", 4);
    write_at(path, (long) last, "tail", 4);
    files_init(&disk);
    file = files_get(&disk, path);
    for (int i = 0; file && i < 3; i++) {
        CHECK_EQ(files_read(file, 0, got, 4), 4);
        CHECK(memcmp(got, "head", 4) == 0);
        CHECK_EQ(files_read(file, last, got, 4), 4);
        CHECK(memcmp(got, "tail", 4) == 0);
        CHECK_EQ(files_read(file, last / 2, got, 4), 4);
        CHECK(memcmp(got, "\0\0\0", 4) == 0);
    }
    CHECK(file != NULL);
    files_free(&disk);
}

TEST(a_file_that_changes)
{
    static uint8_t bytes[SIZE];
    static files disk;
    const files_file *file;
    uint8_t got[4];
    char other[sizeof path];
    memset(bytes, 1, SIZE);
    write_at(in_folder("changing"), 0, bytes, SIZE);
    files_init(&disk);
    file = files_get(&disk, path);
    if (!CHECK(file != NULL)) return;
    CHECK_EQ(files_read(file, 0, got, 4), 4);
    CHECK(truncate(path, FILES_BLOCK + 2) == 0);
    CHECK_EQ(files_read(file, FILES_BLOCK, got, 4), 2);
    CHECK_EQ(files_read(file, 2 * FILES_BLOCK, got, 4), 0);
    write_at(in_folder("other"), 0, bytes, SIZE);
    snprintf(other, sizeof other, "%s", path);
    CHECK(rename(other, in_folder("changing")) == 0);
    CHECK_EQ(files_read(file, 3 * FILES_BLOCK, got, 4), 0);
    CHECK(remove(path) == 0);
    CHECK_EQ(files_read(file, 4 * FILES_BLOCK, got, 4), 0);
    files_free(&disk);
}

TEST(many_names)
{
    static files disk;
    const files_file *first[300];
    files_init(&disk);
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 300; i++) {
            char name[16];
            const files_file *file;
            snprintf(name, sizeof name, "many%d", i);
            if (!again) write_at(in_folder(name), 0, name, 5);
            file = files_get(&disk, in_folder(name));
            if (!again) first[i] = file;
            if (!CHECK(file)) return;
            CHECK(file == first[i]);
            CHECK(strcmp(file->name, path) == 0);
        }
    }
    CHECK_EQ(disk.count, 300);
    files_free(&disk);
}

int main(void)
{
    char command[512];
    if (!mkdtemp(tmp_name(folder, sizeof folder, "files"))) return 2;
    RUN(regular_files_only);
    RUN(a_part_is_loaded);
    RUN(blocks);
    RUN(more_blocks_than_the_cache_has);
    RUN(a_file_that_changes);
    RUN(many_names);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) return 2;
    return test_report();
}
