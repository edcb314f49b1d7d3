/* simulate.h: a processor that runs a program at random and traces it.
 *
 * It writes packets as the SDM says, and the list of what it did, the truth:
 * instructions and events, in the form that fuzz/fuzz.h logs them. Programs lie
 * in up to three places, which may be far apart, wrap at 64 KiB, 4 GiB or the
 * end of all addresses, and have modes of their own. All choices come from
 * `choice`: from bytes as long as there are any, then from a generator, so that
 * a test needs a seed and a fuzzer an input.
 *
 * simulate() makes a trace; sim_change() then spoils it at random. */
#ifndef IPT_TESTS_SIMULATE_H
#define IPT_TESTS_SIMULATE_H
#include "fuzz/fuzz.h"
#include "tests/dice.h"

#define SIM_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- choices ---- */

static struct {
    const uint8_t *bytes;
    size_t left;
    uint64_t seed;
} choice;

/* Below n, which is at most 256. */
static inline unsigned draw(unsigned n)
{
    if (choice.left) {
        choice.left--;
        return *choice.bytes++ % n;
    }
    return (unsigned) (dice_next(&choice.seed) >> 33) % n;
}

static inline int chance(unsigned percent)
{
    return draw(100) < percent;
}

/* ---- what was reached ---- */

#define REACH_LIST(X)                                               \
    X(FAR, "flow to code more than 2 GiB away")                     \
    X(FAR_RET, "a compressed return from more than 2 GiB away")     \
    X(WRAP_64K, "flow that wraps at 64 KiB")                        \
    X(WRAP_4G, "flow that wraps at 4 GiB")                          \
    X(WRAP_ALL, "flow that wraps at the end of all addresses")      \
    X(MODE_16, "16-bit code")                                       \
    X(MODE_32, "32-bit code")                                       \
    X(MODE_64, "64-bit code")                                       \
    X(MODES, "flow from one mode to another")                       \
    X(SPACES, "code that depends on CR3")                           \
    X(MAPPINGS, "an instruction in two mappings")                   \
    X(GAP, "a gap")                                                 \
    X(GAP_HUGE, "a gap of more than 4 GiB")                         \
    X(GAP_MAX, "a gap of SIZE_MAX")                                 \
    X(OVERFLOW, "an overflow")                                      \
    X(BDM64, "erratum BDM64")                                       \
    X(BDM70, "erratum BDM70")                                       \
    X(SKD007, "erratum SKD007")                                     \
    X(SKD010, "erratum SKD010")                                     \
    X(SKD022, "erratum SKD022")                                     \
    X(SKL014, "erratum SKL014")                                     \
    X(SKL168, "erratum SKL168")                                     \
    X(SKZ84, "erratum SKZ84")                                       \
    X(APL11, "erratum APL11")                                       \
    X(APL12, "erratum APL12")                                       \
    X(NLIP, "erratum NLIP")                                         \
    X(FILTER, "flow out of a filter")                               \
    X(CS_BASE, "linear IPs and a CS.base")                          \
    X(RELATIVE_IP, "IPs that count from CS.base")                   \
    X(INTO, "an INTO that does not overflow")                       \
    X(SPIN, "a loop without trace, then TRIG")                      \
    X(PEBS, "a PEBS block")                                         \
    X(PSB_IN_TRANSACTION, "a PSB+ inside a transaction")            \
    X(CHANGED, "a trace with changed packets")                      \
    X(UNWANTED, "an event that is not wanted")                      \
    X(NO_TIME, "an event whose time is not wanted")                 \
    X(SPACE_AT, "code of several CR3s, by config.space_at")         \
    X(RESYNC, "flow taken up by _resync")                           \
    X(ROOT_ONLY, "ROOT_ONLY and flow that is not")                  \
    X(NON_ROOT_ONLY, "NON_ROOT_ONLY and flow that is not")          \
    X(CR3_ONLY, "CR3_ONLY and flow that is not")                    \
    X(TRUTH, "compared with the truth")                             \
    X(VISIBLE, "flow asked for compared with the truth")            \
    X(BYTES, "one buffer = bytes")                                  \
    X(PIECES, "one buffer = pieces")                                \
    X(FREED, "one buffer = pieces that are freed")                  \
    X(FUEL_1, "any fuel = one unit")                                \
    X(FUEL_N, "any fuel = some units")                              \
    X(CLONE, "a decoder = its clone")                               \
    X(AGAIN, "a decoder = one used before")                         \
    X(LAZY, "all code = code that comes late")                      \
    X(CACHE_TINY, "no cache = a tiny one")                          \
    X(CACHE_LARGE, "no cache = a large one")                        \
    X(CACHE_WARM, "no cache = one used before")                     \
    X(CACHE_RELATED, "... with invalidations of this code")         \
    X(CACHE_UNRELATED, "... with invalidations of other code")      \
    X(FORGETS, "... with all code forgotten before every call")     \
    X(INSN_BLK, "[insn] = [blk]")                                   \
    X(INSN_COV, "[insn] = [cov], edges")                            \
    X(MEMO_TINY, "[cov] = with a memo of 4 lines, used and shared") \
    X(MEMO_SOME, "[cov] = with a memo of 8 to 32768, likewise")     \
    X(MEMO_LARGE, "[cov] = with a memo of 65536, likewise")         \
    X(COV_START, "[insn] = [cov], begun where no PSB is")           \
    X(ASSUMED, "... with the mode that is assumed")                 \
    X(SECTIONS, "blocks end where the mapping changes")             \
    X(SEAM, "a decode from a PSB = the suffix after the seam")

#define REACH_NAME(name, text) REACH_##name,
enum { REACH_LIST(REACH_NAME) REACHED };
#undef REACH_NAME

static unsigned long reached[REACHED];

/* Print how often each was reached. Returns how many never were. */
static inline unsigned reached_report(FILE *file)
{
#define REACH_TEXT(name, text) text,
    static const char *const texts[] = {REACH_LIST(REACH_TEXT)};
#undef REACH_TEXT
    unsigned never = 0;
    unsigned i;

    for (i = 0; i < REACHED; i++) {
        fprintf(file, "%10lu  %s\n", reached[i], texts[i]);
        never += reached[i] == 0;
    }
    return never;
}

/* ---- programs ---- */

#define INSNS_MAX 96
#define PLACES_MAX 3
#define PLACE_BYTES 240

typedef struct sim_insn {
    uint8_t kind;
    uint8_t size;
    uint8_t mode;
    uint8_t ip16;  /* its target stays in 64 KiB, if they are known */
    uint8_t wraps; /* ... and would not otherwise */
    uint8_t cut;   /* its bytes are in two mappings */
    uint8_t leaves; /* the target is outside of the filter */
    uint8_t place;
    uint64_t ip;
    uint64_t target[2]; /* of direct branches, by variant of the code */
} sim_insn;

/* Code in one piece: its two variants differ in where branches lead. */
typedef struct place {
    uint64_t ip;
    uint8_t mode;
    uint16_t size;
    uint16_t split; /* a mapping ends here, if not 0 */
    unsigned first; /* of its instructions */
    unsigned count;
    uint8_t bytes[2][PLACE_BYTES + 16];
} place;

/* Where places lie. A layout with a CS.base uses it outside of 64-bit mode;
 * ips are linear there, unless `relative`. */
typedef struct layout {
    struct {
        uint64_t ip; /* of its first byte, or where it ends, if `ends` */
        uint8_t mode;
        uint8_t ends;
        uint8_t room; /* bytes at most */
    } at[PLACES_MAX]; /* room 0: no more */
    uint32_t cs;
    uint8_t has_cs;
    uint8_t relative;
} layout;

#define L16 IPT_MODE_16
#define L32 IPT_MODE_32
#define L64 IPT_MODE_64

static const layout layouts[] = {
    /* one place */
    {{{0x1f80, L64, 0, 240}}, 0, 0, 0},
    {{{0xffffffff81000fc0, L64, 0, 240}}, 0, 0, 0},
    {{{0xffffff90, L64, 0, 240}}, 0, 0, 0},
    {{{0xffffff90, L32, 0, 240}}, 0, 0, 0},
    /* direct branches from one to the other place, over 2 GiB */
    {{{0x400fc0, L64, 0, 120}, {0x80400f80, L64, 0, 120}}, 0, 0, 0},
    {{{0x400fc0, L64, 0, 60}, {0x80400ff0, L64, 0, 60}}, 0, 0, 0},
    {{{0x1f80, L32, 0, 120}, {0x80002f80, L32, 0, 120}}, 0, 0, 0},
    /* only others lead there */
    {{{0x400fc0, L64, 0, 80}, {0x7fffffffefa0, L64, 0, 80},
      {0xffffffff81000fc0, L64, 0, 80}}, 0, 0, 0},
    /* at both ends of the addresses */
    {{{0xffffffffffffffa0, L64, 0, 120}, {0xf80, L64, 0, 120}}, 0, 0, 0},
    {{{0xffffffa0, L32, 0, 120}, {0x7fffff90, L32, 0, 120}}, 0, 0, 0},
    {{{0xfffffff8, L32, 0, 60}, {0x180, L32, 0, 60}}, 0, 0, 0},
    /* real mode, and others that have a CS.base */
    {{{0x7c00, L16, 0, 240}}, 0, 0, 0},
    {{{0x100000, L16, 1, 100}, {0xf0000, L16, 0, 100}}, 0xf0000, 1, 0},
    {{{0x10000, L16, 1, 100}, {0, L16, 0, 100}}, 0xf0000, 1, 1},
    {{{0xf90, L32, 0, 200}}, 0xfffff000, 1, 1},
    {{{0x40fb0, L32, 0, 80}, {0x31000, L32, 0, 80}}, 0x31000, 1, 0},
    {{{0xffb0, L32, 0, 80}, {0x20, L32, 0, 80}}, 0x31000, 1, 1},
    /* several modes */
    {{{0x400fc0, L64, 0, 80}, {0xffffffb0, L32, 0, 80},
      {0x7c00, L16, 0, 80}}, 0, 0, 0},
    {{{0x80031fc0, L64, 0, 80}, {0x31fc0, L32, 0, 80},
      {0x40000, L16, 1, 80}}, 0x30000, 1, 0},
    {{{0x400fc0, L64, 0, 80}, {0x1000, L32, 0, 80},
      {0x8000, L16, 0, 80}}, 0x12340, 1, 1}};

