/* json.c: a file in JSON becomes its values (common/code/json.h): each is printed
 * again in one form; what is not JSON is refused, at its byte. */
#include "examples/tools/common/code/tool.c"
#include "examples/tools/common/code/json.c"
#include "linked.h"
#include "test.h"

static char out[4096];

static char *keep(const char *text, size_t size)
{
    char *const copy = (char *) malloc(size + 1);
    if (!copy) abort();
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

/* What is read of a text: words as they are, texts in < >, a member's name before
 * its value. */
static void print_value(const json *j, const json_value *v)
{
    const json_value *part;
    if (v->name) sprintf(out + strlen(out), "%s=", v->name);
    if (v->kind == JSON_WORD) strcat(out, v->text);
    if (v->kind == JSON_TEXT) sprintf(out + strlen(out), "<%s>", v->text);
    if (v->kind < JSON_LIST) return;
    strcat(out, v->kind == JSON_LIST ? "[" : "{");
    for (part = json_first(j, v); part; part = json_next(j, part)) {
        print_value(j, part);
        if (json_next(j, part)) strcat(out, ",");
    }
    strcat(out, v->kind == JSON_LIST ? "]" : "}");
}

static int reads(const char *text, const char *want)
{
    const size_t size = strlen(text);
    json j;
    const char *const why = json_read(&j, keep(text, size), size);
    int same;
    out[0] = 0;
    if (why)
        sprintf(out, "%zu: %s", j.at, why);
    else
        print_value(&j, j.values);
    same = strcmp(out, want) == 0;
    if (!same) printf("    %s\n    got  %s\n    want %s\n", text, out, want);
    json_free(&j);
    return same;
}

TEST(values)
{
    CHECK(reads("{}", "{}"));
    CHECK(reads(" [ ] ", "[]"));
    CHECK(reads("17", "17"));
    CHECK(reads("17\n", "17"));
    CHECK(reads("\"\"", "<>"));
    CHECK(reads("[1,-2.5e+3,true,false,null]", "[1,-2.5e+3,true,false,null]"));
    CHECK(reads("[1 ,\t2\r\n, 3 ]", "[1,2,3]"));
    CHECK(reads("[[],[[]],{},[{}]]", "[[],[[]],{},[{}]]"));
    CHECK(reads("{\"a\":1,\"b\" : [2,{\"c\":\"d\"}], \"e\":{}}",
                "{a=1,b=[2,{c=<d>}],e={}}"));
    CHECK(reads("{\"\":{\"\":\"\"}}", "{={=<>}}"));
    CHECK(reads("[\"a\",\"b]\",\"{,:\"]", "[<a>,<b]>,<{,:>]"));
}

TEST(escapes)
{
    CHECK(reads("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "<\"\\/\b\f\n\r\t>"));
    CHECK(reads("\"\\u0041\\u00e9\\u20AC\"", "<A\xc3\xa9\xe2\x82\xac>"));
    CHECK(reads("\"\\ud83d\\uDE00.\"", "<\xf0\x9f\x98\x80.>"));
    CHECK(reads("{\"\\u0061\":1}", "{a=1}"));
    CHECK(reads("\"\xff\x80\"", "<\xff\x80>")); /* names of files may be so */
    CHECK(reads("\"\\u0000\"", "7: \\u is not a character"));
    CHECK(reads("\"\\ud83d\"", "7: \\u is not a character"));
    CHECK(reads("\"\\ud83d\\u0041\"", "13: \\u is not a character"));
    CHECK(reads("\"\\ude00\"", "7: \\u is not a character"));
    CHECK(reads("\"\\u12\"", "5: \\u without four digits"));
    CHECK(reads("\"\\u123", "6: \\u without four digits"));
    CHECK(reads("\"\\ud83d\\u\"", "9: \\u without four digits"));
    CHECK(reads("\"\\x\"", "2: a text that does not end"));
    CHECK(reads("\"\\", "2: a text that does not end"));
    CHECK(reads("\"a", "2: a text that does not end"));
    CHECK(reads("\"a\nb\"", "2: a text that does not end"));
}

TEST(mistakes)
{
    CHECK(reads("", "0: a value was expected"));
    CHECK(reads("nul", "0: a value was expected"));
    CHECK(reads("nulls", "0: a value was expected"));
    CHECK(reads("1x", "0: a value was expected"));
    CHECK(reads("[1,]", "3: a value was expected"));
    CHECK(reads("[,1]", "1: a value was expected"));
    CHECK(reads("[1 2]", "3: a , or ] was expected"));
    CHECK(reads("[1", "2: a , or ] was expected"));
    CHECK(reads("[1}", "2: a , or ] was expected"));
    CHECK(reads("{\"a\":1]", "6: a , or } was expected"));
    CHECK(reads("{\"a\" 1}", "5: a : was expected"));
    CHECK(reads("{\"a\":}", "5: a value was expected"));
    CHECK(reads("{\"a\":1,}", "7: a name was expected"));
    CHECK(reads("{a:1}", "1: a name was expected"));
    CHECK(reads("{1:1}", "1: a name was expected"));
    CHECK(reads("[", "1: a value was expected"));
    CHECK(reads("{", "1: a name was expected"));
    CHECK(reads("{}{}", "2: there is something after its end"));
    CHECK(reads("1 \"", "2: there is something after its end"));
    CHECK(reads("1\"", "1: there is something after its end"));
    CHECK(reads("]", "0: a value was expected"));
}

/* 64 lists in each other are read, 65 are not. */
TEST(depth)
{
    char text[200];
    for (unsigned depth = 64; depth < 66; depth++) {
        json j;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        CHECK((json_read(&j, keep(text, 2 * depth), 2 * depth) == NULL)
              == (depth == 64));
        CHECK_EQ(j.at, depth == 64 ? 128 : 64);
        json_free(&j);
    }
}

/* Whatever a text is cut to, nothing after its end is read, and no part of it is
 * the whole. */
TEST(cuts)
{
    static const char text[] =
        "{\"a\": [1, \"\\ud83d\\ude00\", {\"b\": null}], \"c\": {\"d\": -1}}";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        json j;
        CHECK(json_read(&j, keep(text, size), size) != NULL);
        CHECK(j.at <= size);
        json_free(&j);
    }
    CHECK(reads(text, "{a=[1,<\xf0\x9f\x98\x80>,{b=null}],c={d=-1}}"));
}

