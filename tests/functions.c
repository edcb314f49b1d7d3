/* functions.c: which function it is, and what it is called
 * (common/code/functions.h). */
#define _GNU_SOURCE // scratch.h
#include "examples/tools/common/code/demangle.h"
#include "examples/tools/common/code/files.h"
#include "examples/tools/common/code/functions.h"
#include "elfbuild.h"
#include "scratch.h"
#include "test.h"
#include <stdlib.h>

static files disk;
static functions all;

static void begin(void)
{
    files_init(&disk);
    functions_init(&all);
}

static void end(void)
{
    functions_free(&all);
    files_free(&disk);
}

static uint32_t add(const char *symbol, const files_file *file,
                    const char *object, const char *source, uint64_t first)
{
    functions_about about;
    memset(&about, 0, sizeof about);
    about.symbol = symbol;
    about.file = file;
    about.object = object;
    about.source = source;
    about.first = first;
    return functions_add(&all, &about);
}

static void check_text(uint32_t number, const char *want)
{
    const char *const got = functions_text(&all, number);
    if (!CHECK(strcmp(got, want) == 0)) printf("    %s, not %s\n", got, want);
}

/* A file of that build; NULL: of none. */
static files_file *build_in(files *in, const char *name, const char *id)
{
    static const elf_symbol list[] = {{"f", ELF_BASE + ELF_AT, 4, 2, 1, 1}};
    uint8_t elf[4096];
    save(name, elf, elf_build(elf, list, 1, id));
    return files_get(in, at_top(name));
}

static files_file *build(const char *name, const char *id)
{
    return build_in(&disk, name, id);
}

/* A function is where it begins in a build of a file, not its name, its path or
 * its process. */
TEST(identity)
{
    begin();
    {
        const files_file *const a = build("a", "aa");
        const files_file *const copy = build("copy", "aa");
        const files_file *const b = build("b", "bb");
        const files_file *const none = build("none", NULL);
        const files_file *const other = build("other", NULL);
        const uint32_t f = add("f", a, "/a", NULL, 1);
        CHECK(f != 0);
        CHECK_EQ(add("f", a, "/a", NULL, 1), f);
        CHECK_EQ(add("alias", a, "/x/a", NULL, 1), f);
        CHECK_EQ(add("f", copy, "/copy", NULL, 1), f);
        CHECK(add("f", a, "/a", NULL, 2) != f);
        CHECK(add("f", b, "/a", NULL, 1) != f);
        CHECK(add("f", none, "/n", NULL, 1) != add("f", other, "/n", NULL, 1));
        CHECK(add("f", NULL, "kernel", NULL, 1) != f);
        CHECK(add(NULL, a, "/a", NULL, 1) != f);
        CHECK_EQ(add(NULL, a, "/a", NULL, 7), add(NULL, copy, "/c", NULL, 9));
    }
    end();
}

/* A file that is deleted and built again is another one. */
TEST(built_again)
{
    uint32_t before, after;
    files later;
    begin();
    files_init(&later);
    before = add("f", build("x", "aa"), "/x", NULL, 1);
    remove(at_top("x"));
    after = add("f", build_in(&later, "x", "bb"), "/x", NULL, 1);
    CHECK(before != after);
    functions_settle(&all);
    check_text(before, "f [/x 6161]");
    check_text(after, "f [/x 6262]");
    files_free(&later);
    end();
}

/* Is libiberty there? */
static int is_cxx(void)
{
    char *const text = demangle("_Z1fv", DEMANGLE_NAME);
    free(text);
    return text != NULL;
}