#define M16 1
#define M32 2
#define M64 4
#define MALL 7

/* Forms of instructions; `width` bytes at the end of direct branches say where
 * they lead. The first two are those that a place ends with, the last one is
 * for programs with `into`. */
static const struct {
    uint8_t kind;
    uint8_t size;
    uint8_t modes;
    uint8_t width;
    const char *bytes;
    unsigned weight;
} forms[] = {
    {IPT_INSN_JMP, 5, M32 | M64, 4, "\xe9\0\0\0\0", 3},
    {IPT_INSN_JMP, 3, M16, 2, "\xe9\0\0", 3},
    {IPT_INSN_OTHER, 1, MALL, 0, "\x90", 12},
    {IPT_INSN_OTHER, 3, MALL, 0, "\x0f\x1f\x00", 3},
    {IPT_INSN_OTHER, 4, M64, 0, "\x48\x89\x04\x24", 4},
    {IPT_INSN_OTHER, 7, M64, 0, "\x48\x8d\x05\0\0\0\0", 2},
    {IPT_INSN_OTHER, 1, M16 | M32, 0, "\x48", 4}, /* dec eax */
    {IPT_INSN_OTHER, 3, M16, 0, "\xb8\0\0", 3},
    {IPT_INSN_OTHER, 5, M32 | M64, 0, "\xb8\0\0\0\0", 3},
    {IPT_INSN_XBEGIN, 6, M32 | M64, 0, "\xc7\xf8\0\0\0\0", 2},
    {IPT_INSN_XBEGIN, 4, M16, 0, "\xc7\xf8\0\0", 2},
    {IPT_INSN_JCC, 2, MALL, 1, "\x74\0", 12},
    {IPT_INSN_JCC, 6, M32 | M64, 4, "\x0f\x84\0\0\0\0", 8},
    {IPT_INSN_JCC, 4, M16, 2, "\x0f\x84\0\0", 8},
    {IPT_INSN_JCC, 3, M32, 1, "\x66\x75\0", 3},
    {IPT_INSN_JCC, 2, MALL, 1, "\xe2\0", 2}, /* loop */
    {IPT_INSN_JMP, 2, MALL, 1, "\xeb\0", 4},
    {IPT_INSN_JMP, 4, M32, 2, "\x66\xe9\0\0", 3},
    {IPT_INSN_JMP, 6, M16, 4, "\x66\xe9\0\0\0\0", 3},
    {IPT_INSN_CALL, 5, M32 | M64, 4, "\xe8\0\0\0\0", 10},
    {IPT_INSN_CALL, 3, M16, 2, "\xe8\0\0", 10},
    {IPT_INSN_RET, 1, MALL, 0, "\xc3", 12},
    {IPT_INSN_RET, 3, MALL, 0, "\xc2\x08\x00", 2},
    {IPT_INSN_JMP_INDIRECT, 2, MALL, 0, "\xff\xe0", 4},
    {IPT_INSN_CALL_INDIRECT, 2, MALL, 0, "\xff\xd0", 6},
    {IPT_INSN_JMPABS, 11, M64, 0, "\xd5\0\xa1\0\0\0\0\0\0\0\0", 1},
    {IPT_INSN_SYSCALL, 2, MALL, 0, "\x0f\x05", 2},
    {IPT_INSN_IRET, 2, M64, 0, "\x48\xcf", 2},
    {IPT_INSN_IRET, 1, M16 | M32, 0, "\xcf", 2},
    {IPT_INSN_INT, 2, MALL, 0, "\xcd\x80", 2},
    {IPT_INSN_FAR_JMP, 2, MALL, 0, "\xff\x28", 1},
    {IPT_INSN_FAR_CALL, 2, MALL, 0, "\xff\x18", 1},
    {IPT_INSN_FAR_RET, 1, MALL, 0, "\xcb", 1},
    {IPT_INSN_VMCALL, 3, MALL, 0, "\x0f\x01\xc1", 1},
    {IPT_INSN_VMENTRY, 3, MALL, 0, "\x0f\x01\xc2", 2},
    {IPT_INSN_UIRET, 4, M64, 0, "\xf3\x0f\x01\xec", 1},
    {IPT_INSN_MOV_CR3, 3, MALL, 0, "\x0f\x22\xd8", 3},
    {IPT_INSN_VMPTRLD, 3, MALL, 0, "\x0f\xc7\x30", 2},
    {IPT_INSN_PTWRITE, 5, M64, 0, "\xf3\x48\x0f\xae\xe0", 4},
    {IPT_INSN_PTWRITE, 4, M16 | M32, 0, "\xf3\x0f\xae\xe0", 4},
    /* instead of dec eax */
    {IPT_INSN_INTO, 1, M16 | M32, 0, "\xce", 0}};

static struct {
    const layout *lay;
    place places[PLACES_MAX];
    unsigned place_count;
    sim_insn insns[INSNS_MAX];
    unsigned insn_count;
    uint8_t variants; /* 1: CR3 says which variant of the code there is */
    uint8_t filtered; /* there is an address filter: the places */
    uint8_t into;     /* INTO has the place of DEC */
} program;

static inline uint64_t wrap(uint8_t mode, uint64_t ip)
{
    return mode == IPT_MODE_64 ? ip : (uint32_t) ip;
}

/* Where CS begins, as the IPs see it. */
static inline uint64_t cs_seen(void)
{
    return program.lay->relative ? 0 : program.lay->cs;
}

static inline const sim_insn *any_insn(void)
{
    return &program.insns[draw(program.insn_count)];
}

/* Any instruction of a mode; there is one. */
static inline const sim_insn *any_of(uint8_t mode)
{
    unsigned i = draw(program.place_count);

    while (program.places[i].mode != mode)
        i = (i + 1) % program.place_count;
    return &program.insns[program.places[i].first
                          + draw(program.places[i].count)];
}

/* What a branch with this displacement leads to. */
static inline uint64_t led_to(const sim_insn *x, uint64_t displacement)
{
    const uint64_t to = wrap(x->mode, x->ip + x->size + displacement);

    if (!x->ip16 || !program.lay->has_cs)
        return to;
    return wrap(x->mode, cs_seen() + ((to - cs_seen()) & 0xffff));
}

/* The displacement of `width` bytes that leads from x to `to`. Returns 0 if
 * none does. */
static inline int displacement(const sim_insn *x, uint64_t to, unsigned width,
                               uint64_t *found)
{
    const uint64_t sign = (uint64_t) 1 << (8 * width - 1);
    uint64_t d = to - (x->ip + x->size);

    d &= 2 * sign - 1;
    *found = (d ^ sign) - sign;
    return led_to(x, *found) == to;
}

/* Pick the target of a direct branch and write its displacement. */
static inline void aim(sim_insn *x, unsigned width, unsigned variant,
                       uint8_t *bytes)
{
    uint64_t to = program.places[x->place].ip + 0x400; /* no code is there */
    uint64_t d = 0;
    unsigned tries;
    unsigned i;

    x->leaves = x->leaves && displacement(x, to, width, &d);
    for (tries = 0; !x->leaves && tries < 32; tries++) {
        to = any_of(x->mode)->ip;
        if (displacement(x, to, width, &d))
            break;
    }
    if (!x->leaves && tries == 32) /* its own place is never too far */
        for (i = program.places[x->place].first;; i++) {
            to = program.insns[i].ip;
            if (displacement(x, to, width, &d))
                break;
        }
    x->target[variant] = to;
    x->wraps |= to != wrap(x->mode, x->ip + x->size + d);
    for (i = 0; i < width; i++)
        bytes[x->size - width + i] = (uint8_t) (d >> (8 * i));
}

/* A form that the mode has, by weight. */
static inline unsigned random_form(uint8_t mode)
{
    const uint8_t bit = mode == L16 ? M16 : mode == L32 ? M32 : M64;
    unsigned k;

    do
        k = draw(SIM_LENGTH(forms) - 1);
    while (!(forms[k].modes & bit) || draw(12) >= forms[k].weight);
    return program.into && forms[k].bytes[0] == 0x48 && forms[k].size == 1
               ? SIM_LENGTH(forms) - 1 : k;
}

static uint8_t form_of[INSNS_MAX];

/* Fill a place: kinds and sizes of instructions, and bytes except targets. */
static inline void fill_place(unsigned number, unsigned room)
{
    place *p = &program.places[number];
    unsigned size = 0;
    unsigned last = 0;

    p->first = program.insn_count;
    while (!last) {
        sim_insn *x = &program.insns[program.insn_count];
        unsigned k = random_form(p->mode);
        last = size + forms[k].size + 5 > room || p->count >= 30;
        if (last) /* flow does not run out of it */
            k = p->mode == L16;
        memset(x, 0, sizeof(*x));
        x->kind = forms[k].kind;
        x->size = forms[k].size;
        x->mode = p->mode;
        x->place = (uint8_t) number;
        x->ip16 = forms[k].width && p->mode != L64
                  && (p->mode == L16) != (forms[k].bytes[0] == 0x66);
        x->ip = size;
        memcpy(p->bytes[0] + size, forms[k].bytes, forms[k].size);
        memcpy(p->bytes[1] + size, forms[k].bytes, forms[k].size);
        form_of[program.insn_count++] = (uint8_t) k;
        p->count++;
        size += forms[k].size;
    }
    p->size = (uint16_t) size;
}

/* Where it begins in memory. */
static inline uint64_t place_at(const place *p)
{
    const layout *lay = program.lay;

    return p->mode == L64 ? p->ip
                          : (uint32_t) (p->ip + lay->relative * lay->cs);
}

