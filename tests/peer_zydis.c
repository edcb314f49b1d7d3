/* peer_zydis.c: the built-in classifier against Zydis.
 *
 *     peer_zydis [--random N] [--vectors DIR] [ELF file]...
 *
 * elf:     linear sweep over the executable sections of real programs
 * modes:   the same bytes read as code of the other modes
 * random:  N byte strings per mode, half of them shaped like opcodes
 * format:  Zydis' text in the style of XED
 * vectors: DIR/instructions64.tsv and 32: mode, bytes, length, op, class, rel
 *
 * Where both accept, length, kind and displacement must be equal. Where they
 * differ, the difference must be of a class in `differences` below. */
#define IPT_IMPLEMENTATION
#include "../ipt.h"
#include "test.h"

#if defined(__has_include)
#if __has_include(<Zydis/Zydis.h>)
#define HAVE_ZYDIS 1
#endif
#endif

#ifndef HAVE_ZYDIS
TEST(zydis) { test_skip("Zydis is missing (libzydis-dev)"); }
int main(void)
{
    RUN(zydis);
    return test_report();
}
#else
#include "../zydis_glue/ipt_zydis.h"
#include "dice.h"
#include <elf.h>

/* ---- one comparison ---- */

/* The bytes both were given, and what they said. */
typedef struct pair {
    const uint8_t *bytes;
    size_t size;
    uint8_t mode;
    int ours, theirs;      // status
    ipt_code our, their;
    size_t at;             // the first byte that is not a prefix
    int extended;          // 66, F2 or F3 is among the prefixes
} pair;

static void look(pair *p, const uint8_t *bytes, size_t size, uint8_t mode)
{
    memset(p, 0, sizeof *p);
    p->bytes = bytes;
    p->size = size < 15 ? size : 15;
    p->mode = mode;
    p->ours = ipt_classify(&p->our, bytes, size, mode, NULL);
    p->theirs = ipt_zydis_classify(&p->their, bytes, size, mode, NULL);
}

static int same(const pair *p)
{
    if (p->ours && p->theirs && p->size < 15)
        return 1; // cut by the end of a section: bad and more are both right
    return p->ours == p->theirs && (p->ours || (p->our.size == p->their.size
        && p->our.kind == p->their.kind
        && p->our.displacement == p->their.displacement
        && p->our.ip16 == p->their.ip16));
}

static uint8_t byte_at(const pair *p, size_t i)
{
    return p->at + i < p->size ? p->bytes[p->at + i] : 0;
}

static void skip_prefixes(pair *p)
{
    for (p->at = 0; p->at < p->size; p->at++) {
        uint8_t b = p->bytes[p->at];
        if (b == 0x66 || b == 0xF2 || b == 0xF3) p->extended = 1;
        else if (b != 0x67 && b != 0xF0 && (b & 0xE7) != 0x26
                 && (b & 0xFE) != 0x64
                 && !(p->mode == IPT_MODE_64 && (b & 0xF0) == 0x40))
            return;
    }
}

/* ---- differences that are known ---- */

static int only_ours(const pair *p)
{
    return p->ours == 0 && p->theirs == IPT_ERR_BAD_INSN;
}

/* JKZD and JKNZD: rel32 in map 1, rel8 in map 0, which we refuse */
static int is_knc(const pair *p)
{
    uint8_t lead = byte_at(p, 0);
    uint8_t opcode = byte_at(p, lead == 0xC5 ? 2 : 3);
    if ((lead != 0xC4 && lead != 0xC5) || p->theirs
        || p->their.kind != IPT_INSN_OTHER)
        return 0;
    if (p->ours == IPT_ERR_BAD_INSN)
        return opcode == 0x74 || opcode == 0x75;
    return !p->ours && p->our.kind == IPT_INSN_OTHER
        && (opcode == 0x84 || opcode == 0x85);
}

static int is_vector(const pair *p)
{
    uint8_t lead = byte_at(p, 0);
    return only_ours(p) && (lead == 0xC4 || lead == 0xC5 || lead == 0x62
                            || lead == 0x8F);
}

static int is_rex2(const pair *p)
{
    return only_ours(p) && p->mode == IPT_MODE_64 && byte_at(p, 0) == 0xD5;
}

static int is_3dnow(const pair *p)
{
    return only_ours(p) && byte_at(p, 0) == 0x0F && byte_at(p, 1) == 0x0F;
}

static int is_long_map(const pair *p)
{
    return only_ours(p) && byte_at(p, 0) == 0x0F
        && (byte_at(p, 1) == 0x38 || byte_at(p, 1) == 0x3A);
}

