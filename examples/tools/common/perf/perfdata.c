/* perfdata.c: see perfdata.h.
 *
 * SPDX-License-Identifier: MIT */
#include "perfdata.h"

/* ---- texts ---- */

/* Arrays, not pointers: those would have to be relocated. */
static const struct {
    int status;
    char text[40];
} texts[] = {
    {PERFDATA_END, "end of the records"},
    {PERFDATA_ERR_ARG, "invalid argument"},
    {PERFDATA_ERR_MEMORY, "too little memory was given"},
    {PERFDATA_ERR_READ, "the file cannot be read"},
    {PERFDATA_ERR_ZSTD, "compressed, and there is no zstd"},
    {PERFDATA_ERR_MAGIC, "not a perf.data file"},
    {PERFDATA_ERR_HEADER, "the file's header contradicts itself"},
    {PERFDATA_ERR_CUT, "the file ends inside"},
    {PERFDATA_ERR_RECORD, "a record is smaller than its header"},
    {PERFDATA_ERR_FIELDS, "a record is too small for its fields"},
    {PERFDATA_ERR_STRING, "a name does not end in its record"},
    {PERFDATA_ERR_INFLATE, "compressed bytes are damaged"},
};

const char *perfdata_text(int status)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status) return texts[i].text;
    return status >= 0 ? "OK" : "unknown status";
}

/* ---- numbers ---- */

static uint64_t load(int big_endian, const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value = value << 8 | bytes[big_endian ? i : count - 1 - i];
    return value;
}

uint32_t perfdata_u32(int big_endian, const uint8_t *bytes)
{
    return (uint32_t) load(big_endian, bytes, 4);
}

uint64_t perfdata_u64(int big_endian, const uint8_t *bytes)
{
    return load(big_endian, bytes, 8);
}

/* Where parsing is. Beyond `end` everything is 0 and `bad` is set, so that a
 * parser reads all its fields and looks at `bad` once. */
typedef struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    int big_endian;
    int bad; /* PERFDATA_ERR_FIELDS or _STRING; 0: nothing is wrong yet */
} cursor;

static size_t left(const cursor *c)
{
    return (size_t) (c->end - c->at);
}

/* The next `size` bytes; NULL if there are fewer. */
static const uint8_t *take(cursor *c, uint64_t size)
{
    const uint8_t *bytes = c->at;
    if (size > left(c)) {
        if (!c->bad) c->bad = PERFDATA_ERR_FIELDS;
        c->at = c->end;
        return NULL;
    }
    c->at += (size_t) size;
    return bytes;
}

static uint64_t number(cursor *c, unsigned size)
{
    const uint8_t *bytes = take(c, size);
    return bytes ? load(c->big_endian, bytes, size) : 0;
}

static uint16_t u16(cursor *c)
{
    return (uint16_t) number(c, 2);
}

static uint32_t u32(cursor *c)
{
    return (uint32_t) number(c, 4);
}

static uint64_t u64(cursor *c)
{
    return number(c, 8);
}

/* A name with its zero, padded to `pad` bytes. The zero may stand anywhere up
 * to `end`, which is the record's; a name that goes beyond the fields leaves
 * too little room for the samples, and that is another fault. */
static const char *name(cursor *c, const uint8_t *end, unsigned pad)
{
    const uint8_t *first = c->at;
    const uint8_t *zero = first;
    while (zero < end && *zero) zero++;
    if (zero == end) {
        if (!c->bad) c->bad = PERFDATA_ERR_STRING;
        return NULL;
    }
    take(c, ((uint64_t) (zero - first) + pad) / pad * pad);
    return (const char *) first;
}

static void copy(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t i = 0; from && i < size; i++) to[i] = from[i];
}

static void clear(void *memory, size_t size)
{
    uint8_t *bytes = (uint8_t *) memory;
    for (size_t i = 0; i < size; i++) bytes[i] = 0;
}

/* ---- perf_event_attr ---- */

/* The flags are C bit-fields: other byte order, other order of the bits in
 * each byte, and the bytes stay where they are. */
static uint64_t parse_flags(cursor *c)
{
    const uint8_t *bytes = take(c, 8);
    uint64_t flags = bytes ? load(0, bytes, 8) : 0;
    uint64_t turned = 0;
    if (!c->big_endian) return flags;
    for (unsigned bit = 0; bit < 64; bit++)
        turned |= (flags >> bit & 1) << ((bit & ~7u) + 7 - (bit & 7u));
    return turned;
}

int perfdata_parse_attr(int big_endian, const uint8_t *bytes, size_t size,
                        perfdata_attr *attr)
{
    cursor c = {bytes, bytes + size, big_endian, 0};
    clear(attr, sizeof *attr);
    attr->type = u32(&c);
    attr->size = u32(&c);
    if (attr->size == 0) attr->size = 64;
    if (c.bad || attr->size < 64 || attr->size > size)
        return PERFDATA_ERR_FIELDS;
    c.end = bytes + attr->size;
    attr->config = u64(&c);
    attr->sample_period = u64(&c);
    attr->sample_type = u64(&c);
    attr->read_format = u64(&c);
    attr->flags = parse_flags(&c);
    take(&c, 8); // wakeup, bp_type
    attr->config1 = u64(&c);
    attr->config2 = u64(&c);
    attr->branch_sample_type = u64(&c);
    attr->sample_regs_user = u64(&c);
    take(&c, 8); // sample_stack_user, clockid
    attr->sample_regs_intr = u64(&c);
    take(&c, 8); // aux_watermark, sample_max_stack
    attr->aux_sample_size = u32(&c);
    attr->aux_action = u32(&c);
    return (int) attr->size;
}

/* ---- samples ---- */

/* Eight bytes for each bit. */
static unsigned size_of_bits(uint64_t bits)
{
    unsigned size = 0;
    for (; bits; bits &= bits - 1) size += 8;
    return size;
}

static void parse_tid(cursor *c, perfdata_sample *s)
{
    s->pid = u32(c);
    s->tid = u32(c);
}

static void parse_cpu(cursor *c, perfdata_sample *s)
{
    s->cpu = u32(c);
    take(c, 4);
}

/* The samples at the end of a record of another type than SAMPLE. */
static void parse_trailer(cursor *c, uint64_t type, perfdata_sample *s)
{
    s->has = type & PERFDATA_TRAILER;
    if (type & PERFDATA_SAMPLE_TID) parse_tid(c, s);
    if (type & PERFDATA_SAMPLE_TIME) s->time = u64(c);
    if (type & PERFDATA_SAMPLE_ID) s->id = u64(c);
    if (type & PERFDATA_SAMPLE_STREAM_ID) s->stream_id = u64(c);
    if (type & PERFDATA_SAMPLE_CPU) parse_cpu(c, s);
    if (type & PERFDATA_SAMPLE_IDENTIFIER) s->identifier = u64(c);
}

/* Steps over `count` items of `size` bytes each. */
static void skip(cursor *c, uint64_t count, unsigned size)
{
    take(c, count > left(c) ? UINT64_MAX : count * size);
}

static void skip_read(cursor *c, uint64_t format)
{
    const unsigned each = 8 + size_of_bits(format & 0x14); // ID, LOST
    const unsigned times = size_of_bits(format & 3);
    if (format & 8) { // GROUP
        uint64_t count = u64(c);
        take(c, times);
        skip(c, count, each);
    } else {
        take(c, each + times);
    }
}