/* A mapping ends inside a place, now and then within an instruction. Where a
 * page ends, too, nobody could know. */
static inline void split_place(place *p)
{
    const uint64_t at = place_at(p);
    sim_insn *x;

    p->split = (uint16_t) (chance(50) ? 96 : 1 + draw(255));
    if (p->split >= p->size || (at + p->split) % 4096 == 0)
        p->split = 0;
    for (x = &program.insns[p->first];
         x < &program.insns[p->first + p->count]; x++)
        x->cut = x->ip < p->split && x->ip + x->size > p->split;
}

static inline void random_program(void)
{
    unsigned room;
    unsigned i;
    unsigned v;

    memset(&program, 0, sizeof(program));
    program.lay = &layouts[draw(SIM_LENGTH(layouts))];
    program.variants = (uint8_t) chance(20);
    program.filtered = (uint8_t) chance(20);
    program.into = choice.seed >> 46 & 1; /* it takes no choice */
    room = chance(50) ? 240 : 12 + draw(60);
    for (i = 0; i < PLACES_MAX && program.lay->at[i].room; i++) {
        place *p = &program.places[program.place_count++];
        p->mode = program.lay->at[i].mode;
        fill_place(i, room < program.lay->at[i].room
                          ? room
                          : program.lay->at[i].room);
        p->ip = program.lay->at[i].ip;
        if (program.lay->at[i].ends)
            p->ip -= p->size;
        if (chance(30))
            split_place(p);
        if (p->ip + p->size < p->ip
            || (p->mode != L64 && p->ip + p->size > UINT32_MAX))
            program.filtered = 0; /* ranges do not wrap */
    }
    for (i = 0; i < program.insn_count; i++) {
        sim_insn *x = &program.insns[i];
        x->ip = wrap(x->mode, x->ip + program.places[x->place].ip);
    }
    for (i = 0; i < program.insn_count; i++) {
        sim_insn *x = &program.insns[i];
        place *p = &program.places[x->place];
        const uint64_t at = wrap(x->mode, x->ip - p->ip);
        x->leaves = program.filtered && forms[form_of[i]].width == 4
                    && chance(12);
        for (v = 0; v < 2 && forms[form_of[i]].width; v++)
            aim(x, forms[form_of[i]].width, v, p->bytes[v] + at);
        /* one that leaves does so in both variants */
        if (forms[form_of[i]].width && x->target[0] != x->target[1]
            && (x->leaves || !program.variants))
            memcpy(p->bytes[0] + at, p->bytes[1] + at, x->size);
        if (x->leaves || !program.variants)
            x->target[0] = x->target[1];
    }
}

static inline unsigned variant_of(uint64_t cr3)
{
    return program.variants && cr3 != IPT_ASID_UNKNOWN ? cr3 >> 12 & 1 : 0;
}

/* A config.read of the program, by linear address. */
static inline int read_program(uint8_t *buffer, size_t size,
                               const ipt_asid *asid, uint64_t ip,
                               void *context)
{
    const unsigned v = variant_of(asid->cr3);
    unsigned i;

    (void) context;
    for (i = 0; i < program.place_count; i++) {
        const place *p = &program.places[i];
        const int flat = p->mode == L64;
        const uint64_t at = wrap(p->mode, ip - place_at(p));
        size_t n = at < p->split ? p->split : p->size;
        if (at >= n || (!flat && ip >> 32))
            continue;
        n -= (size_t) at;
        n = n < size ? n : size;
        memcpy(buffer, p->bytes[v] + at, n);
        return (int) n;
    }
    return 0;
}

static inline uint64_t read_cs_base(const ipt_asid *asid, uint64_t ip,
                                    uint8_t mode, void *context)
{
    (void) asid;
    (void) ip;
    (void) mode;
    (void) context;
    return program.lay->cs;
}

/* ---- the processor ---- */

#define NOWHERE 0x123456788000 /* no program is at these two */
#define ELSEWHERE 0x123456789000
#define SIM_PACKETS 2000

static ipt_packet packets[SIM_PACKETS];
static size_t packet_count;

static fuzz_log did; /* the truth */

static struct {
    const sim_insn *at; /* what is next, while enabled */
    uint64_t stack[IPT_RETURN_STACK_];
    uint8_t modes[IPT_RETURN_STACK_];
    unsigned depth;
    uint64_t bits; /* branches whose TNT packet is not full */
    unsigned bit_count;
    uint64_t tips[8]; /* they come after it */
    unsigned tip_count;
    uint64_t last_ip; /* of the trace */
    uint64_t cr3;
    uint64_t vmcs;
    uint64_t resume; /* NOWHERE: not known */
    uint16_t lead;
    uint16_t proven_lead; /* as it was when trace was used */
    uint8_t mode;         /* as the trace said last */
    uint8_t nr;
    uint8_t speculative;
    uint8_t enabled;
    uint8_t settled;  /* no more may happen before the next instruction */
    unsigned events;  /* that happened here */
    unsigned since;   /* instructions since trace was used */
    unsigned icnt;    /* ... since an IP was sent */
    unsigned gaps;
    uint8_t icnt_known;
    uint8_t fup_on_ptw;
    uint8_t defers; /* TIPs */
    uint8_t into;   /* flow passed an INTO and no branch since */
    uint8_t far;    /* after a gap of SIZE_MAX */
    fuzz_item *prev; /* the instruction before, if nothing parts it from here */
    size_t proven;   /* items of the truth that the trace proves */
    uint32_t flags;  /* that it was traced with, of ipt_config */
    uint32_t errata; /* that the processor has */
} cpu;

/* Compounds: packets that belong to one thing that happened. Which of them a
 * packet is a part of is noted with it; sim_between() puts others among
 * them. */
#define PART_LIST(X)                                                     \
    X(NONE, "none") X(VM_ENTRY, "VM entry") X(VM_EXIT, "VM exit")        \
    X(IRET, "IRET") X(SYSCALL, "SYSCALL") X(INT, "INT n")                \
    X(FAR, "far branch") X(INTERRUPT, "interrupt")                       \
    X(EXCEPTION, "exception") X(TSX, "TSX") X(PTWRITE, "PTWRITE")        \
    X(MOV_CR3, "MOV CR3") X(MODE, "mode") X(EXSTOP, "EXSTOP")            \
    X(DEFERRED, "deferred TIP") X(PSB, "PSB+") X(OVF, "OVF")
#define PART_NAME(name, text) PART_##name,
enum { PART_LIST(PART_NAME) PARTS };
#undef PART_NAME

static struct {
    uint8_t of[SIM_PACKETS];      /* PART_ */
    uint16_t number[SIM_PACKETS]; /* of the compound, in order */
    uint8_t now;
    uint16_t count;
} parts;

static int sim_between_on; /* compounds get packets that bind to nothing */
static int sim_no_tnt_on;  /* there are no TNT packets */

/* A compound begins, unless it is a part of another. */
static inline void part(uint8_t what)
{
    if (parts.now != PART_NONE)
        return;
    parts.now = what;
    parts.count++;
}

static inline void part_done(void)
{
    parts.now = PART_NONE;
}

static inline void emit(ipt_packet p)
{
    if (packet_count < SIM_PACKETS) {
        parts.of[packet_count] = parts.now;
        parts.number[packet_count] = parts.count;
        packets[packet_count++] = p;
    }
}

static inline void emit_type(uint8_t type)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = type;
    if (type == IPT_PKT_PAD)
        p.size = 1 + draw(4);
    emit(p);
}

/* Bytes as they are: what an erratum made of a packet. */
static inline void emit_bytes(const char *bytes, unsigned size)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_UNKNOWN;
    p.size = size;
    memcpy(p.u.unknown, bytes, size);
    emit(p);
}

static inline void emit_exec(uint8_t mode)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_MODE_EXEC;
    p.u.exec.csl = mode == L64;
    p.u.exec.csd = mode == L32;
    emit(p);
    cpu.mode = mode;
}

static inline void emit_tsx(uint8_t intx, uint8_t abrt)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_MODE_TSX;
    p.u.tsx.intx = intx;
    p.u.tsx.abrt = abrt;
    emit(p);
}

static inline void emit_cfe(uint8_t type, uint8_t ip, uint8_t vector)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_CFE;
    p.u.cfe.type = type;
    p.u.cfe.has_ip = ip;
    p.u.cfe.vector = vector;
    emit(p);
}

static inline void emit_evd(uint8_t type, uint64_t payload)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_EVD;
    p.u.evd.type = type;
    p.u.evd.payload = payload;
    emit(p);
}

static inline void emit_ptw(uint8_t plc, uint8_t ip, uint64_t payload)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_PTW;
    p.u.ptw.plc = plc;
    p.u.ptw.has_ip = ip;
    p.u.ptw.payload = payload;
    emit(p);
}

static inline void emit_cbr(uint8_t ratio)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_CBR;
    p.u.cbr.ratio = ratio;
    emit(p);
}

static inline void emit_exstop(uint8_t ip)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_EXSTOP;
    p.u.exstop.has_ip = ip;
    emit(p);
}

/* An IP packet in one of the forms that fit. */
static inline void emit_ip(uint8_t type, uint64_t ip)
{
    const uint64_t diff = ip ^ cpu.last_ip;
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = type;
    p.u.ip.payload = ip;
    p.u.ip.ipc = 6;
    if (!(diff >> 16) && chance(80)) {
        p.u.ip.ipc = 1;
        p.u.ip.payload = ip & 0xffff;
    } else if (!(diff >> 32) && chance(80)) {
        p.u.ip.ipc = 2;
        p.u.ip.payload = ip & 0xffffffff;
    } else if (!(diff >> 48) && chance(50)) {
        p.u.ip.ipc = 4;
        p.u.ip.payload = ip & 0xffffffffffff;
    } else if (((ip >> 47) == 0 || (ip >> 47) == 0x1ffff) && chance(80)) {
        p.u.ip.ipc = 3;
        p.u.ip.payload = ip & 0xffffffffffff;
    }
    emit(p);
    cpu.last_ip = ip;
}

