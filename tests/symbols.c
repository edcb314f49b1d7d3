/* symbols.c: which function is where in a file (common/code/symbols.h),
 * of files made here. */
#define _GNU_SOURCE // below.c's O_PATH
#include "linked.h"
#include "examples/tools/common/code/below.c"
#include "examples/tools/common/code/buildid.c"
#include "examples/tools/common/code/elffile.c"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/jitdump.c"
#include "examples/tools/common/code/plt.c"
#include "examples/tools/common/code/symbols.c"
#include "examples/tools/common/code/tool.c"
#include "elfbuild.h"
#include "scratch.h"
#include "test.h"

static files disk;
static symbols names;

static const char *name_at(const char *file, uint64_t offset)
{
    const files_file *const f = files_get(&disk, at_top(file));
    const symbol *const s = f ? symbols_find(&names, f, offset) : NULL;
    return s ? s->name : "none";
}

static void check_name(const char *file, uint64_t offset, const char *want)
{
    const char *const got = name_at(file, offset);
    if (!CHECK(strcmp(got, want) == 0))
        printf("    at 0x%llx of %s: %s, not %s\n", (unsigned long long) offset,
               file, got, want);
}

/* Is it of this name? NULL: there is none. */
static int is_named(const symbol *s, const char *name)
{
    return s && name ? strcmp(s->name, name) == 0 : !s && !name;
}

static void begin(void)
{
    files_init(&disk);
    symbols_init(&names);
    names.debug = at_top("debug");
}

static void end(void)
{
    symbols_free(&names);
    files_free(&disk);
}

#ifdef HAVE_LIBELF
#define A (ELF_BASE + ELF_AT)

static uint8_t elf[4096];

TEST(functions)
{
    static const elf_symbol list[] = {
        {"first", A + 4, 4, 2, 1, 1},   {"data", A + 4, 4, 1, 1, 1},
        {"label", A + 0x20, 0, 0, 0, 1}, {"resolver", A + 0x30, 8, 10, 1, 1},
        {"foreign", A + 0x40, 8, 2, 1, 0}, {"far", A + 0x1000, 8, 2, 1, 1},
        {"long", A + 0x70, 0x1000, 2, 1, 1}};
    begin();
    save("functions", elf, elf_build(elf, list, 7, NULL));
    check_name("functions", ELF_AT + 3, "none");
    check_name("functions", ELF_AT + 4, "first");
    check_name("functions", ELF_AT + 7, "first");
    check_name("functions", ELF_AT + 8, "none");
    check_name("functions", ELF_AT + 0x20, "label"); // up to the next one
    check_name("functions", ELF_AT + 0x2f, "label");
    check_name("functions", ELF_AT + 0x30, "resolver");
    check_name("functions", ELF_AT + 0x40, "none");
    check_name("functions", ELF_AT + 0x70, "long");
    check_name("functions", ELF_AT + 0x7f, "long");
    check_name("functions", ELF_AT + 0x80, "none"); // past the segment's end
    end();
}

