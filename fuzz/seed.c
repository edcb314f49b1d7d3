/* seed.c: writes the corpus, fuzz/corpus/TAG/NAME, from tests/samples.h and
 * tests/perfbuild.h:
 *
 *     cc -g -I. -o seed fuzz/seed.c && ./seed fuzz/corpus
 *
 * The folders must be there. Nothing in the corpus has another source. */
#include "fuzz.h"
#include "tests/elfbuild.h"
#include "tests/perfbuild.h"
#include "tests/samples.h"

/* The input for a sample: `turn` varies what the sample leaves open. */
static size_t make_seed(uint8_t *out, const sample *s, unsigned turn)
{
    const size_t code = sample_hex(out + FUZZ_HEAD, s->code);
    const int trace = sample_trace(out + FUZZ_HEAD + code, s->trace);

    if (trace < 0 || code > 255) {
        fprintf(stderr, "seed: sample %s is wrong\n", s->name);
        exit(1);
    }
    memset(out, 0, FUZZ_HEAD);
    out[FUZZ_AT_FLAGS] = s->flags;
    out[FUZZ_AT_CONFIG] = s->config;
    out[FUZZ_AT_ERRATA] = s->errata;
    out[FUZZ_AT_MORE] = s->more;
    out[FUZZ_AT_CUT] = (uint8_t) (turn % 4 * 5);
    out[FUZZ_AT_FUEL] = (uint8_t) (turn % 3 * turn);
    if (turn % 4 == 3)
        out[FUZZ_AT_LIE] = (uint8_t) (turn / 4 % FUZZ_READS);
    out[FUZZ_AT_CLONE] = (uint8_t) (turn % 7);
    out[FUZZ_AT_BASE] = s->base;
    out[FUZZ_AT_CODE] = (uint8_t) code;
    out[FUZZ_AT_WAY] = (uint8_t) turn;
    return FUZZ_HEAD + code + (size_t) trace;
}

/* Let an input of flow begin after its first PSB+, by _start: with the mode or
 * with one that is assumed, some events unwanted. Returns its size; 0: there is
 * no PSB+. */
static size_t seed_start(uint8_t *bytes, size_t size, unsigned turn)
{
    static const uint8_t psbend[] = {0x02, 0x23};
    const size_t from = FUZZ_HEAD + bytes[FUZZ_AT_CODE];
    size_t i;

    for (i = from; i + 2 < size && memcmp(bytes + i, psbend, 2); i++)
        ;
    if (i + 2 >= size)
        return 0;
    memmove(bytes + from, bytes + i + 2, size - i - 2);
    bytes[FUZZ_AT_WIDE] = FUZZ_WIDE_START
                          | (turn % 3 ? FUZZ_WIDE_LAST_IP : 0)
                          | (turn % 4 ? FUZZ_WIDE_STACK : 0)
                          | (turn % 5 ? 0 : FUZZ_WIDE_OFF);
    bytes[FUZZ_AT_EXTRA] = (uint8_t) ((turn / 2 % 2 ? IPT_MODE_64 : 0)
                                      | (turn % 4 ? turn % 64 * 4 : 0));
    return size - (i + 2 - from);
}

static void save(const char *folder, const char *tag, const char *name,
                 const uint8_t *bytes, size_t size)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/%s", folder, tag, name);
    file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
        perror(path);
        exit(1);
    }
}

/* The perf.data that was built; `how` it is to be read goes last. */
static void save_perfdata(const char *folder, const char *name, uint8_t how)
{
    char full[64];
    snprintf(full, sizeof(full), "%s%s", name, big ? "-big" : "");
    whole[whole_size++] = how;
    save(folder, "perfdata", full, whole, whole_size);
}

/* Two gaps in one queue, and another queue. */
static void append_queues(void)
{
    unsigned i;
    for (i = 0; i < 3; i++)
        put_auxtrace(32, 32 * (uint64_t) i, 2, 0, 1);
    for (i = 0; i < 2; i++) {
        begin(11, 0);
        put(40 * i, 8);
        put(24, 8);
        put(1 + 3 * i, 8);
        put_samples(4, 50, 1, 10);
        append_record();
    }
}