static inline void emit_pgd(uint64_t to)
{
    if (to)
        emit_ip(IPT_PKT_TIP_PGD, to);
    else
        emit_type(IPT_PKT_TIP_PGD);
}

static inline void emit_tma(void)
{
    ipt_packet p;

    if (cpu.errata & IPT_ERRATUM_SKZ84 && chance(50)) {
        emit_bytes("\x02\x73\x01\x02\xff\x03\x04\x55", 8);
        reached[REACH_SKZ84]++;
        return;
    }
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_TMA;
    p.u.tma.ctc = 1;
    p.u.tma.fc = 2;
    emit(p);
}

/* Packets about time, which may stand anywhere. */
static inline void emit_time(void)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    switch (draw(5)) {
    case 0: emit_type(IPT_PKT_PAD); return;
    case 1:
        p.type = IPT_PKT_MTC;
        p.u.mtc.ctc = (uint8_t) draw(256);
        break;
    case 2:
        p.type = IPT_PKT_CYC;
        p.u.cyc.value = draw(256) * 9;
        break;
    case 3: emit_tma(); return;
    default:
        p.type = IPT_PKT_TSC;
        p.u.tsc.value = 1000 * packet_count;
        break;
    }
    emit(p);
}

static inline void emit_noise(void)
{
    if (chance(10))
        emit_time();
}

/* Write out what was collected: all before the next packet. */
static inline void flush(void)
{
    unsigned i;

    if (cpu.tip_count)
        part(PART_DEFERRED);
    if (cpu.bit_count) {
        ipt_packet p;
        memset(&p, 0, sizeof(p));
        p.type = chance(20) ? IPT_PKT_TNT_64 : IPT_PKT_TNT_8;
        p.u.tnt.bits = cpu.bits;
        p.u.tnt.count = (uint8_t) cpu.bit_count;
        emit(p);
        cpu.bit_count = 0;
        cpu.bits = 0;
    }
    for (i = 0; i < cpu.tip_count; i++)
        emit_ip(IPT_PKT_TIP, cpu.tips[i]);
    if (cpu.tip_count)
        part_done();
    cpu.tip_count = 0;
    emit_noise();
}

/* ---- the truth ---- */

static inline fuzz_item *did_add(uint8_t what)
{
    static fuzz_item spare;
    fuzz_item *item = &spare;

    if (did.count < FUZZ_LOG)
        item = &did.item[did.count++];
    memset(item, 0, sizeof(*item));
    item->what = what;
    return item;
}

static inline void used_trace(void)
{
    cpu.since = 0;
    cpu.proven = did.count;
    cpu.proven_lead = cpu.lead;
}

/* The payload of an event, whose main part is `a`. */
static inline uint64_t sim_payload(uint8_t type, uint8_t flags, uint64_t a,
                                   uint64_t b)
{
    ipt_event e;

    memset(&e, 0, sizeof(e));
    e.type = type;
    e.flags = flags;
    switch (type) {
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
        e.u.paging.cr3 = cpu.cr3;
        e.u.paging.nr = cpu.nr;
        break;
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS: e.u.vmcs.base = cpu.vmcs; break;
    case IPT_EVT_EXEC_MODE: e.u.exec.mode = (uint8_t) a; break;
    case IPT_EVT_TSX:
        e.u.tsx.speculative = (uint8_t) (a >> 1);
        e.u.tsx.aborted = a & 1;
        break;
    case IPT_EVT_PTWRITE:
        e.u.ptwrite.payload = a;
        e.u.ptwrite.size = (uint8_t) b;
        break;
    case IPT_EVT_MWAIT: e.u.mwait.hints = (uint32_t) a; break;
    case IPT_EVT_PWRE: e.u.pwre.state = (uint8_t) a; break;
    case IPT_EVT_PWRX:
        e.u.pwrx.last = (uint8_t) a;
        e.u.pwrx.interrupt = 1;
        break;
    case IPT_EVT_CBR: e.u.cbr.ratio = (uint8_t) a; break;
    case IPT_EVT_MNT: e.u.mnt.payload = a; break;
    case IPT_EVT_TRIG:
        e.u.trig.trbv = (uint8_t) a;
        e.u.trig.icntv = 1;
        break;
    case IPT_EVT_GAP: e.u.gap.lost = a; break;
    case IPT_EVT_PEBS_BEGIN:
        e.u.pebs.id = (uint8_t) a;
        e.u.pebs.size = (uint8_t) b;
        break;
    case IPT_EVT_PEBS_ITEM:
        e.u.pebs.payload = a;
        e.u.pebs.id = (uint8_t) (b >> 8);
        e.u.pebs.size = (uint8_t) b;
        break;
    case IPT_EVT_CFE:
        e.u.cfe.type = (uint8_t) a;
        e.u.cfe.has = (uint8_t) (b >> 8);
        e.u.cfe.vector = (uint8_t) b;
        e.u.cfe.data[0] = 0x1234;
        break;
    default: e.u.branch.to = a; break;
    }
    return fuzz_event_data(&e);
}

static inline void happens_with(uint8_t type, uint8_t flags, uint64_t ip,
                                uint64_t a, uint64_t b)
{
    fuzz_item *x = did_add(FUZZ_EVENT);

    x->kind = type;
    x->flags = flags;
    x->ip = flags & IPT_EVENT_NO_IP ? 0 : ip;
    x->hash = sim_payload(type, flags, a, b);
    cpu.events++;
    used_trace();
    if (!(flags & IPT_EVENT_NO_IP)) {
        cpu.icnt = 0;
        cpu.icnt_known = 1;
    }
}

static inline void happens(uint8_t type, uint8_t flags, uint64_t ip,
                           uint64_t a)
{
    happens_with(type, flags, ip, a, 0);
}

static inline void trail(unsigned flag)
{
    if (cpu.prev)
        cpu.prev->flags |= (uint16_t) flag;
}

/* Flow is now at ip, of an instruction in the mode that is, or is to be. */
static inline void go_in(uint8_t mode, uint64_t ip)
{
    const sim_insn *const from = cpu.at;
    unsigned i;

    cpu.at = NULL;
    for (i = 0; i < program.insn_count; i++)
        if (program.insns[i].ip == ip && program.insns[i].mode == mode)
            cpu.at = &program.insns[i];
    if (!cpu.at) {
        FUZZ_FAIL(__LINE__, "the simulation has lost its way");
        cpu.at = program.insns;
    }
    if (!from || !cpu.enabled)
        return;
    reached[REACH_MODES] += from->mode != mode;
    if (from->mode == mode && mode == L64 && (ip - from->ip) >> 31
        && (from->ip - ip) >> 31)
        reached[(ip ^ from->ip) >> 63 && (ip - from->ip + 0x1000) < 0x2000
                    ? REACH_WRAP_ALL
                    : REACH_FAR]++;
    if (from->mode == mode && mode != L64
        && (uint32_t) (ip - from->ip + 0x1000) < 0x2000
        && (ip ^ from->ip) >> 31)
        reached[REACH_WRAP_4G]++;
    if (mode == L64 && (from->ip ^ ip) >> 63
        && ip - from->ip + 0x2000 < 0x4000)
        reached[REACH_WRAP_ALL]++;
}

static inline void go(uint64_t ip)
{
    go_in(cpu.at->mode, ip);
}

static inline void bit(int taken)
{
    cpu.bits = cpu.bits << 1 | (unsigned) taken;
    cpu.icnt = 0;
    cpu.icnt_known = 1;
    used_trace();
    if (++cpu.bit_count == 6)
        flush();
}

/* A near branch took a TIP; `late`: it may come after branches that follow. */
static inline void tip(uint64_t to, int late)
{
    if (late && cpu.defers && cpu.bit_count
        && cpu.tip_count < SIM_LENGTH(cpu.tips) && chance(70)) {
        cpu.tips[cpu.tip_count++] = to;
    } else {
        flush();
        emit_ip(IPT_PKT_TIP, to);
    }
    cpu.icnt = 0;
    cpu.icnt_known = 1;
    used_trace();
    go(to);
}

/* ---- address spaces ---- */

static inline void new_asid(uint64_t cr3, uint64_t vmcs, uint8_t nr)
{
    if (cr3 != cpu.cr3 || vmcs != cpu.vmcs || nr != cpu.nr)
        cpu.lead |= IPT_FLOW_ASID;
    cpu.cr3 = cr3;
    cpu.vmcs = vmcs;
    cpu.nr = nr;
}

static inline void emit_pip(void)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_PIP;
    p.u.pip.cr3 = cpu.cr3;
    p.u.pip.nr = cpu.nr;
    emit(p);
}

static inline void emit_vmcs(void)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_VMCS;
    p.u.vmcs.base = cpu.vmcs;
    emit(p);
}

static inline void pip(uint8_t type, uint8_t flags, uint64_t ip, uint8_t nr)
{
    new_asid((uint64_t) (1 + draw(3)) << 12, cpu.vmcs, nr);
    happens(type, flags, ip, 0);
}

static inline void vmcs(uint8_t type, uint8_t flags, uint64_t ip)
{
    new_asid(cpu.cr3, (uint64_t) (5 + draw(3)) << 12, cpu.nr);
    happens(type, flags, ip, 0);
}

/* ---- tracing off and on ---- */