static void skip_branches(cursor *c, uint64_t format)
{
    uint64_t count = u64(c);
    if (format & 0x20000) take(c, 8); // hw index
    skip(c, count, 24);
    if (format & 0x80000) skip(c, count, 8); // counters
}

static void skip_regs(cursor *c, uint64_t regs)
{
    if (u64(c)) take(c, size_of_bits(regs));
}

static void skip_stack(cursor *c)
{
    uint64_t size = u64(c);
    take(c, size);
    if (size) take(c, 8);
}

static void parse_sample(cursor *c, const perfdata_attr *attr,
                         perfdata_record *r)
{
    const uint64_t type = attr->sample_type;
    perfdata_sample *s = &r->sample;
    s->has = type & PERFDATA_TRAILER;
    if (type & PERFDATA_SAMPLE_IDENTIFIER) s->identifier = u64(c);
    if (type & PERFDATA_SAMPLE_IP) r->u.event.ip = u64(c);
    if (type & PERFDATA_SAMPLE_TID) parse_tid(c, s);
    if (type & PERFDATA_SAMPLE_TIME) s->time = u64(c);
    if (type & PERFDATA_SAMPLE_ADDR) r->u.event.addr = u64(c);
    if (type & PERFDATA_SAMPLE_ID) s->id = u64(c);
    if (type & PERFDATA_SAMPLE_STREAM_ID) s->stream_id = u64(c);
    if (type & PERFDATA_SAMPLE_CPU) parse_cpu(c, s);
    if (type & PERFDATA_SAMPLE_PERIOD) r->u.event.period = u64(c);
    if (type & PERFDATA_SAMPLE_READ) skip_read(c, attr->read_format);
    if (type & PERFDATA_SAMPLE_CALLCHAIN) skip(c, u64(c), 8);
    if (type & PERFDATA_SAMPLE_RAW) {
        r->u.event.raw_size = u32(c);
        r->u.event.raw = take(c, r->u.event.raw_size);
    }
    if (type & PERFDATA_SAMPLE_BRANCH_STACK)
        skip_branches(c, attr->branch_sample_type);
    if (type & PERFDATA_SAMPLE_REGS_USER) skip_regs(c, attr->sample_regs_user);
    if (type & PERFDATA_SAMPLE_STACK_USER) skip_stack(c);
    if (type & (PERFDATA_SAMPLE_WEIGHT | PERFDATA_SAMPLE_WEIGHT_STRUCT))
        take(c, 8);
    take(c, size_of_bits(type & (PERFDATA_SAMPLE_DATA_SRC
                                 | PERFDATA_SAMPLE_TRANSACTION)));
    if (type & PERFDATA_SAMPLE_REGS_INTR) skip_regs(c, attr->sample_regs_intr);
    take(c, size_of_bits(type & (PERFDATA_SAMPLE_PHYS_ADDR
                                 | PERFDATA_SAMPLE_CGROUP
                                 | PERFDATA_SAMPLE_DATA_PAGE_SIZE
                                 | PERFDATA_SAMPLE_CODE_PAGE_SIZE)));
    if (type & PERFDATA_SAMPLE_AUX) {
        uint64_t size = u64(c);
        r->u.event.aux = take(c, size);
        r->u.event.aux_size = r->u.event.aux ? (uint32_t) size : 0;
    }
}

/* ---- the kernel's records ---- */

static void parse_mmap(cursor *c, const uint8_t *end, perfdata_record *r)
{
    r->u.mmap.pid = u32(c);
    r->u.mmap.tid = u32(c);
    r->u.mmap.addr = u64(c);
    r->u.mmap.len = u64(c);
    r->u.mmap.pgoff = u64(c);
    if (r->type == PERFDATA_MMAP2) {
        const uint8_t *id = c->at;
        r->u.mmap.maj = u32(c);
        r->u.mmap.min = u32(c);
        r->u.mmap.ino = u64(c);
        r->u.mmap.ino_generation = u64(c);
        if (!c->bad && r->misc & PERFDATA_MISC_MMAP_BUILD_ID
            && id[0] <= PERFDATA_BUILD_ID_MAX) {
            r->u.mmap.build_id_size = id[0];
            copy(r->u.mmap.build_id, id + 4, id[0]);
        }
        r->u.mmap.prot = u32(c);
        r->u.mmap.flags = u32(c);
    }
    r->u.mmap.name = name(c, end, 8);
}

static void parse_namespaces(cursor *c, perfdata_record *r)
{
    uint64_t count;
    r->u.namespaces.pid = u32(c);
    r->u.namespaces.tid = u32(c);
    count = u64(c);
    for (uint64_t i = 0; i < count && !c->bad; i++) {
        uint64_t dev = u64(c);
        uint64_t inode = u64(c);
        if (i >= PERFDATA_NAMESPACE_KINDS) continue;
        r->u.namespaces.link[i].dev = dev;
        r->u.namespaces.link[i].inode = inode;
        r->u.namespaces.count = (uint32_t) i + 1;
    }
}

static void parse_text_poke(cursor *c, perfdata_record *r)
{
    const uint8_t *first;
    size_t pad;
    r->u.text_poke.addr = u64(c);
    r->u.text_poke.old_len = u16(c);
    r->u.text_poke.new_len = u16(c);
    first = c->at;
    r->u.text_poke.old_bytes = take(c, r->u.text_poke.old_len);
    r->u.text_poke.new_bytes = take(c, r->u.text_poke.new_len);
    pad = (size_t) (c->at - first + 4) % 8; // the bytes begin at 20
    take(c, pad ? 8 - pad : 0);
}

static void parse_thread(cursor *c, perfdata_record *r)
{
    r->u.thread.pid = u32(c);
    r->u.thread.tid = u32(c);
}

static void parse_task(cursor *c, perfdata_record *r)
{
    r->u.task.pid = u32(c);
    r->u.task.ppid = u32(c);
    r->u.task.tid = u32(c);
    r->u.task.ptid = u32(c);
    r->u.task.time = u64(c);
}

static void parse_ksymbol(cursor *c, const uint8_t *end, perfdata_record *r)
{
    r->u.ksymbol.addr = u64(c);
    r->u.ksymbol.len = u32(c);
    r->u.ksymbol.kind = u16(c);
    r->u.ksymbol.flags = u16(c);
    r->u.ksymbol.name = name(c, end, 8);
}

static void parse_bpf(cursor *c, perfdata_record *r)
{
    r->u.bpf.kind = u16(c);
    r->u.bpf.flags = u16(c);
    r->u.bpf.id = u32(c);
    r->u.bpf.tag = take(c, 8);
}