static void save_perfdata_files(const char *folder)
{
    for (big = 0; big < 2; big++) {
        make_file();
        save_perfdata(folder, "file", 0);
        make_pipe();
        append_queues();
        save_perfdata(folder, "pipe", 0);
        make_pipe();
        begin(81, 0);
        put(14, 4);
        put(0, 2);
        put(40, 2);
        put_samples(4, 60, 1, 11);
        put(63, 4);
        put(0, 2);
        put(80, 2);
        built[built_size++] = 0xf0 + 8;
        append_record();
        save_perfdata(folder, "packed", 3);
    }
}

/* ---- sideband: see pevent.c ---- */

/* Put the records that were built after the head of an input: what is
 * printed, which samples, and where the second file begins. */
static void save_pevent(const char *folder, const char *name, uint8_t flags,
                        uint8_t which, size_t first)
{
    static uint8_t bytes[8 + sizeof(whole)];
    const uint8_t head[8] = {flags, which, 0, 1, 0, 0x20,
                             (uint8_t) (first / 8), 7};
    memcpy(bytes, head, 8);
    memcpy(bytes + 8, whole, whole_size);
    save(folder, "pevent", name, bytes, 8 + whole_size);
    whole_size = 0;
}

/* A mapping of a file of fuzz/corpus/pevent, which is the root there. */
static void append_map(uint32_t pid, uint64_t addr, const char *file,
                       uint64_t time)
{
    begin(1, 2);
    put2(pid, pid);
    put(addr, 8);
    put(0x20, 8);
    put(8, 8);
    put_name(file);
    append_sampled(6, pid, time);
}

static void append_pair(unsigned type, unsigned misc, uint32_t pid,
                        uint64_t time)
{
    begin(type, misc);
    put2(pid, pid);
    append_sampled(6, pid, time);
}

static void append_fork(uint32_t pid, uint32_t parent, uint64_t time)
{
    begin(7, 0);
    put2(pid, parent);
    put2(pid, parent);
    put(time, 8);
    append_sampled(6, pid, time);
}

static void append_switch(unsigned misc, uint32_t pid, uint64_t time)
{
    begin(14, misc);
    append_sampled(6, pid, time);
}

static void save_pevent_files(const char *folder)
{
    static const char elf[] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\76";
    size_t first;

    big = 0;
    append_kinds(0x102c6);
    save_pevent(folder, "kinds", 0x5d, 0x3f, whole_size);
    append_kinds(0);
    save_pevent(folder, "kinds_verbose", 0x7e, 0, 64);
    append_kinds(0x10006); // and some that have an identifier
    append_kinds(0x10040);
    save_pevent(folder, "identifiers", 0x1d, 0x63, 0);
    append_map(1, 0x1000, "kinds", 0);
    append_map(2, 0x1010, "/none", 1);
    append_map(2, 0x1010, "elf", 1);
    append_map(2, 0x1020, "[vdso]", 1);
    append_map(2, 0x1030, "//anon", 1);
    append_pair(12, 0, 1, 1);
    append_switch(0x2000, 1, 2);
    append_switch(0, 2, 3);
    append_pair(15, 0x2000, 1, 4);
    append_pair(15, 0, 2, 5);
    first = whole_size;
    append_fork(3, 2, 1);
    append_map(1, 0x1008, "switches", 3);
    append_fork(2, 3, 4);
    begin(3, 0x2000);
    put2(1, 1);
    put_name("sh");
    append_sampled(6, 1, 5);
    save_pevent(folder, "switches", 0x7d, 0x83, first);
    memcpy(whole, elf, sizeof(elf));
    whole_size = sizeof(elf);
    save(folder, "pevent", "elf", whole, whole_size);
    whole_size = 0;
}

/* ---- code of processes: see spaces.c ---- */

/* The file that was built, and actions. */
static void save_spaces(const char *folder, const char *name, uint8_t flags,
                        const uint8_t (*actions)[8], size_t count)
{
    static uint8_t bytes[3 + 1024];
    bytes[0] = flags;
    bytes[1] = (uint8_t) built_size;
    bytes[2] = (uint8_t) (built_size >> 8);
    memcpy(bytes + 3, built, built_size);
    memcpy(bytes + 3 + built_size, actions, 8 * count);
    save(folder, "spaces", name, bytes, 3 + built_size + 8 * count);
}