/* PSB+ repeats the state; `again` all of it, for nothing of it is known. */
static inline void psb(int again)
{
    const uint8_t st = IPT_EVENT_STATUS;

    flush();
    if (cpu.errata & IPT_ERRATUM_SKL168 && chance(50)) {
        reached[REACH_SKL168]++;
        emit_time(); /* which the erratum drops before a PSB */
        packet_count -= packet_count < SIM_PACKETS;
    }
    part(PART_PSB);
    emit_type(IPT_PKT_PSB);
    cpu.last_ip = 0;
    cpu.depth = 0;
    if (!cpu.enabled) {
        happens(IPT_EVT_DISABLED, st | IPT_EVENT_NO_IP | IPT_EVENT_NO_TO, 0, 0);
        if (chance(30)) {
            emit_cbr(9);
            happens(IPT_EVT_CBR, st | IPT_EVENT_NO_IP, 0, 9);
        }
        emit_type(IPT_PKT_PSBEND);
        part_done();
        return;
    }
    happens(IPT_EVT_ENABLED, st, cpu.at->ip, 0);
    emit_exec(cpu.at->mode);
    happens(IPT_EVT_EXEC_MODE, st, cpu.at->ip, cpu.at->mode);
    if (cpu.cr3 != IPT_ASID_UNKNOWN && (again || chance(50))) {
        emit_pip();
        happens(IPT_EVT_ASYNC_PAGING, st, cpu.at->ip, 0);
    }
    if (cpu.vmcs != IPT_ASID_UNKNOWN && again) {
        emit_vmcs();
        happens(IPT_EVT_ASYNC_VMCS, st, cpu.at->ip, 0);
    }
    if (cpu.speculative) {
        emit_tsx(1, 0);
        happens(IPT_EVT_TSX, st, cpu.at->ip, 2);
        reached[REACH_PSB_IN_TRANSACTION]++;
    }
    emit_ip(IPT_PKT_FUP, cpu.at->ip);
    if (chance(95)) {
        emit_type(IPT_PKT_PSBEND);
        part_done();
    } else { /* the next packet ends it, if it is none of PSB+ */
        part_done();
        part(PART_EXSTOP);
        emit_exstop(1);
        emit_ip(IPT_PKT_FUP, cpu.at->ip);
        part_done();
        happens(IPT_EVT_EXSTOP, 0, cpu.at->ip, 0);
    }
}

/* Tracing begins at an instruction of any mode; where it was disabled it does
 * so again, unless `fresh`. */
static inline void enable(uint16_t lead, int fresh)
{
    const sim_insn *x = any_insn();
    uint8_t mode;
    int back;

    cpu.enabled = 0;
    if (cpu.resume != NOWHERE && chance(60)) {
        go_in(cpu.mode, cpu.resume);
        x = cpu.at;
    }
    back = cpu.resume == x->ip && !fresh;
    mode = cpu.mode;
    if (sim_between_on && parts.now == PART_NONE && chance(20)) {
        part(PART_MOV_CR3); /* back to an address space that is traced */
        pip(IPT_EVT_PAGING, IPT_EVENT_NO_IP, 0, cpu.nr);
        emit_pip();
    }
    part(PART_MODE);
    if (x->mode != mode)
        emit_exec(x->mode);
    emit_ip(IPT_PKT_TIP_PGE, x->ip);
    part_done();
    cpu.lead |= (uint16_t) (lead | IPT_FLOW_ENABLED
                            | (back ? IPT_FLOW_RESUMED : 0));
    happens(IPT_EVT_ENABLED, back ? IPT_EVENT_RESUMED : 0, x->ip, 0);
    if (x->mode != mode)
        happens(IPT_EVT_EXEC_MODE, 0, x->ip, x->mode);
    cpu.at = x;
    cpu.enabled = 1;
    cpu.events = 1;
}

static inline void lose_state(void)
{
    cpu.last_ip = 0;
    cpu.resume = NOWHERE;
    cpu.speculative = 0;
    cpu.prev = NULL;
    cpu.depth = 0;
}

/* A PSB+ with a FUP that does not hold: BDM70. */
static inline void bogus_psb(void)
{
    emit_type(IPT_PKT_PSB);
    cpu.last_ip = 0;
    cpu.depth = 0;
    happens(IPT_EVT_DISABLED,
            IPT_EVENT_STATUS | IPT_EVENT_NO_IP | IPT_EVENT_NO_TO, 0, 0);
    emit_ip(IPT_PKT_FUP, any_insn()->ip);
    emit_type(IPT_PKT_PSBEND);
    cpu.last_ip = 0;
    reached[REACH_BDM70]++;
}

static inline void power_states(void)
{
    ipt_packet p;

    part(PART_EXSTOP);
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_MWAIT;
    p.u.mwait.hints = 3;
    emit(p);
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_PWRE;
    p.u.pwre.state = 1;
    emit(p);
    emit_exstop(0);
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_PWRX;
    p.u.pwrx.last = 2;
    p.u.pwrx.interrupt = 1;
    emit(p);
    part_done();
    happens(IPT_EVT_MWAIT, IPT_EVENT_NO_IP, 0, 3);
    happens(IPT_EVT_EXSTOP, IPT_EVENT_NO_IP, 0, 0);
    happens(IPT_EVT_PWRE, IPT_EVENT_NO_IP, 0, 1);
    happens(IPT_EVT_PWRX, IPT_EVENT_NO_IP, 0, 2);
}

/* Tracing is off; what happens meanwhile. Then it is on again. */
static inline void while_off(uint64_t resume)
{
    const uint8_t no_ip = IPT_EVENT_NO_IP;

    cpu.enabled = 0;
    if (chance(10)) {
        emit_type(IPT_PKT_STOP);
        cpu.lead |= IPT_FLOW_STOPPED;
        happens(IPT_EVT_STOP, no_ip, 0, 0);
    }
    cpu.prev = NULL;
    cpu.resume = resume;
    while (chance(30)) {
        switch (draw(8)) {
        case 0:
            pip(IPT_EVT_PAGING, no_ip, 0, (uint8_t) draw(2));
            emit_pip();
            break;
        case 1:
            vmcs(IPT_EVT_VMCS, no_ip, 0);
            emit_vmcs();
            break;
        case 2: psb(0); break;
        case 3:
            emit_cbr(7);
            happens(IPT_EVT_CBR, no_ip, 0, 7);
            break;
        case 4:
            emit_ptw(0, 0, 99);
            happens_with(IPT_EVT_PTWRITE, no_ip, 0, 99, 4);
            break;
        case 5: power_states(); break;
        case 6:
            emit_cfe(IPT_CFE_SMI, 0, 0);
            happens(IPT_EVT_CFE, no_ip, 0, IPT_CFE_SMI);
            break;
        default:
            emit_type(IPT_PKT_OVF);
            lose_state();
            cpu.lead |= IPT_FLOW_RESYNCED;
            happens(IPT_EVT_OVERFLOW, no_ip, 0, 0);
            break;
        }
        emit_noise();
    }
    if (chance(10) && !cpu.speculative && !(cpu.lead & IPT_FLOW_RESYNCED))
        bogus_psb(); /* after an OVF nobody could know */
    enable(0, 0);
}

/* The branch before leads to code that is not traced. */
static inline void disabled(uint64_t to, uint64_t resume)
{
    const uint8_t no_to = to ? 0 : IPT_EVENT_NO_TO;

    emit_pgd(to);
    part_done();
    trail(IPT_FLOW_DISABLED);
    happens(IPT_EVT_DISABLED, (uint8_t) (IPT_EVENT_NO_IP | no_to), 0, to);
    while_off(resume);
}

/* ---- what happens between two instructions ---- */

static inline void interrupt_event(uint64_t from)
{
    if (chance(50)) {
        part(PART_VM_EXIT);
        emit_evd(IPT_EVD_VMXQ, 0x1234);
        emit_cfe(IPT_CFE_VMEXIT, 0, 14);
        happens_with(IPT_EVT_CFE, 0, from, IPT_CFE_VMEXIT,
                     IPT_CFE_HAS_VMXQ << 8);
    } else {
        part(PART_EXCEPTION);
        emit_evd(IPT_EVD_CR2, 0x1234);
        emit_cfe(IPT_CFE_INTR, 0, 14);
        happens_with(IPT_EVT_CFE, 0, from, IPT_CFE_INTR,
                     (IPT_CFE_HAS_VECTOR | IPT_CFE_HAS_CR2) << 8 | 14);
    }
}

/* Does an instruction of this kind always send a TIP, if it sends no bit? */
static inline int needs_tip(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_JCC:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_VMPTRLD:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_RSM:
    case IPT_INSN_INTO: return 0;
    default: return 1;
    }
}

/* Has the instruction at ip executed since trace last said where flow is? */
static inline int came_by(uint64_t ip)
{
    size_t i;

    for (i = did.count; i-- > 0;) {
        const fuzz_item *item = &did.item[i];
        if (item->what != FUZZ_INSN)
            continue;
        if (item->kind == IPT_INSN_JCC || needs_tip(item->kind))
            return 0;
        if (item->ip == ip)
            return 1;
    }
    return 0;
}

/* What the FUP of an interrupt says. */
static inline uint64_t sent_from(void)
{
    const sim_insn *x = cpu.at;

    return cpu.errata & IPT_ERRATUM_NLIP && needs_tip(x->kind)
               ? led_to(x, 0) : x->ip;
}

static inline void interrupt(void)
{
    const uint64_t from = cpu.at->ip;
    const sim_insn *to = any_insn();
    const int space = chance(20);
    const int guest = chance(10);
    const unsigned how = draw(4);

    if (how == 1 && cpu.errata & IPT_ERRATUM_SKD022
        && cpu.at->kind == IPT_INSN_VMENTRY)
        return; /* it would look like what the erratum makes */
    if (sent_from() != from && came_by(sent_from()))
        return; /* it would look like one there */
    reached[REACH_NLIP] += sent_from() != from;
    flush();
    if (how == 0)
        interrupt_event(from);
    part(guest ? PART_VM_EXIT : PART_INTERRUPT);
    emit_ip(IPT_PKT_FUP, sent_from());
    if (how == 1) { /* tracing ends there */
        const uint64_t target = chance(50) ? 0 : ELSEWHERE;
        emit_pgd(target);
        part_done();
        trail(IPT_FLOW_DISABLED);
        happens(IPT_EVT_ASYNC_DISABLED, target ? 0 : IPT_EVENT_NO_TO, from,
                target);
        while_off(from);
        return;
    }
    trail(IPT_FLOW_INTERRUPTED);
    happens(IPT_EVT_ASYNC_BRANCH, 0, from, to->ip);
    if (guest) {
        vmcs(IPT_EVT_ASYNC_VMCS, 0, to->ip);
        if (!space)
            emit_vmcs();
    }
    if (space) {
        pip(IPT_EVT_ASYNC_PAGING, 0, to->ip, 0); /* a VM exit, maybe */
        emit_pip();
        if (guest)
            emit_vmcs(); /* after it, but handed out before it */
    }
    if (to->mode != cpu.mode) {
        emit_exec(to->mode);
        happens(IPT_EVT_EXEC_MODE, 0, to->ip, to->mode);
    }
    emit_ip(IPT_PKT_TIP, to->ip);
    part_done();
    go_in(to->mode, to->ip);
}