/* `end` is the record's, c->end where its samples begin. */
static void parse_kernel(cursor *c, const uint8_t *end, perfdata_record *r)
{
    switch (r->type) {
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: parse_mmap(c, end, r); break;
    case PERFDATA_LOST:
    case PERFDATA_LOST_SAMPLES:
        if (r->type == PERFDATA_LOST) r->u.lost.id = u64(c);
        r->u.lost.lost = u64(c);
        break;
    case PERFDATA_COMM:
        r->u.comm.pid = u32(c);
        r->u.comm.tid = u32(c);
        r->u.comm.name = name(c, end, 8);
        break;
    case PERFDATA_EXIT:
    case PERFDATA_FORK: parse_task(c, r); break;
    case PERFDATA_THROTTLE:
    case PERFDATA_UNTHROTTLE:
        r->u.throttle.time = u64(c);
        r->u.throttle.id = u64(c);
        r->u.throttle.stream_id = u64(c);
        break;
    case PERFDATA_AUX:
        r->u.aux.offset = u64(c);
        r->u.aux.size = u64(c);
        r->u.aux.flags = u64(c);
        break;
    case PERFDATA_READ: // and counters, as read_format says
        parse_thread(c, r);
        c->at = c->end;
        break;
    case PERFDATA_ITRACE_START:
    case PERFDATA_SWITCH_CPU_WIDE: parse_thread(c, r); break;
    case PERFDATA_SWITCH: break;
    case PERFDATA_NAMESPACES: parse_namespaces(c, r); break;
    case PERFDATA_KSYMBOL: parse_ksymbol(c, end, r); break;
    case PERFDATA_BPF_EVENT: parse_bpf(c, r); break;
    case PERFDATA_CGROUP:
        r->u.cgroup.id = u64(c);
        r->u.cgroup.path = name(c, end, 8);
        break;
    case PERFDATA_TEXT_POKE: parse_text_poke(c, r); break;
    case PERFDATA_AUX_OUTPUT_HW_ID: r->u.hw_id = u64(c); break;
    default: c->at = c->end; break;
    }
}

/* ---- perf's own records ---- */

static void parse_header_attr(cursor *c, perfdata_record *r)
{
    int size = perfdata_parse_attr(c->big_endian, c->at, left(c),
                                   &r->u.attr.attr);
    if (size < 0) {
        c->bad = size;
        return;
    }
    take(c, (uint64_t) size);
    r->u.attr.id_count = (uint32_t) (left(c) / 8);
    r->u.attr.ids = take(c, 8 * (uint64_t) r->u.attr.id_count);
}

static void parse_build_id(cursor *c, perfdata_record *r)
{
    const uint8_t *id;
    r->u.build_id.pid = u32(c);
    id = take(c, 24); // the id, its size, padding
    if (id) {
        r->u.build_id.size = r->misc & PERFDATA_MISC_BUILD_ID_SIZE ? id[20]
                             : PERFDATA_BUILD_ID_MAX;
        if (r->u.build_id.size > PERFDATA_BUILD_ID_MAX)
            r->u.build_id.size = PERFDATA_BUILD_ID_MAX;
        copy(r->u.build_id.id, id, r->u.build_id.size);
    }
    r->u.build_id.name = name(c, c->end, 1);
}

/* Ten words of Intel PT have always been there. The string has a zero after
 * it, which its length does not count. */
static void parse_info(cursor *c, perfdata_record *r)
{
    uint64_t size;
    r->u.info.kind = u32(c);
    take(c, 4);
    r->u.info.count = (uint32_t) (left(c) / 8);
    r->u.info.filter = "";
    if (r->u.info.kind != 1) {
        c->at = c->end;
        return;
    }
    if (r->u.info.count < 10) c->bad = PERFDATA_ERR_FIELDS;
    for (unsigned i = 0; i < PERFDATA_PT_WORDS && i < r->u.info.count; i++)
        r->u.info.word[i] = u64(c);
    size = r->u.info.word[PERFDATA_PT_FILTER_STR_LEN];
    if (size) {
        const uint8_t *text = take(c, size < UINT64_MAX - 8
                                          ? (size + 8) / 8 * 8 : size);
        if (text && text[size])
            c->bad = PERFDATA_ERR_STRING;
        else if (text)
            r->u.info.filter = (const char *) text;
    }
    if (left(c) >= 8) r->u.info.event_trace = u64(c);
}

static void parse_auxtrace(cursor *c, perfdata_record *r)
{
    r->u.auxtrace.size = u64(c);
    r->u.auxtrace.offset = u64(c);
    r->u.auxtrace.reference = u64(c);
    r->u.auxtrace.idx = u32(c);
    r->u.auxtrace.tid = u32(c);
    r->u.auxtrace.cpu = u32(c);
    take(c, 4);
}

/* The message moved when a time came in front of it. */
static void parse_error(cursor *c, perfdata_record *r)
{
    uint32_t format;
    r->u.error.type = u32(c);
    r->u.error.code = u32(c);
    r->u.error.cpu = u32(c);
    r->u.error.pid = u32(c);
    r->u.error.tid = u32(c);
    format = u32(c);
    r->u.error.ip = u64(c);
    if (format) r->u.error.time = u64(c);
    r->u.error.message = name(c, c->end, 1);
}

static void parse_time_conv(cursor *c, perfdata_record *r)
{
    r->u.time_conv.shift = u64(c);
    r->u.time_conv.mult = u64(c);
    r->u.time_conv.zero = u64(c);
    r->u.time_conv.cap_time_zero = 1;
    if (left(c) < 24) return; // before Linux 5.8
    r->u.time_conv.cycles = u64(c);
    r->u.time_conv.mask = u64(c);
    r->u.time_conv.cap_time_zero = (uint8_t) number(c, 1);
    r->u.time_conv.cap_time_short = (uint8_t) number(c, 1);
}

static void parse_perf(cursor *c, perfdata_record *r)
{
    switch (r->type) {
    case PERFDATA_HEADER_ATTR: parse_header_attr(c, r); break;
    case PERFDATA_TRACING_DATA: r->u.tracing.size = u32(c); break;
    case PERFDATA_BUILD_ID: parse_build_id(c, r); break;
    case PERFDATA_AUXTRACE_INFO: parse_info(c, r); break;
    case PERFDATA_AUXTRACE: parse_auxtrace(c, r); break;
    case PERFDATA_AUXTRACE_ERROR: parse_error(c, r); break;
    case PERFDATA_TIME_CONV: parse_time_conv(c, r); break;
    case PERFDATA_HEADER_FEATURE:
        r->u.feature.bit = u64(c);
        r->u.feature.size = (uint32_t) left(c);
        r->u.feature.data = take(c, left(c));
        break;
    case PERFDATA_COMPRESSED:
        r->u.compressed.size = (uint32_t) left(c);
        r->u.compressed.data = take(c, left(c));
        break;
    case PERFDATA_COMPRESSED2: {
        uint64_t size = u64(c);
        r->u.compressed.data = take(c, size);
        r->u.compressed.size = r->u.compressed.data ? (uint32_t) size : 0;
        break;
    }
    default: c->at = c->end; break;
    }
}

/* ---- a record ---- */

/* The header: 0 if the whole record is there, and then c is at its fields. */
static int parse_header(cursor *c, perfdata_record *r)
{
    const uint8_t *bytes = c->at;
    const size_t size = left(c);
    clear(r, sizeof *r);
    if (size < 8) return PERFDATA_END;
    r->bytes = bytes;
    r->type = u32(c);
    r->misc = u16(c);
    r->size = u16(c);
    if (r->size < 8) return PERFDATA_ERR_RECORD;
    if (r->size > size) return PERFDATA_ERR_CUT;
    c->end = bytes + r->size;
    return 0;
}

/* Cut the samples off the record's end. A type that is not known keeps what
 * does not fit. */
static void cut_trailer(cursor *c, uint64_t type, perfdata_record *r)
{
    const unsigned size = size_of_bits(type & PERFDATA_TRAILER);
    cursor samples = *c;
    if (size > left(c)) {
        if (r->type <= PERFDATA_AUX_OUTPUT_HW_ID) c->bad = PERFDATA_ERR_FIELDS;
        return;
    }
    c->end -= size;
    samples.at = c->end;
    parse_trailer(&samples, type, &r->sample);
    r->trailer = (uint16_t) size;
}