/* ModRM's reg and mod of an opcode after 0F that has operands Zydis checks */
static int is_register(const pair *p)
{
    uint8_t op = byte_at(p, 1);
    return only_ours(p) && byte_at(p, 0) == 0x0F && op >= 0x20 && op <= 0x23;
}

static int is_prefixed(const pair *p)
{
    return only_ours(p) && byte_at(p, 0) == 0x0F && p->extended;
}

static int is_form(const pair *p)
{
    static const uint8_t opcodes[] = {
        0x00, 0x01, 0x0D, 0x12, 0x13, 0x16, 0x17, 0x18, 0x1A, 0x1B, 0x1C, 0x1E,
        0x2B, 0x50, 0x6C, 0x6D, 0x71, 0x72, 0x73, 0x7C, 0x7D, 0xA6, 0xA7, 0xAE,
        0xB2, 0xB4, 0xB5, 0xC3, 0xC5, 0xC7, 0xD0, 0xD6, 0xD7, 0xE6, 0xE7, 0xF0,
        0xF7
    };
    return only_ours(p) && byte_at(p, 0) == 0x0F && !p->extended
        && memchr(opcodes, byte_at(p, 1), sizeof opcodes) != NULL;
}

static int is_x87(const pair *p)
{
    return only_ours(p) && (byte_at(p, 0) & 0xF8) == 0xD8;
}

static int is_operand(const pair *p)
{
    uint8_t op = byte_at(p, 0);
    return only_ours(p) && (op == 0x8C || op == 0x8E
                            || (op == 0x8D && byte_at(p, 1) >= 0xC0));
}

typedef struct difference {
    const char *name, *why;
    int (*is)(const pair *p);
    unsigned long count;
} difference;

static difference differences[] = {
    {"knc", "VEX 74 75 84 85 are Xeon Phi's JKZD to Zydis; it has no PT",
     is_knc, 0},
    {"vector", "VEX EVEX XOP: we accept opcodes and fields yet to be defined",
     is_vector, 0},
    {"rex2", "APX, unknown to Zydis", is_rex2, 0},
    {"3dnow", "3DNow suffixes without meaning", is_3dnow, 0},
    {"0f38-0f3a", "their opcodes all have one shape: we accept the unused ones",
     is_long_map, 0},
    {"mov-cr-dr", "control and debug registers that do not exist",
     is_register, 0},
    {"0f-prefix", "66, F2, F3 where they select no instruction",
     is_prefixed, 0},
    {"0f-modrm", "memory or register forms, group members that do not exist",
     is_form, 0},
    {"x87", "escapes without an instruction", is_x87, 0},
    {"operand", "LEA of a register, segment registers that do not exist",
     is_operand, 0}
};
enum { DIFFERENCES = (int)(sizeof differences / sizeof differences[0]) };

/* What was compared, after a failed CHECK. */
static void print_pair(const pair *p, const char *where)
{
    if (test_.bad > 20) return;
    printf("%s, mode %d:", where, p->mode);
    for (size_t i = 0; i < p->size; i++) printf(" %02x", p->bytes[i]);
    printf("\n    ours %d: size %d kind %d; Zydis %d: size %d kind %d\n",
           p->ours, p->our.size, p->our.kind,
           p->theirs, p->their.size, p->their.kind);
}

/* Count a difference under its class; one without a class fails. */
static void explain(pair *p, const char *where)
{
    skip_prefixes(p);
    for (int i = 0; i < DIFFERENCES; i++) {
        if (!differences[i].is(p)) continue;
        differences[i].count++;
        return;
    }
    int known = 0;
    if (!CHECK(known)) print_pair(p, where);
}

static void print_differences(void)
{
    for (int i = 0; i < DIFFERENCES; i++) {
        if (differences[i].count)
            printf("  %9lu %-10s %s\n", differences[i].count,
                   differences[i].name, differences[i].why);
        differences[i].count = 0;
    }
}

/* ---- real programs ---- */

static uint8_t *load(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    if (!file) return NULL;
    uint8_t *data = NULL;
    if (!fseek(file, 0, SEEK_END)) {
        long end = ftell(file);
        rewind(file);
        data = end > 0 ? (uint8_t *)malloc((size_t)end) : NULL;
        *size = data ? fread(data, 1, (size_t)end, file) : 0;
    }
    fclose(file);
    return data;
}

typedef struct sweep {
    unsigned long insns, bytes, bad, different, transfers;
} sweep;