static inline void abort_transaction(void)
{
    const uint64_t ip = cpu.at->ip;
    const uint64_t to = any_of(cpu.mode)->ip;

    cpu.speculative = 0;
    part(PART_TSX);
    emit_tsx(0, 1);
    emit_ip(IPT_PKT_FUP, ip);
    trail(IPT_FLOW_ABORTED | IPT_FLOW_INTERRUPTED);
    happens(IPT_EVT_TSX, 0, ip, 1);
    emit_ip(IPT_PKT_TIP, to);
    part_done();
    happens(IPT_EVT_ASYNC_BRANCH, 0, ip, to);
    go(to);
}

static inline void transaction(void)
{
    const uint64_t ip = cpu.at->ip;

    flush();
    part(PART_TSX);
    if (!cpu.speculative) {
        emit_tsx(1, 0);
        emit_ip(IPT_PKT_FUP, ip);
        happens(IPT_EVT_TSX, 0, ip, 2);
        cpu.speculative = 1;
    } else if (chance(50)) {
        cpu.speculative = 0;
        emit_tsx(0, 0);
        emit_ip(IPT_PKT_FUP, ip);
        trail(IPT_FLOW_COMMITTED);
        happens(IPT_EVT_TSX, 0, ip, 0);
    } else {
        abort_transaction();
    }
    part_done();
}

/* What no trace reports is lost. */
static inline void unproven(void)
{
    did.count = cpu.proven;
    cpu.lead = cpu.proven_lead;
    cpu.depth = 0;
}

/* An overflow that an erratum spoils. Returns 0 if the processor has none of
 * them. */
static inline int bad_overflow(void)
{
    const unsigned errata
        = cpu.errata
          & (IPT_ERRATUM_SKD010 | IPT_ERRATUM_APL11 | IPT_ERRATUM_APL12);

    if (!errata || chance(50))
        return 0;
    if (errata & IPT_ERRATUM_SKD010) { /* no FUP; a PSB+ has it */
        cpu.at = any_of(cpu.mode);
        happens(IPT_EVT_OVERFLOW, 0, cpu.at->ip, 0);
        cpu.lead |= IPT_FLOW_RESYNCED;
        psb(0);
        reached[REACH_SKD010]++;
        return 1;
    }
    if (errata & IPT_ERRATUM_APL12) { /* a FUP, and tracing is disabled */
        emit_ip(IPT_PKT_FUP, any_insn()->ip);
        reached[REACH_APL12]++;
    } else { /* a TIP.PGD, and tracing is disabled */
        emit_pgd(chance(50) ? 0 : ELSEWHERE);
        reached[REACH_APL11]++;
    }
    happens(IPT_EVT_OVERFLOW, IPT_EVENT_NO_IP, 0, 0);
    enable(IPT_FLOW_RESYNCED, 1);
    return 1;
}

static inline void overflow(void)
{
    flush();
    unproven();
    if (cpu.errata & IPT_ERRATUM_SKD007 && chance(50)) {
        emit_bytes("\x07", 1); /* of a CYC, whose second byte is the OVF's */
        reached[REACH_SKD007]++;
    }
    part(PART_OVF);
    emit_type(IPT_PKT_OVF);
    reached[REACH_OVERFLOW]++;
    lose_state();
    cpu.settled = 1;
    if (bad_overflow())
        return;
    emit_noise();
    if (chance(60)) {
        const uint64_t ip = any_of(cpu.mode)->ip;
        emit_ip(IPT_PKT_FUP, ip);
        part_done();
        cpu.lead |= IPT_FLOW_RESYNCED;
        happens(IPT_EVT_OVERFLOW, 0, ip, 0);
        go(ip);
    } else {
        happens(IPT_EVT_OVERFLOW, IPT_EVENT_NO_IP, 0, 0);
        enable(IPT_FLOW_RESYNCED, 1);
    }
}

/* Trace is lost without the processor knowing it, up to a PSB. */
static inline void gap(void)
{
    const unsigned bits = 8 * sizeof(size_t);
    ipt_packet p;

    if (cpu.gaps == FUZZ_LOSSES)
        return;
    flush();
    unproven();
    cpu.gaps++;
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_GAP;
    p.u.gap.lost = chance(70)   ? 1 + draw(100)
                   : chance(50) ? SIZE_MAX
                                : (size_t) 1 << (32 + draw(28)) % bits;
    reached[REACH_GAP]++;
    reached[REACH_GAP_HUGE] += p.u.gap.lost >> 32 != 0;
    reached[REACH_GAP_MAX] += p.u.gap.lost == SIZE_MAX;
    emit(p);
    lose_state();
    happens(IPT_EVT_GAP, IPT_EVENT_NO_IP, 0, p.u.gap.lost);
    cpu.far |= p.u.gap.lost == SIZE_MAX;
    if (cpu.far) /* how far it leads is not known here */
        did.item[did.count - 1].hash = 0;
    if (chance(30)) /* the rest of what is lost */
        emit_type(IPT_PKT_OVF);
    cpu.lead |= IPT_FLOW_RESYNCED;
    cpu.at = any_insn();
    cpu.speculative = (uint8_t) chance(20);
    psb(1);
    cpu.settled = 1;
}

static inline void trigger(void)
{
    ipt_packet p;

    if (!cpu.icnt_known)
        return;
    flush();
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_TRIG;
    p.u.trig.trbv = 6;
    p.u.trig.icntv = 1;
    p.u.trig.icnt = (uint16_t) cpu.icnt;
    emit(p);
    happens(IPT_EVT_TRIG, 0, cpu.at->ip, 6); /* it counts no more */
}

/* A block of a PEBS record. */
static inline void pebs(void)
{
    const uint8_t size = (uint8_t) draw(2);
    const uint8_t ip = (uint8_t) draw(2);
    const uint8_t no_ip = IPT_EVENT_NO_IP;
    ipt_packet p;
    unsigned n;

    flush();
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_BBP;
    p.u.bbp.type = 4;
    p.u.bbp.sz = size;
    emit(p);
    happens_with(IPT_EVT_PEBS_BEGIN, no_ip, 0, 4, size ? 4 : 8);
    for (n = draw(6); n--;) {
        memset(&p, 0, sizeof(p));
        p.type = IPT_PKT_BIP;
        p.u.bip.id = (uint8_t) draw(32);
        p.u.bip.payload = 0x1000 + n;
        p.u.bip.sz = size;
        emit(p);
        happens_with(IPT_EVT_PEBS_ITEM, no_ip, 0, p.u.bip.payload,
                     (unsigned) p.u.bip.id << 8 | (size ? 4 : 8));
    }
    memset(&p, 0, sizeof(p));
    p.type = IPT_PKT_BEP;
    p.u.bep.has_ip = ip;
    emit(p);
    if (ip)
        emit_ip(IPT_PKT_FUP, cpu.at->ip);
    happens(IPT_EVT_PEBS_END, ip ? 0 : no_ip, cpu.at->ip, 0);
    reached[REACH_PEBS]++;
}

static inline void between(void)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    switch (draw(10)) {
    case 0:
    case 1:
        if (cpu.events + (unsigned) sim_between_on <= 1)
            interrupt();
        break;
    case 2:
        if (cpu.events == 0)
            psb(0);
        cpu.settled = 1;
        break;
    case 3:
        if (cpu.events + (unsigned) sim_between_on <= 2)
            transaction();
        break;
    case 4: overflow(); break;
    case 5:
        flush();
        part(PART_EXSTOP);
        if (sim_between_on && cpu.events <= 1 && chance(50)) {
            p.type = IPT_PKT_MWAIT;
            p.u.mwait.hints = 3;
            emit(p);
            happens(IPT_EVT_MWAIT, 0, cpu.at->ip, 3);
        }
        emit_exstop(1);
        emit_ip(IPT_PKT_FUP, cpu.at->ip);
        part_done();
        happens(IPT_EVT_EXSTOP, 0, cpu.at->ip, 0);
        break;
    case 6:
        if (cpu.since)
            break; /* it would be found earlier */
        flush();
        p.type = IPT_PKT_MNT;
        p.u.mnt.payload = 0x55;
        emit(p);
        happens(IPT_EVT_MNT, IPT_EVENT_NO_IP, 0, 0x55);
        break;
    case 7:
        if (chance(30))
            gap();
        break;
    case 8:
        if (cpu.since == 0) /* else it would be found earlier */
            pebs();
        break;
    default: trigger(); break;
    }
}

/* ---- instructions ---- */

static inline uint64_t after(const sim_insn *x)
{
    return wrap(x->mode, x->ip + x->size);
}

static inline void far_disabled(const sim_insn *x)
{
    const int call = x->kind == IPT_INSN_SYSCALL || x->kind == IPT_INSN_INT
                     || x->kind == IPT_INSN_FAR_CALL || x->kind == IPT_INSN_INTO
                     || x->kind == IPT_INSN_VMCALL;
    const uint64_t to = chance(50) ? 0 : ELSEWHERE;

    if (x->kind == IPT_INSN_VMENTRY && cpu.errata & IPT_ERRATUM_SKD022
        && !cpu.events && chance(70)) {
        emit_ip(IPT_PKT_FUP, x->ip);
        reached[REACH_SKD022]++;
    }
    disabled(to, call ? after(x) : NOWHERE);
}