int perfdata_parse(const perfdata_attr *attr, int big_endian,
                   const uint8_t *bytes, size_t size, perfdata_record *record)
{
    cursor c = {bytes, bytes + size, big_endian, 0};
    const int status = parse_header(&c, record);
    const uint8_t *const end = c.end;
    if (status < 0) return status;
    if (record->type >= PERFDATA_USER_TYPES) {
        parse_perf(&c, record);
    } else if (record->type == PERFDATA_SAMPLE) {
        if (attr) parse_sample(&c, attr, record);
    } else {
        if (attr && attr->flags & PERFDATA_ATTR_SAMPLE_ID_ALL)
            cut_trailer(&c, attr->sample_type, record);
        if (!c.bad) parse_kernel(&c, end, record);
    }
    record->body = (uint16_t) (c.at - bytes);
    return c.bad;
}

int perfdata_parse_build_id(int big_endian, const uint8_t *bytes, size_t size,
                            perfdata_record *record)
{
    cursor c = {bytes, bytes + size, big_endian, 0};
    const int status = parse_header(&c, record);
    if (status < 0) return status;
    record->type = PERFDATA_BUILD_ID;
    parse_build_id(&c, record);
    record->body = (uint16_t) (c.at - bytes);
    return c.bad;
}

uint64_t perfdata_identifier(int big_endian, const uint8_t *bytes, size_t size)
{
    return size < 16 ? 0 : load(big_endian, bytes + size - 8, 8);
}

/* ---- sorting ---- */

/* What is sorted, and by what. */
typedef enum order {
    BY_ID,    /* perfdata_id: and by event */
    BY_QUEUE, /* perfdata_piece: then as in the file */
    BY_CPU,   /* perfdata_loss: then by position, as the next */
    BY_TID
} order;

static uint32_t key_of(const perfdata_loss *loss, int by_cpu)
{
    return by_cpu ? loss->cpu : loss->tid;
}

static int before(order by, const void *items, size_t a, size_t b)
{
    if (by == BY_ID) {
        const perfdata_id *const x = (const perfdata_id *) items + a;
        const perfdata_id *const y = (const perfdata_id *) items + b;
        return x->id != y->id ? x->id < y->id : x->event < y->event;
    }
    if (by == BY_QUEUE) {
        const perfdata_piece *const x = (const perfdata_piece *) items + a;
        const perfdata_piece *const y = (const perfdata_piece *) items + b;
        if (x->idx != y->idx) return x->idx < y->idx;
        return x->order != y->order ? x->order < y->order : x->data < y->data;
    } else {
        const perfdata_loss *const x = (const perfdata_loss *) items + a;
        const perfdata_loss *const y = (const perfdata_loss *) items + b;
        const uint32_t of_x = key_of(x, by == BY_CPU);
        const uint32_t of_y = key_of(y, by == BY_CPU);
        return of_x != of_y ? of_x < of_y : x->position < y->position;
    }
}