/* An ELF file with a build id and a segment of the kernel. */
static void put_elf(void)
{
    built_size = 0;
    put_text("\177ELF\2\1\1", 18);
    put(62, 2);
    put(0, 4);
    put(0, 8);
    put(64, 8);
    put(0, 14);
    put2(56, 0); // and its high half
    built_size -= 4;
    put(2, 2);
    built_size = 64;
    put2(4, 0);
    put(176, 8); // the note
    put(0, 8);
    put(0, 8);
    put(20, 8);
    built_size = 120;
    put2(1, 0);
    put(192, 8);
    put(0xffffffff81000000, 8);
    put(0, 8);
    put(32, 8);
    built_size = 176;
    put2(4, 2);
    put(3, 4);
    put_text("GNU", 4);
    put_text("\1\2", 4);
    put_text("code of a kernel and of programs", 48);
}

/* 0 LOAD: from is an address, too; 1 MOVE. */
static void put_jit(unsigned type, uint64_t time, uint64_t from, uint64_t to,
                    size_t size)
{
    put2(type, type ? 64 : 58 + size);
    put(time, 8);
    put2(1, 1);
    put(to, 8);
    put(from, 8);
    if (type) put(to, 8);
    put(size, 8);
    put(0, 8);
    if (!type) put_text("f", 2);
    if (!type) put_text("the code of the function", size);
}

static void save_spaces_files(const char *folder)
{
    static const uint8_t maps[][8] = {
        {0, 1, 2, 4, 20, 190, 0, 1}, {2, 2, 0, 1, 0, 0, 0, 2},
        {0, 2, 2, 10, 9, 200, 0, 3}, {0, 1, 34, 8, 16, 192, 0, 3},
        {0, 1, 2, 4, 20, 190, 0, 4}, {0, 3, 2, 0, 40, 0, 3, 4},
        {2, 3, 0, 2, 0, 0, 0, 4}, {2, 3, 8, 2, 0, 0, 0, 4},
        {3, 1, 8, 0, 0, 0, 0, 5}, {1, 1, 10, 4, 20, 190, 4, 5}
    };
    static const uint8_t kernel[][8] = {
        {4, 0, 1, 0x82, 4, 6, 0, 1}, {4, 0, 1, 0x84, 0, 9, 1, 2},
        {5, 0, 1, 0x90, 8, 0, 0, 3}, {1, 0, 1, 0x98, 8, 0, 7, 3},
        {4, 0, 1, 0x83, 9, 0, 1, 4}, {5, 0, 1, 0x80, 4, 1, 0, 5}
    };
    static const uint8_t jit[][8] = {
        {0, 1, 2, 0xff, 1, 0, 1, 0}, {15, 0, 0, 0, 0, 0, 0, 4},
        {2, 2, 0, 1, 0, 0, 0, 2}, {15, 0, 0, 0, 0, 0, 0, 9},
        {0, 1, 2, 8, 8, 0, 2, 9}, {0, 1, 2, 8, 8, 9, 0, 9},
        {15, 0, 0, 0, 0, 0, 0, 99}, {3, 1, 8, 0, 0, 0, 0, 99}
    };
    big = 0;
    memset(built, 0, 4096);
    put_elf();
    save_spaces(folder, "maps", 0, maps, sizeof maps / sizeof *maps);
    save_spaces(folder, "maps_force", 6, maps, sizeof maps / sizeof *maps);
    save_spaces(folder, "kernel", 0, kernel, sizeof kernel / sizeof *kernel);
    for (unsigned tsc = 0; tsc < 2; tsc++) {
        built_size = 0;
        put2(0x4a695444, 1);
        put2(40, 62);
        put(1, 8);
        put(0, 8);
        put(tsc, 8);
        put_jit(0, 8, 0x1004, 0x1004, 12);
        put_jit(0, 30, 0x1000, 0x1000, 8);
        put_jit(1, 20, 0x1004, 0x1006, 6);
        put_jit(2, 20, 0, 0, 0);
        save_spaces(folder, tsc ? "jit_tsc" : "jit", 1, jit,
                    sizeof jit / sizeof *jit);
    }
}

/* Samples in front are about packets only; flow has its own. */
/* ---- symbols of files: see symbols.c ---- */