static inline void far_branch(const sim_insn *x)
{
    const uint8_t no_ip = IPT_EVENT_NO_IP;
    const sim_insn *to = any_insn();
    unsigned most = 3;
    int named = 0; /* a VMCS */

    flush();
    part(x->kind == IPT_INSN_VMENTRY                            ? PART_VM_ENTRY
         : x->kind == IPT_INSN_IRET || x->kind == IPT_INSN_UIRET ? PART_IRET
         : x->kind == IPT_INSN_SYSCALL                           ? PART_SYSCALL
                                                                 : PART_FAR);
    if (x->kind == IPT_INSN_VMENTRY && cpu.errata & IPT_ERRATUM_SKD022
        && chance(60)) {
        far_disabled(x);
        return;
    }
    if (chance(30)
        && (x->kind == IPT_INSN_IRET || x->kind == IPT_INSN_UIRET
            || x->kind == IPT_INSN_VMENTRY)) {
        const uint8_t type = x->kind == IPT_INSN_UIRET     ? IPT_CFE_UIRET
                             : x->kind == IPT_INSN_VMENTRY ? IPT_CFE_VMENTRY
                                                           : IPT_CFE_IRET;
        if (sim_between_on && chance(50)) {
            emit_cfe(type, 1, 0);
            emit_ip(IPT_PKT_FUP, x->ip);
            happens(IPT_EVT_CFE, 0, x->ip, type);
        } else {
            emit_cfe(type, 0, 0);
            happens(IPT_EVT_CFE, no_ip, 0, type);
        }
        most--;
    }
    if (sim_between_on && chance(20)) { /* before the PIP */
        vmcs(IPT_EVT_VMCS, no_ip, 0);
        emit_vmcs();
        most--;
        named = 1;
    }
    if (chance(x->kind == IPT_INSN_VMENTRY ? 80 : 30)) {
        pip(IPT_EVT_PAGING, no_ip, 0,
            x->kind == IPT_INSN_VMENTRY ? 1 : cpu.nr);
        emit_pip();
        most--;
    }
    if (!named && most > 1 && chance(20)) {
        vmcs(IPT_EVT_VMCS, no_ip, 0);
        emit_vmcs();
        most--;
    }
    if (chance(15)) {
        far_disabled(x);
        return;
    }
    if (most == 0)
        to = any_of(x->mode);
    if (to->mode != x->mode)
        emit_exec(to->mode);
    flush();
    emit_ip(IPT_PKT_TIP, to->ip);
    part_done();
    cpu.icnt = 0;
    cpu.icnt_known = 1;
    used_trace();
    if (to->mode != x->mode)
        happens(IPT_EVT_EXEC_MODE, 0, to->ip, to->mode);
    go_in(to->mode, to->ip);
}

/* Some say what they are before they execute. */
static inline void announce(const sim_insn *x)
{
    const int syscall = x->kind == IPT_INSN_SYSCALL;

    if (!(syscall || x->kind == IPT_INSN_INT) || !chance(30) || cpu.events > 2)
        return;
    flush();
    part(syscall ? PART_SYSCALL : PART_INT);
    if (syscall && chance(50)) {
        emit_cfe(IPT_CFE_SYSCALL, 0, 0);
        happens(IPT_EVT_CFE, IPT_EVENT_NO_IP, 0, IPT_CFE_SYSCALL);
        return;
    }
    emit_cfe(syscall ? IPT_CFE_SYSCALL : IPT_CFE_SWINTR, 1,
             syscall ? 0 : 0x80);
    emit_ip(IPT_PKT_FUP, x->ip);
    happens_with(IPT_EVT_CFE, 0, x->ip,
                 syscall ? IPT_CFE_SYSCALL : IPT_CFE_SWINTR,
                 syscall ? 0 : IPT_CFE_HAS_VECTOR << 8 | 0x80);
}

/* The address after a call. In 16-bit code it wraps with the segment. */
static inline void push(const sim_insn *x)
{
    uint64_t ip = after(x);

    if (x->mode == L16 && program.lay->has_cs && ip - cs_seen() == 0x10000) {
        ip = cs_seen();
        reached[REACH_WRAP_64K]++;
    }
    if (cpu.depth == IPT_RETURN_STACK_) {
        memmove(cpu.stack, cpu.stack + 1,
                (IPT_RETURN_STACK_ - 1) * sizeof(cpu.stack[0]));
        memmove(cpu.modes, cpu.modes + 1, IPT_RETURN_STACK_ - 1);
        cpu.depth--;
    }
    cpu.modes[cpu.depth] = x->mode;
    cpu.stack[cpu.depth++] = ip;
}

static inline void ret(void)
{
    const uint8_t mode = cpu.at->mode;
    const int matches = cpu.depth && cpu.modes[cpu.depth - 1] == mode;
    const int compressed
        = !(cpu.flags & IPT_CONFIG_NO_RETCOMP) && matches && chance(80);
    const uint64_t from = cpu.at->ip;
    uint64_t to = any_of(mode)->ip;

    if (cpu.depth)
        cpu.depth--;
    if (!compressed) {
        /* it forces out what is collected, if returns are compressed */
        tip(to, (cpu.flags & IPT_CONFIG_NO_RETCOMP) != 0);
        return;
    }
    to = cpu.stack[cpu.depth];
    reached[REACH_FAR_RET] += (from - to) >> 31 && (to - from) >> 31;
    bit(1);
    go(to);
}

/* A branch to outside of the filter. */
static inline void leave(const sim_insn *x)
{
    const uint64_t to = x->target[0];
    const int lost = cpu.errata & IPT_ERRATUM_SKL014 && chance(70);

    flush();
    if (x->kind == IPT_INSN_CALL) /* does a processor remember it? */
        cpu.depth = 0;
    reached[REACH_FILTER]++;
    reached[REACH_SKL014] += (unsigned) lost;
    disabled(lost ? 0 : to,
             lost && x->kind == IPT_INSN_CALL ? after(x) : NOWHERE);
}

/* Does it overflow? If not it sends nothing; so it does, unless the next trace
 * of this flow is a bit: what else flow causes could be of the INTO. */
static inline int into_leaves(const sim_insn *x)
{
    const place *p = &program.places[x->place];
    const sim_insn *next = x + 1;

    while (next < &program.insns[p->first + p->count]
           && (next->kind == IPT_INSN_OTHER || next->kind == IPT_INSN_XBEGIN))
        next++;
    return next == &program.insns[p->first + p->count]
           || next->kind != IPT_INSN_JCC || next->leaves || chance(50);
}

static inline void direct(const sim_insn *x)
{
    const uint64_t to = x->target[variant_of(cpu.cr3)];
    const int taken = x->kind != IPT_INSN_JCC || chance(50);

    if (taken && x->leaves) {
        leave(x);
        return;
    }
    if (x->kind == IPT_INSN_JCC && !x->leaves && !cpu.into && chance(2)) {
        flush();
        disabled(ELSEWHERE, NOWHERE);
        return;
    }
    if (taken && x->wraps)
        reached[REACH_WRAP_64K]++;
    if (x->kind == IPT_INSN_CALL && to != after(x))
        push(x);
    if (x->kind == IPT_INSN_JCC) {
        bit(taken);
        cpu.into = 0;
    }
    if (x->target[0] != x->target[1])
        reached[REACH_SPACES]++;
    go(taken ? to : after(x));
}

/* An indirect branch, in a transaction that aborts at once: its target may be
 * wrong (BDM64). */
static inline void indirect(const sim_insn *x)
{
    const uint64_t to = any_of(x->mode)->ip;

    if (cpu.speculative && cpu.errata & IPT_ERRATUM_BDM64
        && x->kind != IPT_INSN_CALL_INDIRECT && chance(60)) {
        flush();
        emit_ip(IPT_PKT_TIP, ELSEWHERE);
        used_trace();
        go(to);
        abort_transaction();
        reached[REACH_BDM64]++;
        return;
    }
    if (x->kind == IPT_INSN_CALL_INDIRECT && chance(5)) {
        flush();
        disabled(ELSEWHERE, after(x));
        return;
    }
    tip(to, 1);
    if (x->kind == IPT_INSN_CALL_INDIRECT)
        push(x);
}

static inline void ptwrite(const sim_insn *x)
{
    const uint8_t wide = cpu.fup_on_ptw;

    flush();
    part(PART_PTWRITE);
    emit_ptw(wide, cpu.fup_on_ptw, 0x77);
    if (cpu.fup_on_ptw)
        emit_ip(IPT_PKT_FUP, x->ip);
    part_done();
    happens_with(IPT_EVT_PTWRITE, 0, x->ip, 0x77, wide ? 8 : 4);
    cpu.icnt_known = 0; /* is the IP this one's or the next one's? */
    go(after(x));
}

/* A MOV CR3 may lead to where nothing is traced; then there is no PIP. */
static inline void mov_cr3(const sim_insn *x)
{
    flush();
    if (chance(10)) {
        disabled(0, x->ip);
        return;
    }
    pip(IPT_EVT_PAGING, IPT_EVENT_NO_IP, 0, cpu.nr);
    emit_pip();
    go(after(x));
}

static inline void count_insn(const sim_insn *x)
{
    reached[x->mode == L16   ? REACH_MODE_16
            : x->mode == L32 ? REACH_MODE_32
                             : REACH_MODE_64]++;
    reached[REACH_MAPPINGS] += x->cut;
    if (x->mode != L64 && program.lay->has_cs)
        reached[program.lay->relative ? REACH_RELATIVE_IP : REACH_CS_BASE]++;
}