/* Code as it lies; a byte neither accepts is stepped over. */
static void sweep_code(sweep *s, const uint8_t *code, size_t size,
                       uint8_t mode, const char *where)
{
    s->bytes += size;
    for (size_t i = 0; i < size;) {
        pair p;
        look(&p, code + i, size - i, mode);
        if (!same(&p)) {
            s->different++;
            explain(&p, where);
        }
        s->insns += !p.ours;
        s->transfers += !p.ours && p.our.kind != IPT_INSN_OTHER;
        s->bad += p.ours != 0;
        i += p.ours ? 1 : p.our.size;
    }
}

/* The executable sections of an ELF file; mode 0: in the file's own mode. */
static int sweep_file(sweep *s, const char *name, uint8_t mode)
{
    size_t size = 0;
    uint8_t *data = load(name, &size);
    memset(s, 0, sizeof *s);
    if (!data || size < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG)) {
        free(data);
        return 0;
    }
    int wide = data[EI_CLASS] == ELFCLASS64;
    uint64_t at = wide ? ipti_le64(data + 40) : ipti_le32(data + 32);
    const uint8_t *tail = data + (wide ? 58 : 46); // e_shentsize, e_shnum
    size_t each = ipti_le16(tail);
    size_t count = ipti_le16(tail + 2);
    uint16_t machine = ipti_le16(data + 18);
    if (!mode) mode = machine == EM_X86_64 ? IPT_MODE_64 : IPT_MODE_32;
    if ((machine != EM_X86_64 && machine != EM_386) || each < 40
        || at > size || count > (size - at) / each)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *h = data + at + i * each;
        uint64_t flags = wide ? ipti_le64(h + 8) : ipti_le32(h + 8);
        uint64_t begin = wide ? ipti_le64(h + 24) : ipti_le32(h + 16);
        uint64_t length = wide ? ipti_le64(h + 32) : ipti_le32(h + 20);
        if (ipti_le32(h + 4) != SHT_PROGBITS || !(flags & SHF_EXECINSTR)
            || begin > size || length > size - begin)
            continue;
        sweep_code(s, data + begin, (size_t)length, mode, name);
    }
    free(data);
    return s->bytes != 0;
}

static const char *const usual[][4] = { // the first of each row that exists
    {"/bin/bash", "/bin/sh", NULL, NULL},
    {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", NULL, NULL},
    {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
     "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
     "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", NULL},
    {"/lib32/libc.so.6", "/lib/i386-linux-gnu/libc.so.6", NULL, NULL}
};
static const char *files[64];
static size_t file_count;

static void find_files(void)
{
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        for (size_t k = 0; k < 4 && usual[i][k]; k++) {
            FILE *file = fopen(usual[i][k], "rb");
            if (!file) continue;
            fclose(file);
            files[file_count++] = usual[i][k];
            break;
        }
    }
}

static void sweep_files(uint8_t mode)
{
    size_t swept = 0;
    for (size_t i = 0; i < file_count; i++) {
        sweep s;
        if (!sweep_file(&s, files[i], mode)) continue;
        swept++;
        printf("%s%s: %lu instructions (%lu transfers), %lu bytes, "
               "%lu refused by both, %lu differ\n", files[i],
               mode == IPT_MODE_16 ? " as 16-bit" :
               mode == IPT_MODE_32 ? " as 32-bit" :
               mode == IPT_MODE_64 ? " as 64-bit" : "",
               s.insns, s.transfers, s.bytes, s.bad, s.different);
        print_differences();
        // refused bytes are data between code, which may look like anything
        if (!mode && !s.bad) CHECK_EQ(s.different, 0);
    }
    if (!swept) test_skip("no x86 ELF file was found");
}

TEST(elf) { sweep_files(0); }

TEST(modes)
{
    if (file_count > 2) file_count = 2; // bash and libc will do
    sweep_files(IPT_MODE_16);
    sweep_files(IPT_MODE_32);
    sweep_files(IPT_MODE_64);
}

/* ---- random bytes ---- */

static unsigned long random_count = 1000000;

/* 15 bytes. Half of the strings begin with prefixes and an escape, which
 * bytes from a hat seldom do. */