static void swap(uint8_t *a, uint8_t *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* Heap sort: no memory, no recursion, never quadratic. `size` is an item's. */
static void sort(order by, void *items, size_t size, size_t count)
{
    uint8_t *const bytes = (uint8_t *) items;
    size_t root = count / 2;
    while (count > 1) {
        size_t at;
        size_t child;
        if (root)
            root--; // until the largest is in front
        else
            swap(bytes, bytes + size * --count, size);
        for (at = root; (child = 2 * at + 1) < count; at = child) {
            if (child + 1 < count && before(by, items, child, child + 1))
                child++;
            if (!before(by, items, at, child)) break;
            swap(bytes + size * at, bytes + size * child, size);
        }
    }
}

/* ---- the file ---- */

int perfdata_read(const perfdata *p, uint64_t offset, uint8_t *buffer,
                  size_t size)
{
    const perfdata_config *config = p->config;
    const uint64_t end = config->size + config->kept;
    if (offset > end || size > end - offset) return PERFDATA_ERR_CUT;
    if (size && config->read(buffer, size, offset, config->context))
        return PERFDATA_ERR_READ;
    return 0;
}

/* Bytes of the file in the window, which moves unless it has them. `size` is
 * at most that of the window. */
static int see(perfdata *p, uint64_t offset, size_t size,
               const uint8_t **bytes)
{
    const uint64_t file = p->config->size;
    int status;
    if (offset > file || size > file - offset) return PERFDATA_ERR_CUT;
    if (offset < p->window_at || offset - p->window_at > p->window_size
        || size > p->window_size - (offset - p->window_at)) {
        const uint64_t there = file - offset;
        const uint32_t room = sizeof p->window;
        p->window_at = offset;
        p->window_size = 0;
        status = perfdata_read(p, offset, p->window,
                               there < room ? (size_t) there : room);
        if (status < 0) return status;
        p->window_size = there < room ? (uint32_t) there : room;
    }
    *bytes = p->window + (offset - p->window_at);
    return 0;
}

/* `count` numbers of the file, 32 at most. */
static int numbers(const perfdata *p, uint64_t offset, uint64_t *value,
                   unsigned count)
{
    uint8_t bytes[8 * 32];
    const int status = perfdata_read(p, offset, bytes, 8 * (size_t) count);
    for (unsigned i = 0; status >= 0 && i < count; i++)
        value[i] = perfdata_u64(p->big_endian, bytes + 8 * (size_t) i);
    return status;
}

static int read_place(const perfdata *p, uint64_t offset,
                      perfdata_place *place)
{
    uint64_t value[2] = {0, 0};
    const int status = numbers(p, offset, value, 2);
    place->offset = value[0];
    place->size = value[1];
    return status;
}

/* ---- events and their ids ---- */

/* The last to come are looked at one by one until there are many, so that
 * events and other records by turns do not make a sort for each. */
uint32_t perfdata_event(perfdata *p, uint64_t id)
{
    perfdata_id *const ids = p->config->ids;
    uint32_t low = 0;
    uint32_t high;
    if (p->id_count - p->sorted > 64 + p->id_count / 16) {
        sort(BY_ID, ids, sizeof *ids, p->id_count);
        p->sorted = p->id_count;
    }
    high = p->sorted;
    while (low < high) { // the first that is not below id
        const uint32_t middle = low + (high - low) / 2;
        if (ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < p->sorted && ids[low].id == id) return ids[low].event;
    for (uint32_t i = p->sorted; i < p->id_count; i++)
        if (ids[i].id == id) return ids[i].event;
    return PERFDATA_NO_EVENT;
}

uint32_t perfdata_pt_event(const perfdata *p, const perfdata_record *info)
{
    for (uint32_t i = 0; i < p->event_count; i++)
        if (p->config->events[i].type
            == info->u.info.word[PERFDATA_PT_PMU_TYPE])
            return i;
    return PERFDATA_NO_EVENT;
}

/* Whether there is room for one more event with `ids` ids; says what would
 * do. */
static int room(perfdata *p, uint64_t events, uint64_t ids)
{
    const perfdata_config *config = p->config;
    if (events > UINT32_MAX || ids > UINT32_MAX) return PERFDATA_ERR_HEADER;
    p->event_need = (uint32_t) events;
    p->id_need = (uint32_t) ids;
    return events > config->event_max || ids > config->id_max
               ? PERFDATA_ERR_MEMORY : 0;
}

static void add_id(perfdata *p, uint64_t id)
{
    perfdata_id *const entry = &p->config->ids[p->id_count++];
    entry->id = id;
    entry->event = p->event_count - 1;
}

/* An event of a pipe. Its ids are in the window, too. */
static int add_event(perfdata *p, const perfdata_record *r)
{
    const uint8_t *ids = r->u.attr.ids;
    const uint32_t count = r->u.attr.id_count;
    const int status = room(p, (uint64_t) p->event_count + 1,
                            (uint64_t) p->id_count + count);
    if (status < 0) return status;
    p->config->events[p->event_count++] = r->u.attr.attr;
    for (uint32_t i = 0; i < count; i++)
        add_id(p, perfdata_u64(p->big_endian, ids + 8 * (size_t) i));
    return 0;
}

/* ---- the header ---- */

#define HEADER 104 /* bytes */
#define HEADER_OLD 72 /* without features */
#define PIPE_HEADER 16

/* The attrs' section is an array of entries: an attr, and the place of its
 * ids. The ids of all together are no more than the file can hold. */
static int count_ids(perfdata *p, perfdata_place attrs, uint64_t entry)
{
    uint64_t ids = 0;
    for (uint64_t at = 0; at < attrs.size; at += entry) {
        perfdata_place place;
        int status;
        p->offset = attrs.offset + at + entry - 16;
        status = read_place(p, p->offset, &place);
        if (status < 0) return status;
        if (place.offset > p->config->size
            || place.size > p->config->size - place.offset)
            return PERFDATA_ERR_CUT;
        ids += place.size / 8;
        if (ids > p->config->size / 8) return PERFDATA_ERR_HEADER;
    }
    return room(p, attrs.size / entry, ids);
}

static int read_ids(perfdata *p, perfdata_place place)
{
    uint64_t value[32] = {0};
    for (uint64_t at = 0; at < place.size / 8; at += 32) {
        const uint64_t there = place.size / 8 - at;
        const unsigned count = there < 32 ? (unsigned) there : 32;
        const int status = numbers(p, place.offset + 8 * at, value, count);
        if (status < 0) return status;
        for (unsigned i = 0; i < count; i++) add_id(p, value[i]);
    }
    return 0;
}

static int read_event(perfdata *p, uint64_t offset, uint64_t entry)
{
    const uint8_t *bytes = NULL;
    perfdata_place place;
    int status = see(p, offset, (size_t) (entry - 16), &bytes);
    if (status >= 0)
        status = perfdata_parse_attr(p->big_endian, bytes,
                                     (size_t) (entry - 16),
                                     &p->config->events[p->event_count]);
    if (status >= 0) status = read_place(p, offset + entry - 16, &place);
    if (status < 0) return status;
    p->event_count++;
    return read_ids(p, place);
}

static int read_events(perfdata *p, perfdata_place attrs, uint64_t entry)
{
    int status;
    p->offset = 16;
    if (entry < 64 + 16 || entry > sizeof p->window || attrs.size % entry)
        return PERFDATA_ERR_HEADER;
    p->offset = 24;
    if (attrs.offset > p->config->size
        || attrs.size > p->config->size - attrs.offset)
        return PERFDATA_ERR_CUT;
    status = count_ids(p, attrs, entry);
    for (uint64_t at = 0; status >= 0 && at < attrs.size; at += entry) {
        p->offset = attrs.offset + at;
        status = read_event(p, p->offset, entry);
    }
    return status;
}

/* The table of features follows the records: a place for each bit that is set.
 * One that the file does not reach is noted as if it began at NOWHERE. */
#define NOWHERE UINT64_MAX

static void read_features(perfdata *p, uint64_t bits, uint64_t table)
{
    const uint64_t file = p->config->size;
    for (unsigned bit = 0; bit < PERFDATA_FEATURES; bit++) {
        perfdata_place *place = &p->features[bit];
        if (!(bits >> bit & 1)) continue;
        if (read_place(p, table, place) < 0 || place->offset > file
            || place->size > file - place->offset) {
            place->offset = NOWHERE;
            place->size = 1;
        }
        table += 16;
    }
}

/* What the header has after magic and size, as numbers. */
enum {
    H_ENTRY,
    H_ATTRS,
    H_DATA = 3,
    H_DATA_SIZE,
    H_FEATURES = 7,
    H_COUNT
};

static int read_header(perfdata *p, unsigned count)
{
    uint64_t h[H_COUNT] = {0};
    const uint64_t file = p->config->size;
    perfdata_place attrs;
    int status = numbers(p, 16, h, count);
    if (status < 0) return status;
    attrs.offset = h[H_ATTRS];
    attrs.size = h[H_ATTRS + 1];
    status = read_events(p, attrs, h[H_ENTRY]);
    if (status < 0) return status;
    p->offset = 40;
    if (h[H_DATA] > file) return PERFDATA_ERR_CUT;
    p->first = h[H_DATA];
    if (h[H_DATA_SIZE] == 0) { // perf record was killed
        p->last = file;
    } else if (h[H_DATA_SIZE] > file - p->first) {
        p->last = file;
        p->cut = 1;
    } else {
        p->last = p->first + h[H_DATA_SIZE];
        read_features(p, h[H_FEATURES], p->last);
    }
    return 0;
}

static int read_magic(perfdata *p)
{
    static const uint8_t magic[8] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
    const uint8_t *bytes = NULL;
    unsigned same = 0;
    unsigned turned = 0;
    uint64_t size;
    int status = see(p, 0, PIPE_HEADER, &bytes);
    if (status == PERFDATA_ERR_CUT) return PERFDATA_ERR_MAGIC;
    if (status < 0) return status;
    for (unsigned i = 0; i < 8; i++) {
        same += bytes[i] == magic[i];
        turned += bytes[i] == magic[7 - i];
    }
    if (same != 8 && turned != 8) return PERFDATA_ERR_MAGIC;
    p->big_endian = turned == 8;
    p->offset = 8;
    size = perfdata_u64(p->big_endian, bytes + 8);
    if (size == HEADER) return read_header(p, H_COUNT);
    if (size == HEADER_OLD) return read_header(p, H_FEATURES);
    if (size != PIPE_HEADER) return PERFDATA_ERR_HEADER;
    p->is_pipe = 1;
    p->first = PIPE_HEADER;
    p->last = p->config->size;
    return 0;
}

int perfdata_open(perfdata *p, const perfdata_config *config)
{
    int status;
    clear(p, offsetof(perfdata, window));
    p->config = config;
    if (!config->read) return PERFDATA_ERR_ARG;
    status = read_magic(p);
    if (status >= 0) perfdata_rewind(p);
    return status;
}

/* ---- features ---- */

int perfdata_feature(const perfdata *p, unsigned bit, perfdata_place *place)
{
    if (bit >= PERFDATA_FEATURES || p->features[bit].size == 0) return 0;
    *place = p->features[bit];
    return place->offset == NOWHERE ? PERFDATA_ERR_CUT : 1;
}

int perfdata_feature_text(const perfdata *p, unsigned bit, char *text,
                          size_t size)
{
    perfdata_place place = {0, 0};
    uint8_t bytes[4];
    uint64_t length;
    int status = perfdata_feature(p, bit, &place);
    if (size == 0) return PERFDATA_ERR_ARG;
    text[0] = 0;
    if (status <= 0) return status;
    if (place.size < 4) return PERFDATA_ERR_CUT;
    status = perfdata_read(p, place.offset, bytes, 4);
    if (status < 0) return status;
    length = perfdata_u32(p->big_endian, bytes);
    if (length > place.size - 4) return PERFDATA_ERR_CUT;
    if (length > size - 1) length = size - 1;
    status = perfdata_read(p, place.offset + 4, (uint8_t *) text,
                           (size_t) length);
    text[status < 0 ? 0 : length] = 0;
    return status < 0 ? status : 1;
}

/* ---- records of a file ---- */

/* Go on with the records at [from, to); those that are compressed are another
 * stream. */
static void begin_at(perfdata *p, uint64_t from, uint64_t to)
{
    const perfdata_config *const config = p->config;
    p->next = from;
    p->end = to;
    p->packed_size = 0;
    p->more = 0;
    p->plain_at = p->plain_size = 0;
    if (config->inflate) {
        size_t none = 0;
        config->inflate(p->plain, &none, NULL, &none, config->context);
    }
}

/* The next part, if there is one: 1, 0, or PERFDATA_ERR_CUT. */
static int next_part(perfdata *p)
{
    const uint64_t file = p->config->size;
    const perfdata_place *part;
    if (p->part == p->config->part_count) return 0;
    part = &p->config->parts[p->part++];
    if (part->offset > file || part->size > file - part->offset)
        return PERFDATA_ERR_CUT;
    begin_at(p, part->offset, part->offset + part->size);
    return 1;
}

void perfdata_rewind(perfdata *p)
{
    begin_at(p, p->first, p->last);
    p->part = 0;
    p->cut = !p->is_pipe && p->cut;
    if (p->is_pipe) p->event_count = p->id_count = p->sorted = 0;
}

/* The event that a record belongs to. Records that perf record made up for
 * what ran before it have zeros for samples: the first event's form. */
static uint32_t event_of(perfdata *p, uint32_t type, const uint8_t *bytes,
                         size_t size)
{
    const perfdata_attr *const first = p->config->events;
    uint64_t id;
    uint32_t event;
    if (type >= PERFDATA_USER_TYPES || p->event_count == 0)
        return PERFDATA_NO_EVENT;
    if (!(first->sample_type & PERFDATA_SAMPLE_IDENTIFIER)
        || (type != PERFDATA_SAMPLE
            && !(first->flags & PERFDATA_ATTR_SAMPLE_ID_ALL)))
        return 0;
    if (type != PERFDATA_SAMPLE)
        id = perfdata_identifier(p->big_endian, bytes, size);
    else
        id = size < 16 ? 0 : perfdata_u64(p->big_endian, bytes + 8);
    event = perfdata_event(p, id);
    return event == PERFDATA_NO_EVENT ? 0 : event;
}

/* Decode the record at bytes, of which `size` are there. */
static int decode(perfdata *p, const uint8_t *bytes, size_t size,
                  perfdata_record *r)
{
    const perfdata_attr *attr = NULL;
    uint32_t event;
    int status;
    cursor c = {bytes, bytes + size, p->big_endian, 0};
    status = parse_header(&c, r);
    if (status < 0) return status;
    event = event_of(p, r->type, bytes, r->size);
    if (event != PERFDATA_NO_EVENT) attr = &p->config->events[event];
    status = perfdata_parse(attr, p->big_endian, bytes, size, r);
    if (status >= 0 && r->sample.has & PERFDATA_SAMPLE_ID
        && !(r->sample.has & PERFDATA_SAMPLE_IDENTIFIER)) {
        const uint32_t by_id = perfdata_event(p, r->sample.id);
        if (by_id != PERFDATA_NO_EVENT) event = by_id;
    }
    r->event = event;
    return status;
}

/* Step over what follows a record without being part of it; says how much of
 * it is there. */
static uint64_t step_over(perfdata *p, uint64_t size)
{
    const uint64_t there = p->end - p->next;
    if (size > there) {
        p->cut = 1;
        size = there;
    }
    p->next += size;
    return size;
}

/* What a record of the file means for the reader. An event for which there is
 * no room is not consumed. */
static int take_record(perfdata *p, perfdata_record *r)
{
    const uint64_t at = p->next;
    int status = 0;
    p->next += r->size;
    switch (r->type) {
    case PERFDATA_HEADER_ATTR:
        if (p->is_pipe) status = add_event(p, r);
        if (status < 0) p->next = at;
        break;
    case PERFDATA_HEADER_FEATURE:
        if (!p->is_pipe || r->u.feature.bit >= PERFDATA_FEATURES) break;
        p->features[r->u.feature.bit].offset = at + 16;
        p->features[r->u.feature.bit].size = r->u.feature.size;
        break;
    case PERFDATA_TRACING_DATA:
        step_over(p, (r->u.tracing.size + (uint64_t) 7) / 8 * 8);
        break;
    case PERFDATA_AUXTRACE:
        r->u.auxtrace.data = p->next;
        r->u.auxtrace.left = step_over(p, r->u.auxtrace.size);
        break;
    case PERFDATA_COMPRESSED:
    case PERFDATA_COMPRESSED2:
        if (!p->config->inflate) {
            p->next = at;
            return PERFDATA_ERR_ZSTD;
        }
        p->packed = (uint32_t) (r->u.compressed.data - p->window);
        p->packed_size = r->u.compressed.size;
        p->packed_at = at;
        break;
    default: break;
    }
    return status;
}

#define NEXT_PART 1

/* 0, an error, or NEXT_PART: call again. */
static int next_of_file(perfdata *p, perfdata_record *r)
{
    const uint8_t *bytes = NULL;
    const uint64_t there = p->end - p->next;
    size_t size;
    int status;
    clear(r, sizeof *r);
    r->offset = p->next;
    if (there == 0 && !p->cut && p->plain_at == p->plain_size) {
        status = next_part(p);
        return status < 0 ? status : status ? NEXT_PART : PERFDATA_END;
    }
    if (there < 8) return PERFDATA_ERR_CUT;
    status = see(p, p->next, 8, &bytes);
    if (status < 0) return status;
    size = (size_t) load(p->big_endian, bytes + 6, 2);
    if (size > there) return PERFDATA_ERR_CUT;
    if (size > 8) status = see(p, p->next, size, &bytes);
    if (status >= 0) status = decode(p, bytes, size < 8 ? 8 : size, r);
    r->offset = p->next;
    if (status >= 0) return take_record(p, r);
    if (status == PERFDATA_ERR_FIELDS || status == PERFDATA_ERR_STRING)
        p->next += size;
    return status;
}

/* ---- compressed records ---- */

/* Make more of what is compressed plain. 1: there is more than before; 0: more
 * compressed bytes are needed. */
static int inflate(perfdata *p)
{
    size_t in = p->packed_size;
    size_t room_left;
    size_t out;
    if (p->packed_size == 0 && !p->more) return 0;
    if (sizeof p->plain - p->plain_size < sizeof p->plain / 2) {
        const uint32_t kept = p->plain_size - p->plain_at; // part of a record
        for (uint32_t i = 0; i < kept; i++)
            p->plain[i] = p->plain[p->plain_at + i];
        p->plain_at = 0;
        p->plain_size = kept;
    }
    room_left = out = sizeof p->plain - p->plain_size;
    if (p->config->inflate(p->plain + p->plain_size, &out,
                           p->window + p->packed, &in, p->config->context)
        || in > p->packed_size || out > room_left)
        return PERFDATA_ERR_INFLATE;
    if (in == 0 && out == 0 && p->packed_size) return PERFDATA_ERR_INFLATE;
    p->packed += (uint32_t) in;
    p->packed_size -= (uint32_t) in;
    p->plain_size += (uint32_t) out;
    p->more = out != 0;
    return 1;
}

/* The next record of those that were compressed: 1, or 0 if none is whole.
 * Trace and compressed records cannot be among them. */
static int next_of_plain(perfdata *p, perfdata_record *r)
{
    const uint32_t there = p->plain_size - p->plain_at;
    const uint8_t *const bytes = p->plain + p->plain_at;
    int status;
    size_t size;
    if (there < 8) return 0;
    size = (size_t) load(p->big_endian, bytes + 6, 2);
    if (size > there) return 0;
    status = decode(p, bytes, size < 8 ? 8 : size, r);
    r->offset = p->packed_at;
    r->packed = 1;
    if (status == PERFDATA_ERR_RECORD) return status;
    if (r->type == PERFDATA_AUXTRACE || r->type == PERFDATA_TRACING_DATA
        || r->type == PERFDATA_COMPRESSED || r->type == PERFDATA_COMPRESSED2)
        return PERFDATA_ERR_INFLATE;
    p->plain_at += (uint32_t) size;
    return status < 0 ? status : 1;
}

int perfdata_next(perfdata *p, perfdata_record *record)
{
    for (;;) {
        int status = next_of_plain(p, record);
        if (status) return status < 0 ? status : 0;
        status = inflate(p);
        if (status < 0) {
            clear(record, sizeof *record);
            record->offset = p->packed_at;
            return status;
        }
        if (status == 0) {
            status = next_of_file(p, record);
            if (status < 0) return status;
            if (status != NEXT_PART && record->type != PERFDATA_COMPRESSED
                && record->type != PERFDATA_COMPRESSED2
                && (record->type != PERFDATA_FINISHED_ROUND
                    || p->config->part_count == 0))
                return 0;
        }
    }
}

/* ---- time ---- */

uint64_t perfdata_ns(uint64_t shift, uint64_t mult, uint64_t zero,
                     uint64_t tsc)
{
    uint64_t low;
    if (mult == 0 || shift > 63) return 0;
    low = tsc & (((uint64_t) 1 << shift) - 1);
    return zero + (tsc >> shift) * mult + (low * mult >> shift);
}

uint64_t perfdata_tsc(uint64_t shift, uint64_t mult, uint64_t zero,
                      uint64_t ns)
{
    const uint64_t since = ns - zero;
    if (ns == 0 || since >> 63 || mult == 0 || shift > 63) return 0;
    return (since / mult << shift) + (since % mult << shift) / mult;
}

/* ---- queues ---- */

/* A piece whose place is said by the caller; NULL if there is no room. */
static perfdata_piece *add_piece(perfdata_queues *q, uint64_t data,
                                 uint64_t size)
{
    perfdata_piece *piece;
    if (q->piece_count == q->piece_max) return NULL;
    piece = &q->pieces[q->piece_count];
    clear(piece, sizeof *piece);
    piece->data = data;
    piece->size = size;
    piece->order = q->records;
    q->piece_count++;
    q->records++;
    return piece;
}

static int add_auxtrace(perfdata_queues *q, const perfdata_record *r)
{
    perfdata_piece *const piece = add_piece(q, r->u.auxtrace.data,
                                            r->u.auxtrace.left);
    if (!piece) return PERFDATA_ERR_MEMORY;
    piece->position = r->u.auxtrace.offset;
    piece->reference = r->u.auxtrace.reference;
    piece->idx = r->u.auxtrace.idx;
    piece->tid = r->u.auxtrace.tid;
    piece->cpu = r->u.auxtrace.cpu;
    return 0;
}

uint64_t perfdata_trace_at(const perfdata_record *sample)
{
    const uint8_t *const aux = sample->u.event.aux;
    return sample->packed ? sample->u.event.kept
                          : sample->offset + (uint64_t) (aux - sample->bytes);
}

/* Trace that a sample has is a snapshot of its cpu or thread, whose number
 * stands for that of the queue. */
static int add_sample(perfdata_queues *q, const perfdata_record *r)
{
    perfdata_piece *piece;
    if (r->u.event.aux_size == 0) return 0;
    if (perfdata_trace_at(r) == 0) {
        q->packed++;
        return 0;
    }
    piece = add_piece(q, perfdata_trace_at(r), r->u.event.aux_size);
    if (!piece) return PERFDATA_ERR_MEMORY;
    q->snapshot = 1;
    piece->reference = r->sample.time;
    piece->tid = r->sample.tid;
    piece->cpu = q->by_cpu && r->sample.has & PERFDATA_SAMPLE_CPU
        ? r->sample.cpu : UINT32_MAX;
    piece->idx = piece->cpu == UINT32_MAX ? piece->tid : piece->cpu;
    return 0;
}

static int add_loss(perfdata_queues *q, const perfdata_record *r)
{
    perfdata_loss *loss;
    if (!(r->u.aux.flags & (PERFDATA_AUX_TRUNCATED | PERFDATA_AUX_PARTIAL
                            | PERFDATA_AUX_COLLISION)))
        return 0;
    if (q->loss_count == q->loss_max) return PERFDATA_ERR_MEMORY;
    loss = &q->losses[q->loss_count];
    loss->position = r->u.aux.offset + r->u.aux.size;
    loss->flags = (uint32_t) (r->u.aux.flags & 0xff);
    loss->cpu = r->sample.has & PERFDATA_SAMPLE_CPU ? r->sample.cpu
                                                    : UINT32_MAX;
    loss->tid = r->sample.tid;
    loss->used = 0;
    q->loss_count++;
    return 0;
}

int perfdata_queues_add(perfdata_queues *q, const perfdata_record *r)
{
    switch (r->type) {
    case PERFDATA_AUXTRACE_INFO:
        if (r->u.info.kind != 1) return 0;
        q->snapshot = r->u.info.word[PERFDATA_PT_SNAPSHOT_MODE] != 0;
        q->by_cpu = r->u.info.word[PERFDATA_PT_PER_CPU_MMAPS] != 0;
        return 0;
    case PERFDATA_AUXTRACE: return add_auxtrace(q, r);
    case PERFDATA_SAMPLE: return add_sample(q, r);
    case PERFDATA_AUX: return add_loss(q, r);
    default: return 0;
    }
}

/* Make queues of the sorted pieces; what is lost at their ends stays. */
static void find_queues(perfdata_queues *q)
{
    perfdata_queue *queue = NULL;
    q->queue_count = 0;
    for (uint32_t i = 0; i < q->piece_count; i++) {
        const perfdata_piece *const piece = &q->pieces[i];
        if (!queue || queue->idx != piece->idx) {
            queue = &q->queues[q->queue_count++];
            queue->idx = piece->idx;
            queue->cpu = piece->cpu;
            queue->tid = piece->cpu == UINT32_MAX ? piece->tid : UINT32_MAX;
            queue->first = i;
            queue->count = queue->gaps = 0;
            queue->size = 0;
        }
        queue->count++;
        queue->gaps += piece->gap != 0;
        queue->size += piece->size;
    }
}

/* What positions say: full trace goes on where the piece before ended, except
 * at most 7 bytes that perf appended to make its size a multiple of 8. */
static void join_pieces(perfdata_queues *q)
{
    for (uint32_t i = 1; i < q->piece_count; i++) {
        perfdata_piece *const last = &q->pieces[i - 1];
        perfdata_piece *const piece = &q->pieces[i];
        const uint64_t over = last->position + last->size - piece->position;
        if (last->idx != piece->idx) continue;
        if (q->snapshot)
            piece->gap = PERFDATA_GAP_SNAPSHOT;
        else if (over < 8 && over <= last->size)
            last->size -= over;
        else if (over >> 63)
            piece->gap = PERFDATA_GAP_MISSING;
    }
}

/* Split a piece after `size` bytes; the part that goes on is put at the end of
 * the array. */
static uint32_t split_piece(perfdata_queues *q, uint32_t at, uint64_t size)
{
    perfdata_piece *const piece = &q->pieces[at];
    perfdata_piece *const rest = &q->pieces[q->piece_count];
    *rest = *piece;
    piece->size = size;
    rest->data += size;
    rest->position += size;
    rest->size -= size;
    return q->piece_count++;
}

/* Put a queue's losses, [from, to) of the sorted ones, before the pieces that
 * follow them. */
static void place_losses(perfdata_queues *q, perfdata_queue *queue,
                         uint32_t from, uint32_t to)
{
    uint32_t next = queue->first;
    const uint32_t end = queue->first + queue->count;
    uint32_t at = next++;
    while (from < to) {
        const perfdata_loss *const loss = &q->losses[from];
        const uint64_t begin = q->pieces[at].position;
        if (loss->position <= begin) {
            q->pieces[at].gap |= loss->flags;
        } else if (loss->position - begin < q->pieces[at].size) {
            at = split_piece(q, at, loss->position - begin);
            q->pieces[at].gap = loss->flags;
        } else if (next < end) {
            at = next++;
            continue;
        } else {
            queue->gap_at_end |= loss->flags;
        }
        from++;
    }
}

/* Find a queue's losses among the sorted ones and place them. If two queues
 * claim the same, the first has them. */
static void find_losses(perfdata_queues *q, perfdata_queue *queue)
{
    const int by_cpu = queue->cpu != UINT32_MAX;
    const uint32_t key = by_cpu ? queue->cpu : queue->tid;
    uint32_t low = 0;
    uint32_t high = q->loss_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (key_of(&q->losses[middle], by_cpu) < key)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < q->loss_count && !q->losses[high].used
           && key_of(&q->losses[high], by_cpu) == key)
        q->losses[high++].used = 1;
    place_losses(q, queue, low, high);
}

int perfdata_queues_finish(perfdata_queues *q)
{
    if (q->piece_max - q->piece_count < q->loss_count
        || q->queue_max < q->piece_count)
        return PERFDATA_ERR_MEMORY;
    sort(BY_QUEUE, q->pieces, sizeof *q->pieces, q->piece_count);
    find_queues(q);
    join_pieces(q);
    for (uint32_t i = 0; i < q->queue_count; i++) q->queues[i].gap_at_end = 0;
    if (q->queue_count && !q->snapshot) {
        sort(q->queues->cpu != UINT32_MAX ? BY_CPU : BY_TID, q->losses,
             sizeof *q->losses, q->loss_count);
        for (uint32_t i = 0; i < q->queue_count; i++)
            find_losses(q, &q->queues[i]);
        sort(BY_QUEUE, q->pieces, sizeof *q->pieces, q->piece_count);
    }
    find_queues(q);
    return 0;
}

/* ---- snapshots ---- */

#define BLOCK 1024 /* bytes that are compared at once */
#define PSB_SIZE 16

/* The next PSB at or after `at` in a piece: its place there, or its size. */
static int find_psb(const perfdata *p, const perfdata_piece *piece,
                    uint64_t *at)
{
    uint8_t bytes[BLOCK];
    unsigned same = 0; // bytes of a PSB before `from + i`
    for (uint64_t from = *at; from < piece->size; from += sizeof bytes) {
        const uint64_t there = piece->size - from;
        const size_t size = there < sizeof bytes ? (size_t) there
                                                 : sizeof bytes;
        const int status = perfdata_read(p, piece->data + from, bytes, size);
        if (status < 0) return status;
        for (size_t i = 0; i < size; i++) {
            const uint8_t want = same % 2 ? 0x82 : 0x02;
            if (bytes[i] == want) same++;
            else if (bytes[i] == 0x02) same = same % 2 ? 1 : same;
            else same = 0;
            if (same < PSB_SIZE) continue;
            *at = from + i + 1 - PSB_SIZE;
            return 0;
        }
    }
    *at = piece->size;
    return 0;
}

/* How many bytes from a.at on are those from b.at on, at most `size`; `steps`
 * pays for those that are compared. */
static int count_same(const perfdata *p, uint64_t a, uint64_t b, uint64_t size,
                      uint64_t *same, uint64_t *steps)
{
    uint8_t x[BLOCK];
    uint8_t y[BLOCK];
    for (*same = 0; *same < size && *steps;) {
        const uint64_t left_over = size - *same;
        const size_t n = left_over < BLOCK ? (size_t) left_over : BLOCK;
        int status = perfdata_read(p, a + *same, x, n);
        if (status >= 0) status = perfdata_read(p, b + *same, y, n);
        if (status < 0) return status;
        *steps -= n < *steps ? n : *steps;
        for (size_t i = 0; i < n; i++, ++*same)
            if (x[i] != y[i]) return 0;
    }
    return 0;
}

/* perf appends up to 7 zeros to make a size a multiple of 8. */
static int is_padding(const perfdata *p, uint64_t data, uint64_t size)
{
    uint8_t bytes[8];
    if (size >= sizeof bytes || perfdata_read(p, data, bytes, (size_t) size))
        return 0;
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i]) return 0;
    return 1;
}

