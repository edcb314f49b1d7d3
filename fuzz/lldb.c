/* lldb.c: fuzz bundles of LLDB (common/perf/lldb.h), and JSON with them.
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-lldb fuzz/lldb.c
 *     ./fuzz-lldb corpus fuzz/corpus/lldb
 *
 * AFL++: afl-clang-fast -fsanitize=fuzzer -g -I. -o fuzz-lldb fuzz/lldb.c
 * Replay: cc -g -I. -o fuzz-lldb fuzz/lldb.c fuzz/standalone.c
 *
 * An input is a trace.json, and also a file of switches. What is read of it makes
 * sense. */
#define _GNU_SOURCE
#include "tests/linked.h"
#include "examples/tools/common/code/tool.c"
#include "examples/tools/common/code/below.c"
#include "examples/tools/common/code/files.c"
#include "examples/tools/common/code/json.c"
#include "examples/tools/common/perf/lldb.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "lldb: %s\n", what);
    abort();
}

/* Each value but the first is in one list or object. */
static void check_values(const json *j)
{
    uint32_t found = 1;
    for (uint32_t i = 0; i < j->count; i++) {
        const json_value *const v = &j->values[i];
        const json_value *part;
        require(v->text != NULL && v->kind <= JSON_OBJECT, "a value");
        require(!v->next || v->next > i, "what is next");
        for (part = json_first(j, v); part; part = json_next(j, part)) {
            found++;
            require((part->name != NULL) == (v->kind == JSON_OBJECT), "a name");
        }
    }
    require(found == j->count, "all values");
}

static void check_bundle(const lldb *l)
{
    for (size_t i = 0; i < l->module_count; i++) {
        require(*l->modules[i].path && l->modules[i].pid, "a module");
        require(l->modules[i].build_id_size <= 20, "a build id");
    }
    for (size_t i = 0; i < l->thread_count; i++)
        require(l->threads[i].pid && l->threads[i].tid, "a thread");
    for (size_t i = 0; i < l->cpu_count; i++)
        require(l->cpus[i].name != NULL, "a cpu's trace");
    require(!l->timed || (l->time_mult && l->time_shift < 64), "a clock");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = (char *) malloc(size + 1);
    tool_file file = {(uint8_t *) (uintptr_t) data, 0};
    lldb_switch s;
    lldb l;
    size_t at = 0, count = 0;
    memset(&l, 0, sizeof l);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (json_read(&l.text, text, size)) {
        require(l.text.at <= size, "where it is wrong");
    } else {
        check_values(&l.text);
        if (take_all(&l, "folder/trace.json")) check_bundle(&l);
    }
    lldb_free(&l);
    file.size = size;
    while (lldb_next(&file, &at, &s)) count++;
    require(at <= size && count <= size / 32, "switches");
    return 0;
}
