/* perfdata.c: see perfdata.h.
 *
 * SPDX-License-Identifier: MIT */
#include "perfdata.h"

/* ---- texts ---- */

const char *perfdata_text(int status)
{
    switch (status) {
    case PERFDATA_END: return "end of the records";
    case PERFDATA_ERR_ARG: return "invalid argument";
    case PERFDATA_ERR_MEMORY: return "too little memory was given";
    case PERFDATA_ERR_READ: return "the file cannot be read";
    case PERFDATA_ERR_ZSTD: return "compressed, and there is no zstd";
    case PERFDATA_ERR_MAGIC: return "not a perf.data file";
    case PERFDATA_ERR_HEADER: return "the file's header contradicts itself";
    case PERFDATA_ERR_CUT: return "the file ends inside";
    case PERFDATA_ERR_RECORD: return "a record is smaller than its header";
    case PERFDATA_ERR_FIELDS: return "a record is too small for its fields";
    case PERFDATA_ERR_STRING: return "a name does not end in its record";
    case PERFDATA_ERR_INFLATE: return "compressed bytes are damaged";
    default: return status >= 0 ? "OK" : "unknown status";
    }
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

#define TRAILER                                                               \
    (PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_TIME | PERFDATA_SAMPLE_ID          \
     | PERFDATA_SAMPLE_STREAM_ID | PERFDATA_SAMPLE_CPU                        \
     | PERFDATA_SAMPLE_IDENTIFIER)

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
    s->has = type & TRAILER;
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
    s->has = type & TRAILER;
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
    const unsigned size = size_of_bits(type & TRAILER);
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