TEST(members)
{
    static const char text[] =
        "{\"n\":18446744073709551615,\"h\":\"0x7fFF\",\"d\":\"12\",\"n\":1,"
        "\"big\":18446744073709551616,\"minus\":-1,\"part\":1.5,\"x\":\"12x\","
        "\"blank\":\" 1\",\"empty\":\"\",\"t\":\"text\",\"l\":[1]}";
    static const char *const none[] = {"big", "minus", "part", "x", "blank",
                                       "empty", "t", "l", "nothing"};
    json j;
    uint64_t n = 0;
    CHECK(json_read(&j, keep(text, sizeof text - 1), sizeof text - 1) == NULL);
    CHECK(json_number(json_member(&j, j.values, "n"), &n) && n == UINT64_MAX);
    CHECK(json_number(json_member(&j, j.values, "h"), &n) && n == 0x7fff);
    CHECK(json_number(json_member(&j, j.values, "d"), &n) && n == 12);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(!json_number(json_member(&j, j.values, none[i]), &n));
    CHECK(strcmp(json_text(json_member(&j, j.values, "t")), "text") == 0);
    CHECK(json_text(json_member(&j, j.values, "empty")) == NULL);
    CHECK(json_text(json_member(&j, j.values, "l")) == NULL);
    CHECK(json_text(NULL) == NULL);
    CHECK(json_member(&j, NULL, "n") == NULL);
    CHECK(json_member(&j, json_member(&j, j.values, "l"), "n") == NULL);
    CHECK(json_first(&j, json_member(&j, j.values, "t")) == NULL);
    json_free(&j);
}

int main(void)
{
    RUN(values);
    RUN(escapes);
    RUN(mistakes);
    RUN(depth);
    RUN(cuts);
    RUN(members);
    return test_report();
}