static void random_code(uint8_t *bytes)
{
    static const uint8_t prefix[16] = {
        0x66, 0x67, 0xF0, 0xF2, 0xF3, 0x2E, 0x65, 0x48,
        0x40, 0x44, 0x66, 0xF2, 0xF3, 0x4F, 0x36, 0x41
    };
    static const uint8_t lead[16] = {
        0x0F, 0x0F, 0x0F, 0x0F, 0x0F, 0x0F, 0x0F, 0xC4,
        0xC5, 0x62, 0x8F, 0xD5, 0xFF, 0xF7, 0xC7, 0xD5
    };
    uint64_t a = dice_bits();
    uint64_t b = dice_bits();
    uint64_t shape = dice_bits();
    for (int i = 0; i < 15; i++)
        bytes[i] = (uint8_t)((i < 8 ? a >> 8 * i : b >> 8 * (i - 8)));
    if (shape & 1) return;
    size_t at = 0;
    for (size_t n = shape >> 1 & 3; n; n--)
        bytes[at++] = prefix[shape >> (4 + 4 * n) & 15];
    if (!(shape & 8)) return;
    bytes[at] = lead[shape >> 32 & 15];
    if (bytes[at] == 0x0F && (shape >> 40 & 3) == 0)
        bytes[at + 1] = shape >> 42 & 1 ? 0x38 : 0x3A;
}

/* Of an instruction both accept, every beginning must be IPT_MORE to both. */
static void check_cuts(const pair *whole)
{
    for (size_t size = 0; size < whole->our.size; size++) {
        pair p;
        look(&p, whole->bytes, size, whole->mode);
        if (!CHECK(p.ours == IPT_MORE) || !CHECK(p.theirs == IPT_MORE))
            print_pair(&p, "cut");
    }
}

TEST(random)
{
    for (uint8_t mode = IPT_MODE_16; mode <= IPT_MODE_64; mode++) {
        unsigned long agreed = 0, refused = 0, different = 0;
        seed = 0x9E3779B97F4A7C15u + mode;
        for (unsigned long i = 0; i < random_count; i++) {
            uint8_t bytes[15];
            pair p;
            random_code(bytes);
            look(&p, bytes, sizeof bytes, mode);
            if (!same(&p)) {
                different++;
                explain(&p, "random");
            } else if (p.ours) {
                refused++;
            } else {
                agreed++;
                if ((i & 15) == 0) check_cuts(&p);
            }
        }
        printf("random, mode %d: %lu agreed, %lu refused by both, "
               "%lu differ\n", mode, agreed, refused, different);
        print_differences();
    }
}

/* What the glue knows and Zydis does not. */
TEST(newer)
{
    static const struct {
        const char *code;
        size_t size;
    } rows[] = {
        {"\xF3\x0F\x01\xCA", 4},         // ERETU
        {"\x2E\xF2\x48\x0F\x01\xCA", 6}, // ERETS
        {"\xD5\x00\xA1\x88\x77\x66\x55\x44\x33\x22\x91", 11}, // JMPABS
        {"\x64\x2E\xD5\x77\xA1\1\2\3\4\5\6\7\x10", 13}
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pair p;
        look(&p, (const uint8_t *)rows[i].code, rows[i].size, IPT_MODE_64);
        CHECK_EQ(p.our.size, rows[i].size);
        CHECK(p.our.kind == (i < 2 ? IPT_INSN_IRET : IPT_INSN_JMPABS));
        if (!CHECK(same(&p))) print_pair(&p, "newer");
        else check_cuts(&p);
    }
}

/* ---- text ---- */

TEST(format)
{
    static const struct {
        const char *code, *intel, *att;
        size_t size;
    } rows[] = {
        {"\xEB\x04", "jmp 0x1006", "jmp 0x1006", 2},
        {"\xE8\xFB\xFF\xFF\xFF", "call 0x1000", "call 0x1000", 5},
        {"\x48\xC7\xC0\x00\x00\x00\x00", "mov rax, 0x0", "mov $0x0, %rax", 7},
        {"\x48\x8B\x03", "mov rax, qword ptr [rbx]", "movq (%rbx), %rax", 3},
        {"\x48\x8B\x05\x00\x10\x00\x00", "mov rax, qword ptr [rip+0x1000]",
         "movq 0x1000(%rip), %rax", 7},
        {"\x83\xF8\xFF", "cmp eax, 0xffffffff", "cmp $0xffffffff, %eax", 3},
        {"\xC3", "ret", "ret", 1}
    };
    char text[128];
    const uint8_t *bytes = (const uint8_t *)rows[0].code;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint8_t *code = (const uint8_t *)rows[i].code;
        CHECK_EQ(ipt_zydis_format(text, sizeof text, code, rows[i].size,
                                  IPT_MODE_64, 0x1000, 0), 0);
        if (!CHECK(!strcmp(text, rows[i].intel))) puts(text);
        CHECK_EQ(ipt_zydis_format(text, sizeof text, code, rows[i].size,
                                  IPT_MODE_64, 0x1000, 1), 0);
        if (!CHECK(!strcmp(text, rows[i].att))) puts(text);
    }
    CHECK_EQ(ipt_zydis_format(text, sizeof text, bytes, 1, IPT_MODE_64, 0, 0),
             IPT_MORE);
    CHECK(text[0] == 0);
    CHECK_EQ(ipt_zydis_format(text, 4, bytes, 2, IPT_MODE_64, 0, 0),
             IPT_ERR_ARG);
    CHECK_EQ(ipt_zydis_format(text, sizeof text, (const uint8_t *)"\x06", 1,
                              IPT_MODE_64, 0, 0), IPT_ERR_BAD_INSN);
    CHECK_EQ(ipt_zydis_format(text, sizeof text, bytes, 2, IPT_MODE_UNKNOWN,
                              0, 0), IPT_ERR_ARG);
}