/* Of two for one place the better one, however they are sorted. */
TEST(aliases)
{
    static const struct {
        elf_symbol bad;
        elf_symbol good;
    } rows[] = {
        {{"a", A, 0, 2, 1, 1}, {"sized", A, 4, 2, 2, 1}},
        {{"a", A, 4, 2, 0, 1}, {"weak", A, 4, 2, 2, 1}},
        {{"a", A, 4, 2, 0, 1}, {"global", A, 4, 2, 1, 1}},
        {{"strong", A, 4, 2, 2, 1}, {"a", A, 4, 2, 1, 1}},
        {{"_old@V1", A, 4, 2, 1, 1}, {"__default@@V2", A, 4, 2, 1, 1}},
        {{"old@V1", A, 4, 2, 1, 1}, {"__none", A, 4, 2, 1, 1}},
        {{"none", A, 4, 2, 1, 1}, {"__default@@V2", A, 4, 2, 1, 1}},
        {{"local@@V2", A, 4, 2, 0, 1}, {"_weak@V1", A, 4, 2, 2, 1}},
        {{"_a_longer_name", A, 4, 2, 1, 1}, {"open", A, 4, 2, 1, 1}},
        {{"a", A, 4, 2, 1, 1}, {"longest", A, 4, 2, 1, 1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const elf_symbol there[] = {rows[i].bad, rows[i].good};
        const elf_symbol back[] = {rows[i].good, rows[i].bad};
        begin();
        save("there", elf, elf_build(elf, there, 2, NULL));
        save("back", elf, elf_build(elf, back, 2, NULL));
        check_name("there", ELF_AT + 3, rows[i].good.name);
        check_name("back", ELF_AT + 3, rows[i].good.name);
        end();
    }
}

/* A label without a size inside a function with one, as after the system call
 * of glibc 2.41, is part of it. After the function it counts. */
TEST(labels_in_a_function)
{
    static const elf_symbol list[] = {
        {"outer", A, 0x40, 2, 1, 1}, {"inner", A + 0x10, 8, 2, 1, 1},
        {"label", A + 0x14, 0, 0, 1, 1}, {"last", A + 0x3f, 0, 0, 1, 1},
        {"after", A + 0x40, 0, 0, 1, 1}, {"more", A + 0x48, 0, 0, 1, 1}};
    begin();
    save("labels", elf, elf_build(elf, list, 6, NULL));
    check_name("labels", ELF_AT + 0x14, "inner");
    check_name("labels", ELF_AT + 0x18, "outer");
    check_name("labels", ELF_AT + 0x3f, "outer");
    check_name("labels", ELF_AT + 0x40, "after");
    check_name("labels", ELF_AT + 0x48, "more");
    end();
}

/* After a function inside another one the outer one goes on. */
TEST(nested)
{
    static const elf_symbol list[] = {
        {"outer", A, 0x40, 2, 1, 1}, {"one", A + 8, 8, 2, 1, 1},
        {"two", A + 0x18, 0x18, 2, 1, 1}, {"deep", A + 0x20, 8, 2, 1, 1}};
    begin();
    save("nested", elf, elf_build(elf, list, 4, NULL));
    check_name("nested", ELF_AT + 7, "outer");
    check_name("nested", ELF_AT + 8, "one");
    check_name("nested", ELF_AT + 0x10, "outer");
    check_name("nested", ELF_AT + 0x18, "two");
    check_name("nested", ELF_AT + 0x20, "deep");
    check_name("nested", ELF_AT + 0x28, "two");
    check_name("nested", ELF_AT + 0x30, "outer");
    check_name("nested", ELF_AT + 0x40, "none");
    end();
}

/* One without a size ends where its section does. */
TEST(ends_of_sections)
{
    static const elf_symbol list[] = {{"_init", A, 0, 2, 1, 1},
                                      {"later", A + 0x40, 4, 2, 1, 1}};
    static const uint8_t sizes[] = {0x20, 0x30, 0x40, 0x80};
    for (size_t i = 0; i < sizeof sizes; i++) {
        const size_t size = elf_build(elf, list, 2, NULL);
        const uint64_t stop = ELF_AT + (sizes[i] < 0x40 ? sizes[i] : 0x40);
        uint64_t table = 0;
        for (unsigned k = 8; k; k--) table = table << 8 | elf[40 + k - 1];
        elf_store(elf + table + 64 + 32, sizes[i], 8);
        begin();
        save("ends", elf, size);
        check_name("ends", stop - 1, "_init");
        check_name("ends", stop, sizes[i] < 0x40 ? "none" : "later");
        end();
    }
}

/* Of which function a part is, and of which source file a function. */
TEST(parts)
{
    static const elf_symbol list[] = {
        {"a.c", 0, 0, 4, 0, 0},           {"f", A, 8, 2, 0, 1},
        {"f.cold", A + 8, 8, 2, 0, 1},    {"b.c", 0, 0, 4, 0, 0},
        {"f.cold", A + 0x10, 8, 2, 0, 1}, {"f", A + 0x18, 8, 2, 0, 1},
        {"g.part.0", A + 0x20, 8, 2, 0, 1},
        {"g.part.0.cold", A + 0x28, 8, 2, 0, 1},
        {"lost.cold", A + 0x30, 8, 2, 0, 1}, {"g", A + 0x38, 8, 2, 1, 1},
        {"a_longer_alias_of_g", A + 0x38, 8, 2, 1, 1},
        {".cold", A + 0x40, 8, 2, 1, 1}, {"f.colder", A + 0x48, 8, 2, 1, 1}};
    static const struct {
        uint8_t at;
        uint8_t whole;
        uint8_t kind;
        const char *from;
    } rows[] = {{0, 0, 0, "a.c"},
                {8, 0, SYMBOL_PART, "a.c"},
                {0x10, 0x18, SYMBOL_PART, "b.c"},
                {0x18, 0x18, 0, "b.c"},
                {0x20, 0x38, SYMBOL_SPLIT, "b.c"},
                {0x28, 0x20, SYMBOL_PART, "b.c"},
                {0x30, 0x30, SYMBOL_PART, "b.c"},
                {0x38, 0x38, 0, NULL},
                {0x40, 0x40, 0, NULL},
                {0x48, 0x48, 0, NULL}};
    const files_file *file;
    begin();
    save("parts", elf, elf_build(elf, list, sizeof list / sizeof *list, NULL));
    file = files_get(&disk, at_top("parts"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const symbol *const s = symbols_find(&names, file,
                                             ELF_AT + rows[i].at);
        const char *from;
        if (!CHECK(s != NULL)) continue;
        from = symbols_source(&names, file, s);
        CHECK_EQ(s->kind, rows[i].kind);
        CHECK_EQ(symbols_whole(&names, file, s)->first,
                 ELF_AT + rows[i].whole);
        CHECK(!strcmp(from ? from : "", rows[i].from ? rows[i].from : ""));
    }
    end();
}

/* A separate debug file counts if it is of the same build. */
TEST(debug_files)
{
    static const elf_symbol own[] = {{"own", A, 4, 2, 1, 1}};
    static const elf_symbol more[] = {{"own", A, 4, 2, 1, 1},
                                      {"more", A + 8, 4, 2, 0, 1}};
    mkdir(at_top("debug"), 0777);
    mkdir(at_top("debug/.build-id"), 0777);
    mkdir(at_top("debug/.build-id/61"), 0777);
    begin();
    save("stripped", elf, elf_build(elf, own, 1, "ab"));
    save("debug/.build-id/61/62.debug", elf, elf_build(elf, more, 2, "ab"));
    check_name("stripped", ELF_AT, "own");
    check_name("stripped", ELF_AT + 8, "more");
    end();
    begin();
    save("debug/.build-id/61/62.debug", elf, elf_build(elf, more, 2, "ac"));
    check_name("stripped", ELF_AT, "own");
    check_name("stripped", ELF_AT + 8, "none");
    end();
}

/* The name of a file's symbol, where one of its sections is compressed and has
 * so many bytes when it is unpacked. */
static const char *name_with(unsigned section, uint64_t unpacked)
{
    static const elf_symbol list[] = {{"f", A, 8, 2, 1, 1}};
    static char name[8];
    const size_t size = elf_build(elf, list, 1, NULL);
    elf_store(elf + size - (4 - section) * 64 + 8, 0x800, 8);
    elf_store(elf + ELF_AT, 1, 8); /* by zlib */
    elf_store(elf + ELF_AT + 8, unpacked, 8);
    begin();
    save("packed", elf, size);
    snprintf(name, sizeof name, "%s", name_at("packed", ELF_AT));
    end();
    return name;
}

/* libelf would unpack as much as a file says. */
TEST(compressed_sections)
{
    CHECK(!strcmp(name_with(1, 0x80), "f"));
    CHECK(!strcmp(name_with(1, 1u << 24), "f"));
    CHECK(!strcmp(name_with(1, (1u << 24) + 32), "none"));
    CHECK(!strcmp(name_with(1, (uint64_t) 1 << 40), "none"));
    CHECK(!strcmp(name_with(2, 0x80), "none")); // of symbols
    CHECK(!strcmp(name_with(3, 0x80), "none")); // of their names
}

/* A file in memory, and one that is cut anywhere. */
TEST(memory_and_cuts)
{
    static const elf_symbol list[] = {{"here", A, 4, 2, 1, 1},
                                      {"there", A + 8, 4, 2, 1, 1}};
    const size_t size = elf_build(elf, list, 2, "ab");
    const symbol *s;
    for (size_t n = 0; n <= size; n++) {
        const files_file *file;
        begin();
        file = files_put(&disk, "memory", elf, n);
        s = symbols_find(&names, file, ELF_AT + 8);
        CHECK(!s || strcmp(s->name, "there") == 0);
        if (n == size) CHECK(s != NULL);
        end();
    }
}
#endif

TEST(jit)
{
    uint8_t dump[256];
    size_t size = 40;
    memset(dump, 0, sizeof dump);
    elf_store(dump, 0x4a695444, 4);
    elf_store(dump + 4, 1, 4);
    elf_store(dump + 8, 40, 4);
    elf_store(dump + 12, 62, 4);
    for (unsigned i = 0; i < 2; i++) { // LOAD: name, four bytes of code
        uint8_t *const to = dump + size;
        elf_store(to + 4, 56 + 4 + 4, 4);
        elf_store(to + 16 + 16, 0x1000 + 4 * i, 8);
        elf_store(to + 16 + 24, 4, 8);
        memcpy(to + 56, i ? "two" : "one", 4);
        size += 64;
    }
    begin();
    save("jit-1.dump", dump, size);
    check_name("jit-1.dump", 40 + 56 + 3, "none");
    check_name("jit-1.dump", 40 + 60, "one");
    check_name("jit-1.dump", 40 + 63, "one");
    check_name("jit-1.dump", 104 + 60, "two");
    end();
}

TEST(kernel)
{
    static const char list[] =
        "ffffffff81000000 T _text\nffffffff81000000 T startup_64\n"
        "ffffffff81000100 t local\nffffffff81000200 D data\n"
        "ffffffff81000300 W weak\nffffffffc0000000 t inside\t[module]\n"
        "0000000000000000 T hidden\nnonsense\n\nffffffff81000400 T last";
    const symbol *s;
    begin();
    CHECK(symbols_kernel(&names, at_top("none")) < 0);
    CHECK(symbols_at(&names, 0xffffffff81000000) == NULL);
    save("kallsyms", list, sizeof list - 1);
    CHECK(symbols_kernel(&names, at_top("kallsyms")) == 0);
    s = symbols_at(&names, 0xffffffff81000010);
    CHECK(is_named(s, "startup_64"));
    s = symbols_at(&names, 0xffffffff810002ff);
    CHECK(is_named(s, "local"));
    if (s) CHECK_EQ(s->first, 0xffffffff81000100);
    s = symbols_at(&names, 0xffffffff81000300);
    CHECK(is_named(s, "weak"));
    s = symbols_at(&names, 0xffffffff81000400);
    CHECK(is_named(s, "last"));
    s = symbols_at(&names, 0xffffffffc0000000);
    CHECK(is_named(s, "inside"));
    CHECK(symbols_at(&names, 0x1000) == NULL);
    end();
}

TEST(perf_map)
{
    static const char list[] = "1000 10 one\n1010 8 two words\r\n"
                               "0x2000 0x10 with 0x\nnonsense\n3000 0 empty\n"
                               "fffffffffffffff0 20 too long\n"
                               "5000 20 was longer\n5000 8 now\n5040 8 same\n"
                               "6010 10 inside\n6000 20 around\n5040 4 same\n"
                               "6020 10 after\n4000 4 last";
    static const struct {
        uint64_t ip;
        const char *name;
    } rows[] = {{0x1000, "one"},      {0x100f, "one"},
                {0x1010, "two words"}, {0x1017, "two words"},
                {0x1018, NULL},       {0x200f, "with 0x"},
                {0x3000, NULL},       {0xfffffffffffffff8, NULL},
                {0x4003, "last"},     {0x4004, NULL},
                {0x5000, "~now"},     {0x501f, "~now"},
                {0x5043, "same"},     {0x6000, "~around"},
                {0x6010, "~inside"},  {0x6020, "after"}};
    begin();
    names.map = top;
    save("perf-7.map", list, sizeof list - 1);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const symbol *const s = symbols_mapped(&names, 7, rows[i].ip);
        CHECK(is_named(s, rows[i].name));
    }
    CHECK(symbols_mapped(&names, 8, 0x1000) == NULL);
    end();
}

#ifdef HAVE_LIBELF
/* For other tests: each symbol of a file, with its offset and its end; what it
 * is a part of; its source file. */
static int list_symbols(const char *path)
{
    files_file *file;
    files_init(&disk);
    symbols_init(&names);
    file = files_get(&disk, path);
    if (!file) return 1;
    for (size_t i = 0; i < get_table(&names, file)->count; i++) {
        const symbol *const s = &names.tables->list[i];
        const symbol *const whole = symbols_whole(&names, file, s);
        const char *const from = symbols_source(&names, file, s);
        printf("%llx %llx %s%s %llx %s\n", (unsigned long long) s->first,
               (unsigned long long) s->last, s->name,
               s->kind & SYMBOL_STUB ? "@plt" : "",
               (unsigned long long) whole->first, from ? from : "-");
    }
    end();
    return 0;
}
#endif

int main(int argc, char **argv)
{
#ifdef HAVE_LIBELF
    if (argc > 1) return list_symbols(argv[1]);
#else
    (void) argc, (void) argv;
#endif
    scratch_begin();
#ifdef HAVE_LIBELF
    RUN(functions);
    RUN(aliases);
    RUN(labels_in_a_function);
    RUN(nested);
    RUN(ends_of_sections);
    RUN(parts);
    RUN(debug_files);
    RUN(memory_and_cuts);
    RUN(compressed_sections);
#else
    printf("SKIP symbols of ELF files: libelf is missing (package "
           "libelf-dev)\n");
    test_.skipped++;
#endif
    RUN(jit);
    RUN(kernel);
    RUN(perf_map);
    scratch_end();
    return test_report();
}