static void save_symbols_files(const char *folder)
{
    static const elf_symbol list[] = {
        {"outer", ELF_BASE + ELF_AT, 0x40, 2, 1, 1},
        {"_alias", ELF_BASE + ELF_AT, 0x40, 2, 2, 1},
        {"label", ELF_BASE + ELF_AT + 8, 0, 0, 0, 1},
        {"inner", ELF_BASE + ELF_AT + 0x10, 8, 10, 0, 1}};
    static const char kallsyms[] = "ffffffff81000000 T _text\n"
                                   "ffffffff81000100 t local\n"
                                   "ffffffffc0000000 W weak\t[module]\n";
    uint8_t elf[4096];
    save(folder, "symbols", "elf", elf, elf_build(elf, list, 4, "ab"));
    save(folder, "symbols", "kallsyms", (const uint8_t *) kallsyms,
         sizeof kallsyms - 1);
    memset(elf, 0, 256);
    elf_store(elf, 0x4a695444, 4);
    elf_store(elf + 4, 1, 4);
    elf_store(elf + 8, 40, 4);
    elf_store(elf + 12, 62, 4);
    elf_store(elf + 40 + 4, 64, 4);
    elf_store(elf + 40 + 40, 4, 8);
    memcpy(elf + 40 + 56, "one", 4);
    save(folder, "symbols", "jitdump", elf, 104);
}

/* ---- registers and tables of a processor: see hw.c ---- */

static void save_hw_files(const char *folder)
{
    static const struct {
        const char *name, *hex;
    } rows[] = {
        {"regions", "00 02 3f 01 0000000000 10 3000000000 0500"
                    "50 0800000000 0800 00 ffffff0000 0900"},
        {"regions_large", "00 00 3f 01 0700000000 02 0000000000"
                          "0000001800000000"},
        {"regions_last", "00 00 02 01 0000000000 00 ffffffffff 0100"},
        {"regions_room", "00 00 03 01 0000000000 40 0100000000 2000"},
        {"regions_unaligned", "00 00 20 00 0008000000000000 01"
                              "8000000000000000 0100"},
        {"regions_flags", "00 00 20 01 0000000000 04 0100000000 0100"
                          "0100000000000000"},
        {"ring", "01 04 07 03 00 00 0f 11 02 1f 1f 1f 000000 341200"},
        {"ring_since", "01 02 01 00 03 07 00 05 453000 452000"},
        {"ring_whole", "01 00 00 00 001000 001000"},
        {"ring_round", "01 01 01 00 01 00 003000 ff3f00"},
        {"ring_first", "01 01 01 00 01 00 000000 010000 01"},
        {"tables", "02 40 00 01 34120000 00 02 00000000 00 02 4000 00 00"
                   "0000 00 01 5000 01 00 0000 00 01 0200 00 01"},
        {"tables_round", "02 40 00 01 00000000 ff 01 00000000 00 01"
                         "0000 00 00 0000 00 00 0000 00 01 0100 00 01"},
        {"tables_links", "02 04 00 00 00000000 00 00 00000000 00 00"
                         "0100 00 01 0200 00 01"},
        {"tables_nowhere", "02 08 40 02 01000000 00 02 00000000 00 02"
                           "ffff 00 00 ffff 0f 00"},
        {"range", "02 02 1f 0000000000000000 0000040000000000"
                  "ff0f000034120000 0000040000000000 ff0f000010000000 00"},
        {"range_wrapped", "02 02 5f 0000000000000000 0000040000000000"
                          "ff0f000034020000 0000000000000000"
                          "0000000000000000 00"},
        {"wishes", "03 0d26c00b00000000 ff010000 0f000080 0200ff0f ff0fff0f"},
        {"wishes_all", "03 ffffffffffffffff ff010000 0f000080 0400ffff"
                       "ffffffff"},
        {"wishes_zeros", "03 0203000000000000 0a000000 05000000 0000feff"
                         "fefffeff"},
        {"wishes_none", "03 0d20000000000000 00000000 00000000 00000000"
                        "00000000"},
        {"registers", "04 00000000 0d26c00b21000000 0010000000000000"
                      "ff1f000000000000 0000000000000080 ffffffffffffffff"
                      "0000000000000000 0000000000000000 0000000000000000"
                      "0000000000000000 00181b0000000000 e3060500 00000080"
                      "02000000 d8000000"},
        {"registers_family", "04 ffffffff 0008000003000000"
                             "0000000000000000 0000000000000000"
                             "0000000000000000 0000000000000000"
                             "0000000000000000 0000000000000000"
                             "0000000000000000 0000000000000000"
                             "0000000000000000 110f3000"},
    };
    uint8_t buffer[SAMPLE_MAX];
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        save(folder, "hw", rows[i].name, buffer,
             sample_hex(buffer, rows[i].hex));
}