/* ---- perf's vectors ---- */

static const char *vector_dir;

/* Does kind agree with perf's op and class? An op perf does not name is not a
 * branch to it: perf knows near branches, we know more. */
static int vector_kind_fits(uint8_t kind, const char *op, const char *branch)
{
    int indirect = !strcmp(branch, "indirect");
    if (!strcmp(op, "call"))
        return indirect ? kind == IPT_INSN_CALL_INDIRECT
            || kind == IPT_INSN_FAR_CALL : kind == IPT_INSN_CALL;
    if (!strcmp(op, "jmp"))
        return indirect ? kind == IPT_INSN_JMP_INDIRECT
            || kind == IPT_INSN_FAR_JMP : kind == IPT_INSN_JMP;
    if (!strcmp(op, "jcc")) return kind == IPT_INSN_JCC;
    if (!strcmp(op, "ret")) return kind == IPT_INSN_RET;
    return op[0] == 0 && (kind == IPT_INSN_OTHER || kind > IPT_INSN_JMPABS);
}

static void vector_row(char *line, unsigned long *rows, unsigned long *apart)
{
    char *field[7] = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    uint8_t bytes[16];
    size_t size = 0;
    for (size_t i = 0; i < 7 && line; i++) { // empty fields rule out strtok
        field[i] = line;
        line = strchr(line, '\t');
        if (line) *line++ = 0;
    }
    if (!field[6] || field[0][0] == '#') return;
    for (char *hex = field[1]; hex[0] && hex[1] && size < 15; hex += 2) {
        char two[3] = {hex[0], hex[1], 0};
        bytes[size++] = (uint8_t)strtoul(two, NULL, 16);
    }
    pair p;
    look(&p, bytes, size, !strcmp(field[0], "64") ? IPT_MODE_64 : IPT_MODE_32);
    ++*rows;
    int good = CHECK_EQ(p.ours, 0)
        && CHECK_EQ(p.our.size, strtoul(field[2], NULL, 10))
        && CHECK(vector_kind_fits(p.our.kind, field[3], field[4]))
        && (!field[3][0] || CHECK_EQ(p.our.displacement,
                                     strtol(field[5], NULL, 10)));
    if (!good) print_pair(&p, "vector");
    if (!same(&p)) {
        ++*apart;
        explain(&p, field[6]);
    }
}

TEST(vectors)
{
    static const char *const names[] = {
        "instructions64.tsv", "instructions32.tsv"
    };
    for (int i = 0; i < 2; i++) {
        char line[1024];
        unsigned long rows = 0, apart = 0;
        snprintf(line, sizeof line, "%s/%s", vector_dir, names[i]);
        FILE *file = fopen(line, "r");
        if (!CHECK(file != NULL)) continue;
        while (fgets(line, sizeof line, file)) vector_row(line, &rows, &apart);
        fclose(file);
        CHECK(rows != 0);
        printf("%s: %lu rows, %lu differ from Zydis\n", names[i], rows, apart);
        print_differences();
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--random") && i + 1 < argc)
            random_count = strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--vectors") && i + 1 < argc)
            vector_dir = argv[++i];
        else if (file_count < sizeof files / sizeof files[0])
            files[file_count++] = argv[i];
    }
    if (!file_count) find_files();
    RUN(elf);
    RUN(modes);
    RUN(random);
    RUN(newer);
    RUN(format);
    if (vector_dir) RUN(vectors);
    return test_report();
}
#endif
