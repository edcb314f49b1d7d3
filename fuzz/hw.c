/* hw.c: fuzz [hw]. By hand, in the top folder:
 *
 *     clang -g -O1 -I. -fsanitize=fuzzer,address,undefined \
 *         -fno-sanitize-recover=all -o fuzz-hw fuzz/hw.c
 *     ./fuzz-hw corpus fuzz/corpus/hw fuzz/regress/hw
 *
 * Replay: cc -g -I. -o fuzz-hw fuzz/hw.c fuzz/standalone.c
 *
 * The first byte of an input says what the others are: see `kinds` at the end.
 * Registers, tables and CPUID are checked by the layouts of the SDM, which are
 * written down here once more, in numbers. */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(ok) \
    ((ok) ? (void) 0 \
          : (fprintf(stderr, "line %d: %s\n", __LINE__, #ok), abort()))
#define ROOM 64
#define PAGES 512 /* of memory, at physical address 0 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the input ---- */

static const uint8_t *bytes;
static size_t left;

/* The next n bytes, little-endian; 0 where there are none. */
static uint64_t take(unsigned n)
{
    uint64_t value = 0;
    unsigned i;

    for (i = 0; i < n && left; i++, left--)
        value |= (uint64_t) *bytes++ << 8 * i;
    return value;
}

static uint64_t field(uint64_t value, unsigned low, unsigned high)
{
    return value >> low & (((uint64_t) 2 << (high - low)) - 1);
}

static uint64_t load(const uint8_t *p)
{
    uint64_t value = 0;
    unsigned i;

    for (i = 8; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

/* ---- regions to a table ---- */

static int good_region(const ipt_region *r)
{
    const uint64_t end = (uint64_t) 1 << 52;

    return r->size && r->size % 4096 == 0 && r->physical % 4096 == 0
           && r->physical < end && r->size <= end - r->physical
           && !(r->flags & ~(uint64_t) 0x14);
}

/* Do entries from `first` on say this region, in as few as there can be?
 * Returns where those of the next one begin. */
static int said(const uint8_t *table, int first, int count,
                const ipt_region *r)
{
    uint64_t at = r->physical;
    uint64_t before = 0;
    int i;

    for (i = first; i < count && at - r->physical < r->size; i++) {
        const uint64_t e = load(table + 8 * i);
        const uint64_t size = (uint64_t) 4096 << field(e, 6, 9);
        const int last = at + size == r->physical + r->size;

        CHECK(field(e, 12, 51) == at >> 12);
        CHECK(at % size == 0);
        CHECK((e & ~(uint64_t) 0xffffffffff3c0) == (last ? r->flags : 0));
        CHECK(before != size || size == 4096u << 15
              || (at - before) % (2 * size));
        before = size;
        at += size;
    }
    CHECK(at - r->physical == r->size);
    return i;
}

static void regions(void)
{
    ipt_region r[4];
    const uint32_t count = 1 + (uint32_t) take(1) % 4;
    const uint32_t room = (uint32_t) take(1) % ROOM;
    const uint64_t next = take(1) % 8 ? take(5) << 12 : take(8);
    uint8_t *table = (uint8_t *) malloc(8 * room + 1);
    int good = next % 4096 == 0 && next >> 52 == 0;
    int at = 0;
    int n;
    uint32_t i;

    for (i = 0; i < count; i++) {
        const unsigned how = (unsigned) take(1);
        r[i].physical = how & 1 ? take(8) : take(5) << 12;
        r[i].size = how & 2 ? take(8) : take(2) << 12;
        r[i].flags = how & 4 ? take(8) : how >> 2 & 0x14;
    }
    table[8 * room] = 0x5a;
    n = ipt_topa_from_regions(table, room, next, r, count);
    CHECK(table[8 * room] == 0x5a);
    CHECK(n == IPT_ERR_ARG || n == IPT_ERR_ROOM
          || (n > 1 && (uint32_t) n <= room));
    for (i = 0; i < count && (good || n >= 0); i++) {
        good &= good_region(&r[i]);
        if (n >= 0)
            at = said(table, at, n - 1, &r[i]);
    }
    CHECK(n < 0 || (good && at == n - 1 && load(table + 8 * at) == (next | 1)));
    CHECK(n != IPT_ERR_ARG || !good);
    free(table);
}

/* ---- what is written through a table ---- */

static uint8_t memory[PAGES * 4096];
static unsigned maps; /* calls of map */

static const uint8_t *map(uint64_t physical, uint64_t size, void *context)
{
    (void) context;
    maps++;
    return physical >= sizeof(memory) || size > sizeof(memory) - physical
               ? NULL : memory + physical;
}

/* Where the processor stands after `written` bytes: entry and offset in it.
 * Returns the place in memory of the byte that comes next. */
static uint64_t stand(const uint8_t *table, int count, uint64_t written,
                      int *entry, uint64_t *offset)
{
    int i = 0;

    for (;; i = (i + 1) % count) {
        const uint64_t e = load(table + 8 * i);
        const uint64_t size = (uint64_t) 4096 << field(e, 6, 9);

        if (written < size) {
            *entry = i;
            *offset = written;
            return (e & ~(uint64_t) 0xfff) + written;
        }
        written -= size;
    }
}

/* Regions to a ring, output to it, and what is new of that: the bytes that were
 * written, in their order. */
static void ring(void)
{
    uint8_t *const table = memory; /* at physical address 0 */
    const uint32_t count = 1 + (uint32_t) take(1) % 5;
    ipt_region r[5];
    ipt_segment s[ROOM + 1];
    ipt_topa topa;
    uint64_t total = 0;
    uint64_t from, to, at, offset;
    int entries, entry, n, k;
    uint32_t i;

    for (i = 0; i < count; i++) { /* each in 64 pages of its own */
        r[i].size = (1 + take(1) % 32) * 4096;
        r[i].physical = (64 * (1 + (i * 3 + 1) % 7) + take(1) % 32) * 4096;
        r[i].flags = i % 2 ? IPT_TOPA_INT : 0;
        total += r[i].size;
    }
    entries = ipt_topa_from_regions(table, ROOM, 0, r, count) - 1;
    CHECK(entries > 0);
    from = take(3) % (2 * total);
    to = from + take(3) % (total + 1);
    memset(&topa, 0, sizeof(topa));
    topa.rtit_ctl = 0x100;
    topa.map = map;
    topa.table = 0;
    (void) stand(table, entries, from, &entry, &offset);
    topa.since_mask_ptrs = offset << 32 | (uint64_t) entry << 7 | 0x7f;
    if (from == 0 && take(1) % 2)
        topa.since_mask_ptrs = 0;
    (void) stand(table, entries, to, &entry, &offset);
    topa.output_mask_ptrs = offset << 32 | (uint64_t) entry << 7 | 0x7f;
    topa.wrapped = to - from == total;
    n = ipt_segments_from_topa(s, (uint32_t) entries + 1, &topa);
    CHECK(n >= 0);
    for (k = 0; k < n; k++) {
        CHECK(s[k].size);
        at = stand(table, entries, from, &entry, &offset);
        CHECK(s[k].data == memory + at);
        (void) stand(table, entries, from + s[k].size - 1, &entry, &offset);
        CHECK(s[k].data + s[k].size - 1
              == memory + stand(table, entries, from + s[k].size - 1, &entry,
                                &offset));
        from += s[k].size;
    }
    CHECK(from == to);
    for (k = 0; k < n; k++)
        CHECK(ipt_segments_from_topa(s, (uint32_t) k, &topa) == IPT_ERR_ROOM);
}

/* ---- hostile tables ---- */

typedef struct place {
    uint64_t entry, at, size, offset;
} place;

/* The entry at `p->entry`, after one link at most. Returns 0 if it is none. */
static int at_entry(place *p)
{
    const uint8_t *e = map(p->entry, 8, NULL);

    if (e && field(load(e), 0, 0)) {
        p->entry = field(load(e), 12, 51) << 12;
        e = map(p->entry, 8, NULL);
    }
    if (!e || field(load(e), 0, 0))
        return 0;
    p->at = field(load(e), 12, 51) << 12;
    p->size = (uint64_t) 4096 << field(load(e), 6, 9);
    return 1;
}

static int at_output(place *p, const ipt_topa *topa, uint64_t base,
                     uint64_t mask_ptrs)
{
    memset(p, 0, sizeof(*p));
    p->offset = field(mask_ptrs, 32, 63);
    if (field(topa->rtit_ctl, 8, 8)) {
        p->entry = (field(base, 12, 51) << 12) + field(mask_ptrs, 7, 31) * 8;
        if (!at_entry(p))
            return 0;
    } else {
        p->at = base / 128 * 128;
        p->size = (field(mask_ptrs, 7, 31) + 1) * 128;
    }
    return p->offset <= p->size;
}

/* Add a piece, if it is one. Returns how many there are; -1: it is nowhere, or
 * there are too many. */
static int piece(ipt_segment *s, int n, uint64_t at, uint64_t size)
{
    if (n < 0 || size == 0)
        return n;
    if (n > ROOM || !map(at, size, NULL))
        return -1;
    s[n].data = map(at, size, NULL);
    s[n].size = (size_t) size;
    return n + 1;
}

/* What the SDM says is there; -1: nothing that makes sense. */
static int expected(ipt_segment *s, const ipt_topa *topa)
{
    const int topa_output = (int) field(topa->rtit_ctl, 8, 8);
    place now, then;
    int n, i;

    if (!at_output(&now, topa, topa->output_base, topa->output_mask_ptrs))
        return -1;
    then = now;
    if (!topa->wrapped && topa->since_mask_ptrs
        && !at_output(&then, topa, topa->since_base, topa->since_mask_ptrs))
        return -1;
    if (!topa->wrapped && !topa->since_mask_ptrs) {
        then.offset = 0;
        then.entry = topa_output ? topa->table : now.entry;
        if (topa_output && !at_entry(&then))
            return -1;
    }
    if (!topa->wrapped && then.entry == now.entry && then.offset <= now.offset)
        return piece(s, 0, now.at + then.offset, now.offset - then.offset);
    n = piece(s, 0, then.at + then.offset, then.size - then.offset);
    for (i = 0; topa_output && n >= 0 && i <= ROOM + 1; i++) {
        then.entry += 8;
        if (!at_entry(&then))
            return -1;
        if (then.entry == now.entry)
            break;
        n = piece(s, n, then.at, then.size);
    }
    return piece(s, n, now.at, now.offset);
}

static void hostile(void)
{
    static ipt_segment want[ROOM + 2];
    const uint32_t room = (uint32_t) take(1) % (ROOM + 1);
    ipt_segment *s = (ipt_segment *) malloc((room + 1) * sizeof(*s));
    ipt_topa topa;
    const unsigned how = (unsigned) take(1);
    int n, k, wanted;

    memset(&topa, 0, sizeof(topa));
    topa.map = map;
    topa.rtit_ctl = how & 1 ? take(8) : 0x100;
    topa.output_base = how & 2 ? take(8) : take(1) % 4 << 12;
    topa.output_mask_ptrs = how & 4 ? take(8) : take(4) << 32 | take(1) << 7;
    topa.since_base = how & 8 ? take(8) : take(1) % 4 << 12;
    topa.since_mask_ptrs = how & 16 ? take(8) : take(4) << 32 | take(1) << 7;
    topa.table = how & 32 ? take(8) : take(1) % 4 << 12;
    topa.wrapped = (uint8_t) (how >> 6);
    memset(memory, 0, 4 * 4096);
    for (k = 0; left; k++) { /* entries: in four tables, or anywhere */
        const uint64_t e = how & 1 ? take(8) : take(2) << 12 | take(1) % 16 << 6
                                                   | take(1);
        unsigned i;
        for (i = 0; i < 8; i++)
            memory[k % 4 * 4096 + k / 4 % 512 * 8 + (int) i]
                = (uint8_t) (e >> 8 * i);
    }
    maps = 0;
    n = ipt_segments_from_topa(s, room, &topa);
    CHECK(maps <= 3 * room + 12);
    CHECK(n == IPT_ERR_ARG || n == IPT_ERR_ROOM || n == IPT_ERR_CALLBACK
          || (n >= 0 && (uint32_t) n <= room));
    wanted = expected(want, &topa);
    CHECK(n < 0 || n == wanted);
    CHECK(n >= 0 || wanted < 0 || (uint32_t) wanted > room
          || n == IPT_ERR_ROOM);
    CHECK(n != IPT_ERR_ROOM || wanted < 0 || (uint32_t) wanted > room);
    for (k = 0; k < n; k++) {
        CHECK(s[k].data == want[k].data);
        CHECK(s[k].size == want[k].size);
    }
    free(s);
}

/* ---- IA32_RTIT_CTL ---- */

/* Bits of IA32_RTIT_CTL by what allows them: 'y' always, 0 .. 9 that bit of EBX
 * of CPUID leaf 14H, t and f ToPA and FabricEn; m, c, p, a fields. From bit 0
 * on. */
static const char ctl_bits[65] = "y1yy54f0t3yy4ymmmm.cccc.pppp...7"
                                 "aaaabbbbccccdddd.......86.......";

static uint64_t ctl_missing(uint64_t ctl, const ipt_cpuid_14 *cpu)
{
    uint64_t missing = 0;
    unsigned bit, i;

    for (bit = 0; bit < 64; bit++) {
        const char by = ctl_bits[bit];
        const int fields = (by >= 'a' && by <= 'd' && bit >= 32) || by == 'm'
                           || by == 'c' || by == 'p';
        const int may = by == 'y' || (by == 't' && cpu->ecx & 1)
                        || (by == 'f' && cpu->ecx & 8)
                        || (by >= '0' && by <= '9'
                            && cpu->ebx >> (by - '0') & 1);
        if (field(ctl, bit, bit) && !may && !fields)
            missing |= (uint64_t) 1 << bit;
    }
    for (i = 0; i < 4; i++) { /* ADDRn_CFG: 0 off, 1 filter, 2 stop */
        const uint64_t value = field(ctl, 32 + 4 * i, 35 + 4 * i);
        const int there = cpu->ebx & 4 && i < field(cpu->eax_1, 0, 2);
        if (value && (!there || value > 2))
            missing |= (uint64_t) 15 << (32 + 4 * i);
    }
    if (field(ctl, 14, 17) ? !(cpu->ebx & 8)
                                 || !field(cpu->eax_1, 16 + (ctl >> 14 & 15),
                                           16 + (ctl >> 14 & 15))
                           : cpu->ebx & 8 && field(ctl, 9, 9)
                                 && !field(cpu->eax_1, 16, 16))
        missing |= (uint64_t) 15 << 14;
    if (field(ctl, 19, 22) ? !(cpu->ebx & 2)
                                 || !field(cpu->ebx_1, ctl >> 19 & 15,
                                           ctl >> 19 & 15)
                           : cpu->ebx & 2 && field(ctl, 1, 1)
                                 && !field(cpu->ebx_1, 0, 0))
        missing |= (uint64_t) 15 << 19;
    if (field(ctl, 24, 27)
        && (!(cpu->ebx & 2)
            || !field(cpu->ebx_1, 16 + (ctl >> 24 & 15),
                      16 + (ctl >> 24 & 15))))
        missing |= (uint64_t) 15 << 24;
    if (!field(ctl, 8, 8) && !field(ctl, 6, 6) && !(cpu->ecx & 4))
        missing |= 0x100;
    return missing;
}

static void wishes(void)
{
    ipt_cpuid_14 cpu;
    const uint64_t ctl = take(8);

    cpu.ebx = (uint32_t) take(4);
    cpu.ecx = (uint32_t) take(4);
    cpu.eax_1 = (uint32_t) take(4);
    cpu.ebx_1 = (uint32_t) take(4);
    CHECK(ipt_rtit_ctl_missing(ctl, &cpu) == ctl_missing(ctl, &cpu));
}

/* ---- the registers to a config ---- */

static void registers(void)
{
    ipt_msrs m;
    ipt_config config, was;
    ipt_segment none = {NULL, 0};
    ipt_trace trace = {&none, 0, 0, 0};
    ipt_pkt_decoder decoder;
    const uint32_t flags =
        IPT_CONFIG_NO_RETCOMP | IPT_CONFIG_RELATIVE_IP | IPT_CONFIG_NO_TNT;
    uint32_t errata, family;
    int bad = 0;
    int status;
    unsigned i;

    memset(&config, 0, sizeof(config));
    config.flags = (uint32_t) take(4);
    was = config;
    m.rtit_ctl = take(8);
    for (i = 0; i < 8; i++)
        m.rtit_addr[i / 2][i % 2] = take(8);
    m.platform_info = take(8);
    m.cpuid_1_eax = (uint32_t) take(4);
    m.cpuid_14_ecx = (uint32_t) take(4);
    m.cpuid_15_eax = (uint32_t) take(4);
    m.cpuid_15_ebx = (uint32_t) take(4);
    status = ipt_config_from_msrs(&config, &m);
    for (i = 0; i < 4; i++)
        bad |= field(m.rtit_ctl, 32 + 4 * i, 35 + 4 * i) > 2;
    CHECK(status == (bad ? (int) IPT_ERR_ARG : (int) IPT_OK));
    if (bad) {
        CHECK(!memcmp(&config, &was, sizeof(config)));
        return;
    }
    for (i = 0; i < 4; i++) {
        const ipt_filter *f = &config.filter[i];
        CHECK(f->kind == field(m.rtit_ctl, 32 + 4 * i, 35 + 4 * i));
        CHECK(f->first == (f->kind ? m.rtit_addr[i][0] : 0));
        CHECK(f->last == (f->kind ? m.rtit_addr[i][1] : 0));
    }
    family = (uint32_t) field(m.cpuid_1_eax, 8, 11);
    family += family == 15 ? (uint32_t) field(m.cpuid_1_eax, 20, 27) : 0;
    ipt_cpu_errata(&errata, (uint16_t) family,
                   (uint8_t) (field(m.cpuid_1_eax, 16, 19) << 4
                              | field(m.cpuid_1_eax, 4, 7)));
    CHECK(config.errata == errata);
    CHECK(config.mtc_freq == field(m.rtit_ctl, 14, 17));
    CHECK(config.nom_freq == field(m.platform_info, 8, 15));
    CHECK(config.cpuid_15_eax == m.cpuid_15_eax);
    CHECK(config.cpuid_15_ebx == m.cpuid_15_ebx);
    CHECK(!(config.flags & IPT_CONFIG_NO_RETCOMP)
          == !field(m.rtit_ctl, 11, 11));
    CHECK(!(config.flags & IPT_CONFIG_RELATIVE_IP)
          == (field(m.cpuid_14_ecx, 31, 31) != 0));
    CHECK(!(config.flags & IPT_CONFIG_NO_TNT) == !field(m.rtit_ctl, 55, 55));
    CHECK(!((config.flags ^ was.flags) & ~flags));
    config.flags &= flags;
    status = ipt_pkt_init(&decoder, &config, &trace);
    CHECK(status == IPT_OK || status == IPT_ERR_CONFIG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(void)
        = {regions, ring, hostile, wishes, registers};

    if (size == 0)
        return 0;
    bytes = data + 1;
    left = size - 1;
    kinds[data[0] % 5]();
    return 0;
}