/* An input begun by _start. */
static void save_start(const char *folder, const char *sample_name,
                       uint8_t *bytes, size_t size, unsigned turn)
{
    static const char *const tags[] = {"insn", "blk", "evt"};
    char name[64];

    snprintf(name, sizeof(name), "%s_start", sample_name);
    size = seed_start(bytes, size, turn);
    if (size == 0)
        return;
    save(folder, "cov", name, bytes, size);
    if (turn % 2)
        save(folder, tags[turn / 2 % 3], name, bytes, size);
}

/* ---- lines of simple-pt: see simplept.c ---- */

static void save_simplept_files(const char *folder)
{
    static const char lines[] =
        "meta nom_freq 32\nmeta family 6\nmeta model 151\nmeta mtc_freq 4\n"
        "1.5 11 10000 1000 0 4\t/a\n0.0 12 20000 7f0000 1000\t/a b\n";
    save(folder, "simplept", "sideband", (const uint8_t *) lines,
         sizeof lines - 1);
}

static void save_lldb_files(const char *folder)
{
    static const char text[] =
        "{\"type\":\"intel-pt\",\"cpuInfo\":{\"vendor\":\"GenuineIntel\","
        "\"family\":6,\"model\":85,\"stepping\":4},\"processes\":[{\"pid\":1,"
        "\"triple\":\"x86_64\",\"threads\":[{\"tid\":2,\"iptTrace\":\"t\"}],"
        "\"modules\":[{\"file\":\"f\",\"systemPath\":\"/f\",\"loadAddress\":"
        "\"0x1000\",\"uuid\":\"01234567-89AB-CDEF-0123-456789ABCDEF\"}]}],"
        "\"cpus\":[{\"id\":0,\"iptTrace\":\"c\",\"contextSwitchTrace\":\"s\"}],"
        "\"kernel\":{\"file\":\"k\",\"loadAddress\":4096},"
        "\"tscPerfZeroConversion\":{\"timeMult\":1,\"timeShift\":31,"
        "\"timeZero\":\"18433473881008870804\"}}";
    static const uint8_t switches[64] = {15, 0, 0, 0, 0, 0x20, 32, 0, 1,
        [32] = 15, [38] = 32, [40] = 2, [48] = 1, [56] = 9};
    save(folder, "lldb", "bundle", (const uint8_t *) text, sizeof text - 1);
    save(folder, "lldb", "switches", switches, sizeof switches);
}

int main(int argc, char **argv)
{
    uint8_t bytes[FUZZ_HEAD + 2 * SAMPLE_MAX];
    unsigned flow = 0;
    unsigned i;

    if (argc != 2) {
        fprintf(stderr, "usage: %s folder\n", argv[0]);
        return 2;
    }
    save_perfdata_files(argv[1]);
    save_pevent_files(argv[1]);
    save_spaces_files(argv[1]);
    save_symbols_files(argv[1]);
    save_simplept_files(argv[1]);
    save_lldb_files(argv[1]);
    save_hw_files(argv[1]);
    for (i = 0; i < SAMPLES; i++) {
        const size_t size = make_seed(bytes, &samples[i], i);
        flow |= !strcmp(samples[i].name, "loop");
        if (!flow)
            save(argv[1], "pkt", samples[i].name, bytes, size);
        if (i % 2 || !flow)
            save(argv[1], "evt", samples[i].name, bytes, size);
        if (flow && i % 3 == 0)
            save(argv[1], "qry", samples[i].name, bytes, size);
        if (flow) {
            save(argv[1], "insn", samples[i].name, bytes, size);
            save(argv[1], "cov", samples[i].name, bytes, size);
            if (i % 3 == 1)
                save(argv[1], "blk", samples[i].name, bytes, size);
            save_start(argv[1], samples[i].name, bytes, size, i);
        }
    }
    for (i = 0; i < 24; i++) { /* the generator goes on after these */
        char name[8];
        bytes[0] = (uint8_t) i;
        snprintf(name, sizeof(name), "n%u", i);
        save(argv[1], "simulate", name, bytes, 1);
    }
    return 0;
}