static inline void execute(const sim_insn *x)
{
    fuzz_item *e;

    announce(x);
    e = did_add(FUZZ_INSN);
    e->kind = x->kind;
    e->mode = x->mode;
    e->size = x->size;
    e->ip = x->ip;
    e->flags = (uint16_t) (cpu.lead
                           | (cpu.speculative ? IPT_FLOW_SPECULATIVE : 0)
                           | (x->cut ? IPT_FLOW_TRUNCATED : 0));
    e->count = cpu.nr; /* these two are for sim_visible */
    e->end = cpu.cr3;
    count_insn(x);
    cpu.lead = 0;
    cpu.prev = e;
    cpu.events = 0;
    cpu.settled = 0;
    cpu.since++;
    cpu.icnt++;
    switch (x->kind) {
    case IPT_INSN_JCC:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL: direct(x); break;
    case IPT_INSN_RET: ret(); break;
    case IPT_INSN_CALL_INDIRECT:
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS: indirect(x); break;
    case IPT_INSN_MOV_CR3: mov_cr3(x); break;
    case IPT_INSN_VMPTRLD:
        flush();
        vmcs(IPT_EVT_VMCS, IPT_EVENT_NO_IP, 0);
        emit_vmcs();
        go(after(x));
        break;
    case IPT_INSN_PTWRITE: ptwrite(x); break;
    case IPT_INSN_INTO:
        cpu.into = !into_leaves(x);
        reached[REACH_INTO] += cpu.into;
        if (!cpu.into) {
            far_branch(x);
            break;
        }
        go(after(x));
        break;
    case IPT_INSN_XBEGIN:
    case IPT_INSN_OTHER: go(after(x)); break;
    default: far_branch(x); break;
    }
}

/* ---- a run ---- */

/* Was flow here already since trace was last used? */
static inline int passed(const sim_insn *x)
{
    size_t i;

    for (i = cpu.proven; i < did.count; i++)
        if (did.item[i].what == FUZZ_INSN && did.item[i].ip == x->ip
            && did.item[i].mode == x->mode)
            return 1;
    return 0;
}

/* Flow goes round without trace. Only an instruction count says how often. */
static inline void spin(void)
{
    unsigned n = 1 + draw(60);

    if (!cpu.icnt_known || chance(50)) {
        overflow();
        return;
    }
    while (n--)
        execute(cpu.at);
    trigger();
    reached[REACH_SPIN]++;
}

/* The errata of a processor: none, one or two. */
static inline uint32_t random_errata(void)
{
    uint32_t errata = 0;
    unsigned n;

    for (n = chance(40) ? 1 + draw(2) : 0; n--;)
        errata |= 1u << draw(10);
    return errata;
}

/* Run a program for so many instructions. */
static inline void simulate(unsigned steps)
{
    memset(&cpu, 0, sizeof(cpu));
    memset(&parts, 0, sizeof(parts));
    packet_count = 0;
    did.count = 0;
    random_program();
    cpu.cr3 = cpu.vmcs = IPT_ASID_UNKNOWN;
    cpu.resume = NOWHERE;
    cpu.fup_on_ptw = (uint8_t) chance(50);
    cpu.defers = (uint8_t) chance(50);
    cpu.flags = chance(25) ? IPT_CONFIG_NO_RETCOMP : 0;
    cpu.errata = random_errata();
    if (chance(50)) {
        cpu.cr3 = (uint64_t) (1 + draw(3)) << 12;
        cpu.nr = (uint8_t) draw(2);
    }
    if (chance(80)) {
        cpu.at = any_insn();
        cpu.enabled = 1;
        psb(1);
    } else {
        cpu.cr3 = IPT_ASID_UNKNOWN;
        cpu.nr = 0;
        psb(0);
        enable(0, 1);
        cpu.events = 4;
    }
    cpu.settled = 1;
    while (steps-- && packet_count < SIM_PACKETS - 50
           && did.count < FUZZ_LOG - 100) {
        if (passed(cpu.at))
            spin();
        while (!cpu.settled && chance(8))
            between();
        execute(cpu.at);
    }
    flush();
    did.count = cpu.proven;
}

/* ---- packets that bind to nothing, inside of compounds ---- */

#define BETWEEN_RATIO 77 /* they are told by these */
#define BETWEEN_MNT 0x5a5a
#define BETWEEN_PWRX 9

static const uint8_t between_types[]
    = {IPT_PKT_CBR, IPT_PKT_MNT, IPT_PKT_PWRX, IPT_PKT_MTC,
       IPT_PKT_CYC, IPT_PKT_TSC, IPT_PKT_TMA,  IPT_PKT_PAD};
#define BETWEENS SIM_LENGTH(between_types)

/* By compound, packet before, packet after, and packet between them. */
static unsigned long between_count[PARTS][IPT_PKT_COUNT][IPT_PKT_COUNT]
                                  [BETWEENS];
static unsigned between_events; /* that those of this trace make */

/* Packets that a compound has besides its own. */
static inline int between_neutral(uint8_t type)
{
    return type != IPT_PKT_PWRX
           && (memchr(between_types, type, BETWEENS) != NULL
               || type == IPT_PKT_UNKNOWN);
}

/* How often a packet was put into a compound, at whichever boundary. */
static inline unsigned long between_sum(unsigned what, unsigned kind)
{
    unsigned long sum = 0;
    unsigned i;

    for (i = 0; i < IPT_PKT_COUNT * IPT_PKT_COUNT; i++)
        sum += between_count[what][i / IPT_PKT_COUNT][i % IPT_PKT_COUNT][kind];
    return sum;
}

static inline void insert_packet(size_t at, ipt_packet p)
{
    if (packet_count == SIM_PACKETS)
        return;
    memmove(&packets[at + 1], &packets[at],
            (packet_count - at) * sizeof(packets[0]));
    memmove(&parts.of[at + 1], &parts.of[at], packet_count - at);
    memmove(&parts.number[at + 1], &parts.number[at],
            (packet_count - at) * sizeof(parts.number[0]));
    packets[at] = p;
    packet_count++;
}

/* Put a packet of this type before packet `at`. A TMA needs its TSC. */
static inline void between_insert(size_t at, uint8_t type)
{
    ipt_packet p;

    memset(&p, 0, sizeof(p));
    p.type = type;
    switch (type) {
    case IPT_PKT_CBR: p.u.cbr.ratio = BETWEEN_RATIO; break;
    case IPT_PKT_MNT: p.u.mnt.payload = BETWEEN_MNT; break;
    case IPT_PKT_PWRX: p.u.pwrx.last = BETWEEN_PWRX; break;
    case IPT_PKT_MTC: p.u.mtc.ctc = (uint8_t) draw(256); break;
    case IPT_PKT_CYC: p.u.cyc.value = draw(256) * 9; break;
    case IPT_PKT_TMA: p.u.tma.ctc = (uint16_t) draw(256); break;
    case IPT_PKT_PAD: p.size = 1 + draw(4); break;
    default: break;
    }
    between_events += type == IPT_PKT_CBR || type == IPT_PKT_MNT
                      || type == IPT_PKT_PWRX;
    insert_packet(at, p);
    if (type == IPT_PKT_TMA || type == IPT_PKT_TSC) {
        memset(&p, 0, sizeof(p));
        p.type = IPT_PKT_TSC;
        p.u.tsc.value = 1000 * at;
        if (type == IPT_PKT_TSC)
            packets[at] = p;
        else
            insert_packet(at, p);
    }
}

/* Is a PWRE open before packet `at`? A PWRX there would be its own. */
static inline int between_pwre(size_t at)
{
    while (at-- > 0)
        if (packets[at].type == IPT_PKT_PWRE
            || packets[at].type == IPT_PKT_PWRX)
            return packets[at].type == IPT_PKT_PWRE;
    return 0;
}

/* Each compound gets a packet at one of its inner boundaries, mostly. */
static inline void sim_between(void)
{
    size_t inner[64];
    size_t begin = packet_count;
    size_t i;
    size_t k;

    between_events = 0;
    while (begin-- > 0) {
        const uint8_t what = parts.of[begin];
        const uint16_t number = parts.number[begin];
        const size_t end = begin + 1;
        const unsigned kind = draw(BETWEENS);
        unsigned n = 0;
        uint8_t before;
        while (begin > 0 && parts.of[begin - 1] == what
               && parts.number[begin - 1] == number && what)
            begin--;
        for (i = begin + 1; i < end && n < SIM_LENGTH(inner); i++)
            inner[n++] = i;
        if (n == 0 || what == PART_NONE || chance(20))
            continue;
        i = k = inner[draw(n)];
        if (between_types[kind] == IPT_PKT_PWRX && between_pwre(i))
            continue;
        while (i > begin && between_neutral(packets[i - 1].type))
            i--;
        while (k < end && between_neutral(packets[k].type))
            k++;
        if (i == begin || k == end)
            continue;
        before = packets[i - 1].type;
        between_count[what][before][packets[k].type][kind]++;
        between_insert(k, between_types[kind]);
    }
}

/* Print how often each was reached; returns how many lines. */
static inline unsigned between_report(FILE *file, unsigned long least)
{
#define PART_TEXT(name, text) text,
    static const char *const texts[] = {PART_LIST(PART_TEXT)};
#undef PART_TEXT
    unsigned lines = 0;
    unsigned part;
    unsigned a;
    unsigned b;
    unsigned n;

    fprintf(file, "%-36s", "compound: before . after");
    for (n = 0; n < BETWEENS; n++)
        fprintf(file, " %5s", ipt_pkt_name(between_types[n]));
    fprintf(file, "\n");
    for (part = 0; part < PARTS; part++)
        for (a = 0; a < IPT_PKT_COUNT; a++)
            for (b = 0; b < IPT_PKT_COUNT; b++) {
                const unsigned long *count = between_count[part][a][b];
                unsigned long sum = 0;
                char name[80];
                for (n = 0; n < BETWEENS; n++)
                    sum += count[n];
                if (sum < least)
                    continue;
                snprintf(name, sizeof(name), "%s: %s . %s", texts[part],
                         ipt_pkt_name((uint8_t) a), ipt_pkt_name((uint8_t) b));
                fprintf(file, "%-36s", name);
                for (n = 0; n < BETWEENS; n++)
                    fprintf(file, " %5lu", count[n]);
                fprintf(file, "\n");
                lines++;
            }
    return lines;
}

#endif /* IPT_TESTS_SIMULATE_H */