/* Take padding from the end of a piece, or of those before it of which nothing
 * is left. */
static void take_padding(perfdata_queues *q, uint32_t at, uint64_t size)
{
    const uint32_t idx = q->pieces[at].idx;
    for (;; at--) {
        perfdata_piece *const piece = &q->pieces[at];
        const uint64_t n = size < piece->size ? size : piece->size;
        piece->size -= n;
        size -= n;
        if (size == 0 || at == 0 || q->pieces[at - 1].idx != idx) return;
    }
}

/* The older piece ends with the bytes that the newer begins with: if it does,
 * the first PSB of the newer is somewhere in the older, and all that follows
 * agrees. Of several places the first one counts, which makes them more. */
static int trim_piece(const perfdata *p, perfdata_queues *q, uint32_t i,
                      const perfdata_piece *whole)
{
    perfdata_piece *const newer = &q->pieces[i];
    uint64_t steps = 16 * (whole->size + newer->size);
    uint64_t psb = 0;
    uint64_t at;
    int status = find_psb(p, newer, &psb);
    for (at = psb; status >= 0 && psb < newer->size && steps; at++) {
        uint64_t same = 0;
        uint64_t size;
        status = find_psb(p, whole, &at);
        if (status < 0 || at == whole->size) break;
        size = whole->size - (at - psb);
        status = count_same(p, whole->data + (at - psb), newer->data,
                            size < newer->size ? size : newer->size, &same,
                            &steps);
        if (status < 0 || !is_padding(p, whole->data + (at - psb) + same,
                                      size - same))
            continue;
        take_padding(q, i - 1, size - same);
        newer->data += same;
        newer->size -= same;
        newer->position += same;
        newer->gap = 0;
        break;
    }
    return status < 0 ? status : 0;
}

int perfdata_queues_trim(perfdata_queues *q, const perfdata *p)
{
    perfdata_piece whole; // the piece before, as it was
    clear(&whole, sizeof whole);
    for (uint32_t i = 0; i < q->piece_count; i++) {
        perfdata_piece *const piece = &q->pieces[i];
        const perfdata_piece now = *piece;
        if (i && piece->idx == whole.idx
            && piece->gap == PERFDATA_GAP_SNAPSHOT) {
            const int status = trim_piece(p, q, i, &whole);
            if (status < 0) return status;
        }
        whole = now;
    }
    find_queues(q);
    return 0;
}