/* The first text that no other one has. */
TEST(texts)
{
    const files_file *a, *b;
    uint32_t n[16];
    begin();
    a = build("liba", "aa");
    b = build("libb", "bb");
    n[0] = add("only", a, "/l/liba", "x.c", 1);
    n[1] = add("same", a, "/l/liba", "x.c", 2);
    n[2] = add("same", a, "/l/liba", "y.c", 3);
    n[3] = add("same", b, "/l/libb", NULL, 4);
    n[4] = add("_Z3putc", a, "/l/liba", NULL, 5);
    n[5] = add("_Z3puti", a, "/l/liba", NULL, 6);
    n[6] = add("twice", a, "/l/liba", "x.c", 7);
    n[7] = add("twice", b, "/l/libb", "x.c", 8);
    n[8] = add("deep", a, "/l/liba", "x.c", 9);
    n[9] = add("deep", a, "/l/liba", "x.c", 10);
    n[10] = functions_label(&all, "label");
    n[11] = add("label", a, "/l/liba", NULL, 11);
    n[12] = add(NULL, a, "/l/liba", NULL, 0);
    n[13] = add("old@V1", a, "/l/liba", NULL, 12);
    functions_settle(&all);
    check_text(n[0], "only");
    check_text(n[1], "same [x.c]");
    check_text(n[2], "same [y.c]");
    check_text(n[3], "same [libb]");
    if (is_cxx()) {
        check_text(n[4], "put(char)");
        check_text(n[5], "put(int)");
        CHECK(functions_match(&all, n[4], "put"));
        CHECK(functions_match(&all, n[4], "put( char )"));
        CHECK(functions_match(&all, n[4], "liba:put(char)"));
    }
    check_text(n[6], "twice [liba]");
    check_text(n[7], "twice [libb]");
    check_text(n[8], "deep [/l/liba+0x9]");
    check_text(n[9], "deep [/l/liba+0xa]");
    check_text(n[10], "label");
    check_text(n[11], "label [liba]");
    check_text(n[12], "[liba]");
    check_text(n[13], "old");
    CHECK(functions_match(&all, n[1], "same"));
    CHECK(functions_match(&all, n[1], "x.c:same"));
    CHECK(functions_match(&all, n[1], "/l/liba:same"));
    CHECK(functions_match(&all, n[1], "same [x.c]"));
    CHECK(!functions_match(&all, n[1], "y.c:same"));
    CHECK(!functions_match(&all, n[1], "libb:same"));
    CHECK(!functions_match(&all, n[1], "sam"));
    CHECK(functions_match(&all, n[4], "_Z3putc"));
    CHECK(!functions_match(&all, n[5], "_Z3putc"));
    CHECK(!functions_match(&all, n[10], "label"));
    CHECK(functions_match(&all, n[13], "old@V1"));
    end();
}

/* Before all are known texts differ, too, and do not change. */
TEST(texts_as_they_come)
{
    uint32_t first, second;
    begin();
    first = add("f", build("a", "aa"), "/a", NULL, 1);
    check_text(first, "f");
    second = add("f", build("b", "bb"), "/b", NULL, 1);
    check_text(second, "f [b]");
    check_text(first, "f");
    functions_settle(&all);
    check_text(first, "f [a]");
    check_text(second, "f [b]");
    end();
}

/* Whatever there is, no two have the same text. */
TEST(texts_differ)
{
    static const char *const symbols[] = {"f", "_Z1fv", "f [a]", "_Z1fi",
                                          "f(int)", NULL};
    static const char *const sources[] = {"a.c", "x/a.c", "a", NULL};
    static const char *const objects[] = {"/a", "/x/a", "[a]", "a:a.c"};
    const files_file *built[4];
    begin();
    built[0] = NULL;
    built[1] = build("a", "aa");
    built[2] = build("b", "bb");
    built[3] = build("c", NULL);
    srand(7);
    for (unsigned i = 0; i < 500; i++)
        add(symbols[rand() % 6], built[rand() % 4],
            objects[rand() % 4], sources[rand() % 4],
            (uint64_t) rand() % 40);
    functions_settle(&all);
    for (uint32_t i = 1; i <= all.count; i++)
        for (uint32_t j = 1; j < i; j++)
            CHECK(strcmp(functions_text(&all, i), functions_text(&all, j)));
    end();
}

TEST(similar)
{
    static const struct {
        const char *pattern;
        const char *best; /* NULL: none */
    } rows[] = {{"handel", "handle"}, {"Handle", "handle"}, {"hand", "handle"},
                {"x.c:handl", "handle"}, {"puts", "puts"}, {"zzz", NULL},
                {"main(int)", "main"}};
    begin();
    add("handle", NULL, "k", NULL, 1);
    add("puts", NULL, "k", NULL, 2);
    add("main", NULL, "k", NULL, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t n[4];
        const size_t count = functions_similar(&all, rows[i].pattern, n, 4);
        const char *const got = count ? functions_name(&all, n[0]) : NULL;
        if (!CHECK(!strcmp(got ? got : "", rows[i].best ? rows[i].best : "")))
            printf("    %s: %s\n", rows[i].pattern, got ? got : "none");
    }
    end();
}

int main(void)
{
    scratch_begin();
    RUN(identity);
    RUN(built_again);
    RUN(texts);
    RUN(texts_as_they_come);
    RUN(texts_differ);
    RUN(similar);
    scratch_end();
    return test_report();
}
